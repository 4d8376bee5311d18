// SPDX-License-Identifier: Apache-2.0
// Both sides of a NIC's host interface together, as a node uses them.
//
//   axi::NicPort port(fabric, {.data_w = 512}, {.data_w = 512});
//   axi::VerilatedPins<Vrnic_top> pins(*top, port);
//   ...
//   pins.read(); port.sample(now);            // before the edge
//   top->core_clk = 1; top->eval();
//   fabric.advance(next); port.drive(next); pins.write();
#pragma once

#include "harness/axi/bar_agent.hpp"
#include "harness/axi/dma_agent.hpp"

namespace rnic::axi {

class NicPort {
 public:
  NicPort(pcie::Fabric& fabric, const DmaAgentConfig& dma, const BarAgentConfig& bars)
      : dma_(fabric, dma), bars_(fabric, bars) {}

  DmaIn dma_in;
  BarIn bar_in;

  void sample(uint64_t now_ps) {
    dma_.sample(dma_in, now_ps);
    bars_.sample(bar_in, now_ps);
  }
  void drive(uint64_t horizon_ps) {
    dma_.drive(horizon_ps);
    bars_.drive(horizon_ps);
  }
  void reset() {
    dma_.reset();
    bars_.reset();
  }
  const DmaOut& dma_out() const { return dma_.out(); }
  const BarOut& bar_out() const { return bars_.out(); }
  DmaAgent& dma() { return dma_; }
  BarAgent& bars() { return bars_; }
  bool idle() const { return dma_.idle() && bars_.idle(); }

 private:
  DmaAgent dma_;
  BarAgent bars_;
};

}  // namespace rnic::axi
