// SPDX-License-Identifier: Apache-2.0
// A recorded run of a software RoCEv2 stack, ready to be replayed: frames as the wire delivered
// them, parameters of both sides, memory before and after, completions (format:
// tests/captures/README.md).
//
//   CaptureFile file = CaptureFile::load("tests/captures/vt_imm_v4.json");
//   for (const CaptureRun& run : file.runs()) {
//     for (const CapturedFrame* f : run.delivered(Side::kServer)) nic.receive(f->bytes);
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/roce/frame.hpp"

namespace rnic::roce {

enum class Side : uint8_t { kClient, kServer };
constexpr Side other(Side s) { return s == Side::kClient ? Side::kServer : Side::kClient; }

struct SideParams {
  bool known = false;  // the run recorded them
  uint32_t qpn = 0;
  uint32_t psn = 0;  // first PSN of its requests
  MacAddr mac{};
  IpAddr ip{};
  uint16_t udp_port = 0;  // source port of its frames
  uint32_t pmtu = 1024;
  uint8_t timeout = 14, retry = 7, rnr_retry = 7, min_rnr_timer = 12;
  // Registered memory. When `exact` is false the run did not record its extent (or not even its
  // key, which is then that of the first request): it covers what the requests touch, in whole 4
  // KiB pages.
  bool has_region = false, exact = false, key_recorded = false;
  uint32_t rkey = 0;
  std::vector<uint32_t> other_rkeys{};  // not recorded: further keys that requests use
  uint64_t va = 0;
  uint64_t length = 0;
  // Receives: how many are posted, their size, and before which frame (index in the file; 0: before
  // the first).
  uint32_t receives = 0;
  uint32_t receive_bytes = 65536;
  uint32_t receives_posted_before = 0;
};

struct CapturedFrame {
  uint32_t index = 0;  // in the pcap file, from 0
  uint64_t time_ns = 0;
  Side from = Side::kClient;
  bool corrupted = false;  // delivered with the lowest bit of its last byte flipped
  bool other = false;      // of another QP pair than the run's parameters name (`only_qps`)
  std::vector<uint8_t> bytes;
};

// A line "RWC ..." of the server.
struct RecordedReceive {
  uint64_t wr_id = 0;
  int status = 0;  // ibv_wc_status: 0 success, 5 flushed, 9 remote invalid request
  int opcode = 0;  // 128 receive, 129 receive of a WRITE with immediate
  uint32_t byte_len = 0;
  std::optional<uint32_t> imm;
};
// A line "WC ..." of the client.
struct RecordedSend {
  std::string op;  // "write:5000"
  int status = 0;  // 0 success, 10 remote access error, 12 retries exceeded, 13 receiver not ready
                   // retries exceeded
  std::optional<uint64_t> read_fnv;
  std::optional<uint64_t> atomic_orig;
};

// What an application wrote into its memory before a frame reached it.
struct HostWrite {
  uint32_t before = 0;  // index of the frame
  uint64_t offset = 0;  // in its region
  std::vector<uint8_t> bytes;
};

class CaptureRun {
 public:
  std::string file;     // "vt_imm_v4.pcap"
  uint32_t number = 0;  // within its file, from 0
  std::string part;     // of one QP pair out of several
  std::string title;
  std::string client_command, server_command;
  Transport transport = Transport::kOther;  // of its requests
  bool from_vt = false;                     // exact memory is known
  bool lossy_before_capture = false;        // netem: frames were lost before the point of capture
  bool wire_times = false;  // recorded on the wire itself: what was answered depends on its times
  SideParams client, server;
  std::vector<RecordedReceive> receives;
  std::vector<RecordedSend> sends;
  std::optional<uint64_t> server_buffer_fnv, server_receive_fnv;

  const SideParams& side(Side s) const { return s == Side::kClient ? client : server; }
  std::string name() const {
    return file + " run " + std::to_string(number) + (part.empty() ? "" : " " + part);
  }

  // RC, and every request of either side is a WRITE with or without immediate.
  bool all_write() const { return transport == Transport::kRc && has_requests_ && only_writes_; }
  // Sends requests of its own.
  bool requester(Side s) const { return requests_[static_cast<size_t>(s)]; }

  // RoCEv2 frames that this side sent, in order, delivered or not.
  std::vector<const CapturedFrame*> sent_by(Side s) const;
  // RoCEv2 frames that reached this side, in the order of delivery, repeats and corruption
  // included.
  std::vector<const CapturedFrame*> delivered(Side to) const;
  // The same with those of other QPs.
  std::vector<const CapturedFrame*> arrived(Side to) const;
  // The same run with other parameters and only the frames between these two QPs.
  CaptureRun between(const SideParams& client, const SideParams& server) const;

  // This side asked for something again, as the other side saw it.
  bool repeats(Side s) const;

  // vt's buffer at the start, `exact` side only; zeros otherwise.
  std::vector<uint8_t> initial_memory(Side s) const;
  // The bytes that this side's READ responses and first ATOMIC answers showed are known to have
  // been there: so all of what a responder must answer is. False where answers were lost before
  // the point of capture or hang on the times of the wire.
  bool contents_known() const { return from_vt || (!lossy_before_capture && !wire_times); }
  // What the application there wrote for the READs and ATOMICs to find; nothing of a vt run, whose
  // memory is known.
  std::vector<HostWrite> host_writes(Side s) const;

 private:
  friend class CaptureFile;
  void learn(const CapturedFrame& f, const FrameView& v);
  void finish();

  std::vector<CapturedFrame> sent_;
  std::vector<CapturedFrame> delivered_;  // owns corrupted copies
  bool has_requests_ = false, only_writes_ = true;
  bool requests_[2] = {false, false};
  // By side: the memory that is asked for, the last RNR NAK.
  uint64_t low_[2] = {~uint64_t{0}, ~uint64_t{0}}, high_[2] = {0, 0};
  std::optional<uint32_t> last_rnr_[2];
};

class CaptureFile {
 public:
  // `json_path`; the pcap of the same name lies beside it. Throws std::runtime_error with file and
  // reason.
  static CaptureFile load(const std::string& json_path);
  const std::vector<CaptureRun>& runs() const { return runs_; }
  const std::string& title() const { return title_; }

 private:
  std::string title_;
  std::vector<CaptureRun> runs_;
};

// All .json captures of a folder, sorted by name.
std::vector<std::string> list_captures(const std::string& folder);

// FNV-1a, 64 bits, with the offset basis that the recording client used (1469598103934665603, one
// digit short of the usual one).
uint64_t capture_fnv64(std::span<const uint8_t> bytes);
// Byte i of a vt buffer before the run.
constexpr uint8_t vt_pattern(uint64_t i, Side s) {
  return static_cast<uint8_t>(i * 7 + (i >> 8) * 13 + (s == Side::kClient ? 0x01 : 0x80));
}
inline constexpr uint8_t kVtReceiveFill = 0xEE;

}  // namespace rnic::roce
