// SPDX-License-Identifier: Apache-2.0
// A JSON file that is there whole, or an error that names it.
//
//   check_writable("result.json");   // before a long run: not only at its end
//   write_json("result.json", value);
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rnic::sim {

// Throw std::runtime_error. The check makes an empty file when there is none.
void check_writable(const std::string& path);
void write_json(const std::string& path, const nlohmann::json& value);

}  // namespace rnic::sim
