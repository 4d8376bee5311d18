// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

namespace rnic::regs {

bool check_map(Map& map, Diagnostics& diags) {
  check_texts(map, diags);
  for (auto& b : map.blocks) {
    for (auto& r : b.registers) {
      r.is_array = !r.dims.empty();
      if (r.local_name.empty()) r.local_name = r.name;
    }
    expand_interrupts(b, diags);
  }
  check_names(map, diags);
  check_constants(map, diags);
  resolve_enums(map, diags);
  for (auto& b : map.blocks) {
    for (auto& r : b.registers) check_register(map, r, diags);
    resolve_locks(b, diags);
    check_block(map, b, diags);
    check_layout(b, diags);
    check_flat_names(b, diags);
  }
  for (auto& d : map.descriptors) check_descriptor(map, d, diags);
  if (diags.has_errors()) return false;
  map.hash = map_hash(map);
  for (auto& b : map.blocks) {
    for (auto& r : b.registers) {
      for (auto& f : r.fields) {
        if (f.is_map_hash) f.reset = map.hash;
      }
    }
  }
  return true;
}

}  // namespace rnic::regs
