// SPDX-License-Identifier: Apache-2.0
//
// Assertions that live in the module: checked by Verilator (--assert) and proved by Yosys
// (FORMAL); nothing is left of them in synthesis or with RNIC_NO_ASSERT. Use them at module level;
// they need clk_i and rst_i.
`ifndef RNIC_ASSERT_SVH
`define RNIC_ASSERT_SVH

`ifdef FORMAL
`define RNIC_ASSERT_ON
`elsif VERILATOR
`ifndef RNIC_NO_ASSERT
`define RNIC_ASSERT_ON
`endif
`endif

`ifdef FORMAL
`define RNIC_FAIL_MSG(name)
`else
`define RNIC_FAIL_MSG(name) else $error("RNIC_ASSERT %s in %m at %0t", `"name`", $time)
`endif

`ifdef RNIC_ASSERT_ON

`define RNIC_ASSERT_CLK(name, clk, rst, expr) \
  always_ff @(posedge clk) begin : asrt_``name \
    if (!(rst)) begin \
      assert (expr) `RNIC_FAIL_MSG(name); \
    end \
  end

`define RNIC_STREAM_HOLD_CLK(name, clk, rst, valid, ready, payload) \
  if (1) begin : gen_hold_``name \
    logic stall_q; \
    logic [$bits(payload)-1:0] payload_q; \
    always_ff @(posedge clk) begin : track \
      stall_q <= (valid) && !(ready) && !(rst); \
      if ((valid) && !(ready)) payload_q <= (payload); \
    end \
    always_ff @(posedge clk) begin : asrt_hold \
      if (!(rst) && stall_q) begin \
        assert ((valid) && payload_q == (payload)) `RNIC_FAIL_MSG(hold_``name); \
      end \
    end \
  end

`else

`define RNIC_ASSERT_CLK(name, clk, rst, expr)
`define RNIC_STREAM_HOLD_CLK(name, clk, rst, valid, ready, payload)

`endif

`define RNIC_ASSERT(name, expr) `RNIC_ASSERT_CLK(name, clk_i, rst_i, expr)
`define RNIC_STREAM_HOLD_N(name, valid, ready, payload) \
  `RNIC_STREAM_HOLD_CLK(name, clk_i, rst_i, valid, ready, payload)
`define RNIC_STREAM_HOLD(valid, ready, payload) \
  `RNIC_STREAM_HOLD_CLK(valid, clk_i, rst_i, valid, ready, payload)

// Formal only: must be reachable, so that a proof is not true for want of traces.
`ifdef FORMAL
`define RNIC_COVER(name, expr) \
  always_ff @(posedge clk_i) begin : cov_``name \
    if (!rst_i) begin \
      cover (expr); \
    end \
  end
`else
`define RNIC_COVER(name, expr)
`endif

`endif  // RNIC_ASSERT_SVH
