// SPDX-License-Identifier: Apache-2.0
//
// The other side of request/response interfaces.
//
//   // Streams with latency, in or out of order:
//   StreamSink<Req> requests(bench, ...);
//   Responder<Req, Resp> responder(bench, requests, [&](const Req& r) { return memory.read(r); });
//   responder.set_latency(3, 40, Responder<Req, Resp>::kAnyOrder);
//   StreamSource<Resp> responses(bench, ...);
//   responder.connect(responses);
//
//   // A table with a fixed read latency and no handshake (1 = as a synchronous memory):
//   FixedLatency<uint32_t> table(bench, 1,
//       [&]() -> std::optional<uint32_t> { return top.rd_en_o ? std::optional(top.rd_addr_o) :
//       std::nullopt; },
//       [&](uint32_t addr) { top.rd_data_i = contents[addr]; });
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/bench.hpp"
#include "tests/support/rng.hpp"
#include "tests/support/stream.hpp"

namespace rnic::test {

// Answers every transfer of a request stream on a response stream, latency counted from request
// taken to response offered (1 or more). A request may have several answers (answer_all).
template <class Request, class Response>
class Responder : public Agent {
 public:
  enum Order { kInOrder, kAnyOrder };
  using Answer = std::function<Response(const Request&)>;
  using AnswerAll = std::function<std::vector<Response>(const Request&)>;

  Responder(BenchBase& bench, StreamMonitor<Request>& requests, Answer answer)
      : Responder(bench, requests, AnswerAll([answer = std::move(answer)](const Request& request) {
                    return std::vector<Response>{answer(request)};
                  })) {}
  Responder(BenchBase& bench, StreamMonitor<Request>& requests, AnswerAll answer)
      : bench_(bench),
        requests_(requests),
        answer_(std::move(answer)),
        rng_(rng(requests.name() + ".responder")) {
    bench.attach(*this);
  }

  // Create the source after the responder, so that it offers in the same cycle what the responder
  // hands over.
  void connect(StreamSource<Response>& responses) { responses_ = &responses; }
  void set_latency(unsigned low, unsigned high, Order order = kInOrder) {
    if (low < 1 || high < low) throw std::invalid_argument("Responder: latency 1 <= low <= high");
    low_ = low;
    high_ = high;
    order_ = order;
  }
  size_t outstanding() const { return waiting_.size(); }

  void sample() override {
    for (; next_ < requests_.size(); ++next_) {
      uint64_t due = bench_.cycle() + rng_.between(low_, high_);
      if (order_ == kInOrder && !waiting_.empty()) due = std::max(due, waiting_.back().first);
      waiting_.emplace_back(due, answer_(requests_[next_]));
    }
  }
  void drive() override {
    if (responses_ == nullptr) throw std::logic_error("Responder: connect() a source first");
    for (size_t i = 0; i < waiting_.size();) {
      if (waiting_[i].first > bench_.cycle()) {
        ++i;
        continue;
      }
      for (Response& response : waiting_[i].second) responses_->push(std::move(response));
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  void on_reset() override {
    waiting_.clear();
    next_ = requests_.size();
  }

 private:
  BenchBase& bench_;
  StreamMonitor<Request>& requests_;
  AnswerAll answer_;
  StreamSource<Response>* responses_ = nullptr;
  Rng rng_;
  unsigned low_ = 1;
  unsigned high_ = 1;
  Order order_ = kInOrder;
  size_t next_ = 0;
  std::vector<std::pair<uint64_t, std::vector<Response>>> waiting_;
};

template <class Request>
class FixedLatency : public Agent {
 public:
  FixedLatency(BenchBase& bench, unsigned latency, std::function<std::optional<Request>()> sample,
               std::function<void(const Request&)> answer)
      : sample_(std::move(sample)), answer_(std::move(answer)), pipe_(latency) {
    if (latency < 1) throw std::invalid_argument("FixedLatency: latency is 1 or more");
    bench.attach(*this);
  }

  void sample() override { pipe_[at_] = sample_(); }
  void drive() override {
    at_ = (at_ + 1) % pipe_.size();
    if (pipe_[at_]) answer_(*pipe_[at_]);
    pipe_[at_].reset();
  }
  void on_reset() override {
    for (auto& entry : pipe_) entry.reset();
  }

 private:
  std::function<std::optional<Request>()> sample_;
  std::function<void(const Request&)> answer_;
  std::vector<std::optional<Request>> pipe_;
  size_t at_ = 0;
};

}  // namespace rnic::test
