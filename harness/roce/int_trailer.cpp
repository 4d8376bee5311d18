// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/int_trailer.hpp"

#include <algorithm>
#include <cstring>

#include "harness/roce/bytes.hpp"
#include "harness/roce/frame.hpp"

namespace rnic::roce {
namespace {

constexpr size_t kEthernet = 14, kTag = 4, kIpv4 = 20, kIpv6 = 40;
constexpr size_t kVersionAt = 2, kFlagsAt = 3, kPathAt = 4, kHopsAt = 8, kHopBytes = 8;
constexpr uint8_t kEchoFlag = 0x01;
constexpr std::array<uint64_t, 5> kRates = {25'000'000'000, 50'000'000'000, 100'000'000'000,
                                            200'000'000'000, 400'000'000'000};

uint16_t load_le16(const uint8_t* p) { return static_cast<uint16_t>(p[0] | p[1] << 8); }
void store_le16(uint8_t* p, uint16_t v) {
  p[0] = static_cast<uint8_t>(v);
  p[1] = static_cast<uint8_t>(v >> 8);
}

unsigned written(unsigned hops) { return std::min(hops, kIntHops); }

}  // namespace

std::optional<uint8_t> int_rate_code(uint64_t bps) {
  const auto at = std::find(kRates.begin(), kRates.end(), bps);
  if (at == kRates.end()) return std::nullopt;
  return static_cast<uint8_t>(at - kRates.begin());
}

uint64_t int_rate_bps(uint8_t code) { return code < kRates.size() ? kRates[code] : 0; }

uint64_t pack_hop(const IntHop& h) {
  return (h.rate & 7u) | uint64_t{h.ts & kIntTsMask} << 3 | uint64_t{h.tx & kIntTxMask} << 27 |
         uint64_t{std::min(h.queue, kIntQueueMax)} << 47;
}

IntHop unpack_hop(uint64_t w) {
  return {static_cast<uint8_t>(w & 7), static_cast<uint32_t>(w >> 3) & kIntTsMask,
          static_cast<uint32_t>(w >> 27) & kIntTxMask, static_cast<uint32_t>(w >> 47)};
}

IntHop make_hop(uint8_t rate, uint64_t ps, uint64_t tx_bytes, uint64_t queue_bytes, uint8_t unit) {
  IntHop h;
  h.rate = rate;
  h.ts = static_cast<uint32_t>(ps / 1000) & kIntTsMask;
  h.tx = static_cast<uint32_t>((tx_bytes / kIntTxBytes) >> unit) & kIntTxMask;
  h.queue = static_cast<uint32_t>(
      std::min<uint64_t>((queue_bytes / kIntQueueBytes) >> unit, kIntQueueMax));
  return h;
}

size_t ip_end(std::span<const uint8_t> f) {
  if (f.size() < kEthernet) return 0;
  size_t l3 = kEthernet;
  uint16_t type = load_be16(&f[12]);
  for (int tags = 0; tags < 2 && (type == kEtherVlan || type == kEtherQinQ); ++tags) {
    if (f.size() < l3 + kTag) return 0;
    type = load_be16(&f[l3 + 2]);
    l3 += kTag;
  }
  size_t length = 0;
  if (type == kEtherIpv4 && f.size() >= l3 + kIpv4 && f[l3] >> 4 == 4) {
    length = load_be16(&f[l3 + 2]);
    if (length < kIpv4) return 0;
  } else if (type == kEtherIpv6 && f.size() >= l3 + kIpv6 && f[l3] >> 4 == 6) {
    length = load_be16(&f[l3 + 4]) + kIpv6;
  } else {
    return 0;
  }
  return l3 + length <= f.size() ? l3 + length : 0;
}

bool is_int(std::span<const uint8_t> t) {
  return t.size() >= kIntBytes && load_le16(t.data()) == kIntMagic &&
         (t[kVersionAt] & 15) == kIntVersion;
}

size_t find_int(std::span<const uint8_t> f) {
  const size_t end = ip_end(f);
  if (end == 0 || f.size() != end + kIntBytes) return 0;
  return is_int(f.subspan(end)) ? end : 0;
}

size_t append_int(std::span<uint8_t> frame, size_t length, const IntTrailer& trailer) {
  const size_t end = ip_end(frame.first(std::min(length, frame.size())));
  if (end == 0 || end + kIntBytes > frame.size()) return length;
  write_int(frame.subspan(end), trailer);
  return end + kIntBytes;
}

bool read_int(std::span<const uint8_t> t, IntTrailer& out) {
  if (!is_int(t)) return false;
  out = {};
  out.unit = t[kVersionAt] >> 4;
  out.echo = (t[kFlagsAt] & kEchoFlag) != 0;
  const uint16_t path = load_le16(&t[kPathAt]);
  out.hops = static_cast<uint8_t>(path >> 12);
  out.path = path & kIntPathMask;
  bool good = out.unit <= kIntMostUnit && (t[kFlagsAt] & ~kEchoFlag) == 0 && t[6] == 0 && t[7] == 0;
  for (unsigned i = 0; i < kIntHops; ++i) {
    const uint64_t word = load_le64(&t[kHopsAt + i * kHopBytes]);
    out.hop[i] = unpack_hop(word);
    good = good && (i < out.hops ? int_rate_bps(out.hop[i].rate) != 0 : word == 0);
  }
  return good;
}

void write_int(std::span<uint8_t> t, const IntTrailer& in) {
  std::memset(t.data(), 0, kIntBytes);
  store_le16(t.data(), kIntMagic);
  t[kVersionAt] = static_cast<uint8_t>(kIntVersion | in.unit << 4);
  t[kFlagsAt] = in.echo ? kEchoFlag : 0;
  store_le16(&t[kPathAt], static_cast<uint16_t>((in.path & kIntPathMask) | in.hops << 12));
  for (unsigned i = 0; i < written(in.hops); ++i)
    store_le64(&t[kHopsAt + i * kHopBytes], pack_hop(in.hop[i]));
}

bool push_hop(std::span<uint8_t> t, const IntHop& hop, uint8_t unit, uint16_t switch_id) {
  const uint16_t was = load_le16(&t[kPathAt]);
  const unsigned hops = was >> 12;
  const unsigned now = std::min(hops + 1, kIntMostHops);
  store_le16(&t[kPathAt], static_cast<uint16_t>(((was ^ switch_id) & kIntPathMask) | now << 12));
  if (hops >= kIntHops) return false;
  const bool same = t[kVersionAt] >> 4 == unit;
  // A hop in another unit has no rate: the receiver cannot use it, and sees why.
  store_le64(&t[kHopsAt + hops * kHopBytes], same ? pack_hop(hop) : pack_hop({.rate = 7}));
  return same;
}

}  // namespace rnic::roce
