// SPDX-License-Identifier: Apache-2.0
//
// What outputs are written with.
//
//   class Header : private Lines { ... line("#define {} {}", name, value); ... return take(); };
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

namespace rnic::regs {

// Lines of text, formatted.
class Lines {
 public:
  template <typename... Args>
  void line(fmt::format_string<Args...> f, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), f, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void line(const char* s) {
    text_ += s;
    text_ += '\n';
  }
  void raw(const std::string& s) { text_ += s; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// "[7:0] ", or nothing for one bit.
inline std::string sv_range(std::uint64_t width) {
  return width == 1 ? std::string() : fmt::format("[{}:0] ", width - 1);
}

}  // namespace rnic::regs
