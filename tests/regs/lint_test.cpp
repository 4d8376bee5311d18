// SPDX-License-Identifier: Apache-2.0
//
// Warnings about maps that are right but hard on drivers: each with exact text, and the map that is
// no reason for it.
#include "lint.hpp"

#include "tests/support/catch.hpp"

using namespace rnic::regs;

namespace {

// A map with these entries of block b (from line 6 on).
std::string lint(const std::string& lines, const LintOptions& options = {}) {
  Diagnostics diags("m.yaml");
  const auto map = load_map_text(
      "name: m\nversion: {major: 0, minor: 0, patch: 1}\nblocks:\n  - name: b\n    size: 0x4000\n" +
          lines,
      diags);
  INFO(diags.text());
  REQUIRE(map.has_value());
  Warnings warnings;
  lint_map(*map, options, diags, warnings);
  CHECK(warnings.empty() == warnings.text(diags).empty());
  return diags.text() + warnings.text(diags);
}

const std::string kTwo =
    "    registers:\n"
    "      - {name: BELL, offset: 0x0, fields: [{name: v, bits: \"15:0\", access: wt}]}\n"
    "      - {name: KEY, offset: 0xFFC, fields: [{name: v, bits: \"31:0\", access: rw}]}\n";

}  // namespace

TEST_CASE("a process and the kernel share a page of registers") {
  CHECK(lint(kTwo) == "");
  CHECK(lint(kTwo, {.user = {"b"}}) == "");
  CHECK(
      lint(kTwo, {.user = {"b.BELL"}}) ==
      "m.yaml:7:9: warning: BELL, which processes reach, is in the page of 4096 bytes at 0x0 with "
      "KEY, which the kernel keeps (line 8): move one of them [page-privilege]\n");
  auto apart = kTwo;
  apart.replace(apart.find("0xFFC"), 5, "0x1000");
  CHECK(lint(apart, {.user = {"b.BELL"}}) == "");
  // A window of two pages reaches the second.
  CHECK(lint(apart + "    windows:\n"
                     "      - {name: PUSH, offset: 0x2000, size: 0x2000, access: rw}\n",
             {.user = {"b.PUSH", "b.BELL"}}) == "");
}

TEST_CASE("elements for two processes share a page") {
  const std::string file =
      "    registers:\n"
      "      - name: CHAN\n"
      "        offset: 0\n"
      "        count: 2\n"
      "        stride: 0x800\n"
      "        registers: [{name: BELL, offset: 0, fields: [{name: v, bits: \"15:0\", access: "
      "rw}]}]\n";
  CHECK(lint(file) == "");
  CHECK(lint(file, {.user = {"b.CHAN"}}) ==
        "m.yaml:10:17: warning: elements of CHAN for two processes share a page: with a stride of "
        "0x800 they reach each other's; write at least 0x1000 [page-privilege]\n");
}

TEST_CASE("a read with an effect where the host may read ahead") {
  const std::string one =
      "    registers:\n"
      "      - {name: A, offset: 0, fields: [{name: v, bits: \"7:0\", access: rc, hw: set}, "
      "{name: w, bits: \"15:8\", access: rw}]}\n";
  CHECK(lint(one) == "");
  CHECK(lint(one, {.prefetchable = {"b"}}) ==
        "m.yaml:7:70: warning: a read of A.v has an effect, and block b is prefetchable: it may be "
        "read when nobody asks; take another access, or map it uncached [read-side-effect]\n");
  CHECK(lint(one, {.write_combining = {"b"}}).find("block b is write_combining") !=
        std::string::npos);
}

TEST_CASE("writes that count, and writes of two words, where the host combines them") {
  const std::string two =
      "    registers:\n"
      "      - {name: BELL, offset: 0x0, fields: [{name: v, bits: \"15:0\", access: wt}]}\n"
      "      - {name: WIDE, offset: 0x8, width: 64, fields: [{name: v, bits: \"63:0\", access: "
      "rw}]}\n"
      "      - {name: PLAIN, offset: 0x10, fields: [{name: v, bits: \"15:0\", access: rw}]}\n";
  CHECK(lint(two) == "");
  CHECK(
      lint(two, {.write_combining = {"b"}}) ==
      "m.yaml:7:76: warning: every write of BELL.v counts, and block b is write_combining: two may "
      "become one; make it a value that only grows, or map it uncached [combined-write]\n"
      "m.yaml:8:9: warning: WIDE commits with its high word, and block b is write_combining: its "
      "words may arrive in either order; take buffered: false, or map it uncached "
      "[combined-write]\n");
}

TEST_CASE("a field that is hurt by writing back what it reads, in a byte with one to be written") {
  const auto with = [](const std::string& bits) {
    return "    registers:\n      - {name: A, offset: 0, fields: [{name: ev, bits: \"3:0\", "
           "access: "
           "w1c, hw: set}, {name: mode, bits: \"" +
           bits + "\", access: rw}]}\n";
  };
  CHECK(lint(with("7:4")) ==
        "m.yaml:7:56: warning: A.ev (w1c) shares a byte with mode (rw): to write one a driver must "
        "know what to write to the other; move it to another byte or register [mixed-write]\n");
  CHECK(lint(with("15:8")) == "");  // a byte write reaches it alone
}

TEST_CASE("one value in two registers") {
  CHECK(
      lint("    registers:\n"
           "      - {name: BASE_LO, offset: 4, fields: [{name: v, bits: \"31:0\", access: rw}]}\n"
           "      - {name: BASE_HI, offset: 8, fields: [{name: v, bits: \"31:0\", access: "
           "rw}]}\n") ==
      "m.yaml:7:9: warning: BASE_LO and BASE_HI (line 8) are one value in two registers: it can be "
      "read or written in halves; write BASE with width: 64, at a multiple of 8 [split-value]\n");
}

TEST_CASE("options name what the map has") {
  CHECK(lint(kTwo, {.prefetchable = {"c"}, .user = {"b.BEL", "x.Y"}}) ==
        "m.yaml: error: --prefetchable c: no block 'c'; did you mean 'b'? [option]\n"
        "m.yaml: error: --user b.BEL: no 'BEL' in block b; did you mean 'BELL'? [option]\n"
        "m.yaml: error: --user x: no block 'x'; did you mean 'b'? [option]\n");
}
