// SPDX-License-Identifier: Apache-2.0
// How busy the ports of the switch were during a step, and how deep their queues.
//
//   SwitchLoad load(session);          // restarts the queues' percentiles
//   while (...) { load.sample(); ...let the world run... }
//   load.report("step");               // lines and figures, for ports that sent
#pragma once

#include <string>
#include <vector>

#include "sim/run/session.hpp"

namespace rnic::sim {

class SwitchLoad {
 public:
  explicit SwitchLoad(Session& session);
  void sample();
  void report(const std::string& name);
  // Share of the time in which a port sent, in the second half of the time in which it did; with
  // preamble and gap. 0 without traffic.
  double busy(unsigned port) const;

 private:
  struct Sample {
    TimePs time;
    std::vector<uint64_t> bytes;  // that each port has sent so far
  };
  Session& session_;
  std::vector<Sample> samples_;
};

}  // namespace rnic::sim
