// SPDX-License-Identifier: Apache-2.0
//
// The pin adapter on a stand-in for a Verilated top: ports up to 64 bits are integers, wider ones
// arrays of words.
#include "harness/axi/verilated_pins.hpp"

#include <array>

#include "tests/harness_pcie/fake_nic.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;

namespace {

template <int kWords, typename Strb>
struct Top {
  using Wide = std::array<uint32_t, kWords>;
  uint8_t m_axi_awvalid = 0, m_axi_awready = 0, m_axi_awid = 0, m_axi_awlen = 0;
  uint64_t m_axi_awaddr = 0;
  uint32_t m_axi_awuser = 0;
  uint8_t m_axi_wvalid = 0, m_axi_wready = 0, m_axi_wlast = 0;
  Wide m_axi_wdata{};
  Strb m_axi_wstrb{};
  uint8_t m_axi_bvalid = 0, m_axi_bready = 0, m_axi_bid = 0, m_axi_bresp = 0;
  uint8_t m_axi_arvalid = 0, m_axi_arready = 0, m_axi_arid = 0, m_axi_arlen = 0;
  uint64_t m_axi_araddr = 0;
  uint32_t m_axi_aruser = 0;
  uint8_t m_axi_rvalid = 0, m_axi_rready = 0, m_axi_rid = 0, m_axi_rresp = 0, m_axi_rlast = 0,
          m_axi_ruser = 0;
  Wide m_axi_rdata{};
#define LITE(p)                                                                            \
  uint32_t p##_awaddr = 0, p##_wdata = 0, p##_araddr = 0, p##_rdata = 0;                   \
  uint8_t p##_awvalid = 0, p##_awready = 0, p##_wvalid = 0, p##_wready = 0, p##_wstrb = 0; \
  uint8_t p##_bvalid = 0, p##_bready = 0, p##_bresp = 0, p##_arvalid = 0, p##_arready = 0; \
  uint8_t p##_rvalid = 0, p##_rready = 0, p##_rresp = 0;
  LITE(bar0)
  LITE(bar2)
#undef LITE
#define BURST(p)                                                                           \
  uint32_t p##_awaddr = 0;                                                                 \
  uint8_t p##_awvalid = 0, p##_awready = 0, p##_awlen = 0, p##_wvalid = 0, p##_wready = 0; \
  uint8_t p##_wlast = 0, p##_bvalid = 0, p##_bready = 0, p##_bresp = 0;                    \
  Wide p##_wdata{};                                                                        \
  Strb p##_wstrb{};
  BURST(bar1)
  BURST(gdr)
#undef BURST
  uint32_t gdr_araddr = 0;
  uint8_t gdr_arvalid = 0, gdr_arready = 0, gdr_arlen = 0, gdr_rvalid = 0, gdr_rready = 0,
          gdr_rresp = 0, gdr_rlast = 0;
  Wide gdr_rdata{};
};

template <int kWords, typename Strb>
void through_the_pins() {
  test::World w(pcie::Config::zero_delays());
  constexpr uint32_t kWidth = kWords * 32;
  axi::NicPort port(w.fabric, {.data_w = kWidth}, {.data_w = kWidth});
  Top<kWords, Strb> top;
  axi::VerilatedPins<Top<kWords, Strb>> pins(top, port);
  mem::DmaBuffer b = w.dma.alloc(4096);
  const auto data = test::rng("data").bytes(kWidth / 8);
  b.write(0, data.data(), data.size());
  uint64_t now = 0;
  auto tick = [&] {
    pins.read();
    port.sample(now);
    now += 2000;
    w.fabric.advance(now);
    port.drive(now);
    pins.write();
  };
  top.m_axi_rready = top.m_axi_bready = 1;
  tick();
  REQUIRE(top.m_axi_arready);
  top.m_axi_arvalid = 1;
  top.m_axi_arid = 0x21;
  top.m_axi_araddr = b.bus_addr();
  top.m_axi_aruser = kWidth / 8;
  tick();
  top.m_axi_arvalid = 0;
  REQUIRE(top.m_axi_rvalid);
  CHECK(top.m_axi_rid == 0x21);
  CHECK(top.m_axi_rlast);
  CHECK(std::memcmp(top.m_axi_rdata.data(), data.data(), data.size()) == 0);
  tick();
  CHECK_FALSE(top.m_axi_rvalid);

  // All lanes but the first and the last.
  top.m_axi_awvalid = top.m_axi_wvalid = top.m_axi_wlast = 1;
  top.m_axi_awaddr = b.bus_addr(1024 + 1);
  top.m_axi_awuser = kWidth / 8 - 2;
  for (int i = 0; i < kWords; ++i)
    top.m_axi_wdata[static_cast<size_t>(i)] = 0x01010101u * static_cast<uint32_t>(i + 1);
  axi::Strobe strobe{~1ull, ~0ull};
  if (kWidth <= 512) {
    strobe = {(kWidth == 512 ? ~0ull : (1ull << (kWidth / 8 % 64)) - 1) & ~1ull &
                  ~(1ull << (kWidth / 8 - 1)),
              0};
  } else {
    strobe[1] &= ~(1ull << 63);
  }
  axi::set_pin_strobe(top.m_axi_wstrb, strobe);
  CHECK(axi::pin_strobe(top.m_axi_wstrb) == strobe);
  tick();
  top.m_axi_awvalid = top.m_axi_wvalid = 0;
  CHECK(top.m_axi_bvalid);
  CHECK(top.m_axi_bresp == 0);
  CHECK(b.load<uint8_t>(1024) == 0);
  CHECK(b.load<uint8_t>(1025) == 1);
  CHECK(b.load<uint8_t>(1024 + kWidth / 8 - 2) == kWords);
  CHECK(b.load<uint8_t>(1024 + kWidth / 8 - 1) == 0);

  // One access to each BAR.
  const uint64_t v = 0x1122334455667788;
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kDoorbell, 0x10, &v, 4, now);
  tick();
  CHECK(top.bar0_awvalid);
  CHECK(top.bar0_awaddr == 0x10);
  CHECK(top.bar0_wdata == 0x55667788);
  CHECK(top.bar0_wstrb == 0xF);
  top.bar0_awready = top.bar0_wready = 1;
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kBlueFlame, 0x40, &v, 8, now);
  tick();
  CHECK_FALSE(top.bar0_awvalid);
  CHECK(top.bar1_awvalid);
  CHECK(top.bar1_wvalid);
  CHECK(top.bar1_awaddr == 0x40);
  const uint32_t lane = 0x40 % (kWidth / 8);
  CHECK(std::memcmp(reinterpret_cast<const uint8_t*>(top.bar1_wdata.data()) + lane, &v, 8) == 0);
  const axi::Strobe got = axi::pin_strobe(top.bar1_wstrb);
  CHECK(got[lane / 64] >> (lane % 64) == 0xFF);
  top.bar1_awready = top.bar1_wready = 1;
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kRegisters, 0x20'0008, &v, 8, now);
  tick();
  CHECK(top.gdr_awvalid);
  CHECK(top.gdr_awaddr == 8);
  top.gdr_awready = top.gdr_wready = 1;
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kRegisters, 0x100, &v, 4, now);
  tick();
  CHECK(top.bar2_awvalid);
  CHECK(top.bar2_awaddr == 0x100);
  top.bar2_awready = top.bar2_wready = 1;
  tick();
  CHECK_FALSE(top.bar2_awvalid);
  top.bar0_bvalid = top.bar1_bvalid = top.bar2_bvalid = top.gdr_bvalid = 1;
  tick();
  top.bar0_bvalid = top.bar1_bvalid = top.bar2_bvalid = top.gdr_bvalid = 0;
  uint32_t read = 0;
  w.fabric.mmio_read(pcie::kHost, pcie::Bar::kRegisters, 0x20'0010, 4, now,
                     [&](const pcie::MmioResult& m) { std::memcpy(&read, m.data.data(), 4); });
  tick();
  CHECK(top.gdr_arvalid);
  CHECK(top.gdr_araddr == 0x10);
  top.gdr_arready = 1;
  tick();
  top.gdr_rvalid = top.gdr_rlast = 1;
  reinterpret_cast<uint32_t*>(top.gdr_rdata.data())[0x10 % (kWidth / 8) / 4] = 0xCAFE;
  tick();
  CHECK(read == 0xCAFE);
}

}  // namespace

TEST_CASE(
    "the pin adapter carries every port of a top, at the narrowest and the widest data width") {
  through_the_pins<4, uint16_t>();
  through_the_pins<8, uint32_t>();
  through_the_pins<16, uint64_t>();
  through_the_pins<32, std::array<uint32_t, 4>>();
}
