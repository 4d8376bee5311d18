// SPDX-License-Identifier: Apache-2.0
// The data of a run, followed on the wire: what the peer sent must be what lies in memory, what the
// NIC sent must be what its program meant. A second opinion made of the frames alone.
//
//   DataCheck check(0);                       // the NIC is end 0
//   link.add_observer(&check);
//   check.add_memory(m);  check.add_queue(q);
//   check.expect(q.number(), bytes);          // the next SEND or WRITE of this QP
//   std::optional<Bytes> got = check.next_received(q.number());    // SENDs of the peer
//   check.finish();                           // compares memory
//   problems: check.problems()
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/roce/frame.hpp"
#include "harness/wire/wire.hpp"
#include "sim/live/adapter.hpp"

namespace rnic::sim {

class DataCheck final : public wire::FrameObserver {
 public:
  using Bytes = std::vector<uint8_t>;

  explicit DataCheck(int end) : end_(end) {}

  // The peer may read and write it from now on.
  void add_memory(const Buffer& m);
  // Our program has written to it.
  void set_memory(const Buffer& m);
  // `room`: a longer datagram is dropped (UD); 0: none is.
  void add_queue(const Queue& q, uint32_t room = 0);
  // The peer of a UD queue.
  void set_peer(const Queue& q);
  void expect(uint32_t qpn, std::shared_ptr<const Bytes> bytes);
  // The next SEND of the peer, answer to a READ, answer to an ATOMIC, in order.
  std::optional<Bytes> next_received(uint32_t qpn);
  std::optional<Bytes> next_read(uint32_t qpn);
  std::optional<uint64_t> next_atomic(uint32_t qpn);
  // Compares all memory, forgets queues and memory.
  void finish();
  void forget();

  const std::vector<std::string>& problems() const { return problems_; }
  // Why the NIC refused a request of this QP ("REM_ACCESS_ERR"), empty: it did not.
  std::string refusal(uint32_t qpn) const;
  uint64_t bytes_checked() const { return bytes_checked_; }
  void problem(const std::string& text);
  void count_checked(uint64_t bytes) { bytes_checked_ += bytes; }

  void on_tx(const wire::FrameInfo& frame) override;
  void on_rx(const wire::FrameInfo& frame) override;

 private:
  struct Region {
    const Buffer* memory = nullptr;
    Bytes image;
  };
  // A READ or ATOMIC and its answer.
  struct Asked {
    uint32_t psn = 0, packets = 1;
    bool atomic = false;
    uint64_t va = 0;
    Bytes bytes;  // that have come
    uint64_t value = 0;
    bool done = false;
  };
  struct Arrived {
    uint32_t psn = 0;  // of its first packet
    Bytes bytes;
  };
  struct Stream {
    tools::Service service = tools::Service::kRc;
    uint32_t peer_qpn = 0, mtu = 1024, qkey = 0, room = 0;
    uint32_t out_psn = 0, in_psn = 0;  // next of each side's requests
    Bytes out, in;                     // messages under way
    uint32_t in_first = 0;             // PSN
    bool in_open = false;
    uint64_t write_va = 0;
    bool write_good = false;  // its key and extent
    std::deque<std::shared_ptr<const Bytes>> expected;
    std::deque<Arrived> received;
    std::deque<Asked> ours, theirs;
    std::string refusal;
  };

  Stream* by_peer(uint32_t peer_qpn);
  Region* region_at(uint64_t va, uint64_t length);
  void out_request(Stream& s, const roce::FrameView& v);
  void out_response(Stream& s, const roce::FrameView& v);
  void in_request(Stream& s, const roce::FrameView& v);
  void in_response(Stream& s, const roce::FrameView& v);
  void store(uint64_t va, std::span<const uint8_t> bytes);
  uint64_t apply_atomic(const roce::FrameView& v);

  int end_;
  std::map<uint32_t, Stream> streams_;  // by our QPN
  std::vector<Region> regions_;
  uint64_t bytes_checked_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace rnic::sim
