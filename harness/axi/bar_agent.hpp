// SPDX-License-Identifier: Apache-2.0
// The PCIe side of the NIC's BARs: MMIO requests that arrive over the fabric become AXI transactions.
//
//   axi::BarAgent bars(fabric, {.data_w = 512});
//   bars.sample(in, now_ps);  ...edge...  fabric.advance(next_ps);  bars.drive(next_ps);
//
// BAR0 and the registers of BAR2 are AXI4-Lite (a request longer than 4 bytes becomes several, in address order);
// BAR1 and the GDR window (a range of BAR2; its pins carry the offset inside the window) are DATA_W-wide bursts.
// Order: requests are given in posted order. Writes to one port follow each other without waiting for responses;
// a write to another port waits until the data of all earlier ones were taken; a read waits for the responses of
// all earlier writes. BAR1 cannot be read: the answer is all ones and an error.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/axi/pins.hpp"
#include "harness/axi/protocol_error.hpp"
#include "harness/mem/random.hpp"
#include "harness/pcie/fabric.hpp"

namespace rnic::axi {

struct BarAgentConfig {
  uint32_t data_w = 512;
  uint32_t gdr_offset = 0x20'0000;   // of the GDR window in BAR2
  uint32_t gdr_size = 0x20'0000;
  uint16_t stall = 0;                // 1/256: a valid or ready is withheld in a cycle
  uint64_t seed = 1;
};

class BarAgent {
 public:
  BarAgent(pcie::Fabric& fabric, const BarAgentConfig& config);

  void sample(const BarIn& in, uint64_t now_ps);
  void drive(uint64_t horizon_ps);
  const BarOut& out() const { return out_; }
  void reset();
  bool idle() const;
  uint64_t write_errors() const { return write_errors_; }  // BRESP other than OKAY

 private:
  enum class Port : uint8_t { kBar0, kBar1, kBar2, kGdr, kNone };
  struct LiteState {
    bool aw_pending = false, w_pending = false, ar_pending = false;
    uint32_t responses = 0;
  };
  struct BurstState {
    bool aw_pending = false, ar_pending = false;
    uint32_t beats_left = 0, responses = 0;
  };

  Port port_of(const pcie::MmioOp& op) const;
  void start(uint64_t horizon_ps);
  void start_lite(LiteOut& pins, LiteState& state);
  void start_burst_write(BurstOut& pins, BurstState& state, uint32_t addr);
  void set_burst_beat(BurstOut& pins);
  void sample_lite(const LiteIn& in, LiteOut& pins, LiteState& state, const char* name, uint64_t now_ps);
  void sample_burst(const BurstIn& in, BurstOut& pins, BurstState& state, const char* name, uint64_t now_ps);
  void finish_read(bool ok, uint64_t now_ps);
  bool data_taken() const;
  bool responses_done() const;
  bool pause() { return config_.stall != 0 && rng_.below(256) < config_.stall; }

  pcie::Fabric& fabric_;
  BarAgentConfig config_;
  uint32_t beat_bytes_;
  mem::Random rng_;
  BarOut out_;
  LiteState bar0_, bar2_;
  BurstState bar1_, gdr_;
  Port last_port_ = Port::kNone;
  uint64_t cycle_ = 0;
  uint64_t write_errors_ = 0;

  bool have_op_ = false;      // op_ is being given to its port
  pcie::MmioOp op_;
  Port op_port_ = Port::kNone;
  uint32_t op_done_ = 0;      // bytes given (writes) or received (reads)
  bool read_error_ = false;
  bool reading_ = false;
  uint32_t burst_base_ = 0;   // lane-aligned address of the burst's first beat
  std::vector<uint32_t> burst_words_;  // lanes of the whole burst
  uint32_t burst_beat_ = 0, burst_beats_ = 0;
};

}  // namespace rnic::axi
