// SPDX-License-Identifier: Apache-2.0
// The widths that this program has: rnic_nic() in sim/CMakeLists.txt defines RNIC_NIC_<width>, and
// RNIC_NIC_<width>_FCS as its GEN_FCS.
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

namespace rnic::sim {

namespace {
template <typename Top>
std::unique_ptr<Nic> make(uint32_t width, bool gen_fcs, const NicOptions& options) {
  NicInfo info;
  info.data_w = width;
  info.gen_fcs = gen_fcs;
  info.borders = std::size(kBorderSignals);
  info.trace_sources = kTraceSources;
  return std::make_unique<NicModel<Top>>(info, options);
}
}  // namespace

std::vector<uint32_t> nic_widths() {
  std::vector<uint32_t> w;
#ifdef RNIC_NIC_128
  w.push_back(128);
#endif
#ifdef RNIC_NIC_256
  w.push_back(256);
#endif
#ifdef RNIC_NIC_512
  w.push_back(512);
#endif
#ifdef RNIC_NIC_1024
  w.push_back(1024);
#endif
  return w;
}

std::unique_ptr<Nic> make_nic(const NicOptions& options) {
  switch (options.data_w) {
#ifdef RNIC_NIC_128
    case 128:
      return make<Vnic128>(128, RNIC_NIC_128_FCS, options);
#endif
#ifdef RNIC_NIC_256
    case 256:
      return make<Vnic256>(256, RNIC_NIC_256_FCS, options);
#endif
#ifdef RNIC_NIC_512
    case 512:
      return make<Vnic512>(512, RNIC_NIC_512_FCS, options);
#endif
#ifdef RNIC_NIC_1024
    case 1024:
      return make<Vnic1024>(1024, RNIC_NIC_1024_FCS, options);
#endif
    default: {
      std::string have;
      for (uint32_t w : nic_widths()) have += (have.empty() ? "" : ", ") + std::to_string(w);
      throw std::invalid_argument("data_w " + std::to_string(options.data_w) +
                                  ": this program has " + have);
    }
  }
}

}  // namespace rnic::sim
