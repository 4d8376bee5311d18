// SPDX-License-Identifier: Apache-2.0
#include "harness/wire/fault_settings.hpp"

namespace rnic::wire {

void read_faults(scenario::Reader& r, FaultSettings& out) {
  using namespace scenario;
  constexpr uint64_t kSecond = 1'000'000'000'000;  // ps
  r.opt("fault_hold_limit", out.hold_limit_ps, duration(1, kSecond));
  r.each("faults", [&](Reader& f, size_t index) {
    FaultRule rule;
    rule.name = "fault " + std::to_string(index + 1);
    f.req("do", rule.action,
          one_of<FaultAction>({{"drop", FaultAction::kDrop},
                               {"duplicate", FaultAction::kDuplicate},
                               {"reorder", FaultAction::kReorder},
                               {"delay", FaultAction::kDelay},
                               {"corrupt", FaultAction::kCorrupt},
                               {"truncate", FaultAction::kTruncate}}));
    rule.name += std::string(", ") + to_string(rule.action);
    int from = 2;
    f.opt("from", from, one_of<int>({{"a", 0}, {"b", 1}, {"both", 2}}));
    if (from != 2) rule.from = from;
    f.opt("name", rule.name, text());
    f.opt("packet", rule.packet,
          one_of<PacketClass>({{"any", PacketClass::kAny},
                               {"raw", PacketClass::kRaw},
                               {"roce", PacketClass::kRoce},
                               {"request", PacketClass::kRequest},
                               {"send", PacketClass::kSend},
                               {"write", PacketClass::kWrite},
                               {"read_request", PacketClass::kReadRequest},
                               {"atomic", PacketClass::kAtomic},
                               {"response", PacketClass::kResponse},
                               {"ack", PacketClass::kAck},
                               {"nak", PacketClass::kNak},
                               {"rnr_nak", PacketClass::kRnrNak},
                               {"read_response", PacketClass::kReadResponse},
                               {"atomic_response", PacketClass::kAtomicResponse},
                               {"cnp", PacketClass::kCnp}}));
    f.opt("opcode", rule.opcode, unsigned_integer(0, 255));
    f.opt("qpn", rule.qpn, unsigned_integer(0, 0xFFFFFF));
    f.opt("psn", rule.psn, unsigned_integer(0, 0xFFFFFF));
    f.opt("probability", rule.probability, probability());
    const bool one = f.opt("nth", rule.nth, unsigned_integer(1));
    const bool again = f.opt("every", rule.every, unsigned_integer(1));
    // "The third" is one frame, unless more is asked for.
    if (one && !again) rule.count = 1;
    f.opt("count", rule.count, unsigned_integer(1));
    const auto only_for = [&](FaultAction a, const char* key) {
      if (f.has(key) && rule.action != a)
        f.error(key, std::string("belongs to 'do: ") + to_string(a) + "'");
    };
    only_for(FaultAction::kDuplicate, "copies");
    f.opt("copies", rule.copies, unsigned_integer(2, 16));
    only_for(FaultAction::kDelay, "by");
    f.opt("by", rule.delay_ps, duration(1, kSecond));
    only_for(FaultAction::kCorrupt, "bits");
    f.opt("bits", rule.bits, unsigned_integer(1, 64));
    only_for(FaultAction::kTruncate, "keep");
    f.opt("keep", rule.keep_bytes, bytes(1, 65536));
    if (f.has("fcs") && rule.action != FaultAction::kCorrupt &&
        rule.action != FaultAction::kTruncate) {
      f.error("fcs", "belongs to 'do: corrupt' and 'do: truncate'");
    }
    f.opt("fcs", rule.bad_fcs, one_of<bool>({{"bad", true}, {"good", false}}));
    out.rules.push_back(std::move(rule));
  });
}

}  // namespace rnic::wire
