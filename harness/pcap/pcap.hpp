// SPDX-License-Identifier: Apache-2.0
// Capture files: a buffered writer in the nanosecond pcap format and a reader of every pcap
// variant.
//
//   PcapWriter out("run.pcap");                   out.write(time_ps, frame_bytes);   out.close();
//   PcapReader in("run.pcap");                    PcapPacket p;
//   while (in.next(p)) use(p.time_ns, p.bytes);   // p.bytes borrows the reader's memory
//
// Bad files and failed writes throw PcapError, naming file and packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace rnic::pcap {

class PcapError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr uint32_t kLinkTypeEthernet = 1;
inline constexpr uint32_t kDefaultSnapLength = 65535;

// Writes whole frames, little-endian, magic a1b23c4d, link type Ethernet. Picoseconds are cut to
// nanoseconds.
class PcapWriter {
 public:
  explicit PcapWriter(const std::string& path, uint32_t snap_length = kDefaultSnapLength);
  ~PcapWriter();  // closes; errors are lost here, so call close()
  PcapWriter(PcapWriter&&) noexcept = default;
  PcapWriter& operator=(PcapWriter&&) = delete;

  // A frame longer than the snap length is cut, its original length kept.
  void write(uint64_t time_ps, std::span<const uint8_t> frame);
  void flush();
  void close();
  uint64_t packets() const { return packets_; }
  const std::string& path() const { return path_; }

 private:
  struct Closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::vector<uint8_t> buffer_;
  size_t used_ = 0;
  uint32_t snap_length_;
  uint64_t packets_ = 0;
};

struct PcapPacket {
  uint64_t number = 0;   // 1 for the first, as tshark counts
  uint64_t time_ns = 0;  // since the epoch
  uint32_t original_length = 0;
  std::span<const uint8_t> bytes;
};

// Reads microsecond and nanosecond files of either byte order. Keeps the file in memory.
class PcapReader {
 public:
  explicit PcapReader(const std::string& path);
  // From memory; `name` stands in for the file in messages.
  PcapReader(std::vector<uint8_t> content, std::string name);

  bool next(PcapPacket& packet);
  void rewind() {
    at_ = kHeaderBytes;
    number_ = 0;
  }
  uint32_t link_type() const { return link_type_; }
  uint32_t snap_length() const { return snap_length_; }
  bool nanoseconds() const { return nanoseconds_; }

 private:
  static constexpr size_t kHeaderBytes = 24;
  void read_header();
  uint32_t u32(size_t at) const;

  std::string name_;
  std::vector<uint8_t> content_;
  size_t at_ = 0;
  uint64_t number_ = 0;
  uint32_t link_type_ = 0;
  uint32_t snap_length_ = 0;
  bool big_endian_ = false;
  bool nanoseconds_ = false;
};

}  // namespace rnic::pcap
