// SPDX-License-Identifier: Apache-2.0
// Pauses heard and told: their frames byte by byte, their times to the picosecond, what headroom
// holds.
#include "harness/switch/pause_frame.hpp"

#include <map>

#include "tests/harness_switch/bed.hpp"
#include "tests/support/rng.hpp"

using namespace rnic;
using namespace rnic::test;
using switching::FlowControl;
using switching::PauseFrame;

namespace {

constexpr uint64_t k100G = 100'000'000'000;
constexpr TimePs kDelay = 200'000;
constexpr TimePs kPauseWire = (8 + 60 + 4) * 80;

SwitchConfig pfc(unsigned ports, uint8_t classes) {
  SwitchConfig c;
  c.ports = ports;
  c.pause.mode = FlowControl::kPfc;
  c.pause.classes = classes;
  for (auto& k : c.classes) k.queue_bytes = 1ull << 40;
  return c;
}

Bytes pause_bytes(unsigned host, const PauseFrame& p) {
  const auto f = switching::build_pause(p, mac_of(host));
  return {f.begin(), f.end()};
}

PauseFrame pause_of(unsigned cls, uint16_t quanta) {
  PauseFrame p;
  p.mask = static_cast<uint8_t>(1 << cls);
  p.quanta[cls] = quanta;
  return p;
}

// Of class 3 (DSCP 24), with so many bytes of frame.
Bytes class3(unsigned from, unsigned to, size_t payload = 1024) {
  return packet(from, to, payload, {.dscp = 24});
}

uint64_t headroom_drops(const Bed& bed, unsigned port) {
  uint64_t n = 0;
  for (const auto& c : bed.sw.counters(port).classes) n += c.headroom_drops;
  return n;
}

}  // namespace

TEST_CASE("pause frames are those of the facts, byte for byte") {
  // Priority 3, the longest time.
  Bytes want = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
                0x88, 0x08, 0x01, 0x01, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  want.resize(60);
  CHECK(pause_bytes(0, pause_of(3, 0xFFFF)) == want);
  PauseFrame p;
  REQUIRE(switching::parse_pause(want, p));
  CHECK_FALSE(p.legacy);
  CHECK(p.mask == 8);
  CHECK(p.quanta[3] == 0xFFFF);
  PauseFrame legacy;
  legacy.legacy = true;
  legacy.quanta[0] = 0x1234;
  const Bytes old = pause_bytes(0, legacy);
  CHECK(Bytes(old.begin() + 12, old.begin() + 18) == Bytes{0x88, 0x08, 0x00, 0x01, 0x12, 0x34});
  CHECK(Bytes(old.begin() + 18, old.end()) == Bytes(42, 0));
  REQUIRE(switching::parse_pause(old, p));
  CHECK(p.legacy);
  CHECK(p.quanta[0] == 0x1234);
  // Cut, another opcode, another destination.
  CHECK_FALSE(switching::parse_pause(std::span(want).first(59), p));
  Bytes other = want;
  other[15] = 2;
  CHECK_FALSE(switching::parse_pause(other, p));
  other = want;
  other[5] = 2;
  CHECK_FALSE(switching::parse_pause(other, p));
}

TEST_CASE("a quantum is 512 bit times, never shorter") {
  CHECK(switching::quanta_time(0xFFFF, 100'000'000'000) == 335'539'200);
  CHECK(switching::quanta_time(0xFFFF, 400'000'000'000) == 83'884'800);
  CHECK(switching::quanta_time(1, 100'000'000'000) == 5'120);
  CHECK(switching::quanta_time(0, 100'000'000'000) == 0);
  CHECK(switching::quanta_time(1, 3'000'000'000) == 170'667);
  CHECK(switching::quanta_time(0xFFFF, 1'000'000'000) == 33'553'920'000);
}

TEST_CASE("a class stops at a frame's end and starts again to the picosecond; others go on") {
  const auto quanta = GENERATE(as<uint16_t>{}, 1, 2, 77, 5000);
  Bed bed(pfc(2, 0xFF));
  for (int i = 0; i < 60; ++i) bed.host(0).at(0, class3(0, 1));
  for (int i = 0; i < 60; ++i) bed.host(0).at(0, packet(0, 1, 1024, {.dscp = 8}));
  const TimePs sent = 2'500'000, heard = sent + kPauseWire + kDelay;
  bed.host(1).at(sent, pause_bytes(1, pause_of(3, quanta)));
  bed.run(100'000'000);
  const TimePs until = heard + quanta * 5'120ull;
  std::vector<TimePs> three, one;
  for (const Got& g : bed.host(1).got)
    (g.bytes[15] >> 2 == 24 ? three : one).push_back(g.first_ps - kDelay - 640);
  REQUIRE(three.size() == 60);
  REQUIRE(one.size() == 60);
  for (const TimePs t : three) CHECK((t < heard || t >= until));
  const auto next = std::lower_bound(three.begin(), three.end(), heard);
  REQUIRE(next != three.begin());  // it was going
  const TimePs frame = (class3(0, 1).size() + 24) * 80;
  // The first one starts at once, or behind the frame of the other class that is on the wire.
  if (next != three.end()) CHECK(*next < std::max(until, heard) + frame);
  const auto n = bed.sw.counters(1);
  CHECK(n.classes[3].paused_ps == quanta * 5'120ull);
  CHECK(n.classes[3].xoff_rx == 1);
  CHECK(n.classes[1].paused_ps == 0);
  CHECK(n.pause_frames_rx == 1);
}

TEST_CASE("a lone class starts exactly when its pause ends, is resumed or is shortened") {
  struct Case {
    uint16_t first, second;
    TimePs end_quanta;  // from the frame that counts
    bool by_second;
  };
  const auto c =
      GENERATE(Case{500, 0, 0, true}, Case{500, 0xFFFF, 0xFFFF, true}, Case{5000, 10, 10, true});
  Bed bed(pfc(2, 1 << 3));
  const TimePs first = 0, second = 1'000'000;
  bed.host(1).at(first, pause_bytes(1, pause_of(3, c.first)));
  bed.host(1).at(second, pause_bytes(1, pause_of(3, c.second)));
  bed.host(0).at(0, class3(0, 1));
  bed.run(400'000'000);
  REQUIRE(bed.host(1).got.size() == 1);
  const TimePs heard = second + kPauseWire + kDelay;
  CHECK(bed.host(1).got[0].first_ps == heard + c.end_quanta * 5'120 + 640 + kDelay);
}

TEST_CASE("pauses of other kinds, other classes, or damaged, are not heeded") {
  SwitchConfig c = pfc(2, 1 << 3);
  PauseFrame legacy;
  legacy.legacy = true;
  legacy.quanta[0] = 0xFFFF;
  const auto first_out = [&](const SwitchConfig& config, const Bytes& pause, bool err = false) {
    Bed bed(config);
    bed.host(1).at(0, pause, 0, err);
    bed.host(0).at(2'000'000, class3(0, 1));
    bed.host(0).at(2'000'000, packet(0, 1, 64));
    bed.run(20'000'000);
    return std::pair(bed.host(1).got.size(), bed.sw.counters(1).pauses_ignored);
  };
  using Result = std::pair<size_t, uint64_t>;
  CHECK(first_out(c, pause_bytes(1, pause_of(3, 0xFFFF))) == Result(1, 0));
  CHECK(first_out(c, pause_bytes(1, pause_of(3, 0xFFFF)), true) == Result(2, 0));
  CHECK(first_out(c, pause_bytes(1, pause_of(2, 0xFFFF))) == Result(2, 1));
  CHECK(first_out(c, pause_bytes(1, legacy)) == Result(2, 1));
  c.pause.mode = FlowControl::kPause;
  CHECK(first_out(c, pause_bytes(1, legacy)) == Result(0, 0));
  CHECK(first_out(c, pause_bytes(1, pause_of(3, 0xFFFF))) == Result(2, 1));
  c.pause.mode = FlowControl::kNone;
  CHECK(first_out(c, pause_bytes(1, legacy)) == Result(2, 1));
  CHECK(first_out(c, pause_bytes(1, pause_of(3, 0xFFFF))) == Result(2, 1));
}

TEST_CASE("pauses are told exactly at the high mark and taken back exactly at the low one") {
  const auto mode = GENERATE(FlowControl::kPfc, FlowControl::kPause);
  SwitchConfig c = pfc(2, 1 << 3);
  c.pause.mode = mode;
  c.pause.xoff = 30'000;
  c.pause.xon = 12'000;
  Bed bed(c, {.rates = {k100G, 25'000'000'000}});
  auto rng = test::rng("sizes");
  std::vector<uint64_t> sizes;
  for (int i = 0; i < 600; ++i) {
    const Bytes f = class3(0, 1, rng.below(4097));
    sizes.push_back(f.size() + 4);
    bed.host(0).at(0, f, 3);
  }
  bed.run(2'000'000'000);
  CHECK(bed.host(1).got.size() == 600);
  // What was in the switch, from when frames came and went.
  std::vector<std::pair<TimePs, int64_t>> events;  // arrivals before departures
  for (size_t i = 0; i < sizes.size(); ++i) {
    events.emplace_back(2 * (bed.host(0).started[i] + (8 + sizes[i]) * 80 + kDelay), sizes[i]);
    const Got& g = bed.host(1).got[i];
    events.emplace_back(2 * (g.first_ps - kDelay - 8 * 320) + 1, -static_cast<int64_t>(sizes[i]));
  }
  std::sort(events.begin(), events.end());
  std::vector<std::pair<TimePs, bool>> want;
  int64_t inside = 0, most = 0;
  bool paused = false;
  for (const auto& [at, bytes] : events) {
    inside += bytes;
    most = std::max(most, inside);
    if (!paused && bytes > 0 && inside >= 30'000) want.emplace_back(at / 2, paused = true);
    if (paused && bytes < 0 && inside <= 12'000) {
      paused = false;
      want.emplace_back(at / 2, false);
    }
  }
  const auto& told = bed.host(0).control;
  REQUIRE(told.size() == want.size());
  REQUIRE(want.size() > 20);
  for (size_t i = 0; i < want.size(); ++i) {
    CHECK(told[i].first_ps == want[i].first + 640 + kDelay);
    PauseFrame p;
    REQUIRE(switching::parse_pause(told[i].bytes, p));
    CHECK(p.legacy == (mode == FlowControl::kPause));
    if (!p.legacy) CHECK(p.mask == 8);
    CHECK(p.quanta[p.legacy ? 0 : 3] == (want[i].second ? 0xFFFF : 0));
  }
  const auto n = bed.sw.counters(0);
  const auto& k = n.classes[mode == FlowControl::kPause ? 0 : 3];
  CHECK(k.xoff_tx == (want.size() + 1) / 2);
  CHECK(k.xon_tx == want.size() / 2);
  CHECK(n.pause_frames_tx == want.size());
  CHECK(k.ingress_max == static_cast<uint64_t>(most));
  CHECK(k.headroom_drops == 0);
}

TEST_CASE("a pause that is still needed is renewed after half its time") {
  SwitchConfig c = pfc(2, 1 << 3);
  c.pause.xoff = 3'000;
  c.pause.xon = 1'000;
  c.pause.quanta = 200;  // 1.024 us
  Bed bed(c);
  for (int i = 0; i < 20; ++i) bed.host(0).at(0, class3(0, 1), 3);
  bed.host(1).at(0, pause_bytes(1, pause_of(3, 0xFFFF)));
  bed.run(100'000'000);
  const auto& told = bed.host(0).control;
  REQUIRE(told.size() > 150);
  for (size_t i = 1; i < told.size(); ++i)
    CHECK(told[i].first_ps - told[i - 1].first_ps == 512'000);
  CHECK(headroom_drops(bed, 0) == 0);
  CHECK(bed.host(0).left() > 0);  // it stays paused
  bed.run(600'000'000);
  CHECK(bed.host(1).got.size() == 20);
  PauseFrame last;
  REQUIRE(switching::parse_pause(told.back().bytes, last));
  CHECK(last.quanta[3] == 0);
}

TEST_CASE("computed headroom never loses a frame, what was needed less one byte does") {
  // The worst frames at the worst time: the longest, without a gap, and the pause has to wait
  // behind the longest one the other way, at every phase of it.
  const auto delay = GENERATE(as<TimePs>{}, 50'000, 1'000'000);
  const auto reaction = GENERATE(as<TimePs>{}, 0, 300'000);
  constexpr uint32_t kLongest = 1514;
  constexpr uint64_t kFrame = kLongest + 4;
  constexpr TimePs kLine = (kLongest + 24) * 80;
  struct Outcome {
    uint64_t most, drops, arrived, headroom, model;
  };
  const auto run = [&](TimePs phase, std::optional<uint64_t> headroom) {
    SwitchConfig c = pfc(3, 1 << 3);
    c.max_frame = kLongest;
    c.pause.xoff = 10 * kFrame + 1;  // crossed as far as can be
    c.pause.xon = kFrame;
    c.pause.reaction_ps = reaction;
    c.pause.headroom = headroom;
    Bed bed(c, {.delay_ps = delay});
    bed.host(0).reaction_ps = reaction;
    Bytes f = class3(0, 1, 1452);
    f.resize(kLongest);
    for (int i = 0; i < 80; ++i) bed.host(0).at(0, f, 3);
    bed.host(1).at(0, pause_bytes(1, pause_of(3, 0xFFFF)));
    // The other way, without a gap, in a class of its own.
    for (int i = 0; i < 80; ++i) bed.host(2).at(phase, plain(2, 0, kLongest));
    bed.run(30'000'000);
    const auto k = bed.sw.counters(0).classes[3];
    // Started before the first pause was heard and heeded.
    const TimePs stop = bed.host(0).control.at(0).last_ps + reaction;
    uint64_t model = 0;
    for (const TimePs t : bed.host(0).started)
      if (t < stop) model += kFrame;
    const Outcome out{k.ingress_max, k.headroom_drops, k.rx_frames, bed.sw.headroom(0), model};
    bed.run(1'000'000'000);
    CHECK(bed.host(1).got.size() + out.drops == 80);
    return out;
  };
  uint64_t most = 0;
  TimePs worst = 0;
  for (int i = 0; i < 40; ++i) {
    const TimePs phase = kLine * static_cast<TimePs>(i) / 40;
    const Outcome o = run(phase, std::nullopt);
    CHECK(o.drops == 0);
    CHECK(o.most == o.model);
    CHECK(o.headroom == switching::headroom_bytes(k100G, delay, reaction, kLongest));
    if (o.most > most) worst = phase;
    most = std::max(most, o.most);
  }
  const uint64_t needed = most - (10 * kFrame + 1);
  const uint64_t computed = switching::headroom_bytes(k100G, delay, reaction, kLongest);
  INFO("needed " << needed << ", computed " << computed);
  CHECK(needed <= computed);
  CHECK(computed - needed < 2 * kFrame);  // frames are whole
  CHECK(run(worst, needed).drops == 0);
  CHECK(run(worst, needed - 1).drops == 1);
  CHECK(run(worst, needed - kFrame - 1).drops == 2);
  CHECK(run(worst, 0).drops > 2);
}

TEST_CASE("random mixtures in lossless classes lose nothing") {
  auto rng = test::rng("mixture");
  for (int trial = 0; trial < 6; ++trial) {
    const unsigned n = static_cast<unsigned>(rng.between(3, 9));
    SwitchConfig c = pfc(n, 0x0F);
    c.pause.xoff = 20'000;
    c.pause.xon = 10'000;
    c.max_frame = 4200;
    c.pause.quanta = static_cast<uint16_t>(rng.between(50, 0xFFFF));
    Bed bed(c, {.delay_ps = rng.between(10'000, 500'000)});
    size_t all = 0;
    for (unsigned h = 0; h < n; ++h) {
      bed.host(h).reaction_ps = rng.below(500'000);
      for (int i = 0; i < 100; ++i) {
        const auto cls = static_cast<unsigned>(rng.below(4));
        unsigned to = rng.chance(0.6) ? 0 : static_cast<unsigned>(rng.below(n));
        if (to == h) to = (h + 1) % n;
        bed.host(h).at(0, packet(h, to, rng.below(4097), {.dscp = static_cast<uint8_t>(8 * cls)}),
                       cls);
        ++all;
      }
    }
    bed.run(20'000'000'000);
    size_t got = 0;
    for (unsigned h = 0; h < n; ++h) {
      got += bed.host(h).got.size();
      CHECK(headroom_drops(bed, h) == 0);
      CHECK(bed.host(h).left() == 0);
      CHECK(bed.sw.queued(h) == 0);
    }
    CHECK(got == all);
  }
}

TEST_CASE("without a peer that obeys, frames beyond the headroom are lost and counted") {
  SwitchConfig c = pfc(2, 1 << 3);
  c.pause.xoff = 10'000;
  c.pause.xon = 5'000;
  c.pause.headroom = 5'000;
  Bed bed(c, {.rates = {k100G, 10'000'000'000}});
  bed.host(0).obey = false;
  for (int i = 0; i < 200; ++i) bed.host(0).at(0, class3(0, 1), 3);
  bed.run(500'000'000);
  const auto k = bed.sw.counters(0).classes[3];
  CHECK(k.headroom_drops > 100);
  CHECK(k.headroom_drops + bed.host(1).got.size() == 200);
  CHECK(k.ingress_max <= 15'000);
}

TEST_CASE("a storm of pauses holds its class and nobody else; afterwards everything arrives") {
  SwitchConfig c = pfc(4, 1 << 3);
  c.pause.xoff = 30'000;
  c.pause.xon = 15'000;
  Bed bed(c);
  // Host 3 pauses class 3 without end, from the beginning to 2 ms.
  constexpr TimePs kEvery = 100'000'000;
  for (int i = 0; i < 20; ++i)
    bed.host(3).at(static_cast<TimePs>(i) * kEvery, pause_bytes(3, pause_of(3, 0xFFFF)));
  // Host 0 sends to it in class 3, and to host 1 in both; host 2 has nothing to do with it.
  for (int i = 0; i < 100; ++i) bed.host(0).at(0, class3(0, 3), 3);
  for (int i = 0; i < 100; ++i) bed.host(2).at(0, class3(2, 1), 3);
  for (int i = 0; i < 100; ++i) bed.host(2).at(0, packet(2, 3, 1024));
  bed.run(1'900'000'000);
  CHECK(bed.host(1).got.size() == 100);
  CHECK(bed.host(3).got.size() == 100);  // class 0
  CHECK(bed.host(0).left() > 60);        // held back at its source
  CHECK(headroom_drops(bed, 0) == 0);
  bed.run(3'000'000'000);
  CHECK(bed.host(3).got.size() == 200);
  CHECK(bed.host(0).left() == 0);
  const auto n = bed.sw.counters(3);
  CHECK(n.classes[3].xoff_rx == 20);
  // 19 gaps and the last one's whole time.
  CHECK(n.classes[3].paused_ps == 19 * kEvery + 0xFFFF * 5'120ull);
}

TEST_CASE("802.3x stops everything but pauses themselves") {
  SwitchConfig c = pfc(3, 0);
  c.pause.mode = FlowControl::kPause;
  c.pause.xoff = 10'000;
  c.pause.xon = 5'000;
  Bed bed(c);
  PauseFrame p;
  p.legacy = true;
  p.quanta[0] = 0xFFFF;
  // Host 0 is stopped by the switch while it has itself stopped the switch.
  bed.host(0).at(0, pause_bytes(0, p), 1);
  bed.host(1).at(0, pause_bytes(1, p), 1);
  for (int i = 0; i < 50; ++i)
    bed.host(0).at(0, packet(0, 1, 1000, {.dscp = static_cast<uint8_t>(8 * (i % 8))}));
  bed.run(300'000'000);
  CHECK(bed.host(1).got.empty());
  REQUIRE_FALSE(bed.host(0).control.empty());
  CHECK(bed.host(0).left() > 0);
  bed.run(1'000'000'000);
  CHECK(bed.host(1).got.size() == 50);
  CHECK(bed.sw.counters(1).paused_ps == 335'539'200);
  CHECK(bed.sw.counters(0).classes[0].headroom_drops == 0);
}
