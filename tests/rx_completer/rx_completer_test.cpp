// SPDX-License-Identifier: Apache-2.0
//
// rx_completer against a model of the rules of the fact sheet (section 3): which messages an ACK or
// NAK completes, with which status, in which order; what a failed QP flushes; what is ignored. The
// messages stand in plain lists.
#include <Vrx_completer.h>

#include <array>
#include <deque>
#include <map>
#include <optional>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

constexpr uint32_t kMask = 0xFFFFFF;
int32_t diff(uint32_t a, uint32_t b) {
  const uint32_t d = (a - b) & kMask;
  return d & 0x800000 ? static_cast<int32_t>(d) - 0x1000000 : static_cast<int32_t>(d);
}

struct Cqe {
  uint64_t index = 0, opcode = 0, status = 0, bytes = 0, syndrome = 0;
  bool operator==(const Cqe&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Cqe& c) {
  return out << "index " << c.index << std::hex << " op " << c.opcode << " status " << c.status
             << " syndrome " << c.syndrome << std::dec << " bytes " << c.bytes;
}

struct Msg {
  uint64_t kind = kMsgWrite;
  bool signaled = true;
  uint16_t index = 0;
  uint32_t first = 0, last = 0, bytes = 0;
  uint64_t status = 0;  // MSG_FAILED
  bool nudged = false;  // its nudge was taken (MSG_LOCAL and MSG_FAILED)
  uint64_t id = 0;
};

struct Qp {
  uint64_t qpn = 0;
  Bits conn, path;
  bool ipv6 = false;
  uint32_t next = 0;  // next PSN to send
  uint16_t index = 0;
  std::deque<Msg> pool;   // as the block sees it
  std::deque<Msg> model;  // as the rules see it
  uint32_t una = 0;
  bool failed = false;
  std::vector<Cqe> got, want;
  std::vector<bool> want_may_flush, want_silent;  // of each: see settle()
  uint64_t pops = 0, completed = 0;
  enum { kRun, kFailing, kError, kIdle } phase = kRun;
  uint64_t timer = 0;
};

struct Config {
  Stall stall;
  unsigned low = 1, high = 1;
};

class World {
 public:
  explicit World(const Config& config = {})
      : top(bench.top()),
        cp(
            bench, "cp", {top.cp_lk_valid, top.cp_lk_ready, top.cp_ctx_valid},
            [this] {
              return qps.count(top.cp_lk_qpn) ? qps[top.cp_lk_qpn].conn : Bits(kConn.width());
            },
            [this](const Bits& b) { write_pin(top.cp_ctx, b); }),
        cps(
            bench, "cps", {top.cps_lk_valid, top.cps_lk_ready, top.cps_ctx_valid},
            [this] {
              return kSend.pack(
                  {{"next_psn", qps.count(top.cps_lk_qpn) ? qps[top.cps_lk_qpn].next : 0}});
            },
            [this](const Bits& b) { write_pin(top.cps_ctx, b); }),
        ack(
            bench, "ack", {top.ack_lk_valid, top.ack_lk_ready, top.ack_ctx_valid},
            [this] {
              return half.count(top.ack_lk_qpn) ? half[top.ack_lk_qpn] : Bits(kAckHalf.width());
            },
            [this](const Bits& b) { write_pin(top.ack_ctx, b); }),
        path(
            bench, "cpp", {top.cpp_lk_valid, top.cpp_lk_ready, top.cpp_valid},
            [this] {
              const uint64_t index = top.cpp_lk_index - 300u;
              return qps.count(index) ? qps[index].path : Bits(kPath.width());
            },
            [this](const Bits& b) { write_pin(top.cpp, b); }),
        head(
            bench, "hd", {top.hd_lk_valid, top.hd_lk_ready, top.hd_valid},
            [this] {
              // Empty: the top bit says so.
              if (!qps.count(top.hd_lk_qpn) || qps[top.hd_lk_qpn].pool.empty())
                return Bits(kMsg.width());
              return message(qps[top.hd_lk_qpn].pool.front());
            },
            [this](const Bits& b) {
              top.hd_empty = kMsg.get(b, "next_index") == 0;
              write_pin(top.hd, b);
            }),
        resp(
            bench, "resp", top.resp_valid, top.resp_ready,
            [this](const Bits& b) { write_pin(top.resp, b); }, config.stall),
        terr(
            bench, "terr", top.terr_valid, top.terr_ready,
            [this](const std::array<uint64_t, 3>& t) {
              top.terr_qpn = static_cast<uint32_t>(t[0]);
              top.terr_index = static_cast<uint16_t>(t[1]);
              top.terr_status = static_cast<uint8_t>(t[2]);
            },
            config.stall),
        nudge(bench, "nudge", top.nudge_valid, top.nudge_ready, top.nudge_qpn, config.stall),
        orders(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi),
        cqes(
            bench, "cqe", top.cqe_valid, top.cqe_ready, [this] { return read_pin(top.cqe); },
            config.stall),
        fails(
            bench, "fail", top.fail_valid, top.fail_ready, [this] { return read_pin(top.fail); },
            config.stall) {
    for (LookupServer* s : {&cp, &cps, &ack, &path, &head}) {
      s->set_stall(config.stall);
      s->set_latency(config.low, config.high);
    }
    head.set_latency(config.low + 1, config.high + 1);  // as msg_pool
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { steer(); });
    cqes.on_item([this](const Bits& b) {
      Qp& q = qps.at(kCqeReq.get(b, "qpn"));
      CHECK(kCqeReq.get(b, "cqn") == q.qpn + 60);
      q.got.push_back({kCqeReq.get(b, "wqe_index"), kCqeReq.get(b, "opcode"),
                       kCqeReq.get(b, "status"), kCqeReq.get(b, "byte_count"),
                       kCqeReq.get(b, "syndrome")});
    });
    fails.on_item([this](const Bits& b) {
      got_fails.emplace_back(kFail.get(b, "qpn"), kFail.get(b, "cause"));
      CHECK(kFail.get(b, "event_type") == kEvQpFatal);
      Qp& q = qps.at(kFail.get(b, "qpn"));
      if (auto_recover) {
        q.phase = Qp::kFailing;
        q.timer = bench.cycle() + 1 + random.below(50);
      }
    });
    bench.reset();
  }

  Qp& add_qp(uint64_t qpn, uint32_t psn, bool ipv6 = false) {
    Qp& q = qps[qpn];
    q.qpn = qpn;
    q.ipv6 = ipv6;
    q.path = kPath.pack({{"valid", 1}, {"ipv6", ipv6}});
    kPath.set_bits(q.path, "sip", address(qpn, 0));
    kPath.set_bits(q.path, "dip", address(qpn, 1));
    q.conn = kConn.pack({{"exists", 1},
                         {"state", kRts},
                         {"pkey", 0x8001},
                         {"path", qpn + 300},
                         {"send_cqn", qpn + 60}});
    start(q, psn);
    half[qpn] = kAckHalf.pack({{"una_psn", psn}});
    return q;
  }
  void start(Qp& q, uint32_t psn) {
    q.next = q.una = psn;
    q.failed = false;
    q.pool.clear();
    q.model.clear();
  }
  static Bits address(uint64_t qpn, unsigned side) {
    Bits b(128, 0x0A000000 + (qpn << 8) + side);
    b.set(100, 16, 0xFE80);
    return b;
  }
  // Into the list of the QP, as sq_engine does it.
  Msg& push(Qp& q, uint64_t kind, unsigned psns, bool signaled = true, uint64_t status = kFlush) {
    Msg m;
    m.kind = kind;
    m.signaled = signaled;
    m.index = q.index++;
    m.id = ++ids_;
    m.bytes = static_cast<uint32_t>(random.bits(20));
    m.status = status;
    if (kind == kMsgWrite) {
      m.first = q.next;
      m.last = (q.next + psns - 1) & kMask;
      q.next = (q.next + psns) & kMask;
    } else {
      m.first = q.next;
      m.last = (q.next - 1) & kMask;
      nudge.push(q.qpn);
    }
    q.pool.push_back(m);
    q.model.push_back(m);
    return q.model.back();
  }
  Bits response(const Qp& q, uint32_t psn, uint8_t syndrome) {
    Bits b = kMeta.pack({{"opcode", 0x11},
                         {"pkey", 0x8001},
                         {"dest_qpn", q.qpn},
                         {"psn", psn & kMask},
                         {"syndrome", syndrome},
                         {"ipv6", q.ipv6},
                         {"msn", random.bits(24)}});
    kMeta.set_bits(b, "sip", address(q.qpn, 1));
    kMeta.set_bits(b, "dip", address(q.qpn, 0));
    return b;
  }
  void send(const Bits& b) {
    in_flight.push_back(b);
    resp.push(b);
  }
  void local_error(const Qp& q, uint64_t index, uint64_t status) {
    terr.push({q.qpn, index, status});
  }

  void settle() {
    bench.wait(
        "the block to be idle",
        [this] {
          if (resp.pending() + terr.pending() + nudge.pending() + orders.pending() != 0)
            return false;
          for (auto& [qpn, q] : qps) {
            if (auto_recover && q.phase != Qp::kRun) return false;
          }
          return true;
        },
        300000);
    bench.tick(80);
    CHECK(got_fails == want_fails);
    for (auto& [qpn, q] : qps) {
      INFO("QP " << qpn);
      // Between its place at the head and its nudge, a local message may still be flushed by an
      // order.
      std::vector<Cqe> want;
      for (size_t i = 0; i < q.want.size(); ++i) {
        Cqe e = q.want[i];
        const bool here = want.size() < q.got.size() && q.got[want.size()].index == e.index;
        if (q.want_may_flush[i] && here && q.got[want.size()].status == kFlushErr) {
          e.status = kFlushErr;
          e.opcode = kCqeReqErr;
        } else if (q.want_silent[i]) {
          continue;
        }
        want.push_back(e);
      }
      CHECK(difference(q.got, want) == "");
      CHECK(q.pool.size() == q.model.size());
      CHECK(kAckHalf.get(half[qpn], "una_psn") == q.una);
      CHECK(kAckHalf.get(half[qpn], "failed") == q.failed);
    }
    for (const auto& [name, count] : want_counts) {
      INFO(name);
      CHECK(counts[name] == count);
    }
  }

  Bench<Vrx_completer> bench;
  Vrx_completer& top;
  LookupServer cp, cps, ack, path, head;
  StreamSource<Bits> resp;
  StreamSource<std::array<uint64_t, 3>> terr;
  StreamSource<uint64_t> nudge;
  StreamSource<Bits> orders;
  StreamSink<Bits> cqes, fails;
  Rng random = rng("traffic");
  std::map<uint64_t, Qp> qps;
  std::map<uint64_t, Bits> half;
  std::deque<Bits> in_flight;
  bool auto_recover = true;
  std::vector<std::pair<uint64_t, uint64_t>> got_fails, want_fails;
  std::map<std::string, uint64_t> counts, want_counts;

 private:
  static Bits message(const Msg& m) {
    // next_index is not used by the block; here it marks a list that is not empty.
    return kMsg.pack({{"kind", m.kind},
                      {"signaled", m.signaled},
                      {"wqe_index", m.index},
                      {"next_index", 1},
                      {"first_psn", m.first},
                      {"last_psn", m.last},
                      {"bytes", m.bytes},
                      {"status", m.status}});
  }
  void sample() {
    counts["ack"] += top.cnt_rx_ack_o;
    counts["nak"] += top.cnt_rx_nak_o;
    counts["ghost"] += top.cnt_rx_ghost_acks_o;
    counts["unknown"] += top.cnt_rx_unknown_qp_o;
    counts["pkey"] += top.cnt_rx_pkey_errors_o;
    counts["addr"] += top.cnt_rx_addr_errors_o;
    if (top.ack_wr_valid) half[top.ack_wr_qpn] = read_pin(top.ack_wr);
    if (top.pop_valid) {
      Qp& q = qps.at(top.pop_qpn);
      if (!q.pool.empty()) q.pool.pop_front();
      ++q.pops;
    }
    if (top.nudge_valid && top.nudge_ready) on_nudge(qps.at(top.nudge_qpn));
    if (top.terr_valid && top.terr_ready)
      on_local_error(qps.at(top.terr_qpn), top.terr_index, top.terr_status);
    if (top.qpi_valid && top.qpi_ready) {
      const Bits o = read_pin(top.qpi);
      on_order_done(qps.at(kOrder.get(o, "qpn")), kOrder.get(o, "op"));
    }
    if (top.resp_valid && top.resp_ready) {
      on_packet(in_flight.front());
      in_flight.pop_front();
    }
  }

  // -------------------------------------------------------------------------------------------------
  // the rules
  void complete(Qp& q, const Msg& m, uint64_t status, uint64_t syndrome = 0) {
    const bool ok = status == kSuccess;
    ++q.completed;
    const bool may_flush = m.kind == kMsgLocal && !m.nudged && ok;
    if (!m.signaled && ok && !may_flush) return;
    q.want.push_back({m.index, ok ? kCqeReqOk : kCqeReqErr, status, m.bytes, syndrome});
    q.want_may_flush.push_back(may_flush);
    q.want_silent.push_back(!m.signaled && ok);
  }
  // Messages that need no packet complete when everything before them has.
  void locals(Qp& q) {
    while (!q.failed && !q.model.empty() && q.model.front().kind != kMsgWrite) {
      const Msg m = q.model.front();
      q.model.pop_front();
      complete(q, m, m.kind == kMsgLocal ? kSuccess : m.status);
      if (m.kind == kMsgFailed) q.failed = true;
    }
    if (q.failed) flush(q);
  }
  void flush(Qp& q) {
    q.failed = true;
    while (!q.model.empty()) {
      const Msg m = q.model.front();
      q.model.pop_front();
      complete(q, m, m.kind == kMsgFailed && !q_nak_ ? m.status : kFlushErr);
    }
  }
  void cover(Qp& q, uint32_t psn) {
    locals(q);
    while (!q.failed && !q.model.empty() && q.model.front().kind == kMsgWrite &&
           diff(psn, q.model.front().last) >= 0) {
      const Msg m = q.model.front();
      q.model.pop_front();
      complete(q, m, kSuccess);
      locals(q);
    }
    if (!q.failed)
      q.una = (psn + 1) & kMask;
    else
      q.una = (psn + 1) & kMask;
  }
  void on_packet(const Bits& b) {
    auto it = qps.find(kMeta.get(b, "dest_qpn"));
    if (it == qps.end()) {
      ++want_counts["unknown"];
      return;
    }
    Qp& q = it->second;
    const auto state = kConn.get(q.conn, "state");
    if ((state != kRts && state != kSqd) || q.failed) {
      ++want_counts["unknown"];
      return;
    }
    if (!(kMeta.get_bits(b, "sip") == address(q.qpn, 1)) ||
        !(kMeta.get_bits(b, "dip") == address(q.qpn, 0)) || (kMeta.get(b, "ipv6") != 0) != q.ipv6) {
      ++want_counts["addr"];
      return;
    }
    if ((kMeta.get(b, "pkey") & 0x7FFF) != 1) {
      ++want_counts["pkey"];
      return;
    }
    const auto psn = static_cast<uint32_t>(kMeta.get(b, "psn"));
    const auto syndrome = kMeta.get(b, "syndrome");
    const unsigned type = syndrome >> 5 & 3, code = syndrome & 31;
    const bool window = diff(psn, q.una) >= 0 && diff(q.next, psn) > 0;
    const bool is_ack = type == 0, is_nak = type == 1 || (type == 3 && code < 4);
    if (kMeta.get(b, "opcode") != 0x11 || !window || (!is_ack && !is_nak)) {
      ++want_counts["ghost"];
      return;
    }
    if (is_ack) {
      ++want_counts["ack"];
      cover(q, psn);
      return;
    }
    ++want_counts["nak"];
    cover(q, (psn - 1) & kMask);
    if (q.failed) return;
    const uint64_t status = type == 1   ? kRnrExc
                            : code == 0 ? kRetryExc
                            : code == 1 ? kRemInvReq
                            : code == 2 ? kRemAccess
                                        : kRemOp;
    const Msg m = q.model.front();
    q.model.pop_front();
    complete(q, m, status, syndrome);
    want_fails.emplace_back(q.qpn, status);
    q_nak_ = true;
    flush(q);
    q_nak_ = false;
  }
  void on_nudge(Qp& q) {
    for (auto* list : {&q.model, &q.pool}) {
      for (Msg& m : *list) {
        if (m.kind != kMsgWrite && !m.nudged) {
          m.nudged = true;
          break;
        }
      }
    }
    if (q.failed) flush(q);
    locals(q);
  }
  void on_local_error(Qp& q, uint64_t index, uint64_t status) {
    const auto state = kConn.get(q.conn, "state");
    if ((state != kRts && state != kSqd) || q.failed) {
      // The QP fails or has failed for another reason; what is there is flushed with it.
      if (q.failed)
        flush(q);
      else
        locals(q);
      return;
    }
    q.failed = true;
    while (!q.model.empty()) {
      const Msg m = q.model.front();
      q.model.pop_front();
      complete(q, m,
               m.kind == kMsgFailed ? m.status
               : m.index == index   ? status
                                    : uint64_t{kFlushErr});
    }
    want_fails.emplace_back(q.qpn, status);
  }
  void on_order_done(Qp& q, uint64_t op) {
    if (op == kOrderErr) {
      flush(q);
      if (auto_recover) q.timer = bench.cycle() + 1 + random.below(40);
    } else if (op == kClear) {
      orders.push(order(kOrderRts, q.qpn, q.next));
    } else if (op == kOrderRts) {
      kConn.set(q.conn, "state", kRts);
      q.phase = Qp::kRun;
    }
  }
  void steer() {
    if (orders.pending() != 0) return;
    for (auto& [qpn, q] : qps) {
      if (q.timer == 0 || bench.cycle() < q.timer) continue;
      q.timer = 0;
      if (q.phase == Qp::kFailing) {
        kConn.set(q.conn, "state", kErr);
        q.phase = Qp::kError;
        orders.push(order(kOrderErr, qpn));
      } else if (q.phase == Qp::kError) {
        // sq_engine and msg_pool were told before: no messages, no nudges on the way.
        if (nudge.pending() != 0 || terr.pending() != 0) {
          q.timer = bench.cycle() + 5;
          return;
        }
        kConn.set(q.conn, "state", kReset);
        start(q, random.chance(0.4) ? 0xFFFFF0 + static_cast<uint32_t>(random.below(16))
                                    : static_cast<uint32_t>(random.bits(24)));
        q.phase = Qp::kIdle;
        orders.push(order(kClear, qpn));
      }
      return;
    }
  }

  uint64_t ids_ = 0;
  bool q_nak_ = false;
};

void run_random(World& w, unsigned steps) {
  auto random = rng("schedule");
  for (unsigned i = 0; i < steps; ++i) {
    w.bench.wait(
        "room", [&] { return w.resp.pending() < 5 && w.nudge.pending() < 5; }, 100000);
    Qp& q = w.qps.at(random.below(w.qps.size()));
    if (q.phase == Qp::kRun || (q.phase != Qp::kIdle && random.chance(0.2))) {
      const bool alive = q.phase == Qp::kRun && !q.failed;
      const unsigned pick = static_cast<unsigned>(random.below(20));
      // sq_engine sends nothing more once it was told of ERR.
      if (pick < 12 && q.pool.size() < 12 && q.phase != Qp::kError)
        w.push(q, kMsgWrite, static_cast<unsigned>(random.between(1, 5)), random.chance(0.7));
      if (pick == 12) w.push(q, kMsgLocal, 0, random.chance(0.7));
      if (pick == 13 && alive && random.chance(0.2)) {
        // sq_engine reports its own failures; cmd_unit then acts as for any other.
        w.push(q, kMsgFailed, 0, true, kLocProt);
        q.phase = Qp::kFailing;
        q.timer = w.bench.cycle() + 1 + random.below(50);
      }
      if (pick == 14 && !alive) w.push(q, kMsgFailed, 0, true, kFlush);
      if (pick == 15 && alive && random.chance(0.1) && !q.model.empty()) {
        const Msg& m = q.model[random.below(q.model.size())];
        if (m.kind == kMsgWrite) w.local_error(q, m.index, kLocProt);
      }
    }
    if (random.chance(0.7)) {
      Qp& r = w.qps.at(random.below(w.qps.size()));
      uint32_t psn = r.una;
      const uint32_t open = (r.next - r.una) & kMask;
      if (open > 0) psn += static_cast<uint32_t>(random.below(open));
      if (random.chance(0.1)) psn = r.next + static_cast<uint32_t>(random.below(3));
      if (random.chance(0.1)) psn = r.una - 1 - static_cast<uint32_t>(random.below(3));
      if (random.chance(0.02)) psn = static_cast<uint32_t>(random.bits(24));
      uint8_t syndrome = static_cast<uint8_t>(random.below(32));
      if (random.chance(0.05)) syndrome = static_cast<uint8_t>(0x20 | random.below(32));
      if (random.chance(0.05)) syndrome = static_cast<uint8_t>(0x60 | random.below(8));
      if (random.chance(0.02)) syndrome = static_cast<uint8_t>(0x40 | random.below(32));
      Bits b = w.response(r, psn, syndrome);
      if (random.chance(0.02)) kMeta.set(b, "pkey", 0x7FFF);
      if (random.chance(0.02)) kMeta.set(b, "pkey", 0x0001);  // limited member, still good
      if (random.chance(0.02)) kMeta.set_bits(b, "sip", World::address(r.qpn, 3));
      if (random.chance(0.02)) kMeta.set_bits(b, "dip", World::address(r.qpn, 3));
      if (random.chance(0.02)) kMeta.set(b, "ipv6", !r.ipv6);
      if (random.chance(0.02)) kMeta.set(b, "dest_qpn", random.between(100, kMask));
      if (random.chance(0.02)) kMeta.set(b, "opcode", random.between(0x0D, 0x12));
      w.send(b);
    }
  }
  w.settle();
}

}  // namespace

TEST_CASE(
    "rx_completer agrees with the rules on random messages, responses, local errors and orders") {
  World w;
  for (unsigned i = 0; i < 5; ++i) w.add_qp(i, i == 0 ? 0xFFFFF8 : i * 100, i == 2);
  run_random(w, 5000);
  CHECK(w.want_fails.size() > 30);
  for (const char* name : {"ack", "nak", "ghost", "unknown", "pkey", "addr"}) {
    INFO(name);
    CHECK(w.want_counts[name] > 10);
  }
}

TEST_CASE("rx_completer agrees with the rules under stalls on every side and slow lookups") {
  for (double p : {0.2, 0.6}) {
    World w({.stall = Stall::random(p), .low = 1, .high = 6});
    for (unsigned i = 0; i < 3; ++i) w.add_qp(i, 0xFFFFFF - i, i == 2);
    run_random(w, 2500);
  }
}

TEST_CASE("an ACK of one message takes 4 cycles, each further message 3 more") {
  for (unsigned covered : {1u, 2u, 5u}) {
    for (unsigned n : {1u, 3u}) {
      World w;
      for (unsigned i = 0; i < n; ++i) w.add_qp(i, 0xFFFFF0);
      for (unsigned k = 0; k < 10; ++k) {
        for (unsigned i = 0; i < n; ++i) {
          Qp& q = w.qps[i];
          for (unsigned j = 0; j < covered; ++j) w.push(q, kMsgWrite, 1);
          w.send(w.response(q, q.next - 1, 0x1F));
        }
      }
      w.settle();
      const auto& c = w.resp.cycles();
      CHECK(c.back() - c.front() == (4 + 3 * (covered - 1)) * (c.size() - 1));
      CHECK(w.cqes.cycles().front() - c.front() == 4);
    }
  }
}

TEST_CASE(
    "a NAK completes what came before it, fails its message with its status and flushes the rest") {
  struct Case {
    uint8_t syndrome;
    uint64_t status;
  };
  for (const Case c : {Case{0x60, kRetryExc}, Case{0x61, kRemInvReq}, Case{0x62, kRemAccess},
                       Case{0x63, kRemOp}, Case{0x2C, kRnrExc}}) {
    World w;
    Qp& q = w.add_qp(1, 0xFFFFFE);
    w.auto_recover = false;
    for (int i = 0; i < 4; ++i) w.push(q, kMsgWrite, 2, i != 0);
    w.send(w.response(q, 0x000001, c.syndrome));  // the second packet of the second message
    w.settle();
    REQUIRE(q.got.size() == 3);
    CHECK(q.got[0] == Cqe{1, kCqeReqErr, c.status, q.got[0].bytes, c.syndrome});
    CHECK(q.got[1].status == kFlushErr);
    CHECK(w.got_fails == std::vector<std::pair<uint64_t, uint64_t>>{{1, c.status}});
    CHECK(kAckHalf.get(w.half[1], "failed") == 1);
    // What comes in later is flushed too, and ACKs of a failed QP change nothing.
    w.send(w.response(q, 3, 0x1F));
    w.push(q, kMsgFailed, 0, true, kFlush);
    w.settle();
    CHECK(q.got.size() == 4);
  }
}

TEST_CASE("messages without packets wait for those before them and complete in their place") {
  World w;
  Qp& q = w.add_qp(2, 10);
  w.push(q, kMsgWrite, 3);
  w.push(q, kMsgLocal, 0);
  w.push(q, kMsgLocal, 0, false);
  w.push(q, kMsgWrite, 1);
  w.push(q, kMsgLocal, 0);
  w.settle();
  CHECK(q.got.empty());
  w.send(w.response(q, 11, 0x1F));
  w.settle();
  CHECK(q.got.empty());
  w.send(w.response(q, 12, 0x1F));
  w.settle();
  CHECK(q.got.size() == 2);
  w.send(w.response(q, 13, 0x1F));
  w.settle();
  CHECK(q.got.size() == 4);
  w.push(q, kMsgLocal, 0);
  w.settle();
  CHECK(q.got.size() == 5);
}

TEST_CASE("a local error names its message, flushes the others and asks once for the QP to fail") {
  World w;
  Qp& q = w.add_qp(3, 10);
  w.auto_recover = false;
  for (int i = 0; i < 3; ++i) w.push(q, kMsgWrite, 1, false);
  w.local_error(q, 1, kLocProt);
  w.local_error(q, 2, kLocProt);
  w.settle();
  REQUIRE(q.got.size() == 3);
  CHECK(q.got[0].status == kFlushErr);
  CHECK(q.got[1].status == kLocProt);
  CHECK(q.got[2].status == kFlushErr);
  CHECK(w.got_fails.size() == 1);
}

TEST_CASE("a flood of nudges does not hold up ACKs") {
  World w;
  Qp& q = w.add_qp(0, 0);
  Qp& noisy = w.add_qp(1, 0);
  for (int i = 0; i < 300; ++i) w.nudge.push(noisy.qpn);
  for (int i = 0; i < 40; ++i) {
    w.push(q, kMsgWrite, 1);
    w.send(w.response(q, q.next - 1, 0x1F));
  }
  w.bench.wait(
      "ACKs", [&] { return w.resp.pending() == 0; }, 40 * 10);
  CHECK(w.nudge.pending() > 200);
  w.settle();
}

TEST_CASE("a full completion queue path holds the walk and loses nothing") {
  World w;
  Qp& q = w.add_qp(0, 0);
  w.cqes.set_stall(Stall::always());
  for (int i = 0; i < 12; ++i) w.push(q, kMsgWrite, 1);
  w.send(w.response(q, 11, 0x1F));
  w.bench.tick(200);
  CHECK(q.pops == 4);
  w.cqes.set_stall(Stall::none());
  w.settle();
  CHECK(q.got.size() == 12);
}

TEST_CASE("a reset in the middle of a walk leaves an idle block") {
  World w({.stall = Stall::random(0.3), .low = 1, .high = 4});
  auto random = rng("when");
  for (int round = 0; round < 6; ++round) {
    w.qps.clear();
    w.half.clear();
    Qp& q = w.add_qp(0, 5);
    for (int i = 0; i < 6; ++i) w.push(q, kMsgWrite, 1);
    w.send(w.response(q, 10, 0x1F));
    w.bench.tick(random.between(1, 40));
    w.bench.reset();
    w.in_flight.clear();
    w.qps.clear();
    w.half.clear();
    w.counts = w.want_counts = {};
    Qp& r = w.add_qp(0, 9);
    w.push(r, kMsgWrite, 1);
    w.send(w.response(r, 9, 0x1F));
    w.settle();
    CHECK(r.got.size() == 1);
  }
}
