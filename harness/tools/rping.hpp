// SPDX-License-Identifier: Apache-2.0
// What rping's two sides tell each other. For each ping:
//
//   client   SEND: where the ping lies          server   READs it
//   server   SEND: "go ahead"
//   client   SEND: where the pong shall go      server   WRITEs there what it has read
//   server   SEND: "go ahead"
//
//   Bytes b = encode_rping({.va = buffer, .rkey = key, .size = 64});   // 16 bytes
//   Bytes ping = rping_data(0, 64);    // "rdma-ping-0: ABCDE..."
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rnic::tools {

inline constexpr uint32_t kRpingInfoBytes = 16;
inline constexpr uint32_t kRpingMinBytes = 26, kRpingMaxBytes = 65'535;  // of a ping

// Where a buffer is. "Go ahead" is one, too, in which nothing is looked at.
struct RpingInfo {
  uint64_t va = 0;
  uint32_t rkey = 0, size = 0;
};
std::vector<uint8_t> encode_rping(const RpingInfo& info);
std::optional<RpingInfo> decode_rping(std::span<const uint8_t> bytes);

// The n-th ping, from 0: a head, letters that begin one further each time, a zero byte at the end.
std::vector<uint8_t> rping_data(uint64_t n, uint32_t size);

}  // namespace rnic::tools
