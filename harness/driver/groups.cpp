// SPDX-License-Identifier: Apache-2.0
#include "harness/driver/groups.hpp"

#include <fmt/format.h>

#include <bit>

namespace rnic::driver {
namespace {

struct Command {
  uint8_t bytes[RNIC_CMD_BYTES] = {};
  Command(uint8_t opcode, uint32_t number) {
    rnic_cmd_set_opcode(bytes, opcode);
    rnic_cmd_set_number(bytes, number);
  }
};

// What cmd_arp_start has; the mailbox may keep what is behind.
constexpr uint32_t kStartBytes = 56;

}  // namespace

GroupCut cut_buffer(const Capabilities& cap, uint64_t bytes, uint32_t ranks, uint32_t piece) {
  const uint64_t row = cap.data_w / 8;
  if (ranks < 2 || bytes == 0 || bytes % (ranks * row) != 0)
    throw Error(fmt::format("AllReduce: {} bytes are not {} chunks of whole rows of {} bytes",
                            bytes, ranks, row));
  if (!std::has_single_bit(piece) || piece < row || piece > 4096)
    throw Error(
        fmt::format("AllReduce: a piece is a power of two from {} to 4096, not {}", row, piece));
  const uint64_t share = bytes / ranks;
  for (uint64_t rounds = 1; rounds <= share / row && rounds < 65536; ++rounds) {
    if (share % (rounds * row) != 0) continue;
    const uint64_t chunk = share / rounds, pieces = (chunk + piece - 1) / piece;
    if (pieces > cap.arp_stages / 4) continue;
    return {static_cast<uint32_t>(chunk), static_cast<uint32_t>(pieces),
            static_cast<uint32_t>(rounds)};
  }
  throw Error(
      fmt::format("AllReduce: {} bytes cannot be cut into rounds of {} ranks", bytes, ranks));
}

WorkRequest packet_request(const GroupPacket& p, const Segment& data) {
  WorkRequest w;
  w.opcode = RNIC_WQE_OPCODE_ARP;
  w.local = {data};
  // First wire byte highest.
  w.remote_va =
      uint64_t{p.elem} << 57 | uint64_t{p.contributor} << 48 | uint64_t{p.number} << 32 | p.slot;
  w.rkey = p.offset;
  return w;
}

uint32_t stage_bytes(const Capabilities& cap, uint32_t piece) { return cap.arp_stages * piece; }
uint32_t ring_bytes(const Capabilities& cap) { return cap.arp_ring * RNIC_WQE_BLOCK; }

void create_group(Device& nic, const GroupRequest& r) {
  Command c(RNIC_CMD_OPCODE_CREATE_ARP, r.number);
  rnic_cmd_arp_set_ring(c.bytes, r.ring);
  rnic_cmd_arp_set_fixed(c.bytes, r.fixed);
  rnic_cmd_arp_set_wide(c.bytes, r.wide);
  rnic_cmd_arp_set_elem(c.bytes, r.elem);
  rnic_cmd_arp_set_ranks(c.bytes, r.ranks);
  rnic_cmd_arp_set_rank(c.bytes, r.rank);
  rnic_cmd_arp_set_slot_log(c.bytes, static_cast<uint32_t>(std::countr_zero(r.piece)));
  rnic_cmd_arp_set_tx_qpn(c.bytes, r.tx_qpn);
  rnic_cmd_arp_set_timeout(c.bytes, r.timeout_us);
  rnic_cmd_arp_set_stage_key(c.bytes, r.stage_key);
  rnic_cmd_arp_set_stage_va(c.bytes, r.stage_va);
  rnic_cmd_arp_set_stage_at(c.bytes, r.stage_at);
  rnic_cmd_arp_set_ring_at(c.bytes, r.ring_at);
  nic.command(c.bytes, "CREATE_ARP");
}

void set_group_peer(Device& nic, uint32_t number, uint32_t rank, uint32_t qpn) {
  Command c(RNIC_CMD_OPCODE_PEER_ARP, number);
  rnic_cmd_arp_peer_set_peer(c.bytes, rank);
  rnic_cmd_arp_peer_set_qpn(c.bytes, qpn);
  nic.command(c.bytes, "PEER_ARP");
}

void begin_start_group(Device& nic, uint32_t number, uint32_t ranks, uint32_t rank,
                       const GroupCut& cut, const GroupBuffers& b) {
  Command c(RNIC_CMD_OPCODE_START_ARP, number);
  rnic_cmd_arp_start_set_pieces(c.bytes, cut.pieces);
  rnic_cmd_arp_start_set_rounds(c.bytes, cut.rounds);
  rnic_cmd_arp_start_set_chunk(c.bytes, cut.chunk);
  rnic_cmd_arp_start_set_round(c.bytes, cut.round_bytes(ranks));
  rnic_cmd_arp_start_set_own_off(c.bytes, cut.chunk * rank);
  rnic_cmd_arp_start_set_src_key(c.bytes, b.src_key);
  rnic_cmd_arp_start_set_src(c.bytes, b.src);
  rnic_cmd_arp_start_set_src_va(c.bytes, b.src_va);
  rnic_cmd_arp_start_set_dst(c.bytes, b.dst);
  nic.begin_command(c.bytes, kStartBytes);
}

void finish_start_group(Device& nic, uint32_t number) { nic.finish_command(number, "START_ARP"); }

void start_group(Device& nic, uint32_t number, uint32_t ranks, uint32_t rank, const GroupCut& cut,
                 const GroupBuffers& b) {
  begin_start_group(nic, number, ranks, rank, cut, b);
  finish_start_group(nic, number);
}

GroupState query_group(Device& nic, uint32_t number) {
  nic.command(Command(RNIC_CMD_OPCODE_QUERY_ARP, number).bytes, "QUERY_ARP");
  const std::vector<uint8_t> a = nic.answer();
  const uint8_t* p = a.data();
  GroupState s;
  s.state = static_cast<uint8_t>(rnic_cmd_arp_state_get_state(p));
  s.cause = static_cast<uint8_t>(rnic_cmd_arp_state_get_cause(p));
  s.held = static_cast<uint16_t>(rnic_cmd_arp_state_get_held(p));
  s.done = rnic_cmd_arp_state_get_done(p);
  s.opened = rnic_cmd_arp_state_get_opened(p);
  s.sent = rnic_cmd_arp_state_get_sent(p);
  s.acked = rnic_cmd_arp_state_get_acked(p);
  s.idle_us = static_cast<uint16_t>(rnic_cmd_arp_state_get_idle(p));
  s.duplicates = rnic_cmd_arp_state_get_duplicates(p);
  s.not_ready = rnic_cmd_arp_state_get_not_ready(p);
  return s;
}

void abort_group(Device& nic, uint32_t number) {
  nic.command(Command(RNIC_CMD_OPCODE_ABORT_ARP, number).bytes, "ABORT_ARP");
}

void destroy_group(Device& nic, uint32_t number) {
  nic.command(Command(RNIC_CMD_OPCODE_DESTROY_ARP, number).bytes, "DESTROY_ARP");
}

}  // namespace rnic::driver
