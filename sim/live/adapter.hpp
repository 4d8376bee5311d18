// SPDX-License-Identifier: Apache-2.0
// The NIC as the tools use it: memory, QPs with their completions, paths to neighbours; all of it
// is given back at the end of a run.
//
//   Adapter nic(world, node, host_config, {.mac = mac, .gids = gids, .timeout = 6});
//   nic.start();
//   Buffer& m = nic.add_memory(65536, Adapter::kRemote);
//   Queue& q = nic.add_queue({.service = tools::Service::kRc});
//   nic.connect(q, theirs, mac_of_peer, {.gid = 1, .mtu = 1024});
//   q.post(request, bytes);  q.ring();  ...  q.poll();
//   nic.release();
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/tools/keys.hpp"
#include "harness/tools/options.hpp"
#include "sim/host/host.hpp"

namespace rnic::sim {

// What release() destroys, and what stays until the device is reset.
enum class Life : uint8_t { kRun, kDevice };

struct Buffer {
  mem::DmaBuffer buffer;
  uint32_t index = 0, key = 0;
  uint64_t va = 0, size = 0;
  bool remote = false;
  Life life = Life::kRun;
};

struct QueueOptions {
  tools::Service service = tools::Service::kRc;
  uint32_t log_sq = 8, log_rq = 6;
  uint32_t psn = 0;  // of its first packet
  uint32_t qpn = 0;  // 0: the next free one
  uint32_t qkey = 0x11111111;
  Life life = Life::kRun;
};

// A QP with its completion queue.
class Queue {
 public:
  struct Received {
    uint32_t bytes = 0;
    uint32_t slot = 0;  // of the receive, counted from 0
  };

  // Posts without ringing. Counts as one message; only signaled ones complete by themselves.
  void post(const driver::WorkRequest& request);
  bool room(const driver::WorkRequest& request) const;
  void ring() { qp->ring(); }
  // One receive buffer; ring_receives() announces.
  void post_receive(const Buffer& m, uint64_t offset, uint32_t bytes);
  void ring_receives() { qp->ring_receives(); }
  uint32_t receive_room() const;
  // Takes in completions; true when there were any.
  bool poll();

  uint64_t posted = 0, completed = 0;  // messages
  std::deque<Received> received;
  std::string failure;  // first status that is not SUCCESS

  tools::Service service = tools::Service::kRc;
  std::unique_ptr<driver::CompletionQueue> cq;
  std::unique_ptr<driver::QueuePair> qp;
  uint32_t psn = 0, cqn = 0, path = 0, qkey = 0;
  Life life = Life::kRun;
  tools::Keys theirs;
  uint32_t mtu = 1024;
  uint32_t number() const { return qp->number(); }

 private:
  friend class Adapter;
  std::deque<std::pair<uint16_t, uint64_t>> in_flight_;  // WQE, messages up to it
  uint64_t receives_posted_ = 0, receives_done_ = 0;
  driver::ConnectRequest attributes_;  // from RTR to RTS
};

class Adapter {
 public:
  struct Options {
    driver::Mac mac{};
    std::vector<roce::IpAddr> gids;
    uint8_t timeout = 6;
    uint32_t first_qpn = 2;
  };
  struct Connection {
    int gid = 1;
    uint32_t mtu = 1024;
    uint8_t max_rd_atomic = 16, max_dest_rd_atomic = 16;
    uint8_t rnr_retry = 7;
    bool remote_access = true;
    std::optional<uint8_t> timeout;  // another one than the adapter's
  };

  Adapter(World& world, Node& node, const HostConfig& config, Options options);
  void start();
  // Resets the device; everything is gone, and it is up again.
  void reset();

  enum Access { kLocal, kRemote };
  Buffer& add_memory(uint64_t size, Access access, Life life = Life::kRun);
  Queue& add_queue(const QueueOptions& options);
  // Returns its number. `gid`: ours.
  uint32_t add_path(int gid, const roce::IpAddr& peer, const driver::Mac& mac, uint16_t source_port,
                    Life life = Life::kRun);
  void remove_path(uint32_t number);
  // Makes a path to the peer's GID and takes the QP to RTS.
  void connect(Queue& q, const tools::Keys& theirs, const driver::Mac& peer,
               const Connection& connection);
  // The same in two steps: until the second one the QP only receives.
  void prepare(Queue& q, const tools::Keys& theirs, const driver::Mac& peer,
               const Connection& connection);
  void start_sending(Queue& q);
  // A UD QP, which needs no peer for that.
  void open_datagrams(Queue& q);
  // A QP number that must not be used again yet; until it may.
  void hold(uint32_t qpn, bool on) { qpn_held_.at(qpn) = on; }
  // Destroys all of it.
  void release();

  // Requests that the peer has not answered: the NIC will do something by itself.
  bool owes() const;
  const std::vector<std::unique_ptr<Queue>>& queues() const { return queues_; }
  const std::vector<roce::IpAddr>& gids() const { return options_.gids; }
  const driver::Mac& mac() const { return options_.mac; }
  driver::Device& nic() { return host_.nic(); }
  driver::EventQueue& events() { return host_.events(); }

 private:
  uint32_t take(uint32_t& next, uint32_t first, uint32_t count, const std::vector<bool>& used);
  uint32_t take_qpn();
  void destroy(const Queue& q);
  void destroy_path(uint32_t number);
  void forget();

  Node& node_;
  Options options_;
  Host host_;
  std::vector<std::unique_ptr<Buffer>> memories_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<std::pair<uint32_t, Life>> paths_;
  std::vector<bool> qpn_used_, cqn_used_, mr_used_, path_used_;
  std::vector<bool> qpn_held_;
  uint32_t next_qpn_ = 2, next_cqn_ = 0, next_mr_ = 1, next_path_ = 0;
  uint8_t tag_ = 0;
};

}  // namespace rnic::sim
