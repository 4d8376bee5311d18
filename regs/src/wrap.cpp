// SPDX-License-Identifier: Apache-2.0
#include "wrap.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace rnic::regs {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::string_view kBreaks[] = {", ", "&& ", "|| ", "& ", "| ", "? ", ": ", "<= ", "= "};
constexpr std::string_view kBreakStarts = ",&|?:<=";  // their first characters

std::string indent_of(const std::string& line) {
  const auto n = line.find_first_not_of(' ');
  return line.substr(0, n == std::string::npos ? line.size() : n);
}

std::string wrap_comment(const std::string& line) {
  const auto lead = indent_of(line) + "// ";
  std::istringstream words(line.substr(lead.size()));
  std::string out, current = lead, word;
  while (words >> word) {
    if (current.size() > lead.size() && current.size() + word.size() > kColumns) {
      current.pop_back();
      out += current + "\n";
      current = lead;
    }
    current += word + " ";
  }
  current.pop_back();
  return out + current + "\n";
}

// Where to break: at the least depth of brackets, and there as far right as fits.
std::size_t break_of(const std::string& line, std::size_t least) {
  std::size_t best = 0;
  int depth = 0, best_depth = 1000;
  for (std::size_t p = 0; p < kColumns; ++p) {
    const char c = line[p];
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (p <= least || depth > best_depth || kBreakStarts.find(c) == kBreakStarts.npos) continue;
    if (c != ',' && line[p - 1] != ' ') continue;
    for (const auto op : kBreaks) {
      if (line.compare(p, op.size(), op) != 0) continue;
      const bool behind = c == ',' || op == "<= " || op == "= ";
      const std::size_t cut = behind ? p + op.size() : p;
      if (cut > kColumns) continue;
      best = cut;
      best_depth = depth;
    }
  }
  return best;
}

std::string wrap_code(std::string line) {
  const auto more = indent_of(line) + "    ";
  std::string out;
  while (line.size() > kColumns) {
    const std::size_t at = break_of(line, more.size());
    if (at == 0) break;
    auto head = line.substr(0, at);
    while (!head.empty() && head.back() == ' ') head.pop_back();
    out += head + "\n";
    line = more + line.substr(at);
  }
  return out + line + "\n";
}

}  // namespace

std::string wrap_sv(const std::string& text) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (std::size_t from = 0, end = 0; from < text.size(); from = end + 1) {
    end = std::min(text.find('\n', from), text.size());
    if (end - from <= kColumns) {
      out.append(text, from, end - from) += '\n';
      continue;
    }
    const auto line = text.substr(from, end - from);
    const auto comment = line.find("//");
    if (comment == std::string::npos) {
      out += wrap_code(line);
    } else if (line.find_first_not_of(' ') == comment) {
      out += wrap_comment(line);
    } else {
      out += wrap_comment(indent_of(line) + line.substr(comment));
      auto code = line.substr(0, comment);
      while (!code.empty() && code.back() == ' ') code.pop_back();
      out += code.size() > kColumns ? wrap_code(code) : code + "\n";
    }
  }
  return out;
}

}  // namespace rnic::regs
