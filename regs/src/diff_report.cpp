// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "diff.hpp"

namespace rnic::regs {
namespace {

std::string version(const Map& m) { return fmt::format("{}.{}.{}", m.major, m.minor, m.patch); }

const std::string& file_of(const DiffSide& before, const DiffSide& after, const Change& c) {
  return (c.in_old ? before : after).files.file(c.pos.file);
}

std::string verdicts(const DiffRule& r) {
  if (r.software == r.rtl) return std::string(verdict_name(r.software));
  return fmt::format("{}, RTL {}", verdict_name(r.software), verdict_name(r.rtl));
}

nlohmann::ordered_json side(const DiffSide& s) {
  return {{"file", s.files.file(0)},
          {"version", version(s.map)},
          {"hash", fmt::format("0x{:08x}", s.map.hash)}};
}

}  // namespace

std::string diff_text(const DiffSide& before, const DiffSide& after,
                      const std::vector<Change>& changes) {
  std::string s;
  for (const auto& c : changes) {
    s += fmt::format("{}:{}: {} [{}] {}\n", file_of(before, after, c), c.pos.line,
                     verdicts(*c.rule), c.rule->id, c.text);
  }
  s += fmt::format("software: {}; RTL: {}; version {} to {}, map hash 0x{:08x} to 0x{:08x}\n",
                   verdict_name(worst(changes, Reader::kSoftware)),
                   verdict_name(worst(changes, Reader::kRtl)), version(before.map),
                   version(after.map), before.map.hash, after.map.hash);
  return s;
}

std::string diff_json(const DiffSide& before, const DiffSide& after,
                      const std::vector<Change>& changes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& c : changes) {
    list.push_back({{"rule", c.rule->id},
                    {"software", verdict_name(c.rule->software)},
                    {"rtl", verdict_name(c.rule->rtl)},
                    {"file", file_of(before, after, c)},
                    {"line", c.pos.line},
                    {"column", c.pos.col},
                    {"text", c.text}});
  }
  const nlohmann::ordered_json report = {
      {"old", side(before)},
      {"new", side(after)},
      {"software", verdict_name(worst(changes, Reader::kSoftware))},
      {"rtl", verdict_name(worst(changes, Reader::kRtl))},
      {"changes", list}};
  return report.dump(2) + "\n";
}

std::string diff_rules_text() {
  std::string s = "| rule | software | RTL | change |\n|---|---|---|---|\n";
  for (const auto& r : diff_rules()) {
    s += fmt::format("| `{}` | {} | {} | {} |\n", r.id,
                     r.software == Verdict::kIdentical ? "-" : verdict_name(r.software),
                     r.rtl == Verdict::kIdentical ? "-" : verdict_name(r.rtl), r.text);
  }
  return s;
}

}  // namespace rnic::regs
