// SPDX-License-Identifier: Apache-2.0
//
// The way of READs and ATOMICs through resp_engine, atomic_unit, tx_submit, tx_buffer and
// dma_master, with a memory behind AXI that answers late: what is read is what was written before,
// order holds, and the pace is that of the bus.
#include <Vresp_chain_w1024.h>
#include <Vresp_chain_w128.h>

#include <deque>
#include <map>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;

namespace {

template <class Top>
class Chain {
 public:
  static constexpr unsigned kQps = 8;
  static constexpr size_t kB = sizeof(Top::out_data);
  struct Beat {
    Bits data;
    unsigned cnt = 0;
    bool last = false;
    Bits pkt;
    bool operator==(const Beat&) const = default;
  };
  struct Packet {
    uint8_t opcode = 0;
    uint32_t psn = 0;
    uint64_t value = 0;
    std::vector<uint8_t> bytes;
    uint64_t first = 0, last = 0;
  };

  explicit Chain(unsigned latency = 60, Stall stall = {})
      : top(bench.top()),
        ctx(
            bench, "re", {top.re_lk_valid, top.re_lk_ready, top.re_ctx_valid},
            [this] {
              return kConn.pack(
                  {{"exists", 1}, {"state", kRts}, {"mtu", mtu}, {"pd", 1}, {"max_dest_rd", 16}});
            },
            [this](const Bits& b) { write_pin(top.re_ctx, b); }),
        mr(
            bench, "mr", {top.mrq_valid, top.mrq_ready, top.mrs_valid},
            [this] {
              const uint64_t va = kMrReq.get(read_pin(top.mrq), "va");
              return kMrRsp.pack({{"ok", 1}, {"iova", va}, {"flat", 1}, {"room", 1}});
            },
            [this](const Bits& b) { write_pin(top.mrs, b); }),
        ackq(bench, "ackq", top.ackq_valid, top.ackq_ready, top.ackq),
        wr(bench, "wr", top.wr_req_valid, top.wr_req_ready, top.wr_req),
        wd(bench, "wd", top.wr_dat_valid, top.wr_dat_ready,
           [this](const Beat& b) {
             write_pin(top.wr_dat_data, b.data);
             top.wr_dat_cnt = static_cast<CData>(b.cnt);
             top.wr_dat_last = b.last;
           }),
        out(
            bench, "out", top.out_valid, top.out_ready,
            [this] {
              return Beat{read_pin(top.out_data), top.out_cnt, top.out_last != 0,
                          read_pin(top.out_pkt)};
            },
            stall),
        latency_(latency),
        stall_(stall) {
    mr.set_latency(2, 2);
    out.on_item([this](const Beat& b) { take(b); });
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    top.rsp_ready = 1;
    top.cfg_pacing_i = 255;
    top.cfg_mrrs_i = 2;
    stall_.seed(rng("axi"));
    bench.reset();
  }

  uint8_t& byte(uint64_t a) {
    auto [it, fresh] = memory.try_emplace(a, static_cast<uint8_t>(a * 7 + (a >> 8) * 31));
    return it->second;
  }
  void read(unsigned q, uint64_t va, uint32_t len) {
    ackq.push(kAckReq.pack({{"qpn", q},
                            {"psn", psn[q]},
                            {"kind", 1},
                            {"ticket", tickets & 0xFFFF},
                            {"va", va},
                            {"len", len}}));
    std::vector<uint8_t> bytes;
    for (uint32_t i = 0; i < len; ++i) bytes.push_back(model(va + i));
    const uint32_t m = 128u << mtu;
    for (uint32_t at = 0; at == 0 || at < len; at += m) {
      const uint32_t n = std::min(m, len - at);
      want[q].push_back({0, psn[q], 0, {bytes.begin() + at, bytes.begin() + at + n}});
      psn[q] = (psn[q] + 1) & 0xFFFFFF;
    }
  }
  void atomic(unsigned q, uint64_t addr, uint64_t add) {
    ackq.push(kAckReq.pack({{"qpn", q},
                            {"psn", psn[q]},
                            {"kind", 2},
                            {"ticket", tickets & 0xFFFF},
                            {"iova", addr},
                            {"op0", add}}));
    uint64_t value = 0;
    for (int i = 7; i >= 0; --i) value = value << 8 | model(addr + static_cast<uint64_t>(i));
    want[q].push_back({0x12, psn[q], value, {}});
    psn[q] = (psn[q] + 1) & 0xFFFFFF;
    value += add;
    for (unsigned i = 0; i < 8; ++i) expect[addr + i] = static_cast<uint8_t>(value >> (8 * i));
  }
  // A payload write of rx_placer.
  void write(uint64_t addr, const std::vector<uint8_t>& data) {
    ++tickets;
    wr.push(kWrReq.pack({{"addr", addr}, {"len", data.size()}, {"ticket", 1}}));
    for (size_t at = 0; at < data.size(); at += kB) {
      const size_t n = std::min(kB, data.size() - at);
      wd.push({Bits::from_bytes(std::span(data).subspan(at, n), kB * 8), static_cast<unsigned>(n),
               at + n == data.size(), Bits(1)});
    }
    for (size_t i = 0; i < data.size(); ++i) expect[addr + i] = data[i];
  }
  uint8_t model(uint64_t a) {
    auto it = expect.find(a);
    return it != expect.end() ? it->second : static_cast<uint8_t>(a * 7 + (a >> 8) * 31);
  }
  void finish() {
    bench.wait(
        "answers",
        [this] {
          for (unsigned q = 0; q < kQps; ++q) {
            if (got[q].size() < want[q].size()) return false;
          }
          return true;
        },
        400000);
    for (unsigned q = 0; q < kQps; ++q) {
      REQUIRE(got[q].size() == want[q].size());
      for (size_t i = 0; i < want[q].size(); ++i) {
        INFO("QP " << q << " packet " << i);
        REQUIRE(got[q][i].psn == want[q][i].psn);
        CHECK((got[q][i].opcode == 0x12) == (want[q][i].opcode == 0x12));
        if (want[q][i].opcode == 0x12) CHECK(got[q][i].value == want[q][i].value);
        CHECK((got[q][i].bytes == want[q][i].bytes));
      }
    }
  }

  Bench<Top> bench;
  Top& top;
  LookupServer ctx, mr;
  StreamSource<Bits> ackq, wr;
  StreamSource<Beat> wd;
  StreamSink<Beat> out;
  unsigned mtu = 5;
  std::array<uint32_t, kQps> psn{};
  std::array<std::vector<Packet>, kQps> want, got;
  std::map<uint64_t, uint8_t> memory, expect;
  uint64_t tickets = 0;

 private:
  struct Read {
    uint8_t id = 0;
    uint64_t addr = 0;
    unsigned beats = 0, beat = 0;
    uint64_t due = 0;
  };
  void take(const Beat& b) {
    const auto q = static_cast<unsigned>(kTxPkt.get(b.pkt, "qpn"));
    Packet& p = current_;
    if (p.first == 0) {
      p.first = bench.cycle();
      p.opcode = static_cast<uint8_t>(kTxPkt.get(b.pkt, "opcode"));
      p.psn = static_cast<uint32_t>(kTxPkt.get(b.pkt, "psn"));
      p.value = kTxPkt.get(b.pkt, "op0");
    }
    for (unsigned i = 0; i < b.cnt; ++i) p.bytes.push_back(b.data.byte(i));
    if (!b.last) return;
    p.last = bench.cycle();
    got.at(q).push_back(p);
    current_ = {};
  }
  void sample() {
    if (top.awvalid != 0 && top.awready != 0) write_addr_.push_back(top.awaddr / kB * kB);
    if (top.wvalid != 0 && top.wready != 0) {
      rows_.push_back({read_pin(top.wdata), 0, top.wlast != 0, read_pin(top.wstrb)});
    }
    while (!write_addr_.empty() && !rows_.empty()) {
      const Beat& r = rows_.front();
      for (size_t i = 0; i < kB; ++i) {
        if (r.pkt.bit(i)) byte(write_addr_.front() + i) = r.data.byte(i);
      }
      write_addr_.front() += kB;
      if (r.last) {
        write_addr_.pop_front();
        ++responses_;
      }
      rows_.pop_front();
    }
    if (top.bvalid != 0 && top.bready != 0) --responses_;
    if (top.rvalid != 0 && top.rready != 0) {
      if (++reads_.front().beat == reads_.front().beats) reads_.pop_front();
    }
    if (top.arvalid != 0 && top.arready != 0) {
      reads_.push_back(
          {top.arid, top.araddr / kB * kB, top.arlen + 1u, 0, bench.cycle() + latency_});
    }
  }
  void drive() {
    top.arready = !stall_();
    top.awready = !stall_();
    top.wready = !stall_();
    top.bvalid = responses_ > 0;
    top.rvalid = 0;
    if (reads_.empty() || reads_.front().due > bench.cycle()) return;
    Read& r = reads_.front();
    top.rvalid = 1;
    top.rid = r.id;
    top.rlast = r.beat + 1 == r.beats;
    top.rresp = 0;
    Bits data(kB * 8);
    for (size_t i = 0; i < kB; ++i) data.set_byte(i, byte(r.addr + r.beat * kB + i));
    write_pin(top.rdata, data);
  }

  unsigned latency_;
  Stall stall_;
  Packet current_;
  std::deque<Read> reads_;
  std::deque<uint64_t> write_addr_;
  std::deque<Beat> rows_;
  unsigned responses_ = 0;
};

}  // namespace

TEMPLATE_TEST_CASE("READs see what WRITEs and ATOMICs before them left in memory", "",
                   Vresp_chain_w128, Vresp_chain_w1024) {
  for (double p : {0.0, 0.3}) {
    Chain<TestType> w(p == 0.0 ? 20 : 100, Stall::random(p));
    w.mtu = 3;
    auto random = rng("work");
    std::array<uint64_t, 8> last{};  // what a QP wrote last
    for (int i = 0; i < 300; ++i) {
      w.bench.wait(
          "room", [&] { return w.ackq.pending() == 0 && w.wr.pending() < 3; }, 20000);
      const auto q = static_cast<unsigned>(random.below(8));
      // At most 16 outstanding per QP.
      if (w.want[q].size() > w.got[q].size() + 12) continue;
      const uint64_t base = 0x10'0000 * (q + 1);
      switch (random.below(3)) {
        case 0:
          last[q] = base + random.below(3000);
          w.write(last[q], random.bytes(random.between(1, 1500)));
          break;
        case 1:
          w.read(q, base + random.below(3000), static_cast<uint32_t>(random.below(2500)));
          break;
        default:
          w.atomic(q, base + 8 * random.below(300), random.u64());
          // No WRITE of another kind comes between: they wait for the answer (fence).
          w.bench.wait(
              "fence", [&] { return w.got[q].size() == w.want[q].size(); }, 20000);
      }
      // A WRITE behind a READ may change what it reads: wait, as a fence would.
      if (random.chance(0.7)) {
        w.bench.wait(
            "fence", [&] { return w.got[q].size() == w.want[q].size(); }, 20000);
      } else if (w.want[q].size() > w.got[q].size()) {
        w.bench.wait(
            "answers", [&] { return w.got[q].size() == w.want[q].size(); }, 20000);
      }
    }
    w.finish();
  }
}

// 400 Gb/s take 41.8 cycles at 500 MHz for a response of 4 KB with its headers, preamble and gap.
TEST_CASE("a READ of 1 MB comes faster than the wire takes it, at any alignment of the source") {
  for (unsigned latency : {50u, 250u}) {
    for (uint64_t va : {0x1000'0000u, 0x1000'0041u}) {
      Chain<Vresp_chain_w1024> w(latency);
      w.read(0, va, 1u << 20);
      w.finish();
      const auto& g = w.got[0];
      const double cycles =
          static_cast<double>(g.back().last - g[16].last) / static_cast<double>(g.size() - 17);
      WARN(cycles << " cycles per packet of 4 KB, DMA reads of " << latency << " cycles, source "
                  << va % 128);
      // 64 tags of 512 bytes bound what 250 cycles allow.
      CHECK(cycles <= (latency == 50 ? 33.1 : 37.0));
    }
  }
}

TEST_CASE("READs of 64 B with 16 outstanding, and ATOMICs: cycles each") {
  {
    Chain<Vresp_chain_w1024> w(100);
    for (int i = 0; i < 400; ++i) {
      for (unsigned q = 0; q < 8; ++q) {
        if (w.want[q].size() - w.got[q].size() < 16)
          w.read(q, 0x1000 * (q + 1) + 64 * (i % 16), 64);
      }
      w.bench.tick(20);
    }
    const size_t before = w.got[0].size() + w.got[5].size();
    w.finish();
    uint64_t first = ~uint64_t{0}, last = 0, n = 0;
    for (const auto& g : w.got) {
      for (const auto& p : g) {
        first = std::min(first, p.first);
        last = std::max(last, p.last);
        ++n;
      }
    }
    WARN(static_cast<double>(last - first) / static_cast<double>(n)
         << " cycles per READ of 64 B, 8 QPs with 16 outstanding");
    CHECK(before > 0);
    CHECK(static_cast<double>(last - first) / static_cast<double>(n) <= 7.0);
  }
  Chain<Vresp_chain_w1024> w(100);
  for (int round = 0; round < 8; ++round) {
    for (unsigned i = 0; i < 16; ++i) {
      for (unsigned q = 0; q < 8; ++q) w.atomic(q, 0x1000 * (q + 1) + 8 * i, 1);
    }
    w.finish();
  }
  uint64_t first = ~uint64_t{0}, last = 0;
  for (const auto& g : w.got) {
    first = std::min(first, g[16].first);
    last = std::max(last, g[31].last);
  }
  WARN(static_cast<double>(last - first) / 128
       << " cycles per ATOMIC, 8 QPs with 16 outstanding, a DMA read of 100 cycles");
}
