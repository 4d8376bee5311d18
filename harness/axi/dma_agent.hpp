// SPDX-License-Identifier: Apache-2.0
// The PCIe side of the NIC's DMA master: takes its AXI bursts as TLPs and gives data and responses
// back.
//
//   axi::DmaAgent dma(fabric, {.data_w = 512});
//   dma.sample(in, now_ps);                 // before the edge at now_ps
//   ...evaluate the edge...
//   fabric.advance(next_ps);                // next_ps: the next edge
//   dma.drive(next_ps);                     // values that edge will see
//   const axi::DmaOut& out = dma.out();
//
// One burst is one TLP: full-width INCR beats, data on natural byte lanes, exact byte count in the
// user bits. Write data may come before, with or after their address. Read data of one burst come
// as one block (with interleave_r: other bursts may come between completions), bursts in the order
// their completions start. Every violation of the protocol by the NIC throws ProtocolError: valid
// or payload dropped before ready, a 4 KB crossing, more than MPS or MRRS, len not matching the
// byte count, wrong strobes or wlast, a read ID that is still in use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/axi/pins.hpp"
#include "harness/axi/protocol_error.hpp"
#include "harness/mem/random.hpp"
#include "harness/pcie/fabric.hpp"
#include "harness/pcie/ring.hpp"

namespace rnic::axi {

// Probability, in 1/256, that a channel pauses in a cycle.
struct DmaStalls {
  uint16_t aw = 0, w = 0, b = 0, ar = 0, r = 0;
};

struct DmaAgentConfig {
  uint32_t data_w = 512;  // 128, 256, 512, 1024
  bool interleave_r = false;
  DmaStalls stalls{};
  uint64_t seed = 1;
  uint32_t aw_queue = 16;  // addresses taken ahead of their data
  uint32_t w_ahead = 2;    // bursts of data taken ahead of their address
};

class DmaAgent : public pcie::RequesterSink {
 public:
  DmaAgent(pcie::Fabric& fabric, const DmaAgentConfig& config);  // becomes the fabric's sink
  ~DmaAgent() override;

  void sample(const DmaIn& in, uint64_t now_ps);
  void drive(uint64_t horizon_ps);
  const DmaOut& out() const { return out_; }
  // The NIC is in reset: forgets what is in flight on the AXI side; complete writes go on to
  // memory.
  void reset();
  void set_stalls(const DmaStalls& stalls) { config_.stalls = stalls; }

  bool idle() const;  // nothing outstanding on any channel
  uint64_t cycle() const { return cycle_; }
  uint64_t read_beats() const { return read_beats_; }
  uint64_t write_beats() const { return write_beats_; }

  // pcie::RequesterSink
  void on_completion(pcie::ReadOp* op) override;
  void on_read_lost(pcie::ReadOp* op) override;
  void on_write_response(pcie::WriteOp* op, uint64_t time_ps) override;

 private:
  struct Address {
    uint64_t addr = 0;
    uint32_t user = 0;
    uint8_t id = 0, len = 0;
    bool operator==(const Address&) const = default;
  };
  struct Burst {  // write data on their way in
    pcie::WriteOp* op = nullptr;
    bool attached = false;  // its address is known
    bool last = false;
    std::vector<Strobe> strobes;  // while the address is not known
  };
  struct Arrival {
    pcie::ReadOp* op = nullptr;
    uint32_t chunk = 0;
  };
  struct IdList {
    pcie::WriteOp* head = nullptr;
    pcie::WriteOp* tail = nullptr;
  };

  [[noreturn]] void fail(const char* signal, const std::string& what) const;
  void check_hold(const DmaIn& in);
  void check_address(const char* channel, const Address& a, uint32_t max_bytes) const;
  static pcie::Endpoint endpoint_of(const UserBits& user);
  void take_beat(const DmaIn& in, uint64_t now_ps);
  void attach(Burst& burst, const Address& a, uint64_t now_ps);
  void finish(Burst& burst, uint64_t now_ps);
  void check_strobe(const pcie::WriteOp& op, uint32_t beat, const Strobe& got) const;
  void take_read(const Address& a, uint64_t now_ps);
  void take_response();
  void read_beat_taken();
  void next_response(uint64_t horizon_ps);
  void next_beat(uint64_t horizon_ps);
  bool pause(uint16_t p) { return p != 0 && rng_.below(256) < p; }

  pcie::Fabric& fabric_;
  DmaAgentConfig config_;
  uint32_t beat_bytes_;
  mem::Random rng_;
  DmaOut out_;
  uint64_t cycle_ = 0;
  uint64_t read_beats_ = 0, write_beats_ = 0;

  // write side
  pcie::Ring<Address> aw_;    // addresses that wait for their data
  pcie::Ring<Burst*> ahead_;  // data that wait for their address
  Burst* open_ = nullptr;     // the burst whose beats are coming
  std::vector<std::unique_ptr<Burst>> bursts_;
  std::vector<Burst*> bursts_free_;
  std::vector<IdList> write_ids_;
  pcie::Ring<pcie::WriteOp*> answered_;  // next of their ID, response due at response_ps
  pcie::WriteOp* response_ = nullptr;    // on the B channel
  uint32_t writes_open_ = 0;             // attached, response not yet taken

  // read side
  std::vector<pcie::ReadOp*> read_ids_;
  uint32_t reads_open_ = 0;
  pcie::Ring<Arrival> arrivals_;
  pcie::ReadOp* reading_ = nullptr;  // its beat is on the R channel
  uint32_t beat_end_ = 0;            // offset behind that beat's last byte
  alignas(128) uint8_t junk_[pcie::kMaxBeatBytes];

  // hold rules
  bool aw_held_ = false, w_held_ = false, ar_held_ = false;
  Address held_aw_, held_ar_;
  Strobe held_strb_{};
  bool held_last_ = false;
  std::vector<uint32_t> held_data_;
};

}  // namespace rnic::axi
