// SPDX-License-Identifier: Apache-2.0
#include "harness/golden/program.hpp"

#include <algorithm>
#include <numeric>

#include "harness/mem/random.hpp"
#include "harness/roce/bytes.hpp"

namespace rnic::golden {

const char* to_string(Ending e) {
  switch (e) {
    case Ending::kGood:
      return "good";
    case Ending::kUnknownKey:
      return "unknown key";
    case Ending::kOutOfBounds:
      return "out of bounds";
    case Ending::kNoWritePermit:
      return "no write permission";
    case Ending::kNoReadPermit:
      return "no read permission";
    case Ending::kNoAtomicPermit:
      return "no atomic permission";
    case Ending::kMisalignedAtomic:
      return "misaligned atomic";
    case Ending::kSendTooLong:
      return "send too long";
    case Ending::kBadReceiveKey:
      return "bad receive key";
    case Ending::kLocalKey:
      return "local key";
  }
  return "?";
}

std::string describe(const ProgramSend& s) {
  std::string t = std::string(to_string(s.verb)) + " " + std::to_string(s.bytes()) + " B in " +
                  std::to_string(s.pieces.size()) + " pieces";
  if (!s.inline_data.empty()) t += ", inline";
  if (!s.signaled) t += ", unsignaled";
  if (s.fence) t += ", fence";
  if (s.wrong != Ending::kGood) t += std::string(", wrong: ") + to_string(s.wrong);
  return t;
}

namespace {

constexpr uint32_t kUdHeader = 40;

// What a transport cannot do is not asked for.
ProgramConfig restricted(ProgramConfig c) {
  const auto no = [&](std::initializer_list<Verb> verbs) {
    for (const Verb v : verbs) c.weights[static_cast<size_t>(v)] = 0;
  };
  if (c.transport != roce::Transport::kRc)
    no({Verb::kSendInv, Verb::kRead, Verb::kCompareSwap, Verb::kFetchAdd, Verb::kLocalInv});
  if (c.transport == roce::Transport::kUd) {
    no({Verb::kWrite, Verb::kWriteImm});
    c.max_bytes = std::min(c.max_bytes, c.pmtu);
  }
  return c;
}

class Maker {
 public:
  explicit Maker(const ProgramConfig& config)
      : c_(restricted(config)), random_(mem::substream(config.seed, "program")) {
    p_.config = c_;
    source_bytes_ = c_.max_bytes + 4096;
    target_bytes_ = c_.max_bytes + 4096;
    for (SideProgram& s : p_.side) {
      s.initial.resize(source_bytes_ + target_bytes_);
      fill(s.initial, 0);
      s.expected = s.initial;
    }
  }

  Program make() {
    for (size_t from = 0; from < (c_.both_ways ? 2u : 1u); ++from) {
      begin_side(from);
      for (uint32_t i = 0; i < c_.requests; ++i) add(i);
    }
    if (c_.ending != Ending::kGood) end_badly();
    return std::move(p_);
  }

 private:
  uint32_t below(uint64_t n) { return static_cast<uint32_t>(random_.below(n)); }

  void fill(std::vector<uint8_t>& bytes, size_t from) {
    for (size_t i = from; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(random_.next());
  }

  void begin_side(size_t from) {
    from_ = from;
    open_reads_.clear();
    landed_.clear();
    quiet_ = 0;
    spare_used_ = {0, 0};
  }

  SideProgram& self() { return p_.side[from_]; }
  SideProgram& peer() { return p_.side[1 - from_]; }

  // New bytes in the landing part of a side, now and then with a gap that must stay as it is.
  uint32_t land(SideProgram& s, uint32_t length) {
    const size_t at = s.initial.size() + below(20);
    const size_t before = s.initial.size();
    s.initial.resize(at + length);
    fill(s.initial, before);
    s.expected.insert(s.expected.end(), s.initial.begin() + static_cast<std::ptrdiff_t>(before),
                      s.initial.end());
    return static_cast<uint32_t>(at);
  }

  uint32_t length() {
    uint32_t n;
    if (random_.chance(c_.large)) {
      n = below(uint64_t{c_.max_bytes} + 1);
    } else {
      switch (below(7)) {
        case 0:
          n = 0;
          break;
        case 1:
          n = 1 + below(16);
          break;
        case 2:  // around whole MTUs
          n = c_.pmtu * (1 + below(3)) + below(3) - 1;
          break;
        case 3:  // around whole beats, and what the first packet's headers leave of one
          n = c_.beat_bytes * (1 + below(8)) + below(3) - 1;
          break;
        case 4:
          n = 1 + below(c_.pmtu);
          break;
        case 5:
          n = 1 + below(4u * c_.pmtu);
          break;
        default:
          n = 1 + below(256);
      }
    }
    return std::min(n, c_.max_bytes);
  }

  // Cuts a length into pieces; `place` gives the offset of each.
  template <typename F>
  std::vector<Piece> cut(uint32_t length, uint32_t max_pieces, F&& place) {
    std::vector<Piece> out;
    const uint32_t count = length == 0 ? 0 : 1 + below(std::min(max_pieces, length));
    uint32_t left = length;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t rest = count - 1 - i;
      const uint32_t n = rest == 0 ? left : 1 + below(left - rest);
      out.push_back({place(n), n});
      left -= n;
    }
    return out;
  }

  std::vector<uint8_t> gather(const SideProgram& s, const std::vector<Piece>& pieces) {
    std::vector<uint8_t> out;
    for (const Piece& p : pieces)
      out.insert(out.end(), s.expected.begin() + p.offset,
                 s.expected.begin() + p.offset + p.length);
    return out;
  }
  static void scatter(SideProgram& s, const std::vector<Piece>& pieces,
                      const std::vector<uint8_t>& bytes) {
    size_t at = 0;
    for (const Piece& p : pieces) {
      const size_t n = std::min<size_t>(p.length, bytes.size() - at);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), n,
                  s.expected.begin() + p.offset);
      at += n;
    }
  }

  Verb verb() {
    std::array<uint32_t, 10> w = c_.weights;
    // Half of the spares are for the peer's SENDs, half for local use.
    if (spare_used_[0] >= c_.spares / 2) w[static_cast<size_t>(Verb::kSendInv)] = 0;
    if (spare_used_[1] >= c_.spares / 2) w[static_cast<size_t>(Verb::kLocalInv)] = 0;
    const uint32_t total = std::accumulate(w.begin(), w.end(), 0u);
    uint32_t at = total == 0 ? 0 : below(total);
    for (size_t i = 0; i < w.size(); ++i) {
      if (at < w[i]) return static_cast<Verb>(i);
      at -= w[i];
    }
    return Verb::kNop;
  }

  // A part of the peer's target that this request touches: does it meet an answer under way?
  bool meets_open_read(uint32_t offset, uint32_t n) const {
    return std::any_of(open_reads_.begin(), open_reads_.end(), [&](const Piece& r) {
      return offset < r.offset + r.length && r.offset < offset + n;
    });
  }

  void add_source(ProgramSend& s, uint32_t n) {
    if (!landed_.empty() && n != 0 && random_.chance(c_.reuse)) {
      // What an earlier READ brought; it must have come.
      const Piece from = landed_[below(landed_.size())];
      s.pieces = {{from.offset, std::min(n, from.length)}};
      s.fence = true;
      return;
    }
    if (n != 0 && n <= c_.max_inline && random_.chance(0.5)) {
      s.inline_data.resize(n);
      fill(s.inline_data, 0);
      return;
    }
    s.pieces = cut(n, c_.max_sge, [&](uint32_t m) { return below(source_bytes_ - m + 1); });
  }

  std::vector<uint8_t> source_of(const ProgramSend& s) {
    return s.inline_data.empty() ? gather(self(), s.pieces) : s.inline_data;
  }

  // The receive of the peer that a request takes.
  ProgramRecv receive(uint32_t room) {
    const uint32_t pieces = c_.max_recv_sge - (c_.transport == roce::Transport::kUd ? 1 : 0);
    return {.pieces = cut(room, pieces, [&](uint32_t m) { return land(peer(), m); })};
  }

  void add(uint32_t index) {
    ProgramSend s;
    s.verb = verb();
    s.fence = random_.chance(c_.fence);
    const bool last = index + 1 == c_.requests;
    s.signaled = last || quiet_ >= c_.max_unsignaled || !random_.chance(c_.unsignaled);
    const uint32_t number = static_cast<uint32_t>(peer().recvs.size());
    const uint32_t n = length();
    const auto target = [&](uint32_t bytes) {
      return source_bytes_ + below(target_bytes_ - bytes + 1);
    };
    switch (s.verb) {
      case Verb::kNop:
        break;
      case Verb::kLocalInv:
        s.spare = c_.spares / 2 + spare_used_[1]++;
        break;
      case Verb::kSend:
      case Verb::kSendImm:
      case Verb::kSendInv: {
        add_source(s, n);
        s.solicited = random_.chance(c_.solicited);
        if (s.verb == Verb::kSendImm) s.imm = static_cast<uint32_t>(random_.next());
        if (s.verb == Verb::kSendInv) s.spare = spare_used_[0]++;
        const uint32_t bytes = s.bytes();
        const bool ud = c_.transport == roce::Transport::kUd;
        ProgramRecv r = receive(random_.chance(0.5) ? bytes : bytes + below(100));
        scatter(peer(), r.pieces, source_of(s));
        if (ud) {
          const Piece header = {land(peer(), kUdHeader), kUdHeader};
          r.pieces.insert(r.pieces.begin(), header);
          peer().unknown.push_back(header);
        }
        peer().recvs.push_back(r);
        peer().recv_done.push_back({.wr_id = number,
                                    .receive = true,
                                    .verb = s.verb,
                                    .bytes = ud ? bytes + kUdHeader : bytes,
                                    .imm = s.imm,
                                    .inv_key = s.spare,
                                    .solicited = s.solicited});
        break;
      }
      case Verb::kWrite:
      case Verb::kWriteImm: {
        add_source(s, n);
        const uint32_t bytes = s.bytes();
        s.remote_offset = target(bytes);
        if (meets_open_read(s.remote_offset, bytes)) s.fence = true;
        const auto data = source_of(s);
        std::copy(data.begin(), data.end(), peer().expected.begin() + s.remote_offset);
        if (s.verb == Verb::kWriteImm) {
          s.imm = static_cast<uint32_t>(random_.next());
          s.solicited = random_.chance(c_.solicited);
          peer().recvs.push_back(receive(random_.chance(0.5) ? 0 : below(64)));
          peer().recv_done.push_back({.wr_id = number,
                                      .receive = true,
                                      .verb = s.verb,
                                      .bytes = bytes,
                                      .imm = s.imm,
                                      .solicited = s.solicited});
        }
        break;
      }
      case Verb::kRead: {
        s.remote_offset = random_.chance(0.3) ? below(source_bytes_ - n + 1) : target(n);
        s.pieces = cut(n, c_.max_sge, [&](uint32_t m) { return land(self(), m); });
        const std::vector<uint8_t> data(peer().expected.begin() + s.remote_offset,
                                        peer().expected.begin() + s.remote_offset + n);
        scatter(self(), s.pieces, data);
        break;
      }
      case Verb::kCompareSwap:
      case Verb::kFetchAdd: {
        // A few words, so that they meet.
        s.remote_offset = (source_bytes_ + 7) / 8 * 8 + 8 * below(16);
        s.pieces = {{land(self(), 8), 8}};
        if (meets_open_read(s.remote_offset, 8)) s.fence = true;
        uint8_t* word = peer().expected.data() + s.remote_offset;
        const uint64_t original = roce::load_le64(word);
        s.swap_add = random_.next();
        s.compare = random_.chance(0.6) ? original : random_.next();
        std::vector<uint8_t> result(8);
        roce::store_le64(result.data(), original);
        scatter(self(), s.pieces, result);
        if (s.verb == Verb::kFetchAdd) {
          s.compare = 0;
          roce::store_le64(word, original + s.swap_add);
        } else if (original == s.compare) {
          roce::store_le64(word, s.swap_add);
        }
        break;
      }
    }
    if (s.fence) open_reads_.clear();
    if (is_read_or_atomic(s.verb)) {
      open_reads_.push_back({s.remote_offset, s.bytes()});
      for (const Piece& piece : s.pieces) landed_.push_back(piece);
    }
    quiet_ = s.signaled ? 0 : quiet_ + 1;
    if (s.signaled) {
      self().send_done.push_back({.wr_id = index, .verb = s.verb, .bytes = s.bytes()});
    }
    self().sends.push_back(std::move(s));
  }

  // The request that fails, and what is flushed behind it.
  void end_badly() {
    from_ = 0;
    ProgramSend s;
    s.wrong = c_.ending;
    s.verb = Verb::kWrite;
    Status status = Status::kRemoteAccess;
    const uint32_t n = 1 + below(3u * c_.pmtu);
    s.pieces = {{below(source_bytes_ - n + 1), n}};
    s.remote_offset = source_bytes_;
    Status receive_status = Status::kFlushed;
    bool takes = false;
    switch (c_.ending) {
      case Ending::kOutOfBounds:
        s.remote_offset = 0;  // the runner aims at the end of the region
        break;
      case Ending::kNoReadPermit:
        s.verb = Verb::kRead;
        s.pieces = {{land(self(), n), n}};
        break;
      case Ending::kNoAtomicPermit:
        s.verb = Verb::kFetchAdd;
        s.pieces = {{land(self(), 8), 8}};
        s.remote_offset = 0;
        break;
      case Ending::kMisalignedAtomic:
        s.verb = Verb::kCompareSwap;
        s.pieces = {{land(self(), 8), 8}};
        s.remote_offset = (source_bytes_ + 7) / 8 * 8 + 4;
        status = Status::kRemoteInvalid;
        break;
      case Ending::kSendTooLong:
      case Ending::kBadReceiveKey: {
        s.verb = Verb::kSend;
        takes = true;
        const bool short_one = c_.ending == Ending::kSendTooLong;
        ProgramRecv r = receive(short_one ? n - 1 : n);
        r.bad_key = !short_one;
        peer().recvs.push_back(r);
        if (short_one) peer().unknown = r.pieces;
        status = short_one ? Status::kRemoteInvalid : Status::kRemoteOperation;
        receive_status = short_one ? Status::kLocalLength : Status::kLocalProtection;
        break;
      }
      case Ending::kLocalKey:
        status = Status::kLocalProtection;
        break;
      default:
        break;
    }
    self().send_done.push_back({.wr_id = self().sends.size(), .status = status, .verb = s.verb});
    self().sends.push_back(s);
    if (takes) {
      peer().recv_done.push_back(
          {.wr_id = peer().recvs.size() - 1, .receive = true, .status = receive_status});
    }
    for (uint32_t i = 0; i < c_.flushed; ++i) {
      ProgramSend f;
      f.verb = i % 2 == 0 ? Verb::kWrite : Verb::kSend;
      f.pieces = {{0, 1 + below(c_.pmtu)}};
      f.remote_offset = source_bytes_;
      f.signaled = i % 3 != 1;  // reported all the same
      self().send_done.push_back(
          {.wr_id = self().sends.size(), .status = Status::kFlushed, .verb = f.verb});
      self().sends.push_back(f);
    }
    // Receives that wait at both sides; a local error does not reach the peer.
    for (size_t side = 0; side < 2; ++side) {
      SideProgram& w = p_.side[side];
      const bool told = side == 0 || c_.ending != Ending::kLocalKey;
      for (int i = 0; i < 2; ++i) {
        if (told) {
          w.recv_done.push_back(
              {.wr_id = w.recvs.size(), .receive = true, .status = Status::kFlushed});
        }
        w.recvs.push_back({.pieces = {{land(w, 16), 16}}});
      }
    }
  }

  ProgramConfig c_;
  mem::Random random_;
  Program p_;
  size_t from_ = 0;
  uint32_t source_bytes_ = 0, target_bytes_ = 0;
  std::vector<Piece> open_reads_;  // of the peer's target: answers that may still be asked for
  std::vector<Piece> landed_;
  uint32_t quiet_ = 0;
  std::array<uint32_t, 2> spare_used_{};
};

}  // namespace

Program make_program(const ProgramConfig& config) { return Maker(config).make(); }

}  // namespace rnic::golden
