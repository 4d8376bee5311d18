// SPDX-License-Identifier: Apache-2.0
#include "sim/live/live_world.hpp"

#include <poll.h>

#include <algorithm>

namespace rnic::sim {
namespace {

constexpr TimePs kGrainPs = 100'000;    // how often the link is looked at
constexpr TimePs kStretchPs = 100'000;  // between looks at the programs
constexpr TimePs kIdlePs = 10'000'000;  // a stretch of a NIC that waits for its own timers
constexpr int kIdleMs = 50;             // longest sleep
constexpr TimePs kTimeoutUnitPs = 4'096'000;

}  // namespace

LiveWorld::LiveWorld(const LiveSettings& settings, std::unique_ptr<ethlink::EthLink> link,
                     std::unique_ptr<peerclock::PeerClock> clock, const std::string& pcap)
    : settings_(settings), link_(std::move(link)), clock_(std::move(clock)), net_([&] {
        hostnet::Config c;
        c.mac = settings.mac;
        c.ips = {hostnet::link_local(settings.mac), settings.ip};
        if (settings.ip6) c.ips.push_back(*settings.ip6);
        return c;
      }()) {
  const Settings& s = settings_.world;
  NodeConfig c;
  c.name = "nic";
  c.nic.data_w = s.data_w;
  c.nic.contexts = s.contexts;
  c.nic.seed = mem::substream(s.seed, "nic.a");
  c.pcie = s.pcie;
  c.pcie.seed = mem::substream(s.seed, "pcie.a");
  c.iommu = s.iommu;
  c.dma.layout = s.layout;
  c.dma.seed = mem::substream(s.seed, "memory.a");
  c.dma_pins.stalls = s.stalls;
  c.dma_pins.seed = mem::substream(s.seed, "axi.a");
  c.bar_pins.stall = s.bar_stall;
  c.bar_pins.seed = mem::substream(s.seed, "bars.a");
  if (s.has_gpu) c.gpus.push_back(s.gpu);
  node_ = &world_.add_node(c);
  cable_ = &world_.open_end(
      *node_, s.wire, [this](TimePs now) { on_edge(now); }, kGrainPs);
  settle_ps_ = settings_.settle_ps;
  listen_ps_ = (kTimeoutUnitPs << settings_.timeout) / 4;
  record_ = std::make_unique<WireRecord>(pcap);
  cable_->add_observer(&check_);
  if (!s.faults.rules.empty()) {
    faults_ = std::make_unique<wire::CableFaults>(s.faults.rules, mem::substream(s.seed, "wire"),
                                                  cable_->config(), s.faults.hold_limit_ps);
    record_->install(*cable_, *faults_, s.faults.hold_limit_ps);
    // A frame that waits for another one is work too.
    settle_ps_ += s.faults.hold_limit_ps;
  }
  record_->observe(*cable_);
  node_->nic().set_raw_port(this);
  node_->fabric().add_observer(this);
  Adapter::Options o;
  o.mac = settings_.mac;
  o.gids = net_.config().ips;
  o.timeout = settings_.timeout;
  o.first_qpn = settings_.first_qpn;
  adapter_ = std::make_unique<Adapter>(world_, *node_, s.host, o);
  CmPort::Config cm;
  cm.nic = adapter_.get();
  cm.resolve = [this](const roce::IpAddr& ip) { net_.resolve(wall(), ip); };
  cm.lookup = [this](const roce::IpAddr& ip) { return net_.lookup(ip); };
  cm.clock = [this] { return cm_time(); };
  cm.response_timeout = settings_.cm_response;
  cm.seed = mem::substream(s.seed, "cm.a");
  cm_ = std::make_unique<CmPort>(cm);
  cable_->add_observer(&cm_->observer());
}

void LiveWorld::start() {
  world_.power_on();
  adapter_->start();
  cm_->open();
  settle();
}

void LiveWorld::reset() {
  adapter_->reset();
  cm_->open();
}

hostnet::Time LiveWorld::wall() const {
  return std::chrono::duration_cast<hostnet::Time>(WallClock::now() - start_);
}

// ------------------------------------------------------------------------------------------------
// frames
// What "silent" is measured with: a peer that is held, or has no processor, is not silent.
double LiveWorld::peer_seconds() const {
  return clock_ ? clock_->seconds()
                : std::chrono::duration<double>(WallClock::now() - start_).count();
}

// The connection manager goes by the same clock.
cm::Time LiveWorld::cm_time() const {
  return std::chrono::duration_cast<cm::Time>(std::chrono::duration<double>(peer_seconds()));
}

void LiveWorld::take_in(TimePs now) {
  while (link_->receive(frame_)) {
    if (clock_) clock_->received();
    if (frame_.size() < wire::kMinFrameBytes) frame_.resize(wire::kMinFrameBytes);
    cable_->tx(1).send(now, frame_);
    seen();
    heard_ps_ = now;
    unheard_ = false;
    touch();
  }
}

void LiveWorld::note_sent() {
  if (clock_) clock_->given(link_->stats().sent);
}

void LiveWorld::on_edge(TimePs now) {
  take_in(now);
  wire::FrameInfo info;
  while (cable_->rx(1).take(now, info)) {
    touch();
    seen();
    ++frames_out_;
    unheard_ = true;
    // A frame with a bad FCS ends at the peer's MAC.
    if (!info.flags.err) link_->send(info.bytes);
  }
  if (link_->backlog() != 0) link_->flush();
  note_sent();
}

void LiveWorld::on_raw_frame(TimePs, std::span<const uint8_t> frame) {
  touch();
  net_.receive(wall(), frame);
  take_net();
}

void LiveWorld::take_net() {
  for (hostnet::Bytes& f : net_.take_outgoing()) {
    raw_out_.push_back(std::move(f));
    touch();
  }
}

std::span<const uint8_t> LiveWorld::next_raw_frame(TimePs) {
  if (raw_out_.empty()) return {};
  raw_now_ = std::move(raw_out_.front());
  raw_out_.pop_front();
  touch();
  return raw_now_;
}

// ------------------------------------------------------------------------------------------------
// time
bool LiveWorld::at_work() const {
  return world_.now_ps() < last_activity_ps_ + settle_ps_ || !raw_out_.empty() ||
         cable_->rx(0).next_time() != wire::kNever || cable_->rx(1).next_time() != wire::kNever;
}

// The NIC has been sending for so long that its timers will not wait for a peer whose clock stands:
// let the peer answer first.
bool LiveWorld::must_listen() const {
  return unheard_ && world_.now_ps() >= heard_ps_ + listen_ps_ && adapter_->owes();
}

void LiveWorld::settle() {
  touch();
  while (at_work()) world_.run_until(world_.now_ps() + kStretchPs);
}

void LiveWorld::pause(const std::function<bool()>& over) {
  while (!over()) {
    link_->flush();
    note_sent();
    if (clock_) clock_->release();
    wait_sockets(kIdleMs);
    take_in(world_.now_ps());
  }
}

void LiveWorld::wait_sockets(int limit_ms) {
  std::vector<int> fds;
  if (link_->fd() >= 0) fds.push_back(link_->fd());
  if (more_fds) more_fds(fds);
  std::vector<pollfd> list;
  for (const int fd : fds) list.push_back({fd, POLLIN, 0});
  ::poll(list.data(), list.size(), limit_ms);
}

// The NIC has nothing to do: the peer goes on, and everybody sleeps until something comes.
void LiveWorld::rest(WallClock::time_point deadline) {
  if (link_->backlog() != 0) link_->flush();
  note_sent();
  if (clock_) clock_->release();
  int limit_ms = link_->backlog() != 0 ? 1 : kIdleMs;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - WallClock::now()).count();
  limit_ms = static_cast<int>(std::clamp<int64_t>(left, 0, limit_ms));
  if (const auto again = net_.next_deadline()) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*again - wall()).count();
    limit_ms = static_cast<int>(std::clamp<int64_t>(ms + 1, 0, limit_ms));
  }
  if (const auto again = cm_->next_deadline()) {
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(*again - cm_time()).count();
    limit_ms = static_cast<int>(std::clamp<int64_t>(ms + 1, 0, limit_ms));
  }
  const bool owes = adapter_->owes();
  if (owes && peer_seconds() - seen_s_ >= settings_.patience_s && link_->backlog() == 0) {
    // Only the NIC's own timers can go on now.
    const uint64_t seen = frames_out_;
    const TimePs end = world_.now_ps() + kIdlePs;
    while (world_.now_ps() < end && frames_out_ == seen && !at_work())
      world_.run_until(world_.now_ps() + kStretchPs);
    heard_ps_ = world_.now_ps();
    limit_ms = 0;
  }
  wait_sockets(limit_ms);
  take_in(world_.now_ps());
}

bool LiveWorld::run_while(const std::function<bool()>& busy, WallClock::time_point deadline) {
  seen();
  for (;;) {
    net_.advance(wall());
    take_net();
    if (cm_->turn()) touch();
    if (scheduler_.run_ready()) touch();
    if (on_turn) on_turn();
    if (!busy()) return true;
    if (interrupt != nullptr && *interrupt) return false;
    if (link_->lost()) return false;
    if (WallClock::now() >= deadline) return false;
    if (at_work() && !must_listen()) {
      world_.run_until(world_.now_ps() + kStretchPs);
    } else {
      rest(deadline);
    }
  }
}

}  // namespace rnic::sim
