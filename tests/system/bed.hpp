// SPDX-License-Identifier: Apache-2.0
// Two NICs, their hosts and a cable, with everything checked: the bed of the system tests.
//
//   Bed bed;                                          // 512 bit, quick delays
//   auto [qa, qb] = bed.connect();
//   bed.watch();                                      // memory must stay as it is from here
//   ...
//   bed.check();                                      // memory, wire
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/mem/memory_checker.hpp"
#include "harness/wire/tap.hpp"
#include "regs/gen/rnic_regs.h"
#include "sim/host/host.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/context.hpp"
#include "tests/support/rng.hpp"
#include "tests/support/wave_view.hpp"

namespace rnic::test {

// The width under test: RNIC_DATA_W, or the first that the program has.
inline uint32_t test_width() {
  const char* w = std::getenv("RNIC_DATA_W");
  return w != nullptr ? static_cast<uint32_t>(std::stoul(w)) : sim::nic_widths().front();
}
// What its MAC can carry, rounded down to a usual rate.
inline uint64_t test_rate() { return test_width() * 390'625'000ull; }  // 50, 100, 200, 400 Gb/s

// GTKWave views, written when the models have closed their waves: the first member of what owns
// models.
struct WaveViews {
  std::vector<std::string> paths;
  std::string next() {
    if (!Context::get().options().wave) return {};
    paths.push_back(next_wave_path());
    return paths.back();
  }
  ~WaveViews() {
    for (const std::string& p : paths) write_wave_view(p);
  }
};

// Where the waves of this node go; empty without --wave.
inline std::string test_wave_file() {
  return Context::get().options().wave ? next_wave_path() : std::string();
}

inline uint64_t context_seed() { return Context::get().options().seed; }

// The next event that is not routine: a QP in ERR also says LAST_WQE, in any order with its cause.
inline std::optional<driver::Event> wait_cause(sim::Host& host) {
  for (;;) {
    const auto e = host.wait_event();
    if (!e || (e->type != RNIC_EQE_TYPE_COMM_EST && e->type != RNIC_EQE_TYPE_LAST_WQE)) return e;
  }
}

struct BedOptions {
  pcie::Config pcie = pcie::Config::reference_delays();
  sim::HostConfig host;
  axi::DmaStalls stalls;
  uint16_t bar_stall = 0;
  uint64_t wire_bps = test_rate();
  uint64_t wire_delay_ps = 50'000;
  uint32_t tx_fifo_bytes = 256;  // of the MAC
  bool gpu = false;
  mem::Layout layout = mem::Layout::kScattered;
  wire::FaultHook* faults_a = nullptr;  // of what a sends
  wire::FaultHook* faults_b = nullptr;
  bool check_wire = true;
  bool telemetry = false;  // INT trailers are legal
};

// One side: node, host, checkers.
struct Side {
  sim::Node* node = nullptr;
  std::unique_ptr<sim::Host> host;
  std::unique_ptr<mem::MemoryChecker> memory, gpu_memory;
};

class Bed {
  WaveViews views_;

 public:
  explicit Bed(const BedOptions& options = {})
      : tap({.rules = {.allow_trailer = options.telemetry}}), options_(options) {
    for (int i = 0; i < 2; ++i) {
      sim::NodeConfig c;
      c.name = std::string(1, i == 0 ? 'a' : 'b');
      c.nic.data_w = test_width();
      c.nic.wave_file = views_.next();
      c.nic.seed = context_seed();
      c.pcie = options.pcie;
      c.pcie.seed = mem::substream(context_seed(), "pcie." + c.name);
      c.dma.layout = options.layout;
      c.dma.seed = mem::substream(context_seed(), "memory." + c.name);
      c.dma_pins.stalls = options.stalls;
      c.dma_pins.seed = mem::substream(context_seed(), "axi." + c.name);
      c.bar_pins.stall = options.bar_stall;
      if (options.gpu) {
        pcie::GpuConfig g = pcie::gpu_reference_delays();
        g.base = 0x80'0000'0000;
        g.limit = g.base + (1 << 26);
        c.gpus.push_back(g);
      }
      side(i).node = &world.add_node(c);
    }
    link = &world.connect(*a.node, *b.node,
                          {.rate_bps = options.wire_bps,
                           .delay_ps = options.wire_delay_ps,
                           .tx_fifo_bytes = options.tx_fifo_bytes});
    link->add_observer(&tap);
    if (options.faults_a != nullptr) link->set_faults(0, options.faults_a);
    if (options.faults_b != nullptr) link->set_faults(1, options.faults_b);
    world.power_on();
    for (int i = 0; i < 2; ++i) {
      sim::HostConfig h = options.host;
      h.id = static_cast<uint8_t>(i + 1);
      side(i).host = std::make_unique<sim::Host>(world, *side(i).node, h);
      side(i).host->start(static_cast<uint8_t>(2 - i));
      side(i).memory = std::make_unique<mem::MemoryChecker>(
          side(i).node->memory(), "host memory of " + side(i).node->name());
      if (options.gpu)
        side(i).gpu_memory = std::make_unique<mem::MemoryChecker>(
            side(i).node->gpu(0).memory(), "GPU memory of " + side(i).node->name());
    }
  }

  // A test that does not call check() has its frames looked at all the same.
  ~Bed() {
    if (!options_.check_wire || checked_) return;
    for (const std::string& m : tap.messages()) FAIL_CHECK(m);
  }

  Side& side(int i) { return i == 0 ? a : b; }
  std::pair<sim::Qp*, sim::Qp*> connect(const sim::ConnectOptions& o = {}) {
    return sim::connect(*a.host, *b.host, o);
  }
  void run_ns(uint64_t ns) { world.run_until(world.now_ps() + ns * 1000); }

  // Golden := memory now, rings that the NIC writes aside.
  void watch() {
    for (int i = 0; i < 2; ++i) {
      Side& s = side(i);
      s.memory->snapshot();
      if (s.gpu_memory) s.gpu_memory->snapshot();
      s.host->ignore_rings(*s.memory);
    }
  }
  // The bytes that must be in a region of `s` at the end.
  void expect(Side& s, const sim::Region& r, uint64_t offset, const std::vector<uint8_t>& data) {
    mem::MemoryChecker& m = r.place == sim::Place::kGpu ? *s.gpu_memory : *s.memory;
    m.expect_write(r.buffer, offset, data.data(), data.size());
  }
  void check() {
    checked_ = true;
    for (int i = 0; i < 2; ++i) {
      if (auto d = side(i).memory->compare()) FAIL_CHECK(d->to_string());
      if (side(i).gpu_memory) {
        if (auto d = side(i).gpu_memory->compare()) FAIL_CHECK(d->to_string());
      }
    }
    if (!options_.check_wire) return;
    for (const std::string& m : tap.messages()) FAIL_CHECK(m);
  }
  uint64_t counter(Side& s, uint32_t index) { return s.host->nic().counter(index); }

  sim::World world;
  wire::Tap tap;
  Side a, b;
  wire::Link* link = nullptr;

 private:
  BedOptions options_;
  bool checked_ = false;
};

// Fills a region of the CPU's side with random bytes and tells the checker.
inline std::vector<uint8_t> fill(Bed& bed, Side& s, sim::Region& r, Rng& rng) {
  std::vector<uint8_t> data = rng.bytes(r.size);
  r.buffer.write(0, data.data(), data.size());
  (void)bed;
  (void)s;
  return data;
}

}  // namespace rnic::test
