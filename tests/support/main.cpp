// SPDX-License-Identifier: Apache-2.0
//
// The main program of every unit test: Catch2's options, and
//   --seed N | random   root of everything random (default 1, or RNIC_SEED)
//   --wave              writes FST and GTKWave view (only in a program built with waves)
//   --wave-dir DIR      where to (default "waves", or RNIC_WAVE_DIR)
#define CATCH_CONFIG_RUNNER  // version 2 compiles its implementation here
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/context.hpp"

namespace {

using rnic::test::Context;

// Prints how to repeat a failure, right after it.
#if __has_include(<catch2/catch_all.hpp>)
class FailureListener : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;
#else
class FailureListener : public Catch::TestEventListenerBase {
 public:
  using Catch::TestEventListenerBase::TestEventListenerBase;
#endif

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    Context::get().begin_test_case(info.name);
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.assertions.failed > 0) {
      std::cout << std::endl << Context::get().failure_report() << std::endl;
    }
  }
};

CATCH_REGISTER_LISTENER(FailureListener)

uint64_t parse_seed(const std::string& text) {
  if (text == "random") {
    return static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) %
           1000000000;
  }
  size_t used = 0;
  uint64_t seed = 0;
  try {
    seed = std::stoull(text, &used, 0);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size()) {
    std::cerr << "--seed: a number or 'random' expected, got '" << text << "'\n";
    std::exit(2);
  }
  return seed;
}

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  rnic::test::Options options;
  options.seed = parse_seed(environment("RNIC_SEED", "1"));
  options.wave_dir = environment("RNIC_WAVE_DIR", "waves");

  // Ours are taken out, Catch2 gets the rest.
  std::vector<char*> rest{argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    auto value = [&](const std::string& option) -> std::optional<std::string> {
      if (arg.rfind(option + "=", 0) == 0) return arg.substr(option.size() + 1);
      if (arg != option) return std::nullopt;
      if (i + 1 >= argc) {
        std::cerr << option << ": a value is missing\n";
        std::exit(2);
      }
      return std::string(argv[++i]);
    };
    if (auto seed = value("--seed")) {
      options.seed = parse_seed(*seed);
    } else if (auto dir = value("--wave-dir")) {
      options.wave_dir = *dir;
    } else if (arg == "--wave") {
      options.wave = true;
    } else {
      rest.push_back(argv[i]);
    }
  }
#if !VM_TRACE
  if (options.wave) {
    std::cerr << "--wave: this program has no waves compiled in; use scripts/unit BLOCK --wave\n";
    return 2;
  }
#endif
  Context::get().set_options(options);

  Catch::Session session;
  session.configData().rngSeed = static_cast<uint32_t>(options.seed);  // version 3 names its own
  const int bad = session.applyCommandLine(static_cast<int>(rest.size()), rest.data());
  if (bad != 0) return bad;
  std::cout << "seed " << options.seed << std::endl;
  return session.run();
}
