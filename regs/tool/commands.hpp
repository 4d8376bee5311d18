// SPDX-License-Identifier: Apache-2.0
//
// Commands that have a file of their own: options, and what returns the exit status.
#pragma once

#include "files.hpp"

namespace rnic::regs::tool {

struct DiffOptions {
  std::string before, after;
  std::vector<std::string> defines;
  std::string reader = "software";
  bool json = false;
  bool rules = false;
};
inline constexpr int kDiffTrouble = 3;
CLI::App* add_diff(CLI::App& app, DiffOptions& o);
// 0 identical, 1 compatible, 2 breaking, 3 errors.
[[nodiscard]] int diff(const DiffOptions& o);

struct FmtOptions {
  std::vector<std::string> files;
  bool check = false;
};
CLI::App* add_fmt(CLI::App& app, FmtOptions& o);
// 0 done, 1 (--check) a file differs or one cannot be formatted, 2 it cannot be read or written.
[[nodiscard]] int format(const FmtOptions& o);

}  // namespace rnic::regs::tool
