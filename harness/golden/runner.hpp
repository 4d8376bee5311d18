// SPDX-License-Identifier: Apache-2.0
// Executes a Program at two connected QPs and compares completions and memory. See program.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/golden/program.hpp"
#include "harness/mem/random.hpp"

namespace rnic::golden {

struct RunnerConfig {
  uint32_t sends_ahead = 32;     // posted and not yet known to be done
  uint32_t receives_ahead = 16;  // posted and not yet used
  // Probability per step that new receives are kept back: the peer is answered "not ready".
  double late_receives = 0;
  // A wire that loses packets may lose the NAK that says why: then retries exceeded is right too.
  bool lossy = false;
  size_t max_problems = 20;
};

class Runner {
 public:
  Runner(const Program& program, Endpoint& a, uint32_t qp_a, Endpoint& b, uint32_t qp_b,
         const RunnerConfig& config = {});

  // Registers and fills memory.
  void prepare();
  // Posts what may be posted, takes completions. Call it every few microseconds of simulated time.
  void step();
  // Everything that must be reported has been, or something is so wrong that nothing will come.
  bool done() const;
  // At the end; `problems()` gets the first difference of each arena.
  void compare_memory();

  const std::vector<std::string>& problems() const { return problems_; }
  // Where both sides are, for a run that hangs.
  std::string text();
  // An arena, for checkers.
  const Region& arena(size_t side) const { return side_[side].arena; }
  const std::vector<Region>& spares(size_t side) const { return side_[side].spares; }

 private:
  struct SideState {
    Endpoint* ep = nullptr;
    uint32_t qp = 0;
    const SideProgram* program = nullptr;
    Region arena, read_only, write_only;
    std::vector<Region> spares;
    size_t sent = 0, received = 0;  // posted
    size_t send_seen = 0, recv_seen = 0;
    size_t sends_done = 0;  // known to be done, unsignaled ones included
    // Without acknowledgements nobody waits for a receive: a send that takes one goes when the peer
    // had posted it a step ago.
    size_t receives_taken = 0, receives_ready = 0;
  };
  SendRequest request(size_t side, size_t index) const;
  RecvRequest receive(size_t side, size_t index) const;
  void take(size_t side, const Completion& c);
  void problem(const std::string& text);

  const Program& program_;
  RunnerConfig config_;
  mem::Random random_;
  std::array<SideState, 2> side_;
  std::vector<std::string> problems_;
  bool stuck_ = false;
};

}  // namespace rnic::golden
