// SPDX-License-Identifier: Apache-2.0
// The keys of a switch in a scenario file.
#include "harness/switch/switch_settings.hpp"

#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::switching;
using rnic::test::contains_text;

namespace {

SwitchConfig read(const std::string& yaml) {
  SwitchConfig c;
  auto doc = scenario::Document::parse(yaml, "net.yaml");
  {
    scenario::Reader r(doc);
    r.child(
        "switch", [&](scenario::Reader& s) { read_switch(s, c); }, true);
  }
  doc.check();
  return c;
}

}  // namespace

TEST_CASE("all keys of a switch arrive") {
  const SwitchConfig c = read(R"(
switch:
  latency: 450 ns
  max_frame: 4300
  classify: pcp
  default_class: 1
  dscp: [{dscp: 46, class: 5}, {dscp: 0, class: 2}]
  queue: 256 KiB
  ecn: {kmin: 100000, kmax: 400000, pmax: 20 %}
  classes:
    - {class: 6, weight: 0, queue: 64 KiB}
    - {class: 3, weight: 7, ecn: {kmin: 1, kmax: 2, pmax: 1}}
  buffer: 4 MiB
  port_buffer: 1 MiB
  pause: {mode: pfc, classes: [3, 4], xoff: 50 KiB, xon: 40 KiB, headroom: 20 KiB, reaction: 1 us, quanta: 0x1000}
  learn: false
  table: 16
  unknown: drop
  int: {mode: insert, id: 77, multiple: 4}
)");
  CHECK(c.latency_ps == 450'000);
  CHECK(c.max_frame == 4300);
  CHECK(c.classify == Classify::kPcp);
  CHECK(c.default_class == 1);
  CHECK(c.class_of_dscp[46] == 5);
  CHECK(c.class_of_dscp[0] == 2);
  CHECK(c.class_of_dscp[47] == 5);
  CHECK(c.class_of_dscp[48] == 6);
  CHECK(c.classes[0].queue_bytes == 256 * 1024);
  CHECK(c.classes[0].weight == 1);
  CHECK(c.classes[0].ecn.on);
  CHECK(c.classes[0].ecn.kmin == 100'000);
  CHECK(c.classes[6].weight == 0);
  CHECK(c.classes[6].queue_bytes == 64 * 1024);
  CHECK(c.classes[6].ecn.kmax == 400'000);
  CHECK(c.classes[3].weight == 7);
  CHECK(c.classes[3].ecn.kmax == 2);
  CHECK(c.classes[3].queue_bytes == 256 * 1024);
  CHECK(c.buffer_bytes == 4 << 20);
  CHECK(c.port_buffer_bytes == 1 << 20);
  CHECK(c.pause.mode == FlowControl::kPfc);
  CHECK(c.pause.classes == 0x18);
  CHECK(c.pause.xoff == 50 * 1024);
  CHECK(c.pause.xon == 40 * 1024);
  REQUIRE(c.pause.headroom);
  CHECK(*c.pause.headroom == 20 * 1024);
  CHECK(c.pause.reaction_ps == 1'000'000);
  CHECK(c.pause.quanta == 0x1000);
  CHECK_FALSE(c.learn);
  CHECK(c.table_entries == 16);
  CHECK(c.unknown == Unknown::kDrop);
  CHECK(c.telemetry == IntMode::kInsert);
  CHECK(c.id == 77);
  CHECK(c.int_unit == 2);
  CHECK_NOTHROW(c.validate());
}

TEST_CASE("an empty mapping is a switch that loses when a queue is full") {
  const SwitchConfig c = read("switch: {}");
  CHECK(c.pause.mode == FlowControl::kNone);
  CHECK(c.telemetry == IntMode::kOff);
  for (const ClassConfig& k : c.classes) {
    CHECK_FALSE(k.ecn.on);
    CHECK(k.weight == 1);
  }
  CHECK_NOTHROW(c.validate());
}

TEST_CASE("the pause of the whole link needs no classes") {
  const SwitchConfig c = read("switch: {pause: {mode: pause, xoff: 32 KiB, xon: 16 KiB}}");
  CHECK(c.pause.mode == FlowControl::kPause);
  CHECK(c.pause.classes == 0);
  CHECK(c.pause.xoff == 32 * 1024);
  for (unsigned i = 0; i < kClasses; ++i) CHECK(c.lossless(i));
  CHECK_NOTHROW(c.validate());
  CHECK(read("switch: {pause: {mode: none}}").pause.mode == FlowControl::kNone);
}

TEST_CASE("keys that are wrong are refused with their place") {
  const auto refused = [](const std::string& key, const std::string& what) {
    INFO(key);
    CHECK_THROWS_WITH(read("switch:\n  " + key + "\n"), contains_text(what));
  };
  refused("latencies: 1 ns", "net.yaml:2:3: key 'switch.latencies': unknown key");
  refused("latency: 5", "net.yaml:2");
  refused("queue: 63", "net.yaml:2");
  refused("unknown: flod", "did you mean 'flood'?");
  refused("classes: [{class: 8}]", "classes[0].class");
  refused("classes: [{weight: 1}]", "classes[0].class");
  refused("classes: [{class: 1}, {class: 1}]", "twice");
  refused("classes: [{class: 1, wait: 2}]", "unknown key");
  refused("dscp: [{dscp: 64, class: 1}]", "dscp");
  refused("dscp: [{dscp: 1, class: 8}]", "class");
  refused("ecn: {kmin: 5, kmax: 4, pmax: 1}", "must not be above kmax");
  refused("ecn: {kmin: 5, kmax: 6}", "pmax");
  refused("pause: {mode: pfc}", "at least one class");
  refused("pause: {mode: pfc, classes: []}", "at least one class");
  refused("pause: {mode: none, classes: [1]}", "belongs to 'mode: pfc'");
  refused("pause: {mode: pause, classes: [1]}", "belongs to 'mode: pfc'");
  refused("pause: {mode: pfc, classes: [1], xoff: 10, xon: 10}", "below xoff");
  refused("pause: {mode: pfc, classes: [8]}", "classes");
  refused("pause: {mode: pfc, classes: [1], quanta: 0}", "quanta");
  refused("int: {mode: on}", "net.yaml:2");
  refused("int: {id: 1}", "mode");
  refused("int: {mode: stamp, id: 4096}", "id");
  refused("int: {mode: stamp, multiple: 3}", "multiple");
}
