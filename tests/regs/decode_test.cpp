// SPDX-License-Identifier: Apache-2.0
#include "decode.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::regs;

namespace {

Map rnic_map() {
  Diagnostics diags("rnic.yaml");
  auto map = load_map_file(RNIC_SOURCE_DIR "/regs/rnic.yaml", diags);
  REQUIRE(map.has_value());
  return *map;
}

}  // namespace

TEST_CASE("a register dump is printed with names, fields and enumerations") {
  const auto map = rnic_map();
  const auto text = decode_registers(map, *find_block(map, "csr"),
                                     "# after the failed command\n"
                                     "0x204: 0xBEEF0300\n"
                                     "0x280 = 0x121   # DMA\n"
                                     "0x394, 0x5566\n"
                                     "0x390 0x11223344\n"
                                     "0x334: 7\n"
                                     "0x18: 1\n"
                                     "0x10004: 1\n"
                                     "0x10000: 7\n"
                                     "0x4004: 9\n");
  CHECK(text ==
        "0x00000018 (hole) = 0x00000001\n"
        "0x00000204 CMD_STATUS = 0xbeef0300  busy=0 status=BAD_STATE(0x3) token=0xbeef\n"
        "0x00000280 DMA_CFG = 0x00000121  mps=1 mrrs=2 relaxed=1\n"
        "0x00000334 GPU_BASE[3] high word = 0x00000007\n"
        "0x00000390 PORT_MAC = 0x0000556611223344  addr=0x556611223344\n"
        "0x00004004 MBOX_IN+0x4 = 0x00000009\n"
        "0x00010000 rx_frames = 4294967303\n");
}

TEST_CASE("a dump that cannot be read names its line") {
  const auto map = rnic_map();
  const auto& csr = *find_block(map, "csr");
  CHECK_THROWS_WITH(decode_registers(map, csr, "0x0: 1\nrubbish\n"),
                    rnic::test::contains_text("line 2: expected"));
  CHECK_THROWS_WITH(decode_registers(map, csr, "0x1: 1\n"),
                    rnic::test::contains_text("line 1: an offset is a multiple of 4"));
  CHECK_THROWS_WITH(decode_registers(map, csr, "0x4: 12z\n"),
                    rnic::test::contains_text("line 1: '12z' is not a number"));
  CHECK_THROWS_WITH(
      decode_registers(map, csr, "0x204: 1\n\n0x200: 1\n0x204: 2\n"),
      rnic::test::contains_text("line 4: 0x204 is in line 1 too: decode one dump at a time"));
}

TEST_CASE("a dump of a device that has another map says so") {
  const auto map = rnic_map();
  const auto& csr = *find_block(map, "csr");
  const auto& all = csr.registers;
  const auto at = std::find_if(all.begin(), all.end(),
                               [](const Register& r) { return r.name == "ID_MAP_HASH"; });
  REQUIRE(at != all.end());
  const auto show = [&](std::uint32_t v) {
    return decode_registers(map, csr, fmt::format("{:#x}: {:#x}\n", at->offset, v));
  };
  const auto line = fmt::format("{:#010x} ID_MAP_HASH = {:#010x}  value=", at->offset, map.hash);
  CHECK(show(map.hash) == fmt::format("{}{:#x}\n", line, map.hash));
  CHECK_THAT(show(map.hash ^ 1),
             rnic::test::contains_text(fmt::format("(of this map: {:#x})\n", map.hash)));
}

TEST_CASE("raw descriptors are printed field by field") {
  const auto map = rnic_map();
  const auto bytes =
      parse_hex_bytes("0d 15 0700 563412 00  # head\n" + std::string(46, '0') + "01");
  REQUIRE(bytes.size() == 32);
  const auto text = decode_descriptor(map, *find_descriptor(map, "cqe"), bytes);
  CHECK_THAT(text, rnic::test::contains_text(
                       "cqe [0]\n  opcode = REQ_ERR(0xd)\n  status = RETRY_EXC_ERR(0x15)\n"
                       "  wqe_index = 0x7\n  qpn = 0x123456\n"));
  CHECK_THAT(text, rnic::test::contains_text("  owner = 1\n"));
  CHECK_THROWS_WITH(decode_descriptor(map, *find_descriptor(map, "wqe"), bytes),
                    rnic::test::contains_text("32 bytes are not a whole number of wqe"));
  CHECK_THROWS_WITH(parse_hex_bytes("0g"), rnic::test::contains_text("not hexadecimal"));
  CHECK_THROWS_WITH(parse_hex_bytes("00\n123"), rnic::test::contains_text("line 2: half a byte"));
}

TEST_CASE("decode names elements of register files, shows what is read, and the variant in use") {
  Diagnostics diags("m.yaml");
  const auto map = load_map_text(
      "name: m\nversion: {major: 0, minor: 0, patch: 1}\n"
      "enums: {op: {values: {NOP: 0, COPY: 1}}}\n"
      "blocks:\n  - name: b\n    size: 0x100\n    registers:\n"
      "      - {name: STATUS, offset: 0, fields: [{name: v, bits: \"7:0\", access: ro, hw: in}]}\n"
      "      - {name: COMMAND, offset: 0, fields: [{name: c, bits: \"7:0\", access: wo}]}\n"
      "      - name: CH\n        offset: 0x40\n        count: 2\n        stride: 0x20\n"
      "        registers:\n"
      "          - {name: Q, offset: 0x10, count: 2, fields: [{name: on, bits: \"0\", access: "
      "rw}]}\n"
      "descriptors:\n  - name: d\n    size: 4\n"
      "    fields: [{name: op, at: 0, width: 8, enum: op}]\n"
      "    unions: [{by: op, variants: [{name: copy, when: COPY, fields: [{name: n, at: 2, width: "
      "16}]}]}]\n",
      diags);
  INFO(diags.text());
  REQUIRE(map.has_value());
  CHECK(decode_registers(*map, map->blocks[0], "0x74: 1\n0: 5\n") ==
        "0x00000000 STATUS = 0x00000005  v=0x5\n"
        "0x00000074 CH_Q[1][1] = 0x00000001  on=1\n");
  const std::vector<std::uint8_t> bytes = {0, 0, 7, 0, 1, 0, 7, 0};
  CHECK(decode_descriptor(*map, map->descriptors[0], bytes) ==
        "d [0]\n  op = NOP(0x0)\nd [1]\n  op = COPY(0x1)\n  n = 0x7\n");
}
