// SPDX-License-Identifier: Apache-2.0
//
// blueflame against a model on bytes: the pieces that AXI brings fill blocks, blocks make pushes,
// and what is not a whole push in order becomes a doorbell. WQEs are written byte by byte from the
// descriptor table.
#include <Vblueflame.h>
#include <Vblueflame_1024.h>
#include <Vblueflame_128.h>
#include <Vblueflame_256.h>

#include <optional>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

struct Beat {
  Bits data;
  Bits strobe;
  bool last = false;
};

// What is pushed: bytes of one 64-byte block.
struct Piece {
  uint32_t block = 0;  // address of the block
  std::array<uint8_t, 64> data{};
  uint64_t mask = 0;
};

struct Push {
  uint64_t qpn = 0, index = 0, blocks = 0;
  bool has2 = false, sampled = false;
  std::vector<uint8_t> wqe;  // 128 bytes, the second half zero without has2
  bool operator==(const Push&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Push& p) {
  return out << "qp " << p.qpn << " index " << p.index << " blocks " << p.blocks << " has2 "
             << p.has2 << " sampled " << p.sampled;
}
using Db = std::pair<uint64_t, uint64_t>;

template <unsigned N>
class Model {
 public:
  static constexpr uint32_t slice() {
    uint32_t s = 16384;
    while (uint64_t{s} * N > 16u << 20) s /= 2;
    return s;
  }
  void piece(const Piece& p) {
    if (p.mask == 0) return;
    if (mask_ != 0 && (addr_ != p.block || (mask_ & p.mask) != 0)) timeout();
    if (mask_ == 0) data_.fill(0);
    addr_ = p.block;
    for (unsigned i = 0; i < 64; ++i)
      if (p.mask >> i & 1) data_[i] = p.data[i];
    mask_ |= p.mask;
    if (mask_ == ~uint64_t{0}) {
      mask_ = 0;
      block(addr_, data_, ~uint64_t{0});
    }
  }
  // The block in progress gets no more bytes.
  void timeout() {
    if (mask_ == 0) return;
    const uint64_t m = mask_;
    mask_ = 0;
    block(addr_, data_, m);
  }
  void close_push() {
    if (open_ && !kept_) doorbell(push_.qpn, push_.index + push_.blocks);
    open_ = false;
  }
  std::vector<Push> pushes;
  std::vector<Db> doorbells;
  uint64_t fallbacks = 0, refused = 0;

 private:
  void doorbell(uint64_t qpn, uint64_t index) {
    doorbells.emplace_back(qpn, index & 0xFFFF);
    ++fallbacks;
  }
  void block(uint32_t addr, const std::array<uint8_t, 64>& d, uint64_t mask) {
    const bool partial = mask != ~uint64_t{0};
    if (open_ && !partial && addr == next_) {
      if (!kept_) {
        push_.has2 = true;
        std::copy(d.begin(), d.end(), push_.wqe.begin() + 64);
        pushes.push_back(push_);
        kept_ = true;
      }
      next_ += 64;
      if (--left_ == 0) open_ = false;
      return;
    }
    close_push();
    const uint32_t qpn = addr / slice();
    const uint32_t start = std::min<uint32_t>(slice(), 4096);
    if (addr >= 16u << 20 || qpn >= N || addr % start != 0 || (mask >> 8 & 0xFF) != 0xFF) {
      ++refused;
      return;
    }
    const bool inlined = d[9] >> 3 & 1, long_form = d[9] >> 4 & 1;
    const unsigned inline_len = d[10] | (d[11] & 15) << 8, segs = d[11] >> 4;
    uint64_t next = 0;
    for (unsigned i = 0; i < 8; ++i) next |= uint64_t{d[i]} << (8 * i);
    Push p;
    p.qpn = qpn;
    p.index = d[12] | d[13] << 8;
    p.blocks = inlined ? (32 + inline_len + 63) / 64 : long_form ? 2 : 1;
    p.sampled = d[9] >> 5 & 1;
    p.wqe.assign(d.begin(), d.end());
    p.wqe.resize(128, 0);
    if (partial || next != 0 || (!inlined && segs > (long_form ? 6u : 2u)) || p.blocks > 64) {
      doorbell(qpn, p.index + p.blocks);
      return;
    }
    if (p.blocks == 1) {
      pushes.push_back(p);
      return;
    }
    push_ = p;
    open_ = true;
    kept_ = false;
    left_ = static_cast<unsigned>(p.blocks) - 1;
    next_ = addr + 64;
  }
  uint32_t addr_ = 0, next_ = 0;
  std::array<uint8_t, 64> data_{};
  uint64_t mask_ = 0;
  bool open_ = false, kept_ = false;
  unsigned left_ = 0;
  Push push_;
};

template <class Top, unsigned W, unsigned N>
class World {
 public:
  static constexpr unsigned B = W / 8;
  explicit World(Stall stall = {})
      : top(bench.top()),
        aw(bench, "s_aw", top.s_awvalid, top.s_awready, top.s_awaddr, stall),
        w(
            bench, "s_w", top.s_wvalid, top.s_wready,
            [this](const Beat& b) {
              write_pin(top.s_wdata, b.data);
              write_pin(top.s_wstrb, b.strobe);
              top.s_wlast = b.last;
            },
            stall),
        b(bench, "s_b", top.s_bvalid, top.s_bready, top.s_bresp, stall),
        bf(
            bench, "bf", top.bf_valid, top.bf_ready, [this] { return read_pin(top.bf); }, stall),
        db(
            bench, "db", top.db_valid, top.db_ready,
            [this] { return Db(top.db_qpn, top.db_index); }, stall) {
    bench.on_sample([this] {
      fallbacks += top.cnt_bf_fallbacks_o;
      refused += top.cnt_doorbell_refused_o;
    });
    bench.reset();
  }
  // One burst: bytes from this address on, cut into beats as AXI does it.
  void burst(uint32_t addr, const std::vector<uint8_t>& bytes) {
    aw.push(addr);
    const uint32_t end = addr + static_cast<uint32_t>(bytes.size());
    for (uint32_t at = addr / B * B; at < end; at += B) {
      Beat beat{Bits::random(random, W), Bits(B), at + B >= end};
      for (unsigned i = 0; i < B; ++i) {
        if (at + i < addr || at + i >= end) continue;
        beat.data.set_byte(i, bytes[at + i - addr]);
        beat.strobe.set(i, 1, 1);
      }
      w.push(beat);
      for (unsigned k = 0; k < std::max(1u, B / 64); ++k) {
        const uint32_t block = (at + 64 * k) / 64 * 64;
        Piece p;
        p.block = block;
        for (uint32_t a = std::max(at, block); a < std::min(at + B, block + 64); ++a) {
          if (a < addr || a >= end) continue;
          p.data[a - block] = bytes[a - addr];
          p.mask |= uint64_t{1} << (a - block);
        }
        model.piece(p);
      }
    }
  }
  std::vector<uint8_t> wqe(unsigned kind, uint16_t index) {
    Wqe q;
    switch (kind) {
      case 0:
        q = Wqe::write(random.u64(), random.u32(), {{1, 64, 0x1000}});
        break;
      case 1:
        q = Wqe::write(random.u64(), random.u32(), {{1, 64, 0x1000}, {2, 3, 4}, {5, 6, 7}});
        break;
      case 2:
        q = Wqe::write_inline(random.u64(), random.u32(), random.bytes(random.between(0, 32)));
        break;
      default:
        q = Wqe::write_inline(random.u64(), random.u32(), random.bytes(random.between(33, 600)));
        break;
    }
    q.sampled = random.chance(0.2);
    return q.image(index);
  }
  static constexpr uint32_t slice() { return Model<N>::slice(); }
  void settle(bool all_ends = true) {
    bench.wait(
        "idle", [this] { return aw.pending() + w.pending() == 0; }, 400000);
    bench.tick(all_ends ? 700 : 30);  // a piece or push without its end is given up
    if (all_ends) {
      model.timeout();
      model.close_push();
    }
    std::vector<Push> got;
    for (const Bits& e : bf.items()) {
      Push p{kEntry.get(e, "qpn"),          kEntry.get(e, "index"),
             kEntry.get(e, "blocks"),       kEntry.get(e, "has2") != 0,
             kEntry.get(e, "sampled") != 0, kEntry.get_bits(e, "wqe").bytes()};
      CHECK(kEntry.get(e, "bad") == 0);
      CHECK(kEntry.get(e, "next_index") == ((p.index + p.blocks) & 0xFFFF));
      got.push_back(p);
    }
    CHECK(difference(got, model.pushes) == "");
    CHECK(difference(db.items(), model.doorbells) == "");
    CHECK(fallbacks == model.fallbacks);
    CHECK(refused == model.refused);
    CHECK(b.size() == aw.taken());
  }
  Bench<Top> bench;
  Top& top;
  StreamSource<uint32_t> aw;
  StreamSource<Beat> w;
  StreamSink<uint32_t> b;
  StreamSink<Bits> bf;
  StreamSink<Db> db;
  Model<N> model;
  Rng random = rng("traffic");
  uint64_t fallbacks = 0, refused = 0;
};

template <class Top, unsigned W, unsigned N>
void run_random(Stall stall, unsigned rounds) {
  World<Top, W, N> w(stall);
  auto random = rng("schedule");
  for (unsigned i = 0; i < rounds; ++i) {
    w.bench.wait(
        "room", [&] { return w.aw.pending() < 4; }, 100000);
    auto bytes =
        w.wqe(static_cast<unsigned>(random.below(4)), static_cast<uint16_t>(random.bits(16)));
    const uint64_t qpn = random.chance(0.03) ? random.bits(14) : random.below(N);
    uint32_t addr = static_cast<uint32_t>(qpn * w.slice());
    if (w.slice() > 4096 && random.chance(0.5)) addr += 4096;
    if (random.chance(0.03)) addr += 64 * static_cast<uint32_t>(random.below(8));
    if (random.chance(0.1))
      bytes[random.below(16)] ^=
          static_cast<uint8_t>(1u << random.below(8));  // links, forms, counts
    switch (random.below(8)) {
      case 0: {  // in pieces of 8 or 16 bytes
        const unsigned step = random.chance(0.5) ? 8 : 16;
        for (unsigned at = 0; at < bytes.size(); at += step) {
          w.burst(addr + at,
                  {bytes.begin() + at,
                   bytes.begin() + std::min<long>(at + step, static_cast<long>(bytes.size()))});
        }
        break;
      }
      case 1: {  // a block each
        for (unsigned at = 0; at < bytes.size(); at += 64)
          w.burst(addr + at, {bytes.begin() + at, bytes.begin() + at + 64});
        break;
      }
      case 2: {  // blocks out of order, or one of them missing or twice
        std::vector<unsigned> at;
        for (unsigned k = 0; k < bytes.size(); k += 64) at.push_back(k);
        for (unsigned k = 0; k < at.size(); ++k) {
          if (random.chance(0.3)) std::swap(at[k], at[random.below(at.size())]);
        }
        if (random.chance(0.5)) at.pop_back();
        if (random.chance(0.3) && !at.empty()) at.push_back(at.back());
        for (unsigned k : at) w.burst(addr + k, {bytes.begin() + k, bytes.begin() + k + 64});
        break;
      }
      case 3: {  // cut anywhere
        const size_t n = random.between(1, bytes.size());
        const size_t from = random.chance(0.7) ? 0 : random.below(n);
        w.burst(addr + static_cast<uint32_t>(from),
                {bytes.begin() + static_cast<long>(from), bytes.begin() + static_cast<long>(n)});
        break;
      }
      default:
        w.burst(addr, bytes);
        break;
    }
  }
  w.settle();
  CHECK(w.model.pushes.size() > rounds / 4);
  CHECK(w.model.fallbacks > rounds / 50);
  CHECK(w.model.refused > 0);
}

}  // namespace

TEST_CASE(
    "pushes in whole, in pieces, cut or out of order become WQEs or doorbells, at every width and "
    "under stalls") {
  run_random<Vblueflame, 512, 1000>({}, 1500);
  run_random<Vblueflame, 512, 1000>(Stall::random(0.4), 700);
  run_random<Vblueflame_128, 128, 1000>({}, 800);
  run_random<Vblueflame_128, 128, 1000>(Stall::random(0.4), 400);
  run_random<Vblueflame_256, 256, 8192>(Stall::bursts(0.1, 4), 800);
  run_random<Vblueflame_1024, 1024, 6>({}, 1500);
  run_random<Vblueflame_1024, 1024, 6>(Stall::random(0.4), 700);
}

TEST_CASE("a 64-byte WQE is at bf_valid 2 cycles after its beat, a 128-byte one 2 after its last") {
  World<Vblueflame, 512, 1000> w;
  w.burst(0, w.wqe(0, 7));
  w.settle();
  CHECK(w.bf.cycles()[0] - w.w.cycles()[0] == 2);
  w.burst(w.slice(), w.wqe(1, 7));
  w.settle();
  CHECK(w.bf.cycles()[1] - w.w.cycles()[2] == 2);
}

TEST_CASE("within a burst a block is taken every cycle") {
  World<Vblueflame, 512, 1000> w;
  Wqe q = Wqe::write_inline(1, 2, std::vector<uint8_t>(4000, 7));
  w.burst(0, q.image(3));
  w.settle();
  CHECK(w.w.cycles().back() - w.w.cycles().front() == w.w.cycles().size() - 1);
}

TEST_CASE(
    "two senders whose blocks interleave both fall back to their rings, and no data block is read "
    "as a WQE") {
  World<Vblueflame, 512, 1000> w;
  const auto a = w.wqe(1, 10), b = w.wqe(1, 20);
  auto half = [](const std::vector<uint8_t>& v, int n) {
    return std::vector<uint8_t>(v.begin() + 64 * n, v.begin() + 64 * n + 64);
  };
  w.burst(0 * w.slice(), half(a, 0));
  w.burst(1 * w.slice(), half(b, 0));
  w.burst(0 * w.slice() + 64, half(a, 1));
  w.burst(1 * w.slice() + 64, half(b, 1));
  w.settle();
  CHECK(w.bf.size() == 0);
  CHECK(w.db.items() == std::vector<Db>{{0, 12}, {1, 22}});
  CHECK(w.refused == 2);
}

TEST_CASE("a push that stops is given up in time: with its control segment it becomes a doorbell") {
  World<Vblueflame, 512, 1000> w;
  auto bytes = w.wqe(1, 30);
  w.burst(5 * w.slice(), {bytes.begin(), bytes.begin() + 64});  // the second block never comes
  w.settle();
  w.burst(6 * w.slice(), {bytes.begin(), bytes.begin() + 40});  // a part of the first
  w.settle();
  CHECK(w.db.items() == std::vector<Db>{{5, 32}, {6, 32}});
  w.burst(7 * w.slice(), {bytes.begin(), bytes.begin() + 8});  // not even its index
  w.settle();
  CHECK(w.db.size() == 2);
  CHECK(w.refused == 1);
  w.burst(8 * w.slice(), w.wqe(0, 1));
  w.settle();
  CHECK(w.bf.size() == 1);
}

TEST_CASE("a push that begins anew over an unfinished one does not mix with it") {
  World<Vblueflame, 512, 1000> w;
  const auto a = w.wqe(0, 40), b = w.wqe(0, 41);
  const auto part = [](const std::vector<uint8_t>& v, int from, int to) {
    return std::vector<uint8_t>(v.begin() + from, v.begin() + to);
  };
  // The end of b would complete the beginning of a.
  w.burst(5 * w.slice(), part(a, 0, 40));
  w.burst(5 * w.slice(), part(b, 0, 16));
  w.burst(5 * w.slice() + 40, part(b, 40, 64));
  w.settle();
  CHECK(w.bf.size() == 0);
  CHECK(w.db.items() == std::vector<Db>{{5, 41}, {5, 42}});
  // A whole push behind a broken one is executed, and the broken one is not forgotten.
  w.burst(6 * w.slice(), part(a, 0, 40));
  w.burst(6 * w.slice(), part(b, 0, 64));
  w.settle();
  REQUIRE(w.bf.size() == 1);
  CHECK(w.model.pushes.at(0).index == 41);
  CHECK(w.db.items().back() == Db{6, 41});
}

TEST_CASE("reset in the middle of a push forgets it") {
  World<Vblueflame, 512, 1000> w;
  auto bytes = w.wqe(1, 30);
  for (int i = 0; i < 4; ++i) {
    w.burst(5 * w.slice(), {bytes.begin(), bytes.begin() + (i % 2 ? 64 : 40)});
    w.bench.tick(static_cast<uint64_t>(4 + i));
    w.bench.reset();
    w.model = {};
    w.bf.clear();
    w.db.clear();
    w.b.clear();
    w.aw.clear();
    w.fallbacks = w.refused = 0;
    w.bench.tick(300);
    w.burst(64 + 5 * w.slice(), {bytes.begin() + 64, bytes.end()});  // its rest begins nothing
    w.burst(0, w.wqe(0, 1));
    w.settle();
    CHECK(w.bf.size() == 1);
  }
}
