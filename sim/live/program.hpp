// SPDX-License-Identifier: Apache-2.0
// One side of a tool as a program of coroutines, whatever the tool; who lets time pass is none of
// its business.
//
//   std::unique_ptr<Program> p = make_program(party, tools::parse_command("rping -s"), nullptr,
//   print); scheduler.spawn(p->run());
//   ... until it is done ...
//   p->result().status
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/tools/channel.hpp"
#include "harness/tools/options.hpp"
#include "sim/live/adapter.hpp"
#include "sim/live/cm_port.hpp"
#include "sim/live/data_check.hpp"

namespace rnic::sim {

// What a run needs of its NIC and of the world.
struct Party {
  Adapter* nic = nullptr;
  DataCheck* check = nullptr;
  CmPort* cm = nullptr;
  tools::Scheduler* scheduler = nullptr;
  std::function<void(const roce::IpAddr&)> resolve;  // starts to look for the MAC
  std::function<std::optional<driver::Mac>(const roce::IpAddr&)> lookup;
  // The address of a host that stands in a command; throws ToolError. `gid`: which kind.
  std::function<roce::IpAddr(const std::string& host, int gid)> address;
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
  uint64_t count = 0;  // messages, where the options do not say it
  std::vector<tools::Keys> mine, theirs;
};

class Program {
 public:
  virtual ~Program() = default;
  // Ends without an exception; the result tells.
  virtual tools::Task<void> run() = 0;
  virtual const ToolResult& result() const = 0;
  // Queues of this run.
  virtual const std::vector<Queue*>& queues() const = 0;
  // Readable when the other side says something on a socket; -1: it has none.
  virtual int fd() const { return -1; }
};

// `channel`: to the other side; null where the tool uses the connection manager.
std::unique_ptr<Program> make_program(Party party, const tools::Options& options,
                                      std::unique_ptr<tools::Channel> channel,
                                      std::function<void(const std::string&)> print);

// The first bad status of these queues, or what the NIC refused the peer with; SUCCESS.
std::string status_of(const std::vector<Queue*>& queues, const DataCheck& check);

}  // namespace rnic::sim
