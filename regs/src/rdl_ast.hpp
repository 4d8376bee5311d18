// SPDX-License-Identifier: Apache-2.0
//
// A SystemRDL file as it is written: definitions, instances, assignments, expressions. Texts point
// into the RdlTokens, which must live longer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "diag.hpp"

namespace rnic::regs {

enum class RdlKind : std::uint8_t { kField, kReg, kRegfile, kAddrmap, kMem, kSignal };
inline constexpr std::array<std::string_view, 6> kRdlKindNames = {"field",   "reg", "regfile",
                                                                  "addrmap", "mem", "signal"};
[[nodiscard]] inline std::string_view rdl_kind_name(RdlKind k) {
  return kRdlKindNames[static_cast<std::size_t>(k)];
}

struct RdlExpr {
  enum class Kind : std::uint8_t {
    kNumber,   // value, width
    kString,   // text
    kWord,     // text: a parameter, an instance, an enumeration, a word such as rw
    kPath,     // path of instances, perhaps with indices; `text`: a property behind ->
    kMember,   // text::args[0].text, a value of an enumeration
    kUnary,    // text args[0]
    kBinary,   // args[0] text args[1]
    kTernary,  // args[0] ? args[1] : args[2]
    kConcat,   // {args}
    kRepeat,   // {args[0]{args[1]...}}
    kArray,    // '{args}
    kCast,     // text'(args[0]), or args[1]'(args[0])
  };
  Kind kind = Kind::kNumber;
  SourcePos pos;
  std::string_view text;
  std::uint64_t value = 0;
  unsigned width = 0;
  bool escaped = false;  // a word with a backslash: never a keyword
  std::vector<RdlExpr> args;
  struct Part;
  std::vector<Part> path;
};

// `name[index]` of a path.
struct RdlExpr::Part {
  std::string_view name;
  SourcePos pos;
  std::vector<RdlExpr> index;
};
using RdlPath = std::vector<RdlExpr::Part>;

struct RdlParamDef {
  std::string_view type;
  std::string_view name;
  SourcePos pos;
  bool is_array = false;
  std::optional<RdlExpr> value;
};

struct RdlParamValue {
  std::string_view name;
  SourcePos pos;
  RdlExpr value;
};

struct RdlInstance {
  std::string_view name;
  SourcePos pos;
  std::vector<RdlExpr> dims;         // [n][m]
  std::optional<RdlExpr> high, low;  // [high:low]
  std::optional<RdlExpr> reset;      // =
  std::optional<RdlExpr> at;         // @
  std::optional<RdlExpr> stride;     // +=
  std::optional<RdlExpr> align;      // %=
  SourcePos range_pos;
};

// prop = value; of the component, as default, or of an instance in it (target->prop).
struct RdlAssign {
  std::string_view prop;
  SourcePos pos;
  std::string_view modifier;  // posedge, nonsticky, ... of intr
  std::optional<RdlExpr> value;
  bool is_default = false;
  RdlPath target;
};

struct RdlEnumEntry {
  std::string_view name;
  SourcePos pos;
  std::optional<RdlExpr> value;
  std::vector<RdlAssign> props;
};

struct RdlEnumDef {
  std::string_view name;
  SourcePos pos;
  std::vector<RdlEnumEntry> entries;
};

struct RdlStatement;

struct RdlDef {
  RdlKind kind = RdlKind::kField;
  std::string_view name;  // or empty
  SourcePos pos;
  std::vector<RdlParamDef> params;
  std::vector<RdlStatement> body;
};

struct RdlPropertyDef {
  std::string_view name;
  SourcePos pos;
};

enum class RdlPlacing : std::uint8_t { kUnsaid, kInternal, kExternal };

struct RdlStatement {
  enum class Kind : std::uint8_t { kComponent, kEnum, kAssign, kProperty };
  Kind kind = Kind::kComponent;
  SourcePos pos;
  // A component: its definition here, or the name of one; instances.
  std::shared_ptr<RdlDef> def;
  std::string_view type;
  RdlPlacing placing = RdlPlacing::kUnsaid;
  std::vector<RdlParamValue> params;
  std::vector<RdlInstance> instances;
  std::shared_ptr<RdlEnumDef> enumeration;
  RdlAssign assign;
  RdlPropertyDef property;
};

}  // namespace rnic::regs
