// SPDX-License-Identifier: Apache-2.0
// How busy the ports of the switch were during a step, and how deep their queues.
//
//   SwitchLoad load(session);          // restarts the queues' percentiles
//   while (...) { load.sample(); ...let the world run... }
//   load.open(); ... load.close();     // a part of the step counts, if it is not all of it
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
  void open();
  void close();
  void report(const std::string& name);
  // Share of the time in which a port sent, in the part that counts, else in the second half of the
  // time in which it did; with preamble and gap. 0 without traffic.
  double busy(unsigned port) const;

 private:
  struct Sample {
    TimePs time;
    std::vector<uint64_t> bytes;   // that each port has sent so far
    std::vector<uint64_t> queued;  // bytes that wait there
  };
  struct Depths {
    uint64_t p50 = 0, p99 = 0, p999 = 0, most = 0;
  };
  Depths depths(unsigned port) const;
  double share(const Sample& from, const Sample& to, unsigned port) const;
  uint64_t lost() const;  // frames, by the switch, ever
  void curves(const std::string& name, unsigned port) const;

  Session& session_;
  std::vector<Sample> samples_;
  size_t first_ = 0, last_ = 0;  // samples between which counts; 0, 0: not said
  uint64_t lost_ = 0;            // before the step
  std::vector<uint64_t> most_;   // before that part
  std::vector<Depths> kept_;     // at its end
};

}  // namespace rnic::sim
