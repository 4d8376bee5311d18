// SPDX-License-Identifier: Apache-2.0
// The simulated cable between two MACs: rate, delay, exact times, and a receiver that cannot make
// it wait.
//
//   Link link({.rate_bps = 400'000'000'000, .delay_ps = 200'000}, {128, 1600}, {128, 1600});
//   bool ready = link.tx(0).edge(now, valid ? &beat : nullptr);  // at each mac_clk edge of node 0
//   RxBeat got;                                                  // and at each one of node 1:
//   if (link.rx(1).edge(now, got)) drive(got.data, got.nbytes, got.last, got.err);
//
// Time is in picoseconds. All wire times are exact: a byte takes 8e12 / rate ps as a rational
// number, so nothing drifts. On the wire a frame of L stream bytes takes 8 (preamble) + L + 4 (FCS,
// unless it is in the stream) + 12 (inter-frame gap) bytes. Preamble comes first: the first byte is
// 8 byte times after the frame's start.
//
// Contract of the transmit side (a MAC without store and forward): ready() tells whether a beat
// offered at the next edge is taken. A frame is contiguous: when the wire needs the next byte and
// the stream has not brought it, the frame ends there with an error (underrun), and the rest of it
// is swallowed. Minimum-size padding is the sender's work; a shorter frame is delivered with an
// error and counted as a runt.
//
// Threads: end 0 (tx(0), rx(0)) belongs to one thread, end 1 to one thread, which may differ. What
// rx sees at time t depends only on times, never on which thread ran first, as long as t <=
// safe_until(end); a receiver that runs further throws. Frames go through a lock-free queue; after
// warm-up nothing is allocated.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rnic::wire {

using TimePs = uint64_t;
inline constexpr TimePs kNever = ~TimePs{0};
inline constexpr uint32_t kPreambleBytes = 8;
inline constexpr uint32_t kFcsBytes = 4;
inline constexpr uint32_t kGapBytes = 12;
// Preamble and inter-frame gap: what a frame costs besides its bytes and FCS.
inline constexpr uint32_t kOverheadBytes = kPreambleBytes + kGapBytes;
inline constexpr uint32_t kMinFrameBytes = 60;  // without FCS

struct LinkConfig {
  uint64_t rate_bps = 400'000'000'000;
  TimePs delay_ps = 200'000;
  // The stream carries the FCS (generated and checked by the NIC).
  bool fcs_in_stream = false;
  // Stream bytes; a longer frame is cut there with an error.
  uint32_t max_frame = 9728;
  // Bytes the transmit MAC takes ahead of the wire, beyond one beat: it evens out short beats, and
  // does not change when a byte is on the wire.
  uint32_t tx_fifo_bytes = 256;
  // A frame whose delivery would start later than this after its arrival is dropped.
  TimePs rx_max_lag_ps = 1'000'000;
};

// The MAC stream at one end. A software endpoint (send() and take()) has beat_bytes 0; it has a MAC
// of its own and gives and gets frames without FCS.
struct EndConfig {
  uint32_t beat_bytes = 0;   // width of the stream
  TimePs period_ps = 0;      // mac_clk
  TimePs first_edge_ps = 0;  // this end does nothing before
};

// One beat offered by the NIC. `data` is read during edge() only.
struct TxBeat {
  const uint8_t* data = nullptr;
  uint32_t nbytes = 0;  // 1 .. beat_bytes
  bool last = false;
  bool err = false;  // on the last beat: the frame is spoiled (transmitted with a bad FCS)
};

// One beat given to the NIC. `data` stays valid until the next edge() of this port.
struct RxBeat {
  const uint8_t* data = nullptr;
  uint32_t nbytes = 0;
  bool first = false;
  bool last = false;
  bool err = false;  // on the last beat: bad FCS, cut frame, runt
};

struct FrameFlags {
  bool err = false;       // arrives with a bad FCS, for whatever reason
  bool underrun = false;  // the stream ran dry
  bool runt = false;      // below the minimum frame
  bool oversize = false;  // cut at max_frame
  bool fault = false;     // changed, delayed or repeated by a fault hook
};

struct FrameInfo {
  std::span<const uint8_t> bytes{};  // stream bytes; of take(): without FCS
  bool has_fcs = false;              // the last four of `bytes` are the FCS
  TimePs first_ps = 0;               // first byte after the preamble, at this end of the cable
  TimePs last_ps = 0;                // end of the FCS, at this end of the cable
  uint64_t number = 0;               // 0, 1, .. in the order of transmission, per direction
  int direction = 0;                 // 0: from end 0 to end 1
  FrameFlags flags;
};

// Sees whole frames of both directions; with two threads it must protect itself. on_tx() runs on
// the sender's thread when the frame is complete, before faults; on_rx() on the receiver's when its
// last beat is delivered, so it sees what the cable delivered.
class FrameObserver {
 public:
  virtual ~FrameObserver() = default;
  virtual void on_tx(const FrameInfo& frame) { (void)frame; }
  virtual void on_rx(const FrameInfo& frame) { (void)frame; }
};

// What a fault hook may do to one frame. Bytes may be edited in place.
struct FrameEdit {
  std::span<uint8_t> bytes{};
  uint32_t length = ~0u;  // below the size of `bytes`: the frame is cut there
  TimePs time_ps = 0;     // end of the frame at the sender
  uint64_t number = 0;
  int direction = 0;
  // Verdict
  bool drop = false;
  uint32_t copies = 1;        // 2: delivered twice
  TimePs extra_delay_ps = 0;  // frames behind it may overtake
  bool behind_next = false;   // after the next frame of this direction, or hold_limit_ps later
  bool bad_fcs = false;       // a bit error on the cable: the receiving MAC flags it
  bool edited = false;        // bytes were changed (only for the count)
};

// A direction with a hook stores each frame whole before it forwards it, as a switch would: the
// frame starts again on the cable at the sender's first edge (or send, advance) at or after its end
// plus what the hook adds, so latency grows by about one frame time. Frames never overlap. Without
// a hook frames are cut through.
class FaultHook {
 public:
  virtual ~FaultHook() = default;
  virtual void on_frame(FrameEdit& frame) = 0;
};

struct TxStats {
  uint64_t frames = 0, bytes = 0;  // stream bytes of complete frames
  uint64_t underruns = 0, runts = 0, oversize = 0, errors = 0;
  uint64_t stalled_edges = 0;  // beat offered and not taken
};
struct RxStats {
  uint64_t frames = 0, bytes = 0, errors = 0;
  uint64_t lag_drops = 0;  // the stream was too slow for the wire
};
struct FaultStats {
  uint64_t dropped = 0, duplicated = 0, delayed = 0, held = 0, corrupted = 0, truncated = 0;
};

// An instant on the wire: whole picoseconds and an exact remainder.
class WireClock {
 public:
  explicit WireClock(uint64_t rate_bps);
  TimePs floor_ps() const { return ps_; }
  TimePs ceil_ps() const { return ps_ + (rest_ != 0 ? 1 : 0); }
  void set(TimePs ps) {
    ps_ = ps;
    rest_ = 0;
  }
  void shift(TimePs ps) { ps_ += ps; }
  void advance(uint64_t bytes);
  WireClock after(uint64_t bytes) const {
    WireClock c = *this;
    c.advance(bytes);
    return c;
  }
  bool before(TimePs ps) const { return ps_ < ps; }

 private:
  TimePs ps_ = 0;
  uint64_t rest_ = 0;   // in units of 1/den_ ps
  uint64_t num_, den_;  // ps per byte
};

namespace detail {
class Direction;
}

class TxPort {
 public:
  // One rising edge of mac_clk at `now`, with the pins as they were before it: `beat` or nullptr
  // when valid was low. A beat counts as taken when ready() was true. Returns the ready to drive
  // after the edge.
  bool edge(TimePs now, const TxBeat* beat);
  bool ready() const;
  // A software endpoint: the whole frame goes on the wire at `now` or as soon as it is free.
  // Returns the time of its first byte at this end.
  TimePs send(TimePs now, std::span<const uint8_t> frame, bool err = false);
  // Nothing will be sent before `now` any more (a software endpoint, or a clock that stands still).
  void advance(TimePs now);
  // Time from which the wire is free for another frame.
  TimePs free_at() const;
  // The same, rounded down: send() from then on joins the frames without a gap of a fraction of a
  // picosecond.
  TimePs free_from() const;
  const TxStats& stats() const;

 private:
  friend class Link;
  detail::Direction* d_ = nullptr;
};

class RxPort {
 public:
  // One rising edge of mac_clk at `now`: the beat to drive after it, or false. At most one beat per
  // edge; a beat comes when its bytes (for the last one, its FCS) have arrived. Throws
  // std::logic_error when now > safe_until().
  bool edge(TimePs now, RxBeat& beat);
  // A software endpoint: the next frame that has arrived completely by `now`. Borrowed until the
  // next call.
  bool take(TimePs now, FrameInfo& frame);
  // Earliest time at which edge() or take() could give something, as far as is known now; kNever
  // when nothing is under way.
  TimePs next_time() const;
  const RxStats& stats() const;

 private:
  friend class Link;
  detail::Direction* d_ = nullptr;
};

class Link {
 public:
  // Throws std::invalid_argument when a stream is slower than the wire, or a value makes no sense.
  Link(const LinkConfig& config, const EndConfig& end0, const EndConfig& end1);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  TxPort& tx(int end) { return tx_[static_cast<size_t>(end)]; }
  RxPort& rx(int end) { return rx_[static_cast<size_t>(end)]; }
  // Up to which time, inclusive, this end may run its receiver: the other end's progress plus the
  // delay.
  TimePs safe_until(int end) const;

  // Observers and hooks are borrowed and outlive the link; set them before the first edge.
  void add_observer(FrameObserver* observer);
  // Faults on the direction that starts at `from_end`; nullptr takes them away. A held frame leaves
  // at the latest `hold_limit_ps` after its end.
  void set_faults(int from_end, FaultHook* hook, TimePs hold_limit_ps = 10'000'000);
  const FaultStats& fault_stats(int from_end) const;
  const LinkConfig& config() const { return config_; }

 private:
  LinkConfig config_;
  std::array<std::unique_ptr<detail::Direction>, 2> directions_;
  std::array<TxPort, 2> tx_;
  std::array<RxPort, 2> rx_;
};

}  // namespace rnic::wire
