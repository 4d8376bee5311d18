// SPDX-License-Identifier: Apache-2.0
#include "sim/run/flow_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "regs/gen/rnic_regs.h"

namespace rnic::sim {

namespace {
constexpr size_t kTracedMessages = 300;  // of a traffic step, in the trace file
constexpr TimePs kSettlePs = 1'500'000;  // an ACK may overtake data on their way into memory
constexpr uint32_t kReceivesOut = 512;   // per QP

Place place_of(Memory m) { return m == Memory::kGpu ? Place::kGpu : Place::kHost; }

bool answers_with_data(FlowVerb v) { return v == FlowVerb::kRead || v == FlowVerb::kFetchAdd; }

uint8_t opcode_of(const Flow& f) {
  switch (f.verb) {
    case FlowVerb::kWrite:
      return f.imm ? RNIC_WQE_OPCODE_WRITE_IMM : RNIC_WQE_OPCODE_WRITE;
    case FlowVerb::kSend:
      return f.imm ? RNIC_WQE_OPCODE_SEND_IMM : RNIC_WQE_OPCODE_SEND;
    case FlowVerb::kRead:
      return RNIC_WQE_OPCODE_READ;
    case FlowVerb::kFetchAdd:
      return RNIC_WQE_OPCODE_FETCH_ADD;
  }
  return RNIC_WQE_OPCODE_NOP;
}

const char* name_of(FlowVerb v) {
  switch (v) {
    case FlowVerb::kWrite:
      return "WRITE";
    case FlowVerb::kSend:
      return "SEND";
    case FlowVerb::kRead:
      return "READ";
    case FlowVerb::kFetchAdd:
      return "FETCH_ADD";
  }
  return "?";
}

uint64_t word_at(const Region& r, uint64_t offset) {
  uint64_t v = 0;
  r.buffer.read(offset, &v, sizeof v);
  return v;
}
}  // namespace

FlowWatch::FlowWatch(pcie::Fabric& fabric, uint64_t addr, uint64_t size, uint64_t warm_bytes)
    : fabric_(fabric), first_(addr), last_(addr + size), warm_(warm_bytes) {
  fabric_.add_observer(this);
}

void FlowWatch::on_visible(const pcie::VisibleEvent& v) {
  if (v.addr < first_ || v.addr >= last_) return;
  const uint64_t before = bytes_;
  bytes_ += v.len;
  if (closed_) return;
  counted_ = bytes_;
  if (before < warm_ && bytes_ >= warm_) {
    warm_at_ = v.time_ps;
    warm_bytes_ = bytes_;
  }
  end_ = v.time_ps;
}

void FlowWatch::open(TimePs now) {
  warm_ = 0;
  warm_at_ = end_ = now;
  warm_bytes_ = counted_ = bytes_;
}

FlowRun::FlowRun(Session& session, const std::string& step, const Flow& flow, size_t index,
                 NextPair& next_pair)
    : session_(session),
      step_(step),
      flow_(flow),
      from_(flow.from),
      to_(flow.to),
      source_node_(answers_with_data(flow.verb) ? to_ : from_),
      target_node_(answers_with_data(flow.verb) ? from_ : to_) {
  rng_.reseed(session.seed(fmt::format("traffic.{}.{}", step, index)));
  slot_bytes_ = flow.slot_bytes();
  slots_ = flow.slots();
  if (flow.inlined) wqe_blocks_ = (32 + flow.biggest() + RNIC_WQE_BLOCK - 1) / RNIC_WQE_BLOCK;
  const uint64_t bytes = flow.buffer_bytes();
  source_ =
      &session.kit(source_node_).host->region(place_of(flow.source), bytes, flow.source_misalign);
  target_ =
      &session.kit(target_node_).host->region(place_of(flow.target), bytes, flow.target_misalign);
  uint64_t total = 0;
  for (uint32_t size : flow.sizes) total += size;
  watch_ = std::make_unique<FlowWatch>(
      session.kit(target_node_).node->fabric(), target_->iova, bytes,
      std::max<uint64_t>(1, total * flow.count / flow.sizes.size() / 10));
  const size_t dscp = flow.dscp ? *flow.dscp : size_t{64};
  size_t& next = next_pair[{std::min(from_, to_), std::max(from_, to_), dscp}];
  for (uint32_t q = 0; q < flow.qps; ++q) {
    Lane l;
    const Session::Pair p = session.pair(next++, from_, to_, flow.dscp);
    l.self = p.self;
    l.peer = p.peer;
    l.number = q;
    l.to_post = flow.count / flow.qps + (q < flow.count % flow.qps ? 1 : 0);
    for (uint32_t k = 0; k < slots_; ++k) l.free_slots.push_back(slots_ - 1 - k);
    plan_receives(l);
    lanes_.push_back(std::move(l));
  }
}

uint64_t FlowRun::place(const Lane& lane, const Message& m) const {
  return (uint64_t{lane.number} * slots_ + m.slot) * slot_bytes_ + m.offset;
}

FlowRun::Message FlowRun::plan(Lane& lane) {
  Message m;
  m.len = flow_.sizes.size() == 1 ? flow_.sizes[0] : flow_.sizes[rng_.below(flow_.sizes.size())];
  m.slot = lane.free_slots.back();
  lane.free_slots.pop_back();
  if (flow_.random_offsets && slot_bytes_ > m.len)
    m.offset = static_cast<uint32_t>(rng_.below(slot_bytes_ - m.len + 1));
  ++lane.planned;
  return m;
}

// Receives for messages to come, as far as there is room for them.
void FlowRun::plan_receives(Lane& lane) {
  if (!takes_receives()) return;
  bool any = false;
  while (lane.planned < lane.to_post && !lane.free_slots.empty() &&
         lane.planned - lane.received < kReceivesOut) {
    const Message m = plan(lane);
    std::vector<driver::Segment> segments;
    if (flow_.verb == FlowVerb::kSend)
      segments = {{target_->key, m.len, target_->va + place(lane, m)}};
    lane.peer->qp->post_receive(segments);
    lane.ready.push_back(m);
    any = true;
  }
  if (any) lane.peer->qp->ring_receives();
}

// Different from any other message's bytes: a counter through a mixer, cheaper than the NIC by far.
void FlowRun::fill(uint32_t len) {
  scratch_.resize((len + 7) / 8 * 8);
  uint64_t state = rng_.next();
  for (size_t i = 0; i < scratch_.size(); i += 8) {
    state += 0x9E3779B97F4A7C15ull;
    const uint64_t v = state ^ (state >> 29);
    std::memcpy(&scratch_[i], &v, 8);
  }
}

driver::WorkRequest FlowRun::request(Lane& lane, Message& m) {
  const uint64_t off = place(lane, m);
  driver::WorkRequest w;
  w.opcode = opcode_of(flow_);
  const Region& local = answers_with_data(flow_.verb) ? *target_ : *source_;
  const Region& remote = answers_with_data(flow_.verb) ? *source_ : *target_;
  if (flow_.inlined) {
    w.use_inline = true;
    w.inline_data.assign(scratch_.begin(), scratch_.begin() + m.len);
  } else {
    w.local = {{local.key, m.len, local.va + off}};
  }
  if (flow_.verb != FlowVerb::kSend) {
    w.remote_va = remote.va + off;
    w.rkey = remote.key;
  }
  if (flow_.verb == FlowVerb::kFetchAdd) w.swap_add = m.add = rng_.next();
  w.signaled = lane.posted % flow_.signal_every == 0 || lane.posted == lane.to_post;
  if (flow_.imm) w.imm = m.imm = lane.posted;
  return w;
}

void FlowRun::trace(const Lane& lane, const Message& m, std::vector<MessageInfo>& traced) {
  const uint32_t psn = lane.self->take_psns(m.len);
  if (!session_.tracing() || flow_.verb != FlowVerb::kWrite || traced.size() >= kTracedMessages)
    return;
  MessageInfo t;
  t.label = step_;
  t.from = from_;
  t.to = to_;
  t.qpn = lane.self->number();
  t.peer_qpn = lane.peer->number();
  t.wqe_index = m.index;
  t.first_psn = psn;
  t.last_psn = lane.self->last_psn(psn, m.len);
  t.bytes = m.len;
  t.start_ps = t.store_ps = session_.world().now_ps();
  t.alone = false;
  t.target_addr = target_->iova + place(lane, m);
  traced.push_back(t);
}

void FlowRun::post_message(Lane& lane, Message m, std::vector<MessageInfo>& traced) {
  fill(m.len);
  source_->buffer.write(place(lane, m), scratch_.data(), m.len);
  ++lane.posted;
  m.index = lane.self->qp->post(request(lane, m));
  trace(lane, m, traced);
  bytes_posted_ += m.len;
  lane.flying.push_back(m);
  if (takes_receives()) lane.expect_receive.push_back(m);
}

void FlowRun::post(Lane& lane, std::vector<MessageInfo>& traced) {
  while (lane.posted < lane.to_post) {
    const uint32_t group = std::min(flow_.doorbell_every, lane.to_post - lane.posted);
    const size_t room = takes_receives() ? lane.ready.size() : lane.free_slots.size();
    if (lane.flying.size() + group > flow_.depth || room < group) break;
    if (lane.self->qp->free_blocks() < wqe_blocks_ * group) break;
    for (uint32_t i = 0; i < group; ++i) {
      Message m;
      if (takes_receives()) {
        m = lane.ready.front();
        lane.ready.pop_front();
      } else {
        m = plan(lane);
      }
      post_message(lane, m, traced);
    }
    lane.self->qp->ring();
  }
}

void FlowRun::post(std::vector<MessageInfo>& traced) {
  for (Lane& lane : lanes_) post(lane, traced);
}

std::string FlowRun::difference(const Lane& lane, const Message& m) {
  const uint64_t off = place(lane, m);
  if (flow_.verb == FlowVerb::kFetchAdd) {
    const uint64_t was = word_at(*target_, off), is = word_at(*source_, off);
    if (is == was + m.add) return "";
    return fmt::format("the answer is {:#x}, {:#x} was added, now it is {:#x}", was, m.add, is);
  }
  const auto d = mem::MemoryChecker::compare(target_->buffer, off, source_->buffer, off, m.len);
  return d ? d->to_string() : "";
}

void FlowRun::compare(const Lane& lane, const Message& m) {
  if (const std::string d = difference(lane, m); !d.empty())
    session_.problem(fmt::format("{}: QP {} message at block {}, {} bytes: {}", step_,
                                 lane.self->number(), m.index, m.len, d));
}

void FlowRun::collect_sent(Lane& lane) {
  const TimePs now = session_.world().now_ps();
  const NodeKit& kit = session_.kit(from_);
  while (auto c = kit.host->poll(*lane.self)) {
    if (!c->ok())
      throw std::runtime_error(
          fmt::format("QP {} of node {}: message at block {} ended with {} (syndrome {:#x})",
                      lane.self->number(), kit.node->name(), c->wqe_index,
                      driver::status_name(c->status), c->syndrome));
    // This one and all before it are done.
    for (;;) {
      if (lane.flying.empty())
        throw std::runtime_error(
            fmt::format("QP {} of node {}: completion for block {}, which is not in flight",
                        lane.self->number(), kit.node->name(), c->wqe_index));
      Message m = lane.flying.front();
      lane.flying.pop_front();
      m.done_ps = now;
      ++lane.completed;
      lane.settling.push_back(m);
      if (m.index != c->wqe_index) continue;
      if (m.len != c->byte_count)
        session_.problem(
            fmt::format("{}: completion of {} bytes, {} were posted", step_, c->byte_count, m.len));
      break;
    }
  }
  // A slot is free again when its bytes must be there and, at a receiver that hears of them, were
  // announced.
  const TimePs settle = session_.settle_ps(kSettlePs);
  while (!lane.settling.empty() && lane.settling.front().done_ps + settle <= now &&
         (!takes_receives() || lane.settled < lane.received)) {
    compare(lane, lane.settling.front());
    ++compared_;
    ++lane.settled;
    lane.free_slots.push_back(lane.settling.front().slot);
    lane.settling.pop_front();
  }
}

void FlowRun::collect_received(Lane& lane) {
  (void)session_.kit(to_).host->poll(*lane.peer);
  while (!lane.peer->received.empty()) {
    const driver::Completion c = lane.peer->received.front();
    lane.peer->received.pop_front();
    if (lane.expect_receive.empty())
      throw std::runtime_error("a receive completion that nobody expects");
    const Message m = lane.expect_receive.front();
    lane.expect_receive.pop_front();
    ++lane.received;
    if (!c.ok() || c.imm.value_or(0) != m.imm || c.byte_count != m.len)
      session_.problem(fmt::format(
          "{}: receive completion says {}, immediate {}, {} bytes; expected immediate {}, {} bytes",
          step_, driver::status_name(c.status), c.imm.value_or(0), c.byte_count, m.imm, m.len));
    compare(lane, m);  // its bytes were there before the CQE
  }
}

void FlowRun::collect() {
  for (Lane& lane : lanes_) {
    collect_sent(lane);
    if (!takes_receives()) continue;
    collect_received(lane);
    plan_receives(lane);
  }
}

bool FlowRun::busy() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& l) {
    return l.completed < l.to_post || !l.settling.empty() ||
           (takes_receives() && l.received < l.to_post);
  });
}

void FlowRun::stop() {
  watch_->close();
  for (Lane& l : lanes_) {
    const uint32_t every = flow_.signal_every;
    l.to_post = std::min(l.to_post, (l.posted + every - 1) / every * every);
  }
}

uint64_t FlowRun::completed() const {
  uint64_t n = 0;
  for (const Lane& l : lanes_) n += l.completed;
  return n;
}

void FlowRun::ignore_memory() {
  session_.ignore_memory(target_node_, *target_);
  session_.ignore_memory(source_node_, *source_);
}

void FlowRun::check_bytes() {
  if (watch_->all_bytes() != bytes_posted_)
    session_.problem(fmt::format("{}: {} bytes were posted, {} were written", step_, bytes_posted_,
                                 watch_->all_bytes()));
}

double FlowRun::goodput() const {
  const double ns = static_cast<double>(watch_->time()) / 1000.0;
  return ns > 0 ? static_cast<double>(watch_->bytes()) * 8.0 / ns : 0;
}

double FlowRun::rate() const {
  uint64_t posted = 0;
  for (const Lane& l : lanes_) posted += l.posted;
  const double mean = static_cast<double>(bytes_posted_) / static_cast<double>(posted);
  return mean > 0 ? goodput() * 1000.0 / 8.0 / mean : 0;
}

std::string FlowRun::text() const {
  std::string sizes;
  for (uint32_t size : flow_.sizes) sizes += (sizes.empty() ? "" : "/") + std::to_string(size);
  return fmt::format(
      "  {} -> {}: {} {} of {} B on {} QP{} ({} to {} memory{}{}): {:.1f} Gb/s, {:.2f} M "
      "messages/s; {} compared",
      session_.kit(from_).node->name(), session_.kit(to_).node->name(), completed(),
      name_of(flow_.verb), sizes, flow_.qps, flow_.qps == 1 ? "" : "s",
      flow_.source == Memory::kGpu ? "GPU" : "host", flow_.target == Memory::kGpu ? "GPU" : "host",
      flow_.inlined ? ", inline" : "", flow_.imm ? ", immediate" : "", goodput(), rate(),
      compared_);
}

}  // namespace rnic::sim
