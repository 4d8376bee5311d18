// SPDX-License-Identifier: Apache-2.0
//
// The world around one resp_engine: rx_responder's requests, memory regions (some in pages), a
// tx_buffer whose payload comes late and whose QPs overtake each other, an atomic_unit, payload
// writes that become visible late. Knows from the rules alone (facts: roce.md section 4) what every
// QP must say, and in which order.
//
//   ResponseWorld w;
//   w.write(3);  w.read(3, 5000);  w.atomic(3, true, 1, 2);  w.repeat_read(3, 0, 2);
//   w.settle();                       // everything said, nothing too early, nothing twice
#pragma once

#include <Vresp_engine.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"

namespace rnic::test {

class ResponseWorld {
 public:
  static constexpr unsigned kQps = 8;
  static constexpr uint32_t kMask = 0xFFFFFF;
  static constexpr uint64_t kPage = 4096;

  // One thing on the wire.
  struct Said {
    uint8_t opcode = 0;
    uint32_t psn = 0, msn = 0;
    uint8_t syndrome = 0;
    uint64_t value = 0;                // ATOMIC_ACK
    std::vector<uint64_t> bytes = {};  // IOVA of each payload byte
    uint64_t cycle = 0;
    bool buffered = false;  // through tx_buffer
    bool is_ack() const { return opcode == 0x11; }
  };
  // A READ or ATOMIC that was asked for.
  struct Asked {
    bool atomic = false;
    uint32_t psn = 0, msn = 0, len = 0, packets = 1;
    uint64_t va = 0;
    uint16_t ticket = 0;
    bool swap = false;
    uint64_t op0 = 0, op1 = 0, value = 0;
    unsigned executed = 0;
  };
  struct Qp {
    uint32_t psn = 0, msn = 0;
    unsigned mtu = 3;          // 1024
    unsigned limit = 16;       // max_dest_rd
    std::vector<Asked> asked;  // READs and ATOMICs
    std::vector<Said> said;
    std::vector<std::pair<uint32_t, uint64_t>> acks;  // PSN that wants an ACK, when
    uint32_t nak_psn = 0;
    std::optional<uint8_t> nak;  // expected last word
    bool dead = false;           // flow of responses in tx_buffer
    uint32_t mtu_bytes() const { return 128u << mtu; }
  };

  explicit ResponseWorld(Stall stall = {}, unsigned slowness = 1)
      : top(bench.top()),
        ctx(
            bench, "re", {top.re_lk_valid, top.re_lk_ready, top.re_ctx_valid},
            [this] { return connection(static_cast<unsigned>(top.re_lk_qpn)); },
            [this](const Bits& b) { write_pin(top.re_ctx, b); }),
        mr(
            bench, "mr", {top.mrq_valid, top.mrq_ready, top.mrs_valid},
            [this] { return region(read_pin(top.mrq)); },
            [this](const Bits& b) { write_pin(top.mrs, b); }),
        ackq(bench, "ackq", top.ackq_valid, top.ackq_ready, top.ackq, stall),
        orders(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi),
        rsp(
            bench, "rsp", top.rsp_valid, top.rsp_ready, [this] { return read_pin(top.rsp); },
            stall),
        slot(
            bench, "slot", top.slot_valid, top.slot_ready,
            [this](unsigned s) { top.slot_id = static_cast<CData>(s); }, stall),
        txp(
            bench, "txp", top.txp_valid, top.txp_ready,
            [this] { return std::pair<unsigned, Bits>(top.txp_slot, read_pin(top.txp)); }, stall),
        rdreq(
            bench, "rdreq", top.rdreq_valid, top.rdreq_ready,
            [this] { return read_pin(top.rdreq); }, stall),
        at(
            bench, "at", top.at_valid, top.at_ready, [this] { return atomic_pins(); }, stall),
        ar(
            bench, "ar", top.ar_valid, top.ar_ready,
            [this](const Result& r) {
              write_pin(top.ar_tag, r.tag);
              top.ar_value = r.value;
              top.ar_err = r.err;
            },
            stall),
        rterr(
            bench, "rterr", top.rterr_valid, top.rterr_ready,
            [this](const std::array<uint32_t, 3>& r) {
              top.rterr_qpn = r[0];
              top.rterr_psn = r[1];
              top.rterr_msn = r[2];
            },
            stall),
        fail(
            bench, "fail", top.fail_valid, top.fail_ready, [this] { return Bits(64, top.fail); },
            stall),
        slow(slowness) {
    ctx.set_latency(1, slow > 1 ? 5 : 1);
    mr.set_latency(2, slow > 1 ? 9 : 2);
    if (slow > 1) {
      ctx.set_stall(stall);
      mr.set_stall(stall);
    }
    for (unsigned q = 0; q < kQps; ++q) {
      qp[q].psn = (0xFFFFF0 + 3 * q) & kMask;
      qp[q].msn = 0xFFFFF8;
      qp[q].mtu = 1 + q % 5;
    }
    rsp.on_item([this](const Bits& b) { say(b, {}, false); });
    txp.on_item([this](const auto& p) { submitted(p.first, p.second); });
    rdreq.on_item([this](const Bits& b) { read_asked(b); });
    at.on_item([this](const AtomicPins& a) { execute(a); });
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    // tx_pacer: whoever has a rate asks, and hears soon.
    bench.on_drive([this] {
      top.pace_limited_i = paced;
      top.pace_ask_ready = pace_random_.chance(0.7);
      top.pace_told_i = pace_due_ && pace_random_.chance(0.4);
      top.pace_ok_i = pace_random_.chance(pace_ok);
      if (top.pace_told_i) pace_due_ = false;
      if (pace_taken_) pace_due_ = true;
      pace_taken_ = false;
      pace_refused += top.pace_told_i && !top.pace_ok_i;
    });
    bench.on_sample([this] {
      pace_made += top.pace_pkt_o;
      pace_taken_ = top.pace_ask_valid && top.pace_ask_ready;
    });
    top.cfg_count_i = 16;
    top.cfg_cycles_i = 64;
    bench.reset();
    for (unsigned i = 0; i < slots; ++i) slot.push(i);
  }

  // ---- requests, in packet order
  void write(unsigned q, bool ack_req = true) {
    Qp& p = qp[q];
    if (random.chance(payload_writes)) ++ordered;  // a write that later READs must see
    p.msn = (p.msn + 1) & kMask;
    if (ack_req) {
      push(q, {{"psn", p.psn}, {"msn", p.msn}, {"syndrome", 0x1F}, {"ack_req", 1}});
      p.acks.emplace_back(p.psn, bench.cycle());
    }
    p.psn = (p.psn + 1) & kMask;
  }
  Asked& read(unsigned q, uint32_t len, std::optional<uint64_t> at_va = {}) {
    Qp& p = qp[q];
    Asked a;
    a.psn = p.psn;
    a.len = len;
    a.packets = std::max(1u, (len + p.mtu_bytes() - 1) / p.mtu_bytes());
    a.va = at_va ? *at_va : 0x100'0000'0000 * (q + 1) + 0x1'0000 * next_va++ + random.below(5000);
    a.msn = p.msn = (p.msn + 1) & kMask;
    a.ticket = static_cast<uint16_t>(ordered);
    p.asked.push_back(a);
    push_read(q, a.psn, a.va, a.len, a.msn, false, a.ticket);
    p.psn = (p.psn + a.packets) & kMask;
    return p.asked.back();
  }
  void atomic(unsigned q, bool swap, uint64_t op0, uint64_t op1 = 0, uint64_t addr = 0x40) {
    Qp& p = qp[q];
    Asked a;
    a.atomic = true;
    a.psn = p.psn;
    a.va = addr;
    a.swap = swap;
    a.op0 = op0;
    a.op1 = op1;
    a.msn = p.msn = (p.msn + 1) & kMask;
    a.ticket = static_cast<uint16_t>(ordered);
    p.asked.push_back(a);
    push_atomic(q, a, false);
    p.psn = (p.psn + 1) & kMask;
  }
  // The requester asks again for READ n of the QP, from packet k on.
  void repeat_read(unsigned q, size_t n, uint32_t k) {
    const Asked& a = qp[q].asked.at(n);
    const uint32_t skip = k * qp[q].mtu_bytes();
    push_read(q, (a.psn + k) & kMask, a.va + skip, a.len - skip, qp[q].msn, true,
              static_cast<uint16_t>(ordered));
  }
  void repeat_atomic(unsigned q, size_t n) { push_atomic(q, qp[q].asked.at(n), true); }
  void repeat_write(unsigned q) {
    Qp& p = qp[q];
    push(q, {{"psn", (p.psn - 1) & kMask},
             {"msn", p.msn},
             {"syndrome", 0x1F},
             {"ack_req", 1},
             {"urgent", 1}});
  }
  void nak(unsigned q, uint8_t syndrome) {
    Qp& p = qp[q];
    push(q, {{"psn", p.psn}, {"msn", p.msn}, {"syndrome", syndrome}, {"urgent", 1}});
    p.nak = syndrome;
    p.nak_psn = p.psn;
  }
  void push_read(unsigned q, uint32_t psn, uint64_t va, uint32_t len, uint32_t msn, bool dup,
                 uint16_t ticket, uint32_t rkey = 0) {
    Bits b = kAckReq.pack({{"qpn", q},
                           {"psn", psn},
                           {"msn", msn},
                           {"kind", 1},
                           {"dup", dup},
                           {"ticket", ticket},
                           {"va", va},
                           {"rkey", rkey != 0 ? rkey : 0x500 + q},
                           {"len", len},
                           {"sampled", 1}});
    ackq.push(b);
  }
  void push_atomic(unsigned q, const Asked& a, bool dup) {
    ackq.push(kAckReq.pack({{"qpn", q},
                            {"psn", a.psn},
                            {"msn", a.msn},
                            {"kind", 2},
                            {"dup", dup},
                            {"ticket", a.ticket},
                            {"iova", a.va},
                            {"swap", a.swap},
                            {"op0", a.op0},
                            {"op1", a.op1}}));
  }
  void push(unsigned q, std::initializer_list<std::pair<std::string, uint64_t>> fields) {
    Bits b = kAckReq.pack(fields);
    kAckReq.set(b, "qpn", q);
    ackq.push(b);
  }
  void clear(unsigned q, uint64_t op = kClear) {
    orders.push(order(op, q));
    bench.wait(
        "order", [this] { return orders.pending() == 0; }, 5000);
  }

  // READs and ATOMICs whose last response is not on the wire.
  unsigned outstanding(unsigned q) const {
    unsigned n = 0;
    for (const Asked& a : qp[q].asked) {
      const uint32_t last = (a.psn + a.packets - 1) & kMask;
      bool there = false;
      for (const Said& s : qp[q].said) there = there || (!s.is_ack() && s.psn == last);
      n += !there;
    }
    return n;
  }
  bool quiet() {
    return ackq.pending() == 0 && buffered == 0 && ar.pending() == 0 && executing.empty() &&
           rterr.pending() == 0;
  }
  void run_dry(uint64_t limit = 200000) {
    bench.wait(
        "requests to be taken", [this] { return ackq.pending() == 0; }, limit);
    uint64_t calm = 0;
    bench.wait(
        "everything to be said",
        [&] {
          calm = quiet() ? calm + 1 : 0;
          return calm > 400;
        },
        limit);
  }

  static std::string hex(uint64_t v) {
    std::ostringstream s;
    s << std::hex << v;
    return s.str();
  }
  // What packet k of a READ must look like, if the execution began with packet `begin`.
  void check_response(unsigned q, const Said& s, const Asked& a, bool first) const {
    const Qp& p = qp[q];
    INFO("QP " << q << " psn " << hex(s.psn) << " opcode " << +s.opcode);
    CHECK(s.buffered);
    if (a.atomic) {
      CHECK(s.opcode == 0x12);
      CHECK(s.value == a.value);
      CHECK(s.bytes.empty());
      CHECK(s.msn == a.msn);
      return;
    }
    const uint32_t k = (s.psn - a.psn) & kMask;
    const bool last = k + 1 == a.packets;
    CHECK(s.opcode == (first ? (last ? 0x10 : 0x0D) : last ? 0x0F : 0x0E));
    CHECK(s.msn == a.msn);
    CHECK(s.syndrome == 0x1F);
    const uint32_t from = k * p.mtu_bytes();
    const uint32_t len = std::min(a.len - from, p.mtu_bytes());
    REQUIRE(s.bytes.size() == len);
    for (uint32_t i = 0; i < len; ++i) {
      if (s.bytes[i] != translate(a.va + from + i)) {
        FAIL("byte " << i << " came from " << hex(s.bytes[i]) << ", expected "
                     << hex(translate(a.va + from + i)));
      }
    }
  }
  const Asked* find(unsigned q, uint32_t psn) const {
    for (const Asked& a : qp[q].asked) {
      if (((psn - a.psn) & kMask) < a.packets) return &a;
    }
    return nullptr;
  }

  // Without repeats: every response once, in PSN order, right; ACKs between them in PSN order;
  // everything that wanted an ACK is acknowledged, by an ACK or by a response behind it.
  void check_in_order(unsigned q) const {
    const Qp& p = qp[q];
    INFO("QP " << q);
    uint32_t expected = 0;
    size_t n = 0;
    std::optional<uint32_t> newest;
    for (const Said& s : p.said) {
      INFO("psn " << hex(s.psn) << " opcode " << +s.opcode << " syndrome " << +s.syndrome);
      if (newest) CHECK(((s.psn - *newest) & kMask) < 0x800000);
      newest = s.psn;
      if (s.is_ack()) {
        // Responses to everything before it are out.
        const bool in_front =
            n == p.asked.size() || ((p.asked[n].psn + expected - s.psn - 1) & kMask) < 0x800000 ||
            (s.syndrome != 0x1F && s.psn == ((p.asked[n].psn + expected) & kMask));
        CHECK(in_front);
        CHECK((expected == 0 || s.syndrome != 0x1F));
        continue;
      }
      REQUIRE(n < p.asked.size());
      CHECK(s.psn == ((p.asked[n].psn + expected) & kMask));
      check_response(q, s, p.asked[n], expected == 0);
      if (++expected == p.asked[n].packets) {
        expected = 0;
        ++n;
      }
    }
    if (!p.nak) {
      CHECK(n == p.asked.size());
      for (const auto& [psn, cycle] : p.acks) {
        bool ok = false;
        for (const Said& s : p.said) {
          ok = ok || (((s.psn - psn) & kMask) < 0x800000 && (!s.is_ack() || s.syndrome == 0x1F));
        }
        CHECK(ok);
      }
    } else {
      REQUIRE(!p.said.empty());
      CHECK(p.said.back().syndrome == *p.nak);
      CHECK(p.said.back().psn == p.nak_psn);
    }
    for (const Asked& a : p.asked) CHECK(a.executed == (a.atomic ? 1u : 0u));
  }
  void settle() {
    run_dry();
    for (unsigned q = 0; q < kQps; ++q) check_in_order(q);
  }

  // ---- regions: even QPs flat, odd ones in pages; a key of 0x900 + q is refused, others denied
  uint64_t translate(uint64_t va) const {
    const unsigned q = static_cast<unsigned>(va / 0x100'0000'0000) - 1;
    if (q % 2 == 0) return va + 0x7000'0000'0000;
    return (va / kPage * 0x9E3779B97F4A7C15 & 0xFFFF'FFFF'F000) | va % kPage;
  }
  std::function<bool(uint64_t va)> denied, refused, unreadable;

  struct AtomicPins {
    uint64_t addr = 0, op0 = 0, op1 = 0, psn = 0, qpn = 0;
    bool swap = false;
    Bits tag;
    bool operator==(const AtomicPins&) const = default;
  };
  struct Result {
    Bits tag;
    uint64_t value = 0;
    bool err = false;
    bool operator==(const Result&) const = default;
  };

  Bench<Vresp_engine> bench;
  Vresp_engine& top;
  LookupServer ctx, mr;
  StreamSource<Bits> ackq, orders;
  StreamSink<Bits> rsp;
  StreamSource<unsigned> slot;
  StreamSink<std::pair<unsigned, Bits>> txp;
  StreamSink<Bits> rdreq;
  StreamSink<AtomicPins> at;
  StreamSource<Result> ar;
  StreamSource<std::array<uint32_t, 3>> rterr;
  StreamSink<Bits> fail;
  Rng random = rng("world");
  unsigned slow;
  std::array<Qp, kQps> qp;
  std::map<uint64_t, uint64_t> memory;  // ATOMIC cells
  std::function<bool(uint64_t)> atomic_fails;
  uint64_t ordered = 0, placed = 0;  // payload writes
  double payload_writes = 0.5, place_rate = 0.5;
  // Every QP has a rate, which allows a packet with this probability; packets made, refusals.
  bool paced = false;
  double pace_ok = 1;
  uint64_t pace_made = 0, pace_refused = 0;
  bool hold_buffer = false, hold_atomics = false, check_atomic_order = true;
  static constexpr unsigned slots = 16;
  uint64_t dropped = 0, responses = 0, acks = 0, naks = 0;
  unsigned buffered = 0;
  std::array<bool, kQps> exists{true, true, true, true, true, true, true, true};

 private:
  struct InBuffer {
    unsigned slot = 0;
    Bits pkt;
    unsigned len = 0;
  };
  struct SlotState {
    std::vector<uint64_t> bytes;
    uint64_t due = 0;
    bool fails = false;
    bool taken = false;
  };

  Bits connection(unsigned q) const {
    if (q >= kQps || !exists[q]) return Bits(kConn.width());
    return kConn.pack({{"exists", 1},
                       {"state", kRts},
                       {"mtu", qp[q].mtu},
                       {"pd", 0x70 + q},
                       {"path", 500 + q},
                       {"pkey", 0x8000 + q},
                       {"dest_qpn", 0x700 + q},
                       {"max_dest_rd", qp[q].limit}});
  }
  Bits region(const Bits& b) {
    const uint64_t va = kMrReq.get(b, "va"), len = kMrReq.get(b, "len");
    const auto q = static_cast<unsigned>(kMrReq.get(b, "key") - 0x500);
    REQUIRE(q < kQps);
    CHECK(kMrReq.get(b, "pd") == 0x70 + q);
    CHECK(kMrReq.get(b, "need_rread") == 1);
    CHECK(kMrReq.get(b, "need_rwrite") == 0);
    CHECK(len >= 1);
    CHECK(len <= qp[q].mtu_bytes());
    const Asked* a = nullptr;
    for (const Asked& x : qp[q].asked) {
      if (!x.atomic && va >= x.va && va + len <= x.va + x.len) a = &x;
    }
    REQUIRE(a != nullptr);
    // Earlier payload writes are visible.
    CHECK(static_cast<int16_t>(static_cast<uint16_t>(placed) - a->ticket) >= 0);
    const bool no = denied && denied(va);
    const bool ref = refused && refused(va);
    return kMrRsp.pack({{"ok", !no},
                        {"refused", ref},
                        {"iova", translate(va)},
                        {"flat", q % 2 == 0},
                        {"room", q % 2 == 0 ? 1 : kPage - va % kPage}});
  }
  AtomicPins atomic_pins() {
    return {top.at_addr, top.at_op0,       top.at_op1,          top.at_psn,
            top.at_qpn,  top.at_swap != 0, read_pin(top.at_tag)};
  }
  void execute(const AtomicPins& a) {
    Qp& p = qp.at(a.qpn);
    Asked* asked = nullptr;
    for (Asked& x : p.asked) {
      if (x.atomic && x.psn == a.psn) asked = &x;
    }
    REQUIRE(asked != nullptr);
    CHECK(asked->va == a.addr);
    CHECK(asked->swap == a.swap);
    CHECK(asked->op0 == a.op0);
    CHECK(asked->op1 == a.op1);
    CHECK(static_cast<int16_t>(static_cast<uint16_t>(placed) - asked->ticket) >= 0);
    ++asked->executed;
    for (const Asked& x : p.asked) {  // in order
      if (x.atomic && &x < asked && check_atomic_order) CHECK(x.executed == 1);
    }
    uint64_t& m = memory[a.addr];
    asked->value = m;
    const bool bad = atomic_fails && atomic_fails(a.addr);
    if (!bad) m = a.swap ? (m == a.op1 ? a.op0 : m) : m + a.op0;
    executing.emplace_back(bench.cycle() + random.below(20 * slow),
                           Result{a.tag, asked->value, bad});
  }
  void read_asked(const Bits& b) {
    const auto s = static_cast<unsigned>(kRdReq.get(b, "slot"));
    SlotState& state = state_.at(s);
    const uint64_t addr = kRdReq.get(b, "addr"), len = kRdReq.get(b, "len");
    CHECK(kRdReq.get(b, "dst_off") == state.bytes.size());
    CHECK(kRdReq.get(b, "first") == state.bytes.empty());
    CHECK(len >= 1);
    for (uint64_t i = 0; i < len; ++i) {
      state.bytes.push_back(addr + i);
      state.fails = state.fails || (unreadable && unreadable(addr + i));
    }
    state.due = std::max(state.due, bench.cycle() + random.below(30 * slow));
  }
  void submitted(unsigned s, const Bits& pkt) {
    const auto q = static_cast<unsigned>(kTxPkt.get(pkt, "qpn"));
    REQUIRE(q < kQps);
    CHECK(kTxPkt.get(pkt, "notify") == 1);
    check_address(pkt, q);
    queue_[q].push_back({s, pkt, static_cast<unsigned>(kTxPkt.get(pkt, "payload_len"))});
    ++buffered;
  }
  void check_address(const Bits& pkt, unsigned q) const {
    CHECK(kTxPkt.get(pkt, "response") == 1);
    CHECK(kTxPkt.get(pkt, "path") == 500 + q);
    CHECK(kTxPkt.get(pkt, "pkey") == 0x8000 + q);
    CHECK(kTxPkt.get(pkt, "dest_qpn") == 0x700 + q);
    CHECK(kTxPkt.get(pkt, "ack_req") == 0);
    CHECK(kTxPkt.get(pkt, "se") == 0);
  }
  void say(const Bits& pkt, const std::vector<uint64_t>& bytes, bool through_buffer) {
    const auto q = static_cast<unsigned>(kTxPkt.get(pkt, "qpn"));
    REQUIRE(q < kQps);
    check_address(pkt, q);
    Said s;
    s.opcode = static_cast<uint8_t>(kTxPkt.get(pkt, "opcode"));
    s.psn = static_cast<uint32_t>(kTxPkt.get(pkt, "psn"));
    s.msn = static_cast<uint32_t>(kTxPkt.get(pkt, "msn"));
    s.syndrome = static_cast<uint8_t>(kTxPkt.get(pkt, "syndrome"));
    s.value = kTxPkt.get(pkt, "op0");
    s.bytes = bytes;
    s.cycle = bench.cycle();
    s.buffered = through_buffer;
    if (!through_buffer) {
      CHECK(s.is_ack());
      // Nothing of this QP is still in the buffer.
      CHECK(queue_[q].empty());
    }
    qp[q].said.push_back(s);
  }
  void sample() {
    dropped += top.cnt_rx_rd_dropped_o;
    responses += top.cnt_tx_rd_responses_o;
    acks += top.cnt_tx_acks_o;
    naks += top.cnt_tx_nak_seq_o + top.cnt_tx_nak_inv_o + top.cnt_tx_nak_access_o +
            top.cnt_tx_nak_op_o + top.cnt_tx_rnr_nak_o;
  }
  bool pace_due_ = false, pace_taken_ = false;
  Rng pace_random_ = rng("pace");
  void drive() {
    top.placed_i = 0;
    if (placed < ordered && random.chance(place_rate)) {
      ++placed;
      top.placed_i = 1;
    }
    top.rleft_valid = 0;
    if (!hold_buffer) {
      std::vector<unsigned> able;
      for (unsigned q = 0; q < kQps; ++q) {
        if (queue_[q].empty()) continue;
        const InBuffer& b = queue_[q].front();
        const SlotState& s = state_[b.slot];
        if (s.bytes.size() == b.len && s.due <= bench.cycle()) able.push_back(q);
      }
      if (!able.empty() && (slow == 1 || random.chance(0.7))) leave(random.pick(able));
    }
    while (!hold_atomics && !executing.empty() && executing.front().first <= bench.cycle()) {
      ar.push(executing.front().second);
      executing.pop_front();
    }
  }
  void leave(unsigned q) {
    const InBuffer b = queue_[q].front();
    queue_[q].pop_front();
    SlotState& s = state_[b.slot];
    if (!qp[q].dead && !s.fails) {
      say(b.pkt, s.bytes, true);
    } else if (!qp[q].dead) {
      qp[q].dead = true;
      rterr.push({q, static_cast<uint32_t>(kTxPkt.get(b.pkt, "psn")),
                  static_cast<uint32_t>(kTxPkt.get(b.pkt, "msn"))});
    }
    s = SlotState();
    top.rleft_valid = 1;
    top.rleft_qpn = q;
    --buffered;
    slot.push(b.slot);
  }

  std::array<std::deque<InBuffer>, kQps> queue_;
  std::array<SlotState, 256> state_;

 public:
  std::deque<std::pair<uint64_t, Result>> executing;
  uint64_t next_va = 0;
};

}  // namespace rnic::test
