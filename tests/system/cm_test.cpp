// SPDX-License-Identifier: Apache-2.0
// rping and perftest over rdma_cm between two NICs: the connection managers speak through the QPs
// 1, on a clean cable and on one that loses or repeats their datagrams.
#include <string>

#include "sim/live/pair_session.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::sim;

namespace {

struct Outcome {
  PairResult result;
  std::vector<std::string> lines;
};

Outcome run(const std::string& command, PairOptions options = {}) {
  Outcome out;
  out.result = run_pair(tools::parse_command(command), options,
                        [&](const std::string& line) { out.lines.push_back(line); });
  return out;
}

void good(const Outcome& o) {
  for (const std::string& p : o.result.problems) FAIL_CHECK(p);
}

// Nothing was lost, so nothing is said twice.
void clean(const Outcome& o, uint64_t connections) {
  good(o);
  CHECK(o.result.resent == 0);
  for (const cm::Counters* c : {&o.result.client_cm, &o.result.server_cm}) {
    CHECK(c->repeated == 0);
    CHECK(c->duplicates == 0);
    CHECK(c->malformed == 0);
    CHECK(c->unexpected == 0);
  }
  // REQ, REP, RTU and one or two DREQs with their DREPs.
  const uint64_t said = o.result.client_cm.sent + o.result.server_cm.sent;
  CHECK(said >= 5 * connections);
  CHECK(said <= 7 * connections);
}

// What becomes of the datagrams of one side, counted from 1.
wire::FaultRule rule(wire::FaultAction action, int from, uint64_t nth, uint64_t every = 0) {
  wire::FaultRule r;
  r.action = action;
  r.from = from;
  r.qpn = cm::kQpn;
  r.nth = nth;
  if (every == 0) {
    r.count = 1;
  } else {
    r.every = every;
  }
  return r;
}

PairOptions with(std::vector<wire::FaultRule> rules) {
  PairOptions o;
  o.timeout = 2;
  o.world.faults.rules = std::move(rules);
  return o;
}

constexpr int kClient = 0, kServer = 1;
// Nothing more comes: longer than the time of an answer.
constexpr TimePs kStuck = 300'000'000;
const std::string kPing = "rping -c -a peer -C 3 -S 200";

}  // namespace

TEST_CASE("rping passes between two NICs, every size and address, with exact data") {
  struct Case {
    const char* command;
    uint64_t pings, size;
  };
  const auto c =
      GENERATE(Case{"rping -c -a peer -C 1 -S 26", 1, 26}, Case{"rping -c -a peer -C 5 -v", 5, 64},
               Case{"rping -c -a fd77::2 -C 3 -S 5000 -p 99", 3, 5000},
               Case{"rping -c -a fe80::ff:fe00:2 -C 2 -S 4097", 2, 4097},
               Case{"rping -c -a peer -C 2 -S 65535", 2, 65535},
               Case{"rping -c -a peer -C 70 -S 100", 70, 100});
  INFO(c.command);
  const Outcome o = run(c.command);
  clean(o, 1);
  CHECK(o.result.client.count == c.pings);
  CHECK(o.result.server.count == c.pings);
  // Each ping goes there and back, seen by both; four SENDs of 16 bytes, posted and received.
  CHECK(o.result.bytes_checked == c.pings * (4 * c.size + 4 * 2 * 16));
}

TEST_CASE("rping prints what it is asked for") {
  const Outcome o = run("rping -c -a peer -C 2 -S 30 -v");
  good(o);
  CHECK(o.lines == std::vector<std::string>{"ping data: rdma-ping-0: ABCDEFGHIJKLMNOP",
                                            "ping data: rdma-ping-1: BCDEFGHIJKLMNOPQ",
                                            "client DISCONNECT EVENT..."});
}

TEST_CASE("every perftest tool passes over rdma_cm between two NICs") {
  struct Case {
    const char* command;
    uint64_t connections;
    uint64_t traffic;  // bytes, by both sides
  };
  const auto c = GENERATE(Case{"ib_write_bw -R -n 5 -s 1000 -m 1024", 2, 2 * 5 * 1000},
                          Case{"ib_write_bw -R -n 7 -s 10001 -q 3 -m 2048", 4, 2 * 3 * 7 * 10001},
                          Case{"ib_write_lat -R -n 5 -s 8 -x 2", 2, 4 * 5 * 8},
                          Case{"ib_read_bw -R -n 5 -s 5000 -m 1024 -o 2", 2, 2 * 5 * 5000},
                          Case{"ib_read_lat -R -n 5 -s 4096 -x 0", 2, 2 * 5 * 4096},
                          Case{"ib_send_bw -R -n 40 -s 3000 -m 512 -r 64", 2, 2 * 40 * 3000},
                          Case{"ib_send_lat -R -n 5 -s 32 -I 64", 2, 4 * 5 * 32},
                          Case{"ib_atomic_bw -R -n 20 -A CMP_AND_SWAP -q 2", 3, 2 * 2 * 20 * 8},
                          Case{"ib_atomic_lat -R -n 5 -A FETCH_AND_ADD", 2, 2 * 5 * 8});
  INFO(c.command);
  const Outcome o = run(std::string(c.command) + " peer");
  clean(o, c.connections);
  // The exchange goes over a QP and is checked, too.
  CHECK(o.result.bytes_checked > c.traffic);
  const bool reports = c.connections > 0 && o.lines.size() > 10;
  CHECK(reports);
}

TEST_CASE("perftest over rdma_cm with UD finds the QP without a connection") {
  const char* command =
      GENERATE("ib_send_bw -R -c UD -n 5 -s 1000", "ib_send_lat -R -c UD -n 5 -s 100",
               "ib_send_lat -R -c UD -n 5 -s 2 -x 2");
  INFO(command);
  const Outcome o = run(std::string(command) + " peer");
  good(o);
  CHECK(o.result.client_cm.repeated == 0);
  CHECK(o.result.client_cm.unexpected == 0);
}

// ------------------------------------------------------------------------------------------------
// trouble
TEST_CASE("any datagram of a connection may be lost once") {
  struct Case {
    const char* what;
    int from;
    uint64_t nth;
  };
  const auto c = GENERATE(Case{"REQ", kClient, 1}, Case{"REP", kServer, 1}, Case{"RTU", kClient, 2},
                          Case{"DREQ", kClient, 3}, Case{"DREP", kServer, 2});
  INFO("lost: " << c.what);
  const Outcome o = run(kPing, with({rule(wire::FaultAction::kDrop, c.from, c.nth)}));
  good(o);
  CHECK(o.result.client.count == 3);
  // The first packet of data stands for a lost RTU; everything else is said again.
  const bool by_data = std::string(c.what) == "RTU";
  if (by_data) CHECK(o.result.established_by_data == 1);
  const uint64_t again = o.result.client_cm.repeated + o.result.server_cm.repeated;
  CHECK((again > 0) == !by_data);
}

TEST_CASE("every datagram of a connection may come twice") {
  const int from = GENERATE(kClient, kServer);
  const Outcome o = run(kPing, with({rule(wire::FaultAction::kDuplicate, from, 1, 1)}));
  good(o);
  const cm::Counters& heard = from == kClient ? o.result.server_cm : o.result.client_cm;
  CHECK(heard.duplicates + heard.unexpected > 0);
}

TEST_CASE("a cable that loses a third of all datagrams still connects, and ends") {
  const uint64_t seed = GENERATE(1, 2, 3);
  const char* command =
      GENERATE("rping -c -a peer -C 3 -S 200", "ib_write_bw -R -n 5 -s 64 -q 2 peer");
  INFO(command << ", seed " << seed);
  wire::FaultRule lossy = rule(wire::FaultAction::kDrop, kClient, 1, 1);
  lossy.from.reset();
  lossy.probability = 0.33;
  PairOptions o = with({lossy});
  o.world.seed = seed;
  const Outcome out = run(command, o);
  good(out);
}

TEST_CASE("a cable that loses datagrams and data changes no byte") {
  const char* command = GENERATE("rping -c -a peer -C 6 -S 3000", "ib_send_lat -R -n 5 -s 64 peer",
                                 "ib_read_bw -R -n 5 -s 5000 -m 1024 peer");
  INFO(command);
  wire::FaultRule lossy;
  lossy.action = wire::FaultAction::kDrop;
  lossy.nth = 4;
  lossy.every = 11;
  const Outcome o = run(command, with({lossy}));
  good(o);
  CHECK(o.result.resent > 0);
}

TEST_CASE("nobody listens: the client is refused with that reason") {
  PairOptions o;
  o.idle_limit_ps = kStuck;
  o.server = tools::parse_command("rping -s -p 7175");
  const Outcome out = run(kPing, o);
  CHECK(out.result.client.status == "CM_REJECTED");
  CHECK(out.result.client.problem.find("reason 8") != std::string::npos);
  CHECK(out.result.server_cm.unexpected == 0);
}

TEST_CASE("nobody answers: the client gives up after all repeats and says so") {
  PairOptions o = with({rule(wire::FaultAction::kDrop, kServer, 1, 1)});
  o.cm_response = 1;
  o.idle_limit_ps = kStuck;
  const Outcome out = run(kPing, o);
  CHECK(out.result.client.status == "CM_UNANSWERED");
  CHECK(out.result.client_cm.repeated == 15);
  CHECK(out.result.server_cm.duplicates >= 15);
}

// The sixth frame of the server is its first WRITE: from then on the client is deaf to it.
TEST_CASE("a peer that is gone in mid-connection: the QP fails, the connection is given up") {
  wire::FaultRule gone;
  gone.action = wire::FaultAction::kDrop;
  gone.from = kServer;
  gone.nth = 6;
  gone.every = 1;
  PairOptions o = with({gone});
  o.cm_response = 1;
  o.idle_limit_ps = kStuck;
  const Outcome out = run(kPing, o);
  CHECK(out.result.server.status == "RETRY_EXC_ERR");
  CHECK(out.result.server_cm.sent > 1);  // DREQ
  CHECK(out.result.client.count == 0);
}
