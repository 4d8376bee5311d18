// SPDX-License-Identifier: Apache-2.0
#include "yaml_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace rnic::regs {

YamlReader::Keys::Keys(YamlReader& reader, const YamlNode& node, Element element, std::string what,
                       Located* to)
    : reader_(reader), node_(node), element_(element), what_(std::move(what)), pos_(node.pos) {
  if (to != nullptr) to->pos = pos_;
  if (!node.is_map()) {
    reader_.diags_.error(pos_, "syntax", what_ + " must be a mapping of keys to values");
    ok_ = false;
    return;
  }
  check_known(to);
  check_required();
}

void YamlReader::Keys::check_known(Located* to) {
  for (std::size_t i = 0; i + 1 < node_.items.size(); i += 2) {
    const auto& name = *node_.items[i];
    const auto key = name.is_scalar() ? std::string_view(name.text) : std::string_view("?");
    const auto* known = find_key(element_, key);
    if (known == nullptr) {
      reader_.diags_.error(name.pos, "unknown-key",
                           fmt::format("unknown key '{}' in {}{}", key, what_,
                                       suggest(key, names_of(regs::element(element_).keys))));
    } else if (to != nullptr) {
      to->keys.emplace_back(known->name, node_.items[i + 1]->pos);
    }
    for (std::size_t j = 0; j < i; j += 2) {
      if (node_.items[j]->text == name.text) {
        reader_.diags_.error(name.pos, "duplicate-key",
                             fmt::format("key '{}' is given twice in {}", key, what_));
        break;
      }
    }
  }
}

void YamlReader::Keys::check_required() {
  for (const auto& k : regs::element(element_).keys) {
    if (k.required) require(k.name);
  }
}

void YamlReader::Keys::require(std::string_view key) {
  if (!ok_ || get(key) != nullptr) return;
  reader_.diags_.error(pos_, "missing-key", fmt::format("key '{}' is missing in {}", key, what_));
}

const KeySpec& YamlReader::Keys::spec(std::string_view key) const {
  const auto* k = find_key(element_, key);
  if (k == nullptr) throw std::logic_error(fmt::format("no key '{}' of {}", key, what_));
  return *k;
}

const YamlNode* YamlReader::Keys::get(std::string_view key) {
  if (!ok_) return nullptr;
  for (std::size_t i = 0; i + 1 < node_.items.size(); i += 2) {
    if (node_.items[i]->text == key && node_.items[i + 1]->kind != YamlNode::Kind::kNull) {
      return node_.items[i + 1];
    }
  }
  (void)spec(key);  // what is not in the table is nowhere else either
  return nullptr;
}

std::string YamlReader::Keys::text(std::string_view key) {
  const auto* n = get(key);
  if (n == nullptr) return {};
  if (!n->is_scalar()) {
    reader_.diags_.error(n->pos, "type", fmt::format("'{}' must be a text", key));
    return {};
  }
  return n->text;
}

std::optional<std::uint64_t> YamlReader::Keys::number(std::string_view key) {
  const auto* n = get(key);
  return n != nullptr ? reader_.number(*n, key) : std::nullopt;
}

bool YamlReader::Keys::flag(std::string_view key, bool otherwise) {
  const auto* n = get(key);
  if (n == nullptr) return otherwise;
  if (n->text != "true" && n->text != "false") {
    reader_.diags_.error(n->pos, "type", fmt::format("'{}' must be true or false", key));
    return otherwise;
  }
  return n->text == "true";
}

std::optional<std::size_t> YamlReader::Keys::word(std::string_view key) {
  const auto w = text(key);
  if (w.empty()) return std::nullopt;
  const auto all = spec(key).words;
  const auto it = std::find(all.begin(), all.end(), w);
  if (it != all.end()) return static_cast<std::size_t>(it - all.begin());
  reader_.diags_.error(at(key), "value", fmt::format("{} '{}'{}", key, w, suggest(w, words(key))));
  return std::nullopt;
}

std::vector<std::string> YamlReader::Keys::words(std::string_view key) const {
  const auto all = spec(key).words;
  return {all.begin(), all.end()};
}

SourcePos YamlReader::Keys::at(std::string_view key) {
  const auto* n = get(key);
  return n != nullptr ? n->pos : pos_;
}

}  // namespace rnic::regs
