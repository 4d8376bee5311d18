// SPDX-License-Identifier: Apache-2.0
//
// rx_placer: every payload goes to its decision's address or nowhere, in packet order, and a
// completion is offered only when the write request before it was taken.
#include <Vrx_placer.h>
#include <Vrx_placer_1024.h>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kLengths[] = {0, 1, 8, 15, 16, 17, 64, 100, 127, 128, 129, 256, 300};

struct Beat {
  Bits data;
  unsigned cnt = 0;
  bool last = false;
  bool operator==(const Beat&) const = default;
};
struct Decision {
  Bits place, cqe;
  bool operator==(const Decision&) const = default;
};

template <class Top, unsigned W>
class World {
 public:
  explicit World(Stall stall = {})
      : top(bench.top()),
        ord(bench, "ord", top.ord_valid, top.ord_ready, top.ord, stall),
        place(
            bench, "place", top.place_valid, top.place_ready,
            [this](const Decision& d) {
              write_pin(top.place, d.place);
              write_pin(top.place_cqe, d.cqe);
            },
            stall),
        rxd(
            bench, "rxd", top.rxd_valid, top.rxd_ready,
            [this](const Beat& b) {
              write_pin(top.rxd_data, b.data);
              top.rxd_cnt = static_cast<uint8_t>(b.cnt);
              top.rxd_last = b.last;
            },
            stall),
        wrreq(
            bench, "wrreq", top.wrreq_valid, top.wrreq_ready,
            [this] { return read_pin(top.wrreq); }, stall),
        wrdat(
            bench, "wrdat", top.wrdat_valid, top.wrdat_ready,
            [this] {
              return Beat{read_pin(top.wrdat_data), top.wrdat_cnt, top.wrdat_last != 0};
            },
            stall),
        cqe(
            bench, "cqe", top.cqe_valid, top.cqe_ready, [this] { return read_pin(top.cqe); },
            stall) {
    bench.on_sample([this] {
      // Never before its data's request: those that must have gone by the next completion.
      if (top.cqe_valid == 0) return;
      const size_t n = cqe.size() - (top.cqe_ready != 0 ? 1 : 0);  // the sink has counted it
      if (n < want_cqes.size() && wrreq.size() < want_cqes[n].second)
        FAIL_CHECK("completion " << n << " before its write request");
    });
    bench.reset();
  }
  // kind 0: written, 1: refused by the responder, 2: dropped by rx_dispatch, 3: stands alone
  void packet(unsigned kind, unsigned len, bool with_cqe) {
    const Bits c = Bits::random(random, kCqeReq.width());
    const uint64_t addr = random.bits(48), qpn = random.bits(24), psn = random.bits(24);
    if (kind != 3) ord.push(kOrd.pack({{"src", kind == 2 ? 2 : 0}, {"len", len}}));
    if (kind != 2) {
      place.push({kPlace.pack({{"write", kind == 0 && len > 0},
                               {"len", kind == 3 ? 0 : len},
                               {"addr", addr},
                               {"target", random.bits(2)},
                               {"qpn", qpn},
                               {"psn", psn},
                               {"has_cqe", with_cqe || kind == 3},
                               {"alone", kind == 3}}),
                  c});
    }
    if (kind == 0 && len > 0) {
      want_reqs.push_back(
          kWrReq.pack({{"addr", addr}, {"len", len}, {"relaxed", 1}, {"qpn", qpn}, {"psn", psn}}));
    }
    for (unsigned at = 0; kind != 3 && at < len; at += W / 8) {
      Beat b{Bits::random(random, W), std::min(W / 8, len - at), at + W / 8 >= len};
      rxd.push(b);
      if (kind == 0) want_beats.push_back(b);
    }
    if (kind == 3 || (kind != 2 && with_cqe)) want_cqes.emplace_back(c, want_reqs.size());
  }
  void settle() {
    bench.wait(
        "idle", [this] { return ord.pending() + place.pending() + rxd.pending() == 0; }, 200000);
    bench.tick(60);
    CHECK(difference(wrreq.items(), want_reqs) == "");
    CHECK((wrdat.items() == want_beats));
    std::vector<Bits> cqes;
    for (const auto& [c, reqs] : want_cqes) cqes.push_back(c);
    CHECK(difference(cqe.items(), cqes) == "");
  }
  Bench<Top> bench;
  Top& top;
  StreamSource<Bits> ord;
  StreamSource<Decision> place;
  StreamSource<Beat> rxd;
  StreamSink<Bits> wrreq;
  StreamSink<Beat> wrdat;
  StreamSink<Bits> cqe;
  Rng random = rng("traffic");
  std::vector<Bits> want_reqs;
  std::vector<Beat> want_beats;
  std::vector<std::pair<Bits, size_t>> want_cqes;
};

template <class Top, unsigned W>
void run_random(Stall stall, unsigned packets) {
  World<Top, W> w(stall);
  auto random = rng("schedule");
  for (unsigned i = 0; i < packets; ++i) {
    w.bench.wait(
        "room", [&] { return w.ord.pending() < 8 && w.place.pending() < 8; }, 100000);
    const unsigned kind = random.chance(0.6) ? 0 : static_cast<unsigned>(random.below(4));
    unsigned len = kLengths[random.below(std::size(kLengths))];
    if (kind == 2 && len == 0) len = 1;
    w.packet(kind, len, random.chance(0.4));
  }
  w.settle();
}

}  // namespace

TEST_CASE("rx_placer writes, discards and completes in packet order under any stalls") {
  run_random<Vrx_placer, 128>({}, 2000);
  run_random<Vrx_placer, 128>(Stall::random(0.4), 1500);
  run_random<Vrx_placer, 128>(Stall::bursts(0.1, 10), 1500);
  run_random<Vrx_placer_1024, 1024>(Stall::random(0.3), 1000);
}

TEST_CASE("a packet takes one cycle more than it has beats, one without payload takes one") {
  struct Case {
    unsigned len, cycles;
    bool cqe;
  };
  for (const Case c : {Case{16, 2, false}, Case{1, 2, false}, Case{64, 5, false},
                       Case{256, 17, false}, Case{0, 1, false}, Case{64, 5, true}}) {
    World<Vrx_placer, 128> w;
    for (int i = 0; i < 20; ++i) w.packet(0, c.len, c.cqe);
    w.settle();
    CHECK(w.ord.cycles().back() - w.ord.cycles().front() == 19 * c.cycles);
  }
}

TEST_CASE("from decision and first beat to wrreq in the same cycle, to wrdat and cqe in the next") {
  World<Vrx_placer, 128> w;
  w.packet(0, 32, true);
  w.settle();
  CHECK(w.wrreq.cycles()[0] == w.place.cycles()[0]);
  CHECK(w.wrdat.cycles()[0] == w.wrreq.cycles()[0] + 1);
  CHECK(w.cqe.cycles()[0] == w.wrreq.cycles()[0] + 1);
}

TEST_CASE("a completion that waits holds up only the next packet with a completion") {
  World<Vrx_placer, 128> w;
  w.cqe.set_stall(Stall::always());
  w.packet(0, 16, true);
  for (int i = 0; i < 10; ++i) w.packet(0, 16, false);
  w.packet(0, 16, true);
  w.packet(0, 16, false);
  w.bench.tick(60);
  CHECK(w.wrreq.size() == 11);
  w.cqe.set_stall(Stall::none());
  w.settle();
}

TEST_CASE("a reset in mid-packet leaves nothing behind") {
  World<Vrx_placer, 128> w(Stall::random(0.3));
  auto random = rng("when");
  for (int i = 0; i < 8; ++i) {
    w.packet(0, 200, true);
    w.packet(1, 100, true);
    w.bench.tick(random.between(2, 30));
    w.bench.reset();
    w.want_reqs = w.wrreq.items();
    w.want_beats = w.wrdat.items();
    w.want_cqes.clear();
    w.cqe.clear();
    w.packet(0, 40, true);
    w.settle();
  }
}
