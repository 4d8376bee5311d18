// SPDX-License-Identifier: Apache-2.0
#include "tests/support/verilated_hooks.hpp"

#include <verilated.h>

namespace {

[[noreturn]] void fail(const char* kind, const char* file, int line, const char* scope,
                       const char* message) {
  Verilated::threadContextp()->gotError(true);
  std::string text = kind;
  if (file != nullptr && file[0] != '\0') {
    text += std::string(" at ") + file + ":" + std::to_string(line);
  }
  if (scope != nullptr && scope[0] != '\0') text += std::string(" in ") + scope;
  text += std::string(", time ") + std::to_string(Verilated::threadContextp()->time());
  if (message != nullptr && message[0] != '\0') text += std::string(": ") + message;
  throw rnic::rtl::RtlError(text);
}

}  // namespace

void vl_stop(const char* file, int line, const char* scope) {
  fail("RTL assertion or $stop (its message is printed above)", file, line, scope, "");
}

void vl_fatal(const char* file, int line, const char* scope, const char* message) {
  fail("RTL fatal", file, line, scope, message);
}
