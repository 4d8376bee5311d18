// SPDX-License-Identifier: Apache-2.0
// Rules of the reference responder that no recorded run shows (fact sheet section 4).
#include "harness/roce/responder_model.hpp"

#include <functional>
#include <vector>

#include "harness/roce/bytes.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::roce;

namespace {

constexpr uint64_t kVa = 0x10000;
constexpr uint32_t kKey = 0x1234;

struct Bench {
  explicit Bench(const std::function<void(ResponderConfig&)>& change = {}) {
    memory.assign(65536, 0);
    regions.add({.rkey = kKey, .va = kVa, .bytes = memory});
    ResponderConfig c;
    c.qpn = 0x11;
    c.first_psn = 0xFFFFFE;
    c.pmtu = 256;
    if (change) change(c);
    model.emplace(c, regions);
    spec.ip_src = ipv4_address(10, 0, 0, 1);
    spec.ip_dst = ipv4_address(10, 0, 0, 2);
    spec.dest_qp = 0x11;
    spec.psn = c.first_psn;
    spec.rkey = kKey;
    spec.va = kVa;
    spec.ack_req = true;
  }
  // Sends one packet at spec.psn, which advances when `advance`.
  RxVerdict send(uint8_t opcode, uint32_t length, bool advance = true,
                 const std::function<void(std::vector<uint8_t>&)>& edit = {}) {
    spec.opcode = opcode;
    std::vector<uint8_t> payload(length), frame(length + 200);
    for (uint32_t i = 0; i < length; ++i) payload[i] = static_cast<uint8_t>(1 + i * 3 + spec.psn);
    frame.resize(build_frame(spec, payload, frame));
    if (edit) edit(frame);
    model->clear_outputs();
    const RxVerdict v = model->receive(frame);
    if (advance) spec.psn = psn_add(spec.psn, 1);
    return v;
  }
  RxVerdict write(uint8_t opcode, uint32_t length, uint32_t dma_len, bool advance = true) {
    spec.dma_len = dma_len;
    return send(opcode, length, advance);
  }
  uint8_t syndrome() const {
    return model->responses().empty() ? 0xFF : model->responses().back().syndrome;
  }
  bool untouched() const {
    for (uint8_t b : memory) {
      if (b != 0) return false;
    }
    return true;
  }
  std::vector<uint8_t> memory;
  RegionTable regions;
  std::optional<ResponderModel> model;
  FrameSpec spec;
};

// The packet ends the QP with this NAK and leaves memory alone.
void expect_fatal(Bench& b, RxVerdict v, uint8_t syndrome) {
  CHECK(v == RxVerdict::kNakFatal);
  CHECK(b.syndrome() == syndrome);
  CHECK(b.model->state() == QpState::kErr);
  b.model->clear_outputs();
  CHECK(b.send(kRcWriteOnly, 0) == RxVerdict::kDropState);
  CHECK(b.model->responses().empty());
}

}  // namespace

TEST_CASE("a WRITE of three packets lands in order across the PSN wrap") {
  Bench b;
  CHECK(b.write(kRcWriteFirst, 256, 600) == RxVerdict::kExecuted);
  CHECK(b.write(kRcWriteMiddle, 256, 0) == RxVerdict::kExecuted);
  CHECK(b.write(kRcWriteLast, 88, 0) == RxVerdict::kExecuted);
  CHECK(b.model->expected_psn() == 1);
  CHECK(b.model->msn() == 1);
  REQUIRE(b.model->responses().size() == 1);
  CHECK(b.model->responses()[0].psn == 0);
  CHECK(b.memory[0] == static_cast<uint8_t>(1 + 0xFE));
  CHECK(b.memory[256] == 0);  // 1 + 0xFFFFFF modulo 256
  CHECK(b.memory[599] == static_cast<uint8_t>(1 + 87 * 3));
  CHECK(b.memory[600] == 0);
}

TEST_CASE("one NAK per gap, silence behind it, and a new one after the gap is filled") {
  Bench b;
  b.spec.psn = psn_add(b.spec.psn, 2);
  CHECK(b.write(kRcWriteOnly, 0, 0) == RxVerdict::kNakSequence);
  CHECK(b.syndrome() == 0x60);
  CHECK(b.model->responses()[0].psn == 0xFFFFFE);
  CHECK(b.write(kRcWriteOnly, 0, 0) == RxVerdict::kGapDiscarded);
  CHECK(b.model->responses().empty());
  b.spec.psn = 0xFFFFFE;
  CHECK(b.write(kRcWriteOnly, 0, 0) == RxVerdict::kExecuted);
  b.spec.psn = 5;
  CHECK(b.write(kRcWriteOnly, 0, 0) == RxVerdict::kNakSequence);
  CHECK(b.model->responses()[0].psn == 0xFFFFFF);
}

TEST_CASE("a duplicate is acknowledged again and never executed") {
  Bench b;
  b.write(kRcWriteOnly, 16, 16);
  const auto after = b.memory;
  b.spec.psn = 0xFFFFFE;
  b.spec.va = kVa + 1000;
  CHECK(b.write(kRcWriteOnly, 16, 16) == RxVerdict::kDuplicate);
  CHECK(b.memory == after);
  REQUIRE(b.model->responses().size() == 1);
  CHECK(b.model->responses()[0].psn == 0xFFFFFE);
  CHECK(b.model->msn() == 1);
  // An error in a duplicate is not a reason for a NAK.
  b.spec.psn = 0xFFFFFE;
  b.spec.rkey = 0xBAD;
  CHECK(b.write(kRcWriteOnly, 16, 16) == RxVerdict::kDuplicate);
  CHECK(b.model->state() == QpState::kRtr);
  Bench quiet([](ResponderConfig& c) { c.policy.ack_every_duplicate = false; });
  quiet.write(kRcWriteOnly, 0, 0);
  quiet.spec.psn = 0xFFFFFE;
  quiet.spec.ack_req = false;
  CHECK(quiet.write(kRcWriteOnly, 0, 0) == RxVerdict::kDuplicate);
  CHECK(quiet.model->responses().empty());
}

TEST_CASE("length errors are invalid requests and place nothing beyond what was legal") {
  Bench b;
  SECTION("FIRST shorter than the MTU") { expect_fatal(b, b.write(kRcWriteFirst, 255, 600), 0x61); }
  SECTION("ONLY longer than the MTU") { expect_fatal(b, b.write(kRcWriteOnly, 260, 260), 0x61); }
  SECTION("ONLY with more bytes than announced") {
    expect_fatal(b, b.write(kRcWriteOnly, 16, 12), 0x61);
  }
  SECTION("ONLY with fewer bytes than announced") {
    expect_fatal(b, b.write(kRcWriteOnly, 16, 20), 0x61);
  }
  SECTION("FIRST with more bytes than announced") {
    expect_fatal(b, b.write(kRcWriteFirst, 256, 100), 0x61);
  }
  SECTION("a message above 2^31") {
    expect_fatal(b, b.write(kRcWriteFirst, 256, 0x80000001), 0x61);
  }
  SECTION("a READ request with payload") { expect_fatal(b, b.write(kRcReadRequest, 4, 4), 0x61); }
  CHECK(b.untouched());
}

TEST_CASE("length errors later in a message keep what was placed and end the QP") {
  Bench b;
  b.write(kRcWriteFirst, 256, 600);
  const auto after_first = b.memory;
  SECTION("MIDDLE shorter than the MTU") { expect_fatal(b, b.write(kRcWriteMiddle, 252, 0), 0x61); }
  SECTION("LAST of zero bytes") { expect_fatal(b, b.write(kRcWriteLast, 0, 0), 0x61); }
  SECTION("LAST too early") { expect_fatal(b, b.write(kRcWriteLast, 256, 0), 0x61); }
  SECTION("bytes beyond the message") {
    b.write(kRcWriteMiddle, 256, 0);
    const auto after = b.memory;
    expect_fatal(b, b.write(kRcWriteLast, 92, 0), 0x61);
    CHECK(b.memory == after);
    return;
  }
  CHECK(b.memory == after_first);
}

TEST_CASE("opcodes out of sequence are invalid requests") {
  SECTION("MIDDLE without FIRST") {
    Bench b;
    expect_fatal(b, b.write(kRcWriteMiddle, 256, 0), 0x61);
  }
  SECTION("LAST without FIRST") {
    Bench b;
    expect_fatal(b, b.write(kRcSendLast, 4, 0), 0x61);
  }
  SECTION("another FIRST in the middle") {
    Bench b;
    b.write(kRcWriteFirst, 256, 600);
    expect_fatal(b, b.write(kRcWriteFirst, 256, 600), 0x61);
  }
  SECTION("a SEND in the middle of a WRITE") {
    Bench b;
    b.write(kRcWriteFirst, 256, 600);
    expect_fatal(b, b.write(kRcSendMiddle, 256, 0), 0x61);
  }
  SECTION("a READ in the middle of a WRITE") {
    Bench b;
    b.write(kRcWriteFirst, 256, 600);
    expect_fatal(b, b.write(kRcReadRequest, 0, 4), 0x61);
  }
  SECTION("a reserved opcode") {
    Bench b;
    expect_fatal(b, b.send(0x15, 0), 0x61);
  }
}

TEST_CASE(
    "keys, bounds and permissions are remote access errors, checked for the whole length at "
    "FIRST") {
  Bench b;
  SECTION("unknown key") {
    b.spec.rkey = 0x9999;
    expect_fatal(b, b.write(kRcWriteOnly, 16, 16), 0x62);
  }
  SECTION("one byte beyond the end") {
    b.spec.va = kVa + 65536 - 15;
    expect_fatal(b, b.write(kRcWriteOnly, 16, 16), 0x62);
  }
  SECTION("below the start") {
    b.spec.va = kVa - 1;
    expect_fatal(b, b.write(kRcWriteOnly, 16, 16), 0x62);
  }
  SECTION("an address that wraps") {
    b.spec.va = ~uint64_t{0} - 3;
    expect_fatal(b, b.write(kRcWriteOnly, 16, 16), 0x62);
  }
  SECTION("only the last packet would be out of bounds") {
    b.spec.va = kVa + 65536 - 512;
    expect_fatal(b, b.write(kRcWriteFirst, 256, 513), 0x62);
  }
  SECTION("another protection domain") {
    std::vector<uint8_t> other(64);
    b.regions.add({.rkey = 0x5555, .va = 0, .bytes = other, .pd = 3});
    b.spec.rkey = 0x5555;
    b.spec.va = 0;
    expect_fatal(b, b.write(kRcWriteOnly, 16, 16), 0x62);
  }
  SECTION("no write permission") {
    std::vector<uint8_t> other(64);
    b.regions.add({.rkey = 0x6666, .va = 0, .bytes = other, .access = kRemoteRead});
    b.spec.rkey = 0x6666;
    b.spec.va = 0;
    expect_fatal(b, b.write(kRcWriteOnly, 16, 16), 0x62);
  }
  CHECK(b.untouched());
}

TEST_CASE("a length of zero needs neither key nor address") {
  Bench b;
  b.spec.rkey = 0;
  b.spec.va = 0;
  CHECK(b.write(kRcWriteOnly, 0, 0) == RxVerdict::kExecuted);
  CHECK(b.write(kRcReadRequest, 0, 0) == RxVerdict::kExecuted);
  REQUIRE(b.model->responses().size() == 1);
  CHECK(b.model->responses()[0].opcode == kRcReadRespOnly);
  CHECK(b.model->responses()[0].payload_len == 0);
}

TEST_CASE("an operation that the QP does not allow is an invalid request") {
  Bench w([](ResponderConfig& c) { c.access = kRemoteRead; });
  expect_fatal(w, w.write(kRcWriteOnly, 4, 4), 0x61);
  Bench r([](ResponderConfig& c) { c.access = kRemoteWrite; });
  expect_fatal(r, r.write(kRcReadRequest, 0, 4), 0x61);
  Bench a([](ResponderConfig& c) { c.max_dest_rd_atomic = 0; });
  expect_fatal(a, a.write(kRcReadRequest, 0, 4), 0x61);
}

TEST_CASE(
    "without a receive a WRITE with immediate gets an RNR NAK and is executed when it comes "
    "again") {
  Bench b;
  b.write(kRcWriteFirst, 256, 300);
  CHECK(b.write(kRcWriteLastImm, 44, 0, false) == RxVerdict::kRnr);
  CHECK(b.syndrome() == 0x2C);
  CHECK(b.model->responses()[0].psn == 0xFFFFFF);
  CHECK(b.memory[256] == 0);
  CHECK(b.model->msn() == 0);
  b.spec.psn = 5;
  CHECK(b.write(kRcWriteOnly, 0, 0) == RxVerdict::kGapDiscarded);  // one NAK is out already
  b.model->post_recv({.wr_id = 77});
  b.spec.psn = 0xFFFFFF;
  b.spec.imm = 0xABCD;
  b.spec.solicited = true;
  CHECK(b.write(kRcWriteLastImm, 44, 0) == RxVerdict::kExecuted);
  REQUIRE(b.model->completions().size() == 1);
  CHECK(b.model->completions()[0].wr_id == 77);
  CHECK(b.model->completions()[0].byte_len == 300);
  CHECK(b.model->completions()[0].imm == 0xABCD);
  CHECK(b.model->completions()[0].solicited);
  CHECK(b.model->msn() == 1);
}

TEST_CASE("a SEND scatters over its segments and completes with its length") {
  Bench b;
  std::vector<uint8_t> one(100), two(7), three(400);
  b.model->post_recv({.wr_id = 1, .segments = {one, two, three}});
  b.send(kRcSendFirst, 256);
  CHECK(b.send(kRcSendLastImm, 10) == RxVerdict::kExecuted);
  REQUIRE(b.model->completions().size() == 1);
  CHECK(b.model->completions()[0].byte_len == 266);
  CHECK(one[0] == static_cast<uint8_t>(1 + 0xFE));
  CHECK(two[0] == static_cast<uint8_t>(1 + 100 * 3 + 0xFE));
  CHECK(three[148] == static_cast<uint8_t>(1 + 255 * 3 + 0xFE));
  CHECK(three[149] == static_cast<uint8_t>(1 + 0xFF));
  CHECK(three[159] == 0);
}

TEST_CASE(
    "a SEND beyond its receive is an invalid request and a local length error, the rest is "
    "flushed") {
  Bench b;
  std::vector<uint8_t> small(300);
  b.model->post_recv({.wr_id = 1, .segments = {small}});
  b.model->post_recv({.wr_id = 2, .segments = {small}});
  b.send(kRcSendFirst, 256);
  CHECK(b.send(kRcSendLast, 45) == RxVerdict::kNakFatal);
  CHECK(b.syndrome() == 0x61);
  REQUIRE(b.model->completions().size() == 2);
  CHECK(b.model->completions()[0].status == WcStatus::kLocalLength);
  CHECK(b.model->completions()[1].status == WcStatus::kFlushed);
}

TEST_CASE("a receive that its own host spoiled is a remote operational error") {
  Bench b;
  b.model->post_recv({.wr_id = 1, .segments = {}, .local_fault = true});
  expect_fatal(b, b.send(kRcSendOnly, 0), 0x63);
}

TEST_CASE("a SEND with invalidate makes its key useless") {
  Bench b;
  std::vector<uint8_t> window(64), buffer(64);
  b.regions.add({.rkey = 0x42, .va = 0, .bytes = window, .can_invalidate = true});
  b.model->post_recv({.wr_id = 1, .segments = {buffer}});
  b.spec.inv_rkey = 0x42;
  CHECK(b.send(kRcSendOnlyInv, 8) == RxVerdict::kExecuted);
  CHECK(b.model->completions()[0].inv_rkey == 0x42);
  b.spec.rkey = 0x42;
  b.spec.va = 0;
  CHECK(b.write(kRcWriteOnly, 4, 4) == RxVerdict::kNakFatal);
  CHECK(b.syndrome() == 0x62);
}

TEST_CASE("a READ is answered in packets, counts once, and its tail can be asked again") {
  Bench b;
  for (size_t i = 0; i < b.memory.size(); ++i) b.memory[i] = static_cast<uint8_t>(i * 5);
  CHECK(b.write(kRcReadRequest, 0, 700) == RxVerdict::kExecuted);
  REQUIRE(b.model->responses().size() == 3);
  CHECK(b.model->expected_psn() == 1);
  CHECK(b.model->msn() == 1);
  CHECK(b.model->responses()[0].opcode == kRcReadRespFirst);
  CHECK(b.model->responses()[1].opcode == kRcReadRespMiddle);
  CHECK(b.model->responses()[2].opcode == kRcReadRespLast);
  CHECK(b.model->responses()[2].psn == 0);
  CHECK(b.model->payload(b.model->responses()[2])[0] == static_cast<uint8_t>(512 * 5));
  // The tail, from the second packet on.
  b.spec.psn = 0xFFFFFF;
  b.spec.va = kVa + 256;
  CHECK(b.write(kRcReadRequest, 0, 444) == RxVerdict::kDuplicate);
  REQUIRE(b.model->responses().size() == 2);
  CHECK(b.model->responses()[0].psn == 0xFFFFFF);
  CHECK(b.model->responses()[0].opcode == kRcReadRespFirst);
  CHECK(b.model->msn() == 1);
  // Not a tail of it.
  b.spec.psn = 0xFFFFFF;
  CHECK(b.write(kRcReadRequest, 0, 443) == RxVerdict::kDropDuplicate);
  b.spec.psn = 0xFFFFFF;
  b.spec.va = kVa + 260;
  CHECK(b.write(kRcReadRequest, 0, 440) == RxVerdict::kDropDuplicate);
  CHECK(b.model->state() == QpState::kRtr);
}

TEST_CASE("a repeated ATOMIC returns the saved value and is not executed again") {
  Bench b;
  store_le64(&b.memory[8], 100);
  b.spec.va = kVa + 8;
  b.spec.swap_add = 5;
  CHECK(b.send(kRcFetchAdd, 0) == RxVerdict::kExecuted);
  CHECK(b.model->responses()[0].atomic_orig == 100);
  CHECK(load_le64(&b.memory[8]) == 105);
  b.spec.psn = 0xFFFFFE;
  CHECK(b.send(kRcFetchAdd, 0) == RxVerdict::kDuplicate);
  CHECK(b.model->responses()[0].atomic_orig == 100);
  CHECK(load_le64(&b.memory[8]) == 105);
  b.spec.compare = 105;
  b.spec.swap_add = 7;
  CHECK(b.send(kRcCompareSwap, 0) == RxVerdict::kExecuted);
  CHECK(load_le64(&b.memory[8]) == 7);
  CHECK(b.send(kRcCompareSwap, 0) == RxVerdict::kExecuted);  // does not match any more
  CHECK(b.model->responses()[0].atomic_orig == 7);
  CHECK(load_le64(&b.memory[8]) == 7);
  b.spec.va = kVa + 12;
  expect_fatal(b, b.send(kRcFetchAdd, 0), 0x61);
}

TEST_CASE("saved answers are recycled oldest first") {
  Bench b([](ResponderConfig& c) { c.max_dest_rd_atomic = 2; });
  b.spec.va = kVa;
  for (int i = 0; i < 3; ++i) b.send(kRcFetchAdd, 0);
  b.spec.psn = 0xFFFFFE;
  CHECK(b.send(kRcFetchAdd, 0) == RxVerdict::kDropDuplicate);
  CHECK(b.send(kRcFetchAdd, 0) == RxVerdict::kDuplicate);
}

TEST_CASE("frames that are not for the QP are dropped without an answer") {
  Bench b([](ResponderConfig& c) {
    c.local_ip = ipv4_address(10, 0, 0, 2);
    c.peer_ip = ipv4_address(10, 0, 0, 1);
  });
  const auto drop = [&](RxVerdict want, const std::function<void(std::vector<uint8_t>&)>& edit) {
    CHECK(b.send(kRcWriteOnly, 0, false, edit) == want);
    CHECK(b.model->responses().empty());
    CHECK(b.model->expected_psn() == 0xFFFFFE);
  };
  drop(RxVerdict::kDropIcrc, [](auto& f) { f[51] ^= 1; });
  drop(RxVerdict::kDropVersion, [](auto& f) {
    f[43] |= 1;
    fix_icrc(f);
  });
  drop(RxVerdict::kDropQp, [](auto& f) {
    f[49] ^= 2;
    fix_icrc(f);
  });
  drop(RxVerdict::kDropPkey, [](auto& f) {
    f[45] ^= 2;
    fix_icrc(f);
  });
  drop(RxVerdict::kDropAddress, [](auto& f) {
    f[33] ^= 1;
    fix_icrc(f);
  });
  drop(RxVerdict::kDropTransport, [](auto& f) {
    f[42] = 0x2A;
    fix_icrc(f);
  });
  drop(RxVerdict::kDropMalformed, [](auto& f) { f.resize(50); });
  drop(RxVerdict::kDropNotRoce, [](auto& f) { f[36] = 0; });
  CHECK(b.send(kRcAcknowledge, 0, false) == RxVerdict::kNotRequest);
  CHECK(b.model->count(RxVerdict::kDropIcrc) == 1);
  CHECK(b.write(kRcWriteOnly, 0, 0) == RxVerdict::kExecuted);
}

TEST_CASE("a limited member talks to a full member only") {
  Bench b([](ResponderConfig& c) { c.pkey = 0x7FFF; });
  CHECK(b.send(kRcWriteOnly, 0) == RxVerdict::kExecuted);
  b.spec.pkey = 0x7FFF;
  CHECK(b.send(kRcWriteOnly, 0) == RxVerdict::kDropPkey);
}

TEST_CASE("reset forgets the gap, the message and the counters") {
  Bench b;
  b.write(kRcWriteFirst, 256, 600);
  b.spec.psn = 9;
  CHECK(b.write(kRcWriteOnly, 0, 0) == RxVerdict::kNakSequence);
  b.model->set_state(QpState::kReset);
  b.spec.psn = 0xFFFFFE;
  CHECK(b.write(kRcWriteOnly, 0, 0, false) == RxVerdict::kDropState);
  b.model->set_state(QpState::kRtr);
  CHECK(b.write(kRcWriteOnly, 0, 0) == RxVerdict::kExecuted);
  CHECK(b.model->msn() == 1);
  b.spec.psn = 9;
  CHECK(b.write(kRcWriteOnly, 0, 0) == RxVerdict::kNakSequence);
}
