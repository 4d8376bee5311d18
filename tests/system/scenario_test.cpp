// SPDX-License-Identifier: Apache-2.0
// Scenario files that somebody got wrong: each is accepted or refused with file, line and what was
// expected, and what is accepted ends in bounded time, well or with a reason.
#include <fstream>
#include <iterator>

#include "harness/scenario/scenario.hpp"
#include "sim/run/session.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

std::string file_text(const std::string& path) {
  std::ifstream in(std::string(RNIC_SOURCE_DIR) + "/" + path, std::ios::binary);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Every key of the README once.
const char* const kEverything = R"(title: everything
seed: 7
topology: pair
nic: {data_w: 512, mtu: 1024, tx_start_threshold: 128, ack_count: 16, ack_cycles: 64, ack_req_every: 16, pacing: 64,
      dma_timeout_us: 10000, relaxed: true, peer_to_peer: true, log_sq: 10}
net: {ipv6: false, vlan: 5, pcp: 3, dscp: 26}
wire:
  rate: 200 Gb/s
  delay: 200 ns
  fault_hold_limit: 10 us
  faults:
    - {do: drop, from: a, packet: write, opcode: 10, qpn: 2, psn: 5, probability: 1 %, nth: 3, every: 5, count: 2, name: x}
    - {do: duplicate, copies: 2}
    - {do: delay, by: 1 us}
    - {do: corrupt, bits: 2, fcs: good}
    - {do: truncate, keep: 80 B}
pcie: {preset: gen5x16, mps: 512, mrrs: 512, rcb: 64, completion_bytes: 256, tags: 256, in_order_completions: false,
       interleave_completions: true, random_split: true, up_rate: 504 Gb/s, down_rate: unlimited, up_latency: 15 ns,
       down_latency: 20 ns, ring_read: 40 ns, data_read: 85 ns, write_commit: 70 ns, read_jitter: 1 ns, write_jitter: 0,
       mmio_issue: 5 ns, tlp_overhead: true, cut_through: true,
       faults: [{do: delay, node: a, of: writes, probability: 1 %, nth: 4, count: 2, by: 3 us, name: late}]}
gpu: {preset: reference, base: 0x8000000000, size: 1 GiB, extra_latency: 100 ns, read: 50 ns, ring_read: 5 ns,
      write_commit: 70 ns, read_jitter: 0, write_jitter: 0, read_rate: 400 Gb/s, write_rate: unlimited,
      bounce_copy: 400 ns, bounce_rate: 200 Gb/s}
iommu: {enabled: true, hit: 1 ns, miss: 100 ns, cache_entries: 64}
memory: {layout: scattered}
stalls: {aw: 0.1, w: 0.1, b: 0.1, ar: 0.1, r: 0.1, bar: 0.1}
steps:
  - {name: one, do: latency, size: 4 KiB, imm: true, inline: false, long_form: true, post: gpu, source: gpu, target: device,
     repeat: 2, reference: true, detail: true, tx_start_threshold: 0}
  - name: two
    do: traffic
    grain: 200 ns
    limit: 1 ms
    speed: false
    flows:
      - {from: b, verb: write, qps: 2, sizes: [1, 4000 B], count: 10, depth: 8, imm: true, inline: true, source: host, target: gpu,
         doorbell_every: 2, signal_every: 2, source_misalign: 3, target_misalign: 5, random_offsets: true}
  - {name: three, do: raw, count: 2}
)";

const char* const kNasty[] = {"-1",
                              "0",
                              "1e99",
                              "18446744073709551615",
                              "18446744073709551616",
                              "0x",
                              "~",
                              "null",
                              "nan",
                              ".inf",
                              "true",
                              "[]",
                              "{}",
                              "[[[]]]",
                              "''",
                              "\"\\x00\"",
                              "&a",
                              "*a",
                              "!!binary x",
                              "1 s",
                              "9999999999 s",
                              "1 Pb/s",
                              "1 b/s",
                              "512 GiB",
                              "99 %",
                              "1000000",
                              "-0.0",
                              "4096 ",
                              "host",
                              "gpu",
                              "4 KB",
                              "1.5",
                              "0.5 ps",
                              "2024-01-01",
                              "|",
                              "? x",
                              "- x",
                              "<<",
                              "%",
                              "\t"};

std::string mutated(std::string s, Rng& rng) {
  for (uint64_t n = rng.between(1, 3); n > 0 && !s.empty(); --n) {
    const size_t at = rng.below(s.size());
    switch (rng.below(8)) {
      case 0:
        s[at] = static_cast<char>(rng.below(256));
        break;
      case 1:
        s.erase(at, rng.between(1, 20));
        break;
      case 2:
        s.insert(at, 1, " \n:,-{}[]#&*!|>'\"%@`~?"[rng.below(22)]);
        break;
      case 3:
        s.resize(at);
        break;
      case 4: {  // a piece of it again, somewhere else
        const std::string piece = s.substr(rng.below(s.size()), rng.between(1, 200));
        s.insert(at, piece);
        break;
      }
      default: {  // another value
        const size_t colon = s.find(": ", at);
        if (colon == std::string::npos) break;
        const size_t end = s.find_first_of(",}\n", colon);
        s.replace(colon + 2, (end == std::string::npos ? s.size() : end) - colon - 2,
                  kNasty[rng.below(std::size(kNasty))]);
      }
    }
  }
  return s;
}

}  // namespace

TEST_CASE("every key of a scenario is known, and a value that none takes is refused at its line") {
  REQUIRE_NOTHROW(sim::parse_settings(kEverything, "all.yaml"));
  // Each value in turn becomes a list of lists.
  const std::string all = kEverything;
  uint32_t values = 0;
  for (size_t colon = all.find(": "); colon != std::string::npos;
       colon = all.find(": ", colon + 1)) {
    if (all[colon + 2] == '{' || all[colon + 2] == '[') continue;
    const size_t end = all.find_first_of(",}\n", colon);
    const std::string text = all.substr(0, colon + 2) + "[[1]]" + all.substr(end);
    const long line = 1 + std::count(all.begin(), all.begin() + static_cast<long>(colon), '\n');
    INFO(all.substr(colon > 20 ? colon - 20 : 0, 40));
    ++values;
    try {
      sim::parse_settings(text, "all.yaml");
      FAIL_CHECK("accepted");
    } catch (const scenario::ScenarioError& e) {
      bool here = false;
      for (const scenario::Error& x : e.errors()) here = here || x.line == line;
      CHECK(here);
      CHECK(std::string(e.what()).find("expected") != std::string::npos);
    }
  }
  CHECK(values > 100);
}

TEST_CASE("steps on many QPs: every key, and where they may stand") {
  const std::string loop = "topology: loop\nnic: {data_w: 1024, contexts: 64}\nsteps:\n";
  const auto s =
      sim::parse_settings(loop +
                              "  - {name: r, do: random_qps, qps: 1024, size: 4 KiB, count: 20, "
                              "in_flight: 8, grain: 40 ns,"
                              " limit: 1 ms}\n"
                              "  - {name: m, do: context_miss, size: 100 B, repeat: 3}\n",
                          "s.yaml");
  CHECK(s.contexts == 64);
  REQUIRE(s.steps.size() == 2);
  REQUIRE(s.steps[0].random);
  CHECK(s.steps[0].random->qps == 1024);
  CHECK(s.steps[0].random->size == 4096);
  CHECK(s.steps[0].random->count == 20);
  CHECK(s.steps[0].random->in_flight == 8);
  CHECK(s.steps[0].random->grain_ps == 40'000);
  CHECK(s.steps[0].random->limit_ps == 1'000'000'000);
  REQUIRE(s.steps[1].miss);
  CHECK(s.steps[1].miss->size == 100);
  CHECK(s.steps[1].miss->repeat == 3);
  const auto refused = [](const std::string& yaml, const std::string& why) {
    CHECK_THROWS_WITH(sim::parse_settings(yaml, "s.yaml"), contains_text(why));
  };
  refused("steps: [{name: r, do: random_qps}]\n", "random_qps needs 'topology: loop'");
  refused("steps: [{name: r, do: context_miss}]\n", "context_miss needs 'topology: loop'");
  refused(loop + "  - {name: r, do: random_qps, qps: 3}\n", "must be even");
  refused(loop + "  - {name: r, do: random_qps}\n  - {name: l, do: latency}\n",
          "do not go with other steps");
  refused("nic: {contexts: 7}\nsteps: [{name: l, do: latency}]\n", "nic.contexts");
}

TEST_CASE("the cable is as fast as the NIC is made for, and never faster than its MAC") {
  const std::string steps = "steps: [{name: x, do: latency}]\n";
  CHECK(sim::parse_settings(steps, "s.yaml").wire.rate_bps == 200'000'000'000);  // of 512 bit
  CHECK(sim::parse_settings("nic: {data_w: 1024}\n" + steps, "s.yaml").wire.rate_bps ==
        400'000'000'000);
  CHECK_NOTHROW(sim::parse_settings("wire: {rate: 320 Gb/s}\n" + steps, "s.yaml"));
  CHECK_THROWS_WITH(
      sim::parse_settings("wire: {rate: 400 Gb/s}\n" + steps, "s.yaml"),
      "s.yaml:1:14: key 'wire.rate': the MAC of a NIC of 512 bit gives at most 320 Gb/s");
}

TEST_CASE("mutated scenarios are accepted or refused with file and line, whatever they say") {
  Rng rng = test::rng("scenario fuzz");
  const std::string first_light = file_text("sim/scenarios/first_light.yaml");
  uint32_t accepted = 0, refused = 0;
  for (int n = 0; n < 6000; ++n) {
    const std::string text = mutated(rng.chance(0.5) ? first_light : kEverything, rng);
    try {
      sim::parse_settings(text, "fuzz.yaml");
      ++accepted;
    } catch (const scenario::ScenarioError& e) {
      ++refused;
      REQUIRE_FALSE(e.errors().empty());
      for (const scenario::Error& x : e.errors()) {
        INFO("mutation " << n << ": " << x.str() << "\n" << text);
        REQUIRE(x.file == "fuzz.yaml");
        REQUIRE(x.line >= 1);
        REQUIRE(x.line <= 1 + std::count(text.begin(), text.end(), '\n'));
        REQUIRE_FALSE(x.text.empty());
      }
    }
  }
  CHECK(accepted > 50);
  CHECK(refused > 500);
}

TEST_CASE("values at the ends of their ranges run, or stop with a reason") {
  struct Extreme {
    const char* set;
    const char* end;  // "good", or a piece of the reason
  };
  const Extreme extremes[] = {
      {"wire.delay=1600 ps", "good"},
      {"wire.delay=1 s", "completed within"},
      {"wire.rate=1 Gb/s", "completed within"},
      {"wire.rate=100 Tb/s", "8 Tb/s"},
      {"wire.faults=[{do: drop}]", "completed within"},
      {"pcie.up_latency=1 s", "waited 100000 ns"},
      {"pcie.data_read=1 s", "completed within"},
      {"pcie.tags=1", "good"},
      {"pcie.mrrs=128", "good"},
      {"pcie.mps=128", "completion_bytes"},
      {"nic.pacing=1", "good"},
      {"nic.ack_count=1", "good"},
      {"nic.ack_cycles=0", "good"},
      {"nic.ack_req_every=0", "good"},
      {"nic.dma_timeout_us=0", "good"},
      {"nic.log_sq=2", "good"},
      {"nic.log_sq=15", "good"},
      {"nic.mtu=256", "good"},
      {"nic.tx_start_threshold=4096", "good"},
      {"stalls.aw=1", "completed within"},
      {"stalls.b=1", "good"},
      {"memory.layout=identity", "good"},
      {"gpu={base: 2048 TiB, size: 1 TiB}", "good"},
      {"steps.0.limit=1 ps", "completed within"},
      {"steps.0.grain=1 ms", "completed within"},
      {"steps.0.flows.0.sizes=[0]", "good"},
      {"steps.0.flows.0.sizes=[1 GiB]", "at most 4 GiB"},
      {"steps.0.flows.0.depth=16384", "good"},
      {"steps.0.flows.0.source_misalign=4095", "good"},
  };
  for (const Extreme& x : extremes) {
    std::string end;
    try {
      const sim::Settings s = sim::parse_settings(
          "nic: {mtu: 1024}\n"
          "steps:\n"
          "  - name: t\n"
          "    do: traffic\n"
          "    limit: 20 us\n"
          "    flows: [{from: a, qps: 2, sizes: [1, 64, 3000], count: 12, depth: 4, "
          "random_offsets: true}]\n",
          "extreme.yaml",
          {"nic.data_w=" + std::to_string(test_width()),
           "wire.rate=" + std::to_string(test_rate() / 1'000'000'000) + " Gb/s", x.set});
      sim::Session session(s, {}, [](const std::string&) {});
      const bool good = session.run();
      end = good ? "good" : session.problems().front();
    } catch (const std::exception& e) {
      end = e.what();  // refused, or no driver can start in such a world
    }
    INFO(x.set << ": " << end);
    CHECK(end.find(x.end) != std::string::npos);
  }
}
