// SPDX-License-Identifier: Apache-2.0
// The NIC's AXI pins as plain structs. "In" is what the NIC drives (sampled before the clock edge),
// "Out" what the world drives (set after it). Wide data are little-endian 32-bit words and stay
// where they are: no copies.
//
// harness/axi/verilated_pins.hpp fills them from any Verilated top with the port names below.
#pragma once

#include <array>
#include <cstdint>

namespace rnic::axi {

inline constexpr uint8_t kOkay = 0, kSlvErr = 2, kDecErr = 3;

// awuser/aruser of the NIC's DMA master: one burst is one TLP.
struct UserBits {
  uint32_t bytes = 0;    // [12:0] exact byte count, 1..4096
  uint8_t target = 0;    // [14:13] 0 host, 1 GPU
  uint8_t gpu = 0;       // [18:15]
  bool relaxed = false;  // [19] relaxed ordering
  bool no_data = false;  // [20] zero-length request (flush)

  static UserBits decode(uint32_t v) {
    return {v & 0x1FFF, static_cast<uint8_t>(v >> 13 & 3), static_cast<uint8_t>(v >> 15 & 15),
            (v >> 19 & 1) != 0, (v >> 20 & 1) != 0};
  }
  uint32_t encode() const {
    return (bytes & 0x1FFF) | uint32_t{target} << 13 | uint32_t{gpu} << 15 |
           uint32_t{relaxed} << 19 | uint32_t{no_data} << 20;
  }
};

using Strobe = std::array<uint64_t, 2>;  // bit n of the pair: byte lane n

// m_axi_*: the NIC is the master.
struct DmaIn {
  bool aw_valid = false;
  uint8_t aw_id = 0, aw_len = 0;
  uint64_t aw_addr = 0;
  uint32_t aw_user = 0;
  bool w_valid = false, w_last = false;
  const uint32_t* w_data = nullptr;  // DATA_W/32 words
  Strobe w_strb{};
  bool b_ready = false;
  bool ar_valid = false;
  uint8_t ar_id = 0, ar_len = 0;
  uint64_t ar_addr = 0;
  uint32_t ar_user = 0;
  bool r_ready = false;
};
struct DmaOut {
  bool aw_ready = false, w_ready = false;
  bool b_valid = false;
  uint8_t b_id = 0, b_resp = 0;
  bool ar_ready = false;
  bool r_valid = false, r_last = false;
  uint8_t r_id = 0, r_resp = 0, r_user = 0;  // r_user[0]: poisoned
  const uint32_t* r_data = nullptr;          // DATA_W/32 words while r_valid
};

// bar0_*, bar2_*: AXI4-Lite, 32 bit, the NIC is the slave.
struct LiteIn {
  bool aw_ready = false, w_ready = false;
  bool b_valid = false;
  uint8_t b_resp = 0;
  bool ar_ready = false;
  bool r_valid = false;
  uint8_t r_resp = 0;
  uint32_t r_data = 0;
};
struct LiteOut {
  bool aw_valid = false, w_valid = false;
  uint32_t aw_addr = 0, w_data = 0;
  uint8_t w_strb = 0;
  bool b_ready = false;
  bool ar_valid = false;
  uint32_t ar_addr = 0;
  bool r_ready = false;
};

// bar1_* (write only) and gdr_*: AXI4, DATA_W wide, INCR bursts, the NIC is the slave.
struct BurstIn {
  bool aw_ready = false, w_ready = false;
  bool b_valid = false;
  uint8_t b_resp = 0;
  bool ar_ready = false;
  bool r_valid = false, r_last = false;
  uint8_t r_resp = 0;
  const uint32_t* r_data = nullptr;
};
struct BurstOut {
  bool aw_valid = false;
  uint32_t aw_addr = 0;
  uint8_t aw_len = 0;
  bool w_valid = false, w_last = false;
  const uint32_t* w_data = nullptr;  // DATA_W/32 words while w_valid
  Strobe w_strb{};
  bool b_ready = false;
  bool ar_valid = false;
  uint32_t ar_addr = 0;
  uint8_t ar_len = 0;
  bool r_ready = false;
};

struct BarIn {
  LiteIn bar0, bar2;
  BurstIn bar1, gdr;
};
struct BarOut {
  LiteOut bar0, bar2;
  BurstOut bar1, gdr;
};

}  // namespace rnic::axi
