// SPDX-License-Identifier: Apache-2.0
// Attributes of a golden QP, and the choices that the rules leave open.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/golden/verbs.hpp"
#include "harness/roce/frame.hpp"

namespace rnic::golden {

using TimePs = uint64_t;
inline constexpr TimePs kNever = ~TimePs{0};

enum class State : uint8_t { kReset, kInit, kRtr, kRts, kSqd, kSqe, kErr };
const char* to_string(State s);

struct RequesterPolicy {
  uint32_t window = 128;       // PSNs in flight; a READ may go beyond it when it starts below
  uint32_t ack_every = 16;     // AckReq on every n-th packet; 0: never inside a message
  bool ack_unsignaled = true;  // AckReq at the end of unsignaled messages too
};

struct ResponderPolicy {
  uint8_t ack_syndrome = 0x1F;
  // ACKs wait until `ack_count` are due or the first is `ack_delay` old; 0: at once.
  uint32_t ack_count = 1;
  TimePs ack_delay_ps = 0;
  bool ack_every_duplicate = false;    // or only one with AckReq
  bool resume_read_in_middle = false;  // opcodes of a repeated tail
  bool nak_gap_after_rnr = false;
  // A SEND whose key cannot be taken away: ACK, then ERR, instead of NAK 0x63.
  bool ack_failed_invalidate = false;
};

struct QpConfig {
  uint32_t qpn = 0;
  roce::Transport transport = roce::Transport::kRc;
  uint32_t pd = 0;
  uint32_t pmtu = 1024;
  uint16_t pkey = 0xFFFF;
  uint32_t access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
  uint32_t qkey = 0;  // UD
  // Connection
  uint32_t dest_qpn = 0;
  roce::MacAddr dest_mac{};
  roce::IpAddr dest_ip{};
  uint16_t udp_port = 0xC000;
  bool mig_req = true;
  uint32_t sq_psn = 0, rq_psn = 0;
  uint8_t timeout = 14;     // 4.096 us * 2^n; 0: off
  uint32_t time_scale = 1;  // divides the timers (ACK timer, receiver-not-ready wait)
  uint8_t retry_cnt = 7, rnr_retry = 7, min_rnr_timer = 12;
  uint32_t max_rd_atomic = 16, max_dest_rd_atomic = 16;
  bool sq_sig_all = false;
  uint32_t sq_depth = 256, rq_depth = 256;
  RequesterPolicy requester{};
  ResponderPolicy responder{};
};

// A packet to be sent: addresses come from the NIC and the connection, of UD from `target`.
struct Packet {
  UdTarget target{};
  roce::FrameSpec spec{};
  std::vector<uint8_t> payload{};
};

// A fatal error takes the QP to ERR; SQE stops the send queue alone.
enum class Fatal : uint8_t { kNone, kSqe, kErr };

}  // namespace rnic::golden
