// SPDX-License-Identifier: Apache-2.0
#include "sim/run/settings.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "harness/roce/int_trailer.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/switch/switch_settings.hpp"
#include "regs/gen/rnic_regs.h"

namespace rnic::sim {

uint32_t Flow::biggest() const { return *std::max_element(sizes.begin(), sizes.end()); }

uint64_t Flow::slot_bytes() const {
  return (uint64_t{std::max(biggest(), 1u)} + (random_offsets ? 256 : 0) + 7) / 8 * 8;
}

uint32_t Flow::slots() const {
  return std::min(count, biggest() >= 65536 ? depth + 3 : 2 * depth + 64);
}

namespace {
using namespace scenario;

constexpr uint64_t kPsPerSecond = 1'000'000'000'000;
constexpr uint64_t kMacPs = NicInfo{}.mac_ps;
constexpr uint64_t kUsualBpsPerBit = 390'625'000;  // 50, 100, 200, 400 Gb/s for 128 to 1024 bit
constexpr uint64_t kLongestLatencyPs = kPsPerSecond;
constexpr uint64_t kLongestLimitPs = 1'000'000'000'000'000;
constexpr uint32_t kMostMessages = 100'000'000;         // of a flow
constexpr uint64_t kMostFlowBytes = uint64_t{4} << 30;  // a flow's buffer, on each side
constexpr uint64_t kGpuSpace = 0x80'0000'0000;          // below lie the BARs and the host's memory

const auto kMemory = [] {
  return one_of<Memory>(
      {{"host", Memory::kHost}, {"gpu", Memory::kGpu}, {"device", Memory::kDevice}});
};
const auto kSource = [] {
  return one_of<Memory>({{"host", Memory::kHost},
                         {"gpu", Memory::kGpu},
                         {"device", Memory::kDevice},
                         {"bounce", Memory::kBounce}});
};

// "504 Gb/s" into kb/s; "unlimited" is 0.
Value<uint64_t> link_rate() {
  Value<uint64_t> rate = bit_rate(1000);
  Value<uint64_t> v;
  v.expected = "a bit rate such as '504 Gb/s', or 'unlimited'";
  v.parse = [rate](const std::string& s, std::string& why) -> std::optional<uint64_t> {
    if (s == "unlimited") return 0;
    const auto bps = rate.parse(s, why);
    if (!bps) return std::nullopt;
    return *bps / 1000;
  };
  return v;
}

uint32_t inline_blocks(uint32_t bytes) {
  return (32 + bytes + RNIC_WQE_BLOCK - 1) / RNIC_WQE_BLOCK;
}

// Latencies of the world; what is longer would overflow sums of picoseconds, and simulate nothing.
Value<uint64_t> latency(uint64_t min = 0) { return duration(min, kLongestLatencyPs); }

// A probability as a count of 256ths.
void stall(Reader& r, const std::string& key, uint16_t& out) {
  double p = out / 256.0;
  if (r.opt(key, p, probability())) out = static_cast<uint16_t>(p * 256);
}

void read_pcie(Reader& r, pcie::Config& c) {
  std::string preset = "reference";
  r.opt(
      "preset", preset,
      one_of<std::string>({{"reference", "reference"}, {"zero", "zero"}, {"gen5x16", "gen5x16"}}));
  c = pcie::Config::preset(preset);
  r.opt("mps", c.mps, power_of_two(128, 4096));
  r.opt("mrrs", c.mrrs, power_of_two(128, 4096));
  r.opt("rcb", c.rcb, power_of_two(64, 128));
  r.opt("completion_bytes", c.completion_bytes, power_of_two(64, 4096));
  r.opt("tags", c.tags, unsigned_integer(1, 256));
  r.opt("in_order_completions", c.in_order_completions);
  r.opt("interleave_completions", c.interleave_completions);
  r.opt("random_split", c.random_split);
  r.opt("up_rate", c.link.up_kbps, link_rate());
  r.opt("down_rate", c.link.down_kbps, link_rate());
  r.opt("up_latency", c.link.up_latency_ps, latency());
  r.opt("down_latency", c.link.down_latency_ps, latency());
  r.opt("tlp_overhead", c.link.tlp_overhead);
  r.opt("cut_through", c.link.cut_through);
  r.opt("ring_read", c.host.ring_read_ps, latency());
  r.opt("data_read", c.host.data_read_ps, latency());
  r.opt("write_commit", c.host.write_commit_ps, latency());
  r.opt("read_jitter", c.host.read_jitter_ps, latency());
  r.opt("write_jitter", c.host.write_jitter_ps, latency());
  r.opt("mmio_issue", c.host.mmio_issue_ps, latency());
  try {
    c.validate();
  } catch (const std::invalid_argument& e) {
    r.error("", e.what());
  }
}

void read_pcie_faults(Reader& r, std::vector<PcieFault>& out) {
  r.each("faults", [&](Reader& f, size_t index) {
    PcieFault fault;
    pcie::FaultRule& rule = fault.rule;
    f.req("do", rule.kind,
          one_of<pcie::FaultKind>({{"unsupported", pcie::FaultKind::kUnsupported},
                                   {"abort", pcie::FaultKind::kCompleterAbort},
                                   {"poison", pcie::FaultKind::kPoison},
                                   {"lose", pcie::FaultKind::kNeverComes},
                                   {"delay", pcie::FaultKind::kDelay}}));
    fault.name = "fault " + std::to_string(index + 1) + ", " + pcie::to_string(rule.kind);
    f.opt("name", fault.name, text());
    f.opt("node", fault.node, one_of<int>({{"a", 0}, {"b", 1}, {"both", 2}}));
    int what = 0;
    f.opt("of", what, one_of<int>({{"reads", 0}, {"writes", 1}, {"both", 2}}));
    rule.reads = what != 1;
    rule.writes = what != 0;
    f.opt("probability", rule.probability, probability());
    uint64_t nth = 1;
    // "The third" is one request, unless more is asked for.
    if (f.opt("nth", nth, unsigned_integer(1))) rule.count = 1;
    rule.skip = nth - 1;
    f.opt("count", rule.count, unsigned_integer(1));
    if (f.has("by") && rule.kind != pcie::FaultKind::kDelay)
      f.error("by", "belongs to 'do: delay'");
    rule.delay_ps = 1'000'000;
    f.opt("by", rule.delay_ps, latency(1));
    out.push_back(std::move(fault));
  });
}

void read_storm(Reader& r, driver::PauseSettings& p) {
  r.child("storm", [&](Reader& q) {
    constexpr uint64_t kMost = 0xFFFFF * uint64_t{1'000'000};
    uint64_t limit_ps = 0, restore_ps = p.storm_restore_us * uint64_t{1'000'000};
    q.req("limit", limit_ps, duration(1'000'000, kMost));
    q.opt("restore", restore_ps, duration(0, kMost));
    q.opt("action", p.storm_action,
          one_of<driver::StormAction>({{"obey", driver::StormAction::kObey},
                                       {"ignore", driver::StormAction::kIgnore},
                                       {"drop", driver::StormAction::kDrop}}));
    p.storm_limit_us = static_cast<uint32_t>((limit_ps + 999'999) / 1'000'000);
    p.storm_restore_us = static_cast<uint32_t>((restore_ps + 999'999) / 1'000'000);
  });
}

void read_pause(Reader& r, Settings& s) {
  r.child("pause", [&](Reader& q) {
    enum class Mode { kNone, kPfc, kLink } mode = Mode::kNone;
    q.req("mode", mode,
          one_of<Mode>({{"none", Mode::kNone}, {"pfc", Mode::kPfc}, {"pause", Mode::kLink}}));
    driver::PauseSettings p;
    std::vector<unsigned> classes;
    q.list("classes", classes, unsigned_integer(0, 7), 0, 8);
    for (unsigned c : classes) p.rx_classes |= static_cast<uint8_t>(1 << c);
    p.rx_link = p.tx_link = mode == Mode::kLink;
    p.tx_classes = p.tx_link ? 0xFF : p.rx_classes;
    s.pause_marks = q.has("xoff") || q.has("xon");
    driver::PauseMarks marks;
    if (s.pause_marks) {
      q.req("xoff", marks.xoff, bytes(1, 0xFFFFFF));
      q.req("xon", marks.xon, bytes(0, 0xFFFFFF));
      if (marks.xon >= marks.xoff) q.error("xon", "must be below xoff");
    }
    p.set_marks(marks);
    q.opt("reaction", s.pause_reaction_ps, duration(0, 1'000'000'000));
    q.opt("quanta", p.quanta, unsigned_integer(2, 0xFFFF));
    read_storm(q, p);
    if ((mode == Mode::kPfc) != (p.rx_classes != 0))
      q.error("classes", "belongs to 'mode: pfc', which needs at least one");
    if (mode != Mode::kNone) s.host.pause = p;
  });
}

void read_net(Reader& r, HostConfig& c) {
  r.opt("ipv6", c.ipv6);
  r.opt("vlan", c.vlan_id, unsigned_integer(1, 4094));
  c.vlan = r.has("vlan");
  r.opt("pcp", c.pcp, unsigned_integer(0, 7));
  r.opt("dscp", c.dscp, unsigned_integer(0, 63));
}

void read_gpu(Reader& r, pcie::GpuConfig& c) {
  std::string preset = "reference";
  r.opt(
      "preset", preset,
      one_of<std::string>({{"reference", "reference"}, {"zero", "zero"}, {"gen5x16", "gen5x16"}}));
  c = pcie::gpu_preset(preset);
  uint64_t base = kGpuSpace, size = 1ull << 30;
  r.opt("base", base, bytes(kGpuSpace, 1ull << 51));
  r.opt("size", size, bytes(mem::kPageBytes, 1ull << 40));
  c.base = base;
  c.limit = base + size;
  r.opt("extra_latency", c.extra_latency_ps, latency());
  r.opt("read", c.read_ps, latency());
  r.opt("ring_read", c.ring_read_ps, latency());
  r.opt("write_commit", c.write_commit_ps, latency());
  r.opt("read_jitter", c.read_jitter_ps, latency());
  r.opt("write_jitter", c.write_jitter_ps, latency());
  r.opt("read_rate", c.read_kbps, link_rate());
  r.opt("write_rate", c.write_kbps, link_rate());
  r.opt("bounce_copy", c.bounce_copy_ps, latency());
  r.opt("bounce_rate", c.bounce_kbps, link_rate());
  if ((base | size) & mem::kPageMask) r.error("base", "base and size must be multiples of 4 KiB");
}

// What a verb of a flow cannot do.
void check_verb(Reader& r, const Flow& f) {
  const bool answer = f.verb == FlowVerb::kRead || f.verb == FlowVerb::kFetchAdd;
  if (answer && f.imm) r.error("imm", "READ and FETCH_ADD carry no immediate");
  if (answer && f.inlined) r.error("inline", "READ and FETCH_ADD carry no inline data");
  if (f.verb != FlowVerb::kFetchAdd) return;
  if (f.sizes != std::vector<uint32_t>{8}) r.error("sizes", "FETCH_ADD works on 8 bytes");
  if (f.source_misalign % 8 != 0 || f.random_offsets)
    r.error("source_misalign", "FETCH_ADD works on aligned words");
}

// Keys that replace a value of the preset.
void read_dcqcn(Reader& r, cc::DcqcnParams& d) {
  r.opt("g", d.g, probability());
  r.opt("alpha", d.alpha_init, probability());
  r.opt("f", d.f, unsigned_integer(1, 255));
  r.opt("ai", d.ai_bps, bit_rate(1000));
  r.opt("hai", d.hai_bps, bit_rate(1000));
  r.opt("byte_counter", d.byte_reset, bytes(0, 0xFFFFFFFF));
  const auto whole_us = [&](const char* key, uint64_t& ns) {
    uint64_t ps = ns * 1000;
    if (!r.opt(key, ps, duration(1'000'000, 1'000'000'000'000))) return;
    if (ps % 1'000'000 != 0) r.error(key, "must be a whole number of microseconds");
    ns = ps / 1000;
  };
  whole_us("alpha_time", d.alpha_ns);
  whole_us("cut_time", d.dec_ns);
  whole_us("increase_time", d.inc_ns);
  r.opt("clamp", d.clamp);
  r.opt("clamp_after_time", d.clamp_after_time);
}

void read_hpcc(Reader& r, cc::HpccParams& h) {
  r.opt("eta", h.eta, probability());
  r.opt("ai", h.ai_bps, bit_rate(1000));
  r.opt("max_stage", h.max_stage, unsigned_integer(0, 255));
  r.opt("alpha", h.alpha, probability());
  uint64_t kmax = 0;
  if (r.opt("kmax", kmax, bytes(1, 1u << 30))) h.kmax_bytes = static_cast<double>(kmax);
}

void read_congestion(Reader& r, Settings& s) {
  using driver::CcMode;
  enum class Mode { kNone, kDcqcn, kFormula, kWindow } mode = Mode::kNone;
  r.req("mode", mode,
        one_of<Mode>({{"none", Mode::kNone},
                      {"dcqcn", Mode::kDcqcn},
                      {"hpcc_formula", Mode::kFormula},
                      {"hpcc_window", Mode::kWindow}}));
  driver::CcPreset preset = driver::CcPreset::kPaper;
  r.opt("preset", preset,
        one_of<driver::CcPreset>(
            {{"paper", driver::CcPreset::kPaper}, {"production", driver::CcPreset::kProduction}}));
  uint64_t rtt_ps = 13'000'000;
  uint32_t flows = 64;
  r.opt("base_rtt", rtt_ps, duration(512'000, 1'000'000'000));
  r.opt("flows", flows, unsigned_integer(1, 1'000'000));
  driver::CcSettings c = driver::CcSettings::preset(mode == Mode::kWindow    ? CcMode::kHpccWindow
                                                    : mode == Mode::kFormula ? CcMode::kHpccFormula
                                                                             : CcMode::kDcqcn,
                                                    preset, static_cast<double>(s.wire.rate_bps),
                                                    rtt_ps / 1000, flows);
  r.opt("min_rate", c.dcqcn.min_bps, bit_rate(1000));
  c.hpcc.min_bps = c.dcqcn.min_bps;
  uint64_t interval_ps = c.cnp.interval_ns * 1000;
  if (r.opt("cnp_interval", interval_ps, duration(0, 65'535'000'000)) &&
      interval_ps % 1'000'000 != 0)
    r.error("cnp_interval", "must be a whole number of microseconds");
  c.cnp.interval_ns = interval_ps / 1000;
  r.child("dcqcn", [&](Reader& d) { read_dcqcn(d, c.dcqcn); });
  r.child("hpcc", [&](Reader& h) { read_hpcc(h, c.hpcc); });
  try {
    driver::cc_registers(c);
  } catch (const std::exception& e) {
    r.error("", e.what());
  }
  const bool hpcc = mode == Mode::kFormula || mode == Mode::kWindow;
  if (hpcc && s.net.telemetry != switching::IntMode::kOff &&
      1u << s.net.int_unit != c.hpcc.int_multi)
    r.error("mode",
            "HPCC at this wire.rate needs switch.int.multiple " + std::to_string(c.hpcc.int_multi));
  if (mode != Mode::kNone) s.congestion = c;
}

// A node by its letter.
Value<uint32_t> node_letter(uint32_t nodes) {
  Value<uint32_t> v;
  v.expected = "a node, a to " + node_name(nodes - 1);
  v.parse = [nodes](const std::string& s, std::string&) -> std::optional<uint32_t> {
    if (s.size() != 1 || s[0] < 'a' || s[0] >= static_cast<char>('a' + nodes)) return std::nullopt;
    return static_cast<uint32_t>(s[0] - 'a');
  };
  return v;
}

void read_ends(Reader& r, Flow& f, const Settings& s) {
  if (s.topology != Topology::kSwitch) {
    std::string from = "a";
    r.opt("from", from, one_of<std::string>({{"a", "a"}, {"b", "b"}}));
    f.from = from == "b" ? 1 : 0;
    const bool pair = s.topology == Topology::kPair;
    if (f.from == 1 && !pair) r.error("from", "a loop has only node a");
    f.to = pair ? 1 - f.from : 0;
    return;
  }
  r.req("from", f.from, node_letter(s.nodes));
  if (r.req("to", f.to, node_letter(s.nodes)) && f.from == f.to)
    r.error("to", "is the node that posts");
}

void read_flow(Reader& r, Flow& f, const Settings& s) {
  read_ends(r, f, s);
  const uint32_t log_sq = s.log_sq;
  r.opt("verb", f.verb,
        one_of<FlowVerb>({{"write", FlowVerb::kWrite},
                          {"send", FlowVerb::kSend},
                          {"read", FlowVerb::kRead},
                          {"fetch_add", FlowVerb::kFetchAdd}}));
  r.opt("qps", f.qps, unsigned_integer(1, 64));
  r.list("sizes", f.sizes, bytes(0, 1u << 30), 1, 64);
  r.opt("count", f.count, unsigned_integer(1, kMostMessages));
  r.opt("depth", f.depth, unsigned_integer(1, 16384));
  r.opt("imm", f.imm);
  r.opt("inline", f.inlined);
  r.opt("source", f.source, kMemory());
  r.opt("target", f.target, kMemory());
  r.opt("doorbell_every", f.doorbell_every, unsigned_integer(1, 1024));
  r.opt("signal_every", f.signal_every, unsigned_integer(1, 4096));
  r.opt("source_misalign", f.source_misalign, bytes(0, 4095));
  r.opt("target_misalign", f.target_misalign, bytes(0, 4095));
  r.opt("random_offsets", f.random_offsets);
  r.opt("dscp", f.dscp, unsigned_integer(0, 63));
  check_verb(r, f);
  uint32_t blocks = 1;
  if (f.inlined) {
    for (uint32_t s : f.sizes) {
      if (s > RNIC_MAX_INLINE) r.error("sizes", "inline data end at 4064 bytes");
      blocks = std::max(blocks, inline_blocks(s));
    }
  }
  // Messages are posted in groups of doorbell_every. Those behind the last signaled one still have
  // their places when a whole group must find room.
  const uint32_t group = f.doorbell_every, signal = f.signal_every;
  const uint32_t need = signal - std::gcd(signal, group) + group;
  if (f.depth < need)
    r.error("depth", "must be at least " + std::to_string(need) +
                         " with this signal_every and doorbell_every");
  if (uint64_t{need} * blocks > 1u << log_sq)
    r.error("sizes",
            "a send queue of " + std::to_string(1u << log_sq) +
                " blocks (nic.log_sq) is too small: signal_every and doorbell_every need " +
                std::to_string(uint64_t{need} * blocks));
  if (f.buffer_bytes() > kMostFlowBytes)
    r.error("sizes", "qps, depth and the largest size need a buffer of " +
                         std::to_string(f.buffer_bytes() >> 30) + " GiB, at most 4 GiB");
  if (f.source == Memory::kDevice || f.target == Memory::kDevice)
    r.error("source", "device memory is for latency steps");
}

// In order of arrival a result is looked for among those of all orders.
constexpr uint32_t kMostOrderedNodes = 6;

void check_one_shot(Reader& r, const AllReduceStep& a, const Settings& s) {
  constexpr uint64_t kMostPieces = 65535;  // of a chunk: 16 bits of the command
  if (a.algorithm == Algorithm::kOneShot && a.type != numerics::Element::kInt32 &&
      s.nodes > kMostOrderedNodes)
    r.error("algorithm", "one_shot of " + std::string(numerics::element_name(a.type)) +
                             " takes at most " + std::to_string(kMostOrderedNodes) +
                             " nodes, whose orders are all tried: int32, or one_shot_fixed");
  if ((a.bytes / s.nodes + a.piece - 1) / a.piece > kMostPieces)
    r.error("piece", "too small: more than " + std::to_string(kMostPieces) + " pieces of a chunk");
}

void read_nic_allreduce(Reader& r, AllReduceStep& a, const Settings& s) {
  r.opt("repeat", a.repeat, unsigned_integer(1, 1000));
  r.opt("grain", a.grain_ps, duration(10'000, 1'000'000'000));
  r.opt("limit", a.limit_ps, duration(1, kLongestLimitPs));
  const uint64_t row = s.data_w / 8;
  if (!s.arp) r.error("engine", "needs NICs with arp_fsm: nic.arp");
  if (s.topology != Topology::kSwitch) r.error("engine", "nic needs 'topology: switch'");
  if (!std::has_single_bit(a.piece) || a.piece < row || a.piece > s.mtu)
    r.error("piece", "of a NIC: a power of two from " + std::to_string(row) + " to the MTU, " +
                         std::to_string(s.mtu));
  if (a.bytes % (s.nodes * row) != 0)
    r.error("size",
            "of a NIC: a multiple of " + std::to_string(s.nodes * row) + ", chunks of whole rows");
  if (a.wide && numerics::element_bytes(a.type) != 2)
    r.error("wide", "is for fp16 and bf16, not " + std::string(numerics::element_name(a.type)));
  if (a.wide && a.piece > 2048)
    r.error("piece", "at most 2048 with 'wide': a slot has 4096 bytes of FP32");
  if (a.algorithm != Algorithm::kRing) check_one_shot(r, a, s);
}

void read_allreduce(Reader& r, AllReduceStep& a, const Settings& s) {
  constexpr uint64_t kMostPieces = 16384;  // of a rank: what an immediate numbers
  r.opt("size", a.bytes, bytes(64, 1u << 30));
  r.opt("piece", a.piece, bytes(2, 1u << 30));
  const auto place = one_of<Memory>({{"host", Memory::kHost}, {"gpu", Memory::kGpu}});
  r.opt("memory", a.memory, place);
  a.reduce = a.memory;
  r.opt("engine", a.nic, one_of<bool>({{"verbs", false}, {"nic", true}}));
  r.opt("type", a.type,
        one_of<numerics::Element>({{"fp16", numerics::Element::kFp16},
                                   {"bf16", numerics::Element::kBf16},
                                   {"fp32", numerics::Element::kFp32},
                                   {"int32", numerics::Element::kInt32}}));
  r.opt("algorithm", a.algorithm,
        one_of<Algorithm>({{"ring", Algorithm::kRing},
                           {"one_shot", Algorithm::kOneShot},
                           {"one_shot_fixed", Algorithm::kOneShotFixed}}));
  r.opt("wide", a.wide, boolean());
  r.list("against", a.against, text(), 0, 8);
  if (a.nic) return read_nic_allreduce(r, a, s);
  if (a.algorithm != Algorithm::kRing) r.error("algorithm", "only ring, but with 'engine: nic'");
  if (a.wide) r.error("wide", "is for 'engine: nic'");
  r.opt("reduce", a.reduce, place);
  r.opt("add_rate", a.add_bps, bit_rate(1'000'000'000, 1'000'000'000'000'000));
  r.opt("launch", a.launch_ps, latency());
  r.opt("repeat", a.repeat, unsigned_integer(1, 1000));
  r.opt("grain", a.grain_ps, duration(10'000, 1'000'000'000));
  r.opt("limit", a.limit_ps, duration(1, kLongestLimitPs));
  const uint64_t width = numerics::element_bytes(a.type);
  const std::string whole = "must be a multiple of " + std::to_string(width);
  if (a.bytes % width != 0) r.error("size", whole);
  if (a.piece % width != 0) r.error("piece", whole);
  if (a.memory == Memory::kHost && a.reduce == Memory::kGpu)
    r.error("reduce", "the GPU adds what is in its own memory");
  if (2 * (s.nodes - 1) * (a.bytes / s.nodes / a.piece + 1) > kMostPieces)
    r.error("piece", "too small: more than 16384 messages of a rank");
}

void read_step(Reader& r, Step& step, const Settings& s) {
  r.req("name", step.name, text());
  enum class Do { kLatency, kTraffic, kRaw, kRandom, kMiss, kAllReduce } what = Do::kLatency;
  r.req("do", what,
        one_of<Do>({{"latency", Do::kLatency},
                    {"traffic", Do::kTraffic},
                    {"raw", Do::kRaw},
                    {"random_qps", Do::kRandom},
                    {"context_miss", Do::kMiss},
                    {"allreduce", Do::kAllReduce}}));
  r.opt("tx_start_threshold", step.tx_start_threshold, bytes(0, 4096));
  if (s.topology != Topology::kLoop && what == Do::kRandom)
    r.error("do", "random_qps needs 'topology: loop'");
  if (s.topology != Topology::kLoop && what == Do::kMiss)
    r.error("do", "context_miss needs 'topology: loop'");
  if (s.topology == Topology::kSwitch && (what == Do::kLatency || what == Do::kRaw))
    r.error("do", "with 'topology: switch' only traffic and allreduce");
  if (s.topology == Topology::kLoop && what == Do::kAllReduce)
    r.error("do", "allreduce needs two nodes or more");
  const auto need_gpu = [&](Memory m, const std::string& key) {
    if ((m == Memory::kGpu || m == Memory::kBounce) && !s.has_gpu)
      r.error(key, "needs a GPU: give the key 'gpu'");
  };
  switch (what) {
    case Do::kLatency: {
      LatencyStep& l = step.latency.emplace();
      r.opt("size", l.size, bytes(0, 1u << 30));
      r.opt("imm", l.imm);
      r.opt("inline", l.inlined);
      r.opt("long_form", l.long_form);
      r.opt("post", l.post,
            one_of<Post>({{"doorbell", Post::kDoorbell},
                          {"blueflame", Post::kBlueFlame},
                          {"gpu", Post::kGpu}}));
      r.opt("source", l.source, kSource());
      r.opt("target", l.target, kMemory());
      r.opt("repeat", l.repeat, unsigned_integer(1, 100'000));
      r.opt("reference", l.reference);
      r.opt("detail", l.detail);
      need_gpu(l.source, "source");
      need_gpu(l.target, "target");
      if (l.post == Post::kGpu && !s.has_gpu) r.error("post", "needs a GPU: give the key 'gpu'");
      if (l.inlined && l.size > RNIC_MAX_INLINE) r.error("size", "inline data end at 4064 bytes");
      if (l.inlined && inline_blocks(l.size) > 1u << s.log_sq)
        r.error("size", "does not fit into a send queue of " + std::to_string(1u << s.log_sq) +
                            " blocks (nic.log_sq)");
      break;
    }
    case Do::kTraffic: {
      TrafficStep& t = step.traffic.emplace();
      r.opt("duration", t.duration_ps, duration(1'000'000, kLongestLimitPs));
      r.each(
          "flows",
          [&](Reader& f, size_t) {
            Flow flow;
            if (t.duration_ps != 0) flow.count = kMostMessages;
            read_flow(f, flow, s);
            if (flow.source == Memory::kGpu || flow.target == Memory::kGpu)
              need_gpu(Memory::kGpu, "flows");
            t.flows.push_back(flow);
          },
          1, s.topology == Topology::kSwitch ? 64 : 16);
      r.opt("grain", t.grain_ps, duration(10'000, 1'000'000'000));
      r.opt("limit", t.limit_ps, duration(1, kLongestLimitPs));
      r.opt("speed", t.speed);
      if (t.duration_ps >= t.limit_ps) r.error("duration", "must be shorter than limit");
      std::vector<uint32_t> qps(s.nodes);
      for (const Flow& f : t.flows) {
        qps[f.from] += f.qps;
        qps[f.to] += f.qps;
      }
      if (*std::max_element(qps.begin(), qps.end()) > 64)
        r.error("flows", s.topology == Topology::kSwitch ? "more than 64 QPs of one node"
                                                         : "more than 64 QPs in all");
      break;
    }
    case Do::kAllReduce:
      read_allreduce(r, step.allreduce.emplace(), s);
      need_gpu(step.allreduce->memory, "memory");
      break;
    case Do::kRaw: {
      RawStep& w = step.raw.emplace();
      r.opt("count", w.count, unsigned_integer(1, 1000));
      break;
    }
    case Do::kRandom: {
      RandomStep& c = step.random.emplace();
      r.opt("qps", c.qps, unsigned_integer(2, 16384));
      r.opt("size", c.size, bytes(1, 65536));
      r.opt("count", c.count, unsigned_integer(10, 10'000'000));
      r.opt("in_flight", c.in_flight, unsigned_integer(1, 512));
      r.opt("grain", c.grain_ps, duration(10'000, 1'000'000'000));
      r.opt("limit", c.limit_ps, duration(1, kLongestLimitPs));
      if (c.qps % 2 != 0) r.error("qps", "must be even: QPs are joined in pairs");
      break;
    }
    case Do::kMiss: {
      MissStep& m = step.miss.emplace();
      r.opt("size", m.size, bytes(1, 65536));
      r.opt("repeat", m.repeat, unsigned_integer(1, 1000));
      break;
    }
  }
}

}  // namespace

void read_world(scenario::Reader& r, Settings& s, const std::vector<NicKind>& kinds,
                Programs programs) {
  const bool flows = programs == Programs::kFlows;
  using namespace scenario;
  r.opt("title", s.title, text());
  r.opt("seed", s.seed);
  r.child("nic", [&](Reader& n) {
    n.opt("data_w", s.data_w, power_of_two(128, 1024));
    n.opt("contexts", s.contexts, unsigned_integer(8, 16384));
    n.opt("arp", s.arp);
    const auto is_ours = [&](const NicKind& k) {
      return k.data_w == s.data_w && k.contexts == s.contexts && k.arp == s.arp;
    };
    if (!kinds.empty() && std::none_of(kinds.begin(), kinds.end(), is_ours))
      n.error(n.has("contexts") ? "contexts"
              : n.has("arp")    ? "arp"
                                : "data_w",
              "this program has NICs of " + to_string(kinds));
    n.opt("mtu", s.mtu, power_of_two(256, 4096));
    n.opt("tx_start_threshold", s.host.tx_start_threshold, bytes(0, 4096));
    n.opt("ack_count", s.host.ack_count, unsigned_integer(1, 255));
    n.opt("ack_cycles", s.host.ack_cycles, unsigned_integer(0, 65535));
    n.opt("ack_req_every", s.host.ack_req_every, unsigned_integer(0, 255));
    n.opt("pacing", s.host.pacing, unsigned_integer(1, 255));
    n.opt("dma_timeout_us", s.host.dma_timeout_us, unsigned_integer(0, 0xFFFFF));
    n.opt("relaxed", s.host.relaxed);
    n.opt("peer_to_peer", s.host.peer_to_peer);
    if (flows) read_pause(n, s);
    if (flows) n.opt("log_sq", s.log_sq, unsigned_integer(2, 15));
    if (flows) n.opt("timeout", s.timeout, unsigned_integer(0, 31));
  });
  if (flows) r.child("net", [&](Reader& n) { read_net(n, s.host); });
  if (s.wire.rate_bps == 0) s.wire.rate_bps = s.data_w * kUsualBpsPerBit;
  r.child("wire", [&](Reader& w) {
    w.opt("rate", s.wire.rate_bps, bit_rate(1'000'000'000, 8'000'000'000'000));
    w.opt("delay", s.wire.delay_ps, latency(1600));
    wire::read_faults(w, s.faults);
    if (s.wire.rate_bps * kMacPs > s.data_w * kPsPerSecond)
      w.error("rate", "the MAC of a NIC of " + std::to_string(s.data_w) + " bit gives at most " +
                          std::to_string(s.data_w * 1000 / kMacPs) + " Gb/s");
  });
  s.pcie = pcie::Config::reference_delays();
  r.child("pcie", [&](Reader& p) {
    read_pcie(p, s.pcie);
    if (flows) read_pcie_faults(p, s.pcie_faults);
  });
  s.has_gpu = r.child("gpu", [&](Reader& g) { read_gpu(g, s.gpu); });
  r.child("iommu", [&](Reader& i) {
    i.opt("enabled", s.iommu.enabled);
    i.opt("hit", s.iommu.hit_ps, latency());
    i.opt("miss", s.iommu.miss_ps, latency());
    i.opt("cache_entries", s.iommu.cache_entries, unsigned_integer(0, 1u << 20));
  });
  r.child("memory", [&](Reader& m) {
    m.opt("layout", s.layout,
          one_of<mem::Layout>({{"identity", mem::Layout::kIdentity},
                               {"contiguous", mem::Layout::kContiguous},
                               {"scattered", mem::Layout::kScattered}}));
    if (!s.iommu.enabled && s.layout != mem::Layout::kIdentity)
      m.error("layout", "must be identity without an IOMMU (iommu.enabled)");
  });
  if (!s.iommu.enabled && !r.has("memory")) s.layout = mem::Layout::kIdentity;
  r.child("stalls", [&](Reader& t) {
    stall(t, "aw", s.stalls.aw);
    stall(t, "w", s.stalls.w);
    stall(t, "b", s.stalls.b);
    stall(t, "ar", s.stalls.ar);
    stall(t, "r", s.stalls.r);
    stall(t, "bar", s.bar_stall);
  });
}

namespace {
// The switch and its nodes.
void read_switched(Reader& r, Settings& s) {
  constexpr uint32_t kHeaders = 150;  // at most, with telemetry
  r.child(
      "switch",
      [&](Reader& n) {
        n.req("nodes", s.nodes, unsigned_integer(2, kMostNodes));
        switching::read_switch(n, s.net);
        if (s.net.telemetry != switching::IntMode::kOff && !roce::int_rate_code(s.wire.rate_bps))
          n.error("int", "needs a wire.rate of 25, 50, 100, 200 or 400 Gb/s");
        if (s.net.max_frame < s.mtu + kHeaders)
          n.error("max_frame", "too short for packets of nic.mtu " + std::to_string(s.mtu));
      },
      true);
  s.net.ports = s.nodes;
}

void read_comparison(Reader& r, Comparison& c) {
  r.each("variants", [&](Reader& v, size_t) {
    Variant& variant = c.variants.emplace_back();
    v.req("name", variant.name, text());
    v.list("set", variant.set, text());
  });
  r.list("compare", c.figures, text());
  r.list("plot", c.plot, text());
  r.list("long", c.longer, text());
}

Settings read(Document& doc, const std::vector<NicKind>& kinds) {
  Settings s;
  s.file = doc.name();
  {
    Reader r(doc);
    r.opt(
        "topology", s.topology,
        one_of<Topology>(
            {{"pair", Topology::kPair}, {"loop", Topology::kLoop}, {"switch", Topology::kSwitch}}));
    s.nodes = s.topology == Topology::kLoop ? 1 : 2;
    s.wire.rate_bps = 0;  // unless the file says: what the width is made for
    read_world(r, s, kinds, Programs::kFlows);
    if (s.topology == Topology::kSwitch) read_switched(r, s);
    r.child("congestion", [&](Reader& c) { read_congestion(c, s); });
    Comparison comparison;  // of benchmarks
    read_comparison(r, comparison);
    r.each(
        "steps",
        [&](Reader& q, size_t) {
          Step step;
          read_step(q, step, s);
          s.steps.push_back(std::move(step));
        },
        1, 100);
    for (size_t i = 0; i < s.steps.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (s.steps[i].name == s.steps[j].name && !s.steps[i].name.empty())
          r.error("steps", "two steps are called '" + s.steps[i].name + "'");
      }
    }
    // Both kinds number the QPs of the NIC as they please.
    const auto crowd = [](const Step& x) { return x.random || x.miss; };
    if (std::any_of(s.steps.begin(), s.steps.end(), crowd) &&
        !std::all_of(s.steps.begin(), s.steps.end(), crowd))
      r.error("steps", "random_qps and context_miss do not go with other steps");
  }
  doc.check();
  return s;
}
}  // namespace

Settings load_settings(const std::string& path, const std::vector<std::string>& overrides,
                       const std::vector<NicKind>& kinds) {
  Document doc = Document::load(path);
  for (const std::string& o : overrides) doc.set(o);
  return read(doc, kinds);
}

Settings parse_settings(const std::string& yaml, const std::string& name,
                        const std::vector<std::string>& overrides) {
  Document doc = Document::parse(yaml, name);
  for (const std::string& o : overrides) doc.set(o);
  return read(doc, {});
}

Comparison load_comparison(const std::string& path) {
  Document doc = Document::load(path);
  Comparison c;
  {
    Reader r(doc);
    read_comparison(r, c);
  }
  // Other keys are the scenario's, and complained about when it is loaded.
  const auto ours = [](const std::string& key) {
    return key.starts_with("variants") || key == "compare" || key == "plot" || key == "long";
  };
  std::vector<scenario::Error> errors;
  std::copy_if(doc.errors().begin(), doc.errors().end(), std::back_inserter(errors),
               [&](const scenario::Error& e) { return ours(e.key); });
  if (!errors.empty()) throw ScenarioError(std::move(errors));
  return c;
}

std::string scenario_title(const std::string& path) {
  const Document doc = Document::load(path);
  const YAML::Node title = doc.root()["title"];
  return title.IsDefined() && title.IsScalar() ? title.as<std::string>() : "";
}

}  // namespace rnic::sim
