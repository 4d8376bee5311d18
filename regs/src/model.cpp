// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

namespace rnic::regs {

std::uint64_t ones(unsigned width) { return width >= 64 ? ~0ULL : (1ULL << width) - 1; }

std::uint64_t Register::reset_value() const {
  std::uint64_t v = 0;
  for (const auto& f : fields) v |= (f.reset & ones(f.width)) << f.lsb;
  return v;
}

bool Register::writable() const {
  return std::any_of(fields.begin(), fields.end(), [](const Field& f) { return f.writable(); });
}

unsigned Block::addr_bits() const {
  unsigned bits = 3;
  while ((1ULL << bits) < size) ++bits;
  return bits;
}

std::string_view access_name(Access access) {
  switch (access) {
    case Access::kRw:
      return "rw";
    case Access::kRo:
      return "ro";
    case Access::kWt:
      return "wt";
    case Access::kPulse:
      return "pulse";
    case Access::kW1c:
      return "w1c";
  }
  return "?";
}

std::string_view hw_name(Hw hw) {
  switch (hw) {
    case Hw::kOut:
      return "out";
    case Hw::kIn:
      return "in";
    case Hw::kSet:
      return "set";
    case Hw::kInOut:
      return "inout";
    case Hw::kConst:
      return "const";
  }
  return "?";
}

std::string to_upper(std::string_view s) {
  std::string r(s);
  std::transform(r.begin(), r.end(), r.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return r;
}

std::string to_lower(std::string_view s) {
  std::string r(s);
  std::transform(r.begin(), r.end(), r.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return r;
}

std::string to_camel(std::string_view s) {
  std::string r;
  bool up = true;
  for (const char ch : s) {
    const auto c = static_cast<unsigned char>(ch);
    if (c == '_') {
      up = true;
      continue;
    }
    r += static_cast<char>(up ? std::toupper(c) : std::tolower(c));
    up = false;
  }
  return r;
}

std::uint32_t map_hash(const Map& map) {
  std::string t;
  auto out = std::back_inserter(t);
  fmt::format_to(out, "map {} {}.{}.{}\n", map.name, map.major, map.minor, map.patch);
  for (const auto& c : map.constants) fmt::format_to(out, "const {} {}\n", c.name, c.value);
  for (const auto& e : map.enums) {
    fmt::format_to(out, "enum {} {}\n", e.name, e.width);
    for (const auto& v : e.values) fmt::format_to(out, " {} {}\n", v.name, v.value);
  }
  for (const auto& b : map.blocks) {
    fmt::format_to(out, "block {} {} {} {} {}\n", b.name, b.bar, b.size, b.stride,
                   static_cast<int>(b.bad_access));
    for (const auto& r : b.registers) {
      fmt::format_to(out, " reg {} {} {} {} {}\n", r.name, r.offset, r.width, r.count, r.stride);
      for (const auto& f : r.fields) {
        fmt::format_to(out, "  {} {} {} {} {} {}\n", f.name, f.lsb, f.width, access_name(f.access),
                       hw_name(f.hw), f.is_map_hash ? 0 : f.reset);
      }
    }
    for (const auto& w : b.windows) {
      fmt::format_to(out, " window {} {} {} {}\n", w.name, w.offset, w.size, w.writable);
    }
  }
  for (const auto& c : map.counters) fmt::format_to(out, "counter {}\n", c.name);
  for (const auto& d : map.descriptors) {
    fmt::format_to(out, "descriptor {} {}\n", d.name, d.size);
    for (const auto& f : d.fields) {
      fmt::format_to(out, " {} {} {} {}\n", f.name, f.bit, f.width, f.bytes);
    }
  }
  std::uint32_t h = 0x811C9DC5U;
  for (const char c : t) h = (h ^ static_cast<unsigned char>(c)) * 0x01000193U;
  return h;
}

}  // namespace rnic::regs
