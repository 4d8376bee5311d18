// SPDX-License-Identifier: Apache-2.0
// QP 1 of a NIC with the connection manager behind it: its datagrams go through the NIC like all
// others; programs see connections.
//
//   CmPort cm({.nic = &adapter, .end = 0, .resolve = ..., .lookup = ..., .clock = ...});
//   link.add_observer(&cm.observer());
//   cm.open();                                           // the device is up
//   cm.listen(cm::service_id(cm::kTcpSpace, 7174));
//   while (...) { cm.turn(); ... }                       // datagrams and time-outs
//   CmPort::Ref c = cm.next_request(service);            // null: nobody has asked
//   cm.accept(*c, q, rep);                               // later c->established
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cm/ip_service.hpp"
#include "harness/cm/manager.hpp"
#include "sim/live/adapter.hpp"
#include "sim/live/data_check.hpp"

namespace rnic::sim {

class CmPort {
 public:
  struct Config {
    Adapter* nic = nullptr;
    int end = 0;                                       // of the cable
    std::function<void(const roce::IpAddr&)> resolve;  // starts to look for the MAC
    std::function<std::optional<driver::Mac>(const roce::IpAddr&)> lookup;
    std::function<cm::Time()> clock;
    uint8_t response_timeout = 20;  // 4.096 us * 2^n, both sides'
    uint8_t packet_lifetime = 10;
    uint8_t ack_timeout = 19;  // of the peer's QP
    uint64_t seed = 1;
  };

  // A connection, or the answer to "which QP serves this?".
  struct Connection {
    cm::Id id = 0;
    cm::Ends ends;
    std::optional<cm::Req> req;
    std::optional<cm::Rep> rep;
    std::optional<cm::SidrReq> sidr_req;
    std::optional<cm::SidrRep> sidr_rep;
    bool established = false, disconnected = false;
    std::optional<cm::Reason> rejected;
    bool unanswered = false;
    bool gone() const { return disconnected || rejected || unanswered; }
    // Why there is none; empty while there may be one.
    std::string why_not() const;
  };
  using Ref = std::shared_ptr<Connection>;

  explicit CmPort(Config config);

  // Makes QP 1; again after each reset of the device, when all connections are forgotten.
  void open();
  // Takes in and sends datagrams, lets time-outs pass. True when anything happened.
  bool turn();
  std::optional<cm::Time> next_deadline() const;

  void listen(uint64_t service);
  void stop_listening(uint64_t service);
  // The oldest REQ or SIDR_REQ that nobody has taken.
  Ref next_request(uint64_t service);

  // Asks for a connection of `q`. `request` tells service, PSN, MTU, resources and private data.
  Ref connect(const cm::Ends& ends, const Queue& q, cm::Req request);
  // `q` receives from now on, and sends when the connection is established.
  void accept(Connection& c, const Queue& q, cm::Rep reply);
  void confirm(Connection& c);
  void reject(Connection& c, cm::Reason reason);
  void disconnect(Connection& c);
  Ref resolve(const cm::Ends& ends, const cm::SidrReq& request);
  void answer(Connection& c, const cm::SidrRep& reply);
  // At the end of a run: what is left of it is ended.
  void abandon();

  wire::FrameObserver& observer() { return check_; }
  const DataCheck& check() const { return check_; }
  const Config& config() const { return config_; }
  const cm::Counters& counters() const { return manager_->counters(); }
  uint64_t comm_est() const { return comm_est_; }  // established by data before their RTU
  // Datagrams that wait for a MAC or for room.
  bool waiting() const { return !outgoing_.empty(); }

 private:
  void take_events();
  void take_event(const cm::Event& event);
  void take_received();
  void take_device_events();
  bool send_some();
  void post(const cm::Outgoing& out, uint32_t path);
  void post_receives();
  void keep(const Ref& c);
  void take_outgoing();
  void flush();

  Config config_;
  DataCheck check_;
  std::unique_ptr<cm::Manager> manager_;
  Queue* queue_ = nullptr;
  Buffer* receives_ = nullptr;
  Buffer* sends_ = nullptr;
  uint64_t next_receive_ = 0;
  unsigned opened_ = 0;
  // A path of the NIC and how many datagrams had been posted with its last one.
  struct Path {
    uint32_t number = 0;
    uint64_t last = 0;
  };
  struct Waiting {
    cm::Outgoing out;
    cm::Time until{};  // then its receiver has no MAC, and it goes nowhere
  };
  std::optional<uint32_t> path_to(const cm::Ends& ends);
  bool drop_path();

  std::map<std::pair<roce::IpAddr, roce::IpAddr>, Path> paths_;  // by our and their address
  std::deque<Waiting> outgoing_;
  std::map<cm::Id, Ref> connections_;
  std::map<cm::Id, uint32_t> qpns_;
  std::map<uint64_t, std::deque<Ref>> requests_;  // by service
  uint64_t comm_est_ = 0;
};

}  // namespace rnic::sim
