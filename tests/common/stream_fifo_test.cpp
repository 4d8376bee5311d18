// SPDX-License-Identifier: Apache-2.0
#include <Vfifo_comb5.h>
#include <Vfifo_reg2.h>
#include <Vfifo_reg8.h>
#include <Vsmall_1_0.h>
#include <Vsmall_2_1.h>
#include <Vsmall_3_0.h>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

template <class Top>
struct FifoBench : Bench<Top> {
  StreamSource<uint64_t> in{*this, RNIC_STREAM(this->top(), in)};
  StreamSink<uint64_t> out{*this, RNIC_STREAM(this->top(), out)};
  std::vector<uint64_t> sent;

  FifoBench() {
    // The level is what went in and has not come out, at every cycle.
    this->on_sample([this] {
      const uint64_t inside = in.taken() - (in_now() ? 1 : 0) - (out.size() - (out_now() ? 1 : 0));
      if (this->top().level_o != inside) {
        throw ProtocolError("level_o is " + std::to_string(this->top().level_o) + ", inside are " +
                            std::to_string(inside) + " at cycle " + std::to_string(this->cycle()));
      }
    });
  }
  bool in_now() { return this->top().in_valid != 0 && this->top().in_ready != 0; }
  bool out_now() { return this->top().out_valid != 0 && this->top().out_ready != 0; }

  void send(size_t count) {
    auto random = rng("payload" + std::to_string(sent.size()));
    in.set_junk([random]() mutable { return random.bits(32); });
    for (size_t i = 0; i < count; ++i) {
      sent.push_back(random.bits(32));
      in.push(sent.back());
    }
  }
};

}  // namespace

// One instance per FIFO; kDepth beats, kLatency cycles.
template <class Top, int kDepth, int kLatency>
struct Kind {
  using Model = Top;
  static constexpr int depth = kDepth;
  static constexpr int latency = kLatency;
};
using Comb5 = Kind<Vfifo_comb5, 5, 1>;
using Reg8 = Kind<Vfifo_reg8, 8, 1>;
using Reg2 = Kind<Vfifo_reg2, 2, 1>;
using Small2 = Kind<Vsmall_2_1, 2, 1>;
using Small3Through = Kind<Vsmall_3_0, 3, 0>;
using Small1Through = Kind<Vsmall_1_0, 1, 0>;

TEMPLATE_TEST_CASE("stream FIFOs pass one beat per cycle with their latency", "", Comb5, Reg8, Reg2,
                   Small2, Small3Through, Small1Through) {
  FifoBench<typename TestType::Model> bench;
  bench.reset();
  bench.send(200);
  bench.out.wait(200, 220);
  CHECK(difference(bench.out.items(), bench.sent) == "");
  CHECK(bench.out.cycles().front() - bench.in.cycles().front() == TestType::latency);
  CHECK(bench.out.cycles().back() - bench.out.cycles().front() == 199);
}

TEMPLATE_TEST_CASE("stream FIFOs keep every beat in order under stalls", "", Comb5, Reg8, Reg2,
                   Small2, Small3Through, Small1Through) {
  const auto [in_stall, out_stall] = GENERATE(table<Stall, Stall>({
      {Stall::random(0.5), Stall::random(0.5)},
      {Stall::none(), Stall::random(0.7)},
      {Stall::random(0.7), Stall::none()},
      {Stall::bursts(0.1, 8), Stall::bursts(0.1, 12)},
  }));
  FifoBench<typename TestType::Model> bench;
  bench.in.set_stall(in_stall);
  bench.out.set_stall(out_stall);
  bench.reset();
  bench.send(1000);
  bench.out.wait(1000, 20000);
  bench.tick(20);
  CHECK(difference(bench.out.items(), bench.sent) == "");
  CHECK(bench->level_o == 0);
}

TEMPLATE_TEST_CASE("stream FIFOs hold exactly their depth", "", Comb5, Reg8, Reg2, Small2,
                   Small3Through, Small1Through) {
  FifoBench<typename TestType::Model> bench;
  bench.out.set_stall(Stall::always());
  bench.reset();
  bench.send(20);
  bench.tick(30);
  CHECK(bench.in.taken() == TestType::depth);
  CHECK(bench->level_o == TestType::depth);
  CHECK(bench->in_ready == 0);
  bench.out.set_stall(Stall::none());
  bench.out.wait(20);
  CHECK(difference(bench.out.items(), bench.sent) == "");
}

TEMPLATE_TEST_CASE("stream FIFOs are empty after a reset in mid-stream", "", Comb5, Reg8, Reg2,
                   Small2, Small3Through, Small1Through) {
  FifoBench<typename TestType::Model> bench;
  bench.out.set_stall(Stall::always());
  bench.reset();
  bench.send(20);
  bench.tick(10);
  bench.reset();
  bench.sent.clear();
  bench.in.clear();
  bench.out.set_stall(Stall::none());
  bench.tick(5);
  CHECK(bench->out_valid == 0);
  CHECK(bench->level_o == 0);
  bench.send(3);
  bench.out.wait(3);
  CHECK(difference(bench.out.items(), bench.sent) == "");
}
