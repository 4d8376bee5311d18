// SPDX-License-Identifier: Apache-2.0
// A text log of every TLP on the NIC's link, one line each, in the order they start.
//
//   trace_tlp::TlpLog log("node0.tlp");   // or a std::ostream&
//   fabric.add_observer(&log);
//
//   #   start_ns      end_ns   arrive_ns dir type tag  endpoint address            len fbe lbe
//   status  flags
//        122.000     122.000     142.000 up  MRd  0x07 host     0x0000004000001040   64 f   f   - -
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "harness/pcie/types.hpp"

namespace rnic::trace_tlp {

class TlpLog : public pcie::Observer {
 public:
  explicit TlpLog(const std::string& path);  // throws std::runtime_error if it cannot be opened
  explicit TlpLog(std::ostream& out);
  ~TlpLog() override;

  void on_tlp(const pcie::TlpRecord& record) override;
  void flush();
  uint64_t lines() const { return lines_; }

  static std::string header();
  static std::string format(const pcie::TlpRecord& record);  // without newline

 private:
  std::unique_ptr<std::ostream> owned_;
  std::ostream* out_;
  std::string buffer_;
  uint64_t lines_ = 0;
};

}  // namespace rnic::trace_tlp
