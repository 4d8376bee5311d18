// SPDX-License-Identifier: Apache-2.0
//
// Between the registers and receive buffer (core's clock) and pfc_rx, pfc_tx (the MAC's): settings
// and levels there, pauses and counts back.
//
// Levels cross bit by bit in SYNC_STAGES cycles. Settings of several bits must stay while classes
// are paused or asked to pause. Counts are exact, one pulse per cycle. The rate of the wire becomes
// bits per cycle of the MAC, rounded down, so that pauses are never shorter.

module cdc_pfc #(
  parameter int unsigned MAC_PS = 1600,      // period of mac_clk_i
  parameter int unsigned SYNC_STAGES = 2
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        mac_clk_i,
  input  logic        mac_rst_i,

  // core's clock: settings, classes to ask for
  input  logic [29:0] cfg_kbps_i,
  input  logic [7:0]  cfg_rx_classes_i,
  input  logic        cfg_rx_link_i,
  input  logic        cfg_tx_link_i,
  input  logic [15:0] cfg_quanta_i,
  input  logic [47:0] cfg_mac_i,
  input  logic [7:0]  xoff_i,
  input  logic        link_free_i,
  input  logic        link_drop_i,
  // the same on the MAC's clock
  output logic [35:0] mac_bits_o,
  output logic [7:0]  mac_rx_classes_o,
  output logic        mac_rx_link_o,
  output logic        mac_tx_link_o,
  output logic [15:0] mac_quanta_o,
  output logic [47:0] mac_mac_o,
  output logic [7:0]  mac_xoff_o,
  output logic        mac_link_free_o,
  output logic        mac_link_drop_o,

  // the MAC's clock: pauses, and pulses to count
  input  logic [7:0]  mac_paused_i,
  input  logic        mac_link_paused_i,
  input  logic        mac_rx_pause_i,
  input  logic        mac_rx_bad_i,
  input  logic [7:0]  mac_rx_prio_i,
  input  logic        mac_tx_pause_i,
  input  logic [7:0]  mac_tx_prio_i,
  input  logic        mac_dropped_i,
  // the same on the core's clock
  output logic [7:0]  paused_o,
  output logic        link_paused_o,
  output logic        cnt_rx_pause_o,
  output logic        cnt_rx_mac_ctrl_bad_o,
  output logic [7:0]  cnt_rx_prio_pause_o,
  output logic        cnt_tx_pause_o,
  output logic [7:0]  cnt_tx_prio_pause_o,
  output logic        cnt_dropped_o
);
  // Bits in a cycle at 1 kb/s, in units of 2^-44.
  localparam logic [63:0] PER_KBPS = (64'(MAC_PS) << 44) / 64'd1000000000;

  if (MAC_PS < 100 || MAC_PS > 65535) begin : gen_bad_period
    $error("cdc_pfc: MAC_PS must be 100 to 65535");
  end

  logic [93:0] bits;
  logic [35:0] bits_q;
  assign bits = 94'(cfg_kbps_i) * 94'(PER_KBPS);
  always_ff @(posedge clk_i) bits_q <= bits[24 +: 36];

  cdc_sync #(.W(120), .STAGES(SYNC_STAGES)) u_to_mac (
    .clk_i(mac_clk_i),
    .rst_i(mac_rst_i),
    .d_i({bits_q, cfg_rx_classes_i, cfg_rx_link_i, cfg_tx_link_i, cfg_quanta_i, cfg_mac_i,
          xoff_i, link_free_i, link_drop_i}),
    .q_o({mac_bits_o, mac_rx_classes_o, mac_rx_link_o, mac_tx_link_o, mac_quanta_o, mac_mac_o,
          mac_xoff_o, mac_link_free_o, mac_link_drop_o})
  );
  cdc_sync #(.W(9), .STAGES(SYNC_STAGES)) u_to_core (
    .clk_i,
    .rst_i,
    .d_i({mac_link_paused_i, mac_paused_i}),
    .q_o({link_paused_o, paused_o})
  );

  localparam int unsigned N = 20;
  logic [N-1:0] pulses, counts;
  assign pulses = {mac_rx_pause_i, mac_rx_bad_i, mac_rx_prio_i, mac_tx_pause_i, mac_tx_prio_i,
                   mac_dropped_i};
  assign {cnt_rx_pause_o, cnt_rx_mac_ctrl_bad_o, cnt_rx_prio_pause_o, cnt_tx_pause_o,
          cnt_tx_prio_pause_o, cnt_dropped_o} = counts;
  generate
    for (genvar i = 0; i < N; i++) begin : gen_count
      cdc_count #(.W(12), .SYNC_STAGES(SYNC_STAGES)) u_count (
        .src_clk_i(mac_clk_i),
        .src_rst_i(mac_rst_i),
        .pulse_i  (pulses[i]),
        .clk_i,
        .rst_i,
        .hold_i   (1'b0),
        .pulse_o  (counts[i])
      );
    end
  endgenerate

  logic unused;
  assign unused = ^{bits[93:60], bits[23:0]};
endmodule
