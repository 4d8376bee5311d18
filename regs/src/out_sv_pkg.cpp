// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "outputs.hpp"
#include "text.hpp"
#include "wrap.hpp"

namespace rnic::regs {
namespace {

std::string head(const Map& map, const std::string& purpose) {
  return fmt::format(
      "// SPDX-License-Identifier: Apache-2.0\n// {}\n//\n// {}\n"
      "/* verilator lint_off UNUSEDPARAM */\n/* verilator lint_off SYMRSVDWORD */\n",
      generated_note(map), purpose);
}

void emit_enums(const Map& map, std::string& text) {
  auto out = std::back_inserter(text);
  for (const auto& e : map.enums) {
    fmt::format_to(out, "\n  // {}\n", e.desc);
    for (const auto& v : e.values) {
      fmt::format_to(out, "  localparam logic [{}:0] {}_{} = {}'h{:x};\n", e.width - 1,
                     to_upper(e.name), v.name, e.width, v.value);
    }
  }
}

// Each variant of a union is a struct of its own, with the common fields.
std::vector<Descriptor> with_variants(const Map& map) {
  std::vector<Descriptor> list;
  for (const auto& d : map.descriptors) {
    list.push_back(d);
    for (const auto& u : d.unions) {
      for (const auto& v : u.variants) {
        auto x = d;
        x.name += "_" + v.name;
        x.desc = v.desc.empty() ? d.desc : v.desc;
        x.fields.insert(x.fields.end(), v.fields.begin(), v.fields.end());
        std::stable_sort(x.fields.begin(), x.fields.end(),
                         [](const DescField& a, const DescField& b) { return a.bit < b.bit; });
        list.push_back(std::move(x));
      }
    }
  }
  return list;
}

}  // namespace

std::string emit_sv_desc_pkg(const Map& map) {
  std::string text =
      head(map,
           "In-memory descriptors: bit 0 of a struct is bit 0 of byte 0 in memory, so "
           "`x = data[W-1:0]` reads one.");
  auto out = std::back_inserter(text);
  fmt::format_to(out, "package {}_desc_pkg;\n", map.name);
  emit_enums(map, text);
  for (const auto& d : with_variants(map)) {
    fmt::format_to(out, "\n  // {}\n", d.desc);
    fmt::format_to(out, "  localparam int unsigned {}_BYTES = {};\n", to_upper(d.name), d.size);
    fmt::format_to(out, "  localparam int unsigned {}_W = {};\n", to_upper(d.name), d.size * 8);
    fmt::format_to(out, "  typedef struct packed {{\n");
    unsigned top = static_cast<unsigned>(d.size * 8);
    unsigned n_gap = 0;
    const auto gap = [&](unsigned from, unsigned to) {  // bits from..to-1
      if (from < to) {
        fmt::format_to(out, "    logic {}rsvd{};\n", sv_range(to - from), n_gap++);
      }
    };
    for (auto it = d.fields.rbegin(); it != d.fields.rend(); ++it) {
      gap(it->end(), top);
      fmt::format_to(out, "    logic {}{};  // {}..{}\n", sv_range(it->width), it->sv_name,
                     it->end() - 1, it->bit);
      top = it->bit;
    }
    gap(0, top);
    fmt::format_to(out, "  }} {}_t;\n", d.name);
  }
  fmt::format_to(
      out,
      "\nendpackage\n/* verilator lint_on UNUSEDPARAM */\n/* verilator lint_on SYMRSVDWORD */\n");
  return wrap_sv(text);
}

std::string emit_sv_regs_pkg(const Map& map) {
  std::string text = head(map, "Register offsets, constants and counter indices.");
  auto out = std::back_inserter(text);
  fmt::format_to(out, "package {}_regs_pkg;\n\n", map.name);
  fmt::format_to(out, "  localparam int unsigned VERSION_MAJOR = {};\n", map.major);
  fmt::format_to(out, "  localparam int unsigned VERSION_MINOR = {};\n", map.minor);
  fmt::format_to(out, "  localparam int unsigned VERSION_PATCH = {};\n", map.patch);
  fmt::format_to(out, "  localparam logic [31:0] MAP_HASH = 32'h{:08x};\n", map.hash);
  if (!map.constants.empty()) fmt::format_to(out, "\n");
  for (const auto& c : map.constants) {
    if (c.value > 0xFFFFFFFFULL) {
      fmt::format_to(out, "  localparam logic [63:0] {} = 64'h{:x};  // {}\n", c.name, c.value,
                     c.desc);
    } else {
      fmt::format_to(out, "  localparam int unsigned {} = 32'h{:x};  // {}\n", c.name, c.value,
                     c.desc);
    }
  }
  for (const auto& b : map.blocks) {
    const auto bu = to_upper(b.name);
    fmt::format_to(out, "\n  // Block {}, BAR{}: {}\n", b.name, b.bar, b.desc);
    fmt::format_to(out, "  localparam int unsigned {}_ADDR_W = {};\n", bu, b.addr_bits());
    for (const auto& r : b.registers) {
      const auto ru = fmt::format("{}_{}", bu, r.name);
      fmt::format_to(out, "  localparam logic [31:0] {}_OFFSET = 32'h{:x};\n", ru, r.offset);
      if (r.is_array) {
        fmt::format_to(out, "  localparam int unsigned {}_COUNT = {};\n", ru, r.count);
        fmt::format_to(out, "  localparam int unsigned {}_STRIDE = {};\n", ru, r.stride);
        for (std::size_t k = 0; r.dims.size() > 1 && k < r.dims.size(); ++k) {
          fmt::format_to(out, "  localparam int unsigned {}_COUNT_{} = {};\n", ru, k,
                         r.dims[k].count);
          fmt::format_to(out, "  localparam int unsigned {}_STRIDE_{} = {};\n", ru, k,
                         r.dims[k].stride);
        }
      }
      fmt::format_to(out, "  localparam logic [{}:0] {}_RESET = {}'h{:x};\n", r.width - 1, ru,
                     r.width, r.reset_value());
      for (const auto& f : r.fields) {
        const auto fu = fmt::format("{}_{}", ru, to_upper(f.name));
        fmt::format_to(out, "  localparam int unsigned {}_LSB = {};\n", fu, f.lsb);
        fmt::format_to(out, "  localparam int unsigned {}_W = {};\n", fu, f.width);
      }
    }
    for (const auto& w : b.windows) {
      const auto wu = fmt::format("{}_{}", bu, w.name);
      fmt::format_to(out, "  localparam logic [31:0] {}_OFFSET = 32'h{:x};\n", wu, w.offset);
      fmt::format_to(out, "  localparam int unsigned {}_SIZE = 32'h{:x};\n", wu, w.size);
    }
  }
  fmt::format_to(out, "\n  localparam int unsigned N_COUNTERS = {};\n", map.counters.size());
  for (std::size_t i = 0; i < map.counters.size(); ++i) {
    fmt::format_to(out, "  localparam int unsigned CNT_{} = {};  // {}\n",
                   to_upper(map.counters[i].name), i, map.counters[i].desc);
  }
  fmt::format_to(
      out,
      "\nendpackage\n/* verilator lint_on UNUSEDPARAM */\n/* verilator lint_on SYMRSVDWORD */\n");
  return wrap_sv(text);
}

}  // namespace rnic::regs
