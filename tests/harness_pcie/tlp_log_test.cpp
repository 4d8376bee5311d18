// SPDX-License-Identifier: Apache-2.0
#include "harness/trace_tlp/tlp_log.hpp"

#include <sstream>
#include <stdexcept>

#include "tests/harness_pcie/requester.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;

TEST_CASE(
    "the TLP log has one line per TLP with time, direction, type, tag, address, length, enables "
    "and status") {
  std::ostringstream out;
  test::World w(pcie::Config::reference_delays());
  test::Requester nic(w.fabric);
  trace_tlp::TlpLog log(out);
  w.fabric.add_observer(&log);
  mem::DmaBuffer b = w.dma.alloc(4096);
  nic.read(b.bus_addr(5), 300, 1'000'500);
  nic.write(b.bus_addr(2), {1, 2, 3}, 1'200'000, 1'200'000, pcie::kHost, true);
  nic.read(0x55'0000, 4, 1'300'000);
  const uint32_t v = 1;
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kDoorbell, 0x10, &v, 4, 1'400'000);
  nic.write(0xFEE0'0000, {1, 0, 0, 0}, 1'500'000);
  w.fabric.advance(3'000'000);
  log.flush();

  std::istringstream in(out.str());
  std::vector<std::vector<std::string>> lines;
  std::string line;
  while (std::getline(in, line)) {
    if (line[0] == '#') continue;
    std::istringstream fields(line);
    lines.emplace_back();
    for (std::string f; fields >> f;) lines.back().push_back(f);
    REQUIRE(lines.back().size() == 13);
  }
  REQUIRE(lines.size() == 8);
  CHECK(log.lines() == 8);
  // start end arrive dir type tag who address len fbe lbe|status flags
  const auto& read = lines[0];
  CHECK(read[0] == "1000.500");
  CHECK(read[2] == "1015.500");
  CHECK(read[3] == "up");
  CHECK(read[4] == "MRd");
  CHECK(read[5] == "0x000");
  CHECK(read[6] == "host");
  char address[32];
  std::snprintf(address, sizeof address, "0x%016llx",
                static_cast<unsigned long long>(b.bus_addr(5)));
  CHECK(read[7] == address);
  CHECK(read[8] == "300");
  CHECK(read[9] == "e");
  int completions = 0;
  for (const auto& l : lines) {
    if (l[4] == "CplD") {
      ++completions;
      CHECK(l[3] == "down");
      CHECK(l[9] == "-");
      CHECK(l[10] == "-");
      CHECK(l[11] == "SC");
    }
    if (l[4] == "MWr" && l[3] == "up") {
      CHECK(l[9] == "c");
      CHECK(l[10] == "1");
    }
  }
  CHECK(completions == 2);  // 251 bytes to the boundary at 256, then 49
  CHECK(out.str().find("UR") != std::string::npos);
  CHECK(out.str().find("RO") != std::string::npos);
  CHECK(out.str().find("MSI-X") != std::string::npos);
}

TEST_CASE("a TLP log that cannot be written is refused by name") {
  CHECK_THROWS_WITH(trace_tlp::TlpLog("/no/such/folder/x.tlp"),
                    test::contains_text("/no/such/folder/x.tlp"));
}
