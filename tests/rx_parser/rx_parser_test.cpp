// SPDX-License-Identifier: Apache-2.0
#include <Vrx_parser_1024.h>
#include <Vrx_parser_128.h>
#include <Vrx_parser_256.h>
#include <Vrx_parser_512.h>

#include <map>
#include <sstream>

#include "harness/roce/bytes.hpp"
#include "tests/rx_parser/rx_driver.hpp"
#include "tests/rx_parser/rx_model.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::rx;
using test::Bits;

namespace {

constexpr uint64_t kVerdictLatency = 4;  // cycles from a frame's last beat to its verdict

template <class Top>
class ParserBench {
 public:
  struct Outcome {
    Kind kind;
    Bits meta;
    std::string counter;  // all that moved, joined
    uint64_t cycle;
    uint64_t bytes = 0;
    uint64_t frames = 0;
  };
  struct Early {
    uint32_t qpn;
    uint64_t cycle;
  };

  explicit ParserBench(Station station = {})
      : driver_(bench_, "in",
                {top().in_valid, top().in_data, top().in_cnt, top().in_last, &top().in_err,
                 &top().in_ovf}) {
    top().cfg_promisc_raw_i = station.promiscuous;
    top().cfg_int_i = station.telemetry;
    uint64_t mac = 0;
    for (uint8_t b : station.mac) mac = (mac << 8) | b;
    top().cfg_port_mac_i = mac;
    bench_.on_sample([this] { sample(); });
    bench_.reset();
  }

  Top& top() { return bench_.top(); }
  test::BenchBase& bench() { return bench_; }
  FrameDriver<std::remove_reference_t<decltype(std::declval<Top>().in_data)>>& driver() {
    return driver_;
  }
  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  const std::vector<Early>& early() const { return early_; }

  void reset() {
    bench_.reset(1);
    pending_ = false;
  }
  void run() {
    bench_.wait(
        "frames to be driven", [this] { return driver_.idle(); }, 2000000);
    bench_.tick(kVerdictLatency + 4);
  }

  // Drives the frames and compares every verdict, field, counter and the time of it with the model.
  void check(const std::vector<WireFrame>& frames, const Station& station = {}) {
    outcomes_.clear();
    early_.clear();
    const size_t seen = driver_.last_cycles().size();
    for (const WireFrame& f : frames) driver_.push(f);
    run();
    REQUIRE(outcomes_.size() == frames.size());
    size_t next_early = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
      const WireFrame& f = frames[i];
      const Outcome& got = outcomes_[i];
      Judgement want = judge(f.bytes, f.err, station);
      if (f.ovf) want = {};
      INFO("frame " << i << " of " << frames.size() << ", " << f.bytes.size()
                    << " bytes: " << Bits::from_bytes(f.bytes).hex());
      REQUIRE(got.cycle == driver_.last_cycles()[seen + i] + kVerdictLatency);
      REQUIRE(static_cast<int>(got.kind) == static_cast<int>(want.kind));
      REQUIRE(got.counter == want.counter);
      REQUIRE(got.frames == (f.ovf ? 0 : 1));
      REQUIRE(got.bytes == (f.ovf ? 0 : std::min<size_t>(f.bytes.size(), 65535)));
      if (want.kind == Kind::kRoce && !(got.meta == want.meta)) {
        FAIL("meta\n got " << kMeta.show(got.meta) << "\nwant " << kMeta.show(want.meta));
      }
      const auto qpn = early_qpn(f.bytes);
      if (qpn) {
        REQUIRE(next_early < early_.size());
        REQUIRE(early_[next_early].qpn == *qpn);
        // With the beat that completes the BTH, two cycles later; so not behind the last beat's
        // verdict.
        REQUIRE(early_[next_early].cycle <= got.cycle - 2);
        ++next_early;
      }
    }
    REQUIRE(next_early == early_.size());
  }
  void check(const std::vector<Bytes>& frames, const Station& station = {}) {
    std::vector<WireFrame> wire;
    for (const Bytes& f : frames) wire.push_back({f});
    check(wire, station);
  }

 private:
  void sample() {
    Top& t = top();
    // Counters move one cycle behind the verdict.
    std::string moved;
    auto note = [&](uint8_t pin, const char* name) {
      if (pin != 0) moved += (moved.empty() ? "" : "+") + std::string(name);
    };
    note(t.cnt_rx_crc_errors_o, "crc_errors");
    note(t.cnt_rx_runts_o, "runts");
    note(t.cnt_rx_icrc_errors_o, "icrc_errors");
    note(t.cnt_rx_header_errors_o, "header_errors");
    note(t.cnt_rx_roce_packets_o, "roce_packets");
    note(t.cnt_rx_raw_filtered_o, "raw_filtered");
    if (pending_) {
      outcomes_.back().counter = moved;
      outcomes_.back().bytes = t.cnt_rx_bytes_amount_o;
      outcomes_.back().frames = t.cnt_rx_frames_o;
    } else if (!moved.empty() || t.cnt_rx_bytes_amount_o != 0 || t.cnt_rx_frames_o != 0) {
      throw test::ProtocolError("counter without verdict: " + moved);
    }
    pending_ = t.vd_valid != 0;
    if (pending_) {
      outcomes_.push_back(
          {static_cast<Kind>(t.vd_kind), test::read_pin(t.vd_meta), "", bench_.cycle(), 0, 0});
    }
    if (t.early_valid_o != 0) {
      early_.push_back({t.early_qpn_o, bench_.cycle()});
      if (t.trc_valid_o == 0 || (t.trc_o >> 56) != 16 ||
          ((t.trc_o >> 32) & 0xFFFFFF) != t.early_qpn_o) {
        throw test::ProtocolError("no trace event with the early hint");
      }
      ages_.push_back(static_cast<uint32_t>(t.trc_o));
    }
    // The beats pass in the same cycle.
    if (t.bt_valid != t.in_valid) throw test::ProtocolError("bt_valid differs from in_valid");
    if (t.bt_valid != 0 && (t.bt_cnt != t.in_cnt || t.bt_last != t.in_last ||
                            !(test::read_pin(t.bt_data) == test::read_pin(t.in_data)))) {
      throw test::ProtocolError("beat changed on its way");
    }
  }

  test::Bench<Top> bench_;
  FrameDriver<std::remove_reference_t<decltype(std::declval<Top>().in_data)>> driver_;
  std::vector<Outcome> outcomes_;
  std::vector<Early> early_;
  bool pending_ = false;

 public:
  std::vector<uint32_t> ages_;  // cycles from the first beat to the event, as the event says
};

// What a flip of one bit must lead to, by its place in a good RoCEv2 frame: facts, sections 1
// and 2.
enum class Flip { kSame, kMetaOnly, kRaw, kIcrc, kHeader };

struct FlipRule {
  Flip flip;
  const char* field;
};

FlipRule rule_of_bit(size_t byte, unsigned bit, bool vlan, bool ipv6, size_t end) {
  if (byte < 12) return {Flip::kSame, "MAC addresses are not in the iCRC and not looked at"};
  const size_t l3 = vlan ? 18 : 14;
  if (vlan && byte < 14) return {Flip::kRaw, "VLAN EtherType"};
  if (vlan && byte < 16) return {Flip::kSame, "VLAN tag"};
  if (byte < l3) return {Flip::kRaw, "EtherType"};
  const size_t ip = byte - l3;
  const size_t udp_at = ipv6 ? 40 : 20;
  if (ip < udp_at) {
    if (!ipv6) return {Flip::kRaw, "IPv4 header: its checksum is wrong"};
    if (ip == 0 && bit >= 4) return {Flip::kRaw, "IPv6 version"};
    if (ip == 0 || (ip == 1 && bit >= 4)) return {Flip::kMetaOnly, "traffic class"};
    if (ip < 4) return {Flip::kMetaOnly, "flow label"};
    if (ip < 6) return {Flip::kHeader, "IPv6 payload length"};
    if (ip == 6) return {Flip::kRaw, "next header"};
    if (ip == 7) return {Flip::kMetaOnly, "hop limit"};
    return {Flip::kIcrc, "IPv6 addresses"};
  }
  const size_t udp = ip - udp_at;
  if (udp < 2) return {Flip::kIcrc, "UDP source port"};
  if (udp < 4) return {Flip::kRaw, "UDP destination port"};
  if (udp < 6) return {Flip::kHeader, "UDP length"};
  if (udp < 8) return {Flip::kSame, "UDP checksum is ignored"};
  if (udp == 12 && bit >= 6) return {Flip::kMetaOnly, "FECN, BECN"};
  if (udp == 12) return {Flip::kSame, "BTH reserved bits outside the iCRC"};
  if (byte < end) return {Flip::kIcrc, "BTH, headers, payload, pad, iCRC"};
  return {Flip::kSame, "behind the iCRC"};
}

}  // namespace

#define ALL_WIDTHS Vrx_parser_128, Vrx_parser_256, Vrx_parser_512, Vrx_parser_1024

TEMPLATE_TEST_CASE("the fourteen frames of the fact sheet are parsed field by field", "",
                   ALL_WIDTHS) {
  ParserBench<TestType> b;
  std::vector<Bytes> frames;
  for (const Bytes& v : fact_vectors()) {
    frames.push_back(v);
    frames.push_back(padded(v));
    frames.push_back(with_vlan(padded(v), 0x6123));
    frames.push_back(padded(v, 300, 0xA5));
  }
  b.check(frames);
  for (const auto& o : b.outcomes()) CHECK(o.kind == Kind::kRoce);
  // Some fields against the sheet itself.
  const Bits& write = b.outcomes()[1 * 4].meta;
  CHECK(kMeta.get(write, "opcode") == 0x0A);
  CHECK(kMeta.get(write, "va") == 0x0000123456789000);
  CHECK(kMeta.get(write, "rkey") == 0x1234);
  CHECK(kMeta.get(write, "dmalen") == 5);
  CHECK(kMeta.get(write, "payload_len") == 5);
  CHECK(kMeta.get(write, "pad") == 3);
  CHECK(kMeta.get(write, "psn") == 0x11);
  CHECK(kMeta.get(write, "hdr_len") == 14 + 20 + 8 + 12 + 16);
  CHECK(kMeta.get(b.outcomes()[4 * 4].meta, "syndrome") == 0x2C);
  CHECK(kMeta.get(b.outcomes()[8 * 4].meta, "op0") == 0x1122334455667788);
  CHECK(kMeta.get(b.outcomes()[9 * 4].meta, "imm") == 0xCAFE0001);
  CHECK(kMeta.get(b.outcomes()[9 * 4].meta, "se") == 1);
  CHECK(kMeta.get(b.outcomes()[12 * 4].meta, "becn") == 1);
  CHECK(kMeta.get(b.outcomes()[12 * 4].meta, "dscp") == 48);
  CHECK(kMeta.get(b.outcomes()[13 * 4].meta, "ipv6") == 1);
}

TEMPLATE_TEST_CASE("every single-bit error is dropped, raw or harmless, as its place says", "",
                   ALL_WIDTHS) {
  ParserBench<TestType> b;
  FrameMaker maker(test::rng("flips"));
  struct Case {
    Bytes frame;
    bool vlan, ipv6;
    size_t end;  // of the iCRC
  };
  const auto& v = fact_vectors();
  std::vector<Case> cases = {
      {padded(v[1]), false, false, v[1].size()},                 // WRITE_ONLY with pad
      {padded(v[10], 64), false, false, v[10].size()},           // smallest, Ethernet padding
      {with_vlan(v[7], 0x2005), true, false, v[7].size() + 4},   // FETCH_ADD, tagged
      {v[13], false, true, v[13].size()},                        // IPv6
      {with_vlan(v[13], 0xE001), true, true, v[13].size() + 4},  // IPv6, tagged
  };
  for (const Case& c : cases) {
    std::vector<Bytes> flipped;
    for (size_t byte = 0; byte < c.frame.size(); ++byte) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        Bytes f = c.frame;
        f[byte] ^= static_cast<uint8_t>(1 << bit);
        flipped.push_back(std::move(f));
      }
    }
    b.check({c.frame});
    const Bits good = b.outcomes()[0].meta;
    b.check(flipped);
    for (size_t i = 0; i < flipped.size(); ++i) {
      const size_t byte = i / 8;
      const unsigned bit = i % 8;
      const FlipRule rule = rule_of_bit(byte, bit, c.vlan, c.ipv6, c.end);
      const auto& got = b.outcomes()[i];
      INFO("byte " << byte << " bit " << bit << ": " << rule.field);
      switch (rule.flip) {
        case Flip::kSame:
          REQUIRE(got.kind == Kind::kRoce);
          REQUIRE(got.meta == good);
          break;
        case Flip::kMetaOnly:
          REQUIRE(got.kind == Kind::kRoce);
          REQUIRE_FALSE(got.meta == good);
          break;
        case Flip::kRaw:
          REQUIRE(got.kind == Kind::kRaw);
          break;
        case Flip::kIcrc:
          REQUIRE(got.kind == Kind::kDrop);
          REQUIRE(got.counter == "icrc_errors");
          break;
        case Flip::kHeader:
          REQUIRE(got.kind == Kind::kDrop);
          REQUIRE(got.counter == "header_errors");
          break;
      }
    }
  }
}

TEMPLATE_TEST_CASE("random frames back to back get the model's verdict", "", ALL_WIDTHS) {
  ParserBench<TestType> b;
  FrameMaker maker(test::rng("mix"));
  b.check(maker.mix(1500));
  std::map<std::string, int> seen;
  for (const auto& o : b.outcomes()) ++seen[o.counter];
  for (const char* name : {"", "roce_packets", "icrc_errors", "header_errors", "runts"}) {
    INFO(name);
    CHECK(seen[name] > 20);
  }
}

TEMPLATE_TEST_CASE("random frames with pauses between and in them get the model's verdict", "",
                   ALL_WIDTHS) {
  ParserBench<TestType> b;
  FrameMaker maker(test::rng("mix"));
  b.driver().set_gaps(test::Stall::bursts(0.2, 4));
  b.check(maker.mix(500, 600));
}

TEMPLATE_TEST_CASE("every payload length, header and tag around the beat borders is found", "",
                   ALL_WIDTHS) {
  ParserBench<TestType> b;
  FrameMaker maker(test::rng("sweep"));
  std::vector<Bytes> frames;
  for (size_t length = 0; length <= 300; ++length) frames.push_back(maker.roce_frame(length));
  for (size_t length : {1023u, 1024u, 1025u, 4095u, 4096u})
    frames.push_back(maker.roce_frame(length, 0x0A));
  b.check(frames);
  for (const auto& o : b.outcomes()) REQUIRE(o.kind == Kind::kRoce);
}

TEMPLATE_TEST_CASE("an INT trailer is found behind packets of every length, and no other bytes", "",
                   ALL_WIDTHS) {
  ParserBench<TestType> b;
  FrameMaker maker(test::rng("trailers"));
  std::vector<Bytes> frames, others;
  for (size_t length = 0; length <= 300; ++length) frames.push_back(maker.telemetry_frame(length));
  for (size_t length : {1023u, 1024u, 4095u, 4096u})
    frames.push_back(maker.telemetry_frame(length, 0x0A));
  b.check(frames);
  for (const auto& o : b.outcomes()) {
    REQUIRE(o.kind == Kind::kRoce);
    REQUIRE(kMeta.get(o.meta, "has_int") == 1);
  }
  // A byte more or less, and bytes that only look like one.
  for (size_t length = 0; length <= 70; ++length) {
    Bytes f = maker.telemetry_frame(length);
    f.push_back(0);
    others.push_back(f);
    f.resize(f.size() - 2);
    others.push_back(f);
    f = ip_packet_of(f);
    f.resize(f.size() + 48);
    others.push_back(f);
  }
  b.check(others);
  for (const auto& o : b.outcomes()) {
    REQUIRE(o.kind == Kind::kRoce);
    REQUIRE(kMeta.get(o.meta, "has_int") == 0);
  }
}

TEMPLATE_TEST_CASE("every bit of an INT trailer: unknown ones make it nothing, never the packet",
                   "", ALL_WIDTHS) {
  ParserBench<TestType> b;
  FrameMaker maker(test::rng("trailer bits"));
  const Bytes good = maker.telemetry_frame(9, 0x0A);
  const size_t at = good.size() - 48;
  std::vector<Bytes> frames;
  for (size_t bit = 0; bit < 48 * 8; ++bit) {
    Bytes f = good;
    f[at + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    frames.push_back(f);
  }
  b.check(frames);
  for (size_t bit = 0; bit < 48 * 8; ++bit) {
    const size_t byte = bit / 8;
    const bool known = byte >= 8 || byte == 4 || byte == 5 || (byte == 2 && bit % 8 >= 4) ||
                       (byte == 3 && bit % 8 == 0);
    INFO("bit " << bit);
    CHECK(b.outcomes()[bit].kind == Kind::kRoce);
    CHECK(kMeta.get(b.outcomes()[bit].meta, "has_int") == known);
  }
}

TEMPLATE_TEST_CASE("without telemetry a trailer is padding", "", ALL_WIDTHS) {
  const Station off{.telemetry = false};
  ParserBench<TestType> b(off);
  FrameMaker maker(test::rng("off"));
  std::vector<Bytes> frames;
  for (size_t length = 0; length <= 100; ++length) frames.push_back(maker.telemetry_frame(length));
  b.check(frames, off);
  for (const auto& o : b.outcomes()) REQUIRE(kMeta.get(o.meta, "has_int") == 0);
}

TEMPLATE_TEST_CASE("one-beat frames are judged one per cycle", "", ALL_WIDTHS) {
  ParserBench<TestType> b;
  std::vector<Bytes> frames;
  const size_t beat = sizeof(b.top().in_data);
  FrameMaker maker(test::rng("short"));
  for (int i = 0; i < 200; ++i) {
    if (beat >= 64 && i % 3 != 0) {
      Bytes f = fact_vectors()[10 - (i % 2) * 8];  // 58 and 62 bytes
      if (i % 5 == 0) f[f.size() - 1] ^= 1;
      frames.push_back(f);
    } else {
      frames.push_back(maker.rng().bytes(maker.rng().between(1, beat)));
    }
  }
  b.check(frames);
  const auto& o = b.outcomes();
  CHECK(o.back().cycle - o.front().cycle == o.size() - 1);
}

TEMPLATE_TEST_CASE("payload above 4096 bytes, MAC errors and overlong frames are dropped", "",
                   ALL_WIDTHS) {
  ParserBench<TestType> b;
  FrameMaker maker(test::rng("limits"));
  std::vector<WireFrame> frames;
  frames.push_back({maker.roce_frame(4096, 0x04)});
  frames.push_back({maker.roce_frame(4097, 0x04)});
  frames.push_back({maker.roce_frame(4100, 0x04)});
  frames.push_back({maker.roce_frame(100, 0x04), true, false});
  frames.push_back({maker.roce_frame(100, 0x04), false, true});
  frames.push_back({maker.raw_frame(), true, false});
  frames.push_back({maker.rng().bytes(3), true, true});
  Bytes big = maker.rng().bytes(65535);
  big[12] = 0x12;
  frames.push_back({big});
  big.push_back(0);
  frames.push_back({big});
  big.resize(70000);
  frames.push_back({big});
  frames.push_back({maker.roce_frame(64, 0x0A)});
  b.check(frames);
  CHECK(b.outcomes()[1].counter == "header_errors");
  CHECK(b.outcomes()[3].counter == "crc_errors");
  CHECK(b.outcomes()[4].counter.empty());
  CHECK(b.outcomes()[8].counter == "header_errors");
  CHECK(b.outcomes().back().kind == Kind::kRoce);
}

TEMPLATE_TEST_CASE("raw frames to another station are kept out unless all are wanted", "",
                   ALL_WIDTHS) {
  const Station station{false, {2, 0, 0, 0, 0, 1}};
  ParserBench<TestType> b(station);
  FrameMaker maker(test::rng("raw"));
  std::vector<Bytes> frames;
  for (int i = 0; i < 100; ++i) {
    Bytes f = maker.raw_frame();
    if (i % 4 == 0) std::copy(station.mac.begin(), station.mac.end(), f.begin());
    if (i % 4 == 1) f[0] |= 1;  // multicast
    if (i % 4 == 2) f[0] &= 0xFE;
    frames.push_back(f);
  }
  frames.push_back(fact_vectors()[0]);  // RoCEv2 is judged by the connection's addresses, not here
  b.check(frames, station);
  CHECK(b.outcomes()[0].kind == Kind::kRaw);
  CHECK(b.outcomes()[1].kind == Kind::kRaw);
  CHECK(b.outcomes()[2].counter == "raw_filtered");
  CHECK(b.outcomes().back().kind == Kind::kRoce);
}

TEMPLATE_TEST_CASE("reset in mid-frame leaves nothing behind", "", ALL_WIDTHS) {
  ParserBench<TestType> b;
  FrameMaker maker(test::rng("reset"));
  for (int round = 0; round < 20; ++round) {
    b.driver().push_all({maker.roce_frame(300, 0x0A), maker.roce_frame(300, 0x0A)});
    b.bench().tick(maker.rng().between(1, 20));
    b.reset();
    b.check({maker.roce_frame(maker.rng().below(90)), maker.roce_frame(70)});
  }
}

TEMPLATE_TEST_CASE("the trace event says how long ago the frame began", "", ALL_WIDTHS) {
  ParserBench<TestType> b;
  const size_t beat = sizeof(b.top().in_data);
  b.check({fact_vectors()[0]});
  REQUIRE(b.ages_.size() == 1);
  CHECK(b.ages_[0] == 2 + 53 / beat);
  CHECK(b.early()[0].cycle == b.driver().first_cycles()[0] + b.ages_[0]);
}
