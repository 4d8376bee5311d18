// SPDX-License-Identifier: Apache-2.0
// Telemetry as the blocks carry it, beside the trailer of harness/roce.
#pragma once

#include "harness/roce/int_trailer.hpp"
#include "tests/rx_responder/receive_types.hpp"

namespace rnic::test {

inline Bits telemetry_bits(const roce::IntTrailer& t) {
  Bits b = kTelemetry.pack({{"unit", t.unit}, {"hops", t.hops}, {"path", t.path}});
  Bits hops(320);
  for (size_t i = 0; i < roce::kIntHops; ++i) hops.set(64 * i, 64, roce::pack_hop(t.hop[i]));
  kTelemetry.set_bits(b, "hop", hops);
  return b;
}

inline roce::IntTrailer random_trailer(Rng& random) {
  roce::IntTrailer t;
  t.unit = static_cast<uint8_t>(random.below(6));
  t.hops = static_cast<uint8_t>(random.below(6));
  t.path = static_cast<uint16_t>(random.bits(12));
  for (unsigned i = 0; i < t.hops; ++i) {
    t.hop[i] = {static_cast<uint8_t>(random.below(6)), static_cast<uint32_t>(random.bits(24)),
                static_cast<uint32_t>(random.bits(20)), static_cast<uint32_t>(random.bits(17))};
  }
  return t;
}

}  // namespace rnic::test
