// SPDX-License-Identifier: Apache-2.0
//
// What a receiver must make of a frame: a model written from the protocol facts by byte offset, and
// frames to try it on.
//
//   Judgement j = judge(frame);                       // frame: Ethernet header .. padding, without
//   FCS if (j.kind == Kind::kRoce) CHECK(kMeta.get(j.meta, "psn") == 0x10); auto frames =
//   FrameMaker(rng).mix(100);           // WRITEs, ACKs, VLAN, IPv6, raw, broken ones
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/roce/frame.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/rng.hpp"

namespace rnic::rx {

using Bytes = std::vector<uint8_t>;

// rnic_pkg::rx_meta_t
extern const test::BitLayout kMeta;

enum class Kind : uint8_t { kDrop = 0, kRoce = 1, kRaw = 2 };

struct Judgement {
  Kind kind = Kind::kDrop;
  std::string counter;  // the one counter that must move: "" (raw that passes), "roce_packets",
                        // "runts", ...
  test::Bits meta;      // of kRoce
  Bytes payload;        // of kRoce
};

struct Station {
  bool promiscuous = true;
  roce::MacAddr mac{};
  bool telemetry = true;  // INT trailers are looked for
};

Judgement judge(std::span<const uint8_t> frame, bool mac_error = false,
                const Station& station = {});

// Queue pair of a frame that a context prefetch may be started for: the BTH is there and looks like
// RoCEv2.
std::optional<uint32_t> early_qpn(std::span<const uint8_t> frame);

Bytes from_hex(const std::string& hex);
// The fourteen frames of the fact sheet, section 2, as captured: without padding.
const std::vector<Bytes>& fact_vectors();
Bytes with_vlan(const Bytes& frame, uint16_t tci);
// Without what follows the iCRC.
Bytes ip_packet_of(const Bytes& frame);
Bytes padded(Bytes frame, size_t length = roce::kMinFrame, uint8_t fill = 0);

// Random frames, valid and not.
class FrameMaker {
 public:
  explicit FrameMaker(test::Rng rng) : rng_(rng) {}
  Bytes roce_frame(size_t payload, std::optional<uint8_t> opcode = {});
  // The same with an INT trailer behind it, whatever it says.
  Bytes telemetry_frame(size_t payload, std::optional<uint8_t> opcode = {});
  Bytes raw_frame();     // ARP, TCP, UDP to another port, fragment, IPv4 options, odd EtherType
  Bytes broken_frame();  // something that must be dropped
  Bytes any_frame(size_t max_payload = 1100);
  std::vector<Bytes> mix(size_t count, size_t max_payload = 1100);
  test::Rng& rng() { return rng_; }

 private:
  test::Rng rng_;
};

}  // namespace rnic::rx
