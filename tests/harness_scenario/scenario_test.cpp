// SPDX-License-Identifier: Apache-2.0
#include "harness/scenario/scenario.hpp"

#include "tests/support/catch.hpp"

using namespace rnic::scenario;
using rnic::test::contains_text;

namespace {

enum class Mode { kDcqcn, kHpcc };

struct Config {
  uint64_t seed = 1;
  uint64_t delay_ps = 200'000;
  uint64_t rate = 400'000'000'000;
  uint32_t mtu = 4096;
  uint16_t port = 7;
  bool trace = false;
  double loss = 0;
  std::string title = "none";
  Mode mode = Mode::kDcqcn;
  std::vector<uint64_t> sizes;
  std::vector<std::string> nics;
  std::vector<std::pair<std::string, uint64_t>> regions;
};

void read(Document& doc, Config& c) {
  Reader r(doc);
  r.opt("seed", c.seed);
  r.opt("title", c.title);
  r.opt("trace", c.trace);
  r.opt("port", c.port);
  r.opt("mtu", c.mtu, power_of_two(256, 4096));
  r.opt("mode", c.mode, one_of<Mode>({{"dcqcn", Mode::kDcqcn}, {"hpcc", Mode::kHpcc}}));
  r.list("sizes", c.sizes, bytes(1, 1 << 30), 0, 4);
  r.child("wire", [&](Reader& w) {
    w.opt("delay", c.delay_ps, duration(0, 1'000'000'000));
    w.opt("rate", c.rate, bit_rate());
    w.opt("loss", c.loss, probability());
  });
  r.each("nics", [&](Reader& n, size_t) {
    std::string name;
    n.req("name", name);
    c.nics.push_back(name);
  });
  r.each_named("regions", [&](const std::string& name, Reader& n) {
    uint64_t size = 0;
    n.req("size", size, bytes());
    c.regions.emplace_back(name, size);
  });
}

Config parse(const std::string& text) {
  Document doc = Document::parse(text, "t.yaml");
  Config c;
  read(doc, c);
  doc.check();
  return c;
}

std::string errors_of(const std::string& text) {
  try {
    parse(text);
  } catch (const ScenarioError& e) {
    return e.what();
  }
  return "";
}

template <typename T>
std::optional<T> value(const Value<T>& v, const std::string& s) {
  std::string why;
  return v.parse(s, why);
}

}  // namespace

TEST_CASE("a full scenario reads into its structure with units") {
  const Config c = parse(R"(
seed: 0x1F
title: "two nodes"
trace: true
mtu: 1024
mode: hpcc
sizes: [8, 64 B, 4 KiB, 1 MiB]
wire: {delay: 0.2 us, rate: 100 Gb/s, loss: 2 %}
nics:
  - name: a
  - {name: b}
regions:
  host: {size: 2 GiB}
  gpu: {size: 0x1000}
)");
  CHECK(c.seed == 31);
  CHECK(c.title == "two nodes");
  CHECK(c.trace);
  CHECK(c.mtu == 1024);
  CHECK(c.mode == Mode::kHpcc);
  CHECK(c.sizes == std::vector<uint64_t>{8, 64, 4096, 1 << 20});
  CHECK(c.delay_ps == 200'000);
  CHECK(c.rate == 100'000'000'000);
  CHECK(c.loss == 0.02);
  CHECK(c.nics == std::vector<std::string>{"a", "b"});
  REQUIRE(c.regions.size() == 2);
  CHECK(c.regions[0].second == 2ull << 30);
  CHECK(c.regions[1].second == 0x1000);
}

TEST_CASE("missing optional keys keep their defaults") {
  const Config c = parse("seed: 5\n");
  CHECK(c.delay_ps == 200'000);
  CHECK(c.title == "none");
  const Config empty = parse("");
  CHECK(empty.seed == 1);
}

TEST_CASE("an unknown key is refused with file, line, column and a suggestion") {
  CHECK(errors_of("seed: 1\nwire:\n  dealy: 1 ns\n") ==
        "t.yaml:3:3: key 'wire.dealy': unknown key; did you mean 'delay'?");
  CHECK(errors_of("wire: {zzzzzzzz: 1}\n") ==
        "t.yaml:1:8: key 'wire.zzzzzzzz': unknown key, expected one of delay, rate, loss");
  CHECK(errors_of("nics: [{name: a, color: red}]\n") ==
        "t.yaml:1:18: key 'nics[0].color': unknown key, expected one of name");
}

TEST_CASE("a bad value is refused with what was got and what was expected") {
  CHECK(errors_of("mtu: 1000\n") ==
        "t.yaml:1:6: key 'mtu': got '1000', expected a power of two, 256 .. 4096");
  CHECK(errors_of("trace: yes\n") == "t.yaml:1:8: key 'trace': got 'yes', expected true or false");
  CHECK(errors_of("mode: hpc\n") ==
        "t.yaml:1:7: key 'mode': got 'hpc', expected one of dcqcn, hpcc (did you mean 'hpcc'?)");
  CHECK(errors_of("wire: {delay: 200}\n") ==
        "t.yaml:1:15: key 'wire.delay': got '200', expected a time such as '200 ns' (ps, ns, us, "
        "ms, s), at most 1 ms "
        "(the unit is missing)");
  CHECK(errors_of("wire: {delay: 2 ms}\n") ==
        "t.yaml:1:15: key 'wire.delay': got '2 ms', expected a time such as '200 ns' (ps, ns, us, "
        "ms, s), at most 1 ms "
        "(out of range)");
  CHECK(errors_of("wire: {rate: 400 Gbps}\n") ==
        "t.yaml:1:14: key 'wire.rate': got '400 Gbps', expected a rate such as '400 Gb/s' (b/s, "
        "kb/s, Mb/s, Gb/s, Tb/s), "
        "at least 1 b/s (unknown unit 'Gbps')");
  CHECK(errors_of("seed: -1\n") == "t.yaml:1:7: key 'seed': got '-1', expected a whole number");
  CHECK(errors_of("port: 65536\n") ==
        "t.yaml:1:7: key 'port': got '65536', expected a whole number, at most 65535");
  CHECK(errors_of("seed: [1]\n") == "t.yaml:1:7: key 'seed': got a list, expected a whole number");
  CHECK(errors_of("wire: 5\n") == "t.yaml:1:7: key 'wire': got a plain value, expected a mapping");
  CHECK(errors_of("nics: {name: a}\n") ==
        "t.yaml:1:7: key 'nics': got a mapping, expected a list of mappings");
  CHECK(errors_of("sizes: [1, 2, 3, 4, 5]\n") ==
        "t.yaml:1:8: key 'sizes': got 5 entries, expected 0 .. 4");
  CHECK(errors_of("sizes: [1, 4 KB]\n") ==
        "t.yaml:1:12: key 'sizes[1]': got '4 KB', expected a size such as '4 KiB' (B, KiB, MiB, "
        "GiB, TiB), 1 B .. 1 GiB "
        "(unknown unit 'KB')");
  CHECK(errors_of("nics: [{}]\n") == "t.yaml:1:8: key 'nics[0].name': missing");
  CHECK(errors_of("seed:\n") == "t.yaml:1:1: key 'seed': got nothing, expected a whole number");
  CHECK(errors_of("- a\n- b\n") == "t.yaml:1:1: got a list, expected a mapping");
}

TEST_CASE("a key given twice is refused, not silently dropped") {
  CHECK(errors_of("seed: 1\nmtu: 256\nseed: 2\n") == "t.yaml:3:1: key 'seed': given twice");
}

TEST_CASE("all errors of a file come together, in file order") {
  const std::string e = errors_of("mtu: 7\nwire:\n  rate: fast\n  x: 1\nsed: 3\n");
  CHECK(std::count(e.begin(), e.end(), '\n') == 3);
  CHECK(e.find("t.yaml:1:6") < e.find("t.yaml:3:9"));
  CHECK(e.find("t.yaml:3:9") < e.find("t.yaml:4:3"));
  CHECK(e.find("t.yaml:4:3") < e.find("t.yaml:5:1: key 'sed': unknown key; did you mean 'seed'?"));
}

TEST_CASE("text that is not YAML names the place") {
  CHECK_THROWS_WITH(Document::parse("a: [1, 2\nb: 3\n", "broken.yaml"),
                    contains_text("broken.yaml:2:"));
  CHECK_THROWS_WITH(Document::load("/nonexistent/s.yaml"),
                    contains_text("/nonexistent/s.yaml: cannot open: No such file"));
  CHECK_THROWS_WITH(Document::load("/tmp"), contains_text("/tmp: cannot read: is a directory"));
}

TEST_CASE("a value of the command line overrides the file and is checked like it") {
  Document doc = Document::parse("wire: {delay: 1 ns}\nnics: [{name: a}, {name: b}]\n", "t.yaml");
  doc.set("wire.delay=7 ns");
  doc.set("wire.rate", "10 Gb/s");
  doc.set("nics.1.name", "c");
  doc.set("sizes", "[1, 2]");
  Config c;
  read(doc, c);
  doc.check();
  CHECK(c.delay_ps == 7000);
  CHECK(c.rate == 10'000'000'000);
  CHECK(c.nics == std::vector<std::string>{"a", "c"});
  CHECK(c.sizes == std::vector<uint64_t>{1, 2});
  CHECK_THROWS_WITH(doc.set("nics.5.name=x"), contains_text("'5' is not an index of a list of 2"));
  CHECK_THROWS_WITH(doc.set("nonsense"), contains_text("not of the form path=value"));
  doc.set("wire.colour=red");
  Config d;
  read(doc, d);
  // It stands nowhere in the file.
  CHECK_THROWS_WITH(doc.check(),
                    contains_text("--set wire.colour=red: key 'wire.colour': unknown key"));
  Document list = Document::parse("sizes: [1]\nnics: [{name: a}]\n", "t.yaml");
  list.set("nics.0.weight=7");
  Config e;
  read(list, e);
  CHECK_THROWS_WITH(list.check(), contains_text("--set nics.0.weight=7: key 'nics[0].weight'"));
}

TEST_CASE("rules between values are reported at the value") {
  Document doc = Document::parse("a: 1\nb: 2\n", "t.yaml");
  {
    Reader r(doc);
    uint32_t a = 0, b = 0;
    r.req("a", a);
    r.req("b", b);
    if (b > a) r.error("b", "must not exceed a");
    CHECK(r.where() == "t.yaml:1");
    CHECK_THROWS_AS(doc.check(), std::logic_error);  // a reader is still open
  }
  CHECK_THROWS_WITH(doc.check(), "t.yaml:2:4: key 'b': must not exceed a");
}

TEST_CASE("quantities are exact or refused") {
  CHECK(value(duration(), "1.5us") == 1'500'000u);
  CHECK(value(duration(), "0") == 0u);
  CHECK(value(duration(), "0.001 ns") == 1u);
  CHECK_FALSE(value(duration(), "0.5 ps"));
  CHECK_FALSE(value(duration(), "1.2.3 ns"));
  CHECK_FALSE(value(duration(), "ns"));
  CHECK_FALSE(value(duration(), "-1 ns"));
  CHECK_FALSE(value(duration(), "99999999999 s"));
  CHECK(value(bit_rate(), "25.78125 Gb/s") == 25'781'250'000u);
  CHECK(value(frequency(), "312.5 MHz") == 312'500'000u);
  CHECK(value(bytes(), "1_048_576") == 1u << 20);
  CHECK(value(bytes(), "1.5 KiB") == 1536u);
  CHECK(value(bytes(), "0x10 KiB") == 16384u);
  CHECK_FALSE(value(bytes(), "1.3 B"));
  CHECK(value(unsigned_integer(), "18446744073709551615") == kMaxU64);
  CHECK_FALSE(value(unsigned_integer(), "18446744073709551616"));
  CHECK_FALSE(value(unsigned_integer(), "0x"));
  CHECK_FALSE(value(unsigned_integer(), "_1"));
  CHECK_FALSE(value(unsigned_integer(), "1e3"));
  CHECK(value(signed_integer(), "-0x10") == -16);
  CHECK(value(signed_integer(), "-9223372036854775808") == std::numeric_limits<int64_t>::min());
  CHECK_FALSE(value(signed_integer(-5, 5), "6"));
  CHECK(value(real(), "-2.5e3") == -2500.0);
  CHECK_FALSE(value(real(), "nan"));
  CHECK_FALSE(value(real(0, 1), "1.1"));
  CHECK(value(probability(), "0.1") == 0.1);
  CHECK(value(probability(), "10 %") == 0.1);
  CHECK_FALSE(value(probability(), "101%"));
  CHECK(value(power_of_two(), "1") == 1u);
  CHECK_FALSE(value(power_of_two(), "0"));
}

TEST_CASE("addresses are read strictly") {
  CHECK(value(mac_address(), "02:00:00:00:00:fF") == std::array<uint8_t, 6>{2, 0, 0, 0, 0, 255});
  CHECK_FALSE(value(mac_address(), "02:00:00:00:00"));
  CHECK_FALSE(value(mac_address(), "02-00-00-00-00-01"));
  const auto v4 = value(ip_address(), "10.0.0.1");
  REQUIRE(v4);
  CHECK((*v4)[10] == 0xFF);
  CHECK((*v4)[15] == 1);
  const auto v6 = value(ip_address(), "fd77::2");
  REQUIRE(v6);
  CHECK((*v6)[0] == 0xFD);
  CHECK((*v6)[15] == 2);
  CHECK_FALSE(value(ip_address(), "10.0.0.256"));
  CHECK_FALSE(value(ip_address(), "host"));
}
