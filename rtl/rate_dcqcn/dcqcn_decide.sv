// SPDX-License-Identifier: Apache-2.0
// What a pass does: the timer that expires first before the event, or the event itself, and how far
// alpha's ticks and the grid of rate checks have to be counted before it. Of two timers due in one
// tick the one armed first goes first, and that is the one with the longer period. Combinational.
module dcqcn_decide (
    input  dcqcn_pkg::cfg_t    cfg_i,
    input  dcqcn_pkg::event_t  ev_i,
    input  dcqcn_pkg::timers_t tm_i,
    output dcqcn_pkg::pass_t   pass_o
);
  // Signed distances, times are modular.
  logic [31:0] bound, dec_left, inc_left, dec_to_inc;
  logic [31:0] alpha_bound, alpha_left, grid_bound, grid_left;
  logic        dec_due, inc_due, dec_first, alpha_before_dec, alpha_before_inc;
  assign bound = ev_i.at + 32'(ev_i.inclusive);
  assign dec_left = tm_i.dec_at - bound;
  assign inc_left = tm_i.inc_at - bound;
  assign dec_to_inc = tm_i.inc_at - tm_i.dec_at;
  assign dec_due = ev_i.kind != dcqcn_pkg::RESET && tm_i.active && tm_i.dec_flag && dec_left[31];
  assign inc_due = ev_i.kind != dcqcn_pkg::RESET && tm_i.active && tm_i.inc_run && inc_left[31];
  assign dec_first = dec_due && (!inc_due || (dec_to_inc == 32'd0 ?
      cfg_i.dec_ticks >= cfg_i.inc_ticks : !dec_to_inc[31]));
  assign alpha_before_dec = cfg_i.alpha_ticks >= cfg_i.dec_ticks;
  assign alpha_before_inc = cfg_i.alpha_ticks >= cfg_i.inc_ticks;

  always_comb begin
    pass_o.valid = 1'b1;
    pass_o.ev = ev_i;
    pass_o.tm = tm_i;
    pass_o.op = ev_i.kind;
    pass_o.at = ev_i.at;
    alpha_bound = bound;
    grid_bound = bound;
    if (dec_first) begin
      pass_o.op = dcqcn_pkg::DEC;
      pass_o.at = tm_i.dec_at;
      alpha_bound = tm_i.dec_at + 32'(alpha_before_dec);
    end else if (inc_due) begin
      pass_o.op = dcqcn_pkg::INC;
      pass_o.at = tm_i.inc_at;
      alpha_bound = tm_i.inc_at + 32'(alpha_before_inc);
      grid_bound = tm_i.inc_at;
    end
    alpha_left = tm_i.alpha_at - alpha_bound;
    grid_left = tm_i.dec_at - grid_bound;
    pass_o.alpha_last = alpha_bound - 32'd1;
    pass_o.grid_last = grid_bound - 32'd1;
    pass_o.alpha_due = tm_i.active && alpha_left[31];
    pass_o.grid_due = tm_i.active && cfg_i.production && !tm_i.dec_flag && grid_left[31];
  end

  logic unused;
  assign unused = ^{cfg_i, dec_left, inc_left, alpha_left, grid_left};
endmodule
