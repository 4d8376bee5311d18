// SPDX-License-Identifier: Apache-2.0
#include "read_file.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace rnic::regs {

InputFile read_input(const std::string& path) {
  constexpr std::size_t kMost = 64U << 20;
  constexpr std::size_t kPiece = 1U << 16;
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) return {std::nullopt, "is a folder: name a file"};
  std::ifstream in(path, std::ios::binary);
  if (!in) return {std::nullopt, "cannot read the file"};
  std::string text;
  while (in) {
    if (text.size() > kMost) return {std::nullopt, "is larger than 64 MB"};
    const auto old = text.size();
    text.resize(old + kPiece);
    in.read(text.data() + old, kPiece);
    text.resize(old + static_cast<std::size_t>(in.gcount()));
  }
  return {std::move(text), {}};
}

}  // namespace rnic::regs
