// SPDX-License-Identifier: Apache-2.0
//
// IP-XACT (IEEE 1685-2014): one component, a memory map for each block, address blocks of registers
// between those of the windows.
#include <fmt/format.h>

#include <algorithm>

#include "hierarchy.hpp"
#include "outputs.hpp"
#include "xml_extension.hpp"

namespace rnic::regs {
namespace {

constexpr std::string_view kUri = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014";

std::string sv_hex(std::uint64_t v) { return fmt::format("'h{:x}", v); }

class Ipxact {
 public:
  explicit Ipxact(const Map& map) : map_(map), x_("ipxact:") {}

  std::string run() {
    x_.head(generated_note(map_));
    x_.open("component", Attributes()
                             .add("xmlns:ipxact", kUri)
                             .add("xmlns:regs", kExtensionUri)
                             .add("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance")
                             .add("xsi:schemaLocation", fmt::format("{0} {0}/index.xsd", kUri)));
    x_.leaf("vendor", "rnic-regs");
    x_.leaf("library", "registers");
    x_.leaf("name", map_.name);
    x_.leaf("version", fmt::format("{}.{}.{}", map_.major, map_.minor, map_.patch));
    if (!map_.blocks.empty()) {
      x_.open("memoryMaps");
      for (const auto& b : map_.blocks) memory_map(b);
      x_.close();
    }
    x_.leaf_if("description", map_.desc);
    x_.open("vendorExtensions");
    write_map_extension(x_, map_);
    x_.close();
    x_.close();
    return x_.take();
  }

 private:
  void named(std::string_view name, std::string_view desc) {
    x_.leaf("name", name);
    x_.leaf_if("description", desc);
  }

  void extend(std::string_view tag, const Attributes& a) {
    if (a.none()) return;
    x_.open("vendorExtensions");
    x_.empty(tag, a);
    x_.close();
  }

  void memory_map(const Block& b) {
    x_.open("memoryMap");
    named(b.name, b.desc);
    address_blocks(b);
    x_.leaf("addressUnitBits", 8U);
    x_.open("vendorExtensions");
    x_.empty("regs:block", block_extension(b));
    for (const auto& i : b.interrupts) write_interrupt_extension(x_, i);
    x_.close();
    x_.close();
  }

  // Windows cut the address space; the registers of each piece are an address block.
  void address_blocks(const Block& b) {
    auto tree = register_tree(b);
    std::stable_sort(tree.begin(), tree.end(),
                     [](const RegNode& p, const RegNode& q) { return p.offset < q.offset; });
    std::vector<const Window*> windows, inside;
    for (const auto& w : b.windows) (in_gap(tree, w) ? inside : windows).push_back(&w);
    std::sort(windows.begin(), windows.end(),
              [](const Window* p, const Window* q) { return p->offset < q->offset; });
    auto node = tree.begin();
    std::uint64_t from = 0;
    unsigned n = 0;
    for (std::size_t i = 0; i <= windows.size(); ++i) {
      const auto to = i < windows.size() ? windows[i]->offset : b.size;
      const auto first = node;
      while (node != tree.end() && node->offset < to) ++node;
      if (node != first) registers_block(b, n++, from, to, {first, node}, inside);
      if (i == windows.size()) break;
      window_block(*windows[i]);
      from = windows[i]->offset + windows[i]->size;
    }
  }

  // Between the elements of an array there is no place for an address block.
  static bool in_gap(const std::vector<RegNode>& tree, const Window& w) {
    return std::any_of(tree.begin(), tree.end(),
                       [&](const RegNode& n) { return n.offset < w.offset && w.offset < n.end(); });
  }

  void registers_block(const Block& b, unsigned n, std::uint64_t from, std::uint64_t to,
                       const std::vector<RegNode>& list, const std::vector<const Window*>& inside) {
    x_.open("addressBlock");
    named(n == 0 ? b.name : fmt::format("{}__{}", b.name, n), b.desc);
    x_.leaf("baseAddress", sv_hex(from));
    x_.leaf("range", sv_hex(to - from));
    x_.leaf("width", widest(list));
    x_.leaf("usage", "register");
    for (const auto& node : list) write(node, node.offset - from);
    for (const auto* w : inside) {
      if (w->offset >= from && w->offset < to) window_register(*w, from);
    }
    x_.close();
  }

  // An address block is as wide as its widest register.
  static unsigned widest(const std::vector<RegNode>& list) {
    unsigned width = 32;
    for (const auto& n : list) {
      width = std::max(width, n.reg != nullptr ? n.reg->width : widest(n.inside));
    }
    return width;
  }

  void window_block(const Window& w) {
    x_.open("addressBlock");
    named(w.name, w.desc);
    x_.leaf("baseAddress", sv_hex(w.offset));
    x_.leaf("range", sv_hex(w.size));
    x_.leaf("width", 32U);
    x_.leaf("usage", "memory");
    x_.leaf("access", w.writable ? "read-write" : "read-only");
    extend("regs:window", window_extension(w));
    x_.close();
  }

  void window_register(const Window& w, std::uint64_t from) {
    x_.open("register");
    named(w.name, w.desc);
    x_.leaf("dim", w.size / 4);
    x_.leaf("addressOffset", sv_hex(w.offset - from));
    x_.leaf("size", 32U);
    x_.leaf("access", w.writable ? "read-write" : "read-only");
    x_.open("field");
    x_.leaf("name", "data");
    x_.leaf("bitOffset", 0U);
    x_.leaf("bitWidth", 32U);
    x_.close();
    extend("regs:window", window_extension(w));
    x_.close();
  }

  void write(const RegNode& n, std::uint64_t offset) {
    if (n.file != nullptr) {
      register_file(n, offset);
    } else if (!n.dim || n.dim->stride == n.size) {
      write_register(n, n.name(), offset, n.dim ? n.dim->count : 0, register_extension(*n.reg));
    } else {  // there is no stride in this standard
      for (std::uint64_t i = 0; i < n.dim->count; ++i) {
        auto a = register_extension(*n.reg);
        a.add("elementOf", n.name()).number("index", i);
        a.number("count", n.dim->count).hex("stride", n.dim->stride);
        write_register(n, fmt::format("{}__{}", n.name(), i), offset + i * n.dim->stride, 0, a);
      }
    }
  }

  void register_file(const RegNode& n, std::uint64_t offset) {
    x_.open("registerFile");
    named(n.name(), n.file->desc);
    if (n.dim) x_.leaf("dim", n.dim->count);
    x_.leaf("addressOffset", sv_hex(offset));
    x_.leaf("range", sv_hex(n.size));
    for (const auto& x : n.inside) write(x, x.offset);
    x_.close();
  }

  void write_register(const RegNode& n, std::string_view name, std::uint64_t offset,
                      std::uint64_t dim, const Attributes& extension) {
    const auto& r = *n.reg;
    x_.open("register");
    named(name, r.desc);
    if (dim != 0) x_.leaf("dim", dim);
    x_.leaf("addressOffset", sv_hex(offset));
    x_.leaf("size", r.width);
    for (const auto& f : r.fields) field(r, f);
    extend("regs:register", extension);
    x_.close();
  }

  void field(const Register& r, const Field& f) {
    x_.open("field");
    named(f.name, f.desc);
    x_.leaf("bitOffset", f.lsb);
    if (!f.hw.in && !f.hw.inout && !r.external) {
      x_.open("resets");
      x_.open("reset");
      x_.leaf("value", sv_hex(f.reset));
      x_.close();
      x_.close();
    }
    x_.leaf("bitWidth", f.width);
    if (is_volatile(r, f)) x_.leaf("volatile", "true");
    x_.leaf("access", access_word(f.access));
    if (f.enum_index) values(map_.enums[*f.enum_index]);
    x_.leaf_if("modifiedWriteValue", write_word(f.access));
    x_.leaf_if("readAction", read_word(f.access));
    extend("regs:field", field_extension(r, f));
    x_.close();
  }

  void values(const Enum& e) {
    if (e.values.empty()) return;
    x_.open("enumeratedValues");
    for (const auto& v : e.values) {
      x_.open("enumeratedValue");
      named(v.name, v.desc);
      x_.leaf("value", sv_hex(v.value));
      x_.close();
    }
    x_.close();
  }

  const Map& map_;
  Xml x_;
};

}  // namespace

void out_ipxact(const Map& map, OutFiles& files) {
  files.push_back({OutDir::kSoftware, map.name + "_regs.ipxact.xml", Ipxact(map).run()});
}

}  // namespace rnic::regs
