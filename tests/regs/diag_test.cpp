// SPDX-License-Identifier: Apache-2.0
//
// Bad maps: each with the exact line, column, rule and text that the user sees.
#include "tests/support/catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "model.hpp"

using namespace rnic::regs;

namespace {

const std::string kHead = "name: m\nversion: {major: 0, minor: 0, patch: 1}\n";

std::string errors_of(const std::string& text) {
  Diagnostics diags("m.yaml");
  const auto map = load_map_text(text, diags);
  CHECK(map.has_value() == !diags.has_errors());
  return diags.text();
}

// A map with these registers; the first of them is line 7.
std::string regs(const std::string& lines) {
  return kHead + "blocks:\n  - name: b\n    size: 0x100\n    registers:\n" + lines;
}
// A map with this descriptor field list; the first field is line 6.
std::string desc(const std::string& lines) {
  return kHead + "descriptors:\n  - {name: d, size: 8, fields: [\n      " + lines + "]}\n";
}

const std::string kField = "fields: [{name: f, bits: \"3:0\", access: rw}]";

}  // namespace

TEST_CASE("a good map has no diagnostics") {
  CHECK(errors_of(regs("      - {name: A, offset: 0, " + kField + "}\n")) == "");
}

TEST_CASE("every error names file, line, column, rule and what to write instead") {
  struct Bad {
    std::string text;
    std::string want;
  };
  const std::vector<Bad> list = {
      {"name: m\n", "m.yaml:1:1: error: key 'version' is missing in the map [missing-key]\n"},
      {kHead + "regsters: []\n",
       "m.yaml:3:1: error: unknown key 'regsters' in the map; known: name, version, description, "
       "include, parameters, constants, enums, blocks, counters, descriptors [unknown-key]\n"},
      {kHead + "enum: {}\n",
       "m.yaml:3:1: error: unknown key 'enum' in the map; did you mean 'enums'? [unknown-key]\n"},
      {kHead + "counters: []\ncounters: []\n",
       "m.yaml:4:1: error: key 'counters' is given twice in the map [duplicate-key]\n"},
      {"name: 9m\nversion: {major: 0, minor: 0, patch: 1}\n",
       "m.yaml:1:7: error: '9m' is not a good name: lower-case letters, digits and single inner "
       "'_' "
       "[name]\n"},
      {"name: m\nversion: {major: 256, minor: 0, patch: 1}\n",
       "m.yaml:2:18: error: version major is at most 255 [range]\n"},
      {"name: [\n", "m.yaml:2:1: error: end of sequence flow not found [syntax]\n"},
      {kHead + "constants:\n  A: 1\n  A: 2\n",
       "m.yaml:5:3: error: constant 'A' is already defined in line 4 [duplicate-name]\n"},
      {kHead + "constants: {A: 1 + B}\n",
       "m.yaml:3:16: error: 'A': unknown constant 'B' [expression]\n"},
      {kHead + "constants: {A: 010}\n",
       "m.yaml:3:16: error: 'A': '010': a leading 0 is not allowed (0x for hexadecimal) "
       "[expression]\n"},
      {kHead + "constants: {A: 4 / (2 - 2)}\n",
       "m.yaml:3:16: error: 'A': division by zero in '4 / (2 - 2)' [expression]\n"},
      {kHead + "constants: {A: 0x1FFFFFFFFFFFFFFFF}\n",
       "m.yaml:3:16: error: 'A': '0x1FFFFFFFFFFFFFFFF' does not fit in 64 bits [expression]\n"},
      {kHead + "enums: {e: {values: {A: 1, B: 1}}}\n",
       "m.yaml:3:28: error: A and B have the same value 1 [enum-value]\n"},
      {kHead + "enums: {e: {width: 2, values: {A: 4}}}\n",
       "m.yaml:3:32: error: A = 4 is too wide: at most 2 bits [enum-width]\n"},
      {regs("      - {name: A, offset: 0, " + kField + "}\n      - {name: B, offset: 0, " + kField +
            "}\n"),
       "m.yaml:8:9: error: B at 0x0 overlaps A at 0x0 (line 7) [overlap]\n"},
      {regs("      - {name: A, offset: 0, count: 4, stride: 8, " + kField +
            "}\n      - {name: B, offset: 0x10, " + kField + "}\n"),
       "m.yaml:8:9: error: B at 0x10 overlaps A at 0x10 (line 7) [overlap]\n"},
      {regs("      - {name: A, offset: 0x7C, width: 64, " + kField + "}\n"),
       "m.yaml:7:27: error: offset 0x7c of A is not a multiple of 8 [alignment]\n"},
      {regs("      - {name: A, offset: 0xFC, count: 2, " + kField + "}\n"),
       "m.yaml:7:9: error: A ends at 0x104, behind block b of 0x100 bytes [range]\n"},
      {regs("      - {name: A, offset: 0, width: 16, " + kField + "}\n"),
       "m.yaml:7:37: error: width 16 of A: a register has 32 or 64 bits [width]\n"},
      {regs("      - {name: A, offset: 0, count: 2, stride: 2, " + kField + "}\n"),
       "m.yaml:7:48: error: stride 0x2 of A must be a multiple of 4, its size [stride]\n"},
      {regs("      - {name: A, offset: 0, stride: 8, " + kField + "}\n"),
       "m.yaml:7:38: error: A has a stride but no count [stride]\n"},
      {regs("      - {name: A, offset: 0, fields: [{name: f, bits: \"3:0\", access: rw, reset: "
            "16}]}\n"),
       "m.yaml:7:81: error: reset 0x10 does not fit in field f of 4 bits [reset]\n"},
      {regs("      - {name: A, offset: 0, fields: [{name: f, bits: \"3:0\", access: wr}]}\n"),
       "m.yaml:7:70: error: unknown access 'wr'; did you mean 'wo'? [access]\n"},
      {regs("      - {name: A, offset: 0, fields: [{name: f, bits: \"32\", access: rw}]}\n"),
       "m.yaml:7:55: error: field f ends at bit 32 of A, which has 32 bits [bits]\n"},
      {regs("      - {name: A, offset: 0, fields: [{name: f, bits: \"0:3\", access: rw}]}\n"),
       "m.yaml:7:55: error: bits '0:3' of f: write \"7:0\" or \"3\", at most 63 [bits]\n"},
      {regs("      - name: A\n        offset: 0\n        fields:\n"
            "          - {name: f, bits: \"3:0\", access: rw}\n"
            "          - {name: g, bits: \"5:3\", access: rw}\n"),
       "m.yaml:11:29: error: field g [5:3] overlaps f [3:0] (line 10) [overlap]\n"},
      {regs("      - {name: A, offset: 0, fields: [{name: f, bits: \"3:0\", access: ro}]}\n"),
       "m.yaml:7:39: error: field f: a ro field has const, or hw: in, we, set or clear, or a "
       "counter [hw]\n"},
      {regs("      - {name: A, offset: 0, fields: [{name: f, bits: \"3:0\", access: w1c}]}\n"),
       "m.yaml:7:39: error: field f: nothing ever sets this w1c field: hw is set or we, or give a "
       "reset value [hw]\n"},
      {regs("      - {name: A, offset: 0, fields: [{name: f, bits: \"3:0\", access: rw, hw: "
            "in}]}\n"),
       "m.yaml:7:78: error: field f: hw: in is the whole value of a ro field: take 'we' to load a "
       "stored one [hw]\n"},
      {regs("      - {name: A, offset: 0, fields: [{name: new, bits: \"3:0\", access: rw}]}\n"),
       "m.yaml:7:46: error: 'new' is a keyword of C or C++; take 'new_val' or another name "
       "[keyword]\n"},
      {regs("      - {name: A, offset: 0, fields: [{name: f, bits: \"3:0\", access: rw, enum: "
            "e}]}\n"),
       "m.yaml:7:80: error: unknown enum 'e'; there is none [unknown-enum]\n"},
      {kHead + "enums: {e: {values: {BIG: 16}}}\nblocks:\n  - name: b\n    size: 0x100\n    "
               "registers:\n"
               "      - {name: A, offset: 0, fields: [{name: f, bits: \"3:0\", access: rw, enum: "
               "e}]}\n",
       "m.yaml:8:80: error: e.BIG = 16 does not fit in a field of 4 bits [enum-width]\n"},
      {regs("      - {name: A_B, offset: 0, fields: [{name: c, bits: \"0\", access: rw}]}\n"
            "      - {name: A, offset: 4, fields: [{name: b_c, bits: \"0\", access: rw}]}\n"),
       "m.yaml:8:39: error: 'a_b_c' is the generated name of this and of line 7; rename one "
       "[flat-name]\n"},
      {regs("      - {name: A, offset: 0, fields: []}\n"),
       "m.yaml:7:38: error: A has no fields [empty]\n"},
      {kHead + "blocks:\n  - {name: b, size: 0x120}\n",
       "m.yaml:4:21: error: the size of a block is a power of two, 8 bytes to 4 GB [range]\n"},
      {kHead + "blocks:\n  - {name: b, size: 0x100, stride: 0x80}\n",
       "m.yaml:4:36: error: stride 0x80 is smaller than the block (0x100) [stride]\n"},
      {kHead + "blocks:\n  - {name: b, size: 0x100, bar: 6}\n",
       "m.yaml:4:33: error: a BAR is 0..5 [range]\n"},
      {kHead + "blocks:\n  - {name: b, size: 0x100, bad_access: zeros}\n",
       "m.yaml:4:40: error: bad_access 'zeros'; known: all_ones, slverr [value]\n"},
      {kHead + "blocks:\n  - {name: b, size: 0x100, bad_access_capture: X}\n",
       "m.yaml:4:48: error: no register 'X'; there is none [capture]\n"},
      {kHead + "blocks:\n  - name: b\n    size: 0x100\n    windows: [{name: W, offset: 0x20, size: "
               "0x40, "
               "access: rw}]\n",
       "m.yaml:6:33: error: window W at 0x20 is not aligned to its size 0x40 [alignment]\n"},
      {kHead + "blocks:\n  - name: b\n    size: 0x100\n    windows: [{name: W, offset: 0x40, size: "
               "0x30, "
               "access: rw}]\n",
       "m.yaml:6:45: error: the size of window W is a power of two, at least 4 [range]\n"},
      {kHead + "counters: [{name: a}, {name: b}]\nblocks:\n  - name: b\n    size: 0x100\n"
               "    windows: [{name: W, offset: 0x40, size: 8, access: ro, holds: counters}]\n",
       "m.yaml:7:15: error: 2 counters of 8 bytes do not fit in window W of 0x8 bytes [range]\n"},
      {desc("{name: type, at: 0, width: 8}"),
       "m.yaml:5:14: error: 'type' is a keyword of SystemVerilog; take 'type_val' or another name, "
       "or "
       "give a descriptor field an sv_name [keyword]\n"},
      {desc("{name: f, at: 7, width: 9}"),
       "m.yaml:5:31: error: field f of 9 bits at byte 7 leaves d of 8 bytes [range]\n"},
      {desc("{name: f, at: 0, bit: 4, width: 64}"),
       "m.yaml:5:39: error: field f of 64 bits at byte 0 leaves d of 8 bytes [range]\n"},
      {desc("{name: f, at: 0, bit: 8, width: 4}"),
       "m.yaml:5:29: error: 'bit' counts in the byte 'at': 0..7 [range]\n"},
      {desc("{name: f, at: 0, bit: 1, width: 8, bytes: true}"),
       "m.yaml:5:7: error: byte string f must be whole bytes at bit 0 [bytes]\n"},
      {desc("{name: f, at: 0, width: 8},\n      {name: g, at: 0, bit: 7, width: 2}"),
       "m.yaml:6:7: error: field g (bits 7..8) overlaps f (bits 0..7, line 5) [overlap]\n"},
      {kHead + "descriptors:\n  - {name: d, size: 8, head: hd, fields: []}\n",
       "m.yaml:4:30: error: no descriptor 'hd' before this one; there is none [unknown-head]\n"},
      {kHead + "descriptors:\n  - {name: d, size: 16, fields: [{name: f, at: 0, width: 128}]}\n",
       "m.yaml:4:58: error: field f spans more than 8 bytes; say bytes: true for a byte string "
       "[width]\n"},
  };
  for (const auto& bad : list) {
    CAPTURE(bad.text);
    CHECK(errors_of(bad.text) == bad.want);
  }
}

TEST_CASE("every bad map of bad_maps.txt gives exactly the messages that stand there") {
  std::ifstream in(RNIC_SOURCE_DIR "/tests/regs/bad_maps.txt");
  REQUIRE(in.is_open());
  std::string map, want, line;
  std::string* to = nullptr;
  int n = 0;
  const auto judge = [&] {
    if (map.empty()) return;
    ++n;
    CAPTURE(map);
    CHECK(errors_of(map) == want);
    map.clear();
    want.clear();
  };
  while (std::getline(in, line)) {
    if (line == "=== map") {
      judge();
      to = &map;
    } else if (line == "=== says") {
      to = &want;
    } else if (to != nullptr) {
      *to += line + "\n";
    }
  }
  judge();
  CHECK(n >= 50);
}

TEST_CASE("includes, parameters and errors in included files") {
  const auto dir =
      std::filesystem::temp_directory_path() / ("regs_diag_" + std::to_string(getpid()));
  std::filesystem::create_directories(dir / "sub");
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(dir / name) << text;
  };
  write("m.yaml", kHead +
                      "include: [sub/common.yaml]\nparameters: {N: {value: 2, max: 4}}\n"
                      "blocks:\n  - name: b\n    size: 0x100\n    registers:\n"
                      "      - {name: A, offset: BASE, count: N, fields: [{name: f, bits: "
                      "\"WIDTH - 1:0\", access: rw}]}\n");
  write("sub/common.yaml", "include: more.yaml\nconstants: {BASE: 4 * FOUR}\n");
  write("sub/more.yaml", "constants: {FOUR: 4, WIDTH: 5}\n");
  const auto path = (dir / "m.yaml").string();
  {
    Diagnostics diags(path);
    const auto map = load_map_file(path, diags, {{"N", 3}});
    INFO(diags.text());
    REQUIRE(map.has_value());
    const auto& r = map->blocks[0].registers[0];
    CHECK(r.offset == 16);
    CHECK(r.count == 3);
    CHECK(r.count_param == "N");
    CHECK(r.fields[0].width == 5);
  }
  {
    Diagnostics diags(path);
    CHECK(!load_map_file(path, diags, {{"N", 5}, {"M", 1}}));
    CHECK(diags.text() == path + ": error: no parameter 'M'; did you mean 'N'? [parameter]\n" +
                              path + ":4:25: error: parameter N is 5: it must be 0 to 4 [range]\n");
  }
  write("sub/more.yaml", "include: common.yaml\nname: x\nconstants: {FOUR: 4, WIDTH: 5}\n");
  {
    Diagnostics diags(path);
    CHECK(!load_map_file(path, diags));
    const auto more = (dir / "sub/more.yaml").string();
    CHECK(diags.text() ==
          more + ":1:10: error: 'common.yaml' includes itself [include]\n" + more +
              ":2:7: error: an included file has no 'name': it is the map's that includes it "
              "[include]\n");
  }
  std::filesystem::remove_all(dir);
}

TEST_CASE("all errors of a map are told, in the order of the file") {
  const auto text = errors_of(regs("      - {name: A, offset: 2, " + kField +
                                   "}\n      - {name: b, offset: 8, widht: 32, " + kField + "}\n"));
  CHECK(
      text ==
      "m.yaml:7:27: error: offset 0x2 of A is not a multiple of 4 [alignment]\n"
      "m.yaml:8:16: error: 'b' is not a good name: upper-case letters, digits and single inner '_' "
      "[name]\n"
      "m.yaml:8:30: error: unknown key 'widht' in a register; did you mean 'width'? "
      "[unknown-key]\n");
}

TEST_CASE("a file that is not there is an error, not an exception") {
  Diagnostics diags("/nonexistent/map.yaml");
  CHECK(!load_map_file("/nonexistent/map.yaml", diags));
  CHECK(diags.text() == "/nonexistent/map.yaml: error: cannot read the file [file]\n");
}
