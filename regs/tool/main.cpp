// SPDX-License-Identifier: Apache-2.0
//
// rnic-regs: one YAML map to SystemVerilog, C, C++ and Markdown.
//
//   rnic-regs gen map.yaml --out-dir out
//       writes what has changed; with --check nothing, and exit status 1 when a file is out of date
//   rnic-regs lint map.yaml
//       only the diagnostics, and warnings about what is hard on drivers
//   rnic-regs decode map.yaml --block csr dump.txt
//       a dump with names
//   rnic-regs diff old.yaml new.yaml
//       what has changed, and whether software and RTL must change with it
//   rnic-regs fmt map.yaml
//       the canonical layout, with comments; with --check status 1 when it differs
//   rnic-regs schema
//       the JSON Schema of maps
//   rnic-regs import map.rdl -o map.yaml
//       SystemRDL 2.0 to a map
//
// Exit status: 0 done, 1 the map has errors or (--check) a file differs, 2 wrong use or a file that
// cannot be written. Of diff: 0 identical, 1 compatible, 2 breaking, 3 errors and wrong use.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "decode.hpp"
#include "files.hpp"
#include "lint.hpp"
#include "map_keys.hpp"
#include "model.hpp"
#include "outputs.hpp"
#include "rdl_import.hpp"
#include "suggest.hpp"
#include "write_yaml.hpp"

namespace {

namespace fs = std::filesystem;
using namespace rnic::regs::tool;

struct LintCommand {
  MapOptions map;
  rnic::regs::LintOptions options;
  bool werror = false;
};

int lint(const LintCommand& o) {
  const auto map = load(o.map);
  if (!map) return 1;
  rnic::regs::Diagnostics diags(o.map.path);
  rnic::regs::Warnings warnings;
  rnic::regs::lint_map(*map, o.options, diags, warnings);
  std::fputs((diags.text() + warnings.text(diags)).c_str(), stderr);
  return diags.has_errors() || (o.werror && !warnings.empty()) ? 1 : 0;
}

struct GenOptions {
  MapOptions map;
  std::vector<std::string> outputs;
  std::string out_dir = ".";
  std::string rtl_dir;
  std::string sw_dir;
  bool check = false;
};

enum class Written { kSame, kChanged, kFailed };

Written write_output(const GenOptions& o, const rnic::regs::OutFile& f) {
  const auto& own = f.dir == rnic::regs::OutDir::kRtl ? o.rtl_dir : o.sw_dir;
  const fs::path path = fs::path(own.empty() ? o.out_dir : own) / f.name;
  const auto old = read_file(path);
  if (old && *old == f.text) return Written::kSame;
  if (o.check) {
    fmt::print(stderr, "{}: {}\n", path.string(), old ? "out of date" : "missing");
  } else if (!write_file(path, f.text)) {
    fmt::print(stderr, "{}: cannot write\n", path.string());
    return Written::kFailed;
  } else {
    put(path.string() + "\n");
  }
  return Written::kChanged;
}

int gen(const GenOptions& o) {
  const auto map = load(o.map);
  if (!map) return 1;
  int n_changed = 0;
  for (const auto& output : rnic::regs::all_outputs()) {
    const bool named =
        std::find(o.outputs.begin(), o.outputs.end(), output.name) != o.outputs.end();
    if (o.outputs.empty() ? !output.by_default : !named) continue;
    rnic::regs::OutFiles files;  // of one output at a time: those of a large map are large
    output.make(*map, files);
    for (const auto& f : files) {
      const auto written = write_output(o, f);
      if (written == Written::kFailed) return 2;
      n_changed += written == Written::kChanged ? 1 : 0;
    }
  }
  if (o.check && n_changed != 0) {
    fmt::print(stderr, "{} generated files differ from {}: run rnic-regs gen\n", n_changed,
               o.map.path);
    return 1;
  }
  return 0;
}

struct DecodeOptions {
  MapOptions map;
  std::string block;
  std::string descriptor;
  std::string input = "-";
  bool binary = false;
};

int no_such(const DecodeOptions& o, const char* what, const std::string& name,
            const std::vector<std::string>& known) {
  fmt::print(stderr, "{}: error: --{} {}: no {} '{}'{}\n", o.map.path, what, name, what, name,
             rnic::regs::suggest(name, known));
  return 1;
}

int decode(const DecodeOptions& o) {
  const auto map = load(o.map);
  if (!map) return 1;
  const auto* block = rnic::regs::find_block(*map, o.block);
  const auto* desc = rnic::regs::find_descriptor(*map, o.descriptor);
  if (desc == nullptr && !o.descriptor.empty()) {
    return no_such(o, "descriptor", o.descriptor, rnic::regs::names_of(map->descriptors));
  }
  if (desc == nullptr && block == nullptr) {
    return no_such(o, "block", o.block, rnic::regs::names_of(map->blocks));
  }
  std::optional<std::string> text;
  if (o.input == "-") {
    std::stringstream s;
    s << std::cin.rdbuf();
    text = s.str();
  } else {
    text = read_file(o.input);
  }
  if (!text) {
    fmt::print(stderr, "{}: cannot read\n", o.input);
    return 2;
  }
  try {
    if (block != nullptr) {
      put(rnic::regs::decode_registers(*map, *block, *text));
      return 0;
    }
    const auto bytes = o.binary ? std::vector<std::uint8_t>(text->begin(), text->end())
                                : rnic::regs::parse_hex_bytes(*text);
    put(rnic::regs::decode_descriptor(*map, *desc, bytes));
    return 0;
  } catch (const rnic::regs::DecodeError& e) {
    fmt::print(stderr, "{}: error: {}\n", o.input, e.what());
    return 1;
  }
}

struct ImportOptions {
  std::string path;
  std::string output = "-";
  std::string top;
  std::vector<std::string> include_dirs;
  std::vector<std::string> defines;
};

int import(const ImportOptions& o) {
  const auto values = parameter_values(o.defines);
  if (!values) return 1;
  rnic::regs::Diagnostics diags(o.path);
  rnic::regs::Warnings warnings;
  const auto map =
      rnic::regs::load_rdl_file(o.path, {o.top, o.include_dirs, *values}, diags, warnings);
  std::fputs((diags.text() + warnings.text(diags)).c_str(), stderr);
  if (!map) return 1;
  const auto text = fmt::format("# Imported by rnic-regs from {}.\n{}", map->source,
                                rnic::regs::write_yaml(*map));
  if (o.output == "-") {
    put(text);
  } else if (!write_file(o.output, text)) {
    fmt::print(stderr, "{}: cannot write\n", o.output);
    return 2;
  }
  return 0;
}

std::string output_help() {
  std::string s = "Which outputs, or all; without it those marked *:";
  for (const auto& x : rnic::regs::all_outputs()) {
    s += fmt::format("\n  {}{} {}", x.name, x.by_default ? "*" : "", x.summary);
  }
  return s;
}

// "all" and unknown names.
bool resolve_outputs(std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const auto& x : rnic::regs::all_outputs()) all.emplace_back(x.name);
  for (const auto& n : names) {
    if (n == "all") {
      names = all;
      return true;
    }
    if (rnic::regs::find_output(n) == nullptr) {
      fmt::print(stderr, "--outputs: no output '{}'{}\n", n, rnic::regs::suggest(n, all));
      return false;
    }
  }
  return true;
}

int run(int argc, char** argv) {
  CLI::App app("Registers and descriptors from one YAML map.", "rnic-regs");
  app.require_subcommand(1);

  GenOptions gen_options;
  auto* gen_cmd = app.add_subcommand("gen", "Write views, or check that they are up to date.");
  add_map(*gen_cmd, gen_options.map);
  gen_cmd->add_option("--outputs", gen_options.outputs, output_help())->delimiter(',');
  gen_cmd->add_option("--out-dir", gen_options.out_dir, "Where files go.");
  gen_cmd->add_option("--rtl-dir", gen_options.rtl_dir, "Where SystemVerilog goes instead.");
  gen_cmd->add_option("--sw-dir", gen_options.sw_dir, "Where headers and documents go instead.");
  gen_cmd->add_flag("--check", gen_options.check, "Compare, write nothing.");

  LintCommand lint_command;
  auto* lint_cmd = app.add_subcommand("lint", "Check the map.");
  add_map(*lint_cmd, lint_command.map);
  lint_cmd->add_flag("--werror", lint_command.werror, "Exit status 1 after a warning too.");
  lint_cmd
      ->add_option("--prefetchable", lint_command.options.prefetchable,
                   "Blocks in a BAR that the host may read ahead.")
      ->delimiter(',');
  lint_cmd
      ->add_option("--write-combining", lint_command.options.write_combining,
                   "Blocks that the host maps write-combining.")
      ->delimiter(',');
  lint_cmd
      ->add_option("--user", lint_command.options.user,
                   "What is mapped into processes: BLOCK or BLOCK.NAME.")
      ->delimiter(',');

  DecodeOptions decode_options;
  auto* decode_cmd = app.add_subcommand("decode", "Print a dump with names.");
  add_map(*decode_cmd, decode_options.map);
  decode_cmd->add_option("input", decode_options.input, "File with the dump, - is standard input.");
  auto* what = decode_cmd->add_option_group("what");
  what->add_option("--block", decode_options.block, "The dump is of this block's registers.");
  what->add_option("--descriptor", decode_options.descriptor, "The dump is of this descriptor.");
  what->require_option(1);
  decode_cmd->add_flag("--binary", decode_options.binary, "The descriptor is raw bytes, not hex.");

  DiffOptions diff_options;
  auto* diff_cmd = add_diff(app, diff_options);
  FmtOptions fmt_options;
  auto* fmt_cmd = add_fmt(app, fmt_options);
  auto* schema_cmd = app.add_subcommand("schema", "Print the JSON Schema of maps, for editors.");
  ImportOptions import_options;
  auto* import_cmd = app.add_subcommand("import", "SystemRDL 2.0 to a map.");
  import_cmd->add_option("file", import_options.path, "The SystemRDL file.")->required();
  import_cmd->add_option("-o,--output", import_options.output, "The map, - is standard output.");
  import_cmd->add_option("--top", import_options.top, "The addrmap; else the last of the file.");
  import_cmd->add_option("-I,--include-dir", import_options.include_dirs,
                         "Where `include looks, behind the folder of the file that has it.");
  import_cmd->add_option("-D,--define", import_options.defines,
                         "Value of a parameter of the top, NAME=VALUE.");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : diff_cmd->parsed() ? kDiffTrouble : 2;
  }
  if (gen_cmd->parsed()) return resolve_outputs(gen_options.outputs) ? gen(gen_options) : 2;
  if (decode_cmd->parsed()) return decode(decode_options);
  if (diff_cmd->parsed()) return diff(diff_options);
  if (fmt_cmd->parsed()) return format(fmt_options);
  if (schema_cmd->parsed()) {
    put(rnic::regs::json_schema());
    return 0;
  }
  if (import_cmd->parsed()) return import(import_options);
  return lint(lint_command);
}

}  // namespace

int main(int argc, char** argv) {
  const int status = run(argc, argv);
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  fmt::print(stderr, "standard output: cannot write\n");
  const bool diff = argc > 1 && std::string_view(argv[1]) == "diff";
  return diff ? kDiffTrouble : 2;
}
