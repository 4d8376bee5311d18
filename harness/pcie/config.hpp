// SPDX-License-Identifier: Apache-2.0
// Settings of the simulated PCIe world of one node, and its presets.
//
//   pcie::Config c = pcie::Config::reference_delays();
//   c.completion_bytes = 64;
//   c.validate();                       // throws std::invalid_argument("mps: ...")
//
// Times are picoseconds, rates kilobit per second of link time; rate 0 means "takes no time".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rnic::pcie {

inline constexpr int kMaxGpus = 16;

// Flow-control credits that a receiver advertises: headers, and data in units of 16 B. 0: infinite.
struct Credits {
  uint32_t posted_headers = 0;
  uint32_t posted_data = 0;
  uint32_t nonposted_headers = 0;
  uint32_t completion_headers = 0;
  uint32_t completion_data = 0;
};

struct LinkConfig {
  uint64_t up_kbps = 0;        // NIC to host
  uint64_t down_kbps = 0;      // host to NIC
  uint64_t up_latency_ps = 0;  // end of serialization at the NIC until it is at host or switch
  uint64_t down_latency_ps = 0;
  // true: header, framing and LCRC take link time (MWr/MRd 16+8 B, 3 DW headers below 4 GB, CplD
  // 12+8 B) and payload counts in whole DW. false ("of payload"): only payload bytes of DMA take
  // time; read requests and MMIO take none and wait for nothing but the ordering rules.
  bool tlp_overhead = true;
  bool ecrc = false;           // 4 B more per TLP (with tlp_overhead)
  uint32_t dllp_permille = 0;  // share of the raw rate that link-layer packets take
  // true: data are handed to the NIC as their bytes arrive. false: only when the TLP is complete
  // (LCRC known).
  bool cut_through = true;
  uint64_t credit_return_ps = 0;  // from "buffer freed" until the sender may use the credit
  Credits up_credits;             // what the host side advertises to the NIC
  Credits down_credits;           // what the NIC advertises (a real endpoint: completions infinite)
};

enum class WriteResponse : uint8_t {
  kAccepted,  // AXI B as soon as the ordered queue has the whole TLP: what a posted write can
              // promise
  kVisible,   // B when the data are visible, plus the way back
};

struct HostConfig {
  uint64_t ring_read_ps =
      0;  // reads from a kRing region: from arrival until their first completion is sent
  uint64_t data_read_ps = 0;     // all other reads: from arrival until their first byte is sent
  uint64_t write_commit_ps = 0;  // from arrival until visible
  uint64_t read_jitter_ps =
      0;  // each read: uniform 0..this on top (completions overtake each other)
  uint64_t write_jitter_ps = 0;  // each write; visible order is kept unless relaxed ordering is set
  uint64_t write_kbps = 0;       // rate at which memory takes writes
  uint64_t read_kbps = 0;        // rate at which memory gives read data
  uint64_t mmio_issue_ps = 0;    // from the CPU's store until it is at the root port
  WriteResponse write_response = WriteResponse::kAccepted;
};

struct GpuConfig {
  uint64_t base = 0;  // bus address window [base, limit)
  uint64_t limit = 0;
  uint64_t extra_latency_ps = 0;  // each way, on top of the link's
  uint64_t read_ps = 0;           // memory latency
  uint64_t ring_read_ps = 0;
  uint64_t write_commit_ps = 0;
  uint64_t read_jitter_ps = 0;
  uint64_t write_jitter_ps = 0;
  uint64_t write_kbps = 0;            // its own link, into the GPU
  uint64_t read_kbps = 0;             // out of it
  uint64_t bounce_copy_ps = 400'000;  // fixed cost of a copy between GPU and host memory
  uint64_t bounce_kbps = 0;           // and its rate; 0: only the fixed cost
};

enum class FaultKind : uint8_t {
  kUnsupported,     // reads: completion with UR; writes: dropped, AXI SLVERR
  kCompleterAbort,  // reads: some completions with data, then CA; writes: as above
  kPoison,          // reads: one of the completions comes poisoned; writes: not applied, counted
  kNeverComes,      // reads: no completion ever; writes: lost silently
  kDelay,           // served late by delay_ps
};
const char* to_string(FaultKind kind);

// Error injection. A request that matches is hit with `probability`, after `skip` matches, `count`
// times at most.
struct FaultRule {
  FaultKind kind = FaultKind::kUnsupported;
  bool reads = true;
  bool writes = false;
  uint64_t first_addr = 0;
  uint64_t last_addr = ~0ull;  // overlap counts
  double probability = 1.0;
  uint64_t skip = 0;
  uint64_t count = ~0ull;
  uint64_t delay_ps = 0;
};

struct Config {
  uint32_t mps = 512;  // bytes: 128..4096
  uint32_t mrrs = 512;
  uint32_t rcb = 64;  // 64 or 128
  uint32_t completion_bytes =
      256;              // completions end at multiples of this; multiple of rcb, at most mps
  uint32_t tags = 256;  // reads in flight (at most 256 AXI IDs)
  bool in_order_completions = false;    // true: reads are answered in the order asked
  bool interleave_completions = false;  // true: completions of different tags mix on the link
  bool random_split =
      false;  // true: each completion is a random number of RCBs (up to completion_bytes)
  uint32_t posted_queue_bytes =
      8192;  // what the NIC's port buffers before it stops taking write data
  LinkConfig link;
  HostConfig host;
  std::array<uint64_t, 3> bar_base = {0x20'0000'0000, 0x20'1000'0000, 0x20'2000'0000};
  uint64_t msix_base = 0xFEE0'0000;  // writes to [base, base+size) of the host are interrupts
  uint64_t msix_size = 0x10'0000;
  std::vector<FaultRule> faults;
  uint64_t seed = 1;

  // Throws std::invalid_argument, "key: what was expected".
  void validate() const;

  // The delays of the reference figures: doorbell 20 ns, ring read 40 ns, data read's first byte 85
  // ns, then 504 Gb/s of payload, writes visible 85 ns after their last byte; MPS and MRRS 4096,
  // completions 256 B.
  static Config reference_delays();
  // Everything answered in the next cycle, no rate limit.
  static Config zero_delays();
  // Gen5 x16 with TLP overhead, MPS 512, MRRS 512, finite credits, latencies of a server (read
  // about 600 ns).
  static Config gen5_x16();
  // Raw rate of a link: GT/s (2.5, 5, 8, 16, 32) with its encoding times lanes, in kb/s.
  static uint64_t link_kbps(int generation, int lanes);
  // "reference", "zero", "gen5x16"; throws on any other name.
  static Config preset(std::string_view name);
};

// GPU settings that go with the presets (window left to the caller).
GpuConfig gpu_reference_delays();
GpuConfig gpu_zero_delays();
GpuConfig gpu_gen5_x16();
GpuConfig gpu_preset(std::string_view name);

}  // namespace rnic::pcie
