// SPDX-License-Identifier: Apache-2.0
// AllReduce in the NIC: groups, their QPs' send rings, and how a buffer is cut (rtl/arp_fsm).
//
//   GroupCut cut = cut_buffer(nic.capabilities(), 1 << 20, ranks, /*piece=*/4096);
//   create_group(nic, {.number = 0, .ranks = 4, .rank = 1, .tx_qpn = to_next, ...});
//   set_group_peer(nic, 0, /*rank=*/0, from_previous);
//   start_group(nic, 0, rank, cut, {.src = a, .src_va = va, .src_key = key, .dst = b});
//   // event ARP_DONE, or ARP_ABORTED with a code of arp_cause; meanwhile query_group()
#pragma once

#include <cstdint>

#include "harness/driver/device.hpp"
#include "harness/driver/queues.hpp"

namespace rnic::driver {

// The send ring of a group's QP: in device_memory, where only the NIC writes.
class DeviceRing final : public DmaMemory {
 public:
  DeviceRing(uint64_t bus_addr, uint64_t size) : bus_addr_(bus_addr), size_(size) {}
  uint64_t bus_addr() const override { return bus_addr_; }
  uint64_t size() const override { return size_; }
  void write(uint64_t, const void*, uint64_t) override { refuse(); }
  void read(uint64_t, void*, uint64_t) const override { refuse(); }

 private:
  [[noreturn]] static void refuse() { throw Error("the send ring of a group is the NIC's own"); }
  uint64_t bus_addr_, size_;
};

struct GroupRequest {
  uint32_t number = 0;
  bool ring = true;    // else every rank sends to this one
  bool fixed = false;  // not around a ring: ranks are added in order
  bool wide = false;   // 16-bit elements are summed in FP32
  uint8_t elem = RNIC_ARP_ELEM_FP32;
  uint32_t ranks = 2, rank = 0;
  uint32_t piece = 4096;    // bytes, a power of two
  uint32_t tx_qpn = 0;      // to the next rank
  uint32_t timeout_us = 0;  // without progress; 0: never
  // Staging buffers, stage_bytes() of device_memory: key and address, and where it begins.
  uint32_t stage_key = 0;
  uint64_t stage_va = 0;
  uint32_t stage_at = 0, ring_at = 0;  // bytes of device_memory; ring: the send ring of tx_qpn
};

// How a buffer is cut: `rounds` times a chunk for each rank, in pieces.
struct GroupCut {
  uint32_t chunk = 0, pieces = 0, rounds = 0;
  uint32_t round_bytes(uint32_t ranks) const { return chunk * ranks; }
};
// As few rounds as a quarter of the staging buffers allow: with more pieces ranks would wait for
// one buffer after the other, and at the start for local data behind what is read of the own chunk.
// Throws Error when the buffer cannot be cut into equal chunks of whole rows of the data path.
GroupCut cut_buffer(const Capabilities& cap, uint64_t bytes, uint32_t ranks, uint32_t piece);

struct GroupBuffers {
  uint64_t src = 0, src_va = 0;  // IOVA, and the same under its key
  uint32_t src_key = 0;
  uint64_t dst = 0;  // IOVA; may be src
};

// A packet of a group that software posts, as to a rank that sums in one shot: the data are one
// piece, `slot` its running number in the group, `offset` its place in the buffer of the sum.
struct GroupPacket {
  uint32_t number = 0;
  uint8_t elem = RNIC_ARP_ELEM_FP32;
  uint32_t contributor = 0;
  uint32_t slot = 0, offset = 0;
};
WorkRequest packet_request(const GroupPacket& p, const Segment& data);

uint32_t stage_bytes(const Capabilities& cap, uint32_t piece);
uint32_t ring_bytes(const Capabilities& cap);

void create_group(Device& nic, const GroupRequest& r);
// Packets of `rank` come on local QP `qpn`.
void set_group_peer(Device& nic, uint32_t number, uint32_t rank, uint32_t qpn);
void start_group(Device& nic, uint32_t number, uint32_t ranks, uint32_t rank, const GroupCut& cut,
                 const GroupBuffers& b);
// The same in two halves, so that several ranks of one program start at the same time.
void begin_start_group(Device& nic, uint32_t number, uint32_t ranks, uint32_t rank,
                       const GroupCut& cut, const GroupBuffers& b);
void finish_start_group(Device& nic, uint32_t number);
// Where a group is; counts are modulo 2^32 and begin with create_group().
struct GroupState {
  uint8_t state = 0, cause = 0;  // RNIC_ARP_STATE_*, RNIC_ARP_CAUSE_* of the last operation
  uint16_t held = 0;             // staging buffers in use
  uint32_t done = 0, opened = 0, sent = 0, acked = 0;  // pieces
  uint16_t idle_us = 0;
  uint32_t duplicates = 0, not_ready = 0;  // packets
};
GroupState query_group(Device& nic, uint32_t number);
void abort_group(Device& nic, uint32_t number);
void destroy_group(Device& nic, uint32_t number);

}  // namespace rnic::driver
