// SPDX-License-Identifier: Apache-2.0
//
// Access types of fields: what a read shows, what a write does, what a read does beside showing.
//
//   access_info(Access::kW1c).on_write  ->  OnWrite::kOneClear
//   parse_access("w1c")                 ->  Access::kW1c
//
// Every generator works from these three properties, so that a new type is one line of the table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rnic::regs {

enum class Access : std::uint8_t {
  kRw,      // read, write
  kRo,      // read only: a constant, a hardware input, or a value that hardware keeps
  kWo,      // write only: reading it shows 0; a register of only such fields refuses reads
  kWt,      // write-triggered: stored, and the write raises one pulse of the register
  kPulse,   // a written 1 is a pulse of one cycle; reads 0
  kW1c,     // a written 1 clears the bit
  kW1s,     // a written 1 sets the bit
  kW1t,     // a written 1 toggles the bit
  kW0c,     // a written 0 clears the bit
  kW0s,     // a written 0 sets the bit
  kW0t,     // a written 0 toggles the bit
  kWc,      // any write clears the bytes it strobes
  kWs,      // any write sets the bytes it strobes
  kRc,      // read only; a read clears
  kRs,      // read only; a read sets
  kWrc,     // write; a read clears
  kWrs,     // write; a read sets
  kRwOnce,  // the first write after reset counts, later ones are ignored
};
inline constexpr std::size_t kNumAccess = 18;

// Of one bit whose byte is strobed; d is the bit written.
enum class OnWrite : std::uint8_t {
  kNone,
  kStore,       // d
  kOneClear,    // q & ~d
  kOneSet,      // q | d
  kOneToggle,   // q ^ d
  kZeroClear,   // q & d
  kZeroSet,     // q | ~d
  kZeroToggle,  // q ^ ~d
  kClear,       // 0
  kSet,         // 1
  kPulse,       // d for one cycle
};

enum class OnRead : std::uint8_t { kNone, kClear, kSet };

struct AccessInfo {
  Access access;
  std::string_view name;  // in the YAML
  bool readable;          // a read shows the value (a pulse: 0)
  OnWrite on_write;
  OnRead on_read;
  std::string_view text;  // for documents
};

inline constexpr std::array<AccessInfo, kNumAccess> kAccessTable = {{
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

[[nodiscard]] const AccessInfo& access_info(Access access);
[[nodiscard]] std::span<const AccessInfo> all_access();
[[nodiscard]] std::optional<Access> parse_access(std::string_view name);
[[nodiscard]] std::string_view access_name(Access access);

}  // namespace rnic::regs
