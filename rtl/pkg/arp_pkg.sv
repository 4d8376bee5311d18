// SPDX-License-Identifier: Apache-2.0
//
// AllReduce in the NIC: element types, packets, groups, and what its blocks tell each other.
/* verilator lint_off UNUSEDPARAM */
package arp_pkg;
  localparam logic [1:0] ELEM_FP16 = 2'd0;
  localparam logic [1:0] ELEM_BF16 = 2'd1;
  localparam logic [1:0] ELEM_FP32 = 2'd2;
  localparam logic [1:0] ELEM_INT32 = 2'd3;

  // BTH opcode of an AllReduce packet (manufacturer range), and of the WQE that sends one.
  localparam logic [7:0] OP_ARP = 8'hC0;
  localparam logic [7:0] WQE_ARP = 8'h30;

  // What the header behind BTH says, and the QP on which it came: rx_responder -> arp_fsm.
  typedef struct packed {
    logic [23:0] qpn;
    logic        result;       // a finished sum; else something to add
    logic [1:0]  elem;         // ELEM_*
    logic [7:0]  contributor;  // rank of the sender
    logic [15:0] group;
    logic [31:0] slot;         // running number of the piece in its group
    logic [31:0] offset;       // of the piece in the buffer, bytes
    logic [12:0] len;          // bytes of payload
  } ask_t;

  localparam logic [2:0] ANS_ACCEPT = 3'd0;     // payload comes; acknowledge
  localparam logic [2:0] ANS_DUPLICATE = 3'd1;  // discard; acknowledge
  localparam logic [2:0] ANS_NOT_READY = 3'd2;  // discard; RNR NAK
  localparam logic [2:0] ANS_REFUSE = 3'd3;     // discard; NAK invalid request
  localparam logic [2:0] ANS_ABORTED = 3'd4;    // discard; NAK remote operational error

  // A group: what CREATE and START say. Addresses and lengths of buffers are multiples of DATA_W/8.
  localparam int unsigned GROUP_W = 571;
  typedef struct packed {
    logic        ring;         // else one-shot: every rank sends to this one
    logic        fixed;        // one-shot: ranks are added in the order rank, rank + 1, ...
    logic        wide;         // 16-bit elements are summed in FP32
    logic [1:0]  elem;
    logic [4:0]  ranks;        // 2..16
    logic [4:0]  rank;         // of this NIC
    logic [3:0]  slot_log;     // bytes of a piece: 2^slot_log
    logic [23:0] tx_qpn;       // ring: local QP to the next rank
    logic [15:0] timeout_us;   // without progress; 0: never
    logic [31:0] stage_row;    // device_memory row of the first staging buffer
    logic [63:0] stage_va;     // its address in the region of stage_key
    logic [31:0] stage_key;
    logic [31:0] wqe_block;    // device_memory address of the send ring, in blocks of 64 B
    // START
    logic [63:0] src;          // local data, bus address and
    logic [63:0] src_va;       // address in the region of src_key, for what is sent from there
    logic [31:0] src_key;
    logic [63:0] dst;          // where sums go, bus address
    logic [31:0] chunk_bytes;  // of one rank's chunk in a round
    logic [31:0] round_bytes;  // of all chunks
    logic [31:0] own_off;      // rank * chunk_bytes
    logic [15:0] pieces;       // of a chunk
    logic [15:0] rounds;       // 1..65535
  } group_t;

  localparam logic [2:0] CMD_CREATE = 3'd0;
  localparam logic [2:0] CMD_PEER = 3'd1;     // packets of `peer` come on local QP peer_qpn
  localparam logic [2:0] CMD_START = 3'd2;
  localparam logic [2:0] CMD_ABORT = 3'd3;
  localparam logic [2:0] CMD_DESTROY = 3'd4;
  localparam logic [2:0] CMD_QUERY = 3'd5;
  typedef struct packed {
    logic [2:0]  op;
    logic [7:0]  number;       // of the group
    logic [3:0]  peer;
    logic [23:0] peer_qpn;
    group_t      group;
  } cmd_t;

  // State of a group.
  localparam logic [2:0] GRP_FREE = 3'd0;
  localparam logic [2:0] GRP_IDLE = 3'd1;
  localparam logic [2:0] GRP_RUN = 3'd2;
  localparam logic [2:0] GRP_ABORTING = 3'd3;  // until nothing of it is on its way
  localparam logic [2:0] GRP_ABORTED = 3'd4;

  // What CMD_QUERY tells of a group. Counts are modulo 2^32 and begin with CREATE.
  typedef struct packed {
    logic [2:0]  state;
    logic [7:0]  cause;        // EV_* of the last operation
    logic [15:0] held;         // staging buffers in use
    logic [31:0] done;         // pieces received and summed, or placed
    logic [31:0] opened;       // pieces that got a slot
    logic [31:0] sent;
    logic [31:0] acked;
    logic [15:0] idle_us;
    logic [31:0] duplicates;
    logic [31:0] not_ready;
  } report_t;

  // Why an event was raised.
  localparam logic [7:0] EV_DONE = 8'd0;
  localparam logic [7:0] EV_ABORT = 8'd1;    // by command
  localparam logic [7:0] EV_TIMEOUT = 8'd2;
  localparam logic [7:0] EV_READ = 8'd3;     // local data could not be read
  localparam logic [7:0] EV_QP = 8'd4;       // its send QP failed

  // What a slot waits for: arp_loader -> arp_window.
  localparam int unsigned SLOT_W = 48;
  typedef struct packed {
    logic [31:0] offset;
    logic [12:0] len;
    logic        add;          // a local piece is in it; else the packet is the result
    logic        wr;           // the result goes to memory
    logic        fwd;          // and on to the next rank
  } slot_t;

  localparam int unsigned PLAN_W = 99;
  // A packet that was accepted: arp_window -> payload, then sums in the same order.
  typedef struct packed {
    logic [7:0]  group;
    logic [7:0]  slot;         // of the group
    logic        init;         // its beats begin the rows
    logic        emit;         // its beats complete them
    logic        result;       // what is sent on is a result
    logic [31:0] number;       // running number of the piece
    slot_t       info;
  } plan_t;
endpackage
/* verilator lint_on UNUSEDPARAM */
