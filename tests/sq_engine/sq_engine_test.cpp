// SPDX-License-Identifier: Apache-2.0
#include <Vsq_engine.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>

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
        fails(bench, "fail", top.fail_valid, top.fail_ready, [this] { return read_pin(top.fail); }),
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
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    dones.on_item([this](const TurnDone& d) {
      in_turn.erase(d.qpn);
      if (auto_turn && (d.more || pending(d.qpn)) && d.blocked == 0) turn(d.qpn);
      if (auto_turn && d.blocked == 1) turn(d.qpn);
    });
    bench.reset();
  }

  void qp(uint64_t qpn, unsigned mtu_code, uint32_t psn, QpState state = kRts,
          unsigned log_sq = 6) {
    conn[qpn] = kConn.pack({{"exists", 1},
                            {"has_path", 1},
                            {"state", state},
                            {"mtu", mtu_code},
                            {"pd", 5},
                            {"dest_qpn", qpn ^ 0xABC},
                            {"pkey", 0xFFFF},
                            {"path", qpn + 3},
                            {"log_sq", log_sq},
                            {"sq_base", 0x7000'0000 + (qpn << 20)}});
    send[qpn] = kSend.pack({{"next_psn", psn}});
  }
  void post(uint64_t qpn, const Wqe& wqe, uint16_t index) {
    lists[qpn].push_back(wqe.entry(qpn, index));
  }
  void turn(uint64_t qpn) {
    REQUIRE(in_turn.insert({qpn, true}).second);
    turns.push(qpn);
  }
  void reset() {
    for (CData* pin : {&top.sq_ctx_valid, &top.snd_ctx_valid, &top.mrs_valid, &top.hd_valid})
      *pin = 0;
    bench.reset();
    lists.clear();
    in_turn.clear();
    sent.clear();
    msgs.clear();
    awaited.clear();
    offered_ = 0;
    pool_room = 1000;
    walking_ = beat_ = false;
    conn_due_.clear();
    send_due_.clear();
    mrs_due_.clear();
    free_.clear();
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
  StreamSink<Bits> fails;
  StreamSink<std::array<uint64_t, 3>> lerrs;

  std::map<uint64_t, Bits> conn, send;
  std::map<uint64_t, std::deque<Bits>> lists;
  std::map<uint64_t, bool> in_turn;
  bool auto_turn = true;
  unsigned pool_room = 1000;  // messages that msg_pool still takes
  unsigned lk_late = 0;       // extra cycles of a context lookup, at random
  std::vector<SentPacket> sent;
  std::vector<std::pair<uint64_t, Bits>> msgs;
  std::map<unsigned, size_t> awaited;  // slots whose payload is not complete: index in sent
  uint64_t mr_requests = 0;

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
    if (top.snd_wr_valid) send[top.snd_wr_qpn] = read_pin(top.snd_wr).slice(0, kSend.width());
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
      ++mr_requests;
      const Bits q = read_pin(top.mrq);
      CHECK(kMrReq.get(q, "pd") == 5);
      const uint64_t key = kMrReq.get(q, "key");
      mrs_due_.emplace_back(bench.cycle() + 1 + (lk_late ? random_.below(lk_late) : 0),
                            kMrRsp.pack({{"ok", key != kBadKey},
                                         {"refused", key == kRefusedKey},
                                         {"iova", kMrReq.get(q, "va") + kIovaOf}}));
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
    }
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
    free_.push_back(p.slot);
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
    give(mrs_due_, top.mrs_valid, top.mrs);
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
  std::deque<std::pair<uint64_t, Bits>> conn_due_, send_due_, mrs_due_;
  bool walking_ = false, beat_ = false, empty_given_ = false;
  int walk_step_ = 0;
  uint64_t walk_qpn_ = 0;
  std::vector<Bits> walk_;
  size_t walk_at_ = 0;
  std::deque<unsigned> free_;
  size_t offered_ = 0;
};

// Compares what left with what must leave for these messages of one QP.
struct Expected {
  Wqe wqe;
  uint16_t index = 0;
};
void check_qp(World& w, uint64_t qpn, const std::vector<Expected>& messages, uint32_t mtu,
              uint32_t psn, unsigned ack_every = 16, unsigned log_sq = 6) {
  std::vector<const SentPacket*> sent;
  for (const auto& p : w.sent) {
    if (kTxPkt.get(p.pkt, "qpn") == qpn) sent.push_back(&p);
  }
  std::vector<const Bits*> msgs;
  for (const auto& [q, m] : w.msgs) {
    if (q == qpn) msgs.push_back(&m);
  }
  REQUIRE(msgs.size() == messages.size());
  size_t at = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const auto& [wqe, index] = messages[i];
    const bool imm = wqe.opcode == 9;
    INFO("message " << i << " of " << wqe.bytes() << " bytes, MTU " << mtu);
    const auto want = segment(wqe.bytes(), mtu, psn, imm, ack_every);
    const Bits& m = *msgs[i];
    CHECK(kMsg.get(m, "kind") == kMsgWrite);
    CHECK(kMsg.get(m, "wqe_index") == index);
    CHECK(kMsg.get(m, "next_index") == static_cast<uint16_t>(index + wqe.block_count()));
    CHECK(kMsg.get(m, "first_psn") == want.front().psn);
    CHECK(kMsg.get(m, "last_psn") == want.back().psn);
    CHECK(kMsg.get(m, "bytes") == wqe.bytes());
    CHECK(kMsg.get(m, "signaled") == wqe.signaled);
    std::vector<Piece> memory;
    if (wqe.inlined && wqe.inline_len > 96) {
      const uint64_t ring = 64ull << log_sq;
      const uint64_t base = 0x7000'0000 + (qpn << 20);
      const uint64_t pos = (index * 64ull + 32) % ring;
      memory.push_back(
          {base + pos, static_cast<uint32_t>(std::min<uint64_t>(ring - pos, wqe.inline_len))});
      if (memory[0].len < wqe.inline_len) memory.push_back({base, wqe.inline_len - memory[0].len});
    } else {
      for (const auto& s : wqe.segments) memory.push_back({s.va + kIovaOf, s.len});
    }
    for (const auto& p : want) {
      INFO("packet with PSN " << p.psn);
      REQUIRE(at < sent.size());
      const SentPacket& s = *sent[at++];
      CHECK(kTxPkt.get(s.pkt, "opcode") == p.opcode);
      CHECK(kTxPkt.get(s.pkt, "psn") == p.psn);
      CHECK(kTxPkt.get(s.pkt, "payload_len") == p.len);
      CHECK(kTxPkt.get(s.pkt, "ack_req") == p.ack_req);
      CHECK(kTxPkt.get(s.pkt, "se") == (p.last && imm && wqe.solicited));
      CHECK(kTxPkt.get(s.pkt, "va") == wqe.remote_va + p.offset);
      CHECK(kTxPkt.get(s.pkt, "dest_qpn") == (qpn ^ 0xABC));
      CHECK(kTxPkt.get(s.pkt, "path") == qpn + 3);
      CHECK(kTxPkt.get(s.pkt, "wqe_index") == index);
      if (p.first) {
        CHECK(kTxPkt.get(s.pkt, "rkey") == wqe.rkey);
        CHECK(kTxPkt.get(s.pkt, "dmalen") == wqe.bytes());
      }
      if (p.last && imm) {
        CHECK(kTxPkt.get(s.pkt, "imm") == __builtin_bswap32(wqe.imm));
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
    psn = (psn + static_cast<uint32_t>(want.size())) & 0xFFFFFF;
  }
  CHECK(at == sent.size());
  CHECK(kSend.get(w.send[qpn], "next_psn") == psn);
  CHECK(kSend.get(w.send[qpn], "in_msg") == 0);
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
  for (uint16_t i = 0; i < 20; ++i) w.post(2, Wqe::write_inline(0, 1, {1, 2, 3}), i);
  const std::vector<std::pair<int, std::vector<TurnDone>>> plan = {
      {1,
       {{1, true, 0, 0},
        {1, true, 0, 0},
        {1, true, 0, 1},
        {1, true, 0, 0},
        {1, false, 0, 1},
        {1, false, 0, 0}}},
      {2, {{2, true, 0, 8}, {2, true, 0, 8}, {2, false, 0, 4}, {2, false, 0, 0}}}};
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
  for (int op : {0x01, 0x0A, 0x0B, 0x10, 0x11, 0x12, 0x19, 0x1B, 0x77}) {
    all.push_back(
        {"opcode", with(good, [&](Wqe& w) { w.opcode = static_cast<uint8_t>(op); }), kLocQpOp});
  }
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
    REQUIRE(w.fails.size() == 1);
    CHECK(kFail.get(w.fails[0], "qpn") == 3);
    CHECK(kFail.get(w.fails[0], "cause") == bad.status);
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
}

TEST_CASE("sq_engine fails a message in its middle when its key is gone, without a second record") {
  World w;
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
  REQUIRE(w.fails.size() == 1);
  CHECK((w.dones[1] == TurnDone{1, false, 0, 2}));
}

TEST_CASE("sq_engine flushes in ERR, also a message in its middle, and starts nothing in SQD") {
  World w;
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
  CHECK(w.fails.size() == 0);
  for (auto state : {kReset, kInit, kRtr}) {
    kConn.set(w.conn[1], "state", state);
    w.post(1, Wqe::write_inline(0, 1, {1}), 4);
    const size_t n = w.dones.size();
    w.turn(1);
    w.dones.wait(n + 1);
    CHECK((w.dones[n] == TurnDone{1, true, 2, 0}));
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
  w.orders.push(order(kClear, 1));
  w.orders.wait_idle();
  w.bench.tick(2);
  CHECK(w.send[1] == Bits(kSend.width()));
}

TEST_CASE("sq_engine goes on while nobody takes its fail requests, and fails each QP once") {
  World w;
  for (uint64_t q = 0; q < 12; ++q) {
    w.qp(q, 1, 0);
    Wqe bad = Wqe::write(0, 1, {{kBadKey, 10, 0}});
    w.post(q, bad, 0);
    w.post(q, bad, 1);
  }
  w.qp(20, 1, 0);
  w.fails.set_stall(Stall::always());
  for (uint64_t q = 0; q < 12; ++q) w.turn(q);
  w.bench.tick(300);
  w.post(20, Wqe::write_inline(0, 1, {1, 2}), 0);
  w.turn(20);
  w.bench.wait(
      "the good QP to send", [&] { return w.sent.size() == 1; }, 1000);
  w.fails.set_stall(Stall::none());
  w.drain();
  CHECK(w.fails.size() == 12);
  CHECK(w.msgs.size() == 25);
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
