// SPDX-License-Identifier: Apache-2.0
//
// Descriptor layouts against a table typed from the architecture (byte, bit, width), in the loaded
// map, in the C++ header and through the packed structs of the SystemVerilog package.
#include <Vdesc_probe.h>

#include <map>

#include "model.hpp"
#include "rnic_regs.h"
#include "rnic_regs.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

namespace {

struct At {
  const char* desc;
  const char* field;
  unsigned byte, bit, width;
};

constexpr At kTable[] = {
    {"wqe", "next", 0, 0, 64},
    {"wqe", "opcode", 8, 0, 8},
    {"wqe", "signaled", 9, 0, 1},
    {"wqe", "solicited", 9, 1, 1},
    {"wqe", "fence", 9, 2, 1},
    {"wqe", "inlined", 9, 3, 1},
    {"wqe", "long_form", 9, 4, 1},
    {"wqe", "sampled", 9, 5, 1},
    {"wqe", "inline_len", 10, 0, 12},
    {"wqe", "seg_cnt", 11, 4, 4},
    {"wqe", "index", 12, 0, 16},
    {"wqe", "signature", 14, 0, 8},
    {"wqe", "remote_va", 16, 0, 64},
    {"wqe", "rkey", 24, 0, 32},
    {"wqe", "imm", 28, 0, 32},
    {"wqe", "seg0_lkey", 32, 0, 32},
    {"wqe", "seg0_len", 36, 0, 32},
    {"wqe", "seg0_va", 40, 0, 64},
    {"wqe", "seg1_lkey", 48, 0, 32},
    {"wqe", "seg1_len", 52, 0, 32},
    {"wqe", "seg1_va", 56, 0, 64},
    {"cqe", "opcode", 0, 0, 8},
    {"cqe", "status", 1, 0, 8},
    {"cqe", "wqe_index", 2, 0, 16},
    {"cqe", "qpn", 4, 0, 24},
    {"cqe", "ipv6", 7, 0, 1},
    {"cqe", "grh", 7, 1, 1},
    {"cqe", "imm_valid", 7, 2, 1},
    {"cqe", "byte_count", 8, 0, 32},
    {"cqe", "imm", 12, 0, 32},
    {"cqe", "timestamp", 16, 0, 64},
    {"cqe", "src_qpn", 24, 0, 24},
    {"cqe", "syndrome", 28, 0, 8},
    {"cqe", "owner", 31, 0, 1},
    {"eqe", "type", 0, 0, 8},
    {"eqe", "code", 1, 0, 8},
    {"eqe", "number", 4, 0, 24},
    {"eqe", "timestamp", 8, 0, 56},
    {"eqe", "owner", 15, 0, 1},
    {"cmd_qp", "opcode", 0, 0, 8},
    {"cmd_qp", "token", 2, 0, 16},
    {"cmd_qp", "number", 4, 0, 24},
    {"cmd_qp", "mask_cur_state", 9, 7, 1},
    {"cmd_qp", "state", 12, 0, 4},
    {"cmd_qp", "dest_qpn", 16, 0, 24},
    {"cmd_qp", "mtu", 19, 0, 3},
    {"cmd_qp", "sq_psn", 24, 0, 24},
    {"cmd_qp", "sq_base", 56, 0, 64},
    {"cmd_qp", "q_err_cause", 96, 0, 8},
    {"cmd_path", "dmac", 8, 0, 48},
    {"cmd_path", "smac", 14, 0, 48},
    {"cmd_path", "dscp", 21, 2, 6},
    {"cmd_path", "sip", 32, 0, 128},
    {"cmd_path", "dip", 48, 0, 128},
    {"cmd_mr", "key_tag", 8, 0, 8},
    {"cmd_mr", "iova", 32, 0, 64},
    {"trace_event", "timestamp", 0, 0, 64},
    {"trace_event", "info", 8, 0, 32},
    {"trace_event", "qpn", 12, 0, 24},
    {"trace_event", "event", 15, 0, 8},
};

const std::map<std::string, unsigned> kSizes = {
    {"wqe", 64},     {"data_seg", 16},    {"wqe_atomic", 64}, {"rq_wqe", 64},  {"cqe", 32},
    {"eqe", 16},     {"trace_event", 16}, {"cmd", 128},       {"cmd_mr", 128}, {"cmd_cq", 128},
    {"cmd_eq", 128}, {"cmd_path", 128},   {"cmd_qp", 128}};

// Bits byte*8+bit .. of a byte string, the plain way.
uint64_t bits_of(const std::vector<uint8_t>& bytes, unsigned at, unsigned width) {
  uint64_t v = 0;
  for (unsigned i = 0; i < width; ++i) {
    v |= static_cast<uint64_t>(bytes[(at + i) / 8] >> ((at + i) % 8) & 1) << i;
  }
  return v;
}

template <class Wide>
void put_bytes(Wide& pin, const std::vector<uint8_t>& bytes) {
  for (size_t i = 0; i < bytes.size(); i += 4) {
    pin[i / 4] = static_cast<uint32_t>(bytes[i]) | static_cast<uint32_t>(bytes[i + 1]) << 8 |
                 static_cast<uint32_t>(bytes[i + 2]) << 16 |
                 static_cast<uint32_t>(bytes[i + 3]) << 24;
  }
}

}  // namespace

TEST_CASE("descriptor fields are where the architecture puts them") {
  rnic::regs::Diagnostics diags("rnic.yaml");
  const auto map = rnic::regs::load_map_file(RNIC_SOURCE_DIR "/regs/rnic.yaml", diags);
  REQUIRE(map.has_value());
  for (const auto& t : kTable) {
    CAPTURE(t.desc, t.field);
    bool found = false;
    for (const auto& d : map->descriptors) {
      if (d.name != t.desc) continue;
      for (const auto& f : d.fields) {
        if (f.name != t.field) continue;
        found = true;
        CHECK(f.bit == t.byte * 8 + t.bit);
        CHECK(f.width == t.width);
      }
    }
    CHECK(found);
  }
  CHECK(map->descriptors.size() >= kSizes.size());
  for (const auto& d : map->descriptors) {
    const auto it = kSizes.find(d.name);
    if (it != kSizes.end()) CHECK(d.size == it->second);
  }
}

TEST_CASE("the C++ header's field tables agree with the architecture") {
  for (const auto& t : kTable) {
    CAPTURE(t.desc, t.field);
    bool found = false;
    for (size_t k = 0; k < rnic::hw::kNumDescriptors; ++k) {
      const auto& d = rnic::hw::kDescriptors[k];
      if (d.name != t.desc) continue;
      for (size_t i = 0; i < d.n_fields; ++i) {
        if (d.fields[i].name != t.field) continue;
        found = true;
        CHECK(d.fields[i].bit == t.byte * 8 + t.bit);
        CHECK(d.fields[i].width == t.width);
      }
    }
    CHECK(found);
  }
}

TEST_CASE("packed structs in SystemVerilog read memory as it lies") {
  rnic::test::Bench<Vdesc_probe> bench;
  auto random = rnic::test::rng("bytes");
  for (int round = 0; round < 50; ++round) {
    const auto wqe = random.bytes(64), cqe = random.bytes(32), eqe = random.bytes(16),
               cmd = random.bytes(128);
    put_bytes(bench->wqe_i, wqe);
    put_bytes(bench->cqe_i, cqe);
    put_bytes(bench->eqe_i, eqe);
    put_bytes(bench->cmd_i, cmd);
    bench.settle();
    CHECK(bench->wqe_opcode_o == wqe[8]);
    CHECK(bench->wqe_sampled_o == (wqe[9] >> 5 & 1));
    CHECK(bench->wqe_inline_len_o == bits_of(wqe, 80, 12));
    CHECK(bench->wqe_seg_cnt_o == wqe[11] >> 4);
    CHECK(bench->wqe_seg1_va_o == bits_of(wqe, 56 * 8, 64));
    CHECK(bench->cqe_qpn_o == bits_of(cqe, 32, 24));
    CHECK(bench->cqe_owner_o == (cqe[31] & 1));
    CHECK(bench->cqe_timestamp_o == bits_of(cqe, 128, 64));
    CHECK(bench->eqe_type_o == eqe[0]);
    CHECK(bench->eqe_timestamp_o == bits_of(eqe, 64, 56));
    CHECK(bench->path_smac_o == bits_of(cmd, 14 * 8, 48));
    CHECK(bench->path_dscp_o == cmd[21] >> 2);
    CHECK(bench->qp_sq_psn_o == bits_of(cmd, 24 * 8, 24));
    CHECK(bench->qp_service_o == (cmd[13] & 3));
    CHECK(bench->qp_q_err_cause_o == cmd[96]);
  }
  // And what RTL builds, software reads.
  std::vector<uint8_t> built;
  for (int i = 0; i < 32; ++i)
    built.push_back(static_cast<uint8_t>(bench->built_cqe_o[i / 4] >> (8 * (i % 4))));
  CHECK(rnic_cqe_get_opcode(built.data()) == RNIC_CQE_OPCODE_REQ_ERR);
  CHECK(rnic_cqe_get_status(built.data()) == RNIC_CQE_STATUS_RNR_RETRY_EXC_ERR);
  CHECK(rnic_cqe_get_qpn(built.data()) == 0x123456);
  CHECK(rnic_cqe_get_owner(built.data()) == 1);
}
