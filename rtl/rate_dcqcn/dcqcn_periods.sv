// SPDX-License-Identifier: Apache-2.0
// Whole periods in an interval, up to 2^12 - 1, and what is left: a divider of three stages of four
// cycles, one quotient bit per cycle. It takes one division every four cycles (at turn 3) and
// answers 12 cycles later. over_o: 2^12 periods or more.
module dcqcn_periods (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [1:0]  turn_i,
    input  logic        valid_i,   // read in turn 3
    input  logic [31:0] interval_i,
    input  logic [30:0] period_i,  // not 0; held meanwhile
    output logic        over_o,    // held for four cycles
    output logic [11:0] count_o,
    output logic [31:0] rest_o
);
  localparam int unsigned STAGES = 3;
  logic        v_q [STAGES];
  logic        over_q [STAGES];
  logic [31:0] rest_q [STAGES];
  logic [11:0] count_q [STAGES];
  logic [31:0] rest_d [STAGES];
  logic [11:0] count_d [STAGES];
  logic        step;
  assign step = turn_i == 2'd3;
  for (genvar s = 0; s < STAGES; s++) begin : gen_stage
    localparam int unsigned TOP = 11 - 4 * s;  // bit of turn 0
    logic [42:0] part;
    logic        fits;
    logic [3:0]  bit_no;
    assign bit_no = 4'(TOP) - 4'(turn_i);
    assign part = 43'(period_i) << bit_no;
    assign fits = 43'(rest_q[s]) >= part;
    assign rest_d[s] = fits ? rest_q[s] - part[31:0] : rest_q[s];
    assign count_d[s] = count_q[s] | (12'(fits) << bit_no);
  end
  always_ff @(posedge clk_i) begin
    for (int s = 0; s < STAGES; s++) begin
      if (!step && v_q[s]) begin
        rest_q[s] <= rest_d[s];
        count_q[s] <= count_d[s];
      end
    end
    if (step) begin
      v_q[0] <= valid_i;
      if (valid_i) begin
        rest_q[0] <= interval_i;
        count_q[0] <= 12'd0;
        over_q[0] <= 43'(interval_i) >= {period_i, 12'd0};
      end
      for (int s = 1; s < STAGES; s++) begin
        v_q[s] <= v_q[s-1];
        if (v_q[s-1]) begin
          rest_q[s] <= rest_d[s-1];
          count_q[s] <= count_d[s-1];
          over_q[s] <= over_q[s-1];
        end
      end
      if (v_q[STAGES-1]) begin
        over_o <= over_q[STAGES-1];
        count_o <= count_d[STAGES-1];
        rest_o <= rest_d[STAGES-1];
      end
    end
    if (rst_i) begin
      for (int s = 0; s < STAGES; s++) v_q[s] <= 1'b0;
    end
  end
endmodule
