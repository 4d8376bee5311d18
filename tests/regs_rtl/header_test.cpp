// SPDX-License-Identifier: Apache-2.0
//
// The generated C and C++ headers against the Verilated register file: every field that software
// can write is written and read back through them, and the headers compile alone everywhere.
#include <Vall_plain.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "all_regs.h"
#include "all_regs.hpp"
#include "tests/csr/axi_lite.hpp"
#include "tests/regs/compile.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;
namespace hw = all::hw;

namespace {

struct Dut {
  Bench<Vall_plain> bench;
  AxiLite<Vall_plain> axi{bench};
  Dut() { bench.reset(); }
  std::uint32_t read32(std::uint64_t at) { return axi.read(static_cast<std::uint32_t>(at)).data; }
  void write32(std::uint64_t at, std::uint32_t v) { axi.write(static_cast<std::uint32_t>(at), v); }
  std::uint64_t read64(std::uint64_t at) {
    const std::uint64_t lo = read32(at);
    return lo | static_cast<std::uint64_t>(read32(at + 4)) << 32;
  }
  void write64(std::uint64_t at, std::uint64_t v) {
    write32(at, static_cast<std::uint32_t>(v));
    write32(at + 4, static_cast<std::uint32_t>(v >> 32));
  }
};

// A register field as the C header has it; first and last: the offsets of those elements.
struct CField {
  std::string name, access;
  unsigned width;  // of the register
  std::uint64_t first, last, mask;
};

const CField kCFields[] = {
#include "all_plain_fields.inc"
};

// What a field that held q holds after v was written; `all`: all its bits.
std::uint64_t after_write(const std::string& access, std::uint64_t q, std::uint64_t v,
                          std::uint64_t all) {
  if (access == "ro" || access == "rc" || access == "rs") return q;
  if (access == "pulse" || access == "wc") return 0;
  if (access == "ws") return all;
  if (access == "w1c") return q & ~v;
  if (access == "w1s") return q | v;
  if (access == "w1t") return q ^ v;
  if (access == "w0c") return q & v;
  if (access == "w0s") return q | (all & ~v);
  if (access == "w0t") return q ^ (all & ~v);
  return v;  // rw, wo, wt, wrc, wrs, rw_once the first time
}

std::uint64_t after_read(const std::string& access, std::uint64_t q, std::uint64_t all) {
  if (access == "rc" || access == "wrc") return 0;
  if (access == "rs" || access == "wrs") return all;
  return q;
}

constexpr std::uint32_t kPins = 0x5A5A3C3C;

// Fields whose value is not in the register file: what hardware was given.
class Given {
 public:
  explicit Given(Bench<Vall_plain>& bench) : t_(bench.top()) {
    t_.both_ways_v_i = kPins & 0xFFFF;
    t_.wide_held_v_i = kPins;
    t_.halves_held_v_i = kPins & 0xFF;
    t_.ext_ack_i = t_.ext_wo_ack_i = t_.ext_arr_ack_i = 1;
    t_.ext_rdata_i = t_.ext_arr_rdata_i = kPins;
    bench.on_sample([this] {
      if (t_.both_ways_v_we_o != 0) both_ways_ = t_.both_ways_v_o;
      if (t_.wide_held_v_we_o != 0) wide_held_ = t_.wide_held_v_o;
      if (t_.halves_held_v_we_o != 0) halves_held_ = t_.halves_held_v_o;
      if (t_.ext_req_o != 0 && t_.ext_we_o != 0) ext_ = t_.ext_wdata_o;
      if (t_.ext_wo_req_o != 0 && t_.ext_wo_we_o != 0) ext_wo_ = t_.ext_wo_wdata_o;
    });
  }
  // Of those only.
  [[nodiscard]] std::optional<std::uint64_t> of(const std::string& field) const {
    if (field == "ALL_PLAIN_BOTH_WAYS_V") return both_ways_;
    if (field == "ALL_PLAIN_WIDE_HELD_V") return wide_held_;
    if (field == "ALL_PLAIN_HALVES_HELD_V") return halves_held_;
    if (field == "ALL_PLAIN_EXT_V") return ext_;
    if (field == "ALL_PLAIN_EXT_WO_V") return ext_wo_;
    if (field == "ALL_PLAIN_WO_V") return t_.wo_v_o;
    if (field == "ALL_PLAIN_WO_TOP") return t_.wo_top_o;
    if (field == "ALL_PLAIN_COMMAND_V") return t_.command_v_o;
    return std::nullopt;
  }

 private:
  Vall_plain& t_;
  std::uint64_t both_ways_ = 0, wide_held_ = 0, halves_held_ = 0, ext_ = 0, ext_wo_ = 0;
};

// Hardware sets every bit that it can set, for one cycle.
void set_flags(Bench<Vall_plain>& bench) {
  auto& t = bench.top();
  const auto drive = [&](unsigned on) {
    const auto ones = on != 0 ? ~0U : 0U;
    t.one_c_i = t.one_sw_c_i = t.zero_c_i = t.on_read_c_i = t.on_read_wc_i = ones & 0xFF;
    t.wide_live_ev_i = t.halves_lo_i = t.halves_hi_i = ones & 0xFF;
    t.any_c_i = ones & 0xFFF;
    t.on_read_sw_i = t.wide_mix_ev_i = ones & 0xF;
    t.both_ways_set_clr_set_i = t.arr_r_i = ones & 0xFFFF;
    t.arr_e_i = ones & 0xFFFFF;
    t.par_e_set_i = ones & 0xFFF;
    t.events_done_i = on;
  };
  drive(1);
  bench.tick();
  drive(0);
}

}  // namespace

TEST_CASE("the C header of every feature compiles as C99, C11, C++17 and C++20") {
  CHECK(compile(RNIC_TEST_CC, "-std=c99", RNIC_GEN_DIR, "all_regs.h") == "");
  CHECK(compile(RNIC_TEST_CC, "-std=c11", RNIC_GEN_DIR, "all_regs.h") == "");
  CHECK(compile(RNIC_TEST_CXX, "-std=c++17", RNIC_GEN_DIR, "all_regs.h") == "");
  CHECK(compile(RNIC_TEST_CXX, "-std=c++20 -Wconversion", RNIC_GEN_DIR, "all_regs.h") == "");
  CHECK(compile(RNIC_TEST_CXX, "-std=c++20 -Wshadow -Wconversion", RNIC_GEN_DIR, "all_regs.hpp") ==
        "");
}

TEST_CASE("a program writes and reads every field through the C header") {
  Dut d;
  const Given given(d.bench);
  auto random = rng("values");
  const auto read = [&](const CField& f, std::uint64_t at) {
    return ALL_FIELD_GET(f.mask, f.width == 64 ? d.read64(at) : std::uint64_t{d.read32(at)});
  };
  const auto write = [&](const CField& f, std::uint64_t at, std::uint64_t v) {
    const std::uint64_t raw = ALL_FIELD_PREP(f.mask, v);
    f.width == 64 ? d.write64(at, raw) : d.write32(at, static_cast<std::uint32_t>(raw));
  };
  std::size_t n = 0;
  for (const auto& f : kCFields) {
    const std::uint64_t all = ALL_FIELD_GET(f.mask, ~0ULL);
    const bool once = f.access == "rw_once";
    for (const auto at : {f.first, f.last}) {
      d.bench.reset();
      set_flags(d.bench);
      for (int round = 0; round < (once ? 1 : 4); ++round) {
        auto v = random.bits(64) & all;
        if (f.name == "ALL_PLAIN_COUNT_BOTH") v %= 100;  // where it saturates
        CAPTURE(f.name, at, v);
        if (given.of(f.name)) {
          write(f, at, v);
          d.bench.tick(2);
          CHECK(given.of(f.name) == v);
          if (f.access == "rw") CHECK(read(f, at) == (kPins & all));
          continue;
        }
        const auto before = after_read(f.access, read(f, at), all);
        write(f, at, v);
        const auto want = after_write(f.access, before, v, all);
        CHECK(read(f, at) == want);
        CHECK(read(f, at) == after_read(f.access, want, all));
      }
    }
    ++n;
  }
  std::size_t of_cpp = 0;
  for (const auto& r : hw::kRegisters) of_cpp += r.block == "plain" ? r.n_fields : 0;
  CHECK(n == of_cpp);  // none was left out
}

TEST_CASE("a C program that uses the masks for a read-modify-write hurts no flag") {
  Dut d;
  d.write32(ALL_PLAIN_ZERO, 0xFFFF00FF);  // w0s: 1s in byte 1
  d.write32(ALL_PLAIN_ONE, 0x0000A500);   // w1s
  set_flags(d.bench);
  const auto one = d.read32(ALL_PLAIN_ONE), zero = d.read32(ALL_PLAIN_ZERO);
  CHECK((one & ALL_PLAIN_ONE_C_MASK) != 0);
  CHECK((zero & ALL_PLAIN_ZERO_C_MASK) != 0);
  CHECK((zero & ALL_PLAIN_ZERO_T_MASK) == 0);
  d.write32(ALL_PLAIN_ONE, one & ALL_PLAIN_ONE_RMW_MASK);
  d.write32(ALL_PLAIN_ZERO, (zero & ALL_PLAIN_ZERO_RMW_MASK) | ALL_PLAIN_ZERO_RMW_ONES);
  CHECK(d.read32(ALL_PLAIN_ONE) == one);
  CHECK(d.read32(ALL_PLAIN_ZERO) == zero);
  d.write32(ALL_PLAIN_PAR(1),
            (d.read32(ALL_PLAIN_PAR(1)) & ALL_PLAIN_PAR_RMW_MASK) | ALL_PLAIN_PAR_RMW_ONES);
  CHECK(d.read32(ALL_PLAIN_PAR(1)) == 0xF5A);
}

TEST_CASE("reset values, hash and addresses of the C++ header are those of the RTL") {
  Dut d;
  CHECK(d.read32(hw::plain::Hash::kOffset) == hw::kMapHash);
  CHECK(ALL_MAP_HASH == hw::kMapHash);
  for (const auto& r : hw::kRegisters) {
    if (r.block != "plain" || r.name.starts_with("EXT") || r.name == "WO" || r.name == "COMMAND") {
      continue;
    }
    CHECK(d.axi.read(static_cast<std::uint32_t>(r.offset)).data != 0xFFFFFFFF);
  }
  d.bench.reset();  // some reads have cleared
  CHECK(d.read32(hw::plain::Locked::kOffset) == hw::plain::Locked::kResetValue);
  CHECK(d.read32(hw::plain::Rw::kOffset) == hw::plain::Rw::kResetValue);
  CHECK(d.read64(hw::plain::WideMix::kOffset) == hw::plain::WideMix::kResetValue);
  CHECK(d.read64(hw::plain::Count64::kOffset) == hw::plain::Count64::kResetValue);
  CHECK(hw::plain::ChanRingHead::offset(1, 0) == ALL_PLAIN_CHAN_RING_HEAD(1, 0));
  CHECK(hw::plain::ChanRingHead::offset(2) == ALL_PLAIN_CHAN_RING_HEAD(1, 0));
}

TEST_CASE("read-modify-write is for registers that it cannot hurt") {
  static_assert(hw::plain::Wide::kRmwSafe);
  static_assert(hw::plain::ChanRingBaseAddr::kRmwSafe);
  static_assert(!hw::plain::One::kRmwSafe);      // W1C
  static_assert(!hw::plain::Rw::kRmwSafe);       // hardware loads it
  static_assert(!hw::plain::Trigger::kRmwSafe);  // every write acts
  static_assert(!hw::plain::OnRead::kRmwSafe);   // a read clears
  static_assert(!hw::plain::Wo::kRmwSafe);       // cannot be read
  static_assert(!hw::plain::Once::kRmwSafe);
  Dut d;
  hw::modify<hw::plain::Wide>(d, [](auto& r) { r.set_v(r.v() + 1); });
  CHECK(d.read64(hw::plain::Wide::kOffset) == 0x0123456789ABCDF0);
  // In C the mask says what may be written back: not the bits that act when they are 1.
  CHECK((ALL_PLAIN_LOCKED_RMW_MASK & ALL_PLAIN_LOCKED_GO_MASK) == 0);
  CHECK(ALL_PLAIN_ONE_RMW_MASK == 0);
}

TEST_CASE("an unsafe read-modify-write does not compile, and says why") {
  const auto dir =
      std::filesystem::temp_directory_path() / ("rnic_rmw_" + std::to_string(::getpid()));
  std::filesystem::create_directories(dir);
  // A header that reads, changes and writes one register.
  const auto modify = [&](const std::string& reg) {
    std::ofstream(dir / "rmw.hpp") << "#pragma once\n#include \"all_regs.hpp\"\n"
                                      "template <class Bus> void rmw(Bus& b) {\n"
                                      "  all::hw::modify<all::hw::plain::"
                                   << reg
                                   << ">(b, [](auto& r) { r.raw = 0; });\n}\n"
                                      "struct B { unsigned read32(unsigned long) { return 0; }\n"
                                      "  unsigned long read64(unsigned long) { return 0; }\n"
                                      "  void write32(unsigned long, unsigned) {}\n"
                                      "  void write64(unsigned long, unsigned long) {} };\n"
                                      "inline void use(B& b) { rmw(b); }\n";
    return compile(RNIC_TEST_CXX, "-std=c++20 -I" + dir.string(), RNIC_GEN_DIR, "rmw.hpp");
  };
  CHECK(modify("Wide") == "");
  for (const std::string reg : {"One", "Zero", "Rw", "Trigger", "OnRead", "Wo", "Once"}) {
    CAPTURE(reg);
    CHECK(modify(reg).find("read-modify-write of this register has side effects") !=
          std::string::npos);
  }
  std::filesystem::remove_all(dir);
}

TEST_CASE("variants of a descriptor have accessors, and structs whose layout is checked") {
  std::uint8_t job[32] = {};
  all_job_set_opcode(job, ALL_JOB_OP_COPY);
  all_job_set_copy_dst(job, 0x1122334455667788);
  all_job_set_copy_len(job, 0xCAFE);
  CHECK(job[16] == 0x88);
  CHECK(hw::JobView(job).copy_dst() == 0x1122334455667788);
  all_job_copy_mem mem{};
  std::memcpy(&mem, job, sizeof(mem));
  CHECK(mem.dst == 0x1122334455667788);
  CHECK(mem.len == 0xCAFE);
  CHECK(sizeof(all_job_fill_mem) == ALL_JOB_BYTES);
}
