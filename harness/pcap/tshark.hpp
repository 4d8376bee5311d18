// SPDX-License-Identifier: Apache-2.0
// Second opinion on a capture: what tshark decodes, for comparison in tests and reports.
//
//   if (Tshark::available()) {
//     for (const TsharkFrame& f : Tshark::decode("run.pcap")) use(f.opcode, f.psn);
//   }
//
// The RPC-over-RDMA heuristic is switched off: it takes small SENDs for RPC and calls them
// malformed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rnic::pcap {

struct TsharkFrame {
  uint64_t number = 0;    // 1 for the first frame of the file
  std::string protocols;  // "eth:ethertype:ip:udp:infiniband:data"
  bool malformed = false;
  // Empty when the frame is not RoCEv2 or does not have the field.
  std::optional<uint32_t> opcode, psn, dest_qp, pad, ack_req, syndrome, msn, dma_length, rkey, imm;
  std::optional<uint64_t> va;
  std::optional<uint32_t> icrc;  // as tshark prints it: the wire bytes read as a big-endian number
  std::optional<uint32_t> ip_length, udp_length;
};

class Tshark {
 public:
  static bool available();
  static std::string version();
  // tshark's own names of infiniband.bth.opcode, by number.
  static std::map<uint32_t, std::string> opcode_names();
  // All frames of the file, RoCEv2 or not. Throws std::runtime_error when tshark fails.
  static std::vector<TsharkFrame> decode(const std::string& path);
};

}  // namespace rnic::pcap
