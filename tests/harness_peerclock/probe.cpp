// SPDX-License-Identifier: Apache-2.0
// Stands for an emulator: obeys words on standard input and says the clock's nanoseconds after
// each.
//   time           says it
//   send           one frame to the socket argv[2]
//   recv           takes one frame from its own socket argv[1]
//   sleep NS       a poll of so many nanoseconds on no descriptor
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cstring>
#include <iostream>
#include <string>

namespace {
sockaddr_un address(const char* path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::strncpy(a.sun_path, path, sizeof a.sun_path - 1);
  return a;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  const sockaddr_un mine = address(argv[1]), theirs = address(argv[2]);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&mine), sizeof mine) < 0) return 2;
  std::string word;
  while (std::cin >> word) {
    char byte = 0;
    if (word == "send")
      ::sendto(fd, "frame", 5, 0, reinterpret_cast<const sockaddr*>(&theirs), sizeof theirs);
    if (word == "recv") ::recv(fd, &byte, 1, 0);
    if (word == "sleep") {
      long long ns = 0;
      std::cin >> ns;
      const timespec t{static_cast<time_t>(ns / 1'000'000'000),
                       static_cast<long>(ns % 1'000'000'000)};
      ::ppoll(nullptr, 0, &t, nullptr);
    }
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    std::cout << t.tv_sec * 1'000'000'000LL + t.tv_nsec << std::endl;
  }
  return 0;
}
