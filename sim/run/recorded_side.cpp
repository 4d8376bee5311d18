// SPDX-License-Identifier: Apache-2.0
#include "sim/run/recorded_side.hpp"

#include <algorithm>

#include "regs/gen/rnic_regs.h"

namespace rnic::sim {

namespace {
// The driver wants IPv4 in the last four bytes, the rest zero.
driver::Ip ip_of(const roce::IpAddr& ip) {
  driver::Ip out = ip;
  if (roce::is_ipv4(ip)) std::fill(out.begin(), out.begin() + 12, uint8_t{0});
  return out;
}
}  // namespace

NodeConfig replay_node(const char* name, const ReplayOptions& options) {
  NodeConfig c;
  c.name = name;
  c.nic.data_w = options.data_w;
  c.nic.seed = options.seed;
  c.nic.wave_file = options.wave_file;
  c.dma.layout = mem::Layout::kScattered;
  c.dma.seed = options.seed;
  return c;
}

wire::LinkConfig replay_cable(uint32_t data_w) {
  return {.rate_bps = std::min<uint64_t>(100'000'000'000, data_w * 390'625'000ull),
          .delay_ps = 200'000};
}

ReplayCapture::ReplayCapture(const std::string& file, wire::Link& link) {
  if (file.empty()) return;
  pcap_ = std::make_unique<pcap::PcapWriter>(file);
  tap_ = std::make_unique<wire::Tap>(wire::TapConfig{.pcap = pcap_.get(), .check = false});
  link.add_observer(tap_.get());
}

void ReplayCapture::close() {
  if (!tap_) return;
  tap_->close();
  pcap_->close();
}

void mark_as_recorded(driver::Device& nic) {
  nic.write(RNIC_CSR_MAC_CFG,
            nic.read(RNIC_CSR_MAC_CFG) & ~uint32_t{RNIC_CSR_MAC_CFG_MIG_REQ_MASK});
}

uint8_t recorded_service(const roce::CaptureRun& run) {
  return run.transport == roce::Transport::kUc ? RNIC_QP_TYPE_UC : RNIC_QP_TYPE_RC;
}

driver::PathRequest recorded_path(const roce::SideParams& self, const roce::SideParams& peer) {
  driver::PathRequest path;
  path.ecn = 0;
  path.index = 1;
  path.dmac = peer.mac;
  path.smac = self.mac;
  path.ipv6 = !roce::is_ipv4(self.ip);
  path.sip = ip_of(self.ip);
  path.dip = ip_of(peer.ip);
  return path;
}

}  // namespace rnic::sim
