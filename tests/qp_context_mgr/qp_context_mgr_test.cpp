// SPDX-License-Identifier: Apache-2.0
//
// qp_context_mgr: every reader of every half sees what the owner wrote in an earlier cycle, CTX_LAT
// cycles after its lookup and in order; QPs that do not exist read as zero.
#include <Vqp_context_mgr.h>
#include <Vqp_context_mgr_3.h>

#include <deque>
#include <map>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;

namespace {

struct Reader {
  std::string name;
  std::function<void(bool, uint32_t)> ask;
  std::function<bool()> ready, valid;
  std::function<std::vector<Bits>()> read;
  std::vector<unsigned> halves;  // 0 connection, 1 send, 2 acknowledged, 3 receive
  std::deque<std::pair<uint64_t, std::vector<Bits>>> due;
  bool asking = false;
  uint32_t qpn = 0;
};

template <class Top, unsigned N, unsigned LAT>
void run(unsigned cycles) {
  Bench<Top> bench;
  Top& t = bench.top();
  auto random = rng("traffic");
  const size_t width[4] = {kConn.width(), kSend.width(), kAckHalf.width(), kRecv.width()};
  std::array<std::map<uint32_t, Bits>, 4> half;
  std::vector<Reader> readers;
#define READER(p, out, ...)                                              \
  readers.push_back({#p,                                                 \
                     [&](bool v, uint32_t q) {                           \
                       t.p##_lk_valid = v;                               \
                       t.p##_lk_qpn = q;                                 \
                     },                                                  \
                     [&] { return t.p##_lk_ready != 0; },                \
                     [&] { return t.p##_ctx_valid != 0; },               \
                     [&] { return std::vector<Bits>{read_pin(t.out)}; }, \
                     {__VA_ARGS__},                                      \
                     {}})
  READER(db, db_ctx, 0);
  READER(sch, sch_ctx, 0);
  READER(wf, wf_ctx, 0);
  READER(sq, sq_ctx, 0);
  READER(rs, rs_ctx, 0);
  READER(re, re_ctx, 0);
  READER(cp, cp_ctx, 0);
  READER(rq, rq_ctx, 0);
  READER(snd, snd_ctx, 1);
  READER(cps, cps_ctx, 1);
  READER(ack, ack_ctx, 2);
  READER(sqa, sqa_ctx, 2);
  READER(rcv, rcv_ctx, 3);
#undef READER
  readers.push_back({"q",
                     [&](bool v, uint32_t q) {
                       t.q_lk_valid = v;
                       t.q_lk_qpn = q;
                     },
                     [&] { return t.q_lk_ready != 0; },
                     [&] { return t.q_ctx_valid != 0; },
                     [&] {
                       return std::vector<Bits>{read_pin(t.q_conn), read_pin(t.q_snd),
                                                read_pin(t.q_ack), read_pin(t.q_rcv)};
                     },
                     {0, 1, 2, 3},
                     {}});
  struct Write {
    bool on = false;
    uint32_t qpn = 0;
    Bits value;
  };
  std::array<Write, 4> write;
  auto value_of = [&](unsigned h, uint32_t qpn) {
    return qpn < N && half[h].count(qpn) ? half[h][qpn] : Bits(width[h]);
  };
  uint64_t answers = 0;
  bench.on_sample([&] {
    for (Reader& r : readers) {
      const bool expected = !r.due.empty() && r.due.front().first == bench.cycle();
      CHECK(r.valid() == expected);
      if (expected) {
        CHECK((r.read() == r.due.front().second));
        r.due.pop_front();
        ++answers;
      }
      if (r.asking && r.ready()) {
        std::vector<Bits> values;
        for (unsigned h : r.halves) values.push_back(value_of(h, r.qpn));
        r.due.emplace_back(bench.cycle() + LAT, values);
      }
    }
    for (unsigned h = 0; h < 4; ++h) {
      if (write[h].on && write[h].qpn < N) half[h][write[h].qpn] = write[h].value;
    }
  });
  bool active = false;
  bench.on_drive([&] {
    auto qpn = [&] {
      return random.chance(0.1) ? static_cast<uint32_t>(random.bits(24))
                                : static_cast<uint32_t>(random.below(N + 1));
    };
    for (Reader& r : readers) {
      r.asking = active && random.chance(0.6);
      r.qpn = qpn();
      r.ask(r.asking, r.qpn);
    }
    for (unsigned h = 0; h < 4; ++h) {
      write[h] = {active && random.chance(0.4), qpn(), Bits::random(random, width[h])};
    }
    t.cw_valid = write[0].on;
    t.cw_qpn = write[0].qpn;
    write_pin(t.cw, write[0].value);
    t.snd_wr_valid = write[1].on;
    t.snd_wr_qpn = write[1].qpn;
    write_pin(t.snd_wr, write[1].value);
    t.ack_wr_valid = write[2].on;
    t.ack_wr_qpn = write[2].qpn;
    write_pin(t.ack_wr, write[2].value);
    t.rcv_wr_valid = write[3].on;
    t.rcv_wr_qpn = write[3].qpn;
    write_pin(t.rcv_wr, write[3].value);
  });
  for (int round = 0; round < 3; ++round) {
    active = false;
    bench.tick();
    for (Reader& r : readers) {
      r.due.clear();
      r.asking = false;
      r.ask(false, 0);
    }
    t.cw_valid = t.snd_wr_valid = t.ack_wr_valid = t.rcv_wr_valid = 0;
    write = {};
    bench.reset();
    for (auto& h : half) h.clear();  // cleared by the reset
    const uint64_t start = bench.cycle();
    bench.wait(
        "init_done_o", [&] { return t.init_done_o != 0; }, N + 2);
    CHECK(bench.cycle() - start <= N + 1);
    active = true;
    bench.tick(cycles);
  }
  CHECK(answers > cycles);
}

}  // namespace

TEST_CASE("every reader sees every half as its owner wrote it, one cycle after the lookup") {
  run<Vqp_context_mgr, 5, 1>(2000);
}
TEST_CASE("a latency of three cycles changes nothing else") { run<Vqp_context_mgr_3, 8, 3>(2000); }
