// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics of the register generator: every problem of a run is collected with its place in the
// input.
//
//   Diagnostics diags("map.yaml");
//   diags.error({3, 7}, "overlap", "register B overlaps A (line 2)");
//   if (diags.has_errors()) std::cerr << diags.text();
//
// Positions are 1-based; line 0 means "the file as a whole".
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rnic::regs {

struct SourcePos {
  int line = 0;
  int col = 0;
};

enum class Severity { kWarning, kError };

struct Diagnostic {
  Severity severity;
  SourcePos pos;
  std::string rule;  // short stable name, for example "overlap"
  std::string text;
};

class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  void error(SourcePos pos, std::string rule, std::string text);
  void warning(SourcePos pos, std::string rule, std::string text);

  [[nodiscard]] bool has_errors() const;
  [[nodiscard]] const std::vector<Diagnostic>& all() const { return list_; }
  // "file:line:col: error: text [rule]", one line each, in the order of the file.
  [[nodiscard]] std::string text() const;

 private:
  std::string file_;
  std::vector<Diagnostic> list_;
};

}  // namespace rnic::regs
