// SPDX-License-Identifier: Apache-2.0
//
// The generated register file of test_map.yaml against the reference in model.hpp, and its corner
// cases one by one. The map is typed here a second time, by hand.
#include <Vtse_csr.h>
#include <Vtst_csr.h>

#include <functional>

#include "axi_lite.hpp"
#include "model.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kTimeout = 40;

ModelMap test_map() {
  const auto rw = Kind::kRw, in = Kind::kIn, w1c = Kind::kW1c, pulse = Kind::kPulse, wt = Kind::kWt;
  return {
      .regs =
          {
              {"rw0",
               0x000,
               32,
               1,
               4,
               {{"a", 0, 8, rw, 0x5A}, {"b", 15, 1, rw, 1}, {"c", 16, 16, rw, 0x1234}}},
              {"ro0", 0x004, 32, 1, 4, {{"live", 0, 16, in}, {"k", 24, 8, Kind::kConst, 0xC3}}},
              {"ev", 0x008, 32, 1, 4, {{"ev", 0, 4, w1c}, {"err", 16, 16, w1c, 0x8001}}},
              {"pu", 0x00C, 32, 1, 4, {{"go", 0, 1, pulse}, {"multi", 8, 4, pulse}}},
              {"wt", 0x010, 32, 1, 4, {{"index", 0, 16, wt, 0x77}, {"arm", 31, 1, wt}}},
              {"mix",
               0x014,
               32,
               1,
               4,
               {{"mode", 0, 4, rw, 9},
                {"ev", 8, 1, w1c},
                {"kick", 16, 1, pulse},
                {"st", 24, 8, in}}},
              {"wide", 0x018, 64, 1, 8, {{"v", 0, 64, rw, 0x0123456789ABCDEF}}},
              {"live", 0x020, 64, 1, 8, {{"count", 0, 64, Kind::kInOut}}},
              {"wmix",
               0x028,
               64,
               1,
               8,
               {{"lo", 0, 16, rw, 0xBEEF},
                {"mid", 16, 32, rw},
                {"ev", 48, 4, w1c},
                {"go", 60, 1, pulse}}},
              {"cnt", 0x030, 64, 1, 8, {{"n", 0, 56, in}}},
              {"arr", 0x040, 32, 3, 8, {{"v", 0, 16, rw, 0x11}, {"e", 16, 5, w1c}}},
              {"trg", 0x044, 32, 3, 8, {{"v", 0, 8, wt, 3}, {"s", 28, 4, in}}},
              {"aw", 0x080, 64, 2, 0x20, {{"v", 0, 64, rw, 0xFF}}},
          },
      .windows = {{"wa", 0x200, 0x40, true}, {"wb", 0x240, 4, false}, {"wc", 0x280, 0x80, true}},
      .capture = 0x100,
      .window_timeout = kTimeout,
  };
}

// Element i of `width` bits in a port of any Verilated type.
template <class T>
uint64_t get_element(const T& pin, unsigned i, unsigned width) {
  if constexpr (std::is_integral_v<T>) {
    const uint64_t v = static_cast<uint64_t>(pin) >> (i * width);
    return width >= 64 ? v : v & ((1ULL << width) - 1);
  } else {
    uint64_t v = 0;
    for (unsigned b = 0; b < width; ++b) {
      const unsigned at = i * width + b;
      v |= static_cast<uint64_t>(pin[at / 32] >> (at % 32) & 1U) << b;
    }
    return v;
  }
}

template <class T>
void set_element(T& pin, unsigned i, unsigned width, uint64_t v) {
  static_assert(std::is_integral_v<T>);
  const uint64_t m = (width >= 64 ? ~0ULL : (1ULL << width) - 1) << (i * width);
  pin = static_cast<T>((static_cast<uint64_t>(pin) & ~m) | (v << (i * width)));
}

struct OutPin {
  std::string name;
  unsigned count, width;
  std::function<uint64_t(unsigned)> get;
};
struct InPin {
  std::string name;
  unsigned count, width;
  bool event;  // set pulses
  std::function<void(unsigned, uint64_t)> set;
};

#define OUT_PIN(port, count, width)                                                       \
  {                                                                                       \
#port, count, width, [this](unsigned i) { return get_element(top().port, i, width); } \
  }
#define IN_PIN(port, count, width, event)                                        \
  {                                                                              \
#port, count, width, event,                                                  \
        [this](unsigned i, uint64_t v) { set_element(top().port, i, width, v); } \
  }

struct TstBench : Bench<Vtst_csr> {
  std::vector<OutPin> outs = {
      OUT_PIN(rw0_a_o, 1, 8),         OUT_PIN(rw0_b_o, 1, 1),     OUT_PIN(rw0_c_o, 1, 16),
      OUT_PIN(ev_ev_o, 1, 4),         OUT_PIN(ev_err_o, 1, 16),   OUT_PIN(pu_go_o, 1, 1),
      OUT_PIN(pu_multi_o, 1, 4),      OUT_PIN(wt_index_o, 1, 16), OUT_PIN(wt_arm_o, 1, 1),
      OUT_PIN(wt_we_o, 1, 1),         OUT_PIN(mix_mode_o, 1, 4),  OUT_PIN(mix_ev_o, 1, 1),
      OUT_PIN(mix_kick_o, 1, 1),      OUT_PIN(wide_v_o, 1, 64),   OUT_PIN(live_count_o, 1, 64),
      OUT_PIN(live_count_we_o, 1, 1), OUT_PIN(wmix_lo_o, 1, 16),  OUT_PIN(wmix_mid_o, 1, 32),
      OUT_PIN(wmix_ev_o, 1, 4),       OUT_PIN(wmix_go_o, 1, 1),   OUT_PIN(arr_v_o, 3, 16),
      OUT_PIN(arr_e_o, 3, 5),         OUT_PIN(trg_v_o, 3, 8),     OUT_PIN(trg_we_o, 3, 1),
      OUT_PIN(aw_v_o, 2, 64),
  };
  std::vector<InPin> ins = {
      IN_PIN(ro0_live_i, 1, 16, false), IN_PIN(ev_ev_i, 1, 4, true),
      IN_PIN(ev_err_i, 1, 16, true),    IN_PIN(mix_ev_i, 1, 1, true),
      IN_PIN(mix_st_i, 1, 8, false),    IN_PIN(live_count_i, 1, 64, false),
      IN_PIN(wmix_ev_i, 1, 4, true),    IN_PIN(cnt_n_i, 1, 56, false),
      IN_PIN(arr_e_i, 3, 5, true),      IN_PIN(trg_s_i, 3, 4, false),
  };
  CData* ack[3] = {&top().wa_ack_i, &top().wb_ack_i, &top().wc_ack_i};
  IData* rdata[3] = {&top().wa_rdata_i, &top().wb_rdata_i, &top().wc_rdata_i};

  unsigned requests() { return top().wa_req_o | top().wb_req_o << 1 | top().wc_req_o << 2; }
};

// Random masters, hardware and window slaves; every port is compared with the reference after every
// edge.
class RandomRun : public Agent {
 public:
  struct Mix {
    double aw, w, ar, bready, rready, event, ack;
  };

  RandomRun(TstBench& bench, CsrModel& model, Mix mix, Rng random)
      : bench_(bench), model_(model), mix_(mix), rng_(random) {
    for (const auto& p : bench_.ins) in_.hw[p.name].assign(p.count, 0);
    in_.ack.assign(3, false);
    in_.rdata.assign(3, 0);
    choose();
    bench_.attach(*this);
  }

  const std::string& mismatch() const { return mismatch_; }

  void drive() override {
    compare();
    choose();
  }

  void on_reset() override {
    in_.reset = true;
    model_.step(in_);
    in_.reset = false;
    in_.awvalid = in_.wvalid = in_.arvalid = false;
    took_aw_ = took_w_ = took_ar_ = false;
    choose();
  }

  void sample() override {
    took_aw_ = in_.awvalid && bench_->s_awready != 0;
    took_w_ = in_.wvalid && bench_->s_wready != 0;
    took_ar_ = in_.arvalid && bench_->s_arready != 0;
    model_.step(in_);
  }

 private:
  void expect(const std::string& what, uint64_t got, uint64_t want) {
    if (got == want || !mismatch_.empty()) return;
    std::ostringstream s;
    s << "cycle " << bench_.cycle() << ": " << what << std::hex << " is " << got << ", expected "
      << want;
    mismatch_ = s.str();
  }

  void compare() {
    auto& t = bench_.top();
    expect("s_awready", t.s_awready, model_.awready());
    expect("s_wready", t.s_wready, model_.wready());
    expect("s_arready", t.s_arready, model_.arready());
    expect("s_bvalid", t.s_bvalid, model_.bvalid());
    expect("s_rvalid", t.s_rvalid, model_.rvalid());
    if (model_.rvalid()) expect("s_rdata", t.s_rdata, model_.rdata());
    expect("s_bresp", t.s_bresp, 0);
    expect("s_rresp", t.s_rresp, 0);
    expect("bad_access_pulse_o", t.bad_access_pulse_o, model_.bad_pulse());
    for (const auto& p : bench_.outs) {
      for (unsigned i = 0; i < p.count; ++i) {
        expect(p.name + "[" + std::to_string(i) + "]", p.get(i), model_.out(p.name, i));
      }
    }
    expect("window requests", bench_.requests(), model_.window() < 0 ? 0 : 1U << model_.window());
    if (model_.window() == 0) {
      expect("wa_addr_o", t.wa_addr_o, model_.window_addr());
      expect("wa_we_o", t.wa_we_o, model_.window_write());
    } else if (model_.window() == 1) {
      expect("wb_addr_o", t.wb_addr_o, model_.window_addr());
    } else if (model_.window() == 2) {
      expect("wc_addr_o", t.wc_addr_o, model_.window_addr());
      expect("wc_we_o", t.wc_we_o, model_.window_write());
    }
    if (model_.window() == 0 && model_.window_write()) {
      expect("wa_wdata_o", t.wa_wdata_o, model_.window_wdata());
      expect("wa_wstrb_o", t.wa_wstrb_o, model_.window_wstrb());
    }
    if (model_.window() == 2 && model_.window_write()) {
      expect("wc_wdata_o", t.wc_wdata_o, model_.window_wdata());
      expect("wc_wstrb_o", t.wc_wstrb_o, model_.window_wstrb());
    }
  }

  uint32_t pick_address() {
    const auto r = rng_.below(100);
    if (r < 70) return static_cast<uint32_t>(rng_.below(0x110));  // registers and near holes
    if (r < 90) return static_cast<uint32_t>(0x1F0 + rng_.below(0x120));  // windows and their edges
    if (r < 95)
      return static_cast<uint32_t>(1U << rng_.between(4, 11));  // what an aliased decode would take
    return static_cast<uint32_t>(rng_.below(0x1000));
  }

  uint32_t pick_data() {
    switch (rng_.below(4)) {
      case 0:
        return 0;
      case 1:
        return 0xFFFFFFFF;
      default:
        return rng_.u32();
    }
  }

  void choose() {
    auto& t = bench_.top();
    if (took_aw_) in_.awvalid = false;
    if (took_w_) in_.wvalid = false;
    if (took_ar_) in_.arvalid = false;
    if (!in_.awvalid && rng_.chance(mix_.aw)) {
      in_.awvalid = true;
      in_.awaddr = pick_address();
    }
    if (!in_.wvalid && rng_.chance(mix_.w)) {
      in_.wvalid = true;
      in_.wdata = pick_data();
      in_.wstrb = static_cast<uint32_t>(rng_.chance(0.4) ? 0xF : rng_.below(16));
    }
    if (!in_.arvalid && rng_.chance(mix_.ar)) {
      in_.arvalid = true;
      in_.araddr = pick_address();
    }
    took_aw_ = took_w_ = took_ar_ = false;
    in_.bready = rng_.chance(mix_.bready);
    in_.rready = rng_.chance(mix_.rready);
    for (const auto& p : bench_.ins) {
      for (unsigned i = 0; i < p.count; ++i) {
        auto& v = in_.hw[p.name][i];
        if (p.event) {
          v = rng_.chance(mix_.event) ? rng_.bits(p.width) : 0;
        } else if (rng_.chance(0.3)) {
          v = rng_.bits(p.width);
        }
        p.set(i, v);
      }
    }
    // Now and then nobody answers for so long that the time-out comes.
    if (dead_left_ > 0) {
      --dead_left_;
    } else if (rng_.chance(0.002)) {
      dead_left_ = 3 * kTimeout;
    }
    for (unsigned k = 0; k < 3; ++k) {
      in_.ack[k] = dead_left_ == 0 && rng_.chance(mix_.ack);
      in_.rdata[k] = rng_.u32();
      *bench_.ack[k] = in_.ack[k];
      *bench_.rdata[k] = in_.rdata[k];
    }
    t.s_awvalid = in_.awvalid;
    t.s_wvalid = in_.wvalid;
    t.s_arvalid = in_.arvalid;
    t.s_bready = in_.bready;
    t.s_rready = in_.rready;
    t.s_awaddr = static_cast<SData>(in_.awaddr);
    t.s_wdata = in_.wdata;
    t.s_wstrb = static_cast<CData>(in_.wstrb);
    t.s_araddr = static_cast<SData>(in_.araddr);
  }

  TstBench& bench_;
  CsrModel& model_;
  Mix mix_;
  Rng rng_;
  ModelInputs in_;
  bool took_aw_ = false, took_w_ = false, took_ar_ = false;
  unsigned dead_left_ = 0;
  std::string mismatch_;
};

void run_random(RandomRun::Mix mix, uint64_t cycles, bool resets) {
  TstBench bench;
  CsrModel model(test_map());
  RandomRun run(bench, model, mix, rng("run"));
  auto reset_rng = rng("reset");
  bench.reset();
  CsrModel::Coverage sum;
  for (uint64_t done = 0; done < cycles && run.mismatch().empty(); done += 500) {
    bench.tick(500);
    if (resets && reset_rng.chance(0.3)) bench.reset(reset_rng.between(1, 3));
  }
  REQUIRE(run.mismatch() == "");
  const auto& c = model.coverage();
  CHECK(c.reads > cycles / 50);
  CHECK(c.writes > cycles / 50);
  CHECK(c.bad > 10);
  CHECK(c.timeouts > 0);
  CHECK(c.zero_strobe > 0);
  CHECK(c.commits > 0);
  CHECK(c.snapshots > 0);
  CHECK(c.captures > 0);
  CHECK(c.window_ops > 10);
  if (mix.event > 0.1) CHECK(c.set_and_clear > 10);
}

struct Directed {
  TstBench bench;
  AxiLite<Vtst_csr> axi{bench};
  Directed() {
    for (auto& p : bench.ins) {
      for (unsigned i = 0; i < p.count; ++i) p.set(i, 0);
    }
    for (unsigned k = 0; k < 3; ++k) *bench.ack[k] = 0;
    bench.reset();
  }
  void write64(uint32_t at, uint64_t v) {
    axi.write(at, static_cast<uint32_t>(v));
    axi.write(at + 4, static_cast<uint32_t>(v >> 32));
  }
  uint64_t read64(uint32_t at) {
    const uint64_t lo = axi.read(at).data;
    return lo | static_cast<uint64_t>(axi.read(at + 4).data) << 32;
  }
};

}  // namespace

TEST_CASE("csr agrees with its reference under random software, hardware and windows") {
  run_random(
      {.aw = 0.5, .w = 0.5, .ar = 0.5, .bready = 0.7, .rready = 0.7, .event = 0.3, .ack = 0.3},
      60000, true);
}

TEST_CASE("csr agrees with its reference when both channels are saturated") {
  run_random({.aw = 1, .w = 1, .ar = 1, .bready = 1, .rready = 1, .event = 0.5, .ack = 0.9}, 40000,
             false);
}

TEST_CASE("csr agrees with its reference when answers are rarely taken") {
  run_random(
      {.aw = 0.6, .w = 0.2, .ar = 0.6, .bready = 0.15, .rready = 0.15, .event = 0.05, .ack = 0.2},
      40000, true);
}

TEST_CASE("csr agrees with its reference over a long random run", "[.soak]") {
  run_random(
      {.aw = 0.5, .w = 0.6, .ar = 0.4, .bready = 0.6, .rready = 0.6, .event = 0.3, .ack = 0.25},
      2000000, true);
}

TEST_CASE("csr answers a read two cycles after the address, a write likewise") {
  Directed d;
  CHECK(d.axi.read(0x000).cycles == 2);
  d.axi.write(0x000, 0);
  CHECK(d.axi.read(0x01C).cycles == 2);
}

TEST_CASE("csr takes address first, data first and both together") {
  Directed d;
  const auto order =
      GENERATE(WriteOrder::kTogether, WriteOrder::kAddressFirst, WriteOrder::kDataFirst);
  CHECK(d.axi.write(0x000, 0xABCD80EE, 0xF, order) == 0);
  CHECK(d.axi.read(0x000).data == 0xABCD80EE);
}

TEST_CASE("csr writes exactly the strobed bytes, for all sixteen strobes") {
  Directed d;
  for (unsigned strb = 0; strb < 16; ++strb) {
    d.axi.write(0x000, 0x5555805A);
    d.axi.write(0x000, 0xAAAA00A5, strb);
    uint32_t want = 0x5555805A;
    for (unsigned i = 0; i < 4; ++i) {
      if ((strb >> i & 1) != 0) want = (want & ~(0xFFU << 8 * i)) | (0xAAAA00A5U & 0xFFU << 8 * i);
    }
    CAPTURE(strb);
    CHECK(d.axi.read(0x000).data == want);
  }
}

TEST_CASE("an event is not lost when software clears the same bit in the same cycle") {
  Directed d;
  // The write executes one cycle after both are taken: place the event before, in and after that
  // cycle.
  for (int delay = 0; delay < 4; ++delay) {
    d.axi.write(0x008, 0xFFFFFFFF);
    d.bench->ev_ev_i = 0x3;
    d.bench.tick();
    d.bench->ev_ev_i = 0;
    REQUIRE(d.axi.read(0x008).data == 0x3);
    int cycle = 0;
    bool done = false;
    d.bench->s_awaddr = 0x008;
    d.bench->s_wdata = 0x1;
    d.bench->s_wstrb = 0xF;
    d.bench->s_awvalid = d.bench->s_wvalid = 1;
    uint64_t event_edge = 0, exec_edge = 1;
    while (!done) {
      d.bench->ev_ev_i = cycle == delay ? 0x1 : 0;
      if (cycle == delay) event_edge = static_cast<uint64_t>(cycle);
      d.bench.tick();
      d.bench->s_awvalid = d.bench->s_wvalid = 0;
      done = ++cycle == 6;
    }
    CAPTURE(delay);
    // Bit 1 was never cleared; bit 0 survives if its event came with the clear or after it.
    CHECK(d.axi.read(0x008).data == (event_edge >= exec_edge ? 0x3U : 0x2U));
  }
}

TEST_CASE("a W1C of some bits leaves the others, and writing zero clears nothing") {
  Directed d;
  CHECK(d.axi.read(0x008).data == 0x80010000);  // reset value
  d.bench->ev_err_i = 0x0FF0;
  d.bench.tick();
  d.bench->ev_err_i = 0;
  d.axi.write(0x008, 0);
  CHECK(d.axi.read(0x008).data == 0x8FF10000);
  d.axi.write(0x008, 0x80F00000);
  CHECK(d.axi.read(0x008).data == 0x0F010000);
  d.axi.write(0x008, 0xFFFFFFFF, 0x4);  // only byte 2 is strobed
  CHECK(d.axi.read(0x008).data == 0x0F000000);
}

TEST_CASE(
    "a 64-bit write shows nothing until its high word, and the strobes of the low word add up") {
  Directed d;
  d.axi.write(0x018, 0x11223344, 0x3);
  d.axi.write(0x018, 0x55667788, 0x4);
  CHECK(d.read64(0x018) == 0x0123456789ABCDEF);
  CHECK(d.bench->wide_v_o == 0x0123456789ABCDEF);
  d.axi.write(0x01C, 0, 0x0);  // no strobe: no commit
  CHECK(d.bench->wide_v_o == 0x0123456789ABCDEF);
  d.axi.write(0x01C, 0xCAFEF00D, 0x8);
  CHECK(d.bench->wide_v_o == 0xCA23456789663344);
  d.axi.write(0x01C, 0x00000000);  // the low word is used up
  CHECK(d.bench->wide_v_o == 0x0000000089663344);
}

TEST_CASE("a live 64-bit counter is read whole while it counts") {
  Directed d;
  uint64_t count = 0x00000001FFFFFFF0;
  d.bench.on_drive([&] { d.bench->live_count_i = ++count; });
  for (int i = 0; i < 40; ++i) {
    const uint64_t before = count;
    const uint64_t got = d.read64(0x020);
    CAPTURE(before, got, count);
    CHECK(got >= before);
    CHECK(got <= count);
  }
  // Without a low read in front, the high word is the live one.
  count = 0x0000000700000000;
  d.bench.tick();
  CHECK(d.axi.read(0x024).data == 7);
}

TEST_CASE("writing a live counter hands the whole value to hardware once") {
  Directed d;
  uint64_t pulses = 0, value = 0;
  d.bench.on_sample([&] {
    if (d.bench->live_count_we_o != 0) {
      ++pulses;
      value = d.bench->live_count_o;
    }
  });
  d.axi.write(0x020, 0x89ABCDEF);
  CHECK(pulses == 0);
  d.axi.write(0x024, 0x01234567);
  d.bench.tick(3);
  CHECK(pulses == 1);
  CHECK(value == 0x0123456789ABCDEF);
}

TEST_CASE("a pulse lasts one cycle and a write without strobes makes none") {
  Directed d;
  uint64_t go = 0, multi = 0, we = 0;
  d.bench.on_sample([&] {
    go += d.bench->pu_go_o;
    multi += d.bench->pu_multi_o;
    we += d.bench->wt_we_o;
  });
  d.axi.write(0x00C, 0x501);
  d.bench.tick(5);
  CHECK(go == 1);
  CHECK(multi == 5);
  CHECK(d.axi.read(0x00C).data == 0);
  d.axi.write(0x00C, 0x501, 0x2);
  d.bench.tick(5);
  CHECK(go == 1);
  CHECK(multi == 10);
  d.axi.write(0x00C, 0x501, 0x0);
  d.axi.write(0x010, 0x501, 0x0);
  d.axi.write(0x010, 0x501, 0x4);  // no field in that byte
  CHECK(we == 0);
  d.axi.write(0x010, 0x80000501);
  d.bench.tick(2);
  CHECK(we == 1);
  CHECK(d.axi.read(0x010).data == 0x80000501);
}

TEST_CASE(
    "holes read all ones, ignore writes, and the first bad access is kept until software arms "
    "again") {
  Directed d;
  uint64_t pulses = 0;
  d.bench.on_sample([&] { pulses += d.bench->bad_access_pulse_o; });
  CHECK(d.axi.read(0x100).data == 0);
  const auto r = d.axi.read(0x0F8);
  CHECK(r.data == 0xFFFFFFFF);
  CHECK(r.resp == 0);
  CHECK(d.axi.write(0x0FC, 0x12345678) == 0);
  CHECK(d.axi.write(0x004, 0) == 0);            // read-only register
  CHECK(d.axi.write(0x240, 0) == 0);            // read-only window
  CHECK(d.axi.write(0x0FC, 0, 0) == 0);         // without strobes: nothing
  CHECK(d.axi.read(0x404).data == 0xFFFFFFFF);  // decoded elsewhere
  d.bench.tick(2);
  CHECK(pulses == 5);
  CHECK(d.axi.read(0x100).data == (0x80000000 | 0x0F8));
  d.axi.write(0x100, 0x7FFFFFFF);  // not the valid bit
  CHECK(d.axi.read(0x100).data == (0x80000000 | 0x0F8));
  d.axi.write(0x100, 0x80000000);
  CHECK((d.axi.read(0x100).data >> 31) == 0);
  d.axi.write(0xFFC, 1);
  CHECK(d.axi.read(0x100).data == (0xC0000000 | 0xFFC));
}

TEST_CASE("no address bit is ignored") {
  Directed d;
  d.axi.write(0x000, 0xABCD80EE);
  for (unsigned bit = 8; bit < 12; ++bit) {
    const uint32_t at = 1U << bit;
    if (at == 0x100 || at == 0x200) continue;  // a register and a window of their own
    CAPTURE(at);
    CHECK(d.axi.read(at).data == 0xFFFFFFFF);
    d.axi.write(at, 0);
    CHECK(d.axi.read(0x000).data == 0xABCD80EE);
  }
}

TEST_CASE("a window request stays until its acknowledge and gives up at the time-out") {
  Directed d;
  uint64_t req_cycles = 0;
  d.bench.on_sample([&] { req_cycles += d.bench->wa_req_o; });
  SECTION("acknowledged at once") {
    d.bench->wa_ack_i = 1;
    d.bench->wa_rdata_i = 0xFEEDBEEF;
    const auto r = d.axi.read(0x23C);
    CHECK(r.data == 0xFEEDBEEF);
    CHECK(r.cycles == 3);
    CHECK(req_cycles == 1);
  }
  SECTION("never acknowledged") {
    const auto r = d.axi.read(0x204, 200);
    CHECK(r.data == 0xFFFFFFFF);
    CHECK(req_cycles == kTimeout);
    CHECK(d.axi.read(0x100).data == (0x80000000 | 0x204));
    CHECK(d.axi.write(0x208, 1, 0xF, WriteOrder::kTogether, 200) == 0);
    CHECK(req_cycles == 2 * kTimeout);
    CHECK(d.axi.read(0x000).data == 0x12348000 + 0x5A);  // the file goes on
  }
}

TEST_CASE("csr that answers SLVERR does so for holes, read-only places and silent windows") {
  Bench<Vtse_csr> bench;
  AxiLite<Vtse_csr> axi(bench);
  bench->w_ack_i = 0;
  bench.reset();
  CHECK(axi.read(0x0).data == 5);
  CHECK(axi.write(0x0, 77) == 0);
  CHECK(axi.read(0x0).data == 77);
  bench->b_v_i = 0x12345678;
  CHECK(axi.read(0x4).data == 0x12345678);
  CHECK(axi.read(0x4).resp == 0);
  CHECK(axi.write(0x4, 1) == 2);
  const auto hole = axi.read(0x8);
  CHECK(hole.resp == 2);
  CHECK(hole.data == 0);
  CHECK(axi.write(0x8, 1) == 2);
  CHECK(axi.write(0x8, 1, 0) == 0);
  CHECK(axi.write(0x14, 1) == 2);
  const auto silent = axi.read(0x14);
  CHECK(silent.resp == 2);
  CHECK(silent.data == 0);
  bench->w_ack_i = 1;
  bench->w_rdata_i = 9;
  CHECK(axi.read(0x14).resp == 0);
  CHECK(axi.read(0x14).data == 9);
  CHECK(axi.read(0x0).resp == 0);
}
