// SPDX-License-Identifier: Apache-2.0
//
// Reference of a generated register file, from the access rules (regs/README.md), not from the RTL:
// what every register holds, what every port shows and what every access answers, cycle by cycle. A
// map is typed in by the test.
//
//   CsrModel model({.regs = {...}, .windows = {...}, .window_timeout = 40});
//   model.step(inputs);                       // one clock edge
//   model.out("rw0_a_o", 0)                   // what the port must show now
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rnic::test {

enum class Kind { kRw, kInOut, kIn, kConst, kWt, kPulse, kW1c };

struct ModelField {
  std::string name;
  unsigned lsb, width;
  Kind kind;
  uint64_t reset = 0;
};

struct ModelReg {
  std::string name;  // lower case, as in the ports
  uint32_t offset;
  unsigned width;
  unsigned count;
  uint32_t stride;
  std::vector<ModelField> fields;
};

struct ModelWindow {
  std::string name;
  uint32_t offset, size;
  bool writable;
};

struct ModelMap {
  std::vector<ModelReg> regs;
  std::vector<ModelWindow> windows;
  uint32_t capture;  // offset of addr 23:0, write 30, valid 31
  unsigned window_timeout;
};

// Pins as they are before the edge.
struct ModelInputs {
  bool reset = false;
  bool awvalid = false, wvalid = false, arvalid = false, bready = false, rready = false;
  uint32_t awaddr = 0, wdata = 0, wstrb = 0, araddr = 0;
  std::map<std::string, std::vector<uint64_t>> hw;  // port name to value of each element
  std::vector<bool> ack;
  std::vector<uint32_t> rdata;
};

class CsrModel {
 public:
  explicit CsrModel(ModelMap map) : map_(std::move(map)) { reset(); }

  bool awready() const { return !aw_; }
  bool wready() const { return !w_ && !(win_ >= 0 && win_write_); }
  bool arready() const { return !ar_; }
  bool bvalid() const { return b_; }
  bool rvalid() const { return r_; }
  uint32_t rdata() const { return rdata_; }
  bool bad_pulse() const { return bad_; }
  int window() const { return win_; }  // whose request is up, -1 none
  bool window_write() const { return win_write_; }
  uint32_t window_addr() const { return win_addr_; }
  uint32_t window_wdata() const { return w_data_; }
  uint32_t window_wstrb() const { return w_strb_; }
  uint64_t out(const std::string& port, unsigned i) const {
    const auto it = out_.find(port);
    return it == out_.end() ? 0 : it->second.at(i);
  }
  const std::map<std::string, std::vector<uint64_t>>& outs() const { return out_; }

  // What happened, so that a test can see that it covered what it meant to.
  struct Coverage {
    uint64_t reads = 0, writes = 0, bad = 0, timeouts = 0, set_and_clear = 0, zero_strobe = 0,
             commits = 0, snapshots = 0, window_ops = 0, captures = 0;
  };
  const Coverage& coverage() const { return cov_; }

  void step(const ModelInputs& in) {
    if (in.reset) {
      reset();
      return;
    }
    bad_ = false;
    for (auto& reg : map_.regs) {  // pulses last one cycle
      for (auto& f : reg.fields) {
        if (f.kind == Kind::kPulse) fill(reg, f.name + "_o", 0);
        if (f.kind == Kind::kInOut) fill(reg, f.name + "_we_o", 0);
        if (f.kind == Kind::kWt) fill(reg, "we_o", 0);
      }
    }
    const bool answer_room_b = !b_ || in.bready;
    const bool answer_room_r = !r_ || in.rready;
    if (in.bready) b_ = false;
    if (in.rready) r_ = false;
    const bool took_aw = in.awvalid && awready(), took_w = in.wvalid && wready(),
               took_ar = in.arvalid && arready();
    // One access at a time; who waited gets it.
    uint64_t clear_reg = ~0ULL, clear_mask = 0;
    unsigned clear_elem = 0;
    if (win_ >= 0) {
      step_window(in);
    } else {
      const bool can_write = aw_ && w_ && answer_room_b;
      const bool can_read = ar_ && answer_room_r;
      if (can_write && (!can_read || write_turn_)) {
        write_turn_ = false;
        aw_ = w_ = false;
        do_write(clear_reg, clear_elem, clear_mask, in);
      } else if (can_read) {
        write_turn_ = true;
        ar_ = false;
        do_read(in);
      }
    }
    for (size_t k = 0; k < map_.regs.size(); ++k) {  // events: setting wins, per bit
      auto& reg = map_.regs[k];
      for (auto& f : reg.fields) {
        if (f.kind != Kind::kW1c) continue;
        for (unsigned i = 0; i < reg.count; ++i) {
          auto& v = out_[reg.name + "_" + f.name + "_o"][i];
          const uint64_t set = in.hw.at(reg.name + "_" + f.name + "_i")[i];
          if (k == clear_reg && i == clear_elem) {
            const uint64_t clear = (clear_mask >> f.lsb) & mask(f.width);
            if ((clear & set) != 0) ++cov_.set_and_clear;
            v &= ~clear;
          }
          v |= set;
        }
      }
    }
    if (took_aw) {
      aw_ = true;
      aw_addr_ = in.awaddr & ~3U;
    }
    if (took_w) {
      w_ = true;
      w_data_ = in.wdata;
      w_strb_ = in.wstrb;
    }
    if (took_ar) {
      ar_ = true;
      ar_addr_ = in.araddr & ~3U;
    }
  }

 private:
  struct Place {
    int reg = -1;
    unsigned elem = 0;
    bool high = false;
    int win = -1;
    bool capture = false;
  };

  static uint64_t mask(unsigned width) { return width >= 64 ? ~0ULL : (1ULL << width) - 1; }
  static uint64_t strobe_mask(uint32_t strb) {
    uint64_t m = 0;
    for (int i = 0; i < 8; ++i) {
      if ((strb >> i & 1) != 0) m |= 0xFFULL << (8 * i);
    }
    return m;
  }

  void fill(const ModelReg& reg, const std::string& tail, uint64_t v) {
    out_[reg.name + "_" + tail].assign(reg.count, v);
  }

  void reset() {
    aw_ = w_ = ar_ = b_ = r_ = write_turn_ = bad_ = cap_valid_ = cap_write_ = false;
    cap_addr_ = 0;
    win_ = -1;
    staged_.assign(map_.regs.size(), {});
    snaps_.assign(map_.regs.size(), {});
    for (size_t k = 0; k < map_.regs.size(); ++k) {
      const auto& reg = map_.regs[k];
      staged_[k].assign(reg.count, {0, 0});
      snaps_[k].assign(reg.count, {false, 0});
      for (const auto& f : reg.fields) {
        if (f.kind == Kind::kIn || f.kind == Kind::kConst) continue;
        fill(reg, f.name + "_o", f.reset);
        if (f.kind == Kind::kInOut) fill(reg, f.name + "_we_o", 0);
        if (f.kind == Kind::kWt) fill(reg, "we_o", 0);
      }
    }
  }

  Place find(uint32_t addr) const {
    Place p;
    if (addr == map_.capture) p.capture = true;
    for (size_t k = 0; k < map_.regs.size(); ++k) {
      const auto& reg = map_.regs[k];
      for (unsigned i = 0; i < reg.count; ++i) {
        const uint32_t at = reg.offset + i * reg.stride;
        if (addr != at && !(reg.width == 64 && addr == at + 4)) continue;
        p.reg = static_cast<int>(k);
        p.elem = i;
        p.high = addr != at;
      }
    }
    for (size_t k = 0; k < map_.windows.size(); ++k) {
      const auto& w = map_.windows[k];
      if (addr >= w.offset && addr < w.offset + w.size) p.win = static_cast<int>(k);
    }
    return p;
  }

  uint64_t value(const ModelReg& reg, unsigned i, const ModelInputs& in) const {
    uint64_t v = 0;
    for (const auto& f : reg.fields) {
      uint64_t x = 0;
      if (f.kind == Kind::kIn || f.kind == Kind::kInOut) {
        x = in.hw.at(reg.name + "_" + f.name + "_i")[i];
      } else if (f.kind == Kind::kConst) {
        x = f.reset;
      } else if (f.kind != Kind::kPulse) {
        x = out_.at(reg.name + "_" + f.name + "_o")[i];
      }
      v |= (x & mask(f.width)) << f.lsb;
    }
    return v;
  }

  void bad(uint32_t addr, bool write) {
    bad_ = true;
    ++cov_.bad;
    if (!cap_valid_) {
      cap_valid_ = true;
      cap_write_ = write;
      cap_addr_ = addr;
      ++cov_.captures;
    }
  }

  void start_window(int win, bool write, uint32_t addr) {
    win_ = win;
    win_write_ = write;
    win_abs_ = addr;
    win_addr_ = addr - map_.windows[static_cast<size_t>(win)].offset;
    win_cycles_ = 0;
    ++cov_.window_ops;
  }

  void step_window(const ModelInputs& in) {
    const auto k = static_cast<size_t>(win_);
    ++win_cycles_;
    const bool late = !in.ack[k] && win_cycles_ == map_.window_timeout;
    if (!in.ack[k] && !late) return;
    if (late) {
      ++cov_.timeouts;
      bad(win_abs_, win_write_);
    }
    if (win_write_) {
      b_ = true;
    } else {
      r_ = true;
      rdata_ = late ? 0xFFFFFFFF : in.rdata[k];
    }
    win_ = -1;
  }

  void do_read(const ModelInputs& in) {
    ++cov_.reads;
    const auto p = find(ar_addr_);
    if (p.win >= 0) {
      start_window(p.win, false, ar_addr_);
      return;
    }
    r_ = true;
    if (p.capture) {
      rdata_ = (cap_valid_ ? 1U << 31 : 0) | (cap_write_ ? 1U << 30 : 0) | cap_addr_;
      return;
    }
    if (p.reg < 0) {
      rdata_ = 0xFFFFFFFF;
      bad(ar_addr_, false);
      return;
    }
    const auto k = static_cast<size_t>(p.reg);
    const auto& reg = map_.regs[k];
    const uint64_t v = value(reg, p.elem, in);
    auto& [valid, snap] = snaps_[k][p.elem];
    if (!p.high) {
      rdata_ = static_cast<uint32_t>(v);
      if (reg.width == 64) {
        snap = static_cast<uint32_t>(v >> 32);
        valid = true;
      }
    } else {
      rdata_ = valid ? snap : static_cast<uint32_t>(v >> 32);
      if (valid && snap != static_cast<uint32_t>(v >> 32)) ++cov_.snapshots;
      valid = false;
    }
  }

  void do_write(uint64_t& clear_reg, unsigned& clear_elem, uint64_t& clear_mask,
                const ModelInputs& in) {
    ++cov_.writes;
    const auto p = find(aw_addr_);
    if (w_strb_ == 0) {  // does nothing at all
      ++cov_.zero_strobe;
      b_ = true;
      return;
    }
    if (p.win >= 0 && map_.windows[static_cast<size_t>(p.win)].writable) {
      start_window(p.win, true, aw_addr_);
      return;
    }
    b_ = true;
    if (p.capture) {
      if ((w_strb_ & 8) != 0 && (w_data_ >> 31) != 0) cap_valid_ = false;
      return;
    }
    bool writable = false;
    if (p.reg >= 0) {
      for (const auto& f : map_.regs[static_cast<size_t>(p.reg)].fields) {
        writable |= f.kind != Kind::kIn && f.kind != Kind::kConst;
      }
    }
    if (!writable) {
      bad(aw_addr_, true);
      return;
    }
    const auto k = static_cast<size_t>(p.reg);
    auto& reg = map_.regs[k];
    uint64_t data = w_data_, m = strobe_mask(w_strb_);
    if (reg.width == 64) {
      auto& [s_data, s_mask] = staged_[k][p.elem];
      if (!p.high) {
        s_data = (s_data & ~m) | (data & m);
        s_mask |= m;
        return;
      }
      data = data << 32 | s_data;
      m = m << 32 | s_mask;
      s_mask = 0;
      ++cov_.commits;
    }
    clear_reg = k;
    clear_elem = p.elem;
    clear_mask = data & m;
    for (auto& f : reg.fields) {
      const uint64_t fm = (m >> f.lsb) & mask(f.width);
      const uint64_t fd = (data >> f.lsb) & mask(f.width);
      const auto port = reg.name + "_" + f.name;
      switch (f.kind) {
        case Kind::kRw:
        case Kind::kWt: {
          auto& v = out_[port + "_o"][p.elem];
          v = (v & ~fm) | (fd & fm);
          if (f.kind == Kind::kWt && fm != 0) out_[reg.name + "_we_o"][p.elem] = 1;
          break;
        }
        case Kind::kInOut:
          out_[port + "_o"][p.elem] = (in.hw.at(port + "_i")[p.elem] & ~fm) | (fd & fm);
          out_[port + "_we_o"][p.elem] = fm != 0;
          break;
        case Kind::kPulse:
          out_[port + "_o"][p.elem] = fd & fm;
          break;
        default:
          break;
      }
    }
  }

  ModelMap map_;
  bool aw_ = false, w_ = false, ar_ = false, b_ = false, r_ = false, write_turn_ = false,
       bad_ = false;
  uint32_t aw_addr_ = 0, ar_addr_ = 0, w_data_ = 0, w_strb_ = 0, rdata_ = 0;
  int win_ = -1;
  bool win_write_ = false;
  uint32_t win_addr_ = 0, win_abs_ = 0;
  unsigned win_cycles_ = 0;
  bool cap_valid_ = false, cap_write_ = false;
  uint32_t cap_addr_ = 0;
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> staged_;  // data, mask of the low word
  std::vector<std::vector<std::pair<bool, uint32_t>>> snaps_;
  std::map<std::string, std::vector<uint64_t>> out_;
  Coverage cov_;
};

}  // namespace rnic::test
