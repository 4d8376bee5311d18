// SPDX-License-Identifier: Apache-2.0
// The machine around the NIC fails: the QP goes to ERR, a CQE or event says why, the others go on;
// resets leave nothing behind.
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

struct Two {
  sim::Qp *qa, *qb, *na, *nb;
  sim::Region *src, *dst;
  std::vector<uint8_t> data;
};

Two set_up(Bed& bed, const sim::ConnectOptions& o = {}) {
  Rng rng = test::rng("faults");
  auto [qa, qb] = bed.connect(o);
  auto [na, nb] = bed.connect();
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 65536);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 65536);
  return {qa, qb, na, nb, &src, &dst, fill(bed, bed.a, src, rng)};
}

void neighbour_works(Bed& bed, Two& t) {
  bed.a.host->write(*t.na, *t.src, 100, *t.dst, 40000, 5000);
  bed.expect(bed.b, *t.dst, 40000, {t.data.begin() + 100, t.data.begin() + 5100});
  CHECK(bed.a.host->wait_completion(*t.na).ok());
  bed.run_ns(2000);
  bed.check();
}

// All completions of a failed QP: those before `culprit` are good, though their ACKs were still on
// the way; it says why; those behind it are flushed.
void expect_error(Bed& bed, sim::Qp& q, uint32_t posted, uint32_t culprit, uint8_t status) {
  for (uint32_t i = 0; i < posted; ++i) {
    const driver::Completion c = bed.a.host->wait_completion(q, 500'000'000);
    INFO("completion " << i);
    const uint8_t want = i < culprit    ? uint8_t{RNIC_CQE_STATUS_SUCCESS}
                         : i == culprit ? status
                                        : uint8_t{RNIC_CQE_STATUS_WR_FLUSH_ERR};
    CHECK(std::string(driver::status_name(c.status)) == driver::status_name(want));
  }
  CHECK_FALSE(bed.a.host->poll(q));
  CHECK(bed.a.host->nic().query_qp(q.number()).state == RNIC_QP_STATE_ERR);
}

}  // namespace

TEST_CASE("a source that the IOMMU does not map fails its message with a local protection error") {
  Bed bed;
  Two t = set_up(bed);
  bed.watch();
  bed.a.node->iommu().unmap(t.src->iova + 8192, 4096);
  for (int i = 0; i < 4; ++i)
    bed.a.host->post_write(*t.qa, *t.src, 4096u * static_cast<uint32_t>(i), *t.dst, 0, 4096);
  // Messages before the hole land.
  bed.expect(bed.b, *t.dst, 0, {t.data.begin() + 4096, t.data.begin() + 8192});
  t.qa->qp->ring();
  expect_error(bed, *t.qa, 4, 2, RNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(bed.counter(bed.a, RNIC_CNT_DMA_PAGE_FAULT) >= 1);
  neighbour_works(bed, t);
}

TEST_CASE("a target that the IOMMU does not map takes the responder's QP to ERR with an event") {
  Bed bed;
  Two t = set_up(bed);
  bed.watch();
  bed.b.node->iommu().unmap(t.dst->iova, 4096);
  bed.a.host->write(*t.qa, *t.src, 0, *t.dst, 0, 512);
  const auto e = wait_cause(*bed.b.host);
  REQUIRE(e);
  CHECK(e->type == RNIC_EQE_TYPE_DMA_FAULT);
  CHECK(e->number == t.qb->number());
  CHECK(bed.b.host->nic().query_qp(t.qb->number()).state == RNIC_QP_STATE_ERR);
  CHECK(bed.counter(bed.b, RNIC_CNT_DMA_PAGE_FAULT) >= 1);
  neighbour_works(bed, t);
}

TEST_CASE("GPU memory is refused while peer-to-peer is off, as source and as target") {
  BedOptions o;
  o.gpu = true;
  o.host.peer_to_peer = false;
  Bed bed(o);
  Two t = set_up(bed);
  sim::Region& gpu_src = bed.a.host->region(sim::Place::kGpu, 4096);
  sim::Region& gpu_dst = bed.b.host->region(sim::Place::kGpu, 4096);
  auto [ga, gb] = bed.connect();
  bed.watch();
  bed.a.host->write(*t.qa, gpu_src, 0, *t.dst, 0, 512);
  expect_error(bed, *t.qa, 1, 0, RNIC_CQE_STATUS_LOC_PROT_ERR);
  CHECK(bed.counter(bed.a, RNIC_CNT_GDR_REFUSED) == 1);
  bed.a.host->write(*ga, *t.src, 0, gpu_dst, 0, 512);
  expect_error(bed, *ga, 1, 0, RNIC_CQE_STATUS_REM_OP_ERR);
  CHECK(bed.counter(bed.b, RNIC_CNT_TX_NAK_OP) == 1);
  CHECK(bed.counter(bed.b, RNIC_CNT_GDR_REFUSED) == 1);
  neighbour_works(bed, t);
}

TEST_CASE("a completion that never comes, or comes poisoned or as an error, fails its QP only") {
  struct Attempt {
    pcie::FaultKind kind;
    uint32_t counter;
    uint8_t status;
  };
  const Attempt attempts[] = {
      {pcie::FaultKind::kNeverComes, RNIC_CNT_DMA_TIMEOUTS, RNIC_CQE_STATUS_FATAL_ERR},
      {pcie::FaultKind::kPoison, RNIC_CNT_DMA_READ_ERRORS, RNIC_CQE_STATUS_FATAL_ERR},
      {pcie::FaultKind::kUnsupported, RNIC_CNT_DMA_PAGE_FAULT, RNIC_CQE_STATUS_LOC_PROT_ERR},
      {pcie::FaultKind::kCompleterAbort, RNIC_CNT_DMA_READ_ERRORS, RNIC_CQE_STATUS_LOC_PROT_ERR}};
  for (const Attempt& x : attempts) {
    INFO("fault " << pcie::to_string(x.kind));
    BedOptions o;
    o.host.dma_timeout_us = 20;
    Bed bed(o);
    Two t = set_up(bed);
    bed.watch();
    pcie::FaultRule rule;
    rule.kind = x.kind;
    rule.first_addr = t.src->iova + 10000;
    rule.last_addr = t.src->iova + 10001;
    rule.count = 1;
    const size_t handle = bed.a.node->fabric().add_fault(rule);
    bed.a.host->post_write(*t.qa, *t.src, 0, *t.dst, 0, 3000);
    bed.expect(bed.b, *t.dst, 0, {t.data.begin(), t.data.begin() + 3000});
    bed.a.host->post_write(*t.qa, *t.src, 9000, *t.dst, 8192, 3000);
    bed.a.host->post_write(*t.qa, *t.src, 20000, *t.dst, 16384, 3000);
    t.qa->qp->ring();
    expect_error(bed, *t.qa, 3, 1, x.status);
    CHECK(bed.a.node->fabric().fault_hits(handle) == 1);
    CHECK(bed.counter(bed.a, x.counter) >= 1);
    neighbour_works(bed, t);
  }
}

TEST_CASE("messages on the wire complete before the one behind them whose payload cannot be read") {
  // A long cable: the error is known long before the first ACK.
  for (const char* what : {"payload", "key", "half a message"}) {
    INFO(what);
    const std::string kind = what;
    BedOptions o;
    o.wire_delay_ps = 5'000'000;
    Bed bed(o);
    Two t = set_up(bed, {.mtu = 1024});
    bed.watch();
    constexpr uint32_t kGood = 6;
    for (uint32_t i = 0; i < kGood; ++i) {
      const uint32_t at = 3000 * i;
      bed.a.host->post_write(*t.qa, *t.src, at, *t.dst, at, 3000);
      bed.expect(bed.b, *t.dst, at, {t.data.begin() + at, t.data.begin() + at + 3000});
    }
    if (kind == "key") {
      sim::Region other = *t.src;
      other.key ^= 1;
      bed.a.host->post_write(*t.qa, other, 32768, *t.dst, 32768, 3000);
    } else {
      const bool half = kind == "half a message";  // its first packet is on the wire, too
      bed.a.node->iommu().unmap(t.src->iova + (half ? 36864 : 32768), 4096);
      bed.a.host->post_write(*t.qa, *t.src, half ? 35840 : 32768, *t.dst, 32768, 3000);
      if (half) bed.expect(bed.b, *t.dst, 32768, {t.data.begin() + 35840, t.data.begin() + 36864});
    }
    bed.a.host->post_write(*t.qa, *t.src, 100, *t.dst, 100, 3000);
    t.qa->qp->ring();
    bed.run_ns(4000);
    CHECK_FALSE(bed.a.host->poll(*t.qa));  // no ACK yet
    expect_error(bed, *t.qa, kGood + 2, kGood, RNIC_CQE_STATUS_LOC_PROT_ERR);
    CHECK(bed.counter(bed.a, RNIC_CNT_ACK_TIMEOUTS) == 0);
    neighbour_works(bed, t);
  }
}

TEST_CASE("a WQE that cannot be fetched takes its QP to ERR, and somebody hears of it") {
  BedOptions o;
  o.host.dma_timeout_us = 20;
  Bed bed(o);
  Two t = set_up(bed);
  bed.watch();
  pcie::FaultRule rule;
  rule.kind = pcie::FaultKind::kUnsupported;
  rule.first_addr = t.qa->qp->sq_addr();
  rule.last_addr = rule.first_addr + 63;
  rule.count = 1;
  bed.a.node->fabric().add_fault(rule);
  bed.a.host->write(*t.qa, *t.src, 0, *t.dst, 0, 512);
  bool heard = false;
  bed.world.run_while(
      [&] {
        if (auto c = bed.a.host->poll(*t.qa)) heard = heard || !c->ok();
        if (auto e = bed.a.host->events().poll()) heard = heard || e->number == t.qa->number();
        return !heard;
      },
      300'000'000, "a CQE or an event");
  CHECK(bed.a.host->nic().query_qp(t.qa->number()).state == RNIC_QP_STATE_ERR);
  neighbour_works(bed, t);
}

TEST_CASE("a completion queue that overflows loses the CQE, reports it and fails the QP") {
  Bed bed;
  Two t = set_up(bed, {.log_sq = 6, .log_cq = 2});
  bed.watch();
  for (int i = 0; i < 8; ++i) bed.a.host->post_write(*t.qa, *t.src, 0, *t.dst, 0, 16);
  bed.expect(bed.b, *t.dst, 0, {t.data.begin(), t.data.begin() + 16});
  t.qa->qp->ring();
  const auto e = bed.a.host->wait_event();
  REQUIRE(e);
  CHECK(e->type == RNIC_EQE_TYPE_CQ_OVERRUN);
  bed.run_ns(5000);
  CHECK(bed.counter(bed.a, RNIC_CNT_CQ_OVERRUN) >= 1);
  CHECK(bed.a.host->nic().query_qp(t.qa->number()).state == RNIC_QP_STATE_ERR);
  uint32_t got = 0;
  while (t.qa->cq->poll()) ++got;
  CHECK(got == 4);  // what fitted is there, whole
  neighbour_works(bed, t);
}

TEST_CASE("a device reset with DMA in flight leaves nothing behind, and the device works again") {
  for (uint64_t wait_ns : {0u, 150u, 400u, 1000u, 2500u}) {
    INFO("reset after " << wait_ns << " ns");
    BedOptions o;
    o.pcie = pcie::Config::gen5_x16();
    Bed bed(o);
    Two t = set_up(bed);
    for (int i = 0; i < 12; ++i) {
      bed.a.host->post_write(*t.qa, *t.src, 0, *t.dst, 4096, 16384);
      bed.a.host->post_write(*t.na, *t.src, 0, *t.dst, 24576, 16384);
      bed.b.host->post_write(*t.qb, *t.dst, 0, *t.src, 40000, 8000);
    }
    t.qa->qp->ring();
    t.na->qp->ring();
    t.qb->qp->ring();
    bed.run_ns(wait_ns);
    bed.a.host->nic().reset();
    bed.run_ns(3000);  // posted writes that the fabric holds
    CHECK(bed.a.node->port().dma().idle());
    // From here the device must not touch memory by itself.
    bed.a.memory->snapshot();
    bed.run_ns(20'000);
    if (auto d = bed.a.memory->compare()) FAIL_CHECK(d->to_string());
    // Both start again.
    bed.b.host->nic().reset();
    bed.run_ns(3000);
    bed.a.host->restart(2);
    bed.b.host->restart(1);
    Two u = set_up(bed);
    bed.watch();
    bed.a.host->write(*u.qa, *u.src, 3, *u.dst, 5, 10'000);
    bed.expect(bed.b, *u.dst, 5, {u.data.begin() + 3, u.data.begin() + 10'003});
    CHECK(bed.a.host->wait_completion(*u.qa).ok());
    // No frame of before has its end in one of these.
    CHECK(bed.counter(bed.a, RNIC_CNT_TX_UNDERRUNS) == 0);
    CHECK(bed.counter(bed.a, RNIC_CNT_TX_RESENT) == 0);
    neighbour_works(bed, u);
  }
}

TEST_CASE("a QP can be reset with work in flight and connected again") {
  Bed bed;
  Two t = set_up(bed, {.mtu = 1024});
  for (uint64_t wait_ns : {0u, 100u, 300u, 700u, 1500u}) {
    INFO("reset after " << wait_ns << " ns");
    for (int i = 0; i < 8; ++i) bed.a.host->post_write(*t.qa, *t.src, 0, *t.dst, 0, 8000);
    t.qa->qp->ring();
    bed.run_ns(wait_ns);
    bed.a.host->nic().modify_state(*t.qa->qp, RNIC_QP_STATE_RESET);
    bed.run_ns(5000);
    bed.b.host->nic().modify_state(*t.qb->qp, RNIC_QP_STATE_RESET);
    while (bed.a.host->poll(*t.qa)) {
    }
    t.qa->qp->reset_indices();
    sim::connect_pair(*bed.a.host, *t.qa, *bed.b.host, *t.qb,
                      {.mtu = 1024, .psn_a = 77, .psn_b = 99});
    bed.watch();
    bed.a.host->write(*t.qa, *t.src, 1, *t.dst, 20'000, 9000);
    bed.expect(bed.b, *t.dst, 20'000, {t.data.begin() + 1, t.data.begin() + 9001});
    CHECK(bed.a.host->wait_completion(*t.qa).ok());
    neighbour_works(bed, t);
  }
}

TEST_CASE("moving a QP to ERR flushes what is posted") {
  Bed bed;
  Two t = set_up(bed);
  bed.watch();
  bed.a.host->nic().modify_state(*t.qa->qp, RNIC_QP_STATE_ERR);
  for (int i = 0; i < 3; ++i) bed.a.host->post_write(*t.qa, *t.src, 0, *t.dst, 0, 100);
  t.qa->qp->ring();
  for (int i = 0; i < 3; ++i)
    CHECK(bed.a.host->wait_completion(*t.qa).status == RNIC_CQE_STATUS_WR_FLUSH_ERR);
  neighbour_works(bed, t);
}

TEST_CASE("a CQ that is armed reports its next completion once") {
  Bed bed;
  Two t = set_up(bed);
  bed.watch();
  uint32_t interrupts = 0;
  bed.a.host->nic().set_msix(0, 0xFEE00000, 0x41);
  bed.a.node->fabric().set_msix_callback([&](uint64_t, uint64_t addr, uint32_t data) {
    CHECK(addr == 0xFEE00000);
    CHECK(data == 0x41);
    ++interrupts;
  });
  t.qa->cq->update(true);
  bed.run_ns(1000);
  for (int i = 0; i < 2; ++i) {
    bed.a.host->write(*t.qa, *t.src, 0, *t.dst, 0, 100);
    CHECK(bed.a.host->wait_completion(*t.qa).ok());
  }
  bed.expect(bed.b, *t.dst, 0, {t.data.begin(), t.data.begin() + 100});
  const auto e = bed.a.host->wait_event();
  REQUIRE(e);
  CHECK(e->type == RNIC_EQE_TYPE_COMPLETION);
  CHECK(e->number == t.qa->cqn);
  bed.run_ns(2000);
  CHECK_FALSE(bed.a.host->events().poll());
  CHECK(interrupts == 1);
  neighbour_works(bed, t);
}

TEST_CASE(
    "payload that comes too late for a started frame spoils it: counted on both sides, not "
    "accepted, and sent again") {
  BedOptions o;
  o.host.tx_start_threshold = 128;
  o.check_wire = false;
  Bed bed(o);
  Two t = set_up(bed, {.mtu = 4096});
  bed.watch();
  // The read is cut at 4 KB pages: the second half of the packet comes from another TLP, late.
  pcie::FaultRule rule;
  rule.kind = pcie::FaultKind::kDelay;
  rule.first_addr = t.src->iova + 4096;
  rule.last_addr = rule.first_addr + 8;
  rule.delay_ps = 3'000'000;
  rule.count = 1;
  bed.a.node->fabric().add_fault(rule);
  bed.a.host->write(*t.qa, *t.src, 2048, *t.dst, 0, 4096);
  bed.run_ns(2'000);  // the frame is spoiled, its payload has not come yet
  CHECK(bed.counter(bed.a, RNIC_CNT_TX_UNDERRUNS) == 1);
  CHECK(bed.counter(bed.b, RNIC_CNT_RX_CRC_ERRORS) == 1);
  CHECK(bed.counter(bed.b, RNIC_CNT_RX_REQUESTS) == 0);
  CHECK(bed.tap.bad_frames() == 1);
  bed.check();
  bed.expect(bed.b, *t.dst, 0, {t.data.begin() + 2048, t.data.begin() + 6144});
  CHECK(bed.a.host->wait_completion(*t.qa).ok());
  CHECK(bed.counter(bed.a, RNIC_CNT_TX_SPOILED) == 1);
  CHECK(bed.counter(bed.a, RNIC_CNT_REWINDS) == 1);
  CHECK(bed.counter(bed.a, RNIC_CNT_ACK_TIMEOUTS) == 0);
  CHECK(bed.counter(bed.b, RNIC_CNT_RX_REQUESTS) == 1);
  CHECK(bed.tap.bad_frames() == 1);
  bed.check();
  // The transmit path is free again: another QP sends.
  neighbour_works(bed, t);
}
