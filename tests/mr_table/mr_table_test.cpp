// SPDX-License-Identifier: Apache-2.0
#include <Vmr_table.h>

#include <deque>
#include <map>
#include <optional>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;

namespace {

using U128 = unsigned __int128;
constexpr uint32_t kEntries =
    50;  // not a power of two: indices 50..63 exist in the memory's address only
constexpr uint64_t kGpuBase[4] = {0x40'0000'0000, 0x50'0000'0000, 0x60'0000'0000, 0};
constexpr uint64_t kGpuLimit[4] = {0x40'000F'FFFF, 0x50'000F'FFFF, 0x60'000F'FFFF, 0};
constexpr uint64_t kDevBase = 0xFFFF'FFFF'FF00'0000, kDevBytes = 65536;

struct Region {
  bool valid = false;
  uint8_t tag = 0;
  uint8_t access = 0;  // bit 0 lwrite, 1 rwrite, 2 rread, 3 atomic
  bool zero_based = false;
  uint16_t pd = 0;
  uint64_t va = 0, length = 0, iova = 0;
};

struct Request {
  uint32_t key = 0;
  uint16_t pd = 0;
  uint64_t va = 0;
  uint32_t len = 0;
  uint8_t need = 0;
};

struct Answer {
  bool ok = false, refused = false;
  uint64_t iova = 0;
  uint32_t target = 0, gpu = 0;
};

// The rules, in 128-bit arithmetic.
Answer model(const std::map<uint32_t, Region>& table, bool gdr, const Request& r) {
  Answer a;
  if (r.len == 0) {
    a.ok = true;
    return a;
  }
  auto it = table.find(r.key >> 8);
  if (it == table.end()) return a;
  const Region& m = it->second;
  if (!m.valid || m.tag != (r.key & 0xFF) || m.pd != r.pd || (r.need & ~m.access) != 0) return a;
  const U128 begin = m.zero_based ? 0 : m.va;
  const U128 first = r.va, end = first + r.len;
  if (first < begin || end > begin + m.length || end > U128{1} << 64) return a;
  const U128 iova = U128{m.iova} + (first - begin), last = iova + r.len - 1;
  if (last >> 64 != 0) return a;
  auto inside = [&](U128 low, U128 high) { return iova >= low && last <= high; };
  auto touches = [&](U128 low, U128 high) { return last >= low && iova <= high; };
  a.iova = static_cast<uint64_t>(iova);
  if (touches(kDevBase, U128{kDevBase} + kDevBytes - 1)) {
    a.ok = inside(kDevBase, U128{kDevBase} + kDevBytes - 1);
    a.target = 2;
    return a;
  }
  for (uint32_t g = 0; g < 3; ++g) {
    if (!touches(kGpuBase[g], kGpuLimit[g])) continue;
    if (!inside(kGpuBase[g], kGpuLimit[g])) return a;
    a.ok = gdr;
    a.refused = !gdr;
    a.target = gdr ? 1 : 3;
    a.gpu = g;
    return a;
  }
  a.ok = true;
  return a;
}

struct World {
  Bench<Vmr_table> bench;
  std::map<uint32_t, Region> table;
  bool gdr = true;
  uint64_t errors = 0, refused = 0, want_errors = 0, want_refused = 0, answers = 0, good = 0;
  std::deque<std::pair<uint64_t, Answer>> expected[2];  // cycle taken
  std::unique_ptr<StreamSource<Bits>> ask[2];
  std::deque<Request> asked[2];

  World() {
    auto& t = bench.top();
    for (int g = 0; g < 4; ++g) {
      for (int half = 0; half < 2; ++half) {
        t.gpu_base_i[g * 2 + half] = static_cast<uint32_t>(kGpuBase[g] >> (32 * half));
        t.gpu_limit_i[g * 2 + half] = static_cast<uint32_t>(kGpuLimit[g] >> (32 * half));
      }
    }
    t.devmem_base_i = kDevBase;
    t.gdr_en_i = 1;
    t.cw_valid = t.cr_valid = 0;
    ask[0] =
        std::make_unique<StreamSource<Bits>>(bench, "mrq0", t.mrq0_valid, t.mrq0_ready, t.mrq0);
    ask[1] =
        std::make_unique<StreamSource<Bits>>(bench, "mrq1", t.mrq1_valid, t.mrq1_ready, t.mrq1);
    bench.on_sample([this] { sample(); });
    bench.reset({&t.rst_i});
  }

  void request(int port, const Request& r) {
    Bits b = kMrReq.pack({{"key", r.key},
                          {"pd", r.pd},
                          {"va", r.va},
                          {"len", r.len},
                          {"need_lwrite", r.need & 1},
                          {"need_rwrite", r.need >> 1 & 1},
                          {"need_rread", r.need >> 2 & 1},
                          {"need_atomic", r.need >> 3 & 1}});
    ask[port]->push(b);
    asked[port].push_back(r);
  }

  void set(uint32_t index, const Region& m) {
    auto& t = bench.top();
    write_pin(t.cw, kMr.pack({{"valid", m.valid},
                              {"tag", m.tag},
                              {"lwrite", m.access & 1},
                              {"rwrite", m.access >> 1 & 1},
                              {"rread", m.access >> 2 & 1},
                              {"atomic", m.access >> 3 & 1},
                              {"zero_based", m.zero_based},
                              {"pd", m.pd},
                              {"va", m.va},
                              {"length", m.length},
                              {"iova", m.iova}}));
    t.cw_index = index;
    t.cw_valid = 1;
    bench.tick();
    t.cw_valid = 0;
    if (index < kEntries) table[index] = m;
  }

  void check(int port, const Bits& got, uint64_t now) {
    if (expected[port].empty()) throw std::runtime_error("answer without a request");
    auto [taken, want] = expected[port].front();
    expected[port].pop_front();
    if (now - taken != 2) throw std::runtime_error("latency " + std::to_string(now - taken));
    const bool ok = kMrRsp.get(got, "ok") != 0;
    if (ok != want.ok || (kMrRsp.get(got, "refused") != 0) != want.refused) {
      throw std::runtime_error("got " + got.hex() + ", expected ok=" + std::to_string(want.ok) +
                               " refused=" + std::to_string(want.refused));
    }
    ++answers;
    good += ok;
    want_errors += !want.ok;
    want_refused += want.refused;
    if (!ok) return;
    if (want.iova != 0 || want.target != 0) {
      if (kMrRsp.get(got, "iova") != want.iova || kMrRsp.get(got, "target") != want.target ||
          kMrRsp.get(got, "gpu") != want.gpu) {
        throw std::runtime_error("wrong address: " + got.hex());
      }
    }
  }

  void sample() {
    auto& t = bench.top();
    errors += t.cnt_mr_errors_o;
    refused += t.cnt_gdr_refused_o;
    if (t.mrs0_valid) check(0, read_pin(t.mrs0), bench.cycle());
    if (t.mrs1_valid) check(1, read_pin(t.mrs1), bench.cycle());
    const bool fire[2] = {t.mrq0_valid && t.mrq0_ready, t.mrq1_valid && t.mrq1_ready};
    for (int p = 0; p < 2; ++p) {
      if (!fire[p]) continue;
      expected[p].emplace_back(bench.cycle(), model(table, gdr, asked[p].front()));
      asked[p].pop_front();
    }
  }

  void finish() {
    bench.wait("answers", [&] {
      return asked[0].empty() && asked[1].empty() && expected[0].empty() && expected[1].empty();
    });
    bench.wait(
        "pulses", [&] { return errors == want_errors && refused == want_refused; }, 1000);
    bench.tick(5);
    CHECK(errors == want_errors);
    CHECK(refused == want_refused);
  }
  void init() {
    bench.wait(
        "init", [&] { return bench->init_done_o != 0; }, 100);
  }
};

}  // namespace

TEST_CASE(
    "mr_table clears itself after reset, lookups wait for it, and every key is refused then") {
  World w;
  w.request(0, {0x0100, 1, 0, 1, 0});
  CHECK(w.bench->init_done_o == 0);
  w.bench.tick(40);
  CHECK(w.ask[0]->taken() == 0);
  w.init();
  for (uint32_t i = 0; i < 70; ++i) w.request(static_cast<int>(i & 1), {i << 8, 0, 0, 1, 0});
  w.finish();
  CHECK(w.good == 0);
}

TEST_CASE("mr_table answers one lookup per cycle and port, two cycles later") {
  World w;
  w.init();
  w.set(3, {true, 0x77, 0xF, false, 9, 0x1000, 0x10000, 0x55000});
  for (uint32_t i = 0; i < 100; ++i) {
    w.request(0, {0x377, 9, 0x1000 + i, 16, 1});
    w.request(1, {0x377, 9, 0x2000 + i, 16, 2});
  }
  w.finish();
  CHECK(w.good == 200);
  CHECK(w.ask[0]->cycles().back() - w.ask[0]->cycles().front() == 99);
  CHECK(w.ask[1]->cycles().back() - w.ask[1]->cycles().front() == 99);
}

TEST_CASE("mr_table checks index, tag, PD and every access right") {
  World w;
  w.init();
  for (uint32_t access = 0; access < 16; ++access) {
    w.set(access, {true, static_cast<uint8_t>(access + 5), static_cast<uint8_t>(access), false, 7,
                   0x1000, 0x1000, 0x9000});
  }
  for (uint32_t access = 0; access < 16; ++access) {
    const uint32_t key = access << 8 | (access + 5);
    for (uint8_t need = 0; need < 16; ++need) w.request(need & 1, {key, 7, 0x1000, 4, need});
    w.request(0, {key + 1, 7, 0x1000, 4, 0});
    w.request(0, {key, 8, 0x1000, 4, 0});
    w.request(0, {key + (kEntries << 8), 7, 0x1000, 4, 0});
    w.request(0, {key + (64u << 8), 7, 0x1000, 4, 0});
    w.request(0, {key + (1u << 31), 7, 0x1000, 4, 0});
  }
  w.finish();
  CHECK(w.good == 81);  // 3^4 pairs with need inside access
}

TEST_CASE("mr_table: length 0 is always ok, whatever the key") {
  World w;
  w.init();
  for (uint32_t i = 0; i < 20; ++i)
    w.request(static_cast<int>(i & 1), {i * 0x1234567, 3, ~uint64_t{0}, 0, 15});
  w.finish();
  CHECK(w.good == 20);
}

TEST_CASE("mr_table agrees with 128-bit arithmetic at all borders") {
  World w;
  w.init();
  auto random = rng("borders");
  auto top = [&]() -> uint64_t {
    switch (random.below(6)) {
      case 0:
        return 0 - random.below(0x3000);  // up to 2^64
      case 1:
        return random.below(0x3000);
      case 2:
        return kGpuBase[random.below(3)] + random.below(0x2000) - 0x1000;
      case 3:
        return kGpuLimit[random.below(3)] - random.below(0x2000);
      case 4:
        return kDevBase + random.below(2 * kDevBytes) - kDevBytes / 2;
      default:
        return random.u64();
    }
  };
  for (int round = 0; round < 60; ++round) {
    w.gdr = random.chance(0.7);
    w.bench->gdr_en_i = w.gdr;
    for (uint32_t i = 0; i < 12; ++i) {
      Region m{random.chance(0.95),
               static_cast<uint8_t>(random.u64()),
               0xF,
               random.chance(0.3),
               static_cast<uint16_t>(random.below(2)),
               top(),
               0,
               top()};
      const uint64_t lengths[] = {1, 4096, 0x1234, 0, ~uint64_t{0}, uint64_t{1} << 32, 0 - m.va};
      m.length = lengths[random.below(7)];
      w.set(static_cast<uint32_t>(random.below(55)), m);  // some out of range: ignored
    }
    std::vector<std::pair<uint32_t, Region>> all(w.table.begin(), w.table.end());
    for (int i = 0; i < 100; ++i) {
      const auto& [index, m] = random.pick(all);
      Request r;
      r.key = index << 8 | m.tag;
      r.pd = random.chance(0.95) ? m.pd : 1;
      const uint64_t lens[] = {1, 2, 64, 4096, 0xFFFF'FFFF, 0x1234, random.below(5000)};
      r.len = static_cast<uint32_t>(lens[random.below(7)]);
      const uint64_t begin = m.zero_based ? 0 : m.va;
      const uint64_t at[] = {
          begin,        begin + m.length - r.len,   begin + m.length,   begin - 1,
          random.u64(), begin + random.below(4096), 0 - uint64_t{r.len}};
      r.va = at[random.below(7)] + random.below(3) - 1;
      w.request(static_cast<int>(random.below(2)), r);
    }
    w.finish();
  }
  CHECK(w.good > 300);
  CHECK(w.want_refused > 15);
}

TEST_CASE(
    "mr_table: a write is seen by every lookup after it, by none in its own cycle, and reads "
    "back") {
  World w;
  w.init();
  auto& t = w.bench.top();
  const Region a{true, 1, 0xF, false, 1, 0x1000, 0x1000, 0xA000};
  Region b = a;
  b.iova = 0xB000;
  w.set(5, a);
  w.set(0, a);
  for (int i = 0; i < 20; ++i) {
    w.request(0, {0x501, 1, 0x1000, 8, 0});
    w.request(1, {0x501, 1, 0x1800, 8, 0});
  }
  w.bench.tick(7);
  w.set(5, b);  // the scoreboard takes the new entry after the edge
  w.bench.tick(5);
  w.set(5, Region{});
  w.finish();
  CHECK(w.want_errors > 5);
  CHECK(w.good > 10);
  // cmd_unit reads.
  for (uint32_t index : {0u, 5u, 49u, 50u, 63u, 64u, 0xFFFFFFu}) {
    t.cr_valid = 1;
    t.cr_index = index;
    w.bench.tick();
    t.cr_valid = 0;
    w.bench.settle();
    CHECK(t.crs_valid != 0);
    const Bits e = read_pin(t.crs);
    CHECK(kMr.get(e, "valid") == (index == 0));
    CHECK(kMr.get(e, "iova") == (index == 0 ? 0xA000 : 0));
    CHECK(kMr.get(e, "length") == (index == 0 ? 0x1000 : 0));
    w.bench.tick();
    CHECK(t.crs_valid == 0);
  }
}

TEST_CASE("mr_table: a reset in the middle of lookups clears everything again") {
  World w;
  w.init();
  w.set(5, {true, 1, 0xF, false, 1, 0x1000, 0x1000, 0xA000});
  for (int i = 0; i < 20; ++i) w.request(0, {0x501, 1, 0x1000, 8, 0});
  w.bench.tick(5);
  w.bench.reset({&w.bench->rst_i});
  for (auto* q : {&w.expected[0], &w.expected[1]}) q->clear();
  w.asked[0].clear();
  w.table.clear();
  w.want_errors = w.errors = 0;
  w.good = 0;
  w.init();
  w.request(0, {0x501, 1, 0x1000, 8, 0});
  w.finish();
  CHECK(w.good == 0);
}
