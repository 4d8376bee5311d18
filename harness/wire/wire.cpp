// SPDX-License-Identifier: Apache-2.0
#include "harness/wire/wire.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>

#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"

namespace rnic::wire {
namespace {

constexpr uint64_t kPsBitsPerSecond = 8'000'000'000'000ull;  // ps per byte = this / rate

}  // namespace

WireClock::WireClock(uint64_t rate_bps) {
  const uint64_t g = std::gcd(kPsBitsPerSecond, rate_bps);
  num_ = kPsBitsPerSecond / g;
  den_ = rate_bps / g;
}

void WireClock::advance(uint64_t bytes) {
  const uint64_t total = rest_ + bytes * num_;  // bytes < 2^20, so far below 2^64
  if (den_ == 1) {
    ps_ += total;
  } else {
    ps_ += total / den_;
    rest_ = total % den_;
  }
}

namespace detail {

// A frame on its way. `progress` is the only field both threads touch while the frame is being
// written.
struct Frame {
  explicit Frame(uint64_t rate) : first(rate) {}
  std::atomic<Frame*> next{nullptr};
  std::atomic<uint64_t> progress{0};  // bytes written << 1 | complete
  std::unique_ptr<uint8_t[]> data;
  WireClock first;     // first byte, at the receiver
  TimePs last_ps = 0;  // end of FCS, at the receiver
  TimePs tx_first_ps = 0, tx_last_ps = 0;
  uint32_t length = 0;
  uint64_t number = 0;
  FrameFlags flags;
};

// Unbounded single-producer single-consumer queue, linked through the frames. The frame at `head`
// is spent: it stays only to hold the link to the front.
class FrameQueue {
 public:
  explicit FrameQueue(Frame* stub) : head_(stub), tail_(stub) {}
  void push(Frame* f) {  // producer
    f->next.store(nullptr, std::memory_order_relaxed);
    tail_->next.store(f, std::memory_order_release);
    tail_ = f;
  }
  Frame* front() const { return head_->next.load(std::memory_order_acquire); }  // consumer
  Frame* pop() {  // consumer; returns a frame that nobody uses any more
    Frame* spent = head_;
    head_ = front();
    return spent;
  }

 private:
  alignas(64) Frame* head_;
  alignas(64) Frame* tail_;
};

class Direction {
 public:
  Direction(const LinkConfig& config, int index, const EndConfig& from, const EndConfig& to)
      : config_(config),
        index_(index),
        from_(from),
        to_(to),
        pos_(config.rate_bps),
        free_(config.rate_bps),
        egress_free_(config.rate_bps),
        queue_(allocate()),
        recycled_(allocate()) {
    WireClock fifo(config.rate_bps);
    fifo.advance(config.tx_fifo_bytes);
    lead_ps_ = 2 * from.period_ps + fifo.ceil_ps();
    set_horizon(from.first_edge_ps);
  }

  // Transmit side.
  bool edge(TimePs now, const TxBeat* beat);
  TimePs send(TimePs now, std::span<const uint8_t> bytes, bool err);
  void advance(TimePs now);
  bool ready() const { return ready_; }
  TimePs free_at() const { return free_.ceil_ps(); }
  TimePs free_from() const { return free_.floor_ps(); }
  const TxStats& tx_stats() const { return tx_; }
  void set_faults(FaultHook* hook, TimePs hold_limit) {
    hook_ = hook;
    hold_limit_ps_ = hold_limit;
  }
  const FaultStats& fault_stats() const { return faults_; }

  // Receive side.
  bool rx_edge(TimePs now, RxBeat& beat);
  bool take(TimePs now, FrameInfo& info);
  TimePs next_time() const;
  const RxStats& rx_stats() const { return rx_; }

  TimePs safe_until() const { return horizon_.load(std::memory_order_acquire) + config_.delay_ps; }
  void add_observer(FrameObserver* o) { observers_.push_back(o); }

 private:
  struct Pending {
    Frame* frame;
    TimePs release_ps;
    uint32_t copies;
  };

  Frame* allocate();
  Frame* get_frame();
  void begin(TimePs now);
  void append(const uint8_t* data, uint32_t n, bool last, bool err);
  void underrun(TimePs now);
  void finish(FrameFlags flags);
  void apply_faults(Frame* f);
  void insert(Pending p);
  void pump(TimePs now);
  void emit(Frame* f, TimePs now);
  void set_horizon(TimePs t) {
    horizon_value_ = t;
    horizon_.store(t, std::memory_order_release);
  }
  uint32_t fcs_on_wire() const { return config_.fcs_in_stream ? 0 : kFcsBytes; }

  void check_time(TimePs now) const;
  void recycle_spent();
  Frame* current(TimePs now);
  FrameInfo rx_info(const Frame& f) const;
  static void take_fcs(FrameInfo& info);

  const LinkConfig& config_;
  const int index_;
  const EndConfig from_, to_;

  // Transmit side's own.
  bool ready_ = true;
  bool in_frame_ = false;
  bool swallow_ = false;
  Frame* cur_ = nullptr;
  uint32_t written_ = 0;
  uint64_t next_number_ = 0;
  WireClock pos_;          // when the wire needs the next byte of the current frame
  WireClock free_;         // when the next frame may start
  WireClock egress_free_;  // the same behind the faults
  TimePs lead_ps_ = 0;
  TimePs horizon_value_ = 0;
  TxStats tx_;
  FaultStats faults_;
  FaultHook* hook_ = nullptr;
  TimePs hold_limit_ps_ = 0;
  std::vector<Pending> pending_;  // by release time
  std::vector<Pending> held_;     // release_ps is the limit
  std::vector<Frame*> pool_;
  std::vector<std::unique_ptr<Frame>> owned_;
  std::vector<FrameObserver*> observers_;

  FrameQueue queue_;     // to the receiver
  FrameQueue recycled_;  // back to the sender
  alignas(64) std::atomic<TimePs> horizon_{0};

  // Receive side's own.
  alignas(64) uint32_t cursor_ = 0;
  bool dropping_ = false;
  bool spent_ = false;  // the front frame was delivered; its bytes are still lent
  RxStats rx_;
};

Frame* Direction::allocate() {
  owned_.push_back(std::make_unique<Frame>(config_.rate_bps));
  return owned_.back().get();
}

Frame* Direction::get_frame() {
  // Last in, first out keeps the memory warm.
  while (recycled_.front() != nullptr) pool_.push_back(recycled_.pop());
  Frame* f;
  if (pool_.empty()) {
    f = allocate();
  } else {
    f = pool_.back();
    pool_.pop_back();
  }
  if (!f->data) f->data.reset(new uint8_t[config_.max_frame + 64]);
  f->progress.store(0, std::memory_order_relaxed);
  f->length = 0;
  f->flags = {};
  return f;
}

void Direction::begin(TimePs now) {
  if (free_.before(now)) free_.set(now);
  pos_ = free_.after(kPreambleBytes);
  cur_ = get_frame();
  written_ = 0;
  cur_->number = next_number_++;
  cur_->tx_first_ps = pos_.ceil_ps();
  cur_->first = pos_;
  cur_->first.shift(config_.delay_ps);
  in_frame_ = true;
  swallow_ = false;
  if (hook_ == nullptr) queue_.push(cur_);
}

void Direction::append(const uint8_t* data, uint32_t n, bool last, bool err) {
  const uint32_t room = config_.max_frame - written_;
  const bool cut = n > room;
  if (cut) n = room;
  std::memcpy(cur_->data.get() + written_, data, n);
  written_ += n;
  pos_.advance(n);
  if (cut) {
    ++tx_.oversize;
    finish({.err = true, .oversize = true});
    swallow_ = !last;
  } else if (last) {
    finish({.err = err});
  } else {
    cur_->progress.store(uint64_t{written_} << 1, std::memory_order_release);
  }
}

void Direction::underrun(TimePs now) {
  // One byte of rubbish ends the frame, so that a receiver that has taken everything so far still
  // gets an end.
  ++tx_.underruns;
  pos_.set(now);
  cur_->data[written_++] = 0;
  pos_.advance(1);
  finish({.err = true, .underrun = true});
  swallow_ = true;
}

void Direction::finish(FrameFlags flags) {
  in_frame_ = false;
  const WireClock end = pos_.after(fcs_on_wire());
  free_ = end.after(kGapBytes);
  Frame* f = cur_;
  cur_ = nullptr;
  if (written_ + fcs_on_wire() < kMinFrameBytes + kFcsBytes) {
    flags.runt = true;
    flags.err = true;
    ++tx_.runts;
  }
  if (flags.err) ++tx_.errors;
  ++tx_.frames;
  tx_.bytes += written_;
  f->length = written_;
  f->flags = flags;
  f->tx_last_ps = end.ceil_ps();
  f->last_ps = end.ceil_ps() + config_.delay_ps;
  if (!observers_.empty()) {
    const FrameInfo info{{f->data.get(), f->length},
                         config_.fcs_in_stream,
                         f->tx_first_ps,
                         f->tx_last_ps,
                         f->number,
                         index_,
                         f->flags};
    for (FrameObserver* o : observers_) o->on_tx(info);
  }
  if (hook_ != nullptr) {
    apply_faults(f);
  } else {
    f->progress.store((uint64_t{written_} << 1) | 1, std::memory_order_release);
  }
}

void Direction::apply_faults(Frame* f) {
  FrameEdit e{.bytes = {f->data.get(), f->length},
              .time_ps = f->tx_last_ps,
              .number = f->number,
              .direction = index_};
  hook_->on_frame(e);
  if (e.drop || e.copies == 0) {
    ++faults_.dropped;
    pool_.push_back(f);
    return;
  }
  const bool cut = e.length < f->length;
  if (cut) {
    ++faults_.truncated;
    f->length = e.length == 0 ? 1 : e.length;
    if (f->length + fcs_on_wire() < kMinFrameBytes + kFcsBytes) {
      f->flags.runt = true;
      f->flags.err = true;
    }
  } else if (e.bad_fcs || e.edited) {
    ++faults_.corrupted;
  }
  if (e.bad_fcs) f->flags.err = true;
  if (e.copies > 1) faults_.duplicated += e.copies - 1;
  if (e.extra_delay_ps != 0) ++faults_.delayed;
  f->flags.fault =
      e.bad_fcs || e.edited || cut || e.copies > 1 || e.extra_delay_ps != 0 || e.behind_next;
  Pending p{f, f->tx_last_ps + e.extra_delay_ps, e.copies};
  if (e.behind_next) {
    ++faults_.held;
    p.release_ps += hold_limit_ps_;
    held_.push_back(p);
    return;
  }
  insert(p);
  for (Pending& h : held_) {
    h.release_ps = p.release_ps;
    insert(h);
  }
  held_.clear();
}

void Direction::insert(Pending p) {
  const auto at = std::upper_bound(pending_.begin(), pending_.end(), p.release_ps,
                                   [](TimePs t, const Pending& q) { return t < q.release_ps; });
  pending_.insert(at, p);
}

void Direction::pump(TimePs now) {
  for (size_t i = 0; i < held_.size();) {
    if (held_[i].release_ps <= now) {
      insert(held_[i]);
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  size_t done = 0;
  while (done < pending_.size() && pending_[done].release_ps <= now) {
    const Pending p = pending_[done++];
    for (uint32_t c = 1; c < p.copies; ++c) {
      Frame* copy = get_frame();
      std::memcpy(copy->data.get(), p.frame->data.get(), p.frame->length);
      copy->length = p.frame->length;
      copy->flags = p.frame->flags;
      copy->number = p.frame->number;
      emit(copy, now);
    }
    emit(p.frame, now);
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
}

void Direction::emit(Frame* f, TimePs now) {
  // From `now` on, not from the release time: the receiver may already have been run up to now +
  // delay.
  if (egress_free_.before(now)) egress_free_.set(now);
  const WireClock first = egress_free_.after(kPreambleBytes);
  const WireClock end = first.after(f->length + fcs_on_wire());
  egress_free_ = end.after(kGapBytes);
  f->first = first;
  f->first.shift(config_.delay_ps);
  f->last_ps = end.ceil_ps() + config_.delay_ps;
  f->progress.store((uint64_t{f->length} << 1) | 1, std::memory_order_release);
  queue_.push(f);
}

bool Direction::edge(TimePs now, const TxBeat* beat) {
  if (now < horizon_value_) {
    throw std::logic_error("wire: transmit edge at " + std::to_string(now) + " ps, not before " +
                           std::to_string(horizon_value_) +
                           " expected: the clock is faster than its period says");
  }
  if (hook_ != nullptr) pump(now);
  if (beat != nullptr && ready_) {
    if (beat->nbytes == 0 || beat->nbytes > from_.beat_bytes) {
      throw std::logic_error("wire: a beat of " + std::to_string(beat->nbytes) +
                             " bytes on a stream of " + std::to_string(from_.beat_bytes));
    }
    if (swallow_) {
      swallow_ = !beat->last;
    } else {
      if (!in_frame_) {
        begin(now);
      } else if (pos_.before(now)) {
        underrun(now);
      }
      if (swallow_) {
        swallow_ = !beat->last;
      } else {
        append(beat->data, beat->nbytes, beat->last, beat->err);
      }
    }
  } else {
    if (beat != nullptr) ++tx_.stalled_edges;
    if (in_frame_ && pos_.before(now)) underrun(now);
  }
  const WireClock& needed = in_frame_ ? pos_ : free_;
  ready_ = swallow_ || needed.before(now + lead_ps_);
  set_horizon(now + from_.period_ps);
  return ready_;
}

TimePs Direction::send(TimePs now, std::span<const uint8_t> bytes, bool err) {
  if (in_frame_) throw std::logic_error("wire: send() in the middle of a frame");
  if (bytes.empty()) throw std::logic_error("wire: send() of an empty frame");
  if (now < horizon_value_) {
    throw std::logic_error("wire: send at " + std::to_string(now) + " ps, after time has reached " +
                           std::to_string(horizon_value_));
  }
  if (hook_ != nullptr) pump(now);
  begin(now);
  const TimePs first = cur_->tx_first_ps;
  append(bytes.data(), static_cast<uint32_t>(bytes.size()), !config_.fcs_in_stream, err);
  if (config_.fcs_in_stream && in_frame_) {
    uint8_t fcs[kFcsBytes];
    roce::store_le32(fcs, roce::crc32(bytes));
    append(fcs, kFcsBytes, true, err);
  }
  swallow_ = false;
  if (hook_ != nullptr) pump(now);
  set_horizon(now);
  return first;
}

void Direction::advance(TimePs now) {
  if (now <= horizon_value_) return;
  if (hook_ != nullptr) pump(now);
  if (in_frame_ && pos_.before(now)) underrun(now);
  set_horizon(now);
}

void Direction::check_time(TimePs now) const {
  const TimePs safe = safe_until();
  if (now <= safe) return;
  throw std::logic_error("wire: receiver of direction " + std::to_string(index_) + " runs at " +
                         std::to_string(now) + " ps, beyond what the sender has reached (" +
                         std::to_string(safe) + " ps)");
}

void Direction::recycle_spent() {
  if (!spent_) return;
  spent_ = false;
  cursor_ = 0;
  recycled_.push(queue_.pop());
}

FrameInfo Direction::rx_info(const Frame& f) const {
  return {{f.data.get(), f.length},
          config_.fcs_in_stream,
          f.first.ceil_ps(),
          f.last_ps,
          f.number,
          index_,
          f.flags};
}

bool Direction::rx_edge(TimePs now, RxBeat& beat) {
  check_time(now);
  recycle_spent();
  const uint32_t width = to_.beat_bytes;
  while (Frame* f = queue_.front()) {
    const uint64_t progress = f->progress.load(std::memory_order_acquire);
    const bool complete = (progress & 1) != 0;
    const uint32_t want = cursor_ + width;
    const bool last = complete && f->length <= want;
    const TimePs due = last ? f->last_ps : f->first.after(want).ceil_ps();
    if (dropping_) {
      if (!complete || f->last_ps > now) return false;
      dropping_ = false;
      spent_ = true;
      recycle_spent();
      continue;
    }
    if (due > now) return false;
    if (cursor_ == 0 && now - due > config_.rx_max_lag_ps) {
      ++rx_.lag_drops;
      dropping_ = true;
      continue;
    }
    if (!last && (progress >> 1) < want) {
      throw std::logic_error("wire: bytes are due that the sender has not written");
    }
    beat.data = f->data.get() + cursor_;
    beat.nbytes = last ? f->length - cursor_ : width;
    beat.first = cursor_ == 0;
    beat.last = last;
    beat.err = last && f->flags.err;
    cursor_ += beat.nbytes;
    if (last) {
      spent_ = true;
      ++rx_.frames;
      rx_.bytes += f->length;
      if (f->flags.err) ++rx_.errors;
      if (!observers_.empty()) {
        const FrameInfo info = rx_info(*f);
        for (FrameObserver* o : observers_) o->on_rx(info);
      }
    }
    return true;
  }
  return false;
}

bool Direction::take(TimePs now, FrameInfo& info) {
  check_time(now);
  recycle_spent();
  const Frame* f = queue_.front();
  if (f == nullptr) return false;
  const uint64_t progress = f->progress.load(std::memory_order_acquire);
  if ((progress & 1) == 0 || f->last_ps > now) return false;
  info = rx_info(*f);
  spent_ = true;
  ++rx_.frames;
  rx_.bytes += f->length;
  if (f->flags.err) ++rx_.errors;
  for (FrameObserver* o : observers_) o->on_rx(info);
  if (config_.fcs_in_stream) take_fcs(info);
  return true;
}

void Direction::take_fcs(FrameInfo& info) {
  if (info.bytes.size() <= kFcsBytes) return;  // a runt, flagged as such
  const auto frame = info.bytes.first(info.bytes.size() - kFcsBytes);
  if (roce::crc32(frame) != roce::load_le32(&info.bytes[frame.size()])) info.flags.err = true;
  info.bytes = frame;
  info.has_fcs = false;
}

TimePs Direction::next_time() const {
  const Frame* f = queue_.front();
  // The front may be spent already; what follows it is what counts.
  if (f != nullptr && spent_) f = f->next.load(std::memory_order_acquire);
  if (f == nullptr) return kNever;
  const uint64_t progress = f->progress.load(std::memory_order_acquire);
  const uint32_t cursor = spent_ ? 0 : cursor_;
  if (to_.beat_bytes == 0) {
    return (progress & 1) != 0 ? f->last_ps : f->first.after(progress >> 1).ceil_ps();
  }
  const uint32_t want = cursor + to_.beat_bytes;
  if ((progress & 1) != 0 && f->length <= want) return f->last_ps;
  return f->first.after(std::min<uint64_t>(want, std::max<uint64_t>(progress >> 1, cursor + 1)))
      .ceil_ps();
}

}  // namespace detail

bool TxPort::edge(TimePs now, const TxBeat* beat) { return d_->edge(now, beat); }
bool TxPort::ready() const { return d_->ready(); }
TimePs TxPort::send(TimePs now, std::span<const uint8_t> frame, bool err) {
  return d_->send(now, frame, err);
}
void TxPort::advance(TimePs now) { d_->advance(now); }
TimePs TxPort::free_at() const { return d_->free_at(); }
TimePs TxPort::free_from() const { return d_->free_from(); }
const TxStats& TxPort::stats() const { return d_->tx_stats(); }

bool RxPort::edge(TimePs now, RxBeat& beat) { return d_->rx_edge(now, beat); }
bool RxPort::take(TimePs now, FrameInfo& frame) { return d_->take(now, frame); }
TimePs RxPort::next_time() const { return d_->next_time(); }
const RxStats& RxPort::stats() const { return d_->rx_stats(); }

Link::Link(const LinkConfig& config, const EndConfig& end0, const EndConfig& end1)
    : config_(config) {
  if (config.rate_bps == 0 || config.rate_bps > 8'000'000'000'000ull) {
    throw std::invalid_argument("wire: rate of " + std::to_string(config.rate_bps) +
                                " bit/s, expected 1 .. 8000000000000");
  }
  if (config.max_frame < 64 || config.max_frame > 65536) {
    throw std::invalid_argument("wire: max_frame of " + std::to_string(config.max_frame) +
                                ", expected 64 .. 65536");
  }
  const std::array<const EndConfig*, 2> ends = {&end0, &end1};
  for (int i = 0; i < 2; ++i) {
    const EndConfig& e = *ends[static_cast<size_t>(i)];
    if (e.beat_bytes == 0) continue;
    if (e.period_ps == 0)
      throw std::invalid_argument("wire: end " + std::to_string(i) + " has no clock period");
    // beat_bytes * 8e12 / period >= rate, without overflow
    const auto stream = static_cast<unsigned __int128>(e.beat_bytes) * kPsBitsPerSecond;
    if (stream < static_cast<unsigned __int128>(config.rate_bps) * e.period_ps) {
      throw std::invalid_argument(
          "wire: end " + std::to_string(i) + ": a stream of " + std::to_string(e.beat_bytes) +
          " bytes every " + std::to_string(e.period_ps) + " ps is slower than the wire at " +
          std::to_string(config.rate_bps) + " bit/s: every frame would run dry");
    }
  }
  directions_[0] = std::make_unique<detail::Direction>(config_, 0, end0, end1);
  directions_[1] = std::make_unique<detail::Direction>(config_, 1, end1, end0);
  for (size_t i = 0; i < 2; ++i) {
    tx_[i].d_ = directions_[i].get();
    rx_[i].d_ = directions_[1 - i].get();
  }
}

Link::~Link() = default;

TimePs Link::safe_until(int end) const {
  return directions_[static_cast<size_t>(1 - end)]->safe_until();
}

void Link::add_observer(FrameObserver* observer) {
  for (auto& d : directions_) d->add_observer(observer);
}

void Link::set_faults(int from_end, FaultHook* hook, TimePs hold_limit_ps) {
  directions_[static_cast<size_t>(from_end)]->set_faults(hook, hold_limit_ps);
}

const FaultStats& Link::fault_stats(int from_end) const {
  return directions_[static_cast<size_t>(from_end)]->fault_stats();
}

}  // namespace rnic::wire
