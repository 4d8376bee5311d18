// SPDX-License-Identifier: Apache-2.0
//
// The acknowledged side of a requester by the rules of the fact sheet (sections 3, 5 and 11): what
// a response, a time-out, an error or an order does to the messages of one QP, which completions
// come out, what is sent again, where READ data go. Messages stand in a plain list; nothing here
// knows how the block works.
//
//   QpModel q; q.push(...);
//   q.on_response(r);           // then look at q.cqes, q.pieces, q.timer, q.rewind_asked, ...
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "harness/roce/psn.hpp"

namespace rnic::test {

using roce::kPsnMask;
using roce::psn_diff;

struct Cqe {
  uint64_t index = 0, status = 0, bytes = 0, syndrome = 0, fence = 0;
  bool long_way = false;
  bool operator==(const Cqe&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Cqe& c) {
  return out << "index " << c.index << std::hex << " status " << c.status << " syndrome "
             << c.syndrome << std::dec << " bytes " << c.bytes << " fence " << c.fence
             << (c.long_way ? " long way" : "");
}

// One decision about the payload of a packet.
struct Placed {
  uint64_t write = 0, len = 0, addr = 0, more = 0, inl = 0, data = 0, target = 0, cqe = 0;
  bool operator==(const Placed&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Placed& p) {
  return out << (p.write ? "write " : "discard ") << p.len << std::hex << " at " << p.addr
             << std::dec << (p.more ? " more" : "") << (p.inl ? " inline" : "")
             << (p.cqe ? " cqe" : "") << " target " << p.target;
}

struct LocalSegment {
  uint32_t key = 0, len = 0;
  uint64_t va = 0;
};

enum class Kind { kWrite, kSend, kRead, kAtomic, kLocal, kFailed };

struct Msg {
  Kind kind = Kind::kWrite;
  bool signaled = true;
  uint16_t index = 0;
  uint32_t first = 0, last = 0, bytes = 0;
  uint64_t status = 0;  // kFailed
  std::vector<LocalSegment> segments;
  bool wire() const { return kind != Kind::kLocal && kind != Kind::kFailed; }
  bool reads() const { return kind == Kind::kRead || kind == Kind::kAtomic; }
};

struct Response {
  uint32_t opcode = 0x11, psn = 0, syndrome = 0, length = 0;
  uint64_t value = 0;  // ATOMIC
  bool data() const { return (opcode >= 0x0D && opcode <= 0x10) || opcode == 0x12; }
};

struct Mr {
  bool ok = true, flat = true;
  uint64_t iova = 0;
  uint32_t room = 4096, target = 0;
};
using MrTable = std::function<Mr(const LocalSegment& piece)>;

// What a timer was told.
struct TimerOrder {
  enum Op { kAck, kRnr, kStop } op = kAck;
  uint32_t code = 0;
  // The decision between restart and stop is taken by what is in flight a moment later.
  bool late = false;
};

struct Rewind {
  bool none = false;
  uint64_t index = 0, psn = 0, skip = 0, reads_done = 0;
};

class QpModel {
 public:
  // the connection
  uint64_t qpn = 0;
  unsigned type = 0;  // 0 RC, 1 UC, 2 UD
  unsigned state = 3;
  unsigned timeout = 10, retry_cnt = 7, rnr_retry = 7, mtu = 256;
  MrTable mr;
  // what the sending side has done
  uint32_t next = 0, max = 0;
  bool in_msg = false;
  bool sender_failed = false;  // it has stopped: a WQE failed before it was sent
  uint16_t at = 0;  // ring index of the WQE that is sent next, behind those of earlier passes

  std::deque<Msg> messages;
  uint32_t una = 0;
  bool failed = false, rewinding = false, stopped = false, rnr_wait = false;

  // what comes out
  std::vector<Cqe> cqes;
  std::vector<std::vector<Placed>> packets;  // decisions, one list per packet
  std::vector<uint64_t> fails;               // causes, + 0x100: no event (the CQE says it)
  std::vector<TimerOrder> timers;
  std::vector<Rewind> rewinds;
  unsigned asked = 0, drains = 0;
  std::map<std::string, uint64_t> counts;

  void reset(uint32_t psn) { *this = fresh(psn); }

  void on_response(const Response& r) {
    begin();
    if (type != 0 || (state != 3 && state != 4) || failed) {
      ++counts["unknown"];
      walk();
      discard(r);
      return end();
    }
    const int type_code = static_cast<int>(r.syndrome >> 5 & 3);
    const unsigned code = r.syndrome & 31;
    const bool window = psn_diff(r.psn, una) >= 0 && psn_diff(max, r.psn) > 0;
    const bool sent = psn_diff(next, r.psn) > 0;  // in this replay
    bool known = false;
    if (r.opcode == 0x11) known = type_code == 0 || type_code == 1 || (type_code == 3 && code < 4);
    if (r.data()) known = sent && (r.opcode == 0x0E || type_code == 0);
    if (!window || !known) {
      ++counts["ghost"];
      walk();
      discard(r);
      return end();
    }
    if (r.data())
      answer(r);
    else if (type_code == 0)
      acknowledge(sent ? r.psn : next - 1, sent ? r.psn : next - 1, "ack");
    else
      nak(r, type_code, code, sent);
    end();
  }

  // UC, UD: the last packet of a message has left.
  void on_left(uint32_t psn) {
    begin();
    if (type != 0 && (state == 3 || state == 4) && !failed && psn_diff(psn, una) >= 0 &&
        psn_diff(max, psn) > 0)
      cover(psn, psn);
    walk();
    end();
  }

  void on_timeout() {
    begin();
    walk();
    if (!failed && (dying_ || (sender_failed && alive() && type == 0 && una != max && !rewinding)))
      ++counts["timeout"], die();
    else if (type == 0 && alive() && una != max && !rewinding)
      ++counts["timeout"], again(0, false);
    end();
  }
  void on_rnr_over() {
    begin();
    pass_all_ = rewinding && stopped;
    walk();
    rnr_wait = false;
    go_on();
    end();
  }
  void on_stopped() {
    begin();
    pass_all_ = rewinding && !rnr_wait;
    walk();
    if (rewinding) stopped = true;
    go_on();
    end();
  }
  void on_spoiled() {
    begin();
    ++counts["spoiled"];
    walk();
    if (type == 0 && alive() && una != max && !rewinding) {
      if (dying_)
        die();
      else if (!sender_failed)
        rewind();
    }
    end();
  }
  // A response that is not for us: the block looks at the messages all the same.
  void on_nothing() {
    begin();
    walk();
    end();
  }
  void on_nudge() {
    begin();
    nudged_ = true;
    walk();
    end();
  }
  // The payload of a message could not be read: it fails when those before it are done.
  void on_local_error(uint64_t index, uint64_t status) {
    begin();
    if (alive() && !dying_) {
      dying_ = true;
      err_index_ = index;
      err_status_ = status;
      if (rewinding) die();
    }
    waits_again_ = true;
    walk();
    end();
  }
  enum class Order { kClear, kRtr, kRts, kErr, kKick, kResume };
  void on_order(Order order, uint32_t psn) {
    begin();
    if (order == Order::kClear || order == Order::kRts) {
      reset(order == Order::kRts ? psn : 0);
      timers.push_back({TimerOrder::kStop});
      return;
    }
    if (order == Order::kErr) {
      failed = true;
    }
    order_ = true;
    if (state != 4) drained_ = false;
    if (order != Order::kRtr) walk();
    if (order == Order::kErr) go_on();
    end(order != Order::kRtr);
    if (order == Order::kResume) failed = blamed_ = dying_ = false, una = max;  // SQE to RTS
  }

  bool dying() const { return dying_; }
  unsigned reads_done() const { return reads_done_; }
  unsigned reads_good() const { return reads_good_; }

 private:
  static constexpr uint64_t kOk = 0, kLocLen = 1, kLocProt = 4, kFlushed = 5, kBadResp = 0x10,
                            kInvReq = 0x12, kAccess = 0x13, kOp = 0x14, kRetry = 0x15,
                            kRnrRetry = 0x16;
  QpModel fresh(uint32_t psn) const {
    QpModel q;
    q.qpn = qpn, q.type = type, q.state = state, q.timeout = timeout, q.retry_cnt = retry_cnt;
    q.rnr_retry = rnr_retry, q.mtu = mtu, q.mr = mr, q.next = next, q.max = max;
    q.in_msg = in_msg, q.sender_failed = sender_failed, q.at = at, q.messages = messages;
    q.una = psn;
    q.cqes = cqes, q.packets = packets, q.fails = fails, q.timers = timers, q.rewinds = rewinds;
    q.asked = asked, q.drains = drains, q.counts = counts;
    return q;
  }
  bool alive() const { return (state == 3 || state == 4) && !failed; }

  void begin() {
    start_una_ = una;
    start_failed_ = failed;
    pass_all_ = nudged_ = false;
    rnr_started_ = set_off_ = waits_again_ = order_ = false;
  }
  void progress() {
    if (una == start_una_) return;
    retries_ = rnr_retries_ = 0;
    restarting_ = false;
  }
  void end(bool walked = true) {
    progress_at_end();
    if (walked && state == 4 && !failed && messages.empty() && !in_msg && una == max && !drained_) {
      drained_ = true;
      ++drains;
    }
  }
  void progress_at_end() {
    if (failed) {
      if (!start_failed_ || order_) timers.push_back({TimerOrder::kStop});
      return;
    }
    const bool moved = una != start_una_;
    if (rnr_started_) {
      timers.push_back({TimerOrder::kRnr, rnr_code_});
    } else if (rnr_wait) {
    } else if (!dying_ && sender_failed && timeout == 0) {
      if (moved || nudged_) timers.push_back({TimerOrder::kAck, 14});
    } else if (dying_) {
      if (moved || waits_again_) timers.push_back({TimerOrder::kAck, timeout ? timeout : 14});
    } else if (set_off_) {
      if (type == 0)
        timers.push_back({messages.empty() ? TimerOrder::kStop : TimerOrder::kAck, timeout});
    } else if (type == 0 && moved) {
      timers.push_back({TimerOrder::kAck, timeout, una == max});
    }
  }

  void complete(const Msg& m, uint64_t status, uint64_t syndrome = 0, uint64_t fence = 0) {
    if (m.reads()) ++reads_done_;
    if (m.reads() && status == kOk) ++reads_good_;
    ++counts[status == kOk ? "completed" : status == kFlushed ? "flushed" : "errors"];
    if (status == kOk && !m.signaled) return;
    cqes.push_back({m.index, status, m.bytes, syndrome, fence, long_way_});
  }
  // The first failure has a true status; everything behind it is flushed.
  void blame(uint64_t status, uint64_t syndrome = 0, bool quiet = false) {
    const Msg m = messages.front();
    messages.pop_front();
    if (blamed_) status = kFlushed;
    complete(m, status, status == kFlushed ? 0 : syndrome);
    if (!failed && status != kFlushed) fails.push_back(status | (quiet ? 0x100 : 0));
    if (status != kFlushed) blamed_ = true;
    failed = true;
    flush();
  }
  void flush() {
    failed = true;
    while (!messages.empty()) {
      const Msg m = messages.front();
      messages.pop_front();
      uint64_t status = kFlushed;
      if (!blamed_ && m.kind == Kind::kFailed) status = m.status;
      if (!blamed_ && m.wire() && dying_ && m.index == err_index_) status = err_status_;
      if (status != kFlushed) blamed_ = true;
      complete(m, status);
    }
    go_on();
  }
  void die() {
    uint64_t cause = dying_ ? err_status_ : kRetry;
    // Who fails with a status of its own says it for the QP.
    for (const Msg& m : messages) {
      if (dying_ && m.wire() && m.index == err_index_) break;
      if (m.kind == Kind::kFailed && m.status != kFlushed && !blamed_) {
        cause = m.status;
        break;
      }
    }
    fails.push_back(cause);
    flush();
  }
  // A replay has the WQE of this message behind it, or nothing is fetched any more.
  bool passed(const Msg& m) const {
    return pass_all_ || static_cast<int16_t>(static_cast<uint16_t>(at - m.index)) > 0;
  }
  // Messages whose time has come without any packet.
  void walk() {
    if (failed) return flush();
    while (!failed && !messages.empty() && !messages.front().wire()) {
      const Msg m = messages.front();
      if (m.kind == Kind::kFailed) return blame(m.status, 0, true);
      if (!passed(m)) break;
      messages.pop_front();
      complete(m, kOk);
    }
    if (failed || !dying_) return;
    if (!messages.empty() && messages.front().index == err_index_) return blame(err_status_);
    // Gone already: acknowledged after all.
    if (messages.empty() ||
        static_cast<int16_t>(static_cast<uint16_t>(messages.front().index - err_index_)) > 0)
      die();
  }
  // SEND and WRITE up to psn are acknowledged. Returns whether a READ or ATOMIC wholly before
  // `reach` lacks responses.
  bool cover(uint32_t psn, uint32_t reach) {
    const uint32_t before = una;
    for (;;) {
      // A message that was acknowledged completes even if its payload can no longer be read.
      while (!failed && !messages.empty() && messages.front().kind == Kind::kLocal &&
             passed(messages.front())) {
        const Msg m = messages.front();
        messages.pop_front();
        complete(m, kOk);
      }
      if (messages.empty() || failed) break;
      const Msg m = messages.front();
      if (!m.wire() || m.reads() || psn_diff(psn, m.last) < 0) break;
      messages.pop_front();
      complete(m, kOk);
    }
    una = (psn + 1) & kPsnMask;
    bool implied = false;
    if (!messages.empty() && messages.front().reads()) {
      const Msg& m = messages.front();
      const uint32_t missing = psn_diff(before, m.first) > 0 ? before : m.first;
      if (psn_diff(una, missing) > 0) una = missing;
      implied = psn_diff(reach, m.last) > 0;
    }
    progress();
    if (implied && !(dying_ && messages.front().index == err_index_)) return true;
    if (!messages.empty() && !messages.front().wire()) walk();
    if (dying_ && !failed && !messages.empty() && messages.front().index == err_index_) walk();
    return false;
  }
  void acknowledge(uint32_t psn, uint32_t reach, const char* counter) {
    ++counts[counter];
    if (cover(psn & kPsnMask, reach & kPsnMask))
      implied();
    else if (!failed)
      walk();
  }
  void implied() {
    if (rewinding || restarting_ || (sender_failed && !dying_)) return;
    ++counts["implied"];
    if (!again(0, true)) return;
    restarting_ = true;
  }
  // Sends again at the cost of a retry. False: none left.
  bool again(uint64_t syndrome, bool silent) {
    if (dying_) {
      die();
      return false;
    }
    if (retries_ >= retry_cnt) {
      pass_all_ = true;
      walk();
      blame(kRetry, silent ? 0 : syndrome);
      return false;
    }
    ++retries_;
    rewind();
    return true;
  }
  void rewind() {
    if (rewinding) return;
    ++counts["rewinds"];
    rewinding = true;
    stopped = false;
    ++asked;
  }
  // The QP has stopped and may go on.
  void go_on() {
    if (failed) rnr_wait = false;
    if (!rewinding || !stopped || rnr_wait) return;
    rewinding = stopped = false;
    set_off_ = true;
    Rewind r;
    r.none = messages.empty() || failed;
    if (!r.none) {
      const Msg& m = messages.front();
      r.index = m.index, r.psn = una, r.skip = (una - m.first) & kPsnMask;
      if (m.kind == Kind::kRead && r.skip != 0) resumed_ = true;
    }
    r.reads_done = reads_done_ & 0xFF;
    rewinds.push_back(r);
  }
  void nak(const Response& r, int type_code, unsigned code, bool sent) {
    ++counts["nak"];
    if (type_code == 3 && code != 0) {  // fatal
      pass_all_ = true;
      if (cover((r.psn - 1) & kPsnMask, r.psn)) return implied();
      if (failed) return;
      blame(code == 1 ? kInvReq : code == 2 ? kAccess : kOp, r.syndrome);
      return;
    }
    const uint32_t reach = sent ? r.psn : (next - 1) & kPsnMask;
    if (cover(((sent ? r.psn : next) - 1) & kPsnMask, reach)) return implied();
    if (failed) return;
    if (!sent) return walk();
    if (sender_failed && !dying_) return;  // nothing is sent again
    if (type_code == 3) {
      if (!rewinding) again(r.syndrome, false);
      return;
    }
    if (rnr_wait) return;
    if (dying_) return die();
    if (rnr_retry != 7 && rnr_retries_ >= rnr_retry) {
      pass_all_ = true;
      walk();
      return blame(kRnrRetry, r.syndrome);
    }
    if (rnr_retry != 7) ++rnr_retries_;
    ++counts["rnr"];
    rnr_wait = rnr_started_ = true;
    rnr_code_ = code;
    rewind();
  }
  void discard(const Response& r) {
    if (r.data()) packets.push_back({{.len = r.length}});
  }
  void bad_answer(const Response& r, uint64_t status) {
    discard(r);
    ++counts["rd_bad"];
    blame(status);
  }
  // READ and ATOMIC responses acknowledge what is before them.
  void answer(const Response& r) {
    if (cover((r.psn - 1) & kPsnMask, r.psn)) {
      implied();
      return discard(r);
    }
    if (failed) return discard(r);
    Msg& m = messages.front();
    if (!m.reads()) return bad_answer(r, kBadResp);
    if (r.psn != una) {
      implied();
      return discard(r);
    }
    const bool atomic = m.kind == Kind::kAtomic;
    if (atomic != (r.opcode == 0x12)) return bad_answer(r, kBadResp);
    if (atomic) {
      if (r.length != 0) return bad_answer(r, kLocLen);
      place(r, m, 0, 8, true);
      return;
    }
    const bool first = una == m.first, last = una == m.last;
    const bool starts = r.opcode == 0x0D || r.opcode == 0x10;
    const bool ends = r.opcode == 0x0F || r.opcode == 0x10;
    if (ends != last || (starts != first && !resumed_)) return bad_answer(r, kBadResp);
    const uint32_t done = ((una - m.first) & kPsnMask) * mtu;
    if (r.length != (last ? m.bytes - done : mtu)) return bad_answer(r, kLocLen);
    place(r, m, done, r.length, last);
  }
  void place(const Response& r, const Msg& m, uint32_t from, uint32_t length, bool last) {
    std::vector<Placed> pieces;
    uint32_t at = 0, todo = length;
    bool good = true, away = false;
    for (const LocalSegment& s : m.segments) {
      const uint32_t size = m.kind == Kind::kAtomic ? 8 : s.len;
      uint32_t skip = from > at ? from - at : 0;
      at += size;
      if (skip >= size) continue;
      while (good && todo > 0 && skip < size) {
        LocalSegment part{s.key, std::min(size - skip, todo), s.va + skip};
        const Mr a = mr(part);
        good = a.ok;
        const uint32_t n = a.flat ? part.len : std::min(part.len, a.room);
        Placed p{.write = 1, .len = n, .addr = a.iova, .more = 1, .target = a.target};
        if (m.kind == Kind::kAtomic) p.inl = 1, p.data = r.value >> (8 * (8 - todo));
        away = away || a.target != 0;
        pieces.push_back(p);
        skip += n;
        todo -= n;
      }
      if (!good || todo == 0) break;
      from = at;
    }
    if (!good || todo != 0) {
      packets.push_back({{.len = r.length}});
      ++counts["rd_bad"];
      blame(kLocProt);
      return;
    }
    ++counts["rd"];
    off_host_ = off_host_ || away;
    long_way_ = true;
    una = (una + 1) & kPsnMask;
    progress();
    retries_ = rnr_retries_ = 0;
    restarting_ = false;
    if (pieces.empty()) pieces.push_back({});
    pieces.back().more = 0;
    pieces.back().cqe = last && m.signaled;
    packets.push_back(pieces);
    if (!last) return;
    const Msg done = m;
    messages.pop_front();
    complete(done, kOk, 0, off_host_);
    off_host_ = resumed_ = false;
    walk();
  }

  uint32_t start_una_ = 0, rnr_code_ = 0;
  bool start_failed_ = false, pass_all_ = false, nudged_ = false, rnr_started_ = false,
       set_off_ = false;
  bool waits_again_ = false, order_ = false;
  unsigned retries_ = 0, rnr_retries_ = 0, reads_done_ = 0, reads_good_ = 0;
  bool restarting_ = false, resumed_ = false, off_host_ = false, long_way_ = false;
  bool blamed_ = false, dying_ = false, drained_ = false;
  uint64_t err_index_ = 0, err_status_ = 0;
};

}  // namespace rnic::test
