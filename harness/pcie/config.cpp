// SPDX-License-Identifier: Apache-2.0
#include "harness/pcie/config.hpp"

#include <stdexcept>

namespace rnic::pcie {
namespace {

bool power_of_two_in(uint32_t v, uint32_t low, uint32_t high) {
  return v >= low && v <= high && (v & (v - 1)) == 0;
}

void require(bool ok, const char* text) {
  if (!ok) throw std::invalid_argument(text);
}

}  // namespace

const char* to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::kUnsupported:
      return "unsupported";
    case FaultKind::kCompleterAbort:
      return "completer_abort";
    case FaultKind::kPoison:
      return "poison";
    case FaultKind::kNeverComes:
      return "never_comes";
    case FaultKind::kDelay:
      return "delay";
  }
  return "?";
}

void Config::validate() const {
  require(power_of_two_in(mps, 128, 4096), "mps: expected a power of two from 128 to 4096");
  require(power_of_two_in(mrrs, 128, 4096), "mrrs: expected a power of two from 128 to 4096");
  require(rcb == 64 || rcb == 128, "rcb: expected 64 or 128");
  require(power_of_two_in(completion_bytes, rcb, 4096) && completion_bytes <= mps,
          "completion_bytes: expected a power of two from rcb to mps");
  require(tags >= 1 && tags <= 256, "tags: expected 1 to 256");
  require(posted_queue_bytes >= 1, "posted_queue_bytes: expected at least 1");
  require(link.dllp_permille < 1000, "link.dllp_permille: expected 0 to 999");
  const Credits& up = link.up_credits;
  const Credits& down = link.down_credits;
  require(up.posted_data == 0 || up.posted_data >= mps / 16,
          "link.up_credits.posted_data: expected 0 (infinite) or at least mps / 16");
  require(down.posted_data == 0 || down.posted_data >= 4,
          "link.down_credits.posted_data: expected 0 (infinite) or at least 4 (64 B)");
  require(
      down.completion_data == 0 || down.completion_data >= completion_bytes / 16,
      "link.down_credits.completion_data: expected 0 (infinite) or at least completion_bytes / 16");
  require(up.completion_data == 0 || up.completion_data >= 4,
          "link.up_credits.completion_data: expected 0 (infinite) or at least 4 (64 B)");
  for (const FaultRule& rule : faults) {
    require(rule.probability >= 0 && rule.probability <= 1, "faults.probability: expected 0 to 1");
    require(rule.first_addr <= rule.last_addr, "faults.last_addr: expected at least first_addr");
  }
}

uint64_t Config::link_kbps(int generation, int lanes) {
  if (generation < 1 || generation > 5) {
    throw std::invalid_argument("generation: expected 1 to 5");
  }
  if (!power_of_two_in(static_cast<uint32_t>(lanes), 1, 16)) {
    throw std::invalid_argument("lanes: expected 1, 2, 4, 8 or 16");
  }
  static constexpr uint64_t kMegaTransfers[] = {2500, 5000, 8000, 16000, 32000};
  const uint64_t kilo = kMegaTransfers[generation - 1] * 1000 * static_cast<uint64_t>(lanes);
  return generation <= 2 ? kilo * 8 / 10 : kilo * 128 / 130;
}

Config Config::reference_delays() {
  Config c;
  c.mps = 4096;
  c.mrrs = 4096;
  c.rcb = 64;
  c.completion_bytes = 256;
  c.posted_queue_bytes = 16384;
  c.link.up_kbps = c.link.down_kbps = 504'000'000;
  c.link.tlp_overhead = false;
  c.link.cut_through = true;
  c.link.up_latency_ps = 15'000;
  c.link.down_latency_ps = 20'000;  // doorbell write
  c.host.ring_read_ps = 5'000;      // 15 + 5 + 20 = 40 ns
  c.host.data_read_ps = 50'000;     // 15 + 50 + 20 = 85 ns to the first byte
  c.host.write_commit_ps = 70'000;  // 15 + 70 = 85 ns behind the last beat
  return c;
}

Config Config::zero_delays() {
  Config c;
  c.mps = 4096;
  c.mrrs = 4096;
  c.rcb = 64;
  c.completion_bytes = 4096;
  c.posted_queue_bytes = 65536;
  c.link.tlp_overhead = false;
  return c;
}

Config Config::gen5_x16() {
  Config c;
  c.mps = 512;
  c.mrrs = 512;
  c.rcb = 64;
  c.completion_bytes = 256;
  c.posted_queue_bytes = 8192;
  c.link.up_kbps = c.link.down_kbps = link_kbps(5, 16);
  c.link.tlp_overhead = true;
  c.link.cut_through = false;
  c.link.dllp_permille = 20;
  c.link.up_latency_ps = 120'000;
  c.link.down_latency_ps = 120'000;
  c.link.credit_return_ps = 120'000;
  c.link.up_credits = {.posted_headers = 256,
                       .posted_data = 2048,
                       .nonposted_headers = 256,
                       .completion_headers = 0,
                       .completion_data = 0};
  c.link.down_credits = {.posted_headers = 64,
                         .posted_data = 512,
                         .nonposted_headers = 64,
                         .completion_headers = 0,
                         .completion_data = 0};
  c.host.ring_read_ps = 300'000;
  c.host.data_read_ps = 360'000;
  c.host.read_jitter_ps = 80'000;
  c.host.write_commit_ps = 200'000;
  c.host.write_jitter_ps = 40'000;
  c.host.mmio_issue_ps = 100'000;
  return c;
}

Config Config::preset(std::string_view name) {
  if (name == "reference") return reference_delays();
  if (name == "zero") return zero_delays();
  if (name == "gen5x16") return gen5_x16();
  throw std::invalid_argument("preset: expected reference, zero or gen5x16, got '" +
                              std::string(name) + "'");
}

GpuConfig gpu_reference_delays() {
  GpuConfig c;
  c.extra_latency_ps = 100'000;
  c.read_ps = 50'000;
  c.ring_read_ps = 5'000;
  c.write_commit_ps = 70'000;
  c.write_kbps = c.read_kbps = 504'000'000;
  return c;
}

GpuConfig gpu_zero_delays() {
  GpuConfig c;
  c.bounce_copy_ps = 0;
  return c;
}

GpuConfig gpu_gen5_x16() {
  GpuConfig c;
  c.extra_latency_ps = 150'000;
  c.read_ps = 500'000;
  c.ring_read_ps = 500'000;
  c.read_jitter_ps = 100'000;
  c.write_commit_ps = 250'000;
  c.write_jitter_ps = 50'000;
  c.write_kbps = c.read_kbps = Config::link_kbps(5, 16);
  c.bounce_copy_ps = 2'000'000;
  c.bounce_kbps = 400'000'000;
  return c;
}

GpuConfig gpu_preset(std::string_view name) {
  if (name == "reference") return gpu_reference_delays();
  if (name == "zero") return gpu_zero_delays();
  if (name == "gen5x16") return gpu_gen5_x16();
  throw std::invalid_argument("preset: expected reference, zero or gen5x16, got '" +
                              std::string(name) + "'");
}

}  // namespace rnic::pcie
