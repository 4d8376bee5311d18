// SPDX-License-Identifier: Apache-2.0
// A violation of AXI, or of this design's rules for it, by the NIC: which cycle, which signal, what
// is wrong.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace rnic::axi {

class ProtocolError : public std::runtime_error {
 public:
  ProtocolError(uint64_t cycle, const std::string& signal, const std::string& what)
      : std::runtime_error("cycle " + std::to_string(cycle) + ": " + signal + ": " + what),
        cycle_(cycle),
        signal_(signal) {}
  uint64_t cycle() const { return cycle_; }
  const std::string& signal() const { return signal_; }

 private:
  uint64_t cycle_;
  std::string signal_;
};

}  // namespace rnic::axi
