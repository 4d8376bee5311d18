// SPDX-License-Identifier: Apache-2.0
//
// event_queue against a model: rings of 16-byte events, overrun, MSI-X messages with masks and
// pending bits.
#include <Vevent_queue.h>
#include <Vevent_queue_512.h>

#include <deque>
#include <map>
#include <set>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kEqs = 3, kVectors = 5;
constexpr uint64_t kMsiBase = 0xFEE0'0000;

struct Ring {
  bool valid = false;
  uint64_t base = 0;
  unsigned log_size = 1, vector = 0;
  uint16_t prod = 0, cons = 0;
};

template <class Top>
class World {
 public:
  explicit World(Stall stall = {})
      : top(bench.top()),
        ev0(bench, "ev0", top.ev0_valid, top.ev0_ready, top.ev0, stall),
        ev1(bench, "ev1", top.ev1_valid, top.ev1_ready, top.ev1, stall),
        ev2(bench, "ev2", top.ev2_valid, top.ev2_ready, top.ev2, stall),
        wrreq(
            bench, "wrreq", top.wrreq_valid, top.wrreq_ready,
            [this] { return read_pin(top.wrreq); }, stall),
        wrdat(
            bench, "wrdat", top.wrdat_valid, top.wrdat_ready,
            [this] { return std::pair(read_pin(top.wrdat_data), unsigned{top.wrdat_cnt}); },
            stall) {
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { top.timestamp_i = bench.cycle(); });
    bench.reset();
  }
  void create(unsigned eqn, unsigned log_size, unsigned vector, bool valid = true) {
    const uint64_t base = 0x20'0000'0000 + (creates_++ << 32) + (uint64_t{eqn} << 24);
    top.cw_valid = 1;
    top.cw_index = static_cast<uint8_t>(eqn);
    write_pin(
        top.cw,
        kEq.pack({{"valid", valid}, {"msix", vector}, {"log_size", log_size}, {"base", base}}));
    bench.tick();
    top.cw_valid = 0;
    rings[eqn] = {valid, base, log_size, vector, 0, 0};
  }
  uint32_t table(bool write, unsigned addr, uint32_t value = 0) {
    top.msix_req_i = 1;
    top.msix_we_i = write;
    top.msix_addr_i = static_cast<uint16_t>(addr);
    top.msix_wdata_i = value;
    top.msix_wstrb_i = 15;
    bench.wait(
        "table", [this] { return top.msix_ack_o != 0; }, 10);
    top.msix_req_i = 0;
    const uint32_t got = top.msix_rdata_o;
    bench.tick();
    return got;
  }
  void vector(unsigned n) {
    table(true, n * 16, static_cast<uint32_t>(kMsiBase + 16 * n));
    table(true, n * 16 + 4, 0x7);
    table(true, n * 16 + 8, 0xA000 + n);
  }
  void mask(unsigned n, bool on) { table(true, n * 16 + 12, on); }
  uint32_t pending() {
    top.pba_req_i = 1;
    top.pba_addr_i = 0;
    bench.wait(
        "pba", [this] { return top.pba_ack_o != 0; }, 10);
    top.pba_req_i = 0;
    const uint32_t got = top.pba_rdata_o;
    bench.tick();
    return got;
  }
  void consume(unsigned eqn, uint16_t index) {
    top.eqw_req_i = 1;
    top.eqw_we_i = 1;
    top.eqw_addr_i = static_cast<uint16_t>(eqn * 8);
    top.eqw_wdata_i = index;
    top.eqw_wstrb_i = 15;
    bench.wait(
        "window", [this] { return top.eqw_ack_o != 0; }, 10);
    top.eqw_req_i = 0;
    bench.tick();
  }
  uint32_t consumed(unsigned addr) {
    top.eqw_req_i = 1;
    top.eqw_we_i = 0;
    top.eqw_addr_i = static_cast<uint16_t>(addr);
    bench.wait(
        "window", [this] { return top.eqw_ack_o != 0; }, 10);
    top.eqw_req_i = 0;
    const uint32_t got = top.eqw_rdata_o;
    bench.tick();
    return got;
  }
  Bits event(uint64_t eqn) {
    return kEvent.pack({{"eqn", eqn},
                        {"etype", random.bits(8)},
                        {"code", random.bits(8)},
                        {"number", random.bits(24)}});
  }
  void idle() {
    bench.wait(
        "idle", [this] { return ev0.pending() + ev1.pending() + ev2.pending() == 0; }, 100000);
    bench.tick(100);
  }
  // EQEs as expected and in order; every message behind an EQE of its vector; returns messages per
  // vector.
  std::map<unsigned, unsigned> check() {
    REQUIRE(wrreq.size() == wrdat.size());
    std::map<unsigned, unsigned> messages;
    std::array<unsigned, kVectors> since{};
    size_t e = 0;
    for (size_t i = 0; i < wrreq.size(); ++i) {
      const Bits& r = wrreq[i];
      const auto& [data, cnt] = wrdat[i];
      const uint64_t addr = kWrReq.get(r, "addr");
      CHECK(kWrReq.get(r, "is_queue") == 1);
      CHECK(kWrReq.get(r, "relaxed") == 0);
      CHECK(kWrReq.get(r, "len") == cnt);
      if (addr >> 32 == 7) {
        const auto n = static_cast<unsigned>((addr & 0xFFFFFFFF) - kMsiBase) / 16;
        REQUIRE(n < kVectors);
        CHECK(cnt == 4);
        CHECK(data.get(0, 32) == 0xA000 + n);
        CHECK(since[n] > 0);
        since[n] = 0;
        ++messages[n];
        continue;
      }
      CHECK(cnt == 16);
      if (e >= want.size()) {
        ++e;
        continue;
      }
      CHECK(addr == want[e].first);
      CHECK(data.get(0, 64) == want[e].second.first);
      CHECK(data.get(120, 8) == want[e].second.second);
      CHECK(data.get(64, 56) <= wrreq.cycles()[i]);
      ++since[want_vector[e]];
      ++e;
    }
    CHECK(e == want.size());
    CHECK(written == want.size());
    CHECK(overrun == want_lost);
    // Nothing waits for a message that is not masked.
    for (unsigned n = 0; n < kVectors; ++n) {
      if (!masked.count(n)) CHECK(since[n] == 0);
    }
    return messages;
  }
  void forget() {
    wrreq.clear();
    wrdat.clear();
    want.clear();
    want_vector.clear();
    written = overrun = want_lost = 0;
  }

  Bench<Top> bench;
  Top& top;
  StreamSource<Bits> ev0, ev1, ev2;
  StreamSink<Bits> wrreq;
  StreamSink<std::pair<Bits, unsigned>> wrdat;
  Rng random = rng("traffic");
  std::array<Ring, kEqs> rings{};
  std::vector<std::pair<uint64_t, std::pair<uint64_t, uint64_t>>>
      want;  // address, bytes 0..7, byte 15
  std::vector<unsigned> want_vector;
  std::set<unsigned> masked;
  uint64_t want_lost = 0, written = 0, overrun = 0, refused = 0;

 private:
  void sample() {
    written += top.cnt_eqe_written_o;
    overrun += top.cnt_eq_overrun_o;
    refused += top.cnt_doorbell_refused_o;
    CHECK((top.ev0_valid && top.ev0_ready) + (top.ev1_valid && top.ev1_ready) +
              (top.ev2_valid && top.ev2_ready) <=
          1);
    if (top.ev0_valid && top.ev0_ready) take(read_pin(top.ev0));
    if (top.ev1_valid && top.ev1_ready) take(read_pin(top.ev1));
    if (top.ev2_valid && top.ev2_ready) take(read_pin(top.ev2));
  }
  void take(const Bits& b) {
    const uint64_t eqn = kEvent.get(b, "eqn");
    if (eqn >= kEqs || !rings[eqn].valid ||
        static_cast<uint16_t>(rings[eqn].prod - rings[eqn].cons) >= (1u << rings[eqn].log_size)) {
      ++want_lost;
      return;
    }
    Ring& r = rings[eqn];
    const unsigned size = 1u << r.log_size;
    want.push_back(
        {r.base + 16 * (r.prod % size),
         {kEvent.get(b, "etype") | kEvent.get(b, "code") << 8 | kEvent.get(b, "number") << 32,
          (r.prod / size) % 2 == 0}});
    want_vector.push_back(r.vector);
    ++r.prod;
  }
  uint64_t creates_ = 1;
};

template <class Top>
void run_random(Stall stall, unsigned steps) {
  World<Top> w(stall);
  for (unsigned n = 0; n < kVectors; ++n) {
    w.vector(n);
    w.mask(n, false);
  }
  w.create(0, 3, 1);
  w.create(1, 2, 4);
  auto random = rng("schedule");
  for (unsigned i = 0; i < steps; ++i) {
    w.bench.wait(
        "room", [&] { return w.ev0.pending() + w.ev1.pending() + w.ev2.pending() < 6; }, 10000);
    StreamSource<Bits>* in[] = {&w.ev0, &w.ev1, &w.ev2};
    in[random.below(3)]->push(w.event(random.chance(0.05) ? random.below(9) : random.below(2)));
    if (random.chance(0.1)) {
      // The consumer index of a queue that nothing is on its way to.
      w.idle();
      const auto n = static_cast<unsigned>(random.below(2));
      w.consume(n, w.rings[n].prod);
      w.rings[n].cons = w.rings[n].prod;
    }
  }
  w.idle();
  const auto messages = w.check();
  CHECK(messages.size() == 2);
  CHECK(w.want_lost > 5);
  CHECK(w.pending() == 0);
}

}  // namespace

TEST_CASE("event_queue writes events into their rings, a message behind each, under any stalls") {
  run_random<Vevent_queue>({}, 3000);
  run_random<Vevent_queue>(Stall::random(0.4), 2000);
  run_random<Vevent_queue_512>(Stall::bursts(0.2, 5), 2000);
}

TEST_CASE("event_queue takes an event every 3 cycles and writes it 2 cycles after") {
  World<Vevent_queue> w;
  w.create(0, 8, 1);
  w.create(1, 8, 2);
  for (int i = 0; i < 30; ++i) {
    w.ev0.push(w.event(0));
    w.ev1.push(w.event(1));
  }
  w.idle();
  w.masked = {0, 1, 2, 3, 4};
  w.check();
  CHECK(w.wrreq.cycles().back() - w.wrreq.cycles().front() == 3 * 59);
  CHECK(w.wrreq.cycles().front() - w.ev0.cycles().front() == 2);
}

TEST_CASE("messages and events that meet at the port never mix request and data") {
  // A vector is unmasked again and again while events of another queue come in.
  World<Vevent_queue> w(Stall::random(0.5));
  w.vector(1);
  w.vector(2);
  w.mask(2, false);
  w.create(0, 10, 1);
  w.create(1, 10, 2);
  auto random = rng("masks");
  for (int i = 0; i < 300; ++i) {
    w.ev0.push(w.event(0));
    w.ev1.push(w.event(1));
    w.bench.tick(random.below(12));
    w.mask(1, i % 2 == 0);
  }
  w.mask(1, false);
  w.idle();
  const auto messages = w.check();
  CHECK(messages.at(1) > 20);
  CHECK(messages.at(2) > 100);
}

TEST_CASE("a masked vector waits in the pending bits and goes once when it is unmasked") {
  World<Vevent_queue> w;
  w.vector(3);
  CHECK(w.table(false, 3 * 16 + 12) == 1);  // masked after reset
  w.create(2, 4, 3);
  for (int i = 0; i < 4; ++i) w.ev2.push(w.event(2));
  w.idle();
  CHECK(w.wrreq.size() == 4);
  CHECK(w.pending() == 8);
  w.mask(3, false);
  w.bench.tick(20);
  CHECK(w.pending() == 0);
  CHECK(w.check().at(3) == 1);
  CHECK(w.table(false, 48) == kMsiBase + 48);
  CHECK(w.table(false, 52) == 7);
  CHECK(w.table(false, 56) == 0xA003);
  CHECK(w.table(false, kVectors * 16) == 0xFFFFFFFF);
}

TEST_CASE("a full queue loses events until it is read, and an index that cannot be is not taken") {
  World<Vevent_queue> w;
  w.masked = {0, 1, 2, 3, 4};
  w.create(0, 1, 0);
  for (int i = 0; i < 3; ++i) w.ev0.push(w.event(0));
  w.idle();
  CHECK(w.overrun == 1);
  w.consume(0, 3);  // beyond the producer
  CHECK(w.consumed(0) == 0);
  CHECK(w.refused == 1);
  w.ev0.push(w.event(0));
  w.idle();
  CHECK(w.overrun == 2);
  w.consume(0, 1);
  CHECK(w.consumed(0) == 1);
  w.rings[0].cons = 1;
  w.ev0.push(w.event(0));
  w.idle();
  w.check();
  CHECK(w.refused == 1);
  w.consume(0, 0);  // back
  w.consume(1, 0);  // never created
  w.consume(kEqs, 0);
  CHECK(w.consumed(0) == 1);
  CHECK(w.refused == 4);
  CHECK(w.consumed(4) == 0xFFFFFFFF);
  CHECK(w.consumed(kEqs * 8) == 0xFFFFFFFF);
}

TEST_CASE("the owner bit flips with every pass and the indices wrap at 65536") {
  World<Vevent_queue> w;
  w.masked = {0, 1, 2, 3, 4};
  w.create(1, 15, 0);
  for (int pass = 0; pass < 5; ++pass) {
    for (int i = 0; i < 16384; ++i) w.ev0.push(w.event(1));
    w.idle();
    w.consume(1, w.rings[1].prod);
    w.rings[1].cons = w.rings[1].prod;
  }
  w.check();
}

TEST_CASE("an event behind a create in the cycle before goes into the new ring") {
  for (unsigned shift = 0; shift < 5; ++shift) {
    World<Vevent_queue> w;
    w.masked = {0, 1, 2, 3, 4};
    w.create(0, 4, 0);
    for (int i = 0; i < 3; ++i) w.ev0.push(w.event(0));
    w.idle();
    w.forget();
    const Bits e = w.event(0);
    w.ev0.push(e);
    w.bench.tick(shift);
    w.create(0, 4, 0);
    w.idle();
    REQUIRE(w.wrreq.size() == 1);
    // Taken before or after, the ring it lies in has its index.
    w.top.cr_valid = 1;
    w.top.cr_index = 0;
    w.bench.tick();
    const bool in_new = kWrReq.get(w.wrreq[0], "addr") == w.rings[0].base;
    CHECK(w.top.cr_prod == (in_new ? 1 : 0));
  }
}

TEST_CASE("reset forgets the queues and the messages") {
  World<Vevent_queue> w(Stall::random(0.5));
  auto random = rng("when");
  for (int i = 0; i < 6; ++i) {
    w.vector(0);
    w.mask(0, false);
    w.create(0, 4, 0);
    for (int k = 0; k < 5; ++k) w.ev0.push(w.event(0));
    w.bench.tick(random.between(2, 30));
    w.bench.reset();
    w.rings = {};
    w.forget();
    w.masked = {0, 1, 2, 3, 4};
    w.ev1.push(w.event(0));
    w.idle();
    w.check();
    CHECK(w.overrun == 1);
    CHECK(w.pending() == 0);
    w.forget();
  }
}
