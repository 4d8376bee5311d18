// SPDX-License-Identifier: Apache-2.0
//
// resp_engine: however it coalesces, what it sends must tell the requester the same as one answer
// per request would (AckEffect of harness/roce), in PSN order, and within the time that is
// configured.
#include <Vresp_engine.h>

#include <deque>
#include <map>

#include "harness/roce/responder_model.hpp"
#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;
using rnic::roce::AckEffect;

namespace {

constexpr unsigned kQps = 8;
constexpr uint32_t kMask = 0xFFFFFF;

struct Sent {
  uint64_t qpn = 0, psn = 0, msn = 0, syndrome = 0, cycle = 0;
};

class World {
 public:
  explicit World(Stall stall = {}, unsigned high = 1)
      : top(bench.top()),
        re(
            bench, "re", {top.re_lk_valid, top.re_lk_ready, top.re_ctx_valid},
            [this] { return conn[top.re_lk_qpn]; },
            [this](const Bits& b) { write_pin(top.re_ctx, b); }),
        ackq(bench, "ackq", top.ackq_valid, top.ackq_ready, top.ackq, stall),
        orders(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi),
        rsp(
            bench, "rsp", top.rsp_valid, top.rsp_ready, [this] { return read_pin(top.rsp); },
            stall) {
    re.set_stall(stall);
    re.set_latency(1, high);
    for (unsigned i = 0; i < kQps; ++i) {
      conn[i] = kConn.pack(
          {{"exists", 1}, {"path", 500 + i}, {"pkey", 0x8000 + i}, {"dest_qpn", 0x700 + i}});
      psn[i] = (0xFFFFF0 + i) & kMask;
    }
    bench.on_sample([this] {
      counts[0] += top.cnt_tx_acks_o;
      counts[1] += top.cnt_tx_nak_seq_o + top.cnt_tx_nak_inv_o + top.cnt_tx_nak_access_o +
                   top.cnt_tx_nak_op_o + top.cnt_tx_rnr_nak_o;
    });
    rsp.on_item([this](const Bits& b) {
      const uint64_t q = kTxPkt.get(b, "qpn");
      REQUIRE(q < kQps);
      CHECK(kTxPkt.get(b, "opcode") == 0x11);
      CHECK(kTxPkt.get(b, "response") == 1);
      CHECK(kTxPkt.get(b, "path") == 500 + q);
      CHECK(kTxPkt.get(b, "pkey") == 0x8000 + q);
      CHECK(kTxPkt.get(b, "dest_qpn") == 0x700 + q);
      for (const char* f : {"payload_len", "ack_req", "se"}) CHECK(kTxPkt.get(b, f) == 0);
      const Sent s{q, kTxPkt.get(b, "psn"), kTxPkt.get(b, "msn"), kTxPkt.get(b, "syndrome"),
                   bench.cycle()};
      sent.push_back(s);
      got[q].add(0x11, static_cast<uint32_t>(s.psn), static_cast<uint8_t>(s.syndrome),
                 static_cast<uint32_t>(s.msn));
    });
    top.cfg_count_i = 16;
    top.cfg_cycles_i = 64;
    bench.reset();
  }
  void ask(unsigned q, uint32_t p, uint8_t syndrome, bool urgent) {
    ackq.push(kAckReq.pack({{"qpn", q},
                            {"psn", p & kMask},
                            {"msn", msn[q]},
                            {"syndrome", syndrome},
                            {"ack_req", 1},
                            {"urgent", urgent}}));
    want[q].add(0x11, p & kMask, syndrome, msn[q]);
    const AckEffect::Nak nak{p & kMask, syndrome};
    const bool again = !naks[q].empty() && naks[q].back() == std::pair(nak, false);
    if (syndrome != 0x1F) {
      for (auto& n : naks[q]) n.second = n.second || !again;  // the newest NAK counts
    }
    if (syndrome != 0x1F && !again) naks[q].push_back({nak, false});
  }
  // The next request of this QP asks for an ACK.
  void next(unsigned q, unsigned packets = 1) {
    psn[q] = (psn[q] + packets) & kMask;
    msn[q] = (msn[q] + 1) & kMask;
    for (auto& nak : naks[q]) nak.second = true;
    ask(q, psn[q] - 1, 0x1F, false);
  }
  void settle() {
    bench.wait(
        "requests", [this] { return ackq.pending() == 0; }, 100000);
    bench.tick(top.cfg_cycles_i + 200);
    for (unsigned i = 0; i < kQps; ++i) {
      INFO("QP " << i);
      CHECK(got[i].acked_through == want[i].acked_through);
      CHECK(got[i].msn == want[i].msn);
      // Every NAK in its order; one that a newer NAK or an ACK of its own PSN followed may be left
      // out.
      size_t n = 0;
      for (const auto& [nak, over] : naks[i]) {
        const bool here = n < got[i].naks.size() && got[i].naks[n] == nak;
        if (here)
          ++n;
        else
          CHECK(over);
      }
      CHECK(n == got[i].naks.size());
    }
    CHECK(counts[0] + counts[1] == sent.size());
  }

  Bench<Vresp_engine> bench;
  Vresp_engine& top;
  LookupServer re;
  StreamSource<Bits> ackq;
  StreamSource<Bits> orders;
  StreamSink<Bits> rsp;
  Rng random = rng("traffic");
  std::array<Bits, kQps> conn;
  std::array<uint32_t, kQps> psn{}, msn{};
  std::array<AckEffect, kQps> got, want;
  std::array<std::vector<std::pair<AckEffect::Nak, bool>>, kQps> naks;  // asked for; superseded
  std::vector<Sent> sent;
  std::array<uint64_t, 2> counts{};
};

}  // namespace

TEST_CASE("random answers of many QPs, coalesced, tell the requester the same as all of them") {
  for (double p : {0.0, 0.5}) {
    World w(Stall::random(p), p == 0 ? 1 : 4);
    auto random = rng("schedule");
    std::array<bool, kQps> nak{};
    for (int i = 0; i < 6000; ++i) {
      w.bench.wait(
          "room", [&] { return w.ackq.pending() < 4; }, 10000);
      if (i % 500 == 0) {
        w.settle();
        static const uint8_t kCounts[] = {0, 1, 2, 16, 255};
        static const uint16_t kCycles[] = {0, 10, 64, 500};
        w.top.cfg_count_i = kCounts[random.below(5)];
        w.top.cfg_cycles_i = kCycles[random.below(4)];
      }
      const auto q = static_cast<unsigned>(random.below(kQps));
      if (nak[q]) {
        // After a NAK, the QP goes on when the packet comes again, or answers duplicates.
        nak[q] = random.chance(0.6);
        if (nak[q]) {
          if (random.chance(0.3)) w.ask(q, w.psn[q] - 1, 0x1F, true);
          continue;
        }
      }
      const auto pick = random.below(20);
      if (pick == 0)
        w.ask(q, w.psn[q] - 1, 0x1F, true);  // a duplicate
      else if (pick == 1) {
        static const uint8_t kSyndromes[] = {0x60, 0x60, 0x2C,
                                             0x21, 0x60, 0x3F};  // a fatal one ends a QP
        w.ask(q, w.psn[q], kSyndromes[random.below(6)], true);
        nak[q] = true;
      } else {
        w.next(q, static_cast<unsigned>(random.between(1, 9)));
      }
      w.bench.tick(random.below(6));
    }
    w.settle();
    CHECK(w.sent.size() < 5500);
  }
}

TEST_CASE("a lone message is acknowledged at once, also after a long silence") {
  World w;
  for (uint64_t silence : {100u, 65530u, 65600u, 131080u}) {
    w.bench.tick(silence);
    w.next(2);
    const size_t before = w.sent.size();
    w.bench.wait(
        "ACK", [&] { return w.sent.size() > before; }, 20);
    CHECK(w.rsp.cycles().back() - w.ackq.cycles().back() == 4);
  }
}

TEST_CASE("a stream of messages is acknowledged every cfg_cycles, the last one too") {
  World w;
  w.bench.tick(100);
  for (int i = 0; i < 100; ++i) {
    w.next(1);
    w.bench.tick(5);
  }
  w.settle();
  CHECK(w.sent.size() >= 500 / 70);
  CHECK(w.sent.size() <= 500 / 60 + 2);
  CHECK(w.sent.back().psn == ((w.psn[1] - 1) & kMask));
  CHECK(w.sent.back().cycle - w.ackq.cycles().back() <= 64 + 8);
  for (size_t i = 1; i < w.sent.size(); ++i) CHECK(w.sent[i].cycle - w.sent[i - 1].cycle <= 64 + 8);
}

TEST_CASE("cfg_count answers are enough to send one") {
  World w;
  w.top.cfg_count_i = 4;
  w.top.cfg_cycles_i = 60000;
  w.bench.tick(60001);
  for (int i = 0; i < 13; ++i) w.next(1);
  w.bench.wait("requests", [&] { return w.ackq.pending() == 0; });
  w.bench.tick(20);
  CHECK(w.sent.size() == 4);  // the first at once, then one of four
}

TEST_CASE("requests are taken every 2 cycles") {
  World w;
  w.top.cfg_cycles_i = 0;  // no coalescing
  for (unsigned i = 0; i < 40; ++i) w.next(i % kQps);
  w.settle();
  CHECK(w.ackq.cycles().back() - w.ackq.cycles().front() == 2 * 39);
}

TEST_CASE("an answer leaves every 3 cycles") {
  World v;
  for (unsigned i = 0; i < kQps; ++i) v.ask(i, v.psn[i] - 1, 0x1F, true);
  v.settle();
  const auto& c = v.rsp.cycles();
  CHECK(c[kQps - 1] - c[2] == 3 * (kQps - 3));
}

TEST_CASE(
    "a NAK is not hidden by an ACK of what came before it, and an ACK behind it replaces it") {
  World w;
  w.rsp.set_stall(Stall::always());
  w.ask(7, w.psn[7] - 1, 0x1F, true);  // holds the sender
  w.ask(3, w.psn[3], 0x60, true);
  w.ask(3, w.psn[3] - 1, 0x1F, true);  // a duplicate
  w.bench.tick(40);
  w.rsp.set_stall(Stall::none());
  w.settle();
  REQUIRE(w.sent.size() == 2);
  CHECK(w.sent[1].syndrome == 0x60);
  CHECK(w.sent[1].psn == w.psn[3]);
}

TEST_CASE("CLEAR forgets the answer that waits; ERR does not, so that its NAK leaves") {
  World w;
  w.bench.tick(100);
  w.next(1);
  w.bench.tick(20);
  w.next(1);  // waits
  w.next(2);
  w.bench.wait("requests", [&] { return w.ackq.pending() == 0; });
  w.bench.tick(3);
  w.orders.push(order(kClear, 1));
  w.bench.tick(100);
  CHECK(w.sent.size() == 2);
  w.bench.tick(100);
  // The list still names QP 1; a new answer of its next life leaves in time.
  w.next(1);
  w.bench.tick(20);
  CHECK(w.sent.size() == 3);
  w.rsp.set_stall(Stall::always());
  w.ask(5, w.psn[5] - 1, 0x1F, true);
  w.ask(4, w.psn[4], 0x62, true);
  w.bench.wait("requests", [&] { return w.ackq.pending() == 0; });
  w.orders.push(order(kOrderErr, 4));
  w.bench.wait("order", [&] { return w.orders.pending() == 0; });
  w.rsp.set_stall(Stall::none());
  w.bench.tick(100);
  CHECK(w.sent.back().syndrome == 0x62);
}

TEST_CASE("answers of a QP that was destroyed are dropped, orders never wait long") {
  World w;
  w.conn[6] = Bits(kConn.width());
  w.ask(6, 5, 0x1F, true);
  w.want[6] = {};
  for (int i = 0; i < 200; ++i) w.next(static_cast<unsigned>(i % 6));
  w.bench.tick(50);
  w.orders.push(order(kOrderKick, 1));
  w.bench.wait(
      "order", [&] { return w.orders.pending() == 0; }, 6);
  w.settle();
  for (const Sent& s : w.sent) CHECK(s.qpn != 6);
}

TEST_CASE("reset forgets what waits") {
  World w(Stall::random(0.5), 3);
  auto random = rng("when");
  for (int i = 0; i < 8; ++i) {
    for (unsigned k = 0; k < 12; ++k) w.next(k % kQps);
    w.bench.tick(random.below(40));
    w.bench.reset();
    w.got = w.want = {};
    w.naks = {};
    w.sent.clear();
    w.counts = {};
    w.bench.tick(200);
    CHECK(w.sent.empty());
    w.next(1);
    w.settle();
    CHECK(w.sent.size() == 1);
  }
}
