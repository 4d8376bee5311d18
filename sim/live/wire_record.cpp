// SPDX-License-Identifier: Apache-2.0
#include "sim/live/wire_record.hpp"

#include <algorithm>

#include "harness/roce/aeth.hpp"
#include "harness/roce/psn.hpp"

namespace rnic::sim {
namespace {

const char* action_of(const wire::FrameEdit& e) {
  if (e.drop) return "drop";
  if (e.copies > 1) return "dup";
  if (e.behind_next) return "hold";
  if (e.edited && !e.bad_fcs) return "replace";
  if (e.bad_fcs) return "drop";  // the MAC at the end throws it away
  if (e.extra_delay_ps != 0 || e.length != ~0u) return "other";
  return nullptr;
}

}  // namespace

WireRecord::WireRecord(const std::string& pcap) : tap_(wire::TapConfig{}) {
  if (!pcap.empty()) pcap_ = std::make_unique<pcap::PcapWriter>(pcap);
  tap_.on_frame = [this](const wire::FrameInfo& f, const roce::ViolationList&) { on_frame(f); };
}

void WireRecord::observe(wire::Link& link) { link.add_observer(&tap_); }

void WireRecord::install(wire::Link& link, wire::CableFaults& faults, wire::TimePs hold_limit) {
  for (int end = 0; end < 2; ++end) {
    if (faults.direction(end).empty()) continue;
    Hook& h = hooks_[static_cast<size_t>(end)];
    h.owner = this;
    h.inner = &faults.direction(end);
    link.set_faults(end, &h, hold_limit);
  }
}

void WireRecord::Hook::on_frame(wire::FrameEdit& edit) {
  inner->on_frame(edit);
  const char* action = action_of(edit);
  if (action == nullptr) return;
  const auto& at = owner->position_[static_cast<size_t>(edit.direction)];
  const uint64_t frame = edit.number < at.size() ? at[edit.number] : ~uint64_t{0};
  owner->events_.push_back({frame, edit.direction, action});
  const char* name = edit.drop                     ? "drop"
                     : edit.copies > 1             ? "duplicate"
                     : edit.behind_next            ? "reorder"
                     : edit.length != ~0u          ? "truncate"
                     : edit.edited || edit.bad_fcs ? "corrupt"
                                                   : "delay";
  ++owner->counts_[name];
}

void WireRecord::on_frame(const wire::FrameInfo& frame) {
  auto& at = position_[static_cast<size_t>(frame.direction)];
  at.resize(std::max<size_t>(at.size(), frame.number + 1));
  if (frame.flags.err) cut_.push_back(written_);
  at[frame.number] = written_++;
  if (pcap_) {
    last_ps_ = std::max(last_ps_, frame.first_ps);
    const size_t fcs = frame.has_fcs ? wire::kFcsBytes : 0;
    pcap_->write(last_ps_, frame.bytes.first(frame.bytes.size() - fcs));
  }
  roce::FrameView v;
  if (roce::parse_frame(frame.bytes, v) != roce::ParseStatus::kOk) return;
  const roce::OpcodeInfo& info = v.info();
  const bool answer = v.opcode == roce::kRcAcknowledge;
  if (answer && roce::aeth_kind(v.syndrome) == roce::AethKind::kRnrNak) ++rnr_naks_;
  if (!info.is_request || info.transport != roce::Transport::kRc) return;
  const auto key = std::make_pair(frame.direction, v.dest_qp);
  const auto known = next_psn_.find(key);
  if (known != next_psn_.end() && roce::psn_diff(v.psn, known->second) < 0) {
    ++resent_[static_cast<size_t>(frame.direction)];
    return;
  }
  // A READ takes the numbers of its answers.
  const bool read = info.kind == roce::MsgKind::kReadRequest;
  next_psn_[key] = roce::psn_add(v.psn, read ? roce::message_psns(v.dma_len, mtu_) : 1);
}

void WireRecord::begin_run(uint32_t mtu) {
  mtu_ = mtu;
  next_psn_.clear();
  resent_ = {};
  rnr_naks_ = 0;
}

std::map<std::string, uint64_t> WireRecord::fault_counts() const {
  std::map<std::string, uint64_t> all = {{"drop", 0},  {"duplicate", 0}, {"reorder", 0},
                                         {"delay", 0}, {"corrupt", 0},   {"truncate", 0}};
  for (const auto& [name, count] : counts_) all[name] = count;
  return all;
}

void WireRecord::close() {
  tap_.close();
  if (pcap_) pcap_->close();
}

}  // namespace rnic::sim
