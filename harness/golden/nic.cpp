// SPDX-License-Identifier: Apache-2.0
#include "harness/golden/nic.hpp"

#include <algorithm>
#include <stdexcept>

namespace rnic::golden {

Nic::Nic(const NicConfig& config) : config_(config), next_va_(config.first_va) {}

uint32_t Nic::create_qp(const QpConfig& config, State state) {
  const auto index = static_cast<uint32_t>(qps_.size());
  if (!by_number_.emplace(config.qpn, index).second)
    throw std::invalid_argument("golden: QP number " + std::to_string(config.qpn) + " is in use");
  if (!roce::valid_pmtu(config.pmtu))
    throw std::invalid_argument("golden: path MTU " + std::to_string(config.pmtu));
  QpConfig c = config;
  if (c.pd == 0) c.pd = config_.pd;
  qps_.push_back(std::make_unique<Qp>(c, memory_));
  qps_.back()->state = state;
  return index;
}

void Nic::set_state(uint32_t qp, State state) {
  Qp& q = *qps_.at(qp);
  switch (state) {
    case State::kReset:
      q.requester.reset();
      q.responder.reset();
      q.completions.clear();
      q.established = q.drain_told = false;
      break;
    case State::kErr:
      q.requester.flush();
      q.responder.flush(false);
      break;
    case State::kSqd:
      q.requester.set_draining(true);
      q.drain_told = false;
      break;
    case State::kRts:
      q.requester.set_draining(false);
      q.requester.clear_sqe();
      break;
    default:
      break;
  }
  q.state = state;
  settle(qp);
}

// Moves completions out, and what one half found out over to the other.
void Nic::settle(uint32_t qp) {
  Qp& q = *qps_[qp];
  if (!q.established && q.responder.established()) {
    q.established = true;
    if (q.state == State::kRtr) events_.emplace_back(qp, Event::kEstablished);
  }
  const Fatal asked = q.requester.fatal();
  const bool fatal = asked == Fatal::kErr || q.responder.fatal() == Fatal::kErr;
  if (fatal && q.state != State::kErr) {
    q.state = State::kErr;
    q.requester.flush();
    // Answers up to the own NAK still leave.
    q.responder.flush(q.responder.fatal() == Fatal::kErr);
    events_.emplace_back(qp, Event::kQpFatal);
  } else if (asked == Fatal::kSqe && q.state == State::kRts) {
    q.state = State::kSqe;
  }
  if (q.state == State::kSqd && !q.drain_told && q.requester.drained()) {
    q.drain_told = true;
    events_.emplace_back(qp, Event::kDrained);
  }
  const auto move = [&](std::deque<Completion>& from) {
    q.completions.insert(q.completions.end(), from.begin(), from.end());
    from.clear();
  };
  move(q.requester.completions());
  move(q.responder.completions());
}

void Nic::receive(TimePs now, std::span<const uint8_t> frame) {
  ++stats_.frames_in;
  roce::FrameView v;
  const roce::ParseStatus status = roce::parse_frame(frame, v);
  if (status == roce::ParseStatus::kNotRoce) {
    ++stats_.not_roce;
    return;
  }
  if (status != roce::ParseStatus::kOk && status != roce::ParseStatus::kUnknownOpcode) {
    ++stats_.malformed;
    return;
  }
  if (!roce::icrc_good(v)) {
    ++stats_.bad_icrc;
    return;
  }
  if (v.tver != 0) {
    ++stats_.bad_version;
    return;
  }
  const auto it = by_number_.find(v.dest_qp);
  if (it == by_number_.end()) {
    ++stats_.unknown_qp;
    return;
  }
  Qp& q = *qps_[it->second];
  if (v.opcode == roce::kCnp) {
    ++stats_.cnps;
    return;
  }
  // Opcode bits 7:5 name the transport.
  if ((v.opcode >> 5) != static_cast<uint8_t>(q.config.transport)) {
    ++stats_.wrong_transport;
    return;
  }
  if (q.state == State::kReset || q.state == State::kInit || q.state == State::kErr) {
    ++stats_.wrong_state;
    return;
  }
  const bool connected = q.config.transport != roce::Transport::kUd;
  if (v.ip_dst != config_.ip || (connected && v.ip_src != q.config.dest_ip)) {
    ++stats_.wrong_address;
    return;
  }
  const uint16_t low = (v.pkey ^ q.config.pkey) & 0x7FFF;
  if (low != 0 || ((v.pkey | q.config.pkey) & 0x8000) == 0) {
    ++stats_.wrong_pkey;
    return;
  }
  if (status == roce::ParseStatus::kOk && v.info().known && !v.info().is_request) {
    q.requester.response(now, v);
  } else {
    q.responder.request(now, v, status);
  }
  settle(it->second);
}

void Nic::tick(TimePs now) {
  for (uint32_t i = 0; i < qps_.size(); ++i) {
    if (qps_[i]->requester.wake() > now) continue;
    qps_[i]->requester.tick(now);
    settle(i);
  }
}

TimePs Nic::wake() const {
  TimePs t = kNever;
  for (const auto& q : qps_) t = std::min({t, q->requester.wake(), q->responder.wake()});
  return t;
}

bool Nic::transmit(TimePs now, std::vector<uint8_t>& frame) {
  const size_t n = qps_.size();
  // Answers before requests; the QPs take turns.
  for (int requests = 0; requests < 2; ++requests) {
    for (size_t i = 0; i < n; ++i) {
      const size_t at = (turn_ + i) % n;
      Qp& q = *qps_[at];
      bool got = false;
      if (requests == 0) {
        got = q.responder.transmit(now, packet_);
      } else if (q.state == State::kRts || q.state == State::kSqd) {
        got = q.requester.transmit(now, packet_);
        settle(static_cast<uint32_t>(at));
      }
      if (!got) continue;
      if (requests == 0) settle(static_cast<uint32_t>(at));
      frame_of(q, packet_, frame);
      turn_ = at + 1;
      ++stats_.frames_out;
      return true;
    }
  }
  return false;
}

void Nic::frame_of(const Qp& q, const Packet& p, std::vector<uint8_t>& frame) {
  roce::FrameSpec s = p.spec;
  const bool ud = q.config.transport == roce::Transport::kUd;
  s.eth_src = config_.mac;
  s.eth_dst = ud ? p.target.mac : q.config.dest_mac;
  s.ip_src = config_.ip;
  s.ip_dst = ud ? p.target.ip : q.config.dest_ip;
  s.tos = config_.tos;
  s.udp_src = q.config.udp_port;
  s.ip_id = ip_id_++;
  const roce::BuildOptions options{.pad_to_min = config_.pad_to_min};
  frame.resize(roce::frame_size(s, p.payload.size(), options));
  const size_t made = roce::build_frame(s, p.payload, frame, options);
  frame.resize(made);
}

Region Nic::add_region(uint64_t length, uint32_t access, bool invalidatable) {
  Region r;
  r.length = length;
  r.va = next_va_;
  r.key = next_key_++ << 8 | 0x5A;
  next_va_ += (length + 0x2FFF) & ~uint64_t{0xFFF};
  memory_.add({.key = r.key,
               .pd = config_.pd,
               .va = r.va,
               .length = length,
               .at = r.va,
               .access = access,
               .invalidatable = invalidatable});
  return r;
}

void Nic::write_memory(const Region& r, uint64_t offset, std::span<const uint8_t> bytes) {
  memory_.bytes().write(r.va + offset, bytes.data(), bytes.size());
}

void Nic::read_memory(const Region& r, uint64_t offset, std::span<uint8_t> bytes) {
  memory_.bytes().read(r.va + offset, bytes.data(), bytes.size());
}

bool Nic::post_send(uint32_t qp, const SendRequest& request) {
  Qp& q = *qps_.at(qp);
  if (q.state == State::kReset || q.state == State::kInit || q.state == State::kRtr)
    throw std::logic_error("golden: a send is posted to a QP in " +
                           std::string(to_string(q.state)));
  const bool taken = q.requester.post(request);
  settle(qp);
  return taken;
}

bool Nic::post_recv(uint32_t qp, const RecvRequest& request) {
  Qp& q = *qps_.at(qp);
  if (q.state == State::kReset) throw std::logic_error("golden: a receive is posted in RESET");
  const bool taken = q.responder.post(request);
  settle(qp);
  return taken;
}

std::optional<Completion> Nic::poll(uint32_t qp) {
  auto& list = qps_.at(qp)->completions;
  if (list.empty()) return std::nullopt;
  const Completion c = list.front();
  list.pop_front();
  return c;
}

std::string Nic::state_of(uint32_t qp) {
  const Qp& q = *qps_.at(qp);
  return config_.name + " QP " + std::to_string(q.config.qpn) + " " + to_string(q.state) +
         ": send " + q.requester.text() + "; receive " + q.responder.text();
}

std::vector<std::pair<uint32_t, Event>> Nic::take_events() {
  auto out = std::move(events_);
  events_.clear();
  return out;
}

void Port::step(TimePs now, TimePs ahead) {
  wire::FrameInfo info;
  while (link_.rx(end_).take(now, info)) {
    // The MAC drops what the FCS calls bad.
    if (!info.flags.err) nic_.receive(now, info.bytes);
  }
  nic_.tick(now);
  wire::TxPort& tx = link_.tx(end_);
  while (tx.free_at() <= now + ahead && nic_.transmit(now, frame_)) tx.send(now, frame_);
}

}  // namespace rnic::golden
