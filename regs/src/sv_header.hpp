// SPDX-License-Identifier: Apache-2.0
//
// What the header of every module of a block has: parameters, clock, reset, AXI4-Lite.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"

namespace rnic::regs {

struct SvParameter {
  std::string name;
  std::string declaration;  // "int unsigned N_CH = 3"
};

// Those that the register file of the block has.
[[nodiscard]] std::vector<SvParameter> sv_parameters(const Map& map, const Block& block);
// "module m_csr #(...) (", in lines.
[[nodiscard]] std::string sv_module_head(const std::string& name,
                                         const std::vector<SvParameter>& parameters);

struct SvBusPort {
  std::string_view name;
  bool output;
  unsigned width;
};
// clk_i to s_rready, in the order of the header.
[[nodiscard]] std::vector<SvBusPort> sv_bus_ports(unsigned addr_width);

}  // namespace rnic::regs
