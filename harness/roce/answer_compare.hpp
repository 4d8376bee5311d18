// SPDX-License-Identifier: Apache-2.0
// The answers of a responder beside those that a recorded one gave to the same requests.
//
//   AnswerComparison c = compare_answers(run, Side::kServer, frames_of_the_nic);
//   for (const std::string& d : c.differences) print(d);
//
// ACK, NAK, READ response and ATOMIC answers must agree in opcode, PSN, syndrome class, MSN and
// payload, and be equal frames once IP identification and UDP source port are left out. Where a
// responder is free to differ, the difference is counted by its name instead:
//
// - coalesced: an ACK of the recording is covered by a later answer;
// - separate: an ACK of ours stands alone where the recording has coalesced it with a later one;
// - credits: the credit code of an ACK;
// - nak_after_rnr: no sequence NAK for what follows a packet that got an RNR NAK;
// - resumed_read: a READ that is asked for again begins with FIRST or ONLY, not with MIDDLE or
// LAST;
// - repeat_msn: the answer to a repeated READ or ATOMIC tells the MSN of the first time, not the
// newest;
// - buffer_nak: code of the NAK for a SEND longer than its receive buffer;
// - after_invalidate: what answers a SEND with invalidate and all that follows it; the recorded
//   stack refuses to invalidate and is silent then.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/roce/capture_run.hpp"

namespace rnic::roce {

struct AnswerComparison {
  std::vector<std::string> differences;
  std::map<std::string, size_t> allowed;  // by name
  size_t answers = 0;                     // of the recording
  size_t equal_frames = 0;
  bool ok() const { return differences.empty(); }
};

// `ours`: Ethernet frames without FCS, in the order they left, padded or not. Frames that are not
// answers of RC are refused as differences.
AnswerComparison compare_answers(const CaptureRun& run, Side responder,
                                 const std::vector<std::vector<uint8_t>>& ours);

}  // namespace rnic::roce
