// SPDX-License-Identifier: Apache-2.0
//
// The bench framework itself: what must be noticed is noticed.
#include <Vassert_probe.h>

#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/memory.hpp"
#include "tests/support/stream.hpp"
#include "tests/support/verilated_hooks.hpp"

using namespace rnic::test;

TEST_CASE("a failing RTL assertion throws and names the place") {
  Bench<Vassert_probe> bench;
  bench->fail_i = 1;
  bench.reset();  // off in reset
  REQUIRE_THROWS_WITH(bench.tick(), contains_text("assert_probe.sv"));
}

TEST_CASE("the RTL hold assertion sees a payload that changes and a valid taken back") {
  Bench<Vassert_probe> bench;
  bench.reset();
  bench->out_valid = 1;
  bench->out_data = 7;
  bench.tick();
  SECTION("payload") { bench->out_data = 8; }
  SECTION("valid") { bench->out_valid = 0; }
  REQUIRE_THROWS_AS(bench.tick(), rnic::rtl::RtlError);
}

TEST_CASE("a monitor sees a payload that changes and a valid taken back") {
  Bench<Vassert_probe> bench;
  CData valid = 0;
  CData ready = 0;
  CData data = 0;
  StreamMonitor<uint64_t> monitor(bench, "probe", valid, ready, data);
  bench.reset();
  valid = 1;
  data = 7;
  bench.tick();
  SECTION("payload") {
    data = 8;
    REQUIRE_THROWS_WITH(bench.tick(), contains_text("'probe'") && contains_text("from 0x7 to 0x8"));
  }
  SECTION("valid") {
    valid = 0;
    REQUIRE_THROWS_WITH(bench.tick(), contains_text("taken back"));
  }
  SECTION("neither") {
    ready = 1;
    bench.tick();
    data = 8;
    bench.tick();
    CHECK(difference(monitor.items(), std::vector<uint64_t>{7, 8}) == "");
  }
}

TEST_CASE("waits have a limit and say what they waited for") {
  Bench<Vassert_probe> bench;
  bench.reset();
  REQUIRE_THROWS_WITH(bench.wait(
                          "a miracle", [] { return false; }, 50),
                      contains_text("50 cycles") && contains_text("a miracle"));
  StreamMonitor<uint64_t> monitor(bench, "out", bench->out_valid, bench->out_ready,
                                  bench->out_data);
  REQUIRE_THROWS_WITH(monitor.wait(3, 20),
                      contains_text("'out'") && contains_text("transfer 3, got 0"));
}

TEST_CASE("Bits sets and reads fields across word borders") {
  auto random = rng("bits");
  Bits bits(300);
  std::vector<bool> model(300);
  for (int step = 0; step < 2000; ++step) {
    const size_t width = random.between(1, 64);
    const size_t lsb = random.between(0, 300 - width);
    const uint64_t value = random.bits(static_cast<unsigned>(width));
    bits.set(lsb, width, value);
    for (size_t i = 0; i < width; ++i) model[lsb + i] = value >> i & 1;
    REQUIRE(bits.get(lsb, width) == value);
    for (size_t i = 0; i < 300; ++i) REQUIRE(bits.bit(i) == model[i]);
  }
  CHECK(bits.slice(17, 200).get(31, 40) == bits.get(48, 40));
  CHECK_THROWS_WITH(bits.get(290, 20), contains_text("309:290"));
  CHECK_THROWS(bits.set(0, 4, 16));
  CHECK(Bits(12, 0xABC).hex() == "0xabc");
  CHECK(Bits(64, 7) == Bits(3, 7));
  const std::vector<uint8_t> bytes = random.bytes(23);
  CHECK(Bits::from_bytes(bytes).bytes() == bytes);
  CHECK(Bits::from_bytes(bytes).byte(5) == bytes[5]);
}

TEST_CASE("BitLayout places the first field at the most significant end") {
  const BitLayout layout({{"qpn", 24}, {"psn", 24}, {"wide", 70}, {"last", 1}});
  CHECK(layout.width() == 119);
  CHECK(layout.lsb("last") == 0);
  CHECK(layout.lsb("wide") == 1);
  CHECK(layout.lsb("qpn") == 95);
  Bits bits = layout.pack({{"qpn", 0x123456}, {"last", 1}, {"wide", 5}});
  CHECK(layout.get(bits, "qpn") == 0x123456);
  CHECK(layout.get(bits, "psn") == 0);
  CHECK(layout.get_bits(bits, "wide") == Bits(70, 5));
  CHECK(bits.get(0, 1) == 1);
  CHECK_THROWS_WITH(layout.get(bits, "pns"), contains_text("'pns'"));
  CHECK_THROWS(layout.pack({{"qpn", 0x1000000}}));
  CHECK(layout.show(bits) == "qpn=0x123456 psn=0x000000 wide=0x000000000000000005 last=0x1");
}

TEST_CASE("substreams of the seed are independent of each other and repeat") {
  auto a = rng("a");
  auto b = rng("b");
  auto again = rng("a");
  const uint64_t first = a.u64();
  CHECK(first == again.u64());
  CHECK(first != b.u64());
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(a.between(3, 5) >= 3);
    REQUIRE(a.between(3, 5) <= 5);
    REQUIRE(a.bits(7) < 128);
  }
}

TEST_CASE("a responder answers with its latency, in order or not") {
  Bench<Vassert_probe> bench;
  CData request_valid = 0, request_ready = 0, request = 0;
  CData response_valid = 0, response_ready = 0, response = 0;
  StreamSource<uint64_t> requester(bench, "request", request_valid, request_ready, request);
  StreamSink<uint64_t> requests(bench, "request", request_valid, request_ready, request);
  Responder<uint64_t, uint64_t> responder(bench, requests,
                                          [](const uint64_t& r) { return r + 100; });
  StreamSource<uint64_t> responses(bench, "response", response_valid, response_ready, response);
  responder.connect(responses);
  StreamSink<uint64_t> results(bench, "response", response_valid, response_ready, response);
  bench.reset();
  std::vector<uint64_t> expected;
  SECTION("in order, fixed") {
    responder.set_latency(5, 5);
    for (uint64_t i = 0; i < 20; ++i) {
      requester.push(i);
      expected.push_back(i + 100);
    }
    results.wait(20);
    CHECK(difference(results.items(), expected) == "");
    CHECK(results.cycles()[0] - requests.cycles()[0] == 5);
  }
  SECTION("any order") {
    responder.set_latency(1, 30, Responder<uint64_t, uint64_t>::kAnyOrder);
    for (uint64_t i = 0; i < 50; ++i) {
      requester.push(i);
      expected.push_back(i + 100);
    }
    results.wait(50);
    std::vector<uint64_t> got = results.items();
    CHECK(got != expected);
    std::sort(got.begin(), got.end());
    CHECK(difference(got, expected) == "");
  }
}

TEST_CASE("a fixed-latency table answers after its cycles") {
  const unsigned latency = GENERATE(1, 2, 3);
  Bench<Vassert_probe> bench;
  uint64_t address = 0;
  uint64_t data = 0;
  FixedLatency<uint64_t> table(
      bench, latency, [&] { return std::optional<uint64_t>(address); },
      [&](const uint64_t& a) { data = a * 2; });
  bench.reset();
  for (address = 1; address < 20; ++address) {
    bench.tick();  // this edge takes the address; the answer is there after `latency` edges
    if (address >= latency) REQUIRE(data == (address - latency + 1) * 2);
  }
}
