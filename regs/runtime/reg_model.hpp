// SPDX-License-Identifier: Apache-2.0
//
// Cycle-accurate reference of a generated register file, written from the rules of access (which
// see in the generator's README), not from the RTL. The generator writes the tables of a block
// (<map>_<block>_model.hpp); this engine knows no map.
//
//   regmodel::RegModel model(regmodel::all_plain());
//   regmodel::Inputs in(model.block());
//   in.awvalid = true; ...  in.hw[port][element] = 1;
//   model.step(in);                 // one clock edge
//   model.out(port, element);       // what the port must show now
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace regmodel {

enum class Access {
  kRw,
  kRo,
  kWo,
  kWt,
  kPulse,
  kW1c,
  kW1s,
  kW1t,
  kW0c,
  kW0s,
  kW0t,
  kWc,
  kWs,
  kRc,
  kRs,
  kWrc,
  kWrs,
  kRwOnce
};

enum class PortKind {
  kValue,
  kLive,
  kLoad,
  kLoadWe,
  kSet,
  kClear,
  kGiven,
  kGivenWe,
  kHeld,
  kTrigger,
  kWrPulse,
  kRdPulse,
  kIncr,
  kDecr,
  kReached,
  kIrqInput,
  kIrq,
  kReq,
  kWe,
  kAddr,
  kWdata,
  kWstrb,
  kAck,
  kRdata
};

enum class IrqKind { kPulse, kRising, kFalling, kBoth, kLevel };

struct CounterInfo {
  unsigned incr = 0, decr = 0;  // widths of the ports
  bool saturate = false;
  std::uint64_t max = 0;
  std::uint64_t threshold = 0;  // 0: none
};

struct LockInfo {
  int reg = -1, field = -1;
  bool when = true;
  bool same_element = false;
};

struct FieldInfo {
  std::string_view name;
  unsigned lsb, width;
  Access access;
  std::string_view hw;  // letters: o out, i in, l load, s set, c clear, h held (inout), w, r pulses
  bool software_on_top;
  bool constant;
  std::uint64_t reset;
  CounterInfo counter;
  LockInfo lock;
};

// What is asked of a field.
inline bool has(const FieldInfo& f, char what) { return f.hw.find(what) != std::string_view::npos; }
inline bool stored(const FieldInfo& f) { return !f.constant && !has(f, 'i'); }
inline bool readable(const FieldInfo& f) { return f.access != Access::kWo; }
inline bool writable(const FieldInfo& f) {
  return f.access != Access::kRo && f.access != Access::kRc && f.access != Access::kRs;
}
// A read changes it.
inline bool read_acts(const FieldInfo& f) {
  return f.access >= Access::kRc && f.access <= Access::kWrs;
}
inline bool hardware(const FieldInfo& f) {
  return has(f, 'l') || has(f, 's') || has(f, 'c') || f.counter.incr != 0 || f.counter.decr != 0;
}
inline std::uint64_t ones(unsigned w) { return w >= 64 ? ~0ULL : (1ULL << w) - 1; }

enum class Role { kNone, kState, kEnable, kTest, kCapture };

struct RegInfo {
  std::string_view name;
  unsigned width;
  bool buffered;
  int remote;  // external: index of the remote that answers
  Role role;
  int group;                           // of interrupts
  std::vector<std::uint64_t> offsets;  // of each element
  std::vector<FieldInfo> fields;
};

struct RemoteInfo {
  std::string_view name;
  bool readable, writable;
  std::uint64_t offset, span;
  unsigned addr_width;
  bool window;  // decoded by range; else through its register
};

struct GroupInfo {
  std::string_view name;
  std::vector<IrqKind> sources;
  int state, enable, test;  // registers
};

struct PortInfo {
  std::string_view name;
  PortKind kind;
  bool output;
  unsigned width, count;
  int reg, field;  // or
  int index;       // remote; group
  int source;      // of the group
};

struct BlockInfo {
  std::string_view name;
  unsigned addr_width;
  bool slverr, pipelined;
  std::vector<RegInfo> regs;
  std::vector<RemoteInfo> remotes;
  std::vector<GroupInfo> groups;
  std::vector<PortInfo> ports;
};

// Pins as they are before the edge.
struct Inputs {
  explicit Inputs(const BlockInfo& b) : ack(b.remotes.size()), rdata(b.remotes.size()) {
    for (const auto& p : b.ports) hw.emplace_back(p.count, 0);
  }
  bool reset = false;
  bool awvalid = false, wvalid = false, arvalid = false, bready = false, rready = false;
  std::uint64_t awaddr = 0, araddr = 0;
  std::uint32_t wdata = 0, wstrb = 0;
  std::vector<std::vector<std::uint64_t>> hw;  // by port and element
  std::vector<bool> ack;
  std::vector<std::uint32_t> rdata;
};

// How often what a test is after has happened to a field.
struct Coverage {
  std::uint64_t writes = 0, reads = 0, hardware = 0, collisions = 0, locked = 0, partial = 0;
};

class RegModel {
 public:
  RegModel(BlockInfo block, unsigned window_timeout)
      : b_(std::move(block)), timeout_(window_timeout) {
    index_ports();
    index_words();
    for (const auto& r : b_.regs) {
      auto& v = cover_.emplace_back();
      v.resize(r.fields.size());
    }
    last_.resize(b_.groups.size());
    for (std::size_t g = 0; g < b_.groups.size(); ++g) last_[g].resize(b_.groups[g].sources.size());
    reset();
  }

  [[nodiscard]] const BlockInfo& block() const { return b_; }
  [[nodiscard]] bool awready() const { return !aw_; }
  [[nodiscard]] bool wready() const { return !w_ && !(win_ >= 0 && win_write_); }
  [[nodiscard]] bool arready() const { return !ar_; }
  [[nodiscard]] bool bvalid() const { return b_valid_; }
  [[nodiscard]] bool rvalid() const { return r_valid_; }
  [[nodiscard]] std::uint32_t rdata() const { return r_data_; }
  [[nodiscard]] unsigned bresp() const { return b_err_ ? 2 : 0; }
  [[nodiscard]] unsigned rresp() const { return r_err_ ? 2 : 0; }
  [[nodiscard]] bool bad_pulse() const { return bad_pulse_; }
  [[nodiscard]] std::uint64_t bad_accesses() const { return n_bad_; }
  [[nodiscard]] std::uint64_t timeouts() const { return n_timeouts_; }
  [[nodiscard]] const std::vector<std::vector<Coverage>>& coverage() const { return cover_; }

  // The value of an output now.
  [[nodiscard]] std::uint64_t out(std::size_t port, unsigned i) const {
    const auto& p = b_.ports[port];
    const auto at = [&](const auto& list) { return list[u(p.reg)][u(p.field)][i]; };
    switch (p.kind) {
      case PortKind::kValue:
      case PortKind::kGiven:
        return at(value_);
      case PortKind::kGivenWe:
      case PortKind::kWrPulse:
        return at(wr_pulse_);
      case PortKind::kRdPulse:
        return at(rd_pulse_);
      case PortKind::kReached:
        return at(value_) >= field(p).counter.threshold ? 1 : 0;
      case PortKind::kTrigger:
        return trigger_[u(p.reg)][i];
      case PortKind::kIrq:
        return irq_[u(p.index)];
      case PortKind::kReq:
        return win_ == p.index ? 1 : 0;
      case PortKind::kWe:
        return win_write_ ? 1 : 0;
      case PortKind::kAddr:
        return (win_addr_ - b_.remotes[u(p.index)].offset) & ones(p.width);
      case PortKind::kWdata:
        return w_data_;
      case PortKind::kWstrb:
        return w_strb_;
      default:
        throw std::logic_error("an input has no expected value: " + std::string(p.name));
    }
  }
  // Ports of a remote only mean something while it is asked (and data while it is written).
  [[nodiscard]] bool meaningful(std::size_t port) const {
    const auto& p = b_.ports[port];
    switch (p.kind) {
      case PortKind::kWe:
      case PortKind::kAddr:
        return win_ == p.index;
      case PortKind::kWdata:
      case PortKind::kWstrb:
        return win_ == p.index && win_write_;
      default:
        return true;
    }
  }

  void step(const Inputs& in) {
    for (std::size_t g = 0; g < b_.groups.size(); ++g) edges(in, g);
    if (in.reset) {
      reset();
      for (std::size_t g = 0; g < b_.groups.size(); ++g) remember(in, g);
      return;
    }
    const bool took_aw = in.awvalid && awready();
    const bool took_w = in.wvalid && wready();
    const bool took_ar = in.arvalid && arready();
    const bool room_b = !b_valid_ || in.bready;
    const bool room_r = !r_valid_ || in.rready;
    if (in.bready) b_valid_ = false;
    if (in.rready) r_valid_ = false;
    bad_pulse_ = false;
    act_ = {};
    if (pending_)
      finish_pending();
    else if (win_ >= 0)
      wait_for_remote(in);
    else
      choose(in, room_b, room_r);
    update_fields(in);
    if (took_aw) {
      aw_ = true;
      aw_addr_ = in.awaddr & ~3ULL;
    }
    if (took_w) {
      w_ = true;
      w_data_ = in.wdata;
      w_strb_ = in.wstrb;
    }
    if (took_ar) {
      ar_ = true;
      ar_addr_ = in.araddr & ~3ULL;
    }
    for (std::size_t g = 0; g < b_.groups.size(); ++g) remember(in, g);
  }

 private:
  using PerField = std::vector<std::vector<std::vector<std::uint64_t>>>;  // reg, field, element

  struct Place {
    int reg = -1;
    unsigned elem = 0;
    unsigned word = 0;
  };
  struct Word {
    Place read, write;
    int remote = -1;
  };
  // What software does to one register element in this cycle.
  struct Act {
    int reg = -1;
    unsigned elem = 0;
    bool write = false, read = false;
    std::uint64_t data = 0, mask = 0;  // of a write
    std::uint64_t reach = 0;           // bits of the words that a write goes to
    std::uint64_t seen = 0;            // bits that a read has side effects on
  };

  static std::size_t u(int i) { return static_cast<std::size_t>(i); }
  static std::uint64_t strobes(std::uint32_t s) {
    std::uint64_t m = 0;
    for (unsigned i = 0; i < 4; ++i) m |= (s >> i & 1) != 0 ? 0xFFULL << (8 * i) : 0;
    return m;
  }
  [[nodiscard]] const FieldInfo& field(const PortInfo& p) const {
    return b_.regs[u(p.reg)].fields[u(p.field)];
  }

  void index_ports() {
    for (const auto& r : b_.regs) {
      auto& list = in_port_.emplace_back();
      list.resize(r.fields.size());
    }
    for (std::size_t k = 0; k < b_.ports.size(); ++k) {
      const auto& p = b_.ports[k];
      if (p.output || p.reg < 0 || p.field < 0) continue;
      in_port_[u(p.reg)][u(p.field)].push_back({p.kind, k});
    }
    irq_port_.resize(b_.groups.size());
    for (std::size_t k = 0; k < b_.ports.size(); ++k) {
      if (b_.ports[k].kind == PortKind::kIrqInput) irq_port_[u(b_.ports[k].index)].push_back(k);
    }
  }

  void index_words() {
    for (std::size_t k = 0; k < b_.regs.size(); ++k) {
      const auto& r = b_.regs[k];
      bool reads = false, writes = false;
      for (const auto& f : r.fields) {
        reads |= readable(f);
        writes |= writable(f);
      }
      for (unsigned i = 0; i < r.offsets.size(); ++i) {
        for (unsigned w = 0; w < r.width / 32; ++w) {
          auto& word = words_[r.offsets[i] + 4 * w];
          const Place p{static_cast<int>(k), i, w};
          if (reads) word.read = p;
          if (writes) word.write = p;
          if (r.remote >= 0) word.remote = r.remote;
        }
      }
    }
  }

  void reset() {
    aw_ = w_ = ar_ = b_valid_ = r_valid_ = b_err_ = r_err_ = write_turn_ = bad_pulse_ = false;
    pending_ = false;
    win_ = -1;
    cap_valid_ = cap_write_ = false;
    cap_addr_ = 0;
    value_.clear();
    for (const auto& r : b_.regs) {
      auto& fields = value_.emplace_back();
      for (const auto& f : r.fields) fields.emplace_back(r.offsets.size(), stored(f) ? f.reset : 0);
    }
    const auto zero = [&](PerField& p) {
      p.clear();
      for (const auto& r : b_.regs) {
        auto& fields = p.emplace_back();
        for (std::size_t k = 0; k < r.fields.size(); ++k) fields.emplace_back(r.offsets.size(), 0);
      }
    };
    zero(wr_pulse_);
    zero(rd_pulse_);
    zero(once_);
    trigger_.clear();
    staged_.clear();
    snap_.clear();
    for (const auto& r : b_.regs) {
      trigger_.emplace_back(r.offsets.size(), 0);
      staged_.emplace_back(r.offsets.size());
      snap_.emplace_back(r.offsets.size());
    }
    irq_.assign(b_.groups.size(), 0);
  }

  // -- interrupts

  void edges(const Inputs& in, std::size_t g) {
    const auto& group = b_.groups[g];
    auto& now = event_.size() > g ? event_[g] : (event_.resize(g + 1), event_[g]);
    now.assign(group.sources.size(), 0);
    for (std::size_t s = 0; s < group.sources.size(); ++s) {
      const bool level = in.hw[irq_port_[g][s]][0] != 0;
      const bool before = last_[g][s] != 0;
      switch (group.sources[s]) {
        case IrqKind::kPulse:
        case IrqKind::kLevel:
          now[s] = level;
          break;
        case IrqKind::kRising:
          now[s] = level && !before;
          break;
        case IrqKind::kFalling:
          now[s] = !level && before;
          break;
        case IrqKind::kBoth:
          now[s] = level != before;
          break;
      }
      // A test bit is as good as the source.
      if (value_[u(group.test)][s][0] != 0) now[s] = 1;
    }
  }
  void remember(const Inputs& in, std::size_t g) {
    for (std::size_t s = 0; s < last_[g].size(); ++s) last_[g][s] = in.hw[irq_port_[g][s]][0];
  }

  // -- what reads show

  [[nodiscard]] std::uint64_t show(const Inputs& in, std::size_t k, unsigned i) const {
    const auto& r = b_.regs[k];
    if (r.role == Role::kCapture) {
      std::uint64_t v = 0;
      for (const auto& f : r.fields) {
        const std::uint64_t x = f.name == "addr"    ? cap_addr_
                                : f.name == "write" ? (cap_write_ ? 1 : 0)
                                                    : (cap_valid_ ? 1 : 0);
        v |= (x & ones(f.width)) << f.lsb;
      }
      return v;
    }
    std::uint64_t v = 0;
    for (std::size_t n = 0; n < r.fields.size(); ++n) {
      const auto& f = r.fields[n];
      if (!readable(f) || f.access == Access::kPulse) continue;
      std::uint64_t x = value_[k][n][i];
      if (f.constant) x = f.reset;
      if (r.role == Role::kState && has(f, 'i'))
        x = event_[u(r.group)][n];
      else if (has(f, 'i') || has(f, 'h'))
        x = pin(in, k, n, has(f, 'i') ? PortKind::kLive : PortKind::kHeld, i);
      v |= (x & ones(f.width)) << f.lsb;
    }
    return v;
  }

  [[nodiscard]] std::uint64_t pin(const Inputs& in, std::size_t k, std::size_t n, PortKind kind,
                                  unsigned i) const {
    for (const auto& [what, port] : in_port_[k][n]) {
      if (what == kind) return in.hw[port][i];
    }
    return 0;
  }

  // -- the bus

  [[nodiscard]] Word find(std::uint64_t addr) const {
    if (const auto it = words_.find(addr); it != words_.end()) return it->second;
    Word w;
    for (std::size_t k = 0; k < b_.remotes.size(); ++k) {
      const auto& r = b_.remotes[k];
      if (r.window && addr >= r.offset && addr < r.offset + r.span) w.remote = static_cast<int>(k);
    }
    return w;
  }

  void choose(const Inputs& in, bool room_b, bool room_r) {
    const bool can_write = aw_ && w_ && room_b;
    const bool can_read = ar_ && room_r;
    if (can_write && (!can_read || write_turn_)) {
      write_turn_ = false;
      aw_ = w_ = false;
      write(aw_addr_);
    } else if (can_read) {
      write_turn_ = true;
      ar_ = false;
      read(in, ar_addr_);
    }
  }

  void bad(std::uint64_t addr, bool write) {
    bad_pulse_ = true;
    ++n_bad_;
    if (cap_valid_) return;
    cap_valid_ = true;
    cap_write_ = write;
    cap_addr_ = addr;
  }

  void answer(bool write, bool good, std::uint32_t data, std::uint64_t addr) {
    if (!good) bad(addr, write);
    if (write) {
      b_valid_ = true;
      b_err_ = !good && b_.slverr;
    } else {
      r_valid_ = true;
      r_err_ = !good && b_.slverr;
      r_data_ = good ? data : b_.slverr ? 0 : 0xFFFFFFFFU;
    }
  }
  // At once, or one cycle later in a pipelined file.
  void reply(bool write, bool good, std::uint32_t data, std::uint64_t addr) {
    if (!b_.pipelined) {
      answer(write, good, data, addr);
      return;
    }
    pending_ = true;
    p_write_ = write;
    p_good_ = good;
    p_data_ = data;
    p_addr_ = addr;
  }
  void finish_pending() {
    pending_ = false;
    answer(p_write_, p_good_, p_data_, p_addr_);
  }

  void ask(int remote, bool write, std::uint64_t addr) {
    win_ = remote;
    win_write_ = write;
    win_addr_ = addr;
    win_cycles_ = 0;
  }

  void wait_for_remote(const Inputs& in) {
    ++win_cycles_;
    const bool ack = in.ack[u(win_)];
    if (!ack && win_cycles_ < timeout_) return;
    if (!ack) ++n_timeouts_;
    answer(win_write_, ack, in.rdata[u(win_)], win_addr_);
    win_ = -1;
  }

  void read(const Inputs& in, std::uint64_t addr) {
    const auto w = find(addr);
    if (w.remote >= 0) {
      if (b_.remotes[u(w.remote)].readable)
        ask(w.remote, false, addr);
      else
        reply(false, false, 0, addr);
      return;
    }
    if (w.read.reg < 0) {
      reply(false, false, 0, addr);
      return;
    }
    const auto k = u(w.read.reg);
    const auto& r = b_.regs[k];
    const auto i = w.read.elem;
    const std::uint64_t v = show(in, k, i);
    auto data = static_cast<std::uint32_t>(v >> (32 * w.read.word));
    const bool buffered = r.width == 64 && r.buffered;
    if (buffered) {
      auto& [valid, high] = snap_[k][i];
      if (w.read.word == 0) {
        valid = true;
        high = static_cast<std::uint32_t>(v >> 32);
      } else {
        if (valid) data = high;
        valid = false;
      }
    }
    // Side effects: of a buffered register all with its low word, else of the word itself.
    if (!buffered || w.read.word == 0) {
      act_.reg = w.read.reg;
      act_.elem = i;
      act_.read = true;
      act_.seen = buffered ? ~0ULL : 0xFFFFFFFFULL << (32 * w.read.word);
    }
    reply(false, true, data, addr);
  }

  void write(std::uint64_t addr) {
    if (w_strb_ == 0) {  // nothing at all
      reply(true, true, 0, addr);
      return;
    }
    const auto w = find(addr);
    if (w.remote >= 0) {
      if (b_.remotes[u(w.remote)].writable)
        ask(w.remote, true, addr);
      else
        reply(true, false, 0, addr);
      return;
    }
    if (w.write.reg < 0) {
      reply(true, false, 0, addr);
      return;
    }
    const auto k = u(w.write.reg);
    const auto& r = b_.regs[k];
    const auto i = w.write.elem;
    std::uint64_t data = w_data_, m = strobes(w_strb_), reach = ~0ULL;
    if (r.role == Role::kCapture) {
      for (const auto& f : r.fields) {
        if (f.name == "valid" && ((data & m) >> f.lsb & 1) != 0) cap_valid_ = false;
      }
      reply(true, true, 0, addr);
      return;
    }
    bool acts = true;
    if (r.width == 64 && r.buffered) {
      auto& [low, low_mask] = staged_[k][i];
      if (w.write.word == 0) {
        low = (low & ~m) | (data & m);
        low_mask |= m;
        acts = false;
      } else {
        data = data << 32 | low;
        m = m << 32 | low_mask;
        low_mask = 0;
      }
    } else {
      data <<= 32 * w.write.word;
      m <<= 32 * w.write.word;
      reach = 0xFFFFFFFFULL << (32 * w.write.word);
    }
    if (acts) {
      act_.reg = w.write.reg;
      act_.elem = i;
      act_.write = true;
      act_.data = data;
      act_.mask = m;
      act_.reach = reach;
    }
    reply(true, true, 0, addr);
  }

  // -- fields

  [[nodiscard]] bool locked(const FieldInfo& f, unsigned i) const {
    if (f.lock.reg < 0) return false;
    const auto bit = value_[u(f.lock.reg)][u(f.lock.field)][f.lock.same_element ? i : 0];
    return (bit != 0) == f.lock.when;
  }

  // What a write makes of q: bit by bit where the mask is set.
  static std::uint64_t written(Access a, std::uint64_t q, std::uint64_t d, std::uint64_t m) {
    std::uint64_t r = 0;
    for (unsigned b = 0; b < 64; ++b) {
      const bool old = (q >> b & 1) != 0, bit = (d >> b & 1) != 0;
      bool now = old;
      if ((m >> b & 1) != 0) {
        switch (a) {
          case Access::kW1c:
            now = old && !bit;
            break;
          case Access::kW1s:
            now = old || bit;
            break;
          case Access::kW1t:
            now = old != bit;
            break;
          case Access::kW0c:
            now = old && bit;
            break;
          case Access::kW0s:
            now = old || !bit;
            break;
          case Access::kW0t:
            now = old == bit;
            break;
          case Access::kWc:
            now = false;
            break;
          case Access::kWs:
            now = true;
            break;
          case Access::kRo:
          case Access::kRc:
          case Access::kRs:
            break;
          default:
            now = bit;
            break;
        }
      }
      r |= now ? 1ULL << b : 0;
    }
    return r;
  }

  void update_fields(const Inputs& in) {
    std::vector<std::uint64_t> line;
    for (const auto& g : b_.groups) {  // the lines show the state before this edge
      bool any = false;
      const auto& state = b_.regs[u(g.state)];
      for (std::size_t s = 0; s < g.sources.size(); ++s) {
        const bool shown = g.sources[s] == IrqKind::kLevel ? event_[u(state.group)][s] != 0
                                                           : value_[u(g.state)][s][0] != 0;
        any |= shown && value_[u(g.enable)][s][0] != 0;
      }
      line.push_back(any ? 1 : 0);
    }
    next_.clear();
    for (std::size_t k = 0; k < b_.regs.size(); ++k) {
      const auto& r = b_.regs[k];
      if (r.remote >= 0 || r.role == Role::kCapture) continue;
      for (unsigned i = 0; i < r.offsets.size(); ++i) {
        const bool mine = act_.reg == static_cast<int>(k) && act_.elem == i;
        trigger_[k][i] = 0;
        for (std::size_t n = 0; n < r.fields.size(); ++n) update_field(in, k, n, i, mine);
      }
    }
    for (const auto& [where, v] : next_) *where = v;
    irq_ = line;
  }

  void update_field(const Inputs& in, std::size_t k, std::size_t n, unsigned i, bool mine) {
    const auto& f = b_.regs[k].fields[n];
    auto& cover = cover_[k][n];
    wr_pulse_[k][n][i] = 0;
    rd_pulse_[k][n][i] = 0;
    const bool reads = mine && act_.read && (act_.seen >> f.lsb & 1) != 0;
    if (reads) {
      ++cover.reads;
      rd_pulse_[k][n][i] = 1;
    }
    if (!stored(f)) return;
    const std::uint64_t m = mine && act_.write ? (act_.mask >> f.lsb) & ones(f.width) : 0;
    const std::uint64_t d = mine && act_.write ? (act_.data >> f.lsb) & ones(f.width) : 0;
    const bool blocked = locked(f, i) || (f.access == Access::kRwOnce && once_[k][n][i] != 0);
    const bool writes = m != 0 && !blocked && writable(f);
    if (m != 0 && blocked && writable(f)) ++cover.locked;
    if (m != 0 && m != ones(f.width)) ++cover.partial;
    if (writes) {
      ++cover.writes;
      wr_pulse_[k][n][i] = 1;
      if (f.access == Access::kWt) trigger_[k][i] = 1;
      if (f.access == Access::kRwOnce) marks_.push_back(&once_[k][n][i]);
    }
    const std::uint64_t q = value_[k][n][i];
    std::uint64_t v = q;
    if (f.access == Access::kPulse) {
      v = writes ? d & m : 0;
    } else if (has(f, 'h')) {
      // Any write of its word takes the value along; the pulse says that the field was written.
      const bool taken = mine && act_.write && !blocked && (act_.reach >> f.lsb & 1) != 0;
      if (taken) v = (pin(in, k, n, PortKind::kHeld, i) & ~m) | (d & m);
    } else {
      const auto soft = [&] {
        if (writes) v = written(f.access, v, d, m);
        if (reads && (f.access == Access::kRc || f.access == Access::kWrc)) v = 0;
        if (reads && (f.access == Access::kRs || f.access == Access::kWrs)) v = ones(f.width);
      };
      bool hard_acts = false;
      const auto hard = [&] { v = by_hardware(in, k, n, i, v, hard_acts); };
      if (f.software_on_top) {
        hard();
        soft();
      } else {
        soft();
        hard();
      }
      if (hard_acts) ++cover.hardware;
      const bool soft_acts = writes || (reads && read_acts(f));
      if (hard_acts && soft_acts) ++cover.collisions;
    }
    next_.push_back({&value_[k][n][i], v});
    for (auto* mark : marks_) next_.push_back({mark, 1});
    marks_.clear();
  }

  std::uint64_t by_hardware(const Inputs& in, std::size_t k, std::size_t n, unsigned i,
                            std::uint64_t v, bool& acts) const {
    const auto& r = b_.regs[k];
    const auto& f = r.fields[n];
    if (!hardware(f)) return v;
    if (has(f, 'l') && pin(in, k, n, PortKind::kLoadWe, i) != 0) {
      v = pin(in, k, n, PortKind::kLoad, i);
      acts = true;
    }
    if (has(f, 'c')) {
      const auto c = pin(in, k, n, PortKind::kClear, i);
      v &= ~c;
      acts |= c != 0;
    }
    if (f.counter.incr != 0 || f.counter.decr != 0) {
      const auto up = f.counter.incr != 0 ? pin(in, k, n, PortKind::kIncr, i) : 0;
      const auto down = f.counter.decr != 0 ? pin(in, k, n, PortKind::kDecr, i) : 0;
      acts |= up != 0 || down != 0;
      auto sum = static_cast<__int128>(v) + static_cast<__int128>(up) - static_cast<__int128>(down);
      if (f.counter.saturate) {
        if (sum < 0) sum = 0;
        if (sum > static_cast<__int128>(f.counter.max)) sum = static_cast<__int128>(f.counter.max);
      }
      v = static_cast<std::uint64_t>(sum) & ones(f.width);
    }
    if (has(f, 's')) {
      const auto s =
          r.role == Role::kState ? event_[u(r.group)][n] : pin(in, k, n, PortKind::kSet, i);
      v |= s;
      acts |= s != 0;
    }
    return v;
  }

  BlockInfo b_;
  unsigned timeout_;
  std::unordered_map<std::uint64_t, Word> words_;
  std::vector<std::vector<std::vector<std::pair<PortKind, std::size_t>>>> in_port_;
  std::vector<std::vector<std::size_t>> irq_port_;

  bool aw_ = false, w_ = false, ar_ = false, b_valid_ = false, r_valid_ = false, b_err_ = false,
       r_err_ = false, write_turn_ = false, bad_pulse_ = false;
  std::uint64_t aw_addr_ = 0, ar_addr_ = 0;
  std::uint32_t w_data_ = 0, w_strb_ = 0, r_data_ = 0;
  bool pending_ = false, p_write_ = false, p_good_ = false;
  std::uint32_t p_data_ = 0;
  std::uint64_t p_addr_ = 0;
  int win_ = -1;
  bool win_write_ = false;
  std::uint64_t win_addr_ = 0;
  unsigned win_cycles_ = 0;
  bool cap_valid_ = false, cap_write_ = false;
  std::uint64_t cap_addr_ = 0;

  Act act_;
  PerField value_, wr_pulse_, rd_pulse_, once_;
  std::vector<std::pair<std::uint64_t*, std::uint64_t>> next_;
  std::vector<std::uint64_t*> marks_;
  std::vector<std::vector<std::uint64_t>> trigger_;
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> staged_;  // data, mask
  std::vector<std::vector<std::pair<bool, std::uint32_t>>> snap_;
  std::vector<std::vector<std::uint64_t>> last_, event_;
  std::vector<std::uint64_t> irq_;
  std::uint64_t n_bad_ = 0, n_timeouts_ = 0;
  std::vector<std::vector<Coverage>> cover_;
};

}  // namespace regmodel
