// SPDX-License-Identifier: Apache-2.0
#include "sim/live/settings.hpp"

#include "harness/ethlink/ethlink.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/tools/options.hpp"

namespace rnic::sim {
namespace {

using namespace scenario;

constexpr uint64_t kDefaultRate = 100'000'000'000;

double seconds_of(uint64_t ps) { return static_cast<double>(ps) * 1e-12; }

void read_run(Reader& r, LiveSettings& s) {
  std::string command;
  LiveRun run;
  r.req("run", command, text());
  try {
    run = parse_run(command);
  } catch (const tools::ToolError& e) {
    r.error("run", e.what());
  }
  const bool given = r.opt("expect", run.expect, text());
  r.opt("reset_after", run.reset_after, unsigned_integer(1, 1'000'000'000));
  r.opt("pause_after", run.pause_after, unsigned_integer(1, 1'000'000'000));
  if (run.reset_after != 0 && !given) run.expect = "RESET";
  s.runs.push_back(std::move(run));
}

void read_live(Reader& r, LiveSettings& s) {
  r.opt("link", s.link, text());
  if (!s.link.empty()) {
    try {
      ethlink::check_link(s.link);
    } catch (const ethlink::LinkError& e) {
      r.error("link", e.what());
    }
  }
  r.opt("clock", s.clock, text());
  r.opt("mac", s.mac, mac_address());
  r.opt("ip", s.ip, ip_address());
  if (!roce::is_ipv4(s.ip)) r.error("ip", "an IPv4 address");
  roce::IpAddr ip6{};
  if (r.opt("ip6", ip6, ip_address())) {
    if (roce::is_ipv4(ip6)) r.error("ip6", "an IPv6 address");
    s.ip6 = ip6;
  }
  uint64_t timeout = s.timeout, patience = 1'000'000'000'000, limit = 120 * patience;
  r.opt("timeout", timeout, unsigned_integer(1, 31));
  s.timeout = static_cast<uint8_t>(timeout);
  r.opt("first_qpn", s.first_qpn, unsigned_integer(2, 255));
  uint64_t response = s.cm_response;
  r.opt("cm_response", response, unsigned_integer(1, 31));
  s.cm_response = static_cast<uint8_t>(response);
  r.opt("settle", s.settle_ps, duration(100'000, 1'000'000'000));
  r.opt("patience", patience, duration(1'000'000'000));
  r.opt("limit", limit, duration(1'000'000'000'000));
  s.patience_s = seconds_of(patience);
  s.limit_s = seconds_of(limit);
  r.each(
      "runs", [&](Reader& run, size_t) { read_run(run, s); }, 0, 1000);
}

}  // namespace

Settings default_world() {
  Settings s;
  s.wire.rate_bps = kDefaultRate;
  s.wire.delay_ps = 200'000;
  s.pcie = pcie::Config::reference_delays();
  s.log_sq = 10;
  return s;
}

LiveRun parse_run(const std::string& text) {
  LiveRun run;
  size_t at = 0;
  for (;;) {
    const size_t end = text.find('&', at);
    run.commands.push_back(tools::parse_command(text.substr(at, end - at)).command);
    if (end == std::string::npos) return run;
    at = end + 1;
  }
}

LiveSettings load_live_settings(const std::string& path, const std::vector<std::string>& overrides,
                                const std::vector<NicKind>& kinds) {
  Document doc = Document::load(path);
  for (const std::string& o : overrides) doc.set(o);
  LiveSettings s;
  s.world.wire.rate_bps = kDefaultRate;
  s.world.file = doc.name();
  {
    Reader r(doc);
    read_world(r, s.world, kinds, Programs::kTools);
    r.child("live", [&](Reader& l) { read_live(l, s); });
  }
  doc.check();
  return s;
}

}  // namespace rnic::sim
