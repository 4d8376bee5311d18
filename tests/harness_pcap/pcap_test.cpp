// SPDX-License-Identifier: Apache-2.0
#include "harness/pcap/pcap.hpp"

#include <filesystem>
#include <fstream>
#include <vector>

#include <unistd.h>

#include "tests/support/catch.hpp"

using namespace rnic::pcap;
using rnic::test::contains_text;

namespace {

// A file name of its own for each test, removed at the end.
class TempFile {
 public:
  explicit TempFile(const std::string& name)
      : path_((std::filesystem::temp_directory_path() / (name + std::to_string(::getpid())))
                  .string()) {}
  ~TempFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }
  std::vector<uint8_t> content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string path_;
};

void put32(std::vector<uint8_t>& out, uint32_t v, bool big) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<uint8_t>(v >> (big ? 24 - 8 * i : 8 * i)));
}
void put16(std::vector<uint8_t>& out, uint32_t v, bool big) {
  for (int i = 0; i < 2; ++i) out.push_back(static_cast<uint8_t>(v >> (big ? 8 - 8 * i : 8 * i)));
}

std::vector<uint8_t> file_of(bool nano, bool big, uint32_t fraction, uint32_t declared,
                             size_t present) {
  std::vector<uint8_t> f;
  put32(f, nano ? 0xA1B23C4D : 0xA1B2C3D4, big);
  put16(f, 2, big);
  put16(f, 4, big);
  put32(f, 0, big);
  put32(f, 0, big);
  put32(f, 65535, big);
  put32(f, 1, big);
  put32(f, 3, big);
  put32(f, fraction, big);
  put32(f, declared, big);
  put32(f, declared, big);
  for (size_t i = 0; i < present; ++i) f.push_back(static_cast<uint8_t>(i));
  return f;
}

}  // namespace

TEST_CASE("a written capture has the nanosecond header and record byte for byte") {
  TempFile file("rnic_pcap_bytes");
  {
    PcapWriter out(file.path());
    const std::vector<uint8_t> frame = {1, 2, 3, 4, 5};
    out.write(2'000'000'003'999ull, frame);  // 2 s and 3.999 ns
    out.close();
  }
  const std::vector<uint8_t> expected = {0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0,
                                         0,    0xff, 0xff, 0,    0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0,
                                         0,    0,    5,    0,    0, 0, 5, 0, 0, 0, 1, 2, 3, 4, 5};
  CHECK(file.content() == expected);
}

TEST_CASE("many frames of many sizes come back as written, across buffer boundaries") {
  TempFile file("rnic_pcap_many");
  std::vector<uint8_t> data(9000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 13);
  const size_t count = 1500;
  {
    PcapWriter out(file.path());
    for (size_t i = 0; i < count; ++i) out.write(i * 84'000, {data.data() + i, (i * 37) % 4200});
    CHECK(out.packets() == count);
  }
  PcapReader in(file.path());
  CHECK(in.nanoseconds());
  CHECK(in.link_type() == kLinkTypeEthernet);
  PcapPacket p;
  for (size_t i = 0; i < count; ++i) {
    REQUIRE(in.next(p));
    REQUIRE(p.number == i + 1);
    REQUIRE(p.time_ns == i * 84);
    REQUIRE(p.bytes.size() == (i * 37) % 4200);
    REQUIRE(std::equal(p.bytes.begin(), p.bytes.end(), data.begin() + static_cast<long>(i)));
  }
  CHECK_FALSE(in.next(p));
  in.rewind();
  REQUIRE(in.next(p));
  CHECK(p.number == 1);
}

TEST_CASE("a frame beyond the snap length is cut and keeps its true length") {
  TempFile file("rnic_pcap_snap");
  std::vector<uint8_t> frame(100, 7);
  {
    PcapWriter out(file.path(), 60);
    out.write(0, frame);
  }
  PcapReader in(file.path());
  PcapPacket p;
  REQUIRE(in.next(p));
  CHECK(p.bytes.size() == 60);
  CHECK(p.original_length == 100);
}

TEST_CASE("micro- and nanosecond files of both byte orders are read") {
  for (bool nano : {false, true}) {
    for (bool big : {false, true}) {
      PcapReader in(file_of(nano, big, 5, 3, 3), "memory");
      PcapPacket p;
      REQUIRE(in.next(p));
      CHECK(p.time_ns == 3'000'000'000u + (nano ? 5u : 5000u));
      CHECK(p.bytes.size() == 3);
      CHECK_FALSE(in.next(p));
    }
  }
}

TEST_CASE("damaged captures are refused with file and packet") {
  PcapPacket p;
  CHECK_THROWS_WITH(PcapReader("/nonexistent/x.pcap"),
                    contains_text("/nonexistent/x.pcap: cannot open"));
  CHECK_THROWS_WITH(PcapReader(std::vector<uint8_t>(10), "a"),
                    contains_text("a: 10 bytes, too short"));
  CHECK_THROWS_WITH(PcapReader(std::vector<uint8_t>(24), "a"),
                    contains_text("a: not a pcap file (magic 00000000)"));
  std::vector<uint8_t> ng = {0x0A, 0x0D, 0x0D, 0x0A};
  ng.resize(28);
  CHECK_THROWS_WITH(PcapReader(ng, "b"), contains_text("b: is pcapng"));
  PcapReader cut(file_of(true, false, 5, 10, 4), "c");
  CHECK_THROWS_WITH(cut.next(p), contains_text("c: packet 1: file ends after 4 of 10 bytes"));
  PcapReader huge(file_of(true, false, 5, 0x7FFFFFFF, 4), "d");
  CHECK_THROWS_WITH(huge.next(p), contains_text("d: packet 1: length 2147483647 exceeds"));
  PcapReader late(file_of(false, true, 1'000'000, 4, 4), "e");
  CHECK_THROWS_WITH(late.next(p), contains_text("e: packet 1: fraction of a second is 1000000"));
  auto torn = file_of(true, false, 5, 4, 4);
  torn.resize(torn.size() + 7, 0);
  PcapReader tail(torn, "f");
  REQUIRE(tail.next(p));
  CHECK_THROWS_WITH(tail.next(p), contains_text("f: packet 2: file ends within its header"));
}

TEST_CASE("a capture that cannot be created says why") {
  CHECK_THROWS_WITH(PcapWriter("/nonexistent/x.pcap"),
                    contains_text("/nonexistent/x.pcap: cannot create: No such file"));
}

TEST_CASE("a full disk is reported at close") {
  if (!std::filesystem::exists("/dev/full")) return;
  PcapWriter out("/dev/full");
  out.write(0, std::vector<uint8_t>(100));
  CHECK_THROWS_WITH(out.close(), contains_text("/dev/full: packet 1: write failed"));
}
