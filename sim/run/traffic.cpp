// SPDX-License-Identifier: Apache-2.0
// Many WRITEs at once: programs post, the NICs work, every message is compared when it is done.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <map>

#include "regs/gen/rnic_regs.h"
#include "rnic_top_lists.hpp"
#include "sim/run/session.hpp"

namespace rnic::sim {

namespace {
// Of a traffic step, the trace file shows so much.
constexpr size_t kTracedMessages = 300;
constexpr size_t kTracedEvents = 15'000;  // per node
constexpr TimePs kSettlePs = 1'500'000;   // an ACK may overtake data on their way into memory

// When the bytes of a region became visible.
class FlowWatch final : public pcie::Observer {
 public:
  FlowWatch(pcie::Fabric& fabric, uint64_t addr, uint64_t size, uint64_t warm_bytes)
      : fabric_(fabric), first_(addr), last_(addr + size), warm_(warm_bytes) {
    fabric_.add_observer(this);
  }
  ~FlowWatch() override { fabric_.remove_observer(this); }
  FlowWatch(const FlowWatch&) = delete;
  FlowWatch& operator=(const FlowWatch&) = delete;
  void on_visible(const pcie::VisibleEvent& v) override {
    if (v.addr < first_ || v.addr >= last_) return;
    const uint64_t before = bytes_;
    bytes_ += v.len;
    if (before < warm_ && bytes_ >= warm_) {
      warm_at_ = v.time_ps;
      warm_bytes_ = bytes_;
    }
    end_ = v.time_ps;
  }
  // Bytes and time from the warm point to the last byte.
  uint64_t bytes() const { return bytes_ - warm_bytes_; }
  TimePs time() const { return end_ - warm_at_; }
  uint64_t all_bytes() const { return bytes_; }

 private:
  pcie::Fabric& fabric_;
  uint64_t first_, last_, warm_;
  uint64_t bytes_ = 0, warm_bytes_ = 0;
  TimePs warm_at_ = 0, end_ = 0;
};

// One QP of a flow: its program on the sender, and what it expects at the receiver.
struct Lane {
  Qp* self = nullptr;
  Qp* peer = nullptr;
  uint32_t number = 0;
  uint32_t to_post = 0, posted = 0, completed = 0, unrung = 0, received = 0, receives_posted = 0;
  struct Message {
    uint16_t index = 0;
    uint32_t slot = 0, len = 0, offset = 0, imm = 0;
    TimePs done_ps = 0;
  };
  std::deque<Message> flying, settling;
  std::deque<Message> expect_receive;
  std::vector<uint32_t> free_slots;
};

struct FlowRun {
  const Flow* flow = nullptr;
  size_t from = 0, to = 0;
  Region* source = nullptr;
  Region* target = nullptr;
  uint64_t slot_bytes = 0;
  uint32_t slots = 0;  // per lane
  std::vector<Lane> lanes;
  std::unique_ptr<FlowWatch> watch;
  mem::Random rng;
  uint64_t bytes_posted = 0, compared = 0;
  uint64_t differences = 0;
  std::vector<uint8_t> scratch, got;
};

Place place_of(Memory m) { return m == Memory::kGpu ? Place::kGpu : Place::kHost; }

uint64_t source_offset(const FlowRun& r, const Lane& l, const Lane::Message& m) {
  return (uint64_t{l.number} * r.slots + m.slot) * r.slot_bytes + m.offset;
}

// Different from any other message's bytes: a counter through a mixer, cheaper than the NIC by far.
void fill(FlowRun& r, uint32_t len) {
  r.scratch.resize((len + 7) / 8 * 8);
  uint64_t state = r.rng.next();
  for (size_t i = 0; i < r.scratch.size(); i += 8) {
    state += 0x9E3779B97F4A7C15ull;
    const uint64_t v = state ^ (state >> 29);
    std::memcpy(&r.scratch[i], &v, 8);
  }
}

void compare(Session& s, const std::string& name, FlowRun& r, Lane& l, const Lane::Message& m) {
  const uint64_t off = source_offset(r, l, m);
  ++r.compared;
  const auto d = mem::MemoryChecker::compare(r.target->buffer, off, r.source->buffer, off, m.len);
  if (d) {
    ++r.differences;
    s.problem(fmt::format("{}: QP {} message at block {}, {} bytes: {}", name, l.self->number(),
                          m.index, m.len, d->to_string()));
  }
  l.free_slots.push_back(m.slot);
}

void post(Session& s, const std::string& name, FlowRun& r, Lane& l,
          std::vector<MessageInfo>& traced) {
  const Flow& f = *r.flow;
  while (l.posted < l.to_post) {
    const uint32_t group = std::min(f.doorbell_every, l.to_post - l.posted);
    if (l.flying.size() + group > f.depth || l.free_slots.size() < group) break;
    uint32_t blocks = 0;
    for (uint32_t size : f.sizes)
      blocks = std::max(blocks, f.inlined ? (32 + size + RNIC_WQE_BLOCK - 1) / RNIC_WQE_BLOCK : 1u);
    if (l.self->qp->free_blocks() < blocks * group) break;
    for (uint32_t i = 0; i < group; ++i) {
      Lane::Message m;
      m.len = f.sizes.size() == 1 ? f.sizes[0] : f.sizes[r.rng.below(f.sizes.size())];
      m.slot = l.free_slots.back();
      l.free_slots.pop_back();
      if (f.random_offsets && r.slot_bytes > m.len)
        m.offset = static_cast<uint32_t>(r.rng.below(r.slot_bytes - m.len + 1));
      const uint64_t off = source_offset(r, l, m);
      fill(r, m.len);
      r.source->buffer.write(off, r.scratch.data(), m.len);
      driver::WriteRequest w;
      if (f.inlined) {
        w.use_inline = true;
        w.inline_data.assign(r.scratch.begin(), r.scratch.begin() + m.len);
      } else {
        w.local = {{r.source->key, m.len, r.source->va + off}};
      }
      w.remote_va = r.target->va + off;
      w.rkey = r.target->key;
      ++l.posted;
      w.signaled = l.posted % f.signal_every == 0 || l.posted == l.to_post;
      if (f.imm) w.imm = m.imm = l.posted;
      m.index = l.self->qp->post_write(w);
      const uint32_t psn = l.self->take_psns(m.len);
      if (s.tracing() && traced.size() < kTracedMessages) {
        MessageInfo t;
        t.label = name;
        t.from = r.from;
        t.to = r.to;
        t.qpn = l.self->number();
        t.peer_qpn = l.peer->number();
        t.wqe_index = m.index;
        t.first_psn = psn;
        t.last_psn = l.self->last_psn(psn, m.len);
        t.bytes = m.len;
        t.start_ps = t.store_ps = s.world().now_ps();
        t.alone = false;
        t.target_addr = r.target->iova + off;
        traced.push_back(t);
      }
      r.bytes_posted += m.len;
      l.flying.push_back(m);
      if (f.imm) l.expect_receive.push_back(m);
    }
    l.self->qp->ring();
  }
}

void collect(Session& s, const std::string& name, FlowRun& r, Lane& l) {
  const TimePs now = s.world().now_ps();
  while (auto c = s.kit(r.from).host->poll(*l.self)) {
    if (!c->ok())
      throw std::runtime_error(fmt::format(
          "QP {} of node {}: message at block {} ended with {} (syndrome {:#x})", l.self->number(),
          s.kit(r.from).node->name(), c->wqe_index, driver::status_name(c->status), c->syndrome));
    // This one and all before it are done.
    for (;;) {
      if (l.flying.empty())
        throw std::runtime_error(
            fmt::format("QP {} of node {}: completion for block {}, which is not in flight",
                        l.self->number(), s.kit(r.from).node->name(), c->wqe_index));
      Lane::Message m = l.flying.front();
      l.flying.pop_front();
      m.done_ps = now;
      ++l.completed;
      l.settling.push_back(m);
      if (m.index != c->wqe_index) continue;
      if (m.len != c->byte_count)
        s.problem(
            fmt::format("{}: completion of {} bytes, {} were posted", name, c->byte_count, m.len));
      break;
    }
  }
  while (!l.settling.empty() && l.settling.front().done_ps + kSettlePs <= now) {
    compare(s, name, r, l, l.settling.front());
    l.settling.pop_front();
  }
  if (!r.flow->imm) return;
  (void)s.kit(r.to).host->poll(*l.peer);
  while (!l.peer->received.empty()) {
    const driver::Completion c = l.peer->received.front();
    l.peer->received.pop_front();
    if (l.expect_receive.empty())
      throw std::runtime_error("a receive completion that nobody expects");
    const Lane::Message m = l.expect_receive.front();
    l.expect_receive.pop_front();
    ++l.received;
    if (!c.ok() || c.imm.value_or(0) != m.imm || c.byte_count != m.len)
      s.problem(fmt::format(
          "{}: receive completion says {}, immediate {}, {} bytes; expected immediate {}, {} bytes",
          name, driver::status_name(c.status), c.imm.value_or(0), c.byte_count, m.imm, m.len));
  }
  if (l.receives_posted < l.to_post && l.receives_posted - l.received < 256) {
    const uint32_t n = std::min(l.to_post - l.receives_posted, 256u);
    l.peer->qp->post_receives(n);
    l.receives_posted += n;
  }
}

// What the stream borders join; a border without an entry is shown by its signal.
std::string border_name(const std::string& signal) {
  static const std::map<std::string, const char*> kNames = {
      {"db", "doorbell -> scheduler"},      {"wqe_req", "scheduler -> wqe_fetch"},
      {"wqe", "wqe_fetch -> wqe_store"},    {"turn", "scheduler -> sq_engine"},
      {"txp", "sq_engine -> tx_buffer"},    {"rd0", "wqe_fetch -> dma (reads)"},
      {"rd1", "sq_engine -> dma (reads)"},  {"txb", "tx_buffer -> packetizer"},
      {"rsp", "resp_engine -> packetizer"}, {"pkt", "packetizer -> merge"},
      {"mrg", "merge -> crossing"},         {"rxm", "depacketizer -> dispatch"},
      {"rxd", "depacketizer -> placer"},    {"req", "dispatch -> responder"},
      {"resp", "dispatch -> completer"},    {"place", "responder -> placer"},
      {"ackq", "responder -> resp_engine"}, {"wr0_req", "placer -> dma (requests)"},
      {"wr0_dat", "placer -> dma (data)"},  {"cq0", "placer -> cqe_gen"},
      {"cq1", "completer -> cqe_gen"},      {"wr1_req", "cqe_gen -> dma"},
      {"wr2_req", "event_queue -> dma"},    {"m_axi_ar", "AXI read requests"},
      {"m_axi_r", "AXI read data"},         {"m_axi_aw", "AXI write requests"},
      {"m_axi_w", "AXI write data"},
  };
  const auto it = kNames.find(signal);
  return it != kNames.end() ? it->second : signal;
}
}  // namespace

void run_traffic(Session& s, const std::string& name, const TrafficStep& step) {
  std::vector<FlowRun> runs(step.flows.size());
  size_t next_pair = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    FlowRun& r = runs[i];
    const Flow& f = step.flows[i];
    r.flow = &f;
    r.from = f.from;
    r.to = s.peer_of(f.from);
    r.rng.reseed(s.seed(fmt::format("traffic.{}.{}", name, i)));
    const uint32_t biggest = *std::max_element(f.sizes.begin(), f.sizes.end());
    r.slot_bytes = (std::max(biggest, 1u) + (f.random_offsets ? 256 : 0) + 7) / 8 * 8;
    // Slots of messages in flight and of those that settle.
    r.slots = std::min(f.count, biggest >= 65536 ? f.depth + 3 : 2 * f.depth + 64);
    const uint64_t bytes = r.slot_bytes * r.slots * f.qps;
    r.source = &s.kit(r.from).host->region(place_of(f.source), bytes, f.source_misalign);
    r.target = &s.kit(r.to).host->region(place_of(f.target), bytes, f.target_misalign);
    uint64_t total = 0;
    for (uint32_t sz : f.sizes) total += sz;
    r.watch =
        std::make_unique<FlowWatch>(s.kit(r.to).node->fabric(), r.target->iova, bytes,
                                    std::max<uint64_t>(1, total * f.count / f.sizes.size() / 10));
    for (uint32_t q = 0; q < f.qps; ++q) {
      Lane l;
      const Session::Pair p = s.pair(next_pair++, r.from);
      l.self = p.self;
      l.peer = p.peer;
      l.number = q;
      l.to_post = f.count / f.qps + (q < f.count % f.qps ? 1 : 0);
      for (uint32_t k = 0; k < r.slots; ++k) l.free_slots.push_back(r.slots - 1 - k);
      if (f.imm) {
        l.receives_posted = std::min(l.to_post, 512u);
        l.peer->qp->post_receives(l.receives_posted);
      }
      r.lanes.push_back(std::move(l));
    }
  }
  s.world().run_until(s.world().now_ps() + 2'000'000);
  s.snapshot_memory();
  for (FlowRun& r : runs) {
    s.ignore_memory(r.to, *r.target);
    s.ignore_memory(r.from, *r.source);
  }
  std::vector<std::vector<BorderCount>> borders_before;
  std::vector<uint64_t> cycles_before;
  std::vector<StepProfile> profile_before;
  for (size_t n = 0; n < s.node_count(); ++n) {
    borders_before.push_back(s.kit(n).node->nic().borders());
    cycles_before.push_back(s.kit(n).node->nic().core_cycles());
    profile_before.push_back(s.kit(n).node->nic().profile());
  }
  std::vector<MessageInfo> traced;
  if (s.tracing()) {
    for (size_t n = 0; n < s.node_count(); ++n) {
      s.kit(n).recorder->clear();
      s.kit(n).recorder->start(kTracedEvents);
    }
  }
  const auto wall_start = std::chrono::steady_clock::now();
  const TimePs start = s.world().now_ps();
  const TimePs end = start + step.limit_ps;

  uint64_t done = 0, all = 0;
  for (const Flow& f : step.flows) all += f.count;
  for (;;) {
    done = 0;
    bool busy = false;
    for (FlowRun& r : runs) {
      for (Lane& l : r.lanes) {
        collect(s, name, r, l);
        post(s, name, r, l, traced);
        done += l.completed;
        busy = busy || l.completed < l.to_post || !l.settling.empty() ||
               (r.flow->imm && l.received < l.to_post);
      }
    }
    if (!busy) break;
    if (s.world().now_ps() > end)
      throw TimeOut(
          fmt::format("{} of {} messages completed within {} ns", done, all, step.limit_ps / 1000));
    s.world().run_until(s.world().now_ps() + step.grain_ps);
    s.progress(fmt::format("{}: {} of {} messages", name, done, all));
  }
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_start).count();

  s.check_memory(name);
  if (s.tracing()) {
    for (size_t n = 0; n < s.node_count(); ++n) s.kit(n).recorder->stop();
    for (const MessageInfo& m : traced) {
      Timeline t = timeline_of(*s.kit(m.from).recorder, *s.kit(m.to).recorder, m);
      if (t.data_visible) s.timelines().push_back(std::move(t));
    }
    for (size_t n = 0; n < s.node_count(); ++n) s.kit(n).recorder->keep();
  }

  // Results.
  double all_gbps = 0, all_rate = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const FlowRun& r = runs[i];
    const Flow& f = *r.flow;
    if (r.watch->all_bytes() != r.bytes_posted)
      s.problem(fmt::format("{}: {} bytes were posted, {} were written", name, r.bytes_posted,
                            r.watch->all_bytes()));
    const double ns = static_cast<double>(r.watch->time()) / 1000.0;
    const double gbps = ns > 0 ? static_cast<double>(r.watch->bytes()) * 8.0 / ns : 0;
    const double mean = static_cast<double>(r.bytes_posted) / f.count;
    const double rate =
        ns > 0 && mean > 0 ? static_cast<double>(r.watch->bytes()) / mean / ns * 1000.0 : 0;
    all_gbps += gbps;
    all_rate += rate;
    std::string sizes;
    for (uint32_t sz : f.sizes) sizes += (sizes.empty() ? "" : "/") + std::to_string(sz);
    s.print(
        fmt::format("  {} -> {}: {} messages of {} B on {} QP{} ({} to {} memory{}{}): {:.1f} "
                    "Gb/s, {:.2f} M messages/s; "
                    "{} compared",
                    s.kit(r.from).node->name(), s.kit(r.to).node->name(), f.count, sizes, f.qps,
                    f.qps == 1 ? "" : "s", f.source == Memory::kGpu ? "GPU" : "host",
                    f.target == Memory::kGpu ? "GPU" : "host", f.inlined ? ", inline" : "",
                    f.imm ? ", immediate" : "", gbps, rate, r.compared));
    if (runs.size() > 1) s.figure(fmt::format("{}.goodput_{}", name, i), gbps, "Gb/s");
  }
  s.figure(name + ".goodput", all_gbps, "Gb/s");
  s.figure(name + ".message_rate", all_rate, "M/s");
  s.print(threshold_text(s));

  // Busy: a transfer; stalled: offered and not taken; starved: nothing offered.
  s.print(fmt::format("  {:<28}{}", "share of core cycles, %",
                      s.node_count() == 2
                          ? "      a: busy stalled starved      b: busy stalled starved"
                          : "         busy stalled starved"));
  for (size_t b = 0; b < std::size(kBorderSignals); ++b) {
    std::string row = fmt::format("  {:<28}", border_name(kBorderSignals[b]));
    bool any = false;
    for (size_t n = 0; n < s.node_count(); ++n) {
      const Nic& nic = s.kit(n).node->nic();
      const auto cycles = static_cast<double>(nic.core_cycles() - cycles_before[n]);
      const double busy =
          100.0 * static_cast<double>(nic.borders()[b].busy - borders_before[n][b].busy) / cycles;
      const double stalled =
          100.0 * static_cast<double>(nic.borders()[b].stalled - borders_before[n][b].stalled) /
          cycles;
      any = any || busy + stalled > 0.05;
      row += fmt::format("     {:>8.1f}{:>8.1f}{:>8.1f}", busy, stalled, 100.0 - busy - stalled);
    }
    if (any) s.print(row);
  }
  const uint64_t cycles = s.kit(0).node->nic().core_cycles() - cycles_before[0];
  double model = 0, harness = 0;
  for (size_t n = 0; n < s.node_count(); ++n) {
    const StepProfile& p = s.kit(n).node->nic().profile();
    model += static_cast<double>(p.model_ns - profile_before[n].model_ns);
    harness += static_cast<double>(p.harness_ns - profile_before[n].harness_ns);
  }
  // A step's share is measured on samples; the programs' share is what the samples leave.
  const double kcps = static_cast<double>(cycles) / wall / 1000.0;
  const double steps_share = model + harness;
  const double sampled = 61.0;
  const double stepping = std::min(wall, steps_share * sampled * 1e-9);
  const double harness_share =
      steps_share > 0 ? 100.0 * (1.0 - model / steps_share * stepping / wall) : 0;
  s.print(fmt::format(
      "  simulated {:.1f} us, {} core cycles in {:.2f} s: {:.1f} k core cycles/s with {} NIC{} of "
      "{} bit; harness "
      "{:.0f} % of the time",
      static_cast<double>(s.world().now_ps() - start) * 1e-6, cycles, wall, kcps, s.node_count(),
      s.node_count() == 1 ? "" : "s", s.settings().data_w, harness_share));
  s.figure(name + ".cycles", static_cast<double>(cycles), "core cycles");
  if (step.speed) {
    s.figure(name + ".speed", kcps, "k core cycles/s");
    s.figure(name + ".harness_share", harness_share, "%");
  }
}

}  // namespace rnic::sim
