// SPDX-License-Identifier: Apache-2.0
//
// The views: committed files are up to date, the headers compile everywhere, C and C++ agree, the
// hash means something.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "c_roundtrip.h"
#include "model.hpp"
#include "outputs.hpp"
#include "rnic_regs.h"
#include "rnic_regs.hpp"
#include "tests/regs/compile.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::regs;
namespace hw = rnic::hw;
namespace fs = std::filesystem;
using rnic::test::compile;
using rnic::test::read_text;

namespace {

const char* const kGen = RNIC_SOURCE_DIR "/regs/gen";

Map rnic_map() {
  Diagnostics diags("rnic.yaml");
  auto map = load_map_file(RNIC_SOURCE_DIR "/regs/rnic.yaml", diags);
  INFO(diags.text());
  REQUIRE(map.has_value());
  return *map;
}

std::uint32_t hash_of(const std::string& text) {
  Diagnostics diags("m.yaml");
  const auto map = load_map_text(text, diags);
  INFO(diags.text());
  REQUIRE(map.has_value());
  return map->hash;
}

struct FakeBus {
  std::uint32_t value = 0x121;
  std::uint32_t read32(std::uint64_t at) {
    CHECK(at == 0x280);
    return value;
  }
  void write32(std::uint64_t at, std::uint32_t v) {
    CHECK(at == 0x280);
    value = v;
  }
};

}  // namespace

TEST_CASE("the committed files are what the generator writes") {
  for (const auto& f : make_outputs(rnic_map())) {
    const fs::path dir = f.dir == OutDir::kRtl ? RNIC_SOURCE_DIR "/rtl/gen" : kGen;
    CAPTURE(f.name);
    CHECK((read_text(dir / f.name) == f.text));
  }
}

TEST_CASE("version and hash of the map are in every output") {
  const auto path = RNIC_SOURCE_DIR "/tests/regs_rtl/all_map.yaml";
  Diagnostics diags(path);
  const auto map = load_map_file(path, diags);
  REQUIRE(map.has_value());
  std::vector<std::string> names;
  for (const auto& o : all_outputs()) names.emplace_back(o.name);
  const auto version = fmt::format("{}.{}.{}", map->major, map->minor, map->patch);
  std::size_t n = 0;
  for (const auto& f : make_outputs(*map, names)) {
    if (f.name.rfind("reg_", 0) == 0) continue;  // what is the same for every map
    CAPTURE(f.name);
    CHECK_THAT(f.text, rnic::test::contains_text(fmt::format("{:08x}", map->hash)));
    CHECK_THAT(f.text, rnic::test::contains_text(version));
    ++n;
  }
  CHECK(n >= names.size());
}

TEST_CASE("the document explains every access type that the map uses") {
  const auto path = RNIC_SOURCE_DIR "/tests/regs_rtl/all_map.yaml";
  Diagnostics diags(path);
  const auto map = load_map_file(path, diags);
  REQUIRE(map.has_value());
  const auto files = make_outputs(*map, {"md"});
  REQUIRE(files.size() == 1);
  const auto legend = files[0].text.substr(0, files[0].text.find("\n## "));
  for (const auto& info : all_access()) {
    CAPTURE(info.name);
    CHECK(legend.find(fmt::format("`{}` ", info.name)) != std::string::npos);
  }
}

TEST_CASE("the C header compiles alone as C99, C11, C++17 and C++20 with warnings as errors") {
  CHECK(compile(RNIC_TEST_CC, "-std=c99", kGen, "rnic_regs.h") == "");
  CHECK(compile(RNIC_TEST_CC, "-std=c11", kGen, "rnic_regs.h") == "");
  CHECK(compile(RNIC_TEST_CXX, "-std=c++17", kGen, "rnic_regs.h") == "");
  CHECK(compile(RNIC_TEST_CXX, "-std=c++20 -Wconversion", kGen, "rnic_regs.h") == "");
}

TEST_CASE("the C++ header compiles alone with warnings as errors") {
  CHECK(compile(RNIC_TEST_CXX, "-std=c++20 -Wshadow -Wconversion", kGen, "rnic_regs.hpp") == "");
}

TEST_CASE("a C99 program sets and reads descriptor fields and masks") {
  CHECK(regs_c_roundtrip() == 0);
}

TEST_CASE("the hash follows names, places, access and values, not words") {
  const std::string head =
      "name: m\nversion: {major: 0, minor: 0, patch: 1}\nblocks:\n  - name: b\n    size: 0x100\n"
      "    registers:\n      - {name: A, offset: ";
  const auto base =
      hash_of(head + "0, fields: [{name: f, bits: \"3:0\", access: rw, reset: 1}]}\n");
  CHECK(
      base ==
      hash_of(
          head +
          "0, desc: words, fields: [{name: f, bits: \"3:0\", access: rw, reset: 1, unit: us}]}\n"));
  CHECK(base != hash_of(head + "4, fields: [{name: f, bits: \"3:0\", access: rw, reset: 1}]}\n"));
  CHECK(base != hash_of(head + "0, fields: [{name: g, bits: \"3:0\", access: rw, reset: 1}]}\n"));
  CHECK(base != hash_of(head + "0, fields: [{name: f, bits: \"4:0\", access: rw, reset: 1}]}\n"));
  CHECK(base != hash_of(head + "0, fields: [{name: f, bits: \"3:0\", access: rw, reset: 2}]}\n"));
  CHECK(base != hash_of(head + "0, fields: [{name: f, bits: \"3:0\", access: wt, reset: 1}]}\n"));
  CHECK(rnic_map().hash == RNIC_MAP_HASH);
  CHECK(hw::kMapHash == RNIC_MAP_HASH);
}

TEST_CASE("random values go through C and C++ accessors alike, and disturb no other bit") {
  auto random = rnic::test::rng("values");
  for (int round = 0; round < 200; ++round) {
    const auto bytes = random.bytes(64);
    std::array<std::uint8_t, 64> c{}, cpp{};
    std::copy(bytes.begin(), bytes.end(), c.begin());
    cpp = c;
    hw::WqeRef ref(cpp.data());
    const auto len = static_cast<std::uint32_t>(random.bits(12));
    const auto va = random.u64();
    rnic_wqe_set_inline_len(c.data(), len);
    rnic_wqe_set_remote_va(c.data(), va);
    rnic_wqe_set_fence(c.data(), len & 1);
    ref.set_inline_len(len).set_remote_va(va).set_fence((len & 1) != 0);
    CHECK(c == cpp);
    const hw::WqeView view(c.data());
    CHECK(view.inline_len() == len);
    CHECK(view.remote_va() == va);
    for (std::size_t i = 0; i < 64; ++i) {
      const bool touched = (i >= 9 && i <= 11) || (i >= 16 && i <= 23);
      if (!touched && c[i] != bytes[i]) FAIL("byte " << i << " changed");
    }
    CHECK((c[9] & ~4) == (bytes[9] & ~4));
    CHECK((c[11] & 0xF0) == (bytes[11] & 0xF0));
  }
}

TEST_CASE("typed registers: fields, resets, safe read-modify-write") {
  hw::csr::DmaCfg cfg;
  cfg.raw = hw::csr::DmaCfg::kResetValue;
  CHECK(cfg.mps() == 1);
  CHECK(cfg.mrrs() == 2);
  CHECK(cfg.relaxed());
  FakeBus bus;
  hw::modify<hw::csr::DmaCfg>(bus, [](auto& r) { r.set_mrrs(5).set_relaxed(false); });
  CHECK(bus.value == 0x51);
  STATIC_REQUIRE(hw::csr::DmaCfg::kRmwSafe);
  STATIC_REQUIRE(!hw::csr::BadAccess::kRmwSafe);   // w1c
  STATIC_REQUIRE(!hw::csr::TraceCtrl::kRmwSafe);   // pulse
  STATIC_REQUIRE(!hw::csr::TraceClk::kRmwSafe);    // live
  STATIC_REQUIRE(!hw::page::TxWqeProd::kRmwSafe);  // doorbell
  STATIC_REQUIRE(hw::csr::GpuBase::offset(2) == 0x320);
  STATIC_REQUIRE(hw::kCounterNames[static_cast<std::size_t>(hw::Counter::kCqOverrun)] ==
                 "cq_overrun");
  STATIC_REQUIRE(hw::to_string(hw::CqeStatus::kRnrRetryExcErr) == "RNR_RETRY_EXC_ERR");
  STATIC_REQUIRE(hw::cqe_status_name(0x77).empty());
}

TEST_CASE(
    "the SystemVerilog register file of the map has no port for constants and its own capture") {
  const auto map = rnic_map();
  for (const auto& b : map.blocks) {
    if (!b.generated) continue;
    const auto sv = emit_sv_block(map, b);
    CHECK(sv.find("id_magic_value_i") == std::string::npos);
    CHECK(sv.find("bad_access_addr_i") == std::string::npos);
    CHECK(sv.find("gdr_window_req_o") == std::string::npos);
    CHECK(sv.find("32'h524e4943") != std::string::npos);
  }
}
