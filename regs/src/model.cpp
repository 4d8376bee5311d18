// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace rnic::regs {

SourcePos Located::at(std::string_view key) const {
  for (const auto& [name, place] : keys) {
    if (name == key) return place;
  }
  return pos;
}

bool Located::gave(std::string_view key) const {
  return std::any_of(keys.begin(), keys.end(), [&](const auto& k) { return k.first == key; });
}

std::uint64_t ones(unsigned width) { return width >= 64 ? ~0ULL : (1ULL << width) - 1; }

bool Field::rmw_hurts() const {
  const auto& info = access_info(access);
  if (info.on_read != OnRead::kNone || hw.inout || access == Access::kWt) return true;
  if (info.on_write == OnWrite::kNone) return false;
  // What hardware changes between the read and the write would be undone.
  return info.on_write != OnWrite::kStore || !info.readable || hw_changes() ||
         access == Access::kRwOnce;
}

std::uint64_t Register::element_offset(std::uint64_t i) const {
  std::uint64_t at = offset;
  for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
    at += (i % d->count) * d->stride;
    i /= d->count;
  }
  return at;
}

std::string Register::element_suffix(std::uint64_t i) const {
  std::string s;
  for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
    s.insert(0, fmt::format("[{}]", i % d->count));
    i /= d->count;
  }
  return s;
}

std::uint64_t Register::reset_value() const {
  std::uint64_t v = 0;
  for (const auto& f : fields) v |= (f.reset & ones(f.width)) << f.lsb;
  return v;
}

bool Register::readable() const {
  return std::any_of(fields.begin(), fields.end(), [](const Field& f) { return f.readable(); });
}

bool Register::writable() const {
  return std::any_of(fields.begin(), fields.end(), [](const Field& f) { return f.writable(); });
}

bool Register::rmw_hurts() const {
  return std::any_of(fields.begin(), fields.end(), [](const Field& f) { return f.rmw_hurts(); });
}

unsigned Block::addr_bits() const {
  unsigned bits = 3;
  while ((1ULL << bits) < size) ++bits;
  return bits;
}

const Block* find_block(const Map& map, std::string_view name) {
  for (const auto& b : map.blocks) {
    if (b.name == name) return &b;
  }
  return nullptr;
}

const Descriptor* find_descriptor(const Map& map, std::string_view name) {
  for (const auto& d : map.descriptors) {
    if (d.name == name) return &d;
  }
  return nullptr;
}

std::string hw_text(const HwPorts& hw) {
  std::string s;
  const auto add = [&](bool has, const char* word) {
    if (has) s += (s.empty() ? "" : " ") + std::string(word);
  };
  add(hw.out, "out");
  add(hw.in, "in");
  add(hw.write, "we");
  add(hw.set, "set");
  add(hw.clear, "clear");
  add(hw.inout, "inout");
  add(hw.wr_pulse, "wr_pulse");
  add(hw.rd_pulse, "rd_pulse");
  return s.empty() ? "none" : s;
}

std::string_view irq_kind_name(IrqKind kind) {
  switch (kind) {
    case IrqKind::kPulse:
      return "pulse";
    case IrqKind::kRising:
      return "rising";
    case IrqKind::kFalling:
      return "falling";
    case IrqKind::kBoth:
      return "both";
    case IrqKind::kLevel:
      return "level";
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

}  // namespace rnic::regs
