// SPDX-License-Identifier: Apache-2.0
// Faults by rule and by probability, and their keys in a scenario file.
#include "harness/wire/faults.hpp"

#include <map>

#include "harness/roce/aeth.hpp"
#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"
#include "harness/roce/frame.hpp"
#include "harness/wire/fault_settings.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::wire;
using rnic::test::contains_text;

namespace {

std::vector<uint8_t> packet(uint8_t opcode, uint32_t qpn, uint32_t psn, uint32_t length = 0,
                            uint8_t syndrome = 0x1F) {
  roce::FrameSpec s;
  s.ip_src = roce::ipv4_address(10, 0, 0, 1);
  s.ip_dst = roce::ipv4_address(10, 0, 0, 2);
  s.opcode = opcode;
  s.dest_qp = qpn;
  s.psn = psn;
  s.syndrome = syndrome;
  std::vector<uint8_t> payload(length, 0x5A), f(length + 128);
  f.resize(roce::build_frame(s, payload, f));
  return f;
}

struct Arrived {
  std::vector<uint8_t> bytes;
  bool err = false;
};

// Sends the frames from end 0, 1 us apart, and returns what arrives.
std::vector<Arrived> deliver(const std::vector<std::vector<uint8_t>>& frames, CableFaults& faults,
                             Link& link) {
  faults.install(link);
  std::vector<Arrived> out;
  TimePs now = 0;
  const auto step = [&] {
    now += 1'000'000;
    link.tx(0).advance(now);
    FrameInfo info;
    while (link.rx(1).take(now, info))
      out.push_back({{info.bytes.begin(), info.bytes.end()}, info.flags.err});
  };
  for (const auto& f : frames) {
    link.tx(0).send(now, f);
    step();
  }
  for (int i = 0; i < 40; ++i) step();
  return out;
}

std::vector<uint32_t> psns(const std::vector<Arrived>& frames) {
  std::vector<uint32_t> out;
  for (const Arrived& a : frames) {
    roce::FrameView v;
    roce::parse_frame(a.bytes, v);
    out.push_back(v.psn);
  }
  return out;
}

std::vector<std::vector<uint8_t>> numbered(uint32_t count) {
  std::vector<std::vector<uint8_t>> out;
  for (uint32_t i = 0; i < count; ++i) out.push_back(packet(roce::kRcSendOnly, 5, i, 200));
  return out;
}

}  // namespace

TEST_CASE("a rule finds its packets by class, opcode, QP and PSN") {
  const std::map<PacketClass, std::vector<std::vector<uint8_t>>> members = {
      {PacketClass::kSend, {packet(roce::kRcSendFirst, 1, 1, 256), packet(0x64, 1, 1)}},
      {PacketClass::kWrite, {packet(roce::kRcWriteOnly, 1, 1, 4), packet(0x26, 1, 1, 256)}},
      {PacketClass::kReadRequest, {packet(roce::kRcReadRequest, 1, 1)}},
      {PacketClass::kAtomic, {packet(roce::kRcFetchAdd, 1, 1), packet(roce::kRcCompareSwap, 1, 1)}},
      {PacketClass::kAck, {packet(roce::kRcAcknowledge, 1, 1, 0, 0x1F)}},
      {PacketClass::kNak, {packet(roce::kRcAcknowledge, 1, 1, 0, 0x60)}},
      {PacketClass::kRnrNak, {packet(roce::kRcAcknowledge, 1, 1, 0, 0x2C)}},
      {PacketClass::kReadResponse, {packet(roce::kRcReadRespMiddle, 1, 1, 256)}},
      {PacketClass::kAtomicResponse, {packet(roce::kRcAtomicAck, 1, 1)}},
      {PacketClass::kCnp, {packet(roce::kCnp, 1, 0)}},
      {PacketClass::kRaw, {std::vector<uint8_t>(60, 0)}},
  };
  for (const auto& [c, frames] : members) {
    for (const auto& [other, unused] : members) {
      for (const auto& f : frames) {
        INFO(static_cast<int>(c) << " " << static_cast<int>(other));
        CHECK(matches(other, f) == (c == other));
        CHECK(matches(PacketClass::kAny, f));
        CHECK(matches(PacketClass::kRoce, f) == (c != PacketClass::kRaw));
      }
    }
  }
  CHECK(matches(PacketClass::kRequest, packet(roce::kRcReadRequest, 1, 1)));
  CHECK_FALSE(matches(PacketClass::kRequest, packet(roce::kRcAcknowledge, 1, 1)));
  CHECK(matches(PacketClass::kResponse, packet(roce::kRcAcknowledge, 1, 1)));
  CHECK_FALSE(matches(PacketClass::kResponse, packet(roce::kCnp, 1, 1)));

  Link link({}, {}, {});
  CableFaults faults({{.opcode = roce::kRcWriteOnly},
                      {.qpn = 9},
                      {.qpn = 5, .psn = 3},
                      {.from = 1, .packet = PacketClass::kAny}},
                     1, link.config());
  std::vector<std::vector<uint8_t>> frames = numbered(5);
  frames.push_back(packet(roce::kRcWriteOnly, 5, 5));
  frames.push_back(packet(roce::kRcSendOnly, 9, 6));
  frames.push_back(packet(roce::kRcSendOnly, 5, 7));
  CHECK(psns(deliver(frames, faults, link)) == std::vector<uint32_t>{0, 1, 2, 4, 7});
  CHECK(faults.done(FaultAction::kDrop) == 3);
  CHECK(faults.direction(0).counts()[0].matched == 1);
  CHECK(faults.direction(0).counts()[3].matched == 0);
}

TEST_CASE("the third READ response of a QP is dropped once") {
  Link link({}, {}, {});
  CableFaults faults(
      {{.packet = PacketClass::kReadResponse, .qpn = 2, .nth = 3, .count = 1, .name = "third"}}, 1,
      link.config());
  std::vector<std::vector<uint8_t>> frames;
  for (uint32_t i = 0; i < 8; ++i) {
    frames.push_back(packet(roce::kRcReadRespMiddle, i == 1 ? 7 : 2, i, 256));
    frames.push_back(packet(roce::kRcAcknowledge, 2, 100 + i));
  }
  const auto got = psns(deliver(frames, faults, link));
  CHECK(got.size() == 15);
  CHECK(std::count(got.begin(), got.end(), 3u) == 0);
  CHECK(faults.text() == "third, from a: 1 of 7, from b: 0 of 0");
}

TEST_CASE("nth, every and count choose which of the packets are hit") {
  const auto left = [](FaultRule r) {
    Link link({}, {}, {});
    CableFaults faults({r}, 1, link.config());
    return psns(deliver(numbered(10), faults, link));
  };
  CHECK(left({.nth = 3, .every = 3}) == std::vector<uint32_t>{0, 1, 3, 4, 6, 7, 9});
  CHECK(left({.nth = 3, .every = 3, .count = 2}) == std::vector<uint32_t>{0, 1, 3, 4, 6, 7, 8, 9});
  CHECK(left({.nth = 8}) == std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(left({.count = 4}) == std::vector<uint32_t>{4, 5, 6, 7, 8, 9});
}

TEST_CASE("each action does what it says") {
  Link link({}, {}, {});
  const auto run = [&](FaultRule r, FaultStats& stats) {
    r.nth = 4;
    r.count = 1;
    Link own({}, {}, {});
    CableFaults faults({r}, 1, own.config(), 3'000'000);
    auto got = deliver(numbered(8), faults, own);
    stats = own.fault_stats(0);
    CHECK(faults.done(r.action) == 1);
    return got;
  };
  FaultStats stats;
  CHECK(psns(run({.action = FaultAction::kDrop}, stats)) ==
        std::vector<uint32_t>{0, 1, 2, 4, 5, 6, 7});
  CHECK(stats.dropped == 1);
  CHECK(psns(run({.action = FaultAction::kDuplicate, .copies = 3}, stats)) ==
        std::vector<uint32_t>{0, 1, 2, 3, 3, 3, 4, 5, 6, 7});
  CHECK(stats.duplicated == 2);
  CHECK(psns(run({.action = FaultAction::kReorder}, stats)) ==
        std::vector<uint32_t>{0, 1, 2, 4, 3, 5, 6, 7});
  CHECK(stats.held == 1);
  CHECK(psns(run({.action = FaultAction::kDelay, .delay_ps = 2'500'000}, stats)) ==
        std::vector<uint32_t>{0, 1, 2, 4, 5, 3, 6, 7});
  CHECK(stats.delayed == 1);

  const auto frames = numbered(8);
  auto got = run({.action = FaultAction::kCorrupt}, stats);
  REQUIRE(got.size() == 8);
  CHECK(stats.corrupted == 1);
  for (size_t i = 0; i < 8; ++i) {
    CHECK(got[i].err == (i == 3));
    CHECK((got[i].bytes == frames[i]) == (i != 3));
  }
  got = run({.action = FaultAction::kCorrupt, .bits = 3, .bad_fcs = false}, stats);
  REQUIRE(got.size() == 8);
  CHECK_FALSE(got[3].err);
  CHECK_FALSE(got[3].bytes == frames[3]);
  int flipped = 0;
  for (size_t i = 0; i < frames[3].size(); ++i)
    flipped += __builtin_popcount(frames[3][i] ^ got[3].bytes[i]);
  CHECK((flipped == 3 || flipped == 1));  // two may meet

  got = run({.action = FaultAction::kTruncate, .keep_bytes = 77, .bad_fcs = false}, stats);
  CHECK(got[3].bytes == std::vector<uint8_t>(frames[3].begin(), frames[3].begin() + 77));
  CHECK_FALSE(got[3].err);
  CHECK(stats.truncated == 1);
  got = run({.action = FaultAction::kTruncate}, stats);
  CHECK(got[3].bytes.size() < frames[3].size());
  CHECK(got[3].err);
}

TEST_CASE("a switch's damage carries a good FCS when the FCS is in the stream") {
  LinkConfig config;
  config.fcs_in_stream = true;
  for (const FaultAction action : {FaultAction::kCorrupt, FaultAction::kTruncate}) {
    Link link(config, {}, {});
    CableFaults faults({{.action = action, .bad_fcs = false}}, 3, link.config());
    std::vector<std::vector<uint8_t>> frames;
    for (uint32_t i = 0; i < 20; ++i) {
      frames.push_back(packet(roce::kRcSendOnly, 5, i, 200));
    }
    const auto got = deliver(frames, faults, link);
    REQUIRE(got.size() == 20);
    for (size_t i = 0; i < 20; ++i) {
      CHECK_FALSE(got[i].bytes == frames[i]);
      CHECK_FALSE(got[i].err);  // the FCS included
      if (action == FaultAction::kTruncate) CHECK(got[i].bytes.size() >= 60);
    }
  }
}

TEST_CASE("probabilities are kept, the same seed does the same, and rules do not disturb others") {
  const std::vector<FaultRule> rules = {{.action = FaultAction::kDrop, .probability = 0.05},
                                        {.action = FaultAction::kDuplicate, .probability = 0.02}};
  const auto run = [&](const std::vector<FaultRule>& r, uint64_t seed) {
    Link link({}, {}, {});
    CableFaults faults(r, seed, link.config());
    auto got = psns(deliver(numbered(4000), faults, link));
    return std::make_tuple(got, faults.done(FaultAction::kDrop),
                           faults.done(FaultAction::kDuplicate));
  };
  const auto [first, drops, repeats] = run(rules, 7);
  CHECK(drops > 140);
  CHECK(drops < 260);
  CHECK(repeats > 50);
  CHECK(repeats < 120);
  CHECK(std::get<0>(run(rules, 7)) == first);
  CHECK_FALSE(std::get<0>(run(rules, 8)) == first);
  auto more = rules;
  more.push_back({.action = FaultAction::kCorrupt, .probability = 0.5, .bad_fcs = false});
  CHECK(std::get<1>(run(more, 7)) == drops);
  CHECK(std::get<2>(run(more, 7)) == repeats);
}

TEST_CASE("rules that make no sense are refused") {
  const auto bad = [](FaultRule r) { CableFaults f({r}, 1, LinkConfig{}); };
  CHECK_THROWS_AS(bad({.probability = 1.5}), std::invalid_argument);
  CHECK_THROWS_AS(bad({.nth = 0}), std::invalid_argument);
  CHECK_THROWS_AS(bad({.from = 2}), std::invalid_argument);
  CHECK_THROWS_AS(bad({.copies = 0}), std::invalid_argument);
}

namespace {
FaultSettings read_text(const std::string& yaml) {
  scenario::Document doc = scenario::Document::parse(yaml, "demo.yaml");
  FaultSettings s;
  {
    scenario::Reader r(doc);
    read_faults(r, s);
  }
  doc.check();
  return s;
}
}  // namespace

TEST_CASE("fault rules come from YAML") {
  const FaultSettings s = read_text(
      "fault_hold_limit: 3 us\n"
      "faults:\n"
      "  - {do: drop, probability: 1 %}\n"
      "  - {do: drop, from: b, packet: read_response, qpn: 2, nth: 3}\n"
      "  - {do: corrupt, opcode: 0x0A, bits: 2, fcs: good, nth: 2, every: 2, count: 5}\n"
      "  - {do: delay, by: 5 us, psn: 0xFFFFFF, name: late}\n"
      "  - {do: duplicate, copies: 3, from: a}\n"
      "  - {do: truncate, keep: 64}\n");
  REQUIRE(s.rules.size() == 6);
  CHECK(s.hold_limit_ps == 3'000'000);
  CHECK(s.rules[0].probability == 0.01);
  CHECK(s.rules[0].count == 0);
  CHECK_FALSE(s.rules[0].from);
  CHECK(s.rules[1].from == 1);
  CHECK(s.rules[1].packet == PacketClass::kReadResponse);
  CHECK(s.rules[1].qpn == 2u);
  CHECK(s.rules[1].nth == 3);
  CHECK(s.rules[1].count == 1);
  CHECK(s.rules[2].opcode == 0x0A);
  CHECK(s.rules[2].bits == 2);
  CHECK_FALSE(s.rules[2].bad_fcs);
  CHECK(s.rules[2].every == 2);
  CHECK(s.rules[2].count == 5);
  CHECK(s.rules[3].delay_ps == 5'000'000);
  CHECK(s.rules[3].psn == 0xFFFFFFu);
  CHECK(s.rules[3].name == "late");
  CHECK(s.rules[4].copies == 3);
  CHECK(s.rules[4].from == 0);
  CHECK(s.rules[5].keep_bytes == 64u);
}

TEST_CASE("wrong fault keys are refused with file and line") {
  CHECK_THROWS_WITH(read_text("faults:\n  - {do: drop}\n  - {do: drop, qp: 3}\n"),
                    contains_text("demo.yaml:3:") && contains_text("qp"));
  CHECK_THROWS_WITH(read_text("faults:\n  - {do: lose}\n"),
                    contains_text("demo.yaml:2:") && contains_text("drop"));
  CHECK_THROWS_WITH(read_text("faults:\n  - {packet: ack}\n"), contains_text("demo.yaml:2:"));
  CHECK_THROWS_WITH(read_text("faults:\n  - {do: drop, packet: reads}\n"),
                    contains_text("demo.yaml:2:") && contains_text("read_request"));
  CHECK_THROWS_WITH(read_text("faults:\n  - {do: drop, copies: 3}\n"),
                    contains_text("belongs to 'do: duplicate'"));
  CHECK_THROWS_WITH(read_text("faults:\n  - {do: drop, fcs: good}\n"),
                    contains_text("belongs to 'do: corrupt'"));
  CHECK_THROWS_WITH(read_text("faults:\n  - {do: drop, probability: 2}\n"),
                    contains_text("demo.yaml:2:"));
  CHECK_THROWS_WITH(read_text("faults:\n  - {do: delay, by: 5}\n"), contains_text("demo.yaml:2:"));
}
