// SPDX-License-Identifier: Apache-2.0
//
// The world around one dma_master: an AXI memory that obeys no order but AXI's, a device_memory,
// read and write clients, and a scoreboard that knows from the rules alone what must come back.
//
//   DmaWorld<W512> w;                       // model, agents, reset done
//   w.axi.read_stall = Stall::random(0.5);
//   w.read(1, {.addr = 0x1003, .len = 500, .slot = 7, .dst_off = 9});
//   w.write(0, {.addr = 0x2001, .len = 77});
//   w.finish();                             // waits for everything and checks that nothing is left
//   over
//
// Every response, TLP and strobe is checked where it happens; a difference throws Mismatch with
// cycle and details.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

namespace rnic::test {

class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// As in the fact sheet and the register file.
inline constexpr uint64_t kGpuBase[4] = {0x40'0000'0000, 0x50'0000'0000, 0x60'0000'0000, 0};
inline constexpr uint64_t kGpuLimit[4] = {0x40'0000'FFFF, 0x50'0000'FFFF, 0x60'0000'FFFF, 0};
inline constexpr uint64_t kDevBase = 0xFFFF'FFFF'FF00'0000;
inline constexpr uint64_t kDevBytes = 65536;
enum Target : uint32_t { kHost = 0, kGpu = 1, kDevice = 2, kRefused = 3 };
inline constexpr uint32_t kLocProt = 0x04, kFatal = 0x23;

struct Where {
  Target target = kHost;
  uint32_t gpu = 0;
  bool crosses = false;
};

// Where a range lives, by looking at each of its ends and at every border.
inline Where locate(uint64_t addr, uint64_t len, bool gdr_en = true) {
  auto at = [&](uint64_t a) -> std::pair<Target, uint32_t> {
    if (a >= kDevBase && a - kDevBase < kDevBytes) return {kDevice, 0};
    for (uint32_t g = 0; g < 3; ++g) {
      if (a >= kGpuBase[g] && a <= kGpuLimit[g]) return {gdr_en ? kGpu : kRefused, g};
    }
    return {kHost, 0};
  };
  auto first = at(addr), last = at(addr + len - 1);
  Where w{first.first, first.second, false};
  if (addr + len - 1 < addr || first != last) w = {kRefused, 0, true};
  return w;
}

struct ReadRequest {
  uint64_t addr = 0;
  uint32_t len = 1;
  uint32_t slot = 0;
  uint32_t dst_off = 0;
  bool first = true;
};

struct WriteRequest {
  uint64_t addr = 0;
  uint32_t len = 1;
  bool relaxed = false;
  bool fence = false;
  uint32_t qpn = 0;
  bool is_queue = false;
  uint32_t psn = 0;
  bool sampled = false;
  bool ticket = false, rd_ticket = false;
};

struct Fault {
  bool is_queue = false;
  uint32_t qpn = 0;
  uint32_t status = 0;
  bool operator==(const Fault&) const = default;
};

enum class ReadFault { kNone, kSlvErr, kDecErr, kPoison, kNever, kShort };

struct Tlp {
  uint64_t addr = 0;
  uint32_t bytes = 0;
  Target target = kHost;
  uint32_t gpu = 0;
  bool relaxed = false;
};

// What memory holds before anybody writes: a fixed function of the address.
inline uint8_t background(uint64_t a) {
  const uint64_t x = (a + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9;
  return static_cast<uint8_t>(x >> 56 ^ x >> 24);
}

template <class Cfg>
class DmaWorld {
 public:
  using Top = typename Cfg::Top;
  static constexpr uint32_t kW = Cfg::kDataW;
  static constexpr uint32_t kB = kW / 8;

  struct Settings {
    uint32_t mps = 2, mrrs = 2;
    uint32_t pacing = 255;
    uint32_t timeout_us = 0;
    bool relaxed = true;
    bool gdr_en = true;
  };

  // ---------------------------------------------------------------- knobs of the AXI side
  struct Axi {
    Stall ar_stall, aw_stall, w_stall;
    Stall r_pause, b_pause;
    uint32_t read_latency_low = 1, read_latency_high = 1;
    uint32_t write_latency_low = 1, write_latency_high = 1;
    uint32_t gpu_extra_latency = 0;
    bool any_order = false;
    bool interleave = false;
    std::function<ReadFault(const Tlp&)> read_fault;
    std::function<bool(const Tlp&)> write_fault;
    bool hold_gpu_writes = false;  // no responses for them
    bool hold_reads = false;
    std::function<bool(const Tlp&)> hold_read;
  } axi;
  Stall dm_write_stall, dm_read_stall;

  explicit DmaWorld(Settings settings = {}) : settings_(settings), random_(rng("world")) {
    auto& t = bench.top();
    t.rst_i = 1;
    apply();
    t.drain_i = 0;
    for (int g = 0; g < 4; ++g) {
      for (int half = 0; half < 2; ++half) {
        t.gpu_base_i[g * 2 + half] = static_cast<uint32_t>(kGpuBase[g] >> (32 * half));
        t.gpu_limit_i[g * 2 + half] = static_cast<uint32_t>(kGpuLimit[g] >> (32 * half));
      }
    }
    t.devmem_base_i = kDevBase;
    make_clients();
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    t.fault_ready = 1;
    bench.reset({&t.rst_i});
  }

  void apply() {
    auto& t = bench.top();
    t.cfg_mps_i = settings_.mps;
    t.cfg_mrrs_i = settings_.mrrs;
    t.cfg_pacing_i = settings_.pacing;
    t.cfg_timeout_us_i = settings_.timeout_us;
    t.cfg_relaxed_i = settings_.relaxed;
    t.gdr_en_i = settings_.gdr_en;
  }
  Settings& settings() { return settings_; }

  // ---------------------------------------------------------------- clients
  // Ports 1 and 2 answer as one client (RD_PAYLOAD) and must use different slots.
  static constexpr uint32_t kReadPorts = 7, kWritePorts = 5;
  static constexpr uint32_t kClientOf[kReadPorts] = {0, 1, 1, 2, 3, 4, 5};

  void read(uint32_t client, const ReadRequest& r) {
    Bits b(140);
    b.set(76, 64, r.addr);
    b.set(63, 13, r.len);
    b.set(55, 8, r.slot);
    b.set(42, 13, r.dst_off);
    b.set(41, 1, r.first);
    b.set(17, 24, 0x123456);
    b.set(1, 16, 0xABCD);
    rd_[client]->push(b);
    expect_read(client, r);
  }

  // beats: how many beats of its data the client really sends.
  void write(uint32_t client, const WriteRequest& r, uint32_t beats = ~0u) {
    Bits b(131);
    b.set(130, 1, r.rd_ticket);
    b.set(66, 64, r.addr);
    b.set(53, 13, r.len);
    b.set(52, 1, r.relaxed);
    b.set(51, 1, r.fence);
    b.set(27, 24, r.qpn);
    b.set(26, 1, r.is_queue);
    b.set(2, 24, r.psn);
    b.set(1, 1, r.sampled);
    b.set(0, 1, r.ticket);
    wr_[client]->push(b);
    Pending p{r, random_.bytes(r.len)};
    for (uint32_t at = 0; at < r.len && at / kB < beats; at += kB) {
      const uint32_t n = std::min(kB, r.len - at);
      Beat beat{Bits::from_bytes(std::span(p.data).subspan(at, n), kW), n, at + n == r.len};
      for (uint32_t i = n; i < kB; ++i) beat.data.set_byte(i, static_cast<uint8_t>(random_.u64()));
      wd_[client]->push(beat);
    }
    offered_[client].push_back(std::move(p));
  }

  void stall_clients(Stall requests, Stall data) {
    for (auto& s : rd_) s->set_stall(requests);
    for (auto& s : wr_) s->set_stall(requests);
    for (auto& s : wd_) s->set_stall(data);
  }

  bool quiet() {
    for (auto& s : rd_) {
      if (s->pending() > 0) return false;
    }
    for (uint32_t c = 0; c < kWritePorts; ++c) {
      if (wr_[c]->pending() > 0 || wd_[c]->pending() > 0) return false;
    }
    return expected_reads_.empty() && writes_.empty() && b_queue_[0].empty() &&
           b_queue_[1].empty() && pending_device_writes_ == 0 && bench.top().idle_o != 0;
  }

  void finish(uint64_t limit = 200000) {
    bench.wait(
        "all reads answered, all writes done, idle", [this] { return quiet(); }, limit);
    bench.tick(4);
    if (!discard_writes && placed != placeable_) throw Mismatch("a placed pulse is missing");
    if (device != device_expected)
      throw Mismatch("device_memory is not what the writes should have left");
  }

  // A TLP of a read that may fail: which status is expected is learnt from the fault the slave
  // made.
  std::vector<Fault> faults;
  std::vector<Fault> expected_faults;

  // ---------------------------------------------------------------- observations
  Bench<Top> bench;
  std::vector<uint8_t> device = std::vector<uint8_t>(kDevBytes), device_expected = device;
  uint64_t reads = 0, writes = 0, read_bytes = 0, write_bytes = 0;  // TLPs seen on the bus
  uint64_t cnt_reads = 0, cnt_writes = 0, cnt_read_bytes = 0, cnt_write_bytes = 0;  // pulses
  uint64_t cnt_errors = 0, cnt_faults = 0, cnt_timeouts = 0, cnt_refused = 0;
  uint64_t errors_seen = 0;  // responses with err
  std::map<uint32_t, uint64_t> status_seen;
  uint32_t outstanding = 0, outstanding_gpu = 0, most_outstanding = 0, most_outstanding_gpu = 0;
  uint64_t lost_bytes = 0;
  // pulses: writes with ticket, writes of client 3, writes with rd_ticket
  // Pulses seen: of writes with ticket, with rd_ticket, of each client.
  using PlacedCounts = std::array<uint64_t, 2 + kWritePorts>;
  PlacedCounts placed{};
  std::vector<uint64_t> rd_cycles, ar_cycles, r_cycles, rsp_cycles, wr_cycles, aw_cycles, w_cycles,
      dat_cycles;
  std::vector<Tlp> ar_log, aw_log;
  std::vector<uint8_t> ar_ids;
  struct Accepted {
    uint32_t client;
    uint64_t cycle;
  };
  std::vector<Accepted> accepted;
  struct TraceEvent {
    uint64_t cycle;
    uint32_t event, qpn, info;
    bool sampled;
  };
  std::vector<TraceEvent> trace;
  size_t bus_reads_open() const { return reads_open_.size(); }
  bool check_reads = true;

  // Drops what is expected and what the slave still holds, as when the device is reset.
  void forget() {
    expected_reads_.clear();
    writes_.clear();
    for (auto& q : offered_) q.clear();
    for (auto& s : rd_) s->clear();
    tickets_.clear();
    rows_seen_ = 0;
    placed = placeable_ = {};
    for (uint32_t c = 0; c < kWritePorts; ++c) {
      wr_[c]->clear();
      wd_[c]->clear();
    }
    next_tlp_.clear();
  }
  // Completions of reads that never came, all at once now.
  void release_never() {
    for (auto& [id, r] : reads_open_) {
      if (r.fault == ReadFault::kNever) {
        r.fault = ReadFault::kNone;
        r.due = bench.cycle() + 1;
      }
    }
  }
  size_t pending_reads() const { return expected_reads_.size(); }
  StreamSource<Bits>& rd_source(uint32_t c) { return *rd_[c]; }
  StreamSource<Bits>& wr_source(uint32_t c) { return *wr_[c]; }
  bool allow_fillers = false;  // rows without strobes may end a burst
  uint64_t fillers = 0;
  bool discard_writes = false;  // requests accepted now are dropped by a drain

 private:
  struct Beat {
    Bits data;
    uint32_t cnt;
    bool last;
    bool operator==(const Beat&) const = default;
  };
  struct Pending {
    WriteRequest request;
    std::vector<uint8_t> data;
  };
  // One TLP that a read must turn into.
  struct ExpectedRead {
    uint64_t addr = 0;
    uint32_t len = 0, dst = 0, got = 0;
    Where where;
  };
  struct OpenRead {
    Tlp tlp;
    uint32_t beats = 0, beat = 0;
    uint64_t due = 0, order = 0;
    ReadFault fault = ReadFault::kNone;
    uint32_t fault_beat = 0;
  };
  struct ExpectedWrite {
    Tlp tlp;
    std::vector<uint8_t> data;
    uint32_t beats_seen = 0;
    bool address_seen = false;
    bool is_queue;
    uint32_t qpn;
    uint8_t id = 0;
  };
  struct Response {
    uint64_t due;
    bool bad;
    bool gpu;
    Fault fault;
  };

  [[noreturn]] void fail(const std::string& what) {
    throw Mismatch("cycle " + std::to_string(bench.cycle()) + ": " + what);
  }
  template <class... A>
  static std::string text(const A&... a) {
    std::ostringstream s;
    s << std::hex;
    ((s << a), ...);
    return s.str();
  }

  void make_clients() {
    auto& t = bench.top();
    auto rd = [&](CData& v, CData& r, auto& pin) {
      rd_.push_back(std::make_unique<StreamSource<Bits>>(bench, "rd" + std::to_string(rd_.size()),
                                                         v, r, pin));
    };
    rd(t.rd0_valid, t.rd0_ready, t.rd0_req);
    rd(t.rd1_valid, t.rd1_ready, t.rd1_req);
    rd(t.rd2_valid, t.rd2_ready, t.rd2_req);
    rd(t.rd3_valid, t.rd3_ready, t.rd3_req);
    rd(t.rd4_valid, t.rd4_ready, t.rd4_req);
    rd(t.rd5_valid, t.rd5_ready, t.rd5_req);
    rd(t.rd6_valid, t.rd6_ready, t.rd6_req);
    auto wr = [&](CData& v, CData& r, auto& pin, CData& dv, CData& dr, auto& data, CData& cnt,
                  CData& last) {
      const std::string n = std::to_string(wr_.size());
      wr_.push_back(std::make_unique<StreamSource<Bits>>(bench, "wr" + n + "_req", v, r, pin));
      wd_.push_back(std::make_unique<StreamSource<Beat>>(bench, "wr" + n + "_dat", dv, dr,
                                                         [&](const Beat& b) {
                                                           write_pin(data, b.data);
                                                           cnt = static_cast<CData>(b.cnt);
                                                           last = b.last;
                                                         }));
    };
    wr(t.wr0_req_valid, t.wr0_req_ready, t.wr0_req, t.wr0_dat_valid, t.wr0_dat_ready,
       t.wr0_dat_data, t.wr0_dat_cnt, t.wr0_dat_last);
    wr(t.wr1_req_valid, t.wr1_req_ready, t.wr1_req, t.wr1_dat_valid, t.wr1_dat_ready,
       t.wr1_dat_data, t.wr1_dat_cnt, t.wr1_dat_last);
    wr(t.wr2_req_valid, t.wr2_req_ready, t.wr2_req, t.wr2_dat_valid, t.wr2_dat_ready,
       t.wr2_dat_data, t.wr2_dat_cnt, t.wr2_dat_last);
    wr(t.wr3_req_valid, t.wr3_req_ready, t.wr3_req, t.wr3_dat_valid, t.wr3_dat_ready,
       t.wr3_dat_data, t.wr3_dat_cnt, t.wr3_dat_last);
    wr(t.wr4_req_valid, t.wr4_req_ready, t.wr4_req, t.wr4_dat_valid, t.wr4_dat_ready,
       t.wr4_dat_data, t.wr4_dat_cnt, t.wr4_dat_last);
  }

  static std::vector<std::pair<uint64_t, uint32_t>> cut(uint64_t addr, uint32_t len, uint32_t max) {
    std::vector<std::pair<uint64_t, uint32_t>> out;
    while (len > 0) {
      const uint32_t n = std::min<uint32_t>(len, max - static_cast<uint32_t>(addr % max));
      out.emplace_back(addr, n);
      addr += n;
      len -= n;
    }
    return out;
  }
  static uint64_t key(uint32_t client, uint32_t slot, uint32_t tlp) {
    return uint64_t{client} << 32 | slot << 8 | tlp;
  }

  void expect_read(uint32_t client, const ReadRequest& r) {
    uint32_t& next = next_tlp_[client << 8 | r.slot];
    if (r.first) next = 0;
    const Where w = locate(r.addr, r.len, settings_.gdr_en);
    const auto pieces = w.target == kHost || w.target == kGpu
                            ? cut(r.addr, r.len, 128u << settings_.mrrs)
                            : std::vector<std::pair<uint64_t, uint32_t>>{{r.addr, r.len}};
    uint32_t dst = r.dst_off;
    for (auto [addr, len] : pieces) {
      if (next > 63) throw std::logic_error("test: more than 64 TLPs in a slot");
      if (!expected_reads_
               .emplace(key(kClientOf[client], r.slot, next++), ExpectedRead{addr, len, dst, 0, w})
               .second) {
        throw std::logic_error("test: slot in use");
      }
      dst += len;
    }
  }

  // ---------------------------------------------------------------------------------- before the
  // edge
  void sample() {
    auto& t = bench.top();
    const uint64_t now = bench.cycle();
    count(t);
    if (!discard_writes) check_placed(t);
    // Requests accepted in this cycle: at most one, and the bus must follow that order.
    const CData wv[] = {t.wr0_req_valid, t.wr1_req_valid, t.wr2_req_valid, t.wr3_req_valid,
                        t.wr4_req_valid};
    const CData wrdy[] = {t.wr0_req_ready, t.wr1_req_ready, t.wr2_req_ready, t.wr3_req_ready,
                          t.wr4_req_ready};
    const CData dv[] = {t.wr0_dat_valid, t.wr1_dat_valid, t.wr2_dat_valid, t.wr3_dat_valid,
                        t.wr4_dat_valid};
    const CData drdy[] = {t.wr0_dat_ready, t.wr1_dat_ready, t.wr2_dat_ready, t.wr3_dat_ready,
                          t.wr4_dat_ready};
    for (uint32_t c = 0; c < kWritePorts; ++c) {
      if (dv[c] && drdy[c]) dat_cycles.push_back(now);
      if (!wv[c] || !wrdy[c]) continue;
      wr_cycles.push_back(now);
      accepted.push_back({c, now});
      if (offered_[c].empty()) fail("a write request was accepted that nobody made");
      accept_write(c, std::move(offered_[c].front()));
      offered_[c].pop_front();
    }
    const CData rv[] = {t.rd0_valid, t.rd1_valid, t.rd2_valid, t.rd3_valid,
                        t.rd4_valid, t.rd5_valid, t.rd6_valid};
    const CData rr[] = {t.rd0_ready, t.rd1_ready, t.rd2_ready, t.rd3_ready,
                        t.rd4_ready, t.rd5_ready, t.rd6_ready};
    for (uint32_t c = 0; c < kReadPorts; ++c) {
      if (rv[c] && rr[c]) rd_cycles.push_back(now);
    }
    if (t.m_axi_arvalid && t.m_axi_arready) take_ar(t, now);
    if (t.m_axi_rvalid && t.m_axi_rready) take_r(now);
    if (t.rdrsp_valid) take_response(t, now);
    if (t.m_axi_awvalid && t.m_axi_awready) take_aw(t, now);
    if (t.m_axi_wvalid && t.m_axi_wready) take_w(t, now);
    if (t.m_axi_bvalid && t.m_axi_bready) take_b();
    if (t.dm_wr_valid && t.dm_wr_ready) take_device_write(t);
    device_read_row_.reset();
    if (t.dm_rd_valid && t.dm_rd_ready) device_read_row_ = t.dm_rd_row;
    if (t.fault_valid && t.fault_ready) {
      faults.push_back({(t.fault >> 32 & 1) != 0, static_cast<uint32_t>(t.fault >> 8 & 0xFFFFFF),
                        static_cast<uint32_t>(t.fault & 0xFF)});
    }
    if (t.trc_valid_o) {
      trace.push_back({now, static_cast<uint32_t>(t.trc_o >> 56),
                       static_cast<uint32_t>(t.trc_o >> 32 & 0xFFFFFF),
                       static_cast<uint32_t>(t.trc_o), t.trc_sampled_o != 0});
    }
    if (t.trc2_valid_o) {
      trace.push_back({now, static_cast<uint32_t>(t.trc2_o >> 56),
                       static_cast<uint32_t>(t.trc2_o >> 32 & 0xFFFFFF),
                       static_cast<uint32_t>(t.trc2_o), t.trc2_sampled_o != 0});
    }
  }

  // A pulse may come only when every row of that write, and of those before it, has been taken;
  // refused ones have none. Rows of the bus and of device_memory leave in order of acceptance.
  void check_placed(Top& t) {
    if (t.placed_o) ++placed[0];
    if (t.rd_placed_o) ++placed[1];
    for (uint32_t c = 0; c < kWritePorts; ++c) placed[2 + c] += (t.wr_placed_o >> c) & 1;
    while (!tickets_.empty() && tickets_.front().rows <= rows_seen_) {
      rows_seen_ -= tickets_.front().rows;
      placeable_[0] += tickets_.front().ticket;
      placeable_[1] += tickets_.front().rd_ticket;
      ++placeable_[2 + tickets_.front().client];
      tickets_.pop_front();
    }
    for (size_t i = 0; i < placed.size(); ++i) {
      if (placed[i] > placeable_[i]) fail("placed before the write was on the bus");
    }
  }

  void count(Top& t) {
    cnt_reads += t.cnt_dma_reads_o;
    cnt_writes += t.cnt_dma_writes_o;
    cnt_read_bytes += t.cnt_dma_read_bytes_amount_o;
    cnt_write_bytes += t.cnt_dma_write_bytes_amount_o;
    cnt_errors += t.cnt_dma_read_errors_o;
    cnt_faults += t.cnt_dma_page_fault_o;
    cnt_timeouts += t.cnt_dma_timeouts_o;
    cnt_refused += t.cnt_gdr_refused_o;
  }

  void accept_write(uint32_t client, Pending p) {
    if (discard_writes) return;
    const WriteRequest& r = p.request;
    const Where w = locate(r.addr, r.len, settings_.gdr_en);
    tickets_.push_back({r.ticket, r.rd_ticket, client,
                        w.target == kRefused ? 0u : (r.addr % kB + r.len + kB - 1) / kB});
    if (w.target == kRefused) {
      expected_faults.push_back({r.is_queue, r.qpn, kLocProt});
      return;
    }
    if (w.target == kDevice) {
      for (uint32_t i = 0; i < r.len; ++i) device_expected[r.addr - kDevBase + i] = p.data[i];
      pending_device_writes_ += (r.addr % kB + r.len + kB - 1) / kB;
      return;
    }
    uint32_t at = 0;
    for (auto [addr, len] : cut(r.addr, r.len, 128u << settings_.mps)) {
      ExpectedWrite e;
      e.tlp = {addr, len, w.target, w.gpu, r.relaxed && settings_.relaxed && !r.is_queue};
      e.data.assign(p.data.begin() + at, p.data.begin() + at + len);
      e.is_queue = r.is_queue;
      e.qpn = r.qpn;
      writes_.push_back(std::move(e));
      at += len;
    }
  }

  Tlp decode(uint64_t addr, uint32_t user, uint32_t len) {
    Tlp tlp;
    tlp.addr = addr;
    tlp.bytes = user & 0x1FFF;
    tlp.target = static_cast<Target>(user >> 13 & 3);
    tlp.gpu = user >> 15 & 15;
    tlp.relaxed = (user >> 19 & 1) != 0;
    if (user >> 20 != 0) fail("user bits above 19 are set");
    if (tlp.bytes == 0 || tlp.bytes > 4096) fail("TLP of " + std::to_string(tlp.bytes) + " bytes");
    if (addr / 4096 != (addr + tlp.bytes - 1) / 4096) fail("TLP crosses 4 KB");
    if ((addr % kB + tlp.bytes + kB - 1) / kB != len + 1) fail("len does not fit the bytes");
    return tlp;
  }

  void take_ar(Top& t, uint64_t now) {
    ar_cycles.push_back(now);
    OpenRead r;
    r.tlp = decode(t.m_axi_araddr, t.m_axi_aruser, t.m_axi_arlen);
    const uint8_t id = t.m_axi_arid;
    if (r.tlp.bytes > 128u << settings_.mrrs) fail("read of more than MRRS");
    if (reads_open_.count(id) != 0) fail(text("read id ", +id, " is still in use"));
    const Where w = locate(r.tlp.addr, r.tlp.bytes);
    if (w.target != r.tlp.target || w.gpu != r.tlp.gpu) fail("read with the wrong target bits");
    r.beats = t.m_axi_arlen + 1;
    r.order = order_++;
    r.due = now + random_.between(axi.read_latency_low, axi.read_latency_high) +
            (r.tlp.target == kGpu ? axi.gpu_extra_latency : 0);
    if (axi.read_fault) r.fault = axi.read_fault(r.tlp);
    r.fault_beat = static_cast<uint32_t>(random_.below(r.beats));
    ++reads;
    read_bytes += r.tlp.bytes;
    ar_log.push_back(r.tlp);
    ar_ids.push_back(id);
    ++outstanding;
    if (r.tlp.target == kGpu) ++outstanding_gpu;
    most_outstanding = std::max(most_outstanding, outstanding);
    most_outstanding_gpu = std::max(most_outstanding_gpu, outstanding_gpu);
    reads_open_.emplace(id, r);
  }

  void take_r(uint64_t now) {
    r_cycles.push_back(now);
    auto it = reads_open_.find(*r_now_);
    OpenRead& r = it->second;
    const bool last = bench.top().m_axi_rlast != 0;
    ++r.beat;
    if (last) {
      --outstanding;
      if (r.tlp.target == kGpu) --outstanding_gpu;
      reads_open_.erase(it);
    }
    if (last || axi.interleave) r_mid_burst_ = false;
    r_now_.reset();
  }

  void take_response(Top& t, uint64_t now) {
    rsp_cycles.push_back(now);
    const uint64_t v = t.rdrsp;
    const uint32_t lost = v & 0x1FFF, status = v >> 13 & 0xFF, err = v >> 21 & 1,
                   cnt = v >> 22 & 0xFF, dst = v >> 30 & 0x1FFF, last = v >> 43 & 1,
                   tlp = v >> 44 & 0x3F, slot = v >> 50 & 0xFF, client = v >> 58 & 0xF;
    if (!check_reads) return;
    auto it = expected_reads_.find(key(client, slot, tlp));
    if (it == expected_reads_.end())
      fail(text("response nobody waits for: client ", client, " slot ", slot, " tlp ", tlp));
    ExpectedRead& e = it->second;
    if (dst != e.dst + e.got) fail(text("dst_off ", dst, ", expected ", e.dst + e.got));
    if (err) {
      ++errors_seen;
      ++status_seen[status];
      lost_bytes += lost;
      if (cnt != 0 || !last || lost != e.len - e.got)
        fail(text("error response: cnt ", cnt, " last ", last, " lost ", lost));
      if (e.where.target == kRefused && status != kLocProt)
        fail("refused read with the wrong status");
      expected_reads_.erase(it);
      return;
    }
    if (e.where.target == kRefused) fail("data of a refused read");
    if (lost != 0 || status != 0) fail("good response with lost or status");
    if (cnt == 0 || cnt > kB || e.got + cnt > e.len)
      fail(text("cnt ", cnt, " with ", e.len - e.got, " to come"));
    const Bits data = read_pin(t.rdrsp_data);
    for (uint32_t i = 0; i < cnt; ++i) {
      const uint64_t a = e.addr + e.got + i;
      const uint8_t want = e.where.target == kDevice ? device[a - kDevBase] : background(a);
      const uint8_t got = data.byte((dst + i) % kB);
      if (got != want)
        fail(text("byte ", a, " in lane ", (dst + i) % kB, ": got ", +got, ", expected ", +want));
    }
    e.got += cnt;
    if ((e.got == e.len) != (last != 0)) fail("tlp_last in the wrong place");
    if (last) expected_reads_.erase(it);
  }

  void take_aw(Top& t, uint64_t now) {
    aw_cycles.push_back(now);
    const Tlp tlp = decode(t.m_axi_awaddr, t.m_axi_awuser, t.m_axi_awlen);
    aw_log.push_back(tlp);
    ++writes;
    write_bytes += tlp.bytes;
    for (auto& e : writes_) {
      if (e.address_seen) continue;
      if (e.tlp.addr != tlp.addr || e.tlp.bytes != tlp.bytes || e.tlp.target != tlp.target ||
          e.tlp.gpu != tlp.gpu || e.tlp.relaxed != tlp.relaxed) {
        fail(text("write TLP ", tlp.addr, "+", tlp.bytes, " target ", tlp.target, " relaxed ",
                  tlp.relaxed, ", expected ", e.tlp.addr, "+", e.tlp.bytes, " target ",
                  e.tlp.target, " relaxed ", e.tlp.relaxed));
      }
      e.address_seen = true;
      e.id = t.m_axi_awid;
      if (t.m_axi_awid > 1 || (t.m_axi_awid == 1) != (tlp.target == kGpu)) fail("awid");
      complete_writes();
      return;
    }
    fail("write address that nobody asked for");
  }

  void take_w(Top& t, uint64_t now) {
    w_cycles.push_back(now);
    ++rows_seen_;
    const Bits strb = read_pin(t.m_axi_wstrb);
    const Bits data = read_pin(t.m_axi_wdata);
    for (auto& e : writes_) {
      const uint32_t beats = static_cast<uint32_t>((e.tlp.addr % kB + e.tlp.bytes + kB - 1) / kB);
      if (e.beats_seen == beats) continue;
      const uint64_t row = e.tlp.addr / kB * kB + uint64_t{e.beats_seen} * kB;
      const bool filler = allow_fillers && strb == Bits(kB);
      if (filler) ++fillers;
      for (uint32_t i = 0; i < kB && !filler; ++i) {
        const bool in = row + i >= e.tlp.addr && row + i < e.tlp.addr + e.tlp.bytes;
        if (strb.bit(i) != in)
          fail(text("strobe of lane ", i, " in row ", row, " is ", strb.bit(i)));
        if (!in) continue;
        const uint8_t want = e.data[row + i - e.tlp.addr];
        if (data.byte(i) != want)
          fail(text("write of ", row + i, ": got ", +data.byte(i), ", expected ", +want));
      }
      ++e.beats_seen;
      if ((t.m_axi_wlast != 0) != (e.beats_seen == beats)) fail("wlast in the wrong place");
      complete_writes();
      return;
    }
    fail("write data that nobody asked for");
  }

  void complete_writes() {
    while (!writes_.empty()) {
      const ExpectedWrite& e = writes_.front();
      const uint32_t beats = static_cast<uint32_t>((e.tlp.addr % kB + e.tlp.bytes + kB - 1) / kB);
      if (!e.address_seen || e.beats_seen != beats) return;
      const bool bad = axi.write_fault && axi.write_fault(e.tlp);
      const bool gpu = e.tlp.target == kGpu;
      b_queue_[gpu].push_back({bench.cycle() +
                                   random_.between(axi.write_latency_low, axi.write_latency_high) +
                                   (gpu ? axi.gpu_extra_latency : 0),
                               bad, gpu, Fault{e.is_queue, e.qpn, kLocProt}});
      writes_.pop_front();
    }
  }

  void take_b() {
    Response& r = b_queue_[*b_now_].front();
    if (r.bad) expected_faults.push_back(r.fault);
    b_queue_[*b_now_].pop_front();
    b_now_.reset();
  }

  void take_device_write(Top& t) {
    const Bits strb = read_pin(t.dm_wr_strb);
    const Bits data = read_pin(t.dm_wr_data);
    if (uint64_t{t.dm_wr_row} * kB >= kDevBytes) fail("device_memory row out of range");
    for (uint32_t i = 0; i < kB; ++i) {
      if (strb.bit(i)) device[t.dm_wr_row * kB + i] = data.byte(i);
    }
    if (pending_device_writes_ == 0) fail("device_memory write that nobody asked for");
    ++rows_seen_;
    --pending_device_writes_;
  }

  // ----------------------------------------------------------------------------------- after the
  // edge
  void drive() {
    auto& t = bench.top();
    const uint64_t now = bench.cycle();
    t.m_axi_arready = !axi.ar_stall();
    t.m_axi_awready = !axi.aw_stall();
    t.m_axi_wready = !axi.w_stall();
    t.dm_wr_ready = !dm_write_stall();
    t.dm_rd_ready = !dm_read_stall();
    drive_r(t, now);
    if (!b_now_ && !axi.b_pause()) {
      for (int g : {random_.chance(0.5) ? 1 : 0, 0, 1}) {
        auto& q = b_queue_[g];
        if (q.empty() || q.front().due > now || (g == 1 && axi.hold_gpu_writes)) continue;
        b_now_ = g;
        break;
      }
    }
    t.m_axi_bvalid = b_now_.has_value();
    if (b_now_) {
      t.m_axi_bid = static_cast<CData>(*b_now_);
      t.m_axi_bresp = b_queue_[*b_now_].front().bad ? 2 : 0;
    }
    if (device_read_row_) {
      Bits b(kW);
      for (uint32_t i = 0; i < kB; ++i) b.set_byte(i, device[*device_read_row_ * kB + i]);
      write_pin(t.dm_rd_data, b);
    } else {
      t.dm_rd_data[0] = 0xDEADBEEF;
    }
  }

  void drive_r(Top& t, uint64_t now) {
    if (!r_now_) {
      t.m_axi_rvalid = 0;
      if (axi.hold_reads || axi.r_pause()) return;
      if (!r_mid_burst_) {
        std::vector<uint8_t> ready;
        uint64_t oldest = ~uint64_t{0};
        uint8_t oldest_id = 0;
        for (auto& [id, r] : reads_open_) {
          if (r.due > now || r.fault == ReadFault::kNever) continue;
          if (axi.hold_read && axi.hold_read(r.tlp)) continue;
          ready.push_back(id);
          if (r.order < oldest) {
            oldest = r.order;
            oldest_id = id;
          }
        }
        if (ready.empty()) return;
        burst_ = axi.any_order || axi.interleave ? random_.pick(ready) : oldest_id;
        r_mid_burst_ = true;
      }
      r_now_ = burst_;
      present(t, reads_open_.at(burst_), burst_);
    }
  }

  void present(Top& t, OpenRead& r, uint8_t id) {
    const uint64_t row = r.tlp.addr / kB * kB + uint64_t{r.beat} * kB;
    Bits data(kW);
    for (uint32_t i = 0; i < kB; ++i) {
      const bool in = row + i >= r.tlp.addr && row + i < r.tlp.addr + r.tlp.bytes;
      data.set_byte(i, in ? background(row + i) : static_cast<uint8_t>(random_.u64()));
    }
    write_pin(t.m_axi_rdata, data);
    t.m_axi_rvalid = 1;
    t.m_axi_rid = id;
    const bool here = r.beat >= r.fault_beat;
    t.m_axi_rresp = here && r.fault == ReadFault::kSlvErr   ? 2
                    : here && r.fault == ReadFault::kDecErr ? 3
                                                            : 0;
    t.m_axi_ruser = here && r.fault == ReadFault::kPoison && r.beat == r.fault_beat;
    t.m_axi_rlast = r.beat + 1 == r.beats || (r.fault == ReadFault::kShort && here);
  }

  Settings settings_;
  Rng random_;
  std::vector<std::unique_ptr<StreamSource<Bits>>> rd_, wr_;
  std::vector<std::unique_ptr<StreamSource<Beat>>> wd_;
  struct Ticket {
    bool ticket, rd_ticket;
    uint32_t client;
    uint64_t rows;
  };
  std::deque<Ticket> tickets_;  // writes accepted and not all on the bus
  uint64_t rows_seen_ = 0;
  PlacedCounts placeable_{};
  std::array<std::deque<Pending>, kWritePorts> offered_;
  std::map<uint64_t, ExpectedRead> expected_reads_;
  std::map<uint32_t, uint32_t> next_tlp_;
  std::map<uint8_t, OpenRead> reads_open_;
  std::deque<ExpectedWrite> writes_;
  std::deque<Response> b_queue_[2];
  std::optional<int> b_now_;
  std::optional<uint8_t> r_now_;
  uint8_t burst_ = 0;
  bool r_mid_burst_ = false;
  uint64_t order_ = 0;
  uint64_t pending_device_writes_ = 0;
  std::optional<uint32_t> device_read_row_;
};

}  // namespace rnic::test
