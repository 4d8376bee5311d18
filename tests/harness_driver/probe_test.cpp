// SPDX-License-Identifier: Apache-2.0
//
// What the driver says of a NIC that is not the one it is made for.
#include <map>

#include "harness/driver/device.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;

namespace {

// Registers that read what they are given, and time that passes only by waiting.
struct Registers : driver::Bus {
  std::map<uint32_t, uint32_t> values = {
      {RNIC_CSR_ID_MAGIC, RNIC_ID_MAGIC_VALUE},
      {RNIC_CSR_ID_VERSION,
       RNIC_VERSION_MAJOR << 16 | RNIC_VERSION_MINOR << 8 | RNIC_VERSION_PATCH},
      {RNIC_CSR_ID_MAP_HASH, RNIC_MAP_HASH},
      {RNIC_CSR_HEALTH, RNIC_CSR_HEALTH_READY_MASK},
      {RNIC_CSR_CAP_QP, 256U | 12U << RNIC_CSR_CAP_QP_PAGE_SHIFT_SHIFT},
  };
  uint64_t now = 0;

  uint32_t read32(driver::Bar bar, uint32_t offset) override {
    CHECK(bar == driver::Bar::kRegisters);
    return values[offset];
  }
  void write32(driver::Bar /*bar*/, uint32_t /*offset*/, uint32_t /*value*/) override {
    FAIL("probe writes nothing");
  }
  void write_block(driver::Bar, uint32_t, const void*, uint32_t) override {
    FAIL("probe writes nothing");
  }
  std::unique_ptr<driver::DmaMemory> alloc_ring(uint64_t /*size*/) override { return nullptr; }
  void write_barrier() override {}
  void wait_ns(uint64_t ns) override { now += ns; }
  uint64_t now_ns() override { return now; }
};

std::string refusal(Registers& bus) {
  driver::Device nic(bus);
  try {
    nic.probe();
  } catch (const driver::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the driver takes a NIC with its own register map") {
  Registers bus;
  driver::Device nic(bus);
  const auto& cap = nic.probe();
  CHECK(cap.n_qp == 256);
  CHECK(cap.page_stride == 4096);
}

TEST_CASE("the driver refuses what does not read the magic of a NIC") {
  Registers bus;
  bus.values[RNIC_CSR_ID_MAGIC] = 0xFFFFFFFF;
  CHECK(refusal(bus) == "probe: ID_MAGIC reads 0xffffffff, expected 0x524e4943");
}

TEST_CASE("the driver refuses another register map and names both versions and hashes") {
  Registers bus;
  bus.values[RNIC_CSR_ID_VERSION] = 0x090807;
  bus.values[RNIC_CSR_ID_MAP_HASH] = 0x12345678;
  const auto text = refusal(bus);
  CHECK(text.find("version 9.8.7 and hash 0x12345678") != std::string::npos);
  CHECK(text.find(std::to_string(RNIC_VERSION_MAJOR) + "." + std::to_string(RNIC_VERSION_MINOR) +
                  "." + std::to_string(RNIC_VERSION_PATCH) + " and 0x") != std::string::npos);
}

TEST_CASE("the driver does not wait for ever for a NIC that never becomes ready") {
  Registers bus;
  bus.values[RNIC_CSR_HEALTH] = 0;
  CHECK(refusal(bus).find("HEALTH.ready did not rise") == 0);
}
