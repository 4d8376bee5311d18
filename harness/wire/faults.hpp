// SPDX-License-Identifier: Apache-2.0
// Faults of a cable, by rule and by probability, the same for the same seed.
//
//   std::vector<FaultRule> rules = {
//       {.action = FaultAction::kDrop, .probability = 0.01},
//       {.action = FaultAction::kDrop, .from = 1, .packet = PacketClass::kReadResponse, .qpn = 2,
//        .nth = 3, .count = 1}};                  // the third READ response to QP 2, once
//   CableFaults faults(rules, seed, link.config());
//   faults.install(link);                         // borrowed: outlives the link
//   ...  report(faults.text());
//
// A rule sees the frames of its direction that match all it names, counts them from 1, and acts on
// number `nth` and every `every`-th behind it, at most `count` times, each with `probability`.
// Rules do not see what other rules do: one frame may be repeated and corrupted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/mem/random.hpp"
#include "harness/wire/wire.hpp"

namespace rnic::wire {

enum class FaultAction : uint8_t {
  kDrop,
  kDuplicate,  // `copies` in all
  kReorder,    // behind the next frame of its direction
  kDelay,      // by delay_ps; others overtake it
  kCorrupt,    // `bits` bits of the IP packet
  kTruncate,   // to keep_bytes, or somewhere
};
inline constexpr size_t kFaultActions = 6;
const char* to_string(FaultAction a);

enum class PacketClass : uint8_t {
  kAny,
  kRaw,   // not RoCEv2
  kRoce,  // any RoCEv2 packet
  kRequest,
  kSend,
  kWrite,
  kReadRequest,
  kAtomic,
  kResponse,
  kAck,
  kNak,     // other than not ready
  kRnrNak,  // receiver not ready
  kReadResponse,
  kAtomicResponse,
  kCnp,
};

struct FaultRule {
  FaultAction action = FaultAction::kDrop;
  std::optional<int> from{};  // end that sends; both when not given
  PacketClass packet = PacketClass::kAny;
  std::optional<uint8_t> opcode{};
  std::optional<uint32_t> qpn{};  // destination
  std::optional<uint32_t> psn{};
  double probability = 1;
  uint64_t nth = 1;
  uint64_t every = 1;
  uint64_t count = 0;  // 0: no limit
  uint32_t copies = 2;
  TimePs delay_ps = 1'000'000;
  uint32_t bits = 1;
  std::optional<uint32_t> keep_bytes{};
  // Corrupted or truncated on the cable, so that the FCS tells; otherwise inside a switch, which
  // sends it on with a good one.
  bool bad_fcs = true;
  std::string name{};  // in reports
};

bool matches(PacketClass c, std::span<const uint8_t> frame);

struct RuleCount {
  uint64_t matched = 0, done = 0;
};

// One direction.
class Faults final : public FaultHook {
 public:
  Faults(const std::vector<FaultRule>& rules, int from, uint64_t seed, bool fcs_in_stream);
  void on_frame(FrameEdit& frame) override;
  // By rule, in the order given; zeros for rules of the other direction.
  const std::vector<RuleCount>& counts() const { return counts_; }
  uint64_t done(FaultAction a) const;
  bool empty() const;

 private:
  void apply(size_t rule, FrameEdit& frame);
  std::vector<FaultRule> rules_;
  std::vector<RuleCount> counts_;
  std::vector<mem::Random> random_;
  int from_;
  bool fcs_in_stream_;
};

// Both directions of a cable.
class CableFaults {
 public:
  CableFaults(const std::vector<FaultRule>& rules, uint64_t seed, const LinkConfig& link,
              TimePs hold_limit_ps = 10'000'000);
  // Directions without rules stay cut-through.
  void install(Link& link);
  Faults& direction(int from) { return *directions_[static_cast<size_t>(from)]; }
  uint64_t done(FaultAction a) const;
  // One line per rule: what it does, what it saw, how often it acted.
  std::string text() const;

 private:
  std::vector<FaultRule> rules_;
  std::array<std::unique_ptr<Faults>, 2> directions_;
  TimePs hold_limit_ps_;
};

}  // namespace rnic::wire
