// SPDX-License-Identifier: Apache-2.0
// Finds the QPs whose next timer has expired: one QP per cycle, round robin, while any timer runs.
// A QP is reported once for each wr. A timer counts as expired in the tick behind its deadline, so
// that what comes in the very tick goes first.
module dcqcn_wake #(
    parameter int unsigned N_QP = 64
) (
    input  logic                    clk_i,
    input  logic                    rst_i,
    input  logic [31:0]             now_i,
    input  logic                    any_i,    // some timer runs
    input  logic                    wr_en_i,
    input  logic [$clog2(N_QP)-1:0] wr_idx_i,
    input  logic                    wr_run_i,
    input  logic [31:0]             wr_at_i,
    output logic                    due_valid,
    input  logic                    due_ready,
    output logic [$clog2(N_QP)-1:0] due_idx
);
  localparam int unsigned QW = $clog2(N_QP);
  logic [QW-1:0] scan_q, scan1_q;
  logic          scan1_valid_q, scan, due, taken;
  logic [32:0]   word;
  logic [31:0]   left;
  assign left = word[31:0] - now_i;
  assign due = scan1_valid_q && word[32] && left[31];
  assign due_valid = due && !wr_en_i;
  assign due_idx = scan1_q;
  assign taken = due_valid && due_ready;
  assign scan = any_i && !(due && !taken);
  always_ff @(posedge clk_i) begin
    scan1_valid_q <= scan;
    if (scan) begin
      scan1_q <= scan_q;
      scan_q <= (scan_q == QW'(N_QP - 1)) ? '0 : scan_q + QW'(1);
    end else if (due) begin
      scan_q <= scan1_q;  // again: it may have been written meanwhile
    end
    if (rst_i) begin
      scan_q <= '0;
      scan1_valid_q <= 1'b0;
    end
  end
  ram_sdp #(
      .W(33),
      .DEPTH(N_QP),
      .FORWARD(1)
  ) u_ram (
      .clk_i,
      .wr_en_i(wr_en_i || taken),
      .wr_addr_i(wr_en_i ? wr_idx_i : scan1_q),
      .wr_data_i(wr_en_i ? {wr_run_i, wr_at_i} : 33'd0),
      .rd_en_i(scan),
      .rd_addr_i(scan_q),
      .rd_data_o(word)
  );
  logic unused;
  assign unused = ^left[30:0];
endmodule
