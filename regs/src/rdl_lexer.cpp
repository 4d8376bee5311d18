// SPDX-License-Identifier: Apache-2.0
#include "rdl_lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

namespace rnic::regs {
namespace {

constexpr int kMostDeep = 32;                     // includes and macros in each other
constexpr std::size_t kMostTokens = 4'000'000;    // of the run
constexpr std::size_t kMostMacroText = 16 << 20;  // bytes that macros may become

bool is_word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Macro {
  bool has_args = false;
  std::vector<std::string> args;
  std::string body;
};

// One `ifdef with its branches.
struct Condition {
  SourcePos pos;
  bool outer = true;   // the text around it counts
  bool taken = false;  // one of its branches has counted
  bool active = false;
  bool in_else = false;
};

struct Shared {
  Diagnostics& diags;
  const std::vector<std::string>& include_dirs;
  RdlTokens out;
  std::map<std::string, Macro, std::less<>> macros;
  std::vector<std::string> open_files;
  std::size_t macro_text = 0;
  bool stopped = false;  // a limit was passed: nothing more is read
};

// Scans one text: a file, or what a macro has become.
class Scanner {
 public:
  Scanner(Shared& shared, std::string_view text, std::string dir, SourcePos start, bool is_macro,
          int depth)
      : s_(shared),
        text_(text),
        dir_(std::move(dir)),
        at_(start),
        is_macro_(is_macro),
        depth_(depth) {}

  void run() {
    while (!s_.stopped) {
      if (!active()) {
        if (!skip_inactive()) break;
        continue;
      }
      if (!skip_space()) break;
      if (i_ >= text_.size()) break;
      token();
    }
    for (const auto& c : conditions_) {
      error(c.pos, "preprocessor", "this `ifdef has no `endif in its file");
    }
  }

 private:
  [[nodiscard]] char peek(std::size_t n = 0) const {
    return i_ + n < text_.size() ? text_[i_ + n] : '\0';
  }
  [[nodiscard]] bool starts(std::string_view w) const { return text_.substr(i_, w.size()) == w; }
  [[nodiscard]] bool active() const { return conditions_.empty() || conditions_.back().active; }

  void step(std::size_t n = 1) {
    for (; n > 0 && i_ < text_.size(); --n, ++i_) {
      if (is_macro_) continue;
      if (text_[i_] == '\n') {
        ++at_.line;
        at_.col = 1;
      } else {
        ++at_.col;
      }
    }
  }

  void error(SourcePos pos, const char* rule, std::string text) {
    s_.diags.error(pos, rule, std::move(text));
  }

  // False at an unfinished comment, behind which nothing is left.
  bool comment() {
    if (starts("//")) {
      while (i_ < text_.size() && peek() != '\n') step();
      return true;
    }
    const auto pos = at_;
    const auto end = text_.find("*/", i_ + 2);
    if (end == std::string_view::npos) {
      error(pos, "syntax", "this comment has no end: write */");
      s_.out.cut = true;
      i_ = text_.size();
      return false;
    }
    step(end + 2 - i_);
    return true;
  }

  bool skip_space() {
    while (i_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(peek())) != 0) {
        step();
      } else if (starts("//") || starts("/*")) {
        if (!comment()) return false;
      } else {
        return true;
      }
    }
    return true;
  }

  // To the next directive that may end the inactive text.
  bool skip_inactive() {
    while (i_ < text_.size()) {
      if (starts("//") || starts("/*")) {
        if (!comment()) return false;
      } else if (peek() == '"') {
        step();
        while (i_ < text_.size() && peek() != '"') step(peek() == '\\' ? 2 : 1);
        step();
      } else if (peek() == '`') {
        const auto pos = at_;
        step();
        const auto word = std::string(take_word());
        if (word == "ifdef" || word == "ifndef") {
          condition(pos, false);
        } else if (word == "elsif" || word == "else" || word == "endif") {
          branch(word, pos);
          return true;
        }
      } else {
        step();
      }
    }
    return false;
  }

  std::string_view take_word() {
    const auto from = i_;
    while (is_word(peek())) step();
    return text_.substr(from, i_ - from);
  }

  void add(RdlToken t) {
    if (s_.out.list.size() >= kMostTokens) {
      error(t.pos, "limit", fmt::format("more than {} tokens", kMostTokens));
      s_.stopped = s_.out.cut = true;
      return;
    }
    s_.out.list.push_back(t);
  }

  void token() {
    const char c = peek();
    RdlToken t;
    t.pos = at_;
    if (c == '`') {
      directive();
    } else if (is_word_start(c)) {
      t.kind = RdlToken::Kind::kWord;
      t.text = take_word();
      add(t);
    } else if (c == '\\' && is_word_start(peek(1))) {
      step();
      t.kind = RdlToken::Kind::kWord;
      t.escaped = true;
      t.text = take_word();
      add(t);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number(t);
    } else if (c == '"') {
      string(t);
    } else if (starts("<%")) {
      error(at_, "preprocessor",
            "embedded Perl is not run: run it before, or write `define and `ifdef");
      const auto end = text_.find("%>", i_);
      step((end == std::string_view::npos ? text_.size() : end + 2) - i_);
    } else {
      symbol(t);
    }
  }

  void symbol(RdlToken& t) {
    static constexpr std::array<std::string_view, 21> kLong = {
        "+=", "%=", "->", "::", "<<", ">>", "<=", ">=", "==", "!=", "&&",
        "||", "**", "~^", "^~", "~&", "~|", "'{", "(",  ")",  ";"};
    static constexpr std::string_view kShort = "{}[];:,.=@#!<>+-*/%&|^~?'";
    t.kind = RdlToken::Kind::kSymbol;
    std::size_t n = 0;
    for (const auto w : kLong) {
      if (starts(w)) {
        n = w.size();
        break;
      }
    }
    if (n == 0 && kShort.find(peek()) != std::string_view::npos) n = 1;
    if (n == 0) {
      const auto c = static_cast<unsigned char>(peek());
      error(at_, "syntax",
            std::isprint(c) != 0
                ? fmt::format("'{}' has no meaning here", static_cast<char>(c))
                : fmt::format("a byte 0x{:02x} outside strings and comments", unsigned{c}));
      step();
      return;
    }
    t.text = text_.substr(i_, n);
    step(n);
    add(t);
  }

  void number(RdlToken& t) {
    t.kind = RdlToken::Kind::kNumber;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      step(2);
      t.value = digits(16, t.pos);
    } else {
      t.value = digits(10, t.pos);
      if (peek() == '\'' && std::string_view("bBdDhHoO").find(peek(1)) != std::string_view::npos &&
          peek(1) != '\0') {
        based(t);
      }
    }
    add(t);
  }

  // 8'hFF; `value` is the width so far.
  void based(RdlToken& t) {
    const auto width = t.value;
    const auto c = static_cast<char>(std::tolower(static_cast<unsigned char>(peek(1))));
    step(2);
    t.value = digits(c == 'b' ? 2 : c == 'o' ? 8 : c == 'd' ? 10 : 16, t.pos);
    if (width < 1 || width > 4096) {
      error(t.pos, "number", fmt::format("a number of {} bits: write a width of 1 to 4096", width));
    } else if (width < 64 && (t.value >> width) != 0) {
      error(t.pos, "number", fmt::format("{:#x} does not fit in {} bits", t.value, width));
    }
    t.width = static_cast<unsigned>(std::min<std::uint64_t>(width, 4096));
  }

  std::uint64_t digits(unsigned base, SourcePos pos) {
    std::uint64_t v = 0;
    bool any = false;
    bool big = false;
    for (; is_word(peek()); step()) {
      const char c = peek();
      if (c == '_') continue;
      const auto u = static_cast<unsigned char>(std::tolower(static_cast<unsigned char>(c)));
      const unsigned d = std::isdigit(u) != 0 ? u - '0' : u - 'a' + 10U;
      if (d >= base) {
        error(pos, "number", fmt::format("'{}' is no digit of base {}", c, base));
        while (is_word(peek())) step();
        return v;
      }
      any = true;
      std::uint64_t more = 0;
      big |= __builtin_mul_overflow(v, std::uint64_t{base}, &more) ||
             __builtin_add_overflow(more, std::uint64_t{d}, &v);
    }
    if (!any) error(pos, "number", "digits are missing");
    if (big) error(pos, "number", "a number of more than 64 bits: nothing here is wider");
    return big ? 0 : v;
  }

  void string(RdlToken& t) {
    t.kind = RdlToken::Kind::kString;
    step();
    std::string text;
    while (i_ < text_.size() && peek() != '"') {
      if (peek() == '\\' && (peek(1) == '"' || peek(1) == '\\')) step();
      text += peek();
      step();
    }
    if (i_ >= text_.size()) {
      error(t.pos, "syntax", "this string has no end: write \"");
      s_.out.cut = true;
      return;
    }
    step();
    t.text = s_.out.texts.emplace_back(std::move(text));
    add(t);
  }

  void directive() {
    const auto pos = at_;
    step();
    const auto word = std::string(take_word());
    if (word == "define") {
      define(pos);
    } else if (word == "undef") {
      blanks();
      s_.macros.erase(std::string(take_word()));
    } else if (word == "include") {
      include(pos);
    } else if (word == "ifdef" || word == "ifndef") {
      blanks();
      const auto name = take_word();
      if (name.empty()) error(pos, "preprocessor", fmt::format("`{} without a name", word));
      const bool known = s_.macros.find(name) != s_.macros.end();
      condition(pos, known == (word == "ifdef"));
    } else if (word == "elsif" || word == "else" || word == "endif") {
      branch(word, pos);
    } else if (word == "line") {
      while (i_ < text_.size() && peek() != '\n') step();
    } else if (word.empty()) {
      error(pos, "preprocessor", "a directive or the name of a macro is missing behind `");
    } else {
      expand(word, pos);
    }
  }

  void blanks() {
    while (peek() == ' ' || peek() == '\t') step();
  }

  void condition(SourcePos pos, bool holds) {
    Condition c;
    c.pos = pos;
    c.outer = active();
    c.active = c.outer && holds;
    c.taken = c.active;
    conditions_.push_back(c);
  }

  void branch(const std::string& word, SourcePos pos) {
    if (conditions_.empty()) {
      error(pos, "preprocessor", fmt::format("`{} without `ifdef", word));
      return;
    }
    auto& c = conditions_.back();
    if (word == "endif") {
      conditions_.pop_back();
      return;
    }
    if (c.in_else) error(pos, "preprocessor", fmt::format("`{} behind `else", word));
    bool holds = true;
    if (word == "elsif") {
      blanks();
      holds = s_.macros.find(take_word()) != s_.macros.end();
    } else {
      c.in_else = true;
    }
    c.active = c.outer && !c.taken && holds;
    c.taken |= c.active;
  }

  // To the end of the line, over lines that end with a backslash.
  std::string rest_of_line() {
    std::string s;
    while (i_ < text_.size() && peek() != '\n') {
      if (peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
        step(peek(1) == '\r' ? 3 : 2);
        s += ' ';
        continue;
      }
      if (starts("//")) {
        while (i_ < text_.size() && peek() != '\n') step();
        break;
      }
      if (starts("/*")) {
        if (!comment()) break;
        s += ' ';
        continue;
      }
      if (peek() == '"') {
        do {
          const std::size_t n = peek() == '\\' ? 2 : 1;
          s += text_.substr(i_, n);
          step(n);
        } while (i_ < text_.size() && peek() != '"' && peek() != '\n');
        if (peek() != '"') continue;
      }
      s += peek();
      step();
    }
    return s;
  }

  void define(SourcePos pos) {
    blanks();
    const auto name = std::string(take_word());
    if (name.empty() || !is_word_start(name[0])) {
      error(pos, "preprocessor", "`define without a name");
      rest_of_line();
      return;
    }
    Macro m;
    if (peek() == '(') {
      m.has_args = true;
      step();
      while (i_ < text_.size() && peek() != ')' && peek() != '\n') {
        if (is_word_start(peek())) {
          m.args.emplace_back(take_word());
        } else {
          step();
        }
      }
      if (peek() != ')') error(pos, "preprocessor", fmt::format("`define {}: ) is missing", name));
      if (peek() == ')') step();
    }
    m.body = rest_of_line();
    s_.macros[name] = std::move(m);
  }

  // What stands between the parentheses behind a macro, split at commas.
  std::optional<std::vector<std::string>> arguments(SourcePos pos, const std::string& name) {
    skip_space();
    if (peek() != '(') {
      error(pos, "preprocessor",
            fmt::format("macro `{} takes arguments: write `{}(...)", name, name));
      return std::nullopt;
    }
    std::vector<std::string> list(1);
    int depth = 0;
    bool quoted = false;
    for (; i_ < text_.size(); step()) {
      const char c = peek();
      if (c == '"') quoted = !quoted;
      if (!quoted) {
        if (std::string_view("([{").find(c) != std::string_view::npos && depth++ == 0) continue;
        if (std::string_view(")]}").find(c) != std::string_view::npos && --depth == 0) {
          step();
          return list;
        }
        if (c == ',' && depth == 1) {
          list.emplace_back();
          continue;
        }
      }
      list.back() += c;
    }
    error(pos, "preprocessor", fmt::format("macro `{}: ) is missing", name));
    return std::nullopt;
  }

  static std::string substitute(const Macro& m, const std::vector<std::string>& values) {
    std::string s;
    const std::string_view body = m.body;
    for (std::size_t i = 0; i < body.size();) {
      if (body[i] == '"') {
        const auto end = std::min(body.find('"', i + 1), body.size() - 1);
        s += body.substr(i, end + 1 - i);
        i = end + 1;
      } else if (is_word(body[i])) {
        auto end = i;
        while (end < body.size() && is_word(body[end])) ++end;
        const auto word = body.substr(i, end - i);
        std::string_view is = word;
        for (std::size_t k = 0; k < m.args.size(); ++k) {
          if (m.args[k] == word) is = values[k];
        }
        s += is;
        i = end;
      } else {
        s += body[i++];
      }
    }
    return s;
  }

  void expand(const std::string& name, SourcePos pos) {
    const auto it = s_.macros.find(name);
    if (it == s_.macros.end()) {
      error(pos, "preprocessor",
            fmt::format("no macro or directive `{}: write `define {} before", name, name));
      return;
    }
    const Macro& m = it->second;
    std::string text;
    if (m.has_args) {
      const auto values = arguments(pos, name);
      if (!values) return;
      const bool none = m.args.empty() && values->size() == 1;
      if (!none && values->size() != m.args.size()) {
        error(pos, "preprocessor",
              fmt::format("macro `{} takes {} arguments, not {}", name, m.args.size(),
                          values->size()));
        return;
      }
      text = substitute(m, *values);
    } else {
      text = m.body;
    }
    s_.macro_text += text.size() + 1;
    if (depth_ >= kMostDeep || s_.macro_text > kMostMacroText) {
      error(pos, "limit", fmt::format("macro `{} becomes too long, or itself again", name));
      s_.stopped = s_.out.cut = true;
      return;
    }
    Scanner(s_, s_.out.texts.emplace_back(std::move(text)), dir_, pos, true, depth_ + 1).run();
  }

  void include(SourcePos pos) {
    blanks();
    const char quote = peek();
    if (quote != '"' && quote != '<') {
      error(pos, "include", "write `include \"file.rdl\"");
      return;
    }
    step();
    std::string name;
    while (i_ < text_.size() && peek() != '\n' && peek() != (quote == '<' ? '>' : '"')) {
      name += peek();
      step();
    }
    step();
    namespace fs = std::filesystem;
    std::vector<fs::path> places = {fs::path(dir_) / name};
    for (const auto& d : s_.include_dirs) places.push_back(fs::path(d) / name);
    for (const auto& p : places) {
      std::error_code ec;
      if (name.empty() || !fs::is_regular_file(p, ec)) continue;
      std::ifstream in(p, std::ios::binary);
      if (!in) continue;
      const auto path = p.lexically_normal().string();
      if (depth_ >= kMostDeep ||
          std::find(s_.open_files.begin(), s_.open_files.end(), path) != s_.open_files.end()) {
        error(pos, "include",
              fmt::format("'{}' includes itself: write `ifndef ... `endif around it", name));
        return;
      }
      std::stringstream text;
      text << in.rdbuf();
      s_.open_files.push_back(path);
      Scanner(s_, s_.out.texts.emplace_back(text.str()), p.parent_path().string(),
              {1, 1, s_.diags.add_file(path)}, false, depth_ + 1)
          .run();
      s_.open_files.pop_back();
      return;
    }
    error(
        pos, "include",
        fmt::format("cannot read '{}' (looked for beside this file and in the -I folders)", name));
  }

  Shared& s_;
  std::string_view text_;
  std::string dir_;
  std::size_t i_ = 0;
  SourcePos at_;
  bool is_macro_;
  int depth_;
  std::vector<Condition> conditions_;
};

RdlTokens scan(std::string text, const std::string& path, const std::string& dir,
               const std::vector<std::string>& include_dirs, Diagnostics& diags) {
  Shared shared{diags, include_dirs, {}, {}, {path}, 0, false};
  Scanner scanner(shared, shared.out.texts.emplace_back(std::move(text)), dir, {1, 1, 0}, false, 0);
  scanner.run();
  RdlToken end;
  if (!shared.out.list.empty()) end.pos = shared.out.list.back().pos;
  if (end.pos.line == 0) end.pos = {1, 1, 0};
  shared.out.list.push_back(end);
  return std::move(shared.out);
}

}  // namespace

RdlTokens read_rdl_tokens(const std::string& path, const std::vector<std::string>& include_dirs,
                          Diagnostics& diags) {
  std::error_code ec;
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path, ec)) {
    diags.error({}, "file", "cannot read the file");
    return {};
  }
  std::stringstream text;
  text << in.rdbuf();
  const std::filesystem::path p(path);
  return scan(text.str(), p.lexically_normal().string(), p.parent_path().string(), include_dirs,
              diags);
}

RdlTokens read_rdl_tokens_of_text(std::string text, const std::string& dir,
                                  const std::vector<std::string>& include_dirs,
                                  Diagnostics& diags) {
  return scan(std::move(text), "", dir, include_dirs, diags);
}

}  // namespace rnic::regs
