// SPDX-License-Identifier: Apache-2.0
// Structural verifier: every rule a single RoCEv2 frame must obey by itself. The independent
// checker of every frame of every run.
//
//   CheckOptions rules;  rules.pmtu = 4096;
//   ViolationList bad = check_frame(frame, rules);
//   if (!bad.empty()) report(describe(bad));          // "ICRC: got 0x..., expected 0x..."
//
// A frame that is not RoCEv2 (ARP, TCP) is only checked for its Ethernet length and tags;
// `bad.is_roce` tells.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "harness/roce/frame.hpp"

namespace rnic::roce {

enum class Rule : uint8_t {
  kFrameTooShort,   // below 60 bytes (without FCS)
  kFrameTruncated,  // headers or IP length reach beyond the frame
  kTrailingBytes,   // more behind the IP packet than the minimum frame needs
  kEthPadNotZero,
  kVlanUnexpected,  // tag where none is allowed, or TCI other than required
  kVlanTpid,        // tag types in an order no bridge makes
  kIpHeader,        // version, IHL, fragment
  kIpChecksum,
  kIpTtlZero,
  kIpLength,
  kUdpLength,
  kUdpChecksumBad,  // non-zero and wrong
  kTver,
  kReservedBits,  // BTH reserved bits not zero
  kOpcode,        // unknown or reserved
  kPadCount,      // not (-payload) mod 4
  kPadNotZero,
  kPayloadLength,  // against the opcode's rule
  kDmaLength,      // RETH length against the payload or the limit of 2^31
  kAtomicAlign,
  kSyndrome,  // reserved AETH code
  kCnpFields,
  kSolicited,  // SE on a packet where it means nothing
  kAckReqOnResponse,
  kIcrc,
  kInt,  // fields of the telemetry behind the iCRC
  kArp,  // fields of a packet of an AllReduce
  kFcs,
};
const char* to_string(Rule r);

struct Violation {
  Rule rule = Rule::kFrameTooShort;
  uint64_t got = 0;
  uint64_t expected = 0;
};

class ViolationList {
 public:
  static constexpr size_t kCapacity = 16;
  void add(Rule rule, uint64_t got, uint64_t expected) {
    if (count_ < kCapacity) items_[count_] = {rule, got, expected};
    ++count_;
  }
  bool empty() const { return count_ == 0; }
  size_t size() const { return count_ < kCapacity ? count_ : kCapacity; }
  const Violation& operator[](size_t i) const { return items_[i]; }
  const Violation* begin() const { return items_.data(); }
  const Violation* end() const { return items_.data() + size(); }
  bool has(Rule rule) const;
  bool is_roce = false;
  ParseStatus status = ParseStatus::kNotRoce;

 private:
  std::array<Violation, kCapacity> items_{};
  size_t count_ = 0;
};

struct CheckOptions {
  bool has_fcs = false;        // the last four bytes are the FCS: checked and taken off
  bool padded_to_min = true;   // false for captures taken before padding
  bool allow_trailer = false;  // bytes behind the iCRC are legal; INT among them is checked
  bool allow_arp = false;      // packets of an AllReduce are legal, and checked
  bool allow_vlan = true;
  bool require_eth_pad_zero = true;
  uint32_t pmtu = 0;      // 0: any of 256 .. 4096
  int32_t vlan_tci = -1;  // >= 0: this one tag must be there
};

ViolationList check_frame(std::span<const uint8_t> frame, const CheckOptions& options = {});
// "; "-separated text of all violations.
std::string describe(const ViolationList& list);

}  // namespace rnic::roce
