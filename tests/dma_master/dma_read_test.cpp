// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "tests/dma_master/dma_configs.hpp"

using namespace rnic::test;

namespace {

// Slots of one client in turn; a slot comes again only when enough others were used in between.
struct Slots {
  uint32_t next = 0;
  uint32_t operator()() { return next++ & 0xFF; }
};

// Ports whose slots do not meet.
constexpr uint32_t kPorts[] = {0, 1, 3};

template <class W>
void sweep_lanes(uint32_t step, uint32_t lengths) {
  DmaWorld<W> w;
  auto random = rng("sweep");
  constexpr uint32_t kB = W::kDataW / 8;
  Slots slot;
  for (uint32_t src = 0; src < kB; ++src) {
    for (uint32_t dst = 0; dst < kB; dst += (dst == 0 || step == 1) ? 1 : random.between(1, step)) {
      for (uint32_t l = 0; l < lengths; ++l) {
        const uint32_t len = static_cast<uint32_t>(random.between(1, l == 0 ? 2 * kB : 4 * kB));
        w.read(1, {0x10'0000 + 4096 * random.below(100) + src, len, slot(), dst});
        w.bench.wait("slots", [&] { return w.pending_reads() < 100; });
      }
    }
  }
  w.finish();
}

}  // namespace

TEMPLATE_TEST_CASE("a read brings every source lane to every destination lane", "", W128, W256,
                   W512, W1024) {
  sweep_lanes<TestType>(TestType::kDataW == 128 ? 1 : TestType::kDataW / 16, 1);
}

TEMPLATE_TEST_CASE("a read brings every source lane to every destination lane, all pairs",
                   "[.soak]", W256, W512, W1024) {
  sweep_lanes<TestType>(1, 3);
}

TEMPLATE_TEST_CASE(
    "reads of lengths around every beat, TLP and page border are cut and placed right", "", W128,
    W256, W512, W1024) {
  constexpr uint32_t kB = TestType::kDataW / 8;
  for (uint32_t mrrs = 0; mrrs < 8; mrrs += (mrrs == 5) ? 2 : 1) {
    typename DmaWorld<TestType>::Settings settings;
    settings.mrrs = std::min(mrrs, 5u);
    DmaWorld<TestType> w(settings);
    w.bench->cfg_mrrs_i = mrrs;  // 7 is taken as 5
    w.axi.any_order = true;
    auto random = rng("lengths");
    const uint32_t max = 128u << settings.mrrs;
    Slots slot;
    for (uint32_t border : {kB, 2 * kB, max, 2 * max, 4096u}) {
      for (int d = -2; d <= 2; ++d) {
        const int64_t len = std::min<int64_t>(int64_t{border} + d, 4096);
        if (len < 1) continue;
        for (uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{kB - 1}, uint64_t{max} - 1,
                                uint64_t{4095}, 4096 - random.below(2 * kB), random.below(4096)}) {
          w.read(static_cast<uint32_t>(random.below(7)),
                 {0x8'0000'0000 + 8192 * random.below(1000) + offset, static_cast<uint32_t>(len),
                  slot(), static_cast<uint32_t>(random.below(4096))});
          w.bench.wait("slots", [&] { return w.pending_reads() < 150; });
        }
      }
    }
    w.finish();
    CHECK(w.cnt_reads == w.reads);
    CHECK(w.cnt_read_bytes == w.read_bytes);
  }
}

TEMPLATE_TEST_CASE("pieces of one slot are numbered on, whatever order they come back in", "", W256,
                   W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.mrrs = 1;
  DmaWorld<TestType> w(settings);
  w.axi.any_order = true;
  w.axi.interleave = true;
  w.axi.read_latency_high = 40;
  auto random = rng("pieces");
  for (uint32_t round = 0; round < 200; ++round) {
    const uint32_t slot = round & 0xFF;
    uint32_t dst = 0;
    const uint32_t pieces = static_cast<uint32_t>(random.between(1, 6));
    for (uint32_t p = 0; p < pieces; ++p) {
      const uint32_t len = static_cast<uint32_t>(random.between(1, 600));
      // host, GPU and device_memory in one slot
      const uint64_t where[] = {0x1000, kGpuBase[0], kGpuBase[1], kDevBase};
      w.read(1, {where[random.below(4)] + random.below(8000), len, slot, dst, p == 0});
      dst += len;
    }
    w.bench.wait("slots", [&] { return w.pending_reads() < 300; });
  }
  w.finish();
}

TEMPLATE_TEST_CASE("read latency: request to arvalid 1 cycle, R beat to response 1 cycle", "", W128,
                   W512, W1024) {
  DmaWorld<TestType> w;
  for (uint32_t i = 0; i < 20; ++i) {
    w.read(i % 3, {0x1000 + 64 * i, 64, i, 0});
    w.finish();
    w.bench.tick(i % 5);
  }
  REQUIRE(w.ar_cycles.size() == 20);
  for (size_t i = 0; i < 20; ++i) {
    CHECK(w.ar_cycles[i] - w.rd_cycles[i] == 1);
  }
  REQUIRE(w.r_cycles.size() == w.rsp_cycles.size());
  for (size_t i = 0; i < w.r_cycles.size(); ++i) CHECK(w.rsp_cycles[i] - w.r_cycles[i] == 1);
}

TEMPLATE_TEST_CASE("read latency of GPU 2 cycles to arvalid, of device_memory 4 to the response",
                   "", W512) {
  DmaWorld<TestType> w;
  for (uint32_t i = 0; i < 10; ++i) {
    w.read(1, {kGpuBase[i % 3] + 64 * i, 64, i, 0});
    w.finish();
    CHECK(w.ar_cycles.back() - w.rd_cycles.back() == 2);
    w.read(0, {kDevBase + 64 * i, 64, i, 0});
    w.finish();
    CHECK(w.rsp_cycles.back() - w.rd_cycles.back() == 4);
    w.bench.tick(i % 5);
  }
}

TEMPLATE_TEST_CASE("read throughput: a beat every cycle, and a request of one beat every cycle", "",
                   W128, W512, W1024) {
  constexpr uint32_t kB = TestType::kDataW / 8;
  SECTION("4 KB requests") {
    typename DmaWorld<TestType>::Settings settings;
    settings.mrrs = 5;
    DmaWorld<TestType> w(settings);
    w.axi.read_latency_low = w.axi.read_latency_high = 20;
    for (uint32_t i = 0; i < 20; ++i) w.read(1, {0x10'0000 + 4096 * i, 4096, i, i});
    w.finish();
    const size_t n = w.rsp_cycles.size();
    REQUIRE(n == 20 * 4096 / kB);
    CHECK(w.rsp_cycles[n - 1] - w.rsp_cycles[0] == n - 1);
  }
  SECTION("one-beat requests") {
    DmaWorld<TestType> w;
    w.axi.read_latency_low = w.axi.read_latency_high = 10;
    for (uint32_t i = 0; i < 200; ++i) w.read(i % 7, {0x10'0000 + kB * i, kB, i, 0});
    w.finish();
    CHECK(w.ar_cycles.back() - w.ar_cycles.front() == 199);
    CHECK(w.rsp_cycles.back() - w.rsp_cycles.front() == 199);
  }
}

TEMPLATE_TEST_CASE("pacing bounds the reads in flight, and a quarter of it stays free of GPU reads",
                   "", W128, W256, W512) {
  for (uint32_t pacing : {0u, 1u, 2u, 3u, 5u, 32u}) {
    typename DmaWorld<TestType>::Settings settings;
    settings.pacing = pacing;
    settings.mrrs = 0;
    DmaWorld<TestType> w(settings);
    w.axi.read_latency_low = w.axi.read_latency_high = 300;
    const uint32_t limit = std::min(std::max(pacing, 1u), TestType::kTags);
    for (uint32_t i = 0; i < 60; ++i) {
      w.read(1, {kGpuBase[i % 3] + 512 * i, 300, i, 0});
      w.read(0, {0x1000 + 512 * i, 128, i, 0});
    }
    w.finish();
    CHECK(w.most_outstanding == limit);
    CHECK(w.most_outstanding_gpu == (limit == 1 ? 1 : limit - std::max(1u, limit / 4)));
  }
}

TEMPLATE_TEST_CASE("GPU reads that do not come back hold up no read of host memory", "", W256,
                   W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.pacing = 32;
  DmaWorld<TestType> w(settings);
  w.axi.any_order = true;
  w.axi.hold_read = [](const Tlp& t) { return t.target == kGpu; };
  // As many as the GPU queue, its head and the tags of the GPU can take, and one in the lane.
  const uint32_t limit = std::min(32u, TestType::kTags);
  const uint32_t gpu_reads = TestType::kDataW == 256 ? 4 + 6 : 40;
  for (uint32_t i = 0; i < gpu_reads; ++i) w.read(1, {kGpuBase[0] + 64 * i, 64, i, 0});
  for (uint32_t i = 0; i < 100; ++i) w.read(1, {0x1000 + 64 * i, 64, 100 + i, 0});
  for (uint32_t i = 0; i < 100; ++i) w.read(0, {0x10'0000 + 64 * i, 64, i, 0});
  w.bench.wait(
      "host reads", [&] { return w.pending_reads() == gpu_reads; }, 3000);
  CHECK(w.most_outstanding_gpu <= limit - limit / 4);
  w.axi.hold_read = nullptr;
  w.finish();
}

TEMPLATE_TEST_CASE("a fetch of a WQE waits for at most one TLP of another client's long read", "",
                   W512) {
  DmaWorld<TestType> w;  // MRRS 512
  for (uint32_t i = 0; i < 8; ++i) w.read(1, {0x10'0000 + 4096 * i, 4096, i, 0});
  w.bench.tick(8);
  const size_t before = w.ar_log.size();
  w.read(0, {0x2000, 64, 0, 0});
  w.finish();
  size_t at = before;
  while (w.ar_log[at].addr != 0x2000) ++at;
  CHECK(at - before <=
        5);  // what was cut before it came (2 in the address FIFO, 1 in the lane) and one turn
}

TEMPLATE_TEST_CASE(
    "failed and poisoned reads answer once, with the right status, and free their tag", "", W128,
    W256, W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.mrrs = 3;
  DmaWorld<TestType> w(settings);
  w.axi.any_order = w.axi.interleave = true;
  w.axi.read_latency_high = 30;
  auto random = rng("faults");
  std::map<ReadFault, uint64_t> made;
  w.axi.read_fault = [&](const Tlp&) {
    const ReadFault all[] = {ReadFault::kNone, ReadFault::kSlvErr, ReadFault::kDecErr,
                             ReadFault::kPoison};
    const ReadFault f = all[random.below(4)];
    ++made[f];
    return f;
  };
  for (uint32_t i = 0; i < 600; ++i) {
    w.read(kPorts[i % 3], {0x10'0000 + random.below(100000),
                           static_cast<uint32_t>(random.between(1, 4096)), (i / 3) & 0xFF, 0});
    w.bench.wait("slots", [&] { return w.pending_reads() < 100; });
  }
  w.finish();
  const uint64_t refused = made[ReadFault::kSlvErr] + made[ReadFault::kDecErr];
  CHECK(w.status_seen[kLocProt] == refused);
  CHECK(w.status_seen[kFatal] == made[ReadFault::kPoison]);
  CHECK(w.cnt_faults == refused);
  CHECK(w.cnt_errors == refused + made[ReadFault::kPoison]);
  CHECK(w.cnt_timeouts == 0);
}

TEMPLATE_TEST_CASE("a burst that ends too early is an error, not short data", "", W128, W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.mrrs = 5;
  DmaWorld<TestType> w(settings);
  uint64_t made = 0;
  w.axi.read_fault = [&](const Tlp& t) {
    if (t.bytes < 2000) return ReadFault::kNone;
    ++made;
    return ReadFault::kShort;
  };
  for (uint32_t i = 0; i < 100; ++i) w.read(1, {0x10'0000 + 4096 * i, 4096, i, 0});
  w.finish();
  CHECK(made == 100);
  CHECK(w.errors_seen >= 90);  // one in B/64 ends where it should
  CHECK(w.status_seen[kFatal] == w.errors_seen);
}

TEMPLATE_TEST_CASE("a tag that times out answers once; what comes late is swallowed and frees it",
                   "", W128, W256, W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.timeout_us = 3;
  DmaWorld<TestType> w(settings);
  w.axi.read_fault = [&](const Tlp& t) {
    return t.addr == 0x5000 ? ReadFault::kNever : ReadFault::kNone;
  };
  const uint64_t start = w.bench.cycle();
  w.read(1, {0x5000, 300, 0, 5});
  for (uint32_t i = 1; i < 30; ++i) w.read(1, {0x6000 + 64 * i, 64, i, 0});
  w.bench.wait(
      "the error", [&] { return w.errors_seen == 1; }, 5000);
  const uint64_t took = w.bench.cycle() - start;
  CHECK(took >= 3 * 500);        // 3 us of 2 ns cycles, at least
  CHECK(took <= 5 * 500 + 300);  // one more for the running microsecond, and the scan
  CHECK(w.status_seen[kFatal] == 1);
  CHECK(w.cnt_timeouts == 1);
  CHECK(w.pending_reads() == 0);
  // Others go on meanwhile, on other tags (the slave checks that).
  for (uint32_t i = 0; i < 100; ++i) w.read(1, {0x8000 + 64 * i, 64, i, 0});
  w.bench.wait("others", [&] { return w.pending_reads() == 0; });
  CHECK(w.bench->idle_o == 0);  // the late tag is still out
  const size_t answers = w.rsp_cycles.size();
  w.release_never();
  w.finish();
  CHECK(w.rsp_cycles.size() == answers);
  CHECK(w.cnt_errors == 0);
}

TEMPLATE_TEST_CASE("a tag that is never answered comes back after five time-outs under another id",
                   "", W256, W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.timeout_us = 2;
  DmaWorld<TestType> w(settings);
  w.axi.read_fault = [&](const Tlp& t) {
    return t.addr == 0x5000 ? ReadFault::kNever : ReadFault::kNone;
  };
  w.read(1, {0x5000, 64, 0, 0});
  w.bench.wait(
      "the error", [&] { return w.errors_seen == 1; }, 5000);
  const uint8_t lost = w.ar_ids[0];
  w.bench.tick(4 * 2 * 500 - 600);
  CHECK(w.bench->idle_o == 0);
  w.bench.wait(
      "the tag", [&] { return w.bench->idle_o != 0; }, 3000);
  // Use every tag: none may carry the lost id (the slave still holds it open, and would refuse it).
  for (uint32_t i = 0; i < 3 * TestType::kTags; ++i) w.read(1, {0x8000 + 64 * i, 64, i & 0xFF, 0});
  w.bench.wait("reads", [&] { return w.pending_reads() == 0; });
  bool again = false;
  for (size_t i = 1; i < w.ar_ids.size(); ++i) {
    CHECK(w.ar_ids[i] != lost);
    again |= (w.ar_ids[i] % TestType::kTags) == lost % TestType::kTags;
  }
  CHECK(again);
  // And if the lost completion does come now, it meets nobody.
  const size_t answers = w.rsp_cycles.size();
  w.release_never();
  w.bench.tick(100);
  w.finish();
  CHECK(w.rsp_cycles.size() == answers);
}

TEMPLATE_TEST_CASE("a last beat that comes in any cycle around the time-out gives one answer", "",
                   W256) {
  auto run = [](uint64_t release) {
    typename DmaWorld<TestType>::Settings settings;
    settings.timeout_us = 1;
    DmaWorld<TestType> w(settings);
    w.axi.hold_reads = true;
    w.read(1, {0x5000, 32, 0, 0});
    while (w.rsp_cycles.empty()) {
      if (w.bench.cycle() == release) w.axi.hold_reads = false;
      w.bench.tick();
    }
    w.axi.hold_reads = false;
    w.finish();
    for (uint32_t i = 0; i < 20; ++i) w.read(1, {0x6000 + 64 * i, 64, i, 0});
    w.finish();
    CHECK(w.rsp_cycles.size() >= 21);
    CHECK(w.cnt_timeouts == w.errors_seen);
    return std::pair(w.rsp_cycles.front(), w.errors_seen);
  };
  const auto [at, errors] = run(~uint64_t{0});
  REQUIRE(errors == 1);
  uint64_t good = 0, late = 0;
  for (uint64_t release = at - 12; release <= at + 4; ++release) {
    ++(run(release).second == 0 ? good : late);
  }
  CHECK(good > 0);
  CHECK(late > 0);
}

TEMPLATE_TEST_CASE("time-outs under load: every read answers exactly once", "", W256, W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.timeout_us = 2;
  settings.pacing = 40;
  DmaWorld<TestType> w(settings);
  w.axi.any_order = w.axi.interleave = true;
  auto random = rng("lost");
  w.axi.read_latency_low = 1;
  w.axi.read_latency_high = 1300;  // up to 2.6 us: some are merely late
  for (uint32_t i = 0; i < 400; ++i) {
    w.read(kPorts[i % 3], {0x10'0000 + random.below(100000),
                           static_cast<uint32_t>(random.between(1, 1500)), (i / 3) & 0xFF, 0});
    w.bench.wait(
        "slots", [&] { return w.pending_reads() < 60; }, 50000);
  }
  w.finish();
  CHECK(w.cnt_timeouts > 10);
  CHECK(w.cnt_timeouts == w.status_seen[kFatal]);
}

TEMPLATE_TEST_CASE(
    "reads of refused or split ranges fail with a local protection error and touch no bus", "",
    W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.gdr_en = false;
  DmaWorld<TestType> w(settings);
  for (uint32_t i = 0; i < 20; ++i) {
    w.read(1, {kGpuBase[i % 3] + 100 * i, 64 + i, i, 0});
    w.read(0, {kGpuLimit[i % 3] - 10, 64, i, 0});  // out of the window
    w.read(3, {kGpuBase[i % 3] - 10, 64, i, 0});   // into it
  }
  w.read(0, {kDevBase + kDevBytes - 10, 64, 30, 0});
  w.read(0, {~uint64_t{0} - 10, 64, 31, 0});  // past 2^64
  w.finish();
  CHECK(w.reads == 0);
  CHECK(w.cnt_refused == 20);
  CHECK(w.cnt_faults == 42);
  CHECK(w.errors_seen == 62);
}

TEMPLATE_TEST_CASE(
    "device_memory answers reads beside a saturated bus, and the bus keeps half of the beats", "",
    W128, W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.mrrs = 5;
  DmaWorld<TestType> w(settings);
  auto random = rng("device");
  for (auto& b : w.device) b = static_cast<uint8_t>(random.u64());
  w.device_expected = w.device;
  w.axi.any_order = true;
  for (uint32_t i = 0; i < 100; ++i) {
    w.read(1, {0x10'0000 + 4096 * i, 4096, i, 0});
    w.read(0, {kDevBase + random.below(kDevBytes - 4096),
               static_cast<uint32_t>(random.between(1, 4096)), i,
               static_cast<uint32_t>(random.below(64))});
  }
  w.finish();
  // Both together use (nearly) every cycle.
  const double busy = static_cast<double>(w.rsp_cycles.size()) /
                      static_cast<double>(w.rsp_cycles.back() - w.rsp_cycles.front());
  CHECK(busy > 0.95);
}
