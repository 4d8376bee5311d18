// SPDX-License-Identifier: Apache-2.0
#include "expr.hpp"

#include <fmt/format.h>

#include <cctype>

namespace rnic::regs {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const ExprLookup& lookup) : text_(text), lookup_(lookup) {}

  std::uint64_t run() {
    const std::uint64_t v = parse_or();
    skip();
    if (pos_ != text_.size()) {
      throw ExprError(fmt::format("unexpected '{}' in '{}'", text_.substr(pos_, 20), shown()));
    }
    return v;
  }

 private:
  void skip() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
  }

  bool take(std::string_view op) {
    skip();
    if (text_.substr(pos_, op.size()) != op) return false;
    pos_ += op.size();
    return true;
  }

  std::uint64_t parse_or() {
    std::uint64_t v = parse_and();
    while (take("|")) v |= parse_and();
    return v;
  }

  std::uint64_t parse_and() {
    std::uint64_t v = parse_shift();
    while (take("&")) v &= parse_shift();
    return v;
  }

  std::uint64_t parse_shift() {
    std::uint64_t v = parse_sum();
    for (;;) {
      if (take("<<")) {
        const std::uint64_t n = parse_sum();
        if (n > 63 || (n > 0 && (v >> (64 - n)) != 0)) throw overflow();
        v <<= n;
      } else if (take(">>")) {
        const std::uint64_t n = parse_sum();
        v = n > 63 ? 0 : v >> n;
      } else {
        return v;
      }
    }
  }

  std::uint64_t parse_sum() {
    std::uint64_t v = parse_product();
    for (;;) {
      std::uint64_t r = 0;
      if (take("+")) {
        if (__builtin_add_overflow(v, parse_product(), &r)) throw overflow();
      } else if (take("-")) {
        if (__builtin_sub_overflow(v, parse_product(), &r)) {
          throw ExprError(fmt::format("'{}' is negative", shown()));
        }
      } else {
        return v;
      }
      v = r;
    }
  }

  std::uint64_t parse_product() {
    std::uint64_t v = parse_atom();
    for (;;) {
      if (take("*")) {
        std::uint64_t r = 0;
        if (__builtin_mul_overflow(v, parse_atom(), &r)) throw overflow();
        v = r;
      } else if (take("/") || take("%")) {
        const bool mod = text_[pos_ - 1] == '%';
        const std::uint64_t d = parse_atom();
        if (d == 0) throw ExprError(fmt::format("division by zero in '{}'", shown()));
        v = mod ? v % d : v / d;
      } else {
        return v;
      }
    }
  }

  std::uint64_t parse_atom() {
    if (take("(")) {
      if (++depth_ > kMostDepth) {
        throw ExprError(fmt::format("more than {} '(' in '{}'", kMostDepth, shown()));
      }
      const std::uint64_t v = parse_or();
      --depth_;
      if (!take(")")) throw ExprError(fmt::format("')' is missing in '{}'", shown()));
      return v;
    }
    skip();
    const std::size_t start = pos_;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_')) {
      ++pos_;
    }
    const std::string word(text_.substr(start, pos_ - start));
    if (word.empty())
      throw ExprError(fmt::format("a number or a name is missing in '{}'", shown()));
    return std::isdigit(static_cast<unsigned char>(word[0])) ? number(word) : name(word);
  }

  std::uint64_t number(const std::string& word) {
    unsigned base = 10;
    std::size_t i = 0;
    if (word.size() > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X')) {
      base = 16;
      i = 2;
    } else if (word.size() > 2 && word[0] == '0' && (word[1] == 'b' || word[1] == 'B')) {
      base = 2;
      i = 2;
    } else if (word.size() > 1 && word[0] == '0') {
      throw ExprError(fmt::format("'{}': a leading 0 is not allowed (0x for hexadecimal)", word));
    }
    std::uint64_t v = 0;
    for (; i < word.size(); ++i) {
      if (word[i] == '_') continue;
      const auto c = static_cast<unsigned char>(std::tolower(static_cast<unsigned char>(word[i])));
      const unsigned digit = std::isdigit(c) ? c - '0' : std::isalpha(c) ? c - 'a' + 10U : 99U;
      if (digit >= base) throw ExprError(fmt::format("'{}' is not a number", word));
      if (__builtin_mul_overflow(v, static_cast<std::uint64_t>(base), &v) ||
          __builtin_add_overflow(v, static_cast<std::uint64_t>(digit), &v)) {
        throw ExprError(fmt::format("'{}' does not fit in 64 bits", word));
      }
    }
    return v;
  }

  std::uint64_t name(const std::string& word) {
    const auto v = lookup_(word);
    if (!v) throw ExprError(fmt::format("unknown constant '{}'", word));
    return *v;
  }

  ExprError overflow() const {
    return ExprError(fmt::format("'{}' does not fit in 64 bits", shown()));
  }

  // In messages.
  [[nodiscard]] std::string shown() const {
    constexpr std::size_t kMost = 60;
    return text_.size() <= kMost ? std::string(text_) : std::string(text_.substr(0, kMost)) + "...";
  }

  static constexpr unsigned kMostDepth = 100;

  std::string_view text_;
  const ExprLookup& lookup_;
  unsigned depth_ = 0;
  std::size_t pos_ = 0;
};

}  // namespace

std::uint64_t eval_expr(std::string_view text, const ExprLookup& lookup) {
  return Parser(text, lookup).run();
}

}  // namespace rnic::regs
