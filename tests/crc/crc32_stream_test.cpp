// SPDX-License-Identifier: Apache-2.0
#include <Vcrc32_w1024.h>
#include <Vcrc32_w128.h>
#include <Vcrc32_w128_parity.h>
#include <Vcrc32_w256_raw.h>
#include <Vcrc32_w512.h>

#include <cstdio>
#include <deque>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

// CRC-32 from its definition: bit by bit, reflected.
uint32_t crc_register(uint32_t reg, const std::vector<uint8_t>& bytes) {
  for (const uint8_t byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const uint32_t in = ((reg ^ (byte >> bit)) & 1u);
      reg >>= 1;
      if (in != 0) reg ^= 0xEDB88320u;
    }
  }
  return reg;
}

struct Packet {
  std::vector<uint8_t> bytes;
  uint32_t init;
};

// Feeds packets beat by beat; gaps and holds with the given chances. Collects results.
template <class Top>
class CrcBench : public Bench<Top> {
 public:
  struct Result {
    uint32_t reg;
    unsigned zeros;
    uint64_t cycle;
  };

  CrcBench() {
    auto& top = this->top();
    top.en_i = 1;
    top.valid_i = 0;
    this->on_sample([this, &top] {
      if (top.en_i == 0) return;
      if (top.crc_valid_o != 0) {
        results.push_back({top.crc_reg_o, top.crc_zeros_o, this->cycle()});
      }
      if (top.valid_i != 0 && top.last_i != 0) last_taken.push_back(this->cycle());
    });
  }

  static constexpr size_t kBytes = sizeof(Top::data_i);

  void run(const std::vector<Packet>& packets, double gap, double hold) {
    auto& top = this->top();
    auto random = rng("bench");
    for (const Packet& packet : packets) {
      for (size_t at = 0; at < packet.bytes.size();) {
        top.en_i = !random.chance(hold);
        if (random.chance(gap)) {
          top.valid_i = 0;
          write_pin(top.data_i, Bits::random(random, kBytes * 8));
          this->tick();
          continue;
        }
        const size_t count = std::min(kBytes, packet.bytes.size() - at);
        top.valid_i = 1;
        top.first_i = at == 0;
        top.last_i = at + count == packet.bytes.size();
        top.cnt_i = static_cast<uint8_t>(count);
        top.init_i = at == 0 ? packet.init : static_cast<uint32_t>(random.bits(32));
        write_pin(top.data_i, Bits::from_bytes({packet.bytes.data() + at, count}, kBytes * 8));
        const bool taken = top.en_i != 0;
        this->tick();
        if (taken) at += count;
      }
    }
    top.valid_i = 0;
    top.en_i = 1;
    this->tick(8);
  }

  std::vector<Result> results;
  std::vector<uint64_t> last_taken;
};

template <class Top>
std::vector<Packet> random_packets(size_t count) {
  auto random = rng("packets");
  constexpr size_t kBytes = CrcBench<Top>::kBytes;
  std::vector<Packet> packets;
  for (size_t i = 0; i < count; ++i) {
    // Every tail 1..B comes up, then random lengths.
    const size_t length = i < 2 * kBytes ? i + 1 : random.between(1, 5 * kBytes);
    Packet packet{{}, static_cast<uint32_t>(random.bits(32))};
    for (size_t n = 0; n < length; ++n) {
      packet.bytes.push_back(static_cast<uint8_t>(random.bits(8)));
    }
    packets.push_back(packet);
  }
  return packets;
}

template <class Top>
void compare(const std::vector<Packet>& packets, const CrcBench<Top>& bench, bool undone) {
  constexpr size_t kBytes = CrcBench<Top>::kBytes;
  REQUIRE(bench.results.size() == packets.size());
  for (size_t i = 0; i < packets.size(); ++i) {
    std::vector<uint8_t> bytes = packets[i].bytes;
    const size_t zeros = (kBytes - bytes.size() % kBytes) % kBytes;
    if (!undone) bytes.insert(bytes.end(), zeros, 0);
    INFO("packet " << i << " of " << packets[i].bytes.size() << " bytes");
    CHECK(bench.results[i].reg == crc_register(packets[i].init, bytes));
    CHECK(bench.results[i].zeros == zeros);
  }
}

template <class Top>
void check_width(unsigned undo_stages) {
  const auto packets = random_packets<Top>(3 * CrcBench<Top>::kBytes);
  {
    CrcBench<Top> bench;
    bench.reset();
    bench.run(packets, 0, 0);
    compare(packets, bench, undo_stages > 0);
    for (size_t i = 0; i < packets.size(); ++i) {
      REQUIRE(bench.results[i].cycle - bench.last_taken[i] == 3 + undo_stages);
    }
  }
  CrcBench<Top> bench;
  bench.reset();
  bench.run(packets, 0.3, 0.4);
  compare(packets, bench, undo_stages > 0);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Word k of a constant of the package.
std::vector<uint32_t> package_words(const std::string& name) {
  const std::string text = read_file(RNIC_SOURCE_DIR "/rtl/gen/crc32_pkg.sv");
  const size_t start = text.find(" " + name + " = {");
  REQUIRE(start != std::string::npos);
  std::string digits;
  const size_t end = text.find("};", start);
  for (size_t at = text.find("256'h", start); at < end; at = text.find("256'h", at + 1)) {
    digits += text.substr(at + 5, 64);
  }
  std::vector<uint32_t> words;
  for (size_t at = digits.size(); at >= 8; at -= 8) {
    words.push_back(static_cast<uint32_t>(std::stoul(digits.substr(at - 8, 8), nullptr, 16)));
  }
  return words;
}

}  // namespace

TEST_CASE("crc32_stream equals the bit-serial CRC for every tail at 128 bits") {
  check_width<Vcrc32_w128>(1);
}

TEST_CASE("crc32_stream as parities equals the bit-serial CRC for every tail") {
  check_width<Vcrc32_w128_parity>(2);
}

TEST_CASE("crc32_stream without undo leaves the register after the zero bytes") {
  check_width<Vcrc32_w256_raw>(0);
}

TEST_CASE("crc32_stream equals the bit-serial CRC for every tail at 512 bits") {
  check_width<Vcrc32_w512>(1);
}

TEST_CASE("crc32_stream equals the bit-serial CRC for every tail at 1024 bits") {
  check_width<Vcrc32_w1024>(2);
}

TEST_CASE("crc32_stream takes a packet of one beat every cycle") {
  CrcBench<Vcrc32_w128> bench;
  bench.reset();
  std::vector<Packet> packets(100, Packet{{1, 2, 3}, 0xFFFFFFFFu});
  for (size_t i = 0; i < packets.size(); ++i) packets[i].bytes[0] = static_cast<uint8_t>(i);
  bench.run(packets, 0, 0);
  compare(packets, bench, true);
  CHECK(bench.results.back().cycle - bench.results.front().cycle == 99);
}

TEST_CASE("crc32_stream forgets a packet cut by reset") {
  CrcBench<Vcrc32_w128> bench;
  bench.reset();
  auto& top = bench.top();
  write_pin(top.data_i, Bits(128, 77));
  top.cnt_i = 16;
  top.valid_i = 1;
  top.first_i = 1;
  top.last_i = 1;
  bench.tick();
  top.valid_i = 0;
  bench.tick();
  bench.reset();
  bench.tick(10);
  CHECK(bench.results.empty());
  const std::vector<Packet> packets = {{{9, 8, 7}, 0x12345678u}};
  bench.run(packets, 0, 0);
  compare(packets, bench, true);
}

TEST_CASE("the iCRC start value follows from eight bytes of ones and from every skip constant") {
  CHECK(crc_register(0xFFFFFFFFu, std::vector<uint8_t>(8, 0xFF)) == 0xDEBB20E3u);
  const auto skip = package_words("ICRC_INIT_SKIP");
  REQUIRE(skip.size() == 128);
  for (size_t k = 0; k < skip.size(); ++k) {
    CHECK(crc_register(skip[k], std::vector<uint8_t>(k, 0)) == 0xDEBB20E3u);
  }
}

TEST_CASE("a packet with its CRC and k zero bytes behind it leaves residue constant k") {
  const auto residue = package_words("RESIDUE_ZEROS");
  REQUIRE(residue.size() == 128);
  std::vector<uint8_t> bytes = {0x45, 0xFF, 0x00, 0x34, 0xDE, 0xAD};
  const uint32_t crc = ~crc_register(0xDEBB20E3u, bytes);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(crc >> (8 * i)));
  for (size_t k = 0; k < residue.size(); ++k) {
    CHECK(crc_register(0xDEBB20E3u, bytes) == residue[k]);
    bytes.push_back(0);
  }
}

TEST_CASE("crc32_pkg.sv is what crc32_gen writes") {
  FILE* pipe = popen(CRC32_GEN, "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  REQUIRE(pclose(pipe) == 0);
  CHECK(text == read_file(RNIC_SOURCE_DIR "/rtl/gen/crc32_pkg.sv"));
}
