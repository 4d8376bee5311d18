// SPDX-License-Identifier: Apache-2.0
//
// dma_master on the simulated PCIe world (harness/axi, harness/pcie): the pins mean the same on
// both sides, and the fabric's faults arrive as the right statuses.
#include <Vdma_512.h>

#include "harness/axi/dma_agent.hpp"
#include "harness/axi/verilated_pins.hpp"
#include "harness/mem/iommu.hpp"
#include "harness/mem/memory.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

constexpr uint32_t kB = 64;
constexpr uint64_t kIova = 0x10'0000'0000, kPhys = 0x4000'0000, kSize = 1 << 20;
constexpr uint64_t kGpu = 0x80'0000'0000;

class FabricWorld {
 public:
  explicit FabricWorld(pcie::Config config, const pcie::GpuConfig& gpu_config)
      : fabric((config.mps = config.mrrs = 512, config), host, iommu),
        agent(fabric, {.data_w = 512}),
        rd(bench, "rd1", bench->rd1_valid, bench->rd1_ready, bench->rd1_req),
        wr(bench, "wr0_req", bench->wr0_req_valid, bench->wr0_req_ready, bench->wr0_req),
        wd(bench, "wr0_dat", bench->wr0_dat_valid, bench->wr0_dat_ready, [this](const Beat& b) {
          write_pin(bench->wr0_dat_data, b.data);
          bench->wr0_dat_cnt = static_cast<CData>(b.cnt);
          bench->wr0_dat_last = b.last;
        }) {
    iommu.map(kIova, kPhys, kSize, mem::kRead | mem::kWrite);
    pcie::GpuConfig g = gpu_config;
    g.base = kGpu;
    g.limit = kGpu + kSize;
    fabric.add_gpu(g, gpu);
    auto& t = bench.top();
    t.cfg_mps_i = t.cfg_mrrs_i = 2;
    t.cfg_pacing_i = 64;
    t.cfg_timeout_us_i = 20;
    t.cfg_relaxed_i = t.gdr_en_i = 1;
    t.gpu_base_i[0] = static_cast<uint32_t>(kGpu);
    t.gpu_base_i[1] = static_cast<uint32_t>(kGpu >> 32);
    t.gpu_limit_i[0] = static_cast<uint32_t>(kGpu + kSize - 1);
    t.gpu_limit_i[1] = static_cast<uint32_t>((kGpu + kSize - 1) >> 32);
    t.devmem_base_i = 0xFFFF'FFFF'FF00'0000;
    t.fault_ready = 1;
    auto random = rng("memory");
    image = random.bytes(kSize);
    host.write(kPhys, image.data(), kSize);
    gpu_image = random.bytes(kSize);
    gpu.write(0, gpu_image.data(), kSize);
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    bench.reset({&t.rst_i});
  }

  void read(uint64_t addr, uint32_t len, uint32_t slot) {
    Bits b(140);
    b.set(76, 64, addr);
    b.set(63, 13, len);
    b.set(55, 8, slot);
    b.set(41, 1, 1);
    rd.push(b);
    open[slot] = {addr, len, 0};
  }
  void write(uint64_t addr, uint32_t len) {
    Bits b(130);
    b.set(66, 64, addr);
    b.set(53, 13, len);
    b.set(27, 24, 0x77);
    wr.push(b);
    const auto data = rng_.bytes(len);
    auto& to = addr >= kGpu ? gpu_image : image;
    std::copy(data.begin(), data.end(),
              to.begin() + static_cast<std::ptrdiff_t>(addr - (addr >= kGpu ? kGpu : kIova)));
    for (uint32_t at = 0; at < len; at += kB) {
      const uint32_t n = std::min(kB, len - at);
      wd.push({Bits::from_bytes(std::span(data).subspan(at, n), 512), n, at + n == len});
    }
  }
  void finish(uint64_t limit = 100000) {
    bench.wait(
        "reads and writes",
        [&] {
          return open.empty() && rd.pending() + wr.pending() + wd.pending() == 0 && bench->idle_o &&
                 agent.idle();
        },
        limit);
    bench.tick(4);  // a fault follows its response
  }

  struct Beat {
    Bits data;
    uint32_t cnt;
    bool last;
    bool operator==(const Beat&) const = default;
  };
  struct Open {
    uint64_t addr;
    uint32_t len, got;
  };

  Bench<Vdma_512> bench;
  mem::SparseMemory host, gpu;
  mem::Iommu iommu;
  pcie::Fabric fabric;
  axi::DmaAgent agent;
  StreamSource<Bits> rd, wr;
  StreamSource<Beat> wd;
  std::vector<uint8_t> image, gpu_image;
  std::map<uint32_t, Open> open;
  std::map<uint32_t, uint64_t> errors;  // by status
  std::vector<uint64_t> faults;
  uint64_t timeouts = 0;
  std::vector<uint64_t> rsp_cycles;

 private:
  void sample() {
    auto& t = bench.top();
    axi::DmaIn d;
    d.aw_valid = t.m_axi_awvalid;
    d.aw_id = t.m_axi_awid;
    d.aw_addr = t.m_axi_awaddr;
    d.aw_len = t.m_axi_awlen;
    d.aw_user = t.m_axi_awuser;
    d.w_valid = t.m_axi_wvalid;
    d.w_last = t.m_axi_wlast;
    d.w_data = axi::pin_words(t.m_axi_wdata);
    d.w_strb = axi::pin_strobe(t.m_axi_wstrb);
    d.b_ready = t.m_axi_bready;
    d.ar_valid = t.m_axi_arvalid;
    d.ar_id = t.m_axi_arid;
    d.ar_addr = t.m_axi_araddr;
    d.ar_len = t.m_axi_arlen;
    d.ar_user = t.m_axi_aruser;
    d.r_ready = t.m_axi_rready;
    agent.sample(d, bench.time_ps());
    timeouts += t.cnt_dma_timeouts_o;
    if (t.fault_valid) faults.push_back(t.fault);
    if (!t.rdrsp_valid) return;
    rsp_cycles.push_back(bench.cycle());
    const uint64_t v = t.rdrsp;
    const uint32_t lost = v & 0x1FFF, cnt = v >> 22 & 0xFF, dst = v >> 30 & 0x1FFF,
                   slot = v >> 50 & 0xFF;
    Open& o = open.at(slot);
    if (v >> 21 & 1) ++errors[v >> 13 & 0xFF];
    const Bits data = read_pin(t.rdrsp_data);
    const uint8_t* want = o.addr >= kGpu            ? &gpu_image[o.addr - kGpu]
                          : o.addr >= kIova + kSize ? nullptr
                                                    : &image[o.addr - kIova];
    for (uint32_t i = 0; i < cnt; ++i) {
      if (data.byte((dst + i) % kB) != want[dst + i]) throw std::runtime_error("wrong byte");
    }
    o.got += cnt + lost;
    if (o.got == o.len) open.erase(slot);
  }
  void drive() {
    const uint64_t next = bench.time_ps() + 2000;
    fabric.advance(next);
    agent.drive(next);
    auto& t = bench.top();
    const axi::DmaOut& o = agent.out();
    t.m_axi_awready = o.aw_ready;
    t.m_axi_wready = o.w_ready;
    t.m_axi_bvalid = o.b_valid;
    t.m_axi_bid = o.b_id;
    t.m_axi_bresp = o.b_resp;
    t.m_axi_arready = o.ar_ready;
    t.m_axi_rvalid = o.r_valid;
    t.m_axi_rid = o.r_id;
    t.m_axi_rresp = o.r_resp;
    t.m_axi_rlast = o.r_last;
    t.m_axi_ruser = o.r_user;
    if (o.r_valid) std::memcpy(axi::pin_words(t.m_axi_rdata), o.r_data, kB);
  }
  Rng rng_ = rng("data");
};

}  // namespace

TEST_CASE(
    "every byte arrives over a Gen5 x16 fabric with jitter, split and interleaved completions") {
  pcie::Config config = pcie::Config::gen5_x16();
  config.random_split = true;
  config.interleave_completions = true;
  config.host.read_jitter_ps = 300'000;
  FabricWorld w(config, pcie::gpu_gen5_x16());
  auto random = rng("traffic");
  for (uint32_t i = 0; i < 400; ++i) {
    const uint32_t len = static_cast<uint32_t>(random.between(1, 4096));
    const uint64_t base = random.chance(0.3) ? kGpu : kIova;
    // Reads below half of memory, writes above it: which comes first would be free.
    if (random.chance(0.5)) {
      w.bench.wait("slots", [&] { return w.open.size() < 40; });
      w.read(base + random.below(kSize / 2 - 4096), len, i & 0xFF);
    } else {
      w.write(base + kSize / 2 + random.below(kSize / 2 - 4096), len);
    }
  }
  w.finish();
  CHECK(w.errors.empty());
  CHECK(w.faults.empty());
  w.bench.tick(2000);  // until posted writes are visible
  CHECK(w.host.equal(kPhys, w.image.data(), kSize));
  CHECK(w.gpu.equal(0, w.gpu_image.data(), kSize));
}

TEST_CASE("payload reads stream at a beat per cycle over the reference fabric") {
  pcie::Config config = pcie::Config::reference_delays();
  FabricWorld w(config, pcie::gpu_reference_delays());
  for (uint32_t i = 0; i < 60; ++i) w.read(kIova + 4096 * i, 4096, i);
  w.finish();
  const double cycles = static_cast<double>(w.rsp_cycles.back() - w.rsp_cycles.front() + 1);
  CHECK(static_cast<double>(w.rsp_cycles.size()) / cycles > 0.98);
}

TEST_CASE("faults of the fabric become statuses: unmapped, poisoned, never completed") {
  pcie::Config config = pcie::Config::reference_delays();
  config.faults.push_back({.kind = pcie::FaultKind::kPoison,
                           .first_addr = kIova + 0x2000,
                           .last_addr = kIova + 0x21FF});
  config.faults.push_back({.kind = pcie::FaultKind::kNeverComes,
                           .first_addr = kIova + 0x4000,
                           .last_addr = kIova + 0x41FF});
  FabricWorld w(config, pcie::gpu_reference_delays());
  w.read(kIova + kSize + 0x1000, 1024, 0);  // unmapped: two TLPs
  w.read(kIova + 0x2000, 1024, 1);          // one TLP poisoned
  w.read(kIova + 0x4000, 1024, 2);          // one TLP lost
  w.read(kIova + 0x6000, 1024, 3);
  w.finish();
  CHECK(w.errors == std::map<uint32_t, uint64_t>{{0x04, 2}, {0x23, 2}});
  CHECK(w.timeouts == 1);
  Bits b(130);
  b.set(66, 64, kIova + kSize + 0x3000);
  b.set(53, 13, 64);
  b.set(27, 24, 0x1234);
  w.wr.push(b);
  w.wd.push({Bits(512), 64, true});
  w.finish();
  CHECK(w.faults == std::vector<uint64_t>{uint64_t{0x1234} << 8 | 0x04});
}
