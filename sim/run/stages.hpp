// SPDX-License-Identifier: Apache-2.0
// The life of one WRITE in time, and the table of its stages beside the published figures.
//
//   Timeline t = timeline_of(a.recorder, b.recorder, message);
//   for (const std::string& line : stage_table(t, true)) print(line);
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/run/recorder.hpp"

namespace rnic::sim {

struct MessageInfo {
  std::string label;
  std::string from_node, to_node;
  size_t from = 0, to = 0;
  uint32_t qpn = 0, peer_qpn = 0;
  uint16_t wqe_index = 0;
  uint32_t first_psn = 0, last_psn = 0;
  uint32_t bytes = 0;
  TimePs start_ps = 0;  // the program begins (a bounce copies first)
  TimePs store_ps = 0;  // the doorbell or push is issued
  bool alone = true;    // nothing else is on its way: events without a QP belong to it
  bool blueflame = false, fetched = true, has_payload_read = true;
  uint64_t target_addr = 0;            // bus address
  std::optional<uint64_t> remote_cqe;  // bus address of the CQE that the responder gets
  std::optional<uint64_t> local_cqe;
};

struct Point {
  const char* name;
  const char* block;
  TimePs time_ps;
};

struct Timeline {
  MessageInfo message;
  // Corners of the stages; each may be missing.
  std::optional<TimePs> bar, doorbell, wqe_ready, tx_start, pkt_out, crossing, mac_first, rx_first,
      rx_last, exec, data_written, data_visible, remote_cqe, local_cqe;
  std::vector<Point> points;  // every event of the message, in time order

  std::optional<TimePs> doorbell_to_mac() const;
  std::optional<TimePs> to_visible() const;
  std::optional<TimePs> to_remote_cqe() const;
};

Timeline timeline_of(const Recorder& from, const Recorder& to, const MessageInfo& message);

// Lines of text. `reference`: with the published figures (they are for 4 KB).
std::vector<std::string> stage_table(const Timeline& t, bool reference, TimePs core_ps = 2000);
std::vector<std::string> detail_table(const Timeline& t, TimePs core_ps = 2000);

// Chrome or Perfetto trace events: one track per QP with the stages, one per block with its events.
void write_chrome_trace(const std::string& path, const std::vector<Timeline>& timelines,
                        const std::vector<std::pair<std::string, const Recorder*>>& nodes);

}  // namespace rnic::sim
