// SPDX-License-Identifier: Apache-2.0
#include "harness/switch/switch.hpp"

#include <algorithm>
#include <stdexcept>

#include "harness/roce/bytes.hpp"
#include "harness/roce/frame.hpp"
#include "harness/roce/int_trailer.hpp"
#include "harness/roce/opcode.hpp"
#include "harness/switch/pause_frame.hpp"

namespace rnic::switching {
namespace {

constexpr size_t kEthernet = 14, kTag = 4, kIpv4 = 20, kIpv6 = 40;

roce::MacAddr address_at(const uint8_t* p) {
  roce::MacAddr a;
  std::copy(p, p + a.size(), a.begin());
  return a;
}

bool is_group(const roce::MacAddr& mac) { return (mac[0] & 1) != 0; }

// 01-80-C2-00-00-00 .. 0F stay on their cable.
bool stays_on_cable(const roce::MacAddr& m) {
  return m[0] == 0x01 && m[1] == 0x80 && m[2] == 0xC2 && m[3] == 0 && m[4] == 0 && m[5] < 16;
}

struct Layers {
  bool tagged = false;
  uint8_t pcp = 0;
  size_t l3 = kEthernet;
  uint16_t type = 0;
};

Layers layers_of(std::span<const uint8_t> f) {
  Layers l;
  l.type = roce::load_be16(&f[12]);
  for (int tags = 0; tags < 2 && (l.type == roce::kEtherVlan || l.type == roce::kEtherQinQ) &&
                     f.size() >= l.l3 + kTag;
       ++tags) {
    if (tags == 0) l.pcp = f[l.l3] >> 5;
    l.tagged = true;
    l.type = roce::load_be16(&f[l.l3 + 2]);
    l.l3 += kTag;
  }
  return l;
}

// DSCP of an IP packet, or -1.
int dscp_of(std::span<const uint8_t> f, const Layers& l) {
  if (f.size() < l.l3 + 2) return -1;
  if (l.type == roce::kEtherIpv4) return f[l.l3 + 1] >> 2;
  if (l.type == roce::kEtherIpv6) return (roce::load_be16(&f[l.l3]) >> 6) & 63;
  return -1;
}

// A packet of a SEND or WRITE of a reliable connection: what its receiver acknowledges.
bool asks_for_telemetry(std::span<const uint8_t> f) {
  constexpr size_t kUdp = 8;
  constexpr uint8_t kProtocolUdp = 17, kReliableConnection = 0;
  const Layers l = layers_of(f);
  const bool v4 = l.type == roce::kEtherIpv4;
  if (!v4 && l.type != roce::kEtherIpv6) return false;
  const size_t udp = l.l3 + (v4 ? kIpv4 : kIpv6), bth = udp + kUdp;
  if (f.size() < bth + 12 || (v4 && f[l.l3] != 0x45)) return false;
  if (f[l.l3 + (v4 ? 9 : 6)] != kProtocolUdp) return false;
  if (roce::load_be16(&f[udp + 2]) != roce::kUdpPort) return false;
  const roce::OpcodeInfo& info = roce::opcode_info(f[bth]);
  const bool data = roce::is_send(info.kind) || roce::is_write(info.kind);
  return data && f[bth] >> 5 == kReliableConnection;
}

uint64_t port_headroom(const SwitchConfig& c, const wire::Link& link) {
  if (c.pause.headroom) return *c.pause.headroom;
  return headroom_bytes(link.config().rate_bps, link.config().delay_ps, c.pause.reaction_ps,
                        c.max_frame);
}

}  // namespace

Switch::Port::Port(const SwitchConfig& config, unsigned n, wire::Link& l, int e)
    : number(n),
      link(l),
      end(e),
      tx(l.tx(e)),
      rx(l.rx(e)),
      rate_bps(l.config().rate_bps),
      mac{0x02,
          0x53,
          0x57,
          static_cast<uint8_t>(config.id >> 8),
          static_cast<uint8_t>(config.id),
          static_cast<uint8_t>(n)},
      rng(mem::substream(config.seed, "switch.ecn." + std::to_string(n))),
      out(config),
      in(config, rate_bps, port_headroom(config, l)) {}

Switch::Switch(const SwitchConfig& config)
    : config_(config), table_(config.table_entries), pool_(config.max_frame) {
  config_.validate();
  ports_.resize(config_.ports);
}

const Switch::Port& Switch::port_at(unsigned port) const {
  if (port >= ports_.size() || !ports_[port])
    throw std::out_of_range("switch: port " + std::to_string(port) + " has no cable");
  return *ports_[port];
}

void Switch::attach(unsigned port, wire::Link& link, int end) {
  if (port >= ports_.size())
    throw std::invalid_argument("switch: port " + std::to_string(port) + " of " +
                                std::to_string(ports_.size()));
  const uint32_t longest = config_.max_frame + static_cast<uint32_t>(roce::kIntBytes);
  if (link.config().max_frame < longest)
    throw std::invalid_argument("switch: a cable for frames of " +
                                std::to_string(link.config().max_frame) + " bytes, needed are " +
                                std::to_string(longest));
  auto p = std::make_unique<Port>(config_, port, link, end);
  if (config_.telemetry != IntMode::kOff) {
    const auto code = roce::int_rate_code(p->rate_bps);
    if (!code)
      throw std::invalid_argument("switch: INT has no code for a port of " +
                                  std::to_string(p->rate_bps) +
                                  " bit/s; it has them for 25, 50, 100, 200, 400 Gb/s");
    p->rate_code = *code;
  }
  ports_[port] = std::move(p);
}

void Switch::add_address(const roce::MacAddr& mac, unsigned port) {
  (void)port_at(port);
  table_.add_static(mac, port);
}

TimePs Switch::safe_until() const {
  TimePs t = wire::kNever;
  for (const auto& p : ports_)
    if (p) t = std::min(t, p->link.safe_until(p->end));
  return t;
}

// ------------------------------------------------------------------------------------------ time
void Switch::fetch(Port& p, TimePs until) {
  wire::FrameInfo info;
  while (p.rx.take(until, info)) {
    Frame* f = pool_.get(info.bytes);
    f->time_ps = info.last_ps;
    f->flags = info.flags;
    f->ingress = static_cast<uint8_t>(p.number);
    p.arrivals.push(f);
  }
}

TimePs Switch::next_event() const {
  TimePs t = wire::kNever;
  for (const auto& p : ports_)
    if (p) t = std::min({t, p->arrival(), p->next_tx, p->in.next_refresh()});
  return t;
}

void Switch::run_until(TimePs until) {
  for (auto& p : ports_)
    if (p) fetch(*p, until);
  for (TimePs t = next_event(); t <= until; t = next_event()) {
    now_ = std::max(now_, t);
    const auto n = static_cast<unsigned>(ports_.size()), first = turn_;
    for (unsigned i = 0; i < n; ++i) {
      Port* p = ports_[(first + i) % n].get();
      while (p != nullptr && p->arrival() <= now_) {
        turn_ = (p->number + 1) % n;
        arrive(*p);
      }
    }
    for (auto& p : ports_) {
      if (!p) continue;
      if (p->in.next_refresh() <= now_) {
        p->in.refresh(now_);
        plan(*p);
      }
      while (p->next_tx <= now_) depart(*p);
    }
  }
  now_ = std::max(now_, until);
  for (auto& p : ports_)
    if (p) p->tx.advance(until);
}

void Switch::plan(Port& p) {
  const TimePs from = std::max(now_, p.tx.free_at());
  p.next_tx = p.in.waiting() ? from : p.out.next(from);
}

// ---------------------------------------------------------------------------------------- frames
// in
bool Switch::sound(Port& p, const Frame& f) {
  if (f.flags.err || f.length < wire::kMinFrameBytes) {
    ++p.count.bad_frames;
    return false;
  }
  if (f.length > config_.max_frame) {
    ++p.count.oversize;
    return false;
  }
  return true;
}

void Switch::arrive(Port& p) {
  Frame* f = p.arrivals.pop();
  if (!sound(p, *f)) return pool_.put(f);
  if (is_mac_control(f->bytes())) {
    control(p, *f);
    return pool_.put(f);
  }
  f->cls = class_of(*f);
  ClassCounters& c = p.count.classes[f->cls];
  ++c.rx_frames;
  c.rx_bytes += f->stored();
  f->time_ps = now_ + config_.latency_ps;
  forward(p, f);
}

void Switch::control(Port& p, Frame& f) {
  PauseFrame pause;
  if (!parse_pause(f.bytes(), pause)) {
    ++p.count.reserved;
    return;
  }
  ++p.count.pause_frames_rx;
  heed(p, pause);
  plan(p);
}

void Switch::heed(Port& p, const PauseFrame& pause) {
  const bool whole = config_.pause.mode == FlowControl::kPause;
  if (pause.legacy != whole || config_.pause.mode == FlowControl::kNone) {
    ++p.count.pauses_ignored;
    return;
  }
  bool ignored = false;
  const auto tell = [&](unsigned slot, ClassCounters& c, uint16_t quanta) {
    ++(quanta != 0 ? c.xoff_rx : c.xon_rx);
    p.out.pause(slot, now_, now_ + quanta_time(quanta, p.rate_bps));
  };
  if (whole) return tell(kClasses, p.count.classes[0], pause.quanta[0]);
  for (unsigned c = 0; c < kClasses; ++c) {
    if ((pause.mask >> c & 1) == 0) continue;
    if (config_.lossless(c)) {
      tell(c, p.count.classes[c], pause.quanta[c]);
    } else {
      ignored = true;
    }
  }
  if (ignored) ++p.count.pauses_ignored;
}

uint8_t Switch::class_of(Frame& f) const {
  const Layers l = layers_of(f.bytes());
  if (config_.classify == Classify::kDscp) {
    const int dscp = dscp_of(f.bytes(), l);
    if (dscp >= 0) return config_.class_of_dscp[static_cast<size_t>(dscp)];
  }
  return l.tagged ? l.pcp : config_.default_class;
}

void Switch::forward(Port& p, Frame* f) {
  const roce::MacAddr to = address_at(f->data.get()), source = address_at(f->data.get() + 6);
  if (config_.learn && !is_group(source)) {
    switch (table_.learn(source, p.number)) {
      case MacTable::Learned::kNew:
        ++p.count.learned;
        break;
      case MacTable::Learned::kMoved:
        ++p.count.moved;
        break;
      case MacTable::Learned::kFull:
        ++p.count.table_full;
        break;
      case MacTable::Learned::kKnown:
        break;
    }
  }
  if (stays_on_cable(to)) {
    ++p.count.reserved;
    return pool_.put(f);
  }
  const int port = is_group(to) ? -1 : table_.find(to);
  if (port >= 0) {
    Port* out = ports_[static_cast<size_t>(port)].get();
    if (out != &p) return admit(p, *out, f);
    ++p.count.filtered;
    return pool_.put(f);
  }
  if (!is_group(to)) {
    ++p.count.unknown;
    if (config_.unknown == Unknown::kDrop) return pool_.put(f);
  }
  bool any = false;
  for (auto& out : ports_) {
    if (!out || out.get() == &p) continue;
    Frame* copy = pool_.get(f->bytes());
    copy->time_ps = f->time_ps;
    copy->ingress = f->ingress;
    copy->cls = f->cls;
    admit(p, *out, copy);
    any = true;
  }
  if (!any) ++p.count.filtered;
  pool_.put(f);
}

bool Switch::fits(Port& from, Port& to, const Frame& f) {
  if (config_.lossless(f.cls)) {
    if (from.in.fits(f.cls, f.stored())) return true;
    const bool whole = config_.pause.mode == FlowControl::kPause;
    ++from.count.classes[whole ? 0 : f.cls].headroom_drops;
    from.in.refused(f.cls);
    if (from.in.waiting()) plan(from);
    return false;
  }
  const auto full = [&](uint64_t now, uint64_t limit) {
    return limit != 0 && now + f.stored() > limit;
  };
  uint64_t lossy_here = 0;
  for (unsigned c = 0; c < kClasses && config_.port_buffer_bytes != 0; ++c)
    if (!config_.lossless(c)) lossy_here += to.out.bytes(c);
  if (to.out.bytes(f.cls) + f.stored() <= config_.classes[f.cls].queue_bytes &&
      !full(lossy_bytes_, config_.buffer_bytes) && !full(lossy_here, config_.port_buffer_bytes))
    return true;
  ClassCounters& c = to.count.classes[f.cls];
  ++c.drops;
  c.drop_bytes += f.stored();
  return false;
}

void Switch::admit(Port& from, Port& to, Frame* f) {
  if (!fits(from, to, *f)) return pool_.put(f);
  if (config_.lossless(f->cls)) {
    from.in.add(f->cls, f->stored());
    if (from.in.waiting()) plan(from);
  } else {
    lossy_bytes_ += f->stored();
  }
  to.out.push(f);
  to.depth.set(now_, to.out.bytes());
  plan(to);
}

// --------------------------------------------------------------------------------------- frames
// out
void Switch::send(Port& p, std::span<const uint8_t> bytes) {
  // Back to back the wire is free at a fraction of a picosecond before now_.
  p.tx.send(now_ == p.tx.free_at() ? p.tx.free_from() : now_, bytes);
  p.count.wire_bytes += bytes.size() + wire::kFcsBytes + wire::kOverheadBytes;
}

void Switch::send_pause(Port& p) {
  const PauseFrame pause = p.in.frame(now_);
  for (unsigned c = 0; c < kClasses; ++c) {
    if ((pause.mask >> c & 1) == 0) continue;
    ++(pause.quanta[c] != 0 ? p.count.classes[c].xoff_tx : p.count.classes[c].xon_tx);
  }
  ++p.count.pause_frames_tx;
  send(p, build_pause(pause, p.mac));
}

void Switch::mark(Port& p, Frame& f) {
  const EcnConfig& ecn = config_.classes[f.cls].ecn;
  const double chance = ecn.probability(p.out.waiting(f.cls, now_));
  if (chance <= 0 || (chance < 1 && !p.rng.chance(chance))) return;
  ++(roce::mark_congestion(f.bytes()) ? p.count.classes[f.cls].marks
                                      : p.count.classes[f.cls].not_ect);
}

void Switch::stamp(Port& p, Frame& f) {
  size_t at = roce::find_int(f.bytes());
  if (at == 0) {
    if (config_.telemetry != IntMode::kInsert || !asks_for_telemetry(f.bytes())) return;
    roce::IntTrailer empty;
    empty.unit = config_.int_unit;
    const size_t length = roce::append_int({f.data.get(), f.room}, f.length, empty);
    f.length = static_cast<uint32_t>(length);
    at = roce::find_int(f.bytes());
    if (at == 0) return;
    ++p.count.int_inserted;
  }
  roce::IntTrailer is;
  roce::read_int(f.bytes().subspan(at), is);
  if (is.echo) return;
  const roce::IntHop hop =
      roce::make_hop(p.rate_code, now_, p.count.wire_bytes, p.out.waiting(now_), config_.int_unit);
  const bool written = roce::push_hop(f.bytes().subspan(at), hop, config_.int_unit, config_.id);
  ++(written ? p.count.int_hops : p.count.int_full);
}

void Switch::depart(Port& p) {
  if (p.in.waiting()) {
    send_pause(p);
    return plan(p);
  }
  Frame* f = p.out.pop(now_);
  p.depth.set(now_, p.out.bytes());
  const uint64_t stored = f->stored();
  if (config_.lossless(f->cls)) {
    Port& from = *ports_[f->ingress];
    from.in.release(f->cls, stored);
    if (from.in.waiting() && &from != &p) plan(from);
  } else {
    lossy_bytes_ -= stored;
  }
  mark(p, *f);
  if (config_.telemetry != IntMode::kOff) stamp(p, *f);
  send(p, f->bytes());
  ClassCounters& c = p.count.classes[f->cls];
  ++c.tx_frames;
  c.tx_bytes += f->stored();
  pool_.put(f);
  plan(p);
}

// -------------------------------------------------------------------------------------------
// counts
uint64_t Switch::passed_bytes(unsigned port) const {
  const Port& p = port_at(port);
  if (p.tx.free_at() <= now_) return p.count.wire_bytes;
  const auto left = static_cast<unsigned __int128>(p.tx.free_at() - now_) * p.rate_bps;
  return p.count.wire_bytes - static_cast<uint64_t>(left / 8'000'000'000'000ull);
}

PortCounters Switch::counters(unsigned port) const {
  const Port& p = port_at(port);
  PortCounters out = p.count;
  for (unsigned c = 0; c < kClasses; ++c) {
    out.classes[c].queue_max = p.out.most_bytes(c);
    out.classes[c].paused_ps = p.out.paused_ps(c, now_);
    const bool here = config_.pause.mode == FlowControl::kPfc || c == 0;
    out.classes[c].ingress_max = here ? p.in.most_bytes(c) : 0;
  }
  out.paused_ps = p.out.paused_ps(kClasses, now_);
  return out;
}

void Switch::restart_depths() {
  for (auto& p : ports_)
    if (p) p->depth.restart(now_);
}

}  // namespace rnic::switching
