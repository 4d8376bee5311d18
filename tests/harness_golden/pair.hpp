// SPDX-License-Identifier: Apache-2.0
// Two golden endpoints on a cable, for tests.
//
//   Pair pair({.rules = {{.action = kDrop, .probability = 0.01}}});
//   pair.connect({.pmtu = 1024});
//   pair.run([&] { return !runner.done(); }, 1'000'000'000'000);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/golden/nic.hpp"
#include "harness/golden/runner.hpp"
#include "harness/wire/faults.hpp"
#include "harness/wire/tap.hpp"
#include "tests/support/weather.hpp"

namespace rnic::test {

struct PairOptions {
  std::vector<wire::FaultRule> rules{};
  uint64_t seed = 1;
  uint64_t rate_bps = 100'000'000'000;
  wire::TimePs delay_ps = 500'000;
  bool check_wire = true;
};

class Pair {
 public:
  explicit Pair(const PairOptions& options = {})
      : a(config(1)),
        b(config(2)),
        link({.rate_bps = options.rate_bps, .delay_ps = options.delay_ps}, {}, {}),
        faults(options.rules, options.seed, link.config()),
        grain_(options.delay_ps) {
    faults.install(link);
    if (options.check_wire) link.add_observer(&tap);
  }

  static golden::NicConfig config(uint8_t id) {
    golden::NicConfig c;
    c.name = id == 1 ? "a" : "b";
    c.mac = {2, 0, 0, 0, 0, id};
    c.ip = roce::ipv4_address(10, 0, 0, id);
    c.first_va = 0x10000000ull * id;
    return c;
  }

  // One more connected pair of QPs; `b_only` changes the second one.
  uint32_t connect(golden::QpConfig c = {},
                   const std::function<void(golden::QpConfig&)>& b_only = {}) {
    const uint32_t n = pairs_++;
    golden::QpConfig x = c, y = c;
    x.qpn = 0x10 + n;
    y.qpn = 0x80 + n;
    x.dest_qpn = y.qpn;
    y.dest_qpn = x.qpn;
    x.dest_ip = b.config().ip;
    y.dest_ip = a.config().ip;
    x.dest_mac = b.config().mac;
    y.dest_mac = a.config().mac;
    x.sq_psn = y.rq_psn = (0xFFFFC0 + n * 7919) & 0xFFFFFF;
    y.sq_psn = x.rq_psn = (0x12345 + n * 104729) & 0xFFFFFF;
    if (b_only) b_only(y);
    a.create_qp(x);
    b.create_qp(y);
    return n;
  }

  void step() {
    now += grain_;
    pa_.step(now, grain_);
    pb_.step(now, grain_);
    link.tx(0).advance(now);
    link.tx(1).advance(now);
  }
  // False when the limit was reached.
  bool run(const std::function<bool()>& busy, wire::TimePs limit_ps) {
    const wire::TimePs end = now + limit_ps;
    while (busy()) {
      if (now >= end) return false;
      step();
    }
    return true;
  }

  golden::Nic a, b;
  wire::Link link;
  wire::CableFaults faults;
  wire::Tap tap{{}};
  wire::TimePs now = 0;

 private:
  golden::Port pa_{a, link, 0}, pb_{b, link, 1};
  wire::TimePs grain_;
  uint32_t pairs_ = 0;
};

}  // namespace rnic::test
