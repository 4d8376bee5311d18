// SPDX-License-Identifier: Apache-2.0
#include "harness/wire/wire.hpp"

#include <atomic>
#include <cstdlib>
#include <deque>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"
#include "harness/roce/frame.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::wire;
namespace roce = rnic::roce;
using rnic::test::contains_text;

namespace {
std::atomic<uint64_t> g_allocations{0};
}  // namespace

// The pair below belongs together; GCC 14 sees only one half where it inlines.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t n) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  void* p = std::malloc(n ? n : 1);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

std::vector<uint8_t> frame_of(uint32_t length, uint32_t seed) {
  std::vector<uint8_t> f(length);
  for (uint32_t i = 0; i < length; ++i) f[i] = static_cast<uint8_t>(seed * 31 + i * 7 + (i >> 8));
  return f;
}

// A NIC's transmit stream: frames in order, cut into beats; `dry` of 1000 edges offer nothing.
class Source {
 public:
  Source(TxPort& port, uint32_t width) : port_(port), width_(width) {}
  void add(std::vector<uint8_t> f, bool err = false) { frames_.push_back({std::move(f), err}); }
  bool idle() const { return frames_.empty(); }
  void edge(TimePs now, bool offer = true) {
    const bool was_ready = port_.ready();
    TxBeat b;
    const bool valid = offer && !frames_.empty();
    if (valid) {
      const auto& f = frames_.front();
      b.data = f.bytes.data() + at_;
      b.nbytes = std::min<uint32_t>(width_, static_cast<uint32_t>(f.bytes.size()) - at_);
      b.last = at_ + b.nbytes == f.bytes.size();
      b.err = b.last && f.err;
    }
    port_.edge(now, valid ? &b : nullptr);
    if (valid && was_ready) {
      at_ += b.nbytes;
      if (b.last) {
        frames_.pop_front();
        at_ = 0;
      }
    }
  }

 private:
  struct Item {
    std::vector<uint8_t> bytes;
    bool err;
  };
  TxPort& port_;
  uint32_t width_;
  std::deque<Item> frames_;
  uint32_t at_ = 0;
};

struct Received {
  std::vector<uint8_t> bytes;
  std::vector<TimePs> beat_times;
  bool err = false;
};

class Sink {
 public:
  explicit Sink(RxPort& port) : port_(port) {}
  void edge(TimePs now) {
    RxBeat b;
    if (!port_.edge(now, b)) return;
    REQUIRE(b.first == (current_.bytes.empty()));
    current_.bytes.insert(current_.bytes.end(), b.data, b.data + b.nbytes);
    current_.beat_times.push_back(now);
    if (b.last) {
      current_.err = b.err;
      frames.push_back(std::move(current_));
      current_ = {};
    }
  }
  std::vector<Received> frames;

 private:
  RxPort& port_;
  Received current_;
};

// Records the wire times at both ends.
class Recorder : public FrameObserver {
 public:
  struct Entry {
    TimePs first, last;
    uint64_t number;
    FrameFlags flags;
    size_t length;
    int direction;
    uint32_t crc;  // register after the whole frame
  };
  void on_tx(const FrameInfo& f) override { tx.push_back(entry(f)); }
  void on_rx(const FrameInfo& f) override { rx.push_back(entry(f)); }
  std::vector<Entry> tx, rx;

 private:
  static Entry entry(const FrameInfo& f) {
    return {f.first_ps,
            f.last_ps,
            f.number,
            f.flags,
            f.bytes.size(),
            f.direction,
            roce::crc32_update(roce::kCrcInit, f.bytes)};
  }
};

TimePs exact_ceil(uint64_t bytes, uint64_t rate) {
  const auto total = static_cast<unsigned __int128>(bytes) * 8'000'000'000'000ull;
  return static_cast<TimePs>((total + rate - 1) / rate);
}

}  // namespace

TEST_CASE("wire time is exact at any rate, however many bytes pass") {
  for (uint64_t rate : {400'000'000'000ull, 100'000'000'000ull, 25'000'000'000ull,
                        399'999'999'937ull, 7ull * 1'000'000'000}) {
    WireClock c(rate);
    uint64_t bytes = 0;
    std::mt19937 rng(1);
    for (int i = 0; i < 20000; ++i) {
      const uint64_t n = rng() % 9000;
      c.advance(n);
      bytes += n;
      REQUIRE(c.ceil_ps() == exact_ceil(bytes, rate));
    }
  }
}

TEST_CASE("back-to-back frames start every L + 24 byte times and never run dry") {
  struct Shape {
    uint32_t width;
    TimePs period;
    uint64_t rate;
  };
  for (const Shape& s : {Shape{128, 1600, 400'000'000'000}, Shape{64, 1600, 200'000'000'000},
                         Shape{32, 1600, 100'000'000'000}, Shape{16, 1600, 50'000'000'000},
                         Shape{128, 1600, 640'000'000'000}, Shape{64, 1600, 10'000'000'000},
                         Shape{128, 1601, 399'999'999'937}}) {
    for (uint32_t length : {60u, 64u, 65u, 127u, 128u, 300u, 1500u, 4154u, 9216u}) {
      // A frame that is badly cut into beats can be slower on the stream than on the wire.
      const uint64_t beats = (length + s.width - 1) / s.width;
      const bool wire_bound = beats * s.period <= exact_ceil(length + 24, s.rate);
      Recorder rec;
      Link link({.rate_bps = s.rate, .delay_ps = 5000}, {s.width, s.period}, {s.width, s.period});
      link.add_observer(&rec);
      Source src(link.tx(0), s.width);
      Sink sink(link.rx(1));
      const uint32_t count = 40;
      for (uint32_t i = 0; i < count; ++i) src.add(frame_of(length, i));
      TimePs now = 1000;
      while (sink.frames.size() < count) {
        src.edge(now);
        link.tx(1).edge(now, nullptr);
        sink.edge(now);
        now += s.period;
        REQUIRE(now < 1'000'000'000);
      }
      INFO("width " << s.width << " rate " << s.rate << " length " << length);
      CHECK(link.tx(0).stats().underruns == 0);
      REQUIRE(rec.tx.size() == count);
      for (uint32_t i = 0; i < count; ++i) {
        if (wire_bound) {
          REQUIRE(rec.tx[i].first == 1000 + exact_ceil(uint64_t{i} * (length + 24) + 8, s.rate));
          REQUIRE(rec.tx[i].last ==
                  1000 + exact_ceil(uint64_t{i} * (length + 24) + 8 + length + 4, s.rate));
        }
        REQUIRE(rec.rx[i].first == rec.tx[i].first + 5000);
        REQUIRE(rec.rx[i].last == rec.tx[i].last + 5000);
        REQUIRE(sink.frames[i].bytes == frame_of(length, i));
        REQUIRE_FALSE(sink.frames[i].err);
      }
    }
  }
}

TEST_CASE("4154-byte frames at 400 Gb/s carry 392.1 Gb/s of 4096-byte payload") {
  Link link({}, {128, 1600}, {128, 1600});
  Recorder rec;
  link.add_observer(&rec);
  Source src(link.tx(0), 128);
  for (uint32_t i = 0; i < 200; ++i) src.add(frame_of(4154, i));
  for (TimePs now = 0; !src.idle(); now += 1600) src.edge(now);
  const auto ps = static_cast<double>(rec.tx[199].last - rec.tx[0].last);
  const double gbps = 199 * 4096 * 8 / (ps * 1e-3);
  CHECK(gbps > 392.149);
  CHECK(gbps < 392.150);
}

TEST_CASE("a beat reaches the receiver when its bytes have, the last one with the FCS") {
  const TimePs delay = 200'000, period = 1600;
  Link link({.rate_bps = 400'000'000'000, .delay_ps = delay}, {128, period}, {128, period});
  Recorder rec;
  link.add_observer(&rec);
  Source src(link.tx(0), 128);
  Sink sink(link.rx(1));
  const uint32_t length = 1000;
  src.add(frame_of(length, 1));
  for (TimePs now = 0; sink.frames.empty(); now += period) {
    src.edge(now);
    sink.edge(now);
  }
  const auto& f = sink.frames[0];
  REQUIRE(f.beat_times.size() == 8);
  for (uint32_t k = 0; k < 8; ++k) {
    const uint64_t bytes = k == 7 ? length + 4 : (k + 1) * 128;
    const TimePs due = delay + 20 * (8 + bytes);
    CHECK(f.beat_times[k] >= due);
    CHECK(f.beat_times[k] < due + period);
  }
}

TEST_CASE("a stream that runs dry is cut with an error and the next frame is whole") {
  for (uint32_t gap_at : {1u, 5u, 31u}) {
    Link link({.delay_ps = 10'000}, {128, 1600}, {128, 1600});
    Recorder rec;
    link.add_observer(&rec);
    Source src(link.tx(0), 128);
    Sink sink(link.rx(1));
    src.add(frame_of(4154, 1));
    src.add(frame_of(500, 2));
    uint32_t taken = 0;
    int hold = 16;
    for (TimePs now = 0; sink.frames.size() < 2; now += 1600) {
      bool offer = true;
      if (taken >= gap_at && hold > 0) {
        offer = false;
        --hold;
      }
      if (offer && link.tx(0).ready()) ++taken;
      src.edge(now, offer);
      sink.edge(now);
      REQUIRE(now < 10'000'000);
    }
    CHECK(link.tx(0).stats().underruns == 1);
    CHECK(sink.frames[0].err);
    CHECK(sink.frames[0].bytes.size() == gap_at * 128 + 1);
    CHECK(rec.tx[0].flags.underrun);
    CHECK_FALSE(sink.frames[1].err);
    CHECK(sink.frames[1].bytes == frame_of(500, 2));
  }
}

TEST_CASE("a pause that ends before the wire needs the byte is no underrun") {
  // 100 Gb/s on a 1024-bit stream: a beat lasts 10.24 ns on the wire, more than six edges.
  Link link({.rate_bps = 100'000'000'000}, {128, 1600}, {128, 1600});
  Source src(link.tx(0), 128);
  for (uint32_t i = 0; i < 20; ++i) src.add(frame_of(1000, i));
  int edge = 0;
  for (TimePs now = 0; !src.idle(); now += 1600) src.edge(now, ++edge % 2 == 0);
  CHECK(link.tx(0).stats().underruns == 0);
}

TEST_CASE("an error of the sender arrives as an error") {
  Link link({.rate_bps = 200'000'000'000}, {64, 1600}, {64, 1600});
  CHECK(link.tx(0).ready());
  Source src(link.tx(0), 64);
  Sink sink(link.rx(1));
  src.add(frame_of(200, 1), true);
  src.add(frame_of(200, 2), false);
  for (TimePs now = 0; sink.frames.size() < 2; now += 1600) {
    src.edge(now);
    sink.edge(now);
  }
  CHECK(sink.frames[0].err);
  CHECK(sink.frames[0].bytes == frame_of(200, 1));
  CHECK_FALSE(sink.frames[1].err);
}

TEST_CASE("runts and giants are delivered as errors and counted") {
  Link link({.rate_bps = 200'000'000'000, .max_frame = 2000}, {64, 1600}, {64, 1600});
  Source src(link.tx(0), 64);
  Sink sink(link.rx(1));
  src.add(frame_of(59, 1));
  src.add(frame_of(60, 2));
  src.add(frame_of(2000, 3));
  src.add(frame_of(2001, 4));
  src.add(frame_of(5000, 5));
  src.add(frame_of(100, 6));
  for (TimePs now = 0; sink.frames.size() < 6; now += 1600) {
    src.edge(now);
    sink.edge(now);
    REQUIRE(now < 10'000'000);
  }
  const bool errors[] = {true, false, false, true, true, false};
  for (size_t i = 0; i < 6; ++i) CHECK(sink.frames[i].err == errors[i]);
  CHECK(sink.frames[4].bytes.size() == 2000);
  CHECK(sink.frames[5].bytes == frame_of(100, 6));
  CHECK(link.tx(0).stats().runts == 1);
  CHECK(link.tx(0).stats().oversize == 2);
  CHECK(link.rx(1).stats().errors == 3);
}

TEST_CASE("with the FCS in the stream the wire adds none and the minimum is 64 bytes") {
  Recorder rec;
  Link link({.rate_bps = 100'000'000'000, .delay_ps = 0, .fcs_in_stream = true}, {}, {});
  link.add_observer(&rec);
  link.tx(0).send(0, frame_of(60, 1));
  link.tx(0).send(0, frame_of(59, 2));
  CHECK(rec.tx[0].last == 80 * (8 + 64));
  CHECK(rec.tx[1].first == 80 * (64 + 20 + 8));
  CHECK_FALSE(rec.tx[0].flags.runt);
  CHECK(rec.tx[1].flags.runt);
  CHECK(rec.tx[0].length == 64);
  // The CRC over a frame and its FCS is the residue (fact sheet section 2).
  CHECK(rec.tx[0].crc == roce::kCrcResidue);
  FrameInfo got;
  link.tx(0).advance(1'000'000);
  REQUIRE(link.rx(1).take(1'000'000, got));
  CHECK(std::vector<uint8_t>(got.bytes.begin(), got.bytes.end()) == frame_of(60, 1));
  CHECK_FALSE(got.flags.err);
}

TEST_CASE("a software endpoint sees a wrong FCS in the stream") {
  Link link({.rate_bps = 100'000'000'000, .delay_ps = 0, .fcs_in_stream = true}, {16, 1250}, {});
  Source src(link.tx(0), 16);
  auto frame = frame_of(64, 3);
  roce::store_le32(&frame[60], roce::crc32(std::span(frame).first(60)));
  src.add(frame);
  frame[60] ^= 1;
  src.add(frame);
  for (TimePs t = 0; t < 100'000; t += 1250) src.edge(t);
  FrameInfo got;
  REQUIRE(link.rx(1).take(50'000, got));
  CHECK_FALSE(got.flags.err);
  REQUIRE(link.rx(1).take(50'000, got));
  CHECK(got.flags.err);
}

TEST_CASE("streams of different width and clock on the two ends carry the same frames") {
  std::mt19937 rng(5);
  for (auto [wa, pa, wb, pb] : {std::array<uint32_t, 4>{128, 1600, 64, 1000},
                                {64, 1600, 128, 1733},
                                {16, 1600, 128, 1600},
                                {128, 1250, 32, 1600}}) {
    Link link({.rate_bps = 50'000'000'000, .delay_ps = 3000}, {wa, pa}, {wb, pb});
    Source src(link.tx(0), wa);
    Sink sink(link.rx(1));
    std::vector<std::vector<uint8_t>> sent;
    for (uint32_t i = 0; i < 100; ++i) {
      sent.push_back(frame_of(60 + rng() % 1500, i));
      src.add(sent.back());
    }
    TimePs ta = 0, tb = 7;
    while (sink.frames.size() < sent.size()) {
      if (ta <= tb) {
        src.edge(ta);
        ta += pa;
      } else {
        sink.edge(tb);
        tb += pb;
      }
    }
    CHECK(link.tx(0).stats().underruns == 0);
    for (size_t i = 0; i < sent.size(); ++i) REQUIRE(sink.frames[i].bytes == sent[i]);
  }
}

TEST_CASE("a stream slower than the wire is refused") {
  CHECK_THROWS_WITH(
      Link({.rate_bps = 400'000'000'000}, {64, 1600}, {128, 1600}),
      contains_text("end 0: a stream of 64 bytes every 1600 ps is slower than the wire"));
  CHECK_THROWS_WITH(Link({.rate_bps = 0}, {}, {}), contains_text("rate of 0 bit/s"));
  CHECK_THROWS_WITH(Link({}, {128, 0}, {}), contains_text("end 0 has no clock period"));
}

TEST_CASE("a receiver that runs ahead of what is known throws, one at the edge of it does not") {
  Link link({.delay_ps = 10'000}, {128, 1600}, {128, 1600});
  RxBeat b;
  link.tx(0).edge(0, nullptr);
  CHECK(link.safe_until(1) == 1600 + 10'000);
  CHECK_FALSE(link.rx(1).edge(11'600, b));
  CHECK_THROWS_WITH(link.rx(1).edge(11'601, b),
                    contains_text("beyond what the sender has reached (11600 ps)"));
}

TEST_CASE("without delay two ends in time order may each start at a time of their own") {
  Link link({.delay_ps = 0}, {128, 1600, 500}, {128, 1600, 700});
  Sink sink(link.rx(1));
  Source src(link.tx(0), 128);
  src.add(frame_of(1000, 1));
  RxBeat b;
  for (TimePs now = 0; sink.frames.empty(); now += 1600) {
    src.edge(now + 500);
    link.rx(0).edge(now + 500, b);
    link.tx(1).edge(now + 700, nullptr);
    sink.edge(now + 700);
  }
  CHECK(sink.frames[0].bytes == frame_of(1000, 1));
}

TEST_CASE("a flood that the stream cannot keep up with is dropped by whole frames and counted") {
  // 129-byte frames: two beats of 1.6 ns each, but 3.06 ns on the wire.
  LinkConfig c;
  c.rx_max_lag_ps = 50'000;
  Link link(c, {}, {128, 1600});
  const uint32_t count = 3000;
  for (uint32_t i = 0; i < count; ++i) link.tx(0).send(0, frame_of(129, i));
  link.tx(0).advance(1'000'000'000);
  Sink sink(link.rx(1));
  for (TimePs now = 0; now < 12'000'000; now += 1600) sink.edge(now);
  const RxStats& s = link.rx(1).stats();
  CHECK(s.lag_drops > 50);
  CHECK(s.frames + s.lag_drops == count);
  uint32_t expect = 0;
  for (const auto& f : sink.frames) {
    while (expect < count && f.bytes != frame_of(129, expect)) ++expect;  // in order, some missing
    REQUIRE(expect < count);
    ++expect;
  }
}

TEST_CASE("nothing is allocated per frame after warm-up") {
  Link link({}, {128, 1600}, {128, 1600});
  const auto bytes = frame_of(4154, 1);
  uint32_t at = 0, frames = 0;
  const auto run = [&](TimePs from, TimePs to) {
    for (TimePs now = from; now < to; now += 1600) {
      const bool was_ready = link.tx(0).ready();
      TxBeat b{bytes.data() + at, std::min<uint32_t>(128, 4154 - at), at + 128 >= 4154, false};
      link.tx(0).edge(now, &b);
      if (was_ready) {
        at = b.last ? 0 : at + 128;
        frames += b.last;
      }
      RxBeat r;
      link.rx(1).edge(now, r);
    }
  };
  run(0, 1'600'000);
  const uint64_t before = g_allocations.load();
  const uint32_t frames_before = frames;
  run(1'600'000, 16'000'000);
  CHECK(frames - frames_before > 150);
  CHECK(g_allocations.load() == before);
}

TEST_CASE("two threads see the same beats at the same times as one") {
  const TimePs delay = 30'000, period_a = 1600, period_b = 1571, end = 4'000'000;
  // Each end sends frames of random length at random times and logs every beat it gets.
  struct Log {
    uint64_t hash = 1469598103934665603ull;
    uint64_t beats = 0;
    void add(uint64_t v) { hash = (hash ^ v) * 1099511628211ull; }
  };
  const auto make_node = [](Link& link, int index, TimePs period, Log& log) {
    return [&link, index, period, &log, rng = std::mt19937(static_cast<uint32_t>(index + 1)),
            frame = std::vector<uint8_t>(), at = uint32_t{0}](TimePs now) mutable {
      const uint32_t width = index == 0 ? 128 : 64;
      const bool was_ready = link.tx(index).ready();
      if (frame.empty() && rng() % 4 == 0)
        frame = frame_of(60 + rng() % 1000, static_cast<uint32_t>(now));
      if (frame.empty()) {
        link.tx(index).edge(now, nullptr);
      } else {
        const TxBeat b{frame.data() + at,
                       std::min<uint32_t>(width, static_cast<uint32_t>(frame.size()) - at),
                       at + width >= frame.size(), false};
        link.tx(index).edge(now, &b);
        if (was_ready) {
          at += b.nbytes;
          if (b.last) {
            frame.clear();
            at = 0;
          }
        }
      }
      RxBeat r;
      if (link.rx(index).edge(now, r)) {
        ++log.beats;
        log.add(now);
        log.add(r.nbytes + (r.last ? 1000u : 0u) + (r.err ? 5000u : 0u));
        for (uint32_t i = 0; i < r.nbytes; ++i) log.add(r.data[i]);
      }
      (void)period;
    };
  };
  const EndConfig ea{128, period_a}, eb{64, period_b};
  const LinkConfig lc{.rate_bps = 200'000'000'000, .delay_ps = delay};
  std::array<Log, 2> single;
  {
    Link link(lc, ea, eb);
    auto a = make_node(link, 0, period_a, single[0]);
    auto b = make_node(link, 1, period_b, single[1]);
    TimePs ta = 0, tb = 0;
    while (ta < end || tb < end) {
      if (ta <= tb) {
        a(ta);
        ta += period_a;
      } else {
        b(tb);
        tb += period_b;
      }
    }
  }
  REQUIRE(single[0].beats > 500);
  REQUIRE(single[1].beats > 500);
  for (int round = 0; round < 5; ++round) {
    std::array<Log, 2> both;
    Link link(lc, ea, eb);
    const auto work = [&](int index, TimePs period) {
      auto node = make_node(link, index, period, both[static_cast<size_t>(index)]);
      TimePs t = 0;
      while (t < end) {
        if (t > link.safe_until(index)) {
          std::this_thread::yield();
          continue;
        }
        node(t);
        t += period;
      }
      link.tx(index).advance(end + delay);
    };
    std::thread other([&] { work(1, period_b); });
    work(0, period_a);
    other.join();
    for (size_t i = 0; i < 2; ++i) {
      CHECK(both[i].beats == single[i].beats);
      CHECK(both[i].hash == single[i].hash);
    }
  }
}

namespace {

// Does to frame n what the script says.
class Script : public FaultHook {
 public:
  std::vector<std::pair<uint64_t, FrameEdit>> plan;
  void on_frame(FrameEdit& f) override {
    for (auto& [number, todo] : plan) {
      if (number != f.number) continue;
      f.drop = todo.drop;
      f.copies = todo.copies;
      f.extra_delay_ps = todo.extra_delay_ps;
      f.behind_next = todo.behind_next;
      f.bad_fcs = todo.bad_fcs;
    }
    if (edit) edit(f);
  }
  void (*edit)(FrameEdit&) = nullptr;
};

std::vector<int> order_with(Script& script, FaultStats* stats = nullptr, Recorder* rec = nullptr) {
  Link link({.delay_ps = 20'000}, {128, 1600}, {128, 1600});
  link.set_faults(0, &script, 500'000);
  if (rec != nullptr) link.add_observer(rec);
  Source src(link.tx(0), 128);
  Sink sink(link.rx(1));
  std::vector<std::vector<uint8_t>> sent;
  for (uint32_t i = 0; i < 6; ++i) {
    sent.push_back(frame_of(300 + i * 10, i));
    src.add(sent.back());
  }
  for (TimePs now = 0; now < 3'000'000; now += 1600) {
    src.edge(now);
    sink.edge(now);
  }
  std::vector<int> order;
  for (const auto& f : sink.frames) {
    const auto at = std::find(sent.begin(), sent.end(), f.bytes);
    order.push_back(at == sent.end() ? -1 : static_cast<int>(at - sent.begin()));
    if (f.err) order.back() += 100;
  }
  if (stats != nullptr) *stats = link.fault_stats(0);
  return order;
}

}  // namespace

TEST_CASE("faults drop, repeat, hold, delay and spoil frames as asked") {
  Script none;
  CHECK(order_with(none) == std::vector<int>{0, 1, 2, 3, 4, 5});
  Script s;
  FaultStats stats;
  SECTION("drop") {
    s.plan.push_back({2, {.drop = true}});
    CHECK(order_with(s, &stats) == std::vector<int>{0, 1, 3, 4, 5});
    CHECK(stats.dropped == 1);
  }
  SECTION("repeat") {
    s.plan.push_back({2, {.copies = 3}});
    CHECK(order_with(s, &stats) == std::vector<int>{0, 1, 2, 2, 2, 3, 4, 5});
    CHECK(stats.duplicated == 2);
  }
  SECTION("behind the next") {
    s.plan.push_back({1, {.behind_next = true}});
    CHECK(order_with(s, &stats) == std::vector<int>{0, 2, 1, 3, 4, 5});
    CHECK(stats.held == 1);
  }
  SECTION("behind a frame that never comes: after the limit") {
    s.plan.push_back({5, {.behind_next = true}});
    CHECK(order_with(s) == std::vector<int>{0, 1, 2, 3, 4, 5});
  }
  SECTION("delay") {
    s.plan.push_back({1, {.extra_delay_ps = 1'000'000}});
    CHECK(order_with(s, &stats) == std::vector<int>{0, 2, 3, 4, 5, 1});
    CHECK(stats.delayed == 1);
  }
  SECTION("bad FCS") {
    s.plan.push_back({3, {.bad_fcs = true}});
    CHECK(order_with(s, &stats) == std::vector<int>{0, 1, 2, 103, 4, 5});
    CHECK(stats.corrupted == 1);
  }
  SECTION("edited bytes") {
    s.edit = [](FrameEdit& f) {
      if (f.number == 4) f.bytes[50] ^= 1;
    };
    CHECK(order_with(s) == std::vector<int>{0, 1, 2, 3, -1, 5});
  }
}

TEST_CASE("repeated and delayed frames never overlap on the cable") {
  Script s;
  s.plan.push_back({0, {.copies = 4}});
  s.plan.push_back({3, {.extra_delay_ps = 9000}});
  Recorder rec;
  order_with(s, nullptr, &rec);
  REQUIRE(rec.rx.size() == 9);
  for (size_t i = 1; i < rec.rx.size(); ++i)
    REQUIRE(rec.rx[i].first >= rec.rx[i - 1].last + 20 * (12 + 8));
}

TEST_CASE("a hook can mark congestion in flight") {
  Script s;
  s.edit = [](FrameEdit& f) { rnic::roce::mark_congestion(f.bytes); };
  Link link({}, {}, {});
  link.set_faults(0, &s);
  rnic::roce::FrameSpec spec;
  spec.ip_src = rnic::roce::ipv4_address(10, 0, 0, 1);
  spec.ip_dst = rnic::roce::ipv4_address(10, 0, 0, 2);
  spec.opcode = rnic::roce::kRcSendOnly;
  std::vector<uint8_t> f(100);
  f.resize(rnic::roce::build_frame(spec, {}, f));
  link.tx(0).send(0, f);
  link.tx(0).advance(100'000);
  link.tx(0).advance(10'000'000);
  FrameInfo got;
  REQUIRE(link.rx(1).take(5'000'000, got));
  rnic::roce::FrameView v;
  REQUIRE(rnic::roce::parse_frame(got.bytes, v) == rnic::roce::ParseStatus::kOk);
  CHECK(v.ecn() == 3);
  CHECK(rnic::roce::icrc_good(v));
  CHECK(got.flags.fault == false);
}

TEST_CASE("software endpoints send and take whole frames at exact times") {
  Link link({.rate_bps = 400'000'000'000, .delay_ps = 200'000}, {}, {});
  CHECK(link.tx(0).send(1000, frame_of(100, 1)) == 1000 + 160);
  CHECK(link.tx(0).send(1000, frame_of(100, 2)) == 1000 + 160 + 124 * 20);
  CHECK(link.tx(0).free_at() == 1000 + 2 * 124 * 20);
  link.tx(0).advance(1'000'000);
  FrameInfo got;
  const TimePs arrival = 1000 + 200'000 + 20 * (8 + 104);
  CHECK(link.rx(1).next_time() == arrival);
  CHECK_FALSE(link.rx(1).take(arrival - 1, got));
  REQUIRE(link.rx(1).take(arrival, got));
  CHECK(got.last_ps == arrival);
  CHECK(std::vector<uint8_t>(got.bytes.begin(), got.bytes.end()) == frame_of(100, 1));
  CHECK(link.rx(1).next_time() == arrival + 124 * 20);
  CHECK_FALSE(link.rx(1).take(arrival, got));
  REQUIRE(link.rx(1).take(arrival + 124 * 20, got));
  CHECK(link.rx(1).next_time() == kNever);
}

TEST_CASE("frames longer than the cable's delay are cut through") {
  // 9000 B at 10 Gb/s take 7.2 us, the cable 5 ns: the receiver gets the first beat long before the
  // frame is sent.
  Link link({.rate_bps = 10'000'000'000, .delay_ps = 5000}, {64, 1600}, {64, 1600});
  Source src(link.tx(0), 64);
  Sink sink(link.rx(1));
  src.add(frame_of(9000, 1));
  for (TimePs now = 0; sink.frames.empty(); now += 1600) {
    src.edge(now);
    sink.edge(now);
  }
  CHECK(sink.frames[0].beat_times.front() < 100'000);
  CHECK(sink.frames[0].bytes == frame_of(9000, 1));
}
