// SPDX-License-Identifier: Apache-2.0
#include "sim/live/queue_channel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "regs/gen/rnic_regs.h"

namespace rnic::sim {
namespace {

constexpr uint32_t kSlotBytes = 256, kSlots = 16;

}  // namespace

QueueChannel::QueueChannel(const Party& party, Queue& q)
    : party_(party),
      q_(q),
      sends_(party_.nic->add_memory(uint64_t{kSlotBytes} * kSlots, Adapter::kLocal)),
      receives_(party_.nic->add_memory(uint64_t{kSlotBytes} * kSlots, Adapter::kLocal)) {}

QueueOptions QueueChannel::queue_options(uint32_t psn) {
  QueueOptions o;
  o.log_sq = 6;
  o.log_rq = 4;
  o.psn = psn;
  return o;
}

void QueueChannel::post_receives() {
  bool any = false;
  for (; q_.receive_room() > (1u << q_.qp->log_rq()) - kSlots; ++next_receive_) {
    q_.post_receive(receives_, next_receive_ % kSlots * kSlotBytes, kSlotBytes);
    any = true;
  }
  if (any) q_.ring_receives();
}

void QueueChannel::write(std::span<const uint8_t> bytes) {
  if (!q_.failure.empty()) return;  // closed() tells
  if (bytes.size() > kSlotBytes || q_.posted - q_.completed >= kSlots)
    throw tools::ExchangeError("too much at a time for a QP");
  const uint64_t offset = q_.posted % kSlots * kSlotBytes;
  sends_.buffer.write(offset, bytes.data(), bytes.size());
  driver::WorkRequest r;
  r.opcode = RNIC_WQE_OPCODE_SEND;
  r.signaled = true;
  r.local = {{sends_.key, static_cast<uint32_t>(bytes.size()), sends_.va + offset}};
  party_.check->expect(q_.number(),
                       std::make_shared<const std::vector<uint8_t>>(bytes.begin(), bytes.end()));
  q_.post(r);
  q_.ring();
}

void QueueChannel::pump() {
  q_.poll();
  while (!q_.received.empty()) {
    const Queue::Received got = q_.received.front();
    q_.received.pop_front();
    tools::Bytes bytes(std::min(got.bytes, kSlotBytes));
    receives_.buffer.read(uint64_t{got.slot % kSlots} * kSlotBytes, bytes.data(), bytes.size());
    const auto want = party_.check->next_received(q_.number());
    if (!want || *want != bytes) {
      party_.check->problem(
          fmt::format("message {} for QP {} is not that of the wire", got.slot, q_.number()));
    } else {
      party_.check->count_checked(bytes.size());
    }
    arrived_.insert(arrived_.end(), bytes.begin(), bytes.end());
  }
  post_receives();
}

bool QueueChannel::closed() const {
  return !q_.failure.empty() || connection_ == nullptr || connection_->gone();
}

void QueueChannel::close() {
  if (connection_ != nullptr) party_.cm->disconnect(*connection_);
}

}  // namespace rnic::sim
