// SPDX-License-Identifier: Apache-2.0
#include "sim/live/tool_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "regs/gen/rnic_regs.h"

namespace rnic::sim {

using tools::Keys;
using tools::Kind;
using tools::Service;
using tools::Task;
using tools::Verb;

namespace {

constexpr uint32_t kGrhBytes = 40;
constexpr uint32_t kTargetMargin = 8192;  // perftest moves small messages about within two pages
constexpr uint64_t kSlotMemory = 64u << 20;
constexpr uint32_t kOutReads = 16;
constexpr uint32_t kCmUdQkey = 0x01234567;  // of every UD QP of rdma_cm

uint32_t log2_up(uint32_t n) { return static_cast<uint32_t>(std::bit_width(std::max(n, 4u) - 1)); }

}  // namespace

ToolRun::ToolRun(Party party, tools::Options options, std::unique_ptr<tools::Channel> channel,
                 std::function<void(const std::string&)> print)
    : party_(std::move(party)),
      options_(std::move(options)),
      channel_(std::move(channel)),
      print_(std::move(print)),
      random_(party_.seed) {
  result_.mtu = options_.mtu == 0 ? party_.mtu : std::min(options_.mtu, party_.mtu);
}

Task<void> ToolRun::run() {
  try {
    if (options_.cm) co_await cm_channel();
    make_queues();
    if (options_.kind == Kind::kPingpong) {
      co_await pingpong();
    } else if (options_.client()) {
      co_await perftest_client();
    } else {
      co_await perftest_server();
    }
  } catch (const QueueFailed& e) {
    result_.status = e.what();
  } catch (const CmRefused& e) {
    result_.status = e.status;
    result_.problem = e.what();
  } catch (const std::exception& e) {
    result_.problem = e.what();
  }
  if (channel_) channel_->close();
  if (options_.cm && options_.server()) {
    party_.cm->stop_listening(service());
    party_.cm->stop_listening(datagram_service());
  }
  if (result_.status == "SUCCESS") result_.status = status_of(queues_, *party_.check);
}

// ------------------------------------------------------------------------------------------------
// resources
void ToolRun::make_queues() {
  const uint32_t size = options_.largest();
  const bool receives = options_.verb == Verb::kSend;
  const bool requests = options_.client() || options_.kind != Kind::kBandwidth;
  const uint64_t total =
      options_.duration_s > 0 ? ~uint64_t{0} : options_.count * options_.sizes().size();
  slot_bytes_ = std::max(size, greeted() ? kGreetingBytes : 0) +
                (options_.service == Service::kUd ? kGrhBytes : 0);
  slots_ =
      receives
          ? static_cast<uint32_t>(std::min<uint64_t>(
                {options_.rx_depth, total, std::max<uint64_t>(kSlotMemory / slot_bytes_, 128)}))
          : 1;
  QueueOptions q;
  q.service = options_.service;
  const uint32_t blocks = 1 + (options_.inline_size + 31) / RNIC_WQE_BLOCK;
  q.log_sq = log2_up(std::max(2 * blocks, (options_.tx_depth + 1) * blocks));
  q.log_rq = log2_up(slots_);
  if (options_.cm) q.qkey = kCmUdQkey;
  for (uint32_t i = 0; i < options_.qps; ++i) {
    q.psn = static_cast<uint32_t>(random_()) & 0xFFFFFF;
    queues_.push_back(&party_.nic->add_queue(q));
    Bytes bytes(size);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random_());
    source_.push_back(requests ? &party_.nic->add_memory(size, Adapter::kLocal) : nullptr);
    if (requests) source_.back()->buffer.write(0, bytes.data(), bytes.size());
    pattern_.push_back(std::make_shared<const Bytes>(std::move(bytes)));
    const bool answered = options_.verb == Verb::kRead || options_.verb == Verb::kAtomic;
    landing_.push_back(answered ? &party_.nic->add_memory(std::max(size, 8u), Adapter::kLocal)
                                : nullptr);
    // What the peer may reach. A READ target holds something to read.
    Buffer* target = nullptr;
    if (options_.verb != Verb::kSend) {
      target = &party_.nic->add_memory(uint64_t{size} + kTargetMargin, Adapter::kRemote);
      if (options_.verb == Verb::kRead) {
        Bytes content(target->size);
        for (uint8_t& b : content) b = static_cast<uint8_t>(random_());
        target->buffer.write(0, content.data(), content.size());
      }
      party_.check->add_memory(*target);
    }
    target_.push_back(target);
    receive_.push_back(
        receives ? &party_.nic->add_memory(uint64_t{slots_} * slot_bytes_, Adapter::kLocal)
                 : nullptr);
    answers_.push_back(0);
    next_slot_.push_back(0);
    receives_left_.push_back(total + (greeted() && options_.duration_s == 0 ? 1 : 0));
    result_.mine.push_back(keys_of(*queues_.back()));
  }
}

Keys ToolRun::keys_of(const Queue& q) const {
  Keys k;
  k.out_reads =
      options_.verb == Verb::kRead || options_.verb == Verb::kAtomic ? options_.out_reads : 1;
  k.qpn = q.number();
  k.psn = q.psn;
  const size_t n = queues_.size() - 1;
  if (target_.size() > n && target_[n] != nullptr) {
    k.rkey = target_[n]->key;
    k.vaddr = target_[n]->va;
  }
  const auto& gids = party_.nic->gids();
  if (static_cast<size_t>(options_.gid) >= gids.size())
    throw tools::ToolError(fmt::format("GID {}: this NIC has {} of them (live.ip6 makes the third)",
                                       options_.gid, gids.size()));
  k.gid = gids[static_cast<size_t>(options_.gid)];
  k.gid_index = static_cast<uint32_t>(options_.gid);
  return k;
}

Task<void> ToolRun::connect_queue(Queue& q, Keys theirs) {
  party_.resolve(theirs.gid);
  co_await party_.scheduler->until([&] { return party_.lookup(theirs.gid).has_value(); },
                                   "the MAC of " + roce::to_string(theirs.gid));
  Adapter::Connection c;
  c.gid = options_.gid;
  c.mtu = result_.mtu;
  c.timeout = options_.timeout;
  c.max_rd_atomic = static_cast<uint8_t>(
      std::min({options_.out_reads, std::max(theirs.out_reads, 1u), kOutReads}));
  party_.nic->connect(q, theirs, *party_.lookup(theirs.gid), c);
  party_.check->add_queue(q, q.service == Service::kUd ? slot_bytes_ - kGrhBytes : 0);
  result_.theirs.push_back(theirs);
}

void ToolRun::refill(size_t n) {
  if (options_.verb != Verb::kSend) return;
  Queue& q = *queues_[n];
  bool any = false;
  while (receives_left_[n] > 0 && q.receive_room() > (1u << q.qp->log_rq()) - slots_) {
    const uint64_t slot = next_slot_[n] % slots_;
    q.post_receive(*receive_[n], slot * slot_bytes_, slot_bytes_);
    ++next_slot_[n];
    --receives_left_[n];
    any = true;
  }
  if (any) q.ring_receives();
}

void ToolRun::post_first_receives() {
  for (size_t n = 0; n < queues_.size(); ++n) refill(n);
}

driver::WorkRequest ToolRun::request(size_t n, uint32_t size, bool signaled) {
  const Queue& q = *queues_[n];
  driver::WorkRequest r;
  r.signaled = signaled;
  const bool inlined = size <= options_.inline_size;
  switch (options_.verb) {
    case Verb::kSend:
      r.opcode = RNIC_WQE_OPCODE_SEND;
      break;
    case Verb::kWrite:
      r.opcode = RNIC_WQE_OPCODE_WRITE;
      break;
    case Verb::kRead:
      r.opcode = RNIC_WQE_OPCODE_READ;
      break;
    case Verb::kAtomic:
      r.opcode = options_.compare_swap ? RNIC_WQE_OPCODE_COMPARE_SWAP : RNIC_WQE_OPCODE_FETCH_ADD;
      break;
  }
  if (options_.verb == Verb::kRead || options_.verb == Verb::kAtomic) {
    r.local = {{landing_[n]->key, size, landing_[n]->va}};
    r.swap_add = 1;
  } else if (inlined) {
    r.use_inline = true;
    r.inline_data.assign(pattern_[n]->begin(), pattern_[n]->begin() + size);
  } else {
    r.local = {{source_[n]->key, size, source_[n]->va}};
  }
  if (q.service == Service::kUd) {
    r.remote_va = q.qkey | uint64_t{q.theirs.qpn} << 32;
    r.rkey = q.path;
  } else if (options_.verb != Verb::kSend) {
    r.remote_va = q.theirs.vaddr;
    r.rkey = q.theirs.rkey;
  }
  return r;
}

void ToolRun::post_one(size_t n, uint32_t size, bool signaled) {
  const driver::WorkRequest r = request(n, size, signaled);
  if (options_.verb == Verb::kSend || options_.verb == Verb::kWrite) {
    std::shared_ptr<const Bytes> bytes = pattern_[n];
    if (bytes->size() != size)
      bytes = std::make_shared<const Bytes>(bytes->begin(), bytes->begin() + size);
    party_.check->expect(queues_[n]->number(), std::move(bytes));
  }
  queues_[n]->post(r);
}

// The last byte of what goes next.
void ToolRun::stamp(size_t n, uint32_t size, uint8_t value) {
  Bytes bytes = *pattern_[n];
  bytes[size - 1] = value;
  source_[n]->buffer.write(0, bytes.data(), bytes.size());
  pattern_[n] = std::make_shared<const Bytes>(std::move(bytes));
}

// ------------------------------------------------------------------------------------------------
// waiting
void ToolRun::fail_if_bad(const Queue& q) const {
  if (!q.failure.empty()) throw QueueFailed(q.failure);
}

bool ToolRun::poll_all() {
  bool any = false;
  for (Queue* q : queues_) {
    if (q->poll()) any = true;
    if (!q->failure.empty()) any = true;
  }
  return any;
}

Task<void> ToolRun::wait_completed(size_t n, uint64_t messages) {
  Queue& q = *queues_[n];
  co_await party_.scheduler->until(
      [&q, messages] {
        q.poll();
        return q.completed >= messages || !q.failure.empty();
      },
      fmt::format("a completion of QP {}", q.number()));
  fail_if_bad(q);
  check_answers(n);
}

Task<void> ToolRun::wait_received(size_t n, uint32_t size) {
  Queue& q = *queues_[n];
  co_await party_.scheduler->until(
      [this, &q] {
        q.poll();
        return !q.received.empty() || !q.failure.empty() || ended_;
      },
      fmt::format("a message for QP {}", q.number()));
  fail_if_bad(q);
  if (!q.received.empty()) take_receive(n, size);
}

// A received message must be what went over the wire, and in its buffer. `size` 0: any.
void ToolRun::take_receive(size_t n, uint32_t size) {
  Queue& q = *queues_[n];
  const Queue::Received got = q.received.front();
  q.received.pop_front();
  const uint32_t grh = q.service == Service::kUd ? kGrhBytes : 0;
  const std::optional<Bytes> want = party_.check->next_received(q.number());
  const auto name = [&] { return fmt::format("message {} for QP {}", got.slot, q.number()); };
  if (!want) {
    party_.check->problem(name() + " was not on the wire");
  } else if (got.bytes != want->size() + grh) {
    party_.check->problem(
        fmt::format("{} has {} bytes, the wire carried {}", name(), got.bytes, want->size() + grh));
  } else if (!receive_[n]->buffer.equal(uint64_t{got.slot % slots_} * slot_bytes_ + grh,
                                        want->data(), want->size())) {
    party_.check->problem(name() + ": its bytes are not those of the wire");
  } else if (size != 0 && want->size() != size) {
    party_.check->problem(fmt::format("{} has {} bytes, expected {}", name(), want->size(), size));
  } else {
    party_.check->count_checked(want->size());
  }
  refill(n);
}

// Answers to READs and ATOMICs: what lies in memory is what came last.
void ToolRun::check_answers(size_t n) {
  Queue& q = *queues_[n];
  const auto differ = [&](const char* what) {
    party_.check->problem(
        fmt::format("QP {}: the {} in memory is not that of the wire", q.number(), what));
  };
  if (options_.verb == Verb::kRead) {
    std::optional<Bytes> last;
    for (; answers_[n] < q.completed; ++answers_[n]) {
      last = party_.check->next_read(q.number());
      if (!last) return party_.check->problem("a READ completed without its answer");
      party_.check->count_checked(last->size());
    }
    // Later answers are of the same bytes, so the memory may be ahead.
    if (last && !landing_[n]->buffer.equal(0, last->data(), last->size())) differ("READ");
  } else if (options_.verb == Verb::kAtomic) {
    std::optional<uint64_t> last;
    for (; answers_[n] < q.completed; ++answers_[n]) {
      last = party_.check->next_atomic(q.number());
      if (!last) return party_.check->problem("an ATOMIC completed without its answer");
      party_.check->count_checked(8);
    }
    if (last && q.posted == q.completed && landing_[n]->buffer.load<uint64_t>(0) != *last)
      differ("ATOMIC's value");
  }
}

// ------------------------------------------------------------------------------------------------
// traffic
Task<void> ToolRun::bandwidth(uint32_t size, tools::BandwidthReport& report) {
  const double start = now_us();
  const bool timed = options_.duration_s > 0;
  std::vector<uint64_t> first, posted(queues_.size(), 0);
  for (const Queue* q : queues_) first.push_back(q->completed);
  double peak_us = 0;
  for (;;) {
    const bool over = timed && now_us() - start >= options_.duration_s * 1e6;
    bool left = false;
    for (size_t n = 0; n < queues_.size(); ++n) {
      Queue& q = *queues_[n];
      bool rang = false;
      while (!over && (timed || posted[n] < options_.count) &&
             q.posted - q.completed < options_.tx_depth) {
        ++posted[n];
        // The last that fits now ends with a completion, else nothing would free the ring.
        const bool signaled = posted[n] % options_.cq_mod == 0 ||
                              (!timed && posted[n] == options_.count) ||
                              q.posted + 1 - q.completed == options_.tx_depth;
        if (!q.room(request(n, size, signaled))) {
          --posted[n];
          break;
        }
        post_one(n, size, signaled || timed);
        rang = true;
      }
      if (rang) q.ring();
      left = left || q.completed - first[n] < posted[n] ||
             (!over && !timed && posted[n] < options_.count);
    }
    if (!left) break;
    co_await party_.scheduler->until([this] { return poll_all(); }, "completions");
    uint64_t now_done = 0;
    for (size_t n = 0; n < queues_.size(); ++n) {
      fail_if_bad(*queues_[n]);
      check_answers(n);
      now_done += queues_[n]->completed - first[n];
    }
    // The best average so far.
    if (now_done > 0) {
      const double per = (now_us() - start) / static_cast<double>(now_done);
      if (per > 0 && (peak_us == 0 || per < peak_us)) peak_us = per;
    }
  }
  uint64_t total = 0;
  for (const uint64_t p : posted) total += p;
  report = tools::bandwidth_of(size, total, now_us() - start, peak_us);
}

// READ and ATOMIC: one after the other.
Task<void> ToolRun::requests_latency(uint32_t size, std::vector<double>& samples) {
  const double begin = now_us();
  for (uint64_t i = 0;
       options_.duration_s > 0 ? now_us() - begin < options_.duration_s * 1e6 : i < options_.count;
       ++i) {
    const double start = now_us();
    post_one(0, size);
    queues_[0]->ring();
    co_await wait_completed(0, queues_[0]->posted);
    samples.push_back(now_us() - start);
  }
}

// SENDs to and fro. Samples are half of a round.
Task<void> ToolRun::echo(uint32_t size, uint64_t count, bool first, std::vector<double>& samples) {
  Queue& q = *queues_[0];
  double start = now_us();
  for (uint64_t i = 0; i < count; ++i) {
    if (!first) {
      co_await wait_received(0, size);
      if (ended_) co_return;
    }
    start = now_us();
    post_one(0, size);
    q.ring();
    if (first) {
      co_await wait_received(0, size);
      samples.push_back((now_us() - start) / 2);
    }
    co_await wait_completed(0, q.posted);
  }
}

// WRITEs to and fro: each side looks at the last byte of its memory. The server begins.
Task<void> ToolRun::write_echo(uint32_t size, bool first, std::vector<double>& samples) {
  Queue& q = *queues_[0];
  const Buffer& m = *target_[0];
  double start = now_us();
  for (uint64_t i = 1; i <= options_.count; ++i) {
    const auto value = static_cast<uint8_t>(i);
    const auto wait = [&m, &q, this, size, value] {
      q.poll();
      return m.buffer.load<uint8_t>(size - 1) == value || !q.failure.empty() || ended_;
    };
    const std::string what = fmt::format("byte {} of the memory", size - 1);
    if (!first) {
      co_await party_.scheduler->until(wait, what);
      if (i > 1) samples.push_back((now_us() - start) / 2);
      fail_if_bad(q);
    }
    start = now_us();
    stamp(0, size, value);
    post_one(0, size);
    q.ring();
    if (first) {
      co_await party_.scheduler->until(wait, what);
      fail_if_bad(q);
    }
    if (ended_) break;
    co_await wait_completed(0, q.posted);
  }
}

Task<void> ToolRun::receive_all() {
  const uint64_t total = options_.count * options_.sizes().size();
  std::vector<uint64_t> got(queues_.size(), 0);
  for (;;) {
    bool left = false;
    for (size_t n = 0; n < queues_.size(); ++n) {
      fail_if_bad(*queues_[n]);
      while (!queues_[n]->received.empty()) {
        take_receive(n, options_.all ? 0 : options_.size);
        ++got[n];
      }
      left = left || options_.duration_s > 0 || got[n] < total;
    }
    if (!left || ended_) break;
    co_await party_.scheduler->until([this] { return poll_all() || ended_; }, "messages");
  }
  if (options_.duration_s > 0) co_return;
  for (size_t n = 0; n < queues_.size(); ++n) {
    if (got[n] != total && options_.service == Service::kRc)
      throw tools::ExchangeError(
          fmt::format("QP {} received {} of {} messages", queues_[n]->number(), got[n], total));
  }
}

// ------------------------------------------------------------------------------------------------
// roles
Task<void> ToolRun::pingpong() {
  tools::Scheduler& s = *party_.scheduler;
  Queue& q = *queues_[0];
  std::vector<double> samples;
  if (options_.client()) {
    const Keys theirs = co_await tools::pingpong_client(s, *channel_, result_.mine[0]);
    co_await connect_queue(q, theirs);
    post_first_receives();
  } else {
    const Keys theirs = co_await tools::pingpong_server_read(s, *channel_);
    co_await connect_queue(q, theirs);
    post_first_receives();
    co_await tools::pingpong_server_answer(s, *channel_, result_.mine[0]);
  }
  print_(tools::pingpong_address("local", result_.mine[0]));
  print_(tools::pingpong_address("remote", result_.theirs[0]));
  const double start = now_us();
  co_await echo(options_.size, options_.count, options_.client(), samples);
  for (const std::string& l : tools::pingpong_lines(uint64_t{options_.size} * options_.count * 2,
                                                    options_.count, now_us() - start))
    print_(l);
}

// A UD message is one packet. perftest likewise takes the MTU where the usual size is more.
void ToolRun::limit_size() {
  if (options_.service != Service::kUd || options_.all || options_.size <= result_.mtu) return;
  if (options_.size_given)
    throw tools::ToolError(fmt::format("{}: a UD message has at most the {} bytes of the MTU",
                                       options_.command, result_.mtu));
  options_.size = result_.mtu;
}

Task<void> ToolRun::wait_for_peer(unsigned times) {
  for (unsigned i = 0; i < times; ++i)
    (void)co_await tools::swap_keys(*party_.scheduler, *channel_, result_.mine[0]);
}

Task<void> ToolRun::perftest_client() {
  tools::Scheduler& s = *party_.scheduler;
  tools::Channel& c = *channel_;
  if (options_.exchange_versions) result_.mtu = co_await tools::hello_client(s, c, result_.mtu);
  limit_size();
  if (options_.cm) co_await cm_client_queues();
  std::vector<Keys> theirs;
  for (const Keys& k : result_.mine) {
    const Keys t = co_await tools::swap_keys(s, c, k);
    theirs.push_back(t);
  }
  for (size_t n = 0; n < queues_.size() && !options_.cm; ++n)
    co_await connect_queue(*queues_[n], theirs[n]);
  if (options_.cm) take_keys(theirs);
  if (options_.kind == Kind::kLatency) post_first_receives();
  const tools::Waits waits = tools::waits_of(options_.kind, options_.verb);
  for (const Keys& k : result_.mine) (void)co_await tools::swap_keys(s, c, k);
  for (const std::string& l : tools::heading(options_, result_.mine, result_.theirs, result_.mtu))
    print_(l);

  const bool latency = options_.kind == Kind::kLatency;
  const bool send = options_.verb == Verb::kSend;
  print_(latency ? tools::latency_titles() : tools::bandwidth_titles(options_.gbits));
  co_await wait_for_peer(waits.before);
  tools::BandwidthReport report;
  for (const uint32_t size : options_.sizes()) {
    co_await wait_for_peer(waits.each_size);
    std::vector<double> samples;
    if (!latency) {
      co_await bandwidth(size, report);
      print_(tools::bandwidth_line(report, options_.gbits));
      if (options_.all) co_await wait_for_peer(waits.behind);
    } else {
      if (options_.verb == Verb::kSend) {
        co_await echo(size, options_.count, true, samples);
      } else if (options_.verb == Verb::kWrite) {
        co_await write_echo(size, false, samples);
      } else {
        co_await requests_latency(size, samples);
      }
      tools::LatencyReport line = tools::latency_of(size, std::move(samples));
      // The first WRITE has no answer to be timed by; perftest counts it all the same.
      if (options_.duration_s == 0) line.count = options_.count;
      print_(tools::latency_line(line));
    }
  }
  co_await wait_for_peer(waits.after);
  if (!latency && !send) {
    (void)co_await tools::swap_reports(s, c, report);
    co_await wait_for_peer(1);
  }
  if (!(latency && options_.verb == Verb::kWrite)) co_await tools::swap_done(s, c);
  if (options_.cm) co_await cm_close();
  print_(tools::closing_line());
}

Task<void> ToolRun::server_traffic() {
  std::vector<double> unused;
  if (options_.verb == Verb::kSend && options_.kind == Kind::kBandwidth) {
    co_await receive_all();
  } else if (options_.verb == Verb::kSend) {
    for (const uint32_t size : options_.sizes())
      co_await echo(size, options_.duration_s > 0 ? ~uint64_t{0} : options_.count, false, unused);
  } else if (options_.verb == Verb::kWrite && options_.kind == Kind::kLatency) {
    for (const uint32_t size : options_.sizes()) co_await write_echo(size, true, unused);
  }
}

Task<void> ToolRun::perftest_server() {
  tools::Scheduler& s = *party_.scheduler;
  tools::Channel& c = *channel_;
  if (options_.exchange_versions) result_.mtu = co_await tools::hello_server(s, c, result_.mtu);
  limit_size();
  if (options_.cm) co_await cm_server_queues();
  std::vector<Keys> theirs;
  tools::Scheduler::Handle traffic;
  bool going = false;
  unsigned rounds = 0;
  const auto n = static_cast<unsigned>(queues_.size());
  for (;;) {
    const tools::Message m = co_await tools::next_message(s, c);
    if (m.what == tools::Message::What::kReport) {
      c.write(m.bytes);  // what the client measured
      continue;
    }
    if (m.what != tools::Message::What::kKeys) {
      ended_ = true;
      if (m.what == tools::Message::What::kDone) c.write(m.bytes);
      // The latency of WRITEs ends with the connection, all others with a word; a client of
      // perftest 25 goes without it.
      const bool last_word = m.what == tools::Message::What::kDone || rounds >= key_rounds() ||
                             (options_.verb == Verb::kWrite && options_.kind == Kind::kLatency);
      if (!last_word) throw tools::ChannelClosed("the client went before the end");
      break;
    }
    const unsigned k = rounds++;
    if (k < n) {
      theirs.push_back(m.keys);
    } else if (k == n) {
      // The second round: the client is ready, so are we.
      for (unsigned i = 0; i < n && !options_.cm; ++i)
        co_await connect_queue(*queues_[i], theirs[i]);
      if (options_.cm) take_keys(theirs);
      post_first_receives();
    }
    // Without acknowledgements the client is ahead of its messages: it waits for us to have them.
    if (k >= 2 * n + 2 && options_.service != Service::kRc && options_.kind == Kind::kBandwidth &&
        !options_.all && options_.duration_s == 0)
      co_await s.until([&traffic] { return traffic.done(); }, "the last messages");
    c.write(tools::encode_keys(c, result_.mine[k < n ? k : k < 2 * n ? k - n : 0]));
    if (k == 2 * n && !going) {
      going = true;
      traffic = s.spawn(server_traffic());
    }
    if (options_.cm && rounds == key_rounds()) break;  // no further word comes
  }
  if (!going) throw tools::ExchangeError("the client ended before any traffic");
  if (options_.cm && options_.duration_s > 0) ended_ = true;
  co_await s.until([&] { return traffic.done() || cm_lost(); }, "the end of the traffic");
  if (!traffic.done()) throw tools::ChannelClosed("the client went in the middle of the traffic");
  traffic.check();
  if (options_.cm) co_await cm_close();
}

}  // namespace rnic::sim
