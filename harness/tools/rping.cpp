// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/rping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "harness/roce/bytes.hpp"

namespace rnic::tools {
namespace {

constexpr uint8_t kFirstLetter = 'A', kLastLetter = 'z';
constexpr uint32_t kLetters = kLastLetter - kFirstLetter + 1;

}  // namespace

std::vector<uint8_t> encode_rping(const RpingInfo& info) {
  std::vector<uint8_t> b(kRpingInfoBytes);
  roce::store_be64(b.data(), info.va);
  roce::store_be32(b.data() + 8, info.rkey);
  roce::store_be32(b.data() + 12, info.size);
  return b;
}

std::optional<RpingInfo> decode_rping(std::span<const uint8_t> bytes) {
  if (bytes.size() != kRpingInfoBytes) return std::nullopt;
  return RpingInfo{roce::load_be64(bytes.data()), roce::load_be32(bytes.data() + 8),
                   roce::load_be32(bytes.data() + 12)};
}

std::vector<uint8_t> rping_data(uint64_t n, uint32_t size) {
  std::vector<uint8_t> b(size);
  const std::string head = fmt::format("rdma-ping-{}: ", n);
  const size_t letters = std::min<size_t>(head.size(), size);
  std::copy_n(head.begin(), letters, b.begin());
  for (size_t i = letters; i < size; ++i)
    b[i] = static_cast<uint8_t>(kFirstLetter + (n + i - letters) % kLetters);
  if (size > 0) b[size - 1] = 0;
  return b;
}

}  // namespace rnic::tools
