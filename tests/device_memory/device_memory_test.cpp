// SPDX-License-Identifier: Apache-2.0
#include <Vdevmem_128.h>
#include <Vdevmem_512.h>

#include <deque>
#include <optional>

#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

struct D128 {
  using Top = Vdevmem_128;
  static constexpr uint32_t kB = 16, kBytes = 4096;
};
struct D512 {
  using Top = Vdevmem_512;
  static constexpr uint32_t kB = 64, kBytes = 8192;
};

// All four sides of the memory with a plain byte array as the model. Writes land in the model in
// the cycle in which they are taken, reads are compared with the model as it was when their row was
// read.
template <class C>
struct World {
  static constexpr uint32_t kB = C::kB, kRows = C::kBytes / C::kB;
  using Top = typename C::Top;
  struct Row {
    uint32_t row;
    Bits data, strb;
    bool operator==(const Row&) const = default;
  };
  struct Burst {
    uint32_t addr;
    uint8_t len;
    bool operator==(const Burst&) const = default;
  };
  struct Data {
    Bits data, strb;
    bool last;
    bool operator==(const Data&) const = default;
  };
  struct Read {
    Bits data;
    uint8_t resp;
    bool last;
    bool operator==(const Read&) const = default;
  };

  Bench<Top> bench;
  Rng random = rng("world");
  std::vector<uint8_t> model = std::vector<uint8_t>(C::kBytes);
  StreamSource<Row> dm_wr;
  StreamSource<uint32_t> dm_rd;
  StreamSource<Burst> aw, ar;
  StreamSource<Data> wd;
  StreamSink<uint64_t> b;
  StreamSink<Read> r;
  std::deque<Burst> writing;
  uint32_t beat = 0;
  std::deque<uint8_t> b_expected;
  bool write_bad = false;
  std::optional<uint32_t> read_row;  // DMA read whose data are there now
  uint64_t dm_reads = 0;

  World()
      : dm_wr(bench, "dm_wr", bench.top().dm_wr_valid, bench.top().dm_wr_ready,
              [this](const Row& x) {
                auto& t = bench.top();
                t.dm_wr_row = x.row;
                write_pin(t.dm_wr_data, x.data);
                write_pin(t.dm_wr_strb, x.strb);
              }),
        dm_rd(bench, "dm_rd", bench.top().dm_rd_valid, bench.top().dm_rd_ready,
              [this](const uint32_t& x) { bench.top().dm_rd_row = x; }),
        aw(bench, "gdr_aw", bench.top().gdr_awvalid, bench.top().gdr_awready,
           [this](const Burst& x) {
             bench.top().gdr_awaddr = x.addr;
             bench.top().gdr_awlen = x.len;
           }),
        ar(bench, "gdr_ar", bench.top().gdr_arvalid, bench.top().gdr_arready,
           [this](const Burst& x) {
             bench.top().gdr_araddr = x.addr;
             bench.top().gdr_arlen = x.len;
           }),
        wd(bench, "gdr_w", bench.top().gdr_wvalid, bench.top().gdr_wready,
           [this](const Data& x) {
             auto& t = bench.top();
             write_pin(t.gdr_wdata, x.data);
             write_pin(t.gdr_wstrb, x.strb);
             t.gdr_wlast = x.last;
           }),
        b(bench, "gdr_b", bench.top().gdr_bvalid, bench.top().gdr_bready,
          [this] { return uint64_t{bench.top().gdr_bresp}; }),
        r(bench, "gdr_r", bench.top().gdr_rvalid, bench.top().gdr_rready, [this] {
          auto& t = bench.top();
          return Read{read_pin(t.gdr_rdata), t.gdr_rresp, t.gdr_rlast != 0};
        }) {
    bench.on_sample([this] { sample(); });
    bench.reset({&bench.top().rst_i});
  }

  void put(uint32_t row, const Bits& data, const Bits& strb) {
    for (uint32_t i = 0; i < kB; ++i) {
      if (strb.bit(i)) model[row * kB + i] = data.byte(i);
    }
  }
  Bits row(uint32_t n) const { return Bits::from_bytes(std::span(model).subspan(n * kB, kB)); }

  void sample() {
    auto& t = bench.top();
    if (read_row) {
      ++dm_reads;
      if (!(read_pin(t.dm_rd_data) == read_expected))
        throw std::runtime_error("DMA read of row " + std::to_string(*read_row) + " is wrong");
      read_row.reset();
    }
    // Reads see what was written before this cycle.
    if (t.dm_rd_valid && t.dm_rd_ready) {
      read_row = t.dm_rd_row;
      read_expected = row(t.dm_rd_row);
    }
    if (t.dm_wr_valid && t.dm_wr_ready)
      put(t.dm_wr_row, read_pin(t.dm_wr_data), read_pin(t.dm_wr_strb));
    if (t.gdr_awvalid && t.gdr_awready) writing.push_back({t.gdr_awaddr, t.gdr_awlen});
    if (t.gdr_wvalid && t.gdr_wready) {
      if (writing.empty()) throw std::runtime_error("data taken before their address");
      const uint64_t n = writing.front().addr / kB + beat++;
      if (n < kRows) put(static_cast<uint32_t>(n), read_pin(t.gdr_wdata), read_pin(t.gdr_wstrb));
      write_bad |= n >= kRows;
      if (t.gdr_wlast) {
        b_expected.push_back(write_bad ? 2 : 0);
        write_bad = false;
        beat = 0;
        writing.pop_front();
      }
    }
  }
  Bits read_expected;

  void gdr_write(uint32_t addr, uint8_t len) {
    aw.push({addr, len});
    for (uint32_t i = 0; i <= len; ++i) {
      wd.push({Bits::random(random, kB * 8), random.chance(0.5) ? Bits::random(random, kB) : all(),
               i == len});
    }
  }
  Bits all() const {
    Bits x(kB);
    for (uint32_t i = 0; i < kB; ++i) x.set(i, 1, 1);
    return x;
  }
  void finish() {
    bench.wait(
        "all writes",
        [&] {
          return dm_wr.pending() + dm_rd.pending() + aw.pending() + wd.pending() + ar.pending() ==
                     0 &&
                 b.size() == b_expected.size();
        },
        100000);
    for (size_t i = 0; i < b_expected.size(); ++i) CHECK(b[i] == b_expected[i]);
  }
  // Everything through both read ports.
  void compare() {
    finish();
    r.clear();
    for (uint32_t n = 0; n < kRows; ++n) dm_rd.push(n);
    for (uint32_t n = 0; n < kRows; n += 64) ar.push({n * kB, 63});
    r.wait(kRows, 100000);
    finish();
    bench.tick(3);
    for (uint32_t n = 0; n < kRows; ++n) {
      INFO("row " << n);
      CHECK(r[n].data == row(n));
      CHECK(r[n].resp == 0);
      CHECK(r[n].last == (n % 64 == 63));
    }
  }
  void fill() {
    for (uint32_t n = 0; n < kRows; ++n) dm_wr.push({n, Bits::random(random, kB * 8), all()});
    finish();
  }
};

}  // namespace

TEMPLATE_TEST_CASE(
    "device_memory keeps what both ports write, byte by byte, under stalls on every side", "", D128,
    D512) {
  World<TestType> w;
  w.fill();
  w.compare();
  for (int round = 0; round < 4; ++round) {
    const double p[] = {0, 0.2, 0.6, 0.9};
    w.dm_wr.set_stall(Stall::random(p[w.random.below(4)]));
    w.dm_rd.set_stall(Stall::random(p[w.random.below(4)]));
    w.aw.set_stall(Stall::random(p[w.random.below(4)]));
    w.ar.set_stall(Stall::random(p[w.random.below(4)]));
    w.wd.set_stall(Stall::random(p[w.random.below(4)]));
    w.b.set_stall(Stall::random(p[w.random.below(4)]));
    w.r.set_stall(Stall::random(p[w.random.below(4)]));
    for (int i = 0; i < 120; ++i) {
      w.dm_wr.push({static_cast<uint32_t>(w.random.below(w.kRows)),
                    Bits::random(w.random, w.kB * 8), Bits::random(w.random, w.kB)});
      w.dm_rd.push(static_cast<uint32_t>(w.random.below(w.kRows)));
      if (i % 4 == 0) {
        const uint8_t len = static_cast<uint8_t>(w.random.below(i % 3 == 0 ? 1 : 12));
        w.gdr_write(
            static_cast<uint32_t>(w.random.below(w.kRows - len) * w.kB + w.random.below(w.kB)),
            len);
      }
    }
    w.compare();
  }
  CHECK(w.dm_reads >= 480);
}

TEMPLATE_TEST_CASE(
    "device_memory gives each port a beat every cycle alone, and half of them together", "", D128,
    D512) {
  World<TestType> w;
  w.fill();
  auto span = [](const std::vector<uint64_t>& c) { return c.back() - c.front(); };
  SECTION("DMA alone, both directions") {
    w.dm_wr.clear();
    for (uint32_t n = 0; n < 100; ++n) {
      w.dm_wr.push({n, Bits::random(w.random, w.kB * 8), w.all()});
      w.dm_rd.push(n);
    }
    w.finish();
    CHECK(span(w.dm_wr.cycles()) == 99);
    CHECK(span(w.dm_rd.cycles()) == 99);
  }
  SECTION("window alone: long bursts and bursts of one beat") {
    for (int i = 0; i < 4; ++i) w.gdr_write(0, 31);
    for (int i = 0; i < 50; ++i) w.gdr_write(0, 0);
    for (int i = 0; i < 4; ++i) w.ar.push({0, 31});
    for (int i = 0; i < 50; ++i) w.ar.push({0, 0});
    w.r.wait(178);
    w.finish();
    CHECK(span(w.wd.cycles()) == 177);
    CHECK(span(w.r.cycles()) == 177);
  }
  SECTION("together") {
    w.dm_wr.clear();
    for (uint32_t n = 0; n < 100; ++n) {
      w.dm_wr.push({n, Bits::random(w.random, w.kB * 8), w.all()});
      w.dm_rd.push(n);
    }
    for (int i = 0; i < 4; ++i) w.gdr_write(0, 24);
    for (int i = 0; i < 4; ++i) w.ar.push({0, 24});
    w.r.wait(100);
    w.finish();
    for (auto* c : {&w.dm_wr.cycles(), &w.dm_rd.cycles(), &w.wd.cycles(), &w.r.cycles()}) {
      CHECK(span(*c) >= 190);
      CHECK(span(*c) <= 206);
    }
  }
}

TEMPLATE_TEST_CASE("a window read takes 3 cycles from address to data", "", D128, D512) {
  World<TestType> w;
  w.fill();
  for (uint32_t i = 0; i < 5; ++i) {
    w.ar.push({i * w.kB, 0});
    w.r.wait(i + 1);
    CHECK(w.r.cycles().back() - w.ar.cycles().back() == 3);
    w.bench.tick(i);
  }
}

TEMPLATE_TEST_CASE("the window answers SLVERR beyond the memory, reads 0 there and writes nothing",
                   "", D128, D512) {
  World<TestType> w;
  w.fill();
  w.gdr_write(TestType::kBytes, 2);
  w.gdr_write(TestType::kBytes - w.kB, 3);  // one row inside
  w.gdr_write(0x8000'0000, 0);
  w.gdr_write(0, 0);
  w.finish();
  CHECK(w.b_expected == std::deque<uint8_t>{2, 2, 2, 0});
  w.ar.push({TestType::kBytes - w.kB, 1});
  w.ar.push({0xFFFF'F000, 0});
  w.r.wait(3);
  CHECK(w.r[0].resp == 0);
  CHECK(w.r[0].data == w.row(w.kRows - 1));
  for (int i : {1, 2}) {
    CHECK(w.r[i].resp == 2);
    CHECK(w.r[i].data == Bits(w.kB * 8));
  }
  w.compare();
}

TEMPLATE_TEST_CASE("a window read after the answer of a write sees it, also against DMA traffic",
                   "", D512) {
  World<TestType> w;
  w.fill();
  for (uint32_t i = 0; i < 50; ++i) {
    const size_t answers = w.b.size(), reads = w.r.size();
    for (uint32_t n = 0; n < 6; ++n) w.dm_wr.push({60 + n, Bits::random(w.random, 512), w.all()});
    w.gdr_write(i * 64, 0);
    w.b.wait(answers + 1);
    w.ar.push({i * 64, 0});
    w.r.wait(reads + 1);
    CHECK(w.r[reads].data == w.row(i));
  }
}

TEMPLATE_TEST_CASE("device_memory works after a reset in mid-burst and keeps its contents", "",
                   D128) {
  World<TestType> w;
  w.fill();
  w.gdr_write(0, 20);
  w.ar.push({0, 20});
  w.bench.tick(8);
  w.bench.reset({&w.bench->rst_i});
  w.writing.clear();
  w.beat = 0;
  w.b_expected.clear();
  w.b.clear();
  w.read_row.reset();
  for (auto clear : {&w.aw, &w.ar}) clear->clear();
  w.wd.clear();
  // The beat that met the reset may or may not have been written: write those rows anew. All others
  // must stand.
  for (uint32_t n = 0; n < 21; ++n) w.dm_wr.push({n, Bits::random(w.random, w.kB * 8), w.all()});
  w.compare();
  w.gdr_write(64, 3);
  w.compare();
}
