// SPDX-License-Identifier: Apache-2.0
#include "harness/trace_tlp/tlp_log.hpp"

#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace rnic::trace_tlp {
namespace {

constexpr size_t kFlushAt = 64 * 1024;

int format_to(char* text, size_t size, const pcie::TlpRecord& r) {
  char who[12];
  if (r.endpoint.is_host()) {
    std::snprintf(who, sizeof who, "host");
  } else {
    std::snprintf(who, sizeof who, "gpu%d", r.endpoint.gpu);
  }
  const bool completion =
      r.type == pcie::TlpType::kCompletion || r.type == pcie::TlpType::kCompletionData;
  char enables[16];
  if (completion) {
    std::snprintf(enables, sizeof enables, "-   -");
  } else {
    std::snprintf(enables, sizeof enables, "%x   %x", r.first_be, r.last_be);
  }
  const char* flags = r.poisoned ? (r.relaxed ? "RO,EP" : "EP") : (r.relaxed ? "RO" : "-");
  return std::snprintf(
      text, size,
      "%11llu.%03llu %11llu.%03llu %11llu.%03llu %-4s %-5s 0x%03x %-6s 0x%016llx %5u %s   %-6s %s",
      static_cast<unsigned long long>(r.start_ps / 1000),
      static_cast<unsigned long long>(r.start_ps % 1000),
      static_cast<unsigned long long>(r.end_ps / 1000),
      static_cast<unsigned long long>(r.end_ps % 1000),
      static_cast<unsigned long long>(r.arrive_ps / 1000),
      static_cast<unsigned long long>(r.arrive_ps % 1000),
      r.direction == pcie::Direction::kUp ? "up" : "down", pcie::to_string(r.type), r.tag, who,
      static_cast<unsigned long long>(r.addr), r.len, enables,
      completion ? pcie::to_string(r.status) : "-", flags);
}

}  // namespace

TlpLog::TlpLog(const std::string& path)
    : owned_(std::make_unique<std::ofstream>(path)), out_(owned_.get()) {
  if (!*out_) throw std::runtime_error("TLP log: cannot write " + path);
  buffer_ = header() + "\n";
}

TlpLog::TlpLog(std::ostream& out) : out_(&out) { buffer_ = header() + "\n"; }

TlpLog::~TlpLog() { flush(); }

std::string TlpLog::header() {
  return "#      start_ns          end_ns       arrive_ns dir  type  tag   who    address          "
         "    len fbe lbe "
         "status flags";
}

std::string TlpLog::format(const pcie::TlpRecord& record) {
  char text[256];
  format_to(text, sizeof text, record);
  return text;
}

void TlpLog::on_tlp(const pcie::TlpRecord& record) {
  char text[256];
  const int n = format_to(text, sizeof text, record);
  buffer_.append(text, static_cast<size_t>(n));
  buffer_ += '\n';
  ++lines_;
  if (buffer_.size() >= kFlushAt) flush();
}

void TlpLog::flush() {
  out_->write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  out_->flush();
  buffer_.clear();
}

}  // namespace rnic::trace_tlp
