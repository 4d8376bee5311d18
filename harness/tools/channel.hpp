// SPDX-License-Identifier: Apache-2.0
// The byte stream between a tool's two sides: a socket, a pair in memory, or SENDs over a QP. Never
// blocks.
//
//   auto [a, b] = memory_channels();
//   a->write(bytes);
//   co_await read_exactly(scheduler, *b, 16);      // throws ChannelClosed
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/tools/task.hpp"

namespace rnic::tools {

using Bytes = std::vector<uint8_t>;

// The other side has gone, in the middle of something.
class ChannelClosed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual void write(std::span<const uint8_t> bytes) = 0;
  // Takes in what has come, sends what was kept.
  virtual void pump() = 0;
  // The other side has ended; what it sent before is still in `arrived()`.
  virtual bool closed() const = 0;
  virtual void close() = 0;
  // Readable when pump() has something; -1: none.
  virtual int fd() const { return -1; }
  // Over a QP that rdma_cm connected: each write() is one message, and comes when the one before it
  // was answered. perftest speaks another dialect there.
  virtual bool over_cm() const { return false; }
  Bytes& arrived() { return arrived_; }
  // No more is taken in before some of it is read.
  static constexpr size_t kMaxArrived = 64 << 10;

 protected:
  Bytes arrived_;
};

std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> memory_channels();

class SocketError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A TCP connection that stands.
std::unique_ptr<Channel> socket_channel(int fd);
// Throws SocketError. `limit_s`: of the attempt.
std::unique_ptr<Channel> connect_channel(const std::string& host, uint16_t port, int limit_s = 10);

class Listener {
 public:
  // On 127.0.0.1. Throws SocketError.
  explicit Listener(uint16_t port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  // Null: nobody yet.
  std::unique_ptr<Channel> accept();
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Exactly so many bytes. Throws ChannelClosed when fewer come. `what` is for messages.
Task<Bytes> read_exactly(Scheduler& s, Channel& c, size_t bytes, std::string what);

}  // namespace rnic::tools
