// SPDX-License-Identifier: Apache-2.0
// The texts in which perftest and ibv_*_pingpong tell each other their QPs, byte for byte, and what
// perftest sends instead over rdma_cm.
//
//   Bytes b = encode_perftest({.qpn = 0x11, .psn = 0xA564F1, ...});   // 108 bytes
//   if (auto keys = decode_perftest(b)) use(keys->rkey);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/roce/frame.hpp"

namespace rnic::tools {

struct Keys {
  uint32_t lid = 0;
  uint32_t out_reads = 1;  // READs and ATOMICs that its QP takes at a time
  uint32_t qpn = 0, psn = 0;
  uint32_t rkey = 0;
  uint64_t vaddr = 0;
  roce::IpAddr gid{};
  uint32_t srqn = 0;
  uint32_t gid_index = 0;  // only over rdma_cm
};

inline constexpr size_t kPingpongBytes = 52, kPerftestBytes = 108, kPerftestCmBytes = 56;

std::vector<uint8_t> encode_pingpong(const Keys& keys);  // lid, qpn, psn, gid
std::optional<Keys> decode_pingpong(std::span<const uint8_t> bytes);
std::vector<uint8_t> encode_perftest(const Keys& keys);
std::optional<Keys> decode_perftest(std::span<const uint8_t> bytes);
// Numbers of fixed width, highest byte first.
std::vector<uint8_t> encode_perftest_cm(const Keys& keys);
std::optional<Keys> decode_perftest_cm(std::span<const uint8_t> bytes);

}  // namespace rnic::tools
