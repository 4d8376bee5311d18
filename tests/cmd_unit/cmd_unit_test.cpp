// SPDX-License-Identifier: Apache-2.0
//
// cmd_unit against a model of its commands: objects with uses, the QP state machine of the fact
// sheet (section 5) as a table, statuses in their order. Commands are written byte by byte from the
// descriptor table through the mailbox.
#include <Vcmd_unit.h>

#include <functional>
#include <map>
#include <set>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

enum Op : uint8_t {
  kNopCmd = 0,
  kCreatePd = 0x10,
  kDestroyPd = 0x12,
  kCreateMr = 0x20,
  kDestroyMr = 0x22,
  kQueryMr = 0x23,
  kCreateCq = 0x30,
  kDestroyCq = 0x32,
  kQueryCq = 0x33,
  kCreateEq = 0x40,
  kDestroyEq = 0x42,
  kQueryEq = 0x43,
  kCreatePath = 0x50,
  kDestroyPath = 0x52,
  kQueryPath = 0x53,
  kCreateQp = 0x60,
  kModifyQp = 0x61,
  kDestroyQp = 0x62,
  kQueryQp = 0x63,
  kResetQp = 0x64,
};
enum CmdStatus : uint8_t {
  kOk,
  kBadOpcode,
  kBadIndex,
  kBadState,
  kBadParam,
  kInUse,
  kNotFound,
  kBadTransition,
  kMissingAttr,
  kNoContext = 10,
};
enum Mask : uint32_t {
  kPkey = 1,
  kAccess = 2,
  kPathAttr = 4,
  kMtu = 8,
  kDest = 0x10,
  kRqPsn = 0x20,
  kSqPsn = 0x40,
  kRnrTimer = 0x80,
  kTimeout = 0x100,
  kRetry = 0x200,
  kRnrRetry = 0x400,
  kRdAtomic = 0x800,
  kDestRd = 0x1000,
  kQkey = 0x2000,
  kRate = 0x4000,
  kCurState = 0x8000,
};
constexpr unsigned kNQp = 6, kNCq = 5, kNEq = 3, kNMr = 7, kNPd = 4, kNPath = 5, kNMsix = 4;

// A command as 128 bytes; fields by their place in the descriptor table.
struct Cmd {
  std::array<uint8_t, 128> b{};
  Cmd(uint8_t op, uint32_t number) {
    put(0, op, 1);
    put(4, number, 3);
  }
  Cmd& put(size_t at, uint64_t value, size_t n) {
    for (size_t i = 0; i < n; ++i) b[at + i] = static_cast<uint8_t>(value >> (8 * i));
    return *this;
  }
  uint64_t get(size_t at, size_t n) const {
    uint64_t v = 0;
    for (size_t i = 0; i < n; ++i) v |= uint64_t{b[at + i]} << (8 * i);
    return v;
  }
  uint8_t op() const { return b[0]; }
  uint32_t number() const { return static_cast<uint32_t>(get(4, 3)); }
};

constexpr uint64_t kOrderResume = 5;

struct Told {
  unsigned target = 0;
  uint64_t op = 0, qpn = 0, psn = 0;
  bool operator==(const Told&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Told& o) {
  return out << "target " << o.target << " op " << o.op << " qp " << o.qpn << std::hex << " psn "
             << o.psn << std::dec;
}

// The rules. State: which objects exist, and who uses them.
struct Model {
  struct Qp {
    bool exists = false, has_path = false;
    unsigned type = kRc, state = kReset, pd = 0, scq = 0, rcq = 0, path = 0, cause = 0;
    std::map<std::string, uint64_t> attr;
  };
  std::set<unsigned> pd;
  std::map<unsigned, unsigned> mr_pd, cq_eq;  // exists: what it uses
  std::map<unsigned, Cmd> mr, cq, eq, paths;
  std::array<Qp, kNQp> qp{};
  unsigned no_context = kNQp;  // a QP for whose context there is no place

  bool pd_used(unsigned n) const {
    for (auto [i, p] : mr_pd)
      if (p == n) return true;
    for (const Qp& q : qp)
      if (q.exists && q.pd == n) return true;
    return false;
  }
  bool cq_used(unsigned n) const {
    for (const Qp& q : qp)
      if (q.exists && (q.scq == n || q.rcq == n)) return true;
    return false;
  }
  bool eq_used(unsigned n) const {
    for (auto [i, e] : cq_eq)
      if (e == n) return true;
    return false;
  }
  bool path_used(unsigned n) const {
    for (const Qp& q : qp)
      if (q.exists && q.has_path && q.path == n) return true;
    return false;
  }

  CmdStatus run(const Cmd& c, std::vector<Told>& orders) {
    const unsigned n = c.number();
    auto all = [&](uint64_t op, uint64_t psn = 0) {
      for (unsigned t = 0; t < 8; ++t) orders.push_back({t, op, n, psn});
    };
    switch (c.op()) {
      case kNopCmd:
        return kOk;
      case kCreatePd:
        if (n >= kNPd) return kBadIndex;
        if (!pd.insert(n).second) return kInUse;
        return kOk;
      case kDestroyPd:
        if (n >= kNPd) return kBadIndex;
        if (!pd.count(n)) return kNotFound;
        if (pd_used(n)) return kInUse;
        pd.erase(n);
        return kOk;
      case kCreateMr: {
        if (n >= kNMr) return kBadIndex;
        if (mr.count(n)) return kInUse;
        const uint64_t va = c.get(16, 8), len = c.get(24, 8), iova = c.get(32, 8);
        const uint64_t page = c.get(12, 1) & 3, first = c.get(40, 4);
        const uint64_t page_size[] = {1, 4096, 65536, 0x200000};
        if (!pd.count(static_cast<unsigned>(c.get(10, 2))) || len == 0 || va + (len - 1) < va ||
            first >= page_size[page] || (page == 0 ? iova + (len - 1) < iova : iova % 8 != 0))
          return kBadParam;
        mr.emplace(n, c);
        mr_pd[n] = static_cast<unsigned>(c.get(10, 2));
        return kOk;
      }
      case kDestroyMr:
        if (n >= kNMr) return kBadIndex;
        if (!mr.erase(n)) return kNotFound;
        mr_pd.erase(n);
        return kOk;
      case kQueryMr:
        return n >= kNMr ? kBadIndex : mr.count(n) ? kOk : kNotFound;
      case kCreateCq: {
        if (n >= kNCq) return kBadIndex;
        if (cq.count(n)) return kInUse;
        const auto e = static_cast<unsigned>(c.get(9, 1));
        if ((c.get(8, 1) & 15) == 0 || c.get(16, 8) % 64 != 0 || !eq.count(e)) return kBadParam;
        cq.emplace(n, c);
        cq_eq[n] = e;
        return kOk;
      }
      case kDestroyCq:
        if (n >= kNCq) return kBadIndex;
        if (!cq.count(n)) return kNotFound;
        if (cq_used(n)) return kInUse;
        cq.erase(n);
        cq_eq.erase(n);
        return kOk;
      case kQueryCq:
        return n >= kNCq ? kBadIndex : cq.count(n) ? kOk : kNotFound;
      case kCreateEq:
        if (n >= kNEq) return kBadIndex;
        if (eq.count(n)) return kInUse;
        if ((c.get(8, 1) & 15) == 0 || c.get(16, 8) % 64 != 0 || c.get(9, 1) >= kNMsix)
          return kBadParam;
        eq.emplace(n, c);
        return kOk;
      case kDestroyEq:
        if (n >= kNEq) return kBadIndex;
        if (!eq.count(n)) return kNotFound;
        if (eq_used(n)) return kInUse;
        eq.erase(n);
        return kOk;
      case kQueryEq:
        return n >= kNEq ? kBadIndex : eq.count(n) ? kOk : kNotFound;
      case kCreatePath:
        if (n >= kNPath) return kBadIndex;
        if (paths.count(n)) return kInUse;
        paths.emplace(n, c);
        return kOk;
      case kDestroyPath:
        if (n >= kNPath) return kBadIndex;
        if (!paths.count(n)) return kNotFound;
        if (path_used(n)) return kInUse;
        paths.erase(n);
        return kOk;
      case kQueryPath:
        return n >= kNPath ? kBadIndex : paths.count(n) ? kOk : kNotFound;
      case kCreateQp: {
        if (n >= kNQp) return kBadIndex;
        Qp& q = qp[n];
        if (q.exists) return kInUse;
        const auto p = static_cast<unsigned>(c.get(14, 2)), s = static_cast<unsigned>(c.get(44, 2)),
                   r = static_cast<unsigned>(c.get(48, 2));
        if (!pd.count(p) || !cq.count(s) || !cq.count(r) || (c.get(13, 1) & 3) == 3 ||
            (c.get(46, 1) & 15) == 0 || (c.get(50, 1) & 15) == 0 || c.get(56, 8) % 64 != 0 ||
            c.get(64, 8) % 64 != 0) {
          return kBadParam;
        }
        if (n == no_context) return kNoContext;
        q = {};
        q.exists = true;
        q.pd = p;
        q.scq = s;
        q.rcq = r;
        q.type = static_cast<unsigned>(c.get(13, 1) & 3);
        if (q.type == kUd) q.attr["mtu"] = 5;
        all(kClear);
        return kOk;
      }
      case kDestroyQp:
        if (n >= kNQp) return kBadIndex;
        if (!qp[n].exists) return kNotFound;
        qp[n] = {};
        all(kClear);
        return kOk;
      case kQueryQp:
        return n >= kNQp ? kBadIndex : qp[n].exists ? kOk : kNotFound;
      case kModifyQp:
      case kResetQp:
        return modify(c, orders);
      default:
        return kBadOpcode;
    }
  }

  CmdStatus modify(const Cmd& c, std::vector<Told>& orders) {
    const unsigned n = c.number();
    if (n >= kNQp) return kBadIndex;
    Qp& q = qp[n];
    const bool reset = c.op() == kResetQp;
    const uint32_t given = reset ? 0 : static_cast<uint32_t>(c.get(8, 2));
    const unsigned to = reset ? unsigned{kReset} : static_cast<unsigned>(c.get(12, 1) & 15);
    const auto cur = static_cast<unsigned>(c.get(12, 1) >> 4);
    if (!q.exists) return kNotFound;
    if ((given & kCurState) && cur != q.state) return kBadState;
    struct Row {
      unsigned type, from, to;
      uint32_t needed, optional;
      uint64_t order;
    };
    // Facts: roce.md section 5; what UC and UD lack of an RC connection falls away.
    static const Row kRows[] = {
        {kRc, kReset, kInit, kPkey | kAccess, 0, kOrderKick},
        {kRc, kInit, kInit, 0, kPkey | kAccess, kOrderKick},
        {kRc, kInit, kRtr, kPathAttr | kMtu | kDest | kRqPsn | kDestRd | kRnrTimer, kPkey | kAccess,
         kOrderRtr},
        {kRc, kRtr, kRts, kSqPsn | kTimeout | kRetry | kRnrRetry | kRdAtomic, kAccess | kRnrTimer,
         kOrderRts},
        {kRc, kRts, kRts, 0, kAccess | kRnrTimer, kOrderKick},
        {kRc, kRts, kSqd, 0, 0, kOrderKick},
        {kRc, kSqd, kSqd, 0,
         kPathAttr | kTimeout | kRetry | kRnrRetry | kRdAtomic | kDestRd | kPkey | kAccess |
             kRnrTimer,
         kOrderKick},
        {kRc, kSqd, kRts, 0, kAccess | kRnrTimer, kOrderKick},
        {kUc, kReset, kInit, kPkey | kAccess, 0, kOrderKick},
        {kUc, kInit, kInit, 0, kPkey | kAccess, kOrderKick},
        {kUc, kInit, kRtr, kPathAttr | kMtu | kDest | kRqPsn, kPkey | kAccess, kOrderRtr},
        {kUc, kRtr, kRts, kSqPsn, kAccess, kOrderRts},
        {kUc, kRts, kRts, 0, kAccess, kOrderKick},
        {kUc, kRts, kSqd, 0, 0, kOrderKick},
        {kUc, kSqd, kSqd, 0, kPathAttr | kPkey | kAccess, kOrderKick},
        {kUc, kSqd, kRts, 0, kAccess, kOrderKick},
        {kUc, kSqe, kRts, 0, kAccess, kOrderResume},
        {kUd, kReset, kInit, kPkey | kQkey, 0, kOrderKick},
        {kUd, kInit, kInit, 0, kPkey | kQkey, kOrderKick},
        {kUd, kInit, kRtr, 0, kPkey | kQkey, kOrderRtr},
        {kUd, kRtr, kRts, kSqPsn, kQkey, kOrderRts},
        {kUd, kRts, kRts, 0, kQkey, kOrderKick},
        {kUd, kRts, kSqd, 0, 0, kOrderKick},
        {kUd, kSqd, kSqd, 0, kPkey | kQkey, kOrderKick},
        {kUd, kSqd, kRts, 0, kQkey, kOrderKick},
        {kUd, kSqe, kRts, 0, kQkey, kOrderResume},
    };
    const Row* row = nullptr;
    for (const Row& r : kRows)
      if (r.type == q.type && r.from == q.state && r.to == to) row = &r;
    const bool dead = to == kReset || (to == kErr && q.state != kReset);
    if (row == nullptr && !dead) return kBadTransition;
    if (row != nullptr) {
      if (row->needed & ~given) return kMissingAttr;
      if (given & ~(row->needed | row->optional | kRate | kCurState)) return kBadParam;
    }
    if ((given & kMtu) && ((c.get(19, 1) & 7) == 0 || (c.get(19, 1) & 7) > 5)) return kBadParam;
    const auto path = static_cast<unsigned>(c.get(40, 2));
    if ((given & kPathAttr) && !paths.count(path)) return kBadParam;
    if (dead) {
      if (to == kErr && q.state != kErr) q.cause = kFlushErr;
      if (to == kReset) q.cause = 0;
    } else {
      if (given & kPathAttr) {
        q.path = path;
        q.has_path = true;
      }
      auto set = [&](uint32_t mask, const char* name, uint64_t value) {
        if (given & mask) q.attr[name] = value;
      };
      set(kPkey, "pkey", c.get(28, 2));
      set(kAccess, "acc_write", c.get(30, 1) >> 1 & 1);
      set(kAccess, "acc_read", c.get(30, 1) >> 2 & 1);
      set(kAccess, "acc_atomic", c.get(30, 1) >> 3 & 1);
      set(kMtu, "mtu", c.get(19, 1) & 7);
      set(kDest, "dest_qpn", c.get(16, 3));
      set(kRnrTimer, "min_rnr_timer", c.get(31, 1) & 31);
      set(kTimeout, "timeout", c.get(32, 1) & 31);
      set(kRetry, "retry_cnt", c.get(33, 1) & 7);
      set(kRnrRetry, "rnr_retry", c.get(33, 1) >> 4 & 7);
      set(kRdAtomic, "max_rd_atomic", c.get(34, 1));
      set(kDestRd, "max_dest_rd", c.get(35, 1));
      set(kQkey, "qkey", c.get(36, 4));
      set(kRate, "rate", c.get(52, 3) & 0xFFFFF);
      set(kRate, "weight", c.get(54, 1) >> 4);
    }
    q.state = to;
    const uint64_t op = to == kReset ? uint64_t{kClear}
                        : to == kErr ? uint64_t{kOrderErr}
                                     : row->order;
    const uint64_t psn = op == kOrderRtr && q.type != kUd ? c.get(20, 3)
                         : op == kOrderRts                ? c.get(24, 3)
                                                          : 0;
    for (unsigned t = 0; t < 8; ++t) orders.push_back({t, op, n, psn});
    return kOk;
  }
};

class World {
 public:
  explicit World(Stall stall = {}, unsigned high = 2)
      : top(bench.top()),
        qp(
            bench, "q", {top.q_lk_valid, top.q_lk_ready, top.q_ctx_valid},
            [this] { return entry(conn, top.q_lk_qpn, kConn); },
            [this](const Bits& b) {
              write_pin(top.q_conn, b);
              write_pin(top.q_snd, kSend.pack({{"next_psn", 0x111}}));
              write_pin(top.q_ack, kAckHalf.pack({{"una_psn", 0x222}}));
              write_pin(top.q_rcv,
                        kRecv.pack({{"epsn", 0x333}, {"msn", 0x444}, {"rq_cons", 0x55}}));
            }),
        sq(
            bench, "qry", {top.qry_lk_valid, top.qry_lk_ready, top.qry_valid},
            [] { return Bits(1); },
            [this](const Bits&) {
              top.qry_prod = 0x66;
              top.qry_fetch = 0x77;
            }),
        mr(
            bench, "mr", {top.mr_cr_valid, top.mr_cr_ready, top.mr_crs_valid},
            [this] { return entry(mrs, top.mr_cr_index, kMr); },
            [this](const Bits& b) { write_pin(top.mr_crs, b); }),
        cq(
            bench, "cq", {top.cq_cr_valid, always_[0], top.cq_crs_valid},
            [this] { return entry(cqs, top.cq_cr_index, kCq); },
            [this](const Bits& b) {
              write_pin(top.cq_crs, b);
              top.cq_crs_prod = 0x88;
              top.cq_crs_cons = 0x99;
            }),
        eq(
            bench, "eq", {top.eq_cr_valid, always_[1], top.eq_crs_valid},
            [this] { return entry(eqs, top.eq_cr_index, kEq); },
            [this](const Bits& b) {
              write_pin(top.eq_crs, b);
              top.eq_crs_prod = 0xAA;
            }),
        path(
            bench, "path", {top.path_cr_valid, top.path_cr_ready, top.path_crs_valid},
            [this] { return entry(paths, top.path_cr_index, kPath); },
            [this](const Bits& b) { write_pin(top.path_crs, b); }),
        fails(bench, "fail", top.fail_valid, top.fail_ready, top.fail),
        events(
            bench, "event", top.event_valid, top.event_ready,
            [this] { return read_pin(top.event_o); }, stall) {
    for (LookupServer* s : {&qp, &sq, &mr, &path}) s->set_stall(stall);
    for (LookupServer* s : {&qp, &sq, &mr, &path, &cq, &eq}) s->set_latency(1, high);
    order_stall_ = stall;
    order_stall_.seed(rng("orders"));
    top.cfg_rate_i = 0x12345;
    top.q_rq_prod_i = 0xBB;
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { top.qpi_ready_i = order_stall_() ? 0 : top_ready; });
    bench.on_drive([this] { top.ctx_room_i = top.q_rq_qpn_o != model.no_context; });
    bench.on_drive([this] { top.settled_i = top.settle_o != 0 && !order_stall_(); });
    bench.reset();
    bench.wait(
        "init", [this] { return top.init_done_o != 0; }, 50);
  }
  void window(uint32_t addr, uint32_t value) {
    top.mbox_in_req_i = 1;
    top.mbox_in_we_i = 1;
    top.mbox_in_addr_i = static_cast<uint8_t>(addr);
    top.mbox_in_wdata_i = value;
    top.mbox_in_wstrb_i = 15;
    bench.wait(
        "mailbox", [this] { return top.mbox_in_ack_o != 0; }, 10);
    top.mbox_in_req_i = 0;
    bench.tick();
  }
  void forget_mailbox() {
    shadow_ = Cmd(0xFF, 0xFFFFFF).put(8, ~uint64_t{0}, 8);
    fresh_ = true;
  }
  void start(const Cmd& c) {
    for (unsigned i = 0; i < 128; i += 4) {
      if (fresh_ || shadow_.get(i, 4) != c.get(i, 4)) window(i, static_cast<uint32_t>(c.get(i, 4)));
    }
    shadow_ = c;
    fresh_ = false;
    top.go_i = 1;
    bench.tick();
    top.go_i = 0;
  }
  CmdStatus run(const Cmd& c, uint64_t limit = 4000) {
    start(c);
    const uint64_t begin = bench.cycle();
    bench.wait(
        "command " + std::to_string(c.op()), [this] { return top.busy_o == 0; }, limit);
    last_cycles = bench.cycle() - begin;
    return static_cast<CmdStatus>(top.status_o);
  }
  Cmd answer() {
    Cmd a(0, 0);
    for (unsigned i = 0; i < 128; i += 4) {
      top.mbox_out_req_i = 1;
      top.mbox_out_addr_i = static_cast<uint8_t>(i);
      bench.wait(
          "mailbox", [this] { return top.mbox_out_ack_o != 0; }, 10);
      a.put(i, top.mbox_out_rdata_o, 4);
      top.mbox_out_req_i = 0;
      bench.tick();
    }
    return a;
  }
  // Runs it on both sides and compares status, orders and the connection half.
  CmdStatus both(const Cmd& c) {
    std::vector<Told> want;
    const CmdStatus expected = model.run(c, want);
    orders.clear();
    const unsigned writes_before = writes, settled_before = settled;
    const CmdStatus got = run(c);
    CAPTURE(unsigned{c.op()}, c.number(), unsigned{expected});
    CHECK(unsigned{got} == unsigned{expected});
    CHECK(difference(orders, want) == "");
    if (expected != kOk) CHECK(writes == writes_before);  // nothing changed
    CHECK(top.token_o == c.get(2, 2));
    // What takes memory away waits, when all is told, until nothing of before is under way.
    CHECK(settled - settled_before == (expected == kOk && takes_away(c) ? 1 : 0));
    check_tables();
    return got;
  }
  static bool takes_away(const Cmd& c) {
    const bool modify = c.op() == kModifyQp;
    return (c.op() & 15) == 2 || c.op() == kResetQp || (modify && (c.get(12, 1) & 15) == kReset);
  }
  void check_tables() {
    for (unsigned i = 0; i < kNQp; ++i) {
      const auto& q = model.qp[i];
      const Bits b = conn.count(i) ? conn[i] : Bits(kConn.width());
      CHECK(kConn.get(b, "exists") == q.exists);
      if (!q.exists) continue;
      CHECK(kConn.get(b, "state") == q.state);
      CHECK(kConn.get(b, "err_cause") == q.cause);
      CHECK(kConn.get(b, "pd") == q.pd);
      CHECK(kConn.get(b, "send_cqn") == q.scq);
      CHECK(kConn.get(b, "recv_cqn") == q.rcq);
      if (q.has_path) CHECK(kConn.get(b, "path") == q.path);
      for (const auto& [name, value] : q.attr) {
        INFO(name);
        CHECK(kConn.get(b, name) == value);
      }
    }
    for (unsigned i = 0; i < kNMr; ++i)
      CHECK(valid(mrs, i, kMr, "exists") == (model.mr.count(i) != 0));
    for (unsigned i = 0; i < kNCq; ++i) CHECK(valid(cqs, i, kCq) == (model.cq.count(i) != 0));
    for (unsigned i = 0; i < kNEq; ++i) CHECK(valid(eqs, i, kEq) == (model.eq.count(i) != 0));
    for (unsigned i = 0; i < kNPath; ++i)
      CHECK(valid(paths, i, kPath) == (model.paths.count(i) != 0));
  }
  // One of everything, and a QP in RTS.
  void basics() {
    REQUIRE(both(Cmd(kCreatePd, 1)) == kOk);
    REQUIRE(both(eq_cmd(0)) == kOk);
    REQUIRE(both(cq_cmd(2, 0)) == kOk);
    REQUIRE(both(Cmd(kCreatePath, 3)) == kOk);
    REQUIRE(both(qp_cmd(4, 1, 2, 2)) == kOk);
  }
  void to_rts(unsigned n) {
    REQUIRE(both(Cmd(kModifyQp, n)
                     .put(8, kPkey | kAccess, 2)
                     .put(12, kInit, 1)
                     .put(28, 0xFFFF, 2)
                     .put(30, 2, 1)) == kOk);
    REQUIRE(both(Cmd(kModifyQp, n)
                     .put(8, kPathAttr | kMtu | kDest | kRqPsn | kDestRd | kRnrTimer, 2)
                     .put(12, kRtr, 1)
                     .put(19, 3, 1)
                     .put(16, 0x123456, 3)
                     .put(20, 0xABCDEF, 3)
                     .put(40, 3, 2)
                     .put(31, 12, 1)) == kOk);
    REQUIRE(both(Cmd(kModifyQp, n)
                     .put(8, kSqPsn | kTimeout | kRetry | kRnrRetry | kRdAtomic, 2)
                     .put(12, kRts, 1)
                     .put(24, 0xFEDCBA, 3)) == kOk);
  }
  static Cmd eq_cmd(unsigned n, unsigned vector = 1) {
    return Cmd(kCreateEq, n).put(8, 4, 1).put(9, vector, 1).put(16, 0x4000, 8);
  }
  static Cmd cq_cmd(unsigned n, unsigned eqn) {
    return Cmd(kCreateCq, n).put(8, 6, 1).put(9, eqn, 1).put(16, 0x8000, 8);
  }
  static Cmd qp_cmd(unsigned n, unsigned pd, unsigned scq, unsigned rcq, unsigned type = kRc) {
    return Cmd(kCreateQp, n)
        .put(13, type, 1)
        .put(14, pd, 2)
        .put(44, scq, 2)
        .put(48, rcq, 2)
        .put(46, 5, 1)
        .put(50, 4, 1)
        .put(56, 0x10000, 8)
        .put(64, 0x20000, 8);
  }

  Bench<Vcmd_unit> bench;
  Vcmd_unit& top;
  std::array<CData, 2> always_{};  // these lookups have no ready
  LookupServer qp, sq, mr, cq, eq, path;
  StreamSource<Bits> fails;
  StreamSink<Bits> events;
  Model model;
  std::map<uint64_t, Bits> conn, mrs, cqs, eqs, paths;
  std::vector<Told> orders;
  unsigned writes = 0, settled = 0;
  uint8_t top_ready = 0xFF;
  uint64_t last_cycles = 0, done = 0, errors = 0;

 private:
  static Bits entry(std::map<uint64_t, Bits>& from, uint64_t index, const PkgStruct& type) {
    return from.count(index) ? from[index] : Bits(type.width());
  }
  static bool valid(std::map<uint64_t, Bits>& from, uint64_t index, const PkgStruct& type,
                    const char* field = "valid") {
    return from.count(index) && type.get(from[index], field) != 0;
  }
  void sample() {
    done += top.cnt_cmd_done_o;
    errors += top.cnt_cmd_errors_o;
    auto write = [&](bool valid, uint64_t index, std::map<uint64_t, Bits>& to, const Bits& value) {
      if (!valid) return;
      to[index] = value;
      ++writes;
    };
    const int ready = top.qpi_valid_o & top.qpi_ready_i;
    CHECK((top.qpi_valid_o & (top.qpi_valid_o - 1)) == 0);
    if (ready != 0) {
      const Bits o = read_pin(top.qpi_o);
      const uint64_t qpn = kOrder.get(o, "qpn");
      orders.push_back({static_cast<unsigned>(__builtin_ctz(static_cast<unsigned>(ready))),
                        kOrder.get(o, "op"), qpn, kOrder.get(o, "psn")});
      order_states.push_back(conn.count(qpn) ? kConn.get(conn[qpn], "state") : 99);
    }
    if (top.settle_o) {
      settled += top.settled_i;
      CHECK(top.busy_o == 1);
      CHECK(top.qpi_valid_o == 0);
    }
    write(top.cw_valid, top.cw_qpn, conn, read_pin(top.cw));
    write(top.mr_cw_valid, top.mr_cw_index, mrs, read_pin(top.mr_cw));
    write(top.cq_cw_valid, top.cq_cw_index, cqs, read_pin(top.cq_cw));
    write(top.eq_cw_valid, top.eq_cw_index, eqs, read_pin(top.eq_cw));
    write(top.path_cw_valid, top.path_cw_index, paths, read_pin(top.path_cw));
  }

 public:
  std::vector<uint64_t> order_states;  // of the connection half, when each order was taken

 private:
  Stall order_stall_;
  Cmd shadow_{0, 0};  // what the mailbox holds
  bool fresh_ = false;
};

Cmd random_command(Rng& r, const Model& m) {
  static const uint8_t kOps[] = {0x00, 0x10, 0x12, 0x20, 0x22, 0x23, 0x30, 0x32, 0x33, 0x40,
                                 0x42, 0x43, 0x50, 0x52, 0x53, 0x60, 0x61, 0x62, 0x63, 0x64};
  uint8_t op = kOps[r.below(sizeof kOps)];
  if (r.chance(0.45)) op = kModifyQp;
  if (r.chance(0.3)) op = static_cast<uint8_t>(0x10 * r.between(1, 6));
  if (r.chance(0.02)) op = static_cast<uint8_t>(r.bits(8));
  Cmd c(op, static_cast<uint32_t>(r.below(r.chance(0.1) ? 9 : 4)));
  if (r.chance(0.01)) c.put(4, r.bits(24), 3);
  c.put(2, r.bits(16), 2);
  for (size_t i = 8; i < 128; ++i) c.b[i] = static_cast<uint8_t>(r.bits(8));
  const bool good = r.chance(0.85);
  switch (op) {
    case kCreateMr:
      c.put(10, r.below(good ? 4 : 9), 2);
      if (r.chance(0.5)) c.put(12, 0, 1).put(40, 0, 4);
      if (good)
        c.put(16, r.bits(40), 8)
            .put(24, r.bits(30) + 1, 8)
            .put(32, r.bits(40) & ~uint64_t{7}, 8)
            .put(40, c.get(12, 1) % 4 == 0 ? 0 : r.bits(12), 4);
      else if (r.chance(0.5))
        c.put(16, ~uint64_t{0}, 8).put(24, r.below(3), 8);
      break;
    case kCreateCq:
      c.put(9, r.below(good ? 3 : 9), 1);
      if (good) c.put(8, r.between(1, 15), 1).put(16, r.bits(40) << 6, 8);
      break;
    case kCreateEq:
      c.put(9, r.below(good ? 4 : 6), 1);
      if (good) c.put(8, r.between(1, 15), 1).put(16, r.bits(40) << 6, 8);
      break;
    case kCreateQp:
      c.put(14, r.below(4), 2).put(44, r.below(5), 2).put(48, r.below(5), 2);
      if (good)
        c.put(13, 0x10 * r.bits(1) + r.below(3), 1)
            .put(46, r.between(1, 15), 1)
            .put(50, r.between(1, 15), 1)
            .put(56, r.bits(40) << 6, 8)
            .put(64, r.bits(40) << 6, 8);
      break;
    case kModifyQp: {
      static const uint32_t kGood[3][4] = {
          {kPkey | kAccess, kPathAttr | kMtu | kDest | kRqPsn | kDestRd | kRnrTimer,
           kSqPsn | kTimeout | kRetry | kRnrRetry | kRdAtomic, 0},
          {kPkey | kAccess, kPathAttr | kMtu | kDest | kRqPsn, kSqPsn, 0},
          {kPkey | kQkey, 0, kSqPsn, 0}};
      const unsigned state = m.qp[c.number() % kNQp].state, type = m.qp[c.number() % kNQp].type;
      unsigned to = state < 3 ? state + 1 : static_cast<unsigned>(r.below(7));
      uint32_t mask = kGood[type][std::min(state, 3u)];
      if (state == kInit && r.chance(0.2)) {
        to = kInit;
        mask = static_cast<uint32_t>(r.below(4));
      }
      if (!good) {
        mask ^= 1u << r.below(16);
        if (r.chance(0.4)) to = static_cast<unsigned>(r.below(16));
      }
      if (r.chance(0.15)) to = r.chance(0.5) ? unsigned{kErr} : unsigned{kReset};
      if (r.chance(0.2)) mask |= kCurState;
      if (r.chance(0.2)) mask |= kRate;
      c.put(8, mask, 2)
          .put(12, to | (r.chance(0.8) ? state : static_cast<unsigned>(r.below(16))) << 4, 1);
      c.put(40, r.below(r.chance(0.1) ? 7 : 4), 2);
      if (r.chance(0.9)) c.put(19, r.between(1, 5), 1);
      break;
    }
    default:
      break;
  }
  return c;
}

}  // namespace

TEST_CASE("random commands change exactly what the rules say and answer with the right status") {
  for (double p : {0.0, 0.4}) {
    World w(Stall::random(p), p == 0 ? 2 : 6);
    auto random = rng("commands");
    w.model.no_context = 3;
    std::map<unsigned, unsigned> seen;
    std::set<std::pair<unsigned, unsigned>> transitions;
    for (int i = 0; i < 8000; ++i) {
      const Cmd c = random_command(random, w.model);
      const unsigned from = w.model.qp[c.number() % kNQp].state;
      const CmdStatus s = w.both(c);
      ++seen[s];
      if (c.op() == kModifyQp && s == kOk) transitions.insert({from, w.model.qp[c.number()].state});
    }
    for (unsigned s : {kOk, kBadOpcode, kBadIndex, kBadState, kBadParam, kInUse, kNotFound,
                       kBadTransition, kMissingAttr, kNoContext}) {
      INFO("status " << s);
      CHECK(seen[s] > 2);
    }
    for (std::pair<unsigned, unsigned> t : {std::pair{0u, 1u},
                                            {1u, 1u},
                                            {1u, 2u},
                                            {2u, 3u},
                                            {3u, 3u},
                                            {3u, 4u},
                                            {4u, 4u},
                                            {4u, 3u},
                                            {4u, 6u},
                                            {4u, 0u},
                                            {1u, 6u},
                                            {2u, 6u},
                                            {3u, 6u},
                                            {6u, 6u},
                                            {6u, 0u},
                                            {3u, 0u},
                                            {0u, 0u}}) {
      INFO(t.first << " to " << t.second);
      CHECK(transitions.count(t) == 1);
    }
    w.bench.tick(3);
    CHECK(w.done + w.errors == 8000);
    CHECK(w.done == seen[kOk]);
  }
}

TEST_CASE("every transition between states is allowed or refused as the table says") {
  World w;
  w.basics();
  const uint32_t all = 0xFFFF & ~uint32_t{kCurState};
  static const uint32_t kNeeded[3][3] = {
      {kPkey | kAccess, kPathAttr | kMtu | kDest | kRqPsn | kDestRd | kRnrTimer,
       kSqPsn | kTimeout | kRetry | kRnrRetry | kRdAtomic},
      {kPkey | kAccess, kPathAttr | kMtu | kDest | kRqPsn, kSqPsn},
      {kPkey | kQkey, 0, kSqPsn}};
  for (unsigned type : {unsigned{kRc}, unsigned{kUc}, unsigned{kUd}}) {
    REQUIRE(w.both(Cmd(kDestroyQp, 4)) == kOk);
    REQUIRE(w.both(World::qp_cmd(4, 1, 2, 2, type)) == kOk);
    for (unsigned from : {0u, 1u, 2u, 3u, 4u, 6u}) {
      for (unsigned to = 0; to < 16; ++to) {
        // To the state, by the shortest way.
        REQUIRE(w.both(Cmd(kResetQp, 4)) == kOk);
        Cmd c(kModifyQp, 4);
        c.put(16, 5, 3).put(19, 3, 1).put(40, 3, 2);
        const unsigned way = from == 6 ? 1 : std::min(from, 3u);
        for (unsigned s = 1; s <= way; ++s)
          REQUIRE(w.both(c.put(8, kNeeded[type][s - 1], 2).put(12, s, 1)) == kOk);
        if (from == 4) REQUIRE(w.both(c.put(8, 0, 2).put(12, kSqd, 1)) == kOk);
        if (from == 6) REQUIRE(w.both(c.put(8, 0, 2).put(12, kErr, 1)) == kOk);
        // Nothing, everything, and each attribute alone.
        for (uint32_t mask : {0u, all}) {
          if (w.model.qp[4].state == from) w.both(c.put(8, mask, 2).put(12, to, 1));
        }
        for (unsigned bit = 0; bit < 15; ++bit) {
          if (w.model.qp[4].state == from) w.both(c.put(8, 1u << bit, 2).put(12, to, 1));
        }
      }
    }
  }
}

TEST_CASE(
    "RTR and RTS: every owner knows its first PSN before the QP starts; ERR and RESET: the QP "
    "stops first") {
  World w;
  w.basics();
  w.order_states.clear();
  w.to_rts(4);
  REQUIRE(w.order_states.size() == 24);
  for (unsigned i = 0; i < 8; ++i) {
    CHECK(w.order_states[i] == kInit);      // KICK of INIT comes behind the write
    CHECK(w.order_states[8 + i] == kInit);  // RTR before it
    CHECK(w.order_states[16 + i] == kRtr);  // RTS before it
  }
  w.order_states.clear();
  REQUIRE(w.both(Cmd(kModifyQp, 4).put(12, kErr, 1)) == kOk);
  REQUIRE(w.both(Cmd(kResetQp, 4)) == kOk);
  for (unsigned i = 0; i < 8; ++i) {
    CHECK(w.order_states[i] == kErr);
    CHECK(w.order_states[8 + i] == kReset);
  }
}

TEST_CASE("queries answer with what the tables and the owners hold") {
  World w;
  w.basics();
  w.to_rts(4);
  Cmd mr_cmd = Cmd(kCreateMr, 5)
                   .put(8, 0x77, 1)
                   .put(9, 0x3F, 1)
                   .put(10, 1, 2)
                   .put(12, 2, 1)
                   .put(40, 0xFFFF, 4)
                   .put(16, 0x1122334455667788, 8)
                   .put(24, 0x1000, 8)
                   .put(32, 0xAABBCCDD00, 8);
  REQUIRE(w.both(mr_cmd) == kOk);
  REQUIRE(w.both(Cmd(kQueryMr, 5)) == kOk);
  Cmd a = w.answer();
  for (size_t i = 8; i < 44; ++i) CHECK(unsigned{a.b[i]} == unsigned{mr_cmd.b[i]});
  Cmd path_cmd(kCreatePath, 4);
  for (size_t i = 8; i < 64; ++i) path_cmd.b[i] = static_cast<uint8_t>(i * 7);
  REQUIRE(w.both(path_cmd) == kOk);
  REQUIRE(w.both(Cmd(kQueryPath, 4)) == kOk);
  a = w.answer();
  for (size_t i : {8u, 13u, 14u, 19u, 23u - 1, 26u, 27u, 32u, 47u, 48u, 63u})
    CHECK(unsigned{a.b[i]} == unsigned{path_cmd.b[i]});
  // First wire byte highest.
  CHECK(kPath.get(w.paths[4], "dmac") >> 40 == path_cmd.b[8]);
  CHECK(kPath.get_bits(w.paths[4], "sip").byte(15) == path_cmd.b[32]);
  REQUIRE(w.both(Cmd(kQueryCq, 2)) == kOk);
  a = w.answer();
  CHECK(a.get(8, 1) == 6);
  CHECK(a.get(16, 8) == 0x8000);
  CHECK(a.get(24, 2) == 0x88);
  CHECK(a.get(26, 2) == 0x99);
  REQUIRE(w.both(Cmd(kQueryEq, 0)) == kOk);
  a = w.answer();
  CHECK(a.get(8, 2) == 0x104);
  CHECK(a.get(24, 2) == 0xAA);
  REQUIRE(w.both(Cmd(kQueryQp, 4).put(2, 0xBEEF, 2)) == kOk);
  a = w.answer();
  CHECK(a.get(0, 8) == (uint64_t{4} << 32 | 0xBEEFu << 16 | kQueryQp));
  CHECK((a.get(12, 1) & 15) == kRts);
  CHECK(a.get(16, 3) == 0x123456);
  CHECK(a.get(28, 2) == 0xFFFF);
  CHECK(a.get(40, 2) == 3);
  CHECK(a.get(44, 2) == 2);
  CHECK((a.get(52, 3) & 0xFFFFF) == 0x12345);
  CHECK(a.get(56, 8) == 0x10000);
  CHECK(a.get(72, 2) == 0x66);
  CHECK(a.get(74, 2) == 0x77);
  CHECK(a.get(76, 3) == 0x111);
  CHECK(a.get(80, 3) == 0x222);
  CHECK(a.get(84, 3) == 0x333);
  CHECK(a.get(88, 3) == 0x444);
  CHECK(a.get(92, 2) == 0xBB);
  CHECK(a.get(94, 2) == 0x55);
}

TEST_CASE(
    "a QP that asks to fail goes to ERR once, with its first cause, an event and orders to all "
    "owners") {
  World w;
  w.basics();
  w.to_rts(4);
  w.orders.clear();
  w.fails.push(kFail.pack({{"qpn", 4}, {"cause", kRemAccess}, {"event_type", kEvQpFatal}}));
  w.fails.push(kFail.pack({{"qpn", 4}, {"cause", kRemOp}, {"event_type", kEvQpFatal}}));
  w.bench.tick(100);
  CHECK(kConn.get(w.conn[4], "state") == kErr);
  CHECK(kConn.get(w.conn[4], "err_cause") == kRemAccess);
  REQUIRE(w.events.size() == 1);
  CHECK(w.events[0] ==
        kEvent.pack({{"eqn", 0}, {"etype", kEvQpFatal}, {"code", kRemAccess}, {"number", 4}}));
  REQUIRE(w.orders.size() == 8);
  for (unsigned t = 0; t < 8; ++t) CHECK(w.orders[t] == Told{t, kOrderErr, 4, 0});
  // In ERR, in RESET and for a QP that does not exist it changes nothing.
  w.model.qp[4].state = kErr;
  w.model.qp[4].cause = kRemAccess;
  for (unsigned n : {4u, 1u})
    w.fails.push(kFail.pack({{"qpn", n}, {"cause", kRemOp}, {"event_type", kEvQpFatal}}));
  w.bench.tick(100);
  CHECK(w.orders.size() == 8);
  REQUIRE(w.both(Cmd(kResetQp, 4)) == kOk);
  w.orders.clear();
  w.fails.push(kFail.pack({{"qpn", 4}, {"cause", kRemOp}, {"event_type", kEvQpFatal}}));
  w.bench.tick(100);
  CHECK(w.orders.empty());
  CHECK(w.top.fatal_o == 0);
  // A fault of nobody is the device's.
  w.fails.push(kFail.pack({{"qpn", 0xFFFFFF}, {"cause", 0x23}}));
  w.bench.tick(20);
  CHECK(w.top.fatal_o == 1);
}

TEST_CASE("a failure of the sending side of UC or UD stops its send queue only: SQE") {
  World w;
  w.basics();
  for (unsigned type : {unsigned{kUc}, unsigned{kUd}, unsigned{kRc}}) {
    REQUIRE(w.both(Cmd(kDestroyQp, 4)) == kOk);
    REQUIRE(w.both(World::qp_cmd(4, 1, 2, 2, type)) == kOk);
    Cmd c(kModifyQp, 4);
    c.put(16, 5, 3).put(19, 3, 1).put(40, 3, 2);
    const uint32_t steps[3][3] = {
        {kPkey | kAccess, kPathAttr | kMtu | kDest | kRqPsn | kDestRd | kRnrTimer,
         kSqPsn | kTimeout | kRetry | kRnrRetry | kRdAtomic},
        {kPkey | kAccess, kPathAttr | kMtu | kDest | kRqPsn, kSqPsn},
        {kPkey | kQkey, 0, kSqPsn}};
    for (unsigned s = 1; s <= 3; ++s)
      REQUIRE(w.both(c.put(8, steps[type][s - 1], 2).put(12, s, 1)) == kOk);
    const auto fail = [&](bool sending, uint64_t cause) {
      w.orders.clear();
      w.top.fail_sq_i = sending;
      w.fails.push(kFail.pack({{"qpn", 4}, {"cause", cause}, {"event_type", kEvQpFatal}}));
      w.bench.tick(100);
    };
    const size_t events = w.events.size();
    fail(true, kRemOp);
    if (type == kRc) {  // RC has no SQE
      CHECK(kConn.get(w.conn[4], "state") == kErr);
      CHECK(w.events.size() == events + 1);
      continue;
    }
    CHECK(kConn.get(w.conn[4], "state") == kSqe);
    CHECK(kConn.get(w.conn[4], "err_cause") == kRemOp);
    CHECK(w.events.size() == events);  // the completion says it
    REQUIRE(w.orders.size() == 5);
    for (unsigned t = 0; t < 5; ++t) CHECK(w.orders[t] == Told{t, kOrderErr, 4, 0});
    fail(true, kRemAccess);  // once is enough
    CHECK(w.orders.empty());
    CHECK(kConn.get(w.conn[4], "err_cause") == kRemOp);
    w.model.qp[4].state = kSqe;
    w.model.qp[4].cause = kRemOp;
    REQUIRE(w.both(c.put(8, 0, 2).put(12, kRts, 1)) == kOk);  // RESUME
    // The receiving side takes the QP to ERR, from SQE too.
    fail(true, kRemOp);
    CHECK(kConn.get(w.conn[4], "state") == kSqe);
    fail(false, kRemAccess);
    CHECK(kConn.get(w.conn[4], "state") == kErr);
    CHECK(w.orders.size() == 8);
    CHECK(w.events.size() == events + 1);
    w.model.qp[4].state = kErr;
    w.model.qp[4].cause = kRemAccess;
  }
}

TEST_CASE(
    "failures are always taken, also while an owner lets an order wait, and are served behind it") {
  World w;
  w.basics();
  w.to_rts(4);
  REQUIRE(w.both(World::qp_cmd(1, 1, 2, 2)) == kOk);
  w.to_rts(1);
  w.top_ready = 0xFD;  // sq_engine holds its order back
  w.start(Cmd(kModifyQp, 4).put(12, kErr, 1));
  w.bench.tick(50);
  CHECK(w.top.busy_o == 1);
  for (int i = 0; i < 20; ++i)
    w.fails.push(
        kFail.pack({{"qpn", i % 2 ? 1 : 4}, {"cause", kRemOp}, {"event_type", kEvQpFatal}}));
  w.bench.tick(25);
  CHECK(w.fails.pending() == 0);
  w.top_ready = 0xFF;
  w.bench.tick(150);
  CHECK(w.top.busy_o == 0);
  CHECK(kConn.get(w.conn[1], "state") == kErr);
  CHECK(kConn.get(w.conn[1], "err_cause") == kRemOp);
  CHECK(kConn.get(w.conn[4], "err_cause") == kFlushErr);
  CHECK(w.events.size() == 1);
}

TEST_CASE("a failure of the old life of a QP does not reach its new one") {
  World w;
  w.basics();
  w.to_rts(4);
  w.top_ready = 0xEF;  // rx_completer holds CLEAR back, and asks for a failure first
  w.start(Cmd(kResetQp, 4));
  w.bench.tick(40);
  w.fails.push(kFail.pack({{"qpn", 4}, {"cause", kRemOp}, {"event_type", kEvQpFatal}}));
  w.bench.tick(10);
  w.top_ready = 0xFF;
  w.bench.wait("RESET", [&] { return w.top.busy_o == 0; });
  w.model.qp[4].state = kReset;
  REQUIRE(w.both(Cmd(kModifyQp, 4).put(8, kPkey | kAccess, 2).put(12, kInit, 1)) == kOk);
  w.bench.tick(60);
  CHECK(kConn.get(w.conn[4], "state") == kInit);
  CHECK(w.events.size() == 0);
}

TEST_CASE("the mailbox does not change under a running command, and go while busy is counted") {
  World w;
  w.basics();
  w.top_ready = 0;
  w.start(Cmd(kResetQp, 4));
  w.bench.tick(20);
  w.window(4, 2);  // another QP number: dropped
  w.top.go_i = 1;
  w.bench.tick();
  w.top.go_i = 0;
  w.top_ready = 0xFF;
  w.bench.wait("command", [&] { return w.top.busy_o == 0; });
  w.bench.tick(3);
  CHECK(unsigned{w.top.status_o} == kOk);
  CHECK(w.errors == 1);
  for (const Told& o : w.orders) CHECK(o.qpn == 4);
}

TEST_CASE("cycles of the commands") {
  World w(Stall::none(), 1);
  w.basics();
  CHECK(w.last_cycles <= 30);
  w.run(Cmd(kNopCmd, 0));
  CHECK(w.last_cycles <= 6);
  w.run(Cmd(kQueryQp, 4));
  CHECK(w.last_cycles <= 12);
}

TEST_CASE("a reset in the middle of a command leaves an idle unit without objects") {
  World w(Stall::random(0.3));
  auto random = rng("when");
  for (int i = 0; i < 6; ++i) {
    w.basics();
    w.start(Cmd(kResetQp, 4));
    w.fails.push(kFail.pack({{"qpn", 4}, {"cause", kRemOp}, {"event_type", kEvQpFatal}}));
    w.bench.tick(random.below(30));
    w.bench.reset();
    w.conn.clear();
    w.cqs.clear();
    w.eqs.clear();
    w.paths.clear();
    w.mrs.clear();
    w.model = {};
    w.orders.clear();
    w.bench.wait(
        "init", [&] { return w.top.init_done_o != 0; }, 50);
    CHECK(w.top.busy_o == 0);
    w.bench.tick(60);
    CHECK(w.orders.empty());
    // The mailbox is empty again.
    Cmd c = Cmd(kDestroyPd, 1);
    for (unsigned k = 0; k < 128; k += 4) w.window(k, static_cast<uint32_t>(c.get(k, 4)));
    w.top.go_i = 1;
    w.bench.tick();
    w.top.go_i = 0;
    w.bench.wait("command", [&] { return w.top.busy_o == 0; });
    CHECK(unsigned{w.top.status_o} == kNotFound);
    w.forget_mailbox();
  }
}
