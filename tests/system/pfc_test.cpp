// SPDX-License-Identifier: Apache-2.0
// Pauses on the cable: what stops and for how long, what goes on, what is told by a NIC whose host
// is slow, timers, and pauses without end.
#include <array>
#include <deque>
#include <map>

#include "harness/driver/pause.hpp"
#include "harness/roce/frame.hpp"
#include "harness/roce/opcode.hpp"
#include "harness/switch/pause_frame.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

constexpr unsigned kClass = 3;  // of path 1; path 0 is of class 0
constexpr uint64_t kDelayPs = 50'000, kMacPs = 1600;

// b's raw port, which sends pause frames at the times they are due.
class Pauser final : public sim::RawPort {
 public:
  void pause(sim::TimePs at, const switching::PauseFrame& p) {
    const auto f = switching::build_pause(p, {0x02, 0, 0, 0, 0, 2});
    due_.push_back({at, {f.begin(), f.end()}});
  }
  // Class or link, again and again, each frame before the time of the last is over.
  void storm(sim::TimePs from, sim::TimePs to, const switching::PauseFrame& p) {
    const uint64_t each = switching::quanta_time(p.quanta[p.legacy ? 0 : kClass], test_rate()) / 2;
    for (sim::TimePs at = from; at < to; at += each) pause(at, p);
  }
  void on_raw_frame(sim::TimePs, std::span<const uint8_t>) override { ++raw_frames; }
  std::span<const uint8_t> next_raw_frame(sim::TimePs now) override {
    if (due_.empty() || now < due_.front().first) return {};
    frame_ = std::move(due_.front().second);
    due_.pop_front();
    return frame_;
  }
  unsigned raw_frames = 0;

 private:
  std::deque<std::pair<sim::TimePs, std::vector<uint8_t>>> due_;
  std::vector<uint8_t> frame_;
};

switching::PauseFrame of_class(uint16_t quanta) {
  switching::PauseFrame p;
  p.mask = 1 << kClass;
  p.quanta[kClass] = quanta;
  return p;
}
switching::PauseFrame of_link(uint16_t quanta) {
  switching::PauseFrame p;
  p.legacy = true;
  p.quanta[0] = quanta;
  return p;
}

struct Seen {
  uint64_t first_ps = 0, last_ps = 0;
  uint32_t qp = 0;
  uint8_t opcode = 0;
  size_t bytes = 0;
};

struct PfcBed : Bed {
  explicit PfcBed(driver::PauseSettings s, const BedOptions& o = {}) : Bed(o) {
    s.line_bps = test_rate();
    for (int i = 0; i < 2; ++i) {
      sim::Host& h = *side(i).host;
      driver::set_pauses(h.nic(), s);
      driver::PathRequest p;
      p.index = 1;
      p.smac = h.mac(static_cast<uint8_t>(i + 1));
      p.dmac = h.mac(static_cast<uint8_t>(2 - i));
      p.sip = h.ip(static_cast<uint8_t>(i + 1));
      p.dip = h.ip(static_cast<uint8_t>(2 - i));
      p.dscp = kClass * 8;
      h.nic().create_path(p);
    }
    tap.on_frame = [this](const wire::FrameInfo& f, const roce::ViolationList&) { see(f); };
    b.node->nic().set_raw_port(&pauser);
  }
  std::pair<sim::Qp*, sim::Qp*> on_class(sim::ConnectOptions o = {}) {
    o.path_a = o.path_b = 1;
    return connect(o);
  }
  void see(const wire::FrameInfo& f) {
    if (switching::is_mac_control(f.bytes)) {
      (f.direction == 0 ? told : heard)
          .emplace_back(std::vector<uint8_t>(f.bytes.begin(), f.bytes.end() - (f.has_fcs ? 4 : 0)));
      if (f.direction == 1) heard_ps.push_back(f.last_ps + kDelayPs);
      return;
    }
    roce::FrameView v;
    if (f.direction != 0 || roce::parse_frame(f.bytes, v) != roce::ParseStatus::kOk) return;
    sent.push_back({f.first_ps, f.last_ps, v.dest_qp, v.opcode, f.bytes.size() + 24});
  }
  // Bytes with preamble and gap, and frames, that begin in a span of time; of one QP or all.
  uint64_t bytes_in(uint64_t from, uint64_t to, uint32_t qp = 0) const {
    uint64_t n = 0;
    for (const Seen& f : sent)
      n += f.first_ps >= from && f.first_ps < to && (qp == 0 || f.qp == qp) ? f.bytes : 0;
    return n;
  }
  uint64_t frames_in(uint64_t from, uint64_t to, uint32_t qp) const {
    uint64_t n = 0;
    for (const Seen& f : sent) n += f.first_ps >= from && f.first_ps < to && f.qp == qp ? 1 : 0;
    return n;
  }
  uint64_t first_after(uint64_t from, uint32_t qp = 0) const {
    for (const Seen& f : sent)
      if (f.first_ps >= from && (qp == 0 || f.qp == qp)) return f.first_ps;
    return UINT64_MAX;
  }
  // WRITEs of 64 KB, the last one signaled.
  void stream(Side& from, sim::Qp& q, sim::Region& src, sim::Region& dst, unsigned messages) {
    for (unsigned i = 0; i < messages; ++i)
      from.host->post_write(q, src, 0, dst, 0, 65536, i + 1 == messages);
    q.qp->ring();
  }
  void read(Side& into, sim::Qp& q, sim::Region& src, sim::Region& dst, unsigned messages) {
    driver::WorkRequest r;
    r.opcode = RNIC_WQE_OPCODE_READ;
    r.local = {{dst.key, 65536, dst.va}};
    r.remote_va = src.va;
    r.rkey = src.key;
    for (unsigned i = 0; i < messages; ++i) {
      r.signaled = i + 1 == messages;
      q.qp->post(r);
    }
    q.qp->ring();
    (void)into;
  }
  uint64_t quanta_ps(uint16_t q) const { return switching::quanta_time(q, test_rate()); }

  Pauser pauser;
  std::vector<Seen> sent;                         // RoCEv2 frames of a
  std::vector<std::vector<uint8_t>> told, heard;  // pause frames of a, of b
  std::vector<uint64_t> heard_ps;                 // when they are in at a
};

driver::PauseSettings obey(bool link = false) {
  driver::PauseSettings s;
  if (link) {
    s.rx_link = true;
  } else {
    s.rx_classes = 1 << kClass;
  }
  return s;
}

// What may still leave when a pause is in: 24 beats and a frame; with the pipeline.
constexpr uint64_t kReactionPs = 600'000;

}  // namespace

TEST_CASE("a paused class stops, others keep the line busy, ACKs of its QPs go on", "[short]") {
  PfcBed bed(obey());
  const auto [qa, qb] = bed.on_class();
  const auto [ra, rb] = bed.connect();
  auto& from = bed.a.host->region(sim::Place::kHost, 65536);
  auto& to = bed.b.host->region(sim::Place::kHost, 65536);
  auto& back = bed.a.host->region(sim::Place::kHost, 65536);
  bed.stream(bed.a, *qa, from, to, 16);
  bed.stream(bed.a, *ra, from, to, 60);
  bed.stream(bed.b, *qb, to, back, 30);  // acknowledged by a, in the paused class
  const uint16_t quanta = 10'000;
  bed.pauser.pause(bed.world.now_ps() + 8'000'000, of_class(quanta));
  bed.run_ns(50'000);
  REQUIRE(bed.heard_ps.size() == 1);
  const uint64_t begin = bed.heard_ps[0] + kReactionPs,
                 end = bed.heard_ps[0] + bed.quanta_ps(quanta);
  uint64_t requests = 0, acks = 0;
  for (const Seen& f : bed.sent) {
    if (f.qp != qb->number() || f.first_ps < begin || f.first_ps >= end) continue;
    (f.opcode == roce::kRcAcknowledge ? acks : requests) += 1;
  }
  CHECK(requests == 0);
  CHECK(acks > 5);
  CHECK(bed.bytes_in(0, bed.heard_ps[0], qb->number()) > 65536);
  // The other class has the line for itself.
  const double line = static_cast<double>(test_rate()) / 8e12 * static_cast<double>(end - begin);
  CHECK(static_cast<double>(bed.bytes_in(begin, end)) > 0.95 * line);
  // Its packets are there, and take turns with those of the other.
  CHECK(bed.first_after(end, qb->number()) < end + 3'000'000);
  CHECK(bed.counter(bed.a, RNIC_CNT_RX_PAUSE) == 1);
  CHECK(bed.counter(bed.a, RNIC_CNT_RX_PRIO3_PAUSE) == 1);
  CHECK(bed.counter(bed.a, RNIC_CNT_RX_PRIO0_PAUSE) == 0);
  CHECK(bed.a.host->wait_completion(*qa, 4'000'000'000).ok());
  CHECK(bed.a.host->wait_completion(*ra, 4'000'000'000).ok());
  CHECK(bed.b.host->wait_completion(*qb, 4'000'000'000).ok());
  CHECK(bed.counter(bed.a, RNIC_CNT_TX_RESENT) == 0);
  CHECK(bed.pauser.raw_frames == 0);
}

TEST_CASE("a pause lasts as long as its quanta say, to two cycles of the MAC on the cable") {
  for (const bool link : {false, true}) {
    INFO((link ? "link" : "class"));
    PfcBed bed(obey(link));
    const auto [qa, qb] = bed.on_class();
    auto& from = bed.a.host->region(sim::Place::kHost, 65536);
    auto& to = bed.b.host->region(sim::Place::kHost, 65536);
    bed.stream(bed.a, *qa, from, to, 200);
    std::vector<uint64_t> waits;  // from the end of a pause to the first frame
    const uint16_t lengths[] = {700, 701, 702, 703, 1000, 1001, 2222, 4000, 4001, 7777};
    for (const uint16_t quanta : lengths) {
      const size_t before = bed.heard_ps.size();
      bed.pauser.pause(bed.world.now_ps() + 2'000'000, link ? of_link(quanta) : of_class(quanta));
      bed.run_ns(4'000 + bed.quanta_ps(quanta) / 1000);
      REQUIRE(bed.heard_ps.size() == before + 1);
      const uint64_t in = bed.heard_ps.back(), over = in + bed.quanta_ps(quanta);
      CHECK(bed.frames_in(in + kReactionPs, over, qb->number()) == 0);
      CHECK(bed.bytes_in(in - 1'000'000, in, qb->number()) > 1000);  // there was more to send
      const uint64_t next = bed.first_after(in + kReactionPs, qb->number());
      REQUIRE(next >= over);
      waits.push_back(next - over);
    }
    // The way through the NIC does not depend on the length: what varies is two cycles, where the
    // frame ends between two edges of the MAC, and, of a class, crossings to the core's clock. When
    // the link was paused between two frames the next one comes from tx_buffer as well.
    std::sort(waits.begin(), waits.end());
    INFO("first frames " << waits.front() << " to " << waits.back() << " ps after the pause");
    CHECK(waits.back() < 60'000);
    const auto direct = std::lower_bound(waits.begin(), waits.end(), 20'000);
    if (link) {
      REQUIRE(direct - waits.begin() >= 3);
      CHECK(*(direct - 1) - waits.front() <= 3 * kMacPs);
    } else {
      CHECK(waits.back() - waits.front() <= 3 * kMacPs + 4 * 2000);
    }
    // A time of 0 ends a pause at once.
    bed.pauser.pause(bed.world.now_ps() + 1'000'000, link ? of_link(0xFFFF) : of_class(0xFFFF));
    bed.pauser.pause(bed.world.now_ps() + 4'000'000, link ? of_link(0) : of_class(0));
    bed.run_ns(8'000);
    const uint64_t resumed = bed.heard_ps.back();
    CHECK(bed.frames_in(bed.heard_ps[10] + kReactionPs, resumed, qb->number()) == 0);
    CHECK(bed.first_after(resumed, qb->number()) < resumed + 200'000);
  }
}

TEST_CASE("READ responses of a paused class stop and hold up no others, and no ACKs") {
  PfcBed bed(obey());
  // Many QPs of the paused class, so that their responses could take all slots.
  std::vector<std::pair<sim::Qp*, sim::Qp*>> paused;
  for (int i = 0; i < 8; ++i) paused.push_back(bed.on_class());
  const auto [ra, rb] = bed.connect();
  const auto [wa, wb] = bed.connect();
  auto& from = bed.a.host->region(sim::Place::kHost, 65536);
  auto& to = bed.b.host->region(sim::Place::kHost, 65536);
  auto& dump = bed.a.host->region(sim::Place::kHost, 65536);
  for (const auto& [qa, qb] : paused) bed.read(bed.b, *qb, from, to, 3);
  bed.pauser.pause(bed.world.now_ps() + 4'000'000, of_class(12'000));
  bed.run_ns(6'000);
  bed.read(bed.b, *rb, from, to, 12);  // begins in the pause
  bed.stream(bed.b, *wb, to, dump, 4);
  bed.run_ns(32'000);
  const uint64_t begin = bed.heard_ps.at(0) + kReactionPs;
  const uint64_t end = bed.heard_ps[0] + bed.quanta_ps(12'000);
  uint64_t stopped = 0, others = 0, acks = 0;
  for (const Seen& f : bed.sent) {
    if (f.first_ps < begin || f.first_ps >= end) continue;
    bool on_class = false;
    for (const auto& [qa, qb] : paused) on_class |= f.qp == qb->number();
    if (on_class) ++stopped;
    if (f.qp == rb->number()) others += f.bytes;
    if (f.qp == wb->number()) ++acks;
  }
  CHECK(stopped == 0);
  CHECK(acks >= 2);
  CHECK(others > 8 * 65536);
  for (const auto& [qa, qb] : paused) CHECK(bed.b.host->wait_completion(*qb, 4'000'000'000).ok());
  CHECK(bed.b.host->wait_completion(*rb, 4'000'000'000).ok());
  CHECK(bed.b.host->wait_completion(*wb, 4'000'000'000).ok());
}

TEST_CASE("no ACK timer runs out in a pause, however long it is, and after it they work") {
  PfcBed bed(obey());
  sim::ConnectOptions o;
  o.attributes.timeout = 2;  // 16 us
  o.attributes.retry_cnt = 1;
  const auto [qa, qb] = bed.on_class(o);
  auto& from = bed.a.host->region(sim::Place::kHost, 65536);
  auto& to = bed.b.host->region(sim::Place::kHost, 65536);
  const uint64_t now = bed.world.now_ps();
  bed.pauser.storm(now + 3'000'000, now + 200'000'000, of_class(8'000));
  bed.stream(bed.a, *qa, from, to, 16);
  bed.run_ns(200'000);
  const uint64_t last = bed.heard_ps.back();
  CHECK(bed.frames_in(bed.heard_ps[0] + kReactionPs, last, qb->number()) == 0);
  CHECK(bed.counter(bed.a, RNIC_CNT_ACK_TIMEOUTS) == 0);
  CHECK(bed.a.host->wait_completion(*qa, 4'000'000'000).ok());
  CHECK(bed.counter(bed.a, RNIC_CNT_TX_RESENT) == 0);
  CHECK(bed.counter(bed.a, RNIC_CNT_ACK_TIMEOUTS) == 0);
  // Without a pause the timer fires: the peer's QP is gone.
  bed.b.host->nic().modify_state(*qb->qp, RNIC_QP_STATE_RESET);
  bed.stream(bed.a, *qa, from, to, 1);
  const auto c = bed.a.host->wait_completion(*qa, 4'000'000'000);
  CHECK(c.status == RNIC_CQE_STATUS_RETRY_EXC_ERR);
  CHECK(bed.counter(bed.a, RNIC_CNT_ACK_TIMEOUTS) == 2);
}

TEST_CASE("a NIC whose host is slow tells its peer by frames with every field right") {
  for (const bool link : {false, true}) {
    INFO((link ? "link" : "class"));
    driver::PauseSettings s;
    s.rx_link = s.tx_link = link;
    if (!link) s.rx_classes = s.tx_classes = 1 << kClass;
    if (link) s.tx_classes = 0xFF;
    s.set_marks({65'536, 32'768});
    s.quanta = 3000;
    BedOptions o;
    o.pcie.link.up_kbps = 20'000'000;
    PfcBed bed(s, o);
    auto random = rng("data");
    const auto [qa, qb] = bed.on_class();
    auto& from = bed.b.host->region(sim::Place::kHost, 65536);
    auto& to = bed.a.host->region(sim::Place::kHost, 65536);
    const auto data = fill(bed, bed.b, from, random);
    bed.watch();
    bed.expect(bed.a, to, 0, data);
    bed.stream(bed.b, *qb, from, to, 16);
    REQUIRE(bed.b.host->wait_completion(*qb, 4'000'000'000).ok());
    bed.run_ns(60'000);
    bed.check();
    REQUIRE(bed.told.size() >= 4);
    bool paused = false;
    for (const auto& f : bed.told) {
      REQUIRE(f.size() == 60);
      std::vector<uint8_t> want = {0x01, 0x80, 0xC2, 0, 0, 1, 0x02, 0, 0, 0, 0, 1, 0x88, 0x08};
      want.resize(60);
      want[14] = link ? 0x00 : 0x01;
      want[15] = 0x01;
      if (!link) want[17] = 1 << kClass;
      const size_t at = link ? 16 : 18 + 2 * kClass;
      paused = f[at] != 0 || f[at + 1] != 0;
      want[at] = paused ? 3000 >> 8 : 0;
      want[at + 1] = paused ? 3000 & 0xFF : 0;
      REQUIRE(f == want);
    }
    CHECK_FALSE(paused);  // the last one ends it
    CHECK(bed.counter(bed.a, RNIC_CNT_TX_PAUSE) == bed.told.size());
    CHECK(bed.counter(bed.b, RNIC_CNT_RX_PAUSE) == bed.told.size());
    CHECK((bed.counter(bed.a, RNIC_CNT_TX_PRIO3_PAUSE) > 0) == !link);
    CHECK(bed.counter(bed.a, RNIC_CNT_RX_BUFFER_DROPS) == 0);
    CHECK(bed.counter(bed.b, RNIC_CNT_TX_RESENT) == 0);
  }
}

TEST_CASE("a storm of a class is told, obeyed or ignored, and over when its pauses end") {
  for (const auto action : {driver::StormAction::kObey, driver::StormAction::kIgnore}) {
    INFO("action " << static_cast<int>(action));
    driver::PauseSettings s = obey();
    s.storm_limit_us = 30;
    s.storm_restore_us = 20;
    s.storm_action = action;
    PfcBed bed(s);
    const auto [qa, qb] = bed.on_class();
    const auto [ra, rb] = bed.connect();
    auto& from = bed.a.host->region(sim::Place::kHost, 65536);
    auto& to = bed.b.host->region(sim::Place::kHost, 65536);
    const uint64_t now = bed.world.now_ps();
    bed.pauser.storm(now + 2'000'000, now + 150'000'000, of_class(8'000));
    bed.run_ns(4'000);
    bed.stream(bed.a, *qa, from, to, 4);
    bed.stream(bed.a, *ra, from, to, 4);
    CHECK(bed.a.host->wait_completion(*ra).ok());
    CHECK_FALSE(bed.a.host->poll(*qa));
    const auto begins = wait_cause(*bed.a.host);
    REQUIRE(begins);
    CHECK(begins->type == RNIC_EQE_TYPE_PAUSE_STORM);
    CHECK(begins->code == 1);
    CHECK(begins->number == 1 << kClass);
    const uint64_t told_after = bed.world.now_ps() - bed.heard_ps[0];
    CHECK(told_after > 30'000'000);
    CHECK(told_after < 33'000'000);
    const uint32_t state = bed.a.host->nic().read(RNIC_CSR_PFC_STATE);
    CHECK(RNIC_FIELD_GET(RNIC_CSR_PFC_STATE_STORM_MASK, state) == 1 << kClass);
    CHECK(RNIC_FIELD_GET(RNIC_CSR_PFC_STATE_PAUSED_MASK, state) == 1 << kClass);
    bed.run_ns(60'000);
    const bool ignored = action == driver::StormAction::kIgnore;
    CHECK((bed.bytes_in(bed.heard_ps[0] + kReactionPs, bed.world.now_ps(), qb->number()) > 0) ==
          ignored);
    if (!ignored) CHECK_FALSE(bed.a.host->poll(*qa));
    CHECK(bed.a.host->wait_completion(*qa, 400'000'000).ok());
    const auto ends = wait_cause(*bed.a.host);
    REQUIRE(ends);
    CHECK(ends->type == RNIC_EQE_TYPE_PAUSE_STORM);
    CHECK(ends->code == 0);
    CHECK(ends->number == 1 << kClass);
    CHECK(bed.counter(bed.a, RNIC_CNT_RX_PAUSE_STORMS) == 1);
    CHECK(bed.counter(bed.a, RNIC_CNT_TX_STORM_DROPS) == 0);
    CHECK(bed.counter(bed.a, RNIC_CNT_TX_RESENT) == 0);
    // A pause after the storm is obeyed again.
    bed.stream(bed.a, *qa, from, to, 40);
    bed.pauser.pause(bed.world.now_ps() + 2'000'000, of_class(4'000));
    bed.run_ns(10'000);
    CHECK(bed.frames_in(bed.heard_ps.back() + kReactionPs,
                        bed.heard_ps.back() + bed.quanta_ps(4'000), qb->number()) == 0);
  }
}

TEST_CASE("a storm whose packets are dropped: QPs of the class fail, nothing hangs, others go on") {
  for (const bool link : {false, true}) {
    INFO((link ? "link" : "class"));
    driver::PauseSettings s = obey(link);
    s.storm_limit_us = 20;
    s.storm_restore_us = 20;
    s.storm_action = driver::StormAction::kDrop;
    PfcBed bed(s);
    sim::ConnectOptions o;
    o.attributes.timeout = 1;  // 8 us
    o.attributes.retry_cnt = 1;
    const auto [qa, qb] = bed.on_class(o);
    const auto [ra, rb] = bed.connect();
    auto& from = bed.a.host->region(sim::Place::kHost, 65536);
    auto& to = bed.b.host->region(sim::Place::kHost, 65536);
    const uint64_t now = bed.world.now_ps();
    bed.pauser.storm(now + 2'000'000, now + 130'000'000, link ? of_link(8'000) : of_class(8'000));
    bed.stream(bed.a, *qa, from, to, 8);
    if (!link) bed.stream(bed.a, *ra, from, to, 60);
    const auto c = bed.a.host->wait_completion(*qa, 400'000'000);
    CHECK(c.status == RNIC_CQE_STATUS_RETRY_EXC_ERR);
    CHECK(bed.world.now_ps() < now + 130'000'000);
    CHECK(bed.counter(bed.a, RNIC_CNT_TX_STORM_DROPS) > 4);
    CHECK(bed.frames_in(bed.heard_ps[0] + kReactionPs, bed.world.now_ps(), qb->number()) == 0);
    if (!link) CHECK(bed.a.host->wait_completion(*ra, 400'000'000).ok());
    std::vector<driver::Event> events;
    bed.run_ns(180'000);
    while (const auto e = bed.a.host->events().poll()) events.push_back(*e);
    unsigned begins = 0, ends = 0;
    for (const auto& e : events) {
      if (e.type != RNIC_EQE_TYPE_PAUSE_STORM) continue;
      CHECK(e.number == (link ? 0x1FFu : 1u << kClass));
      ++(e.code == 1 ? begins : ends);
    }
    CHECK(begins == 1);
    CHECK(ends == 1);
    // New QPs of the class work.
    const auto [na, nb] = bed.on_class();
    bed.stream(bed.a, *na, from, to, 4);
    CHECK(bed.a.host->wait_completion(*na, 400'000'000).ok());
    if (link) {
      bed.stream(bed.a, *ra, from, to, 4);
      CHECK(bed.a.host->wait_completion(*ra, 400'000'000).ok());
    }
    CHECK(bed.counter(bed.a, RNIC_CNT_RX_PAUSE_STORMS) == 1);
  }
}

TEST_CASE(
    "a QP of a paused class is destroyed, and the device reset, without waiting for the peer") {
  PfcBed bed(obey());
  const auto [qa, qb] = bed.on_class();
  auto& from = bed.a.host->region(sim::Place::kHost, 65536);
  auto& to = bed.b.host->region(sim::Place::kHost, 65536);
  const uint64_t now = bed.world.now_ps();
  bed.pauser.storm(now + 1'000'000, now + 2'000'000'000, of_class(0xFFFF));
  bed.run_ns(2'000);
  bed.stream(bed.a, *qa, from, to, 30);
  bed.run_ns(10'000);
  const uint64_t from_ps = bed.world.now_ps();
  bed.a.host->nic().modify_state(*qa->qp, RNIC_QP_STATE_ERR);
  bed.a.host->nic().modify_state(*qa->qp, RNIC_QP_STATE_RESET);
  CHECK(bed.world.now_ps() < from_ps + 20'000'000);
  CHECK(bed.frames_in(bed.heard_ps[0] + kReactionPs, bed.world.now_ps(), qb->number()) == 0);
  bed.a.host->restart(2);
  CHECK(bed.world.now_ps() < from_ps + 100'000'000);
}
