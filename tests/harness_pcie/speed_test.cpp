// SPDX-License-Identifier: Apache-2.0
//
// What the model costs per simulated cycle: `unit_harness_pcie "[.speed]"` prints it. The ordinary
// run only checks that nothing is allocated per TLP once the pools have grown.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <new>

#include "harness/axi/dma_agent.hpp"
#include "harness/axi/nic_port.hpp"
#include "tests/harness_pcie/requester.hpp"
#include "tests/support/catch.hpp"

namespace {
uint64_t g_allocations = 0;
}

// Every allocation of this program is counted.
// The pair below belongs together; GCC 14 sees only one half where it inlines.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t n) {
  ++g_allocations;
  if (void* p = std::malloc(n != 0 ? n : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

using namespace rnic;

namespace {

// Reads and writes of `bytes` back to back, both directions at once, on a NIC that is always ready.
class Streamer {
 public:
  Streamer(const pcie::Config& config, uint32_t data_w, uint32_t bytes)
      : world_(config),
        port_(world_.fabric, {.data_w = data_w}, {.data_w = data_w}),
        source_(world_.dma.alloc(1 << 20)),
        target_(world_.dma.alloc(1 << 20)),
        beat_(data_w / 8),
        bytes_(bytes),
        words_(data_w / 32, 0x5A5A5A5A) {
    world_.fabric.remove_observer(&world_.seen);
    source_.fill(0, 1, source_.size());
    target_.fill(0, 1, target_.size());
    busy_.assign(256, false);
  }
  void tick(bool traffic) {
    axi::DmaIn& p = port_.dma_in;
    const axi::DmaOut& out = port_.dma_out();
    const bool ar = p.ar_valid && out.ar_ready, aw = p.aw_valid && out.aw_ready,
               wv = p.w_valid && out.w_ready;
    const bool r_end = out.r_valid && out.r_last;
    const uint8_t r_id = out.r_id;
    if (out.r_valid) ++read_beats;
    port_.sample(now_);
    now_ += 2000;
    world_.fabric.advance(now_);
    port_.drive(now_);
    p.r_ready = p.b_ready = true;
    if (r_end) busy_[r_id] = false;
    if (ar) {
      busy_[p.ar_id] = true;
      ++id_;
    }
    if (!p.ar_valid || ar) {
      read_at_ = (read_at_ + bytes_) % source_.size();
      p.ar_valid = traffic && !busy_[static_cast<uint8_t>(id_ % 64)];
      p.ar_id = static_cast<uint8_t>(id_ % 64);
      p.ar_addr = source_.bus_addr(read_at_);
      p.ar_len = static_cast<uint8_t>(bytes_ / beat_ - 1);
      p.ar_user = bytes_;
    }
    if (!p.aw_valid || aw) {
      p.aw_valid = traffic && aws_ <= ws_ + 2;
      if (p.aw_valid) ++aws_;
      write_at_ = (write_at_ + bytes_) % target_.size();
      p.aw_addr = target_.bus_addr(write_at_);
      p.aw_len = static_cast<uint8_t>(bytes_ / beat_ - 1);
      p.aw_user = bytes_;
    }
    if (wv) {
      ++write_beats;
      if (p.w_last) ++ws_;
      beat_now_ = p.w_last ? 0 : beat_now_ + 1;
    }
    if (!p.w_valid || wv) {
      p.w_valid = ws_ < aws_;
      p.w_data = words_.data();
      p.w_strb = beat_ == 128 ? axi::Strobe{~0ull, ~0ull}
                              : axi::Strobe{beat_ == 64 ? ~0ull : (1ull << beat_) - 1, 0};
      p.w_last = beat_now_ + 1 == bytes_ / beat_;
    }
  }
  uint64_t read_beats = 0, write_beats = 0;

 private:
  test::World world_;
  axi::NicPort port_;
  mem::DmaBuffer source_, target_;
  uint32_t beat_, bytes_;
  std::vector<uint32_t> words_;
  std::vector<bool> busy_;
  uint64_t now_ = 0, read_at_ = 0, write_at_ = 0, id_ = 0, aws_ = 0, ws_ = 0;
  uint32_t beat_now_ = 0;
};

}  // namespace

TEST_CASE("nothing is allocated per TLP once the pools have grown") {
  for (const char* preset : {"reference", "zero", "gen5x16"}) {
    CAPTURE(preset);
    Streamer s(pcie::Config::preset(preset), 512, 512);
    for (int i = 0; i < 20000; ++i) s.tick(true);
    const uint64_t before = g_allocations;
    const uint64_t beats = s.read_beats + s.write_beats;
    for (int i = 0; i < 20000; ++i) s.tick(true);
    const uint64_t after = g_allocations;
    CHECK(after - before == 0);
    CHECK(s.read_beats + s.write_beats - beats > 15000);
  }
}

TEST_CASE("cost of the host side per cycle and per beat", "[.speed]") {
  for (const char* preset : {"reference", "zero", "gen5x16"}) {
    for (const uint32_t width : {128u, 512u, 1024u}) {
      for (const uint32_t bytes : {width / 8, 512u, 4096u}) {
        pcie::Config c = pcie::Config::preset(preset);
        if (bytes > c.mps) continue;
        double best = 1e9, idle = 1e9;
        uint64_t beats = 0;
        constexpr int kCycles = 100000;
        for (int round = 0; round < 3; ++round) {
          Streamer s(c, width, bytes);
          for (int i = 0; i < 2000; ++i) s.tick(true);
          const uint64_t start_beats = s.read_beats + s.write_beats;
          auto t0 = std::chrono::steady_clock::now();
          for (int i = 0; i < kCycles; ++i) s.tick(true);
          auto t1 = std::chrono::steady_clock::now();
          beats = s.read_beats + s.write_beats - start_beats;
          best = std::min(best, std::chrono::duration<double, std::nano>(t1 - t0).count());
          for (int i = 0; i < 5000; ++i) s.tick(false);
          t0 = std::chrono::steady_clock::now();
          for (int i = 0; i < kCycles; ++i) s.tick(false);
          t1 = std::chrono::steady_clock::now();
          idle = std::min(idle, std::chrono::duration<double, std::nano>(t1 - t0).count());
        }
        std::cout << preset << " " << width << " bit, TLPs of " << bytes << " B: " << best / kCycles
                  << " ns/cycle, " << best / static_cast<double>(beats) << " ns/beat, "
                  << static_cast<double>(beats) / kCycles << " beats/cycle, idle " << idle / kCycles
                  << " ns/cycle\n";
      }
    }
  }
}
