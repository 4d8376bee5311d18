// SPDX-License-Identifier: Apache-2.0
//
// doorbell: pages of BAR0 against a model of their offsets (architecture, section 4), through an
// AXI4-Lite master whose channels stall on their own.
#include <Vdoorbell.h>
#include <Vdoorbell_256.h>

#include <map>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

using Db = std::pair<uint64_t, uint64_t>;  // QPN, index
using CqDb = std::array<uint64_t, 4>;      // CQN, index, arm, arm_sol
enum Offset : uint32_t { kSq = 0x10, kRcq = 0x20, kScq = 0x28, kRq = 0x30 };

template <class Top, unsigned N, unsigned STRIDE>
class World {
 public:
  explicit World(Stall stall = {}, unsigned high = 1)
      : top(bench.top()),
        aw(bench, "s_aw", top.s_awvalid, top.s_awready, top.s_awaddr, stall),
        w(
            bench, "s_w", top.s_wvalid, top.s_wready,
            [this](const std::pair<uint32_t, unsigned>& v) {
              top.s_wdata = v.first;
              top.s_wstrb = static_cast<uint8_t>(v.second);
            },
            stall),
        ar(bench, "s_ar", top.s_arvalid, top.s_arready, top.s_araddr, stall),
        b(bench, "s_b", top.s_bvalid, top.s_bready, top.s_bresp, stall),
        r(bench, "s_r", top.s_rvalid, top.s_rready, top.s_rdata, stall),
        db(
            bench, "db", top.db_valid, top.db_ready,
            [this] { return Db(top.db_qpn, top.db_index); }, stall),
        rqdb(
            bench, "rqdb", top.rqdb_valid, top.rqdb_ready,
            [this] { return Db(top.rqdb_qpn, top.rqdb_index); }, stall),
        cqdb(
            bench, "cqdb", top.cqdb_valid, top.cqdb_ready,
            [this] {
              return CqDb{top.cqdb_cqn, top.cqdb_index, top.cqdb_arm, top.cqdb_arm_sol};
            },
            stall),
        ctx(
            bench, "ctx", {top.db_lk_valid, top.db_lk_ready, top.db_ctx_valid},
            [this] {
              const uint64_t q = top.db_lk_qpn;
              return kConn.pack(
                  {{"exists", exists(q)}, {"recv_cqn", 100 + q}, {"send_cqn", 200 + q}});
            },
            [this](const Bits& v) { write_pin(top.db_ctx, v); }),
        orders(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi) {
    ctx.set_stall(stall);
    ctx.set_latency(1, high);
    bench.on_sample([this] { refused += top.cnt_doorbell_refused_o; });
    bench.reset();
    bench.wait(
        "init", [this] { return top.init_done_o != 0; }, N + 5);
  }
  static bool exists(uint64_t q) { return q < N && q != 3; }
  void write(uint64_t page, uint32_t offset, uint32_t value, unsigned strobe = 15) {
    aw.push(static_cast<uint32_t>(page * STRIDE + offset));
    w.push({value, strobe});
    const uint64_t index = value & 0xFFFF;
    const bool arm = value >> 31 && (strobe & 8), sol = (value >> 30 & 1) && (strobe & 8);
    const bool known = page < N && (strobe & 3) == 3 &&
                       (offset == kSq || offset == kRcq || offset == kScq || offset == kRq);
    if (!known) {
      ++want_refused;
      return;
    }
    last[{page, offset}] = index;
    if (offset == kSq) want_db.emplace_back(page, index);
    if (offset == kRq) want_rqdb.emplace_back(page, index);
    if (offset == kRcq || offset == kScq) {
      if (exists(page))
        want_cqdb.push_back({(offset == kRcq ? 100 : 200) + page, index, arm, sol});
      else
        ++want_refused;
    }
  }
  void settle() {
    bench.wait(
        "idle",
        [this] { return aw.pending() + w.pending() + ar.pending() + orders.pending() == 0; },
        100000);
    bench.tick(60);
    CHECK(difference(db.items(), want_db) == "");
    CHECK(difference(rqdb.items(), want_rqdb) == "");
    CHECK((cqdb.items() == want_cqdb));
    CHECK(refused == want_refused);
    CHECK(b.size() == aw.taken());
    for (uint64_t page :
         {uint64_t{0}, uint64_t{1}, uint64_t{3}, uint64_t{N} - 1, uint64_t{N}, uint64_t{N} + 7}) {
      for (uint32_t offset : {0x0u, 0x10u, 0x20u, 0x28u, 0x30u, 0x14u, 0x38u, STRIDE - 4}) {
        const size_t before = r.size();
        ar.push(static_cast<uint32_t>(page * STRIDE + offset));
        r.wait(before + 1);
        const bool known =
            page < N && (offset == 0x10 || offset == 0x20 || offset == 0x28 || offset == 0x30);
        const uint32_t want = !known ? 0xFFFFFFFF
                              : last.count({page, offset})
                                  ? static_cast<uint32_t>(last[{page, offset}])
                                  : 0;
        INFO("page " << page << " offset " << offset);
        CHECK(r[before] == want);
      }
    }
  }
  Bench<Top> bench;
  Top& top;
  StreamSource<uint32_t> aw;
  StreamSource<std::pair<uint32_t, unsigned>> w;
  StreamSource<uint32_t> ar;
  StreamSink<uint32_t> b, r;
  StreamSink<Db> db, rqdb;
  StreamSink<CqDb> cqdb;
  LookupServer ctx;
  StreamSource<Bits> orders;
  Rng random = rng("traffic");
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> last;
  std::vector<Db> want_db, want_rqdb;
  std::vector<CqDb> want_cqdb;
  uint64_t refused = 0, want_refused = 0;
};

template <class Top, unsigned N, unsigned STRIDE>
void run_random(Stall stall, unsigned high, unsigned writes) {
  World<Top, N, STRIDE> w(stall, high);
  auto random = rng("schedule");
  for (unsigned i = 0; i < writes; ++i) {
    w.bench.wait(
        "room", [&] { return w.aw.pending() < 5; }, 10000);
    static const uint32_t kOffsets[] = {kSq, kSq, kRq, kRcq, kScq, 0, 0x14, 0x12};
    const uint64_t page = random.chance(0.03) ? random.bits(12) : random.below(N);
    w.write(page, kOffsets[random.below(random.chance(0.2) ? 8 : 5)], random.u32(),
            random.chance(0.1) ? static_cast<unsigned>(random.bits(4)) : 15);
  }
  w.settle();
}

}  // namespace

TEST_CASE(
    "writes to the pages become doorbells of their queue, everything else is refused and counted") {
  run_random<Vdoorbell, 6, 4096>({}, 1, 2000);
  run_random<Vdoorbell, 6, 4096>(Stall::random(0.4), 5, 1500);
  run_random<Vdoorbell_256, 8, 256>(Stall::bursts(0.2, 6), 3, 1500);
}

TEST_CASE("a send doorbell every cycle, valid one cycle after the write") {
  World<Vdoorbell, 6, 4096> w;
  for (unsigned i = 0; i < 40; ++i) w.write(i % 6, i % 2 ? kSq : kRq, i);
  w.settle();
  CHECK(w.aw.cycles().back() - w.aw.cycles().front() == 39);
  CHECK(w.rqdb.cycles()[0] == w.aw.cycles()[0] + 1);
}

TEST_CASE("a CQ doorbell every four cycles") {
  World<Vdoorbell, 6, 4096> w;
  for (unsigned i = 0; i < 20; ++i) w.write(i % 2, kRcq, i);
  w.settle();
  CHECK(w.aw.cycles().back() - w.aw.cycles().front() == 4 * 19);
}

TEST_CASE(
    "an order does not wait for a flood of doorbells; CLEAR zeroes what is read back of one QP") {
  World<Vdoorbell, 6, 4096> w;
  w.write(1, kRq, 77);
  w.write(2, kScq, 78);
  for (unsigned i = 0; i < 200; ++i) w.write(0, kSq, i);
  w.bench.tick(20);
  w.orders.push(order(kClear, 1));
  w.bench.wait(
      "order", [&] { return w.orders.pending() == 0; }, 3);
  w.orders.push(order(kOrderErr, 2));
  w.bench.wait(
      "order", [&] { return w.orders.pending() == 0; }, 3);
  CHECK(w.aw.pending() > 100);
  w.last.erase({1, kRq});
  w.settle();
}

TEST_CASE(
    "a receive queue or a CQ that does not take its doorbell is seen by the master, and nothing is "
    "lost") {
  World<Vdoorbell, 6, 4096> w;
  w.rqdb.set_stall(Stall::always());
  w.write(1, kRq, 1);
  w.write(1, kRq, 2);
  w.write(1, kSq, 3);
  w.bench.tick(50);
  CHECK(w.aw.pending() == 2);
  w.rqdb.set_stall(Stall::none());
  w.settle();
}

TEST_CASE("reads one behind the other wait for a master that does not take the answer") {
  World<Vdoorbell, 6, 4096> w;
  for (unsigned i = 0; i < 6; ++i) w.write(i, kSq, 50 + i);
  w.settle();
  const size_t before = w.r.size();
  w.r.set_stall(Stall::random(0.6));
  for (unsigned i = 0; i < 60; ++i) w.ar.push((i % 6) * 4096 + kSq);
  w.r.wait(before + 60);
  for (unsigned i = 0; i < 60; ++i) CHECK(w.r[before + i] == 50 + i % 6);
}

TEST_CASE("reset clears the indices that are read back") {
  World<Vdoorbell, 6, 4096> w(Stall::random(0.3));
  for (int i = 0; i < 4; ++i) {
    for (unsigned k = 0; k < 10; ++k) w.write(k % 6, kSq, k + 1);
    w.bench.tick(static_cast<uint64_t>(5 + i * 7));
    w.bench.reset();
    w.last.clear();
    w.want_db = w.db.items();
    w.refused = w.want_refused = 0;
    w.aw.clear();
    w.b.clear();
    w.bench.wait(
        "init", [&] { return w.top.init_done_o != 0; }, 20);
    w.write(2, kSq, 5);
    w.settle();
  }
}
