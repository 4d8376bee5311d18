// SPDX-License-Identifier: Apache-2.0
// AllReduce in one shot: the programs of all ranks post their parts of each chunk to the rank that
// owns it, whose NIC sums them; with its NIC's event the owner sends the chunk to all others.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "sim/host/group_mesh.hpp"
#include "sim/run/allreduce_data.hpp"
#include "sim/run/allreduce_groups.hpp"
#include "sim/run/allreduce_report.hpp"

namespace rnic::sim {
namespace {

using numerics::Buffer;

constexpr TimePs kSettlePs = 2'000'000;  // receives reach the NICs

class OneShot {
 public:
  OneShot(Session& session, const std::string& name, const AllReduceStep& step);
  // Fills the buffers, runs, compares. Returns how long it took.
  TimePs run(uint32_t round);
  // The next step makes its own groups.
  void close();

 private:
  // One rank's program.
  struct Rank {
    std::vector<std::deque<driver::WorkRequest>> to_send;  // by peer
    uint32_t flying = 0, received = 0;
    bool summed = false;
  };
  bool fixed() const { return step_.algorithm == Algorithm::kOneShotFixed; }
  void post_receives();
  void queue_parts(uint32_t rank);
  void queue_sum(uint32_t rank);
  void look(uint32_t rank);
  void post_sends(uint32_t rank);
  bool done(uint32_t rank) const;
  void wait_for_acknowledgements();
  void check();
  Buffer expected(size_t& unlike);
  Buffer expected_piece(const Buffer& got, uint64_t at, uint64_t bytes, size_t& unlike);

  Session& session_;
  std::string name_;
  const AllReduceStep& step_;
  uint64_t chunk_;
  std::optional<GroupMesh> mesh_;
  std::vector<Region*> work_;
  std::vector<Rank> ranks_;
  std::optional<AllReduceData> data_;
};

OneShot::OneShot(Session& session, const std::string& name, const AllReduceStep& step)
    : session_(session), name_(name), step_(step), chunk_(step.bytes / session.node_count()) {
  const std::vector<Host*> hosts = all_hosts(session);
  mesh_.emplace(hosts, group_options(session, name, step), fixed(), session.settings().log_sq);
  work_ = rank_buffers(hosts, step);
  data_.emplace(session, name, step, work_);
}

void OneShot::post_receives() {
  for (uint32_t r = 0; r < mesh_->ranks(); ++r) {
    for (uint32_t peer = 0; peer < mesh_->ranks(); ++peer) {
      if (peer != r) mesh_->qp(r, peer).qp->post_receives(1);
    }
  }
}

// Piece by piece, so that all owners have work; not all ranks begin with the same one.
void OneShot::queue_parts(uint32_t r) {
  ranks_[r].to_send.resize(mesh_->ranks());
  for (uint32_t n = 0; n < mesh_->pieces(chunk_); ++n) {
    for (uint32_t k = 1; k < mesh_->ranks(); ++k) {
      const uint32_t owner = (r + k) % mesh_->ranks();
      ranks_[r].to_send[owner].push_back(mesh_->part(r, owner, n, chunk_, *work_[r]));
    }
  }
}

void OneShot::queue_sum(uint32_t r) {
  for (uint32_t peer = 0; peer < mesh_->ranks(); ++peer) {
    if (peer == r) continue;
    driver::WorkRequest w;
    w.opcode = RNIC_WQE_OPCODE_WRITE_IMM;
    w.local = {{work_[r]->key, static_cast<uint32_t>(chunk_), work_[r]->va + r * chunk_}};
    w.remote_va = work_[peer]->va + r * chunk_;
    w.rkey = work_[peer]->key;
    w.imm = r;
    ranks_[r].to_send[peer].push_back(w);
  }
}

void OneShot::post_sends(uint32_t r) {
  for (uint32_t peer = 0; peer < mesh_->ranks(); ++peer) {
    auto& list = ranks_[r].to_send[peer];
    if (list.empty()) continue;
    driver::QueuePair& qp = *mesh_->qp(r, peer).qp;
    bool any = false;
    for (; !list.empty() && qp.free_blocks() > 0; list.pop_front(), any = true) {
      qp.post(list.front());
      ++ranks_[r].flying;
    }
    if (any) qp.ring();
  }
}

void OneShot::look(uint32_t r) {
  Rank& rank = ranks_[r];
  const auto need = [&](const driver::Completion& c, const char* what) {
    if (!c.ok())
      throw std::runtime_error(
          fmt::format("rank {}: {} ended with {}", r, what, driver::status_name(c.status)));
  };
  for (uint32_t peer = 0; peer < mesh_->ranks(); ++peer) {
    if (peer == r) continue;
    Qp& qp = mesh_->qp(r, peer);
    while (const auto c = mesh_->host(r).poll(qp)) {
      need(*c, "a part or a sum that was sent");
      --rank.flying;
    }
    for (; !qp.received.empty(); qp.received.pop_front(), ++rank.received)
      need(qp.received.front(), "a receive");
  }
  if (!rank.summed && mesh_->ended(r)) {
    rank.summed = true;
    if (mesh_->event(r)->type != RNIC_EQE_TYPE_ARP_DONE)
      throw std::runtime_error(fmt::format("rank {} gave up, code {}", r, mesh_->event(r)->code));
    queue_sum(r);
  }
  post_sends(r);
}

bool OneShot::done(uint32_t r) const {
  return ranks_[r].summed && ranks_[r].received + 1 == ranks_.size();
}

void OneShot::wait_for_acknowledgements() {
  session_.world().run_while(
      [&] {
        for (uint32_t r = 0; r < ranks_.size(); ++r) look(r);
        return std::any_of(ranks_.begin(), ranks_.end(),
                           [](const Rank& r) { return r.flying != 0; });
      },
      step_.limit_ps, "the last acknowledgements");
}

TimePs OneShot::run(uint32_t round) {
  World& world = session_.world();
  data_->fill(round);
  ranks_.assign(mesh_->ranks(), {});
  post_receives();
  world.run_until(world.now_ps() + kSettlePs);
  const TimePs start = world.now_ps(), end = start + step_.limit_ps;
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    mesh_->begin(r, chunk_, *work_[r]);
    queue_parts(r);
  }
  for (;;) {
    bool all = true;
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      look(r);
      all = done(r) && all;
    }
    if (all) break;
    if (world.now_ps() > end)
      throw TimeOut(fmt::format("not done within {} ns", step_.limit_ps / 1000));
    world.run_until(world.now_ps() + step_.grain_ps);
    session_.progress(name_);
  }
  const TimePs time = world.now_ps() - start;
  wait_for_acknowledgements();
  for (uint32_t r = 0; r < ranks_.size(); ++r) mesh_->finish(r);
  mesh_->next(chunk_);
  check();
  return time;
}

// Packets of a piece are added whole, one after the other, behind the owner's own part: its sum is
// that of one order. Every rank must have the owner's bits, and these must be those of an order
// that could have been: of the ranks behind the owner when the order is fixed, of any else.
Buffer OneShot::expected_piece(const Buffer& got, uint64_t at, uint64_t bytes, size_t& unlike) {
  const auto ranks = static_cast<uint32_t>(ranks_.size());
  const auto owner = static_cast<uint32_t>(at / chunk_);
  std::vector<uint32_t> behind;  // steps from the owner
  for (uint32_t k = 1; k < ranks; ++k) behind.push_back(k);
  const auto sum = [&] {
    std::vector<std::span<const uint8_t>> order;
    order.push_back(std::span(data_->inputs()[owner]).subspan(at, bytes));
    for (const uint32_t k : behind)
      order.push_back(std::span(data_->inputs()[(owner + k) % ranks]).subspan(at, bytes));
    return numerics::sum_in_order(
        step_.type, step_.wide ? numerics::Sum::kFp32 : numerics::Sum::kNative, order);
  };
  const auto is = [&](const Buffer& s) { return std::equal(s.begin(), s.end(), got.begin() + at); };
  const Buffer in_order = sum();
  if (is(in_order)) return in_order;
  ++unlike;
  // The order of INT32 does not show.
  if (fixed() || step_.type == numerics::Element::kInt32) return in_order;
  while (std::next_permutation(behind.begin(), behind.end())) {
    Buffer s = sum();
    if (is(s)) return s;
  }
  return in_order;
}

Buffer OneShot::expected(size_t& unlike) {
  Buffer want;
  for (uint32_t owner = 0; owner < ranks_.size(); ++owner) {
    const Buffer got = data_->result(owner);
    for (uint64_t in = 0; in < chunk_; in += step_.piece) {
      const Buffer piece = expected_piece(got, owner * chunk_ + in,
                                          std::min<uint64_t>(step_.piece, chunk_ - in), unlike);
      want.insert(want.end(), piece.begin(), piece.end());
    }
  }
  return want;
}

void OneShot::check() {
  size_t unlike = 0;
  data_->compare(expected(unlike));
  if (!fixed())
    session_.print(
        fmt::format("  {} of {} pieces are not the sum in the order of the ranks, but of another",
                    unlike, mesh_->pieces(chunk_) * ranks_.size()));
}

void OneShot::close() {
  for (uint32_t r = 0; r < mesh_->ranks(); ++r) mesh_->destroy(r);
}

}  // namespace

void run_one_shot_allreduce(Session& s, const std::string& name, const AllReduceStep& step) {
  OneShot all(s, name, step);
  measure_allreduce(s, name, step, 0, [&](uint32_t i) { return all.run(i); });
  all.close();
}

}  // namespace rnic::sim
