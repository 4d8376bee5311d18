// SPDX-License-Identifier: Apache-2.0
// The golden endpoint: an RC, UC and UD network card in plain C++, written from the protocol facts.
//
//   Nic nic({.name = "gold", .mac = mac, .ip = ip});
//   Region r = nic.add_region(65536, kAccessAll, false);
//   uint32_t q = nic.create_qp({.qpn = 5, .dest_qpn = 9, .dest_ip = peer, ...});   // in RTS
//   nic.post_send(q, {...});
//   Port port(nic, link, 1);  port.step(now);          // on a cable, or by hand:
//   nic.receive(now, frame);  while (nic.transmit(now, frame)) deliver(frame);
//
// It has no threads and no clock of its own: whoever steps it brings the time, which never goes
// back.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/golden/memory.hpp"
#include "harness/golden/requester.hpp"
#include "harness/golden/responder.hpp"
#include "harness/golden/verbs.hpp"
#include "harness/wire/wire.hpp"

namespace rnic::golden {

struct NicConfig {
  std::string name = "golden";
  roce::MacAddr mac{};
  roce::IpAddr ip{};
  uint32_t pd = 1;                 // of regions made by add_region()
  uint64_t first_va = 0x10000000;  // where add_region() begins
  uint8_t tos = 0x02;
  bool pad_to_min = true;
};

struct NicStats {
  uint64_t frames_in = 0, frames_out = 0;
  uint64_t not_roce = 0, malformed = 0, bad_icrc = 0, bad_version = 0, unknown_qp = 0,
           wrong_transport = 0, wrong_address = 0, wrong_pkey = 0, wrong_state = 0, cnps = 0;
};

enum class Event : uint8_t { kEstablished, kDrained, kQpFatal };

class Nic : public Endpoint {
 public:
  explicit Nic(const NicConfig& config);

  // A QP, numbered by its index from 0, in `state`. Throws std::invalid_argument for a QPN in use.
  uint32_t create_qp(const QpConfig& config, State state = State::kRts);
  // RESET forgets everything; ERR flushes; RTS leaves SQE or SQD.
  void set_state(uint32_t qp, State state);
  State state(uint32_t qp) const { return qps_.at(qp)->state; }

  // Frames without FCS.
  void receive(TimePs now, std::span<const uint8_t> frame);
  bool transmit(TimePs now, std::vector<uint8_t>& frame);
  // When something may happen without a frame coming in; 0: now.
  TimePs wake() const;
  void tick(TimePs now);

  // Endpoint
  std::string name() const override { return config_.name; }
  Region add_region(uint64_t length, uint32_t access, bool invalidatable) override;
  void write_memory(const Region& r, uint64_t offset, std::span<const uint8_t> bytes) override;
  void read_memory(const Region& r, uint64_t offset, std::span<uint8_t> bytes) override;
  bool post_send(uint32_t qp, const SendRequest& request) override;
  bool post_recv(uint32_t qp, const RecvRequest& request) override;
  std::optional<Completion> poll(uint32_t qp) override;
  UdTarget ud_target(uint32_t qp) override {
    const QpConfig& c = qps_.at(qp)->config;
    return {config_.mac, config_.ip, c.qpn, c.qkey};
  }
  std::string state_of(uint32_t qp) override;

  Memory& memory() { return memory_; }
  const Requester& requester(uint32_t qp) const { return qps_.at(qp)->requester; }
  const Responder& responder(uint32_t qp) const { return qps_.at(qp)->responder; }
  const QpConfig& qp_config(uint32_t qp) const { return qps_.at(qp)->config; }
  // Asynchronous events, oldest first.
  std::vector<std::pair<uint32_t, Event>> take_events();
  const NicStats& stats() const { return stats_; }
  const NicConfig& config() const { return config_; }

 private:
  struct Qp {
    Qp(const QpConfig& c, Memory& m) : config(c), requester(c, m), responder(c, m) {}
    QpConfig config;
    Requester requester;
    Responder responder;
    State state = State::kRts;
    bool established = false, drain_told = false;
    std::deque<Completion> completions;
  };
  void settle(uint32_t qp);
  void frame_of(const Qp& q, const Packet& p, std::vector<uint8_t>& frame);

  NicConfig config_;
  Memory memory_;
  std::vector<std::unique_ptr<Qp>> qps_;
  std::map<uint32_t, uint32_t> by_number_;
  std::vector<std::pair<uint32_t, Event>> events_;
  uint64_t next_va_ = 0;
  uint32_t next_key_ = 1;
  size_t turn_ = 0;
  uint16_t ip_id_ = 1;
  NicStats stats_;
  Packet packet_;
};

// A golden endpoint at one end of a cable.
class Port {
 public:
  Port(Nic& nic, wire::Link& link, int end) : nic_(nic), link_(link), end_(end) {}
  // Takes what has arrived by `now` and sends while the wire is free before now + `ahead`.
  void step(TimePs now, TimePs ahead = 0);

 private:
  Nic& nic_;
  wire::Link& link_;
  int end_;
  std::vector<uint8_t> frame_;
};

}  // namespace rnic::golden
