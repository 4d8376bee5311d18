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

#include "harness/tools/channel.hpp"
#include "harness/tools/exchange.hpp"
#include "harness/tools/options.hpp"
#include "harness/tools/report.hpp"
#include "sim/live/adapter.hpp"
#include "sim/live/data_check.hpp"

namespace rnic::sim {

// What a run needs of its NIC and of the world.
struct Party {
  Adapter* nic = nullptr;
  DataCheck* check = nullptr;
  tools::Scheduler* scheduler = nullptr;
  std::function<void(const roce::IpAddr&)> resolve;  // starts to look for the MAC
  std::function<std::optional<driver::Mac>(const roce::IpAddr&)> lookup;
  std::function<TimePs()> now;
  uint32_t mtu = 4096;  // largest
  uint64_t seed = 1;
};

// A message of ours has failed; what() is the status.
class QueueFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ToolResult {
  std::string status = "SUCCESS";  // first that is not, or what the NIC refused the peer with
  std::string problem;             // of the exchange or the data
  uint32_t mtu = 0;
  std::vector<tools::Keys> mine, theirs;
};

class ToolRun {
 public:
  ToolRun(Party party, tools::Options options, std::unique_ptr<tools::Channel> channel,
          std::function<void(const std::string&)> print);

  // Ends without an exception; the result tells.
  tools::Task<void> run();
  const ToolResult& result() const { return result_; }
  // Queues of this run.
  const std::vector<Queue*>& queues() const { return queues_; }
  tools::Channel& channel() { return *channel_; }

 private:
  using Bytes = std::vector<uint8_t>;

  // Resources
  void make_queues();
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
};

}  // namespace rnic::sim
