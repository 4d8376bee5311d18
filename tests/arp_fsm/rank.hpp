// SPDX-License-Identifier: Apache-2.0
//
// A rank of an AllReduce: arp_fsm between models of its neighbours in the NIC. dma_master answers
// reads TLP by TLP in any order and takes sums; device_memory takes rows; the send queue reads WQEs
// and payload, and again when they are acknowledged, for they must not have changed; the responder
// asks about each packet in order, sends RNR NAKs, and hands payload on.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/numerics/reduce.hpp"
#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/stream.hpp"

namespace rnic::test {

inline const PkgStruct kAsk("ask_t", "arp_pkg"), kGroup("group_t", "arp_pkg"),
    kCmd("cmd_t", "arp_pkg"), kReport("report_t", "arp_pkg"), kWriteReq("dma_wr_req_t");

enum ArpAnswer : uint64_t { kAccept, kDuplicate, kNotReady, kRefuse, kAborted };
enum ArpCommand : uint64_t { kCreate, kPeer, kStart, kAbort, kDestroy, kQuery };
enum ArpState : uint64_t { kFree, kIdle, kRun, kAborting, kAbortedState };
enum ArpEvent : uint64_t { kDone, kByCommand, kTimeout, kReadFailed, kQpFailed };
enum ArpStatus : uint64_t {
  kOk = 0,
  kBadOpcode,
  kBadIndex,
  kBadState,
  kBadParam,
  kInUse,
  kNotFound
};

struct ArpPacket {
  Bits ask;  // without qpn
  std::vector<uint8_t> payload;
  uint64_t due = 0;
  std::function<void(uint64_t answer)> answered;  // each time
};
struct ArpBeat {
  Bits data;
  bool last;
  bool operator==(const ArpBeat&) const = default;
};
struct ArpEventSeen {
  uint64_t code, number, cycle;
};

// What a rank's world does to it.
struct ArpWeather {
  double stall = 0;  // of every stream
  uint64_t read_latency = 20, latency = 30, ack_latency = 30, rnr = 40;
  double duplicate = 0;  // an accepted packet comes again
  bool hold_acks = false;
  uint64_t hold_acks_behind = UINT64_MAX;  // of WQEs from this index on
};

template <class C>
class Rank {
 public:
  static constexpr uint32_t kB = C::kW / 8;
  static constexpr uint64_t kMem = 0x40000000, kDev = 0x100000000;
  static constexpr uint32_t kStageBytes = 4096 * C::kStage, kDevBytes = 1 << 20;
  static constexpr uint32_t kSrcKey = 0x1200, kStageKey = 0x3400;

  Rank(uint32_t number, size_t memory_bytes)
      : number(number),
        random(rng("rank" + std::to_string(number))),
        memory(memory_bytes),
        device(kDevBytes),
        cmd(bench, "cmd", t.cmd_valid, t.cmd_ready, t.cmd),
        ask(bench, "ask", t.ask_valid, t.ask_ready, t.ask),
        ans(bench, "ans", t.ans_valid, t.ans_ready, [this] { return uint64_t{t.ans}; }),
        pay(bench, "pay", t.pay_valid, t.pay_ready,
            [this](const ArpBeat& b) {
              write_pin(t.pay_data, b.data);
              t.pay_last = b.last;
            }),
        rdreq(bench, "rdreq", t.rdreq_valid, t.rdreq_ready, [this] { return read_pin(t.rdreq); }),
        outreq(bench, "outreq", t.outreq_valid, t.outreq_ready,
               [this] { return read_pin(t.outreq); }),
        outdat(bench, "outdat", t.outdat_valid, t.outdat_ready,
               [this] {
                 return ArpBeat{read_pin(t.outdat_data), t.outdat_last != 0};
               }),
        dw(bench, "dw", t.dw_valid, t.dw_ready,
           [this] {
             Bits all(32 + C::kW + kB);
             all.insert(0, read_pin(t.dw_data).slice(0, C::kW));
             all.insert(C::kW, read_pin(t.dw_strb).slice(0, kB));
             all.set(C::kW + kB, 32, t.dw_row);
             return all;
           }),
        bf(bench, "bf", t.bf_valid, t.bf_ready, [this] { return read_pin(t.bf); }),
        ev(bench, "ev", t.ev_valid, t.ev_ready,
           [this] { return uint64_t{t.ev_code} << 8 | t.ev_number; }) {
    rdreq.on_item([this](const Bits& r) { read_asked(r); });
    outdat.on_item([this](const ArpBeat& b) { sum_beat(b); });
    dw.on_item([this](const Bits& row) { device_row(row); });
    bf.on_item([this](const Bits& entry) { pushed(entry); });
    ev.on_item([this](const uint64_t& e) { events.push_back({e >> 8, e & 0xFF, bench.cycle()}); });
    ans.on_item([this](const uint64_t& a) { answered(a); });
    bench.on_sample([this] { count(); });
    bench.on_drive([this] { drive(); });
    bench.reset({&t.rst_i});
  }

  void set_weather(const ArpWeather& w) {
    weather = w;
    ask.set_stall(Stall::random(w.stall));
    pay.set_stall(Stall::random(w.stall));
    rdreq.set_stall(Stall::random(w.stall));
    outreq.set_stall(Stall::random(w.stall));
    outdat.set_stall(Stall::random(w.stall));
    dw.set_stall(Stall::random(w.stall));
    bf.set_stall(Stall::random(w.stall));
    ans.set_stall(Stall::random(w.stall));
  }

  Bench<typename C::Top> bench;
  typename C::Top& t = bench.top();
  uint32_t number;
  Rng random;
  ArpWeather weather;
  std::vector<uint8_t> memory, device;
  StreamSource<Bits> cmd, ask;
  StreamSink<uint64_t> ans;
  StreamSource<ArpBeat> pay;
  StreamSink<Bits> rdreq, outreq;
  StreamSink<ArpBeat> outdat;
  StreamSink<Bits> dw, bf;
  StreamSink<uint64_t> ev;
  std::vector<ArpEventSeen> events;
  std::vector<uint64_t> accepted_order;  // contributors, in order
  std::map<uint64_t, uint64_t> answers;  // how often each
  std::map<std::string, uint64_t> counters;
  uint64_t read_errors_wanted = 0;
  bool deaf = false;                                 // takes no packets
  std::function<void(ArpPacket)> send;               // to the next rank
  std::function<uint64_t(const ArpPacket&)> qpn_of;  // the local QP on which it comes

  uint64_t state(uint32_t group) { return t.state_o >> (3 * group) & 7; }

  // A command; its status.
  uint64_t command(uint64_t op, uint32_t group, const Bits& fields = Bits(kGroup.width()),
                   uint64_t peer = 0, uint64_t peer_qpn = 0) {
    Bits bits = kCmd.pack({{"op", op}, {"number", group}, {"peer", peer}, {"peer_qpn", peer_qpn}});
    kCmd.set_bits(bits, "group", fields);
    const uint64_t before = statuses_.size();
    cmd.push(bits);
    bench.wait(
        "command", [&] { return statuses_.size() > before; }, 20);
    return statuses_.back();
  }

  // A field of what QUERY tells of a group.
  uint64_t query(uint32_t group, const std::string& field) {
    if (command(kQuery, group) != kOk) throw std::runtime_error("QUERY was refused");
    return kReport.get(report_, field);
  }

  void arrive(ArpPacket packet) {
    packet.due = bench.cycle() + weather.latency + random.below(4);
    if (!in_.empty()) packet.due = std::max(packet.due, in_.back().due);
    in_.push_back(std::move(packet));
  }
  size_t waiting() const { return in_.size(); }
  size_t unacknowledged() const { return unacked_.size(); }
  bool quiet() const { return in_.empty() && tlps_.empty() && pay.pending() == 0; }

 private:
  struct Tlp {
    uint64_t due;
    Bits request;
    uint32_t number, offset, length, sent;
    bool error;
  };
  struct Sent {
    uint64_t index;
    std::vector<uint8_t> wqe;
    uint64_t ring_at, data_at;
    bool staged;
    std::vector<uint8_t> payload;
  };

  // -- dma_master
  void read_asked(const Bits& r) {
    const auto addr = kRdReq.get(r, "addr");
    const auto length = static_cast<uint32_t>(kRdReq.get(r, "len"));
    uint32_t at = 0, number = 0;
    while (at < length) {
      const auto cut = static_cast<uint32_t>(256 - (addr + at) % 256);
      const uint32_t n = std::min(cut, length - at);
      const bool error = read_errors_wanted > 0 && at + n == length;
      if (error) --read_errors_wanted;
      tlps_.push_back(
          {bench.cycle() + weather.read_latency + random.below(8), r, number++, at, n, 0, error});
      at += n;
    }
  }
  void drive_reads() {
    t.rdrsp_valid_i = 0;
    std::vector<size_t> ready;
    for (size_t i = 0; i < tlps_.size(); ++i) {
      if (tlps_[i].due <= bench.cycle()) ready.push_back(i);
    }
    if (ready.empty() || random.chance(weather.stall)) return;
    const size_t pick = ready[random.below(std::min<size_t>(ready.size(), 4))];
    Tlp& tlp = tlps_[pick];
    const uint64_t offset = tlp.offset + tlp.sent;
    const uint32_t n = tlp.error ? 0 : kB;
    Bits rsp = kRdRsp.pack({{"client", 6},
                            {"slot", kRdReq.get(tlp.request, "slot")},
                            {"tlp", tlp.number},
                            {"dst_off", offset},
                            {"cnt", n}});
    const bool last = tlp.error || tlp.sent + kB == tlp.length;
    kRdRsp.set(rsp, "tlp_last", last);
    if (tlp.error) {
      kRdRsp.set(rsp, "err", 1);
      kRdRsp.set(rsp, "status", 4);
      kRdRsp.set(rsp, "lost", tlp.length);
      write_pin(t.rdrsp_data_i, Bits::random(random, C::kW));
    } else {
      const uint64_t at = kRdReq.get(tlp.request, "addr") - kMem + offset;
      write_pin(t.rdrsp_data_i, Bits::from_bytes(std::span(memory).subspan(at, kB)));
    }
    write_pin(t.rdrsp_i, rsp);
    t.rdrsp_valid_i = 1;
    tlp.sent += kB;
    if (last) tlps_.erase(tlps_.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  void sum_beat(const ArpBeat& b) {
    if (sum_at_ >= outreq.size()) throw std::runtime_error("a sum without a request");
    const Bits& r = outreq[sum_at_];
    const uint64_t length = kWriteReq.get(r, "len");
    const uint64_t at = kWriteReq.get(r, "addr") - kMem + sum_bytes_;
    if (at + kB > memory.size()) throw std::runtime_error("a sum goes beyond memory");
    for (uint32_t i = 0; i < kB; ++i) memory[at + i] = b.data.byte(i);
    sum_bytes_ += kB;
    if (b.last != (sum_bytes_ == length)) throw std::runtime_error("a sum has a wrong length");
    if (!b.last) return;
    ++sum_at_;
    sum_bytes_ = 0;
    placed_.push_back(bench.cycle() + 5 + random.below(20));
  }

  // -- device_memory
  void device_row(const Bits& row) {
    const uint64_t at = row.get(C::kW + kB, 32) * kB;
    if (at + kB > device.size()) throw std::runtime_error("a row beyond device_memory");
    for (uint32_t i = 0; i < kB; ++i) {
      if (row.bit(C::kW + i)) device[at + i] = row.byte(i);
    }
  }

  // -- send queue
  uint64_t word(const std::vector<uint8_t>& bytes, size_t at, size_t n) const {
    uint64_t x = 0;
    for (size_t i = 0; i < n; ++i) x |= uint64_t{bytes[at + i]} << (8 * i);
    return x;
  }
  void pushed(const Bits& entry) {
    const uint64_t index = kEntry.get(entry, "index");
    const uint64_t qpn = kEntry.get(entry, "qpn");
    if (index != next_index_[qpn]++ % 65536) throw std::runtime_error("WQEs out of order");
    const uint64_t ring_at = ring_of(qpn) + index % C::kRing * 64;
    std::vector<uint8_t> wqe(device.begin() + static_cast<std::ptrdiff_t>(ring_at),
                             device.begin() + static_cast<std::ptrdiff_t>(ring_at + 64));
    if (kEntry.get_bits(entry, "wqe").slice(0, 512) != Bits::from_bytes(wqe))
      throw std::runtime_error("the ring holds another WQE than was pushed");
    const bool quiet = wqe[9] == 0x40;
    if (wqe[8] != 0x30 || (wqe[9] != 0 && !quiet) || wqe[11] != 0x10 || word(wqe, 12, 2) != index)
      throw std::runtime_error("control segment of the WQE");
    Sent sent{index, wqe, ring_at, word(wqe, 40, 8), word(wqe, 32, 4) == kStageKey, {}};
    sent.payload = data_of(sent, word(wqe, 36, 4));
    if (!sent.staged && word(wqe, 32, 4) != kSrcKey) throw std::runtime_error("key of the WQE");
    unacked_[qpn].push_back(sent);
    // The remote segment is the header, first byte on the wire highest.
    const uint64_t head = word(wqe, 16, 8);
    ArpPacket p;
    p.ask = kAsk.pack({{"result", head >> 56 & 1},
                       {"elem", head >> 57 & 3},
                       {"contributor", head >> 48 & 0xFF},
                       {"group", head >> 32 & 0xFFFF},
                       {"slot", head & 0xFFFFFFFF},
                       {"offset", word(wqe, 24, 4)},
                       {"len", sent.payload.size()}});
    p.payload = sent.payload;
    p.answered = [this, qpn, index, quiet](uint64_t answer) {
      // An RNR NAK acknowledges what was before.
      if (answer == kNotReady)
        acks_.push_back({bench.cycle() + weather.ack_latency, qpn, index});
      else if (answer == kRefuse || answer == kAborted)
        fails_.push_back({bench.cycle() + weather.ack_latency, qpn, 0});
      else if (!quiet)
        acks_.push_back({bench.cycle() + weather.ack_latency, qpn, (index + 1) % 65536});
    };
    if (send) send(p);
  }
  uint64_t ring_of(uint64_t qpn) const { return kRings + qpn % 16 * 64 * C::kRing; }
  std::vector<uint8_t> data_of(const Sent& s, uint64_t length) const {
    const auto& from = s.staged ? device : memory;
    const uint64_t at = s.data_at - (s.staged ? kDev : kMem);
    if (at + length > from.size()) throw std::runtime_error("payload beyond memory");
    return {from.begin() + static_cast<std::ptrdiff_t>(at),
            from.begin() + static_cast<std::ptrdiff_t>(at + length)};
  }
  void acknowledged(uint64_t qpn, uint64_t index) {
    auto& list = unacked_[qpn];
    while (!list.empty() && list.front().index != index) {
      const Sent& s = list.front();
      const std::vector<uint8_t> wqe(device.begin() + static_cast<std::ptrdiff_t>(s.ring_at),
                                     device.begin() + static_cast<std::ptrdiff_t>(s.ring_at + 64));
      if (wqe != s.wqe || data_of(s, s.payload.size()) != s.payload)
        throw std::runtime_error("a WQE or its data changed before it was acknowledged");
      list.pop_front();
    }
    t.ack_valid_i = 1;
    t.ack_qpn_i = static_cast<uint32_t>(qpn);
    t.ack_index_i = static_cast<uint16_t>(index);
  }

  // -- responder
  void drive_packets() {
    if (asking_ || deaf || in_.empty() || in_.front().due > bench.cycle() ||
        retry_ > bench.cycle() || pay.pending() > 600)
      return;
    asking_ = true;
    Bits bits = in_.front().ask;
    kAsk.set(bits, "qpn", qpn_of ? qpn_of(in_.front()) : 0);
    ask.push(bits);
  }
  void answered(uint64_t answer) {
    if (!asking_) throw std::runtime_error("an answer without a question");
    asking_ = false;
    ++answers[answer];
    if (answer == kNotReady) {
      retry_ = bench.cycle() + weather.rnr;
      if (in_.front().answered) in_.front().answered(answer);
      return;
    }
    ArpPacket packet = in_.front();
    in_.pop_front();
    if (packet.answered) packet.answered(answer);
    packet.answered = nullptr;
    if (answer != kAccept) return;
    accepted_order.push_back(kAsk.get(packet.ask, "contributor"));
    for (size_t at = 0; at < packet.payload.size(); at += kB) {
      pay.push({Bits::from_bytes(std::span(packet.payload).subspan(at, kB)),
                at + kB == packet.payload.size()});
    }
    if (random.chance(weather.duplicate)) in_.push_front(packet);
  }

  struct Later {
    uint64_t due, qpn, index;
  };
  void drive() {
    drive_reads();
    drive_packets();
    t.tick_us_i = bench.cycle() % 10 == 0;
    t.out_placed_i = !placed_.empty() && placed_.front() <= bench.cycle();
    if (t.out_placed_i) placed_.pop_front();
    t.ack_valid_i = 0;
    if (!acks_.empty() && acks_.front().due <= bench.cycle() && !weather.hold_acks &&
        acks_.front().index <= weather.hold_acks_behind) {
      acknowledged(acks_.front().qpn, acks_.front().index);
      acks_.pop_front();
    }
    t.fail_valid_i = 0;
    if (!fails_.empty() && fails_.front().due <= bench.cycle()) {
      t.fail_valid_i = 1;
      t.fail_qpn_i = static_cast<uint32_t>(fails_.front().qpn);
      fails_.pop_front();
    }
  }
  void count() {
    if (t.cmd_done_o) {
      statuses_.push_back(t.cmd_status_o);
      report_ = read_pin(t.cmd_report_o);
    }
    counters["accepted"] += t.cnt_accepted_o;
    counters["duplicate"] += t.cnt_duplicate_o;
    counters["not_ready"] += t.cnt_not_ready_o;
    counters["refused"] += t.cnt_refused_o;
    counters["done"] += t.cnt_done_o;
    counters["aborted"] += t.cnt_aborted_o;
  }

 public:
  void fail_qp(uint64_t qpn) { fails_.push_back({0, qpn, 0}); }
  void forget_sends(uint64_t qpn) {  // the QP was reset
    unacked_[qpn].clear();
    next_index_[qpn] = 0;
    acks_.clear();
    fails_.clear();
  }
  void forget_packets() {
    in_.clear();
    retry_ = 0;
  }
  void restart() {  // reset of the device, with everything that was on its way
    tlps_.clear();
    placed_.clear();
    acks_.clear();
    fails_.clear();
    in_.clear();
    unacked_.clear();
    next_index_.clear();
    asking_ = false;
    retry_ = 0;
    t.rdrsp_valid_i = t.ack_valid_i = t.fail_valid_i = t.out_placed_i = 0;
    bench.reset({&t.rst_i});
    sum_at_ = outreq.size();
    sum_bytes_ = 0;
    events.clear();
  }
  static constexpr uint64_t kRings = 4 * kStageBytes;  // of QPs, in device_memory

 private:
  std::vector<uint64_t> statuses_;
  Bits report_;
  std::deque<Tlp> tlps_;
  std::deque<uint64_t> placed_;
  size_t sum_at_ = 0;
  uint64_t sum_bytes_ = 0;
  std::map<uint64_t, uint64_t> next_index_;
  std::map<uint64_t, std::deque<Sent>> unacked_;
  std::deque<Later> acks_, fails_;
  std::deque<ArpPacket> in_;
  bool asking_ = false;
  uint64_t retry_ = 0;
};

// Sizes of the two models.
struct GroupPlan {
  bool ring = true, fixed = false, wide = false;
  numerics::Element elem = numerics::Element::kFp32;
  uint32_t ranks = 2, slot_log = 9, timeout_us = 0;
  uint64_t src = 0, dst = 0;  // in memory
  uint32_t chunk_bytes = 1024, rounds = 1;
  uint32_t round_bytes() const { return chunk_bytes * ranks; }
  uint32_t pieces() const { return (chunk_bytes + (1u << slot_log) - 1) >> slot_log; }
};

// Send QP of a group; the QP on which a contributor's packets come.
inline uint32_t tx_qpn(uint32_t group) { return 0x100 + group; }
inline uint32_t rx_qpn(uint32_t group, uint64_t contributor) {
  return static_cast<uint32_t>(0x200 + group * 16 + contributor);
}

template <class C>
Bits group_fields(const Rank<C>& rank, uint32_t group, const GroupPlan& p) {
  using R = Rank<C>;
  return kGroup.pack({{"ring", p.ring},
                      {"fixed", p.fixed},
                      {"wide", p.wide},
                      {"elem", static_cast<uint64_t>(p.elem)},
                      {"ranks", p.ranks},
                      {"rank", rank.number},
                      {"slot_log", p.slot_log},
                      {"tx_qpn", tx_qpn(group)},
                      {"timeout_us", p.timeout_us},
                      {"stage_row", uint64_t{group} * R::kStageBytes / R::kB},
                      {"stage_va", R::kDev + uint64_t{group} * R::kStageBytes},
                      {"stage_key", R::kStageKey},
                      {"wqe_block", R::kRings / 64 + uint64_t{group} * C::kRing},
                      {"src", R::kMem + p.src},
                      {"src_va", R::kMem + p.src},
                      {"src_key", R::kSrcKey},
                      {"dst", R::kMem + p.dst},
                      {"chunk_bytes", p.chunk_bytes},
                      {"round_bytes", p.round_bytes()},
                      {"own_off", uint64_t{rank.number} * p.chunk_bytes},
                      {"pieces", p.pieces()},
                      {"rounds", p.rounds}});
}

}  // namespace rnic::test
