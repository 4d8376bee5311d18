// SPDX-License-Identifier: Apache-2.0
// Streams: frames behind four bytes of length, highest first.
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/ethlink/links.hpp"

namespace rnic::ethlink {
namespace {

constexpr size_t kHeader = 4;

class StreamLink final : public EthLink {
 public:
  // One of the two is given: a listener goes on listening when its peer has gone.
  StreamLink(Fd listener, Fd connection, std::string unlink_path)
      : listener_(std::move(listener)),
        connection_(std::move(connection)),
        unlink_path_(std::move(unlink_path)) {
    if (listener_) set_nonblocking(listener_.get());
    if (connection_) begin();
  }
  ~StreamLink() override {
    if (!unlink_path_.empty()) ::unlink(unlink_path_.c_str());
  }

  int fd() const override { return connection_ ? connection_.get() : listener_.get(); }
  bool up() const override { return static_cast<bool>(connection_); }
  bool lost() const override { return !connection_ && !listener_; }

  bool receive(std::vector<uint8_t>& frame) override {
    for (;;) {
      if (!connection_ && !accept()) return false;
      if (take(frame)) return true;
      if (!connection_) continue;
      if (!fill()) return false;
    }
  }

 private:
  void begin() {
    set_nonblocking(connection_.get());
    const int one = 1;  // fails on UNIX sockets, which do not delay
    ::setsockopt(connection_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ++stats_.connects;
    in_.clear();
    out_.clear();
  }
  bool accept() {
    if (!listener_) return false;
    connection_ = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection_) return false;
    begin();
    return true;
  }
  void end() {
    connection_.reset();
    ++stats_.disconnects;
    in_.clear();
    out_.clear();
    drop_backlog();
  }

  // A whole frame out of what has arrived.
  bool take(std::vector<uint8_t>& frame) {
    while (in_.size() >= kHeader) {
      const size_t length =
          size_t{in_[0]} << 24 | size_t{in_[1]} << 16 | size_t{in_[2]} << 8 | size_t{in_[3]};
      if (length > kMaxFrame) {
        // Nothing behind it can be trusted to begin a frame.
        ++stats_.oversize;
        end();
        return false;
      }
      if (in_.size() < kHeader + length) return false;
      const auto body = in_.begin() + kHeader;
      frame.assign(body, body + static_cast<std::ptrdiff_t>(length));
      in_.erase(in_.begin(), body + static_cast<std::ptrdiff_t>(length));
      if (length == 0) {
        ++stats_.empty;
        continue;
      }
      ++stats_.received;
      return true;
    }
    return false;
  }

  // More bytes; false when there are none now. The end of the stream ends the connection.
  bool fill() {
    uint8_t bytes[65'536];
    const ssize_t n = ::recv(connection_.get(), bytes, sizeof bytes, 0);
    if (n > 0) {
      in_.insert(in_.end(), bytes, bytes + n);
      return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    end();
    return false;
  }

  bool begun() const override { return connection_ && !out_.empty(); }
  void go_on() override { drain(); }

  // What of out_ goes; true when all did.
  bool drain() {
    while (!out_.empty()) {
      const ssize_t n = ::send(connection_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
      if (n < 0) {
        end();
        return false;
      }
      out_.erase(out_.begin(), out_.begin() + n);
    }
    return true;
  }

  Sent try_send(std::span<const uint8_t> frame) override {
    if (!connection_ && !accept()) return Sent::kNobody;
    // A frame that has begun goes first.
    if (!drain()) return connection_ ? Sent::kNotNow : Sent::kNobody;
    const auto length = static_cast<uint32_t>(frame.size());
    for (int shift = 24; shift >= 0; shift -= 8)
      out_.push_back(static_cast<uint8_t>(length >> shift));
    out_.insert(out_.end(), frame.begin(), frame.end());
    drain();
    return connection_ ? Sent::kYes : Sent::kNobody;
  }

  Fd listener_, connection_;
  std::string unlink_path_;
  std::vector<uint8_t> in_, out_;
};

}  // namespace

std::unique_ptr<EthLink> listen_unix_stream(const std::string& path) {
  const sockaddr_un address = unix_address(path);
  Fd s(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!s) fail_errno("socket");
  free_path(path, SOCK_STREAM);
  if (::bind(s.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ||
      ::listen(s.get(), 1) < 0)
    fail_errno("bind");
  return std::make_unique<StreamLink>(std::move(s), Fd(), path);
}

std::unique_ptr<EthLink> connect_unix_stream(const std::string& path) {
  const sockaddr_un address = unix_address(path);
  Fd s(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!s) fail_errno("socket");
  if (::connect(s.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    fail_errno("connect");
  return std::make_unique<StreamLink>(Fd(), std::move(s), "");
}

std::unique_ptr<EthLink> listen_tcp(uint16_t port) {
  Fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!s) fail_errno("socket");
  const int one = 1;
  ::setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(s.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ||
      ::listen(s.get(), 1) < 0)
    fail_errno("bind");
  return std::make_unique<StreamLink>(std::move(s), Fd(), "");
}

std::unique_ptr<EthLink> connect_tcp(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int rc = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      rc != 0)
    throw LinkError(host + ": " + ::gai_strerror(rc));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    Fd s(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (s && ::connect(s.get(), a->ai_addr, a->ai_addrlen) == 0)
      return std::make_unique<StreamLink>(Fd(), std::move(s), "");
  }
  fail_errno("connect");
}

}  // namespace rnic::ethlink
