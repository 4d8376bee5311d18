// SPDX-License-Identifier: Apache-2.0
//
// Maps that are damaged, and files that are none: the generator neither crashes nor hangs, every
// error has a place in the file, and nothing that was written is passed over in silence.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "model.hpp"
#include "outputs.hpp"
#include "tests/regs/compile.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::regs;
namespace fs = std::filesystem;
using rnic::test::read_text;
using rnic::test::Rng;
using rnic::test::rng;

namespace {

const char* const kMaps[] = {"/regs/rnic.yaml", "/tests/regs_rtl/all_map.yaml",
                             "/tests/regs_rtl/proof_map.yaml"};

std::string map_text(std::size_t n) { return read_text(std::string(RNIC_SOURCE_DIR) + kMaps[n]); }

std::string repeated(const std::string& s, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += s;
  return out;
}

struct Verdict {
  bool good;
  std::string text;  // errors, or the outputs
};

Verdict generate(const std::string& text) {
  Diagnostics diags("m.yaml");
  const auto map = load_map_text(text, diags);
  if (!map) return {false, diags.text()};
  std::string all;
  for (const auto& f : make_outputs(*map, {"sv", "c", "cpp", "md", "rdl", "ipxact", "svd"})) {
    all += f.text;
  }
  return {true, all};
}

// "m.yaml:LINE:COL: error: TEXT [RULE]", in the file.
bool good_error(const std::string& line, std::size_t n_lines) {
  std::istringstream in(line);
  std::string file, error;
  std::size_t row = 0, col = 0;
  char colon = 0;
  std::getline(in, file, ':');
  if (file != "m.yaml" || !(in >> row >> colon >> col) || row < 1 || row > n_lines + 1 || col < 1) {
    return false;
  }
  std::getline(in, error);
  return error.rfind(": error: ", 0) == 0 && error.size() > 12 && error.back() == ']' &&
         error.find(" [") != std::string::npos;
}

void check_errors(const std::string& errors, const std::string& text) {
  const auto n_lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  std::istringstream in(errors);
  std::size_t n = 0;
  for (std::string line; std::getline(in, line); ++n) {
    if (!good_error(line, n_lines)) FAIL("not a good error: " << line);
  }
  CHECK(n > 0);
}

std::string error_of(const std::string& text) {
  const auto v = generate(text);
  CHECK_FALSE(v.good);
  return v.good ? "" : v.text;
}

// One damage of those that editing, copying and broken tools do.
std::string damaged(std::string text, Rng& random) {
  static const std::vector<std::string> kInserts = {"*x",
                                                    "&x ",
                                                    "{",
                                                    "}",
                                                    "[",
                                                    "]",
                                                    ": ",
                                                    "- ",
                                                    "\n",
                                                    "\t",
                                                    "'",
                                                    "\"",
                                                    "#",
                                                    "!!binary ",
                                                    "|\n",
                                                    "? ",
                                                    "---\n",
                                                    "%YAML 1.2\n",
                                                    "-1",
                                                    "1 << 63",
                                                    "18446744073709551616",
                                                    "0x",
                                                    "1e9",
                                                    "\xC3\xA9",
                                                    "\xFF",
                                                    std::string(1, '\0'),
                                                    "<<: *x\n",
                                                    "null",
                                                    "~",
                                                    ",",
                                                    "@",
                                                    "7:0:7"};
  const auto at = random.below(text.size());
  const auto line_start = [&](std::size_t p) {
    const auto q = text.rfind('\n', p);
    return q == std::string::npos ? 0 : q + 1;
  };
  const auto from = line_start(at);
  const auto end = std::min(text.find('\n', at), text.size() - 1) + 1;
  switch (random.below(6)) {
    case 0:
      text.insert(at, random.pick(kInserts));
      break;
    case 1:
      text.erase(at, random.between(1, 20));
      break;
    case 2:
      text[at] = static_cast<char>(random.bits(8));
      break;
    case 3:  // a line twice
      text.insert(from, text.substr(from, end - from));
      break;
    case 4:
      text.erase(from, end - from);
      break;
    default:
      text.resize(at);
  }
  return text;
}

void damage_all(unsigned rounds) {
  auto random = rng("damage");
  std::size_t refused = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    auto text = damaged(map_text(i % 3), random);
    while (random.chance(0.3) && !text.empty()) text = damaged(text, random);
    const auto v = generate(text);
    if (v.good) continue;
    ++refused;
    check_errors(v.text, text);
  }
  CHECK(refused > rounds / 3);
}

bool is_word(char c) { return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_'; }

// Replaces one word outside of comments; the map says something else then, or nothing.
void change_words(unsigned rounds) {
  auto random = rng("words");
  std::string good[3];
  for (std::size_t n = 0; n < 3; ++n) good[n] = generate(map_text(n)).text;
  for (unsigned i = 0; i < rounds; ++i) {
    auto text = map_text(i % 3);
    std::size_t at = 0;
    do {
      at = random.below(text.size());
    } while (!is_word(text[at]) ||
             text.substr(text.rfind('\n', at) + 1, at).find('#') < at - (text.rfind('\n', at) + 1));
    auto from = at, to = at;
    while (from > 0 && is_word(text[from - 1])) --from;
    while (is_word(text[to])) ++to;
    const auto old = text.substr(from, to - from);
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    text.replace(from, to - from, "zz9_q");
    const auto v = generate(text);
    if (!v.good) {
      check_errors(v.text, text);
    } else if (v.text == good[i % 3]) {
      FAIL("'" << old << "' in line " << line + 1 << " of " << kMaps[i % 3] << " says nothing");
    }
  }
}

const std::string kHead = "name: m\nversion: {major: 0, minor: 0, patch: 1}\n";

}  // namespace

TEST_CASE("damaged maps are read or refused with errors that have a place") { damage_all(300); }

TEST_CASE("a word that is changed is refused or changes what is generated") { change_words(150); }

TEST_CASE("damaged maps, for long", "[.soak]") {
  damage_all(20000);
  change_words(10000);
}

TEST_CASE("nesting without end is an error") {
  CHECK(error_of(kHead + "constants: {A: " + repeated("(", 100000) + "1" + repeated(")", 100000) +
                 "}\n") == "m.yaml:3:16: error: 'A': more than 100 '(' in '" + repeated("(", 60) +
                               "...' [expression]\n");
  CHECK(error_of(kHead + "constants: {A: " + repeated("-", 100000) + "1}\n").size() < 200);
  for (const auto& text :
       {kHead + "blocks: " + repeated("[", 50000) + repeated("]", 50000) + "\n",
        kHead + "blocks: " + repeated("{a: ", 50000) + "1" + repeated("}", 50000) + "\n"}) {
    const auto error = error_of(text);
    CHECK(error.find(": error: nested deeper than 500 levels [syntax]\n") != std::string::npos);
    check_errors(error, text);
  }
  for (const auto& text : {kHead + "blocks:\n  " + repeated("- ", 50000) + "1\n",
                           repeated("[", 50000), repeated("{", 50000), repeated("? ", 50000)}) {
    check_errors(error_of(text), text);
  }
}

TEST_CASE("aliases may not contain themselves, nor grow without end") {
  CHECK(error_of(kHead + "blocks: &b [*b]\n") ==
        "m.yaml:3:13: error: an alias inside of what it stands for [syntax]\n");
  std::string text = kHead + "x0: &x0 [a, a, a, a]\n";
  for (int i = 1; i < 40; ++i) {
    const auto n = std::to_string(i), m = "*x" + std::to_string(i - 1);
    text += "x" + n + ": &x" + n + " [" + m + ", " + m + ", " + m + "]\n";
  }
  CHECK(error_of(text).find("aliases make more than 4000000 values of this [syntax]") !=
        std::string::npos);
  CHECK(error_of(kHead + "blocks: *nobody\n").find("m.yaml:3:") == 0);
}

TEST_CASE("one file is one map in UTF-8") {
  CHECK(error_of(kHead + "---\nname: n\n") ==
        "m.yaml:3:1: error: a second document: a map is one, without '---' in it [syntax]\n");
  CHECK(error_of(kHead + "...\nname: n\n").find("a second document") != std::string::npos);
  CHECK(generate("%YAML 1.2\n---\n" + kHead).good);
  CHECK(generate("\xEF\xBB\xBF" + kHead).good);
  CHECK(error_of("name: m\ndescription: a\xC3(\n") ==
        "m.yaml:2:15: error: byte 0xc3 is no text in UTF-8: write the file in UTF-8, without "
        "control characters [encoding]\n");
  CHECK(error_of(std::string("\0", 1)).find("m.yaml:1:1: error: byte 0x00") == 0);
  CHECK(error_of("name: \x7F\n").find("m.yaml:1:7: error: byte 0x7f") == 0);
  // UTF-16, an overlong slash, half of a pair, what is behind the last character.
  for (const std::string bad :
       {"\xFF\xFEn", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    CHECK(error_of("name: " + bad).find("m.yaml:1:7: error: byte 0x") == 0);
  }
  CHECK(error_of("") == "m.yaml:1:1: error: the map must be a YAML mapping [syntax]\n");
  CHECK(error_of("# nothing\n\n").find("the map must be a YAML mapping") != std::string::npos);
}

TEST_CASE("descriptions are one paragraph of plain text in every output") {
  const auto with = [](const std::string& desc) {
    return kHead + "blocks:\n  - name: b\n    size: 0x100\n    desc: " + desc +
           "\n    registers: [{name: A, offset: 0, desc: " + desc +
           ", fields: [{name: f, bits: \"3:0\", access: ro, hw: in, desc: " + desc +
           ", unit: " + desc + "}]}]\n";
  };
  const auto folded = generate(with("\"one\\n  two\\tthree\\n\""));
  CHECK(folded.good);
  CHECK(folded.text == generate(with("one two three")).text);
  CHECK(error_of(with("\"a\\x01\"")).find("m.yaml:6:11: error: 'desc' holds a control character") ==
        0);
  CHECK(error_of(with("'a \\'")).find("m.yaml:6:11: error: 'desc' ends in a backslash") == 0);
  // Nothing of this leaves a comment or a text of an output.
  const auto v = generate(with("'a */ b /* c // d \"e\" `f` {g} %h <i> & \\ j'"));
  REQUIRE(v.good);
  CHECK(v.text.find("a */ b /* c") != std::string::npos);    // behind //
  CHECK(v.text.find("a * / b / * c") != std::string::npos);  // between /* and */
}

TEST_CASE("numbers out of all bounds are errors") {
  const auto block = [](const std::string& size, const std::string& regs) {
    return kHead + "blocks:\n  - name: b\n    size: " + size + "\n    registers:\n      - " + regs +
           "\n";
  };
  const std::string f = "fields: [{name: f, bits: \"3:0\", access: rw}]}";
  const std::string list[] = {
      block("18446744073709551616", "{name: A, offset: 0, " + f),
      block("0xFFFFFFFFFFFFFFFF", "{name: A, offset: 0, " + f),
      block("0", "{name: A, offset: 0, " + f),
      block("0x100", "{name: A, offset: 0xFFFFFFFFFFFFFFFC, " + f),
      block("0x100", "{name: A, offset: 0, count: 0, " + f),
      block("0x100", "{name: A, offset: 0, count: 0xFFFFFFFFFFFFFFFF, stride: 4, " + f),
      block("0x100", "{name: A, offset: 0, count: 2, stride: 0xFFFFFFFFFFFFFFFC, " + f),
      block("0x100", "{name: A, offset: 0, count: 3, stride: 0x8000000000000000, " + f),
      block("0x100", "{name: A, offset: 0, width: 0, " + f),
      block("0x100", "{name: A, offset: 0, width: 4294967328, " + f),
      block("0x100",
            "{name: A, offset: 0, fields: [{name: f, bits: \"4294967296:0\", access: rw}]}"),
      block(
          "0x100",
          "{name: A, offset: 0, fields: [{name: f, bits: \"4294967299:4294967296\", access: rw}]}"),
      block("0x100",
            "{name: A, offset: 0, fields: [{name: f, bits: \"3:0\", access: rw, reset: -1}]}"),
      block("0x100",
            "{name: A, offset: 0, fields: [{name: f, bits: \"3:0\", access: rw, reset: 1 << 64}]}"),
      block("0x100",
            "{name: A, offset: 0, fields: [{name: f, bits: \"3:0\", access: ro, counter: {incr: "
            "4294967297}}]}"),
      block("0x100", "{name: A, offset: 0, fields: []}"),
      block("1 << 32",
            "{name: F, offset: 0, count: 60000, stride: 0x10000, registers: [{name: A, "
            "offset: 0, count: 60000, stride: 4, " +
                f + "]}"),
      kHead + "descriptors: [{name: d, size: 0, fields: [{name: f, at: 0, width: 8}]}]\n",
      kHead +
          "descriptors: [{name: d, size: 8, fields: [{name: f, at: 0x2000000000000000, width: "
          "8}]}]\n",
      kHead +
          "descriptors: [{name: d, size: 8, fields: [{name: f, at: 0, bit: 4294967296, width: "
          "8}]}]\n",
      kHead + "descriptors: [{name: d, size: 8, fields: [{name: f, at: 0, width: 4294967304}]}]\n",
      "name: m\nversion: {major: 4294967296, minor: 0, patch: 1}\n",
  };
  for (const auto& text : list) {
    CAPTURE(text);
    check_errors(error_of(text), text);
  }
  // More registers than fit in memory, from many arrays that are good each.
  std::string many = "blocks:\n  - name: b\n    size: 1 << 32\n    registers:\n";
  for (int i = 0; i < 20; ++i) {
    many += "      - {name: A" + std::to_string(i) + ", offset: " + std::to_string(i * 0x40000) +
            ", count: 65536, stride: 4, " + f + "\n";
  }
  CHECK(error_of(kHead + many) ==
        "m.yaml:4:5: error: block b has 1310720 registers with all elements of its arrays: at most "
        "1000000 [range]\n");
}

TEST_CASE("files that are no maps are errors") {
  const auto dir = fs::temp_directory_path() / ("rnic_fuzz_" + std::to_string(::getpid()));
  fs::create_directories(dir);
  const auto says = [&](const std::string& name, const std::string& text) {
    const auto path = (dir / name).string();
    if (!text.empty()) std::ofstream(path, std::ios::binary) << text;
    Diagnostics diags(path);
    CHECK(!load_map_file(path, diags));
    auto s = diags.text();
    for (std::size_t p; (p = s.find(dir.string() + "/")) != std::string::npos;) {
      s.erase(p, dir.string().size() + 1);
    }
    return s;
  };
  CHECK(says("none.yaml", "") == "none.yaml: error: cannot read the file [file]\n");
  CHECK(says(".", "") == ".: error: is a folder: name a file [file]\n");
  std::ofstream(dir / "empty.yaml") << "";
  CHECK(says("empty.yaml", "") ==
        "empty.yaml:1:1: error: the map must be a YAML mapping [syntax]\n");
  CHECK(says("dir.yaml", kHead + "include: .\n").find("is a folder: name a file [include]") !=
        std::string::npos);
  CHECK(says("self.yaml", "include: self.yaml\n").find("'self.yaml' includes itself") !=
        std::string::npos);
  std::ofstream(dir / "b.yaml") << "include: [c.yaml]\n";
  std::ofstream(dir / "c.yaml") << "include: ./b.yaml\n";
  CHECK(says("a.yaml", kHead + "include: b.yaml\n") ==
        "c.yaml:1:10: error: './b.yaml' includes itself [include]\n");
  CHECK(says("none_inc.yaml", kHead + "include: nowhere.yaml\n")
            .find("nowhere.yaml' (looked for beside this file): cannot read the file [include]") !=
        std::string::npos);
  fs::remove_all(dir);
  Diagnostics diags("/dev/zero");
  CHECK(!load_map_file("/dev/zero", diags));
  CHECK(diags.text() == "/dev/zero: error: is larger than 64 MB [file]\n");
}
