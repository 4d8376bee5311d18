// SPDX-License-Identifier: Apache-2.0
// Lengths, offsets, rings, sequence numbers: memory compared in full after every batch.
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

struct Case {
  uint32_t len, src, dst;
};

// Posts all cases on one QP, each to a place of its own, waits, compares the whole memory.
void run_cases(Bed& bed, sim::Qp& qa, const std::vector<Case>& cases, uint32_t spacing, Rng& rng) {
  const uint64_t size = uint64_t{spacing} * cases.size() + 8192;
  sim::Region& src = bed.a.host->region(sim::Place::kHost, size);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, size);
  const std::vector<uint8_t> data = fill(bed, bed.a, src, rng);
  fill(bed, bed.b, dst, rng);
  bed.watch();
  uint32_t done = 0;
  const auto drain = [&](uint32_t until) {
    while (done < until) {
      const driver::Completion c = bed.a.host->wait_completion(qa);
      REQUIRE(c.ok());
      CHECK(c.byte_count == cases[done].len);
      ++done;
    }
  };
  for (uint32_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const uint64_t from = uint64_t{spacing} * i + c.src, to = uint64_t{spacing} * i + c.dst;
    if (qa.qp->free_blocks() == 0) drain(done + 1);
    bed.a.host->write(qa, src, from, dst, to, c.len);
    bed.expect(
        bed.b, dst, to,
        {data.begin() + static_cast<long>(from), data.begin() + static_cast<long>(from + c.len)});
  }
  drain(static_cast<uint32_t>(cases.size()));
  bed.run_ns(1000);
  bed.check();
}

}  // namespace

TEST_CASE(
    "WRITEs of every length around packets and beats land at every offset, and nothing else "
    "changes",
    "[short]") {
  Bed bed;
  Rng rng = test::rng("sweep");
  for (uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    INFO("mtu " << mtu);
    auto [qa, qb] = bed.connect({.mtu = mtu});
    std::vector<uint32_t> lengths = {0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130};
    for (uint32_t packets : {1u, 2u, 3u}) {
      for (int d : {-65, -64, -63, -4, -3, -2, -1, 0, 1, 2, 3, 4, 63, 64, 65})
        lengths.push_back(mtu * packets + static_cast<uint32_t>(d));
    }
    std::vector<Case> cases;
    for (uint32_t len : lengths) {
      for (int n = 0; n < 3; ++n)
        cases.push_back(
            {len, static_cast<uint32_t>(rng.below(131)), static_cast<uint32_t>(rng.below(131))});
    }
    run_cases(bed, *qa, cases, (3 * mtu + 512) / 64 * 64, rng);
  }
}

TEST_CASE("every pair of source and target offset 0..130 works around a packet border", "[.soak]") {
  Bed bed;
  Rng rng = test::rng("sweep.all");
  auto [qa, qb] = bed.connect({.mtu = 256});
  for (uint32_t len : {1u, 63u, 64u, 65u, 255u, 256u, 257u, 511u, 512u, 513u}) {
    INFO("length " << len);
    for (uint32_t src = 0; src <= 130; ++src) {
      std::vector<Case> cases;
      for (uint32_t dst = 0; dst <= 130; ++dst) cases.push_back({len, src, dst});
      run_cases(bed, *qa, cases, 1024, rng);
      // Regions are used up otherwise.
      if (src % 60 == 59) {
        bed.a.host->restart(2);
        bed.b.host->restart(1);
        std::tie(qa, qb) = bed.connect({.mtu = 256});
      }
    }
  }
}

TEST_CASE("the target lies across page borders and the gather list has up to six segments",
          "[short]") {
  Bed bed;
  Rng rng = test::rng("gather");
  auto [qa, qb] = bed.connect({.mtu = 1024});
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 64 << 10, 77);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 512 << 10, 3);
  const std::vector<uint8_t> data = fill(bed, bed.a, src, rng);
  bed.watch();
  uint64_t at = 4000;
  for (int n = 0; n < 40; ++n) {
    driver::WriteRequest w;
    std::vector<uint8_t> want;
    const auto segments = static_cast<uint32_t>(rng.between(1, 6));
    for (uint32_t i = 0; i < segments; ++i) {
      const auto len = static_cast<uint32_t>(rng.chance(0.1)   ? 0
                                             : rng.chance(0.5) ? rng.between(1, 80)
                                                               : rng.between(1, 3000));
      const uint64_t off = rng.below(src.size - len);
      w.local.push_back({src.key, len, src.va + off});
      want.insert(want.end(), data.begin() + static_cast<long>(off),
                  data.begin() + static_cast<long>(off + len));
    }
    w.remote_va = dst.va + at;
    w.rkey = dst.key;
    w.long_form = rng.chance(0.3);
    qa->qp->post_write(w);
    qa->qp->ring();
    bed.expect(bed.b, dst, at, want);
    at += want.size() + rng.below(5);
    INFO("message " << n << ", " << segments << " segments, " << want.size() << " bytes");
    const driver::Completion c = bed.a.host->wait_completion(*qa);
    REQUIRE(c.ok());
    CHECK(c.byte_count == want.size());
  }
  bed.run_ns(1000);
  bed.check();
}

TEST_CASE(
    "send rings of every size wrap at every position, with WQEs of one block, two, and long inline "
    "data") {
  Bed bed;
  Rng rng = test::rng("wrap");
  for (uint32_t log_sq : {1u, 2u, 3u, 5u}) {
    INFO("ring of " << (1u << log_sq) << " blocks");
    auto [qa, qb] = bed.connect({.mtu = 512, .log_sq = log_sq, .log_cq = 8});
    const uint32_t blocks = 1u << log_sq;
    sim::Region& src = bed.a.host->region(sim::Place::kHost, 8192);
    sim::Region& dst = bed.b.host->region(sim::Place::kHost, 256 << 10);
    const std::vector<uint8_t> data = fill(bed, bed.a, src, rng);
    bed.watch();
    uint64_t at = 0;
    uint32_t flying = 0;
    const auto one_done = [&] {
      const driver::Completion c = bed.a.host->wait_completion(*qa);
      REQUIRE(c.ok());
      --flying;
    };
    for (int n = 0; n < 90; ++n) {
      driver::WriteRequest w;
      std::vector<uint8_t> want;
      uint32_t need = 1;
      if (blocks >= 2 && rng.chance(0.5))
        need = static_cast<uint32_t>(rng.between(1, std::min(blocks, 8u)));
      if (need == 1 || (need == 2 && rng.chance(0.5))) {
        const auto len = static_cast<uint32_t>(rng.between(0, 1300));
        const uint64_t off = rng.below(src.size - len);
        w.local = {{src.key, len, src.va + off}};
        w.long_form = need == 2;
        want.assign(data.begin() + static_cast<long>(off),
                    data.begin() + static_cast<long>(off + len));
      } else {
        w.use_inline = true;
        w.inline_data = want = rng.bytes(rng.between(64 * (need - 1) - 31, 64 * need - 32));
      }
      w.remote_va = dst.va + at;
      w.rkey = dst.key;
      if (qa->qp->free_blocks() < need) qa->qp->ring();
      while (qa->qp->free_blocks() < need) one_done();
      qa->qp->post_write(w);
      ++flying;
      if (rng.chance(0.6)) qa->qp->ring();
      bed.expect(bed.b, dst, at, want);
      at += want.size() + rng.below(3);
    }
    qa->qp->ring();
    while (flying > 0) one_done();
    bed.run_ns(1000);
    bed.check();
  }
}

TEST_CASE("a WQE of every length begins at every position of the send ring") {
  Bed bed;
  Rng rng = test::rng("positions");
  constexpr uint32_t kLog = 3, kBlocks = 1u << kLog;
  auto [qa, qb] = bed.connect({.mtu = 256, .log_sq = kLog});
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 4096);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 256 << 10);
  const std::vector<uint8_t> data = fill(bed, bed.a, src, rng);
  bed.watch();
  uint64_t at = 0;
  // Blocks, the 128 B form or inline data that run on; one message at a time.
  const auto message = [&](uint32_t blocks, bool inlined) {
    driver::WriteRequest w;
    std::vector<uint8_t> want;
    if (inlined) {
      w.use_inline = true;
      w.inline_data = want = rng.bytes(64 * blocks - 32 - rng.below(blocks == 1 ? 32 : 63));
    } else {
      const auto len = static_cast<uint32_t>(rng.between(1, 300));
      const uint64_t off = rng.below(src.size - len);
      w.local = {{src.key, len, src.va + off}};
      w.long_form = blocks == 2;
      want.assign(data.begin() + static_cast<long>(off),
                  data.begin() + static_cast<long>(off + len));
    }
    w.remote_va = dst.va + at;
    w.rkey = dst.key;
    const uint16_t index = qa->qp->post_write(w);
    qa->qp->ring();
    bed.expect(bed.b, dst, at, want);
    at += want.size();
    const driver::Completion c = bed.a.host->wait_completion(*qa);
    REQUIRE(c.ok());
    CHECK(c.wqe_index == index);
    CHECK(c.byte_count == want.size());
  };
  uint32_t next = 0;  // block index, as the ring counts
  for (uint32_t position = 0; position < kBlocks; ++position) {
    for (uint32_t blocks = 1; blocks <= kBlocks; ++blocks) {
      for (bool inlined : {false, true}) {
        if (!inlined && blocks > 2) continue;
        INFO(blocks << " blocks at position " << position << (inlined ? ", inline" : ""));
        for (; next % kBlocks != position; ++next) message(1, true);
        message(blocks, inlined);
        next += blocks;
      }
    }
  }
  bed.run_ns(1000);
  bed.check();
}

TEST_CASE("the indices of a send ring pass 65535") {
  Bed bed;
  Rng rng = test::rng("indices");
  auto [qa, qb] = bed.connect({.mtu = 4096, .log_sq = 8, .log_cq = 6});
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 8 * 4096);
  bed.watch();
  // 64 blocks each: 1024 messages go once around.
  constexpr uint32_t kMessages = 1100;
  uint32_t posted = 0;
  for (uint32_t done = 0; done < kMessages; ++done) {
    for (; posted < kMessages && qa->qp->free_blocks() >= 64; ++posted) {
      const uint64_t at = posted % 8 * 4096;
      driver::WriteRequest w;
      w.use_inline = true;
      w.inline_data = rng.bytes(4064 - rng.below(63));
      w.remote_va = dst.va + at;
      w.rkey = dst.key;
      REQUIRE(qa->qp->post_write(w) == static_cast<uint16_t>(64 * posted));
      qa->qp->ring();
      bed.expect(bed.b, dst, at, w.inline_data);
    }
    const driver::Completion c = bed.a.host->wait_completion(*qa);
    REQUIRE(c.ok());
    REQUIRE(c.wqe_index == static_cast<uint16_t>(64 * done));
  }
  const driver::QpInfo info = bed.a.host->nic().query_qp(qa->number());
  CHECK(info.sq_prod == static_cast<uint16_t>(64 * kMessages));
  CHECK(info.sq_fetch == info.sq_prod);
  bed.run_ns(1000);
  bed.check();
}

TEST_CASE("the indices of completion and receive rings pass 65535", "[.soak]") {
  Bed bed;
  Rng rng = test::rng("many");
  auto [qa, qb] = bed.connect({.mtu = 1024, .log_sq = 8, .log_rq = 8, .log_cq = 9});
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 4096);
  bed.watch();
  constexpr uint32_t kMessages = 66'000;
  uint32_t posted = 0, done = 0;
  for (uint32_t received = 0; received < kMessages; ++received) {
    if (posted == received) {
      const uint32_t n = std::min(200u, kMessages - posted);
      qb->qp->post_receives(n);
      for (; done < posted; ++done) REQUIRE(bed.a.host->wait_completion(*qa).ok());
      for (uint32_t i = 0; i < n; ++i, ++posted) {
        driver::WriteRequest w;
        w.use_inline = true;
        w.inline_data = rng.bytes(8);
        w.remote_va = dst.va + posted % 500 * 8;
        w.rkey = dst.key;
        w.imm = posted;
        qa->qp->post_write(w);
        bed.expect(bed.b, dst, posted % 500 * 8, w.inline_data);
      }
      qa->qp->ring();
    }
    const driver::Completion c = bed.b.host->wait_received(*qb);
    REQUIRE(c.ok());
    REQUIRE(c.imm.value_or(0) == received);
  }
  for (; done < posted; ++done) REQUIRE(bed.a.host->wait_completion(*qa).ok());
  CHECK(bed.b.host->nic().query_qp(qb->number()).rq_cons == static_cast<uint16_t>(kMessages));
  bed.run_ns(1000);
  bed.check();
}

TEST_CASE("completion and receive rings wrap at every position with bursts of every length") {
  Bed bed;
  Rng rng = test::rng("cq wrap");
  // Both CQs have 8 entries, the receive queue 4 WQEs.
  auto [qa, qb] = bed.connect({.mtu = 1024, .log_sq = 4, .log_rq = 2, .log_cq = 3});
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 4096);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 64 << 10);
  const std::vector<uint8_t> data = fill(bed, bed.a, src, rng);
  bed.watch();
  std::vector<std::vector<uint8_t>> begun(8, std::vector<uint8_t>(5));  // position, length
  uint32_t position = 0, left = 8 * 4, n = 0;
  uint64_t at = 0;
  while (left != 0) {
    uint32_t burst = 1;  // one that is still missing here, else one step on
    for (uint32_t k = 1; k <= 4; ++k) {
      if (begun[position][k] == 0) burst = k;
    }
    left -= begun[position][burst]++ == 0;
    INFO("burst of " << burst << " at position " << position);
    qb->qp->post_receives(burst);
    bed.run_ns(300);
    for (uint32_t i = 0; i < burst; ++i) {
      const auto len = static_cast<uint32_t>(rng.between(1, 100));
      driver::WriteRequest w;
      w.local = {{src.key, len, src.va + n}};
      w.remote_va = dst.va + at;
      w.rkey = dst.key;
      w.imm = 0x1000 + n + i;
      qa->qp->post_write(w);
      bed.expect(bed.b, dst, at,
                 {data.begin() + static_cast<long>(n), data.begin() + static_cast<long>(n + len)});
      at += len;
    }
    qa->qp->ring();
    for (uint32_t i = 0; i < burst; ++i) {
      REQUIRE(bed.a.host->wait_completion(*qa).ok());
      const driver::Completion c = bed.b.host->wait_received(*qb);
      REQUIRE(c.ok());
      CHECK(c.imm.value_or(0) == 0x1000 + n + i);
    }
    CHECK_FALSE(bed.a.host->poll(*qa));
    n += burst;
    position = (position + burst) % 8;
  }
  bed.run_ns(1000);
  CHECK_FALSE(bed.a.host->poll(*qa));
  CHECK_FALSE(bed.b.host->poll(*qb));
  CHECK(bed.counter(bed.a, RNIC_CNT_CQ_OVERRUN) + bed.counter(bed.b, RNIC_CNT_CQ_OVERRUN) == 0);
  bed.check();
}

TEST_CASE("sequence numbers pass 0xFFFFFF inside a message and between messages") {
  Bed bed;
  Rng rng = test::rng("psn");
  for (uint32_t before : {0u, 1u, 2u, 3u, 7u}) {
    INFO("first PSN " << before << " before the end");
    auto [qa, qb] = bed.connect({.mtu = 256, .psn_a = 0xFFFFFF - before, .psn_b = 0xFFFFFF});
    run_cases(bed, *qa, {{1000, 0, 0}, {1, 5, 7}, {700, 1, 64}, {0, 0, 0}, {256, 3, 3}}, 2048, rng);
    const driver::QpInfo info = bed.a.host->nic().query_qp(qa->number());
    CHECK(info.next_psn == ((0xFFFFFF - before + 4 + 1 + 3 + 1 + 1) & 0xFFFFFF));
    CHECK(info.una_psn == info.next_psn);
    CHECK(bed.b.host->nic().query_qp(qb->number()).msn == 5);
  }
}

TEST_CASE("both directions of one QP run at once") {
  Bed bed;
  Rng rng = test::rng("both");
  auto [qa, qb] = bed.connect({.mtu = 1024});
  sim::Region& ra = bed.a.host->region(sim::Place::kHost, 128 << 10);
  sim::Region& rb = bed.b.host->region(sim::Place::kHost, 128 << 10);
  const std::vector<uint8_t> da = fill(bed, bed.a, ra, rng), db = fill(bed, bed.b, rb, rng);
  bed.watch();
  for (uint64_t i = 0; i < 16; ++i) {
    const uint64_t at = i * 4096;
    const auto len = static_cast<uint32_t>(rng.between(1, 4000));
    bed.a.host->write(*qa, ra, at, rb, (64 << 10) + at, len);
    bed.expect(bed.b, rb, (64 << 10) + at,
               {da.begin() + static_cast<long>(at), da.begin() + static_cast<long>(at + len)});
    bed.b.host->write(*qb, rb, at, ra, (64 << 10) + at, len);
    bed.expect(bed.a, ra, (64 << 10) + at,
               {db.begin() + static_cast<long>(at), db.begin() + static_cast<long>(at + len)});
  }
  for (int i = 0; i < 16; ++i) {
    REQUIRE(bed.a.host->wait_completion(*qa).ok());
    REQUIRE(bed.b.host->wait_completion(*qb).ok());
  }
  bed.run_ns(1000);
  bed.check();
}
