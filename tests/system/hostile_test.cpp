// SPDX-License-Identifier: Apache-2.0
// Hostile programs and a hostile network: garbage in rings, registers, mailbox and frames. Whatever
// it is, nothing outside what the garbage may reach changes, neighbours work, and nothing stops.
#include <cstring>

#include "harness/roce/frame.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

struct Victim {
  sim::Qp *na, *nb;
  sim::Region *src, *dst;
  std::vector<uint8_t> data;
};

Victim neighbour(Bed& bed) {
  Rng rng = test::rng("neighbour");
  auto [na, nb] = bed.connect({.mtu = 1024});
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 32768);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 32768);
  return {na, nb, &src, &dst, fill(bed, bed.a, src, rng)};
}

// The neighbour's messages, in both directions of time: one before, one after.
void neighbour_works(Bed& bed, Victim& v, uint64_t at, uint32_t len) {
  bed.a.host->write(*v.na, *v.src, 3, *v.dst, at, len);
  bed.expect(bed.b, *v.dst, at, {v.data.begin() + 3, v.data.begin() + 3 + static_cast<long>(len)});
  CHECK(bed.a.host->wait_completion(*v.na).ok());
  bed.run_ns(2000);
  bed.check();
}

// A WQE that is nearly right, or not at all.
std::vector<uint8_t> garbage_wqe(Rng& rng, uint64_t ring, uint32_t blocks, uint16_t index,
                                 const sim::Region& src, const sim::Region& dst) {
  std::vector<uint8_t> w = rng.bytes(64);
  uint8_t* p = w.data();
  if (rng.chance(0.05)) return w;
  const uint8_t opcodes[] = {RNIC_WQE_OPCODE_WRITE, RNIC_WQE_OPCODE_WRITE_IMM, RNIC_WQE_OPCODE_NOP,
                             RNIC_WQE_OPCODE_SEND, RNIC_WQE_OPCODE_READ};
  uint64_t next = 0;
  if (rng.chance(0.4)) {
    const auto target = static_cast<int64_t>(rng.below(blocks + 4)) - 2;
    next = (ring + static_cast<uint64_t>(target * 64)) | rng.below(4);
  }
  rnic_wqe_set_next(p, next);
  rnic_wqe_set_opcode(p, rng.chance(0.85) ? opcodes[rng.below(rng.chance(0.9) ? 2 : 5)]
                                          : static_cast<uint32_t>(rng.below(256)));
  rnic_wqe_set_signaled(p, rng.chance(0.5));
  rnic_wqe_set_inlined(p, rng.chance(0.4));
  rnic_wqe_set_long_form(p, rng.chance(0.3));
  rnic_wqe_set_inline_len(p, static_cast<uint32_t>(rng.chance(0.6)   ? rng.below(97)
                                                   : rng.chance(0.5) ? rng.below(4096)
                                                                     : 4060 + rng.below(36)));
  rnic_wqe_set_seg_cnt(p, static_cast<uint32_t>(rng.chance(0.8) ? rng.below(3) : rng.below(16)));
  if (rng.chance(0.95)) rnic_wqe_set_index(p, index);
  rnic_wqe_set_remote_va(p, dst.va + (rng.chance(0.9) ? rng.below(4096) : rng.u64()));
  rnic_wqe_set_rkey(p, rng.chance(0.9) ? dst.key : rng.u32());
  for (int i = 0; i < 2; ++i) {
    uint8_t* s = p + 32 + 16 * i;
    rnic_data_seg_set_lkey(s, rng.chance(0.9) ? src.key : rng.u32());
    rnic_data_seg_set_len(s, static_cast<uint32_t>(rng.chance(0.9) ? rng.below(3000) : rng.u32()));
    rnic_data_seg_set_va(s, src.va + (rng.chance(0.9) ? rng.below(8192) : rng.u64()));
  }
  return w;
}

}  // namespace

TEST_CASE(
    "garbage in a send ring, with links in circles and doorbells that jump, harms nobody else") {
  Bed bed;
  Victim v = neighbour(bed);
  Rng rng = test::rng("garbage");
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 16384);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 16384);
  for (int round = 0; round < 24; ++round) {
    INFO("round " << round);
    const auto log_sq = static_cast<uint32_t>(1 + rng.below(6));
    const uint32_t blocks = 1u << log_sq;
    auto [qa, qb] = bed.connect({.mtu = 512, .log_sq = log_sq, .log_cq = 10});
    qb->qp->post_receives(60);
    bed.run_ns(500);
    bed.watch();
    bed.b.memory->ignore(dst.buffer, 0, dst.size);
    const uint64_t ring = qa->qp->sq_addr();
    uint16_t prod = 0;
    bool garbage = rng.chance(0.8);
    for (int burst = 0; burst < 12; ++burst) {
      for (uint32_t i = 0; i < blocks; ++i) {
        const auto index = static_cast<uint16_t>(prod + i);
        const std::vector<uint8_t> w =
            garbage ? garbage_wqe(rng, ring, blocks, index, src, dst) : rng.bytes(64);
        qa->qp->sq().write(uint64_t{index & (blocks - 1)} * 64, w.data(), 64);
      }
      const auto step = static_cast<uint16_t>(rng.chance(0.8) ? rng.below(blocks + 1) : rng.u32());
      prod = static_cast<uint16_t>(prod + step);
      bed.a.host->bus().write32(driver::Bar::kDoorbell, qa->qp->page_addr() + RNIC_PAGE_TX_WQE_PROD,
                                prod);
      if (step > blocks) prod = static_cast<uint16_t>(prod - step);
      bed.run_ns(rng.below(1500));
    }
    bed.run_ns(5000);
    neighbour_works(bed, v, 1000 * (static_cast<uint64_t>(round) % 8), 900);
    // Whatever it hangs on, it can be stopped and used again.
    bed.a.host->nic().modify_state(*qa->qp, RNIC_QP_STATE_RESET);
    bed.b.host->nic().modify_state(*qb->qp, RNIC_QP_STATE_RESET);
    qa->qp->reset_indices();
    qb->qp->reset_indices();
    while (bed.a.host->poll(*qa)) {
    }
    while (bed.a.host->events().poll()) {
    }
    bed.a.host->events().update();
    sim::connect_pair(*bed.a.host, *qa, *bed.b.host, *qb, {.mtu = 512});
    bed.a.host->write(*qa, src, 0, dst, 0, 1500);
    const driver::Completion c = bed.a.host->wait_completion(*qa);
    CHECK(std::string(driver::status_name(c.status)) == "SUCCESS");
    while (bed.b.host->events().poll()) {
    }
    bed.b.host->events().update();
  }
}

TEST_CASE("garbage pushed through BlueFlame harms nobody else") {
  Bed bed;
  Victim v = neighbour(bed);
  Rng rng = test::rng("push");
  sim::Region& src = bed.a.host->region(sim::Place::kHost, 16384);
  sim::Region& dst = bed.b.host->region(sim::Place::kHost, 16384);
  auto [qa, qb] = bed.connect({.mtu = 512, .log_sq = 5, .log_cq = 10});
  bed.watch();
  bed.b.memory->ignore(dst.buffer, 0, dst.size);
  for (int n = 0; n < 250; ++n) {
    const auto count = static_cast<uint32_t>(rng.between(1, 8));
    std::vector<uint8_t> push;
    for (uint32_t i = 0; i < count; ++i) {
      auto w =
          garbage_wqe(rng, qa->qp->sq_addr(), 32, static_cast<uint16_t>(rng.below(64)), src, dst);
      push.insert(push.end(), w.begin(), w.end());
    }
    uint32_t at = static_cast<uint32_t>(rng.below(RNIC_BAR1_SIZE / 64)) * 64;
    if (rng.chance(0.8))
      at = qa->number() * RNIC_BF_SLICE_MAX + static_cast<uint32_t>(rng.below(8)) * 64;
    // Other QPs' slices are theirs: nobody pushes into the neighbour's here.
    if (at / RNIC_BF_SLICE_MAX == v.na->number()) continue;
    bed.a.host->bus().write_block(driver::Bar::kBlueFlame, at, push.data(),
                                  static_cast<uint32_t>(rng.chance(0.5) ? 64 : push.size()));
    if (rng.chance(0.3)) bed.a.host->bus().write32(driver::Bar::kBlueFlame, at, rng.u32());
    bed.run_ns(rng.below(300));
  }
  bed.run_ns(5000);
  neighbour_works(bed, v, 0, 2000);
}

TEST_CASE("random accesses to all BARs never stop the machine, and a reset makes it whole") {
  for (int round = 0; round < 6; ++round) {
    INFO("round " << round);
    Bed bed;
    Victim v = neighbour(bed);
    Rng rng = test::rng("bars" + std::to_string(round));
    auto& bus = bed.a.host->bus();
    for (int n = 0; n < 600; ++n) {
      const double kind = rng.u32() / 4294967296.0;
      if (kind < 0.25) {
        const uint32_t page = static_cast<uint32_t>(rng.below(256)) * RNIC_PAGE_STRIDE;
        const uint32_t at = page + (rng.chance(0.7) ? 0x10 + 8 * static_cast<uint32_t>(rng.below(5))
                                                    : static_cast<uint32_t>(rng.below(1024)) * 4);
        bus.write32(driver::Bar::kDoorbell, at, rng.u32());
        if (rng.chance(0.2)) (void)bus.read32(driver::Bar::kDoorbell, at);
      } else if (kind < 0.9) {
        static const uint32_t windows[] = {
            0,      0x100,  0x180,  0x200,  0x280,   0x300,   0x380,   0x400,   0x500,  0x1000,
            0x4000, 0x4080, 0x8000, 0x9000, 0x10000, 0x12000, 0x20000, 0x40000, 0x48000};
        uint32_t at =
            windows[rng.below(std::size(windows))] + static_cast<uint32_t>(rng.below(40)) * 4;
        if (rng.chance(0.2)) at = static_cast<uint32_t>(rng.below(RNIC_BAR2_SIZE / 4)) * 4;
        if (at == RNIC_CSR_RESET || at == RNIC_CSR_DMA_CFG) continue;
        if (rng.chance(0.6)) {
          bus.write32(driver::Bar::kRegisters, at, rng.chance(0.3) ? 0xFFFFFFFF : rng.u32());
        } else {
          (void)bus.read32(driver::Bar::kRegisters, at);
        }
      } else {
        const std::vector<uint8_t> b = rng.bytes(64);
        bus.write_block(driver::Bar::kBlueFlame,
                        static_cast<uint32_t>(rng.below(RNIC_BAR1_SIZE / 64)) * 64, b.data(), 64);
      }
      if (n % 40 == 0) bed.a.host->write(*v.na, *v.src, 0, *v.dst, 0, 100);
      if (rng.chance(0.1)) bed.run_ns(rng.below(500));
    }
    bed.run_ns(20'000);
    // The host's settings survive a reset: the driver writes them again.
    bed.a.host->nic().reset();
    bed.b.host->nic().reset();
    for (uint32_t i = 0; i < 4; ++i) bed.a.host->nic().set_gpu_window(i, 1, 0);
    bed.a.host->nic().write64(RNIC_CSR_DEVMEM_BASE, 0xFFFFFFFFFF000000);
    bed.a.host->nic().write(RNIC_CSR_RX_BUF_DROP, 0);
    bed.a.host->restart(2);
    bed.b.host->restart(1);
    Victim u = neighbour(bed);
    bed.watch();
    neighbour_works(bed, u, 100, 5000);
  }
}

TEST_CASE("garbage commands answer, and a reset makes the device whole") {
  Bed bed;
  Rng rng = test::rng("commands");
  for (int round = 0; round < 3; ++round) {
    Victim v = neighbour(bed);
    std::map<uint8_t, uint32_t> answers;
    for (int n = 0; n < 700; ++n) {
      std::vector<uint8_t> cmd = rng.chance(0.5) ? rng.bytes(128) : std::vector<uint8_t>(128);
      static const uint8_t ops[] = {0,    0x10, 0x12, 0x20, 0x22, 0x23, 0x30, 0x32, 0x33, 0x40,
                                    0x42, 0x43, 0x50, 0x52, 0x53, 0x60, 0x61, 0x62, 0x63, 0x64};
      cmd[0] = rng.chance(0.95) ? ops[rng.below(std::size(ops))] : static_cast<uint8_t>(rng.u32());
      const uint32_t number = static_cast<uint32_t>(rng.chance(0.8) ? rng.below(6) : rng.u32());
      std::memcpy(&cmd[4], &number, 3);
      for (int k = 0; k < 4; ++k) cmd[8 + rng.below(60)] = static_cast<uint8_t>(rng.below(8));
      if (cmd[0] == 0x60) {
        // A QP's rings must be somewhere: nothing of this may be written.
        const uint16_t pd = 1, cq = static_cast<uint16_t>(rng.below(3));
        std::memcpy(&cmd[14], &pd, 2);
        std::memcpy(&cmd[44], &cq, 2);
        std::memcpy(&cmd[48], &cq, 2);
      }
      ++answers[bed.a.host->nic().try_command(cmd.data(), "garbage")];
      if (n % 20 == 0) {
        bed.a.host->bus().write32(
            driver::Bar::kDoorbell,
            static_cast<uint32_t>(rng.below(6)) * RNIC_PAGE_STRIDE + RNIC_PAGE_TX_WQE_PROD,
            static_cast<uint32_t>(rng.below(8)));
      }
    }
    CHECK(answers.size() >= 6);
    bed.run_ns(20'000);
    bed.a.host->restart(2);
    bed.b.host->restart(1);
    Victim u = neighbour(bed);
    bed.watch();
    neighbour_works(bed, u, 100, 5000);
    bed.a.host->restart(2);
    bed.b.host->restart(1);
  }
}

// What no driver does, and a wild pointer may: accesses of any size at any place. Bytes that are
// not written keep their values, an index needs both of its bytes, and everything else is refused
// and counted.
TEST_CASE("accesses of odd sizes, not aligned, or across registers touch only their own bytes") {
  Bed bed;
  Victim v = neighbour(bed);
  Rng rng = test::rng("odd");
  sim::Host& a = *bed.a.host;
  auto& bus = a.bus();
  const auto read = [&](driver::Bar bar, uint32_t offset, uint32_t len) {
    std::vector<uint8_t> got;
    bed.a.node->fabric().mmio_read(
        pcie::kHost, static_cast<pcie::Bar>(bar), offset, len, bed.a.node->now_ps(),
        [&](const pcie::MmioResult& r) { got.assign(r.data.begin(), r.data.begin() + len); });
    bed.world.run_while([&] { return got.empty(); }, 10'000'000, "an odd read");
    return got;
  };
  const auto put = [&](driver::Bar bar, uint32_t offset, const std::vector<uint8_t>& bytes) {
    bus.write_block(bar, offset, bytes.data(), static_cast<uint32_t>(bytes.size()));
  };

  SECTION("registers, mailbox, MSI-X table") {
    // Plain read and write registers with all their bits: a model of bytes beside them.
    for (const auto& [base, size] : {std::pair<uint32_t, uint32_t>{RNIC_CSR_MBOX_IN, 128},
                                     std::pair<uint32_t, uint32_t>{RNIC_CSR_MSIX_TABLE + 16, 12}}) {
      INFO("window at " << base);
      std::vector<uint8_t> model = rng.bytes(size);
      put(driver::Bar::kRegisters, base, model);
      for (int n = 0; n < 60; ++n) {
        const auto at = static_cast<uint32_t>(rng.below(size));
        const auto len = static_cast<uint32_t>(rng.between(1, std::min(size - at, 17u)));
        const std::vector<uint8_t> bytes = rng.bytes(len);
        put(driver::Bar::kRegisters, base + at, bytes);
        std::copy(bytes.begin(), bytes.end(), model.begin() + at);
        const auto from = static_cast<uint32_t>(rng.below(size));
        const uint32_t room = std::min(size - from, 64 - ((base + from) & 63));
        const auto want = static_cast<uint32_t>(rng.between(1, room));
        CHECK(read(driver::Bar::kRegisters, base + from, want) ==
              std::vector<uint8_t>(model.begin() + from, model.begin() + from + want));
      }
    }
    // One register byte by byte, and two registers at once.
    const uint32_t timeout = a.nic().read(RNIC_CSR_DMA_TIMEOUT);
    put(driver::Bar::kRegisters, RNIC_CSR_DMA_TIMEOUT + 1, {0x12});
    CHECK(a.nic().read(RNIC_CSR_DMA_TIMEOUT) == ((timeout & ~0xFF00u) | 0x1200u));
    put(driver::Bar::kRegisters, RNIC_CSR_DMA_TIMEOUT, {0x10, 0x27, 0, 0});
    put(driver::Bar::kRegisters, RNIC_CSR_TX_START_THRESHOLD + 1, {0x01, 0, 0, 7});
    CHECK(a.nic().read(RNIC_CSR_TX_START_THRESHOLD) == 0x100);
    CHECK((a.nic().read(RNIC_CSR_ACK_COALESCE) & 0xFF) == 7);
    put(driver::Bar::kRegisters, RNIC_CSR_TX_START_THRESHOLD, {0, 0, 0, 0, 16});
    // A command is started by its own byte only.
    put(driver::Bar::kRegisters, RNIC_CSR_CMD_CTRL + 1, {1, 1, 1});
    bed.run_ns(500);
    CHECK((a.nic().read(RNIC_CSR_CMD_STATUS) & RNIC_CSR_CMD_STATUS_BUSY_MASK) == 0);
  }

  SECTION("doorbell pages") {
    const uint32_t page = v.na->qp->page_addr();
    const uint64_t refused = bed.counter(bed.a, RNIC_CNT_DOORBELL_REFUSED);
    const uint64_t rung = bed.counter(bed.a, RNIC_CNT_DOORBELLS);
    // One index byte; no index byte; another offset; across the end of the page.
    put(driver::Bar::kDoorbell, page + RNIC_PAGE_TX_WQE_PROD, {1});
    put(driver::Bar::kDoorbell, page + RNIC_PAGE_TX_WQE_PROD + 1, {0, 0});
    put(driver::Bar::kDoorbell, page + RNIC_PAGE_TX_WQE_PROD + 2, {1, 0});
    put(driver::Bar::kDoorbell, page + RNIC_PAGE_TX_CQE_CONS + 3, {0x80});
    put(driver::Bar::kDoorbell, page + 0x14, {1, 0, 0, 0});
    put(driver::Bar::kDoorbell, page + a.nic().capabilities().page_stride - 2, {1, 0, 0, 0});
    bed.run_ns(1000);
    CHECK(bed.counter(bed.a, RNIC_CNT_DOORBELL_REFUSED) == refused + 7);
    CHECK(bed.counter(bed.a, RNIC_CNT_DOORBELLS) == rung);
    // Two bytes are an index, eight bytes are one and a write to a hole.
    bed.watch();
    a.post_write(*v.na, *v.src, 0, *v.dst, 0, 64);
    put(driver::Bar::kDoorbell, page + RNIC_PAGE_TX_WQE_PROD, {1, 0});
    CHECK(a.wait_completion(*v.na).ok());
    a.post_write(*v.na, *v.src, 64, *v.dst, 64, 64);
    put(driver::Bar::kDoorbell, page + RNIC_PAGE_TX_WQE_PROD, {2, 0, 0, 0, 9, 9, 9, 9});
    CHECK(a.wait_completion(*v.na).ok());
    bed.expect(bed.b, *v.dst, 0, {v.data.begin(), v.data.begin() + 128});
    CHECK(bed.counter(bed.a, RNIC_CNT_DOORBELL_REFUSED) == refused + 8);
    CHECK(read(driver::Bar::kDoorbell, page + RNIC_PAGE_TX_WQE_PROD, 1) == std::vector<uint8_t>{2});
    CHECK(read(driver::Bar::kDoorbell, page + RNIC_PAGE_TX_WQE_PROD, 8) ==
          std::vector<uint8_t>{2, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF});
  }

  SECTION("consumer indices that make no sense") {
    // Beyond what was written, backwards, and of queues that do not exist: refused, and completions
    // still come.
    const uint64_t refused = bed.counter(bed.a, RNIC_CNT_DOORBELL_REFUSED);
    const uint32_t page = v.na->qp->page_addr();
    bus.write32(driver::Bar::kDoorbell, page + RNIC_PAGE_TX_CQE_CONS, 5000);
    bus.write32(driver::Bar::kDoorbell, page + RNIC_PAGE_TX_CQE_CONS, 0xFFFF);
    bus.write32(driver::Bar::kRegisters, RNIC_CSR_CQ_CONS + 8 * v.na->cqn, 0x8000);
    bus.write32(driver::Bar::kRegisters, RNIC_CSR_CQ_CONS + 8 * 40, 1);
    bus.write32(driver::Bar::kRegisters, RNIC_CSR_EQ_CONS, 999);
    bed.run_ns(1000);
    CHECK(bed.counter(bed.a, RNIC_CNT_DOORBELL_REFUSED) > refused);
  }

  SECTION("pieces of BlueFlame pushes, in any order: the WQE is executed once") {
    bed.watch();
    uint64_t at = 0;
    for (uint32_t piece : {1u, 4u, 8u, 16u, 24u, 32u, 48u, 64u}) {
      for (bool backwards : {false, true}) {
        for (bool hole : {false, true}) {
          INFO("pieces of " << piece << (backwards ? ", backwards" : "")
                            << (hole ? ", one missing" : ""));
          driver::WriteRequest w;
          w.use_inline = true;
          w.inline_data = rng.bytes(32);
          w.remote_va = v.dst->va + at;
          w.rkey = v.dst->key;
          const uint16_t index = v.na->qp->post_write(w);
          bed.expect(bed.b, *v.dst, at, w.inline_data);
          at += 32;
          std::vector<uint8_t> block(64);
          v.na->qp->sq().read(uint64_t{index} % 256 * 64, block.data(), 64);
          std::vector<uint32_t> starts;
          for (uint32_t s = 0; s < 64; s += piece) starts.push_back(s);
          if (backwards) std::reverse(starts.begin(), starts.end());
          if (hole) starts.erase(starts.begin() + static_cast<long>(rng.below(starts.size())));
          for (uint32_t s : starts)
            bus.write_block(driver::Bar::kBlueFlame, v.na->number() * RNIC_BF_SLICE_MAX + s,
                            block.data() + s, std::min(piece, 64 - s));
          if (hole) {
            bed.run_ns(3000);  // the push is given up
            v.na->qp->ring();
          }
          const driver::Completion c = a.wait_completion(*v.na);
          CHECK(c.ok());
          CHECK(c.wqe_index == index);
        }
      }
    }
    bed.run_ns(10'000);
    CHECK_FALSE(a.poll(*v.na));
  }

  SECTION("behind the end of each BAR") {
    for (uint32_t offset : {0x3F'FFFCu, 0x3F'FFFFu}) {
      CHECK(read(driver::Bar::kDoorbell, offset, 1) == std::vector<uint8_t>{0xFF});
      put(driver::Bar::kDoorbell, offset, {1});
    }
    put(driver::Bar::kBlueFlame, RNIC_BAR1_SIZE - 1, {1});
    put(driver::Bar::kBlueFlame, RNIC_BAR1_SIZE, rng.bytes(64));
    put(driver::Bar::kRegisters, RNIC_BAR2_SIZE - 64, rng.bytes(64));  // the end of the GDR window
    bed.run_ns(1000);
  }

  bed.watch();
  neighbour_works(bed, v, 8192, 3000);
}
