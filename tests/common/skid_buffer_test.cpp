// SPDX-License-Identifier: Apache-2.0
#include <Vskid_buffer.h>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

struct SkidBench : Bench<Vskid_buffer> {
  StreamSource<uint64_t> in{*this, RNIC_STREAM(top(), in)};
  StreamSink<uint64_t> out{*this, RNIC_STREAM(top(), out)};
  std::vector<uint64_t> sent;

  void send(size_t count) {
    auto random = rng("payload");
    in.set_junk([random]() mutable { return random.bits(16); });
    for (size_t i = 0; i < count; ++i) {
      sent.push_back(random.bits(16));
      in.push(sent.back());
    }
  }
};

}  // namespace

TEST_CASE("skid_buffer passes one beat per cycle with one cycle of latency") {
  SkidBench bench;
  bench.reset();
  bench.send(100);
  bench.out.wait(100, 110);
  CHECK(difference(bench.out.items(), bench.sent) == "");
  CHECK(bench.out.cycles().front() - bench.in.cycles().front() == 1);
  CHECK(bench.out.cycles().back() - bench.out.cycles().front() == 99);
}

TEST_CASE("skid_buffer keeps every beat in order under stalls on both sides") {
  const auto [in_stall, out_stall] = GENERATE(table<Stall, Stall>({
      {Stall::random(0.5), Stall::random(0.5)},
      {Stall::none(), Stall::random(0.7)},
      {Stall::random(0.7), Stall::none()},
      {Stall::bursts(0.1, 5), Stall::bursts(0.1, 8)},
  }));
  SkidBench bench;
  bench.in.set_stall(in_stall);
  bench.out.set_stall(out_stall);
  bench.reset();
  bench.send(1000);
  bench.out.wait(1000, 20000);
  bench.tick(20);
  CHECK(difference(bench.out.items(), bench.sent) == "");
}

TEST_CASE("skid_buffer takes two beats and no more when its output is stuck") {
  SkidBench bench;
  bench.out.set_stall(Stall::always());
  bench.reset();
  bench.send(10);
  bench.tick(20);
  CHECK(bench.in.taken() == 2);
  CHECK(bench->in_ready == 0);
  bench.out.set_stall(Stall::none());
  bench.out.wait(10);
  CHECK(difference(bench.out.items(), bench.sent) == "");
}

TEST_CASE("skid_buffer is empty after a reset in mid-stream") {
  SkidBench bench;
  bench.out.set_stall(Stall::always());
  bench.reset();
  bench.send(10);
  bench.tick(10);
  bench.reset();
  bench.sent.clear();
  bench.out.set_stall(Stall::none());
  bench.tick(5);
  CHECK(bench->out_valid == 0);
  CHECK(bench.out.size() == 0);
  bench.send(3);
  bench.out.wait(3);
  CHECK(difference(bench.out.items(), bench.sent) == "");
}
