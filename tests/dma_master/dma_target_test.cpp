// SPDX-License-Identifier: Apache-2.0
#include <Vdma_target.h>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

using U128 = unsigned __int128;

struct Windows {
  uint64_t base[4], limit[4], dev;
};

struct Answer {
  bool ok;
  uint32_t target, gpu;
  bool operator==(const Answer&) const = default;
};

// From the rules, in 128-bit arithmetic: no sum can wrap.
Answer model(const Windows& w, bool gdr, uint64_t addr, uint32_t len) {
  const U128 first = addr, last = first + (len == 0 ? 1 : len) - 1;
  if (last >> 64 != 0) return {false, 0, 0};
  Answer a{true, 0, 0};
  for (int g = 3; g >= 0; --g) {
    const bool on = w.limit[g] >= w.base[g] && w.limit[g] != 0;
    if (!on || last < w.base[g] || first > w.limit[g]) continue;
    if (first < w.base[g] || last > w.limit[g]) return {false, 0, 0};
    a = {true, gdr ? 1u : 3u, static_cast<uint32_t>(g)};
  }
  const U128 dev_first = w.dev, dev_last = dev_first + 65535;
  if (last >= dev_first && first <= dev_last) {
    if (first < dev_first || last > dev_last) return {false, 0, 0};
    a = {true, 2, 0};
  }
  return a;
}

}  // namespace

TEST_CASE("dma_target agrees with the rules at and around every border") {
  Bench<Vdma_target> bench;
  auto random = rng("ranges");
  auto& t = bench.top();
  uint64_t targets[5] = {};
  for (int round = 0; round < 300; ++round) {
    Windows w;
    for (int g = 0; g < 4; ++g) {
      const uint64_t sizes[] = {1, 4096, 0x1'0000, 0x1'0000'0000};
      const uint64_t size = sizes[random.below(4)];
      w.base[g] = random.chance(0.1) ? 0 : random.u64() & ~uint64_t{0xFFF};
      w.limit[g] = random.chance(0.15)  ? 0
                   : random.chance(0.1) ? ~uint64_t{0}
                                        : w.base[g] + size - 1;
      if (g > 0 && random.chance(0.2)) w.base[g] = w.base[g - 1] + random.below(100);  // overlap
    }
    w.dev = random.chance(0.5) ? 0xFFFF'FFFF'FFFF'0000 : random.u64() & ~uint64_t{0xFFFF};
    for (int g = 0; g < 4; ++g) {
      for (int half = 0; half < 2; ++half) {
        t.gpu_base_i[g * 2 + half] = static_cast<uint32_t>(w.base[g] >> (32 * half));
        t.gpu_limit_i[g * 2 + half] = static_cast<uint32_t>(w.limit[g] >> (32 * half));
      }
    }
    t.devmem_base_i = w.dev;
    for (int i = 0; i < 60; ++i) {
      const uint64_t around[] = {
          w.base[i % 4], w.limit[i % 4], w.dev, w.dev + 65535, random.u64(), 0, ~uint64_t{0}};
      const uint32_t len =
          static_cast<uint32_t>(random.chance(0.1) ? random.u64() : random.below(200));
      const uint64_t addr =
          around[random.below(7)] + random.below(5) - 2 - (random.chance(0.5) ? len : 0);
      t.gdr_en_i = random.chance(0.5);
      t.addr_i = addr;
      t.len_i = len;
      t.valid_i = 1;
      bench.settle();
      const Answer got{t.ok_o != 0, t.target_o, t.gpu_o};
      const Answer want = model(w, t.gdr_en_i != 0, addr, len);
      INFO(std::hex << "addr " << addr << " len " << len);
      CHECK(got == want);
      ++targets[want.ok ? want.target : 4];
      t.valid_i = 0;
      bench.settle();
      CHECK((t.ok_o == 0 && t.target_o == 0));
    }
  }
  for (uint64_t n : targets) CHECK(n > 50);
}
