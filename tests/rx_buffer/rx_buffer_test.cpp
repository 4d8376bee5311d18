// SPDX-License-Identifier: Apache-2.0
#include <Vrx_buffer_1024.h>
#include <Vrx_buffer_128.h>
#include <Vrx_buffer_512.h>

#include <deque>
#include <set>

#include "tests/rx_parser/frame_collector.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic;
using namespace rnic::rx;
using test::Bits;
using test::Stall;

namespace {

// A frame with the verdict that rx_parser would give; id goes out as the PSN.
struct Job {
  Bytes bytes;
  Kind kind = Kind::kDrop;
  size_t hdr_len = 0;
  size_t payload_len = 0;
  uint32_t id = 0;
};

struct Row {
  Bytes data;
  bool first, last;
  unsigned off, len;
  bool operator==(const Row&) const = default;
};

template <class Top>
struct BufferBench {
  using Data = std::remove_reference_t<decltype(std::declval<Top>().bt_data)>;
  static constexpr size_t kBeat = sizeof(Data);

  // Verdicts `delay` cycles behind the last beat.
  explicit BufferBench(unsigned delay = 4)
      : driver(bench, "bt", {top().bt_valid, top().bt_data, top().bt_cnt, top().bt_last}),
        pk(bench, "pk", top().pk_valid, top().pk_ready,
           [this] { return test::read_pin(top().pk_meta); }),
        row(bench, "row", top().row_valid, top().row_ready,
            [this] {
              return Row{test::read_pin(top().row_data).bytes(), top().row_first != 0,
                         top().row_last != 0, top().row_off, top().row_len};
            }),
        raw(bench, "raw_rx", top().raw_rx_valid, top().raw_rx_ready,
            [this] {
              return read_beat(top().raw_rx_data, top().raw_rx_cnt, top().raw_rx_last != 0);
            }),
        delay_(delay) {
    top().cfg_reserve_i = 0;
    bench.on_sample([this] {
      drops += top().cnt_rx_buffer_drops_o;
      raw_frames += top().cnt_rx_raw_frames_o;
      raw_drops += top().cnt_rx_raw_drops_o;
      if (top().stored_o != 0) stored_.push_back(top().stored_qpn_o);
      if (top().bt_valid != 0 && top().bt_last != 0) due_.push_back(bench.cycle() + delay_);
    });
    bench.on_drive([this] {
      top().vd_valid = !due_.empty() && due_.front() == bench.cycle();
      if (top().vd_valid == 0) return;
      due_.pop_front();
      const Job& j = jobs_.at(next_verdict_++);
      top().vd_kind = static_cast<uint8_t>(j.kind);
      Bits meta = Bits::random(junk_, kMeta.width());
      if (j.kind == Kind::kRoce) {
        kMeta.set(meta, "psn", j.id);
        kMeta.set(meta, "hdr_len", j.hdr_len);
        kMeta.set(meta, "payload_len", j.payload_len);
        metas[j.id] = meta;
      }
      test::write_pin(top().vd_meta, meta);
      verdict_cycles.push_back(bench.cycle());
    });
    reset();
  }
  Top& top() { return bench.top(); }
  void reset() {
    top().vd_valid = 0;
    bench.reset();
    due_.clear();
    stored_.resize(pk.size());  // the others are forgotten
    next_verdict_ = jobs_.size();
  }
  void push(const Job& job) {
    jobs_.push_back(job);
    driver.push({job.bytes});
  }
  void push(const std::vector<Job>& jobs) {
    for (const Job& j : jobs) push(j);
  }
  void drain() {
    bench.wait(
        "frames to be driven", [this] { return driver.idle(); }, 1000000);
    uint64_t quiet = 0;
    bench.wait(
        "outputs to fall silent",
        [&] {
          const bool busy =
              top().pk_valid || top().row_valid || top().raw_rx_valid || top().vd_valid;
          quiet = busy ? 0 : quiet + 1;
          return quiet > 20;
        },
        1000000);
  }

  // Everything that came out is whole, in order and what a good verdict was given for; nothing is
  // lost uncounted.
  void check() {
    size_t next_row = 0;
    size_t next_job = 0;
    size_t roce = 0;
    for (const Bits& meta : pk.items()) {
      const auto id = static_cast<uint32_t>(kMeta.get(meta, "psn"));
      while (next_job < jobs_.size() &&
             !(jobs_[next_job].kind == Kind::kRoce && jobs_[next_job].id == id))
        ++next_job;
      REQUIRE(next_job < jobs_.size());  // in order, each once
      const Job& j = jobs_[next_job++];
      ++roce;
      REQUIRE(meta == metas.at(id));
      REQUIRE(roce <= stored_.size());
      REQUIRE(stored_[roce - 1] == kMeta.get(meta, "dest_qpn"));
      if (j.payload_len == 0) continue;
      Bytes rows;
      for (bool first = true;; first = false) {
        REQUIRE(next_row < row.size());
        const Row& r = row[next_row++];
        REQUIRE(r.first == first);
        REQUIRE(r.off == j.hdr_len % kBeat);
        REQUIRE(r.len == j.payload_len);
        rows.insert(rows.end(), r.data.begin(), r.data.end());
        if (r.last) break;
      }
      const size_t touched = (j.hdr_len % kBeat + j.payload_len + kBeat - 1) / kBeat;
      REQUIRE(rows.size() == touched * kBeat);
      const auto at = static_cast<std::ptrdiff_t>(j.hdr_len % kBeat);
      const auto from = static_cast<std::ptrdiff_t>(j.hdr_len);
      const auto len = static_cast<std::ptrdiff_t>(j.payload_len);
      REQUIRE(std::equal(rows.begin() + at, rows.begin() + at + len, j.bytes.begin() + from));
    }
    REQUIRE(next_row == row.size());
    REQUIRE(roce == stored_.size());
    size_t raw_sent = 0;
    size_t roce_sent = 0;
    std::vector<const Job*> raw_jobs;
    for (const Job& j : jobs_) {
      roce_sent += j.kind == Kind::kRoce;
      if (j.kind == Kind::kRaw) raw_jobs.push_back(&j);
    }
    raw_sent = raw_jobs.size();
    const auto got = join_beats(raw.items());
    size_t next = 0;
    for (const Bytes& f : got) {
      while (next < raw_jobs.size() && !(raw_jobs[next]->bytes == f)) ++next;
      REQUIRE(next < raw_jobs.size());
      ++next;
    }
    REQUIRE(got.size() == raw_frames);
    REQUIRE(roce + got.size() + drops + raw_drops == roce_sent + raw_sent);
    roce_out = roce;
    raw_out = got.size();
    CHECK(top().level_rows_o == 0);
  }

  test::Bench<Top> bench;
  FrameDriver<Data> driver;
  test::StreamSink<Bits> pk;
  test::StreamSink<Row> row;
  test::StreamSink<Beat> raw;
  uint64_t drops = 0, raw_frames = 0, raw_drops = 0;
  size_t roce_out = 0, raw_out = 0;
  std::map<uint32_t, Bits> metas;
  std::vector<uint64_t> verdict_cycles;
  const std::vector<Job>& jobs() const { return jobs_; }

 private:
  unsigned delay_;
  std::vector<uint64_t> stored_;
  std::vector<Job> jobs_;
  std::deque<uint64_t> due_;
  size_t next_verdict_ = 0;
  test::Rng junk_ = test::rng("meta");
};

Job make_job(test::Rng& rng, uint32_t id, Kind kind, size_t payload) {
  Job j;
  j.kind = kind;
  j.id = id;
  j.payload_len = payload;
  j.hdr_len = 54 + 2 * rng.below(27);  // 54..106
  j.bytes = rng.bytes(j.hdr_len + payload + 4 + rng.below(4));
  for (size_t k = 0; k < 4; ++k) j.bytes[k] = static_cast<uint8_t>(id >> (8 * k));
  return j;
}

std::vector<Job> make_jobs(test::Rng& rng, size_t count, size_t max_payload, double bad,
                           double raw) {
  std::vector<Job> out;
  for (uint32_t i = 0; i < count; ++i) {
    const Kind kind = rng.chance(bad) ? Kind::kDrop : rng.chance(raw) ? Kind::kRaw : Kind::kRoce;
    out.push_back(make_job(rng, i, kind, rng.chance(0.3) ? 0 : rng.below(max_payload + 1)));
  }
  return out;
}

}  // namespace

#define WIDTHS Vrx_buffer_128, Vrx_buffer_512, Vrx_buffer_1024

TEMPLATE_TEST_CASE("frames come out whole, in order, without what was refused", "", WIDTHS) {
  for (const unsigned delay : {1u, 4u, 6u}) {
    BufferBench<TestType> b(delay);
    auto rng = test::rng("jobs");
    b.push(make_jobs(rng, 800, 300, 0.3, 0.3));
    b.drain();
    b.check();
    CHECK(b.drops == 0);
    CHECK(b.raw_drops == 0);
    CHECK(b.roce_out > 300);
    CHECK(b.raw_out > 100);
  }
}

TEMPLATE_TEST_CASE("stalled outputs lose whole frames only, and count them", "", WIDTHS) {
  for (const int who : {0, 1, 2, 3}) {
    BufferBench<TestType> b;
    auto rng = test::rng("jobs");
    const Stall slow = Stall::bursts(0.05, 60);
    if (who == 0 || who == 3) b.pk.set_stall(slow);
    if (who == 1 || who == 3) b.row.set_stall(Stall::bursts(0.2, 20));
    if (who == 2 || who == 3) b.raw.set_stall(slow);
    b.driver.set_gaps(Stall::random(0.1));
    b.push(make_jobs(rng, 1500, 400, 0.2, 0.3));
    b.drain();
    b.check();
    if (who == 1 || who == 3) CHECK(b.drops > 50);
    // Room again.
    b.pk.set_stall({});
    b.row.set_stall({});
    b.raw.set_stall({});
    const auto drops = b.drops;
    const auto raw_drops = b.raw_drops;
    for (uint32_t i = 0; i < 40; ++i)
      b.push(make_job(rng, 100000 + i, i % 4 ? Kind::kRoce : Kind::kRaw, 100));
    b.drain();
    b.check();
    CHECK(b.drops == drops);
    CHECK(b.raw_drops == raw_drops);
  }
}

TEMPLATE_TEST_CASE("nobody taking raw frames never holds up RoCEv2", "", WIDTHS) {
  BufferBench<TestType> b;
  b.raw.set_stall(Stall::always());
  auto rng = test::rng("jobs");
  b.push(make_jobs(rng, 600, 300, 0.1, 0.5));
  b.bench.wait(
      "frames to be driven", [&] { return b.driver.idle(); }, 100000);
  b.bench.tick(40);
  size_t want = 0;
  for (const Job& j : b.jobs()) want += j.kind == Kind::kRoce;
  CHECK(b.pk.size() == want);
  CHECK(b.drops == 0);
  CHECK(b.raw_drops > 50);
  b.raw.set_stall({});
  b.drain();
  b.check();
}

TEMPLATE_TEST_CASE("a flood of bad frames takes no room from good ones", "", WIDTHS) {
  BufferBench<TestType> b;
  auto rng = test::rng("jobs");
  // Back to back, several times the size of the ring; good ones between them.
  for (uint32_t i = 0; i < 2000; ++i)
    b.push(make_job(rng, i, i % 50 == 49 ? Kind::kRoce : Kind::kDrop, rng.below(200)));
  b.drain();
  b.check();
  CHECK(b.drops == 0);
  CHECK(b.roce_out == 40);
}

TEMPLATE_TEST_CASE("a frame larger than the ring is dropped, the next one is not", "", WIDTHS) {
  BufferBench<TestType> b;
  auto rng = test::rng("jobs");
  for (uint32_t i = 0; i < 20; ++i) {
    Job big = make_job(rng, 2 * i, i % 2 ? Kind::kRoce : Kind::kRaw, 4000);
    big.bytes = rng.bytes(20000);
    b.push(big);
    b.push(make_job(rng, 2 * i + 1, Kind::kRoce, 50));
  }
  b.drain();
  b.check();
  CHECK(b.drops == 20);
  CHECK(b.roce_out == 20);
}

TEMPLATE_TEST_CASE("the reserve stays free beside a frame", "", WIDTHS) {
  BufferBench<TestType> b;
  constexpr size_t kBeat = BufferBench<TestType>::kBeat;
  auto rng = test::rng("jobs");
  b.row.set_stall(Stall::always());
  const size_t ring = kBeat == 16 ? 4096 : kBeat == 64 ? 8192 : 16384;
  b.top().cfg_reserve_i = static_cast<uint16_t>(ring / 2 + 1);
  size_t level = 0;
  b.bench.on_sample([&] { level = std::max<size_t>(level, b.top().level_rows_o); });
  for (uint32_t i = 0; i < 200; ++i) b.push(make_job(rng, i, Kind::kRoce, 200));
  b.bench.wait(
      "frames to be driven", [&] { return b.driver.idle(); }, 100000);
  b.bench.tick(10);
  CHECK(level <= ring / 2 / kBeat - 1);
  CHECK(level > ring / 2 / kBeat - 20);
  b.row.set_stall({});
  b.drain();
  b.check();
}

TEMPLATE_TEST_CASE("one-beat packets pass one per cycle, with the verdict, rows one cycle behind",
                   "", WIDTHS) {
  BufferBench<TestType> b;
  constexpr size_t kBeat = BufferBench<TestType>::kBeat;
  auto rng = test::rng("jobs");
  // The header ends inside the only beat, or no payload at all where it cannot.
  for (uint32_t i = 0; i < 300; ++i) {
    Job j = make_job(rng, i, Kind::kRoce, kBeat >= 128 ? 1 + rng.below(8) : 0);
    j.hdr_len = kBeat >= 128 ? 70 : 12;
    j.bytes.resize(kBeat >= 128 ? 100 : kBeat);
    b.push(j);
  }
  b.drain();
  b.check();
  CHECK(b.drops == 0);
  CHECK(b.pk.cycles().front() == b.verdict_cycles.front());
  CHECK(b.pk.cycles().back() - b.pk.cycles().front() == 299);
  if (kBeat >= 128) {
    CHECK(b.row.cycles().front() == b.verdict_cycles.front() + 1);
    CHECK(b.row.cycles().back() - b.row.cycles().front() == 299);
  }
}

TEMPLATE_TEST_CASE("reset at any moment empties the buffer", "", WIDTHS) {
  BufferBench<TestType> b;
  auto rng = test::rng("reset");
  for (int round = 0; round < 20; ++round) {
    b.row.set_stall(Stall::random(0.5));
    b.raw.set_stall(Stall::random(0.5));
    b.push(make_jobs(rng, 20, 300, 0.3, 0.3));
    b.bench.tick(rng.between(2, 60));
    b.reset();
    b.bench.tick(3);
    CHECK(b.top().level_rows_o == 0);
    CHECK(b.top().pk_valid == 0);
    CHECK(b.top().row_valid == 0);
    CHECK(b.top().raw_rx_valid == 0);
  }
  b.pk.clear();
  b.row.clear();
  b.push(make_job(rng, 70000, Kind::kRoce, 111));
  b.drain();
  REQUIRE(b.pk.size() == 1);
  CHECK(kMeta.get(b.pk[0], "psn") == 70000);
  CHECK(b.row.size() > 0);
}
