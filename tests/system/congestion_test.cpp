// SPDX-License-Identifier: Apache-2.0
// Congestion on the wire: CE marks become CNPs, CNPs are heard. One NIC against a software peer
// that marks what it likes, and two NICs on a cable that marks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "harness/driver/congestion.hpp"
#include "harness/roce/check.hpp"
#include "harness/roce/frame.hpp"
#include "harness/roce/int_trailer.hpp"
#include "tests/harness_roce/vectors.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

constexpr uint32_t kPeerQpn = 0x777;
constexpr uint32_t kPsn = 0x1000;  // first PSN of both directions
constexpr uint8_t kCe = 3;

struct Seen {
  sim::TimePs first_ps = 0;
  std::vector<uint8_t> bytes;
  roce::FrameView view() const {
    roce::FrameView v;
    REQUIRE(roce::parse_frame(bytes, v) == roce::ParseStatus::kOk);
    return v;
  }
};

driver::CcSettings settings(driver::CcMode mode, uint64_t cnp_ns = 4000) {
  driver::CcSettings s =
      driver::CcSettings::preset(mode, driver::CcPreset::kPaper, static_cast<double>(test_rate()));
  s.cnp.interval_ns = cnp_ns;
  return s;
}
void apply(sim::Host& host, const driver::CcSettings& s) { driver::set_congestion(host.nic(), s); }

// Bytes of a frame on the wire: with FCS, preamble and gap.
double on_wire(const Seen& f) { return static_cast<double>(f.bytes.size() + 24); }
// b/s of the frames that began in this time.
double rate_between(const std::vector<Seen>& frames, sim::TimePs from, sim::TimePs to) {
  double bits = 0, last = 0;
  sim::TimePs begin = 0, end = 0;
  for (const Seen& f : frames) {
    if (f.first_ps < from || f.first_ps >= to) continue;
    if (begin == 0) begin = f.first_ps;
    end = f.first_ps;
    last = 8 * on_wire(f);
    bits += last;
  }
  REQUIRE(end > begin);
  return (bits - last) / (static_cast<double>(end - begin) * 1e-12);
}
// When the rate changed: where the straight lines of bits over time before and after meet. Of
// frames in [t - before, t), and in [t + wait, t + wait + after).
double change_ps(const std::vector<Seen>& frames, sim::TimePs t, sim::TimePs before,
                 sim::TimePs wait, sim::TimePs after) {
  const double old_rate = rate_between(frames, t - before, t) * 1e-12;
  const double new_rate = rate_between(frames, t + wait, t + wait + after) * 1e-12;
  double bits = 0;  // from t on to the first frame behind the wait
  sim::TimePs first = 0, at = 0;
  for (const Seen& f : frames) {
    if (f.first_ps < t) continue;
    if (first == 0) first = f.first_ps;
    at = f.first_ps;
    if (at >= t + wait) break;
    bits += 8 * on_wire(f);
  }
  // first + x at the old rate, the rest at the new one.
  const double all = static_cast<double>(at - first);
  const double x = (bits - new_rate * all) / (old_rate - new_rate);
  return static_cast<double>(first - t) + x;
}

// A NIC at end 0 of a cable; the far end is software. QP i of the NIC is connected to kPeerQpn + i
// over path i, whose address is 192.168.0.(2 + peer i).
class Peer {
  WaveViews views_;

 public:
  explicit Peer(sim::HostConfig config = {.id = 1}) {
    sim::NodeConfig c;
    c.name = "nic";
    c.nic.data_w = test_width();
    c.nic.wave_file = views_.next();
    node = &world.add_node(c);
    link = &world.open_end(
        *node, {.rate_bps = test_rate(), .delay_ps = 50'000},
        [this](sim::TimePs now) { edge(now); }, 50'000);
    world.power_on();
    host = std::make_unique<sim::Host>(world, *node, config);
    host->start(2);
    memory = &host->region(sim::Place::kHost, 1 << 18);
  }
  sim::Qp& add_qp(unsigned peer = 0, uint8_t service = RNIC_QP_TYPE_RC) {
    sim::QpOptions options;
    options.service = service;
    sim::Qp& qp = host->create_qp(std::move(options));
    const auto n = static_cast<uint16_t>(qps.size());
    driver::PathRequest p;
    p.index = n + 1u;
    p.dmac = peer_mac(peer);
    p.smac = host->mac(1);
    p.ipv6 = host->config().ipv6;
    p.sip = host->ip(1);
    p.dip = host->ip(static_cast<uint8_t>(2 + peer));
    p.dscp = 7;
    p.vlan = host->config().vlan;
    p.vlan_id = 5;
    p.pcp = 2;
    host->nic().create_path(p);
    driver::ConnectRequest r;
    r.service = service;
    r.dest_qpn = kPeerQpn + n;
    r.path = static_cast<uint16_t>(n + 1);
    r.rq_psn = r.sq_psn = kPsn;
    r.mtu = RNIC_PATH_MTU_MTU_1024;
    host->nic().connect(*qp.qp, r);
    qps.push_back({&qp, peer, kPsn, service});
    return qp;
  }
  static driver::Mac peer_mac(unsigned peer) {
    return {0x02, 0, 0, 0, 1, static_cast<uint8_t>(2 + peer)};
  }
  roce::IpAddr address(uint8_t id) const {
    return host->config().ipv6 ? host->ip(id) : roce::ipv4_address(192, 168, 0, id);
  }
  roce::FrameSpec spec(unsigned n, uint8_t opcode) const {
    roce::FrameSpec s;
    s.eth_dst = host->mac(1);
    s.eth_src = peer_mac(qps[n].peer);
    s.ip_src = address(static_cast<uint8_t>(2 + qps[n].peer));
    s.ip_dst = address(1);
    if (host->config().ipv6) s.flow_label = 0x123;
    s.dest_qp = qps[n].qp->number();
    s.opcode = opcode;
    s.tos = kCe;
    return s;
  }
  void send(const roce::FrameSpec& s, std::span<const uint8_t> payload = {},
            const roce::IntTrailer* trailer = nullptr, sim::TimePs at = 0) {
    std::vector<uint8_t> f(roce::frame_size(s, payload.size()));
    f.resize(roce::build_frame(s, payload, f));
    if (trailer != nullptr) {
      const size_t n = f.size();
      f.resize(n + roce::kIntBytes);
      f.resize(roce::append_int(f, n, *trailer));
    }
    send_bytes(std::move(f), at);
  }
  // Not before `at`; frames keep their order.
  void send_bytes(std::vector<uint8_t> f, sim::TimePs at = 0) {
    out.push_back({at, std::move(f), false});
  }
  // A WRITE of one packet with this ECN field, in order.
  void write(unsigned n, uint8_t ecn, const roce::IntTrailer* trailer = nullptr,
             bool ack_req = false) {
    roce::FrameSpec s = spec(n, qps[n].service == RNIC_QP_TYPE_UC ? 0x2A : roce::kRcWriteOnly);
    s.tos = ecn;
    s.psn = qps[n].psn++;
    s.va = memory->va;
    s.rkey = memory->key;
    s.dma_len = 64;
    s.ack_req = ack_req;
    send(s, std::vector<uint8_t>(64, 1), trailer);
  }
  void run_ns(uint64_t ns) { world.run_until(world.now_ps() + ns * 1000); }
  uint64_t counter(uint32_t index) { return host->nic().counter(index); }
  std::vector<Seen> of(uint8_t opcode) const {
    std::vector<Seen> found;
    std::copy_if(frames.begin(), frames.end(), std::back_inserter(found),
                 [&](const Seen& f) { return f.view().opcode == opcode; });
    return found;
  }

  struct Connection {
    sim::Qp* qp;
    unsigned peer;
    uint32_t psn;
    uint8_t service;
  };
  sim::World world;
  sim::Node* node;
  wire::Link* link;
  std::unique_ptr<sim::Host> host;
  sim::Region* memory;
  std::vector<Connection> qps;
  std::vector<Seen> frames;                 // that the NIC has sent
  bool telemetry = false;                   // they may have INT trailers
  std::function<void(const Seen&)> answer;  // told of each of them
  sim::TimePs arrived_ps = 0;               // when the last frame sent to the NIC is in
  sim::TimePs noted_ps = 0;                 // and the last one with a note
  struct Out {
    sim::TimePs at;
    std::vector<uint8_t> bytes;
    bool note = false;
  };
  std::vector<Out> out;

 private:
  void edge(sim::TimePs now) {
    wire::FrameInfo info;
    while (link->rx(1).take(now, info)) {
      CHECK(roce::check_frame(info.bytes, {.allow_trailer = telemetry}).empty());
      frames.push_back({info.first_ps, {info.bytes.begin(), info.bytes.end()}});
      if (answer) answer(frames.back());
    }
    while (next_ < out.size() && out[next_].at <= now && link->tx(1).free_at() <= now + 50'000) {
      // With preamble, FCS and the cable's delay.
      arrived_ps = std::max(now, link->tx(1).free_at()) + 50'000 +
                   (out[next_].bytes.size() + 12) * 8'000'000'000'000 / test_rate();
      if (out[next_].note) noted_ps = arrived_ps;
      link->tx(1).send(now, out[next_].bytes, false);
      ++next_;
    }
  }
  size_t next_ = 0;
};

void report_reaction(const Peer& p, const std::string& what, double ns) {
  const double cycles = ns * 1e3 / static_cast<double>(p.node->nic().info().core_ps);
  WARN(
      fmt::format("{}: from its end on the cable to the new rate on the cable {:.0f} ns, {:.0f} "
                  "core cycles",
                  what, ns, cycles));
}

void put(std::vector<uint8_t>& f, size_t at, std::span<const uint8_t> bytes) {
  std::copy(bytes.begin(), bytes.end(), f.begin() + static_cast<long>(at));
}

// Of the telemetry that the NICs of this width use.
uint8_t int_unit() {
  return static_cast<uint8_t>(
      std::countr_zero(settings(driver::CcMode::kHpccWindow).hpcc.int_multi));
}
roce::IntTrailer trailer_of(const std::vector<uint8_t>& f) {
  roce::IntTrailer t;
  const size_t at = roce::find_int(f);
  REQUIRE(at != 0);
  REQUIRE(roce::read_int(std::span(f).subspan(at), t));
  return t;
}
roce::IntTrailer some_trailer(Rng& random, unsigned hops) {
  roce::IntTrailer t;
  t.unit = int_unit();
  t.hops = static_cast<uint8_t>(hops);
  t.path = static_cast<uint16_t>(random.bits(12));
  for (unsigned i = 0; i < std::min(hops, roce::kIntHops); ++i)
    t.hop[i] = {2, static_cast<uint32_t>(random.bits(24)), static_cast<uint32_t>(random.bits(20)),
                static_cast<uint32_t>(random.bits(17))};
  return t;
}

// Writes a hop into every trailer as a switch does, and keeps what it wrote.
class Stamper : public wire::FaultHook {
 public:
  std::vector<roce::IntTrailer> stamped, echoes;
  uint64_t without = 0;
  uint32_t ts = 0, tx = 0, queue = 0;  // of a port that is never faster than its link
  void on_frame(wire::FrameEdit& f) override {
    const size_t at = roce::find_int(f.bytes);
    if (at == 0) {
      ++without;
      return;
    }
    const auto bytes = f.bytes.subspan(at);
    roce::IntTrailer t;
    CHECK(roce::read_int(bytes, t));
    if (t.echo) {
      echoes.push_back(t);
      return;
    }
    ++tx;
    queue = (queue + 77) & 0x1FF;
    roce::push_hop(bytes, {3, (ts += 1000) & roce::kIntTsMask, tx & roce::kIntTxMask, queue},
                   int_unit(), 9);
    roce::read_int(bytes, t);
    stamped.push_back(t);
    f.edited = true;
  }
};

// Marks frames of one direction as a switch does, all that are ECN capable.
class Marker : public wire::FaultHook {
 public:
  bool on = true;
  uint64_t marked = 0;
  void on_frame(wire::FrameEdit& f) override {
    if (!on) return;
    f.edited = roce::mark_congestion(f.bytes);
    marked += f.edited;
  }
};

}  // namespace

TEST_CASE("a marked packet brings a CNP that equals the recorded one, byte for byte", "[short]") {
  Peer p;
  apply(*p.host, settings(driver::CcMode::kDcqcn));
  p.add_qp();
  p.write(0, kCe);
  p.run_ns(3000);
  const auto cnps = p.of(roce::kCnp);
  REQUIRE(cnps.size() == 1);
  const std::vector<uint8_t>& got = cnps[0].bytes;
  std::vector<uint8_t> want = from_hex(kVectors[12].hex);
  REQUIRE(kVectors[12].number == 13);
  // Addresses, identification, source port and DestQP; checksum and iCRC again.
  put(want, 0, Peer::peer_mac(0));
  put(want, 6, p.host->mac(1));
  put(want, 26, std::array<uint8_t, 8>{192, 168, 0, 1, 192, 168, 0, 2});
  put(want, 18, std::span(got).subspan(18, 2));
  put(want, 34, std::span(got).subspan(34, 2));
  put(want, 47, std::array<uint8_t, 3>{0, kPeerQpn >> 8, kPeerQpn & 0xFF});
  roce::fix_ipv4_checksum(want);
  roce::fix_icrc(want);
  CHECK(got == want);
  CHECK(p.counter(RNIC_CNT_NP_ECN_MARKED_ROCE_PACKETS) == 1);
  CHECK(p.counter(RNIC_CNT_NP_CNP_SENT) == 1);
}

TEST_CASE("CNPs over IPv6 and with a VLAN tag have their class too") {
  Peer p({.id = 1, .ipv6 = true, .vlan = true, .vlan_id = 5, .pcp = 2});
  driver::CcSettings s = settings(driver::CcMode::kDcqcn);
  s.cnp.dscp = 26;
  s.cnp.pcp = 5;
  apply(*p.host, s);
  p.add_qp();
  roce::FrameSpec f = p.spec(0, roce::kRcWriteOnly);
  f.vlan_count = 1;
  f.vlan_tci[0] = 2 << 13 | 5;
  f.psn = kPsn;
  f.va = p.memory->va;
  f.rkey = p.memory->key;
  f.dma_len = 8;
  f.ack_req = true;
  p.send(f, std::vector<uint8_t>(8));
  p.run_ns(3000);
  const auto cnps = p.of(roce::kCnp), acks = p.of(roce::kRcAcknowledge);
  REQUIRE(cnps.size() == 1);
  REQUIRE(acks.size() == 1);
  const roce::FrameView v = cnps[0].view(), a = acks[0].view();
  CHECK(v.ipv6);
  CHECK(v.dscp() == 26);
  CHECK(v.ecn() == 2);
  CHECK(v.becn);
  CHECK_FALSE(v.mig_req);
  CHECK(v.dest_qp == kPeerQpn);
  CHECK((cnps[0].bytes[14] << 8 | cnps[0].bytes[15]) == (5 << 13 | 5));
  CHECK(a.dscp() == 7);  // the path's
  CHECK((acks[0].bytes[14] << 8 | acks[0].bytes[15]) == (2 << 13 | 5));
}

TEST_CASE("what brings no CNP: DCQCN off, no mark, no such QP, UD, a CNP or an ACK") {
  Peer p;
  p.add_qp();
  p.write(0, kCe);
  apply(*p.host, settings(driver::CcMode::kHpccFormula));
  p.write(0, kCe);
  p.run_ns(3000);
  CHECK(p.of(roce::kCnp).empty());
  CHECK(p.counter(RNIC_CNT_NP_ECN_MARKED_ROCE_PACKETS) == 2);
  apply(*p.host, settings(driver::CcMode::kDcqcn));
  for (uint8_t ecn : {0, 1, 2}) p.write(0, ecn);
  roce::FrameSpec s = p.spec(0, roce::kRcWriteOnly);
  s.dest_qp = 200;
  p.send(s, std::vector<uint8_t>(8));
  s = p.spec(0, roce::kCnp);
  s.becn = true;
  p.send(s);
  p.send(p.spec(0, roce::kRcAcknowledge));
  s = p.spec(0, roce::kRcWriteOnly);
  s.ip_src = p.address(77);
  p.send(s, std::vector<uint8_t>(8));
  p.run_ns(3000);
  CHECK(p.of(roce::kCnp).empty());
  // What the switch marked, whatever became of it.
  CHECK(p.counter(RNIC_CNT_NP_ECN_MARKED_ROCE_PACKETS) == 6);
  // A packet out of order, or repeated, was marked all the same.
  s = p.spec(0, roce::kRcWriteOnly);
  s.psn = kPsn + 500;
  p.send(s, std::vector<uint8_t>(8));
  p.run_ns(3000);
  CHECK(p.of(roce::kCnp).size() == 1);
  CHECK(p.counter(RNIC_CNT_NP_CNP_SENT) == 1);
}

TEST_CASE("one CNP per flow and interval: per QP, per address, per port") {
  using driver::CnpScope;
  for (CnpScope scope : {CnpScope::kQp, CnpScope::kAddress, CnpScope::kPort}) {
    INFO("scope " << static_cast<int>(scope));
    Peer p;
    driver::CcSettings s = settings(driver::CcMode::kDcqcn, 5000);
    s.cnp.scope = scope;
    apply(*p.host, s);
    p.add_qp(0);
    p.add_qp(0);
    p.add_qp(1);
    for (int i = 0; i < 100; ++i) {
      for (unsigned n = 0; n < 3; ++n) p.write(n, kCe);
    }
    const size_t flows = scope == CnpScope::kQp ? 3 : scope == CnpScope::kAddress ? 2 : 1;
    p.run_ns(3000);
    CHECK(p.of(roce::kCnp).size() == flows);
    p.run_ns(12'000);  // all 300 packets have come long ago
    for (int round = 0; round < 3; ++round) {
      for (unsigned n = 0; n < 3; ++n) p.write(n, kCe);
      p.run_ns(6000);
    }
    const auto cnps = p.of(roce::kCnp);
    CHECK(p.counter(RNIC_CNT_NP_CNP_SENT) == cnps.size());
    CHECK(cnps.size() >= 4 * flows);
    // Never two of a flow within the interval.
    std::map<uint32_t, sim::TimePs> last;
    for (const Seen& c : cnps) {
      const roce::FrameView v = c.view();
      const uint32_t flow = scope == CnpScope::kQp        ? v.dest_qp
                            : scope == CnpScope::kAddress ? v.ip_dst[15]
                                                          : 0;
      if (last.count(flow)) CHECK(c.first_ps - last[flow] >= 4'900'000);
      last[flow] = c.first_ps;
    }
  }
}

TEST_CASE("UC packets are answered by CNPs as well") {
  Peer p;
  apply(*p.host, settings(driver::CcMode::kDcqcn));
  p.add_qp(0, RNIC_QP_TYPE_UC);
  p.write(0, kCe);
  p.run_ns(3000);
  REQUIRE(p.frames.size() == 1);
  CHECK(p.frames[0].view().opcode == roce::kCnp);
  CHECK(p.frames[0].view().dest_qp == kPeerQpn);
}

TEST_CASE("a CNP does not wait behind data") {
  Peer p;
  apply(*p.host, settings(driver::CcMode::kDcqcn, 0));
  sim::Qp& qp = p.add_qp();
  p.add_qp();
  sim::Region target = *p.memory;  // whatever the peer's is
  p.host->write(qp, *p.memory, 0, target, 0, 100'000);
  p.run_ns(2500);
  const size_t before = p.frames.size();
  REQUIRE(before > 5);
  p.write(1, kCe);
  p.run_ns(1500);
  // Sent with the packets that were on their way: behind three frames of data at most.
  const auto cnps = p.of(roce::kCnp);
  REQUIRE(cnps.size() == 1);
  CHECK(p.frames.back().view().opcode != roce::kCnp);  // the data go on
  const uint64_t data_before =
      static_cast<uint64_t>(std::count_if(p.frames.begin(), p.frames.end(), [&](const Seen& f) {
        return f.first_ps < cnps[0].first_ps && f.first_ps + 700'000 > cnps[0].first_ps;
      }));
  CHECK(data_before > 0);
}

TEST_CASE("a received CNP is counted and leaves PSNs alone", "[short]") {
  Peer p;
  apply(*p.host, settings(driver::CcMode::kDcqcn));
  sim::Qp& qp = p.add_qp();
  sim::Region target = *p.memory;
  p.host->write(qp, *p.memory, 0, target, 0, 3000);
  p.run_ns(2500);
  REQUIRE(p.frames.size() == 3);
  for (int i = 0; i < 5; ++i) {
    roce::FrameSpec s = p.spec(0, roce::kCnp);
    s.becn = true;
    s.tos = 48 << 2 | 2;
    s.psn = static_cast<uint32_t>(i) * 1000;
    if (i == 3) s.dest_qp = 200;
    if (i == 4) s.ip_src = p.address(9);
    p.send(s);
  }
  p.run_ns(1000);
  CHECK(p.counter(RNIC_CNT_RX_CNP) == 5);
  CHECK(p.counter(RNIC_CNT_RP_CNP_HANDLED) == 3);
  CHECK(p.counter(RNIC_CNT_RP_CNP_IGNORED) == 2);
  CHECK(p.counter(RNIC_CNT_RX_GHOST_ACKS) == 0);
  CHECK(p.host->nic().query_qp(qp.number()).una_psn == kPsn);
  roce::FrameSpec ack = p.spec(0, roce::kRcAcknowledge);
  ack.tos = 2;
  ack.psn = kPsn + 2;
  ack.syndrome = 0x1F;
  ack.msn = 1;
  p.send(ack);
  CHECK(p.host->wait_completion(qp).ok());
  CHECK(p.frames.size() == 3);
  // Off again: heard and ignored.
  driver::CcSettings off = settings(driver::CcMode::kDcqcn);
  off.enable = false;
  apply(*p.host, off);
  p.run_ns(1000);  // until the last register is written
  p.send(p.spec(0, roce::kCnp));
  p.run_ns(1000);
  CHECK(p.counter(RNIC_CNT_RP_CNP_IGNORED) == 3);
}

TEST_CASE("a CNP halves the rate on the wire, and it comes back as the facts say", "[short]") {
  Peer p;
  const driver::CcSettings s = settings(driver::CcMode::kDcqcn);
  apply(*p.host, s);
  const auto line = static_cast<double>(test_rate());
  sim::Qp& qp = p.add_qp();
  sim::Region target = *p.memory;  // whatever the peer's is
  const auto enough = static_cast<unsigned>(line * 400e-6 / 8 / 65536);
  for (unsigned i = 0; i < enough; ++i)
    p.host->post_write(qp, *p.memory, 0, target, 0, 65536, false);
  qp.qp->ring();
  p.run_ns(25'000);
  const auto cnp = [&] {
    roce::FrameSpec f = p.spec(0, roce::kCnp);
    f.becn = true;
    f.tos = 48 << 2 | 2;
    p.send(f);
    p.run_ns(1000);
    return p.arrived_ps;
  };
  const auto state = [&] { return driver::query_congestion(p.host->nic(), qp.number()); };
  // alpha = 1 at first, g = 1/256, periods of 55 us; F = 5: fast recovery all the time.
  double rc = line, rt = line, alpha = 1;
  const auto check_from = [&](sim::TimePs from, sim::TimePs to) {
    const double got = rate_between(p.frames, from, to);
    INFO("Rc " << rc * 1e-9 << " Gb/s, on the wire " << got * 1e-9 << ", "
               << static_cast<double>(p.world.now_ps()) * 1e-6 << " us");
    CHECK(std::abs(got / rc - 1) < 0.01);
    const driver::CcState now = state();
    CHECK(std::abs(now.rate_bps / rc - 1) < 1e-3);
    CHECK(std::abs(now.target_bps / rt - 1) < 1e-3);
    CHECK(std::abs(now.alpha - alpha) < 1e-3);
    CHECK(now.stage_name() == std::string("fast recovery"));
  };
  const auto cut = [&] {
    rt = rc;
    rc *= 1 - alpha / 2;
    alpha = alpha * 255 / 256 + 1.0 / 256;
  };
  const auto rise = [&] {
    rc = (rt + rc) / 2;
    alpha = alpha * 255 / 256;
  };
  const sim::TimePs us = 1'000'000;
  sim::TimePs t = cnp();
  cut();
  CHECK(p.counter(RNIC_CNT_RP_CNP_HANDLED) == 1);
  // What was made before has left after some microseconds.
  for (unsigned i = 0; i < 4; ++i) {
    p.world.run_until(t + (55 * i + 53) * us);
    check_from(t + (55 * i + (i == 0 ? 6 : 1)) * us, t + (55 * i + 52) * us);
    if (i < 3) rise();
  }
  // The packets of a full TX buffer leave first, at the old rate.
  double ns = change_ps(p.frames, t, 20 * us, 8 * us, 40 * us) * 1e-3;
  report_reaction(p, "CNP, from line rate behind a full TX buffer", ns);
  CHECK(ns > 0);
  CHECK(ns < 7000);
  // A second one, from an open cut: alpha has fallen three times.
  t = cnp();
  cut();
  p.world.run_until(t + 53 * us);
  check_from(t + 2 * us, t + 52 * us);
  CHECK(state().state_name() == std::string("RECOVERY"));
  ns = change_ps(p.frames, t, 20 * us, 2 * us, 40 * us) * 1e-3;
  report_reaction(p, "CNP, to a QP that was paced", ns);
  CHECK(ns > 0);
  CHECK(ns < 1500);
  CHECK(p.counter(RNIC_CNT_CC_EVENTS_LOST) == 0);
}

TEST_CASE("READ responses count for the byte counter of who answers") {
  Peer p;
  driver::CcSettings s = settings(driver::CcMode::kDcqcn);
  s.dcqcn.byte_reset = 20'000;
  apply(*p.host, s);
  sim::Qp& qp = p.add_qp();
  roce::FrameSpec f = p.spec(0, roce::kCnp);
  f.becn = true;
  p.send(f);
  p.run_ns(1000);
  f = p.spec(0, roce::kRcReadRequest);
  f.tos = 2;
  f.psn = kPsn;
  f.va = p.memory->va;
  f.rkey = p.memory->key;
  f.dma_len = 65536;
  p.send(f);
  p.run_ns(20'000);
  REQUIRE(p.frames.size() == 64);
  double bytes = 0;
  for (const Seen& r : p.frames) bytes += on_wire(r);
  const driver::CcState state = driver::query_congestion(p.host->nic(), qp.number());
  CHECK(state.byte_steps == static_cast<unsigned>(bytes / 20'000));
  CHECK(state.time_steps == 0);
}

TEST_CASE("CNPs before congestion control is ready count as ignored") {
  Peer p;
  p.add_qp();
  // Another g: its tables are filled anew, and nobody waits for them here.
  for (const driver::CcRegister& r : driver::cc_registers(settings(driver::CcMode::kDcqcn)))
    p.host->nic().write(r.offset, r.value);
  roce::FrameSpec f = p.spec(0, roce::kCnp);
  f.becn = true;
  p.send(f);
  p.run_ns(1000);
  CHECK(p.counter(RNIC_CNT_RP_CNP_IGNORED) == 1);
  CHECK((p.host->nic().read(RNIC_CSR_CC_STATE) & RNIC_CSR_CC_STATE_READY_MASK) == 0);
  p.run_ns(40'000);
  CHECK((p.host->nic().read(RNIC_CSR_CC_STATE) & RNIC_CSR_CC_STATE_READY_MASK) != 0);
  p.send(f);
  p.run_ns(1000);
  CHECK(p.counter(RNIC_CNT_RP_CNP_HANDLED) == 1);
}

TEST_CASE("two NICs over a cable that marks: CNPs for WRITEs and for READ responses") {
  for (bool read : {false, true}) {
    INFO((read ? "READ" : "WRITE"));
    Marker marks;  // on what a sends: WRITEs, or READ responses
    BedOptions options;
    options.faults_a = &marks;
    Bed bed(options);
    apply(*bed.a.host, settings(driver::CcMode::kDcqcn, 1000));
    apply(*bed.b.host, settings(driver::CcMode::kDcqcn, 1000));
    auto [qa, qb] = bed.connect({.mtu = 1024});
    sim::Region& ra = bed.a.host->region(sim::Place::kHost, 65536);
    sim::Region& rb = bed.b.host->region(sim::Place::kHost, 65536);
    Rng random = rng("payload");
    const std::vector<uint8_t> data = fill(bed, bed.a, ra, random);
    bed.watch();
    bed.expect(bed.b, rb, 0, data);
    if (read) {
      driver::WorkRequest w;
      w.opcode = RNIC_WQE_OPCODE_READ;
      w.remote_va = ra.va;
      w.rkey = ra.key;
      w.local = {{rb.key, 65536, rb.va}};
      qb->qp->post(w);
      qb->qp->ring();
      CHECK(bed.b.host->wait_completion(*qb).ok());
    } else {
      bed.a.host->write(*qa, ra, 0, rb, 0, 65536);
      CHECK(bed.a.host->wait_completion(*qa).ok());
    }
    bed.run_ns(2000);
    CHECK(marks.marked >= 64);
    CHECK(bed.counter(bed.b, RNIC_CNT_NP_ECN_MARKED_ROCE_PACKETS) == marks.marked);
    const uint64_t sent = bed.counter(bed.b, RNIC_CNT_NP_CNP_SENT);
    CHECK(sent >= 1);
    CHECK(sent < 64);
    CHECK(bed.counter(bed.a, RNIC_CNT_RX_CNP) == sent);
    CHECK(bed.counter(bed.a, RNIC_CNT_RP_CNP_HANDLED) == sent);
    CHECK(bed.counter(bed.a, RNIC_CNT_RP_CNP_IGNORED) == 0);
    bed.check();
  }
}

TEST_CASE("while HPCC is off no frame has a trailer, and with it frames differ by it only") {
  std::vector<std::vector<uint8_t>> frames[2];
  for (bool on : {false, true}) {
    Peer p;
    p.telemetry = on;
    driver::CcSettings s = settings(driver::CcMode::kHpccWindow);
    s.enable = on;
    apply(*p.host, s);
    sim::Qp& qp = p.add_qp();
    sim::Qp& uc = p.add_qp(0, RNIC_QP_TYPE_UC);
    sim::Region target = *p.memory;  // whatever the peer's is
    p.host->write(qp, *p.memory, 0, target, 0, 4001);
    p.run_ns(2000);
    p.host->write(uc, *p.memory, 0, target, 0, 77);
    p.run_ns(2000);
    driver::WorkRequest read;
    read.opcode = RNIC_WQE_OPCODE_READ;
    read.remote_va = 0x1000;
    read.local = {{p.memory->key, 100, p.memory->va}};
    qp.qp->post(read);
    qp.qp->ring();
    p.run_ns(2000);
    roce::IntTrailer t;
    t.unit = int_unit();
    p.write(0, 2, on ? &t : nullptr, true);
    p.run_ns(2000);
    REQUIRE(p.frames.size() == 4 + 1 + 1 + 1);
    for (const Seen& f : p.frames) frames[on].push_back(f.bytes);
  }
  for (size_t i = 0; i < 7; ++i) {
    INFO("frame " << i);
    CHECK(roce::find_int(frames[0][i]) == 0);
    std::vector<uint8_t> f = frames[1][i];
    const bool has = i < 4 || i == 6;  // WRITEs, and the ACK; not UC, not the READ request
    CHECK((roce::find_int(f) != 0) == has);
    if (has) {
      roce::IntTrailer want;
      want.unit = int_unit();
      want.echo = i == 6;
      CHECK(trailer_of(f) == want);
      f.resize(f.size() - roce::kIntBytes);
      if (f.size() < roce::kMinFrame) f.resize(roce::kMinFrame);
    }
    CHECK(f == frames[0][i]);
  }
}

TEST_CASE("an ACK echoes the newest trailer, once, and memory sees nothing of it", "[short]") {
  Peer p;
  p.telemetry = true;
  apply(*p.host, settings(driver::CcMode::kHpccWindow));
  p.add_qp();
  p.add_qp();
  Rng random = rng("trailers");
  mem::MemoryChecker checker(p.node->memory());
  checker.snapshot();
  p.host->ignore_written_rings(checker);
  roce::IntTrailer newest;
  for (int i = 0; i < 5; ++i) {
    const roce::IntTrailer t = some_trailer(random, 1 + static_cast<unsigned>(i));
    p.write(0, 2, &t, i == 4);
    newest = t;
  }
  const roce::IntTrailer other = some_trailer(random, 2);
  p.write(1, 2, &other, true);
  p.run_ns(3000);
  const auto acks = p.of(roce::kRcAcknowledge);
  REQUIRE(acks.size() == 2);
  for (const Seen& a : acks) {
    roce::IntTrailer want = a.view().dest_qp == kPeerQpn ? newest : other;
    want.echo = true;
    CHECK(trailer_of(a.bytes) == want);
  }
  // Repeated without a trailer, and with bad ones: no echo, but ACKs all the same.
  p.frames.clear();
  p.write(0, 2, nullptr, true);
  p.run_ns(2000);
  for (size_t byte : {0u, 2u, 3u, 6u}) {
    Peer::Connection& c = p.qps[0];
    roce::FrameSpec s = p.spec(0, roce::kRcWriteOnly);
    s.tos = 2;
    s.psn = c.psn++;
    s.va = p.memory->va;
    s.rkey = p.memory->key;
    s.dma_len = 64;
    s.ack_req = true;
    std::vector<uint8_t> f(roce::frame_size(s, 64) + roce::kIntBytes);
    f.resize(roce::build_frame(s, std::vector<uint8_t>(64, 1), f));
    const size_t n = f.size();
    f.resize(n + roce::kIntBytes);
    f.resize(roce::append_int(f, n, some_trailer(random, 3)));
    f[n + byte] ^= 0x02;
    p.send_bytes(f);
    p.run_ns(2000);
  }
  CHECK(p.frames.size() == 5);
  for (const Seen& a : p.frames) CHECK(roce::find_int(a.bytes) == 0);
  checker.expect_write(p.memory->buffer, 0, std::vector<uint8_t>(64, 1).data(), 64);
  if (auto d = checker.compare()) FAIL_CHECK(d->to_string());
}

TEST_CASE("an echo in another unit, or that cannot be, is counted and disturbs nothing") {
  Peer p;
  p.telemetry = true;
  apply(*p.host, settings(driver::CcMode::kHpccWindow));
  sim::Qp& qp = p.add_qp();
  sim::Region target = *p.memory;
  Rng random = rng("echoes");
  for (unsigned i = 0; i < 4; ++i) {
    p.host->write(qp, *p.memory, 0, target, 0, 100);
    p.run_ns(1000);
    roce::FrameSpec s = p.spec(0, roce::kRcAcknowledge);
    s.tos = 2;
    s.psn = kPsn + i;
    s.syndrome = 0x1F;
    roce::IntTrailer t = some_trailer(random, i == 2 ? 9 : 2);
    t.echo = true;
    if (i == 1) t.unit ^= 1;
    if (i == 3) t.hop[1].rate = 7;
    p.send(s, {}, &t);
    CHECK(p.host->wait_completion(qp).ok());
  }
  CHECK(p.counter(RNIC_CNT_RX_INT_UNUSED) == 1);
  CHECK(p.counter(RNIC_CNT_CC_INT_BAD) == 2);
  CHECK(p.counter(RNIC_CNT_RX_ACK) == 4);
}

TEST_CASE("two NICs over a cable that stamps: every echo is the newest stamp", "[short]") {
  for (bool vlan : {false, true}) {
    Stamper there, back;
    BedOptions options;
    options.host.ipv6 = options.host.vlan = vlan;
    options.host.vlan_id = vlan ? 4 : 0;
    options.host.ack_req_every = 1;
    options.faults_a = &there;
    options.faults_b = &back;
    options.telemetry = true;
    Bed bed(options);
    apply(*bed.a.host, settings(driver::CcMode::kHpccWindow));
    apply(*bed.b.host, settings(driver::CcMode::kHpccWindow));
    auto [qa, qb] = bed.connect({.mtu = 4096});
    sim::Region& ra = bed.a.host->region(sim::Place::kHost, 65536);
    sim::Region& rb = bed.b.host->region(sim::Place::kHost, 65536);
    Rng random = rng("payload");
    const std::vector<uint8_t> data = random.bytes(65536);
    ra.buffer.write(0, data.data(), data.size());
    bed.watch();
    size_t at = 0;
    for (uint32_t length : {0u, 1u, 60u, 61u, 4096u, 4097u, 12'000u}) {
      bed.a.host->write(*qa, ra, at, rb, at, length);
      CHECK(bed.a.host->wait_completion(*qa).ok());
      bed.expect(
          bed.b, rb, at,
          {data.begin() + static_cast<long>(at), data.begin() + static_cast<long>(at + length)});
      at += length;
    }
    bed.run_ns(3000);
    CHECK(there.without == 0);
    CHECK(there.stamped.size() == 1 + 1 + 1 + 1 + 1 + 2 + 3);
    // Each echo is a stamp, in order; the last packet's came back.
    REQUIRE(!back.echoes.empty());
    size_t next = 0;
    for (roce::IntTrailer e : back.echoes) {
      CHECK(e.echo);
      e.echo = false;
      const auto it =
          std::find(there.stamped.begin() + static_cast<long>(next), there.stamped.end(), e);
      REQUIRE(it != there.stamped.end());
      next = static_cast<size_t>(it - there.stamped.begin()) + 1;
    }
    CHECK(next == there.stamped.size());
    CHECK(bed.counter(bed.a, RNIC_CNT_RX_INT_UNUSED) == 0);
    CHECK(bed.counter(bed.a, RNIC_CNT_CC_INT_BAD) == 0);
    CHECK(bed.counter(bed.a, RNIC_CNT_CC_EVENTS_LOST) == 0);
    bed.check();
  }
}

namespace {

// The far end of a Peer as a receiver behind one switch port: every data packet waits in a queue
// that a link of `rate` empties, and its ACK brings back what the port was like when it left.
struct Bottleneck {
  Peer& p;
  double rate;           // b/s of the port; 0: none, the queue is what `queue` says
  sim::TimePs delay_ps;  // from the port to the ACK
  double queue = 0;      // bytes
  double sent = 0;       // by the port
  double free_ps = 0;    // when the port has sent all that has come
  double most = 0;       // of queue
  bool note = false;     // when the next ACK is in
  uint8_t code = 3;
  bool rare = false;  // telemetry in such ACKs only; then the two newest are kept
  roce::IntHop hop = {}, last_hop = {};

  void operator()(const Seen& f) {
    const roce::FrameView v = f.view();
    if (roce::find_int(f.bytes) == 0) return;
    const double bytes = on_wire(f);
    auto now = static_cast<double>(f.first_ps) + bytes * 8e12 / static_cast<double>(test_rate());
    if (rate > 0) {
      const double ps_per_byte = 8e12 / rate;
      free_ps = std::max(free_ps, now) + bytes * ps_per_byte;
      queue = (free_ps - now) / ps_per_byte - bytes;  // what stood before it
      most = std::max(most, queue);
      now = free_ps;
    }
    sent += bytes;
    roce::IntTrailer t;
    t.echo = true;
    t.unit = int_unit();
    t.hops = 1;
    t.path = 5;
    t.hop[0] = roce::make_hop(code, static_cast<uint64_t>(now), static_cast<uint64_t>(sent),
                              static_cast<uint64_t>(queue), t.unit);
    roce::FrameSpec ack = p.spec(0, roce::kRcAcknowledge);
    ack.tos = 2;
    ack.psn = v.psn;
    ack.syndrome = 0x1F;
    const bool tells = note || !rare;
    if (tells) {
      last_hop = hop;
      hop = t.hop[0];
    }
    p.send(ack, {}, tells ? &t : nullptr, static_cast<sim::TimePs>(now) + delay_ps);
    p.out.back().note = note;
    note = false;
  }
  // The load between the two newest telemetries, as fact sheet section 7 has it; more than T apart
  // it is U.
  double load(const driver::CcSettings& s) const {
    const double ns = (hop.ts - last_hop.ts) & roce::kIntTsMask;
    const double tx = (hop.tx - last_hop.tx) & roce::kIntTxMask;
    const auto t = static_cast<double>(s.hpcc.base_rtt_ns);
    REQUIRE(ns > t);
    const double bytes_per_ns = s.hpcc.line_bps / 8e9, multi = s.hpcc.int_multi;
    return tx * 128 * multi / ns / bytes_per_ns +
           std::min(hop.queue, last_hop.queue) * 80 * multi / (bytes_per_ns * t);
  }
};

void post_for(Peer& p, sim::Qp& qp, double microseconds) {
  sim::Region target = *p.memory;  // whatever the peer's is
  const auto n =
      static_cast<unsigned>(static_cast<double>(test_rate()) * microseconds * 1e-6 / 8 / 65536);
  for (unsigned i = 0; i < n; ++i)
    p.host->post_write(qp, *p.memory, 0, target, 0, 65536, i + 1 == n);
  qp.qp->ring();
}

}  // namespace

TEST_CASE("a NIC with HPCC and one without understand each other") {
  for (bool sender_on : {false, true}) {
    INFO((sender_on ? "the sender" : "the receiver") << " has HPCC on");
    Stamper there, back;
    BedOptions options;
    options.host.ack_req_every = 1;
    options.faults_a = &there;
    options.faults_b = &back;
    options.telemetry = true;
    Bed bed(options);
    Side& on = sender_on ? bed.a : bed.b;
    apply(*on.host, settings(driver::CcMode::kHpccWindow));
    auto [qa, qb] = bed.connect({.mtu = 1024});
    sim::Region& ra = bed.a.host->region(sim::Place::kHost, 65536);
    sim::Region& rb = bed.b.host->region(sim::Place::kHost, 65536);
    Rng random = rng("payload");
    const std::vector<uint8_t> data = fill(bed, bed.a, ra, random);
    bed.watch();
    bed.expect(bed.b, rb, 0, data);
    bed.a.host->write(*qa, ra, 0, rb, 0, 65536);
    CHECK(bed.a.host->wait_completion(*qa).ok());
    bed.run_ns(2000);
    CHECK(there.stamped.size() == (sender_on ? 64 : 0));
    CHECK(back.echoes.empty());
    CHECK(bed.counter(bed.a, RNIC_CNT_RX_INT_UNUSED) == 0);
    CHECK(bed.counter(bed.a, RNIC_CNT_CC_INT_BAD) == 0);
    bed.check();
  }
}

namespace {

// What no sound switch writes: any bytes into trailers, on both ways.
class Scribbler : public wire::FaultHook {
 public:
  Rng random = rng("scribbles");
  uint64_t scribbled = 0;
  void on_frame(wire::FrameEdit& f) override {
    const size_t at = roce::find_int(f.bytes);
    if (at == 0) return;
    auto bytes = f.bytes.subspan(at);
    // Mostly it stays a trailer: magic, version and what is reserved are as they were.
    const bool sound = random.chance(0.8);
    for (size_t i = 0; i < bytes.size(); ++i) {
      if ((!sound || i == 4 || i == 5 || i >= 8) && random.chance(0.8))
        bytes[i] = static_cast<uint8_t>(random.bits(8));
    }
    if (sound && random.chance(0.3)) bytes[2] ^= 0x10;                                  // unit
    if (random.chance(0.5)) bytes[5] = static_cast<uint8_t>((bytes[5] & 0x0F) | 0x20);  // hops
    ++scribbled;
    f.edited = true;
  }
};

}  // namespace

TEST_CASE("telemetry that cannot be, on both ways: nothing hangs, every byte arrives") {
  for (driver::CcMode mode : {driver::CcMode::kHpccFormula, driver::CcMode::kHpccWindow}) {
    Scribbler there, back;
    BedOptions options;
    options.host.ack_req_every = 1;
    options.faults_a = &there;
    options.faults_b = &back;
    options.check_wire = false;  // its trailers are wrong
    Bed bed(options);
    driver::CcSettings s = settings(mode);
    s.dcqcn.min_bps = s.hpcc.min_bps = 5e9;  // what telemetry of nonsense says must end some time
    apply(*bed.a.host, s);
    apply(*bed.b.host, s);
    auto [qa, qb] = bed.connect({.mtu = 1024});
    sim::Region& ra = bed.a.host->region(sim::Place::kHost, 65536);
    sim::Region& rb = bed.b.host->region(sim::Place::kHost, 65536);
    Rng random = rng("payload");
    const std::vector<uint8_t> data = fill(bed, bed.a, ra, random);
    bed.watch();
    bed.expect(bed.b, rb, 0, data);
    for (int i = 0; i < 8; ++i) {
      bed.a.host->write(*qa, ra, 0, rb, 0, 65536);
      CHECK(bed.a.host->wait_completion(*qa, 1'000'000'000).ok());
    }
    bed.run_ns(2000);
    CHECK(there.scribbled == 8 * 64);
    CHECK(back.scribbled > 0);
    CHECK(bed.counter(bed.a, RNIC_CNT_CC_INT_BAD) > 0);
    CHECK(bed.counter(bed.a, RNIC_CNT_RX_INT_UNUSED) > 0);
    CHECK(bed.counter(bed.a, RNIC_CNT_RX_ICRC_ERRORS) == 0);
    CHECK(bed.counter(bed.b, RNIC_CNT_RX_ICRC_ERRORS) == 0);
    CHECK(bed.counter(bed.a, RNIC_CNT_TX_RESENT) == 0);
    bed.check();
  }
}

TEST_CASE("HPCC, formula: the rate on the wire follows the queue that ACKs bring back", "[short]") {
  Peer p;
  p.telemetry = true;
  const driver::CcSettings s = settings(driver::CcMode::kHpccFormula);
  apply(*p.host, s);
  sim::Qp& qp = p.add_qp();
  Bottleneck port{.p = p, .rate = 0, .delay_ps = 1'000'000};
  p.answer = [&](const Seen& f) { port(f); };
  post_for(p, qp, 230);
  const auto line = static_cast<double>(test_rate());
  const sim::TimePs us = 1'000'000;
  p.run_ns(20'000);
  CHECK(rate_between(p.frames, p.world.now_ps() - 10 * us, p.world.now_ps()) > 0.97 * line);
  // Of Kmax; R = C (1 - alpha Q / Kmax), alpha 0.5.
  for (double part : {0.5, 1.0, 1.6, 0.25}) {
    const double unit = 80.0 * s.hpcc.int_multi;
    port.queue = std::round(part * s.hpcc.kmax_bytes / unit) * unit;
    const sim::TimePs t = p.world.now_ps();
    port.note = true;
    p.run_ns(50'000);
    const double want = line * (1 - 0.5 * port.queue / s.hpcc.kmax_bytes);
    const double got = rate_between(p.frames, t + 20 * us, t + 50 * us);
    INFO("queue " << port.queue << " B: " << want * 1e-9 << " Gb/s expected, " << got * 1e-9);
    // The ratio has 1024 steps.
    CHECK(std::abs(got / want - 1) < 0.01 + line / want / 1024);
    CHECK(std::abs(driver::query_congestion(p.host->nic(), qp.number()).rate_bps - want) <
          line / 1000);
    if (part != 1.6) continue;  // from half the line rate to a fifth of it
    const double ns = change_ps(p.frames, p.noted_ps, 20 * us, 3 * us, 30 * us) * 1e-3;
    report_reaction(p, "ACK with telemetry, HPCC, formula", ns);
    CHECK(ns > 0);
    CHECK(ns < 1500);
  }
  port.queue = 0;
  p.run_ns(20'000);
  CHECK(driver::query_congestion(p.host->nic(), qp.number()).rate_bps == line);
  CHECK(p.counter(RNIC_CNT_CC_EVENTS_LOST) == 0);
  CHECK(p.counter(RNIC_CNT_CC_INT_BAD) == 0);
  CHECK(p.counter(RNIC_CNT_RX_INT_UNUSED) == 0);
}

TEST_CASE("HPCC, window: a NIC fills a slower port to eta, and its queue runs empty") {
  Peer p;
  p.telemetry = true;
  const driver::CcSettings s = settings(driver::CcMode::kHpccWindow);
  apply(*p.host, s);
  sim::Qp& qp = p.add_qp();
  Bottleneck port{
      .p = p, .rate = static_cast<double>(test_rate()) / 2, .delay_ps = 9'000'000, .code = 2};
  p.answer = [&](const Seen& f) { port(f); };
  post_for(p, qp, 500);
  const sim::TimePs us = 1'000'000;
  p.run_ns(40'000);
  CHECK(port.most > 40'000);  // a window of line rate came first
  p.run_ns(160'000);
  port.most = 0;
  const sim::TimePs t = p.world.now_ps();
  p.run_ns(100'000);
  const double got = rate_between(p.frames, t, t + 100 * us) / port.rate;
  INFO(got << " of the port's rate, at most " << port.most << " B in its queue");
  CHECK(got > 0.93);
  CHECK(got < 1.0);
  CHECK(port.most < 10'000);
  const driver::CcState state = driver::query_congestion(p.host->nic(), qp.number());
  CHECK(std::abs(state.alpha - 0.95) < 0.05);  // U
  CHECK(std::abs(state.rate_bps / port.rate - 0.95) < 0.05);
  CHECK(std::abs(state.window * 8e9 / static_cast<double>(s.hpcc.base_rtt_ns) / state.rate_bps -
                 1) < 0.01);
  CHECK(p.counter(RNIC_CNT_CC_INT_BAD) == 0);
  CHECK(p.counter(RNIC_CNT_RX_INT_UNUSED) == 0);
}

namespace {

// A NIC whose ACKs bring telemetry only now and then, more than T apart, so that one of them is U
// whole and makes a step; the queue is what the test says.
struct Steps {
  driver::CcSettings s = settings(driver::CcMode::kHpccWindow);
  Peer p;
  sim::Qp& qp = p.add_qp();
  Bottleneck port{.p = p, .rate = 0, .delay_ps = 0, .rare = true};
  double bdp = 0;  // B T, bytes

  explicit Steps(sim::TimePs delay_ps) {
    s.hpcc.max_stage = 0;  // W = Wc eta / U + W_AI at each of them
    bdp = s.hpcc.line_bps * static_cast<double>(s.hpcc.base_rtt_ns) / 8e9;
    p.telemetry = true;
    apply(*p.host, s);
    port.delay_ps = delay_ps;
    p.answer = [this](const Seen& f) { port(f); };
    post_for(p, qp, 400);
    p.run_ns(40'000);
  }
  // The ACK of the next packet says so; what the window becomes, by the one before, in bytes.
  double tell(double queue, double window, uint64_t then_ns) {
    port.queue = queue;
    port.note = true;
    p.run_ns(then_ns);
    const double ai = s.hpcc.ai_bps * static_cast<double>(s.hpcc.base_rtt_ns) / 8e9;
    return std::min(bdp, window * s.hpcc.eta / port.load(s) + ai);
  }
  double rate_of(double window) const {
    return window * 8e9 / static_cast<double>(s.hpcc.base_rtt_ns);
  }
  void check(double window) {
    const driver::CcState got = driver::query_congestion(p.host->nic(), qp.number());
    INFO("window " << window << " B expected");
    CHECK(std::abs(got.window / window - 1) < 0.01);
    CHECK(std::abs(got.rate_bps / rate_of(window) - 1) < 0.01);
  }
  // Runs until a burst has gone on for 1 us, and on to a pause of 3 us.
  void wait_burst() {
    wait([&](sim::TimePs begun, sim::TimePs last) {
      return last - begun > 1'000'000 && p.world.now_ps() - last < 200'000;
    });
  }
  void wait_pause() {
    wait([&](sim::TimePs, sim::TimePs last) { return p.world.now_ps() - last > 3'000'000; });
  }
  // When the last frame before a pause of 500 ns begins, from `from` on.
  sim::TimePs last_of_burst(sim::TimePs from) const {
    sim::TimePs last = from;
    for (const Seen& f : p.frames) {
      if (f.first_ps < from) continue;
      if (f.first_ps > last + 500'000) break;
      last = f.first_ps;
    }
    return last;
  }
  // Begin of the first frame from `at` on, and of the one before it.
  std::pair<sim::TimePs, sim::TimePs> around(sim::TimePs at) const {
    const auto next = std::find_if(p.frames.begin(), p.frames.end(),
                                   [&](const Seen& f) { return f.first_ps >= at; });
    REQUIRE(next != p.frames.begin());
    REQUIRE(next != p.frames.end());
    return {std::prev(next)->first_ps, next->first_ps};
  }

 private:
  // Until `done` of the begin of the burst that is under way, or was the last, and of its last
  // frame.
  void wait(const std::function<bool(sim::TimePs begun, sim::TimePs last)>& done) {
    for (unsigned i = 0; i < 2000; ++i) {
      const auto& f = p.frames;
      size_t n = f.size() - 1;
      while (n > 0 && f[n].first_ps - f[n - 1].first_ps <= 500'000) --n;
      if (done(f[n].first_ps, f.back().first_ps)) return;
      p.run_ns(50);
    }
    FAIL("no such moment in 100 us");
  }
};

// rtl/cc_unit/README.md, "Reaction time": 159 core cycles and a payload read of 101 ns.
double way_ns(const Peer& p) {
  return 159e-3 * static_cast<double>(p.node->nic().info().core_ps) + 101;
}

}  // namespace

TEST_CASE("HPCC, window: how long from an ACK to the new pace, to a stop, to an opened window") {
  const sim::TimePs us = 1'000'000;
  {
    // A short way: what is in flight never fills the window, so its pace W / T rules. From line
    // rate to half of it, and on to a fifth.
    Steps w(1 * us);
    double window = w.bdp;
    w.port.queue = 0.9 * w.bdp;
    w.port.note = true;
    w.p.run_ns(40'000);
    w.check(window);  // the first only tells where counters stand
    w.check(window = w.tell(1.875 * w.bdp, window, 40'000));
    CHECK(std::abs(window / w.bdp - 0.5) < 0.02);
    w.check(window = w.tell(1.875 * w.bdp, window, 40'000));
    CHECK(std::abs(window / w.bdp - 0.2) < 0.01);
    const sim::TimePs in = w.p.noted_ps;
    CHECK(std::abs(rate_between(w.p.frames, in + 3 * us, in + 33 * us) / w.rate_of(window) - 1) <
          0.01);
    const double ns = change_ps(w.p.frames, in, 20 * us, 3 * us, 30 * us) * 1e-3;
    report_reaction(w.p, "ACK with telemetry, HPCC, window: to the new pace", ns);
    CHECK(ns > 0);
    // And a packet at the old pace: where the lines meet is known no better.
    const double packet_ns = 8e9 * on_wire(w.p.frames.back()) / (0.5 * w.s.hpcc.line_bps);
    CHECK(ns < way_ns(w.p) + packet_ns);
  }
  {
    // A long way: the window is full, a burst per round trip. In a burst the window is cut, and
    // the QP stops.
    Steps w(20 * us);
    double window = w.bdp;
    w.port.queue = 2 * w.bdp;
    w.port.note = true;
    w.p.run_ns(60'000);
    w.wait_burst();
    w.check(window = w.tell(2 * w.bdp, window, 40'000));
    CHECK(window < 0.4 * w.bdp);
    double ns = static_cast<double>(w.last_of_burst(w.p.noted_ps) - w.p.noted_ps) * 1e-3;
    report_reaction(w.p, "ACK with telemetry, HPCC, window: to the last packet before a stop", ns);
    CHECK(ns > 0);
    // And what it had caught up with: a look at the window is due every 256 core cycles.
    CHECK(ns < way_ns(w.p) + 256e-3 * static_cast<double>(w.p.node->nic().info().core_ps));
    // Between bursts nothing may leave. The next ACK, of the first packet of a burst, opens the
    // window.
    w.p.run_ns(60'000);
    w.wait_pause();
    const double wider = w.tell(0, window, 60'000);
    w.check(wider);
    CHECK(wider > 1.5 * window);
    const auto [before, first] = w.around(w.p.noted_ps);
    CHECK(w.p.noted_ps - before > us);
    ns = static_cast<double>(first - w.p.noted_ps) * 1e-3;
    report_reaction(w.p, "ACK with telemetry, HPCC, window: to the first packet in a wider one",
                    ns);
    CHECK(ns > 0);
    CHECK(ns < way_ns(w.p));
  }
}
