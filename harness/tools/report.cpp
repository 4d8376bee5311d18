// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rnic::tools {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

const std::string kRule(87, '-');

std::string title(const Options& o) {
  const char* verb = o.verb == Verb::kSend    ? "Send"
                     : o.verb == Verb::kWrite ? "RDMA_Write"
                     : o.verb == Verb::kRead  ? "RDMA_Read"
                     : o.compare_swap         ? "Atomic CMP_AND_SWAP"
                                              : "Atomic FETCH_AND_ADD";
  return fmt::format("                    {} {} Test", verb,
                     o.kind == Kind::kLatency ? "Latency" : "BW");
}

std::string gid_text(const roce::IpAddr& gid) {
  std::string text;
  for (const uint8_t b : gid) text += fmt::format("{}{:02d}", text.empty() ? "" : ":", b);
  return text;
}

void addresses(std::vector<std::string>& out, const char* side, const std::vector<Keys>& list,
               const Options& o) {
  const bool memory = o.verb != Verb::kSend;
  for (const Keys& k : list) {
    std::string line =
        fmt::format(" {} address: LID {:04x} QPN 0x{:04x} PSN 0x{:x}", side, k.lid, k.qpn, k.psn);
    if (o.verb == Verb::kRead || o.verb == Verb::kAtomic)
      line += fmt::format(" OUT 0x{:02x}", k.out_reads);
    if (memory) line += fmt::format(" RKey 0x{:06x} VAddr 0x{:014x}", k.rkey, k.vaddr);
    out.push_back(line);
    out.push_back(" GID: " + gid_text(k.gid));
  }
}

}  // namespace

std::vector<std::string> heading(const Options& o, const std::vector<Keys>& mine,
                                 const std::vector<Keys>& theirs, uint32_t mtu) {
  std::vector<std::string> out = {kRule, title(o)};
  const auto pair = [&](const char* a, const std::string& av, const char* b,
                        const std::string& bv) {
    out.push_back(fmt::format(" {:<16}: {:<12}{:<14}: {}", a, av, b, bv));
  };
  pair("Dual-port", "OFF", "Device", "rnic0");
  pair("Number of qps", std::to_string(o.qps), "Transport type", "IB");
  pair("Connection type", to_string(o.service), "Using SRQ", "OFF");
  out.push_back(fmt::format(" {:<16}: {}", "TX depth", o.tx_depth));
  if (o.kind == Kind::kBandwidth)
    out.push_back(fmt::format(" {:<16}: {}", "CQ Moderation", o.cq_mod));
  out.push_back(fmt::format(" {:<16}: {}[B]", "Mtu", mtu));
  out.push_back(fmt::format(" {:<16}: {}", "Link type", "Ethernet"));
  out.push_back(fmt::format(" {:<16}: {}", "GID index", o.gid));
  if (o.verb == Verb::kRead || o.verb == Verb::kAtomic)
    out.push_back(fmt::format(" {:<16}: {}", "Outstand reads", o.out_reads));
  else
    out.push_back(fmt::format(" {:<16}: {}[B]", "Max inline data", o.inline_size));
  out.push_back(fmt::format(" {:<16}: {}", "rdma_cm QPs", o.cm ? "ON" : "OFF"));
  out.push_back(fmt::format(" {:<16}: {}", "Data ex. method", o.cm ? "rdma_cm" : "Ethernet"));
  out.push_back(kRule);
  addresses(out, "local", mine, o);
  addresses(out, "remote", theirs, o);
  out.push_back(kRule);
  return out;
}

std::string bandwidth_titles(bool gbits) {
  const char* unit = gbits ? "Gb/sec" : "MB/sec";
  return fmt::format(" #bytes     #iterations    BW peak[{0}]    BW average[{0}]   MsgRate[Mpps]",
                     unit);
}

std::string latency_titles() {
  return " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
         "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]";
}

std::string closing_line() { return kRule; }

BandwidthReport bandwidth_of(uint32_t size, uint64_t count, double total_us, double peak_us) {
  BandwidthReport r;
  r.size = size;
  r.iterations = count;
  if (total_us > 0) {
    r.average = static_cast<double>(size) * static_cast<double>(count) / total_us * 1e6 / kMiB;
    r.message_rate = static_cast<double>(count) / total_us;
  }
  if (peak_us > 0) r.peak = static_cast<double>(size) / peak_us * 1e6 / kMiB;
  r.peak = std::max(r.peak, r.average);
  return r;
}

std::string bandwidth_line(const BandwidthReport& r, bool gbits) {
  const double scale = gbits ? kMiB * 8 / 1e9 : 1;
  return fmt::format(" {:<7}    {:<10}       {:<7.2f}            {:<7.2f}              {:<7.6f}",
                     r.size, r.iterations, r.peak * scale, r.average * scale, r.message_rate);
}

LatencyReport latency_of(uint32_t size, std::vector<double> samples) {
  LatencyReport r;
  r.size = size;
  r.count = samples.size();
  if (samples.empty()) return r;
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double part) {
    const auto n = static_cast<size_t>(std::ceil(part * static_cast<double>(samples.size())));
    return samples[std::min(samples.size() - 1, n == 0 ? 0 : n - 1)];
  };
  r.min = samples.front();
  r.max = samples.back();
  r.typical = at(0.5);
  r.p99 = at(0.99);
  r.p999 = at(0.999);
  double sum = 0;
  for (const double x : samples) sum += x;
  r.average = sum / static_cast<double>(samples.size());
  double squares = 0;
  for (const double x : samples) squares += (x - r.average) * (x - r.average);
  r.stdev = std::sqrt(squares / static_cast<double>(samples.size()));
  return r;
}

std::string latency_line(const LatencyReport& r) {
  return fmt::format(
      " {:<7} {:<10}      {:<7.2f}        {:<7.2f}      {:<7.2f}             {:<7.2f}        "
      "{:<7.2f}         {:<7.2f}                 {:<7.2f}",
      r.size, r.count, r.min, r.max, r.typical, r.average, r.stdev, r.p99, r.p999);
}

std::vector<std::string> pingpong_lines(uint64_t bytes, uint64_t iterations, double us) {
  const double seconds = us / 1e6;
  return {fmt::format("{} bytes in {:.6f} seconds = {:.2f} Mbit/sec", bytes, seconds,
                      us > 0 ? static_cast<double>(bytes) * 8 / us : 0.0),
          fmt::format("{} iters in {:.6f} seconds = {:.2f} usec/iter", iterations, seconds,
                      us / static_cast<double>(iterations))};
}

std::string pingpong_address(const char* side, const Keys& k) {
  return fmt::format("  {:<7} address:  LID 0x{:04x}, QPN 0x{:06x}, PSN 0x{:06x}, GID {}", side,
                     k.lid, k.qpn, k.psn, roce::to_string(k.gid));
}

}  // namespace rnic::tools
