// SPDX-License-Identifier: Apache-2.0
// What perftest and rping say over QPs that rdma_cm connects, against the recordings.
#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <string>

#include "harness/pcap/pcap.hpp"
#include "harness/roce/bytes.hpp"
#include "harness/roce/frame.hpp"
#include "harness/tools/exchange.hpp"
#include "harness/tools/rping.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::tools;
namespace roce = rnic::roce;

namespace {

struct Said {
  bool by_client = false;
  Bytes bytes;
};

// Messages of one packet of this kind, between the QPs that exchanged the first one.
std::vector<Said> recorded(const std::string& file, roce::MsgKind kind) {
  rnic::pcap::PcapReader in(std::string(RNIC_SOURCE_DIR) + "/tests/captures/" + file + ".pcap");
  rnic::pcap::PcapPacket p;
  std::vector<Said> out;
  while (in.next(p)) {
    roce::FrameView v;
    if (roce::parse_frame(p.bytes, v) != roce::ParseStatus::kOk) continue;
    if (v.info().transport != roce::Transport::kRc || v.info().kind != kind) continue;
    out.push_back({v.eth_src[5] == 1, Bytes(v.payload().begin(), v.payload().end())});
  }
  REQUIRE(!out.empty());
  return out;
}

// Gives the recorded messages of one side, each when the one before it was answered; keeps what
// the other side says.
class Recording final : public Channel {
 public:
  Recording(const std::vector<Said>& all, bool client_speaks) {
    for (const Said& s : all) {
      if (s.by_client == client_speaks) next_.push_back(s.bytes);
    }
    if (client_speaks) pending_ = 1;
  }
  void write(std::span<const uint8_t> bytes) override {
    said.emplace_back(bytes.begin(), bytes.end());
    ++pending_;
  }
  void pump() override {
    for (; pending_ > 0 && !next_.empty(); --pending_) {
      arrived_.insert(arrived_.end(), next_.front().begin(), next_.front().end());
      next_.pop_front();
    }
  }
  bool closed() const override { return next_.empty() && arrived_.empty(); }
  void close() override {}
  bool over_cm() const override { return true; }
  std::vector<Bytes> said;

 private:
  std::deque<Bytes> next_;
  unsigned pending_ = 0;
};

std::vector<Bytes> words_of(const std::vector<Said>& all, bool client) {
  std::vector<Bytes> out;
  for (const Said& s : all) {
    if (s.by_client == client) out.push_back(s.bytes);
  }
  return out;
}

void run_all(Scheduler& s) {
  for (int i = 0; i < 1'000 && !s.idle(); ++i) s.run_ready();
}

// The hole of the structure holds whatever lay there.
Bytes without_hole(Bytes b) {
  if (b.size() == kPerftestCmBytes) std::fill(b.begin() + 20, b.begin() + 24, uint8_t{0});
  return b;
}

}  // namespace

TEST_CASE("keys of the recording are read and written byte for byte") {
  size_t keys = 0;
  for (const Said& s : recorded("read_bw_cm_v4", roce::MsgKind::kSend)) {
    if (s.bytes.size() != kPerftestCmBytes) continue;
    const auto k = decode_perftest_cm(s.bytes);
    REQUIRE(k);
    CHECK(encode_perftest_cm(*k) == without_hole(s.bytes));
    if (k->qpn == 0) continue;  // a wait before there are QPs
    ++keys;
    CHECK(k->out_reads == 128);
    CHECK(k->gid == roce::ipv4_address(10, 77, 0, s.by_client ? 1 : 2));
    CHECK(k->gid_index == 1);
    CHECK(k->rkey != 0);
  }
  CHECK(keys == 10);
  CHECK_FALSE(decode_perftest_cm(Bytes(55)));
}

TEST_CASE("as a client over rdma_cm we say what the recorded client said") {
  const auto all = recorded("read_bw_cm_v4", roce::MsgKind::kSend);
  const std::vector<Bytes> client = words_of(all, true);
  const Keys mine = decode_perftest_cm(client.at(6)).value();
  BandwidthReport report;
  report.size = roce::load_be64(client.at(10).data());
  report.iterations = roce::load_be64(client.at(11).data());
  report.peak = std::bit_cast<double>(roce::load_be64(client.at(12).data()));
  report.average = std::bit_cast<double>(roce::load_be64(client.at(13).data()));
  report.message_rate = std::bit_cast<double>(roce::load_be64(client.at(14).data()));
  Recording channel(all, false);
  Scheduler s;
  const auto program = [](Scheduler& sched, Channel& c, Keys k, BandwidthReport r) -> Task<void> {
    const uint32_t mtu = co_await hello_client(sched, c, 4096);
    CHECK(mtu == 4096);
    Keys nothing;
    nothing.out_reads = 0;
    for (int i = 0; i < 2; ++i) (void)co_await swap_keys(sched, c, nothing);
    const Waits w = waits_of(Kind::kBandwidth, Verb::kRead);
    for (unsigned i = 0; i < 2 + w.before + w.after; ++i) {
      const Keys t = co_await swap_keys(sched, c, k);
      CHECK(t.gid == roce::ipv4_address(10, 77, 0, 2));
    }
    (void)co_await swap_reports(sched, c, r);
    (void)co_await swap_keys(sched, c, k);
    co_await swap_done(sched, c);
  };
  const auto h = s.spawn(program(s, channel, mine, report));
  run_all(s);
  REQUIRE(h.done());
  h.check();
  REQUIRE(channel.said.size() == client.size());
  for (size_t i = 0; i < client.size(); ++i) {
    INFO("message " << i);
    CHECK(channel.said[i] == without_hole(client[i]));
  }
}

TEST_CASE("as a server over rdma_cm we understand every word of the recorded client") {
  Recording channel(recorded("read_bw_cm_v4", roce::MsgKind::kSend), true);
  Scheduler s;
  std::map<Message::What, int> count;
  const auto program = [](Scheduler& sched, Channel& c,
                          std::map<Message::What, int>& seen) -> Task<void> {
    (void)co_await hello_server(sched, c, 4096);
    for (;;) {
      const Message m = co_await next_message(sched, c);
      ++seen[m.what];
      if (m.what == Message::What::kClosed) co_return;
      c.write(m.bytes);
    }
  };
  const auto h = s.spawn(program(s, channel, count));
  run_all(s);
  REQUIRE(h.done());
  h.check();
  CHECK(count[Message::What::kKeys] == 2 + 2 + 1 + 1 + 1);
  CHECK(count[Message::What::kReport] == 5);
  CHECK(count[Message::What::kDone] == 0);
}

TEST_CASE("pings are those of the recorded client, and say where they lie") {
  const auto pings = recorded("rping_v4", roce::MsgKind::kReadResponse);
  REQUIRE(pings.size() == 3);
  for (size_t n = 0; n < pings.size(); ++n) CHECK(rping_data(n, 200) == pings[n].bytes);
  size_t infos = 0;
  for (const Said& s : recorded("rping_v4", roce::MsgKind::kSend)) {
    const auto info = decode_rping(s.bytes);
    REQUIRE(info);
    CHECK(encode_rping(*info) == s.bytes);
    if (!s.by_client) continue;
    CHECK(info->size == 200);
    CHECK(info->rkey != 0);
    ++infos;
  }
  CHECK(infos == 6);
  CHECK_FALSE(decode_rping(Bytes(15)));
}

TEST_CASE("letters of a ping go around, and the smallest has room for its head") {
  CHECK(rping_data(58, 100)[14] == 'A');  // "rdma-ping-58: ", 58 letters on
  const Bytes small = rping_data(2'147'483'647, kRpingMinBytes);
  CHECK(small.back() == 0);
  CHECK(std::string(small.begin(), small.begin() + 22) == "rdma-ping-2147483647: ");
}

TEST_CASE("command lines of rping and of perftest over rdma_cm") {
  const Options client = parse_command("rping -c -a fd77::10 -C 3 -S 200 -v");
  CHECK(client.client());
  CHECK(client.kind == Kind::kRping);
  CHECK(client.host == "fd77::10");
  CHECK(client.port == 7174);
  CHECK(client.count == 3);
  CHECK(client.size == 200);
  CHECK(client.cm);
  const Options server = parse_command("rping -s -a 10.77.0.9 -p 99");
  CHECK(server.server());
  CHECK(server.port == 99);
  CHECK(parse_command("ib_write_bw -R").cm);
  CHECK_FALSE(parse_command("ib_write_bw").cm);
  for (const char* bad : {"rping", "rping -s -c -a 10.0.0.1", "rping -c -C 3",
                          "rping -c -a 10.0.0.1", "rping -s -S 25", "rping -s -S 65536",
                          "rping -s -P", "rping -s host", "ib_write_bw -R -c UC"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_command(bad), ToolError);
  }
}
