// SPDX-License-Identifier: Apache-2.0
// The NICs that this program has: rnic_nic() in sim/CMakeLists.txt defines RNIC_NIC_<width>,
// RNIC_NIC_<width>_FCS as its GEN_FCS, RNIC_NIC_<width>_CTX_<n> for one with many QPs, and
// RNIC_NIC_<width>_ARP for one with arp_fsm.
#include <fmt/format.h>

#include <iterator>
#include <stdexcept>

#include "rnic_top_lists.hpp"
#include "sim/node/nic_model.hpp"
#ifdef RNIC_NIC_128
#include "Vnic128.h"
#endif
#ifdef RNIC_NIC_256
#include "Vnic256.h"
#endif
#ifdef RNIC_NIC_512
#include "Vnic512.h"
#endif
#ifdef RNIC_NIC_1024
#include "Vnic1024.h"
#endif
#ifdef RNIC_NIC_512_ARP
#include "Vnic512a.h"
#endif
#ifdef RNIC_NIC_1024_CTX_64
#include "Vnic1024c64.h"
#endif
#ifdef RNIC_NIC_1024_CTX_16384
#include "Vnic1024c16384.h"
#endif

namespace rnic::sim {

namespace {
template <typename Top>
std::unique_ptr<Nic> make(const NicKind& kind, bool gen_fcs, const NicOptions& options) {
  NicInfo info;
  info.data_w = kind.data_w;
  info.gen_fcs = gen_fcs;
  info.borders = std::size(kBorderSignals);
  info.trace_sources = kTraceSources;
  return std::make_unique<NicModel<Top>>(info, options);
}

struct Entry {
  NicKind kind;
  bool gen_fcs;
  std::unique_ptr<Nic> (*make)(const NicKind&, bool, const NicOptions&);
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries = {
#ifdef RNIC_NIC_128
      {{128, 0, false}, RNIC_NIC_128_FCS, make<Vnic128>},
#endif
#ifdef RNIC_NIC_256
      {{256, 0, false}, RNIC_NIC_256_FCS, make<Vnic256>},
#endif
#ifdef RNIC_NIC_512
      {{512, 0, false}, RNIC_NIC_512_FCS, make<Vnic512>},
#endif
#ifdef RNIC_NIC_1024
      {{1024, 0, false}, RNIC_NIC_1024_FCS, make<Vnic1024>},
#endif
#ifdef RNIC_NIC_512_ARP
      {{512, 0, true}, false, make<Vnic512a>},
#endif
#ifdef RNIC_NIC_1024_CTX_64
      {{1024, 64, false}, false, make<Vnic1024c64>},
#endif
#ifdef RNIC_NIC_1024_CTX_16384
      {{1024, 16384, false}, false, make<Vnic1024c16384>},
#endif
  };
  return kEntries;
}
}  // namespace

std::vector<NicKind> nic_kinds() {
  std::vector<NicKind> kinds;
  for (const Entry& e : entries()) kinds.push_back(e.kind);
  return kinds;
}

std::vector<uint32_t> nic_widths() {
  std::vector<uint32_t> widths;
  for (const Entry& e : entries()) {
    if (e.kind.contexts == 0 && !e.kind.arp) widths.push_back(e.kind.data_w);
  }
  return widths;
}

std::unique_ptr<Nic> make_nic(const NicOptions& options) {
  for (const Entry& e : entries()) {
    if (e.kind.data_w == options.data_w && e.kind.contexts == options.contexts &&
        e.kind.arp == options.arp)
      return e.make(e.kind, e.gen_fcs, options);
  }
  throw std::invalid_argument(
      fmt::format("data_w {}, contexts {}, arp {}: this program has NICs of {}", options.data_w,
                  options.contexts, options.arp, to_string(nic_kinds())));
}

}  // namespace rnic::sim
