// SPDX-License-Identifier: Apache-2.0
//
// RTL assertions ($error, $fatal, $stop, assert) become C++ exceptions:
//
//   try { model.eval(); } catch (const rnic::rtl::RtlError& e) { ... e.what() names file, line and
//   instance ... }
//
// Part of the libraries rnic_verilated and rnic_verilated_trace; nothing to call. A model that has
// thrown must not be evaluated again.
#pragma once

#include <stdexcept>
#include <string>

namespace rnic::rtl {

class RtlError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace rnic::rtl
