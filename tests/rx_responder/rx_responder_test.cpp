// SPDX-License-Identifier: Apache-2.0
//
// rx_responder against the reference responder of harness/roce, which was written from the fact
// sheet (section 4): every frame that the block takes goes to the reference too, and answers,
// completions, placement, receive state and counters must agree. The order in which the block takes
// packets and doorbells decides, as it does in the machine.
#include <Vrx_responder.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "harness/roce/frame.hpp"
#include "harness/roce/responder_model.hpp"
#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;
namespace roce = rnic::roce;

namespace {

constexpr unsigned kQps = 16;
constexpr unsigned kLogRq = 3;
constexpr uint64_t kIova = 0x7000'0000'0000;
constexpr uint32_t kPsnMask = 0xFFFFFF;

struct Pkt {
  uint64_t qpn = 0;
  std::vector<uint8_t> frame;
  Bits meta;
};

struct Ack {
  uint64_t qpn = 0, psn = 0, msn = 0, syndrome = 0;
  bool urgent = false;
  bool operator==(const Ack&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Ack& a) {
  return out << std::hex << "qp " << a.qpn << " psn " << a.psn << " msn " << a.msn << " syndrome "
             << a.syndrome << (a.urgent ? " urgent" : "") << std::dec;
}

struct Cqe {
  uint64_t index = 0, opcode = 0, status = 0, bytes = 0, imm = 0;
  bool imm_valid = false, solicited = false, fence = false;
  bool operator==(const Cqe&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Cqe& c) {
  return out << "index " << c.index << std::hex << " op " << c.opcode << " status " << c.status
             << " imm " << c.imm << std::dec << " bytes " << c.bytes << " solicited " << c.solicited
             << " fence " << c.fence;
}

struct Place {
  uint64_t qpn = 0, psn = 0, len = 0, addr = 0;
  bool write = false, has_cqe = false;
  bool operator==(const Place&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Place& p) {
  return out << std::hex << "qp " << p.qpn << " psn " << p.psn << " len " << p.len << " addr "
             << p.addr << std::dec << (p.write ? " write" : " discard")
             << (p.has_cqe ? " cqe" : "");
}

struct Region {
  uint32_t rkey = 0, pd = 0, access = 0;
  uint64_t va = 0;
  unsigned target = 0;
  bool refused = false;
  std::vector<uint8_t> model, dut;
  uint64_t iova() const { return va + kIova + (uint64_t{target} << 40); }
};

struct PlanPacket {
  roce::FrameSpec spec;
  uint32_t len = 0;
};

struct Qp {
  uint64_t qpn = 0;
  uint32_t pmtu = 256;
  Bits conn, path;
  roce::IpAddr local{}, peer{};
  std::unique_ptr<roce::ResponderModel> model;
  uint16_t prod = 0, cons = 0, posted_to_model = 0;
  bool off_host = false;  // of the message in progress
  std::deque<PlanPacket> plan;
  size_t next = 0;  // in plan
  enum { kRun, kLimbo, kErr, kReset } phase = kRun;
  uint64_t timer = 0;
  std::vector<Cqe> expected, got;
};

struct Config {
  Stall stall;
  unsigned latency_low = 1, latency_high = 1;
};

class World {
 public:
  explicit World(const Config& config = {})
      : top(bench.top()),
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
            [this](const Bits& b) { write_pin(top.mrs, b); }) {
    for (LookupServer* s : {&rs, &rcv, &rp, &mr}) {
      s->set_stall(config.stall);
      s->set_latency(config.latency_low, config.latency_high);
    }
    mr.set_latency(config.latency_low + 1, config.latency_high + 1);  // as mr_table
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { steer(); });
    req.emplace(
        bench, "req", top.req_valid, top.req_ready,
        [this](const Pkt& p) { write_pin(top.req, p.meta); }, config.stall);
    rqdb.emplace(
        bench, "rqdb", top.rqdb_valid, top.rqdb_ready,
        [this](const std::pair<uint64_t, uint16_t>& d) {
          top.rqdb_qpn = static_cast<uint32_t>(d.first);
          top.rqdb_index = d.second;
        },
        config.stall);
    orders.emplace(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi);
    acks.emplace(
        bench, "ackq", top.ackq_valid, top.ackq_ready, [this] { return read_pin(top.ackq); },
        config.stall);
    fails.emplace(
        bench, "fail", top.fail_valid, top.fail_ready, [this] { return read_pin(top.fail); },
        config.stall);
    places.emplace(
        bench, "place", top.place_valid, top.place_ready,
        [this] { return std::pair(read_pin(top.place), read_pin(top.place_cqe)); }, config.stall);
    acks->on_item([this](const Bits& b) {
      got_acks.push_back({kAckReq.get(b, "qpn"), kAckReq.get(b, "psn"), kAckReq.get(b, "msn"),
                          kAckReq.get(b, "syndrome"), kAckReq.get(b, "urgent") != 0});
    });
    fails->on_item([this](const Bits& b) {
      got_fails.emplace_back(kFail.get(b, "qpn"), kFail.get(b, "cause"));
      if (auto_recover) begin_error(kFail.get(b, "qpn"));
    });
    places->on_item([this](const std::pair<Bits, Bits>& p) { on_place(p.first, p.second); });
    make_regions();
    bench.reset();
    bench.wait(
        "init_done_o", [this] { return top.init_done_o != 0; }, 100);
  }

  // ------------------------------------------------------------------------------------------ the
  // machine around it
  Qp& add_qp(uint64_t qpn, uint32_t pmtu, uint32_t psn, bool ipv6 = false) {
    Qp& q = qps[qpn];
    q.qpn = qpn;
    q.pmtu = pmtu;
    const auto n = static_cast<uint8_t>(qpn + 1);
    if (ipv6) {
      q.local = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, n};
      q.peer = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, n};
    } else {
      q.local = roce::ipv4_address(10, 0, 0, n);
      q.peer = roce::ipv4_address(10, 0, 1, n);
    }
    q.path = kPath.pack({{"valid", 1}, {"ipv6", ipv6}});
    kPath.set_bits(q.path, "sip", address(q.local));
    kPath.set_bits(q.path, "dip", address(q.peer));
    paths[qpn + 100] = q.path;
    unsigned code = 1;
    while ((128u << code) != pmtu) ++code;
    q.conn = kConn.pack({{"exists", 1},
                         {"has_path", 1},
                         {"state", kRtr},
                         {"mtu", code},
                         {"acc_write", 1},
                         {"pd", 7},
                         {"dest_qpn", qpn + 0x500},
                         {"pkey", 0xFFFF},
                         {"path", qpn + 100},
                         {"min_rnr_timer", 12 + qpn},
                         {"recv_cqn", qpn + 40},
                         {"log_rq", kLogRq}});
    start(q, psn);
    recv[qpn] = kRecv.pack({{"epsn", psn}});
    return q;
  }
  void start(Qp& q, uint32_t psn) {
    roce::ResponderConfig c;
    c.qpn = static_cast<uint32_t>(q.qpn);
    c.first_psn = psn;
    c.pmtu = q.pmtu;
    c.pd = 7;
    c.access = kConn.get(q.conn, "acc_write") ? roce::kRemoteWrite : 0u;
    c.min_rnr_timer = static_cast<uint8_t>(12 + q.qpn);
    c.local_ip = q.local;
    c.peer_ip = q.peer;
    q.model = std::make_unique<roce::ResponderModel>(c, region_table);
    q.prod = q.cons = q.posted_to_model = 0;
    q.off_host = false;
    q.plan.clear();
    q.next = 0;
  }
  void post(Qp& q, uint16_t count) {
    q.prod = static_cast<uint16_t>(q.prod + count);
    rqdb->push({q.qpn, q.prod});
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
                         {"imm", v.imm},
                         {"payload_len", v.payload_len},
                         {"ipv6", v.ipv6}});
    kMeta.set_bits(p.meta, "sip", address(v.ip_src));
    kMeta.set_bits(p.meta, "dip", address(v.ip_dst));
    return p;
  }
  void send(const Pkt& p) {
    in_flight.push_back(p);
    req->push(p);
  }

  // Everything taken, decided and delivered, and the states of both sides equal.
  void settle() {
    bench.wait(
        "the block to be idle",
        [this] {
          return req->pending() == 0 && rqdb->pending() == 0 && orders->pending() == 0 && !busy();
        },
        200000);
    bench.tick(60);
    CHECK(difference(got_acks, want_acks) == "");
    CHECK(difference(got_places, want_places) == "");
    CHECK(got_fails == want_fails);
    for (auto& [qpn, q] : qps) {
      INFO("QP " << qpn);
      take_completions(q);
      CHECK(difference(q.got, q.expected) == "");
      if (q.phase != Qp::kRun) continue;
      CHECK(kRecv.get(recv[qpn], "epsn") == q.model->expected_psn());
      CHECK(kRecv.get(recv[qpn], "msn") == q.model->msn());
      CHECK(static_cast<uint16_t>(q.prod - kRecv.get(recv[qpn], "rq_cons")) ==
            q.model->receives_posted());
    }
    for (const Region& r : regions) CHECK((r.model == r.dut));
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

  // ------------------------------------------------------------------------------------------
  // random traffic Adds a message of this QP to its plan.
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
        length = static_cast<uint32_t>(random.between(1, 5 * q.pmtu));
        break;
    }
    const bool imm = random.chance(0.4);
    const uint32_t count = length == 0 ? 1 : (length + q.pmtu - 1) / q.pmtu;
    const uint32_t psn =
        q.plan.empty() ? q.model->expected_psn() : (q.plan.back().spec.psn + 1) & kPsnMask;
    uint64_t va = r.va + random.below(r.dut.size() - length);
    if (random.chance(0.003)) va = r.va + r.dut.size() - length + 1;
    for (uint32_t i = 0; i < count; ++i) {
      PlanPacket p;
      roce::FrameSpec& s = p.spec;
      p.len = std::min(q.pmtu, length - i * q.pmtu);
      const bool first = i == 0, last = i + 1 == count;
      s.opcode = first && last ? (imm ? 0x0B : 0x0A)
                 : first       ? 0x06
                 : last        ? (imm ? 0x09 : 0x08)
                               : 0x07;
      s.ip_src = q.peer;
      s.ip_dst = q.local;
      s.dest_qp = static_cast<uint32_t>(q.qpn);
      s.psn = (psn + i) & kPsnMask;
      s.ack_req = last ? random.chance(0.9) : random.chance(0.2);
      s.solicited = random.chance(0.3);
      if (first) {
        s.va = va;
        s.rkey = r.rkey;
        s.dma_len = length;
      }
      if (last) s.imm = random.u32();
      q.plan.push_back(p);
    }
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
    for (size_t i = 0; i < q.plan.size(); ++i) {
      if (q.plan[i].spec.psn == q.model->expected_psn()) q.next = i;
    }
  }
  void mutate(Qp& q, PlanPacket& p) {
    roce::FrameSpec& s = p.spec;
    switch (random.below(16)) {
      case 0:
        s.pkey = 0x7FFE;
        break;
      case 1:
        s.pkey = 0x7FFF;
        break;  // limited member: still good
      case 2:
        s.ip_src = roce::ipv4_address(9, 9, 9, 9);
        s.ip_dst = roce::ipv4_address(8, 8, 8, 8);
        break;
      case 3:
        s.ip_src = roce::ipv4_address(10, 0, 1, 200);
        s.ip_dst = q.peer;
        break;
      case 4:
        s.opcode = static_cast<uint8_t>(s.opcode | 0x20);
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
        s.opcode = 0x0C;
        p.len = 0;
        break;
      case 9:
        s.psn = (s.psn - static_cast<uint32_t>(random.between(1, 100))) & kPsnMask;
        s.opcode = static_cast<uint8_t>(random.below(0x0C));
        break;
      case 10:
        s.psn = (s.psn - 1) & kPsnMask;
        s.opcode = 0x15;
        break;
      default:
        break;
      // The rest is fatal to the QP when it comes at the expected PSN, so it is rare.
      case 11:
        if (random.chance(0.3)) s.opcode = static_cast<uint8_t>(0x06 + random.below(6));
        break;
      case 12:
        if (random.chance(0.3)) p.len += 1;
        break;
      case 13:
        if (random.chance(0.3)) s.dma_len += static_cast<uint32_t>(random.between(1, 5));
        break;
      case 14:
        if (random.chance(0.3)) s.rkey ^= 1u << random.below(32);
        break;
      case 15:
        if (random.chance(0.3)) {
          s.opcode = random.chance(0.5) ? 0x13 : 0x1C;
          p.len = 0;
        }
        break;
    }
  }

  Bench<Vrx_responder> bench;
  Vrx_responder& top;
  LookupServer rs, rcv, rp, mr;
  std::optional<StreamSource<Pkt>> req;
  std::optional<StreamSource<std::pair<uint64_t, uint16_t>>> rqdb;
  std::optional<StreamSource<Bits>> orders;
  std::optional<StreamSink<Bits>> acks, fails;
  std::optional<StreamSink<std::pair<Bits, Bits>>> places;

  Rng random = rng("traffic");
  std::map<uint64_t, Qp> qps;
  std::map<uint64_t, Bits> recv, paths;
  std::vector<Region> regions;
  roce::RegionTable region_table;
  std::deque<Pkt> in_flight;               // pushed, not yet taken
  std::deque<std::vector<uint8_t>> taken;  // taken, decision not yet seen
  bool auto_recover = true;
  std::vector<Ack> got_acks, want_acks;
  std::vector<Place> got_places, want_places;
  std::vector<std::pair<uint64_t, uint64_t>> got_fails, want_fails;
  std::map<std::string, uint64_t> counts, want_counts;
  std::array<uint64_t, 32> verdicts{};

  static Bits address(const roce::IpAddr& ip) {
    Bits b(128);
    const unsigned from = roce::is_ipv4(ip) ? 12 : 0;
    for (unsigned i = from; i < 16; ++i) b.set_byte(15 - i, ip[i]);
    return b;
  }
  void take_completions(Qp& q) {
    for (const auto& c : q.model->completions()) {
      Cqe e;
      e.index = c.wr_id;
      if (c.status == roce::WcStatus::kSuccess) {
        e.opcode = kCqeRecvWriteImm;
        e.bytes = c.byte_len;
        e.imm = __builtin_bswap32(c.imm);
        e.imm_valid = true;
        e.solicited = c.solicited;
        e.fence = q.off_host;
      } else {
        e.opcode = kCqeRecvErr;
        e.status = kFlushErr;
      }
      q.expected.push_back(e);
    }
    q.model->clear_outputs();
  }

 private:
  Bits conn_of(uint64_t qpn) { return qps.count(qpn) ? qps[qpn].conn : Bits(kConn.width()); }
  void make_regions() {
    for (unsigned i = 0; i < 8; ++i) {
      Region r;
      r.rkey = (i << 8) | (0x40 + i);
      r.pd = i == 5 ? 8 : 7;
      r.access = i == 4 ? roce::kRemoteRead : roce::kRemoteAll;
      r.va = 0x100'0003 + 0x10'0000 * i;
      r.target = i % 3;
      r.refused = i == 7;
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
    Bits out = kMrRsp.pack({{"iova", random.u64()}});
    if (kMrReq.get(b, "need_rwrite") == 0 || kMrReq.get(b, "need_rread") != 0 ||
        kMrReq.get(b, "need_atomic") != 0)
      return out;
    if (len == 0)
      kMrRsp.set(out, "ok", 1);
    else if (region_table.check(key, static_cast<uint32_t>(kMrReq.get(b, "pd")), roce::kRemoteWrite,
                                va, len) != nullptr) {
      for (const Region& r : regions) {
        if (r.rkey != key) continue;
        kMrRsp.set(out, "ok", !r.refused);
        kMrRsp.set(out, "refused", r.refused);
        kMrRsp.set(out, "iova", r.iova() + (va - r.va));
        kMrRsp.set(out, "target", r.refused ? 3 : r.target);
      }
    }
    return out;
  }

  void sample() {
    if (top.rcv_wr_valid) recv[top.rcv_wr_qpn] = read_pin(top.rcv_wr);
    counts["unknown"] += top.cnt_rx_unknown_qp_o;
    counts["pkey"] += top.cnt_rx_pkey_errors_o;
    counts["addr"] += top.cnt_rx_addr_errors_o;
    counts["requests"] += top.cnt_rx_requests_o;
    counts["duplicates"] += top.cnt_rx_duplicates_o;
    counts["ahead"] += top.cnt_rx_out_of_order_o;
    counts["refused"] += top.cnt_doorbell_refused_o;
    counts["flushed"] += top.cnt_msgs_flushed_o;
    if (top.req_valid && top.req_ready) {
      REQUIRE(!in_flight.empty());
      feed(in_flight.front());
      taken.push_back(in_flight.front().frame);
      in_flight.pop_front();
    }
    if (top.rqdb_valid && top.rqdb_ready) feed_doorbell(top.rqdb_qpn, top.rqdb_index);
    if (top.qpi_valid && top.qpi_ready) {
      const Bits order = read_pin(top.qpi);
      if (qps.count(kOrder.get(order, "qpn")))
        order_done(qps[kOrder.get(order, "qpn")], kOrder.get(order, "op"));
    }
  }

  void feed(const Pkt& p) {
    roce::FrameView v;
    roce::parse_frame(p.frame, v);
    Place place{p.qpn, v.psn, v.payload_len, 0, false, false};
    auto it = qps.find(p.qpn);
    if (it == qps.end()) {
      ++want_counts["unknown"];
      want_places.push_back(place);
      return;
    }
    Qp& q = it->second;
    const size_t acks_before = q.model->responses().size();
    const size_t completions_before = q.model->completions().size();
    const roce::RxVerdict verdict = q.model->receive(p.frame);
    ++verdicts[static_cast<size_t>(verdict)];
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
      case roce::RxVerdict::kNakFatal: {
        const auto s = q.model->responses().back().syndrome;
        want_fails.emplace_back(p.qpn, s == 0x62 ? kRemAccess : s == 0x63 ? kRemOp : kRemInvReq);
        q.phase = Qp::kLimbo;
        break;
      }
      default:
        FAIL("verdict " << roce::to_string(verdict));
    }
    for (size_t i = acks_before; i < q.model->responses().size(); ++i) {
      const auto& r = q.model->responses()[i];
      want_acks.push_back({p.qpn, r.psn, r.msn, r.syndrome, verdict != roce::RxVerdict::kExecuted});
    }
    if (verdict == roce::RxVerdict::kExecuted) {
      if (v.info().is_first) {
        write_va[p.qpn] = v.va;
        write_key[p.qpn] = v.rkey;
        q.off_host = false;
      }
      place.write = v.payload_len != 0;
      if (place.write) {
        const Region& r = regions[write_key[p.qpn] >> 8];
        place.addr = r.iova() + (write_va[p.qpn] - r.va);
        q.off_host = q.off_host || r.target != 0;
        write_va[p.qpn] += v.payload_len;
      }
      place.has_cqe = q.model->completions().size() != completions_before;
      if (place.has_cqe) ++q.cons;
    }
    take_completions(q);
    want_places.push_back(place);
  }
  void feed_doorbell(uint64_t qpn, uint16_t index) {
    Qp& q = qps.at(qpn);
    const auto state = kConn.get(q.conn, "state");
    const auto step = static_cast<uint16_t>(index - q.posted_to_model);
    if (state == kReset || step > (1u << kLogRq)) {
      ++want_counts["refused"];
      return;
    }
    for (; q.posted_to_model != index; ++q.posted_to_model)
      q.model->post_recv({.wr_id = q.posted_to_model});
    if (state == kErr) q.cons = q.posted_to_model;
  }
  void order_done(Qp& q, uint64_t op) {
    if (op == kOrderErr) {
      q.cons = q.posted_to_model;
      if (auto_recover) q.timer = bench.cycle() + 1 + random.below(40);
    }
    if (op == kClear) orders->push(order(kOrderRtr, q.qpn, q.model->expected_psn()));
    if (op == kOrderRtr) {
      set_state(q, kRtr);
      q.model->set_state(roce::QpState::kRtr);
      q.phase = Qp::kRun;
    }
  }
  void begin_error(uint64_t qpn) {
    Qp& q = qps.at(qpn);
    q.phase = Qp::kLimbo;
    q.timer = bench.cycle() + 1 + random.below(60);
  }
  // cmd_unit: connection half first, then the order; later a reset.
  void steer() {
    if (orders->pending() != 0) return;
    for (auto& [qpn, q] : qps) {
      if (q.timer == 0 || bench.cycle() < q.timer) continue;
      q.timer = 0;
      if (q.phase == Qp::kLimbo) {
        set_state(q, kErr);
        q.model->set_state(roce::QpState::kErr);
        q.phase = Qp::kErr;
        orders->push(order(kOrderErr, qpn));
      } else if (q.phase == Qp::kErr) {
        take_completions(q);
        set_state(q, kReset);
        start(q, random.chance(0.3) ? 0xFFFFF0 + static_cast<uint32_t>(random.below(16))
                                    : static_cast<uint32_t>(random.bits(24)));
        q.model->set_state(roce::QpState::kReset);
        q.phase = Qp::kReset;
        orders->push(order(kClear, qpn));
      }
      return;
    }
  }
  void on_place(const Bits& p, const Bits& c) {
    const uint64_t qpn = kPlace.get(p, "qpn");
    const bool has_cqe = kPlace.get(p, "has_cqe") != 0;
    if (kPlace.get(p, "alone") == 0) {
      const bool write = kPlace.get(p, "write") != 0;
      got_places.push_back({qpn, kPlace.get(p, "psn"), kPlace.get(p, "len"),
                            write ? kPlace.get(p, "addr") : 0, write, has_cqe});
      REQUIRE(!taken.empty());
      roce::FrameView v;
      roce::parse_frame(taken.front(), v);
      if (write) {
        const uint64_t addr = kPlace.get(p, "addr");
        bool found = false;
        for (Region& r : regions) {
          if (r.target != kPlace.get(p, "target") || addr < r.iova() ||
              addr - r.iova() + v.payload_len > r.dut.size())
            continue;
          std::memcpy(r.dut.data() + (addr - r.iova()), v.payload().data(), v.payload_len);
          found = true;
        }
        CHECK(found);
      }
      taken.pop_front();
    } else {
      CHECK(kPlace.get(p, "write") == 0);
      CHECK(has_cqe);
    }
    if (!has_cqe) return;
    CHECK(kCqeReq.get(c, "qpn") == qpn);
    CHECK(kCqeReq.get(c, "cqn") == qpn + 40);
    qps.at(qpn).got.push_back({kCqeReq.get(c, "wqe_index"), kCqeReq.get(c, "opcode"),
                               kCqeReq.get(c, "status"), kCqeReq.get(c, "byte_count"),
                               kCqeReq.get(c, "imm"), kCqeReq.get(c, "imm_valid") != 0,
                               kCqeReq.get(c, "solicited") != 0, kCqeReq.get(c, "fence") != 0});
  }

  std::map<uint64_t, uint64_t> write_va;
  std::map<uint64_t, uint32_t> write_key;
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
  return s;
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
    const auto room = static_cast<uint16_t>((1 << kLogRq) - static_cast<uint16_t>(d.prod - d.cons));
    const bool open = d.phase == Qp::kRun || d.phase == Qp::kErr;
    if (open && room > 0 && random.chance(0.3))
      w.post(d, static_cast<uint16_t>(random.between(1, room)));
    if (open && random.chance(0.02) && w.rqdb->pending() == 0) {
      w.rqdb->push(
          {d.qpn, static_cast<uint16_t>(d.prod + (random.chance(0.5) ? random.between(9, 40000)
                                                                     : -random.between(1, 20)))});
    }
  }
  w.settle();
}

}  // namespace

TEST_CASE("rx_responder agrees with the reference on random requests of many QPs, without stalls") {
  World w;
  for (unsigned i = 0; i < 6; ++i) w.add_qp(i, 256, i == 0 ? 0xFFFFF0 : i * 1000, i == 3);
  run_random(w, 6000);
  CHECK(w.verdicts[static_cast<size_t>(roce::RxVerdict::kExecuted)] > 2000);
  for (auto v :
       {roce::RxVerdict::kDuplicate, roce::RxVerdict::kNakSequence, roce::RxVerdict::kGapDiscarded,
        roce::RxVerdict::kRnr, roce::RxVerdict::kNakFatal, roce::RxVerdict::kDropAddress,
        roce::RxVerdict::kDropPkey, roce::RxVerdict::kDropTransport, roce::RxVerdict::kDropState,
        roce::RxVerdict::kDropDuplicate}) {
    INFO(roce::to_string(v));
    CHECK(w.verdicts[static_cast<size_t>(v)] > 0);
  }
}

TEST_CASE("rx_responder agrees with the reference under stalls on every side and slow contexts") {
  for (double p : {0.2, 0.6}) {
    World w({.stall = Stall::random(p), .latency_low = 1, .latency_high = 5});
    for (unsigned i = 0; i < 3; ++i) w.add_qp(i, i == 1 ? 512 : 256, 0xFFFFFF - i * 7, i == 2);
    run_random(w, 2000);
  }
}

TEST_CASE(
    "rx_responder takes a request every three cycles, on one QP and on many, also with "
    "completions") {
  for (unsigned n : {1u, 4u}) {
    for (bool imm : {false, true}) {
      World w;
      for (unsigned i = 0; i < n; ++i) w.add_qp(i, 1024, 0xFFFFFC);
      for (unsigned i = 0; i < n; ++i) w.post(w.qps[i], 8);
      w.settle();
      const uint64_t start = w.bench.cycle();
      for (unsigned i = 0; i < 8 * n; ++i)
        w.send(w.packet(write_only(w.qps[i % n], 0xFFFFFC + i / n, w.regions[0], 64, imm), 64));
      w.settle();
      const auto& c = w.req->cycles();
      CHECK(c.back() - c.front() == 3 * (c.size() - 1));
      CHECK(w.places->cycles().front() - c.front() == 3);
      CHECK(c.front() - start <= 2);
    }
  }
}

TEST_CASE("a SEND at the expected PSN is answered with NAK invalid request and fails the QP") {
  for (unsigned op : {0x00u, 0x04u, 0x05u, 0x17u}) {
    World w;
    Qp& q = w.add_qp(2, 256, 77);
    w.auto_recover = false;
    auto s = write_only(q, 77, w.regions[0], 10);
    s.opcode = static_cast<uint8_t>(op);
    const Pkt p = w.packet(s, op == 0 ? 256 : 10);
    w.in_flight.clear();
    w.req->push(p);
    // The reference executes SENDs, so it is not asked here.
    w.in_flight.push_back(w.packet(write_only(q, 77 + 5, w.regions[0], 10), 10));
    w.bench.tick(40);
    REQUIRE(w.got_acks.size() == 1);
    CHECK(w.got_acks[0] == Ack{2, 77, 0, 0x61, true});
    REQUIRE(w.got_fails.size() == 1);
    CHECK(w.got_fails[0] == std::pair<uint64_t, uint64_t>(2, kRemInvReq));
    CHECK(w.got_places.size() == 1);
    CHECK(!w.got_places[0].write);
  }
}

TEST_CASE(
    "a region whose target is refused gives NAK remote operational error, and nothing is written") {
  World w;
  Qp& q = w.add_qp(1, 256, 5);
  w.auto_recover = false;
  w.in_flight.push_back(w.packet(write_only(q, 4, w.regions[0], 10), 10));
  w.req->push(w.packet(write_only(q, 5, w.regions[7], 10), 10));
  w.bench.tick(40);
  REQUIRE(w.got_acks.size() == 1);
  CHECK(w.got_acks[0] == Ack{1, 5, 0, 0x63, true});
  CHECK(w.got_fails == std::vector<std::pair<uint64_t, uint64_t>>{{1, kRemOp}});
  CHECK(!w.got_places.at(0).write);
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
    "the flush of the receive queue follows the completions before it and stops at the producer") {
  World w;
  Qp& q = w.add_qp(3, 256, 9);
  w.post(q, 6);
  w.settle();
  w.places->set_stall(Stall::always());  // rx_placer is far behind
  w.send(w.packet(write_only(q, 9, w.regions[0], 0, true), 0));
  w.send(w.packet(write_only(q, 10, w.regions[0], 8, true), 8));
  w.bench.tick(30);
  w.set_state(q, kErr);
  w.auto_recover = false;
  q.model->set_state(roce::QpState::kErr);
  q.phase = Qp::kErr;
  w.orders->push(order(kOrderErr, 3));
  w.bench.tick(50);
  CHECK(w.orders->pending() == 1);  // it waits, and nothing is lost
  w.places->set_stall(Stall::none());
  w.settle();
  REQUIRE(q.got.size() == 6);
  for (unsigned i = 0; i < 6; ++i) CHECK(q.got[i].index == i);
  CHECK(w.counts["flushed"] == 4);
  // A doorbell in ERR flushes what it announces at once.
  w.post(q, 3);
  w.settle();
  CHECK(q.got.size() == 9);
}

TEST_CASE("a flood of doorbells does not hold up packets, nor packets an order") {
  World w;
  Qp& q = w.add_qp(0, 256, 0);
  Qp& noisy = w.add_qp(1, 256, 0);
  for (int i = 0; i < 400; ++i) w.rqdb->push({noisy.qpn, 0});
  for (unsigned i = 0; i < 100; ++i) w.send(w.packet(write_only(q, i, w.regions[0], 8), 8));
  w.bench.wait(
      "packets", [&] { return w.req->pending() == 50; }, 50 * 6 + 10);
  w.orders->push(order(kOrderKick, 0));
  w.bench.wait(
      "order", [&] { return w.orders->pending() == 0; }, 20);
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
  uint64_t prod = 0;
  w.top.q_rq_qpn_i = 4;
  w.bench.tick(2);
  CHECK(w.top.q_rq_prod_o == 5);
  w.set_state(q, kReset);
  w.start(q, 7);
  q.model->set_state(roce::QpState::kReset);
  w.orders->push(order(kClear, 4));  // the bench orders RTR behind it
  w.settle();
  w.bench.tick(2);
  prod = w.top.q_rq_prod_o;
  CHECK(prod == 0);
  const Bits& r = w.recv[4];
  CHECK(kRecv.get(r, "epsn") == 7);
  for (const char* f : {"msn", "nak_sent", "in_write", "rq_cons", "failed", "off_host"})
    CHECK(kRecv.get(r, f) == 0);
  w.send(w.packet(write_only(q, 7, w.regions[0], 8), 8));
  w.settle();
}

TEST_CASE("what was posted in INIT is there in RTR") {
  World w;
  Qp& q = w.add_qp(5, 256, 3);
  w.set_state(q, kInit);
  q.model->set_state(roce::QpState::kInit);
  w.post(q, 2);
  w.send(w.packet(write_only(q, 3, w.regions[0], 8, true), 8));  // dropped
  w.settle();
  CHECK(w.got_acks.empty());
  w.orders->push(order(kOrderRtr, 5, 3));
  w.settle();
  w.send(w.packet(write_only(q, 3, w.regions[0], 8, true), 8));
  w.send(w.packet(write_only(q, 4, w.regions[0], 8, true), 8));
  w.send(w.packet(write_only(q, 5, w.regions[0], 8, true), 8));
  w.settle();
  REQUIRE(w.got_acks.size() == 3);
  CHECK(w.got_acks[2].syndrome == (0x20 | (12 + 5)));
}

TEST_CASE("a reset in the middle of work leaves an idle block that starts anew") {
  World w({.stall = Stall::random(0.3), .latency_low = 1, .latency_high = 4});
  auto random = rng("when");
  for (int round = 0; round < 5; ++round) {
    w.qps.clear();
    w.recv.clear();
    for (unsigned i = 0; i < 3; ++i) w.add_qp(i, 256, 10 + i);
    for (unsigned i = 0; i < 3; ++i) w.post(w.qps[i], 4);
    for (unsigned i = 0; i < 20; ++i) w.emit(w.qps[i % 3]);
    w.bench.tick(random.between(5, 60));
    w.bench.reset();
    w.in_flight.clear();
    w.taken.clear();
    w.want_acks = w.got_acks;
    w.want_places = w.got_places;
    w.want_fails = w.got_fails;
    w.want_counts = {};
    w.counts = {};
    w.qps.clear();
    w.recv.clear();
    for (Region& r : w.regions) r.dut = r.model;
    w.bench.wait(
        "init", [&] { return w.top.init_done_o != 0; }, 40);
    Qp& q = w.add_qp(0, 256, 42);
    w.send(w.packet(write_only(q, 42, w.regions[0], 30), 30));
    w.settle();
    CHECK(w.got_acks.back() == Ack{0, 42, 1, 0x1F, false});
  }
}
