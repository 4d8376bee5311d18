// SPDX-License-Identifier: Apache-2.0
#include <Vcdc_comb8.h>
#include <Vcdc_pulse.h>
#include <Vcdc_reg4.h>
#include <Vcdc_sync.h>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

template <class Top>
struct CdcBench : Bench<Top> {
  Clock& wr;
  Clock& rd;
  StreamSource<uint64_t> in;
  StreamSink<uint64_t> out;
  std::vector<uint64_t> sent;
  std::vector<uint64_t> in_ps, out_ps;  // time of the edge that took each beat

  CdcBench(uint64_t wr_ps, uint64_t rd_ps, uint64_t phase_ps)
      : wr(this->add_clock("wr", this->top().wr_clk_i, wr_ps)),
        rd(this->add_clock("rd", this->top().rd_clk_i, rd_ps, phase_ps)),
        in(*this, wr, RNIC_STREAM(this->top(), in)),
        out(*this, rd, RNIC_STREAM(this->top(), out)) {
    this->on_sample(wr, [this] {
      if (in.taken() > in_ps.size()) in_ps.push_back(this->time_ps());
      // Never too low on the writer's side, never too high on the reader's.
      const uint64_t before = in.taken() - (this->top().in_valid & this->top().in_ready);
      const uint64_t in_register = std::is_same_v<Top, Vcdc_reg4> ? 1 : 0;  // not counted
      if (this->top().wr_level_o + in_register + out.size() < before)
        throw ProtocolError("wr_level_o too low");
    });
    this->on_sample(rd, [this] {
      if (out.size() > out_ps.size()) out_ps.push_back(this->time_ps());
      const uint64_t gone = out.size() - (this->top().out_valid & this->top().out_ready);
      if (this->top().rd_level_o + gone > in.taken()) throw ProtocolError("rd_level_o too high");
    });
  }
  void reset() { BenchBase::reset({&this->top().wr_rst_i, &this->top().rd_rst_i}); }
  void send(size_t count) {
    auto random = rng("payload" + std::to_string(sent.size()));
    in.set_junk([random]() mutable { return random.bits(32); });
    for (size_t i = 0; i < count; ++i) {
      sent.push_back(random.bits(32));
      in.push(sent.back());
    }
  }
};

struct Clocks {
  uint64_t wr_ps, rd_ps, phase_ps;
};

}  // namespace

TEMPLATE_TEST_CASE("cdc_fifo keeps every beat in order at any clock ratio", "", Vcdc_comb8,
                   Vcdc_reg4) {
  const Clocks clocks =
      GENERATE(Clocks{2000, 1600, 0}, Clocks{1600, 2000, 333}, Clocks{2000, 2000, 1},
               Clocks{1000, 7300, 0}, Clocks{7300, 1000, 100});
  const double stall = GENERATE(0.0, 0.5);
  CdcBench<TestType> bench(clocks.wr_ps, clocks.rd_ps, clocks.phase_ps);
  bench.in.set_stall(Stall::random(stall));
  bench.out.set_stall(Stall::random(stall));
  bench.reset();
  bench.send(400);
  bench.out.wait(400, 20000);
  bench.tick(30);
  CHECK(difference(bench.out.items(), bench.sent) == "");
}

TEST_CASE("cdc_fifo shows a beat after the second read edge that follows its write edge") {
  const uint64_t phase = GENERATE(1, 500, 900, 1300);
  CdcBench<Vcdc_comb8> bench(2000, 1600, phase);
  bench.reset();
  bench.send(1);
  bench.out.wait(1);
  const uint64_t wait_ps = bench.out_ps.at(0) - bench.in_ps.at(0);
  // Valid after the second read edge, taken at the third.
  CHECK(wait_ps > 2 * 1600);
  CHECK(wait_ps <= 3 * 1600);
}

TEST_CASE("cdc_fifo with an output register takes one read cycle more") {
  const uint64_t phase = GENERATE(1, 500, 900, 1300);
  CdcBench<Vcdc_reg4> bench(2000, 1600, phase);
  bench.reset();
  bench.send(1);
  bench.out.wait(1);
  const uint64_t wait_ps = bench.out_ps.at(0) - bench.in_ps.at(0);
  CHECK(wait_ps > 3 * 1600);
  CHECK(wait_ps <= 4 * 1600);
}

TEST_CASE("cdc_fifo with 8 entries moves one beat per cycle of the slower clock") {
  SECTION("slow writer") {
    CdcBench<Vcdc_comb8> bench(2000, 1600, 300);
    bench.reset();
    bench.send(500);
    bench.out.wait(500, 600);
    CHECK(bench.in.cycles().back() - bench.in.cycles().front() == 499);
  }
  SECTION("slow reader") {
    CdcBench<Vcdc_comb8> bench(1600, 2000, 300);
    bench.reset();
    bench.send(500);
    bench.out.wait(500, 800);
    CHECK(bench.out.cycles().back() - bench.out.cycles().front() == 499);
  }
}

TEST_CASE("cdc_fifo holds its depth and reports it") {
  CdcBench<Vcdc_comb8> bench(2000, 1600, 300);
  bench.out.set_stall(Stall::always());
  bench.reset();
  bench.send(20);
  bench.tick(30);
  CHECK(bench.in.taken() == 8);
  CHECK(bench->in_ready == 0);
  CHECK(bench->wr_level_o == 8);
  CHECK(bench->rd_level_o == 8);
}

TEST_CASE("cdc_fifo is empty after both sides were reset in mid-stream") {
  CdcBench<Vcdc_reg4> bench(2000, 1600, 300);
  bench.out.set_stall(Stall::always());
  bench.reset();
  bench.send(20);
  bench.tick(10);
  bench.reset();
  bench.in.clear();
  bench.in_ps.clear();
  bench.sent.clear();
  bench.out.set_stall(Stall::none());
  bench.tick(10);
  CHECK(bench.out.size() == 0);
  bench.send(9);
  bench.out.wait(9);
  CHECK(difference(bench.out.items(), bench.sent) == "");
}

TEST_CASE("cdc_pulse carries spaced pulses one to one and merges crowded ones") {
  const Clocks clocks =
      GENERATE(Clocks{2000, 1600, 0}, Clocks{1000, 7300, 10}, Clocks{7300, 1000, 10});
  Bench<Vcdc_pulse> bench;
  Clock& src = bench.add_clock("src", bench->src_clk_i, clocks.wr_ps);
  Clock& dst = bench.add_clock("dst", bench->dst_clk_i, clocks.rd_ps, clocks.phase_ps);
  uint64_t arrived = 0;
  bench.on_sample(dst, [&] { arrived += bench->dst_pulse_o; });
  bench.reset({&bench->src_rst_i, &bench->dst_rst_i});

  for (int i = 0; i < 20; ++i) {
    bench.wait(
        "cdc_pulse to be free", [&] { return bench->src_busy_o == 0; }, 100);
    bench->src_pulse_i = 1;
    bench.tick(src, 1);
    bench->src_pulse_i = 0;
    bench.tick(src, 1);
  }
  bench.tick(dst, 10);
  bench.tick(src, 10);
  CHECK(arrived == 20);

  arrived = 0;  // three in a row: the first goes, the others wait as one
  bench->src_pulse_i = 1;
  bench.tick(src, 3);
  bench->src_pulse_i = 0;
  bench.tick(src, 100);
  bench.tick(dst, 100);
  CHECK(arrived == 2);
  CHECK(bench->src_busy_o == 0);
}

TEST_CASE("cdc_sync delays by its stages and starts from its reset value") {
  Bench<Vcdc_sync> bench;
  bench->d_i = 0;
  bench.reset();
  CHECK(bench->q_o == 5);
  bench.tick(2);
  CHECK(bench->q_o == 5);
  bench.tick(1);
  CHECK(bench->q_o == 0);
  bench->d_i = 9;
  bench.tick(2);
  CHECK(bench->q_o == 0);
  bench.tick(1);
  CHECK(bench->q_o == 9);
}
