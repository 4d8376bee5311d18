// SPDX-License-Identifier: Apache-2.0
// Every tool between two NICs: exchange, traffic, data, report.
#include <sstream>
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

Outcome run(const std::string& command, const std::vector<wire::FaultRule>& faults = {}) {
  PairOptions o;
  // Short, so that a lost packet costs little simulated time.
  if (!faults.empty()) o.timeout = 2;
  o.world.faults.rules = faults;
  Outcome out;
  out.result = run_pair(tools::parse_command(command + " peer"), o,
                        [&](const std::string& line) { out.lines.push_back(line); });
  return out;
}

// The line of the report that begins with this size and, when it is given, this count.
bool has_figures(const Outcome& o, uint32_t size, uint64_t count = 0) {
  for (const std::string& l : o.lines) {
    std::istringstream words(l);
    uint64_t first = 0, second = 0;
    if (words >> first >> second && first == size && (count == 0 || second == count)) return true;
  }
  return false;
}

void good(const Outcome& o) {
  for (const std::string& p : o.result.problems) FAIL_CHECK(p);
  CHECK(o.result.resent == 0);
}

}  // namespace

TEST_CASE("every perftest tool passes between two NICs, with exact data") {
  struct Case {
    const char* command;
    uint32_t size;
    uint64_t checked;  // bytes, by both sides
  };
  const auto c =
      GENERATE(Case{"ib_write_bw -n 5 -s 1000 -m 1024", 1000, 2 * 5 * 1000},
               Case{"ib_write_bw -n 7 -s 10001 -q 3 -m 2048 -t 2 -Q 2", 10001, 2 * 3 * 7 * 10001},
               Case{"ib_write_bw -n 5 -s 60 -I 64 -x 0", 60, 2 * 5 * 60},
               Case{"ib_write_bw -n 5 -s 3000 -c UC -m 256", 3000, 2 * 5 * 3000},
               Case{"ib_write_lat -n 5 -s 8 -x 2", 8, 4 * 5 * 8},
               Case{"ib_write_lat -n 300 -s 1", 1, 4 * 300},
               Case{"ib_read_bw -n 5 -s 5000 -m 1024 -o 2", 5000, 2 * 5 * 5000},
               Case{"ib_read_bw -n 20 -s 1 -q 2", 1, 2 * 2 * 20},
               Case{"ib_read_lat -n 5 -s 4096", 4096, 2 * 5 * 4096},
               Case{"ib_send_bw -n 40 -s 3000 -m 512 -r 64 -x 0", 3000, 2 * 40 * 3000},
               Case{"ib_send_bw -n 5 -s 1 -q 2", 1, 2 * 2 * 5},
               Case{"ib_send_bw -n 5 -s 1000 -c UD", 1000, 2 * 5 * 1000},
               Case{"ib_send_bw -n 5 -s 2000 -c UC -m 1024", 2000, 2 * 5 * 2000},
               Case{"ib_send_lat -n 5 -s 32 -I 64", 32, 4 * 5 * 32},
               Case{"ib_send_lat -n 5 -s 100 -c UD", 100, 4 * 5 * 100},
               Case{"ib_atomic_bw -n 20 -A FETCH_AND_ADD", 8, 2 * 20 * 8},
               Case{"ib_atomic_bw -n 20 -A CMP_AND_SWAP -o 1 -q 2", 8, 2 * 2 * 20 * 8},
               Case{"ib_atomic_lat -n 5 -A FETCH_AND_ADD -x 2", 8, 2 * 5 * 8});
  INFO(c.command);
  const Outcome o = run(c.command);
  good(o);
  CHECK(o.result.bytes_checked == c.checked);
  const tools::Options options = tools::parse_command(c.command);
  CHECK(has_figures(o, c.size, options.count * options.qps));
}

TEST_CASE("pingpong of each service passes between two NICs") {
  const char* command =
      GENERATE("ibv_rc_pingpong -n 6 -s 5000 -m 1024", "ibv_uc_pingpong -n 6 -s 700",
               "ibv_ud_pingpong -n 6 -s 1000 -g 0");
  INFO(command);
  const tools::Options options = tools::parse_command(command);
  const Outcome o = run(command);
  good(o);
  CHECK(o.result.bytes_checked == 4 * 6 * options.size);
  REQUIRE(o.lines.size() == 4);
  CHECK(o.lines[3].find("6 iters in") == 0);
}

TEST_CASE("a duration instead of a count") {
  const Outcome timed = run("ib_write_bw -D 0.00002 -s 4096");
  good(timed);
  CHECK(timed.result.bytes_checked > 2 * 4096 * 20);
  const Outcome sends = run("ib_send_bw -D 0.00002 -s 4096");
  good(sends);
  CHECK(sends.result.bytes_checked > 2 * 4096 * 20);
}

TEST_CASE("-u is the time-out of the QPs") {
  std::vector<wire::FaultRule> rules(1);
  rules[0].action = wire::FaultAction::kDrop;
  rules[0].from = 0;
  rules[0].count = 1;
  rules[0].nth = 5;  // the last WRITE: nothing behind it tells of the loss
  const Outcome soon = run("ib_write_bw -n 5 -s 100 -u 1", rules);
  const Outcome late = run("ib_write_bw -n 5 -s 100 -u 5", rules);
  for (const Outcome* o : {&soon, &late}) {
    for (const std::string& p : o->result.problems) FAIL_CHECK(p);
    CHECK(o->result.resent == 1);
  }
  CHECK(late.result.simulated_us - soon.result.simulated_us > 4.096 * (32 - 4));
}

TEST_CASE("a cable that loses, repeats and damages packets changes no byte") {
  const char* command =
      GENERATE("ib_write_bw -n 10 -s 5000 -m 1024", "ib_read_bw -n 10 -s 5000 -m 1024",
               "ib_send_bw -n 10 -s 5000 -m 1024", "ib_atomic_bw -n 20");
  INFO(command);
  std::vector<wire::FaultRule> rules(3);
  rules[0].action = wire::FaultAction::kDrop;
  rules[0].nth = 3;
  rules[0].every = 17;
  rules[1].action = wire::FaultAction::kDuplicate;
  rules[1].nth = 5;
  rules[1].every = 13;
  rules[2].action = wire::FaultAction::kCorrupt;
  rules[2].nth = 8;
  rules[2].every = 19;
  rules[2].bad_fcs = false;
  const Outcome o = run(command, rules);
  for (const std::string& p : o.result.problems) FAIL_CHECK(p);
  CHECK(o.result.resent > 0);
}

TEST_CASE("a message that finds no receive waits and comes again", "[.soak]") {
  const Outcome o = run("ib_send_bw -n 5 -s 2000 -r 1 -m 1024");
  for (const std::string& p : o.result.problems) FAIL_CHECK(p);
  CHECK(o.result.resent > 0);
}
