// SPDX-License-Identifier: Apache-2.0
//
// A NIC's AXI ports in C++: a DMA master that reads and writes as told, and BAR slaves with memory
// behind them. Two-phase like a clocked design: sample() sees the pins before the edge, drive()
// sets its outputs after it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <vector>

#include "harness/axi/nic_port.hpp"
#include "tests/harness_pcie/requester.hpp"
#include "tests/support/rng.hpp"

namespace rnic::test {

struct FakeRead {
  uint64_t addr = 0;
  axi::UserBits user;
  uint8_t id = 0;
  uint64_t asked_ps = 0, first_ps = 0, last_ps = 0;  // edges of AR, first and last R
  uint32_t beats = 0;
  bool error = false, poisoned = false, done = false;
  std::vector<uint8_t> data;
};

struct FakeWrite {
  uint64_t addr = 0;
  axi::UserBits user;
  uint8_t id = 0;
  std::vector<uint8_t> data;
  uint64_t last_ps = 0, b_ps = 0;
  uint8_t resp = 0;
  bool done = false;
};

enum class WriteOrder { kTogether, kAddressFirst, kDataFirst, kRandom };

class FakeDma {
 public:
  FakeDma(uint32_t data_w, double stall, WriteOrder order)
      : beat_(data_w / 8),
        stall_(stall),
        order_(order),
        rng_(rng("fake_dma")),
        words_(data_w / 32) {}

  axi::DmaIn pins;
  std::vector<FakeRead> reads;
  std::vector<FakeWrite> writes;

  size_t write(uint64_t addr, std::vector<uint8_t> data, axi::UserBits user = {}, int id = -1) {
    FakeWrite w;
    w.addr = addr;
    w.user = user;
    if (!user.no_data) w.user.bytes = static_cast<uint32_t>(data.size());
    w.id = id >= 0 ? static_cast<uint8_t>(id) : static_cast<uint8_t>(rng_.below(8));
    w.data = std::move(data);
    writes.push_back(std::move(w));
    return writes.size() - 1;
  }
  size_t read(uint64_t addr, uint32_t len, axi::UserBits user = {}) {
    FakeRead r;
    r.addr = addr;
    r.user = user;
    r.user.bytes = len;
    r.data.assign(len, 0);
    reads.push_back(std::move(r));
    return reads.size() - 1;
  }
  bool idle() const {
    return reads_done_ + reads_lost == reads.size() && writes_done_ == writes.size();
  }
  size_t reads_lost = 0;            // the test knows that they never come
  std::vector<size_t> burst_order;  // of R: read numbers, at each beat

  void sample(const axi::DmaOut& out, uint64_t now) {
    if (pins.aw_valid && out.aw_ready) {
      pins.aw_valid = false;
      ++aw_next_;
    }
    if (pins.w_valid && out.w_ready) {
      pins.w_valid = false;
      if (pins.w_last) {
        writes[w_next_].last_ps = now;
        ++w_next_;
        w_beat_ = 0;
      } else {
        ++w_beat_;
      }
    }
    if (pins.ar_valid && out.ar_ready) {
      pins.ar_valid = false;
      reads[ar_next_].asked_ps = now;
      busy_[reads[ar_next_].id] = static_cast<int64_t>(ar_next_);
      ++ar_next_;
    }
    if (out.b_valid && pins.b_ready) {
      for (auto& w : writes) {  // the oldest of this ID
        if (w.id != out.b_id || w.done) continue;
        if (w.last_ps == 0) throw std::logic_error("B before the last beat");
        w.done = true;
        w.resp = out.b_resp;
        w.b_ps = now;
        ++writes_done_;
        break;
      }
    }
    if (out.r_valid && pins.r_ready) take_beat(out, now);
  }

  void drive() {
    // Addresses and data of writes, in the order asked for.
    if (!pins.aw_valid && aw_next_ < writes.size() && !stalls()) {
      const bool ok = order_ == WriteOrder::kDataFirst
                          ? w_next_ > aw_next_ || (w_next_ == aw_next_ && w_beat_ > 0)
                          : true;
      if (ok) {
        const FakeWrite& w = writes[aw_next_];
        pins.aw_valid = true;
        pins.aw_id = w.id;
        pins.aw_addr = w.addr;
        pins.aw_len = static_cast<uint8_t>(beats(w.addr, w.user) - 1);
        pins.aw_user = w.user.encode();
      }
    }
    if (!pins.w_valid && w_next_ < writes.size() && !stalls()) {
      bool ok = true;
      if (order_ == WriteOrder::kAddressFirst) ok = aw_next_ > w_next_;
      // One burst of data may be ahead of its address.
      if (order_ == WriteOrder::kDataFirst || order_ == WriteOrder::kRandom)
        ok = w_next_ <= aw_next_ + 1;
      if (order_ == WriteOrder::kTogether) ok = aw_next_ > w_next_ || pins.aw_valid;
      if (ok) put_beat();
    }
    if (!pins.ar_valid && ar_next_ < reads.size() && !stalls()) {
      for (unsigned tries = 0; tries < 256; ++tries) {
        const auto id = static_cast<uint8_t>(next_id_++);
        if (busy_.count(id) != 0) continue;
        FakeRead& r = reads[ar_next_];
        r.id = id;
        pins.ar_valid = true;
        pins.ar_id = id;
        pins.ar_addr = r.addr;
        pins.ar_len = static_cast<uint8_t>(beats(r.addr, r.user) - 1);
        pins.ar_user = r.user.encode();
        break;
      }
    }
    pins.r_ready = !stalls();
    pins.b_ready = !stalls();
  }

  uint32_t beats(uint64_t addr, const axi::UserBits& user) const {
    if (user.no_data) return 1;
    return (static_cast<uint32_t>(addr % beat_) + user.bytes + beat_ - 1) / beat_;
  }

 private:
  bool stalls() { return stall_ > 0 && rng_.chance(stall_); }

  void put_beat() {
    const FakeWrite& w = writes[w_next_];
    const uint32_t lane0 = static_cast<uint32_t>(w.addr % beat_);
    auto* bytes = reinterpret_cast<uint8_t*>(words_.data());
    std::memset(bytes, 0xCC, beat_);
    pins.w_strb = {};
    for (uint32_t lane = 0; lane < beat_; ++lane) {
      const int64_t i = int64_t{w_beat_} * beat_ + lane - lane0;
      if (w.user.no_data || i < 0 || i >= static_cast<int64_t>(w.data.size())) continue;
      bytes[lane] = w.data[static_cast<size_t>(i)];
      pins.w_strb[lane / 64] |= 1ull << (lane % 64);
    }
    pins.w_data = words_.data();
    pins.w_last = w_beat_ + 1 == beats(w.addr, w.user);
    pins.w_valid = true;
  }

  void take_beat(const axi::DmaOut& out, uint64_t now) {
    const auto it = busy_.find(out.r_id);
    if (it == busy_.end()) throw std::logic_error("R beat of an ID that was not asked");
    FakeRead& r = reads[static_cast<size_t>(it->second)];
    burst_order.push_back(static_cast<size_t>(it->second));
    if (r.beats == 0) r.first_ps = now;
    const uint32_t lane0 = static_cast<uint32_t>(r.addr % beat_);
    const auto* bytes = reinterpret_cast<const uint8_t*>(out.r_data);
    for (uint32_t lane = 0; lane < beat_; ++lane) {
      const int64_t i = int64_t{r.beats} * beat_ + lane - lane0;
      if (i >= 0 && i < static_cast<int64_t>(r.data.size()))
        r.data[static_cast<size_t>(i)] = bytes[lane];
    }
    ++r.beats;
    r.error |= out.r_resp != 0;
    r.poisoned |= out.r_user != 0;
    const bool last = r.beats == beats(r.addr, r.user);
    if (last != out.r_last) throw std::logic_error("RLAST on the wrong beat");
    if (last) {
      r.last_ps = now;
      r.done = true;
      busy_.erase(it);
      ++reads_done_;
    }
  }

  uint32_t beat_;
  double stall_;
  WriteOrder order_;
  Rng rng_;
  std::vector<uint32_t> words_;
  size_t aw_next_ = 0, w_next_ = 0, ar_next_ = 0, reads_done_ = 0, writes_done_ = 0;
  uint32_t w_beat_ = 0;
  unsigned next_id_ = 0;
  std::map<uint8_t, int64_t> busy_;
};

// One lite slave and one burst slave; both keep bytes in a map and log writes.
struct BarWrite {
  std::string port;
  uint32_t addr = 0;
  uint64_t edge_ps = 0;       // data taken
  std::vector<uint8_t> data;  // enabled bytes only
};

class FakeBars {
 public:
  FakeBars(uint32_t data_w, double stall)
      : beat_(data_w / 8), stall_(stall), rng_(rng("fake_bars")), words_(data_w / 32) {}

  axi::BarIn pins;
  std::vector<BarWrite> log;
  std::map<uint32_t, uint8_t> bar0, bar1, bar2, gdr;
  bool fail_next_read = false;
  bool hold_writes = false;   // takes no write data
  bool hold_answers = false;  // gives no read data

  int reads_too_early = 0;  // appeared while a write had no response yet

  void sample(const axi::BarOut& out, uint64_t now) {
    const bool reading = out.bar0.ar_valid || out.bar2.ar_valid || out.gdr.ar_valid;
    if (reading && !was_reading_ && responses_waiting() > 0) ++reads_too_early;
    was_reading_ = reading;
    lite("bar0", l0_, pins.bar0, out.bar0, bar0, now);
    lite("bar2", l2_, pins.bar2, out.bar2, bar2, now);
    burst("bar1", b1_, pins.bar1, out.bar1, bar1, now);
    burst("gdr", bg_, pins.gdr, out.gdr, gdr, now);
  }
  void drive() {
    lite_out(l0_, pins.bar0, bar0);
    lite_out(l2_, pins.bar2, bar2);
    burst_out(b1_, pins.bar1, bar1);
    burst_out(bg_, pins.gdr, gdr);
  }
  int responses_waiting() const { return l0_.b + l2_.b + b1_.b + bg_.b; }

 private:
  struct Lite {
    std::deque<uint32_t> aw;
    std::deque<std::pair<uint32_t, uint8_t>> w;
    std::deque<uint32_t> ar;
    int b = 0;
  };
  struct Burst {
    std::deque<std::pair<uint32_t, uint8_t>> aw, ar;
    std::deque<std::pair<std::vector<uint8_t>, axi::Strobe>> w;
    int bursts_in = 0;
    int b = 0;
    uint32_t r_beat = 0;
  };
  bool stalls() { return stall_ > 0 && rng_.chance(stall_); }

  void lite(const char* name, Lite& s, axi::LiteIn& in, const axi::LiteOut& out,
            std::map<uint32_t, uint8_t>& bytes, uint64_t now) {
    if (in.b_valid && out.b_ready) {
      in.b_valid = false;
      --s.b;
    }
    if (in.r_valid && out.r_ready) {
      in.r_valid = false;
      s.ar.pop_front();
    }
    if (out.aw_valid && in.aw_ready) s.aw.push_back(out.aw_addr);
    if (out.w_valid && in.w_ready) s.w.emplace_back(out.w_data, out.w_strb);
    if (out.ar_valid && in.ar_ready) s.ar.push_back(out.ar_addr);
    while (!s.aw.empty() && !s.w.empty()) {
      BarWrite record{name, s.aw.front(), now, {}};
      for (uint32_t i = 0; i < 4; ++i) {
        if ((s.w.front().second >> i & 1) == 0) continue;
        const auto byte = static_cast<uint8_t>(s.w.front().first >> (8 * i));
        bytes[s.aw.front() + i] = byte;
        if (record.data.empty()) record.addr = s.aw.front() + i;
        record.data.push_back(byte);
      }
      log.push_back(record);
      s.aw.pop_front();
      s.w.pop_front();
      ++s.b;
    }
  }
  void lite_out(Lite& s, axi::LiteIn& in, const std::map<uint32_t, uint8_t>& bytes) {
    in.aw_ready = !stalls();
    in.w_ready = !stalls() && !hold_writes;
    in.ar_ready = !stalls();
    if (!in.b_valid && s.b > 0 && !stalls()) {
      in.b_valid = true;
      in.b_resp = 0;
    }
    if (!in.r_valid && !s.ar.empty() && !stalls() && !hold_answers) {
      in.r_valid = true;
      in.r_resp = fail_next_read ? 2 : 0;
      fail_next_read = false;
      in.r_data = 0;
      for (uint32_t i = 0; i < 4; ++i) {
        const auto it = bytes.find(s.ar.front() + i);
        if (it != bytes.end()) in.r_data |= uint32_t{it->second} << (8 * i);
      }
    }
  }
  void burst(const char* name, Burst& s, axi::BurstIn& in, const axi::BurstOut& out,
             std::map<uint32_t, uint8_t>& bytes, uint64_t now) {
    if (in.b_valid && out.b_ready) {
      in.b_valid = false;
      --s.b;
    }
    if (in.r_valid && out.r_ready) {
      in.r_valid = false;
      if (++s.r_beat > s.ar.front().second) {
        s.ar.pop_front();
        s.r_beat = 0;
      }
    }
    if (out.aw_valid && in.aw_ready) s.aw.emplace_back(out.aw_addr, out.aw_len);
    if (out.ar_valid && in.ar_ready) s.ar.emplace_back(out.ar_addr, out.ar_len);
    if (out.w_valid && in.w_ready) {
      const auto* p = reinterpret_cast<const uint8_t*>(out.w_data);
      s.w.emplace_back(std::vector<uint8_t>(p, p + beat_), out.w_strb);
      if (out.w_last) ++s.bursts_in;
    }
    while (s.bursts_in > 0 && !s.aw.empty()) {
      BarWrite record{name, s.aw.front().first, now, {}};
      uint32_t base = s.aw.front().first / beat_ * beat_;
      for (uint32_t k = 0; k <= s.aw.front().second; ++k, base += beat_) {
        for (uint32_t lane = 0; lane < beat_; ++lane) {
          if ((s.w.front().second[lane / 64] >> (lane % 64) & 1) == 0) continue;
          bytes[base + lane] = s.w.front().first[lane];
          record.data.push_back(s.w.front().first[lane]);
        }
        s.w.pop_front();
      }
      log.push_back(record);
      s.aw.pop_front();
      --s.bursts_in;
      ++s.b;
    }
  }
  void burst_out(Burst& s, axi::BurstIn& in, const std::map<uint32_t, uint8_t>& bytes) {
    in.aw_ready = !stalls();
    in.w_ready = !stalls() && !hold_writes;
    in.ar_ready = !stalls();
    if (!in.b_valid && s.b > 0 && !stalls()) in.b_valid = true;
    if (!in.r_valid && !s.ar.empty() && !stalls() && !hold_answers) {
      in.r_valid = true;
      in.r_last = s.r_beat == s.ar.front().second;
      const uint32_t base = s.ar.front().first / beat_ * beat_ + s.r_beat * beat_;
      auto* p = reinterpret_cast<uint8_t*>(words_.data());
      for (uint32_t lane = 0; lane < beat_; ++lane) {
        const auto it = bytes.find(base + lane);
        p[lane] = it == bytes.end() ? 0 : it->second;
      }
      in.r_data = words_.data();
    }
  }

  bool was_reading_ = false;
  uint32_t beat_;
  double stall_;
  Rng rng_;
  std::vector<uint32_t> words_;
  Lite l0_, l2_;
  Burst b1_, bg_;
};

struct AxiOptions {
  uint32_t data_w = 512;
  double stall = 0;  // of the fake NIC
  axi::DmaStalls agent_stalls;
  uint16_t bar_stall = 0;
  WriteOrder order = WriteOrder::kTogether;
  bool interleave_r = false;
  mem::IommuConfig iommu;
};

struct AxiWorld : World {
  axi::NicPort port;
  FakeDma dma_nic;
  FakeBars bars;
  uint64_t now = 0;
  static constexpr uint64_t kPeriod = 2000;

  AxiWorld(const pcie::Config& config, const AxiOptions& o)
      : World(config, o.iommu),
        port(fabric, {.data_w = o.data_w, .interleave_r = o.interleave_r, .stalls = o.agent_stalls},
             {.data_w = o.data_w, .stall = o.bar_stall}),
        dma_nic(o.data_w, o.stall, o.order),
        bars(o.data_w, o.stall) {}

  void tick() {
    port.dma_in = dma_nic.pins;
    port.bar_in = bars.pins;
    const axi::DmaOut dma_out = port.dma_out();
    const axi::BarOut bar_out = port.bar_out();
    port.sample(now);
    dma_nic.sample(dma_out, now);
    bars.sample(bar_out, now);
    const uint64_t next = now + kPeriod;
    fabric.advance(next);
    port.drive(next);
    dma_nic.drive();
    bars.drive();
    now = next;
  }
  // Until `done`, or throws.
  void run(const std::function<bool()>& done, uint64_t limit = 200000) {
    for (uint64_t i = 0; !done(); ++i) {
      if (i >= limit)
        throw std::runtime_error("AxiWorld: still waiting after " + std::to_string(limit) +
                                 " cycles");
      tick();
    }
  }
  void run_idle(uint64_t limit = 200000) {
    run([this] { return dma_nic.idle(); }, limit);
    fabric.advance(now);
  }
  void ticks(int n) {
    for (int i = 0; i < n; ++i) tick();
  }
};

}  // namespace rnic::test
