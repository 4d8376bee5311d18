// SPDX-License-Identifier: Apache-2.0
#include "access.hpp"

#include <array>

namespace rnic::regs {
namespace {

constexpr std::array<AccessInfo, kNumAccess> kTable = {{
    {Access::kRw, "rw", true, OnWrite::kStore, OnRead::kNone, "read, write"},
    {Access::kRo, "ro", true, OnWrite::kNone, OnRead::kNone, "read only"},
    {Access::kWo, "wo", false, OnWrite::kStore, OnRead::kNone, "write only"},
    {Access::kWt, "wt", true, OnWrite::kStore, OnRead::kNone, "read, write; every write acts"},
    {Access::kPulse, "pulse", true, OnWrite::kPulse, OnRead::kNone, "a written 1 acts; reads 0"},
    {Access::kW1c, "w1c", true, OnWrite::kOneClear, OnRead::kNone, "a written 1 clears"},
    {Access::kW1s, "w1s", true, OnWrite::kOneSet, OnRead::kNone, "a written 1 sets"},
    {Access::kW1t, "w1t", true, OnWrite::kOneToggle, OnRead::kNone, "a written 1 toggles"},
    {Access::kW0c, "w0c", true, OnWrite::kZeroClear, OnRead::kNone, "a written 0 clears"},
    {Access::kW0s, "w0s", true, OnWrite::kZeroSet, OnRead::kNone, "a written 0 sets"},
    {Access::kW0t, "w0t", true, OnWrite::kZeroToggle, OnRead::kNone, "a written 0 toggles"},
    {Access::kWc, "wc", true, OnWrite::kClear, OnRead::kNone, "any write clears"},
    {Access::kWs, "ws", true, OnWrite::kSet, OnRead::kNone, "any write sets"},
    {Access::kRc, "rc", true, OnWrite::kNone, OnRead::kClear, "read only; a read clears"},
    {Access::kRs, "rs", true, OnWrite::kNone, OnRead::kSet, "read only; a read sets"},
    {Access::kWrc, "wrc", true, OnWrite::kStore, OnRead::kClear, "write; a read clears"},
    {Access::kWrs, "wrs", true, OnWrite::kStore, OnRead::kSet, "write; a read sets"},
    {Access::kRwOnce, "rw_once", true, OnWrite::kStore, OnRead::kNone,
     "read; the first write after reset counts"},
}};

}  // namespace

const AccessInfo& access_info(Access access) { return kTable[static_cast<std::size_t>(access)]; }

std::span<const AccessInfo> all_access() { return kTable; }

std::optional<Access> parse_access(std::string_view name) {
  for (const auto& info : kTable) {
    if (info.name == name) return info.access;
  }
  return std::nullopt;
}

std::string_view access_name(Access access) { return access_info(access).name; }

}  // namespace rnic::regs
