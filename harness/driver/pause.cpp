// SPDX-License-Identifier: Apache-2.0
#include "harness/driver/pause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "regs/gen/rnic_regs.h"

namespace rnic::driver {

namespace {

constexpr uint32_t kPreambleAndGap = 20, kPauseOnWire = 84, kShortest = 84;  // on the wire
constexpr uint32_t kBeatsOnWay = 32, kFramesOnWay = 8;  // between mac_rx and rx_buffer's verdict

void within(const char* what, uint64_t value, uint64_t most) {
  if (value > most) throw Error(fmt::format("{}: {}, expected at most {}", what, value, most));
}

}  // namespace

uint32_t pause_headroom(const PauseLink& link) {
  const double beat = link.data_w / 8.0;
  const double cable =
      link.rate_bps * static_cast<double>(2 * link.delay_ps + link.reaction_ps) / 8e12;
  // What comes in after the frame that reached the mark; as long frames, and as shortest ones.
  const double late = cable + link.max_frame + kPreambleAndGap + kPauseOnWire;
  const double share = std::max(beat, static_cast<double>(link.buffer_bytes / link.buffer_frames));
  const double as_long = late * (share + beat) / share + kBeatsOnWay * beat;  // whole rows
  const double as_short = (late / kShortest + kFramesOnWay) * share;
  const double edges = 2.0 * (std::ceil(link.max_frame / beat) * beat);
  return static_cast<uint32_t>(std::ceil(std::max(as_long, as_short) + edges));
}

PauseMarks pause_marks(const PauseLink& link, unsigned classes) {
  const uint32_t head = pause_headroom(link);
  const uint32_t each = link.buffer_bytes / std::max(1u, classes);
  const uint32_t least = 2 * link.max_frame;  // below this a class would stop and go by frames
  if (each < head + least)
    throw Error(
        fmt::format("{} lossless classes need {} bytes each above their high mark, and the "
                    "receive buffer has {} for each",
                    classes, head, each));
  const uint32_t xoff = each - head;
  return {xoff, xoff / 4 * 3};
}

void set_pauses(Device& device, const PauseSettings& s) {
  within("line_bps", s.line_bps / 1000, RNIC_CSR_CC_LINE_RATE_KBPS_MASK);
  within("storm_limit_us", s.storm_limit_us, RNIC_CSR_PFC_STORM_LIMIT_US_MASK);
  within("storm_restore_us", s.storm_restore_us, RNIC_CSR_PFC_RESTORE_US_MASK);
  within("default_class", s.default_class, 7);
  if (s.line_bps != 0)
    device.write(RNIC_CSR_CC_LINE_RATE, static_cast<uint32_t>(s.line_bps / 1000));
  for (uint32_t n = 0; n < 8; ++n) {
    uint32_t map = 0;
    for (uint32_t k = 0; k < 8; ++k) {
      within("class_of_dscp", s.class_of_dscp[8 * n + k], 7);
      map |= uint32_t{s.class_of_dscp[8 * n + k]} << 4 * k;
    }
    device.write(RNIC_CSR_PFC_DSCP_MAP(n), map);
    within("xoff", s.marks[n].xoff, RNIC_CSR_PFC_XOFF_BYTES_MASK);
    within("xon", s.marks[n].xon, RNIC_CSR_PFC_XON_BYTES_MASK);
    device.write(RNIC_CSR_PFC_XOFF(n), s.marks[n].xoff);
    device.write(RNIC_CSR_PFC_XON(n), s.marks[n].xon);
  }
  device.write(RNIC_CSR_PFC_QUANTA, s.quanta);
  device.write(RNIC_CSR_PFC_RESTORE, s.storm_restore_us);
  device.write(
      RNIC_CSR_PFC_STORM,
      RNIC_FIELD_PREP(RNIC_CSR_PFC_STORM_LIMIT_US_MASK, s.storm_limit_us) |
          RNIC_FIELD_PREP(RNIC_CSR_PFC_STORM_ACTION_MASK, static_cast<uint32_t>(s.storm_action)));
  device.write(RNIC_CSR_PFC_CTRL,
               RNIC_FIELD_PREP(RNIC_CSR_PFC_CTRL_RX_CLASSES_MASK, s.rx_classes) |
                   RNIC_FIELD_PREP(RNIC_CSR_PFC_CTRL_TX_CLASSES_MASK, s.tx_classes) |
                   RNIC_FIELD_PREP(RNIC_CSR_PFC_CTRL_RX_LINK_MASK, s.rx_link ? 1u : 0u) |
                   RNIC_FIELD_PREP(RNIC_CSR_PFC_CTRL_TX_LINK_MASK, s.tx_link ? 1u : 0u) |
                   RNIC_FIELD_PREP(RNIC_CSR_PFC_CTRL_BY_PCP_MASK, s.by_pcp ? 1u : 0u) |
                   RNIC_FIELD_PREP(RNIC_CSR_PFC_CTRL_DEFAULT_CLASS_MASK, s.default_class));
}

}  // namespace rnic::driver
