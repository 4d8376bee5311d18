// SPDX-License-Identifier: Apache-2.0
// What a program must look like on the wire: every request packet of one side, retransmitted or
// not, has the opcode, addresses and bytes that its PSN stands for.
//
//   WireOracle oracle(program, 0, {.first_psn = 0x100, .own = arena_a, .peer = arena_b});
//   std::string bad = oracle.check(view);    // of a frame of that side; "" when it is right
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/golden/program.hpp"
#include "harness/roce/frame.hpp"

namespace rnic::golden {

struct OracleConfig {
  uint32_t first_psn = 0;
  Region peer{};                 // the peer's arena, which requests name
  std::vector<Region> spares{};  // of the peer
};

class WireOracle {
 public:
  WireOracle(const Program& program, size_t side, const OracleConfig& config);
  // A request packet of the QP. Packets of a request that is wrong on purpose, or behind it, are
  // not judged.
  std::string check(const roce::FrameView& v);
  // "request 7 (WRITE 5000 B), packet 2 of 5" of a PSN.
  std::string place(uint32_t psn) const;

 private:
  struct Message {
    uint32_t first = 0, psns = 0;
    size_t send = 0;
  };
  const Message* find(uint32_t psn, uint32_t& index) const;

  const Program& program_;
  const SideProgram& side_;
  OracleConfig config_;
  std::vector<Message> messages_;
  uint32_t psns_ = 0;
};

}  // namespace rnic::golden
