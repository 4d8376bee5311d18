// SPDX-License-Identifier: Apache-2.0
#include "yaml_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rnic::regs {

YamlReader::Keys::Keys(YamlReader& reader, const YamlNode& node, std::string what,
                       std::initializer_list<std::string_view> known, Located* to)
    : reader_(reader), node_(node), what_(std::move(what)), pos_(node.pos) {
  if (to != nullptr) to->pos = pos_;
  if (!node.is_map()) {
    reader_.diags_.error(pos_, "syntax", what_ + " must be a mapping of keys to values");
    ok_ = false;
    return;
  }
  for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
    const auto& name = *node.items[i];
    const auto key = name.is_scalar() ? std::string_view(name.text) : std::string_view("?");
    const auto it = std::find(known.begin(), known.end(), key);
    if (it == known.end()) {
      reader_.diags_.error(
          name.pos, "unknown-key",
          fmt::format("unknown key '{}' in {}{}", key, what_,
                      suggest(key, std::vector<std::string>(known.begin(), known.end()))));
    } else if (to != nullptr) {
      to->keys.emplace_back(*it, node.items[i + 1]->pos);
    }
    for (std::size_t j = 0; j < i; j += 2) {
      if (node.items[j]->text == name.text) {
        reader_.diags_.error(name.pos, "duplicate-key",
                             fmt::format("key '{}' is given twice in {}", key, what_));
        break;
      }
    }
  }
}

const YamlNode* YamlReader::Keys::get(std::string_view key, bool required) {
  if (!ok_) return nullptr;
  for (std::size_t i = 0; i + 1 < node_.items.size(); i += 2) {
    if (node_.items[i]->text == key && node_.items[i + 1]->kind != YamlNode::Kind::kNull) {
      return node_.items[i + 1];
    }
  }
  if (required) {
    reader_.diags_.error(pos_, "missing-key", fmt::format("key '{}' is missing in {}", key, what_));
  }
  return nullptr;
}

std::string YamlReader::Keys::text(std::string_view key, bool required) {
  const auto* n = get(key, required);
  if (n == nullptr) return {};
  if (!n->is_scalar()) {
    reader_.diags_.error(n->pos, "type", fmt::format("'{}' must be a text", key));
    return {};
  }
  return n->text;
}

std::optional<std::uint64_t> YamlReader::Keys::number(std::string_view key, bool required) {
  const auto* n = get(key, required);
  return n != nullptr ? reader_.number(*n, key) : std::nullopt;
}

bool YamlReader::Keys::flag(std::string_view key, bool otherwise) {
  const auto* n = get(key, false);
  if (n == nullptr) return otherwise;
  if (n->text != "true" && n->text != "false") {
    reader_.diags_.error(n->pos, "type", fmt::format("'{}' must be true or false", key));
    return otherwise;
  }
  return n->text == "true";
}

std::optional<std::size_t> YamlReader::Keys::word(std::string_view key,
                                                  std::initializer_list<std::string_view> all,
                                                  bool required) {
  const auto w = text(key, required);
  if (w.empty()) return std::nullopt;
  const auto it = std::find(all.begin(), all.end(), w);
  if (it != all.end()) return static_cast<std::size_t>(it - all.begin());
  reader_.diags_.error(at(key), "value",
                       fmt::format("{} '{}'{}", key, w,
                                   suggest(w, std::vector<std::string>(all.begin(), all.end()))));
  return std::nullopt;
}

SourcePos YamlReader::Keys::at(std::string_view key) {
  const auto* n = get(key, false);
  return n != nullptr ? n->pos : pos_;
}

}  // namespace rnic::regs
