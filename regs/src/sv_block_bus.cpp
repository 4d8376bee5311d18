// SPDX-License-Identifier: Apache-2.0
#include "sv_block.hpp"

namespace rnic::regs {

void SvBlock::bus_declarations() {
  line("");
  line("  logic aw_valid_q, w_valid_q, ar_valid_q, prefer_wr_q;");
  line("  logic [{}:0] aw_word_q, ar_word_q;", word_w_ - 1);
  line("  /* verilator lint_off UNUSEDSIGNAL */  // a small map may not use all bits");
  line("  logic [31:0] w_data_q, w_mask;");
  line("  /* verilator lint_on UNUSEDSIGNAL */");
  line("  logic [3:0] w_strb_q;");
  line("  logic b_valid_q, r_valid_q, b_err_q, r_err_q;");
  line("  logic [31:0] r_data_q;");
  line("  logic do_wr, do_rd, wr_now;");
  line("  logic [{}:0] word;", word_w_ - 1);
  line("  logic [31:0] rd_word;");
  line("  logic hit, hit_wr;");
  if (b_.pipelined) {
    line("  logic acc_q, acc_wr_q, acc_now_q;  // an access in its second cycle");
    if (!remotes_.empty()) line("  logic acc_win_q;");
    line("  logic [{}:0] acc_word_q;", word_w_ - 1);
  }
  if (!remotes_.empty()) {
    const auto n = remotes_.size();
    line("  logic [{}:0] win_hit, win_sel_q, win_ack;", n - 1);
    for (const auto& [flag, name] :
         {std::pair{&Remote::writable, "win_ro"}, std::pair{&Remote::readable, "win_wo"}}) {
      if (std::all_of(remotes_.begin(), remotes_.end(),
                      [flag = flag](const Remote& r) { return r.*flag; })) {
        continue;
      }
      line("  logic [{}:0] {};", n - 1, name);
    }
    line("  logic win_start, win_done, win_late;");
    line("  logic win_we_q;");
    line("  logic [{}:0] win_word_q;", word_w_ - 1);
    line("  logic [31:0] win_rdata;");
    line("  logic [$clog2(WINDOW_TIMEOUT + 1)-1:0] win_left_q;");
  }
  line("  logic win_busy;");
  line("  logic bad, bad_wr, bad_access_q;");
  line("  logic [{}:0] bad_word;", word_w_ - 1);
}

void SvBlock::handshake() {
  const char* more = b_.pipelined ? " && !acc_q" : "";
  line("");
  line("  logic unused_addr;");
  line("  assign unused_addr = &{1'b0, s_awaddr[1:0], s_araddr[1:0]};");
  line("");
  line("  assign s_awready = !aw_valid_q;");
  line("  assign s_wready = !w_valid_q{};", remotes_.empty() ? "" : " && !(win_busy && win_we_q)");
  line("  assign s_arready = !ar_valid_q;");
  line("  assign s_bvalid = b_valid_q;");
  line("  assign s_rvalid = r_valid_q;");
  line("  assign s_rdata = r_data_q;");
  line("  assign s_bresp = {b_err_q, 1'b0};");
  line("  assign s_rresp = {r_err_q, 1'b0};");
  line("");
  line("  logic can_wr, can_rd;");
  line("  assign can_wr = aw_valid_q && w_valid_q && (!b_valid_q || s_bready) && !win_busy{};",
       more);
  line("  assign can_rd = ar_valid_q && (!r_valid_q || s_rready) && !win_busy{};", more);
  line("  assign do_wr = can_wr && (!can_rd || prefer_wr_q);");
  line("  assign do_rd = can_rd && !do_wr;");
  line("  assign wr_now = do_wr && w_strb_q != 4'h0;  // without a strobe a write does nothing");
  line("  assign word = do_wr ? aw_word_q : ar_word_q;");
  line(
      "  assign w_mask = {{8{w_strb_q[3]}}, {8{w_strb_q[2]}}, {8{w_strb_q[1]}}, "
      "{8{w_strb_q[0]}}};");
  if (!any_stored_) {
    line("  logic unused_write;");
    line("  assign unused_write = &{1'b0, w_data_q, w_mask};");
  }
}

void SvBlock::bad_access() {
  line("");
  if (!remotes_.empty()) {
    std::string ro, wo, acks;
    for (std::size_t k = remotes_.size(); k-- > 0;) {
      ro += remotes_[k].writable ? '0' : '1';
      wo += remotes_[k].readable ? '0' : '1';
      acks += fmt::format("{}{}_ack_i", acks.empty() ? "" : ", ", remotes_[k].name);
    }
    const bool any_ro = ro.find('1') != std::string::npos;
    const bool any_wo = wo.find('1') != std::string::npos;
    if (any_ro) line("  assign win_ro = {}'b{};", remotes_.size(), ro);
    if (any_wo) line("  assign win_wo = {}'b{};", remotes_.size(), wo);
    line("  assign win_busy = |win_sel_q;");
    line("  assign win_ack = {{{}}};", acks);
    if (any_ro || any_wo) {
      line("  assign win_start = (do_rd && |{}) || (wr_now && |{});",
           any_wo ? "(win_hit & ~win_wo)" : "win_hit", any_ro ? "(win_hit & ~win_ro)" : "win_hit");
    } else {
      line("  assign win_start = (do_rd || wr_now) && |win_hit;");
    }
    line("  assign win_done = |(win_sel_q & win_ack);");
    line("  assign win_late = win_busy && !win_done && win_left_q == '0;");
    select_remote();
  } else {
    line("  assign win_busy = 1'b0;");
  }
  const std::string late = remotes_.empty() ? "" : " || win_late";
  std::string wr = "do_wr";
  std::string at = "word";
  if (b_.pipelined) {
    line("  assign bad = (acc_q{} && !(acc_wr_q ? (hit_wr || !acc_now_q) : hit)){};",
         remotes_.empty() ? "" : " && !acc_win_q", late);
    wr = "acc_wr_q";
    at = "acc_word_q";
  } else if (!remotes_.empty()) {
    line("  assign bad = (do_rd && !hit && !win_start) || (wr_now && !hit_wr && !win_start){};",
         late);
  } else {
    line("  assign bad = (do_rd && !hit) || (wr_now && !hit_wr);");
  }
  if (remotes_.empty()) {
    line("  assign bad_wr = {};", wr);
    line("  assign bad_word = {};", at);
  } else {
    line("  assign bad_wr = win_late ? win_we_q : {};", wr);
    line("  assign bad_word = win_late ? win_word_q : {};", at);
  }
  if (!b_.capture) {
    line("  logic unused_bad;");
    line("  assign unused_bad = &{1'b0, bad_wr, bad_word};");
  }
}

void SvBlock::channels() {
  const bool slverr = b_.bad_access == BadAccess::kSlverr;
  const char* bad_data = slverr ? "32'h0" : "32'hffffffff";
  line("");
  line("  always_ff @(posedge clk_i) begin : channels");
  line("    if (s_awvalid && s_awready) begin");
  line("      aw_valid_q <= 1'b1;");
  line("      aw_word_q <= s_awaddr[{}:2];", addr_w_ - 1);
  line("    end");
  line("    if (s_wvalid && s_wready) begin");
  line("      w_valid_q <= 1'b1;");
  line("      w_data_q <= s_wdata;");
  line("      w_strb_q <= s_wstrb;");
  line("    end");
  line("    if (s_arvalid && s_arready) begin");
  line("      ar_valid_q <= 1'b1;");
  line("      ar_word_q <= s_araddr[{}:2];", addr_w_ - 1);
  line("    end");
  line("    if (s_bready) b_valid_q <= 1'b0;");
  line("    if (s_rready) r_valid_q <= 1'b0;");
  line("    if (do_wr || do_rd) prefer_wr_q <= do_rd;");
  const char* answer = remotes_.empty() ? "1'b1" : b_.pipelined ? "!acc_win_q" : "!win_start";
  line("    if (do_wr) begin");
  line("      aw_valid_q <= 1'b0;");
  line("      w_valid_q <= 1'b0;");
  if (b_.pipelined) {
    line("    end");
    line("    if (do_rd) ar_valid_q <= 1'b0;");
    line("    acc_q <= do_wr || do_rd;");
    line("    if (do_wr || do_rd) begin");
    line("      acc_wr_q <= do_wr;");
    line("      acc_now_q <= wr_now;");
    line("      acc_word_q <= word;");
    if (!remotes_.empty()) line("      acc_win_q <= win_start;");
    line("    end");
    line("    if (acc_q && acc_wr_q) begin");
  }
  line("      b_err_q <= {};", slverr ? "bad" : "1'b0");
  line("      b_valid_q <= {};", answer);
  line("    end");
  if (b_.pipelined) {
    line("    if (acc_q && !acc_wr_q) begin");
  } else {
    line("    if (do_rd) begin");
    line("      ar_valid_q <= 1'b0;");
  }
  line("      r_err_q <= {};", slverr ? "bad" : "1'b0");
  line("      r_valid_q <= {};", answer);
  line("      r_data_q <= hit ? rd_word : {};", bad_data);
  line("    end");
  if (!remotes_.empty()) {
    line("    if (win_start) begin");
    line("      win_sel_q <= win_hit;");
    line("      win_we_q <= do_wr;");
    line("      win_word_q <= word;");
    line("      win_left_q <= ($clog2(WINDOW_TIMEOUT + 1))'(WINDOW_TIMEOUT - 1);");
    line("    end");
    line("    if (win_busy) begin");
    line("      win_left_q <= win_left_q - 1'b1;");
    line("      if (win_done || win_late) begin");
    line("        win_sel_q <= '0;");
    line("        if (win_we_q) begin");
    line("          b_valid_q <= 1'b1;");
    if (slverr) line("          b_err_q <= win_late;");
    line("        end else begin");
    line("          r_valid_q <= 1'b1;");
    if (slverr) line("          r_err_q <= win_late;");
    line("          r_data_q <= win_done ? win_rdata : {};", bad_data);
    line("        end");
    line("      end");
    line("    end");
  }
  line("    bad_access_q <= bad;");
  channels_reset();
  line("  end");
  line("  assign bad_access_pulse_o = bad_access_q;");
}

void SvBlock::channels_reset() {
  line("    if (rst_i) begin");
  for (const char* q : {"aw_valid_q", "w_valid_q", "ar_valid_q", "b_valid_q", "r_valid_q",
                        "b_err_q", "r_err_q", "prefer_wr_q"}) {
    line("      {} <= 1'b0;", q);
  }
  if (b_.pipelined) line("      acc_q <= 1'b0;");
  if (!remotes_.empty()) line("      win_sel_q <= '0;");
  line("      bad_access_q <= 1'b0;");
  line("    end");
}

void SvBlock::capture() {
  const auto& r = b_.registers[*b_.capture];
  const Field* valid = nullptr;
  for (const auto& f : r.fields) {
    if (f.name == "valid") valid = &f;
  }
  line("");
  line(
      "  // {}: the first bad access is kept until software arms again; a new one wins over the "
      "arming.",
      r.name);
  line("  logic cap_arm;");
  line("  assign cap_arm = wr_now && word == {} && w_data_q[{}] && w_mask[{}];",
       word_literal(r.offset), valid->lsb, valid->lsb);
  line("  always_ff @(posedge clk_i) begin : capture");
  line("    if (cap_arm) cap_valid_q <= 1'b0;");
  line("    if (bad && (!cap_valid_q || cap_arm)) begin");
  line("      cap_valid_q <= 1'b1;");
  line("      cap_write_q <= bad_wr;");
  line("      cap_word_q <= bad_word;");
  line("    end");
  line("    if (rst_i) begin");
  line("      cap_valid_q <= 1'b0;");
  line("      cap_write_q <= 1'b0;");
  line("      cap_word_q <= '0;");
  line("    end");
  line("  end");
}

}  // namespace rnic::regs
