// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.hpp"
#include "diff.hpp"

namespace rnic::regs::tool {

CLI::App* add_diff(CLI::App& app, DiffOptions& o) {
  auto* c = app.add_subcommand(
      "diff",
      "What has changed from one map to another. Exit status: 0 identical, 1 compatible, 2 "
      "breaking, 3 errors.");
  c->add_option("old", o.before, "The map as it was.");
  c->add_option("new", o.after, "The map as it is.");
  c->add_option("-D,--define", o.defines, "Value of a parameter of both maps, NAME=VALUE.");
  c->add_option("--for", o.reader,
                "Whose verdict the exit status is: software (the default), rtl, or both.")
      ->check(CLI::IsMember({"software", "rtl", "both"}));
  c->add_flag("--json", o.json, "A JSON report instead of lines.");
  c->add_flag("--rules", o.rules, "Print the table of rules instead.");
  return c;
}

int diff(const DiffOptions& o) {
  if (o.rules) {
    put(diff_rules_text());
    return 0;
  }
  if (o.before.empty() || o.after.empty()) {
    fmt::print(stderr, "diff: name two maps, old and new\n");
    return kDiffTrouble;
  }
  Diagnostics old_files(o.before);
  Diagnostics new_files(o.after);
  const auto before = load({o.before, o.defines}, old_files);
  const auto after = load({o.after, o.defines}, new_files);
  if (!before || !after) return kDiffTrouble;
  const auto changes = diff_maps(*before, *after);
  const DiffSide old_side{*before, old_files};
  const DiffSide new_side{*after, new_files};
  put(o.json ? diff_json(old_side, new_side, changes) : diff_text(old_side, new_side, changes));
  const auto reader = o.reader == "rtl"    ? Reader::kRtl
                      : o.reader == "both" ? Reader::kBoth
                                           : Reader::kSoftware;
  return static_cast<int>(worst(changes, reader));
}

}  // namespace rnic::regs::tool
