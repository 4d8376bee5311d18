// SPDX-License-Identifier: Apache-2.0
//
// rx_completer against requester_model.hpp: responses good and bad, time-outs, RNR waits, spoiled
// frames, local errors and orders at any time; completions on both ways, READ data, rewinds,
// timers, kicks and events. The world around the block plays msg_pool, sq_engine, sq_scheduler,
// rc_timer and mr_table.
#include <Vrx_completer.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "tests/rx_completer/requester_model.hpp"
#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

constexpr uint32_t kBadKey = 0xDEAD;

// Regions by key: bit 0 paged (room up to the next 256-byte border), bits 3:1 target.
Mr region(const LocalSegment& piece) {
  Mr mr;
  if (piece.key == kBadKey) return {.ok = false};
  mr.target = (piece.key >> 1) % 3;
  mr.flat = (piece.key & 1) == 0;
  mr.room = mr.flat ? 1 + piece.key % 7 : 256 - static_cast<uint32_t>(piece.va % 256);
  mr.iova = piece.va ^ (mr.flat ? uint64_t{0x5500000000000000} : (piece.va >> 8 & 0xFF) << 48);
  return mr;
}

struct Qp {
  QpModel model;
  Bits conn, path;
  bool ipv6 = false;
  uint16_t index = 0;
  std::deque<Msg> pool;     // as the block sees it
  std::deque<Msg> waiting;  // behind a message that the block has not been told of
  std::vector<Cqe> cqes;
  uint64_t pops = 0;
  bool stopping = false, halted = false;  // sq_scheduler: rwq taken, rwg sent
  bool replaying = false;
  std::optional<std::pair<uint64_t, uint64_t>> set_off;  // cycle, psn: sq_engine applies rws
  uint16_t set_off_at = 0;
  // rc_timer
  enum { kOff, kAck, kRnr } timer = kOff;
  enum { kRun, kFailing, kError, kIdle } phase = kRun;
  uint64_t due = 0;
};

struct Config {
  Stall stall;
  unsigned low = 1, high = 1;
};

// Acts before the lookups of the same cycle.
struct First : Agent {
  std::function<void()> act;
  void sample() override { act(); }
};

class World {
 public:
  explicit World(const Config& config = {})
      : config_(config),
        top(bench.top()),
        cp(
            bench, "cp", {top.cp_lk_valid, top.cp_lk_ready, top.cp_ctx_valid},
            [this] {
              return qps.count(top.cp_lk_qpn) ? qps[top.cp_lk_qpn].conn : Bits(kConn.width());
            },
            [this](const Bits& b) { write_pin(top.cp_ctx, b); }),
        cps(
            bench, "cps", {top.cps_lk_valid, top.cps_lk_ready, top.cps_ctx_valid},
            [this] {
              if (!qps.count(top.cps_lk_qpn)) return Bits(kSend.width());
              const QpModel& q = qps[top.cps_lk_qpn].model;
              return kSend.pack({{"next_psn", q.next},
                                 {"max_psn", q.max},
                                 {"in_msg", q.in_msg},
                                 {"at_index", q.at},
                                 {"failed", q.sender_failed}});
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
              if (!qps.count(top.hd_lk_qpn) || qps[top.hd_lk_qpn].pool.empty())
                return Bits(kMsg.width() + 768);
              return message(qps[top.hd_lk_qpn].pool.front());
            },
            [this](const Bits& b) {
              const Bits m = b.slice(768, kMsg.width());
              top.hd_empty = kMsg.get(m, "next_index") == 0;
              write_pin(top.hd, m);
              write_pin(top.hd_list, b.slice(0, 768));
            }),
        regions(
            bench, "mr", {top.mrq_valid, top.mrq_ready, top.mrs_valid},
            [this] { return look_up(); }, [this](const Bits& b) { write_pin(top.mrs, b); }),
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
        left(
            bench, "left", top.left_valid, top.left_ready,
            [this](const std::array<uint64_t, 2>& t) {
              top.left_qpn = static_cast<uint32_t>(t[0]);
              top.left_psn = static_cast<uint32_t>(t[1]);
            },
            config.stall),
        tmo(
            bench, "tmo", top.tmo_valid, top.tmo_ready,
            [this](const std::array<uint64_t, 2>& t) {
              top.tmo_qpn = static_cast<uint32_t>(t[0]);
              top.tmo_rnr = t[1] != 0;
            },
            config.stall),
        nudge(bench, "nudge", top.nudge_valid, top.nudge_ready, top.nudge_qpn, config.stall),
        spoil(bench, "spoil", top.spoil_valid, top.spoil_ready, top.spoil_qpn, config.stall),
        rwg(bench, "rwg", top.rwg_valid, top.rwg_ready, top.rwg_qpn, config.stall),
        settled(bench, "settled", top.settled_valid, top.settled_ready, top.settled_qpn,
                config.stall),
        orders(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi),
        cqes(
            bench, "cqe", top.cqe_valid, top.cqe_ready, [this] { return read_pin(top.cqe); },
            config.stall),
        places(
            bench, "cplace", top.cplace_valid, top.cplace_ready,
            [this] {
              Bits b(kPlace.width() + kCqeReq.width());
              b.insert(0, read_pin(top.cplace_cqe).slice(0, kCqeReq.width()));
              b.insert(kCqeReq.width(), read_pin(top.cplace).slice(0, kPlace.width()));
              return b;
            },
            config.stall),
        fails(
            bench, "fail", top.fail_valid, top.fail_ready, [this] { return read_pin(top.fail); },
            config.stall),
        rwq(
            bench, "rwq", top.rwq_valid, top.rwq_ready, [this] { return uint64_t{top.rwq_qpn}; },
            config.stall),
        rws(
            bench, "rws", top.rws_valid, top.rws_ready, [this] { return read_pin(top.rws); },
            config.stall),
        kick(
            bench, "kick", top.kick_valid, top.kick_ready,
            [this] { return uint64_t{top.kick_qpn}; }, config.stall),
        events(
            bench, "ev", top.ev_valid, top.ev_ready, [this] { return read_pin(top.ev); },
            config.stall) {
    for (LookupServer* s : {&cp, &cps, &ack, &path, &head, &regions}) {
      s->set_stall(config.stall);
      s->set_latency(config.low, config.high);
    }
    head.set_latency(config.low + 1, config.high + 1);  // as msg_pool
    regions.set_latency(config.low + 1, config.high + 1);
    first_.act = [this] { early(); };
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { steer(); });
    cqes.on_item([this](const Bits& b) { got_cqe(b, false); });
    places.on_item([this](const Bits& b) { got_place(b); });
    fails.on_item([this](const Bits& b) {
      Qp& q = qps.at(kFail.get(b, "qpn"));
      const uint64_t event = kFail.get(b, "event_type");
      CHECK((event == 0 || event == kEvQpFatal));
      got_fails.emplace_back(q.model.qpn, kFail.get(b, "cause") | (event == 0 ? 0x100 : 0));
      if (auto_recover && q.phase == Qp::kRun) {
        q.phase = Qp::kFailing;
        q.due = bench.cycle() + 1 + random.below(50);
      }
    });
    rwq.on_item([this](uint64_t qpn) {
      Qp& q = qps.at(qpn);
      CHECK_FALSE(q.stopping);
      q.stopping = true;
      ++got_asked[qpn];
      rwg_due_.emplace_back(bench.cycle() + 1 + random.below(60), qpn);
    });
    rws.on_item([this](const Bits& b) {
      Qp& q = qps.at(kRewind.get(b, "qpn"));
      CHECK(q.halted);
      const bool none = kRewind.get(b, "none") != 0;
      Rewind r{none, 0, 0, 0, kRewind.get(b, "rd_done")};
      if (!none) {
        r.index = kRewind.get(b, "wqe_index");
        r.psn = kRewind.get(b, "psn");
        r.skip = kRewind.get(b, "skip");
      }
      got_rewinds[q.model.qpn].push_back(r);
      q.set_off = {bench.cycle() + random.below(5), none ? q.model.max : r.psn};
      q.set_off_at = none ? q.index : static_cast<uint16_t>(r.index);
    });
    kick.on_item([this](uint64_t qpn) {
      ++got_kicks[qpn];
      CHECK(got_kicks[qpn] <= want_kicks[qpn]);
    });
    events.on_item([this](const Bits& b) {
      CHECK(kEvent.get(b, "etype") == 2);
      ++got_drains[kEvent.get(b, "number")];
    });
    top.cfg_dcqcn_i = 1;
    top.cfg_int_unit_i = kUnit;
    bench.reset();
  }
  void set_dcqcn(bool on) { top.cfg_dcqcn_i = dcqcn = on; }

  Qp& add_qp(uint64_t qpn, uint32_t psn, unsigned type = kRc, bool ipv6 = false) {
    Qp& q = qps[qpn];
    q.ipv6 = ipv6;
    q.path = kPath.pack({{"valid", 1}, {"ipv6", ipv6}});
    kPath.set_bits(q.path, "sip", address(qpn, 0));
    kPath.set_bits(q.path, "dip", address(qpn, 1));
    QpModel& m = q.model;
    m.qpn = qpn;
    m.type = type;
    m.mtu = 256u << (qpn % 3);
    m.mr = region;
    q.conn = kConn.pack({{"exists", 1},
                         {"state", kRts},
                         {"qtype", type},
                         {"mtu", qpn % 3 + 1},
                         {"pd", qpn + 7},
                         {"pkey", 0x8001},
                         {"path", qpn + 300},
                         {"timeout", m.timeout},
                         {"retry_cnt", m.retry_cnt},
                         {"rnr_retry", m.rnr_retry},
                         {"dest_qpn", qpn + 900},
                         {"send_cqn", qpn + 60}});
    start(q, psn);
    half[qpn] = kAckHalf.pack({{"una_psn", psn}});
    return q;
  }
  void start(Qp& q, uint32_t psn) {
    q.model.messages.clear();
    q.model.next = q.model.max = psn;
    q.model.in_msg = q.model.sender_failed = false;
    q.model.reset(psn);
    q.pool.clear();
    q.waiting.clear();
    q.stopping = q.halted = q.replaying = false;
    q.model.at = q.index;
    q.set_off.reset();
    std::erase_if(rwg_due_, [&](const auto& e) { return e.second == q.model.qpn; });
  }
  void attributes(Qp& q, unsigned timeout, unsigned retry_cnt, unsigned rnr_retry) {
    q.model.timeout = timeout, q.model.retry_cnt = retry_cnt, q.model.rnr_retry = rnr_retry;
    kConn.set(q.conn, "timeout", timeout);
    kConn.set(q.conn, "retry_cnt", retry_cnt);
    kConn.set(q.conn, "rnr_retry", rnr_retry);
  }
  void state(Qp& q, uint64_t state) {
    kConn.set(q.conn, "state", state);
    q.model.state = static_cast<unsigned>(state);
  }
  static Bits address(uint64_t qpn, unsigned side) {
    Bits b(128, 0x0A000000 + (qpn << 8) + side);
    b.set(100, 16, 0xFE80);
    return b;
  }
  // A message as sq_engine makes it. Those without packets enter with their nudge, in order.
  Msg push(Qp& q, Kind kind, unsigned psns = 1, bool signaled = true, uint64_t status = kFlush,
           std::vector<LocalSegment> segments = {}) {
    Msg m;
    m.kind = kind;
    m.signaled = signaled;
    m.index = q.index++;
    m.status = status;
    m.bytes = static_cast<uint32_t>(random.bits(20));
    m.segments = std::move(segments);
    if (kind == Kind::kAtomic) m.bytes = 8;
    if (m.reads()) {
      if (kind == Kind::kRead) {
        // the last packet short or full; a single one may be empty
        const uint32_t tail = static_cast<uint32_t>(
            random.chance(0.3) ? q.model.mtu : random.between(psns == 1 ? 0 : 1, q.model.mtu));
        m.bytes = (psns - 1) * q.model.mtu + tail;
      }
      if (m.segments.empty()) m.segments = cut(m.bytes, q.model.qpn == 3 ? 0.02 : 0);
    }
    if (kind == Kind::kFailed && q.phase == Qp::kRun) q.model.sender_failed = true;
    if (m.wire()) {
      m.first = q.model.max;
      m.last = (m.first + psns - 1) & kPsnMask;
      q.model.max = (q.model.max + psns) & kPsnMask;
      if (!q.replaying && !q.set_off) q.model.next = q.model.max;
      arm(q);
    } else {
      m.first = q.model.max;
      m.last = (m.first - 1) & kPsnMask;
    }
    if (!q.replaying && !q.set_off) q.model.at = q.index;
    if (!m.wire() || !q.waiting.empty()) {
      q.waiting.push_back(m);
      if (!m.wire()) nudge.push(q.model.qpn);
    } else {
      enter(q, m);
    }
    return m;
  }
  std::vector<LocalSegment> cut(uint32_t bytes, double bad) {
    std::vector<LocalSegment> list;
    const unsigned n = static_cast<unsigned>(random.between(1, 6));
    for (unsigned i = 0; i < n; ++i) {
      LocalSegment s;
      s.key = random.chance(bad) ? kBadKey : static_cast<uint32_t>(random.below(64));
      s.len = i + 1 == n ? bytes : static_cast<uint32_t>(random.below(bytes + 1));
      if (random.chance(0.15) && i + 1 < n) s.len = 0;
      s.va = random.bits(40);
      bytes -= s.len;
      list.push_back(s);
    }
    return list;
  }
  Bits response(const Qp& q, const Response& r) {
    Bits b = kMeta.pack({{"opcode", r.opcode},
                         {"pkey", 0x8001},
                         {"dest_qpn", q.model.qpn},
                         {"psn", r.psn & kPsnMask},
                         {"syndrome", r.syndrome},
                         {"payload_len", r.length},
                         {"op0", r.value},
                         {"ipv6", q.ipv6},
                         {"msn", random.bits(24)}});
    kMeta.set_bits(b, "sip", address(q.model.qpn, 1));
    kMeta.set_bits(b, "dip", address(q.model.qpn, 0));
    return b;
  }
  void send(const Bits& b) {
    in_flight.push_back(b);
    resp.push(b);
  }
  void send_ack(const Qp& q, uint32_t psn, uint32_t syndrome = 0x1F) {
    send(response(q, {.psn = psn, .syndrome = syndrome}));
  }
  // The right answer of a responder for this PSN of a READ or ATOMIC.
  Response answer(const Qp& q, const Msg& m, uint32_t psn) {
    Response r{.psn = psn & kPsnMask, .syndrome = 0x1F, .value = random.bits(64)};
    if (m.kind == Kind::kAtomic) {
      r.opcode = 0x12;
      return r;
    }
    const bool first = psn_diff(psn, m.first) == 0, last = psn_diff(psn, m.last) == 0;
    r.opcode = first ? (last ? 0x10 : 0x0D) : (last ? 0x0F : 0x0E);
    const uint32_t done = ((psn - m.first) & kPsnMask) * q.model.mtu;
    r.length = last ? m.bytes - done : q.model.mtu;
    if (r.opcode == 0x0E) r.syndrome = static_cast<uint32_t>(random.bits(8));  // no AETH
    return r;
  }
  void local_error(const Qp& q, uint64_t index, uint64_t status) {
    terr.push({q.model.qpn, index, status});
  }
  void arm(Qp& q) {
    if (q.model.type == kRc && q.model.timeout != 0)
      arms_.emplace_back(bench.cycle() + 8, q.model.qpn);
  }

  void time_out(Qp& q, bool rnr) {
    tmo.push({q.model.qpn, rnr});
    q.timer = Qp::kOff;
    timed_out_[q.model.qpn] = true;
  }
  // One more packet of a replay, a READ as a whole, or a message that needs none.
  void replay(Qp& q) {
    if (!q.replaying || q.stopping) return;
    QpModel& m = q.model;
    for (const Msg& x : m.messages) {
      if (static_cast<int16_t>(static_cast<uint16_t>(x.index - m.at)) < 0) continue;
      m.at = x.index;
      if (x.wire() && psn_diff(x.last, m.next) >= 0) {
        m.next = (x.reads() ? x.last + 1 : m.next + 1) & kPsnMask;
        arm(q);
        return;
      }
      m.at = static_cast<uint16_t>(x.index + 1);
      if (!x.wire()) {
        nudge.push(m.qpn);
        return;
      }
    }
    m.next = m.max;
    m.at = q.index;
    q.replaying = false;
  }
  void resend(Qp& q) {
    while (q.replaying && !q.stopping) replay(q);
  }

  // Forgets everything; the block was reset or is about to be.
  void clear() {
    qps.clear();
    half.clear();
    in_flight.clear();
    settles.clear();
    got_fails.clear(), want_fails.clear();
    got_timers.clear(), want_timers.clear();
    got_packets.clear(), want_packets.clear();
    got_asked.clear(), got_kicks.clear(), want_kicks.clear(), got_drains.clear();
    got_rewinds.clear();
    got_cnps.clear(), want_cnps.clear(), got_marked.clear(), want_marked.clear();
    got_tele.clear(), want_tele.clear();
    counts.clear(), extra_counts.clear();
    arms_.clear(), rwg_due_.clear(), open_.clear(), on_bus_.clear(), timed_out_.clear();
    top.rd_placed_i = 0;
  }
  bool idle() {
    if (settled.pending() + resp.pending() + terr.pending() + nudge.pending() + orders.pending() +
            left.pending() + tmo.pending() + spoil.pending() + rwg.pending() + rwg_due_.size() +
            on_bus_.size() !=
        0)
      return false;
    for (auto& [qpn, q] : qps) {
      if (auto_recover && q.phase != Qp::kRun) return false;
      if (q.set_off || q.timer == Qp::kRnr) return false;
    }
    return true;
  }
  void settle() {
    for (int i = 0; i < 2; ++i) {
      bench.wait(
          "the block to be idle", [this] { return idle(); }, 300000);
      bench.tick(config_.high > 1 ? 1000 : 120);
    }
    compare();
  }
  void compare() {
    CHECK(got_fails == want_fails);
    std::map<std::string, uint64_t> want_counts;
    for (auto& [qpn, q] : qps) {
      INFO("QP " << qpn);
      QpModel& m = q.model;
      CHECK(difference(q.cqes, m.cqes) == "");
      CHECK(q.pool.size() == m.messages.size());
      if (!m.failed) CHECK(kAckHalf.get(half[qpn], "una_psn") == m.una);
      CHECK(kAckHalf.get(half[qpn], "failed") == m.failed);
      CHECK(kAckHalf.get(half[qpn], "rewinding") == m.rewinding);
      CHECK(kAckHalf.get(half[qpn], "rnr_wait") == m.rnr_wait);
      CHECK(got_asked[qpn] == m.asked);
      CHECK(got_kicks[qpn] == want_kicks[qpn]);
      CHECK(kAckHalf.get(half[qpn], "rd_comp") == (m.reads_done() & 0xFF));
      CHECK(kAckHalf.get(half[qpn], "inv_done") == settles[qpn] % 2);
      CHECK(kAckHalf.get(half[qpn], "rd_done") == (m.reads_good() & 0xFF));
      CHECK(got_drains[qpn] == m.drains);
      REQUIRE(got_rewinds[qpn].size() == m.rewinds.size());
      for (size_t i = 0; i < m.rewinds.size(); ++i) {
        const Rewind &g = got_rewinds[qpn][i], &w = m.rewinds[i];
        INFO("rewind " << i);
        CHECK(std::array{uint64_t{g.none}, g.index, g.psn, g.skip, g.reads_done} ==
              std::array{uint64_t{w.none}, w.index, w.psn, w.skip, w.reads_done});
      }
      for (const auto& [name, count] : m.counts) want_counts[name] += count;
      // Nothing that is in flight is left without a timer, nothing runs for no reason.
      if (m.type == kRc && !m.failed && !m.rewinding && q.phase == Qp::kRun && arms_.empty() &&
          !m.dying()) {
        const auto want = m.timeout != 0 && m.una != m.max ? Qp::kAck : Qp::kOff;
        CHECK((q.timer == want || timed_out_.count(qpn)));
      }
    }
    CHECK(difference(got_timers, want_timers) == "");
    CHECK(got_cnps == want_cnps);
    CHECK(difference(got_marked, want_marked) == "");
    CHECK((got_tele == want_tele));
    REQUIRE(got_packets.size() == want_packets.size());
    for (size_t i = 0; i < got_packets.size(); ++i) {
      INFO("packet " << i);
      CHECK(difference(got_packets[i], want_packets[i]) == "");
    }
    want_counts["unknown"] += elsewhere;
    for (const auto& [name, pins] : counters) {
      static_cast<void>(pins);
      INFO(name);
      CHECK(counts[name] == want_counts[name] + extra_counts[name]);
    }
  }

  const Config config_;
  Bench<Vrx_completer> bench;
  Vrx_completer& top;
  First first_;
  const bool attached_ = (bench.attach(first_), true);  // before the lookups
  LookupServer cp, cps, ack, path, head, regions;
  StreamSource<Bits> resp;
  StreamSource<std::array<uint64_t, 3>> terr;
  StreamSource<std::array<uint64_t, 2>> left, tmo;
  StreamSource<uint64_t> nudge, spoil, rwg;
  StreamSource<uint64_t> settled;
  StreamSource<Bits> orders;
  std::map<uint64_t, unsigned> settles;  // of this life of the QP
  StreamSink<Bits> cqes, places, fails;
  StreamSink<uint64_t> rwq;
  StreamSink<Bits> rws;
  StreamSink<uint64_t> kick;
  StreamSink<Bits> events;
  Rng random = rng("traffic");
  std::map<uint64_t, Qp> qps;
  std::map<uint64_t, Bits> half;
  std::deque<Bits> in_flight;
  bool auto_recover = true;
  double rnr_pace = 0.02;
  bool hold_bus = false;
  std::vector<std::pair<uint64_t, uint64_t>> got_fails, want_fails;
  std::vector<std::string> got_timers, want_timers;
  std::vector<std::vector<Placed>> got_packets, want_packets;
  std::map<uint64_t, unsigned> got_asked, got_kicks, want_kicks, got_drains;
  std::map<uint64_t, std::vector<Rewind>> got_rewinds;
  std::map<std::string, uint64_t> counts, extra_counts;
  uint64_t elsewhere = 0;  // responses for QPs that do not exist
  bool dcqcn = true;
  std::vector<uint64_t> got_cnps, want_cnps;
  std::vector<Bits> got_marked, want_marked;
  struct Told {
    uint64_t qpn = 0, psn = 0, next = 0;
    Bits telemetry;
    bool operator==(const Told&) const = default;
  };
  std::vector<Told> got_tele, want_tele;
  const std::map<std::string, const CData*> counters{
      {"ack", &top.cnt_rx_ack_o},
      {"nak", &top.cnt_rx_nak_o},
      {"ghost", &top.cnt_rx_ghost_acks_o},
      {"unknown", &top.cnt_rx_unknown_qp_o},
      {"pkey", &top.cnt_rx_pkey_errors_o},
      {"addr", &top.cnt_rx_addr_errors_o},
      {"rd", &top.cnt_rx_rd_responses_o},
      {"rd_bad", &top.cnt_rx_rd_bad_o},
      {"rewinds", &top.cnt_rewinds_o},
      {"timeout", &top.cnt_ack_timeouts_o},
      {"rnr", &top.cnt_rnr_waits_o},
      {"implied", &top.cnt_implied_naks_o},
      {"spoiled", &top.cnt_tx_spoiled_o},
      {"completed", &top.cnt_msgs_completed_o},
      {"flushed", &top.cnt_msgs_flushed_o},
      {"cnp_handled", &top.cnt_cnp_handled_o},
      {"cnp_ignored", &top.cnt_cnp_ignored_o},
      {"int_unused", &top.cnt_int_unused_o},
  };

 private:
  static Bits message(const Msg& m) {
    static constexpr uint64_t kinds[] = {kMsgWrite,  kMsgSend,  kMsgRead,
                                         kMsgAtomic, kMsgLocal, kMsgFailed};
    // next_index is not used by the block; here it marks a list that is not empty.
    const Bits b = kMsg.pack({{"kind", kinds[static_cast<size_t>(m.kind)]},
                              {"signaled", m.signaled},
                              {"wqe_index", m.index},
                              {"next_index", 1},
                              {"first_psn", m.first},
                              {"last_psn", m.last},
                              {"bytes", m.bytes},
                              {"status", m.status},
                              {"seg_cnt", m.segments.size()}});
    Bits all(kMsg.width() + 768);
    all.insert(768, b);
    for (size_t i = 0; i < m.segments.size(); ++i) {
      all.set(i * 128, 32, m.segments[i].key);
      all.set(i * 128 + 32, 32, m.segments[i].len);
      all.set(i * 128 + 64, 64, m.segments[i].va);
    }
    return all;
  }
  Bits look_up() {
    const Bits b = read_pin(top.mrq);
    const LocalSegment s{static_cast<uint32_t>(kMrReq.get(b, "key")),
                         static_cast<uint32_t>(kMrReq.get(b, "len")), kMrReq.get(b, "va")};
    CHECK(kMrReq.get(b, "need_lwrite") == 1);
    CHECK(s.len > 0);
    const Mr a = region(s);
    return kMrRsp.pack(
        {{"ok", a.ok}, {"iova", a.iova}, {"target", a.target}, {"flat", a.flat}, {"room", a.room}});
  }
  void enter(Qp& q, const Msg& m) {
    q.pool.push_back(m);
    q.model.messages.push_back(m);
  }
  void got_cqe(const Bits& b, bool long_way) {
    Qp& q = qps.at(kCqeReq.get(b, "qpn"));
    CHECK(kCqeReq.get(b, "cqn") == q.model.qpn + 60);
    const uint64_t status = kCqeReq.get(b, "status");
    CHECK(kCqeReq.get(b, "opcode") == (status == kSuccess ? kCqeReqOk : kCqeReqErr));
    q.cqes.push_back({kCqeReq.get(b, "wqe_index"), status, kCqeReq.get(b, "byte_count"),
                      kCqeReq.get(b, "syndrome"), kCqeReq.get(b, "fence"), long_way});
  }
  void got_place(const Bits& both) {
    const Bits p = both.slice(kCqeReq.width(), kPlace.width());
    const bool cqe = kPlace.get(p, "has_cqe") != 0;
    if (cqe) got_cqe(both.slice(0, kCqeReq.width()), true);
    if (kPlace.get(p, "alone") != 0) {
      CHECK(cqe);
      CHECK(open_.empty());  // never between the pieces of a packet
      return;
    }
    Placed piece{.write = kPlace.get(p, "write"), .len = kPlace.get(p, "len")};
    piece.more = kPlace.get(p, "more");
    piece.cqe = cqe;
    if (piece.write != 0) {
      CHECK(kPlace.get(p, "ticket") == 1);
      on_bus_.push_back(bench.cycle() + random.below(30));
      piece.addr = kPlace.get(p, "addr");
      piece.target = kPlace.get(p, "target");
      piece.inl = kPlace.get(p, "inl");
      if (piece.inl != 0) {
        const Bits data = kPlace.get_bits(p, "inl_data");
        piece.data = data.get(0, 64);
      }
    }
    open_.push_back(piece);
    if (piece.more != 0) return;
    got_packets.push_back(open_);
    open_.clear();
  }

  void note_outcome(QpModel& m) {
    for (auto& p : m.packets) {
      for (Placed& piece : p) {
        if (piece.write == 0) piece.addr = piece.target = 0;
      }
      want_packets.push_back(p);
    }
    m.packets.clear();
    for (uint64_t f : m.fails) want_fails.emplace_back(m.qpn, f);
    m.fails.clear();
    for (const TimerOrder& t : m.timers) {
      const std::string who = "QP " + std::to_string(m.qpn) + ": ";
      if (t.op == TimerOrder::kStop)
        want_timers.push_back(who + "stop");
      else if (t.op == TimerOrder::kRnr)
        want_timers.push_back(who + "RNR " + std::to_string(t.code));
      else if (t.late)
        want_timers.push_back(who + "ACK or stop");
      else
        want_timers.push_back(who + "ACK " + std::to_string(t.code));
    }
    m.timers.clear();
  }
  void sample() {
    for (const auto& [name, pin] : counters) counts[name] += *pin;
    if (top.tele_valid_o) {
      got_tele.push_back({top.tele_qpn_o, top.tele_psn_o, top.tele_next_psn_o,
                          read_pin(top.tele_o).slice(0, kTelemetry.width())});
    }
    if (top.cnp_valid_o) got_cnps.push_back(top.cnp_qpn_o);
    if (top.marked_valid_o) got_marked.push_back(read_pin(top.marked_o).slice(0, kMarked.width()));
    if (top.ack_wr_valid) {
      // Whoever waits for READs hears of each change, after it can be read.
      const Bits now = read_pin(top.ack_wr);
      const auto done = kAckHalf.get(now, "rd_done");
      if (done != kAckHalf.get(half[top.ack_wr_qpn], "rd_done") && done != 0)
        ++want_kicks[top.ack_wr_qpn];
      half[top.ack_wr_qpn] = now;
    }
    if (top.pop_valid) {
      Qp& q = qps.at(top.pop_qpn);
      if (!q.pool.empty()) q.pool.pop_front();
      ++q.pops;
    }
    if (top.nudge_valid && top.nudge_ready) run(top.nudge_qpn, [](QpModel& m) { m.on_nudge(); });
    if (top.settled_valid && top.settled_ready) {
      ++settles[top.settled_qpn];
      ++want_kicks[top.settled_qpn];
    }
    if (top.terr_valid && top.terr_ready)
      run(top.terr_qpn, [this](QpModel& m) { m.on_local_error(top.terr_index, top.terr_status); });
    if (top.left_valid && top.left_ready)
      run(top.left_qpn, [this](QpModel& m) { m.on_left(top.left_psn); });
    if (top.spoil_valid && top.spoil_ready) run(top.spoil_qpn, [](QpModel& m) { m.on_spoiled(); });
    if (top.tmo_valid && top.tmo_ready)
      run(top.tmo_qpn, [this](QpModel& m) { top.tmo_rnr ? m.on_rnr_over() : m.on_timeout(); });
    if (top.rwg_valid && top.rwg_ready) run(top.rwg_qpn, [](QpModel& m) { m.on_stopped(); });
    if (top.resp_valid && top.resp_ready) {
      on_packet(in_flight.front());
      in_flight.pop_front();
    }
    if (top.tms_valid) set_timer(read_pin(top.tms));
    if (top.qpi_valid && top.qpi_ready) {
      const Bits o = read_pin(top.qpi);
      const auto op = static_cast<QpModel::Order>(kOrder.get(o, "op"));
      const auto psn = static_cast<uint32_t>(kOrder.get(o, "psn"));
      run(kOrder.get(o, "qpn"), [&](QpModel& m) { m.on_order(op, psn); });
      if (kOrder.get(o, "op") == kClear || kOrder.get(o, "op") == kOrderRts)
        settles[kOrder.get(o, "qpn")] = 0;
      on_order_done(qps.at(kOrder.get(o, "qpn")), kOrder.get(o, "op"));
    }
  }
  template <class Act>
  void run(uint64_t qpn, Act act) {
    Qp& q = qps.at(qpn);
    act(q.model);
    note_outcome(q.model);
  }
  void set_timer(const Bits& b) {
    Qp& q = qps.at(kTimer.get(b, "qpn"));
    const std::string who = "QP " + std::to_string(q.model.qpn) + ": ";
    const bool stop = kTimer.get(b, "stop") != 0, rnr = kTimer.get(b, "rnr") != 0;
    const uint64_t code = kTimer.get(b, "code");
    std::string what = who + (stop ? "stop" : (rnr ? "RNR " : "ACK ") + std::to_string(code));
    // Stop or go on, by what is in flight now (or was a moment ago).
    const size_t i = got_timers.size();
    if (i < want_timers.size() && want_timers[i] == who + "ACK or stop" && !rnr &&
        (stop || code == q.model.timeout))
      what = who + "ACK or stop";
    got_timers.push_back(what);
    timed_out_.erase(q.model.qpn);
    if (stop || (!rnr && code == 0))
      q.timer = Qp::kOff;
    else
      q.timer = rnr ? Qp::kRnr : Qp::kAck;
  }
  void on_packet(const Bits& b) {
    const Response r{static_cast<uint32_t>(kMeta.get(b, "opcode")),
                     static_cast<uint32_t>(kMeta.get(b, "psn")),
                     static_cast<uint32_t>(kMeta.get(b, "syndrome")),
                     static_cast<uint32_t>(kMeta.get(b, "payload_len")), kMeta.get(b, "op0")};
    auto it = qps.find(kMeta.get(b, "dest_qpn"));
    if (r.opcode == 0x81) return on_cnp(b, it == qps.end() ? nullptr : &it->second);
    if (it == qps.end()) {
      ++elsewhere;
      if (r.data()) want_packets.push_back({{.len = r.length}});
      return;
    }
    Qp& q = it->second;
    const bool alive =
        q.model.type == kRc && !q.model.failed && (q.model.state == kRts || q.model.state == kSqd);
    const bool addr = kMeta.get_bits(b, "sip") == address(q.model.qpn, 1) &&
                      kMeta.get_bits(b, "dip") == address(q.model.qpn, 0) &&
                      (kMeta.get(b, "ipv6") != 0) == q.ipv6;
    const bool pkey = (kMeta.get(b, "pkey") & 0x7FFF) == 1;
    if (alive && (!addr || !pkey)) {
      ++extra_counts[addr ? "pkey" : "addr"];
      if (r.data()) want_packets.push_back({{.len = r.length}});
      run(q.model.qpn, [](QpModel& m) { m.on_nothing(); });
      return;
    }
    if (alive && r.data() && kMeta.get(b, "ecn") == 3) want_marked.push_back(marked(q));
    const QpModel before = q.model;
    const auto acknowledged = [](const QpModel& m) {
      const auto at = [&](const char* n) { return m.counts.count(n) ? m.counts.at(n) : 0; };
      return at("ack") + at("nak");
    };
    run(q.model.qpn, [&](QpModel& m) { m.on_response(r); });
    // An ACK or NAK that counts brings its telemetry: what the peer expects next, as far as it has
    // been sent again, and what is sent next.
    if (r.opcode != 0x11 || acknowledged(q.model) == acknowledged(before) ||
        kMeta.get(b, "has_int") == 0 || kMeta.get(b, "int_echo") == 0)
      return;
    const Bits tele = kMeta.get_bits(b, "tele");
    if (kTelemetry.get(tele, "unit") != kUnit) {
      ++extra_counts["int_unused"];
      return;
    }
    const bool ack = (r.syndrome & 0x60) == 0, fatal = (r.syndrome & 0x7F) > 0x60;
    uint32_t psn = ack ? r.psn + 1 : r.psn;
    if (!fatal && psn_diff(r.psn, before.next) >= 0) psn = before.next;
    want_tele.push_back({q.model.qpn, psn & kPsnMask, before.next, tele});
  }
  static constexpr uint64_t kUnit = 4;
  // A CNP is for a connection that may send, READ responses too; nothing else of the QP changes.
  void on_cnp(const Bits& b, Qp* q) {
    bool good = dcqcn;
    if (q == nullptr) {
      ++elsewhere;
      good = false;
    } else {
      const QpModel& m = q->model;
      const bool alive =
          m.type != kUd && !m.failed && (m.state == kRtr || m.state == kRts || m.state == kSqd);
      const bool addr = kMeta.get_bits(b, "sip") == address(m.qpn, 1) &&
                        kMeta.get_bits(b, "dip") == address(m.qpn, 0) &&
                        (kMeta.get(b, "ipv6") != 0) == q->ipv6;
      if (!alive)
        ++extra_counts["unknown"];
      else if (!addr)
        ++extra_counts["addr"];
      good = good && alive && addr;
      if (good) want_cnps.push_back(m.qpn);
      run(m.qpn, [](QpModel& x) { x.on_nothing(); });
    }
    ++extra_counts[good ? "cnp_handled" : "cnp_ignored"];
  }
  static Bits marked(const Qp& q) {
    const uint64_t n = q.model.qpn;
    Bits b = kMarked.pack({{"qpn", n}, {"dest_qpn", n + 900}, {"path", n + 300}});
    kMarked.set_bits(b, "addr", address(n, 1));
    return b;
  }
  void on_order_done(Qp& q, uint64_t op) {
    if (!auto_recover) return;
    if (op == kOrderErr) {
      q.due = bench.cycle() + 1 + random.below(40);
    } else if (op == kClear) {
      orders.push(order(kOrderRts, q.model.qpn, q.model.next));
    } else if (op == kOrderRts) {
      state(q, kRts);
      q.phase = Qp::kRun;
    }
  }
  void early() {
    // A message without packets is seen from its nudge on, and those that stand behind it.
    if (top.nudge_valid && top.nudge_ready) {
      Qp& q = qps.at(top.nudge_qpn);
      bool one = false;
      while (!q.waiting.empty() && (!one || q.waiting.front().wire())) {
        one = one || !q.waiting.front().wire();
        enter(q, q.waiting.front());
        q.waiting.pop_front();
      }
    }
  }
  void steer() {
    const uint64_t now = bench.cycle();
    top.rd_placed_i = !on_bus_.empty() && on_bus_.front() <= now && !hold_bus;
    if (top.rd_placed_i) on_bus_.pop_front();
    while (!arms_.empty() && arms_.front().first <= now) {
      Qp& q = qps.at(arms_.front().second);
      if (q.timer == Qp::kOff && q.model.una != q.model.max && q.phase == Qp::kRun)
        q.timer = Qp::kAck, timed_out_.erase(q.model.qpn);
      arms_.pop_front();
    }
    std::erase_if(rwg_due_, [&](const auto& e) {
      if (e.first > now) return false;
      qps.at(e.second).halted = true;
      rwg.push(e.second);
      return true;
    });
    for (auto& [qpn, q] : qps) {
      if (q.timer == Qp::kRnr && q.phase == Qp::kRun && random.chance(rnr_pace)) time_out(q, true);
      if (q.set_off && q.set_off->first <= now) {
        q.model.next = static_cast<uint32_t>(q.set_off->second);
        q.model.at = q.set_off_at;
        q.replaying = true;
        q.set_off.reset();
        q.stopping = q.halted = false;
        arm(q);
      }
    }
    if (orders.pending() != 0 || !auto_recover) return;
    for (auto& [qpn, q] : qps) {
      if (q.due == 0 || now < q.due) continue;
      q.due = 0;
      if (q.phase == Qp::kFailing) {
        state(q, kErr);
        q.phase = Qp::kError;
        orders.push(order(kOrderErr, qpn));
      } else if (q.phase == Qp::kError) {
        // sq_engine, sq_scheduler and msg_pool were told before: nothing of the QP is on the way.
        if (nudge.pending() != 0 || terr.pending() != 0 || left.pending() != 0 ||
            rwg.pending() != 0 || tmo.pending() != 0 || q.stopping || q.set_off) {
          q.due = now + 5;
          return;
        }
        state(q, kReset);
        const uint32_t psn = random.chance(0.4) ? 0xFFFFF0 + static_cast<uint32_t>(random.below(16))
                                                : static_cast<uint32_t>(random.bits(24));
        start(q, psn);
        q.phase = Qp::kIdle;
        orders.push(order(kClear, qpn));
      }
      return;
    }
  }

  std::deque<std::pair<uint64_t, uint64_t>> arms_;      // cycle, QPN
  std::vector<std::pair<uint64_t, uint64_t>> rwg_due_;  // cycle, QPN
  std::vector<Placed> open_;
  std::deque<uint64_t> on_bus_;         // pieces that dma_master has yet to write
  std::map<uint64_t, bool> timed_out_;  // its timer fired and nobody has started it since
};

void run_random(World& w, unsigned steps) {
  auto random = rng("schedule");
  for (unsigned i = 0; i < steps; ++i) {
    w.bench.wait(
        "room", [&] { return w.resp.pending() < 5 && w.nudge.pending() < 5; }, 100000);
    if (random.chance(0.3)) w.bench.tick(random.below(20));
    Qp& q = w.qps.at(random.below(w.qps.size()));
    QpModel& m = q.model;
    const uint64_t qpn = m.qpn;
    const bool alive = q.phase == Qp::kRun && !m.failed;
    const bool sends = !q.replaying && !q.halted && !q.set_off && q.phase != Qp::kError &&
                       q.phase != Qp::kIdle && m.state == kRts;
    if (q.phase == Qp::kRun || (q.phase != Qp::kIdle && random.chance(0.2))) {
      const unsigned pick = static_cast<unsigned>(random.below(26));
      const bool room = q.pool.size() + q.waiting.size() < 12;
      if (pick < 12 && room && sends) {
        const unsigned kind = static_cast<unsigned>(random.below(8));
        const unsigned psns = static_cast<unsigned>(random.between(1, 5));
        const bool signaled = random.chance(0.7);
        if (m.type != kRc || kind < 3)
          w.push(q, kind == 0 ? Kind::kSend : Kind::kWrite, psns, signaled);
        else if (kind < 7)
          w.push(q, Kind::kRead, psns, signaled);
        else
          w.push(q, Kind::kAtomic, 1, signaled);
      }
      if (pick == 12 && room && sends) w.push(q, Kind::kLocal, 0, random.chance(0.7));
      if (pick == 13 && room && alive && sends && random.chance(0.15)) {
        w.push(q, Kind::kFailed, 0, true, kLocProt);
      }
      if (pick == 14 && !alive && room) w.push(q, Kind::kFailed, 0, true, kFlush);
      if (pick == 15 && alive && random.chance(0.15) && !m.messages.empty()) {
        const Msg& x = m.messages[random.below(m.messages.size())];
        if (x.wire() && !x.reads()) w.local_error(q, x.index, kLocProt);
      }
      if (pick == 16 && q.timer == Qp::kAck && random.chance(0.3)) w.time_out(q, false);
      if (pick == 17 && alive && m.type == kRc && random.chance(0.3)) w.spoil.push(qpn);
      if (pick == 18 && m.type != kRc && !m.messages.empty()) {
        const Msg& x = m.messages[random.below(m.messages.size())];
        w.left.push({qpn, random.chance(0.9) ? x.last : random.bits(24)});
      }
      if (pick == 19 && q.phase == Qp::kRun && w.orders.pending() == 0 && random.chance(0.5)) {
        w.state(q, m.state == kSqd ? kRts : kSqd);
        w.orders.push(order(kOrderKick, qpn));
      }
      if (pick == 20 && q.phase == Qp::kRun && w.orders.pending() == 0 && random.chance(0.03)) {
        q.phase = Qp::kFailing;  // software asks for ERR
        q.due = w.bench.cycle() + 1;
      }
      if (pick == 21 && alive) {
        // A message half sent, or no more. The block may be at work on this QP: only when it rests.
        if (w.idle()) m.in_msg = random.chance(0.3);
      }
      for (unsigned n = 0; n < 3; ++n) w.replay(q);
    }
    if (random.chance(0.03)) w.settled.push(random.below(w.qps.size()));
    if (!random.chance(0.75)) continue;
    Qp& r = w.qps.at(random.below(w.qps.size()));
    QpModel& a = r.model;
    Response x{.psn = a.una, .syndrome = static_cast<uint32_t>(random.below(32))};
    const uint32_t open = (a.max - a.una) & kPsnMask;
    if (open > 0 && random.chance(0.6)) x.psn += static_cast<uint32_t>(random.below(open));
    // Mostly what the QP waits for.
    for (const Msg& m : a.messages) {
      if (!m.reads()) continue;
      const bool in = psn_diff(x.psn, m.first) >= 0 && psn_diff(m.last, x.psn) >= 0;
      const bool next = psn_diff(a.una, m.first) >= 0 && psn_diff(m.last, a.una) >= 0;
      if (next && random.chance(0.85))
        x = w.answer(r, m, a.una);
      else if (in && random.chance(0.6))
        x = w.answer(r, m, x.psn);
      if (next || in) break;
    }
    if (random.chance(0.05)) x.psn = a.max + static_cast<uint32_t>(random.below(3));
    if (random.chance(0.05)) x.psn = a.una - 1 - static_cast<uint32_t>(random.below(3));
    if (random.chance(0.02)) x.psn = static_cast<uint32_t>(random.bits(24));
    if (random.chance(0.05)) x.syndrome = static_cast<uint32_t>(0x20 | random.below(32));
    if (random.chance(0.03)) x.syndrome = 0x60;
    if (random.chance(0.01)) x.syndrome = static_cast<uint32_t>(0x60 | random.below(8));
    if (random.chance(0.02)) x.syndrome = static_cast<uint32_t>(0x40 | random.below(32));
    if (random.chance(0.01)) x.opcode = static_cast<uint32_t>(random.between(0x0D, 0x12));
    if (random.chance(0.01)) x.length = static_cast<uint32_t>(random.below(4097));
    x.psn &= kPsnMask;
    Bits b = w.response(r, x);
    if (random.chance(0.02)) kMeta.set(b, "pkey", 0x7FFF);
    if (random.chance(0.02)) kMeta.set(b, "pkey", 0x0001);  // limited member, still good
    if (random.chance(0.02)) kMeta.set_bits(b, "sip", World::address(a.qpn, 3));
    if (random.chance(0.02)) kMeta.set_bits(b, "dip", World::address(a.qpn, 3));
    if (random.chance(0.02)) kMeta.set(b, "ipv6", !r.ipv6);
    if (random.chance(0.02)) kMeta.set(b, "dest_qpn", random.between(100, kPsnMask));
    kMeta.set(b, "ecn", random.below(4));
    if (random.chance(0.4)) {
      Bits tele = Bits::random(random, kTelemetry.width());
      kTelemetry.set(tele, "unit", random.chance(0.8) ? 4 : random.below(16));
      kMeta.set(b, "has_int", 1);
      kMeta.set(b, "int_echo", random.chance(0.8));
      kMeta.set_bits(b, "tele", tele);
    }
    if (random.chance(0.06)) {
      kMeta.set(b, "opcode", 0x81);
      kMeta.set(b, "becn", 1);
      kMeta.set(b, "payload_len", 0);
    }
    w.send(b);
  }
  w.settle();
}

}  // namespace

TEST_CASE("rx_completer agrees with the rules on everything at once") {
  World w;
  for (unsigned i = 0; i < 6; ++i) {
    w.add_qp(i, i == 0 ? 0xFFFFF8 : i * 100, i == 4 ? kUc : i == 5 ? kUd : kRc, i == 2);
    w.attributes(w.qps[i], i == 3 ? 0 : 10, i == 1 ? 2 : 7, i == 1 ? 1 : i == 2 ? 7 : 3);
  }
  run_random(w, 10000);
  CHECK(w.want_fails.size() > 30);
  for (const auto& [name, pin] : w.counters) {
    static_cast<void>(pin);
    INFO(name);
    CHECK(w.counts[name] > 3);
  }
}

TEST_CASE("rx_completer agrees with the rules under stalls on every side and slow lookups") {
  for (double p : {0.2, 0.6}) {
    World w({.stall = Stall::random(p), .low = 1, .high = 6});
    for (unsigned i = 0; i < 4; ++i) w.add_qp(i, 0xFFFFFF - i, i == 3 ? kUc : kRc, i == 2);
    w.attributes(w.qps[0], 14, 1, 0);
    run_random(w, 2500);
  }
}

TEST_CASE("a CNP counts for RC and UC in every state that sends, and never touches the PSNs") {
  for (unsigned type : {kRc, kUc, kUd}) {
    for (QpState s : {kReset, kInit, kRtr, kRts, kSqd, kSqe, kErr}) {
      for (bool on : {true, false}) {
        World w;
        w.auto_recover = false;
        Qp& q = w.add_qp(1, 0xFFFFFF, type);
        w.push(q, Kind::kWrite, 3);
        w.state(q, s);
        w.set_dcqcn(on);
        // P_Key and PSN are anything.
        for (uint32_t psn : {0u, 0xFFFFFFu, 0x1234u}) {
          Bits b = w.response(q, {.opcode = 0x81, .psn = psn});
          kMeta.set(b, "pkey", psn & 0xFFFF);
          w.send(b);
        }
        w.settle();
        const bool heard = on && type != kUd && (s == kRtr || s == kRts || s == kSqd);
        CHECK(w.got_cnps.size() == (heard ? 3 : 0));
        CHECK(w.counts["cnp_handled"] + w.counts["cnp_ignored"] == 3);
        CHECK(q.model.una == 0xFFFFFF);
        CHECK(w.counts["ghost"] == 0);
      }
    }
  }
}

TEST_CASE("a CNP takes 4 cycles") {
  World w;
  Qp& q = w.add_qp(1, 5);
  w.push(q, Kind::kWrite);
  for (unsigned i = 0; i < 20; ++i) w.send(w.response(q, {.opcode = 0x81}));
  w.settle();
  const auto& c = w.resp.cycles();
  CHECK(c.back() - c.front() == 4 * (c.size() - 1));
}

TEST_CASE("an ACK of one message takes 4 cycles, each further message 3 more") {
  for (unsigned covered : {1u, 2u, 5u}) {
    for (unsigned n : {1u, 3u}) {
      World w;
      for (unsigned i = 0; i < n; ++i) w.add_qp(i, 0xFFFFF0);
      for (unsigned k = 0; k < 10; ++k) {
        for (unsigned i = 0; i < n; ++i) {
          Qp& q = w.qps[i];
          for (unsigned j = 0; j < covered; ++j) w.push(q, Kind::kWrite);
          w.send_ack(q, q.model.max - 1);
        }
      }
      w.settle();
      const auto& c = w.resp.cycles();
      CHECK(c.back() - c.front() == (4 + 3 * (covered - 1)) * (c.size() - 1));
      CHECK(w.cqes.cycles().front() - c.front() == 4);
    }
  }
}

TEST_CASE("an ACK inside a message takes 4 cycles") {
  World w;
  Qp& q = w.add_qp(1, 5);
  w.push(q, Kind::kSend, 40);
  for (unsigned i = 0; i < 30; ++i) w.send_ack(q, 5 + i);
  w.settle();
  const auto& c = w.resp.cycles();
  CHECK(c.back() - c.front() == 4 * (c.size() - 1));
}

TEST_CASE("a READ response of one piece takes 9 cycles, a whole READ 12, of QPs in turns 10") {
  World w;
  Qp& q = w.add_qp(0, 0xFFFFF0);
  const auto one = [&](unsigned psns) {
    return w.push(q, Kind::kRead, psns, true, 0, {{2, 0x10000000, 0x5000}});
  };
  const Msg m = one(30);
  for (unsigned i = 0; i < 30; ++i) w.send(w.response(q, w.answer(q, m, m.first + i)));
  w.settle();
  const auto& c = w.resp.cycles();
  CHECK(c[28] - c[0] == 9 * 28);
  CHECK(w.places.cycles().front() - c.front() == 8);
  for (unsigned i = 0; i < 10; ++i) {
    const Msg s = one(1);
    w.send(w.response(q, w.answer(q, s, s.first)));
  }
  w.settle();
  CHECK(c[39] - c[30] <= 13 * 9);
}

TEST_CASE("whole READs of QPs in turns take 10 cycles each") {
  World w;
  constexpr unsigned kQps = 8, kEach = 20;
  for (unsigned i = 0; i < kQps; ++i) w.add_qp(i, 7 * i);
  for (unsigned k = 0; k < kEach; ++k) {
    for (unsigned i = 0; i < kQps; ++i) {
      Qp& q = w.qps[i];
      const Msg m = w.push(q, Kind::kRead, 1, true, 0, {{2, 4096, 0x5000}});
      w.send(w.response(q, w.answer(q, m, m.first)));
    }
  }
  w.settle();
  const auto& c = w.resp.cycles();
  CHECK(c.back() - c[20] <= 10 * (c.size() - 21) + 10);
}

TEST_CASE(
    "a LOCAL_INV that has settled is noted in the half, and its QP kicked, also in a rewind") {
  World w;
  Qp& q = w.add_qp(1, 100);
  for (unsigned i = 1; i <= 3; ++i) {
    w.settled.push(1);
    w.settle();
    CHECK(kAckHalf.get(w.half[1], "inv_done") == i % 2);
    CHECK(w.got_kicks[1] == i);
  }
  w.push(q, Kind::kWrite, 3);
  w.spoil.push(1);
  w.settled.push(1);
  w.settle();
  CHECK(kAckHalf.get(w.half[1], "inv_done") == 0);
  CHECK(w.got_kicks[1] == 4);
}

TEST_CASE("a fatal NAK completes what came before it, fails its message and flushes the rest") {
  struct Case {
    uint32_t syndrome;
    uint64_t status;
  };
  for (const Case c : {Case{0x61, kRemInvReq}, Case{0x62, kRemAccess}, Case{0x63, kRemOp}}) {
    World w;
    Qp& q = w.add_qp(1, 0xFFFFFE);
    w.auto_recover = false;
    for (int i = 0; i < 4; ++i) w.push(q, Kind::kWrite, 2, i != 0);
    w.send_ack(q, 0x000001, c.syndrome);  // the second packet of the second message
    w.settle();
    REQUIRE(q.cqes.size() == 3);
    CHECK(q.cqes[0] == Cqe{1, c.status, q.cqes[0].bytes, c.syndrome});
    CHECK(q.cqes[1].status == kFlushErr);
    CHECK(w.got_fails == std::vector<std::pair<uint64_t, uint64_t>>{{1, c.status}});
    // What comes in later is flushed too, and ACKs of a failed QP change nothing.
    w.send_ack(q, 3);
    w.push(q, Kind::kFailed, 0, true, kFlush);
    w.settle();
    CHECK(q.cqes.size() == 4);
  }
}

TEST_CASE("a sequence NAK is obeyed retry_cnt times without progress, then fails with RETRY_EXC") {
  for (unsigned retries : {0u, 1u, 7u}) {
    World w;
    Qp& q = w.add_qp(1, 100);
    w.attributes(q, 10, retries, 7);
    w.auto_recover = false;
    for (int i = 0; i < 5; ++i) w.push(q, Kind::kWrite, 4);
    for (unsigned n = 0; n <= retries; ++n) {
      w.send_ack(q, 102, 0x60);
      w.settle();
      if (n == retries) break;
      // The first NAK makes progress: its retry counts after the counters were given back.
      CHECK(w.got_rewinds[1].size() == n + 1);
      CHECK(w.got_rewinds[1].back().psn == 102);
      CHECK(w.got_rewinds[1].back().skip == 2);
      CHECK(w.got_rewinds[1].back().index == 0);
      w.resend(q);
    }
    REQUIRE(q.cqes.size() == 5);
    CHECK(q.cqes[0].status == kRetryExc);
    CHECK(q.cqes[1].status == kFlushErr);
    CHECK(w.got_rewinds[1].size() == retries);
  }
}

TEST_CASE("progress gives the retries back") {
  World w;
  Qp& q = w.add_qp(1, 0);
  w.attributes(q, 10, 1, 1);
  w.push(q, Kind::kWrite, 20);
  for (unsigned p = 1; p < 20; ++p) {
    w.send_ack(q, p, p % 2 ? 0x60 : 0x21);
    w.settle();
    w.resend(q);
  }
  CHECK(w.got_rewinds[1].size() == 19);
  CHECK(w.got_fails.empty());
}

TEST_CASE(
    "time-outs rewind to the oldest packet, cost retries, and mean nothing when all is done") {
  World w;
  Qp& q = w.add_qp(2, 7);
  w.attributes(q, 5, 2, 7);
  w.auto_recover = false;
  w.time_out(q, false);
  w.settle();
  CHECK(w.got_asked[2] == 0);
  w.push(q, Kind::kSend, 3);
  w.push(q, Kind::kSend, 3);
  w.send_ack(q, 9);
  w.settle();
  for (unsigned n = 0; n < 3; ++n) {
    w.time_out(q, false);
    w.settle();
    w.resend(q);
  }
  CHECK(w.got_rewinds[2].size() == 2);
  CHECK(w.got_rewinds[2][0].psn == 10);
  CHECK(q.cqes.back().status == kRetryExc);
}

TEST_CASE("an RNR NAK waits before it sends again; time-outs and NAKs do not cut the wait short") {
  World w;
  w.rnr_pace = 0;
  Qp& q = w.add_qp(1, 50);
  w.attributes(q, 10, 7, 7);
  for (int i = 0; i < 4; ++i) w.push(q, Kind::kSend);
  for (unsigned n = 0; n < 9; ++n) {  // 7: endless
    w.send_ack(q, 51, 0x20 | n);
    w.bench.tick(300);
    CHECK(q.timer == Qp::kRnr);
    CHECK(w.got_timers.back() == "QP 1: RNR " + std::to_string(n));
    CHECK(w.got_asked[1] == n + 1);
    CHECK(w.got_rewinds[1].size() == n);  // stopped, and waits
    w.tmo.push({1, 0});
    w.send_ack(q, 51, 0x60);
    w.spoil.push(1);
    w.bench.tick(100);
    CHECK(w.got_rewinds[1].size() == n);
    w.time_out(q, true);
    w.settle();
    CHECK(w.got_rewinds[1].size() == n + 1);
    w.resend(q);
  }
  w.attributes(q, 10, 7, 0);
  w.auto_recover = false;
  w.send_ack(q, 51, 0x2C);
  w.settle();
  CHECK(q.cqes[1].status == kRnrExc);
}

TEST_CASE("progress in an RNR wait leaves the wait as it is") {
  World w;
  w.rnr_pace = 0;
  Qp& q = w.add_qp(1, 50);
  for (int i = 0; i < 6; ++i) w.push(q, Kind::kSend);
  w.send_ack(q, 51, 0x25);
  w.bench.tick(300);
  CHECK(q.timer == Qp::kRnr);
  w.send_ack(q, 52);
  w.bench.tick(100);
  CHECK(q.timer == Qp::kRnr);
  CHECK(w.got_timers.back() == "QP 1: RNR 5");
  CHECK(w.got_rewinds[1].empty());
  w.time_out(q, true);
  w.settle();
  REQUIRE(w.got_rewinds[1].size() == 1);
  CHECK(w.got_rewinds[1][0].psn == 53);
}

TEST_CASE("an RNR wait that ends before the scheduler has stopped goes on when it has") {
  World w;
  w.rnr_pace = 1;
  Qp& q = w.add_qp(1, 50);
  for (unsigned n = 0; n < 10; ++n) {
    w.push(q, Kind::kSend);
    w.send_ack(q, q.model.una, 0x21);
    w.settle();
    CHECK(w.got_rewinds[1].size() == n + 1);
    w.resend(q);
  }
}

TEST_CASE(
    "in a replay an ACK counts up to what has been sent again, a NAK from there on likewise") {
  World w;
  Qp& q = w.add_qp(1, 10);
  for (int i = 0; i < 6; ++i) w.push(q, Kind::kWrite, 2);
  w.send_ack(q, 10, 0x60);
  w.settle();
  REQUIRE(q.model.next == 10);
  w.send_ack(q, 21);  // of the first pass
  w.settle();
  CHECK(q.cqes.empty());
  q.model.next = 13;
  w.send_ack(q, 21);
  w.settle();
  CHECK(q.cqes.size() == 1);
  CHECK(q.model.una == 13);
  q.model.next = 14;
  w.send_ack(q, 17, 0x60);
  w.settle();
  CHECK(q.cqes.size() == 2);
  CHECK(w.got_asked[1] == 1);
  w.send_ack(q, 17, 0x62);  // fatal: as it is
  w.settle();
  REQUIRE(q.cqes.size() == 6);
  CHECK(q.cqes[2].status == kSuccess);
  CHECK(q.cqes[3].status == kRemAccess);
}

TEST_CASE("a READ whose responses are missing is asked for again from the first of them, once") {
  World w;
  Qp& q = w.add_qp(1, 0xFFFFFE);
  const Msg before = w.push(q, Kind::kWrite, 2);
  const Msg m = w.push(q, Kind::kRead, 6);
  w.push(q, Kind::kWrite, 1);
  for (unsigned i : {0u, 1u, 3u, 4u, 5u}) w.send(w.response(q, w.answer(q, m, m.first + i)));
  w.send_ack(q, m.last + 1);
  w.settle();
  CHECK(w.got_asked[1] == 1);  // what follows the gap is ignored
  REQUIRE(w.got_rewinds[1].size() == 1);
  CHECK(w.got_rewinds[1][0].index == m.index);
  CHECK(w.got_rewinds[1][0].skip == 2);
  CHECK(w.counts["implied"] == 1);
  CHECK(q.cqes.size() == 1);  // the response acknowledged the WRITE before it
  // A resumed READ: FIRST where MIDDLE stood, or MIDDLE as before.
  w.resend(q);
  Response r = w.answer(q, m, m.first + 2);
  r.opcode = 0x0D;
  r.syndrome = 0x1F;
  w.send(w.response(q, r));
  for (unsigned i : {3u, 4u, 5u}) w.send(w.response(q, w.answer(q, m, m.first + i)));
  w.settle();
  CHECK(q.cqes.size() == 2);
  CHECK(q.cqes[1].long_way);
  w.send_ack(q, m.last + 1);
  w.settle();
  REQUIRE(q.cqes.size() == 3);
  CHECK(q.cqes[2].long_way);  // behind the data of the READ
  CHECK(before.index == q.cqes[0].index);
}

TEST_CASE(
    "an ACK behind a READ whose responses were all lost is an implied NAK and costs a retry") {
  World w;
  Qp& q = w.add_qp(1, 0);
  w.attributes(q, 10, 1, 7);
  w.auto_recover = false;
  w.push(q, Kind::kWrite, 1);
  w.push(q, Kind::kAtomic);
  w.push(q, Kind::kWrite, 1);
  w.send_ack(q, 1);  // names the ATOMIC itself: its response may still come
  w.settle();
  CHECK(w.got_asked[1] == 0);
  CHECK(q.model.una == 1);
  w.send_ack(q, 2);
  w.settle();
  CHECK(w.got_asked[1] == 1);
  CHECK(w.got_rewinds[1][0].psn == 1);
  w.resend(q);
  w.send_ack(q, 2);  // ignored: it is asked for already
  w.settle();
  CHECK(q.cqes.size() == 1);
  CHECK(w.got_asked[1] == 1);
  w.time_out(q, false);
  w.settle();
  CHECK(q.cqes.size() == 3);
  CHECK(q.cqes[1].status == kRetryExc);
}

TEST_CASE("a bad READ or ATOMIC response fails its message: wrong kind, place or length") {
  struct Case {
    Kind kind;
    unsigned psns, at;
    std::function<void(Response&)> spoil;
    uint64_t status;
  };
  const std::vector<Case> cases{
      {Kind::kWrite, 1, 0, [](Response& r) { r.opcode = 0x10; }, 0x10},
      {Kind::kSend, 1, 0, [](Response& r) { r.opcode = 0x12; }, 0x10},
      {Kind::kRead, 1, 0, [](Response& r) { r.opcode = 0x12, r.length = 0; }, 0x10},
      {Kind::kAtomic, 1, 0, [](Response& r) { r.opcode = 0x10; }, 0x10},
      {Kind::kAtomic, 1, 0, [](Response& r) { r.length = 8; }, kLocLen},
      {Kind::kRead, 3, 0, [](Response& r) { r.opcode = 0x0E; }, 0x10},
      {Kind::kRead, 3, 0, [](Response& r) { r.opcode = 0x0F; }, 0x10},
      {Kind::kRead, 3, 1, [](Response& r) { r.opcode = 0x0D, r.syndrome = 0x1F; }, 0x10},
      {Kind::kRead, 3, 1, [](Response& r) { r.opcode = 0x0F, r.syndrome = 0x1F; }, 0x10},
      {Kind::kRead, 3, 2, [](Response& r) { r.opcode = 0x10; }, 0x10},
      {Kind::kRead, 3, 2, [](Response& r) { r.opcode = 0x0E; }, 0x10},
      {Kind::kRead, 1, 0, [](Response& r) { r.opcode = 0x0F; }, 0x10},
      {Kind::kRead, 3, 0, [](Response& r) { --r.length; }, kLocLen},
      {Kind::kRead, 3, 1, [](Response& r) { ++r.length; }, kLocLen},
      {Kind::kRead, 3, 1, [](Response& r) { r.length = 0; }, kLocLen},
      {Kind::kRead, 3, 2, [](Response& r) { ++r.length; }, kLocLen},
      {Kind::kRead, 3, 2, [](Response& r) { --r.length; }, kLocLen},
      {Kind::kRead, 1, 0, [](Response& r) { ++r.length; }, kLocLen},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO("case " << i);
    const Case& c = cases[i];
    World w;
    w.auto_recover = false;
    Qp& q = w.add_qp(1, 0xFFFFFF);
    w.push(q, Kind::kSend);
    const Msg m = w.push(q, c.kind, c.psns);
    w.push(q, Kind::kRead);
    for (unsigned k = 0; k <= c.at; ++k) {
      Response r = m.reads() ? w.answer(q, m, m.first + k) : Response{.psn = m.first};
      if (k == c.at) c.spoil(r);
      w.send(w.response(q, r));
    }
    w.settle();
    REQUIRE(q.cqes.size() == 3);
    CHECK(q.cqes[0].status == kSuccess);
    CHECK(q.cqes[1].status == c.status);
    CHECK(q.cqes[2].status == kFlushErr);
    CHECK(w.counts["rd_bad"] == 1);
  }
}

TEST_CASE("a READ into a region that refuses it places nothing of that packet and fails") {
  World w;
  w.auto_recover = false;
  Qp& q = w.add_qp(1, 0);
  const Msg m =
      w.push(q, Kind::kRead, 1, true, 0, {{2, 100, 0x1000}, {2, 100, 0x9000}, {kBadKey, 1000, 0}});
  w.send(w.response(q, w.answer(q, m, 0)));
  w.settle();
  REQUIRE(q.cqes.size() == 1);
  CHECK(q.cqes[0].status == (m.bytes > 200 ? uint64_t{kLocProt} : uint64_t{kSuccess}));
  if (m.bytes > 200) CHECK(w.got_packets == std::vector<std::vector<Placed>>{{{.len = m.bytes}}});
}

TEST_CASE("messages without packets wait for those before them and complete in their place") {
  World w;
  Qp& q = w.add_qp(2, 10);
  const auto got = [&] {
    w.settle();
    return q.cqes.size();
  };
  w.push(q, Kind::kWrite, 3);
  w.push(q, Kind::kLocal, 0);
  w.push(q, Kind::kLocal, 0, false);
  w.push(q, Kind::kWrite, 1);
  w.push(q, Kind::kLocal, 0);
  CHECK(got() == 0);
  w.send_ack(q, 11);
  CHECK(got() == 0);
  w.send_ack(q, 12);
  CHECK(got() == 2);
  w.send_ack(q, 13);
  CHECK(got() == 4);
  w.push(q, Kind::kLocal, 0);
  CHECK(got() == 5);
}

TEST_CASE("a message that is there before its nudge completes once") {
  World w;
  Qp& q = w.add_qp(2, 10);
  w.nudge.set_stall(Stall::always());
  w.push(q, Kind::kWrite, 1);
  w.push(q, Kind::kLocal, 0);
  const Msg local = q.waiting.front();
  q.waiting.clear();
  q.pool.push_back(local);
  q.model.messages.push_back(local);
  w.send_ack(q, 10);
  w.bench.tick(50);
  w.nudge.set_stall(Stall::none());
  w.bench.tick(50);
  // Seen by the walk of the ACK or by its nudge.
  CHECK(q.cqes.size() == 2);
  CHECK(q.pool.empty());
}

TEST_CASE("a local error lets what was sent before it complete, then names its message") {
  World w;
  w.auto_recover = false;
  Qp& q = w.add_qp(3, 10);
  w.attributes(q, 0, 7, 7);
  for (int i = 0; i < 5; ++i) w.push(q, Kind::kWrite, 2, i != 1);
  w.local_error(q, 3, kLocProt);
  w.local_error(q, 4, kLocProt);
  w.settle();
  CHECK(q.cqes.empty());
  CHECK(w.got_timers.back() == "QP 3: ACK 14");  // an end even when the QP's own timer is off
  w.send_ack(q, 13);
  w.settle();
  CHECK(q.cqes.size() == 1);
  w.send_ack(q, 15);
  w.settle();
  REQUIRE(q.cqes.size() == 4);
  CHECK(q.cqes[1].status == kSuccess);
  CHECK(q.cqes[2].status == kLocProt);
  CHECK(q.cqes[3].status == kFlushErr);
  CHECK(w.got_fails == std::vector<std::pair<uint64_t, uint64_t>>{{3, kLocProt}});
}

TEST_CASE("a QP that waits for its end fails when something would have to be sent again") {
  for (int why = 0; why < 4; ++why) {
    INFO("why " << why);
    World w;
    w.auto_recover = false;
    Qp& q = w.add_qp(3, 10);
    for (int i = 0; i < 4; ++i) w.push(q, Kind::kWrite, 2);
    w.local_error(q, 2, kLocProt);
    w.send_ack(q, 10);
    w.settle();
    if (why == 0) w.time_out(q, false);
    if (why == 1) w.spoil.push(3);
    if (why == 2) w.send_ack(q, 12, 0x60);
    if (why == 3) w.send_ack(q, 12, 0x2C);
    w.settle();
    const size_t done = why < 2 ? 0 : 1;
    REQUIRE(q.cqes.size() == 4);
    CHECK(q.cqes[0].status == (done ? uint64_t{kSuccess} : uint64_t{kFlushErr}));
    CHECK(q.cqes[1].status == kFlushErr);
    CHECK(q.cqes[2].status == kLocProt);
    CHECK(w.got_asked[3] == 0);
  }
}

TEST_CASE("SQ_DRAINED comes once per entry into SQD, when nothing is in flight or half sent") {
  World w;
  Qp& q = w.add_qp(1, 0);
  const auto go = [&](uint64_t state) {
    w.state(q, state);
    w.orders.push(order(kOrderKick, 1));
    w.settle();
  };
  go(kSqd);
  CHECK(w.got_drains[1] == 1);
  go(kSqd);  // other attributes
  CHECK(w.got_drains[1] == 1);
  go(kRts);
  w.push(q, Kind::kWrite, 2);
  go(kSqd);
  CHECK(w.got_drains[1] == 1);
  w.send_ack(q, 0);
  w.settle();
  CHECK(w.got_drains[1] == 1);
  w.send_ack(q, 1);
  w.settle();
  CHECK(w.got_drains[1] == 2);
  go(kRts);
  w.push(q, Kind::kWrite, 1);
  q.model.in_msg = true;
  w.send_ack(q, 2);
  go(kSqd);
  CHECK(w.got_drains[1] == 2);
  q.model.in_msg = false;
  w.orders.push(order(kOrderKick, 1));
  w.settle();
  CHECK(w.got_drains[1] == 3);
}

TEST_CASE("UC and UD messages complete when they have left, and no response is for them") {
  for (unsigned type : {kUc, kUd}) {
    World w;
    Qp& q = w.add_qp(1, 0xFFFFFD, type);
    for (int i = 0; i < 4; ++i) w.push(q, Kind::kSend, 2);
    w.send_ack(q, 1);
    w.tmo.push({1, 0});
    w.spoil.push(1);
    w.settle();
    CHECK(q.cqes.empty());
    w.left.push({1, 0xFFFFFE});
    w.settle();
    CHECK(q.cqes.size() == 1);
    w.left.push({1, 4});
    w.settle();
    CHECK(q.cqes.size() == 4);
    CHECK(w.got_asked[1] == 0);
    CHECK(w.got_timers.empty());
  }
}

TEST_CASE("a UC or UD queue that failed and is resumed (SQE to RTS) works again") {
  for (unsigned type : {kUc, kUd}) {
    World w;
    w.auto_recover = false;
    Qp& q = w.add_qp(1, 0xFFFFFD, type);
    for (int i = 0; i < 4; ++i) w.push(q, Kind::kSend, 2);
    w.local_error(q, 1, kLocProt);
    w.settle();
    w.left.push({1, 0xFFFFFE});
    w.settle();
    REQUIRE(q.cqes.size() == 4);
    CHECK(q.cqes[0].status == kSuccess);
    CHECK(q.cqes[1].status == kLocProt);
    w.state(q, kSqe);
    w.orders.push(order(5, 1));
    w.settle();
    w.state(q, kRts);
    const Msg m = w.push(q, Kind::kSend, 2);
    w.left.push({1, m.last});
    w.local_error(w.qps[1], w.push(q, Kind::kSend).index, kLocProt);
    w.settle();
    REQUIRE(q.cqes.size() == 6);
    CHECK(q.cqes[4].status == kSuccess);
    CHECK(q.cqes[5].status == kLocProt);
  }
}

TEST_CASE("credits are advice: syndrome 0x00 stalls nothing, and reserved NAK codes are ignored") {
  World w;
  Qp& q = w.add_qp(1, 0);
  for (unsigned i = 0; i < 32; ++i) {
    w.push(q, Kind::kWrite);
    w.send_ack(q, i, i);
  }
  w.settle();
  CHECK(q.cqes.size() == 32);
  w.push(q, Kind::kWrite, 40);
  for (unsigned i = 4; i < 32; ++i) w.send_ack(q, 40, 0x60 + i);
  for (unsigned i = 0; i < 32; ++i) w.send_ack(q, 40, 0x40 + i);
  w.settle();
  CHECK(q.model.una == 32);
  CHECK(w.counts["ghost"] == 60);
}

TEST_CASE("the timer stops only when nothing is in flight, whatever is sent meanwhile") {
  World w;
  Qp& q = w.add_qp(1, 0);
  auto random = rng("race");
  for (unsigned i = 0; i < 400; ++i) {
    w.push(q, Kind::kWrite);
    w.bench.tick(random.between(20, 30));
    w.send_ack(q, q.model.max - 1);
    // sq_engine sends the next packet around the time at which the ACK is worked on.
    w.bench.tick(random.below(12));
    w.push(q, Kind::kWrite);
    w.bench.tick(40);
    CHECK(q.timer == Qp::kAck);
    w.send_ack(q, q.model.max - 1);
    w.bench.tick(40);
    CHECK(q.timer == Qp::kOff);
  }
  w.settle();
}

TEST_CASE("a READ counts as done for a fence when its data are on the bus, orders wait for that") {
  World w;
  Qp& q = w.add_qp(1, 0);
  w.hold_bus = true;
  std::vector<Msg> list;
  for (int i = 0; i < 12; ++i) list.push_back(w.push(q, Kind::kRead, 1, true, 0, {{2, 4096, 0}}));
  for (const Msg& m : list) {
    Response r = w.answer(q, m, m.first);
    w.send(w.response(q, r));
  }
  w.bench.tick(400);
  CHECK(q.cqes.size() >= 8);  // completions do not wait, they are behind the data anyway
  CHECK(kAckHalf.get(w.half[1], "rd_done") == 0);
  CHECK(w.got_kicks[1] == 0);
  w.orders.push(order(kOrderKick, 1));
  w.bench.tick(100);
  CHECK(w.orders.pending() == 1);
  w.hold_bus = false;
  w.settle();
  CHECK(q.cqes.size() == 12);
  CHECK(kAckHalf.get(w.half[1], "rd_done") == 12);
  CHECK(w.got_kicks[1] == 12);
}

TEST_CASE("a flood of nudges and left packets does not hold up ACKs") {
  World w;
  Qp& q = w.add_qp(0, 0);
  w.add_qp(1, 0);
  w.add_qp(2, 0, kUc);
  for (int i = 0; i < 300; ++i) w.nudge.push(1);
  for (int i = 0; i < 300; ++i) w.left.push({2, 0});
  for (int i = 0; i < 40; ++i) {
    w.push(q, Kind::kWrite);
    w.send_ack(q, q.model.max - 1);
  }
  w.bench.wait(
      "ACKs", [&] { return w.resp.pending() == 0; }, 40 * 13);
  CHECK(w.nudge.pending() > 200);
  CHECK(w.left.pending() > 200);
  w.settle();
}

TEST_CASE("a full completion queue path holds the walk and loses nothing") {
  World w;
  Qp& q = w.add_qp(0, 0);
  w.cqes.set_stall(Stall::always());
  for (int i = 0; i < 12; ++i) w.push(q, Kind::kWrite);
  w.send_ack(q, 11);
  w.bench.tick(200);
  CHECK(q.pops == 4);
  w.cqes.set_stall(Stall::none());
  w.settle();
  CHECK(q.cqes.size() == 12);
}

TEST_CASE("the completion of a READ overtakes none that waits on the short way") {
  World w;
  Qp& q = w.add_qp(0, 0);
  w.cqes.set_stall(Stall::always());
  w.push(q, Kind::kWrite);
  const Msg m = w.push(q, Kind::kRead, 1, true, 0, {{2, 4096, 0}});
  w.send(w.response(q, w.answer(q, m, m.first)));
  w.bench.tick(200);
  CHECK(w.places.size() == 0);
  w.cqes.set_stall(Stall::none());
  w.settle();
  CHECK(q.cqes.size() == 2);
}

TEST_CASE("a reset in the middle of a walk leaves an idle block") {
  World w({.stall = Stall::random(0.3), .low = 1, .high = 4});
  auto random = rng("when");
  for (int round = 0; round < 8; ++round) {
    w.clear();
    Qp& q = w.add_qp(0, 5);
    for (int i = 0; i < 6; ++i) w.push(q, Kind::kWrite);
    const Msg m = w.push(q, Kind::kRead, 2);
    w.send_ack(q, 10);
    w.send(w.response(q, w.answer(q, m, m.first)));
    w.bench.tick(random.between(1, 80));
    w.bench.reset();
    w.clear();
    Qp& r = w.add_qp(0, 9);
    w.push(r, Kind::kWrite);
    w.send_ack(r, 9);
    w.settle();
    CHECK(r.cqes.size() == 1);
  }
}
