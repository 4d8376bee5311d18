// SPDX-License-Identifier: Apache-2.0
//
// The printed JSON Schema against the maps of this repository, against maps with bad keys, and
// against what the reader says.
#include <fstream>
#include <set>

#include "map_keys.hpp"
#include "model.hpp"
#include "tests/regs/compile.hpp"
#include "tests/regs/json_schema_check.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::regs;
using rnic::test::Json;
using rnic::test::read_text;
using rnic::test::to_json;
using rnic::test::violations;

namespace {

const std::vector<std::string> kMaps = {
    RNIC_SOURCE_DIR "/regs/rnic.yaml", RNIC_SOURCE_DIR "/tests/regs_rtl/all_map.yaml",
    RNIC_SOURCE_DIR "/tests/regs_rtl/proof_map.yaml", RNIC_SOURCE_DIR "/tests/regs/keys_map.yaml"};

const Json& schema() {
  static const Json s = Json::parse(json_schema());
  return s;
}

// The schema of one definition.
Json only(const std::string& name) {
  Json s = schema();
  s["allOf"] = Json::array({{{"$ref", "#/definitions/" + name}}});
  return s;
}

std::string all_of(const std::vector<std::string>& list) {
  std::string s;
  for (const auto& x : list) s += x + "\n";
  return s;
}

// Every mapping in `value` by its path.
void mappings(const Json& value, const std::string& at, std::vector<std::string>& to) {
  if (value.is_object()) to.push_back(at);
  if (!value.is_structured()) return;
  for (const auto& [k, x] : value.items()) mappings(x, at + "/" + k, to);
}

// Every key of every mapping.
void keys_of(const Json& value, std::set<std::string>& to) {
  if (!value.is_structured()) return;
  for (const auto& [k, x] : value.items()) {
    if (value.is_object()) to.insert(k);
    keys_of(x, to);
  }
}

}  // namespace

TEST_CASE("the committed schema is the printed one") {
  CHECK(read_text(RNIC_SOURCE_DIR "/regs/map.schema.json") == json_schema());
}

TEST_CASE("every map of this repository satisfies the schema, and together they use every key") {
  std::set<std::string> used;
  for (const auto& path : kMaps) {
    CAPTURE(path);
    const auto value = to_json(YAML::LoadFile(path));
    CHECK(all_of(violations(schema(), value)).empty());
    keys_of(value, used);
    Diagnostics diags(path);
    CHECK(load_map_file(path, diags).has_value());
    CHECK(diags.text().empty());
  }
  const auto included = to_json(YAML::LoadFile(RNIC_SOURCE_DIR "/tests/regs/keys_included.yaml"));
  CHECK(all_of(violations(only("included_file"), included)).empty());
  for (const auto& e : all_elements()) {
    for (const auto& k : e.keys) {
      CAPTURE(e.name, k.name);
      CHECK(used.count(std::string(k.name)) == 1);
    }
  }
}

TEST_CASE("an unknown key anywhere in a map violates the schema, and the reader refuses it") {
  for (const auto& path : kMaps) {
    const auto value = to_json(YAML::LoadFile(path));
    std::vector<std::string> places;
    mappings(value, "", places);
    CHECK(places.size() > 5);
    for (const auto& place : places) {
      CAPTURE(path, place);
      auto bad = value;
      bad.at(Json::json_pointer(place))["wrong-key"] = Json::array();
      CHECK(!violations(schema(), bad).empty());
    }
  }
}

TEST_CASE("every required key that is missing violates the schema") {
  int n = 0;
  for (const auto& e : all_elements()) {
    const auto s = only(std::string(e.name));
    for (const auto& k : e.keys) {
      if (!k.required) continue;
      ++n;
      CAPTURE(e.name, k.name);
      const auto said = all_of(violations(s, Json::object()));
      CHECK(said.find("no \"" + std::string(k.name) + "\"") != std::string::npos);
    }
  }
  CHECK(n > 30);
}

TEST_CASE("the schema refuses the bad maps whose keys, words or types are at fault") {
  std::ifstream in(RNIC_SOURCE_DIR "/tests/regs/bad_maps.txt");
  std::string map, says, line;
  std::string* to = nullptr;
  int n = 0;
  const auto judge = [&] {
    const bool shape = says.find("[unknown-key]") != std::string::npos ||
                       says.find("[missing-key]") != std::string::npos ||
                       says.find("[value]") != std::string::npos ||
                       says.find("unknown access") != std::string::npos ||
                       says.find("must be a list [syntax]") != std::string::npos;
    if (shape) {
      ++n;
      CAPTURE(map);
      CHECK(!violations(schema(), to_json(YAML::Load(map))).empty());
    }
    map.clear();
    says.clear();
  };
  while (std::getline(in, line)) {
    if (line == "=== map") {
      judge();
      to = &map;
    } else if (line == "=== says") {
      to = &says;
    } else if (to != nullptr) {
      *to += line + "\n";
    }
  }
  judge();
  CHECK(n >= 4);
}

TEST_CASE("types and words of the schema are those of the reader") {
  struct Case {
    const char* definition;
    const char* yaml;
    bool good;
  };
  const std::vector<Case> cases = {
      {"field", "{name: f, bits: 7, access: rw}", true},
      {"field", "{name: f, bits: '7:0', access: rw, hw: [out, we], reset: 1 << 4}", true},
      {"field", "{name: f, bits: 'W - 1:0', access: rw, const: map_hash}", true},
      {"field", "{name: f, bits: '7:0:1', access: rw}", false},
      {"field", "{name: f, bits: '7', access: read}", false},
      {"field", "{name: f, bits: '7', access: rw, hw: outt}", false},
      {"field", "{name: f, bits: '7', access: rw, hw: [out, outt]}", false},
      {"field", "{name: F, bits: '7', access: rw}", false},
      {"field", "{name: f__g, bits: '7', access: rw}", false},
      {"field", "{name: f, bits: '7', access: rw, collision: both}", false},
      {"field", "{name: f, bits: '7', access: rw, reset: -1}", false},
      {"field", "{name: f, bits: '7', access: rw, reset: [1]}", false},
      {"field", "{name: f, bits: '7', access: ro, counter: {saturate: true}}", true},
      {"field", "{name: f, bits: '7', access: ro, counter: {saturate: 200, incr: 0}}", true},
      {"field", "{name: f, bits: '7', access: ro, counter: {step: 2}}", false},
      {"register", "{name: A, offset: 4 * B, buffered: false, fields: []}", true},
      {"register", "{name: A, offset: 0, buffered: 2, fields: []}", false},
      {"register", "{name: A, offset: 0, fields: {}}", false},
      {"register_or_file", "{name: A, offset: 0, registers: []}", true},
      {"register_or_file", "{name: A, offset: 0, count: 2, registers: []}", false},
      {"register_or_file", "{name: A, offset: 0, fields: [], registers: []}", false},
      {"window", "{name: W, offset: 0, size: 8, access: wo}", false},
      {"window", "{name: W, offset: 0, size: 8, access: ro, holds: counters}", true},
      {"enum", "{values: {A: 0, B: {value: 1, desc: x}}}", true},
      {"enum", "{values: {}}", false},
      {"enum", "{values: {a: 0}}", false},
      {"included_file", "{constants: {A: 1, B: {value: A}}}", true},
      {"included_file", "{name: x}", false},
      {"variant", "{name: v, when: [A, 2], fields: []}", true},
      {"variant", "{name: v, when: A, fields: []}", true},
      {"variant", "{name: v, when: {A: 1}, fields: []}", false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.definition, c.yaml);
    CHECK(violations(only(c.definition), to_json(YAML::Load(c.yaml))).empty() == c.good);
  }
}

TEST_CASE("the words of the table are in the order of the enumerations that readers fill") {
  Diagnostics diags("m.yaml");
  const auto map = load_map_file(RNIC_SOURCE_DIR "/tests/regs/keys_map.yaml", diags);
  REQUIRE(map.has_value());
  const auto& sources = map->blocks.at(0).interrupts.at(0).sources;
  const auto kinds = find_key(Element::kSource, "kind")->words;
  REQUIRE(sources.size() == kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    CHECK(sources[i].name == "on_" + std::string(kinds[i]));
    CHECK(irq_kind_name(sources[i].kind) == kinds[i]);
  }
  const auto& f = map->blocks.at(0).registers.at(0).fields.at(0);
  CHECK(hw_text(f.hw) == "out we set clear wr_pulse rd_pulse");
}

TEST_CASE("README.md speaks of every key") {
  const auto text = read_text(RNIC_SOURCE_DIR "/regs/README.md");
  for (const auto& e : all_elements()) {
    for (const auto& k : e.keys) {
      CAPTURE(e.name, k.name);
      CHECK(text.find(k.name) != std::string::npos);
    }
  }
}
