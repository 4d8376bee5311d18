// SPDX-License-Identifier: Apache-2.0
// Scenarios under all kinds of weather: stalls, reordered completions, real PCIe, many QPs, VLAN,
// IPv6, GPUs, raw frames, threads. Each scenario compares every byte, checks every frame and
// counter by itself.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/pcap/pcap.hpp"
#include "harness/pcap/tshark.hpp"
#include "harness/scenario/scenario.hpp"
#include "sim/run/session.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

struct Outcome {
  bool good = false;
  std::vector<std::string> problems;
  sim::Figures figures;
  std::string report;
};

Outcome run(const std::string& yaml, const sim::RunOptions& options = {}) {
  const std::string width = "nic.data_w=" + std::to_string(test_width());
  const sim::Settings s = sim::parse_settings(
      yaml, "test",
      {width, "wire.rate=" + std::to_string(test_rate() / 1'000'000'000) + " Gb/s",
       "seed=" + std::to_string(context_seed())});
  Outcome out;
  sim::RunOptions o = options;
  o.wave_file = test_wave_file();
  sim::Session session(s, o, [&](const std::string& line) { out.report += line + "\n"; });
  out.good = session.run();
  out.problems = session.problems();
  out.figures = session.figures();
  return out;
}

void expect_good(const Outcome& o) {
  for (const std::string& p : o.problems) FAIL_CHECK(p);
  CHECK(o.good);
}

std::string temp_file(const std::string& name) {
  return (std::filesystem::temp_directory_path() /
          ("rnic_" + std::to_string(::getpid()) + "_" + name))
      .string();
}

std::vector<char> content(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

const char* const kTraffic = R"(
steps:
  - name: t
    do: traffic
    flows:
      - {from: a, qps: 3, sizes: [1, 64, 700, 4 KiB, 9000], count: 90, depth: 8, random_offsets: true, source_misalign: 13}
      - {from: b, qps: 2, sizes: [8, 300, 5000], count: 60, depth: 8, imm: true, random_offsets: true, target_misalign: 3}
)";

}  // namespace

TEST_CASE("traffic survives random stalls of every AXI channel and of the BARs", "[short]") {
  expect_good(
      run(std::string(
              "nic: {mtu: 1024}\nstalls: {aw: 0.3, w: 0.3, b: 0.5, ar: 0.3, r: 0.4, bar: 0.3}\n") +
          kTraffic));
}

TEST_CASE(
    "traffic survives completions in random order, split at random, with jitter, on a real PCIe "
    "link") {
  expect_good(
      run(std::string(
              "nic: {mtu: 4096, pacing: 128}\n"
              "pcie: {preset: gen5x16, completion_bytes: 64, rcb: 64, random_split: true, "
              "interleave_completions: "
              "true, read_jitter: 900 ns, write_jitter: 100 ns}\nmemory: {layout: scattered}\n") +
          kTraffic));
}

TEST_CASE("traffic survives small TLPs and a slow IOMMU") {
  expect_good(run(
      std::string(
          "nic: {mtu: 2048}\npcie: {preset: gen5x16, mps: 128, mrrs: 128, completion_bytes: 64}\n"
          "iommu: {hit: 2 ns, miss: 300 ns, cache_entries: 16}\nmemory: {layout: scattered}\n") +
      kTraffic));
}

TEST_CASE("64 QPs in each direction share the NICs and every byte arrives") {
  expect_good(run(R"(
nic: {mtu: 1024}
steps:
  - name: many
    do: traffic
    flows:
      - {from: a, qps: 64, sizes: [1, 100, 1024, 1500], count: 256, depth: 4, random_offsets: true}
  - name: back
    do: traffic
    flows:
      - {from: b, qps: 64, sizes: [8, 2000], count: 128, depth: 4, random_offsets: true}
)"));
}

TEST_CASE("every number of QPs from 1 to 64 works", "[.soak]") {
  for (uint32_t qps = 1; qps <= 64; ++qps) {
    INFO(qps << " QPs");
    expect_good(
        run("nic: {mtu: 512}\nsteps:\n  - name: t\n    do: traffic\n    flows:\n      - {from: a, "
            "qps: " +
            std::to_string(qps) + ", sizes: [1, 512, 1300], count: " + std::to_string(qps * 8) +
            ", depth: 4, random_offsets: true}\n"));
  }
}

TEST_CASE(
    "VLAN tags, priority and DSCP are on every frame, both ways, and the receiver takes them") {
  const std::string pcap = temp_file("vlan.pcap");
  sim::RunOptions o;
  o.pcap_file = pcap;
  expect_good(
      run(std::string("nic: {mtu: 1024}\nnet: {vlan: 42, pcp: 5, dscp: 26}\n") + kTraffic, o));
  pcap::PcapReader reader(pcap);
  pcap::PcapPacket p;
  uint32_t frames = 0;
  while (reader.next(p)) {
    roce::FrameView v;
    REQUIRE(roce::parse_frame(p.bytes, v) == roce::ParseStatus::kOk);
    CHECK(v.vlan_count == 1);
    CHECK(v.vlan_tci[0] == (5u << 13 | 42u));
    CHECK(v.dscp() == 26);
    ++frames;
  }
  CHECK(frames > 150);
  std::filesystem::remove(pcap);
}

TEST_CASE("IPv6 carries everything, tagged or not", "[short]") {
  expect_good(run(std::string("nic: {mtu: 1024}\nnet: {ipv6: true}\n") + kTraffic));
  expect_good(
      run(std::string("nic: {mtu: 4096}\nnet: {ipv6: true, vlan: 7, dscp: 10}\n") + kTraffic));
}

TEST_CASE("GPU memory is source and target, the GPU rings the doorbell, device memory takes part") {
  expect_good(run(R"(
nic: {mtu: 4096}
gpu: {preset: reference}
steps:
  - {name: gpu_doorbell, do: latency, size: 4 KiB, source: gpu, target: gpu, post: gpu, repeat: 3}
  - {name: gpu_imm, do: latency, size: 9000, imm: true, source: gpu, target: gpu}
  - {name: device, do: latency, size: 4 KiB, source: device, target: device}
  - {name: device_host, do: latency, size: 1000, source: device}
  - {name: bounce, do: latency, size: 4 KiB, source: bounce}
  - name: t
    do: traffic
    flows:
      - {from: a, qps: 2, sizes: [64, 4 KiB, 7000], count: 40, depth: 8, source: gpu, random_offsets: true}
      - {from: a, qps: 2, sizes: [64, 4 KiB, 7000], count: 40, depth: 8, target: gpu, imm: true, random_offsets: true}
)"));
}

TEST_CASE("BlueFlame pushes of one and more blocks are executed without a fetch", "[short]") {
  const Outcome o = run(R"(
steps:
  - {name: b8, do: latency, size: 8, inline: true, post: blueflame, repeat: 3}
  - {name: b32, do: latency, size: 32, inline: true, post: blueflame}
  - {name: b64, do: latency, size: 64, inline: true, post: blueflame, repeat: 3}
  - {name: b96, do: latency, size: 96, inline: true, post: blueflame}
  - {name: b4000, do: latency, size: 4000, inline: true, post: blueflame}
  - {name: gathered, do: latency, size: 3000, post: blueflame}
)");
  expect_good(o);
  CHECK(o.figures.find("b64.pins_to_crossing") != nullptr);
}

TEST_CASE("raw frames pass in and out beside RDMA", "[short]") {
  expect_good(
      run(std::string("nic: {mtu: 1024}\n") + kTraffic + "  - {name: arp, do: raw, count: 5}\n"));
}

namespace {
// A raw port: frames of every length, each with its number, and those that came.
class NumberedRaw final : public sim::RawPort {
 public:
  NumberedRaw(Rng rng, uint32_t count) : rng_(std::move(rng)), count_(count) {}
  static std::vector<uint8_t> frame(uint32_t number, size_t size) {
    std::vector<uint8_t> f(size);
    std::fill_n(f.begin(), 6, uint8_t{0xFF});
    f[12] = 0x08;
    f[13] = 0x06;  // ARP
    for (size_t i = 14; i < size; ++i) f[i] = static_cast<uint8_t>(number * 7 + i);
    std::memcpy(f.data() + 14, &number, 4);
    return f;
  }
  void on_raw_frame(sim::TimePs, std::span<const uint8_t> f) override {
    REQUIRE(f.size() >= 60);
    uint32_t number = 0;
    std::memcpy(&number, f.data() + 14, 4);
    REQUIRE(number == received);
    REQUIRE(std::equal(f.begin(), f.end(), frame(number, f.size()).begin()));
    sizes.push_back(f.size());
    ++received;
  }
  std::span<const uint8_t> next_raw_frame(sim::TimePs now) override {
    if (sent.size() >= count_ || now < next_ || now < begin) return {};
    next_ = now + rng_.below(300'000);
    sent.push_back(rng_.chance(0.5) ? 60 : rng_.between(60, 1514));
    frame_ = frame(static_cast<uint32_t>(sent.size()) - 1, sent.back());
    return frame_;
  }
  std::vector<size_t> sent, sizes;
  uint32_t received = 0;
  sim::TimePs begin = 0;

 private:
  Rng rng_;
  uint32_t count_;
  sim::TimePs next_ = 0;
  std::vector<uint8_t> frame_;
};
}  // namespace

TEST_CASE("raw frames of every length go both ways in the middle of RDMA traffic", "[short]") {
  Bed bed;
  Rng rng = test::rng("raw");
  auto [qa, qb] = bed.connect({.mtu = 1024});
  sim::Region& ra = bed.a.host->region(sim::Place::kHost, 128 << 10);
  sim::Region& rb = bed.b.host->region(sim::Place::kHost, 128 << 10);
  const std::vector<uint8_t> da = fill(bed, bed.a, ra, rng), db = fill(bed, bed.b, rb, rng);
  bed.watch();
  NumberedRaw a(test::rng("raw a"), 40), b(test::rng("raw b"), 40);
  a.begin = b.begin = bed.world.now_ps() + 500'000;
  bed.a.node->nic().set_raw_port(&a);
  bed.b.node->nic().set_raw_port(&b);
  const auto part = [](const std::vector<uint8_t>& d, uint64_t at, uint32_t len) {
    return std::vector<uint8_t>(d.begin() + static_cast<long>(at),
                                d.begin() + static_cast<long>(at + len));
  };
  uint32_t messages = 0;
  while (a.received < 40 || b.received < 40) {
    REQUIRE(messages < 2000);
    const uint64_t at = messages % 16 * 4096;
    for (int i = 0; i < 4; ++i, ++messages) {
      const auto len = static_cast<uint32_t>(rng.between(1, 4000));
      bed.a.host->write(*qa, ra, at, rb, (64 << 10) + at, len);
      bed.expect(bed.b, rb, (64 << 10) + at, part(da, at, len));
      bed.b.host->write(*qb, rb, at, ra, (64 << 10) + at, len);
      bed.expect(bed.a, ra, (64 << 10) + at, part(db, at, len));
    }
    for (int i = 0; i < 4; ++i) {
      REQUIRE(bed.a.host->wait_completion(*qa).ok());
      REQUIRE(bed.b.host->wait_completion(*qb).ok());
    }
  }
  bed.run_ns(1000);
  bed.check();
  CHECK(b.sizes == a.sent);
  CHECK(a.sizes == b.sent);
  for (Side* s : {&bed.a, &bed.b}) {
    CHECK(bed.counter(*s, RNIC_CNT_TX_RAW_FRAMES) == 40);
    CHECK(bed.counter(*s, RNIC_CNT_RX_RAW_FRAMES) == 40);
    CHECK(bed.counter(*s, RNIC_CNT_RX_RAW_DROPS) == 0);
    CHECK(bed.counter(*s, RNIC_CNT_TX_REQUESTS) > 20);
  }
}

TEST_CASE("two nodes on one and on two threads take the same cycles and write the same capture") {
  const std::string yaml = std::string("nic: {mtu: 1024}\nstalls: {r: 0.2, w: 0.2}\n") + kTraffic +
                           "  - {name: single, do: latency, size: 4 KiB, imm: true}\n";
  std::vector<Outcome> o;
  std::vector<std::vector<char>> captures;
  for (unsigned threads : {1u, 2u}) {
    sim::RunOptions options;
    options.threads = threads;
    options.pcap_file = temp_file("threads.pcap");
    o.push_back(run(yaml, options));
    expect_good(o.back());
    captures.push_back(content(options.pcap_file));
    std::filesystem::remove(options.pcap_file);
  }
  CHECK(captures[0].size() > 100'000);
  CHECK(captures[0] == captures[1]);
  // The counters of both nodes, as the report lists them.
  const auto counters = [](const std::string& report) {
    const size_t from = report.find("== Counters");
    REQUIRE(from != std::string::npos);
    return report.substr(from, report.find("frames checked") - from);
  };
  CHECK(counters(o[0].report).find("core_cycles") != std::string::npos);
  CHECK(counters(o[0].report) == counters(o[1].report));
  REQUIRE(o[0].figures.all().size() == o[1].figures.all().size());
  for (size_t i = 0; i < o[0].figures.all().size(); ++i) {
    INFO(o[0].figures.all()[i].name);
    CHECK(o[0].figures.all()[i].value == o[1].figures.all()[i].value);
  }
}

TEST_CASE("the same seed gives the same run, another seed another one") {
  const std::string yaml = std::string("nic: {mtu: 1024}\nstalls: {r: 0.2, w: 0.2}\n") + kTraffic;
  const double first = run(yaml).figures.find("t.cycles")->value;
  CHECK(run(yaml).figures.find("t.cycles")->value == first);
}

TEST_CASE("tshark decodes the capture, and its opcodes are those that were sent") {
  if (!pcap::Tshark::available()) {
    WARN("tshark is not installed");
    return;
  }
  const std::string path = temp_file("tshark.pcap");
  sim::RunOptions o;
  o.pcap_file = path;
  expect_good(run(std::string("nic: {mtu: 1024}\n") + kTraffic, o));
  const std::vector<pcap::TsharkFrame> decoded = pcap::Tshark::decode(path);
  pcap::PcapReader reader(path);
  pcap::PcapPacket p;
  size_t n = 0;
  while (reader.next(p)) {
    REQUIRE(n < decoded.size());
    roce::FrameView v;
    REQUIRE(roce::parse_frame(p.bytes, v) == roce::ParseStatus::kOk);
    const pcap::TsharkFrame& d = decoded[n++];
    REQUIRE(d.opcode);
    CHECK(*d.opcode == v.opcode);
    CHECK(d.psn.value_or(0) == v.psn);
    CHECK(d.dest_qp.value_or(0) == v.dest_qp);
    // It guesses at random payloads ("infiniband:ethertype:vlan"); what it guesses is not ours.
    if (d.protocols.ends_with(":infiniband") || d.protocols.ends_with(":infiniband:data"))
      CHECK_FALSE(d.malformed);
  }
  CHECK(n == decoded.size());
  CHECK(n > 150);
  std::filesystem::remove(path);
}

TEST_CASE("SENDs, READs and FETCH_ADDs both ways under random stalls, every byte and word compared",
          "[short]") {
  expect_good(run(R"(
nic: {mtu: 1024}
stalls: {aw: 0.3, w: 0.3, b: 0.5, ar: 0.3, r: 0.4, bar: 0.3}
steps:
  - name: t
    do: traffic
    flows:
      - {from: a, verb: send, qps: 2, sizes: [0, 1, 64, 700, 9000], count: 60, depth: 8, random_offsets: true}
      - {from: b, verb: send, sizes: [8, 300], count: 30, depth: 8, imm: true, inline: true, signal_every: 3, target_misalign: 5}
      - {from: b, verb: read, qps: 2, sizes: [1, 64, 4096, 5000], count: 40, depth: 20, random_offsets: true, source_misalign: 3}
      - {from: a, verb: fetch_add, qps: 2, sizes: [8], count: 80, depth: 20, doorbell_every: 4, target_misalign: 8}
)"));
}

TEST_CASE("a cable that loses frames lets a flow reach a part of what go-back-N can") {
  const Outcome o = run(R"(
nic: {mtu: 1024}
wire: {faults: [{do: drop, from: a, packet: write, nth: 200, every: 400}]}
steps:
  - name: t
    do: traffic
    flows: [{from: a, sizes: [64 KiB], count: 24, depth: 4}]
)");
  expect_good(o);
  REQUIRE(o.figures.find("t.bound") != nullptr);
  const double bound = o.figures.find("t.bound")->value;
  const double line = static_cast<double>(test_rate()) * 1e-9;
  CHECK(bound < line);
  CHECK(bound > line / 2);
  CHECK(o.figures.find("t.goodput")->value <= bound);
  CHECK(o.figures.find("t.goodput")->value > bound / 2);
}

TEST_CASE("tshark finds the opcodes and sequence numbers that the posted messages must give") {
  if (!pcap::Tshark::available()) {
    WARN("tshark is not installed");
    return;
  }
  const std::string path = temp_file("opcodes.pcap");
  std::vector<std::pair<uint32_t, uint32_t>> want;  // opcode, PSN
  uint32_t qpn = 0;
  {
    Bed bed;
    Rng rng = test::rng("opcodes");
    pcap::PcapWriter pcap(path);
    wire::Tap tap({.pcap = &pcap});
    bed.link->add_observer(&tap);
    auto [qa, qb] = bed.connect({.mtu = 256, .psn_a = 0xFFFFF0});
    qpn = qb->number();
    sim::Region& src = bed.a.host->region(sim::Place::kHost, 8192);
    sim::Region& dst = bed.b.host->region(sim::Place::kHost, 8192);
    fill(bed, bed.a, src, rng);
    qb->qp->post_receives(30);
    uint32_t psn = 0xFFFFF0;
    for (uint32_t n = 0; n < 30; ++n) {
      const uint32_t packets = 1 + n % 5;
      const auto len =
          static_cast<uint32_t>(packets == 1 ? rng.below(257) : 256 * packets - rng.below(256));
      const bool imm = n % 3 == 1;
      driver::WriteRequest w;
      w.local = {{src.key, len, src.va}};
      w.remote_va = dst.va;
      w.rkey = dst.key;
      if (imm) w.imm = n;
      qa->qp->post_write(w);
      for (uint32_t p = 0; p < packets; ++p) {
        // RC WRITE: FIRST 6, MIDDLE 7, LAST 8, with immediate 9, ONLY 10, with immediate 11.
        const bool first = p == 0, last = p + 1 == packets;
        const uint32_t opcode = first && last ? (imm ? 11 : 10)
                                : first       ? 6
                                : last        ? (imm ? 9 : 8)
                                              : 7;
        want.emplace_back(opcode, psn);
        psn = (psn + 1) & 0xFFFFFF;
      }
    }
    qa->qp->ring();
    for (int n = 0; n < 30; ++n) REQUIRE(bed.a.host->wait_completion(*qa).ok());
    bed.run_ns(2000);
    tap.close();
    pcap.close();
    for (const std::string& m : bed.tap.messages()) FAIL_CHECK(m);
  }
  std::vector<std::pair<uint32_t, uint32_t>> got;
  uint32_t acked = 0;
  for (const pcap::TsharkFrame& f : pcap::Tshark::decode(path)) {
    REQUIRE(f.opcode);
    if (*f.opcode == 17) {
      acked = f.psn.value_or(0);
    } else {
      CHECK(f.dest_qp.value_or(0) == qpn);
      got.emplace_back(*f.opcode, f.psn.value_or(0));
    }
  }
  CHECK((got == want));
  CHECK(acked == want.back().second);
  std::filesystem::remove(path);
}

TEST_CASE("a MAC that takes eight beats ahead of the wire at full speed gets them", "[short]") {
  // START_DELAY 2: the crossing is that far ahead when a frame starts, and the core gives 4 beats
  // in 5 cycles of the MAC.
  for (const uint32_t beats : {1u, 2u, 4u, 8u}) {
    INFO(beats << " beats");
    BedOptions o;
    o.tx_fifo_bytes = beats * test_width() / 8;
    Bed bed(o);
    Rng rng = test::rng("fifo");
    auto [qa, qb] = bed.connect({.mtu = 4096});
    sim::Region& src = bed.a.host->region(sim::Place::kHost, 32 << 10);
    sim::Region& dst = bed.b.host->region(sim::Place::kHost, 32 << 10);
    const std::vector<uint8_t> data = fill(bed, bed.a, src, rng);
    bed.watch();
    for (const uint32_t burst : {1u, 1u, 4u}) {
      for (uint32_t i = 0; i < burst; ++i) {
        const auto len = static_cast<uint32_t>(rng.between(3000, 8000));
        bed.a.host->write(*qa, src, 0, dst, 8192 * i, len);
        bed.expect(bed.b, dst, 8192 * i, {data.begin(), data.begin() + len});
      }
      for (uint32_t i = 0; i < burst; ++i) REQUIRE(bed.a.host->wait_completion(*qa).ok());
    }
    bed.run_ns(1000);
    CHECK(bed.counter(bed.a, RNIC_CNT_TX_UNDERRUNS) == 0);
    bed.check();
  }
}

TEST_CASE("a frame may start before its payload is complete, and figures are the same bytes") {
  expect_good(run(std::string("nic: {mtu: 4096, tx_start_threshold: 2048}\n") + kTraffic));
}

TEST_CASE("a wrong scenario is refused with file, line and what was expected") {
  const auto text = [](const std::string& yaml) {
    try {
      sim::parse_settings(yaml, "bad.yaml");
    } catch (const scenario::ScenarioError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  CHECK(text("nic: {data_width: 512}\nsteps: [{name: x, do: latency}]\n").find("bad.yaml:1") !=
        std::string::npos);
  CHECK(text("wire: {delay: 5}\nsteps: [{name: x, do: latency}]\n").find("wire.delay") !=
        std::string::npos);
  CHECK(text("steps: [{name: x, do: latency, source: gpu}]\n").find("needs a GPU") !=
        std::string::npos);
  CHECK(text("steps: [{name: x, do: traffic, flows: [{sizes: [64], qps: 65}]}]\n").find("qps") !=
        std::string::npos);
  CHECK(text("steps: [{name: x, do: traffic, flows: [{sizes: [64], verb: read, inline: true}]}]\n")
            .find("carry no inline data") != std::string::npos);
  CHECK(text("steps: [{name: x, do: traffic, flows: [{sizes: [16], verb: fetch_add}]}]\n")
            .find("works on 8 bytes") != std::string::npos);
  CHECK(text("steps: [{name: x, do: fly}]\n").find("one of") != std::string::npos);
  CHECK(text("seed: 1\n").find("steps") != std::string::npos);
  // What could only hang or fail later is refused as well.
  CHECK(text("steps:\n  - {name: x, do: traffic, flows: [{sizes: [64], depth: 4, signal_every: "
             "4, doorbell_every: 3}]}\n")
            .find("bad.yaml:2:57: key 'steps[0].flows[0].depth': must be at least 6") !=
        std::string::npos);
  CHECK(text("nic: {log_sq: 2}\nsteps: [{name: x, do: traffic, flows: [{sizes: [64], depth: 16, "
             "doorbell_every: 8}]}]\n")
            .find("a send queue of 4 blocks") != std::string::npos);
  CHECK(text("nic: {log_sq: 2}\nsteps: [{name: x, do: latency, size: 300, inline: true}]\n")
            .find("does not fit into a send queue of 4 blocks") != std::string::npos);
  CHECK(
      text(
          "iommu: {enabled: false}\nmemory: {layout: scattered}\nsteps: [{name: x, do: latency}]\n")
          .find("bad.yaml:2:18: key 'memory.layout': must be identity") != std::string::npos);
  CHECK(text("nic: {log_sq: 2}\nsteps: [{name: x, do: traffic, flows: [{sizes: [64], depth: 4, "
             "doorbell_every: 2, signal_every: 2, count: 8}]}]\n") == "accepted");
}

TEST_CASE("a run in which something goes wrong fails and says what") {
  const auto problems = [](const std::string& yaml) {
    const Outcome o = run(yaml);
    CHECK_FALSE(o.good);
    std::string all;
    for (const std::string& p : o.problems) all += p + "\n";
    return all;
  };
  const std::string refused = problems(
      "nic: {peer_to_peer: false}\ngpu: {preset: reference}\n"
      "steps: [{name: t, do: traffic, flows: [{sizes: [64], count: 4, source: gpu}]}]\n");
  INFO(refused);
  CHECK(refused.find("t: QP 2 of node a: message at block 0 ended with LOC_PROT_ERR") !=
        std::string::npos);
  CHECK(refused.find("counter gdr_refused of node a is") != std::string::npos);
  const std::string late = problems(
      "nic: {dma_timeout_us: 1}\npcie: {data_read: 5 us}\n"
      "steps: [{name: l, do: latency, size: 64}]\n");
  INFO(late);
  CHECK(late.find("counter dma_timeouts of node a is") != std::string::npos);
  const std::string poisoned = problems(
      "pcie: {faults: [{do: poison, node: a, nth: 4}]}\n"
      "steps: [{name: t, do: traffic, flows: [{sizes: [64], count: 4, depth: 1}]}]\n");
  INFO(poisoned);
  CHECK(poisoned.find("counter dma_read_errors of node a is 1") != std::string::npos);
  CHECK(poisoned.find("counter dma_read_errors of node b") == std::string::npos);
  const std::string slow = problems(
      "steps: [{name: t, do: traffic, limit: 2 us, flows: [{sizes: [1 MiB], count: 4, depth: "
      "4}]}]\n");
  INFO(slow);
  CHECK(slow.find("t: 0 of 4 messages completed within 2000 ns") != std::string::npos);
}

TEST_CASE("reads and writes that are late change no byte") {
  const Outcome o = run(
      std::string(
          "nic: {mtu: 1024}\npcie: {faults: [{do: delay, of: both, probability: 10 %, by: 2 us}, "
          "{do: delay, node: b, nth: 7, by: 20 us}]}\n") +
      kTraffic);
  expect_good(o);
  CHECK(o.report.find("node b: fault 2, ") != std::string::npos);
  CHECK(o.report.find(": 1 requests") != std::string::npos);
  // A CQE in host memory waits for data that are late in GPU memory.
  expect_good(
      run("nic: {mtu: 1024}\ngpu: {preset: reference}\n"
          "pcie: {faults: [{do: delay, node: b, of: writes, probability: 20 %, by: 3 us}]}\n"
          "steps:\n"
          "  - name: t\n"
          "    do: traffic\n"
          "    flows:\n"
          "      - {from: a, qps: 2, sizes: [64, 700, 3000], count: 60, depth: 4, imm: true, "
          "target: gpu}\n"
          "      - {from: a, qps: 2, sizes: [8, 2000], count: 60, depth: 4, imm: true}\n"));
}

TEST_CASE("a run without an IOMMU, and messages that just fit the send queue") {
  expect_good(run(R"(
nic: {log_sq: 3, mtu: 1024}
iommu: {enabled: false}
steps:
  - {name: l, do: latency, size: 3, source: device, target: device}
  - name: t
    do: traffic
    flows:
      - {from: a, sizes: [100], count: 40, depth: 6, signal_every: 4, doorbell_every: 3}
      - {from: b, sizes: [90], count: 40, depth: 4, signal_every: 2, doorbell_every: 4, inline: true}
)"));
}
