// SPDX-License-Identifier: Apache-2.0
//
// The whole sending side (scheduler, fetch engine, store, engine, pool) between models of host
// memory, TX buffer, peer and completer: what a driver posts must leave as the right packets, in
// order, whatever comes in between; after a rewind again, from any packet on. The slot of a WQE in
// the ring is filled with garbage as soon as its message completes. Models: facts, roce.md 1 and 3.
#include <Vrequester_bench.h>
#include <Vrequester_small.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "harness/roce/psn.hpp"
#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;
using rnic::roce::psn_before;
using rnic::roce::psn_sub;

namespace {

constexpr uint64_t kIovaOf = 0x5000'0000'0000;
constexpr unsigned kAckEvery = 16;
constexpr unsigned kMaxRd = 3;

// Where memory lies: keys with bit 31 belong to paged regions, every page somewhere else.
uint64_t iova_of(uint32_t key, uint64_t va) {
  if ((key >> 31) == 0) return va + kIovaOf;
  return (((va >> 12) * 0x9E3779B97F4A7C15ull << 12) & 0xFFFF'FFFF'F000) | (va & 0xFFF);
}

struct Doorbell {
  uint64_t qpn, index;
  bool operator==(const Doorbell&) const = default;
};

struct Message {  // posted, not yet completed
  Wqe wqe;
  uint16_t index = 0, next = 0;
  uint64_t kind = kMsgWrite, status = 0;
  uint32_t first = 0, psns = 0;
  unsigned executed = 0;  // local operations
  uint32_t last() const { return (first + psns - 1) & 0xFFFFFF; }
  bool is_rd() const { return kind == kMsgRead || kind == kMsgAtomic; }
};

struct Queue {  // a QP as its driver sees it
  unsigned log_sq = 6, mtu_code = 5;
  Service service = kRc;
  std::vector<uint8_t> ring;
  uint64_t base = 0;
  uint16_t prod = 0, rung = 0, freed = 0;
  uint32_t psn = 0;
  bool err = false, silent = false, closing = false;
  unsigned epoch = 0;
  std::deque<Message> msgs;
  size_t at = 0;       // the message whose packet must leave next
  uint32_t k = 0;      // and which packet of it
  unsigned since = 0;  // packets since the last AckReq
  uint32_t peer = 0;   // next PSN the peer expects
  uint32_t heard = 0;  // what it has acknowledged, as far as it arrived here
  uint64_t due = 0;
  // the acknowledged half and what the completer does
  uint32_t una = 0;
  uint8_t rd_done = 0, kicked_for = 0;
  bool inv_done = false, inv_kick = false;
  unsigned rd_out = 0;  // READs and ATOMICs sent and not completed
  bool rewinding = false, frozen = false;
  unsigned replay = 0, sent_replay = 0;
  uint32_t next_psn = 0;  // of the send half
  uint16_t at_index = 0;
  uint64_t posted = 0, completed = 0;
  Bits conn;

  unsigned room() const { return (1u << log_sq) - static_cast<uint16_t>(prod - freed); }
  unsigned mtu() const { return 128u << mtu_code; }
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
        rewinds(bench, "rwq", top.rwq_valid, top.rwq_ready, top.rwq_qpn),
        replays(bench, "rws", top.rws_valid, top.rws_ready, top.rws),
        stopped(bench, "rwg", top.rwg_valid, top.rwg_ready,
                [this] { return uint64_t{top.rwg_qpn}; }),
        nudges(bench, "nudge", top.nudge_valid, top.nudge_ready,
               [this] { return uint64_t{top.nudge_qpn}; }),
        lerrs(bench, "lerr", top.lerr_valid, top.lerr_ready,
              [this] { return uint64_t{top.lerr_qpn}; }) {
    top.cfg_ack_req_every_i = kAckEvery;
    for (Stall* s : {&rd0_stall, &rd1_stall, &mrq_stall, &txp_stall, &rsp_stall}) {
      *s = stall;
      s->seed(rng("nic.stall" + std::to_string(seeds_++)));
    }
    for (unsigned i = 0; i < 64; ++i) free_.push_back(i);
    nudges.on_item([this](uint64_t qpn) { look_.push_back(qpn); });
    stopped.on_item([this](uint64_t qpn) {
      Queue& q = qps.at(qpn);
      if (!q.rewinding) return;  // it was cleared
      q.frozen = true;
      ++q.replay;
      look_.push_back(qpn);
    });
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
      if (i == 1 && op == kClear) {  // from here on nothing of the old life may leave
        Queue& q = qps[qpn];
        q.msgs.clear();
        q.rewinding = q.frozen = false;
        ++q.epoch;
      }
    }
  }
  Queue& qp(uint64_t qpn, unsigned log_sq, unsigned mtu_code, uint32_t psn, Service service = kRc) {
    Queue& q = qps[qpn];
    const unsigned epoch = q.epoch;
    q = Queue{};
    q.epoch = epoch;
    q.log_sq = log_sq;
    q.mtu_code = mtu_code;
    q.service = service;
    q.psn = q.peer = q.heard = q.una = q.next_psn = psn;
    q.base = 0x4000'0000 + (qpn << 22) + 64 * (qpn % 3);
    q.ring.assign(size_t{64} << log_sq, 0xEE);
    q.conn = kConn.pack({{"exists", 1},
                         {"has_path", 1},
                         {"state", kRts},
                         {"qtype", service},
                         {"mtu", mtu_code},
                         {"pd", 5},
                         {"dest_qpn", qpn + 100},
                         {"pkey", 0xFFFF},
                         {"qkey", 0x8000'1234},
                         {"timeout", 14},
                         {"max_rd_atomic", kMaxRd},
                         {"log_sq", log_sq},
                         {"sq_base", q.base}});
    write_conn(qpn, q.conn);
    dirty_.push_back(qpn);
    bench.tick(3);
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
    Message m;
    m.wqe = wqe;
    m.index = index;
    m.next = next;
    m.kind = wqe.kind();
    m.first = q.psn;
    m.psns = psns_of(wqe, q.mtu());
    if (q.err) {
      m.kind = kMsgFailed;
      m.status = kFlush;
      m.psns = 0;
    }
    q.psn = (q.psn + m.psns) & 0xFFFFFF;
    q.msgs.push_back(m);
    return true;
  }
  void ring(uint64_t qpn) {
    Queue& q = qps[qpn];
    doorbells.push({qpn, q.prod});
    q.rung = q.prod;
  }
  // Everything of this QP that was not acknowledged must be sent again.
  bool rewind(uint64_t qpn) {
    Queue& q = qps[qpn];
    if (q.rewinding || q.closing) return false;
    q.rewinding = true;
    rewinds.push(qpn);
    return true;
  }

  void drain(uint64_t limit = 200000) {
    bench.wait(
        "every posted message to complete",
        [this] {
          for (auto& [n, q] : qps) {
            if (!q.msgs.empty() || q.rewinding) return false;
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
  StreamSource<uint64_t> kicks, rewinds;
  StreamSource<Bits> replays;
  StreamSink<uint64_t> stopped;
  StreamSink<uint64_t> nudges;
  StreamSink<uint64_t> lerrs;
  Stall rd0_stall, rd1_stall, mrq_stall, txp_stall, rsp_stall;
  std::map<uint64_t, Queue> qps;
  unsigned read_low = 20, read_high = 20;  // latency of a TLP of WQEs
  unsigned ack_low = 40, ack_high = 40;    // from a packet to its acknowledgement
  unsigned max_tlp = 512;
  bool fast_pops = false;  // the completer costs no time
  std::vector<uint64_t> tx_cycles, first_beat_cycles, wqe_req_cycles;
  std::vector<uint64_t> tx_qpns;
  std::vector<unsigned> tx_lens;
  uint64_t counters[10] = {};
  uint64_t resumed_reads = 0, resumed_inside = 0;

 private:
  struct Slot {
    uint64_t qpn = 0;
    unsigned epoch = 0;
    bool known = false, fresh = false;
    Packet packet;
    std::vector<Piece> want;
    std::optional<std::vector<uint8_t>> inl;
    uint64_t got = 0;
    std::vector<Piece> reads;
  };
  struct Tlp {
    uint64_t due;
    uint64_t slot, number;
    uint64_t addr, dst, left;
    std::deque<uint8_t> bytes;  // read when asked: the QP may be gone when they come
  };

  std::vector<Piece> memory_of(const Queue& q, const Message& m) const {
    std::vector<Piece> memory;
    if (m.wqe.inlined) {
      const uint64_t size = 64ull << q.log_sq;
      const uint64_t pos = (m.index * 64ull + 32) % size;
      memory.push_back(
          {q.base + pos, static_cast<uint32_t>(std::min<uint64_t>(size - pos, m.wqe.inline_len))});
      if (memory[0].len < m.wqe.inline_len)
        memory.push_back({q.base, m.wqe.inline_len - memory[0].len});
      return memory;
    }
    for (const auto& s : m.wqe.segments) {
      const bool paged = (s.lkey >> 31) != 0;
      for (uint64_t at = s.va, left = s.len; left > 0;) {
        const uint64_t n = paged ? std::min<uint64_t>(left, 4096 - at % 4096) : left;
        memory.push_back({iova_of(s.lkey, at), static_cast<uint32_t>(n)});
        at += n;
        left -= n;
      }
    }
    return memory;
  }

  // Passes what needs no packet.
  static void next_message(Queue& q) {
    while (q.at < q.msgs.size() && q.msgs[q.at].psns == 0) ++q.at;
  }

  void look_at(unsigned id) {
    Slot& s = slots_[id];
    if (!s.known) return;
    REQUIRE(s.got <= s.packet.len);
    if (s.got < s.packet.len) return;
    INFO("QP " << s.qpn << " PSN " << s.packet.psn);
    REQUIRE((s.reads == s.want));
    Queue& q = qps[s.qpn];
    if (q.epoch == s.epoch) answer(q, s);
    slots_.erase(id);
    free_.push_back(id);
  }
  // The peer: takes what it expects; answers in PSN order after some time.
  void answer(Queue& q, const Slot& s) {
    if (!s.fresh) return;
    const bool rd = s.packet.psns > 1 || s.packet.opcode == 0x0C;
    const uint32_t n = rd ? s.packet.psns : 1;
    for (uint32_t i = 0; i < n; ++i) {
      if (!rd && !s.packet.ack_req && !s.packet.last) continue;
      q.due = std::max(q.due + 1, bench.cycle() + random_.between(ack_low, ack_high));
      acks_.push_back({q.due, s.qpn, q.epoch, (s.packet.psn + i) & 0xFFFFFF});
    }
  }

  void check_packet(const Bits& p) {
    const uint64_t now = bench.cycle();
    const uint64_t qpn = kTxPkt.get(p, "qpn");
    tx_cycles.push_back(now);
    tx_qpns.push_back(qpn);
    tx_lens.push_back(static_cast<unsigned>(kTxPkt.get(p, "payload_len")));
    Queue& q = qps.at(qpn);
    INFO("cycle " << now << " QP " << qpn << " PSN " << kTxPkt.get(p, "psn"));
    REQUIRE(!q.frozen);
    REQUIRE(!q.silent);
    next_message(q);
    REQUIRE(q.at < q.msgs.size());
    Message& m = q.msgs[q.at];
    Packet want = packet_at(m.wqe, q.mtu(), m.first, q.k, q.service);
    ++q.since;
    if (q.service == kRc && q.since >= kAckEvery) want.ack_req = true;
    if (want.ack_req) q.since = 0;
    REQUIRE(kTxPkt.get(p, "psn") == want.psn);
    REQUIRE(kTxPkt.get(p, "opcode") == want.opcode);
    REQUIRE(kTxPkt.get(p, "payload_len") == want.len);
    REQUIRE(kTxPkt.get(p, "ack_req") == want.ack_req);
    REQUIRE(kTxPkt.get(p, "wqe_index") == m.index);
    REQUIRE(kTxPkt.get(p, "notify") == (want.last && q.service != kRc));
    REQUIRE(kTxPkt.get(p, "se") ==
            (want.last && m.wqe.solicited && (m.wqe.is_send() || m.wqe.opcode == kWriteImm)));
    if (q.service != kUd) {
      REQUIRE(kTxPkt.get(p, "va") == m.wqe.remote_va + want.offset);
      REQUIRE(kTxPkt.get(p, "dest_qpn") == qpn + 100);
      if (!m.wqe.is_send()) {
        REQUIRE(kTxPkt.get(p, "rkey") == m.wqe.rkey);
        if (want.first && !m.wqe.is_atomic()) REQUIRE(kTxPkt.get(p, "dmalen") == want.dmalen);
      }
    } else {
      REQUIRE(kTxPkt.get(p, "dest_qpn") == (m.wqe.remote_va >> 32 & 0xFFFFFF));
      REQUIRE(kTxPkt.get(p, "path") == (m.wqe.rkey & 0xFFFF));
      REQUIRE(kTxPkt.get(p, "qkey") ==
              ((m.wqe.remote_va >> 31 & 1) != 0 ? 0x8000'1234 : (m.wqe.remote_va & 0xFFFFFFFF)));
    }
    if (want.last && m.wqe.has_imm()) {
      REQUIRE(kTxPkt.get(p, "imm") == __builtin_bswap32(m.wqe.imm));
    }
    if (want.last && m.wqe.opcode == kSendInv) {
      REQUIRE(kTxPkt.get(p, "imm") == m.wqe.imm);
    }
    if (m.wqe.is_atomic()) {
      REQUIRE(kTxPkt.get(p, "op0") == m.wqe.swap_add);
      REQUIRE(kTxPkt.get(p, "op1") == (m.wqe.opcode == kCompareSwap ? m.wqe.compare : 0));
    }
    // Limits: fence, READs and ATOMICs in flight.
    if (m.wqe.fence && q.k == 0) REQUIRE(q.rd_out == 0);
    if (m.is_rd()) {
      REQUIRE(q.rd_out < kMaxRd);
      ++q.rd_out;
      if (q.k > 0) ++resumed_reads;
    }
    const bool fresh = !psn_before(want.psn, q.peer);
    REQUIRE(kTxPkt.get(p, "resend") == !fresh);
    if (fresh) {
      REQUIRE(want.psn == q.peer);
      q.peer = (want.psn + want.psns) & 0xFFFFFF;
    }
    Slot& s = slots_[top.txp_slot];
    s.known = true;
    s.fresh = fresh;
    s.qpn = qpn;
    s.epoch = q.epoch;
    s.packet = want;
    if (m.wqe.inlined && m.wqe.inline_len <= 96)
      s.inl = m.wqe.data;
    else if (want.len > 0)
      s.want = pieces(memory_of(q, m), want.offset, want.len);
    ++q.k;
    if (want.last) {
      ++q.at;
      q.k = 0;
    }
    look_at(top.txp_slot);
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
    counters[8] += top.cnt_tx_resent_o;
    counters[9] += top.cnt_tx_rd_requests_o;
    if (top.snd_wr_valid) {
      const Bits w = read_pin(top.snd_wr);
      if (qps.count(top.snd_wr_qpn)) {
        Queue& q = qps.at(top.snd_wr_qpn);
        q.next_psn = static_cast<uint32_t>(kSend.get(w, "next_psn"));
        q.at_index = static_cast<uint16_t>(kSend.get(w, "at_index"));
        heard_.insert(top.snd_wr_qpn);
      }
    }
    if (top.rws_valid && top.rws_ready) {
      const Bits r = read_pin(top.rws);
      Queue& q = qps.at(kRewind.get(r, "qpn"));
      q.rewinding = q.frozen = false;
      if (kRewind.get(r, "none") == 0) {
        q.at = 0;
        q.k = static_cast<uint32_t>(kRewind.get(r, "skip"));
        if (q.k > 0) ++resumed_inside;
      }
      q.rd_out = 0;
      q.since = 0;
    }
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
        tlps_.push_back(
            {now + random_.between(read_low, read_high), slot, numbers_[slot]++, addr, dst, n, {}});
        read_ring(q, tlps_.back(), random_.chance(0.5));
        addr += n;
        dst += n;
        left -= n;
      }
    }
    if (top.mrq_valid && top.mrq_ready) {
      const Bits q = read_pin(top.mrq);
      const uint64_t key = kMrReq.get(q, "key"), va = kMrReq.get(q, "va");
      const bool paged = (key >> 31) != 0;
      mrs_.push_back({now + (paged ? random_.between(1, 12) : 1),
                      kMrRsp.pack({{"ok", key != 0xBAD},
                                   {"iova", iova_of(static_cast<uint32_t>(key), va)},
                                   {"flat", !paged},
                                   {"room", paged ? 4096 - va % 4096 : 4096}})});
    }
    if (top.lop_valid && top.lop_ready) {
      const Bits l = read_pin(top.lop);
      lop_due_ = now + random_.between(1, 20);
      for (auto& [qpn, q] : qps) {  // the key names the QP and the message
        if (kLop.get(l, "key") >> 16 != qpn + 1) continue;
        next_local(q, kLop.get(l, "key"));
      }
    }
    if (top.inv_valid) {
      REQUIRE(top.inv_ready);
      settles_.push_back(
          {now + random_.between(1, 300), top.inv_qpn, qps.at(top.inv_qpn).epoch, 0});
    }
    if (top.slot_valid && top.slot_ready) {
      REQUIRE(slots_.count(top.slot_id) == 0);
      slots_[top.slot_id] = Slot{};
      free_.pop_front();
    }
    if (top.txp_valid && top.txp_ready) check_packet(read_pin(top.txp));
    if (top.inl_valid && top.inl_ready) {
      Slot& s = slots_.at(top.inl_slot);
      auto bytes = read_pin(top.inl_data).bytes();
      bytes.resize(top.inl_len);
      REQUIRE(s.known);
      REQUIRE(s.inl);
      REQUIRE(bytes == *s.inl);
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
    // What the peer said counts up to what has been sent (again).
    for (uint64_t qpn : heard_) hear(qpn);
    heard_.clear();
    complete();
  }

  // Each local operation is done once, and in its place.
  void next_local(Queue& q, uint64_t key) {
    for (size_t i = 0; i < q.msgs.size(); ++i) {
      Message& m = q.msgs[i];
      if (m.wqe.opcode != kLocalInv || m.wqe.imm != key) continue;
      INFO("local operation of message " << i << ", packets are at " << q.at);
      REQUIRE(m.executed == 0);
      ++m.executed;
      // everything before it has been sent
      for (size_t k = q.at; k < i; ++k) REQUIRE(q.msgs[k].psns == 0);
      REQUIRE(q.at <= i + 1);
      if (m.wqe.fence) REQUIRE(q.rd_out == 0);
      return;
    }
    FAIL("a local operation that was not posted, or is completed");
  }

  // A TLP is read when it is asked for or when it is answered.
  void read_ring(Queue& q, Tlp& t, bool now) {
    if (!now) return;
    const auto from = q.ring.begin() + static_cast<std::ptrdiff_t>(t.addr - q.base);
    t.bytes.assign(from, from + static_cast<std::ptrdiff_t>(t.left));
  }

  void hear(uint64_t qpn) {
    Queue& q = qps.at(qpn);
    if (q.frozen || q.closing) return;
    const uint32_t una = psn_before(q.next_psn, q.heard) ? q.next_psn : q.heard;
    if (!psn_before(q.una, una)) return;
    q.una = una;
    look_.push_back(qpn);
    dirty_.push_back(qpn);
  }

  bool over(const Queue& q, const Message& m) const {
    if (q.err || m.kind == kMsgFailed) return true;
    if (m.kind == kMsgLocal) {
      return q.frozen || static_cast<uint16_t>(m.index - q.at_index) >= 0x8000;
    }
    return psn_before(m.last(), q.una);
  }
  void retire(uint64_t qpn, Queue& q) {
    const Message m = q.msgs.front();
    INFO("QP " << qpn << " message at " << m.index << " completes, packets are at " << q.at);
    q.msgs.pop_front();
    if (m.psns > 0) {
      if (!q.err) REQUIRE(q.at > 0);  // it has been sent, again if it must be
      if (m.is_rd() && !q.err) {
        ++q.rd_done;
        REQUIRE(q.rd_out > 0);
        --q.rd_out;
        dirty_.push_back(qpn);
      }
    }
    if (m.wqe.opcode == kLocalInv && m.kind == kMsgLocal && !q.err) REQUIRE(m.executed == 1);
    if (q.at > 0) --q.at;
    for (uint16_t b = m.index; b != m.next; ++b) {  // the driver uses its slots again
      for (size_t i = 0; i < 64; ++i)
        q.ring[(b * 64ull + i) % q.ring.size()] = static_cast<uint8_t>(random_.below(256));
    }
    q.freed = m.next;
    ++q.completed;
  }

  // The completer: looks at the oldest message of a QP as long as it can be retired.
  void complete() {
    if (top.hd_lk_valid && top.hd_lk_ready) waiting_ = true;
    popped_ = false;
    if (!top.hd_valid) return;
    REQUIRE(waiting_);
    waiting_ = false;
    Queue& q = qps.at(looked_);
    if (looked_epoch_ != q.epoch || q.closing) return;
    if (!top.hd_empty) {
      const Bits m = read_pin(top.hd);
      const uint64_t kind = kMsg.get(m, "kind");
      INFO("cycle " << bench.cycle() << " message of QP " << looked_ << " at "
                    << kMsg.get(m, "wqe_index") << " kind " << kind);
      REQUIRE(!q.msgs.empty());
      const Message& want = q.msgs.front();
      REQUIRE(kMsg.get(m, "wqe_index") == want.index);
      REQUIRE(kMsg.get(m, "next_index") == want.next);
      if (!q.err) {
        REQUIRE(kind == want.kind);
        REQUIRE(kMsg.get(m, "status") == want.status);
        if (want.psns > 0) {
          REQUIRE(kMsg.get(m, "first_psn") == want.first);
          REQUIRE(kMsg.get(m, "last_psn") == want.last());
          REQUIRE(kMsg.get(m, "bytes") == want.wqe.bytes());
          REQUIRE(kMsg.get(m, "signaled") == want.wqe.signaled);
        }
        if (want.is_rd()) {
          REQUIRE(kMsg.get(m, "seg_cnt") == want.wqe.segments.size());
          const Bits list = read_pin(top.hd_list);
          for (size_t i = 0; i < want.wqe.segments.size(); ++i) {
            REQUIRE(list.get(128 * i, 32) == want.wqe.segments[i].lkey);
            REQUIRE(list.get(128 * i + 32, 32) == want.wqe.segments[i].len);
            REQUIRE(list.get(128 * i + 64, 64) == want.wqe.segments[i].va);
          }
        }
      } else if (kind == kMsgFailed) {
        REQUIRE(kMsg.get(m, "status") == (want.status ? want.status : kFlush));
      }
      if (over(q, want)) {
        retire(looked_, q);
        popped_ = true;
        look_.push_front(looked_);
        return;
      }
    }
    if (!q.frozen) return;
    // It has stopped, what could be retired is: say where it goes on. Only messages in msg_pool
    // are in flight.
    if (q.sent_replay == q.replay) return;
    q.sent_replay = q.replay;
    Bits r = kRewind.pack({{"qpn", looked_}, {"rd_done", q.rd_done}});
    if (top.hd_empty || q.err) {
      kRewind.set(r, "none", 1);
    } else {
      const Message& m = q.msgs.front();
      REQUIRE(m.psns > 0);
      REQUIRE(psn_sub(q.una, m.first) < m.psns);
      kRewind.set(r, "psn", q.una);
      kRewind.set(r, "skip", psn_sub(q.una, m.first));
      kRewind.set(r, "wqe_index", m.index);
    }
    replays.push(r);
  }

  void drive() {
    const uint64_t now = bench.cycle();
    top.rd0_ready = !rd0_stall();
    top.rd1_ready = !rd1_stall();
    top.mrq_ready = !mrq_stall();
    top.lop_ready = !mrq_stall();
    top.lop_done_valid = lop_due_ == now;
    top.lop_done_ok = 1;
    top.inv_ready = settles_.size() < 3;
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
      if (t.bytes.empty()) {
        for (auto& [qpn, q] : qps) {
          if (t.addr >= q.base && t.addr + t.left <= q.base + q.ring.size()) read_ring(q, t, true);
        }
        t.bytes.resize(t.left, 0);  // the QP has got a smaller ring meanwhile
      }
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
    // What the peer says arrives.
    for (auto a = acks_.begin(); a != acks_.end();) {
      if (a->due > now) {
        ++a;
        continue;
      }
      Queue& q = qps.at(a->qpn);
      if (q.epoch == a->epoch) {
        const uint32_t heard = (a->psn + 1) & 0xFFFFFF;
        if (psn_before(q.heard, heard)) q.heard = heard;
        hear(a->qpn);
      }
      a = acks_.erase(a);
    }
    // What was under way before a LOCAL_INV has ended.
    for (auto s = settles_.begin(); s != settles_.end();) {
      if (s->due > now) {
        ++s;
        continue;
      }
      Queue& q = qps.at(s->qpn);
      if (q.epoch == s->epoch) {
        q.inv_done = !q.inv_done;
        q.inv_kick = true;
        dirty_.push_back(s->qpn);
      }
      s = settles_.erase(s);
    }
    // The acknowledged half; then whoever may wait for it is kicked.
    top.ack_wr_valid = !dirty_.empty();
    if (!dirty_.empty()) {
      const uint64_t qpn = dirty_.front();
      const Queue& q = qps.at(qpn);
      dirty_.pop_front();
      top.ack_wr_qpn = static_cast<uint32_t>(qpn);
      write_pin(top.ack_wr,
                kAck.pack({{"una_psn", q.una}, {"rd_done", q.rd_done}, {"inv_done", q.inv_done}}));
      if (q.kicked_for != q.rd_done || q.inv_kick) kicks.push(qpn);
      qps.at(qpn).kicked_for = q.rd_done;
      qps.at(qpn).inv_kick = false;
    }
    top.pop_valid = popped_;
    top.pop_qpn = looked_;
    top.hd_lk_valid = 0;
    if (fast_pops) {  // without looking, a message per cycle
      if (!look_.empty()) {
        Queue& q = qps.at(look_.front());
        if (!q.msgs.empty() && over(q, q.msgs.front())) {
          top.pop_valid = 1;
          top.pop_qpn = look_.front();
          retire(look_.front(), q);
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
  std::deque<Ack> acks_, settles_;
  std::deque<uint64_t> look_, dirty_;
  std::set<uint64_t> heard_;
  uint64_t lop_due_ = ~uint64_t{0};
  uint64_t looked_ = 0;
  unsigned looked_epoch_ = 0;
  bool waiting_ = false, popped_ = false, txp_held_ = false;

 public:
  void look(uint64_t qpn) { look_.push_back(qpn); }
};

// Everything that may stand in a send queue; small rings get small WQEs.
struct Mix {
  bool rd = true, local = true, paged = true, send = true;
};
Wqe random_wqe(Rng& r, const Queue& q, uint64_t qpn, Mix mix = {}) {
  const unsigned mtu = q.mtu(), max_blocks = 1u << q.log_sq;
  auto segments = [&](size_t most_bytes) {
    const size_t count = r.between(0, max_blocks >= 2 ? 6 : 2);
    std::vector<Segment> list;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t paged = mix.paged && r.chance(0.2) ? 0x80000000u : 0;
      list.push_back({(r.u32() & 0x7FFFFFFF) | 0x1000 | paged,
                      static_cast<uint32_t>(r.chance(0.2) ? 0 : r.between(1, most_bytes)),
                      r.bits(40)});
    }
    return list;
  };
  Wqe w;
  const double kind = static_cast<double>(r.below(1000)) / 1000;
  if (q.service == kUd) {
    w = Wqe::write_inline(r.bits(56), r.u32(), r.bytes(r.between(0, max_blocks >= 2 ? 96 : 32)));
    w.opcode = r.chance(0.3) ? kSendImm : kSendOp;
  } else if (kind < 0.3) {
    const size_t most = max_blocks >= 2 ? 96 : 32;
    w = Wqe::write_inline(r.bits(48), r.u32(), r.bytes(r.between(0, most)));
  } else if (kind < 0.4 && max_blocks > 3) {
    w = Wqe::write_inline(r.bits(48), r.u32(),
                          r.bytes(r.between(97, std::min<size_t>(64 * max_blocks - 32, 4064))));
  } else if (kind < 0.45 && mix.local) {
    w.opcode = r.chance(0.5) ? kNop : kLocalInv;
    if (w.opcode == kLocalInv) w.imm = static_cast<uint32_t>((qpn + 1) << 16 | (q.posted & 0xFFFF));
    w.long_form = max_blocks >= 2 && r.chance(0.3);
  } else if (kind < 0.65 && mix.rd && q.service == kRc) {
    if (r.chance(0.5)) {
      w = Wqe::write(r.bits(48), r.u32(), segments(3 * mtu));
      w.opcode = kRead;
    } else {
      w = Wqe::atomic(r.chance(0.5) ? kCompareSwap : kFetchAdd, r.bits(45) << 3, r.u32(),
                      {r.u32() & 0x7FFFFFFF, 8, r.bits(40)}, r.bits(64), r.bits(64));
      w.segments[0].lkey |= 0x1000;
    }
  } else {
    const auto list = segments(r.chance(0.3) ? 5 * mtu : mtu);
    w = Wqe::write(r.bits(48), r.u32(), list);
    if (!list.empty() && r.chance(0.2)) w.long_form = max_blocks >= 2 || list.size() > 2;
  }
  if (w.is_write()) {
    const uint8_t send = r.chance(0.7) ? uint8_t{kSendOp} : uint8_t{kWrite};
    w.opcode = mix.send ? send : uint8_t{kWrite};
    if (r.chance(0.2)) w.opcode = w.opcode == kWrite ? kWriteImm : kSendImm;
    if (w.opcode == kSendOp && q.service == kRc && r.chance(0.3)) w.opcode = kSendInv;
    w.imm = r.u32();
  }
  if (q.service == kUd) w.imm = r.u32();
  w.signaled = r.chance(0.5);
  w.solicited = r.chance(0.5);
  w.fence = r.chance(0.1);
  return w;
}

// Posts at random on every QP, rings late or early, pushes by BlueFlame now and then.
template <class N>
void run_random(N& nic, Rng& r, const std::vector<uint64_t>& qpns, uint64_t per_qp,
                bool blueflame = true, double rewinds = 0, Mix mix = {}) {
  std::map<uint64_t, uint64_t> left;
  for (uint64_t q : qpns) left[q] = per_qp;
  uint64_t limit = 1000000;
  while (!left.empty()) {
    if (--limit == 0) {
      std::string who;
      for (const auto& [n, count] : left) {
        const Queue& q = nic.qps[n];
        who += " QP " + std::to_string(n) + ": " + std::to_string(count) + " to post, " +
               std::to_string(q.msgs.size()) + " open, packets at " + std::to_string(q.at) + "." +
               std::to_string(q.k) + (q.rewinding ? ", stopped" : "") + ";";
      }
      throw Timeout("posting does not get on;" + who);
    }
    const uint64_t qpn = qpns[r.below(qpns.size())];
    Queue& q = nic.qps[qpn];
    if (left.count(qpn) && nic.doorbells.pending() < 20) {
      Wqe w = random_wqe(r, q, qpn, mix);
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
    if (rewinds > 0 && r.chance(rewinds)) nic.rewind(qpns[r.below(qpns.size())]);
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
  nic.bench.wait(
      "requests to stop", [&] { return nic.rewinds.pending() == 0; }, 1000);
  nic.qps[victim].closing = true;
  nic.give_order(kClear, victim);
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

TEST_CASE("requester: after a rewind everything leaves again from the right packet on") {
  // Latencies of WQE reads and answers in cycles, rewinds per thousand posts: answers may come long
  // before the replay.
  const unsigned plans[][5] = {
      {5, 60, 40, 300, 150}, {200, 400, 5, 100, 20}, {5, 20, 1, 2000, 100}};
  uint64_t resent = 0, inside = 0, reads = 0;
  for (const auto& plan : plans) {
    Nic<Vrequester_bench> nic(512);
    auto r = rng("rewind");
    std::vector<uint64_t> qpns;
    for (uint64_t q = 0; q < 10; ++q) {
      nic.qp(q * 6, static_cast<unsigned>(q % 4 == 0 ? 8 : 1 + q % 6), 1 + q % 5,
             static_cast<uint32_t>(0xFFFFC0 + 6 * q));
      qpns.push_back(q * 6);
    }
    nic.read_low = plan[0];
    nic.read_high = plan[1];
    nic.ack_low = plan[2];
    nic.ack_high = plan[3];
    nic.max_tlp = 128;
    run_random(nic, r, qpns, 80, true, plan[4] * 0.001);
    for (int i = 0; i < 100; ++i) {
      nic.rewind(qpns[r.below(qpns.size())]);
      nic.bench.tick(r.between(1, 100));
    }
    nic.drain();
    CHECK(nic.completed() == 10 * 80);
    CHECK(nic.lerrs.size() == 0);
    resent += nic.counters[8];
    inside += nic.resumed_inside;
    reads += nic.resumed_reads;
  }
  CHECK(resent > 1000);
  CHECK(inside > 20);
  CHECK(reads > 3);
}

TEST_CASE(
    "requester: rewinds with small pools, 1024 bit, slow contexts, stalls and resets of QPs") {
  Nic<Vrequester_small> nic(1024, Stall::bursts(0.1, 10));
  auto r = rng("rewind");
  std::vector<uint64_t> qpns;
  for (uint64_t q = 0; q < 5; ++q) {
    nic.qp(q, static_cast<unsigned>(2 + q), 1 + q % 5, static_cast<uint32_t>(0xFFFFF0 + q));
    qpns.push_back(q);
  }
  nic.read_low = 3;
  nic.read_high = 80;
  nic.ack_low = 1;
  nic.ack_high = 600;
  nic.max_tlp = 128;
  run_random(nic, r, qpns, 120, true, 0.03);
  nic.drain();
  CHECK(nic.completed() == 5 * 120);
  CHECK(nic.counters[8] > 100);
  for (int round = 0; round < 60; ++round) {
    run_random(nic, r, qpns, r.between(1, 12), true, 0.05);
    nic.bench.tick(r.between(0, 60));
    recreate(nic, r, r.below(5));
  }
  nic.drain();
}

TEST_CASE("requester: UC, UD and RC side by side") {
  Nic<Vrequester_bench> nic(512, Stall::random(0.05));
  auto r = rng("services");
  std::vector<uint64_t> qpns, rc;
  for (uint64_t q = 0; q < 9; ++q) {
    nic.qp(q, 5, 1 + static_cast<unsigned>(q % 5), static_cast<uint32_t>(0xFFFFF0 + q),
           static_cast<Service>(q % 3));
    qpns.push_back(q);
    if (q % 3 == kRc) rc.push_back(q);
  }
  for (int i = 0; i < 10; ++i) {
    run_random(nic, r, qpns, 10);
    nic.rewind(rc[r.below(rc.size())]);
  }
  nic.drain();
  CHECK(nic.completed() == 9 * 100);
}

TEST_CASE("requester: in SQD what has begun is finished, again if need be, and nothing begins") {
  Nic<Vrequester_bench> nic(512);
  auto r = rng("sqd");
  std::vector<uint64_t> qpns;
  for (uint64_t q = 0; q < 6; ++q) {
    nic.qp(q, 7, 1 + static_cast<unsigned>(q % 3), 0);
    qpns.push_back(q);
  }
  for (int round = 0; round < 15; ++round) {
    run_random(nic, r, qpns, 10, true, 0.02);
    const uint64_t qpn = r.below(6);
    Queue& q = nic.qps[qpn];
    nic.bench.wait("doorbells",
                   [&] { return nic.doorbells.pending() == 0 && nic.pushes.pending() == 0; });
    nic.set_state(qpn, kSqd);
    nic.give_order(kOrderKick, qpn);
    nic.bench.tick(1500);  // a turn that had begun: eight messages, of slow pages
    nic.bench.wait(
        "the message in progress", [&] { return q.k == 0 && !q.rewinding; }, 5000);
    nic.bench.tick(100);
    const uint32_t peer = q.peer;
    nic.rewind(qpn);
    nic.bench.tick(1500);
    CHECK(q.peer == peer);
    CHECK(q.una == peer);  // drained
    nic.set_state(qpn, kRts);
    nic.give_order(kOrderKick, qpn);
  }
  nic.drain();
  CHECK(nic.completed() == 15 * 60);
}

TEST_CASE("requester: long random runs of everything", "[.soak]") {
  auto r = rng("soak");
  for (int round = 0; round < 6; ++round) {
    INFO("round " << round);
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
      run_random(nic, r, qpns, 300, true, round * 0.005);
      nic.drain(2000000);
      CHECK(nic.completed() == 64 * 300);
    }
    {
      Nic<Vrequester_small> nic(1024, Stall::bursts(0.05, 30));
      for (uint64_t q = 0; q < 5; ++q) nic.qp(q, 5, 1 + q % 5, 0);
      nic.read_high = 200;
      for (int life = 0; life < 200; ++life) {
        run_random(nic, r, {0, 1, 2, 3, 4}, r.between(1, 20), true, round * 0.003);
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
  nic.look(2);
  nic.bench.tick(300);
  for (int i = 0; i < 20; ++i) {
    nic.post(2, random_wqe(r, q, 2));
    nic.ring(2);
    nic.bench.tick(5);
  }
  nic.drain();
  CHECK(q.completed == q.posted);
}

TEST_CASE(
    "requester: a QP that fails in a replay flushes each WQE once, whatever its ring holds now") {
  auto r = rng("err");
  for (int round = 0; round < 25; ++round) {
    Nic<Vrequester_bench> nic(512);
    nic.read_low = 10;
    nic.read_high = 300;
    nic.ack_high = 2000;
    for (uint64_t q = 0; q < 3; ++q) nic.qp(q, 6, 1, 0);
    run_random(nic, r, {0, 1, 2}, 30, false, 0.03);
    nic.bench.wait("doorbells", [&] { return nic.doorbells.pending() == 0; });
    nic.rewind(2);
    nic.bench.tick(r.between(1, 800));
    nic.set_state(2, kErr);
    nic.give_order(kOrderErr, 2);
    Queue& q = nic.qps[2];
    q.err = q.silent = true;
    nic.look(2);
    for (int i = 0; i < 60; ++i) {
      if (nic.post(2, random_wqe(r, q, 2))) nic.ring(2);
      nic.bench.tick(r.between(1, 30));
    }
    nic.drain();
    CHECK(q.completed == q.posted);
    CHECK(nic.lerrs.size() == 0);
  }
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
    q.psn = (q.psn - q.msgs.back().psns) & 0xFFFFFF;
    q.msgs.back().psns = 0;
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

TEST_CASE("requester: turns are shared by bytes, whatever the size of packets, and by weight") {
  struct Sender {
    uint64_t qpn;
    unsigned mtu_code;  // 128 << n
    uint64_t weight;
  };
  for (const std::vector<Sender>& senders :
       {std::vector<Sender>{{1, 5, 0}, {2, 3, 0}, {3, 1, 0}, {4, 5, 1}},
        std::vector<Sender>{{1, 5, 1}, {2, 4, 2}, {3, 2, 4}, {4, 5, 7}, {5, 1, 3}}}) {
    Nic<Vrequester_bench> nic(512);
    uint64_t weights = 0;
    for (const Sender& s : senders) {
      Queue& q = nic.qp(s.qpn, 6, s.mtu_code, 0);
      kConn.set(q.conn, "weight", s.weight);
      nic.write_conn(s.qpn, q.conn);
      for (int i = 0; i < 40; ++i) nic.post(s.qpn, Wqe::write(0x10, 1, {{1, 65536, 0x100}}));
      weights += std::max<uint64_t>(s.weight, 1);
    }
    nic.bench.tick(5);
    for (const Sender& s : senders) nic.ring(s.qpn);
    nic.bench.tick(8'000);
    // Payload and what is around it, as long as all have work.
    std::map<uint64_t, uint64_t> bytes;
    uint64_t all = 0;
    for (size_t i = 100; i < nic.tx_qpns.size(); ++i) {
      bytes[nic.tx_qpns[i]] += nic.tx_lens[i] + 98;
      all += nic.tx_lens[i] + 98;
    }
    REQUIRE(all > 1'000'000);
    for (const Sender& s : senders) {
      REQUIRE(bytes[s.qpn] < 38 * 65536);
      const double share = static_cast<double>(bytes[s.qpn]) / static_cast<double>(all);
      const auto due =
          static_cast<double>(std::max<uint64_t>(s.weight, 1)) / static_cast<double>(weights);
      INFO("QP " << s.qpn << ", share " << share << ", due " << due);
      CHECK(std::abs(share / due - 1) < 0.05);
    }
  }
}

TEST_CASE("requester: a QP with a rate keeps it beside QPs without, and is stopped at once") {
  Nic<Vrequester_bench> nic(512);
  for (uint64_t q = 0; q < 5; ++q) nic.qp(q, 6, 5, 0);
  const auto rate = [&](uint64_t qpn, uint64_t mbps) {
    kConn.set(nic.qps[qpn].conn, "rate", mbps);
    nic.write_conn(qpn, nic.qps[qpn].conn);
    nic.bench.tick(10);
  };
  const auto cycles = [&](uint64_t qpn) {
    std::vector<uint64_t> out;
    for (size_t i = 0; i < nic.tx_qpns.size(); ++i)
      if (nic.tx_qpns[i] == qpn) out.push_back(nic.tx_cycles[i]);
    return out;
  };
  rate(2, 20'000);
  rate(3, 3'000);
  for (uint64_t q = 0; q < 5; ++q) {
    for (int i = 0; i < 50; ++i) nic.post(q, Wqe::write(0x10, 1, {{1, 65536, 0x100}}));
    nic.ring(q);
  }
  nic.bench.tick(90'000);
  for (const auto& [qpn, mbps] : {std::pair{2u, 20'000.0}, std::pair{3u, 3'000.0}}) {
    const auto at = cycles(qpn);
    REQUIRE(at.size() > 12);
    // From the second packet on; one in 16 has a RETH.
    const double bits = 8.0 * 4179 * static_cast<double>(at.size() - 2);
    const double got = bits / (static_cast<double>(at.back() - at[1]) * 2e-9) / 1e6;
    INFO("QP " << qpn << ": " << got << " Mb/s");
    CHECK(std::abs(got / mbps - 1) < 0.01);
  }
  CHECK(cycles(0).size() > 4 * cycles(2).size());
  // At 10 Mb/s the next packet is 3.3 ms away: a replay and CLEAR do not wait for it.
  rate(3, 10);
  nic.bench.tick(3000);
  const size_t stops = nic.stopped.size();
  REQUIRE(nic.rewind(3));
  nic.bench.wait(
      "the QP to stop", [&] { return nic.stopped.size() > stops; }, 2000);
  rate(2, 10);
  nic.bench.tick(3000);
  nic.give_order(kClear, 2);
  nic.give_order(kClear, 3);
  nic.drain();
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
