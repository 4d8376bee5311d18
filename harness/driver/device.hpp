// SPDX-License-Identifier: Apache-2.0
// The driver of one NIC: probe, settings, commands, and the objects that they create. Everything
// that it knows of the registers and descriptors comes from the generated C header.
//
//   driver::Device nic(bus);
//   nic.probe();                                             // magic, map hash with version, ready
//   nic.create_eq(0, 6, /*vector=*/0);
//   auto cq = nic.create_cq(3, 8);
//   auto qp = nic.create_qp({.qpn = 5, .pd = 1, .send_cqn = 3, .recv_cqn = 3});
//   nic.connect(*qp, {.dest_qpn = 9, .path = 0, .rq_psn = 100, .sq_psn = 200});   // RESET -> INIT
//   -> RTR -> RTS
//
// Every wait is bounded; a refused command throws Error naming the command, the object and the
// status.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/driver/bus.hpp"
#include "harness/driver/queues.hpp"
#include "regs/gen/rnic_regs.h"

namespace rnic::driver {

using Mac = std::array<uint8_t, 6>;
using Ip = std::array<uint8_t, 16>;  // IPv4 in the last four bytes
Ip ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d);

struct Capabilities {
  uint32_t data_w = 0, n_qp = 0, n_cq = 0, n_eq = 0, n_mr = 0, n_pd = 0, n_path = 0, n_msix = 0,
           devmem_bytes = 0;
  uint32_t n_ctx = 0;  // contexts on chip; fewer than n_qp: the others need memory (use_contexts)
  uint32_t page_stride = RNIC_PAGE_STRIDE;  // bytes between the doorbell pages of two QPs
  uint32_t core_ps = 0, mac_ps = 0;
  bool gen_fcs = false;
  // AllReduce: groups (0: none), and per group slots, staging buffers, blocks of the send ring.
  uint32_t arp_groups = 0, arp_slots = 0, arp_stages = 0, arp_ring = 0;
};

struct MrRequest {
  uint32_t index = 0;
  uint8_t tag = 0;
  uint16_t pd = 0;
  uint64_t va = 0, length = 0, iova = 0;
  bool local_write = true, remote_write = true, remote_read = true, remote_atomic = true;
  bool zero_based = false;
  bool invalid = false;              // no access until a FAST_REG
  uint8_t page = RNIC_MR_PAGE_FLAT;  // else iova is the page list
  uint32_t first = 0;                // paged: offset of the first byte in its page
};

struct PathRequest {
  uint32_t index = 0;
  Mac dmac{}, smac{};
  bool ipv6 = false;
  Ip sip{}, dip{};
  uint16_t sport = 0xC000;
  bool vlan = false;
  uint16_t vlan_id = 0;
  uint8_t pcp = 0;
  bool dei = false;
  uint8_t dscp = 0, ecn = 2, ttl = 64;
  uint32_t flow_label = 0;
};

struct QpRequest {
  uint32_t qpn = 0;
  uint8_t service = RNIC_QP_TYPE_RC;
  uint16_t pd = 0;
  uint16_t send_cqn = 0, recv_cqn = 0;
  uint32_t log_sq = 6, log_rq = 6;
  bool sq_sig_all = false;
  std::unique_ptr<DmaMemory> sq;  // null: from the bus
};

// What the service of the QP has no use for, is not sent.
struct ConnectRequest {
  uint8_t service = RNIC_QP_TYPE_RC;  // of the QP
  uint32_t qkey = 0;                  // UD
  uint32_t dest_qpn = 0;
  uint16_t path = 0;
  uint8_t mtu = 5;  // path_mtu: 1..5 = 256..4096
  uint32_t rq_psn = 0, sq_psn = 0;
  uint16_t pkey = 0xFFFF;
  bool remote_write = true, remote_read = true, remote_atomic = true;
  uint8_t min_rnr_timer = 12, timeout = 14, retry_cnt = 7, rnr_retry = 7, max_rd_atomic = 16,
          max_dest_rd_atomic = 16;
};

struct QpInfo {
  uint8_t state = 0, err_cause = 0;
  uint16_t sq_prod = 0, sq_fetch = 0, rq_prod = 0, rq_cons = 0;
  uint32_t next_psn = 0, una_psn = 0, epsn = 0, msn = 0;
  uint32_t rate_mbps = 0;  // 0 and 0xFFFFF: no limit
  uint8_t weight = 0;      // of its turns, 0 as 1
};

struct Event {
  uint8_t type = 0, code = 0;
  uint32_t number = 0;
};

// One event of the trace ring.
struct TraceRecord {
  uint64_t timestamp = 0;  // trace clock, core cycles
  uint8_t event = 0;
  uint32_t qpn = 0, info = 0;
};

struct TraceSetup {
  bool all = true;      // false: only sampled WQEs
  bool one_qp = false;  // sample only WQEs of `qpn`
  uint32_t qpn = 0;
  uint32_t one_in_log2 = 0;  // sample one WQE in 2^n
};

struct BorderCycles {
  uint64_t busy = 0, stalled = 0;
};

class EventQueue {
 public:
  EventQueue(Bus& bus, uint32_t eqn, uint32_t log_size, std::unique_ptr<DmaMemory> ring);
  std::optional<Event> poll();
  void update();  // tells the NIC the consumer index
  uint64_t ring_addr() const { return ring_->bus_addr(); }

 private:
  Bus& bus_;
  uint32_t eqn_, log_size_;
  std::unique_ptr<DmaMemory> ring_;
  uint16_t cons_ = 0;
};

class Device {
 public:
  explicit Device(Bus& bus) : bus_(bus) {}

  // Checks identity, waits until the NIC is ready. Throws Error naming what did not fit.
  const Capabilities& probe();
  const Capabilities& capabilities() const { return cap_; }
  // Memory for contexts that do not fit on chip, if the NIC has fewer than QPs: QP_CTX_BASE.
  void use_contexts();
  const DmaMemory* contexts() const { return contexts_.get(); }  // null: none
  void wait_ready(uint64_t limit_ns = 100'000);
  void reset();  // whole device; returns when it is ready again

  // Registers by offset; 64-bit ones low word first (read) or high word last (write).
  uint32_t read(uint32_t offset) { return bus_.read32(Bar::kRegisters, offset); }
  void write(uint32_t offset, uint32_t value) { bus_.write32(Bar::kRegisters, offset, value); }
  uint64_t read64(uint32_t offset);
  void write64(uint32_t offset, uint64_t value);

  void set_gpu_window(uint32_t n, uint64_t base, uint64_t last);
  void set_msix(uint32_t vector, uint64_t addr, uint32_t data, bool masked = false);

  // Runs one command of CMD_BYTES; throws unless it answers OK.
  void command(const void* cmd, const std::string& what);
  // The same, returning the status.
  uint8_t try_command(const void* cmd, const std::string& what);
  // In two halves: the first `bytes` of a command go to the NIC, which begins; its answer.
  void begin_command(const void* cmd, uint32_t bytes = RNIC_CMD_BYTES);
  uint8_t await_command(const std::string& what);
  void finish_command(uint32_t number, const std::string& what);  // throws unless OK
  std::vector<uint8_t> answer();                                  // MBOX_OUT

  void create_pd(uint32_t pd);
  void destroy(uint8_t opcode, uint32_t number, const std::string& what);
  uint32_t create_mr(const MrRequest& r);  // returns the key
  std::unique_ptr<CompletionQueue> create_cq(uint32_t cqn, uint32_t log_size, uint32_t eqn = 0);
  std::unique_ptr<EventQueue> create_eq(uint32_t eqn, uint32_t log_size, uint32_t vector);
  void create_path(const PathRequest& r);
  std::unique_ptr<QueuePair> create_qp(QpRequest r);
  // RESET to RTS; or to RTR, where it only receives, and to RTS later.
  void connect(QueuePair& qp, const ConnectRequest& r);
  void to_rtr(QueuePair& qp, const ConnectRequest& r);
  void to_rts(QueuePair& qp, const ConnectRequest& r);
  void modify_state(QueuePair& qp, uint8_t state);  // to RESET or ERR
  // Rate limit (0: none) and weight (1..15) of a QP in RTS, at any time.
  void set_rate(QueuePair& qp, uint32_t mbps, uint8_t weight = 1);
  QpInfo query_qp(uint32_t qpn);

  // Empties the trace ring and lets it fill.
  void start_trace(const TraceSetup& setup);
  void stop_trace();
  // What the ring holds, oldest first, at most `limit` events.
  std::vector<TraceRecord> read_trace(size_t limit = 65536);
  uint32_t trace_lost();
  // Cycles of stream border n since reset.
  BorderCycles border(uint32_t n);

  uint64_t counter(uint32_t index) { return read64_at(index); }
  std::map<std::string, uint64_t> counters();

 private:
  uint64_t read64_at(uint32_t index);
  Bus& bus_;
  std::unique_ptr<DmaMemory> contexts_;
  Capabilities cap_;
  uint16_t token_ = 0;
};

}  // namespace rnic::driver
