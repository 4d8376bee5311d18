// SPDX-License-Identifier: Apache-2.0
// The part of the connection half that stays on chip, in the shape of the whole: the rest is zero.
module ctx_widen (
    input  rnic_pkg::qp_front_t front_i,
    output rnic_pkg::qp_conn_t  conn_o
);
  always_comb begin
    conn_o = '0;
    conn_o.exists = front_i.exists;
    conn_o.has_path = front_i.has_path;
    conn_o.state = front_i.state;
    conn_o.qtype = front_i.qtype;
    conn_o.sq_sig_all = front_i.sq_sig_all;
    conn_o.pd = front_i.pd;
    conn_o.path = front_i.path;
    conn_o.send_cqn = front_i.send_cqn;
    conn_o.recv_cqn = front_i.recv_cqn;
    conn_o.log_sq = front_i.log_sq;
    conn_o.log_rq = front_i.log_rq;
    conn_o.sq_base = front_i.sq_base;
    conn_o.rq_base = front_i.rq_base;
    conn_o.rate = front_i.rate;
    conn_o.weight = front_i.weight;
  end
endmodule
