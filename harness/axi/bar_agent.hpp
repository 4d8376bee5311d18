// SPDX-License-Identifier: Apache-2.0
// The PCIe side of the NIC's BARs: MMIO requests that arrive over the fabric become AXI
// transactions.
//
//   axi::BarAgent bars(fabric, {.data_w = 512});
//   bars.sample(in, now_ps);  ...edge...  fabric.advance(next_ps);  bars.drive(next_ps);
//
// BAR0 and the registers of BAR2 are AXI4-Lite (a request longer than 4 bytes becomes several, in
// address order); BAR1 and the GDR window (a range of BAR2; its pins carry the offset inside the
// window) are DATA_W-wide bursts. Order: writes are given one after the other, in posted order,
// each when the data of the one before were taken (one per cycle when the port is ready); responses
// are not waited for. A read is given when all earlier writes have their responses; later writes
// pass a read that waits for its data. BAR1 cannot be read: all ones and an error.
#pragma once

#include <cstdint>
#include <string>

#include "harness/axi/pins.hpp"
#include "harness/axi/protocol_error.hpp"
#include "harness/mem/random.hpp"
#include "harness/pcie/fabric.hpp"

namespace rnic::axi {

struct BarAgentConfig {
  uint32_t data_w = 512;
  uint32_t gdr_offset = 0x20'0000;  // of the GDR window in BAR2
  uint32_t gdr_size = 0x20'0000;
  uint16_t stall = 0;  // 1/256: a valid or ready is withheld in a cycle
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
  enum class Port : uint8_t { kBar0, kBar1, kBar2, kGdr };
  static const char* name(Port port);

  [[noreturn]] void fail(Port port, const char* signal, const std::string& what) const;
  Port port_of(pcie::Bar bar, uint32_t offset) const;
  bool is_lite(Port port) const { return port == Port::kBar0 || port == Port::kBar2; }
  LiteOut& lite(Port port) { return port == Port::kBar0 ? out_.bar0 : out_.bar2; }
  BurstOut& burst(Port port) { return port == Port::kBar1 ? out_.bar1 : out_.gdr; }

  void give_write();
  void give_read();
  void put_beat(BurstOut& pins);
  void sample_lite(Port port, const LiteIn& in, uint64_t now_ps);
  void sample_burst(Port port, const BurstIn& in, uint64_t now_ps);
  void response(Port port, uint8_t resp);
  void write_piece_done(uint64_t now_ps);
  void read_piece(Port port, const uint8_t* data, uint32_t len, uint8_t resp, uint64_t now_ps);
  void check_valid_holds(Port port, bool& held, bool valid, const char* signal);
  bool pause() { return config_.stall != 0 && rng_.below(256) < config_.stall; }

  pcie::Fabric& fabric_;
  BarAgentConfig config_;
  uint32_t beat_bytes_;
  mem::Random rng_;
  BarOut out_;
  uint64_t cycle_ = 0;
  uint64_t write_errors_ = 0;
  uint32_t responses_due_[4] = {};
  uint32_t responses_due_all_ = 0;
  bool b_held_[4] = {}, r_held_[4] = {};

  // The write that is being given.
  bool writing_ = false;
  bool aw_open_ = false, w_open_ = false;  // this piece's address, data not yet taken
  pcie::MmioOp write_;
  Port write_port_ = Port::kBar0;
  uint32_t write_done_ = 0;        // bytes given
  uint32_t piece_ = 0;             // bytes of the piece on the pins
  uint32_t beat_ = 0, beats_ = 0;  // bursts

  // The read that is being given.
  bool reading_ = false;
  bool ar_open_ = false, r_due_ = false;
  pcie::MmioOp read_;
  Port read_port_ = Port::kBar0;
  uint32_t read_done_ = 0;
  uint32_t read_piece_ = 0;
  uint32_t read_beat_ = 0, read_beats_ = 0;
  bool read_ok_ = true;

  alignas(128) uint8_t lanes_[256];  // the whole write burst on its lanes
};

}  // namespace rnic::axi
