// SPDX-License-Identifier: Apache-2.0
//
// Files and maps of the commands.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace rnic::regs::tool {

[[nodiscard]] std::optional<std::string> read_file(const std::filesystem::path& p);
[[nodiscard]] bool write_file(const std::filesystem::path& p, const std::string& text);
// To standard output; main() looks whether all of it could be written.
void put(std::string_view text);

struct MapOptions {
  std::string path;
  std::vector<std::string> defines;  // NAME=VALUE
};

void add_map(CLI::App& command, MapOptions& o);
// Of "NAME=VALUE"; nothing after an error, which goes to standard error.
[[nodiscard]] std::optional<ParameterValues> parameter_values(
    const std::vector<std::string>& defines);
// Nothing after errors, which go to standard error.
[[nodiscard]] std::optional<Map> load(const MapOptions& o);
[[nodiscard]] std::optional<Map> load(const MapOptions& o, Diagnostics& diags);

}  // namespace rnic::regs::tool
