// SPDX-License-Identifier: Apache-2.0
//
// Decides where a range of DMA addresses lives: host, one of four GPU windows, or device_memory.
// Combinational.
//
// A window is [base, limit], both inclusive; limit below base, or limit 0, is off. A range that
// touches a window and is not wholly inside it, or that passes 2^64, is not ok. Where windows
// overlap, device_memory wins, then the lower GPU number. A GPU address with gdr_en_i = 0 is
// TGT_REFUSED (gpu_o still names the window). valid_i = 0 forces the outputs to 0, which saves
// simulation time.
module dma_target #(
  parameter int unsigned DEVMEM_BYTES = 262144  // power of two; 0: no device_memory
) (
  input  logic         valid_i,
  input  logic [63:0]  addr_i,         // first byte
  input  logic [31:0]  len_i,          // bytes; 0 is taken as 1
  input  logic         gdr_en_i,
  input  logic [255:0] gpu_base_i,     // window g: [g*64 +: 64]
  input  logic [255:0] gpu_limit_i,
  input  logic [63:0]  devmem_base_i,  // aligned to DEVMEM_BYTES
  // the range lies in one target; still 1 when that target is refused
  output logic         ok_o,
  output logic [1:0]   target_o,       // rnic_pkg::TGT_*; TGT_HOST when not ok
  output logic [1:0]   gpu_o
);
  localparam logic [63:0] DEV_MASK = 64'(DEVMEM_BYTES) - 64'd1;

  if ((DEVMEM_BYTES & (DEVMEM_BYTES - 1)) != 0) begin : gen_check_devmem
    $error("dma_target: DEVMEM_BYTES must be a power of two or 0");
  end

  logic [63:0] last, base, limit;
  logic        carry, part;

  always_comb begin
    ok_o = 1'b0;
    target_o = rnic_pkg::TGT_HOST;
    gpu_o = 2'd0;
    part = 1'b0;
    base = 64'd0;
    limit = 64'd0;
    carry = 1'b0;
    last = 64'd0;
    if (valid_i) begin
      {carry, last} = {1'b0, addr_i} + {33'd0, (len_i == 32'd0) ? 32'd0 : len_i - 32'd1};
      for (int g = 3; g >= 0; g--) begin
        base = gpu_base_i[g*64 +: 64];
        limit = gpu_limit_i[g*64 +: 64];
        if (limit >= base && limit != 64'd0 && addr_i <= limit && last >= base) begin
          if (addr_i >= base && last <= limit) begin
            gpu_o = 2'(g);
            target_o = gdr_en_i ? rnic_pkg::TGT_GPU : rnic_pkg::TGT_REFUSED;
          end else begin
            part = 1'b1;
          end
        end
      end
      base = devmem_base_i & ~DEV_MASK;
      limit = devmem_base_i | DEV_MASK;
      if (DEVMEM_BYTES != 0 && addr_i <= limit && last >= base) begin
        if (addr_i >= base && last <= limit) begin
          gpu_o = 2'd0;
          target_o = rnic_pkg::TGT_DEVICE;
        end else begin
          part = 1'b1;
        end
      end
      ok_o = !carry && !part;
      if (!ok_o) begin
        target_o = rnic_pkg::TGT_HOST;
        gpu_o = 2'd0;
      end
    end
  end
endmodule
