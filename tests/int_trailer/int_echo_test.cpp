// SPDX-License-Identifier: Apache-2.0
//
// int_echo against a map from QP to its newest telemetry; 64 QPs share 8 places here.
#include <Vint_echo.h>

#include <map>
#include <optional>

#include "tests/int_trailer/telemetry.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;

namespace {

constexpr uint64_t kPlaces = 8;

struct World {
  World() : top(bench.top()) {
    top.cfg_enable_i = 1;
    bench.reset();
  }
  struct Step {
    std::optional<uint64_t> put{}, get{}, forget{};
  };
  // One cycle; the answer of a get is read in the next one.
  void step(const Step& s) {
    top.put_valid_i = s.put.has_value();
    top.get_valid_i = s.get.has_value();
    top.forget_valid_i = s.forget.has_value();
    Bits value(kTelemetry.width());
    if (s.put) {
      top.put_qpn_i = static_cast<uint32_t>(*s.put);
      value = telemetry_bits(random_trailer(random));
      write_pin(top.put_i, value);
    }
    if (s.get) top.get_qpn_i = static_cast<uint32_t>(*s.get);
    if (s.forget) top.forget_qpn_i = static_cast<uint32_t>(*s.forget);
    bench.tick();
    if (s.get) {
      const auto it = places.find(*s.get % kPlaces);
      last.reset();
      if (it != places.end() && it->second.first == *s.get) {
        last = it->second.second;
        places.erase(it);
      }
    }
    if (s.forget) {
      const auto it = places.find(*s.forget % kPlaces);
      if (it != places.end() && it->second.first == *s.forget) places.erase(it);
    }
    if (s.put && top.cfg_enable_i) places[*s.put % kPlaces] = {*s.put, value};
    top.put_valid_i = top.get_valid_i = top.forget_valid_i = 0;
    bench->eval();
    CHECK((top.got_valid_o != 0) == last.has_value());
    if (last) CHECK(read_pin(top.got_o).slice(0, kTelemetry.width()) == *last);
  }
  Bench<Vint_echo> bench;
  Vint_echo& top;
  Rng random = rng("telemetry");
  std::map<uint64_t, std::pair<uint64_t, Bits>> places;
  std::optional<Bits> last;
};

}  // namespace

TEST_CASE("an ACK takes the newest telemetry of its QP, once") {
  World w;
  w.step({.put = 3});
  w.step({.put = 3});
  w.step({.get = 3});
  REQUIRE(w.last);
  w.step({});  // the answer stands
  w.step({.get = 3});
  CHECK_FALSE(w.last);
}

TEST_CASE("puts, gets and forgets of many QPs in the same cycles") {
  World w;
  uint64_t found = 0;
  for (int i = 0; i < 5000; ++i) {
    World::Step s;
    const uint64_t range = w.random.chance(0.5) ? 3 : 64;
    if (w.random.chance(0.6)) s.put = w.random.below(range);
    if (w.random.chance(0.5)) s.get = w.random.below(range);
    if (w.random.chance(0.05)) s.forget = w.random.below(range);
    w.step(s);
    found += s.get && w.last;
  }
  CHECK(found > 500);
}

TEST_CASE("off, nothing is kept and nothing given; a QP that starts anew has none; reset") {
  World w;
  w.step({.put = 5});
  w.step({.forget = 5});
  w.step({.get = 5});
  CHECK_FALSE(w.last);
  w.top.cfg_enable_i = 0;
  w.step({.put = 5});
  w.step({.get = 5});
  CHECK_FALSE(w.last);
  w.top.cfg_enable_i = 1;
  w.step({.put = 6});
  w.bench.reset();
  w.places.clear();
  w.last.reset();
  w.step({.get = 6});
  CHECK_FALSE(w.last);
}
