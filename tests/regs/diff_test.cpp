// SPDX-License-Identifier: Apache-2.0
//
// One map, one change at a time: every rule of the table is met, with its verdict and place.
#include "diff.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/regs/compile.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::regs;
using rnic::test::read_text;

namespace {

const std::string kBase = R"(name: m
version: {major: 1, minor: 2, patch: 3}
description: A map.
parameters:
  N: {value: 2, min: 1, max: 4}
constants:
  C: {value: 5, desc: "Five."}
enums:
  e: {width: 2, values: {A: 0, B: 1}}
  g: {width: 2, values: {A: 0, B: 1}}
blocks:
  - name: b
    bar: 0
    size: 0x100
    stride: 0x1000
    bad_access: all_ones
    desc: The block.
    registers:
      - {name: R, offset: 0x0, desc: "R.", fields: [{name: f, bits: "3:0", access: rw, reset: 1, unit: us, desc: "F."}]}
      - {name: E, offset: 0x4, fields: [{name: f, bits: "1:0", access: rw, enum: e}]}
      - {name: V, offset: 0x8, fields: [{name: minor, bits: "7:0", access: ro, const: version_minor}]}
      - {name: A, offset: 0x10, count: 2, stride: 8, fields: [{name: f, bits: "3:0", access: rw}]}
      - {name: W, offset: 0x20, width: 64, fields: [{name: f, bits: "7:0", access: rw}]}
      - {name: K, offset: 0x28, fields: [{name: n, bits: "7:0", access: ro, counter: {incr: 2, saturate: true}}]}
      - {name: L, offset: 0x2c, locked_by: LK.k, fields: [{name: f, bits: "3:0", access: rw}]}
      - {name: BAD, offset: 0x30, fields: [{name: addr, bits: "7:0", access: ro, hw: in}, {name: write, bits: "30", access: ro, hw: in}, {name: valid, bits: "31", access: w1c, hw: set}]}
      - {name: S, offset: 0x34, fields: [{name: f, bits: "3:0", access: w1c, hw: set}]}
      - {name: LK, offset: 0x38, fields: [{name: k, bits: "0", access: rw}, {name: o, bits: "1", access: rw}]}
    windows:
      - {name: WIN, offset: 0x80, size: 0x10, access: rw}
      - {name: ROM, offset: 0x90, size: 0x10, access: ro}
    interrupts:
      - {name: I, offset: 0x40, sources: [{name: s, kind: pulse}]}
  - {name: c, size: 0x100, decoded_by: other}
counters: [{name: one}, {name: two}]
descriptors:
  - name: d
    size: 8
    fields:
      - {name: t, at: 0, width: 2, enum: e}
      - {name: x, at: 1, width: 8}
    unions:
      - by: t
        variants: [{name: v, when: [A, B], fields: [{name: y, at: 4, width: 16}]}]
)";

struct Edit {
  std::string from, to;
};

Map map_of(const std::string& text) {
  Diagnostics diags("m.yaml");
  auto map = load_map_text(text, diags);
  INFO(text);
  INFO(diags.text());
  REQUIRE(map.has_value());
  return std::move(*map);
}

std::string edited(std::string s, const std::vector<Edit>& edits) {
  for (const auto& e : edits) {
    CAPTURE(e.from);
    const auto at = s.find(e.from);
    REQUIRE(at != std::string::npos);
    s.replace(at, e.from.size(), e.to);
  }
  return s;
}

std::string ids(const std::vector<Change>& changes) {
  std::string s;
  for (const auto& c : changes) s += (s.empty() ? "" : " ") + std::string(c.rule->id);
  return s;
}

struct Case {
  std::vector<Edit> edits;
  const char* rules;      // of base to edited
  const char* backwards;  // of edited to base; nullptr: not judged
};

const std::vector<Case> kCases = {
    {{{"name: m", "name: mm"}}, "map-name", "map-name"},
    {{{"minor: 2", "minor: 3"}}, "version-up field-version", "version-down field-version"},
    {{{"major: 1", "major: 2"}}, "version-major", "version-down"},
    {{{"A map.", "Another text."}}, "text", "text"},
    {{{"Five.", "5."}}, "text", "text"},
    {{{"constants:\n", "constants:\n  D: 1\n"}}, "constant-added", "constant-removed"},
    {{{"value: 5", "value: 6"}}, "constant-value", "constant-value"},
    {{{"  N: {value: 2, min: 1, max: 4}", "  M: 1"}, {"constants:\n", "constants:\n  N: 2\n"}},
     "parameter-kind constant-added",
     nullptr},
    {{{"max: 4", "max: 5"}}, "parameter-wider", "parameter-narrower"},
    {{{"enums:\n", "enums:\n  h: {values: {Z: 0}}\n"}}, "enum-added", "enum-removed"},
    {{{"B: 1}}\n  g", "B: 1, D: 2}}\n  g"}}, "enum-value-added", "enum-value-removed"},
    {{{"B: 1}}\n  g", "B: 2}}\n  g"}},
     "enum-value variant-narrower",
     "enum-value variant-narrower"},
    {{{"g: {width: 2", "g: {width: 3"}}, "enum-width", "enum-width"},
    {{{"counters:", "  - {name: x, size: 0x10, decoded_by: y}\ncounters:"}},
     "block-added",
     "block-removed"},
    {{{"bar: 0", "bar: 2"}}, "block-bar", "block-bar"},
    {{{"size: 0x100\n", "size: 0x200\n"}}, "block-grown", "block-shrunk"},
    {{{"stride: 0x1000", "stride: 0x2000"}}, "block-stride", "block-stride"},
    {{{"decoded_by: other", "decoded_by: another"}}, "block-decoder", "block-decoder"},
    {{{"all_ones", "slverr"}}, "block-bad-access", "block-bad-access"},
    {{{"bad_access: all_ones", "bad_access: all_ones\n    bad_access_capture: BAD"}},
     "block-capture ports-removed",
     "block-capture ports-added ports-needed"},
    {{{"    bar: 0", "    bar: 0\n    pipelined: true"}}, "block-pipelined", "block-pipelined"},
    {{{"      - {name: E",
       "      - {name: NEW, offset: 0xc, fields: [{name: f, bits: \"0\", access: rw}]}\n      - "
       "{name: E"}},
     "register-added ports-added",
     "register-removed ports-removed"},
    {{{"      - {name: E",
       "      - {name: NEW, offset: 0xc, fields: [{name: f, bits: \"0\", access: ro, hw: in}]}\n   "
       "   - {name: E"}},
     "register-added ports-needed",
     "register-removed ports-removed"},
    {{{"{name: R, offset: 0x0, desc: \"R.\", fields: [{name: f,",
       "{name: Q, offset: 0x0, desc: \"R.\", fields: [{name: f,"}},
     "register-renamed ports-added ports-removed",
     "register-renamed ports-added ports-removed"},
    {{{"{name: E, offset: 0x4", "{name: E, offset: 0xc"}}, "register-moved", "register-moved"},
    {{{"name: K, offset: 0x28, f", "name: K, offset: 0x58, width: 64, f"}},
     "register-moved register-width",
     "register-moved register-width"},
    {{{"count: 2, stride: 8", "count: 2, stride: 4"}}, "register-stride", "register-stride"},
    {{{"offset: 0x10, count: 2, stride: 8", "offset: 0x10, count: 1, stride: 8"}},
     "register-shorter ports-changed",
     "register-longer ports-changed"},
    {{{"width: 64, fields", "width: 64, buffered: false, fields"}},
     "register-buffered",
     "register-buffered"},
    {{{"{name: E, offset: 0x4,", "{name: E, offset: 0x4, external: true,"}},
     "register-external field-hw ports-added ports-needed ports-removed",
     "register-external field-hw ports-added ports-removed"},
    {{{"enum: e}]}", "enum: e}, {name: h, bits: \"9\", access: rw}]}"}},
     "field-added ports-added",
     "field-removed ports-removed"},
    {{{"enum: e}]}", "enum: e}, {name: h, bits: \"9\", access: rw, reset: 1}]}"}},
     "field-added-acts ports-added",
     "field-removed ports-removed"},
    {{{"enum: e}]}", "enum: e}, {name: h, bits: \"9\", access: w0c, hw: set}]}"}},
     "field-added-acts ports-added ports-needed",
     nullptr},
    {{{"enum: e}]}", "enum: e}, {name: h, bits: \"9\", access: w1c, hw: set}]}"}},
     "field-added ports-added ports-needed",
     nullptr},
    {{{"{name: x, at", "{name: xx, at"}}, "desc-field-renamed", "desc-field-renamed"},
    {{{"{name: f, bits: \"1:0\"", "{name: ff, bits: \"1:0\""}},
     "field-renamed ports-added ports-removed",
     nullptr},
    {{{"{name: f, bits: \"1:0\"", "{name: f, bits: \"5:4\""}}, "field-bits", "field-bits"},
    {{{"access: rw, reset: 1", "access: w1s, reset: 1"}}, "field-access", "field-access"},
    {{{"access: rw, reset: 1", "access: rw, reset: 2"}}, "field-reset", "field-reset"},
    {{{"access: ro, const: version_minor", "access: ro, hw: in"}},
     "field-constant ports-needed",
     "field-constant ports-removed"},
    {{{"access: rw, reset: 1", "access: rw, hw: [out, wr_pulse], reset: 1"}},
     "field-hw ports-added",
     "field-hw ports-removed"},
    {{{"{name: f, bits: \"3:0\", access: w1c, hw: set",
       "{name: f, bits: \"3:0\", access: w1c, collision: software, hw: set"}},
     "field-collision",
     "field-collision"},
    {{{"saturate: true", "saturate: 100"}}, "field-counter", "field-counter"},
    {{{"access: ro, counter: {incr: 2, saturate: true}", "access: ro, hw: [out, we]"}},
     "field-hw field-counter ports-needed ports-removed",
     nullptr},
    {{{"incr: 2", "incr: 3"}},
     "field-counter-ports ports-changed",
     "field-counter-ports ports-changed"},
    {{{"locked_by: LK.k", "locked_by: LK.o"}}, "field-lock", "field-lock"},
    {{{"locked_by: LK.k", "enabled_by: LK.k"}}, "field-lock", "field-lock"},
    {{{"access: rw, enum: e", "access: rw"}}, "field-enum", "field-enum-added"},
    {{{"access: rw, enum: e", "access: rw, enum: g"}}, "field-enum", "field-enum"},
    {{{"unit: us", "unit: ns"}}, "field-unit", "field-unit"},
    {{{"    interrupts:",
       "      - {name: X, offset: 0xa0, size: 0x10, access: ro, decoded_by: y}\n    interrupts:"}},
     "window-added",
     "window-removed"},
    {{{"ROM, offset: 0x90", "ROM, offset: 0xb0"}}, "window-moved", "window-moved"},
    {{{"WIN, offset: 0x80, size: 0x10", "WIN, offset: 0x80, size: 0x8"}},
     "window-shrunk ports-changed",
     "window-grown ports-changed"},
    {{{"size: 0x10, access: ro}", "size: 0x10, access: rw}"}},
     "window-writable ports-added",
     "window-read-only ports-removed"},
    {{{"size: 0x10, access: ro}", "size: 0x10, access: ro, decoded_by: y}"}},
     "window-decoder ports-removed",
     nullptr},
    {{{"size: 0x10, access: ro}", "size: 0x10, access: ro, holds: counters}"}},
     "window-holds",
     "window-holds"},
    {{{"kind: pulse", "kind: rising"}}, "irq-kind", "irq-kind"},
    {{{"{name: two}", "{name: two}, {name: three}"}}, "counter-added", "counter-removed"},
    {{{"{name: one}, {name: two}", "{name: two}, {name: one}"}},
     "counter-index counter-index",
     "counter-index counter-index"},
    {{{"descriptors:\n",
       "descriptors:\n  - {name: dd, size: 4, fields: [{name: f, at: 0, width: 8}]}\n"}},
     "descriptor-added",
     "descriptor-removed"},
    {{{"size: 8\n", "size: 16\n"}}, "descriptor-size", "descriptor-size"},
    {{{"      - {name: x", "      - {name: z, at: 2, width: 8}\n      - {name: x"}},
     "desc-field-added",
     "desc-field-removed"},
    {{{"{name: x, at: 1", "{name: x, at: 2"}}, "desc-field-place", "desc-field-place"},
    {{{"{name: x, at: 1, width: 8", "{name: x, at: 1, width: 8, bytes: true"}},
     "desc-field-bytes",
     "desc-field-bytes"},
    {{{"{name: x, at: 1", "{name: x, sv_name: xs, at: 1"}},
     "desc-field-sv-name",
     "desc-field-sv-name"},
    {{{"      - by: t",
       "      - by: x\n        variants: [{name: w, when: 1, fields: [{name: q, at: 6, width: "
       "8}]}]\n      - by: t"}},
     "union-added",
     "union-removed"},
    {{{"when: [A, B]", "when: A"}}, "variant-narrower", "variant-wider"},
    {{{"when: [A, B], fields: [{name: y, at: 4, width: 16}]}",
       "when: [A, B], fields: [{name: y, at: 4, width: 16}]}, {name: z, when: 3, fields: [{name: "
       "q, at: 4, width: 8}]}"}},
     "variant-added",
     "variant-removed"},
    {{{"{name: y, at: 4, width: 16}", "{name: y, at: 4, width: 8}"}},
     "desc-field-place",
     "desc-field-place"},
};

std::string sorted(const std::string& words) {
  std::multiset<std::string> set;
  std::istringstream in(words);
  for (std::string w; in >> w;) set.insert(w);
  std::string s;
  for (const auto& w : set) s += w + " ";
  return s;
}

}  // namespace

TEST_CASE("a map is identical to itself") {
  const auto m = map_of(kBase);
  CHECK(diff_maps(m, m).empty());
  CHECK(worst({}, Reader::kBoth) == Verdict::kIdentical);
  Diagnostics diags("rnic.yaml");
  const auto rnic = load_map_file(RNIC_SOURCE_DIR "/regs/rnic.yaml", diags);
  REQUIRE(rnic.has_value());
  CHECK(diff_maps(*rnic, *rnic).empty());
}

TEST_CASE(
    "each kind of change is found, both ways, and nothing else; together they meet every rule") {
  const auto old_map = map_of(kBase);
  std::set<std::string> met;
  for (const auto& c : kCases) {
    CAPTURE(c.edits[0].from, c.edits[0].to);
    const auto new_map = map_of(edited(kBase, c.edits));
    const auto there = diff_maps(old_map, new_map);
    const auto back = diff_maps(new_map, old_map);
    CHECK(sorted(ids(there)) == sorted(c.rules));
    if (c.backwards != nullptr) CHECK(sorted(ids(back)) == sorted(c.backwards));
    for (const auto& list : {there, back}) {
      CHECK(!list.empty());
      for (const auto& x : list) met.insert(std::string(x.rule->id));
    }
    // What changes the hash is more than a text.
    if (old_map.hash != new_map.hash) {
      CHECK(std::any_of(there.begin(), there.end(),
                        [](const Change& x) { return x.rule->id != "text"; }));
    }
  }
  for (const auto& r : diff_rules()) {
    CAPTURE(r.id);
    CHECK(met.count(std::string(r.id)) == 1);
  }
}

TEST_CASE("verdicts are those of the worst change, for software, RTL or both") {
  const auto old_map = map_of(kBase);
  struct Want {
    std::vector<Edit> edits;
    Verdict software, rtl;
  };
  const std::vector<Want> wants = {
      {{{"A map.", "Another."}}, Verdict::kCompatible, Verdict::kIdentical},
      {{{"kind: pulse", "kind: both"}}, Verdict::kCompatible, Verdict::kBreaking},
      {{{"{name: E, offset: 0x4", "{name: E, offset: 0xc"}},
       Verdict::kBreaking,
       Verdict::kCompatible},
      {{{"reset: 1", "reset: 2"}}, Verdict::kBreaking, Verdict::kBreaking},
      {{{"{name: two}", "{name: two}, {name: three}"}}, Verdict::kCompatible, Verdict::kCompatible},
      {{{"{name: two}", "{name: two}, {name: three}"}, {"reset: 1", "reset: 2"}},
       Verdict::kBreaking,
       Verdict::kBreaking},
  };
  for (const auto& w : wants) {
    CAPTURE(w.edits[0].to);
    const auto changes = diff_maps(old_map, map_of(edited(kBase, w.edits)));
    CHECK(worst(changes, Reader::kSoftware) == w.software);
    CHECK(worst(changes, Reader::kRtl) == w.rtl);
    CHECK(worst(changes, Reader::kBoth) == std::max(w.software, w.rtl));
  }
}

TEST_CASE("the report names the line of the new map, of the old one for what is gone") {
  const auto old_map = map_of(kBase);
  const auto new_map = map_of(edited(kBase, {{"description: A map.\n", "description: A map.\n\n"},
                                             {"{name: E, offset: 0x4", "{name: E, offset: 0xc"},
                                             {", {name: two}", ""},
                                             {"kind: pulse", "kind: both"}}));
  const Diagnostics old_files("old.yaml"), new_files("new.yaml");
  const auto changes = diff_maps(old_map, new_map);
  const DiffSide before{old_map, old_files}, after{new_map, new_files};
  const auto text = diff_text(before, after, changes);
  CHECK(
      text.find(
          "new.yaml:21: breaking, RTL compatible [register-moved] b.E: offset 0x4 became 0xc\n") !=
      std::string::npos);
  CHECK(text.find("new.yaml:34: compatible, RTL breaking [irq-kind] b.I.s: pulse became both\n") !=
        std::string::npos);
  CHECK(text.find("old.yaml:35: breaking [counter-removed] counter two is gone\n") !=
        std::string::npos);
  CHECK(text.find("\nsoftware: breaking; RTL: breaking; version 1.2.3 to 1.2.3, map hash 0x") !=
        std::string::npos);
  const auto json = nlohmann::json::parse(diff_json(before, after, changes));
  CHECK(json["software"] == "breaking");
  CHECK(json["old"]["file"] == "old.yaml");
  CHECK(json["changes"].size() == changes.size());
  CHECK(json["changes"][0]["rule"] == "register-moved");
  CHECK(json["changes"][0]["line"] == 21);
  CHECK(json["changes"][0]["rtl"] == "compatible");
}

TEST_CASE("README.md holds the table of rules as it is printed") {
  CHECK(read_text(RNIC_SOURCE_DIR "/regs/README.md").find(diff_rules_text()) != std::string::npos);
}
