// SPDX-License-Identifier: Apache-2.0
//
// Cuts the payload out of stored packets: no headers, pad or iCRC, first byte in lane 0. Header
// fields go out beside it, never later than the payload's first beat.
//
// Header fields pass in the same cycle; payload comes one cycle after its row. A packet of n rows
// takes n cycles (one more when its payload fills as many beats as it touches rows, n > 1, and a
// packet of one row follows at once). Order is kept, nothing is dropped. row_ready depends on
// state, rxd_ready, row_first and row_last.
`include "rnic_assert.svh"

module rx_depacketizer #(
  parameter int unsigned DATA_W = 512
) (
  input  logic               clk_i,
  input  logic               rst_i,

  // From rx_buffer.
  input  logic               pk_valid,
  output logic               pk_ready,
  input  rnic_pkg::rx_meta_t pk_meta,
  input  logic               row_valid,
  output logic               row_ready,
  input  logic [DATA_W-1:0]  row_data,
  input  logic               row_first,
  input  logic               row_last,
  input  logic [6:0]         row_off,
  input  logic [12:0]        row_len,

  output logic               rxm_valid,
  input  logic               rxm_ready,
  output rnic_pkg::rx_meta_t rxm,
  output logic               rxd_valid,
  input  logic               rxd_ready,
  output logic [DATA_W-1:0]  rxd_data,   // lanes beyond rxd_cnt are not cleared
  output logic [7:0]         rxd_cnt,
  output logic               rxd_last
);
  localparam int unsigned B = DATA_W / 8;

  generate
    if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_data_w
      $error("rx_depacketizer: DATA_W must be 128, 256, 512 or 1024");
    end
  endgenerate

  assign rxm_valid = pk_valid;
  assign pk_ready = rxm_ready;
  assign rxm = pk_meta;

  logic [DATA_W-1:0] prev_q;               // last row taken of a packet of several rows
  logic [5:0]        off_q;                // in steps of two bytes: headers have an even length
  logic [12:0]       rest_q;               // payload bytes that have not left
  logic              tail_q;  // prev_q holds the packet's last bytes and nothing more comes
  logic              out_valid_q;
  logic              out_free;             // the output register can be loaded
  logic              single, store, join_rows;
  logic              load;
  logic [12:0]       rest;

  assign out_free = !out_valid_q || (rxd_valid && rxd_ready);
  assign single = row_first && row_last;
  assign store = row_first && !row_last;   // gives no beat
  assign join_rows = !row_first;

  // tail_q uses the output register; a row that is only stored can replace prev_q then.
  assign row_ready = tail_q ? (store && out_free) : (store || out_free);
  assign load = out_free && (tail_q || (row_valid && (single || join_rows)));
  assign rest = (!tail_q && single) ? row_len : rest_q;

  always_ff @(posedge clk_i) begin
    if (load) begin
      if (tail_q) rxd_data <= prev_q >> {off_q, 4'b0000};
      else if (single) rxd_data <= row_data >> {row_off[6:1], 4'b0000};
      else rxd_data <= DATA_W'({row_data, prev_q} >> {off_q, 4'b0000});
      rxd_cnt <= (rest > 13'(B)) ? 8'(B) : rest[7:0];
      rxd_last <= rest <= 13'(B);
    end
    if (load) rest_q <= rest - 13'(B);     // overwritten below when a packet begins
    if (row_valid && row_ready) begin
      if (!single) prev_q <= row_data;
      if (store) begin
        off_q <= row_off[6:1];
        rest_q <= row_len;
      end
    end
    if (load && tail_q) tail_q <= 1'b0;
    if (load && !tail_q && join_rows && row_last && rest > 13'(B)) tail_q <= 1'b1;
    if (out_free) out_valid_q <= load;
    if (rst_i) begin
      tail_q <= 1'b0;
      out_valid_q <= 1'b0;
    end
  end

  // Payload is never valid before its header fields are: ahead_q packets have had theirs taken and
  // still have payload to hand over. -1: the payload was taken first and the header fields still
  // wait.
  logic signed [15:0] ahead_q;
  logic               meta_fire, data_done;
  assign meta_fire = rxm_valid && rxm_ready && rxm.payload_len != '0;
  assign rxd_valid = out_valid_q &&
                     (ahead_q > 0 || (ahead_q == 0 && rxm_valid && rxm.payload_len != '0));
  assign data_done = rxd_valid && rxd_ready && rxd_last;
  always_ff @(posedge clk_i) begin
    if (meta_fire != data_done) ahead_q <= meta_fire ? ahead_q + 16'sd1 : ahead_q - 16'sd1;
    if (rst_i) ahead_q <= '0;
  end

  `RNIC_ASSERT(ahead_bound, ahead_q >= -16'sd1 && ahead_q != 16'sh7FFF)
  `RNIC_ASSERT(even_offset, !(row_valid && row_first) || !row_off[0])
  `RNIC_ASSERT(has_payload, !(row_valid && row_first) || row_len != '0)
  `RNIC_STREAM_HOLD(rxm_valid, rxm_ready, rxm)
  `RNIC_STREAM_HOLD_N(rxd, rxd_valid, rxd_ready, {rxd_data, rxd_cnt, rxd_last})
endmodule
