// SPDX-License-Identifier: Apache-2.0
#include "tests/support/wave_view.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <vector>

#include "tests/support/context.hpp"

#if VM_TRACE && __has_include(<gtkwave/fstapi.h>)
#include <gtkwave/fstapi.h>
#define RNIC_HAVE_FSTAPI 1
#endif

namespace rnic::test {

extern const char* const kBlockName;

std::string next_wave_path() {
  Context& context = Context::get();
  std::string name = std::string(kBlockName) + ".";
  for (char c : context.test_case()) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  const unsigned index = context.next_bench();
  if (index > 0) name += "." + std::to_string(index);
  const std::filesystem::path folder = context.options().wave_dir;
  std::filesystem::create_directories(folder);
  const std::string path = std::filesystem::absolute(folder / (name + ".fst")).string();
  context.note_wave(std::filesystem::path(path).replace_extension(".gtkw").string());
  return path;
}

void write_wave_view(const std::string& fst_path) {
  const std::string view_path = std::filesystem::path(fst_path).replace_extension(".gtkw").string();
  std::vector<std::string> signals;  // ports of the top, with ranges, as GTKWave names them
#ifdef RNIC_HAVE_FSTAPI
  // fstReaderOpen returns void*, or a typed handle in newer versions.
  auto* reader = fstReaderOpen(fst_path.c_str());
  if (reader != nullptr) {
    unsigned depth = 0;
    fstHier* hier = nullptr;
    while ((hier = fstReaderIterateHier(reader)) != nullptr) {
      if (hier->htyp == FST_HT_SCOPE) ++depth;
      if (hier->htyp == FST_HT_UPSCOPE) --depth;
      if (hier->htyp != FST_HT_VAR || depth != 1) continue;
      std::string name(hier->u.var.name, hier->u.var.name_length);
      if (const size_t space = name.find(' '); space != std::string::npos) name.erase(space, 1);
      signals.push_back(name);
    }
    fstReaderClose(reader);
  }
#endif

  auto bare = [](const std::string& signal) { return signal.substr(0, signal.find('[')); };
  auto is_clock_or_reset = [&](const std::string& signal) {
    const std::string name = bare(signal);
    return name.find("clk") != std::string::npos || name.find("rst") != std::string::npos;
  };
  std::set<std::string> streams;  // prefixes that have both x_valid and x_ready
  std::map<std::string, int> seen;
  for (const std::string& signal : signals) {
    const std::string name = bare(signal);
    for (const char* suffix : {"_valid", "_ready"}) {
      const size_t at = name.rfind(suffix);
      if (at == std::string::npos || at + 6 != name.size()) continue;
      if (++seen[name.substr(0, at)] == 2) streams.insert(name.substr(0, at));
    }
  }
  auto stream_of = [&](const std::string& signal) -> std::string {
    const std::string name = bare(signal);
    std::string best;
    for (const std::string& stream : streams) {
      if (name.rfind(stream + "_", 0) == 0 && stream.size() > best.size()) best = stream;
    }
    return best;
  };

  std::ofstream out(view_path);
  out << "[dumpfile] \"" << fst_path << "\"\n[timestart] 0\n[size] 1800 1000\n[sst_width] 240\n";
  auto group = [&](const std::string& title, auto&& wanted) {
    bool first = true;
    for (const std::string& signal : signals) {
      if (!wanted(signal)) continue;
      if (first) out << "@200\n-" << title << "\n";
      first = false;
      out << (signal.find('[') == std::string::npos ? "@28\n" : "@22\n") << "TOP." << signal
          << "\n";
    }
  };
  group("clocks and resets", is_clock_or_reset);
  for (const std::string& stream : streams) {
    group("stream " + stream, [&](const std::string& signal) {
      return !is_clock_or_reset(signal) && stream_of(signal) == stream;
    });
  }
  group("others", [&](const std::string& signal) {
    return !is_clock_or_reset(signal) && stream_of(signal).empty();
  });
  out.flush();
  if (!out) throw std::runtime_error("cannot write " + view_path);
  std::cout << "waves: " << fst_path << "\n       gtkwave " << view_path << std::endl;
}

}  // namespace rnic::test
