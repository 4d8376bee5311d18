// SPDX-License-Identifier: Apache-2.0
#include "tests/support/context.hpp"

namespace rnic::test {

extern const char* const kBlockName;  // generated per test program by rnic_unit_test()

Context& Context::get() {
  static Context context;
  return context;
}

void Context::begin_test_case(std::string name) {
  test_case_ = std::move(name);
  wave_.clear();
  cycle_ = 0;
  time_ps_ = 0;
  simulated_ = false;
  bench_ = 0;
}

std::string Context::failure_report() const {
  std::string name;  // Catch2 reads a comma in a test name as "or", a bracket as a tag
  for (char c : test_case_) {
    if (c == ',' || c == '[' || c == '"' || c == '\\') name += '\\';
    name += c;
  }
  std::string quoted;  // for the shell
  for (char c : name) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  std::string text = "FAILED: " + test_case_ + "\n  seed " + std::to_string(options_.seed);
  if (simulated_) {
    text += ", cycle " + std::to_string(cycle_) + ", time " + std::to_string(time_ps_) + " ps";
  }
  if (!wave_.empty()) text += "\n  waves: gtkwave " + wave_;
  text += "\n  repeat: scripts/unit " + std::string(kBlockName) + " --seed " +
          std::to_string(options_.seed) + " --wave '" + quoted + "'\n";
  return text;
}

}  // namespace rnic::test
