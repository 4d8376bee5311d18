// SPDX-License-Identifier: Apache-2.0
#include "harness/cm/manager.hpp"

#include <algorithm>
#include <utility>

#include "harness/roce/bytes.hpp"

namespace rnic::cm {
namespace {

constexpr size_t kGuidBytes = 8;

template <size_t N>
void fill(std::array<uint8_t, N>& to, std::span<const uint8_t> from) {
  if (from.size() > N) throw CmError("connection manager: too many private bytes");
  std::copy(from.begin(), from.end(), to.begin());
}

std::vector<uint8_t> bytes(std::span<const uint8_t> from) { return {from.begin(), from.end()}; }

// Of a UD service, not of a connection.
bool is_lookup(State s) {
  return s == State::kSidrSent || s == State::kSidrReceived || s == State::kSidrAnswered;
}

}  // namespace

Manager::Manager(const Settings& settings) : settings_(settings), random_(settings.seed) {}

// --- calls

Id Manager::connect(Time now, const Ends& ends, Req req) {
  Connection c;
  c.id = new_id();
  c.ends = ends;
  c.transaction = new_transaction(c.id);
  req.local_id = c.id;
  req.ca_guid = settings_.ca_guid;
  req.primary.local_gid = ends.local;
  req.primary.remote_gid = ends.remote;
  c.local_qpn = req.qpn;
  c.peer_response_timeout = req.remote_response_timeout;
  c.ack_timeout = req.primary.ack_timeout;
  c.max_retries = req.max_retries;
  Connection& kept = connections_[c.id] = std::move(c);
  send_and_wait(now, kept, {kept.transaction, req});
  return kept.id;
}

void Manager::accept(Time now, Id id, Rep rep) {
  Connection& c = at(id, "accept", {State::kReqReceived});
  rep.local_id = id;
  rep.remote_id = c.remote_id;
  rep.ca_guid = settings_.ca_guid;
  c.local_qpn = rep.qpn;
  c.state = State::kRepSent;
  send_and_wait(now, c, {c.transaction, rep});
}

void Manager::confirm(Time, Id id) {
  Connection& c = at(id, "confirm", {State::kRepReceived});
  c.state = State::kEstablished;
  send_rtu(c);
}

void Manager::reject(Time, Id id, Reason reason, std::span<const uint8_t> private_data) {
  const Connection& c =
      at(id, "reject", {State::kReqReceived, State::kRepReceived, State::kRepSent});
  Rej rej{.local_id = id, .remote_id = c.remote_id, .reason = reason};
  if (c.state == State::kReqReceived) rej.rejected = Answered::kReq;
  if (c.state == State::kRepReceived) rej.rejected = Answered::kRep;
  fill(rej.private_data, private_data);
  send(c.ends, {c.transaction, rej});
  connections_.erase(id);
}

void Manager::disconnect(Time now, Id id) {
  Connection& c = at(id, "disconnect", {State::kEstablished, State::kRepSent});
  c.state = State::kDreqSent;
  const Dreq dreq{.local_id = id, .remote_id = c.remote_id, .remote_qpn = c.remote_qpn};
  send_and_wait(now, c, {new_transaction(id), dreq});
}

Id Manager::resolve(Time now, const Ends& ends, SidrReq req) {
  Connection c;
  c.state = State::kSidrSent;
  c.id = new_id();
  c.ends = ends;
  c.transaction = new_transaction(c.id);
  c.peer_response_timeout = settings_.response_timeout;
  c.max_retries = settings_.max_retries;
  req.request_id = c.id;
  Connection& kept = connections_[c.id] = std::move(c);
  send_and_wait(now, kept, {kept.transaction, req});
  return kept.id;
}

void Manager::answer(Time now, Id id, SidrRep rep) {
  Connection& c = at(id, "answer", {State::kSidrReceived});
  rep.request_id = c.remote_id;
  c.state = State::kSidrAnswered;
  send_and_wait(now, c, {c.transaction, rep});
  c.deadline = now + 2 * answer_time(c);  // as long as the same question may come again
}

void Manager::abandon(Time now) {
  std::vector<Id> all;
  for (const auto& [id, c] : connections_) all.push_back(id);
  for (const Id id : all) {
    Connection& c = connections_.at(id);
    switch (c.state) {
      case State::kReqSent:
        send_timeout(c);
        connections_.erase(id);
        break;
      case State::kReqReceived:
      case State::kRepReceived:
        reject(now, id, Reason::kConsumer);
        break;
      case State::kRepSent:
      case State::kEstablished:
        disconnect(now, id);
        break;
      case State::kSidrSent:
      case State::kSidrReceived:
        connections_.erase(id);
        break;
      case State::kDreqSent:
      case State::kTimeWait:
      case State::kSidrAnswered:
        break;  // ends by itself
    }
  }
}

void Manager::data_arrived(Time, Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.state != State::kRepSent) return;
  found->second.state = State::kEstablished;
  found->second.deadline.reset();
  raise(EventKind::kEstablished, id);
}

void Manager::receive(Time now, const Ends& ends, std::span<const uint8_t> mad) {
  const Decoded got = decode(mad);
  if (got.status != DecodeStatus::kOk) {
    ++counters_.malformed;
    return;
  }
  ++counters_.received;
  const Arrival arrival{now, ends, got.message.transaction};
  std::visit([&](const auto& body) { on(arrival, body); }, got.message.body);
}

void Manager::advance(Time now) {
  std::vector<Id> due;
  for (const auto& [id, c] : connections_) {
    if (c.deadline && *c.deadline <= now) due.push_back(id);
  }
  for (const Id id : due) expire(now, connections_.at(id));
}

std::optional<Time> Manager::next_deadline() const {
  std::optional<Time> next;
  for (const auto& [id, c] : connections_) {
    if (c.deadline && (!next || *c.deadline < *next)) next = c.deadline;
  }
  return next;
}

std::vector<Event> Manager::take_events() { return std::exchange(events_, {}); }
std::vector<Outgoing> Manager::take_outgoing() { return std::exchange(outgoing_, {}); }

std::optional<State> Manager::state(Id id) const {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return std::nullopt;
  return found->second.state;
}

// --- connections

Id Manager::new_id() {
  Id id = 0;
  while (id == 0 || connections_.count(id) != 0) id = static_cast<Id>(random_());
  return id;
}

uint64_t Manager::new_transaction(Id id) { return uint64_t{++transactions_} << 32 | id; }

Manager::Connection& Manager::at(Id id, const char* call, std::initializer_list<State> allowed) {
  const std::string where = "connection manager: " + std::string(call) + "(" + std::to_string(id);
  const auto found = connections_.find(id);
  if (found == connections_.end()) throw CmError(where + "): no such connection");
  const State state = found->second.state;
  if (std::find(allowed.begin(), allowed.end(), state) == allowed.end()) {
    throw CmError(where + ") in state " + to_string(state));
  }
  return found->second;
}

Manager::Connection* Manager::find_mine(uint32_t id, uint32_t remote_id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return nullptr;
  Connection& c = found->second;
  if (is_lookup(c.state)) return nullptr;
  return c.state == State::kReqSent || c.remote_id == remote_id ? &c : nullptr;
}

Manager::Connection* Manager::find_remote(uint32_t remote_id, uint64_t guid) {
  for (auto& [id, c] : connections_) {
    const bool known = c.state != State::kReqSent && !is_lookup(c.state);
    if (known && c.remote_id == remote_id && c.remote_guid == guid) return &c;
  }
  return nullptr;
}

Manager::Connection* Manager::find_remote_qp(uint32_t qpn, uint64_t guid) {
  for (auto& [id, c] : connections_) {
    const bool live =
        c.state != State::kReqSent && c.state != State::kTimeWait && !is_lookup(c.state);
    if (live && c.remote_qpn == qpn && c.remote_guid == guid) return &c;
  }
  return nullptr;
}

Manager::Connection* Manager::find_lookup(uint32_t request_id, const Ends& ends) {
  for (auto& [id, c] : connections_) {
    const bool asked = c.state == State::kSidrReceived || c.state == State::kSidrAnswered;
    if (asked && c.remote_id == request_id && c.ends.remote == ends.remote) return &c;
  }
  return nullptr;
}

Event& Manager::raise(EventKind kind, Id id) {
  events_.push_back({});
  events_.back().kind = kind;
  events_.back().id = id;
  return events_.back();
}

void Manager::enter_time_wait(Time now, Connection& c) {
  c.state = State::kTimeWait;
  c.deadline = now + exponent_time(c.ack_timeout) + 2 * exponent_time(settings_.packet_lifetime);
}

void Manager::end(Time now, Connection& c) {
  raise(EventKind::kDisconnected, c.id);
  enter_time_wait(now, c);
}

// --- sending and its time-outs

void Manager::send(const Ends& ends, const Message& message) {
  ++counters_.sent;
  outgoing_.push_back({ends, encode(message)});
}

void Manager::send_and_wait(Time now, Connection& c, const Message& message) {
  c.last = message;
  c.repeats = 0;
  c.deadline = now + answer_time(c);
  send(c.ends, message);
}

Time Manager::answer_time(const Connection& c) const {
  return exponent_time(c.peer_response_timeout) + 2 * exponent_time(settings_.packet_lifetime);
}

void Manager::send_rtu(const Connection& c) {
  send(c.ends, {c.transaction, Rtu{.local_id = c.id, .remote_id = c.remote_id}});
}

void Manager::send_drep(const Arrival& arrival, const Dreq& dreq) {
  const Drep drep{.local_id = dreq.remote_id, .remote_id = dreq.local_id};
  send(arrival.ends, {arrival.transaction, drep});
}

// The peer may never have seen our REQ's answer: our GUID tells it whose id this is.
void Manager::send_timeout(const Connection& c) {
  Rej rej{.local_id = c.id, .remote_id = c.remote_id, .reason = Reason::kTimeout};
  rej.rejected = c.state == State::kRepSent ? Answered::kRep : Answered::kReq;
  rej.info_length = kGuidBytes;
  roce::store_be64(rej.info.data(), settings_.ca_guid);
  send(c.ends, {c.transaction, rej});
}

void Manager::refuse(const Arrival& arrival, uint32_t remote_id, Answered answered, Reason reason) {
  const Rej rej{.remote_id = remote_id, .rejected = answered, .reason = reason};
  send(arrival.ends, {arrival.transaction, rej});
}

void Manager::expire(Time now, Connection& c) {
  if (c.state == State::kTimeWait) {
    raise(EventKind::kClosed, c.id);
    connections_.erase(c.id);
  } else if (c.state == State::kSidrAnswered) {
    connections_.erase(c.id);  // whoever asks now, asks anew
  } else if (c.repeats < c.max_retries) {
    ++c.repeats;
    ++counters_.repeated;
    c.deadline = now + answer_time(c);
    send(c.ends, c.last);
  } else {
    give_up(now, c);
  }
}

void Manager::give_up(Time now, Connection& c) {
  if (c.state == State::kDreqSent) {
    end(now, c);
    return;
  }
  if (!is_lookup(c.state)) send_timeout(c);
  raise(EventKind::kUnanswered, c.id);
  connections_.erase(c.id);
}

// --- receiving

std::optional<Reason> Manager::why_not(const Req& req) {
  if (services_.count(req.service_id) == 0) return Reason::kInvalidServiceId;
  const auto& gids = settings_.gids;
  if (std::find(gids.begin(), gids.end(), req.primary.remote_gid) == gids.end()) {
    return Reason::kInvalidGid;
  }
  if (req.transport != Transport::kRc && req.transport != Transport::kUc) {
    return Reason::kInvalidTransport;
  }
  if (req.mtu < 1 || req.mtu > 5) return Reason::kInvalidMtu;
  if (connections_.size() >= settings_.max_connections) return Reason::kNoResources;
  return std::nullopt;
}

void Manager::on(const Arrival& arrival, const Req& req) {
  if (Connection* known = find_remote(req.local_id, req.ca_guid)) {
    on_duplicate(arrival, *known);
    return;
  }
  std::optional<Reason> reason = why_not(req);
  // The peer uses this QP for something new: what it was connected to is gone.
  if (Connection* old = find_remote_qp(req.qpn, req.ca_guid)) {
    end(arrival.now, *old);
    reason = Reason::kStale;
  }
  if (reason) {
    refuse(arrival, req.local_id, Answered::kReq, *reason);
    return;
  }
  Connection c;
  c.state = State::kReqReceived;
  c.id = new_id();
  c.ends = arrival.ends;
  c.remote_id = req.local_id;
  c.remote_guid = req.ca_guid;
  c.remote_qpn = req.qpn;
  c.transaction = arrival.transaction;
  c.peer_response_timeout = req.local_response_timeout;
  c.ack_timeout = req.primary.ack_timeout;
  c.max_retries = req.max_retries;
  Event& event = raise(EventKind::kRequest, c.id);
  event.ends = c.ends;
  event.req = req;
  connections_[c.id] = std::move(c);
}

// A repeated REQ means that our REP was lost or is late.
void Manager::on_duplicate(const Arrival& arrival, Connection& c) {
  ++counters_.duplicates;
  if (c.state == State::kRepSent) {
    ++counters_.repeated;
    send(c.ends, c.last);
  } else if (c.state == State::kTimeWait) {
    refuse(arrival, c.remote_id, Answered::kReq, Reason::kStale);
  }
}

void Manager::on(const Arrival& arrival, const Rep& rep) {
  Connection* c = find_mine(rep.remote_id, rep.local_id);
  if (c == nullptr) {
    ++counters_.unexpected;
    refuse(arrival, rep.local_id, Answered::kRep, Reason::kInvalidId);
  } else if (c->state == State::kReqSent) {
    c->state = State::kRepReceived;
    c->deadline.reset();
    c->remote_id = rep.local_id;
    c->remote_guid = rep.ca_guid;
    c->remote_qpn = rep.qpn;
    raise(EventKind::kReply, c->id).rep = rep;
  } else if (c->state == State::kEstablished) {
    ++counters_.duplicates;  // the RTU was lost
    ++counters_.repeated;
    send_rtu(*c);
  } else {
    ++counters_.duplicates;
  }
}

void Manager::on(const Arrival&, const Rtu& rtu) {
  Connection* c = find_mine(rtu.remote_id, rtu.local_id);
  if (c == nullptr) {
    ++counters_.unexpected;
  } else if (c->state == State::kRepSent) {
    c->state = State::kEstablished;
    c->deadline.reset();
    raise(EventKind::kEstablished, c->id).private_data = bytes(rtu.private_data);
  } else {
    ++counters_.duplicates;
  }
}

void Manager::on(const Arrival& arrival, const Rej& rej) {
  // After a time-out the sender may not know our id, but we know its.
  Connection* c = rej.reason == Reason::kTimeout && rej.info_length >= kGuidBytes
                      ? find_remote(rej.local_id, roce::load_be64(rej.info.data()))
                      : nullptr;
  if (c == nullptr) c = find_mine(rej.remote_id, rej.local_id);
  if (c == nullptr || c->state == State::kTimeWait) {
    ++counters_.unexpected;
    return;
  }
  Event& event = raise(EventKind::kRejected, c->id);
  event.reason = rej.reason;
  event.private_data = bytes(rej.private_data);
  if (c->state == State::kReqSent || c->state == State::kReqReceived) {
    connections_.erase(c->id);
  } else {
    enter_time_wait(arrival.now, *c);
  }
}

void Manager::on(const Arrival& arrival, const Mra& mra) {
  Connection* c = find_mine(mra.remote_id, mra.local_id);
  const bool waiting =
      c != nullptr && ((c->state == State::kReqSent && mra.answered == Answered::kReq) ||
                       (c->state == State::kRepSent && mra.answered == Answered::kRep));
  if (!waiting) {
    ++counters_.unexpected;
    return;
  }
  ++counters_.waits;
  c->deadline = arrival.now + exponent_time(mra.service_timeout) +
                2 * exponent_time(settings_.packet_lifetime);
}

void Manager::on(const Arrival& arrival, const Dreq& dreq) {
  Connection* c = find_mine(dreq.remote_id, dreq.local_id);
  if (c != nullptr && dreq.remote_qpn != c->local_qpn) {
    ++counters_.unexpected;
    return;
  }
  // Answered also without a connection: the peer wants to be rid of one that we have forgotten.
  send_drep(arrival, dreq);
  if (c == nullptr) {
    ++counters_.unexpected;
  } else if (c->state == State::kTimeWait) {
    ++counters_.duplicates;
  } else {
    raise(EventKind::kDisconnected, c->id).private_data = bytes(dreq.private_data);
    enter_time_wait(arrival.now, *c);
  }
}

void Manager::on(const Arrival& arrival, const Drep& drep) {
  Connection* c = find_mine(drep.remote_id, drep.local_id);
  if (c == nullptr) {
    ++counters_.unexpected;
  } else if (c->state == State::kDreqSent) {
    end(arrival.now, *c);
  } else {
    ++counters_.duplicates;
  }
}

void Manager::on(const Arrival& arrival, const SidrReq& req) {
  if (Connection* known = find_lookup(req.request_id, arrival.ends)) {
    ++counters_.duplicates;
    if (known->state != State::kSidrAnswered) return;
    ++counters_.repeated;
    send(known->ends, known->last);
    return;
  }
  if (services_.count(req.service_id) == 0 || connections_.size() >= settings_.max_connections) {
    const SidrRep rep{.request_id = req.request_id,
                      .status = SidrStatus::kUnsupported,
                      .service_id = req.service_id};
    send(arrival.ends, {arrival.transaction, rep});
    return;
  }
  Connection c;
  c.state = State::kSidrReceived;
  c.id = new_id();
  c.ends = arrival.ends;
  c.remote_id = req.request_id;
  c.transaction = arrival.transaction;
  c.peer_response_timeout = settings_.response_timeout;
  Event& event = raise(EventKind::kLookup, c.id);
  event.ends = c.ends;
  event.sidr_req = req;
  connections_[c.id] = std::move(c);
}

void Manager::on(const Arrival&, const SidrRep& rep) {
  const auto found = connections_.find(rep.request_id);
  if (found == connections_.end() || found->second.state != State::kSidrSent) {
    ++counters_.unexpected;
    return;
  }
  raise(EventKind::kFound, rep.request_id).sidr_rep = rep;
  connections_.erase(found);
}

const char* to_string(State state) {
  constexpr const char* kNames[] = {
      "REQ sent",  "REQ received", "REP received",  "REP sent",          "established",
      "DREQ sent", "time wait",    "SIDR_REQ sent", "SIDR_REQ received", "SIDR_REP sent"};
  return kNames[static_cast<size_t>(state)];
}

const char* to_string(EventKind kind) {
  constexpr const char* kNames[] = {"request",  "reply",      "established",
                                    "rejected", "unanswered", "disconnected",
                                    "closed",   "lookup",     "found"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace rnic::cm
