// SPDX-License-Identifier: Apache-2.0
#include "sim/live/qmp.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>

namespace rnic::sim {

namespace {
constexpr int kLimitMs = 10'000;
}

Qmp::Qmp(const std::string& path) : path_(path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (path.size() >= sizeof a.sun_path) throw QmpError(path + ": the path is too long");
  std::memcpy(a.sun_path, path.data(), path.size());
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0 || ::connect(fd_, reinterpret_cast<const sockaddr*>(&a), sizeof a) < 0) {
    const std::string why = std::strerror(errno);
    if (fd_ >= 0) ::close(fd_);
    throw QmpError(path + ": " + why);
  }
  try {
    const auto greeting = nlohmann::json::parse(line(), nullptr, false);
    if (!greeting.is_object() || !greeting.contains("QMP")) throw QmpError(path + ": no greeting");
    execute("qmp_capabilities");
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

Qmp::~Qmp() {
  try {
    go_on();  // nobody else would
  } catch (const QmpError&) {
    // It has gone.
  }
  ::close(fd_);
}

std::string Qmp::line() {
  for (;;) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string l = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return l;
    }
    pollfd p{fd_, POLLIN, 0};
    if (::poll(&p, 1, kLimitMs) <= 0) throw QmpError(path_ + ": no answer");
    char bytes[4096];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
    if (n <= 0) throw QmpError(path_ + ": the connection has ended");
    buffer_.append(bytes, static_cast<size_t>(n));
  }
}

void Qmp::execute(const std::string& command) {
  const std::string text = nlohmann::json{{"execute", command}}.dump() + "\n";
  if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    throw QmpError(path_ + ": " + command + " could not be sent");
  for (;;) {
    const auto answer = nlohmann::json::parse(line(), nullptr, false);
    if (!answer.is_object()) throw QmpError(path_ + ": an answer is not JSON");
    if (answer.contains("return")) return;
    if (answer.contains("error"))
      throw QmpError(path_ + ": " + command + ": " + answer["error"].dump());
    // Anything else is an event.
  }
}

void Qmp::stop() {
  if (stopped_) return;
  execute("stop");
  stopped_ = true;
  ++stops_;
}

void Qmp::go_on() {
  if (!stopped_) return;
  execute("cont");
  stopped_ = false;
}

}  // namespace rnic::sim
