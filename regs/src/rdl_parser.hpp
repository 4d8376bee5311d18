// SPDX-License-Identifier: Apache-2.0
//
// Tokens of SystemRDL to statements. After a syntax error it goes on behind the next ';' or '}' of
// the same depth, so that later ones are told too.
#pragma once

#include "rdl_ast.hpp"
#include "rdl_lexer.hpp"

namespace rnic::regs {

[[nodiscard]] std::vector<RdlStatement> parse_rdl(const RdlTokens& tokens, Diagnostics& diags);

}  // namespace rnic::regs
