// SPDX-License-Identifier: Apache-2.0
//
// The class in which packets of a path leave. Keeps of every path what decides it; answers N_RD
// lookups in the same cycle. An index of N_PATH or above reads as that of path 0 (such a packet is
// dropped later).

module tx_class #(
  parameter int unsigned N_PATH = 64,
  parameter int unsigned N_RD = 1
) (
  input  logic               clk_i,
  input  logic               cfg_pcp_i,      // as pfc_class
  input  logic [2:0]         cfg_default_i,
  input  logic [255:0]       cfg_map_i,
  // cmd_unit writes a path
  input  logic               cw_valid,
  input  logic [15:0]        cw_index,
  input  rnic_pkg::path_t    cw,

  input  logic [N_RD*16-1:0] path_i,
  output logic [N_RD*3-1:0]  class_o
);
  localparam int unsigned AW = N_PATH > 1 ? $clog2(N_PATH) : 1;

  logic [9:0]    marks_mem [N_PATH];      // DSCP, tag, its priority
  always_ff @(posedge clk_i) begin
    if (cw_valid && {1'b0, cw_index} < 17'(N_PATH)) begin
      marks_mem[cw_index[AW-1:0]] <= {cw.dscp, cw.vlan, cw.pcp};
    end
  end

  generate
    for (genvar i = 0; i < N_RD; i++) begin : gen_read
      logic [9:0]    marks;
      logic [15:0]   path;
      logic [AW-1:0] at;
      assign path = path_i[i*16 +: 16];
      assign at = {1'b0, path} < 17'(N_PATH) ? path[AW-1:0] : '0;
      assign marks = marks_mem[at];
      pfc_class u_class (
        .cfg_pcp_i,
        .cfg_default_i,
        .cfg_map_i,
        .ip_i   (1'b1),
        .dscp_i (marks[9:4]),
        .vlan_i (marks[3]),
        .pcp_i  (marks[2:0]),
        .class_o(class_o[i*3 +: 3])
      );
    end
  endgenerate

  logic unused;
  assign unused = ^cw;
endmodule
