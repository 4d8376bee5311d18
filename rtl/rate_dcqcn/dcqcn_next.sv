// SPDX-License-Identifier: Apache-2.0
// The state behind a pass. tm_i has alpha's ticks and the grid of rate checks counted, alpha_i its
// ticks done. product_i is 2^24 times the cut of the rate (DEC, CNP), the first rate (production's
// first CNP), or the plain hyper step of the paper (INC, BYTE). Combinational.
module dcqcn_next (
    input  dcqcn_pkg::cfg_t    cfg_i,
    input  logic [2:0]         op_i,
    input  logic [31:0]        at_i,
    input  dcqcn_pkg::timers_t tm_i,
    input  dcqcn_pkg::alpha_t  alpha_i,
    input  dcqcn_pkg::rates_t  rates_i,
    input  logic [54:0]        product_i,
    output dcqcn_pkg::timers_t tm_o,
    output dcqcn_pkg::alpha_t  alpha_o,
    output dcqcn_pkg::rates_t  rates_o,
    output logic               reload_o,     // the byte counter starts over
    output logic               reload_on_o
);
  localparam logic [29:0] MOST = '1;
  // ------------------------------------------------------------------------------------ decrease
  logic [29:0] scaled, reduced, cut_rate, first_rate;
  logic        open, lower;
  assign scaled = product_i[53:24];
  assign reduced = rates_i.rate - scaled;
  assign cut_rate = (reduced < cfg_i.floor) ? cfg_i.floor :
      (reduced > cfg_i.line) ? cfg_i.line : reduced;
  assign first_rate = (cfg_i.first_rate != '0 && cfg_i.first_rate < scaled) ? cfg_i.first_rate :
      scaled;
  assign open = rates_i.phase == dcqcn_pkg::PH_FAST ||
      (rates_i.phase != dcqcn_pkg::PH_NONE && rates_i.rate < rates_i.target);
  assign lower = !cfg_i.production || cfg_i.clamp || rates_i.b_stage != '0 ||
      (cfg_i.clamp_after_time && rates_i.t_stage != '0);

  // ------------------------------------------------------------------------------------ increase
  // The paper looks at the stages with this expiry counted, production before.
  logic [11:0] t_next, b_next, t_seen, b_seen, most, least;
  logic [1:0]  phase;
  logic [29:0] hyper, step, target;
  logic [30:0] raised, middle;
  assign t_next = (op_i == dcqcn_pkg::INC && rates_i.t_stage != '1) ? rates_i.t_stage + 12'd1 :
      rates_i.t_stage;
  assign b_next = (op_i == dcqcn_pkg::BYTE && rates_i.b_stage != '1) ? rates_i.b_stage + 12'd1 :
      rates_i.b_stage;
  assign t_seen = cfg_i.production ? rates_i.t_stage : t_next;
  assign b_seen = cfg_i.production ? rates_i.b_stage : b_next;
  assign most = (t_seen > b_seen) ? t_seen : b_seen;
  assign least = (cfg_i.byte_reset == '0 || t_seen < b_seen) ? t_seen : b_seen;
  assign hyper = cfg_i.production ? cfg_i.hai : (product_i[54:30] != '0) ? MOST : product_i[29:0];
  always_comb begin
    if (most < 12'(cfg_i.f)) begin
      phase = dcqcn_pkg::PH_FAST;
      step = '0;
    end else if (least > 12'(cfg_i.f)) begin
      phase = dcqcn_pkg::PH_HYPER;
      step = hyper;
    end else begin
      phase = dcqcn_pkg::PH_ADD;
      step = cfg_i.ai;
    end
  end
  assign raised = 31'(rates_i.target) + 31'(step);
  assign target = (raised > 31'(cfg_i.line)) ? cfg_i.line : raised[29:0];
  assign middle = (31'(rates_i.rate) + 31'(target) + 31'd1) >> 1;

  // -------------------------------------------------------------------------------------- choice
  always_comb begin
    tm_o = tm_i;
    alpha_o = alpha_i;
    rates_o = rates_i;
    reload_o = 1'b0;
    reload_on_o = cfg_i.byte_reset != '0;
    if (op_i == dcqcn_pkg::CNP && cfg_i.production) begin
      tm_o.active = 1'b1;
      tm_o.dec_flag = 1'b1;
      alpha_o.flag = tm_i.active;
      if (!tm_i.active) begin
        tm_o.inc_run = 1'b0;
        tm_o.alpha_at = at_i + 32'(cfg_i.alpha_ticks);
        tm_o.dec_at = at_i + 32'(cfg_i.dec_ticks) + 32'd1;
        rates_o.rate = first_rate;
        rates_o.target = first_rate;
      end
    end else if (op_i == dcqcn_pkg::DEC || op_i == dcqcn_pkg::CNP) begin
      tm_o.active = 1'b1;
      tm_o.dec_flag = 1'b0;
      tm_o.inc_run = 1'b1;
      tm_o.inc_at = at_i + 32'(cfg_i.inc_ticks);
      tm_o.dec_at = at_i + 32'(cfg_i.dec_ticks);
      if (op_i == dcqcn_pkg::CNP) begin
        tm_o.alpha_at = at_i + 32'(cfg_i.alpha_ticks);
        alpha_o.flag = 1'b0;
      end
      if (lower) rates_o.target = rates_i.rate;
      rates_o.rate = cut_rate;
      rates_o.t_stage = '0;
      rates_o.b_stage = '0;
      rates_o.phase = dcqcn_pkg::PH_FAST;
      rates_o.again = open;
      reload_o = 1'b1;
    end else if (op_i == dcqcn_pkg::INC || (op_i == dcqcn_pkg::BYTE && tm_i.active)) begin
      if (op_i == dcqcn_pkg::INC) tm_o.inc_at = at_i + 32'(cfg_i.inc_ticks);
      rates_o.t_stage = t_next;
      rates_o.b_stage = b_next;
      rates_o.phase = phase;
      rates_o.target = target;
      rates_o.rate = middle[29:0];
    end else if (op_i == dcqcn_pkg::RESET) begin
      tm_o.active = 1'b0;
      tm_o.inc_run = 1'b0;
      tm_o.dec_flag = 1'b0;
      alpha_o.flag = 1'b0;
      alpha_o.alpha = {cfg_i.alpha_init, 8'd0};
      rates_o.rate = cfg_i.line;
      rates_o.target = cfg_i.line;
      rates_o.t_stage = '0;
      rates_o.b_stage = '0;
      rates_o.phase = dcqcn_pkg::PH_NONE;
      rates_o.again = 1'b0;
      reload_o = 1'b1;
      reload_on_o = 1'b0;
    end
  end

  logic unused;
  assign unused = ^{cfg_i, product_i, middle[30]};
endmodule
