// SPDX-License-Identifier: Apache-2.0
//
// cqe_gen against a model of completion queues: rings of 32-byte entries written byte by byte from
// the descriptor table, producer, consumer, owner bit, overrun, arming. Requests and doorbells act
// in the order in which the block takes them.
#include <Vcqe_gen.h>
#include <Vcqe_gen_1024.h>
#include <Vcqe_gen_128.h>

#include <deque>
#include <map>
#include <set>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kCqs = 6;

struct Write {
  uint64_t addr = 0, qpn = 0;
  bool fence = false, sampled = false;
  std::vector<uint8_t> bytes;  // timestamp zeroed
  bool operator==(const Write&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Write& w) {
  out << std::hex << "addr " << w.addr << " qp " << w.qpn << " fence " << w.fence << " :";
  for (uint8_t b : w.bytes) out << " " << +b;
  return out << std::dec;
}
using Event = std::array<uint64_t, 4>;  // eqn, type, code, number

struct Doorbell {
  uint64_t cqn = 0, index = 0;
  bool arm = false, arm_sol = false;
};

struct Ring {
  bool valid = false;
  uint64_t eqn = 0, base = 0;
  unsigned log_size = 1;
  uint16_t prod = 0, cons = 0;
  bool arm = false, arm_sol = false, overrun = false;
};

template <class Top, unsigned W>
class World {
 public:
  explicit World(Stall stall = {})
      : top(bench.top()),
        rq0(bench, "rq0", top.rq0_valid, top.rq0_ready, top.rq0, stall),
        rq1(bench, "rq1", top.rq1_valid, top.rq1_ready, top.rq1, stall),
        cqdb(
            bench, "cqdb", top.cqdb_valid, top.cqdb_ready,
            [this](const Doorbell& d) {
              top.cqdb_cqn = static_cast<uint16_t>(d.cqn);
              top.cqdb_index = static_cast<uint16_t>(d.index);
              top.cqdb_arm = d.arm;
              top.cqdb_arm_sol = d.arm_sol;
            },
            stall),
        wrreq(
            bench, "wrreq", top.wrreq_valid, top.wrreq_ready,
            [this] { return read_pin(top.wrreq); }, stall),
        wrdat(
            bench, "wrdat", top.wrdat_valid, top.wrdat_ready,
            [this] {
              return std::pair(read_pin(top.wrdat_data),
                               std::pair(unsigned{top.wrdat_cnt}, top.wrdat_last != 0));
            },
            stall),
        events(
            bench, "event", top.event_valid, top.event_ready,
            [this] { return read_pin(top.event_o); }, stall),
        fails(
            bench, "fail", top.fail_valid, top.fail_ready, [this] { return read_pin(top.fail); },
            stall) {
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { top.timestamp_i = bench.cycle(); });
    wrdat.on_item([this](const auto& beat) {
      const auto [cnt, last] = beat.second;
      CHECK(cnt == std::min(W / 8, 32u));
      for (unsigned i = 0; i < cnt; ++i) data.push_back(beat.first.byte(i));
      CHECK(last == (data.size() % 32 == 0));
    });
    events.on_item([this](const Bits& b) {
      got_events.push_back({kEvent.get(b, "eqn"), kEvent.get(b, "etype"), kEvent.get(b, "code"),
                            kEvent.get(b, "number")});
      // What it announces is with dma_master.
      CHECK(wrreq.size() * 32 == data.size());
      CHECK(wrreq.size() == want_writes.size());
    });
    fails.on_item([this](const Bits& b) {
      got_fails.push_back(kFail.get(b, "qpn"));
      CHECK(kFail.get(b, "cause") == 0x23);
    });
    bench.reset();
    bench.wait(
        "init", [this] { return top.init_done_o != 0; }, 50);
  }
  void create(unsigned cqn, unsigned log_size, uint64_t eqn, bool valid = true) {
    const uint64_t base = 0x10'0000'0000 + (uint64_t{cqn} << 24) + (creates_++ << 32);
    top.cw_valid = 1;
    top.cw_index = static_cast<uint16_t>(cqn);
    write_pin(top.cw,
              kCq.pack({{"valid", valid}, {"eqn", eqn}, {"log_size", log_size}, {"base", base}}));
    bench.tick();
    top.cw_valid = 0;
    if (cqn < kCqs) rings[cqn] = {.valid = valid, .eqn = eqn, .base = base, .log_size = log_size};
  }
  Bits request(uint64_t cqn, uint64_t status, bool solicited) {
    return kCqeReq.pack({{"cqn", cqn},
                         {"qpn", random.bits(24)},
                         {"opcode", random.bits(8)},
                         {"status", status},
                         {"wqe_index", random.bits(16)},
                         {"byte_count", random.bits(32)},
                         {"imm", random.bits(32)},
                         {"imm_valid", random.bits(1)},
                         {"ipv6", random.bits(1)},
                         {"solicited", solicited},
                         {"src_qpn", random.bits(24)},
                         {"syndrome", random.bits(8)},
                         {"fence", random.bits(1)},
                         {"sampled", random.bits(1)},
                         {"grh", random.bits(1)}});
  }
  void settle() {
    bench.wait(
        "idle", [this] { return rq0.pending() + rq1.pending() + cqdb.pending() == 0; }, 200000);
    bench.tick(100);
    REQUIRE(data.size() == 32 * wrreq.size());
    std::vector<Write> got;
    for (size_t i = 0; i < wrreq.size(); ++i) {
      const Bits& r = wrreq[i];
      CHECK(kWrReq.get(r, "len") == 32);
      CHECK(kWrReq.get(r, "is_queue") == 1);
      CHECK(kWrReq.get(r, "relaxed") == 0);
      Write w{kWrReq.get(r, "addr"),
              kWrReq.get(r, "qpn"),
              kWrReq.get(r, "fence") != 0,
              kWrReq.get(r, "sampled") != 0,
              {}};
      w.bytes.assign(data.begin() + static_cast<long>(32 * i),
                     data.begin() + static_cast<long>(32 * i + 32));
      uint64_t stamp = 0;
      for (unsigned k = 0; k < 8; ++k) {
        stamp |= uint64_t{w.bytes[16 + k]} << (8 * k);
        w.bytes[16 + k] = 0;
      }
      CHECK(stamp <= wrreq.cycles()[i]);
      CHECK(stamp >= want_from.at(i));
      got.push_back(w);
    }
    CHECK(difference(got, want_writes) == "");
    CHECK(got_events == want_events);
    CHECK(got_fails == want_fails);
    CHECK(counts["written"] == want_writes.size());
    CHECK(counts["overrun"] == want_fails.size());
    CHECK(counts["refused"] == want_refused);
    for (unsigned i = 0; i < kCqs; ++i) {
      top.cr_valid = 1;
      top.cr_index = static_cast<uint16_t>(i);
      bench.tick();
      top.cr_valid = 0;
      CHECK(top.cr_rsp_valid == 1);
      CHECK(top.cr_prod == rings[i].prod);
      CHECK(top.cr_cons == rings[i].cons);
      CHECK(kCq.get(read_pin(top.cr), "valid") == rings[i].valid);
    }
  }

  Bench<Top> bench;
  Top& top;
  StreamSource<Bits> rq0, rq1;
  StreamSource<Doorbell> cqdb;
  StreamSink<Bits> wrreq;
  StreamSink<std::pair<Bits, std::pair<unsigned, bool>>> wrdat;
  StreamSink<Bits> events, fails;
  Rng random = rng("traffic");
  std::array<Ring, kCqs> rings{};
  std::vector<uint8_t> data;
  std::vector<Write> want_writes;
  std::vector<uint64_t> want_from;  // cycle of the request
  std::vector<Event> got_events, want_events;
  std::vector<uint64_t> got_fails, want_fails;
  uint64_t want_refused = 0;
  std::map<std::string, uint64_t> counts;

 private:
  void sample() {
    counts["written"] += top.cnt_cqe_written_o;
    counts["overrun"] += top.cnt_cq_overrun_o;
    counts["refused"] += top.cnt_doorbell_refused_o;
    const int taken = (top.rq0_valid && top.rq0_ready) + (top.rq1_valid && top.rq1_ready) +
                      (top.cqdb_valid && top.cqdb_ready);
    CHECK(taken <= 1);
    if (top.rq0_valid && top.rq0_ready) on_request(read_pin(top.rq0));
    if (top.rq1_valid && top.rq1_ready) on_request(read_pin(top.rq1));
    if (top.cqdb_valid && top.cqdb_ready)
      on_doorbell({top.cqdb_cqn, top.cqdb_index, top.cqdb_arm != 0, top.cqdb_arm_sol != 0});
  }
  void on_request(const Bits& b) {
    const uint64_t cqn = kCqeReq.get(b, "cqn");
    Ring* r = cqn < kCqs && rings[cqn].valid ? &rings[cqn] : nullptr;
    const unsigned size = r ? 1u << r->log_size : 0;
    if (r == nullptr || static_cast<uint16_t>(r->prod - r->cons) >= size) {
      want_fails.push_back(kCqeReq.get(b, "qpn"));
      if (r != nullptr && !r->overrun) {
        want_events.push_back({r->eqn, kEvCqOverrun, 0, cqn});
        r->overrun = true;
      }
      return;
    }
    Write w;
    w.addr = r->base + 32 * (r->prod % size);
    w.qpn = kCqeReq.get(b, "qpn");
    w.fence = kCqeReq.get(b, "fence") != 0;
    w.sampled = kCqeReq.get(b, "sampled") != 0;
    w.bytes.resize(32);
    auto put = [&](size_t at, uint64_t value, size_t n) {
      for (size_t i = 0; i < n; ++i) w.bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
    };
    put(0, kCqeReq.get(b, "opcode"), 1);
    put(1, kCqeReq.get(b, "status"), 1);
    put(2, kCqeReq.get(b, "wqe_index"), 2);
    put(4, kCqeReq.get(b, "qpn"), 3);
    put(7, kCqeReq.get(b, "ipv6") | kCqeReq.get(b, "grh") << 1 | kCqeReq.get(b, "imm_valid") << 2,
        1);
    put(8, kCqeReq.get(b, "byte_count"), 4);
    put(12, kCqeReq.get(b, "imm"), 4);
    put(24, kCqeReq.get(b, "src_qpn"), 3);
    put(28, kCqeReq.get(b, "syndrome"), 1);
    put(31, (r->prod / size) % 2 == 0 ? 1 : 0, 1);  // owner: 1 on the first pass
    ++r->prod;
    want_writes.push_back(w);
    want_from.push_back(bench.cycle());
    if (r->arm ||
        (r->arm_sol && (kCqeReq.get(b, "solicited") != 0 || kCqeReq.get(b, "status") != 0))) {
      want_events.push_back({r->eqn, kEvCompletion, 0, cqn});
      r->arm = r->arm_sol = r->overrun = false;
    }
  }
  void on_doorbell(const Doorbell& d) {
    Ring* r = d.cqn < kCqs && rings[d.cqn].valid ? &rings[d.cqn] : nullptr;
    if (r == nullptr ||
        static_cast<uint16_t>(d.index - r->cons) > static_cast<uint16_t>(r->prod - r->cons)) {
      ++want_refused;
      return;
    }
    r->cons = static_cast<uint16_t>(d.index);
    r->arm = r->arm || d.arm;
    r->arm_sol = r->arm_sol || d.arm_sol;
    r->overrun = false;
    // Arming a queue with completions that were not seen announces it at once.
    if ((d.arm || d.arm_sol) && r->prod != r->cons) {
      want_events.push_back({r->eqn, kEvCompletion, 0, d.cqn});
      r->arm = r->arm_sol = false;
    }
  }
  uint64_t creates_ = 0;
};

template <class Top, unsigned W>
void run_random(Stall stall, unsigned steps) {
  World<Top, W> w(stall);
  auto random = rng("schedule");
  for (unsigned i = 0; i + 1 < kCqs; ++i) w.create(i, 1 + i, 3 + i);  // the last one does not exist
  for (unsigned i = 0; i < steps; ++i) {
    w.bench.wait(
        "room", [&] { return w.rq0.pending() < 4 && w.rq1.pending() < 4 && w.cqdb.pending() < 3; },
        100000);
    const uint64_t cqn = random.chance(0.02) ? random.below(70) : random.below(kCqs - 1);
    const Bits b =
        w.request(cqn, random.chance(0.2) ? random.between(1, 0x23) : 0, random.chance(0.3));
    (random.chance(0.5) ? w.rq0 : w.rq1).push(b);
    if (random.chance(0.7)) {
      const uint64_t d = random.chance(0.02) ? random.below(70) : random.below(kCqs - 1);
      Ring dead;
      const Ring& r = d < kCqs ? w.rings[d] : dead;
      const auto used = static_cast<uint16_t>(r.prod - r.cons);
      uint64_t index = r.cons + random.below(used + 1u);
      if (random.chance(0.5)) index = r.prod;
      if (random.chance(0.05)) index = random.bits(16);
      w.cqdb.push({d, index & 0xFFFF, random.chance(0.3), random.chance(0.3)});
    }
    if (random.chance(0.01)) {
      // Destroy and create anew, when nothing of it is on its way.
      w.settle();
      const auto again = static_cast<unsigned>(random.below(kCqs - 1));
      w.create(again, 1, 0, false);
      w.create(again, static_cast<unsigned>(random.between(1, 4)), random.below(8));
    }
  }
  w.settle();
  CHECK(w.want_events.size() > 50);
  CHECK(w.want_fails.size() > 20);
  CHECK(w.want_refused > 5);
}

}  // namespace

TEST_CASE("cqe_gen agrees with the model of completion queues on random requests and doorbells") {
  run_random<Vcqe_gen, 256>({}, 4000);
  run_random<Vcqe_gen_128, 128>({}, 1000);
  run_random<Vcqe_gen_1024, 1024>({}, 1000);
}

TEST_CASE("cqe_gen agrees with the model under stalls on every side") {
  run_random<Vcqe_gen, 256>(Stall::random(0.3), 1500);
  run_random<Vcqe_gen_128, 128>(Stall::bursts(0.2, 6), 1000);
}

TEST_CASE("cqe_gen writes a CQE every 2 cycles, 2 cycles after its request") {
  World<Vcqe_gen, 256> w;
  w.create(2, 6, 1);
  for (int i = 0; i < 20; ++i) {
    w.rq0.push(w.request(2, 0, false));
    w.rq1.push(w.request(2, 0, false));
  }
  w.settle();
  CHECK(w.wrreq.cycles().back() - w.wrreq.cycles().front() == 2 * 39);
  CHECK(w.wrreq.cycles().front() - std::min(w.rq0.cycles().front(), w.rq1.cycles().front()) == 2);
}

TEST_CASE("with 128 bit cqe_gen writes a CQE every 3 cycles") {
  World<Vcqe_gen_128, 128> n;
  n.create(2, 6, 1);
  for (int i = 0; i < 20; ++i) n.rq0.push(n.request(2, 0, false));
  n.settle();
  CHECK(n.wrreq.cycles().back() - n.wrreq.cycles().front() == 3 * 19);
}

TEST_CASE("both request streams get their share") {
  World<Vcqe_gen, 256> w;
  w.create(1, 9, 1);
  for (int i = 0; i < 100; ++i) {
    w.rq0.push(w.request(1, 0, false));
    w.rq1.push(w.request(1, 0, false));
  }
  w.bench.tick(100);
  CHECK(w.rq0.taken() >= 24);
  CHECK(w.rq1.taken() >= 24);
}

TEST_CASE("the indices wrap at 65536 and the owner bit flips on every pass") {
  World<Vcqe_gen, 256> w;
  w.create(0, 15, 1);
  for (unsigned n = 0; n < 5; ++n) {
    for (unsigned i = 0; i < 16384; ++i) w.rq0.push(w.request(0, 0, false));
    w.bench.wait(
        "requests", [&] { return w.rq0.pending() == 0; }, 100000);
    w.bench.tick(10);
    w.cqdb.push({0, w.rings[0].prod, false, false});
    w.bench.tick(10);
  }
  w.settle();
  CHECK(w.want_writes.size() == 5 * 16384);
  CHECK(w.want_fails.empty());
}

TEST_CASE("a CQE that waits for the bus while its queue is made anew goes into the new ring") {
  World<Vcqe_gen, 256> w;
  w.create(3, 2, 1);
  w.wrreq.set_stall(Stall::always());
  w.rq0.push(w.request(3, 0, false));
  w.rq0.push(w.request(3, 0, false));
  w.bench.tick(20);  // the second one waits in the block
  CHECK(w.rq0.pending() == 0);
  w.create(3, 2, 1, false);
  w.bench.tick(5);
  w.create(3, 3, 5);
  w.wrreq.set_stall(Stall::none());
  w.bench.tick(20);
  // One write was on its way to the old ring. The other was lost when its queue went.
  CHECK(w.wrreq.size() == 1);
  CHECK(w.counts["overrun"] == 1);
  w.top.cr_valid = 1;
  w.top.cr_index = 3;
  w.bench.tick();
  CHECK(w.top.cr_prod == 0);
}

TEST_CASE("an armed queue announces each arming once, whatever meets it") {
  World<Vcqe_gen, 256> w(Stall::random(0.2));
  w.create(1, 8, 2);
  auto random = rng("arm");
  for (int i = 0; i < 400; ++i) {
    w.rq0.push(w.request(1, 0, false));
    w.bench.wait(
        "room", [&] { return w.cqdb.pending() < 2 && w.rq0.pending() < 3; }, 1000);
    w.cqdb.push({1, w.rings[1].prod, true, false});
    w.bench.tick(random.below(8));
  }
  w.settle();
  CHECK(w.want_events.size() > 100);
}

TEST_CASE("reset in the middle of work forgets the queues") {
  World<Vcqe_gen, 256> w(Stall::random(0.5));
  auto random = rng("when");
  for (int round = 0; round < 5; ++round) {
    w.create(0, 3, 1);
    w.cqdb.push({0, 0, true, false});
    for (int i = 0; i < 6; ++i) w.rq0.push(w.request(0, 0, false));
    w.bench.tick(random.between(3, 30));
    w.bench.reset();
    w.rings = {};
    for (auto* v : {&w.want_events, &w.got_events}) v->clear();
    w.want_writes.clear();
    w.want_from.clear();
    w.want_fails.clear();
    w.got_fails.clear();
    w.data.clear();
    w.wrreq.clear();
    w.counts.clear();
    w.want_refused = 0;
    w.bench.wait(
        "init", [&] { return w.top.init_done_o != 0; }, 20);
    w.rq1.push(w.request(0, 0, false));  // no such queue now
    w.settle();
    CHECK(w.got_fails.size() == 1);
  }
}
