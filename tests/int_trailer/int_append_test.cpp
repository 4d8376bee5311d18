// SPDX-License-Identifier: Apache-2.0
//
// int_append beside the trailer writer of harness/roce: packets of every length, with and without.
#include <Vint_append_w1024.h>
#include <Vint_append_w128.h>
#include <Vint_append_w256.h>
#include <Vint_append_w512.h>

#include "tests/int_trailer/telemetry.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;
namespace roce = rnic::roce;

namespace {

const PkgStruct kEth("tx_eth_t");

struct InBeat {
  Bits data, eth, tele;
  unsigned cnt = 0;
  bool last = false, abort = false, add = false, echo = false;
  bool operator==(const InBeat&) const = default;
};
struct OutBeat {
  Bits data, eth;
  unsigned cnt = 0;
  bool last = false, abort = false;
  bool operator==(const OutBeat&) const = default;
};
struct Packet {
  std::vector<uint8_t> bytes;
  Bits eth;
  bool abort = false;
  size_t beats = 0;
  bool operator==(const Packet& o) const {
    return bytes == o.bytes && eth == o.eth && abort == o.abort;
  }
};
std::ostream& operator<<(std::ostream& out, const Packet& p) {
  return out << p.bytes.size() << " bytes" << (p.abort ? ", aborted" : "");
}

template <class Top>
class World {
 public:
  static constexpr size_t kBytes = sizeof(Top::in_data);

  explicit World(Stall in_stall = {}, Stall out_stall = {})
      : top(bench.top()),
        in(
            bench, "in", top.in_valid, top.in_ready,
            [this](const InBeat& b) {
              write_pin(top.in_data, b.data);
              write_pin(top.in_eth, b.eth);
              write_pin(top.in_int, b.tele);
              top.in_cnt = static_cast<CData>(b.cnt);
              top.in_last = b.last;
              top.in_abort = b.abort;
              top.in_add = b.add;
              top.in_echo = b.echo;
            },
            in_stall),
        out(
            bench, "out", top.out_valid, top.out_ready,
            [this] {
              return OutBeat{read_pin(top.out_data), read_pin(top.out_eth), top.out_cnt,
                             top.out_last != 0, top.out_abort != 0};
            },
            out_stall) {
    out.on_item([this](const OutBeat& b) { take(b); });
    bench.reset();
  }
  // A packet of so many bytes, a multiple of 4.
  void send(size_t length, bool add, bool echo = false, bool abort = false) {
    Packet want;
    want.bytes = random.bytes(length);
    want.eth = Bits::random(random, kEth.width());
    want.abort = abort;
    roce::IntTrailer t = random_trailer(random);
    t.echo = echo;
    for (size_t at = 0; at < length; at += kBytes) {
      InBeat b;
      b.data = Bits(8 * kBytes);
      b.cnt = static_cast<unsigned>(std::min(kBytes, length - at));
      for (size_t i = 0; i < b.cnt; ++i) b.data.set_byte(i, want.bytes[at + i]);
      b.last = at + b.cnt == length;
      b.abort = abort && b.last;
      b.eth = want.eth;
      // Without its flag the telemetry says nothing, and before the last beat nothing counts.
      b.tele = telemetry_bits(t);
      b.add = add;
      b.echo = echo;
      in.push(b);
    }
    if (add) {
      want.bytes.resize(length + roce::kIntBytes);
      roce::write_int(std::span(want.bytes).subspan(length), t);
    }
    wanted.push_back(want);
  }
  // The block was reset: what was on its way is gone.
  void restart() {
    got.clear();
    wanted.clear();
    now_ = {};
  }
  void settle() {
    bench.wait(
        "packets out", [this] { return got.size() >= wanted.size(); },
        1000 + 400 * wanted.size() * (kBytes == 16 ? 4 : 1));
    bench.tick(20);
    CHECK(difference(got, wanted) == "");
  }

  Bench<Top> bench;
  Top& top;
  StreamSource<InBeat> in;
  StreamSink<OutBeat> out;
  Rng random = rng("packets");
  std::vector<Packet> wanted, got;

 private:
  void take(const OutBeat& b) {
    if (b.cnt == 0 || b.cnt > kBytes || (!b.last && b.cnt != kBytes))
      throw ProtocolError("out_cnt " + std::to_string(b.cnt));
    for (size_t i = 0; i < kBytes; ++i) {
      if (i < b.cnt)
        now_.bytes.push_back(b.data.byte(i));
      else if (b.data.byte(i) != 0)
        throw ProtocolError("lane behind out_cnt is not zero");
    }
    if (now_.beats != 0 && !(now_.eth == b.eth)) throw ProtocolError("out_eth changed");
    now_.eth = b.eth;
    ++now_.beats;
    if (!b.last) return;
    now_.abort = b.abort;
    got.push_back(now_);
    now_ = {};
  }
  Packet now_;
};

}  // namespace

#define WIDTHS Vint_append_w128, Vint_append_w256, Vint_append_w512, Vint_append_w1024

TEMPLATE_TEST_CASE("a trailer stands behind packets of every length, others pass unchanged", "",
                   WIDTHS) {
  for (double p : {0.0, 0.3, 0.7}) {
    World<TestType> w(Stall::random(p), Stall::random(p));
    for (size_t length = 40; length <= 40 + 3 * w.kBytes; length += 4) {
      for (unsigned kind = 0; kind < 4; ++kind)
        w.send(length, kind != 0, kind == 2, w.random.chance(0.1));
    }
    w.settle();
  }
}

TEMPLATE_TEST_CASE("without trailers nothing changes: no cycle, no bubble", "", WIDTHS) {
  World<TestType> w;
  for (int i = 0; i < 30; ++i) w.send(4 * w.random.between(10, 3 * w.kBytes / 4), false);
  w.settle();
  const auto &a = w.in.cycles(), &b = w.out.cycles();
  REQUIRE(a.size() == b.size());
  CHECK(std::equal(a.begin(), a.end(), b.begin()));
  CHECK(b.back() - b.front() == b.size() - 1);
}

TEMPLATE_TEST_CASE("a beat per cycle; a trailer costs the beats that it does not fit in", "",
                   WIDTHS) {
  World<TestType> w;
  size_t beats = 0;
  for (int i = 0; i < 60; ++i) {
    const size_t length = 4 * w.random.between(10, 3 * w.kBytes / 4);
    w.send(length, true, i % 2);
    beats += (length + roce::kIntBytes + w.kBytes - 1) / w.kBytes;
  }
  w.settle();
  const auto& c = w.out.cycles();
  CHECK(c.size() == beats);
  CHECK(c.back() - c.front() == beats - 1);
}

TEMPLATE_TEST_CASE("a reset in the middle of a trailer leaves nothing of it", "", WIDTHS) {
  World<TestType> w;
  for (unsigned at = 1; at < 12; ++at) {
    for (int i = 0; i < 6; ++i) w.send(w.kBytes, true);
    w.bench.tick(at);
    w.bench.reset();
    w.restart();
    w.send(44, false);
    w.bench.tick(8);
    CHECK(w.got == w.wanted);
    w.restart();
  }
}
