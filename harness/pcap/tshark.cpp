// SPDX-License-Identifier: Apache-2.0
#include "harness/pcap/tshark.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

namespace rnic::pcap {
namespace {

std::string quoted(const std::string& s) {
  std::string out = "'";
  for (char c : s) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// Output and exit status of a command.
std::pair<std::string, int> run(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {"", -1};
  std::string out;
  std::array<char, 65536> b;
  size_t n;
  while ((n = std::fread(b.data(), 1, b.size(), pipe)) > 0) out.append(b.data(), n);
  const int status = pclose(pipe);
  return {out, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

constexpr const char* kFields[] = {"frame.number",
                                   "frame.protocols",
                                   "_ws.malformed",
                                   "infiniband.bth.opcode",
                                   "infiniband.bth.psn",
                                   "infiniband.bth.destqp",
                                   "infiniband.bth.padcnt",
                                   "infiniband.bth.a",
                                   "infiniband.aeth.syndrome",
                                   "infiniband.aeth.msn",
                                   "infiniband.reth.dmalen",
                                   "infiniband.reth.r_key",
                                   "infiniband.immdt",
                                   "infiniband.reth.va",
                                   "infiniband.invariant.crc",
                                   "ip.len",
                                   "udp.length"};

template <typename T>
std::optional<T> number(const std::string& s) {
  if (s.empty()) return std::nullopt;
  // tshark 4 prints flags as 0/1, newer ones as False/True.
  if (s == "True") return T{1};
  if (s == "False") return T{0};
  char* end = nullptr;
  const unsigned long long v = std::strtoull(s.c_str(), &end, 0);
  // Byte strings come as plain hex digits without a prefix.
  if (end == nullptr || *end != '\0') {
    return static_cast<T>(std::strtoull(s.c_str(), nullptr, 16));
  }
  return static_cast<T>(v);
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> out(1);
  for (char c : line) {
    if (c == '\t') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

}  // namespace

bool Tshark::available() {
  static const bool kFound = run("tshark --version 2>/dev/null").second == 0;
  return kFound;
}

std::string Tshark::version() {
  const std::string out = run("tshark --version 2>/dev/null").first;
  return out.substr(0, out.find('\n'));
}

std::map<uint32_t, std::string> Tshark::opcode_names() {
  const auto [out, status] =
      run("tshark -G values 2>/dev/null | grep -a '^V.infiniband.bth.opcode.'");
  if (status != 0) throw std::runtime_error("tshark -G values failed");
  std::map<uint32_t, std::string> names;
  size_t at = 0;
  while (at < out.size()) {
    const size_t end = std::min(out.find('\n', at), out.size());
    const std::vector<std::string> f = split(out.substr(at, end - at));
    at = end + 1;
    if (f.size() == 4) names[static_cast<uint32_t>(std::strtoul(f[2].c_str(), nullptr, 0))] = f[3];
  }
  return names;
}

std::vector<TsharkFrame> Tshark::decode(const std::string& path) {
  std::string command = "tshark -n -r " + quoted(path) +
                        " --disable-protocol rpcordma -o infiniband.identify_payload:FALSE"
                        " -T fields -E occurrence=f";
  for (const char* f : kFields) command += std::string(" -e ") + f;
  const auto [out, status] = run(command + " 2>/dev/null");
  if (status != 0) {
    throw std::runtime_error("tshark: " + path + ": exit status " + std::to_string(status));
  }
  std::vector<TsharkFrame> frames;
  size_t at = 0;
  while (at < out.size()) {
    const size_t end = out.find('\n', at);
    const std::vector<std::string> f = split(out.substr(at, end - at));
    at = end == std::string::npos ? out.size() : end + 1;
    if (f.size() != std::size(kFields)) {
      throw std::runtime_error("tshark: " + path + ": a line of " + std::to_string(f.size()) +
                               " fields");
    }
    TsharkFrame t;
    t.number = number<uint64_t>(f[0]).value_or(0);
    t.protocols = f[1];
    t.malformed = !f[2].empty() || t.protocols.find("malformed") != std::string::npos;
    t.opcode = number<uint32_t>(f[3]);
    t.psn = number<uint32_t>(f[4]);
    t.dest_qp = number<uint32_t>(f[5]);
    t.pad = number<uint32_t>(f[6]);
    t.ack_req = number<uint32_t>(f[7]);
    t.syndrome = number<uint32_t>(f[8]);
    t.msn = number<uint32_t>(f[9]);
    t.dma_length = number<uint32_t>(f[10]);
    t.rkey = number<uint32_t>(f[11]);
    if (!f[12].empty()) t.imm = static_cast<uint32_t>(std::strtoull(f[12].c_str(), nullptr, 16));
    t.va = number<uint64_t>(f[13]);
    t.icrc = number<uint32_t>(f[14]);
    t.ip_length = number<uint32_t>(f[15]);
    t.udp_length = number<uint32_t>(f[16]);
    frames.push_back(std::move(t));
  }
  return frames;
}

}  // namespace rnic::pcap
