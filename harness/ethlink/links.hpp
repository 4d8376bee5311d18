// SPDX-License-Identifier: Apache-2.0
// The kinds of link, and what they share. Users take ethlink.hpp.
#pragma once

#include <sys/un.h>

#include <utility>

#include "harness/ethlink/ethlink.hpp"

namespace rnic::ethlink {

// A file descriptor that is closed with its owner.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_;
};

// "what: reason of errno"
[[noreturn]] void fail_errno(const std::string& what);
void set_nonblocking(int fd);
// Throws LinkError for a path that is empty or too long.
sockaddr_un unix_address(const std::string& path);
// Makes a path free to bind: a socket that a killed program has left is removed. LinkError when
// anything else is there, or somebody is bound to it.
void free_path(const std::string& path, int type);

std::unique_ptr<EthLink> open_datagram(const std::string& local, const std::string& remote);
std::unique_ptr<EthLink> listen_unix_stream(const std::string& path);
std::unique_ptr<EthLink> connect_unix_stream(const std::string& path);
std::unique_ptr<EthLink> listen_tcp(uint16_t port);
std::unique_ptr<EthLink> connect_tcp(const std::string& host, uint16_t port);
std::unique_ptr<EthLink> open_tap(const std::string& name);
std::unique_ptr<EthLink> open_packet(const std::string& name);

}  // namespace rnic::ethlink
