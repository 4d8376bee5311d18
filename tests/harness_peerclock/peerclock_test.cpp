// SPDX-License-Identifier: Apache-2.0
// The held clock: its rule alone, and in a program that stands for an emulator.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/peerclock/peer_clock.hpp"
#include "harness/peerclock/rate.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::peerclock;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

// ------------------------------------------------------------------------------------------------
// the rule
constexpr int64_t kStart = 1000 * kSecond;

TEST_CASE("without a simulator the clock is the real one") {
  Page p{};
  Rate r;
  p.sent = 5;  // nobody deals with them
  for (const int64_t t : {int64_t{0}, kMs, 3 * kSecond, 4 * kSecond})
    CHECK(r.advance(p, kStart + t) == kStart + t);
  CHECK(p.now_ns == kStart + 4 * kSecond);
}

TEST_CASE("the clock stands from a frame's departure until it is dealt with") {
  Page p{};
  Rate r;
  p.attached = 1;
  int64_t real = kStart;
  r.advance(p, real);
  r.frame_at(r.advance(p, real += kSecond));
  const int64_t left = r.advance(p, real);
  SECTION("while it is leaving") { p.sending = 1; }
  SECTION("when it has left") { p.sent = 1; }
  SECTION("counts wrap around") {
    p.done = 0xFFFFFFFF;
    p.sent = 0;
  }
  CHECK(r.advance(p, real += kSecond) == left);
  CHECK(r.advance(p, real += 3600 * kSecond) == left);
  // Dealt with while nobody looked: only the time since then counts.
  real += kSecond;
  p.sending = 0;
  p.released_ns = real - 8000;
  p.done = p.sent.load();
  CHECK(r.advance(p, real) == left + 8000 / kSlow);
}

TEST_CASE("the clock is slow while frames are exchanged, whoever looks how often") {
  Page p{};
  Rate r;
  p.attached = 1;
  int64_t real = kStart;
  r.frame_at(r.advance(p, real));
  SECTION("often: no nanosecond is lost") {
    for (int i = 0; i < 8 * 1000; ++i) r.advance(p, ++real);
    CHECK(r.advance(p, real) == kStart + 1000);
  }
  SECTION("seldom: a process without a processor is not seen by its own time-outs") {
    for (int i = 0; i < 10; ++i) r.advance(p, real += kSecond);
    CHECK(r.advance(p, real) == kStart + 10 * kStretchNs / kSlow);
  }
  SECTION("afterwards it is the real one again") {
    while (r.advance(p, real += kMs) < kStart + kBusyNs) {
    }
    CHECK(real == kStart + kSlow * kBusyNs);
    const int64_t then = r.advance(p, real);
    CHECK(r.advance(p, real += kSecond) == then + kSecond);
    // A frame waits for the emulator.
    p.given = 1;
    CHECK(r.advance(p, real += kMs) == then + kSecond + kMs / kSlow);
    p.taken = 1;
    CHECK(r.advance(p, real += kMs) == then + kSecond + kMs / kSlow + kMs);
  }
}

TEST_CASE("time in which the emulator waits for a processor does not count while frames go") {
  Page p{};
  Rate r;
  p.attached = 1;
  int64_t real = kStart;
  r.frame_at(r.advance(p, real));
  SECTION("a wait that ends as one looks") {
    CHECK(r.advance(p, real += 8 * kMs, 7 * kMs) == kStart + kMs / kSlow);
  }
  SECTION("a wait that has counted already, since another thread looked") {
    for (int i = 0; i < 8; ++i) r.advance(p, real += kMs);
    CHECK(r.advance(p, real, 8 * kMs) == kStart + kMs);
    CHECK(r.advance(p, real += 8 * kMs) == kStart + kMs + kMs / kSlow);
    CHECK(r.advance(p, real += 8 * kMs) == kStart + 2 * kMs);
  }
  SECTION("not more than so much of it is made good") {
    CHECK(r.advance(p, real, 3600 * kSecond) == kStart);
    CHECK(r.advance(p, real += kMaxDebtNs) == kStart + kMaxDebtNs / kSlow / kSlow);
    CHECK(r.advance(p, real += 8 * kMs) == kStart + kMs);
  }
  SECTION("the clock goes on, however long two threads wait") {
    while (r.advance(p, real += kMs, 2 * kMs) < kStart + kBusyNs)
      REQUIRE(real < kStart + 60 * kSecond);
    CHECK(real == kStart + kSlow * kSlow * kBusyNs);
  }
  SECTION("what was waited while the clock stood, or was the real one, is of no account") {
    p.sending = 1;
    r.advance(p, real += kSecond, 40 * kMs);
    p.sending = 0;
    p.released_ns = real;
    CHECK(r.advance(p, real += 8 * kMs) == kStart + kMs);
    p.attached = 0;
    r.advance(p, real += kSecond, 40 * kMs);
    p.attached = 1;
    const int64_t now = r.advance(p, real);
    r.frame_at(now);
    CHECK(r.advance(p, real += 8 * kMs) == now + kMs);
  }
}

TEST_CASE("sleeps end soon enough to see the clock go on, and are stretched with it") {
  CHECK(sleep_of(1, true, true) == kHeldNapNs);
  CHECK(sleep_of(INT64_MAX, true, false) == kHeldNapNs);
  CHECK(sleep_of(100, false, false) == 100);
  CHECK(sleep_of(100, false, true) == 100 * kSlow);
  CHECK(sleep_of(kNapNs, false, true) == kNapNs);
  CHECK(sleep_of(INT64_MAX, false, true) == kNapNs);
  CHECK(sleep_of(0, false, true) == 0);
}

// ------------------------------------------------------------------------------------------------
// in a process
class Probe {
 public:
  Probe() {
    char name[] = "/tmp/rnic-clock-XXXXXX";
    folder_ = ::mkdtemp(name);
    std::ofstream(page()) << std::string(4096, '\0');
    int in[2], out[2];
    REQUIRE(::pipe(in) == 0);
    REQUIRE(::pipe(out) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::close(in[1]);
      ::close(out[0]);
      ::setenv("LD_PRELOAD", RNIC_PRELOAD, 1);
      ::setenv("RNIC_PEER_CLOCK", page().c_str(), 1);
      ::execl(RNIC_PROBE, RNIC_PROBE, (folder_ / "there").c_str(), (folder_ / "here").c_str(),
              nullptr);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
  }
  ~Probe() {
    std::fclose(to_);
    std::fclose(from_);
    ::waitpid(child_, nullptr, 0);
    if (socket_ >= 0) ::close(socket_);
    fs::remove_all(folder_);
  }
  // The link's end here.
  void bind() {
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    const sockaddr_un a = address("here");
    REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0);
  }
  void give() {
    const sockaddr_un a = address("there");
    REQUIRE(::sendto(socket_, "x", 1, 0, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 1);
  }
  std::string page() const { return (folder_ / "clock").string(); }
  int64_t say(const std::string& words) {
    std::fprintf(to_, "%s\n", words.c_str());
    std::fflush(to_);
    char line[64] = "";
    REQUIRE(std::fgets(line, sizeof line, from_) != nullptr);
    return std::strtoll(line, nullptr, 10);
  }

 private:
  sockaddr_un address(const char* name) const {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::strncpy(a.sun_path, (folder_ / name).c_str(), sizeof a.sun_path - 1);
    return a;
  }
  fs::path folder_;
  pid_t child_ = 0;
  FILE *to_ = nullptr, *from_ = nullptr;
  int socket_ = -1;
};

TEST_CASE("a program's clock stands when its frame leaves, until the simulator lets it go on") {
  Probe probe;
  const int64_t before = probe.say("time");
  std::this_thread::sleep_for(20ms);
  CHECK(probe.say("time") - before >= 20 * kMs);
  PeerClock clock(probe.page());
  probe.bind();
  const int64_t left = probe.say("send");
  std::this_thread::sleep_for(50ms);
  CHECK(probe.say("time") == left);
  CHECK(probe.say("sleep 1000") == left);
  CHECK(probe.say("send") == left);  // more of them
  clock.received();
  clock.release();
  CHECK(clock.stops() == 1);
  std::this_thread::sleep_for(50ms);
  CHECK(probe.say("time") == left);  // the second one
  clock.received();
  clock.release();
  std::this_thread::sleep_for(50ms);
  const int64_t after = probe.say("time");
  CHECK(after > left);
  CHECK(after - left <= kStretchNs / kSlow);
  CHECK(clock.seconds() * 1e9 >= static_cast<double>(left));
  CHECK_FALSE(clock.untold());
  // What is on its way to it slows it down, far beyond the usual.
  probe.give();
  clock.given(1);
  std::this_thread::sleep_for(5ms);
  CHECK(probe.say("recv") - after <= 2 * kStretchNs / kSlow);
}

TEST_CASE("a frame to nobody does not stop the clock; a simulator that has gone does not hold it") {
  Probe probe;
  probe.say("send");
  {
    PeerClock clock(probe.page());
    const int64_t a = probe.say("send");  // nobody listens yet
    std::this_thread::sleep_for(40ms);
    CHECK(probe.say("time") > a);
    probe.bind();
    const int64_t left = probe.say("send");
    std::this_thread::sleep_for(10ms);
    CHECK(probe.say("time") == left);
    clock.received();
    CHECK_FALSE(clock.untold());
  }
  const int64_t a = probe.say("time");
  std::this_thread::sleep_for(20ms);
  CHECK(probe.say("time") - a >= 20 * kMs);
  // The next simulator begins anew.
  PeerClock clock(probe.page());
  const int64_t b = probe.say("time");
  std::this_thread::sleep_for(20ms);
  CHECK(probe.say("time") > b);
}

TEST_CASE("a simulator that is killed while the clock stands lets it go") {
  Probe probe;
  probe.bind();
  probe.say("time");  // it has loaded the page
  const pid_t simulator = ::fork();
  if (simulator == 0) {
    const PeerClock clock(probe.page());
    for (;;) ::pause();
  }
  // Attached: its frame stops the clock.
  int64_t left = probe.say("send");
  for (int i = 0; i < 1000 && probe.say("time") != left; ++i) {
    std::this_thread::sleep_for(5ms);
    left = probe.say("send");
  }
  // As long as it lives, however long that takes.
  const auto sleep_for = [&](auto time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) probe.say("sleep 1000000");
  };
  sleep_for(2500ms);
  CHECK(probe.say("time") == left);
  {
    std::string why;
    try {
      PeerClock second(probe.page());
    } catch (const ClockError& e) {
      why = e.what();
    }
    CHECK(why == probe.page() + ": another simulator holds it");
  }
  REQUIRE(::kill(simulator, SIGKILL) == 0);
  REQUIRE(::waitpid(simulator, nullptr, 0) == simulator);
  sleep_for(2500ms);
  const int64_t after = probe.say("time");
  CHECK(after > left);
  std::this_thread::sleep_for(20ms);
  CHECK(probe.say("time") - after >= 20 * kMs);
  PeerClock next(probe.page());
  CHECK(probe.say("send") > after);
}

TEST_CASE("a page that nobody has loaded, or that is none, is refused") {
  const auto refused = [](const std::string& path) {
    try {
      PeerClock clock(path);
    } catch (const ClockError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused("/nowhere/clock").find("/nowhere/clock: No such file") == 0);
  char name[] = "/tmp/rnic-page-XXXXXX";
  const int fd = ::mkstemp(name);
  CHECK(refused(name) == std::string(name) + ": is no page of a held clock");
  REQUIRE(::ftruncate(fd, 4097) == 0);
  CHECK(refused(name) == std::string(name) + ": is no page of a held clock");
  REQUIRE(::ftruncate(fd, 4096) == 0);
  CHECK(refused(name) == std::string(name) + ": no emulator has loaded it");
  ::close(fd);
  ::unlink(name);
}

}  // namespace
