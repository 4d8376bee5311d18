// SPDX-License-Identifier: Apache-2.0
#include "sim/live/settings.hpp"

#include <algorithm>
#include <set>

#include "harness/driver/queues.hpp"
#include "harness/ethlink/ethlink.hpp"
#include "harness/hostnet/packets.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/tools/options.hpp"

namespace rnic::sim {
namespace {

using namespace scenario;

constexpr uint64_t kDefaultRate = 100'000'000'000;

// A name that a run can end with (README.md).
bool is_status(const std::string& text) {
  static const std::set<std::string> kOthers = {"RESET", "CM_REJECTED", "CM_UNANSWERED",
                                                "CM_DISCONNECTED"};
  if (kOthers.contains(text)) return true;
  for (unsigned s = 0; s < 256; ++s) {
    const std::string name = driver::status_name(static_cast<uint8_t>(s));
    if (name == text && name != "?") return true;
  }
  return false;
}

bool is_unicast(const roce::MacAddr& mac) {
  return (mac[0] & 1) == 0 && std::any_of(mac.begin(), mac.end(), [](uint8_t b) { return b != 0; });
}

// No group, no broadcast, not "none".
bool is_unicast(const roce::IpAddr& ip) {
  if (roce::is_ipv4(ip)) return ip[12] != 0 && ip[12] < 224;
  return ip[0] != 0xFF && !hostnet::is_unspecified(ip);
}

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
  if (given && !is_status(run.expect))
    r.error("expect",
            "'" + run.expect + "' is no status (SUCCESS, RETRY_EXC_ERR, CM_REJECTED ...)");
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
  if (!is_unicast(s.mac)) r.error("mac", "a MAC address of one interface, no group");
  r.opt("ip", s.ip, ip_address());
  if (!roce::is_ipv4(s.ip) || !is_unicast(s.ip)) r.error("ip", "an IPv4 address of one interface");
  roce::IpAddr ip6{};
  if (r.opt("ip6", ip6, ip_address())) {
    if (roce::is_ipv4(ip6) || !is_unicast(ip6)) r.error("ip6", "an IPv6 address of one interface");
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
