// SPDX-License-Identifier: Apache-2.0
#include <Vtx_packetizer_w1024.h>
#include <Vtx_packetizer_w128.h>
#include <Vtx_packetizer_w256.h>
#include <Vtx_packetizer_w512.h>

#include <deque>
#include <map>
#include <optional>

#include "tests/harness_roce/vectors.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/stream.hpp"
#include "tests/tx_packetizer/tx_types.hpp"

using namespace rnic::test;
namespace roce = rnic::roce;

namespace {

struct InBeat {
  Bits data;
  unsigned cnt = 0;
  bool last = false;
  bool abort = false;
  Bits pkt;
  bool operator==(const InBeat&) const = default;
};

struct OutBeat {
  Bits data;
  unsigned cnt = 0;
  bool last = false;
  bool abort = false;
  Bits eth, tele;
  bool add = false, echo = false;
  bool operator==(const OutBeat&) const = default;
};

struct OutPacket {
  std::vector<uint8_t> bytes;
  bool abort = false;
  Bits eth, tele;
  bool add = false, echo = false;
  uint64_t first_cycle = 0, last_cycle = 0;
  size_t beats = 0;
};

template <class Top>
class PacketizerBench : public Bench<Top> {
 public:
  static constexpr size_t kBytes = sizeof(Top::req_data);

  PacketizerBench()
      : req_(*this, "req", this->top().req_valid, this->top().req_ready,
             [this](const InBeat& b) {
               auto& top = this->top();
               write_pin(top.req_data, b.data);
               top.req_cnt = static_cast<CData>(b.cnt);
               top.req_last = b.last;
               top.req_abort = b.abort;
               write_pin(top.req_pkt, b.pkt);
             }),
        rsp_(*this, "rsp", this->top().rsp_valid, this->top().rsp_ready, this->top().rsp),
        out_(*this, "out", this->top().out_valid, this->top().out_ready, [this] {
          auto& top = this->top();
          return OutBeat{read_pin(top.out_data), top.out_cnt,           top.out_last != 0,
                         top.out_abort != 0,     read_pin(top.out_eth), read_pin(top.out_int),
                         top.out_add != 0,       top.out_echo != 0};
        }) {
    this->top().cfg_mig_req_i = 1;
    set_cnp_class(48, 6);
    auto junk = rng("junk");
    req_.set_junk([junk]() mutable {
      return InBeat{Bits::random(junk, kBytes * 8), static_cast<unsigned>(junk.below(kBytes + 1)),
                    junk.chance(0.5), junk.chance(0.5), Bits::random(junk, kTxPkt.width())};
    });
    out_.on_item([this](const OutBeat& beat) { take(beat); });
    this->on_sample([this] {
      auto& top = this->top();
      if (top.path_lk_valid != 0 && top.path_lk_ready != 0) {
        lookups_.push_back({top.path_lk_index, this->cycle() + path_delay_()});
      }
      if (top.echo_get_o != 0) echo_of_ = top.echo_qpn_o;
      if (top.cnt_tx_no_path_o != 0) ++no_path;
      if (top.trc_valid_o != 0) traces.push_back({top.trc_o, top.trc_sampled_o != 0});
    });
    this->on_drive([this] {
      auto& top = this->top();
      top.echo_valid_i = echo_of_ && has_echo(*echo_of_);
      write_pin(top.echo_i, echo_of_ ? echo_for(*echo_of_) : Bits::random(path_random_, 340));
      top.path_lk_ready = !lookup_stall();
      top.path_valid = 0;
      write_pin(top.path, Bits::random(path_random_, kPath.width()));
      if (!lookups_.empty() && lookups_.front().due <= this->cycle()) {
        top.path_valid = 1;
        const auto found = paths.find(lookups_.front().index);
        write_pin(top.path, found == paths.end() ? Bits(kPath.width()) : found->second);
        lookups_.pop_front();
      }
    });
  }

  // What int_echo holds: of some QPs something, of others nothing.
  static bool has_echo(uint32_t qpn) { return qpn % 3 != 0; }
  static Bits echo_for(uint32_t qpn) {
    Bits b(340);
    for (size_t i = 0; i < 340; i += 20) b.set(i, 20, (qpn + i) * 7919 & 0xFFFFF);
    return b;
  }
  void set_int(bool on, unsigned unit) {
    this->top().cfg_int_i = on;
    this->top().cfg_int_unit_i = static_cast<CData>(unit);
  }
  void set_cnp_class(unsigned dscp, unsigned pcp) {
    this->top().cfg_cnp_dscp_i = static_cast<CData>(dscp);
    this->top().cfg_cnp_pcp_i = static_cast<CData>(pcp);
  }
  // Gives the packet a path of its own.
  void add_path(TxPacket& p) {
    p.path = static_cast<uint16_t>(next_path_++);
    paths[p.path] = p.path_context();
  }
  void send(const TxPacket& p) {
    const Bits pkt = p.description();
    size_t at = 0;
    do {
      const size_t n = std::min(kBytes, p.payload.size() - at);
      InBeat beat;
      beat.data = Bits::random(path_random_, kBytes * 8);  // junk behind the payload
      for (size_t i = 0; i < n; ++i) beat.data.set_byte(i, p.payload[at + i]);
      beat.cnt = static_cast<unsigned>(n);
      at += n;
      beat.last = at == p.payload.size();
      beat.abort = beat.last && p.abort;
      beat.pkt = at == n ? pkt : Bits::random(path_random_, kTxPkt.width());
      req_.push(beat);
    } while (at < p.payload.size());
  }
  void send_response(const TxPacket& p) { rsp_.push(p.description()); }

  // Forgets what came out, also a cut packet.
  void restart() {
    packets.clear();
    current_ = {};
    lookups_.clear();
  }

  void wait_packets(size_t count, uint64_t limit = 20000) {
    this->wait(
        "packets out", [&] { return packets.size() >= count; }, limit);
  }

  StreamSource<InBeat> req_;
  StreamSource<Bits> rsp_;
  StreamSink<OutBeat> out_;
  std::map<uint16_t, Bits> paths;
  Stall lookup_stall;
  unsigned path_latency_max = 1;
  std::vector<OutPacket> packets;
  uint64_t no_path = 0;
  struct Trace {
    uint64_t value;
    bool sampled;
  };
  std::vector<Trace> traces;

 private:
  struct Lookup {
    uint16_t index;
    uint64_t due;
  };
  // A lookup fired at edge c is answered in the cycle after it, or later.
  uint64_t path_delay_() { return path_random_.below(path_latency_max); }

  void take(const OutBeat& beat) {
    if (current_.beats == 0) {
      current_.first_cycle = this->cycle();
      current_.eth = beat.eth;
      current_.tele = beat.tele;
      current_.add = beat.add;
      current_.echo = beat.echo;
    }
    if (beat.add != current_.add || beat.echo != current_.echo || !(beat.tele == current_.tele))
      throw ProtocolError("telemetry changed inside a packet");
    if (!(beat.eth == current_.eth)) throw ProtocolError("out_eth changed inside a packet");
    if (beat.cnt == 0 || beat.cnt > kBytes || (!beat.last && beat.cnt != kBytes)) {
      throw ProtocolError("out_cnt " + std::to_string(beat.cnt));
    }
    for (size_t i = 0; i < kBytes; ++i) {
      if (i < beat.cnt) {
        current_.bytes.push_back(beat.data.byte(i));
      } else if (beat.data.byte(i) != 0) {
        throw ProtocolError("lane behind out_cnt is not zero");
      }
    }
    ++current_.beats;
    if (beat.last) {
      current_.abort = beat.abort;
      current_.last_cycle = this->cycle();
      packets.push_back(current_);
      current_ = {};
    }
  }

  Rng path_random_ = rng("path");
  std::deque<Lookup> lookups_;
  std::optional<uint32_t> echo_of_;
  OutPacket current_;
  unsigned next_path_ = 1;
};

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string out;
  for (const uint8_t b : bytes) {
    char text[3];
    snprintf(text, sizeof text, "%02x", b);
    out += text;
  }
  return out;
}

TxPacket from_view(const roce::FrameView& v) {
  TxPacket p;
  auto& s = p.spec;
  s.eth_dst = v.eth_dst;
  s.eth_src = v.eth_src;
  s.ip_src = v.ip_src;
  s.ip_dst = v.ip_dst;
  s.tos = v.tos;
  s.ttl = v.ttl;
  s.flow_label = v.flow_label;
  s.udp_src = v.udp_src;
  s.opcode = v.opcode;
  s.solicited = v.solicited;
  s.ack_req = v.ack_req;
  s.becn = v.becn;
  s.pkey = v.pkey;
  s.dest_qp = v.dest_qp;
  s.psn = v.psn;
  s.va = v.va;
  s.rkey = v.rkey;
  s.dma_len = v.dma_len;
  s.syndrome = v.syndrome;
  s.msn = v.msn;
  s.imm = v.imm;
  s.inv_rkey = v.inv_rkey;
  s.swap_add = v.swap_add;
  s.compare = v.compare;
  s.atomic_orig = v.atomic_orig;
  p.payload.assign(v.payload().begin(), v.payload().end());
  return p;
}

// Compares an output packet with the harness's frame. ip_id is read from the packet and checked by
// the caller.
void compare(const OutPacket& got, const TxPacket& sent) {
  const uint16_t ip_id = sent.ipv6() ? 0 : static_cast<uint16_t>(got.bytes[4] << 8 | got.bytes[5]);
  auto want = sent.expected(ip_id);
  if (sent.abort) {  // all bits of the iCRC wrong
    for (size_t i = want.size() - 4; i < want.size(); ++i) want[i] ^= 0xFF;
  }
  CHECK(hex(got.bytes) == hex(want));
  CHECK(got.abort == sent.abort);
  CHECK(got.eth == sent.eth());
}

std::vector<uint8_t> all_opcodes() {
  std::vector<uint8_t> out;
  for (uint8_t op = 0; op <= 0x17; ++op) {
    if (op != 0x15) out.push_back(op);
  }
  for (uint8_t op = 0x20; op <= 0x2B; ++op) out.push_back(op);
  out.insert(out.end(), {roce::kUdSendOnly, roce::kUdSendOnlyImm, roce::kCnp});
  return out;
}

template <class Top>
TxPacket random_packet_for(Rng& random, size_t max_payload) {
  static const auto opcodes = all_opcodes();
  TxPacket p = random_packet(random, opcodes[random.below(opcodes.size())], max_payload);
  return p;
}

// As the packetizer sends it: CNPs have a DSCP and a priority of their own.
TxPacket as_sent(TxPacket p, unsigned dscp, unsigned pcp) {
  if (p.spec.opcode == roce::kCnp) {
    p.spec.tos = static_cast<uint8_t>(dscp << 2 | (p.spec.tos & 3));
    p.spec.vlan_tci[0] = static_cast<uint16_t>(pcp << 13 | (p.spec.vlan_tci[0] & 0x1FFF));
  }
  return p;
}

template <class Top>
void check_vectors() {
  for (const Vector& vector : kVectors) {
    INFO("vector " << vector.number << ", " << vector.title);
    const auto frame = from_hex(vector.hex);
    roce::FrameView view;
    REQUIRE(roce::parse_frame(frame, view) == roce::ParseStatus::kOk);
    PacketizerBench<Top> bench;
    bench->ip_id_i = view.ip_id;
    bench.set_cnp_class(view.tos >> 2, 0);
    bench.reset();
    TxPacket p = from_view(view);
    bench.add_path(p);
    bench.send(p);
    bench.wait_packets(1);
    CHECK(hex(bench.packets[0].bytes) == hex({frame.begin() + 14, frame.end()}));
  }
}

template <class Top>
void check_random(size_t count, Stall in, Stall out, Stall lookup, unsigned path_latency,
                  bool telemetry = true) {
  PacketizerBench<Top> bench;
  bench->ip_id_i = 0xFFF0;
  const bool mig_req = rng("mig_req").chance(0.5);
  bench->cfg_mig_req_i = mig_req;
  const unsigned dscp = static_cast<unsigned>(rng("dscp").below(64));
  const unsigned pcp = static_cast<unsigned>(rng("pcp").below(8));
  bench.set_cnp_class(dscp, pcp);
  bench.set_int(telemetry, 3);
  bench.req_.set_stall(in);
  bench.rsp_.set_stall(in);
  bench.out_.set_stall(out);
  bench.lookup_stall = lookup;
  bench.lookup_stall.seed(rng("lookup"));
  bench.path_latency_max = path_latency;
  bench.reset();
  auto random = rng("packets");
  std::map<uint32_t, TxPacket> sent;  // by PSN
  std::vector<uint32_t> req_order, rsp_order;
  for (size_t i = 0; i < count; ++i) {
    TxPacket p = random_packet_for<Top>(random, 3 * PacketizerBench<Top>::kBytes);
    p.spec.psn = static_cast<uint32_t>(i);
    p.spec.mig_req = mig_req;
    bench.add_path(p);
    if (p.payload.empty() && random.chance(0.5)) {
      bench.send_response(p);
      rsp_order.push_back(p.spec.psn);
    } else {
      p.abort = random.chance(0.1);
      bench.send(p);
      req_order.push_back(p.spec.psn);
    }
    sent[p.spec.psn] = as_sent(p, dscp, pcp);
  }
  bench.wait_packets(count, 200 * count);
  bench.tick(30);
  REQUIRE(bench.packets.size() == count);
  std::vector<uint32_t> req_got, rsp_got;
  for (size_t i = 0; i < count; ++i) {
    const OutPacket& got = bench.packets[i];
    const auto psn = static_cast<uint32_t>(kTxEth.get(got.eth, "psn"));
    const TxPacket& p = sent.at(psn);
    INFO("packet " << i << ", psn " << psn << ", opcode " << int{p.spec.opcode} << ", "
                   << p.payload.size() << " bytes, IPv6 " << p.ipv6());
    compare(got, p);
    const roce::OpcodeInfo& info = roce::opcode_info(p.spec.opcode);
    const bool moves = info.transport == roce::Transport::kRc && info.is_request &&
                       p.spec.opcode != roce::kRcReadRequest && (info.ext & roce::kExtAtomic) == 0;
    const bool echo = telemetry && p.spec.opcode == roce::kRcAcknowledge && bench.has_echo(p.qpn);
    CHECK(got.add == (echo || (telemetry && moves)));
    CHECK(got.echo == echo);
    if (got.add) CHECK(got.tele == (echo ? bench.echo_for(p.qpn) : Bits(340, 3)));
    if (!p.ipv6())
      CHECK(static_cast<uint16_t>(got.bytes[4] << 8 | got.bytes[5]) ==
            static_cast<uint16_t>(0xFFF0 + i));
    const bool is_rsp = std::find(rsp_order.begin(), rsp_order.end(), psn) != rsp_order.end();
    (is_rsp ? rsp_got : req_got).push_back(psn);
    REQUIRE(i < bench.traces.size());
    CHECK(bench.traces[i].value == (uint64_t{9} << 56 | uint64_t{p.qpn} << 32 | psn));
    CHECK(bench.traces[i].sampled == p.sampled);
  }
  CHECK(req_got == req_order);
  CHECK(rsp_got == rsp_order);
}

template <class Top>
TxPacket simple_write(size_t length, uint32_t psn) {
  TxPacket p;
  p.spec.ip_src = roce::ipv4_address(192, 168, 0, 1);
  p.spec.ip_dst = roce::ipv4_address(192, 168, 0, 2);
  p.spec.opcode = roce::kRcWriteOnly;
  p.spec.psn = psn;
  p.spec.dma_len = static_cast<uint32_t>(length);
  for (size_t i = 0; i < length; ++i) p.payload.push_back(static_cast<uint8_t>(i * 7 + psn));
  return p;
}

}  // namespace

#define PACKETIZERS \
  Vtx_packetizer_w128, Vtx_packetizer_w256, Vtx_packetizer_w512, Vtx_packetizer_w1024

TEMPLATE_TEST_CASE("tx_packetizer makes the fact sheet's vectors bit for bit", "", PACKETIZERS) {
  check_vectors<TestType>();
}

TEMPLATE_TEST_CASE("tx_packetizer equals the frame builder for every opcode without stalls", "",
                   PACKETIZERS) {
  check_random<TestType>(300, Stall::none(), Stall::none(), Stall::none(), 1);
  check_random<TestType>(100, Stall::none(), Stall::none(), Stall::none(), 1, false);
}

TEMPLATE_TEST_CASE("tx_packetizer equals the frame builder under stalls on every side", "",
                   PACKETIZERS) {
  check_random<TestType>(150, Stall::random(0.5), Stall::random(0.5), Stall::random(0.3), 4);
  check_random<TestType>(150, Stall::none(), Stall::bursts(0.1, 20), Stall::none(), 1);
  check_random<TestType>(150, Stall::bursts(0.3, 4), Stall::none(), Stall::random(0.7), 9);
}

TEMPLATE_TEST_CASE("tx_packetizer pads every payload length up to three beats", "", PACKETIZERS) {
  PacketizerBench<TestType> bench;
  bench.reset();
  const size_t top = 3 * bench.kBytes + 1;
  std::vector<TxPacket> sent;
  for (size_t length = 0; length <= top; ++length) {
    TxPacket p = simple_write<TestType>(length, static_cast<uint32_t>(length));
    if (length % 3 == 1) p.spec.ip_src[0] = p.spec.ip_dst[0] = 0xFE;  // IPv6
    bench.add_path(p);
    bench.send(p);
    sent.push_back(p);
  }
  bench.wait_packets(sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    INFO("length " << i);
    compare(bench.packets[i], sent[i]);
  }
}

TEMPLATE_TEST_CASE("tx_packetizer takes a beat every cycle and leaves no gap in a 4 KB packet", "",
                   PACKETIZERS) {
  PacketizerBench<TestType> bench;
  bench.reset();
  for (uint32_t i = 0; i < 8; ++i) {
    TxPacket p = simple_write<TestType>(4096, i);
    bench.add_path(p);
    bench.send(p);
  }
  bench.wait_packets(8);
  const size_t beats = (28 + 12 + 16 + 4096 + 4 + bench.kBytes - 1) / bench.kBytes;
  for (const OutPacket& p : bench.packets) {
    CHECK(p.beats == beats);
    CHECK(p.last_cycle - p.first_cycle == beats - 1);
  }
  CHECK(bench.packets.back().last_cycle - bench.packets.front().first_cycle == 8 * beats - 1);
}

TEST_CASE(
    "tx_packetizer at 1024 bits sends a WRITE of 64 B every cycle, six cycles after it came") {
  PacketizerBench<Vtx_packetizer_w1024> bench;
  bench.reset();
  for (uint32_t i = 0; i < 100; ++i) {
    TxPacket p = simple_write<Vtx_packetizer_w1024>(64, i);
    bench.add_path(p);
    bench.send(p);
  }
  bench.wait_packets(100);
  CHECK(bench.packets.back().last_cycle - bench.packets.front().first_cycle == 99);
  CHECK(bench.packets.front().first_cycle - bench.req_.cycles().front() == 6);
}

TEST_CASE("tx_packetizer at 512 bits sends a response every cycle, before waiting requests") {
  PacketizerBench<Vtx_packetizer_w512> bench;
  bench.reset();
  for (uint32_t i = 0; i < 20; ++i) {
    TxPacket p = simple_write<Vtx_packetizer_w512>(256, 100 + i);
    bench.add_path(p);
    bench.send(p);
  }
  for (uint32_t i = 0; i < 20; ++i) {
    TxPacket p = simple_write<Vtx_packetizer_w512>(0, i);
    p.spec.opcode = roce::kRcAcknowledge;
    bench.add_path(p);
    bench.send_response(p);
  }
  bench.wait_packets(40);
  // All responses go first: they were there when the first choice was made.
  for (uint32_t i = 0; i < 20; ++i) CHECK(kTxEth.get(bench.packets[i].eth, "psn") == i);
  CHECK(bench.packets[19].last_cycle - bench.packets[0].first_cycle == 19);
  for (uint32_t i = 0; i < 20; ++i) CHECK(kTxEth.get(bench.packets[20 + i].eth, "psn") == 100 + i);
}

TEMPLATE_TEST_CASE("tx_packetizer drops and counts packets without a valid path", "", PACKETIZERS) {
  PacketizerBench<TestType> bench;
  bench.reset();
  std::vector<TxPacket> good;
  for (uint32_t i = 0; i < 30; ++i) {
    TxPacket p = simple_write<TestType>(i * 20, i);
    if (i % 3 == 1) {
      p.path = 0;  // nobody's
      bench.send(p);
    } else {
      bench.add_path(p);
      bench.send(p);
      good.push_back(p);
    }
  }
  bench.wait_packets(good.size());
  bench.tick(50);
  REQUIRE(bench.packets.size() == good.size());
  CHECK(bench.no_path == 10);
  for (size_t i = 0; i < good.size(); ++i) compare(bench.packets[i], good[i]);
}

TEMPLATE_TEST_CASE("tx_packetizer works after a reset in mid-packet", "", PACKETIZERS) {
  for (unsigned cut = 1; cut < 12; ++cut) {
    PacketizerBench<TestType> bench;
    bench.out_.set_stall(Stall::random(0.5));
    bench.reset();
    TxPacket p = simple_write<TestType>(5 * bench.kBytes + 3, 1);
    bench.add_path(p);
    bench.send(p);
    bench.send(p);
    bench.tick(cut);
    bench.reset();
    bench.tick(3);
    CHECK(bench->out_valid == 0);
    TxPacket q = simple_write<TestType>(70, 2);
    bench.add_path(q);
    bench.restart();
    bench.send(q);
    bench.wait_packets(1);
    compare(bench.packets[0], q);
  }
}

TEMPLATE_TEST_CASE("tx_packetizer survives long random traffic", "[.soak]", PACKETIZERS) {
  check_random<TestType>(5000, Stall::none(), Stall::none(), Stall::none(), 1);
  check_random<TestType>(3000, Stall::random(0.3), Stall::random(0.3), Stall::random(0.2), 5);
  check_random<TestType>(3000, Stall::bursts(0.05, 10), Stall::bursts(0.05, 30), Stall::none(), 2);
}
