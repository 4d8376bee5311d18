// SPDX-License-Identifier: Apache-2.0
//
// The register file of the RNIC: published offsets and reset values, a scan of the whole map
// against the YAML (read here by itself, not by the generator), windows and ports.
#include <Vrnic_csr.h>
#include <yaml-cpp/yaml.h>

#include <map>

#include "axi_lite.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

struct Csr {
  Bench<Vrnic_csr> bench;
  AxiLite<Vrnic_csr> axi{bench};
  Csr() {
    bench->mbox_in_ack_i = bench->mbox_out_ack_i = bench->msix_table_ack_i = bench->msix_pba_ack_i =
        0;
    bench->counters_ack_i = bench->trace_ring_ack_i = bench->cq_cons_ack_i = 0;
    bench.reset();
  }
  uint64_t read64(uint32_t at) {
    const uint64_t lo = axi.read(at).data;
    return lo | static_cast<uint64_t>(axi.read(at + 4).data) << 32;
  }
};

// Per word of BAR2: which bits are there, and which of them software can write and read back.
struct Word {
  uint32_t plain_rw = 0;
  uint32_t reset = 0;
  uint32_t known = 0;  // bits whose value after reset is known
  bool writable = false;
};

uint64_t value_of(const YAML::Node& map, const std::string& text) {
  if (text == "version_major") return map["version"]["major"].as<uint64_t>();
  if (text == "version_minor") return map["version"]["minor"].as<uint64_t>();
  if (text == "version_patch") return map["version"]["patch"].as<uint64_t>();
  if (map["constants"][text])
    return std::stoull(map["constants"][text]["value"].Scalar(), nullptr, 0);
  return std::stoull(text, nullptr, 0);
}

std::map<uint32_t, Word> words_of_yaml() {
  const auto map = YAML::LoadFile(RNIC_SOURCE_DIR "/regs/rnic.yaml");
  std::map<uint32_t, Word> words;
  for (const auto& block : map["blocks"]) {
    if (block["name"].Scalar() != "csr") continue;
    for (const auto& reg : block["registers"]) {
      const auto at = static_cast<uint32_t>(value_of(map, reg["offset"].Scalar()));
      const auto count = reg["count"] ? value_of(map, reg["count"].Scalar()) : 1;
      const auto stride = reg["stride"] ? value_of(map, reg["stride"].Scalar()) : 0;
      const bool wide = reg["width"] && reg["width"].as<int>() == 64;
      for (uint64_t i = 0; i < count; ++i) {
        const auto base = static_cast<uint32_t>(at + i * stride);
        uint64_t rw = 0, reset = 0, known = ~0ULL;
        bool writable = false;
        for (const auto& f : reg["fields"]) {
          const auto bits = f["bits"].Scalar();
          const auto colon = bits.find(':');
          const unsigned hi = static_cast<unsigned>(std::stoul(bits));
          const unsigned lo = colon == std::string::npos
                                  ? hi
                                  : static_cast<unsigned>(std::stoul(bits.substr(colon + 1)));
          const uint64_t mask = (hi - lo == 63 ? ~0ULL : (1ULL << (hi - lo + 1)) - 1) << lo;
          const auto access = f["access"].Scalar();
          const auto hw = f["hw"] ? f["hw"].Scalar() : "";
          writable |= access != "ro";
          if (access == "rw" && hw.empty()) rw |= mask;
          if (f["reset"]) reset |= value_of(map, f["reset"].Scalar()) << lo;
          if (f["const"] && f["const"].Scalar() != "map_hash")
            reset |= value_of(map, f["const"].Scalar()) << lo;
          if (hw == "in" || hw == "inout" || (f["const"] && f["const"].Scalar() == "map_hash"))
            known &= ~mask;
        }
        for (unsigned w = 0; w < (wide ? 2U : 1U); ++w) {
          words[base + 4 * w] = {static_cast<uint32_t>(rw >> (32 * w)),
                                 static_cast<uint32_t>(reset >> (32 * w)),
                                 static_cast<uint32_t>(known >> (32 * w)), writable};
        }
      }
    }
  }
  return words;
}

}  // namespace

TEST_CASE("registers that users know have their published offsets and reset values") {
  Csr c;
  CHECK(c.read64(0x0000) == 0);               // QP_CTX_BASE
  CHECK(c.axi.read(0x0030).data == 0x20);     // DMA_PACING_CTRL
  CHECK(c.axi.read(0x0040).data == 0);        // GDR_BAR_EN
  CHECK(c.axi.read(0x0050).data == 0xFFFF);   // MRC_PATH_MASK
  CHECK(c.axi.read(0x1000).data == 0x1);      // CC_GLOBAL_CTRL
  CHECK(c.axi.read(0x1004).data == 0xFFFFF);  // QP_RATE_LIMIT
  CHECK(c.axi.read(0x0100).data == 0x524E4943);
}

TEST_CASE("every word of the first 16 KB is what the map says, or a hole") {
  Csr c;
  const auto words = words_of_yaml();
  REQUIRE(words.size() > 50);
  for (uint32_t at = 0; at < 0x4000; at += 4) {
    const auto got = c.axi.read(at).data;
    const auto it = words.find(at);
    CAPTURE(at, got);
    if (it == words.end()) {
      if (got != 0xFFFFFFFF) FAIL("a hole answered");
    } else if (at != 0x500 && (got & it->second.known) != (it->second.reset & it->second.known)) {
      FAIL("not the reset value: expected " << it->second.reset);
    }
  }
  CHECK(c.axi.read(0x500).data == (0x80000000 | 0x8));  // BAD_ACCESS: the first hole of this scan
  // Written words read back in their plain bits; all others keep their reset value.
  auto random = rng("values");
  std::map<uint32_t, uint32_t> wrote;
  for (const auto& [at, w] : words) {
    if (w.plain_rw == 0) continue;
    wrote[at] = random.u32();
    CHECK(c.axi.write(at, wrote[at]) == 0);
  }
  for (const auto& [at, w] : words) {
    const auto got = c.axi.read(at).data;
    CAPTURE(at, got);
    if (w.plain_rw != 0) CHECK((got & w.plain_rw) == (wrote[at] & w.plain_rw));
  }
}

TEST_CASE("every register of the map is reached under full address decode") {
  Csr c;
  const auto words = words_of_yaml();
  uint64_t bad = 0;
  c.bench.on_sample([&] { bad += c.bench->bad_access_pulse_o; });
  uint64_t expected = 0;
  for (const auto& [at, w] : words) {
    for (unsigned bit = 14; bit < 22; ++bit) {
      const uint32_t alias = at | 1U << bit;
      const bool window =
          (alias >= 0x4000 && alias < 0x4100) || (alias >= 0x8000 && alias < 0x8400) ||
          (alias >= 0x9000 && alias < 0x9010) || (alias >= 0x10000 && alias < 0x11000) ||
          (alias >= 0x20000 && alias < 0x20020) || (alias >= 0x40000 && alias < 0x48000);
      if (window) continue;
      ++expected;
      if (c.axi.read(alias).data != 0xFFFFFFFF) FAIL("alias " << std::hex << alias << " of " << at);
    }
  }
  c.bench.tick(2);
  CHECK(bad == expected);
}

TEST_CASE("rnic_csr windows hand over byte offset, data and strobes") {
  Csr c;
  c.bench->mbox_in_ack_i = 1;
  uint32_t addr = 0, data = 0, strb = 0, we = 0, requests = 0;
  c.bench.on_sample([&] {
    if (c.bench->mbox_in_req_o == 0) return;
    ++requests;
    addr = c.bench->mbox_in_addr_o;
    data = c.bench->mbox_in_wdata_o;
    strb = c.bench->mbox_in_wstrb_o;
    we = c.bench->mbox_in_we_o;
  });
  c.axi.write(0x407C, 0xA5A5F00F, 0x6);
  CHECK(requests == 1);
  CHECK(addr == 0x7C);
  CHECK(data == 0xA5A5F00F);
  CHECK(strb == 0x6);
  CHECK(we == 1);
  c.bench->cq_cons_ack_i = 1;
  c.bench->cq_cons_rdata_i = 0x1234;
  CHECK(c.axi.read(0x47FFC).data == 0x1234);
  c.bench->counters_ack_i = 1;
  c.bench->counters_rdata_i = 0x99;
  CHECK(c.axi.read(0x10FF8).data == 0x99);
  CHECK(c.axi.write(0x10FF8, 1) == 0);  // read-only: refused, counted
  CHECK(c.axi.read(0x0500).data == (0xC0000000 | 0x10FF8));
}

TEST_CASE("rnic_csr ports carry what software wrote") {
  Csr c;
  c.axi.write(0x0330, 0x89ABCDEF);  // GPU_BASE[3]
  c.axi.write(0x0334, 0x01234567);
  c.axi.write(0x0318, 0x55555555);  // GPU_LIMIT[1]
  c.axi.write(0x031C, 0x66666666);
  CHECK(c.bench->gpu_base_addr_o[6] == 0x89ABCDEF);
  CHECK(c.bench->gpu_base_addr_o[7] == 0x01234567);
  CHECK(c.bench->gpu_limit_addr_o[2] == 0x55555555);
  CHECK(c.bench->gpu_limit_addr_o[3] == 0x66666666);
  CHECK(c.bench->gpu_base_addr_o[0] == 0);
  CHECK(c.bench->port_mac_addr_o == 0x020000000001);
  CHECK(c.bench->devmem_base_addr_o == 0xFFFFFFFFFF000000);
  uint64_t go = 0;
  c.bench.on_sample([&] { go += c.bench->cmd_ctrl_go_o; });
  c.axi.write(0x0200, 1);
  c.bench.tick(4);
  CHECK(go == 1);
  c.bench->cmd_status_busy_i = 1;
  c.bench->cmd_status_status_i = 0x7;
  c.bench->cmd_status_token_i = 0xBEEF;
  CHECK(c.axi.read(0x0204).data == 0xBEEF0701);
}
