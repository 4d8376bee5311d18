// SPDX-License-Identifier: Apache-2.0
//
// Parts of the SystemRDL import: from elaborated components to a Map, before it is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model.hpp"
#include "rdl_field.hpp"
#include "rdl_node.hpp"

namespace rnic::regs {

enum class RdlCase : std::uint8_t { kUpper, kLower, kLowerSv };  // Sv: alone in SystemVerilog

// The name that a component has in the map: letters of one case, no '_' outside and no double ones,
// no keyword.
[[nodiscard]] std::string rdl_map_name(std::string_view s, RdlCase kind);

// Names and messages, shared by the parts.
class RdlContext {
 public:
  RdlContext(Map& map, Diagnostics& diags, Warnings& warnings)
      : map_(map), diags_(diags), warnings_(warnings) {}

  // rdl_map_name(); more than a change of case is a warning.
  std::string name(std::string_view s, SourcePos pos, RdlCase kind);
  // The enumeration's name in the map, which gets it when it is new. `owner`: makes it unique.
  std::string enum_name(const RdlEnum& e, const std::string& owner);

  // Once for a place and rule.
  void error(SourcePos pos, const char* rule, std::string text);
  void warning(SourcePos pos, const char* rule, std::string text);

  Map& map() { return map_; }

 private:
  Map& map_;
  Diagnostics& diags_;
  Warnings& warnings_;
  RdlTold told_;
  std::vector<std::pair<const RdlEnum*, std::string>> enums_;
};

// `name` and `desc` of a component in one line.
[[nodiscard]] std::string rdl_description(const RdlNode& n);
[[nodiscard]] bool rdl_present(const RdlNode& n);

[[nodiscard]] Field rdl_make_field(const RdlNode& n, bool external, RdlContext& context);
[[nodiscard]] RdlField rdl_field_of(const RdlNode& n);
[[nodiscard]] Access rdl_access_of(const RdlNode& n, const RdlField& p, RdlContext& context);

// Interrupt groups of a block: three registers each, which are put into `used`.
[[nodiscard]] std::vector<Interrupt> rdl_make_interrupts(const RdlNode& block,
                                                         std::set<const RdlNode*>& used,
                                                         RdlContext& context);
// Descriptors and counters, of definitions that are nowhere.
void rdl_make_loose(const RdlDesign& design, RdlContext& context);
void rdl_make_counters(const RdlNode& mem, RdlContext& context);

// "NAME; description" of a list property.
struct RdlListEntry {
  std::string head;
  std::string text;
};
[[nodiscard]] std::vector<RdlListEntry> rdl_list(const RdlNode& n, std::string_view property);
// Texts of the export: what stands between the marks, and numbers such as 200 or 0xff.
[[nodiscard]] std::vector<std::string> rdl_split(std::string_view s, char mark);
[[nodiscard]] std::optional<std::uint64_t> rdl_parse_number(std::string_view s);

}  // namespace rnic::regs
