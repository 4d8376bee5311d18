// SPDX-License-Identifier: Apache-2.0
// How an IP address and a port become a service of the connection manager (what rdma_cm does): the
// service id holds protocol and port, the first 36 private bytes of a REQ or SIDR_REQ hold both
// ends.
//
//   req.service_id = service_id(kTcpSpace, 7174);
//   set_ip_header(req, {.source_port = 4242, .source = us, .destination = them});
//   std::span<uint8_t> mine = user_data(req);   // the 56 bytes behind it
#pragma once

#include <optional>

#include "harness/cm/messages.hpp"

namespace rnic::cm {

inline constexpr size_t kIpHeaderBytes = 36;
inline constexpr size_t kReqUserBytes = kReqPrivate - kIpHeaderBytes;

// "IP protocol" of the service id: connections; UD.
inline constexpr uint8_t kTcpSpace = 0x06, kUdpSpace = 0x11;

constexpr uint64_t service_id(uint8_t protocol, uint16_t port) {
  return 0x1'00'0000 | uint64_t{protocol} << 16 | port;
}
constexpr uint16_t service_port(uint64_t service) { return static_cast<uint16_t>(service); }

struct IpHeader {
  uint16_t source_port = 0;
  Gid source{}, destination{};  // IPv4 as ::ffff:a.b.c.d
};

void set_ip_header(Req& req, const IpHeader& header);
void set_ip_header(SidrReq& req, const IpHeader& header);
// Empty when the message does not carry one of a known version.
std::optional<IpHeader> ip_header(const Req& req);
std::optional<IpHeader> ip_header(const SidrReq& req);

std::span<uint8_t> user_data(Req& req);
std::span<const uint8_t> user_data(const Req& req);

}  // namespace rnic::cm
