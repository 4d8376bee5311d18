// SPDX-License-Identifier: Apache-2.0
// Ring AllReduce: who sends what to whom in which step, what comes out, and how its speed is told.
//
//   RingPlan ring(4, 1 << 18, 64 * 1024);             // ranks, elements, bytes of a message at
//   most for (uint32_t s = 0; s < ring.steps(); ++s) send(ring.sent(rank, s));   // to the next
//   rank Chunk c = ring.chunk(ring.received(rank, s));     // from the previous one Buffer sum =
//   ring_sum(ring, Element::kFp32, inputs);     // the same bits as the ring's
//
// Reduce-scatter in steps 0 .. N - 2: what was received is added to the own chunk and sent in the
// next step. All-gather in the N - 1 steps behind: what was received is whole and is sent on.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/numerics/reduce.hpp"

namespace rnic::collective {

// Bytes of the buffer.
struct Chunk {
  uint64_t offset = 0, bytes = 0;
};

class RingPlan {
 public:
  // Throws std::invalid_argument for fewer than two ranks, no elements, or pieces that do not hold
  // whole elements.
  RingPlan(uint32_t ranks, uint64_t elements, uint64_t piece_bytes, uint32_t element_bytes = 4);

  uint32_t ranks() const { return ranks_; }
  uint32_t steps() const { return 2 * (ranks_ - 1); }
  bool adds(uint32_t step) const { return step < ranks_ - 1; }
  // Numbers of chunks. What is received in a step is what is sent in the next.
  uint32_t sent(uint32_t rank, uint32_t step) const;
  uint32_t received(uint32_t rank, uint32_t step) const;
  // Chunks are as equal as whole elements allow, and cut into pieces, which are the messages.
  Chunk chunk(uint32_t number) const;
  uint32_t pieces(uint32_t chunk) const;
  Chunk piece(uint32_t chunk, uint32_t number) const;
  uint64_t longest_chunk() const;
  // Bytes that a rank sends in all.
  uint64_t bytes_sent(uint32_t rank) const;

 private:
  uint32_t ranks_;
  uint64_t elements_, piece_bytes_, element_bytes_;
};

// The sum of all ranks' inputs in the ring's order: chunk c begins with rank c, and each next rank
// adds its own in the type of the elements.
numerics::Buffer ring_sum(const RingPlan& ring, numerics::Element type,
                          const std::vector<numerics::Buffer>& inputs);

// One engine that adds, one piece after the other: a processor (no launch time) or a GPU.
class ReduceEngine {
 public:
  // Bytes of result per second; 0: no time but the launch.
  ReduceEngine(uint64_t bytes_per_second, uint64_t launch_ps)
      : bytes_per_second_(bytes_per_second), launch_ps_(launch_ps) {}
  // When the sum of a piece that is there at `now` is done.
  uint64_t finish(uint64_t now_ps, uint64_t bytes);

 private:
  uint64_t bytes_per_second_, launch_ps_, free_ps_ = 0;
};

// One engine that copies, one piece behind the other: each takes its bytes' time of the engine and
// is there a latency later.
class CopyEngine {
 public:
  // 0 bytes per second: no time but the latency.
  CopyEngine(uint64_t bytes_per_second, uint64_t latency_ps)
      : bytes_per_second_(bytes_per_second), latency_ps_(latency_ps) {}
  // When a piece that can be read at `now` is there.
  uint64_t finish(uint64_t now_ps, uint64_t bytes);

 private:
  uint64_t bytes_per_second_, latency_ps_, free_ps_ = 0;
};

// Bytes over time and, times 2 (N - 1) / N, the rate that the links must have carried. In GB/s.
double algorithm_bandwidth(uint64_t bytes, uint64_t time_ps);
double bus_bandwidth(uint32_t ranks, uint64_t bytes, uint64_t time_ps);
// How the sum is made: around a ring, or by the owner of each chunk, to whom all send their part,
// and who sends the sum to all.
enum class Way : uint8_t { kRing, kOneShot };

// The shortest time over links of a rate and a latency, headers and sums for nothing: each rank
// sends 2 S (N - 1) / N bytes, the last of which travels for a latency; and a piece goes over
// 2 (N - 1) links of a ring, or 2 in one shot, whole each time. The longer of the two; around a
// ring with one piece per chunk the second is 2 (N - 1) latency + 2 S (N - 1) / (N rate).
uint64_t shortest_ps(Way way, uint32_t ranks, uint64_t bytes, uint64_t piece_bytes,
                     uint64_t rate_bps, uint64_t latency_ps);

}  // namespace rnic::collective
