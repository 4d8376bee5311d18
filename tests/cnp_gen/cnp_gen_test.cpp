// SPDX-License-Identifier: Apache-2.0
//
// cnp_gen against a list of who was answered when: every marked packet is answered if and only if
// its flow was not in the last interval. 10 cycles are a microsecond here.
#include <Vcnp_gen.h>

#include <deque>
#include <map>
#include <optional>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kPerUs = 10, kOut = 16;
enum Scope { kQp = 0, kAddress = 1, kPort = 2 };

struct Mark {
  uint64_t qpn = 0, dest = 0, path = 0;
  Bits addr{128};
  Bits bits() const {
    Bits b = kMarked.pack({{"qpn", qpn}, {"dest_qpn", dest}, {"path", path}});
    kMarked.set_bits(b, "addr", addr);
    return b;
  }
};

class World {
 public:
  explicit World(Scope scope = kQp, unsigned interval = 4, Stall stall = {})
      : top(bench.top()),
        out(
            bench, "cnp", top.cnp_valid, top.cnp_ready, [this] { return read_pin(top.cnp); },
            stall) {
    bench.on_sample([this] {
      sent += top.cnt_sent_o;
      lost += top.cnt_lost_o;
      if (top.in_a_valid_i) judge(a_now_);
      if (top.in_b_valid_i) judge(b_now_);
    });
    bench.on_drive([this] {
      top.in_a_valid_i = top.in_b_valid_i = 0;
      if (!a.empty() && a.front().first <= bench.cycle()) {
        a_now_ = a.front().second;
        top.in_a_valid_i = 1;
        write_pin(top.in_a_i, a_now_.bits());
        a.pop_front();
      }
      if (!b.empty() && b.front().first <= bench.cycle()) {
        b_now_ = b.front().second;
        top.in_b_valid_i = 1;
        write_pin(top.in_b_i, b_now_.bits());
        b.pop_front();
      }
    });
    top.cfg_enable_i = 1;
    set(scope, interval);
    bench.reset();
    bench.tick(2);
  }
  void set(Scope scope, unsigned interval) {
    scope_ = scope;
    interval_ = interval;
    top.cfg_scope_i = scope;
    top.cfg_interval_i = static_cast<SData>(interval);
  }
  Mark mark(uint64_t qpn, uint64_t peer) {
    Mark m{qpn, qpn * 7 + 1, qpn + 40, Bits(128)};
    m.addr.set(0, 32, 0x0A000000 + peer);
    return m;
  }
  void settle() {
    bench.wait(
        "inputs taken", [this] { return a.empty() && b.empty(); }, 100000);
    bench.tick(200);
    CHECK(difference(out.items(), want) == "");
    CHECK(sent == want.size());
    CHECK(lost == want_lost);
  }

  Bench<Vcnp_gen> bench;
  Vcnp_gen& top;
  StreamSink<Bits> out;
  std::deque<std::pair<uint64_t, Mark>> a, b;  // cycle, packet
  std::vector<Bits> want;
  uint64_t sent = 0, lost = 0, want_lost = 0;
  uint64_t seen_at = 0;  // cycle of the last packet

 private:
  // Both inputs in one cycle: the first comes first.
  void judge(const Mark& m) {
    seen_at = bench.cycle();
    if (!top.cfg_enable_i) return;
    const std::string flow = scope_ == kQp        ? std::to_string(m.qpn)
                             : scope_ == kAddress ? "addr " + std::to_string(m.addr.get(0, 64))
                                                  : "port";
    const uint64_t now = bench.cycle();
    if (auto it = last_.find(flow); it != last_.end()) {
      const uint64_t age = now - it->second;
      // An interval ends within a few cycles behind its last; not tested to the cycle.
      if (interval_ != 0 && age < uint64_t{interval_} * kPerUs) return;
    }
    last_[flow] = now;
    want.push_back(kTxPkt.pack({{"qpn", m.qpn},
                                {"response", 1},
                                {"path", m.path},
                                {"opcode", 0x81},
                                {"becn", 1},
                                {"pkey", 0xFFFF},
                                {"dest_qpn", m.dest}}));
  }
  static inline const PkgStruct kTxPkt{"tx_pkt_t"};
  std::map<std::string, uint64_t> last_;
  Scope scope_ = kQp;
  unsigned interval_ = 4;
  Mark a_now_, b_now_;
};

}  // namespace

TEST_CASE("a flow gets one CNP per interval: per QP, per address, per port") {
  for (Scope scope : {kQp, kAddress, kPort}) {
    INFO("scope " << scope);
    World w(scope, 5);
    // QPs 1 and 2 of peer 3, QP 4 of peer 5, every 10 cycles, twelve intervals long. Ages are
    // multiples of 10 cycles, and 5 us are 50: an interval has ended for the sixth packet if the
    // block is some cycles late, so the packets stand 7 cycles behind a multiple.
    uint64_t at = w.bench.cycle() + 5;
    for (unsigned i = 0; i < 60; ++i) {
      const uint64_t t = at + 10 * i + (i / 5) * 7;
      w.a.emplace_back(t, w.mark(1, 3));
      w.a.emplace_back(t + 3, w.mark(2, 3));
      w.b.emplace_back(t, w.mark(4, 5));
    }
    w.settle();
    const size_t flows = scope == kQp ? 3 : scope == kAddress ? 2 : 1;
    CHECK(w.want.size() == 12 * flows);
  }
}

TEST_CASE("random packets on both inputs, several intervals, all scopes") {
  for (unsigned interval : {1u, 4u, 30u}) {
    for (Scope scope : {kQp, kAddress, kPort}) {
      World w(scope, interval, Stall::random(0.2));
      auto random = rng("packets");
      uint64_t a = w.bench.cycle() + 5, b = a;
      for (int i = 0; i < 1500; ++i) {
        a += random.between(3, 12);
        b += random.between(4, 9);
        // A packet that comes when an interval ends would depend on the cycle: whole steps of
        // 16 cycles, where no multiple of an interval is in reach of the block's latency.
        const auto grid = [](uint64_t t) { return t / 16 * 16; };
        if (w.a.empty() || w.a.back().first < grid(a))
          w.a.emplace_back(grid(a), w.mark(random.below(16), random.below(8)));
        if (w.b.empty() || w.b.back().first < grid(b))
          w.b.emplace_back(grid(b), w.mark(random.below(16), random.below(8)));
      }
      w.settle();
      CHECK(w.want.size() > 20);
    }
  }
}

TEST_CASE("interval 0: a CNP for every marked packet, also back to back") {
  World w(kQp, 0);
  uint64_t at = w.bench.cycle() + 5;
  for (int i = 0; i < 400; ++i) {
    w.a.emplace_back(at + 3 * static_cast<uint64_t>(i), w.mark(7, 1));
    if (i % 2) w.b.emplace_back(at + 3 * static_cast<uint64_t>(i), w.mark(8, 1));
  }
  w.settle();
  CHECK(w.want.size() == 600);
}

TEST_CASE("an interval is never short, and over within three cycles") {
  for (unsigned interval : {1u, 2u, 50u}) {
    World w(kQp, interval);
    const uint64_t length = uint64_t{interval} * kPerUs;
    for (uint64_t gap : {length - 1, length + 3}) {
      w.out.clear();
      const uint64_t at = w.bench.cycle() + 5;
      w.a.emplace_back(at, w.mark(3, 1));
      w.a.emplace_back(at + gap, w.mark(3, 1));
      w.bench.tick(static_cast<unsigned>(gap + 40));
      CHECK(w.out.size() == (gap < length ? 1 : 2));
      w.bench.tick(static_cast<unsigned>(length + 20));
    }
  }
}

TEST_CASE("a CNP is out two cycles after its packet") {
  World w;
  w.a.emplace_back(w.bench.cycle() + 5, w.mark(3, 1));
  w.settle();
  CHECK(w.out.cycles().front() == w.seen_at + 2);
}

TEST_CASE("addresses that share a place get CNPs more often, never fewer") {
  World w(kAddress, 20);
  // Two addresses whose parts differ in the same bits twice have the same place.
  Mark one = w.mark(1, 0), two = w.mark(2, 0);
  one.addr.set(0, 64, 0x11);
  two.addr.set(0, 64, 0x11 ^ 0b1001);  // bits 0 and 3: the same of 3 bits of a place
  uint64_t at = w.bench.cycle() + 5;
  for (int i = 0; i < 8; ++i) {
    w.a.emplace_back(at, one);
    w.a.emplace_back(at + 5, two);
    at += 10;
  }
  w.bench.tick(300);
  size_t ones = 0, twos = 0;
  for (const Bits& b : w.out.items()) {
    static const PkgStruct pkt("tx_pkt_t");
    (pkt.get(b, "qpn") == 1 ? ones : twos) += 1;
  }
  CHECK(ones == 8);
  CHECK(twos == 8);
}

TEST_CASE("what finds the way out full is lost, counted, and asked for by the next packet") {
  World w(kQp, 1000);
  w.out.set_stall(Stall::always());
  const uint64_t at = w.bench.cycle() + 5;
  // 16 QPs, then once more: their intervals run.
  for (unsigned i = 0; i < 32; ++i) w.a.emplace_back(at + 3 * i, w.mark(i % 16, 1));
  w.bench.tick(200);
  CHECK(w.lost == 0);
  w.set(kQp, 0);
  w.bench.tick(20);
  for (unsigned i = 0; i < 3; ++i) w.a.emplace_back(w.bench.cycle() + 3 * i, w.mark(2, 1));
  w.bench.tick(40);
  CHECK(w.lost == 3);
  w.out.set_stall(Stall::none());
  w.bench.tick(60);
  CHECK(w.out.size() == kOut);
  w.set(kQp, 1000);
  w.bench.tick(5);
  w.a.emplace_back(w.bench.cycle(), w.mark(2, 1));
  w.bench.tick(40);
  CHECK(w.out.size() == kOut + 1);
}

TEST_CASE("off, nothing is sent; on again, an old interval does not count for ever") {
  World w(kQp, 3);
  w.top.cfg_enable_i = 0;
  uint64_t at = w.bench.cycle() + 5;
  for (unsigned i = 0; i < 20; ++i) w.a.emplace_back(at + 3 * i, w.mark(i % 16, 1));
  w.settle();
  CHECK(w.out.size() == 0);
  w.top.cfg_enable_i = 1;
  w.a.emplace_back(w.bench.cycle() + 2, w.mark(1, 1));
  w.settle();
  CHECK(w.out.size() == 1);
}

TEST_CASE("another interval counts for those that run, another scope starts with what is known") {
  World w(kQp, 1000);
  w.a.emplace_back(w.bench.cycle() + 2, w.mark(1, 1));
  w.bench.tick(100);
  w.set(kQp, 5);  // it was 100 cycles ago: over
  w.bench.tick(5);
  w.a.emplace_back(w.bench.cycle() + 2, w.mark(1, 1));
  w.bench.tick(20);
  CHECK(w.out.size() == 2);
  w.bench.tick(100);
  w.set(kPort, 5);
  w.a.emplace_back(w.bench.cycle() + 2, w.mark(9, 2));
  w.a.emplace_back(w.bench.cycle() + 6, w.mark(10, 3));
  w.bench.tick(30);
  CHECK(w.out.size() == 3);
}

TEST_CASE("a reset forgets who was answered and what waits") {
  World w(kQp, 1000);
  w.out.set_stall(Stall::always());
  for (unsigned i = 0; i < 10; ++i) w.a.emplace_back(w.bench.cycle() + 2 + 3 * i, w.mark(i, 1));
  w.bench.tick(60);
  w.bench.reset();
  w.out.set_stall(Stall::none());
  w.bench.tick(5);
  CHECK(w.out.size() == 0);
  w.a.emplace_back(w.bench.cycle() + 2, w.mark(3, 1));
  w.bench.tick(20);
  CHECK(w.out.size() == 1);
}
