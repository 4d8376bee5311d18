// SPDX-License-Identifier: Apache-2.0
// Appends the Ethernet FCS to frames; a frame with in_err gets a wrong one.
// Throughput: one beat per cycle, one more beat per frame whose last beat has no room for four bytes. Latency: 4 cycles.
// Between frames and until a frame's first beat has left, a missing beat only delays (may_wait_o); later the input must
// have a beat whenever in_ready is high. in_ready depends on in_valid and out_ready.
module mac_fcs #(
    parameter int unsigned DATA_W = 512
) (
    input  logic              clk_i,
    input  logic              rst_i,
    input  logic              in_valid,
    output logic              in_ready,
    input  logic [DATA_W-1:0] in_data,
    input  logic [7:0]        in_cnt,
    input  logic              in_last,
    input  logic              in_err,
    output logic              may_wait_o,
    output logic              out_valid,
    input  logic              out_ready,
    output logic [DATA_W-1:0] out_data,
    output logic [7:0]        out_cnt,
    output logic              out_last,
    output logic              out_err
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LAT = 4;  // of crc32_stream with UNDO_STAGES 1
  localparam int unsigned BEAT_W = DATA_W + 8 + 2;

  // The delay line holds the beats while their CRC is computed; en moves everything.
  logic [LAT-1:0] v_q;
  logic [LAT*BEAT_W-1:0] d_q;
  logic en, inside_q, first, extra, spill_q;
  logic [DATA_W-1:0] masked, lanes;
  always_comb for (int i = 0; i < B; i++) lanes[i*8+:8] = {8{8'(i) < in_cnt}};
  assign masked = in_data & lanes;
  assign first = !inside_q;

  logic at_end;
  assign at_end = v_q[LAT-1];
  assign may_wait_o = !at_end;
  assign en = at_end ? out_ready && !extra : in_valid || !inside_q;
  assign in_ready = en;

  always_ff @(posedge clk_i) begin
    if (en) begin
      v_q <= {v_q[LAT-2:0], in_valid};
      if (in_valid) begin
        d_q[0+:BEAT_W] <= {in_err, in_last, in_cnt, masked};
        inside_q <= !in_last;
      end
      for (int unsigned i = 1; i < LAT; i++)
        if (v_q[i-1]) d_q[i*BEAT_W+:BEAT_W] <= d_q[(i-1)*BEAT_W+:BEAT_W];
    end
    if (rst_i) begin
      v_q <= '0;
      inside_q <= 1'b0;
    end
  end

  logic crc_valid;
  logic [31:0] crc_reg, fcs;
  logic [7:0] crc_zeros;
  crc32_stream #(
      .DATA_W(DATA_W),
      .UNDO_STAGES(1)
  ) u_crc (
      .clk_i,
      .rst_i,
      .en_i(en),
      .valid_i(in_valid),
      .data_i(masked),
      .cnt_i(in_cnt),
      .first_i(first),
      .last_i(in_last),
      .init_i(32'hFFFF_FFFF),
      .crc_valid_o(crc_valid),
      .crc_reg_o(crc_reg),
      .crc_zeros_o(crc_zeros)
  );

  // ------------------------------------------------------------------------------------- the last beat
  logic e_err, e_last;
  logic [7:0] e_cnt;
  logic [DATA_W-1:0] e_data;
  assign {e_err, e_last, e_cnt, e_data} = d_q[(LAT-1)*BEAT_W+:BEAT_W];
  assign fcs = ~crc_reg ^ {32{e_err}};
  logic [8:0] full_cnt;
  logic spills;
  assign full_cnt = {1'b0, e_cnt} + 9'd4;
  assign spills = e_last && full_cnt > 9'(B);
  // A spilling frame needs one more beat: the first of the two does not move the line.
  assign extra = spills && !spill_q;

  logic [DATA_W+31:0] joined;
  assign joined = {32'd0, e_data} | ((DATA_W + 32)'(fcs) << {e_cnt, 3'b000});
  assign out_valid = at_end;
  assign out_data = !e_last ? e_data : spill_q ? DATA_W'(joined[DATA_W+31:DATA_W]) : joined[DATA_W-1:0];
  assign out_last = e_last && !extra;
  assign out_err = out_last && e_err;
  assign out_cnt = !e_last ? 8'(B) : spill_q ? full_cnt[7:0] - 8'(B) : spills ? 8'(B) : full_cnt[7:0];
  always_ff @(posedge clk_i) begin
    if (at_end && out_ready) spill_q <= extra;
    if (rst_i) spill_q <= 1'b0;
  end

  logic unused;
  assign unused = ^{crc_valid, crc_zeros};
endmodule
