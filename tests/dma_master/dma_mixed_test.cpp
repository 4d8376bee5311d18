// SPDX-License-Identifier: Apache-2.0
#include <Vpulse_merge.h>

#include "tests/dma_master/dma_configs.hpp"

using namespace rnic::test;

namespace {

template <class W>
void random_traffic(DmaWorld<W>& w, uint32_t count, bool errors) {
  auto random = rng("traffic");
  if (errors) {
    w.axi.read_fault = [own = rng("read faults")](const Tlp&) mutable {
      const uint64_t x = own.below(40);
      return x == 0 ? ReadFault::kSlvErr : x == 1 ? ReadFault::kPoison : ReadFault::kNone;
    };
    w.axi.write_fault = [own = rng("write faults")](const Tlp&) mutable {
      return own.chance(0.03);
    };
  }
  auto address = [&](uint32_t len) -> uint64_t {
    switch (random.below(8)) {
      case 0:
        return kGpuBase[random.below(3)] + random.below(0x10000 - len);
      case 1:
        return kDevBase + random.below(kDevBytes - len);
      case 2:
        return errors ? kGpuLimit[random.below(3)] - random.below(len)
                      : 0x5'0000 + random.below(4096);
      default:
        return random.below(uint64_t{1} << 36);
    }
  };
  auto length = [&] {
    const uint32_t limits[] = {16, 64, 300, 4096};
    return static_cast<uint32_t>(random.between(1, limits[random.below(4)]));
  };
  uint32_t slot[7] = {};
  for (uint32_t i = 0; i < count; ++i) {
    if (random.chance(0.5)) {
      const uint32_t c = static_cast<uint32_t>(random.below(7));
      const uint32_t len = length();
      // Ports 1 and 2 share a client: odd and even slots.
      const uint32_t n = slot[c]++;
      const uint32_t s = c == 1 || c == 2 ? n * 2 + c : n;
      w.read(c, {address(len), len, s & 0xFF, static_cast<uint32_t>(random.below(4096))});
    } else {
      WriteRequest r;
      r.len = length();
      // device_memory is not written while it is read: which comes first is free.
      do r.addr = address(r.len);
      while (r.addr >= kDevBase);
      r.relaxed = random.chance(0.5);
      r.fence = random.chance(0.1);
      r.is_queue = random.chance(0.2);
      r.qpn = i;
      r.ticket = random.chance(0.5);
      r.rd_ticket = random.chance(0.5);
      w.write(static_cast<uint32_t>(random.below(5)), r);
    }
    if (random.chance(0.02)) w.bench.tick(random.below(200));
    w.bench.wait(
        "room",
        [&] {
          uint64_t pending = w.pending_reads();
          for (uint32_t c = 0; c < 5; ++c) pending += w.wr_source(c).pending();
          return pending < 80;
        },
        100000);
  }
}

template <class W>
void stall_everything(DmaWorld<W>& w, Rng& random) {
  auto some = [&] {
    const double p[] = {0, 0.1, 0.5, 0.9};
    return Stall::random(p[random.below(4)]);
  };
  w.axi.ar_stall = some();
  w.axi.aw_stall = some();
  w.axi.w_stall = some();
  w.axi.r_pause = some();
  w.axi.b_pause = some();
  for (Stall* s : {&w.axi.ar_stall, &w.axi.aw_stall, &w.axi.w_stall, &w.axi.r_pause, &w.axi.b_pause,
                   &w.dm_write_stall, &w.dm_read_stall}) {
    if (s == &w.dm_write_stall || s == &w.dm_read_stall) *s = some();
    s->seed(Rng(random.u64()));
  }
  w.stall_clients(some(), some());
  w.axi.any_order = random.chance(0.7);
  w.axi.interleave = random.chance(0.5);
  w.axi.read_latency_high = static_cast<uint32_t>(random.between(1, 300));
  w.axi.write_latency_high = static_cast<uint32_t>(random.between(1, 100));
  w.axi.gpu_extra_latency = static_cast<uint32_t>(random.below(200));
}

template <class W>
typename DmaWorld<W>::Settings some_settings(Rng& random) {
  typename DmaWorld<W>::Settings s;
  s.mps = static_cast<uint32_t>(random.below(6));
  s.mrrs = static_cast<uint32_t>(random.below(6));
  s.pacing = static_cast<uint32_t>(random.between(1, 64));
  s.gdr_en = random.chance(0.8);
  return s;
}

}  // namespace

TEMPLATE_TEST_CASE(
    "random traffic of all clients and targets under random stalls, orders and errors", "", W128,
    W256, W512, W1024) {
  auto random = rng("settings");
  for (int round = 0; round < 4; ++round) {
    DmaWorld<TestType> w(some_settings<TestType>(random));
    stall_everything(w, random);
    random_traffic(w, 150, round % 2 == 1);
    w.finish();
    CHECK(w.cnt_reads == w.reads);
    CHECK(w.cnt_read_bytes == w.read_bytes);
    CHECK(w.cnt_writes == w.writes);
    CHECK(w.cnt_write_bytes == w.write_bytes);
  }
}

TEMPLATE_TEST_CASE("random traffic, long", "[.soak]", W128, W256, W512, W1024) {
  auto random = rng("settings");
  for (int round = 0; round < 40; ++round) {
    DmaWorld<TestType> w(some_settings<TestType>(random));
    stall_everything(w, random);
    random_traffic(w, 1000, round % 2 == 1);
    w.finish(2000000);
  }
}

TEMPLATE_TEST_CASE(
    "a drain ends whole TLPs, drops the rest, waits for reads, and a reset starts clean", "", W128,
    W256, W512) {
  auto random = rng("drain");
  for (int round = 0; round < 12; ++round) {
    auto settings = some_settings<TestType>(random);
    settings.timeout_us = 20;  // more than the slave takes: this test is not about lost tags
    DmaWorld<TestType> w(settings);
    stall_everything(w, random);
    w.dm_write_stall = Stall::none();
    w.axi.gpu_extra_latency = 100;
    // From here on the slave itself checks every TLP that is begun: strobes, lengths, data.
    random_traffic(w, static_cast<uint32_t>(random.between(3, 60)), false);
    w.bench.tick(random.below(60));
    w.check_reads = false;
    w.discard_writes = true;
    w.bench->drain_i = 1;
    w.bench.wait(
        "idle", [&] { return w.bench->idle_o != 0; }, 100000);
    CHECK(w.bus_reads_open() == 0);
    CHECK(w.bench->m_axi_arvalid == 0);
    CHECK(w.bench->m_axi_awvalid == 0);
    CHECK(w.bench->m_axi_wvalid == 0);
    w.bench.tick(50);
    CHECK(w.bench->idle_o != 0);
    w.forget();
    w.bench.reset({&w.bench->rst_i});
    w.bench->drain_i = 0;
    w.check_reads = true;
    w.discard_writes = false;
    w.device_expected = w.device;
    random_traffic(w, 40, false);
    w.finish();
  }
}

TEMPLATE_TEST_CASE("a drain ends by itself when data stop in mid-TLP and a completion never comes",
                   "", W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.timeout_us = 2;
  DmaWorld<TestType> w(settings);
  w.axi.read_fault = [](const Tlp& t) {
    return t.addr == 0x5000 ? ReadFault::kNever : ReadFault::kNone;
  };
  w.read(1, {0x5000, 64, 0, 0});
  w.write(0, {0x1000, 1024}, 3);  // two TLPs of 8 rows; data stop after 3
  w.write(1, {0x2000, 64});
  w.bench.wait("rows", [&] { return w.w_cycles.size() == 3; });
  w.bench.tick(20);
  const uint64_t start = w.bench.cycle();
  w.allow_fillers = w.discard_writes = true;
  w.bench->drain_i = 1;
  w.bench.wait(
      "the burst", [&] { return w.w_cycles.size() == 8; }, 400);
  CHECK(w.bench.cycle() - start >= 256);
  CHECK(w.fillers == 5);
  CHECK(w.errors_seen == 0);
  w.bench.wait(
      "idle", [&] { return w.bench->idle_o != 0; }, 7000);
  CHECK(w.errors_seen == 1);
  CHECK(w.w_cycles.size() == 8);  // the second TLP and the other client's request were never begun
  CHECK(w.aw_log.size() == 1);
}

TEMPLATE_TEST_CASE("a new MRRS or MPS counts from the next request that meets an idle engine", "",
                   W256, W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.mrrs = settings.mps = 0;
  DmaWorld<TestType> w(settings);
  w.read(1, {0x10'0040, 4000, 0, 3});
  w.write(0, {0x20'0040, 4000});
  w.bench.tick(8);
  w.bench->cfg_mrrs_i = w.bench->cfg_mps_i = 3;  // the checks still expect 128 bytes
  w.read(1, {0x11'0040, 900, 1, 0});
  w.write(3, {0x21'0040, 900});
  w.finish();
  CHECK(w.reads == 32 + 8);
  CHECK(w.writes == 32 + 8);
  w.settings().mrrs = w.settings().mps = 3;
  w.read(1, {0x12'0040, 4000, 0, 0});
  w.write(0, {0x22'0040, 4000});
  w.finish();
  CHECK(w.reads == 40 + 4);
  CHECK(w.writes == 40 + 4);
}

TEST_CASE("pulse_merge gives one pulse for each that came, also when they come together") {
  Bench<Vpulse_merge> bench;
  auto random = rng("pulses");
  uint64_t in = 0, out = 0;
  bench.on_sample([&] {
    in += static_cast<uint64_t>(__builtin_popcount(bench->pulse_i));
    out += bench->pulse_o;
  });
  bench.on_drive([&] { bench->pulse_i = random.chance(0.2) ? random.below(8) : 0; });
  bench->pulse_i = 0;
  bench.reset({&bench->rst_i});
  bench.tick(5000);
  bench.wait(
      "rest", [&] { return in == out; }, 100000);
  CHECK(out > 1000);
}
