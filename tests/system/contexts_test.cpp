// SPDX-License-Identifier: Apache-2.0
// Contexts in host memory: 8 of 64 on chip, so that nearly every message finds its QP away.
// Programs of verbs, commands, faults of the context memory, reset.
#include "harness/golden/program.hpp"
#include "tests/system/verbs_bed.hpp"

using namespace rnic;
using namespace rnic::test;
using golden::make_program;
using golden::Program;
using golden::ProgramConfig;

namespace {

constexpr uint32_t kOnChip = 8;  // as in sim/CMakeLists.txt

ProgramConfig some_verbs(uint64_t seed, uint32_t mtu) {
  return {.seed = seed,
          .requests = 16,
          .pmtu = mtu,
          .beat_bytes = test_width() / 8,
          .max_bytes = 6000,
          .max_sge = 6,
          .max_inline = 96,
          .reuse = 0.1,
          .weights = {1, 4, 3, 0, 6, 3, 6, 2, 2, 0}};
}

// A missing context costs each packet a microsecond at this width: timers that allow it.
VerbsConnect patient(uint32_t mtu) { return {.mtu = mtu, .timeout = 7}; }

// All QPs that a NIC has but two, connected between two of them.
struct Crowd {
  explicit Crowd(uint32_t pairs, const BedOptions& o = {}) : bed(o) {
    for (uint32_t n = 0; n < pairs; ++n) {
      sim::ConnectOptions c;
      c.mtu = 1024;
      c.attributes = patient(1024).request();
      auto [qa, qb] = bed.connect(c);
      a.push_back(qa);
      b.push_back(qb);
    }
  }
  // Where the context of a QP of side `s` is.
  uint64_t context(Side& s, uint32_t qpn) const {
    return s.host->nic().contexts()->bus_addr() + uint64_t{RNIC_CTX_STRIDE} * qpn;
  }
  // A WRITE on each of the pairs, one after the other; the bytes are compared.
  void write_all(const std::vector<size_t>& without = {}) {
    Rng rng = test::rng("writes");
    if (src == nullptr) {
      src = &bed.a.host->region(sim::Place::kHost, 65536);
      dst = &bed.b.host->region(sim::Place::kHost, 65536);
    }
    const std::vector<uint8_t> data = fill(bed, bed.a, *src, rng);
    for (size_t n = 0; n < a.size(); ++n) {
      if (std::find(without.begin(), without.end(), n) != without.end()) continue;
      bed.a.host->write(*a[n], *src, n * 1000, *dst, n * 1000, 1000);
      CHECK(bed.a.host->wait_completion(*a[n]).ok());
    }
    bed.run_ns(3000);
    std::vector<uint8_t> got(65536);
    dst->buffer.read(0, got.data(), got.size());
    for (size_t n = 0; n < a.size(); ++n) {
      if (std::find(without.begin(), without.end(), n) != without.end()) continue;
      CHECK(std::equal(got.begin() + static_cast<long>(n * 1000),
                       got.begin() + static_cast<long>(n * 1000 + 1000),
                       data.begin() + static_cast<long>(n * 1000)));
    }
  }

  Bed bed;
  std::vector<sim::Qp*> a, b;
  sim::Region *src = nullptr, *dst = nullptr;
};

std::optional<driver::Event> next_fault(sim::Host& host) {
  for (;;) {
    const auto e = host.wait_event();
    if (!e || e->type == RNIC_EQE_TYPE_DMA_FAULT) return e;
  }
}

}  // namespace

TEST_CASE("programs of all verbs on many QPs, RTL against the golden endpoint") {
  for (const uint32_t mtu : {256u, 1024u}) {
    INFO("path MTU " << mtu);
    GoldenBed bed;
    std::vector<Program> programs;
    constexpr uint32_t kQps = 24;
    for (uint32_t n = 0; n < kQps; ++n) {
      bed.connect(patient(mtu));
      programs.push_back(make_program(some_verbs(context_seed() * 100 + mtu + n, mtu)));
    }
    std::vector<const Program*> p;
    for (const Program& x : programs) p.push_back(&x);
    REQUIRE(bed.run(p));
    CHECK(bed.counter(RNIC_CNT_CTX_MISSES) > 200);
    CHECK(bed.counter(RNIC_CNT_CTX_HITS) > 200);
    CHECK(bed.counter(RNIC_CNT_RX_OUT_OF_ORDER) == 0);
    for (uint32_t n = 0; n < kQps; ++n) CHECK(bed.gold.requester(n).stats().timeouts == 0);
  }
}

TEST_CASE("programs of all verbs on many QPs through bad weather, RTL against RTL") {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const uint64_t root = context_seed() * 1000 + seed;
    INFO("seed " << root);
    wire::CableFaults faults(bad_weather(0.01), root, {});
    BedOptions o;
    o.faults_a = &faults.direction(0);
    o.faults_b = &faults.direction(1);
    o.check_wire = false;
    Crowd crowd(20, o);
    sim::HostEndpoint a(*crowd.bed.a.host), b(*crowd.bed.b.host);
    std::vector<Program> programs;
    for (uint32_t n = 0; n < 20; ++n) {
      a.attach(*crowd.a[n]);
      b.attach(*crowd.b[n]);
      programs.push_back(make_program(some_verbs(root * 100 + n, 1024)));
    }
    ProgramRun run(crowd.bed.world, a, b);
    for (uint32_t n = 0; n < 20; ++n) run.add(programs[n], n, {.late_receives = 0.3});
    REQUIRE(run.run(100'000'000'000));
    CHECK(crowd.bed.counter(crowd.bed.a, RNIC_CNT_CTX_MISSES) > 100);
  }
}

TEST_CASE("slow, refused and stalled pins change nothing but time") {
  GoldenBed bed({.stalls = {.aw = 60, .w = 60, .b = 60, .ar = 60, .r = 60}});
  std::vector<Program> programs;
  for (uint32_t n = 0; n < 16; ++n) {
    bed.connect(patient(1024));
    programs.push_back(make_program(some_verbs(context_seed() * 100 + n, 1024)));
  }
  std::vector<const Program*> p;
  for (const Program& x : programs) p.push_back(&x);
  REQUIRE(bed.run(p));
}

TEST_CASE("commands find every QP, on chip or not") {
  Crowd crowd(40);
  Bed& bed = crowd.bed;
  crowd.write_all();
  for (size_t n = 0; n < 40; ++n) {
    INFO("pair " << n);
    const driver::QpInfo qa = bed.a.host->nic().query_qp(crowd.a[n]->number());
    const driver::QpInfo qb = bed.b.host->nic().query_qp(crowd.b[n]->number());
    CHECK(qa.state == RNIC_QP_STATE_RTS);
    CHECK(qa.next_psn == 0x101);
    CHECK(qa.una_psn == 0x101);
    CHECK(qa.sq_prod == 1);
    CHECK(qb.epsn == 0x101);
    CHECK(qb.msn == 1);
  }
  // RESET and a new life; ERR; DESTROY and CREATE of the same number.
  for (size_t n = 0; n < 40; n += 4) {
    bed.a.host->nic().modify_state(*crowd.a[n]->qp, RNIC_QP_STATE_RESET);
    bed.b.host->nic().modify_state(*crowd.b[n]->qp, RNIC_QP_STATE_RESET);
    sim::ConnectOptions c;
    c.mtu = 1024;
    c.psn_a = 0x500;
    c.psn_b = 0x900;
    sim::connect_pair(*bed.a.host, *crowd.a[n], *bed.b.host, *crowd.b[n], c);
    bed.a.host->nic().modify_state(*crowd.a[n + 1]->qp, RNIC_QP_STATE_ERR);
    bed.a.host->nic().destroy(RNIC_CMD_OPCODE_DESTROY_QP, crowd.a[n + 2]->number(), "QP");
  }
  std::vector<size_t> gone;
  for (size_t n = 0; n < 40; n += 4) {
    gone.push_back(n + 1);
    gone.push_back(n + 2);
    CHECK(bed.a.host->nic().query_qp(crowd.a[n + 1]->number()).state == RNIC_QP_STATE_ERR);
    CHECK_THROWS_WITH(bed.a.host->nic().query_qp(crowd.a[n + 2]->number()),
                      contains_text("NOT_FOUND"));
  }
  crowd.write_all(gone);
  CHECK(bed.a.host->nic().query_qp(crowd.a[0]->number()).next_psn == 0x501);
}

TEST_CASE("a context that cannot be read costs its QP, the others go on") {
  struct Attempt {
    const char* what;
    pcie::FaultKind kind;
  };
  for (const Attempt& x : {Attempt{"refused", pcie::FaultKind::kUnsupported},
                           Attempt{"aborted", pcie::FaultKind::kCompleterAbort},
                           Attempt{"poisoned", pcie::FaultKind::kPoison},
                           Attempt{"never answered", pcie::FaultKind::kNeverComes}}) {
    INFO("the read of the context is " << x.what);
    BedOptions o;
    o.host.dma_timeout_us = 5;
    Crowd crowd(30, o);
    Bed& bed = crowd.bed;
    crowd.write_all();
    const uint32_t qpn = crowd.a[0]->number();  // the oldest: away
    pcie::FaultRule rule;
    rule.kind = x.kind;
    rule.first_addr = crowd.context(bed.a, qpn);
    rule.last_addr = rule.first_addr + RNIC_CTX_STRIDE - 1;
    rule.count = 1;
    const size_t handle = bed.a.node->fabric().add_fault(rule);
    // Three WQEs: all flushed, none sent.
    for (int i = 0; i < 3; ++i)
      bed.a.host->post_write(*crowd.a[0], *crowd.src, 0, *crowd.dst, 0, 100);
    crowd.a[0]->qp->ring();
    const auto e = next_fault(*bed.a.host);
    REQUIRE(e);
    CHECK(e->number == qpn);
    CHECK(e->code == RNIC_CQE_STATUS_FATAL_ERR);
    CHECK(bed.a.node->fabric().fault_hits(handle) == 1);
    for (int i = 0; i < 3; ++i)
      CHECK(bed.a.host->wait_completion(*crowd.a[0]).status == RNIC_CQE_STATUS_WR_FLUSH_ERR);
    const driver::QpInfo info = bed.a.host->nic().query_qp(qpn);
    CHECK(info.state == RNIC_QP_STATE_ERR);
    CHECK(info.err_cause == RNIC_CQE_STATUS_FATAL_ERR);
    crowd.write_all({0});
    // After RESET it is a QP like others.
    bed.a.host->nic().modify_state(*crowd.a[0]->qp, RNIC_QP_STATE_RESET);
    bed.b.host->nic().modify_state(*crowd.b[0]->qp, RNIC_QP_STATE_RESET);
    sim::ConnectOptions c;
    c.mtu = 1024;
    sim::connect_pair(*bed.a.host, *crowd.a[0], *bed.b.host, *crowd.b[0], c);
    crowd.write_all();
  }
}

// As requester's context above, so the responder's: what arrives is not executed, nothing hangs.
TEST_CASE("a responder whose context is lost executes nothing") {
  Crowd crowd(30);
  Bed& bed = crowd.bed;
  crowd.write_all();
  pcie::FaultRule rule;
  rule.first_addr = crowd.context(bed.b, crowd.b[0]->number());
  rule.last_addr = rule.first_addr + RNIC_CTX_STRIDE - 1;
  rule.count = 1;
  bed.b.node->fabric().add_fault(rule);
  std::vector<uint8_t> before(1000), after(1000);
  crowd.dst->buffer.read(0, before.data(), before.size());
  bed.a.host->write(*crowd.a[0], *crowd.src, 2000, *crowd.dst, 0, 1000);
  const auto e = next_fault(*bed.b.host);
  REQUIRE(e);
  CHECK(e->number == crowd.b[0]->number());
  CHECK(bed.b.host->nic().query_qp(crowd.b[0]->number()).state == RNIC_QP_STATE_ERR);
  crowd.write_all({0});
  crowd.dst->buffer.read(0, after.data(), after.size());
  CHECK(before == after);
}

// A write back that does not arrive leaves the old image: it must not be used.
TEST_CASE("a context whose write back is lost is not replaced by its past") {
  for (const auto kind : {pcie::FaultKind::kUnsupported, pcie::FaultKind::kNeverComes}) {
    INFO(to_string(kind));
    Crowd crowd(30);
    Bed& bed = crowd.bed;
    crowd.write_all();
    const uint32_t qpn = crowd.a[5]->number();
    bed.a.host->write(*crowd.a[5], *crowd.src, 0, *crowd.dst, 5000, 1000);
    CHECK(bed.a.host->wait_completion(*crowd.a[5]).ok());
    pcie::FaultRule rule;
    rule.kind = kind;
    rule.reads = false;
    rule.writes = true;
    rule.first_addr = crowd.context(bed.a, qpn);
    rule.last_addr = rule.first_addr + RNIC_CTX_STRIDE - 1;
    const size_t handle = bed.a.node->fabric().add_fault(rule);
    crowd.write_all({5});
    CHECK(bed.a.node->fabric().fault_hits(handle) > 0);
    bed.a.node->fabric().remove_fault(handle);
    bed.a.host->write(*crowd.a[5], *crowd.src, 0, *crowd.dst, 5000, 1000);
    CHECK(bed.a.host->wait_completion(*crowd.a[5]).status == RNIC_CQE_STATUS_WR_FLUSH_ERR);
    const auto e = next_fault(*bed.a.host);
    REQUIRE(e);
    CHECK(e->number == qpn);
    CHECK(bed.a.host->nic().query_qp(qpn).state == RNIC_QP_STATE_ERR);
    crowd.write_all({5});
  }
}

TEST_CASE("without QP_CTX_BASE the NIC has the QPs that fit on chip, and says so") {
  BedOptions o;
  o.host.contexts = false;
  Bed bed(o);
  driver::Device& nic = bed.a.host->nic();
  CHECK(nic.capabilities().n_ctx == kOnChip);
  CHECK(nic.capabilities().n_qp == 64);
  auto cq = nic.create_cq(0, 6);
  std::vector<std::unique_ptr<driver::QueuePair>> qps;
  for (uint32_t qpn = 0; qpn < 64; ++qpn) {
    driver::QpRequest r;
    r.qpn = qpn;
    r.pd = 1;
    if (qpn < kOnChip) {
      qps.push_back(nic.create_qp(std::move(r)));
    } else {
      CHECK_THROWS_WITH(nic.create_qp(std::move(r)), contains_text("NO_CONTEXT"));
    }
  }
  CHECK(bed.counter(bed.a, RNIC_CNT_CTX_MISSES) == 0);
  nic.use_contexts();
  driver::QpRequest r;
  r.qpn = 63;
  r.pd = 1;
  qps.push_back(nic.create_qp(std::move(r)));
}

// What is measured here, with a WQE read answered after 40 ns, is in rtl/ctx_cache/README.md.
TEST_CASE("a missing context costs a WRITE less than 150 ns, and one read at the sender") {
  Crowd crowd(40);
  Bed& bed = crowd.bed;
  crowd.write_all();
  const auto time_of = [&](bool away_a, bool away_b) {
    for (size_t n = 1; n < 40; ++n) {
      if (away_a) (void)bed.a.host->nic().query_qp(crowd.a[n]->number());
      if (away_b) (void)bed.b.host->nic().query_qp(crowd.b[n]->number());
    }
    const uint64_t a = bed.counter(bed.a, RNIC_CNT_CTX_MISSES),
                   b = bed.counter(bed.b, RNIC_CNT_CTX_MISSES);
    bed.run_ns(1000);
    const uint64_t start = bed.world.now_ps();
    bed.a.host->write(*crowd.a[0], *crowd.src, 0, *crowd.dst, 0, 64);
    CHECK(bed.a.host->wait_completion(*crowd.a[0]).ok());
    const uint64_t ps = bed.world.now_ps() - start;
    CHECK(bed.counter(bed.a, RNIC_CNT_CTX_MISSES) - a == (away_a ? 1 : 0));
    CHECK(bed.counter(bed.b, RNIC_CNT_CTX_MISSES) - b == (away_b ? 1 : 0));
    return ps;
  };
  bed.a.host->write(*crowd.a[0], *crowd.src, 0, *crowd.dst, 0, 64);  // here, on both sides
  CHECK(bed.a.host->wait_completion(*crowd.a[0]).ok());
  const uint64_t here = time_of(false, false), sender = time_of(true, false),
                 here2 = time_of(false, false), receiver = time_of(false, true);
  WARN("64 B WRITE, post to completion: " << here / 1000 << " ns; context of the sender away "
                                          << sender / 1000 << ", of the receiver "
                                          << receiver / 1000);
  CHECK(sender < here + 150'000);
  CHECK(receiver < here2 + 150'000);
}

TEST_CASE("a device reset with contexts in host memory starts anew") {
  Crowd crowd(30);
  crowd.write_all();
  // In the middle of work.
  for (size_t n = 0; n < 30; ++n) {
    crowd.bed.a.host->write(*crowd.a[n], *crowd.src, n * 1000, *crowd.dst, n * 1000, 1000);
  }
  crowd.bed.a.host->restart(2);
  crowd.bed.b.host->restart(1);
  crowd.a.clear();
  crowd.b.clear();
  crowd.src = nullptr;
  for (uint32_t n = 0; n < 30; ++n) {
    sim::ConnectOptions c;
    c.mtu = 1024;
    c.psn_a = 0x777 + n;
    auto [qa, qb] = crowd.bed.connect(c);
    crowd.a.push_back(qa);
    crowd.b.push_back(qb);
  }
  crowd.write_all();
  CHECK(crowd.bed.counter(crowd.bed.a, RNIC_CNT_CTX_MISSES) > 0);
}
