// SPDX-License-Identifier: Apache-2.0
#include "harness/peerclock/peer_clock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace rnic::peerclock {
namespace {

int open_page(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw ClockError(path + ": " + std::strerror(errno));
  return fd;
}

// Null when the file is none.
Page* map_page(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size != static_cast<off_t>(kPageBytes)) return nullptr;
  void* at = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<Page*>(at);
}

// False when another simulator has it. An emulator may try it for a moment.
bool lock_page(int fd) {
  using namespace std::chrono_literals;
  for (int i = 0; i < 500; ++i) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

}  // namespace

PeerClock::PeerClock(const std::string& path) : path_(path), fd_(open_page(path)) {
  using namespace std::chrono_literals;
  page_ = map_page(fd_);
  if (page_ == nullptr || !lock_page(fd_)) {
    const char* why =
        page_ == nullptr ? "is no page of a held clock" : "another simulator holds it";
    close();
    throw ClockError(path_ + ": " + why);
  }
  const auto end = std::chrono::steady_clock::now() + 10s;
  // A frame that is just leaving has nobody to go to: it will not count.
  while (page_->loaded == 0 || page_->sending != 0) {
    if (std::chrono::steady_clock::now() > end) {
      const std::string why =
          page_->loaded == 0 ? "no emulator has loaded it" : "it does not answer";
      close();
      throw ClockError(path_ + ": " + why);
    }
    std::this_thread::sleep_for(1ms);
  }
  first_sent_ = page_->sent;
  first_given_ = page_->taken;
  page_->done = first_sent_;
  page_->given = first_given_;
  page_->attached = 1;
}

PeerClock::~PeerClock() {
  page_->attached = 0;
  close();
}

void PeerClock::close() {
  if (page_ != nullptr) ::munmap(page_, sizeof(Page));
  ::close(fd_);
}

void PeerClock::release() {
  if (released_ == received_) return;
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  page_->released_ns = t.tv_sec * 1'000'000'000 + t.tv_nsec;
  released_ = received_;
  page_->done = first_sent_ + released_;
  ++stops_;
}

bool PeerClock::untold() const { return received_ != 0 && page_->sent == first_sent_; }

}  // namespace rnic::peerclock
