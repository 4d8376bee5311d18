// SPDX-License-Identifier: Apache-2.0
// Random programs between two golden endpoints: the oracle itself is proven before it judges
// others.
#include "harness/golden/program.hpp"

#include "tests/harness_golden/pair.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/context.hpp"

using namespace rnic;
using namespace rnic::golden;
using rnic::test::bad_weather;
using rnic::test::Pair;
using rnic::test::PairOptions;

namespace {

uint64_t root_seed() { return rnic::test::Context::get().options().seed; }

// Timers short enough for tests: 131 us, and 10 us for receivers that are not ready.
QpConfig quick(uint32_t pmtu) {
  QpConfig c;
  c.pmtu = pmtu;
  c.timeout = 5;
  c.min_rnr_timer = 1;
  c.sq_depth = c.rq_depth = 64;
  return c;
}

struct Outcome {
  uint64_t frames = 0;
  bool finished = false;
};

Outcome run_all(Pair& pair, std::vector<std::unique_ptr<Runner>>& runners,
                wire::TimePs limit = 2'000'000'000'000) {
  Outcome out;
  out.finished = pair.run(
      [&] {
        bool busy = false;
        for (auto& r : runners) {
          r->step();
          busy = busy || !r->done();
        }
        return busy;
      },
      limit);
  // What is still under way must not change anything.
  pair.run([until = pair.now + 500'000'000, &pair] { return pair.now < until; }, ~0ull >> 1);
  for (auto& r : runners) {
    r->step();
    r->compare_memory();
    for (const std::string& p : r->problems()) FAIL_CHECK(p);
    if (!out.finished) FAIL_CHECK("hangs:\n" << r->text());
  }
  for (const std::string& m : pair.tap.messages()) FAIL_CHECK(m);
  out.frames = pair.tap.frames();
  return out;
}

}  // namespace

TEST_CASE("programs are the same for the same seed and differ otherwise") {
  const Program a = make_program({.seed = 5}), b = make_program({.seed = 5}),
                c = make_program({.seed = 6});
  for (size_t s = 0; s < 2; ++s) {
    CHECK(a.side[s].expected == b.side[s].expected);
    CHECK(a.side[s].sends.size() == b.side[s].sends.size());
    CHECK_FALSE(a.side[s].expected == c.side[s].expected);
    CHECK(a.side[s].initial.size() == a.side[s].expected.size());
    CHECK(a.side[s].recvs.size() == a.side[s].recv_done.size());
    CHECK(a.side[s].send_done.size() > 30);
    CHECK(a.side[s].send_done.size() < 100);
  }
}

TEST_CASE("every verb, size class and flag occurs in programs") {
  std::array<uint32_t, 10> verbs{};
  uint32_t empty = 0, odd = 0, large = 0, fences = 0, lists = 0, quiet = 0, inlined = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Program p = make_program({.seed = seed, .max_inline = 64, .spares = 8});
    for (const SideProgram& side : p.side) {
      for (const ProgramSend& s : side.sends) {
        ++verbs[static_cast<size_t>(s.verb)];
        empty += s.verb != Verb::kNop && s.bytes() == 0;
        odd += s.bytes() % 2;
        large += s.bytes() > 20000;
        fences += s.fence;
        lists += s.pieces.size() > 1;
        quiet += !s.signaled;
        inlined += !s.inline_data.empty();
      }
    }
  }
  for (const uint32_t n : verbs) CHECK(n > 20);
  for (const uint32_t n : {empty, odd, large, fences, lists, quiet, inlined}) CHECK(n > 20);
}

TEST_CASE("programs run between golden endpoints on a clean wire") {
  for (const uint32_t pmtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    INFO("path MTU " << pmtu);
    Pair pair;
    pair.connect(quick(pmtu));
    const Program p = make_program(
        {.seed = root_seed() + pmtu, .requests = 150, .pmtu = pmtu, .max_inline = 64, .spares = 8});
    std::vector<std::unique_ptr<Runner>> runners;
    runners.push_back(std::make_unique<Runner>(p, pair.a, 0, pair.b, 0));
    runners.back()->prepare();
    run_all(pair, runners);
    for (Nic* n : {&pair.a, &pair.b}) {
      CHECK(n->requester(0).stats().retransmitted == 0);
      CHECK(n->requester(0).stats().ghosts == 0);
      CHECK(n->responder(0).stats().gaps == 0);
    }
  }
}

TEST_CASE(
    "programs run between golden endpoints through loss, repeats, reordering and corruption") {
  uint64_t again = 0, naks = 0, duplicates = 0, rnr = 0, implied = 0, timeouts = 0, lost = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const uint64_t root = root_seed() * 1000 + seed;
    INFO("seed " << root);
    const uint32_t pmtu = 256u << (seed % 5);
    Pair pair({.rules = bad_weather(0.01), .seed = root});
    std::vector<Program> programs;
    for (uint64_t q = 0; q < 3; ++q) {
      QpConfig c = quick(pmtu);
      c.requester.window = q == 0 ? 16 : 128;
      c.requester.ack_unsignaled = q != 1;
      c.max_rd_atomic = c.max_dest_rd_atomic = q == 2 ? 1 : 8;
      c.responder.ack_count = q == 2 ? 8 : 1;
      c.responder.ack_delay_ps = q == 2 ? 2'000'000 : 0;
      pair.connect(c);
      programs.push_back(make_program({.seed = root * 10 + q,
                                       .requests = 200,
                                       .pmtu = pmtu,
                                       .large = 0.03,
                                       .max_inline = 64,
                                       .spares = 6}));
    }
    std::vector<std::unique_ptr<Runner>> runners;
    for (uint32_t q = 0; q < 3; ++q) {
      runners.push_back(std::make_unique<Runner>(programs[q], pair.a, q, pair.b, q,
                                                 RunnerConfig{.late_receives = 0.9}));
      runners.back()->prepare();
    }
    const Outcome out = run_all(pair, runners);
    CHECK(out.frames > 2000);
    for (Nic* n : {&pair.a, &pair.b}) {
      for (uint32_t q = 0; q < 3; ++q) {
        again += n->requester(q).stats().retransmitted;
        naks += n->requester(q).stats().sequence_naks;
        rnr += n->requester(q).stats().rnr_naks;
        implied += n->requester(q).stats().implied_naks;
        timeouts += n->requester(q).stats().timeouts;
        duplicates += n->responder(q).stats().duplicates;
      }
    }
    lost += pair.faults.done(wire::FaultAction::kDrop);
  }
  // The wire was as bad as asked for, and every way of recovery was taken.
  CHECK(lost > 200);
  CHECK(again > 500);
  CHECK(naks > 100);
  CHECK(duplicates > 100);
  CHECK(rnr > 20);
  CHECK(implied > 20);
  CHECK(timeouts > 20);
}

TEST_CASE("every fault on every kind of packet is recovered from") {
  using wire::FaultAction;
  using wire::PacketClass;
  const PacketClass classes[] = {
      PacketClass::kSend,   PacketClass::kWrite,        PacketClass::kReadRequest,
      PacketClass::kAtomic, PacketClass::kAck,          PacketClass::kNak,
      PacketClass::kRnrNak, PacketClass::kReadResponse, PacketClass::kAtomicResponse};
  const wire::FaultRule actions[] = {
      {.action = FaultAction::kDrop},
      {.action = FaultAction::kDuplicate, .copies = 3},
      {.action = FaultAction::kReorder},
      {.action = FaultAction::kDelay, .delay_ps = 5'000'000},
      {.action = FaultAction::kDelay, .delay_ps = 200'000'000},  // beyond the ACK timer
      {.action = FaultAction::kCorrupt},
      {.action = FaultAction::kCorrupt, .bits = 3, .bad_fcs = false},
      {.action = FaultAction::kTruncate, .bad_fcs = false}};
  for (const PacketClass c : classes) {
    for (wire::FaultRule rule : actions) {
      INFO("packet class " << static_cast<int>(c) << ", " << to_string(rule.action));
      // NAKs are rare: another rule makes them.
      const bool nak = c == PacketClass::kNak;
      rule.packet = c;
      rule.count = 40;
      rule.probability = nak || c == PacketClass::kRnrNak
                             ? 0.5
                             : 0.2;  // a fixed beat would hit the same one again and again
      std::vector<wire::FaultRule> rules = {rule};
      if (nak) {
        rules.push_back(
            {.action = FaultAction::kDrop, .packet = PacketClass::kRequest, .probability = 0.05});
      }
      Pair pair({.rules = rules, .seed = root_seed()});
      pair.connect(quick(512));
      const Program p = make_program({.seed = root_seed(), .requests = 80, .pmtu = 512});
      std::vector<std::unique_ptr<Runner>> runners;
      runners.push_back(std::make_unique<Runner>(
          p, pair.a, 0, pair.b, 0, RunnerConfig{.receives_ahead = 2, .late_receives = 0.97}));
      runners.back()->prepare();
      run_all(pair, runners);
      CHECK(pair.faults.direction(0).counts()[0].done + pair.faults.direction(1).counts()[0].done >
            0);
    }
  }
}

TEST_CASE("UC and UD programs run between golden endpoints") {
  for (const roce::Transport t : {roce::Transport::kUc, roce::Transport::kUd}) {
    for (const uint32_t pmtu : {256u, 4096u}) {
      INFO((t == roce::Transport::kUc ? "UC" : "UD") << ", path MTU " << pmtu);
      Pair pair;
      QpConfig c = quick(pmtu);
      c.transport = t;
      c.qkey = 0x11112222;
      pair.connect(c);
      const Program p =
          make_program({.seed = root_seed() + pmtu, .requests = 150, .transport = t, .pmtu = pmtu});
      std::vector<std::unique_ptr<Runner>> runners;
      runners.push_back(std::make_unique<Runner>(p, pair.a, 0, pair.b, 0));
      runners.back()->prepare();
      run_all(pair, runners);
      CHECK(pair.a.responder(0).stats().dropped == 0);
      CHECK(pair.b.responder(0).stats().dropped == 0);
    }
  }
}

TEST_CASE("programs that end with an error report it once, and flush the rest") {
  for (uint32_t e = 1; e < kEndings; ++e) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const auto ending = static_cast<Ending>(e);
      INFO(to_string(ending) << ", seed " << seed);
      Pair pair({.check_wire = ending != Ending::kMisalignedAtomic});
      pair.connect(quick(512));
      const Program p = make_program({.seed = root_seed() * 100 + seed,
                                      .requests = 20,
                                      .both_ways = false,
                                      .pmtu = 512,
                                      .max_bytes = 8192,
                                      .spares = 4,
                                      .ending = ending});
      std::vector<std::unique_ptr<Runner>> runners;
      runners.push_back(std::make_unique<Runner>(p, pair.a, 0, pair.b, 0));
      runners.back()->prepare();
      run_all(pair, runners);
      CHECK(pair.a.state(0) == State::kErr);
      CHECK(pair.b.state(0) == (ending == Ending::kLocalKey ? State::kRts : State::kErr));
    }
  }
}

TEST_CASE("a million packets through bad weather between golden endpoints", "[.soak]") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const uint64_t root = root_seed() * 100'000 + seed;
    INFO("seed " << root);
    uint64_t frames = 0;
    for (uint64_t part = 0; frames < 1'000'000; ++part) {
      Pair pair({.rules = bad_weather(0.01), .seed = root + part * 1000});
      std::vector<Program> programs;
      std::vector<std::unique_ptr<Runner>> runners;
      for (uint64_t q = 0; q < 4; ++q) {
        pair.connect(quick(256u << ((seed + q) % 5)));
        programs.push_back(make_program({.seed = root * 1000 + part * 10 + q,
                                         .requests = 2000,
                                         .pmtu = 256u << ((seed + q) % 5),
                                         .spares = 6}));
      }
      for (uint32_t q = 0; q < 4; ++q) {
        runners.push_back(std::make_unique<Runner>(programs[q], pair.a, q, pair.b, q,
                                                   RunnerConfig{.late_receives = 0.9}));
        runners.back()->prepare();
      }
      frames += run_all(pair, runners, 20'000'000'000'000).frames;
      if (!pair.tap.messages().empty()) return;
    }
  }
}
