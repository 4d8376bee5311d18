// SPDX-License-Identifier: Apache-2.0
//
// The identity of a map. What is not used in a map adds nothing to its text, so that the hash of a
// map stays when the generator learns more.
#include <fmt/format.h>

#include <iterator>

#include "model.hpp"

namespace rnic::regs {
namespace {

class HashText {
 public:
  std::string run(const Map& map) {
    add("map {} {}.{}.{}\n", map.name, map.major, map.minor, map.patch);
    for (const auto& c : map.constants) add("const {} {}\n", c.name, c.value);
    for (const auto& e : map.enums) {
      add("enum {} {}\n", e.name, e.width);
      for (const auto& v : e.values) add(" {} {}\n", v.name, v.value);
    }
    for (const auto& b : map.blocks) block(b);
    for (const auto& c : map.counters) add("counter {}\n", c.name);
    for (const auto& d : map.descriptors) descriptor(d);
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> f, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), f, std::forward<Args>(args)...);
  }

  void block(const Block& b) {
    add("block {} {} {} {} {}\n", b.name, b.bar, b.size, b.stride, static_cast<int>(b.bad_access));
    for (const auto& r : b.registers) {
      add(" reg {} {} {} {} {}\n", r.name, r.offset, r.width, r.count,
          r.dims.empty() ? r.width / 8 : r.stride);
      if (r.dims.size() > 1) {
        for (const auto& d : r.dims) add("  dim {} {}\n", d.count, d.stride);
      }
      if (r.external) add("  external\n");
      if (r.width == 64 && !r.buffered) add("  unbuffered\n");
      for (const auto& f : r.fields) field(f);
    }
    for (const auto& w : b.windows) {
      add(" window {} {} {} {}\n", w.name, w.offset, w.size, w.writable);
    }
  }

  static std::string hw(const Field& f) {
    if (f.is_const) return "const";
    if (f.hw.in && !f.hw.rd_pulse) return "in";
    if (f.hw.inout) return "inout";
    if (f.access == Access::kW1c && hw_text(f.hw) == "out set") return "set";
    return hw_text(f.hw);
  }

  void field(const Field& f) {
    add("  {} {} {} {} {} {}\n", f.name, f.lsb, f.width, access_name(f.access), hw(f),
        f.is_map_hash ? 0 : f.reset);
    if (f.collision != Collision::kHardware) add("   software first\n");
    if (f.lock) add("   lock {} {}\n", f.lock->by, f.lock->when);
    if (f.counter) {
      const auto& c = *f.counter;
      add("   counts {} {} {} {} {}\n", c.incr_width, c.decr_width, c.saturate, c.max,
          c.threshold.value_or(0));
    }
  }

  void desc_field(const DescField& f) { add(" {} {} {} {}\n", f.name, f.bit, f.width, f.bytes); }

  void descriptor(const Descriptor& d) {
    add("descriptor {} {}\n", d.name, d.size);
    for (const auto& f : d.fields) desc_field(f);
    for (const auto& u : d.unions) {
      for (const auto& v : u.variants) {
        add(" variant {} {}", u.by, v.name);
        for (const auto w : v.when) add(" {}", w);
        add("\n");
        for (const auto& f : v.fields) desc_field(f);
      }
    }
  }

  std::string text_;
};

}  // namespace

std::uint32_t map_hash(const Map& map) {
  std::uint32_t h = 0x811C9DC5U;
  for (const char c : HashText().run(map)) h = (h ^ static_cast<unsigned char>(c)) * 0x01000193U;
  return h;
}

}  // namespace rnic::regs
