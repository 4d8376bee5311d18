// SPDX-License-Identifier: Apache-2.0
//
// The whole sending side (scheduler, fetch engine, store, engine, pool) between models of host
// memory, TX buffer and completer: what a driver posts must leave as the right packets, in order,
// whatever comes in between.
#include <Vrequester_bench.h>
#include <Vrequester_small.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

constexpr uint64_t kIovaOf = 0x5000'0000'0000;

struct Doorbell {
  uint64_t qpn, index;
  bool operator==(const Doorbell&) const = default;
};

struct WantPacket {
  Packet packet;
  uint64_t va = 0;
  uint16_t index = 0;
  std::vector<Piece> reads;
  std::vector<uint8_t> inl;
};

struct WantMsg {
  uint64_t kind = kMsgWrite, status = 0;
  uint16_t index = 0, next = 0;
  uint32_t first = 0, last = 0;
  uint64_t bytes = 0;
};

struct Queue {  // a QP as its driver sees it
  unsigned log_sq = 6, mtu_code = 5;
  std::vector<uint8_t> ring;
  uint64_t base = 0;
  uint16_t prod = 0, rung = 0, freed = 0;
  uint32_t psn = 0;
  bool err = false, closing = false;
  unsigned epoch = 0;
  std::deque<WantPacket> packets;
  std::deque<WantMsg> msgs;
  std::optional<uint32_t> acked;
  uint64_t posted = 0, completed = 0;
  Bits conn;

  unsigned room() const { return (1u << log_sq) - static_cast<uint16_t>(prod - freed); }
};

template <class Model>
class Nic {
 public:
  explicit Nic(unsigned data_w, Stall stall = {})
      : b_(data_w / 8),
        top(bench.top()),
        doorbells(bench, "db", top.db_valid, top.db_ready,
                  [this](const Doorbell& d) {
                    top.db_qpn = d.qpn;
                    top.db_index = d.index;
                  }),
        pushes(bench, "bf", top.bf_valid, top.bf_ready, top.bf),
        kicks(bench, "kick", top.kick_valid, top.kick_ready, top.kick_qpn),
        nudges(bench, "nudge", top.nudge_valid, top.nudge_ready,
               [this] { return uint64_t{top.nudge_qpn}; }),
        fails(bench, "fail", top.fail_valid, top.fail_ready, [this] { return read_pin(top.fail); }),
        lerrs(bench, "lerr", top.lerr_valid, top.lerr_ready,
              [this] { return uint64_t{top.lerr_qpn}; }) {
    top.cfg_ack_req_every_i = 16;
    for (Stall* s : {&rd0_stall, &rd1_stall, &mrq_stall, &txp_stall, &rsp_stall}) {
      *s = stall;
      s->seed(rng("nic.stall" + std::to_string(seeds_++)));
    }
    for (unsigned i = 0; i < 64; ++i) free_.push_back(i);
    nudges.on_item([this](uint64_t qpn) { look_.push_back(qpn); });
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    bench.reset();
    bench.wait("clearing", [this] { return top.init_done_o != 0; });
  }

  void write_conn(uint64_t qpn, const Bits& conn) {
    write_pin(top.cw, conn);
    top.cw_qpn = static_cast<uint32_t>(qpn);
    top.cw_valid = 1;
    bench.tick();
    top.cw_valid = 0;
  }
  // One owner after the other, as cmd_unit does.
  void give_order(uint64_t op, uint64_t qpn, uint32_t psn = 0) {
    write_pin(top.qpi, order(op, qpn, psn));
    for (unsigned i = 0; i < 3; ++i) {
      top.qpi_valid = static_cast<uint8_t>(1u << i);
      bool taken = false;
      uint64_t limit = 20000;
      while (!taken) {
        if (--limit == 0)
          throw Timeout("order " + std::to_string(op) + " is not taken by owner " +
                        std::to_string(i));
        bench.settle();
        taken = (top.qpi_ready >> i & 1) != 0;
        bench.tick();
      }
      top.qpi_valid = 0;
      if (i == 1) order_done_in_engine_ = bench.cycle();
      if (i == 1 && op == kClear) {  // from here on nothing of the old life may leave
        Queue& q = qps[qpn];
        q.packets.clear();
        ++q.epoch;
      }
    }
  }
  Queue& qp(uint64_t qpn, unsigned log_sq, unsigned mtu_code, uint32_t psn) {
    Queue& q = qps[qpn];
    const unsigned epoch = q.epoch;
    q = Queue{};
    q.epoch = epoch;
    q.log_sq = log_sq;
    q.mtu_code = mtu_code;
    q.psn = psn;
    q.base = 0x4000'0000 + (qpn << 22) + 64 * (qpn % 3);
    q.ring.assign(size_t{64} << log_sq, 0xEE);
    q.conn = kConn.pack({{"exists", 1},
                         {"has_path", 1},
                         {"state", kRts},
                         {"mtu", mtu_code},
                         {"pd", 5},
                         {"dest_qpn", qpn + 100},
                         {"pkey", 0xFFFF},
                         {"log_sq", log_sq},
                         {"sq_base", q.base}});
    write_conn(qpn, q.conn);
    give_order(kOrderRts, qpn, psn);
    return q;
  }
  void set_state(uint64_t qpn, QpState state) {
    kConn.set(qps[qpn].conn, "state", state);
    write_conn(qpn, qps[qpn].conn);
  }

  // Writes a WQE into the ring; skip: it links to the block that many blocks after it.
  bool post(uint64_t qpn, Wqe wqe, unsigned skip = 0, std::optional<Bits>* push = nullptr) {
    Queue& q = qps[qpn];
    const unsigned blocks = wqe.block_count();
    if (blocks + skip > q.room()) return false;
    const uint16_t mask = static_cast<uint16_t>((1u << q.log_sq) - 1);
    const uint16_t index = q.prod;
    const uint16_t next = static_cast<uint16_t>(index + blocks + skip);
    if (skip > 0) wqe.next = (q.base + 64ull * (next & mask)) | 1;
    const auto image = wqe.image(index);
    for (size_t i = 0; i < image.size(); ++i)
      q.ring[(index * 64ull + i) % q.ring.size()] = image[i];
    q.prod = next;
    if (push != nullptr) *push = wqe.entry(qpn, index);
    ++q.posted;
    expect(qpn, q, wqe, index, next);
    return true;
  }
  void ring(uint64_t qpn) {
    Queue& q = qps[qpn];
    doorbells.push({qpn, q.prod});
    q.rung = q.prod;
  }

  void drain(uint64_t limit = 200000) {
    bench.wait(
        "every posted message to complete",
        [this] {
          for (auto& [n, q] : qps) {
            if (!q.msgs.empty() || !q.packets.empty()) return false;
          }
          return true;
        },
        limit);
  }
  uint64_t completed() const {
    uint64_t sum = 0;
    for (const auto& [n, q] : qps) sum += q.completed;
    return sum;
  }

  unsigned b_;
  Bench<Model> bench;
  Model& top;
  StreamSource<Doorbell> doorbells;
  StreamSource<Bits> pushes;
  StreamSource<uint64_t> kicks;
  StreamSink<uint64_t> nudges;
  StreamSink<Bits> fails;
  StreamSink<uint64_t> lerrs;
  Stall rd0_stall, rd1_stall, mrq_stall, txp_stall, rsp_stall;
  std::map<uint64_t, Queue> qps;
  unsigned read_low = 20, read_high = 20;  // latency of a TLP of WQEs
  unsigned ack_low = 40, ack_high = 40;    // from the last packet of a message to its completion
  unsigned max_tlp = 512;
  bool fast_pops = false;  // the completer costs no time
  std::vector<uint64_t> tx_cycles, first_beat_cycles, wqe_req_cycles;
  std::vector<uint64_t> tx_qpns;
  uint64_t counters[8] = {};
  std::set<uint64_t> failing;  // QPs that die of a local error: what follows is flushed

 private:
  struct Slot {
    uint64_t qpn = 0;
    unsigned epoch = 0;
    bool known = false;
    WantPacket want;
    uint64_t len = 0, got = 0;
    std::vector<Piece> reads;
  };
  struct Tlp {
    uint64_t due;
    uint64_t slot, number;
    uint64_t addr, dst, left;
    std::deque<uint8_t> bytes;  // read when asked: the QP may be gone when they come
  };

  void expect(uint64_t qpn, Queue& q, const Wqe& wqe, uint16_t index, uint16_t next) {
    WantMsg m;
    m.index = index;
    m.next = next;
    m.bytes = wqe.bytes();
    if (q.err) {
      m.kind = kMsgFailed;
      m.status = kFlush;
      q.msgs.push_back(m);
      return;
    }
    if (wqe.opcode == 0) {
      m.kind = kMsgLocal;
      q.msgs.push_back(m);
      return;
    }
    const auto packets = segment(wqe.bytes(), 128u << q.mtu_code, q.psn, wqe.opcode == 9, 16);
    m.first = packets.front().psn;
    m.last = packets.back().psn;
    q.psn = (m.last + 1) & 0xFFFFFF;
    q.msgs.push_back(m);
    std::vector<Piece> memory;
    if (wqe.inlined) {
      const uint64_t size = 64ull << q.log_sq;
      const uint64_t pos = (index * 64ull + 32) % size;
      memory.push_back(
          {q.base + pos, static_cast<uint32_t>(std::min<uint64_t>(size - pos, wqe.inline_len))});
      if (memory[0].len < wqe.inline_len)
        memory.push_back({q.base, wqe.inline_len - memory[0].len});
    } else {
      for (const auto& s : wqe.segments) memory.push_back({s.va + kIovaOf, s.len});
    }
    for (const auto& p : packets) {
      WantPacket w;
      w.packet = p;
      w.va = wqe.remote_va + p.offset;
      w.index = index;
      if (wqe.inlined && wqe.inline_len <= 96)
        w.inl = wqe.data;
      else
        w.reads = pieces(memory, p.offset, p.len);
      q.packets.push_back(w);
    }
    static_cast<void>(qpn);
  }

  void look_at(unsigned id) {
    Slot& s = slots_[id];
    if (!s.known) return;
    REQUIRE(s.got <= s.len);
    if (s.got < s.len) return;
    INFO("QP " << s.qpn << " PSN " << s.want.packet.psn);
    REQUIRE((s.reads == s.want.reads));
    Queue& q = qps[s.qpn];
    if (s.want.packet.last)
      acks_.push_back({bench.cycle() + random_.between(ack_low, ack_high), s.qpn,
                       q.epoch == s.epoch ? s.epoch : ~0u, s.want.packet.psn});
    slots_.erase(id);
    free_.push_back(id);
  }

  void sample() {
    if (bench.in_reset()) return;
    const uint64_t now = bench.cycle();
    counters[0] += top.cnt_doorbells_o;
    counters[1] += top.cnt_doorbell_refused_o;
    counters[2] += top.cnt_bf_pushes_o;
    counters[3] += top.cnt_bf_fallbacks_o;
    counters[4] += top.cnt_wqe_fetched_o;
    counters[5] += top.cnt_wqe_errors_o;
    counters[6] += top.cnt_msgs_posted_o;
    counters[7] += top.cnt_tx_requests_o;
    if (top.rd0_valid && top.rd0_ready) {
      wqe_req_cycles.push_back(now);
      const Bits r = read_pin(top.rd0);
      uint64_t addr = kRdReq.get(r, "addr"), left = kRdReq.get(r, "len"),
               dst = kRdReq.get(r, "dst_off");
      const uint64_t slot = kRdReq.get(r, "slot"), qpn = kRdReq.get(r, "qpn");
      Queue& q = qps.at(qpn);
      REQUIRE(addr >= q.base);
      REQUIRE(addr + left <= q.base + q.ring.size());
      REQUIRE(addr % 64 == 0);
      REQUIRE(left % 64 == 0);
      if (kRdReq.get(r, "first")) numbers_[slot] = 0;
      while (left > 0) {
        const uint64_t n = std::min<uint64_t>(left, max_tlp - addr % max_tlp);
        const auto from = q.ring.begin() + static_cast<std::ptrdiff_t>(addr - q.base);
        tlps_.push_back({now + random_.between(read_low, read_high),
                         slot,
                         numbers_[slot]++,
                         addr,
                         dst,
                         n,
                         {from, from + static_cast<std::ptrdiff_t>(n)}});
        addr += n;
        dst += n;
        left -= n;
      }
    }
    if (top.mrq_valid && top.mrq_ready) {
      const Bits q = read_pin(top.mrq);
      mrs_.push_back({now + 1, kMrRsp.pack({{"ok", kMrReq.get(q, "key") != 0xBAD},
                                            {"iova", kMrReq.get(q, "va") + kIovaOf}})});
    }
    if (top.slot_valid && top.slot_ready) {
      REQUIRE(slots_.count(top.slot_id) == 0);
      slots_[top.slot_id] = Slot{};
      free_.pop_front();
    }
    if (top.txp_valid && top.txp_ready) {
      const Bits p = read_pin(top.txp);
      const uint64_t qpn = kTxPkt.get(p, "qpn");
      tx_cycles.push_back(now);
      tx_qpns.push_back(qpn);
      Queue& q = qps.at(qpn);
      INFO("cycle " << now << " QP " << qpn << " PSN " << kTxPkt.get(p, "psn"));
      REQUIRE(!q.packets.empty());
      const WantPacket want = q.packets.front();
      q.packets.pop_front();
      REQUIRE(kTxPkt.get(p, "psn") == want.packet.psn);
      REQUIRE(kTxPkt.get(p, "opcode") == want.packet.opcode);
      REQUIRE(kTxPkt.get(p, "payload_len") == want.packet.len);
      REQUIRE(kTxPkt.get(p, "ack_req") == want.packet.ack_req);
      REQUIRE(kTxPkt.get(p, "va") == want.va);
      REQUIRE(kTxPkt.get(p, "wqe_index") == want.index);
      Slot& s = slots_[top.txp_slot];
      s.known = true;
      s.qpn = qpn;
      s.epoch = q.epoch;
      s.want = want;
      s.len = want.packet.len;
      look_at(top.txp_slot);
    }
    if (top.inl_valid && top.inl_ready) {
      Slot& s = slots_.at(top.inl_slot);
      auto bytes = read_pin(top.inl_data).bytes();
      bytes.resize(top.inl_len);
      REQUIRE(s.known);
      REQUIRE(bytes == s.want.inl);
      s.got += bytes.size();
      look_at(top.inl_slot);
    }
    if (top.rd1_valid && top.rd1_ready) {
      const Bits r = read_pin(top.rd1);
      const unsigned id = static_cast<unsigned>(kRdReq.get(r, "slot"));
      Slot& s = slots_.at(id);
      REQUIRE(kRdReq.get(r, "dst_off") == s.got);
      s.reads.push_back({kRdReq.get(r, "addr"), static_cast<uint32_t>(kRdReq.get(r, "len"))});
      s.got += kRdReq.get(r, "len");
      look_at(id);
    }
    // The completer: looks at the oldest message of a QP as long as it can be retired.
    if (top.hd_lk_valid && top.hd_lk_ready) waiting_ = true;
    popped_ = false;
    if (top.hd_valid) {
      REQUIRE(waiting_);
      waiting_ = false;
      Queue& q = qps.at(looked_);
      if (!top.hd_empty && looked_epoch_ == q.epoch && !q.closing) {
        const Bits m = read_pin(top.hd);
        const uint64_t kind = kMsg.get(m, "kind");
        INFO("cycle " << now << " message of QP " << looked_ << " at " << kMsg.get(m, "wqe_index")
                      << " kind " << kind);
        REQUIRE(!q.msgs.empty());
        WantMsg want = q.msgs.front();
        CHECK(kMsg.get(m, "wqe_index") == want.index);
        CHECK(kMsg.get(m, "next_index") == want.next);
        if (!q.err) {
          REQUIRE(kind == want.kind);
          if (kind == kMsgWrite) {
            REQUIRE(kMsg.get(m, "first_psn") == want.first);
            REQUIRE(kMsg.get(m, "last_psn") == want.last);
            REQUIRE(kMsg.get(m, "bytes") == want.bytes);
          }
        } else if (kind != kMsgWrite && want.kind != kMsgLocal) {
          CHECK(kind == kMsgFailed);
          CHECK(kMsg.get(m, "status") == (want.status ? want.status : kFlush));
        }
        const bool over = kind != kMsgWrite || q.err ||
                          (q.acked && ((*q.acked - want.last) & 0xFFFFFF) < 0x800000);
        if (over) {
          q.msgs.pop_front();
          q.freed = want.next;
          ++q.completed;
          popped_ = true;
          look_.push_front(looked_);
        }
      }
    }
  }

  void drive() {
    const uint64_t now = bench.cycle();
    top.rd0_ready = !rd0_stall();
    top.rd1_ready = !rd1_stall();
    top.mrq_ready = !mrq_stall();
    top.txp_ready = 1;
    top.inl_ready = 1;
    txp_held_ = txp_stall();
    top.slot_valid = !free_.empty() && !txp_held_;
    if (!free_.empty()) top.slot_id = free_.front();
    top.mrs_valid = !mrs_.empty() && mrs_.front().first <= now;
    if (top.mrs_valid) {
      write_pin(top.mrs, mrs_.front().second);
      mrs_.pop_front();
    }
    // Read data: any TLP that is due, a beat at a time.
    std::vector<size_t> due;
    for (size_t i = 0; i < tlps_.size(); ++i) {
      if (tlps_[i].due <= now) due.push_back(i);
    }
    top.rdrsp_valid = !due.empty() && !rsp_stall();
    if (top.rdrsp_valid) {
      const size_t pick = due[random_.below(due.size())];
      Tlp& t = tlps_[pick];
      const uint64_t n = std::min<uint64_t>(t.left, b_ - t.addr % b_);
      std::vector<uint8_t> lanes(b_);
      for (uint64_t i = 0; i < n; ++i) {
        lanes[(t.dst + i) % b_] = t.bytes.front();
        t.bytes.pop_front();
      }
      write_pin(top.rdrsp_data, Bits::from_bytes(lanes));
      write_pin(top.rdrsp, kRdRsp.pack({{"client", 0},
                                        {"slot", t.slot},
                                        {"tlp", t.number},
                                        {"tlp_last", n == t.left},
                                        {"dst_off", t.dst},
                                        {"cnt", n}}));
      t.addr += n;
      t.dst += n;
      t.left -= n;
      if (t.left == 0) {
        first_beat_cycles.push_back(now);
        tlps_.erase(tlps_.begin() + static_cast<std::ptrdiff_t>(pick));
      }
    }
    // The completer.
    for (auto a = acks_.begin(); a != acks_.end();) {
      if (a->due > now) {
        ++a;
        continue;
      }
      Queue& q = qps.at(a->qpn);
      if (q.epoch == a->epoch) {
        if (!q.acked || ((a->psn - *q.acked) & 0xFFFFFF) < 0x800000) q.acked = a->psn;
        look_.push_back(a->qpn);
      }
      a = acks_.erase(a);
    }
    top.pop_valid = popped_;
    top.pop_qpn = looked_;
    top.hd_lk_valid = 0;
    if (fast_pops) {  // without looking, a message per cycle
      if (!look_.empty()) {
        Queue& q = qps.at(look_.front());
        const bool over =
            !q.msgs.empty() && q.acked && ((*q.acked - q.msgs.front().last) & 0xFFFFFF) < 0x800000;
        if (over) {
          top.pop_valid = 1;
          top.pop_qpn = look_.front();
          q.freed = q.msgs.front().next;
          q.msgs.pop_front();
          ++q.completed;
        } else {
          look_.pop_front();
        }
      }
    } else if (!waiting_ && !popped_ && !look_.empty()) {
      looked_ = look_.front();
      look_.pop_front();
      looked_epoch_ = qps.at(looked_).epoch;
      top.hd_lk_valid = 1;
      top.hd_lk_qpn = looked_;
    }
  }

  struct Ack {
    uint64_t due, qpn;
    unsigned epoch;
    uint32_t psn;
  };
  int seeds_ = 0;
  Rng random_ = rng("nic");
  std::map<unsigned, Slot> slots_;
  std::deque<unsigned> free_;
  std::deque<std::pair<uint64_t, Bits>> mrs_;
  std::map<uint64_t, uint64_t> numbers_;
  std::vector<Tlp> tlps_;
  std::deque<Ack> acks_;
  std::deque<uint64_t> look_;
  uint64_t looked_ = 0;
  unsigned looked_epoch_ = 0;
  bool waiting_ = false, popped_ = false, txp_held_ = false;
  uint64_t order_done_in_engine_ = 0;

 public:
  void look(uint64_t qpn) { look_.push_back(qpn); }
};

Wqe random_wqe(Rng& r, unsigned mtu, unsigned max_blocks) {
  Wqe w;
  const double kind = static_cast<double>(r.below(1000)) / 1000;
  if (kind < 0.4) {
    const size_t most = max_blocks >= 2 ? 96 : 32;
    w = Wqe::write_inline(r.bits(48), r.u32(), r.bytes(r.between(0, most)));
  } else if (kind < 0.5 && max_blocks > 3) {
    w = Wqe::write_inline(r.bits(48), r.u32(),
                          r.bytes(r.between(97, std::min<size_t>(64 * max_blocks - 32, 4064))));
  } else if (kind < 0.55) {
    w.opcode = 0;  // NOP
  } else {
    const size_t segs = r.between(0, max_blocks >= 2 ? 6 : 2);
    std::vector<Segment> list;
    for (size_t i = 0; i < segs; ++i) {
      list.push_back({r.u32() | 0x1000,
                      static_cast<uint32_t>(r.chance(0.2) ? 0 : r.between(1, mtu)), r.bits(40)});
    }
    w = Wqe::write(r.bits(48), r.u32(), list);
    if (segs > 0 && r.chance(0.2)) w.long_form = max_blocks >= 2 || segs > 2;
  }
  if (w.opcode != 0 && r.chance(0.2)) {
    w.opcode = 9;
    w.imm = r.u32();
  }
  w.signaled = r.chance(0.5);
  return w;
}

// Posts at random on every QP, rings late or early, pushes by BlueFlame now and then.
template <class N>
void run_random(N& nic, Rng& r, const std::vector<uint64_t>& qpns, uint64_t per_qp,
                bool blueflame = true) {
  std::map<uint64_t, uint64_t> left;
  for (uint64_t q : qpns) left[q] = per_qp;
  uint64_t limit = 400000;
  while (!left.empty()) {
    if (--limit == 0) throw Timeout("posting does not get on");
    const uint64_t qpn = qpns[r.below(qpns.size())];
    Queue& q = nic.qps[qpn];
    if (left.count(qpn) && nic.doorbells.pending() < 20) {
      Wqe w = random_wqe(r, 128u << q.mtu_code, 1u << q.log_sq);
      const unsigned skip =
          r.chance(0.1) ? static_cast<unsigned>(r.between(0, (1u << q.log_sq) / 2)) : 0;
      std::optional<Bits> push;
      const bool bf =
          blueflame && skip == 0 && r.chance(0.3) && q.rung == q.prod && nic.pushes.pending() == 0;
      if (nic.post(qpn, w, skip, &push)) {
        if (bf) {
          nic.pushes.push(*push);
          q.rung = q.prod;
        } else if (r.chance(0.4)) {
          nic.ring(qpn);
        }
        if (--left[qpn] == 0) {
          if (q.rung != q.prod) nic.ring(qpn);
          left.erase(qpn);
        }
      } else if (q.rung != q.prod) {
        nic.ring(qpn);
      }
    }
    if (r.chance(0.7)) nic.bench.tick(r.between(1, 4));
  }
}

// Resets a QP with whatever it has in flight and starts it again.
template <class N>
void recreate(N& nic, Rng& r, uint64_t victim) {
  // Its doorbells must be through: the driver does not ring while it resets.
  nic.bench.wait(
      "doorbells", [&] { return nic.doorbells.pending() == 0 && nic.pushes.pending() == 0; },
      100000);
  nic.set_state(victim, kReset);
  nic.qps[victim].closing = true;
  nic.give_order(kClear, victim);
  nic.qps[victim].msgs.clear();
  nic.bench.tick(r.between(0, 50));
  nic.qp(victim, static_cast<unsigned>(r.between(2, 6)), 1 + static_cast<unsigned>(r.below(3)),
         r.u32() & 0xFFFFFF);
}

}  // namespace

TEST_CASE(
    "requester: everything posted leaves in order, with all WQE forms, ring sizes, links and "
    "wraps") {
  Nic<Vrequester_bench> nic(512);
  auto r = rng("mix");
  std::vector<uint64_t> qpns;
  for (uint64_t q = 0; q < 12; ++q) {
    nic.qp(q * 5, static_cast<unsigned>(q % 4 == 0 ? 7 : 1 + q % 6), 1 + q % 5,
           static_cast<uint32_t>(0xFFFFF0 + q));
    qpns.push_back(q * 5);
  }
  nic.read_low = 5;
  nic.read_high = 60;
  nic.max_tlp = 128;
  run_random(nic, r, qpns, 40);
  nic.drain();
  CHECK(nic.completed() == 12 * 40);
  CHECK(nic.counters[2] > 0);
  CHECK(nic.counters[3] > 0);
  // Without pushes that overtake doorbells nothing is refused, and each WQE is fetched once.
  const uint64_t refused = nic.counters[1], fetched = nic.counters[4];
  run_random(nic, r, qpns, 40, false);
  nic.drain();
  CHECK(nic.completed() == 12 * 80);
  CHECK(nic.counters[1] == refused);
  CHECK(nic.counters[4] == fetched + 12 * 40);
  CHECK(nic.counters[5] == 0);
}

TEST_CASE("requester: the same with small pools, 1024 bit, slow contexts, and stalls everywhere") {
  Nic<Vrequester_small> nic(1024, Stall::bursts(0.1, 10));
  auto r = rng("mix");
  std::vector<uint64_t> qpns;
  for (uint64_t q = 0; q < 5; ++q) {
    nic.qp(q, static_cast<unsigned>(2 + q), 1 + q % 5, static_cast<uint32_t>(0xFFFFF0 + q));
    qpns.push_back(q);
  }
  nic.read_low = 3;
  nic.read_high = 80;
  nic.ack_low = 1;
  nic.ack_high = 400;
  nic.max_tlp = 128;
  run_random(nic, r, qpns, 120);
  nic.drain();
  CHECK(nic.completed() == 5 * 120);
}

TEST_CASE("requester: long random runs of everything", "[.soak]") {
  auto r = rng("soak");
  for (int round = 0; round < 6; ++round) {
    {
      Nic<Vrequester_bench> nic(512, round % 3 == 0 ? Stall::none() : Stall::random(0.1 * round));
      std::vector<uint64_t> qpns;
      for (uint64_t q = 0; q < 64; ++q) {
        nic.qp(q, static_cast<unsigned>(r.between(1, 9)), static_cast<unsigned>(r.between(1, 5)),
               r.u32() & 0xFFFFFF);
        qpns.push_back(q);
      }
      nic.read_low = static_cast<unsigned>(r.between(1, 20));
      nic.read_high = nic.read_low + static_cast<unsigned>(r.between(0, 300));
      nic.ack_high = nic.ack_low + static_cast<unsigned>(r.between(0, 500));
      nic.max_tlp = 128u << r.below(6);
      run_random(nic, r, qpns, 300);
      nic.drain(2000000);
      CHECK(nic.completed() == 64 * 300);
    }
    {
      Nic<Vrequester_small> nic(1024, Stall::bursts(0.05, 30));
      for (uint64_t q = 0; q < 5; ++q) nic.qp(q, 5, 1 + q % 5, 0);
      nic.read_high = 200;
      for (int life = 0; life < 200; ++life) {
        run_random(nic, r, {0, 1, 2, 3, 4}, r.between(1, 20));
        nic.bench.tick(r.between(0, 100));
        recreate(nic, r, r.below(5));
      }
      nic.drain(2000000);
    }
  }
}

TEST_CASE("requester: a QP is cleared and starts again, with anything in flight") {
  Nic<Vrequester_small> nic(1024, Stall::random(0.1));
  auto r = rng("clear");
  nic.read_low = 3;
  nic.read_high = 60;
  nic.max_tlp = 256;
  for (uint64_t q = 0; q < 5; ++q) nic.qp(q, 5, 1 + q % 2, 0);
  for (int round = 0; round < 60; ++round) {
    run_random(nic, r, {0, 1, 2, 3, 4}, r.between(1, 12));
    nic.bench.tick(r.between(0, 60));
    recreate(nic, r, r.below(5));
  }
  nic.drain();
}

TEST_CASE("requester: in ERR every posted WQE comes out flushed, in order, new ones too") {
  Nic<Vrequester_bench> nic(512);
  auto r = rng("err");
  for (uint64_t q = 0; q < 4; ++q) nic.qp(q, 6, 1, 0);
  run_random(nic, r, {0, 1, 2, 3}, 40, false);
  nic.bench.wait("doorbells", [&] { return nic.doorbells.pending() == 0; });
  nic.set_state(2, kErr);
  nic.give_order(kOrderErr, 2);
  Queue& q = nic.qps[2];
  q.err = true;
  q.packets.clear();
  nic.look(2);
  nic.bench.tick(300);
  for (int i = 0; i < 20; ++i) {
    nic.post(2, random_wqe(r, 256, 4));
    nic.ring(2);
    nic.bench.tick(5);
  }
  nic.drain();
  CHECK(q.completed == q.posted);
  CHECK(nic.fails.size() == 0);
}

TEST_CASE("requester: a malformed WQE fails its QP alone, with its status") {
  for (int what = 0; what < 6; ++what) {
    Nic<Vrequester_bench> nic(512);
    nic.qp(1, 4, 3, 5);
    nic.qp(2, 4, 3, 6);
    const Wqe good = Wqe::write_inline(0x10, 1, {1, 2, 3});
    nic.post(1, good);
    nic.post(2, good);
    Wqe bad = Wqe::write(0x10, 1, {{1, 10, 0x100}, {1, 10, 0x100}});
    uint64_t status = kLocQpOp;
    Queue& q = nic.qps[1];
    if (what == 0) bad.seg_cnt = 3;
    if (what == 1) bad.next = (q.base + (64ull << q.log_sq)) | 1;  // a link out of the ring
    if (what == 2) bad.next = (q.base - 64) | 1;
    if (what == 3) bad.next = q.base | 2;  // a longer segment list: not supported
    if (what == 5) {
      bad.segments[1].lkey = 0xBAD;
      status = kLocProt;
    }
    nic.post(1, bad);
    if (what == 4) q.ring[64 + 12] ^= 8;  // wrong index
    q.msgs.back().kind = kMsgFailed;
    q.msgs.back().status = status;
    q.packets.pop_back();
    q.err = true;
    nic.post(1, good);
    nic.ring(1);
    nic.ring(2);
    nic.bench.tick(200);
    nic.post(2, good);
    nic.ring(2);
    nic.look(1);
    nic.drain();
    INFO("case " << what);
    REQUIRE(nic.fails.size() == 1);
    CHECK(kFail.get(nic.fails[0], "qpn") == 1);
    CHECK(kFail.get(nic.fails[0], "cause") == status);
    CHECK(nic.counters[5] == (what == 5 ? 0 : 1));
    CHECK(nic.tx_cycles.size() == 3);
  }
}

TEST_CASE("requester: QPs share the engine evenly, and idle neighbours starve nobody") {
  for (unsigned active : {2u, 5u}) {
    Nic<Vrequester_bench> nic(512);
    std::vector<uint64_t> qpns;
    for (uint64_t q = 0; q < 64; ++q) nic.qp(q, 6, 5, 0);
    for (unsigned i = 0; i < active; ++i) qpns.push_back(i * 13 + 1);
    for (uint64_t q : qpns) {
      for (int i = 0; i < 60; ++i) nic.post(q, Wqe::write(0x10, 1, {{1, 8192, 0x100}}));
      nic.ring(q);
    }
    nic.drain();
    // While all have work, each sends one packet in every round.
    std::map<uint64_t, int> count;
    const size_t window = 100 * active;
    REQUIRE(nic.tx_qpns.size() == 120 * active);
    for (size_t i = 2 * active; i < window; ++i) ++count[nic.tx_qpns[i]];
    for (uint64_t q : qpns) CHECK(std::abs(count[q] - 98) <= 2);
  }
}

TEST_CASE("requester: one QP whose messages fill the pool does not stop when room comes") {
  Nic<Vrequester_small> nic(1024);
  nic.ack_low = nic.ack_high = 300;
  for (uint64_t q = 0; q < 5; ++q) nic.qp(q, 6, 1, 0);
  for (uint64_t q = 0; q < 5; ++q) {
    for (int i = 0; i < 60; ++i) nic.post(q, Wqe::write_inline(0x10, 1, {1, 2, 3}));
    nic.ring(q);
  }
  nic.drain();
  CHECK(nic.completed() == 300);
}

TEST_CASE("requester: message and packet rates, latencies") {
  const Wqe small = Wqe::write_inline(0x10, 1, {1, 2, 3, 4, 5, 6, 7, 8});
  auto rate = [](const std::vector<uint64_t>& cycles) {
    const size_t n = cycles.size();
    return static_cast<double>(cycles[n * 3 / 4] - cycles[n / 4]) /
           static_cast<double>(n * 3 / 4 - n / 4);
  };
  {
    Nic<Vrequester_bench> nic(512);
    nic.fast_pops = true;
    for (uint64_t q = 0; q < 64; ++q) nic.qp(q, 7, 5, 0);
    for (int i = 0; i < 64; ++i) {
      for (uint64_t q = 0; q < 64; ++q) nic.post(q, small);
      if (i % 16 == 15) {
        for (uint64_t q = 0; q < 64; ++q) nic.ring(q);
      }
    }
    nic.drain();
    WARN("64 QPs, 8 B inline, a doorbell per 16: " << rate(nic.tx_cycles) << " cycles a message");
    CHECK(rate(nic.tx_cycles) <= 5.0);
  }
  {
    Nic<Vrequester_bench> nic(512);
    nic.fast_pops = true;
    for (uint64_t q = 0; q < 64; ++q) nic.qp(q, 7, 5, 0);
    for (int i = 0; i < 40; ++i) {
      for (uint64_t q = 0; q < 64; ++q) {
        nic.post(q, small);
        nic.ring(q);
      }
    }
    nic.drain();
    WARN("64 QPs, 8 B inline, a doorbell per message: " << rate(nic.tx_cycles)
                                                        << " cycles a message");
    CHECK(rate(nic.tx_cycles) <= 5.0);
  }
  {
    Nic<Vrequester_bench> nic(512);
    nic.fast_pops = true;
    for (uint64_t q = 0; q < 64; ++q) nic.qp(q, 7, 5, 0);
    for (int i = 0; i < 40; ++i) {
      for (uint64_t q = 0; q < 64; ++q) {
        std::optional<Bits> push;
        nic.post(q, small, 0, &push);
        nic.pushes.push(*push);
      }
    }
    nic.drain();
    WARN("64 QPs, 8 B inline, BlueFlame: " << rate(nic.tx_cycles) << " cycles a message");
    CHECK(rate(nic.tx_cycles) <= 5.0);
  }
  for (unsigned latency : {20u, 250u}) {
    Nic<Vrequester_bench> nic(512);
    nic.fast_pops = true;
    nic.read_low = nic.read_high = latency;
    nic.qp(1, 10, 5, 0);
    for (int i = 0; i < 800; ++i) {
      nic.post(1, small);
      if (i % 16 == 15) nic.ring(1);
    }
    nic.drain();
    WARN("one QP, 8 B inline, WQE read latency " << latency << ": " << rate(nic.tx_cycles)
                                                 << " cycles a message");
    if (latency == 20) CHECK(rate(nic.tx_cycles) <= 12.0);
  }
  for (unsigned code : {5u, 1u}) {
    Nic<Vrequester_bench> nic(512);
    nic.fast_pops = true;
    nic.qp(1, 6, code, 0);
    for (int i = 0; i < 20; ++i) nic.post(1, Wqe::write(0x10, 1, {{1, 65536, 0x100}}));
    nic.ring(1);
    nic.drain();
    WARN("one QP, MTU " << (128u << code) << ": " << rate(nic.tx_cycles) << " cycles a packet");
    CHECK(rate(nic.tx_cycles) <= (code == 5 ? 33.0 : 5.0));
  }
  {
    Nic<Vrequester_bench> nic(512);
    nic.fast_pops = true;
    nic.read_low = nic.read_high = 1;
    nic.qp(1, 6, 5, 0);
    std::optional<Bits> push;
    nic.post(1, small, 0, &push);
    nic.pushes.push(*push);
    nic.drain();
    WARN("BlueFlame: bf_valid to txp " << nic.tx_cycles[0] - nic.pushes.cycles()[0] << " cycles");
    CHECK(nic.tx_cycles[0] - nic.pushes.cycles()[0] <= 7);
    nic.post(1, Wqe::write(0x10, 1, {{1, 64, 0x100}}));
    nic.ring(1);
    nic.drain();
    const uint64_t db = nic.doorbells.cycles()[0];
    WARN("doorbell to WQE read request "
         << nic.wqe_req_cycles[0] - db << ", read data to txp of a 64 B WRITE "
         << nic.tx_cycles[1] - nic.first_beat_cycles[0] << " cycles");
    CHECK(nic.wqe_req_cycles[0] - db <= 4);
  }
}
