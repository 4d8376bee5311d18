// SPDX-License-Identifier: Apache-2.0
//
// What one run of a test program knows of itself: its seed, whether waves are wanted, which test
// case runs, and how far the last bench came, so that a failure can say how to repeat it. Filled
// by main.cpp.
#pragma once

#include <cstdint>
#include <string>

namespace rnic::test {

struct Options {
  uint64_t seed = 1;
  bool wave = false;
  std::string wave_dir = "waves";
};

class Context {
 public:
  static Context& get();

  const Options& options() const { return options_; }
  void set_options(Options options) { options_ = std::move(options); }

  const std::string& test_case() const { return test_case_; }
  void begin_test_case(std::string name);

  // Called by benches: where simulation is (cycles of the first clock, picoseconds).
  void note_progress(uint64_t cycle, uint64_t time_ps) {
    cycle_ = cycle;
    time_ps_ = time_ps;
    simulated_ = true;
  }
  void note_wave(const std::string& path) { wave_ = path; }

  std::string failure_report() const;  // seed, cycle, waves, the command that repeats it
  unsigned next_bench() { return bench_++; }

 private:
  Options options_;
  std::string test_case_;
  std::string wave_;
  uint64_t cycle_ = 0;
  uint64_t time_ps_ = 0;
  bool simulated_ = false;
  unsigned bench_ = 0;
};

}  // namespace rnic::test
