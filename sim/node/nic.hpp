// SPDX-License-Identifier: Apache-2.0
// One Verilated NIC behind an interface that does not depend on its width.
//
//   std::unique_ptr<Nic> nic = make_nic({.data_w = 512});
//   nic->attach(port, &link.tx(0), &link.rx(0));
//   nic->step(now, kCoreEdge | kMacEdge);       // one rising edge of one or both clocks
//
// A step samples every pin, evaluates the edge, then drives what the next edge will see (style:
// two-phase).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/axi/nic_port.hpp"
#include "harness/wire/wire.hpp"

namespace rnic::sim {

using TimePs = uint64_t;

enum Edge : unsigned { kCoreEdge = 1, kMacEdge = 2 };

// The parameters of a Verilated rnic_top that the world must know.
struct NicInfo {
  uint32_t data_w = 0;
  bool gen_fcs = false;
  TimePs core_ps = 2000;
  TimePs mac_ps = 1600;
  uint32_t borders = 0;
  uint32_t trace_sources = 0;
};

struct NicOptions {
  uint32_t data_w = 512;
  uint32_t contexts = 0;  // on chip, of 16384 QPs; 0: the usual NIC, all of whose QPs are on chip
  bool arp = false;       // with arp_fsm
  uint64_t seed = 1;      // of what the model does not initialise
  std::string wave_file;  // FST, needs a model with waves
};

// One event of the trace bus, in the cycle in which its source drove it.
struct TraceEvent {
  TimePs time_ps = 0;
  uint64_t cycle = 0;
  uint8_t event = 0;  // rnic_pkg TRC_*
  uint8_t source = 0;
  bool sampled = false;
  uint32_t qpn = 0;
  uint32_t info = 0;
};

// Pins as events of their own, numbered above the hardware's. MAC: qpn is 0, info counts frames.
// BAR: info is the data of BAR0, the address of BAR1.
enum PinEvent : uint8_t {
  kMacTxFirst = 200,  // first beat of a frame taken on mac_tx
  kMacTxLast = 201,
  kMacRxFirst = 202,  // first beat of a frame on mac_rx
  kMacRxLast = 203,
  kBar0Write = 204,  // data of a BAR0 write taken
  kBar1Write = 205,  // a beat of BAR1 taken
};

// Hears of each event; called inside step(), before the edge is evaluated.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_trace(const TraceEvent& event) = 0;
};

// Where the time of the simulation goes: wall time of sampled steps.
struct StepProfile {
  uint64_t steps = 0;       // sampled
  uint64_t model_ns = 0;    // inside the Verilated model
  uint64_t harness_ns = 0;  // everything else in a step: pins, PCIe, wire, memory
};

// Frames in and out of the raw port.
class RawPort {
 public:
  virtual ~RawPort() = default;
  // A whole frame came out of the NIC.
  virtual void on_raw_frame(TimePs now, std::span<const uint8_t> frame) = 0;
  // The next frame to send, or an empty span; it must stay valid until the next call.
  virtual std::span<const uint8_t> next_raw_frame(TimePs now) = 0;
};

// Cycles of one border since reset, as the pins showed them.
struct BorderCount {
  uint64_t busy = 0, stalled = 0;
};

class Nic {
 public:
  virtual ~Nic() = default;
  virtual const NicInfo& info() const = 0;
  // Borrowed; they outlive the NIC's last step. The wire ports may be null (no cable).
  virtual void attach(axi::NicPort& port, pcie::Fabric& fabric, wire::TxPort* tx,
                      wire::RxPort* rx) = 0;
  virtual void set_trace(TraceSink* sink) = 0;  // null: no cost
  virtual void set_raw_port(RawPort* port) = 0;
  virtual void count_borders(bool on) = 0;
  virtual const std::vector<BorderCount>& borders() const = 0;
  virtual void set_reset(bool core, bool mac) = 0;  // pins, seen by the next edges
  virtual void step(TimePs now, unsigned edges) = 0;
  // Time of the last step in which the first beat of a frame was on mac_tx with ready, and the
  // count of such frames.
  virtual TimePs last_tx_start_ps() const = 0;
  virtual uint64_t tx_starts() const = 0;
  virtual uint64_t core_cycles() const = 0;
  virtual const StepProfile& profile() const = 0;
  virtual void flush_waves() = 0;
};

// A Verilated NIC of this program, as NicOptions ask for it.
struct NicKind {
  uint32_t data_w = 0, contexts = 0;
  bool arp = false;
};

// Throws std::invalid_argument for a NIC that this program does not have, naming those it has.
std::unique_ptr<Nic> make_nic(const NicOptions& options);
std::vector<NicKind> nic_kinds();
std::vector<uint32_t> nic_widths();
std::string to_string(const std::vector<NicKind>& kinds);

}  // namespace rnic::sim
