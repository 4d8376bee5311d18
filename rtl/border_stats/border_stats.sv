// SPDX-License-Identifier: Apache-2.0
// Counts, for each stream border, the cycles in which a beat passed (busy) and in which one waited
// (stalled). The rest of core_cycles the border was starved. 64-bit counters; reading a low word
// takes the snapshot of the high one. Latency: a window access is acknowledged in the next cycle.
// Counters wrap.
module border_stats #(
    parameter int unsigned N = 16  // borders, at most 128
) (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic [N-1:0] valid_i,
    input  logic [N-1:0] ready_i,
    input  logic         win_req_i,
    input  logic [10:0]  win_addr_i,
    output logic         win_ack_o,
    output logic [31:0]  win_rdata_o
);
  if (N < 1 || N > 128) begin : gen_bad_n
    $error("border_stats: N must be 1 to 128");
  end

  // Border n at 16 n: busy, then stalled.
  logic [N-1:0] busy, stalled;
  assign busy = valid_i & ready_i;
  assign stalled = valid_i & ~ready_i;
  logic [63:0] busy_q[N];
  logic [63:0] stalled_q[N];
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < N; i++) begin
      if (busy[i]) busy_q[i] <= busy_q[i] + 64'd1;
      if (stalled[i]) stalled_q[i] <= stalled_q[i] + 64'd1;
    end
    if (rst_i) begin
      for (int i = 0; i < N; i++) begin
        busy_q[i] <= '0;
        stalled_q[i] <= '0;
      end
    end
  end

  localparam int unsigned AW = (N > 1) ? $clog2(N) : 1;
  logic [6:0] row;
  logic [AW-1:0] idx;
  logic [31:0] high_q;
  logic [63:0] value;
  logic go;
  assign row = win_addr_i[10:4];
  assign idx = row[AW-1:0];
  assign value = win_addr_i[3] ? stalled_q[idx] : busy_q[idx];
  assign go = win_req_i && !win_ack_o;
  always_ff @(posedge clk_i) begin
    win_ack_o <= go;
    if (go) begin
      win_rdata_o <= win_addr_i[2] ? high_q : value[31:0];
      if ({1'b0, row} >= 8'(N)) win_rdata_o <= 32'hFFFF_FFFF;
      if (!win_addr_i[2]) high_q <= value[63:32];
    end
    if (rst_i) win_ack_o <= 1'b0;
  end

  logic unused;
  assign unused = ^win_addr_i[1:0];
endmodule
