// SPDX-License-Identifier: Apache-2.0
// The state machine of a QP as one combinational rule: from the connection half and a MODIFY
// command to its status, the next connection half and the order for the owners of the other halves.
// Facts: roce.md section 5. SQE is entered by hardware only.
module qp_modify (
    input  rnic_pkg::qp_conn_t       now_i,
    input  rnic_desc_pkg::cmd_qp_t   cmd_i,
    input  logic                     path_ok_i,  // the named path exists
    output logic [7:0]               status_o,   // cmd_status
    output rnic_pkg::qp_conn_t       next_o,
    output logic [2:0]               order_o,    // QPI_*
    output logic [23:0]              psn_o
);
  // Attributes, one bit each, in the order of the mask.
  localparam logic [15:0] A_PKEY = 16'h0001;
  localparam logic [15:0] A_ACCESS = 16'h0002;
  localparam logic [15:0] A_PATH = 16'h0004;
  localparam logic [15:0] A_MTU = 16'h0008;
  localparam logic [15:0] A_DEST = 16'h0010;
  localparam logic [15:0] A_RQ_PSN = 16'h0020;
  localparam logic [15:0] A_SQ_PSN = 16'h0040;
  localparam logic [15:0] A_RNR = 16'h0080;
  localparam logic [15:0] A_TIMEOUT = 16'h0100;
  localparam logic [15:0] A_RETRY = 16'h0200;
  localparam logic [15:0] A_RNR_RETRY = 16'h0400;
  localparam logic [15:0] A_RD = 16'h0800;
  localparam logic [15:0] A_DEST_RD = 16'h1000;
  localparam logic [15:0] A_QKEY = 16'h2000;
  localparam logic [15:0] A_RATE = 16'h4000;
  localparam logic [15:0] A_CUR = 16'h8000;

  logic [15:0] given, needed, allowed;
  assign given = {cmd_i.mask_cur_state, cmd_i.mask_rate, cmd_i.mask_qkey, cmd_i.mask_dest_rd,
      cmd_i.mask_rd_atomic,
                  cmd_i.mask_rnr_retry, cmd_i.mask_retry, cmd_i.mask_timeout, cmd_i.mask_rnr_timer,
                      cmd_i.mask_sq_psn,
                  cmd_i.mask_rq_psn, cmd_i.mask_dest, cmd_i.mask_mtu, cmd_i.mask_path,
                      cmd_i.mask_access, cmd_i.mask_pkey};

  // What a step needs and allows, by the service of the QP.
  logic legal, rc, ud;
  logic [15:0] always_ok;  // attributes that any step of this service allows
  assign rc = now_i.qtype == rnic_desc_pkg::QP_TYPE_RC;
  assign ud = now_i.qtype == rnic_desc_pkg::QP_TYPE_UD;
  assign always_ok = ud ? A_QKEY : A_ACCESS;
  always_comb begin
    legal = 1'b1;
    needed = '0;
    allowed = '0;
    order_o = rnic_pkg::QPI_KICK;
    psn_o = '0;
    unique case ({now_i.state, cmd_i.state})
      {rnic_pkg::QPS_RESET, rnic_pkg::QPS_INIT}: needed = A_PKEY | always_ok;
      {rnic_pkg::QPS_INIT, rnic_pkg::QPS_INIT}: allowed = A_PKEY | always_ok;
      {rnic_pkg::QPS_INIT, rnic_pkg::QPS_RTR}: begin
        if (!ud) needed = A_PATH | A_MTU | A_DEST | A_RQ_PSN;
        if (rc) needed = needed | A_DEST_RD | A_RNR;
        allowed = A_PKEY | always_ok;
        order_o = rnic_pkg::QPI_RTR;
        psn_o = ud ? 24'd0 : cmd_i.rq_psn;
      end
      {rnic_pkg::QPS_RTR, rnic_pkg::QPS_RTS}: begin
        needed = A_SQ_PSN;
        if (rc) needed = needed | A_TIMEOUT | A_RETRY | A_RNR_RETRY | A_RD;
        allowed = rc ? (always_ok | A_RNR) : always_ok;
        order_o = rnic_pkg::QPI_RTS;
        psn_o = cmd_i.sq_psn;
      end
      {rnic_pkg::QPS_RTS, rnic_pkg::QPS_RTS}, {rnic_pkg::QPS_SQD, rnic_pkg::QPS_RTS}:
      allowed = rc ? (always_ok | A_RNR) : always_ok;
      {rnic_pkg::QPS_RTS, rnic_pkg::QPS_SQD}: allowed = '0;
      {rnic_pkg::QPS_SQD, rnic_pkg::QPS_SQD}: begin
        allowed = A_PKEY | always_ok;
        if (!ud) allowed = allowed | A_PATH;
        if (rc) allowed = allowed | A_TIMEOUT | A_RETRY | A_RNR_RETRY | A_RD | A_DEST_RD | A_RNR;
      end
      {rnic_pkg::QPS_SQE, rnic_pkg::QPS_RTS}: begin
        legal = !rc;
        allowed = always_ok;
        order_o = rnic_pkg::QPI_RESUME;
      end
      default: begin
        legal = cmd_i.state == rnic_pkg::QPS_RESET ||
                (cmd_i.state == rnic_pkg::QPS_ERR && now_i.state != rnic_pkg::QPS_RESET);
        order_o = (cmd_i.state == rnic_pkg::QPS_RESET) ? rnic_pkg::QPI_CLEAR : rnic_pkg::QPI_ERR;
      end
    endcase
  end

  logic missing, excess, bad_value, to_dead;
  assign to_dead = cmd_i.state == rnic_pkg::QPS_RESET || cmd_i.state == rnic_pkg::QPS_ERR;
  assign missing = (needed & ~given) != '0;
  assign excess = (given & ~(needed | allowed | A_RATE | A_CUR)) != '0;
  assign bad_value = (cmd_i.mask_mtu && (cmd_i.mtu == 3'd0 || cmd_i.mtu > 3'd5)) ||
      (cmd_i.mask_path && !path_ok_i);
  always_comb begin
    status_o = rnic_desc_pkg::CMD_STATUS_OK;
    if (!now_i.exists) status_o = rnic_desc_pkg::CMD_STATUS_NOT_FOUND;
    else if (cmd_i.mask_cur_state && cmd_i.cur_state != now_i.state) status_o =
        rnic_desc_pkg::CMD_STATUS_BAD_STATE;
    else if (!legal) status_o = rnic_desc_pkg::CMD_STATUS_BAD_TRANSITION;
    else if (missing) status_o = rnic_desc_pkg::CMD_STATUS_MISSING_ATTR;
    else if ((excess && !to_dead) || bad_value) status_o = rnic_desc_pkg::CMD_STATUS_BAD_PARAM;
  end

  always_comb begin
    next_o = now_i;
    next_o.state = cmd_i.state;
    if (!to_dead) begin
      if (cmd_i.mask_pkey) next_o.pkey = cmd_i.pkey;
      if (cmd_i.mask_access) begin
        next_o.acc_write = cmd_i.remote_write;
        next_o.acc_read = cmd_i.remote_read;
        next_o.acc_atomic = cmd_i.remote_atomic;
      end
      if (cmd_i.mask_path) begin
        next_o.path = cmd_i.path;
        next_o.has_path = 1'b1;
      end
      if (cmd_i.mask_mtu) next_o.mtu = cmd_i.mtu;
      if (cmd_i.mask_dest) next_o.dest_qpn = cmd_i.dest_qpn;
      if (cmd_i.mask_rnr_timer) next_o.min_rnr_timer = cmd_i.min_rnr_timer;
      if (cmd_i.mask_timeout) next_o.timeout = cmd_i.timeout;
      if (cmd_i.mask_retry) next_o.retry_cnt = cmd_i.retry_cnt;
      if (cmd_i.mask_rnr_retry) next_o.rnr_retry = cmd_i.rnr_retry;
      if (cmd_i.mask_rd_atomic) next_o.max_rd_atomic = cmd_i.max_rd_atomic;
      if (cmd_i.mask_dest_rd) next_o.max_dest_rd = cmd_i.max_dest_rd_atomic;
      if (cmd_i.mask_qkey) next_o.qkey = cmd_i.qkey;
      if (cmd_i.mask_rate) begin
        next_o.rate = cmd_i.rate;
        next_o.weight = cmd_i.weight;
      end
    end
    if (cmd_i.state == rnic_pkg::QPS_ERR && now_i.state != rnic_pkg::QPS_ERR)
      next_o.err_cause = rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
    if (cmd_i.state == rnic_pkg::QPS_RESET) next_o.err_cause = 8'd0;
  end

  logic unused;
  assign unused = ^cmd_i;
endmodule
