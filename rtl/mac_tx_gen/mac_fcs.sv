// SPDX-License-Identifier: Apache-2.0
// Appends the Ethernet FCS to frames; a frame with in_err gets a wrong one.
//
// One beat per cycle, plus one where the FCS does not fit into the last beat. Latency: a beat taken
// in cycle c is out_valid in cycle c + 5; beats keep their distance. Nothing is dropped.
`include "rnic_assert.svh"
module mac_fcs #(
  parameter int unsigned DATA_W = 512
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic              in_valid,
  output logic              in_ready,
  input  logic [DATA_W-1:0] in_data,     // lanes from in_cnt on are zero
  input  logic [7:0]        in_cnt,
  input  logic              in_last,
  input  logic              in_err,
  input  logic [48:0]       in_user,     // stays with the beat
  output logic              out_valid,
  input  logic              out_ready,
  output logic [DATA_W-1:0] out_data,
  output logic [7:0]        out_cnt,
  output logic              out_last,
  output logic              out_err,
  output logic [48:0]       out_user
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned CRC_LAT = 4;
  localparam int unsigned DEPTH = 8;
  localparam int unsigned PW = $clog2(DEPTH);

  logic              in_fire, first_q;
  logic              crc_in_q, crc_first_q, crc_last_q, crc_valid;
  logic [DATA_W-1:0] crc_data_q;
  logic [7:0]        crc_cnt_q, unused_zeros;
  logic [31:0]       crc_reg, result, fcs;
  logic              result_valid, result_room, result_take;
  logic [3:0]        unused_level;

  logic [DATA_W-1:0]  data_mem[DEPTH];
  logic [58:0]        meta_mem[DEPTH];   // user, cnt, last, err
  logic [PW-1:0]      wp_q, rp_q;
  logic [3:0]         used_q, ready_q;
  logic [CRC_LAT-1:0] age_q;
  logic               extra_q;           // only the rest of the FCS is left
  logic [7:0]         cnt;
  logic               last, err, fits, pop, out_fire, old;
  logic [8:0]         total;

  assign in_ready = used_q != 4'(DEPTH);
  assign in_fire  = in_valid && in_ready;

  always_ff @(posedge clk_i) begin
    crc_in_q <= in_fire;
    if (in_fire) begin
      first_q     <= in_last;
      crc_data_q  <= in_data;
      crc_cnt_q   <= in_cnt;
      crc_first_q <= first_q;
      crc_last_q  <= in_last;
    end
    if (rst_i) begin
      crc_in_q <= 1'b0;
      first_q  <= 1'b1;
    end
  end

  crc32_stream #(.DATA_W(DATA_W), .UNDO_STAGES(1)) u_crc (
    .clk_i,
    .rst_i,
    .en_i       (1'b1),
    .valid_i    (crc_in_q),
    .data_i     (crc_data_q),
    .cnt_i      (crc_cnt_q),
    .first_i    (crc_first_q),
    .last_i     (crc_last_q),
    .init_i     (32'hFFFFFFFF),
    .crc_valid_o(crc_valid),
    .crc_reg_o  (crc_reg),
    .crc_zeros_o(unused_zeros)
  );

  stream_fifo_small #(.W(32), .DEPTH(DEPTH), .LATENCY(0)) u_results (
    .clk_i,
    .rst_i,
    .in_valid (crc_valid),
    .in_ready (result_room),
    .in_data  (crc_reg),
    .out_valid(result_valid),
    .out_ready(result_take),
    .out_data (result),
    .level_o  (unused_level)
  );

  assign {out_user, cnt, last, err} = meta_mem[rp_q];
  assign total     = 9'(cnt) + 9'd4;
  assign fits      = total <= 9'(B);
  assign old       = age_q[CRC_LAT-1];
  assign out_valid = ready_q != 4'd0;
  assign out_last  = last && (extra_q || fits);
  assign out_err   = out_last && err;
  assign out_cnt   = extra_q ? 8'(total - 9'(B)) : last ? (fits ? total[7:0] : 8'(B)) : cnt;
  assign out_fire  = out_valid && out_ready;
  assign pop       = out_fire && (!last || out_last);
  assign result_take = out_fire && out_last;
  assign fcs       = err ? result : ~result;

  // On the wire least significant byte first: lane order.
  always_comb begin
    out_data = '0;
    if (out_valid) begin
      if (extra_q) begin
        out_data[31:0] = fcs >> {6'(9'(B) - {1'b0, cnt}), 3'd0};
      end else begin
        out_data = data_mem[rp_q];
        if (last) out_data = data_mem[rp_q] | (DATA_W'(fcs) << {cnt, 3'd0});
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (in_fire) begin
      data_mem[wp_q] <= in_data;
      meta_mem[wp_q] <= {in_user, in_cnt, in_last, in_err};
      wp_q <= wp_q + PW'(1);
    end
    if (pop) rp_q <= rp_q + PW'(1);
    if (out_fire) extra_q <= last && !out_last;
    if (in_fire != pop) used_q <= in_fire ? used_q + 4'd1 : used_q - 4'd1;
    if (old != pop) ready_q <= old ? ready_q + 4'd1 : ready_q - 4'd1;
    age_q <= {age_q[CRC_LAT-2:0], in_fire};
    if (rst_i) begin
      wp_q    <= '0;
      rp_q    <= '0;
      extra_q <= 1'b0;
      used_q  <= 4'd0;
      ready_q <= 4'd0;
      age_q   <= '0;
    end
  end

  logic unused;
  assign unused = ^{unused_zeros, unused_level};

  `RNIC_STREAM_HOLD(out_valid, out_ready, {out_data, out_cnt, out_last, out_err})
  `RNIC_ASSERT(results_fit, !crc_valid || result_room)
  `RNIC_ASSERT(result_in_time, !(out_fire && out_last) || result_valid)
endmodule
