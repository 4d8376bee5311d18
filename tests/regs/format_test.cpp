// SPDX-License-Identifier: Apache-2.0
//
// The canonical layout: exact texts, comments, and that maps stay the maps they were.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "model.hpp"
#include "tests/regs/compile.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"
#include "yaml_format.hpp"

using namespace rnic::regs;
using rnic::test::read_text;
using rnic::test::rng;

namespace {

std::string formatted(const std::string& text) {
  Diagnostics diags("m.yaml");
  const auto result = format_yaml(text, diags);
  return result ? *result : diags.text();
}

std::vector<std::string> comments_of(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto at = line.find("# ");
    if (at == std::string::npos || line.find('"', at) != std::string::npos) continue;
    while (!line.empty() && line.back() == ' ') line.pop_back();
    list.push_back(line.substr(at));
  }
  return list;
}

const std::vector<std::string> kMaps = {
    RNIC_SOURCE_DIR "/regs/rnic.yaml", RNIC_SOURCE_DIR "/tests/regs_rtl/all_map.yaml",
    RNIC_SOURCE_DIR "/tests/regs_rtl/proof_map.yaml", RNIC_SOURCE_DIR "/tests/regs/keys_map.yaml",
    RNIC_SOURCE_DIR "/tests/regs/keys_included.yaml"};

// Spaces, empty lines and line ends that mean nothing.
std::string disturbed(const std::string& text, std::uint64_t seed) {
  auto r = rng("format." + std::to_string(seed));
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (r.u64() % 5 == 0) out += std::string(r.u64() % 3, ' ') + "\n";
    const auto first = line.find_first_not_of(' ');
    if (first != std::string::npos && line.find("{") != std::string::npos &&
        line.find('"') == std::string::npos && line.find('#') == std::string::npos) {
      std::string wide;
      for (const char c : line) {
        wide += c;
        if ((c == '{' || c == ',') && r.u64() % 2 == 0) wide += "   ";
      }
      line = wide;
    }
    out += line + std::string(r.u64() % 3, ' ') + (r.u64() % 4 == 0 ? "\r\n" : "\n");
  }
  return out;
}

}  // namespace

TEST_CASE("the layout is canonical: exact texts") {
  struct Case {
    std::string from, to;
  };
  const std::string word(30, 'w');
  const std::vector<Case> cases = {
      {"a:   1\n\n\n\nb:  [ 1,2 ,  3 ]   # tail\n", "a: 1\n\nb: [1, 2, 3]  # tail\n"},
      {"# head\na:\n- b: 1\n  c: 2\n-   d: {x: 1,\n  y: 2}\n",
       "# head\na:\n  - b: 1\n    c: 2\n  - d: {x: 1, y: 2}\n"},
      {"a:\n      b: 1\n      # of c\n      c: 2\n      # last\nd: 3\n",
       "a:\n  b: 1\n  # of c\n  c: 2\n  # last\nd: 3\n"},
      {"a: # why\n  - 'x  y'\n  - \"q\\\"\"\n", "a:  # why\n  - 'x  y'\n  - \"q\\\"\"\n"},
      {"a: {}\nb: []\nc:\nd: ~\n", "a: {}\nb: []\nc:\nd: ~\n"},
      {"a: &x [1]\nb: *x\nc: &y\n  - 1\n", "a: &x [1]\nb: *x\nc: &y\n  - 1\n"},
      {"a: {k: 1, # one\n  # two\n  l: 2}\n", "a: {k: 1,  # one\n    # two\n    l: 2}\n"},
      {"a: [" + word + ", " + word + ", " + word + ", " + word + "]\n",
       "a: [" + word + ", " + word + ", " + word + ",\n    " + word + "]\n"},
      {"a: [{n: " + word + ", m: " + word + "}, {n: " + word + ", m: " + word + "}]\n",
       "a: [{n: " + word + ", m: " + word + "},\n    {n: " + word + ", m: " + word + "}]\n"},
      {"", ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.from);
    CHECK(formatted(c.from) == c.to);
    CHECK(formatted(c.to) == c.to);
  }
}

TEST_CASE(
    "formatted maps have the same hash and comments, at most 120 columns, and stay as they are") {
  for (const auto& path : kMaps) {
    CAPTURE(path);
    const auto text = read_text(path);
    const auto once = formatted(text);
    CHECK(formatted(once) == once);
    CHECK(comments_of(once) == comments_of(text));
    if (path.find("included") != std::string::npos) continue;
    // Beside the map, so that its includes are found.
    const auto copy =
        std::filesystem::path(path).parent_path() / (".fmt_" + std::to_string(getpid()) + ".yaml");
    std::ofstream(copy) << once;
    Diagnostics before(path), after("formatted");
    const auto a = load_map_file(path, before);
    const auto b = load_map_file(copy.string(), after);
    std::filesystem::remove(copy);
    INFO(after.text());
    REQUIRE((a && b));
    CHECK(a->hash == b->hash);
  }
}

TEST_CASE("the NIC's map is formatted") {
  const auto text = read_text(RNIC_SOURCE_DIR "/regs/rnic.yaml");
  CHECK(formatted(text) == text);
}

TEST_CASE("spaces, empty lines and line ends that mean nothing do not matter") {
  for (const auto& path : kMaps) {
    auto text = formatted(read_text(path));
    // Without the empty lines that the author put, those that are added are all there are.
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(path, seed);
      const auto again = formatted(disturbed(text, seed));
      const auto squeeze = [](std::string s) {
        for (std::size_t at; (at = s.find("\n\n")) != std::string::npos;) s.erase(at, 1);
        return s;
      };
      CHECK(squeeze(again) == squeeze(text));
    }
  }
}

TEST_CASE("what cannot be kept is refused with its place, and nothing is changed") {
  CHECK(formatted("a: |\n  text\n") ==
        "m.yaml:1:4: error: a block scalar; write the text in one line, in quotes [format]\n");
  CHECK(formatted("a: one\n  two\n") ==
        "m.yaml:2:3: error: a text over several lines; write it in one [format]\n");
  CHECK(formatted("a: !t 1\n") == "m.yaml:1:4: error: a tag; a map needs none [format]\n");
  CHECK(formatted("---\na: 1\n").find("m.yaml:1:1: error: a directive or document mark") == 0);
  CHECK(formatted("a: [1\n").find("[syntax]") != std::string::npos);
}

TEST_CASE("broken texts are refused or formatted, never a crash and never another map") {
  const auto text = read_text(RNIC_SOURCE_DIR "/tests/regs/keys_map.yaml");
  auto r = rng("format.broken");
  const std::string signs = " \n\t{}[],:#-&*'\"|>!?a0";
  for (int i = 0; i < 3000; ++i) {
    auto s = text;
    for (int k = 0; k < 3; ++k) {
      const auto at = r.u64() % s.size();
      if (r.u64() % 2 == 0) {
        s.erase(at, 1 + r.u64() % 4);
      } else {
        s.insert(at, 1, signs[r.u64() % signs.size()]);
      }
    }
    Diagnostics diags("m.yaml");
    const auto once = format_yaml(s, diags);
    CHECK(once.has_value() != diags.has_errors());
    if (!once) continue;
    Diagnostics again("m.yaml");
    const auto twice = format_yaml(*once, again);
    CAPTURE(s);
    REQUIRE(twice.has_value());
    CHECK(*twice == *once);
  }
}
