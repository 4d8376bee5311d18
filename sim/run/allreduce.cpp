// SPDX-License-Identifier: Apache-2.0
// Ring AllReduce over the verbs: WRITEs with immediate to the next rank, sums by the programs. The
// baseline for a reduction inside the NIC.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "harness/collective/ring.hpp"
#include "harness/numerics/machine.hpp"
#include "regs/gen/rnic_regs.h"
#include "sim/run/allreduce_data.hpp"
#include "sim/run/allreduce_report.hpp"
#include "sim/run/session.hpp"

namespace rnic::sim {
namespace {

using collective::Chunk;
using collective::RingPlan;

constexpr uint32_t kReceivesOut = 512;
constexpr TimePs kSettlePs = 2'000'000;

struct Message {
  uint32_t step = 0, piece = 0;
};
// Step and piece in an immediate.
uint32_t immediate_of(Message m) { return m.step << 16 | m.piece; }
Message message_of(uint32_t imm) { return {imm >> 16, imm & 0xFFFF}; }

// One rank's program.
struct Rank {
  Qp* next = nullptr;      // sends to the next rank
  Qp* previous = nullptr;  // receives from the previous one
  Region* work = nullptr;
  Region* staging = nullptr;  // of each adding step a chunk of the longest kind
  std::deque<Message> to_send;
  std::multimap<TimePs, Message> starts;  // own pieces to send, by the time at which they are there
  std::multimap<TimePs, Message> sums;    // likewise
  std::vector<std::vector<TimePs>> own;   // when the own piece of a sum is there, by step and piece
  TimePs copied_back = 0;                 // when the result is where it belongs, so far
  collective::ReduceEngine engine{0, 0};
  collective::CopyEngine copy_in{0, 0}, copy_out{0, 0};
  uint32_t expected = 0, received = 0, receives_posted = 0, done = 0, flying = 0;
};

class AllReduce {
 public:
  AllReduce(Session& session, const std::string& name, const AllReduceStep& step);
  // Fills the buffers, runs, compares. Returns how long it took.
  TimePs run(uint32_t round);
  const RingPlan& ring() const { return ring_; }

 private:
  Host& host(uint32_t rank) { return *session_.kit(rank).host; }
  uint32_t next_of(uint32_t rank) const { return (rank + 1) % ring_.ranks(); }
  void make_rank(uint32_t rank);
  void reset(uint32_t rank);
  void copy_in(uint32_t rank);
  void post_receives(uint32_t rank);
  void post_sends(uint32_t rank);
  void send(uint32_t rank, Message m);
  void look(uint32_t rank);
  void take_received(uint32_t rank);
  void start_what_is_due(uint32_t rank);
  void add_what_is_due(uint32_t rank);
  void go_on(uint32_t rank, Message m);
  bool busy() const;
  bool copies() const { return step_.memory != step_.reduce; }
  uint64_t copy_rate() const;  // bytes per second; 0: no time
  // Where a piece of a chunk that is to be added lies in the staging buffer.
  uint64_t staged_at(uint32_t step, uint32_t chunk, const Chunk& piece) const {
    return step * ring_.longest_chunk() + piece.offset - ring_.chunk(chunk).offset;
  }

  Session& session_;
  std::string name_;
  const AllReduceStep& step_;
  RingPlan ring_;
  std::vector<Rank> ranks_;
  std::optional<AllReduceData> data_;
};

AllReduce::AllReduce(Session& session, const std::string& name, const AllReduceStep& step)
    : session_(session),
      name_(name),
      step_(step),
      ring_(session.settings().nodes, step.bytes / numerics::element_bytes(step.type), step.piece,
            numerics::element_bytes(step.type)) {
  ranks_.resize(ring_.ranks());
  std::map<std::pair<uint32_t, uint32_t>, size_t> used;
  for (uint32_t r = 0; r < ring_.ranks(); ++r) {
    const uint32_t to = next_of(r);
    const Session::Pair p = session_.pair(used[{std::min(r, to), std::max(r, to)}]++, r, to);
    ranks_[r].next = p.self;
    ranks_[to].previous = p.peer;
  }
  std::vector<Region*> work;
  for (uint32_t r = 0; r < ring_.ranks(); ++r) {
    make_rank(r);
    work.push_back(ranks_[r].work);
  }
  data_.emplace(session_, name_, step_, work);
}

void AllReduce::make_rank(uint32_t r) {
  // What the host adds must be in its memory; see copy_in().
  const Place place = step_.reduce == Memory::kGpu ? Place::kGpu : Place::kHost;
  ranks_[r].work = &host(r).region(place, step_.bytes);
  ranks_[r].staging = &host(r).region(place, ring_.longest_chunk() * (ring_.ranks() - 1));
}

uint64_t AllReduce::copy_rate() const { return session_.settings().gpu.bounce_kbps * 1000 / 8; }

// Buffers in GPU memory that the host adds are copied to the host, a piece behind the other in the
// order in which they are needed, and back as they are whole. What moves is in host memory all the
// time: the copies take their time only.
void AllReduce::copy_in(uint32_t r) {
  Rank& rank = ranks_[r];
  const TimePs now = session_.world().now_ps();
  const auto there = [&](uint32_t chunk, uint32_t piece) {
    return copies() ? rank.copy_in.finish(now, ring_.piece(chunk, piece).bytes) : now;
  };
  const uint32_t first = ring_.sent(r, 0);
  for (uint32_t p = 0; p < ring_.pieces(first); ++p)
    rank.starts.emplace(there(first, p), Message{0, p});
  rank.own.assign(ring_.ranks() - 1, {});
  for (uint32_t s = 0; ring_.adds(s); ++s) {
    const uint32_t chunk = ring_.received(r, s);
    for (uint32_t p = 0; p < ring_.pieces(chunk); ++p) rank.own[s].push_back(there(chunk, p));
  }
}

void AllReduce::reset(uint32_t r) {
  Rank& rank = ranks_[r];
  rank.engine = {step_.add_bps / 8, step_.launch_ps};
  const TimePs latency = copies() ? session_.settings().gpu.bounce_copy_ps : 0;
  rank.copy_in = rank.copy_out = {copies() ? copy_rate() : 0, latency};
  rank.copied_back = 0;
  rank.expected = rank.received = rank.done = rank.receives_posted = 0;
  for (uint32_t s = 0; s < ring_.steps(); ++s) rank.expected += ring_.pieces(ring_.received(r, s));
  post_receives(r);
}

void AllReduce::post_receives(uint32_t r) {
  Rank& rank = ranks_[r];
  bool any = false;
  while (rank.receives_posted < rank.expected &&
         rank.receives_posted - rank.received < kReceivesOut) {
    rank.previous->qp->post_receive({});
    ++rank.receives_posted;
    any = true;
  }
  if (any) rank.previous->qp->ring_receives();
}

void AllReduce::send(uint32_t r, Message m) {
  const uint32_t number = ring_.sent(r, m.step);
  const Chunk piece = ring_.piece(number, m.piece);
  const Region& from = *ranks_[r].work;
  // A sum goes beside the peer's own chunk, a whole chunk to its place.
  const bool adds = ring_.adds(m.step);
  const Region& to = adds ? *ranks_[next_of(r)].staging : *ranks_[next_of(r)].work;
  const uint64_t at = adds ? staged_at(m.step, number, piece) : piece.offset;
  driver::WorkRequest w;
  w.opcode = RNIC_WQE_OPCODE_WRITE_IMM;
  w.local = {{from.key, static_cast<uint32_t>(piece.bytes), from.va + piece.offset}};
  w.remote_va = to.va + at;
  w.rkey = to.key;
  w.imm = immediate_of(m);
  w.signaled = true;
  ranks_[r].next->qp->post(w);
}

void AllReduce::post_sends(uint32_t r) {
  Rank& rank = ranks_[r];
  bool any = false;
  while (!rank.to_send.empty() && rank.next->qp->free_blocks() > 0) {
    send(r, rank.to_send.front());
    rank.to_send.pop_front();
    ++rank.flying;
    any = true;
  }
  if (any) rank.next->qp->ring();
}

void AllReduce::take_received(uint32_t r) {
  Rank& rank = ranks_[r];
  while (!rank.previous->received.empty()) {
    const driver::Completion c = rank.previous->received.front();
    rank.previous->received.pop_front();
    if (!c.ok() || !c.imm)
      throw std::runtime_error(
          fmt::format("rank {}: a receive ended with {}", r, driver::status_name(c.status)));
    const Message m = message_of(*c.imm);
    ++rank.received;
    if (!ring_.adds(m.step)) {
      go_on(r, m);
      continue;
    }
    const uint64_t bytes = ring_.piece(ring_.received(r, m.step), m.piece).bytes;
    const TimePs both = std::max(session_.world().now_ps(), rank.own[m.step][m.piece]);
    rank.sums.emplace(rank.engine.finish(both, bytes), m);
  }
}

void AllReduce::start_what_is_due(uint32_t r) {
  Rank& rank = ranks_[r];
  while (!rank.starts.empty() && rank.starts.begin()->first <= session_.world().now_ps()) {
    rank.to_send.push_back(rank.starts.begin()->second);
    rank.starts.erase(rank.starts.begin());
  }
}

void AllReduce::add_what_is_due(uint32_t r) {
  Rank& rank = ranks_[r];
  while (!rank.sums.empty() && rank.sums.begin()->first <= session_.world().now_ps()) {
    const Message m = rank.sums.begin()->second;
    rank.sums.erase(rank.sums.begin());
    const uint32_t number = ring_.received(r, m.step);
    const Chunk piece = ring_.piece(number, m.piece);
    numerics::Buffer own(piece.bytes), more(piece.bytes);
    rank.work->buffer.read(piece.offset, own.data(), piece.bytes);
    rank.staging->buffer.read(staged_at(m.step, number, piece), more.data(), piece.bytes);
    numerics::machine_add_to(step_.type, own, more);
    rank.work->buffer.write(piece.offset, own.data(), piece.bytes);
    go_on(r, m);
  }
}

// A piece is there: on with it in the next step. The last sum and what is gathered are whole.
void AllReduce::go_on(uint32_t r, Message m) {
  Rank& rank = ranks_[r];
  ++rank.done;
  if (m.step + 1 < ring_.steps()) rank.to_send.push_back({m.step + 1, m.piece});
  if (m.step + 2 < ring_.ranks() || !copies()) return;
  const uint64_t bytes = ring_.piece(ring_.received(r, m.step), m.piece).bytes;
  rank.copied_back =
      std::max(rank.copied_back, rank.copy_out.finish(session_.world().now_ps(), bytes));
}

void AllReduce::look(uint32_t r) {
  Rank& rank = ranks_[r];
  (void)host(r).poll(*rank.previous);
  while (const auto c = host(r).poll(*rank.next)) {
    if (!c->ok())
      throw std::runtime_error(
          fmt::format("rank {}: a WRITE ended with {}", r, driver::status_name(c->status)));
    --rank.flying;
  }
  start_what_is_due(r);
  take_received(r);
  add_what_is_due(r);
  post_receives(r);
  post_sends(r);
}

bool AllReduce::busy() const {
  const TimePs now = session_.world().now_ps();
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [now](const Rank& r) { return r.done < r.expected || r.copied_back > now; });
}

TimePs AllReduce::run(uint32_t round) {
  World& world = session_.world();
  data_->fill(round);
  for (uint32_t r = 0; r < ring_.ranks(); ++r) reset(r);
  world.run_until(world.now_ps() + kSettlePs);  // receives reach the NICs
  const TimePs start = world.now_ps(), end = start + step_.limit_ps;
  for (uint32_t r = 0; r < ring_.ranks(); ++r) copy_in(r);
  for (;;) {
    for (uint32_t r = 0; r < ring_.ranks(); ++r) look(r);
    if (!busy()) break;
    if (world.now_ps() > end)
      throw TimeOut(fmt::format("not done within {} ns", step_.limit_ps / 1000));
    world.run_until(world.now_ps() + step_.grain_ps);
    session_.progress(name_);
  }
  const TimePs time = world.now_ps() - start;
  // The last ACKs.
  world.run_while(
      [&] {
        for (uint32_t r = 0; r < ring_.ranks(); ++r) look(r);
        return std::any_of(ranks_.begin(), ranks_.end(),
                           [](const Rank& r) { return r.flying != 0; });
      },
      step_.limit_ps, "the last acknowledgements");
  data_->compare(collective::ring_sum(ring_, step_.type, data_->inputs()));
  return time;
}

}  // namespace

void run_allreduce(Session& s, const std::string& name, const AllReduceStep& step) {
  if (step.nic && step.algorithm == Algorithm::kRing) return run_nic_allreduce(s, name, step);
  if (step.nic) return run_one_shot_allreduce(s, name, step);
  AllReduce all(s, name, step);
  const uint64_t copies = step.memory == step.reduce ? 0 : 2 * step.bytes;
  measure_allreduce(s, name, step, copies, [&](uint32_t i) { return all.run(i); });
}

}  // namespace rnic::sim
