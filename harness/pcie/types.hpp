// SPDX-License-Identifier: Apache-2.0
// What travels: requests in flight, observers, and the records that a TLP log gets.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace rnic::pcie {

// Where something lives or comes from: the host (root complex) or GPU n behind the switch.
struct Endpoint {
  int8_t gpu = -1;  // -1: host
  constexpr bool is_host() const { return gpu < 0; }
  constexpr bool operator==(const Endpoint&) const = default;
};
inline constexpr Endpoint kHost{};
constexpr Endpoint gpu_endpoint(int n) { return Endpoint{static_cast<int8_t>(n)}; }

enum class Bar : uint8_t { kDoorbell = 0, kBlueFlame = 1, kRegisters = 2 };
enum class LatencyClass : uint8_t { kData, kRing };

enum class Direction : uint8_t { kUp, kDown };  // up: NIC to host
enum class TlpType : uint8_t { kMemWrite, kMemRead, kCompletion, kCompletionData, kMsix };
enum class CompletionStatus : uint8_t { kSuccess, kUnsupported, kCompleterAbort };
const char* to_string(TlpType type);
const char* to_string(CompletionStatus status);

// One TLP as an observer sees it, when its serialization starts.
struct TlpRecord {
  uint64_t start_ps = 0;   // first byte on the link
  uint64_t end_ps = 0;     // last byte on the link
  uint64_t arrive_ps = 0;  // last byte at the other side
  uint64_t addr = 0;       // completions: address of their first byte
  uint32_t len = 0;        // bytes
  uint16_t tag = 0;
  Direction direction = Direction::kUp;
  TlpType type = TlpType::kMemWrite;
  CompletionStatus status = CompletionStatus::kSuccess;
  Endpoint endpoint;  // the other side
  uint8_t first_be = 0, last_be = 0;
  bool relaxed = false, poisoned = false;
};

// Data of a posted write by the NIC (or an interrupt) became visible at its target.
struct VisibleEvent {
  uint64_t time_ps = 0;
  uint64_t addr = 0;  // bus address (IOVA on the host)
  uint32_t len = 0;
  Endpoint target;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_tlp(const TlpRecord&) {}
  virtual void on_visible(const VisibleEvent&) {}
};

// Result of an MMIO read.
struct MmioResult {
  uint64_t time_ps = 0;           // when the reader has it
  bool ok = true;                 // false: AXI answered SLVERR or DECERR; data are all ones
  std::span<const uint8_t> data;  // valid during the callback
};
using MmioReadCallback = std::function<void(const MmioResult&)>;
using TimeCallback = std::function<void(uint64_t time_ps)>;
using MsixCallback = std::function<void(uint64_t time_ps, uint64_t addr, uint32_t data)>;

inline constexpr uint32_t kMaxTlpBytes = 4096;
inline constexpr uint32_t kMaxBeatBytes = 128;
inline constexpr uint32_t kOpDataBytes = kMaxTlpBytes + kMaxBeatBytes;

// A piece of a read's data as it arrives at the NIC.
struct CompletionChunk {
  uint16_t end = 0;    // offset behind its last byte, from the first byte of the read
  bool error = false;  // UR or CA: no data here
  bool poisoned = false;
  uint64_t first_ps = 0;  // its first payload byte arrives
  uint64_t last_ps = 0;   // its last byte arrives
};

// A read by the NIC. Owned by the fabric's pool; the requester holds it from alloc_read() to
// release_read().
struct ReadOp {
  // set by the requester
  uint64_t addr = 0;
  uint32_t len = 0;  // 1..4096
  uint8_t tag = 0;
  bool no_data = false;  // zero-length: memory is not touched, one completion answers
  bool relaxed = false;
  Endpoint target;
  // set by the fabric
  uint64_t sequence = 0;
  uint64_t posted_mark = 0;      // posted writes that must leave before it
  uint64_t completion_mark = 0;  // MMIO writes that must leave before its completions
  uint64_t phys = 0;
  uint64_t delay_ps = 0;
  uint64_t ready_ps = 0;  // its first completion may start
  CompletionStatus status = CompletionStatus::kSuccess;
  bool in_use = false;
  bool abandoned = false;        // the requester has forgotten it
  bool lost = false;             // no completion will come
  uint16_t error_from = 0xFFFF;  // completions from this offset on are errors
  uint16_t poison_at = 0xFFFF;   // the completion that holds this offset is poisoned
  uint32_t sent = 0;             // bytes whose completions are on the link
  uint32_t chunk_count = 0;
  CompletionChunk chunks[kMaxTlpBytes / 64 + 2];
  // for the requester's use
  uint32_t beats = 0, beats_done = 0, chunk_now = 0;
  // The first byte sits at data[addr % kMaxBeatBytes], so that beats of every width are aligned in
  // it.
  alignas(128) uint8_t data[kOpDataBytes];
};

// A posted write by the NIC. Owned by the fabric's pool; it goes back when the requester has
// released it and its data are visible.
struct WriteOp {
  // set by the requester before begin_write()
  uint64_t addr = 0;
  uint32_t len = 0;  // 1..4096
  uint8_t tag = 0;
  bool no_data = false;  // zero-length: memory is not touched
  bool relaxed = false;
  Endpoint target;
  // set by the fabric
  bool failed = false;    // IOMMU fault, unclaimed or injected error: nothing is written
  bool lost = false;      // injected: nothing is written, nobody is told
  bool poisoned = false;  // injected: nothing is written
  bool complete = false, started = false, answered = false, released = false, visible = false;
  bool stall_counted = false;
  uint64_t sequence = 0;
  uint64_t complete_ps = 0;  // last beat taken
  uint64_t slot_start_ps = 0, slot_end_ps = 0;
  uint64_t delay_ps = 0;
  uint64_t phys = 0;
  // for the requester's use
  WriteOp* next_same_id = nullptr;
  bool done = false;
  uint64_t response_ps = 0;
  uint32_t beats = 0;
  uint32_t data_offset = 0;  // the first byte is data[data_offset]; set before finish_write()
  alignas(128) uint8_t data[kOpDataBytes];
};

// A posted or non-posted MMIO request that has arrived at the NIC.
struct MmioOp {
  Bar bar = Bar::kDoorbell;
  bool is_read = false;
  Endpoint source;
  uint32_t offset = 0;
  uint32_t len = 0;  // 1..64, inside one 64 B block
  uint64_t issue_ps = 0;
  uint64_t arrive_ps = 0;
  uint32_t id = 0;  // reads
  uint8_t data[64] = {};
};

}  // namespace rnic::pcie
