// SPDX-License-Identifier: Apache-2.0
#include "harness/switch/pause_frame.hpp"

#include <algorithm>

#include "harness/roce/bytes.hpp"

namespace rnic::switching {
namespace {

constexpr roce::MacAddr kPauseMac = {0x01, 0x80, 0xC2, 0x00, 0x00, 0x01};
constexpr uint16_t kMacControl = 0x8808, kLegacy = 0x0001, kPfc = 0x0101;
constexpr size_t kTypeAt = 12, kOpcodeAt = 14, kVectorAt = 16, kTimesAt = 18;

}  // namespace

std::array<uint8_t, kPauseBytes> build_pause(const PauseFrame& p, const roce::MacAddr& source) {
  std::array<uint8_t, kPauseBytes> f{};
  std::copy(kPauseMac.begin(), kPauseMac.end(), f.begin());
  std::copy(source.begin(), source.end(), f.begin() + 6);
  roce::store_be16(&f[kTypeAt], kMacControl);
  roce::store_be16(&f[kOpcodeAt], p.legacy ? kLegacy : kPfc);
  if (p.legacy) {
    roce::store_be16(&f[kVectorAt], p.quanta[0]);
    return f;
  }
  roce::store_be16(&f[kVectorAt], p.mask);
  for (size_t c = 0; c < 8; ++c) roce::store_be16(&f[kTimesAt + 2 * c], p.quanta[c]);
  return f;
}

bool is_mac_control(std::span<const uint8_t> f) {
  return f.size() >= kOpcodeAt && roce::load_be16(&f[kTypeAt]) == kMacControl;
}

bool parse_pause(std::span<const uint8_t> f, PauseFrame& out) {
  if (!is_mac_control(f) || f.size() < kPauseBytes) return false;
  if (!std::equal(kPauseMac.begin(), kPauseMac.end(), f.begin())) return false;
  out = {};
  const uint16_t opcode = roce::load_be16(&f[kOpcodeAt]);
  if (opcode == kLegacy) {
    out.legacy = true;
    out.quanta[0] = roce::load_be16(&f[kVectorAt]);
    return true;
  }
  if (opcode != kPfc) return false;
  out.mask = f[kVectorAt + 1];
  for (size_t c = 0; c < 8; ++c) out.quanta[c] = roce::load_be16(&f[kTimesAt + 2 * c]);
  return true;
}

wire::TimePs quanta_time(uint16_t quanta, uint64_t rate_bps) {
  const unsigned __int128 bits = quanta * kQuantumBits;
  return static_cast<wire::TimePs>((bits * 1'000'000'000'000ull + rate_bps - 1) / rate_bps);
}

}  // namespace rnic::switching
