// SPDX-License-Identifier: Apache-2.0
//
// The outputs: each makes whole files from a map, and the same map gives the same text.
//
//   for (const auto& f : make_outputs(map, {"c", "md"})) write(f.dir, f.name, f.text);
//
// An output is one out_*.cpp with a function of type OutputFn, and one line in the table of
// outputs.cpp. It prints nothing, reads nothing but the map, and never fails: what a map may hold,
// check_map() has decided before.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace rnic::regs {

enum class OutDir { kRtl, kSoftware };

struct OutFile {
  OutDir dir;
  std::string name;
  std::string text;
};

using OutFiles = std::vector<OutFile>;
using OutputFn = void (*)(const Map& map, OutFiles& files);

struct Output {
  std::string_view name;     // of --outputs
  std::string_view summary;  // one line
  bool by_default;           // written when nothing is asked for
  OutputFn make;
};

[[nodiscard]] std::span<const Output> all_outputs();
[[nodiscard]] const Output* find_output(std::string_view name);

// The named outputs in the order of the table; none named: those by default.
[[nodiscard]] OutFiles make_outputs(const Map& map, const std::vector<std::string>& names = {});

// First line of every generated file, without the comment mark.
[[nodiscard]] std::string generated_note(const Map& map);

void out_sv(const Map& map, OutFiles& files);
void out_c(const Map& map, OutFiles& files);
void out_cpp(const Map& map, OutFiles& files);
void out_md(const Map& map, OutFiles& files);
void out_model(const Map& map, OutFiles& files);
void out_bench(const Map& map, OutFiles& files);
void out_props(const Map& map, OutFiles& files);
void out_structs(const Map& map, OutFiles& files);
void out_rdl(const Map& map, OutFiles& files);
void out_ipxact(const Map& map, OutFiles& files);
void out_svd(const Map& map, OutFiles& files);
void out_html(const Map& map, OutFiles& files);
void out_py(const Map& map, OutFiles& files);

// Parts of out_sv.
[[nodiscard]] std::string emit_sv_desc_pkg(const Map& map);
[[nodiscard]] std::string emit_sv_regs_pkg(const Map& map);
[[nodiscard]] std::string emit_sv_block(const Map& map, const Block& block);

}  // namespace rnic::regs
