// SPDX-License-Identifier: Apache-2.0
// One WRITE alone: posted, followed through both NICs, compared byte by byte.
#include <fmt/format.h>

#include <algorithm>

#include "regs/gen/rnic_regs.h"
#include "sim/run/session.hpp"

namespace rnic::sim {

namespace {
constexpr TimePs kLimitPs = 1'000'000'000;
constexpr TimePs kSettlePs = 3'000'000;

const char* memory_name(Memory m) {
  switch (m) {
    case Memory::kHost:
      return "host";
    case Memory::kGpu:
      return "GPU";
    case Memory::kDevice:
      return "device";
    case Memory::kBounce:
      return "GPU, bounced through the host";
  }
  return "?";
}

void random_fill(std::vector<uint8_t>& data, mem::Random& rng) {
  for (size_t i = 0; i < data.size(); i += 8) {
    const uint64_t v = rng.next();
    std::memcpy(&data[i], &v, std::min<size_t>(8, data.size() - i));
  }
}

struct Spread {
  std::vector<double> values;
  void add(const std::optional<TimePs>& v) {
    if (v) values.push_back(static_cast<double>(*v) / 1000.0);
  }
  double at(double q) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
  }
};
}  // namespace

std::string threshold_text(Session& s) {
  return fmt::format("  TX_START_THRESHOLD {} B{}", s.tx_start_threshold(),
                     s.tx_start_threshold() == 0 ? " (whole frames)" : "");
}

void run_latency(Session& s, const std::string& name, const LatencyStep& step) {
  const size_t from = 0, to = s.peer_of(0);
  Host& a = *s.kit(from).host;
  Host& b = *s.kit(to).host;
  Recorder& ra = *s.kit(from).recorder;
  Recorder& rb = *s.kit(to).recorder;
  const auto [qa, qb] = s.pair(0, from, to);
  const uint64_t size = std::max<uint64_t>(step.size, 1);
  const auto place = [](Memory m) {
    return m == Memory::kGpu ? Place::kGpu : m == Memory::kDevice ? Place::kDevice : Place::kHost;
  };
  Region& src = a.region(place(step.source), size);
  Region& dst = b.region(place(step.target), size);
  Region* gpu_src = step.source == Memory::kBounce ? &a.region(Place::kGpu, size) : nullptr;

  mem::Random rng(s.seed("latency." + name));
  std::vector<uint8_t> data(step.size);
  Spread to_mac, to_visible, to_cqe;
  Timeline first;

  for (uint32_t n = 0; n < step.repeat; ++n) {
    if (step.imm) qb->qp->post_receives(1);
    // Nothing of before is on its way. The two clocks repeat their phases every 8 ns; the first
    // repetition always meets the same one, the others take turns.
    constexpr TimePs kPhasePs = 8000;
    s.world().run_until((s.world().now_ps() + kSettlePs) / kPhasePs * kPhasePs + n * 2000);
    Region& filled = gpu_src != nullptr ? *gpu_src : src;
    random_fill(data, rng);
    if (filled.place == Place::kDevice) {
      // The program writes device_memory through its window.
      const auto offset = static_cast<uint32_t>(src.iova - a.nic().read64(RNIC_CSR_DEVMEM_BASE));
      for (uint32_t at = 0; at < data.size(); at += 64) {
        a.bus().write_block(driver::Bar::kRegisters, RNIC_CSR_GDR_WINDOW + offset + at,
                            data.data() + at,
                            std::min<uint32_t>(64, static_cast<uint32_t>(data.size()) - at));
      }
      s.world().run_until(s.world().now_ps() + kSettlePs);
    } else {
      filled.buffer.write(0, data.data(), data.size());
    }
    s.snapshot_memory();
    s.ignore_memory(to, dst);
    if (gpu_src != nullptr) s.ignore_memory(from, src);
    ra.clear();
    rb.clear();
    ra.start();
    rb.start();

    MessageInfo m;
    m.label = name;
    m.from = from;
    m.to = to;
    m.from_node = s.kit(from).node->name();
    m.to_node = s.kit(to).node->name();
    m.qpn = qa->number();
    m.peer_qpn = qb->number();
    m.bytes = step.size;
    m.target_addr = dst.iova;
    m.first_psn = qa->take_psns(step.size);
    m.last_psn = qa->last_psn(m.first_psn, step.size);
    m.start_ps = std::max(s.world().now_ps(), s.kit(from).node->fabric().now_ps());
    if (gpu_src != nullptr) {
      bool copied = false;
      TimePs done = 0;
      s.kit(from).node->gpu(0).copy_to_host(gpu_src->iova, src.iova, step.size, m.start_ps,
                                            [&](uint64_t t) {
                                              copied = true;
                                              done = t;
                                            });
      // In steps of one cycle, so that the doorbell follows the copy at once.
      s.world().run_while([&] { return !copied; }, kLimitPs, "the bounce copy", 2000);
    }

    driver::WriteRequest w;
    if (step.inlined) {
      w.use_inline = true;
      w.inline_data = data;
    } else {
      w.local = {{src.key, step.size, src.va}};
    }
    w.remote_va = dst.va;
    w.rkey = dst.key;
    w.long_form = step.long_form;
    w.sampled = true;
    if (step.imm) w.imm = 0xC0DE0000 + n;
    if (step.imm) m.remote_cqe = qb->cq->next_entry_addr();
    m.local_cqe = qa->cq->next_entry_addr();
    m.wqe_index = qa->qp->post_write(w);
    m.has_payload_read = !step.inlined;
    // The store counts from where the fabric is, which is the next edge.
    m.store_ps = std::max(s.world().now_ps(), s.kit(from).node->fabric().now_ps());
    if (step.post == Post::kBlueFlame) {
      m.blueflame = true;
      m.fetched = false;
      qa->qp->push_blueflame(m.wqe_index);
    } else if (step.post == Post::kGpu) {
      s.kit(from).node->gpu(0).ring(pcie::Bar::kDoorbell,
                                    qa->qp->page_addr() + RNIC_PAGE_TX_WQE_PROD, qa->qp->producer(),
                                    m.store_ps);
    } else {
      qa->qp->ring();
    }
    const driver::Completion c = a.wait_completion(*qa, kLimitPs);
    if (!c.ok() || c.byte_count != step.size)
      s.problem(fmt::format("{}: completion says {} and {} bytes", name,
                            driver::status_name(c.status), c.byte_count));
    if (step.imm) {
      const driver::Completion r = b.wait_received(*qb, kLimitPs);
      if (!r.ok() || !r.imm || *r.imm != 0xC0DE0000 + n || r.byte_count != step.size)
        s.problem(fmt::format("{}: the receiver's completion says {}, immediate {:#x}, {} bytes",
                              name, driver::status_name(r.status), r.imm.value_or(0),
                              r.byte_count));
    }
    s.world().run_until(s.world().now_ps() + s.settle_ps(kSettlePs));
    ra.stop();
    rb.stop();
    if (dst.place != Place::kDevice) {
      if (auto d = mem::MemoryChecker::compare(dst.buffer, 0, data.data(), data.size()))
        s.problem(name + ": " + d->to_string());
    } else {
      const auto offset = static_cast<uint32_t>(dst.iova - b.nic().read64(RNIC_CSR_DEVMEM_BASE));
      for (uint32_t at = 0; at < data.size(); at += 4) {
        const uint32_t v =
            b.bus().read32(driver::Bar::kRegisters, RNIC_CSR_GDR_WINDOW + offset + at);
        if (std::memcmp(&v, data.data() + at, std::min<size_t>(4, data.size() - at)) != 0) {
          s.problem(fmt::format("{}: device_memory differs at {}", name, at));
          break;
        }
      }
    }
    s.check_memory(name);

    Timeline t = timeline_of(ra, rb, m);
    if (s.loop()) t.mac_first.reset();
    to_mac.add(t.doorbell_to_mac());
    to_visible.add(t.to_visible());
    to_cqe.add(t.to_remote_cqe());
    if (n == 0) first = t;
    s.timelines().push_back(std::move(t));
    ra.keep();
    rb.keep();
    s.progress(fmt::format("{}: {} of {}", name, n + 1, step.repeat));
  }

  const TimePs core_ps = s.kit(from).node->nic().info().core_ps;
  s.print(fmt::format("  WRITE{} of {} B from {} memory to {} memory, {}",
                      step.imm ? " with immediate" : "", step.size, memory_name(step.source),
                      memory_name(step.target),
                      step.post == Post::kBlueFlame ? "pushed through BlueFlame"
                      : step.post == Post::kGpu     ? "doorbell rung by the GPU"
                                                    : "doorbell rung by the CPU"));
  s.print(threshold_text(s));
  for (const std::string& line : stage_table(first, step.reference, core_ps)) s.print(line);
  if (step.detail) {
    for (const std::string& line : detail_table(first, core_ps)) s.print(line);
  }
  if (step.repeat > 1) {
    const auto row = [&](const char* what, Spread& v) {
      if (v.values.empty()) return;
      s.print(fmt::format("     {:<34} of {}: min {:.1f}  median {:.1f}  p99 {:.1f}  max {:.1f} ns",
                          what, v.values.size(), v.at(0), v.at(0.5), v.at(0.99), v.at(1)));
    };
    row("doorbell to first MAC byte", to_mac);
    row("doorbell to data visible", to_visible);
    row("doorbell to remote CQE", to_cqe);
  }
  const auto figure = [&](const char* what, const std::optional<TimePs>& v) {
    if (v) s.figure(name + "." + what, static_cast<double>(*v) / 1000.0, "ns");
  };
  figure("to_mac", first.doorbell_to_mac());
  figure("to_visible", first.to_visible());
  figure("to_remote_cqe", first.to_remote_cqe());
  if (first.bar && first.crossing)
    s.figure(name + ".pins_to_crossing",
             static_cast<double>(*first.crossing - *first.bar) / static_cast<double>(core_ps),
             "core cycles");
  if (first.bar && first.mac_first)
    s.figure(name + ".pins_to_mac",
             static_cast<double>(*first.mac_first - *first.bar) / static_cast<double>(core_ps),
             "core cycles");
  if (first.bar && first.data_visible)
    s.figure(name + ".pins_to_visible",
             static_cast<double>(*first.data_visible - *first.bar - s.settings().wire.delay_ps) /
                 static_cast<double>(core_ps),
             "core cycles");
  if (first.bar && first.crossing && step.post == Post::kBlueFlame)
    s.print(fmt::format(
        "     push complete on BAR1 to the write into the crossing: {:.0f} core cycles; to the "
        "MAC: {:.1f}",
        static_cast<double>(*first.crossing - *first.bar) / static_cast<double>(core_ps),
        first.mac_first
            ? static_cast<double>(*first.mac_first - *first.bar) / static_cast<double>(core_ps)
            : 0.0));
}

// -------------------------------------------------------------------------------------------------
// raw frames
namespace {
class RawEnd final : public RawPort {
 public:
  void on_raw_frame(TimePs, std::span<const uint8_t> frame) override {
    got.emplace_back(frame.begin(), frame.end());
  }
  std::span<const uint8_t> next_raw_frame(TimePs) override {
    if (next >= to_send.size()) return {};
    return to_send[next++];
  }
  std::vector<std::vector<uint8_t>> to_send, got;
  size_t next = 0;
};

std::vector<uint8_t> arp_request(const driver::Mac& mac, uint8_t self, uint8_t peer, uint32_t n) {
  std::vector<uint8_t> f(60);
  std::fill_n(f.begin(), 6, uint8_t{0xFF});
  std::copy(mac.begin(), mac.end(), f.begin() + 6);
  const uint8_t head[] = {0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1};
  std::copy(std::begin(head), std::end(head), f.begin() + 12);
  std::copy(mac.begin(), mac.end(), f.begin() + 22);
  const uint8_t sender[] = {192, 168, 0, self}, target[] = {192, 168, 0, peer};
  std::copy(std::begin(sender), std::end(sender), f.begin() + 28);
  std::copy(std::begin(target), std::end(target), f.begin() + 38);
  std::memcpy(&f[44], &n, 4);  // padding that tells them apart
  return f;
}
}  // namespace

void run_raw(Session& s, const std::string& name, const RawStep& step) {
  std::vector<std::unique_ptr<RawEnd>> ends;
  // Whatever happens, no NIC keeps a pointer to them.
  struct Unplug {
    Session& s;
    ~Unplug() {
      for (size_t i = 0; i < s.node_count(); ++i) s.kit(i).node->nic().set_raw_port(nullptr);
    }
  } unplug{s};
  for (size_t i = 0; i < s.node_count(); ++i) {
    auto e = std::make_unique<RawEnd>();
    for (uint32_t n = 0; n < step.count; ++n)
      e->to_send.push_back(arp_request(s.kit(i).host->mac(static_cast<uint8_t>(i + 1)),
                                       static_cast<uint8_t>(i + 1),
                                       static_cast<uint8_t>(s.peer_of(i) + 1), n));
    s.kit(i).node->nic().set_raw_port(e.get());
    ends.push_back(std::move(e));
  }
  s.world().run_while(
      [&] {
        for (size_t i = 0; i < ends.size(); ++i) {
          if (ends[s.peer_of(i)]->got.size() < ends[i]->to_send.size()) return true;
        }
        return false;
      },
      100'000'000, "the raw frames at the far ends", 200'000);
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[s.peer_of(i)]->got != ends[i]->to_send)
      s.problem(name + ": a raw frame came out differently");
  }
  s.print(fmt::format("  {} ARP requests each way, the same at the far end", step.count));
}

}  // namespace rnic::sim
