// SPDX-License-Identifier: Apache-2.0
// Numbers of a command line that CLI11 itself takes for something else: it reads a seed that is too
// large or negative as another one, and "nan" as within every range.
//
//   command.add_option("--seed", seed)->check(seed_number());
#pragma once

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <string>

namespace rnic::tools {

inline CLI::Validator seed_number() {
  return CLI::Validator(
      [](std::string& text) {
        uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto r = std::from_chars(text.data(), end, value);
        const bool good = r.ec == std::errc{} && r.ptr == end;
        return good ? std::string() : text + " is no whole number from 0 to 2^64 - 1";
      },
      "N");
}

// More than none.
inline CLI::Validator seconds(double most) {
  return CLI::Validator(
      [most](std::string& text) {
        double value = 0;
        const char* end = text.data() + text.size();
        const auto r = std::from_chars(text.data(), end, value);
        const bool good = r.ec == std::errc{} && r.ptr == end && value > 0 && value <= most;
        return good ? std::string()
                    : text + " is no number of seconds from more than 0 to " +
                          CLI::detail::to_string(most);
      },
      "SECONDS");
}

}  // namespace rnic::tools
