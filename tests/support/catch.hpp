// SPDX-License-Identifier: Apache-2.0
//
// Catch2, version 2 or 3, under one name. Use contains_text() instead of either version's string
// matcher:
//
//   REQUIRE_THROWS_WITH(f(), rnic::test::contains_text("key 'mtu'"));
#pragma once

#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
namespace rnic::test {
inline auto contains_text(const std::string& text) {
  return Catch::Matchers::ContainsSubstring(text);
}
}  // namespace rnic::test
using Catch::Approx;
#else
#include <catch2/catch.hpp>
namespace rnic::test {
inline auto contains_text(const std::string& text) { return Catch::Matchers::Contains(text); }
}  // namespace rnic::test
using Catch::Detail::Approx;  // Catch::Approx also names a matcher of vectors
#endif
