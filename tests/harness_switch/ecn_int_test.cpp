// SPDX-License-Identifier: Apache-2.0
// Marks against the formula, telemetry against a model of the port made from what went in and out.
#include <cmath>
#include <map>
#include <set>

#include "harness/pcap/pcap.hpp"
#include "harness/pcap/tshark.hpp"
#include "harness/roce/bytes.hpp"
#include "harness/roce/check.hpp"
#include "harness/roce/int_trailer.hpp"
#include "tests/harness_switch/bed.hpp"
#include "tests/support/rng.hpp"

using namespace rnic;
using namespace rnic::test;
using roce::IntHop;
using roce::IntTrailer;
using switching::EcnConfig;
using switching::IntMode;

namespace {

bool near(double a, double b, double relative = 1e-12) {
  return std::abs(a - b) <= relative * std::abs(b);
}

SwitchConfig roomy(unsigned ports) {
  SwitchConfig c;
  c.ports = ports;
  for (auto& k : c.classes) k.queue_bytes = 1ull << 40;
  return c;
}

// Bytes with FCS that wait behind each frame that came out of a port, from the times from which
// frames wait (`arrivals`, with their sizes) and went out.
std::vector<uint64_t> queues_behind(std::vector<std::pair<TimePs, uint64_t>> arrivals,
                                    const std::vector<Got>& out, uint64_t rate, TimePs delay) {
  std::sort(arrivals.begin(), arrivals.end());
  std::vector<uint64_t> q;
  uint64_t in_bytes = 0, out_bytes = 0;
  size_t next = 0;
  for (const Got& g : out) {
    const TimePs start = g.first_ps - delay - wire_time(8, rate);
    while (next < arrivals.size() && arrivals[next].first <= start)
      in_bytes += arrivals[next++].second;
    out_bytes += g.bytes.size() + 4;
    q.push_back(in_bytes - out_bytes);
  }
  return q;
}

IntTrailer trailer_of(const Bytes& f) {
  IntTrailer t;
  const size_t at = roce::find_int(f);
  REQUIRE(at != 0);
  REQUIRE(roce::read_int(std::span(f).subspan(at), t));
  return t;
}

Bytes with_int(Bytes f, const IntTrailer& t = {}) {
  const size_t n = f.size();
  f.resize(n + roce::kIntBytes);
  f.resize(roce::append_int(f, n, t));
  return f;
}

}  // namespace

TEST_CASE("the marking probability is the formula's") {
  const EcnConfig e{true, 5'000, 200'000, 0.01};
  CHECK(e.probability(0) == 0);
  CHECK(e.probability(5'000) == 0);
  CHECK(near(e.probability(102'500), 0.005));
  CHECK(near(e.probability(200'000), 0.01));
  CHECK(e.probability(200'001) == 1);
  CHECK(EcnConfig{}.probability(1'000'000) == 0);
  const EcnConfig step{true, 1'000, 1'000, 0.3};
  CHECK(step.probability(1'000) == 0);
  CHECK(step.probability(1'001) == 1);
  const EcnConfig p = EcnConfig::production(100'000'000'000);
  CHECK(p.kmin == 400'000);
  CHECK(p.kmax == 1'600'000);
  CHECK(near(p.pmax, 0.2));
}

TEST_CASE("frames are marked as often as the queue behind them says") {
  constexpr uint64_t kRate = 100'000'000'000;
  const auto ipv6 = GENERATE(false, true);
  SwitchConfig c = roomy(4);
  const EcnConfig ecn{true, 20'000, 150'000, 0.4};
  for (auto& k : c.classes) k.ecn = ecn;
  c.seed = test::rng("seed").u64();
  Bed bed(c);
  std::vector<std::pair<TimePs, uint64_t>> arrivals;
  auto rng = test::rng("load");
  for (unsigned h = 1; h < 4; ++h) {
    TimePs free = 0;
    for (int burst = 0; burst < 60; ++burst) {
      for (int i = 0; i < 60; ++i) {
        const Bytes f = packet(h, 0, 1024, {.ipv6 = ipv6});
        bed.host(h).at(free, f);
        arrivals.emplace_back(free + (8 + f.size() + 4) * 80 + 200'000 + c.latency_ps,
                              f.size() + 4);
        free += (f.size() + 24) * 80;
      }
      free += rng.below(30'000'000);
    }
  }
  bed.run(3'000'000'000);
  const auto& got = bed.host(0).got;
  REQUIRE(got.size() == arrivals.size());
  const auto behind = queues_behind(arrivals, got, kRate, 200'000);
  double expected = 0, variance = 0;
  uint64_t marked = 0, between = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    roce::FrameView v;
    REQUIRE(roce::parse_frame(got[i].bytes, v) == roce::ParseStatus::kOk);
    const bool ce = v.ecn() == 3;
    const double q = static_cast<double>(behind[i]);
    const double p = q <= 20'000 ? 0 : q > 150'000 ? 1 : 0.4 * (q - 20'000) / 130'000;
    if (p == 0) CHECK_FALSE(ce);
    if (p == 1) CHECK(ce);
    between += p > 0 && p < 1 ? 1 : 0;
    expected += p;
    variance += p * (1 - p);
    marked += ce ? 1 : 0;
    // The checksum is right again, the iCRC still is.
    CHECK(roce::check_frame(got[i].bytes).empty());
  }
  CHECK(between > 1000);
  INFO(marked << " marked, " << expected << " expected");
  CHECK(std::abs(static_cast<double>(marked) - expected) < 4.5 * std::sqrt(variance));
  CHECK(bed.sw.counters(0).classes[0].marks == marked);
}

TEST_CASE("only what is ECN capable is marked, and what is marked stays so") {
  SwitchConfig c = roomy(2);
  c.classes[0].ecn = {true, 0, 0, 1};
  Bed bed(c, {.rates = {400'000'000'000, 10'000'000'000}});
  bed.host(0).at(0, plain(0, 1, 1500));  // the others come while it leaves
  bed.host(0).at(0, packet(0, 1, 100, {.ecn = 0}));
  bed.host(0).at(0, packet(0, 1, 100, {.ecn = 1}));
  bed.host(0).at(0, packet(0, 1, 100, {.ecn = 2}));
  bed.host(0).at(0, packet(0, 1, 100, {.ecn = 3}));
  bed.host(0).at(0, plain(0, 1, 100));
  bed.host(0).at(0, packet(0, 1, 100, {.dscp = 8, .ecn = 2}));  // another class
  bed.host(0).at(0, packet(0, 1, 100, {.ecn = 2}));             // nothing behind it
  bed.run(30'000'000);
  const auto& got = bed.host(1).got;
  REQUIRE(got.size() == 8);
  std::multiset<int> ecn;
  for (const Got& g : got) {
    roce::FrameView v;
    if (roce::parse_frame(g.bytes, v) == roce::ParseStatus::kOk) ecn.insert(v.ecn());
  }
  CHECK(ecn == std::multiset<int>{0, 2, 2, 3, 3, 3});
  CHECK(bed.sw.counters(1).classes[0].marks == 3);
  CHECK(bed.sw.counters(1).classes[0].not_ect == 2);
}

TEST_CASE("a port that is never waited for shows no queue, however long the switch takes") {
  SwitchConfig c = roomy(2);
  c.telemetry = IntMode::kStamp;
  c.latency_ps = 2'000'000;
  c.classes[0].ecn = {true, 0, 0, 1};
  Bed bed(c);
  for (int i = 0; i < 50; ++i) bed.host(0).at(0, with_int(packet(0, 1, 1024)));
  bed.run(20'000'000);
  REQUIRE(bed.host(1).got.size() == 50);
  for (const Got& g : bed.host(1).got) CHECK(trailer_of(g.bytes).hop[0].queue == 0);
  CHECK(bed.sw.counters(1).classes[0].marks == 0);
  CHECK(bed.sw.counters(1).classes[0].queue_max > 20'000);  // they are in the buffer
}

TEST_CASE("telemetry says when a packet left, what was sent before it, what stayed behind it") {
  auto rng = test::rng("int");
  const uint64_t rate = GENERATE(as<uint64_t>{}, 25'000'000'000, 100'000'000'000, 400'000'000'000);
  const auto unit = static_cast<uint8_t>(rng.below(6));
  SwitchConfig c = roomy(4);
  c.telemetry = IntMode::kStamp;
  c.id = 0x5A5;
  c.int_unit = unit;
  Bed bed(c, {.rates = {rate}});
  std::vector<std::pair<TimePs, uint64_t>> arrivals;
  for (unsigned h = 1; h < 4; ++h) {
    TimePs free = 0;
    for (int i = 0; i < 200; ++i) {
      IntTrailer t;
      t.unit = unit;
      Bytes f = packet(h, 0, rng.below(4097), {.dscp = static_cast<uint8_t>(8 * rng.below(4))});
      if (rng.chance(0.7)) f = with_int(f, t);
      bed.host(h).at(free, f);
      arrivals.emplace_back(free + wire_time(8 + f.size() + 4, rate) + 200'000 + c.latency_ps,
                            f.size() + 4);
      free += wire_time(f.size() + 24, rate) + (rng.chance(0.1) ? rng.below(5'000'000) : 0);
    }
  }
  bed.run(2'000'000'000);
  const auto& got = bed.host(0).got;
  REQUIRE(got.size() == 600);
  const auto behind = queues_behind(arrivals, got, rate, 200'000);
  uint64_t tx = 0, stamped = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (roce::find_int(got[i].bytes) != 0) {
      const IntTrailer t = trailer_of(got[i].bytes);
      const TimePs start = got[i].first_ps - 200'000 - wire_time(8, rate);
      CHECK(t.hops == 1);
      CHECK(t.path == 0x5A5);
      CHECK(t.unit == unit);
      CHECK_FALSE(t.echo);
      CHECK(roce::int_rate_bps(t.hop[0].rate) == rate);
      CHECK(t.hop[0].ts == ((start / 1000) & 0xFFFFFF));
      CHECK(t.hop[0].tx == ((tx / (128u << unit)) & 0xFFFFF));
      CHECK(t.hop[0].queue == behind[i] / (80u << unit));
      ++stamped;
    }
    CHECK(roce::check_frame(got[i].bytes, {.allow_trailer = true}).empty());
    tx += got[i].bytes.size() + 24;
  }
  CHECK(stamped > 300);
  CHECK(bed.sw.counters(0).int_hops == stamped);
  CHECK(bed.sw.counters(0).int_inserted == 0);
}

TEST_CASE(
    "a busy port's telemetry shows exactly its rate, also across the wraps of time and bytes") {
  SwitchConfig c = roomy(2);
  c.telemetry = IntMode::kStamp;
  c.max_frame = 9600;
  Bed bed(c, {.rates = {100'000'000'000}});
  // 134 MB are 10.7 ms, 2^24 ns are 16.8 ms.
  const Bytes big = plain(0, 1, 9600), probe = with_int(packet(0, 1, 1000));
  std::vector<IntHop> hops;
  constexpr int kRounds = 30;
  const auto collect = [&](size_t left) {
    while (bed.host(0).left() > left) bed.run(bed.sw.now_ps() + 10'000'000);
    for (const Got& g : bed.host(1).got)
      if (roce::find_int(g.bytes) != 0) hops.push_back(trailer_of(g.bytes).hop[0]);
    bed.host(1).got.clear();
  };
  for (int r = 0; r < kRounds; ++r) {
    for (int i = 0; i < 900; ++i) bed.host(0).at(0, big);
    bed.host(0).at(0, probe);
    collect(50);
  }
  collect(0);
  bed.run(bed.sw.now_ps() + 20'000'000);
  collect(0);
  REQUIRE(hops.size() == kRounds);
  int time_wraps = 0, byte_wraps = 0;
  for (size_t i = 1; i < hops.size(); ++i) {
    time_wraps += hops[i].ts < hops[i - 1].ts ? 1 : 0;
    byte_wraps += hops[i].tx < hops[i - 1].tx ? 1 : 0;
    const double ns = (hops[i].ts - hops[i - 1].ts) & roce::kIntTsMask;
    const double bytes = 128.0 * ((hops[i].tx - hops[i - 1].tx) & roce::kIntTxMask);
    CHECK(near(bytes * 8 / ns, 100, 1e-4));
  }
  CHECK(time_wraps >= 1);
  CHECK(byte_wraps >= 1);
}

TEST_CASE("a chain of seven switches: five hops, the count and the path of all seven") {
  constexpr unsigned kSwitches = 7;
  std::vector<std::unique_ptr<wire::Link>> links;
  for (unsigned i = 0; i <= kSwitches; ++i)
    links.push_back(std::make_unique<wire::Link>(
        wire::LinkConfig{.rate_bps = 100'000'000'000, .delay_ps = 100'000}, wire::EndConfig{},
        wire::EndConfig{}));
  std::vector<std::unique_ptr<Switch>> chain;
  uint16_t path = 0;
  for (unsigned i = 0; i < kSwitches; ++i) {
    SwitchConfig c = roomy(2);
    c.telemetry = i == 0 ? IntMode::kInsert : IntMode::kStamp;
    c.id = static_cast<uint16_t>(0x111 + 0x123 * i);
    path ^= c.id;
    chain.push_back(std::make_unique<Switch>(c));
    chain[i]->attach(0, *links[i], 1);
    chain[i]->attach(1, *links[i + 1], 0);
  }
  links[0]->tx(0).send(0, packet(0, 1, 2000));
  for (TimePs t = 100'000; t <= 20'000'000; t += 100'000) {
    links[0]->tx(0).advance(t);
    links[kSwitches]->tx(1).advance(t);
    for (auto& s : chain) s->run_until(s->safe_until());
  }
  wire::FrameInfo f;
  REQUIRE(links[kSwitches]->rx(1).take(15'000'000, f));
  const Bytes bytes(f.bytes.begin(), f.bytes.end());
  const IntTrailer t = trailer_of(bytes);
  CHECK(t.hops == 7);
  CHECK(t.path == (path & 0xFFF));
  // 300 ns in a switch, 100 ns on a cable, and a frame time: longer by the trailer behind the
  // first.
  const auto n = packet(0, 1, 2000).size();
  TimePs start = (8 + n + 4) * 80 + 100'000 + 300'000;
  for (const IntHop& h : t.hop) {
    CHECK(h.ts == start / 1000);
    CHECK(h.tx == 0);
    CHECK(h.queue == 0);
    start += (8 + n + roce::kIntBytes + 4) * 80 + 400'000;
  }
  CHECK(chain[0]->counters(1).int_inserted == 1);
  CHECK(chain[4]->counters(1).int_hops == 1);
  CHECK(chain[5]->counters(1).int_full == 1);
  CHECK(roce::check_frame(bytes, {.allow_trailer = true}).empty());
}

TEST_CASE("who gets a trailer, and whose is left alone") {
  const auto through = [](IntMode mode, const Bytes& f) {
    SwitchConfig c;
    c.telemetry = mode;
    Bed bed(c);
    bed.host(0).at(0, f);
    bed.run(5'000'000);
    REQUIRE(bed.host(1).got.size() == 1);
    return bed.host(1).got[0].bytes;
  };
  IntTrailer echo;
  echo.echo = true;
  echo.hops = 2;
  echo.hop[0] = {2, 1, 2, 3};
  echo.hop[1] = {3, 4, 5, 6};
  const Bytes data = packet(0, 1, 100), answer = packet(0, 1, 0, {.opcode = roce::kRcAcknowledge});
  const Bytes returned = with_int(answer, echo);
  for (const IntMode mode : {IntMode::kOff, IntMode::kStamp, IntMode::kInsert}) {
    // Answers, other frames and echoes pass as they are.
    for (const Bytes& f :
         {answer, returned, plain(0, 1, 100), packet(0, 1, 0, {.opcode = roce::kCnp}),
          packet(0, 1, 64, {.opcode = 0x10}), packet(0, 1, 64, {.opcode = 0x24})})
      CHECK(through(mode, f) == f);
    const size_t grown = mode == IntMode::kInsert ? roce::kIntBytes : 0;
    for (const uint8_t opcode : {0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x0A, 0x17}) {
      const Bytes f = packet(0, 1, 256, {.opcode = opcode});
      CHECK(through(mode, f).size() == f.size() + grown);
    }
    const Bytes marked = through(mode, with_int(data));
    CHECK(trailer_of(marked).hops == (mode == IntMode::kOff ? 0 : 1));
  }
  // A packet of 58 bytes was padded: the trailer takes the padding's place.
  const Bytes shortest = packet(0, 1, 0);
  REQUIRE(shortest.size() == 60);
  CHECK(through(IntMode::kInsert, shortest).size() == 58 + roce::kIntBytes);
  // The largest one.
  const Bytes largest = packet(0, 1, 4096, {.pcp = 1, .ipv6 = true, .opcode = 0x0B});
  const Bytes out = through(IntMode::kInsert, largest);
  CHECK(out.size() == 4246);
  CHECK(roce::check_frame(out, {.allow_trailer = true}).empty());
}

TEST_CASE("another decoder sees RoCEv2 with a trailer, and nothing malformed") {
  if (!pcap::Tshark::available()) return;
  SwitchConfig c;
  c.telemetry = IntMode::kInsert;
  Bed bed(c);
  for (const bool ipv6 : {false, true})
    for (const size_t n : {size_t{0}, size_t{5}, size_t{4096}})
      bed.host(0).at(0, packet(0, 1, n, {.ipv6 = ipv6, .opcode = 0x0A, .psn = 7}));
  bed.run(20'000'000);
  REQUIRE(bed.host(1).got.size() == 6);
  const std::string path = "harness_switch_int.pcap";
  {
    pcap::PcapWriter w(path);
    for (const Got& g : bed.host(1).got) w.write(g.first_ps, g.bytes);
    w.close();
  }
  const auto frames = pcap::Tshark::decode(path);
  REQUIRE(frames.size() == 6);
  for (const auto& f : frames) {
    INFO(f.number << ": " << f.protocols << ", iCRC " << std::hex << f.icrc.value_or(0));
    CHECK_FALSE(f.malformed);
    CHECK(f.opcode == 0x0Au);
    CHECK(f.psn == 7u);
    CHECK(f.protocols.find("infiniband") != std::string::npos);
    roce::FrameView v;
    REQUIRE(roce::parse_frame(bed.host(1).got[f.number - 1].bytes, v) == roce::ParseStatus::kOk);
    CHECK(f.icrc == roce::load_be32(&v.bytes[v.icrc_offset]));
  }
  std::remove(path.c_str());
}
