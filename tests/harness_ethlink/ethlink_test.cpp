// SPDX-License-Identifier: Apache-2.0
#include "harness/ethlink/ethlink.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.hpp"

using namespace rnic::ethlink;

namespace {

using Bytes = std::vector<uint8_t>;

// A folder for sockets that goes with the test.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/ethlinkXXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A socket of the other side, written without the library.
class Peer {
 public:
  Peer(int domain, int type) : fd_(::socket(domain, type, 0)) {
    REQUIRE(fd_ >= 0);
    const timeval limit{5, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  explicit Peer(int fd) : fd_(fd) { REQUIRE(fd_ >= 0); }
  Peer(Peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Peer() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }
  void bind_unix(const std::string& path) { REQUIRE(::bind(fd_, address(path), sizeof a_) == 0); }
  void connect_unix(const std::string& path) {
    REQUIRE(::connect(fd_, address(path), sizeof a_) == 0);
  }
  void write(const Bytes& bytes) {
    REQUIRE(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  Bytes read(size_t bytes) {
    Bytes out(bytes);
    size_t got = 0;
    while (got < bytes) {
      const ssize_t n = ::recv(fd_, out.data() + got, bytes - got, 0);
      if (n <= 0) break;
      got += static_cast<size_t>(n);
    }
    out.resize(got);
    return out;
  }

 private:
  const sockaddr* address(const std::string& path) {
    a_ = {};
    a_.sun_family = AF_UNIX;
    std::strcpy(a_.sun_path, path.c_str());
    return reinterpret_cast<const sockaddr*>(&a_);
  }
  int fd_;
  sockaddr_un a_{};
};

Bytes pattern(size_t bytes, uint8_t seed = 1) {
  Bytes b(bytes);
  for (size_t i = 0; i < bytes; ++i) b[i] = static_cast<uint8_t>(i * 7 + (i >> 8) + seed);
  return b;
}

Bytes with_length(const Bytes& frame) {
  const auto n = static_cast<uint32_t>(frame.size());
  Bytes b = {static_cast<uint8_t>(n >> 24), static_cast<uint8_t>(n >> 16),
             static_cast<uint8_t>(n >> 8), static_cast<uint8_t>(n)};
  b.insert(b.end(), frame.begin(), frame.end());
  return b;
}

// The next frame, waiting a little for it.
bool wait_frame(EthLink& link, Bytes& frame, int limit_ms = 2'000) {
  for (int i = 0; i < limit_ms; ++i) {
    if (link.receive(frame)) return true;
    pollfd p{link.fd(), POLLIN, 0};
    ::poll(&p, 1, 1);
  }
  return false;
}

const size_t kSizes[] = {1, 14, 42, 58, 59, 60, 61, 1514, 4200, 9018, 65'535, 65'536};

}  // namespace

TEST_CASE("datagram link: every size goes both ways, whole") {
  const Folder folder;
  auto link = open_link("dgram:" + (folder / "a") + ":" + (folder / "b"));
  Peer peer(AF_UNIX, SOCK_DGRAM);
  peer.bind_unix(folder / "b");
  peer.connect_unix(folder / "a");
  for (const size_t size : kSizes) {
    const Bytes out = pattern(size);
    peer.write(out);
    Bytes in;
    REQUIRE(wait_frame(*link, in));
    CHECK(in == out);
    link->send(out);
    Bytes got(kMaxFrame + 1);
    const ssize_t n = ::recv(peer.fd(), got.data(), got.size(), 0);
    REQUIRE(n == static_cast<ssize_t>(size));
    got.resize(size);
    CHECK(got == out);
  }
  Bytes none;
  CHECK_FALSE(link->receive(none));
  CHECK(link->stats().received == std::size(kSizes));
  CHECK(link->stats().sent == std::size(kSizes));
}

TEST_CASE("datagram link: oversize and empty datagrams are skipped and counted") {
  const Folder folder;
  auto link = open_link("dgram:" + (folder / "a") + ":" + (folder / "b"));
  Peer peer(AF_UNIX, SOCK_DGRAM);
  peer.connect_unix(folder / "a");
  peer.write(pattern(kMaxFrame + 1));
  peer.write(Bytes{});
  peer.write(pattern(60));
  Bytes in;
  REQUIRE(wait_frame(*link, in));
  CHECK(in == pattern(60));
  CHECK(link->stats().oversize == 1);
  CHECK(link->stats().empty == 1);
  link->send(pattern(kMaxFrame + 1));
  CHECK(link->stats().oversize == 2);
}

TEST_CASE("datagram link: without a peer frames are dropped; it may come later and go again") {
  const Folder folder;
  auto link = open_link("dgram:" + (folder / "a") + ":" + (folder / "b"));
  link->send(pattern(60));
  CHECK(link->stats().dropped == 1);
  {
    Peer peer(AF_UNIX, SOCK_DGRAM);
    peer.bind_unix(folder / "b");
    link->send(pattern(61));
    CHECK(peer.read(61) == pattern(61));
  }
  link->send(pattern(62));
  CHECK(link->stats().dropped == 2);
  CHECK(link->stats().sent == 1);
}

TEST_CASE("datagram link: a peer that does not read loses nothing") {
  const Folder folder;
  auto link = open_link("dgram:" + (folder / "a") + ":" + (folder / "b"));
  Peer peer(AF_UNIX, SOCK_DGRAM);
  peer.bind_unix(folder / "b");
  constexpr size_t kFrames = 3'000;
  for (size_t i = 0; i < kFrames; ++i) link->send(pattern(100 + i % 7, static_cast<uint8_t>(i)));
  CHECK(link->backlog() > 0);
  for (size_t i = 0; i < kFrames; ++i) {
    link->flush();
    Bytes got(200);
    const ssize_t n = ::recv(peer.fd(), got.data(), got.size(), 0);
    REQUIRE(n > 0);
    got.resize(static_cast<size_t>(n));
    REQUIRE(got == pattern(100 + i % 7, static_cast<uint8_t>(i)));
  }
  CHECK(link->backlog() == 0);
  CHECK(link->stats().dropped == 0);
}

TEST_CASE("stream link: frames in one piece, in single bytes, and several at once") {
  const Folder folder;
  auto link = open_link("stream:" + (folder / "s"));
  CHECK_FALSE(link->up());
  Peer peer(AF_UNIX, SOCK_STREAM);
  peer.connect_unix(folder / "s");
  Bytes in;
  for (const size_t size : kSizes) {
    peer.write(with_length(pattern(size)));
    REQUIRE(wait_frame(*link, in));
    CHECK(in == pattern(size));
    link->send(pattern(size, 9));
    link->flush();
    Bytes want = with_length(pattern(size, 9));
    CHECK(peer.read(want.size()) == want);
  }
  CHECK(link->up());

  for (const uint8_t b : with_length(pattern(61))) {
    CHECK_FALSE(link->receive(in));
    peer.write({b});
  }
  REQUIRE(wait_frame(*link, in));
  CHECK(in == pattern(61));

  Bytes many;
  for (uint8_t i = 0; i < 5; ++i) {
    const Bytes one = with_length(pattern(50 + i, i));
    many.insert(many.end(), one.begin(), one.end());
  }
  many.insert(many.end(), {0, 0, 0, 0});  // a frame of no bytes
  many.pop_back();
  peer.write(many);
  for (uint8_t i = 0; i < 5; ++i) {
    REQUIRE(wait_frame(*link, in));
    CHECK(in == pattern(50 + i, i));
  }
  peer.write({0});
  peer.write(with_length(pattern(60)));
  REQUIRE(wait_frame(*link, in));
  CHECK(in == pattern(60));
  CHECK(link->stats().empty == 1);
}

TEST_CASE("stream link: a peer that does not read loses nothing") {
  const Folder folder;
  auto link = open_link("stream:" + (folder / "s"));
  Peer peer(AF_UNIX, SOCK_STREAM);
  peer.connect_unix(folder / "s");
  constexpr size_t kFrames = 2'000;
  for (size_t i = 0; i < kFrames; ++i) link->send(pattern(1'000 + i, static_cast<uint8_t>(i)));
  CHECK(link->backlog() > 0);
  for (size_t i = 0; i < kFrames; ++i) {
    const Bytes want = with_length(pattern(1'000 + i, static_cast<uint8_t>(i)));
    Bytes got;
    ::fcntl(peer.fd(), F_SETFL, O_NONBLOCK);
    for (int tries = 0; got.size() < want.size() && tries < 1'000; ++tries) {
      link->flush();
      const Bytes more = peer.read(want.size() - got.size());
      got.insert(got.end(), more.begin(), more.end());
    }
    REQUIRE((got == want));
  }
  CHECK(link->backlog() == 0);
  CHECK(link->stats().dropped == 0);
}

TEST_CASE("stream link: a peer that dies in mid-frame; the next one starts afresh") {
  const Folder folder;
  auto link = open_link("stream:" + (folder / "s"));
  Bytes in;
  {
    Peer peer(AF_UNIX, SOCK_STREAM);
    peer.connect_unix(folder / "s");
    peer.write(with_length(pattern(60)));
    REQUIRE(wait_frame(*link, in));
    const Bytes whole = with_length(pattern(1'000));
    peer.write(Bytes(whole.begin(), whole.begin() + 500));
    CHECK_FALSE(link->receive(in));
  }
  CHECK_FALSE(link->receive(in));
  CHECK_FALSE(link->up());
  CHECK(link->stats().disconnects == 1);
  link->send(pattern(60));
  CHECK(link->stats().dropped == 1);
  Peer next(AF_UNIX, SOCK_STREAM);
  next.connect_unix(folder / "s");
  next.write(with_length(pattern(77)));
  REQUIRE(wait_frame(*link, in));
  CHECK(in == pattern(77));
  CHECK(link->stats().connects == 2);
}

TEST_CASE("stream link: a peer that dies while frames wait for it does not kill us") {
  const Folder folder;
  auto link = open_link("stream:" + (folder / "s"));
  {
    Peer peer(AF_UNIX, SOCK_STREAM);
    peer.connect_unix(folder / "s");
    for (int i = 0; i < 500; ++i) link->send(pattern(4'000));
    CHECK(link->backlog() > 0);
  }
  link->flush();
  CHECK(link->backlog() == 0);
  CHECK_FALSE(link->up());
  CHECK(link->stats().sent + link->stats().dropped == 500);
}

TEST_CASE("stream link: a length that no frame has ends the connection") {
  const Folder folder;
  auto link = open_link("stream:" + (folder / "s"));
  Peer peer(AF_UNIX, SOCK_STREAM);
  peer.connect_unix(folder / "s");
  peer.write({0x00, 0x01, 0x00, 0x01, 1, 2, 3});
  Bytes in;
  CHECK_FALSE(wait_frame(*link, in, 50));
  CHECK(link->stats().oversize == 1);
  CHECK_FALSE(link->up());
  CHECK(peer.read(1).empty());  // the end of the stream
}

TEST_CASE("stream link: connects to a listener, and stays down when that one goes") {
  const Folder folder;
  Peer listener(AF_UNIX, SOCK_STREAM);
  listener.bind_unix(folder / "s");
  REQUIRE(::listen(listener.fd(), 1) == 0);
  auto link = open_link("stream-connect:" + (folder / "s"));
  Peer peer(::accept(listener.fd(), nullptr, nullptr));
  link->send(pattern(60));
  CHECK(peer.read(64) == with_length(pattern(60)));
  peer.close();
  Bytes in;
  CHECK_FALSE(wait_frame(*link, in, 20));
  CHECK_FALSE(link->up());
  CHECK(link->lost());
  CHECK(link->fd() == -1);
}

TEST_CASE("TCP link: listens on loopback, connects, same framing") {
  constexpr const char* kPort = "29173";
  auto server = open_link(std::string("tcp:") + kPort);
  auto client = open_link(std::string("tcp-connect:127.0.0.1:") + kPort);
  Bytes in;
  for (const size_t size : kSizes) {
    client->send(pattern(size));
    for (int i = 0; i < 100 && client->backlog() > 0; ++i) client->flush();
    REQUIRE(wait_frame(*server, in));
    CHECK(in == pattern(size));
    server->send(pattern(size, 3));
    REQUIRE(wait_frame(*client, in));
    CHECK(in == pattern(size, 3));
  }
}

TEST_CASE("TAP link: frames out of the kernel and into it") {
  std::unique_ptr<EthLink> tap, packet;
  try {
    tap = open_link("tap:rnictest0");
    packet = open_link("packet:rnictest0");
  } catch (const LinkError& e) {
    WARN("no TAP here: " << e.what());
    return;
  }
  CHECK(tap->fd() >= 0);
  CHECK(packet->fd() >= 0);
}

TEST_CASE("a socket's path: only what a killed program has left is removed") {
  const Folder folder;
  const bool datagrams = GENERATE(true, false);
  const std::string a = folder / "a";
  const std::string link = datagrams ? "dgram:" + a + ":" + (folder / "b") : "stream:" + a;
  SECTION("a file stays") {
    std::ofstream(a) << "precious";
    CHECK_THROWS_WITH(open_link(link), rnic::test::contains_text("no socket"));
    CHECK(std::filesystem::file_size(a) == 8);
  }
  SECTION("so does a socket that somebody is bound to") {
    const auto first = open_link(link);
    CHECK_THROWS_WITH(open_link(link), rnic::test::contains_text("another program"));
    CHECK(std::filesystem::exists(a));
  }
  SECTION("one that was left behind is taken") {
    {
      Peer gone(AF_UNIX, datagrams ? SOCK_DGRAM : SOCK_STREAM);
      gone.bind_unix(a);
    }
    REQUIRE(std::filesystem::exists(a));
    CHECK_NOTHROW(open_link(link));
  }
}

TEST_CASE("a LINK that is none is refused with what was expected") {
  for (const char* bad : {"", "dgram", "dgram:", "dgram:a", "dgram:a:", "dgram::b",
                          "stream:", "tcp:", "tcp:0", "tcp:65536", "tcp:12x", "tcp-connect:host",
                          "tcp-connect::80", "tap:", "tap:0123456789abcdef", "udp:1:2"}) {
    INFO(bad);
    CHECK_THROWS_AS(check_link(bad), LinkError);
    CHECK_THROWS_AS(open_link(bad), LinkError);
  }
  CHECK_THROWS_WITH(open_link("stream-connect:/nowhere/at/all"),
                    rnic::test::contains_text("/nowhere/at/all"));
  CHECK_THROWS_WITH(open_link("packet:nosuchdev"), rnic::test::contains_text("nosuchdev"));
  CHECK_THROWS_AS(open_link("dgram:" + std::string(200, 'a') + ":b"), LinkError);
  CHECK_THROWS_WITH(check_link("dgram:/a:/a"), rnic::test::contains_text("two paths"));
}
