// SPDX-License-Identifier: Apache-2.0
// The reference responder run over a recorded run: what memory, answers and completions must be.
//
//   ReferenceReplay want = reference_replay(run, Side::kServer);
//   compare(nic_memory, want.memory);
//   std::string bad = nic_acks.difference(recorded_effect(run, Side::kServer));  // "" when equal
#pragma once

#include <vector>

#include "harness/roce/capture_run.hpp"
#include "harness/roce/responder_model.hpp"

namespace rnic::roce {

struct ReferenceReplay {
  std::vector<uint8_t> memory;          // the side's region at the end
  std::vector<uint8_t> receive_buffer;  // one for all receives, as vt does
  std::vector<ResponsePacket> responses;
  std::vector<std::vector<uint8_t>> payloads;  // one per response
  std::vector<RecvCompletion> completions;
  std::vector<RxVerdict> verdicts;  // one per delivered frame
  AckEffect effect;
};

// The model of `side` over the frames that reached it. Receives are numbered from 1000, as vt does.
ReferenceReplay reference_replay(const CaptureRun& run, Side side,
                                 const ResponderPolicy& policy = soft_roce_policy());

// What the recorded side's own ACKs and NAKs said. Responses lost before the point of capture are
// missing in it.
AckEffect recorded_effect(const CaptureRun& run, Side side);

}  // namespace rnic::roce
