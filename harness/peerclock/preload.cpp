// SPDX-License-Identifier: Apache-2.0
// Loaded into an emulator (LD_PRELOAD): its monotonic clock, which its machine's timers go by,
// stands from the moment when a frame leaves on its link until the simulator has dealt with it, and
// goes slowly while frames are exchanged. README.md beside this file has the rules.
//
// The link is every UNIX datagram socket of the process. The page is the file that RNIC_PEER_CLOCK
// names.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "harness/peerclock/page.hpp"
#include "harness/peerclock/rate.hpp"

namespace {

using rnic::peerclock::Page;

template <typename F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

int64_t real_ns() {
  static const auto call = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  timespec t{};
  call(CLOCK_MONOTONIC, &t);
  return t.tv_sec * rnic::peerclock::kSecond + t.tv_nsec;
}

// Null when there is none: then everything is as without this library.
Page* map_page() {
  const char* path = std::getenv("RNIC_PEER_CLOCK");
  if (path == nullptr) return nullptr;
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  void* at = fd < 0 ? MAP_FAILED
                    : ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) ::close(fd);
  if (at == MAP_FAILED) {
    std::perror(path);
    return nullptr;
  }
  auto* page = static_cast<Page*>(at);
  page->loaded = 1;
  return page;
}

Page* page() {
  static Page* const p = map_page();
  return p;
}

// How long this thread has waited for a processor, as the kernel counts it; 0 where it does not.
class Waits {
 public:
  ~Waits() {
    if (fd_ >= 0) ::close(fd_);
  }
  // Since the last call.
  int64_t news() {
    const int64_t real = real_ns();
    if (real - read_at_ < kLookNs) return 0;
    read_at_ = real;
    if (fd_ == kUnopened) fd_ = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    char text[64];
    const ssize_t n = fd_ < 0 ? -1 : ::pread(fd_, text, sizeof text - 1, 0);
    if (n <= 0) return 0;
    text[n] = '\0';
    char* second = text;  // "RUN WAITED SLICES", nanoseconds
    std::strtoll(text, &second, 10);
    const int64_t before = std::exchange(waited_, std::strtoll(second, nullptr, 10));
    return before < 0 ? 0 : waited_ - before;
  }

 private:
  static constexpr int64_t kLookNs = 500'000;
  static constexpr int kUnopened = -2;
  int fd_ = kUnopened;
  int64_t read_at_ = 0, waited_ = -1;
};
thread_local Waits waits;

struct Guard {
  explicit Guard(std::atomic_flag& f) : flag(f) {
    while (flag.test_and_set(std::memory_order_acquire)) ::sched_yield();
  }
  ~Guard() { flag.clear(std::memory_order_release); }
  std::atomic_flag& flag;
};

// Whether the simulator that holds the clock still lives: it keeps the page's file locked.
class Holder {
 public:
  // Called as long as the clock stands or not, by whoever sleeps. Lets the clock go when its holder
  // has died; while we have the lock, nobody else can become one.
  void look(Page& p, int64_t real) {
    if (!held(p)) {
      since_ = real;
    } else if (real - since_ >= rnic::peerclock::kSecond) {
      since_ = real;
      const int fd = ::open(std::getenv("RNIC_PEER_CLOCK"), O_RDWR | O_CLOEXEC);
      if (fd < 0) return;
      if (::flock(fd, LOCK_EX | LOCK_NB) == 0) p.attached = 0;
      ::close(fd);
    }
  }

 private:
  int64_t since_ = 0;
};

// The process's clock. Many threads ask for it.
class Clock {
 public:
  int64_t now() {
    const int64_t waited = waits.news();
    const Guard guard(lock_);
    return clock_.advance(*page(), real_ns(), waited);
  }
  void note_frame() {
    const int64_t waited = waits.news();
    const Guard guard(lock_);
    clock_.frame_at(clock_.advance(*page(), real_ns(), waited));
  }
  void look_for_holder() {
    const Guard guard(lock_);
    holder_.look(*page(), real_ns());
  }
  bool busy() {
    const Guard guard(lock_);
    return clock_.busy(*page());
  }

 private:
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  rnic::peerclock::Rate clock_;
  Holder holder_;
};
constinit Clock clock_of_process;

bool is_link(int fd) {
  if (page() == nullptr) return false;
  int domain = 0, type = 0;
  socklen_t n = sizeof domain, m = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX &&
         ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &m) == 0 && type == SOCK_DGRAM;
}

// Sends on the link: the clock stands before the frame can be seen.
template <typename Send>
ssize_t send_frame(Send send) {
  Page& p = *page();
  clock_of_process.note_frame();
  ++p.sending;
  const ssize_t n = send();
  if (n >= 0) ++p.sent;
  --p.sending;
  return n;
}

ssize_t frame_taken(ssize_t n) {
  if (n < 0) return n;
  clock_of_process.note_frame();
  ++page()->taken;
  return n;
}

}  // namespace

#define PUBLIC extern "C" __attribute__((visibility("default")))

PUBLIC int clock_gettime(clockid_t id, timespec* t) noexcept {
  static const auto call = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  if (id != CLOCK_MONOTONIC || page() == nullptr) return call(id, t);
  const int64_t now = clock_of_process.now();
  t->tv_sec = now / rnic::peerclock::kSecond;
  t->tv_nsec = now % rnic::peerclock::kSecond;
  return 0;
}

// Time-outs are times of the held clock. Whoever sleeps wakes often enough to see it go on.
PUBLIC int ppoll(pollfd* fds, nfds_t n, const timespec* limit, const sigset_t* mask) {
  static const auto call =
      next<int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*)>("ppoll");
  if (page() == nullptr || page()->attached.load() == 0) return call(fds, n, limit, mask);
  (void)clock_of_process.now();
  clock_of_process.look_for_holder();
  int64_t ns =
      limit == nullptr ? INT64_MAX : limit->tv_sec * rnic::peerclock::kSecond + limit->tv_nsec;
  ns = rnic::peerclock::sleep_of(ns, held(*page()), clock_of_process.busy());
  const timespec t{ns / rnic::peerclock::kSecond, ns % rnic::peerclock::kSecond};
  return call(fds, n, &t, mask);
}

PUBLIC ssize_t send(int fd, const void* data, size_t size, int flags) {
  static const auto call = next<ssize_t (*)(int, const void*, size_t, int)>("send");
  const auto go = [&] { return call(fd, data, size, flags); };
  return is_link(fd) ? send_frame(go) : go();
}

PUBLIC ssize_t sendto(int fd, const void* data, size_t size, int flags, const sockaddr* to,
                      socklen_t length) {
  static const auto call =
      next<ssize_t (*)(int, const void*, size_t, int, const sockaddr*, socklen_t)>("sendto");
  const auto go = [&] { return call(fd, data, size, flags, to, length); };
  return is_link(fd) ? send_frame(go) : go();
}

PUBLIC ssize_t recv(int fd, void* data, size_t size, int flags) {
  static const auto call = next<ssize_t (*)(int, void*, size_t, int)>("recv");
  const ssize_t n = call(fd, data, size, flags);
  return n >= 0 && is_link(fd) ? frame_taken(n) : n;
}
