// SPDX-License-Identifier: Apache-2.0
#include "harness/pcap/pcap.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace rnic::pcap {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kRecordBytes = 16;
constexpr uint64_t kPsPerSecond = 1'000'000'000'000ull;
constexpr uint32_t kMagicMicro = 0xA1B2C3D4u;
constexpr uint32_t kMagicNano = 0xA1B23C4Du;
constexpr uint32_t kMagicPcapng = 0x0A0D0D0Au;
// Larger records than this come from a damaged file, whatever its snap length says.
constexpr uint32_t kLargestRecord = 256 * 1024;

void store(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v);
  p[1] = static_cast<uint8_t>(v >> 8);
  p[2] = static_cast<uint8_t>(v >> 16);
  p[3] = static_cast<uint8_t>(v >> 24);
}

uint32_t swap(uint32_t v) {
  return (v >> 24) | ((v >> 8) & 0xFF00u) | ((v << 8) & 0xFF0000u) | (v << 24);
}

}  // namespace

PcapWriter::PcapWriter(const std::string& path, uint32_t snap_length)
    : path_(path), file_(std::fopen(path.c_str(), "wb")), snap_length_(snap_length) {
  if (!file_) throw PcapError(path + ": cannot create: " + std::strerror(errno));
  buffer_.resize(kBufferBytes + kRecordBytes + snap_length);
  uint8_t* h = buffer_.data();
  store(h, kMagicNano);
  h[4] = 2;  // version 2.4
  h[5] = 0;
  h[6] = 4;
  h[7] = 0;
  store(h + 8, 0);
  store(h + 12, 0);
  store(h + 16, snap_length);
  store(h + 20, kLinkTypeEthernet);
  used_ = 24;
}

PcapWriter::~PcapWriter() {
  if (!file_) return;
  try {
    flush();
  } catch (const PcapError&) {
    // A destructor cannot report; close() does.
  }
}

void PcapWriter::write(uint64_t time_ps, std::span<const uint8_t> frame) {
  if (!file_) throw PcapError(path_ + ": written after close");
  const auto kept =
      static_cast<uint32_t>(frame.size() < snap_length_ ? frame.size() : snap_length_);
  uint8_t* p = buffer_.data() + used_;
  store(p, static_cast<uint32_t>(time_ps / kPsPerSecond));
  store(p + 4, static_cast<uint32_t>(time_ps % kPsPerSecond / 1000));
  store(p + 8, kept);
  store(p + 12, static_cast<uint32_t>(frame.size()));
  if (kept != 0) std::memcpy(p + kRecordBytes, frame.data(), kept);
  used_ += kRecordBytes + kept;
  ++packets_;
  if (used_ >= kBufferBytes) flush();
}

void PcapWriter::flush() {
  if (!file_) return;
  const size_t n = std::exchange(used_, 0);
  if (std::fwrite(buffer_.data(), 1, n, file_.get()) != n || std::fflush(file_.get()) != 0) {
    throw PcapError(path_ + ": packet " + std::to_string(packets_) +
                    ": write failed: " + std::strerror(errno));
  }
}

void PcapWriter::close() {
  flush();
  file_.reset();
}

PcapReader::PcapReader(const std::string& path) : name_(path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> f(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!f) throw PcapError(path + ": cannot open: " + std::strerror(errno));
  size_t used = 0;
  content_.resize(64 * 1024);
  while (true) {
    const size_t n = std::fread(content_.data() + used, 1, content_.size() - used, f.get());
    used += n;
    if (used < content_.size()) break;
    content_.resize(content_.size() * 2);
  }
  if (std::ferror(f.get())) throw PcapError(path + ": read failed: " + std::strerror(errno));
  content_.resize(used);
  read_header();
}

PcapReader::PcapReader(std::vector<uint8_t> content, std::string name)
    : name_(std::move(name)), content_(std::move(content)) {
  read_header();
}

uint32_t PcapReader::u32(size_t at) const {
  const uint8_t* p = &content_[at];
  const uint32_t v = (uint32_t{p[3]} << 24) | (uint32_t{p[2]} << 16) | (uint32_t{p[1]} << 8) | p[0];
  return big_endian_ ? swap(v) : v;
}

void PcapReader::read_header() {
  if (content_.size() < kHeaderBytes) {
    throw PcapError(name_ + ": " + std::to_string(content_.size()) +
                    " bytes, too short for a pcap file header");
  }
  const uint32_t magic = u32(0);
  if (magic == kMagicPcapng) {
    throw PcapError(name_ + ": is pcapng, expected pcap (editcap -F nsecpcap converts it)");
  }
  if (magic == swap(kMagicMicro) || magic == swap(kMagicNano)) {
    big_endian_ = true;
  } else if (magic != kMagicMicro && magic != kMagicNano) {
    char b[64];
    std::snprintf(b, sizeof b, ": not a pcap file (magic %08x)", magic);
    throw PcapError(name_ + b);
  }
  nanoseconds_ = u32(0) == kMagicNano;
  const uint32_t version = u32(4);
  const uint32_t major = big_endian_ ? version >> 16 : version & 0xFFFF;
  if (major != 2)
    throw PcapError(name_ + ": pcap version " + std::to_string(major) + ", expected 2");
  snap_length_ = u32(16);
  link_type_ = u32(20) & 0xFFFF;  // the upper half may tell an FCS length
  at_ = kHeaderBytes;
}

bool PcapReader::next(PcapPacket& packet) {
  if (at_ == content_.size()) return false;
  const std::string where = name_ + ": packet " + std::to_string(number_ + 1);
  if (content_.size() - at_ < kRecordBytes)
    throw PcapError(where + ": file ends within its header");
  const uint32_t seconds = u32(at_);
  const uint32_t fraction = u32(at_ + 4);
  const uint32_t kept = u32(at_ + 8);
  const uint32_t limit = nanoseconds_ ? 1'000'000'000u : 1'000'000u;
  if (fraction >= limit) {
    throw PcapError(where + ": fraction of a second is " + std::to_string(fraction) +
                    ", expected below " + std::to_string(limit));
  }
  if (kept > kLargestRecord) {
    throw PcapError(where + ": length " + std::to_string(kept) + " exceeds " +
                    std::to_string(kLargestRecord));
  }
  if (content_.size() - at_ - kRecordBytes < kept) {
    throw PcapError(where + ": file ends after " +
                    std::to_string(content_.size() - at_ - kRecordBytes) + " of " +
                    std::to_string(kept) + " bytes");
  }
  packet.number = ++number_;
  packet.time_ns =
      uint64_t{seconds} * 1'000'000'000u + uint64_t{fraction} * (nanoseconds_ ? 1u : 1000u);
  packet.original_length = u32(at_ + 12);
  packet.bytes = std::span<const uint8_t>(content_).subspan(at_ + kRecordBytes, kept);
  at_ += kRecordBytes + kept;
  return true;
}

}  // namespace rnic::pcap
