// SPDX-License-Identifier: Apache-2.0
#include "harness/golden/wire_oracle.hpp"

#include <algorithm>
#include <cstdio>

#include "harness/roce/psn.hpp"

namespace rnic::golden {

namespace {

std::string hex(uint64_t v) {
  char t[24];
  std::snprintf(t, sizeof t, "0x%llx", static_cast<unsigned long long>(v));
  return t;
}

}  // namespace

WireOracle::WireOracle(const Program& program, size_t side, const OracleConfig& config)
    : program_(program), side_(program.side[side]), config_(config) {
  const uint32_t pmtu = program.config.pmtu;
  for (size_t i = 0; i < side_.sends.size(); ++i) {
    const ProgramSend& s = side_.sends[i];
    if (s.wrong != Ending::kGood) break;
    if (is_local(s.verb)) continue;
    const uint32_t n = is_atomic(s.verb) ? 1 : roce::message_psns(s.bytes(), pmtu);
    messages_.push_back({psns_, n, i});
    psns_ += n;
  }
}

const WireOracle::Message* WireOracle::find(uint32_t psn, uint32_t& index) const {
  const int32_t at = roce::psn_diff(psn, config_.first_psn);
  if (at < 0 || static_cast<uint32_t>(at) >= psns_) return nullptr;
  const auto it =
      std::upper_bound(messages_.begin(), messages_.end(), static_cast<uint32_t>(at),
                       [](uint32_t value, const Message& m) { return value < m.first; });
  const Message& m = *(it - 1);
  index = static_cast<uint32_t>(at) - m.first;
  return &m;
}

std::string WireOracle::place(uint32_t psn) const {
  uint32_t index = 0;
  const Message* m = find(psn, index);
  if (m == nullptr) return "PSN " + hex(psn) + " of no request";
  return "PSN " + hex(psn) + ", request " + std::to_string(m->send) + " (" +
         describe(side_.sends[m->send]) + "), packet " + std::to_string(index) + " of " +
         std::to_string(m->psns);
}

std::string WireOracle::check(const roce::FrameView& v) {
  if (!v.info().is_request) return "";
  uint32_t index = 0;
  const Message* m = find(v.psn, index);
  if (m == nullptr) {
    // Behind the end only in a program that ends with an error.
    const bool behind = roce::psn_diff(v.psn, config_.first_psn) >= 0;
    return behind && program_.config.ending != Ending::kGood ? "" : place(v.psn);
  }
  const ProgramSend& s = side_.sends[m->send];
  const uint32_t pmtu = program_.config.pmtu;
  const bool read = is_read_or_atomic(s.verb);
  const bool last = index + 1 == m->psns;
  const uint32_t offset = index * pmtu;
  const auto wrong = [&](const char* what, uint64_t got, uint64_t want) {
    return place(v.psn) + ": " + what + " " + hex(got) + ", expected " + hex(want);
  };
  const uint8_t opcode =
      roce::message_segment(kind_of(s.verb), s.bytes(), pmtu, index, program_.config.transport)
          .opcode;
  if (v.opcode != opcode) return wrong("opcode", v.opcode, opcode);
  const uint16_t ext = v.info().ext;
  const uint64_t va = config_.peer.va + s.remote_offset + (s.verb == Verb::kRead ? offset : 0);
  if ((ext & (roce::kExtReth | roce::kExtAtomic)) != 0) {
    if (v.va != va) return wrong("address", v.va, va);
    if (v.rkey != config_.peer.key) return wrong("key", v.rkey, config_.peer.key);
  }
  if ((ext & roce::kExtReth) != 0) {
    const uint32_t length = s.bytes() - (s.verb == Verb::kRead ? offset : 0);
    if (v.dma_len != length) return wrong("DMA length", v.dma_len, length);
  }
  if ((ext & roce::kExtImm) != 0 && v.imm != s.imm) return wrong("immediate", v.imm, s.imm);
  if ((ext & roce::kExtIeth) != 0 && s.spare < config_.spares.size() &&
      v.inv_rkey != config_.spares[s.spare].key)
    return wrong("key to invalidate", v.inv_rkey, config_.spares[s.spare].key);
  if ((ext & roce::kExtAtomic) != 0) {
    if (v.swap_add != s.swap_add) return wrong("operand", v.swap_add, s.swap_add);
    if (v.compare != s.compare) return wrong("compare operand", v.compare, s.compare);
  }
  const bool solicited = s.solicited && last && takes_receive(s.verb);
  if (v.solicited != solicited) return wrong("SE", v.solicited, solicited);
  if (!read) {
    std::vector<uint8_t> all = s.inline_data;
    for (const Piece& p : s.pieces)
      all.insert(all.end(), side_.expected.begin() + p.offset,
                 side_.expected.begin() + p.offset + p.length);
    const uint32_t n = std::min<uint32_t>(pmtu, static_cast<uint32_t>(all.size()) - offset);
    if (v.payload_len != n) return wrong("payload bytes", v.payload_len, n);
    const auto got = v.payload();
    for (uint32_t i = 0; i < n; ++i) {
      if (got[i] != all[offset + i]) {
        return wrong(("payload byte " + std::to_string(i) + " of " + std::to_string(n)).c_str(),
                     got[i], all[offset + i]);
      }
    }
  }
  return "";
}

}  // namespace rnic::golden
