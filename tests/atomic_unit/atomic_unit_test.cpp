// SPDX-License-Identifier: Apache-2.0
//
// atomic_unit against a memory that answers reads late and in any order, with what it holds at any
// time between request and answer, and takes writes when it likes. Whatever it does, the old values
// and the memory must be those of one operation after the other (facts: roce.md section 4,
// atomicity).
#include <Vatomic_16.h>
#include <Vatomic_4.h>

#include <deque>
#include <map>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;

namespace {

struct Atomic {
  uint64_t addr = 0;
  bool swap = false;
  uint64_t op0 = 0, op1 = 0;
  uint32_t tag = 0;
  bool operator==(const Atomic&) const = default;
};
struct Result {
  uint32_t tag = 0;
  uint64_t value = 0;
  bool err = false;
  bool operator==(const Result&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Result& r) {
  return out << "tag " << r.tag << " value " << std::hex << r.value << std::dec
             << (r.err ? " err" : "");
}

template <class Top>
class World {
 public:
  explicit World(Stall stall = {})
      : top(bench.top()),
        at(
            bench, "at", top.at_valid, top.at_ready,
            [this](const Atomic& a) {
              top.at_addr = a.addr;
              top.at_swap = a.swap;
              top.at_op0 = a.op0;
              top.at_op1 = a.op1;
              top.at_tag = a.tag;
              top.at_qpn = a.tag & 0xFF;
              top.at_psn = a.tag;
            },
            stall),
        res(
            bench, "res", top.res_valid, top.res_ready,
            [this] {
              return Result{top.res_tag, top.res_value, top.res_err != 0};
            },
            stall),
        rd(
            bench, "rdreq", top.rdreq_valid, top.rdreq_ready,
            [this] { return read_pin(top.rdreq); }, stall),
        wr(
            bench, "wrreq", top.wrreq_valid, top.wrreq_ready,
            [this] { return read_pin(top.wrreq); }, stall),
        wd(
            bench, "wrdat", top.wrdat_valid, top.wrdat_ready,
            [this] {
              CHECK(top.wrdat_cnt == 8);
              CHECK(top.wrdat_last == 1);
              return read_pin(top.wrdat_data).get(0, 64);
            },
            stall) {
    rd.on_item([this](const Bits& b) {
      CHECK(kRdReq.get(b, "len") == 8);
      CHECK(kRdReq.get(b, "dst_off") == 0);
      CHECK(kRdReq.get(b, "first") == 1);
      Read r;
      r.addr = kRdReq.get(b, "addr");
      r.slot = static_cast<unsigned>(kRdReq.get(b, "slot"));
      r.sample_at = bench.cycle() + random.below(latency);
      r.due = std::max(r.sample_at, bench.cycle()) + 1 + random.below(latency);
      r.fails = fails && fails(r.addr);
      r.split = random.chance(split) ? static_cast<unsigned>(random.between(1, 7)) : 0;
      reads.push_back(r);
    });
    wr.on_item([this](const Bits& b) {
      CHECK(kWrReq.get(b, "len") == 8);
      CHECK(kWrReq.get(b, "fence") == 0);
      CHECK(kWrReq.get(b, "is_queue") == 0);
      write_addr.push_back(kWrReq.get(b, "addr"));
    });
    wd.on_item([this](uint64_t v) { write_data.push_back(v); });
    bench.on_sample([this] { done += top.cnt_atomics_o; });
    bench.on_drive([this] { drive(); });
    bench.reset();
  }

  // What must come of it, one after the other.
  void ask(Atomic a) {
    uint64_t& m = model[a.addr];
    const bool bad = fails && fails(a.addr);
    want.push_back({a.tag, bad ? 0 : m, bad});
    if (!bad) m = a.swap ? (m == a.op1 ? a.op0 : m) : m + a.op0;
    at.push(a);
  }
  void finish() {
    bench.wait(
        "results", [this] { return res.size() == want.size(); }, 200000);
    bench.tick(100);
    for (size_t i = 0; i < want.size(); ++i) {
      INFO("result " << i);
      Result got = res[i];
      if (want[i].err) got.value = 0;
      REQUIRE(got == want[i]);
    }
    for (const auto& [addr, value] : model) {
      INFO("address " << std::hex << addr);
      CHECK(memory[addr] == value);
    }
  }

  Bench<Top> bench;
  Top& top;
  StreamSource<Atomic> at;
  StreamSink<Result> res;
  StreamSink<Bits> rd, wr;
  StreamSink<uint64_t> wd;
  Rng random = rng("memory");
  std::map<uint64_t, uint64_t> memory, model;
  std::vector<Result> want;
  std::function<bool(uint64_t)> fails;
  unsigned latency = 10;
  double split = 0.0;
  uint64_t done = 0;

 private:
  struct Read {
    uint64_t addr = 0, sample_at = 0, due = 0, value = 0;
    unsigned slot = 0, split = 0, given = 0;
    bool fails = false, sampled = false;
  };
  void drive() {
    // A write lands, later its pulse.
    top.placed_i = 0;
    if (!write_addr.empty() && !write_data.empty() && random.chance(latency <= 2 ? 1.0 : 0.3)) {
      memory[write_addr.front()] = write_data.front();
      write_addr.pop_front();
      write_data.pop_front();
      ++landed;
    }
    if (landed > 0 && random.chance(latency <= 2 ? 1.0 : 0.3)) {
      --landed;
      top.placed_i = 1;
    }
    for (Read& r : reads) {
      if (!r.sampled && r.sample_at <= bench.cycle()) {
        r.sampled = true;
        r.value = memory[r.addr];
      }
    }
    top.rdrsp_valid = 0;
    std::vector<size_t> ready;
    for (size_t i = 0; i < reads.size(); ++i) {
      if (reads[i].sampled && reads[i].due <= bench.cycle()) ready.push_back(i);
    }
    if (ready.empty() || !random.chance(0.8)) {
      // Somebody else's data.
      if (random.chance(0.3)) {
        top.rdrsp_valid = 1;
        write_pin(top.rdrsp, kRdRsp.pack({{"client", 1}, {"slot", random.below(16)}, {"cnt", 8}}));
      }
      return;
    }
    const size_t pick = random.pick(ready);
    Read& r = reads[pick];
    const unsigned from = r.given;
    const unsigned n = r.split != 0 && r.given == 0 ? r.split : 8 - r.given;
    const bool err = r.fails && from + n == 8;
    top.rdrsp_valid = 1;
    write_pin(top.rdrsp, kRdRsp.pack({{"client", 3},
                                      {"slot", r.slot},
                                      {"tlp_last", 1},
                                      {"dst_off", from},
                                      {"cnt", err ? 0 : n},
                                      {"err", err},
                                      {"status", err ? 4 : 0},
                                      {"lost", err ? n : 0}}));
    // Lanes that are not of this beat hold junk.
    uint64_t data = random.u64();
    for (unsigned i = from; i < from + n; ++i) {
      const uint64_t mask = uint64_t{0xFF} << (8 * i);
      data = (data & ~mask) | (r.value & mask);
    }
    top.rdrsp_data = data;
    r.given += n;
    if (r.given == 8) reads.erase(reads.begin() + static_cast<std::ptrdiff_t>(pick));
  }

  std::deque<Read> reads;
  std::deque<uint64_t> write_addr, write_data;
  unsigned landed = 0;
};

}  // namespace

TEMPLATE_TEST_CASE("any mixture gives what one after the other gives", "", Vatomic_4, Vatomic_16) {
  for (double p : {0.0, 0.5}) {
    for (unsigned cells : {1u, 2u, 6u, 100u}) {
      INFO(cells << " cells, stall " << p);
      World<TestType> w{Stall::random(p)};
      w.latency = cells == 2 ? 40 : 10;
      w.split = 0.2;
      auto random = rng("operations");
      for (unsigned i = 0; i < cells; ++i) {
        const uint64_t v = random.chance(0.5) ? random.below(4) : random.u64();
        w.memory[0x1000 + 8 * i] = w.model[0x1000 + 8 * i] = v;
      }
      for (uint32_t i = 0; i < 2000; ++i) {
        Atomic a;
        a.addr = 0x1000 + 8 * random.below(cells);
        a.tag = i;
        a.swap = random.chance(0.5);
        a.op0 = random.chance(0.5) ? random.below(4) : random.u64();
        // Half of the compares hit.
        a.op1 = random.chance(0.5) ? w.model[a.addr] : random.below(4);
        w.ask(a);
      }
      w.finish();
      CHECK(w.done == 2000);
    }
  }
}

TEST_CASE("additions wrap at 2^64; a swap that does not match writes nothing") {
  World<Vatomic_16> w;
  w.memory[8] = w.model[8] = ~uint64_t{0};
  w.ask({8, false, 2, 0, 1});
  w.ask({8, true, 77, 5, 2});
  w.ask({8, true, 78, 1, 3});
  w.ask({8, true, 79, 78, 4});
  w.finish();
  CHECK(w.memory[8] == 79);
  CHECK(w.wr.size() == 3);
}

TEST_CASE("a read that fails fails those that wait for its value, and nobody else") {
  for (double p : {0.0, 0.5}) {
    World<Vatomic_16> w{Stall::random(p)};
    w.fails = [](uint64_t a) { return a == 0x100; };
    auto random = rng("failures");
    for (uint32_t i = 0; i < 1000; ++i) {
      w.ask({0x100 + 8 * random.below(4), random.chance(0.5), random.below(3), random.below(3), i});
    }
    w.finish();
    CHECK(w.memory.count(0x100) <= 1);
    CHECK(w.memory[0x100] == 0);
  }
}

TEST_CASE("cells that stand differently within 8 bytes do not meet") {
  World<Vatomic_16> w;
  auto random = rng("places");
  for (uint32_t i = 0; i < 500; ++i) {
    // 0x1000, 0x1008 and, of another region, 0x2003, 0x200B
    const uint64_t addr =
        random.chance(0.5) ? 0x1000 + 8 * random.below(2) : 0x2003 + 8 * random.below(2);
    w.ask({addr, false, random.u64(), 0, i});
  }
  w.finish();
}

TEST_CASE("16 reads are in flight at once; a hot cell is read once and goes at full pace") {
  {
    World<Vatomic_16> w;
    w.latency = 200;
    for (uint32_t i = 0; i < 16; ++i) w.ask({0x1000 + 8 * i, false, 1, 0, i});
    w.bench.wait("reads", [&] { return w.rd.size() == 16; });
    CHECK(w.rd.cycles().back() - w.rd.cycles().front() == 15);
    w.finish();
  }
  World<Vatomic_16> w;
  w.latency = 2;
  for (uint32_t i = 0; i < 400; ++i) w.ask({0x1000, false, 1, 0, i});
  w.finish();
  CHECK(w.memory[0x1000] == 400);
  const auto& c = w.res.cycles();
  CHECK(c[350] - c[50] <= 2 * 300);
}

TEST_CASE("reset in the middle leaves nothing behind") {
  for (unsigned when : {3u, 8u, 30u}) {
    World<Vatomic_16> w;
    for (uint32_t i = 0; i < 10; ++i) w.ask({0x1000 + 8 * (i % 3), false, 1, 0, i});
    w.bench.tick(when);
    w.bench.reset();
    CHECK(w.top.res_valid == 0);
    CHECK(w.top.rdreq_valid == 0);
    CHECK(w.top.wrreq_valid == 0);
  }
}
