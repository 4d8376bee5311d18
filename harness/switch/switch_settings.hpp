// SPDX-License-Identifier: Apache-2.0
// A switch from a scenario file: the mapping `switch`. README.md lists the keys.
//
//   SwitchConfig c;
//   r.child("switch", [&](scenario::Reader& s) { read_switch(s, c); });
#pragma once

#include "harness/scenario/scenario.hpp"
#include "harness/switch/config.hpp"

namespace rnic::switching {

// Everything but the number of ports and the seed, which the world knows.
void read_switch(scenario::Reader& r, SwitchConfig& out);

}  // namespace rnic::switching
