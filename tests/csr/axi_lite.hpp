// SPDX-License-Identifier: Apache-2.0
//
// One AXI4-Lite access at a time on a register file, for directed tests.
//
//   AxiLite<Vtst_csr> axi(bench);
//   axi.write(0x10, 0x1234, 0xF);
//   CHECK(axi.read(0x10).data == 0x1234);
#pragma once

#include <cstdint>

#include "tests/support/bench.hpp"

namespace rnic::test {

struct AxiRead {
  uint32_t data;
  unsigned resp;
  uint64_t cycles;  // from the edge that takes the address to the first cycle with the answer
};

enum class WriteOrder { kTogether, kAddressFirst, kDataFirst };

template <class Top>
class AxiLite {
 public:
  explicit AxiLite(Bench<Top>& bench) : bench_(bench), top_(bench.top()) {
    top_.s_awvalid = top_.s_wvalid = top_.s_arvalid = 0;
    top_.s_bready = top_.s_rready = 1;
  }

  AxiRead read(uint32_t addr, uint64_t limit = 100) {
    top_.s_araddr = addr;
    top_.s_arvalid = 1;
    take([&] { return top_.s_arready != 0; }, "ar");
    top_.s_arvalid = 0;
    uint64_t cycles = 1;
    while (top_.s_rvalid == 0) {
      bench_.tick();
      if (++cycles > limit) throw Timeout("no read answer");
    }
    const AxiRead r{top_.s_rdata, top_.s_rresp, cycles};
    bench_.tick();
    return r;
  }

  // The response.
  unsigned write(uint32_t addr, uint32_t data, unsigned strb = 0xF,
                 WriteOrder order = WriteOrder::kTogether, uint64_t limit = 100) {
    top_.s_awaddr = addr;
    top_.s_wdata = data;
    top_.s_wstrb = static_cast<CData>(strb);
    const bool address_first = order != WriteOrder::kDataFirst;
    if (address_first) top_.s_awvalid = 1;
    if (order != WriteOrder::kAddressFirst) top_.s_wvalid = 1;
    bench_.settle();
    if (order == WriteOrder::kTogether) {
      if (top_.s_awready == 0 || top_.s_wready == 0) throw Timeout("not ready");
      bench_.tick();
    } else {
      take([&] { return (address_first ? top_.s_awready : top_.s_wready) != 0; }, "first");
      (address_first ? top_.s_awvalid : top_.s_wvalid) = 0;
      bench_.tick(3);
      if (top_.s_bvalid != 0) throw ProtocolError("an answer without address and data");
      (address_first ? top_.s_wvalid : top_.s_awvalid) = 1;
      take([&] { return (address_first ? top_.s_wready : top_.s_awready) != 0; }, "second");
    }
    top_.s_awvalid = top_.s_wvalid = 0;
    uint64_t cycles = 1;
    while (top_.s_bvalid == 0) {
      bench_.tick();
      if (++cycles > limit) throw Timeout("no write answer");
    }
    const unsigned resp = top_.s_bresp;
    bench_.tick();
    return resp;
  }

 private:
  template <class F>
  void take(F ready, const char* what) {
    bench_.settle();
    for (int i = 0; !ready(); ++i) {
      if (i > 100) throw Timeout(std::string("not ready: ") + what);
      bench_.tick();
    }
    bench_.tick();
  }

  Bench<Top>& bench_;
  Top& top_;
};

}  // namespace rnic::test
