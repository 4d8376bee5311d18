// SPDX-License-Identifier: Apache-2.0
// What the hardware says of itself, read through BAR2, is what its pins showed.
#include "sim/run/recorder.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {
using Key = std::tuple<uint64_t, uint8_t, uint32_t, uint32_t>;
}

TEST_CASE("the trace ring holds the events of the trace bus with their cycles", "[short]") {
  Bed bed;
  Rng rng = test::rng("trace");
  auto [qa, qb] = bed.connect({.mtu = 1024});
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 8192);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 8192);
  fill(bed, bed.a, src, rng);
  sim::Recorder ra, rb;
  bed.a.node->nic().set_trace(&ra);
  bed.b.node->nic().set_trace(&rb);
  bed.a.host->nic().start_trace({});
  bed.b.host->nic().start_trace({});
  bed.run_ns(500);
  ra.start();
  rb.start();
  bed.a.host->write(*qa, src, 0, dst, 0, 5000);
  bed.run_ns(5000);
  ra.stop();
  rb.stop();
  for (auto* side : {&bed.a, &bed.b}) {
    side->host->nic().stop_trace();
    CHECK(side->host->nic().trace_lost() == 0);
    const std::vector<driver::TraceRecord> ring = side->host->nic().read_trace();
    std::vector<Key> got, want;
    REQUIRE(!ring.empty());
    uint64_t first = ~0ull;
    for (const auto& e : ring) first = std::min(first, e.timestamp);
    for (const auto& e : ring) got.emplace_back(e.timestamp - first, e.event, e.qpn, e.info);
    first = ~0ull;
    const sim::Recorder& r = side == &bed.a ? ra : rb;
    for (const auto& e : r.events()) {
      if (e.event < sim::kMacTxFirst) first = std::min(first, e.cycle);
    }
    for (const auto& e : r.events()) {
      if (e.event < sim::kMacTxFirst) want.emplace_back(e.cycle - first, e.event, e.qpn, e.info);
    }
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    CHECK(got.size() == want.size());
    CHECK(got == want);
  }
  CHECK(bed.a.host->wait_completion(*qa).ok());
}

TEST_CASE("only the sampled WQE is traced, from doorbell to completion") {
  Bed bed;
  Rng rng = test::rng("sampled");
  auto [qa, qb] = bed.connect();
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 4096);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 4096);
  fill(bed, bed.a, src, rng);
  // The sampled bit of the WQE alone decides: no WQE is picked by the hardware.
  bed.a.host->nic().start_trace({.all = false, .one_qp = true, .qpn = 0xFFFFFF});
  uint16_t sampled = 0;
  for (int i = 0; i < 4; ++i) {
    driver::WriteRequest w;
    w.local = {{src.key, 100, src.va}};
    w.remote_va = dst.va;
    w.rkey = dst.key;
    w.sampled = i == 2;
    const uint16_t index = qa->qp->post_write(w);
    if (w.sampled) sampled = index;
  }
  qa->qp->ring();
  for (int i = 0; i < 4; ++i) CHECK(bed.a.host->wait_completion(*qa).ok());
  bed.a.host->nic().stop_trace();
  const auto ring = bed.a.host->nic().read_trace();
  CHECK(ring.size() >= 6);
  bool ready = false, complete = false;
  const uint32_t psn = (qa->sq_psn + 2) & 0xFFFFFF;
  for (const auto& e : ring) {
    INFO("event " << int{e.event} << " info " << e.info);
    CHECK(e.qpn == qa->number());
    if (e.event == sim::kTrcWqeReady) {
      CHECK(e.info == sampled);
      ready = true;
    }
    if (e.event == sim::kTrcTxStart || e.event == sim::kTrcTxCdc) CHECK(e.info == psn);
    if (e.event == sim::kTrcComplete) {
      CHECK(e.info == sampled);
      complete = true;
    }
  }
  CHECK(ready);
  CHECK(complete);
}

TEST_CASE("busy and stalled cycles of every border in BAR2 are those of the pins") {
  BedOptions o;
  o.stalls.w = o.stalls.r = o.stalls.ar = o.stalls.aw = 60;
  Bed bed(o);
  Rng rng = test::rng("borders");
  auto [qa, qb] = bed.connect({.mtu = 1024});
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 65536);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 65536);
  fill(bed, bed.a, src, rng);
  bed.run_ns(1000);
  std::vector<driver::BorderCycles> before;
  const uint32_t n = bed.a.node->nic().info().borders;
  for (uint32_t i = 0; i < n; ++i) before.push_back(bed.a.host->nic().border(i));
  bed.run_ns(1000);
  bed.a.node->nic().count_borders(true);
  const auto pins_before = bed.a.node->nic().borders();
  for (int i = 0; i < 4; ++i) bed.a.host->write(*qa, src, 0, dst, 0, 16384);
  for (int i = 0; i < 4; ++i) CHECK(bed.a.host->wait_completion(*qa).ok());
  bed.run_ns(2000);
  bed.a.node->nic().count_borders(false);
  const auto pins = bed.a.node->nic().borders();
  uint64_t all = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const driver::BorderCycles b = bed.a.host->nic().border(i);
    INFO("border " << i);
    CHECK(b.busy - before[i].busy == pins[i].busy - pins_before[i].busy);
    CHECK(b.stalled - before[i].stalled == pins[i].stalled - pins_before[i].stalled);
    all += pins[i].busy - pins_before[i].busy;
  }
  CHECK(all > 1000);
}

TEST_CASE("counters agree with what was sent, received and written") {
  Bed bed;
  Rng rng = test::rng("counters");
  auto [qa, qb] = bed.connect({.mtu = 1024});
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 65536);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 65536);
  fill(bed, bed.a, src, rng);
  uint64_t frame_bytes[2] = {0, 0}, frames[2] = {0, 0};
  bed.tap.on_frame = [&](const wire::FrameInfo& f, const roce::ViolationList&) {
    frame_bytes[f.direction] += f.bytes.size() - (f.has_fcs ? 4 : 0);
    ++frames[f.direction];
    roce::FrameView v;
    REQUIRE(roce::parse_frame(f.bytes, v) == roce::ParseStatus::kOk);
    CHECK(v.mig_req);  // as hardware sends it
  };
  for (uint32_t len : {0u, 1u, 1024u, 1025u, 10'000u}) {
    bed.a.host->write(*qa, src, 0, dst, 0, len);
    CHECK(bed.a.host->wait_completion(*qa).ok());
  }
  bed.run_ns(2000);
  const auto a = bed.a.host->nic().counters(), b = bed.b.host->nic().counters();
  CHECK(a.at("tx_requests") == 1 + 1 + 1 + 2 + 10);
  CHECK(b.at("rx_requests") == a.at("tx_requests"));
  CHECK(a.at("tx_frames") == frames[0]);
  CHECK(a.at("tx_bytes") == frame_bytes[0]);
  CHECK(b.at("rx_bytes") == frame_bytes[0]);
  CHECK(b.at("tx_bytes") == frame_bytes[1]);
  CHECK(a.at("rx_bytes") == frame_bytes[1]);
  CHECK(b.at("tx_acks") == frames[1]);
  CHECK(a.at("rx_ack") == frames[1]);
  CHECK(a.at("doorbells") == 5);
  CHECK(a.at("wqe_fetched") == 5);
  CHECK(a.at("msgs_posted") == 5);
  CHECK(a.at("msgs_completed") == 5);
  CHECK(a.at("cqe_written") == 5);
  CHECK(b.at("dma_write_bytes") == 1 + 1024 + 1025 + 10'000);
  CHECK(a.at("cmd_errors") == 0);
}
