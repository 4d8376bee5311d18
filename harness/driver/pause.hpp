// SPDX-License-Identifier: Apache-2.0
//
// The registers of pauses (PFC and 802.3x), and where their marks belong:
//
//   driver::PauseSettings s;
//   s.rx_classes = s.tx_classes = 1 << 3;
//   s.set_marks(driver::pause_marks({.rate_bps = 100e9, .delay_ps = 500'000}, 1));
//   driver::set_pauses(device, s);
#pragma once

#include <array>
#include <cstdint>

#include "harness/driver/device.hpp"

namespace rnic::driver {

// The cable, the peer behind it, and this NIC's receive buffer.
struct PauseLink {
  double rate_bps = 100e9;
  uint64_t delay_ps = 200'000;  // of the cable, one way
  uint64_t reaction_ps =
      500'000;                // of the peer: from a pause's last byte to its last frame's start
  uint32_t max_frame = 4178;  // with FCS; RoCEv2 of 4096 bytes over IPv6 with a tag: 4200
  uint32_t data_w = 512;      // of the NIC, bits
  uint32_t buffer_bytes = 524'288, buffer_frames = 2048;  // its RX_BUF_BYTES, N_RXPKT
};

struct PauseMarks {
  uint32_t xoff = 131'072, xon = 98'304;
};

// Bytes of the receive buffer that a class may still come to hold when it has reached its high
// mark, at worst: with frames of any length, since each counts at least its share of the list.
uint32_t pause_headroom(const PauseLink& link);
// Marks of `classes` lossless classes that share the buffer evenly. Throws Error when it is too
// small for them.
PauseMarks pause_marks(const PauseLink& link, unsigned classes);

// As PFC_STORM.action.
enum class StormAction { kObey = 0, kIgnore = 1, kDrop = 2 };

struct PauseSettings {
  uint8_t rx_classes = 0, tx_classes = 0;  // obeyed; asked for
  bool rx_link = false, tx_link = false;   // the pause of the whole link
  bool by_pcp = false;
  uint8_t default_class = 0;
  std::array<uint8_t, 64> class_of_dscp = eighths();
  std::array<PauseMarks, 8> marks{};
  uint16_t quanta = 0xFFFF;
  uint32_t storm_limit_us = 0, storm_restore_us = 1000;  // limit 0: none
  StormAction storm_action = StormAction::kObey;
  uint64_t line_bps = 0;  // CC_LINE_RATE, which gives the length of quanta; 0: as it is

  void set_marks(const PauseMarks& m) { marks.fill(m); }
  static constexpr std::array<uint8_t, 64> eighths() {
    std::array<uint8_t, 64> map{};
    for (unsigned i = 0; i < 64; ++i) map[i] = static_cast<uint8_t>(i / 8);
    return map;
  }
};

// PFC_CTRL comes last. Throws Error naming what a register cannot hold.
void set_pauses(Device& device, const PauseSettings& settings);

}  // namespace rnic::driver
