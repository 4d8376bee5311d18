// SPDX-License-Identifier: Apache-2.0
// The connection manager: both sides of REQ, REP, RTU, REJ, DREQ and DREP, with their repeats and
// time-outs. It owns no socket, QP or clock: datagrams, times and decisions go in, datagrams and
// events come out.
//
//   Manager cm({.gids = {us}, .ca_guid = guid, .seed = 1});
//   cm.listen(service_id(kTcpSpace, 7174));
//   cm.receive(now, {.local = us, .remote = sender}, mad);   // from the QP 1
//   for (const Event& e : cm.take_events())                  // a REQ: make a QP, then
//     if (e.kind == EventKind::kRequest) cm.accept(now, e.id, rep);
//   for (const Outgoing& o : cm.take_outgoing()) send(o.ends, o.mad);
//   cm.advance(now);                                         // not later than cm.next_deadline()
//
// Active side: connect() -> kReply (take the QP to RTS) -> confirm() sends the RTU.
// Passive side: kRequest (take the QP to RTR) -> accept() sends the REP -> kEstablished.
// Either side: disconnect() or the peer's DREQ -> kDisconnected; kClosed when the wait for late
// packets is over and the QP number may be used again.
//
// Without a connection (UD): resolve() -> kFound tells QP and Q_Key; the other side gets kLookup
// and answers.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/cm/messages.hpp"

namespace rnic::cm {

using Time = std::chrono::nanoseconds;
using Id = uint32_t;  // our communication id

// The calls that do not fit a connection's state throw this.
class CmError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// 4.096 us * 2^n, the unit of every time in these messages.
constexpr Time exponent_time(unsigned n) { return Time{int64_t{4096} << n}; }

// The two addresses of a datagram or of a connection, seen from here.
struct Ends {
  Gid local{}, remote{};
};

struct Settings {
  std::vector<Gid> gids;  // ours
  uint64_t ca_guid = 0;
  uint64_t seed = 1;               // of communication ids
  uint8_t packet_lifetime = 10;    // one way, 4.096 us * 2^n
  size_t max_connections = 4'096;  // further REQs are refused
  // Of SIDR_REQ, which do not say it themselves.
  uint8_t response_timeout = 20, max_retries = 15;
};

enum class State : uint8_t {
  kReqSent,
  kReqReceived,
  kRepReceived,
  kRepSent,
  kEstablished,
  kDreqSent,
  kTimeWait,
  kSidrSent,
  kSidrReceived,
  kSidrAnswered,
};
const char* to_string(State state);

enum class EventKind : uint8_t {
  kRequest,       // passive: `req`; answer with accept() or reject()
  kReply,         // active: `rep`; answer with confirm() or reject()
  kEstablished,   // passive: the RTU came, or data
  kRejected,      // `reason`, `private_data`; the connection is gone
  kUnanswered,    // no answer after all repeats; the connection is gone
  kDisconnected,  // either side has ended the connection
  kClosed,        // the QP number is free
  kLookup,        // passive: `sidr_req`; answer with answer()
  kFound,         // active: `sidr_rep`, which may be a refusal; nothing is left of it here
};
const char* to_string(EventKind kind);

struct Event {
  EventKind kind = EventKind::kRequest;
  Id id = 0;
  Ends ends;  // kRequest, kLookup
  Req req;    // kRequest
  Rep rep;    // kReply
  SidrReq sidr_req;
  SidrRep sidr_rep;
  Reason reason = Reason::kConsumer;
  std::vector<uint8_t> private_data;  // of a REJ, RTU or DREQ
};

struct Outgoing {
  Ends ends;
  Mad mad{};
};

struct Counters {
  uint64_t sent = 0, received = 0, repeated = 0;
  uint64_t duplicates = 0;  // messages that had been received before
  uint64_t malformed = 0;   // refused by decode()
  uint64_t unexpected = 0;  // for no connection, or not in this state
  uint64_t waits = 0;       // MRA
};

class Manager {
 public:
  explicit Manager(const Settings& settings);

  void listen(uint64_t service) { services_.insert(service); }
  void stop_listening(uint64_t service) { services_.erase(service); }

  // Fills the ids, GUID and primary GIDs of `req` and sends it.
  Id connect(Time now, const Ends& ends, Req req);
  // Fills the ids and GUID of `rep` and sends it.
  void accept(Time now, Id id, Rep rep);
  void confirm(Time now, Id id);
  void reject(Time now, Id id, Reason reason, std::span<const uint8_t> private_data = {});
  void disconnect(Time now, Id id);
  // Fills the id of `req` and sends it.
  Id resolve(Time now, const Ends& ends, SidrReq req);
  // Fills the id of `rep`; repeated for a while when it is asked again.
  void answer(Time now, Id id, SidrRep rep);
  // Ends every connection in the way that its state asks for, without waiting for answers.
  void abandon(Time now);
  // The first packet on the QP proves that the RTU was only lost.
  void data_arrived(Time now, Id id);

  void receive(Time now, const Ends& ends, std::span<const uint8_t> mad);
  void advance(Time now);
  std::optional<Time> next_deadline() const;

  std::vector<Event> take_events();
  std::vector<Outgoing> take_outgoing();

  std::optional<State> state(Id id) const;
  const Counters& counters() const { return counters_; }

 private:
  struct Connection {
    State state = State::kReqSent;
    Ends ends;
    Id id = 0;
    uint32_t remote_id = 0;
    uint64_t remote_guid = 0;
    uint32_t local_qpn = 0, remote_qpn = 0;
    uint64_t transaction = 0;  // of the REQ; REP and RTU carry it too
    uint8_t peer_response_timeout = 20;
    uint8_t ack_timeout = 0;
    uint8_t max_retries = 15;
    unsigned repeats = 0;
    std::optional<Time> deadline;
    Message last;  // what is repeated
  };

  // A received datagram's surroundings.
  struct Arrival {
    Time now{};
    Ends ends;
    uint64_t transaction = 0;
  };

  Id new_id();
  uint64_t new_transaction(Id id);
  Connection& at(Id id, const char* call, std::initializer_list<State> allowed);
  // Our connection that the peer's message names; `remote_id` is checked once it is known.
  Connection* find_mine(uint32_t id, uint32_t remote_id);
  Connection* find_remote(uint32_t remote_id, uint64_t guid);
  Connection* find_remote_qp(uint32_t qpn, uint64_t guid);
  Connection* find_lookup(uint32_t request_id, const Ends& ends);

  void send(const Ends& ends, const Message& message);
  void send_and_wait(Time now, Connection& c, const Message& message);
  void send_rtu(const Connection& c);
  void send_drep(const Arrival& arrival, const Dreq& dreq);
  void send_timeout(const Connection& c);
  void refuse(const Arrival& arrival, uint32_t remote_id, Answered answered, Reason reason);
  Event& raise(EventKind kind, Id id);
  void enter_time_wait(Time now, Connection& c);
  void end(Time now, Connection& c);
  void expire(Time now, Connection& c);
  void give_up(Time now, Connection& c);
  Time answer_time(const Connection& c) const;

  std::optional<Reason> why_not(const Req& req);
  void on(const Arrival& arrival, const Req& req);
  void on(const Arrival& arrival, const Rep& rep);
  void on(const Arrival& arrival, const Rtu& rtu);
  void on(const Arrival& arrival, const Rej& rej);
  void on(const Arrival& arrival, const Mra& mra);
  void on(const Arrival& arrival, const Dreq& dreq);
  void on(const Arrival& arrival, const Drep& drep);
  void on(const Arrival& arrival, const SidrReq& req);
  void on(const Arrival& arrival, const SidrRep& rep);
  void on_duplicate(const Arrival& arrival, Connection& c);

  Settings settings_;
  std::mt19937_64 random_;
  uint32_t transactions_ = 0;
  std::set<uint64_t> services_;
  std::map<Id, Connection> connections_;
  std::vector<Event> events_;
  std::vector<Outgoing> outgoing_;
  Counters counters_;
};

}  // namespace rnic::cm
