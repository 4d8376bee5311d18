// SPDX-License-Identifier: Apache-2.0
//
// The fast reader of YAML gives the tree that the library gives, or leaves the text to it.
#include "tests/regs/compile.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"
#include "yaml_fast.hpp"

using namespace rnic::regs;
using rnic::test::read_text;
using rnic::test::rng;

namespace {

std::string dump(const YamlNode* n) {
  if (n == nullptr) return "nothing";
  std::string s = std::to_string(n->pos.line) + ":" + std::to_string(n->pos.col) + "=" +
                  std::to_string(static_cast<int>(n->kind)) + "'" + n->text + "'(";
  for (const auto* x : n->items) s += dump(x) + " ";
  return s + ")";
}

// The trees; the first is empty when the fast reader gave up.
std::pair<std::string, std::string> both(const std::string& text) {
  YamlTree fast, slow;
  Diagnostics diags("m.yaml");
  const auto* f = parse_yaml_fast(text, 0, fast);
  const auto* s = slow.parse_slow(text, 0, diags);
  return {f == nullptr ? "" : dump(f), dump(s)};
}

}  // namespace

TEST_CASE("the fast reader reads what maps are made of as the library does") {
  const std::string list[] = {
      "a: 1\nb: two words\n",
      "a: {b: 1, c: [x, 'y', \"z\"]}\n",
      "a:\n  - b: 1\n    c: 2\n  - {d: 3}\n  - plain\n",
      "a:\n- b\n- c\nd: e\n",
      "# head\n\na:   1   # tail\n\n  # inner\nb: \"#no\" # yes\n",
      "a: {b: \"7:0\", c: 7:0,\n    d: 4 * (N + 1)}\n",
      "a: 'it''s'\nb: \"q\\\"q\"\n",
      "- a\n-   b: 1\n    c: 2\n",
      "a: [1,\n  2, # two\n  3]\nb: {}\nc: []\n",
      "a: null\nb: ~\n",
      "a:\n  b:\n    c: 1\nd: http://x/y\n",
      "a: b#c\nb: -1\n",
      "a: 1\r\nb: 2\r\n",
  };
  for (const auto& text : list) {
    CAPTURE(text);
    const auto [fast, slow] = both(text);
    CHECK(fast == slow);
  }
}

TEST_CASE("the fast reader leaves the rest to the library") {
  const std::string list[] = {
      "a: &x 1\nb: *x\n", "a: |\n  text\n", "a: one\n  two\n", "a:\nb: 1\n",
      "a: {b}\n",         "a: {b: 1\n",     "--- \na: 1\n",    "a:\t1\n",
      "? a\n: b\n",       "a: \"x\n",       "{a: 1}: b\n",     "a: [1 2] 3\n",
      "a: b: c\n",        "a: 1\n  b: 2\n", "a : 1\n",         "",
  };
  for (const auto& text : list) {
    CAPTURE(text);
    CHECK(both(text).first.empty());
  }
}

TEST_CASE(
    "the fast reader reads the map of the NIC, or a damaged one, as the library does or not") {
  const auto text = read_text(RNIC_SOURCE_DIR "/regs/rnic.yaml");
  const auto [fast, slow] = both(text);
  if (!fast.empty()) CHECK((fast == slow));
  // A piece of it with a few characters changed: never another tree.
  auto random = rng("damage");
  const std::string marks = " :,{}[]#'\"-\n\tx&*|";
  int read = 0;
  for (int n = 0; n < 3000; ++n) {
    const auto from = text.find('\n', random.below(text.size() - 3000)) + 1;
    auto piece = text.substr(from, text.find('\n', from + 300) + 1 - from);
    for (std::uint64_t k = random.below(3); k > 0; --k) {
      piece[random.below(piece.size())] = marks[random.below(marks.size())];
    }
    const auto [f, s] = both(piece);
    if (f.empty()) continue;
    ++read;
    CAPTURE(piece);
    REQUIRE(f == s);
  }
  CHECK(read > 100);
}
