// SPDX-License-Identifier: Apache-2.0
#include "harness/golden/runner.hpp"

#include <algorithm>

namespace rnic::golden {

namespace {
constexpr uint32_t kNoKey = 0xABCDEF00;  // names no region
constexpr uint32_t kSmall = 4096;        // regions with fewer permissions
}  // namespace

Runner::Runner(const Program& program, Endpoint& a, uint32_t qp_a, Endpoint& b, uint32_t qp_b,
               const RunnerConfig& config)
    : program_(program), config_(config), random_(mem::substream(program.config.seed, "runner")) {
  side_[0].ep = &a;
  side_[0].qp = qp_a;
  side_[1].ep = &b;
  side_[1].qp = qp_b;
  for (size_t i = 0; i < 2; ++i) side_[i].program = &program.side[i];
}

void Runner::prepare() {
  for (SideState& s : side_) {
    s.arena = s.ep->add_region(s.program->initial.size(), kAccessAll, false);
    s.ep->write_memory(s.arena, 0, s.program->initial);
    for (uint32_t i = 0; i < program_.config.spares; ++i)
      s.spares.push_back(s.ep->add_region(kSmall, kAccessAll, true));
    if (program_.config.ending == Ending::kGood) continue;
    s.read_only = s.ep->add_region(4 * kSmall, kRemoteRead | kLocalWrite, false);
    s.write_only = s.ep->add_region(4 * kSmall, kRemoteWrite | kLocalWrite, false);
  }
}

SendRequest Runner::request(size_t side, size_t index) const {
  const SideState& self = side_[side];
  const SideState& peer = side_[1 - side];
  const ProgramSend& p = self.program->sends[index];
  SendRequest r;
  r.wr_id = index;
  r.verb = p.verb;
  for (const Piece& piece : p.pieces)
    r.sges.push_back({self.arena.key, piece.length, self.arena.va + piece.offset});
  r.inline_data = p.inline_data;
  r.remote_va = peer.arena.va + p.remote_offset;
  r.rkey = peer.arena.key;
  r.imm = p.imm;
  if (p.verb == Verb::kSendInv) r.inv_key = peer.spares[p.spare].key;
  if (p.verb == Verb::kLocalInv) r.inv_key = self.spares[p.spare].key;
  r.swap_add = p.swap_add;
  r.compare = p.compare;
  r.signaled = p.signaled;
  r.solicited = p.solicited;
  r.fence = p.fence;
  if (program_.config.transport == roce::Transport::kUd) r.ud = peer.ep->ud_target(peer.qp);
  switch (p.wrong) {
    case Ending::kUnknownKey:
      r.rkey = kNoKey;
      break;
    case Ending::kOutOfBounds:  // all but its last byte is inside
      r.remote_va = peer.arena.va + peer.arena.length - p.bytes() + 1;
      break;
    case Ending::kNoWritePermit:
      r.rkey = peer.read_only.key;
      r.remote_va = peer.read_only.va;
      break;
    case Ending::kNoReadPermit:
    case Ending::kNoAtomicPermit:
      r.rkey = peer.write_only.key;
      r.remote_va = peer.write_only.va;
      break;
    case Ending::kLocalKey:
      r.sges[0].lkey = kNoKey;
      break;
    default:
      break;
  }
  return r;
}

RecvRequest Runner::receive(size_t side, size_t index) const {
  const SideState& self = side_[side];
  const ProgramRecv& p = self.program->recvs[index];
  RecvRequest r;
  r.wr_id = index;
  for (const Piece& piece : p.pieces) {
    r.sges.push_back(
        {p.bad_key ? kNoKey : self.arena.key, piece.length, self.arena.va + piece.offset});
  }
  return r;
}

void Runner::problem(const std::string& text) {
  if (problems_.size() < config_.max_problems) problems_.push_back(text);
}

void Runner::take(size_t side, const Completion& c) {
  SideState& s = side_[side];
  const std::string where = s.ep->name() + (c.receive ? " receive " : " send ");
  const auto& list = c.receive ? s.program->recv_done : s.program->send_done;
  size_t& seen = c.receive ? s.recv_seen : s.send_seen;
  if (seen >= list.size()) {
    problem(where + std::to_string(c.wr_id) + ": a completion too many (" +
            std::string(to_string(c.status)) + ")");
    stuck_ = true;
    return;
  }
  const Completion& want = list[seen];
  const std::string name =
      where + "completion " + std::to_string(seen) + " (request " + std::to_string(want.wr_id) +
      (c.receive ? std::string()
                 : ": " + describe(s.program->sends[static_cast<size_t>(want.wr_id)])) +
      ")";
  ++seen;
  if (c.wr_id != want.wr_id) {
    problem(name + ": names request " + std::to_string(c.wr_id) + " (" +
            std::string(to_string(c.status)) + ")");
    stuck_ = true;
  }
  const bool lost_reason =
      config_.lossy && want.status != Status::kSuccess && want.status != Status::kFlushed &&
      want.status != Status::kLocalProtection && c.status == Status::kRetryExceeded;
  if (c.status != want.status && !lost_reason) {
    problem(name + ": " + to_string(c.status) + ", expected " + to_string(want.status));
    if (c.status != Status::kSuccess) stuck_ = true;
  }
  if (!c.receive) s.sends_done = std::max<size_t>(s.sends_done, static_cast<size_t>(c.wr_id) + 1);
  if (c.status != Status::kSuccess || want.status != Status::kSuccess || !c.receive) return;
  const auto differ = [&](const char* what, uint64_t got, uint64_t expected) {
    if (got != expected) {
      problem(name + ": " + what + " " + std::to_string(got) + ", expected " +
              std::to_string(expected));
    }
  };
  if (c.verb != want.verb)
    problem(name + ": of a " + to_string(c.verb) + ", expected a " + to_string(want.verb));
  differ("bytes", c.bytes, want.bytes);
  differ("immediate", c.imm, want.imm);
  if (want.verb == Verb::kSendInv) differ("key", c.inv_key, s.spares[want.inv_key].key);
}

void Runner::step() {
  const bool reliable = program_.config.transport == roce::Transport::kRc;
  for (SideState& s : side_) s.receives_ready = s.received;
  for (size_t i = 0; i < 2; ++i) {
    SideState& s = side_[i];
    SideState& peer = side_[1 - i];
    while (const auto c = s.ep->poll(s.qp)) take(i, *c);
    // Receives used are those of which a completion came.
    if (!random_.chance(config_.late_receives)) {
      while (s.received < s.program->recvs.size() &&
             s.received - s.recv_seen < config_.receives_ahead) {
        if (!s.ep->post_recv(s.qp, receive(i, s.received))) break;
        ++s.received;
      }
    }
    while (s.sent < s.program->sends.size() && s.sent - s.sends_done < config_.sends_ahead) {
      // What is in flight when a request fails locally may be flushed or complete: it waits.
      if (s.program->sends[s.sent].wrong == Ending::kLocalKey && s.sends_done < s.sent) break;
      const bool takes = takes_receive(s.program->sends[s.sent].verb);
      if (takes && !reliable && s.receives_taken >= peer.receives_ready) break;
      if (!s.ep->post_send(s.qp, request(i, s.sent))) break;
      s.receives_taken += takes;
      ++s.sent;
    }
  }
}

bool Runner::done() const {
  if (stuck_) return true;
  return std::all_of(side_.begin(), side_.end(), [](const SideState& s) {
    return s.send_seen == s.program->send_done.size() && s.recv_seen == s.program->recv_done.size();
  });
}

void Runner::compare_memory() {
  for (SideState& s : side_) {
    std::vector<uint8_t> want = s.program->expected, got(want.size());
    s.ep->read_memory(s.arena, 0, got);
    for (const Piece& p : s.program->unknown)
      std::copy_n(got.begin() + p.offset, p.length, want.begin() + p.offset);
    if (got == want) continue;
    const auto [g, w] = std::mismatch(got.begin(), got.end(), want.begin());
    size_t count = 0;
    for (size_t i = 0; i < got.size(); ++i) count += got[i] != want[i];
    problem(s.ep->name() + " memory: " + std::to_string(count) + " bytes differ, the first at " +
            std::to_string(g - got.begin()) + " of " + std::to_string(got.size()) + ": got " +
            std::to_string(*g) + ", expected " + std::to_string(*w));
  }
}

std::string Runner::text() {
  std::string t;
  for (SideState& s : side_) {
    t += s.ep->name() + ": posted " + std::to_string(s.sent) + " of " +
         std::to_string(s.program->sends.size()) + " sends, " + std::to_string(s.received) +
         " of " + std::to_string(s.program->recvs.size()) + " receives; completions " +
         std::to_string(s.send_seen) + " of " + std::to_string(s.program->send_done.size()) +
         " and " + std::to_string(s.recv_seen) + " of " +
         std::to_string(s.program->recv_done.size());
    if (s.send_seen < s.program->send_done.size()) {
      const auto at = static_cast<size_t>(s.program->send_done[s.send_seen].wr_id);
      t += "; waits for request " + std::to_string(at) + ", " + describe(s.program->sends[at]);
    }
    t += "\n  " + s.ep->state_of(s.qp) + "\n";
  }
  return t;
}

}  // namespace rnic::golden
