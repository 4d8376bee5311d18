// SPDX-License-Identifier: Apache-2.0
#include "sim/run/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace rnic::sim {

namespace {
// Events of one QP that carry a block index rather than a PSN.
bool by_index(uint8_t e) {
  return e == kTrcDoorbell || e == kTrcBlueflame || e == kTrcWqeReq || e == kTrcWqeReady ||
         e == kTrcTurn || e == kTrcComplete || e == kTrcCqeReq;
}

std::string json_text(const std::string& s) {
  return nlohmann::json(s).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool psn_in(uint32_t psn, uint32_t first, uint32_t last) {
  return ((psn - first) & 0xFFFFFF) <= ((last - first) & 0xFFFFFF);
}
}  // namespace

std::optional<TimePs> Timeline::doorbell_to_mac() const {
  if (!mac_first) return std::nullopt;
  return *mac_first - message.store_ps;
}
std::optional<TimePs> Timeline::to_visible() const {
  if (!data_visible) return std::nullopt;
  return *data_visible - message.store_ps;
}
std::optional<TimePs> Timeline::to_remote_cqe() const {
  if (!remote_cqe) return std::nullopt;
  return *remote_cqe - message.store_ps;
}

Timeline timeline_of(const Recorder& from, const Recorder& to, const MessageInfo& m) {
  Timeline t;
  t.message = m;
  const TimePs at = m.store_ps;
  t.bar = from.last(m.blueflame ? kBar1Write : kBar0Write, at);
  if (!m.alone) {
    t.bar.reset();
    t.doorbell = from.first(kTrcDoorbell, at, m.qpn);
  } else if (m.blueflame) {
    // The push may be several beats; the last one before the WQE is complete counts.
    const auto done = from.first(kTrcBlueflame, at, m.qpn);
    t.bar.reset();
    for (const TraceEvent& e : from.events()) {
      if (e.event == kBar1Write && e.time_ps >= at && (!done || e.time_ps <= *done))
        t.bar = e.time_ps;
    }
    t.doorbell = done;
  } else {
    t.bar = from.first(kBar0Write, at);
    t.doorbell = from.first(kTrcDoorbell, at, m.qpn);
  }
  t.wqe_ready = from.first(kTrcWqeReady, at, m.qpn, m.wqe_index);
  t.tx_start = from.first(kTrcTxStart, at, m.qpn, m.first_psn);
  t.pkt_out = from.first(kTrcPktOut, at, m.qpn, m.first_psn);
  t.crossing = from.first(kTrcTxCdc, at, m.qpn, m.first_psn);
  if (const auto c = t.crossing ? t.crossing : t.pkt_out; c && m.alone) {
    t.mac_first = from.first(kMacTxFirst, *c);
    if (t.mac_first) t.rx_first = to.first(kMacRxFirst, *t.mac_first);
  }
  t.exec = to.first(kTrcRxExec, at, m.peer_qpn, m.last_psn);
  if (t.exec && m.alone) {
    // The last frame's last beat: the latest one that came before the packet was accepted.
    for (const TraceEvent& e : to.events()) {
      if (e.event == kMacRxLast && e.time_ps >= at && e.time_ps <= *t.exec) t.rx_last = e.time_ps;
    }
  }
  if (m.bytes > 0) t.data_visible = to.visible(m.target_addr, m.bytes, at);
  if (m.alone) {
    for (const TraceEvent& e : to.events()) {
      if (e.event == kTrcDmaWrLast && e.time_ps >= at && e.qpn == m.peer_qpn)
        t.data_written = e.time_ps;
    }
  }
  if (m.remote_cqe) t.remote_cqe = to.visible(*m.remote_cqe, 32, at);
  if (m.local_cqe) t.local_cqe = from.visible(*m.local_cqe, 32, at);

  if (!m.alone) return t;

  const auto add = [&](const Recorder& r, uint32_t qpn, bool requester) {
    for (const TraceEvent& e : r.events()) {
      if (e.time_ps < at || e.event >= kMacTxFirst || e.qpn != qpn) continue;
      const bool tx_side = e.event < kTrcRxFirst || e.event >= kTrcAckRx;
      if (tx_side != requester && e.event != kTrcCqeReq) continue;
      if (by_index(e.event)) {
        if (requester && e.event != kTrcDoorbell && e.info != m.wqe_index) continue;
      } else if (e.event != kTrcCqeWr && e.event != kTrcDmaWrFirst && e.event != kTrcDmaWrLast &&
                 !psn_in(e.info, m.first_psn, m.last_psn)) {
        continue;
      }
      t.points.push_back({event_name(e.event), event_block(e.event), e.time_ps});
    }
  };
  add(from, m.qpn, true);
  add(to, m.peer_qpn, false);
  const auto pin = [&](const char* name, const std::optional<TimePs>& when) {
    if (when) t.points.push_back({name, "pins", *when});
  };
  pin(m.blueflame ? "push taken on BAR1" : "doorbell taken on BAR0", t.bar);
  pin("first beat on mac_tx", t.mac_first);
  pin("first beat on mac_rx", t.rx_first);
  pin("last beat on mac_rx", t.rx_last);
  pin("data visible", t.data_visible);
  pin("remote CQE visible", t.remote_cqe);
  pin("local CQE visible", t.local_cqe);
  std::stable_sort(t.points.begin(), t.points.end(),
                   [](const Point& x, const Point& y) { return x.time_ps < y.time_ps; });
  return t;
}

std::vector<std::string> stage_table(const Timeline& t, bool reference, TimePs core_ps) {
  std::vector<std::string> out;
  const MessageInfo& m = t.message;
  out.push_back(fmt::format("  {:<3}{:<44}{:>10}{:>10}{}", "#", "stage", "ns", "cycles",
                            reference ? "  reference" : ""));
  std::optional<TimePs> before = m.store_ps;
  const auto row = [&](const char* number, const char* name, const std::optional<TimePs>& end,
                       const char* published) {
    if (!end || !before) return;
    const double ns = static_cast<double>(static_cast<int64_t>(*end - *before)) / 1000.0;
    out.push_back(
        fmt::format("  {:<3}{:<44}{:>10.1f}{:>10.1f}{}", number, name, ns,
                    ns * 1000.0 / static_cast<double>(core_ps),
                    reference && published[0] != 0 ? fmt::format("  {:>9}", published) : ""));
    before = end;
  };
  if (m.start_ps < m.store_ps) {
    before = m.start_ps;
    row("0", "copy from GPU to host memory (bounce)", m.store_ps, "400");
  }
  row("1", m.blueflame ? "BlueFlame push, WQE complete" : "doorbell: store to decoded", t.doorbell,
      "20");
  if (m.fetched) row("2", "WQE fetch", t.wqe_ready, "40");
  row("3", m.has_payload_read ? "context, payload read" : "context, inline payload", t.tx_start,
      "150");
  row("4", "packetize: headers, iCRC", t.pkt_out, "30");
  row("5", "MAC: crossing, Ethernet, first byte out", t.mac_first, "10");
  row("6", "wire: first byte in", t.rx_first, "200");
  row("6b", "serialization: last byte in", t.rx_last, "(84)");
  row("7", "receive: iCRC, context, permission", t.exec, "30");
  if (t.data_visible) {
    row("8", "DMA write: last byte visible", t.data_visible, "150");
  } else {
    row("8", "DMA write: last beat into device_memory", t.data_written, "");
  }
  row("9", "CQE of the responder visible", t.remote_cqe, "50");
  const auto total = [&](const char* name, const std::optional<TimePs>& v, const char* published) {
    if (!v) return;
    out.push_back(
        fmt::format("     {:<44}{:>10.1f}{:>10.1f}{}", name, static_cast<double>(*v) / 1000.0,
                    static_cast<double>(*v) / static_cast<double>(core_ps),
                    reference && published[0] != 0 ? fmt::format("  {:>9}", published) : ""));
  };
  total("doorbell to first MAC byte", t.doorbell_to_mac(), "250");
  total("doorbell to data visible", t.to_visible(), "");
  total("doorbell to remote CQE", t.to_remote_cqe(), "510 (680)");
  if (t.local_cqe) total("doorbell to the requester's own CQE", *t.local_cqe - m.store_ps, "");
  if (m.start_ps < m.store_ps && t.data_visible)
    total("bounce included, to data visible", *t.data_visible - m.start_ps, "");
  if (m.start_ps < m.store_ps && t.remote_cqe)
    total("bounce included, to remote CQE", *t.remote_cqe - m.start_ps, "");
  return out;
}

std::vector<std::string> detail_table(const Timeline& t, TimePs core_ps) {
  std::vector<std::string> out;
  TimePs before = t.message.store_ps;
  for (const Point& p : t.points) {
    out.push_back(fmt::format(
        "  {:>10.1f} ns  {:>7.1f} cycles  {:<18} {}",
        static_cast<double>(p.time_ps - t.message.store_ps) / 1000.0,
        static_cast<double>(p.time_ps - before) / static_cast<double>(core_ps), p.block, p.name));
    before = p.time_ps;
  }
  return out;
}

// ------------------------------------------------------------------------------------------------------
// trace
void write_chrome_trace(const std::string& path, const std::vector<Timeline>& timelines,
                        const std::vector<std::pair<std::string, const Recorder*>>& nodes) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
  if (!file) throw std::runtime_error("cannot write " + path);
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  bool first = true;
  const auto put = [&](const std::string& s) {
    if (!first) text += ",\n";
    first = false;
    text += s;
    if (text.size() > 1 << 20) {
      std::fwrite(text.data(), 1, text.size(), file.get());
      text.clear();
    }
  };
  const auto us = [](TimePs t) { return fmt::format("{}.{:06}", t / 1'000'000, t % 1'000'000); };
  for (size_t n = 0; n < nodes.size(); ++n) {
    put(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"node {}"}}}})", n,
                    nodes[n].first));
  }
  // Messages: one track per QP of the sender.
  constexpr uint32_t kQpTrack = 1000;
  for (const Timeline& t : timelines) {
    const MessageInfo& m = t.message;
    const uint32_t tid = kQpTrack + m.qpn;
    put(fmt::format(
        R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"QP {} WRITEs"}}}})",
        m.from, tid, m.qpn));
    const TimePs end =
        std::max({t.data_visible.value_or(0), t.remote_cqe.value_or(0), t.local_cqe.value_or(0)});
    if (end <= m.start_ps) continue;
    put(fmt::format(
        R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"message","args":{{"wqe":{},"psn":{}}}}})",
        m.from, tid, us(m.start_ps), us(end - m.start_ps),
        json_text(fmt::format("WRITE {} B {}", m.bytes, m.label)), m.wqe_index, m.first_psn));
    TimePs before = m.start_ps;
    const auto slice = [&](const char* name, const std::optional<TimePs>& at) {
      if (!at || *at < before) return;
      put(fmt::format(
          R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}","cat":"stage"}})", m.from,
          tid, us(before), us(*at - before), name));
      before = *at;
    };
    if (m.start_ps < m.store_ps) slice("bounce copy", m.store_ps);
    slice("doorbell", t.doorbell);
    slice("WQE fetch", t.wqe_ready);
    slice("payload read", t.tx_start);
    slice("packetize", t.pkt_out);
    if (m.alone) {
      slice("MAC", t.mac_first);
      slice("wire", t.rx_first);
      slice("serialization", t.rx_last);
      slice("receive", t.exec);
    } else {
      slice("MAC, wire, receive", t.exec);
    }
    slice("DMA write", t.data_visible);
    slice("CQE", t.remote_cqe);
    if (!t.remote_cqe) slice("ACK, CQE", t.local_cqe);
  }
  // Raw events: one track per source of the trace bus.
  for (size_t n = 0; n < nodes.size(); ++n) {
    std::vector<bool> named(256);
    for (const std::vector<TraceEvent>* list :
         {&nodes[n].second->kept(), &nodes[n].second->events()}) {
      for (const TraceEvent& e : *list) {
        if (!named[e.event]) {
          named[e.event] = true;
          put(fmt::format(
              R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}: {}"}}}})",
              n, e.event, event_block(e.event), event_name(e.event)));
        }
        put(fmt::format(
            R"({{"ph":"i","s":"t","pid":{},"tid":{},"ts":{},"name":"{}","args":{{"qpn":{},"info":{},"cycle":{}}}}})",
            n, e.event, us(e.time_ps), event_name(e.event), e.qpn, e.info, e.cycle));
      }
    }
  }
  text += "\n]}\n";
  std::fwrite(text.data(), 1, text.size(), file.get());
  if (std::fflush(file.get()) != 0 || std::ferror(file.get()))
    throw std::runtime_error("cannot write " + path);
}

}  // namespace rnic::sim
