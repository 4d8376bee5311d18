// SPDX-License-Identifier: Apache-2.0
// Requests that must fail: the right NAK, CQE and counter, memory as it was, and the others go on.
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

struct Trial {
  Bed& bed;
  sim::Qp *qa, *qb;  // the one that fails
  sim::Qp *na, *nb;  // a neighbour that must not notice
  sim::Region *src, *dst;
  std::vector<uint8_t> data;
};

Trial set_up(Bed& bed, const sim::ConnectOptions& o = {}) {
  Rng rng = test::rng("errors");
  auto [qa, qb] = bed.connect(o);
  auto [na, nb] = bed.connect();
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 16384);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 16384);
  Trial t{bed, qa, qb, na, nb, &src, &dst, fill(bed, bed.a, src, rng)};
  return t;
}

void post(Trial& t, const std::vector<driver::Segment>& local, uint64_t va, uint32_t rkey) {
  driver::WriteRequest w;
  w.local = local;
  w.remote_va = va;
  w.rkey = rkey;
  t.qa->qp->post_write(w);
}

// The first WQE ends with `status`, the one behind it is flushed, the QP is in ERR, the neighbour
// works.
void expect_failure(Trial& t, uint8_t status) {
  post(t, {{t.src->key, 64, t.src->va}}, t.dst->va, t.dst->key);
  t.qa->qp->ring();
  const driver::Completion first = t.bed.a.host->wait_completion(*t.qa);
  CHECK(std::string(driver::status_name(first.status)) == driver::status_name(status));
  const driver::Completion second = t.bed.a.host->wait_completion(*t.qa);
  CHECK(std::string(driver::status_name(second.status)) == "WR_FLUSH_ERR");
  const driver::QpInfo info = t.bed.a.host->nic().query_qp(t.qa->number());
  CHECK(info.state == RNIC_QP_STATE_ERR);
  CHECK(info.err_cause == status);
  // What is posted to a QP in ERR is flushed as well.
  post(t, {{t.src->key, 64, t.src->va}}, t.dst->va, t.dst->key);
  t.qa->qp->ring();
  CHECK(t.bed.a.host->wait_completion(*t.qa).status == RNIC_CQE_STATUS_WR_FLUSH_ERR);

  t.bed.a.host->write(*t.na, *t.src, 0, *t.dst, 8192, 3000);
  t.bed.expect(t.bed.b, *t.dst, 8192, {t.data.begin(), t.data.begin() + 3000});
  CHECK(t.bed.a.host->wait_completion(*t.na).ok());
  t.bed.run_ns(1000);
  t.bed.check();
}

// Nothing lands in a region of 64 KB any more. True if some of it was written and its end was not:
// then this was asked in mid-message.
bool stands_still_halfway(Bed& bed, sim::Region& region) {
  std::vector<uint8_t> left(65536), later(65536);
  region.buffer.read(0, left.data(), left.size());
  bed.run_ns(5000);
  region.buffer.read(0, later.data(), later.size());
  CHECK((left == later));
  const auto zero = [](uint8_t b) { return b == 0; };
  return !std::all_of(left.begin(), left.end(), zero) &&
         std::all_of(left.end() - 1024, left.end(), zero);
}

}  // namespace

TEST_CASE(
    "an access that the target's memory region does not allow is refused with a remote access "
    "NAK") {
  struct Attempt {
    const char* what;
    uint32_t size;
    int64_t offset;       // from the region's first byte
    uint32_t key_change;  // xor
    bool no_permission, other_pd;
  };
  const Attempt attempts[] = {
      {"a key with another tag", 64, 0, 1, false, false},
      {"a key that does not exist", 64, 0, 200u << 8, false, false},
      {"a key beyond the table", 64, 0, 0x700000u << 8, false, false},
      {"one byte before the region", 64, -1, 0, false, false},
      {"one byte behind the region", 64, 16384 - 63, 0, false, false},
      {"a long message whose end is outside", 5000, 16384 - 4999, 0, false, false},
      {"no permission to write", 64, 0, 0, true, false},
      {"another protection domain", 64, 0, 0, false, true},
  };
  for (const Attempt& x : attempts) {
    INFO(x.what);
    Bed bed;
    Trial t = set_up(bed);
    sim::Region* target = t.dst;
    if (x.no_permission) {
      driver::MrRequest mr;
      mr.remote_write = false;
      target = &bed.b.host->region(sim::Place::kHost, 16384, 0, mr);
    }
    if (x.other_pd) {
      bed.b.host->nic().create_pd(2);
      driver::MrRequest mr;
      mr.pd = 2;
      target = &bed.b.host->region(sim::Place::kHost, 16384, 0, mr);
    }
    bed.watch();
    post(t, {{t.src->key, x.size, t.src->va}}, target->va + static_cast<uint64_t>(x.offset),
         target->key ^ x.key_change);
    expect_failure(t, RNIC_CQE_STATUS_REM_ACCESS_ERR);
    CHECK(bed.counter(bed.b, RNIC_CNT_TX_NAK_ACCESS) == 1);
    CHECK(bed.counter(bed.b, RNIC_CNT_MR_ERRORS) >=
          1);  // packets behind the refused one are looked at as well
    CHECK(bed.counter(bed.a, RNIC_CNT_RX_NAK) == 1);
    CHECK(bed.b.host->nic().query_qp(t.qb->number()).state == RNIC_QP_STATE_ERR);
    const auto e = wait_cause(*bed.b.host);
    REQUIRE(e);
    CHECK(e->type == RNIC_EQE_TYPE_QP_ACCESS_ERR);
    CHECK(e->number == t.qb->number());
  }
}

TEST_CASE("a QP that does not allow WRITE answers with NAK invalid request") {
  Bed bed;
  sim::ConnectOptions o;
  o.attributes.remote_write = false;
  Trial t = set_up(bed, o);
  bed.watch();
  post(t, {{t.src->key, 64, t.src->va}}, t.dst->va, t.dst->key);
  expect_failure(t, RNIC_CQE_STATUS_REM_INV_REQ_ERR);
  CHECK(bed.counter(bed.b, RNIC_CNT_TX_NAK_INV) == 1);
}

TEST_CASE("a local access that is not allowed fails before anything of it is on the wire") {
  struct Attempt {
    const char* what;
    std::vector<driver::Segment> (*local)(const sim::Region&);
  };
  const Attempt attempts[] = {
      {"a wrong L_Key",
       [](const sim::Region& r) {
         return std::vector<driver::Segment>{{r.key ^ 1, 64, r.va}};
       }},
      {"a source that ends outside its region",
       [](const sim::Region& r) {
         return std::vector<driver::Segment>{{r.key, 64, r.va + r.size - 63}};
       }},
      {"a second segment that is wrong",
       [](const sim::Region& r) {
         return std::vector<driver::Segment>{{r.key, 64, r.va}, {r.key + 0x5000, 64, r.va}};
       }},
  };
  for (const Attempt& x : attempts) {
    INFO(x.what);
    Bed bed;
    Trial t = set_up(bed);
    bed.watch();
    post(t, x.local(*t.src), t.dst->va, t.dst->key);
    expect_failure(t, RNIC_CQE_STATUS_LOC_PROT_ERR);
    CHECK(bed.counter(bed.a, RNIC_CNT_MR_ERRORS) == 1);
    CHECK(bed.counter(bed.b, RNIC_CNT_RX_REQUESTS) == 1);  // the neighbour's only
  }
}

TEST_CASE("operations that this NIC does not know, and WQEs that make no sense, fail locally") {
  struct Attempt {
    const char* what;
    void (*spoil)(uint8_t* wqe);
    uint8_t status;
  };
  const Attempt attempts[] = {
      {"an ATOMIC whose result has 64 bytes",
       [](uint8_t* w) { rnic_wqe_set_opcode(w, RNIC_WQE_OPCODE_FETCH_ADD); },
       RNIC_CQE_STATUS_LOC_LEN_ERR},
      {"an opcode that does not exist", [](uint8_t* w) { rnic_wqe_set_opcode(w, 0x77); },
       RNIC_CQE_STATUS_LOC_QP_OP_ERR},
      {"more than 2^31 bytes", [](uint8_t* w) { rnic_data_seg_set_len(w + 32, 0x80000001u); },
       RNIC_CQE_STATUS_LOC_LEN_ERR},
  };
  for (const Attempt& x : attempts) {
    INFO(x.what);
    Bed bed;
    Trial t = set_up(bed);
    bed.watch();
    std::vector<uint8_t> w(64);
    rnic_wqe_set_opcode(w.data(), RNIC_WQE_OPCODE_WRITE);
    rnic_wqe_set_signaled(w.data(), 1);
    rnic_wqe_set_seg_cnt(w.data(), 1);
    rnic_wqe_set_remote_va(w.data(), t.dst->va);
    rnic_wqe_set_rkey(w.data(), t.dst->key);
    rnic_data_seg_set_lkey(w.data() + 32, t.src->key);
    rnic_data_seg_set_len(w.data() + 32, 64);
    rnic_data_seg_set_va(w.data() + 32, t.src->va);
    x.spoil(w.data());
    t.qa->qp->post_raw(w);
    expect_failure(t, x.status);
    CHECK(bed.counter(bed.b, RNIC_CNT_RX_REQUESTS) == 1);
  }
}

TEST_CASE("a packet for a QP that does not exist is dropped and counted") {
  Bed bed;
  Trial t = set_up(bed);
  sim::Qp& lonely = bed.a.host->create_qp();
  driver::ConnectRequest r;
  r.dest_qpn = 200;
  bed.a.host->nic().connect(*lonely.qp, r);
  bed.watch();
  bed.a.host->write(lonely, *t.src, 0, *t.dst, 0, 64);
  bed.run_ns(3000);
  CHECK(bed.counter(bed.b, RNIC_CNT_RX_UNKNOWN_QP) == 1);
  CHECK(bed.counter(bed.b, RNIC_CNT_TX_FRAMES) == 0);
  CHECK_FALSE(bed.a.host->poll(lonely));
  bed.check();
}

TEST_CASE("doorbells to QPs that do not exist, or too far ahead, are refused and counted") {
  Bed bed;
  Trial t = set_up(bed);
  bed.watch();
  auto& bus = bed.a.host->bus();
  const uint32_t stride = bed.a.host->nic().capabilities().page_stride;
  bus.write32(driver::Bar::kDoorbell, 250 * stride + RNIC_PAGE_TX_WQE_PROD, 1);
  bus.write32(driver::Bar::kDoorbell, t.qa->qp->page_addr() + RNIC_PAGE_TX_WQE_PROD, 257);
  bed.run_ns(2000);
  CHECK(bed.counter(bed.a, RNIC_CNT_DOORBELL_REFUSED) == 2);
  // The QP still works.
  bed.a.host->write(*t.qa, *t.src, 0, *t.dst, 0, 100);
  bed.expect(bed.b, *t.dst, 0, {t.data.begin(), t.data.begin() + 100});
  CHECK(bed.a.host->wait_completion(*t.qa).ok());
  bed.run_ns(1000);
  bed.check();
}

TEST_CASE("commands that are wrong change nothing and say why") {
  Bed bed;
  auto& nic = bed.a.host->nic();
  auto [qa, qb] = bed.connect();
  const auto refused = [&](auto f, const char* status) {
    try {
      f();
      FAIL_CHECK("not refused");
    } catch (const driver::Error& e) {
      CHECK(std::string(e.what()).find(status) != std::string::npos);
      INFO(e.what());
    }
  };
  refused([&] { nic.create_pd(1); }, "IN_USE");
  refused([&] { nic.create_pd(5000); }, "BAD_INDEX");
  refused([&] { nic.destroy(RNIC_CMD_OPCODE_DESTROY_PD, 1, "DESTROY_PD"); }, "IN_USE");
  refused([&] { nic.destroy(RNIC_CMD_OPCODE_DESTROY_CQ, qa->cqn, "DESTROY_CQ"); }, "IN_USE");
  refused([&] { nic.query_qp(99); }, "NOT_FOUND");
  refused([&] { nic.connect(*qa->qp, {}); }, "BAD_TRANSITION");
  CHECK(bed.counter(bed.a, RNIC_CNT_CMD_ERRORS) == 6);
  CHECK(nic.query_qp(qa->number()).state == RNIC_QP_STATE_RTS);
}

// Memory that a command took away from the NIC belongs to software as soon as it has answered, even
// while the bus is slow and WRITEs are coming in.
TEST_CASE("memory is left alone when DESTROY_MR or a RESET of its QP has answered") {
  BedOptions o;
  o.stalls.w = o.stalls.aw = 235;
  Bed bed(o);
  Rng rng = test::rng("taken away");
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 65536);
  fill(bed, bed.a, src, rng);
  auto& nic = bed.b.host->nic();
  int landed = 0;
  for (int round = 0; round < 16; ++round) {
    INFO("round " << round);
    sim::Region& dst = bed.b.host->region(sim::Place::kHost, 65536);
    auto [qa, qb] = bed.connect({.mtu = 1024});
    bed.a.host->write(*qa, src, 0, dst, 0, 65536);
    bed.run_ns(1500 + rng.below(3000));
    if (round % 2 == 0) {
      nic.destroy(RNIC_CMD_OPCODE_DESTROY_MR, dst.key >> 8, "DESTROY_MR");
    } else {
      nic.modify_state(*qb->qp, RNIC_QP_STATE_RESET);
    }
    landed += stands_still_halfway(bed, dst);
  }
  CHECK(landed >= 8);  // the command came in mid-message
}

// WRITEs of a peer into a region, READ data of its own into it: after the completion of a LOCAL_INV
// on another QP nothing of either lands any more.
TEST_CASE("memory is left alone when a LOCAL_INV has completed") {
  BedOptions o;
  o.stalls.w = o.stalls.aw = 235;
  Bed bed(o);
  Rng rng = test::rng("invalidated");
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 65536);
  sim::Region& far = bed.b.host->region(sim::Place::kHost, 65536);
  fill(bed, bed.a, src, rng);
  fill(bed, bed.b, far, rng);
  auto [control_a, control_b] = bed.connect({.mtu = 1024});
  int landed = 0;
  for (int round = 0; round < 16; ++round) {
    INFO("round " << round);
    const bool read = round % 2 == 1;
    Side& side = read ? bed.a : bed.b;  // where the bytes land
    sim::Qp& control = read ? *control_a : *control_b;
    sim::Region& dst = side.host->region(sim::Place::kHost, 65536);
    auto [qa, qb] = bed.connect({.mtu = 1024});
    if (read) {
      driver::WorkRequest r;
      r.opcode = RNIC_WQE_OPCODE_READ;
      r.local = {{dst.key, 65536, dst.va}};
      r.remote_va = far.va;
      r.rkey = far.key;
      qa->qp->post(r);
      qa->qp->ring();
    } else {
      bed.a.host->write(*qa, src, 0, dst, 0, 65536);
    }
    bed.run_ns(1500 + rng.below(3000));
    driver::WorkRequest inv;
    inv.opcode = RNIC_WQE_OPCODE_LOCAL_INV;
    inv.inv_key = dst.key;
    inv.signaled = true;
    control.qp->post(inv);
    control.qp->ring();
    CHECK(side.host->wait_completion(control).ok());
    landed += stands_still_halfway(bed, dst);
  }
  CHECK(landed >= 8);  // it came in mid-message
}
