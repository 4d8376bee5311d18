// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the receive side share: more structs of rnic_pkg by field name, descriptors of
// regs/rnic.yaml by byte offset, and the other side of lookup ports.
//
//   LookupServer ctx(bench, "rs", {top.rs_lk_valid, top.rs_lk_ready, top.rs_ctx_valid},
//                    [&] { return conn[top.rs_lk_qpn]; }, [&](const Bits& b) {
//                    write_pin(top.rs_ctx, b); });
//   ctx.set_latency(1, 3); ctx.set_stall(Stall::random(0.2));
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/stream.hpp"

namespace rnic::test {

inline const PkgStruct kMeta("rx_meta_t"), kRecv("qp_recv_t"), kAckHalf("qp_ack_t"),
    kPlace("rx_place_t"), kOrd("rx_ord_t"), kCqeReq("cqe_req_t"), kAckReq("ack_req_t"),
    kPath("path_t"), kWrReq("dma_wr_req_t"), kEvent("event_t"), kCq("cq_entry_t"),
    kEq("eq_entry_t"), kMr("mr_entry_t"), kRqEntry("rq_entry_t"), kMarked("marked_t"),
    kTelemetry("telemetry_t");

enum CqeOpcode : uint64_t {
  kCqeReqOk = 0,
  kCqeRecvWriteImm = 1,
  kCqeReqErr = 0xD,
  kCqeRecvErr = 0xE
};
enum CqeStatus : uint64_t {
  kSuccess = 0,
  kFlushErr = 5,
  kRemInvReq = 0x12,
  kRemAccess = 0x13,
  kRemOp = 0x14,
  kRetryExc = 0x15,
  kRnrExc = 0x16,
};
enum EventType : uint64_t { kEvCompletion = 0, kEvQpFatal = 3, kEvQpAccess = 4, kEvCqOverrun = 5 };

// Answers a lookup port: request taken in one cycle, answer in order, `low` to `high` cycles later.
class LookupServer : public Agent {
 public:
  struct Pins {
    CData& valid;
    CData& ready;
    CData& answer_valid;
  };
  // `read` is called when a request is taken, before anything that the same edge writes.
  LookupServer(BenchBase& bench, const std::string& name, Pins pins, std::function<Bits()> read,
               std::function<void(const Bits&)> put)
      : bench_(bench),
        pins_(pins),
        read_(std::move(read)),
        put_(std::move(put)),
        rng_(rng(name + ".lookup")),
        name_(name) {
    pins_.ready = 0;
    pins_.answer_valid = 0;
    bench.attach(*this);
  }
  void set_latency(unsigned low, unsigned high) {
    low_ = low;
    high_ = high;
  }
  void set_stall(Stall stall) {
    stall_ = stall;
    stall_.seed(rng(name_ + ".stall"));
  }
  void sample() override {
    if (pins_.valid == 0 || pins_.ready == 0) return;
    uint64_t due = bench_.cycle() + rng_.between(low_, high_) - 1;
    if (!due_.empty()) due = std::max(due, due_.back().first + 1);
    due_.emplace_back(due, read_());
  }
  void drive() override {
    pins_.answer_valid = 0;
    if (!due_.empty() && due_.front().first <= bench_.cycle() - 1) {
      pins_.answer_valid = 1;
      put_(due_.front().second);
      due_.pop_front();
    }
    pins_.ready = stall_() ? 0 : 1;
  }
  void on_reset() override {
    due_.clear();
    pins_.answer_valid = 0;
    pins_.ready = 0;
  }

 private:
  BenchBase& bench_;
  Pins pins_;
  std::function<Bits()> read_;
  std::function<void(const Bits&)> put_;
  Rng rng_;
  std::string name_;
  Stall stall_;
  unsigned low_ = 1, high_ = 1;
  std::deque<std::pair<uint64_t, Bits>> due_;
};

}  // namespace rnic::test
