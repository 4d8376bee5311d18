// SPDX-License-Identifier: Apache-2.0
//
// SystemRDL import: what the export writes comes back as the same map; files as other projects
// write them give what the standard says; bad ones are refused with exact messages; no text breaks
// it.
#include "rdl_import.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "outputs.hpp"
#include "tests/regs/compile.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"
#include "write_yaml.hpp"

using namespace rnic::regs;
using rnic::test::read_text;
using rnic::test::rng;

namespace {

const std::string kHere = RNIC_SOURCE_DIR "/tests/regs/rdl/";

Map load(const std::string& path) {
  Diagnostics diags(path);
  auto map = load_map_file(path, diags);
  INFO(diags.text());
  REQUIRE(map.has_value());
  return std::move(*map);
}

std::string exported(const Map& map) { return make_outputs(map, {"rdl"}).at(0).text; }

struct Result {
  std::optional<Map> map;
  std::string said;
};

Result import_text(const std::string& text, const RdlOptions& options = {}) {
  Diagnostics diags("m.rdl");
  Result r;
  Warnings warnings;
  r.map = load_rdl_text(text, options, diags, warnings);
  CHECK(r.map.has_value() == !diags.has_errors());
  r.said = diags.text() + warnings.text(diags);
  return r;
}

Result import_file(const std::string& name, const RdlOptions& options = {}) {
  Diagnostics diags(name);
  Result r;
  Warnings warnings;
  r.map = load_rdl_file(kHere + name, options, diags, warnings);
  r.said = diags.text() + warnings.text(diags);
  return r;
}

// The canonical text is a map that `lint` accepts, and the same one.
void check_yaml(const Map& map) {
  Diagnostics diags("imported.yaml");
  const auto again = load_map_text(write_yaml(map), diags);
  INFO(write_yaml(map));
  CHECK(diags.text() == "");
  REQUIRE(again.has_value());
  CHECK(again->hash == map.hash);
  CHECK(write_yaml(*again) == write_yaml(map));
}

const Register& reg(const Block& b, std::string_view name) {
  for (const auto& r : b.registers) {
    if (r.name == name) return r;
  }
  FAIL("no register " << name);
  throw 0;
}

const Field& field(const Register& r, std::string_view name) {
  for (const auto& f : r.fields) {
    if (f.name == name) return f;
  }
  FAIL("no field " << name);
  throw 0;
}

// "rw [7:0] out reset 5" and what else is not usual.
std::string show(const Register& r, std::string_view name) {
  const auto& f = field(r, name);
  auto s = fmt::format("{} [{}:{}] {}", access_name(f.access), f.msb(), f.lsb,
                       f.is_const ? "const" : hw_text(f.hw));
  s += fmt::format(" {:#x}", f.reset);
  if (!f.reset_param.empty()) s += " " + f.reset_param;
  if (f.collision == Collision::kSoftware) s += " software";
  if (f.lock) s += (f.lock->when ? " locked by " : " enabled by ") + f.lock->by;
  if (!f.enum_name.empty()) s += " " + f.enum_name;
  if (f.counter) {
    s += fmt::format(" incr {} decr {}", f.counter->incr_width, f.counter->decr_width);
    if (f.counter->saturate) s += fmt::format(" saturates {:#x}", f.counter->max);
    if (f.counter->threshold) s += fmt::format(" tells {:#x}", *f.counter->threshold);
  }
  return s;
}

}  // namespace

TEST_CASE("what the export writes is imported as the same map") {
  for (const char* path :
       {"/regs/rnic.yaml", "/tests/regs_rtl/all_map.yaml", "/tests/regs_rtl/proof_map.yaml"}) {
    CAPTURE(path);
    const auto map = load(RNIC_SOURCE_DIR + std::string(path));
    const auto back = import_text(exported(map));
    CHECK(back.said == "");
    REQUIRE(back.map.has_value());
    // Names, places, accesses, hardware sides, resets, locks, counters, enumerations, descriptors.
    CHECK(back.map->hash == map.hash);
    // And descriptions, units, parameters with their limits, names of enumerations.
    CHECK((write_yaml(*back.map) == write_yaml(map)));
    CHECK((exported(*back.map) == exported(map) || back.map->source != map.source));
    check_yaml(*back.map);
  }
}

TEST_CASE("a parameter of an exported map stays a parameter, and takes another value") {
  const auto map = load(RNIC_SOURCE_DIR "/tests/regs_rtl/all_map.yaml");
  const auto back = import_text(exported(map), {.values = {{"N_CH", 2}}});
  REQUIRE(back.map.has_value());
  const auto& par = reg(back.map->blocks[0], "PAR");
  CHECK(par.count == 2);
  CHECK(par.count_param == "N_CH");
  CHECK(field(par, "v").reset_param == "START");
  // Another value is another map than the one whose hash the file names.
  CHECK(back.said.find("the file says that the hash of its map is 0x") != std::string::npos);
}

TEST_CASE("a peripheral with defaults, fields in order, enumerations and interrupts") {
  const auto [map, said] = import_file("serial.rdl");
  INFO(said);
  REQUIRE(map.has_value());
  CHECK(said ==
        "serial.rdl:38:5: warning: rxd of 8 bits becomes one of 32: the bus has words of 32 "
        "bits [width]\n");
  check_yaml(*map);
  CHECK(map->name == "serial");
  CHECK(map->desc == "Serial port: One transmitter, one receiver.");
  REQUIRE(map->blocks.size() == 1);
  const auto& b = map->blocks[0];
  CHECK(b.name == "csr");
  CHECK(b.size == 0x40);
  const auto& ctrl = reg(b, "CTRL");
  CHECK(ctrl.offset == 0);
  CHECK(show(ctrl, "tx_en") == "rw [0:0] out 0x0");
  CHECK(show(ctrl, "rx_en") == "rw [1:1] out 0x0");
  CHECK(show(ctrl, "parity") == "rw [3:2] out 0x1 parity_e");
  CHECK(show(ctrl, "flush") == "pulse [7:7] out 0x0");
  CHECK(show(ctrl, "baud") == "rw [31:16] out wr_pulse 0x364 BAUD_RESET");
  const auto& status = reg(b, "STATUS");
  CHECK(status.offset == 4);
  CHECK(show(status, "busy") == "ro [0:0] in 0x0");
  CHECK(show(status, "fill") == "ro [8:4] in 0x0");
  CHECK(show(status, "version") == "ro [31:28] const 0x3");
  CHECK(reg(b, "TXD").offset == 8);
  CHECK(show(reg(b, "TXD"), "data") == "wo [7:0] out wr_pulse 0x0");
  CHECK(reg(b, "RXD").offset == 12);
  CHECK(reg(b, "RXD").width == 32);
  CHECK(show(reg(b, "RXD"), "data") == "ro [7:0] in rd_pulse 0x0");
  REQUIRE(b.interrupts.size() == 1);
  const auto& irq = b.interrupts[0];
  CHECK(irq.name == "IRQ");
  CHECK(irq.offset == 0x20);
  REQUIRE(irq.sources.size() == 3);
  CHECK(irq.sources[0].kind == IrqKind::kPulse);
  CHECK(irq.sources[1].kind == IrqKind::kRising);
  CHECK(irq.sources[2].kind == IrqKind::kLevel);
  const auto& counters = reg(b, "COUNTERS");
  CHECK(counters.offset == 0x2C);
  CHECK(show(counters, "frames") == "rc [15:0] out 0x0 incr 4 decr 0 saturates 0xffff");
  CHECK(show(counters, "errors") == "rc [23:16] out 0x0 incr 1 decr 0 tells 0xc8");
  CHECK(show(counters, "credits") ==
        "rw [31:24] out we 0xff software incr 0 decr 2 saturates 0xff");
  REQUIRE(map->enums.size() == 1);
  CHECK(map->enums[0].width == 2);
  CHECK(map->enums[0].values[0].desc == "No parity.");
  CHECK(map->enums[0].values[2].desc == "Odd");
}

TEST_CASE("register files, nested address maps, parameters, strides, locks, memories") {
  const auto [map, said] = import_file("engine.rdl");
  INFO(said);
  REQUIRE(map.has_value());
  CHECK(said ==
        "engine.rdl:29:31: warning: core.wide has 2 dimensions: it becomes one array of 4 [array]\n"
        "engine.rdl:30:9: warning: property my_tool_hint is defined by the file: nothing is known "
        "about it, it is left out [user-property]\n");
  check_yaml(*map);
  const auto& b = map->blocks[0];
  CHECK(b.size == 0x4000);
  struct Want {
    const char* name;
    std::uint64_t offset, count, stride;
  };
  // By the rules of regalign, alignment = 8 in the register file: CTRL 0, BASE 8, HEAD 16, HIST 24.
  for (const auto& w : std::initializer_list<Want>{{"ID", 0, 1, 4},
                                                   {"CORE_CH_CTRL", 0x1100, 2, 0x80},
                                                   {"CORE_CH_BASE", 0x1108, 2, 0x80},
                                                   {"CORE_CH_HEAD", 0x1110, 2, 0x80},
                                                   {"CORE_CH_HIST", 0x1118, 8, 4},
                                                   {"CORE_WIDE_CTRL", 0x1400, 4, 0x80},
                                                   {"CORE_WIDE_HIST", 0x1418, 8, 4},
                                                   {"CORE_GAP", 0x15C0, 1, 4},
                                                   {"CORE_REMOTE", 0x1640, 1, 4}}) {
    CAPTURE(w.name);
    const auto& r = reg(b, w.name);
    CHECK(r.offset == w.offset);
    CHECK(r.count == w.count);
    CHECK(r.stride == w.stride);
  }
  CHECK(reg(b, "CORE_CH_HIST").element_offset(5) == 0x1118 + 0x80 + 4);
  CHECK(show(reg(b, "ID"), "id") == "ro [31:0] const 0x52504344");
  CHECK(show(reg(b, "CORE_CH_CTRL"), "lock") == "w1s [1:1] out 0x0");
  CHECK(show(reg(b, "CORE_CH_CTRL"), "fill") == "rw [15:8] out we 0x3");
  CHECK(show(reg(b, "CORE_WIDE_CTRL"), "fill") == "rw [15:8] out we 0x1 software");
  CHECK(field(reg(b, "CORE_CH_CTRL"), "enable").desc == "Channel runs.");
  CHECK(field(reg(b, "CORE_WIDE_CTRL"), "enable").desc == "");
  CHECK(show(reg(b, "CORE_CH_BASE"), "addr") == "rw [63:12] out 0x104 locked by CTRL.lock");
  CHECK(show(reg(b, "CORE_WIDE_BASE"), "addr") == "rw [63:12] out 0x102 locked by CTRL.lock");
  CHECK(reg(b, "CORE_CH_BASE").fields.size() == 1);  // ispresent = LIVE, which is false
  CHECK(reg(b, "CORE_CH_HEAD").fields.size() == 2);
  CHECK(reg(b, "CORE_REMOTE").external);
  REQUIRE(b.windows.size() == 2);
  CHECK(b.windows[0].size == 256 * 8);
  CHECK(b.windows[0].writable);
  CHECK(b.windows[1].offset == 0x2800);
  CHECK(!b.windows[1].writable);
}

TEST_CASE("a bridge of two address spaces, macros, addressing modes") {
  const auto [map, said] = import_file("world.rdl");
  INFO(said);
  CHECK(said == "");
  REQUIRE(map.has_value());
  check_yaml(*map);
  REQUIRE(map->blocks.size() == 2);
  const auto& ctl = map->blocks[0];
  CHECK(ctl.name == "ctl");
  CHECK(ctl.bar == 0);
  CHECK(ctl.size == 0x80);
  CHECK(reg(ctl, "FIRST").offset == 0);
  CHECK(show(reg(ctl, "FIRST"), "v") == "rw [7:0] out 0xa5");
  CHECK(reg(ctl, "EVENTS").offset == 4);
  CHECK(show(reg(ctl, "EVENTS"), "late") == "w1c [5:5] out set 0x0");
  CHECK(reg(ctl, "BIG").offset == 8);
  CHECK(reg(ctl, "BIG").width == 64);
  CHECK(reg(ctl, "DEBUG").offset == 0x40);
  CHECK(ctl.registers.size() == 4);
  const auto& db = map->blocks[1];
  CHECK(db.bar == 1);
  CHECK(db.size == 0x20);
  CHECK(reg(db, "RING").offset == 0x10);  // fullalign: 12 bytes, so a multiple of 16
  CHECK(reg(db, "RING").stride == 4);
  CHECK(reg(db, "LAST").offset == 0x1C);
  CHECK(show(reg(db, "LAST"), "key") == "rw_once [7:0] out 0x0");
  CHECK(show(reg(db, "LAST"), "r1") == "wrs [8:8] out 0x0");
}

TEST_CASE("--top takes another address map of the file") {
  const auto one = import_file("world.rdl", {.top = "bells"});
  REQUIRE(one.map.has_value());
  CHECK(one.map->name == "bells");
  CHECK(one.map->blocks.at(0).name == "csr");
  const auto none = import_file("world.rdl", {.top = "bell"});
  CHECK(!none.map);
  CHECK(none.said == "world.rdl: error: no addrmap 'bell'; did you mean 'bells'? [top]\n");
}

TEST_CASE("names that maps do not allow are changed, and told") {
  const auto [map, said] = import_text(
      "addrmap top { default hw = r; reg { field {} class; field {} __x_; } my__Reg_; };\n");
  REQUIRE(map.has_value());
  CHECK(map->blocks[0].registers[0].name == "MY_REG");
  CHECK(map->blocks[0].registers[0].fields[0].name == "class_val");
  CHECK(map->blocks[0].registers[0].fields[1].name == "x");
  CHECK(said ==
        "m.rdl:1:46: warning: 'class' becomes 'class_val': it is no name for every output [name]\n"
        "m.rdl:1:62: warning: '__x_' becomes 'x': it is no name for every output [name]\n"
        "m.rdl:1:70: warning: 'my__Reg_' becomes 'MY_REG': it is no name for every output "
        "[name]\n");
}

TEST_CASE("every bad file of bad_rdl.txt gives exactly the messages that stand there") {
  std::ifstream in(RNIC_SOURCE_DIR "/tests/regs/bad_rdl.txt");
  REQUIRE(in.is_open());
  std::string text, want, line;
  std::string* to = nullptr;
  int n = 0;
  const auto judge = [&] {
    if (text.empty()) return;
    ++n;
    CAPTURE(text);
    CHECK(want.find(": error: ") != std::string::npos);
    CHECK(import_text(text).said == want);
    text.clear();
    want.clear();
  };
  while (std::getline(in, line)) {
    if (line == "=== map") {
      judge();
      to = &text;
    } else if (line == "=== says") {
      to = &want;
    } else if (to != nullptr) {
      *to += line + "\n";
    }
  }
  judge();
  CHECK(n >= 25);
}

TEST_CASE("a file that includes itself, a folder, a file that is not there") {
  const auto dir =
      std::filesystem::temp_directory_path() / ("regs_rdl_" + std::to_string(getpid()));
  std::filesystem::create_directories(dir / "inc");
  std::ofstream(dir / "a.rdl") << "`include \"b.rdl\"\naddrmap m { };\n";
  std::ofstream(dir / "inc/b.rdl") << "// b\n  `include \"../a.rdl\"\n";
  const auto path = (dir / "a.rdl").string();
  Diagnostics diags(path);
  Warnings warnings;
  CHECK(!load_rdl_file(path, {.include_dirs = {(dir / "inc").string()}}, diags, warnings));
  CHECK(diags.text() == (dir / "inc/b.rdl").string() +
                            ":2:3: error: '../a.rdl' includes itself: write `ifndef ... `endif "
                            "around it [include]\n");
  Diagnostics folder("folder");
  CHECK(!load_rdl_file(dir.string(), {}, folder, warnings));
  CHECK(folder.text() == "folder: error: cannot read the file [file]\n");
  std::filesystem::remove_all(dir);
}

TEST_CASE("no truncated or damaged SystemRDL crashes or hangs the import") {
  std::vector<std::string> seeds = {read_text(kHere + "serial.rdl"),
                                    read_text(kHere + "engine.rdl"), read_text(kHere + "world.rdl"),
                                    read_text(kHere + "serial_fields.rdl"),
                                    exported(load(RNIC_SOURCE_DIR "/tests/regs_rtl/all_map.yaml"))};
  const std::string marks = "{}[]();:,.=@#+-*/%<>!&|^~?'\"`\\ \n0123456789abcxyz_\xff";
  auto random = rng("damage");
  int whole = 0;
  for (int n = 0; n < 1500; ++n) {
    auto text = seeds[random.below(seeds.size())];
    if (random.chance(0.3)) text.resize(random.below(text.size()));
    const auto changes = random.below(4);
    for (std::uint64_t k = 0; k < changes && text.size() > 40; ++k) {
      const auto at = random.below(text.size() - 20);
      const auto length = random.below(20);
      switch (random.below(4)) {
        case 0:
          text[at] = marks[random.below(marks.size())];
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(random.below(text.size() - 20), length));
          break;
        default:
          text.insert(at, 1, marks[random.below(marks.size())]);
          break;
      }
    }
    CAPTURE(n);
    Diagnostics diags("m.rdl");
    RdlOptions options;
    options.include_dirs = {kHere};
    Warnings warnings;
    const auto map = load_rdl_text(text, options, diags, warnings);
    CHECK(map.has_value() == !diags.has_errors());
    if (map) {
      ++whole;
      check_yaml(*map);
    }
  }
  CHECK(whole > 10);
}

TEST_CASE("files made to grow, to nest or to loop are refused") {
  std::string grows = "`define M0 1 +\n";
  for (int i = 1; i < 40; ++i) {
    grows += fmt::format("`define M{} `M{} `M{}\n", i, i - 1, i - 1);
  }
  grows += "addrmap m { reg { field { hw = r; } f = `M39 1; } a; };\n";
  std::string instances = "reg t0 { field { hw = r; } f; };\n";
  for (int i = 1; i < 22; ++i) {
    instances += fmt::format("regfile t{} {{ t{} a; t{} b; }};\n", i, i - 1, i - 1);
  }
  instances += "addrmap m { t21 x; };\n";
  const std::string list[] = {
      grows,
      instances,
      "regfile f { f x; };\naddrmap m { f a; };\n",
      "addrmap m { reg { field { hw = r; } f = " + std::string(100000, '(') + "1;\n",
      "addrmap m { reg { field { hw = r; } f = " + std::string(100000, '~') + "1;\n",
      std::string(100000, '{'),
      [] {
        std::string s = "addrmap m { reg { field { hw = r; } f = 1";
        for (int i = 0; i < 100000; ++i) s += " + 1";
        return s + "; } a; };\n";
      }(),
  };
  for (const auto& text : list) {
    CAPTURE(text.substr(0, 100));
    const auto r = import_text(text);
    CHECK(!r.map);
    CHECK(r.said.size() < 2000);
  }
}
