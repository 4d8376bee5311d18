// SPDX-License-Identifier: Apache-2.0
//
// Wave files: where the next one goes, and a GTKWave view (.gtkw) beside a finished FST that shows
// clocks, resets, every stream (valid, ready, payload) and then the other ports.
#pragma once

#include <string>

namespace rnic::test {

// Creates the folder; "<wave-dir>/<block>.<test-case>[.n].fst".
std::string next_wave_path();

void write_wave_view(const std::string& fst_path);

}  // namespace rnic::test
