// SPDX-License-Identifier: Apache-2.0
#include "yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <sstream>

#include "yaml_fast.hpp"

namespace rnic::regs {
namespace {

class Builder : public YAML::EventHandler {
 public:
  Builder(YamlTree& tree, int file) : tree_(tree), file_(file) {}
  [[nodiscard]] const YamlNode* root() const { return root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& m, YAML::anchor_t a) override {
    place(make(YamlNode::Kind::kNull, m, a));
  }
  void OnAlias(const YAML::Mark& /*m*/, YAML::anchor_t a) override { place(anchors_[a]); }
  void OnScalar(const YAML::Mark& m, const std::string& /*tag*/, YAML::anchor_t a,
                const std::string& value) override {
    auto* n = make(YamlNode::Kind::kScalar, m, a);
    n->text = value;
    place(n);
  }
  void OnSequenceStart(const YAML::Mark& m, const std::string& /*tag*/, YAML::anchor_t a,
                       YAML::EmitterStyle::value /*style*/) override {
    open(make(YamlNode::Kind::kList, m, a));
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& m, const std::string& /*tag*/, YAML::anchor_t a,
                  YAML::EmitterStyle::value /*style*/) override {
    open(make(YamlNode::Kind::kMap, m, a));
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  YamlNode* make(YamlNode::Kind kind, const YAML::Mark& m, YAML::anchor_t a) {
    auto* n = tree_.add(kind, {m.line + 1, m.column + 1, file_});
    if (a != 0) anchors_[a] = n;
    return n;
  }
  void place(YamlNode* n) {
    if (open_.empty()) {
      root_ = n;
    } else {
      open_.back()->items.push_back(n);
    }
  }
  void open(YamlNode* n) {
    place(n);
    open_.push_back(n);
  }

  YamlTree& tree_;
  int file_;
  YamlNode* root_ = nullptr;
  std::vector<YamlNode*> open_;
  std::map<YAML::anchor_t, YamlNode*> anchors_;
};

}  // namespace

const YamlNode* YamlTree::parse(const std::string& text, int file, Diagnostics& diags) {
  const auto* root = parse_yaml_fast(text, file, *this);
  return root != nullptr ? root : parse_slow(text, file, diags);
}

const YamlNode* YamlTree::parse_slow(const std::string& text, int file, Diagnostics& diags) {
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    Builder builder(*this, file);
    parser.HandleNextDocument(builder);
    return builder.root() != nullptr ? builder.root() : add(YamlNode::Kind::kNull, {1, 1, file});
  } catch (const YAML::Exception& e) {
    diags.error({e.mark.line + 1, e.mark.column + 1, file}, "syntax", e.msg);
    return nullptr;
  }
}

}  // namespace rnic::regs
