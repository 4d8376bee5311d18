// SPDX-License-Identifier: Apache-2.0
//
// What is right but worth a look: kept beside the errors, with place and rule as they are.
//
//   Warnings warnings;
//   warnings.add(pos, "name", "'x_' becomes 'x'");
//   std::cerr << diags.text() << warnings.text(diags);   // diags knows the files
#pragma once

#include <string>
#include <vector>

#include "diag.hpp"

namespace rnic::regs {

class Warnings {
 public:
  void add(SourcePos pos, std::string rule, std::string text);
  [[nodiscard]] bool empty() const { return list_.empty(); }
  // "file:line:col: warning: text [rule]", one line each, in the order of the files.
  [[nodiscard]] std::string text(const Diagnostics& diags) const;

 private:
  std::vector<Diagnostic> list_;
};

}  // namespace rnic::regs
