// SPDX-License-Identifier: Apache-2.0
#include "rdl_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "rdl_field.hpp"

namespace rnic::regs {
namespace {

constexpr int kMostDeep = 100;       // braces and parentheses in each other
constexpr int kMostOperators = 500;  // of an expression

struct SyntaxError {};  // told; the statement is given up

class Parser {
 public:
  Parser(const RdlTokens& tokens, Diagnostics& diags) : list_(tokens.list), diags_(diags) {}

  std::vector<RdlStatement> run() {
    std::vector<RdlStatement> out;
    while (!at_end()) {
      if (is("}")) {
        error("a '}' that closes nothing");
        next();
        continue;
      }
      statement(out);
    }
    return out;
  }

 private:
  using K = RdlToken::Kind;

  // Depth of what is being read; too much is an error, not an end of the stack.
  struct Level {
    explicit Level(Parser& p) : parser(p) {
      if (++p.depth_ > kMostDeep) {
        --p.depth_;
        p.fail(fmt::format("nested deeper than {}: make it flatter", kMostDeep));
      }
    }
    ~Level() { --parser.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Parser& parser;
  };

  [[nodiscard]] const RdlToken& tok(std::size_t n = 0) const {
    return list_[std::min(i_ + n, list_.size() - 1)];
  }
  [[nodiscard]] bool at_end() const { return tok().kind == K::kEnd; }
  [[nodiscard]] bool is(std::string_view s, std::size_t n = 0) const {
    const auto& t = tok(n);
    return t.text == s && (t.kind == K::kSymbol || (t.kind == K::kWord && !t.escaped));
  }
  [[nodiscard]] bool is_word(std::size_t n = 0) const { return tok(n).kind == K::kWord; }
  void next() {
    if (!at_end()) ++i_;
  }
  bool take(std::string_view s) {
    if (!is(s)) return false;
    next();
    return true;
  }

  // At the end of the file once: everything that is open is missing something there.
  void error(std::string text) {
    if (at_end() && told_end_) return;
    told_end_ |= at_end();
    diags_.error(tok().pos, "syntax", std::move(text));
  }
  [[noreturn]] void fail(std::string text) {
    error(std::move(text));
    throw SyntaxError{};
  }
  [[nodiscard]] std::string got() const {
    const auto& t = tok();
    if (t.kind == K::kEnd) return "the end of the file";
    if (t.kind == K::kString) return "a string";
    if (t.kind == K::kNumber) return "a number";
    return fmt::format("'{}'", t.text);
  }
  void expect(std::string_view s, std::string_view behind) {
    if (!take(s)) fail(fmt::format("'{}' is missing behind {}; here is {}", s, behind, got()));
  }

  std::string_view name(std::string_view what) {
    const auto& t = tok();
    if (t.kind != K::kWord) fail(fmt::format("the name of {} is missing; here is {}", what, got()));
    if (!t.escaped && is_rdl_keyword(t.text)) {
      fail(fmt::format("'{}' is a keyword: as the name of {} write \\{}", t.text, what, t.text));
    }
    next();
    return t.text;
  }

  // To behind the ';' of this statement, or in front of the '}' around it.
  void recover() {
    int open = 0;
    while (!at_end()) {
      if (is("{") || is("'{")) ++open;
      if (is("}")) {
        if (open == 0) return;
        --open;
      }
      const bool ends = open == 0 && is(";");
      next();
      if (ends) return;
    }
  }

  void statement(std::vector<RdlStatement>& out) {
    const auto from = i_;
    try {
      const Level level(*this);
      one(out);
    } catch (const SyntaxError&) {
      in_expression_ = false;
      recover();
      if (i_ == from) next();
    }
  }

  static std::optional<RdlKind> kind_of(std::string_view word) {
    for (std::size_t i = 0; i < kRdlKindNames.size(); ++i) {
      if (kRdlKindNames[i] == word) return static_cast<RdlKind>(i);
    }
    return std::nullopt;
  }
  [[nodiscard]] bool at_component(std::size_t n = 0) const {
    return is_word(n) && !tok(n).escaped && kind_of(tok(n).text).has_value();
  }

  void one(std::vector<RdlStatement>& out) {
    if (take(";")) return;
    RdlStatement s;
    s.pos = tok().pos;
    if (!is_word()) fail(fmt::format("a statement is missing; here is {}", got()));
    if (is("abstract")) {
      fail("abstract components are not read: write the component itself");
    } else if (is("alias")) {
      no_alias();
    } else if (is("struct") || is("constraint")) {
      fail(fmt::format("{} is not read: take it out of what is imported", tok().text));
    } else if (is("enum")) {
      enumeration(s);
    } else if (is("property")) {
      property(s);
    } else if (is("default")) {
      next();
      s.kind = RdlStatement::Kind::kAssign;
      assignment(s.assign);
      s.assign.is_default = true;
    } else if (at_component() || is("external") || is("internal")) {
      component(s);
    } else if (is_target()) {
      s.kind = RdlStatement::Kind::kAssign;
      s.assign.target = path();
      expect("->", "the name of an instance");
      assignment(s.assign);
    } else if (is_instance()) {
      component(s);
    } else {
      s.kind = RdlStatement::Kind::kAssign;
      assignment(s.assign);
    }
    out.push_back(std::move(s));
  }

  // a -> , a.b , a[1]
  [[nodiscard]] bool is_target() const { return is("->", 1) || is(".", 1) || is("[", 1); }
  // type name, type #(...), type external name
  [[nodiscard]] bool is_instance() const { return !at_modifier() && (is_word(1) || is("#", 1)); }
  [[nodiscard]] bool at_modifier() const {
    static constexpr std::array<std::string_view, 5> kModifiers = {"posedge", "negedge", "bothedge",
                                                                   "level", "nonsticky"};
    return !tok().escaped &&
           std::find(kModifiers.begin(), kModifiers.end(), tok().text) != kModifiers.end();
  }

  void assignment(RdlAssign& a) {
    if (is_word() && at_modifier()) {
      a.modifier = tok().text;
      next();
      if (is(a.modifier)) fail("a modifier twice");
    }
    if (!is_word()) fail(fmt::format("the name of a property is missing; here is {}", got()));
    a.prop = tok().text;
    a.pos = tok().pos;
    next();
    if (take("=")) a.value = expression();
    expect(";", fmt::format("property {}", a.prop));
  }

  void enumeration(RdlStatement& s) {
    s.kind = RdlStatement::Kind::kEnum;
    next();
    auto e = std::make_shared<RdlEnumDef>();
    e->pos = tok().pos;
    e->name = name("an enumeration");
    expect("{", "the name of an enumeration");
    while (!is("}") && !at_end()) {
      RdlEnumEntry v;
      v.pos = tok().pos;
      v.name = name("a value");
      if (take("=")) v.value = expression();
      if (take("{")) {
        while (!is("}") && !at_end()) assignment(v.props.emplace_back());
        expect("}", "the properties of a value");
      }
      expect(";", fmt::format("value {}", v.name));
      e->entries.push_back(std::move(v));
    }
    expect("}", "the values of an enumeration");
    expect(";", "an enumeration");
    s.enumeration = std::move(e);
  }

  // Only its name counts: what it is for is known, or not.
  void property(RdlStatement& s) {
    s.kind = RdlStatement::Kind::kProperty;
    next();
    s.property.pos = tok().pos;
    s.property.name = name("a property");
    expect("{", "the name of a property");
    int open = 1;
    while (open > 0 && !at_end()) {
      if (is("{") || is("'{")) ++open;
      if (is("}")) --open;
      next();
    }
    if (open > 0) fail("'}' is missing behind the definition of a property");
    expect(";", "the definition of a property");
  }

  [[noreturn]] void no_alias() {
    fail("alias registers are not read: a second name for a register has no place here");
  }

  void placing(RdlStatement& s) {
    for (; is("external") || is("internal"); next()) {
      s.placing = is("external") ? RdlPlacing::kExternal : RdlPlacing::kInternal;
    }
  }

  void component(RdlStatement& s) {
    placing(s);
    if (at_component()) {
      s.def = definition();
    } else {
      s.type = name("a type");
    }
    placing(s);
    if (is("#")) params(s.params);
    if (is("alias")) no_alias();
    if (s.def && is(";") && s.params.empty()) {
      if (s.def->name.empty())
        fail(
            fmt::format("this {} has neither a type name nor an instance: "
                        "write one in front of ';'",
                        rdl_kind_name(s.def->kind)));
      next();
      return;
    }
    do {
      s.instances.push_back(instance());
    } while (take(","));
    expect(";", fmt::format("instance {}", s.instances.back().name));
  }

  std::shared_ptr<RdlDef> definition() {
    auto d = std::make_shared<RdlDef>();
    d->pos = tok().pos;
    d->kind = *kind_of(tok().text);
    next();
    if (is_word()) d->name = name("a type");
    if (is("#")) param_defs(d->params);
    const auto what = d->name.empty() ? std::string(rdl_kind_name(d->kind))
                                      : fmt::format("{} {}", rdl_kind_name(d->kind), d->name);
    expect("{", what);
    while (!is("}") && !at_end()) statement(d->body);
    expect("}", "the body of " + what);
    return d;
  }

  void param_defs(std::vector<RdlParamDef>& list) {
    next();
    expect("(", "#");
    do {
      RdlParamDef p;
      if (!is_word()) fail(fmt::format("the type of a parameter is missing; here is {}", got()));
      p.type = tok().text;
      next();
      if (take("unsigned") && p.type != "longint" && p.type != "bit")
        fail("unsigned stands behind longint or bit");
      p.pos = tok().pos;
      p.name = name("a parameter");
      if (take("[")) {
        expect("]", "[");
        p.is_array = true;
      }
      if (take("=")) p.value = expression();
      list.push_back(std::move(p));
    } while (take(","));
    expect(")", "the parameters");
  }

  void params(std::vector<RdlParamValue>& list) {
    next();
    expect("(", "#");
    do {
      expect(".", "the '(' or ',' of parameter values");
      RdlParamValue p;
      p.pos = tok().pos;
      p.name = name("a parameter");
      expect("(", "the name of a parameter");
      p.value = expression();
      expect(")", "the value of a parameter");
      list.push_back(std::move(p));
    } while (take(","));
    expect(")", "the parameter values");
  }

  RdlInstance instance() {
    RdlInstance n;
    n.pos = tok().pos;
    n.name = name("an instance");
    n.range_pos = tok().pos;
    while (take("[")) {
      auto first = expression();
      if (take(":")) {
        if (n.high || !n.dims.empty()) fail("a range stands alone: [7:0]");
        n.high = std::move(first);
        n.low = expression();
      } else {
        if (n.high) fail("a range stands alone: [7:0]");
        n.dims.push_back(std::move(first));
      }
      expect("]", "a size or a range");
    }
    if (take("=")) n.reset = expression();
    if (take("@")) n.at = expression();
    if (take("+=")) n.stride = expression();
    if (take("%=")) n.align = expression();
    return n;
  }

  RdlPath path() {
    RdlPath p;
    do {
      auto& part = p.emplace_back();
      part.pos = tok().pos;
      part.name = name("an instance");
      while (take("[")) {
        part.index.push_back(expression());
        expect("]", "an index");
      }
    } while (take("."));
    return p;
  }

  static int rank(std::string_view op) {
    static constexpr std::array<std::pair<std::string_view, int>, 22> kRanks = {{
        {"||", 1}, {"&&", 2}, {"|", 3},  {"~|", 3}, {"^", 4},  {"~^", 4}, {"^~", 4}, {"&", 5},
        {"~&", 5}, {"==", 6}, {"!=", 6}, {"<", 7},  {">", 7},  {"<=", 7}, {">=", 7}, {"<<", 8},
        {">>", 8}, {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
    }};
    if (op == "**") return 11;
    for (const auto& [name, r] : kRanks) {
      if (name == op) return r;
    }
    return 0;
  }

  RdlExpr expression() {
    const Level level(*this);
    const bool outermost = !in_expression_;
    if (outermost) n_operators_ = 0;
    in_expression_ = true;
    auto e = ternary();
    if (outermost) in_expression_ = false;
    return e;
  }

  RdlExpr ternary() {
    auto e = binary(1);
    if (!is("?")) return e;
    RdlExpr t;
    t.kind = RdlExpr::Kind::kTernary;
    t.pos = e.pos;
    next();
    t.args.push_back(std::move(e));
    t.args.push_back(expression());
    expect(":", "the first value of ?:");
    t.args.push_back(expression());
    return t;
  }

  RdlExpr binary(int least) {
    auto left = unary();
    while (tok().kind == K::kSymbol) {
      const int r = rank(tok().text);
      if (r < least) break;
      if (++n_operators_ > kMostOperators) {
        fail(fmt::format("an expression of more than {} operators", kMostOperators));
      }
      RdlExpr e;
      e.kind = RdlExpr::Kind::kBinary;
      e.pos = left.pos;
      e.text = tok().text;
      next();
      e.args.push_back(std::move(left));
      e.args.push_back(binary(r + 1));
      left = std::move(e);
    }
    return left;
  }

  RdlExpr unary() {
    static constexpr std::array<std::string_view, 10> kOps = {"!",  "~", "+",  "-", "&",
                                                              "~&", "|", "~|", "^", "~^"};
    if (tok().kind == K::kSymbol && std::find(kOps.begin(), kOps.end(), tok().text) != kOps.end()) {
      const Level level(*this);
      RdlExpr e;
      e.kind = RdlExpr::Kind::kUnary;
      e.pos = tok().pos;
      e.text = tok().text;
      next();
      e.args.push_back(unary());
      return e;
    }
    auto e = primary();
    if (!is("'")) return e;
    next();
    RdlExpr c;  // width'(value) or type'(value)
    c.kind = RdlExpr::Kind::kCast;
    c.pos = e.pos;
    c.text = e.kind == RdlExpr::Kind::kWord ? e.text : std::string_view();
    expect("(", "'");
    c.args.push_back(expression());
    expect(")", "a cast");
    c.args.push_back(std::move(e));
    return c;
  }

  RdlExpr primary() {
    const auto& t = tok();
    RdlExpr e;
    e.pos = t.pos;
    if (t.kind == K::kNumber || t.kind == K::kString) {
      e.kind = t.kind == K::kNumber ? RdlExpr::Kind::kNumber : RdlExpr::Kind::kString;
      e.text = t.text;
      e.value = t.value;
      e.width = t.width;
      next();
      return e;
    }
    if (take("(")) {
      e = expression();
      expect(")", "an expression");
      return e;
    }
    if (is("{") || is("'{")) return braces();
    if (t.kind == K::kWord) return word();
    fail(fmt::format("a value is missing; here is {}", got()));
  }

  RdlExpr braces() {
    RdlExpr e;
    e.pos = tok().pos;
    e.kind = is("{") ? RdlExpr::Kind::kConcat : RdlExpr::Kind::kArray;
    next();
    if (!is("}")) {
      e.args.push_back(expression());
      if (e.kind == RdlExpr::Kind::kConcat && take("{")) {
        e.kind = RdlExpr::Kind::kRepeat;
        do {
          e.args.push_back(expression());
        } while (take(","));
        expect("}", "what is repeated");
      } else {
        while (take(",")) e.args.push_back(expression());
      }
    }
    expect("}", "a list of values");
    return e;
  }

  RdlExpr word() {
    RdlExpr e;
    e.pos = tok().pos;
    e.kind = RdlExpr::Kind::kWord;
    if (is("::", 1)) {
      e.kind = RdlExpr::Kind::kMember;
      e.text = name("an enumeration");
      next();
      RdlExpr value;
      value.kind = RdlExpr::Kind::kWord;
      value.pos = tok().pos;
      value.text = name("a value");
      e.args.push_back(std::move(value));
      return e;
    }
    if (is_target()) {
      e.kind = RdlExpr::Kind::kPath;
      e.path = path();
      if (take("->")) {
        if (!is_word()) fail(fmt::format("the name of a property is missing; here is {}", got()));
        e.text = tok().text;
        next();
      }
      return e;
    }
    e.text = tok().text;
    e.escaped = tok().escaped;
    next();
    return e;
  }

  const std::vector<RdlToken>& list_;
  Diagnostics& diags_;
  std::size_t i_ = 0;
  int depth_ = 0;
  int n_operators_ = 0;
  bool in_expression_ = false;
  bool told_end_ = false;
};

}  // namespace

std::vector<RdlStatement> parse_rdl(const RdlTokens& tokens, Diagnostics& diags) {
  if (tokens.list.empty() || tokens.cut) return {};
  return Parser(tokens, diags).run();
}

}  // namespace rnic::regs
