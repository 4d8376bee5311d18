// SPDX-License-Identifier: Apache-2.0
//
// rx_dispatch: who gets a packet, by its opcode (fact sheet, section 1), and what rx_placer is
// told.
#include <Vrx_dispatch.h>
#include <Vrx_dispatch_queue.h>

#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

bool is_response(uint64_t op) { return op >= 0x0D && op <= 0x12; }

template <class Top>
struct WorldOf {
  explicit WorldOf(Stall stall = {})
      : top(bench.top()),
        rxm(bench, "rxm", top.rxm_valid, top.rxm_ready, top.rxm, stall),
        req(
            bench, "req", top.req_valid, top.req_ready, [this] { return read_pin(top.req); },
            stall),
        resp(
            bench, "resp", top.resp_valid, top.resp_ready, [this] { return read_pin(top.resp); },
            stall),
        ord(
            bench, "ord", top.ord_valid, top.ord_ready, [this] { return uint64_t{top.ord}; },
            stall) {
    bench.on_sample([this] {
      cnps += top.cnt_rx_cnp_o;
      marked += top.cnt_ecn_marked_o;
    });
    bench.reset();
  }
  void packet(uint64_t op, uint64_t len) {
    Bits b = Bits::random(random, kMeta.width());
    kMeta.set(b, "opcode", op);
    kMeta.set(b, "payload_len", len);
    rxm.push(b);
    const bool cnp = op == 0x81, response = is_response(op);
    if (!cnp && !response) want_req.push_back(b);
    if (response || cnp) want_resp.push_back(b);
    want_cnps += cnp;
    want_marked += kMeta.get(b, "ecn") == 3;
    // Requests are the responder's to decide, READ responses and ATOMIC ACKs the completer's, with
    // and without payload; what CNPs and ACKs bring is discarded.
    if (!cnp && !response)
      want_ord.push_back(len);
    else if (response && op != 0x11)
      want_ord.push_back(1u << 13 | len);
    else if (len != 0)
      want_ord.push_back(2u << 13 | len);
  }
  void settle() {
    bench.wait(
        "idle", [this] { return rxm.pending() == 0; }, 100000);
    bench.tick(60);
    CHECK(difference(req.items(), want_req) == "");
    CHECK(difference(resp.items(), want_resp) == "");
    CHECK(difference(ord.items(), want_ord) == "");
    CHECK(cnps == want_cnps);
    CHECK(marked == want_marked);
  }
  Bench<Top> bench;
  Top& top;
  StreamSource<Bits> rxm;
  StreamSink<Bits> req, resp;
  StreamSink<uint64_t> ord;
  Rng random = rng("traffic");
  std::vector<Bits> want_req, want_resp;
  std::vector<uint64_t> want_ord;
  uint64_t cnps = 0, want_cnps = 0, marked = 0, want_marked = 0;
};

using World = WorldOf<Vrx_dispatch>;
using Queue = WorldOf<Vrx_dispatch_queue>;  // eight responses may wait

template <class W>
void keeps_order(Stall s) {
  W w(s);
  for (int i = 0; i < 1500; ++i) {
    static const uint64_t kOps[] = {0x0A, 0x06, 0x07, 0x11, 0x11, 0x10,
                                    0x81, 0x2A, 0x04, 0x12, 0x0E};
    w.packet(kOps[w.random.below(11)], w.random.chance(0.3) ? 0 : w.random.below(4097));
  }
  w.settle();
}

template <class W>
void packet_per_cycle() {
  W w;
  for (int i = 0; i < 50; ++i) w.packet(i % 2 ? 0x0A : 0x11, 64 * (i % 2));
  w.settle();
  CHECK(w.rxm.cycles().back() - w.rxm.cycles().front() == 49);
  CHECK(w.resp.cycles()[0] == w.rxm.cycles()[0]);
}

}  // namespace

TEST_CASE("every opcode goes to its half of the transport, with and without payload") {
  World w;
  for (unsigned op = 0; op < 256; ++op) {
    for (unsigned len : {0u, 1u, 4096u}) w.packet(op, len);
  }
  w.settle();
}

TEST_CASE("rx_dispatch keeps the order under any stalls") {
  for (Stall s : {Stall::random(0.3), Stall::random(0.7), Stall::bursts(0.1, 12)}) {
    keeps_order<World>(s);
    keeps_order<Queue>(s);
  }
}

TEST_CASE("a packet per cycle, none of latency") {
  packet_per_cycle<World>();
  packet_per_cycle<Queue>();
}

TEST_CASE("with a queue, requests pass eight responses that rx_completer does not take") {
  Queue w;
  w.resp.set_stall(Stall::always());
  for (int i = 0; i < 8; ++i) {
    w.packet(i % 2 ? 0x11 : 0x81, 0);
    w.packet(0x0A, 10);
  }
  w.packet(0x11, 0);
  w.packet(0x0A, 10);
  w.bench.tick(60);
  CHECK(w.req.size() == 8);
  CHECK(w.resp.size() == 0);
  w.resp.set_stall(Stall::none());
  w.settle();
}

TEST_CASE("ACKs and CNPs pass while rx_placer takes no more notes, requests wait") {
  World w;
  w.ord.set_stall(Stall::always());
  for (int i = 0; i < 8; ++i) w.packet(0x0A, 10);
  for (int i = 0; i < 20; ++i) w.packet(i % 4 == 3 ? 0x81 : 0x11, 0);
  w.packet(0x0A, 10);
  w.packet(0x11, 0);
  w.bench.tick(60);
  CHECK(w.req.size() == 8);
  CHECK(w.resp.size() == 20);
  w.ord.set_stall(Stall::none());
  w.settle();
}

TEST_CASE("reset empties the notes") {
  World w;
  for (int i = 0; i < 4; ++i) {
    w.ord.set_stall(Stall::always());
    for (int k = 0; k < 6; ++k) w.packet(0x0A, 10);
    w.bench.tick(12);
    w.bench.reset();
    w.ord.set_stall(Stall::none());
    w.want_req = w.req.items();
    w.want_ord = w.ord.items();
    w.want_marked = w.marked;
    w.packet(0x0A, 99);
    w.settle();
  }
}
