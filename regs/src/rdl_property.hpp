// SPDX-License-Identifier: Apache-2.0
//
// The properties of SystemRDL 2.0 and of the export: which components have them, what becomes of
// them here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdl_ast.hpp"

namespace rnic::regs {

enum class RdlUse : std::uint8_t {
  kUsed,      // it becomes something of the map
  kNeutral,   // it says what is so anyway
  kDocument,  // has no place: a warning
  kRefused,   // cannot be kept: an error unless it is false or 0
};

enum class RdlType : std::uint8_t { kBool, kNumber, kText, kWord, kReference, kAny };

struct RdlPropertyInfo {
  std::string_view name;
  unsigned components;  // 1 << RdlKind
  RdlType type;
  RdlUse use = RdlUse::kUsed;
  std::string_view advice = {};  // what to write instead
};

[[nodiscard]] const RdlPropertyInfo* find_rdl_property(std::string_view name);
[[nodiscard]] bool rdl_has_property(const RdlPropertyInfo& info, RdlKind kind);
// Of one kind, for suggestions.
[[nodiscard]] std::vector<std::string> rdl_property_names(RdlKind kind);
// regs_*, of the export: they need a definition in the file.
[[nodiscard]] bool is_regs_property(std::string_view name);
// Their definitions, a line each.
[[nodiscard]] std::string rdl_property_definitions();
// Those of which a component has one at most: {"sticky", "stickybit"}.
[[nodiscard]] std::string_view rdl_rival(std::string_view name);

}  // namespace rnic::regs
