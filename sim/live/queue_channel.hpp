// SPDX-License-Identifier: Apache-2.0
// The channel of a tool over an RC QP that the connection manager has connected: one SEND for each
// write().
//
//   QueueChannel c(party, q);
//   c.post_receives();                  // before the peer may send
//   c.attach(connection);
#pragma once

#include "sim/live/cm_connect.hpp"

namespace rnic::sim {

class QueueChannel final : public tools::Channel {
 public:
  QueueChannel(const Party& party, Queue& q);

  static QueueOptions queue_options(uint32_t psn);
  void post_receives();
  void attach(CmPort::Ref connection) { connection_ = std::move(connection); }
  const CmPort::Ref& connection() const { return connection_; }

  void write(std::span<const uint8_t> bytes) override;
  void pump() override;
  bool closed() const override;
  void close() override;
  bool over_cm() const override { return true; }
  // Everything that was written is acknowledged.
  bool drained() {
    q_.poll();
    return q_.posted == q_.completed || !q_.failure.empty();
  }
  const Queue& queue() const { return q_; }

 private:
  Party party_;
  Queue& q_;
  Buffer& sends_;
  Buffer& receives_;
  uint64_t next_receive_ = 0;
  CmPort::Ref connection_;
};

}  // namespace rnic::sim
