// SPDX-License-Identifier: Apache-2.0
//
// AllReduce in the NIC: element types and what its blocks tell each other.
package arp_pkg;
  localparam logic [1:0] ELEM_FP16 = 2'd0;
  localparam logic [1:0] ELEM_BF16 = 2'd1;
  localparam logic [1:0] ELEM_FP32 = 2'd2;
  localparam logic [1:0] ELEM_INT32 = 2'd3;
endpackage
