// SPDX-License-Identifier: Apache-2.0
#include "harness/scenario/scenario.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rnic::scenario {
namespace {

using u128 = unsigned __int128;

std::string join_errors(const std::vector<Error>& errors) {
  std::string s;
  for (const Error& e : errors) {
    if (!s.empty()) s += '\n';
    s += e.str();
  }
  return s;
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t old = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = old;
    }
  }
  return row[b.size()];
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes '_' between digits; nothing when one stands elsewhere.
std::optional<std::string> without_separators(const std::string& s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '_') {
      out += s[i];
      continue;
    }
    const auto alnum = [&](size_t k) {
      return k < s.size() && std::isxdigit(static_cast<unsigned char>(s[k]));
    };
    if (i == 0 || !alnum(i - 1) || !alnum(i + 1)) return std::nullopt;
  }
  return out;
}

std::optional<uint64_t> parse_unsigned(const std::string& text) {
  const auto clean = without_separators(text);
  if (!clean || clean->empty()) return std::nullopt;
  const bool hex =
      clean->size() > 2 && (*clean)[0] == '0' && ((*clean)[1] == 'x' || (*clean)[1] == 'X');
  const std::string digits = hex ? clean->substr(2) : *clean;
  u128 v = 0;
  for (char c : digits) {
    int d;
    if (is_digit(c)) {
      d = c - '0';
    } else if (hex && std::isxdigit(static_cast<unsigned char>(c))) {
      d = std::tolower(static_cast<unsigned char>(c)) - 'a' + 10;
    } else {
      return std::nullopt;
    }
    v = v * (hex ? 16 : 10) + static_cast<unsigned>(d);
    if (v > kMaxU64) return std::nullopt;
  }
  return static_cast<uint64_t>(v);
}

struct Unit {
  const char* name;
  uint64_t factor;
};

// "1.5 us" exactly, as a whole number of the base unit.
std::optional<uint64_t> parse_quantity(const std::string& text, const std::vector<Unit>& units,
                                       bool unit_optional, const char* base, std::string& why) {
  size_t at = 0;
  u128 mantissa = 0;
  uint64_t scale = 1;
  bool digits = false, point = false;
  const auto clean = without_separators(text);
  if (!clean) return std::nullopt;
  const std::string& s = *clean;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
    size_t end = 2;
    while (end < s.size() && std::isxdigit(static_cast<unsigned char>(s[end]))) ++end;
    const auto v = parse_unsigned(s.substr(0, end));
    if (!v) return std::nullopt;
    mantissa = *v;
    digits = true;
    at = end;
  } else {
    for (; at < s.size(); ++at) {
      if (is_digit(s[at])) {
        digits = true;
        mantissa = mantissa * 10 + static_cast<unsigned>(s[at] - '0');
        if (point) scale *= 10;
        if (mantissa > kMaxU64 || scale > 1'000'000'000'000'000ull) {
          why = "too many digits";
          return std::nullopt;
        }
      } else if (s[at] == '.' && !point) {
        point = true;
      } else {
        break;
      }
    }
  }
  if (!digits) return std::nullopt;
  while (at < s.size() && s[at] == ' ') ++at;
  const std::string unit = s.substr(at);
  uint64_t factor = 0;
  if (unit.empty()) {
    if (!unit_optional && mantissa != 0) {
      why = "the unit is missing";
      return std::nullopt;
    }
    factor = 1;
  } else {
    for (const Unit& u : units) {
      if (unit == u.name) factor = u.factor;
    }
    if (factor == 0) {
      why = "unknown unit '" + unit + "'";
      return std::nullopt;
    }
  }
  const u128 value = mantissa * factor;
  if (value % scale != 0) {
    why = std::string("not a whole number of ") + base;
    return std::nullopt;
  }
  if (value / scale > kMaxU64) {
    why = "too large";
    return std::nullopt;
  }
  return static_cast<uint64_t>(value / scale);
}

// A number with the largest unit that leaves it whole.
std::string show(uint64_t v, const std::vector<Unit>& units) {
  const Unit* best = nullptr;
  for (const Unit& u : units) {
    if (v != 0 && v % u.factor == 0 && (best == nullptr || u.factor > best->factor)) best = &u;
  }
  if (best == nullptr) best = &units.front();
  return std::to_string(v / best->factor) + " " + best->name;
}

std::string range_text(uint64_t min, uint64_t max, uint64_t lowest,
                       const std::function<std::string(uint64_t)>& show) {
  if (min > lowest && max != kMaxU64) return ", " + show(min) + " .. " + show(max);
  if (min > lowest) return ", at least " + show(min);
  if (max != kMaxU64) return ", at most " + show(max);
  return "";
}

Value<uint64_t> quantity(std::vector<Unit> units, bool unit_optional, const char* base,
                         const std::string& what, uint64_t min, uint64_t max) {
  Value<uint64_t> v;
  v.expected = what + range_text(min, max, 0, [&](uint64_t x) { return show(x, units); });
  v.parse = [units, unit_optional, base, min, max](const std::string& s,
                                                   std::string& why) -> std::optional<uint64_t> {
    const auto x = parse_quantity(s, units, unit_optional, base, why);
    if (!x || (*x >= min && *x <= max)) return x;
    why = "out of range";
    return std::nullopt;
  };
  return v;
}

}  // namespace

std::string Error::str() const {
  std::string s = file;
  if (line > 0) s += ":" + std::to_string(line) + ":" + std::to_string(column);
  s += ": ";
  if (!key.empty()) s += "key '" + key + "': ";
  return s + text;
}

ScenarioError::ScenarioError(std::vector<Error> errors)
    : std::runtime_error(join_errors(errors)), errors_(std::move(errors)) {}

namespace detail {

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& c : candidates) {
    const size_t d = edit_distance(word, c);
    // A short word must not be turned into quite another one.
    if (d < best_distance && d < std::max(word.size(), c.size())) {
      best = c;
      best_distance = d;
    }
  }
  return best;
}

std::string join(const std::vector<std::string>& words) {
  std::string s;
  for (const std::string& w : words) s += (s.empty() ? "" : ", ") + w;
  return s;
}

}  // namespace detail

Value<uint64_t> unsigned_integer(uint64_t min, uint64_t max) {
  Value<uint64_t> v;
  v.expected =
      "a whole number" + range_text(min, max, 0, [](uint64_t x) { return std::to_string(x); });
  v.parse = [min, max](const std::string& s, std::string&) -> std::optional<uint64_t> {
    const auto x = parse_unsigned(s);
    return x && *x >= min && *x <= max ? x : std::nullopt;
  };
  return v;
}

Value<int64_t> signed_integer(int64_t min, int64_t max) {
  Value<int64_t> v;
  v.expected = "a whole number";
  if (min != std::numeric_limits<int64_t>::min() || max != std::numeric_limits<int64_t>::max()) {
    v.expected += ", " + std::to_string(min) + " .. " + std::to_string(max);
  }
  v.parse = [min, max](const std::string& s, std::string&) -> std::optional<int64_t> {
    const bool negative = !s.empty() && s[0] == '-';
    const auto x = parse_unsigned(negative ? s.substr(1) : s);
    if (!x) return std::nullopt;
    const auto limit = uint64_t{1} << 63;
    if (*x > (negative ? limit : limit - 1)) return std::nullopt;
    const auto n = static_cast<int64_t>(negative ? 0 - *x : *x);
    return n >= min && n <= max ? std::optional<int64_t>(n) : std::nullopt;
  };
  return v;
}

Value<uint64_t> power_of_two(uint64_t min, uint64_t max) {
  Value<uint64_t> v = unsigned_integer(min, max);
  v.expected =
      "a power of two" + range_text(min, max, 1, [](uint64_t x) { return std::to_string(x); });
  v.parse = [inner = v.parse](const std::string& s, std::string& why) -> std::optional<uint64_t> {
    const auto x = inner(s, why);
    return x && *x != 0 && (*x & (*x - 1)) == 0 ? x : std::nullopt;
  };
  return v;
}

Value<double> real(double min, double max) {
  Value<double> v;
  std::ostringstream expected;
  expected << "a number";
  if (min > -std::numeric_limits<double>::max() || max < std::numeric_limits<double>::max()) {
    expected << ", " << min << " .. " << max;
  }
  v.expected = expected.str();
  v.parse = [min, max](const std::string& s, std::string&) -> std::optional<double> {
    if (s.empty() || !(is_digit(s[0]) || s[0] == '-' || s[0] == '.')) return std::nullopt;
    if (s.find_first_of("xXnN") != std::string::npos) return std::nullopt;
    char* end = nullptr;
    const double x = std::strtod(s.c_str(), &end);
    if (end == s.c_str() || *end != '\0') return std::nullopt;
    return x >= min && x <= max ? std::optional<double>(x) : std::nullopt;
  };
  return v;
}

Value<double> probability() {
  Value<double> v;
  v.expected = "a probability, 0 .. 1 or 0 % .. 100 %";
  v.parse = [](const std::string& s, std::string& why) -> std::optional<double> {
    std::string digits = s;
    double scale = 1;
    if (!digits.empty() && digits.back() == '%') {
      digits.pop_back();
      while (!digits.empty() && digits.back() == ' ') digits.pop_back();
      scale = 100;
    }
    const auto x = real(0, scale).parse(digits, why);
    return x ? std::optional<double>(*x / scale) : std::nullopt;
  };
  return v;
}

Value<bool> boolean() {
  Value<bool> v;
  v.expected = "true or false";
  v.parse = [](const std::string& s, std::string&) -> std::optional<bool> {
    if (s == "true") return true;
    if (s == "false") return false;
    return std::nullopt;
  };
  return v;
}

Value<std::string> text() {
  Value<std::string> v;
  v.expected = "text";
  v.parse = [](const std::string& s, std::string&) -> std::optional<std::string> { return s; };
  return v;
}

Value<uint64_t> duration(uint64_t min, uint64_t max) {
  return quantity(
      {{"ps", 1}, {"ns", 1000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000}},
      false, "picoseconds", "a time such as '200 ns' (ps, ns, us, ms, s)", min, max);
}

Value<uint64_t> bit_rate(uint64_t min, uint64_t max) {
  return quantity({{"b/s", 1},
                   {"kb/s", 1000},
                   {"Mb/s", 1'000'000},
                   {"Gb/s", 1'000'000'000},
                   {"Tb/s", 1'000'000'000'000}},
                  false, "bits per second",
                  "a rate such as '400 Gb/s' (b/s, kb/s, Mb/s, Gb/s, Tb/s)", min, max);
}

Value<uint64_t> frequency(uint64_t min, uint64_t max) {
  return quantity({{"Hz", 1}, {"kHz", 1000}, {"MHz", 1'000'000}, {"GHz", 1'000'000'000}}, false,
                  "hertz", "a frequency such as '500 MHz' (Hz, kHz, MHz, GHz)", min, max);
}

Value<uint64_t> bytes(uint64_t min, uint64_t max) {
  return quantity({{"B", 1},
                   {"KiB", 1ull << 10},
                   {"MiB", 1ull << 20},
                   {"GiB", 1ull << 30},
                   {"TiB", 1ull << 40}},
                  true, "bytes", "a size such as '4 KiB' (B, KiB, MiB, GiB, TiB)", min, max);
}

Value<std::array<uint8_t, 6>> mac_address() {
  Value<std::array<uint8_t, 6>> v;
  v.expected = "a MAC address such as '02:00:00:00:00:01'";
  v.parse = [](const std::string& s, std::string&) -> std::optional<std::array<uint8_t, 6>> {
    std::array<uint8_t, 6> mac{};
    if (s.size() != 17) return std::nullopt;
    for (size_t i = 0; i < 6; ++i) {
      const auto hex = [&](size_t k) {
        return std::isxdigit(static_cast<unsigned char>(s[k])) != 0;
      };
      if (!hex(3 * i) || !hex(3 * i + 1) || (i < 5 && s[3 * i + 2] != ':')) return std::nullopt;
      mac[i] = static_cast<uint8_t>(std::strtoul(s.substr(3 * i, 2).c_str(), nullptr, 16));
    }
    return mac;
  };
  return v;
}

Value<std::array<uint8_t, 16>> ip_address() {
  Value<std::array<uint8_t, 16>> v;
  v.expected = "an IPv4 or IPv6 address";
  v.parse = [](const std::string& s, std::string&) -> std::optional<std::array<uint8_t, 16>> {
    std::array<uint8_t, 16> ip{};
    if (inet_pton(AF_INET, s.c_str(), &ip[12]) == 1) {
      ip[10] = ip[11] = 0xFF;
      return ip;
    }
    if (inet_pton(AF_INET6, s.c_str(), ip.data()) == 1) return ip;
    return std::nullopt;
  };
  return v;
}

Document Document::parse(const std::string& text, const std::string& name) {
  Document d;
  d.name_ = name;
  try {
    d.root_ = YAML::Load(text);
  } catch (const YAML::Exception& e) {
    throw ScenarioError({{name, e.mark.line + 1, e.mark.column + 1, "", "not YAML: " + e.msg}});
  }
  return d;
}

Document Document::load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw ScenarioError({{path, 0, 0, "", std::string("cannot open: ") + std::strerror(errno)}});
  if (std::filesystem::is_directory(path))
    throw ScenarioError({{path, 0, 0, "", "cannot read: is a directory"}});
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw ScenarioError({{path, 0, 0, "", "cannot read"}});
  return parse(text.str(), path);
}

void Document::set(const std::string& path, const std::string& value) {
  const auto bad = [&](const std::string& text) {
    return ScenarioError({{name_, 0, 0, path, text}});
  };
  set_.emplace_back(path, value);
  YAML::Node parsed;
  try {
    parsed = YAML::Load(value);
  } catch (const YAML::Exception& e) {
    throw bad("value '" + value + "' is not YAML: " + e.msg);
  }
  YAML::Node at = root_;
  size_t from = 0;
  while (true) {
    const size_t dot = path.find('.', from);
    const std::string step = path.substr(from, dot == std::string::npos ? dot : dot - from);
    if (step.empty()) throw bad("not a path");
    YAML::Node next;
    if (at.IsSequence()) {
      const auto i = parse_unsigned(step);
      if (!i || *i >= at.size()) {
        throw bad("'" + step + "' is not an index of a list of " + std::to_string(at.size()));
      }
      if (dot == std::string::npos) {
        at[*i] = parsed;
        return;
      }
      next.reset(at[*i]);
    } else if (at.IsMap() || at.IsNull() || !at.IsDefined()) {
      if (dot == std::string::npos) {
        at[step] = parsed;
        return;
      }
      if (!at[step]) at[step] = YAML::Node(YAML::NodeType::Map);
      next.reset(at[step]);
    } else {
      throw bad("'" + step + "' lies below a plain value");
    }
    at.reset(next);
    from = dot + 1;
  }
}

void Document::set(const std::string& assignment) {
  const size_t eq = assignment.find('=');
  if (eq == std::string::npos) {
    throw ScenarioError({{name_, 0, 0, "", "'" + assignment + "' is not of the form path=value"}});
  }
  set(assignment.substr(0, eq), assignment.substr(eq + 1));
}

void Document::error(const YAML::Node& at, const std::string& key, const std::string& text) {
  Error e{name_, 0, 0, key, text};
  // What was set from outside stands nowhere in the file.
  std::string dotted;
  for (char c : key) {
    if (c == '[')
      dotted += '.';
    else if (c != ']')
      dotted += c;
  }
  for (const auto& [path, value] : set_) {
    if (dotted == path || dotted.compare(0, path.size() + 1, path + ".") == 0)
      e.file = "--set " + path + "=" + value;
  }
  if (e.file == name_ && at.IsDefined()) {
    const YAML::Mark m = at.Mark();
    if (!m.is_null()) {
      e.line = m.line + 1;
      e.column = m.column + 1;
    } else if (set_.empty()) {
      e.line = e.column = 1;  // a file without anything in it
    }
  }
  errors_.push_back(std::move(e));
}

void Document::check() {
  if (open_readers_ != 0)
    throw std::logic_error("scenario: check() before the readers are finished");
  if (errors_.empty()) return;
  std::stable_sort(errors_.begin(), errors_.end(), [](const Error& a, const Error& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  throw ScenarioError(errors_);
}

Reader::Reader(Document& doc) : Reader(doc, doc.root_, "") {}

Reader::Reader(Document& doc, YAML::Node node, std::string path)
    : doc_(doc), node_(std::move(node)), path_(std::move(path)) {
  ++doc_.open_readers_;
  index();
}

void Reader::index() {
  if (!node_.IsDefined() || node_.IsNull()) return;  // an empty mapping
  if (!node_.IsMap()) {
    doc_.error(node_, path_,
               std::string("got a ") + (node_.IsSequence() ? "list" : "plain value") +
                   ", expected a mapping");
    return;
  }
  for (const auto& pair : node_) {
    if (!pair.first.IsScalar()) {
      doc_.error(pair.first, path_, "a key must be plain text");
      continue;
    }
    Entry e{pair.first.Scalar(), pair.first, pair.second, false};
    const bool twice = std::any_of(entries_.begin(), entries_.end(),
                                   [&](const Entry& x) { return x.key == e.key; });
    if (twice) {
      doc_.error(e.key_node, this->path(e.key), "given twice");
      continue;
    }
    entries_.push_back(std::move(e));
  }
}

bool Reader::has(const std::string& key) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& e) { return e.key == key; });
}

YAML::Node Reader::find(const std::string& key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.push_back(key);
  for (Entry& e : entries_) {
    if (e.key != key) continue;
    e.used = true;
    return e.value;
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

YAML::Node Reader::need(const std::string& key, bool required) {
  const YAML::Node n = find(key);
  if (!n.IsDefined() && required && (node_.IsMap() || node_.IsNull()))
    doc_.error(node_, path(key), "missing");
  return n;
}

YAML::Node Reader::key_node(const std::string& key) const {
  for (const Entry& e : entries_) {
    if (e.key == key) return e.key_node;
  }
  return node_;
}

bool Reader::scalar_text(const YAML::Node& n, const std::string& where, const std::string& expected,
                         std::string& out) {
  if (n.IsScalar()) {
    out = n.Scalar();
    return true;
  }
  const char* got = n.IsMap() ? "a mapping" : n.IsSequence() ? "a list" : "nothing";
  doc_.error(n, where, std::string("got ") + got + ", expected " + expected);
  return false;
}

void Reader::count_error(const YAML::Node& at, const std::string& key, size_t got, size_t min_count,
                         size_t max_count) {
  std::string want = std::to_string(min_count);
  if (max_count == std::numeric_limits<size_t>::max()) {
    want = "at least " + want;
  } else if (max_count != min_count) {
    want += " .. " + std::to_string(max_count);
  }
  doc_.error(at, path(key), "got " + std::to_string(got) + " entries, expected " + want);
}

bool Reader::child(const std::string& key, const std::function<void(Reader&)>& read,
                   bool required) {
  const YAML::Node n = need(key, required);
  if (!n.IsDefined()) return false;
  Reader r(doc_, n, path(key));
  if (n.IsMap() || n.IsNull()) read(r);
  return true;
}

bool Reader::each(const std::string& key, const std::function<void(Reader&, size_t)>& read,
                  size_t min_count, size_t max_count) {
  const YAML::Node n = need(key, min_count > 0);
  if (!n.IsDefined()) return false;
  if (!n.IsSequence()) {
    doc_.error(n, path(key),
               std::string("got a ") + (n.IsMap() ? "mapping" : "plain value") +
                   ", expected a list of mappings");
    return false;
  }
  if (n.size() < min_count || n.size() > max_count)
    count_error(n, key, n.size(), min_count, max_count);
  for (size_t i = 0; i < n.size(); ++i) {
    Reader r(doc_, n[i], path(key) + "[" + std::to_string(i) + "]");
    if (n[i].IsMap() || n[i].IsNull()) read(r, i);
  }
  return true;
}

bool Reader::each_named(const std::string& key,
                        const std::function<void(const std::string&, Reader&)>& read) {
  const YAML::Node n = find(key);
  if (!n.IsDefined()) return false;
  Reader names(doc_, n, path(key));
  for (const Entry& e : std::vector<Entry>(names.entries_)) {
    names.find(e.key);
    Reader r(doc_, e.value, names.path(e.key));
    if (e.value.IsMap() || e.value.IsNull()) read(e.key, r);
  }
  return true;
}

void Reader::error(const std::string& key, const std::string& text) {
  for (const Entry& e : entries_) {
    if (e.key == key) {
      doc_.error(e.value, path(key), text);
      return;
    }
  }
  doc_.error(node_, key.empty() ? path_ : path(key), text);
}

void Reader::finish() {
  if (finished_) return;
  finished_ = true;
  --doc_.open_readers_;
  if (!node_.IsDefined() || !(node_.IsMap() || node_.IsNull())) return;
  for (const Entry& e : entries_) {
    if (e.used) continue;
    std::string text = "unknown key";
    const std::string near = detail::nearest(e.key, asked_);
    if (!near.empty()) {
      text += "; did you mean '" + near + "'?";
    } else if (!asked_.empty()) {
      text += ", expected one of " + detail::join(asked_);
    }
    doc_.error(e.key_node, path(e.key), text);
  }
}

std::string Reader::where() const {
  const YAML::Mark m = node_.IsDefined() ? node_.Mark() : YAML::Mark::null_mark();
  return m.is_null() ? doc_.name_ : doc_.name_ + ":" + std::to_string(m.line + 1);
}

}  // namespace rnic::scenario
