// SPDX-License-Identifier: Apache-2.0
#include "sim/live/cm_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "regs/gen/rnic_regs.h"
#include "sim/live/cm_connect.hpp"

namespace rnic::sim {
namespace {

constexpr uint32_t kGrhBytes = 40;
constexpr uint32_t kReceiveBytes = kGrhBytes + cm::kMadBytes;
constexpr uint32_t kReceives = 64, kSends = 32;
constexpr size_t kMaxOutgoing = 256;
// Beside those of as many QPs as a tool may have, in a NIC with 64.
constexpr size_t kMaxPaths = 2;

// The GUID of the adapter, made of its MAC as Linux makes it.
uint64_t guid_of(const driver::Mac& m) {
  const uint8_t bytes[] = {
      static_cast<uint8_t>(m[0] ^ 2), m[1], m[2], 0xFF, 0xFE, m[3], m[4], m[5]};
  uint64_t guid = 0;
  for (const uint8_t b : bytes) guid = guid << 8 | b;
  return guid;
}

// Both addresses of the IP header in front of a UD payload: IPv6, or 20 bytes and IPv4.
cm::Ends ends_of(std::span<const uint8_t> grh) {
  cm::Ends e;
  if (grh[0] >> 4 == 6) {
    std::copy_n(grh.begin() + 8, 16, e.remote.begin());
    std::copy_n(grh.begin() + 24, 16, e.local.begin());
  } else {
    e.remote = roce::ipv4_address(grh[32], grh[33], grh[34], grh[35]);
    e.local = roce::ipv4_address(grh[36], grh[37], grh[38], grh[39]);
  }
  return e;
}

}  // namespace

std::string CmPort::Connection::why_not() const {
  if (rejected)
    return fmt::format("refused: {} (reason {})", cm::to_string(*rejected),
                       static_cast<unsigned>(*rejected));
  if (unanswered) return "no answer";
  return disconnected ? "ended by the other side" : "";
}

CmPort::CmPort(Config config) : config_(std::move(config)), check_(config_.end) {}

void CmPort::open() {
  Adapter& nic = *config_.nic;
  cm::Settings s;
  s.gids = nic.gids();
  s.ca_guid = guid_of(nic.mac());
  s.seed = config_.seed + opened_++;
  s.packet_lifetime = config_.packet_lifetime;
  s.response_timeout = config_.response_timeout;
  manager_ = std::make_unique<cm::Manager>(s);
  connections_.clear();
  qpns_.clear();
  requests_.clear();
  outgoing_.clear();
  paths_.clear();
  check_.forget();
  next_receive_ = 0;
  QueueOptions q;
  q.service = tools::Service::kUd;
  q.qpn = cm::kQpn;
  q.qkey = cm::kQkey;
  q.log_sq = 7;
  q.log_rq = 6;
  q.life = Life::kDevice;
  queue_ = &nic.add_queue(q);
  queue_->theirs.qpn = cm::kQpn;
  receives_ = &nic.add_memory(uint64_t{kReceives} * kReceiveBytes, Adapter::kLocal, Life::kDevice);
  sends_ = &nic.add_memory(uint64_t{kSends} * cm::kMadBytes, Adapter::kLocal, Life::kDevice);
  nic.open_datagrams(*queue_);
  check_.add_queue(*queue_, cm::kMadBytes);
  post_receives();
}

void CmPort::post_receives() {
  bool any = false;
  for (; queue_->receive_room() > (1u << queue_->qp->log_rq()) - kReceives; ++next_receive_) {
    queue_->post_receive(*receives_, next_receive_ % kReceives * kReceiveBytes, kReceiveBytes);
    any = true;
  }
  if (any) queue_->ring_receives();
}

// ------------------------------------------------------------------------------------------------
// what happens
bool CmPort::turn() {
  bool any = queue_->poll();
  take_received();
  take_device_events();
  manager_->advance(config_.clock());
  take_events();
  any = send_some() || any;
  return any;
}

std::optional<cm::Time> CmPort::next_deadline() const { return manager_->next_deadline(); }

void CmPort::take_device_events() {
  bool any = false;
  while (const auto e = config_.nic->events().poll()) {
    any = true;
    if (e->type != RNIC_EQE_TYPE_COMM_EST) continue;
    const auto at = std::find_if(qpns_.begin(), qpns_.end(),
                                 [&](const auto& entry) { return entry.second == e->number; });
    if (at == qpns_.end()) continue;
    if (manager_->state(at->first) == cm::State::kRepSent) ++comm_est_;
    manager_->data_arrived(config_.clock(), at->first);
  }
  if (any) config_.nic->events().update();
}

// A datagram in memory must be the one on the wire.
void CmPort::take_received() {
  while (!queue_->received.empty()) {
    const Queue::Received got = queue_->received.front();
    queue_->received.pop_front();
    std::vector<uint8_t> bytes(std::clamp(got.bytes, kGrhBytes, kReceiveBytes));
    receives_->buffer.read(uint64_t{got.slot % kReceives} * kReceiveBytes, bytes.data(),
                           bytes.size());
    const std::span<const uint8_t> all(bytes);
    const auto want = check_.next_received(cm::kQpn);
    if (!want || !std::ranges::equal(*want, all.subspan(kGrhBytes)))
      check_.problem(fmt::format("datagram {} for QP 1 is not that of the wire", got.slot));
    manager_->receive(config_.clock(), ends_of(all.first(kGrhBytes)), all.subspan(kGrhBytes));
  }
  post_receives();
}

void CmPort::take_events() {
  for (const cm::Event& e : manager_->take_events()) take_event(e);
  take_outgoing();
}

void CmPort::take_outgoing() {
  const cm::Time until = config_.clock() + cm::exponent_time(config_.response_timeout);
  for (cm::Outgoing& o : manager_->take_outgoing()) {
    if (outgoing_.size() >= kMaxOutgoing) outgoing_.pop_front();  // it has waited for longest
    outgoing_.push_back({std::move(o), until});
  }
}

void CmPort::take_event(const cm::Event& e) {
  if (e.kind == cm::EventKind::kRequest || e.kind == cm::EventKind::kLookup) {
    auto c = std::make_shared<Connection>();
    c->id = e.id;
    const bool lookup = e.kind == cm::EventKind::kLookup;
    if (lookup) {
      c->sidr_req = e.sidr_req;
    } else {
      c->req = e.req;
    }
    c->ends = e.ends;
    connections_[e.id] = c;
    requests_[lookup ? e.sidr_req.service_id : e.req.service_id].push_back(c);
    return;
  }
  if (e.kind == cm::EventKind::kClosed) {
    if (const auto q = qpns_.find(e.id); q != qpns_.end()) config_.nic->hold(q->second, false);
    qpns_.erase(e.id);
    connections_.erase(e.id);
    return;
  }
  const auto at = connections_.find(e.id);
  if (at == connections_.end()) return;
  Connection& c = *at->second;
  switch (e.kind) {
    case cm::EventKind::kReply:
      c.rep = e.rep;
      break;
    case cm::EventKind::kEstablished:
      c.established = true;
      break;
    case cm::EventKind::kRejected:
      c.rejected = e.reason;
      break;
    case cm::EventKind::kUnanswered:
      c.unanswered = true;
      break;
    case cm::EventKind::kDisconnected:
      c.disconnected = true;
      break;
    case cm::EventKind::kFound:
      c.sidr_rep = e.sidr_rep;
      break;
    default:
      break;
  }
  // Without a wait for late packets the QP number is free at once.
  if (!manager_->state(e.id)) {
    if (const auto q = qpns_.find(e.id); q != qpns_.end()) config_.nic->hold(q->second, false);
    qpns_.erase(e.id);
    connections_.erase(at);
  }
}

// ------------------------------------------------------------------------------------------------
// datagrams out
bool CmPort::send_some() {
  bool any = false;
  std::deque<Waiting> later;
  for (; !outgoing_.empty() && queue_->posted - queue_->completed < kSends; outgoing_.pop_front()) {
    const Waiting& w = outgoing_.front();
    const auto& gids = config_.nic->gids();
    // Not ours: the address it came for. Out of time: the manager repeats what matters.
    if (std::find(gids.begin(), gids.end(), w.out.ends.local) == gids.end()) continue;
    if (config_.clock() >= w.until) continue;
    if (const auto path = path_to(w.out.ends)) {
      post(w.out, *path);
      any = true;
    } else {
      later.push_back(w);
    }
  }
  for (auto& w : later) outgoing_.push_back(std::move(w));
  if (any) queue_->ring();
  return any;
}

// The path to them, made when their MAC is known; none for now.
std::optional<uint32_t> CmPort::path_to(const cm::Ends& ends) {
  const auto key = std::make_pair(ends.local, ends.remote);
  auto path = paths_.find(key);
  if (path == paths_.end()) {
    config_.resolve(ends.remote);
    const auto mac = config_.lookup(ends.remote);
    if (!mac || (paths_.size() >= kMaxPaths && !drop_path())) return std::nullopt;
    const uint16_t port = roce::udp_source_port(0, cm::kQpn, cm::kQpn);
    const uint32_t number = config_.nic->add_path(gid_of(*config_.nic, ends.local), ends.remote,
                                                  *mac, port, Life::kDevice);
    path = paths_.emplace(key, Path{number, 0}).first;
  }
  path->second.last = queue_->posted + 1;
  return path->second.number;
}

// Gives back the one that has not been used for longest; false when all are in use.
bool CmPort::drop_path() {
  const auto oldest =
      std::min_element(paths_.begin(), paths_.end(),
                       [](const auto& a, const auto& b) { return a.second.last < b.second.last; });
  if (oldest->second.last > queue_->completed) return false;
  config_.nic->remove_path(oldest->second.number);
  paths_.erase(oldest);
  return true;
}

void CmPort::post(const cm::Outgoing& o, uint32_t path) {
  const uint64_t offset = queue_->posted % kSends * cm::kMadBytes;
  sends_->buffer.write(offset, o.mad.data(), o.mad.size());
  driver::WorkRequest r;
  r.opcode = RNIC_WQE_OPCODE_SEND;
  r.signaled = true;
  r.local = {{sends_->key, static_cast<uint32_t>(cm::kMadBytes), sends_->va + offset}};
  r.remote_va = cm::kQkey | uint64_t{cm::kQpn} << 32;
  r.rkey = path;
  check_.expect(cm::kQpn, std::make_shared<const std::vector<uint8_t>>(o.mad.begin(), o.mad.end()));
  queue_->post(r);
}

// ------------------------------------------------------------------------------------------------
// what programs ask for
void CmPort::listen(uint64_t service) { manager_->listen(service); }

void CmPort::stop_listening(uint64_t service) {
  manager_->stop_listening(service);
  for (const Ref& c : requests_[service]) {
    if (c->req && !c->gone()) reject(*c, cm::Reason::kConsumer);
  }
  requests_.erase(service);
}

CmPort::Ref CmPort::next_request(uint64_t service) {
  auto& list = requests_[service];
  while (!list.empty()) {
    Ref c = std::move(list.front());
    list.pop_front();
    if (!c->gone()) return c;
  }
  return nullptr;
}

void CmPort::keep(const Ref& c) { connections_[c->id] = c; }

// At once: what the program posts next must not overtake it.
void CmPort::flush() {
  take_outgoing();
  send_some();
}

CmPort::Ref CmPort::connect(const cm::Ends& ends, const Queue& q, cm::Req request) {
  request.qpn = q.number();
  request.local_response_timeout = request.remote_response_timeout = config_.response_timeout;
  request.primary.ack_timeout = config_.ack_timeout;
  auto c = std::make_shared<Connection>();
  c->ends = ends;
  c->id = manager_->connect(config_.clock(), ends, request);
  qpns_[c->id] = q.number();
  config_.nic->hold(q.number(), true);
  keep(c);
  flush();
  return c;
}

void CmPort::accept(Connection& c, const Queue& q, cm::Rep reply) {
  if (manager_->state(c.id) != cm::State::kReqReceived) return;  // it is gone already
  reply.qpn = q.number();
  qpns_[c.id] = q.number();
  config_.nic->hold(q.number(), true);
  manager_->accept(config_.clock(), c.id, reply);
  flush();
}

void CmPort::confirm(Connection& c) {
  if (manager_->state(c.id) != cm::State::kRepReceived) return;  // it is gone already
  manager_->confirm(config_.clock(), c.id);
  c.established = true;
  flush();
}

void CmPort::reject(Connection& c, cm::Reason reason) {
  if (manager_->state(c.id)) manager_->reject(config_.clock(), c.id, reason);
  c.rejected = reason;
  connections_.erase(c.id);
}

void CmPort::disconnect(Connection& c) {
  const auto state = manager_->state(c.id);
  if (state == cm::State::kEstablished || state == cm::State::kRepSent)
    manager_->disconnect(config_.clock(), c.id);
}

CmPort::Ref CmPort::resolve(const cm::Ends& ends, const cm::SidrReq& request) {
  auto c = std::make_shared<Connection>();
  c->ends = ends;
  c->id = manager_->resolve(config_.clock(), ends, request);
  keep(c);
  flush();
  return c;
}

void CmPort::answer(Connection& c, const cm::SidrRep& reply) {
  manager_->answer(config_.clock(), c.id, reply);
  connections_.erase(c.id);
}

void CmPort::abandon() {
  manager_->abandon(config_.clock());
  requests_.clear();
  take_events();
}

}  // namespace rnic::sim
