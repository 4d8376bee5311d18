// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "harness/roce/bytes.hpp"

namespace rnic::tools {
namespace {

std::vector<uint8_t> with_nul(const std::string& text) {
  std::vector<uint8_t> out(text.begin(), text.end());
  out.push_back(0);
  return out;
}

// Reads hexadecimal fields of fixed width, one after the other.
class Fields {
 public:
  explicit Fields(std::span<const uint8_t> bytes) : text_(bytes.begin(), bytes.end()) {}
  uint64_t hex(size_t digits) {
    uint64_t v = 0;
    if (at_ + digits > text_.size()) {
      good_ = false;
      return 0;
    }
    const char* begin = text_.data() + at_;
    const auto r = std::from_chars(begin, begin + digits, v, 16);
    good_ = good_ && r.ec == std::errc{} && r.ptr == begin + digits;
    at_ += digits;
    return v;
  }
  // A field with ':' behind it.
  uint64_t next(size_t digits) {
    const uint64_t v = hex(digits);
    good_ = good_ && at_ < text_.size() && text_[at_] == ':';
    ++at_;
    return v;
  }
  uint32_t next32(size_t digits) { return static_cast<uint32_t>(next(digits)); }
  bool good() const { return good_; }

 private:
  std::string text_;
  size_t at_ = 0;
  bool good_ = true;
};

}  // namespace

std::vector<uint8_t> encode_pingpong(const Keys& k) {
  std::string text = fmt::format("{:04x}:{:06x}:{:06x}:", k.lid, k.qpn, k.psn);
  for (const uint8_t b : k.gid) text += fmt::format("{:02x}", b);
  return with_nul(text);
}

std::optional<Keys> decode_pingpong(std::span<const uint8_t> bytes) {
  if (bytes.size() != kPingpongBytes) return std::nullopt;
  Fields f(bytes);
  Keys k;
  k.lid = f.next32(4);
  k.qpn = f.next32(6);
  k.psn = f.next32(6);
  for (uint8_t& b : k.gid) b = static_cast<uint8_t>(f.hex(2));
  if (!f.good()) return std::nullopt;
  return k;
}

std::vector<uint8_t> encode_perftest(const Keys& k) {
  std::string text = fmt::format("{:04x}:{:04x}:{:06x}:{:06x}:{:08x}:{:016x}:", k.lid, k.out_reads,
                                 k.qpn, k.psn, k.rkey, k.vaddr);
  for (const uint8_t b : k.gid) text += fmt::format("{:02x}:", b);
  text += fmt::format("{:08x}:", k.srqn);
  return with_nul(text);
}

std::optional<Keys> decode_perftest(std::span<const uint8_t> bytes) {
  if (bytes.size() != kPerftestBytes) return std::nullopt;
  Fields f(bytes);
  Keys k;
  k.lid = f.next32(4);
  k.out_reads = f.next32(4);
  k.qpn = f.next32(6);
  k.psn = f.next32(6);
  k.rkey = f.next32(8);
  k.vaddr = f.next(16);
  for (uint8_t& b : k.gid) b = static_cast<uint8_t>(f.next(2));
  k.srqn = f.next32(8);
  if (!f.good()) return std::nullopt;
  return k;
}

// Bytes 20 to 23 are a hole of the structure that perftest sends: whatever lies there.
std::vector<uint8_t> encode_perftest_cm(const Keys& k) {
  std::vector<uint8_t> b(kPerftestCmBytes);
  roce::store_be32(b.data(), k.lid);
  roce::store_be32(b.data() + 4, k.out_reads);
  roce::store_be32(b.data() + 8, k.qpn);
  roce::store_be32(b.data() + 12, k.psn);
  roce::store_be32(b.data() + 16, k.rkey);
  roce::store_be64(b.data() + 24, k.vaddr);
  std::copy(k.gid.begin(), k.gid.end(), b.begin() + 32);
  roce::store_be32(b.data() + 48, k.srqn);
  roce::store_be32(b.data() + 52, k.gid_index);
  return b;
}

std::optional<Keys> decode_perftest_cm(std::span<const uint8_t> bytes) {
  if (bytes.size() != kPerftestCmBytes) return std::nullopt;
  const uint8_t* p = bytes.data();
  Keys k;
  k.lid = roce::load_be32(p);
  k.out_reads = roce::load_be32(p + 4);
  k.qpn = roce::load_be32(p + 8);
  k.psn = roce::load_be32(p + 12);
  k.rkey = roce::load_be32(p + 16);
  k.vaddr = roce::load_be64(p + 24);
  std::copy_n(p + 32, k.gid.size(), k.gid.begin());
  k.srqn = roce::load_be32(p + 48);
  k.gid_index = roce::load_be32(p + 52);
  return k;
}

}  // namespace rnic::tools
