// SPDX-License-Identifier: Apache-2.0
//
// The key table as a JSON Schema. It says what the readers say about keys, types and words; what
// needs more than one key, check_map() judges. An empty value ("desc:") is an error here and
// nothing for the readers.
#include <nlohmann/json.hpp>

#include "map_keys.hpp"

namespace rnic::regs {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExpression = "^[0-9A-Za-z_ +*/%<>&|()-]+$";
constexpr const char* kBitsPattern = "^[0-9A-Za-z_ +*/%<>&|()-]+(:[0-9A-Za-z_ +*/%<>&|()-]+)?$";
constexpr const char* kLowerPattern = "^[a-z](_?[a-z0-9])*$";
constexpr const char* kUpperPattern = "^[A-Z](_?[A-Z0-9])*$";

Json reference(std::string_view name) { return {{"$ref", "#/definitions/" + std::string(name)}}; }
Json reference(Element e) { return reference(element(e).name); }

// What is plain text to a map may be a number or a flag to YAML.
Json scalar() { return {{"type", {"string", "number", "boolean"}}}; }

Json one_or_list(const Json& one) {
  return {{"anyOf", {one, {{"type", "array"}, {"items", one}}}}};
}

Json list_of(Element of) {
  const auto items = of == Element::kRegister ? reference("register_or_file") : reference(of);
  return {{"type", "array"}, {"items", items}};
}

// A mapping of names; upper case where the values are numbers.
Json named(Element of, bool numbers) {
  const auto value =
      numbers ? Json{{"anyOf", {reference("number"), reference(of)}}} : reference(of);
  return {{"type", "object"},
          {"propertyNames", {{"pattern", numbers ? kUpperPattern : kLowerPattern}}},
          {"additionalProperties", value}};
}

Json type_of(const KeySpec& k) {
  switch (k.type) {
    case KeyType::kLowerName:
      return {{"type", "string"}, {"pattern", kLowerPattern}};
    case KeyType::kUpperName:
      return {{"type", "string"}, {"pattern", kUpperPattern}};
    case KeyType::kText:
      return scalar();
    case KeyType::kTexts:
      return one_or_list(scalar());
    case KeyType::kNumber:
      return reference("number");
    case KeyType::kFlag:
      return {{"type", "boolean"}};
    case KeyType::kNumberOrFlag:
      return {{"anyOf", {reference("number"), {{"type", "boolean"}}}}};
    case KeyType::kBits:
      return {{"type", {"integer", "string"}}, {"minimum", 0}, {"pattern", kBitsPattern}};
    case KeyType::kWord:
      return {{"enum", k.words}};
    case KeyType::kWords:
      return one_or_list({{"enum", k.words}});
    case KeyType::kMapping:
      return reference(k.of);
    case KeyType::kList:
      return list_of(k.of);
    case KeyType::kNamedNumbers:
      return named(k.of, true);
    case KeyType::kNamed:
      return named(k.of, false);
    case KeyType::kRefused:
      break;
  }
  return {{"not", Json::object()}};
}

// With its description; beside a $ref draft 7 looks at nothing else.
Json property(const KeySpec& k) {
  auto type = type_of(k);
  Json p = {{"description", k.desc}};
  if (type.contains("$ref")) {
    p["allOf"] = Json::array({type});
  } else {
    p.update(type);
  }
  return p;
}

Json definition(const ElementSpec& e) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const auto& k : e.keys) {
    properties[std::string(k.name)] = property(k);
    if (k.required) required.push_back(k.name);
  }
  Json d = {{"description", e.desc}, {"type", "object"}, {"properties", properties}};
  if (!required.empty()) d["required"] = required;
  if (e.element == Element::kRegisterFile) d["dependencies"] = {{"count", {"stride"}}};
  d["additionalProperties"] = false;
  return d;
}

}  // namespace

std::string json_schema() {
  Json definitions = {{"number",
                       {{"description", "A number, or an expression over constants."},
                        {"type", {"integer", "string"}},
                        {"minimum", 0},
                        {"pattern", kExpression}}},
                      {"register_or_file",
                       {{"if", {{"required", {"registers"}}}},
                        {"then", reference(Element::kRegisterFile)},
                        {"else", reference(Element::kRegister)}}}};
  for (const auto& e : all_elements()) definitions[std::string(e.name)] = definition(e);
  definitions["enum"]["properties"]["values"]["minProperties"] = 1;
  const Json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"$comment", "SPDX-License-Identifier: Apache-2.0. Printed by rnic-regs schema."},
      {"title", "Register and descriptor map of rnic-regs"},
      {"allOf", Json::array({reference(Element::kMap)})},
      {"definitions", definitions}};
  return schema.dump(1, ' ') + "\n";
}

}  // namespace rnic::regs
