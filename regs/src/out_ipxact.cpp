// SPDX-License-Identifier: Apache-2.0
//
// IP-XACT (IEEE 1685-2014): one component, a memory map for each block, address blocks of registers
// between those of the windows.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

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

  // A node, or one element of an array that has to be written element by element: this standard
  // has no stride.
  struct Piece {
    const RegNode* node;
    std::uint64_t offset;
    std::optional<std::uint64_t> element;

    [[nodiscard]] std::string name() const {
      return element ? fmt::format("{}__{}", node->name(), *element) : node->name();
    }
    [[nodiscard]] std::uint64_t dim() const { return element || !node->dim ? 0 : node->dim->count; }
    // What an element is one of, for the extensions.
    void tell(Attributes& a) const {
      if (!element) return;
      a.add("elementOf", node->name()).number("index", *element);
      a.number("count", node->dim->count).hex("stride", node->dim->stride);
    }
  };

  static std::vector<Piece> pieces(const std::vector<RegNode>& list) {
    std::vector<Piece> all;
    for (const auto& n : list) {
      const bool whole = n.file != nullptr ? !n.crowded : !n.dim || n.dim->stride == n.size;
      if (!n.dim || whole) {
        all.push_back({&n, n.offset, {}});
        continue;
      }
      for (std::uint64_t i = 0; i < n.dim->count; ++i) {
        all.push_back({&n, n.offset + i * n.dim->stride, i});
      }
    }
    return all;
  }

  // Windows cut the address space; the registers of each piece are an address block.
  void address_blocks(const Block& b) {
    const auto tree = register_tree(b);
    auto list = pieces(tree);
    std::stable_sort(list.begin(), list.end(),
                     [](const Piece& p, const Piece& q) { return p.offset < q.offset; });
    std::vector<const Window*> windows, inside;
    for (const auto& w : b.windows) (in_file(list, w) ? inside : windows).push_back(&w);
    std::sort(windows.begin(), windows.end(),
              [](const Window* p, const Window* q) { return p->offset < q->offset; });
    auto piece = list.begin();
    std::uint64_t from = 0;
    unsigned n = 0;
    for (std::size_t i = 0; i <= windows.size(); ++i) {
      const auto to = i < windows.size() ? windows[i]->offset : b.size;
      const auto first = piece;
      while (piece != list.end() && piece->offset < to) ++piece;
      if (piece != first) registers_block(b, n++, from, to, {first, piece}, inside);
      if (i == windows.size()) break;
      window_block(*windows[i]);
      from = windows[i]->offset + windows[i]->size;
    }
  }

  // In an element of a register file there is no place for an address block.
  static bool in_file(const std::vector<Piece>& list, const Window& w) {
    return std::any_of(list.begin(), list.end(), [&](const Piece& p) {
      return p.offset < w.offset && w.offset < p.offset + p.node->body;
    });
  }

  void registers_block(const Block& b, unsigned n, std::uint64_t from, std::uint64_t to,
                       const std::vector<Piece>& list, const std::vector<const Window*>& inside) {
    x_.open("addressBlock");
    named(n == 0 ? b.name : fmt::format("{}__{}", b.name, n), b.desc);
    x_.leaf("baseAddress", sv_hex(from));
    x_.leaf("range", sv_hex(to - from));
    unsigned width = 32;  // an address block is as wide as its widest register
    for (const auto& p : list) width = std::max(width, widest(*p.node));
    x_.leaf("width", width);
    x_.leaf("usage", "register");
    for (const auto& p : list) write(p, p.offset - from);
    for (const auto* w : inside) {
      if (w->offset >= from && w->offset < to) window_register(*w, from);
    }
    x_.close();
  }

  static unsigned widest(const RegNode& n) {
    if (n.reg != nullptr) return n.reg->width;
    unsigned width = 0;
    for (const auto& x : n.inside) width = std::max(width, widest(x));
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

  void write(const Piece& p, std::uint64_t offset) {
    if (p.node->file != nullptr) {
      register_file(p, offset);
    } else {
      write_register(p, offset);
    }
  }

  void register_file(const Piece& p, std::uint64_t offset) {
    x_.open("registerFile");
    named(p.name(), p.node->file->desc);
    if (p.dim() != 0) x_.leaf("dim", p.dim());
    x_.leaf("addressOffset", sv_hex(offset));
    x_.leaf("range", sv_hex(p.node->size));
    for (const auto& x : pieces(p.node->inside)) write(x, x.offset);
    Attributes a;
    p.tell(a);
    extend("regs:registerFile", a);
    x_.close();
  }

  void write_register(const Piece& p, std::uint64_t offset) {
    const auto& r = *p.node->reg;
    x_.open("register");
    named(p.name(), r.desc);
    if (p.dim() != 0) x_.leaf("dim", p.dim());
    x_.leaf("addressOffset", sv_hex(offset));
    x_.leaf("size", r.width);
    for (const auto& f : r.fields) field(r, f);
    auto a = register_extension(r);
    p.tell(a);
    extend("regs:register", a);
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
