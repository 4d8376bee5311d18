// SPDX-License-Identifier: Apache-2.0
//
// rx_responder against the reference responder of harness/roce, which was written from the fact
// sheet (section 4): every frame that the block takes goes to the reference too, and answers,
// completions, memory, receive state, events and counters must agree. UC and UD have their own
// small reference below. The order in which the block takes packets decides, as it does in the
// machine. Memory regions are whole or in pages that lie anywhere.
#include <Vrx_responder.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "harness/roce/frame.hpp"
#include "harness/roce/responder_model.hpp"
#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;
namespace roce = rnic::roce;

namespace {

constexpr unsigned kQps = 16;
constexpr unsigned kRing = 8;
constexpr uint32_t kPsnMask = 0xFFFFFF;
constexpr uint32_t kPd = 7;
constexpr uint32_t kPage = 4096;
constexpr unsigned kGrh = 40;
constexpr uint64_t kEvCommEst = 1, kEvLastWqe = 6;

struct Pkt {
  uint64_t qpn = 0;
  bool skip = false;  // not for the reference
  std::vector<uint8_t> frame;
  Bits meta;
};

struct Ack {
  uint64_t qpn = 0, psn = 0, msn = 0, syndrome = 0;
  bool urgent = false;
  uint64_t kind = 0;  // 1 READ, 2 ATOMIC
  bool dup = false;
  uint64_t va = 0, rkey = 0, len = 0, op0 = 0, op1 = 0;
  bool swap = false;
  bool operator==(const Ack&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Ack& a) {
  return out << std::hex << "qp " << a.qpn << " psn " << a.psn << " msn " << a.msn << " syndrome "
             << a.syndrome << (a.urgent ? " urgent" : "") << " kind " << a.kind
             << (a.dup ? " dup" : "") << " va " << a.va << " len " << a.len << std::dec;
}

struct Cqe {
  uint64_t index = 0, opcode = 0, status = 0, bytes = 0, imm = 0, src = 0;
  bool imm_valid = false, solicited = false, fence = false, grh = false;
  bool operator==(const Cqe&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Cqe& c) {
  return out << "index " << c.index << std::hex << " op " << c.opcode << " status " << c.status
             << " imm " << c.imm << std::dec << " bytes " << c.bytes << " solicited " << c.solicited
             << " fence " << c.fence << " src " << c.src << " grh " << c.grh;
}

// What became of a packet's payload.
struct Place {
  uint64_t qpn = 0, psn = 0;
  bool write = false, has_cqe = false;
  bool operator==(const Place&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Place& p) {
  return out << std::hex << "qp " << p.qpn << " psn " << p.psn << std::dec
             << (p.write ? " write" : " discard") << (p.has_cqe ? " cqe" : "");
}

struct Region {
  uint32_t rkey = 0, pd = 0, access = 0;
  uint64_t va = 0;
  unsigned target = 0;
  bool refused = false, paged = false;
  std::vector<uint8_t> model, dut;
  unsigned number = 0;
  // Pages of a paged region lie in holes of their own, so that a write past one is seen.
  uint64_t iova(uint64_t offset) const {
    const uint64_t base = uint64_t{number + 1} << 40 | uint64_t{target} << 50;
    if (!paged) return base + offset;
    const uint64_t at = (va & (kPage - 1)) + offset;
    return base + (((at / kPage) ^ 5) * 4 * kPage) + at % kPage;
  }
  uint64_t room(uint64_t offset) const {
    return paged ? kPage - ((va + offset) & (kPage - 1)) : kPage;
  }
  uint8_t* at(uint64_t iova_in, uint64_t len) {
    for (uint64_t offset = 0; offset < dut.size(); offset += paged ? room(offset) : dut.size()) {
      const uint64_t n = paged ? std::min<uint64_t>(room(offset), dut.size() - offset) : dut.size();
      if (iova_in >= iova(offset) && iova_in + len <= iova(offset) + n)
        return dut.data() + offset + (iova_in - iova(offset));
    }
    return nullptr;
  }
};

struct Receive {
  bool bad = false;
  uint64_t status = 0;
  std::vector<Segment> segments;
  uint64_t ready_at = 0;  // cycle from which rq_store has it
};

struct PlanPacket {
  roce::FrameSpec spec;
  uint32_t len = 0;
};

struct Qp {
  uint64_t qpn = 0;
  Service service = kRc;
  uint32_t pmtu = 256;
  Bits conn, path;
  roce::IpAddr local{}, peer{};
  std::unique_ptr<roce::ResponderModel> model;
  std::map<uint16_t, Receive> ring;
  uint16_t prod = 0, cons = 0;
  bool off_host = false;     // of the message in progress
  bool established = false;  // COMM_EST is due no more
  std::deque<PlanPacket> plan;
  size_t next = 0;  // in plan
  enum { kRun, kLimbo, kErr, kReset } phase = kRun;
  uint64_t timer = 0;
  uint32_t restart_psn = 0;
  std::vector<Cqe> expected, got;
  // UC and UD
  uint16_t used = 0;  // receives, modulo 2^16
  uint32_t epsn = 0;
  bool failed = false;
  unsigned open = 0;  // 1 SEND, 2 WRITE
  uint32_t received = 0, dma_len = 0, rkey = 0;
  uint64_t va = 0;
};

struct Config {
  Stall stall;
  unsigned latency_low = 1, latency_high = 1;
  unsigned fetch_low = 0, fetch_high = 0;  // cycles until rq_store has a receive
};

Bits address(const roce::IpAddr& ip) {
  Bits b(128);
  const unsigned from = roce::is_ipv4(ip) ? 12 : 0;
  for (unsigned i = from; i < 16; ++i) b.set_byte(15 - i, ip[i]);
  return b;
}

class World {
 public:
  explicit World(const Config& c = {})
      : config(c),
        top(bench.top()),
        rs(
            bench, "rs", {top.rs_lk_valid, top.rs_lk_ready, top.rs_ctx_valid},
            [this] { return conn_of(top.rs_lk_qpn); },
            [this](const Bits& b) { write_pin(top.rs_ctx, b); }),
        rcv(
            bench, "rcv", {top.rcv_lk_valid, top.rcv_lk_ready, top.rcv_ctx_valid},
            [this] {
              return recv.count(top.rcv_lk_qpn) ? recv[top.rcv_lk_qpn] : Bits(kRecv.width());
            },
            [this](const Bits& b) { write_pin(top.rcv_ctx, b); }),
        rp(
            bench, "rp", {top.rp_lk_valid, top.rp_lk_ready, top.rp_valid},
            [this] {
              return paths.count(top.rp_lk_index) ? paths[top.rp_lk_index] : Bits(kPath.width());
            },
            [this](const Bits& b) { write_pin(top.rp, b); }),
        mr(
            bench, "mr", {top.mrq_valid, top.mrq_ready, top.mrs_valid},
            [this] { return lookup_key(read_pin(top.mrq)); },
            [this](const Bits& b) { write_pin(top.mrs, b); }),
        lops(
            bench, "lop", {top.lop_valid, top.lop_ready, top.lop_done_valid},
            [this] { return invalidate(read_pin(top.lop)); },
            [this](const Bits& b) { top.lop_done_ok = b.get(0, 1) != 0; }) {
    for (LookupServer* s : {&rs, &rcv, &rp, &mr, &lops}) {
      s->set_stall(config.stall);
      s->set_latency(config.latency_low, config.latency_high);
    }
    mr.set_latency(config.latency_low + 1, config.latency_high + 1);  // as mr_table
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] {
      drive_rq();
      steer();
    });
    req.emplace(
        bench, "req", top.req_valid, top.req_ready,
        [this](const Pkt& p) { write_pin(top.req, p.meta); }, config.stall);
    orders.emplace(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi);
    rqf.emplace(
        bench, "rqf", top.rqf_valid, top.rqf_ready,
        [this](const uint64_t& qpn) { top.rqf_qpn = static_cast<uint32_t>(qpn); }, config.stall);
    acks.emplace(
        bench, "ackq", top.ackq_valid, top.ackq_ready, [this] { return read_pin(top.ackq); },
        config.stall);
    fails.emplace(
        bench, "fail", top.fail_valid, top.fail_ready, [this] { return read_pin(top.fail); },
        config.stall);
    events.emplace(
        bench, "ev", top.ev_valid, top.ev_ready, [this] { return read_pin(top.ev); }, config.stall);
    places.emplace(
        bench, "place", top.place_valid, top.place_ready,
        [this] { return std::pair(read_pin(top.place), read_pin(top.place_cqe)); }, config.stall);
    acks->on_item([this](const Bits& b) { on_ack(b); });
    fails->on_item([this](const Bits& b) {
      got_fails.emplace_back(kFail.get(b, "qpn"), kFail.get(b, "cause"));
      if (auto_recover) begin_error(kFail.get(b, "qpn"));
    });
    events->on_item([this](const Bits& b) {
      got_events.emplace_back(kEvent.get(b, "etype"), kEvent.get(b, "number"));
    });
    places->on_item([this](const std::pair<Bits, Bits>& p) { on_place(p.first, p.second); });
    make_regions();
    bench.reset();
  }

  // -------------------------------------------------------------------- the machine around it
  Qp& add_qp(uint64_t qpn, uint32_t pmtu, uint32_t psn, bool ipv6 = false, Service service = kRc) {
    Qp& q = qps[qpn];
    q.qpn = qpn;
    q.pmtu = pmtu;
    q.service = service;
    const auto n = static_cast<uint8_t>(qpn + 1);
    if (ipv6) {
      q.local = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, n};
      q.peer = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, n};
    } else {
      q.local = roce::ipv4_address(10, 0, 0, n);
      q.peer = roce::ipv4_address(10, 0, 1, n);
    }
    q.path = kPath.pack({{"valid", service != kUd}, {"ipv6", ipv6}});
    kPath.set_bits(q.path, "sip", address(q.local));
    kPath.set_bits(q.path, "dip", address(q.peer));
    paths[qpn + 100] = q.path;
    unsigned code = 1;
    while ((128u << code) != pmtu) ++code;
    q.conn = kConn.pack({{"exists", 1},
                         {"has_path", 1},
                         {"state", kRtr},
                         {"qtype", service},
                         {"mtu", code},
                         {"acc_write", 1},
                         {"acc_read", 1},
                         {"acc_atomic", 1},
                         {"max_dest_rd", 16},
                         {"pd", kPd},
                         {"dest_qpn", qpn + 0x500},
                         {"pkey", qpn == 4 ? 0x7FFF : 0xFFFF},  // 4: a limited member
                         {"qkey", 0x80010000u + qpn},
                         {"path", qpn + 100},
                         {"min_rnr_timer", 12 + qpn},
                         {"recv_cqn", qpn + 40},
                         {"log_rq", 3}});
    start(q, psn);
    recv[qpn] = kRecv.pack({{"epsn", psn}});
    return q;
  }
  void start(Qp& q, uint32_t psn) {
    roce::ResponderConfig c;
    c.qpn = static_cast<uint32_t>(q.qpn);
    c.first_psn = psn;
    c.pmtu = q.pmtu;
    c.pd = kPd;
    c.pkey = static_cast<uint16_t>(kConn.get(q.conn, "pkey"));
    c.access = 0;
    if (kConn.get(q.conn, "acc_write")) c.access |= roce::kRemoteWrite;
    if (kConn.get(q.conn, "acc_read")) c.access |= roce::kRemoteRead;
    if (kConn.get(q.conn, "acc_atomic")) c.access |= roce::kRemoteAtomic;
    c.max_dest_rd_atomic = static_cast<uint32_t>(kConn.get(q.conn, "max_dest_rd"));
    c.min_rnr_timer = static_cast<uint8_t>(12 + q.qpn);
    c.local_ip = q.local;
    c.peer_ip = q.peer;
    q.model = std::make_unique<roce::ResponderModel>(c, region_table);
    q.prod = q.cons = q.used = 0;
    q.ring.clear();
    q.off_host = q.established = false;
    q.plan.clear();
    q.next = 0;
    q.epsn = psn;
    q.open = 0;
    q.failed = false;
  }
  void post(Qp& q, Receive r) {
    r.ready_at = bench.cycle() + random.between(config.fetch_low, config.fetch_high);
    roce::RecvRequest m;
    m.wr_id = q.prod;
    m.local_fault = r.bad;
    for (const Segment& s : r.segments) m.segments.push_back(memory(s));
    q.ring[q.prod] = r;
    ++q.prod;
    if (q.service == kRc)
      q.model->post_recv(m);
    else if (q.phase == Qp::kErr)
      expect_flush(q);
    if (kConn.get(q.conn, "state") == kErr && q.phase == Qp::kErr) rqf->push(q.qpn);
  }
  void post(Qp& q, unsigned count) {
    for (unsigned i = 0; i < count; ++i) post(q, random_receive(q));
  }
  // Up to three stretches of the local regions.
  Receive random_receive(const Qp& q) {
    Receive r;
    if (random.chance(0.01)) {
      r.bad = true;
      r.status = random.chance(0.5) ? 2 : 4;
    }
    const unsigned n = static_cast<unsigned>(random.chance(0.1) ? 0 : random.between(1, 3));
    for (unsigned i = 0; i < n; ++i) {
      Region& g = regions[8 + random.below(3)];
      Segment s;
      s.lkey = g.rkey;
      s.len = random.chance(0.1) ? 0
              : random.chance(0.4)
                  ? static_cast<uint32_t>(random.between(1, 60))
                  : static_cast<uint32_t>(random.between(1, std::min(5 * q.pmtu, 9000u)));
      s.va = g.va + random.below(g.dut.size() - s.len);
      // across the end of a page
      if (random.chance(0.3) && s.len < 3 * kPage)
        s.va = std::min<uint64_t>(((g.va + 2 * kPage) & ~uint64_t{kPage - 1}) -
                                      random.below(std::min<uint64_t>(s.len + 1, kPage)),
                                  g.va + g.dut.size() - s.len);
      r.segments.push_back(s);
    }
    return r;
  }
  std::span<uint8_t> memory(const Segment& s) {
    for (Region& g : regions) {
      if (g.rkey == s.lkey && s.va >= g.va && s.va - g.va + s.len <= g.model.size())
        return std::span<uint8_t>(g.model).subspan(s.va - g.va, s.len);
    }
    nowhere.resize(std::max<size_t>(nowhere.size(), s.len));
    return std::span<uint8_t>(nowhere).first(s.len);
  }
  void set_state(Qp& q, QpState state) { kConn.set(q.conn, "state", state); }

  Pkt packet(const roce::FrameSpec& spec, uint32_t len) {
    Pkt p;
    p.qpn = spec.dest_qp;
    const auto payload = random.bytes(len);
    p.frame.resize(roce::frame_size(spec, len));
    REQUIRE(roce::build_frame(spec, payload, p.frame) == p.frame.size());
    roce::FrameView v;
    const auto status = roce::parse_frame(p.frame, v);
    if (status != roce::ParseStatus::kOk && status != roce::ParseStatus::kUnknownOpcode)
      throw std::logic_error("bad frame");
    p.meta = kMeta.pack({{"opcode", v.opcode},
                         {"se", v.solicited},
                         {"pad", v.pad},
                         {"pkey", v.pkey},
                         {"dest_qpn", v.dest_qp},
                         {"ack_req", v.ack_req},
                         {"psn", v.psn},
                         {"va", v.va},
                         {"rkey", v.rkey},
                         {"dmalen", v.dma_len},
                         {"imm", (v.info().ext & roce::kExtIeth) != 0 ? v.inv_rkey : v.imm},
                         {"op0", v.swap_add},
                         {"op1", v.compare},
                         {"qkey", v.qkey},
                         {"src_qpn", v.src_qp},
                         {"payload_len", v.payload_len},
                         {"ipv6", v.ipv6},
                         {"ecn", v.ecn()},
                         {"dscp", v.dscp()},
                         {"ttl", v.ttl},
                         {"ip_id", v.ip_id},
                         {"ip_csum", v.ip_checksum},
                         {"flow_label", v.flow_label}});
    if (!v.ipv6)
      kMeta.set(p.meta, "ip_frag",
                static_cast<uint64_t>(p.frame[v.l3_offset + 6]) << 8 | p.frame[v.l3_offset + 7]);
    kMeta.set_bits(p.meta, "sip", address(v.ip_src));
    kMeta.set_bits(p.meta, "dip", address(v.ip_dst));
    if (random.chance(0.3)) {
      kMeta.set(p.meta, "has_int", 1);
      kMeta.set(p.meta, "int_echo", random.chance(0.2));
      kMeta.set_bits(p.meta, "tele", Bits::random(random, kTelemetry.width()));
    }
    return p;
  }
  void send_unmodelled(Pkt p) {
    p.skip = true;
    send(p);
  }
  void send(const Pkt& p) {
    in_flight.push_back(p);
    req->push(p);
  }

  // A reset: whatever was on its way is gone.
  void restart() {
    bench.reset();
    in_flight.clear();
    taken.clear();
    invalidations.clear();
    want_acks = got_acks;
    want_places = got_places;
    want_fails = got_fails;
    want_events = got_events;
    want_marked = got_marked;
    want_tele = got_tele;
    want_counts = {};
    counts = {};
    got_tickets.clear();
    want_runs.clear();
    pieces_of.assign(got_places.size(), 0);
    stream_at = inline_at = pieces = writes = 0;
    qps.clear();
    recv.clear();
    for (Region& r : regions) std::copy(r.model.begin(), r.model.end(), r.dut.begin());
  }

  // Everything taken, decided and delivered, and the states of both sides equal.
  void settle() {
    bench.wait(
        "the block to be idle",
        [this] {
          return req->pending() == 0 && rqf->pending() == 0 && orders->pending() == 0 && !busy();
        },
        200000);
    bench.tick(100 + config.fetch_high);
    CHECK(difference(got_acks, want_acks) == "");
    CHECK(difference(got_places, want_places) == "");
    CHECK(got_fails == want_fails);
    CHECK(got_events == want_events);
    CHECK(difference(got_marked, want_marked) == "");
    CHECK((got_tele == want_tele));
    check_tickets();
    for (auto& [qpn, q] : qps) {
      INFO("QP " << qpn);
      take_completions(q);
      CHECK(difference(q.got, q.expected) == "");
      CHECK(kRecv.get(recv[qpn], "rq_cons") == q.cons);
      if (q.phase != Qp::kRun) continue;
      if (q.service == kRc) {
        CHECK(kRecv.get(recv[qpn], "epsn") == q.model->expected_psn());
        CHECK(kRecv.get(recv[qpn], "msn") == q.model->msn());
        CHECK(static_cast<uint16_t>(q.prod - q.cons) == q.model->receives_posted());
      } else if (q.service == kUc) {
        CHECK(kRecv.get(recv[qpn], "epsn") == q.epsn);
      }
    }
    for (const Region& r : regions) {
      INFO("region " << r.number);
      CHECK((r.model == r.dut));
    }
    for (const auto& [name, count] : want_counts) {
      INFO(name);
      CHECK(counts[name] == count);
    }
  }
  bool busy() {
    for (auto& [qpn, q] : qps) {
      if (q.phase != Qp::kRun && auto_recover) return true;
    }
    return false;
  }
  // A READ or ATOMIC waits for the payload writes that were ordered before it, and no others.
  void check_tickets() {
    uint64_t writes = 0;
    size_t packet = 0;
    for (size_t i = 0; i < std::min(want_runs.size(), got_tickets.size()); ++i) {
      for (; packet < std::min(want_runs[i], pieces_of.size()); ++packet)
        writes += pieces_of[packet];
      if (got_tickets[i] != ((first_ticket + writes) & 0xFFFF))
        FAIL_CHECK("ticket " << got_tickets[i] << " of READ or ATOMIC " << i << ", expected "
                             << writes);
    }
    CHECK(got_tickets.size() == want_runs.size());
  }

  // -------------------------------------------------------------------- random traffic
  // Adds a message of this QP to its plan.
  void plan_message(Qp& q) {
    const Region& r = regions[random.chance(0.004) ? 4 + random.below(3) : random.below(4)];
    uint32_t length = 0;
    switch (random.below(5)) {
      case 0:
        length = static_cast<uint32_t>(random.below(4));
        break;
      case 1:
        length = static_cast<uint32_t>(random.between(1, q.pmtu));
        break;
      case 2:
        length = static_cast<uint32_t>(q.pmtu * random.between(1, 4));
        break;
      default:
        length = static_cast<uint32_t>(random.between(1, std::min(5 * q.pmtu, 19000u)));
        break;
    }
    enum { kWrite, kSend, kRead, kAtomic } verb = kWrite;
    const double dice = static_cast<double>(random.below(1000)) / 1000;
    if (dice < 0.45) verb = kSend;
    if (dice < 0.15 && q.service == kRc) verb = kRead;
    if (dice < 0.07 && q.service == kRc) verb = kAtomic;
    if (q.service == kUd) verb = kSend;
    if (q.service == kUd) length = std::min(length, q.pmtu);
    if (verb == kSend && !random.chance(0.05)) length = fit(q, length);
    const bool imm = random.chance(0.4);
    const bool inv = verb == kSend && q.service == kRc && random.chance(0.15);
    uint32_t count = length == 0 ? 1 : (length + q.pmtu - 1) / q.pmtu;
    uint32_t psn = q.service == kRc ? q.model->expected_psn() : q.epsn;
    if (!q.plan.empty()) psn = (q.plan.back().spec.psn + psns(q, q.plan.back())) & kPsnMask;
    uint64_t va = r.va + random.below(r.dut.size() - length);
    if (random.chance(0.003)) va = r.va + r.dut.size() - length + 1;
    if (verb == kRead || verb == kAtomic) count = 1;
    for (uint32_t i = 0; i < count; ++i) {
      PlanPacket p;
      roce::FrameSpec& s = p.spec;
      p.len = std::min(q.pmtu, length - i * q.pmtu);
      const bool first = i == 0, last = i + 1 == count;
      if (verb == kSend) {
        s.opcode = first && last ? (inv   ? 0x17
                                    : imm ? 0x05
                                          : 0x04)
                   : first       ? 0x00
                   : last        ? (inv   ? 0x16
                                    : imm ? 0x03
                                          : 0x02)
                                 : 0x01;
        if (last && inv) s.inv_rkey = random.chance(0.02) ? random.u32() : new_window();
      } else if (verb == kWrite) {
        s.opcode = first && last ? (imm ? 0x0B : 0x0A)
                   : first       ? 0x06
                   : last        ? (imm ? 0x09 : 0x08)
                                 : 0x07;
      } else {
        p.len = 0;
        s.opcode = verb == kRead ? 0x0C : random.chance(0.5) ? 0x13 : 0x14;
      }
      if (q.service == kUc) s.opcode |= 0x20;
      if (q.service == kUd) s.opcode = imm ? 0x65 : 0x64;
      s.ip_src = q.peer;
      s.ip_dst = q.local;
      s.dest_qp = static_cast<uint32_t>(q.qpn);
      s.psn = (psn + i) & kPsnMask;
      s.ack_req = last ? random.chance(0.9) : random.chance(0.2);
      s.solicited = random.chance(0.3);
      s.tos = static_cast<uint8_t>(random.below(256));
      s.ttl = static_cast<uint8_t>(random.between(1, 255));
      s.ip_id = static_cast<uint16_t>(random.below(65536));
      s.dont_fragment = random.chance(0.7);
      s.flow_label = static_cast<uint32_t>(random.bits(20));
      if (first) {
        s.va = va;
        s.rkey = r.rkey;
        s.dma_len = length;
      }
      if (verb == kAtomic) {
        Region& a = regions[11];
        s.va = a.va + 8 * random.below(a.dut.size() / 8 - 1);
        if (random.chance(0.01)) s.va += random.between(1, 7);
        s.rkey = a.rkey;
        s.swap_add = random.u64();
        s.compare = random.u64();
      }
      if (last) s.imm = random.u32();
      s.qkey = static_cast<uint32_t>(kConn.get(q.conn, "qkey"));
      s.src_qp = static_cast<uint32_t>(random.bits(24));
      q.plan.push_back(p);
    }
  }
  // SENDs that mostly fit into what may be posted for them.
  uint32_t fit(Qp& q, uint32_t length) {
    uint64_t room = 0;
    auto it = q.ring.find(q.cons);
    if (it == q.ring.end() || q.cons == q.prod) return random.chance(0.5) ? 0 : length;
    for (const Segment& s : it->second.segments) room += s.len;
    if (q.service == kUd) room = room < kGrh ? 0 : room - kGrh;
    return static_cast<uint32_t>(std::min<uint64_t>(length, room));
  }
  static uint32_t psns(const Qp& q, const PlanPacket& p) {
    if (p.spec.opcode != 0x0C || p.spec.dma_len == 0) return 1;
    return (p.spec.dma_len + q.pmtu - 1) / q.pmtu;
  }
  // A key that a SEND may take away, once.
  uint32_t new_window() {
    windows.push_back(std::make_unique<std::array<uint8_t, 16>>());
    const auto key = static_cast<uint32_t>(0x100000 + (windows.size() << 8));
    region_table.add(
        {.rkey = key, .va = 0, .bytes = *windows.back(), .pd = kPd, .can_invalidate = true});
    return key;
  }
  // The next packet of this QP, mostly the right one.
  void emit(Qp& q) {
    while (q.plan.size() > 60) {
      q.plan.pop_front();
      if (q.next > 0) --q.next;
    }
    if (random.chance(0.02) && !q.plan.empty())
      q.next = random.below(q.plan.size());  // duplicates or a gap
    if (random.chance(0.1)) resync(q);
    while (q.next >= q.plan.size()) plan_message(q);
    PlanPacket p = q.plan[q.next++];
    if (random.chance(0.02)) --q.next;  // the same once more
    if (random.chance(0.02)) ++q.next;  // a loss
    if (random.chance(0.03)) mutate(q, p);
    send(packet(p.spec, p.len));
  }
  void resync(Qp& q) {
    const uint32_t epsn = q.service == kRc ? q.model->expected_psn() : q.epsn;
    for (size_t i = 0; i < q.plan.size(); ++i) {
      if (q.plan[i].spec.psn == epsn) q.next = i;
    }
  }
  void mutate(Qp& q, PlanPacket& p) {
    roce::FrameSpec& s = p.spec;
    const double rare = q.service == kRc ? 0.3 : 1.0;
    switch (random.below(19)) {
      case 0:
        s.pkey = 0x7FFE;
        break;
      case 1:
        s.pkey = 0x7FFF;
        break;  // limited member: good unless the QP is one too
      case 2:
        s.ip_src = roce::ipv4_address(9, 9, 9, 9);
        s.ip_dst = roce::ipv4_address(8, 8, 8, 8);
        break;
      case 3:
        s.ip_src = roce::ipv4_address(10, 0, 1, 200);
        if (random.chance(0.5)) s.ip_dst = q.peer;
        break;
      case 4:
        s.opcode = static_cast<uint8_t>(s.opcode ^ 0x20);
        break;  // UC on an RC QP
      case 5:
        s.dest_qp = static_cast<uint32_t>(random.between(kQps, 0xFFFFFF));
        break;
      case 6:
        s.psn = (s.psn + 0x7FFFFF) & kPsnMask;
        break;  // as far ahead as can be
      case 7:
        s.psn = (s.psn + 0x800000) & kPsnMask;
        break;  // as far behind
      case 8:
        s.psn = (s.psn - static_cast<uint32_t>(random.between(1, 100))) & kPsnMask;
        if (q.service == kRc) s.opcode = random.chance(0.7) ? 0x0C : 0x13;
        p.len = 0;
        s.rkey = regions[random.below(8)].rkey;
        s.va = regions[random.below(8)].va + random.below(1000) * 8;
        s.dma_len = static_cast<uint32_t>(random.below(2000));
        break;
      case 9:
        s.psn = (s.psn - static_cast<uint32_t>(random.between(1, 100))) & kPsnMask;
        if (q.service == kRc) s.opcode = static_cast<uint8_t>(random.below(0x0C));
        break;
      case 10:
        s.psn = (s.psn - 1) & kPsnMask;
        if (q.service == kRc) s.opcode = 0x15;
        break;
      case 16:
        s.qkey ^= 1u << random.below(32);
        break;
      default:
        break;
      // The rest is fatal to an RC QP when it comes at the expected PSN, so it is rare.
      case 11:
        if (q.service != kUd && random.chance(rare))
          s.opcode = static_cast<uint8_t>((s.opcode & 0xE0) + random.below(0x0C));
        break;
      case 12:
        if (random.chance(rare)) p.len += 1;
        break;
      case 13:
        if (random.chance(rare)) s.dma_len += static_cast<uint32_t>(random.between(1, 5));
        break;
      case 14:
        if (random.chance(rare)) s.rkey ^= 1u << random.below(32);
        break;
      case 15:
        if (random.chance(rare)) {
          s.opcode = random.chance(0.5) ? 0x1D : 0x1C;
          p.len = 0;
        }
        break;
      case 17:
        if (random.chance(rare)) s.dma_len = 0x80000001;
        break;
      case 18:
        if (random.chance(rare)) p.len = q.pmtu + 1;
        break;
    }
  }

  Config config;
  Bench<Vrx_responder> bench;
  Vrx_responder& top;
  LookupServer rs, rcv, rp, mr, lops;
  std::optional<StreamSource<Pkt>> req;
  std::optional<StreamSource<uint64_t>> rqf;
  std::optional<StreamSource<Bits>> orders;
  std::optional<StreamSink<Bits>> acks, fails, events;
  std::optional<StreamSink<std::pair<Bits, Bits>>> places;

  Rng random = rng("traffic");
  std::map<uint64_t, Qp> qps;
  std::map<uint64_t, Bits> recv, paths;
  std::vector<Region> regions;
  std::vector<std::unique_ptr<std::array<uint8_t, 16>>> windows;
  std::vector<uint8_t> nowhere;
  roce::RegionTable region_table;
  std::deque<Pkt> in_flight;  // pushed, not yet taken
  std::deque<Pkt> taken;      // taken, decision not yet seen
  bool auto_recover = true;
  std::vector<Ack> got_acks, want_acks;
  std::vector<Place> got_places, want_places;
  std::vector<std::pair<uint64_t, uint64_t>> got_fails, want_fails, got_events, want_events;
  std::vector<Bits> got_marked, want_marked;
  std::vector<std::pair<uint64_t, Bits>> got_tele, want_tele;
  std::vector<uint64_t> got_tickets, pieces_of;  // payload writes of each packet
  std::vector<size_t> want_runs;                 // packets before each READ or ATOMIC
  uint64_t first_ticket = 0;
  std::deque<bool> invalidations;  // what the reference says about each
  std::map<std::string, uint64_t> counts, want_counts;
  std::array<uint64_t, 32> verdicts{};
  uint64_t executed = 0, dropped = 0;  // UC and UD
  unsigned most_pieces = 0;
  bool any_key = false;
  size_t stream_at = 0;  // bytes of the payload placed so far, of the packet at hand
  unsigned inline_at = 0, pieces = 0, writes = 0;

  void take_completions(Qp& q) {
    for (const auto& c : q.model->completions()) {
      Cqe e;
      e.index = c.wr_id;
      switch (c.status) {
        case roce::WcStatus::kSuccess:
          e.opcode = c.kind == roce::MsgKind::kWriteImm  ? 1
                     : c.kind == roce::MsgKind::kSendImm ? 3
                     : c.kind == roce::MsgKind::kSendInv ? 4
                                                         : 2;
          e.bytes = c.byte_len;
          e.imm_valid = e.opcode == 1 || e.opcode == 3;
          e.imm = e.imm_valid ? __builtin_bswap32(c.imm) : c.inv_rkey;
          e.solicited = c.solicited;
          e.fence = q.off_host;
          break;
        case roce::WcStatus::kFlushed:
          e.opcode = kCqeRecvErr;
          e.status = kFlushErr;
          break;
        case roce::WcStatus::kLocalLength:
          e.opcode = kCqeRecvErr;
          e.status = kLocLen;
          break;
        case roce::WcStatus::kLocalProtection:
          e.opcode = kCqeRecvErr;
          e.status = q.ring.at(static_cast<uint16_t>(c.wr_id)).status;
          break;
        case roce::WcStatus::kRemoteInvalidRequest:
          e.opcode = kCqeRecvErr;
          e.status = kRemInvReq;
          break;
      }
      q.expected.push_back(e);
    }
    q.model->clear_outputs();
  }
  void begin_error(uint64_t qpn) {
    Qp& q = qps.at(qpn);
    q.phase = Qp::kLimbo;
    q.timer = bench.cycle() + 1 + random.below(60);
  }
  void expect_flush(Qp& q) {
    for (; q.used != q.prod; ++q.used) {
      Cqe c;
      c.index = q.used;
      c.opcode = kCqeRecvErr;
      c.status = kFlushErr;
      q.expected.push_back(c);
    }
  }
  void order_err(Qp& q) {
    set_state(q, kErr);
    if (q.service != kRc) expect_flush(q);
    q.model->set_state(roce::QpState::kErr);
    q.phase = Qp::kErr;
    orders->push(order(kOrderErr, q.qpn));
  }

 private:
  Bits conn_of(uint64_t qpn) { return qps.count(qpn) ? qps[qpn].conn : Bits(kConn.width()); }
  // 0..3 good for WRITE and READ (1, 2 in pages), 4 not writable, 5 of another PD, 6 at the end of
  // the address space, 7 refused; 8..10 receive buffers, 11 for ATOMICs.
  void make_regions() {
    for (unsigned i = 0; i < 12; ++i) {
      Region r;
      r.number = i;
      r.rkey = (i << 8) | (0x40 + i);
      r.pd = i == 5 ? 8 : kPd;
      r.access = i == 4   ? roce::kRemoteRead
                 : i < 8  ? roce::kRemoteWrite | roce::kRemoteRead
                 : i < 11 ? static_cast<uint32_t>(roce::kLocalWrite)
                          : static_cast<uint32_t>(roce::kRemoteAtomic);
      r.va = 0x100'0003 + 0x10'0000 * i;
      r.target = i % 3;
      r.refused = i == 7;
      r.paged = i == 1 || i == 2 || i == 8 || i == 9;
      if (i == 11) r.va &= ~uint64_t{7};
      r.model.resize(20000, 0x55);
      r.dut = r.model;
      regions.push_back(r);
    }
    regions[6].va = 0 - uint64_t{20000};  // ends at the end of the address space
    for (Region& r : regions) {
      region_table.add(
          {.rkey = r.rkey, .va = r.va, .bytes = r.model, .access = r.access, .pd = r.pd});
    }
  }
  Bits lookup_key(const Bits& b) {
    const auto key = static_cast<uint32_t>(kMrReq.get(b, "key"));
    const uint64_t va = kMrReq.get(b, "va");
    const uint64_t len = kMrReq.get(b, "len");
    Bits out = kMrRsp.pack({{"iova", random.u64()},
                            {"flat", random.bits(1)},
                            {"room", random.between(1, 4096)},
                            {"target", random.bits(2)}});
    uint32_t access = 0;
    if (kMrReq.get(b, "need_lwrite")) access |= roce::kLocalWrite;
    if (kMrReq.get(b, "need_rwrite")) access |= roce::kRemoteWrite;
    if (kMrReq.get(b, "need_rread")) access |= roce::kRemoteRead;
    if (kMrReq.get(b, "need_atomic")) access |= roce::kRemoteAtomic;
    if (len == 0 || any_key) {
      kMrRsp.set(out, "ok", 1);
      return out;
    }
    CHECK(access != 0);
    if (region_table.check(key, static_cast<uint32_t>(kMrReq.get(b, "pd")), access, va, len) ==
        nullptr)
      return out;
    for (const Region& r : regions) {
      if (r.rkey != key) continue;
      kMrRsp.set(out, "ok", !r.refused);
      kMrRsp.set(out, "refused", r.refused);
      kMrRsp.set(out, "iova", r.iova(va - r.va));
      kMrRsp.set(out, "target", r.refused ? 3 : r.target);
      kMrRsp.set(out, "flat", !r.paged);
      if (r.paged) kMrRsp.set(out, "room", r.room(va - r.va));
    }
    return out;
  }
  Bits invalidate(const Bits& b) {
    CHECK(kLop.get(b, "op") == 0);
    CHECK(kLop.get(b, "remote") == 1);
    CHECK(kLop.get(b, "pd") == kPd);
    REQUIRE(!taken.empty());
    roce::FrameView v;
    roce::parse_frame(taken.back().frame, v);
    CHECK(kLop.get(b, "key") == v.inv_rkey);
    REQUIRE(!invalidations.empty());
    const bool ok = invalidations.front();
    invalidations.pop_front();
    return Bits(1, ok);
  }

  // ---------------------------------------------------------------------- rq_store
  uint64_t look_qpn = 0;
  bool looked = false, got = false, get_hit = false;
  Receive got_receive;
  void sample_rq() {
    if (top.rqp_valid) {
      Qp& q = qps.at(top.rqp_qpn);
      CHECK(q.cons != q.prod);
      CHECK(top.rqp_index == static_cast<uint16_t>(q.cons + 1));
      q.cons = static_cast<uint16_t>(q.cons + 1);
    }
    get_hit = false;
    if (top.rqh_get_o) {
      auto it = qps.find(look_qpn);
      REQUIRE(it != qps.end());
      Qp& q = it->second;
      get_hit = q.cons != q.prod && bench.cycle() >= q.ring.at(q.cons).ready_at;
      if (get_hit) got_receive = q.ring.at(q.cons);
    }
    looked = top.rqh_lk_valid != 0;
    if (looked) look_qpn = top.rqh_lk_qpn;
  }
  void drive_rq() {
    if (looked) {
      auto it = qps.find(look_qpn);
      top.rqh_posted_i = it != qps.end() && it->second.prod != it->second.cons;
      top.rqh_prod_i = it != qps.end() ? it->second.prod : 0;
    }
    looked = false;
    top.rqh_valid = get_hit;
    if (!get_hit) return;
    Bits b = kRqEntry.pack({{"bad", got_receive.bad}, {"status", got_receive.status}});
    const char* const names[] = {"seg0", "seg1", "seg2"};
    for (size_t i = 0; i < got_receive.segments.size(); ++i) {
      const Segment& s = got_receive.segments[i];
      Bits seg(128);
      seg.set(0, 32, s.lkey);
      seg.set(32, 32, s.len);
      seg.set(64, 64, s.va);
      kRqEntry.set_bits(b, names[i], seg);
    }
    write_pin(top.rqh, b);
    get_hit = false;
  }

  void sample() {
    if (bench.in_reset()) return;
    sample_rq();
    if (top.rcv_wr_valid) recv[top.rcv_wr_qpn] = read_pin(top.rcv_wr);
    counts["unknown"] += top.cnt_rx_unknown_qp_o;
    counts["pkey"] += top.cnt_rx_pkey_errors_o;
    counts["qkey"] += top.cnt_rx_qkey_errors_o;
    counts["addr"] += top.cnt_rx_addr_errors_o;
    counts["requests"] += top.cnt_rx_requests_o;
    counts["duplicates"] += top.cnt_rx_duplicates_o;
    counts["ahead"] += top.cnt_rx_out_of_order_o;
    counts["uc_drops"] += top.cnt_rx_uc_drops_o;
    counts["sends"] += top.cnt_rx_sends_o;
    counts["flushed"] += top.cnt_msgs_flushed_o;
    if (top.tele_valid_o) {
      got_tele.emplace_back(top.tele_qpn_o, read_pin(top.tele_o).slice(0, kTelemetry.width()));
    }
    if (top.marked_valid_o) got_marked.push_back(read_pin(top.marked_o).slice(0, kMarked.width()));
    if (top.req_valid && top.req_ready) {
      REQUIRE(!in_flight.empty());
      taken.push_back(in_flight.front());
      in_flight.pop_front();
      if (!taken.back().skip) feed(taken.back());
    }
    if (top.qpi_valid && top.qpi_ready) {
      const Bits order = read_pin(top.qpi);
      if (qps.count(kOrder.get(order, "qpn")))
        order_done(qps[kOrder.get(order, "qpn")], kOrder.get(order, "op"));
    }
  }

  void feed(const Pkt& p) {
    roce::FrameView v;
    roce::parse_frame(p.frame, v);
    want_places.push_back({p.qpn, v.psn, false, false});
    auto it = qps.find(p.qpn);
    if (it == qps.end()) {
      ++want_counts["unknown"];
      return;
    }
    if (it->second.service == kRc)
      feed_rc(it->second, p, v);
    else
      feed_uc_ud(it->second, v);
  }

  void established(Qp& q) {
    if (!q.established && kConn.get(q.conn, "state") == kRtr && q.service != kUd)
      want_events.emplace_back(kEvCommEst, q.qpn);
    q.established = true;
  }

  // A packet of the connection came with the CE mark: told, whatever is decided about it.
  void note_mark(const Qp& q, const roce::FrameView& v) {
    if (v.ecn() != 3) return;
    Bits b = kMarked.pack({{"qpn", q.qpn}, {"dest_qpn", q.qpn + 0x500}, {"path", q.qpn + 100}});
    kMarked.set_bits(b, "addr", address(q.peer));
    want_marked.push_back(b);
  }

  void feed_rc(Qp& q, const Pkt& p, const roce::FrameView& v) {
    Place& place = want_places.back();
    const size_t acks_before = q.model->responses().size();
    const size_t completions_before = q.model->completions().size();
    const roce::RxVerdict verdict = q.model->receive(p.frame);
    const roce::MsgKind kind = v.info().kind;
    const bool read = kind == roce::MsgKind::kReadRequest;
    const bool atomic = kind == roce::MsgKind::kCompareSwap || kind == roce::MsgKind::kFetchAdd;
    const bool send = kind == roce::MsgKind::kSend || kind == roce::MsgKind::kSendImm ||
                      kind == roce::MsgKind::kSendInv;
    ++verdicts[static_cast<size_t>(verdict)];
    const bool dropped_unseen =
        verdict == roce::RxVerdict::kDropTransport || verdict == roce::RxVerdict::kDropState ||
        verdict == roce::RxVerdict::kDropAddress || verdict == roce::RxVerdict::kDropPkey;
    if (!dropped_unseen) {
      note_mark(q, v);
      // Telemetry of any packet of the connection; an echo is not for this side.
      if (kMeta.get(p.meta, "has_int") != 0 && kMeta.get(p.meta, "int_echo") == 0)
        want_tele.emplace_back(q.qpn, kMeta.get_bits(p.meta, "tele"));
    }
    switch (verdict) {
      case roce::RxVerdict::kDropTransport:
      case roce::RxVerdict::kDropState:
        ++want_counts["unknown"];
        break;
      case roce::RxVerdict::kDropAddress:
        ++want_counts["addr"];
        break;
      case roce::RxVerdict::kDropPkey:
        ++want_counts["pkey"];
        break;
      case roce::RxVerdict::kExecuted:
        ++want_counts["requests"];
        if (send && v.info().is_last) ++want_counts["sends"];
        established(q);
        break;
      case roce::RxVerdict::kDuplicate:
      case roce::RxVerdict::kDropDuplicate:
        ++want_counts["duplicates"];
        break;
      case roce::RxVerdict::kNakSequence:
      case roce::RxVerdict::kGapDiscarded:
        ++want_counts["ahead"];
        break;
      case roce::RxVerdict::kRnr:
        break;
      case roce::RxVerdict::kNakFatal:
        break;
      default:
        FAIL("verdict " << roce::to_string(verdict));
    }
    // READ and ATOMIC are handed to resp_engine: its answers are not this block's. Of a duplicate
    // it asks whether anything was saved; here it must be well formed and its key good.
    const bool again =
        verdict == roce::RxVerdict::kDuplicate || verdict == roce::RxVerdict::kDropDuplicate;
    bool runs = (read || atomic) && verdict == roce::RxVerdict::kExecuted;
    if (again && read)
      runs = v.payload_len == 0 && v.dma_len <= 0x80000000 &&
             (v.dma_len == 0 ||
              (region_table.check(v.rkey, kPd, roce::kRemoteRead, v.va, v.dma_len) != nullptr &&
               (v.rkey >> 8) != 7));
    if (again && atomic) runs = v.payload_len == 0 && v.va % 8 == 0;
    if (runs) {
      Ack a{p.qpn, v.psn, q.model->msn(), 0x1F, again, read ? 1u : 2u, again};
      a.va = v.va;
      a.rkey = v.rkey;
      a.len = read ? v.dma_len : 0;
      a.op0 = v.swap_add;
      a.op1 = v.compare;
      a.swap = v.opcode == 0x13;
      want_acks.push_back(a);
      want_runs.push_back(want_places.size() - 1);
    } else if (!(read || atomic) || verdict != roce::RxVerdict::kDuplicate) {
      for (size_t i = acks_before; i < q.model->responses().size(); ++i) {
        const auto& r = q.model->responses()[i];
        want_acks.push_back(
            {p.qpn, r.psn, r.msn, r.syndrome, verdict != roce::RxVerdict::kExecuted});
      }
    }
    if (kind == roce::MsgKind::kSendInv) {
      if (verdict == roce::RxVerdict::kExecuted) invalidations.push_back(true);
      for (size_t i = completions_before; i < q.model->completions().size(); ++i) {
        if (q.model->completions()[i].status == roce::WcStatus::kRemoteInvalidRequest) {
          invalidations.push_back(false);
          ++want_counts["requests"];  // its data were placed
          place.write = v.payload_len != 0;
        }
      }
    }
    if (verdict == roce::RxVerdict::kNakFatal) {
      const auto s = q.model->responses().back().syndrome;
      uint64_t cause = s == 0x62 ? kRemAccess : s == 0x63 ? kRemOp : kRemInvReq;
      // With a receive that failed here, its status.
      if (q.model->completions().size() > completions_before) {
        const auto& c = q.model->completions()[completions_before];
        if (c.status == roce::WcStatus::kLocalLength) cause = kLocLen;
        if (c.status == roce::WcStatus::kLocalProtection)
          cause = q.ring.at(static_cast<uint16_t>(c.wr_id)).status;
        if (c.status == roce::WcStatus::kRemoteInvalidRequest) cause = kRemInvReq;
        place.has_cqe = c.status != roce::WcStatus::kFlushed;
      }
      want_fails.emplace_back(p.qpn, cause);
      q.phase = Qp::kLimbo;
    }
    if (verdict == roce::RxVerdict::kExecuted) {
      place.has_cqe = q.model->completions().size() != completions_before;
      place.write = v.payload_len != 0;
      if (v.info().is_first) q.off_host = false;
      if (place.write) {
        if (send) {
          q.off_host = q.off_host || touches_other_memory(q, v);
        } else {
          if (v.info().is_first) q.rkey = v.rkey;
          q.off_host = q.off_host || regions[q.rkey >> 8].target != 0;
        }
      }
      if (v.info().is_first) q.received = 0;
      q.received += v.payload_len;
    }
    take_completions(q);
  }
  // Whether this packet of a SEND has bytes in GPU or device memory.
  bool touches_other_memory(const Qp& q, const roce::FrameView& v, uint32_t extra = 0) {
    const Receive& r = q.ring.at(q.cons);
    uint64_t from = v.info().is_first ? 0 : q.received, to = from + v.payload_len + extra, at = 0;
    for (const Segment& s : r.segments) {
      if (std::max(from, at) < std::min(to, at + s.len) && regions[s.lkey >> 8].target != 0)
        return true;
      at += s.len;
    }
    return false;
  }

  // The rules of UC and UD: nothing is answered. UC takes every packet that begins a message; one
  // with a hole, or that is refused, is forgotten up to the next beginning.
  void feed_uc_ud(Qp& q, const roce::FrameView& v) {
    const auto state = kConn.get(q.conn, "state");
    const unsigned transport = v.opcode >> 5;
    if (transport != (q.service == kUc ? 1u : 3u) || state == kReset || state == kInit ||
        state == kErr || q.failed) {
      ++want_counts["unknown"];
      return;
    }
    // The counter of addresses goes before that of P_Keys.
    if (q.service == kUc && (v.ip_dst != q.local || v.ip_src != q.peer)) {
      ++want_counts["addr"];
      return;
    }
    const bool full = ((v.pkey | kConn.get(q.conn, "pkey")) & 0x8000) != 0;
    if ((v.pkey & 0x7FFF) != 0x7FFF || !full) {
      ++want_counts["pkey"];
      return;
    }
    if (q.service == kUd && v.qkey != kConn.get(q.conn, "qkey")) {
      ++want_counts["qkey"];
      return;
    }
    if (q.service == kUc) note_mark(q, v);
    const roce::OpcodeInfo& info = v.info();
    const bool known = info.known && info.is_request;
    const bool send = info.kind == roce::MsgKind::kSend || info.kind == roce::MsgKind::kSendImm;
    const bool gap = v.psn != q.epsn;
    q.epsn = (v.psn + 1) & kPsnMask;
    const auto drop = [&] {
      q.open = 0;
      ++want_counts["uc_drops"];
      ++dropped;
    };
    if (!known) return drop();
    if (!info.is_first && (gap || q.open != (send ? 1u : 2u))) return drop();
    const bool needs = (send && info.is_first) || info.kind == roce::MsgKind::kWriteImm;
    if (needs && q.prod == q.cons) return drop();
    if (!info.is_last && v.payload_len != q.pmtu) return drop();
    if (v.payload_len > q.pmtu || (!info.is_first && v.payload_len == 0)) return drop();
    const uint32_t extra = q.service == kUd ? kGrh : 0;
    if (send) {
      const Receive& r = q.ring.at(q.cons);
      const uint32_t before = info.is_first ? 0 : q.received;
      if (r.bad) return local_error(q, r.status);
      uint64_t room = 0;
      for (const Segment& s : r.segments) room += s.len;
      if (uint64_t{before} + v.payload_len + extra > room) return drop();
      if (info.is_first) q.off_host = false;
      q.received = before;
      q.off_host = q.off_host || touches_other_memory(q, v, extra);
      std::vector<uint8_t> bytes(extra);
      if (extra != 0) {
        const size_t n = v.ipv6 ? 40 : 20;
        std::copy_n(v.bytes.begin() + v.l3_offset, n, bytes.end() - static_cast<long>(n));
      }
      bytes.insert(bytes.end(), v.payload().begin(), v.payload().end());
      uint64_t skip = before;
      size_t from = 0;
      for (const Segment& s : r.segments) {
        const uint64_t off = std::min<uint64_t>(skip, s.len);
        skip -= off;
        const size_t n = std::min<size_t>(s.len - off, bytes.size() - from);
        std::copy_n(bytes.begin() + static_cast<long>(from), n, memory(s).begin() + off);
        from += n;
      }
      q.received = before + v.payload_len + extra;
    } else {
      if (info.is_first) {
        q.off_host = false;
        q.received = 0;
      }
      const uint32_t length = info.is_first ? v.dma_len : q.dma_len;
      if (length > 0x80000000) return drop();
      const uint32_t left = length - (info.is_first ? 0 : q.received);
      if (v.payload_len > left || (info.is_last && v.payload_len != left)) return drop();
      if (info.is_first) {
        q.rkey = v.rkey;
        q.va = v.va;
        q.dma_len = v.dma_len;
      }
      if (left != 0) {
        const auto* g = region_table.check(q.rkey, kPd, roce::kRemoteWrite, q.va, left);
        if (g == nullptr || (q.rkey >> 8) == 7) return drop();
        std::memcpy(g->bytes.data() + (q.va - g->va), v.payload().data(), v.payload_len);
        q.off_host = q.off_host || regions[q.rkey >> 8].target != 0;
      }
      q.va += v.payload_len;
      q.received += v.payload_len;
    }
    ++executed;
    ++want_counts["requests"];
    established(q);
    Place& place = want_places.back();
    place.write = v.payload_len + extra != 0;
    q.open = info.is_last ? 0 : send ? 1 : 2;
    if (!info.is_last) return;
    if (send) ++want_counts["sends"];
    if (!send && info.kind != roce::MsgKind::kWriteImm) return;
    const bool imm = info.kind == roce::MsgKind::kSendImm || info.kind == roce::MsgKind::kWriteImm;
    Cqe c;
    c.index = q.cons;
    c.opcode = !send ? 1 : imm ? 3 : 2;
    c.bytes = q.received;
    c.imm_valid = imm;
    c.imm = imm ? __builtin_bswap32(v.imm) : 0;
    c.solicited = v.solicited;
    c.fence = q.off_host;
    c.grh = q.service == kUd;
    c.src = q.service == kUd ? v.src_qp : 0;
    q.expected.push_back(c);
    place.has_cqe = true;
    ++q.used;
  }
  void local_error(Qp& q, uint64_t status) {
    Cqe c;
    c.index = q.cons;
    c.opcode = kCqeRecvErr;
    c.status = status;
    q.expected.push_back(c);
    want_places.back().has_cqe = true;
    want_fails.emplace_back(q.qpn, status);
    ++q.used;
    q.failed = true;
    q.phase = Qp::kLimbo;
  }
  void order_done(Qp& q, uint64_t op) {
    if (op == kOrderErr) {
      want_events.emplace_back(kEvLastWqe, q.qpn);
      if (auto_recover) q.timer = bench.cycle() + 1 + random.below(40);
    }
    if (op == kClear) {
      take_completions(q);
      start(q, q.restart_psn);
      q.model->set_state(roce::QpState::kReset);
      orders->push(order(kOrderRtr, q.qpn, q.epsn));
    }
    if (op == kOrderRtr) {
      set_state(q, kRtr);
      q.model->set_state(roce::QpState::kRtr);
      q.phase = Qp::kRun;
    }
  }
  // cmd_unit: connection half first, then the order; later a reset.
  void steer() {
    if (orders->pending() != 0) return;
    for (auto& [qpn, q] : qps) {
      if (q.timer == 0 || bench.cycle() < q.timer) continue;
      if (q.phase == Qp::kErr && q.cons != q.prod) continue;  // not yet flushed
      q.timer = 0;
      if (q.phase == Qp::kLimbo) {
        order_err(q);
      } else if (q.phase == Qp::kErr) {
        take_completions(q);
        set_state(q, kReset);
        q.restart_psn = random.chance(0.3) ? 0xFFFFF0 + static_cast<uint32_t>(random.below(16))
                                           : static_cast<uint32_t>(random.bits(24));
        q.model->set_state(roce::QpState::kReset);
        q.phase = Qp::kReset;
        orders->push(order(kClear, qpn));
      }
      return;
    }
  }
  void on_ack(const Bits& b) {
    Ack a{kAckReq.get(b, "qpn"),
          kAckReq.get(b, "psn"),
          kAckReq.get(b, "msn"),
          kAckReq.get(b, "syndrome"),
          kAckReq.get(b, "urgent") != 0,
          kAckReq.get(b, "kind"),
          false};
    if (a.kind != 0) {
      a.dup = kAckReq.get(b, "dup") != 0;
      a.va = kAckReq.get(b, "va");
      a.rkey = kAckReq.get(b, "rkey");
      a.len = kAckReq.get(b, "len");
      a.op0 = kAckReq.get(b, "op0");
      a.op1 = kAckReq.get(b, "op1");
      a.swap = kAckReq.get(b, "swap") != 0;
      got_tickets.push_back(kAckReq.get(b, "ticket"));
      if (a.kind == 2 && !a.dup) run_atomic(b, a);
    }
    got_acks.push_back(a);
  }
  // At the address that the block gives.
  void run_atomic(const Bits& b, const Ack& a) {
    Region& r = regions[11];
    CHECK(kAckReq.get(b, "target") == r.target);
    uint8_t* p = r.at(kAckReq.get(b, "iova"), 8);
    REQUIRE(p != nullptr);
    uint64_t word;
    std::memcpy(&word, p, 8);
    if (!a.swap)
      word += a.op0;
    else if (word == a.op1)
      word = a.op0;
    std::memcpy(p, &word, 8);
  }
  void on_place(const Bits& p, const Bits& c) {
    const uint64_t qpn = kPlace.get(p, "qpn");
    const bool has_cqe = kPlace.get(p, "has_cqe") != 0;
    if (kPlace.get(p, "alone") == 0) {
      const bool write = kPlace.get(p, "write") != 0, more = kPlace.get(p, "more") != 0;
      const bool inl = kPlace.get(p, "inl") != 0;
      const auto len = static_cast<size_t>(kPlace.get(p, "len"));
      REQUIRE(!taken.empty());
      roce::FrameView v;
      roce::parse_frame(taken.front().frame, v);
      CHECK(kPlace.get(p, "psn") == v.psn);
      CHECK(!(more && has_cqe));
      CHECK(!(more && !write));
      CHECK((kPlace.get(p, "ticket") != 0) == write);
      ++pieces;
      writes += write;
      if (write) {
        const uint64_t addr = kPlace.get(p, "addr");
        uint8_t* to = nullptr;
        for (Region& r : regions) {
          if (r.target == kPlace.get(p, "target") && to == nullptr) to = r.at(addr, len);
        }
        CHECK(len != 0);
        REQUIRE(to != nullptr);
        if (inl) {
          const auto bytes = kPlace.get_bits(p, "inl_data").bytes();
          REQUIRE(len <= bytes.size());
          std::copy_n(bytes.begin(), len, to);
          inline_at += static_cast<unsigned>(len);
        } else {
          REQUIRE(stream_at + len <= v.payload_len);
          std::copy_n(v.payload().begin() + static_cast<long>(stream_at), len, to);
          stream_at += len;
        }
      }
      if (!more) {
        got_places.push_back({qpn, v.psn, write, has_cqe});
        if (write) CHECK(stream_at == v.payload_len);
        if (!write) CHECK(len == v.payload_len);
        CHECK((inline_at == 0 || inline_at == kGrh));
        pieces_of.push_back(writes);
        most_pieces = std::max(most_pieces, pieces);
        stream_at = inline_at = pieces = writes = 0;
        taken.pop_front();
      }
    } else {
      CHECK(kPlace.get(p, "write") == 0);
      CHECK(has_cqe);
    }
    if (!has_cqe) return;
    CHECK(kCqeReq.get(c, "qpn") == qpn);
    CHECK(kCqeReq.get(c, "cqn") == qpn + 40);
    qps.at(qpn).got.push_back({kCqeReq.get(c, "wqe_index"), kCqeReq.get(c, "opcode"),
                               kCqeReq.get(c, "status"), kCqeReq.get(c, "byte_count"),
                               kCqeReq.get(c, "imm"), kCqeReq.get(c, "src_qpn"),
                               kCqeReq.get(c, "imm_valid") != 0, kCqeReq.get(c, "solicited") != 0,
                               kCqeReq.get(c, "fence") != 0, kCqeReq.get(c, "grh") != 0});
  }
};

roce::FrameSpec write_only(const Qp& q, uint32_t psn, const Region& r, uint32_t len,
                           bool imm = false) {
  roce::FrameSpec s;
  s.opcode = imm ? 0x0B : 0x0A;
  s.ip_src = q.peer;
  s.ip_dst = q.local;
  s.dest_qp = static_cast<uint32_t>(q.qpn);
  s.psn = psn & kPsnMask;
  s.ack_req = true;
  s.va = r.va;
  s.rkey = r.rkey;
  s.dma_len = len;
  s.qkey = static_cast<uint32_t>(kConn.get(q.conn, "qkey"));
  return s;
}
roce::FrameSpec send_only(const Qp& q, uint32_t psn) {
  roce::FrameSpec s = write_only(q, psn, {}, 0);
  s.opcode = q.service == kRc ? 0x04 : q.service == kUc ? 0x24 : 0x64;
  return s;
}
Receive buffer(const World& w, unsigned region, uint64_t offset, uint32_t len) {
  Receive r;
  r.segments.push_back({w.regions[region].rkey, len, w.regions[region].va + offset});
  return r;
}

void run_random(World& w, unsigned packets) {
  auto random = rng("schedule");
  for (unsigned i = 0; i < packets; ++i) {
    // Keep a few packets in flight, so that a generator can see what the reference expects.
    w.bench.wait(
        "room for packets", [&] { return w.req->pending() < 6; }, 100000);
    Qp& q = w.qps.at(random.chance(0.5) ? 0 : random.below(w.qps.size()));
    if (q.phase == Qp::kRun || random.chance(0.3)) w.emit(q);
    Qp& d = w.qps.at(random.below(w.qps.size()));
    const auto room = static_cast<unsigned>(kRing - static_cast<uint16_t>(d.prod - d.cons));
    const bool open = d.phase == Qp::kRun || d.phase == Qp::kErr;
    if (open && room > 0 && random.chance(0.4))
      w.post(d, static_cast<unsigned>(random.between(1, room)));
    // Orders at any time: to ERR and RESET, and a look at what changed nothing.
    if (d.phase == Qp::kRun && random.chance(0.002)) w.begin_error(d.qpn);
    if (random.chance(0.01) && w.orders->pending() == 0)
      w.orders->push(order(kOrderKick, random.below(kQps)));
  }
  w.settle();
}

}  // namespace

TEST_CASE("rx_responder agrees with the reference on random requests of many QPs, without stalls") {
  World w({.stall = {}, .fetch_high = 6});
  for (unsigned i = 0; i < 6; ++i) w.add_qp(i, 256, i == 0 ? 0xFFFFF0 : i * 1000, i == 3);
  run_random(w, 8000);
  CHECK(w.verdicts[static_cast<size_t>(roce::RxVerdict::kExecuted)] > 2000);
  for (auto v :
       {roce::RxVerdict::kDuplicate, roce::RxVerdict::kNakSequence, roce::RxVerdict::kGapDiscarded,
        roce::RxVerdict::kRnr, roce::RxVerdict::kNakFatal, roce::RxVerdict::kDropAddress,
        roce::RxVerdict::kDropPkey, roce::RxVerdict::kDropTransport, roce::RxVerdict::kDropState,
        roce::RxVerdict::kDropDuplicate}) {
    INFO(roce::to_string(v));
    CHECK(w.verdicts[static_cast<size_t>(v)] > 0);
  }
  CHECK(w.want_runs.size() > 100);
  CHECK(w.most_pieces >= 3);
}

TEST_CASE("rx_responder agrees with the reference under stalls on every side and slow contexts") {
  for (double p : {0.2, 0.6}) {
    World w({.stall = Stall::random(p), .latency_low = 1, .latency_high = 5, .fetch_high = 60});
    for (unsigned i = 0; i < 3; ++i) w.add_qp(i, i == 1 ? 4096 : 256, 0xFFFFFF - i * 7, i == 2);
    run_random(w, 2500);
  }
}

TEST_CASE("UC and UD take and drop what their rules say, and answer nothing") {
  for (double p : {0.0, 0.3}) {
    World w({.stall = Stall::random(p), .latency_low = 1, .latency_high = 3, .fetch_high = 20});
    for (unsigned i = 0; i < 4; ++i)
      w.add_qp(i, i == 2 ? 1024 : 256, 0xFFFFFE - i, i % 2 == 1, i < 2 ? kUc : kUd);
    run_random(w, 5000);
    CHECK(w.executed > 1000);
    CHECK(w.dropped > 100);
    CHECK(w.got_acks.empty());
  }
}

TEST_CASE("RC, UC and UD side by side") {
  World w({.stall = Stall::bursts(0.05, 8), .fetch_high = 30});
  for (unsigned i = 0; i < 6; ++i)
    w.add_qp(i, 512, i * 77, i == 4, i % 3 == 0 ? kRc : i % 3 == 1 ? kUc : kUd);
  run_random(w, 4000);
}

TEST_CASE(
    "rx_responder takes a request every three cycles, a SEND every four, on one QP and on many, "
    "also with completions") {
  for (unsigned n : {1u, 4u}) {
    for (int kind : {0, 1, 2, 3}) {
      World w;
      for (unsigned i = 0; i < n; ++i) w.add_qp(i, 1024, 0xFFFFFC);
      for (unsigned i = 0; i < n; ++i)
        for (unsigned k = 0; k < 8; ++k) w.post(w.qps[i], buffer(w, 10, 100 * k, 64));
      w.settle();
      for (unsigned i = 0; i < 8 * n; ++i) {
        Qp& q = w.qps[i % n];
        auto s = write_only(q, 0xFFFFFC + i / n, w.regions[0], 64, kind == 1);
        if (kind == 2) s = send_only(q, 0xFFFFFC + i / n);
        if (kind == 3) s.opcode = 0x0C;
        w.send(w.packet(s, kind == 3 ? 0 : 64));
      }
      w.settle();
      const auto& c = w.req->cycles();
      const unsigned each = kind == 2 ? 4 : 3;
      CHECK(c.back() - c.front() == each * (c.size() - 1));
      CHECK(w.places->cycles().front() - c.front() == each);
    }
  }
}

TEST_CASE("a SEND waits for a receive that is posted but not read yet, and gets no RNR NAK") {
  World w({.stall = {}, .fetch_low = 50, .fetch_high = 50});
  Qp& q = w.add_qp(2, 256, 77);
  w.post(q, buffer(w, 8, 5, 100));
  w.send(w.packet(send_only(q, 77), 100));
  w.send(w.packet(send_only(q, 78), 10));
  w.settle();
  REQUIRE(w.got_acks.size() == 2);
  CHECK(w.got_acks[0].syndrome == 0x1F);
  CHECK(w.got_acks[1].syndrome == (0x20 | (12 + 2)));
  CHECK(w.places->cycles()[0] > 50);
  // Once a receive is there, the same packet is taken, and the gap is closed.
  w.post(q, buffer(w, 8, 5, 100));
  w.send(w.packet(send_only(q, 79), 10));  // behind the RNR NAK: silence
  w.send(w.packet(send_only(q, 78), 10));
  w.settle();
  CHECK(w.got_acks.size() == 3);
}

TEST_CASE("a QP that is reset while its SEND waits for its receive lets go of it") {
  World w({.stall = {}, .fetch_low = 100000, .fetch_high = 100000});
  Qp& q = w.add_qp(2, 256, 77);
  w.post(q, buffer(w, 8, 0, 100));
  w.send_unmodelled(w.packet(send_only(q, 77), 100));
  w.bench.tick(30);
  CHECK(w.got_places.empty());
  w.set_state(q, kReset);
  w.orders->push(order(kClear, 2));
  w.bench.tick(30);
  CHECK(w.got_places.size() == 1);
  CHECK(w.got_acks.empty());
}

TEST_CASE("a local key that is refused: nothing is written, RECV_ERR and NAK remote operational") {
  for (Service service : {kRc, kUc, kUd}) {
    for (unsigned bad_segment : {0u, 1u}) {
      World w;
      Qp& q = w.add_qp(2, 256, 77, false, service);
      w.auto_recover = false;
      Receive r = buffer(w, 10, 0, 100);
      r.segments.push_back({w.regions[10].rkey, 100, w.regions[10].va + 200});
      r.segments[bad_segment].lkey ^= 1;
      q.ring[0] = r;
      q.prod = 1;
      w.send_unmodelled(w.packet(send_only(q, 77), 120));
      w.bench.tick(60);
      REQUIRE(w.got_places.size() == 1);
      CHECK(!w.got_places[0].write);
      REQUIRE(q.got.size() == 1);
      CHECK(q.got[0].opcode == kCqeRecvErr);
      CHECK(q.got[0].status == kLocProt);
      CHECK(w.got_fails == std::vector<std::pair<uint64_t, uint64_t>>{{2, kLocProt}});
      CHECK(w.got_acks.size() == (service == kRc ? 1 : 0));
      if (service == kRc) CHECK(w.got_acks[0] == Ack{2, 77, 0, 0x63, true});
      CHECK(kRecv.get(w.recv[2], "rq_cons") == 1);
    }
  }
}

TEST_CASE(
    "a SEND that is too long for its receive: RECV_ERR local length and NAK invalid request") {
  World w;
  Qp& q = w.add_qp(2, 256, 77);
  w.auto_recover = false;
  w.post(q, buffer(w, 9, 0, 300));
  auto s = send_only(q, 77);
  s.opcode = 0x00;
  w.send(w.packet(s, 256));
  s.opcode = 0x02;
  s.psn = 78;
  w.send(w.packet(s, 45));
  w.settle();
  CHECK(w.got_fails == std::vector<std::pair<uint64_t, uint64_t>>{{2, kLocLen}});
  CHECK(w.got_acks.back().syndrome == 0x61);
}

TEST_CASE("what the QP does not allow is invalid: access flags, READ depth") {
  struct Case {
    const char* flag;
    unsigned opcode;
  };
  for (const Case c :
       {Case{"acc_write", 0x0A}, Case{"acc_read", 0x0C}, Case{"acc_atomic", 0x13},
        Case{"acc_atomic", 0x14}, Case{"max_dest_rd", 0x0C}, Case{"max_dest_rd", 0x14}}) {
    World w;
    Qp& q = w.add_qp(2, 256, 77);
    w.auto_recover = false;
    kConn.set(q.conn, c.flag, 0);
    w.start(q, 77);
    auto s = write_only(q, 77, w.regions[c.opcode >= 0x13 ? 11 : 0], 16);
    s.opcode = static_cast<uint8_t>(c.opcode);
    w.send(w.packet(s, c.opcode == 0x0A ? 16 : 0));
    w.settle();
    REQUIRE(w.got_acks.size() == 1);
    CHECK(w.got_acks[0] == Ack{2, 77, 0, 0x61, true});
  }
}

TEST_CASE("requests are taken in RTR, RTS, SQD and SQE, and in no other state") {
  // RESET, INIT, RTR, RTS, SQD, SQE, ERR
  const bool takes[] = {false, false, true, true, true, true, false};
  for (unsigned state = 0; state < 7; ++state) {
    INFO("state " << state);
    World w;
    Qp& q = w.add_qp(2, 256, 77);
    w.auto_recover = false;
    kConn.set(q.conn, "state", state);
    w.send_unmodelled(w.packet(write_only(q, 77, w.regions[0], 16), 16));
    w.bench.tick(40);
    CHECK(w.got_acks.size() == (takes[state] ? 1 : 0));
    CHECK(w.counts["unknown"] == (takes[state] ? 0 : 1));
    CHECK(w.got_places.at(0).write == takes[state]);
  }
}

TEST_CASE("a WRITE whose packets or bytes are not what its opcodes and DMALen say is invalid") {
  struct Part {
    unsigned opcode;
    uint32_t len;
  };
  struct Case {
    uint32_t dma_len;
    std::vector<Part> parts;  // the last one is refused
  };
  const Case cases[] = {
      {20, {{0x0A, 16}}},                              // ONLY: too few bytes
      {12, {{0x0A, 16}}},                              // too many
      {260, {{0x0A, 260}}},                            // more than a packet
      {0x80000001, {{0x06, 256}}},                     // more than a message
      {1000, {{0x06, 252}}},                           // FIRST is not full
      {1000, {{0x06, 256}, {0x07, 252}}},              // MIDDLE is not full
      {300, {{0x06, 256}, {0x07, 256}}},               // too many in a MIDDLE
      {300, {{0x06, 256}, {0x08, 40}}},                // LAST: too few
      {300, {{0x06, 256}, {0x08, 48}}},                // too many
      {256, {{0x06, 256}, {0x08, 0}}},                 // empty
      {2000, {{0x06, 256}, {0x07, 256}, {0x08, 256}}}  // LAST is full, and the message is not
  };
  for (const Case& c : cases) {
    World w;
    Qp& q = w.add_qp(2, 256, 77);
    w.auto_recover = false;
    for (size_t i = 0; i < c.parts.size(); ++i) {
      INFO("DMALen " << c.dma_len << ", packet " << i << " of " << c.parts.size());
      auto s = write_only(q, 77 + static_cast<uint32_t>(i), w.regions[0], c.dma_len);
      s.opcode = static_cast<uint8_t>(c.parts[i].opcode);
      w.send(w.packet(s, c.parts[i].len));
    }
    w.settle();
    REQUIRE(!w.got_acks.empty());
    CHECK(w.got_acks.back() ==
          Ack{2, 77 + static_cast<uint32_t>(c.parts.size()) - 1, 0, 0x61, true});
  }
}

TEST_CASE(
    "a region whose target is refused gives NAK remote operational error, and nothing is written") {
  World w;
  Qp& q = w.add_qp(1, 256, 5);
  w.auto_recover = false;
  w.send_unmodelled(w.packet(write_only(q, 5, w.regions[7], 10), 10));
  w.bench.tick(40);
  REQUIRE(w.got_acks.size() == 1);
  CHECK(w.got_acks[0] == Ack{1, 5, 0, 0x63, true});
  CHECK(w.got_fails == std::vector<std::pair<uint64_t, uint64_t>>{{1, kRemOp}});
  CHECK(!w.got_places.at(0).write);
}

TEST_CASE("the expected PSN goes past a READ by the packets of its answer, over the wrap") {
  for (uint32_t length : {0u, 1u, 255u, 256u, 257u, 5000u, 0x7FFF'FFFFu, 0x8000'0000u}) {
    World w;
    w.any_key = true;
    Qp& q = w.add_qp(1, 256, 0xFFFFFE);
    auto s = write_only(q, 0xFFFFFE, w.regions[0], length);
    s.opcode = 0x0C;
    // The reference would really read it.
    w.send_unmodelled(w.packet(s, 0));
    w.bench.tick(30);
    const uint64_t count = length == 0 ? 1 : (uint64_t{length} + 255) / 256;
    CHECK(kRecv.get(w.recv[1], "epsn") == ((0xFFFFFE + count) & kPsnMask));
    w.send_unmodelled(w.packet(s, 0));
    w.bench.tick(30);
    CHECK(w.counts["duplicates"] == 1);  // it is behind now
  }
}

TEST_CASE("after a fatal NAK the QP is silent, also before cmd_unit has written ERR") {
  World w;
  Qp& q = w.add_qp(1, 256, 100);
  w.auto_recover = false;
  auto bad = write_only(q, 100, w.regions[0], 10);
  bad.dma_len = 11;
  w.send(w.packet(bad, 10));
  for (int i = 0; i < 3; ++i) w.send(w.packet(write_only(q, 100 + i, w.regions[0], 10), 10));
  w.send(w.packet(write_only(q, 99, w.regions[0], 10), 10));
  w.settle();
  CHECK(w.got_acks.size() == 1);
  CHECK(w.got_fails.size() == 1);
  CHECK(kRecv.get(w.recv[1], "epsn") == 100);
}

TEST_CASE(
    "the flush of the receive queue follows the completions before it, stops at the producer, and "
    "ends with LAST_WQE") {
  World w;
  Qp& q = w.add_qp(3, 256, 9);
  for (int i = 0; i < 6; ++i) w.post(q, buffer(w, 10, 0, 64));
  w.settle();
  w.places->set_stall(Stall::always());  // rx_placer is far behind
  w.send(w.packet(write_only(q, 9, w.regions[0], 0, true), 0));
  w.send(w.packet(write_only(q, 10, w.regions[0], 8, true), 8));
  w.bench.tick(30);
  w.auto_recover = false;
  w.order_err(q);
  w.bench.tick(50);
  CHECK(w.orders->pending() == 1);  // it waits, and nothing is lost
  w.places->set_stall(Stall::none());
  w.settle();
  REQUIRE(q.got.size() == 6);
  for (unsigned i = 0; i < 6; ++i) CHECK(q.got[i].index == i);
  CHECK(w.counts["flushed"] == 4);
  CHECK(w.got_events.back() == std::pair<uint64_t, uint64_t>(kEvLastWqe, 3));
  // What is posted in ERR is flushed at once.
  w.post(q, 3);
  w.settle();
  CHECK(q.got.size() == 9);
  CHECK(w.got_events.size() == 2);  // COMM_EST, LAST_WQE
}

TEST_CASE("a stream of packets holds up neither an order nor a flush") {
  World w;
  Qp& q = w.add_qp(0, 256, 0);
  Qp& dead = w.add_qp(1, 256, 0);
  w.auto_recover = false;
  w.order_err(dead);
  w.settle();
  for (unsigned i = 0; i < 100; ++i) w.send(w.packet(write_only(q, i, w.regions[0], 8), 8));
  w.bench.wait(
      "packets", [&] { return w.req->pending() == 50; }, 50 * 6 + 10);
  w.post(dead, 1);
  w.bench.wait(
      "flush", [&] { return w.rqf->pending() == 0; }, 12);
  w.orders->push(order(kOrderKick, 0));
  w.bench.wait(
      "order", [&] { return w.orders->pending() == 0; }, 20);
  for (int i = 0; i < 7; ++i) w.post(dead, 1);
  w.settle();
  CHECK(w.got_acks.size() == 100);
}

TEST_CASE(
    "RESET and RTR forget the message in progress, the gap and the receive queue as the orders "
    "say") {
  World w;
  Qp& q = w.add_qp(4, 256, 50);
  w.post(q, 5);
  auto first = write_only(q, 50, w.regions[0], 256);
  first.opcode = 0x06;
  first.dma_len = 600;
  w.send(w.packet(first, 256));
  w.send(w.packet(write_only(q, 53, w.regions[0], 8), 8));  // a gap
  w.settle();
  CHECK(kRecv.get(w.recv[4], "nak_sent") == 1);
  CHECK(kRecv.get(w.recv[4], "in_write") == 1);
  w.set_state(q, kReset);
  q.restart_psn = 7;
  q.model->set_state(roce::QpState::kReset);
  w.orders->push(order(kClear, 4));  // the bench orders RTR behind it
  w.settle();
  const Bits& r = w.recv[4];
  CHECK(kRecv.get(r, "epsn") == 7);
  for (const char* f :
       {"msn", "nak_sent", "in_write", "in_send", "rq_cons", "failed", "off_host", "comm_est"})
    CHECK(kRecv.get(r, f) == 0);
  w.send(w.packet(write_only(q, 7, w.regions[0], 8), 8));
  w.settle();
}

TEST_CASE("COMM_EST comes once, with the first packet that is accepted in RTR") {
  World w;
  Qp& q = w.add_qp(5, 256, 3);
  Qp& late = w.add_qp(6, 256, 3);
  w.send(w.packet(write_only(q, 9, w.regions[0], 8), 8));  // not accepted
  w.settle();
  CHECK(w.got_events.empty());
  for (uint32_t i = 3; i < 6; ++i) w.send(w.packet(write_only(q, i, w.regions[0], 8), 8));
  w.settle();
  CHECK(w.got_events == std::vector<std::pair<uint64_t, uint64_t>>{{kEvCommEst, 5}});
  w.set_state(late, kRts);
  w.send(w.packet(write_only(late, 3, w.regions[0], 8), 8));
  w.settle();
  CHECK(w.got_events.size() == 1);
}

TEST_CASE("what was posted in INIT is there in RTR") {
  World w;
  Qp& q = w.add_qp(5, 256, 3);
  w.set_state(q, kInit);
  q.model->set_state(roce::QpState::kInit);
  for (int i = 0; i < 2; ++i) w.post(q, buffer(w, 10, 0, 64));
  w.send(w.packet(write_only(q, 3, w.regions[0], 8, true), 8));  // dropped
  w.settle();
  CHECK(w.got_acks.empty());
  w.orders->push(order(kOrderRtr, 5, 3));
  w.settle();
  w.send(w.packet(write_only(q, 3, w.regions[0], 8, true), 8));
  w.send(w.packet(send_only(q, 4), 8));
  w.send(w.packet(write_only(q, 5, w.regions[0], 8, true), 8));
  w.settle();
  REQUIRE(w.got_acks.size() == 3);
  CHECK(w.got_acks[2].syndrome == (0x20 | (12 + 5)));
}

TEST_CASE("a reset in the middle of work leaves an idle block that starts anew") {
  World w({.stall = Stall::random(0.3), .latency_low = 1, .latency_high = 4, .fetch_high = 20});
  auto random = rng("when");
  for (int round = 0; round < 8; ++round) {
    w.qps.clear();
    w.recv.clear();
    for (unsigned i = 0; i < 3; ++i) w.add_qp(i, 256, 10 + i);
    for (unsigned i = 0; i < 3; ++i) w.post(w.qps[i], 4);
    for (unsigned i = 0; i < 20; ++i) w.emit(w.qps[i % 3]);
    w.bench.tick(random.between(5, 90));
    w.restart();
    Qp& q = w.add_qp(0, 256, 42);
    w.send(w.packet(write_only(q, 42, w.regions[0], 30), 30));
    w.settle();
    CHECK(w.got_acks.back() == Ack{0, 42, 1, 0x1F, false});
  }
}
