// SPDX-License-Identifier: Apache-2.0
//
// SystemRDL elaborated: instances with their properties, parameters evaluated, addresses and bit
// positions assigned. Arrays stay arrays.
//
//   RdlDesign design = elaborate_rdl(statements, "top", {}, diags);
//   for (const auto& child : design.top->children) ...
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model.hpp"
#include "rdl_ast.hpp"
#include "warnings.hpp"

namespace rnic::regs {

struct RdlNode;

struct RdlEnum {
  const RdlEnumDef* def = nullptr;
  std::vector<EnumValue> values;
  unsigned width = 0;  // that all values are written with, or 0
};

struct RdlValue {
  enum class Kind : std::uint8_t {
    kNone,
    kNumber,
    kBool,  // number is 0 or 1
    kString,
    kWord,  // text: rw, woclr, regalign, ...
    kEnum,  // an enumeration, of `encode`
    kNode,  // an instance
    kArray,
  };
  Kind kind = Kind::kNone;
  SourcePos pos;
  std::uint64_t number = 0;
  unsigned width = 0;  // that the number is written with, or 0
  std::string text;
  std::string parameter;  // it is this parameter of the top, and nothing else
  const RdlEnum* enumeration = nullptr;
  const RdlNode* node = nullptr;
  bool indexed = false;  // the path to the instance has an index
  std::vector<RdlValue> items;
};

struct RdlProp {
  RdlValue value;
  SourcePos pos;
  std::string_view modifier;
  // A later one of a higher level wins over one of a lower level.
  enum class Level : std::uint8_t { kDefault, kBody, kDynamic };
  Level level = Level::kBody;
};

struct RdlNode {
  RdlKind kind = RdlKind::kField;
  std::string name;
  SourcePos pos;
  RdlNode* parent = nullptr;
  std::vector<std::unique_ptr<RdlNode>> children;
  std::map<std::string, RdlProp, std::less<>> props;
  bool external = false;
  bool is_block = false;  // an addrmap that becomes an address block of the map

  // Of addressed components.
  std::vector<std::uint64_t> dims;
  std::string count_param;  // the only dimension is this parameter of the top
  SourcePos dims_pos, at_pos, stride_pos;
  bool at_given = false;
  std::optional<std::uint64_t> stride;  // as given; (addresses) else the size
  std::optional<std::uint64_t> at;      // as given; (addresses) else assigned; from the parent
  std::uint64_t align = 1;              // %=
  std::uint64_t size = 0;               // (addresses) bytes of one element

  // Of fields.
  unsigned lsb = 0, width = 1;
  bool placed = false;
  SourcePos range_pos;

  [[nodiscard]] const RdlProp* prop(std::string_view name) const;
  // True, or a number that is not 0.
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;  // of a string or a word
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
  [[nodiscard]] SourcePos at_prop(std::string_view name) const;
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::string path() const;  // from the top, without it
};

struct RdlTopParameter {
  std::string name;
  SourcePos pos;
  std::uint64_t value = 0;
  bool is_number = false;
  int used = 0;  // in expressions
  int kept = 0;  // of those alone as a reset value or a count
};

struct RdlDesign {
  std::unique_ptr<RdlNode> top;
  std::vector<std::unique_ptr<RdlNode>> loose;  // reg and mem definitions of the root, as instances
  std::vector<const RdlEnum*> root_enums;
  std::vector<RdlTopParameter> parameters;
  std::deque<RdlEnum> enums;
};

// What was told, by place and rule: a component that is instantiated often is told of once.
class RdlTold {
 public:
  bool first(SourcePos pos, const char* rule) {
    return told_.insert({pos.file, pos.line, pos.col, rule}).second;
  }

 private:
  std::set<std::tuple<int, int, int, std::string>> told_;
};

// `top`: the addrmap to take, empty: the last of the file. Nothing in `top` after errors that leave
// no tree.
[[nodiscard]] RdlDesign elaborate_rdl(const std::vector<RdlStatement>& statements,
                                      const std::string& top, const ParameterValues& values,
                                      Diagnostics& diags, Warnings& warnings);

// Positions of fields, sizes, addresses: after all properties are known.
void place_rdl(RdlNode& node, Diagnostics& diags);

}  // namespace rnic::regs
