// SPDX-License-Identifier: Apache-2.0
// Random programs of verbs: RTL against the golden endpoint, RTL against RTL.
#include "harness/golden/program.hpp"
#include "harness/roce/bytes.hpp"
#include "tests/support/soak.hpp"
#include "tests/system/verbs_bed.hpp"

using namespace rnic;
using namespace rnic::test;
using golden::make_program;
using golden::Program;
using golden::ProgramConfig;

namespace {

// NOP, SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ, COMPARE_SWAP, FETCH_ADD, LOCAL_INV
constexpr std::array<uint32_t, 10> kWrites = {0, 0, 0, 0, 5, 2, 0, 0, 0, 0};

ProgramConfig writes(uint64_t seed, uint32_t mtu) {
  return {.seed = seed,
          .requests = 60,
          .pmtu = mtu,
          .beat_bytes = test_width() / 8,
          .max_bytes = 20000,
          .max_inline = 96,
          .fence = 0,
          .weights = kWrites};
}

// Share of requests that send on what an earlier READ brought, behind a fence.
constexpr double kReuse = 0.1;

ProgramConfig all_verbs(uint64_t seed, uint32_t mtu, double reuse = kReuse) {
  return {.seed = seed,
          .requests = 60,
          .pmtu = mtu,
          .beat_bytes = test_width() / 8,
          .max_bytes = 20000,
          .max_sge = 6,
          .max_inline = 96,
          .reuse = reuse,
          .weights = {1, 4, 3, 0, 6, 3, 6, 2, 2, 0}};
}

// Quick timers: 33 us, and 10 us for a receiver that is not ready.
VerbsConnect quick(uint32_t mtu) { return {.mtu = mtu, .timeout = 3}; }

golden::RunnerConfig late() { return {.late_receives = 0.7}; }

// For programs of which one side asks and the other answers: who asks is side 0.
ProgramRun one_sided(GoldenBed& bed, bool rtl_asks) {
  if (rtl_asks) return {bed.world, *bed.rtl, bed.gold};
  return {bed.world, bed.gold, *bed.rtl};
}

constexpr uint32_t kUnreliable = 60;  // messages of a test of UC or UD

// Messages that begin with their number, over a cable that may lose them; receives for all are
// there. Returns how many arrived: each as it was sent, and behind the one before it.
size_t send_unreliably(GoldenBed& bed, golden::Endpoint& from, golden::Endpoint& to, bool ud) {
  constexpr uint32_t kSlot = 8192;
  const uint32_t header = ud ? 40 : 0;
  Rng random = rng(std::string("unreliable.") + (ud ? "ud" : "uc"));
  const golden::Region source =
      from.add_region(uint64_t{kSlot} * kUnreliable, golden::kAccessAll, false);
  const golden::Region target =
      to.add_region(uint64_t{kSlot} * kUnreliable, golden::kAccessAll, false);
  std::vector<std::vector<uint8_t>> sent;
  for (uint32_t i = 0; i < kUnreliable; ++i) {
    sent.push_back(random.bytes(random.between(4, ud ? 4096 : 5000)));
    roce::store_le32(sent[i].data(), i);
    from.write_memory(source, uint64_t{i} * kSlot, sent[i]);
    REQUIRE(to.post_recv(
        0, {.wr_id = i, .sges = {{target.key, kSlot, target.va + uint64_t{i} * kSlot}}}));
  }
  bed.world.run_until(bed.world.now_ps() + 10'000'000);
  size_t arrived = 0, done = 0;
  uint32_t next = 0;  // the number that may come
  const auto look = [&] {
    while (const auto c = from.poll(0)) {
      CHECK(c->status == golden::Status::kSuccess);
      ++done;
    }
    while (const auto c = to.poll(0)) {
      CHECK(c->status == golden::Status::kSuccess);
      REQUIRE(c->wr_id == arrived);  // a message that broke off leaves its receive to the next
      std::vector<uint8_t> got(c->bytes);
      to.read_memory(target, arrived++ * kSlot, got);
      REQUIRE(got.size() >= header + 4);
      got.erase(got.begin(), got.begin() + header);
      const uint32_t number = roce::load_le32(got.data());
      REQUIRE(number < kUnreliable);
      CHECK(number >= next);
      CHECK(got == sent[number]);
      next = number + 1;
    }
  };
  const sim::TimePs end = bed.world.now_ps() + 1'000'000'000;
  for (uint32_t i = 0; done < kUnreliable && bed.world.now_ps() < end;) {
    while (i < kUnreliable && i - done < 20 &&
           from.post_send(0, {.wr_id = i,
                              .verb = golden::Verb::kSend,
                              .sges = {{source.key, static_cast<uint32_t>(sent[i].size()),
                                        source.va + uint64_t{i} * kSlot}},
                              .ud = ud ? to.ud_target(0) : golden::UdTarget{}}))
      ++i;
    bed.world.run_until(bed.world.now_ps() + 2'000'000);
    look();
  }
  CHECK(done == kUnreliable);
  bed.world.run_until(bed.world.now_ps() + 50'000'000);
  look();
  return arrived;
}

}  // namespace

TEST_CASE("WRITE programs between the RTL and the golden endpoint, both ways, clean wire") {
  for (const uint32_t mtu : {256u, 1024u, 4096u}) {
    INFO("path MTU " << mtu);
    GoldenBed bed;
    bed.connect({.mtu = mtu});
    bed.connect({.mtu = mtu, .psn_a = 5, .psn_b = 0xFFFFFF});
    const Program p = make_program(writes(context_seed() * 10 + mtu, mtu)),
                  q = make_program(writes(context_seed() * 10 + mtu + 1, mtu));
    REQUIRE(bed.run({&p, &q}));
    for (uint32_t n = 0; n < 2; ++n) {
      CHECK(bed.gold.responder(n).stats().gaps == 0);
      CHECK(bed.gold.responder(n).stats().duplicates == 0);
      CHECK(bed.gold.requester(n).stats().retransmitted == 0);
      CHECK(bed.gold.requester(n).stats().ghosts == 0);
    }
  }
}

TEST_CASE("WRITE programs between two RTL NICs, both ways, clean wire") {
  Bed bed;
  sim::HostEndpoint a(*bed.a.host), b(*bed.b.host);
  for (int i = 0; i < 2; ++i) {
    auto [qa, qb] = bed.connect({.mtu = 1024});
    a.attach(*qa);
    b.attach(*qb);
  }
  const Program p = make_program(writes(context_seed() * 10, 1024)),
                q = make_program(writes(context_seed() * 10 + 1, 1024));
  ProgramRun run(bed.world, a, b);
  run.add(p, 0);
  run.add(q, 1);
  REQUIRE(run.run(100'000'000'000));
}

TEST_CASE("programs of all verbs between the RTL and the golden endpoint, clean wire") {
  for (const uint32_t mtu : {256u, 1024u, 4096u}) {
    INFO("path MTU " << mtu);
    GoldenBed bed;
    std::vector<Program> programs;
    for (uint32_t n = 0; n < 2; ++n) {
      VerbsConnect c = quick(mtu);
      c.max_rd_atomic = n == 0 ? 16 : 2;
      bed.connect(c);
      programs.push_back(make_program(all_verbs(context_seed() * 100 + mtu + n, mtu)));
    }
    REQUIRE(bed.run({&programs[0], &programs[1]}));
    for (uint32_t n = 0; n < 2; ++n) {
      CHECK(bed.gold.responder(n).stats().gaps == 0);
      CHECK(bed.gold.requester(n).stats().implied_naks == 0);
      CHECK(bed.gold.requester(n).stats().timeouts == 0);
    }
  }
}

TEST_CASE("programs of all verbs, one side asks and the other answers") {
  for (const bool rtl_asks : {true, false}) {
    for (const uint32_t mtu : {256u, 1024u, 4096u}) {
      INFO("requester is the " << (rtl_asks ? "RTL" : "golden endpoint") << ", path MTU " << mtu);
      GoldenBed bed;
      bed.connect(quick(mtu));
      ProgramConfig c = all_verbs(context_seed() * 10 + mtu, mtu);
      c.both_ways = false;
      const Program p = make_program(c);
      ProgramRun run = one_sided(bed, rtl_asks);
      run.add(p, 0);
      REQUIRE(run.run(10'000'000'000));
      for (const std::string& m : bed.tap.messages()) FAIL_CHECK(m);
    }
  }
}

TEST_CASE("each verb alone, the RTL as requester and as responder") {
  for (size_t v = 0; v < 10; ++v) {
    for (const bool rtl_asks : {true, false}) {
      const auto verb = static_cast<golden::Verb>(v);
      INFO(to_string(verb) << ", requester is the " << (rtl_asks ? "RTL" : "golden endpoint"));
      GoldenBed bed;
      bed.connect(quick(1024));
      ProgramConfig c = all_verbs(context_seed() * 10 + v, 1024);
      c.both_ways = false;
      c.requests = 30;
      c.spares = verb == golden::Verb::kSendInv || verb == golden::Verb::kLocalInv ? 20 : 0;
      c.weights = {};
      c.weights[v] = 1;
      const Program p = make_program(c);
      ProgramRun run = one_sided(bed, rtl_asks);
      run.add(p, 0);
      CHECK(run.run(5'000'000'000));
      for (const std::string& m : bed.tap.messages()) FAIL_CHECK(m);
    }
  }
}

TEST_CASE("UC and UD programs between the RTL and the golden endpoint") {
  for (const bool ud : {false, true}) {
    for (const uint32_t mtu : {512u, 4096u}) {
      if (ud && mtu != 4096) continue;  // UD has the port's MTU
      INFO((ud ? "UD" : "UC") << ", path MTU " << mtu);
      GoldenBed bed;
      VerbsConnect o = quick(mtu);
      o.service = ud ? RNIC_QP_TYPE_UD : RNIC_QP_TYPE_UC;
      bed.connect(o);
      ProgramConfig c = all_verbs(context_seed() * 10 + mtu, mtu);
      c.transport = ud ? roce::Transport::kUd : roce::Transport::kUc;
      const Program p = make_program(c);
      REQUIRE(bed.run({&p}));
      CHECK(bed.gold.responder(0).stats().dropped == 0);
    }
  }
}

TEST_CASE("a UD program on QP 1, with the Q_Key of connection managers") {
  GoldenBed bed;
  VerbsConnect o = quick(4096);
  o.service = RNIC_QP_TYPE_UD;
  o.qpn = 1;
  o.qkey = kGsiQkey;
  bed.connect(o);
  ProgramConfig c = all_verbs(context_seed(), 4096);
  c.transport = roce::Transport::kUd;
  const Program p = make_program(c);
  REQUIRE(bed.run({&p}));
  CHECK(bed.gold.responder(0).stats().dropped == 0);
}

TEST_CASE(
    "UC and UD over a cable that loses and spoils: what arrives is whole, in order and once") {
  for (const bool ud : {false, true}) {
    for (const bool rtl_sends : {true, false}) {
      INFO((ud ? "UD" : "UC") << ", sent by the " << (rtl_sends ? "RTL" : "golden endpoint"));
      GoldenBed bed({.rules = {{.action = wire::FaultAction::kDrop, .probability = 0.05},
                               {.action = wire::FaultAction::kCorrupt,
                                .probability = 0.05,
                                .bits = 2,
                                .bad_fcs = false}},
                     .seed = context_seed() + (ud ? 2u : 0u) + (rtl_sends ? 1u : 0u),
                     .check_wire = false});
      VerbsConnect o = quick(ud ? 4096 : 1024);
      o.service = ud ? RNIC_QP_TYPE_UD : RNIC_QP_TYPE_UC;
      bed.connect(o);
      golden::Endpoint& rtl = *bed.rtl;
      golden::Endpoint& from = rtl_sends ? rtl : bed.gold;
      golden::Endpoint& to = rtl_sends ? static_cast<golden::Endpoint&>(bed.gold) : rtl;
      const size_t arrived = send_unreliably(bed, from, to, ud);
      CHECK(arrived > kUnreliable / 4);
      CHECK(arrived < kUnreliable);
    }
  }
}

TEST_CASE("programs in regions of scattered pages, by command and by FAST_REG, in bad weather") {
  for (const auto how : {sim::Registration::kPaged, sim::Registration::kFast}) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const uint64_t root = context_seed() * 1000 + seed;
      INFO((how == sim::Registration::kFast ? "FAST_REG" : "command") << ", seed " << root);
      GoldenBed bed({.rules = bad_weather(0.01),
                     .seed = root,
                     .misalign = seed == 0 ? 0 : root * 977 * 8 % 4096,  // words stay words
                     .check_wire = false,
                     .registration = how});
      const uint32_t mtu = seed == 2 ? 4096 : 1024;
      bed.connect(quick(mtu));
      ProgramConfig c = all_verbs(root, mtu);
      c.spares = 6;
      c.weights = {1, 4, 3, 2, 6, 3, 6, 2, 2, 2};
      const Program p = make_program(c);
      CHECK(bed.run({&p}, late()));
    }
  }
}

// The fence must not open when the answer has been accepted, but when its bytes are on the bus.
TEST_CASE("a fence waits until what a READ brought is in memory") {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    INFO("seed " << seed);
    GoldenBed bed;
    bed.connect(quick(1024));
    ProgramConfig c = all_verbs(context_seed() * 100 + seed, 1024, 0.5);
    c.weights = {0, 3, 0, 0, 3, 0, 6, 0, 2, 0};
    const Program p = make_program(c);
    CHECK(bed.run({&p}));
  }
}

TEST_CASE("a fence waits for what a READ brought, through bad weather") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    GoldenBed bed({.rules = bad_weather(0.01), .seed = seed, .check_wire = false});
    bed.connect(quick(1024));
    ProgramConfig c = all_verbs(context_seed() * 100 + seed, 1024, 0.3);
    c.both_ways = false;
    const Program p = make_program(c);
    CHECK(bed.run({&p}));
  }
}

TEST_CASE("receives that come late are waited for, RTL against golden") {
  GoldenBed bed;
  bed.connect(quick(1024));
  ProgramConfig c = all_verbs(context_seed(), 1024);
  c.requests = 40;
  c.weights = {0, 4, 3, 0, 1, 3, 1, 0, 0, 0};
  const Program p = make_program(c);
  REQUIRE(bed.run({&p}, {.receives_ahead = 2, .late_receives = 0.9}));
  CHECK(bed.gold.requester(0).stats().rnr_naks + bed.gold.responder(0).stats().rnr_naks > 0);
}

TEST_CASE("keys are taken away by SEND and locally, RTL against golden") {
  GoldenBed bed;
  bed.connect(quick(1024));
  ProgramConfig c = all_verbs(context_seed(), 1024);
  c.spares = 10;
  c.weights = {1, 2, 1, 4, 3, 1, 2, 0, 0, 4};
  const Program p = make_program(c);
  REQUIRE(bed.run({&p}));
}

TEST_CASE("programs of all verbs through bad weather, RTL against golden") {
  uint64_t again = 0, duplicates = 0, naks = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const uint64_t root = context_seed() * 1000 + seed;
    const uint32_t mtu = 256u << (seed % 5);
    INFO("seed " << root << ", path MTU " << mtu);
    GoldenBed bed({.rules = bad_weather(0.01), .seed = root, .check_wire = false});
    std::vector<Program> programs;
    for (uint32_t n = 0; n < 3; ++n) {
      VerbsConnect c = quick(mtu);
      c.max_rd_atomic = c.max_dest_rd_atomic = n == 0 ? 1 : 8;
      c.psn_a = 0xFFFFF0 + n;
      bed.connect(c, [&](golden::QpConfig& g) { g.responder.ack_count = n == 1 ? 8 : 1; });
      programs.push_back(make_program(all_verbs(root * 10 + n, mtu)));
    }
    REQUIRE(bed.run({&programs[0], &programs[1], &programs[2]}, late()));
    for (uint32_t n = 0; n < 3; ++n) {
      again += bed.gold.requester(n).stats().retransmitted;
      naks += bed.gold.responder(n).stats().sequence_naks;
      duplicates += bed.gold.responder(n).stats().duplicates;
    }
  }
  CHECK(again > 0);
  CHECK(naks > 0);
  CHECK(duplicates > 0);
}

TEST_CASE("one side asks through bad weather, RTL against golden") {
  for (const bool rtl_asks : {true, false}) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const uint64_t root = context_seed() * 1000 + seed;
      const uint32_t mtu = 256u << (seed % 5);
      INFO("requester is the " << (rtl_asks ? "RTL" : "golden endpoint") << ", seed " << root);
      GoldenBed bed({.rules = bad_weather(0.01), .seed = root, .check_wire = false});
      bed.connect(quick(mtu));
      ProgramConfig c = all_verbs(root, mtu);
      c.both_ways = false;
      c.requests = 150;
      const Program p = make_program(c);
      ProgramRun run = one_sided(bed, rtl_asks);
      run.add(p, 0, late());
      bed.judge(run, 0, rtl_asks ? 0 : 1);
      bed.tap.on_frame = [&](const wire::FrameInfo& f, const roce::ViolationList&) { run.see(f); };
      CHECK(run.run(50'000'000'000));
      bed.tap.on_frame = {};
    }
  }
}

TEST_CASE("programs of all verbs through bad weather, RTL against RTL") {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const uint64_t root = context_seed() * 1000 + 500 + seed;
    const uint32_t mtu = 256u << (seed % 5);
    INFO("seed " << root << ", path MTU " << mtu);
    wire::CableFaults faults(bad_weather(0.01), root, {});
    BedOptions o;
    o.faults_a = &faults.direction(0);
    o.faults_b = &faults.direction(1);
    o.check_wire = false;
    Bed bed(o);
    sim::HostEndpoint a(*bed.a.host), b(*bed.b.host);
    std::vector<Program> programs;
    for (uint32_t n = 0; n < 2; ++n) {
      sim::ConnectOptions c;
      c.mtu = mtu;
      c.attributes = quick(mtu).request();
      auto [qa, qb] = bed.connect(c);
      a.attach(*qa);
      b.attach(*qb);
      programs.push_back(make_program(all_verbs(root * 10 + n, mtu)));
    }
    ProgramRun run(bed.world, a, b);
    for (uint32_t n = 0; n < 2; ++n) run.add(programs[n], n, late());
    REQUIRE(run.run(100'000'000'000));
  }
}

TEST_CASE("every fault on every kind of packet, RTL against golden") {
  using wire::FaultAction;
  using wire::PacketClass;
  const std::pair<PacketClass, const char*> classes[] = {
      {PacketClass::kSend, "send"},
      {PacketClass::kWrite, "write"},
      {PacketClass::kReadRequest, "read"},
      {PacketClass::kAtomic, "atomic"},
      {PacketClass::kAck, "ack"},
      {PacketClass::kNak, "nak"},
      {PacketClass::kRnrNak, "rnr nak"},
      {PacketClass::kReadResponse, "read response"},
      {PacketClass::kAtomicResponse, "atomic response"}};
  const wire::FaultRule actions[] = {
      {.action = FaultAction::kDrop},
      {.action = FaultAction::kDuplicate, .copies = 3},
      {.action = FaultAction::kReorder},
      {.action = FaultAction::kDelay, .delay_ps = 100'000'000},  // beyond the ACK timer
      {.action = FaultAction::kCorrupt, .bits = 3, .bad_fcs = false},
      {.action = FaultAction::kTruncate, .bad_fcs = false}};
  for (const auto& [c, name] : classes) {
    for (wire::FaultRule rule : actions) {
      INFO(name << ", " << to_string(rule.action));
      const bool nak = c == PacketClass::kNak;
      rule.packet = c;
      rule.count = 10;
      // A fixed beat would hit the same one again and again; some kinds are rare in a program.
      const bool rare = nak || c == PacketClass::kRnrNak || c == PacketClass::kAtomic ||
                        c == PacketClass::kAtomicResponse;
      rule.probability = rare ? 0.5 : 0.2;
      std::vector<wire::FaultRule> rules = {rule};
      if (nak) {  // another rule makes them
        rules.push_back(
            {.action = FaultAction::kDrop, .packet = PacketClass::kRequest, .probability = 0.05});
      }
      GoldenBed bed({.rules = rules, .seed = context_seed(), .check_wire = false});
      bed.connect(quick(512));
      ProgramConfig config = all_verbs(context_seed(), 512);
      config.max_bytes = 4000;
      config.requests = 30;
      const Program p = make_program(config);
      CHECK(bed.run({&p}, {.receives_ahead = 2, .late_receives = 0.7}, 20'000'000'000));
      CHECK(bed.faults->direction(0).counts()[0].done + bed.faults->direction(1).counts()[0].done >
            0);
    }
  }
}

TEST_CASE("programs that end with an error, the RTL as requester and as responder") {
  for (uint32_t e = 1; e < golden::kEndings; ++e) {
    for (const bool rtl_asks : {true, false}) {
      const auto ending = static_cast<golden::Ending>(e);
      INFO(to_string(ending) << ", requester is the " << (rtl_asks ? "RTL" : "golden endpoint"));
      GoldenBed bed({.check_wire = ending != golden::Ending::kMisalignedAtomic});
      bed.connect(quick(512));
      ProgramConfig c = all_verbs(context_seed() * 100 + e, 512);
      c.requests = 15;
      c.both_ways = false;
      c.max_bytes = 8192;
      c.ending = ending;
      const Program p = make_program(c);
      ProgramRun run = one_sided(bed, rtl_asks);
      run.add(p, 0);
      CHECK(run.run(10'000'000'000));
    }
  }
}

namespace {

constexpr uint64_t kSoakFrames = 1'000'000;
constexpr uint32_t kSoakPairs = 16;  // so that the wire is busy while some wait for their timers

// Programs on every pair of QPs of a new world. Returns the frames that were on the wire.
uint64_t soak_golden(uint64_t seed, uint32_t mtu) {
  GoldenBed bed({.rules = bad_weather(0.01), .seed = seed, .check_wire = false});
  std::vector<Program> programs;
  std::vector<const Program*> all;
  for (uint32_t n = 0; n < kSoakPairs; ++n) {
    bed.connect(quick(mtu));
    ProgramConfig c = all_verbs(seed * 100 + n, mtu);
    c.requests = 1000;
    programs.push_back(make_program(c));
  }
  for (const Program& p : programs) all.push_back(&p);
  REQUIRE(bed.run(all, late(), 10'000'000'000'000));
  return bed.tap.frames();
}

uint64_t soak_rtl(uint64_t seed, uint32_t mtu) {
  wire::CableFaults faults(bad_weather(0.01), seed, {});
  BedOptions o;
  o.faults_a = &faults.direction(0);
  o.faults_b = &faults.direction(1);
  o.check_wire = false;
  Bed bed(o);
  sim::HostEndpoint a(*bed.a.host), b(*bed.b.host);
  std::vector<Program> programs;
  for (uint32_t n = 0; n < kSoakPairs; ++n) {
    sim::ConnectOptions c;
    c.mtu = mtu;
    c.attributes = quick(mtu).request();
    auto [qa, qb] = bed.connect(c);
    a.attach(*qa);
    b.attach(*qb);
    ProgramConfig p = all_verbs(seed * 100 + n, mtu);
    p.requests = 1000;
    programs.push_back(make_program(p));
  }
  ProgramRun run(bed.world, a, b);
  for (uint32_t n = 0; n < kSoakPairs; ++n) run.add(programs[n], n, late());
  REQUIRE(run.run(10'000'000'000'000));
  return bed.tap.frames();
}

}  // namespace

// Every fourth seed RTL against RTL.
TEST_CASE("a million packets through bad weather, RTL against golden and RTL against RTL",
          "[.soak]") {
  for (const uint64_t seed : soak_seeds(100)) {
    const uint32_t mtu = 256u << (seed % 5);
    uint64_t frames = 0;
    for (uint64_t part = 0; frames < kSoakFrames; ++part) {
      const uint64_t root = (context_seed() * 1000 + seed) * 1000 + part;
      INFO("seed " << seed << ", part " << part << ", path MTU " << mtu);
      frames += seed % 4 == 3 ? soak_rtl(root, mtu) : soak_golden(root, mtu);
    }
  }
}
