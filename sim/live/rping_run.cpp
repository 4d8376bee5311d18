// SPDX-License-Identifier: Apache-2.0
#include "sim/live/rping_run.hpp"

#include <fmt/format.h>

#include <array>
#include <random>

#include "regs/gen/rnic_regs.h"

namespace rnic::sim {

using tools::RpingInfo;
using tools::Task;

namespace {

constexpr uint32_t kSlots = 4;    // infos in flight, each way
constexpr uint32_t kReads = 1;    // as rping asks
constexpr uint8_t kClean = 0xEE;  // what the client's echo buffer holds before

uint64_t service_of(const tools::Options& o) { return cm::service_id(cm::kTcpSpace, o.port); }

}  // namespace

RpingRun::RpingRun(Party party, tools::Options options,
                   std::function<void(const std::string&)> print)
    : party_(std::move(party)), options_(std::move(options)), print_(std::move(print)) {
  result_.mtu = party_.mtu;
}

Task<void> RpingRun::run() {
  try {
    if (options_.client()) {
      co_await client();
    } else {
      co_await server();
    }
  } catch (const QueueFailed& e) {
    result_.status = e.what();
  } catch (const tools::ChannelClosed& e) {
    result_.status = "CM_DISCONNECTED";
    result_.problem = e.what();
  } catch (const CmRefused& e) {
    result_.status = e.status;
    result_.problem = e.what();
  } catch (const std::exception& e) {
    result_.problem = e.what();
  }
  if (connection_) party_.cm->disconnect(*connection_);
  if (options_.server()) party_.cm->stop_listening(service_of(options_));
  if (result_.status == "SUCCESS") result_.status = status_of(queues_, *party_.check);
}

// ------------------------------------------------------------------------------------------------
// resources
void RpingRun::make_queue() {
  QueueOptions o;
  o.log_sq = 5;
  o.log_rq = 2;
  std::mt19937_64 random(party_.seed);
  o.psn = static_cast<uint32_t>(random()) & 0xFFFFFF;
  q_ = &party_.nic->add_queue(o);
  queues_.push_back(q_);
  sends_ = &party_.nic->add_memory(uint64_t{kSlots} * tools::kRpingInfoBytes, Adapter::kLocal);
  receives_ = &party_.nic->add_memory(uint64_t{kSlots} * tools::kRpingInfoBytes, Adapter::kLocal);
  // A server does not know the size before.
  const uint32_t size = options_.client() ? options_.size : tools::kRpingMaxBytes;
  ping_ = &party_.nic->add_memory(size, options_.client() ? Adapter::kRemote : Adapter::kLocal);
  if (!options_.client()) return;
  echo_ = &party_.nic->add_memory(size, Adapter::kRemote);
  party_.check->add_memory(*ping_);
  party_.check->add_memory(*echo_);
}

void RpingRun::note_connection() {
  result_.mtu = q_->mtu;
  tools::Keys mine;
  mine.qpn = q_->number();
  mine.psn = q_->psn;
  mine.gid = connection_->ends.local;
  result_.mine = {mine};
  result_.theirs = {q_->theirs};
}

void RpingRun::post_receives() {
  bool any = false;
  for (; q_->receive_room() > (1u << q_->qp->log_rq()) - kSlots; ++next_receive_) {
    q_->post_receive(*receives_, next_receive_ % kSlots * tools::kRpingInfoBytes,
                     tools::kRpingInfoBytes);
    any = true;
  }
  if (any) q_->ring_receives();
}

void RpingRun::post(uint8_t opcode, const Buffer& local, uint64_t offset, uint32_t bytes,
                    const RpingInfo& remote) {
  driver::WorkRequest r;
  r.opcode = opcode;
  r.signaled = true;
  r.local = {{local.key, bytes, local.va + offset}};
  r.remote_va = remote.va;
  r.rkey = remote.rkey;
  if (opcode != RNIC_WQE_OPCODE_READ) {
    Bytes data(bytes);
    local.buffer.read(offset, data.data(), data.size());
    party_.check->expect(q_->number(), std::make_shared<const Bytes>(std::move(data)));
  }
  q_->post(r);
  q_->ring();
}

void RpingRun::send(const RpingInfo& info) {
  const uint64_t offset = q_->posted % kSlots * tools::kRpingInfoBytes;
  const Bytes b = tools::encode_rping(info);
  sends_->buffer.write(offset, b.data(), b.size());
  post(RNIC_WQE_OPCODE_SEND, *sends_, offset, tools::kRpingInfoBytes, {});
}

// ------------------------------------------------------------------------------------------------
// waiting
Task<void> RpingRun::wait_completed() {
  co_await party_.scheduler->until(
      [this] {
        q_->poll();
        return q_->completed == q_->posted || !q_->failure.empty() || connection_->gone();
      },
      fmt::format("a completion of QP {}", q_->number()));
  if (!q_->failure.empty()) throw QueueFailed(q_->failure);
  if (q_->completed != q_->posted)
    throw tools::ChannelClosed("the other side ended the connection in the middle of a ping");
}

Task<std::optional<RpingInfo>> RpingRun::wait_message() {
  co_await party_.scheduler->until(
      [this] {
        q_->poll();
        return !q_->received.empty() || !q_->failure.empty() || connection_->gone();
      },
      fmt::format("a message for QP {}", q_->number()));
  if (q_->received.empty()) {
    if (connection_->gone()) co_return std::nullopt;
    throw QueueFailed(q_->failure);
  }
  const Queue::Received got = q_->received.front();
  q_->received.pop_front();
  Bytes bytes(std::min(got.bytes, tools::kRpingInfoBytes));
  receives_->buffer.read(uint64_t{got.slot % kSlots} * tools::kRpingInfoBytes, bytes.data(),
                         bytes.size());
  const auto want = party_.check->next_received(q_->number());
  if (!want || *want != bytes)
    party_.check->problem(
        fmt::format("message {} for QP {} is not that of the wire", got.slot, q_->number()));
  party_.check->count_checked(bytes.size());
  post_receives();
  const auto info = tools::decode_rping(bytes);
  if (!info) throw tools::ExchangeError(fmt::format("a message of {} bytes", got.bytes));
  co_return info;
}

void RpingRun::check_size(const RpingInfo& info) const {
  if (info.size < tools::kRpingMinBytes || info.size > tools::kRpingMaxBytes)
    throw tools::ExchangeError(fmt::format("a ping of {} bytes", info.size));
}

void RpingRun::print_data(const char* head, const Buffer& m, uint32_t size) const {
  if (!options_.print_data) return;
  std::string text(size, '\0');
  m.buffer.read(0, text.data(), text.size());
  print_(head + text.substr(0, text.find('\0')));
}

// ------------------------------------------------------------------------------------------------
// client
Task<void> RpingRun::client() {
  const roce::IpAddr host = party_.address(options_.host, options_.gid);
  make_queue();
  const CmTarget to{.host = host, .port = options_.port, .reads = kReads, .mtu = party_.mtu};
  connection_ = co_await cm_connect(party_, *q_, to, [this] { post_receives(); });
  note_connection();
  for (; result_.count < options_.count; ++result_.count) co_await client_ping(result_.count);
  const std::vector<CmPort::Ref> all(1, connection_);
  co_await cm_end(party_, all);
  print_("client DISCONNECT EVENT...");
}

Task<void> RpingRun::client_ping(uint64_t n) {
  const Bytes data = tools::rping_data(n, options_.size);
  const Bytes clean(options_.size, kClean);
  ping_->buffer.write(0, data.data(), data.size());
  echo_->buffer.write(0, clean.data(), clean.size());
  party_.check->set_memory(*ping_);
  party_.check->set_memory(*echo_);
  const std::array<const Buffer*, 2> both = {ping_, echo_};
  for (const Buffer* m : both) {
    send({m->va, m->key, options_.size});
    const auto answer = co_await wait_message();
    if (!answer) throw tools::ChannelClosed("the server ended the connection");
    co_await wait_completed();
  }
  if (!echo_->buffer.equal(0, data.data(), data.size()))
    throw tools::ExchangeError(fmt::format("ping {} came back with other data", n));
  print_data("ping data: ", *echo_, options_.size);
}

// ------------------------------------------------------------------------------------------------
// server
Task<void> RpingRun::server() {
  party_.cm->listen(service_of(options_));
  connection_ = co_await cm_request(party_, service_of(options_),
                                    fmt::format("a client on rdma_cm port {}", options_.port));
  make_queue();
  co_await cm_accept(party_, *q_, *connection_, kReads, [this] { post_receives(); });
  co_await cm_established(party_, *q_, *connection_);
  note_connection();
  while (!connection_->gone()) co_await server_ping(result_.count);
  print_("server DISCONNECT EVENT...");
  if (result_.count == 0) throw tools::ChannelClosed("the client ended before any ping");
  if (options_.count != 0 && result_.count != options_.count)
    throw tools::ExchangeError(
        fmt::format("{} pings came, expected {}", result_.count, options_.count));
}

Task<void> RpingRun::server_ping(uint64_t n) {
  const auto source = co_await wait_message();
  if (!source) co_return;  // between two pings: that is the end
  check_size(*source);
  post(RNIC_WQE_OPCODE_READ, *ping_, 0, source->size, *source);
  co_await wait_completed();
  const auto answer = party_.check->next_read(q_->number());
  if (!answer || !ping_->buffer.equal(0, answer->data(), answer->size()))
    party_.check->problem(fmt::format("ping {} in memory is not that of the wire", n));
  party_.check->count_checked(source->size);
  const Bytes data = tools::rping_data(n, source->size);
  if (!ping_->buffer.equal(0, data.data(), data.size()))
    throw tools::ExchangeError(fmt::format("ping {} is not what a client of rping sends", n));
  send({});
  const auto sink = co_await wait_message();
  if (!sink) throw tools::ChannelClosed("the client ended in the middle of a ping");
  check_size(*sink);
  if (sink->size != source->size)
    throw tools::ExchangeError(
        fmt::format("room for {} bytes of a ping of {}", sink->size, source->size));
  post(RNIC_WQE_OPCODE_WRITE, *ping_, 0, sink->size, *sink);
  co_await wait_completed();
  send({});
  co_await wait_completed();
  ++result_.count;
  print_data("server ping data: ", *ping_, source->size);
}

}  // namespace rnic::sim
