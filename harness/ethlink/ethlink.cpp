// SPDX-License-Identifier: Apache-2.0
#include "harness/ethlink/ethlink.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "harness/ethlink/links.hpp"

namespace rnic::ethlink {

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void fail_errno(const std::string& what) { throw LinkError(what + ": " + std::strerror(errno)); }

void set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) fail_errno("fcntl");
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof a.sun_path)
    throw LinkError("'" + path + "': a socket path has 1 to " +
                    std::to_string(sizeof a.sun_path - 1) + " bytes");
  std::memcpy(a.sun_path, path.data(), path.size());
  return a;
}

void free_path(const std::string& path, int type) {
  const sockaddr_un address = unix_address(path);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return;
  if (!S_ISSOCK(info.st_mode)) throw LinkError(path + ": exists and is no socket");
  const Fd probe(::socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) fail_errno("socket");
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(probe.get(), to, sizeof address) == 0 || errno != ECONNREFUSED)
    throw LinkError(path + ": another program uses it");
  ::unlink(path.c_str());
}

// ------------------------------------------------------------------------------------------------
// the part that all links share
void EthLink::send(std::span<const uint8_t> frame) {
  if (frame.size() > kMaxFrame) {
    ++stats_.oversize;
    return;
  }
  flush();
  if (queue_.empty()) {
    switch (try_send(frame)) {
      case Sent::kYes:
        ++stats_.sent;
        return;
      case Sent::kNobody:
        ++stats_.dropped;
        return;
      case Sent::kNotNow:
        break;
    }
  }
  if (queued_bytes_ + frame.size() > kMaxBacklog) {
    ++stats_.dropped;
    return;
  }
  queue_.emplace_back(frame.begin(), frame.end());
  queued_bytes_ += frame.size();
}

void EthLink::flush() {
  if (begun()) go_on();
  while (!queue_.empty()) {
    const Sent result = try_send(queue_.front());
    if (result == Sent::kNotNow) return;
    if (queue_.empty()) return;  // the peer went, and its backlog with it
    ++(result == Sent::kYes ? stats_.sent : stats_.dropped);
    queued_bytes_ -= queue_.front().size();
    queue_.pop_front();
  }
}

void EthLink::drop_backlog() {
  stats_.dropped += queue_.size();
  queue_.clear();
  queued_bytes_ = 0;
}

// ------------------------------------------------------------------------------------------------
// UNIX datagrams
namespace {

class DatagramLink final : public EthLink {
 public:
  DatagramLink(const std::string& local, const std::string& remote)
      : local_(local), remote_(unix_address(remote)), buffer_(kMaxFrame + 1) {
    const sockaddr_un address = unix_address(local);
    socket_ = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket_) fail_errno("socket");
    free_path(local, SOCK_DGRAM);
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
      fail_errno(local);
    // A long burst must not have to wait for every single read of the other side.
    const int bytes = 4 << 20;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }
  ~DatagramLink() override { ::unlink(local_.c_str()); }

  int fd() const override { return socket_.get(); }
  bool up() const override { return true; }

  bool receive(std::vector<uint8_t>& frame) override {
    for (;;) {
      const ssize_t n = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
      if (n < 0) return false;
      if (n == 0) {
        ++stats_.empty;
      } else if (static_cast<size_t>(n) > kMaxFrame) {
        ++stats_.oversize;
      } else {
        ++stats_.received;
        frame.assign(buffer_.begin(), buffer_.begin() + n);
        return true;
      }
    }
  }

 private:
  Sent try_send(std::span<const uint8_t> frame) override {
    const ssize_t n = ::sendto(socket_.get(), frame.data(), frame.size(), 0,
                               reinterpret_cast<const sockaddr*>(&remote_), sizeof remote_);
    if (n >= 0) return Sent::kYes;
    return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? Sent::kNotNow : Sent::kNobody;
  }

  std::string local_;
  sockaddr_un remote_;
  Fd socket_;
  std::vector<uint8_t> buffer_;
};

// ------------------------------------------------------------------------------------------------
// LINK as text
struct Parsed {
  std::string kind;
  std::vector<std::string> fields;
  uint16_t port = 0;
};

Parsed parse(const std::string& link) {
  Parsed p;
  const size_t colon = link.find(':');
  p.kind = link.substr(0, colon);
  std::string rest = colon == std::string::npos ? "" : link.substr(colon + 1);
  const auto bad = [&](const std::string& form) -> LinkError {
    return LinkError("link '" + link + "': expected " + form);
  };
  const auto take_port = [&](const std::string& text, const std::string& form) {
    const char* end = text.data() + text.size();
    const auto r = std::from_chars(text.data(), end, p.port);
    if (text.empty() || r.ec != std::errc{} || r.ptr != end || p.port == 0) throw bad(form);
  };
  const size_t last = rest.rfind(':');
  if (p.kind == "dgram") {
    const std::string form = "dgram:LOCAL:REMOTE";
    if (last == std::string::npos || last == 0 || last + 1 == rest.size()) throw bad(form);
    p.fields = {rest.substr(0, last), rest.substr(last + 1)};
    if (p.fields[0] == p.fields[1]) throw bad(form + ", two paths");
  } else if (p.kind == "stream" || p.kind == "stream-connect") {
    if (rest.empty()) throw bad(p.kind + ":PATH");
    p.fields = {rest};
  } else if (p.kind == "tcp") {
    take_port(rest, "tcp:PORT");
  } else if (p.kind == "tcp-connect") {
    const std::string form = "tcp-connect:HOST:PORT";
    if (last == std::string::npos || last == 0) throw bad(form);
    take_port(rest.substr(last + 1), form);
    p.fields = {rest.substr(0, last)};
  } else if (p.kind == "tap" || p.kind == "packet") {
    if (rest.empty() || rest.size() > 15) throw bad(p.kind + ":NAME of 1 to 15 characters");
    p.fields = {rest};
  } else {
    throw bad(
        "dgram:LOCAL:REMOTE, stream:PATH, stream-connect:PATH, tcp:PORT, tcp-connect:HOST:PORT, "
        "tap:NAME or packet:NAME");
  }
  return p;
}

}  // namespace

std::unique_ptr<EthLink> open_datagram(const std::string& local, const std::string& remote) {
  return std::make_unique<DatagramLink>(local, remote);
}

void check_link(const std::string& link) { (void)parse(link); }

std::unique_ptr<EthLink> open_link(const std::string& link) {
  const Parsed p = parse(link);
  try {
    if (p.kind == "dgram") return open_datagram(p.fields[0], p.fields[1]);
    if (p.kind == "stream") return listen_unix_stream(p.fields[0]);
    if (p.kind == "stream-connect") return connect_unix_stream(p.fields[0]);
    if (p.kind == "tcp") return listen_tcp(p.port);
    if (p.kind == "tcp-connect") return connect_tcp(p.fields[0], p.port);
    if (p.kind == "tap") return open_tap(p.fields[0]);
    return open_packet(p.fields[0]);
  } catch (const LinkError& e) {
    throw LinkError("link '" + link + "': " + e.what());
  }
}

}  // namespace rnic::ethlink
