// SPDX-License-Identifier: Apache-2.0
//
// The corner cases that generators disagree about, one test each, on all_map.yaml. Hardware acts in
// the very cycle in which the access executes: the edge behind the one that takes it.
#include <Vall_piped.h>
#include <Vall_plain.h>

#include "tests/csr/axi_lite.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;

namespace {

template <class Top>
struct File {
  Bench<Top> bench;
  AxiLite<Top> axi{bench};
  File() { bench.reset(); }
  Top* operator->() { return &bench.top(); }

  // Software writes; `on` drives hardware in the cycle in which the write executes, `off` ends it.
  template <class On, class Off>
  void write_with(std::uint32_t at, std::uint32_t data, unsigned strb, On on, Off off) {
    auto& t = bench.top();
    t.s_awaddr = at;
    t.s_wdata = data;
    t.s_wstrb = static_cast<CData>(strb);
    t.s_awvalid = t.s_wvalid = 1;
    bench.tick();
    t.s_awvalid = t.s_wvalid = 0;
    on();
    bench.tick();
    off();
    bench.tick(4);
  }
  template <class On, class Off>
  std::uint32_t read_with(std::uint32_t at, On on, Off off) {
    auto& t = bench.top();
    t.s_araddr = at;
    t.s_arvalid = 1;
    bench.tick();
    t.s_arvalid = 0;
    on();
    bench.tick();
    off();
    for (int i = 0; t.s_rvalid == 0; ++i) {
      if (i > 10) throw Timeout("no read answer");
      bench.tick();
    }
    const std::uint32_t v = t.s_rdata;
    bench.tick(2);
    return v;
  }
  std::uint64_t read64(std::uint32_t at) {
    const std::uint64_t lo = axi.read(at).data;
    return lo | static_cast<std::uint64_t>(axi.read(at + 4).data) << 32;
  }
};
using Plain = File<Vall_plain>;

}  // namespace

TEST_CASE("1: hardware sets the bit that a W1C clears: set wins, unless the map says software") {
  Plain f;
  f->one_c_i = 0xFF;
  f->one_sw_c_i = 0xFF;
  f.bench.tick();
  f->one_c_i = f->one_sw_c_i = 0;
  f.write_with(
      0x00C, 0x0F00000F, 0xF, [&] { f->one_c_i = 0x81, f->one_sw_c_i = 0x81; },
      [&] { f->one_c_i = f->one_sw_c_i = 0; });
  CHECK((f.axi.read(0x00C).data & 0xFF) == 0xF1);
  CHECK(f.axi.read(0x00C).data >> 24 == 0xF0);
}

TEST_CASE("2: a W1C of other bits, or of none, keeps what hardware sets meanwhile") {
  Plain f;
  f.write_with(
      0x00C, 0xF0, 0xF, [&] { f->one_c_i = 0x0F; }, [&] { f->one_c_i = 0; });
  CHECK((f.axi.read(0x00C).data & 0xFF) == 0x0F);
  f.write_with(
      0x00C, 0, 0xF, [&] { f->one_c_i = 0xF0; }, [&] { f->one_c_i = 0; });
  CHECK((f.axi.read(0x00C).data & 0xFF) == 0xFF);
}

TEST_CASE("3: W1S of one field and a hardware clear of another in one register both happen") {
  Plain f;
  f.axi.write(0x00C, 0xFF00);
  f.write_with(
      0x00C, 0x00FF0000, 0xF, [&] { f->one_s_clr_i = 0x0F; }, [&] { f->one_s_clr_i = 0; });
  CHECK((f.axi.read(0x00C).data & 0x00FFFF00) == 0x00F0F000);
}

TEST_CASE("4: a read that clears returns what was there, and the new event survives") {
  Plain f;
  f->on_read_c_i = 0x0F;
  f->on_read_sw_i = 0x3;
  f.bench.tick();
  f->on_read_c_i = f->on_read_sw_i = 0;
  const auto first = f.read_with(
      0x018, [&] { f->on_read_c_i = 0x11, f->on_read_sw_i = 0xC; },
      [&] { f->on_read_c_i = f->on_read_sw_i = 0; });
  CHECK((first & 0xFF) == 0x0F);
  CHECK(first >> 28 == 0x3);
  const auto second = f.axi.read(0x018).data;
  CHECK((second & 0xFF) == 0x11);
  CHECK(second >> 28 == 0);  // software was to win
  CHECK((f.axi.read(0x018).data & 0xFF) == 0);
}

TEST_CASE("5: a counter that a read clears counts the step of that cycle") {
  Plain f;
  f->count_wraps_incr_i = 9;
  f.bench.tick();
  f->count_wraps_incr_i = 0;
  const auto first = f.read_with(
      0x040, [&] { f->count_wraps_incr_i = 3; }, [&] { f->count_wraps_incr_i = 0; });
  CHECK((first >> 16 & 0xFF) == 9);
  CHECK((f.axi.read(0x040).data >> 16 & 0xFF) == 3);
}

TEST_CASE("6, 8: every bitwise write acts only on strobed bytes, bit by bit") {
  Plain f;
  f->zero_c_i = 0xFF;
  f.bench.tick();
  f->zero_c_i = 0;
  f.axi.write(0x010, 0x00FF00F0, 0x2);  // w0s sees 0 in byte 1; w0c in byte 0 is not strobed
  CHECK(f.axi.read(0x010).data == 0x0000FFFF);
  f.axi.write(0x010, 0x00FF00F0, 0x1);
  CHECK(f.axi.read(0x010).data == 0x0000FFF0);
  f.axi.write(0x010, 0x000F0000, 0x4);  // w0t toggles where 0 is written
  CHECK(f.axi.read(0x010).data == 0x00F0FFF0);
  f.axi.write(0x00C, 0x00330000, 0x4);  // w1t
  CHECK((f.axi.read(0x00C).data >> 16 & 0xFF) == (0x0F ^ 0x33));
  f->any_c_i = 0xFFF;
  f.bench.tick();
  f->any_c_i = 0;
  f.axi.write(0x014, 0x12345678, 0x1);  // any value clears (and sets) what is strobed
  CHECK(f.axi.read(0x014).data == 0x00000F00);
  f.axi.write(0x014, 0x00000000, 0x4);
  CHECK(f.axi.read(0x014).data == 0x00FF0F00);
}

TEST_CASE("7: without a strobe, and while locked, nothing changes and nothing pulses") {
  Plain f;
  std::uint64_t pulses = 0;
  f.bench.on_sample(
      [&] { pulses += f->locked_a_wr_o + f->locked_go_o + f->locked_we_o + f->rw_mode_wr_o; });
  f.axi.write(0x000, 0xFFFFFFFF, 0);
  CHECK(pulses == 0);
  f.axi.write(0x02C, 0xF1FFFFFF);
  f.bench.tick(2);
  CHECK(pulses == 3);
  CHECK(f.axi.read(0x02C).data == 0xF0FFFFFF);
  f.axi.write(0x028, 0x6);  // LOCK.open stays, ena stays: key still 0
  f.axi.write(0x028, 0x1);  // rw_once: too late, the first write counted
  f.axi.write(0x02C, 0);
  CHECK((f.axi.read(0x02C).data & 0xFF) == 0);
  f.bench.reset();
  pulses = 0;
  f.axi.write(0x028, 0x7);  // locked until reset
  f.axi.write(0x02C, 0xF1FFFFFF);
  f.axi.write(0x028, 0x6);
  f.axi.write(0x02C, 0xF1FFFFFF);
  f.bench.tick(2);
  // Its own lock stands before that of the register: b and w ask LOCK.open and LOCK.ena.
  CHECK(f.axi.read(0x02C).data == 0xF000FF00);
  CHECK(pulses == 2);
}

TEST_CASE("9, 10: wide reads are coherent, wide writes commit with the high word") {
  Plain f;
  std::uint64_t count = 0x1FFFFFFF0;
  f.bench.on_drive([&] { f->wide_live_v_i = ++count; });
  for (int i = 0; i < 20; ++i) {
    const auto before = count;
    const auto got = f.read64(0x068) & 0xFFFFFFFFFFFFFF;
    CHECK(got >= before);
    CHECK(got <= count);
  }
  f.axi.write(0x058, 0x11223344, 0x3);
  f.axi.write(0x058, 0x55667788, 0x4);
  CHECK(f->wide_v_o == 0x0123456789ABCDEF);
  f.axi.write(0x05C, 0xCAFEF00D, 0x8);
  CHECK(f->wide_v_o == 0xCA23456789663344);
}

TEST_CASE("9: a 64-bit counter that a read clears gives each event once") {
  Plain f;
  std::uint64_t given = 0;
  std::uint64_t got = 0;
  f.bench.on_drive([&] {
    f->count64_n_incr_i = given % 3 == 0 ? 0xFFFFFFFF : 1;
    given += 1;
  });
  std::uint64_t sum = 0xFFFFFFF0;
  std::uint64_t steps = 0;
  f.bench.on_sample([&] { sum += f->count64_n_incr_i, ++steps; });
  for (int i = 0; i < 25; ++i) got += f.read64(0x048);
  f.bench.tick(1);
  f->count64_n_incr_i = 0;
  const auto rest = static_cast<std::uint64_t>(f->count64_n_o);
  CHECK(got + rest == sum);
  CHECK(steps > 100);
}

TEST_CASE("12: holes, writes to RO and reads of WO: all ones, or SLVERR; counted and captured") {
  Plain f;
  File<Vall_piped> p;
  std::uint64_t bad = 0;
  f.bench.on_sample([&] { bad += f->bad_access_pulse_o; });
  CHECK(f.axi.read(0x0FC).data == 0xFFFFFFFF);
  CHECK(f.axi.read(0x0FC).resp == 0);
  CHECK(f.axi.read(0x008).data == 0xFFFFFFFF);       // write only
  CHECK(f.axi.write(0x304, 1) == 0);                 // read only
  CHECK(f.axi.write(0x900, 1) == 0);                 // window to read
  CHECK(f.axi.read(0x204, 200).data == 0xFFFFFFFF);  // external, write only
  f.bench.tick(2);
  CHECK(bad == 6);
  CHECK(f.axi.read(0x300).data == (0x80000000 | 0x0FC));
  CHECK(p.axi.read(0x0FC).resp == 2);
  CHECK(p.axi.read(0x0FC).data == 0);
  CHECK(p.axi.read(0x008).resp == 2);
  CHECK(p.axi.write(0x304, 1) == 2);
  CHECK(p.axi.write(0x900, 1) == 2);
  CHECK(p.axi.write(0x304, 1, 0) == 0);
  CHECK(p.axi.read(0x304).resp == 0);
  CHECK(p.axi.read(0x300).data == (0x80000000 | 0x0FC));
}

TEST_CASE("13: no address bit is ignored") {
  Plain f;
  const auto free = [](std::uint32_t at) {
    return at != 0x040 && at != 0x080 && at != 0x100 && at != 0x200 && at != 0x800;
  };
  for (unsigned bit = 6; bit < 12; ++bit) {
    const std::uint32_t at = 1U << bit | 0x00C;
    if (!free(1U << bit)) continue;
    CAPTURE(at);
    CHECK(f.axi.read(at).data == 0xFFFFFFFF);
  }
  for (const std::uint32_t at : {0x40CU, 0xA0CU, 0xC0CU, 0xE0CU}) {
    f.axi.write(at, 0xFFFFFFFF);
    CHECK((f.axi.read(0x00C).data >> 16 & 0xFF) == 0x0F);
  }
}

TEST_CASE("14: reserved bits read 0 and ignore writes") {
  Plain f;
  f.axi.write(0x028, 0xFFFFFFFF);
  CHECK(f.axi.read(0x028).data == 0x7);
  f.axi.write(0x100, 0xFFFFFFFF);
  CHECK(f.axi.read(0x100).data == 0x80000001);
}

TEST_CASE("15: one address may hold what is read and what is written") {
  Plain f;
  f->status_v_i = 0x12345678;
  f.axi.write(0x030, 0xCAFEF00D);
  CHECK(f.axi.read(0x030).data == 0x12345678);
  CHECK(f->command_v_o == 0xCAFEF00D);
}

TEST_CASE("18: counters saturate exactly, in both directions") {
  Plain f;
  f->count_up_incr_i = 7;
  f.bench.tick(40);
  f->count_up_incr_i = 0;
  CHECK((f.axi.read(0x040).data & 0xFF) == 0xFF);
  CHECK(f->count_up_reached_o == 1);
  f->count_both_incr_i = 3;
  f.bench.tick(16);
  f->count_both_incr_i = 0;
  CHECK((f.axi.read(0x040).data >> 8 & 0xFF) == 98);
  f->count_both_incr_i = 3;
  f.bench.tick();
  f->count_both_incr_i = 0;
  CHECK((f.axi.read(0x040).data >> 8 & 0xFF) == 100);
  f->count_both_decr_i = 3;
  f.bench.tick(34);
  f->count_both_decr_i = 0;
  CHECK((f.axi.read(0x040).data >> 8 & 0xFF) == 0);
  f->count_down_decr_i = 1;
  f.bench.tick(201);
  f->count_down_decr_i = 0;
  CHECK((f.axi.read(0x040).data >> 24) == 0xFF);  // this one wraps
}

TEST_CASE("20: address first, data first, both; answers are held; two or three cycles") {
  Plain f;
  File<Vall_piped> p;
  const auto order =
      GENERATE(WriteOrder::kTogether, WriteOrder::kAddressFirst, WriteOrder::kDataFirst);
  CHECK(f.axi.write(0x058, 0xABCD80EE, 0xF, order) == 0);
  CHECK(p.axi.write(0x058, 0xABCD80EE, 0xF, order) == 0);
  CHECK(f.axi.read(0x000).cycles == 2);
  CHECK(p.axi.read(0x000).cycles == 3);
}

TEST_CASE("20: a master that never waits reads every second cycle, pipelined or not") {
  Plain f;
  File<Vall_piped> p;
  const auto answers = [](auto& file) {
    file->s_araddr = 0;
    file->s_arvalid = 1;
    file.bench.tick(10);
    int n = 0;
    for (int i = 0; i < 40; ++i) {
      n += file->s_rvalid;
      file.bench.tick();
    }
    return n;
  };
  CHECK(answers(f) == 20);
  CHECK(answers(p) == 20);
}

TEST_CASE("a register file repeats its registers, and each element has its own lock and counter") {
  Plain f;
  f.axi.write(0x104, 0x1111);
  f.axi.write(0x144, 0x2222);
  f.axi.write(0x100, 0x80000000);
  f.axi.write(0x104, 0x3333);
  f.axi.write(0x144, 0x4444);
  CHECK(f->chan_set_v_o == 0x44441111);
  f->chan_set_hits_incr_i = 2;
  f.bench.tick(5);
  f->chan_set_hits_incr_i = 0;
  CHECK(f.axi.read(0x104).data >> 16 == 0);
  CHECK(f.axi.read(0x144).data >> 16 == 5);
  f.axi.write(0x160, 0x0BAD);  // CHAN[1].RING[1].HEAD
  CHECK(f->chan_ring_head_v_o == 0x0BAD000000000000);
}

TEST_CASE("an interrupt follows state and enable; a test makes each source appear") {
  Plain f;
  f.axi.write(0x324, 0x1F);
  CHECK(f->events_irq_o == 0);
  for (unsigned s = 0; s < 4; ++s) {
    f.axi.write(0x328, 1U << s);
    f.bench.tick(3);
    CHECK(f->events_irq_o == 1);
    CHECK(f.axi.read(0x320).data == 1U << s);
    f.axi.write(0x320, 1U << s);
    f.bench.tick(2);
    CHECK(f->events_irq_o == 0);
  }
  f->events_full_i = 1;
  f.bench.tick(2);
  CHECK(f->events_irq_o == 1);
  f.axi.write(0x320, 0x1F);  // a level is not cleared by writing
  CHECK(f.axi.read(0x320).data == 0x10);
  f->events_full_i = 0;
  f.bench.tick(2);
  CHECK(f->events_irq_o == 0);
  f->events_up_i = f->events_edge_any_i = f->events_down_i = 1;
  f.bench.tick(2);
  CHECK(f.axi.read(0x320).data == 0x0A);
  f.axi.write(0x320, 0x1F);
  f->events_up_i = f->events_edge_any_i = f->events_down_i = 0;
  f.bench.tick(2);
  CHECK(f.axi.read(0x320).data == 0x0C);
}

TEST_CASE("an external register gets its offset, and gives up at the time-out") {
  Plain f;
  std::uint64_t asked = 0, cycles = 0;
  f.bench.on_sample([&] {
    if (f->ext_arr_req_o != 0) asked = f->ext_arr_addr_o;
    cycles += f->ext_req_o;
  });
  f->ext_arr_ack_i = 1;
  f->ext_arr_rdata_i = 0x600DF00D;
  CHECK(f.axi.read(0x21C).data == 0x600DF00D);
  CHECK(asked == 0xC);
  CHECK(f.axi.read(0x200, 200).data == 0xFFFFFFFF);
  CHECK(cycles == 40);
  CHECK(f.axi.read(0x224).data == 0x600DF00D);
  CHECK(f.axi.read(0x228).data == 0xFFFFFFFF);  // behind the last element
}

TEST_CASE("every access type and policy, software and hardware on the same bits in one cycle") {
  Plain f;
  const auto reg = [&](std::uint32_t at) { return f.axi.read(at).data; };
  SECTION("w0c and set, w0s and clear") {
    f->zero_c_i = 0xFF;
    f.bench.tick();
    f->zero_c_i = 0;
    f.write_with(
        0x010, 0xFFFF0F0F, 0xF, [&] { f->zero_c_i = 0x80, f->zero_s_clr_i = 0x18; },
        [&] { f->zero_c_i = f->zero_s_clr_i = 0; });
    CHECK(reg(0x010) == 0x0000E08F);
  }
  SECTION("w1s and clear") {
    f.write_with(
        0x00C, 0x0000F000, 0xF, [&] { f->one_s_clr_i = 0x30; }, [&] { f->one_s_clr_i = 0; });
    CHECK((reg(0x00C) & 0xFF00) == 0xC000);
  }
  SECTION("wc and set, ws and clear") {
    f->any_c_i = 0xFFF;
    f.bench.tick();
    f->any_c_i = 0;
    f.write_with(
        0x014, 0, 0xF, [&] { f->any_c_i = 0x081, f->any_s_clr_i = 0x810; },
        [&] { f->any_c_i = f->any_s_clr_i = 0; });
    CHECK(reg(0x014) == 0x007EF081);
  }
  SECTION("rs and clear") {
    const auto first = f.read_with(
        0x018, [&] { f->on_read_s_clr_i = 0x42; }, [&] { f->on_read_s_clr_i = 0; });
    CHECK((first & 0xFF00) == 0x8100);
    CHECK((reg(0x018) & 0xFF00) == 0xBD00);
    CHECK((reg(0x018) & 0xFF00) == 0xFF00);
  }
  SECTION("wrc and set, wrs and a hardware write, when software writes and when it reads") {
    f.write_with(
        0x018, 0x053C0000, 0xF,
        [&] { f->on_read_wc_i = 0x81, f->on_read_ws_we_i = 1, f->on_read_ws_i = 0xA; },
        [&] { f->on_read_wc_i = f->on_read_ws_we_i = 0; });
    const auto first = f.read_with(
        0x018, [&] { f->on_read_wc_i = 0x01, f->on_read_ws_we_i = 1, f->on_read_ws_i = 0x3; },
        [&] { f->on_read_wc_i = f->on_read_ws_we_i = 0; });
    CHECK((first & 0x0FFF0000) == 0x0ABD0000);
    CHECK((reg(0x018) & 0x0FFF0000) == 0x03010000);
    CHECK((reg(0x018) & 0x0FFF0000) == 0x0F000000);
  }
  SECTION("rw and a hardware write, by policy and by strobe") {
    const auto on = [&] {
      f->rw_loaded_we_i = f->rw_soft_we_i = 1;
      f->rw_loaded_i = f->rw_soft_i = 0x22;
    };
    const auto off = [&] { f->rw_loaded_we_i = f->rw_soft_we_i = 0; };
    f.write_with(0x000, 0x11110000, 0xF, on, off);
    CHECK(reg(0x000) >> 16 == 0x1122);
    f.write_with(0x000, 0x33330000, 0x4, on, off);
    CHECK(reg(0x000) >> 16 == 0x2222);
  }
  SECTION("hardware alone: write, then clear, then set; all of it on top of a w1c") {
    f.write_with(
        0x024, 0x000F0000, 0xF,
        [&] {
          f->both_ways_set_clr_we_i = 1;
          f->both_ways_set_clr_i = 0x00F0;
          f->both_ways_set_clr_clr_i = 0x0030;
          f->both_ways_set_clr_set_i = 0x8000;
        },
        [&] {
          f->both_ways_set_clr_we_i = 0;
          f->both_ways_set_clr_clr_i = f->both_ways_set_clr_set_i = 0;
        });
    CHECK(reg(0x024) >> 16 == 0x80C0);
  }
  SECTION("rw_once: the first strobed write counts, field by field") {
    f.axi.write(0x01C, 0xFFFFFFFF, 0);
    f.axi.write(0x01C, 0xAAAAAA55, 0x1);
    CHECK(reg(0x01C) == 0x00000055);
    f.axi.write(0x01C, 0x1234FFFF, 0xC);
    CHECK(reg(0x01C) == 0x12340055);
    f.axi.write(0x01C, 0xFFFFFFFF);
    CHECK(reg(0x01C) == 0x12340055);
  }
}

TEST_CASE("a write that an external register does not take ends at the time-out, as a bad access") {
  Plain f;
  File<Vall_piped> p;
  std::uint64_t bad = 0, cycles = 0;
  f.bench.on_sample([&] { bad += f->bad_access_pulse_o, cycles += f->ext_wo_req_o; });
  CHECK(f.axi.write(0x204, 0xCAFE, 0xF, WriteOrder::kTogether, 200) == 0);
  CHECK(p.axi.write(0x204, 0xCAFE, 0xF, WriteOrder::kTogether, 200) == 2);
  f.bench.tick(2);
  CHECK(cycles == 40);
  CHECK(bad == 1);
  CHECK(f.axi.read(0x300).data == (0xC0000000 | 0x204));
}
