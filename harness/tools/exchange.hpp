// SPDX-License-Identifier: Apache-2.0
// What the two sides of a tool tell each other over TCP, step by step. Every step of perftest is
// "client writes N bytes, server reads them and writes N bytes, client reads them".
//
//   uint32_t mtu = co_await hello_client(s, channel, 4096);   // versions, page and line size, MTU
//   Keys theirs = co_await swap_keys(s, channel, mine);       // also how the two sides wait
//   co_await swap_reports(s, channel, report);  co_await swap_done(s, channel);
//
// The server reads whatever comes: how often a client waits for it depends on tool and options.
// Over rdma_cm keys are 56 bytes, and nobody says `done`: the connection ends.
#pragma once

#include <array>

#include "harness/tools/channel.hpp"
#include "harness/tools/keys.hpp"
#include "harness/tools/options.hpp"
#include "harness/tools/task.hpp"

namespace rnic::tools {

// The other side says something that is not in its protocol.
class ExchangeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// ibv_*_pingpong. The server connects its QP between reading and answering.
Task<Keys> pingpong_client(Scheduler& s, Channel& c, Keys mine);
Task<Keys> pingpong_server_read(Scheduler& s, Channel& c);
Task<void> pingpong_server_answer(Scheduler& s, Channel& c, Keys mine);

// perftest: both return the MTU that both sides can (bytes).
Task<uint32_t> hello_client(Scheduler& s, Channel& c, uint32_t mtu);
Task<uint32_t> hello_server(Scheduler& s, Channel& c, uint32_t mtu);

struct BandwidthReport {
  uint64_t size = 0, iterations = 0;
  double peak = 0, average = 0, message_rate = 0;  // MB/s (2^20 bytes), 10^6 messages/s
};

// How often client and server wait for each other (swap_keys) beside the two rounds of keys.
struct Waits {
  unsigned before = 1;     // the traffic
  unsigned each_size = 0;  // and once more before that of a size
  unsigned behind = 0;     // each size of several (-a)
  unsigned after = 1;      // the traffic
};
Waits waits_of(Kind kind, Verb verb);

Task<Keys> swap_keys(Scheduler& s, Channel& c, Keys mine);
Bytes encode_keys(const Channel& c, const Keys& keys);
Task<BandwidthReport> swap_reports(Scheduler& s, Channel& c, BandwidthReport mine);
Task<void> swap_done(Scheduler& s, Channel& c);

// What comes to a server next.
struct Message {
  enum class What : uint8_t { kKeys, kReport, kDone, kClosed } what = What::kClosed;
  Keys keys;
  Bytes bytes;
};
Task<Message> next_message(Scheduler& s, Channel& c);

}  // namespace rnic::tools
