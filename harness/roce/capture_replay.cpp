// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/capture_replay.hpp"

#include <algorithm>

namespace rnic::roce {

ReferenceReplay reference_replay(const CaptureRun& run, Side side, const ResponderPolicy& policy) {
  const SideParams& p = run.side(side);
  ReferenceReplay out;
  out.memory = run.initial_memory(side);
  out.receive_buffer.assign(p.receive_bytes, kVtReceiveFill);
  RegionTable regions;
  if (p.has_region) {
    regions.add({.rkey = p.rkey, .va = p.va, .bytes = out.memory});
    for (const uint32_t key : p.other_rkeys)
      regions.add({.rkey = key, .va = p.va, .bytes = out.memory});
  }
  ResponderConfig config;
  config.transport = run.transport;
  config.qpn = p.qpn;
  config.first_psn = run.side(other(side)).psn;
  config.pmtu = p.pmtu;
  config.min_rnr_timer = p.min_rnr_timer;
  config.local_ip = p.ip;
  config.peer_ip = run.side(other(side)).ip;
  config.policy = policy;
  ResponderModel model(config, regions);
  bool posted = false;
  const std::vector<HostWrite> writes = run.host_writes(side);
  auto write = writes.begin();
  for (const CapturedFrame* f : run.delivered(side)) {
    if (!posted && f->index >= p.receives_posted_before) {
      for (uint32_t i = 0; i < p.receives; ++i)
        model.post_recv({.wr_id = 1000 + i, .segments = {out.receive_buffer}});
      posted = true;
    }
    for (; write != writes.end() && write->before == f->index; ++write)
      std::ranges::copy(write->bytes, out.memory.begin() + static_cast<ptrdiff_t>(write->offset));
    out.verdicts.push_back(model.receive(f->bytes));
    for (const ResponsePacket& r : model.responses()) {
      out.responses.push_back(r);
      const auto bytes = model.payload(r);
      out.payloads.emplace_back(bytes.begin(), bytes.end());
      out.effect.add(r.opcode, r.psn, r.syndrome, r.msn);
    }
    out.completions.insert(out.completions.end(), model.completions().begin(),
                           model.completions().end());
    model.clear_outputs();
  }
  return out;
}

AckEffect recorded_effect(const CaptureRun& run, Side side) {
  AckEffect effect;
  for (const CapturedFrame* f : run.sent_by(side)) {
    FrameView v;
    if (parse_frame(f->bytes, v) == ParseStatus::kOk && v.dest_qp > 1 && !v.info().is_request)
      effect.add(v);
  }
  return effect;
}

}  // namespace rnic::roce
