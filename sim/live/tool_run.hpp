// SPDX-License-Identifier: Apache-2.0
// One side of a tool: the exchange with the other side, the traffic on the NIC, the checks, the
// report. A program of coroutines; who lets time pass is none of its business.
//
//   ToolRun run(party, tools::parse_command("ib_write_bw -n 5"), std::move(channel), print);
//   scheduler.spawn(run.run());
//   ... until it is done ...
//   run.result().status
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "harness/tools/report.hpp"
#include "sim/live/queue_channel.hpp"

namespace rnic::sim {

class ToolRun final : public Program {
 public:
  ToolRun(Party party, tools::Options options, std::unique_ptr<tools::Channel> channel,
          std::function<void(const std::string&)> print);

  tools::Task<void> run() override;
  const ToolResult& result() const override { return result_; }
  const std::vector<Queue*>& queues() const override { return queues_; }
  int fd() const override { return channel_ == nullptr ? -1 : channel_->fd(); }

 private:
  using Bytes = std::vector<uint8_t>;
  static constexpr uint32_t kGreetingBytes = 4;

  // Resources
  void make_queues();
  void limit_size();
  tools::Keys keys_of(const Queue& q) const;
  tools::Task<void> connect_queue(Queue& q, tools::Keys theirs);
  void post_first_receives();
  void refill(size_t n);
  // One request of this tool.
  driver::WorkRequest request(size_t n, uint32_t size, bool signaled);
  void post_one(size_t n, uint32_t size, bool signaled = true);
  void stamp(size_t n, uint32_t size, uint8_t value);

  // Roles
  tools::Task<void> pingpong();
  tools::Task<void> perftest_client();
  tools::Task<void> wait_for_peer(unsigned times);
  tools::Task<void> perftest_server();
  tools::Task<void> server_traffic();

  // Through the connection manager (tool_cm.cpp): the channel, then the QPs of the traffic.
  uint64_t service() const;           // of connections
  uint64_t datagram_service() const;  // of UD
  tools::Task<void> cm_channel();
  tools::Task<void> cm_client_queues();
  tools::Task<void> cm_server_queues();
  tools::Task<void> cm_find(size_t n);
  tools::Task<void> cm_serve_lookup(size_t n);
  tools::Task<void> cm_close();
  tools::Task<void> cm_wait();
  unsigned key_rounds() const;
  bool cm_lost();
  // The client of a UD latency tells its QPN in a first message.
  bool greeted() const;
  // Addresses and keys of the peer's memory.
  void take_keys(const std::vector<tools::Keys>& theirs);

  // Traffic
  tools::Task<void> bandwidth(uint32_t size, tools::BandwidthReport& report);
  tools::Task<void> requests_latency(uint32_t size, std::vector<double>& samples);
  tools::Task<void> echo(uint32_t size, uint64_t count, bool first, std::vector<double>& samples);
  tools::Task<void> write_echo(uint32_t size, bool first, std::vector<double>& samples);
  tools::Task<void> receive_all();
  tools::Task<void> wait_completed(size_t n, uint64_t messages);
  tools::Task<void> wait_received(size_t n, uint32_t size);
  bool poll_all();
  void check_answers(size_t n);
  void take_receive(size_t n, uint32_t size);
  double now_us() const { return static_cast<double>(party_.now()) * 1e-6; }
  void fail_if_bad(const Queue& q) const;

  Party party_;
  tools::Options options_;
  std::unique_ptr<tools::Channel> channel_;
  std::function<void(const std::string&)> print_;
  ToolResult result_;
  std::mt19937_64 random_;

  std::vector<Queue*> queues_;
  std::vector<Buffer*> source_, target_, landing_, receive_;  // per QP
  std::vector<std::shared_ptr<const Bytes>> pattern_;         // what source_ holds
  std::vector<uint64_t> answers_;                             // checked, per QP
  uint32_t slots_ = 0, slot_bytes_ = 0;
  std::vector<uint64_t> next_slot_, receives_left_;  // per QP
  bool ended_ = false;                               // the client says so
  QueueChannel* cm_channel_ = nullptr;               // channel_, over a QP
  std::vector<CmPort::Ref> connections_;             // of queues_
  std::optional<cm::Time> lost_at_;                  // they are gone since
};

}  // namespace rnic::sim
