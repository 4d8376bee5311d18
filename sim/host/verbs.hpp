// SPDX-License-Identifier: Apache-2.0
// The RTL NIC of a node as an executor of verbs, like the golden endpoint.
//
//   HostEndpoint a(host_a);   uint32_t q = a.attach(*qp);
//   golden::Runner run(program, a, q, gold, 0);
//
// Everything goes through the driver: WQEs in rings, doorbells, CQEs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/golden/verbs.hpp"
#include "sim/host/host.hpp"

namespace rnic::sim {

// How regions are registered: in one piece; in pages of any order; the same, made valid by a
// FAST_REG of the first attached QP.
enum class Registration : uint8_t { kFlat, kPaged, kFast };

class HostEndpoint final : public golden::Endpoint {
 public:
  // `misalign`: bytes behind a page where regions begin.
  explicit HostEndpoint(Host& host, uint64_t misalign = 0,
                        Registration registration = Registration::kFlat)
      : host_(host), misalign_(misalign), registration_(registration) {}

  // A QP whose completions nobody else takes. Returns its number for post and poll. A UD QP tells
  // its Q_Key, and reaches every peer by `path`.
  uint32_t attach(Qp& qp);
  uint32_t attach_ud(Qp& qp, uint32_t qkey, uint32_t path = 0);
  // What add_region() made, for memory checkers.
  const std::vector<Region*>& regions() const { return regions_; }

  std::string name() const override { return host_.node().name(); }
  golden::Region add_region(uint64_t length, uint32_t access, bool invalidatable) override;
  void write_memory(const golden::Region& r, uint64_t offset,
                    std::span<const uint8_t> bytes) override;
  void read_memory(const golden::Region& r, uint64_t offset, std::span<uint8_t> bytes) override;
  bool post_send(uint32_t qp, const golden::SendRequest& request) override;
  bool post_recv(uint32_t qp, const golden::RecvRequest& request) override;
  std::optional<golden::Completion> poll(uint32_t qp) override;
  golden::UdTarget ud_target(uint32_t qp) override;
  std::string state_of(uint32_t qp) override;

 private:
  struct Sent {
    uint64_t wr_id = 0;
    golden::Verb verb = golden::Verb::kNop;
  };
  struct Queue {
    Qp* qp = nullptr;
    bool ud = false;
    uint32_t qkey = 0, path = 0;
    std::vector<Sent> sends;         // by block index
    std::vector<uint64_t> receives;  // wr_id by block index
    uint32_t receives_out = 0;
  };
  Region& region_of(const golden::Region& r);
  Region& paged_region(uint64_t length, driver::MrRequest access);

  Host& host_;
  uint64_t misalign_;
  Registration registration_;
  std::vector<Queue> queues_;
  std::vector<Region*> regions_;
};

}  // namespace rnic::sim
