// SPDX-License-Identifier: Apache-2.0
//
// Traces of tests/cc_traces, changed.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/catch.hpp"

namespace rnic::test {

inline const std::string kTraces = RNIC_SOURCE_DIR "/tests/cc_traces/";

inline std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A copy of a trace in which one text is another.
class TraceCopy {
 public:
  explicit TraceCopy(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() /
                ("trace_copy_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    for (const char* end : {".csv", ".json"}) write(end, read_file(kTraces + name + end));
  }
  ~TraceCopy() { std::filesystem::remove_all(folder_); }
  void change(const char* end, const std::string& from, const std::string& to) {
    std::string text = read_file(path(end));
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    write(end, text.replace(at, from.size(), to));
  }
  std::string path(const char* end = ".csv") const { return (folder_ / "t").string() + end; }

 private:
  void write(const char* end, const std::string& text) { std::ofstream(path(end)) << text; }
  std::filesystem::path folder_;
};

}  // namespace rnic::test
