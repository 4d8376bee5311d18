// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/channel.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rnic::tools {
namespace {

// ------------------------------------------------------------------------------------------------
// in memory
struct Pipe {
  Bytes bytes;
  bool closed = false;
};

class MemoryChannel final : public Channel {
 public:
  MemoryChannel(std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out)
      : in_(std::move(in)), out_(std::move(out)) {}
  ~MemoryChannel() override { out_->closed = true; }
  void write(std::span<const uint8_t> bytes) override {
    out_->bytes.insert(out_->bytes.end(), bytes.begin(), bytes.end());
  }
  void pump() override {
    arrived_.insert(arrived_.end(), in_->bytes.begin(), in_->bytes.end());
    in_->bytes.clear();
  }
  bool closed() const override { return in_->closed && in_->bytes.empty(); }
  void close() override { out_->closed = true; }

 private:
  std::shared_ptr<Pipe> in_, out_;
};

// ------------------------------------------------------------------------------------------------
// TCP
[[noreturn]] void fail(const std::string& what) {
  throw SocketError(what + ": " + std::strerror(errno));
}

class SocketChannel final : public Channel {
 public:
  explicit SocketChannel(int fd) : fd_(fd) {
    ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
    const int one = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  ~SocketChannel() override { close(); }
  void write(std::span<const uint8_t> bytes) override {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    drain();
  }
  void pump() override {
    drain();
    uint8_t bytes[4096];
    while (fd_ >= 0 && !closed_ && arrived_.size() < kMaxArrived) {
      const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
      if (n > 0) {
        arrived_.insert(arrived_.end(), bytes, bytes + n);
        continue;
      }
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      closed_ = true;
    }
  }
  bool closed() const override { return closed_; }
  void close() override {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    closed_ = true;
  }
  int fd() const override { return closed_ ? -1 : fd_; }

 private:
  void drain() {
    while (fd_ >= 0 && !out_.empty()) {
      const ssize_t n = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        if (errno != EAGAIN && errno != EINTR) out_.clear();  // nobody reads any more
        return;
      }
      out_.erase(out_.begin(), out_.begin() + n);
    }
  }
  int fd_;
  bool closed_ = false;
  Bytes out_;
};

// Connects within the limit; errno tells why not.
bool connect_within(int fd, const addrinfo& to, int limit_s) {
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  if (::connect(fd, to.ai_addr, to.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd p{fd, POLLOUT, 0};
  if (::poll(&p, 1, limit_s * 1000) <= 0) {
    errno = ETIMEDOUT;
    return false;
  }
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  return error == 0;
}

}  // namespace

std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> memory_channels() {
  const auto ab = std::make_shared<Pipe>(), ba = std::make_shared<Pipe>();
  return {std::make_unique<MemoryChannel>(ba, ab), std::make_unique<MemoryChannel>(ab, ba)};
}

std::unique_ptr<Channel> socket_channel(int fd) { return std::make_unique<SocketChannel>(fd); }

std::unique_ptr<Channel> connect_channel(const std::string& host, uint16_t port, int limit_s) {
  const std::string name = host + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int rc = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      rc != 0)
    throw SocketError(name + ": " + ::gai_strerror(rc));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    const int fd = ::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail(name);
    if (connect_within(fd, *a, limit_s)) return socket_channel(fd);
    const int reason = errno;
    ::close(fd);
    errno = reason;
  }
  fail(name);
}

Listener::Listener(uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const std::string name = "127.0.0.1:" + std::to_string(port);
  if (fd_ < 0) fail(name);
  const int one = 1;
  ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ||
      ::listen(fd_, 8) < 0) {
    const int reason = errno;
    ::close(fd_);
    errno = reason;
    fail(name);
  }
}

Listener::~Listener() { ::close(fd_); }

std::unique_ptr<Channel> Listener::accept() {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  return fd < 0 ? nullptr : socket_channel(fd);
}

Task<Bytes> read_exactly(Scheduler& s, Channel& c, size_t bytes, std::string what) {
  co_await s.until(
      [&c, bytes] {
        c.pump();
        return c.arrived().size() >= bytes || c.closed();
      },
      what);
  if (c.arrived().size() < bytes)
    throw ChannelClosed("the other side ended its connection before " + what);
  const auto end = c.arrived().begin() + static_cast<std::ptrdiff_t>(bytes);
  Bytes out(c.arrived().begin(), end);
  c.arrived().erase(c.arrived().begin(), end);
  co_return out;
}

}  // namespace rnic::tools
