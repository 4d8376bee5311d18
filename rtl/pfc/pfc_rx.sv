// SPDX-License-Identifier: Apache-2.0
//
// Pauses heard: takes MAC control frames (EtherType 0x8808) out of the received stream and keeps
// the time for which each class may send nothing. Runs on the MAC's clock.
//
// Every other frame passes in the same cycle, unchanged. MAC control frames never pass, whatever
// they say. From a pause frame's last beat to paused_o: 2 cycles. paused_o of a class stays for the
// quanta named (512 bit times each at the rate of cfg_bits_i), never shorter, at most 2 cycles
// longer; a later frame replaces the time of an earlier one, 0 ends it. Obeyed: PFC (opcode 0x0101)
// for the classes of cfg_classes_i that it names, the pause of the whole link (0x0001) for all
// classes if cfg_link_i. Not obeyed: other destinations than 01-80-C2-00-00-01, other opcodes, bad
// frames, frames shorter than 60 bytes.

module pfc_rx #(
  parameter int unsigned DATA_W = 512
) (
  input  logic              clk_i,          // of the MAC
  input  logic              rst_i,
  input  logic [7:0]        cfg_classes_i,  // PFC is obeyed for these
  input  logic              cfg_link_i,     // the pause of the whole link is obeyed
  input  logic [35:0]       cfg_bits_i,     // bits of the wire per cycle, 20 of them fraction

  // mac_rx; whole frames
  input  logic              in_valid,
  input  logic [DATA_W-1:0] in_data,
  input  logic [7:0]        in_cnt,
  input  logic              in_last,
  input  logic              in_err,
  // cdc_rx
  output logic              out_valid,
  output logic [DATA_W-1:0] out_data,
  output logic [7:0]        out_cnt,
  output logic              out_last,
  output logic              out_err,

  output logic [7:0]        paused_o,
  output logic              link_paused_o,           // the whole link is
  output logic              cnt_rx_pause_o,          // a good pause frame, obeyed or not
  output logic              cnt_rx_mac_ctrl_bad_o,   // a MAC control frame that is none
  output logic [7:0]        cnt_rx_prio_pause_o      // a good PFC frame named the class
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned HEAD = 34;                 // bytes up to the last time
  localparam logic [47:0] GROUP = 48'h01_00_00_C2_80_01;  // 01-80-C2-00-00-01, first byte lowest
  localparam logic [15:0] CONTROL = 16'h0888;        // EtherType 0x8808, first byte lowest

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_width
    $error("pfc_rx: DATA_W must be 128, 256, 512 or 1024");
  end

  // ---------------------------------------------------------------------- which frames are control
  logic       inside_q, control_q;   // a frame is under way; it is a MAC control frame
  logic [1:0] beat_q;                // its next beat, at most 3
  logic       control;
  logic [1:0] beat;
  assign beat = inside_q ? beat_q : 2'd0;
  assign control = inside_q ? control_q :
                   in_data[12*8 +: 16] == CONTROL && (!in_last || in_cnt >= 8'd14);

  assign out_valid = in_valid && !control;
  assign out_data = in_data;
  assign out_cnt = in_cnt;
  assign out_last = in_last;
  assign out_err = in_err;

  // ------------------------------------------------------------------------------ what it says
  logic [HEAD*8-1:0] head_q;
  logic [6:0]        length_q, length;   // bytes, at most 64
  logic [8:0]        sum;
  logic              whole_q, bad_q;     // its last beat has come; it is damaged or too short
  assign sum = (inside_q ? 9'(length_q) : 9'd0) + 9'(in_cnt);
  assign length = sum >= 9'd64 ? 7'd64 : sum[6:0];

  always_ff @(posedge clk_i) begin
    if (in_valid) begin
      inside_q <= !in_last;
      control_q <= control;
      beat_q <= beat == 2'd3 ? 2'd3 : beat + 2'd1;
      length_q <= length;
    end
    whole_q <= in_valid && control && in_last;
    bad_q <= in_err || length < 7'd60;
    if (rst_i) begin
      inside_q <= 1'b0;
      whole_q <= 1'b0;
    end
  end
  generate
    for (genvar i = 0; i < HEAD; i++) begin : gen_head
      always_ff @(posedge clk_i) begin
        if (in_valid && control && beat == 2'(i / B)) head_q[i*8 +: 8] <= in_data[(i % B)*8 +: 8];
      end
    end
  endgenerate

  logic        good, is_pfc, is_link;
  logic [7:0]  named;
  assign is_link = head_q[14*8 +: 16] == 16'h0100;   // opcode 0x0001, first byte lowest
  assign is_pfc = head_q[14*8 +: 16] == 16'h0101;
  assign good = whole_q && !bad_q && head_q[47:0] == GROUP && (is_link || is_pfc);
  assign named = is_pfc ? head_q[17*8 +: 8] : 8'd0;

  always_ff @(posedge clk_i) begin
    cnt_rx_pause_o <= good;
    cnt_rx_mac_ctrl_bad_o <= whole_q && !good;
    cnt_rx_prio_pause_o <= good ? named : 8'd0;
    if (rst_i) begin
      cnt_rx_pause_o <= 1'b0;
      cnt_rx_mac_ctrl_bad_o <= 1'b0;
      cnt_rx_prio_pause_o <= '0;
    end
  end

  // ------------------------------------------------------------------------------------- the times
  // Whole bits of this cycle; what is left of them is never lost.
  logic [19:0] fraction_q;
  logic [36:0] bits;
  logic [16:0] step;
  assign bits = 37'(cfg_bits_i) + 37'(fraction_q);
  assign step = bits[36:20];
  always_ff @(posedge clk_i) begin
    fraction_q <= bits[19:0];
    if (rst_i) fraction_q <= '0;
  end

  // Bits left, of each class and, the ninth, of the link. One more bit than the quanta have: the
  // steps may run ahead of the true rate by less than that.
  logic [8:0]   load, enabled, stop;
  logic [143:0] quanta;                              // the first byte of a time is its high one
  assign load = {good && is_link, {8{good}} & named};
  assign enabled = {cfg_link_i, cfg_classes_i};
  generate
    for (genvar i = 0; i < 9; i++) begin : gen_timer
      localparam int unsigned AT = i == 8 ? 16 : 18 + 2 * i;
      logic [24:0] left_q, left;
      assign quanta[i*16 +: 16] = {head_q[AT*8 +: 8], head_q[(AT+1)*8 +: 8]};
      always_comb begin
        left = left_q > 25'(step) ? left_q - 25'(step) : '0;
        if (load[i]) left = quanta[i*16 +: 16] == '0 ? '0 : {quanta[i*16 +: 16], 9'd1};
        if (!enabled[i]) left = '0;
      end
      always_ff @(posedge clk_i) begin
        left_q <= left;
        if (rst_i) left_q <= '0;
      end
      assign stop[i] = left != '0;
    end
  endgenerate
  logic unused;
  assign unused = ^head_q[111:48];   // source, EtherType

  // A register, because it crosses to the core's clock.
  always_ff @(posedge clk_i) begin
    paused_o <= stop[7:0] | {8{stop[8]}};
    link_paused_o <= stop[8];
    if (rst_i) begin
      paused_o <= '0;
      link_paused_o <= 1'b0;
    end
  end
endmodule
