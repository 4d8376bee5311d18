// SPDX-License-Identifier: Apache-2.0
#include "harness/cm/ip_service.hpp"

#include <algorithm>

#include "harness/roce/bytes.hpp"

namespace rnic::cm {
namespace {

constexpr uint8_t kHeaderVersion = 0;  // major and minor
constexpr size_t kVersionAt = 0, kIpVersionAt = 1, kPortAt = 2, kSourceAt = 4, kDestinationAt = 20;
constexpr size_t kIpv4Skip = 12;  // an IPv4 address stands in the last four of the sixteen bytes

void store_address(uint8_t* p, const Gid& address) {
  const size_t skip = roce::is_ipv4(address) ? kIpv4Skip : 0;
  std::fill_n(p, skip, uint8_t{0});
  std::copy(address.begin() + skip, address.end(), p + skip);
}

Gid load_address(const uint8_t* p, bool ipv4) {
  if (ipv4) return roce::ipv4_address(p[12], p[13], p[14], p[15]);
  Gid address;
  std::copy_n(p, address.size(), address.begin());
  return address;
}

void store_header(uint8_t* p, const IpHeader& header) {
  p[kVersionAt] = kHeaderVersion;
  p[kIpVersionAt] = roce::is_ipv4(header.source) ? 0x40 : 0x60;
  roce::store_be16(p + kPortAt, header.source_port);
  store_address(p + kSourceAt, header.source);
  store_address(p + kDestinationAt, header.destination);
}

std::optional<IpHeader> load_header(const uint8_t* p) {
  const unsigned version = p[kIpVersionAt] >> 4;
  if (p[kVersionAt] != kHeaderVersion || (version != 4 && version != 6)) return std::nullopt;
  IpHeader header;
  header.source_port = roce::load_be16(p + kPortAt);
  header.source = load_address(p + kSourceAt, version == 4);
  header.destination = load_address(p + kDestinationAt, version == 4);
  return header;
}

}  // namespace

void set_ip_header(Req& req, const IpHeader& header) {
  store_header(req.private_data.data(), header);
}
void set_ip_header(SidrReq& req, const IpHeader& header) {
  store_header(req.private_data.data(), header);
}

std::optional<IpHeader> ip_header(const Req& req) { return load_header(req.private_data.data()); }
std::optional<IpHeader> ip_header(const SidrReq& req) {
  return load_header(req.private_data.data());
}

std::span<uint8_t> user_data(Req& req) {
  return std::span(req.private_data).subspan(kIpHeaderBytes);
}
std::span<const uint8_t> user_data(const Req& req) {
  return std::span(req.private_data).subspan(kIpHeaderBytes);
}

}  // namespace rnic::cm
