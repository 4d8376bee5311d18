// SPDX-License-Identifier: Apache-2.0
#include "sim/live/cm_connect.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

namespace rnic::sim {
namespace {

constexpr uint32_t kMaxReads = 16;       // of the NIC, each way
constexpr uint16_t kFirstPort = 0xC000;  // of a client
constexpr unsigned kPause = 16;          // between attempts: an answer's time by this

bool link_local(const roce::IpAddr& ip) { return ip[0] == 0xFE && (ip[1] & 0xC0) == 0x80; }

uint8_t reads_of(uint32_t wanted, uint32_t granted) {
  return static_cast<uint8_t>(std::min({wanted, granted, kMaxReads}));
}

// Makes a path to the peer and takes the QP to RTR.
tools::Task<void> prepare(Party& p, Queue& q, tools::Keys theirs, Adapter::Connection c) {
  p.resolve(theirs.gid);
  co_await p.scheduler->until([&] { return p.lookup(theirs.gid).has_value(); },
                              "the MAC of " + roce::to_string(theirs.gid));
  p.nic->prepare(q, theirs, *p.lookup(theirs.gid), c);
  p.check->add_queue(q);
}

// A REQ or REP names the PSN that its sender waits for: `q.psn` until now. Ours is what the peer
// names.
void take_psn(Queue& q, tools::Keys& theirs, uint32_t named) {
  theirs.psn = q.psn;
  q.psn = named;
}

cm::Req request_to(const Queue& q, const cm::Ends& ends, const CmTarget& to) {
  cm::Req req;
  req.service_id = cm::service_id(cm::kTcpSpace, to.port);
  req.responder_resources = req.initiator_depth = reads_of(to.reads, kMaxReads);
  req.psn = q.psn;
  req.mtu = tools::mtu_code(to.mtu);
  const auto port = static_cast<uint16_t>(kFirstPort | (q.number() & 0x3FFF));
  cm::set_ip_header(req, {.source_port = port, .source = ends.local, .destination = ends.remote});
  return req;
}

}  // namespace

int gid_of(const Adapter& nic, const roce::IpAddr& ours) {
  const auto at = std::find(nic.gids().begin(), nic.gids().end(), ours);
  if (at == nic.gids().end()) throw tools::ToolError(roce::to_string(ours) + ": not our address");
  return static_cast<int>(at - nic.gids().begin());
}

int gid_towards(const Adapter& nic, const roce::IpAddr& host) {
  for (size_t i = 0; i < nic.gids().size(); ++i) {
    const roce::IpAddr& own = nic.gids()[i];
    if (roce::is_ipv4(own) == roce::is_ipv4(host) && link_local(own) == link_local(host))
      return static_cast<int>(i);
  }
  throw tools::ToolError(roce::to_string(host) +
                         ": this NIC has no address of that kind (live.ip6 makes one)");
}

tools::Task<void> cm_pause(Party& p) {
  const CmPort::Config& config = p.cm->config();
  const cm::Time end = config.clock() + cm::exponent_time(config.response_timeout) / kPause;
  co_await p.scheduler->until([&] { return config.clock() >= end; }, "the next attempt");
}

tools::Task<CmPort::Ref> cm_connect(Party& p, Queue& q, CmTarget to, std::function<void()> ready) {
  const int gid = gid_towards(*p.nic, to.host);
  const cm::Ends ends{p.nic->gids()[static_cast<size_t>(gid)], to.host};
  CmPort::Ref c;
  for (unsigned left = to.attempts;; --left) {
    c = p.cm->connect(ends, q, request_to(q, ends, to));
    co_await p.scheduler->until([&] { return c->rep || c->gone(); },
                                "the answer of " + roce::to_string(to.host));
    if (c->rep) break;
    const bool again = c->rejected == cm::Reason::kInvalidServiceId && left > 1;
    if (!again) throw CmRefused(fmt::format("{} port {}", roce::to_string(to.host), to.port), *c);
    co_await cm_pause(p);
  }
  const cm::Rep& rep = *c->rep;
  tools::Keys theirs;
  theirs.qpn = rep.qpn;
  take_psn(q, theirs, rep.psn);
  theirs.gid = to.host;
  Adapter::Connection a;
  a.gid = gid;
  a.mtu = to.mtu;
  a.max_rd_atomic = reads_of(to.reads, rep.responder_resources);
  a.max_dest_rd_atomic = reads_of(to.reads, kMaxReads);
  a.rnr_retry = rep.rnr_retry;
  co_await prepare(p, q, theirs, a);
  p.nic->start_sending(q);
  if (ready) ready();
  p.cm->confirm(*c);
  co_return c;
}

tools::Task<CmPort::Ref> cm_request(Party& p, uint64_t service, std::string what) {
  CmPort::Ref c;
  co_await p.scheduler->until(
      [&] {
        c = p.cm->next_request(service);
        return c != nullptr;
      },
      what);
  co_return c;
}

tools::Task<void> cm_accept(Party& p, Queue& q, CmPort::Connection& c, uint32_t reads,
                            std::function<void()> ready) {
  const cm::Req& req = *c.req;
  if (tools::mtu_bytes(req.mtu) > p.mtu) {
    p.cm->reject(c, cm::Reason::kInvalidMtu);
    throw CmRefused(fmt::format("a client's MTU of {}", tools::mtu_bytes(req.mtu)), c);
  }
  tools::Keys theirs;
  theirs.qpn = req.qpn;
  cm::Rep rep;
  rep.psn = q.psn;
  take_psn(q, theirs, req.psn);
  theirs.gid = c.ends.remote;
  Adapter::Connection a;
  a.gid = gid_of(*p.nic, c.ends.local);
  a.mtu = tools::mtu_bytes(req.mtu);
  a.max_rd_atomic = reads_of(reads, req.responder_resources);
  a.max_dest_rd_atomic = reads_of(kMaxReads, req.initiator_depth);
  a.rnr_retry = req.rnr_retry;
  co_await prepare(p, q, theirs, a);
  if (ready) ready();
  rep.responder_resources = a.max_dest_rd_atomic;
  rep.initiator_depth = a.max_rd_atomic;
  p.cm->accept(c, q, rep);
}

tools::Task<void> cm_established(Party& p, Queue& q, CmPort::Connection& c) {
  co_await p.scheduler->until([&] { return c.established || c.gone(); }, "an RTU");
  if (!c.established) throw CmRefused("a client that had asked", c);
  p.nic->start_sending(q);
}

tools::Task<void> cm_end(Party& p, std::vector<CmPort::Ref> connections) {
  const CmPort::Config& config = p.cm->config();
  for (const CmPort::Ref& c : connections) p.cm->disconnect(*c);
  const cm::Time end = config.clock() + 2 * cm::exponent_time(config.response_timeout);
  co_await p.scheduler->until(
      [&] {
        return config.clock() >= end || std::all_of(connections.begin(), connections.end(),
                                                    [](const CmPort::Ref& c) { return c->gone(); });
      },
      "the end of its connections");
}

std::optional<roce::IpAddr> parse_address(const std::string& text) {
  roce::IpAddr ip{};
  if (::inet_pton(AF_INET, text.c_str(), ip.data()) == 1)
    return roce::ipv4_address(ip[0], ip[1], ip[2], ip[3]);
  if (::inet_pton(AF_INET6, text.c_str(), ip.data()) == 1) return ip;
  return std::nullopt;
}

}  // namespace rnic::sim
