// SPDX-License-Identifier: Apache-2.0
//
// SystemRDL text to tokens, with the preprocessor: `include, `define (with arguments), `undef,
// `ifdef, `ifndef, `elsif, `else, `endif. Embedded Perl (<% %>) is refused.
//
//   RdlTokens tokens = read_rdl_tokens("map.rdl", {"common"}, diags);   // ends with kEnd
//
// A token of a macro has the place where the macro is used.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "diag.hpp"

namespace rnic::regs {

struct RdlToken {
  enum class Kind : std::uint8_t { kEnd, kWord, kNumber, kString, kSymbol };
  Kind kind = Kind::kEnd;
  bool escaped = false;  // \word: never a keyword
  unsigned width = 0;    // of a number written 8'hFF, else 0
  std::uint64_t value = 0;
  std::string_view text;  // without backslash or quotes
  SourcePos pos;
};

struct RdlTokens {
  std::vector<RdlToken> list;
  std::deque<std::string> texts;  // what `text` points into
  bool cut = false;               // they end where nobody meant it: what is missing is no error
};

// Problems are in `diags`; what could be read is in the result.
[[nodiscard]] RdlTokens read_rdl_tokens(const std::string& path,
                                        const std::vector<std::string>& include_dirs,
                                        Diagnostics& diags);
[[nodiscard]] RdlTokens read_rdl_tokens_of_text(std::string text, const std::string& dir,
                                                const std::vector<std::string>& include_dirs,
                                                Diagnostics& diags);

}  // namespace rnic::regs
