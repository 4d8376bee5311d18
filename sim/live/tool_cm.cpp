// SPDX-License-Identifier: Apache-2.0
// perftest with -R: its exchange goes over a QP that the connection manager connects, and so are
// the QPs of the traffic. Two more waits stand around their connecting.
#include <fmt/format.h>

#include <algorithm>

#include "harness/roce/bytes.hpp"
#include "regs/gen/rnic_regs.h"
#include "sim/live/tool_run.hpp"

namespace rnic::sim {

using tools::Keys;
using tools::Kind;
using tools::Service;
using tools::Task;
using tools::Verb;

namespace {

constexpr unsigned kAttempts = 10;  // a server listens twice, with a pause in between
constexpr unsigned kPatience = 4;   // an answer's time by this: from the end to "it is lost"

}  // namespace

uint64_t ToolRun::service() const { return cm::service_id(cm::kTcpSpace, options_.port); }
uint64_t ToolRun::datagram_service() const { return cm::service_id(cm::kUdpSpace, options_.port); }

bool ToolRun::greeted() const {
  return options_.cm && options_.service == Service::kUd && options_.kind == Kind::kLatency &&
         options_.server();
}

Task<void> ToolRun::cm_channel() {
  const auto psn = static_cast<uint32_t>(random_()) & 0xFFFFFF;
  Queue& q = party_.nic->add_queue(QueueChannel::queue_options(psn));
  auto channel = std::make_unique<QueueChannel>(party_, q);
  QueueChannel* c = channel.get();
  const std::function<void()> ready = [c] { c->post_receives(); };
  CmPort::Ref connection;
  if (options_.client()) {
    const roce::IpAddr host = party_.address(options_.host, options_.gid);
    const CmTarget to{.host = host, .port = options_.port, .reads = 0, .mtu = result_.mtu};
    connection = co_await cm_connect(party_, q, to, ready);
  } else {
    party_.cm->listen(service());
    if (options_.service == Service::kUd) party_.cm->listen(datagram_service());
    const std::string what = fmt::format("a client on rdma_cm port {}", options_.port);
    connection = co_await cm_request(party_, service(), what);
    co_await cm_accept(party_, q, *connection, 0, ready);
    co_await cm_established(party_, q, *connection);
  }
  options_.gid = gid_of(*party_.nic, connection->ends.local);
  c->attach(connection);
  cm_channel_ = c;
  channel_ = std::move(channel);
}

// Nothing is said yet: both send zeros.
Task<void> ToolRun::cm_wait() {
  Keys nothing;
  nothing.out_reads = 0;
  const Keys got = co_await tools::swap_keys(*party_.scheduler, *channel_, nothing);
  if (got.qpn != 0) throw tools::ExchangeError("keys before there is a QP");
}

Task<void> ToolRun::cm_client_queues() {
  co_await cm_wait();
  const bool reads = options_.verb == Verb::kRead || options_.verb == Verb::kAtomic;
  const roce::IpAddr host = cm_channel_->connection()->ends.remote;
  for (size_t n = 0; n < queues_.size(); ++n) {
    if (options_.service == Service::kUd) {
      co_await cm_find(n);
      continue;
    }
    CmTarget to{.host = host, .port = options_.port, .mtu = result_.mtu, .attempts = kAttempts};
    to.reads = reads ? options_.out_reads : 0;
    const std::function<void()> ready = [this, n] { refill(n); };
    const CmPort::Ref c = co_await cm_connect(party_, *queues_[n], to, ready);
    connections_.push_back(c);
    result_.mine[n].psn = queues_[n]->psn;
  }
  co_await cm_wait();
}

Task<void> ToolRun::cm_server_queues() {
  tools::Scheduler& s = *party_.scheduler;
  // The client asks as soon as it has our answer.
  const tools::Message first = co_await tools::next_message(s, *channel_);
  if (first.what != tools::Message::What::kKeys) throw tools::ChannelClosed("the client went");
  Keys nothing;
  nothing.out_reads = 0;
  channel_->write(tools::encode_keys(*channel_, nothing));
  const bool reads = options_.verb == Verb::kRead || options_.verb == Verb::kAtomic;
  for (size_t n = 0; n < queues_.size(); ++n) {
    if (options_.service == Service::kUd) {
      co_await cm_serve_lookup(n);
      continue;
    }
    const CmPort::Ref c = co_await cm_request(party_, service(), "a QP of the client");
    const std::function<void()> ready = [this, n] { refill(n); };
    co_await cm_accept(party_, *queues_[n], *c, reads ? options_.out_reads : 0, ready);
    connections_.push_back(c);
  }
  for (size_t n = 0; n < connections_.size(); ++n) {
    co_await cm_established(party_, *queues_[n], *connections_[n]);
    result_.mtu = queues_[n]->mtu;
    result_.mine[n].psn = queues_[n]->psn;
  }
  co_await cm_wait();
}

// UD: the number of the server's QP, then a path to it.
Task<void> ToolRun::cm_find(size_t n) {
  Queue& q = *queues_[n];
  const cm::Ends ends = cm_channel_->connection()->ends;
  cm::SidrReq req;
  req.service_id = datagram_service();
  cm::set_ip_header(req, {.source_port = static_cast<uint16_t>(0xC000 | q.number()),
                          .source = ends.local,
                          .destination = ends.remote});
  CmPort::Ref c;
  for (unsigned left = kAttempts;; --left) {
    c = party_.cm->resolve(ends, req);
    co_await party_.scheduler->until([&] { return c->sidr_rep || c->gone(); }, "a SIDR_REP");
    if (!c->sidr_rep) throw CmRefused("a QP for UD", *c);
    if (c->sidr_rep->status != cm::SidrStatus::kUnsupported || left == 1) break;
    co_await cm_pause(party_);
  }
  if (c->sidr_rep->status != cm::SidrStatus::kValid)
    throw tools::ExchangeError(std::string("a QP for UD: ") + cm::to_string(c->sidr_rep->status));
  if (c->sidr_rep->qkey != q.qkey) throw tools::ExchangeError("a Q_Key that rdma_cm does not use");
  q.theirs.qpn = c->sidr_rep->qpn;
  q.theirs.gid = ends.remote;
  q.path = party_.nic->add_path(options_.gid, ends.remote, *party_.lookup(ends.remote),
                                roce::udp_source_port(0, q.number(), q.theirs.qpn));
  q.mtu = result_.mtu;
  party_.nic->open_datagrams(q);
  party_.check->add_queue(q);
  refill(n);
  if (options_.kind != Kind::kLatency) co_return;
  // The server answers to the QP that it hears of here.
  driver::WorkRequest r;
  r.opcode = RNIC_WQE_OPCODE_SEND_IMM;
  r.signaled = true;
  r.use_inline = true;
  r.inline_data.resize(kGreetingBytes);
  roce::store_le32(r.inline_data.data(), q.number());
  r.imm = q.number();
  r.remote_va = q.qkey | uint64_t{q.theirs.qpn} << 32;
  r.rkey = q.path;
  party_.check->expect(q.number(), std::make_shared<const Bytes>(r.inline_data));
  q.post(r);
  q.ring();
  co_await wait_completed(n, q.posted);
}

Task<void> ToolRun::cm_serve_lookup(size_t n) {
  Queue& q = *queues_[n];
  const CmPort::Ref c = co_await cm_request(party_, datagram_service(), "a SIDR_REQ");
  q.mtu = result_.mtu;
  q.theirs.gid = c->ends.remote;
  party_.nic->open_datagrams(q);
  party_.check->add_queue(q);
  refill(n);
  cm::SidrRep rep;
  rep.qpn = q.number();
  rep.service_id = datagram_service();
  rep.qkey = q.qkey;
  party_.cm->answer(*c, rep);
  if (greeted()) co_await wait_received(n, kGreetingBytes);
}

void ToolRun::take_keys(const std::vector<Keys>& theirs) {
  for (size_t n = 0; n < queues_.size(); ++n) {
    Queue& q = *queues_[n];
    // A server sees its clients in the order in which they came.
    const auto same = [&](const Keys& k) { return k.qpn == q.theirs.qpn; };
    const auto at = std::find_if(theirs.begin(), theirs.end(), same);
    const Keys& k = at != theirs.end() ? *at : theirs.at(n);
    q.theirs.rkey = k.rkey;
    q.theirs.vaddr = k.vaddr;
    q.theirs.out_reads = k.out_reads;
    if (options_.service == Service::kUd && options_.server()) {
      q.theirs.qpn = k.qpn;
      q.path = party_.nic->add_path(options_.gid, q.theirs.gid, *party_.lookup(q.theirs.gid),
                                    roce::udp_source_port(0, q.number(), k.qpn));
      party_.check->set_peer(q);
    }
    result_.theirs.push_back(q.theirs);
  }
}

// Messages with keys that a client sends when its QPs are connected.
unsigned ToolRun::key_rounds() const {
  const tools::Waits w = tools::waits_of(options_.kind, options_.verb);
  const auto sizes = static_cast<unsigned>(options_.sizes().size());
  const bool reported = options_.kind == Kind::kBandwidth && options_.verb != Verb::kSend;
  const unsigned each = w.each_size + (options_.all ? w.behind : 0);
  return 2 * options_.qps + w.before + each * sizes + w.after + (reported ? 1 : 0);
}

// Its connections are gone for so long that nothing comes any more.
bool ToolRun::cm_lost() {
  if (!options_.cm || !channel_->closed()) return false;
  const cm::Time now = party_.cm->config().clock();
  if (!lost_at_) lost_at_ = now;
  return now >= *lost_at_ + cm::exponent_time(party_.cm->config().response_timeout) / kPatience;
}

Task<void> ToolRun::cm_close() {
  co_await party_.scheduler->until([this] { return cm_channel_->drained(); }, "the last word");
  std::vector<CmPort::Ref> all = connections_;
  all.push_back(cm_channel_->connection());
  co_await cm_end(party_, all);
}

}  // namespace rnic::sim
