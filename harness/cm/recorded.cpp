// SPDX-License-Identifier: Apache-2.0
#include "harness/cm/recorded.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "harness/cm/messages.hpp"

namespace rnic::cm {

namespace {
using roce::CapturedFrame;
using roce::CaptureRun;
using roce::Side;
using roce::SideParams;

struct Asked {
  Side by;
  Req req;
};

SideParams params(const CaptureRun& run, Side side, uint32_t qpn, uint32_t psn, const Req& req) {
  SideParams p;
  p.known = true;
  p.qpn = qpn;
  p.psn = psn;
  p.mac = run.side(side).mac;
  p.pmtu = 128u << req.mtu;
  p.timeout = req.primary.ack_timeout;
  p.retry = req.retry_count;
  p.receives = 512;
  return p;
}
}  // namespace

std::vector<CaptureRun> recorded_connections(const CaptureRun& run) {
  std::vector<CaptureRun> out;
  // Datagrams of both directions in the order of the file.
  std::map<uint32_t, const CapturedFrame*> frames;
  for (const Side to : {Side::kClient, Side::kServer}) {
    for (const CapturedFrame* f : run.arrived(to)) frames.emplace(f->index, f);
  }
  std::map<uint32_t, Asked> asked;  // by the identifier of who asked
  std::set<uint32_t> answered;
  for (const auto& [index, f] : frames) {
    roce::FrameView v;
    if (roce::parse_frame(f->bytes, v) != roce::ParseStatus::kOk || v.dest_qp != kQpn) continue;
    const Decoded d = decode(v.payload());
    if (d.status != DecodeStatus::kOk) continue;
    if (const auto* req = std::get_if<Req>(&d.message.body);
        req && req->transport == Transport::kRc)
      asked.emplace(req->local_id, Asked{f->from, *req});
    const auto* rep = std::get_if<Rep>(&d.message.body);
    if (!rep || !asked.contains(rep->remote_id) || !answered.insert(rep->remote_id).second)
      continue;
    const Asked& a = asked.at(rep->remote_id);
    if (a.by == f->from) continue;
    // Each tells the PSN that it waits for.
    SideParams active = params(run, a.by, a.req.qpn, rep->psn, a.req);
    SideParams passive = params(run, f->from, rep->qpn, a.req.psn, a.req);
    if (a.by == Side::kServer) std::swap(active, passive);
    if (run.client.known && run.client.qpn == active.qpn && run.server.qpn == passive.qpn) continue;
    CaptureRun c = run.between(active, passive);
    c.part = fmt::format("QP {:#x}-{:#x}", active.qpn, passive.qpn);
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace rnic::cm
