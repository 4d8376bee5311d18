// SPDX-License-Identifier: Apache-2.0
//
// rq_store: rings in memory, read ahead in any order and with any delay; the user of a QP sees
// every receive WQE once, in ring order, as it stands in memory, however many QPs share the places.
#include <Vrq_store.h>
#include <Vrq_store_512.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kQps = 16;
constexpr unsigned kDmaRq = 2;  // client number RD_RQ

struct Wqe {
  uint64_t next = 0;
  unsigned seg_cnt = 0;
  uint16_t index = 0;
  std::array<uint64_t, 6> segs{};  // {len << 32 | lkey, va} three times
  bool read_fails = false;
  uint8_t fail_status = 0;

  std::vector<uint8_t> image() const {
    std::vector<uint8_t> b(64, 0);
    auto put = [&](size_t at, uint64_t v, size_t n) {
      for (size_t i = 0; i < n; ++i) b[at + i] = static_cast<uint8_t>(v >> (8 * i));
    };
    put(0, next, 8);
    b[11] = static_cast<uint8_t>(seg_cnt << 4);
    put(12, index, 2);
    for (size_t i = 0; i < 6; ++i) put(16 + 8 * i, segs[i], 8);
    return b;
  }
  bool malformed(uint16_t at) const { return next != 0 || index != at || seg_cnt > 3; }
};

struct Qp {
  uint64_t state = kRts;
  bool exists = true;
  unsigned log = 3;
  uint64_t base = 0;
  std::map<uint16_t, Wqe> posted;  // by index
  uint16_t prod = 0, cons = 0;     // as the host and the user see them
  uint16_t rung = 0;               // doorbells that were taken
  std::deque<uint16_t> doorbells;  // on their way
};

struct Config {
  Stall stall;
  unsigned low = 1, high = 1;  // of reads
  double broken = 0;           // malformed WQEs, reads that fail
};

template <class Top, unsigned W>
class World {
 public:
  static constexpr unsigned kB = W / 8, kUnit = std::min(kB, 64u);
  explicit World(const Config& c = {})
      : config(c),
        top(bench.top()),
        ctx(
            bench, "rq", {top.rq_lk_valid, top.rq_lk_ready, top.rq_ctx_valid},
            [this] { return context(top.rq_lk_qpn); },
            [this](const Bits& b) { write_pin(top.rq_ctx, b); }),
        db(
            bench, "rqdb", top.rqdb_valid, top.rqdb_ready,
            [this](const std::pair<uint64_t, uint16_t>& d) {
              top.rqdb_qpn = static_cast<uint32_t>(d.first);
              top.rqdb_index = d.second;
            },
            c.stall),
        rdreq(
            bench, "rdreq", top.rdreq_valid, top.rdreq_ready,
            [this] { return read_pin(top.rdreq); }, c.stall),
        rqf(
            bench, "rqf", top.rqf_valid, top.rqf_ready, [this] { return uint64_t{top.rqf_qpn}; },
            c.stall),
        orders(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi),
        passed(
            bench, "qpo", top.qpo_valid, top.qpo_ready, [this] { return read_pin(top.qpi); },
            c.stall) {
    ctx.set_stall(c.stall);
    ctx.set_latency(1, 3);
    for (unsigned i = 0; i < kQps; ++i) {
      qps[i].log = 3 + i % 3;
      qps[i].base = 0x1000'0000 + 0x10000 * i;
    }
    rdreq.on_item([this](const Bits& b) { on_read(b); });
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    bench.reset();
    bench.wait(
        "init_done_o", [this] { return top.init_done_o != 0; }, 100);
  }

  // -------------------------------------------------------------------------------- the host
  void post(unsigned qpn, unsigned count, bool ring = true) {
    Qp& q = qps[qpn];
    for (unsigned i = 0; i < count; ++i) {
      Wqe w;
      w.index = q.prod;
      w.seg_cnt = static_cast<unsigned>(random.below(4));
      for (auto& s : w.segs) s = random.u64();
      if (random.chance(config.broken)) {
        switch (random.below(4)) {
          case 0:
            w.index = static_cast<uint16_t>(w.index + 1);
            break;
          case 1:
            w.seg_cnt = static_cast<unsigned>(random.between(4, 15));
            break;
          case 2:
            w.next = 1 + random.below(1000);
            break;
          case 3:
            w.read_fails = true;
            w.fail_status = static_cast<uint8_t>(random.between(1, 0x23));
            break;
        }
      }
      q.posted[q.prod++] = w;
    }
    if (ring) doorbell(qpn, q.prod);
  }
  void doorbell(uint64_t qpn, uint16_t index) {
    if (qpn < kQps) qps[qpn].doorbells.push_back(index);
    db.push({qpn, index});
  }
  unsigned room(unsigned qpn) {
    return (1u << qps[qpn].log) - static_cast<uint16_t>(qps[qpn].prod - qps[qpn].cons);
  }

  // -------------------------------------------------------------------------------- the user
  // Looks at a QP until it has its receive, as rx_responder does; nothing when none is posted.
  std::optional<Bits> take(unsigned qpn, bool pop = true) {
    look(qpn);
    if (top.rqh_posted_o == 0) return {};
    for (unsigned i = 0; i < 3000; ++i) {
      want_get = true;
      want_look = qpn;
      bench.tick();
      if (top.rqh_valid != 0) {
        const Bits entry = read_pin(top.rqh);
        if (pop) pop_one(qpn);
        return entry;
      }
    }
    FAIL("QP " << qpn << " waits for its receive WQE");
    return {};
  }
  void look(unsigned qpn) {
    want_look = qpn;
    bench.tick(2);
    want_look.reset();
  }
  void pop_one(unsigned qpn) {
    want_look.reset();
    want_pop = qpn;
    bench.tick();
  }
  // What the entry must be.
  void check(unsigned qpn, uint16_t at, const Bits& entry) {
    const Wqe& w = qps[qpn].posted.at(at);
    INFO("QP " << qpn << " index " << at);
    const bool bad = w.read_fails || w.malformed(at);
    CHECK((kRqEntry.get(entry, "bad") != 0) == bad);
    if (bad) {
      CHECK(kRqEntry.get(entry, "status") == (w.read_fails ? w.fail_status : 2));
      return;
    }
    const char* const names[] = {"seg0", "seg1", "seg2"};
    for (unsigned i = 0; i < 3; ++i) {
      const Bits seg = kRqEntry.get_bits(entry, names[i]);
      CHECK(seg.get(0, 64) == (i < w.seg_cnt ? w.segs[2 * i] : 0));
      CHECK(seg.get(64, 64) == (i < w.seg_cnt ? w.segs[2 * i + 1] : 0));
    }
  }
  void settle() {
    bench.wait(
        "doorbells and orders taken", [this] { return db.pending() + orders.pending() == 0; },
        100000);
    bench.tick(20);
  }

  Config config;
  Bench<Top> bench;
  Top& top;
  LookupServer ctx;
  StreamSource<std::pair<uint64_t, uint16_t>> db;
  StreamSink<Bits> rdreq;
  StreamSink<uint64_t> rqf;
  StreamSource<Bits> orders;
  StreamSink<Bits> passed;
  Rng random = rng("traffic");
  std::array<Qp, kQps> qps;
  uint64_t refused = 0, want_refused = 0, fetched = 0, reads = 0;
  unsigned answer_limit = ~0u;  // reads that are answered, of those asked for

 private:
  struct Answer {
    uint64_t due = 0;
    unsigned slot = 0;
    std::vector<uint8_t> data;
    bool err = false;
    uint8_t status = 0;
  };
  std::vector<Answer> waiting;
  std::deque<std::pair<Bits, std::vector<uint8_t>>> beats;  // of one TLP at a time
  std::optional<unsigned> want_look, want_pop;
  bool want_get = false;

  Bits context(uint64_t qpn) {
    if (qpn >= kQps) return Bits(kConn.width());
    const Qp& q = qps[qpn];
    return kConn.pack(
        {{"exists", q.exists}, {"state", q.state}, {"log_rq", q.log}, {"rq_base", q.base}});
  }
  void on_read(const Bits& b) {
    ++reads;
    const auto qpn = static_cast<unsigned>(kRdReq.get(b, "qpn"));
    REQUIRE(qpn < kQps);
    const Qp& q = qps[qpn];
    const uint64_t addr = kRdReq.get(b, "addr");
    CHECK(kRdReq.get(b, "len") == 64);
    CHECK(kRdReq.get(b, "dst_off") == 0);
    CHECK(kRdReq.get(b, "first") == 1);
    CHECK(addr % 64 == 0);
    const uint64_t at = (addr - q.base) / 64;
    CHECK(at < (1u << q.log));
    const auto index = static_cast<uint16_t>(kRdReq.get(b, "wqe_index"));
    CHECK((index & ((1u << q.log) - 1)) == at);
    Answer a;
    a.due = bench.cycle() + random.between(config.low, config.high);
    if (waiting.size() >= answer_limit) a.due = ~0ull;
    a.slot = static_cast<unsigned>(kRdReq.get(b, "slot"));
    for (const Answer& other : waiting) CHECK(other.slot != a.slot);
    auto it = q.posted.find(index);
    if (it == q.posted.end()) {
      a.data.assign(64, 0xEE);  // a ring that was given up
    } else {
      a.data = it->second.image();
      a.err = it->second.read_fails;
      a.status = it->second.fail_status;
    }
    waiting.push_back(a);
  }
  void sample() {
    refused += top.cnt_doorbell_refused_o;
    fetched += top.cnt_rq_fetched_o;
    if (top.rqdb_valid && top.rqdb_ready) {
      const uint64_t qpn = top.rqdb_qpn;
      const uint16_t index = top.rqdb_index;
      if (qpn >= kQps) {
        ++want_refused;
      } else {
        Qp& q = qps[qpn];
        q.doorbells.pop_front();
        const auto ahead = static_cast<uint16_t>(index - q.cons);
        const auto have = static_cast<uint16_t>(q.rung - q.cons);
        if (q.exists && q.state != kReset && ahead <= (1u << q.log) && ahead >= have)
          q.rung = index;
        else
          ++want_refused;
      }
    }
  }
  void drive() {
    top.rqh_lk_valid = want_look.has_value();
    if (want_look) top.rqh_lk_qpn = *want_look;
    top.rqh_get_i = want_get;
    want_get = false;
    top.rqp_valid = want_pop.has_value();
    if (want_pop) {
      Qp& q = qps[*want_pop];
      ++q.cons;
      top.rqp_qpn = *want_pop;
      top.rqp_index = q.cons;
      want_pop.reset();
    }
    // Answers, in any order, beat by beat.
    if (beats.empty()) {
      std::vector<size_t> due;
      for (size_t i = 0; i < waiting.size(); ++i)
        if (waiting[i].due <= bench.cycle()) due.push_back(i);
      if (!due.empty()) {
        const size_t i = due[random.below(due.size())];
        const Answer& a = waiting[i];
        if (a.err) {
          beats.emplace_back(kRdRsp.pack({{"client", kDmaRq},
                                          {"slot", a.slot},
                                          {"tlp_last", 1},
                                          {"err", 1},
                                          {"status", a.status},
                                          {"lost", 64}}),
                             std::vector<uint8_t>{});
        } else {
          for (unsigned at = 0; at < 64; at += kUnit) {
            beats.emplace_back(
                kRdRsp.pack({{"client", kDmaRq},
                             {"slot", a.slot},
                             {"tlp_last", at + kUnit == 64},
                             {"dst_off", at},
                             {"cnt", kUnit}}),
                std::vector<uint8_t>(a.data.begin() + at, a.data.begin() + at + kUnit));
          }
        }
        waiting.erase(waiting.begin() + static_cast<long>(i));
      }
    }
    top.rdrsp_valid = 0;
    if (!beats.empty() && !config.stall()) {
      top.rdrsp_valid = 1;
      write_pin(top.rdrsp, beats.front().first);
      auto lanes = beats.front().second;
      while (lanes.size() < kB) lanes.push_back(static_cast<uint8_t>(random.below(256)));
      write_pin(top.rdrsp_data, Bits::from_bytes(lanes));
      beats.pop_front();
    } else if (random.chance(0.2)) {
      // another client's
      top.rdrsp_valid = 1;
      write_pin(top.rdrsp, kRdRsp.pack({{"client", 1}, {"slot", random.below(16)}, {"cnt", 16}}));
    }
  }
};

template <class Top, unsigned W>
void run_random(const Config& config, unsigned steps) {
  World<Top, W> w(config);
  auto random = rng("schedule");
  uint64_t taken = 0;
  for (unsigned i = 0; i < steps; ++i) {
    const auto qpn = static_cast<unsigned>(random.below(random.chance(0.5) ? 3 : kQps));
    Qp& q = w.qps[qpn];
    if (const unsigned room = w.room(qpn); room > 0 && random.chance(0.5))
      w.post(qpn, static_cast<unsigned>(random.between(1, room)), random.chance(0.8));
    if (random.chance(0.02)) w.doorbell(qpn, static_cast<uint16_t>(q.prod + 40 + random.below(99)));
    if (random.chance(0.02)) w.doorbell(random.between(kQps, 0xFFFFFF), 1);
    if (random.chance(0.02)) w.doorbell(qpn, static_cast<uint16_t>(q.cons - 1));
    for (unsigned k = random.below(4); k > 0; --k) {
      const uint16_t at = q.cons;
      // A WRITE with immediate uses a receive that it does not read.
      if (random.chance(0.1)) {
        w.look(qpn);
        if (w.top.rqh_posted_o) w.pop_one(qpn);
        continue;
      }
      const bool pop = random.chance(0.8);  // or a SEND of several packets, which looks again
      if (auto entry = w.take(qpn, pop)) {
        w.check(qpn, at, *entry);
        ++taken;
      } else {
        // Never "nothing posted" for what was taken from the doorbells some cycles ago.
        w.settle();
        if (q.rung != at) CHECK(w.take(qpn, false).has_value());
      }
    }
  }
  w.settle();
  for (unsigned qpn = 0; qpn < kQps; ++qpn) {
    Qp& q = w.qps[qpn];
    w.doorbell(qpn, q.prod);
    w.settle();
    w.top.q_rq_qpn_i = qpn;
    w.bench.tick(2);
    CHECK(w.top.q_rq_prod_o == q.prod);
    while (q.cons != q.prod) {
      const uint16_t at = q.cons;
      auto entry = w.take(qpn);
      REQUIRE(entry.has_value());
      w.check(qpn, at, *entry);
    }
    CHECK(!w.take(qpn).has_value());
  }
  CHECK(taken > steps / 4);
  CHECK(w.refused == w.want_refused);
  CHECK(w.refused > 0);
  CHECK(w.fetched == w.reads);
}

}  // namespace

TEST_CASE("every receive WQE is seen once, in ring order, as it stands in memory") {
  run_random<Vrq_store, 128>({.stall = {}, .low = 1, .high = 3, .broken = 0.1}, 6000);
  run_random<Vrq_store, 128>({.stall = Stall::random(0.4), .low = 1, .high = 80, .broken = 0.1},
                             6000);
  run_random<Vrq_store_512, 512>({.stall = Stall::random(0.2), .low = 20, .high = 60}, 6000);
}

TEST_CASE("WQEs are read ahead, so that a user of one QP waits for the first only") {
  World<Vrq_store, 128> w({.stall = {}, .low = 40, .high = 40});
  w.qps[2].log = 5;
  w.post(2, 32);
  w.settle();
  w.bench.tick(60);
  for (unsigned i = 0; i < 4; ++i) {
    const uint64_t start = w.bench.cycle();
    REQUIRE(w.take(2).has_value());
    CHECK(w.bench.cycle() - start <= 5);  // looked, got, used
  }
}

TEST_CASE("doorbells of a QP that shares the places do not hold off a WQE that is waited for") {
  World<Vrq_store_512, 512> w({.stall = {}, .low = 60, .high = 60});
  w.post(1, 4);
  w.post(9, 4);
  w.settle();
  w.bench.tick(200);
  for (int i = 0; i < 1000; ++i) w.doorbell(9, 4);
  const uint64_t start = w.bench.cycle();
  auto entry = w.take(1);
  REQUIRE(entry.has_value());
  w.check(1, 0, *entry);
  CHECK(w.bench.cycle() - start < 150);
  // The other has its turn when it is wanted.
  entry = w.take(9);
  REQUIRE(entry.has_value());
  w.check(9, 0, *entry);
}

TEST_CASE("a doorbell is taken while reads are not answered") {
  World<Vrq_store, 128> w;
  w.answer_limit = 0;
  for (unsigned i = 0; i < kQps; ++i) w.post(i, 8);
  w.settle();
  w.bench.tick(200);
  CHECK(w.reads == 32);
  w.rdreq.set_stall(Stall::always());
  for (unsigned i = 0; i < kQps; ++i) w.doorbell(i, 8);
  w.bench.wait(
      "doorbells", [&] { return w.db.pending() == 0; }, kQps * 8);
}

TEST_CASE("CLEAR forgets a ring, also what is on its way; the other QPs keep theirs") {
  World<Vrq_store, 128> w({.stall = {}, .low = 100, .high = 140});
  Qp& q = w.qps[1];
  w.post(5, 4);
  const auto clear = [&] {
    q.state = kReset;
    w.orders.push(order(kClear, 1));
    w.settle();
    q.posted.clear();
    q.prod = q.cons = q.rung = 0;
  };
  for (unsigned round = 0; round < 6; ++round) {
    w.post(1, 4);
    w.bench.tick(20 + 25 * round);
    clear();
    CHECK(w.passed.size() == 2 * round + 1);
    w.look(1);
    CHECK(w.top.rqh_posted_o == 0);
    CHECK(w.top.rqh_prod_o == 0);
    w.doorbell(1, 2);  // refused in RESET
    w.settle();
    q.state = kInit;
    w.post(1, 3);
    w.settle();
    for (uint16_t i = 0; i < 3; ++i) {
      auto entry = w.take(1);
      REQUIRE(entry.has_value());
      w.check(1, i, *entry);
    }
    clear();
    q.state = kRts;
  }
  for (uint16_t i = 0; i < 4; ++i) {
    auto entry = w.take(5);
    REQUIRE(entry.has_value());
    w.check(5, i, *entry);
  }
  CHECK(w.refused == 6);
}

TEST_CASE("receives that are posted in ERR are announced, each QP once until it is heard") {
  World<Vrq_store, 128> w;
  w.rqf.set_stall(Stall::always());
  for (unsigned i = 0; i < kQps; ++i) {
    w.qps[i].state = kErr;
    for (int k = 0; k < 3; ++k) w.post(i, 1);
  }
  w.settle();
  w.rqf.set_stall(Stall::none());
  w.bench.tick(60);
  CHECK(w.rqf.size() == kQps);
  w.post(3, 1);
  w.settle();
  CHECK(w.rqf.size() == kQps + 1);
  CHECK(w.rqf[kQps] == 3);
}

TEST_CASE("orders go to rx_responder first and are done when both have them") {
  World<Vrq_store, 128> w;
  w.passed.set_stall(Stall::always());
  w.post(4, 3);
  w.settle();
  w.orders.push(order(kClear, 4));
  w.bench.tick(30);
  CHECK(w.orders.pending() == 1);
  w.look(4);
  CHECK(w.top.rqh_posted_o == 1);
  w.passed.set_stall(Stall::none());
  w.bench.tick(10);
  CHECK(w.orders.pending() == 0);
  w.look(4);
  CHECK(w.top.rqh_posted_o == 0);
}

TEST_CASE("a reset empties everything") {
  World<Vrq_store, 128> w({.stall = {}, .low = 1, .high = 30});
  for (unsigned i = 0; i < kQps; ++i) w.post(i, 8);
  w.settle();
  w.bench.tick(300);
  w.bench.reset();
  w.bench.wait(
      "init", [&] { return w.top.init_done_o != 0; }, 100);
  for (unsigned i = 0; i < kQps; ++i) {
    w.qps[i].posted.clear();
    w.qps[i].prod = w.qps[i].cons = w.qps[i].rung = 0;
    w.look(i);
    CHECK(w.top.rqh_posted_o == 0);
  }
  w.post(7, 2);
  w.settle();
  auto entry = w.take(7);
  REQUIRE(entry.has_value());
  w.check(7, 0, *entry);
}
