// SPDX-License-Identifier: Apache-2.0
#include "harness/pcie/fabric.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "harness/mem/random.hpp"
#include "harness/pcie/ring.hpp"

namespace rnic::pcie {
namespace {

constexpr uint64_t kNever = ~0ull;

// One direction of a link, or a memory port: serializes bytes at a rate, exact over any number of
// them.
struct Serializer {
  uint64_t kbps = 0;
  uint64_t free_ps = 0;
  uint64_t remainder = 0;  // of the last division, in 1/kbps ps

  bool limited() const { return kbps != 0; }
  // Serializes from start_ps (or when free) and returns the end.
  uint64_t serialize(uint64_t start_ps, uint64_t bytes) {
    if (kbps == 0) return start_ps;
    if (start_ps > free_ps) {
      free_ps = start_ps;
      remainder = 0;
    }
    const uint64_t n = bytes * 8'000'000'000ull + remainder;
    free_ps += n / kbps;
    remainder = n % kbps;
    return free_ps;
  }
  uint64_t duration(uint64_t bytes) const {
    return kbps == 0 ? 0 : bytes * 8'000'000'000ull / kbps;
  }
  void hold_until(uint64_t time_ps) {
    if (time_ps > free_ps) {
      free_ps = time_ps;
      remainder = 0;
    }
  }
};

// Credits of one class at the sender. Limit 0: infinite.
struct CreditPool {
  uint32_t header_limit = 0, data_limit = 0;
  uint32_t headers = 0, data = 0;

  void init(uint32_t h, uint32_t d) {
    header_limit = headers = h;
    data_limit = data = d;
  }
  bool finite() const { return header_limit != 0 || data_limit != 0; }
  bool take(uint32_t d) {
    if (header_limit != 0 && headers == 0) return false;
    if (data_limit != 0 && data < d) return false;
    if (header_limit != 0) --headers;
    if (data_limit != 0) data -= d;
    return true;
  }
  void give(uint32_t d) {
    if (header_limit != 0) ++headers;
    if (data_limit != 0) data += d;
  }
};

uint32_t data_credits(uint32_t bytes) { return (bytes + 15) / 16; }

uint8_t first_byte_enables(uint64_t addr, uint32_t len) {
  const uint32_t at = addr & 3;
  const uint32_t n = std::min<uint32_t>(len, 4 - at);
  return static_cast<uint8_t>(((1u << n) - 1) << at);
}

uint8_t last_byte_enables(uint64_t addr, uint32_t len) {
  if ((addr & 3) + len <= 4) return 0;  // one DW: the last byte enables are 0
  const uint32_t n = (addr + len) & 3;
  return n == 0 ? 0xF : static_cast<uint8_t>((1u << n) - 1);
}

// An object pool: never moves its objects, never gives memory back.
template <typename T>
class Pool {
 public:
  T* take() {
    if (free_.empty()) {
      slabs_.push_back(std::make_unique<T[]>(kSlab));
      for (size_t i = kSlab; i-- > 0;) free_.push_back(&slabs_.back()[i]);
    }
    T* t = free_.back();
    free_.pop_back();
    return t;
  }
  void give(T* t) { free_.push_back(t); }

 private:
  static constexpr size_t kSlab = 32;
  std::vector<std::unique_ptr<T[]>> slabs_;
  std::vector<T*> free_;
};

}  // namespace

const char* to_string(TlpType type) {
  switch (type) {
    case TlpType::kMemWrite:
      return "MWr";
    case TlpType::kMemRead:
      return "MRd";
    case TlpType::kCompletion:
      return "Cpl";
    case TlpType::kCompletionData:
      return "CplD";
    case TlpType::kMsix:
      return "MSI-X";
  }
  return "?";
}

const char* to_string(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kSuccess:
      return "SC";
    case CompletionStatus::kUnsupported:
      return "UR";
    case CompletionStatus::kCompleterAbort:
      return "CA";
  }
  return "?";
}

struct Fabric::Impl {
  enum class Kind : uint8_t {
    kUpKick,
    kDownKick,
    kWriteArrives,
    kWriteVisible,
    kReadArrives,
    kReadServed,
    kReadReturns,
    kUpPostedCredit,
    kUpNonPostedCredit,
    kUpCompletionCredit,
    kDownPostedCredit,
    kDownNonPostedCredit,
    kDownCompletionCredit,
    kMmioEnters,
    kAnswerArrives,
    kAnswerKnown,
    kPeerVisible,
    kCallback,
  };
  struct Event {
    uint64_t time_ps;
    uint64_t sequence;
    void* object;
    uint32_t value;
    Kind kind;
    bool operator<(const Event& other) const {  // for a heap with the earliest on top
      return time_ps != other.time_ps ? time_ps > other.time_ps : sequence > other.sequence;
    }
  };
  struct Region {
    uint64_t first, last;
    LatencyClass latency_class;
  };
  struct Target {
    Endpoint endpoint;
    mem::SparseMemory* memory = nullptr;
    uint64_t base = 0, limit = 0;  // GPU window
    uint64_t extra_ps = 0;
    uint64_t ring_read_ps = 0, data_read_ps = 0, commit_ps = 0, read_jitter_ps = 0,
             write_jitter_ps = 0;
    WriteResponse response = WriteResponse::kVisible;
    Serializer in, out;
    std::vector<Region> regions;            // sorted, disjoint
    uint64_t max_visible_ps = 0;            // of writes that have arrived
    uint64_t max_ready_ps = 0;              // of reads, for in_order_completions
    Ring<ReadOp*> answering;                // reads with completions to send, oldest first
    ReadOp* current = nullptr;              // the one being sent (not interleaved)
    std::vector<uint64_t> peer_visible_ps;  // by source GPU: last visible peer write
    GpuConfig gpu;
  };
  struct MmioEntry {
    MmioOp op;
    uint64_t mark = 0;  // reads: writes that must go first
    bool stall_counted = false;
  };
  struct MmioRead {
    bool in_use = false;
    Endpoint source;
    Bar bar = Bar::kDoorbell;
    uint32_t offset = 0, len = 0, id = 0;
    MmioReadCallback callback;
    bool ok = true;
    uint8_t data[64] = {};
    uint64_t mark = 0;  // posted writes that leave before the answer
    uint64_t sequence = 0;
  };
  struct PeerWrite {
    Endpoint target;
    uint64_t addr = 0;
    std::vector<uint8_t> data;
    TimeCallback visible;
  };
  struct Fault {
    FaultRule rule;
    uint64_t matches = 0, hits = 0;
    bool active = true;
  };

  Fabric& f;
  Config config;
  mem::SparseMemory& host_memory;
  mem::Iommu& iommu;
  RequesterSink* sink = nullptr;
  MsixCallback msix;
  Stats stats;
  std::vector<Observer*> observers;
  std::vector<std::unique_ptr<Target>> targets;
  std::vector<Fault> faults;
  mem::Random rng_read, rng_write, rng_fault, rng_order;

  std::vector<Event> heap;
  uint64_t event_sequence = 0;

  Pool<WriteOp> writes;
  Pool<ReadOp> reads;
  Pool<MmioEntry> mmio;
  Pool<PeerWrite> peers;
  std::vector<std::unique_ptr<MmioRead>> mmio_reads;
  std::vector<uint32_t> mmio_reads_free;
  Pool<TimeCallback> callbacks;

  // up: NIC to host
  Serializer up;
  CreditPool up_p, up_np, up_cpl;
  Ring<WriteOp*> up_writes;  // begun, not departed; only the front may be on the link
  Ring<ReadOp*> up_reads;
  Ring<MmioRead*> up_answers;
  uint64_t up_sequence = 0;
  uint64_t up_completed = 0;   // writes whose data are complete, ever
  uint64_t up_departed = 0;    // and that have left
  uint64_t up_arrival_ps = 0;  // of the last posted write
  uint64_t up_kick_ps = kNever;
  bool read_stalled = false;

  // down: host to NIC
  Serializer down;
  CreditPool down_p, down_np, down_cpl;
  Ring<MmioEntry*> down_writes, down_reads;
  uint64_t down_queued = 0, down_departed = 0;  // MMIO writes
  uint64_t down_arrival_ps = 0;
  uint64_t down_kick_ps = kNever;
  uint32_t next_target = 0;
  Ring<MmioEntry*> in_writes, in_reads;  // on their way or arrived, not taken by the NIC
  uint64_t in_popped = 0;
  uint64_t mmio_entering = 0;

  Impl(Fabric& fabric, const Config& c, mem::SparseMemory& memory, mem::Iommu& mmu)
      : f(fabric),
        config(c),
        host_memory(memory),
        iommu(mmu),
        rng_read(mem::substream(c.seed, "pcie.read_jitter")),
        rng_write(mem::substream(c.seed, "pcie.write_jitter")),
        rng_fault(mem::substream(c.seed, "pcie.faults")),
        rng_order(mem::substream(c.seed, "pcie.completion_order")) {
    config.validate();
    const LinkConfig& link = config.link;
    up.kbps = link.up_kbps * (1000 - link.dllp_permille) / 1000;
    down.kbps = link.down_kbps * (1000 - link.dllp_permille) / 1000;
    up_p.init(link.up_credits.posted_headers, link.up_credits.posted_data);
    up_np.init(link.up_credits.nonposted_headers, 0);
    up_cpl.init(link.up_credits.completion_headers, link.up_credits.completion_data);
    down_p.init(link.down_credits.posted_headers, link.down_credits.posted_data);
    down_np.init(link.down_credits.nonposted_headers, 0);
    down_cpl.init(link.down_credits.completion_headers, link.down_credits.completion_data);
    auto host = std::make_unique<Target>();
    const HostConfig& h = config.host;
    host->memory = &host_memory;
    host->ring_read_ps = h.ring_read_ps;
    host->data_read_ps = h.data_read_ps;
    host->commit_ps = h.write_commit_ps;
    host->read_jitter_ps = h.read_jitter_ps;
    host->write_jitter_ps = h.write_jitter_ps;
    host->response = h.write_response;
    host->in.kbps = h.write_kbps;
    host->out.kbps = h.read_kbps;
    host->peer_visible_ps.assign(kMaxGpus, 0);
    targets.push_back(std::move(host));
    heap.reserve(1024);
    for (const FaultRule& rule : config.faults) faults.push_back({.rule = rule});
  }

  Target& target_of(Endpoint e) { return *targets[static_cast<size_t>(e.gpu + 1)]; }
  const Target& target_of(Endpoint e) const { return *targets[static_cast<size_t>(e.gpu + 1)]; }
  bool exists(Endpoint e) const {
    return e.gpu >= -1 && static_cast<size_t>(e.gpu + 1) < targets.size();
  }

  void schedule(uint64_t time_ps, Kind kind, void* object = nullptr, uint32_t value = 0) {
    heap.push_back({time_ps, event_sequence++, object, value, kind});
    std::push_heap(heap.begin(), heap.end());
    if (time_ps < f.next_event_ps_) f.next_event_ps_ = time_ps;
  }

  uint32_t overhead(bool completion, uint64_t addr) const {
    const uint32_t header = completion || addr < 0x1'0000'0000ull ? 12 : 16;
    return header + 8 + (config.link.ecrc ? 4 : 0);
  }
  // Bytes of link time of a TLP; mmio and requests without payload are free when only payload
  // counts.
  uint32_t wire_bytes(bool completion, uint64_t addr, uint32_t len, bool counts_as_payload) const {
    if (!config.link.tlp_overhead) return counts_as_payload ? len : 0;
    const uint32_t dw = len == 0 ? 0 : ((addr & 3) + len + 3) / 4;
    return overhead(completion, addr) + dw * 4;
  }

  void observe(const TlpRecord& r) {
    for (Observer* o : observers) o->on_tlp(r);
  }

  // --- fault rules ---
  const FaultRule* match(bool read, uint64_t addr, uint32_t len) {
    for (Fault& fault : faults) {
      const FaultRule& r = fault.rule;
      if (!fault.active || !(read ? r.reads : r.writes)) continue;
      if (addr > r.last_addr || addr + std::max(len, 1u) - 1 < r.first_addr) continue;
      if (fault.matches++ < r.skip || fault.hits >= r.count) continue;
      if (r.probability < 1.0 && !rng_fault.chance(r.probability)) continue;
      ++fault.hits;
      ++stats.injected;
      return &r;
    }
    return nullptr;
  }

  // Is the address this endpoint's? Host: not in any GPU window.
  bool claimed(Endpoint e, uint64_t addr, uint32_t len) const {
    if (!exists(e)) return false;
    if (e.is_host()) return f.gpu_of(addr) < 0;
    const Target& t = target_of(e);
    return addr >= t.base && addr < t.limit && len <= t.limit - addr;
  }
  bool is_msix(Endpoint e, uint64_t addr) const {
    return e.is_host() && addr >= config.msix_base && addr - config.msix_base < config.msix_size;
  }

  // --- up: start what may start at time t ---
  void kick_up(uint64_t time_ps) {
    if (up_kick_ps <= time_ps && up_kick_ps > f.now_ps_) return;
    up_kick_ps = time_ps;
    schedule(time_ps, Kind::kUpKick);
  }

  void pump_up(uint64_t t) {
    for (;;) {
      // Oldest first among those that the ordering rules let go; posted writes need not wait for
      // the others.
      WriteOp* w = up_writes.empty() || up_writes.front()->started ? nullptr : up_writes.front();
      MmioRead* a = up_answers.empty() || up_departed < up_answers.front()->mark
                        ? nullptr
                        : up_answers.front();
      ReadOp* r = up_reads.empty() || up_departed < up_reads.front()->posted_mark
                      ? nullptr
                      : up_reads.front();
      bool wait_link = false;
      bool started = false;
      while (!started && (w != nullptr || a != nullptr || r != nullptr)) {
        if (w != nullptr && (a == nullptr || w->sequence < a->sequence) &&
            (r == nullptr || w->sequence < r->sequence)) {
          started = start_write(w, t, wait_link);
          w = nullptr;
        } else if (a != nullptr && (r == nullptr || a->sequence < r->sequence)) {
          started = start_answer(a, t, wait_link);
          a = nullptr;
        } else {
          started = start_read(r, t, wait_link);
          r = nullptr;
        }
      }
      if (started) continue;
      if (wait_link) kick_up(up.free_ps);
      return;
    }
  }

  // Each start_*() takes its TLP from its queue if link and credits allow. wait_link: it needs the
  // busy link.
  bool start_write(WriteOp* op, uint64_t t, bool& wait_link) {
    const uint32_t payload = op->no_data ? 0 : op->len;
    const uint32_t bytes = wire_bytes(false, op->addr, payload, true);
    if (bytes != 0 && up.limited() && up.free_ps > t) {
      wait_link = true;
      return false;
    }
    if (!up_p.take(data_credits(payload))) {
      if (!op->stall_counted) ++stats.posted_credit_stalls;
      op->stall_counted = true;
      return false;
    }
    op->started = true;
    op->slot_start_ps = t;
    op->slot_end_ps = bytes == 0 ? t : up.serialize(t, bytes);
    stats.up_busy_ps += op->slot_end_ps - t;
    f.posted_backlog_ -= op->len;
    if (op->complete) depart(op);
    return true;
  }

  // Data complete and on the link.
  void depart(WriteOp* op) {
    up_writes.pop();
    ++up_departed;
    const uint64_t end = std::max(op->slot_end_ps, op->complete_ps);
    if (end > op->slot_end_ps && up.limited()) up.hold_until(end);
    const uint64_t arrive = std::max(end + config.link.up_latency_ps, up_arrival_ps);
    up_arrival_ps = arrive;
    ++stats.up_writes;
    if (!op->no_data) stats.up_write_bytes += op->len;
    if (!observers.empty()) {
      TlpRecord r;
      r.start_ps = op->slot_start_ps;
      r.end_ps = end;
      r.arrive_ps = arrive;
      r.addr = op->addr;
      r.len = op->no_data ? 0 : op->len;
      r.tag = op->tag;
      r.type = is_msix(op->target, op->addr) ? TlpType::kMsix : TlpType::kMemWrite;
      r.endpoint = op->target;
      r.first_be = op->no_data ? 0 : first_byte_enables(op->addr, op->len);
      r.last_be = op->no_data ? 0 : last_byte_enables(op->addr, op->len);
      r.relaxed = op->relaxed;
      r.poisoned = op->poisoned;
      observe(r);
    }
    schedule(arrive, Kind::kWriteArrives, op);
  }

  bool start_read(ReadOp* op, uint64_t t, bool& wait_link) {
    const uint32_t bytes = wire_bytes(false, op->addr, 0, false);
    if (bytes != 0 && up.limited() && up.free_ps > t) {
      wait_link = true;
      return false;
    }
    if (!up_np.take(0)) {
      if (!read_stalled) ++stats.nonposted_credit_stalls;
      read_stalled = true;
      return false;
    }
    read_stalled = false;
    up_reads.pop();
    const uint64_t end = bytes == 0 ? t : up.serialize(t, bytes);
    stats.up_busy_ps += end - t;
    const uint64_t arrive =
        std::max(end + config.link.up_latency_ps, op->posted_mark == 0 ? 0 : up_arrival_ps);
    ++stats.up_reads;
    if (!op->no_data) stats.up_read_bytes += op->len;
    if (!observers.empty()) {
      TlpRecord r;
      r.start_ps = t;
      r.end_ps = end;
      r.arrive_ps = arrive;
      r.addr = op->addr;
      r.len = op->no_data ? 0 : op->len;
      r.tag = op->tag;
      r.type = TlpType::kMemRead;
      r.endpoint = op->target;
      r.first_be = op->no_data ? 0 : first_byte_enables(op->addr, op->len);
      r.last_be = op->no_data ? 0 : last_byte_enables(op->addr, op->len);
      r.relaxed = op->relaxed;
      observe(r);
    }
    schedule(arrive, Kind::kReadArrives, op);
    return true;
  }

  bool start_answer(MmioRead* a, uint64_t t, bool& wait_link) {
    const uint64_t addr = config.bar_base[static_cast<size_t>(a->bar)] + a->offset;
    const uint32_t payload = a->ok ? a->len : 0;
    const uint32_t bytes = wire_bytes(true, addr, payload, false);
    if (bytes != 0 && up.limited() && up.free_ps > t) {
      wait_link = true;
      return false;
    }
    if (!up_cpl.take(data_credits(payload))) return false;
    up_answers.pop();
    const uint64_t end = bytes == 0 ? t : up.serialize(t, bytes);
    stats.up_busy_ps += end - t;
    const uint64_t arrive =
        std::max(end + config.link.up_latency_ps, a->mark == 0 ? 0 : up_arrival_ps);
    if (!observers.empty()) {
      TlpRecord r;
      r.start_ps = t;
      r.end_ps = end;
      r.arrive_ps = arrive;
      r.addr = addr;
      r.len = payload;
      r.tag = static_cast<uint16_t>(a->id);
      r.type = a->ok ? TlpType::kCompletionData : TlpType::kCompletion;
      r.status = a->ok ? CompletionStatus::kSuccess : CompletionStatus::kUnsupported;
      r.endpoint = a->source;
      observe(r);
    }
    schedule(arrive, Kind::kAnswerArrives, a);
    return true;
  }

  // --- at the host or GPU ---
  void give_up_credit(CreditPool& pool, Kind kind, uint64_t time_ps, uint32_t data) {
    if (pool.finite()) schedule(time_ps + config.link.credit_return_ps, kind, nullptr, data);
  }

  void write_arrives(WriteOp* op, uint64_t t) {
    const uint32_t payload = op->no_data ? 0 : op->len;
    if (!exists(op->target)) {  // nobody's address: dropped by the switch
      give_up_credit(up_p, Kind::kUpPostedCredit, t, data_credits(payload));
      write_visible(op, t);
      return;
    }
    Target& target = target_of(op->target);
    uint64_t delay = op->delay_ps;
    if (!op->no_data && !op->failed && !op->lost && op->target.is_host() &&
        !is_msix(op->target, op->addr)) {
      const mem::Translation tr = iommu.translate(op->addr, op->len, mem::kWrite, t);
      if (tr.ok) {
        op->phys = tr.phys;
        delay += tr.delay_ps;
      } else {
        op->failed = true;
        ++stats.iommu_faults;
      }
    }
    uint64_t in_end = t;
    if (target.in.limited() && payload != 0) {
      const uint64_t duration = t - std::min(t, op->slot_start_ps + config.link.up_latency_ps);
      in_end = std::max(t, target.in.serialize(t - duration, payload));
    }
    give_up_credit(up_p, Kind::kUpPostedCredit, in_end, data_credits(payload));
    uint64_t visible = in_end + target.extra_ps + target.commit_ps + delay;
    if (target.write_jitter_ps != 0) visible += rng_write.below(target.write_jitter_ps + 1);
    if (!op->relaxed) visible = std::max(visible, target.max_visible_ps);
    target.max_visible_ps = std::max(target.max_visible_ps, visible);
    schedule(visible, Kind::kWriteVisible, op);
  }

  void write_visible(WriteOp* op, uint64_t t) {
    const bool applies = !op->failed && !op->lost && !op->poisoned && !op->no_data;
    if (applies) {
      const uint8_t* data = op->data + op->data_offset;
      if (is_msix(op->target, op->addr)) {
        ++stats.msix;
        uint32_t value = 0;
        std::memcpy(&value, data, std::min<uint32_t>(op->len, 4));
        if (msix) msix(t, op->addr, value);
      } else {
        Target& target = target_of(op->target);
        target.memory->write(op->target.is_host() ? op->phys : op->addr - target.base, data,
                             op->len);
      }
      if (!observers.empty()) {
        const VisibleEvent e{t, op->addr, op->len, op->target};
        for (Observer* o : observers) o->on_visible(e);
      }
    }
    op->visible = true;
    if (!op->answered) {
      op->answered = true;
      const uint64_t extra = exists(op->target) ? target_of(op->target).extra_ps : 0;
      if (!op->released && sink != nullptr)
        sink->on_write_response(op, t + extra + config.link.down_latency_ps);
    }
    if (op->released) writes.give(op);
  }

  void read_arrives(ReadOp* op, uint64_t t) {
    give_up_credit(up_np, Kind::kUpNonPostedCredit, t, 0);
    if (op->lost) {
      if (!op->abandoned && sink != nullptr) sink->on_read_lost(op);
      free_read(op);
      return;
    }
    if (!claimed(op->target, op->addr, op->no_data ? 1 : op->len)) {
      ++stats.unclaimed;
      op->status = CompletionStatus::kUnsupported;
      op->error_from = 0;
      if (!exists(op->target)) op->target = kHost;  // the switch answers
    }
    Target& target = target_of(op->target);
    uint64_t delay = op->delay_ps;
    if (op->error_from != 0 && op->target.is_host() && !op->no_data) {
      const mem::Translation tr = iommu.translate(op->addr, op->len, mem::kRead, t);
      delay += tr.delay_ps;
      if (tr.ok) {
        op->phys = tr.phys;
      } else {
        ++stats.iommu_faults;
        op->status = CompletionStatus::kUnsupported;
        op->error_from = 0;
      }
    } else if (!op->target.is_host()) {
      op->phys = op->addr - target.base;
    }
    uint64_t latency = target.data_read_ps;
    if (class_of(target, op->addr) == LatencyClass::kRing) {
      const uint32_t first = std::min(op->len, first_chunk(op->addr));
      const uint64_t sending = down.duration(wire_bytes(true, op->addr, first, true));
      latency = target.ring_read_ps > sending ? target.ring_read_ps - sending : 0;
    }
    if (target.read_jitter_ps != 0) delay += rng_read.below(target.read_jitter_ps + 1);
    uint64_t served = t + target.extra_ps + latency + delay;
    served = std::max(served, target.max_visible_ps);  // behind all writes that came before it
    if (config.in_order_completions) {
      served = std::max(served, target.max_ready_ps);
      target.max_ready_ps = served;
    }
    schedule(served, Kind::kReadServed, op);
  }

  uint32_t first_chunk(uint64_t addr) const {
    return config.completion_bytes - static_cast<uint32_t>(addr & (config.completion_bytes - 1));
  }

  void read_served(ReadOp* op, uint64_t t) {
    Target& target = target_of(op->target);
    if (op->error_from != 0 && !op->no_data) {
      target.memory->read(op->phys, op->data + (op->addr & (kMaxBeatBytes - 1)), op->len);
    }
    if (target.extra_ps != 0) {
      schedule(t + target.extra_ps, Kind::kReadReturns, op);
    } else {
      read_returns(op, t);
    }
  }

  void read_returns(ReadOp* op, uint64_t t) {
    op->completion_mark = op->relaxed ? 0 : down_queued;
    op->ready_ps = t;
    target_of(op->target).answering.push(op);
    pump_down(t);
  }

  // --- down: start what may start at time t ---
  void kick_down(uint64_t time_ps) {
    if (down_kick_ps <= time_ps && down_kick_ps > f.now_ps_) return;
    down_kick_ps = time_ps;
    schedule(time_ps, Kind::kDownKick);
  }

  void pump_down(uint64_t t) {
    for (;;) {
      if (!down_writes.empty() && start_mmio(down_writes, down_p, t)) continue;
      if (!down_reads.empty() && down_departed >= down_reads.front()->mark &&
          start_mmio(down_reads, down_np, t)) {
        continue;
      }
      if (!start_completion(t)) return;
    }
  }

  bool start_mmio(Ring<MmioEntry*>& queue, CreditPool& credits, uint64_t t) {
    MmioEntry* e = queue.front();
    MmioOp& op = e->op;
    const uint64_t addr = config.bar_base[static_cast<size_t>(op.bar)] + op.offset;
    const uint32_t payload = op.is_read ? 0 : op.len;
    const uint32_t bytes = wire_bytes(false, addr, payload, false);
    if (bytes != 0 && down.limited() && down.free_ps > t) {
      kick_down(down.free_ps);
      return false;
    }
    if (!credits.take(data_credits(payload))) return false;
    queue.pop();
    const uint64_t end = bytes == 0 ? t : down.serialize(t, bytes);
    stats.down_busy_ps += end - t;
    // Everything that leaves later arrives later (writes and reads alike).
    op.arrive_ps = std::max(end + config.link.down_latency_ps, down_arrival_ps);
    down_arrival_ps = op.arrive_ps;
    if (op.is_read) {
      ++stats.down_mmio_reads;
      e->mark = down_departed;
      in_reads.push(e);
    } else {
      ++stats.down_mmio_writes;
      ++down_departed;
      in_writes.push(e);
    }
    if (!observers.empty()) {
      TlpRecord r;
      r.start_ps = t;
      r.end_ps = end;
      r.arrive_ps = op.arrive_ps;
      r.addr = addr;
      r.len = op.len;
      r.tag = static_cast<uint16_t>(op.id);
      r.direction = Direction::kDown;
      r.type = op.is_read ? TlpType::kMemRead : TlpType::kMemWrite;
      r.endpoint = op.source;
      r.first_be = first_byte_enables(addr, op.len);
      r.last_be = last_byte_enables(addr, op.len);
      observe(r);
    }
    return true;
  }

  // One completion of one read, if any may go.
  bool start_completion(uint64_t t) {
    uint64_t wake = kNever;
    const size_t n = targets.size();
    for (size_t i = 0; i < n; ++i) {
      const size_t index = (next_target + i) % n;
      Target& target = *targets[index];
      if (target.answering.empty()) continue;
      if (target.out.limited() && target.out.free_ps > t) {
        wake = std::min(wake, target.out.free_ps);
        continue;
      }
      size_t pick = 0;
      if (config.interleave_completions && target.answering.size() > 1) {
        pick = rng_order.below(target.answering.size());
      }
      ReadOp* op = target.answering[pick];
      if (down_departed < op->completion_mark) {  // behind an MMIO write that waits for credits
        if (pick != 0) op = target.answering[pick = 0];
        if (down_departed < op->completion_mark) continue;
      }
      bool wait_link = false;
      if (!send_chunk(target, op, pick, t, wait_link)) {
        if (wait_link) {
          wake = std::min(wake, down.free_ps);
          break;
        }
        continue;  // no credits: completion_taken() comes back here
      }
      next_target = static_cast<uint32_t>((index + 1) % n);
      return true;
    }
    if (wake != kNever) kick_down(wake);
    return false;
  }

  bool send_chunk(Target& target, ReadOp* op, size_t position, uint64_t t, bool& wait_link) {
    const uint32_t from = op->sent;
    uint32_t end = op->len;
    bool error = false;
    if (op->error_from <= from) {
      error = true;
    } else if (!op->no_data) {
      const uint64_t at = op->addr + from;
      uint32_t n =
          config.completion_bytes - static_cast<uint32_t>(at & (config.completion_bytes - 1));
      if (config.random_split) {
        const uint32_t to_rcb = config.rcb - static_cast<uint32_t>(at & (config.rcb - 1));
        const uint32_t steps = n >= to_rcb ? (n - to_rcb) / config.rcb : 0;
        n = to_rcb + config.rcb * static_cast<uint32_t>(rng_order.below(steps + 1));
      }
      end = std::min(from + n, op->len);
      if (op->error_from < end) end = op->error_from;
    }
    const uint32_t payload = error || op->no_data ? 0 : end - from;
    const uint32_t bytes = wire_bytes(true, op->addr + from, payload, true);
    if (bytes != 0 && down.limited() && down.free_ps > t) {
      wait_link = true;
      return false;
    }
    if (!down_cpl.take(data_credits(payload))) return false;

    const uint64_t link_end = bytes == 0 ? t : down.serialize(t, bytes);
    stats.down_busy_ps += link_end - t;
    // The source may have been sending into the switch while the link was busy, a few completions
    // ahead.
    uint64_t source_end = t;
    if (payload != 0 && target.out.limited()) {
      const uint64_t ahead = 4 * target.out.duration(payload);
      source_end = target.out.serialize(std::max(op->ready_ps, t > ahead ? t - ahead : 0), payload);
    }
    const uint64_t tlp_end = std::max(link_end, source_end);
    const uint64_t latency = config.link.down_latency_ps;
    CompletionChunk& chunk = op->chunks[op->chunk_count++];
    chunk.end = static_cast<uint16_t>(end);
    chunk.error = error;
    chunk.poisoned = !error && op->poison_at >= from && op->poison_at < end;
    chunk.last_ps = tlp_end + latency;
    chunk.first_ps = chunk.last_ps;
    if (config.link.cut_through) {
      const uint64_t header = config.link.tlp_overhead ? down.duration(overhead(true, 0)) : 0;
      chunk.first_ps = std::min(t + header + latency, chunk.last_ps);
    }
    op->sent = end;
    ++stats.down_completions;
    stats.down_completion_bytes += payload;
    if (!observers.empty()) {
      TlpRecord r;
      r.start_ps = t;
      r.end_ps = tlp_end;
      r.arrive_ps = chunk.last_ps;
      r.addr = op->addr + from;
      r.len = payload;
      r.tag = op->tag;
      r.direction = Direction::kDown;
      r.type = payload == 0 ? TlpType::kCompletion : TlpType::kCompletionData;
      r.status = !error                                     ? CompletionStatus::kSuccess
                 : op->status == CompletionStatus::kSuccess ? CompletionStatus::kCompleterAbort
                                                            : op->status;
      r.endpoint = op->target;
      r.relaxed = op->relaxed;
      r.poisoned = chunk.poisoned;
      observe(r);
    }
    if (end == op->len) target.answering.take(position);
    if (op->abandoned) {
      give_up_credit(down_cpl, Kind::kDownCompletionCredit, chunk.last_ps, data_credits(payload));
      if (end == op->len) free_read(op);
    } else if (sink != nullptr) {
      sink->on_completion(op);
    }
    return true;
  }

  void free_read(ReadOp* op) {
    if (!op->in_use) return;
    op->in_use = false;
    --f.reads_in_flight_;
    reads.give(op);
  }

  LatencyClass class_of(const Target& target, uint64_t addr) const {
    const auto& r = target.regions;
    if (r.empty()) return LatencyClass::kData;
    auto it = std::upper_bound(r.begin(), r.end(), addr,
                               [](uint64_t a, const Region& region) { return a < region.first; });
    if (it == r.begin()) return LatencyClass::kData;
    --it;
    return addr <= it->last ? it->latency_class : LatencyClass::kData;
  }

  uint64_t source_latency(Endpoint source) const {
    return source.is_host() ? config.host.mmio_issue_ps : target_of(source).extra_ps;
  }

  void dispatch(const Event& e) {
    const uint64_t t = e.time_ps;
    switch (e.kind) {
      case Kind::kUpKick:
        if (up_kick_ps == t) up_kick_ps = kNever;
        pump_up(t);
        break;
      case Kind::kDownKick:
        if (down_kick_ps == t) down_kick_ps = kNever;
        pump_down(t);
        break;
      case Kind::kWriteArrives:
        write_arrives(static_cast<WriteOp*>(e.object), t);
        break;
      case Kind::kWriteVisible:
        write_visible(static_cast<WriteOp*>(e.object), t);
        break;
      case Kind::kReadArrives:
        read_arrives(static_cast<ReadOp*>(e.object), t);
        break;
      case Kind::kReadServed:
        read_served(static_cast<ReadOp*>(e.object), t);
        break;
      case Kind::kReadReturns:
        read_returns(static_cast<ReadOp*>(e.object), t);
        break;
      case Kind::kUpPostedCredit:
        up_p.give(e.value);
        pump_up(t);
        break;
      case Kind::kUpNonPostedCredit:
        up_np.give(0);
        pump_up(t);
        break;
      case Kind::kUpCompletionCredit:
        up_cpl.give(e.value);
        pump_up(t);
        break;
      case Kind::kDownPostedCredit:
        down_p.give(e.value);
        pump_down(t);
        break;
      case Kind::kDownNonPostedCredit:
        down_np.give(0);
        pump_down(t);
        break;
      case Kind::kDownCompletionCredit:
        down_cpl.give(e.value);
        pump_down(t);
        break;
      case Kind::kMmioEnters: {
        auto* entry = static_cast<MmioEntry*>(e.object);
        --mmio_entering;
        if (entry->op.is_read) {
          entry->mark = down_queued;
          down_reads.push(entry);
        } else {
          ++down_queued;
          down_writes.push(entry);
        }
        pump_down(t);
        break;
      }
      case Kind::kAnswerArrives: {
        auto* a = static_cast<MmioRead*>(e.object);
        give_up_credit(up_cpl, Kind::kUpCompletionCredit, t, data_credits(a->ok ? a->len : 0));
        // The reader sees it after every write that the NIC issued before it.
        const uint64_t pushed =
            a->mark == 0 || !a->source.is_host() ? 0 : targets[0]->max_visible_ps;
        schedule(std::max(t + source_latency(a->source), pushed), Kind::kAnswerKnown, a);
        break;
      }
      case Kind::kAnswerKnown: {
        auto* a = static_cast<MmioRead*>(e.object);
        const MmioReadCallback callback = std::move(a->callback);
        uint8_t data[64];
        std::memcpy(data, a->data, sizeof data);
        const MmioResult result{t, a->ok, std::span<const uint8_t>(data, a->len)};
        a->in_use = false;
        mmio_reads_free.push_back(a->id);
        if (callback) callback(result);
        break;
      }
      case Kind::kPeerVisible: {
        auto* p = static_cast<PeerWrite*>(e.object);
        peer_visible(*p, t);
        const TimeCallback callback = std::move(p->visible);
        p->visible = nullptr;
        peers.give(p);
        if (callback) callback(t);
        break;
      }
      case Kind::kCallback: {
        auto* c = static_cast<TimeCallback*>(e.object);
        const TimeCallback callback = std::move(*c);
        *c = nullptr;
        callbacks.give(c);
        callback(t);
        break;
      }
    }
  }

  void peer_visible(const PeerWrite& p, uint64_t t) {
    const auto len = static_cast<uint32_t>(p.data.size());
    if (!claimed(p.target, p.addr, len)) {
      ++stats.unclaimed;
      return;
    }
    Target& target = target_of(p.target);
    if (!p.target.is_host()) {
      target.memory->write(p.addr - target.base, p.data.data(), len);
      return;
    }
    for (uint32_t done = 0; done < len;) {
      const uint64_t addr = p.addr + done;
      const uint32_t n = std::min<uint32_t>(len - done, mem::kPageBytes - (addr & mem::kPageMask));
      const mem::Translation tr = iommu.translate(addr, n, mem::kWrite, t);
      if (tr.ok) {
        target.memory->write(tr.phys, p.data.data() + done, n);
      } else {
        ++stats.iommu_faults;
      }
      done += n;
    }
  }
};

Fabric::Fabric(const Config& config, mem::SparseMemory& host_memory, mem::Iommu& iommu)
    : impl_(std::make_unique<Impl>(*this, config, host_memory, iommu)) {}

Fabric::~Fabric() = default;

int Fabric::add_gpu(const GpuConfig& config, mem::SparseMemory& memory) {
  if (gpu_count() >= kMaxGpus) throw std::invalid_argument("gpu: at most 16 GPUs");
  if (config.base >= config.limit) throw std::invalid_argument("gpu: expected base < limit");
  for (size_t i = 1; i < impl_->targets.size(); ++i) {
    const Impl::Target& other = *impl_->targets[i];
    if (config.base < other.limit && other.base < config.limit) {
      throw std::invalid_argument("gpu: window overlaps that of GPU " + std::to_string(i - 1));
    }
  }
  auto t = std::make_unique<Impl::Target>();
  t->endpoint = gpu_endpoint(gpu_count());
  t->memory = &memory;
  t->base = config.base;
  t->limit = config.limit;
  t->extra_ps = config.extra_latency_ps;
  t->ring_read_ps = config.ring_read_ps;
  t->data_read_ps = config.read_ps;
  t->commit_ps = config.write_commit_ps;
  t->read_jitter_ps = config.read_jitter_ps;
  t->write_jitter_ps = config.write_jitter_ps;
  t->in.kbps = config.write_kbps;
  t->out.kbps = config.read_kbps;
  t->peer_visible_ps.assign(kMaxGpus, 0);
  t->gpu = config;
  impl_->targets.push_back(std::move(t));
  return gpu_count() - 1;
}

void Fabric::run(uint64_t until_ps) {
  Impl& m = *impl_;
  while (!m.heap.empty() && m.heap.front().time_ps <= until_ps) {
    std::pop_heap(m.heap.begin(), m.heap.end());
    const Impl::Event e = m.heap.back();
    m.heap.pop_back();
    if (e.time_ps > now_ps_) now_ps_ = e.time_ps;
    m.dispatch(e);
  }
  next_event_ps_ = m.heap.empty() ? kNever : m.heap.front().time_ps;
}

void Fabric::at(uint64_t time_ps, TimeCallback callback) {
  TimeCallback* c = impl_->callbacks.take();
  *c = std::move(callback);
  impl_->schedule(std::max(time_ps, now_ps_), Impl::Kind::kCallback, c);
}

void Fabric::mmio_write(Endpoint source, Bar bar, uint32_t offset, const void* data, uint32_t len,
                        uint64_t now_ps) {
  Impl& m = *impl_;
  const auto* from = static_cast<const uint8_t*>(data);
  const uint64_t issue = std::max(now_ps, now_ps_);
  while (len > 0) {
    const uint32_t n = std::min(len, 64 - (offset & 63));
    Impl::MmioEntry* e = m.mmio.take();
    e->op = MmioOp{.bar = bar,
                   .is_read = false,
                   .source = source,
                   .offset = offset,
                   .len = n,
                   .issue_ps = issue};
    e->stall_counted = false;
    std::memcpy(e->op.data, from, n);
    ++m.mmio_entering;
    m.schedule(issue + m.source_latency(source), Impl::Kind::kMmioEnters, e);
    offset += n;
    from += n;
    len -= n;
  }
}

void Fabric::mmio_read(Endpoint source, Bar bar, uint32_t offset, uint32_t len, uint64_t now_ps,
                       MmioReadCallback callback) {
  Impl& m = *impl_;
  if (len < 1 || (offset & 63) + len > 64) {
    throw std::invalid_argument("mmio_read: expected 1 to 64 bytes inside one 64 B block");
  }
  if (m.mmio_reads_free.empty()) {
    m.mmio_reads.push_back(std::make_unique<Impl::MmioRead>());
    m.mmio_reads.back()->id = static_cast<uint32_t>(m.mmio_reads.size() - 1);
    m.mmio_reads_free.push_back(m.mmio_reads.back()->id);
  }
  const uint32_t id = m.mmio_reads_free.back();
  m.mmio_reads_free.pop_back();
  Impl::MmioRead& r = *m.mmio_reads[id];
  r.in_use = true;
  r.source = source;
  r.bar = bar;
  r.offset = offset;
  r.len = len;
  r.callback = std::move(callback);
  const uint64_t issue = std::max(now_ps, now_ps_);
  Impl::MmioEntry* e = m.mmio.take();
  e->op = MmioOp{.bar = bar,
                 .is_read = true,
                 .source = source,
                 .offset = offset,
                 .len = len,
                 .issue_ps = issue,
                 .id = id};
  e->stall_counted = false;
  ++m.mmio_entering;
  m.schedule(issue + m.source_latency(source), Impl::Kind::kMmioEnters, e);
}

uint64_t Fabric::mmio_in_flight() const {
  const Impl& m = *impl_;
  return m.mmio_entering + m.down_writes.size() + m.in_writes.size() +
         (m.mmio_reads.size() - m.mmio_reads_free.size());
}

void Fabric::peer_write(Endpoint source, Endpoint target, uint64_t addr, const void* data,
                        uint32_t len, uint64_t now_ps, TimeCallback visible) {
  Impl& m = *impl_;
  if (source.is_host() || !m.exists(source) || !m.exists(target)) {
    throw std::invalid_argument("peer_write: expected a GPU as source and an existing target");
  }
  Impl::PeerWrite* p = m.peers.take();
  p->target = target;
  p->addr = addr;
  const auto* bytes = static_cast<const uint8_t*>(data);
  p->data.assign(bytes, bytes + len);
  p->visible = std::move(visible);
  Impl::Target& t = m.target_of(target);
  const uint64_t leaves = std::max(now_ps, now_ps_) + m.target_of(source).extra_ps;
  uint64_t& last = t.peer_visible_ps[static_cast<size_t>(source.gpu)];
  last = std::max(last, leaves + t.extra_ps + t.commit_ps);
  m.schedule(last, Impl::Kind::kPeerVisible, p);
}

void Fabric::add_region(Endpoint where, uint64_t addr, uint64_t len, LatencyClass latency_class) {
  auto& regions = impl_->target_of(where).regions;
  if (len == 0) throw std::invalid_argument("add_region: length 0");
  const Impl::Region region{addr, addr + len - 1, latency_class};
  auto it = std::lower_bound(
      regions.begin(), regions.end(), region,
      [](const Impl::Region& a, const Impl::Region& b) { return a.first < b.first; });
  if ((it != regions.end() && it->first <= region.last) ||
      (it != regions.begin() && std::prev(it)->last >= region.first)) {
    throw std::invalid_argument("add_region: overlaps a region");
  }
  regions.insert(it, region);
}

void Fabric::remove_region(Endpoint where, uint64_t addr) {
  std::erase_if(impl_->target_of(where).regions,
                [&](const Impl::Region& r) { return r.first == addr; });
}

size_t Fabric::add_fault(const FaultRule& rule) {
  Config check = impl_->config;
  check.faults = {rule};
  check.validate();
  impl_->faults.push_back({.rule = rule});
  return impl_->faults.size() - 1;
}

void Fabric::remove_fault(size_t handle) { impl_->faults.at(handle).active = false; }

uint64_t Fabric::fault_hits(size_t handle) const { return impl_->faults.at(handle).hits; }

void Fabric::set_msix_callback(MsixCallback callback) { impl_->msix = std::move(callback); }

void Fabric::add_observer(Observer* observer) { impl_->observers.push_back(observer); }

void Fabric::remove_observer(Observer* observer) { std::erase(impl_->observers, observer); }

const Config& Fabric::config() const { return impl_->config; }
const Stats& Fabric::stats() const { return impl_->stats; }
const GpuConfig& Fabric::gpu_config(int gpu) const {
  return impl_->targets.at(static_cast<size_t>(gpu + 1))->gpu;
}
mem::SparseMemory& Fabric::memory(Endpoint where) const { return *impl_->target_of(where).memory; }
int Fabric::gpu_count() const { return static_cast<int>(impl_->targets.size()) - 1; }

int Fabric::gpu_of(uint64_t addr) const {
  for (size_t i = 1; i < impl_->targets.size(); ++i) {
    if (addr >= impl_->targets[i]->base && addr < impl_->targets[i]->limit)
      return static_cast<int>(i) - 1;
  }
  return -1;
}

bool Fabric::backdoor_read(Endpoint where, uint64_t addr, void* dst, uint64_t len) const {
  auto* to = static_cast<uint8_t*>(dst);
  const Impl::Target& t = impl_->target_of(where);
  if (!where.is_host()) {
    if (addr < t.base || addr > t.limit || len > t.limit - addr) return false;
    t.memory->read(addr - t.base, dst, len);
    return true;
  }
  while (len > 0) {
    const auto n = static_cast<uint32_t>(std::min(len, mem::kPageBytes - (addr & mem::kPageMask)));
    const mem::Translation tr = impl_->iommu.peek(addr, n, mem::kNone);
    if (!tr.ok) return false;
    t.memory->read(tr.phys, to, n);
    addr += n;
    to += n;
    len -= n;
  }
  return true;
}

bool Fabric::backdoor_write(Endpoint where, uint64_t addr, const void* src, uint64_t len) {
  const auto* from = static_cast<const uint8_t*>(src);
  Impl::Target& t = impl_->target_of(where);
  if (!where.is_host()) {
    if (addr < t.base || addr > t.limit || len > t.limit - addr) return false;
    t.memory->write(addr - t.base, src, len);
    return true;
  }
  while (len > 0) {
    const auto n = static_cast<uint32_t>(std::min(len, mem::kPageBytes - (addr & mem::kPageMask)));
    const mem::Translation tr = impl_->iommu.peek(addr, n, mem::kNone);
    if (!tr.ok) return false;
    t.memory->write(tr.phys, from, n);
    addr += n;
    from += n;
    len -= n;
  }
  return true;
}

// --- requester ---

void Fabric::set_sink(RequesterSink* sink) { impl_->sink = sink; }

WriteOp* Fabric::alloc_write() {
  WriteOp* op = impl_->writes.take();
  op->addr = 0;
  op->len = 0;
  op->tag = 0;
  op->no_data = op->relaxed = false;
  op->target = kHost;
  op->failed = op->lost = op->poisoned = false;
  op->complete = op->started = op->answered = op->released = op->visible = op->stall_counted =
      false;
  op->delay_ps = op->phys = 0;
  op->next_same_id = nullptr;
  op->done = false;
  op->beats = 0;
  op->data_offset = 0;
  return op;
}

void Fabric::begin_write(WriteOp* op, uint64_t now_ps) {
  Impl& m = *impl_;
  assert(now_ps >= now_ps_ && op->len >= 1 && op->len <= kMaxTlpBytes);
  op->sequence = m.up_sequence++;
  posted_backlog_ += op->len;
  m.up_writes.push(op);
  m.pump_up(now_ps);
}

void Fabric::finish_write(WriteOp* op, uint64_t now_ps) {
  Impl& m = *impl_;
  op->complete = true;
  op->complete_ps = now_ps;
  ++m.up_completed;
  if (!m.faults.empty()) {
    if (const FaultRule* rule = m.match(false, op->addr, op->no_data ? 1 : op->len)) {
      switch (rule->kind) {
        case FaultKind::kUnsupported:
        case FaultKind::kCompleterAbort:
          op->failed = true;
          break;
        case FaultKind::kPoison:
          op->poisoned = true;
          break;
        case FaultKind::kNeverComes:
          op->lost = true;
          break;
        case FaultKind::kDelay:
          op->delay_ps += rule->delay_ps;
          break;
      }
    }
  }
  const bool interrupt = m.is_msix(op->target, op->addr);
  if (!interrupt && !m.claimed(op->target, op->addr, op->no_data ? 1 : op->len)) {
    op->failed = true;
    ++m.stats.unclaimed;
  }
  const bool early =
      !m.exists(op->target) || m.target_of(op->target).response == WriteResponse::kAccepted;
  if (early) {
    op->answered = true;
    // The fault is found (and logged) when the write arrives; the response of this model knows it
    // already.
    if (!op->failed && !interrupt && op->target.is_host() && !op->no_data && !op->lost &&
        !m.iommu.peek(op->addr, op->len, mem::kWrite).ok) {
      op->failed = true;
      // Logged here: the arrival skips failed writes.
      (void)m.iommu.translate(op->addr, op->len, mem::kWrite, now_ps);
      ++m.stats.iommu_faults;
    }
  }
  if (op->started) {
    m.depart(op);
  }
  m.pump_up(now_ps);
  if (early && m.sink != nullptr) m.sink->on_write_response(op, now_ps);
}

void Fabric::release_write(WriteOp* op) {
  op->released = true;
  if (op->visible) impl_->writes.give(op);
}

void Fabric::abandon_write(WriteOp* op) {
  Impl& m = *impl_;
  if (op->complete) {
    release_write(op);
    return;
  }
  // Incomplete: the last one begun.
  assert(!m.up_writes.empty() && m.up_writes.back() == op);
  m.up_writes.take(m.up_writes.size() - 1);
  if (op->started) {
    m.up_p.give(data_credits(op->no_data ? 0 : op->len));
  } else {
    posted_backlog_ -= op->len;
  }
  m.writes.give(op);
}

ReadOp* Fabric::alloc_read() {
  ReadOp* op = impl_->reads.take();
  op->addr = 0;
  op->len = 0;
  op->tag = 0;
  op->no_data = op->relaxed = false;
  op->target = kHost;
  op->phys = op->delay_ps = 0;
  op->status = CompletionStatus::kSuccess;
  op->in_use = true;
  op->abandoned = op->lost = false;
  op->error_from = op->poison_at = 0xFFFF;
  op->sent = op->chunk_count = 0;
  op->beats = op->beats_done = op->chunk_now = 0;
  ++reads_in_flight_;
  return op;
}

void Fabric::issue_read(ReadOp* op, uint64_t now_ps) {
  Impl& m = *impl_;
  assert(now_ps >= now_ps_ && op->len >= 1 && op->len <= kMaxTlpBytes);
  op->sequence = m.up_sequence++;
  op->posted_mark = m.up_completed;
  if (!m.faults.empty()) {
    if (const FaultRule* rule = m.match(true, op->addr, op->len)) {
      switch (rule->kind) {
        case FaultKind::kUnsupported:
          op->error_from = 0;
          op->status = CompletionStatus::kUnsupported;
          break;
        case FaultKind::kCompleterAbort: {
          // At a completion boundary, so that what came before it is whole.
          const uint64_t at = m.rng_fault.below(op->len);
          const uint64_t cut = (op->addr + at) & ~uint64_t{m.config.rcb - 1};
          op->error_from = static_cast<uint16_t>(cut > op->addr ? cut - op->addr : 0);
          op->status = CompletionStatus::kCompleterAbort;
          break;
        }
        case FaultKind::kPoison:
          op->poison_at = static_cast<uint16_t>(m.rng_fault.below(op->len));
          break;
        case FaultKind::kNeverComes:
          op->lost = true;
          break;
        case FaultKind::kDelay:
          op->delay_ps += rule->delay_ps;
          break;
      }
    }
  }
  m.up_reads.push(op);
  m.pump_up(now_ps);
}

void Fabric::release_read(ReadOp* op) { impl_->free_read(op); }

void Fabric::abandon_read(ReadOp* op) {
  op->abandoned = true;
  if (op->sent == op->len) impl_->free_read(op);
}

void Fabric::completion_taken(uint32_t bytes, uint64_t now_ps) {
  impl_->give_up_credit(impl_->down_cpl, Impl::Kind::kDownCompletionCredit,
                        std::max(now_ps, now_ps_), data_credits(bytes));
}

// --- completer ---

const MmioOp* Fabric::mmio_write_front(uint64_t horizon_ps) const {
  const Impl& m = *impl_;
  if (m.in_writes.empty() || m.in_writes.front()->op.arrive_ps > horizon_ps) return nullptr;
  return &m.in_writes.front()->op;
}

void Fabric::mmio_write_pop(uint64_t now_ps) {
  Impl& m = *impl_;
  Impl::MmioEntry* e = m.in_writes.pop();
  ++m.in_popped;
  m.give_up_credit(m.down_p, Impl::Kind::kDownPostedCredit, std::max(now_ps, now_ps_),
                   data_credits(e->op.len));
  m.mmio.give(e);
}

const MmioOp* Fabric::mmio_read_front(uint64_t horizon_ps) const {
  const Impl& m = *impl_;
  if (m.in_reads.empty()) return nullptr;
  const Impl::MmioEntry* e = m.in_reads.front();
  if (e->op.arrive_ps > horizon_ps || m.in_popped < e->mark) return nullptr;
  return &e->op;
}

void Fabric::mmio_read_pop(uint64_t now_ps) {
  Impl& m = *impl_;
  Impl::MmioEntry* e = m.in_reads.pop();
  m.give_up_credit(m.down_np, Impl::Kind::kDownNonPostedCredit, std::max(now_ps, now_ps_), 0);
  m.mmio.give(e);
}

void Fabric::mmio_answer(uint32_t id, const uint8_t* data, uint32_t len, bool ok, uint64_t now_ps) {
  Impl& m = *impl_;
  Impl::MmioRead& r = *m.mmio_reads.at(id);
  if (!r.in_use) throw std::logic_error("mmio_answer: no such read");
  r.ok = ok;
  if (ok) {
    std::memcpy(r.data, data, std::min(len, r.len));
  } else {
    std::memset(r.data, 0xFF, sizeof r.data);
  }
  r.mark = m.up_completed;
  r.sequence = m.up_sequence++;
  m.up_answers.push(&r);
  m.pump_up(std::max(now_ps, now_ps_));
}

}  // namespace rnic::pcie
