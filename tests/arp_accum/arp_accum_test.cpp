// SPDX-License-Identifier: Apache-2.0
//
// The accumulator against rows in an array to which the rules of harness/numerics add, one beat
// after the other in the order in which they went in.
#include <Varp_accum_1024.h>
#include <Varp_accum_128.h>

#include <map>

#include "harness/numerics/element.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;
using namespace rnic::numerics;

namespace {

struct A128 {
  using Top = Varp_accum_128;
  static constexpr uint32_t kW = 128, kRows = 64;
};
struct A1024 {
  using Top = Varp_accum_1024;
  static constexpr uint32_t kW = 1024, kRows = 16;
};

struct Beat {
  uint32_t row = 0;
  Element elem = Element::kFp32;
  bool wide = false, init = false, emit = false, last = false;
  Bits data;
  bool operator==(const Beat&) const = default;
};
struct Out {
  Bits data;
  bool last;
  bool operator==(const Out&) const = default;
};

template <class C>
struct World {
  static constexpr uint32_t kW = C::kW, kRows = C::kRows;
  Bench<typename C::Top> bench;
  Rng random = rng("world");
  StreamSource<Beat> in, set;
  StreamSink<Out> out;
  std::vector<Bits> rows = std::vector<Bits>(kRows, Bits(kW));
  std::vector<Out> expected;
  uint64_t conflicts = 0, first_in = 0, last_in = 0;

  World()
      : in(bench, "in", bench.top().in_valid, bench.top().in_ready,
           [this](const Beat& b) {
             auto& t = bench.top();
             write_pin(t.in_row, uint64_t{b.row});
             t.in_elem = static_cast<uint8_t>(b.elem);
             t.in_wide = b.wide;
             t.in_init = b.init;
             t.in_emit = b.emit;
             t.in_last = b.last;
             write_pin(t.in_data, b.data);
           }),
        set(bench, "set", bench.top().set_valid, bench.top().set_ready,
            [this](const Beat& b) {
              auto& t = bench.top();
              write_pin(t.set_row, uint64_t{b.row});
              t.set_elem = static_cast<uint8_t>(b.elem);
              t.set_wide = b.wide;
              write_pin(t.set_data, b.data);
            }),
        out(bench, "out", bench.top().out_valid, bench.top().out_ready, [this] {
          return Out{read_pin(bench.top().out_data), bench.top().out_last != 0};
        }) {
    bench.on_sample([this] {
      auto& t = bench.top();
      conflicts += t.conflict_o;
      if (t.in_valid && t.in_ready) {
        if (first_in == 0) first_in = bench.cycle();
        last_in = bench.cycle();
      }
    });
    bench.reset({&bench.top().rst_i});
  }

  // One addition, as the rules say; the second operand may be nothing.
  static Bits sum(Element type, const Bits* row, const Bits& data) {
    const uint32_t width = 8 * element_bytes(type);
    Bits result(kW);
    for (uint32_t at = 0; at < kW; at += width) {
      const auto x = static_cast<uint32_t>(data.get(at, width));
      uint32_t y = is_nan(type, x) ? add(type, x, x) : x;
      if (row) y = add(type, static_cast<uint32_t>(row->get(at, width)), x);
      result.set(at, width, y);
    }
    return result;
  }
  static Bits widened(const Beat& b, uint32_t half) {
    Bits wide(kW);
    for (uint32_t i = 0; i < kW / 32; ++i) {
      const auto x = static_cast<uint32_t>(b.data.get(half * kW / 2 + 16 * i, 16));
      wide.set(32 * i, 32, widen(b.elem, x));
    }
    return wide;
  }

  void push(const Beat& b) {
    in.push(b);
    if (!b.wide) {
      put(b, b.row, sum(b.elem, b.init ? nullptr : &rows[b.row], b.data), nullptr);
      return;
    }
    Bits whole(kW);
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t row = b.row + half;
      put(b, row, sum(Element::kFp32, b.init ? nullptr : &rows[row], widened(b, half)), &whole);
    }
    if (b.emit) expected.push_back({whole, b.last});
  }
  void put(const Beat& b, uint32_t row, const Bits& value, Bits* whole) {
    if (!b.emit) {
      rows[row] = value;
    } else if (!whole) {
      expected.push_back({value, b.last});
    } else {
      for (uint32_t i = 0; i < kW / 32; ++i) {
        whole->set((row & 1) * kW / 2 + 16 * i, 16,
                   narrow(b.elem, static_cast<uint32_t>(value.get(32 * i, 32))));
      }
    }
  }
  Bits numbers(Element type, bool odd) {
    Bits data = Bits::random(random, kW);
    if (odd || type == Element::kInt32) return data;
    // Near one another, so that sums keep changing: exponents of a narrow range.
    const uint32_t width = 8 * element_bytes(type);
    const uint32_t fraction = type == Element::kFp16 ? 10 : type == Element::kBf16 ? 7 : 23;
    const uint32_t middle = type == Element::kFp16 ? 12 : 124;
    for (uint32_t at = 0; at < kW; at += width)
      data.set(at + fraction, width - 1 - fraction, middle + random.below(8));
    return data;
  }
  // A row is set; NaNs keep their bits.
  void push_set(const Beat& b) {
    set.push(b);
    for (uint32_t half = 0; half < (b.wide ? 2 : 1); ++half)
      rows[b.row + half] = b.wide ? widened(b, half) : b.data;
  }
  // Everything that is in the rows, by emitting it.
  void read_back() {
    for (uint32_t row = 0; row < kRows; ++row) {
      Beat b{row, Element::kInt32, false, false, true, row % 4 == 3, Bits(kW)};
      push(b);
    }
  }
  void finish(uint64_t limit = 200000) {
    bench.wait(
        "all sums", [&] { return in.pending() == 0 && out.size() == expected.size(); }, limit);
    bench.tick(10);
    CHECK(bench.top().idle_o == 1);
    CHECK(out.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!(out[i] == expected[i])) {
        FAIL("sum " << i << " is " << out[i].data << ", not " << expected[i].data);
      }
    }
  }
  void begin_all() {
    for (uint32_t row = 0; row < kRows; ++row)
      push({row, Element::kInt32, false, true, false, false, Bits::random(random, kW)});
  }
  // Cycles from the first beat taken to the last.
  uint64_t cycles(const std::vector<Beat>& beats) {
    begin_all();
    finish();
    bench.tick(10);
    first_in = 0;
    for (const Beat& b : beats) push(b);
    bench.wait(
        "beats", [&] { return in.pending() == 0; }, 100000);
    return last_in - first_in + 1;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("arp_accum keeps every sum right, whatever rows are hit and whoever stalls", "",
                   A128, A1024) {
  World<TestType> w;
  auto& random = w.random;
  w.begin_all();
  for (int round = 0; round < 12; ++round) {
    const double p[] = {0, 0.3, 0.8};
    w.in.set_stall(Stall::random(p[random.below(3)]));
    w.out.set_stall(round % 3 == 2 ? Stall::bursts(0.1, 30) : Stall::random(p[random.below(3)]));
    // One row, two in turn, few, all.
    const uint64_t spread[] = {1, 2, 4, w.kRows};
    const uint64_t rows = spread[round % 4];
    const double emit = round % 2 ? 0.5 : 0.1;
    for (int i = 0; i < 300; ++i) {
      Beat b;
      b.elem = static_cast<Element>(random.below(4));
      b.wide = element_bytes(b.elem) == 2 && random.chance(0.4);
      b.row = static_cast<uint32_t>(random.below(rows));
      if (b.wide) b.row &= ~1u;
      b.init = random.chance(0.2);
      b.emit = random.chance(emit);
      b.last = b.emit && random.chance(0.3);
      b.data = w.numbers(b.elem, random.chance(0.1));
      w.push(b);
    }
    w.read_back();
    w.finish();
  }
  CHECK(w.conflicts > 100);
}

TEMPLATE_TEST_CASE("arp_accum sums slots of each type, contributor by contributor", "", A128,
                   A1024) {
  World<TestType> w;
  for (const Element type : {Element::kFp16, Element::kBf16, Element::kFp32, Element::kInt32}) {
    for (const bool wide : {false, true}) {
      if (wide && element_bytes(type) == 4) continue;
      const uint32_t beats = 4, ranks = 9;
      for (uint32_t c = 0; c < ranks; ++c) {
        for (uint32_t i = 0; i < beats; ++i) {
          w.push({wide ? 2 * i : i, type, wide, c == 0, c + 1 == ranks, i + 1 == beats,
                  w.numbers(type, false)});
        }
      }
    }
  }
  // A slot with one contributor goes out as it came.
  w.push({0, Element::kBf16, true, true, true, true, w.numbers(Element::kBf16, false)});
  w.finish();
}

TEMPLATE_TEST_CASE("arp_accum sets rows beside sums, as soon as the last sum's beat is taken", "",
                   A128, A1024) {
  World<TestType> w;
  auto& random = w.random;
  w.begin_all();
  w.finish();
  w.out.set_stall(Stall::bursts(0.1, 20));
  w.in.set_stall(Stall::random(0.2));
  // Pairs of rows, each: set, then some beats, the last of which emits, then set again.
  struct Pair {
    bool wide = false, setting = false;
    Element elem = Element::kFp32;
    uint64_t until = 0;  // transfers after which it goes on
  };
  std::vector<Pair> pairs(w.kRows / 2 - 1);
  uint64_t sets = 0, beats = w.in.taken(), rounds = 0;
  while (rounds < 600) {
    for (uint32_t i = 0; i < pairs.size(); ++i) {
      Pair& p = pairs[i];
      if ((p.setting ? w.set.taken() : w.in.taken()) < p.until || w.set.pending() > 2) continue;
      const uint32_t row = 2 * i;
      if (!p.setting) {
        p.elem = static_cast<Element>(random.below(4));
        p.wide = element_bytes(p.elem) == 2 && random.chance(0.5);
        Beat b{row, p.elem, p.wide, false, false, false, w.numbers(p.elem, random.chance(0.1))};
        w.push_set(b);
        p.until = ++sets;
        ++rounds;
      } else {
        for (uint64_t n = random.between(1, 3); n > 0; --n) {
          w.push({row, p.elem, p.wide, false, n == 1, false, w.numbers(p.elem, false)});
          ++beats;
        }
        p.until = beats;
      }
      p.setting = !p.setting;
    }
    // Other rows are hit all the time.
    if (w.in.pending() < 6) {
      w.push({w.kRows - 1, Element::kInt32, false, false, random.chance(0.3), false,
              w.numbers(Element::kInt32, false)});
      ++beats;
    }
    w.bench.tick();
  }
  w.bench.wait(
      "sets", [&] { return w.set.pending() == 0; }, 10000);
  w.read_back();
  w.finish();
}

TEMPLATE_TEST_CASE("arp_accum sets a row per cycle while sums go out, in FP32 one per two", "",
                   A128, A1024) {
  for (const bool wide : {false, true}) {
    World<TestType> w;
    w.begin_all();
    w.finish();
    const uint64_t before = w.set.cycles().size();
    for (uint32_t i = 0; i < 200; ++i) {
      const uint32_t row = 2 * (i % 2);
      w.set.push(
          {row, Element::kBf16, wide, false, false, false, w.numbers(Element::kBf16, false)});
      w.push({row + 5 + i % 2, Element::kFp32, false, true, true, false,
              w.numbers(Element::kFp32, false)});
    }
    w.finish();
    w.bench.wait(
        "sets", [&] { return w.set.pending() == 0; }, 1000);
    const auto& at = w.set.cycles();
    CHECK(at.back() - at[before] == (wide ? 2 * 199 : 199));
  }
}

TEMPLATE_TEST_CASE("arp_accum rounds once when it sums in FP32, at every addition otherwise", "",
                   A128, A1024) {
  // 4096 ones in FP16: stand still at 2048, or come to 4096 (facts section 9).
  for (const bool wide : {false, true}) {
    World<TestType> w;
    Bits ones(w.kW), sum(w.kW);
    for (uint32_t at = 0; at < w.kW; at += 16) {
      ones.set(at, 16, 0x3C00);
      sum.set(at, 16, wide ? 0x6C00 : 0x6800);
    }
    for (int i = 0; i < 4096; ++i) w.push({0, Element::kFp16, wide, i == 0, i == 4095, true, ones});
    w.finish();
    CHECK(w.out[0].data == sum);
  }
}

TEMPLATE_TEST_CASE("arp_accum takes a beat per cycle, and one per three cycles on one row", "",
                   A128, A1024) {
  const auto run = [](uint32_t rows, bool wide, bool emit, bool init = false) {
    World<TestType> w;
    std::vector<Beat> beats;
    for (uint32_t i = 0; i < 240; ++i) {
      const uint32_t row = i % rows * (wide ? 2 : 1);
      beats.push_back(
          {row, Element::kFp16, wide, init, emit, false, w.numbers(Element::kFp16, false)});
    }
    const uint64_t cycles = w.cycles(beats);
    w.read_back();
    w.finish();
    return cycles;
  };
  // The beat that waits is inside: the last is taken when the one before it goes.
  CHECK(run(8, false, false) == 240);
  CHECK(run(3, false, false) == 240);
  CHECK(run(2, false, false) == 240 + 120 - 1);
  CHECK(run(1, false, false) == 3 * 238 + 2);
  CHECK(run(8, false, true) == 240);
  CHECK(run(1, false, true, true) == 240);
  CHECK(run(8, true, false) == 2 * 239 + 1);
  CHECK(run(8, true, true) == 2 * 239 + 1);
  CHECK(run(1, true, false) == 3 * 238 + 3);
}

TEMPLATE_TEST_CASE("arp_accum: a sum is out six cycles after its beat, in FP32 seven", "", A128,
                   A1024) {
  World<TestType> w;
  for (const bool wide : {false, true}) {
    w.bench.tick(20);
    w.first_in = 0;
    w.push({0, Element::kBf16, wide, true, true, true, w.numbers(Element::kBf16, false)});
    w.finish();
    CHECK(w.out.cycles().back() - w.first_in == (wide ? 7 : 6));
  }
}

TEMPLATE_TEST_CASE(
    "arp_accum: a stalled output holds back only sums, and as many as it has room for", "", A128,
    A1024) {
  World<TestType> w;
  w.begin_all();
  w.finish();
  w.out.set_stall(Stall::always());
  for (int i = 0; i < 8; ++i)
    w.push({0, Element::kFp32, false, true, true, true, w.numbers(Element::kFp32, false)});
  for (uint32_t i = 0; i < 40; ++i)
    w.push({i % 8, Element::kFp32, false, false, false, false, w.numbers(Element::kFp32, false)});
  w.bench.wait(
      "beats behind the sums", [&] { return w.in.pending() == 0; }, 100);
  for (int i = 0; i < 3; ++i)
    w.push({0, Element::kFp32, false, true, true, true, w.numbers(Element::kFp32, false)});
  w.bench.tick(100);
  CHECK(w.in.pending() == 2);
  CHECK(w.out.size() == 0);
  w.out.set_stall(Stall::none());
  w.read_back();
  w.finish();
}

TEMPLATE_TEST_CASE("arp_accum works after a reset with beats inside", "", A128, A1024) {
  World<TestType> w;
  w.begin_all();
  w.finish();
  w.out.set_stall(Stall::always());
  for (int i = 0; i < 12; ++i)
    w.in.push({0, Element::kFp16, true, true, true, true, w.numbers(Element::kFp16, false)});
  for (int cycles = 3; cycles < 30; cycles += 5) {
    w.bench.tick(static_cast<uint64_t>(cycles));
    w.in.clear();
    w.bench.reset({&w.bench.top().rst_i});
    CHECK(w.bench.top().idle_o == 1);
    w.in.push({2, Element::kFp16, true, true, true, true, w.numbers(Element::kFp16, false)});
  }
  w.in.clear();
  w.bench.reset({&w.bench.top().rst_i});
  w.out.set_stall(Stall::none());
  w.out.clear();
  w.expected.clear();
  w.begin_all();
  w.read_back();
  w.finish();
}
