// SPDX-License-Identifier: Apache-2.0
// The golden requester, rule by rule (fact sheet section 3, pitfalls of section 11).
#include "harness/golden/requester.hpp"

#include <algorithm>
#include <functional>

#include "harness/golden/nic.hpp"
#include "harness/roce/bytes.hpp"
#include "tests/harness_roce/vectors.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::golden;
using roce::FrameSpec;
using roce::FrameView;
using roce::ParseStatus;

namespace {

constexpr uint32_t kPmtu = 256;
constexpr uint32_t kFirst = 0xFFFFFE;
constexpr TimePs kTimeout = 4'096'000 << 4;  // of timeout code 4

// One QP whose peer is played by hand.
struct Bench {
  explicit Bench(const std::function<void(QpConfig&)>& change = {}) {
    NicConfig n;
    n.mac = {2, 0, 0, 0, 0, 1};
    n.ip = roce::ipv4_address(192, 168, 0, 1);
    n.pad_to_min = false;
    nic = std::make_unique<Nic>(n);
    QpConfig c;
    c.qpn = 0x12;
    c.dest_qpn = 0x11;
    c.pmtu = kPmtu;
    c.sq_psn = kFirst;
    c.timeout = 4;
    c.udp_port = 0xC123;
    c.dest_mac = {2, 0, 0, 0, 0, 2};
    c.dest_ip = roce::ipv4_address(192, 168, 0, 2);
    if (change) change(c);
    nic->create_qp(c);
    region = nic->add_region(1 << 20, kAccessAll, true);
    std::vector<uint8_t> m(1 << 16);
    for (size_t i = 0; i < m.size(); ++i) m[i] = static_cast<uint8_t>(i * 7 + i / 256);
    nic->write_memory(region, 0, m);
  }
  SendRequest request(Verb verb, uint32_t length) {
    SendRequest r;
    r.wr_id = posted++;
    r.verb = verb;
    if (length != 0) r.sges = {{region.key, length, region.va + 0x80000 * is_read_or_atomic(verb)}};
    r.remote_va = 0x5000;
    r.rkey = 0x77;
    return r;
  }
  void post(Verb verb, uint32_t length, const std::function<void(SendRequest&)>& edit = {}) {
    SendRequest r = request(verb, length);
    if (edit) edit(r);
    REQUIRE(nic->post_send(0, r));
  }
  // Everything that may be sent now: PSNs.
  std::vector<uint32_t> sent() {
    packets.clear();
    std::vector<uint8_t> f;
    std::vector<uint32_t> psns;
    nic->tick(now);
    while (nic->transmit(now, f)) {
      packets.push_back(f);
      FrameView v;
      REQUIRE(roce::parse_frame(packets.back(), v) == ParseStatus::kOk);
      psns.push_back(v.psn);
    }
    collect();
    return psns;
  }
  FrameView view(size_t i) {
    FrameView v;
    REQUIRE(roce::parse_frame(packets.at(i), v) == ParseStatus::kOk);
    return v;
  }
  void answer(uint8_t opcode, uint32_t psn, uint8_t syndrome = 0x1F, uint32_t length = 0,
              uint64_t original = 0) {
    FrameSpec s;
    s.ip_src = roce::ipv4_address(192, 168, 0, 2);
    s.ip_dst = roce::ipv4_address(192, 168, 0, 1);
    s.dest_qp = 0x12;
    s.opcode = opcode;
    s.psn = psn & 0xFFFFFF;
    s.syndrome = syndrome;
    s.atomic_orig = original;
    std::vector<uint8_t> payload(length), f(length + 200);
    for (uint32_t i = 0; i < length; ++i) payload[i] = static_cast<uint8_t>(psn * 5 + i + 1);
    f.resize(roce::build_frame(s, payload, f));
    nic->receive(now, f);
    collect();
  }
  void ack(uint32_t psn) { answer(roce::kRcAcknowledge, psn); }
  void nak(uint8_t syndrome, uint32_t psn) { answer(roce::kRcAcknowledge, psn, syndrome); }
  void collect() {
    while (auto c = nic->poll(0)) done.push_back(*c);
  }
  // wr_ids of the completions so far; all must have `status`.
  std::vector<uint64_t> completed(Status status = Status::kSuccess) {
    std::vector<uint64_t> out;
    for (const Completion& c : done) {
      CHECK(c.status == status);
      out.push_back(c.wr_id);
    }
    done.clear();
    return out;
  }

  TimePs now = 1'000'000;
  std::unique_ptr<Nic> nic;
  Region region;
  std::vector<std::vector<uint8_t>> packets;
  std::vector<Completion> done;
  uint64_t posted = 0;
};

using Psns = std::vector<uint32_t>;
using Ids = std::vector<uint64_t>;

// n numbers from `first`.
Psns run(uint32_t first, uint32_t n) {
  Psns p;
  for (uint32_t i = 0; i < n; ++i) p.push_back((first + i) & 0xFFFFFF);
  return p;
}

std::vector<uint8_t> vector(int number) {
  for (const auto& v : test::kVectors) {
    if (v.number == number) return test::from_hex(v.hex);
  }
  throw std::out_of_range("vector");
}

}  // namespace

TEST_CASE("the requester makes the fact sheet's request vectors") {
  const auto made = [](uint32_t psn, const std::function<void(SendRequest&)>& edit,
                       std::vector<uint8_t> bytes = {}) {
    Bench b([&](QpConfig& c) {
      c.sq_psn = psn;
      c.pmtu = 1024;
    });
    if (!bytes.empty()) b.nic->write_memory(b.region, 0, bytes);
    b.post(Verb::kSend, static_cast<uint32_t>(bytes.size()), [&](SendRequest& r) {
      r.remote_va = 0;
      r.rkey = 0;
      edit(r);
    });
    REQUIRE(b.sent().size() == 1);
    auto f = b.packets[0];
    f[18] = f[19] = 0;  // IP identification
    roce::fix_ipv4_checksum(f);
    roce::fix_icrc(f);
    return f;
  };
  CHECK(made(0x10, [](SendRequest&) {}, {0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4}) == vector(1));
  CHECK(made(0x11,
             [](SendRequest& r) {
               r.verb = Verb::kWrite;
               r.remote_va = 0x123456789000;
               r.rkey = 0x1234;
             },
             {0xa1, 0xa2, 0xa3, 0xa4, 0xa5}) == vector(2));
  CHECK(made(0x12, [](SendRequest& r) {
          r.verb = Verb::kRead;
          r.sges = {{0x15A, 5000, 0x10000000}};
          r.remote_va = 0x123456789000;
          r.rkey = 0x1234;
        }) == vector(6));
  CHECK(made(0xFFFFFF, [](SendRequest& r) {
          r.verb = Verb::kFetchAdd;
          r.sges = {{0x15A, 8, 0x10000000}};
          r.remote_va = 0x123456789008;
          r.rkey = 0x1234;
          r.swap_add = 1;
          r.compare = 77;  // not of a FETCH_ADD
        }) == vector(8));
  CHECK(made(0x14, [](SendRequest& r) {
          r.verb = Verb::kWriteImm;
          r.solicited = true;
          r.imm = 0xcafe0001;
        }) == vector(10));
  CHECK(made(0x20, [](SendRequest&) {}) == vector(11));
}

TEST_CASE("PSNs are consecutive; a READ takes one per answer, an empty message one") {
  Bench b;
  b.post(Verb::kWrite, 2 * kPmtu + 1);
  b.post(Verb::kRead, 3 * kPmtu);
  b.post(Verb::kWrite, 0);
  b.post(Verb::kSend, kPmtu);
  b.post(Verb::kFetchAdd, 8);
  b.post(Verb::kRead, 0);
  b.post(Verb::kWrite, 1);
  CHECK(b.sent() == Psns{0xFFFFFE, 0xFFFFFF, 0, 1, 4, 5, 6, 7, 8});
  CHECK(b.view(0).opcode == roce::kRcWriteFirst);
  CHECK(b.view(0).dma_len == 2 * kPmtu + 1);
  CHECK(b.view(1).opcode == roce::kRcWriteMiddle);
  CHECK(b.view(2).opcode == roce::kRcWriteLast);
  CHECK(b.view(2).payload_len == 1);
  CHECK(b.view(2).pad == 3);
  CHECK(b.view(3).dma_len == 3 * kPmtu);
}

TEST_CASE("a message is cut the same wherever its pieces begin (pitfall 17, breakage 12)") {
  for (uint32_t length = 1; length <= 3 * kPmtu + 2; length += length % kPmtu > 2 ? 61 : 1) {
    for (const uint32_t offset : {0u, 1u, 63u, 255u, 256u, 4095u}) {
      Bench b;
      b.post(Verb::kWrite, length, [&](SendRequest& r) {
        r.sges = {{b.region.key, length / 3, b.region.va + offset},
                  {b.region.key, length - length / 3, b.region.va + 3 * offset}};
      });
      const uint32_t n = (length + kPmtu - 1) / kPmtu;
      REQUIRE(b.sent() == run(kFirst, n));
      std::vector<uint8_t> got, want(length);
      for (uint32_t i = 0; i < n; ++i) {
        const FrameView v = b.view(i);
        REQUIRE(v.payload_len != 0);
        got.insert(got.end(), v.payload().begin(), v.payload().end());
      }
      b.nic->read_memory(b.region, offset, std::span(want).first(length / 3));
      b.nic->read_memory(b.region, 3 * offset, std::span(want).subspan(length / 3));
      REQUIRE(got == want);
    }
  }
}

TEST_CASE("one ACK acknowledges all that came before it; completions keep the posting order") {
  Bench b;
  b.post(Verb::kWrite, 3 * kPmtu);
  b.post(Verb::kSend, 10, [](SendRequest& r) { r.signaled = false; });
  b.post(Verb::kWrite, 10);
  b.post(Verb::kWrite, 10);
  CHECK(b.sent().size() == 6);
  b.ack(kFirst + 1);
  CHECK(b.completed().empty());
  b.ack(kFirst + 4);
  CHECK(b.completed() == Ids{0, 2});
  b.ack(kFirst + 4);  // again
  b.ack(kFirst + 1);
  b.ack(kFirst + 6);  // never sent
  CHECK(b.completed().empty());
  CHECK(b.nic->requester(0).stats().ghosts == 3);
  b.ack(kFirst + 5);
  CHECK(b.completed() == Ids{3});
  CHECK(b.nic->requester(0).wake() == kNever);  // no timer without work
}

TEST_CASE("AckReq: last packets, every n-th, and where the window ends") {
  Bench b([](QpConfig& c) {
    c.requester.window = 10;
    c.requester.ack_every = 4;
  });
  b.post(Verb::kWrite, 20 * kPmtu);
  CHECK(b.sent() == run(kFirst, 10));
  for (size_t i = 0; i < 10; ++i) CHECK(b.view(i).ack_req == (i == 3 || i == 7 || i == 9));
  b.ack(kFirst + 3);
  CHECK(b.sent() == run(kFirst + 10, 4));
  b.ack(kFirst + 13);
  CHECK(b.sent() == run(kFirst + 14, 6));
  CHECK(b.view(5).ack_req);
}

TEST_CASE("credits do not stop anything") {
  Bench b;
  for (int i = 0; i < 3; ++i) b.post(Verb::kSend, 10);
  CHECK(b.sent().size() == 3);
  b.nak(0x00, kFirst);  // an ACK with no credits, as hardware was seen to send
  b.post(Verb::kSend, 10);
  CHECK(b.sent().size() == 1);
  CHECK(b.completed() == Ids{0});
}

TEST_CASE("go-back-N from any packet of any message, with the right bytes (pitfall 11)") {
  for (uint32_t from = 0; from < 8; ++from) {
    Bench b;
    b.post(Verb::kWrite, 3 * kPmtu);
    b.post(Verb::kSend, 2 * kPmtu + 5);
    b.post(Verb::kWrite, 40);
    b.post(Verb::kWrite, 50);
    CHECK(b.sent() == run(kFirst, 8));
    const auto first_time = b.packets;
    b.nak(0x60, kFirst + from);
    const Ids done = from >= 7 ? Ids{0, 1, 2} : from == 6 ? Ids{0, 1} : from >= 3 ? Ids{0} : Ids{};
    CHECK(b.completed() == done);
    CHECK(b.sent() == run(kFirst + from, 8 - from));
    for (uint32_t i = from; i < 8; ++i) {
      auto a = first_time[i], c = b.packets[i - from];
      for (auto* f : {&a, &c}) {  // the identification differs, AckReq may
        (*f)[18] = (*f)[19] = 0;
        (*f)[50] = 0;
        roce::fix_ipv4_checksum(*f);
        roce::fix_icrc(*f);
      }
      CHECK(a == c);
    }
    b.ack(kFirst + 7);
    CHECK(b.completed().size() == 4 - done.size());
  }
}

TEST_CASE("the ACK timer sends the oldest again, so many times; progress gives new retries") {
  Bench b([](QpConfig& c) { c.retry_cnt = 2; });
  b.post(Verb::kWrite, 3 * kPmtu);
  b.post(Verb::kWrite, 8);
  CHECK(b.sent().size() == 4);
  b.now += kTimeout - 1;
  CHECK(b.sent().empty());
  b.now += 1;
  CHECK(b.sent() == run(kFirst, 4));
  b.now += kTimeout;
  CHECK(b.sent() == run(kFirst, 4));
  b.ack(kFirst + 1);
  for (int i = 0; i < 2; ++i) {
    b.now += kTimeout;
    CHECK(b.sent() == run(kFirst + 2, 2));
  }
  CHECK(b.done.empty());
  b.now += kTimeout;
  CHECK(b.sent().empty());
  REQUIRE(b.done.size() == 2);
  CHECK(b.done[0].status == Status::kRetryExceeded);
  CHECK(b.done[1].status == Status::kFlushed);
  CHECK(b.nic->state(0) == State::kErr);
}

TEST_CASE("retry count 7 is seven, and time-out 0 is never") {
  Bench b;
  b.post(Verb::kWrite, 8);
  for (int i = 0; i < 8; ++i) {
    CHECK(b.sent().size() == 1);
    b.now += kTimeout;
  }
  CHECK(b.sent().empty());
  CHECK(b.completed(Status::kRetryExceeded) == Ids{0});
  Bench never([](QpConfig& c) { c.timeout = 0; });
  never.post(Verb::kWrite, 8);
  CHECK(never.sent().size() == 1);
  CHECK(never.nic->wake() == kNever);
}

TEST_CASE("sequence NAKs cost retries, too") {
  Bench b([](QpConfig& c) { c.retry_cnt = 3; });
  b.post(Verb::kWrite, 2 * kPmtu);
  b.post(Verb::kWrite, 8);
  CHECK(b.sent().size() == 3);
  for (int i = 0; i < 3; ++i) {
    b.nak(0x60, kFirst);
    CHECK(b.sent().size() == 3);
  }
  b.nak(0x60, kFirst);
  REQUIRE(b.done.size() == 2);
  CHECK(b.done[0].status == Status::kRetryExceeded);
}

TEST_CASE("not ready: silence for the time asked for, whatever else happens (pitfalls 1 to 3)") {
  const std::pair<uint8_t, uint64_t> codes[] = {
      {0, 655'360}, {1, 10}, {12, 640}, {25, 61'440}, {31, 491'520}};
  for (const auto& [code, us] : codes) {
    Bench b;
    b.post(Verb::kSend, 2 * kPmtu);
    b.post(Verb::kWrite, 8);
    CHECK(b.sent().size() == 3);
    b.nak(static_cast<uint8_t>(0x20 | code), kFirst);
    const TimePs until = b.now + us * 1'000'000;
    b.post(Verb::kWrite, 8);
    CHECK(b.sent().empty());  // nothing new either
    for (const TimePs t : {b.now + us * 300'000, b.now + us * 700'000, until - 1}) {
      b.now = t;
      CHECK(b.sent().empty());  // the ACK timer (65 us) does not shorten it
      b.nak(0x60, kFirst);      // nor a NAK
      CHECK(b.sent().empty());
    }
    CHECK(b.nic->wake() == until);
    b.now = until;
    CHECK(b.sent() == run(kFirst, 4));
    b.ack(kFirst + 3);
    CHECK(b.completed() == Ids{0, 1, 2});
  }
}

TEST_CASE("not-ready retries: 7 means for ever, others are counted and refreshed by progress") {
  Bench forever;
  forever.post(Verb::kSend, 8);
  for (int i = 0; i < 50; ++i) {
    CHECK(forever.sent().size() == 1);
    forever.nak(0x21, kFirst);
    forever.now += 10'000'000;
  }
  Bench b([](QpConfig& c) { c.rnr_retry = 2; });
  b.post(Verb::kSend, 8);
  b.post(Verb::kSend, 8);
  b.post(Verb::kSend, 8);
  const auto refuse = [&](uint32_t psn) {
    b.sent();
    b.nak(0x21, psn);
    b.now += 10'000'000;
  };
  refuse(kFirst);
  refuse(kFirst);
  refuse(kFirst + 1);  // the first was taken
  CHECK(b.completed() == Ids{0});
  refuse(kFirst + 1);
  CHECK(b.done.empty());
  refuse(kFirst + 1);
  REQUIRE(b.done.size() == 2);
  CHECK(b.done[0].status == Status::kRnrExceeded);
  CHECK(b.done[1].status == Status::kFlushed);
}

TEST_CASE("a repeated not-ready NAK is obeyed once") {
  Bench b([](QpConfig& c) { c.rnr_retry = 1; });
  b.post(Verb::kSend, 8);
  b.sent();
  b.nak(0x21, kFirst);
  b.nak(0x21, kFirst);
  CHECK(b.done.empty());
  b.now += 10'000'000;
  CHECK(b.sent().size() == 1);
}

TEST_CASE("fatal NAKs: what came before is good, the rest is flushed, in order") {
  const std::pair<uint8_t, Status> codes[] = {{0x61, Status::kRemoteInvalid},
                                              {0x62, Status::kRemoteAccess},
                                              {0x63, Status::kRemoteOperation}};
  for (const auto& [syndrome, status] : codes) {
    Bench b;
    b.nic->post_recv(0, {.wr_id = 100});
    b.post(Verb::kWrite, 8);
    b.post(Verb::kWrite, 2 * kPmtu, [](SendRequest& r) { r.signaled = false; });
    b.post(Verb::kWrite, 8, [](SendRequest& r) { r.signaled = false; });
    b.post(Verb::kSend, 8);
    CHECK(b.sent().size() == 5);
    b.nak(syndrome, kFirst + 2);
    REQUIRE(b.done.size() == 5);
    CHECK(b.done[0].status == Status::kSuccess);
    CHECK(b.done[1].wr_id == 1);
    CHECK(b.done[1].status == status);
    CHECK(b.done[2].status == Status::kFlushed);
    CHECK(b.done[3].status == Status::kFlushed);
    CHECK(b.done[4].receive);
    CHECK(b.done[4].status == Status::kFlushed);
    b.done.clear();
    b.post(Verb::kWrite, 8);
    CHECK(b.sent().empty());
    CHECK(b.completed(Status::kFlushed) == Ids{4});
  }
  // Reserved codes say nothing.
  Bench b;
  b.post(Verb::kWrite, 8);
  b.sent();
  for (const uint8_t syndrome : {0x64, 0x65, 0x7F, 0x40, 0x5F}) b.nak(syndrome, kFirst);
  CHECK(b.done.empty());
  CHECK(b.nic->state(0) == State::kRts);
}

TEST_CASE("READ answers land in order; they acknowledge what was sent before (pitfall 20)") {
  Bench b;
  b.post(Verb::kWrite, 8);
  b.post(Verb::kRead, 2 * kPmtu + 10);
  b.post(Verb::kWrite, 8);
  CHECK(b.sent() == Psns{0xFFFFFE, 0xFFFFFF, 2});
  b.answer(roce::kRcReadRespFirst, kFirst + 1, 0x1F, kPmtu);
  CHECK(b.completed() == Ids{0});
  b.answer(roce::kRcReadRespMiddle, kFirst + 2, 0x1F, kPmtu);
  CHECK(b.completed().empty());
  b.answer(roce::kRcReadRespLast, kFirst + 3, 0x1F, 10);
  CHECK(b.completed() == Ids{1});
  std::vector<uint8_t> m(2 * kPmtu + 10);
  b.nic->read_memory(b.region, 0x80000, m);
  CHECK(m[0] == static_cast<uint8_t>((kFirst + 1) * 5 + 1));
  CHECK(m[kPmtu + 3] == static_cast<uint8_t>((kFirst + 2) * 5 + 4));
  CHECK(m[2 * kPmtu + 9] == static_cast<uint8_t>((kFirst + 3) * 5 + 10));
  b.ack(kFirst + 4);
  CHECK(b.completed() == Ids{2});
}

TEST_CASE("a missing READ answer is asked for again from the first missing packet") {
  const auto begin = [](Bench& b) {
    b.post(Verb::kRead, 4 * kPmtu + 10);
    b.post(Verb::kWrite, 8);
    b.post(Verb::kRead, 5);
    CHECK(b.sent().size() == 3);
    b.answer(roce::kRcReadRespFirst, kFirst, 0x1F, kPmtu);
    b.answer(roce::kRcReadRespMiddle, kFirst + 1, 0x1F, kPmtu);
  };
  const auto check = [](Bench& b) {
    // Everything from there on, once.
    CHECK(b.sent() == Psns{0, 3, 4});
    const FrameView v = b.view(0);
    CHECK(v.opcode == roce::kRcReadRequest);
    CHECK(v.va == 0x5000 + 2 * kPmtu);
    CHECK(v.dma_len == 2 * kPmtu + 10);
    CHECK(b.nic->requester(0).stats().implied_naks == 1);
    b.answer(roce::kRcReadRespFirst, kFirst + 2, 0x1F, kPmtu);
    b.answer(roce::kRcReadRespMiddle, kFirst + 3, 0x1F, kPmtu);
    b.answer(roce::kRcReadRespLast, kFirst + 4, 0x1F, 10);
    b.answer(roce::kRcReadRespOnly, kFirst + 6, 0x1F, 5);
    CHECK(b.completed() == Ids{0, 1, 2});
  };
  SECTION("told by a later answer of the same READ") {
    Bench b;
    begin(b);
    b.answer(roce::kRcReadRespMiddle, kFirst + 3, 0x1F, kPmtu);
    b.answer(roce::kRcReadRespLast, kFirst + 4, 0x1F, 10);
    check(b);
  }
  SECTION("told by a later ACK") {
    Bench b;
    begin(b);
    b.ack(kFirst + 5);
    check(b);
  }
  SECTION("told by the answer of a later READ") {
    Bench b;
    begin(b);
    b.answer(roce::kRcReadRespOnly, kFirst + 6, 0x1F, 5);
    check(b);
  }
  SECTION("told by a later NAK, without costing a retry") {
    Bench b([](QpConfig& c) { c.retry_cnt = 0; });
    begin(b);
    b.nak(0x60, kFirst + 6);
    check(b);
  }
  SECTION("told by the timer") {
    Bench b;
    begin(b);
    b.now += kTimeout;
    CHECK(b.sent() == Psns{0, 3, 4});
    CHECK(b.view(0).va == 0x5000 + 2 * kPmtu);
  }
}

TEST_CASE("a READ that was cut resumes with MIDDLE or FIRST") {
  for (const uint8_t opcode : {roce::kRcReadRespFirst, roce::kRcReadRespMiddle}) {
    Bench b;
    b.post(Verb::kRead, 3 * kPmtu);
    b.sent();
    b.answer(roce::kRcReadRespFirst, kFirst, 0x1F, kPmtu);
    b.answer(roce::kRcReadRespLast, kFirst + 2, 0x1F, kPmtu);
    CHECK(b.sent() == Psns{0xFFFFFF});
    b.answer(opcode, kFirst + 1, 0x1F, kPmtu);
    b.answer(roce::kRcReadRespLast, kFirst + 2, 0x1F, kPmtu);
    CHECK(b.completed() == Ids{0});
  }
}

TEST_CASE("answers that do not fit their request are fatal") {
  const auto ends = [](Verb verb, uint32_t length, uint8_t opcode, uint32_t answer, Status status) {
    Bench b;
    b.post(verb, length);
    b.sent();
    b.answer(opcode, kFirst, 0x1F, answer);
    CHECK(b.completed(status) == Ids{0});
    CHECK(b.nic->state(0) == State::kErr);
  };
  ends(Verb::kWrite, 8, roce::kRcReadRespOnly, 8, Status::kBadResponse);
  ends(Verb::kWrite, 8, roce::kRcAtomicAck, 0, Status::kBadResponse);
  ends(Verb::kFetchAdd, 8, roce::kRcReadRespOnly, 8, Status::kBadResponse);
  ends(Verb::kRead, 8, roce::kRcAtomicAck, 0, Status::kBadResponse);
  ends(Verb::kRead, 8, roce::kRcReadRespFirst, kPmtu, Status::kBadResponse);
  ends(Verb::kRead, 2 * kPmtu, roce::kRcReadRespOnly, kPmtu, Status::kBadResponse);
  ends(Verb::kRead, 8, roce::kRcReadRespOnly, 7, Status::kLocalLength);
  ends(Verb::kRead, 8, roce::kRcReadRespOnly, 9, Status::kLocalLength);
  ends(Verb::kRead, 2 * kPmtu, roce::kRcReadRespFirst, kPmtu - 4, Status::kLocalLength);
}

TEST_CASE("ATOMIC results land in host order") {
  Bench b;
  b.post(Verb::kCompareSwap, 8);
  b.sent();
  b.answer(roce::kRcAtomicAck, kFirst, 0x1F, 0, 0x1122334455667788);
  CHECK(b.completed() == Ids{0});
  uint8_t m[8];
  b.nic->read_memory(b.region, 0x80000, m);
  CHECK(roce::load_le64(m) == 0x1122334455667788);
  CHECK(m[0] == 0x88);
}

TEST_CASE("max_rd_atomic and fence hold a request, and all behind it, back") {
  Bench b([](QpConfig& c) { c.max_rd_atomic = 2; });
  b.post(Verb::kRead, 8);
  b.post(Verb::kFetchAdd, 8);
  b.post(Verb::kRead, 8);
  b.post(Verb::kWrite, 8);
  CHECK(b.sent() == run(kFirst, 2));
  b.answer(roce::kRcReadRespOnly, kFirst, 0x1F, 8);
  CHECK(b.sent() == run(kFirst + 2, 2));
  b.post(Verb::kWrite, 8, [](SendRequest& r) { r.fence = true; });
  b.post(Verb::kWrite, 8);
  CHECK(b.sent().empty());
  b.answer(roce::kRcAtomicAck, kFirst + 1);
  CHECK(b.sent().empty());  // one READ is still out
  b.answer(roce::kRcReadRespOnly, kFirst + 2, 0x1F, 8);
  CHECK(b.sent() == run(kFirst + 4, 2));
  // A fence does not wait for WRITEs.
  b.post(Verb::kWrite, 8, [](SendRequest& r) { r.fence = true; });
  CHECK(b.sent().size() == 1);
}

TEST_CASE("local operations complete in their turn; a local error waits for those before it") {
  Bench b;
  const Region spare = b.nic->add_region(64, kAccessAll, true);
  b.post(Verb::kNop, 0);
  b.post(Verb::kWrite, 8);
  b.post(Verb::kNop, 0);
  b.post(Verb::kLocalInv, 0, [&](SendRequest& r) { r.inv_key = spare.key; });
  CHECK(b.sent().size() == 1);
  CHECK(b.completed() == Ids{0});
  CHECK(b.nic->memory().find(spare.key) != nullptr);
  b.ack(kFirst);
  b.sent();
  CHECK(b.completed() == Ids{1, 2, 3});
  CHECK(b.nic->memory().find(spare.key) == nullptr);

  b.post(Verb::kWrite, 8);
  b.post(Verb::kWrite, 8, [&](SendRequest& r) { r.sges[0].lkey = spare.key; });
  b.post(Verb::kWrite, 8);
  CHECK(b.sent().size() == 1);
  CHECK(b.done.empty());
  b.ack(kFirst + 1);
  REQUIRE(b.done.size() == 3);
  CHECK(b.done[0].status == Status::kSuccess);
  CHECK(b.done[1].status == Status::kLocalProtection);
  CHECK(b.done[2].status == Status::kFlushed);
}

TEST_CASE("what a transport cannot carry is refused locally") {
  const auto refused = [](roce::Transport t, Verb v, uint32_t length) {
    Bench b([&](QpConfig& c) { c.transport = t; });
    b.post(v, length);
    CHECK(b.sent().empty());
    REQUIRE(b.done.size() == 1);
    CHECK(b.nic->state(0) == (t == roce::Transport::kRc ? State::kErr : State::kSqe));
    return b.done[0].status;
  };
  using roce::Transport;
  CHECK(refused(Transport::kUd, Verb::kWrite, 8) == Status::kLocalOperation);
  CHECK(refused(Transport::kUd, Verb::kSend, kPmtu + 1) == Status::kLocalLength);
  CHECK(refused(Transport::kUc, Verb::kRead, 8) == Status::kLocalOperation);
  CHECK(refused(Transport::kUc, Verb::kSendInv, 8) == Status::kLocalOperation);
  CHECK(refused(Transport::kRc, Verb::kFetchAdd, 4) == Status::kLocalLength);
}

TEST_CASE("UC and UD complete when sent; SQE is left by RTS") {
  Bench b([](QpConfig& c) { c.transport = roce::Transport::kUc; });
  b.post(Verb::kWrite, 2 * kPmtu);
  b.post(Verb::kSendImm, 8);
  CHECK(b.sent() == run(kFirst, 3));
  CHECK(b.view(0).opcode == 0x26);
  CHECK_FALSE(b.view(1).ack_req);
  CHECK(b.view(2).opcode == 0x25);
  CHECK(b.completed() == Ids{0, 1});
  b.post(Verb::kRead, 8);
  b.post(Verb::kWrite, 8);
  CHECK(b.sent().empty());
  REQUIRE(b.done.size() == 2);
  CHECK(b.done[1].status == Status::kFlushed);
  CHECK(b.nic->state(0) == State::kSqe);
  b.done.clear();
  b.nic->set_state(0, State::kRts);
  b.post(Verb::kWrite, 8);
  CHECK(b.sent() == run(kFirst + 3, 1));

  Bench d([](QpConfig& c) {
    c.transport = roce::Transport::kUd;
    c.qkey = 0x80010000;
  });
  const auto to = [](uint32_t qkey) {
    return [qkey](SendRequest& r) {
      r.ud = {{2, 0, 0, 0, 0, 9}, roce::ipv4_address(192, 168, 0, 9), 0x321, qkey};
    };
  };
  d.post(Verb::kSend, 20, to(0x1234));
  d.post(Verb::kSendImm, 0, to(0x80000000));
  CHECK(d.sent() == run(kFirst, 2));
  CHECK(d.view(0).opcode == roce::kUdSendOnly);
  CHECK(d.view(0).dest_qp == 0x321);
  CHECK(d.view(0).qkey == 0x1234);
  CHECK(d.view(0).src_qp == 0x12);
  CHECK(d.view(0).ip_dst == roce::ipv4_address(192, 168, 0, 9));
  CHECK(d.view(0).eth_dst == roce::MacAddr{2, 0, 0, 0, 0, 9});
  CHECK(d.view(1).qkey == 0x80010000);
  CHECK(d.completed() == Ids{0, 1});
}

TEST_CASE("SQD finishes what was started, starts nothing, and tells when it is drained") {
  Bench b([](QpConfig& c) { c.requester.window = 1; });
  b.post(Verb::kWrite, 2 * kPmtu);
  b.post(Verb::kWrite, 8);
  CHECK(b.sent().size() == 1);
  b.nic->set_state(0, State::kSqd);
  CHECK(b.nic->take_events().empty());
  b.ack(kFirst);
  CHECK(b.sent() == Psns{0xFFFFFF});
  b.ack(kFirst + 1);
  CHECK(b.completed() == Ids{0});
  CHECK(b.sent().empty());
  const auto e = b.nic->take_events();
  REQUIRE(e.size() == 1);
  CHECK(e[0].second == Event::kDrained);
  b.nic->set_state(0, State::kRts);
  CHECK(b.sent() == Psns{0});
}

TEST_CASE("a late ACK during retransmission moves the point where it goes on") {
  Bench b([](QpConfig& c) { c.requester.window = 6; });
  b.post(Verb::kWrite, 6 * kPmtu);
  CHECK(b.sent().size() == 6);
  b.now += kTimeout;
  b.nic->tick(b.now);
  std::vector<uint8_t> f;
  REQUIRE(b.nic->transmit(b.now, f));  // the first again
  b.ack(kFirst + 3);
  CHECK(b.sent() == run(kFirst + 4, 2));
  b.ack(kFirst + 5);
  CHECK(b.completed() == Ids{0});
}
