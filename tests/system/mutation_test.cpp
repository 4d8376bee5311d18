// SPDX-License-Identifier: Apache-2.0
// Requests that are nearly right, into the RTL: the golden endpoint gets the same frames, and both
// must give the same answers and end with the same memory. Nothing else is touched, nothing hangs.
#include "harness/golden/mutator.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "harness/golden/nic.hpp"
#include "harness/roce/aeth.hpp"
#include "tests/support/soak.hpp"
#include "tests/system/verbs_bed.hpp"

using namespace rnic;
using namespace rnic::test;
using roce::FrameView;

namespace {

constexpr uint32_t kBytes = 16384, kReceiveBytes = 3000;
constexpr uint32_t kPsn = 0xFFFFF0, kPeerQpn = 0x12;
constexpr sim::TimePs kGrain = 200'000;

// What the receiver said, as far as it does not hang on timing. A report of a gap that waits behind
// earlier answers may be overtaken by the missing packet; then it is not sent. Repeated answers may
// come earlier or later than others, with the MSN of their time.
struct Answers {
  // Acknowledged through, without and with what gap reports say.
  std::optional<uint32_t> least, most;
  std::vector<std::pair<uint32_t, uint8_t>> naks;  // others than of gaps
  // READ and ATOMIC answers. A repeated request whose first answer is still under way may go
  // without.
  std::set<std::string> data;
  std::set<uint32_t> gaps;  // PSNs of sequence NAKs
  void add(const FrameView& v) {
    if (v.opcode == roce::kRcAcknowledge) {
      if (v.syndrome == 0x60) {
        gaps.insert(v.psn);
        acked(roce::psn_sub(v.psn, 1), most);
        return;
      }
      const roce::AethKind kind = roce::aeth_kind(v.syndrome);
      if (kind != roce::AethKind::kAck) naks.push_back({v.psn, v.syndrome});
      const uint32_t through = kind == roce::AethKind::kAck ? v.psn : roce::psn_sub(v.psn, 1);
      acked(through, least);
      acked(through, most);
      return;
    }
    uint64_t hash = v.atomic_orig;
    for (const uint8_t b : v.payload()) hash = hash * 1099511628211ull + b + 1;
    char text[96];
    std::snprintf(text, sizeof text, "%02x PSN %06x %u B %016llx", v.opcode, v.psn, v.payload_len,
                  static_cast<unsigned long long>(hash));
    data.insert(text);
    // MIDDLE has no AETH, and LAST tells more.
    acked(v.psn, least);
    acked(v.psn, most);
  }
  // "" when `rtl` says the same. A gap report that was not sent acknowledged nothing.
  std::string difference(const Answers& rtl) const {
    char text[160];
    if (rtl.naks != naks) {
      std::string t = "NAKs:";
      for (const auto* list : {&rtl.naks, &naks}) {
        for (const auto& [psn, syndrome] : *list) {
          std::snprintf(text, sizeof text, " %02x at %06x", syndrome, psn);
          t += text;
        }
        if (list == &rtl.naks) t += ", expected";
      }
      return t;
    }
    const auto ahead = [](const std::optional<uint32_t>& a, const std::optional<uint32_t>& b) {
      return a && (!b || roce::psn_diff(*a, *b) > 0);
    };
    if (ahead(least, rtl.most) || ahead(rtl.most, most)) {
      std::snprintf(text, sizeof text, "acknowledged through %06x, expected %06x to %06x",
                    rtl.most.value_or(0), least.value_or(0), most.value_or(0));
      return text;
    }
    return "";
  }

 private:
  void acked(uint32_t psn, std::optional<uint32_t>& through) {
    if (!through || roce::psn_diff(psn, *through) > 0) through = psn;
  }
};

class Twin {
 public:
  Twin(uint32_t mtu, uint64_t seed) : mtu_(mtu), gold_(golden_config()) {
    sim::NodeConfig c;
    c.name = "rtl";
    c.nic.data_w = test_width();
    c.nic.wave_file = views_.next();
    c.nic.seed = seed;
    c.dma.layout = mem::Layout::kScattered;
    c.dma.seed = seed;
    node_ = &world_.add_node(c);
    link_ = &world_.open_end(
        *node_, {.rate_bps = test_rate(), .delay_ps = kGrain},
        [this](sim::TimePs now) { far_end(now); }, kGrain);
    world_.power_on();
    host_ = std::make_unique<sim::Host>(world_, *node_, sim::HostConfig{.id = 1});
    host_->start(2);
    region_ = &host_->region(sim::Place::kHost, kBytes, 40);
    receive_ = &host_->region(sim::Place::kHost, kReceiveBytes, 3);
    memory_ = std::make_unique<mem::MemoryChecker>(node_->memory(), "host memory of the RTL");
    qp_ = &host_->create_qp({.log_sq = 6, .log_rq = 8, .log_cq = 10, .sq = {}});
    neighbour_ = &host_->create_qp({.log_sq = 6, .log_rq = 6, .log_cq = 10, .sq = {}});
    connect(*qp_, kPeerQpn, kPsn);
    connect(*neighbour_, kPeerQpn + 1, 77);

    golden::QpConfig g;
    g.qpn = qp_->number();
    g.dest_qpn = kPeerQpn;
    g.dest_ip = roce::ipv4_address(192, 168, 0, 2);
    g.pmtu = mtu;
    g.rq_psn = kPsn;
    g.min_rnr_timer = 1;
    g.rq_depth = 256;
    gold_.create_qp(g);
    gold_.memory().add(
        {.key = region_->key, .pd = 1, .va = region_->va, .length = kBytes, .at = region_->va});
    gold_.memory().add({.key = receive_->key,
                        .pd = 1,
                        .va = receive_->va,
                        .length = kReceiveBytes,
                        .at = receive_->va});
    watch();
    post(16);
  }

  golden::StreamConfig stream() const {
    golden::StreamConfig s;
    s.base.eth_dst = {2, 0, 0, 0, 0, 1};
    s.base.eth_src = {2, 0, 0, 0, 0, 2};
    s.base.ip_src = roce::ipv4_address(192, 168, 0, 2);
    s.base.ip_dst = roce::ipv4_address(192, 168, 0, 1);
    s.base.dest_qp = qp_->number();
    s.base.psn = kPsn;
    s.pmtu = mtu_;
    s.region = {region_->key, region_->va, kBytes};
    s.max_bytes = 3200;
    return s;
  }

  void post(uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
      const std::vector<golden::Sge> list = {{receive_->key, 1000, receive_->va},
                                             {receive_->key, 2000, receive_->va + 1000}};
      gold_.post_recv(0, {.wr_id = next_wr_++, .sges = list});
      qp_->qp->post_receive(
          {{list[0].lkey, list[0].length, list[0].va}, {list[1].lkey, list[1].length, list[1].va}});
    }
    qp_->qp->ring_receives();
    settle(2'000'000);
  }

  void feed(std::vector<uint8_t> frame) {
    if (frame.size() < roce::kMinFrame) frame.resize(roce::kMinFrame);
    std::vector<uint8_t> f;
    FrameView v;
    // A packet that is not whole words, or longer than the longest path MTU, is malformed and
    // dropped for the RTL; the golden endpoint takes it for a request with a wrong length.
    const roce::ParseStatus parsed = roce::parse_frame(frame, v);
    const bool known = parsed == roce::ParseStatus::kOk;
    const bool roce_packet = known || parsed == roce::ParseStatus::kUnknownOpcode;
    constexpr uint32_t kUdpBthIcrc = 8 + 12 + 4;
    const bool whole = !roce_packet || (v.udp_length % 4 == 0 &&
                                        v.udp_length <= kUdpBthIcrc + v.info().ext_bytes + 4096u);
    if (v.dest_qp == neighbour_->number()) return;  // it would be right to take it
    if (whole) gold_.receive(0, frame);
    while (gold_.transmit(0, f)) {
      REQUIRE(roce::parse_frame(f, v) == roce::ParseStatus::kOk);
      want_.add(v);
    }
    due_.push_back(std::move(frame));
  }

  // Lets the RTL catch up, then compares everything.
  void compare() {
    world_.run_while([&] { return !due_.empty(); }, 100'000'000, "the wire");
    settle(8'000'000);
    const std::string d = want_.difference(got_);
    REQUIRE(d == "");
    REQUIRE(got_.data == want_.data);
    REQUIRE(
        std::includes(want_.gaps.begin(), want_.gaps.end(), got_.gaps.begin(), got_.gaps.end()));
    golden_done_ += take_golden();
    while (auto c = qp_->cq->poll()) {
      qp_->cq->update();
      ++rtl_done_;
    }
    REQUIRE(rtl_done_ == golden_done_);
    std::vector<uint8_t> a(kBytes), b(kBytes), c(kReceiveBytes), e(kReceiveBytes);
    region_->buffer.read(0, a.data(), a.size());
    gold_.memory().bytes().read(region_->va, b.data(), b.size());
    receive_->buffer.read(0, c.data(), c.size());
    gold_.memory().bytes().read(receive_->va, e.data(), e.size());
    REQUIRE(a == b);
    REQUIRE(c == e);
  }
  bool failed() const { return gold_.state(0) == golden::State::kErr; }
  void restart() {
    REQUIRE(host_->nic().query_qp(qp_->number()).state == RNIC_QP_STATE_ERR);
    host_->nic().modify_state(*qp_->qp, RNIC_QP_STATE_RESET);
    connect(*qp_, kPeerQpn, kPsn);
    gold_.set_state(0, golden::State::kReset);
    gold_.set_state(0, golden::State::kRts);
    want_ = got_ = {};
    post(16);
  }
  void finish() {
    while (auto e = host_->events().poll()) host_->events().update();
    if (auto d = memory_->compare()) FAIL_CHECK(d->to_string());
    CHECK(host_->nic().query_qp(neighbour_->number()).epsn == 77);
    CHECK(host_->nic().query_qp(neighbour_->number()).state == RNIC_QP_STATE_RTS);
  }
  golden::Responder::Progress progress() const { return gold_.responder(0).progress(); }
  size_t receives() const { return gold_.responder(0).posted(); }

 private:
  static golden::NicConfig golden_config() {
    golden::NicConfig n;
    n.ip = roce::ipv4_address(192, 168, 0, 1);
    return n;
  }
  void connect(sim::Qp& qp, uint32_t peer, uint32_t rq_psn) {
    VerbsConnect o;
    o.mtu = mtu_;
    driver::ConnectRequest r = o.request();
    r.dest_qpn = peer;
    r.rq_psn = rq_psn;
    r.sq_psn = 0;
    host_->nic().connect(*qp.qp, r);
  }
  void far_end(sim::TimePs now) {
    wire::FrameInfo info;
    while (link_->rx(1).take(now, info)) {
      FrameView v;
      const roce::ViolationList bad = roce::check_frame(info.bytes);
      if (!bad.empty()) FAIL_CHECK("frame from the NIC: " + roce::describe(bad));
      if (roce::parse_frame(info.bytes, v) != roce::ParseStatus::kOk) continue;
      CHECK(v.dest_qp == kPeerQpn);
      got_.add(v);
    }
    while (!due_.empty() && link_->tx(1).free_at() <= now + kGrain) {
      link_->tx(1).send(now, due_.front());
      due_.erase(due_.begin());
    }
  }
  void settle(sim::TimePs ps) { world_.run_until(world_.now_ps() + ps); }
  size_t take_golden() {
    size_t n = 0;
    while (gold_.poll(0)) ++n;
    return n;
  }
  void watch() {
    memory_->snapshot();
    host_->ignore_rings(*memory_);
    memory_->ignore(region_->buffer, 0, kBytes);
    memory_->ignore(receive_->buffer, 0, kReceiveBytes);
  }

  WaveViews views_;
  uint32_t mtu_;
  golden::Nic gold_;
  sim::World world_;
  sim::Node* node_ = nullptr;
  wire::Link* link_ = nullptr;
  std::unique_ptr<sim::Host> host_;
  std::unique_ptr<mem::MemoryChecker> memory_;
  sim::Region *region_ = nullptr, *receive_ = nullptr;
  sim::Qp *qp_ = nullptr, *neighbour_ = nullptr;
  std::vector<std::vector<uint8_t>> due_;
  Answers got_, want_;
  size_t golden_done_ = 0, rtl_done_ = 0;
  uint64_t next_wr_ = 0;
};

// Ends at the first difference: what follows would be its consequence.
void fuzz(uint64_t frames, uint64_t seed, std::map<std::string, uint64_t>& seen) {
  const uint32_t mtu = 256u << (seed % 3);
  Twin twin(mtu, seed);
  golden::RequestStream stream(twin.stream(), seed);
  golden::Mutator mutator(seed);
  mem::Random random(mem::substream(seed, "fuzz"));
  std::string story;
  for (uint64_t i = 0; i < frames; ++i) {
    std::vector<uint8_t> frame;
    std::string what = "valid";
    if (random.chance(0.1)) frame = stream.earlier();
    if (!frame.empty()) {
      what = "earlier";
    } else {
      frame = stream.next();
      if (random.chance(0.02)) {
        frame = stream.next();
        what = "gap";
      }
    }
    if (random.chance(0.3)) what += ", " + mutator.mutate(frame);
    ++seen[what.substr(0, what.find(' '))];
    FrameView v;
    roce::parse_frame(frame, v);
    story += "\n  " + std::to_string(i) + " " + what + ": " + roce::describe(v);
    twin.feed(frame);
    const bool fatal = twin.failed();
    if (fatal || i % 32 == 31 || i + 1 == frames) {
      INFO("seed " << seed << ", frames since the last comparison:" << story);
      twin.compare();
      if (fatal) {
        ++seen["fatal"];
        twin.restart();
      }
      story.clear();
    }
    // Receives are posted when everything before them has arrived at both.
    if (twin.receives() < 2 && random.chance(0.3)) {
      INFO("seed " << seed << ", frames since the last comparison:" << story);
      twin.compare();
      story.clear();
      twin.post(8);
    }
    stream.sync(twin.progress());
  }
  twin.finish();
}

}  // namespace

TEST_CASE("mutated frames: the RTL answers and places as the golden endpoint does") {
  std::map<std::string, uint64_t> seen;
  for (uint64_t part = 0; part < 10; ++part) fuzz(2000, context_seed() * 1000 + part, seen);
  CHECK(seen["fatal"] > 200);
  CHECK(seen["valid"] > 2000);
}

TEST_CASE("a million mutated frames", "[.soak]") {
  std::map<std::string, uint64_t> seen;
  for (const uint64_t part : soak_seeds(250)) fuzz(4000, context_seed() * 100'000 + part, seen);
}
