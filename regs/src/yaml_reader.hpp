// SPDX-License-Identifier: Apache-2.0
//
// YAML to the raw Map (not part of the public interface): what is written where, without judging
// whether it makes sense; check_map() does that. A YamlReader reads one map with its includes; its
// parts are in read_*.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"
#include "yaml_tree.hpp"

namespace rnic::regs {

class YamlReader {
 public:
  YamlReader(Diagnostics& diags, const ParameterValues& values) : diags_(diags), values_(values) {}

  // False when there is no map to speak of.
  bool read_text(const std::string& text, int file, const std::string& dir, bool included);
  Map& map() { return map_; }
  // Parameters of the command line that the map does not have.
  void check_values();

 private:
  class Keys;

  std::optional<std::uint64_t> number(const YamlNode& n, std::string_view what);
  [[nodiscard]] std::optional<std::uint64_t> constant(const std::string& word) const;
  // The parameter of that name, when the node is nothing but its name.
  [[nodiscard]] std::string parameter_of(const YamlNode& n) const;
  bool is_list(const YamlNode& n, std::string_view what);

  void read_include(const YamlNode& n, const std::string& dir);
  void read_version(const YamlNode& n);
  void read_constants(const YamlNode& n, bool parameters);
  void read_enums(const YamlNode& n);
  void read_enum_values(Enum& e, const YamlNode& n);
  void read_counters(const YamlNode& n);

  void read_block(const YamlNode& n);
  void read_window(Block& b, const YamlNode& n);
  void read_interrupt(Block& b, const YamlNode& n);

  // Where registers are read: in the block, or in a register file of it.
  struct Scope {
    std::string prefix;  // "CHAN_"
    std::uint64_t base = 0;
    std::vector<Dim> dims;
    std::optional<std::size_t> file;
    int depth = 0;
  };
  void read_registers(Block& b, const YamlNode& n, const Scope& scope);
  void read_register(Block& b, const YamlNode& n, const Scope& scope);
  void read_register_file(Block& b, const YamlNode& n, const Scope& scope);
  std::optional<Lock> read_lock(Keys& k);

  void read_field(Register& r, const YamlNode& n);
  bool read_bits(Keys& k, Field& f);
  void read_access(Keys& k, Field& f);
  void read_hw(Keys& k, Field& f);
  void read_reset(Keys& k, Field& f);
  void read_counter(const YamlNode& n, Field& f);

  void read_descriptor(const YamlNode& n);
  void read_desc_field(const Descriptor& d, std::vector<DescField>& to, const YamlNode& n);
  void read_union(Descriptor& d, const YamlNode& n);

  Diagnostics& diags_;
  ParameterValues values_;
  Map map_;
  std::vector<std::string> open_files_;  // the chain of includes
  std::deque<YamlTree> trees_;
};

}  // namespace rnic::regs
