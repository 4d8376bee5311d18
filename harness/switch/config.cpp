// SPDX-License-Identifier: Apache-2.0
#include "harness/switch/config.hpp"

#include <stdexcept>
#include <string>

#include "harness/roce/int_trailer.hpp"

namespace rnic::switching {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw std::invalid_argument("switch: " + text);
}

void check_ecn(const EcnConfig& e, unsigned cls) {
  if (!e.on) return;
  const std::string where = "class " + std::to_string(cls) + ": ECN ";
  if (e.kmin > e.kmax) refuse(where + "kmin is above kmax");
  if (!(e.pmax >= 0 && e.pmax <= 1)) refuse(where + "pmax is not between 0 and 1");
}

}  // namespace

double EcnConfig::probability(uint64_t queue) const {
  if (!on || queue <= kmin) return 0;
  if (queue > kmax) return 1;
  return pmax * static_cast<double>(queue - kmin) / static_cast<double>(kmax - kmin);
}

EcnConfig EcnConfig::production(uint64_t rate_bps) {
  constexpr uint64_t kLane = 25'000'000'000;
  const auto scaled = [&](uint64_t bytes) {
    return static_cast<uint64_t>(static_cast<double>(bytes) * static_cast<double>(rate_bps) /
                                 static_cast<double>(kLane));
  };
  return {true, scaled(100'000), scaled(400'000), 0.2};
}

SwitchConfig::SwitchConfig() {
  for (unsigned i = 0; i < 64; ++i) class_of_dscp[i] = static_cast<uint8_t>(i / 8);
}

void SwitchConfig::validate() const {
  if (ports < 1 || ports > kMostPorts) refuse("ports must be 1 .. 64");
  if (max_frame < 64 || max_frame > 65536 - roce::kIntBytes)
    refuse("max_frame must be 64 .. 65488");
  if (default_class >= kClasses) refuse("default_class must be 0 .. 7");
  for (unsigned c : class_of_dscp)
    if (c >= kClasses) refuse("a class of DSCP must be 0 .. 7");
  for (unsigned c = 0; c < kClasses; ++c) check_ecn(classes[c].ecn, c);
  if (pause.mode != FlowControl::kNone && pause.xon >= pause.xoff) refuse("xon must be below xoff");
  if (pause.mode != FlowControl::kNone && pause.quanta == 0) refuse("quanta must not be 0");
  if (pause.mode == FlowControl::kPfc && pause.classes == 0) refuse("PFC needs a class");
  if (id > roce::kIntPathMask) refuse("id must be 0 .. 4095");
  if (int_unit > roce::kIntMostUnit) refuse("int_unit must be 0 .. 5");
}

uint64_t headroom_bytes(uint64_t rate_bps, TimePs delay_ps, TimePs reaction_ps,
                        uint32_t max_frame) {
  constexpr uint64_t kPauseOnWire = wire::kPreambleBytes + wire::kMinFrameBytes + wire::kFcsBytes;
  constexpr unsigned __int128 kPsBits = 8'000'000'000'000ull;
  const uint64_t frame = max_frame + wire::kFcsBytes;
  const auto line = static_cast<unsigned __int128>(2 * delay_ps + reaction_ps) * rate_bps;
  const auto flight = static_cast<uint64_t>((line + kPsBits - 1) / kPsBits);
  return (frame - 1) + (frame + wire::kOverheadBytes) + kPauseOnWire + flight + frame;
}

}  // namespace rnic::switching
