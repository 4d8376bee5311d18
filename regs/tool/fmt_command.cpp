// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "commands.hpp"
#include "yaml_format.hpp"

namespace rnic::regs::tool {
namespace {

int format_file(const std::string& path, bool check) {
  const auto text = read_file(path);
  if (!text) {
    fmt::print(stderr, "{}: cannot read\n", path);
    return 2;
  }
  Diagnostics diags(path);
  const auto result = format_yaml(*text, diags);
  std::fputs(diags.text().c_str(), stderr);
  if (!result) return 1;
  if (*result == *text) return 0;
  if (check) {
    fmt::print(stderr, "{}: not formatted: run rnic-regs fmt\n", path);
    return 1;
  }
  if (!write_file(path, *result)) {
    fmt::print(stderr, "{}: cannot write\n", path);
    return 2;
  }
  put(path + "\n");
  return 0;
}

}  // namespace

CLI::App* add_fmt(CLI::App& app, FmtOptions& o) {
  auto* c = app.add_subcommand("fmt", "Lay maps and included files out; comments stay.");
  c->add_option("file", o.files, "Files to change.")->required();
  c->add_flag("--check", o.check, "Change nothing; status 1 when a file would change.");
  return c;
}

int format(const FmtOptions& o) {
  int worst = 0;
  for (const auto& path : o.files) worst = std::max(worst, format_file(path, o.check));
  return worst;
}

}  // namespace rnic::regs::tool
