// SPDX-License-Identifier: Apache-2.0
//
// A small JSON Schema validator (draft 7, what map schemas use), and YAML as the JSON that an
// editor sees (the core schema of YAML 1.2).
//
//   violations(schema, to_json(YAML::LoadFile("m.yaml")))   // "/blocks/0: no property 'siez'", ...
//
// Written from the standard, not from the generator of the schema. A keyword that it does not know
// throws, so that nothing goes unjudged.
#pragma once

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace rnic::test {

using Json = nlohmann::json;

inline Json scalar_to_json(const YAML::Node& n) {
  static const std::regex kInt("[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+");
  static const std::regex kFloat("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?");
  const auto s = n.Scalar();
  if (n.Tag() == "!") return s;  // quoted
  if (s.empty() || s == "~" || s == "null" || s == "Null" || s == "NULL") return nullptr;
  if (s == "true" || s == "True" || s == "TRUE") return true;
  if (s == "false" || s == "False" || s == "FALSE") return false;
  if (std::regex_match(s, kInt)) {
    if (s[0] == '-') return std::stoll(s);
    if (s.size() > 1 && s[1] == 'o') return std::stoull(s.substr(2), nullptr, 8);
    return std::stoull(s, nullptr, s.size() > 1 && s[1] == 'x' ? 16 : 10);
  }
  if (std::regex_match(s, kFloat)) return std::stod(s);
  return s;
}

inline Json to_json(const YAML::Node& n) {
  if (n.IsScalar()) return scalar_to_json(n);
  if (n.IsSequence()) {
    Json list = Json::array();
    for (const auto& x : n) list.push_back(to_json(x));
    return list;
  }
  if (n.IsMap()) {
    Json map = Json::object();
    for (const auto& x : n) map[x.first.Scalar()] = to_json(x.second);
    return map;
  }
  return nullptr;
}

class SchemaCheck {
 public:
  explicit SchemaCheck(const Json& root) : root_(root) {}

  std::vector<std::string> run(const Json& value) {
    found_.clear();
    judge(root_, value, "");
    return found_;
  }

 private:
  void say(const std::string& where, const std::string& what) {
    found_.push_back(where + ": " + what);
  }

  bool holds(const Json& schema, const Json& v) {
    SchemaCheck inner(root_);
    inner.judge(schema, v, "");
    return inner.found_.empty();
  }

  static bool is_type(const std::string& t, const Json& v) {
    if (t == "string") return v.is_string();
    if (t == "integer") return v.is_number_integer();
    if (t == "number") return v.is_number();
    if (t == "boolean") return v.is_boolean();
    if (t == "array") return v.is_array();
    if (t == "object") return v.is_object();
    if (t == "null") return v.is_null();
    throw std::runtime_error("type " + t);
  }

  void judge(const Json& s, const Json& v, const std::string& at) {
    if (s.is_boolean()) {
      if (!s.get<bool>()) say(at, "nothing is allowed here");
      return;
    }
    if (s.contains("$ref")) {
      judge(root_.at(Json::json_pointer(s.at("$ref").get<std::string>().substr(1))), v, at);
      return;
    }
    for (const auto& [word, x] : s.items()) {
      if (word[0] == '$' || word == "description" || word == "title" || word == "definitions")
        continue;
      keyword(s, word, x, v, at);
    }
  }

  void keyword(const Json& s, const std::string& word, const Json& x, const Json& v,
               const std::string& at) {
    if (word == "type") {
      bool good = false;
      for (const auto& t : x.is_array() ? x : Json::array({x})) good |= is_type(t, v);
      if (!good) say(at, "type of " + v.dump() + " is not " + x.dump());
    } else if (word == "enum") {
      if (std::find(x.begin(), x.end(), v) == x.end()) say(at, v.dump() + " is not in " + x.dump());
    } else if (word == "pattern") {
      if (v.is_string() &&
          !std::regex_search(v.get<std::string>(), std::regex(x.get<std::string>()))) {
        say(at, v.dump() + " does not match");
      }
    } else if (word == "minimum") {
      if (v.is_number() && v < x) say(at, v.dump() + " is too small");
    } else if (word == "minProperties") {
      if (v.is_object() && v.size() < x) say(at, "too few properties");
    } else if (word == "required") {
      for (const auto& k : x) {
        if (v.is_object() && !v.contains(k)) say(at, "no " + k.dump());
      }
    } else if (word == "dependencies") {
      for (const auto& [k, others] : x.items()) {
        if (!v.is_object() || !v.contains(k)) continue;
        for (const auto& o : others) {
          if (!v.contains(o)) say(at, k + " without " + o.dump());
        }
      }
    } else if (word == "properties" || word == "additionalProperties" || word == "propertyNames") {
      if (v.is_object()) members(s, word, x, v, at);
    } else if (word == "items") {
      for (std::size_t i = 0; v.is_array() && i < v.size(); ++i)
        judge(x, v[i], at + "/" + std::to_string(i));
    } else if (word == "allOf") {
      for (const auto& y : x) judge(y, v, at);
    } else if (word == "anyOf") {
      const auto fits = [&](const Json& y) { return holds(y, v); };
      if (std::none_of(x.begin(), x.end(), fits)) say(at, "fits none of the alternatives");
    } else if (word == "not") {
      if (holds(x, v)) say(at, "is not allowed");
    } else if (word == "if") {
      const char* branch = holds(x, v) ? "then" : "else";
      if (s.contains(branch)) judge(s.at(branch), v, at);
    } else if (word != "then" && word != "else") {
      throw std::runtime_error("keyword " + word);
    }
  }

  void members(const Json& s, const std::string& word, const Json& x, const Json& v,
               const std::string& at) {
    for (const auto& [k, y] : v.items()) {
      if (word == "propertyNames") {
        judge(x, Json(k), at + "/" + k);
      } else if (word == "properties") {
        if (x.contains(k)) judge(x.at(k), y, at + "/" + k);
      } else if (!s.contains("properties") || !s.at("properties").contains(k)) {
        judge(x, y, at + "/" + k);
      }
    }
  }

  const Json& root_;
  std::vector<std::string> found_;
};

inline std::vector<std::string> violations(const Json& schema, const Json& value) {
  return SchemaCheck(schema).run(value);
}

}  // namespace rnic::test
