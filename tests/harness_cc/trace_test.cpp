// SPDX-License-Identifier: Apache-2.0
//
// The reader of traces names file, line and column of what it refuses; the comparison finds what
// was changed.

#include <cmath>
#include <filesystem>

#include "harness/cc/trace_compare.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/trace_copy.hpp"

using namespace rnic::cc;
namespace fs = std::filesystem;

namespace {

using rnic::test::kTraces;
using rnic::test::read_file;

class Copy : public rnic::test::TraceCopy {
 public:
  using TraceCopy::TraceCopy;
  std::string complaint() const {
    try {
      Trace::load(path());
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a bad trace is refused with file, line and column") {
  Copy t("dcqcn_mlx_burst");
  REQUIRE(t.complaint() == "");
  SECTION("a cell that is no number") {
    t.change(".csv", "\n10137,CNP,,100000000000", "\n10137,CNP,,fast");
    CHECK(has(t.complaint(), "t.csv:3: rate_bps: 'fast' is not a number"));
  }
  SECTION("an event that nobody knows") {
    t.change(".csv", "\n10137,CNP", "\n10137,CNQ");
    CHECK(has(t.complaint(), "t.csv:3: event: 'CNQ' is no event"));
  }
  SECTION("time that runs backwards") {
    t.change(".csv", "\n10637,CNP", "\n10136,CNP");
    CHECK(has(t.complaint(), "t.csv:4: time_ns: runs backwards"));
  }
  SECTION("a short row") {
    t.change(".csv", "\n10637,CNP,", "\n10637,");
    CHECK(has(t.complaint(), "t.csv:4: has 11 cells, the header 12"));
  }
  SECTION("a missing column") {
    t.change(".csv", "target_bps", "goal_bps");
    CHECK(has(t.complaint(), "target_bps: no such column"));
  }
  SECTION("a missing parameter") {
    t.change(".json", "\"dec_us\"", "\"dec_ms\"");
    CHECK(has(t.complaint(), "t.json: params.dec_us is missing"));
  }
  SECTION("a parameter out of range") {
    t.change(".json", "\"g\": 0.00390625", "\"g\": 1.5");
    CHECK(has(t.complaint(), "t.json: params.g is 1.5, must be"));
  }
  SECTION("another variant, another algorithm") {
    t.change(".json", "\"mlx\"", "\"bbr\"");
    CHECK(has(t.complaint(), "variant 'bbr' is none of"));
    t.change(".json", "\"dcqcn\"", "\"swift\"");
    CHECK(has(t.complaint(), "algorithm 'swift' is none of"));
  }
  SECTION("JSON that is none") {
    t.change(".json", "{", "(");
    CHECK(has(t.complaint(), "t.json: "));
  }
  SECTION("no such file") {
    fs::remove(t.path(".json"));
    CHECK(has(t.complaint(), "t.json: cannot be read"));
  }
}

TEST_CASE("a burst must be count:size:gap") {
  Copy t("dcqcn_paper_bc_byte_only");
  t.change(".csv", "100:1000:200", "100:1000");
  CHECK(has(t.complaint(), "arg: '100:1000' is not count:size:gap_ns"));
}

TEST_CASE("a value that deviates is found with its line") {
  Copy t("dcqcn_mlx_burst");
  const auto run = [&] {
    DcqcnModelUnit unit;
    return compare(*Trace::load(t.path()).dcqcn, unit);
  };
  REQUIRE(run().good());
  SECTION("a rate") {
    t.change(".csv", "\n10637,CNP,,100000000000", "\n10637,CNP,,100300000000");
    const Comparison c = run();
    CHECK(!c.good());
    CHECK(c.worst.at("rate").line == 4);
    CHECK(std::abs(c.worst.at("rate").value - 0.003) < 1e-4);
  }
  SECTION("a flag") {
    t.change(".csv", "\n10137,CNP,,100000000000,100000000000,1,0,,,,0,1",
             "\n10137,CNP,,100000000000,100000000000,1,0,,,,1,1");
    REQUIRE(run().differences.size() == 1);
    CHECK(has(run().differences.front(), "line 3: cnp_alpha_flag is"));
  }
  SECTION("an event that is not there") {
    std::string text = read_file(t.path());
    const size_t at = text.find(",DEC,1");
    REQUIRE(at != std::string::npos);
    const size_t from = text.rfind('\n', at), to = text.find('\n', at);
    t.change(".csv", text.substr(from, to - from), "");
    CHECK(!run().good());
    CHECK(has(run().differences.front(), "an event of its own"));
  }
}

TEST_CASE("a byte counter trace is run by the paper's rules, and the comparison says so") {
  DcqcnModelUnit unit;
  const Comparison c = compare(*Trace::load(kTraces + "dcqcn_bc_timer_only.json").dcqcn, unit);
  CHECK(has(c.note, "byte_counter is no mode"));
}
