// SPDX-License-Identifier: Apache-2.0
#include "harness/cm/messages.hpp"

#include <algorithm>

#include "harness/roce/bytes.hpp"

namespace rnic::cm {
namespace {

using roce::load_be16;
using roce::load_be24;
using roce::load_be32;
using roce::load_be64;
using roce::store_be16;
using roce::store_be24;
using roce::store_be32;
using roce::store_be64;

// Common header of every management datagram.
constexpr size_t kBaseVersionAt = 0, kClassAt = 1, kClassVersionAt = 2, kMethodAt = 3;
constexpr size_t kTransactionAt = 8, kAttributeAt = 16;
constexpr uint8_t kBaseVersion = 1, kClassCm = 7, kClassVersion = 2, kMethodSend = 3;

// First bytes of every message here.
constexpr size_t kLocalIdAt = 24, kRemoteIdAt = 28;

enum Attribute : uint16_t {
  kReq = 0x10,
  kMra = 0x11,
  kRej = 0x12,
  kRep = 0x13,
  kRtu = 0x14,
  kDreq = 0x15,
  kDrep = 0x16,
  kSidrReq = 0x17,
  kSidrRep = 0x18,
};

// `width` bits of byte p[0], the lowest at bit `low`.
uint8_t bits(const uint8_t* p, unsigned low, unsigned width) {
  return static_cast<uint8_t>((p[0] >> low) & ((1u << width) - 1));
}
void put_bits(uint8_t* p, unsigned low, unsigned width, unsigned value) {
  const unsigned mask = ((1u << width) - 1) << low;
  p[0] = static_cast<uint8_t>((p[0] & ~mask) | ((value << low) & mask));
}

template <size_t N>
void load_bytes(const uint8_t* p, std::array<uint8_t, N>& to) {
  std::copy_n(p, N, to.begin());
}
template <size_t N>
void store_bytes(uint8_t* p, const std::array<uint8_t, N>& from) {
  std::copy_n(from.begin(), N, p);
}

template <class Body>
void load_ids(const uint8_t* m, Body& b) {
  b.local_id = load_be32(m + kLocalIdAt);
  b.remote_id = load_be32(m + kRemoteIdAt);
}
template <class Body>
void store_ids(uint8_t* m, const Body& b) {
  store_be32(m + kLocalIdAt, b.local_id);
  store_be32(m + kRemoteIdAt, b.remote_id);
}

void load_path(const uint8_t* p, Path& path) {
  path.local_lid = load_be16(p);
  path.remote_lid = load_be16(p + 2);
  load_bytes(p + 4, path.local_gid);
  load_bytes(p + 20, path.remote_gid);
  path.flow_label = load_be32(p + 36) >> 12;
  path.rate = bits(p + 39, 0, 6);
  path.traffic_class = p[40];
  path.hop_limit = p[41];
  path.service_level = bits(p + 42, 4, 4);
  path.subnet_local = bits(p + 42, 3, 1) != 0;
  path.ack_timeout = bits(p + 43, 3, 5);
}
void store_path(uint8_t* p, const Path& path) {
  store_be16(p, path.local_lid);
  store_be16(p + 2, path.remote_lid);
  store_bytes(p + 4, path.local_gid);
  store_bytes(p + 20, path.remote_gid);
  store_be32(p + 36, path.flow_label << 12 | (path.rate & 0x3F));
  p[40] = path.traffic_class;
  p[41] = path.hop_limit;
  put_bits(p + 42, 4, 4, path.service_level);
  put_bits(p + 42, 3, 1, path.subnet_local);
  put_bits(p + 43, 3, 5, path.ack_timeout);
}

void load(const uint8_t* m, Req& b) {
  b.local_id = load_be32(m + kLocalIdAt);
  b.service_id = load_be64(m + 32);
  b.ca_guid = load_be64(m + 40);
  b.qkey = load_be32(m + 52);
  b.qpn = load_be24(m + 56);
  b.responder_resources = m[59];
  b.initiator_depth = m[63];
  b.remote_response_timeout = bits(m + 67, 3, 5);
  b.transport = static_cast<Transport>(bits(m + 67, 1, 2));
  b.flow_control = bits(m + 67, 0, 1) != 0;
  b.psn = load_be24(m + 68);
  b.local_response_timeout = bits(m + 71, 3, 5);
  b.retry_count = bits(m + 71, 0, 3);
  b.pkey = load_be16(m + 72);
  b.mtu = bits(m + 74, 4, 4);
  b.rdc_exists = bits(m + 74, 3, 1) != 0;
  b.rnr_retry = bits(m + 74, 0, 3);
  b.max_retries = bits(m + 75, 4, 4);
  b.srq = bits(m + 75, 3, 1) != 0;
  load_path(m + 76, b.primary);
  load_path(m + 120, b.alternate);
  load_bytes(m + 164, b.private_data);
}
uint16_t store(uint8_t* m, const Req& b) {
  store_be32(m + kLocalIdAt, b.local_id);
  store_be64(m + 32, b.service_id);
  store_be64(m + 40, b.ca_guid);
  store_be32(m + 52, b.qkey);
  store_be24(m + 56, b.qpn);
  m[59] = b.responder_resources;
  m[63] = b.initiator_depth;
  put_bits(m + 67, 3, 5, b.remote_response_timeout);
  put_bits(m + 67, 1, 2, static_cast<unsigned>(b.transport));
  put_bits(m + 67, 0, 1, b.flow_control);
  store_be24(m + 68, b.psn);
  put_bits(m + 71, 3, 5, b.local_response_timeout);
  put_bits(m + 71, 0, 3, b.retry_count);
  store_be16(m + 72, b.pkey);
  put_bits(m + 74, 4, 4, b.mtu);
  put_bits(m + 74, 3, 1, b.rdc_exists);
  put_bits(m + 74, 0, 3, b.rnr_retry);
  put_bits(m + 75, 4, 4, b.max_retries);
  put_bits(m + 75, 3, 1, b.srq);
  store_path(m + 76, b.primary);
  store_path(m + 120, b.alternate);
  store_bytes(m + 164, b.private_data);
  return kReq;
}

void load(const uint8_t* m, Rep& b) {
  load_ids(m, b);
  b.qkey = load_be32(m + 32);
  b.qpn = load_be24(m + 36);
  b.psn = load_be24(m + 44);
  b.responder_resources = m[48];
  b.initiator_depth = m[49];
  b.ack_delay = bits(m + 50, 3, 5);
  b.failover = bits(m + 50, 1, 2);
  b.flow_control = bits(m + 50, 0, 1) != 0;
  b.rnr_retry = bits(m + 51, 5, 3);
  b.srq = bits(m + 51, 4, 1) != 0;
  b.ca_guid = load_be64(m + 52);
  load_bytes(m + 60, b.private_data);
}
uint16_t store(uint8_t* m, const Rep& b) {
  store_ids(m, b);
  store_be32(m + 32, b.qkey);
  store_be24(m + 36, b.qpn);
  store_be24(m + 44, b.psn);
  m[48] = b.responder_resources;
  m[49] = b.initiator_depth;
  put_bits(m + 50, 3, 5, b.ack_delay);
  put_bits(m + 50, 1, 2, b.failover);
  put_bits(m + 50, 0, 1, b.flow_control);
  put_bits(m + 51, 5, 3, b.rnr_retry);
  put_bits(m + 51, 4, 1, b.srq);
  store_be64(m + 52, b.ca_guid);
  store_bytes(m + 60, b.private_data);
  return kRep;
}

void load(const uint8_t* m, Rtu& b) {
  load_ids(m, b);
  load_bytes(m + 32, b.private_data);
}
uint16_t store(uint8_t* m, const Rtu& b) {
  store_ids(m, b);
  store_bytes(m + 32, b.private_data);
  return kRtu;
}

void load(const uint8_t* m, Rej& b) {
  load_ids(m, b);
  b.rejected = static_cast<Answered>(bits(m + 32, 6, 2));
  b.info_length = std::min<uint8_t>(bits(m + 33, 1, 7), kRejInfo);
  b.reason = static_cast<Reason>(load_be16(m + 34));
  load_bytes(m + 36, b.info);
  load_bytes(m + 108, b.private_data);
}
uint16_t store(uint8_t* m, const Rej& b) {
  store_ids(m, b);
  put_bits(m + 32, 6, 2, static_cast<unsigned>(b.rejected));
  put_bits(m + 33, 1, 7, b.info_length);
  store_be16(m + 34, static_cast<uint16_t>(b.reason));
  store_bytes(m + 36, b.info);
  store_bytes(m + 108, b.private_data);
  return kRej;
}

void load(const uint8_t* m, Mra& b) {
  load_ids(m, b);
  b.answered = static_cast<Answered>(bits(m + 32, 6, 2));
  b.service_timeout = bits(m + 33, 3, 5);
  load_bytes(m + 34, b.private_data);
}
uint16_t store(uint8_t* m, const Mra& b) {
  store_ids(m, b);
  put_bits(m + 32, 6, 2, static_cast<unsigned>(b.answered));
  put_bits(m + 33, 3, 5, b.service_timeout);
  store_bytes(m + 34, b.private_data);
  return kMra;
}

void load(const uint8_t* m, Dreq& b) {
  load_ids(m, b);
  b.remote_qpn = load_be24(m + 32);
  load_bytes(m + 36, b.private_data);
}
uint16_t store(uint8_t* m, const Dreq& b) {
  store_ids(m, b);
  store_be24(m + 32, b.remote_qpn);
  store_bytes(m + 36, b.private_data);
  return kDreq;
}

void load(const uint8_t* m, Drep& b) {
  load_ids(m, b);
  load_bytes(m + 32, b.private_data);
}
uint16_t store(uint8_t* m, const Drep& b) {
  store_ids(m, b);
  store_bytes(m + 32, b.private_data);
  return kDrep;
}

void load(const uint8_t* m, SidrReq& b) {
  b.request_id = load_be32(m + kLocalIdAt);
  b.pkey = load_be16(m + 28);
  b.service_id = load_be64(m + 32);
  load_bytes(m + 40, b.private_data);
}
uint16_t store(uint8_t* m, const SidrReq& b) {
  store_be32(m + kLocalIdAt, b.request_id);
  store_be16(m + 28, b.pkey);
  store_be64(m + 32, b.service_id);
  store_bytes(m + 40, b.private_data);
  return kSidrReq;
}

void load(const uint8_t* m, SidrRep& b) {
  b.request_id = load_be32(m + kLocalIdAt);
  b.status = static_cast<SidrStatus>(m[28]);
  b.info_length = std::min<uint8_t>(m[29], kSidrInfo);
  b.qpn = load_be24(m + 32);
  b.service_id = load_be64(m + 36);
  b.qkey = load_be32(m + 44);
  load_bytes(m + 48, b.info);
  load_bytes(m + 120, b.private_data);
}
uint16_t store(uint8_t* m, const SidrRep& b) {
  store_be32(m + kLocalIdAt, b.request_id);
  m[28] = static_cast<uint8_t>(b.status);
  m[29] = b.info_length;
  store_be24(m + 32, b.qpn);
  store_be64(m + 36, b.service_id);
  store_be32(m + 44, b.qkey);
  store_bytes(m + 48, b.info);
  store_bytes(m + 120, b.private_data);
  return kSidrRep;
}

DecodeStatus check_header(std::span<const uint8_t> mad) {
  if (mad.size() != kMadBytes) return DecodeStatus::kLength;
  if (mad[kBaseVersionAt] != kBaseVersion) return DecodeStatus::kBaseVersion;
  if (mad[kClassAt] != kClassCm) return DecodeStatus::kClass;
  if (mad[kClassVersionAt] != kClassVersion) return DecodeStatus::kClassVersion;
  if (mad[kMethodAt] != kMethodSend) return DecodeStatus::kMethod;
  return DecodeStatus::kOk;
}

template <class Body>
DecodeStatus read(const uint8_t* m, Message& message) {
  load(m, message.body.emplace<Body>());
  return DecodeStatus::kOk;
}

DecodeStatus read_body(const uint8_t* m, Message& message) {
  switch (load_be16(m + kAttributeAt)) {
    case kReq:
      return read<Req>(m, message);
    case kMra:
      return read<Mra>(m, message);
    case kRej:
      return read<Rej>(m, message);
    case kRep:
      return read<Rep>(m, message);
    case kRtu:
      return read<Rtu>(m, message);
    case kDreq:
      return read<Dreq>(m, message);
    case kDrep:
      return read<Drep>(m, message);
    case kSidrReq:
      return read<SidrReq>(m, message);
    case kSidrRep:
      return read<SidrRep>(m, message);
    default:
      return DecodeStatus::kAttribute;
  }
}

}  // namespace

Mad encode(const Message& message) {
  Mad mad{};
  mad[kBaseVersionAt] = kBaseVersion;
  mad[kClassAt] = kClassCm;
  mad[kClassVersionAt] = kClassVersion;
  mad[kMethodAt] = kMethodSend;
  store_be64(mad.data() + kTransactionAt, message.transaction);
  const uint16_t attribute =
      std::visit([&](const auto& body) { return store(mad.data(), body); }, message.body);
  store_be16(mad.data() + kAttributeAt, attribute);
  return mad;
}

Decoded decode(std::span<const uint8_t> mad) {
  Decoded out;
  out.status = check_header(mad);
  if (out.status != DecodeStatus::kOk) return out;
  out.message.transaction = load_be64(mad.data() + kTransactionAt);
  out.status = read_body(mad.data(), out.message);
  return out;
}

const char* name(const Message& message) {
  constexpr const char* kNames[] = {"REQ",  "MRA",  "REJ",      "REP",     "RTU",
                                    "DREQ", "DREP", "SIDR_REQ", "SIDR_REP"};
  return kNames[message.body.index()];
}

const char* to_string(Reason reason) {
  switch (reason) {
    case Reason::kNoQp:
      return "no queue pair";
    case Reason::kNoResources:
      return "no resources";
    case Reason::kTimeout:
      return "time-out";
    case Reason::kUnsupported:
      return "unsupported request";
    case Reason::kInvalidId:
      return "invalid communication id";
    case Reason::kInvalidServiceId:
      return "nobody listens";
    case Reason::kInvalidTransport:
      return "invalid transport";
    case Reason::kStale:
      return "stale connection";
    case Reason::kInvalidGid:
      return "invalid GID";
    case Reason::kInvalidMtu:
      return "invalid MTU";
    case Reason::kResponderResources:
      return "too few responder resources";
    case Reason::kConsumer:
      return "refused by the user";
    case Reason::kInvalidClassVersion:
      return "invalid class version";
  }
  return "other reason";
}

const char* to_string(SidrStatus status) {
  switch (status) {
    case SidrStatus::kValid:
      return "valid";
    case SidrStatus::kUnsupported:
      return "nobody listens";
    case SidrStatus::kRejected:
      return "refused by the user";
    case SidrStatus::kNoQp:
      return "no queue pair";
    case SidrStatus::kRedirect:
      return "redirected";
    case SidrStatus::kVersion:
      return "unsupported version";
  }
  return "other status";
}

const char* to_string(DecodeStatus status) {
  switch (status) {
    case DecodeStatus::kOk:
      return "ok";
    case DecodeStatus::kLength:
      return "not 256 bytes";
    case DecodeStatus::kBaseVersion:
      return "base version is not 1";
    case DecodeStatus::kClass:
      return "not communication management";
    case DecodeStatus::kClassVersion:
      return "class version is not 2";
    case DecodeStatus::kMethod:
      return "method is not Send";
    case DecodeStatus::kAttribute:
      return "unknown attribute";
  }
  return "?";
}

}  // namespace rnic::cm
