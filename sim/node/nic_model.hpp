// SPDX-License-Identifier: Apache-2.0
// A Nic around one Verilated class. Top is V<prefix> of rnic_top; its pins are those of
// rtl/rnic_top.
#pragma once

#include <verilated.h>
#if VM_TRACE_FST
#include <verilated_fst_c.h>
#endif

#include <bit>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "harness/axi/verilated_pins.hpp"
#include "sim/node/nic.hpp"

namespace rnic::sim {

template <typename Top>
class NicModel final : public Nic {
 public:
  NicModel(const NicInfo& info, const NicOptions& options) : info_(info) {
    context_ = std::make_unique<VerilatedContext>();
    context_->randReset(2);
    context_->randSeed(static_cast<int>(options.seed % 0x7FFFFFFF) + 1);
#if VM_TRACE_FST
    context_->traceEverOn(!options.wave_file.empty());
#endif
    top_ = std::make_unique<Top>(context_.get(), "rnic_top");
    borders_.resize(info_.borders);
    clear_inputs();
#if VM_TRACE_FST
    if (!options.wave_file.empty()) {
      fst_ = std::make_unique<VerilatedFstC>();
      top_->trace(fst_.get(), 99);
      fst_->open(options.wave_file.c_str());
    }
#else
    if (!options.wave_file.empty())
      throw std::invalid_argument("this program has no waves compiled in; use its _wave variant");
#endif
    top_->eval();
  }
  ~NicModel() override {
    // Verilator's runtime releases a model in the context of its thread, which may be another
    // NIC's.
    Verilated::threadContextp(context_.get());
    top_->final();
#if VM_TRACE_FST
    if (fst_) fst_->close();
#endif
  }

  const NicInfo& info() const override { return info_; }
  void attach(axi::NicPort& port, pcie::Fabric& fabric, wire::TxPort* tx,
              wire::RxPort* rx) override {
    pins_ = std::make_unique<axi::VerilatedPins<Top>>(*top_, port);
    port_ = &port;
    fabric_ = &fabric;
    tx_ = tx;
    rx_ = rx;
  }
  void set_trace(TraceSink* sink) override { trace_ = sink; }
  void set_raw_port(RawPort* port) override { raw_ = port; }
  void count_borders(bool on) override { count_borders_ = on; }
  const std::vector<BorderCount>& borders() const override { return borders_; }
  void set_reset(bool core, bool mac) override {
    top_->core_rst_i = core;
    top_->mac_rst_i = mac;
  }
  TimePs last_tx_start_ps() const override { return last_tx_start_; }
  uint64_t tx_starts() const override { return tx_starts_; }
  uint64_t core_cycles() const override { return cycle_; }
  void flush_waves() override {
#if VM_TRACE_FST
    if (fst_) fst_->flush();
#endif
  }

  const StepProfile& profile() const override { return profile_; }

  void step(TimePs now, unsigned edges) override {
    if (--until_profiled_ != 0) return plain_step(now, edges);
    until_profiled_ = kProfileEvery;
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    profiling_ = true;
    model_time_ = {};
    plain_step(now, edges);
    profiling_ = false;
    const auto all = Clock::now() - start;
    ++profile_.steps;
    profile_.model_ns += static_cast<uint64_t>(model_time_.count());
    profile_.harness_ns +=
        static_cast<uint64_t>(std::chrono::nanoseconds(all - model_time_).count());
  }

 private:
  static constexpr uint32_t kProfileEvery = 61;  // steps

  void eval() {
    if (!profiling_) return top_->eval();
    const auto start = std::chrono::steady_clock::now();
    top_->eval();
    model_time_ += std::chrono::steady_clock::now() - start;
  }

  // A clock's falling edge and the inputs driven with it are evaluated with the next edge of the
  // other clock, which saves an evaluation; before the next edge of the same clock at the latest.
  // No output of one clock's pins follows inputs of the other's within a cycle.
  void settle(TimePs time) {
    eval();
    dump(time);
    waiting_ = 0;
  }

  void plain_step(TimePs now, unsigned edges) {
    if (edges & waiting_) settle(now);
    if (edges & kCoreEdge) sample_core(now);
    if (edges & kMacEdge) sample_mac(now);
    if (edges & kCoreEdge) top_->core_clk_i = 1;
    if (edges & kMacEdge) top_->mac_clk_i = 1;
    eval();
    dump(now);
    if (edges & kCoreEdge) drive_core(now);
    if (edges & kMacEdge) drive_mac(now);
    top_->core_clk_i = 0;
    top_->mac_clk_i = 0;
    waiting_ = edges;
#if VM_TRACE_FST
    settle(now + 800);  // falling edges at their place in the picture
#endif
  }

  void clear_inputs() {
    Top& t = *top_;
    t.core_clk_i = t.mac_clk_i = 0;
    t.core_rst_i = t.mac_rst_i = 1;
    t.mac_tx_ready = 0;
    t.mac_rx_valid = 0;
    t.raw_tx_valid = 0;
    t.raw_rx_ready = 1;
    t.m_axi_awready = t.m_axi_wready = t.m_axi_bvalid = t.m_axi_arready = t.m_axi_rvalid = 0;
    t.bar0_awvalid = t.bar0_wvalid = t.bar0_bready = t.bar0_arvalid = t.bar0_rready = 0;
    t.bar2_awvalid = t.bar2_wvalid = t.bar2_bready = t.bar2_arvalid = t.bar2_rready = 0;
    t.bar1_awvalid = t.bar1_wvalid = t.bar1_bready = 0;
    t.gdr_awvalid = t.gdr_wvalid = t.gdr_bready = t.gdr_arvalid = t.gdr_rready = 0;
  }

  // ------------------------------------------------------------------------------------ core_clk
  void sample_core(TimePs now) {
    Top& t = *top_;
    pins_->read();
    port_->sample(now);
    if (trace_ != nullptr) {
      if (t.bar0_wvalid && t.bar0_wready) pin_event(now, kBar0Write, t.bar0_wdata);
      if (t.bar1_wvalid && t.bar1_wready) pin_event(now, kBar1Write, t.bar1_awaddr);
      if (t.trc_valid_o != 0) tap(now);
    }
    if (count_borders_) count();
    if (raw_ != nullptr) sample_raw(now);
  }
  void drive_core(TimePs now) {
    const TimePs next = now + info_.core_ps;
    fabric_->advance(next);
    port_->drive(next);
    pins_->write();
    if (raw_ != nullptr) drive_raw(now);
    ++cycle_;
  }
  void tap(TimePs now) {
    Top& t = *top_;
    const uint32_t* lanes = axi::pin_words(t.trc_o);
    for (uint64_t v = t.trc_valid_o; v != 0; v &= v - 1) {
      const int i = std::countr_zero(v);
      const uint32_t low = lanes[2 * i], high = lanes[2 * i + 1];
      trace_->on_trace({now, cycle_, static_cast<uint8_t>(high >> 24), static_cast<uint8_t>(i),
                        (t.trc_sampled_o >> i & 1) != 0, high & 0xFFFFFF, low});
    }
  }
  void count() {
    const uint64_t valid = top_->border_valid_o, ready = top_->border_ready_o;
    for (uint64_t v = valid; v != 0; v &= v - 1) {
      const int i = std::countr_zero(v);
      if (ready >> i & 1) {
        ++borders_[static_cast<size_t>(i)].busy;
      } else {
        ++borders_[static_cast<size_t>(i)].stalled;
      }
    }
  }

  void sample_raw(TimePs now) {
    Top& t = *top_;
    if (t.raw_rx_valid && t.raw_rx_ready) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(axi::pin_words(t.raw_rx_data));
      raw_in_.insert(raw_in_.end(), bytes, bytes + t.raw_rx_cnt);
      if (t.raw_rx_last) {
        raw_->on_raw_frame(now, raw_in_);
        raw_in_.clear();
      }
    }
    if (t.raw_tx_valid && t.raw_tx_ready) {
      raw_at_ += t.raw_tx_cnt;
      if (raw_at_ >= raw_out_.size()) raw_out_ = {};
    }
  }
  void drive_raw(TimePs now) {
    Top& t = *top_;
    if (raw_out_.empty()) {
      raw_out_ = raw_->next_raw_frame(now);
      raw_at_ = 0;
    }
    t.raw_tx_valid = !raw_out_.empty();
    if (raw_out_.empty()) return;
    const size_t left = raw_out_.size() - raw_at_, n = std::min<size_t>(left, info_.data_w / 8);
    std::memcpy(axi::pin_words(t.raw_tx_data), raw_out_.data() + raw_at_, n);
    t.raw_tx_cnt = static_cast<uint8_t>(n);
    t.raw_tx_last = n == left;
  }

  // ------------------------------------------------------------------------------------- mac_clk
  void sample_mac(TimePs now) {
    Top& t = *top_;
    if (tx_ != nullptr) {
      const bool valid = t.mac_tx_valid;
      wire::TxBeat beat;
      if (valid) {
        beat = {reinterpret_cast<const uint8_t*>(axi::pin_words(t.mac_tx_data)), t.mac_tx_cnt,
                !!t.mac_tx_last, !!t.mac_tx_err};
        if (t.mac_tx_ready) {
          if (first_beat_) {
            last_tx_start_ = now;
            ++tx_starts_;
            if (trace_ != nullptr) pin_event(now, kMacTxFirst, tx_starts_);
          }
          first_beat_ = t.mac_tx_last;
          if (first_beat_ && trace_ != nullptr) pin_event(now, kMacTxLast, tx_starts_);
        }
      }
      tx_ready_ = tx_->edge(now, valid ? &beat : nullptr);
    }
    if (rx_ != nullptr) rx_valid_ = rx_->edge(now, rx_beat_);
  }
  void pin_event(TimePs now, PinEvent event, uint64_t number) {
    trace_->on_trace(
        {now, cycle_, static_cast<uint8_t>(event), 0xFF, false, 0, static_cast<uint32_t>(number)});
  }
  void drive_mac(TimePs now) {
    Top& t = *top_;
    t.mac_tx_ready = tx_ready_;
    t.mac_rx_valid = rx_valid_;
    if (rx_valid_) {
      std::memcpy(axi::pin_words(t.mac_rx_data), rx_beat_.data, rx_beat_.nbytes);
      t.mac_rx_cnt = static_cast<uint8_t>(rx_beat_.nbytes);
      t.mac_rx_last = rx_beat_.last;
      t.mac_rx_err = rx_beat_.err;
      // Seen by the NIC at the next edge.
      if (rx_beat_.first) ++rx_starts_;
      if (trace_ != nullptr && rx_beat_.first)
        pin_event(now + info_.mac_ps, kMacRxFirst, rx_starts_);
      if (trace_ != nullptr && rx_beat_.last) pin_event(now + info_.mac_ps, kMacRxLast, rx_starts_);
    }
  }

  void dump(TimePs time) {
#if VM_TRACE_FST
    if (fst_) fst_->dump(time);
#else
    (void)time;
#endif
  }

  NicInfo info_;
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Top> top_;
#if VM_TRACE_FST
  std::unique_ptr<VerilatedFstC> fst_;
#endif
  std::unique_ptr<axi::VerilatedPins<Top>> pins_;
  axi::NicPort* port_ = nullptr;
  pcie::Fabric* fabric_ = nullptr;
  wire::TxPort* tx_ = nullptr;
  wire::RxPort* rx_ = nullptr;
  TraceSink* trace_ = nullptr;
  RawPort* raw_ = nullptr;
  bool count_borders_ = false;
  std::vector<BorderCount> borders_;
  uint64_t cycle_ = 0;
  bool tx_ready_ = false, first_beat_ = true;
  TimePs last_tx_start_ = 0;
  uint64_t tx_starts_ = 0, rx_starts_ = 0;
  StepProfile profile_;
  uint32_t until_profiled_ = kProfileEvery;
  bool profiling_ = false;
  unsigned waiting_ = 0;  // clocks whose falling edge and inputs are not evaluated yet
  std::chrono::nanoseconds model_time_{};
  bool rx_valid_ = false;
  wire::RxBeat rx_beat_;
  std::vector<uint8_t> raw_in_;
  std::span<const uint8_t> raw_out_;
  size_t raw_at_ = 0;
};

}  // namespace rnic::sim
