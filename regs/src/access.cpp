// SPDX-License-Identifier: Apache-2.0
#include "access.hpp"

namespace rnic::regs {
const AccessInfo& access_info(Access access) {
  return kAccessTable[static_cast<std::size_t>(access)];
}

std::span<const AccessInfo> all_access() { return kAccessTable; }

std::optional<Access> parse_access(std::string_view name) {
  for (const auto& info : kAccessTable) {
    if (info.name == name) return info.access;
  }
  return std::nullopt;
}

std::string_view access_name(Access access) { return access_info(access).name; }

}  // namespace rnic::regs
