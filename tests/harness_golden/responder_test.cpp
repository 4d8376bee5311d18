// SPDX-License-Identifier: Apache-2.0
// The golden responder, rule by rule (fact sheet sections 2 and 4, pitfalls of section 11).
#include "harness/golden/responder.hpp"

#include <algorithm>
#include <functional>

#include "harness/golden/nic.hpp"
#include "harness/roce/aeth.hpp"
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
constexpr uint32_t kFirstPsn = 0xFFFFFE;  // every test crosses the wrap

// One QP (0x11) that is spoken to by hand, from QP 0x12 of 192.168.0.1.
struct Bench {
  explicit Bench(const std::function<void(QpConfig&)>& change = {}) {
    NicConfig n;
    n.mac = {2, 0, 0, 0, 0, 2};
    n.ip = roce::ipv4_address(192, 168, 0, 2);
    nic = std::make_unique<Nic>(n);
    QpConfig c;
    c.qpn = 0x11;
    c.dest_qpn = 0x12;
    c.pmtu = kPmtu;
    c.rq_psn = kFirstPsn;
    c.dest_ip = roce::ipv4_address(192, 168, 0, 1);
    if (change) change(c);
    config = c;
    nic->create_qp(c);
    region = nic->add_region(16384, kAccessAll, true);
    read_only = nic->add_region(4096, kRemoteRead, false);
    landing = nic->add_region(16384, kLocalWrite, false);
    spec.ip_src = roce::ipv4_address(192, 168, 0, 1);
    spec.ip_dst = roce::ipv4_address(192, 168, 0, 2);
    spec.dest_qp = 0x11;
    spec.psn = c.rq_psn;
    spec.va = region.va;
    spec.rkey = region.key;
    spec.ack_req = true;
  }

  // Sends one packet; `next` says how far the PSN goes.
  void send(uint8_t opcode, uint32_t length = 0, uint32_t next = 1,
            const std::function<void(std::vector<uint8_t>&)>& edit = {}) {
    spec.opcode = opcode;
    std::vector<uint8_t> payload(length), frame(length + 200);
    for (uint32_t i = 0; i < length; ++i) payload[i] = static_cast<uint8_t>(spec.psn * 31 + i + 1);
    frame.resize(roce::build_frame(spec, payload, frame));
    if (edit) edit(frame);
    nic->receive(now, frame);
    collect();
    spec.psn = roce::psn_add(spec.psn, next);
  }
  void write(uint8_t opcode, uint32_t length, uint32_t dma_len) {
    spec.dma_len = dma_len;
    send(opcode, length);
  }
  void read(uint32_t dma_len, uint32_t next) {
    spec.dma_len = dma_len;
    send(roce::kRcReadRequest, 0, next);
  }
  void collect() {
    answers.clear();
    frames.clear();
    std::vector<uint8_t> f;
    while (nic->transmit(now, f)) {
      frames.push_back(f);
      FrameView v;
      REQUIRE(roce::parse_frame(frames.back(), v) == ParseStatus::kOk);
      answers.push_back(v);
    }
    // Views point into frames, which may have moved.
    for (size_t i = 0; i < frames.size(); ++i) roce::parse_frame(frames[i], answers[i]);
    while (auto c = nic->poll(0)) done.push_back(*c);
  }
  void post_receive(uint32_t bytes, uint32_t key = 0) {
    nic->post_recv(
        0, {.wr_id = next_receive,
            .sges = {{key == 0 ? landing.key : key, bytes, landing.va + 1024 * next_receive}}});
    ++next_receive;
  }
  std::vector<uint8_t> memory(const Region& r, uint64_t offset, size_t n) {
    std::vector<uint8_t> m(n);
    nic->read_memory(r, offset, m);
    return m;
  }
  bool untouched() {
    const auto a = memory(region, 0, region.length), b = memory(landing, 0, landing.length);
    const auto zero = [](uint8_t x) { return x == 0; };
    return std::all_of(a.begin(), a.end(), zero) && std::all_of(b.begin(), b.end(), zero);
  }
  // The only answer, an ACK or NAK.
  void expect(uint8_t syndrome, uint32_t psn, uint32_t msn) {
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].opcode == roce::kRcAcknowledge);
    CHECK(static_cast<int>(answers[0].syndrome) == syndrome);
    CHECK(answers[0].psn == psn);
    CHECK(answers[0].msn == msn);
    CHECK(answers[0].dest_qp == 0x12);
    CHECK(answers[0].pad == 0);
  }
  bool silent() const { return answers.empty(); }

  TimePs now = 1000;
  std::unique_ptr<Nic> nic;
  QpConfig config;
  Region region, read_only, landing;
  FrameSpec spec;
  std::vector<FrameView> answers;
  std::vector<std::vector<uint8_t>> frames;
  std::vector<Completion> done;
  uint32_t next_receive = 0;
};

std::vector<uint8_t> vector(int number) {
  for (const auto& v : test::kVectors) {
    if (v.number == number) return test::from_hex(v.hex);
  }
  throw std::out_of_range("vector");
}

void no_ip_id(std::vector<uint8_t>& f) {
  f[18] = f[19] = 0;
  roce::fix_ipv4_checksum(f);
  roce::fix_icrc(f);
}

}  // namespace

TEST_CASE("the fact sheet's request vectors are answered with its response vectors") {
  NicConfig n;
  n.mac = {2, 0, 0, 0, 0, 2};
  n.ip = roce::ipv4_address(192, 168, 0, 2);
  n.pad_to_min = false;
  Nic nic(n);
  QpConfig c;
  c.qpn = 0x11;
  c.dest_qpn = 0x12;
  c.dest_mac = {2, 0, 0, 0, 0, 1};
  c.dest_ip = roce::ipv4_address(192, 168, 0, 1);
  c.udp_port = 0xC123;
  c.rq_psn = 0x10;
  nic.create_qp(c);
  // WRITE, READ and ATOMIC of the vectors name key 0x1234 and addresses at 0x1234567890..
  nic.memory().add({.key = 0x1234, .pd = 1, .va = 0x123456789000, .length = 8192, .at = 0x1000});
  const Region landing = nic.add_region(4096, kAccessAll, false);
  nic.post_recv(0, {.wr_id = 7, .sges = {{landing.key, 100, landing.va}}});
  std::vector<uint8_t> f;
  const auto answer = [&](const std::vector<uint8_t>& request) {
    nic.receive(0, request);
    REQUIRE(nic.transmit(0, f));
    no_ip_id(f);
    return f;
  };
  nic.receive(0, vector(1));
  while (nic.transmit(0, f)) {
  }
  const auto got = nic.poll(0);
  REQUIRE(got);
  CHECK(got->bytes == 8);
  std::vector<uint8_t> m(8);
  nic.read_memory(landing, 0, m);
  CHECK(m == std::vector<uint8_t>{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4});
  CHECK(answer(vector(2)) == vector(3));
  nic.memory().read(0x1234, 0x123456789000, std::span(m).first(5));
  CHECK(std::vector<uint8_t>(m.begin(), m.begin() + 5) ==
        std::vector<uint8_t>{0xa1, 0xa2, 0xa3, 0xa4, 0xa5});
  // A READ of two bytes 55 AA.
  const uint8_t two[] = {0x55, 0xAA};
  nic.memory().write(0x1234, 0x123456789010, two);
  FrameSpec s;
  s.ip_src = c.dest_ip;
  s.ip_dst = n.ip;
  s.dest_qp = 0x11;
  s.opcode = roce::kRcReadRequest;
  s.psn = 0x12;
  s.va = 0x123456789010;
  s.rkey = 0x1234;
  s.dma_len = 2;
  std::vector<uint8_t> request(128);
  request.resize(roce::build_frame(s, {}, request));
  CHECK(answer(request) == vector(7));
  // PSN 0x13 is expected: one ahead of it, and then a SEND without a receive.
  s.opcode = roce::kRcSendOnly;
  s.psn = 0x14;
  request.resize(128);
  request.resize(roce::build_frame(s, {}, request));
  CHECK(answer(request) == vector(4));
  s.psn = 0x13;
  request.resize(128);
  request.resize(roce::build_frame(s, {}, request));
  CHECK(answer(request) == vector(5));
}

TEST_CASE("the FETCH_ADD vector at the last PSN gives the ATOMIC vector") {
  Bench b([](QpConfig& c) {
    c.rq_psn = 0xFFFFFC;
    c.udp_port = 0xC123;
    c.dest_mac = {2, 0, 0, 0, 0, 1};
  });
  b.nic->memory().add({.key = 0x1234, .pd = 1, .va = 0x123456789000, .length = 64, .at = 0x1000});
  uint8_t word[8];
  roce::store_le64(word, 0x1122334455667788);
  b.nic->memory().write(0x1234, 0x123456789008, word);
  for (int i = 0; i < 3; ++i) b.write(roce::kRcWriteOnly, 0, 0);  // MSN 3
  b.nic->receive(0, vector(8));
  b.collect();
  REQUIRE(b.frames.size() == 1);
  auto f = b.frames[0];
  no_ip_id(f);
  CHECK(f == vector(9));
  b.nic->memory().read(0x1234, 0x123456789008, word);
  CHECK(roce::load_le64(word) == 0x1122334455667789);
  CHECK(b.nic->responder(0).expected_psn() == 0);
}

TEST_CASE("frames that are damaged or meant for others are dropped without an answer") {
  Bench b;
  const auto dropped = [&](const std::function<void(std::vector<uint8_t>&)>& edit) {
    const uint32_t psn = b.spec.psn;
    b.spec.dma_len = 8;
    b.send(roce::kRcWriteOnly, 8, 0, edit);
    CHECK(b.silent());
    CHECK(b.untouched());
    CHECK(b.nic->responder(0).expected_psn() == psn);
  };
  const auto with = [&](auto&& change) {
    const FrameSpec keep = b.spec;
    change(b.spec);
    dropped({});
    b.spec = keep;
  };
  dropped([](auto& f) { f[60] ^= 1; });  // iCRC
  dropped([](auto& f) {                  // TVer
    f[43] |= 1;
    roce::fix_icrc(f);
  });
  with([](FrameSpec& s) { s.dest_qp = 0x99; });
  with([](FrameSpec& s) { s.pkey = 0x1234; });
  with([](FrameSpec& s) { s.ip_src = roce::ipv4_address(192, 168, 0, 9); });
  with([](FrameSpec& s) { s.ip_dst = roce::ipv4_address(192, 168, 0, 9); });
  b.spec.dma_len = 8;
  for (const uint8_t opcode : {0x2A, 0x24, 0x64, 0x4A}) {  // UC and UD at an RC QP (pitfall 9)
    b.send(opcode, 8, 0);
    CHECK(b.silent());
  }
  const NicStats& n = b.nic->stats();
  CHECK(n.bad_icrc == 1);
  CHECK(n.bad_version == 1);
  CHECK(n.unknown_qp == 1);
  CHECK(n.wrong_pkey == 1);
  CHECK(n.wrong_address == 2);
  CHECK(n.wrong_transport == 4);
  b.write(roce::kRcWriteOnly, 8, 8);
  b.expect(0x1F, kFirstPsn, 1);
}

TEST_CASE("P_Keys match in their low bits when one side is a full member") {
  const auto taken = [](uint16_t ours, uint16_t theirs) {
    Bench b([&](QpConfig& c) { c.pkey = ours; });
    b.spec.pkey = theirs;
    b.write(roce::kRcWriteOnly, 4, 4);
    return !b.silent();
  };
  CHECK(taken(0xFFFF, 0x7FFF));
  CHECK(taken(0x7FFF, 0xFFFF));
  CHECK_FALSE(taken(0x7FFF, 0x7FFF));
  CHECK_FALSE(taken(0xFFFF, 0xFFFE));
}

TEST_CASE("nothing is taken in RESET, INIT and ERR; RTR and SQD answer") {
  for (const State s : {State::kReset, State::kInit, State::kErr, State::kRtr, State::kSqd}) {
    Bench b;
    b.nic->set_state(0, s);
    b.write(roce::kRcWriteOnly, 4, 4);
    CHECK(b.silent() == (s != State::kRtr && s != State::kSqd));
    CHECK(b.untouched() == b.silent());
  }
}

TEST_CASE("the first packet in RTR raises communication established, once") {
  Bench b;
  b.nic->set_state(0, State::kRtr);
  CHECK(b.nic->take_events().empty());
  b.write(roce::kRcWriteOnly, 4, 4);
  b.write(roce::kRcWriteOnly, 4, 4);
  const auto e = b.nic->take_events();
  REQUIRE(e.size() == 1);
  CHECK(e[0].second == Event::kEstablished);
}

TEST_CASE("a gap is reported once, until the expected packet comes") {
  Bench b;
  b.write(roce::kRcWriteOnly, 4, 4);
  const uint32_t missing = b.spec.psn;
  b.spec.psn = roce::psn_add(missing, 1);
  b.write(roce::kRcWriteOnly, 4, 4);
  b.expect(0x60, missing, 1);
  for (int i = 0; i < 5; ++i) {
    b.write(roce::kRcWriteOnly, 4, 4);
    CHECK(b.silent());
  }
  b.spec.psn = missing;
  b.write(roce::kRcWriteOnly, 4, 4);
  b.expect(0x1F, missing, 2);
  b.spec.psn = roce::psn_add(b.spec.psn, 1);
  b.write(roce::kRcWriteOnly, 4, 4);
  b.expect(0x60, roce::psn_add(missing, 1), 2);  // a new gap, a new report
  // RESET clears it (pitfall 25).
  b.nic->set_state(0, State::kReset);
  b.nic->set_state(0, State::kRts);
  b.spec.psn = roce::psn_add(kFirstPsn, 1);
  b.write(roce::kRcWriteOnly, 4, 4);
  b.expect(0x60, kFirstPsn, 0);
}

TEST_CASE("a packet that is half the numbers ahead counts as behind") {
  Bench b;
  b.spec.psn = roce::psn_add(kFirstPsn, 0x800000);
  b.write(roce::kRcWriteOnly, 4, 4);
  b.expect(0x1F, roce::psn_sub(kFirstPsn, 1), 0);  // a duplicate
  b.spec.psn = roce::psn_add(kFirstPsn, 0x7FFFFF);
  b.write(roce::kRcWriteOnly, 4, 4);
  b.expect(0x60, kFirstPsn, 0);
}

TEST_CASE("duplicates of SEND and WRITE are acknowledged again and not executed") {
  Bench b;
  b.post_receive(1000);
  b.post_receive(1000);
  b.send(roce::kRcSendFirst, kPmtu);
  b.send(roce::kRcSendLast, 10);
  b.expect(0x1F, 0xFFFFFF, 1);
  b.write(roce::kRcWriteOnly, 4, 4);
  REQUIRE(b.done.size() == 1);
  CHECK(b.done[0].bytes == kPmtu + 10);
  const auto before = b.memory(b.landing, 0, 4096);
  b.spec.psn = kFirstPsn;
  for (int i = 0; i < 2; ++i) {
    b.send(i == 0 ? roce::kRcSendFirst : roce::kRcSendLast, i == 0 ? kPmtu : 10);
    b.expect(0x1F, 0, 2);  // the newest accepted PSN
  }
  CHECK(b.done.size() == 1);
  CHECK(b.memory(b.landing, 0, 4096) == before);
  // What is wrong in a duplicate is not reported.
  b.spec.psn = kFirstPsn;
  b.spec.rkey = 0;
  b.spec.dma_len = 77;
  b.send(roce::kRcWriteOnly, 10, 0);
  CHECK(b.nic->state(0) == State::kRts);
  b.spec.ack_req = false;
  b.send(roce::kRcSendFirst, kPmtu, 0);
  CHECK(b.silent());  // nobody asked
  b.send(0x15, 0, 0);
  CHECK(b.silent());
  CHECK(b.nic->state(0) == State::kRts);
}

TEST_CASE("READ is answered in packets, counts as one message and takes one PSN per answer") {
  Bench b;
  for (uint32_t i = 0; i < 1024; ++i) {
    const uint8_t v = static_cast<uint8_t>(i * 3);
    b.nic->write_memory(b.region, i, {&v, 1});
  }
  struct Case {
    uint32_t length;
    std::vector<uint8_t> opcodes;
  };
  const std::vector<Case> cases = {{0, {0x10}},
                                   {1, {0x10}},
                                   {kPmtu, {0x10}},
                                   {kPmtu + 1, {0x0D, 0x0F}},
                                   {2 * kPmtu, {0x0D, 0x0F}},
                                   {2 * kPmtu + 3, {0x0D, 0x0E, 0x0F}}};
  uint32_t msn = 0;
  for (const Case& c : cases) {
    INFO("length " << c.length);
    const uint32_t first = b.spec.psn;
    b.spec.va = b.region.va + 5;
    b.read(c.length, static_cast<uint32_t>(c.opcodes.size()));
    ++msn;
    REQUIRE(b.answers.size() == c.opcodes.size());
    std::vector<uint8_t> data;
    for (size_t i = 0; i < c.opcodes.size(); ++i) {
      const FrameView& v = b.answers[i];
      CHECK(static_cast<int>(v.opcode) == c.opcodes[i]);
      CHECK(v.psn == roce::psn_add(first, static_cast<uint32_t>(i)));
      if (v.opcode != 0x0E) CHECK(v.msn == msn);
      data.insert(data.end(), v.payload().begin(), v.payload().end());
    }
    CHECK(data == b.memory(b.region, 5, c.length));
    CHECK(b.nic->responder(0).expected_psn() == b.spec.psn);
  }
}

TEST_CASE(
    "a duplicate READ is executed again with its key checked, if it is a tail of a saved one") {
  Bench b;
  const uint32_t first = b.spec.psn;
  b.read(3 * kPmtu + 1, 4);
  CHECK(b.answers.size() == 4);
  const uint8_t changed[] = {0xAB};
  b.nic->write_memory(b.region, kPmtu, changed);
  const auto again = [&](uint32_t skip, uint32_t length, int64_t va_error = 0) {
    b.spec.psn = roce::psn_add(first, skip);
    b.spec.va = b.region.va + skip * kPmtu + static_cast<uint64_t>(va_error);
    b.read(length, 0);
    return b.answers.size();
  };
  CHECK(again(0, 3 * kPmtu + 1) == 4);
  CHECK(b.answers[0].msn == 1);  // not counted again
  CHECK(again(1, 2 * kPmtu + 1) == 3);
  CHECK(b.answers[0].opcode == 0x0D);
  CHECK(b.answers[0].payload()[0] == 0xAB);  // read anew
  CHECK(again(3, 1) == 1);
  CHECK(b.answers[0].opcode == 0x10);
  CHECK(b.answers[0].psn == roce::psn_add(first, 3));
  CHECK(again(1, 2 * kPmtu) == 0);         // another end
  CHECK(again(1, 2 * kPmtu + 1, 4) == 0);  // another place
  b.spec.rkey ^= 1;
  CHECK(again(0, 3 * kPmtu + 1) == 0);
  b.spec.rkey ^= 1;
  b.nic->memory().invalidate(b.region.key, 1);
  CHECK(again(0, 3 * kPmtu + 1) == 0);  // the key has gone: dropped, not refused
  CHECK(b.nic->state(0) == State::kRts);
}

TEST_CASE("a duplicate ATOMIC brings the saved result and changes nothing") {
  Bench b;
  b.spec.swap_add = 5;
  const uint32_t first = b.spec.psn;
  b.send(roce::kRcFetchAdd);
  REQUIRE(b.answers.size() == 1);
  CHECK(b.answers[0].opcode == roce::kRcAtomicAck);
  CHECK(b.answers[0].atomic_orig == 0);
  b.send(roce::kRcFetchAdd);
  CHECK(b.answers[0].atomic_orig == 5);
  CHECK(b.answers[0].msn == 2);
  b.spec.psn = first;
  b.send(roce::kRcFetchAdd, 0, 0);
  REQUIRE(b.answers.size() == 1);
  CHECK(b.answers[0].atomic_orig == 0);
  CHECK(b.answers[0].psn == first);
  CHECK(roce::load_le64(b.memory(b.region, 0, 8).data()) == 10);
  b.send(roce::kRcCompareSwap, 0, 0);  // not what was saved
  CHECK(b.silent());
  b.spec.va += 8;
  b.send(roce::kRcFetchAdd, 0, 0);
  CHECK(b.silent());
  // Compare and swap: only on equality.
  b.spec.va = b.region.va;
  b.spec.psn = roce::psn_add(first, 2);
  b.spec.compare = 11;
  b.spec.swap_add = 99;
  b.send(roce::kRcCompareSwap);
  CHECK(b.answers[0].atomic_orig == 10);
  CHECK(roce::load_le64(b.memory(b.region, 0, 8).data()) == 10);
  b.spec.compare = 10;
  b.send(roce::kRcCompareSwap);
  CHECK(roce::load_le64(b.memory(b.region, 0, 8).data()) == 99);
}

TEST_CASE("saved READs and ATOMICs are recycled, oldest first") {
  Bench b([](QpConfig& c) { c.max_dest_rd_atomic = 2; });
  b.spec.swap_add = 1;
  const uint32_t first = b.spec.psn;
  for (int i = 0; i < 3; ++i) b.send(roce::kRcFetchAdd);
  for (uint32_t i = 0; i < 3; ++i) {
    b.spec.psn = roce::psn_add(first, i);
    b.send(roce::kRcFetchAdd, 0, 0);
    CHECK(b.silent() == (i == 0));
  }
}

TEST_CASE("no receive: not ready, and nothing of the message is kept") {
  for (const uint8_t opcode :
       {roce::kRcSendOnly, roce::kRcSendFirst, roce::kRcSendOnlyImm, roce::kRcWriteOnlyImm}) {
    INFO(roce::opcode_short_name(opcode));
    Bench b([](QpConfig& c) { c.min_rnr_timer = 12; });
    const bool first = opcode == roce::kRcSendFirst;
    const uint32_t psn = b.spec.psn;
    b.spec.dma_len = 8;
    b.send(opcode, first ? kPmtu : 8);
    b.expect(0x2C, psn, 0);
    CHECK(b.untouched());
    b.send(roce::kRcWriteOnly, 8);  // behind it: silence, no sequence NAK
    CHECK(b.silent());
    b.post_receive(2000);
    b.spec.psn = psn;
    b.send(opcode, first ? kPmtu : 8);
    b.expect(0x1F, psn, first ? 0 : 1);
    b.post_receive(10);
    CHECK(b.done.size() == (first ? 0 : 1));
  }
  // The immediate of a WRITE may come with the LAST packet.
  Bench b([](QpConfig& c) { c.min_rnr_timer = 1; });
  b.write(roce::kRcWriteFirst, kPmtu, kPmtu + 4);
  b.expect(0x1F, kFirstPsn, 0);
  b.send(roce::kRcWriteLastImm, 4, 0);
  b.expect(0x21, 0xFFFFFF, 0);
  b.post_receive(0);
  b.spec.imm = 0xCAFE0001;
  b.spec.solicited = true;
  b.send(roce::kRcWriteLastImm, 4);
  b.expect(0x1F, 0xFFFFFF, 1);
  REQUIRE(b.done.size() == 1);
  CHECK(b.done[0].verb == Verb::kWriteImm);
  CHECK(b.done[0].bytes == kPmtu + 4);
  CHECK(b.done[0].imm == 0xCAFE0001);
  CHECK(b.done[0].solicited);
}

TEST_CASE("invalid requests: NAK 0x61, ERR, memory as it was") {
  struct Case {
    const char* name;
    std::function<void(Bench&)> start;  // good packets before
    std::function<void(Bench&)> bad;
    std::function<void(QpConfig&)> config = {};
  };
  const auto none = [](Bench&) {};
  const auto write_begun = [](Bench& b) { b.write(roce::kRcWriteFirst, kPmtu, 3 * kPmtu); };
  const auto send_begun = [](Bench& b) {
    b.post_receive(2000);
    b.send(roce::kRcSendFirst, kPmtu);
  };
  const std::vector<Case> cases = {
      {"reserved opcode", none, [](Bench& b) { b.send(0x15); }},
      {"another reserved opcode", none, [](Bench& b) { b.send(0x1F); }},
      {"MIDDLE without FIRST", none, [](Bench& b) { b.send(roce::kRcSendMiddle, kPmtu); }},
      {"LAST without FIRST", none, [](Bench& b) { b.write(roce::kRcWriteLast, 4, 4); }},
      {"SEND in a WRITE", write_begun, [](Bench& b) { b.send(roce::kRcSendMiddle, kPmtu); }},
      {"ONLY in a WRITE", write_begun, [](Bench& b) { b.write(roce::kRcWriteOnly, 4, 4); }},
      {"READ in a SEND", send_begun, [](Bench& b) { b.read(4, 1); }},
      {"FIRST in a SEND", send_begun, [](Bench& b) { b.send(roce::kRcSendFirst, kPmtu); }},
      {"short FIRST", none, [](Bench& b) { b.write(roce::kRcWriteFirst, kPmtu - 4, 1000); }},
      {"short MIDDLE", write_begun, [](Bench& b) { b.send(roce::kRcWriteMiddle, 8); }},
      {"ONLY beyond the MTU", none,
       [](Bench& b) { b.write(roce::kRcWriteOnly, kPmtu + 4, kPmtu + 4); }},
      {"empty LAST", write_begun, [](Bench& b) { b.send(roce::kRcWriteLast, 0); }},
      {"LAST beyond the MTU", write_begun, [](Bench& b) { b.send(roce::kRcWriteLast, kPmtu + 1); }},
      {"more than announced, at FIRST", none,
       [](Bench& b) { b.write(roce::kRcWriteFirst, kPmtu, kPmtu - 1); }},
      {"more than announced, at MIDDLE",
       [](Bench& b) { b.write(roce::kRcWriteFirst, kPmtu, kPmtu + 10); },
       [](Bench& b) { b.send(roce::kRcWriteMiddle, kPmtu); }},
      {"more than announced, at LAST",
       [](Bench& b) { b.write(roce::kRcWriteFirst, kPmtu, kPmtu + 10); },
       [](Bench& b) { b.send(roce::kRcWriteLast, 11); }},
      {"less than announced", [](Bench& b) { b.write(roce::kRcWriteFirst, kPmtu, kPmtu + 10); },
       [](Bench& b) { b.send(roce::kRcWriteLast, 9); }},
      {"less than announced, ONLY", none, [](Bench& b) { b.write(roce::kRcWriteOnly, 4, 8); }},
      {"WRITE above 2^31", none, [](Bench& b) { b.write(roce::kRcWriteFirst, kPmtu, 0x80000001); }},
      {"READ above 2^31", none, [](Bench& b) { b.read(0x80000001, 1); }},
      {"misaligned ATOMIC", none,
       [](Bench& b) {
         b.spec.va += 4;
         b.send(roce::kRcFetchAdd);
       }},
      {"WRITE not enabled", none, [](Bench& b) { b.write(roce::kRcWriteOnly, 4, 4); },
       [](QpConfig& c) { c.access = kRemoteRead; }},
      {"READ not enabled", none, [](Bench& b) { b.read(4, 1); },
       [](QpConfig& c) { c.access = kRemoteWrite; }},
      {"ATOMIC not enabled", none, [](Bench& b) { b.send(roce::kRcFetchAdd); },
       [](QpConfig& c) { c.access = kRemoteRead | kRemoteWrite; }},
      {"READs not agreed", none, [](Bench& b) { b.read(4, 1); },
       [](QpConfig& c) { c.max_dest_rd_atomic = 0; }},
      {"wrong pad count", none,
       [](Bench& b) {
         b.spec.dma_len = 8;
         b.send(roce::kRcWriteOnly, 9, 1, [](auto& f) {
           f[43] = static_cast<uint8_t>((f[43] & 0xCF) | 0x20);  // says 2 instead of 3
           roce::fix_icrc(f);
         });
       }},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Bench b(c.config);
    c.start(b);
    const auto before = b.memory(b.region, 0, b.region.length);
    const uint32_t psn = b.spec.psn;
    c.bad(b);
    REQUIRE(b.answers.size() == 1);
    b.expect(0x61, psn, 0);
    CHECK(b.nic->state(0) == State::kErr);
    CHECK(b.memory(b.region, 0, b.region.length) == before);
    const auto e = b.nic->take_events();
    CHECK(std::any_of(e.begin(), e.end(), [](auto& x) { return x.second == Event::kQpFatal; }));
    b.spec.psn = psn;
    b.write(roce::kRcWriteOnly, 4, 4);
    CHECK(b.silent());  // ERR
  }
}

TEST_CASE("remote access errors: NAK 0x62, and no part of the message is placed") {
  const auto refused = [](const std::function<void(Bench&)>& bad) {
    Bench b;
    const uint8_t mark[] = {0x77};
    b.nic->write_memory(b.read_only, 0, mark);
    const uint32_t psn = b.spec.psn;
    bad(b);
    b.expect(0x62, psn, 0);
    CHECK(b.untouched());
    CHECK(b.memory(b.read_only, 0, 1)[0] == 0x77);
    CHECK(b.nic->state(0) == State::kErr);
  };
  refused([](Bench& b) {
    b.spec.rkey = 0x999;
    b.write(roce::kRcWriteOnly, 4, 4);
  });
  refused([](Bench& b) {  // the tag is part of the key
    b.spec.rkey ^= 1;
    b.write(roce::kRcWriteOnly, 4, 4);
  });
  refused([](Bench& b) {  // the whole length counts, at the first packet
    b.spec.va = b.region.va + b.region.length - kPmtu;
    b.write(roce::kRcWriteFirst, kPmtu, kPmtu + 1);
  });
  refused([](Bench& b) {
    b.spec.va = b.region.va - 1;
    b.write(roce::kRcWriteOnly, 4, 4);
  });
  refused([](Bench& b) {  // the sum wraps
    b.spec.va = ~uint64_t{0} - 1;
    b.write(roce::kRcWriteOnly, 4, 4);
  });
  refused([](Bench& b) {
    b.spec.rkey = b.read_only.key;
    b.spec.va = b.read_only.va;
    b.write(roce::kRcWriteOnly, 4, 4);
  });
  refused([](Bench& b) {
    b.spec.rkey = b.read_only.key;
    b.spec.va = b.read_only.va;
    b.send(roce::kRcFetchAdd);
  });
  refused([](Bench& b) {
    b.spec.rkey = b.landing.key;
    b.spec.va = b.landing.va;
    b.read(4, 1);
  });
  // Another protection domain.
  Bench b;
  b.nic->memory().add({.key = 0x4242, .pd = 2, .va = 0, .length = 64, .at = 0x100});
  b.spec.rkey = 0x4242;
  b.spec.va = 0;
  b.write(roce::kRcWriteOnly, 4, 4);
  b.expect(0x62, kFirstPsn, 0);
}

TEST_CASE("without bytes neither key nor address is checked") {
  Bench b;
  b.spec.rkey = 0;
  b.spec.va = 1;
  b.write(roce::kRcWriteOnly, 0, 0);
  b.expect(0x1F, kFirstPsn, 1);
  b.read(0, 1);
  REQUIRE(b.answers.size() == 1);
  CHECK(b.answers[0].opcode == roce::kRcReadRespOnly);
  CHECK(b.answers[0].payload_len == 0);
  b.post_receive(0);
  b.send(roce::kRcSendOnly, 0);
  b.expect(0x1F, 0, 3);
  REQUIRE(b.done.size() == 1);
  CHECK(b.done[0].bytes == 0);
}

TEST_CASE("a region that goes in the middle ends the message with an access error") {
  Bench b;
  b.write(roce::kRcWriteFirst, kPmtu, 2 * kPmtu);
  b.nic->memory().invalidate(b.region.key, 1);
  b.send(roce::kRcWriteLast, kPmtu);
  b.expect(0x62, 0xFFFFFF, 0);
  // In the middle of a READ's answer.
  Bench r;
  r.spec.dma_len = 3 * kPmtu;
  r.spec.opcode = roce::kRcReadRequest;
  std::vector<uint8_t> frame(200);
  frame.resize(roce::build_frame(r.spec, {}, frame));
  r.nic->receive(0, frame);
  std::vector<uint8_t> f;
  REQUIRE(r.nic->transmit(0, f));
  r.nic->memory().invalidate(r.region.key, 1);
  r.collect();
  r.expect(0x62, 0xFFFFFF, 1);
  CHECK(r.nic->state(0) == State::kErr);
}

TEST_CASE("faults of the receive itself: too short, or its memory not allowed") {
  Bench b;
  b.post_receive(300);
  b.post_receive(100);
  b.send(roce::kRcSendFirst, kPmtu);
  b.send(roce::kRcSendLast, 45);
  b.expect(0x61, 0xFFFFFF, 0);
  REQUIRE(b.done.size() == 2);
  CHECK(b.done[0].status == Status::kLocalLength);
  CHECK(b.done[1].status == Status::kFlushed);
  Bench c;
  c.post_receive(300, c.read_only.key);
  c.send(roce::kRcSendOnly, 45);
  c.expect(0x63, kFirstPsn, 0);
  CHECK(c.done[0].status == Status::kLocalProtection);
}

TEST_CASE("SEND with invalidate takes the key away behind the data") {
  Bench b;
  b.post_receive(100);
  b.spec.inv_rkey = b.region.key;
  b.send(roce::kRcSendOnlyInv, 10);
  b.expect(0x1F, kFirstPsn, 1);
  REQUIRE(b.done.size() == 1);
  CHECK(b.done[0].verb == Verb::kSendInv);
  CHECK(b.done[0].inv_key == b.region.key);
  b.write(roce::kRcWriteOnly, 4, 4);
  b.expect(0x62, 0xFFFFFF, 1);
  // A key that cannot be taken away.
  Bench c;
  c.post_receive(100);
  c.spec.inv_rkey = c.read_only.key;
  c.send(roce::kRcSendOnlyInv, 10);
  c.expect(0x63, kFirstPsn, 0);
  CHECK(c.done[0].status == Status::kRemoteInvalid);
  CHECK(c.nic->state(0) == State::kErr);
}

TEST_CASE("answers leave in PSN order, ACKs behind the data that were asked for before") {
  Bench b;
  const auto feed = [&](uint8_t opcode, uint32_t dma_len, uint32_t length, uint32_t next) {
    b.spec.opcode = opcode;
    b.spec.dma_len = dma_len;
    std::vector<uint8_t> payload(length), frame(length + 200);
    frame.resize(roce::build_frame(b.spec, payload, frame));
    b.nic->receive(0, frame);
    b.spec.psn = roce::psn_add(b.spec.psn, next);
  };
  feed(roce::kRcReadRequest, 2 * kPmtu, 0, 2);
  feed(roce::kRcWriteOnly, 4, 4, 1);
  feed(roce::kRcWriteOnly, 4, 4, 1);
  b.spec.swap_add = 1;
  feed(roce::kRcFetchAdd, 0, 0, 1);
  feed(roce::kRcWriteOnly, 4, 4, 1);
  b.spec.psn = roce::psn_add(b.spec.psn, 1);
  feed(roce::kRcWriteOnly, 4, 4, 1);  // a gap
  b.collect();
  REQUIRE(b.answers.size() == 6);
  const uint8_t opcodes[] = {0x0D, 0x0F, 0x11, 0x12, 0x11, 0x11};
  const uint32_t psns[] = {0xFFFFFE, 0xFFFFFF, 1, 2, 3, 4};
  for (size_t i = 0; i < 6; ++i) {
    CHECK(static_cast<int>(b.answers[i].opcode) == opcodes[i]);
    CHECK(b.answers[i].psn == psns[i]);
  }
  CHECK(b.answers[5].syndrome == 0x60);
}

TEST_CASE("more READs at once than agreed are an invalid request") {
  Bench b([](QpConfig& c) { c.max_dest_rd_atomic = 2; });
  std::vector<uint8_t> frame(200);
  for (int i = 0; i < 3; ++i) {
    b.spec.opcode = roce::kRcReadRequest;
    b.spec.dma_len = 4;
    frame.resize(200);
    frame.resize(roce::build_frame(b.spec, {}, frame));
    b.nic->receive(0, frame);
    b.spec.psn = roce::psn_add(b.spec.psn, 1);
  }
  b.collect();
  REQUIRE(b.answers.size() == 3);  // what was good is answered first
  CHECK(b.answers[1].opcode == roce::kRcReadRespOnly);
  CHECK(b.answers[2].syndrome == 0x61);
}

TEST_CASE("UC forgets a message with a hole and takes the next one") {
  Bench b([](QpConfig& c) { c.transport = roce::Transport::kUc; });
  b.post_receive(600);
  b.post_receive(600);
  b.send(0x20, kPmtu);
  b.spec.psn = roce::psn_add(b.spec.psn, 1);  // one is lost
  b.send(0x22, 20);
  CHECK(b.done.empty());
  b.send(0x24, 30);  // takes the receive that the first one had
  REQUIRE(b.done.size() == 1);
  CHECK(b.done[0].wr_id == 0);
  CHECK(b.done[0].bytes == 30);
  b.spec.dma_len = 2 * kPmtu;
  b.send(0x26, kPmtu);
  b.send(0x28, kPmtu);
  CHECK(b.memory(b.region, 0, 1)[0] != 0);
  // Errors are silent and leave the QP as it is.
  b.spec.rkey = 1;
  b.spec.dma_len = 4;
  b.send(0x2A, 4);
  b.send(0x35, 0);
  CHECK(b.silent());
  CHECK(b.nic->state(0) == State::kRts);
}

TEST_CASE("UD checks the Q_Key and puts the IP header before the data") {
  Bench b([](QpConfig& c) {
    c.transport = roce::Transport::kUd;
    c.qkey = 0x11111111;
  });
  b.post_receive(140);
  b.post_receive(60);
  b.spec.src_qp = 0xABC;
  b.spec.ip_src = roce::ipv4_address(192, 168, 0, 77);  // anybody
  b.spec.qkey = 0x11111112;
  b.send(roce::kUdSendOnly, 100);
  CHECK(b.done.empty());
  b.spec.qkey = 0x11111111;
  b.spec.psn = 0x1234;  // any PSN
  b.send(roce::kUdSendOnlyImm, 100);
  REQUIRE(b.done.size() == 1);
  CHECK(b.done[0].bytes == 140);
  CHECK(b.done[0].src_qp == 0xABC);
  const auto m = b.memory(b.landing, 0, 140);
  CHECK(std::all_of(m.begin(), m.begin() + 20, [](uint8_t x) { return x == 0; }));
  CHECK(m[20] == 0x45);
  CHECK(roce::load_be32(&m[20 + 12]) == 0xC0A8004D);
  CHECK(m[40] == static_cast<uint8_t>(0x1234 * 31 + 1));
  b.send(roce::kUdSendOnly, 21);  // does not fit in 60
  CHECK(b.done.size() == 1);
  b.send(roce::kUdSendOnly, 20);
  CHECK(b.done.size() == 2);
}
