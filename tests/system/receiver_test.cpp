// SPDX-License-Identifier: Apache-2.0
// One NIC against a software peer that sends what no NIC should: broken frames, gaps, floods.
#include "harness/roce/check.hpp"
#include "harness/roce/frame.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

constexpr uint32_t kPeerQpn = 0x777;
constexpr uint32_t kFirstPsn = 0x1000;

// A responder NIC at end 0 of a cable, and the far end in software.
class Lone {
  WaveViews views_;

 public:
  explicit Lone(uint64_t wire_bps = test_rate() / 2) {
    sim::NodeConfig c;
    c.name = "responder";
    c.nic.data_w = test_width();
    c.nic.wave_file = views_.next();
    node = &world.add_node(c);
    link = &world.open_end(
        *node, {.rate_bps = wire_bps, .delay_ps = 50'000}, [this](sim::TimePs now) { edge(now); },
        50'000);
    world.power_on();
    host = std::make_unique<sim::Host>(world, *node, sim::HostConfig{.id = 1});
    host->start(2);
    memory = &host->region(sim::Place::kHost, 65536);
    qp = &host->create_qp();
    driver::ConnectRequest r;
    r.dest_qpn = kPeerQpn;
    r.rq_psn = kFirstPsn;
    r.mtu = RNIC_PATH_MTU_MTU_1024;
    host->nic().connect(*qp->qp, r);
    spec.eth_dst = {0x02, 0, 0, 0, 0, 1};
    spec.eth_src = {0x02, 0, 0, 0, 0, 2};
    spec.ip_src = roce::ipv4_address(192, 168, 0, 2);
    spec.ip_dst = roce::ipv4_address(192, 168, 0, 1);
    spec.dest_qp = qp->number();
    spec.opcode = roce::kRcWriteOnly;
    spec.psn = kFirstPsn;
    spec.ack_req = true;
    spec.va = memory->va;
    spec.rkey = memory->key;
    checker = std::make_unique<mem::MemoryChecker>(node->memory());
    watch();
  }

  void watch() {
    checker->snapshot();
    host->ignore_written_rings(*checker);
  }
  std::vector<uint8_t> frame(const roce::FrameSpec& s, std::span<const uint8_t> payload) const {
    std::vector<uint8_t> f(roce::frame_size(s, payload.size()));
    f.resize(roce::build_frame(s, payload, f));
    return f;
  }
  void send(std::vector<uint8_t> f, bool err = false) { out.push_back({std::move(f), err}); }
  void run_ns(uint64_t ns) { world.run_until(world.now_ps() + ns * 1000); }
  void expect(uint64_t offset, std::span<const uint8_t> data) {
    checker->expect_write(memory->buffer, offset, data.data(), data.size());
  }
  void check() {
    if (auto d = checker->compare()) FAIL_CHECK(d->to_string());
  }
  uint64_t counter(uint32_t index) { return host->nic().counter(index); }

  sim::World world;
  sim::Node* node;
  wire::Link* link;
  std::unique_ptr<sim::Host> host;
  sim::Region* memory;
  sim::Qp* qp;
  std::unique_ptr<mem::MemoryChecker> checker;
  roce::FrameSpec spec;
  struct Answer {
    uint8_t opcode, syndrome;
    uint32_t psn, msn;
  };
  std::vector<Answer> answers;

 private:
  void edge(sim::TimePs now) {
    wire::FrameInfo info;
    while (link->rx(1).take(now, info)) {
      CHECK(roce::check_frame(info.bytes).empty());
      roce::FrameView v;
      if (roce::parse_frame(info.bytes, v) == roce::ParseStatus::kOk)
        answers.push_back({v.opcode, v.syndrome, v.psn, v.msn});
    }
    // As many as the wire takes until the next look.
    while (next < out.size() && link->tx(1).free_at() <= now + 50'000) {
      link->tx(1).send(now, out[next].first, out[next].second);
      ++next;
    }
  }
  std::vector<std::pair<std::vector<uint8_t>, bool>> out;
  size_t next = 0;
};

}  // namespace

TEST_CASE("a good WRITE from a software peer lands and is acknowledged") {
  Lone l;
  Rng rng = test::rng("payload");
  const std::vector<uint8_t> data = rng.bytes(777);
  l.spec.va = l.memory->va + 11;
  l.spec.dma_len = 777;
  l.send(l.frame(l.spec, data));
  l.run_ns(3000);
  l.expect(11, data);
  l.check();
  REQUIRE(l.answers.size() == 1);
  CHECK(l.answers[0].opcode == roce::kRcAcknowledge);
  CHECK(l.answers[0].psn == kFirstPsn);
  CHECK(l.answers[0].msn == 1);
}

TEST_CASE("frames that are broken change nothing, send nothing, and are counted", "[short]") {
  Rng rng = test::rng("broken");
  const std::vector<uint8_t> data = rng.bytes(300);
  struct Attempt {
    const char* what;
    std::function<void(Lone&, std::vector<uint8_t>&, bool&)> spoil;
    uint32_t counter;
  };
  const Attempt attempts[] = {
      {"a payload bit", [](Lone&, auto& f, bool&) { f[100] ^= 0x10; }, RNIC_CNT_RX_ICRC_ERRORS},
      {"an iCRC bit", [](Lone&, auto& f, bool&) { f.back() ^= 1; }, RNIC_CNT_RX_ICRC_ERRORS},
      {"a bit of the R_Key", [](Lone&, auto& f, bool&) { f[14 + 20 + 8 + 12 + 9] ^= 1; },
       RNIC_CNT_RX_ICRC_ERRORS},
      {"marked bad by the MAC", [](Lone&, auto&, bool& err) { err = true; },
       RNIC_CNT_RX_CRC_ERRORS},
      {"cut short", [](Lone&, auto& f, bool&) { f.resize(f.size() - 40); }, RNIC_CNT_RX_RUNTS},
      {"transport version 1",
       [](Lone&, auto& f, bool&) {
         f[14 + 20 + 8 + 1] |= 1;
         roce::fix_icrc(f);
       },
       RNIC_CNT_RX_HEADER_ERRORS},
      {"a QP that does not exist",
       [](Lone& l, auto& f, bool&) {
         roce::FrameSpec s = l.spec;
         s.dest_qp = 240;
         f = l.frame(s, std::vector<uint8_t>(300));
       },
       RNIC_CNT_RX_UNKNOWN_QP},
      {"another P_Key",
       [](Lone& l, auto& f, bool&) {
         roce::FrameSpec s = l.spec;
         s.pkey = 0x8123;
         f = l.frame(s, std::vector<uint8_t>(300));
       },
       RNIC_CNT_RX_PKEY_ERRORS},
      {"another source address",
       [](Lone& l, auto& f, bool&) {
         roce::FrameSpec s = l.spec;
         s.ip_src = roce::ipv4_address(192, 168, 0, 99);
         f = l.frame(s, std::vector<uint8_t>(300));
       },
       RNIC_CNT_RX_ADDR_ERRORS},
  };
  for (const Attempt& x : attempts) {
    INFO(x.what);
    Lone l;
    l.spec.dma_len = 300;
    std::vector<uint8_t> f = l.frame(l.spec, data);
    bool err = false;
    x.spoil(l, f, err);
    l.send(f, err);
    l.run_ns(3000);
    l.check();
    CHECK(l.answers.empty());
    CHECK(l.counter(x.counter) == 1);
    // And the good one is executed.
    l.send(l.frame(l.spec, data));
    l.run_ns(3000);
    l.expect(0, data);
    l.check();
    CHECK(l.answers.size() == 1);
  }
}

TEST_CASE(
    "requests that break the protocol are answered with NAK invalid request, and memory stays") {
  struct Attempt {
    const char* what;
    std::function<void(roce::FrameSpec&, std::vector<uint8_t>&)> spoil;
  };
  const Attempt attempts[] = {
      {"a MIDDLE without FIRST",
       [](roce::FrameSpec& s, auto& d) {
         s.opcode = roce::kRcWriteMiddle;
         d.resize(1024);
       }},
      {"a LAST without FIRST", [](roce::FrameSpec& s, auto&) { s.opcode = roce::kRcWriteLast; }},
      {"an ONLY longer than the MTU",
       [](roce::FrameSpec& s, auto& d) {
         d.resize(1028);
         s.dma_len = 1028;
       }},
      {"a FIRST shorter than the MTU",
       [](roce::FrameSpec& s, auto&) {
         s.opcode = roce::kRcWriteFirst;
         s.dma_len = 2000;
       }},
      {"a length that is not that of the payload",
       [](roce::FrameSpec& s, auto&) { s.dma_len = 299; }},
      {"a reserved opcode", [](roce::FrameSpec& s, auto&) { s.opcode = 0x15; }},
  };
  for (const Attempt& x : attempts) {
    INFO(x.what);
    Lone l;
    std::vector<uint8_t> data(300, 0x5A);
    roce::FrameSpec s = l.spec;
    s.dma_len = 300;
    x.spoil(s, data);
    l.send(l.frame(s, data));
    l.run_ns(3000);
    l.check();
    REQUIRE(l.answers.size() == 1);
    CHECK(l.answers[0].syndrome == 0x61);
    CHECK(l.answers[0].psn == kFirstPsn);
    CHECK(l.counter(RNIC_CNT_TX_NAK_INV) == 1);
    CHECK(l.host->nic().query_qp(l.qp->number()).state == RNIC_QP_STATE_ERR);
  }
}

TEST_CASE("a gap is reported once, duplicates are acknowledged and not executed") {
  Lone l;
  std::vector<uint8_t> data(64, 0x11);
  roce::FrameSpec s = l.spec;
  s.dma_len = 64;
  l.send(l.frame(s, data));
  l.run_ns(2000);
  // 1 is missing.
  std::vector<uint8_t> other(64, 0x22);
  s.psn = kFirstPsn + 2;
  l.send(l.frame(s, other));
  s.psn = kFirstPsn + 3;
  l.send(l.frame(s, other));
  l.run_ns(2000);
  REQUIRE(l.answers.size() == 2);
  CHECK(l.answers[0].syndrome == 0x1F);
  CHECK(l.answers[1].syndrome == 0x60);
  CHECK(l.answers[1].psn == kFirstPsn + 1);
  CHECK(l.counter(RNIC_CNT_RX_OUT_OF_ORDER) == 2);
  CHECK(l.counter(RNIC_CNT_TX_NAK_SEQ) == 1);
  // A duplicate of 0 with other bytes.
  s.psn = kFirstPsn;
  l.send(l.frame(s, other));
  l.run_ns(2000);
  l.expect(0, data);
  l.check();
  REQUIRE(l.answers.size() == 3);
  CHECK(l.answers[2].syndrome == 0x1F);
  CHECK(l.answers[2].psn == kFirstPsn);
  CHECK(l.counter(RNIC_CNT_RX_DUPLICATES) == 1);
  // The gap is filled.
  s.psn = kFirstPsn + 1;
  s.va = l.memory->va + 64;
  l.send(l.frame(s, other));
  l.run_ns(2000);
  l.expect(64, other);
  l.check();
  CHECK(l.answers.back().psn == kFirstPsn + 1);
  CHECK(l.answers.back().msn == 2);
}

TEST_CASE("a WRITE with immediate and no receive posted gets RNR NAK, and is taken after one is") {
  Lone l;
  std::vector<uint8_t> data(64, 0x33);
  roce::FrameSpec s = l.spec;
  s.opcode = roce::kRcWriteOnlyImm;
  s.dma_len = 64;
  s.imm = 0x12345678;
  l.send(l.frame(s, data));
  l.run_ns(2000);
  REQUIRE(l.answers.size() == 1);
  CHECK(l.answers[0].syndrome >> 5 == 1);
  CHECK((l.answers[0].syndrome & 31) == 12);
  l.check();
  l.qp->qp->post_receives(1);
  l.run_ns(500);
  l.watch();
  l.send(l.frame(s, data));
  const driver::Completion c = l.host->wait_received(*l.qp);
  CHECK(c.ok());
  CHECK(c.imm.value_or(0) == 0x12345678);
  CHECK(c.byte_count == 64);
  l.expect(0, data);
  l.run_ns(1000);
  l.check();
}

TEST_CASE("a line-rate flood of minimum frames is taken or dropped whole, never torn") {
  Lone l(test_rate());
  constexpr uint32_t kFrames = 3000;
  // Every frame writes four bytes to a place of its own; a gap ends what is accepted, so each
  // carries the QP's next PSN.
  for (uint32_t i = 0; i < kFrames; ++i) {
    roce::FrameSpec s = l.spec;
    s.psn = kFirstPsn + i;
    s.dma_len = 4;
    s.va = l.memory->va + 4 * i;
    s.ack_req = i % 64 == 63;
    const uint32_t v = 0xA0000000 + i;
    uint8_t d[4];
    std::memcpy(d, &v, 4);
    l.send(l.frame(s, d));
  }
  l.run_ns(40'000 * 1024 / test_width());
  const uint64_t dropped = l.counter(RNIC_CNT_RX_BUFFER_DROPS);
  CHECK(l.counter(RNIC_CNT_RX_REQUESTS) + l.counter(RNIC_CNT_RX_OUT_OF_ORDER) + dropped == kFrames);
  CHECK(l.counter(RNIC_CNT_RX_ICRC_ERRORS) == 0);
  CHECK(l.counter(RNIC_CNT_RX_HEADER_ERRORS) == 0);
  // What was executed lies there without a hole, and nothing else.
  const driver::QpInfo info = l.host->nic().query_qp(l.qp->number());
  const uint32_t done = info.epsn - kFirstPsn;
  CHECK(l.counter(RNIC_CNT_RX_REQUESTS) == done);
  CHECK(done > 100);
  if (dropped == 0) CHECK(done == kFrames);
  for (uint32_t i = 0; i < done; ++i) {
    const uint32_t v = 0xA0000000 + i;
    l.checker->expect_write(l.memory->buffer, 4 * i, &v, 4);
  }
  l.check();
}

TEST_CASE("floods of the smallest frames at full wire rate: each is taken or dropped whole",
          "[short]") {
  // Frames of 60 bytes and a few more are one beat of 1024 bits, and come faster than core cycles.
  for (const bool raw : {true, false}) {
    INFO((raw ? "60-byte raw frames" : "WRITEs of 0 to 4 bytes and ACKs, 62 to 78 bytes"));
    Lone l(test_rate());
    Rng rng = test::rng("smallest");
    class Port final : public sim::RawPort {
     public:
      void on_raw_frame(sim::TimePs, std::span<const uint8_t> f) override {
        uint32_t number = 0;
        REQUIRE(f.size() == 60);
        std::memcpy(&number, f.data() + 16, 4);
        REQUIRE(number >= next);  // in order, each whole
        next = number + 1;
        for (size_t i = 20; i < 60; ++i) REQUIRE(f[i] == static_cast<uint8_t>(number + i));
        ++frames;
      }
      std::span<const uint8_t> next_raw_frame(sim::TimePs) override { return {}; }
      uint32_t frames = 0, next = 0;
    } port;
    l.node->nic().set_raw_port(&port);
    constexpr uint32_t kFrames = 4000;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < kFrames; ++i) {
      std::vector<uint8_t> f;
      if (raw) {
        f.assign(60, 0);
        std::fill_n(f.begin(), 6, uint8_t{0xFF});
        f[12] = 0x08;
        f[13] = 0x06;
        std::memcpy(f.data() + 16, &i, 4);
        for (size_t k = 20; k < 60; ++k) f[k] = static_cast<uint8_t>(i + k);
      } else {
        roce::FrameSpec s = l.spec;
        s.psn = kFirstPsn + i;
        s.va = l.memory->va + 4 * i;
        s.ack_req = false;
        if (rng.chance(0.5)) {  // of nothing that was asked
          s.opcode = roce::kRcAcknowledge;
          s.syndrome = 0x1F;
          s.psn = 0x5000;
        }
        const std::vector<uint8_t> d(s.opcode == roce::kRcAcknowledge ? 0 : i % 5, 0x77);
        s.dma_len = static_cast<uint32_t>(d.size());
        f = l.frame(s, d);
      }
      bytes += f.size() + 24;
      l.send(std::move(f));
    }
    if (!raw) l.checker->ignore(l.memory->buffer, 0, 4 * kFrames);
    l.run_ns(bytes * 8'000'000'000 / test_rate() + 60'000);  // and what waits in the buffer
    l.check();
    const auto c = l.host->nic().counters();
    CHECK(c.at("rx_frames") <= kFrames);
    CHECK(c.at("rx_frames") + c.at("rx_buffer_drops") >= kFrames);
    CHECK(c.at("rx_crc_errors") + c.at("rx_runts") + c.at("rx_icrc_errors") +
              c.at("rx_header_errors") ==
          0);
    if (raw) {
      // No more than the beats that the core has no cycle for.
      CHECK(c.at("rx_buffer_drops") < kFrames / 4);
      CHECK(c.at("rx_raw_frames") == port.frames);
      CHECK(port.frames + c.at("rx_raw_drops") + c.at("rx_buffer_drops") == kFrames);
    } else {
      // The first gap ends what is executed; the rest is still judged one by one.
      CHECK(c.at("rx_requests") + c.at("rx_out_of_order") + c.at("rx_ghost_acks") +
                c.at("rx_buffer_drops") ==
            kFrames);
      CHECK(c.at("rx_ghost_acks") > kFrames / 10);
    }
    // It is quiet, and everything works: the QP asks for what it misses.
    l.run_ns(2000);
    l.answers.clear();
    roce::FrameSpec s = l.spec;
    s.psn = l.host->nic().query_qp(l.qp->number()).epsn;
    s.va = l.memory->va + 40'000;
    s.dma_len = 200;
    const std::vector<uint8_t> data = rng.bytes(200);
    l.send(l.frame(s, data));
    l.expect(40'000, data);
    l.run_ns(3000);
    l.check();
    REQUIRE_FALSE(l.answers.empty());
    CHECK(l.answers.back().syndrome == 0x1F);
    CHECK(l.answers.back().psn == s.psn);
  }
}

TEST_CASE("a flood of raw frames that nobody takes does not stop RDMA") {
  Lone l;
  std::vector<uint8_t> arp(60, 0);
  std::fill_n(arp.begin(), 6, uint8_t{0xFF});
  arp[12] = 0x08;
  arp[13] = 0x06;
  class Deaf final : public sim::RawPort {
   public:
    void on_raw_frame(sim::TimePs, std::span<const uint8_t>) override { ++frames; }
    std::span<const uint8_t> next_raw_frame(sim::TimePs) override { return {}; }
    uint32_t frames = 0;
  } port;
  l.node->nic().set_raw_port(&port);
  for (int i = 0; i < 400; ++i) l.send(arp);
  std::vector<uint8_t> data(200, 0x44);
  roce::FrameSpec s = l.spec;
  s.dma_len = 200;
  l.send(l.frame(s, data));
  l.run_ns(10'000 * 1024 / test_width());
  l.expect(0, data);
  l.check();
  CHECK(l.answers.size() == 1);
  CHECK(l.counter(RNIC_CNT_RX_RAW_FRAMES) + l.counter(RNIC_CNT_RX_RAW_DROPS) == 400);
  CHECK(port.frames == l.counter(RNIC_CNT_RX_RAW_FRAMES));
}

TEST_CASE(
    "random and spoiled frames at line rate, with the QP reset among them: nothing else changes, "
    "every frame is counted once") {
  Lone l(test_rate());
  Rng rng = test::rng("frames");
  class Port final : public sim::RawPort {
   public:
    void on_raw_frame(sim::TimePs, std::span<const uint8_t>) override {}
    std::span<const uint8_t> next_raw_frame(sim::TimePs) override { return {}; }
  } port;
  l.node->nic().set_raw_port(&port);
  l.checker->ignore(l.memory->buffer, 0, l.memory->size);  // a few frames are good
  const auto rq = l.node->iommu().peek(l.qp->qp->rq_addr(), 1, mem::kRead);
  l.checker->ignore(rq.phys, mem::kPageBytes);  // written by the program
  const auto reconnect = [&] {
    l.host->nic().modify_state(*l.qp->qp, RNIC_QP_STATE_RESET);
    l.qp->qp->reset_indices();
    driver::ConnectRequest r;
    r.dest_qpn = kPeerQpn;
    r.rq_psn = kFirstPsn;
    r.mtu = RNIC_PATH_MTU_MTU_1024;
    l.host->nic().connect(*l.qp->qp, r);
    l.qp->qp->post_receives(static_cast<uint32_t>(rng.below(20)));
    while (l.host->poll(*l.qp)) {
    }
    l.qp->received.clear();
    while (l.host->events().poll()) {
    }
    l.host->events().update();
  };
  uint32_t sent = 0;
  for (int burst = 0; burst < 30; ++burst) {
    uint64_t bytes = 0;
    uint32_t psn = kFirstPsn;
    const double mutated = rng.chance(0.5) ? 0.2 : 0.7;
    for (int n = 0; n < 60; ++n) {
      std::vector<uint8_t> f;
      if (rng.chance(0.1)) {
        f = rng.bytes(rng.chance(0.8) ? rng.between(1, 200) : rng.between(1, 9700));
        if (rng.chance(0.5) && f.size() > 50) {
          f[12] = 0x08;
          f[13] = 0x00;
          f[14] = 0x45;
          f[23] = 17;
        }
      } else {
        roce::FrameSpec s = l.spec;
        const uint8_t opcodes[] = {roce::kRcWriteOnly,  roce::kRcWriteOnly, roce::kRcWriteOnlyImm,
                                   roce::kRcWriteFirst, roce::kRcWriteLast, roce::kRcWriteMiddle,
                                   roce::kRcAcknowledge};
        s.opcode = opcodes[rng.below(rng.chance(0.9) ? 3 : std::size(opcodes))];
        if (rng.chance(0.02)) s.opcode = static_cast<uint8_t>(rng.u32());
        s.psn = psn;
        if (rng.chance(0.9)) psn = (psn + 1) & 0xFFFFFF;
        if (rng.chance(0.2)) {
          s.vlan_count = static_cast<uint8_t>(rng.between(1, 2));
          s.vlan_tci = {static_cast<uint16_t>(rng.u32()), static_cast<uint16_t>(rng.u32())};
        }
        std::vector<uint8_t> d = rng.bytes(rng.below(rng.chance(0.5) ? 64 : 1025));
        s.dma_len = static_cast<uint32_t>(d.size());
        if (s.opcode == roce::kRcWriteFirst || s.opcode == roce::kRcWriteMiddle) {
          d.resize(1024);
          s.dma_len = 1025 + static_cast<uint32_t>(rng.below(2048));
        }
        if (rng.chance(0.1)) s.va += rng.below(70'000);
        f = l.frame(s, d);
        if (rng.chance(mutated)) {
          for (uint64_t k = rng.between(1, 3); k > 0; --k) {
            // Mostly in the headers.
            const size_t at =
                rng.below(rng.chance(0.8) ? std::min<size_t>(f.size(), 74) : f.size());
            f[at] ^= static_cast<uint8_t>(1u << rng.below(8));
          }
          if (rng.chance(0.3)) f.resize(rng.between(1, f.size()));
          if (rng.chance(0.2)) f.resize(f.size() + rng.below(80));
          if (rng.chance(0.7) && f.size() > 70) {
            try {
              roce::fix_icrc(f);
            } catch (const std::exception&) {  // not RoCEv2 any more
            }
          }
        }
      }
      bytes += f.size() + 24;
      l.send(std::move(f), rng.chance(0.03));
      ++sent;
    }
    const uint64_t ns = bytes * 8 * 1'000'000'000 / test_rate();
    if (rng.chance(0.5)) {
      l.run_ns(rng.below(ns));
      reconnect();
    }
    l.run_ns(ns + 3'000);
    reconnect();
  }
  l.run_ns(10'000);
  l.check();
  const auto c = l.host->nic().counters();
  CHECK(c.at("rx_frames") == sent);
  // Each is refused by the parser, handed to the raw port, dropped whole, executed or answered.
  CHECK(c.at("rx_crc_errors") + c.at("rx_runts") + c.at("rx_icrc_errors") +
            c.at("rx_header_errors") + c.at("rx_raw_frames") + c.at("rx_raw_drops") +
            c.at("rx_raw_filtered") + c.at("rx_buffer_drops") + c.at("rx_unknown_qp") +
            c.at("rx_pkey_errors") + c.at("rx_addr_errors") + c.at("rx_requests") +
            c.at("rx_duplicates") + c.at("rx_out_of_order") + c.at("rx_ack") + c.at("rx_nak") +
            c.at("rx_ghost_acks") + c.at("rx_cnp") + c.at("tx_nak_inv") + c.at("tx_nak_access") +
            c.at("tx_nak_op") + c.at("tx_rnr_nak") ==
        sent);
  for (const char* n : {"rx_crc_errors", "rx_runts", "rx_icrc_errors", "rx_header_errors",
                        "rx_raw_frames", "rx_unknown_qp", "rx_requests", "rx_out_of_order"}) {
    INFO(n);
    CHECK(c.at(n) > 0);
  }
  const std::vector<uint8_t> data = rng.bytes(500);
  l.spec.dma_len = 500;
  l.answers.clear();
  l.send(l.frame(l.spec, data));
  l.run_ns(3000);
  std::vector<uint8_t> got(500);
  l.memory->buffer.read(0, got.data(), got.size());
  CHECK(got == data);
  CHECK(l.answers.size() == 1);
}
