// SPDX-License-Identifier: Apache-2.0
//
// rnic-regs: one YAML map to SystemVerilog, C, C++ and Markdown.
//
//   rnic-regs gen map.yaml --out-dir out            writes what has changed
//   rnic-regs gen map.yaml --out-dir out --check    writes nothing; exit status 1 when a file is out of date
//   rnic-regs lint map.yaml                         only the diagnostics
//
// Exit status: 0 done, 1 the map has errors or (--check) a file differs, 2 wrong use or a file that cannot be written.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "emit.hpp"
#include "model.hpp"

namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_file(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  if (!in) return std::nullopt;
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

bool write_file(const fs::path& p, const std::string& text) {
  std::error_code ec;
  if (p.has_parent_path()) fs::create_directories(p.parent_path(), ec);
  std::ofstream out(p, std::ios::binary | std::ios::trunc);
  out << text;
  return static_cast<bool>(out.flush());
}

std::optional<rnic::regs::Map> load(const std::string& path) {
  rnic::regs::Diagnostics diags(path);
  auto map = rnic::regs::load_map_file(path, diags);
  std::fputs(diags.text().c_str(), stderr);
  return map;
}

struct GenOptions {
  std::string map;
  std::string out_dir = ".";
  std::string rtl_dir;
  std::string sw_dir;
  bool check = false;
};

int gen(const GenOptions& o) {
  const auto map = load(o.map);
  if (!map) return 1;
  int n_changed = 0;
  for (const auto& f : rnic::regs::emit_all(*map)) {
    const auto& own = f.dir == rnic::regs::OutDir::kRtl ? o.rtl_dir : o.sw_dir;
    const fs::path path = fs::path(own.empty() ? o.out_dir : own) / f.name;
    const auto old = read_file(path);
    if (old && *old == f.text) continue;
    ++n_changed;
    if (o.check) {
      fmt::print(stderr, "{}: {}\n", path.string(), old ? "out of date" : "missing");
    } else if (!write_file(path, f.text)) {
      fmt::print(stderr, "{}: cannot write\n", path.string());
      return 2;
    } else {
      fmt::print("{}\n", path.string());
    }
  }
  if (o.check && n_changed != 0) {
    fmt::print(stderr, "{} generated files differ from {}: run rnic-regs gen\n", n_changed, o.map);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Registers and descriptors from one YAML map.", "rnic-regs");
  app.require_subcommand(1);

  GenOptions gen_options;
  auto* gen_cmd = app.add_subcommand("gen", "Write all views, or check that they are up to date.");
  gen_cmd->add_option("map", gen_options.map, "The map (YAML).")->required();
  gen_cmd->add_option("--out-dir", gen_options.out_dir, "Where files go.");
  gen_cmd->add_option("--rtl-dir", gen_options.rtl_dir, "Where SystemVerilog goes instead.");
  gen_cmd->add_option("--sw-dir", gen_options.sw_dir, "Where headers and documents go instead.");
  gen_cmd->add_flag("--check", gen_options.check, "Compare, write nothing.");

  std::string lint_map;
  auto* lint_cmd = app.add_subcommand("lint", "Check the map.");
  lint_cmd->add_option("map", lint_map, "The map (YAML).")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (gen_cmd->parsed()) return gen(gen_options);
  return load(lint_map) ? 0 : 1;
}
