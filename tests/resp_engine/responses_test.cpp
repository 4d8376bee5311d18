// SPDX-License-Identifier: Apache-2.0
//
// resp_engine with READs and ATOMICs: responses, their order among ACKs, what they may not pass,
// duplicates, limits, failures.
#include "tests/resp_engine/response_world.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kQps = ResponseWorld::kQps;

// One random request of QP q, if it may have one.
void any_request(ResponseWorld& w, Rng& random, unsigned q) {
  auto& p = w.qp[q];
  const auto kind = random.below(10);
  if (kind < 4) {
    w.write(q, random.chance(0.7));
  } else if (w.outstanding(q) >= p.limit) {
    return;
  } else if (kind < 6) {
    w.atomic(q, random.chance(0.5), random.below(3), random.below(3), 0x40 + 8 * random.below(3));
  } else {
    const uint32_t mtu = p.mtu_bytes();
    static const uint32_t kOdd[] = {0, 1, 2, 3};
    uint32_t len = static_cast<uint32_t>(random.below(4 * mtu));
    if (random.chance(0.3)) {
      len = mtu * static_cast<uint32_t>(random.between(1, 12)) + kOdd[random.below(4)] - 1;
    } else if (random.chance(0.3)) {
      len = kOdd[random.below(4)];
    }
    w.read(q, len);
  }
}

}  // namespace

TEST_CASE("READs, ATOMICs and ACKs of many QPs leave right and in PSN order, under any stalls") {
  for (double p : {0.0, 0.4, 0.8}) {
    INFO("stall " << p);
    ResponseWorld w(Stall::random(p), p == 0.0 ? 1 : 3);
    auto random = rng("requests");
    for (unsigned q = 0; q < kQps; ++q) w.qp[q].limit = q < 4 ? 16 : static_cast<unsigned>(q - 3);
    for (int i = 0; i < 1500; ++i) {
      w.bench.wait(
          "room", [&] { return w.ackq.pending() < 4; }, 20000);
      any_request(w, random, static_cast<unsigned>(random.below(kQps)));
      if (random.chance(0.2)) w.bench.tick(random.below(40));
    }
    w.settle();
    uint64_t said = 0, acks = 0;
    for (const auto& qp : w.qp) {
      for (const auto& s : qp.said) {
        said += !s.is_ack();
        acks += s.is_ack();
      }
    }
    CHECK(w.responses == said);
    CHECK(w.acks == acks);
    CHECK(w.dropped == 0);
    CHECK(w.fail.size() == 0);
  }
}

TEST_CASE("QPs with a rate: packets refused at random change when responses leave, nothing else") {
  for (double p : {0.0, 0.5}) {
    ResponseWorld w(Stall::random(p), 2);
    w.paced = true;
    w.pace_ok = 0.3;
    auto random = rng("requests");
    for (int i = 0; i < 800; ++i) {
      w.bench.wait(
          "room", [&] { return w.ackq.pending() < 4; }, 60000);
      any_request(w, random, static_cast<unsigned>(random.below(kQps)));
      if (random.chance(0.2)) w.bench.tick(random.below(40));
    }
    w.settle();
    uint64_t said = 0;
    for (const auto& qp : w.qp) {
      for (const auto& s : qp.said) said += !s.is_ack();
    }
    CHECK(w.responses == said);
    CHECK(w.pace_made == said);
    CHECK(w.pace_refused > said);
    CHECK(w.fail.size() == 0);
  }
}

TEST_CASE("classes that take no packets at random moments change when responses leave, only that") {
  for (double p : {0.0, 0.5}) {
    ResponseWorld w(Stall::random(p), 2);
    auto random = rng("requests");
    auto moments = rng("holds");
    uint64_t held = 0;
    bool over = false;
    w.bench.on_drive([&] {
      if (over) w.top.pkt_hold_i = w.top.work_hold_i = 0;
      if (over) return;
      if (moments.chance(0.02)) w.top.pkt_hold_i = moments.chance(0.5);
      if (moments.chance(0.1)) w.top.work_hold_i = moments.chance(0.5);
      held += w.top.pkt_hold_i;
    });
    for (int i = 0; i < 800; ++i) {
      w.bench.wait(
          "room", [&] { return w.ackq.pending() < 4; }, 60000);
      any_request(w, random, static_cast<unsigned>(random.below(kQps)));
      if (random.chance(0.2)) w.bench.tick(random.below(40));
    }
    over = true;
    w.settle();
    uint64_t said = 0;
    for (const auto& qp : w.qp) {
      for (const auto& s : qp.said) said += !s.is_ack();
    }
    CHECK(w.responses == said);
    CHECK(held > 1000);
    CHECK(w.fail.size() == 0);
  }
}

TEST_CASE("READs of a paused class wait, READs of others and all lone ACKs do not") {
  ResponseWorld w;
  w.bench.on_drive([&] {
    w.top.eval();
    w.top.work_hold_i = w.top.pace_chk_qpn_o % 2 == 1;
  });
  const auto packets = [&](unsigned q) {
    return (20'000 + w.qp[q].mtu_bytes() - 1) / w.qp[q].mtu_bytes();
  };
  for (unsigned q = 0; q < 4; ++q) w.read(q, 20'000);
  w.write(6);
  w.write(7);
  w.bench.tick(2000);
  for (unsigned q = 0; q < 4; ++q) CHECK(w.qp[q].said.size() == (q % 2 == 1 ? 0 : packets(q)));
  CHECK(w.qp[6].said.size() == 1);
  CHECK(w.qp[7].said.size() == 1);
  // In the middle of a READ one packet may be on its way to tx_buffer, and one be counted.
  w.read(0, 20'000);
  w.bench.wait(
      "its first packets", [&] { return w.qp[0].said.size() >= packets(0) + 3; }, 2000);
  w.top.pkt_hold_i = 1;
  const uint64_t then = w.responses;
  w.bench.tick(1000);
  CHECK(w.responses <= then + 2);
  w.top.pkt_hold_i = 0;
  w.bench.wait(
      "the rest", [&] { return w.qp[0].said.size() == 2 * packets(0); }, 4000);
}

TEST_CASE("a READ or ATOMIC waits for the payload writes before it") {
  ResponseWorld w;
  w.payload_writes = 1.0;
  w.place_rate = 0.0;
  w.write(2, false);
  w.read(2, 100);
  w.write(4, false);
  w.atomic(4, false, 1);
  w.bench.tick(300);
  CHECK(w.rdreq.size() == 0);
  CHECK(w.at.size() == 0);
  w.place_rate = 1.0;  // the world checks at every request that its writes are there
  w.settle();
}

TEST_CASE("tickets count modulo 2^16") {
  ResponseWorld w;
  w.place_rate = 1.0;
  w.payload_writes = 0.0;
  w.ordered = 65500;
  w.bench.wait(
      "placed", [&] { return w.placed == w.ordered; }, 100000);
  w.payload_writes = 1.0;
  for (int i = 0; i < 100; ++i) {
    w.write(1, false);
    w.read(1, 10);
    w.run_dry();
  }
  w.settle();
}

TEST_CASE("an ACK behind a READ waits until the responses have left, one in front does not") {
  ResponseWorld w;
  w.hold_buffer = true;
  w.bench.tick(100);
  w.write(2);
  w.bench.tick(10);
  w.read(2, 3000);
  w.write(2);
  w.nak(2, 0x60);
  w.write(3);  // another QP does not wait
  w.bench.tick(500);
  REQUIRE(w.qp[2].said.size() == 1);
  CHECK(w.qp[2].said[0].is_ack());
  CHECK(w.qp[3].said.size() == 1);
  w.hold_buffer = false;
  w.settle();
  CHECK(w.qp[2].said.back().syndrome == 0x60);
  CHECK(!w.qp[2].said.back().buffered);
}

TEST_CASE("ACKs of a QP that always has READs to answer leave between them") {
  ResponseWorld w;
  w.place_rate = 1;
  auto last = std::make_pair(uint64_t{0}, uint32_t{0});
  for (int i = 0; i < 60; ++i) {
    w.bench.wait("room", [&] { return w.outstanding(0) < 12; });
    w.read(0, 200);
    w.write(0);
    w.bench.tick(3);
  }
  w.settle();
  unsigned acks = 0;
  for (const auto& s : w.qp[0].said) acks += s.is_ack() && s.buffered;
  CHECK(acks > 5);
  static_cast<void>(last);
}

TEST_CASE("a NAK that the requester has obeyed is not sent behind the answer to it") {
  ResponseWorld w;
  w.hold_buffer = true;
  w.read(2, 300);
  w.nak(2, 0x60);  // waits behind the READ
  w.qp[2].nak.reset();
  w.bench.tick(100);
  w.write(2, false);  // the gap is filled, without AckReq
  w.read(2, 300);
  w.hold_buffer = false;
  w.settle();
  for (const auto& s : w.qp[2].said) CHECK(s.syndrome != 0x60);
}

TEST_CASE("a repeated READ is answered again from where it is asked for") {
  for (double p : {0.0, 0.5}) {
    ResponseWorld w(Stall::random(p), p == 0.0 ? 1 : 3);
    const unsigned q = 3;  // MTU 2048, in pages
    auto random = rng("repeat");
    for (int i = 0; i < 5; ++i) w.read(q, 2048 * 5 - 100);
    w.write(q);
    w.settle();
    for (int round = 0; round < 30; ++round) {
      auto& said = w.qp[q].said;
      said.clear();
      const auto n = static_cast<size_t>(random.below(5));
      const auto k = static_cast<uint32_t>(random.below(5));
      INFO("READ " << n << " from packet " << k);
      w.repeat_read(q, n, k);
      w.run_dry();
      REQUIRE(said.size() == 5 - k);
      for (uint32_t i = k; i < 5; ++i) {
        CHECK(said[i - k].psn == ((w.qp[q].asked[n].psn + i) & 0xFFFFFF));
        w.check_response(q, said[i - k], w.qp[q].asked[n], i == k);
      }
    }
    CHECK(w.dropped == 0);
  }
}

TEST_CASE(
    "a repeated READ that overtakes its own answer goes back, one that is not reached yet does "
    "not") {
  ResponseWorld w;
  const unsigned q = 0;  // MTU 256
  w.read(q, 256 * 40);
  w.bench.wait("some", [&] { return w.qp[q].said.size() == 14; });
  w.repeat_read(q, 0, 3);
  w.run_dry();
  // 0 .. x, then 3 .. 39 again
  const auto& said = w.qp[q].said;
  size_t back = 0;
  for (size_t i = 1; i < said.size(); ++i) {
    if (said[i].psn == ((said[i - 1].psn + 1) & 0xFFFFFF)) continue;
    CHECK(back == 0);
    back = i;
  }
  REQUIRE(back >= 14);
  CHECK(said[back].psn == ((w.qp[q].asked[0].psn + 3) & 0xFFFFFF));
  CHECK(said.back().psn == ((w.qp[q].asked[0].psn + 39) & 0xFFFFFF));
  for (size_t i = 0; i < said.size(); ++i) {
    w.check_response(q, said[i], w.qp[q].asked[0], i == 0 || i == back);
  }
  // Not reached yet: the answer goes on as it was.
  w.qp[q].said.clear();
  w.hold_buffer = true;
  w.read(q, 256 * 60);
  w.bench.tick(300);
  w.repeat_read(q, 1, 50);
  w.hold_buffer = false;
  w.run_dry();
  CHECK(w.qp[q].said.size() == 60);
}

TEST_CASE("a repeated ATOMIC is answered from the saved result and not executed again") {
  ResponseWorld w;
  w.memory[0x40] = 5;
  for (int i = 0; i < 10; ++i) w.atomic(2, false, 7);
  w.settle();
  CHECK(w.memory[0x40] == 75);
  for (size_t i : {9u, 0u, 4u}) {
    w.qp[2].said.clear();
    w.repeat_atomic(2, i);
    w.run_dry();
    REQUIRE(w.qp[2].said.size() == 1);
    w.check_response(2, w.qp[2].said[0], w.qp[2].asked[i], true);
  }
  CHECK(w.memory[0x40] == 75);
  for (const auto& a : w.qp[2].asked) CHECK(a.executed == 1);
  // Not executed yet: nothing to do.
  w.qp[2].said.clear();
  w.hold_atomics = true;
  w.atomic(2, false, 1);
  w.repeat_atomic(2, 10);
  w.bench.tick(200);
  w.hold_atomics = false;
  w.run_dry();
  CHECK(w.qp[2].said.size() == 1);
  CHECK(w.memory[0x40] == 76);
}

TEST_CASE("repeats that match nothing are dropped and counted") {
  ResponseWorld w;
  const unsigned q = 2;  // MTU 1024
  for (int i = 0; i < 20; ++i) {
    w.read(q, 3000);
    w.run_dry();
  }
  w.atomic(q, false, 1);
  w.settle();
  auto& p = w.qp[q];
  p.said.clear();
  const auto& a = p.asked[19];
  auto wrong = [&](uint32_t psn, uint64_t va, uint32_t len, uint32_t rkey = 0) {
    const uint64_t before = w.dropped;
    w.push_read(q, psn, va, len, p.msn, true, 0, rkey);
    w.run_dry();
    CHECK(w.dropped == before + 1);
    CHECK(p.said.empty());
  };
  wrong(p.asked[3].psn, p.asked[3].va, 3000);  // more than 16 ago
  wrong(a.psn, a.va + 1, 2999);                // not a whole number of packets
  wrong(a.psn, a.va, 2999);                    // another end
  wrong(a.psn, a.va, 3001);
  wrong((a.psn + 1) & 0xFFFFFF, a.va, 3000);  // the whole, from the second packet
  wrong((a.psn + 1) & 0xFFFFFF, a.va + 1024, 3000 - 1023);
  wrong((a.psn + 3) & 0xFFFFFF, a.va + 3072, 0);  // behind it: that is the ATOMIC
  wrong((a.psn - 1) & 0xFFFFFF, a.va - 1024, 4024);
  wrong(a.psn, a.va, 3000, 0x501);  // another key
  w.push_read(q, a.psn, a.va, 3000, p.msn, true, 0);
  w.run_dry();
  CHECK(p.said.size() == 3);
  p.said.clear();
  const uint64_t before = w.dropped;
  auto atomic = p.asked[19];
  w.push_atomic(q, atomic, true);       // an ATOMIC where a READ was
  w.push_read(5, 1, 2, 3, 0, true, 0);  // a QP that never had any
  w.run_dry();
  CHECK(w.dropped == before + 2);
  CHECK(p.said.empty());
}

TEST_CASE("repeats among new requests: each is answered after it came, nothing is lost") {
  for (double p : {0.0, 0.5}) {
    ResponseWorld w(Stall::random(p), 2);
    auto random = rng("mix");
    struct Again {
      unsigned q;
      uint32_t psn, count;
      uint64_t cycle;
    };
    std::vector<Again> again;
    for (int i = 0; i < 800; ++i) {
      w.bench.wait(
          "room", [&] { return w.ackq.pending() < 2; }, 20000);
      const auto q = static_cast<unsigned>(random.below(4));
      auto& qp = w.qp[q];
      if (random.chance(0.25) && qp.asked.size() > 3) {
        // One of the last few; they are still saved.
        const size_t n = qp.asked.size() - 1 - static_cast<size_t>(random.below(4));
        const auto& a = qp.asked[n];
        const uint32_t k = a.atomic ? 0 : static_cast<uint32_t>(random.below(a.packets));
        w.bench.wait(
            "request", [&] { return w.ackq.pending() == 0; }, 20000);
        if (a.atomic)
          w.repeat_atomic(q, n);
        else
          w.repeat_read(q, n, k);
        again.push_back({q, (a.psn + k) & 0xFFFFFF, a.packets - k, w.bench.cycle()});
        w.bench.tick(random.below(300));
      } else {
        if (w.outstanding(q) < 8) any_request(w, random, q);
      }
    }
    w.run_dry();
    for (const Again& x : again) {
      INFO("QP " << x.q << " psn " << ResponseWorld::hex(x.psn) << " cycle " << x.cycle);
      uint32_t next = x.psn, left = x.count;
      for (const auto& s : w.qp[x.q].said) {
        if (s.cycle < x.cycle || s.is_ack() || left == 0) continue;
        if (s.psn == next) {
          next = (next + 1) & 0xFFFFFF;
          --left;
        }
      }
      CHECK(left == 0);
    }
    CHECK(w.dropped == 0);
    for (unsigned q = 0; q < 4; ++q) {
      for (const auto& s : w.qp[q].said) {
        if (s.is_ack() || s.bytes.empty()) continue;
        const auto* a = w.find(q, s.psn);
        REQUIRE(a != nullptr);
        w.check_response(q, s, *a, s.opcode == 0x0D || s.opcode == 0x10);
      }
      for (const auto& a : w.qp[q].asked) CHECK(a.executed == (a.atomic ? 1u : 0u));
    }
  }
}

namespace {

// The QP has failed: its last word was this NAK, cmd_unit was told, nothing more is said.
void check_failed(ResponseWorld& w, unsigned q, uint8_t syndrome, uint32_t psn) {
  static const std::map<uint8_t, uint64_t> kCause{{0x61, 0x12}, {0x62, 0x13}, {0x63, 0x14}};
  w.run_dry();
  auto& p = w.qp[q];
  REQUIRE(!p.said.empty());
  CHECK(p.said.back().opcode == 0x11);
  CHECK(p.said.back().syndrome == syndrome);
  CHECK(p.said.back().psn == psn);
  REQUIRE(w.fail.size() == 1);
  CHECK(kFail.get(w.fail[0], "qpn") == q);
  CHECK(kFail.get(w.fail[0], "cause") == kCause.at(syndrome));
  CHECK(kFail.get(w.fail[0], "event_type") == (syndrome == 0x62 ? kEvQpAccess : kEvQpFatal));
  const size_t before = p.said.size();
  w.write(q);
  w.read(q, 100);
  w.atomic(q, false, 1);
  w.repeat_read(q, 0, 0);
  w.run_dry();
  CHECK(p.said.size() == before);
  CHECK(w.fail.size() == 1);
  // Others are not concerned; the QP may start anew.
  w.read((q + 1) % kQps, 500);
  p.asked.clear();
  w.clear(q, kOrderRtr);
  p.said.clear();
  p.dead = false;
  p.acks.clear();
  w.read(q, 700);
  w.write(q);
  w.denied = w.refused = w.unreadable = nullptr;
  w.atomic_fails = nullptr;
  w.run_dry();
  w.check_in_order(q);
  w.check_in_order((q + 1) % kQps);
}

}  // namespace

TEST_CASE(
    "more READs and ATOMICs than the limit: those within it are answered, then NAK invalid "
    "request") {
  for (unsigned limit : {0u, 1u, 4u, 16u, 200u}) {
    INFO("limit " << limit);
    ResponseWorld w;
    const unsigned q = 2;
    w.qp[q].limit = limit;
    w.hold_buffer = true;
    const unsigned real = std::min(limit, 16u);
    for (unsigned i = 0; i < real; ++i) w.read(q, 1024 * 40);
    const uint32_t psn = w.qp[q].psn;
    if (limit % 2 == 0)
      w.read(q, 10);
    else
      w.atomic(q, false, 1);
    w.write(q);
    w.bench.tick(300);
    CHECK(w.at.size() == 0);
    w.hold_buffer = false;
    w.run_dry();
    CHECK(w.qp[q].said.size() == real * 40 + 1);
    w.qp[q].limit = 16;
    check_failed(w, q, 0x61, psn);
  }
}

TEST_CASE("exactly as many as the limit are served, again and again") {
  ResponseWorld w;
  w.qp[2].limit = 4;
  for (int round = 0; round < 20; ++round) {
    while (w.outstanding(2) < 4) w.read(2, 2000);
    const size_t said = w.qp[2].said.size();
    w.bench.wait("answers", [&] { return w.qp[2].said.size() > said; });
  }
  w.settle();
  CHECK(w.fail.size() == 0);
}

TEST_CASE(
    "a region that is invalidated in the middle of a READ: NAK remote access at that packet") {
  for (unsigned q : {2u, 3u}) {
    for (bool refused : {false, true}) {
      ResponseWorld w;
      w.read(q, 8000);
      const auto& a = w.read(q, w.qp[q].mtu_bytes() * 10);
      const uint64_t from = a.va + w.qp[q].mtu_bytes() * 6;
      const uint32_t psn = (a.psn + 6) & 0xFFFFFF;
      w.write(q);
      w.read(q, 100);
      auto no = [from](uint64_t va) { return va >= from; };
      if (refused)
        w.refused = no;
      else
        w.denied = no;
      const unsigned first = (8000 + w.qp[q].mtu_bytes() - 1) / w.qp[q].mtu_bytes();
      w.run_dry();
      CHECK(w.qp[q].said.size() == first + 7);
      check_failed(w, q, refused ? 0x63 : 0x62, psn);
    }
  }
}

TEST_CASE("a repeated READ looks its key up again: what was taken away since is not read") {
  for (unsigned q : {2u, 3u}) {
    for (uint32_t k : {0u, 2u}) {
      ResponseWorld w;
      const auto& a = w.read(q, w.qp[q].mtu_bytes() * 4);
      w.settle();
      w.qp[q].said.clear();
      const size_t read = w.rdreq.size();
      w.denied = [](uint64_t) { return true; };
      w.repeat_read(q, 0, k);
      w.run_dry();
      CHECK(w.qp[q].said.size() == 1);
      CHECK(w.rdreq.size() == read);
      check_failed(w, q, 0x62, (a.psn + k) & 0xFFFFFF);
    }
  }
}

TEST_CASE("the second piece of a packet is checked before the packet leaves") {
  ResponseWorld w;
  const unsigned q = 3;  // MTU 2048, in pages
  const uint64_t va = 0x100'0000'0000 * (q + 1) + 0x10'0000 + 4000;
  const auto& a = w.read(q, 2048, va);
  const uint32_t psn = a.psn;
  w.denied = [&](uint64_t v) { return v >= (va & ~uint64_t{4095}) + 4096; };
  w.run_dry();
  CHECK(w.rdreq.size() == 0);
  check_failed(w, q, 0x62, psn);
}

TEST_CASE("payload that cannot be read: NAK remote operational at that packet, nothing behind it") {
  for (double p : {0.0, 0.5}) {
    ResponseWorld w(Stall::random(p), p == 0.0 ? 1 : 3);
    const unsigned q = 2;
    w.read(q, 5000);
    const auto& a = w.read(q, 1024 * 10);
    const uint64_t bad = w.translate(a.va + 1024 * 4 + 17);
    const uint32_t psn = (a.psn + 4) & 0xFFFFFF;
    w.unreadable = [bad](uint64_t addr) { return addr == bad; };
    w.write(q);
    w.read(q, 100);
    w.run_dry();
    CHECK(w.qp[q].said.size() == 5 + 4 + 1);
    check_failed(w, q, 0x63, psn);
  }
}

TEST_CASE(
    "an ATOMIC whose memory cannot be read: NAK remote operational, after the answers before it") {
  ResponseWorld w;
  const unsigned q = 4;
  w.hold_buffer = true;
  w.read(q, 4000);
  const uint32_t psn = w.qp[q].psn;
  w.atomic_fails = [](uint64_t a) { return a == 0x48; };
  w.atomic(q, false, 1, 0, 0x48);
  w.read(q, 100);
  w.atomic(q, false, 1, 0, 0x50);
  w.bench.tick(200);
  w.hold_buffer = false;
  w.run_dry();
  check_failed(w, q, 0x63, psn);
}

TEST_CASE("CLEAR and RTR forget what was saved and what was under way, at any time") {
  for (int when = 0; when < 60; when += 3) {
    INFO("after " << when << " cycles");
    ResponseWorld w(Stall::random(0.2), 2);
    auto random = rng("clear" + std::to_string(when));
    for (int i = 0; i < 4; ++i) {
      w.read(1, 3000);
      w.atomic(1, false, 1);
      w.write(1);
      w.read(6, 2000);
    }
    w.bench.wait("requests", [&] { return w.ackq.pending() == 0; });
    w.bench.tick(static_cast<uint64_t>(when));
    w.clear(1, random.chance(0.5) ? kClear : kOrderRtr);
    // What was in tx_buffer may still leave; the answers of the new life follow.
    auto& p = w.qp[1];
    const auto old = p.asked;
    p.asked.clear();
    p.acks.clear();
    p.psn = 0x123;
    p.msn = 0;
    w.read(1, 5000, 0x100'0000'0000 * 2 + 0x5000'0000);
    w.write(1);
    w.atomic(1, true, 1);
    const uint64_t dropped = w.dropped;
    w.check_atomic_order = false;
    p.asked.insert(p.asked.end(), old.begin(), old.end());  // for those still under way
    w.run_dry();
    p.asked.resize(2);
    std::erase_if(p.said, [&](const auto& s) { return ((s.psn - 0x123) & 0xFFFFFF) > 20; });
    w.check_in_order(1);
    w.check_in_order(6);
    // The saved ones of the old life are gone.
    p.asked = old;
    w.repeat_read(1, 0, 0);
    w.run_dry();
    CHECK(w.dropped == dropped + 1);
  }
}

TEST_CASE("ERR lets the answers before the NAK and the NAK itself leave") {
  ResponseWorld w;
  w.hold_buffer = true;
  w.read(2, 4000);
  w.nak(2, 0x61);
  w.bench.tick(50);
  w.clear(2, kOrderErr);
  w.hold_buffer = false;
  w.settle();
}

TEST_CASE("READs of a QP that was destroyed are dropped") {
  ResponseWorld w;
  w.hold_buffer = true;
  w.read(2, 4000);
  w.bench.tick(30);
  w.exists[3] = false;
  w.read(3, 300);
  w.atomic(3, false, 1);
  w.hold_buffer = false;
  w.run_dry();
  CHECK(w.qp[3].said.empty());
  CHECK(w.at.size() == 0);
  w.check_in_order(2);
}

TEST_CASE(
    "repeats faster than they are found are dropped, not queued without end, and hold up no ACK") {
  ResponseWorld w;
  for (int i = 0; i < 16; ++i) {
    w.read(2, 10);
  }
  w.settle();
  for (int i = 0; i < 200; ++i) w.repeat_read(2, 0, 0);
  w.write(3);
  w.bench.wait(
      "ACK", [&] { return w.qp[3].said.size() == 1; }, 500);
  w.run_dry();
  CHECK(w.dropped > 50);
  CHECK(w.qp[2].said.size() > 20);
}

TEST_CASE("pace: a small READ or ATOMIC every 5 cycles, packets of a long READ every 3") {
  auto span = [](ResponseWorld& w, size_t from, size_t to) {
    const auto& c = w.txp.cycles();
    return static_cast<double>(c.at(to) - c.at(from)) / static_cast<double>(to - from);
  };
  {
    ResponseWorld w;
    for (unsigned i = 0; i < 100; ++i) w.read(2 * (i % 4), 64);
    w.settle();
    const double cycles = span(w, 20, 80);
    WARN("small READs: " << cycles << " cycles each");
    CHECK(cycles <= 5.5);
  }
  {
    ResponseWorld w;
    for (unsigned i = 0; i < 16; ++i) w.read(2, 64);
    w.settle();
    const double cycles = span(w, 4, 15);
    WARN("small READs of one QP: " << cycles << " cycles each");
    CHECK(cycles <= 5.5);
  }
  {
    ResponseWorld w;
    for (unsigned i = 0; i < 60; ++i) w.atomic(i % kQps, false, 1);
    w.settle();
    const double cycles = span(w, 20, 55);
    WARN("ATOMICs: " << cycles << " cycles each");
    CHECK(cycles <= 5.5);
  }
  ResponseWorld w;
  w.read(0, 256 * 100);
  w.read(2, 1024 * 100);
  w.settle();
  const double cycles = span(w, 50, 150);
  WARN("packets of a long READ: " << cycles << " cycles each");
  CHECK(cycles <= 3.6);
}

TEST_CASE("latency from a READ request to its payload request") {
  ResponseWorld w;
  w.bench.tick(20);
  w.read(2, 64);
  w.bench.wait("read", [&] { return w.rdreq.size() == 1; });
  const uint64_t cycles = w.rdreq.cycles()[0] - w.ackq.cycles()[0];
  WARN(cycles << " cycles from request to rdreq");
  CHECK(cycles <= 12);
}

TEST_CASE("reset in the middle of answers leaves nothing behind") {
  for (uint64_t when : {5u, 17u, 60u}) {
    ResponseWorld w(Stall::random(0.3), 2);
    for (unsigned i = 0; i < 8; ++i) {
      w.read(i, 3000);
      w.atomic(i, false, 1);
    }
    w.bench.tick(when);
    w.bench.reset();
    w.bench.settle();
    CHECK(w.top.txp_valid == 0);
    CHECK(w.top.rdreq_valid == 0);
    CHECK(w.top.rsp_valid == 0);
    CHECK(w.top.at_valid == 0);
    CHECK(w.top.fail_valid == 0);
    CHECK(w.top.mrq_valid == 0);
  }
}

TEST_CASE("long random traffic with repeats and failures", "[.soak]") {
  for (int seed = 0; seed < 20; ++seed) {
    ResponseWorld w(Stall::random(0.1 * (seed % 8)), 1 + seed % 4);
    auto random = rng("soak" + std::to_string(seed));
    for (int i = 0; i < 3000; ++i) {
      w.bench.wait(
          "room", [&] { return w.ackq.pending() < 4; }, 20000);
      any_request(w, random, static_cast<unsigned>(random.below(kQps)));
    }
    w.settle();
  }
}
