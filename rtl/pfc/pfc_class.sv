// SPDX-License-Identifier: Apache-2.0
//
// Which class a packet belongs to: by its DSCP through a map, or by the priority of its VLAN tag.
// Combinational. What has neither is of cfg_default_i.

module pfc_class (
  input  logic         cfg_pcp_i,      // 1: by the VLAN tag, 0: by DSCP
  input  logic [2:0]   cfg_default_i,
  input  logic [255:0] cfg_map_i,      // 4 bits per DSCP, the lowest 3 are its class
  input  logic         ip_i,           // it has a DSCP
  input  logic [5:0]   dscp_i,
  input  logic         vlan_i,
  input  logic [2:0]   pcp_i,
  output logic [2:0]   class_o
);
  always_comb begin
    class_o = cfg_default_i;
    if (cfg_pcp_i) begin
      if (vlan_i) class_o = pcp_i;
    end else if (ip_i) begin
      class_o = cfg_map_i[{dscp_i, 2'b00} +: 3];
    end
  end
endmodule
