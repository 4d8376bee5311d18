// SPDX-License-Identifier: Apache-2.0
// An Ethernet link to the outside: whole frames without FCS over a socket or a device, with the
// framings that emulators, TAP and AF_PACKET use. Never blocks.
//
//   auto link = open_link("dgram:/tmp/nic:/tmp/guest");        // throws LinkError
//   poll(link->fd()...);
//   std::vector<uint8_t> frame;
//   while (link->receive(frame)) use(frame);
//   link->send(frame);                                         // kept until the other side takes
//   it link->flush();                                             // again, while backlog() is not
//   0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace rnic::ethlink {

class LinkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The longest frame that goes in or out, and the most that waits for a side that does not read.
inline constexpr size_t kMaxFrame = 65'536;
inline constexpr size_t kMaxBacklog = 64u << 20;

struct Stats {
  uint64_t received = 0, sent = 0;  // frames
  uint64_t dropped = 0;             // outgoing: nobody there, or the backlog is full
  uint64_t oversize = 0;            // longer than kMaxFrame, either way
  uint64_t empty = 0;               // incoming of no bytes
  uint64_t connects = 0;            // of a stream
  uint64_t disconnects = 0;
};

class EthLink {
 public:
  virtual ~EthLink() = default;
  EthLink() = default;
  EthLink(const EthLink&) = delete;
  EthLink& operator=(const EthLink&) = delete;

  // Readable when receive() may have something (or somebody wants to connect); -1: nothing will
  // come. Changes when a stream's peer comes or goes.
  virtual int fd() const = 0;
  // Whether there is another side; always true where that cannot be told.
  virtual bool up() const = 0;
  // Nothing will ever come or go again: whom we had connected to has gone, or the device has.
  virtual bool lost() const { return false; }
  // The next frame, or false when there is none now.
  virtual bool receive(std::vector<uint8_t>& frame) = 0;
  // Takes the frame; what the other side does not read at once is kept in order.
  void send(std::span<const uint8_t> frame);
  // Sends what was kept, as far as possible.
  void flush();
  // Frames, one that has begun to go included.
  size_t backlog() const { return queue_.size() + (begun() ? 1 : 0); }
  const Stats& stats() const { return stats_; }

 protected:
  enum class Sent { kYes, kNotNow, kNobody };
  // Tries to put one frame on its way. After kNotNow the same frame is offered again.
  virtual Sent try_send(std::span<const uint8_t> frame) = 0;
  // A frame that was taken has gone in part only; go_on() sends more of it.
  virtual bool begun() const { return false; }
  virtual void go_on() {}
  void drop_backlog();
  Stats stats_;

 private:
  std::deque<std::vector<uint8_t>> queue_;
  size_t queued_bytes_ = 0;
};

// LINK of README.md. Throws LinkError naming the link and the reason.
std::unique_ptr<EthLink> open_link(const std::string& link);
// Throws LinkError when the text is no LINK; opens nothing.
void check_link(const std::string& link);

}  // namespace rnic::ethlink
