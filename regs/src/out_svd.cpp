// SPDX-License-Identifier: Apache-2.0
//
// CMSIS-SVD 1.3: one device, a peripheral for each block, clusters for register files. Offsets
// count from the block, since each block stands in an address space (a BAR) of its own.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hierarchy.hpp"
#include "outputs.hpp"
#include "xml_extension.hpp"

namespace rnic::regs {
namespace {

std::string hex(std::uint64_t v) { return fmt::format("{:#x}", v); }

class Svd {
 public:
  explicit Svd(const Map& map) : map_(map), x_("") {}

  std::string run() {
    x_.head(generated_note(map_));
    x_.open("device", Attributes()
                          .add("schemaVersion", "1.3")
                          .add("xmlns:xs", "http://www.w3.org/2001/XMLSchema-instance")
                          .add("xmlns:regs", kExtensionUri)
                          .add("xs:noNamespaceSchemaLocation", "CMSIS-SVD.xsd"));
    x_.leaf("name", map_.name);
    x_.leaf("version", fmt::format("{}.{}.{}", map_.major, map_.minor, map_.patch));
    x_.leaf("description", map_.desc.empty() ? map_.name : map_.desc);
    x_.leaf("addressUnitBits", 8U);
    x_.leaf("width", widest());
    x_.open("peripherals");
    for (const auto& b : map_.blocks) peripheral(b);
    x_.close();
    x_.open("vendorExtensions");
    extension();
    x_.close();
    x_.close();
    return x_.take();
  }

 private:
  // No register of the device may be wider than this.
  unsigned widest() const {
    unsigned width = 32;
    for (const auto& b : map_.blocks) {
      for (const auto& r : b.registers) width = std::max(width, r.width);
    }
    return width;
  }

  void peripheral(const Block& b) {
    x_.open("peripheral");
    x_.leaf("name", b.name);
    x_.leaf_if("description", b.desc);
    if (&b != &map_.blocks[0]) x_.leaf("alternatePeripheral", map_.blocks[0].name);
    x_.leaf("baseAddress", "0x0");
    address_blocks(b);
    if (!b.registers.empty()) {
      x_.open("registers");
      Seen seen;
      for (const auto& n : register_tree(b)) write(n, seen);
      x_.close();
    }
    x_.close();
  }

  // All but the windows is registers.
  void address_blocks(const Block& b) {
    std::map<std::uint64_t, std::uint64_t> windows;
    for (const auto& w : b.windows) windows[w.offset] = w.size;
    std::uint64_t from = 0;
    for (const auto& [offset, size] : windows) {
      if (offset > from) address_block(from, offset - from, "registers");
      address_block(offset, size, "buffer");
      from = offset + size;
    }
    if (from < b.size) address_block(from, b.size - from, "registers");
  }

  void address_block(std::uint64_t offset, std::uint64_t size, std::string_view usage) {
    x_.open("addressBlock");
    x_.leaf("offset", hex(offset));
    x_.leaf("size", hex(size));
    x_.leaf("usage", usage);
    x_.close();
  }

  void dim(const RegNode& n) {
    if (!n.dim) return;
    x_.leaf("dim", n.dim->count);
    x_.leaf("dimIncrement", hex(n.dim->stride));
  }
  // The elements of an array, [%s], follow each other without gaps; with gaps they are a list, and
  // so are files with something else between them.
  static std::string name(const RegNode& n) {
    if (!n.dim) return n.name();
    return n.name() +
           (n.crowded || (n.reg != nullptr && n.dim->stride != n.size) ? "__%s" : "[%s]");
  }

  // Who is at an address; two registers are where one is only read and the other only written.
  using Seen = std::map<std::uint64_t, std::string>;

  // The register that was described before at an address of this one.
  static std::string take_addresses(const RegNode& n, Seen& seen) {
    if (n.reg->readable() && n.reg->writable()) return "";
    std::string other;
    for (std::uint64_t i = 0; i < (n.dim ? n.dim->count : 1); ++i) {
      const auto at = n.offset + i * (n.dim ? n.dim->stride : 0);
      for (std::uint64_t word = 0; word < n.size; word += 4) {
        const auto [place, fresh] = seen.emplace(at + word, name(n));
        if (!fresh) other = place->second;
      }
    }
    return other;
  }

  void write(const RegNode& n, Seen& seen) {
    if (n.file != nullptr) {
      cluster(n);
      return;
    }
    const auto& r = *n.reg;
    x_.open("register");
    dim(n);
    x_.leaf("name", name(n));
    x_.leaf_if("description", r.desc);
    x_.leaf_if("alternateRegister", take_addresses(n, seen));
    x_.leaf("addressOffset", hex(n.offset));
    x_.leaf("size", r.width);
    std::uint64_t known = 0;
    for (const auto& f : r.fields) {
      if (!f.hw.in && !f.hw.inout && !r.external) known |= ones(f.width) << f.lsb;
    }
    x_.leaf("resetValue", hex(r.reset_value()));
    x_.leaf("resetMask", hex(known));
    x_.open("fields");
    for (const auto& f : r.fields) field(f);
    x_.close();
    x_.close();
  }

  void cluster(const RegNode& n) {
    x_.open("cluster");
    dim(n);
    x_.leaf("name", name(n));
    x_.leaf("description", n.file->desc);
    x_.leaf("addressOffset", hex(n.offset));
    Seen seen;
    for (const auto& x : n.inside) write(x, seen);
    x_.close();
  }

  void field(const Field& f) {
    x_.open("field");
    x_.leaf("name", f.name);
    x_.leaf_if("description", f.desc);
    x_.leaf("bitOffset", f.lsb);
    x_.leaf("bitWidth", f.width);
    x_.leaf("access", access_word(f.access));
    x_.leaf_if("modifiedWriteValues", write_word(f.access));
    x_.leaf_if("readAction", read_word(f.access));
    if (f.enum_index) values(map_.enums[*f.enum_index]);
    x_.close();
  }

  void values(const Enum& e) {
    if (e.values.empty()) return;
    x_.open("enumeratedValues");
    x_.leaf("name", e.name);
    for (const auto& v : e.values) {
      x_.open("enumeratedValue");
      x_.leaf("name", v.name);
      x_.leaf_if("description", v.desc);
      x_.leaf("value", hex(v.value));
      x_.close();
    }
    x_.close();
  }

  // The format takes extensions only at the end: "of" names what they belong to.
  void extension() {
    write_map_extension(x_, map_);
    for (const auto& b : map_.blocks) {
      x_.open("regs:block", [&] {
        auto a = block_extension(b);
        return a.add("of", b.name);
      }());
      for (const auto& w : b.windows) x_.empty("regs:window", window_extension(w));
      for (const auto& i : b.interrupts) write_interrupt_extension(x_, i);
      for (const auto& r : b.registers) register_of(b, r);
      x_.close();
    }
  }

  void register_of(const Block& b, const Register& r) {
    std::string path = r.local_name;
    for (auto at = r.file; at; at = b.files[*at].parent) {
      path.insert(0, b.files[*at].local_name + ".");
    }
    auto a = register_extension(r);
    if (!a.none()) x_.empty("regs:register", a.add("of", path));
    for (const auto& f : r.fields) {
      auto fa = field_extension(r, f);
      if (!fa.none()) x_.empty("regs:field", fa.add("of", fmt::format("{}.{}", path, f.name)));
    }
  }

  const Map& map_;
  Xml x_;
};

}  // namespace

// A device has at least one peripheral: there is no file of a map of descriptors.
void out_svd(const Map& map, OutFiles& files) {
  if (map.blocks.empty()) return;
  files.push_back({OutDir::kSoftware, map.name + "_regs.svd", Svd(map).run()});
}

}  // namespace rnic::regs
