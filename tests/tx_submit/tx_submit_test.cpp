// SPDX-License-Identifier: Apache-2.0
//
// tx_submit: two sides share the slots of one tx_buffer. Each side must get every slot once, its
// own packets in its own slots, and its share when both want all of it.
#include <Vtx_submit.h>

#include <array>
#include <deque>
#include <set>

#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

// The pool of a tx_buffer: a slot comes back some cycles after its packet was submitted.
class World {
 public:
  explicit World(unsigned slots = 8, Stall a = {}, Stall b = {}, unsigned hold = 6)
      : top(bench.top()),
        sb(bench, "b_slot", top.b_slot_valid, top.b_slot_ready, top.b_slot_id, b),
        pa(bench, "a_txp", top.a_txp_valid, top.a_txp_ready,
           [this](const Packet& p) { put(top.a_txp, top.a_txp_slot, p); }),
        pb(bench, "b_txp", top.b_txp_valid, top.b_txp_ready,
           [this](const Packet& p) { put(top.b_txp, top.b_txp_slot, p); }),
        hold_(hold) {
    for (unsigned i = 0; i < slots; ++i) free_.push_back(i);
    stall_a(a);
    sb.on_item([this](unsigned s) { got(1, s); });
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    top.txp_ready = 1;
    bench.reset();
  }

  struct Packet {
    unsigned side, slot;
    uint32_t psn;
    bool operator==(const Packet&) const = default;
  };

  Bench<Vtx_submit> bench;
  Vtx_submit& top;
  StreamSink<unsigned> sb;
  StreamSource<Packet> pa, pb;
  // What a is offered may change until it is taken.
  void stall_a(Stall stall) {
    a_ = stall;
    a_.seed(rng("a_slot.stall"));
  }
  std::array<uint32_t, 2> taken{}, submitted{};
  std::vector<uint64_t> packet_cycles;

 private:
  template <class Pin>
  void put(Pin& pin, CData& slot, const Packet& p) {
    write_pin(pin, kTxPkt.pack({{"qpn", p.side}, {"psn", p.psn}}));
    slot = static_cast<CData>(p.slot);
  }
  void got(unsigned side, unsigned slot) {
    take_slot();                  // may be of this very cycle
    REQUIRE(owner_[slot] == -2);  // handed out by the pool, to nobody yet
    owner_[slot] = static_cast<int>(side);
    const Packet p{side, slot, taken[side]++};
    (side == 0 ? pa : pb).push(p);
    open_.push_back(p);
  }
  void take_slot() {
    if (top.slot_valid == 0 || top.slot_ready == 0 || slot_cycle_ == bench.cycle()) return;
    slot_cycle_ = bench.cycle();
    owner_[free_.front()] = -2;
    free_.pop_front();
  }
  void sample() {
    if (top.a_slot_valid != 0 && top.a_slot_ready != 0) got(0, top.a_slot_id);
    take_slot();
    if (top.txp_valid != 0 && top.txp_ready != 0) {
      const Bits b = read_pin(top.txp);
      const auto side = static_cast<unsigned>(kTxPkt.get(b, "qpn"));
      const unsigned slot = top.txp_slot;
      REQUIRE(side < 2);
      CHECK(owner_[slot] == static_cast<int>(side));
      CHECK(kTxPkt.get(b, "psn") == submitted[side]++);
      owner_[slot] = -1;
      back_.emplace_back(bench.cycle() + hold_, slot);
      packet_cycles.push_back(bench.cycle());
    }
  }
  void drive() {
    while (!back_.empty() && back_.front().first <= bench.cycle()) {
      free_.push_back(back_.front().second);
      back_.pop_front();
    }
    top.a_slot_ready = !a_();
    top.slot_valid = !free_.empty();
    if (!free_.empty()) top.slot_id = static_cast<CData>(free_.front());
  }

  unsigned hold_;
  Stall a_;
  uint64_t slot_cycle_ = ~uint64_t{0};
  std::deque<unsigned> free_;
  std::deque<std::pair<uint64_t, unsigned>> back_;
  std::deque<Packet> open_;
  std::array<int, 256> owner_{};
};

}  // namespace

TEST_CASE("each slot goes to one side, and its packet comes from that side, under any stalls") {
  for (double p : {0.0, 0.3, 0.8}) {
    for (unsigned slots : {1u, 2u, 8u}) {
      World w(slots, Stall::random(p), Stall::random(p));
      w.pa.set_stall(Stall::random(p));
      w.pb.set_stall(Stall::random(p));
      w.bench.tick(3000);
      INFO(slots << " slots, stall " << p);
      CHECK(w.taken[0] > 50);
      CHECK(w.taken[1] > 50);
      w.stall_a(Stall::always());
      w.sb.set_stall(Stall::always());
      w.bench.tick(200);
      CHECK(w.submitted == w.taken);
    }
  }
}

TEST_CASE("of two sides that want everything none gets less than a third") {
  World w(8, {}, {}, 20);
  w.bench.tick(4000);
  const auto a = w.taken[0], b = w.taken[1];
  CHECK(a + b > 1100);
  CHECK(std::min(a, b) * 3 >= a + b - 3);
}

TEST_CASE("a side alone gets everything: a slot per cycle for a, one in two cycles for b") {
  {
    World w(64, {}, Stall::always(), 1);
    w.bench.tick(200);
    CHECK(w.taken[0] >= 197);
    const auto& c = w.packet_cycles;
    CHECK(c[150] - c[50] == 100);
  }
  World w(64, Stall::always(), {}, 1);
  w.bench.tick(200);
  CHECK(w.taken[1] >= 97);
}

TEST_CASE("an idle side holds no slot") {
  World w(1, {}, Stall::always());
  w.bench.tick(100);
  CHECK(w.taken[0] > 10);
}

TEST_CASE("reset forgets the slot that b was offered") {
  World w(8, {}, Stall::always());
  w.sb.set_stall(Stall::random(0.5));
  w.bench.tick(50);
  w.bench.reset();
  w.bench.settle();
  CHECK(w.top.b_slot_valid == 0);
}
