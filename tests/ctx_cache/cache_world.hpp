// SPDX-License-Identifier: Apache-2.0
//
// ctx_cache between models of its neighbours: owners and readers that keep their discipline (a pin
// from the lookup to the last write), turns, hints, and a host memory that is as slow, as out of
// order and as unreliable as the test wants. The reference is one value per QP and half, as the
// owners wrote it: it knows nothing of places, sets or host memory. Every answer is compared with
// what it held one cycle before the answer.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

namespace rnic::test {

inline const PkgStruct kFront("qp_front_t");
enum Half : unsigned { kHalfConn, kHalfSend, kHalfAck, kHalfRecv };

struct CacheConfig {
  uint64_t base = 0x4000'0000;
  unsigned read_low = 5, read_high = 60;  // cycles from request to data
  unsigned placed_high = 20;              // cycles from the last data to placed
  double lookups = 0.5;                   // chance that an idle reader starts
  unsigned hold = 60;                     // cycles that an owner keeps a context, at most
  double read_errors = 0, lost_writes = 0, spoiled = 0;
  double hints = 0.05, turns = 0.1, commands = 0.01;
  Stall stall{};
  uint32_t qps = 0;  // those that are used; 0: all
};

template <class Top, unsigned DataW, unsigned NCtx, unsigned NQp>
class CacheWorld {
 public:
  static constexpr unsigned kB = DataW / 8;

  explicit CacheWorld(const std::string& name, CacheConfig c = {})
      : config(c), random_(rng(name)), stall_(c.stall) {
    stall_.seed(rng(name + ".stall"));
    if (config.qps == 0) config.qps = NQp;
    half_.assign(NQp, {});
    for (auto& q : half_) {
      const PkgStruct* layout[4] = {&kConn, &kSend, &kAckHalf, &kRecv};
      for (unsigned h = 0; h < 4; ++h) q[h] = Bits(layout[h]->width());
    }
    top.cfg_base_i = config.base;
    make_readers();
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    bench.reset();
    bench.wait(
        "init_done_o", [this] { return top.init_done_o != 0; }, NQp + 8);
    bench.tick(2);
  }

  // Runs `cycles` of random work, then ends what is at work.
  void run(uint64_t cycles) {
    active_ = true;
    bench.tick(cycles);
    active_ = false;
    bench.wait(
        "everything to end", [this] { return idle(); }, 100'000);
    bench.tick(50);
  }

  bool exists(uint32_t qpn) const { return kConn.get(half_[qpn][kHalfConn], "exists") != 0; }

  // A packet is stored; the oldest goes on.
  void store_packet(uint32_t qpn) {
    stored_next_ = qpn;
    bench.tick();
  }
  void list_answer(uint32_t qpn) {
    answer_next_ = qpn;
    bench.tick();
  }
  void take_packet() {
    take_next_ = true;
    bench.tick();
  }

  // Creates a QP as cmd_unit and the owners do.
  void create(uint32_t qpn) { command(qpn, true); }
  void destroy(uint32_t qpn) { command(qpn, false); }
  void command(uint32_t qpn, bool make) {
    bench.wait(
        "the command unit", [this] { return cmd_.step == 0; }, 20'000);
    cmd_ = {.step = 1, .qpn = qpn, .make = make, .destroy = !make};
    bench.wait(
        "the command", [this] { return cmd_.step == 0; }, 20'000);
  }
  // A lookup by rx_responder of one QP; the answer is compared as all are. Cycles to the answer.
  uint64_t look(uint32_t qpn) {
    const uint64_t before = readers_[3].answers;
    want_rs_ = qpn;
    const uint64_t start = bench.cycle();
    bench.wait(
        "the lookup", [&] { return readers_[3].answers != before; }, 20'000);
    return bench.cycle() - start;
  }

  // A lookup by resp_engine, without waiting for it.
  void ask_re(uint32_t qpn) {
    bench.wait(
        "resp_engine's reader", [this] { return !readers_[5].waits; }, 20'000);
    re_before_ = readers_[5].answers;
    want_re_ = qpn;
  }
  bool re_answered() const { return readers_[5].answers != re_before_; }
  // The order in which turns of these QPs come out.
  std::vector<uint32_t> turns_of(std::vector<uint32_t> qpns) {
    out_order_.clear();
    for (uint32_t q : qpns) {
      bench.wait(
          "the turn stage", [this] { return !turn_in_; }, 20'000);
      turns_.insert(q);
      turn_in_ = q;
    }
    bench.wait(
        "the turns", [&] { return out_order_.size() == qpns.size(); }, 20'000);
    return out_order_;
  }
  // A reset at any time: every QP is gone.
  void restart() {
    active_ = true;
    bench.tick(random_.below(500) + 1);
    active_ = false;
    forget();
    bench.reset();
    bench.wait(
        "init_done_o", [this] { return top.init_done_o != 0; }, NQp + 8);
    bench.tick(2);
  }

  Bench<Top> bench;
  Top& top = *bench.operator->();
  CacheConfig config;
  // what was seen
  uint64_t reads = 0, writes = 0, hits = 0, misses = 0, fails = 0, lost = 0, turns_out = 0,
           traced = 0;
  unsigned waiting = 0, listed = 0;  // packets that are stored, answers that wait
  size_t most_placing = 0;           // write backs whose data had all come and that were not placed
  uint64_t last_rdreq_cycle = 0, last_data_cycle = 0;
  std::map<uint32_t, uint64_t> failed_qps;
  std::set<uint32_t> read_qps;
  uint64_t answers() const {
    uint64_t n = 0;
    for (const Reader& r : readers_) n += r.answers;
    return n;
  }

 private:
  struct Reader {
    const char* name;
    std::function<void(bool, uint32_t)> ask;
    std::function<bool()> ready, valid;
    std::function<std::vector<Bits>()> read;
    std::vector<unsigned> halves;
    bool front = false;  // only what is always on chip
    bool asking = false, waits = false;
    uint32_t qpn = 0;
    uint32_t of = 0;  // the lookup that waits for its answer
    uint64_t answers = 0;
  };
  struct Write {
    bool on = false;
    uint32_t qpn = 0;
    Bits value;
  };
  struct Turn {  // an owner with a context
    bool on = false;
    uint32_t qpn = 0;
    unsigned left = 0;  // cycles until it lets go
  };
  struct Command {
    int step = 0;
    uint32_t qpn = 0;
    bool make = false, destroy = false;
    unsigned wait = 0;
  };
  struct Beat {
    Bits rsp, data;
    bool last_of_request = false;
  };
  struct Fetch {
    uint64_t due = 0;
    std::vector<std::vector<Beat>> tlps;
    uint32_t qpn = 0;
    bool bad = false;
  };

  Rng random_;
  Stall stall_;
  bool active_ = false;
  std::vector<std::array<Bits, 4>> half_;
  std::vector<Reader> readers_;
  std::array<Write, 4> write_;
  std::array<Turn, 4> sq_;
  int sq_asks_ = -1;  // the one of them whose lookups are under way
  Turn rs_, cp_;
  Command cmd_;
  std::optional<uint32_t> want_rs_, want_re_;
  std::map<uint64_t, std::vector<uint8_t>> memory_;
  std::set<uint32_t> stale_;  // the newest write did not arrive
  std::vector<Fetch> fetches_;
  std::deque<Beat> beats_;
  struct WriteBack {
    uint64_t addr = 0, len = 0, due = 0;
    uint32_t qpn = 0;
    std::vector<uint8_t> bytes{};
  };
  std::optional<WriteBack> wr_open_;  // its data come
  std::deque<WriteBack> placing_;     // it has all of them
  std::set<uint32_t> turns_;          // under way
  std::optional<uint32_t> turn_in_;

  uint32_t any_qp() { return static_cast<uint32_t>(random_.below(config.qps)); }
  bool idle() const {
    bool busy = cmd_.step != 0 || rs_.on || cp_.on || !turns_.empty() || !fetches_.empty() ||
                !beats_.empty() || wr_open_ || !placing_.empty();
    for (const Turn& t : sq_) busy |= t.on;
    for (const Reader& r : readers_) busy |= r.waits || r.asking;
    return !busy;
  }

  void make_readers() {
    Top& t = top;
#define READER(p, out, isfront, ...)                                       \
  readers_.push_back({#p,                                                  \
                      [&t](bool v, uint32_t q) {                           \
                        t.p##_lk_valid = v;                                \
                        t.p##_lk_qpn = q;                                  \
                      },                                                   \
                      [&t] { return t.p##_lk_ready != 0; },                \
                      [&t] { return t.p##_ctx_valid != 0; },               \
                      [&t] { return std::vector<Bits>{read_pin(t.out)}; }, \
                      {__VA_ARGS__},                                       \
                      isfront})
    READER(sq, sq_ctx, false, kHalfConn);    // 0
    READER(snd, snd_ctx, false, kHalfSend);  // 1
    READER(sqa, sqa_ctx, false, kHalfAck);   // 2
    READER(rs, rs_ctx, false, kHalfConn);    // 3
    READER(rcv, rcv_ctx, false, kHalfRecv);  // 4
    READER(re, re_ctx, false, kHalfConn);    // 5
    READER(cp, cp_ctx, false, kHalfConn);    // 6
    READER(cps, cps_ctx, false, kHalfSend);  // 7
    READER(ack, ack_ctx, false, kHalfAck);   // 8
    READER(db, db_ctx, true, kHalfConn);     // 9
    READER(sch, sch_ctx, true, kHalfConn);   // 10
    READER(wf, wf_ctx, true, kHalfConn);     // 11
    READER(rq, rq_ctx, true, kHalfConn);     // 12
#undef READER
    readers_.push_back({"q",
                        [&t](bool v, uint32_t q) {
                          t.q_lk_valid = v;
                          t.q_lk_qpn = q;
                        },
                        [&t] { return t.q_lk_ready != 0; },
                        [&t] { return t.q_ctx_valid != 0; },
                        [&t] {
                          return std::vector<Bits>{read_pin(t.q_conn), read_pin(t.q_snd),
                                                   read_pin(t.q_ack), read_pin(t.q_rcv)};
                        },
                        {kHalfConn, kHalfSend, kHalfAck, kHalfRecv},
                        false});
  }

  // The part of a connection half that stays on chip; the rest zero.
  static Bits front_of(const Bits& conn) {
    static const char* const kNames[] = {"exists", "has_path", "state",    "qtype",    "sq_sig_all",
                                         "pd",     "path",     "send_cqn", "recv_cqn", "log_sq",
                                         "log_rq", "sq_base",  "rq_base",  "rate",     "weight"};
    Bits out(kConn.width());
    for (const char* n : kNames) kConn.set_bits(out, n, kConn.get_bits(conn, n));
    return out;
  }
  std::vector<Bits> expected(const Reader& r) const {
    std::vector<Bits> out;
    for (unsigned h : r.halves) {
      const Bits& v = half_[r.of < NQp ? r.of : 0][h];
      if (r.of >= NQp)
        out.emplace_back(v.width());
      else
        out.push_back(r.front ? front_of(v) : v);
    }
    return out;
  }
  // What the owners find of a QP whose context is lost.
  void lose(uint32_t qpn) {
    auto& q = half_[qpn];
    Bits conn = front_of(q[kHalfConn]);
    Bits send(kSend.width()), ack(kAckHalf.width()), recv(kRecv.width());
    kSend.set(send, "failed", 1);
    kSend.set_bits(send, "pool_index", kSend.get_bits(q[kHalfSend], "pool_index"));
    kSend.set_bits(send, "at_index", kSend.get_bits(q[kHalfSend], "pool_index"));
    kAckHalf.set(ack, "failed", 1);
    kAckHalf.set_bits(ack, "rewinding", kAckHalf.get_bits(q[kHalfAck], "rewinding"));
    kAckHalf.set_bits(ack, "stopped", kAckHalf.get_bits(q[kHalfAck], "stopped"));
    kRecv.set(recv, "failed", 1);
    kRecv.set_bits(recv, "rq_cons", kRecv.get_bits(q[kHalfRecv], "rq_cons"));
    q = {conn, send, ack, recv};
    ++lost;
    ++failed_qps[qpn];
  }

  void sample() {
    if (bench.in_reset()) return;
    // Answers: of what was written before the edge before this one.
    for (Reader& r : readers_) {
      if (!r.valid()) continue;
      INFO(r.name << " QP " << r.of << " cycle " << bench.cycle());
      CHECK(r.waits);
      CHECK((r.read() == expected(r)));
      r.waits = false;
      ++r.answers;
    }
    for (unsigned h = 0; h < 4; ++h) {
      if (applied_[h].on) half_[applied_[h].qpn][h] = applied_[h].value;
      applied_[h] = write_[h];
    }
    if (lost_now_) lose(*lost_now_);
    lost_now_.reset();
    for (Reader& r : readers_) {
      if (!r.asking || !r.ready()) continue;
      CHECK((!r.waits || r.valid()));
      r.waits = true;
      r.of = r.qpn;
      r.asking = false;
      fired(r);
    }
    if (top.turn_in_valid && top.turn_in_ready) turn_in_.reset();
    if (top.turn_out_valid && top.turn_out_ready) {
      CHECK(turns_.erase(top.turn_out_qpn) == 1);
      out_order_.push_back(top.turn_out_qpn);
      ++turns_out;
    }
    hits += top.cnt_hits_o;
    misses += top.cnt_misses_o;
    traced += top.trc_valid_o;
    if (top.fail_valid && top.fail_ready) {
      const Bits f = read_pin(top.fail);
      const auto qpn = static_cast<uint32_t>(kFail.get(f, "qpn"));
      CHECK(kFail.get(f, "cause") == kFatal);
      CHECK(kFail.get(f, "event_type") == 7);  // DMA_FAULT
      CHECK(failed_qps[qpn] > 0);
      --failed_qps[qpn];
      ++fails;
    }
    sample_memory();
  }

  void fired(const Reader& r) {
    const std::string n = r.name;
    if (n == "rs") {
      rs_ = {true, r.qpn, static_cast<unsigned>(random_.below(config.hold) + 1)};
    }
    if (n == "cp") {
      cp_ = {true, r.qpn, static_cast<unsigned>(random_.below(config.hold) + 1)};
    }
    if (n == "q") cmd_.step = 2;
  }

  // The addresses of one context only, in TLPs of 128 B at most, data in order inside a TLP.
  void sample_memory() {
    if (top.rdreq_valid && top.rdreq_ready) {
      const Bits r = read_pin(top.rdreq);
      ++reads;
      last_rdreq_cycle = bench.cycle();
      const uint64_t addr = kRdReq.get(r, "addr"), len = kRdReq.get(r, "len"),
                     slot = kRdReq.get(r, "slot");
      Fetch f;
      f.qpn = static_cast<uint32_t>(kRdReq.get(r, "qpn"));
      CHECK(addr == config.base + 256 * uint64_t{f.qpn});
      CHECK(len <= 256);
      read_qps.insert(f.qpn);
      CHECK(exists(f.qpn));
      f.due = bench.cycle() + random_.between(config.read_low, config.read_high);
      std::vector<uint8_t> bytes(len);
      CHECK(memory_.count(addr) == 1);
      if (memory_.count(addr)) std::copy_n(memory_[addr].begin(), len, bytes.begin());
      const bool refused = random_.chance(config.read_errors);
      // Not what is old already: one bit could make it look new.
      const bool spoiled = !refused && stale_.count(f.qpn) == 0 && random_.chance(config.spoiled);
      // A bit of the mark behind the halves: the QPN, the number of writes or the constant.
      if (spoiled) {
        const size_t bit =
            kConn.width() + kSend.width() + kAckHalf.width() + kRecv.width() + random_.below(48);
        bytes[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
      }
      f.bad = refused || spoiled || stale_.erase(f.qpn) != 0;
      uint64_t bad_tlp = random_.below((len + 127) / 128);
      for (uint64_t at = 0, tlp = 0; at < len; ++tlp) {
        const uint64_t end = std::min(len, at + 128);
        std::vector<Beat> beats;
        if (refused && tlp == bad_tlp) {
          beats.push_back({kRdRsp.pack({{"client", 5},
                                        {"slot", slot},
                                        {"tlp", tlp},
                                        {"tlp_last", 1},
                                        {"dst_off", at},
                                        {"err", 1},
                                        {"status", 4},
                                        {"lost", end - at}}),
                           Bits(DataW)});
          at = end;
        }
        for (; at < end; at += kB) {
          const uint64_t n = std::min<uint64_t>(kB, end - at);
          std::vector<uint8_t> lane(kB);
          std::copy_n(bytes.begin() + static_cast<long>(at), n, lane.begin());
          beats.push_back({kRdRsp.pack({{"client", 5},
                                        {"slot", slot},
                                        {"tlp", tlp},
                                        {"tlp_last", at + n == end},
                                        {"dst_off", at},
                                        {"cnt", n}}),
                           Bits::from_bytes(lane)});
        }
        at = end;
        f.tlps.push_back(std::move(beats));
      }
      fetches_.push_back(std::move(f));
    }
    if (top.wr_dat_valid && top.wr_dat_ready) {
      REQUIRE(wr_open_);
      const Bits d = read_pin(top.wr_dat_data);
      for (unsigned i = 0; i < top.wr_dat_cnt; ++i) wr_open_->bytes.push_back(d.byte(i));
      CHECK((top.wr_dat_last != 0) == (wr_open_->bytes.size() == wr_open_->len));
      CHECK(wr_open_->bytes.size() <= wr_open_->len);
      if (top.wr_dat_last) {
        wr_open_->due = bench.cycle() + 1 + random_.below(config.placed_high);
        placing_.push_back(*wr_open_);
        wr_open_.reset();
        most_placing = std::max(most_placing, placing_.size());
      }
    }
    if (top.wr_req_valid && top.wr_req_ready) {
      const Bits r = read_pin(top.wr_req);
      CHECK(!wr_open_);
      wr_open_ = WriteBack{kWrReq.get(r, "addr"), kWrReq.get(r, "len"), 0,
                           static_cast<uint32_t>(kWrReq.get(r, "qpn"))};
      CHECK(wr_open_->addr == config.base + 256 * uint64_t{wr_open_->qpn});
      CHECK(kWrReq.get(r, "is_queue") == 0);
      CHECK(config.base != 0);
      ++writes;
    }
  }

  void drive() {
    for (auto& w : write_) w.on = false;
    top.pin_i = 0;
    if (bench.in_reset()) return;
    drive_memory();
    drive_owners();
    for (Reader& r : readers_) {
      if (!r.asking) start(r);
      r.ask(r.asking, r.qpn);
    }
    put_pins();
    top.cw_valid = write_[0].on;
    top.cw_qpn = write_[0].qpn;
    write_pin(top.cw, write_[0].value);
    top.snd_wr_valid = write_[1].on;
    top.snd_wr_qpn = write_[1].qpn;
    write_pin(top.snd_wr, write_[1].value);
    top.ack_wr_valid = write_[2].on;
    top.ack_wr_qpn = write_[2].qpn;
    write_pin(top.ack_wr, write_[2].value);
    top.rcv_wr_valid = write_[3].on;
    top.rcv_wr_qpn = write_[3].qpn;
    write_pin(top.rcv_wr, write_[3].value);
    // Turns and hints.
    if (!turn_in_ && active_ && random_.chance(config.turns)) {
      const uint32_t q = any_qp();
      if (turns_.insert(q).second) turn_in_ = q;
    }
    top.turn_in_valid = turn_in_.has_value();
    top.turn_in_qpn = turn_in_.value_or(0);
    top.turn_out_ready = !stall_();
    top.rx_hint_i = active_ && random_.chance(config.hints);
    top.rx_hint_qpn_i = random_.chance(0.1) ? static_cast<uint32_t>(random_.bits(24)) : any_qp();
    // Packets are stored and go on, also in one cycle.
    top.rx_stored_i = stored_next_ || (active_ && waiting < 50 && random_.chance(2 * config.hints));
    top.rx_stored_qpn_i = stored_next_.value_or(any_qp());
    stored_next_.reset();
    waiting += top.rx_stored_i;
    top.rx_taken_i = waiting != 0 && (take_next_ || (active_ && random_.chance(2 * config.hints)));
    take_next_ = false;
    waiting -= top.rx_taken_i;
    // Answers enter their list and are looked at, not in one cycle.
    top.answered_i = listed != 0 && active_ && random_.chance(2 * config.hints);
    listed -= top.answered_i;
    top.answer_i =
        answer_next_ || (active_ && listed < NQp - 1 && random_.chance(2 * config.hints));
    top.answer_qpn_i = answer_next_.value_or(any_qp());
    answer_next_.reset();
    listed += top.answer_i;
    top.tx_hint_i = active_ && random_.chance(config.hints);
    top.tx_hint_qpn_i = any_qp();
    top.fail_ready = !stall_();
  }

  static void start_at(Reader& r, uint32_t qpn) {
    r.asking = true;
    r.qpn = qpn;
  }
  // Idle readers; owners start theirs in drive_owners.
  void start(Reader& r) {
    const std::string n = r.name;
    const bool free = r.front || n == "re";
    if (n == "re" && want_re_) {
      start_at(r, *want_re_);
      want_re_.reset();
      return;
    }
    if (free && active_ && random_.chance(config.lookups) && !r.waits) {
      start_at(r, random_.chance(0.05) ? NQp + static_cast<uint32_t>(random_.below(9)) : any_qp());
    }
  }
  Bits changed(uint32_t qpn, unsigned h) { return Bits::random(random_, half_[qpn][h].width()); }
  bool may_write(uint32_t qpn) const { return exists(qpn) && !(cmd_.step != 0 && cmd_.qpn == qpn); }

  void drive_owners() {
    // sq_engine: up to four contexts, the lookups of one at a time.
    if (sq_asks_ >= 0) {
      bool over = true;
      for (unsigned i = 0; i < 3; ++i) over &= !readers_[i].asking && !readers_[i].waits;
      if (over) sq_asks_ = -1;
    } else if (active_) {
      for (unsigned i = 0; i < 4 && sq_asks_ < 0; ++i) {
        if (sq_[i].on || !random_.chance(config.lookups)) continue;
        const uint32_t q = any_qp();
        bool taken = cmd_.step != 0 && cmd_.qpn == q;
        for (const Turn& t : sq_) taken |= t.on && t.qpn == q;
        if (taken) continue;
        sq_[i] = {true, q, static_cast<unsigned>(random_.below(config.hold) + 1)};
        sq_asks_ = static_cast<int>(i);
        for (unsigned p = 0; p < 3; ++p) start_at(readers_[p], q);
      }
    }
    const unsigned writer = static_cast<unsigned>(random_.below(4));
    for (unsigned i = 0; i < 4; ++i) {
      Turn& t = sq_[i];
      if (!t.on || sq_asks_ == static_cast<int>(i)) continue;
      if (i == writer && may_write(t.qpn) && random_.chance(0.3)) {
        write_[1] = {true, t.qpn, changed(t.qpn, 1)};
      }
      if (--t.left == 0) t.on = false;
    }
    // rx_responder: both halves at once.
    Reader& rs = readers_[3];
    Reader& rcv = readers_[4];
    auto both = [&](uint32_t q) {
      start_at(rs, q);
      start_at(rcv, q);
    };
    if (rs_.on && !rs.waits && !rcv.waits && !rcv.asking) {
      if (may_write(rs_.qpn) && random_.chance(0.3)) {
        write_[3] = {true, rs_.qpn, changed(rs_.qpn, 3)};
      }
      if (--rs_.left == 0) rs_.on = false;
    } else if (!rs_.on && !rs.asking && !rcv.asking && !rs.waits && !rcv.waits) {
      if (want_rs_)
        both(*want_rs_);
      else if (active_ && random_.chance(config.lookups))
        both(any_qp());
      want_rs_.reset();
    }
    // rx_completer: three, and the send half once more.
    Reader& cp = readers_[6];
    Reader& cps = readers_[7];
    Reader& ack = readers_[8];
    const bool cp_here = !cp.waits && !cps.waits && !ack.waits && !cps.asking && !ack.asking;
    if (cp_.on && cp_here && !cp.asking) {
      if (may_write(cp_.qpn) && random_.chance(0.3)) {
        write_[2] = {true, cp_.qpn, changed(cp_.qpn, 2)};
      }
      if (cp_.left > 1 && random_.chance(0.1))
        start_at(cps, cp_.qpn);
      else if (--cp_.left == 0)
        cp_.on = false;
    } else if (!cp_.on && cp_here && !cp.asking && active_ && random_.chance(config.lookups)) {
      const uint32_t q = any_qp();
      start_at(cp, q);
      start_at(cps, q);
      start_at(ack, q);
    }
    drive_command();
  }

  // cmd_unit: query, then a change, then orders to the owners (all halves zero).
  void drive_command() {
    Reader& q = readers_[13];
    if (cmd_.step == 0 && active_ && random_.chance(config.commands)) {
      cmd_ = {.step = 1, .qpn = any_qp()};
      cmd_.make = !exists(cmd_.qpn);
      cmd_.destroy = !cmd_.make && random_.chance(0.3);
    }
    switch (cmd_.step) {
      case 1:
        if (!q.asking && !q.waits) start_at(q, cmd_.qpn);
        break;
      case 2:
        if (q.waits) break;
        top.room_qpn_i = cmd_.qpn;
        cmd_.wait = static_cast<unsigned>(random_.below(8) + 1);
        cmd_.step = 3;
        break;
      case 3:
        if (--cmd_.wait != 0) break;
        cmd_.step = 0;
        if (cmd_.make && !top.room_o) break;  // refused
        if (!cmd_.make && !exists(cmd_.qpn)) break;
        write_[0] = {true, cmd_.qpn, changed(cmd_.qpn, 0)};
        if (cmd_.destroy)
          write_[0].value = Bits(kConn.width());
        else
          kConn.set(write_[0].value, "exists", 1);
        cmd_.step = (cmd_.make || cmd_.destroy) ? 4 : 0;
        break;
      case 4:
      case 5:
      case 6: {
        // The owner is not at work for this QP, and its port is free.
        const unsigned h = static_cast<unsigned>(cmd_.step - 3);
        bool busy = write_[h].on;
        for (const Turn& t : sq_) busy |= h == 1 && t.on && t.qpn == cmd_.qpn;
        busy |= h == 2 && cp_.on && cp_.qpn == cmd_.qpn;
        busy |= h == 3 && rs_.on && rs_.qpn == cmd_.qpn;
        if (busy) break;
        write_[h] = {true, cmd_.qpn, Bits(half_[cmd_.qpn][h].width())};
        ++cmd_.step;
        break;
      }
      case 7:
        cmd_.step = 0;
        break;
      default:
        break;
    }
  }

  void put_pins() {
    uint32_t pins = 0;
    Bits qpns(7 * 24);
    auto pin = [&](unsigned i, bool on, uint32_t qpn) {
      if (on) pins |= 1U << i;
      qpns.set(i * 24, 24, on ? qpn : 0);
    };
    for (unsigned i = 0; i < 4; ++i) pin(i, sq_[i].on, sq_[i].qpn);
    pin(4, rs_.on, rs_.qpn);
    pin(5, cp_.on, cp_.qpn);
    pin(6, cmd_.step != 0, cmd_.qpn);
    // A write in the last cycle of an owner is in the cycle in which the pin still stands.
    for (unsigned h = 0; h < 4; ++h) {
      if (!write_[h].on) continue;
      const unsigned at = h == 0 ? 6 : h == 2 ? 5 : h == 3 ? 4 : 7;
      if (cmd_.step == 0 && h == 0) pin(6, true, write_[h].qpn);
      if (at == 4 && !rs_.on && !(cmd_.step != 0 && cmd_.qpn == write_[h].qpn))
        pin(4, true, write_[h].qpn);
      if (at == 5 && !cp_.on && !(cmd_.step != 0 && cmd_.qpn == write_[h].qpn))
        pin(5, true, write_[h].qpn);
      if (h == 1) {
        for (unsigned i = 0; i < 4; ++i) {
          if (!sq_[i].on && sq_[i].qpn == write_[h].qpn) pin(i, true, write_[h].qpn);
        }
      }
    }
    top.pin_i = static_cast<uint8_t>(pins);
    write_pin(top.pin_qpn_i, qpns);
  }

  void drive_memory() {
    top.rdreq_ready = !stall_();
    top.wr_req_ready = !wr_open_ && !stall_();
    top.wr_dat_ready = wr_open_ && !stall_();
    top.wr_placed_i = 0;
    if (!placing_.empty() && bench.cycle() >= placing_.front().due) {
      top.wr_placed_i = 1;
      const WriteBack& w = placing_.front();
      if (random_.chance(config.lost_writes)) {
        stale_.insert(w.qpn);
        memory_.try_emplace(w.addr, std::vector<uint8_t>(256, 0xA5));
      } else {
        stale_.erase(w.qpn);
        memory_[w.addr] = w.bytes;
        memory_[w.addr].resize(256);
      }
      placing_.pop_front();
    }
    top.rdrsp_valid = 0;
    if (beats_.empty()) {
      for (size_t i = 0; i < fetches_.size(); ++i) {
        Fetch& f = fetches_[i];
        if (f.due > bench.cycle()) continue;
        // Any TLP of it next.
        const size_t n = random_.below(f.tlps.size());
        for (Beat& b : f.tlps[n]) beats_.push_back(std::move(b));
        f.tlps.erase(f.tlps.begin() + static_cast<long>(n));
        if (f.tlps.empty()) {
          beats_.back().last_of_request = true;
          if (f.bad) lost_with_last_ = f.qpn;
          fetches_.erase(fetches_.begin() + static_cast<long>(i));
        }
        break;
      }
    }
    if (!beats_.empty() && !stall_()) {
      top.rdrsp_valid = 1;
      write_pin(top.rdrsp, beats_.front().rsp);
      write_pin(top.rdrsp_data, beats_.front().data);
      if (beats_.front().last_of_request) {
        last_data_cycle = bench.cycle();
        if (lost_with_last_) lost_now_ = lost_with_last_;
        lost_with_last_.reset();
      }
      beats_.pop_front();
    } else if (random_.chance(0.2)) {  // of another client
      top.rdrsp_valid = 1;
      write_pin(top.rdrsp, kRdRsp.pack({{"client", 1}, {"slot", random_.below(8)}, {"cnt", 16}}));
      write_pin(top.rdrsp_data, Bits::random(random_, DataW));
    }
  }

  void forget() {
    for (auto& q : half_) {
      for (Bits& b : q) b = Bits(b.width());
    }
    for (Reader& r : readers_) {
      r.asking = r.waits = false;
      r.ask(false, 0);
    }
    write_ = applied_ = {};
    top.cw_valid = top.snd_wr_valid = top.ack_wr_valid = top.rcv_wr_valid = 0;
    sq_ = {};
    sq_asks_ = -1;
    rs_ = cp_ = {};
    cmd_ = {};
    want_rs_.reset();
    want_re_.reset();
    stale_.clear();
    memory_.clear();
    fetches_.clear();
    beats_.clear();
    wr_open_.reset();
    placing_.clear();
    turns_.clear();
    turn_in_.reset();
    lost_with_last_.reset();
    lost_now_.reset();
    lost = fails;
    failed_qps.clear();
    reads = misses = traced;
    top.pin_i = 0;
    top.turn_in_valid = top.rx_hint_i = top.tx_hint_i = top.rdrsp_valid = top.wr_placed_i = 0;
    top.rx_stored_i = top.rx_taken_i = top.answer_i = top.answered_i = 0;
    waiting = listed = 0;
  }

  std::vector<uint32_t> out_order_;
  std::optional<uint32_t> stored_next_, answer_next_;
  bool take_next_ = false;
  uint64_t re_before_ = 0;
  std::array<Write, 4> applied_;
  std::optional<uint32_t> lost_with_last_, lost_now_;
};

}  // namespace rnic::test
