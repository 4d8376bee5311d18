// SPDX-License-Identifier: Apache-2.0
// Transmit structs as the tests see them: layouts of the ports, and a packet in protocol terms.
//
//   TxPacket p;  p.spec.opcode = 0x0A;  p.payload = {1, 2, 3};
//   Bits port = p.description();         // rnic_pkg::tx_pkt_t
//   auto bytes = p.expected(ip_id);      // IP header .. iCRC, by harness/roce
#pragma once

#include <cstdint>
#include <vector>

#include "harness/roce/frame.hpp"
#include "tests/support/bits.hpp"

namespace rnic::test {

inline const BitLayout kTxPkt(
    {{"qpn", 24},      {"wqe_index", 16}, {"sampled", 1},      {"response", 1}, {"path", 16},
     {"opcode", 8},    {"se", 1},         {"ack_req", 1},      {"becn", 1},     {"pkey", 16},
     {"dest_qpn", 24}, {"psn", 24},       {"payload_len", 13}, {"va", 64},      {"rkey", 32},
     {"dmalen", 32},   {"imm", 32},       {"syndrome", 8},     {"msn", 24},     {"op0", 64},
     {"op1", 64},      {"qkey", 32},      {"notify", 1},       {"resend", 1}});

inline const BitLayout kPath({{"valid", 1},
                              {"ipv6", 1},
                              {"vlan", 1},
                              {"dei", 1},
                              {"pcp", 3},
                              {"vlan_id", 12},
                              {"ecn", 2},
                              {"dscp", 6},
                              {"ttl", 8},
                              {"sport", 16},
                              {"flow_label", 20},
                              {"dmac", 48},
                              {"smac", 48},
                              {"sip", 128},
                              {"dip", 128}});

inline const BitLayout kTxEth({{"raw", 1},
                               {"ipv6", 1},
                               {"vlan", 1},
                               {"tci", 16},
                               {"dmac", 48},
                               {"smac", 48},
                               {"qpn", 24},
                               {"psn", 24},
                               {"sampled", 1},
                               {"response", 1},
                               {"paced", 1}});

// First byte in the most significant bits.
inline Bits big_endian(std::span<const uint8_t> bytes, size_t width) {
  Bits out(width);
  for (size_t i = 0; i < bytes.size(); ++i) out.set((bytes.size() - 1 - i) * 8, 8, bytes[i]);
  return out;
}

inline uint64_t mac_number(const roce::MacAddr& mac) {
  uint64_t out = 0;
  for (const uint8_t byte : mac) out = out << 8 | byte;
  return out;
}

struct TxPacket {
  roce::FrameSpec spec;
  std::vector<uint8_t> payload;
  uint32_t qpn = 0;
  uint16_t wqe_index = 0;
  uint16_t path = 0;
  bool sampled = false;
  bool response = false;
  bool abort = false;

  bool ipv6() const { return !(roce::is_ipv4(spec.ip_src) && roce::is_ipv4(spec.ip_dst)); }

  Bits description() const {
    const bool ieth = roce::opcode_info(spec.opcode).ext & roce::kExtIeth;
    const bool atomic_ack = spec.opcode == roce::kRcAtomicAck;
    return kTxPkt.pack({{"qpn", qpn},
                        {"wqe_index", wqe_index},
                        {"sampled", sampled},
                        {"response", response},
                        {"path", path},
                        {"opcode", spec.opcode},
                        {"se", spec.solicited},
                        {"ack_req", spec.ack_req},
                        {"becn", spec.becn},
                        {"pkey", spec.pkey},
                        {"dest_qpn", spec.dest_qp},
                        {"psn", spec.psn},
                        {"payload_len", payload.size()},
                        {"va", spec.va},
                        {"rkey", spec.rkey},
                        {"dmalen", spec.dma_len},
                        {"imm", ieth ? spec.inv_rkey : spec.imm},
                        {"syndrome", spec.syndrome},
                        {"msn", spec.msn},
                        {"op0", atomic_ack ? spec.atomic_orig : spec.swap_add},
                        {"op1", spec.compare},
                        {"qkey", spec.qkey}});
  }

  Bits path_context() const {
    Bits out = kPath.pack({{"valid", 1},
                           {"ipv6", ipv6()},
                           {"vlan", spec.vlan_count > 0},
                           {"dei", (spec.vlan_tci[0] >> 12) & 1u},
                           {"pcp", spec.vlan_tci[0] >> 13},
                           {"vlan_id", spec.vlan_tci[0] & 0xFFFu},
                           {"ecn", spec.tos & 3u},
                           {"dscp", spec.tos >> 2},
                           {"ttl", spec.ttl},
                           {"sport", spec.udp_src},
                           {"flow_label", spec.flow_label},
                           {"dmac", mac_number(spec.eth_dst)},
                           {"smac", mac_number(spec.eth_src)}});
    const size_t skip = ipv6() ? 0 : 12;
    kPath.set_bits(out, "sip", big_endian(std::span(spec.ip_src).subspan(skip), 128));
    kPath.set_bits(out, "dip", big_endian(std::span(spec.ip_dst).subspan(skip), 128));
    return out;
  }

  Bits eth() const {
    return kTxEth.pack(
        {{"ipv6", ipv6()},
         {"vlan", spec.vlan_count > 0},
         {"tci", spec.vlan_count > 0 ? spec.vlan_tci[0] : 0u},
         {"dmac", mac_number(spec.eth_dst)},
         {"smac", mac_number(spec.eth_src)},
         {"qpn", qpn},
         {"psn", spec.psn},
         {"sampled", sampled},
         {"response", response},
         {"paced", spec.opcode != roce::kRcAcknowledge && spec.opcode != roce::kCnp}});
  }

  // The whole frame without FCS, and from the IP header on.
  std::vector<uint8_t> frame(uint16_t ip_id, const roce::BuildOptions& options = {}) const {
    roce::FrameSpec s = spec;
    s.ip_id = ip_id;
    s.mig_req = spec.mig_req && spec.opcode != roce::kCnp;
    s.src_qp = qpn;
    std::vector<uint8_t> out(roce::frame_size(s, payload.size(), options));
    out.resize(roce::build_frame(s, payload, out, options));
    return out;
  }
  std::vector<uint8_t> expected(uint16_t ip_id) const {
    std::vector<uint8_t> out = frame(ip_id, {.pad_to_min = false, .append_fcs = false});
    out.erase(out.begin(), out.begin() + 14 + 4 * spec.vlan_count);
    return out;
  }
};

// A packet of random fields; payload as the opcode allows it, at most max_payload.
inline TxPacket random_packet(Rng& random, uint8_t opcode, size_t max_payload) {
  TxPacket p;
  auto& s = p.spec;
  for (auto& b : s.eth_dst) b = static_cast<uint8_t>(random.bits(8));
  for (auto& b : s.eth_src) b = static_cast<uint8_t>(random.bits(8));
  if (random.chance(0.5)) {
    s.ip_src = roce::ipv4_address(10, 1, random.bits(8), random.bits(8));
    s.ip_dst = roce::ipv4_address(192, random.bits(8), random.bits(8), random.bits(8));
  } else {
    for (auto& b : s.ip_src) b = static_cast<uint8_t>(random.bits(8));
    for (auto& b : s.ip_dst) b = static_cast<uint8_t>(random.bits(8));
    s.flow_label = static_cast<uint32_t>(random.bits(20));
  }
  if (random.chance(0.5)) {
    s.vlan_count = 1;
    s.vlan_tci[0] = static_cast<uint16_t>(random.bits(16));
  }
  s.tos = static_cast<uint8_t>(random.bits(8));
  s.ttl = static_cast<uint8_t>(random.bits(8));
  s.udp_src = static_cast<uint16_t>(random.bits(16));
  s.opcode = opcode;
  s.solicited = random.chance(0.5);
  s.ack_req = random.chance(0.5);
  s.becn = random.chance(0.2);
  s.pkey = static_cast<uint16_t>(random.bits(16));
  s.dest_qp = static_cast<uint32_t>(random.bits(24));
  s.psn = static_cast<uint32_t>(random.bits(24));
  s.va = random.u64();
  s.rkey = random.u32();
  s.dma_len = random.u32();
  s.syndrome = static_cast<uint8_t>(random.bits(8));
  s.msn = static_cast<uint32_t>(random.bits(24));
  s.imm = random.u32();
  s.inv_rkey = random.u32();
  s.swap_add = random.u64();
  s.compare = random.u64();
  s.atomic_orig = random.u64();
  s.qkey = random.u32();
  p.qpn = static_cast<uint32_t>(random.bits(24));
  p.wqe_index = static_cast<uint16_t>(random.bits(16));
  p.sampled = random.chance(0.5);
  p.response = random.chance(0.5);
  const bool header_only = opcode == roce::kCnp || opcode == roce::kRcReadRequest ||
                           (opcode >= roce::kRcAcknowledge && opcode <= roce::kRcFetchAdd);
  if (!header_only) p.payload = random.bytes(random.below(max_payload + 1));
  return p;
}

}  // namespace rnic::test
