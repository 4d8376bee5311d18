// SPDX-License-Identifier: Apache-2.0
#include "sv_header.hpp"

#include <fmt/format.h>

#include "ports.hpp"

namespace rnic::regs {

std::vector<SvParameter> sv_parameters(const Map& map, const Block& block) {
  std::vector<SvParameter> list;
  if (!remotes_of(block).empty()) {
    list.push_back({"WINDOW_TIMEOUT", "int unsigned WINDOW_TIMEOUT = 1024"});
  }
  const auto used = [&](const Constant& c) {
    for (const auto& r : block.registers) {
      if (r.count_param == c.name) return true;
      for (const auto& f : r.fields) {
        if (f.reset_param == c.name) return true;
      }
    }
    return false;
  };
  for (const auto& c : map.constants) {
    if (!c.is_parameter || !used(c)) continue;
    list.push_back({c.name, c.value > 0xFFFFFFFFULL
                                ? fmt::format("logic [63:0] {} = 64'h{:x}", c.name, c.value)
                                : fmt::format("int unsigned {} = {}", c.name, c.value)});
  }
  return list;
}

std::string sv_module_head(const std::string& name, const std::vector<SvParameter>& parameters) {
  if (parameters.empty()) return fmt::format("module {} (\n", name);
  auto s = fmt::format("module {} #(\n", name);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    s += fmt::format("  parameter {}{}\n", parameters[i].declaration,
                     i + 1 == parameters.size() ? "" : ",");
  }
  return s + ") (\n";
}

std::vector<SvBusPort> sv_bus_ports(unsigned addr_width) {
  return {{"clk_i", false, 1},
          {"rst_i", false, 1},
          {"s_awaddr", false, addr_width},
          {"s_awvalid", false, 1},
          {"s_awready", true, 1},
          {"s_wdata", false, 32},
          {"s_wstrb", false, 4},
          {"s_wvalid", false, 1},
          {"s_wready", true, 1},
          {"s_bresp", true, 2},
          {"s_bvalid", true, 1},
          {"s_bready", false, 1},
          {"s_araddr", false, addr_width},
          {"s_arvalid", false, 1},
          {"s_arready", true, 1},
          {"s_rdata", true, 32},
          {"s_rresp", true, 2},
          {"s_rvalid", true, 1},
          {"s_rready", false, 1}};
}

}  // namespace rnic::regs
