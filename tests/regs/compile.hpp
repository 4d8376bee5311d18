// SPDX-License-Identifier: Apache-2.0
//
// A generated header compiled alone.
//
//   CHECK(compile(RNIC_TEST_CC, "-std=c99", folder, "m_regs.h") == "");   // included twice
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace rnic::test {

inline std::string read_text(const std::filesystem::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

// What the compiler says; empty when it is content.
inline std::string compile(const std::string& compiler, const std::string& flags,
                           const std::string& folder, const std::string& header) {
  const auto dir =
      std::filesystem::temp_directory_path() / ("rnic_compile_" + std::to_string(::getpid()));
  std::filesystem::create_directories(dir);
  const auto source = dir / (compiler == RNIC_TEST_CC ? "t.c" : "t.cpp");
  std::ofstream(source) << "#include \"" << header << "\"\n#include \"" << header
                        << "\"\nint main(void) { return 0; }\n";
  const auto log = dir / "log";
  const auto command = compiler + " " + flags + " -Wall -Wextra -Werror -Wpedantic -I" + folder +
                       " -fsyntax-only " + source.string() + " > " + log.string() + " 2>&1";
  const int status = std::system(command.c_str());
  auto text = read_text(log);
  if (status != 0 && text.empty()) text = "status " + std::to_string(status);
  std::filesystem::remove_all(dir);
  return text;
}

}  // namespace rnic::test
