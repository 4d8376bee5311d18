// SPDX-License-Identifier: Apache-2.0
// The transmit side together: tx_buffer, tx_packetizer, path_table, tx_merge, cdc_tx, mac_tx_gen.
#include <Vtx_chain.h>

#include <map>
#include <set>

#include "tests/harness_roce/vectors.hpp"
#include "tests/mac_tx_gen/frames.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;
namespace roce = rnic::roce;

namespace {

constexpr size_t kLanes = 64;

struct ChainBench : Bench<Vtx_chain> {
  Clock& mac;
  StreamSink<Beat> out;
  Collector frames{kLanes};
  std::vector<uint64_t> cdc_writes, inline_cycles;
  uint64_t bytes = 0;

  ChainBench()
      : mac(add_clock("mac", top().mac_clk_i, 1600)),
        out(*this, mac, "mac_tx", top().mac_tx_valid, top().mac_tx_ready, [this] {
          return Beat{read_pin(top().mac_tx_data), top().mac_tx_cnt, top().mac_tx_last != 0,
                      top().mac_tx_err != 0, Bits(1)};
        }) {
    out.on_item([this](const Beat& b) { frames.take(b, mac.cycle()); });
    on_sample([this] {
      if (top().cdc_write_o != 0) cdc_writes.push_back(cycle());
      if (top().cnt_tx_frames_o != 0) bytes += top().cnt_tx_bytes_amount_o;
    });
  }
  void start() { reset({&top().rst_i, &top().mac_rst_i}); }
  void set_path(unsigned index, const TxPacket& p) {
    top().cw_valid = 1;
    top().cw_index = static_cast<SData>(index);
    write_pin(top().cw, p.path_context());
    tick();
    top().cw_valid = 0;
  }
  // Inline payload, or none.
  void send(const TxPacket& p) {
    auto& t = top();
    wait("slot", [&] { return t.slot_valid != 0; });
    const unsigned slot = t.slot_id;
    t.slot_ready = 1;
    tick();
    t.slot_ready = 0;
    t.txp_valid = 1;
    t.txp_slot = static_cast<CData>(slot);
    write_pin(t.txp, p.description());
    if (!p.payload.empty()) {
      t.inl_valid = 1;
      t.inl_slot = static_cast<CData>(slot);
      t.inl_len = static_cast<CData>(p.payload.size());
      write_pin(t.inl_data, Bits::from_bytes(p.payload, 768));
    }
    inline_cycles.push_back(cycle());
    tick();
    t.txp_valid = 0;
    t.inl_valid = 0;
  }
};

}  // namespace

TEST_CASE("the transmit side makes the fact sheet's vectors as whole frames") {
  for (const Vector& vector : kVectors) {
    INFO("vector " << vector.number << ", " << vector.title);
    auto frame = from_hex(vector.hex);
    roce::FrameView v;
    REQUIRE(roce::parse_frame(frame, v) == roce::ParseStatus::kOk);
    TxPacket p;
    p.spec.eth_dst = v.eth_dst;
    p.spec.eth_src = v.eth_src;
    p.spec.ip_src = v.ip_src;
    p.spec.ip_dst = v.ip_dst;
    p.spec.tos = v.tos;
    p.spec.ttl = v.ttl;
    p.spec.flow_label = v.flow_label;
    p.spec.udp_src = v.udp_src;
    p.spec.opcode = v.opcode;
    p.spec.solicited = v.solicited;
    p.spec.ack_req = v.ack_req;
    p.spec.becn = v.becn;
    p.spec.pkey = v.pkey;
    p.spec.dest_qp = v.dest_qp;
    p.spec.psn = v.psn;
    p.spec.va = v.va;
    p.spec.rkey = v.rkey;
    p.spec.dma_len = v.dma_len;
    p.spec.syndrome = v.syndrome;
    p.spec.msn = v.msn;
    p.spec.imm = v.imm;
    p.spec.swap_add = v.swap_add;
    p.spec.compare = v.compare;
    p.spec.atomic_orig = v.atomic_orig;
    p.payload.assign(v.payload().begin(), v.payload().end());
    p.path = 3;
    ChainBench bench;
    bench->ip_id_i = v.ip_id;
    bench->cfg_cnp_dscp_i = v.tos >> 2;
    bench.start();
    bench.set_path(3, p);
    bench.send(p);
    bench.wait(
        "frame", [&] { return bench.frames.frames.size() == 1; }, 100);
    CHECK((bench.frames.frames[0].bytes == padded(frame)));
    CHECK(!bench.frames.frames[0].bad);
    CHECK(bench.bytes == padded(frame).size());
  }
}

TEST_CASE("a 64 B WRITE is written into the crossing nine cycles after its inline payload came") {
  ChainBench bench;
  bench.start();
  TxPacket p;
  p.spec.ip_src = roce::ipv4_address(10, 0, 0, 1);
  p.spec.ip_dst = roce::ipv4_address(10, 0, 0, 2);
  p.spec.opcode = roce::kRcWriteOnly;
  p.payload = rng("payload").bytes(64);
  p.path = 1;
  bench.set_path(1, p);
  bench.send(p);
  bench.wait(
      "frame", [&] { return bench.frames.frames.size() == 1; }, 100);
  CHECK((bench.frames.frames[0].bytes == p.frame(0)));
  CHECK(bench.cdc_writes.front() - bench.inline_cycles.front() == 9);
}

TEST_CASE("requests, responses and raw frames share the wire") {
  ChainBench bench;
  bench.start();
  auto random = rng("mix");
  std::map<unsigned, TxPacket> paths;
  for (unsigned i = 0; i < 8; ++i) {
    paths[i] = random_packet(random, roce::kRcWriteOnly, 0);
    bench.set_path(i, paths[i]);
  }
  StreamSource<Beat> raw(bench, "raw_tx", bench->raw_tx_valid, bench->raw_tx_ready,
                         [&](const Beat& b) {
                           write_pin(bench->raw_tx_data, b.data);
                           bench->raw_tx_cnt = static_cast<CData>(b.cnt);
                           bench->raw_tx_last = b.last;
                         });
  StreamSource<Bits> rsp(bench, "rsp", bench->rsp_valid, bench->rsp_ready, bench->rsp);
  std::multiset<std::vector<uint8_t>> want;
  auto prepare = [&](uint8_t opcode) {
    const auto path = static_cast<unsigned>(random.below(8));
    TxPacket p = random_packet(random, opcode, 96);
    const TxPacket& base = paths[path];
    p.path = static_cast<uint16_t>(path);
    p.qpn = static_cast<uint32_t>(random.below(16));
    for (auto member : {&roce::FrameSpec::eth_dst, &roce::FrameSpec::eth_src})
      p.spec.*member = base.spec.*member;
    p.spec.ip_src = base.spec.ip_src;
    p.spec.ip_dst = base.spec.ip_dst;
    p.spec.vlan_count = base.spec.vlan_count;
    p.spec.vlan_tci = base.spec.vlan_tci;
    p.spec.tos = base.spec.tos;
    p.spec.ttl = base.spec.ttl;
    p.spec.udp_src = base.spec.udp_src;
    p.spec.flow_label = base.spec.flow_label;
    return p;
  };
  // The IP identification depends on the order: compared with the field cleared.
  auto key = [](std::vector<uint8_t> frame) {
    roce::FrameView v;
    if (roce::parse_frame(frame, v) == roce::ParseStatus::kOk && !v.ipv6) {
      frame[v.l3_offset + 4] = frame[v.l3_offset + 5] = 0;
      roce::fix_ipv4_checksum(frame);
      roce::fix_icrc(frame);
    }
    return frame;
  };
  for (int i = 0; i < 40; ++i) {
    const TxPacket a = prepare(roce::kRcAcknowledge);
    rsp.push(a.description());
    want.insert(key(a.frame(0)));
    const auto bytes = padded(random.bytes(random.between(42, 300)));
    for (const Beat& b : cut(bytes, kLanes, raw_eth())) raw.push(b);
    want.insert(key(bytes));
    const TxPacket p = prepare(roce::kRcWriteOnly);
    bench.send(p);
    want.insert(key(p.frame(0)));
  }
  bench.wait("frames", [&] { return bench.frames.frames.size() == 120; });
  std::multiset<std::vector<uint8_t>> got;
  for (const Frame& f : bench.frames.frames) {
    CHECK(!f.bad);
    roce::FrameView v;
    if (roce::parse_frame(f.bytes, v) == roce::ParseStatus::kOk) CHECK(roce::icrc_good(v));
    got.insert(key(f.bytes));
  }
  CHECK((got == want));
}
