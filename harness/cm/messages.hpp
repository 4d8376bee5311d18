// SPDX-License-Identifier: Apache-2.0
// The messages of the connection manager: 256-byte management datagrams that travel as UD SENDs
// between the two QPs 1. Written by byte offset; reserved fields are sent as zero and ignored.
//
//   Mad mad = encode({tid, Rtu{.local_id = 7, .remote_id = 9}});
//   Decoded got = decode(bytes);
//   if (const auto* req = std::get_if<Req>(&got.message.body)) use(req->qpn,
//   req->primary.local_gid);
//
// `decode` never throws: datagrams come from the wire. What it refuses it names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "harness/roce/frame.hpp"

namespace rnic::cm {

inline constexpr size_t kMadBytes = 256;
inline constexpr uint32_t kQpn = 1;             // both ends
inline constexpr uint32_t kQkey = 0x8001'0000;  // the well-known key of QP 1

using Mad = std::array<uint8_t, kMadBytes>;
using Gid = roce::IpAddr;

// Room for the user's bytes in each message.
inline constexpr size_t kReqPrivate = 92;
inline constexpr size_t kMraPrivate = 222;
inline constexpr size_t kRejPrivate = 148;
inline constexpr size_t kRepPrivate = 196;
inline constexpr size_t kRtuPrivate = 224;
inline constexpr size_t kDreqPrivate = 220;
inline constexpr size_t kDrepPrivate = 224;
inline constexpr size_t kRejInfo = 72;
inline constexpr size_t kSidrReqPrivate = 216;
inline constexpr size_t kSidrRepPrivate = 136;
inline constexpr size_t kSidrInfo = 72;

enum class Transport : uint8_t { kRc = 0, kUc = 1, kRd = 2, kOther = 3 };

// One path of a REQ. RoCE has no LIDs: 0xFFFF on the primary path.
struct Path {
  uint16_t local_lid = 0xFFFF, remote_lid = 0xFFFF;
  Gid local_gid{}, remote_gid{};
  uint32_t flow_label = 0;  // 20 bits
  uint8_t rate = 0;         // 6 bits, 0: of the port
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 64;
  uint8_t service_level = 0;  // 4 bits
  bool subnet_local = false;
  uint8_t ack_timeout = 0;  // of the sender's requests, 4.096 us * 2^n
};
inline constexpr Path kNoPath{.local_lid = 0, .remote_lid = 0, .hop_limit = 0};

struct Req {
  uint32_t local_id = 0;
  uint64_t service_id = 0;
  uint64_t ca_guid = 0;
  uint32_t qkey = 0;
  uint32_t qpn = 0;
  uint8_t responder_resources = 1, initiator_depth = 1;
  uint8_t remote_response_timeout = 20;  // 4.096 us * 2^n, how long the receiver may take
  Transport transport = Transport::kRc;
  bool flow_control = false;
  uint32_t psn = 0;                     // of the first packet that the sender of this waits for
  uint8_t local_response_timeout = 20;  // how long the sender may take
  uint8_t retry_count = 7;
  uint16_t pkey = 0xFFFF;
  uint8_t mtu = 5;  // 1..5: 256..4096
  bool rdc_exists = false;
  uint8_t rnr_retry = 7;
  uint8_t max_retries = 15;  // of the manager's own messages
  bool srq = false;
  Path primary, alternate = kNoPath;
  std::array<uint8_t, kReqPrivate> private_data{};
};

struct Rep {
  uint32_t local_id = 0, remote_id = 0;
  uint32_t qkey = 0;
  uint32_t qpn = 0;
  uint32_t psn = 0;  // as in a REQ
  uint8_t responder_resources = 1, initiator_depth = 1;
  uint8_t ack_delay = 15;  // 4.096 us * 2^n
  uint8_t failover = 0;
  bool flow_control = false;
  uint8_t rnr_retry = 7;
  bool srq = false;
  uint64_t ca_guid = 0;
  std::array<uint8_t, kRepPrivate> private_data{};
};

struct Rtu {
  uint32_t local_id = 0, remote_id = 0;
  std::array<uint8_t, kRtuPrivate> private_data{};
};

// Which message a REJ or an MRA answers.
enum class Answered : uint8_t { kReq = 0, kRep = 1, kOther = 2 };

enum class Reason : uint16_t {
  kNoQp = 1,
  kNoResources = 3,
  kTimeout = 4,
  kUnsupported = 5,
  kInvalidId = 6,
  kInvalidServiceId = 8,
  kInvalidTransport = 9,
  kStale = 10,
  kInvalidGid = 12,
  kInvalidMtu = 26,
  kResponderResources = 27,
  kConsumer = 28,  // the user said no; its private data tell why
  kInvalidClassVersion = 31,
};
const char* to_string(Reason reason);

struct Rej {
  uint32_t local_id = 0, remote_id = 0;
  Answered rejected = Answered::kOther;
  Reason reason = Reason::kConsumer;
  uint8_t info_length = 0;  // valid bytes of `info`
  std::array<uint8_t, kRejInfo> info{};
  std::array<uint8_t, kRejPrivate> private_data{};
};

// "Wait longer": the receiver of a message needs `service_timeout` to answer it.
struct Mra {
  uint32_t local_id = 0, remote_id = 0;
  Answered answered = Answered::kReq;
  uint8_t service_timeout = 0;
  std::array<uint8_t, kMraPrivate> private_data{};
};

struct Dreq {
  uint32_t local_id = 0, remote_id = 0;
  uint32_t remote_qpn = 0;
  std::array<uint8_t, kDreqPrivate> private_data{};
};

struct Drep {
  uint32_t local_id = 0, remote_id = 0;
  std::array<uint8_t, kDrepPrivate> private_data{};
};

// "Which QP serves this?": UD needs no connection, only the number and the key of a QP.
struct SidrReq {
  uint32_t request_id = 0;
  uint16_t pkey = 0xFFFF;
  uint64_t service_id = 0;
  std::array<uint8_t, kSidrReqPrivate> private_data{};
};

enum class SidrStatus : uint8_t {
  kValid = 0,
  kUnsupported = 1,  // nobody listens
  kRejected = 2,
  kNoQp = 3,
  kRedirect = 4,
  kVersion = 5,
};
const char* to_string(SidrStatus status);

struct SidrRep {
  uint32_t request_id = 0;
  SidrStatus status = SidrStatus::kValid;
  uint8_t info_length = 0;  // valid bytes of `info`
  uint32_t qpn = 0;
  uint64_t service_id = 0;
  uint32_t qkey = 0;
  std::array<uint8_t, kSidrInfo> info{};
  std::array<uint8_t, kSidrRepPrivate> private_data{};
};

struct Message {
  uint64_t transaction = 0;
  std::variant<Req, Mra, Rej, Rep, Rtu, Dreq, Drep, SidrReq, SidrRep> body;
};

enum class DecodeStatus : uint8_t {
  kOk,
  kLength,        // not 256 bytes
  kBaseVersion,   // not 1
  kClass,         // not communication management
  kClassVersion,  // not 2
  kMethod,        // not Send
  kAttribute,     // a message unknown here (alternate paths)
};
const char* to_string(DecodeStatus status);

struct Decoded {
  DecodeStatus status = DecodeStatus::kLength;
  Message message;
};

Mad encode(const Message& message);
Decoded decode(std::span<const uint8_t> mad);
// "REQ", "REP", ...
const char* name(const Message& message);

}  // namespace rnic::cm
