// SPDX-License-Identifier: Apache-2.0
//
// rx_placer: every payload goes to its decision's addresses or nowhere, in packet order, cut into
// pieces at any byte; inline pieces take none of it; a completion is offered only when the write
// request before it was taken.
#include <Vrx_placer.h>
#include <Vrx_placer_1024.h>
#include <Vrx_placer_256.h>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kLengths[] = {0, 1, 8, 15, 16, 17, 64, 100, 127, 128, 129, 256, 300, 1000};
constexpr unsigned kInlineBytes = 40;

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
// Who decides about a packet.
enum class Side { kResponder, kCompleter, kNobody };

template <class Top, unsigned W>
class World {
 public:
  static constexpr unsigned kB = W / 8;

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
        cplace(
            bench, "cplace", top.cplace_valid, top.cplace_ready,
            [this](const Decision& d) {
              write_pin(top.cplace, d.place);
              write_pin(top.cplace_cqe, d.cqe);
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
    // What lies in lanes past the count of a beat is nobody's.
    wrdat.on_item([this](const Beat& b) {
      for (unsigned i = 0; i < b.cnt; ++i) got_bytes.push_back(b.data.byte(i));
      got_counts.emplace_back(b.cnt, b.last);
    });
    bench.on_sample([this] {
      if (top.cqe_valid == 0) return;
      // Never before its data's request: those that must have gone by this completion.
      const Bits now = read_pin(top.cqe);
      auto it = need_reqs.find(now.hex());
      if (it != need_reqs.end() && wrreq.size() < it->second)
        FAIL_CHECK("a completion before its write request");
    });
    bench.reset();
  }

  // A packet whose payload is written in stream pieces of these lengths, behind inline pieces.
  // No pieces at all: it is discarded.
  void packet(Side side, unsigned len, const std::vector<unsigned>& inline_pieces,
              const std::vector<unsigned>& pieces, bool with_cqe) {
    const auto payload = random.bytes(len);
    ord.push(kOrd.pack({{"src", side == Side::kNobody      ? 2
                                : side == Side::kCompleter ? 1
                                                           : 0},
                        {"len", len}}));
    for (unsigned at = 0; at < len; at += kB) {
      const unsigned n = std::min(kB, len - at);
      std::vector<uint8_t> lanes(payload.begin() + at, payload.begin() + at + n);
      while (lanes.size() < kB) lanes.push_back(static_cast<uint8_t>(random.below(256)));
      rxd.push(Beat{Bits::from_bytes(lanes), n, at + kB >= len});
    }
    if (side == Side::kNobody) return;
    const size_t count = inline_pieces.size() + pieces.size();
    if (count == 0) return decide(side, 0, len, false, false, {}, with_cqe);
    unsigned at = 0;
    size_t i = 0;
    for (unsigned n : inline_pieces) {
      const auto bytes = random.bytes(n);
      ++i;
      decide(side, n, n, true, i < count, bytes, with_cqe && i == count);
    }
    for (unsigned n : pieces) {
      ++i;
      decide(side, n, n, false, i < count, {payload.begin() + at, payload.begin() + at + n},
             with_cqe && i == count);
      at += n;
    }
    REQUIRE(at == len);
  }
  void one_piece(unsigned len, bool with_cqe, Side side = Side::kResponder) {
    packet(side, len, {}, len == 0 ? std::vector<unsigned>{} : std::vector<unsigned>{len},
           with_cqe);
  }
  // A completion without a packet.
  void alone(Side side) {
    const Bits c = Bits::random(random, kCqeReq.width());
    source(side).push({kPlace.pack({{"has_cqe", 1}, {"alone", 1}, {"len", random.bits(13)}}), c});
    want_cqes[side].push_back(c.hex());
  }
  void random_packet() {
    const Side side = random.chance(0.1)   ? Side::kNobody
                      : random.chance(0.4) ? Side::kCompleter
                                           : Side::kResponder;
    const bool with_cqe = random.chance(0.4);
    unsigned len = random.chance(0.7) ? kLengths[random.below(std::size(kLengths))]
                                      : static_cast<unsigned>(random.between(1, 6 * kB));
    if (side == Side::kNobody && len == 0) len = 1;
    if (side == Side::kNobody || random.chance(0.15)) return packet(side, len, {}, {}, with_cqe);
    std::vector<unsigned> inl, cut;
    if (random.chance(0.2)) {
      unsigned left = random.chance(0.5) ? kInlineBytes : 8;
      while (left > 0) {
        inl.push_back(random.chance(0.6) ? left : static_cast<unsigned>(random.between(1, left)));
        left -= inl.back();
      }
    }
    unsigned left = len;
    const double whole = random.chance(0.5) ? 1.0 : 0.4;
    while (left > 0) {
      unsigned n = left;
      if (!random.chance(whole))
        n = random.chance(0.3) ? std::min(left, kB * static_cast<unsigned>(random.between(1, 3)))
                               : static_cast<unsigned>(random.between(1, left));
      cut.push_back(n);
      left -= n;
    }
    packet(side, len, inl, cut, with_cqe);
  }
  void settle() {
    bench.wait(
        "idle",
        [this] { return ord.pending() + place.pending() + cplace.pending() + rxd.pending() == 0; },
        400000);
    bench.tick(80);
    CHECK(difference(wrreq.items(), want_reqs) == "");
    CHECK((got_bytes == want_bytes));
    CHECK((got_counts == want_counts));
    check_completions();
  }
  // Each side's completions come in its own order.
  void check_completions() {
    std::map<Side, size_t> at;
    for (const Bits& c : cqe.items()) {
      bool found = false;
      for (Side s : {Side::kResponder, Side::kCompleter}) {
        Bits b(kCqeReq.width());
        b.insert(0, c.width() > b.width() ? c.slice(0, b.width()) : c);
        if (found || at[s] >= want_cqes[s].size() || want_cqes[s][at[s]] != b.hex()) continue;
        ++at[s];
        found = true;
      }
      CHECK(found);
    }
    for (Side s : {Side::kResponder, Side::kCompleter}) CHECK(at[s] == want_cqes[s].size());
  }
  void forget() {
    want_reqs = wrreq.items();
    want_bytes = got_bytes;
    want_counts = got_counts;
    want_cqes.clear();
    cqe.clear();
  }

  Bench<Top> bench;
  Top& top;
  StreamSource<Bits> ord;
  StreamSource<Decision> place, cplace;
  StreamSource<Beat> rxd;
  StreamSink<Bits> wrreq;
  StreamSink<Beat> wrdat;
  StreamSink<Bits> cqe;
  Rng random = rng("traffic");
  std::vector<Bits> want_reqs;
  std::vector<uint8_t> want_bytes, got_bytes;
  std::vector<std::pair<unsigned, bool>> want_counts, got_counts;
  std::map<Side, std::vector<std::string>> want_cqes;
  std::map<std::string, size_t> need_reqs;

 private:
  StreamSource<Decision>& source(Side side) { return side == Side::kCompleter ? cplace : place; }
  void decide(Side side, unsigned written, unsigned len, bool inl, bool more,
              const std::vector<uint8_t>& bytes, bool with_cqe) {
    const Bits c = Bits::random(random, kCqeReq.width());
    const uint64_t addr = random.bits(48), qpn = random.bits(24), psn = random.bits(24);
    const bool sampled = random.chance(0.5), ticket = random.chance(0.5);
    Bits p = kPlace.pack({{"write", written != 0},
                          {"len", len},
                          {"addr", addr},
                          {"target", random.bits(2)},
                          {"qpn", qpn},
                          {"psn", psn},
                          {"sampled", sampled},
                          {"has_cqe", with_cqe},
                          {"more", more},
                          {"inl", inl},
                          {"ticket", ticket}});
    if (inl) {
      auto lanes = bytes;
      while (lanes.size() < kInlineBytes) lanes.push_back(static_cast<uint8_t>(random.below(256)));
      kPlace.set_bits(p, "inl_data", Bits::from_bytes(lanes));
    }
    source(side).push({p, c});
    if (written != 0) {
      want_reqs.push_back(kWrReq.pack({{"addr", addr},
                                       {"len", written},
                                       {"relaxed", 1},
                                       {"qpn", qpn},
                                       {"psn", psn},
                                       {"sampled", sampled},
                                       {"ticket", ticket && side != Side::kCompleter},
                                       {"rd_ticket", ticket && side == Side::kCompleter}}));
      want_bytes.insert(want_bytes.end(), bytes.begin(), bytes.end());
      for (unsigned at = 0; at < written; at += kB)
        want_counts.emplace_back(std::min(kB, written - at), at + kB >= written);
    }
    if (with_cqe) {
      want_cqes[side].push_back(c.hex());
      Bits wide(read_pin(top.cqe).width());
      wide.insert(0, c);
      need_reqs[wide.hex()] = want_reqs.size();
    }
  }
};

template <class Top, unsigned W>
void run_random(Stall stall, unsigned packets) {
  World<Top, W> w(stall);
  auto random = rng("schedule");
  for (unsigned i = 0; i < packets; ++i) {
    w.bench.wait(
        "room",
        [&] { return w.ord.pending() < 8 && w.place.pending() < 12 && w.cplace.pending() < 12; },
        100000);
    if (random.chance(0.1)) w.alone(random.chance(0.5) ? Side::kResponder : Side::kCompleter);
    w.random_packet();
  }
  w.settle();
}

}  // namespace

TEST_CASE("rx_placer writes, discards and completes in packet order under any stalls") {
  run_random<Vrx_placer, 128>({}, 2000);
  run_random<Vrx_placer, 128>(Stall::random(0.4), 1500);
  run_random<Vrx_placer, 128>(Stall::bursts(0.1, 10), 1500);
  run_random<Vrx_placer_256, 256>(Stall::random(0.3), 1000);
  run_random<Vrx_placer_1024, 1024>(Stall::random(0.3), 1500);
  run_random<Vrx_placer_1024, 1024>({}, 1500);
}

TEST_CASE("a payload is cut at every byte, and the second piece at every byte again") {
  World<Vrx_placer, 128> w;
  for (unsigned len : {16u, 31u, 32u, 33u, 48u, 50u}) {
    for (unsigned a = 1; a < len; ++a) {
      w.packet(Side::kResponder, len, {}, {a, len - a}, false);
      w.settle();
    }
    for (unsigned a = 1; a < 18; ++a) {
      for (unsigned b = 1; a + b < len; b += 3)
        w.packet(Side::kCompleter, len, {}, {a, b, len - a - b}, false);
      w.settle();
    }
  }
}

TEST_CASE("a packet of one piece takes one cycle more than it has beats, one without payload one") {
  struct Case {
    unsigned len, cycles;
    bool cqe;
  };
  for (const Case c : {Case{16, 2, false}, Case{1, 2, false}, Case{64, 5, false},
                       Case{256, 17, false}, Case{0, 1, false}, Case{64, 5, true}}) {
    for (Side side : {Side::kResponder, Side::kCompleter}) {
      World<Vrx_placer, 128> w;
      for (int i = 0; i < 20; ++i) w.one_piece(c.len, c.cqe, side);
      w.settle();
      CHECK(w.ord.cycles().back() - w.ord.cycles().front() == 19 * c.cycles);
    }
  }
}

TEST_CASE("each piece takes one cycle more than it has beats, wherever it is cut") {
  World<Vrx_placer, 128> w;
  // 3 + 1 beats, 5 + 1, 3 + 1 of an inline piece of 40 bytes
  for (int i = 0; i < 20; ++i) w.packet(Side::kResponder, 110, {40}, {35, 75}, false);
  w.settle();
  CHECK(w.ord.cycles().back() - w.ord.cycles().front() == 19 * 14);
}

TEST_CASE("from decision and first beat to wrreq in the same cycle, to wrdat and cqe in the next") {
  World<Vrx_placer, 128> w;
  w.one_piece(32, true);
  w.settle();
  CHECK(w.wrreq.cycles()[0] == w.place.cycles()[0]);
  CHECK(w.wrdat.cycles()[0] == w.wrreq.cycles()[0] + 1);
  CHECK(w.cqe.cycles()[0] == w.wrreq.cycles()[0] + 1);
}

TEST_CASE("a completion that waits holds up only the next piece with a completion") {
  World<Vrx_placer, 128> w;
  w.cqe.set_stall(Stall::always());
  w.one_piece(16, true);
  for (int i = 0; i < 10; ++i) w.packet(Side::kResponder, 16, {}, {8, 8}, false);
  w.one_piece(16, true);
  w.one_piece(16, false);
  w.bench.tick(100);
  CHECK(w.wrreq.size() == 21);
  w.cqe.set_stall(Stall::none());
  w.settle();
}

TEST_CASE(
    "a completion that stands alone goes between the other side's packets, and holds none up") {
  World<Vrx_placer, 128> w;
  for (int i = 0; i < 40; ++i) w.one_piece(64, false, Side::kResponder);
  w.alone(Side::kCompleter);
  w.bench.wait(
      "the completion", [&] { return w.cqe.size() == 1; }, 40);
  w.settle();
  // It also passes when no packet is there at all.
  w.alone(Side::kCompleter);
  w.alone(Side::kResponder);
  w.settle();
}

TEST_CASE("a packet of one side waits for its own decision, not for the other's") {
  World<Vrx_placer, 128> w;
  w.place.set_stall(Stall::always());
  w.one_piece(16, true, Side::kCompleter);
  w.one_piece(16, true, Side::kResponder);
  w.one_piece(16, true, Side::kCompleter);
  w.bench.tick(40);
  CHECK(w.wrreq.size() == 1);
  w.place.set_stall(Stall::none());
  w.settle();
}

TEST_CASE("a reset in mid-packet leaves nothing behind") {
  World<Vrx_placer, 128> w(Stall::random(0.3));
  auto random = rng("when");
  for (int i = 0; i < 12; ++i) {
    w.packet(Side::kResponder, 200, {}, {77, 123}, true);
    w.packet(Side::kCompleter, 100, {40}, {3, 97}, true);
    w.bench.tick(random.between(2, 60));
    w.bench.reset();
    w.forget();
    w.one_piece(40, true);
    w.settle();
  }
}
