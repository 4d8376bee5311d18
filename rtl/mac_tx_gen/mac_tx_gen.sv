// SPDX-License-Identifier: Apache-2.0
// Makes Ethernet frames: header, VLAN tag, padding to 60 bytes, FCS if GEN_FCS. Runs on mac_clk.
// Throughput: one beat per cycle; one more beat per frame where header (and FCS) do not fit into the last one. Latency: 1
// cycle from in_valid to mac_tx_valid (GEN_FCS: 5). A frame starts when its last or its second beat is here, so that the
// crossing's jitter cannot starve it. Order: as it comes. mac_tx_valid never falls inside a frame: when the crossing has no
// beat, the frame ends with mac_tx_err, the rest of the packet is discarded, and underrun_o names it.
// A packet with abort ends its frame with mac_tx_err too. in_ready depends on mac_tx_ready.
module mac_tx_gen #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned GEN_FCS = 0
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  logic               in_valid,
    output logic               in_ready,
    input  logic [DATA_W-1:0]  in_data,
    input  logic [7:0]         in_cnt,
    input  logic               in_last,
    input  logic               in_abort,
    input  rnic_pkg::tx_eth_t  in_eth,
    input  logic               in_two,
    output logic               mac_tx_valid,
    input  logic               mac_tx_ready,
    output logic [DATA_W-1:0]  mac_tx_data,
    output logic [7:0]         mac_tx_cnt,
    output logic               mac_tx_last,
    output logic               mac_tx_err,
    output logic               underrun_o,
    output logic [23:0]        underrun_qpn_o,
    output logic [23:0]        underrun_psn_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned MIN_FRAME = 60;
  localparam int unsigned TAGGED = 18, PLAIN = 14;
  // A tagged header is longer than a 128-bit beat: its first beat goes alone.
  localparam int unsigned TAGGED_SHIFT = TAGGED % B;
  localparam bit HEAD_BEAT = TAGGED >= B;

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_w
    $error("mac_tx_gen: DATA_W must be 128, 256, 512 or 1024");
  end

  // ------------------------------------------------------------------------------------------ header
  // Lane 0 first: destination, source, (tag,) EtherType.
  logic [TAGGED*8-1:0] header;
  logic [15:0] ethertype;
  assign ethertype = in_eth.ipv6 ? roce_pkg::ETHERTYPE_IPV6 : roce_pkg::ETHERTYPE_IPV4;
  always_comb begin
    header = '0;
    for (int i = 0; i < 6; i++) begin
      header[i*8+:8] = in_eth.dmac[(5-i)*8+:8];
      header[(i+6)*8+:8] = in_eth.smac[(5-i)*8+:8];
    end
    if (in_eth.vlan) begin
      header[12*8+:16] = {roce_pkg::ETHERTYPE_VLAN[7:0], roce_pkg::ETHERTYPE_VLAN[15:8]};
      header[14*8+:16] = {in_eth.tci[7:0], in_eth.tci[15:8]};
      header[16*8+:16] = {ethertype[7:0], ethertype[15:8]};
    end else begin
      header[12*8+:16] = {ethertype[7:0], ethertype[15:8]};
    end
  end

  // ----------------------------------------------------------------------------------- shift and frame
  // START waits for a frame, BODY passes its beats, TAIL sends what the shift pushed out of the last beat, PAD fills up
  // short frames, DISCARD swallows the rest of a starved packet.
  typedef enum logic [2:0] {START, BODY, TAIL, PAD, DISCARD} state_e;
  state_e state_q, state_d;
  logic [1:0] shift_q, shift;  // 0 raw, 1 plain, 2 tagged
  logic [TAGGED*8-1:0] carry_q, carry;
  logic [7:0] tail_cnt_q;
  logic abort_q;
  logic [1:0] beat_q;          // beats of the frame sent, up to 3
  logic adv, has_tag;
  assign has_tag = in_eth.vlan && !in_eth.raw;

  // The beat that would leave now.
  logic f_valid, f_last, f_err;
  logic [DATA_W-1:0] f_data, shifted;
  logic [7:0] f_cnt;
  logic [8:0] total;
  logic take_in, overflows, starved, head_alone;
  logic [1:0] kind;
  assign kind = in_eth.raw ? 2'd0 : has_tag ? 2'd2 : 2'd1;
  assign shift = (state_q == START) ? kind : shift_q;
  // In the first beat the carry is the header itself; of a tag that had a beat alone, its rest.
  assign carry = (state_q == START) ? header : carry_q;
  assign head_alone = HEAD_BEAT && state_q == START && has_tag;

  logic [7:0] shift_bytes;
  always_comb begin
    unique case (shift)
      2'd0: begin
        shifted = in_data;
        shift_bytes = 8'd0;
      end
      2'd1: begin
        shifted = {in_data[DATA_W-PLAIN*8-1:0], carry[PLAIN*8-1:0]};
        shift_bytes = 8'(PLAIN);
      end
      default: begin
        shifted = {in_data[DATA_W-TAGGED_SHIFT*8-1:0], carry[TAGGED_SHIFT*8-1:0]};
        shift_bytes = 8'(TAGGED_SHIFT);
      end
    endcase
  end
  assign total = {1'b0, in_cnt} + {1'b0, shift_bytes};
  assign overflows = total > 9'(B);

  // Short frames: what this beat must at least hold, and whether more beats must follow.
  logic [8:0] need;
  logic needs_more;
  logic [9:0] sent_bytes;
  assign sent_bytes = 10'(beat_q) * 10'(B);
  assign need = (sent_bytes >= 10'(MIN_FRAME)) ? 9'd0 : 9'(10'(MIN_FRAME) - sent_bytes);
  assign needs_more = need > 9'(B);

  logic start_ok, may_wait;  // may_wait: the frame's first beat has not left, so a missing beat is no gap yet
  assign start_ok = in_valid && (in_last || in_two);
  always_comb begin
    f_valid = 1'b0;
    f_data = shifted;
    f_cnt = 8'(B);
    f_last = 1'b0;
    f_err = 1'b0;
    take_in = 1'b0;
    starved = 1'b0;
    state_d = state_q;
    unique case (state_q)
      START, BODY: begin
        f_valid = (state_q == START) ? start_ok : in_valid || !may_wait;
        if (head_alone) begin
          f_data = DATA_W'(header);
          if (start_ok) state_d = BODY;
        end else if (f_valid && !in_valid) begin
          starved = 1'b1;
          f_cnt = 8'd1;
          f_last = 1'b1;
          f_err = 1'b1;
          state_d = DISCARD;
        end else if (f_valid) begin
          take_in = 1'b1;
          state_d = BODY;
          if (in_last && overflows) begin
            state_d = TAIL;
          end else if (in_last && needs_more) begin
            state_d = PAD;
          end else if (in_last) begin
            f_last = 1'b1;
            f_err = in_abort;
            f_cnt = (total < need) ? need[7:0] : total[7:0];
            state_d = START;
          end
        end
      end
      TAIL: begin
        f_valid = 1'b1;
        f_data = DATA_W'(carry_q);
        if (needs_more) begin
          state_d = PAD;
        end else begin
          f_last = 1'b1;
          f_err = abort_q;
          f_cnt = ({1'b0, tail_cnt_q} < need) ? need[7:0] : tail_cnt_q;
          state_d = START;
        end
      end
      PAD: begin
        f_valid = 1'b1;
        f_data = '0;
        if (!needs_more) begin
          f_last = 1'b1;
          f_err = abort_q;
          f_cnt = need[7:0];
          state_d = START;
        end
      end
      DISCARD: begin
        take_in = in_valid;
        if (in_valid && in_last) state_d = START;
      end
      default: state_d = START;
    endcase
  end
  assign in_ready = take_in && (adv || state_q == DISCARD);

  logic step;
  assign step = adv && f_valid;
  always_ff @(posedge clk_i) begin
    if (step || state_q == DISCARD) state_q <= state_d;
    if (step) begin
      beat_q <= f_last ? 2'd0 : beat_q + {1'b0, beat_q != 2'd3};
      shift_q <= shift;
      if (head_alone) begin
        carry_q <= header >> (HEAD_BEAT ? B * 8 : 0);
      end else if (take_in) begin
        unique case (shift)
          2'd0: carry_q <= '0;
          2'd1: carry_q <= (TAGGED * 8)'(in_data[DATA_W-1:DATA_W-PLAIN*8]);
          default: carry_q <= (TAGGED * 8)'(in_data[DATA_W-1:DATA_W-TAGGED_SHIFT*8]);
        endcase
        tail_cnt_q <= total[7:0] - 8'(B);
        abort_q <= in_abort;
      end
      if (state_q == START) begin
        underrun_qpn_o <= in_eth.qpn;
        underrun_psn_o <= in_eth.psn;
      end
    end
    underrun_o <= step && starved;
    if (rst_i) begin
      state_q <= START;
      beat_q <= 2'd0;
      underrun_o <= 1'b0;
    end
  end

  // -------------------------------------------------------------------------------------------- output
  if (GEN_FCS == 0) begin : gen_out
    assign adv = !mac_tx_valid || mac_tx_ready;
    assign may_wait = 1'b0;
    always_ff @(posedge clk_i) begin
      if (adv) mac_tx_valid <= f_valid;
      if (step) begin
        mac_tx_data <= f_data;
        mac_tx_cnt <= f_cnt;
        mac_tx_last <= f_last;
        mac_tx_err <= f_err;
      end
      if (rst_i) mac_tx_valid <= 1'b0;
    end
  end else begin : gen_fcs
    mac_fcs #(
        .DATA_W(DATA_W)
    ) u_fcs (
        .clk_i,
        .rst_i,
        .in_valid(f_valid),
        .in_ready(adv),
        .in_data(f_data),
        .in_cnt(f_cnt),
        .in_last(f_last),
        .in_err(f_err),
        .may_wait_o(may_wait),
        .out_valid(mac_tx_valid),
        .out_ready(mac_tx_ready),
        .out_data(mac_tx_data),
        .out_cnt(mac_tx_cnt),
        .out_last(mac_tx_last),
        .out_err(mac_tx_err)
    );
  end

  logic unused;
  assign unused = ^{in_data, need, total, in_eth, carry};
endmodule
