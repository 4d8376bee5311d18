// SPDX-License-Identifier: Apache-2.0
// Strict YAML: every key is known, every value is checked, every error is reported with its place,
// all at once.
//
//   Document doc = Document::load("demo.yaml");
//   { Reader r(doc);  r.req("seed", cfg.seed);  r.opt("delay", cfg.delay_ps, duration());
//     r.child("wire", [&](Reader& w) { w.opt("rate", cfg.rate, bit_rate()); }); }
//   doc.check();  // throws: "demo.yaml:4:3: key 'wire.rat': unknown key; did you mean 'rate'?"
//
// A Reader that goes out of scope complains about the keys that nobody asked for. opt() leaves
// `out` as it was when the key is missing, so defaults are the initial values of the structure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace rnic::scenario {

struct Error {
  std::string file;
  int line = 0;     // from 1; 0: no place (a value set on the command line, a missing file)
  int column = 0;   // from 1
  std::string key;  // dotted path
  std::string text;
  std::string str() const;  // "file:line:column: key 'a.b': text"
};

// what() has one line per error.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<Error> errors);
  const std::vector<Error>& errors() const { return errors_; }

 private:
  std::vector<Error> errors_;
};

class Reader;

class Document {
 public:
  // Both throw ScenarioError for a file that cannot be read or is not YAML.
  static Document load(const std::string& path);
  static Document parse(const std::string& text, const std::string& name = "scenario");

  // Replaces or adds the value at a dotted path ("wire.delay", "nodes.0.mtu"), as from the command
  // line. The value is YAML. Throws ScenarioError when the path runs through something that is not
  // a mapping or list.
  void set(const std::string& path, const std::string& value);
  // "path=value"
  void set(const std::string& assignment);

  void error(const YAML::Node& at, const std::string& key, const std::string& text);
  // Throws ScenarioError with all errors so far, in file order. Call it after the readers are gone.
  void check();
  const std::vector<Error>& errors() const { return errors_; }
  const std::string& name() const { return name_; }
  YAML::Node root() const { return root_; }

 private:
  friend class Reader;
  std::string name_;
  YAML::Node root_;
  std::vector<Error> errors_;
  int open_readers_ = 0;
  std::vector<std::pair<std::string, std::string>> set_;  // overrides: path, value
};

// How a scalar becomes a T, and what to say when it does not.
template <typename T>
struct Value {
  // The value, or nothing with the reason in `why` (may stay empty: then only `expected` is
  // reported).
  std::function<std::optional<T>(const std::string& text, std::string& why)> parse;
  std::string expected;
};

inline constexpr uint64_t kMaxU64 = std::numeric_limits<uint64_t>::max();

// Whole numbers, decimal or 0x, '_' between digits allowed.
Value<uint64_t> unsigned_integer(uint64_t min = 0, uint64_t max = kMaxU64);
Value<int64_t> signed_integer(int64_t min = std::numeric_limits<int64_t>::min(),
                              int64_t max = std::numeric_limits<int64_t>::max());
Value<uint64_t> power_of_two(uint64_t min = 1, uint64_t max = kMaxU64);
Value<double> real(double min = -std::numeric_limits<double>::max(),
                   double max = std::numeric_limits<double>::max());
// "0.25" or "25 %", as a fraction of one.
Value<double> probability();
Value<bool> boolean();
Value<std::string> text();
// Time in picoseconds: "200 ns", "1.5us"; ps, ns, us, ms, s. A unit is required except for 0.
Value<uint64_t> duration(uint64_t min_ps = 0, uint64_t max_ps = kMaxU64);
// Bits per second: "400 Gb/s"; b/s, kb/s, Mb/s, Gb/s, Tb/s.
Value<uint64_t> bit_rate(uint64_t min_bps = 1, uint64_t max_bps = kMaxU64);
// Hertz: "500 MHz"; Hz, kHz, MHz, GHz.
Value<uint64_t> frequency(uint64_t min_hz = 1, uint64_t max_hz = kMaxU64);
// Bytes: "64", "64 B", "4 KiB", MiB, GiB, TiB, hexadecimal. KB and kB are refused: 1000 or 1024?
Value<uint64_t> bytes(uint64_t min = 0, uint64_t max = kMaxU64);
Value<std::array<uint8_t, 6>> mac_address();
// IPv4 (as ::ffff:a.b.c.d) or IPv6.
Value<std::array<uint8_t, 16>> ip_address();

// One of the names, compared exactly.
template <typename T>
Value<T> one_of(std::initializer_list<std::pair<const char*, T>> names);

namespace detail {
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);
std::string join(const std::vector<std::string>& words);

template <typename T>
auto default_value() {
  if constexpr (std::is_same_v<T, bool>) {
    return boolean();
  } else if constexpr (std::is_unsigned_v<T>) {
    return unsigned_integer(0, std::numeric_limits<T>::max());
  } else if constexpr (std::is_integral_v<T>) {
    return signed_integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  } else if constexpr (std::is_floating_point_v<T>) {
    return real();
  } else {
    static_assert(std::is_same_v<T, std::string>, "give a Value for this type");
    return text();
  }
}

// A value that does not fit the variable is refused, not cut.
template <typename To, typename From>
bool fits(const From& v) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From> && !std::is_same_v<To, bool>) {
    return std::in_range<To>(v);
  } else {
    (void)v;
    return true;
  }
}
}  // namespace detail

// Reads one mapping. Borrows the document, which outlives it.
class Reader {
 public:
  explicit Reader(Document& doc);  // the root mapping
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { finish(); }

  bool has(const std::string& key) const;
  // The value must be there / may be there. Return whether `out` was set.
  template <typename T, typename U>
  bool req(const std::string& key, T& out, const Value<U>& type) {
    return scalar(key, out, type, true);
  }
  template <typename T>
  bool req(const std::string& key, T& out) {
    return scalar(key, out, detail::default_value<T>(), true);
  }
  template <typename T, typename U>
  bool opt(const std::string& key, T& out, const Value<U>& type) {
    return scalar(key, out, type, false);
  }
  template <typename T>
  bool opt(const std::string& key, T& out) {
    return scalar(key, out, detail::default_value<T>(), false);
  }
  // std::optional: empty when the key is missing.
  template <typename T, typename U>
  bool opt(const std::string& key, std::optional<T>& out, const Value<U>& type) {
    T v{};
    if (!scalar(key, v, type, false)) return false;
    out = std::move(v);
    return true;
  }

  // A list of scalars, `min_count` .. `max_count` of them; one scalar alone counts as a list of
  // one. With a minimum above 0 the key must be there.
  template <typename T, typename U>
  bool list(const std::string& key, std::vector<T>& out, const Value<U>& type, size_t min_count = 0,
            size_t max_count = std::numeric_limits<size_t>::max()) {
    const YAML::Node n = need(key, min_count > 0);
    if (!n.IsDefined()) return false;
    std::vector<T> values;
    bool good = true;
    const auto one = [&](const YAML::Node& item, const std::string& path) {
      T v{};
      if (convert(item, path, v, type)) {
        values.push_back(std::move(v));
      } else {
        good = false;
      }
    };
    if (n.IsSequence()) {
      for (size_t i = 0; i < n.size(); ++i) one(n[i], path(key) + "[" + std::to_string(i) + "]");
      if (n.size() < min_count || n.size() > max_count) {
        count_error(n, key, n.size(), min_count, max_count);
        good = false;
      }
    } else {
      one(n, path(key));
    }
    if (good) out = std::move(values);
    return good;
  }
  template <typename T>
  bool list(const std::string& key, std::vector<T>& out) {
    return list(key, out, detail::default_value<T>());
  }

  // A mapping below this one. `required`: its absence is an error.
  bool child(const std::string& key, const std::function<void(Reader&)>& read,
             bool required = false);
  // A list of mappings.
  bool each(const std::string& key, const std::function<void(Reader&, size_t)>& read,
            size_t min_count = 0, size_t max_count = std::numeric_limits<size_t>::max());
  // A mapping whose keys are names of the user's choice, each with a mapping.
  bool each_named(const std::string& key,
                  const std::function<void(const std::string&, Reader&)>& read);

  // Complaint of the caller about a key (for rules between values), or about the whole mapping
  // (empty key).
  void error(const std::string& key, const std::string& text);
  // Complains about keys that were never asked for; done by the destructor too.
  void finish();
  // "file:line" of this mapping, for messages of later stages.
  std::string where() const;

 private:
  Reader(Document& doc, YAML::Node node, std::string path);
  YAML::Node find(const std::string& key);
  YAML::Node need(const std::string& key, bool required);
  YAML::Node key_node(const std::string& key) const;
  std::string path(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  void index();
  void count_error(const YAML::Node& at, const std::string& key, size_t got, size_t min_count,
                   size_t max_count);
  bool scalar_text(const YAML::Node& n, const std::string& path, const std::string& expected,
                   std::string& out);

  template <typename T, typename U>
  bool convert(const YAML::Node& n, const std::string& where, T& out, const Value<U>& type) {
    std::string s;
    if (!scalar_text(n, where, type.expected, s)) return false;
    std::string why;
    const std::optional<U> v = type.parse(s, why);
    if (!v || !detail::fits<T>(*v)) {
      std::string message = "got '" + s + "', expected " + type.expected;
      if (!why.empty()) message += " (" + why + ")";
      doc_.error(n, where, message);
      return false;
    }
    out = static_cast<T>(*v);
    return true;
  }
  template <typename T, typename U>
  bool scalar(const std::string& key, T& out, const Value<U>& type, bool required) {
    const YAML::Node n = need(key, required);
    if (!n.IsDefined()) return false;
    if (n.IsNull()) {  // the parser places an empty value at the next line
      doc_.error(key_node(key), path(key), "got nothing, expected " + type.expected);
      return false;
    }
    return convert(n, path(key), out, type);
  }

  struct Entry {
    std::string key;
    YAML::Node key_node, value;
    bool used = false;
  };

  Document& doc_;
  YAML::Node node_;
  std::string path_;
  std::vector<Entry> entries_;
  std::vector<std::string> asked_;
  bool finished_ = false;
};

template <typename T>
Value<T> one_of(std::initializer_list<std::pair<const char*, T>> names) {
  std::vector<std::pair<std::string, T>> table(names.begin(), names.end());
  std::vector<std::string> words;
  for (const auto& [name, value] : table) words.push_back(name);
  Value<T> v;
  v.expected = "one of " + detail::join(words);
  v.parse = [table, words](const std::string& s, std::string& why) -> std::optional<T> {
    for (const auto& [name, value] : table) {
      if (name == s) return value;
    }
    const std::string near = detail::nearest(s, words);
    if (!near.empty()) why = "did you mean '" + near + "'?";
    return std::nullopt;
  };
  return v;
}

}  // namespace rnic::scenario
