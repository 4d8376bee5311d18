// SPDX-License-Identifier: Apache-2.0
//
// One page with everything in it: no other file, no network. Style and search are
// runtime/page.css and runtime/page.js.
#include <algorithm>
#include <set>

#include "bit_diagram.hpp"
#include "outputs.hpp"
#include "runtime.hpp"
#include "suggest.hpp"
#include "text.hpp"

namespace rnic::regs {
namespace {

std::string esc(std::string_view s) {
  std::string r;
  r.reserve(s.size());
  for (const char c : s) {
    switch (c) {
      case '&':
        r += "&amp;";
        break;
      case '<':
        r += "&lt;";
        break;
      case '>':
        r += "&gt;";
        break;
      case '"':
        r += "&quot;";
        break;
      default:
        r += c;
    }
  }
  return r;
}

// What a write or read does to the field, as a colour.
std::string_view css(const Field& f) {
  const auto& info = access_info(f.access);
  if (info.on_read != OnRead::kNone || f.access == Access::kWt) return "act";
  if (info.on_write == OnWrite::kNone) return "ro";
  if (info.on_write != OnWrite::kStore) return "act";
  return info.readable ? "rw" : "wo";
}

std::string bits(const Field& f) {
  return f.width == 1 ? fmt::format("{}", f.lsb) : fmt::format("{}:{}", f.msb(), f.lsb);
}

class Page : private Lines {
 public:
  explicit Page(const Map& map) : map_(map) {}

  std::string run() {
    head();
    line("<div class=\"frame\">");
    nav();
    line("<main>");
    legend();
    constants();
    for (const auto& b : map_.blocks) block(b);
    counters();
    enums();
    descriptors();
    line("</main></div>\n<script>\n{}</script>\n</body></html>", kPageScript);
    return take();
  }

 private:
  void head() {
    line("<!DOCTYPE html>\n<!-- SPDX-License-Identifier: Apache-2.0 -->");
    line("<!-- {} -->", esc(generated_note(map_)));
    line("<html lang=\"en\"><head><meta charset=\"utf-8\">");
    line("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    line("<link rel=\"icon\" href=\"data:,\">");
    line("<title>{} {}.{}.{}: registers and descriptors</title>", esc(map_.name), map_.major,
         map_.minor, map_.patch);
    line("<style>\n{}</style></head><body>", kPageStyle);
    line("<header><h1>{} registers and descriptors</h1>", esc(map_.name));
    line("<span class=\"id\">version {}.{}.{}, map hash <code>0x{:08x}</code></span>", map_.major,
         map_.minor, map_.patch, map_.hash);
    line(
        "<input id=\"search\" type=\"search\" placeholder=\"Search names, offsets, texts ( / )\" "
        "aria-label=\"Search\" autocomplete=\"off\"><span id=\"found\" role=\"status\"></span>"
        "</header>");
  }

  // The list on the left.

  void nav_open(std::string_view title, bool open) {
    line("<details data-group{}><summary>{}</summary><ul>", open ? " open" : "", esc(title));
  }
  void nav_item(std::string_view id, std::string_view name, std::string_view at = "") {
    line("<li><a href=\"#{}\">{}</a>{}</li>", id, name,
         at.empty() ? "" : fmt::format("<span class=\"at\">{}</span>", at));
  }
  void nav_close() { line("</ul></details>"); }

  void nav() {
    line("<nav aria-label=\"Contents\">");
    for (const auto& b : map_.blocks) {
      nav_open("Block " + b.name, true);
      for (const auto& r : b.registers) {
        nav_item(id(b, r), r.name, fmt::format("{:#x}", r.offset));
      }
      for (const auto& w : b.windows) {
        nav_item(fmt::format("{}.{}", b.name, w.name), w.name, fmt::format("{:#x}", w.offset));
      }
      for (const auto& i : b.interrupts) nav_item(fmt::format("{}.{}", b.name, i.name), i.name);
      nav_close();
    }
    if (!map_.descriptors.empty()) {
      nav_open("Descriptors", true);
      for (const auto& d : map_.descriptors) {
        nav_item("desc." + d.name, d.name, fmt::format("{} B", d.size));
      }
      nav_close();
    }
    if (!map_.enums.empty()) {
      nav_open("Enumerations", false);
      for (const auto& e : map_.enums) nav_item("enum." + e.name, e.name);
      nav_close();
    }
    line("</nav>");
  }

  void legend() {
    std::set<Access> used;
    for (const auto& b : map_.blocks) {
      for (const auto& r : b.registers) {
        for (const auto& f : r.fields) used.insert(f.access);
      }
    }
    line("<p>{}</p>", esc(map_.desc));
    line("<div data-group>");  // nothing to be found in it
    line(
        "<p class=\"meta\">Offsets in bytes from the block. Of a 64-bit register read the low word "
        "first (it takes a snapshot of the high one) and write the high word last (it commits "
        "both)."
        "<br><span class=\"key rw\" style=\"margin-left:0\"></span>read, write<span class=\"key "
        "ro\"></span>read only<span class=\"key wo\"></span>write only<span class=\"key "
        "act\"></span>an access acts<span class=\"key gap\"></span>reserved: reads 0, ignores "
        "writes</p>");
    if (used.empty()) {
      end_group();
      return;
    }
    line("<table><tr><th class=\"n\">access</th><th>meaning</th></tr>");
    for (const auto a : used) {
      line("<tr><td class=\"n\">{}</td><td>{}</td></tr>", access_name(a), access_info(a).text);
    }
    line("</table>");
    end_group();
  }

  void group(std::string_view title) { line("<div data-group><h2>{}</h2>", title); }
  void end_group() { line("</div>"); }

  void constants() {
    if (map_.constants.empty()) return;
    group("Constants");
    line("<table><tr><th class=\"n\">name</th><th class=\"n\">value</th><th>meaning</th></tr>");
    for (const auto& c : map_.constants) {
      line(
          "<tr class=\"item\" id=\"const.{}\"><td class=\"n\">{}</td><td class=\"n\">{:#x} "
          "({})</td><td>{}{}</td></tr>",
          c.name, c.name, c.value, c.value, esc(c.desc),
          c.is_parameter ? fmt::format(" Parameter, {}.", range(c)) : "");
    }
    line("</table>");
    end_group();
  }

  static std::string range(const Constant& c) {
    return fmt::format("{} to {}", c.min.value_or(0), c.max ? fmt::format("{}", *c.max) : "any");
  }

  void block(const Block& b) {
    group("Block " + b.name);
    line("<p>{}</p>", esc(b.desc));
    line("<p class=\"meta\">BAR{}, {:#x} bytes{}; {}; bad accesses: {}.</p>", b.bar, b.size,
         b.stride != 0 ? fmt::format(", repeated every {:#x}", b.stride) : "",
         b.generated ? "generated register file" : "decoded by " + esc(b.decoded_by),
         b.bad_access == BadAccess::kSlverr ? "SLVERR" : "reads show all ones, writes are dropped");
    for (const auto& r : b.registers) reg(b, r);
    windows(b);
    interrupts(b);
    end_group();
  }

  static std::string id(const Block& b, const Register& r) {
    return fmt::format("{}.{}", b.name, r.name);
  }

  static std::string shape(const Register& r) {
    std::string s = fmt::format("offset <code>{:#x}</code>, {} bits", r.offset, r.width);
    for (const auto& d : r.dims) {
      s += fmt::format(", [{}] every <code>{:#x}</code>", d.count, d.stride);
    }
    s += fmt::format(", reset <code>{:#x}</code>", r.reset_value());
    if (r.external) s += ", external";
    if (r.width == 64 && !r.buffered) s += ", two words on their own";
    return s;
  }

  void reg(const Block& b, const Register& r) {
    line("<section class=\"item\" id=\"{}\"><h3><a href=\"#{}\">{}</a></h3>", id(b, r), id(b, r),
         r.name);
    line("<p>{}</p><p class=\"meta\">{}</p>", esc(r.desc), shape(r));
    std::vector<const Field*> fields;
    for (const auto& f : r.fields) fields.push_back(&f);
    std::sort(fields.begin(), fields.end(),
              [](const Field* x, const Field* y) { return x->lsb < y->lsb; });
    std::vector<BitBox> boxes;
    for (const auto* f : fields) boxes.push_back({f->name, f->lsb, f->width, css(*f)});
    std::string svg;
    append_bit_diagram(svg, boxes, r.width, BitRows::kHighFirst);
    raw(svg);
    line(
        "<table><tr><th class=\"n\">bits</th><th class=\"n\">field</th><th class=\"n\">access</th>"
        "<th class=\"n\">reset</th><th>meaning</th></tr>");
    for (const auto* f : fields) field(*f);
    line("</table></section>");
  }

  void field(const Field& f) {
    line(
        "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}{}</td><td "
        "class=\"n\">{}</td><td>{}{}{}{}</td></tr>",
        bits(f), f.name, access_name(f.access), f.is_const ? ", constant" : "",
        f.hw.in || f.hw.inout ? "hardware" : fmt::format("{:#x}", f.reset), esc(f.desc),
        unit(f.unit), enum_link(f.enum_index), more(f));
  }

  static std::string unit(const std::string& u) {
    return u.empty() ? "" : fmt::format(" Unit: {}.", esc(u));
  }
  [[nodiscard]] std::string enum_link(const std::optional<std::size_t>& index) const {
    if (!index) return {};
    const auto& name = map_.enums[*index].name;
    return fmt::format(" <a href=\"#enum.{}\">{}</a>", name, name);
  }

  static std::string more(const Field& f) {
    std::string s;
    if (f.is_map_hash) s += " The map hash.";
    if (f.collision == Collision::kSoftware) s += " Software acts on top of hardware.";
    if (f.counter) {
      s += f.counter->saturate ? fmt::format(" Counts, saturates at {:#x}.", f.counter->max)
                               : " Counts, wraps.";
      if (f.counter->threshold) s += fmt::format(" Threshold {:#x}.", *f.counter->threshold);
    }
    if (f.lock) {
      s += fmt::format(" Writable only while {} is {}.", esc(f.lock->by), f.lock->when ? 0 : 1);
    }
    return s;
  }

  void windows(const Block& b) {
    if (b.windows.empty()) return;
    line("<div data-group><h3>Windows of {}</h3>", b.name);
    line(
        "<table><tr><th class=\"n\">offset</th><th class=\"n\">window</th><th "
        "class=\"n\">bytes</th><th class=\"n\">access</th><th>meaning</th></tr>");
    for (const auto& w : b.windows) {
      line(
          "<tr class=\"item\" id=\"{}.{}\"><td class=\"n\">{:#x}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{:#x}</td><td class=\"n\">{}</td><td>{}{}{}</td></tr>",
          b.name, w.name, w.offset, w.name, w.size, w.writable ? "rw" : "ro", esc(w.desc),
          w.holds_counters ? " <a href=\"#counters\">Counters</a>" : "",
          w.decoded_by.empty() ? "" : fmt::format(" Decoded by {}.", esc(w.decoded_by)));
    }
    line("</table>");
    end_group();
  }

  void interrupts(const Block& b) {
    for (const auto& i : b.interrupts) {
      line("<section class=\"item\" id=\"{}.{}\"><h3>Interrupt group {}</h3><p>{}</p>", b.name,
           i.name, i.name, esc(i.desc));
      line(
          "<p class=\"meta\">State, enable and test at {:#x}, {:#x}, {:#x}: <a "
          "href=\"#{}\">{}_STATE</a>.</p>",
          i.offset, i.offset + 4, i.offset + 8, id(b, b.registers[i.state]), i.name);
      line(
          "<table><tr><th class=\"n\">bit</th><th class=\"n\">source</th><th "
          "class=\"n\">kind</th><th>meaning</th></tr>");
      for (std::size_t k = 0; k < i.sources.size(); ++k) {
        const auto& s = i.sources[k];
        line(
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td><td>{}</td></tr>",
            k, s.name, irq_kind_name(s.kind), esc(s.desc));
      }
      line("</table></section>");
    }
  }

  void counters() {
    if (map_.counters.empty()) return;
    group("<span id=\"counters\">Counters</span>");
    line("<table><tr><th class=\"n\">index</th><th class=\"n\">name</th><th>meaning</th></tr>");
    for (std::size_t i = 0; i < map_.counters.size(); ++i) {
      const auto& c = map_.counters[i];
      line(
          "<tr class=\"item\" id=\"counter.{}\"><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td><td>{}</td></tr>",
          c.name, i, c.name, esc(c.desc));
    }
    line("</table>");
    end_group();
  }

  void enums() {
    if (map_.enums.empty()) return;
    group("Enumerations");
    for (const auto& e : map_.enums) {
      line("<section class=\"item\" id=\"enum.{}\"><h3>{}</h3><p>{}</p>", e.name, e.name,
           esc(e.desc));
      line("<table><tr><th class=\"n\">value</th><th class=\"n\">name</th><th>meaning</th></tr>");
      for (const auto& v : e.values) {
        line("<tr><td class=\"n\">{:#x}</td><td class=\"n\">{}</td><td>{}</td></tr>", v.value,
             v.name, esc(v.desc));
      }
      line("</table></section>");
    }
    end_group();
  }

  void descriptors() {
    if (map_.descriptors.empty()) return;
    group("Descriptors");
    line(
        "<p class=\"meta\">In memory, little-endian; a row is four bytes, bit 0 of the first byte "
        "on the right.</p>");
    for (const auto& d : map_.descriptors) descriptor(d);
    end_group();
  }

  void descriptor(const Descriptor& d) {
    line("<section class=\"item\" id=\"desc.{}\"><h3><a href=\"#desc.{}\">{}</a></h3><p>{}</p>",
         d.name, d.name, d.name, esc(d.desc));
    line("<p class=\"meta\">{} bytes{}.</p>", d.size,
         d.head.empty() ? ""
                        : fmt::format("; begins with the fields of <a href=\"#desc.{}\">{}</a>",
                                      d.head, d.head));
    picture(d, {});
    desc_fields(d.fields);
    for (const auto& u : d.unions) {
      for (const auto& v : u.variants) {
        const auto when = join(v.when_names);
        line("<h4>{}: when {} is {}</h4><p>{}</p>", v.name, u.by, esc(when), esc(v.desc));
        picture(d, v.fields);
        desc_fields(v.fields);
      }
    }
    line("</section>");
  }

  // The descriptor; `more`, the fields of a variant, stand out.
  void picture(const Descriptor& d, const std::vector<DescField>& more) {
    std::vector<BitBox> boxes;
    for (const auto& f : d.fields) {
      boxes.push_back({f.name, f.bit, f.width, more.empty() ? "rw" : "ro"});
    }
    for (const auto& f : more) boxes.push_back({f.name, f.bit, f.width, "rw"});
    std::sort(boxes.begin(), boxes.end(),
              [](const BitBox& a, const BitBox& b) { return a.lsb < b.lsb; });
    std::string svg;
    append_bit_diagram(svg, boxes, static_cast<unsigned>(d.size * 8), BitRows::kByteOrder);
    raw(svg);
  }

  void desc_fields(const std::vector<DescField>& fields) {
    if (fields.empty()) return;
    line(
        "<table><tr><th class=\"n\">byte</th><th class=\"n\">bit</th><th "
        "class=\"n\">width</th><th class=\"n\">field</th><th>meaning</th></tr>");
    for (const auto& f : fields) {
      line(
          "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td><td>{}{}{}{}</td></tr>",
          f.bit / 8, f.bit % 8, f.width, f.name, esc(f.desc), unit(f.unit), enum_link(f.enum_index),
          f.bytes ? " Bytes in wire order." : "");
    }
    line("</table>");
  }

  const Map& map_;
};

}  // namespace

void out_html(const Map& map, OutFiles& files) {
  files.push_back({OutDir::kSoftware, map.name + "_regs.html", Page(map).run()});
}

}  // namespace rnic::regs
