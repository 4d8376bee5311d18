// SPDX-License-Identifier: Apache-2.0
//
// The YAML that maps are made of, read ten times as fast as the library does (not part of the
// public interface): block and flow collections, plain and quoted scalars on one line, comments.
// Whatever else it meets (anchors, tags, block scalars, errors) it leaves to the library: it
// returns nullptr and says nothing.
#pragma once

#include <string>

#include "yaml_tree.hpp"

namespace rnic::regs {

[[nodiscard]] const YamlNode* parse_yaml_fast(const std::string& text, int file, YamlTree& tree);

}  // namespace rnic::regs
