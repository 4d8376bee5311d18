// SPDX-License-Identifier: Apache-2.0
// The INT trailer by byte offset, against the published example of its hop word and the README's
// table.
#include "harness/roce/int_trailer.hpp"

#include <vector>

#include "harness/roce/bytes.hpp"
#include "harness/roce/check.hpp"
#include "harness/roce/frame.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::roce;

namespace {

std::vector<uint8_t> packet(size_t payload, bool ipv6 = false, uint8_t tags = 0,
                            uint8_t opcode = kRcSendOnly) {
  FrameSpec s;
  if (ipv6) {
    s.ip_src[0] = s.ip_dst[0] = 0xFD;
  } else {
    s.ip_src = ipv4_address(10, 0, 0, 1);
    s.ip_dst = ipv4_address(10, 0, 0, 2);
  }
  s.vlan_count = tags;
  s.opcode = opcode;
  s.dma_len = static_cast<uint32_t>(payload);
  std::vector<uint8_t> data(payload, 0xA5), f(payload + 256);
  f.resize(build_frame(s, data, f));
  return f;
}

// With a trailer, in a buffer of just the right size.
std::vector<uint8_t> with_int(std::vector<uint8_t> f, const IntTrailer& t = {}) {
  const size_t length = f.size();
  f.resize(length + kIntBytes);
  f.resize(append_int(f, length, t));
  return f;
}

std::span<uint8_t> trailer_of(std::vector<uint8_t>& f) {
  return std::span<uint8_t>(f).last(kIntBytes);
}

}  // namespace

TEST_CASE("the hop word is the published one") {
  // Time 0x1234567 ns, 123456789 bytes, queue 54321, 100 Gb/s.
  const uint8_t one[] = {0x3a, 0x2b, 0x1a, 0xd1, 0xbc, 0xf5, 0x53, 0x01};
  const uint8_t four[] = {0x3a, 0x2b, 0x1a, 0x31, 0x6f, 0x9d, 0x54, 0x00};
  const IntHop h = make_hop(2, uint64_t{0x1234567} * 1000 + 999, 123456789, 54321, 0);
  CHECK(h == IntHop{2, 2311527, 964506, 679});
  CHECK(pack_hop(h) == load_le64(one));
  CHECK(unpack_hop(load_le64(one)) == h);
  const IntHop coarse = make_hop(2, uint64_t{0x1234567} * 1000, 123456789, 54321, 2);
  CHECK(coarse == IntHop{2, 2311527, 241126, 169});
  CHECK(pack_hop(coarse) == load_le64(four));
}

TEST_CASE("time and bytes of a hop wrap, its queue saturates") {
  CHECK(make_hop(0, 16'777'215'999, 0, 0, 0).ts == 0xFFFFFF);
  CHECK(make_hop(0, 16'777'216'000, 0, 0, 0).ts == 0);
  CHECK(make_hop(0, 0, 134'217'727, 0, 0).tx == 0xFFFFF);
  CHECK(make_hop(0, 0, 134'217'728, 0, 0).tx == 0);
  CHECK(make_hop(0, 0, 127, 79, 0) == IntHop{});
  CHECK(make_hop(0, 0, 128, 80, 0) == IntHop{0, 0, 1, 1});
  CHECK(make_hop(0, 0, 0, 80ull * 0x1FFFF, 0).queue == 0x1FFFF);
  CHECK(make_hop(0, 0, 0, 80ull * 0x20000, 0).queue == 0x1FFFF);
  CHECK(make_hop(0, 0, 0, UINT64_MAX, 0).queue == 0x1FFFF);
  CHECK(make_hop(0, 0, 0, 80ull * 0x20000, 1).queue == 0x10000);
}

TEST_CASE("rates have codes, others have none") {
  const uint64_t rates[] = {25, 50, 100, 200, 400};
  for (uint8_t i = 0; i < 5; ++i) {
    CHECK(int_rate_code(rates[i] * 1'000'000'000) == i);
    CHECK(int_rate_bps(i) == rates[i] * 1'000'000'000);
  }
  CHECK_FALSE(int_rate_code(40'000'000'000));
  CHECK_FALSE(int_rate_code(800'000'000'000));
  CHECK(int_rate_bps(5) == 0);
  CHECK(int_rate_bps(6) == 0);
  CHECK(int_rate_bps(7) == 0);
}

TEST_CASE("the trailer's bytes are those of the table") {
  IntTrailer t;
  t.echo = true;
  t.unit = 3;
  t.hops = 2;
  t.path = 0xABC;
  t.hop[0] = {1, 0x010203, 0x45678, 0x1FFFE};
  t.hop[1] = {4, 0xFFFFFF, 0xFFFFF, 0};
  std::vector<uint8_t> b(kIntBytes, 0xEE);
  write_int(b, t);
  const std::vector<uint8_t> head = {0x49, 0x4E, 0x31, 0x01, 0xBC, 0x2A, 0, 0};
  CHECK(std::vector<uint8_t>(b.begin(), b.begin() + 8) == head);
  CHECK(load_le64(&b[8]) == (1 | 0x010203ull << 3 | 0x45678ull << 27 | 0x1FFFEull << 47));
  CHECK(load_le64(&b[16]) == (4 | 0xFFFFFFull << 3 | 0xFFFFFull << 27));
  for (size_t i = 24; i < kIntBytes; ++i) CHECK(b[i] == 0);
  IntTrailer back;
  REQUIRE(read_int(b, back));
  CHECK(back == t);
}

TEST_CASE("a trailer stands behind the iCRC and changes nothing of the packet") {
  for (const bool ipv6 : {false, true}) {
    for (const uint8_t tags : {uint8_t{0}, uint8_t{1}, uint8_t{2}}) {
      for (const size_t payload : {size_t{0}, size_t{1}, size_t{3}, size_t{256}, size_t{4096}}) {
        const auto plain = packet(payload, ipv6, tags);
        const auto f = with_int(plain);
        FrameView v;
        REQUIRE(parse_frame(f, v) == ParseStatus::kOk);
        CHECK(icrc_good(v));
        CHECK(v.payload_len == payload);
        CHECK(find_int(f) == size_t{v.icrc_offset} + 4);
        CHECK(f.size() == size_t{v.icrc_offset} + 4 + kIntBytes);
        CHECK(
            std::equal(f.begin(), f.begin() + static_cast<long>(v.icrc_offset + 4), plain.begin()));
        CHECK(find_int(plain) == 0);
        CheckOptions o;
        o.allow_trailer = true;
        CHECK(check_frame(f, o).empty());
        CHECK(check_frame(f).has(Rule::kTrailingBytes));
      }
    }
  }
}

TEST_CASE("padding, other trailers and cut frames are not telemetry") {
  auto f = with_int(packet(64));
  const size_t at = find_int(f);
  REQUIRE(at != 0);
  SECTION("one byte more or less") {
    f.push_back(0);
    CHECK(find_int(f) == 0);
    f.resize(f.size() - 2);
    CHECK(find_int(f) == 0);
  }
  SECTION("magic and version, every bit") {
    for (size_t bit = 0; bit < 20; ++bit) {
      f[at + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      CHECK(find_int(f) == 0);
      f[at + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
    CHECK(find_int(f) == at);
  }
  SECTION("zeros of the same length") {
    std::fill(f.begin() + static_cast<long>(at), f.end(), uint8_t{0});
    CHECK(find_int(f) == 0);
  }
  SECTION("IP length beyond the frame, below its header, not IP") {
    auto g = f;
    store_be16(&g[16], 0xFFFF);
    CHECK(ip_end(g) == 0);
    store_be16(&g[16], 19);
    CHECK(ip_end(g) == 0);
    g = f;
    store_be16(&g[12], 0x0806);
    CHECK(ip_end(g) == 0);
    CHECK(append_int(g, g.size()) == g.size());
  }
  SECTION("every shorter frame") {
    for (size_t n = 0; n < f.size(); ++n) CHECK(find_int(std::span(f).first(n)) == 0);
  }
}

TEST_CASE("no room for a trailer leaves the frame alone") {
  auto f = packet(64);
  const auto was = f;
  const size_t length = f.size();
  f.resize(length + kIntBytes - 1);
  CHECK(append_int(f, length) == length);
  f.resize(length);
  CHECK(f == was);
}

TEST_CASE("switches fill five hops, count to fifteen, and leave an echo to others") {
  auto f = with_int(packet(64));
  const auto t = trailer_of(f);
  uint16_t path = 0;
  for (unsigned i = 1; i <= 20; ++i) {
    const auto id = static_cast<uint16_t>(0x123 * i);
    const IntHop h{static_cast<uint8_t>(i % 5), i, 2 * i, 3 * i};
    CHECK(push_hop(t, h, 0, id) == (i <= kIntHops));
    path ^= id & 0xFFF;
    IntTrailer got;
    REQUIRE(read_int(t, got));
    CHECK(got.hops == std::min(i, 15u));
    CHECK(got.path == path);
    for (unsigned k = 0; k < kIntHops; ++k) {
      const IntHop want{static_cast<uint8_t>((k + 1) % 5), k + 1, 2 * (k + 1), 3 * (k + 1)};
      CHECK(got.hop[k] == (k < i ? want : IntHop{}));
    }
  }
}

TEST_CASE("a hop in another unit is one that nobody believes") {
  IntTrailer t, got;
  t.unit = 2;
  auto f = with_int(packet(64), t);
  CHECK_FALSE(push_hop(trailer_of(f), {2, 5, 6, 7}, 0, 1));
  CHECK_FALSE(read_int(trailer_of(f), got));
  CHECK(got.hops == 1);
  CHECK(got.hop[0] == IntHop{7, 0, 0, 0});
}

TEST_CASE("telemetry that cannot be is a violation") {
  IntTrailer t;
  t.hops = 1;
  t.hop[0] = {2, 1, 1, 1};
  auto f = with_int(packet(64), t);
  const size_t at = find_int(f);
  CheckOptions o;
  o.allow_trailer = true;
  REQUIRE(check_frame(f, o).empty());
  const auto bad = [&](size_t byte, uint8_t value) {
    auto g = f;
    g[at + byte] = value;
    const auto list = check_frame(g, o);
    INFO("byte " << byte << ": " << describe(list));
    CHECK(list.size() == 1);
    CHECK(list.has(Rule::kInt));
  };
  bad(2, 0x61);                                 // unit 6
  bad(3, 0x02);                                 // reserved flag
  bad(6, 1);                                    // reserved byte
  bad(8, static_cast<uint8_t>(f[at + 8] | 7));  // rate 7
  bad(16, 1);                                   // a hop beyond the count
  bad(47, 1);
}
