// SPDX-License-Identifier: Apache-2.0
// The many QPs of one NIC whose cable comes back: joined in pairs, with one completion queue. As
// many as a NIC may have, so rings are small.
//
//   Crowd crowd(session);
//   crowd.grow(1024);
//   crowd.write(17, 0, 4096);             // posts and rings: slot 0 to the peer's slot 0
//   while (auto d = crowd.poll()) ...     // {QP, index, when its CQE could be seen}
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/run/session.hpp"

namespace rnic::sim {

class Crowd {
 public:
  static constexpr uint32_t kSlots = 1024;  // of source and target
  static constexpr uint32_t kSlotBytes = 65536;
  struct Done {
    uint32_t qp = 0;  // from 0
    uint16_t index = 0;
    TimePs visible_ps = 0;
  };

  explicit Crowd(Session& session);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Creates and connects QPs until there are `qps`, an even number.
  void grow(uint32_t qps);
  uint32_t size() const { return static_cast<uint32_t>(qps_.size()); }
  uint32_t number(uint32_t qp) const { return qps_.at(qp)->number(); }
  static uint32_t peer(uint32_t qp) { return qp ^ 1; }
  bool has_room(uint32_t qp) const { return qps_.at(qp)->free_blocks() > 0; }
  // A WRITE of new bytes out of a slot into the same slot of the target.
  uint16_t write(uint32_t qp, uint32_t slot, uint32_t bytes);
  std::optional<Done> poll();
  // "" when the target has what was written.
  std::string difference(uint32_t slot, uint32_t bytes) const;
  Host& host() { return host_; }

 private:
  class Watch;
  std::unique_ptr<driver::QueuePair> create(uint32_t qp);
  void connect(uint32_t qp);

  Session& session_;
  Host& host_;
  std::unique_ptr<driver::CompletionQueue> cq_;
  std::unique_ptr<Watch> watch_;
  std::vector<std::unique_ptr<driver::QueuePair>> qps_;
  std::vector<uint32_t> sq_psn_;
  Region *source_ = nullptr, *target_ = nullptr;
  mem::Random rng_;
  std::vector<uint8_t> scratch_;
};

}  // namespace rnic::sim
