// SPDX-License-Identifier: Apache-2.0
//
// tx_pacer against departure times: rates, bursts, changes, many QPs. What a packet has on the wire
// is the length of a frame that harness/roce builds.
#include <Vtx_pacer.h>
#include <Vtx_pacer_fast.h>

#include "tests/support/catch.hpp"
#include "tests/tx_pacer/pacer_world.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

using World = PacerWorld<Vtx_pacer>;
constexpr unsigned kQps = 64;

void check_rate(const std::vector<Departure>& sent, double bps, double period_s, double within) {
  REQUIRE(sent.size() > 10);
  const double got = rate_of(sent, period_s);
  INFO("expected " << bps / 1e6 << " Mb/s, " << sent.size() << " packets say " << got / 1e6);
  CHECK(std::abs(got / bps - 1) < within);
}

}  // namespace

TEST_CASE("a QP keeps its rate, from 10 Mb/s to the line's, over ten packets or more") {
  struct Step {
    unsigned mbps, len, packets;
  };
  for (const auto& [mbps, len, packets] : {Step{10, 256, 11},
                                           {37, 256, 11},
                                           {100, 1024, 11},
                                           {1000, 4096, 11},
                                           {10'000, 4096, 11},
                                           {25'000, 1024, 60},
                                           {100'000, 4096, 40},
                                           {100'000, 256, 400},
                                           {200'000, 4096, 100},
                                           {390'000, 4096, 300}}) {
    World w(kQps);
    w.limit(7, mbps);
    w.busy(7, {.len = len});
    w.run_until(7, packets, 3'000'000);
    check_rate(w.sent(7), mbps * 1e6, w.period_s(), 0.01);
    INFO(mbps << " Mb/s");
    if (mbps > 10'000) continue;  // a turn may take longer than the bucket needs
    CHECK(w.waits() > 0);
  }
}

TEST_CASE("the rate that congestion control says, in kb/s; the lower of both counts") {
  World w(kQps);
  w.rate(5, 3.217e9);
  w.busy(5, {.len = 1024});
  w.run_until(5, 30, 200'000);
  check_rate(w.sent(5), 3.217e9, w.period_s(), 0.005);
  w.limit(5, 2000);
  w.forget();
  w.run_until(5, 30, 200'000);
  check_rate(w.sent(5), 2e9, w.period_s(), 0.005);
  w.rate(5, 1e9);
  w.forget();
  w.run_until(5, 30, 300'000);
  check_rate(w.sent(5), 1e9, w.period_s(), 0.005);
  w.bench->cfg_cc_i = 0;
  w.forget();
  w.run_until(5, 30, 200'000);
  check_rate(w.sent(5), 2e9, w.period_s(), 0.005);
}

TEST_CASE("what counts is the frame with FCS, preamble and gap, of every opcode, path and length") {
  using namespace roce;
  World w(kQps);
  w.limit(1, 2000);
  struct Kind {
    uint8_t opcode;
    unsigned len;
  };
  const std::vector<Kind> kinds = {{kRcSendFirst, 256},
                                   {kRcSendMiddle, 256},
                                   {kRcSendLast, 3},
                                   {kRcSendLastImm, 1},
                                   {kRcSendOnly, 0},
                                   {kRcSendOnly, 1},
                                   {kRcSendOnly, 2},
                                   {kRcSendOnlyImm, 4},
                                   {kRcWriteFirst, 256},
                                   {kRcWriteLast, 5},
                                   {kRcWriteLastImm, 7},
                                   {kRcWriteOnly, 64},
                                   {kRcWriteOnlyImm, 8},
                                   {kRcReadRequest, 0},
                                   {kRcReadRespFirst, 256},
                                   {kRcReadRespMiddle, 256},
                                   {kRcReadRespLast, 9},
                                   {kRcReadRespOnly, 33},
                                   {kRcAtomicAck, 0},
                                   {kRcCompareSwap, 0},
                                   {kRcFetchAdd, 0},
                                   {kRcSendLastInv, 6},
                                   {kRcSendOnlyInv, 12},
                                   {kUcBase + kRcWriteOnly, 64},
                                   {kUcBase + kRcSendOnlyImm, 10},
                                   {kUdSendOnly, 20},
                                   {kUdSendOnlyImm, 21}};
  for (const Kind& kind : kinds) {
    for (unsigned path = 0; path < 8; ++path) {
      INFO(opcode_name(kind.opcode)
           << ", " << kind.len << " B, path " << path % 4 << (path < 4 ? "" : ", telemetry"));
      w.trailers(path >= 4);
      w.idle(1);
      w.run(4000);
      w.forget();
      w.busy(1, {.len = kind.len, .path = path % 4, .opcode = kind.opcode});
      w.run_until(1, 41, 200'000);
      // The fewest bytes are 84, so that 1 % is less than one byte.
      check_rate(w.sent(1), 2e9, w.period_s(), 0.01);
    }
  }
}

TEST_CASE("a QP at rest saves up the burst and no more") {
  for (const unsigned burst : {0u, 5000u, 40'000u}) {
    World w(kQps);
    w.bench->cfg_burst_i = burst;
    w.limit(2, 1000);
    w.run(400'000);  // 100 KB at 1 Gb/s
    w.busy(2, {.len = 1024});
    w.run(20'000);
    // Beside the burst, one packet, what came in meanwhile, and what being late makes good.
    uint64_t sent = 0;
    for (const Departure& d : w.sent(2)) sent += d.bytes;
    const double most = burst + 20'000 * 0.25 + 1106 + 256;
    INFO("burst " << burst << ", sent " << sent);
    CHECK(static_cast<double>(sent) <= most);
    CHECK(static_cast<double>(sent) >= most - 2 * 1106 - 256);
  }
}

TEST_CASE("a change of the rate is in force for the next packet, up and down") {
  // The time of the next packet, by the tokens there are at the change.
  const auto check_next = [](World& w, unsigned qpn, double from_bps, double to_bps,
                             uint64_t change_after, const auto& change) {
    w.forget();
    w.run_until(qpn, 1, 3'000'000);
    const uint64_t first = w.cycle();
    w.run(change_after);
    const double debt = 8.0 * w.sent(qpn)[0].bytes;
    change();
    const auto at = static_cast<double>(w.cycle() - first) - 4;
    const double expected = at + (debt - from_bps * at * 2e-9) / to_bps / 2e-9;
    w.run_until(qpn, 2, 3'000'000);
    const auto got = static_cast<double>(w.sent(qpn)[1].cycle - w.sent(qpn)[0].cycle);
    INFO(from_bps << " to " << to_bps << " b/s: expected " << expected << ", got " << got);
    // What the packet before was late is made good, at its rate.
    const double late = 32 * std::max(1.0, from_bps / to_bps);
    CHECK(got > expected - late);
    CHECK(got < expected + 32 + 0.01 * expected);
  };
  World w(kQps);
  w.limit(3, 400'000);
  w.rate(3, 1e9);
  w.busy(3, {.len = 4096});
  w.run_until(3, 3, 100'000);
  check_next(w, 3, 1e9, 50e9, 3000, [&] { w.rate(3, 50e9); });
  check_next(w, 3, 50e9, 5e9, 100, [&] { w.rate(3, 5e9); });
  check_next(w, 3, 5e9, 40e9, 500, [&] { w.rate(3, 40e9); });
  check_next(w, 3, 40e9, 1e9, 200, [&] { w.limit(3, 1000); });
  check_next(w, 3, 1e9, 20e9, 5000, [&] { w.limit(3, 20'000); });
  // Not limited any more: at once.
  w.rate(3, 100e6);
  w.limit(3, 0);
  w.forget();
  w.run_until(3, 1, 200'000);
  w.run(100);
  w.rate(3, 400e9);
  w.run(40);
  CHECK(w.sent(3).size() >= 2);
}

TEST_CASE("64 QPs, each at its own rate, sizes mixed, the whole below the line's rate") {
  World w(kQps);
  Rng random = rnic::test::rng("tx_pacer.many");
  std::vector<double> bps(kQps);
  for (unsigned q = 0; q < kQps; ++q) {
    bps[q] = static_cast<double>(random.between(600, 8000)) * 1e6;
    w.rate(q, bps[q]);
    w.busy(q, {.len = static_cast<unsigned>(random.between(200, 4096)),
               .path = static_cast<unsigned>(random.between(0, 3))});
  }
  w.run(600'000);
  for (unsigned q = 0; q < kQps; ++q) {
    INFO("QP " << q);
    check_rate(w.sent(q), bps[q], w.period_s(), 0.01);
  }
}

TEST_CASE("more than the line gives: nobody starves, slow QPs keep their rate") {
  World w(kQps);
  for (unsigned q = 0; q < kQps; ++q) {
    w.rate(q, q < 8 ? 200e9 : 1e9);
    w.busy(q, {.len = 4096});
  }
  w.run(300'000);
  double fast = 0;
  for (unsigned q = 8; q < kQps; ++q) {
    INFO("QP " << q);
    check_rate(w.sent(q), 1e9, w.period_s(), 0.02);
  }
  for (unsigned q = 0; q < 8; ++q) fast += rate_of(w.sent(q), w.period_s());
  for (unsigned q = 0; q < 8; ++q) {
    CHECK(std::abs(rate_of(w.sent(q), w.period_s()) / (fast / 8) - 1) < 0.02);
  }
}

TEST_CASE("neighbours at rest, or that wait for long, hold up nobody") {
  World w(kQps);
  for (unsigned q = 0; q < kQps - 1; ++q) {
    w.limit(q, 1 + q % 3);
    if (q % 2 == 0) w.busy(q, {.len = 4096});
  }
  w.limit(63, 100'000);
  w.run(5000);
  w.forget();
  w.busy(63, {.len = 4096});
  w.run_until(63, 500, 200'000);
  check_rate(w.sent(63), 100e9, w.period_s(), 0.005);
}

TEST_CASE("time stamps wrap: rates go on, a rest across the wrap is a rest") {
  World w(kQps, 0xFFFFFFFF - 60'000);
  w.limit(1, 5000);
  w.limit(2, 500);
  w.busy(1, {.len = 2048});
  w.busy(2, {.len = 512});
  w.limit(4, 100);
  w.busy(4, {.len = 4096, .left = 1});
  w.run(400'000);  // past the wrap; QP 4 has paid its debt
  check_rate(w.sent(1), 5e9, w.period_s(), 0.005);
  check_rate(w.sent(2), 0.5e9, w.period_s(), 0.01);
  w.forget();
  w.busy(4, {.len = 4096, .left = 1});
  w.run(100);
  CHECK(w.sent(4).size() == 1);
}

TEST_CASE("a QP that starts anew has no debt") {
  World w(kQps);
  w.limit(9, 10);
  w.busy(9, {.len = 4096, .left = 1});
  w.run(1000);
  REQUIRE(w.sent(9).size() == 1);
  w.forget();
  SECTION("without CLEAR it waits 3.3 ms") {
    w.busy(9, {.len = 4096, .left = 1});
    w.run(20'000);
    CHECK(w.sent(9).empty());
  }
  SECTION("cleared") {
    w.clear(9);
    w.busy(9, {.len = 4096, .left = 1});
    w.run(60);
    CHECK(w.sent(9).size() == 1);
  }
}

TEST_CASE("a QP that must not wait comes at once, and pays later") {
  World w(kQps);
  w.limit(6, 100);
  w.busy(6, {.len = 256});
  w.run(500);
  REQUIRE(w.sent(6).size() == 1);
  w.hurry(6);
  w.run(40);
  CHECK(w.sent(6).size() == 2);
  w.run_until(6, 12, 1'000'000);
  // It came early; the next one waits for both.
  const auto& d = w.sent(6);
  CHECK(std::abs(static_cast<double>(d[11].cycle - d[0].cycle) / (11 * 338 * 8 * 5.0) - 1) < 0.01);
}

TEST_CASE("bytes in flight stay below the window") {
  World w(kQps);
  w.rate(8, 400e9, 40'000);
  w.acks(8, false);
  w.busy(8, {.len = 1024});
  w.run(5000);
  CHECK(w.in_flight(8) <= 40'000 + 2 * 1106);
  CHECK(w.in_flight(8) >= 40'000 - 1106);
  // A larger window is news that is not waited for; ACKs without news are seen soon.
  uint64_t before = w.in_flight(8);
  w.rate(8, 400e9, 80'000);
  w.run(40);
  CHECK(w.in_flight(8) > before);
  w.run(3000);
  before = w.sent(8).size();
  w.acks(8, true);
  w.run(300);
  CHECK(w.sent(8).size() > before);
  // None any more.
  w.acks(8, false);
  w.rate(8, 400e9, 0);
  w.run(20'000);
  CHECK(w.in_flight(8) > 800'000);
}

TEST_CASE("responses are at the rate of their QP, alone and beside its requests") {
  World w(kQps);
  const Work read{.len = 4096, .opcode = roce::kRcReadRespMiddle};
  w.limit(3, 10'000);
  w.limit(4, 2000);
  w.answers(3, read);
  w.answers(4, read);
  w.run(120'000);
  check_rate(w.answered(3), 10e9, w.period_s(), 0.005);
  check_rate(w.answered(4), 2e9, w.period_s(), 0.01);
  // A burst is for requests and responses alike: none here.
  w.answers(3, {.left = 0});
  w.run(20'000);
  w.forget();
  w.answers(3, read);
  w.run(700);
  CHECK(w.answered(3).size() <= 4);
  // Both want: they take turns.
  w.busy(3, {.len = 4096});
  w.run(1000);
  w.forget();
  w.run(200'000);
  const double out = rate_of(w.answered(3), w.period_s()), in = rate_of(w.sent(3), w.period_s());
  INFO("responses " << out / 1e9 << ", requests " << in / 1e9);
  CHECK(std::abs((out + in) / 10e9 - 1) < 0.01);
  CHECK(std::abs(out / in - 1) < 0.05);
  // A window of the requests is not the responses' business. Two requests, the second checked one
  // packet late, fill it; each takes its turn with a response, 2 * 1677 cycles at this rate.
  w.rate(3, 10e9, 5000);
  w.acks(3, false);
  w.run(10'000);
  w.forget();
  w.run(40'000);
  check_rate(w.answered(3), 10e9, w.period_s(), 0.01);
  CHECK(w.sent(3).empty());
}

TEST_CASE("no limit: never here") {
  World w(kQps);
  w.rate(1, 400e9);
  w.limit(2, 0);
  w.limit(3, 0xFFFFF);
  w.bench->cfg_cc_i = 0;
  w.rate(4, 1e6);  // congestion control is off
  w.tick(10);
  for (unsigned q = 0; q < 5; ++q) w.busy(q, {.len = 4096});
  w.run(20'000);
  CHECK(w.waits() == 0);
  for (unsigned q = 0; q < 5; ++q) CHECK(w.sent(q).size() > 80);
}

TEST_CASE("300 QPs that wait are freed one per 4 cycles; another clock") {
  PacerWorld<Vtx_pacer_fast> w(300, 0, 1.25e-9);
  w.limit(1, 10'000);
  w.busy(1, {.len = 4096});
  w.run_until(1, 40, 200'000);
  check_rate(w.sent(1), 10e9, w.period_s(), 0.002);
  for (unsigned q = 0; q < 300; ++q) {
    w.rate(q, 1e6);
    w.busy(q, {.len = 64});
    w.tick(3);
  }
  w.run(20'000);
  w.forget();
  for (unsigned q = 0; q < 300; ++q) {
    w.rate(q, 400e9);
    w.tick(3);
  }
  w.run(60'000);
  for (unsigned q = 2; q < 300; ++q) {
    INFO("QP " << q);
    CHECK(w.sent(q).size() > 3);
  }
}

TEST_CASE("random changes, rests, orders: no QP is lost, none is above its rate") {
  World w(kQps, 0xFFFFF000);
  Rng random = rnic::test::rng("tx_pacer.random");
  w.bench->cfg_burst_i = 3000;
  for (unsigned i = 0; i < 4000; ++i) {
    const auto q = static_cast<unsigned>(random.between(0, kQps - 1));
    if (random.chance(0.1)) {
      w.answers(q, {.len = 2048, .opcode = roce::kRcReadRespMiddle, .left = random.between(0, 50)});
    }
    switch (random.between(0, 5)) {
      case 0:
        w.limit(q, static_cast<unsigned>(random.between(100, 400'000)));
        break;
      case 1:
        w.rate(q, static_cast<double>(random.between(100, 400'000)) * 1e6);
        break;
      case 2:
        w.hurry(q);
        break;
      case 3:
        w.idle(q);
        break;
      default:
        w.busy(q, {.len = static_cast<unsigned>(random.between(0, 4096))});
    }
    w.run(random.between(0, 60));
  }
  w.forget();
  for (unsigned q = 0; q < kQps; ++q) {
    w.limit(q, 3000);
    w.rate(q, 400e9);
    w.busy(q, {.len = 1000});
  }
  w.run(600'000);
  w.forget();
  w.run(150'000);
  for (unsigned q = 0; q < kQps; ++q) {
    INFO("QP " << q);
    check_rate(w.sent(q), 3e9, w.period_s(), 0.01);
  }
}
