// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "expr.hpp"

namespace rnic::regs::tool {

std::optional<std::string> read_file(const std::filesystem::path& p) {
  std::error_code ec;
  if (std::filesystem::is_directory(p, ec)) return std::nullopt;  // which opens, and is empty
  std::ifstream in(p, std::ios::binary);
  if (!in) return std::nullopt;
  std::stringstream s;
  s << in.rdbuf();
  if (in.bad()) return std::nullopt;
  return s.str();
}

void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

bool write_file(const std::filesystem::path& p, const std::string& text) {
  std::error_code ec;
  if (p.has_parent_path()) std::filesystem::create_directories(p.parent_path(), ec);
  std::ofstream out(p, std::ios::binary | std::ios::trunc);
  out << text;
  return static_cast<bool>(out.flush());
}

void add_map(CLI::App& command, MapOptions& o) {
  command.add_option("map", o.path, "The map (YAML).")->required();
  command.add_option("-D,--define", o.defines, "Value of a parameter of the map, NAME=VALUE.");
}

std::optional<Map> load(const MapOptions& o) {
  Diagnostics diags(o.path);
  return load(o, diags);
}

std::optional<ParameterValues> parameter_values(const std::vector<std::string>& defines) {
  ParameterValues values;
  for (const auto& d : defines) {
    const auto eq = d.find('=');
    try {
      const auto none = [](const std::string&) { return std::nullopt; };
      values.emplace_back(
          d.substr(0, eq),
          eval_expr(eq == std::string::npos ? std::string() : d.substr(eq + 1), none));
    } catch (const ExprError&) {
      fmt::print(stderr, "-D {}: write NAME=NUMBER\n", d);
      return std::nullopt;
    }
  }
  return values;
}

std::optional<Map> load(const MapOptions& o, Diagnostics& diags) {
  const auto values = parameter_values(o.defines);
  if (!values) return std::nullopt;
  auto map = load_map_file(o.path, diags, *values);
  std::fputs(diags.text().c_str(), stderr);
  return map;
}

}  // namespace rnic::regs::tool
