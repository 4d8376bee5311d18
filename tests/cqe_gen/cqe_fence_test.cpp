// SPDX-License-Identifier: Apache-2.0
#include <Vcqe_fence.h>

#include <deque>

#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

const BitLayout kRequest({{"cqn", 16},
                          {"qpn", 24},
                          {"opcode", 8},
                          {"status", 8},
                          {"wqe_index", 16},
                          {"byte_count", 32},
                          {"imm", 32},
                          {"imm_valid", 1},
                          {"ipv6", 1},
                          {"solicited", 1},
                          {"src_qpn", 24},
                          {"syndrome", 8},
                          {"fence", 1},
                          {"sampled", 1},
                          {"grh", 1}});

// Writes of one target: accepted and answered, counted without end.
struct Target {
  uint64_t accepted = 0, done = 0;
};

}  // namespace

TEST_CASE("cqe_fence lets a completion go when the writes accepted before it are done") {
  for (double stall : {0.0, 0.5}) {
    for (double answer : {0.02, 0.3, 0.9}) {
      Bench<Vcqe_fence> bench;
      auto& top = bench.top();
      StreamSource<Bits> in(
          bench, "in", top.in_valid, top.in_ready, [&](const Bits& b) { write_pin(top.in, b); },
          Stall::random(stall));
      StreamSink<Bits> out(
          bench, "out", top.out_valid, top.out_ready, [&] { return read_pin(top.out); },
          Stall::random(stall));
      bench.reset();
      auto random = rng("fence");
      Target gpu, dev;
      struct Want {
        Bits request;
        uint64_t gpu, dev;
        bool fence;
      };
      std::deque<Want> waiting;
      size_t taken = 0, sent = 0, wrong_order = 0, too_early = 0;
      constexpr int kCycles = 6000;
      for (int cycle = 0; cycle < kCycles || taken < sent; ++cycle) {
        if (cycle >= 10 * kCycles) FAIL("completions do not come out");
        if (cycle < kCycles && in.pending() == 0 && random.chance(0.4)) {
          Bits b = Bits::random(random, kRequest.width());
          in.push(b);
        }
        const bool entering = top.in_valid && top.in_ready;
        if (entering) {
          const Bits b = read_pin(top.in);
          waiting.push_back({b, gpu.accepted, dev.accepted, kRequest.get(b, "fence") != 0});
          ++sent;
        }
        const size_t before = out.items().size();
        const uint64_t gpu_done = gpu.done, dev_done = dev.done;
        bench.tick();
        for (size_t i = before; i < out.items().size(); ++i) {
          Want w = waiting.front();
          waiting.pop_front();
          kRequest.set(w.request, "fence", 0);
          Bits got = out.items()[i];
          for (const char* f : {"cqn", "qpn", "imm", "byte_count", "fence"})
            if (kRequest.get(got, f) != kRequest.get(w.request, f)) ++wrong_order;
          if (w.fence && (gpu_done < w.gpu || dev_done < w.dev)) ++too_early;
          ++taken;
        }
        // The world moves on between two edges; never more than 500 writes in flight.
        if (cycle < kCycles && random.chance(0.3) && gpu.accepted - gpu.done < 500) ++gpu.accepted;
        if (cycle < kCycles && random.chance(0.1) && dev.accepted - dev.done < 500) ++dev.accepted;
        if (gpu.done < gpu.accepted && random.chance(answer)) ++gpu.done;
        if (dev.done < dev.accepted && random.chance(answer)) ++dev.done;
        top.gpu_accepted_i = gpu.accepted & 0x3FF;
        top.gpu_done_i = gpu.done & 0x3FF;
        top.dev_accepted_i = dev.accepted & 0x3FF;
        top.dev_done_i = dev.done & 0x3FF;
      }
      CHECK(wrong_order == 0);
      CHECK(too_early == 0);
      CHECK(taken == sent);
      CHECK(sent > 10);
    }
  }
}

TEST_CASE("cqe_fence passes completions for host memory in the same cycle, one per cycle") {
  Bench<Vcqe_fence> bench;
  auto& top = bench.top();
  StreamSource<Bits> in(bench, "in", top.in_valid, top.in_ready,
                        [&](const Bits& b) { write_pin(top.in, b); });
  StreamSink<Bits> out(bench, "out", top.out_valid, top.out_ready,
                       [&] { return read_pin(top.out); });
  bench.reset();
  top.gpu_accepted_i = 5;  // a write to a GPU is on its way: not these completions' business
  for (int i = 0; i < 100; ++i) in.push(kRequest.pack({{"cqn", static_cast<uint64_t>(i)}}));
  bench.tick(110);
  CHECK(out.items().size() == 100);
}
