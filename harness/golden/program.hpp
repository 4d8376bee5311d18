// SPDX-License-Identifier: Apache-2.0
// Random programs of verbs for two connected QPs, with the memory and completions that they must
// leave behind, whoever executes them and whatever the wire does to the packets.
//
//   Program p = make_program({.seed = 7, .requests = 200, .pmtu = 1024});
//   Runner run(p, nic_a, 0, nic_b, 0);  run.prepare();
//   while (!run.done()) { run.step(); let_time_pass(); }
//   run.compare_memory();  report(run.problems());
//
// What makes the outcome independent of timing: each side writes only what it owns. An arena has
// three parts: source bytes that never change; a target part that only the peer writes, in its
// posting order; and a landing part where every READ, ATOMIC result and receive has bytes of its
// own. A request that would overtake an earlier READ or ATOMIC of the same bytes carries a fence.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/golden/verbs.hpp"
#include "harness/roce/opcode.hpp"

namespace rnic::golden {

// The error that ends a program, if any. The request that causes it is the one before the last
// `flushed` requests of side 0.
enum class Ending : uint8_t {
  kGood,
  kUnknownKey,        // WRITE: remote access error
  kOutOfBounds,       // WRITE beyond the region
  kNoWritePermit,     // WRITE to a region that is read only
  kNoReadPermit,      // READ of a region that is write only
  kNoAtomicPermit,    // FETCH_ADD without the permission
  kMisalignedAtomic,  // remote invalid request
  kSendTooLong,       // SEND longer than its receive: remote invalid request
  kBadReceiveKey,     // the peer's receive names an unknown key: remote operation error
  kLocalKey,          // local protection error
};
inline constexpr uint32_t kEndings = 10;
const char* to_string(Ending e);

struct ProgramConfig {
  uint64_t seed = 1;
  uint32_t requests = 100;  // of each side that sends
  bool both_ways = true;    // otherwise only side 0 sends
  // UC and UD programs need a wire that loses nothing. UD messages end at one MTU, and begin with
  // 40 bytes of IP header in their receives, which are not compared.
  roce::Transport transport = roce::Transport::kRc;
  uint32_t pmtu = 1024;
  uint32_t beat_bytes = 64;  // sizes gather around multiples of it
  uint32_t max_bytes = 65536;
  double large = 0.05;  // share of messages beyond a few MTU
  uint32_t max_sge = 3, max_recv_sge = 3;
  uint32_t max_inline = 0;
  uint32_t max_unsignaled = 7;  // in a row
  double unsignaled = 0.4, fence = 0.05, solicited = 0.2;
  double reuse = 0.1;   // share of SENDs and WRITEs, fenced, whose bytes an earlier READ brought
  uint32_t spares = 0;  // keys of each side that may be taken away, by the peer or by itself
  // By Verb: NOP, SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ, COMPARE_SWAP, FETCH_ADD,
  // LOCAL_INV. The two that take keys away need spares.
  std::array<uint32_t, 10> weights = {1, 4, 3, 1, 6, 3, 6, 2, 2, 1};
  Ending ending = Ending::kGood;
  uint32_t flushed = 3;
};

struct Piece {
  uint32_t offset = 0, length = 0;  // in the arena of whoever posts
};

struct ProgramSend {
  Verb verb = Verb::kNop;
  std::vector<Piece> pieces{};
  std::vector<uint8_t> inline_data{};
  uint32_t remote_offset = 0;  // in the peer's arena
  uint32_t imm = 0;
  uint32_t spare = 0;  // the key that is taken away: of the peer (SEND), of our own (local)
  uint64_t swap_add = 0, compare = 0;
  bool signaled = true, solicited = false, fence = false;
  Ending wrong = Ending::kGood;
  uint32_t bytes() const {
    uint32_t n = static_cast<uint32_t>(inline_data.size());
    for (const Piece& p : pieces) n += p.length;
    return n;
  }
};

struct ProgramRecv {
  std::vector<Piece> pieces{};
  bool bad_key = false;
};

struct SideProgram {
  std::vector<uint8_t> initial, expected;  // the arena
  // Bytes that an error leaves open: a receive that was too short.
  std::vector<Piece> unknown;
  std::vector<ProgramSend> sends;  // wr_id = index
  std::vector<ProgramRecv> recvs;  // wr_id = index
  std::vector<Completion> send_done, recv_done;
};

struct Program {
  ProgramConfig config;
  std::array<SideProgram, 2> side;
};

Program make_program(const ProgramConfig& config);
// One line: "WRITE 5000 B in 2 pieces, unsignaled, fence".
std::string describe(const ProgramSend& s);

}  // namespace rnic::golden
