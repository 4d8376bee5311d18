// SPDX-License-Identifier: Apache-2.0
// Stops and continues an emulated machine through QEMU's machine protocol.
//
//   Qmp qmp("/tmp/qmp.sock");     // throws QmpError
//   qmp.stop();  ...  qmp.go_on();
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace rnic::sim {

class QmpError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Qmp {
 public:
  explicit Qmp(const std::string& path);
  ~Qmp();
  Qmp(const Qmp&) = delete;
  Qmp& operator=(const Qmp&) = delete;

  // Each does nothing when it is so already. Throw QmpError.
  void stop();
  void go_on();
  bool stopped() const { return stopped_; }
  uint64_t stops() const { return stops_; }

 private:
  void execute(const std::string& command);
  std::string line();

  int fd_ = -1;
  std::string path_, buffer_;
  bool stopped_ = false;
  uint64_t stops_ = 0;
};

}  // namespace rnic::sim
