// SPDX-License-Identifier: Apache-2.0
#include "harness/collective/ring.hpp"

#include <algorithm>
#include <stdexcept>

namespace rnic::collective {
namespace {

// Elements before chunk c.
uint64_t first_of(uint64_t elements, uint32_t ranks, uint32_t c) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(elements) * c / ranks);
}

// 0 bytes per second: none.
uint64_t time_ps(uint64_t bytes, uint64_t bytes_per_second) {
  if (bytes_per_second == 0) return 0;
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * 1'000'000'000'000ull /
                               bytes_per_second);
}

}  // namespace

RingPlan::RingPlan(uint32_t ranks, uint64_t elements, uint64_t piece_bytes, uint32_t element_bytes)
    : ranks_(ranks), elements_(elements), piece_bytes_(piece_bytes), element_bytes_(element_bytes) {
  if (ranks < 2) throw std::invalid_argument("ring: fewer than two ranks");
  if (elements < ranks) throw std::invalid_argument("ring: fewer elements than ranks");
  if (piece_bytes == 0 || piece_bytes % element_bytes != 0)
    throw std::invalid_argument("ring: a piece must hold whole elements");
}

uint32_t RingPlan::sent(uint32_t rank, uint32_t step) const {
  const uint32_t n = ranks_;
  if (adds(step)) return (rank + n - step) % n;
  return (rank + 1 + n - (step - (n - 1))) % n;
}

uint32_t RingPlan::received(uint32_t rank, uint32_t step) const {
  return sent((rank + ranks_ - 1) % ranks_, step);
}

Chunk RingPlan::chunk(uint32_t number) const {
  const uint64_t first = first_of(elements_, ranks_, number);
  const uint64_t behind = first_of(elements_, ranks_, number + 1);
  return {first * element_bytes_, (behind - first) * element_bytes_};
}

uint32_t RingPlan::pieces(uint32_t number) const {
  return static_cast<uint32_t>((chunk(number).bytes + piece_bytes_ - 1) / piece_bytes_);
}

Chunk RingPlan::piece(uint32_t number, uint32_t n) const {
  const Chunk c = chunk(number);
  const uint64_t at = n * piece_bytes_;
  return {c.offset + at, std::min(piece_bytes_, c.bytes - at)};
}

uint64_t RingPlan::longest_chunk() const {
  uint64_t most = 0;
  for (uint32_t c = 0; c < ranks_; ++c) most = std::max(most, chunk(c).bytes);
  return most;
}

uint64_t RingPlan::bytes_sent(uint32_t rank) const {
  uint64_t sum = 0;
  for (uint32_t s = 0; s < steps(); ++s) sum += chunk(sent(rank, s)).bytes;
  return sum;
}

numerics::Buffer ring_sum(const RingPlan& ring, numerics::Element type,
                          const std::vector<numerics::Buffer>& inputs) {
  numerics::Buffer out;
  for (uint32_t c = 0; c < ring.ranks(); ++c) {
    const Chunk chunk = ring.chunk(c);
    std::vector<std::span<const uint8_t>> order;
    for (uint32_t k = 0; k < ring.ranks(); ++k)
      order.push_back(std::span(inputs[(c + k) % ring.ranks()]).subspan(chunk.offset, chunk.bytes));
    const auto sum = numerics::sum_in_order(type, numerics::Sum::kNative, order);
    out.insert(out.end(), sum.begin(), sum.end());
  }
  return out;
}

uint64_t ReduceEngine::finish(uint64_t now_ps, uint64_t bytes) {
  free_ps_ = std::max(free_ps_, now_ps) + launch_ps_ + time_ps(bytes, bytes_per_second_);
  return free_ps_;
}

uint64_t CopyEngine::finish(uint64_t now_ps, uint64_t bytes) {
  free_ps_ = std::max(free_ps_, now_ps) + time_ps(bytes, bytes_per_second_);
  return free_ps_ + latency_ps_;
}

double algorithm_bandwidth(uint64_t bytes, uint64_t time_ps) {
  return time_ps == 0 ? 0 : static_cast<double>(bytes) * 1000.0 / static_cast<double>(time_ps);
}

double bus_bandwidth(uint32_t ranks, uint64_t bytes, uint64_t time_ps) {
  return algorithm_bandwidth(bytes, time_ps) * 2 * (ranks - 1) / ranks;
}

uint64_t shortest_ps(Way way, uint32_t ranks, uint64_t bytes, uint64_t piece_bytes,
                     uint64_t rate_bps, uint64_t latency_ps) {
  const uint64_t links = way == Way::kRing ? 2 * (ranks - 1) : 2;
  const auto time = [rate_bps](uint64_t numerator, uint64_t divisor) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(numerator) * 8'000'000'000'000ull /
                                 rate_bps / divisor);
  };
  const uint64_t sending = time(2 * (ranks - 1) * bytes, ranks) + latency_ps;
  const uint64_t travelling =
      piece_bytes * ranks < bytes ? time(links * piece_bytes, 1) : time(links * bytes, ranks);
  return std::max(sending, travelling + links * latency_ps);
}

}  // namespace rnic::collective
