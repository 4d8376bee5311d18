// SPDX-License-Identifier: Apache-2.0
#include "yaml_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

#include "utf8.hpp"
#include "yaml_fast.hpp"

namespace rnic::regs {
namespace {

constexpr std::uint64_t kMostNodes = 4'000'000;

// What is wrong with aliases.
YAML::ParserException complaint(const YAML::Mark& m, const std::string& text) { return {m, text}; }

class Builder : public YAML::EventHandler {
 public:
  Builder(YamlTree& tree, int file) : tree_(tree), file_(file) {}
  [[nodiscard]] const YamlNode* root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& /*m*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& m, YAML::anchor_t a) override {
    place(make(YamlNode::Kind::kNull, m), m, a);
  }
  void OnAlias(const YAML::Mark& m, YAML::anchor_t a) override {
    const auto& x = anchors_[a];
    if (x.size == 0) throw complaint(m, "an alias inside of what it stands for");
    attach(x.node);
    count(m, x.size);
  }
  void OnScalar(const YAML::Mark& m, const std::string& /*tag*/, YAML::anchor_t a,
                const std::string& value) override {
    auto* n = make(YamlNode::Kind::kScalar, m);
    n->text = value;
    place(n, m, a);
  }
  void OnSequenceStart(const YAML::Mark& m, const std::string& /*tag*/, YAML::anchor_t a,
                       YAML::EmitterStyle::value /*style*/) override {
    open(make(YamlNode::Kind::kList, m), m, a);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& m, const std::string& /*tag*/, YAML::anchor_t a,
                  YAML::EmitterStyle::value /*style*/) override {
    open(make(YamlNode::Kind::kMap, m), m, a);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Anchor {
    YamlNode* node = nullptr;
    std::uint64_t size = 0;  // nodes in it with those of aliases; 0 while it is open
  };
  struct Frame {
    YamlNode* node;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    std::uint64_t size;
  };

  YamlNode* make(YamlNode::Kind kind, const YAML::Mark& m) {
    return tree_.add(kind, {m.line + 1, m.column + 1, file_});
  }
  void attach(YamlNode* n) {
    if (open_.empty()) {
      root_ = n;
    } else {
      open_.back().node->items.push_back(n);
    }
  }
  // Aliases of aliases grow fast.
  void count(const YAML::Mark& m, std::uint64_t nodes) {
    if (open_.empty()) return;
    open_.back().size += nodes;
    if (open_.back().size > kMostNodes) {
      throw complaint(m, fmt::format("aliases make more than {} values of this", kMostNodes));
    }
  }
  void place(YamlNode* n, const YAML::Mark& m, YAML::anchor_t a) {
    if (a != 0) anchors_[a] = {n, 1};
    attach(n);
    count(m, 1);
  }
  void open(YamlNode* n, const YAML::Mark& m, YAML::anchor_t a) {
    if (a != 0) anchors_[a] = {n, 0};
    attach(n);
    open_.push_back({n, m, a, 1});
  }
  void close() {
    const auto f = open_.back();
    open_.pop_back();
    if (f.anchor != 0) anchors_[f.anchor].size = f.size;
    count(f.mark, f.size);
  }

  YamlTree& tree_;
  int file_;
  YamlNode* root_ = nullptr;
  std::vector<Frame> open_;
  std::map<YAML::anchor_t, Anchor> anchors_;
};

// Takes note of where a second document starts.
class Rest : public Builder {
 public:
  using Builder::Builder;
  void OnDocumentStart(const YAML::Mark& m) override { start = m; }
  YAML::Mark start;
};

bool is_text(const std::string& text, int file, Diagnostics& diags) {
  const auto at = first_non_text(text);
  if (!at) return true;
  const auto line_start = text.rfind('\n', *at == 0 ? 0 : *at - 1);
  const auto before = std::string_view(text).substr(0, *at);
  const auto line = std::count(before.begin(), before.end(), '\n');
  const auto col = *at - (line == 0 ? 0 : line_start + 1);
  diags.error({static_cast<int>(line) + 1, static_cast<int>(col) + 1, file}, "encoding",
              fmt::format("byte 0x{:02x} is no text in UTF-8: write the file in UTF-8, without "
                          "control characters",
                          static_cast<unsigned char>(text[*at])));
  return false;
}

}  // namespace

const YamlNode* YamlTree::parse(const std::string& text, int file, Diagnostics& diags) {
  if (!is_text(text, file, diags)) return nullptr;
  const auto* root = parse_yaml_fast(text, file, *this);
  return root != nullptr ? root : parse_slow(text, file, diags);
}

const YamlNode* YamlTree::parse_slow(const std::string& text, int file, Diagnostics& diags) {
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    Builder builder(*this, file);
    parser.HandleNextDocument(builder);
    Rest rest(*this, file);
    if (parser.HandleNextDocument(rest)) {
      throw complaint(rest.start, "a second document: a map is one, without '---' in it");
    }
    return builder.root() != nullptr ? builder.root() : add(YamlNode::Kind::kNull, {1, 1, file});
  } catch (const YAML::DeepRecursion& e) {
    diags.error({e.mark.line + 1, e.mark.column + 1, file}, "syntax",
                "nested deeper than 500 levels");
    return nullptr;
  } catch (const YAML::Exception& e) {
    diags.error({e.mark.line + 1, e.mark.column + 1, file}, "syntax", e.msg);
    return nullptr;
  }
}

}  // namespace rnic::regs
