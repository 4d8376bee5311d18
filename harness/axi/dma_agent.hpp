// SPDX-License-Identifier: Apache-2.0
// The PCIe side of the NIC's DMA master: takes its AXI bursts as TLPs and gives data and responses back.
//
//   axi::DmaAgent dma(fabric, {.data_w = 512});
//   dma.sample(in, now_ps);                 // before the edge at now_ps
//   ...evaluate the edge...
//   fabric.advance(next_ps);                // next_ps: the next edge
//   dma.drive(next_ps);                     // values that edge will see
//   const axi::DmaOut& out = dma.out();
//
// One burst is one TLP: full-width INCR beats, data on natural byte lanes, exact byte count in the user bits.
// Write data may come before, with or after their address. Read data of one burst come as one block (with
// interleave_r: other bursts may come between completions), bursts in the order their completions start.
// Every violation of the protocol by the NIC throws ProtocolError: valid or payload dropped before ready, a
// 4 KB crossing, more than MPS or MRRS, len not matching the byte count, wrong strobes or wlast, a read ID
// that is still in use.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/axi/pins.hpp"
#include "harness/axi/protocol_error.hpp"
#include "harness/mem/random.hpp"
#include "harness/pcie/fabric.hpp"

namespace rnic::axi {

// Probability, in 1/256, that a channel pauses in a cycle.
struct DmaStalls {
  uint16_t aw = 0, w = 0, b = 0, ar = 0, r = 0;
};

struct DmaAgentConfig {
  uint32_t data_w = 512;          // 128, 256, 512, 1024
  bool interleave_r = false;
  DmaStalls stalls;
  uint64_t seed = 1;
  uint32_t aw_queue = 16;         // addresses taken ahead of their data
  uint32_t w_ahead = 2;           // bursts of data taken ahead of their address
};

class DmaAgent : public pcie::RequesterSink {
 public:
  DmaAgent(pcie::Fabric& fabric, const DmaAgentConfig& config);  // becomes the fabric's sink
  ~DmaAgent() override;

  void sample(const DmaIn& in, uint64_t now_ps);
  void drive(uint64_t horizon_ps);
  const DmaOut& out() const { return out_; }
  // The NIC is in reset: forgets what is in flight on the AXI side; complete writes go on to memory.
  void reset();
  void set_stalls(const DmaStalls& stalls) { config_.stalls = stalls; }

  bool idle() const;              // nothing outstanding on any channel
  uint64_t cycle() const { return cycle_; }
  uint64_t read_beats() const { return read_beats_; }
  uint64_t write_beats() const { return write_beats_; }

  // pcie::RequesterSink
  void on_completion(pcie::ReadOp* op) override;
  void on_read_lost(pcie::ReadOp* op) override;
  void on_write_response(pcie::WriteOp* op, uint64_t time_ps) override;

 private:
  struct Address {
    uint64_t addr;
    uint32_t user;
    uint8_t id, len;
  };
  struct Staged;       // a burst of write data
  struct Arrival {
    pcie::ReadOp* op;
    uint32_t chunk;
  };
  struct Response {
    pcie::WriteOp* op;
    uint64_t time_ps;
  };

  [[noreturn]] void fail(const char* signal, const std::string& what) const;
  void check_hold(const DmaIn& in);
  void check_address(const char* signal, const Address& a, uint32_t max_bytes) const;
  pcie::Endpoint endpoint_of(const UserBits& user) const;
  void take_address(const Address& a, uint64_t now_ps);
  void take_beat(const DmaIn& in, uint64_t now_ps);
  void check_strobe(const pcie::WriteOp& op, uint32_t beat, const Strobe& got) const;
  void match_staged(uint64_t now_ps);
  void take_read(const DmaIn& in, uint64_t now_ps);
  void next_beat(uint64_t horizon_ps);
  void finish_read_beat(uint64_t now_ps);
  void forget(pcie::ReadOp* op);
  bool pause(uint16_t p) { return p != 0 && rng_.below(256) < p; }
  Strobe lanes(uint32_t from, uint32_t to) const;

  pcie::Fabric& fabric_;
  DmaAgentConfig config_;
  uint32_t beat_bytes_;
  uint32_t beat_shift_;
  mem::Random rng_;
  DmaOut out_;
  uint64_t cycle_ = 0;
  uint64_t read_beats_ = 0, write_beats_ = 0;

  // write side
  pcie::Ring<Address> aw_;                 // addresses without complete data, oldest first
  std::vector<std::unique_ptr<Staged>> staged_pool_;
  pcie::Ring<Staged*> staged_;             // data bursts, oldest first; the last may be incomplete
  pcie::Ring<Response> b_ready_;
  struct IdList {
    pcie::WriteOp* head = nullptr;
    pcie::WriteOp* tail = nullptr;
  };
  std::vector<IdList> write_ids_;
  pcie::WriteOp* b_now_ = nullptr;
  uint32_t writes_outstanding_ = 0;

  // read side
  std::vector<pcie::ReadOp*> read_ids_;
  pcie::Ring<Arrival> arrivals_;
  pcie::ReadOp* r_now_ = nullptr;          // the burst whose beats are being given
  bool r_mid_burst_ = false;

  // what the last sample saw, for the hold rules
  DmaIn last_;
  std::vector<uint32_t> last_w_;
};

}  // namespace rnic::axi
