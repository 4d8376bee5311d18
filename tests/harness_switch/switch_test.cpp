// SPDX-License-Identifier: Apache-2.0
// Times, addresses, buffers, and frames that are wrong. Expected times come from frame lengths and
// rates alone.
#include "harness/switch/switch.hpp"

#include <atomic>
#include <cstdlib>
#include <map>
#include <new>
#include <random>

#include "tests/harness_switch/bed.hpp"
#include "tests/support/rng.hpp"

using namespace rnic;
using namespace rnic::test;
using switching::Unknown;

namespace {
std::atomic<uint64_t> g_allocations{0};
}  // namespace

// The pair below belongs together; GCC 14 sees only one half where it inlines.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t n) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  void* p = std::malloc(n ? n : 1);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

constexpr uint64_t k100G = 100'000'000'000;

SwitchConfig config_of(unsigned ports) {
  SwitchConfig c;
  c.ports = ports;
  return c;
}

}  // namespace

TEST_CASE("a frame leaves its latency after its last byte, to the picosecond") {
  for (const uint64_t rate : std::vector<uint64_t>{k100G, 400'000'000'000, 97'000'000'007}) {
    for (const uint32_t length : {60u, 61u, 1514u, 9000u}) {
      SwitchConfig c = config_of(2);
      c.latency_ps = 123'457;
      Bed bed(c, {.rates = {rate}, .delay_ps = 51'003});
      bed.host(0).at(1'000'001, plain(0, 1, length));
      bed.run(5'000'000);
      REQUIRE(bed.host(1).got.size() == 1);
      const TimePs in = 1'000'001 + wire_time(8 + length + 4, rate) + 51'003;
      const Got& g = bed.host(1).got[0];
      INFO(rate << " bit/s, " << length << " bytes");
      CHECK(g.first_ps == in + 123'457 + wire_time(8, rate) + 51'003);
      CHECK(g.last_ps == in + 123'457 + wire_time(8 + length + 4, rate) + 51'003);
      CHECK(g.bytes == plain(0, 1, length));
      CHECK_FALSE(g.err);
    }
  }
}

TEST_CASE("frames back to back do not drift at an odd rate") {
  constexpr uint64_t kOdd = 33'333'333'331;
  Bed bed(config_of(2), {.rates = {k100G, kOdd}});
  for (int i = 0; i < 500; ++i) bed.host(0).at(0, plain(0, 1, 1001));
  bed.run(500'000'000);
  const auto& got = bed.host(1).got;
  REQUIRE(got.size() == 500);
  const TimePs start = wire_time(8 + 1001 + 4, k100G) + 200'000 + 300'000;
  for (size_t k = 0; k < got.size(); ++k) {
    // Exact sum of k whole frames, rounded once.
    CHECK(got[k].first_ps == start + wire_time(k * (1001 + 24) + 8, kOdd) + 200'000);
  }
}

TEST_CASE("N senders into one port: every departure is max(arrival + latency, port free)") {
  auto rng = test::rng("switch.times");
  for (unsigned n = 2; n <= 16; ++n) {
    SwitchConfig c = config_of(n);
    for (auto& k : c.classes) k.queue_bytes = 1ull << 40;
    Bed bed(c, {.rates = {k100G}});
    struct Sent {
      TimePs arrival;
      uint32_t length, id;
    };
    std::vector<Sent> sent;
    std::map<uint32_t, unsigned> from;
    uint32_t id = 0;
    for (unsigned h = 1; h < n; ++h) {
      TimePs free = 0;
      for (int i = 0; i < 40; ++i) {
        const auto length = static_cast<uint32_t>(60 + rng.below(3000));
        const TimePs when = std::max<TimePs>(free, free + rng.below(400'000));
        Bytes f = plain(h, 0, length);
        f[20] = static_cast<uint8_t>(id);
        f[21] = static_cast<uint8_t>(id >> 8);
        bed.host(h).at(when, f);
        sent.push_back({when + (8 + length + 4) * 80 + 200'000, length, id});
        from[id++] = h;
        free = when + (length + 24) * 80;
      }
    }
    bed.run(300'000'000);
    const auto& got = bed.host(0).got;
    REQUIRE(got.size() == sent.size());
    std::map<uint32_t, Sent> by_id;
    for (const Sent& s : sent) by_id[s.id] = s;
    TimePs free = 0, last_arrival = 0;
    for (const Got& g : got) {
      const Sent& s = by_id.at(g.bytes[20] | g.bytes[21] << 8);
      const TimePs start = std::max(s.arrival + 300'000, free);
      CHECK(g.first_ps == start + 8 * 80 + 200'000);
      CHECK(s.arrival >= last_arrival);  // in order of arrival
      last_arrival = s.arrival;
      free = start + (s.length + 24) * 80;
    }
    CHECK(bed.sw.counters(0).wire_bytes == [&] {
      uint64_t sum = 0;
      for (const Sent& s : sent) sum += s.length + 24;
      return sum;
    }());
  }
}

TEST_CASE("of a frame on the wire the bytes count whose time has passed") {
  Bed bed(config_of(2));
  bed.host(1).at(0, plain(1, 0, 976));
  // In at (8 + 976 + 4) * 80 ps behind 200 ns, out 300 ns later, 1000 bytes long.
  const TimePs start = 988 * 80 + 500'000;
  for (const auto& [at, bytes] : {std::pair<TimePs, uint64_t>{start - 1, 0},
                                  {start, 0},
                                  {start + 8'000, 100},
                                  {start + 40'000, 500},
                                  {start + 80'000, 1000},
                                  {start + 900'000, 1000}}) {
    bed.run(at);
    CHECK(bed.sw.passed_bytes(0) == bytes);
  }
}

TEST_CASE("frames that arrive at the same picosecond go in turns") {
  SwitchConfig c = config_of(4);
  Bed bed(c);
  for (int i = 0; i < 30; ++i)
    for (unsigned h = 1; h < 4; ++h) bed.host(h).at(0, plain(h, 0, 500));
  bed.run(20'000'000);
  std::map<uint8_t, int> of;
  const auto& got = bed.host(0).got;
  REQUIRE(got.size() == 90);
  for (size_t i = 0; i < 45; ++i) ++of[got[i].bytes[11]];
  for (const auto& [host, count] : of) CHECK(count == 15);
}

TEST_CASE("addresses are learned, told, unknown, of groups, or on the same port") {
  SECTION("flooded until learned") {
    Bed bed(config_of(4), {.addresses = false});
    bed.host(0).at(0, plain(0, 1, 100));
    bed.host(1).at(5'000'000, plain(1, 0, 100));
    bed.host(0).at(10'000'000, plain(0, 1, 200));
    bed.run(20'000'000);
    CHECK(bed.host(1).got.size() == 2);
    CHECK(bed.host(2).got.size() == 1);
    CHECK(bed.host(3).got.size() == 1);
    CHECK(bed.host(0).got.size() == 1);
    CHECK(bed.sw.counters(0).unknown == 1);
    CHECK(bed.sw.counters(0).learned == 1);
    CHECK(bed.sw.counters(1).learned == 1);
  }
  SECTION("unknown dropped") {
    SwitchConfig c = config_of(3);
    c.unknown = Unknown::kDrop;
    Bed bed(c, {.addresses = false});
    bed.host(0).at(0, plain(0, 1, 100));
    bed.run(5'000'000);
    CHECK(bed.host(1).got.empty());
    CHECK(bed.host(2).got.empty());
    CHECK(bed.sw.counters(0).unknown == 1);
  }
  SECTION("without learning every one stays unknown") {
    SwitchConfig c = config_of(3);
    c.learn = false;
    Bed bed(c, {.addresses = false});
    bed.host(0).at(0, plain(0, 1, 100));
    bed.host(1).at(5'000'000, plain(1, 0, 100));
    bed.run(10'000'000);
    CHECK(bed.host(2).got.size() == 2);
    CHECK(bed.sw.counters(1).unknown == 1);
    CHECK(bed.sw.counters(0).learned == 0);
  }
  SECTION("broadcast and multicast go everywhere but back") {
    Bed bed(config_of(5));
    Bytes f = plain(2, 0, 64);
    std::fill(f.begin(), f.begin() + 6, uint8_t{0xFF});
    bed.host(2).at(0, f);
    f[0] = 0x01;
    f[1] = 0x00;
    bed.host(2).at(0, f);
    bed.run(5'000'000);
    for (const size_t h : {0, 1, 3, 4}) CHECK(bed.host(h).got.size() == 2);
    CHECK(bed.host(2).got.empty());
    CHECK(bed.sw.counters(2).unknown == 0);
  }
  SECTION("to the port it came from") {
    Bed bed(config_of(2));
    bed.host(0).at(0, plain(1, 0, 64));
    bed.run(5'000'000);
    CHECK(bed.host(0).got.empty());
    CHECK(bed.host(1).got.empty());
    CHECK(bed.sw.counters(0).filtered == 1);
  }
  SECTION("a learned address moves, a told one stays") {
    SwitchConfig c = config_of(3);
    Bed bed(c, {.addresses = false});
    bed.sw.add_address(mac_of(1), 1);
    bed.host(0).at(0, plain(7, 1, 64));
    bed.host(2).at(3'000'000, plain(7, 1, 64));  // host 7 is now behind port 2
    bed.host(2).at(6'000'000, plain(1, 7, 64));  // not believed: 1 is told
    bed.host(1).at(9'000'000, plain(1, 7, 64));
    bed.run(15'000'000);
    CHECK(bed.sw.counters(2).moved == 1);
    CHECK(bed.host(2).got.size() == 1);
    CHECK(bed.host(0).got.empty());
    CHECK(bed.sw.counters(2).filtered == 1);
  }
  SECTION("a full table learns no more") {
    SwitchConfig c = config_of(2);
    c.table_entries = 8;
    Bed bed(c, {.addresses = false});
    for (unsigned i = 0; i < 20; ++i) bed.host(0).at(0, plain(i, 100, 64));
    bed.run(10'000'000);
    CHECK(bed.sw.counters(0).learned == 8);
    CHECK(bed.sw.counters(0).table_full == 12);
    CHECK_THROWS_WITH(bed.sw.add_address(mac_of(50), 1), contains_text("8 addresses"));
  }
  SECTION("link-local groups and unknown MAC control stay on their cable") {
    Bed bed(config_of(2));
    Bytes f = plain(0, 1, 64);
    const uint8_t group[] = {0x01, 0x80, 0xC2, 0, 0, 0x0E};
    std::copy(std::begin(group), std::end(group), f.begin());
    bed.host(0).at(0, f);
    f = plain(0, 1, 64);
    f[12] = 0x88;
    f[13] = 0x08;
    bed.host(0).at(0, f);
    bed.run(5'000'000);
    CHECK(bed.host(1).got.empty());
    CHECK(bed.sw.counters(0).reserved == 2);
  }
}

TEST_CASE("runts, bad FCS and frames too long are dropped and counted") {
  SwitchConfig c = config_of(2);
  c.max_frame = 1514;
  Bed bed(c);
  bed.host(0).at(0, plain(0, 1, 59));
  bed.host(0).at(0, plain(0, 1, 15));
  bed.host(0).at(0, plain(0, 1, 100), 0, true);
  bed.host(0).at(0, plain(0, 1, 1515));
  bed.host(0).at(0, plain(0, 1, 9700));
  bed.host(0).at(0, plain(0, 1, 1514));
  bed.host(0).at(0, plain(0, 1, 60));
  bed.run(10'000'000);
  REQUIRE(bed.host(1).got.size() == 2);
  CHECK(bed.host(1).got[0].bytes.size() == 1514);
  CHECK(bed.host(1).got[1].bytes.size() == 60);
  CHECK(bed.sw.counters(0).bad_frames == 3);
  CHECK(bed.sw.counters(0).oversize == 2);
  CHECK(bed.sw.counters(0).classes[0].rx_frames == 2);
  CHECK(bed.sw.counters(0).classes[0].rx_bytes == 1514 + 60 + 8);
}

TEST_CASE("a bad FCS in a stream that carries it is seen too") {
  SwitchConfig c = config_of(2);
  Switch sw(c);
  wire::Link in({.rate_bps = k100G, .fcs_in_stream = true}, {}, {}),
      out({.rate_bps = k100G}, {}, {});
  sw.attach(0, in, 1);
  sw.attach(1, out, 1);
  sw.add_address(mac_of(1), 1);
  in.tx(0).send(0, plain(0, 1, 100));
  in.tx(0).advance(10'000'000);
  out.tx(0).advance(10'000'000);
  sw.run_until(sw.safe_until());
  wire::FrameInfo f;
  REQUIRE(out.rx(0).take(9'000'000, f));
  CHECK(Bytes(f.bytes.begin(), f.bytes.end()) == plain(0, 1, 100));
}

TEST_CASE("arbitrary bytes neither crash nor vanish") {
  auto rng = test::rng("switch.fuzz");
  SwitchConfig c = config_of(3);
  c.telemetry = switching::IntMode::kInsert;
  c.pause.mode = switching::FlowControl::kPfc;
  c.pause.classes = 0x0F;
  for (auto& k : c.classes) k.ecn = {true, 0, 0, 1};
  Bed bed(c);
  const int kFrames = 3000;
  for (int i = 0; i < kFrames; ++i) {
    Bytes f;
    if (rng.below(2) == 0) {
      f = packet(0, 1 + static_cast<unsigned>(rng.below(2)), rng.below(200),
                 {.pcp = static_cast<int>(rng.below(9)) - 1});
    } else {
      f = plain(0, 1, 60 + rng.below(100), static_cast<uint8_t>(rng.u64()));
    }
    for (uint64_t k = rng.below(8); k > 0; --k)
      f[12 + rng.below(f.size() - 12)] = static_cast<uint8_t>(rng.u64());
    if (rng.below(4) == 0) f.resize(60 + rng.below(std::max<size_t>(1, f.size() - 59)));
    bed.host(0).at(0, f);
  }
  bed.run(200'000'000);
  const auto p = bed.sw.counters(0);
  uint64_t in = p.bad_frames + p.oversize + p.reserved + p.pause_frames_rx, out = 0;
  for (unsigned k = 0; k < 8; ++k) {
    in += p.classes[k].rx_frames;
    for (unsigned port = 1; port < 3; ++port) out += bed.sw.counters(port).classes[k].tx_frames;
  }
  CHECK(in == kFrames);
  CHECK(out > 0);
  CHECK(bed.host(1).got.size() + bed.host(2).got.size() == out);
}

TEST_CASE("a full queue drops, and at the byte") {
  // A burst at 100 Gb/s into a port of 25: all of it waits but what has left.
  constexpr uint32_t kLength = 996;  // 1000 bytes with FCS
  const auto run = [&](uint64_t queue, uint64_t buffer, uint64_t port_buffer) {
    SwitchConfig c = config_of(2);
    c.latency_ps = 50'000'000;  // nothing leaves before all are in
    for (auto& k : c.classes) k.queue_bytes = queue;
    c.buffer_bytes = buffer;
    c.port_buffer_bytes = port_buffer;
    Bed bed(c, {.rates = {k100G, 25'000'000'000}});
    for (int i = 0; i < 20; ++i) bed.host(0).at(0, plain(0, 1, kLength));
    bed.run(100'000'000);
    const auto n = bed.sw.counters(1).classes[0];
    CHECK(n.drops + bed.host(1).got.size() == 20);
    CHECK(n.drop_bytes == n.drops * 1000);
    CHECK(n.queue_max == bed.host(1).got.size() * 1000);
    return bed.host(1).got.size();
  };
  constexpr uint64_t kMuch = 1 << 30;
  CHECK(run(10'000, 0, 0) == 10);
  CHECK(run(9'999, 0, 0) == 9);
  CHECK(run(10'999, 0, 0) == 10);
  CHECK(run(kMuch, 7'000, 0) == 7);
  CHECK(run(kMuch, 6'999, 0) == 6);
  CHECK(run(kMuch, kMuch, 3'000) == 3);
  CHECK(run(kMuch, kMuch, 2'999) == 2);
  CHECK(run(kMuch, 0, 0) == 20);
}

TEST_CASE("a shared buffer is shared, one per port is not") {
  const auto run = [&](uint64_t buffer, uint64_t port_buffer) {
    SwitchConfig c = config_of(4);
    c.latency_ps = 50'000'000;
    c.buffer_bytes = buffer;
    c.port_buffer_bytes = port_buffer;
    Bed bed(c);
    for (int i = 0; i < 10; ++i) {
      bed.host(0).at(0, plain(0, 2, 996));
      bed.host(1).at(40'000, plain(1, 3, 996));  // always behind the other's
    }
    bed.run(100'000'000);
    return std::pair(bed.host(2).got.size(), bed.host(3).got.size());
  };
  CHECK(run(7'000, 0) == std::pair<size_t, size_t>(4, 3));
  CHECK(run(0, 7'000) == std::pair<size_t, size_t>(7, 7));
}

TEST_CASE("the same seed gives the same frames at the same times, another seed other marks") {
  const auto run = [](uint64_t seed) {
    SwitchConfig c = config_of(4);
    c.seed = seed;
    for (auto& k : c.classes) k.ecn = {true, 2'000, 60'000, 0.5};
    Bed bed(c);
    std::mt19937_64 rng(7);
    for (unsigned h = 1; h < 4; ++h)
      for (int i = 0; i < 100; ++i) bed.host(h).at(rng() % 20'000'000, packet(h, 0, rng() % 1024));
    bed.run(100'000'000);
    std::vector<std::pair<TimePs, Bytes>> all;
    for (const Got& g : bed.host(0).got) all.emplace_back(g.first_ps, g.bytes);
    return all;
  };
  const auto one = run(1), again = run(1), other = run(2);
  CHECK(one == again);
  CHECK(one != other);
  REQUIRE(one.size() == other.size());
  for (size_t i = 0; i < one.size(); ++i) CHECK(one[i].first == other[i].first);
}

TEST_CASE("after warm-up nothing is allocated per frame") {
  SwitchConfig c = config_of(3);
  for (auto& k : c.classes) k.ecn = {true, 500, 5'000, 0.5};
  c.telemetry = switching::IntMode::kInsert;
  Switch sw(c);
  std::vector<std::unique_ptr<wire::Link>> links;
  for (unsigned i = 0; i < 3; ++i) {
    links.push_back(std::make_unique<wire::Link>(wire::LinkConfig{.rate_bps = k100G},
                                                 wire::EndConfig{}, wire::EndConfig{}));
    sw.attach(i, *links[i], 1);
    sw.add_address(mac_of(i), i);
  }
  const Bytes a = packet(0, 2, 1000), b = packet(1, 2, 200);
  TimePs now = 0;
  const auto round = [&] {
    links[0]->tx(0).send(now, a);
    links[1]->tx(0).send(now, b);
    now += 200'000;
    for (auto& l : links) l->tx(0).advance(now);
    sw.run_until(sw.safe_until());
    wire::FrameInfo f;
    while (links[2]->rx(0).take(now, f)) {
    }
  };
  for (int i = 0; i < 200; ++i) round();
  const uint64_t before = g_allocations;
  for (int i = 0; i < 5000; ++i) round();
  CHECK(g_allocations == before);
  CHECK(sw.counters(2).classes[0].tx_frames > 9'000);
}

TEST_CASE("what makes no sense is refused") {
  const auto refused = [](auto change, const std::string& what) {
    SwitchConfig c;
    change(c);
    CHECK_THROWS_WITH(Switch(c), contains_text(what));
  };
  using C = SwitchConfig;
  refused([](C& c) { c.ports = 0; }, "ports");
  refused([](C& c) { c.ports = 65; }, "ports");
  refused([](C& c) { c.max_frame = 63; }, "max_frame");
  refused([](C& c) { c.id = 4096; }, "id");
  refused([](C& c) { c.int_unit = 6; }, "int_unit");
  refused([](C& c) { c.class_of_dscp[3] = 8; }, "DSCP");
  refused([](C& c) { c.classes[2].ecn = {true, 2, 1, 0.5}; }, "class 2: ECN kmin");
  refused([](C& c) { c.classes[2].ecn = {true, 1, 2, 1.5}; }, "pmax");
  refused([](C& c) { c.pause.mode = switching::FlowControl::kPfc; }, "class");
  refused([](C& c) { c.pause = {.mode = switching::FlowControl::kPause, .xoff = 5, .xon = 5}; },
          "xon");
  SwitchConfig c;
  Switch sw(c);
  wire::Link link({.rate_bps = k100G, .max_frame = 9047}, {}, {});
  CHECK_THROWS_WITH(sw.attach(0, link, 1), contains_text("9048"));
  CHECK_THROWS_WITH(sw.attach(2, link, 1), contains_text("port 2 of 2"));
  CHECK_THROWS_WITH(sw.counters(1), contains_text("no cable"));
  c.telemetry = switching::IntMode::kStamp;
  Switch with_int(c);
  wire::Link odd({.rate_bps = 40'000'000'000}, {}, {});
  CHECK_THROWS_WITH(with_int.attach(0, odd, 1), contains_text("40000000000"));
}

TEST_CASE("depths over time have the percentiles that a list of them has") {
  auto rng = test::rng("switch.depth");
  switching::DepthTime d;
  std::vector<std::pair<uint64_t, TimePs>> list;
  TimePs now = 0;
  uint64_t depth = 0;
  for (int i = 0; i < 2000; ++i) {
    const TimePs step = 1 + rng.below(1000);
    list.emplace_back(depth, step);
    now += step;
    depth = rng.below(1ull << rng.below(30));
    d.set(now, depth);
  }
  std::sort(list.begin(), list.end());
  for (const double p : {1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    TimePs sum = 0;
    uint64_t want = 0;
    for (const auto& [v, t] : list) {
      want = v;
      sum += t;
      if (static_cast<double>(sum) >= static_cast<double>(now) * p / 100) break;
    }
    const uint64_t got = d.percentile(p, now);
    INFO("percentile " << p);
    CHECK(got <= want);
    CHECK(static_cast<double>(got) >= static_cast<double>(want) * (1 - 1.0 / 32) - 1);
  }
}
