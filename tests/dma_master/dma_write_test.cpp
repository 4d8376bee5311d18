// SPDX-License-Identifier: Apache-2.0
#include "tests/dma_master/dma_configs.hpp"

using namespace rnic::test;

TEMPLATE_TEST_CASE("a write puts every length at every lane, with exact strobes", "", W128, W256,
                   W512, W1024) {
  constexpr uint32_t kB = TestType::kDataW / 8;
  DmaWorld<TestType> w;
  auto random = rng("lanes");
  for (uint32_t lane = 0; lane < kB; ++lane) {
    for (uint32_t len : {1u, kB - lane, kB - lane + 1, kB, kB + 1, 2 * kB - 1,
                         static_cast<uint32_t>(random.between(1, 3 * kB))}) {
      w.write(static_cast<uint32_t>(random.below(5)),
              {0x10'0000 + 4096 * random.below(1000) + lane, len});
      w.bench.wait("room",
                   [&] { return w.wr_source(0).pending() + w.wr_source(1).pending() < 20; });
    }
  }
  w.finish();
}

TEMPLATE_TEST_CASE("writes of lengths around every MPS and page border are cut right", "", W128,
                   W256, W512, W1024) {
  constexpr uint32_t kB = TestType::kDataW / 8;
  for (uint32_t mps = 0; mps < 8; mps += (mps == 5) ? 2 : 1) {
    typename DmaWorld<TestType>::Settings settings;
    settings.mps = std::min(mps, 5u);
    DmaWorld<TestType> w(settings);
    w.bench->cfg_mps_i = mps;
    auto random = rng("lengths");
    const uint32_t max = 128u << settings.mps;
    for (uint32_t border : {kB, max, 2 * max, 4096u}) {
      for (int d = -1; d <= 1; ++d) {
        const uint32_t len = static_cast<uint32_t>(std::min<int64_t>(int64_t{border} + d, 4096));
        for (uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{kB - 1}, uint64_t{max} - 1,
                                4096 - random.below(2 * kB), random.below(4096)}) {
          w.write(static_cast<uint32_t>(random.below(5)),
                  {0x8'0000'0000 + 8192 * random.below(1000) + offset, len});
        }
      }
    }
    w.finish();
    CHECK(w.cnt_writes == w.writes);
    CHECK(w.cnt_write_bytes == w.write_bytes);
  }
}

TEMPLATE_TEST_CASE("write latency: request with its data to awvalid and wvalid 2 cycles", "", W128,
                   W512, W1024) {
  DmaWorld<TestType> w;
  for (uint32_t i = 0; i < 20; ++i) {
    w.write(i % 4, {0x1000 + 64 * i, 16});
    w.finish();
    w.bench.tick(i % 5);
  }
  for (size_t i = 0; i < 20; ++i) {
    CHECK(w.aw_cycles[i] - w.wr_cycles[i] == 2);
    CHECK(w.w_cycles[i] - w.wr_cycles[i] == 2);
  }
}

TEMPLATE_TEST_CASE("write throughput: a beat every cycle, and a request of one beat every cycle",
                   "", W128, W512, W1024) {
  constexpr uint32_t kB = TestType::kDataW / 8;
  typename DmaWorld<TestType>::Settings settings;
  settings.mps = 2;
  SECTION("4 KB aligned") {
    DmaWorld<TestType> w(settings);
    for (uint32_t i = 0; i < 20; ++i) w.write(0, {0x10'0000 + 4096 * i, 4096});
    w.finish();
    REQUIRE(w.w_cycles.size() == 20 * 4096 / kB);
    CHECK(w.w_cycles.back() - w.w_cycles.front() == w.w_cycles.size() - 1);
  }
  SECTION("4 KB at odd addresses: one row more each") {
    DmaWorld<TestType> w(settings);
    for (uint32_t i = 0; i < 20; ++i) w.write(0, {0x10'0000 + 8192 * i + 5, 4096});
    w.finish();
    REQUIRE(w.w_cycles.size() == 20 * (4096 / kB + 1));
    CHECK(w.w_cycles.back() - w.w_cycles.front() == w.w_cycles.size() - 1);
  }
  SECTION("one-beat requests of all clients") {
    DmaWorld<TestType> w(settings);
    for (uint32_t i = 0; i < 200; ++i) w.write(i % 4, {0x10'0000 + kB * i, kB});
    w.finish();
    CHECK(w.aw_cycles.back() - w.aw_cycles.front() == 199);
    CHECK(w.w_cycles.back() - w.w_cycles.front() == 199);
  }
}

TEMPLATE_TEST_CASE("clients are served in turn, none starves", "", W256, W512) {
  DmaWorld<TestType> w;
  for (uint32_t i = 0; i < 40; ++i) {
    for (uint32_t c = 0; c < 5; ++c) w.write(c, {0x1'0000 * c + 256 * i, 200});
  }
  w.finish();
  REQUIRE(w.accepted.size() == 200);
  for (size_t i = 5; i < w.accepted.size() - 5; ++i)
    CHECK(w.accepted[i].client == w.accepted[i - 5].client);
}

TEMPLATE_TEST_CASE("relaxed ordering is for data only, and only when configured", "", W512) {
  for (bool enabled : {false, true}) {
    typename DmaWorld<TestType>::Settings settings;
    settings.relaxed = enabled;
    DmaWorld<TestType> w(settings);
    for (uint32_t i = 0; i < 16; ++i) {
      WriteRequest r{0x1000 + 64 * i, 64};
      r.relaxed = (i & 1) != 0;
      r.is_queue = (i & 2) != 0;
      w.write(0, r);
    }
    w.finish();
    for (size_t i = 0; i < w.aw_log.size(); ++i)
      CHECK(w.aw_log[i].relaxed == (enabled && (i & 3) == 1));
  }
}

TEMPLATE_TEST_CASE("a fenced write waits for earlier GPU and device_memory writes, others pass it",
                   "", W256, W512) {
  DmaWorld<TestType> w;
  w.axi.hold_gpu_writes = true;
  w.write(0, {kGpuBase[1] + 100, 700});
  w.bench.tick(30);
  WriteRequest cqe{0x9000, 32};
  cqe.fence = true;
  cqe.is_queue = true;
  w.write(1, cqe);
  w.bench.tick(10);
  // Host and GPU writes that come later go on.
  for (uint32_t i = 0; i < 10; ++i) w.write(0, {0x1000 + 64 * i, 64});
  w.write(0, {kGpuBase[0], 64});
  w.bench.tick(100);
  CHECK(w.accepted.size() == 12);
  for (size_t i = 1; i < w.accepted.size(); ++i) CHECK(w.accepted[i].client == 0);
  w.axi.hold_gpu_writes = false;
  w.finish();
  CHECK(w.accepted.back().client == 1);
}

TEMPLATE_TEST_CASE(
    "a fenced write offered in the cycle in which a GPU write is accepted waits for it", "", W512) {
  DmaWorld<TestType> w;
  w.axi.hold_gpu_writes = true;
  WriteRequest cqe{0x9000, 32};
  cqe.fence = true;
  w.write(0, {kGpuBase[0], 64});
  w.write(1, cqe);
  w.bench.tick(50);
  REQUIRE(w.accepted.size() == 1);
  CHECK(w.accepted[0].client == 0);
  w.axi.hold_gpu_writes = false;
  w.finish();
}

TEMPLATE_TEST_CASE("a fence does not wait for GPU writes that come after it", "", W512) {
  DmaWorld<TestType> w;
  w.axi.gpu_extra_latency = 200;
  w.write(0, {kGpuBase[0], 64});
  w.bench.tick(10);
  WriteRequest cqe{0x9000, 32};
  cqe.fence = true;
  w.write(1, cqe);
  for (uint32_t i = 0; i < 400; ++i) w.write(0, {kGpuBase[0] + 4096 + 64 * (i % 100), 64});
  w.bench.wait(
      "the fenced one", [&] { return w.wr_source(1).pending() == 0; }, 400);
  w.finish();
}

TEMPLATE_TEST_CASE("a fenced write waits until device_memory has taken its rows", "", W512) {
  DmaWorld<TestType> w;
  w.dm_write_stall = Stall::always();
  w.write(0, {kDevBase + 64, 300});
  WriteRequest cqe{0x9000, 32};
  cqe.fence = true;
  w.bench.tick(10);
  w.write(1, cqe);
  w.bench.tick(50);
  CHECK(w.accepted.size() == 1);
  w.dm_write_stall = Stall::none();
  w.finish();
  CHECK(w.accepted.size() == 2);
}

TEMPLATE_TEST_CASE("write faults are reported with QP and kind; refused data are swallowed whole",
                   "", W256, W512) {
  typename DmaWorld<TestType>::Settings settings;
  settings.gdr_en = false;
  DmaWorld<TestType> w(settings);
  w.axi.write_latency_high = 20;
  w.axi.write_fault = [](const Tlp& t) { return t.addr / 0x1000 % 3 == 1; };
  auto random = rng("faults");
  for (uint32_t i = 0; i < 200; ++i) {
    WriteRequest r;
    r.qpn = i;
    r.is_queue = random.chance(0.3);
    switch (random.below(4)) {
      case 0:
        r.addr = kGpuBase[i % 3] + random.below(1000);
        break;
      case 1:
        r.addr = kGpuLimit[i % 3] - 3;
        break;
      default:
        r.addr = 0x1000 * random.below(100) + random.below(2000);
        break;
    }
    r.len = static_cast<uint32_t>(random.between(5, 400));
    w.write(i % 4, r);
  }
  w.finish();
  w.bench.tick(20);
  // The order between answers of the bus and refusals is free: compare as sets. Repeats of one QP
  // may be merged.
  auto sorted = [](std::vector<Fault> v) {
    std::vector<std::tuple<bool, uint32_t, uint32_t>> out;
    for (auto& f : v) out.emplace_back(f.is_queue, f.qpn, f.status);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  };
  CHECK(w.expected_faults.size() > 50);
  CHECK(sorted(w.faults) == sorted(w.expected_faults));
  CHECK(w.cnt_refused + w.cnt_faults == w.expected_faults.size());
  CHECK(w.cnt_refused > 20);
}

TEMPLATE_TEST_CASE("faults wait for their reader and none is lost", "", W512) {
  DmaWorld<TestType> w;
  w.bench->fault_ready = 0;
  w.axi.write_fault = [](const Tlp&) { return true; };
  for (uint32_t i = 0; i < 60; ++i) {
    WriteRequest r{0x1000 + 64 * i, 64};
    r.qpn = i;
    w.write(0, r);
  }
  w.bench.tick(300);
  CHECK(w.faults.empty());
  CHECK(w.bench->fault_valid != 0);
  w.bench->fault_ready = 1;
  w.finish();
  w.bench.tick(30);
  REQUIRE(w.faults.size() == 60);
  for (uint32_t i = 0; i < 60; ++i) CHECK(w.faults[i] == Fault{false, i, kLocProt});
}

TEMPLATE_TEST_CASE("faults of one QP are merged only while their reader does not keep up", "",
                   W512) {
  for (bool keeps_up : {true, false}) {
    DmaWorld<TestType> w;
    w.bench->fault_ready = keeps_up;
    w.axi.write_fault = [](const Tlp&) { return true; };
    for (uint32_t i = 0; i < 40; ++i) {
      WriteRequest r{0x1000 + 64 * i, 64};
      r.qpn = i < 39 ? 5 : 6;
      w.write(0, r);
    }
    w.finish();
    w.bench->fault_ready = 1;
    w.bench.tick(10);
    REQUIRE(w.faults.size() == (keeps_up ? 40 : 2));
    CHECK(w.faults.front() == Fault{false, 5, kLocProt});
    CHECK(w.faults.back() == Fault{false, 6, kLocProt});
    CHECK(w.cnt_faults == 40);
  }
}

TEMPLATE_TEST_CASE("trace events mark first and last row of a payload and the CQE", "", W512) {
  DmaWorld<TestType> w;
  WriteRequest data{0x1000, 300};
  data.qpn = 0x11;
  data.psn = 0xABCDEF;
  data.sampled = true;
  w.write(0, data);
  WriteRequest small{0x3000, 8};
  small.qpn = 0x12;
  small.psn = 7;
  w.write(0, small);
  w.finish();
  WriteRequest cqe{0x2000, 32};
  cqe.qpn = 0x13;
  cqe.is_queue = true;
  cqe.sampled = true;
  w.write(1, cqe);
  WriteRequest eqe{0x2100, 16};
  eqe.is_queue = true;
  w.write(2, eqe);
  w.finish();
  REQUIRE(w.trace.size() == 5);
  auto is = [&](size_t i, uint32_t event, uint32_t qpn, uint32_t info, bool sampled) {
    return w.trace[i].event == event && w.trace[i].qpn == qpn && w.trace[i].info == info &&
           w.trace[i].sampled == sampled;
  };
  CHECK(is(0, 20, 0x11, 0xABCDEF, true));
  CHECK(is(1, 21, 0x11, 0xABCDEF, true));
  CHECK(w.trace[1].cycle - w.trace[0].cycle == 4);  // 5 rows
  CHECK(is(2, 20, 0x12, 7, false));
  CHECK(is(3, 21, 0x12, 7, false));
  CHECK(w.trace[2].cycle == w.trace[3].cycle);
  CHECK(is(4, 23, 0x13, 0, true));
}
