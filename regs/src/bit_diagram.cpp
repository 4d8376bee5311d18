// SPDX-License-Identifier: Apache-2.0
#include "bit_diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rnic::regs {
namespace {

constexpr unsigned kCell = 30;        // of one bit
constexpr unsigned kLeft = 72;        // for byte numbers
constexpr unsigned kNumbers = 14;     // height of the bit numbers
constexpr unsigned kChar = 7;         // width of a character
constexpr unsigned kHeight = 26;      // of a box with a horizontal name
constexpr std::size_t kLongest = 16;  // characters of an upright name

struct Piece {
  std::string_view name, css;
  unsigned lsb, width;  // in the row
};

struct Row {
  unsigned first = 0;    // lowest bit
  unsigned n_words = 1;  // how many rows of memory it stands for
  std::vector<Piece> pieces;
};

bool lies_flat(const Piece& p) { return p.name.size() * kChar + 4 <= p.width * kCell; }

class Diagram {
 public:
  Diagram(std::string& out, const std::vector<BitBox>& boxes, unsigned bits, BitRows order)
      : out_(out), order_(order), bits_(bits) {
    for (unsigned first = 0; first < bits; first += 32) add_row(boxes, first);
    if (order == BitRows::kHighFirst) std::reverse(rows_.begin(), rows_.end());
  }

  void run() {
    unsigned height = 2;
    for (const auto& r : rows_) height += kNumbers + height_of(r);
    const unsigned left = order_ == BitRows::kByteOrder ? kLeft : 0;
    add("<svg class=\"bits\" viewBox=\"{} 0 {} {}\" role=\"img\">", -1 - static_cast<int>(left),
        32 * kCell + left + 2, height);
    unsigned y = 0;
    for (const auto& r : rows_) {
      row(r, y);
      y += kNumbers + height_of(r);
    }
    out_ += "</svg>\n";
  }

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> f, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), f, std::forward<Args>(args)...);
  }

  void add_row(const std::vector<BitBox>& boxes, unsigned first) {
    Row r;
    r.first = first;
    unsigned at = first;
    const unsigned end = std::min(first + 32, bits_);
    const auto gap = [&](unsigned to) {
      if (to > at) r.pieces.push_back({"", "gap", at - first, to - at});
      at = to;
    };
    while (next_ < boxes.size() && boxes[next_].lsb < end) {
      const auto& b = boxes[next_];
      const unsigned lo = std::max(b.lsb, first);
      const unsigned hi = std::min(b.lsb + b.width, end);
      gap(lo);
      r.pieces.push_back({b.name, b.css, lo - first, hi - lo});
      at = hi;
      if (b.lsb + b.width > end) break;
      ++next_;
    }
    gap(end);
    if (order_ == BitRows::kByteOrder && !rows_.empty() && r.pieces.size() == 1 &&
        rows_.back().pieces.size() == 1 && end == first + 32 &&
        rows_.back().pieces[0].name == r.pieces[0].name) {
      ++rows_.back().n_words;
    } else {
      rows_.push_back(std::move(r));
    }
  }

  static unsigned height_of(const Row& r) {
    std::size_t longest = 0;
    for (const auto& p : r.pieces) {
      if (!lies_flat(p)) longest = std::max(longest, std::min(p.name.size(), kLongest));
    }
    return std::max(kHeight, static_cast<unsigned>(longest) * kChar + 8);
  }

  void row(const Row& r, unsigned y) {
    const unsigned h = height_of(r);
    const unsigned top = y + kNumbers;
    if (order_ == BitRows::kByteOrder) {
      const auto byte = r.first / 8;
      add("<text class=\"b l\" x=\"-6\" y=\"{}\">{}</text>", top + h / 2 + 4,
          r.n_words == 1 ? fmt::format("{:#x}", byte)
                         : fmt::format("{:#x}..{:x}", byte, byte + 4 * r.n_words - 1));
    }
    for (const auto& p : r.pieces) {
      const unsigned x = (32 - p.lsb - p.width) * kCell;
      const unsigned w = p.width * kCell;
      add("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", p.css, x, top, w, h);
      numbers(r, p, x, w, y + kNumbers - 3);
      if (!p.name.empty()) name(p, x + w / 2, top + h / 2);
    }
  }

  // Bit numbers of a register, of memory in the row.
  void numbers(const Row& r, const Piece& p, unsigned x, unsigned w, unsigned y) {
    const unsigned base = order_ == BitRows::kHighFirst ? r.first : 0;
    const unsigned hi = base + p.lsb + p.width - 1;
    if (p.width == 1) {
      add("<text class=\"b\" x=\"{}\" y=\"{}\">{}</text>", x + w / 2, y, hi);
      return;
    }
    add("<text class=\"b\" x=\"{}\" y=\"{}\">{}</text><text class=\"b\" x=\"{}\" "
        "y=\"{}\">{}</text>",
        x + kCell / 2, y, hi, x + w - kCell / 2, y, base + p.lsb);
  }

  void name(const Piece& p, unsigned x, unsigned y) {
    if (lies_flat(p)) {
      add("<text x=\"{}\" y=\"{}\">{}</text>", x, y + 4, p.name);
      return;
    }
    const bool cut = p.name.size() > kLongest;
    add("<text transform=\"translate({} {}) rotate(-90)\">{}{}</text>", x + 4, y,
        p.name.substr(0, cut ? kLongest - 1 : kLongest), cut ? "\u2026" : "");
  }

  std::string& out_;
  BitRows order_;
  unsigned bits_;
  std::size_t next_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

void append_bit_diagram(std::string& out, const std::vector<BitBox>& boxes, unsigned bits,
                        BitRows rows) {
  Diagram(out, boxes, bits, rows).run();
}

}  // namespace rnic::regs
