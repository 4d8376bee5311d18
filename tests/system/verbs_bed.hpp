// SPDX-License-Identifier: Apache-2.0
// Programs of verbs on the RTL: against the golden endpoint, and against another RTL NIC.
//
//   GoldenBed bed({.rules = bad_weather(0.01)});
//   uint32_t n = bed.connect({.mtu = 1024});         // QP n of both sides
//   Program p = make_program({...});
//   bed.run({&p});                                   // program i on QP i; everything compared
#pragma once

#include <memory>
#include <vector>

#include "harness/golden/nic.hpp"
#include "harness/golden/runner.hpp"
#include "harness/golden/wire_oracle.hpp"
#include "harness/wire/faults.hpp"
#include "sim/host/verbs.hpp"
#include "tests/support/weather.hpp"
#include "tests/system/bed.hpp"

namespace rnic::test {

inline constexpr uint32_t kQkey = 0x11112222;     // of UD QPs
inline constexpr uint32_t kGsiQkey = 0x80010000;  // of QP 1

struct VerbsConnect {
  uint8_t service = RNIC_QP_TYPE_RC;
  uint32_t mtu = 1024;
  uint32_t psn_a = 0xFFFFF0, psn_b = 0x234567;
  uint8_t timeout = 5;        // 131 us
  uint8_t min_rnr_timer = 1;  // 10 us
  uint8_t retry_cnt = 7, rnr_retry = 7;
  uint8_t max_rd_atomic = 16, max_dest_rd_atomic = 16;
  std::optional<uint32_t> qpn{};  // of both sides
  uint32_t qkey = kQkey;          // UD
  driver::ConnectRequest request() const {
    driver::ConnectRequest r;
    r.service = service;
    r.qkey = qkey;
    r.mtu = sim::mtu_code(mtu);
    r.timeout = timeout;
    r.min_rnr_timer = min_rnr_timer;
    r.retry_cnt = retry_cnt;
    r.rnr_retry = rnr_retry;
    r.max_rd_atomic = max_rd_atomic;
    r.max_dest_rd_atomic = max_dest_rd_atomic;
    return r;
  }
};

// Runs programs to their end between two endpoints in a world, and compares.
class ProgramRun {
 public:
  ProgramRun(sim::World& world, golden::Endpoint& a, golden::Endpoint& b)
      : world_(world), a_(a), b_(b) {}

  void add(const golden::Program& p, uint32_t qp, const golden::RunnerConfig& config = {}) {
    programs_.push_back(&p);
    runners_.push_back(std::make_unique<golden::Runner>(p, a_, qp, b_, qp, config));
    runners_.back()->prepare();
  }
  // Every request packet of the side is compared with the program, too. `qpn`: where they go.
  void judge(size_t n, size_t side, uint32_t first_psn, uint32_t qpn) {
    oracles_.push_back({qpn, std::make_unique<golden::WireOracle>(
                                 *programs_[n], side,
                                 golden::OracleConfig{first_psn, runners_[n]->arena(1 - side),
                                                      runners_[n]->spares(1 - side)})});
  }
  // For a tap.
  void see(const wire::FrameInfo& frame) {
    roce::FrameView v;
    if (roce::parse_frame(frame.bytes, v) != roce::ParseStatus::kOk) return;
    for (auto& [qpn, oracle] : oracles_) {
      if (v.dest_qp != qpn || frame.flags.err) continue;
      const std::string bad = oracle->check(v);
      if (!bad.empty() && wire_problems_++ < 5) {
        FAIL_CHECK("on the wire at " << frame.first_ps / 1000 << " ns: " << bad);
      }
    }
  }
  // False when it did not end within `limit_ps`.
  bool run(sim::TimePs limit_ps, sim::TimePs grain_ps = 2'000'000) {
    const sim::TimePs end = world_.now_ps() + limit_ps;
    for (bool busy = true; busy;) {
      busy = false;
      for (auto& r : runners_) {
        r->step();
        busy = busy || !r->done();
      }
      if (busy && world_.now_ps() >= end) break;
      world_.run_until(world_.now_ps() + grain_ps);
      if (!busy) break;
    }
    bool good = true;
    for (auto& r : runners_) good = good && r->done();
    // Repetitions that are still under way must not change anything.
    world_.run_until(world_.now_ps() + 50'000'000);
    for (auto& r : runners_) {
      r->step();
      r->compare_memory();
      for (const std::string& p : r->problems()) FAIL_CHECK(p);
      if (!good || !r->problems().empty()) UNSCOPED_INFO(r->text());
    }
    CHECK(good);
    return good;
  }

 private:
  sim::World& world_;
  golden::Endpoint &a_, &b_;
  std::vector<const golden::Program*> programs_;
  std::vector<std::unique_ptr<golden::Runner>> runners_;
  std::vector<std::pair<uint32_t, std::unique_ptr<golden::WireOracle>>> oracles_;
  size_t wire_problems_ = 0;
};

struct GoldenOptions {
  std::vector<wire::FaultRule> rules{};
  uint64_t seed = 1;
  uint64_t wire_delay_ps = 200'000;
  uint64_t wire_bps = test_rate();
  sim::HostConfig host{};
  axi::DmaStalls stalls{};
  uint64_t misalign = 0;
  bool check_wire = true;
  sim::Registration registration = sim::Registration::kFlat;
};

// End 0 of the cable is an RTL NIC with its host, end 1 the golden endpoint. The golden endpoint
// may send on any occasion, so the RTL is requester and responder at once.
class GoldenBed {
  WaveViews views_;

 public:
  explicit GoldenBed(const GoldenOptions& options = {}) : options_(options), gold(config()) {
    sim::NodeConfig c;
    c.name = "rtl";
    c.nic.data_w = test_width();
    c.nic.wave_file = views_.next();
    c.nic.seed = context_seed();
    c.dma.layout = mem::Layout::kScattered;
    c.dma.seed = mem::substream(context_seed(), "memory.rtl");
    c.dma_pins.stalls = options.stalls;
    c.dma_pins.seed = mem::substream(context_seed(), "axi.rtl");
    node = &world.add_node(c);
    const sim::TimePs grain = options.wire_delay_ps;
    link = &world.open_end(
        *node, {.rate_bps = options.wire_bps, .delay_ps = options.wire_delay_ps},
        [this, grain](sim::TimePs now) {
          if (port_) port_->step(now, grain);
        },
        grain);
    port_ = std::make_unique<golden::Port>(gold, *link, 1);
    faults = std::make_unique<wire::CableFaults>(options.rules, options.seed, link->config());
    faults->install(*link);
    link->add_observer(&tap);
    world.power_on();
    sim::HostConfig h = options.host;
    h.id = 1;
    host = std::make_unique<sim::Host>(world, *node, h);
    host->start(2);
    rtl = std::make_unique<sim::HostEndpoint>(*host, options.misalign, options.registration);
    memory = std::make_unique<mem::MemoryChecker>(node->memory(), "host memory of the RTL");
  }

  static golden::NicConfig config() {
    golden::NicConfig c;
    c.name = "golden";
    c.mac = {2, 0, 0, 0, 0, 2};
    c.ip = roce::ipv4_address(192, 168, 0, 2);
    return c;
  }

  // One more connected pair; both sides name it by the returned number. `change` edits the golden
  // side.
  uint32_t connect(const VerbsConnect& o = {},
                   const std::function<void(golden::QpConfig&)>& change = {}) {
    sim::QpOptions q;
    q.service = o.service;
    q.log_sq = 8;
    q.log_rq = 6;
    q.number = o.qpn;
    sim::Qp& qp = host->create_qp(std::move(q));
    golden::QpConfig g;
    g.qpn = o.qpn.value_or(0x100 + qp.number());
    g.transport = o.service == RNIC_QP_TYPE_RC   ? roce::Transport::kRc
                  : o.service == RNIC_QP_TYPE_UC ? roce::Transport::kUc
                                                 : roce::Transport::kUd;
    g.qkey = o.qkey;
    g.pmtu = o.mtu;
    g.dest_qpn = qp.number();
    g.dest_mac = {2, 0, 0, 0, 0, 1};
    g.dest_ip = roce::ipv4_address(192, 168, 0, 1);
    g.sq_psn = o.psn_b;
    g.rq_psn = o.psn_a;
    g.timeout = o.timeout;
    g.min_rnr_timer = o.min_rnr_timer;
    g.retry_cnt = o.retry_cnt;
    g.rnr_retry = o.rnr_retry;
    g.max_rd_atomic = o.max_dest_rd_atomic;
    g.max_dest_rd_atomic = o.max_rd_atomic;
    g.sq_depth = g.rq_depth = 64;
    if (change) change(g);
    const uint32_t n = gold.create_qp(g);
    driver::ConnectRequest r = o.request();
    r.dest_qpn = g.qpn;
    r.sq_psn = o.psn_a;
    r.rq_psn = o.psn_b;
    host->nic().connect(*qp.qp, r);
    if (o.service == RNIC_QP_TYPE_UD) {
      rtl->attach_ud(qp, o.qkey);
    } else {
      rtl->attach(qp);
    }
    return n;
  }

  // Program i on QP i.
  bool run(const std::vector<const golden::Program*>& programs,
           const golden::RunnerConfig& config = {}, sim::TimePs limit_ps = 100'000'000'000) {
    ProgramRun run(world, *rtl, gold);
    for (uint32_t i = 0; i < programs.size(); ++i) run.add(*programs[i], i, config);
    watch();
    for (uint32_t i = 0; i < programs.size(); ++i) judge(run, i, 0);
    tap.on_frame = [&](const wire::FrameInfo& f, const roce::ViolationList&) { run.see(f); };
    const bool good = run.run(limit_ps);
    tap.on_frame = {};
    if (auto d = memory->compare()) FAIL_CHECK(d->to_string());
    if (options_.check_wire) {
      for (const std::string& m : tap.messages()) FAIL_CHECK(m);
    }
    return good;
  }

  // What the RTL sends on QP n must be its side of the program.
  void judge(ProgramRun& run, uint32_t n, size_t rtl_side) {
    const golden::QpConfig& g = gold.qp_config(n);
    if (g.transport == roce::Transport::kRc) run.judge(n, rtl_side, g.rq_psn, g.qpn);
  }

  uint64_t counter(uint32_t index) { return host->nic().counter(index); }

 private:
  GoldenOptions options_;
  std::unique_ptr<golden::Port> port_;

  // Only the programs' regions and the rings may change; the regions are compared by the runner.
  void watch() {
    memory->snapshot();
    host->ignore_rings(*memory);
    for (const sim::Region* r : rtl->regions()) memory->ignore(r->buffer, 0, r->size);
  }

 public:
  sim::World world;
  golden::Nic gold;
  wire::Tap tap{{}};
  std::unique_ptr<wire::CableFaults> faults;
  wire::Link* link = nullptr;
  sim::Node* node = nullptr;
  std::unique_ptr<sim::Host> host;
  std::unique_ptr<sim::HostEndpoint> rtl;
  std::unique_ptr<mem::MemoryChecker> memory;
};

}  // namespace rnic::test
