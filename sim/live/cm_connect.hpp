// SPDX-License-Identifier: Apache-2.0
// A QP connected by the connection manager, from either side, as rdma_connect and rdma_accept do
// it.
//
//   CmTarget to{.host = ip, .port = 7174, .reads = 1, .mtu = 4096};
//   CmPort::Ref c = co_await cm_connect(party, q, to, [&] { post_receives(); });   // active
//   CmPort::Ref r = co_await cm_request(party, service, "a client");               // passive
//   co_await cm_accept(party, q, *r, {.reads = 1}, [&] { post_receives(); });
#pragma once

#include "harness/tools/exchange.hpp"
#include "sim/live/program.hpp"

namespace rnic::sim {

// There is no connection; what() tells why, `status` is CM_REJECTED or CM_UNANSWERED.
class CmRefused : public std::runtime_error {
 public:
  CmRefused(const std::string& what, const CmPort::Connection& c)
      : std::runtime_error(what + ": " + c.why_not()),
        status(c.unanswered ? "CM_UNANSWERED" : "CM_REJECTED") {}
  const std::string status;
};

struct CmTarget {
  roce::IpAddr host{};
  uint16_t port = 0;
  uint32_t reads = 1;     // READs and ATOMICs in flight, each way
  uint32_t mtu = 4096;    // the active side's word counts
  unsigned attempts = 1;  // while nobody listens there
};

// The GID from which a host is reached: its kind of address. Throws ToolError.
int gid_towards(const Adapter& nic, const roce::IpAddr& host);
int gid_of(const Adapter& nic, const roce::IpAddr& ours);

// From a "nobody listens" to the next attempt.
tools::Task<void> cm_pause(Party& party);
// `ready` is called when the QP receives, before the peer can know it. Throws CmRefused.
tools::Task<CmPort::Ref> cm_connect(Party& party, Queue& q, CmTarget to,
                                    std::function<void()> ready);
tools::Task<CmPort::Ref> cm_request(Party& party, uint64_t service, std::string what);
// Sends the REP. The QP sends from cm_established() on.
tools::Task<void> cm_accept(Party& party, Queue& q, CmPort::Connection& c, uint32_t reads,
                            std::function<void()> ready);
tools::Task<void> cm_established(Party& party, Queue& q, CmPort::Connection& c);
// Ends these connections and waits until their peers know it, at most the time of two answers.
tools::Task<void> cm_end(Party& party, std::vector<CmPort::Ref> connections);

// "10.77.0.10", "fd77::10".
std::optional<roce::IpAddr> parse_address(const std::string& text);

}  // namespace rnic::sim
