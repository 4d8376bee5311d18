// SPDX-License-Identifier: Apache-2.0
// Holds completions back until the data that they announce are visible in GPU and device memory. A
// posted write to the host keeps its order with the CQE behind it, one to another target does not.
// Each completion remembers on entry how many such writes dma_master had accepted; it goes on when
// so many are done. Any number of completions waits at the same time, so that a slow target costs
// latency and not throughput.
// Throughput: one completion per cycle. Latency: 0 when nothing waits and no fence is asked for or
// it is fulfilled, else 1 cycle more than the wait. Order: as it comes. in_ready depends on state
// only. out_valid depends on in_valid.
module cqe_fence #(
    parameter int unsigned DEPTH = 64
) (
    input  logic               clk_i,
    input  logic               rst_i,
    // writes to GPU and device memory, accepted and done, modulo 2^10 (dma_master)
    input  logic [9:0]         gpu_accepted_i,
    input  logic [9:0]         gpu_done_i,
    input  logic [9:0]         dev_accepted_i,
    input  logic [9:0]         dev_done_i,
    input  logic               in_valid,
    output logic               in_ready,
    input  rnic_pkg::cqe_req_t in,
    output logic               out_valid,
    input  logic               out_ready,
    output rnic_pkg::cqe_req_t out
);
  localparam int unsigned REQ_W = $bits(in);
  localparam int unsigned LW = $clog2(DEPTH + 1);

  logic [LW-1:0] level;

  // -- entry
  logic idle, direct, push, all_done;
  assign all_done = gpu_accepted_i == gpu_done_i && dev_accepted_i == dev_done_i;
  assign idle = level == '0;
  assign direct = idle && (!in.fence || all_done);
  assign push = in_valid && in_ready && !(direct && out_ready);

  // -- what waits
  logic held_valid, held_pop, held_ok;
  logic [9:0] gpu_mark, dev_mark, gpu_past, dev_past;
  rnic_pkg::cqe_req_t held;
  stream_fifo #(
      .W(REQ_W + 20),
      .DEPTH(DEPTH),
      .OUT_REG(0)
  ) u_held (
      .clk_i,
      .rst_i,
      .in_valid(push),
      .in_ready,
      .in_data({in, gpu_accepted_i, dev_accepted_i}),
      .out_valid(held_valid),
      .out_ready(held_pop),
      .out_data({held, gpu_mark, dev_mark}),
      .level_o(level)
  );
  assign gpu_past = gpu_done_i - gpu_mark;
  assign dev_past = dev_done_i - dev_mark;
  assign held_ok = !held.fence || (!gpu_past[9] && !dev_past[9]);
  assign held_pop = held_ok && out_ready;

  assign out_valid = idle ? in_valid && direct : held_valid && held_ok;
  always_comb begin
    out = idle ? in : held;
    out.fence = 1'b0;
  end

  logic unused;
  assign unused = ^{gpu_past, dev_past};
endmodule
