// SPDX-License-Identifier: Apache-2.0
// The command lines of ibv_*_pingpong, perftest and rping, as their users write them.
//
//   Options o = parse_command("ib_write_bw -n 5 -s 65536 -x 1 10.77.0.9");   // throws ToolError
//   o.client();   o.verb == Verb::kWrite;
//
// Options that only make sense on the other machine (device names, -F, CPU and report switches) are
// taken and have no effect; README.md lists both kinds. Unknown ones are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rnic::tools {

class ToolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Kind : uint8_t { kPingpong, kBandwidth, kLatency, kRping };
enum class Verb : uint8_t { kSend, kWrite, kRead, kAtomic };
enum class Service : uint8_t { kRc, kUc, kUd };
const char* to_string(Service s);

struct Options {
  std::string command;  // the whole line
  std::string tool;
  Kind kind = Kind::kBandwidth;
  Verb verb = Verb::kWrite;
  Service service = Service::kRc;
  std::string host;  // empty: server
  uint16_t port = 18515;
  uint64_t count = 0;  // messages per QP and size
  uint32_t size = 0;   // bytes
  bool size_given = false;
  bool all = false;  // sizes 2 B, 4 B .. 8 MB
  uint32_t qps = 1;
  uint32_t mtu = 0;  // bytes; 0: the largest
  int gid = 1;
  uint32_t tx_depth = 128, rx_depth = 512;
  uint32_t inline_size = 0;
  uint32_t out_reads = 16;
  bool compare_swap = false;
  bool bidirectional = false;
  double duration_s = 0;           // instead of count
  std::optional<uint8_t> timeout;  // of the QPs, 4.096 us * 2^n, when given
  uint32_t cq_mod = 1;             // a completion of every n-th message (bandwidth)
  bool exchange_versions = true;
  bool gbits = false;       // report in Gb/s
  bool cm = false;          // its QPs are connected by the connection manager
  bool print_data = false;  // rping -v

  bool client() const { return !host.empty(); }
  bool server() const { return host.empty(); }
  std::vector<uint32_t> sizes() const;
  uint32_t largest() const { return sizes().back(); }
};

Options parse_command(const std::string& line);
std::vector<std::string> known_tools();
// 1..5 for 256..4096 and back; throw ToolError.
uint8_t mtu_code(uint32_t bytes);
uint32_t mtu_bytes(uint8_t code);

}  // namespace rnic::tools
