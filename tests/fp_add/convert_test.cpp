// SPDX-License-Identifier: Apache-2.0
//
// FP16 and BF16 to FP32 and back, against the rules in harness/numerics.
#include <Vfp_narrow.h>
#include <Vfp_widen.h>

#include "harness/numerics/element.hpp"
#include "tests/harness_numerics/vectors.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"
#include "tests/support/soak.hpp"

using namespace rnic::test;
using namespace rnic::numerics;

namespace {

constexpr uint32_t kN = 32;
constexpr Element kHalves[] = {Element::kFp16, Element::kBf16};

class Narrow {
 public:
  void add(Element type, uint32_t x) {
    top_.wide_i[fill_] = x;
    if (++fill_ < kN) return;
    fill_ = 0;
    top_.bf16_i = type == Element::kBf16;
    top_.eval();
    for (uint32_t i = 0; i < kN; ++i) {
      const uint32_t got = top_.half_o[i / 2] >> (16 * (i % 2)) & 0xFFFF;
      const uint32_t want = narrow(type, top_.wide_i[i]);
      if (got != want && ++bad_ <= 3) {
        FAIL_CHECK(element_name(type)
                   << std::hex << " " << top_.wide_i[i] << " -> " << got << ", not " << want);
      }
    }
  }
  uint64_t bad() const { return bad_; }

 private:
  VerilatedContext context_;
  Vfp_narrow top_{&context_};
  uint32_t fill_ = 0;
  uint64_t bad_ = 0;
};

}  // namespace

TEST_CASE("fp_widen makes every FP16 and BF16 number the same FP32 number") {
  VerilatedContext context;
  Vfp_widen top{&context};
  uint64_t bad = 0;
  for (const Element type : kHalves) {
    top.bf16_i = type == Element::kBf16;
    for (uint32_t x = 0; x < 0x10000; x += kN) {
      for (uint32_t i = 0; i < kN; i += 2) top.half_i[i / 2] = (x + i) | (x + i + 1) << 16;
      top.eval();
      for (uint32_t i = 0; i < kN; ++i) {
        const uint32_t want = widen(type, x + i), got = top.wide_o[i];
        // A NaN may keep its payload.
        if (is_nan(type, x + i) ? !is_nan(Element::kFp32, got) : got != want) ++bad;
      }
    }
  }
  CHECK(bad == 0);
}

TEST_CASE(
    "fp_narrow rounds FP32 to nearest even: halfway cases of every 16-bit number, specials, "
    "random") {
  auto random = rng("numbers");
  Narrow unit;
  for (const Element type : kHalves) {
    for (uint32_t x = 0; x < 0x10000; ++x) {
      if (is_nan(type, x)) continue;
      // The number itself, the middle to its neighbour, and one step beside each.
      const uint32_t here = widen(type, x);
      const uint32_t next = is_nan(type, x + 1) ? here : widen(type, x + 1);
      const uint32_t middle = here + static_cast<uint32_t>((int64_t{next} - here) / 2);
      for (const uint32_t y : {here, middle}) {
        for (int d = -1; d <= 1; ++d) unit.add(type, y + static_cast<uint32_t>(d));
      }
      unit.add(type, random.u32());
      unit.add(type, (here & 0xFF800000) | static_cast<uint32_t>(random.bits(23)));
    }
    for (int i = 0; i < 32; ++i) {
      for (const uint32_t y : specials(Element::kFp32)) unit.add(type, y);
    }
  }
  CHECK(unit.bad() == 0);
}

TEST_CASE("fp_narrow: all FP32 numbers", "[.soak]") {
  Narrow unit;
  for (const uint64_t part : soak_seeds(256)) {
    for (const Element type : kHalves) {
      for (uint32_t x = 0; x < 1u << 24; ++x) unit.add(type, static_cast<uint32_t>(part) << 24 | x);
    }
  }
  CHECK(unit.bad() == 0);
}
