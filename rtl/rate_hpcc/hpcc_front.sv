// SPDX-License-Identifier: Apache-2.0
// What an ACK is to its QP: which kind, which hops say something, what is stored of it.
// Combinational. Facts: roce.md section 7.
module hpcc_front #(
    parameter int unsigned SEQ_W = 24
) (
    input  hpcc_pkg::cfg_t     cfg_i,
    input  logic               reset_i,
    input  logic [23:0]        qpn_i,
    input  logic [SEQ_W-1:0]   ack_i,       // next sequence number that the peer expects
    input  logic [SEQ_W-1:0]   next_i,      // next one to send
    input  hpcc_pkg::stack_t   stack_i,
    // as stored: there is telemetry, of which path, the last full update, the hops
    input  logic               primed_i,
    input  logic [11:0]        path_i,
    input  logic [2:0]         nhop_i,
    input  logic [SEQ_W-1:0]   last_i,
    input  logic [319:0]       hops_i,
    output logic               primed_o,
    output logic [11:0]        path_o,
    output logic [2:0]         nhop_o,
    output logic [SEQ_W-1:0]   last_o,
    output logic [319:0]       hops_o,
    output logic [4:0]         on_o,        // hops with a load
    output hpcc_pkg::pass_t    pass_o
);
  logic [4:0]  listed, known, same_ts, same_tx, empty, exist, skip, store;
  logic        nhop_ok, usable, full, ignored, moved, load, store_all;
  logic [16:0] q_max;
  logic [SEQ_W-1:0] ahead, next_ahead;
  assign nhop_ok = stack_i.nhop != 8'd0 && stack_i.nhop <= 8'd5;
  for (genvar i = 0; i < 5; i++) begin : gen_hop
    logic [63:0] now, old;   // of type hop_t
    assign now = stack_i.hops[64*i +: 64];
    assign old = hops_i[64*i +: 64];
    assign listed[i] = nhop_ok && 8'(i) < stack_i.nhop;
    assign known[i] = now[2:0] <= 3'd4;
    assign same_ts[i] = now[26:3] == old[26:3];
    assign same_tx[i] = now[46:27] == old[46:27];
    assign empty[i] = now[63:47] == '0;
    assign hops_o[64*i +: 64] = store[i] ? now : old;
    logic unused;
    assign unused = ^old;
  end
  always_comb begin
    q_max = '0;
    for (int i = 0; i < 5; i++) begin
      if (listed[i] && stack_i.hops[64*i+47 +: 17] > q_max) q_max = stack_i.hops[64*i+47 +: 17];
    end
  end
  assign ahead = ack_i - last_i;
  assign next_ahead = next_i - last_i;
  assign usable = nhop_ok && (listed & ~known) == '0;
  assign exist = usable ? listed : '0;
  assign full = !primed_i || (!ahead[SEQ_W-1] && ahead != '0);
  assign ignored = !full && !cfg_i.fast_react;
  assign moved = cfg_i.path_check && (stack_i.nhop != 8'(nhop_i) || stack_i.path != path_i);
  assign load = primed_i && !ignored && usable && !moved;
  assign store_all = !ignored && usable && (!primed_i || moved);
  assign skip = (cfg_i.sample && !full) ? empty : '0;
  assign on_o = load ? exist & ~skip & ~same_ts : '0;
  assign store = reset_i ? '0 : store_all ? exist : on_o;
  always_comb begin
    primed_o = !reset_i && (primed_i || store_all);
    path_o = store_all ? stack_i.path : path_i;
    nhop_o = store_all ? stack_i.nhop[2:0] : nhop_i;
    last_o = last_i;
    if (!primed_i || (full && !next_ahead[SEQ_W-1])) last_o = next_i;
    if (reset_i) last_o = '0;

    pass_o.valid = 1'b1;
    pass_o.qpn = qpn_i;
    pass_o.kind = ignored ? hpcc_pkg::IGNORED : !primed_i ? hpcc_pkg::FIRST :
        (usable && moved) ? hpcc_pkg::NEW_PATH : full ? hpcc_pkg::UPDATE : hpcc_pkg::FAST;
    pass_o.formula = cfg_i.formula && usable && !ignored;
    pass_o.apply = load && (exist & ~skip) != '0 && !cfg_i.formula;
    pass_o.full = full;
    pass_o.multi = cfg_i.multi_rate;
    pass_o.exist = exist;
    pass_o.hold = load ? ~exist | skip : '1;
    if (!cfg_i.multi_rate) pass_o.hold = {4'hF, !pass_o.apply};
    if (cfg_i.formula) pass_o.hold = '1;
    pass_o.bad = '0;
    pass_o.bad[hpcc_pkg::BAD_NHOP] = stack_i.nhop > 8'd5;
    pass_o.bad[hpcc_pkg::BAD_LINK] = nhop_ok && !usable;
    pass_o.bad[hpcc_pkg::BAD_CLOCK] = load && (exist & ~skip & same_ts & ~same_tx) != '0;
    pass_o.q_max = q_max;
    pass_o.last = 32'(last_o);
    pass_o.rate = '0;
    pass_o.u_max = '0;
    pass_o.tau = '0;
    if (reset_i) begin
      pass_o.kind = hpcc_pkg::RESET;
      pass_o.formula = 1'b0;
      pass_o.apply = 1'b0;
      pass_o.exist = '0;
      pass_o.hold = '1;
      pass_o.bad = '0;
    end
  end
  logic unused;
  assign unused = ^{cfg_i, next_ahead[SEQ_W-2:0]};
endmodule
