// SPDX-License-Identifier: Apache-2.0
//
// IP-XACT and CMSIS-SVD exports, read back by readers that were written from the standards
// (exports/*.py), give the map: place, size, access, side effects, reset values, enumerations,
// elements of arrays. The readers refuse what breaks a rule, which is tried as well.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "model.hpp"
#include "outputs.hpp"
#include "tests/regs/compile.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::regs;
namespace fs = std::filesystem;
using rnic::test::read_text;

namespace {

using Lines = std::vector<std::string>;

Map load(const std::string& path) {
  Diagnostics diags(path);
  auto map = load_map_file(RNIC_SOURCE_DIR "/" + path, diags);
  INFO(diags.text());
  REQUIRE(map.has_value());
  return *map;
}

Map parse(const std::string& text) {
  Diagnostics diags("m.yaml");
  auto map = load_map_text("name: m\nversion: {major: 1, minor: 0, patch: 0}\n" + text, diags);
  INFO(diags.text());
  REQUIRE(map.has_value());
  return *map;
}

std::string export_of(const Map& map, const std::string& format) {
  const auto files = make_outputs(map, {format});
  REQUIRE(files.size() == 1);
  return files[0].text;
}

struct Answer {
  bool ok;
  std::string text;
};

// What the reader of the format says of a file with this text.
Answer read_back(const std::string& format, const std::string& text) {
  const auto dir = fs::temp_directory_path() / fmt::format("rnic_exports_{}", ::getpid());
  fs::create_directories(dir);
  const auto file = dir / ("map." + format);
  const auto out = dir / "out";
  std::ofstream(file) << text;
  const auto status =
      std::system(fmt::format("python3 -B {}/tests/regs/exports/read_{}.py {} > {} 2>&1",
                              RNIC_SOURCE_DIR, format, file.string(), out.string())
                      .c_str());
  Answer a{status == 0, read_text(out)};
  fs::remove_all(dir);
  return a;
}

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The words of both standards.
struct Words {
  std::string access, on_write = "-", on_read = "-";
};

Words words_of(Access a) {
  switch (a) {
    case Access::kRw:
    case Access::kWt:
      return {"read-write"};
    case Access::kRo:
      return {"read-only"};
    case Access::kWo:
      return {"write-only"};
    case Access::kPulse:
      return {"read-write", "modify"};
    case Access::kW1c:
      return {"read-write", "oneToClear"};
    case Access::kW1s:
      return {"read-write", "oneToSet"};
    case Access::kW1t:
      return {"read-write", "oneToToggle"};
    case Access::kW0c:
      return {"read-write", "zeroToClear"};
    case Access::kW0s:
      return {"read-write", "zeroToSet"};
    case Access::kW0t:
      return {"read-write", "zeroToToggle"};
    case Access::kWc:
      return {"read-write", "clear"};
    case Access::kWs:
      return {"read-write", "set"};
    case Access::kRc:
      return {"read-only", "-", "clear"};
    case Access::kRs:
      return {"read-only", "-", "set"};
    case Access::kWrc:
      return {"read-write", "-", "clear"};
    case Access::kWrs:
      return {"read-write", "-", "set"};
    case Access::kRwOnce:
      return {"read-writeOnce"};
  }
  return {};
}

// Element i by its path: names of the files and of the register with their indices. An array with
// gaps has no index of its own in the formats, its elements are named NAME__i; so are those of
// files with something between them. Windows inside of an element are registers in IP-XACT. Both
// are `crowded`.
std::string path_of(const Block& b, const Register& r, std::uint64_t i, const Lines& crowded) {
  auto dim = r.dims.rbegin();
  const auto index = [&] {
    const auto n = i % dim->count;
    i /= dim->count;
    ++dim;
    return n;
  };
  std::size_t of_files = 0;
  for (auto f = r.file; f; f = b.files[*f].parent) of_files += b.files[*f].is_array ? 1 : 0;
  std::string path = r.local_name;
  if (r.dims.size() > of_files) {
    const bool gaps = r.dims.back().stride != r.width / 8;
    path += gaps ? fmt::format("__{}", index()) : fmt::format("[{}]", index());
  }
  for (auto f = r.file; f; f = b.files[*f].parent) {
    const auto& file = b.files[*f];
    const bool apart = std::find(crowded.begin(), crowded.end(), file.name) != crowded.end();
    std::string which;
    if (file.is_array) which = fmt::format(fmt::runtime(apart ? "__{}" : "[{}]"), index());
    path.insert(0, file.local_name + which + ".");
  }
  return path;
}

// Nobody but hardware knows what a read of it shows after reset.
bool held_by_hardware(const Register& r, const Field& f) {
  return r.external || f.hw.in || f.hw.inout;
}

// Reads may differ from what was read or written before.
bool is_volatile(const Register& r, const Field& f) {
  return held_by_hardware(r, f) || f.hw.write || f.hw.set || f.hw.clear || f.counter.has_value() ||
         f.access == Access::kPulse;
}

std::string enums_of(const Map& map, const Field& f) {
  std::string text;
  if (f.enum_index) {
    for (const auto& v : map.enums[*f.enum_index].values) {
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", v.name, v.value);
    }
  }
  return text.empty() ? "-" : text;
}

Lines expected(const Map& map, bool ipxact, const Lines& crowded) {
  Lines lines;
  for (const auto& b : map.blocks) {
    for (const auto& r : b.registers) {
      for (std::uint64_t i = 0; i < r.count; ++i) {
        const auto path = path_of(b, r, i, crowded);
        for (const auto& f : r.fields) {
          const auto w = words_of(f.access);
          const auto reset =
              held_by_hardware(r, f) ? std::string("-") : fmt::format("0x{:x}", f.reset);
          lines.push_back(fmt::format("{} {} 0x{:x} {} {} {}:{} {} {} {} {} {}", b.name, path,
                                      r.element_offset(i), r.width, f.name, f.msb(), f.lsb,
                                      w.access, w.on_write, w.on_read, reset, enums_of(map, f)));
          if (ipxact && is_volatile(r, f)) {
            lines.push_back(fmt::format("volatile {} {} {}", b.name, path, f.name));
          }
        }
      }
    }
    for (const auto& w : b.windows) {
      const std::string access = w.writable ? "read-write" : "read-only";
      const bool in_file = std::find(crowded.begin(), crowded.end(), w.name) != crowded.end();
      for (std::uint64_t i = 0; ipxact && in_file && i < w.size / 4; ++i) {
        lines.push_back(fmt::format("{} {}[{}] 0x{:x} 32 data 31:0 {} - - - -", b.name, w.name, i,
                                    w.offset + 4 * i, access));
      }
      if (ipxact && in_file) continue;
      lines.push_back(fmt::format("memory {} 0x{:x} 0x{:x}", b.name, w.offset, w.size));
      if (ipxact) lines.back() += " " + access;
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

void check_read_back(const Map& map, const Lines& crowded = {}) {
  for (const std::string format : {"ipxact", "svd"}) {
    CAPTURE(map.name, format);
    const auto answer = read_back(format, export_of(map, format));
    INFO(answer.text.substr(0, 400));
    REQUIRE(answer.ok);
    const auto want = expected(map, format == "ipxact", crowded);
    const auto got = lines_of(answer.text);
    CHECK(want.size() > 0);
    Lines missing, extra;
    std::set_difference(want.begin(), want.end(), got.begin(), got.end(),
                        std::back_inserter(missing));
    std::set_difference(got.begin(), got.end(), want.begin(), want.end(),
                        std::back_inserter(extra));
    CHECK(missing == Lines{});
    CHECK(extra == Lines{});
  }
}

// Shapes that are awkward for the formats.
const char* const kShapes = R"(
enums:
  big: {values: {LOW: 0, HIGH: 0xFFFFFFFF}}
blocks:
  - name: one
    desc: "A < B & C > \"D\""
    size: 0x400
    registers:
      - {name: RD, offset: 0x0, count: 3, stride: 8, fields: [{name: v, bits: "31:0", access: ro, hw: in}]}
      - {name: WR, offset: 0x0, count: 3, stride: 8, fields: [{name: v, bits: "31:0", access: wo}]}
      - {name: BETWEEN, offset: 0x4, count: 3, stride: 8, fields: [{name: v, bits: "0", access: rw}]}
      - {name: SINGLE, offset: 0x20, count: 1, fields: [{name: v, bits: "31", access: w1t, reset: 1}]}
      - {name: WHOLE, offset: 0x28, width: 64, fields: [{name: v, bits: "63:0", access: rw, enum: big, reset: 0xFFFFFFFFFFFFFFFF}]}
      - name: FILE
        offset: 0x40
        registers:
          - {name: A, offset: 0, count: 2, stride: 16, width: 64, fields: [{name: v, bits: "63:32", access: rs, hw: clear}]}
          - name: INNER
            offset: 0x20
            count: 2
            stride: 0x20
            registers:
              - {name: RD, offset: 4, fields: [{name: v, bits: "7:0", access: ro, const: 0xA5}]}
              - {name: B, offset: 0x10, count: 4, fields: [{name: v, bits: "7:4", access: w0s, hw: clear}]}
    windows:
      - {name: MEM, offset: 0x200, size: 0x100, access: ro}
      - {name: END, offset: 0x300, size: 0x100, access: rw, decoded_by: other}
  - {name: two, size: 0x10, bar: 2, registers: [{name: RD, offset: 8, fields: [{name: f, bits: "3:0", access: rw}]}]}
)";

// Files whose elements have something between them, or no whole stride behind the last.
const char* const kCrowded = R"(
blocks:
  - name: b
    size: 0x400
    registers:
      - name: EVEN
        offset: 0x0
        count: 3
        stride: 0x20
        registers: [{name: A, offset: 0, fields: [{name: v, bits: "0", access: rw}]}]
      - name: ODD
        offset: 0x10
        count: 2
        stride: 0x20
        registers: [{name: A, offset: 0, width: 64, fields: [{name: v, bits: "40:0", access: rw}]}]
      - name: OUTER
        offset: 0x80
        count: 2
        stride: 0x34
        registers:
          - {name: B, offset: 0, fields: [{name: v, bits: "0", access: rw}]}
          - name: INNER
            offset: 0x10
            count: 2
            stride: 0x20
            registers: [{name: C, offset: 0, fields: [{name: v, bits: "0", access: rw}]}]
      - name: ALONE
        offset: 0x100
        registers:
          - name: LOOSE
            offset: 0
            count: 2
            stride: 0x40
            registers: [{name: D, offset: 0, fields: [{name: v, bits: "0", access: rw}]}]
      - {name: BEHIND, offset: 0x144, fields: [{name: v, bits: "0", access: rw}]}
      - name: ROOMY
        offset: 0x180
        count: 2
        stride: 0x40
        registers: [{name: E, offset: 0x10, fields: [{name: v, bits: "0", access: rw}]}]
      - name: PAGES
        offset: 0x200
        count: 2
        stride: 0x100
        registers: [{name: F, offset: 0, count: 2, stride: 0x80, fields: [{name: v, bits: "0", access: rw}]}]
    windows:
      - {name: MEM, offset: 0x340, size: 0x40, access: rw}
      - {name: ROM, offset: 0x220, size: 0x20, access: ro}
      - {name: GAP, offset: 0x160, size: 0x20, access: rw}
)";

}  // namespace

TEST_CASE("the exports of every feature read back as the map") {
  check_read_back(load("tests/regs_rtl/all_map.yaml"));
}

TEST_CASE("the exports of every access type with every hardware side read back as the map") {
  check_read_back(load("tests/regs_rtl/proof_map.yaml"));
}

TEST_CASE("the exports of the NIC's map read back as the map") {
  check_read_back(load("regs/rnic.yaml"));
}

TEST_CASE("the exports of awkward shapes read back as the map") { check_read_back(parse(kShapes)); }

TEST_CASE("the exports of files with something between their elements read back as the map") {
  check_read_back(parse(kCrowded),
                  {"EVEN", "ODD", "OUTER_INNER", "ALONE_LOOSE", "PAGES", "MEM", "ROM"});
}

TEST_CASE("a map of descriptors has no SVD, and an IP-XACT component without memory maps") {
  const auto map =
      parse("descriptors: [{name: d, size: 8, fields: [{name: f, at: 0, width: 8}]}]\n");
  CHECK(make_outputs(map, {"svd"}).empty());
  const auto answer = read_back("ipxact", export_of(map, "ipxact"));
  CHECK(answer.ok);
  CHECK(answer.text == "\n");
}

TEST_CASE("the readers refuse files that break a rule of the standard") {
  struct Break {
    std::string format, from, to, says;
  };
  const std::vector<Break> list = {
      {"ipxact", "<ipxact:version>1.0.0</ipxact:version>", "", "<version> expected"},
      {"ipxact", "1685-2014\" xmlns:regs", "1685-2009\" xmlns:regs",
       "not a component of 1685-2014"},
      {"ipxact", "<ipxact:bitWidth>32</ipxact:bitWidth>", "", "<bitWidth> expected"},
      {"ipxact", "'h0</ipxact:addressOffset>", "0x0</ipxact:addressOffset>",
       "<addressOffset> is '0x0'"},
      {"ipxact", "<ipxact:access>read-only", "<ipxact:access>ro", "not one of"},
      {"ipxact", "<ipxact:bitOffset>0</ipxact:bitOffset>", "<ipxact:bitOffset>1</ipxact:bitOffset>",
       "does not fit in 32 bits"},
      {"ipxact", "<ipxact:width>64</ipxact:width>", "<ipxact:width>32</ipxact:width>",
       "64 bits in an address block of 32"},
      {"ipxact", "<ipxact:name>BETWEEN__0</ipxact:name>", "<ipxact:name>WR__0</ipxact:name>",
       "two elements are named WR__0"},
      {"ipxact", "<ipxact:range>'h200</ipxact:range>", "<ipxact:range>'h201</ipxact:range>",
       "address blocks one and MEM overlap"},
      {"ipxact", "<ipxact:range>'h200</ipxact:range>", "<ipxact:range>'h20</ipxact:range>",
       "behind the range 0x20"},
      {"ipxact", "<ipxact:usage>register</ipxact:usage>",
       "<ipxact:usage>register</ipxact:usage><ipxact:width>32</ipxact:width>",
       "<width> is unknown here or out of order"},
      {"svd", "<version>1.0.0</version>", "", "<version> expected"},
      {"svd", "<width>64</width>", "<width>32</width>", "at most 32"},
      {"svd", "<name>RD__%s</name>", "<name>RD[%s]</name>", "without gaps"},
      {"svd", "<name>RD__%s</name>", "<name>RD</name>", "dim without %s"},
      {"svd", "<alternateRegister>RD__%s</alternateRegister>", "", "without alternateRegister"},
      {"svd", "<alternatePeripheral>one</alternatePeripheral>", "", "without alternatePeripheral"},
      {"svd", "<dim>3</dim>", "<dimIncrement>0x8</dimIncrement>", "%s in a name without dim"},
      {"svd", "<resetMask>0x80000000</resetMask>", "<resetMask>0x8000000x</resetMask>",
       "<resetMask> is"},
      {"svd", "<resetMask>0xffffffffffffffff</resetMask>", "<resetMask>0xff</resetMask>",
       "a part of the field"},
      {"svd", "<usage>buffer</usage>", "<usage>memory</usage>", "not one of"},
      {"svd", "<size>0x200</size>", "<size>0x20</size>", "not in one address block"},
      {"svd", "<name>HIGH</name>", "<name>LOW</name>", "two elements are named LOW"},
      {"svd", "<bitOffset>31<", "<bitOffset>31x<", "<bitOffset> is '31x'"},
  };
  const auto map = parse(kShapes);
  for (const auto& b : list) {
    CAPTURE(b.format, b.from, b.to);
    auto text = export_of(map, b.format);
    const auto at = text.find(b.from);
    REQUIRE(at != std::string::npos);
    text.replace(at, b.from.size(), b.to);
    const auto answer = read_back(b.format, text);
    INFO(answer.text.substr(0, 400));
    CHECK_FALSE(answer.ok);
    CHECK(answer.text.find(b.says) != std::string::npos);
  }
}
