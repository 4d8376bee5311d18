// SPDX-License-Identifier: Apache-2.0
#include "decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "expr.hpp"

namespace rnic::regs {
namespace {

std::string without_comment(const std::string& line) { return line.substr(0, line.find('#')); }

std::string enum_text(const Map& map, const std::optional<std::size_t>& e, std::uint64_t v) {
  if (!e) return {};
  for (const auto& x : map.enums[*e].values) {
    if (x.value == v) return x.name;
  }
  return "?";
}

std::string value_text(const Map& map, const std::optional<std::size_t>& e, std::uint64_t v,
                       unsigned width) {
  const auto name = enum_text(map, e, v);
  const auto number = width <= 4 ? fmt::format("{}", v) : fmt::format("{:#x}", v);
  return name.empty() ? number : fmt::format("{}({})", name, number);
}

std::uint64_t field_value(std::span<const std::uint8_t> bytes, std::size_t base,
                          const DescField& f) {
  std::uint64_t v = 0;
  for (unsigned i = 0; i < f.width; ++i) {
    const unsigned bit = f.bit + i;
    v |= static_cast<std::uint64_t>(bytes[base + bit / 8] >> (bit % 8) & 1U) << i;
  }
  return v;
}

std::string fields_text(const Map& map, const Register& r, std::uint64_t v) {
  std::string s;
  for (const auto& f : r.fields) {
    const auto value = (v >> f.lsb) & ones(f.width);
    s += fmt::format(" {}={}", f.name, value_text(map, f.enum_index, value, f.width));
    if (f.is_map_hash && value != map.hash) s += fmt::format(" (of this map: {:#x})", map.hash);
  }
  return s;
}

std::map<std::uint64_t, std::uint32_t> parse_dump(const std::string& dump) {
  std::map<std::uint64_t, std::uint32_t> words;
  std::map<std::uint64_t, int> lines;
  std::istringstream in(dump);
  std::string line;
  for (int n = 1; std::getline(in, line); ++n) {
    line = without_comment(line);
    for (auto& c : line) {
      if (c == ':' || c == '=' || c == ',') c = ' ';
    }
    std::istringstream parts(line);
    std::string at, value, rest;
    if (!(parts >> at)) continue;
    if (!(parts >> value) || (parts >> rest)) {
      throw DecodeError(fmt::format("line {}: expected \"offset: value\"", n));
    }
    try {
      const auto none = [](const std::string&) { return std::nullopt; };
      const auto a = eval_expr(at, none);
      const auto v = eval_expr(value, none);
      if (v > 0xFFFFFFFFULL || a % 4 != 0) {
        throw DecodeError(
            fmt::format("line {}: an offset is a multiple of 4, a value has 32 bits", n));
      }
      const auto [line_of, fresh] = lines.emplace(a, n);
      if (!fresh) {
        throw DecodeError(fmt::format("line {}: {:#x} is in line {} too: decode one dump at a time",
                                      n, a, line_of->second));
      }
      words[a] = static_cast<std::uint32_t>(v);
    } catch (const ExprError& e) {
      throw DecodeError(fmt::format("line {}: {}", n, e.what()));
    }
  }
  return words;
}

}  // namespace

std::string decode_registers(const Map& map, const Block& block, const std::string& dump) {
  struct Place {
    const Register* reg;
    std::uint64_t elem;
    unsigned word;
  };
  std::map<std::uint64_t, Place> places;
  for (const auto& r : block.registers) {
    for (std::uint64_t i = 0; i < r.count; ++i) {
      for (unsigned w = 0; w < r.width / 32; ++w) {
        if (!r.readable() && places.contains(r.element_offset(i) + 4 * w)) continue;
        places[r.element_offset(i) + 4 * w] = {&r, i, w};
      }
    }
  }
  const auto words = parse_dump(dump);
  std::string text;
  auto out = std::back_inserter(text);
  for (const auto& [at, v] : words) {
    if (const auto it = places.find(at); it != places.end()) {
      const auto& [r, i, w] = it->second;
      const auto name = r->name + r->element_suffix(i);
      if (r->width == 32) {
        fmt::format_to(out, "{:#010x} {} = {:#010x} {}\n", at, name, v, fields_text(map, *r, v));
        continue;
      }
      const auto other = words.find(w == 0 ? at + 4 : at - 4);
      if (other == words.end()) {
        fmt::format_to(out, "{:#010x} {} {} word = {:#010x}\n", at, name, w == 0 ? "low" : "high",
                       v);
      } else if (w == 0) {
        const std::uint64_t whole = v | static_cast<std::uint64_t>(other->second) << 32;
        fmt::format_to(out, "{:#010x} {} = {:#018x} {}\n", at, name, whole,
                       fields_text(map, *r, whole));
      }
      continue;
    }
    const Window* in_window = nullptr;
    for (const auto& w : block.windows) {
      if (at >= w.offset && at < w.offset + w.size) in_window = &w;
    }
    if (in_window == nullptr) {
      fmt::format_to(out, "{:#010x} (hole) = {:#010x}\n", at, v);
      continue;
    }
    const auto rel = at - in_window->offset;
    if (!in_window->holds_counters || rel / 8 >= map.counters.size()) {
      fmt::format_to(out, "{:#010x} {}+{:#x} = {:#010x}\n", at, in_window->name, rel, v);
      continue;
    }
    const auto& name = map.counters[rel / 8].name;
    const auto other = words.find(rel % 8 == 0 ? at + 4 : at - 4);
    if (other == words.end()) {
      fmt::format_to(out, "{:#010x} {} {} word = {:#010x}\n", at, name,
                     rel % 8 == 0 ? "low" : "high", v);
    } else if (rel % 8 == 0) {
      fmt::format_to(out, "{:#010x} {} = {}\n", at, name,
                     v | static_cast<std::uint64_t>(other->second) << 32);
    }
  }
  return text;
}

std::string decode_descriptor(const Map& map, const Descriptor& desc,
                              std::span<const std::uint8_t> bytes) {
  if (bytes.empty() || bytes.size() % desc.size != 0) {
    throw DecodeError(fmt::format("{} bytes are not a whole number of {} ({} bytes each)",
                                  bytes.size(), desc.name, desc.size));
  }
  std::string text;
  auto out = std::back_inserter(text);
  for (std::size_t base = 0; base < bytes.size(); base += desc.size) {
    fmt::format_to(out, "{} [{}]\n", desc.name, base / desc.size);
    auto fields = desc.fields;  // those of the variant that the tag chooses too
    for (const auto& u : desc.unions) {
      const auto tag = field_value(bytes, base, desc.fields[u.tag]);
      for (const auto& v : u.variants) {
        if (std::find(v.when.begin(), v.when.end(), tag) == v.when.end()) continue;
        fields.insert(fields.end(), v.fields.begin(), v.fields.end());
      }
    }
    for (const auto& f : fields) {
      if (f.bytes) {
        fmt::format_to(out, "  {} =", f.name);
        for (unsigned i = 0; i < f.width / 8; ++i) {
          fmt::format_to(out, " {:02x}", bytes[base + f.bit / 8 + i]);
        }
        fmt::format_to(out, "\n");
        continue;
      }
      const auto v = field_value(bytes, base, f);
      fmt::format_to(out, "  {} = {}\n", f.name, value_text(map, f.enum_index, v, f.width));
    }
  }
  return text;
}

std::vector<std::uint8_t> parse_hex_bytes(const std::string& text) {
  std::vector<std::uint8_t> bytes;
  std::istringstream in(text);
  std::string line;
  for (int n = 1; std::getline(in, line); ++n) {
    std::istringstream words(without_comment(line));
    std::string word;
    while (words >> word) {
      if (word.size() % 2 != 0) throw DecodeError(fmt::format("line {}: half a byte", n));
      for (std::size_t i = 0; i < word.size(); i += 2) {
        unsigned v = 0;
        for (std::size_t j = i; j < i + 2; ++j) {
          const auto c = static_cast<unsigned char>(word[j]);
          if (std::isxdigit(c) == 0) {
            throw DecodeError(fmt::format("line {}: '{}' is not hexadecimal", n, word));
          }
          v = v * 16 +
              static_cast<unsigned>(std::isdigit(c) ? c - '0' : std::tolower(c) - 'a' + 10);
        }
        bytes.push_back(static_cast<std::uint8_t>(v));
      }
    }
  }
  return bytes;
}

}  // namespace rnic::regs
