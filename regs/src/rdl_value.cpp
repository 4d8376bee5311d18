// SPDX-License-Identifier: Apache-2.0
#include "rdl_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace rnic::regs {
namespace {

[[noreturn]] void fail(std::string text) { throw RdlValueError(text); }

std::uint64_t power(std::uint64_t a, std::uint64_t n) {
  std::uint64_t v = 1;
  for (; n > 0; --n) {
    if (v <= 1 && a <= 1) return a == 0 ? 0 : 1;
    if (__builtin_mul_overflow(v, a, &v)) fail("the value does not fit in 64 bits");
  }
  return v;
}

std::uint64_t arithmetic(std::string_view op, std::uint64_t a, std::uint64_t b) {
  std::uint64_t v = 0;
  bool over = false;
  if (op == "+") {
    over = __builtin_add_overflow(a, b, &v);
  } else if (op == "-") {
    if (b > a) fail(fmt::format("{} - {} is negative", a, b));
    v = a - b;
  } else if (op == "*") {
    over = __builtin_mul_overflow(a, b, &v);
  } else if (op == "/" || op == "%") {
    if (b == 0) fail("division by zero");
    v = op == "/" ? a / b : a % b;
  } else if (op == "**") {
    v = power(a, b);
  } else if (op == "<<") {
    over = a != 0 && (b > 63 || (b > 0 && (a >> (64 - b)) != 0));
    v = b > 63 ? 0 : a << b;
  } else if (op == ">>") {
    v = b > 63 ? 0 : a >> b;
  } else if (op == "&") {
    v = a & b;
  } else if (op == "|") {
    v = a | b;
  } else if (op == "^") {
    v = a ^ b;
  } else {
    fail(fmt::format("operator {} is not known between two values", op));
  }
  if (over) fail("the value does not fit in 64 bits");
  return v;
}

}  // namespace

RdlValue rdl_number(std::uint64_t v, SourcePos pos, unsigned width) {
  RdlValue x;
  x.kind = RdlValue::Kind::kNumber;
  x.pos = pos;
  x.number = v;
  x.width = width;
  return x;
}

RdlValue rdl_bool(bool v, SourcePos pos) {
  auto x = rdl_number(v ? 1 : 0, pos, 1);
  x.kind = RdlValue::Kind::kBool;
  return x;
}

std::uint64_t rdl_as_number(const RdlValue& v) {
  if (v.kind != RdlValue::Kind::kNumber && v.kind != RdlValue::Kind::kBool) {
    fail("a number is expected here");
  }
  return v.number;
}

RdlValue rdl_unary(std::string_view op, const RdlValue& a) {
  const auto v = rdl_as_number(a);
  if (op == "!") return rdl_bool(v == 0, a.pos);
  if (op == "+") return rdl_number(v, a.pos, a.width);
  if (op == "-") {
    if (v != 0) fail("a negative value has no place here");
    return rdl_number(0, a.pos, a.width);
  }
  if (op == "~") return rdl_number(~v & ones(a.width == 0 ? 64 : a.width), a.pos, a.width);
  const auto all = ones(a.width == 0 ? 64 : a.width);
  const bool invert = op.size() == 2;
  bool r = false;
  switch (op.back()) {
    case '&':
      r = (v & all) == all;
      break;
    case '|':
      r = v != 0;
      break;
    default:
      r = (std::popcount(v) & 1) != 0;
      break;
  }
  return rdl_number((r != invert) ? 1 : 0, a.pos, 1);
}

RdlValue rdl_binary(std::string_view op, const RdlValue& a, const RdlValue& b) {
  const bool same = op == "==" || op == "!=";
  if (same && a.kind == b.kind &&
      (a.kind == RdlValue::Kind::kString || a.kind == RdlValue::Kind::kWord)) {
    return rdl_bool((a.text == b.text) == (op == "=="), a.pos);
  }
  const auto x = rdl_as_number(a);
  const auto y = rdl_as_number(b);
  if (same) return rdl_bool((x == y) == (op == "=="), a.pos);
  if (op == "&&") return rdl_bool(x != 0 && y != 0, a.pos);
  if (op == "||") return rdl_bool(x != 0 || y != 0, a.pos);
  if (op == "<") return rdl_bool(x < y, a.pos);
  if (op == ">") return rdl_bool(x > y, a.pos);
  if (op == "<=") return rdl_bool(x <= y, a.pos);
  if (op == ">=") return rdl_bool(x >= y, a.pos);
  const auto width = a.width == 0 || b.width == 0 ? 0 : std::max(a.width, b.width);
  if (op == "~^" || op == "^~" || op == "~&" || op == "~|") {
    const auto plain = op == "~&" ? "&" : op == "~|" ? "|" : "^";
    return rdl_number(~arithmetic(plain, x, y) & ones(width == 0 ? 64 : width), a.pos, width);
  }
  return rdl_number(arithmetic(op, x, y), a.pos);
}

RdlValue rdl_concat(const std::vector<RdlValue>& list, std::uint64_t times) {
  if (list.empty()) fail("an empty list has no value");
  const bool text = std::all_of(list.begin(), list.end(), [](const RdlValue& v) {
    return v.kind == RdlValue::Kind::kString;
  });
  if (times < 1 || times > 64) fail("a repetition is 1 to 64 times");
  RdlValue r = rdl_number(0, list.front().pos);
  if (text) r.kind = RdlValue::Kind::kString;
  for (std::uint64_t i = 0; i < times; ++i) {
    for (const auto& v : list) {
      if (text) {
        r.text += v.text;
        if (r.text.size() > 65536) fail("a string of more than 65536 characters");
        continue;
      }
      if (v.width == 0) fail("the width of a part is not known: write 8'h12, or 8'(value)");
      const auto value = rdl_as_number(v);
      if (r.width + v.width > 64) fail("the value does not fit in 64 bits");
      r.number = (v.width == 64 ? 0 : r.number << v.width) | value;
      r.width += v.width;
    }
  }
  return r;
}

RdlValue rdl_cast(std::string_view type, std::uint64_t width, const RdlValue& a) {
  const auto v = rdl_as_number(a);
  if (type == "boolean") return rdl_bool(v != 0, a.pos);
  if (type == "longint") return rdl_number(v, a.pos, 64);
  if (type == "bit") return rdl_number(v & 1, a.pos, 1);
  if (width < 1 || width > 64) fail(fmt::format("a cast to {} bits: write 1 to 64", width));
  const auto w = static_cast<unsigned>(width);
  return rdl_number(v & ones(w), a.pos, w);
}

}  // namespace rnic::regs
