// SPDX-License-Identifier: Apache-2.0
// A flow at work: the programs of its QPs on both sides, which post, collect and compare.
//
//   FlowRun run(session, "step.name", flow, index, next_pair);   // regions, QPs, first receives
//   while (run.busy()) { run.collect(); run.post(traced); ...let the world run... }
//   run.rate()                                                   // messages per us
//
// Every message has bytes of its own and a slot of its own on both sides until it is compared.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/mem/random.hpp"
#include "sim/run/session.hpp"

namespace rnic::sim {

// When the bytes of a region became visible.
class FlowWatch final : public pcie::Observer {
 public:
  FlowWatch(pcie::Fabric& fabric, uint64_t addr, uint64_t size, uint64_t warm_bytes);
  ~FlowWatch() override { fabric_.remove_observer(this); }
  FlowWatch(const FlowWatch&) = delete;
  FlowWatch& operator=(const FlowWatch&) = delete;
  void on_visible(const pcie::VisibleEvent& v) override;
  // What counts for the rate: from now on, and not any more.
  void open(TimePs now);
  void close() { closed_ = true; }
  // Bytes and time from the warm point to the last byte that counts.
  uint64_t bytes() const { return counted_ - warm_bytes_; }
  TimePs time() const { return end_ - warm_at_; }
  uint64_t all_bytes() const { return bytes_; }

 private:
  pcie::Fabric& fabric_;
  uint64_t first_, last_, warm_;
  uint64_t bytes_ = 0, counted_ = 0, warm_bytes_ = 0;
  TimePs warm_at_ = 0, end_ = 0;
  bool closed_ = false;
};

// How many connected pairs of two nodes, the lower first, of a DSCP (64: the usual one), are taken.
using NextPair = std::map<std::array<size_t, 3>, size_t>;

class FlowRun {
 public:
  // Takes connected pairs of its nodes from number `next_pair` on.
  FlowRun(Session& session, const std::string& step, const Flow& flow, size_t index,
          NextPair& next_pair);

  // One look of the programs: completions are taken and compared, receives and messages posted.
  void collect();
  void post(std::vector<MessageInfo>& traced);
  bool busy() const;
  uint64_t completed() const;
  // Goodput counts from now on, instead of from the first tenth of the bytes.
  void measure() { watch_->open(session_.world().now_ps()); }
  // Nothing more is posted, but for a message that tells of those before it; goodput ends here.
  void stop();
  // Memory that the flow changes.
  void ignore_memory();
  // Bytes posted and bytes written must agree at the end.
  void check_bytes();

  const Flow& flow() const { return flow_; }
  double goodput() const;  // Gb/s, from the first tenth of the bytes on
  double rate() const;     // M messages/s, likewise
  std::string text() const;

 private:
  struct Message {
    uint16_t index = 0;
    uint32_t slot = 0, len = 0, offset = 0, imm = 0;
    uint64_t add = 0;  // FETCH_ADD
    TimePs done_ps = 0;
  };
  // One QP: its program on the requester, and what it expects on the responder.
  struct Lane {
    Qp* self = nullptr;
    Qp* peer = nullptr;
    uint32_t number = 0;
    uint32_t to_post = 0, planned = 0, posted = 0, completed = 0, received = 0, settled = 0;
    std::deque<Message> ready;  // their receives are posted
    std::deque<Message> flying, settling, expect_receive;
    std::vector<uint32_t> free_slots;
  };

  bool takes_receives() const { return flow_.verb == FlowVerb::kSend || flow_.imm; }
  uint64_t place(const Lane& lane, const Message& m) const;
  Message plan(Lane& lane);
  void plan_receives(Lane& lane);
  void post(Lane& lane, std::vector<MessageInfo>& traced);
  void post_message(Lane& lane, Message m, std::vector<MessageInfo>& traced);
  driver::WorkRequest request(Lane& lane, Message& m);
  void trace(const Lane& lane, const Message& m, std::vector<MessageInfo>& traced);
  void fill(uint32_t len);
  void collect_sent(Lane& lane);
  void collect_received(Lane& lane);
  void compare(const Lane& lane, const Message& m);
  std::string difference(const Lane& lane, const Message& m);

  Session& session_;
  std::string step_;
  const Flow& flow_;
  size_t from_, to_;                  // requester, responder
  size_t source_node_, target_node_;  // where the bytes come from and go
  Region* source_ = nullptr;
  Region* target_ = nullptr;
  uint64_t slot_bytes_ = 0;
  uint32_t slots_ = 0;       // per lane
  uint32_t wqe_blocks_ = 1;  // of the largest message
  std::vector<Lane> lanes_;
  std::unique_ptr<FlowWatch> watch_;
  mem::Random rng_;
  uint64_t bytes_posted_ = 0, compared_ = 0;
  std::vector<uint8_t> scratch_;
};

}  // namespace rnic::sim
