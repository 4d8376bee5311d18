// SPDX-License-Identifier: Apache-2.0
//
// What outputs are written with.
//
//   class Header : private Lines { ... line("#define {} {}", name, value); ... return take(); };
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace rnic::regs {

// Lines of text, formatted.
class Lines {
 public:
  template <typename... Args>
  void line(fmt::format_string<Args...> f, Args&&... args) {
    fmt::memory_buffer buffer;  // on the stack; to format into a string costs more
    fmt::format_to(fmt::appender(buffer), f, std::forward<Args>(args)...);
    buffer.push_back('\n');
    text_.append(buffer.data(), buffer.size());
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
