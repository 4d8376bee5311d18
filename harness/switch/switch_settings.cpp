// SPDX-License-Identifier: Apache-2.0
#include "harness/switch/switch_settings.hpp"

#include <bit>
#include <stdexcept>
#include <vector>

namespace rnic::switching {
namespace {
using namespace scenario;

constexpr uint64_t kMostBytes = uint64_t{1} << 40;
constexpr uint64_t kMostTimePs = 1'000'000'000'000;

// Presence means on; kmin and kmax are sizes, so that "100 KiB" works.
void read_ecn(Reader& r, EcnConfig& out) {
  r.child("ecn", [&](Reader& e) {
    out.on = true;
    e.req("kmin", out.kmin, bytes(0, kMostBytes));
    e.req("kmax", out.kmax, bytes(0, kMostBytes));
    e.req("pmax", out.pmax, probability());
    if (out.kmin > out.kmax) e.error("kmin", "must not be above kmax");
  });
}

void read_pause(Reader& r, PauseConfig& p) {
  r.child("pause", [&](Reader& q) {
    q.req("mode", p.mode,
          one_of<FlowControl>({{"none", FlowControl::kNone},
                               {"pfc", FlowControl::kPfc},
                               {"pause", FlowControl::kPause}}));
    std::vector<unsigned> classes;
    q.list("classes", classes, unsigned_integer(0, kClasses - 1), 0, kClasses);
    for (unsigned c : classes) p.classes |= static_cast<uint8_t>(1 << c);
    q.opt("xoff", p.xoff, bytes(1, kMostBytes));
    q.opt("xon", p.xon, bytes(0, kMostBytes));
    q.opt("headroom", p.headroom, bytes(0, kMostBytes));
    q.opt("reaction", p.reaction_ps, duration(0, kMostTimePs));
    q.opt("quanta", p.quanta, unsigned_integer(1, 0xFFFF));
    if (p.xon >= p.xoff) q.error("xon", "must be below xoff");
    if (p.mode == FlowControl::kPfc && classes.empty())
      q.error("classes", "PFC needs at least one class");
    if (p.mode != FlowControl::kPfc && !classes.empty())
      q.error("classes", "belongs to 'mode: pfc'");
  });
}

void read_classes(Reader& r, SwitchConfig& c) {
  EcnConfig all;
  read_ecn(r, all);
  uint64_t queue = c.classes[0].queue_bytes;
  r.opt("queue", queue, bytes(64, kMostBytes));
  for (ClassConfig& k : c.classes) {
    k.ecn = all;
    k.queue_bytes = queue;
  }
  uint32_t seen = 0;
  r.each(
      "classes",
      [&](Reader& q, size_t) {
        unsigned n = 0;
        if (!q.req("class", n, unsigned_integer(0, kClasses - 1))) return;
        if ((seen >> n & 1) != 0) q.error("class", "class " + std::to_string(n) + " is here twice");
        seen |= 1u << n;
        ClassConfig& k = c.classes[n];
        q.opt("weight", k.weight, unsigned_integer(0, 1000));
        q.opt("queue", k.queue_bytes, bytes(64, kMostBytes));
        read_ecn(q, k.ecn);
      },
      0, kClasses);
}

void read_map(Reader& r, SwitchConfig& c) {
  r.opt("classify", c.classify,
        one_of<Classify>({{"dscp", Classify::kDscp}, {"pcp", Classify::kPcp}}));
  r.opt("default_class", c.default_class, unsigned_integer(0, kClasses - 1));
  r.each("dscp", [&](Reader& q, size_t) {
    unsigned dscp = 0;
    if (!q.req("dscp", dscp, unsigned_integer(0, 63))) return;
    q.req("class", c.class_of_dscp[dscp], unsigned_integer(0, kClasses - 1));
  });
}

void read_telemetry(Reader& r, SwitchConfig& c) {
  r.child("int", [&](Reader& q) {
    q.req("mode", c.telemetry,
          one_of<IntMode>(
              {{"off", IntMode::kOff}, {"stamp", IntMode::kStamp}, {"insert", IntMode::kInsert}}));
    q.opt("id", c.id, unsigned_integer(0, 4095));
    uint64_t multiple = 1;
    q.opt("multiple", multiple, power_of_two(1, 32));
    c.int_unit = static_cast<uint8_t>(std::countr_zero(multiple));
  });
}

}  // namespace

void read_switch(Reader& r, SwitchConfig& c) {
  r.opt("latency", c.latency_ps, duration(0, kMostTimePs));
  r.opt("max_frame", c.max_frame, bytes(64, 9680));
  read_map(r, c);
  read_classes(r, c);
  r.opt("buffer", c.buffer_bytes, bytes(0, kMostBytes));
  r.opt("port_buffer", c.port_buffer_bytes, bytes(0, kMostBytes));
  read_pause(r, c.pause);
  r.opt("learn", c.learn);
  r.opt("table", c.table_entries, unsigned_integer(1, 1u << 20));
  r.opt("unknown", c.unknown,
        one_of<Unknown>({{"flood", Unknown::kFlood}, {"drop", Unknown::kDrop}}));
  read_telemetry(r, c);
}

}  // namespace rnic::switching
