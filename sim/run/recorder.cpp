// SPDX-License-Identifier: Apache-2.0
#include "sim/run/recorder.hpp"

#include <algorithm>

namespace rnic::sim {

namespace {
struct Name {
  uint8_t event;
  const char* name;
  const char* block;
};
constexpr Name kNames[] = {
    {kTrcDoorbell, "doorbell decoded", "doorbell"},
    {kTrcBlueflame, "BlueFlame WQE complete", "blueflame"},
    {kTrcWqeReq, "WQE fetch asked for", "sq_scheduler"},
    {kTrcWqeReady, "WQE decoded", "wqe_fetch_engine"},
    {kTrcTurn, "turn begins", "sq_engine"},
    {kTrcPayRead, "payload read asked for", "sq_engine"},
    {kTrcPayFirst, "first payload byte there", "tx_buffer"},
    {kTrcTxStart, "packet starts", "tx_buffer"},
    {kTrcPktOut, "first beat out", "tx_packetizer"},
    {kTrcTxCdc, "written into the crossing", "cdc_tx"},
    {kTrcRxFirst, "first beat", "rx_parser"},
    {kTrcRxVerdict, "frame good", "rx_buffer"},
    {kTrcRxMeta, "packet handed on", "rx_dispatch"},
    {kTrcRxExec, "accepted", "rx_responder"},
    {kTrcDmaWrFirst, "first payload beat written", "dma_master"},
    {kTrcDmaWrLast, "last payload beat written", "dma_master"},
    {kTrcCqeReq, "completion taken", "cqe_gen"},
    {kTrcCqeWr, "CQE written", "dma_master"},
    {kTrcAckReq, "ACK asked for", "resp_engine"},
    {kTrcAckTx, "ACK sent", "resp_engine"},
    {kTrcAckRx, "ACK taken", "rx_completer"},
    {kTrcComplete, "message done", "rx_completer"},
    {kMacTxFirst, "first beat on mac_tx", "pins"},
    {kMacTxLast, "last beat on mac_tx", "pins"},
    {kMacRxFirst, "first beat on mac_rx", "pins"},
    {kMacRxLast, "last beat on mac_rx", "pins"},
    {kBar0Write, "write on BAR0", "pins"},
    {kBar1Write, "beat on BAR1", "pins"},
};
}  // namespace

const char* event_name(uint8_t event) {
  for (const Name& n : kNames) {
    if (n.event == event) return n.name;
  }
  return "?";
}

const char* event_block(uint8_t event) {
  for (const Name& n : kNames) {
    if (n.event == event) return n.block;
  }
  return "?";
}

void Recorder::clear() {
  events_.clear();
  visible_.clear();
}

void Recorder::keep() {
  kept_.insert(kept_.end(), events_.begin(), events_.end());
  clear();
}

std::optional<TimePs> Recorder::first(uint8_t event, TimePs from, std::optional<uint32_t> qpn,
                                      std::optional<uint32_t> info) const {
  for (const TraceEvent& e : events_) {
    if (e.event == event && e.time_ps >= from && (!qpn || e.qpn == *qpn) &&
        (!info || e.info == *info))
      return e.time_ps;
  }
  return std::nullopt;
}

std::optional<TimePs> Recorder::last(uint8_t event, TimePs from, std::optional<uint32_t> qpn,
                                     std::optional<uint32_t> info) const {
  for (auto e = events_.rbegin(); e != events_.rend(); ++e) {
    if (e->time_ps < from) break;
    if (e->event == event && (!qpn || e->qpn == *qpn) && (!info || e->info == *info))
      return e->time_ps;
  }
  return std::nullopt;
}

std::optional<TimePs> Recorder::visible(uint64_t addr, uint64_t len, TimePs from) const {
  uint64_t left = len;
  for (const Visible& v : visible_) {
    if (v.time_ps < from || v.addr >= addr + len || v.addr + v.len <= addr) continue;
    const uint64_t bytes = std::min(v.addr + v.len, addr + len) - std::max(v.addr, addr);
    if (bytes >= left) return v.time_ps;
    left -= bytes;
  }
  return std::nullopt;
}

std::optional<TimePs> Recorder::first_visible(uint64_t addr, uint64_t len, TimePs from) const {
  for (const Visible& v : visible_) {
    if (v.time_ps >= from && v.addr < addr + len && v.addr + v.len > addr) return v.time_ps;
  }
  return std::nullopt;
}

}  // namespace rnic::sim
