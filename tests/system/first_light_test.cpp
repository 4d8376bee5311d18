// SPDX-License-Identifier: Apache-2.0
// The smallest whole thing: one WRITE between two NICs.
#include "harness/driver/device.hpp"
#include "sim/node/node_bus.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;

namespace {

struct Machine {
  sim::Node* node;
  std::unique_ptr<sim::NodeBus> bus;
  std::unique_ptr<driver::Device> nic;
  std::unique_ptr<driver::EventQueue> eq;
  std::unique_ptr<driver::CompletionQueue> cq;
  std::unique_ptr<driver::QueuePair> qp;
  mem::DmaBuffer buffer;
  uint32_t key = 0;
};

constexpr uint32_t kQpn = 5;

void set_up(sim::World& world, Machine& s, uint8_t self, uint8_t peer) {
  s.bus = std::make_unique<sim::NodeBus>(world, *s.node);
  s.nic = std::make_unique<driver::Device>(*s.bus);
  const driver::Capabilities& cap = s.nic->probe();
  CHECK(cap.data_w == s.node->nic().info().data_w);
  CHECK(cap.gen_fcs == s.node->nic().info().gen_fcs);
  s.nic->create_pd(1);
  s.eq = s.nic->create_eq(0, 6, 0);
  s.cq = s.nic->create_cq(3, 8);
  driver::PathRequest path;
  path.dmac = {2, 0, 0, 0, 0, peer};
  path.smac = {2, 0, 0, 0, 0, self};
  path.sip = driver::ipv4(192, 168, 0, self);
  path.dip = driver::ipv4(192, 168, 0, peer);
  s.nic->create_path(path);
  s.buffer = s.node->dma().alloc(1 << 20);
  s.key = s.nic->create_mr({.index = 7,
                            .tag = 0x5A,
                            .pd = 1,
                            .va = 0x10000,
                            .length = 1 << 20,
                            .iova = s.buffer.bus_addr()});
  driver::QpRequest qp;
  qp.qpn = kQpn;
  qp.pd = 1;
  qp.send_cqn = qp.recv_cqn = 3;
  s.qp = s.nic->create_qp(std::move(qp));
  s.nic->connect(*s.qp, {.dest_qpn = kQpn, .rq_psn = 0xFFFFFE, .sq_psn = 0xFFFFFE});
}

}  // namespace

TEST_CASE("a WRITE of 64 bytes lands in the other host's memory and completes", "[short]") {
  sim::World world;
  sim::NodeConfig config;
  config.nic.data_w = rnic::test::test_width();
  config.dma.layout = mem::Layout::kContiguous;
  Machine a, b;
  config.name = "a";
  config.nic.wave_file = rnic::test::test_wave_file();
  a.node = &world.add_node(config);
  config.name = "b";
  config.nic.wave_file = rnic::test::test_wave_file();
  b.node = &world.add_node(config);
  world.connect(*a.node, *b.node, {.rate_bps = rnic::test::test_rate()});
  world.power_on();
  set_up(world, a, 1, 2);
  set_up(world, b, 2, 1);

  for (uint32_t len : {64u, 1u, 5000u, 0u, 20000u}) {
    INFO("length " << len);
    std::vector<uint8_t> data(len);
    for (uint32_t i = 0; i < len; ++i) data[i] = static_cast<uint8_t>(i * 7 + len);
    a.buffer.write(0x100, data.data(), len);
    driver::WriteRequest w;
    w.local = {{a.key, len, 0x10100}};
    w.remote_va = 0x10203;
    w.rkey = b.key;
    const uint16_t index = a.qp->post_write(w);
    a.qp->ring();
    std::optional<driver::Completion> c;
    world.run_while([&] { return !(c = a.cq->poll()); }, 20'000'000, "the completion of the WRITE");
    CHECK(c->ok());
    CHECK(c->wqe_index == index);
    CHECK(c->byte_count == len);
    a.qp->completed(index);
    world.run_until(world.now_ps() +
                    3'000'000);  // an ACK may overtake the data on their way into memory
    CHECK(b.buffer.equal(0x203, data.data(), len));
  }
}
