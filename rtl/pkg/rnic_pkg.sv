// SPDX-License-Identifier: Apache-2.0
// Types that cross block borders. rtl/README.md says which block makes and which takes each of
// them.
/* verilator lint_off UNUSEDPARAM */
package rnic_pkg;
  // -- context
  // QP states, as in the descriptors (qp_state).
  localparam logic [3:0] QPS_RESET = 4'd0;
  localparam logic [3:0] QPS_INIT = 4'd1;
  localparam logic [3:0] QPS_RTR = 4'd2;
  localparam logic [3:0] QPS_RTS = 4'd3;
  localparam logic [3:0] QPS_SQD = 4'd4;
  localparam logic [3:0] QPS_SQE = 4'd5;
  localparam logic [3:0] QPS_ERR = 4'd6;

  // Connection half: written by cmd_unit only.
  typedef struct packed {
    logic        exists;         // created and not destroyed
    logic        has_path;       // path was given since it was created
    logic [3:0]  state;
    logic [1:0]  qtype;          // 0 RC, 1 UC, 2 UD
    logic        sq_sig_all;
    logic [2:0]  mtu;            // 1..5 = 256..4096
    logic        acc_write;
    logic        acc_read;
    logic        acc_atomic;
    logic [15:0] pd;
    logic [23:0] dest_qpn;
    logic [15:0] pkey;
    logic [15:0] path;
    logic [31:0] qkey;
    logic [4:0]  min_rnr_timer;
    logic [4:0]  timeout;
    logic [2:0]  retry_cnt;
    logic [2:0]  rnr_retry;
    logic [7:0]  max_rd_atomic;
    logic [7:0]  max_dest_rd;
    logic [15:0] send_cqn;
    logic [15:0] recv_cqn;
    logic [3:0]  log_sq;
    logic [3:0]  log_rq;
    logic [63:0] sq_base;
    logic [63:0] rq_base;
    logic [19:0] rate;           // Mb/s; 0 and all ones: no limit
    logic [3:0]  weight;         // of its turns, 0 as 1
    logic [7:0]  err_cause;      // cqe_status that took the QP to ERR
  } qp_conn_t;

  // What of the connection half stays on chip when the context does not (ctx_cache).
  typedef struct packed {
    logic        exists;
    logic        has_path;
    logic [3:0]  state;
    logic [1:0]  qtype;
    logic        sq_sig_all;
    logic [15:0] pd;
    logic [15:0] path;
    logic [15:0] send_cqn;
    logic [15:0] recv_cqn;
    logic [3:0]  log_sq;
    logic [3:0]  log_rq;
    logic [63:0] sq_base;
    logic [63:0] rq_base;
    logic [19:0] rate;
    logic [3:0]  weight;
  } qp_front_t;

  // Send half: written by sq_engine only.
  typedef struct packed {
    logic [23:0] next_psn;
    logic [23:0] max_psn;        // first PSN never sent; next_psn is behind it in a replay
    logic [15:0] pool_index;     // ring index up to which messages have entered msg_pool
    logic [7:0]  rd_issued;      // READs and ATOMICs sent, modulo 256
    logic [23:0] skip;           // packets of the next message that are not sent again
    logic        in_msg;         // the head WQE of the QP is partly sent
    logic [31:0] msg_left;       // payload bytes of it not yet sent
    logic [2:0]  seg;            // data segment in progress
    logic [31:0] seg_off;        // bytes of that segment already sent
    logic [63:0] va;             // remote address of the next packet
    logic [7:0]  pkts;           // packets since the last AckReq
    logic        failed;         // a WQE failed here: flush those that follow, until CLEAR or RTS
    // Ring index of the WQE that goes on or comes next; behind pool_index in a replay. A message
    // without packets must not complete before at_index is past its wqe_index (its ring slot may
    // still be fetched); msg_pool nudges when a replay has passed one.
    logic [15:0] at_index;
    // The WQE at pool_index is a LOCAL_INV: its region is invalid, it enters msg_pool when inv_done
    // of the acknowledged half equals inv_turn (nothing of before is under way any more).
    logic        inv_held;
    logic        inv_turn;
  } qp_send_t;

  // Acknowledged half: written by rx_completer only.
  typedef struct packed {
    logic [23:0] una_psn;        // oldest PSN not acknowledged
    logic        failed;         // the QP failed: flush everything
    // a message without packets stands behind one that waits for its ACK
    logic        local_waits;
    logic [7:0]  rd_done;        // READs and ATOMICs whose data are on the bus, modulo 256
    logic        rewinding;      // sq_scheduler was asked to stop the QP, the replay is not set yet
    logic        stopped;        // it has stopped; the RNR wait is not over
    logic        rnr_wait;
    logic [2:0]  retry_used;     // since the last progress
    logic [2:0]  rnr_used;
    logic [2:0]  rd_seg;         // where the next byte of the READ in progress goes
    logic [31:0] rd_off;
    logic        off_host;       // some of its payload went to GPU or device memory
    logic        drained;        // SQ_DRAINED was said since the QP entered SQD
    logic        restart;        // an implied NAK was acted on, no progress since
    logic        resumed;        // the READ in progress was asked for again in its middle
    logic        long_way;       // completions go through rx_placer, behind READ data
    logic        blamed;         // a WQE got the status that failed the QP
    logic        dying;          // payload of err_index cannot be read: fails when its turn comes
    logic [15:0] err_index;
    logic [7:0]  err_status;
    logic [7:0]  rd_comp;        // READs and ATOMICs completed, modulo 256
    logic        inv_done;       // inv_turn of the last LOCAL_INV that has settled
  } qp_ack_t;

  // Where a send queue goes on after a rewind: rx_completer -> sq_engine.
  typedef struct packed {
    logic [23:0] qpn;
    logic        none;           // nothing is in flight: go on with what was never sent
    logic [15:0] wqe_index;      // of the oldest message in flight
    logic [23:0] psn;            // send from here
    logic [23:0] skip;           // packets of that message before psn
    logic [7:0]  rd_done;
  } rewind_t;

  // sq_engine, rx_completer -> rc_timer.
  typedef struct packed {
    logic [23:0] qpn;
    logic        stop;
    logic        rnr;            // code is an RNR timer code, else a local ACK timeout
    logic [4:0]  code;
  } timer_set_t;

  // Receive half: written by rx_responder only.
  typedef struct packed {
    logic [23:0] epsn;
    logic [23:0] msn;
    logic        nak_sent;       // one NAK or RNR NAK per gap
    logic        in_write;       // inside a multi-packet WRITE
    logic        in_send;        // inside a multi-packet SEND
    logic [63:0] va;             // next byte of the WRITE in progress
    logic [31:0] left;           // bytes of it still to come
    logic [31:0] rkey;
    logic [31:0] dmalen;
    logic        off_host;           // some of its payload went to GPU or device memory
    logic [15:0] rq_cons;        // RQ blocks consumed
    logic        failed;         // a fatal NAK was sent: silence until CLEAR or RTR
    logic        comm_est;       // a packet was accepted since RTR: COMM_EST was said
  } qp_recv_t;

  // A receive WQE: rq_store -> rx_responder. A segment is {va, len, lkey}, an unused one 0.
  typedef struct packed {
    logic         bad;           // malformed, or its read failed: status says which
    logic [7:0]   status;        // cqe_status
    logic [127:0] seg0;
    logic [127:0] seg1;
    logic [127:0] seg2;
  } rq_entry_t;

  // Orders from cmd_unit to the owner of a context half; the owner applies it to its own memory.
  localparam logic [2:0] QPI_CLEAR = 3'd0;  // to RESET: forget everything
  localparam logic [2:0] QPI_RTR = 3'd1;    // psn = first expected
  localparam logic [2:0] QPI_RTS = 3'd2;    // psn = first to send
  localparam logic [2:0] QPI_ERR = 3'd3;    // the QP is in ERR now
  localparam logic [2:0] QPI_KICK = 3'd4;   // state or attributes changed: look again
  localparam logic [2:0] QPI_RESUME = 3'd5; // SQE to RTS: the send queue goes on
  typedef struct packed {
    logic [2:0]  op;
    logic [23:0] qpn;
    logic [23:0] psn;
  } qp_init_t;

  // A block asks for a QP to fail: to cmd_unit, which writes ERR into the connection half and then
  // orders QPI_ERR.
  typedef struct packed {
    logic [23:0] qpn;
    logic [7:0]  cause;          // cqe_status
    logic [7:0]  event_type;     // eqe_type to report, 0 = none
  } qp_fail_t;

  // -- paths
  typedef struct packed {
    logic         valid;
    logic         ipv6;
    logic         vlan;
    logic         dei;
    logic [2:0]   pcp;
    logic [11:0]  vlan_id;
    logic [1:0]   ecn;
    logic [5:0]   dscp;
    logic [7:0]   ttl;
    logic [15:0]  sport;
    logic [19:0]  flow_label;
    logic [47:0]  dmac;          // first wire byte in [47:40]
    logic [47:0]  smac;
    logic [127:0] sip;           // first wire byte in [127:120]; IPv4 in [31:0]
    logic [127:0] dip;
  } path_t;

  // -- send queue
  // wqe_fetch_engine, blueflame -> wqe_store -> sq_engine. wqe[511:0] is the first block.
  typedef struct packed {
    logic [23:0]   qpn;
    logic [15:0]   index;        // block index in the ring
    logic [6:0]    blocks;       // blocks of the ring it covers, 1..64
    logic [15:0]   next_index;   // block index after it (follows links)
    logic          bad;          // malformed: sq_engine completes it with status
    logic [7:0]    status;       // cqe_status if bad
    logic          sampled;
    logic          has2;         // the second block is in wqe[1023:512]
    logic [1023:0] wqe;
  } wqe_entry_t;

  // What the NIC remembers of a message in flight: sq_engine -> msg_pool -> rx_completer.
  localparam logic [2:0] MSG_WRITE = 3'd0;
  localparam logic [2:0] MSG_SEND = 3'd1;
  localparam logic [2:0] MSG_READ = 3'd2;
  localparam logic [2:0] MSG_ATOMIC = 3'd3;
  localparam logic [2:0] MSG_LOCAL = 3'd4;    // completes without the wire (NOP, local invalidate)
  localparam logic [2:0] MSG_FAILED = 3'd5;   // failed before the wire: status says why
  typedef struct packed {
    logic [2:0]  kind;
    logic        signaled;
    logic        sampled;
    logic [15:0] wqe_index;
    logic [15:0] next_index;     // ring is free up to here when it completes
    logic [23:0] first_psn;
    logic [23:0] last_psn;
    logic [31:0] bytes;
    logic [7:0]  status;         // MSG_FAILED only
    logic [2:0]  seg_cnt;        // READ, ATOMIC: local segments, kept beside the record
  } msg_t;

  // Telemetry of one packet, as in the INT trailer (harness/roce/README.md).
  typedef struct packed {
    logic [319:0] hop;           // hop i is [64*i +: 64], as on the wire
    logic [11:0]  path;
    logic [3:0]   hops;          // met; 15: or more
    logic [3:0]   unit;          // log2 of the multiple of both byte units
  } telemetry_t;

  // -- transmit
  // How far a turn of a QP may go: tx_pacer -> sq_engine.
  typedef struct packed {
    logic        limited;        // it has a rate; what follows counts
    logic [15:0] budget;         // wire bytes; the first packet goes in any case
    logic [31:0] window;         // bytes in flight, 0: any
    logic [13:0] bytes;          // of one packet of this QP, about
  } pace_t;

  // One packet to build, in front of its payload: sq_engine, resp_engine -> tx_packetizer.
  typedef struct packed {
    logic [23:0] qpn;            // local QP, for trace and DETH
    logic [15:0] wqe_index;
    logic        sampled;
    logic        response;       // made by resp_engine
    logic [15:0] path;
    logic [7:0]  opcode;
    logic        se;
    logic        ack_req;
    logic        becn;
    logic [15:0] pkey;
    logic [23:0] dest_qpn;
    logic [23:0] psn;
    logic [12:0] payload_len;    // 0..4096, without pad
    logic [63:0] va;             // RETH, AtomicETH
    logic [31:0] rkey;
    logic [31:0] dmalen;
    logic [31:0] imm;            // ImmDt or IETH, [31:24] first on the wire
    logic [7:0]  syndrome;       // AETH
    logic [23:0] msn;
    logic [63:0] op0;            // AtomicETH swap/add; AtomicAckETH original
    logic [63:0] op1;            // AtomicETH compare
    logic [31:0] qkey;           // DETH
    logic        notify;         // UC, UD: tell rx_completer when the packet has left
    logic        resend;         // sent before
  } tx_pkt_t;

  // What mac_tx_gen needs with the first beat of a frame.
  typedef struct packed {
    logic        raw;            // data already starts with the Ethernet header
    logic        ipv6;
    logic        vlan;
    logic [15:0] tci;            // pcp, dei, vlan_id
    logic [47:0] dmac;
    logic [47:0] smac;
    logic [23:0] qpn;            // trace
    logic [23:0] psn;            // trace
    logic        sampled;
    logic        response;       // made by resp_engine
    logic        paced;          // counts for its QP's rate; not ACKs, CNPs and raw frames
  } tx_eth_t;

  // -- receive
  // One good RoCEv2 packet: rx_parser -> rx_buffer -> rx_depacketizer -> rx_dispatch.
  typedef struct packed {
    logic [7:0]   opcode;
    logic         se;
    logic         mig_req;
    logic [1:0]   pad;
    logic [15:0]  pkey;
    logic         fecn;
    logic         becn;
    logic [23:0]  dest_qpn;
    logic         ack_req;
    logic [23:0]  psn;
    logic [63:0]  va;            // RETH or AtomicETH
    logic [31:0]  rkey;
    logic [31:0]  dmalen;
    logic [31:0]  imm;           // ImmDt or IETH, [31:24] first on the wire
    logic [7:0]   syndrome;
    logic [23:0]  msn;
    logic [63:0]  op0;           // swap/add; AtomicAckETH original
    logic [63:0]  op1;           // compare
    logic [31:0]  qkey;          // DETH
    logic [23:0]  src_qpn;
    logic [12:0]  payload_len;   // without pad
    logic         ipv6;
    logic [1:0]   ecn;
    logic [5:0]   dscp;
    logic [7:0]   ttl;
    logic [15:0]  sport;
    logic [127:0] sip;           // as in path_t
    logic [127:0] dip;
    logic [6:0]   hdr_len;       // bytes from the Ethernet header to the payload
    logic [15:0]  ip_id;         // IPv4, for the header that UD delivers
    logic [15:0]  ip_frag;       // flags and fragment offset
    logic [15:0]  ip_csum;
    logic [19:0]  flow_label;    // IPv6
    logic         has_int;       // an INT trailer stood behind it
    logic         int_echo;      // returned by a receiver
    telemetry_t   tele;          // with has_int
  } rx_meta_t;

  // What to do with the payload of one packet, in packet order: rx_responder, rx_completer ->
  // rx_placer.
  typedef struct packed {
    logic        write;          // 0: discard payload_len bytes
    logic [12:0] len;            // payload bytes in the stream
    logic [63:0] addr;           // IOVA
    logic [1:0]  target;         // as in the descriptors (dma_target)
    logic [1:0]  gpu;
    logic [23:0] qpn;
    logic [23:0] psn;
    // pass the cqe beside it on when the payload has been handed to dma_master
    logic        has_cqe;
    logic        sampled;
    // belongs to no packet (a flushed receive WQE): only the cqe beside it
    logic        alone;
    logic        more;           // another piece of the same packet follows
    logic        inl;            // the piece is in inl_data, not in the payload stream
    logic [319:0] inl_data;      // lane 0 first
    logic        ticket;         // dma_master reports when it is on the bus
  } rx_place_t;

  // Who says what happens to the payload of a packet: rx_dispatch -> rx_placer, in packet order.
  localparam logic [1:0] ORD_RESPONDER = 2'd0;
  localparam logic [1:0] ORD_COMPLETER = 2'd1;  // READ and ATOMIC responses
  localparam logic [1:0] ORD_DROP = 2'd2;       // nobody: discard len bytes
  typedef struct packed {
    logic [1:0]  src;
    logic [12:0] len;
  } rx_ord_t;

  // Completion to write: rx_placer, rx_completer -> cqe_gen.
  typedef struct packed {
    logic [15:0] cqn;
    logic [23:0] qpn;
    logic [7:0]  opcode;         // cqe_opcode
    logic [7:0]  status;         // cqe_status
    logic [15:0] wqe_index;
    logic [31:0] byte_count;
    logic [31:0] imm;            // as on the wire read little-endian
    logic        imm_valid;
    logic        ipv6;
    logic        solicited;
    logic [23:0] src_qpn;
    logic [7:0]  syndrome;
    logic        fence;          // wait until GPU and device_memory data are visible
    logic        sampled;
    logic        grh;            // UD: 40 bytes of IP header stand before the payload
  } cqe_req_t;

  // ACK or NAK to send, READ or ATOMIC to answer: rx_responder -> resp_engine, in packet order.
  localparam logic [1:0] ACKR_ACK = 2'd0;
  localparam logic [1:0] ACKR_READ = 2'd1;
  localparam logic [1:0] ACKR_ATOMIC = 2'd2;
  typedef struct packed {
    logic [23:0] qpn;
    logic [23:0] psn;
    logic [23:0] msn;
    logic [7:0]  syndrome;
    logic        ack_req;        // the packet asked for it (or it is a duplicate)
    logic        urgent;         // NAK or duplicate: do not hold back
    logic        sampled;
    logic [1:0]  kind;           // ACKR_*
    logic        dup;            // READ, ATOMIC: repeated by the requester
    logic [15:0] ticket;         // payload writes that go first, modulo 2^16
    logic [63:0] va;             // READ
    logic [31:0] rkey;
    logic [31:0] len;
    logic [63:0] iova;           // ATOMIC
    logic [1:0]  target;
    logic [1:0]  gpu;
    logic        swap;           // COMPARE_SWAP, else FETCH_ADD
    logic [63:0] op0;            // swap or add
    logic [63:0] op1;            // compare
  } ack_req_t;

  // A packet of a connection that came with the CE mark: rx_responder, rx_completer -> cnp_gen.
  typedef struct packed {
    logic [23:0]  qpn;           // local QP
    logic [23:0]  dest_qpn;      // who sent it
    logic [15:0]  path;
    logic [127:0] addr;          // of the sender, as in path_t
  } marked_t;

  // Event to write: cqe_gen, cmd_unit, dma_master -> event_queue.
  typedef struct packed {
    logic [7:0]  eqn;
    logic [7:0]  etype;          // eqe_type
    logic [7:0]  code;
    logic [23:0] number;         // QPN or CQN
  } event_t;

  // -- completion, event queues
  typedef struct packed {
    logic        valid;
    logic [7:0]  eqn;
    logic [3:0]  log_size;       // 1..15
    logic [63:0] base;           // IOVA
  } cq_entry_t;

  typedef struct packed {
    logic        valid;
    logic [7:0]  msix;
    logic [3:0]  log_size;       // 1..15
    logic [63:0] base;           // IOVA
  } eq_entry_t;

  // -- DMA
  localparam logic [3:0] RD_WQE = 4'd0;      // wqe_fetch_engine; slot = fetch job
  localparam logic [3:0] RD_PAYLOAD = 4'd1;  // tx_buffer; slot = TX slot
  localparam logic [3:0] RD_RQ = 4'd2;       // rq_store: receive WQEs
  localparam logic [3:0] RD_ATOMIC = 4'd3;   // atomic_unit
  localparam logic [3:0] RD_MTT = 4'd4;      // mr_table: page lists
  localparam logic [3:0] RD_CTX = 4'd5;      // ctx_cache: contexts in host memory

  localparam logic [1:0] TGT_HOST = 2'd0;
  localparam logic [1:0] TGT_GPU = 2'd1;
  localparam logic [1:0] TGT_DEVICE = 2'd2;
  localparam logic [1:0] TGT_REFUSED = 2'd3;

  // Read request: up to 4096 bytes from any address; dma_master cuts it into TLPs.
  typedef struct packed {
    logic [63:0] addr;
    logic [12:0] len;            // 1..4096
    logic [7:0]  slot;           // requester's own tag
    logic [12:0] dst_off;        // where its first byte goes in the slot
    logic        first;          // first request of the slot: TLP numbering starts at 0
    logic [23:0] qpn;
    logic [15:0] wqe_index;      // trace
    logic        sampled;
  } dma_rd_req_t;

  // One beat of read data. Data stands already in the destination's lanes: byte dst_off+i of the
  // slot is in lane (dst_off + i) mod B, B = DATA_W/8; lanes past B-1 wrap to 0 and belong to the
  // next row. There is no ready: the requester reserved the space.
  typedef struct packed {
    logic [3:0]  client;
    logic [7:0]  slot;
    logic [5:0]  tlp;            // number of the TLP in the slot, in destination order
    logic        tlp_last;       // last beat of that TLP
    logic [12:0] dst_off;        // slot offset of the first byte of this beat
    logic [7:0]  cnt;            // bytes in this beat, 0..B (0 only with err)
    logic        err;            // the TLP failed: its bytes are not valid; tlp_last is set
    logic [7:0]  status;         // cqe_status if err
    // err: bytes of the TLP that will not come (the sum of cnt and lost over all
    logic [12:0] lost;
                                 // responses of a request is its len); else 0
  } dma_rd_rsp_t;

  // Write request; the data stream that follows starts in lane 0 and has exactly len bytes.
  typedef struct packed {
    logic        rd_ticket;      // as ticket, rd_placed_o: data of a READ or ATOMIC response
    logic [63:0] addr;
    logic [12:0] len;            // 1..4096
    logic        relaxed;        // may carry relaxed ordering
    logic        fence;          // start only when earlier GPU and device_memory writes are visible
    logic [23:0] qpn;            // whom to fail if it fails
    // CQE, EQE, MSI-X: never relaxed; a fault is reported for the queue
    logic        is_queue;
    logic [23:0] psn;            // trace
    logic        sampled;
    logic        ticket;         // pulse placed_o when its last beat is on the bus
  } dma_wr_req_t;

  // A DMA that failed where no requester waits for data: dma_master -> cmd_unit.
  typedef struct packed {
    logic        is_queue;
    logic [23:0] qpn;
    logic [7:0]  status;         // cqe_status
  } dma_fault_t;

  // -- memory regions
  typedef struct packed {
    logic [31:0] key;
    logic [15:0] pd;
    logic [63:0] va;
    logic [31:0] len;            // 0: not checked, always ok
    logic        need_lwrite;
    logic        need_rwrite;
    logic        need_rread;
    logic        need_atomic;
  } mr_req_t;

  typedef struct packed {
    logic        ok;
    logic        refused;        // the region is good but its target is refused (GDR_BAR_EN = 0)
    logic [63:0] iova;
    logic [1:0]  target;
    logic [1:0]  gpu;
    logic        flat;           // the region is one piece: iova counts on for all of len
    logic [12:0] room;           // bytes that are contiguous from iova on, 1..4096
  } mr_rsp_t;

  // Change of a region by a work request: sq_engine, rx_responder -> mr_table.
  localparam logic [1:0] LOP_INVALIDATE = 2'd0;
  localparam logic [1:0] LOP_FAST_REG = 2'd1;
  typedef struct packed {
    logic [1:0]  op;
    logic        remote;         // SEND with invalidate: from the wire
    logic [31:0] key;
    logic [15:0] pd;
    logic [511:0] desc;          // FAST_REG: its descriptor, from the WQE
  } mr_lop_t;

  typedef struct packed {
    logic        valid;
    logic [7:0]  tag;
    logic        lwrite;
    logic        rwrite;
    logic        rread;
    logic        atomic;
    logic        zero_based;
    logic [15:0] pd;
    logic [63:0] va;
    logic [63:0] length;
    logic [63:0] iova;           // of the first byte; paged: of the page list
    logic        exists;         // created; valid says whether it may be used
    logic [1:0]  page;           // as in the descriptors (mr_page)
    logic [20:0] first;          // paged: offset of the first byte in its page
    logic [15:0] gen;            // paged: number of this registration, set by mr_table
  } mr_entry_t;

  // -- trace
  // A trace source drives {event, qpn, info}. Ids are in stage order.
  localparam logic [7:0] TRC_DOORBELL = 8'd1;      // doorbell: decoded (info: index)
  localparam logic [7:0] TRC_BLUEFLAME = 8'd2;     // blueflame: WQE complete (index)
  localparam logic [7:0] TRC_WQE_REQ = 8'd3;       // sq_scheduler: fetch asked for (index)
  localparam logic [7:0] TRC_WQE_READY = 8'd4;     // wqe_fetch_engine: WQE decoded (index)
  localparam logic [7:0] TRC_TURN = 8'd5;          // sq_engine: turn begins (index)
  localparam logic [7:0] TRC_PAY_READ = 8'd6;      // sq_engine: payload read asked for (PSN)
  localparam logic [7:0] TRC_PAY_FIRST = 8'd7;     // tx_buffer: first payload byte is there (PSN)
  // tx_buffer: packet starts to the packetizer (PSN)
  localparam logic [7:0] TRC_TX_START = 8'd8;
  localparam logic [7:0] TRC_PKT_OUT = 8'd9;       // tx_packetizer: first beat out (PSN)
  localparam logic [7:0] TRC_TX_CDC = 8'd10;       // first beat written into the crossing (PSN)
  localparam logic [7:0] TRC_TX_DROP = 8'd11;      // tx_buffer: packet is not sent (PSN)
  localparam logic [7:0] TRC_RX_FIRST = 8'd16;     // rx_parser: first beat (0)
  localparam logic [7:0] TRC_RX_VERDICT = 8'd17;   // rx_buffer: frame committed (PSN)
  localparam logic [7:0] TRC_RX_META = 8'd18;      // rx_dispatch: packet handed on (PSN)
  localparam logic [7:0] TRC_RX_EXEC = 8'd19;      // rx_responder: accepted (PSN)
  localparam logic [7:0] TRC_DMA_WR_FIRST = 8'd20; // dma_master: first payload beat written (PSN)
  localparam logic [7:0] TRC_DMA_WR_LAST = 8'd21;  // dma_master: last payload beat written (PSN)
  localparam logic [7:0] TRC_CQE_REQ = 8'd22;      // cqe_gen: completion taken (index)
  localparam logic [7:0] TRC_CQE_WR = 8'd23;       // dma_master: CQE written (0)
  localparam logic [7:0] TRC_ACK_REQ = 8'd24;      // resp_engine: ACK or NAK asked for (PSN)
  localparam logic [7:0] TRC_ACK_TX = 8'd25;       // resp_engine: ACK or NAK sent (PSN)
  localparam logic [7:0] TRC_ACK_RX = 8'd26;       // rx_completer: ACK or NAK taken (PSN)
  localparam logic [7:0] TRC_COMPLETE = 8'd27;     // rx_completer: message done (index)
  // ctx_cache: context is read from host memory (why: 0 lookup, 1 turn, 2 hint)
  localparam logic [7:0] TRC_CTX_MISS = 8'd28;
  localparam logic [7:0] TRC_CTX_HERE = 8'd29;     // ctx_cache: it is on chip (1: it is lost)
endpackage
/* verilator lint_on UNUSEDPARAM */
