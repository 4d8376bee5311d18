// SPDX-License-Identifier: Apache-2.0
#include "sim/live/json_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace rnic::sim {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::runtime_error(path + ": cannot be written: " + std::strerror(errno));
}

}  // namespace

void check_writable(const std::string& path) {
  errno = 0;
  if (!std::ofstream(path, std::ios::app)) fail(path);
}

void write_json(const std::string& path, const nlohmann::json& value) {
  errno = 0;
  std::ofstream out(path);
  out << value.dump(1) << "\n";
  out.close();  // what is buffered may not fit
  if (!out) fail(path);
}

}  // namespace rnic::sim
