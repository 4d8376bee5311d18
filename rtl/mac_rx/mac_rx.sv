// SPDX-License-Identifier: Apache-2.0
//
// Receive side of the MAC, on its clock: takes frames from the wire's pins and, with GEN_FCS,
// checks and strips the FCS.
//
// One beat every cycle, never stalls. GEN_FCS 0: latency 1. GEN_FCS 1: a beat leaves 3 cycles after
// the beat that follows it in its frame has come, the last one 4 cycles after itself (3 when it
// only held FCS bytes and its predecessor becomes the last). Order is kept, nothing is dropped
// here: a bad FCS becomes out_err on the last beat. A frame that is under way when reset ends is
// discarded to its end.
`include "rnic_assert.svh"

module mac_rx #(
  parameter int unsigned DATA_W = 512,
  // 1: frames carry their FCS; 0: the MAC in front has checked and removed it
  parameter int unsigned GEN_FCS = 0
) (
  input  logic              clk_i,     // mac_clk
  input  logic              rst_i,

  input  logic              mac_rx_valid,
  input  logic [DATA_W-1:0] mac_rx_data,
  input  logic [7:0]        mac_rx_cnt,
  input  logic              mac_rx_last,
  input  logic              mac_rx_err,  // with last

  output logic              out_valid,
  output logic [DATA_W-1:0] out_data,
  output logic [7:0]        out_cnt,
  output logic              out_last,
  output logic              out_err      // with last
);
  localparam int unsigned B = DATA_W / 8;

  // Where the wire is in a frame is known through reset, so that reset in mid-frame does not make a
  // frame of its rest.
  logic inside_q = 1'b0;
  logic skip_q;
  logic valid;
  always_ff @(posedge clk_i) begin
    if (mac_rx_valid) inside_q <= !mac_rx_last;
    if (rst_i) skip_q <= mac_rx_valid ? !mac_rx_last : inside_q;
    else if (mac_rx_valid && mac_rx_last) skip_q <= 1'b0;
  end
  assign valid = mac_rx_valid && !skip_q;

  generate
    if (GEN_FCS == 0) begin : gen_plain
      always_ff @(posedge clk_i) begin
        if (valid) begin
          out_data <= mac_rx_data;
          out_cnt <= mac_rx_cnt;
          out_last <= mac_rx_last;
          out_err <= mac_rx_last && mac_rx_err;
        end
        out_valid <= valid && !rst_i;
      end
    end else begin : gen_fcs
      // The newest beat waits until it is known whether it ends the frame: data in a small memory,
      // the rest in held_q.
      logic [DATA_W-1:0] mem [8];
      logic [2:0]        wr_q, held_at_q;
      logic              held_q, held_last_q, held_err_q;
      logic [7:0]        held_cnt_q;
      logic              first_q;                    // the next beat begins a frame
      logic              merge;  // this beat is FCS only: the one before it is the last
      logic              emit;
      logic [7:0]        kept;

      assign merge = valid && mac_rx_last && mac_rx_cnt <= 8'd4 && held_q && !held_last_q;
      assign emit = held_q && (held_last_q || valid);
      // a frame of FCS bytes only keeps one, and is bad
      assign kept = (mac_rx_cnt > 8'd4) ? mac_rx_cnt - 8'd4 : 8'd1;

      // Two cycles later the beat is read, in the third it leaves.
      logic       d1_q, d1_last_q, d1_err_q, d1_merged_q;
      logic       d2_q, d2_last_q, d2_err_q, d2_merged_q;
      logic [2:0] d1_at_q, d2_at_q;
      logic [7:0] d1_cnt_q, d2_cnt_q;
      logic       err_q, merged_q;

      always_ff @(posedge clk_i) begin
        if (valid) begin
          mem[wr_q] <= mac_rx_data;
          wr_q <= wr_q + 3'd1;
          first_q <= mac_rx_last;
          if (!merge) begin
            held_at_q <= wr_q;
            held_last_q <= mac_rx_last;
            held_cnt_q <= mac_rx_last ? kept : mac_rx_cnt;
            held_err_q <= mac_rx_last && (mac_rx_err || mac_rx_cnt <= 8'd4);
          end
        end
        held_q <= (valid && !merge) || (held_q && !emit);

        d1_q <= emit;
        if (emit) begin
          d1_at_q <= held_at_q;
          d1_merged_q <= merge;
          d1_last_q <= held_last_q || merge;
          d1_err_q <= held_last_q ? held_err_q : merge && mac_rx_err;
          d1_cnt_q <= merge ? 8'(B - 4) + mac_rx_cnt : held_cnt_q;
        end
        d2_q <= d1_q;
        if (d1_q) begin
          d2_at_q <= d1_at_q;
          d2_merged_q <= d1_merged_q;
          d2_last_q <= d1_last_q;
          d2_err_q <= d1_err_q;
          d2_cnt_q <= d1_cnt_q;
        end
        out_valid <= d2_q;
        if (d2_q) begin
          out_data <= mem[d2_at_q];
          out_cnt <= d2_cnt_q;
          out_last <= d2_last_q;
          err_q <= d2_err_q;
          merged_q <= d2_merged_q;
        end
        if (rst_i) begin
          wr_q <= '0;
          first_q <= 1'b1;
          held_q <= 1'b0;
          d1_q <= 1'b0;
          d2_q <= 1'b0;
          out_valid <= 1'b0;
        end
      end

      // FCS verdict: 3 cycles after the frame's last beat came in. A merged last beat leaves in
      // that cycle, any other last beat one cycle later.
      logic              crc_valid, fcs_now, fcs_q;
      logic [31:0]       crc_reg;
      logic [7:0]        crc_zeros;
      logic [DATA_W-1:0] crc_data;
      always_comb begin
        crc_data = mac_rx_data;
        if (mac_rx_cnt != 8'(B)) crc_data = mac_rx_data & ~({DATA_W{1'b1}} << {mac_rx_cnt, 3'b000});
      end
      crc32_stream #(.DATA_W(DATA_W), .UNDO_STAGES(0)) u_crc (
        .clk_i, .rst_i,
        .en_i(1'b1),
        .valid_i(valid),
        .data_i(crc_data),
        .cnt_i(mac_rx_cnt),
        .first_i(first_q),
        .last_i(mac_rx_last),
        .init_i(32'hFFFFFFFF),
        .crc_valid_o(crc_valid),
        .crc_reg_o(crc_reg),
        .crc_zeros_o(crc_zeros)
      );
      assign fcs_now = crc_reg == crc32_pkg::RESIDUE_ZEROS[32'(crc_zeros)*32 +: 32];
      always_ff @(posedge clk_i) if (crc_valid) fcs_q <= fcs_now;
      assign out_err = out_last && (err_q || !(merged_q ? fcs_now : fcs_q));

      `RNIC_ASSERT(merged_in_time, !(out_valid && out_last && merged_q) || crc_valid)
    end
  endgenerate

  `RNIC_ASSERT(beat_has_bytes, !mac_rx_valid || (mac_rx_cnt != 8'd0 && mac_rx_cnt <= 8'(B)))
  `RNIC_ASSERT(full_until_last, !mac_rx_valid || mac_rx_last || mac_rx_cnt == 8'(B))
endmodule
