// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics of the register generator: every problem of a run is collected with its place in the
// input.
//
//   Diagnostics diags("map.yaml");
//   diags.error({3, 7}, "overlap", "register B overlaps A (line 2)");
//   if (diags.has_errors()) std::cerr << diags.text();
//
// Lines and columns are 1-based; line 0 means "the file as a whole". Included files get a number
// from add_file(); file 0 is the one of the constructor.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rnic::regs {

struct SourcePos {
  int line = 0;
  int col = 0;
  int file = 0;
};

struct Diagnostic {
  SourcePos pos;
  std::string rule;  // short stable name, for example "overlap"
  std::string text;
};

class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : files_{std::move(file)} {}

  void error(SourcePos pos, std::string rule, std::string text);

  int add_file(std::string path);
  [[nodiscard]] const std::string& file(int index) const {
    return files_[static_cast<std::size_t>(index)];
  }

  [[nodiscard]] bool has_errors() const { return !list_.empty(); }
  // "line 7", or "line 7 of common.yaml" when that is not the file of `here`.
  [[nodiscard]] std::string line_of(SourcePos there, SourcePos here) const;
  // "file:line:col: error: text [rule]", one line each, in the order of the files.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> files_;
  std::vector<Diagnostic> list_;
};

}  // namespace rnic::regs
