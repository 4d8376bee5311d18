// SPDX-License-Identifier: Apache-2.0
// Binds a NicPort to a Verilated top whose ports are named m_axi_*, bar0_*, bar1_*, bar2_*, gdr_*.
// The only place of this library that touches the model's fields; needs no Verilator header itself.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "harness/axi/nic_port.hpp"

namespace rnic::axi {

// The words of a wide port, or of an integral one.
template <typename T>
const uint32_t* pin_words(const T& v) {
  if constexpr (std::is_integral_v<T>) {
    return reinterpret_cast<const uint32_t*>(&v);
  } else {
    return &v[0];
  }
}
template <typename T>
uint32_t* pin_words(T& v) {
  return const_cast<uint32_t*>(pin_words(static_cast<const T&>(v)));
}
template <typename T>
Strobe pin_strobe(const T& v) {
  if constexpr (std::is_integral_v<T>) {
    return {static_cast<uint64_t>(v), 0};
  } else {
    static_assert(sizeof(T) == 16);
    return {v[0] | uint64_t{v[1]} << 32, v[2] | uint64_t{v[3]} << 32};
  }
}
template <typename T>
void set_pin_strobe(T& pin, const Strobe& s) {
  if constexpr (std::is_integral_v<T>) {
    pin = static_cast<T>(s[0]);
  } else {
    static_assert(sizeof(T) == 16);
    for (int i = 0; i < 4; ++i) pin[i] = static_cast<uint32_t>(s[i / 2] >> (32 * (i % 2)));
  }
}

template <typename Top>
class VerilatedPins {
 public:
  VerilatedPins(Top& top, NicPort& port) : t_(top), p_(port) {}

  void read() {
    DmaIn& d = p_.dma_in;
    d.aw_valid = t_.m_axi_awvalid;
    d.aw_id = t_.m_axi_awid;
    d.aw_addr = t_.m_axi_awaddr;
    d.aw_len = t_.m_axi_awlen;
    d.aw_user = t_.m_axi_awuser;
    d.w_valid = t_.m_axi_wvalid;
    d.w_last = t_.m_axi_wlast;
    d.w_data = pin_words(t_.m_axi_wdata);
    if (d.w_valid) d.w_strb = pin_strobe(t_.m_axi_wstrb);
    d.b_ready = t_.m_axi_bready;
    d.ar_valid = t_.m_axi_arvalid;
    d.ar_id = t_.m_axi_arid;
    d.ar_addr = t_.m_axi_araddr;
    d.ar_len = t_.m_axi_arlen;
    d.ar_user = t_.m_axi_aruser;
    d.r_ready = t_.m_axi_rready;

    BarIn& b = p_.bar_in;
    b.bar0 = {!!t_.bar0_awready,
              !!t_.bar0_wready,
              !!t_.bar0_bvalid,
              static_cast<uint8_t>(t_.bar0_bresp),
              !!t_.bar0_arready,
              !!t_.bar0_rvalid,
              static_cast<uint8_t>(t_.bar0_rresp),
              static_cast<uint32_t>(t_.bar0_rdata)};
    b.bar2 = {!!t_.bar2_awready,
              !!t_.bar2_wready,
              !!t_.bar2_bvalid,
              static_cast<uint8_t>(t_.bar2_bresp),
              !!t_.bar2_arready,
              !!t_.bar2_rvalid,
              static_cast<uint8_t>(t_.bar2_rresp),
              static_cast<uint32_t>(t_.bar2_rdata)};
    b.bar1.aw_ready = t_.bar1_awready;
    b.bar1.w_ready = t_.bar1_wready;
    b.bar1.b_valid = t_.bar1_bvalid;
    b.bar1.b_resp = t_.bar1_bresp;
    b.gdr.aw_ready = t_.gdr_awready;
    b.gdr.w_ready = t_.gdr_wready;
    b.gdr.b_valid = t_.gdr_bvalid;
    b.gdr.b_resp = t_.gdr_bresp;
    b.gdr.ar_ready = t_.gdr_arready;
    b.gdr.r_valid = t_.gdr_rvalid;
    b.gdr.r_last = t_.gdr_rlast;
    b.gdr.r_resp = t_.gdr_rresp;
    b.gdr.r_data = pin_words(t_.gdr_rdata);
  }

  void write() {
    const DmaOut& d = p_.dma_out();
    t_.m_axi_awready = d.aw_ready;
    t_.m_axi_wready = d.w_ready;
    t_.m_axi_bvalid = d.b_valid;
    t_.m_axi_bid = d.b_id;
    t_.m_axi_bresp = d.b_resp;
    t_.m_axi_arready = d.ar_ready;
    t_.m_axi_rvalid = d.r_valid;
    if (d.r_valid) {
      t_.m_axi_rid = d.r_id;
      t_.m_axi_rresp = d.r_resp;
      t_.m_axi_rlast = d.r_last;
      t_.m_axi_ruser = d.r_user;
      std::memcpy(pin_words(t_.m_axi_rdata), d.r_data, sizeof(t_.m_axi_rdata));
    }
    const BarOut& b = p_.bar_out();
    write_lite0(b.bar0);
    write_lite2(b.bar2);
    t_.bar1_awvalid = b.bar1.aw_valid;
    t_.bar1_wvalid = b.bar1.w_valid;
    t_.bar1_bready = b.bar1.b_ready;
    if (b.bar1.aw_valid) {
      t_.bar1_awaddr = b.bar1.aw_addr;
      t_.bar1_awlen = b.bar1.aw_len;
    }
    if (b.bar1.w_valid) {
      t_.bar1_wlast = b.bar1.w_last;
      set_pin_strobe(t_.bar1_wstrb, b.bar1.w_strb);
      std::memcpy(pin_words(t_.bar1_wdata), b.bar1.w_data, sizeof(t_.bar1_wdata));
    }
    t_.gdr_awvalid = b.gdr.aw_valid;
    t_.gdr_wvalid = b.gdr.w_valid;
    t_.gdr_bready = b.gdr.b_ready;
    t_.gdr_arvalid = b.gdr.ar_valid;
    t_.gdr_rready = b.gdr.r_ready;
    if (b.gdr.aw_valid) {
      t_.gdr_awaddr = b.gdr.aw_addr;
      t_.gdr_awlen = b.gdr.aw_len;
    }
    if (b.gdr.w_valid) {
      t_.gdr_wlast = b.gdr.w_last;
      set_pin_strobe(t_.gdr_wstrb, b.gdr.w_strb);
      std::memcpy(pin_words(t_.gdr_wdata), b.gdr.w_data, sizeof(t_.gdr_wdata));
    }
    if (b.gdr.ar_valid) {
      t_.gdr_araddr = b.gdr.ar_addr;
      t_.gdr_arlen = b.gdr.ar_len;
    }
  }

 private:
  void write_lite0(const LiteOut& l) {
    t_.bar0_awvalid = l.aw_valid;
    t_.bar0_awaddr = l.aw_addr;
    t_.bar0_wvalid = l.w_valid;
    t_.bar0_wdata = l.w_data;
    t_.bar0_wstrb = l.w_strb;
    t_.bar0_bready = l.b_ready;
    t_.bar0_arvalid = l.ar_valid;
    t_.bar0_araddr = l.ar_addr;
    t_.bar0_rready = l.r_ready;
  }
  void write_lite2(const LiteOut& l) {
    t_.bar2_awvalid = l.aw_valid;
    t_.bar2_awaddr = l.aw_addr;
    t_.bar2_wvalid = l.w_valid;
    t_.bar2_wdata = l.w_data;
    t_.bar2_wstrb = l.w_strb;
    t_.bar2_bready = l.b_ready;
    t_.bar2_arvalid = l.ar_valid;
    t_.bar2_araddr = l.ar_addr;
    t_.bar2_rready = l.r_ready;
  }
  Top& t_;
  NicPort& p_;
};

}  // namespace rnic::axi
