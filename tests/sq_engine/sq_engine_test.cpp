// SPDX-License-Identifier: Apache-2.0
#include <Vsq_engine.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/memory.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

constexpr uint64_t kIovaOf = 0x5000'0000'0000;  // iova = va + this, for every key but the bad ones
constexpr uint32_t kBadKey = 0xBAD;
constexpr uint32_t kRefusedKey = 0x6B0;

// Where a region lies: flat ones in one piece, paged ones (bit 31 of the key) page by page
// elsewhere.
uint64_t iova_of(uint32_t key, uint64_t va) {
  if ((key >> 31) == 0) return va + kIovaOf;
  return ((va >> 12) * 0x9E3779B97F4A7C15ull << 12 & 0xFFFF'FFFF'F000) | (va & 0xFFF);
}
// The pieces of a segment in memory: one, or one per page.
std::vector<Piece> memory_of(const Segment& s) {
  if ((s.lkey >> 31) == 0) return {{iova_of(s.lkey, s.va), s.len}};
  std::vector<Piece> out;
  for (uint64_t at = s.va, left = s.len; left > 0;) {
    const uint64_t n = std::min<uint64_t>(left, 4096 - at % 4096);
    out.push_back({iova_of(s.lkey, at), static_cast<uint32_t>(n)});
    at += n;
    left -= n;
  }
  return out;
}

struct SentPacket {
  Bits pkt;
  uint64_t cycle = 0;
  unsigned slot = 0;
  std::vector<Piece> reads;
  uint64_t qpn_of_reads = 0;
  std::optional<std::vector<uint8_t>> inl;
  uint64_t payload() const {
    uint64_t sum = inl ? inl->size() : 0;
    for (const auto& piece : reads) sum += piece.len;
    return sum;
  }
};

struct TurnDone {
  uint64_t qpn = 0;
  bool more = false;
  unsigned blocked = 0;
  unsigned popped = 0;
  bool operator==(const TurnDone&) const = default;
};

// Everything around sq_engine, as plain models: lists of WQEs, contexts, keys, slots, pool.
class World {
 public:
  explicit World(Stall stall = {}, unsigned slots = 64)
      : top(bench.top()),
        turns(bench, "turn", top.turn_valid, top.turn_ready, top.turn_qpn),
        dones(
            bench, "turn_done", top.turn_done_valid, top.turn_done_ready,
            [this] {
              return TurnDone{top.turn_done_qpn, top.turn_done_more != 0, top.turn_done_blocked,
                              top.turn_done_popped};
            },
            stall),
        orders(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi),
        rewinds(bench, "rws", top.rws_valid, top.rws_ready, top.rws),
        lerrs(bench, "lerr", top.lerr_valid, top.lerr_ready,
              [this] {
                return std::array<uint64_t, 3>{top.lerr_qpn, top.lerr_index, top.lerr_status};
              }),
        slots_(slots) {
    for (unsigned i = 0; i < slots; ++i) free_.push_back(i);
    for (Stall* s : {&mrq_stall_, &txp_stall_, &inl_stall_, &rd_stall_, &hd_stall_, &lk_stall_}) {
      *s = stall;
      s->seed(rng("stall" + std::to_string(stall_index_++)));
    }
    top.cfg_ack_req_every_i = 16;
    top.credit_i = 4194;
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    dones.on_item([this](const TurnDone& d) {
      done_indices.push_back(top.turn_done_index);
      full_windows.push_back(top.turn_done_window != 0);
      in_turn.erase(d.qpn);
      if (auto_turn && (d.more || pending(d.qpn)) && d.blocked == 0) turn(d.qpn);
      if (auto_turn && d.blocked == 1) turn(d.qpn);
      // A LOCAL_INV that has settled: the acknowledged half, the kick.
      if (auto_settle && d.blocked == 2 && waits_inv_.erase(d.qpn) != 0) {
        settle(d.qpn);
        turn(d.qpn);
      }
    });
    bench.reset();
  }

  void qp(uint64_t qpn, unsigned mtu_code, uint32_t psn, QpState state = kRts, unsigned log_sq = 6,
          Service service = kRc) {
    conn[qpn] = kConn.pack({{"exists", 1},
                            {"has_path", 1},
                            {"state", state},
                            {"mtu", mtu_code},
                            {"pd", 5},
                            {"dest_qpn", qpn ^ 0xABC},
                            {"pkey", 0xFFFF},
                            {"path", qpn + 3},
                            {"log_sq", log_sq},
                            {"qtype", service},
                            {"qkey", 0x8001'0000 + qpn},
                            {"timeout", 14},
                            {"max_rd_atomic", 4},
                            {"sq_base", 0x7000'0000 + (qpn << 20)}});
    begun_.erase(qpn);
    send[qpn] = kSend.pack({{"next_psn", psn}, {"max_psn", psn}});
    ack[qpn] = kAck.pack({{"una_psn", psn}});
  }
  void post(uint64_t qpn, const Wqe& wqe, uint16_t index) {
    if (begun_.insert(qpn).second) {
      kSend.set(send[qpn], "pool_index", index);
      kSend.set(send[qpn], "at_index", index);
    }
    lists[qpn].push_back(wqe.entry(qpn, index));
  }
  void turn(uint64_t qpn) {
    REQUIRE(in_turn.insert({qpn, true}).second);
    turns.push(qpn);
  }
  void settle(uint64_t qpn) { kAck.set(ack[qpn], "inv_done", !kAck.get(ack[qpn], "inv_done")); }
  void reset() {
    for (CData* pin :
         {&top.sq_ctx_valid, &top.snd_ctx_valid, &top.sqa_ctx_valid, &top.mrs_valid, &top.hd_valid})
      *pin = 0;
    bench.reset();
    lists.clear();
    in_turn.clear();
    sent.clear();
    msgs.clear();
    lists_of_msgs.clear();
    awaited.clear();
    offered_ = 0;
    pool_room = 1000;
    walking_ = beat_ = false;
    conn_due_.clear();
    send_due_.clear();
    ack_due_.clear();
    mrs_due_.clear();
    free_.clear();
    held_.clear();
    resumed.clear();
    passed.clear();
    for (unsigned i = 0; i < slots_; ++i) free_.push_back(i);
  }
  bool pending(uint64_t qpn) { return !lists[qpn].empty(); }
  void drain(uint64_t limit = 100000) {
    bench.wait(
        "all lists to be empty",
        [this] {
          if (!in_turn.empty() || !awaited.empty()) return false;
          for (auto& [qpn, list] : lists) {
            if (!list.empty()) return false;
          }
          return true;
        },
        limit);
    bench.tick(20);
  }

  Bench<Vsq_engine> bench;
  Vsq_engine& top;
  StreamSource<uint64_t> turns;
  StreamSink<TurnDone> dones;
  StreamSource<Bits> orders;
  StreamSource<Bits> rewinds;
  StreamSink<std::array<uint64_t, 3>> lerrs;

  std::map<uint64_t, Bits> conn, send, ack;
  std::map<uint64_t, std::deque<Bits>> lists;
  std::map<uint64_t, bool> in_turn;
  std::vector<uint64_t> done_indices;
  bool auto_turn = true, auto_settle = true, settle_room = true;
  std::vector<uint64_t> invalidated;  // QPN of each LOCAL_INV that waits for its end
  unsigned pool_room = 1000;          // messages that msg_pool still takes
  unsigned lk_late = 0;               // extra cycles of a context lookup, at random
  std::vector<SentPacket> sent;
  std::vector<std::pair<uint64_t, Bits>> msgs;
  std::vector<Bits> lists_of_msgs;
  std::vector<uint64_t> passed;                      // QPN of each
  std::vector<std::pair<uint64_t, Bits>> armed;      // cycle, what
  std::vector<std::pair<uint64_t, Bits>> local_ops;  // cycle, what
  std::set<uint64_t> bad_lop_keys;
  std::map<uint64_t, std::vector<uint64_t>> half_cycles;
  std::vector<std::pair<uint64_t, uint64_t>> resumed;  // QPN, index
  uint64_t rd_requests = 0;
  bool hold_slots = false;            // slots stay taken until release()
  uint64_t gone_from = ~uint64_t{0};  // pieces from this address on are refused, whole segments not
  void release() {
    for (unsigned slot : held_) free_.push_back(slot);
    held_.clear();
  }
  std::map<unsigned, size_t> awaited;  // slots whose payload is not complete: index in sent
  std::vector<Bits> key_requests;
  std::vector<bool> full_windows;
  std::vector<std::pair<uint64_t, unsigned>> debts;  // what a turn took too much

 private:
  void sample() {
    if (bench.in_reset()) return;
    // context lookups
    auto lookup = [&](bool valid, bool ready, uint64_t qpn,
                      std::deque<std::pair<uint64_t, Bits>>& out, std::map<uint64_t, Bits>& from,
                      size_t width) {
      if (!valid || !ready) return;
      uint64_t due = bench.cycle() + (lk_late == 0 ? 0 : random_.below(lk_late));
      if (!out.empty()) due = std::max(due, out.back().first + 1);
      out.emplace_back(due, from.count(qpn) ? from[qpn] : Bits(width));
    };
    lookup(top.sq_lk_valid, top.sq_lk_ready, top.sq_lk_qpn, conn_due_, conn, kConn.width());
    lookup(top.snd_lk_valid, top.snd_lk_ready, top.snd_lk_qpn, send_due_, send, kSend.width());
    lookup(top.sqa_lk_valid, top.sqa_lk_ready, top.sqa_lk_qpn, ack_due_, ack, kAck.width());
    if (top.snd_wr_valid) {
      send[top.snd_wr_qpn] = read_pin(top.snd_wr).slice(0, kSend.width());
      half_cycles[top.snd_wr_qpn].push_back(bench.cycle());
    }
    rd_requests += top.cnt_tx_rd_requests_o;
    if (top.debt_o) debts.emplace_back(top.debt_qpn_o, top.debt_value_o);
    if (top.arm_valid) {
      armed.emplace_back(bench.cycle(), read_pin(top.arm).slice(0, kTimer.width()));
    }
    if (top.rwd_valid && top.rwd_ready) resumed.emplace_back(top.rwd_qpn, top.rwd_index);
    if (top.passed_valid && top.passed_ready) passed.push_back(top.passed_qpn);
    if (top.inv_valid) {
      REQUIRE(top.inv_ready);
      invalidated.push_back(top.inv_qpn);
      waits_inv_.insert(top.inv_qpn);
    }
    if (top.lop_valid && top.lop_ready) {
      const Bits l = read_pin(top.lop).slice(0, kLop.width());
      local_ops.emplace_back(bench.cycle(), l);
      lop_due_ = bench.cycle() + 3;
      lop_ok_ = bad_lop_keys.count(kLop.get(l, "key")) == 0;
    }
    // the walk over a list
    if (walk_step_ == 1) walk_step_ = 2;
    if (top.hd_valid && top.hd_ready) {
      ++walk_at_;
      beat_ = false;
    }
    if (top.hd_stop_o) {
      walking_ = false;
      beat_ = false;
    }
    if (top.hd_lk_valid && top.hd_lk_ready) {
      walking_ = true;
      walk_step_ = 1;
      walk_qpn_ = top.hd_lk_qpn;
      walk_ = std::vector<Bits>(lists[walk_qpn_].begin(), lists[walk_qpn_].end());
      walk_at_ = 0;
      empty_given_ = false;
    }
    if (top.pop_valid) {
      REQUIRE(!lists[top.pop_qpn].empty());
      lists[top.pop_qpn].pop_front();
    }
    // keys: 2 cycles
    if (top.mrq_valid && top.mrq_ready) {
      const Bits q = read_pin(top.mrq);
      CHECK(kMrReq.get(q, "pd") == 5);
      mrs_due_.emplace_back(bench.cycle() + 1 + (lk_late ? random_.below(lk_late) : 0), answer(q));
      key_requests.push_back(q.slice(0, kMrReq.width()));
    }
    // packets: slots are taken in the order in which the packets are offered, their payload may
    // overtake them
    if (top.slot_valid && top.slot_ready) {
      REQUIRE(awaited.count(top.slot_id) == 0);
      SentPacket p;
      p.slot = top.slot_id;
      awaited[p.slot] = sent.size();
      sent.push_back(p);
      free_.pop_front();
    }
    if (top.txp_valid && top.txp_ready) {
      REQUIRE(offered_ < sent.size());
      SentPacket& p = sent[offered_++];
      CHECK(p.slot == top.txp_slot);
      p.pkt = read_pin(top.txp).slice(0, kTxPkt.width());
      p.cycle = bench.cycle();
      look_at(p);
    }
    if (top.inl_valid && top.inl_ready) {
      REQUIRE(awaited.count(top.inl_slot) == 1);
      auto& p = sent[awaited[top.inl_slot]];
      REQUIRE(!p.inl);
      auto bytes = read_pin(top.inl_data).bytes();
      bytes.resize(top.inl_len);
      p.inl = bytes;
      look_at(p);
    }
    if (top.rdreq_valid && top.rdreq_ready) {
      const Bits r = read_pin(top.rdreq).slice(0, kRdReq.width());
      const unsigned slot = static_cast<unsigned>(kRdReq.get(r, "slot"));
      REQUIRE(awaited.count(slot) == 1);
      auto& p = sent[awaited[slot]];
      CHECK(kRdReq.get(r, "dst_off") == p.payload());
      CHECK(kRdReq.get(r, "first") == p.reads.empty());
      REQUIRE(kRdReq.get(r, "len") > 0);
      p.qpn_of_reads = kRdReq.get(r, "qpn");
      p.reads.push_back({kRdReq.get(r, "addr"), static_cast<uint32_t>(kRdReq.get(r, "len"))});
      look_at(p);
    }
    if (top.msg_push_valid && top.msg_push_ready) {
      REQUIRE(pool_room > 0);
      --pool_room;
      msgs.emplace_back(top.msg_push_qpn, read_pin(top.msg_push).slice(0, kMsg.width()));
      lists_of_msgs.push_back(read_pin(top.msg_push_list));
    }
  }
  // Keys with bit 31 are paged.
  Bits answer(const Bits& q) const {
    const uint64_t key = kMrReq.get(q, "key"), va = kMrReq.get(q, "va");
    const bool paged = (key >> 31) != 0;
    return kMrRsp.pack({{"ok", key != kBadKey && va < gone_from},
                        {"refused", key == kRefusedKey},
                        {"iova", iova_of(static_cast<uint32_t>(key), va)},
                        {"flat", !paged},
                        {"room", paged ? 4096 - va % 4096 : 4096}});
  }
  // Frees the slot of a packet that is complete.
  void look_at(SentPacket& p) {
    if (p.pkt.width() == 0) return;
    const uint64_t len = kTxPkt.get(p.pkt, "payload_len");
    REQUIRE(p.payload() <= len);
    if (!p.reads.empty()) {
      CHECK(p.qpn_of_reads == kTxPkt.get(p.pkt, "qpn"));
    }
    if (p.payload() < len) return;
    awaited.erase(p.slot);
    (hold_slots ? held_ : free_).push_back(p.slot);
  }
  void drive() {
    top.sq_lk_ready = !lk_stall_();
    top.snd_lk_ready = !lk_stall_();
    auto give = [&](std::deque<std::pair<uint64_t, Bits>>& due, CData& valid, auto& pin) {
      valid = !due.empty() && due.front().first <= bench.cycle();
      if (valid) {
        write_pin(pin, due.front().second);
        due.pop_front();
      }
    };
    give(conn_due_, top.sq_ctx_valid, top.sq_ctx);
    give(send_due_, top.snd_ctx_valid, top.snd_ctx);
    give(ack_due_, top.sqa_ctx_valid, top.sqa_ctx);
    give(mrs_due_, top.mrs_valid, top.mrs);
    top.sqa_lk_ready = !lk_stall_();
    top.passed_ready = !lk_stall_();
    top.rwd_ready = !rd_stall_();
    top.lop_ready = !rd_stall_();
    top.inv_ready = settle_room;
    top.lop_done_valid = lop_due_ == bench.cycle();
    top.lop_done_ok = lop_ok_;
    // The walk: first entry 2 cycles after the lookup.
    if (walking_ && walk_step_ == 2 && !beat_ && !hd_stall_()) {
      if (walk_.empty()) {
        beat_ = !empty_given_;
        empty_given_ = true;
        top.hd_empty = 1;
        top.hd_last = 1;
      } else if (walk_at_ < walk_.size()) {
        beat_ = true;
        top.hd_empty = 0;
        top.hd_last = walk_at_ + 1 == walk_.size();
        write_pin(top.hd, walk_[walk_at_]);
      }
    }
    if (walking_ && !beat_ && walk_step_ == 2 &&
        (walk_.empty() ? empty_given_ : walk_at_ >= walk_.size())) {
      walking_ = false;
    }
    top.hd_valid = beat_;
    top.hd_lk_ready = !walking_ && !beat_;
    top.mrq_ready = !mrq_stall_();
    top.slot_valid = !free_.empty();
    if (!free_.empty()) top.slot_id = free_.front();
    top.txp_ready = !txp_stall_();
    top.inl_ready = !inl_stall_();
    top.rdreq_ready = !rd_stall_();
    top.msg_push_ready = pool_room > 0;
  }

  unsigned slots_;
  Stall mrq_stall_, txp_stall_, inl_stall_, rd_stall_, hd_stall_, lk_stall_;
  int stall_index_ = 0;
  Rng random_ = rng("world");
  std::deque<std::pair<uint64_t, Bits>> conn_due_, send_due_, ack_due_, mrs_due_;
  std::set<uint64_t> begun_;
  std::set<uint64_t> waits_inv_;
  uint64_t lop_due_ = ~uint64_t{0};
  bool lop_ok_ = true;
  bool walking_ = false, beat_ = false, empty_given_ = false;
  int walk_step_ = 0;
  uint64_t walk_qpn_ = 0;
  std::vector<Bits> walk_;
  size_t walk_at_ = 0;
  std::deque<unsigned> free_, held_;
  size_t offered_ = 0;
};

// Compares what left with what must leave for these messages of one QP.
struct Expected {
  Wqe wqe;
  uint16_t index = 0;
};
void check_qp(World& w, uint64_t qpn, const std::vector<Expected>& messages, uint32_t mtu,
              uint32_t psn, unsigned ack_every = 16, unsigned log_sq = 6, Service service = kRc) {
  std::vector<const SentPacket*> sent;
  for (const auto& p : w.sent) {
    if (kTxPkt.get(p.pkt, "qpn") == qpn) sent.push_back(&p);
  }
  std::vector<size_t> msgs;
  for (size_t i = 0; i < w.msgs.size(); ++i) {
    if (w.msgs[i].first == qpn) msgs.push_back(i);
  }
  REQUIRE(msgs.size() == messages.size());
  size_t at = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const auto& [wqe, index] = messages[i];
    INFO("message " << i << " of " << wqe.bytes() << " bytes, MTU " << mtu);
    const Bits& m = w.msgs[msgs[i]].second;
    CHECK(kMsg.get(m, "kind") == wqe.kind());
    CHECK(kMsg.get(m, "wqe_index") == index);
    CHECK(kMsg.get(m, "next_index") == static_cast<uint16_t>(index + wqe.block_count()));
    CHECK(kMsg.get(m, "signaled") == wqe.signaled);
    if (wqe.is_local()) continue;
    const uint32_t psns = psns_of(wqe, mtu);
    CHECK(kMsg.get(m, "first_psn") == psn);
    CHECK(kMsg.get(m, "last_psn") == ((psn + psns - 1) & 0xFFFFFF));
    CHECK(kMsg.get(m, "bytes") == wqe.bytes());
    if (wqe.is_rd()) {
      CHECK(kMsg.get(m, "seg_cnt") == wqe.segments.size());
      for (size_t n = 0; n < wqe.segments.size(); ++n) {
        const Bits& list = w.lists_of_msgs[msgs[i]];
        CHECK(list.get(128 * n, 32) == wqe.segments[n].lkey);
        CHECK(list.get(128 * n + 32, 32) == wqe.segments[n].len);
        CHECK(list.get(128 * n + 64, 64) == wqe.segments[n].va);
      }
    }
    const auto want = segment(wqe, mtu, psn, ack_every, service);
    std::vector<Piece> memory;
    if (wqe.inlined && wqe.inline_len > 96) {
      const uint64_t ring = 64ull << log_sq;
      const uint64_t base = 0x7000'0000 + (qpn << 20);
      const uint64_t pos = (index * 64ull + 32) % ring;
      memory.push_back(
          {base + pos, static_cast<uint32_t>(std::min<uint64_t>(ring - pos, wqe.inline_len))});
      if (memory[0].len < wqe.inline_len) memory.push_back({base, wqe.inline_len - memory[0].len});
    } else {
      for (const auto& s : wqe.segments) {
        for (const Piece& piece : memory_of(s)) memory.push_back(piece);
      }
    }
    for (const auto& p : want) {
      INFO("packet with PSN " << p.psn);
      REQUIRE(at < sent.size());
      const SentPacket& s = *sent[at++];
      CHECK(kTxPkt.get(s.pkt, "opcode") == p.opcode);
      CHECK(kTxPkt.get(s.pkt, "psn") == p.psn);
      CHECK(kTxPkt.get(s.pkt, "payload_len") == p.len);
      CHECK(kTxPkt.get(s.pkt, "ack_req") == p.ack_req);
      CHECK(kTxPkt.get(s.pkt, "notify") == (p.last && service != kRc));
      CHECK(kTxPkt.get(s.pkt, "resend") == 0);
      CHECK(kTxPkt.get(s.pkt, "se") ==
            (p.last && wqe.solicited && (wqe.is_send() || wqe.opcode == kWriteImm)));
      CHECK(kTxPkt.get(s.pkt, "wqe_index") == index);
      if (service == kUd) {
        CHECK(kTxPkt.get(s.pkt, "dest_qpn") == (wqe.remote_va >> 32 & 0xFFFFFF));
        CHECK(kTxPkt.get(s.pkt, "path") == (wqe.rkey & 0xFFFF));
        CHECK(kTxPkt.get(s.pkt, "qkey") ==
              ((wqe.remote_va >> 31 & 1) != 0 ? 0x8001'0000 + qpn : (wqe.remote_va & 0xFFFFFFFF)));
      } else {
        CHECK(kTxPkt.get(s.pkt, "dest_qpn") == (qpn ^ 0xABC));
        CHECK(kTxPkt.get(s.pkt, "path") == qpn + 3);
        CHECK(kTxPkt.get(s.pkt, "va") == wqe.remote_va + p.offset);
      }
      if (p.first && !wqe.is_send()) {
        CHECK(kTxPkt.get(s.pkt, "rkey") == wqe.rkey);
        CHECK(kTxPkt.get(s.pkt, "dmalen") == p.dmalen);
      }
      if (p.last && wqe.has_imm()) {
        CHECK(kTxPkt.get(s.pkt, "imm") == __builtin_bswap32(wqe.imm));
      }
      if (p.last && wqe.opcode == kSendInv) CHECK(kTxPkt.get(s.pkt, "imm") == wqe.imm);
      if (wqe.is_atomic()) {
        CHECK(kTxPkt.get(s.pkt, "op0") == wqe.swap_add);
        CHECK(kTxPkt.get(s.pkt, "op1") == (wqe.opcode == kCompareSwap ? wqe.compare : 0));
      }
      if (wqe.inlined && wqe.inline_len <= 96) {
        CHECK(s.reads.empty());
        CHECK(s.inl.has_value() == (wqe.inline_len > 0));
        if (s.inl) {
          CHECK(*s.inl == wqe.data);
        }
      } else {
        CHECK(!s.inl);
        CHECK((s.reads == pieces(memory, p.offset, p.len)));
      }
    }
    psn = (psn + psns) & 0xFFFFFF;
  }
  CHECK(at == sent.size());
  CHECK(kSend.get(w.send[qpn], "next_psn") == psn);
  CHECK(kSend.get(w.send[qpn], "max_psn") == psn);
  CHECK(kSend.get(w.send[qpn], "in_msg") == 0);
  const auto& [last_wqe, last_index] = messages.back();
  const auto end = static_cast<uint16_t>(last_index + last_wqe.block_count());
  CHECK(kSend.get(w.send[qpn], "pool_index") == end);
  CHECK(kSend.get(w.send[qpn], "at_index") == end);
}

Wqe random_wqe(Rng& r, uint64_t length, size_t segs) {
  std::vector<Segment> list;
  uint64_t left = length;
  for (size_t i = 0; i < segs; ++i) {
    uint64_t n = i + 1 == segs ? left : (r.chance(0.3) ? 0 : r.between(0, left));
    list.push_back(
        {static_cast<uint32_t>(r.between(0x1000, 0xFFFFFF)), static_cast<uint32_t>(n), r.bits(40)});
    left -= n;
  }
  Wqe wqe = Wqe::write(r.bits(48), r.u32(), list);
  if (r.chance(0.3)) {
    wqe.opcode = 9;
    wqe.imm = r.u32();
  }
  wqe.signaled = r.chance(0.5);
  wqe.solicited = r.chance(0.5);
  return wqe;
}

}  // namespace

TEST_CASE("sq_engine cuts messages of every length around MTU and beat boundaries at every MTU") {
  for (unsigned code = 1; code <= 5; ++code) {
    World w;
    const uint32_t mtu = 128u << code;
    const uint32_t psn = 0xFFFFF0;
    w.qp(1, code, psn);
    auto r = rng("lengths");
    std::vector<Expected> messages;
    std::vector<uint64_t> lengths = {0, 1, 2, 3, 4, 63, 64, 65};
    for (uint64_t base : {uint64_t{mtu}, uint64_t{2 * mtu}, uint64_t{3 * mtu}, uint64_t{9 * mtu}}) {
      for (int64_t d : {-65, -64, -5, -1, 0, 1, 4, 64}) lengths.push_back(base + d);
    }
    uint16_t index = 65500;
    for (uint64_t length : lengths) {
      Wqe wqe = random_wqe(r, length, length == 0 ? r.between(0, 1) : 1);
      messages.push_back({wqe, index});
      w.post(1, wqe, index);
      index = static_cast<uint16_t>(index + 1);
    }
    w.turn(1);
    w.drain();
    check_qp(w, 1, messages, mtu, psn);
  }
}

TEST_CASE("sq_engine gathers up to six segments, empty ones too, under stalls of every stream") {
  World w(Stall::random(0.3), 7);
  w.lk_late = 6;
  auto r = rng("gather");
  const uint32_t psn = 0xFFFF80;
  std::map<uint64_t, std::vector<Expected>> messages;
  for (uint64_t qpn = 0; qpn < 5; ++qpn) {
    w.qp(qpn, 1 + static_cast<unsigned>(qpn), psn);
    uint16_t index = 10;
    for (int i = 0; i < 25; ++i) {
      const uint64_t mtu = 256u << qpn;
      Wqe wqe = random_wqe(r, r.chance(0.2) ? mtu * r.between(0, 3) : r.between(0, 4 * mtu),
                           r.between(1, 6));
      if (r.chance(0.2)) wqe = Wqe::write_inline(r.bits(40), r.u32(), r.bytes(r.between(0, 96)));
      messages[qpn].push_back({wqe, index});
      w.post(qpn, wqe, index);
      index = static_cast<uint16_t>(index + wqe.block_count());
    }
    w.turn(qpn);
  }
  w.drain(300000);
  for (uint64_t qpn = 0; qpn < 5; ++qpn) check_qp(w, qpn, messages[qpn], 256u << qpn, psn);
}

TEST_CASE(
    "sq_engine sends inline data of every length, long ones read from the ring over its end") {
  World w;
  auto r = rng("inline");
  w.qp(2, 2, 7);
  std::vector<Expected> messages;
  uint16_t index = 0;
  std::vector<size_t> lengths;
  for (size_t n = 0; n <= 98; ++n) lengths.push_back(n);
  for (size_t n : {100, 159, 160, 161, 511, 512, 513, 1500, 2048, 3000}) lengths.push_back(n);
  for (size_t n = 97; n < 97 + 64 * 40; n += 40) lengths.push_back(n % 1000 + 97);
  for (size_t n : lengths) {
    Wqe wqe = Wqe::write_inline(r.bits(40), r.u32(), r.bytes(n));
    messages.push_back({wqe, index});
    w.post(2, wqe, index);
    index = static_cast<uint16_t>(index + wqe.block_count());
  }
  w.turn(2);
  w.drain();
  check_qp(w, 2, messages, 512, 7);
}

TEST_CASE("sq_engine asks for an ACK on last packets and on every n-th") {
  for (unsigned every : {0u, 1u, 3u, 16u, 255u}) {
    World w;
    w.top.cfg_ack_req_every_i = static_cast<uint8_t>(every);
    w.qp(1, 1, 100);
    std::vector<Expected> messages;
    for (uint16_t i = 0; i < 3; ++i) {
      Wqe wqe = Wqe::write(0x1000, 1, {{1, 256u * (i == 1 ? 600u : 20u), 0x3000}});
      messages.push_back({wqe, i});
      w.post(1, wqe, i);
    }
    w.turn(1);
    w.drain();
    check_qp(w, 1, messages, 256, 100, every);
  }
}

TEST_CASE("sq_engine bounds a turn and says whether more is to be sent") {
  World w;
  w.auto_turn = false;
  w.qp(1, 5, 0);
  w.qp(2, 1, 0);
  for (uint16_t i = 0; i < 2; ++i) w.post(1, Wqe::write(0, 1, {{1, 10000, 0}}), i);
  for (uint16_t i = 0; i < 50; ++i) w.post(2, Wqe::write_inline(0, 1, {1, 2, 3}), i);
  const std::vector<std::pair<int, std::vector<TurnDone>>> plan = {
      {1,
       {{1, true, 0, 0},
        {1, true, 0, 0},
        {1, true, 0, 1},
        {1, true, 0, 0},
        {1, false, 0, 1},
        {1, false, 0, 0}}},
      // 3 and 98 bytes around them, out of 4194
      {2, {{2, true, 0, 42}, {2, false, 0, 8}, {2, false, 0, 0}}}};
  for (const auto& [qpn, dones] : plan) {
    for (const auto& want : dones) {
      w.dones.clear();
      w.turn(qpn);
      w.dones.wait(1);
      CHECK(w.dones[0].qpn == want.qpn);
      CHECK(w.dones[0].more == want.more);
      CHECK(w.dones[0].blocked == want.blocked);
      CHECK(w.dones[0].popped == want.popped);
    }
  }
}

TEST_CASE("sq_engine takes what the credit of a turn says, and tells what it took too much") {
  World w;
  w.auto_turn = false;
  w.qp(1, 1, 0);
  w.post(1, Wqe::write(0, 1, {{1, 50 * 256, 0}}), 0);
  // Packets of 256 + 98 bytes: as many as begin within the credit.
  for (const unsigned credit : {1u, 354u, 355u, 1000u, 4194u}) {
    const size_t before = w.sent.size();
    w.top.credit_i = static_cast<uint16_t>(credit);
    w.dones.clear();
    w.debts.clear();
    w.turn(1);
    w.dones.wait(1);
    const unsigned packets = (credit + 353) / 354;
    CHECK(w.sent.size() - before == packets);
    REQUIRE(w.debts.size() == 1);
    CHECK(w.debts[0] == std::pair<uint64_t, unsigned>{1, packets * 354 - credit});
  }
}

TEST_CASE("sq_engine sends what a rate allows: the first packet in any case, then the budget") {
  World w;
  w.auto_turn = false;
  w.qp(1, 1, 0);
  w.post(1, Wqe::write(0, 1, {{1, 60 * 256, 0}}), 0);
  for (const auto& [limited, budget, packets] : {std::tuple{1u, 0u, 1u},
                                                 {1u, 354u, 1u},
                                                 {1u, 355u, 2u},
                                                 {1u, 1500u, 5u},
                                                 {1u, 60'000u, 12u},
                                                 {0u, 0u, 12u}}) {
    const size_t before = w.sent.size();
    write_pin(w.top.pace_i, kPace.pack({{"limited", limited}, {"budget", budget}}));
    w.dones.clear();
    w.turn(1);
    w.dones.wait(1);
    CHECK(w.sent.size() - before == packets);
    CHECK(w.dones[0].more);
    CHECK(w.dones[0].blocked == 0);
  }
}

TEST_CASE("sq_engine ends a turn before a packet whose class takes none, and goes on there later") {
  World w;
  w.auto_turn = false;
  w.qp(1, 1, 0);
  w.post(1, Wqe::write(0, 1, {{1, 60 * 256, 0}}), 0);
  const auto turn = [&] {
    const size_t before = w.sent.size();
    w.dones.clear();
    w.turn(1);
    w.dones.wait(1);
    CHECK(w.dones[0].blocked == 0);
    return w.sent.size() - before;
  };
  w.top.hold_i = 1;
  CHECK(turn() == 0);
  CHECK(w.dones[0].more);
  CHECK(w.top.pkt_qpn_o == 1);
  w.top.hold_i = 0;
  CHECK(turn() == 12);
  w.top.hold_i = 1;  // inside the message, too
  CHECK(turn() == 0);
  CHECK(turn() == 0);
  w.top.hold_i = 0;
  // A hold during the turn ends it at the next packet.
  const size_t before = w.sent.size();
  w.dones.clear();
  w.turn(1);
  w.bench.wait(
      "two packets", [&] { return w.sent.size() == before + 2; }, 1000);
  w.top.hold_i = 1;
  w.dones.wait(1);
  CHECK(w.sent.size() <= before + 4);
  CHECK(w.dones[0].more);
  w.top.hold_i = 0;
  while (w.sent.size() < 60) REQUIRE(turn() > 0);
  CHECK_FALSE(w.dones[0].more);
}

TEST_CASE("sq_engine ends a turn when bytes in flight have reached the window") {
  World w;
  w.auto_turn = false;
  w.qp(1, 1, 0);
  w.post(1, Wqe::write(0, 1, {{1, 60 * 256, 0}}), 0);
  w.post(1, Wqe::write(0, 1, {{1, 60 * 256, 0}}), 1);
  const auto turn = [&](uint64_t window, uint64_t bytes) {
    const size_t before = w.sent.size();
    write_pin(
        w.top.pace_i,
        kPace.pack({{"limited", 1}, {"budget", 0xFFFF}, {"window", window}, {"bytes", bytes}}));
    w.dones.clear();
    w.full_windows.clear();
    w.turn(1);
    w.dones.wait(1);
    CHECK(w.dones[0].more);
    CHECK(w.dones[0].blocked == 0);
    return std::pair{w.sent.size() - before, static_cast<bool>(w.full_windows[0])};
  };
  // Counted a packet late.
  auto [packets, full] = turn(5 * 354, 354);
  CHECK(packets >= 5);
  CHECK(packets <= 6);
  CHECK(full);
  CHECK(turn(5 * 354, 354) == std::pair<size_t, bool>{0, true});
  // ACKs open it again.
  kAck.set(w.ack[1], "una_psn", 4);
  const auto next = turn(5 * 354, 354);
  CHECK(next.first >= 3);
  CHECK(next.first <= 5);
  CHECK(next.second);
  // One packet goes in any case; without a window, or with a large one, all that the credit has.
  kAck.set(w.ack[1], "una_psn", packets + next.first);
  CHECK(turn(1, 354).first >= 1);
  CHECK(turn(0, 354) == std::pair<size_t, bool>{12, false});
  CHECK(turn(0xFFFF'FFFF, 16'383) == std::pair<size_t, bool>{12, false});
}

TEST_CASE("sq_engine ends the turn of a QP for which msg_pool has no room, and goes on later") {
  World w;
  w.auto_turn = false;
  w.qp(1, 1, 0);
  std::vector<Expected> messages;
  for (uint16_t i = 0; i < 6; ++i) {
    Wqe wqe = i == 3 ? Wqe::write(8, 9, {{1, 700, 0}}) : Wqe::write_inline(0, 1, {1, 2, 3});
    messages.push_back({wqe, i});
    w.post(1, wqe, i);
  }
  w.pool_room = 3;
  w.turn(1);
  w.dones.wait(1);
  CHECK((w.dones[0] == TurnDone{1, true, 1, 3}));
  w.pool_room = 100;
  w.turn(1);
  w.drain();
  check_qp(w, 1, messages, 256, 0);
}

TEST_CASE(
    "sq_engine fails bad work-queue elements with the right status and flushes what follows") {
  struct Bad {
    const char* what;
    Wqe wqe;
    uint64_t status;
  };
  std::vector<Bad> all;
  auto with = [](Wqe w, auto f) {
    f(w);
    return w;
  };
  const Wqe good = Wqe::write(0x100, 1, {{1, 1000, 0x100}});
  for (int op : {0x02, 0x07, 0x0C, 0x13, 0x1A, 0x77, 0xFF}) {
    all.push_back(
        {"opcode", with(good, [&](Wqe& w) { w.opcode = static_cast<uint8_t>(op); }), kLocQpOp});
  }
  all.push_back({"inline READ",
                 with(Wqe::write_inline(0, 1, {1, 2}), [](Wqe& w) { w.opcode = kRead; }),
                 kLocQpOp});
  for (uint32_t len : {0u, 7u, 9u, 16u}) {
    all.push_back({"ATOMIC result", Wqe::atomic(kFetchAdd, 0, 1, {1, len, 0}, 1, 0), kLocLen});
  }
  all.push_back(
      {"READ too long",
       with(Wqe::write(0, 1, {{1, 0x80000000u, 0}, {1, 1, 0}}), [](Wqe& w) { w.opcode = kRead; }),
       kLocLen});
  all.push_back(
      {"bad key of a READ",
       with(Wqe::write(0, 1, {{1, 10, 0}, {kBadKey, 10, 0}}), [](Wqe& w) { w.opcode = kRead; }),
       kLocProt});
  all.push_back(
      {"bad key of an ATOMIC", Wqe::atomic(kFetchAdd, 0, 1, {kBadKey, 8, 0}, 1, 0), kLocProt});
  all.push_back({"too long", Wqe::write(0, 1, {{1, 0x80000000u, 0}, {1, 1, 0}}), kLocLen});
  all.push_back({"far too long",
                 Wqe::write(0, 1, {{1, 0xFFFFFFFFu, 0}, {1, 0xFFFFFFFFu, 0}, {1, 0xFFFFFFFFu, 0}}),
                 kLocLen});
  all.push_back({"bad key", Wqe::write(0, 1, {{kBadKey, 10, 0}}), kLocProt});
  all.push_back(
      {"second key bad", Wqe::write(0, 1, {{1, 10, 0}, {kBadKey, 10, 0}, {1, 10, 0}}), kLocProt});
  all.push_back({"GPU refused", Wqe::write(0, 1, {{1, 10, 0}, {kRefusedKey, 10, 0}}), kLocProt});
  for (const auto& bad : all) {
    INFO(bad.what << " opcode " << int{bad.wqe.opcode});
    World w;
    w.qp(3, 3, 0x10);
    w.qp(4, 3, 0x20);
    const Wqe nop = with(good, [](Wqe& n) {
      n.opcode = 0;
      n.signaled = true;
    });
    w.post(3, good, 0);
    w.post(3, nop, 1);
    w.post(3, bad.wqe, 2);
    w.post(3, good, 4);
    w.post(3, bad.wqe, 5);
    w.post(4, good, 0);
    w.turn(3);
    w.turn(4);
    w.drain();
    std::vector<std::array<uint64_t, 3>> got;
    for (auto& [q, m] : w.msgs) {
      if (q == 3)
        got.push_back({kMsg.get(m, "kind"), kMsg.get(m, "wqe_index"), kMsg.get(m, "status")});
    }
    const std::vector<std::array<uint64_t, 3>> want = {{kMsgWrite, 0, 0},
                                                       {kMsgLocal, 1, 0},
                                                       {kMsgFailed, 2, bad.status},
                                                       {kMsgFailed, 4, kFlush},
                                                       {kMsgFailed, 5, kFlush}};
    CHECK(got == want);
    CHECK(w.lerrs.size() == 0);
    size_t packets3 = 0, packets4 = 0;
    for (auto& p : w.sent) (kTxPkt.get(p.pkt, "qpn") == 3 ? packets3 : packets4) += 1;
    CHECK(packets3 == 1);
    CHECK(packets4 == 1);
    CHECK(kSend.get(w.send[3], "failed") == 1);
    CHECK(kSend.get(w.send[4], "failed") == 0);
    CHECK(kSend.get(w.send[3], "next_psn") == 0x11);
  }
}

TEST_CASE("sq_engine sends SENDs of every kind and length, with and without immediate or key") {
  for (unsigned code : {1u, 3u, 5u}) {
    World w;
    const uint32_t mtu = 128u << code, psn = 0xFFFFF0;
    w.qp(1, code, psn);
    auto r = rng("sends");
    std::vector<Expected> messages;
    uint16_t index = 40000;
    for (uint64_t base : {uint64_t{0}, uint64_t{mtu}, uint64_t{3 * mtu}}) {
      for (int64_t d : {-1, 0, 1, 64}) {
        if (base == 0 && d < 0) continue;
        for (uint8_t op : {kSendOp, kSendImm, kSendInv}) {
          Wqe wqe = random_wqe(r, base + d, 1);
          wqe.opcode = op;
          wqe.imm = r.u32();
          if (r.chance(0.2)) {
            wqe = Wqe::write_inline(0, 0, r.bytes(r.between(0, 96)));
            wqe.opcode = op;
            wqe.imm = r.u32();
          }
          messages.push_back({wqe, index});
          w.post(1, wqe, index);
          index = static_cast<uint16_t>(index + wqe.block_count());
        }
      }
    }
    w.turn(1);
    w.drain();
    check_qp(w, 1, messages, mtu, psn);
  }
}

TEST_CASE("sq_engine asks for READs and ATOMICs once each, and keeps their local segments") {
  World w(Stall::random(0.2));
  w.lk_late = 4;
  const uint32_t mtu = 256, psn = 0xFFFFF8;
  w.qp(1, 1, psn);
  kConn.set(w.conn[1], "max_rd_atomic", 255);
  auto r = rng("reads");
  std::vector<Expected> messages;
  uint16_t index = 3;
  for (int i = 0; i < 60; ++i) {
    Wqe wqe = random_wqe(r, r.chance(0.2) ? mtu * r.between(0, 3) : r.between(0, 4 * mtu),
                         r.between(1, 6));
    if (i % 3 == 0) wqe.opcode = kRead;
    if (i % 3 == 1) {
      wqe = Wqe::atomic(i % 2 ? kCompareSwap : kFetchAdd, r.bits(45) << 3, r.u32(),
                        {static_cast<uint32_t>(r.between(0x1000, 0xFFFFF)), 8, r.bits(40)},
                        r.bits(64), r.bits(64));
    }
    messages.push_back({wqe, index});
    w.post(1, wqe, index);
    index = static_cast<uint16_t>(index + wqe.block_count());
  }
  w.turn(1);
  w.drain();
  check_qp(w, 1, messages, mtu, psn);
  CHECK(w.rd_requests == 40);
  CHECK(kSend.get(w.send[1], "rd_issued") == 40);
  std::map<uint64_t, bool> writes;  // the NIC will write there
  for (const auto& [wqe, i] : messages) {
    for (const auto& segment : wqe.segments) writes[segment.lkey] = wqe.is_rd();
  }
  std::set<uint64_t> asked;
  for (const Bits& q : w.key_requests) {
    asked.insert(kMrReq.get(q, "key"));
    CHECK(kMrReq.get(q, "need_lwrite") == writes.at(kMrReq.get(q, "key")));
  }
  CHECK(asked.size() == writes.size());
}

TEST_CASE(
    "sq_engine sends UC and UD with their opcodes and addresses, and nothing that they lack") {
  auto r = rng("services");
  for (Service service : {kUc, kUd}) {
    World w;
    w.qp(1, 2, 9, kRts, 6, service);
    std::vector<Expected> messages;
    uint16_t index = 0;
    for (int i = 0; i < 40; ++i) {
      Wqe wqe = random_wqe(r, service == kUd ? r.between(0, 512) : r.between(0, 2000), 2);
      if (service == kUd || r.chance(0.5)) wqe.opcode = r.chance(0.5) ? kSendOp : kSendImm;
      wqe.remote_va = r.bits(56);
      messages.push_back({wqe, index});
      w.post(1, wqe, index++);
    }
    w.turn(1);
    w.drain();
    check_qp(w, 1, messages, 512, 9, 16, 6, service);
    CHECK(w.armed.empty());
    std::vector<std::pair<Wqe, uint64_t>> bad;
    for (uint8_t op : {kSendInv, kRead, kCompareSwap, kFetchAdd, kWrite, kWriteImm, kLocalInv}) {
      if (service == kUc && (op == kWrite || op == kWriteImm || op == kLocalInv)) continue;
      Wqe wqe = Wqe::write(0, 1, {{1, 8, 0}});
      wqe.opcode = op;
      bad.emplace_back(wqe, kLocQpOp);
    }
    if (service == kUd) {
      Wqe wqe = Wqe::write(0, 1, {{1, 500, 0}, {1, 13, 0}});
      wqe.opcode = kSendOp;
      bad.emplace_back(wqe, kLocLen);
    }
    uint64_t qpn = 2;
    for (const auto& [wqe, status] : bad) {
      INFO("service " << service << " opcode " << int{wqe.opcode});
      w.qp(qpn, 2, 9, kRts, 6, service);
      w.post(qpn, wqe, 0);
      w.turn(qpn);
      w.drain();
      CHECK(w.msgs.back().first == qpn);
      CHECK(kMsg.get(w.msgs.back().second, "kind") == kMsgFailed);
      CHECK(kMsg.get(w.msgs.back().second, "status") == status);
      ++qpn;
    }
  }
}

TEST_CASE("sq_engine holds READs and ATOMICs at their limit, and fenced messages behind them") {
  World w;
  w.auto_turn = false;
  w.qp(1, 1, 0);
  kConn.set(w.conn[1], "max_rd_atomic", 2);
  Wqe read = Wqe::write(0x100, 1, {{1, 300, 0x100}});
  read.opcode = kRead;
  Wqe fenced = Wqe::write_inline(0x100, 1, {1, 2, 3});
  fenced.fence = true;
  const Wqe atomic = Wqe::atomic(kFetchAdd, 8, 1, {1, 8, 0}, 1, 0);
  // A fenced message without anything in front of it goes at once.
  uint16_t index = 0;
  for (const Wqe& wqe : {fenced, read, Wqe::write_inline(0, 1, {1}), atomic, read, fenced}) {
    w.post(1, wqe, index++);
  }
  auto turn = [&](size_t n) {
    w.turn(1);
    w.dones.wait(n);
    return w.dones[n - 1];
  };
  kSend.set(w.send[1], "rd_issued", 255);  // counts modulo 256
  kAck.set(w.ack[1], "rd_done", 255);
  CHECK((turn(1) == TurnDone{1, true, 2, 4}));
  CHECK(w.sent.size() == 4);
  CHECK((turn(2) == TurnDone{1, true, 2, 0}));
  kAck.set(w.ack[1], "rd_done", 0);  // the READ is complete
  CHECK((turn(3) == TurnDone{1, true, 2, 1}));
  CHECK(w.sent.size() == 5);
  kAck.set(w.ack[1], "rd_done", 1);
  CHECK((turn(4) == TurnDone{1, true, 2, 0}));
  kAck.set(w.ack[1], "rd_done", 2);
  CHECK((turn(5) == TurnDone{1, false, 0, 1}));
  CHECK(w.sent.size() == 6);
  // none allowed: refused
  kConn.set(w.conn[1], "max_rd_atomic", 0);
  w.post(1, read, index++);
  CHECK((turn(6) == TurnDone{1, false, 0, 1}));
  CHECK(kMsg.get(w.msgs.back().second, "status") == kLocQpOp);
  // in ERR nothing waits
  w.qp(2, 1, 0, kErr);
  kSend.set(w.send[2], "rd_issued", 4);
  w.post(2, fenced, 0);
  w.post(2, read, 1);
  w.turn(2);
  w.dones.wait(7);
  CHECK((w.dones[6] == TurnDone{2, false, 0, 2}));
}

TEST_CASE(
    "sq_engine sends again from every packet of every kind of message, without a new record") {
  auto r = rng("replay");
  World w;
  std::vector<Wqe> kinds;
  for (size_t segs : {1, 3, 6}) {
    Wqe wqe = random_wqe(r, 2000, segs);
    wqe.opcode = segs == 3 ? kSendImm : kWrite;
    kinds.push_back(wqe);
  }
  kinds.push_back(
      Wqe::write(0x123456789, 7, {{1, 300, 0x11}, {1, 0, 5}, {1, 212, 0x77}, {1, 1024, 9}}));
  kinds.push_back(Wqe::write_inline(0x1000, 5, r.bytes(2100)));
  kinds.back().opcode = kSendOp;
  kinds.push_back(Wqe::write_inline(0x1000, 5, r.bytes(60)));
  kinds.push_back(Wqe::write(0x999000, 7, {{1, 2048, 0x1000}, {2, 500, 0x9000}}));
  kinds.back().opcode = kRead;
  kinds.push_back(Wqe::atomic(kCompareSwap, 0x80, 3, {1, 8, 0x40}, 5, 6));
  kinds.push_back(Wqe::write(0x7000, 7, {{0x80000001u, 3000, 0xFF0}}));  // paged
  kinds.push_back(Wqe::write(0x7000, 7, {}));                            // 0 bytes
  const uint32_t mtu = 256;
  uint64_t qpn = 0;
  for (const Wqe& wqe : kinds) {
    const uint32_t count = psns_of(wqe, mtu);
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t psn = 0xFFFFFE;
      const uint16_t index = 61;  // long inline data run over the end of the ring
      INFO("opcode " << int{wqe.opcode} << " of " << wqe.bytes() << " bytes from packet " << k);
      w.reset();
      w.qp(qpn, 1, psn);
      const Wqe tail = Wqe::write_inline(1, 2, {3, 4});
      const auto after = static_cast<uint16_t>(index + wqe.block_count());
      w.post(qpn, wqe, index);
      w.turn(qpn);
      w.drain();
      REQUIRE(w.msgs.size() == 1);
      const size_t before = w.sent.size();
      // as rx_completer and the fetch engine do it
      const uint32_t from = (psn + k) & 0xFFFFFF;
      kAck.set(w.ack[qpn], "una_psn", from);
      w.rewinds.push(kRewind.pack(
          {{"qpn", qpn}, {"wqe_index", index}, {"psn", from}, {"skip", k}, {"rd_done", 0}}));
      w.bench.wait("the replay to be set", [&] { return !w.resumed.empty(); });
      CHECK((w.resumed[0] == std::pair<uint64_t, uint64_t>{qpn, index}));
      w.resumed.clear();
      w.bench.tick(2);
      CHECK(kSend.get(w.send[qpn], "next_psn") == from);
      CHECK(kSend.get(w.send[qpn], "max_psn") == ((psn + count) & 0xFFFFFF));
      CHECK(kSend.get(w.send[qpn], "rd_issued") == 0);
      CHECK(kSend.get(w.send[qpn], "at_index") == index);
      w.post(qpn, wqe, index);
      w.post(qpn, tail, after);
      w.turn(qpn);
      w.drain();
      REQUIRE(w.msgs.size() == 2);
      CHECK(kMsg.get(w.msgs[1].second, "wqe_index") == after);
      CHECK(kMsg.get(w.msgs[1].second, "first_psn") == ((psn + count) & 0xFFFFFF));
      std::vector<Piece> memory;
      if (wqe.inlined && wqe.inline_len > 96) {
        const uint64_t base = 0x7000'0000 + (qpn << 20);
        memory = {{base + 61 * 64 + 32, 160}, {base, wqe.inline_len - 160u}};
      }
      for (const auto& s : wqe.segments) {
        for (const Piece& piece : memory_of(s)) memory.push_back(piece);
      }
      size_t at = before;
      for (uint32_t n = k; n < (wqe.is_rd() ? k + 1 : count); ++n, ++at) {
        const Packet want = packet_at(wqe, mtu, psn, n);
        REQUIRE(at < w.sent.size());
        const auto& s = w.sent[at];
        CHECK(kTxPkt.get(s.pkt, "psn") == want.psn);
        CHECK(kTxPkt.get(s.pkt, "opcode") == want.opcode);
        CHECK(kTxPkt.get(s.pkt, "payload_len") == want.len);
        CHECK(kTxPkt.get(s.pkt, "va") == wqe.remote_va + want.offset);
        CHECK(kTxPkt.get(s.pkt, "resend") == 1);
        if (wqe.opcode == kRead) CHECK(kTxPkt.get(s.pkt, "dmalen") == want.dmalen);
        if (!s.inl) CHECK((s.reads == pieces(memory, want.offset, want.len)));
      }
      REQUIRE(at + 1 == w.sent.size());
      CHECK(kTxPkt.get(w.sent[at].pkt, "psn") == ((psn + count) & 0xFFFFFF));
      CHECK(kTxPkt.get(w.sent[at].pkt, "resend") == 0);
      CHECK(kSend.get(w.send[qpn], "next_psn") == ((psn + count + 1) & 0xFFFFFF));
      CHECK(kSend.get(w.send[qpn], "max_psn") == ((psn + count + 1) & 0xFFFFFF));
      qpn = (qpn + 1) % 50;
    }
  }
}

TEST_CASE("sq_engine sets a replay while the turn of another QP waits for slots") {
  World w({}, 2);
  w.hold_slots = true;
  w.qp(1, 1, 0);
  w.qp(2, 1, 0x40);
  w.post(1, Wqe::write(0, 1, {{1, 256 * 8, 0}}), 0);
  w.turn(1);
  w.turn(3);  // its lookups wait behind
  w.bench.tick(40);
  CHECK(w.sent.size() == 2);
  kSend.set(w.send[2], "pool_index", 9);
  kSend.set(w.send[2], "max_psn", 0x48);
  kSend.set(w.send[2], "failed", 1);
  const uint64_t start = w.bench.cycle();
  w.rewinds.push(kRewind.pack({{"qpn", 2}, {"none", 1}, {"psn", 5}, {"skip", 3}, {"rd_done", 7}}));
  w.bench.wait("the replay to be set", [&] { return !w.resumed.empty(); });
  CHECK(w.bench.cycle() - start <= 12);
  CHECK((w.resumed[0] == std::pair<uint64_t, uint64_t>{2, 9}));
  CHECK(kSend.get(w.send[2], "next_psn") == 0x48);
  CHECK(kSend.get(w.send[2], "max_psn") == 0x48);
  CHECK(kSend.get(w.send[2], "skip") == 0);
  CHECK(kSend.get(w.send[2], "pool_index") == 9);
  CHECK(kSend.get(w.send[2], "at_index") == 9);
  CHECK(kSend.get(w.send[2], "rd_issued") == 7);
  CHECK(kSend.get(w.send[2], "failed") == 1);
  w.hold_slots = false;
  w.release();
  w.drain();
  CHECK(w.sent.size() == 8);
}

TEST_CASE("sq_engine writes next_psn after every packet, and arms the timer after that") {
  World w({}, 3);
  w.hold_slots = true;  // slots stay taken: the turn waits in the middle of its message
  w.qp(1, 1, 0xFFFFFE);
  w.post(1, Wqe::write(0, 1, {{1, 256 * 8, 0}}), 0);
  w.turn(1);
  w.bench.tick(60);
  REQUIRE(w.sent.size() == 3);
  CHECK(w.dones.size() == 0);
  // The ACK of these packets may be here now: rx_completer must see that they were sent.
  CHECK(kSend.get(w.send[1], "next_psn") == 1);
  CHECK(kSend.get(w.send[1], "max_psn") == 1);
  REQUIRE(w.armed.size() == 3);
  for (const auto& [cycle, what] : w.armed) {
    CHECK(kTimer.get(what, "qpn") == 1);
    CHECK(kTimer.get(what, "code") == 14);
    CHECK(kTimer.get(what, "stop") == 0);
    CHECK(kTimer.get(what, "rnr") == 0);
  }
  REQUIRE(w.half_cycles[1].size() >= 3);
  for (size_t i = 0; i < 3; ++i) CHECK(w.armed[i].first > w.half_cycles[1][i]);
  kConn.set(w.conn[2] = w.conn[1], "timeout", 0);  // never
  w.hold_slots = false;
  w.release();
  w.drain();
  const size_t armed = w.armed.size();
  w.send[2] = kSend.pack({});
  w.ack[2] = kAck.pack({});
  w.post(2, Wqe::write_inline(0, 1, {1}), 0);
  w.turn(2);
  w.drain();
  CHECK(w.armed.size() == armed);
}

TEST_CASE("sq_engine invalidates a key once, in its place, and says when that failed") {
  World w(Stall::random(0.2));
  w.auto_turn = false;
  w.qp(1, 1, 0);
  const Wqe write = Wqe::write(0, 1, {{1, 300, 0}});
  Wqe reg = Wqe::write(0x11223344'55667788, 0xAABBCCDD, {{1, 2, 3}, {4, 5, 6}});
  reg.opcode = kFastReg;
  reg.imm = 0x1F;
  w.qp(3, 1, 0);
  w.post(3, reg, 0);
  w.turn(3);
  w.dones.wait(1);
  w.bench.tick(10);
  REQUIRE(w.local_ops.size() == 1);
  CHECK(kLop.get(w.local_ops[0].second, "op") == 1);
  CHECK(kLop.get(w.local_ops[0].second, "key") == 0xAABBCCDD);
  auto image = reg.image(0);
  std::fill_n(image.begin(), 16, uint8_t{0});
  CHECK(kLop.get_bits(w.local_ops[0].second, "desc") == Bits::from_bytes(image));
  w.local_ops.clear();
  w.msgs.clear();
  w.dones.clear();

  Wqe inv;
  inv.opcode = kLocalInv;
  inv.imm = 0x12345678;
  w.post(1, write, 0);
  w.post(1, inv, 1);
  w.post(1, write, 2);
  w.pool_room = 1;
  w.turn(1);
  w.dones.wait(1);
  CHECK((w.dones[0] == TurnDone{1, true, 1, 1}));
  CHECK(w.local_ops.empty());  // there is no room for its record
  w.pool_room = 10;
  w.turn(1);
  w.dones.wait(3);  // one ends with the key gone, the next one begins when that has settled
  CHECK((w.dones[1] == TurnDone{1, true, 2, 0}));
  w.bench.tick(20);
  REQUIRE(w.local_ops.size() == 1);
  const Bits& op = w.local_ops[0].second;
  CHECK(kLop.get(op, "op") == 0);
  CHECK(kLop.get(op, "key") == 0x12345678);
  CHECK(kLop.get(op, "pd") == 5);
  CHECK(kLop.get(op, "remote") == 0);
  REQUIRE(w.msgs.size() == 3);
  CHECK(kMsg.get(w.msgs[1].second, "kind") == kMsgLocal);
  CHECK(w.sent[2].cycle > w.local_ops[0].first);
  // In a replay it is passed, and msg_pool hears of it.
  w.rewinds.push(kRewind.pack({{"qpn", 1}, {"wqe_index", 0}, {"psn", 1}, {"skip", 1}}));
  w.bench.wait("the replay to be set", [&] { return !w.resumed.empty(); });
  w.post(1, write, 0);
  w.post(1, inv, 1);
  w.turn(1);
  w.dones.wait(4);
  w.bench.tick(20);
  CHECK(w.local_ops.size() == 1);
  CHECK(w.msgs.size() == 3);
  CHECK(w.passed == std::vector<uint64_t>{1});
  CHECK(kSend.get(w.send[1], "at_index") == 2);
  // A key that cannot be invalidated
  w.qp(2, 1, 0);
  w.bad_lop_keys.insert(0x12345678);
  w.post(2, inv, 0);
  w.post(2, write, 1);
  w.turn(2);
  w.dones.wait(5);
  w.bench.tick(20);
  CHECK(w.invalidated == std::vector<uint64_t>{1});
  REQUIRE(w.msgs.size() == 5);
  CHECK(kMsg.get(w.msgs[3].second, "kind") == kMsgFailed);
  CHECK(kMsg.get(w.msgs[3].second, "status") == kMwBind);
  CHECK(kMsg.get(w.msgs[4].second, "status") == kFlush);
}

TEST_CASE("a LOCAL_INV is done once, and enters msg_pool when what was decided before has ended") {
  World w;
  w.auto_turn = w.auto_settle = false;
  const auto turn = [&](uint64_t qpn) {
    const size_t n = w.dones.size();
    w.turn(qpn);
    w.dones.wait(n + 1);
    w.bench.tick(5);
    return w.dones[n];
  };
  Wqe inv;
  inv.opcode = kLocalInv;
  inv.imm = 0x12345678;
  const Wqe write = Wqe::write_inline(0, 1, {1, 2, 3});
  w.qp(1, 1, 0);
  for (uint16_t i = 0; i < 4; ++i) w.post(1, i == 0 || i == 3 ? write : inv, i);
  // Nobody can take the news: the region is left as it is, the turn comes again by itself.
  w.settle_room = false;
  CHECK((turn(1) == TurnDone{1, true, 0, 1}));
  CHECK(w.local_ops.empty());
  w.settle_room = true;
  CHECK((turn(1) == TurnDone{1, true, 2, 0}));
  CHECK(w.local_ops.size() == 1);
  CHECK(w.invalidated == std::vector<uint64_t>{1});
  CHECK(w.msgs.size() == 1);
  // A kick for something else changes nothing, nor does a replay of what was before, which says
  // nothing of the LOCAL_INV.
  CHECK((turn(1) == TurnDone{1, true, 2, 0}));
  w.rewinds.push(kRewind.pack({{"qpn", 1}, {"wqe_index", 0}, {"psn", 0}, {"skip", 0}}));
  w.bench.wait("the replay to be set", [&] { return !w.resumed.empty(); });
  w.lists[1].clear();
  for (uint16_t i = 0; i < 4; ++i) w.post(1, i == 0 || i == 3 ? write : inv, i);
  CHECK((turn(1) == TurnDone{1, true, 2, 1}));
  CHECK(w.sent.size() == 2);
  CHECK(w.msgs.size() == 1);
  CHECK(w.local_ops.size() == 1);
  // It has settled; the second one waits for its own end.
  w.settle(1);
  CHECK((turn(1) == TurnDone{1, true, 2, 1}));
  REQUIRE(w.msgs.size() == 2);
  CHECK(kMsg.get(w.msgs[1].second, "kind") == kMsgLocal);
  CHECK(w.local_ops.size() == 2);
  CHECK((turn(1) == TurnDone{1, true, 2, 0}));
  w.settle(1);
  CHECK((turn(1) == TurnDone{1, false, 0, 2}));
  CHECK(w.msgs.size() == 4);
  CHECK(w.sent.size() == 3);
  CHECK(w.local_ops.size() == 2);
  // The QP fails meanwhile: it is flushed and waits for nothing. The next life begins anew.
  w.qp(2, 1, 0);
  w.post(2, inv, 0);
  CHECK((turn(2) == TurnDone{2, true, 2, 0}));
  kConn.set(w.conn[2], "state", kErr);
  CHECK((turn(2) == TurnDone{2, false, 0, 1}));
  CHECK(kMsg.get(w.msgs.back().second, "status") == kFlush);
  CHECK(kSend.get(w.send[2], "inv_held") == 0);
  w.orders.push(order(kOrderRts, 2, 5));
  w.orders.wait_idle();
  w.bench.tick(5);
  CHECK(kSend.get(w.send[2], "next_psn") == 5);
  CHECK(kSend.get(w.send[2], "inv_turn") == 0);
}

TEST_CASE("sq_engine reads paged regions page by page, mixed with flat ones, at every offset") {
  for (unsigned code : {1u, 4u, 5u}) {
    World w(code == 4 ? Stall::random(0.3) : Stall::none());
    w.lk_late = code == 4 ? 5 : 0;
    const uint32_t mtu = 128u << code;
    w.qp(1, code, 7);
    auto r = rng("paged");
    std::vector<Expected> messages;
    uint16_t index = 0;
    for (int i = 0; i < 60; ++i) {
      Wqe wqe = random_wqe(r, r.chance(0.3) ? mtu * r.between(1, 3) : r.between(1, 3 * mtu),
                           r.between(1, 6));
      for (auto& s : wqe.segments) {
        if (r.chance(0.7)) s.lkey |= 0x80000000u;
        if (r.chance(0.5)) s.va = 0x10000 * r.between(1, 50) + 4096 - r.between(1, 300);
      }
      messages.push_back({wqe, index});
      w.post(1, wqe, index);
      index = static_cast<uint16_t>(index + wqe.block_count());
    }
    w.turn(1);
    w.drain(300000);
    check_qp(w, 1, messages, mtu, 7);
  }
}

TEST_CASE("sq_engine stops before a packet whose page is gone, with nothing of it under way") {
  World w;
  w.qp(1, 5, 0);
  // The key was good for all of it when the turn began. The second piece of the second packet is
  // not.
  w.gone_from = 0x11900;
  w.post(1, Wqe::write(0, 1, {{0x80000005u, 12000, 0x10800}}), 0);
  w.post(1, Wqe::write_inline(0, 1, {1}), 1);
  w.turn(1);
  w.drain();
  CHECK(w.sent.size() == 1);
  REQUIRE(w.lerrs.size() == 1);
  CHECK((w.lerrs[0] == std::array<uint64_t, 3>{1, 0, kLocProt}));
  CHECK(w.msgs.size() == 2);
  CHECK(kMsg.get(w.msgs[1].second, "status") == kFlush);
}

TEST_CASE("sq_engine has fewer than 2^23 PSNs in flight") {
  World w;
  w.auto_turn = false;
  const uint32_t psn = 0x123;
  w.qp(1, 1, psn);
  kSend.set(w.send[1], "next_psn", psn + (1 << 22));
  kSend.set(w.send[1], "max_psn", psn + (1 << 22));
  w.post(1, Wqe::write_inline(0, 1, {1}), 0);
  w.turn(1);
  w.dones.wait(1);
  CHECK((w.dones[0] == TurnDone{1, true, 0, 0}));  // comes again by itself
  CHECK(w.sent.empty());
  kAck.set(w.ack[1], "una_psn", psn + 1);
  w.turn(1);
  w.dones.wait(2);
  CHECK(w.sent.size() == 1);
  // READs take all their PSNs at once
  Wqe read = Wqe::write(0, 1, {{1, 0x40000000u, 0}});
  read.opcode = kRead;
  w.qp(2, 1, 0);
  w.post(2, read, 0);
  w.post(2, read, 1);
  read.segments = {{1, 0x7FFFFF00u, 0}};
  w.post(2, read, 2);
  read.segments = {{1, 0x7FFFFF01u, 0}};
  w.post(2, read, 3);
  w.turn(2);
  w.dones.wait(3);
  CHECK((w.dones[2] == TurnDone{2, true, 0, 1}));
  CHECK(kSend.get(w.send[2], "next_psn") == 1 << 22);
  kAck.set(w.ack[2], "una_psn", 1 << 21);
  kAck.set(w.ack[2], "rd_done", 1);
  w.turn(2);
  w.dones.wait(4);
  CHECK((w.dones[3] == TurnDone{2, true, 0, 1}));
  CHECK(kSend.get(w.send[2], "next_psn") == 1 << 23);
  kAck.set(w.ack[2], "una_psn", 1 << 23);
  kAck.set(w.ack[2], "rd_done", 2);
  w.turn(2);
  w.dones.wait(5);
  kAck.set(w.ack[2], "una_psn", 0xFFFFFF);
  kAck.set(w.ack[2], "rd_done", 3);
  CHECK(kSend.get(w.send[2], "next_psn") == 0xFFFFFF);
  w.turn(2);
  w.dones.wait(6);
  CHECK(kMsg.get(w.msgs.back().second, "status") == kLocLen);
  // A READ waits whose PSNs would make 2^23 - 1 with those before it.
  w.qp(3, 1, 0);
  kSend.set(w.send[3], "next_psn", (1 << 22) - 1);
  kSend.set(w.send[3], "max_psn", (1 << 22) - 1);
  read.segments = {{1, 0x40000100u, 0}};
  w.post(3, read, 0);
  w.turn(3);
  w.dones.wait(7);
  CHECK((w.dones[6] == TurnDone{3, true, 0, 0}));
  CHECK(kSend.get(w.send[3], "next_psn") == (1 << 22) - 1);
  kAck.set(w.ack[3], "una_psn", 1);
  w.turn(3);
  w.dones.wait(8);
  CHECK(kSend.get(w.send[3], "next_psn") == 1 << 23);
}

TEST_CASE("sq_engine sends 2^31 bytes at most") {
  World w;
  w.auto_turn = false;
  w.qp(1, 5, 5);
  w.post(1, Wqe::write(0, 1, {{1, 0x80000000u, 0}}), 0);
  w.turn(1);
  w.dones.wait(1);
  w.bench.tick(10);
  REQUIRE(w.msgs.size() == 1);
  CHECK(kMsg.get(w.msgs[0].second, "kind") == kMsgWrite);
  CHECK(kMsg.get(w.msgs[0].second, "bytes") == 0x80000000u);
  CHECK(kMsg.get(w.msgs[0].second, "last_psn") == 5 + 0x80000000u / 4096 - 1);
  w.qp(2, 5, 5);
  w.post(2, Wqe::write(0, 1, {{1, 0x80000000u, 0}, {1, 1, 0}}), 0);
  w.turn(2);
  w.dones.wait(2);
  REQUIRE(w.msgs.size() == 2);
  CHECK(kMsg.get(w.msgs[1].second, "status") == kLocLen);
}

TEST_CASE("sq_engine sends every packet of 2^31 bytes", "[.soak]") {
  World w;
  auto r = rng("large");
  w.qp(1, 5, 0xFFF000);
  std::vector<Segment> list;
  uint32_t left = 0x80000000u;
  for (int i = 0; i < 6; ++i) {
    const uint32_t n = i == 5 ? left : static_cast<uint32_t>(r.between(1, left / 2));
    list.push_back({1, n, r.bits(44)});
    left -= n;
  }
  const Wqe wqe = Wqe::write(0xFFFF'FFFF'0000, 7, list);
  w.post(1, wqe, 0);
  w.turn(1);
  w.drain(20'000'000);
  CHECK(w.sent.size() == 0x80000000u / 4096);
  check_qp(w, 1, {{wqe, 0}}, 4096, 0xFFF000);
}

TEST_CASE("sq_engine fails a message in its middle when its key is gone, without a second record") {
  World w;
  w.top.credit_i = 8 * 354;  // packets of 256 B
  w.auto_turn = false;
  w.qp(1, 1, 0);
  w.post(1, Wqe::write(0, 1, {{1, 100, 0}, {2, 256 * 20, 0}}), 7);
  w.post(1, Wqe::write_inline(0, 1, {1}), 8);
  w.turn(1);
  w.dones.wait(1);
  CHECK(w.dones[0].more);
  CHECK(w.sent.size() == 8);
  // The key of what is left becomes a bad one.
  Bits& entry = w.lists[1].front();
  entry.set(256 + 128, 32, kBadKey);
  w.turn(1);
  w.dones.wait(2);
  w.bench.tick(10);
  CHECK(w.sent.size() == 8);
  CHECK(w.msgs.size() == 2);
  CHECK(kMsg.get(w.msgs[1].second, "status") == kFlush);
  REQUIRE(w.lerrs.size() == 1);
  CHECK((w.lerrs[0] == std::array<uint64_t, 3>{1, 7, kLocProt}));
  CHECK((w.dones[1] == TurnDone{1, false, 0, 2}));
}

TEST_CASE("sq_engine flushes in ERR, also a message in its middle, and starts nothing in SQD") {
  World w;
  w.top.credit_i = 8 * 354;  // packets of 256 B
  w.auto_turn = false;
  w.qp(1, 1, 0);
  w.post(1, Wqe::write(0, 1, {{2, 256 * 20, 0}}), 0);
  w.post(1, Wqe::write_inline(0, 1, {1}), 1);
  w.turn(1);
  w.dones.wait(1);
  kConn.set(w.conn[1], "state", kSqd);
  w.turn(1);
  w.turn(2);  // does not exist
  w.dones.wait(3);
  CHECK(w.sent.size() == 16);
  CHECK(w.dones[1].blocked == 0);
  w.turn(1);
  w.dones.wait(4);
  CHECK(w.sent.size() == 20);
  CHECK((w.dones[3] == TurnDone{1, true, 2, 1}));
  w.post(1, Wqe::write(0, 1, {{2, 256 * 20, 0}}), 2);
  kConn.set(w.conn[1], "state", kRts);
  w.turn(1);
  w.dones.wait(5);
  kConn.set(w.conn[1], "state", kErr);
  w.turn(1);
  w.dones.wait(6);
  w.bench.tick(10);
  CHECK((w.dones[5] == TurnDone{1, false, 0, 1}));
  CHECK(w.msgs.size() == 3);
  w.post(1, Wqe::write(0, 1, {{2, 256 * 20, 0}}), 3);
  w.turn(1);
  w.dones.wait(7);
  w.bench.tick(10);
  REQUIRE(w.msgs.size() == 4);
  CHECK(kMsg.get(w.msgs[3].second, "kind") == kMsgFailed);
  CHECK(kMsg.get(w.msgs[3].second, "status") == kFlush);
  for (auto state : {kReset, kInit, kRtr}) {
    kConn.set(w.conn[1], "state", state);
    w.post(1, Wqe::write_inline(0, 1, {1}), 4);
    const size_t n = w.dones.size();
    w.turn(1);
    w.dones.wait(n + 1);
    CHECK((w.dones[n] == TurnDone{1, true, 2, 0}));
  }
}

TEST_CASE("sq_engine finishes a replay in SQD, and begins nothing behind it") {
  World w;
  w.auto_turn = false;
  w.qp(1, 1, 0, kSqd);
  for (uint16_t i = 0; i < 3; ++i) w.post(1, Wqe::write_inline(0, 1, {1}), i);
  kSend.set(w.send[1], "pool_index", 2);  // two of them have been sent before
  kSend.set(w.send[1], "max_psn", 2);
  w.turn(1);
  w.dones.wait(1);
  w.bench.tick(10);
  CHECK((w.dones[0] == TurnDone{1, true, 2, 2}));
  CHECK(w.sent.size() == 2);
  CHECK(w.msgs.empty());
}

TEST_CASE("sq_engine passes all that msg_pool has when the QP fails in a replay") {
  World w;
  w.auto_turn = false;
  for (int what = 0; what < 4; ++what) {
    INFO("case " << what);
    w.reset();
    w.dones.clear();
    w.done_indices.clear();
    w.qp(1, 1, 0, kErr);
    w.post(1, Wqe::write_inline(0, 1, {1}), 10);
    w.post(1, Wqe::write_inline(0, 1, {1}), 11);
    kSend.set(w.send[1], "pool_index", what == 0 ? 11 : 12);
    kSend.set(w.send[1], "max_psn", 100);
    if (what == 2) kSend.set(w.send[1], "in_msg", 1);
    if (what == 3) kSend.set(w.send[1], "skip", 3);
    if (what == 3) kEntry.set(w.lists[1][0], "bad", 1);
    w.turn(1);
    w.dones.wait(1);
    w.bench.tick(10);
    CHECK(w.lerrs.size() == 0);
    if (what == 0) {  // the last one of them: simply popped
      CHECK((w.dones[0] == TurnDone{1, false, 0, 2}));
      CHECK(w.msgs.size() == 1);
    } else {
      CHECK((w.dones[0] == TurnDone{1, true, 3, 0}));
      CHECK(w.done_indices[0] == 12);
      CHECK(w.msgs.empty());
      CHECK(kSend.get(w.send[1], "at_index") == 12);
      CHECK(kSend.get(w.send[1], "in_msg") == 0);
      CHECK(kSend.get(w.send[1], "skip") == 0);
      CHECK(kSend.get(w.send[1], "max_psn") == 100);
    }
  }
}

TEST_CASE("sq_engine applies orders between turns only") {
  World w;
  w.qp(1, 1, 0x123456);
  w.post(1, Wqe::write(0, 1, {{2, 256 * 30, 0}}), 0);
  w.turn(1);
  w.bench.tick(6);
  w.orders.push(order(kOrderRts, 2, 0xFFFFFF));
  w.orders.push(order(kOrderErr, 1));
  w.orders.push(order(kOrderRtr, 1));
  w.orders.push(order(kOrderKick, 1));
  w.orders.wait_idle();
  w.drain();
  CHECK(kSend.get(w.send[2], "next_psn") == 0xFFFFFF);
  CHECK(kSend.get(w.send[1], "next_psn") == 0x123456 + 30);
  kSend.set(w.send[1], "failed", 1);
  const Bits half = w.send[1];
  w.orders.push(order(kOrderResume, 1));
  w.orders.wait_idle();
  w.bench.tick(2);
  CHECK(kSend.get(w.send[1], "failed") == 0);
  kSend.set(w.send[1], "failed", 1);
  CHECK(w.send[1] == half);
  // RTS keeps what belongs to the ring
  w.orders.push(order(kOrderRts, 1, 0xABCDEF));
  w.orders.wait_idle();
  w.bench.tick(2);
  CHECK(w.send[1] == kSend.pack({{"next_psn", 0xABCDEF},
                                 {"max_psn", 0xABCDEF},
                                 {"pool_index", kSend.get(half, "pool_index")},
                                 {"at_index", kSend.get(half, "pool_index")}}));
  w.orders.push(order(kClear, 1));
  w.orders.wait_idle();
  w.bench.tick(2);
  CHECK(w.send[1] == Bits(kSend.width()));
}

TEST_CASE("sq_engine starts again after a reset at any point of a packet") {
  World w;
  for (unsigned ticks = 1; ticks < 30; ++ticks) {
    w.qp(1, 1, 0);
    w.post(1, Wqe::write(0, 1, {{2, 100, 0}, {2, 256 * 30, 0}}), 0);
    w.turn(1);
    w.bench.tick(ticks);
    w.reset();
    w.qp(1, 1, 9);
    Wqe wqe = Wqe::write(0, 1, {{3, 300, 0}});
    w.post(1, wqe, 0);
    w.turn(1);
    w.drain();
    check_qp(w, 1, {{wqe, 0}}, 256, 9);
    w.reset();
  }
}

TEST_CASE("sq_engine keeps its throughput and latency") {
  {
    World w;  // many QPs, one 8-byte message each turn
    for (uint64_t q = 0; q < 50; ++q) {
      w.qp(q, 5, 0);
      w.post(q, Wqe::write_inline(0, 1, {1, 2, 3, 4, 5, 6, 7, 8}), 0);
      w.turn(q);
    }
    w.drain();
    REQUIRE(w.sent.size() == 50);
    const double per = static_cast<double>(w.sent[49].cycle - w.sent[9].cycle) / 40;
    WARN("8 B inline, one message a turn: " << per << " cycles a message, first packet "
                                            << w.sent[0].cycle - w.turns.cycles()[0]
                                            << " cycles after its turn");
    CHECK(per <= 3.0);
    CHECK(w.sent[0].cycle - w.turns.cycles()[0] <= 4);
  }
  {
    World w;  // one QP, many messages
    w.qp(1, 5, 0);
    for (uint16_t i = 0; i < 80; ++i)
      w.post(1, Wqe::write_inline(0, 1, {1, 2, 3, 4, 5, 6, 7, 8}), i);
    w.turn(1);
    w.drain();
    const double per = static_cast<double>(w.sent[79].cycle - w.sent[15].cycle) / 64;
    WARN("8 B inline, one QP: " << per << " cycles a message");
    CHECK(per <= 4.0);
  }
  {
    World w;  // one QP, 4 KB packets
    w.qp(1, 5, 0);
    w.post(1, Wqe::write(0, 1, {{1, 1 << 20, 0}}), 0);
    w.turn(1);
    w.drain();
    const double per = static_cast<double>(w.sent[255].cycle - w.sent[55].cycle) / 200;
    WARN("4 KB packets, one QP: " << per << " cycles a packet");
    CHECK(per <= 12.0);
  }
  {
    World w;  // one QP, 256-byte packets
    w.qp(1, 1, 0);
    w.post(1, Wqe::write(0, 1, {{1, 1 << 16, 0}}), 0);
    w.turn(1);
    w.drain();
    const double per = static_cast<double>(w.sent[255].cycle - w.sent[15].cycle) / 240;
    WARN("256 B packets, one QP: " << per << " cycles a packet");
    CHECK(per <= 5.0);
  }
  {
    World w;  // latency of a gathered WRITE
    w.qp(1, 5, 0);
    w.post(1, Wqe::write(0, 1, {{1, 64, 0}}), 0);
    w.turn(1);
    w.drain();
    WARN("64 B from memory: first packet " << w.sent[0].cycle - w.turns.cycles()[0]
                                           << " cycles after its turn");
    CHECK(w.sent[0].cycle - w.turns.cycles()[0] <= 5);
  }
}
