// SPDX-License-Identifier: Apache-2.0
//
// What has changed between two maps, and who must change with it.
//
//   for (const auto& c : diff_maps(old_map, new_map)) ...   c.rule->id "register-moved", c.text
//   worst(changes, Reader::kSoftware)                       Verdict::kBreaking
//
// Software is what was built with the old header and runs on the new hardware; RTL is what
// instantiates the register file or uses the packages. Every kind of change has one line in the
// table of diff_rules.cpp that says what it is to both.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace rnic::regs {

enum class Verdict : std::uint8_t { kIdentical, kCompatible, kBreaking };
enum class Reader : std::uint8_t { kSoftware, kRtl, kBoth };

struct DiffRule {
  std::string_view id;
  Verdict software;
  Verdict rtl;
  std::string_view text;  // what kind of change
};

struct Change {
  const DiffRule* rule;
  SourcePos pos;
  bool in_old;  // pos is in the old map: it is gone from the new one
  std::string text;
};

[[nodiscard]] std::span<const DiffRule> diff_rules();
// Throws std::logic_error when there is no such rule.
[[nodiscard]] const DiffRule& diff_rule(std::string_view id);

[[nodiscard]] std::vector<Change> diff_maps(const Map& before, const Map& after);
[[nodiscard]] Verdict verdict_of(const DiffRule& rule, Reader reader);
[[nodiscard]] Verdict worst(const std::vector<Change>& changes, Reader reader);
[[nodiscard]] std::string_view verdict_name(Verdict v);

// A map with the names of its files, as they go into reports.
struct DiffSide {
  const Map& map;
  const Diagnostics& files;
};
// One line a change, "file:line: breaking [register-moved] csr.RESET: ...", then the verdicts.
[[nodiscard]] std::string diff_text(const DiffSide& before, const DiffSide& after,
                                    const std::vector<Change>& changes);
[[nodiscard]] std::string diff_json(const DiffSide& before, const DiffSide& after,
                                    const std::vector<Change>& changes);
// The table of rules, for documents.
[[nodiscard]] std::string diff_rules_text();

}  // namespace rnic::regs
