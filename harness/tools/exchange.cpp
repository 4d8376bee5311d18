// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/exchange.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/roce/bytes.hpp"

namespace rnic::tools {
namespace {

constexpr size_t kDoneBytes = 5, kVersionBytes = 16, kMtuBytes = 2, kReportBytes = 8;
constexpr uint32_t kPageBytes = 4096, kLineBytes = 64;
constexpr char kVersion[] = "6.06";  // of the protocol, not of a program

Bytes done() { return {'d', 'o', 'n', 'e', 0}; }

Bytes version() {
  Bytes b(kVersionBytes);
  std::memcpy(b.data(), kVersion, sizeof kVersion);
  return b;
}

// Minor versions differ in options only; the words of another major one are other words.
void check_version(const Bytes& theirs) {
  const std::string text(theirs.begin(), std::find(theirs.begin(), theirs.end(), 0));
  const bool readable = !text.empty() && std::all_of(text.begin(), text.end(),
                                                     [](uint8_t c) { return c > 32 && c < 127; });
  if (!readable) throw ExchangeError("the other side names no version of perftest's protocol");
  const std::string major = std::string(kVersion).substr(0, 2);  // with its point
  if (!text.starts_with(major))
    throw ExchangeError("the other side speaks perftest's protocol " + text + ", this is " +
                        kVersion);
}

Bytes be32(uint32_t v) {
  Bytes b(4);
  roce::store_be32(b.data(), v);
  return b;
}

Bytes be64(uint64_t v) {
  Bytes b(8);
  roce::store_be64(b.data(), v);
  return b;
}

Bytes mtu_text(uint32_t mtu) { return {static_cast<uint8_t>('0' + mtu_code(mtu)), 0}; }

// A text begins with a lower-case hexadecimal digit. No number of a report does: counts begin with
// 0, rates of this world with 0x3E to 0x42.
bool begins_keys(uint8_t first) {
  return (first >= '0' && first <= '9') || (first >= 'a' && first <= 'f');
}

size_t keys_bytes(const Channel& c) { return c.over_cm() ? kPerftestCmBytes : kPerftestBytes; }

std::optional<Keys> decode_keys(const Channel& c, const Bytes& bytes) {
  return c.over_cm() ? decode_perftest_cm(bytes) : decode_perftest(bytes);
}

uint32_t mtu_of(const Bytes& text) {
  if (text[0] < '1' || text[0] > '5') throw ExchangeError("the other side names no MTU");
  return mtu_bytes(static_cast<uint8_t>(text[0] - '0'));
}

// Until the other side has begun a word or ended its connection.
Task<void> word_or_end(Scheduler& s, Channel& c, std::string what) {
  co_await s.until(
      [&c] {
        c.pump();
        return !c.arrived().empty() || c.closed();
      },
      what);
}

}  // namespace

// ------------------------------------------------------------------------------------------------
// pingpong
Task<Keys> pingpong_server_read(Scheduler& s, Channel& c) {
  const Bytes got = co_await read_exactly(s, c, kPingpongBytes, "its QP");
  const std::optional<Keys> keys = decode_pingpong(got);
  if (!keys) throw ExchangeError("the other side sent no pingpong address");
  co_return *keys;
}

Task<void> pingpong_server_answer(Scheduler& s, Channel& c, Keys mine) {
  c.write(encode_pingpong(mine));
  const Bytes got = co_await read_exactly(s, c, kDoneBytes, "'done'");
  if (got != done()) throw ExchangeError("the other side did not say 'done'");
}

Task<Keys> pingpong_client(Scheduler& s, Channel& c, Keys mine) {
  c.write(encode_pingpong(mine));
  const Keys theirs = co_await pingpong_server_read(s, c);
  c.write(done());
  co_return theirs;
}

// ------------------------------------------------------------------------------------------------
// perftest
Task<uint32_t> hello_client(Scheduler& s, Channel& c, uint32_t mtu) {
  c.write(version());
  check_version(co_await read_exactly(s, c, kVersionBytes, "its version"));
  c.write(be32(kPageBytes));
  const Bytes page = co_await read_exactly(s, c, 4, "its page size");
  c.write(be32(kLineBytes));
  const Bytes line = co_await read_exactly(s, c, 4, "its cache line");
  c.write(mtu_text(mtu));
  const Bytes theirs = co_await read_exactly(s, c, kMtuBytes, "its MTU");
  co_return std::min(mtu, mtu_of(theirs));
}

Task<uint32_t> hello_server(Scheduler& s, Channel& c, uint32_t mtu) {
  check_version(co_await read_exactly(s, c, kVersionBytes, "its version"));
  c.write(version());
  const Bytes page = co_await read_exactly(s, c, 4, "its page size");
  c.write(be32(kPageBytes));
  const Bytes line = co_await read_exactly(s, c, 4, "its cache line");
  c.write(be32(kLineBytes));
  const Bytes theirs = co_await read_exactly(s, c, kMtuBytes, "its MTU");
  c.write(mtu_text(mtu));
  co_return std::min(mtu, mtu_of(theirs));
}

Waits waits_of(Kind kind, Verb verb) {
  const bool latency = kind == Kind::kLatency;
  // Receives must be there before the messages of each size.
  if (verb == Verb::kSend)
    return {.before = 1, .each_size = 1, .behind = latency ? 0u : 1u, .after = 1};
  if (!latency) return {};
  // The latency of WRITEs ends with the connection; a server of READs takes the next word for the
  // end.
  return {.before = 2, .after = verb == Verb::kWrite ? 0u : 1u};
}

Bytes encode_keys(const Channel& c, const Keys& keys) {
  return c.over_cm() ? encode_perftest_cm(keys) : encode_perftest(keys);
}

Task<Keys> swap_keys(Scheduler& s, Channel& c, Keys mine) {
  c.write(encode_keys(c, mine));
  const Bytes got = co_await read_exactly(s, c, keys_bytes(c), "its keys");
  const std::optional<Keys> keys = decode_keys(c, got);
  if (!keys) throw ExchangeError("the other side sent no perftest keys");
  co_return *keys;
}

Task<BandwidthReport> swap_reports(Scheduler& s, Channel& c, BandwidthReport mine) {
  const std::array<uint64_t, 5> values = {
      mine.size, mine.iterations, std::bit_cast<uint64_t>(mine.peak),
      std::bit_cast<uint64_t>(mine.average), std::bit_cast<uint64_t>(mine.message_rate)};
  std::array<uint64_t, 5> theirs{};
  for (size_t i = 0; i < values.size(); ++i) {
    c.write(be64(values[i]));
    const Bytes got = co_await read_exactly(s, c, kReportBytes, "its report");
    theirs[i] = roce::load_be64(got.data());
  }
  BandwidthReport r;
  r.size = theirs[0];
  r.iterations = theirs[1];
  r.peak = std::bit_cast<double>(theirs[2]);
  r.average = std::bit_cast<double>(theirs[3]);
  r.message_rate = std::bit_cast<double>(theirs[4]);
  co_return r;
}

Task<void> swap_done(Scheduler& s, Channel& c) {
  if (c.over_cm()) co_return;
  c.write(done());
  // perftest 25 says nothing and goes.
  co_await word_or_end(s, c, "'done'");
  if (c.arrived().empty()) co_return;
  const Bytes got = co_await read_exactly(s, c, kDoneBytes, "'done'");
  if (got != done()) throw ExchangeError("the other side did not say 'done'");
}

Task<Message> next_message(Scheduler& s, Channel& c) {
  Message m;
  co_await word_or_end(s, c, "the client's next word");
  if (c.arrived().empty()) co_return m;
  if (!c.over_cm() && c.arrived()[0] == 'd') {
    m.bytes = co_await read_exactly(s, c, kDoneBytes, "'done'");
    if (m.bytes != done()) throw ExchangeError("the client sent neither keys, report nor 'done'");
    m.what = Message::What::kDone;
    co_return m;
  }
  if (c.over_cm() ? c.arrived().size() == kReportBytes : !begins_keys(c.arrived()[0])) {
    m.bytes = co_await read_exactly(s, c, kReportBytes, "its report");
    m.what = Message::What::kReport;
    co_return m;
  }
  m.bytes = co_await read_exactly(s, c, keys_bytes(c), "its keys");
  const std::optional<Keys> keys = decode_keys(c, m.bytes);
  if (!keys) throw ExchangeError("the client sent no perftest keys");
  m.keys = *keys;
  m.what = Message::What::kKeys;
  co_return m;
}

}  // namespace rnic::tools
