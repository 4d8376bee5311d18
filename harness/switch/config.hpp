// SPDX-License-Identifier: Apache-2.0
// What a switch is set to. README.md says what each setting does.
//
//   SwitchConfig c;
//   c.ports = 5;
//   for (ClassConfig& k : c.classes) k.ecn = EcnConfig::production(100'000'000'000);
//   c.pause = {.mode = FlowControl::kPfc, .classes = 1 << 3};
//   c.validate();
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "harness/wire/wire.hpp"

namespace rnic::switching {

using wire::TimePs;

inline constexpr unsigned kClasses = 8;
inline constexpr unsigned kMostPorts = 64;

// Marking by the queue that stays behind a frame that leaves, in bytes.
struct EcnConfig {
  bool on = false;
  uint64_t kmin = 0, kmax = 0;
  double pmax = 0;
  // 0 up to Kmin, Pmax (q - Kmin) / (Kmax - Kmin) up to Kmax, 1 above.
  double probability(uint64_t queue) const;
  // 100 and 400 KB per 25 Gb/s, 20 %.
  static EcnConfig production(uint64_t rate_bps);
};

struct ClassConfig {
  // 0: strict, ahead of every class with a weight, the higher number first. Else the share of what
  // is left, in bytes on the wire.
  uint32_t weight = 1;
  uint64_t queue_bytes = 1 << 20;  // of each egress port, for a class that may lose
  EcnConfig ecn;
};

enum class FlowControl : uint8_t {
  kNone,
  kPfc,    // per class
  kPause,  // 802.3x: the whole port
};

// Pauses by the bytes that came in by a port (with PFC: of a class) and are still here.
struct PauseConfig {
  FlowControl mode = FlowControl::kNone;
  uint8_t classes = 0;                 // PFC: bit n for class n
  uint64_t xoff = 96 * 1024;           // at this or above: pause
  uint64_t xon = 64 * 1024;            // at this or below: resume
  std::optional<uint64_t> headroom{};  // above xoff; else headroom_bytes() of the port
  TimePs reaction_ps = 500'000;        // of the peer, for the computed headroom
  uint16_t quanta = 0xFFFF;            // in the frames; sent again after half that time
};

enum class Classify : uint8_t { kDscp, kPcp };
enum class Unknown : uint8_t { kFlood, kDrop };

enum class IntMode : uint8_t {
  kOff,     // trailers pass as they are
  kStamp,   // a hop into each trailer that is there
  kInsert,  // the same, and a trailer for each SEND and WRITE packet without one
};

struct SwitchConfig {
  unsigned ports = 2;
  TimePs latency_ps = 300'000;  // from the end of a frame in to its earliest start out
  uint32_t max_frame = 9000;    // bytes without FCS
  std::array<ClassConfig, kClasses> classes{};
  Classify classify = Classify::kDscp;
  std::array<uint8_t, 64> class_of_dscp{};  // by default DSCP / 8
  uint8_t default_class = 0;                // what is neither tagged nor IP
  uint64_t buffer_bytes = 0;       // of all ports together, classes that may lose; 0: no limit
  uint64_t port_buffer_bytes = 0;  // the same of one egress port
  PauseConfig pause;
  bool learn = true;
  unsigned table_entries = 1024;
  Unknown unknown = Unknown::kFlood;
  IntMode telemetry = IntMode::kOff;
  uint16_t id = 1;  // 12 bits, in the path of INT
  uint8_t int_unit = 0;
  uint64_t seed = 1;

  SwitchConfig();
  bool lossless(unsigned cls) const {
    return pause.mode == FlowControl::kPause ||
           (pause.mode == FlowControl::kPfc && (pause.classes >> cls & 1) != 0);
  }
  // Throws std::invalid_argument.
  void validate() const;
};

// Bytes that may still come in after the frame that crosses xoff, at worst, and so must find room
// above it: the rest of that frame; what the peer sends while the pause waits behind a frame that
// has just started, is sent, travels and is heeded; what is on the cable; the peer's last frame.
// `max_frame` without FCS.
uint64_t headroom_bytes(uint64_t rate_bps, TimePs delay_ps, TimePs reaction_ps, uint32_t max_frame);

}  // namespace rnic::switching
