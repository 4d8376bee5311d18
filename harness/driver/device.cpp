// SPDX-License-Identifier: Apache-2.0
#include "harness/driver/device.hpp"

#include <fmt/format.h>

#include <cstring>

#include "regs/gen/rnic_regs.h"

namespace rnic::driver {

namespace {
constexpr uint64_t kCommandLimitNs = 1'000'000;

const char* const kCounterNames[] = RNIC_COUNTER_NAMES;

const char* command_status_name(uint8_t s) {
  switch (s) {
    case RNIC_CMD_STATUS_OK:
      return "OK";
    case RNIC_CMD_STATUS_BAD_OPCODE:
      return "BAD_OPCODE";
    case RNIC_CMD_STATUS_BAD_INDEX:
      return "BAD_INDEX";
    case RNIC_CMD_STATUS_BAD_STATE:
      return "BAD_STATE";
    case RNIC_CMD_STATUS_BAD_PARAM:
      return "BAD_PARAM";
    case RNIC_CMD_STATUS_IN_USE:
      return "IN_USE";
    case RNIC_CMD_STATUS_NOT_FOUND:
      return "NOT_FOUND";
    case RNIC_CMD_STATUS_BAD_TRANSITION:
      return "BAD_TRANSITION";
    case RNIC_CMD_STATUS_MISSING_ATTR:
      return "MISSING_ATTR";
    case RNIC_CMD_STATUS_NO_CONTEXT:
      return "NO_CONTEXT";
    case RNIC_CMD_STATUS_BUSY:
      return "BUSY";
    default:
      return "?";
  }
}

struct Command {
  uint8_t bytes[RNIC_CMD_BYTES] = {};
  Command(uint8_t opcode, uint32_t number) {
    rnic_cmd_set_opcode(bytes, opcode);
    rnic_cmd_set_number(bytes, number);
  }
};
}  // namespace

Ip ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  Ip ip{};
  ip[12] = a;
  ip[13] = b;
  ip[14] = c;
  ip[15] = d;
  return ip;
}

// ---------------------------------------------------------------------------------------------
// event queue
EventQueue::EventQueue(Bus& bus, uint32_t eqn, uint32_t log_size, std::unique_ptr<DmaMemory> ring)
    : bus_(bus), eqn_(eqn), log_size_(log_size), ring_(std::move(ring)) {
  const std::vector<uint8_t> zeros(ring_->size());
  ring_->write(0, zeros.data(), zeros.size());
}

std::optional<Event> EventQueue::poll() {
  uint8_t e[RNIC_EQE_BYTES];
  ring_->read(uint64_t{cons_ & ((1u << log_size_) - 1)} * RNIC_EQE_BYTES, e, sizeof e);
  if (rnic_eqe_get_owner(e) != ((cons_ >> log_size_ & 1u) ^ 1u)) return std::nullopt;
  ++cons_;
  return Event{static_cast<uint8_t>(rnic_eqe_get_type(e)),
               static_cast<uint8_t>(rnic_eqe_get_code(e)), rnic_eqe_get_number(e)};
}

void EventQueue::update() { bus_.write32(Bar::kRegisters, RNIC_CSR_EQ_CONS + 8 * eqn_, cons_); }

// --------------------------------------------------------------------------------------------------
// registers
uint64_t Device::read64(uint32_t offset) {
  const uint64_t low = read(offset);
  return low | uint64_t{read(offset + 4)} << 32;
}

void Device::write64(uint32_t offset, uint64_t value) {
  write(offset, static_cast<uint32_t>(value));
  write(offset + 4, static_cast<uint32_t>(value >> 32));
}

uint64_t Device::read64_at(uint32_t index) { return read64(RNIC_CSR_COUNTERS + 8 * index); }

std::map<std::string, uint64_t> Device::counters() {
  std::map<std::string, uint64_t> all;
  for (uint32_t i = 0; i < RNIC_N_COUNTERS; ++i) all[kCounterNames[i]] = counter(i);
  return all;
}

void Device::start_trace(const TraceSetup& t) {
  write(RNIC_CSR_TRACE_QPN, t.qpn);
  write(RNIC_CSR_TRACE_CTRL,
        RNIC_CSR_TRACE_CTRL_ENABLE_MASK | RNIC_CSR_TRACE_CTRL_CLEAR_MASK |
            (t.all ? RNIC_CSR_TRACE_CTRL_ALL_MASK : 0) |
            (t.one_qp ? RNIC_CSR_TRACE_CTRL_QP_FILTER_MASK : 0) |
            RNIC_FIELD_PREP(RNIC_CSR_TRACE_CTRL_ONE_IN_LOG2_MASK, t.one_in_log2));
}

void Device::stop_trace() { write(RNIC_CSR_TRACE_CTRL, 0); }

std::vector<TraceRecord> Device::read_trace(size_t limit) {
  std::vector<TraceRecord> out;
  while (out.size() < limit &&
         RNIC_FIELD_GET(RNIC_CSR_TRACE_STAT_LEVEL_MASK, read(RNIC_CSR_TRACE_STAT)) != 0) {
    uint8_t e[RNIC_TRACE_EVENT_BYTES];
    for (uint32_t i = 0; i < sizeof e; i += 4) rnic_put_le(e, i, 4, read(RNIC_CSR_TRACE_RING + i));
    out.push_back({rnic_trace_event_get_timestamp(e),
                   static_cast<uint8_t>(rnic_trace_event_get_event(e)), rnic_trace_event_get_qpn(e),
                   rnic_trace_event_get_info(e)});
  }
  return out;
}

uint32_t Device::trace_lost() {
  return RNIC_FIELD_GET(RNIC_CSR_TRACE_STAT_LOST_MASK, read(RNIC_CSR_TRACE_STAT));
}

BorderCycles Device::border(uint32_t n) {
  const uint32_t at = RNIC_CSR_BORDERS + 16 * n;
  const uint64_t busy = read64(at);
  return {busy, read64(at + 8)};
}

const Capabilities& Device::probe() {
  if (const uint32_t magic = read(RNIC_CSR_ID_MAGIC); magic != RNIC_ID_MAGIC_VALUE)
    throw Error(
        fmt::format("probe: ID_MAGIC reads {:#x}, expected {:#x}", magic, RNIC_ID_MAGIC_VALUE));
  // The hash covers the version as well, which is read to say what is there.
  if (const uint32_t hash = read(RNIC_CSR_ID_MAP_HASH); hash != RNIC_MAP_HASH) {
    const uint32_t version = read(RNIC_CSR_ID_VERSION);
    throw Error(fmt::format(
        "probe: the NIC's register map has version {}.{}.{} and hash {:#x}, this driver is made "
        "for {}.{}.{} and {:#x}",
        RNIC_FIELD_GET(RNIC_CSR_ID_VERSION_MAJOR_MASK, version),
        RNIC_FIELD_GET(RNIC_CSR_ID_VERSION_MINOR_MASK, version),
        RNIC_FIELD_GET(RNIC_CSR_ID_VERSION_PATCH_MASK, version), hash, RNIC_VERSION_MAJOR,
        RNIC_VERSION_MINOR, RNIC_VERSION_PATCH, RNIC_MAP_HASH));
  }
  wait_ready();
  const uint32_t data = read(RNIC_CSR_CAP_DATA), cq = read(RNIC_CSR_CAP_CQ),
                 mr = read(RNIC_CSR_CAP_MR), qp = read(RNIC_CSR_CAP_QP);
  const uint32_t path = read(RNIC_CSR_CAP_PATH), clk = read(RNIC_CSR_CLK_PERIOD);
  cap_.data_w = RNIC_FIELD_GET(RNIC_CSR_CAP_DATA_DATA_W_MASK, data);
  cap_.gen_fcs = RNIC_FIELD_GET(RNIC_CSR_CAP_DATA_GEN_FCS_MASK, data) != 0;
  cap_.n_qp = RNIC_FIELD_GET(RNIC_CSR_CAP_QP_N_QP_MASK, qp);
  cap_.page_stride = 1U << RNIC_FIELD_GET(RNIC_CSR_CAP_QP_PAGE_SHIFT_MASK, qp);
  const uint32_t ctx = RNIC_FIELD_GET(RNIC_CSR_CAP_QP_CTX_LOG2_MASK, qp);
  cap_.n_ctx = ctx == 0 ? cap_.n_qp : 1U << ctx;
  cap_.n_cq = RNIC_FIELD_GET(RNIC_CSR_CAP_CQ_N_CQ_MASK, cq);
  cap_.n_eq = RNIC_FIELD_GET(RNIC_CSR_CAP_CQ_N_EQ_MASK, cq);
  cap_.n_mr = RNIC_FIELD_GET(RNIC_CSR_CAP_MR_N_MR_MASK, mr);
  cap_.n_pd = RNIC_FIELD_GET(RNIC_CSR_CAP_MR_N_PD_MASK, mr);
  cap_.n_path = RNIC_FIELD_GET(RNIC_CSR_CAP_PATH_N_PATH_MASK, path);
  cap_.n_msix = RNIC_FIELD_GET(RNIC_CSR_CAP_PATH_N_MSIX_MASK, path);
  cap_.devmem_bytes = read(RNIC_CSR_CAP_DEVMEM);
  const uint32_t arp = read(RNIC_CSR_CAP_ARP);
  cap_.arp_groups = RNIC_FIELD_GET(RNIC_CSR_CAP_ARP_N_GROUP_MASK, arp);
  if (cap_.arp_groups != 0) {
    cap_.arp_slots = 1U << RNIC_FIELD_GET(RNIC_CSR_CAP_ARP_SLOT_LOG2_MASK, arp);
    cap_.arp_stages = 1U << RNIC_FIELD_GET(RNIC_CSR_CAP_ARP_STAGE_LOG2_MASK, arp);
    cap_.arp_ring = 1U << RNIC_FIELD_GET(RNIC_CSR_CAP_ARP_RING_LOG2_MASK, arp);
  }
  cap_.core_ps = RNIC_FIELD_GET(RNIC_CSR_CLK_PERIOD_CORE_PS_MASK, clk);
  cap_.mac_ps = RNIC_FIELD_GET(RNIC_CSR_CLK_PERIOD_MAC_PS_MASK, clk);
  return cap_;
}

void Device::use_contexts() {
  if (cap_.n_ctx >= cap_.n_qp) return;
  if (!contexts_) contexts_ = bus_.alloc_ring(uint64_t{cap_.n_qp} * RNIC_CTX_STRIDE);
  write64(RNIC_CSR_QP_CTX_BASE, contexts_->bus_addr());
}

void Device::wait_ready(uint64_t limit_ns) {
  const uint64_t end = bus_.now_ns() + limit_ns;
  while ((read(RNIC_CSR_HEALTH) & RNIC_CSR_HEALTH_READY_MASK) == 0) {
    if (bus_.now_ns() > end)
      throw Error(fmt::format("HEALTH.ready did not rise within {} ns", limit_ns));
    bus_.wait_ns(100);
  }
}

void Device::reset() {
  write(RNIC_CSR_RESET, RNIC_CSR_RESET_DEVICE_MASK);
  bus_.wait_ns(200);
  constexpr uint64_t kDrainLimitNs = 40'000'000;
  wait_ready(kDrainLimitNs);
}

void Device::set_gpu_window(uint32_t n, uint64_t base, uint64_t last) {
  write64(RNIC_CSR_GPU_BASE(n), base);
  write64(RNIC_CSR_GPU_LIMIT(n), last);
}

void Device::set_msix(uint32_t vector, uint64_t addr, uint32_t data, bool masked) {
  const uint32_t at = RNIC_CSR_MSIX_TABLE + 16 * vector;
  write64(at, addr);
  write(at + 8, data);
  write(at + 12, masked ? 1 : 0);
}

// ---------------------------------------------------------------------------------------------------
// commands
void Device::begin_command(const void* cmd, uint32_t size) {
  uint8_t bytes[RNIC_CMD_BYTES];
  std::memcpy(bytes, cmd, sizeof bytes);
  rnic_cmd_set_token(bytes, ++token_);
  for (uint32_t i = 0; i < size; i += 4)
    write(RNIC_CSR_MBOX_IN + i, static_cast<uint32_t>(rnic_get_le(bytes, i, 4)));
  write(RNIC_CSR_CMD_CTRL, RNIC_CSR_CMD_CTRL_GO_MASK);
}

uint8_t Device::await_command(const std::string& what) {
  const uint64_t end = bus_.now_ns() + kCommandLimitNs;
  for (;;) {
    const uint32_t s = read(RNIC_CSR_CMD_STATUS);
    const bool busy = (s & RNIC_CSR_CMD_STATUS_BUSY_MASK) != 0;
    if (!busy && RNIC_FIELD_GET(RNIC_CSR_CMD_STATUS_TOKEN_MASK, s) == token_)
      return static_cast<uint8_t>(RNIC_FIELD_GET(RNIC_CSR_CMD_STATUS_STATUS_MASK, s));
    if (bus_.now_ns() > end)
      throw Error(fmt::format("{}: no answer within {} ns", what, kCommandLimitNs));
    bus_.wait_ns(20);
  }
}

uint8_t Device::try_command(const void* cmd, const std::string& what) {
  begin_command(cmd);
  return await_command(what);
}

void Device::finish_command(uint32_t number, const std::string& what) {
  const uint8_t status = await_command(what);
  if (status != RNIC_CMD_STATUS_OK)
    throw Error(fmt::format("{} {}: {}", what, number, command_status_name(status)));
}

void Device::command(const void* cmd, const std::string& what) {
  begin_command(cmd);
  finish_command(rnic_cmd_get_number(cmd), what);
}

std::vector<uint8_t> Device::answer() {
  std::vector<uint8_t> a(RNIC_CMD_BYTES);
  for (uint32_t i = 0; i < RNIC_CMD_BYTES; i += 4)
    rnic_put_le(a.data(), i, 4, read(RNIC_CSR_MBOX_OUT + i));
  return a;
}

void Device::create_pd(uint32_t pd) {
  command(Command(RNIC_CMD_OPCODE_CREATE_PD, pd).bytes, "CREATE_PD");
}

void Device::destroy(uint8_t opcode, uint32_t number, const std::string& what) {
  command(Command(opcode, number).bytes, what);
}

uint32_t Device::create_mr(const MrRequest& r) {
  Command c(RNIC_CMD_OPCODE_CREATE_MR, r.index);
  rnic_cmd_mr_set_key_tag(c.bytes, r.tag);
  rnic_cmd_mr_set_local_write(c.bytes, r.local_write);
  rnic_cmd_mr_set_remote_write(c.bytes, r.remote_write);
  rnic_cmd_mr_set_remote_read(c.bytes, r.remote_read);
  rnic_cmd_mr_set_remote_atomic(c.bytes, r.remote_atomic);
  rnic_cmd_mr_set_zero_based(c.bytes, r.zero_based);
  rnic_cmd_mr_set_pd(c.bytes, r.pd);
  rnic_cmd_mr_set_va(c.bytes, r.va);
  rnic_cmd_mr_set_length(c.bytes, r.length);
  rnic_cmd_mr_set_iova(c.bytes, r.iova);
  rnic_cmd_mr_set_invalid(c.bytes, r.invalid);
  rnic_cmd_mr_set_page(c.bytes, r.page);
  rnic_cmd_mr_set_first(c.bytes, r.first);
  command(c.bytes, "CREATE_MR");
  return r.index << 8 | r.tag;
}

std::unique_ptr<CompletionQueue> Device::create_cq(uint32_t cqn, uint32_t log_size, uint32_t eqn) {
  auto ring = bus_.alloc_ring(uint64_t{RNIC_CQE_BYTES} << log_size);
  auto cq = std::make_unique<CompletionQueue>(bus_, cqn, log_size, std::move(ring));
  Command c(RNIC_CMD_OPCODE_CREATE_CQ, cqn);
  rnic_cmd_cq_set_log_size(c.bytes, log_size);
  rnic_cmd_cq_set_eqn(c.bytes, eqn);
  rnic_cmd_cq_set_base(c.bytes, cq->ring_addr());
  command(c.bytes, "CREATE_CQ");
  return cq;
}

std::unique_ptr<EventQueue> Device::create_eq(uint32_t eqn, uint32_t log_size, uint32_t vector) {
  auto ring = bus_.alloc_ring(uint64_t{RNIC_EQE_BYTES} << log_size);
  auto eq = std::make_unique<EventQueue>(bus_, eqn, log_size, std::move(ring));
  Command c(RNIC_CMD_OPCODE_CREATE_EQ, eqn);
  rnic_cmd_eq_set_log_size(c.bytes, log_size);
  rnic_cmd_eq_set_vector(c.bytes, vector);
  rnic_cmd_eq_set_base(c.bytes, eq->ring_addr());
  command(c.bytes, "CREATE_EQ");
  return eq;
}

void Device::create_path(const PathRequest& r) {
  Command c(RNIC_CMD_OPCODE_CREATE_PATH, r.index);
  rnic_cmd_path_set_dmac(c.bytes, r.dmac.data());
  rnic_cmd_path_set_smac(c.bytes, r.smac.data());
  rnic_cmd_path_set_ipv6(c.bytes, r.ipv6);
  rnic_cmd_path_set_vlan(c.bytes, r.vlan);
  rnic_cmd_path_set_dei(c.bytes, r.dei);
  rnic_cmd_path_set_pcp(c.bytes, r.pcp);
  rnic_cmd_path_set_ecn(c.bytes, r.ecn);
  rnic_cmd_path_set_dscp(c.bytes, r.dscp);
  rnic_cmd_path_set_ttl(c.bytes, r.ttl);
  rnic_cmd_path_set_vlan_id(c.bytes, r.vlan_id);
  rnic_cmd_path_set_sport(c.bytes, r.sport);
  rnic_cmd_path_set_flow_label(c.bytes, r.flow_label);
  rnic_cmd_path_set_sip(c.bytes, r.sip.data());
  rnic_cmd_path_set_dip(c.bytes, r.dip.data());
  command(c.bytes, "CREATE_PATH");
}

std::unique_ptr<QueuePair> Device::create_qp(QpRequest r) {
  auto sq = r.sq ? std::move(r.sq) : bus_.alloc_ring(uint64_t{RNIC_WQE_BLOCK} << r.log_sq);
  auto rq = bus_.alloc_ring(uint64_t{RNIC_WQE_BLOCK} << r.log_rq);
  auto qp =
      std::make_unique<QueuePair>(bus_, r.qpn, r.log_sq, r.log_rq, std::move(sq), std::move(rq));
  // The BlueFlame slice: BAR1 / N_QP rounded down to a power of two, BF_SLICE_MAX at most.
  uint32_t slice = RNIC_BF_SLICE_MAX;
  while (uint64_t{slice} * cap_.n_qp > RNIC_BAR1_SIZE) slice /= 2;
  qp->set_windows(cap_.page_stride, slice);
  Command c(RNIC_CMD_OPCODE_CREATE_QP, r.qpn);
  rnic_cmd_qp_set_type(c.bytes, r.service);
  rnic_cmd_qp_set_sq_sig_all(c.bytes, r.sq_sig_all);
  rnic_cmd_qp_set_pd(c.bytes, r.pd);
  rnic_cmd_qp_set_send_cqn(c.bytes, r.send_cqn);
  rnic_cmd_qp_set_recv_cqn(c.bytes, r.recv_cqn);
  rnic_cmd_qp_set_log_sq(c.bytes, r.log_sq);
  rnic_cmd_qp_set_log_rq(c.bytes, r.log_rq);
  rnic_cmd_qp_set_sq_base(c.bytes, qp->sq_addr());
  rnic_cmd_qp_set_rq_base(c.bytes, qp->rq_addr());
  command(c.bytes, "CREATE_QP");
  return qp;
}

void Device::connect(QueuePair& qp, const ConnectRequest& r) {
  to_rtr(qp, r);
  to_rts(qp, r);
}

void Device::to_rtr(QueuePair& qp, const ConnectRequest& r) {
  const bool rc = r.service == RNIC_QP_TYPE_RC, ud = r.service == RNIC_QP_TYPE_UD;
  Command init(RNIC_CMD_OPCODE_MODIFY_QP, qp.number());
  rnic_cmd_qp_set_state(init.bytes, RNIC_QP_STATE_INIT);
  rnic_cmd_qp_set_mask_pkey(init.bytes, 1);
  rnic_cmd_qp_set_pkey(init.bytes, r.pkey);
  rnic_cmd_qp_set_mask_qkey(init.bytes, ud);
  rnic_cmd_qp_set_qkey(init.bytes, r.qkey);
  rnic_cmd_qp_set_mask_access(init.bytes, !ud);
  rnic_cmd_qp_set_remote_write(init.bytes, r.remote_write);
  rnic_cmd_qp_set_remote_read(init.bytes, r.remote_read);
  rnic_cmd_qp_set_remote_atomic(init.bytes, r.remote_atomic);
  command(init.bytes, "MODIFY_QP to INIT");

  Command rtr(RNIC_CMD_OPCODE_MODIFY_QP, qp.number());
  rnic_cmd_qp_set_state(rtr.bytes, RNIC_QP_STATE_RTR);
  rnic_cmd_qp_set_mask_path(rtr.bytes, !ud);
  rnic_cmd_qp_set_mask_mtu(rtr.bytes, !ud);
  rnic_cmd_qp_set_mask_dest(rtr.bytes, !ud);
  rnic_cmd_qp_set_mask_rq_psn(rtr.bytes, !ud);
  rnic_cmd_qp_set_mask_dest_rd(rtr.bytes, rc);
  rnic_cmd_qp_set_mask_rnr_timer(rtr.bytes, rc);
  rnic_cmd_qp_set_path(rtr.bytes, r.path);
  rnic_cmd_qp_set_mtu(rtr.bytes, r.mtu);
  rnic_cmd_qp_set_dest_qpn(rtr.bytes, r.dest_qpn);
  rnic_cmd_qp_set_rq_psn(rtr.bytes, r.rq_psn);
  rnic_cmd_qp_set_max_dest_rd_atomic(rtr.bytes, r.max_dest_rd_atomic);
  rnic_cmd_qp_set_min_rnr_timer(rtr.bytes, r.min_rnr_timer);
  command(rtr.bytes, "MODIFY_QP to RTR");
}

void Device::to_rts(QueuePair& qp, const ConnectRequest& r) {
  const bool rc = r.service == RNIC_QP_TYPE_RC;
  Command rts(RNIC_CMD_OPCODE_MODIFY_QP, qp.number());
  rnic_cmd_qp_set_state(rts.bytes, RNIC_QP_STATE_RTS);
  rnic_cmd_qp_set_mask_sq_psn(rts.bytes, 1);
  rnic_cmd_qp_set_mask_timeout(rts.bytes, rc);
  rnic_cmd_qp_set_mask_retry(rts.bytes, rc);
  rnic_cmd_qp_set_mask_rnr_retry(rts.bytes, rc);
  rnic_cmd_qp_set_mask_rd_atomic(rts.bytes, rc);
  rnic_cmd_qp_set_sq_psn(rts.bytes, r.sq_psn);
  rnic_cmd_qp_set_timeout(rts.bytes, r.timeout);
  rnic_cmd_qp_set_retry_cnt(rts.bytes, r.retry_cnt);
  rnic_cmd_qp_set_rnr_retry(rts.bytes, r.rnr_retry);
  rnic_cmd_qp_set_max_rd_atomic(rts.bytes, r.max_rd_atomic);
  command(rts.bytes, "MODIFY_QP to RTS");
}

void Device::modify_state(QueuePair& qp, uint8_t state) {
  Command c(RNIC_CMD_OPCODE_MODIFY_QP, qp.number());
  rnic_cmd_qp_set_state(c.bytes, state);
  command(c.bytes, "MODIFY_QP");
  if (state == RNIC_QP_STATE_RESET) qp.reset_indices();
}

void Device::set_rate(QueuePair& qp, uint32_t mbps, uint8_t weight) {
  if (mbps > 0xFFFFF || weight > 15)
    throw Error(fmt::format("QP {}: rate {} Mb/s or weight {} is too large for MODIFY_QP",
                            qp.number(), mbps, weight));
  Command c(RNIC_CMD_OPCODE_MODIFY_QP, qp.number());
  rnic_cmd_qp_set_state(c.bytes, RNIC_QP_STATE_RTS);
  rnic_cmd_qp_set_mask_rate(c.bytes, 1);
  rnic_cmd_qp_set_rate(c.bytes, mbps);
  rnic_cmd_qp_set_weight(c.bytes, weight);
  command(c.bytes, "MODIFY_QP rate");
}

QpInfo Device::query_qp(uint32_t qpn) {
  command(Command(RNIC_CMD_OPCODE_QUERY_QP, qpn).bytes, "QUERY_QP");
  const std::vector<uint8_t> a = answer();
  const uint8_t* p = a.data();
  QpInfo i;
  i.state = static_cast<uint8_t>(rnic_cmd_qp_get_state(p));
  i.err_cause = static_cast<uint8_t>(rnic_cmd_qp_get_q_err_cause(p));
  i.sq_prod = static_cast<uint16_t>(rnic_cmd_qp_get_q_sq_prod(p));
  i.sq_fetch = static_cast<uint16_t>(rnic_cmd_qp_get_q_sq_fetch(p));
  i.rq_prod = static_cast<uint16_t>(rnic_cmd_qp_get_q_rq_prod(p));
  i.rq_cons = static_cast<uint16_t>(rnic_cmd_qp_get_q_rq_cons(p));
  i.next_psn = rnic_cmd_qp_get_q_next_psn(p);
  i.una_psn = rnic_cmd_qp_get_q_una_psn(p);
  i.epsn = rnic_cmd_qp_get_q_epsn(p);
  i.msn = rnic_cmd_qp_get_q_msn(p);
  i.rate_mbps = rnic_cmd_qp_get_rate(p);
  i.weight = static_cast<uint8_t>(rnic_cmd_qp_get_weight(p));
  return i;
}

}  // namespace rnic::driver
