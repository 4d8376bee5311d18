// SPDX-License-Identifier: Apache-2.0
// Requests that are nearly right: a stream of valid ones for one QP, and changes to single frames
// that leave the iCRC right (mostly), so that the rules behind it are what stops them.
//
//   RequestStream stream({.base = spec, .regions = {...}}, seed);
//   auto frame = stream.next();                  // the next valid request
//   if (chance) text = mutator.mutate(frame);    // "opcode 0a -> 26; PSN + 3"
//   stream.sync(responder.progress());           // what the receiver made of it
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/golden/responder.hpp"
#include "harness/mem/random.hpp"
#include "harness/roce/frame.hpp"

namespace rnic::golden {

struct StreamConfig {
  roce::FrameSpec base{};  // addresses, QP
  uint32_t pmtu = 1024;
  Region region{};     // all rights
  Region forbidden{};  // a key that permits nothing, 0: none
  uint32_t max_bytes = 5000;
  // SEND, SEND_IMM, WRITE, WRITE_IMM, READ, COMPARE_SWAP, FETCH_ADD
  std::vector<uint32_t> weights = {3, 1, 4, 2, 3, 1, 1};
};

class RequestStream {
 public:
  RequestStream(const StreamConfig& config, uint64_t seed);
  // The next packet that a correct requester could send.
  std::vector<uint8_t> next();
  // A packet that it has sent before; empty when there is none.
  std::vector<uint8_t> earlier();
  // Goes on from where the receiver is.
  void sync(const Responder::Progress& p);

 private:
  void begin();
  StreamConfig c_;
  mem::Random random_;
  uint32_t psn_ = 0;
  // The message being sent.
  roce::MsgKind kind_ = roce::MsgKind::kNone;
  uint32_t left_ = 0;
  bool first_ = true;
  roce::FrameSpec spec_{};
  std::vector<std::vector<uint8_t>> history_;
};

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(mem::substream(seed, "mutator")) {}
  // Changes one to three things of a RoCEv2 frame without FCS; says what.
  std::string mutate(std::vector<uint8_t>& frame);

 private:
  std::string change(std::vector<uint8_t>& frame, const roce::FrameView& v, bool& repair);
  mem::Random random_;
};

}  // namespace rnic::golden
