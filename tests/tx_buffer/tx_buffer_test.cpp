// SPDX-License-Identifier: Apache-2.0
#include <Vtx_buffer_w1024.h>
#include <Vtx_buffer_w128.h>
#include <Vtx_buffer_w512.h>

#include <deque>
#include <map>
#include <optional>
#include <set>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"
#include "tests/tx_packetizer/tx_types.hpp"

using namespace rnic::test;

namespace {

const BitLayout kRdRsp({{"client", 4},
                        {"slot", 8},
                        {"tlp", 6},
                        {"tlp_last", 1},
                        {"dst_off", 13},
                        {"cnt", 8},
                        {"err", 1},
                        {"status", 8},
                        {"lost", 13}});
const BitLayout kQpi({{"op", 3}, {"qpn", 24}, {"psn", 24}});
constexpr unsigned kClear = 0, kRts = 2, kErr = 3;
constexpr uint64_t kTxDrop = 11;  // trace event

struct Work {
  uint32_t qpn = 0;
  uint32_t psn = 0;
  std::vector<uint8_t> payload;
  bool inlined = false;
  int fail_tlp = -1;  // this TLP fails, after fail_beats beats
  unsigned fail_beats = 0;
  uint8_t status = 0x31;
  std::vector<size_t> tlps;  // their lengths; empty: cut at random
  bool response = false, notify = false;

  TxPacket packet() const {
    TxPacket p;
    p.qpn = qpn;
    p.spec.psn = psn;
    p.wqe_index = static_cast<uint16_t>(psn * 3 + 1);
    p.payload = payload;
    p.sampled = psn % 2 == 1;
    p.spec.msn = psn ^ 0x5A5A;
    return p;
  }
  Bits description() const {
    Bits b = packet().description();
    kTxPkt.set(b, "response", response);
    kTxPkt.set(b, "notify", notify);
    return b;
  }
};

struct OutBeat {
  unsigned cnt = 0;
  bool last = false, abort = false;
  Bits pkt;
  std::vector<uint8_t> bytes;
  bool operator==(const OutBeat&) const = default;
};

struct OutPacket {
  uint32_t qpn = 0, psn = 0;
  std::vector<uint8_t> bytes;
  bool abort = false;
  Bits pkt;
  uint64_t first = 0, last = 0;
  size_t beats = 0;
};

// A response that failed: QPN, PSN, MSN.
struct Rterr {
  uint32_t qpn, psn, msn;
  bool operator==(const Rterr&) const = default;
};
struct Left {
  uint32_t qpn, psn;
  bool operator==(const Left&) const = default;
};

struct Report {
  uint32_t qpn;
  uint16_t index;
  uint8_t status;
  bool operator==(const Report&) const = default;
};

// Plays sq_engine (takes slots, submits packets) and dma_master (returns TLPs in any order).
template <class Top>
class BufferBench : public Bench<Top> {
 public:
  static constexpr size_t kBytes = sizeof(Top::rdrsp_data);

  BufferBench()
      : out_(*this, "out", this->top().out_valid, this->top().out_ready,
             [this] {
               auto& t = this->top();
               OutBeat b{t.out_cnt, t.out_last != 0, t.out_abort != 0, read_pin(t.out_pkt), {}};
               const Bits data = read_pin(t.out_data);
               for (size_t i = 0; i < b.cnt; ++i) b.bytes.push_back(data.byte(i));
               return b;
             }),
        terr_(*this, "terr", this->top().terr_valid, this->top().terr_ready,
              [this] {
                auto& t = this->top();
                return Report{t.terr_qpn, t.terr_index, t.terr_status};
              }),
        rterr_(*this, "rterr", this->top().rterr_valid, this->top().rterr_ready,
               [this] {
                 auto& t = this->top();
                 return Rterr{t.rterr_qpn, t.rterr_psn, t.rterr_msn};
               }),
        left_(*this, "left", this->top().left_valid, this->top().left_ready, [this] {
          auto& t = this->top();
          return Left{t.left_qpn, t.left_psn};
        }) {
    out_.on_item([this](const OutBeat& b) { take(b); });
    this->on_sample([this] { sample(); });
    this->on_drive([this] { drive(); });
    idle();
  }

  bool inside() const { return current_.beats > 0; }
  void post(Work work) { posted_.push_back(std::move(work)); }
  void order(unsigned op, uint32_t qpn) { orders_.push_back({op, qpn}); }
  // In the next cycle; all requests of the QP are submitted.
  void purge(uint32_t qpn) {
    purge_ = qpn;
    this->tick(2);
    REQUIRE(!purge_);
  }
  // Everything that was posted is submitted.
  void wait_submitted() {
    this->wait("work submitted", [&] { return posted_.empty() && ready_.empty(); });
    this->tick();
  }
  void wait_packets(size_t count, uint64_t limit = 50000) {
    this->wait(
        "packets out", [&] { return packets.size() >= count; }, limit);
  }
  void wait_orders() {
    this->wait(
        "orders taken", [&] { return orders_.empty(); }, 100);
  }
  // All slots are free again: as many as there are can be taken.
  void wait_all_free(size_t slots) {
    this->wait("work submitted",
               [&] { return posted_.empty() && ready_.empty() && tlps_.empty(); });
    this->tick(20);
    paused_ = true;
    std::set<unsigned> got;
    auto& t = this->top();
    for (size_t i = 0; i < slots; ++i) {
      REQUIRE(t.slot_valid == 1);
      got.insert(t.slot_id);
      t.slot_ready = 1;
      this->tick();
    }
    t.slot_ready = 0;
    this->settle();
    CHECK(t.slot_valid == 0);
    CHECK(got.size() == slots);
  }
  void forget() {  // after a reset
    posted_.clear();
    ready_.clear();
    tlps_.clear();
    orders_.clear();
    inl_.clear();
    current_ = {};
    packets.clear();
    idle();
  }

  StreamSink<OutBeat> out_;
  StreamSink<Report> terr_;
  StreamSink<Rterr> rterr_;
  StreamSink<Left> left_;
  std::map<uint32_t, unsigned> rleft;  // notices per QP
  std::vector<OutPacket> packets;
  double submit_rate = 1, data_rate = 1;
  bool in_order = false;  // TLPs of all slots come in the order of their requests
  bool hold_data = false;
  bool same_cycle = false;  // packet and inline payload in the cycle in which the slot is taken
  std::optional<std::deque<unsigned>> script;  // whole TLPs, by number, and then nothing
  unsigned tlp_max = 512;
  size_t beat_max = kBytes;
  uint64_t last_inline_cycle = 0, last_data_cycle = 0;
  size_t submitted = 0;
  std::function<void(const Work&)> on_submit;        // txp is taken at the coming edge
  std::function<void(unsigned, uint32_t)> on_order;  // an order was taken: op, QPN
  struct Trace {
    uint64_t value;
    bool sampled;
  };
  std::vector<Trace> pay_first, tx_start, tx_drop;
  uint64_t dropped = 0;
  std::function<void(uint32_t)> on_purge;
  std::function<void(uint32_t, uint32_t)> on_start;  // QPN, PSN

 private:
  struct Tlp {
    unsigned slot, number;
    size_t offset, length, done = 0;
    bool fails = false;
    unsigned fail_beats = 0;
    uint8_t status = 0;
    std::vector<uint8_t> bytes;
  };
  struct Ready {  // has a slot
    Work work;
    unsigned slot;
  };

  void idle() {
    auto& t = this->top();
    t.slot_ready = 0;
    t.txp_valid = 0;
    t.inl_valid = 0;
    t.rdrsp_valid = 0;
    t.qpi_valid = 0;
    t.purge_i = 0;
  }

  void sample() {
    auto& t = this->top();
    if (t.slot_valid != 0 && t.slot_ready != 0 && !paused_) {
      const Ready r{posted_.front(), t.slot_id};
      posted_.pop_front();
      if (!same_cycle) ready_.push_back(r);
      if (!same_cycle || !r.work.inlined) request(r);
    }
    if (t.qpi_valid != 0 && t.qpi_ready != 0) {
      if (on_order) on_order(orders_.front().first, orders_.front().second);
      orders_.pop_front();
    }
    if (t.rleft_valid != 0) ++rleft[t.rleft_qpn];
    if (t.trc_valid_o != 0) pay_first.push_back({t.trc_o, t.trc_sampled_o != 0});
    if (t.trc2_valid_o != 0) {
      (t.trc2_o >> 56 == kTxDrop ? tx_drop : tx_start).push_back({t.trc2_o, t.trc2_sampled_o != 0});
      if (t.trc2_o >> 56 != kTxDrop && on_start)
        on_start(static_cast<uint32_t>(t.trc2_o >> 32) & 0xFFFFFF,
                 static_cast<uint32_t>(t.trc2_o) & 0xFFFFFF);
    }
    dropped += t.cnt_tx_dropped_o;
    if (t.purge_i != 0) {
      if (on_purge) on_purge(t.purge_qpn_i);
      purge_.reset();
    }
  }

  // Cuts the payload into TLPs.
  void request(const Ready& r) {
    const Work& w = r.work;
    if (w.inlined) {
      inl_.push_back(r);
      return;
    }
    size_t at = 0;
    unsigned number = 0;
    while (at < w.payload.size()) {
      size_t length = number < w.tlps.size() ? w.tlps[number] : random_.between(1, tlp_max);
      // At most 64 TLPs per slot.
      length = std::max(length, (w.payload.size() - at) / (63 - number));
      length = std::min(length, w.payload.size() - at);
      Tlp tlp{r.slot, number, at, length, 0, false, 0, 0, {}};
      tlp.bytes.assign(w.payload.begin() + at, w.payload.begin() + at + length);
      tlp.fails = static_cast<int>(number) == w.fail_tlp ||
                  (w.fail_tlp >= 0 && at + length == w.payload.size() &&
                   static_cast<int>(number) < w.fail_tlp);
      tlp.fail_beats = w.fail_beats;
      tlp.status = w.status;
      tlps_.push_back(std::move(tlp));
      at += length;
      ++number;
    }
  }

  void submit(const Ready& r) {
    auto& t = this->top();
    t.txp_valid = 1;
    t.txp_slot = static_cast<CData>(r.slot);
    t.txp_class = static_cast<CData>(r.work.qpn % 8);
    write_pin(t.txp, r.work.description());
    if (on_submit) on_submit(r.work);
    ++submitted;
  }

  void drive() {
    auto& t = this->top();
    if (!paused_) t.slot_ready = !posted_.empty() && random_.chance(submit_rate);
    t.txp_valid = 0;
    t.inl_valid = 0;
    if (same_cycle && t.slot_ready != 0 && t.slot_valid != 0) {
      const Ready now{posted_.front(), t.slot_id};
      submit(now);
      if (now.work.inlined) inl_.push_back(now);
    } else if (!ready_.empty() && random_.chance(submit_rate)) {
      submit(ready_.front());
      ready_.pop_front();
    }
    if (!inl_.empty() && !hold_data && (same_cycle || random_.chance(submit_rate))) {
      t.inl_valid = 1;
      t.inl_slot = static_cast<CData>(inl_.front().slot);
      const auto& payload = inl_.front().work.payload;
      Bits data = Bits::random(random_, 768);
      for (size_t i = 0; i < payload.size(); ++i) data.set_byte(i, payload[i]);
      write_pin(t.inl_data, data);
      t.inl_len = static_cast<CData>(payload.size());
      inl_.pop_front();
      last_inline_cycle = this->cycle();
    }
    drive_data();
    t.purge_i = purge_.has_value();
    t.purge_qpn_i = purge_.value_or(0);
    t.qpi_valid = !orders_.empty();
    if (!orders_.empty()) {
      write_pin(t.qpi, kQpi.pack({{"op", orders_.front().first}, {"qpn", orders_.front().second}}));
    }
  }

  void drive_data() {
    auto& t = this->top();
    t.rdrsp_valid = 0;
    write_pin(t.rdrsp, Bits::random(random_, kRdRsp.width()));
    write_pin(t.rdrsp_data, Bits::random(random_, kBytes * 8));
    size_t pick = in_order || tlps_.empty() ? 0 : random_.below(tlps_.size());
    bool held = hold_data;
    if (script) {
      held = true;
      for (size_t i = 0; i < tlps_.size() && !script->empty(); ++i) {
        if (tlps_[i].number != script->front()) continue;
        held = false;
        pick = i;
      }
    }
    if (!tlps_.empty() && !held && random_.chance(data_rate)) {
      Tlp& tlp = tlps_[pick];
      // A failure loses at least a byte.
      const bool fail = tlp.fails && (tlp.fail_beats == 0 || tlp.length - tlp.done == 1);
      Bits rsp = kRdRsp.pack({{"client", 1},
                              {"slot", tlp.slot},
                              {"tlp", tlp.number},
                              {"dst_off", tlp.offset + tlp.done}});
      bool end = true;
      if (fail) {
        kRdRsp.set(rsp, "err", 1);
        kRdRsp.set(rsp, "tlp_last", 1);
        kRdRsp.set(rsp, "status", tlp.status);
        kRdRsp.set(rsp, "lost", tlp.length - tlp.done);
      } else {
        size_t count =
            std::min(random_.between(beat_max == kBytes && in_order ? kBytes : 1, beat_max),
                     tlp.length - tlp.done);
        if (in_order && beat_max == kBytes) {  // whole rows
          count = std::min(kBytes - (tlp.offset + tlp.done) % kBytes, tlp.length - tlp.done);
        }
        if (tlp.fails && count == tlp.length - tlp.done) --count;
        Bits data = Bits::random(random_, kBytes * 8);
        for (size_t i = 0; i < count; ++i) {
          data.set_byte((tlp.offset + tlp.done + i) % kBytes, tlp.bytes[tlp.done + i]);
        }
        write_pin(t.rdrsp_data, data);
        tlp.done += count;
        if (tlp.fails) --tlp.fail_beats;
        end = tlp.done == tlp.length && !tlp.fails;
        kRdRsp.set(rsp, "cnt", count);
        kRdRsp.set(rsp, "tlp_last", end);
      }
      write_pin(t.rdrsp, rsp);
      t.rdrsp_valid = 1;
      last_data_cycle = this->cycle();
      if (end && script) script->pop_front();
      if (end) tlps_.erase(tlps_.begin() + static_cast<long>(pick));
    } else if (random_.chance(0.3)) {  // another client's
      Bits rsp = Bits::random(random_, kRdRsp.width());
      kRdRsp.set(rsp, "client", random_.chance(0.5) ? 0 : 2);
      write_pin(t.rdrsp, rsp);
      t.rdrsp_valid = 1;
    }
  }

  void take(const OutBeat& b) {
    if (current_.beats == 0) {
      current_.pkt = b.pkt;
      current_.qpn = static_cast<uint32_t>(kTxPkt.get(b.pkt, "qpn"));
      current_.psn = static_cast<uint32_t>(kTxPkt.get(b.pkt, "psn"));
      current_.first = this->cycle();
    }
    if (!(b.pkt == current_.pkt)) throw ProtocolError("out_pkt changed inside a packet");
    if (!b.last && b.cnt != kBytes) throw ProtocolError("a short beat before the last");
    if (b.abort && !b.last) throw ProtocolError("abort before the last beat");
    current_.bytes.insert(current_.bytes.end(), b.bytes.begin(), b.bytes.end());
    ++current_.beats;
    if (b.last) {
      current_.abort = b.abort;
      current_.last = this->cycle();
      packets.push_back(current_);
      current_ = {};
    }
  }

  Rng random_ = rng("engine");
  std::deque<Work> posted_;
  std::deque<Ready> ready_, inl_;
  std::vector<Tlp> tlps_;
  std::deque<std::pair<unsigned, uint32_t>> orders_;
  OutPacket current_;
  bool paused_ = false;
  std::optional<uint32_t> purge_;
};

Work random_work(Rng& random, uint32_t qpn, uint32_t psn, size_t max_len = 4096) {
  Work w;
  w.qpn = qpn;
  w.psn = psn;
  const uint64_t kind = random.below(10);
  if (kind == 0) {
    w.inlined = random.chance(0.5);
    if (w.inlined) w.payload = random.bytes(random.between(1, 96));
  } else if (kind <= 3) {
    w.inlined = true;
    w.payload = random.bytes(random.between(1, 96));
  } else if (kind <= 6) {
    w.payload = random.bytes(random.between(1, 300));
  } else {
    w.payload = random.bytes(random.between(1, max_len));
  }
  return w;
}

void compare(const OutPacket& got, const Work& want) {
  INFO("psn " << want.psn << ", qpn " << want.qpn << ", " << want.payload.size()
              << " bytes, inline " << want.inlined);
  CHECK(got.pkt == want.description());
  CHECK(!got.abort);
  CHECK((got.bytes == want.payload));
}

struct Pace {
  Stall out;
  double submit, data;
  unsigned tlp_max;
  unsigned threshold;
  bool same_cycle = false;
};

template <class Top>
void check_random(const Pace& pace, unsigned qps, size_t count) {
  BufferBench<Top> bench;
  bench->cfg_threshold_i = static_cast<SData>(pace.threshold);
  bench.out_.set_stall(pace.out);
  bench.submit_rate = pace.submit;
  bench.data_rate = pace.data;
  bench.tlp_max = pace.tlp_max;
  bench.same_cycle = pace.same_cycle;
  bench.reset();
  auto random = rng("work");
  std::map<uint32_t, Work> all;
  std::map<uint32_t, std::deque<uint32_t>> order;
  for (uint32_t i = 0; i < count; ++i) {
    const Work w = random_work(random, static_cast<uint32_t>(random.below(qps)), i);
    all[i] = w;
    order[w.qpn].push_back(i);
    bench.post(w);
  }
  bench.wait_packets(count, 400 * count);
  bench.tick(50);
  REQUIRE(bench.packets.size() == count);
  for (const OutPacket& got : bench.packets) {
    auto& queue = order.at(got.qpn);
    REQUIRE(!queue.empty());
    CHECK(got.psn == queue.front());  // order within the QP
    queue.pop_front();
    compare(got, all.at(got.psn));
  }
  CHECK(bench.terr_.size() == 0);
  CHECK(bench.tx_start.size() == count);
  for (size_t i = 0; i < count; ++i) {
    const Work& w = all.at(bench.packets[i].psn);
    CHECK(bench.tx_start[i].value == (uint64_t{8} << 56 | uint64_t{w.qpn} << 32 | w.psn));
    CHECK(bench.tx_start[i].sampled == (w.psn % 2 == 1));
  }
  size_t from_dma = 0;
  for (const auto& [psn, w] : all) from_dma += !w.inlined && !w.payload.empty();
  // Left out if two come at once.
  CHECK(bench.pay_first.size() <= from_dma);
  CHECK(bench.pay_first.size() + 2 + count / 50 >= from_dma);
  for (const auto& trace : bench.pay_first) CHECK(trace.value >> 56 == 7);
}

// Failures, CLEARs and ERRs at any time. Between two orders the packets of a QP that come out are a
// beginning of those submitted, up to the first that failed; after the last order all of that
// beginning comes.
template <class Top>
void check_faults(size_t count, unsigned threshold, double fail_rate) {
  BufferBench<Top> bench;
  bench->cfg_threshold_i = static_cast<SData>(threshold);
  bench.out_.set_stall(Stall::random(0.2));
  bench.terr_.set_stall(Stall::random(0.5));
  bench.submit_rate = 0.8;
  bench.data_rate = 0.8;
  bench.reset();
  auto random = rng("faults");
  std::map<uint32_t, Work> all;
  std::map<uint32_t, std::vector<std::vector<uint32_t>>> lives;  // per QP and life: PSNs in order
  constexpr uint32_t kQps = 4;
  for (uint32_t q = 0; q < kQps; ++q) lives[q].emplace_back();
  std::map<uint32_t, std::vector<size_t>> late;
  // Pins are driven after an edge for the next one, orders are seen at that one: same order as in
  // the design, but for one cycle, in which a packet belongs to the old life.
  bench.on_submit = [&](const Work& w) { lives[w.qpn].back().push_back(w.psn); };
  bench.on_order = [&](unsigned op, uint32_t qpn) {
    if (op != kRts) lives[qpn].emplace_back();
  };
  uint32_t psn = 0;
  for (size_t round = 0; round < count; ++round) {
    for (uint64_t n = random.between(1, 12); n > 0; --n) {
      Work w = random_work(random, static_cast<uint32_t>(random.below(kQps)), psn++, 1500);
      if (!w.inlined && !w.payload.empty() && random.chance(fail_rate)) {
        w.fail_tlp = static_cast<int>(random.below(3));
        w.fail_beats = static_cast<unsigned>(random.below(4));
        w.status = static_cast<uint8_t>(random.bits(8));
      }
      all[w.psn] = w;
      bench.post(w);
    }
    bench.tick(random.below(120));
    if (random.chance(0.6)) {
      bench.order(static_cast<unsigned>(random.below(4)) == 0 ? kRts
                  : random.chance(0.5)                        ? kErr
                                                              : kClear,
                  static_cast<uint32_t>(random.below(kQps)));
    }
  }
  bench.wait(
      "all submitted", [&] { return bench.submitted == all.size(); }, 200 * all.size() + 10000);
  bench.tick(4000);
  std::map<uint32_t, std::vector<const OutPacket*>> got;
  for (const OutPacket& p : bench.packets) got[p.qpn].push_back(&p);
  std::map<uint32_t, std::vector<Report>> reports;
  for (const Report& r : bench.terr_.items()) reports[r.qpn].push_back(r);
  for (uint32_t q = 0; q < kQps; ++q) {
    size_t at = 0, reported = 0;
    for (size_t life = 0; life < lives[q].size(); ++life) {
      INFO("QP " << q << ", life " << life);
      const bool final_life = life + 1 == lives[q].size();
      for (const uint32_t expected : lives[q][life]) {
        const Work& w = all.at(expected);
        const bool out = at < got[q].size() && got[q][at]->psn == expected;
        const bool told =
            reported < reports[q].size() &&
            reports[q][reported] == Report{q, static_cast<uint16_t>(expected * 3 + 1), w.status};
        if (w.fail_tlp >= 0) {  // not sent, or spoiled; reported unless an order came first
          if (out) CHECK(got[q][at++]->abort);
          if (told) ++reported;
          if (final_life) CHECK(told);
          break;
        }
        if (!out) {
          CHECK(!final_life);
          break;
        }
        compare(*got[q][at++], w);
      }
    }
    CHECK(at == got[q].size());
    CHECK(reported == reports[q].size());
  }
  bench.wait_all_free(sizeof(Top::rdrsp_data) == 16 ? 8 : sizeof(Top::rdrsp_data) == 64 ? 16 : 64);
}

}  // namespace

#define BUFFERS Vtx_buffer_w128, Vtx_buffer_w512, Vtx_buffer_w1024

TEMPLATE_TEST_CASE("tx_buffer sends whole payloads in QP order whatever order the TLPs take", "",
                   BUFFERS) {
  check_random<TestType>({Stall::none(), 1, 1, 512, 0}, 5, 200);
  check_random<TestType>({Stall::random(0.5), 0.5, 0.7, 300, 0}, 3, 100);
  check_random<TestType>({Stall::bursts(0.05, 30), 0.8, 0.9, 4096, 0}, 1, 60);
  check_random<TestType>({Stall::none(), 0.8, 1, 512, 0, true}, 5, 200);
}

TEMPLATE_TEST_CASE("tx_buffer never sends a byte that has not come when it starts early", "",
                   BUFFERS) {
  check_random<TestType>({Stall::none(), 1, 0.5, 512, 1}, 5, 150);
  check_random<TestType>({Stall::random(0.3), 0.7, 1, 256, 700}, 2, 80);
  check_random<TestType>({Stall::none(), 1, 0.8, 100, 4096}, 4, 80);
}

TEMPLATE_TEST_CASE("tx_buffer sends a packet three cycles after the last thing it waits for", "",
                   BUFFERS) {
  SECTION("inline with the packet") {
    BufferBench<TestType> bench;
    bench.reset();
    Work w;
    w.inlined = true;
    w.payload = {1, 2, 3};
    bench.post(w);
    bench.wait_packets(1);
    compare(bench.packets[0], w);
    CHECK(bench.packets[0].first - bench.last_inline_cycle == 3);
  }
  SECTION("data") {
    BufferBench<TestType> bench;
    bench.in_order = true;
    bench.reset();
    Work w;
    w.payload = std::vector<uint8_t>(bench.kBytes, 7);
    w.tlps = {bench.kBytes};
    bench.post(w);
    bench.hold_data = true;
    bench.tick(10);
    bench.hold_data = false;
    bench.wait_packets(1);
    compare(bench.packets[0], w);
    CHECK(bench.packets[0].first - bench.last_data_cycle == 3);
  }
}

TEST_CASE("tx_buffer sends one-beat packets every cycle, also of one QP") {
  const bool one_qp = GENERATE(false, true);
  BufferBench<Vtx_buffer_w1024> bench;
  bench.out_.set_stall(Stall::always());
  bench.reset();
  for (uint32_t i = 0; i < 60; ++i) {
    Work w;
    w.qpn = one_qp ? 5 : i;
    w.psn = i;
    w.inlined = true;
    w.payload = std::vector<uint8_t>(64, static_cast<uint8_t>(i));
    bench.post(w);
  }
  bench.tick(100);
  bench.out_.set_stall(Stall::none());
  bench.wait_packets(60);
  const uint64_t span = bench.packets[59].first - bench.packets[1].first;
  CHECK(span == 58);
}

TEMPLATE_TEST_CASE("tx_buffer sends 4 KB packets without gaps, also between them", "", BUFFERS) {
  BufferBench<TestType> bench;
  bench.in_order = true;
  bench.out_.set_stall(Stall::always());
  bench.reset();
  for (uint32_t i = 0; i < 6; ++i) {
    Work w;
    w.qpn = i % 2;
    w.psn = i;
    w.payload = std::vector<uint8_t>(4096, static_cast<uint8_t>(i));
    bench.post(w);
  }
  bench.tick(6 * 4096 / 16 + 100);
  bench.out_.set_stall(Stall::none());
  bench.wait_packets(6);
  CHECK(bench.packets[5].last - bench.packets[1].first == 5 * 4096 / bench.kBytes - 1);
}

TEMPLATE_TEST_CASE("tx_buffer lets another QP pass one whose data are late", "", BUFFERS) {
  BufferBench<TestType> bench;
  bench.hold_data = true;
  bench.reset();
  Work late;
  late.qpn = 1;
  late.psn = 1;
  late.payload = std::vector<uint8_t>(100, 1);
  bench.post(late);
  Work behind;  // of the same QP: has to wait, without payload or not
  behind.qpn = 1;
  behind.psn = 2;
  bench.post(behind);
  Work other;
  other.qpn = 2;
  other.psn = 3;
  bench.post(other);
  bench.wait_packets(1);
  bench.tick(50);
  REQUIRE(bench.packets.size() == 1);
  CHECK(bench.packets[0].psn == 3);
  bench.hold_data = false;
  bench.wait_packets(3);
  CHECK(bench.packets[1].psn == 1);
  CHECK(bench.packets[2].psn == 2);
}

TEMPLATE_TEST_CASE("tx_buffer starts no packet of a paused class, and holds up no other", "",
                   BUFFERS) {
  BufferBench<TestType> bench;
  bench->cfg_threshold_i = GENERATE(0, 1024);
  bench.reset();
  const auto post = [&](uint32_t qpn, uint32_t psn, size_t bytes, bool response) {
    Work w;
    w.qpn = qpn;
    w.psn = psn;
    w.payload = std::vector<uint8_t>(bytes, static_cast<uint8_t>(psn));
    w.response = response;
    bench.post(w);
  };
  bench->paused_i = 1 << 1;
  uint64_t gone = 0, gone_paused = 0;
  bench.on_sample([&] {
    gone += bench->gone_o;
    gone_paused += bench->gone_o && bench->gone_class_o == 1;
  });
  post(1, 1, 3000, false);
  post(1, 2, 0, false);
  post(1, 3, 500, true);
  post(2, 4, 3000, false);
  post(2, 5, 100, true);
  bench.wait_packets(2);
  bench.tick(200);
  REQUIRE(bench.packets.size() == 2);
  for (const OutPacket& p : bench.packets) CHECK(p.qpn == 2);
  CHECK(gone == 2);
  CHECK(gone_paused == 0);
  bench->paused_i = 0;
  bench.wait_packets(5);
  for (size_t i = 2; i < 5; ++i) CHECK(bench.packets[i].qpn == 1);
  // What has begun ends, at a frame boundary the class stops.
  for (uint32_t i = 0; i < 8; ++i) post(1, 10 + i, 4096, false);
  bench.wait_packets(6);
  bench->paused_i = 1 << 1;
  bench.tick(4);
  const size_t begun = bench.packets.size() + (bench.inside() ? 1 : 0);
  bench.tick(300);
  CHECK(bench.packets.size() <= begun);
  CHECK_FALSE(bench.inside());
  // CLEAR drops packets that are held.
  bench.order(kClear, 1);
  bench.tick(50);
  bench->paused_i = 0;
  bench.tick(300);
  CHECK(bench.packets.size() <= begun);
  for (const OutPacket& p : bench.packets) CHECK_FALSE(p.abort);
  CHECK(gone == 13);  // sent or dropped, each once
  CHECK(gone_paused == 11);
}

TEMPLATE_TEST_CASE("tx_buffer starts at the threshold and not before", "", BUFFERS) {
  const unsigned threshold = GENERATE(1000u, 2048u, 0u);
  BufferBench<TestType> bench;
  bench->cfg_threshold_i = static_cast<SData>(threshold);
  bench.in_order = true;
  bench.data_rate = 0.1;
  bench.reset();
  Work w;
  w.payload = std::vector<uint8_t>(4096, 0x5A);
  w.tlps = std::vector<size_t>(16, 256);
  bench.post(w);
  uint64_t came = 0;
  int64_t at_start = -1;
  bench.on_sample([&] {
    auto& t = bench.top();
    if (!bench.tx_start.empty() && at_start < 0) at_start = static_cast<int64_t>(came);
    const Bits rsp = read_pin(t.rdrsp);
    if (t.rdrsp_valid != 0 && kRdRsp.get(rsp, "client") == 1) came += kRdRsp.get(rsp, "cnt");
  });
  bench.wait_packets(1);
  compare(bench.packets[0], w);
  const int64_t least = threshold == 0 ? 4096 : threshold;
  CHECK(at_start >= least);
  CHECK(at_start <= std::min<int64_t>(4096, least + 3 * static_cast<int64_t>(bench.kBytes)));
}

TEMPLATE_TEST_CASE(
    "tx_buffer does not send a packet with a failed TLP nor those behind it, and reports it", "",
    BUFFERS) {
  BufferBench<TestType> bench;
  bench.terr_.set_stall(Stall::random(0.7));
  bench.reset();
  auto random = rng("work");
  std::map<uint32_t, Work> all;
  std::map<uint32_t, std::vector<uint32_t>> good;
  std::set<uint32_t> failing;
  uint32_t psn = 0;
  for (uint32_t i = 0; i < 60; ++i) {
    Work w = random_work(random, static_cast<uint32_t>(random.below(6)), psn++, 1000);
    if (w.qpn < 4 && i > 10 && !w.inlined && !w.payload.empty() && failing.insert(w.qpn).second) {
      w.fail_tlp = static_cast<int>(random.below(2));
      w.fail_beats = static_cast<unsigned>(random.below(3));
      w.status = static_cast<uint8_t>(0x40 + w.qpn);
    } else if (!failing.contains(w.qpn)) {
      good[w.qpn].push_back(w.psn);
    }
    all[w.psn] = w;
    bench.post(w);
  }
  size_t expected = 0;
  for (const auto& [qpn, list] : good) expected += list.size();
  bench.wait_packets(expected);
  bench.wait("reports", [&] { return bench.terr_.size() == failing.size(); });
  std::map<uint32_t, std::vector<uint32_t>> got;
  for (const OutPacket& p : bench.packets) {
    compare(p, all.at(p.psn));
    got[p.qpn].push_back(p.psn);
  }
  CHECK(got == good);
  for (const Report& r : bench.terr_.items()) {
    CHECK(failing.contains(r.qpn));
    const auto& w = *std::find_if(all.begin(), all.end(), [&](const auto& item) {
      return item.second.qpn == r.qpn && item.second.fail_tlp >= 0;
    });
    CHECK(r.index == static_cast<uint16_t>(w.first * 3 + 1));
    CHECK(r.status == w.second.status);
  }
  // Dead until told: one more packet each is dropped; after ERR (here for the failed, RTS comes
  // later) it is sent.
  bench.packets.clear();
  for (const uint32_t qpn : failing) bench.order(kRts, qpn);
  bench.wait_orders();
  for (uint32_t qpn = 0; qpn < 6; ++qpn) bench.post(random_work(random, qpn, 1000 + qpn, 500));
  bench.wait_packets(6 - failing.size());
  bench.tick(300);
  CHECK(bench.packets.size() == 6 - failing.size());
  bench.packets.clear();
  for (const uint32_t qpn : failing) bench.order(qpn % 2 == 0 ? kClear : kErr, qpn);
  bench.wait_orders();
  for (uint32_t qpn = 0; qpn < 6; ++qpn) bench.post(random_work(random, qpn, 2000 + qpn, 500));
  bench.wait_packets(6);
  bench.tick(100);
  CHECK(bench.packets.size() == 6);
  CHECK(bench.terr_.size() == failing.size());
  bench.wait_all_free(sizeof(bench->rdrsp_data) == 16   ? 8
                      : sizeof(bench->rdrsp_data) == 64 ? 16
                                                        : 64);
}

TEMPLATE_TEST_CASE("tx_buffer ends a started packet with abort when a later TLP fails", "",
                   BUFFERS) {
  BufferBench<TestType> bench;
  bench->cfg_threshold_i = 512;
  bench.in_order = true;
  bench.reset();
  Work w;
  w.qpn = 3;
  w.psn = 9;
  w.payload = rng("payload").bytes(2048);
  w.tlps = {1024, 1024};
  w.fail_tlp = 1;
  w.fail_beats = 1;
  w.status = 0x77;
  bench.post(w);
  Work behind;
  behind.qpn = 3;
  behind.psn = 10;
  bench.post(behind);
  bench.wait_packets(1);
  bench.tick(100);
  REQUIRE(bench.packets.size() == 1);
  CHECK(bench.packets[0].abort);
  CHECK(bench.packets[0].bytes.size() == 2048);
  REQUIRE(bench.terr_.size() == 1);
  CHECK(bench.terr_[0] == Report{3, 9 * 3 + 1, 0x77});
  bench.wait_all_free(sizeof(bench->rdrsp_data) == 16   ? 8
                      : sizeof(bench->rdrsp_data) == 64 ? 16
                                                        : 64);
}

TEMPLATE_TEST_CASE("tx_buffer counts TLPs that came before their turn", "", BUFFERS) {
  // 0 and half of it behind 1 and 2; 3 is missing: 1536 bytes are there in order.
  const unsigned threshold = GENERATE(1025u, 1536u, 1537u);
  BufferBench<TestType> bench;
  bench->cfg_threshold_i = static_cast<SData>(threshold);
  bench.script = std::deque<unsigned>{2, 1, 0};
  bench.reset();
  Work w;
  w.payload = rng("payload").bytes(2048);
  w.tlps = {512, 512, 512, 512};
  bench.post(w);
  bench.wait("TLPs", [&] { return bench.script->empty(); });
  bench.tick(10);
  CHECK(bench.tx_start.size() == (threshold <= 1536 ? 1 : 0));
  bench.script = std::deque<unsigned>{3};
  bench.wait_packets(1);
  compare(bench.packets[0], w);
}

TEMPLATE_TEST_CASE("tx_buffer does not hold a failure against the next life of its QP", "",
                   BUFFERS) {
  BufferBench<TestType> bench;
  bench->cfg_threshold_i = 512;
  bench.in_order = true;
  bench.script = std::deque<unsigned>{0};
  bench.reset();
  Work w;
  w.qpn = 3;
  w.psn = 1;
  w.payload = rng("payload").bytes(2048);
  w.tlps = {1024, 1024};
  w.fail_tlp = 1;
  bench.post(w);
  bench.wait("start", [&] { return !bench.tx_start.empty(); });
  bench.order(kClear, 3);
  bench.wait_orders();
  bench.script.reset();  // now it fails
  Work next;
  next.qpn = 3;
  next.psn = 2;
  bench.post(next);
  bench.wait_packets(2);
  CHECK(bench.packets[0].abort);
  CHECK(bench.packets[1].psn == 2);
  CHECK(bench.terr_.size() == 0);
}

TEMPLATE_TEST_CASE("tx_buffer drops what has not started of a QP on CLEAR or ERR, without a report",
                   "", BUFFERS) {
  const unsigned op = GENERATE(kClear, kErr);
  BufferBench<TestType> bench;
  bench.hold_data = true;
  bench.reset();
  auto random = rng("work");
  for (uint32_t i = 0; i < 6; ++i) {
    Work w = random_work(random, i % 2, i, 600);
    if (i < 2) {
      w.inlined = false;
      w.payload = random.bytes(200);
    }
    if (i == 2) w.fail_tlp = 0;
    bench.post(w);
  }
  bench.wait("submitted", [&] { return bench.submitted == 6; });
  bench.order(op, 0);
  bench.wait_orders();
  bench.hold_data = false;
  // Packets posted afterwards belong to a new life of the QP.
  Work fresh;
  fresh.qpn = 0;
  fresh.psn = 77;
  bench.post(fresh);
  bench.wait_packets(4);
  bench.tick(200);
  CHECK(bench.packets.size() == 4);
  CHECK(bench.terr_.size() == 0);
  for (const OutPacket& p : bench.packets) CHECK((p.qpn == 1 || p.psn == 77));
  bench.wait_all_free(sizeof(bench->rdrsp_data) == 16   ? 8
                      : sizeof(bench->rdrsp_data) == 64 ? 16
                                                        : 64);
}

TEMPLATE_TEST_CASE("tx_buffer is empty and usable one cycle after a reset in mid-packet", "",
                   BUFFERS) {
  BufferBench<TestType> bench;
  bench->cfg_threshold_i = 100;
  bench.out_.set_stall(Stall::random(0.5));
  bench.reset();
  auto random = rng("work");
  for (uint32_t i = 0; i < 20; ++i) bench.post(random_work(random, i % 3, i));
  bench.tick(60);
  bench.reset();
  bench.forget();
  bench.tick(1);
  CHECK(bench->out_valid == 0);
  CHECK(bench->terr_valid == 0);
  std::map<uint32_t, Work> all;
  for (uint32_t i = 0; i < 30; ++i) {
    all[100 + i] = random_work(random, i % 3, 100 + i);
    bench.post(all[100 + i]);
  }
  bench.wait_packets(30);
  for (const OutPacket& p : bench.packets) compare(p, all.at(p.psn));
  bench.wait_all_free(sizeof(bench->rdrsp_data) == 16   ? 8
                      : sizeof(bench->rdrsp_data) == 64 ? 16
                                                        : 64);
}

TEMPLATE_TEST_CASE("tx_buffer keeps QPs apart when reads fail and orders come at any time", "",
                   BUFFERS) {
  check_faults<TestType>(40, 0, 0.1);
  check_faults<TestType>(40, 300, 0.1);
}

// Requests and responses of the same QPs at any time, failures and orders of both.
template <class Top>
void check_flows(size_t rounds, unsigned threshold) {
  BufferBench<Top> bench;
  bench->cfg_threshold_i = static_cast<SData>(threshold);
  bench.out_.set_stall(Stall::random(0.3));
  bench.terr_.set_stall(Stall::random(0.7));
  bench.rterr_.set_stall(Stall::random(0.7));
  bench.left_.set_stall(Stall::random(0.9));
  bench.submit_rate = 0.7;
  bench.reset();
  auto random = rng("flows");
  // By flow {response, QP}: what was submitted since it was last dropped or told to start anew, and
  // whether a packet of it failed.
  using Flow = std::pair<bool, uint32_t>;
  std::map<uint32_t, Work> all;
  std::map<Flow, bool> dead;
  std::map<uint32_t, unsigned> notices;  // responses submitted
  std::map<uint32_t, bool> may_vanish;   // by PSN
  std::map<uint32_t, bool> failing;
  bench.on_submit = [&](const Work& w) {
    if (w.response && w.notify) ++notices[w.qpn];
    if (dead[{w.response, w.qpn}]) may_vanish[w.psn] = true;
    if (w.fail_tlp >= 0) {
      failing[w.psn] = true;
      dead[{w.response, w.qpn}] = true;
      may_vanish[w.psn] = true;
    }
  };
  bench.on_order = [&](unsigned op, uint32_t qpn) {
    for (const auto& [psn, w] : all) {
      // What was submitted may have left already.
      if (w.qpn == qpn && (op == kClear || !w.response)) may_vanish[psn] = true;
    }
    if (op == kClear) dead[{true, qpn}] = false;
    dead[{false, qpn}] = false;
  };
  uint32_t psn = 0;
  for (size_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < 30; ++i) {
      Work w = random_work(random, static_cast<uint32_t>(random.below(4)), psn, 1500);
      w.response = random.chance(0.5);
      w.notify = w.response || random.chance(0.5);
      if (w.response) {
        w.inlined = false;  // resp_engine has none
        if (random.chance(0.3)) w.payload.clear();
      }
      if (!w.inlined && !w.payload.empty() && random.chance(0.05)) {
        w.fail_tlp = static_cast<int>(random.below(3));
        w.fail_beats = static_cast<unsigned>(random.below(3));
      }
      all[psn++] = w;
      bench.post(w);
    }
    bench.wait("submitted", [&] { return bench.submitted == psn; });
    if (random.chance(0.5)) bench.tick(random.below(200));
    bench.order(random.chance(0.5) ? kClear : kErr, static_cast<uint32_t>(random.below(4)));
    bench.wait_orders();
  }
  bench.tick(5000);
  CHECK(bench.rleft == notices);  // every response exactly once
  std::map<Flow, uint32_t> last;
  std::set<uint32_t> seen;
  std::vector<Left> left;
  for (const OutPacket& p : bench.packets) {
    const Work& w = all.at(p.psn);
    INFO("psn " << p.psn << " response " << w.response);
    if (!p.abort) compare(p, w);
    if (p.abort) CHECK(w.fail_tlp >= 0);
    const Flow f{w.response, w.qpn};
    if (last.contains(f)) CHECK(last[f] < p.psn);
    last[f] = p.psn;
    seen.insert(p.psn);
    if (!w.response && w.notify && !p.abort) left.push_back({p.qpn, p.psn});
  }
  CHECK((bench.left_.items() == left));
  for (const auto& [n, w] : all) {
    INFO("psn " << n << " qpn " << w.qpn << " response " << w.response);
    CHECK((seen.contains(n) || may_vanish[n]));
  }
  // A failure is reported on its own side, with its own PSN.
  for (const Rterr& r : bench.rterr_.items()) {
    CHECK(failing[r.psn]);
    CHECK(all.at(r.psn).response);
    CHECK(all.at(r.psn).qpn == r.qpn);
    CHECK(r.msn == (r.psn ^ 0x5A5A));
  }
  for (const Report& r : bench.terr_.items()) {
    bool found = false;
    for (const auto& [n, w] : all) {
      found = found || (!w.response && w.qpn == r.qpn && failing[n] &&
                        r.index == static_cast<uint16_t>(n * 3 + 1));
    }
    CHECK(found);
  }
}

TEMPLATE_TEST_CASE("tx_buffer keeps requests and responses of a QP apart, and tells what has left",
                   "", BUFFERS) {
  check_flows<TestType>(12, 0);
  check_flows<TestType>(12, 200);
}

TEMPLATE_TEST_CASE("a response passes requests of its QP whose data are late, and the other way",
                   "", BUFFERS) {
  const bool late_response = GENERATE(false, true);
  BufferBench<TestType> bench;
  bench.hold_data = true;
  bench.reset();
  Work late;
  late.qpn = 1;
  late.psn = 1;
  late.response = late_response;
  late.payload = std::vector<uint8_t>(100, 1);
  bench.post(late);
  Work other;
  other.qpn = 1;
  other.psn = 2;
  other.response = !late_response;
  bench.post(other);
  bench.wait_packets(1);
  CHECK(bench.packets[0].psn == 2);
}

TEMPLATE_TEST_CASE("a failed response is reported once and ends its flow until CLEAR, not at ERR",
                   "", BUFFERS) {
  BufferBench<TestType> bench;
  bench.reset();
  uint32_t psn = 10;
  auto post = [&](bool response, bool fails) {
    Work w;
    w.qpn = 3;
    w.psn = psn++;
    w.response = response;
    w.notify = response;
    w.payload = std::vector<uint8_t>(64, static_cast<uint8_t>(psn));
    if (fails) w.fail_tlp = 0;
    bench.post(w);
  };
  post(true, false);
  post(true, true);   // 11
  post(true, false);  // void
  post(false, false);
  bench.wait_packets(2);
  bench.wait("report", [&] { return bench.rterr_.size() == 1; });
  CHECK(bench.rterr_[0] == Rterr{3, 11, 11 ^ 0x5A5A});
  bench.order(kErr, 3);
  bench.wait_orders();
  post(true, false);  // void
  bench.tick(300);
  CHECK(bench.packets.size() == 2);
  CHECK(bench.rleft[3] == 4);
  bench.order(kClear, 3);
  bench.wait_orders();
  post(true, false);
  bench.wait_packets(3);
  bench.tick(10);
  CHECK(bench.rleft[3] == 5);
  CHECK(bench.rterr_.size() == 1);
  CHECK(bench.terr_.size() == 0);
}

// Queues that are set back at any time, beside responses of the same QPs. What starts of a QP
// between two times is a beginning of what was submitted between them, in order; of responses
// everything leaves.
template <class Top>
void check_purge(size_t rounds, unsigned threshold) {
  BufferBench<Top> bench;
  bench->cfg_threshold_i = static_cast<SData>(threshold);
  bench.out_.set_stall(Stall::random(0.3));
  bench.data_rate = 0.6;
  bench.reset();
  auto random = rng("purge");
  constexpr uint32_t kQps = 3, kResponse = 0x800000;
  std::map<uint32_t, Work> all;
  std::map<uint32_t, std::deque<uint32_t>> due;  // requests, of this time
  std::map<uint32_t, std::deque<uint32_t>> responses;
  bench.on_submit = [&](const Work& w) { (w.response ? responses : due)[w.qpn].push_back(w.psn); };
  bench.on_purge = [&](uint32_t qpn) { due[qpn].clear(); };
  bench.on_start = [&](uint32_t qpn, uint32_t psn) {
    INFO("QP " << qpn << ", PSN " << psn);
    auto& queue = (psn & kResponse ? responses : due)[qpn];
    REQUIRE(!queue.empty());
    CHECK(queue.front() == psn);
    queue.pop_front();
  };
  uint32_t psn = 0;
  size_t posted = 0;
  for (size_t round = 0; round < rounds; ++round) {
    for (uint64_t n = random.between(1, 12); n > 0; --n) {
      Work w = random_work(random, static_cast<uint32_t>(random.below(kQps)), psn++, 2000);
      if (random.chance(0.3)) {
        w.response = w.notify = true;
        w.inlined = false;
        w.psn |= kResponse;
      }
      all[w.psn] = w;
      bench.post(w);
      ++posted;
    }
    bench.wait_submitted();
    bench.tick(random.below(40));
    if (random.chance(0.5)) bench.purge(static_cast<uint32_t>(random.below(kQps)));
  }
  bench.tick(4000);
  for (uint32_t q = 0; q < kQps; ++q) {
    CHECK(due[q].empty());
    CHECK(responses[q].empty());
  }
  for (const OutPacket& p : bench.packets) compare(p, all.at(p.psn));
  CHECK(bench.packets.size() == bench.tx_start.size());
  CHECK(bench.dropped == posted - bench.packets.size());
  CHECK(bench.tx_drop.size() == bench.dropped);
  CHECK(bench.dropped > 0);
  for (const auto& t : bench.tx_drop) CHECK((t.value & kResponse) == 0);
  CHECK(bench.terr_.size() == 0);
  bench.wait_all_free(sizeof(Top::rdrsp_data) == 16 ? 8 : sizeof(Top::rdrsp_data) == 64 ? 16 : 64);
}

TEST_CASE("tx_buffer sends nothing of a queue that was set back but what has started") {
  for (const unsigned threshold : {0u, 200u}) {
    check_purge<Vtx_buffer_w128>(150, threshold);
    check_purge<Vtx_buffer_w512>(150, threshold);
    check_purge<Vtx_buffer_w1024>(150, threshold);
  }
}

TEST_CASE("a frame that has begun ends whole when its queue is set back") {
  BufferBench<Vtx_buffer_w512> bench;
  bench->cfg_threshold_i = 512;
  bench.in_order = true;
  bench.script = std::deque<unsigned>{0};
  bench.reset();
  const auto work = [](uint32_t qpn, uint32_t psn, bool response) {
    Work w;
    w.qpn = qpn;
    w.psn = psn;
    w.response = w.notify = response;
    w.payload = std::vector<uint8_t>(2048, static_cast<uint8_t>(psn));
    w.tlps = {1024, 1024};
    return w;
  };
  bench.post(work(3, 1, false));
  bench.wait("start", [&] { return !bench.tx_start.empty(); });
  bench.post(work(3, 2, false));
  bench.post(work(3, 3, true));
  bench.post(work(4, 4, false));
  bench.wait_submitted();
  bench.purge(3);
  bench.post(work(3, 1, false));
  bench.post(work(3, 2, false));
  bench.script.reset();
  bench.wait_packets(5);
  bench.tick(100);
  std::map<uint32_t, std::vector<uint32_t>> order;
  for (const OutPacket& p : bench.packets) {
    compare(p, work(p.qpn, p.psn, p.psn == 3));
    if (p.psn != 3) order[p.qpn].push_back(p.psn);
  }
  CHECK(bench.packets.size() == 5);
  CHECK(order[3] == std::vector<uint32_t>{1, 1, 2});
  CHECK(bench.dropped == 1);
}

TEMPLATE_TEST_CASE("what was dropped may fail to be read; a QP that failed stays dead", "",
                   BUFFERS) {
  BufferBench<TestType> bench;
  bench.hold_data = true;
  bench.reset();
  uint32_t psn = 0;
  const auto post = [&](bool fails) {
    Work w;
    w.qpn = 2;
    w.psn = psn++;
    w.payload = std::vector<uint8_t>(100, static_cast<uint8_t>(psn));
    if (fails) w.fail_tlp = 0;
    bench.post(w);
  };
  post(true);
  bench.wait_submitted();
  bench.purge(2);
  post(false);
  bench.hold_data = false;
  bench.wait_packets(1);
  CHECK(bench.packets[0].psn == 1);
  CHECK(bench.terr_.size() == 0);
  post(true);
  bench.wait("report", [&] { return bench.terr_.size() == 1; });
  bench.purge(2);
  post(false);
  bench.tick(300);
  CHECK(bench.packets.size() == 1);
  bench.order(kErr, 2);
  bench.wait_orders();
  post(false);
  bench.wait_packets(2);
  CHECK(bench.terr_.size() == 1);
  CHECK(bench.dropped == 3);
}

TEST_CASE("notices that nobody takes hold back further ones, and nothing is lost") {
  BufferBench<Vtx_buffer_w1024> bench;
  bench.left_.set_stall(Stall::always());
  bench.reset();
  for (uint32_t i = 0; i < 40; ++i) {
    Work w;
    w.qpn = i;
    w.psn = i;
    w.notify = true;
    bench.post(w);
  }
  bench.tick(300);
  CHECK(bench.packets.size() >= 12);
  CHECK(bench.packets.size() <= 16);
  // Others go on.
  Work w;
  w.qpn = 50;
  w.psn = 99;
  w.response = true;
  bench.post(w);
  bench.left_.set_stall(Stall::random(0.5));
  bench.wait_packets(41);
  bench.wait("notices", [&] { return bench.left_.size() == 40; });
}

TEMPLATE_TEST_CASE("tx_buffer survives long random traffic", "[.soak]", BUFFERS) {
  check_purge<TestType>(3000, 0);
  check_purge<TestType>(3000, 1000);
  check_flows<TestType>(300, 0);
  check_flows<TestType>(300, 300);
  check_faults<TestType>(3000, 0, 0.05);
  check_faults<TestType>(3000, 64, 0.1);
  check_faults<TestType>(3000, 1024, 0.02);
  check_random<TestType>({Stall::random(0.2), 0.9, 0.9, 700, 500}, 6, 5000);
  check_random<TestType>({Stall::none(), 1, 1, 130, 0}, 3, 5000);
}
