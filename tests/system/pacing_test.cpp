// SPDX-License-Identifier: Apache-2.0
// Rates of QPs, measured on the cable: frames with FCS, preamble and gap.
#include <map>

#include "harness/driver/congestion.hpp"
#include "harness/roce/frame.hpp"
#include "harness/wire/faults.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

struct Departure {
  uint64_t ps = 0;
  uint64_t bytes = 0;
};

// What a sends, by the QP it goes to.
struct Meter {
  explicit Meter(Bed& bed) {
    bed.tap.on_frame = [this](const wire::FrameInfo& f, const roce::ViolationList&) {
      roce::FrameView v;
      if (f.direction != 0 || roce::parse_frame(f.bytes, v) != roce::ParseStatus::kOk) return;
      sent[v.dest_qp].push_back({f.first_ps, f.bytes.size() + (f.has_fcs ? 20 : 24)});
    };
  }
  // b/s from the second frame on.
  double rate(uint32_t dest_qp) {
    const auto& d = sent[dest_qp];
    REQUIRE(d.size() > 11);
    double bits = 0;
    for (size_t i = 1; i + 1 < d.size(); ++i) bits += 8.0 * static_cast<double>(d[i].bytes);
    return bits / (static_cast<double>(d.back().ps - d[1].ps) * 1e-12);
  }
  void check(uint32_t dest_qp, double gbps, double within = 0.01) {
    const double got = rate(dest_qp) / 1e9;
    INFO("to QP " << dest_qp << ": " << got << " Gb/s, expected " << gbps << ", "
                  << sent[dest_qp].size() << " frames");
    CHECK(std::abs(got / gbps - 1) < within);
  }
  std::map<uint32_t, std::vector<Departure>> sent;
};

struct Pair {
  sim::Qp* a;
  sim::Qp* b;
};

void enable_dcqcn(Bed& bed) {
  const auto s = driver::CcSettings::preset(driver::CcMode::kDcqcn, driver::CcPreset::kProduction,
                                            static_cast<double>(test_rate()));
  for (int i = 0; i < 2; ++i) driver::set_congestion(bed.side(i).host->nic(), s);
  bed.run_ns(30'000);  // tables of the unit
}

// Posts WRITEs of 64 KB, as many as the ring takes.
void post(Bed& bed, const Pair& p, sim::Region& from, sim::Region& to, unsigned messages) {
  for (unsigned i = 0; i < messages; ++i)
    bed.a.host->post_write(*p.a, from, 0, to, 0, 65536, i + 1 == messages);
  p.a->qp->ring();
}

}  // namespace

TEST_CASE("QPs send at their rates: default, own, none, changed in flight", "[short]") {
  Bed bed;
  enable_dcqcn(bed);
  Meter meter(bed);
  driver::Device& nic = bed.a.host->nic();
  nic.write(RNIC_CSR_QP_RATE_LIMIT, 10'000);
  std::vector<Pair> p;
  for (unsigned i = 0; i < 3; ++i) {
    const auto [qa, qb] = bed.connect();
    p.push_back({qa, qb});
  }
  auto& from = bed.a.host->region(sim::Place::kHost, 65536);
  auto& to = bed.b.host->region(sim::Place::kHost, 65536);
  CHECK(nic.query_qp(p[0].a->number()).rate_mbps == 10'000);
  nic.set_rate(*p[1].a->qp, 4'000);
  CHECK(nic.query_qp(p[1].a->number()).rate_mbps == 4'000);
  nic.set_rate(*p[2].a->qp, 0, 7);
  CHECK(nic.query_qp(p[2].a->number()).weight == 7);
  const uint64_t line = test_rate() / 1'000'000'000;
  // Enough for the time that is measured.
  post(bed, p[0], from, to, 12);
  post(bed, p[1], from, to, 20);
  post(bed, p[2], from, to, 200);
  bed.run_ns(130'000);
  meter.check(p[0].b->number(), 10);
  meter.check(p[1].b->number(), 4);
  // The rest is for the one without a limit: all but what the others and the ACKs take.
  CHECK(meter.rate(p[2].b->number()) / 1e9 > 0.9 * static_cast<double>(line - 14));

  const driver::CcState state = driver::query_congestion(nic, p[0].a->number());
  CHECK(state.rate_bps == static_cast<double>(test_rate()));
  CHECK(state.target_bps == static_cast<double>(test_rate()));
  CHECK(state.state_name() == std::string("ACTIVE"));
  CHECK(state.stage_name() == std::string("none"));

  nic.set_rate(*p[0].a->qp, 2'000);
  nic.set_rate(*p[1].a->qp, 25'000);
  // What was made before waits in the TX buffer behind the QP without a limit.
  bed.run_ns(20'000);
  meter.sent.clear();
  bed.run_ns(240'000);
  meter.check(p[0].b->number(), 2);
  meter.check(p[1].b->number(), 25);
  CHECK(bed.counter(bed.a, RNIC_CNT_TX_PACED) > 100);
  CHECK(bed.counter(bed.b, RNIC_CNT_TX_PACED) == 0);
  CHECK(bed.counter(bed.a, RNIC_CNT_CC_EVENTS_LOST) == 0);
  // Everything arrives, once nobody is held back.
  for (const Pair& q : p) nic.set_rate(*q.a->qp, 0);
  for (const Pair& q : p) CHECK(bed.a.host->wait_completion(*q.a, 4'000'000'000).ok());
}

TEST_CASE("READ responses leave at the rate of the QP that answers") {
  Bed bed;
  Meter meter(bed);
  const auto [qa, qb] = bed.connect();
  auto& from = bed.a.host->region(sim::Place::kHost, 65536);
  auto& to = bed.b.host->region(sim::Place::kHost, 65536);
  bed.a.host->nic().set_rate(*qa->qp, 10'000);
  // b reads, a answers.
  driver::WorkRequest r;
  r.opcode = RNIC_WQE_OPCODE_READ;
  r.local = {{to.key, 65536, to.va}};
  r.remote_va = from.va;
  r.rkey = from.key;
  for (int i = 0; i < 4; ++i) {
    r.signaled = i == 3;
    qb->qp->post(r);
  }
  qb->qp->ring();
  CHECK(bed.b.host->wait_completion(*qb, 4'000'000'000).ok());
  CHECK(meter.sent[qb->number()].size() >= 64);
  meter.check(qb->number(), 10);
}

TEST_CASE("a QP that waits for its rate can be reset, fail and be destroyed at once") {
  Bed bed;
  Meter meter(bed);
  driver::Device& nic = bed.a.host->nic();
  auto& from = bed.a.host->region(sim::Place::kHost, 65536);
  auto& to = bed.b.host->region(sim::Place::kHost, 65536);
  for (const uint8_t state : {RNIC_QP_STATE_ERR, RNIC_QP_STATE_RESET}) {
    const auto [qa, qb] = bed.connect();
    nic.set_rate(*qa->qp, 10);  // 4 KB every 3.3 ms
    post(bed, {qa, qb}, from, to, 3);
    bed.run_ns(20'000);
    CHECK(meter.sent[qb->number()].size() == 1);
    const auto before = bed.world.now_ps();
    nic.modify_state(*qa->qp, state);
    if (state == RNIC_QP_STATE_ERR) {
      CHECK(bed.a.host->wait_completion(*qa, 20'000'000).status == RNIC_CQE_STATUS_WR_FLUSH_ERR);
    }
    CHECK(bed.world.now_ps() - before < 20'000'000);
    CHECK(meter.sent[qb->number()].size() == 1);
  }
}

TEST_CASE("loss: a QP with a rate sends again and stays at its rate") {
  Bed bed;
  wire::CableFaults faults({{.action = wire::FaultAction::kDrop,
                             .from = 0,
                             .packet = wire::PacketClass::kWrite,
                             .nth = 20,
                             .every = 37}},
                           context_seed(), bed.link->config());
  faults.install(*bed.link);
  Meter meter(bed);
  const auto [qa, qb] = bed.connect();
  auto& from = bed.a.host->region(sim::Place::kHost, 65536);
  auto& to = bed.b.host->region(sim::Place::kHost, 65536);
  bed.a.host->nic().set_rate(*qa->qp, 20'000);
  post(bed, {qa, qb}, from, to, 12);
  CHECK(bed.a.host->wait_completion(*qa, 4'000'000'000).ok());
  CHECK(bed.counter(bed.a, RNIC_CNT_TX_RESENT) > 0);
  // What is sent again counts: the rate is never above, and hardly below.
  const double got = meter.rate(qb->number()) / 1e9;
  CHECK(got < 20.2);
  CHECK(got > 15);
}
