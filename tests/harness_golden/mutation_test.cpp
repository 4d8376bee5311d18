// SPDX-License-Identifier: Apache-2.0
// Requests that are nearly right. Two models that were written apart, the golden endpoint and the
// reference responder, get the same frames: answers, memory, completions and state must agree.
#include "harness/golden/mutator.hpp"

#include <cstdio>
#include <map>

#include "harness/golden/nic.hpp"
#include "harness/roce/responder_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/context.hpp"

using namespace rnic;
using namespace rnic::golden;
using roce::FrameView;

namespace {

constexpr uint64_t kBytes = 16384, kGuard = 4096, kBuffer = 3000;
constexpr uint32_t kReceiveKey = 0x9901;

uint64_t root_seed() { return rnic::test::Context::get().options().seed; }

class Twins {
 public:
  Twins(uint32_t pmtu, uint64_t seed)
      : seed_(seed),
        nic_(nic_config()),
        bytes_(kBytes + 2 * kGuard, 0x11),
        receive_(kBuffer + 2 * kGuard, 0x22) {
    QpConfig c;
    c.qpn = 0x11;
    c.dest_qpn = 0x12;
    c.pmtu = pmtu;
    c.rq_psn = 0xFFFFF0;
    c.dest_ip = roce::ipv4_address(192, 168, 0, 1);
    c.rq_depth = 1 << 20;
    nic_.create_qp(c);
    QpConfig neighbour = c;
    neighbour.qpn = 0xABCDEE;  // more flipped bits away than a mutation makes
    neighbour.dest_qpn = 0x13;
    neighbour.rq_psn = 77;
    nic_.create_qp(neighbour);
    region_ = {.key = 0x1234, .va = 0x40000, .length = kBytes};
    // The golden endpoint's bytes lie between guards, too.
    nic_.memory().bytes().fill(0x40000 - kGuard, 0x11, kBytes + 2 * kGuard);
    nic_.memory().bytes().fill(0x80000 - kGuard, 0x22, kBuffer + 2 * kGuard);
    nic_.memory().add({.key = 0x1234, .pd = 1, .va = 0x40000, .length = kBytes, .at = 0x40000});
    nic_.memory().add(
        {.key = kReceiveKey, .pd = 1, .va = 0x80000, .length = kBuffer, .at = 0x80000});
    regions_.add(
        {.rkey = 0x1234, .va = 0x40000, .bytes = std::span(bytes_).subspan(kGuard, kBytes)});
    // The receive buffer's key exists for both.
    regions_.add({.rkey = kReceiveKey,
                  .va = 0x80000,
                  .bytes = std::span(receive_).subspan(kGuard, kBuffer)});
    roce::ResponderConfig r;
    r.qpn = 0x11;
    r.first_psn = c.rq_psn;
    r.pmtu = pmtu;
    r.local_ip = nic_.config().ip;
    r.peer_ip = c.dest_ip;
    r.policy.ack_every_duplicate = false;
    model_ = std::make_unique<roce::ResponderModel>(r, regions_);
    post(4);
  }

  static NicConfig nic_config() {
    NicConfig n;
    n.ip = roce::ipv4_address(192, 168, 0, 2);
    return n;
  }

  StreamConfig stream(uint32_t pmtu) const {
    StreamConfig s;
    s.base.ip_src = roce::ipv4_address(192, 168, 0, 1);
    s.base.ip_dst = roce::ipv4_address(192, 168, 0, 2);
    s.base.dest_qp = 0x11;
    s.base.psn = 0xFFFFF0;
    s.pmtu = pmtu;
    s.region = region_;
    s.max_bytes = 3200;  // now and then longer than a receive
    return s;
  }

  void post(uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
      nic_.post_recv(0,
                     {.wr_id = next_wr_,
                      .sges = {{kReceiveKey, 1000, 0x80000}, {kReceiveKey, 2000, 0x80000 + 1000}}});
      const std::span<uint8_t> all = std::span(receive_).subspan(kGuard, kBuffer);
      model_->post_recv({.wr_id = next_wr_, .segments = {all.first(1000), all.subspan(1000)}});
      ++next_wr_;
    }
  }

  // Gives both the frame; "" when they agree on what follows.
  std::string feed(const std::vector<uint8_t>& frame) {
    nic_.receive(0, frame);
    model_->clear_outputs();
    model_->receive(frame);
    std::vector<uint8_t> f;
    size_t n = 0;
    for (; nic_.transmit(0, f); ++n) {
      FrameView v;
      if (roce::parse_frame(f, v) != roce::ParseStatus::kOk || !roce::icrc_good(v))
        return "the golden endpoint sent a bad frame";
      if (n >= model_->responses().size())
        return "golden answers " + roce::describe(v) + ", the reference nothing";
      const roce::ResponsePacket& r = model_->responses()[n];
      const auto payload = model_->payload(r);
      const uint16_t ext = v.info().ext;
      if (v.opcode != r.opcode || v.psn != r.psn ||
          ((ext & roce::kExtAeth) != 0 && (v.syndrome != r.syndrome || v.msn != r.msn)) ||
          ((ext & roce::kExtAtomicAck) != 0 && v.atomic_orig != r.atomic_orig) ||
          !std::equal(v.payload().begin(), v.payload().end(), payload.begin(), payload.end())) {
        char t[128];
        std::snprintf(t, sizeof t, "reference: %02x PSN %06x syndrome %02x MSN %u", r.opcode, r.psn,
                      r.syndrome, r.msn);
        return "golden: " + roce::describe(v) + "; " + t;
      }
    }
    if (n != model_->responses().size())
      return "golden gave " + std::to_string(n) + " answers, the reference " +
             std::to_string(model_->responses().size());
    size_t done = 0;
    while (const auto c = nic_.poll(0)) {
      if (done >= model_->completions().size()) return "golden completes, the reference does not";
      const roce::RecvCompletion& r = model_->completions()[done++];
      if (c->wr_id != r.wr_id ||
          (c->status == Status::kSuccess) != (r.status == roce::WcStatus::kSuccess) ||
          (c->status == Status::kFlushed) != (r.status == roce::WcStatus::kFlushed) ||
          (c->status == Status::kSuccess && c->bytes != r.byte_len))
        return "completion of receive " + std::to_string(c->wr_id) + " differs";
    }
    if (done != model_->completions().size()) return "the reference completes, golden does not";
    if ((nic_.state(0) == State::kErr) != (model_->state() == roce::QpState::kErr))
      return "one of them is in ERR";
    if (nic_.responder(0).expected_psn() != model_->expected_psn()) return "expected PSNs differ";
    return "";
  }

  std::string compare_memory() {
    std::vector<uint8_t> m(bytes_.size());
    nic_.memory().bytes().read(0x40000 - kGuard, m.data(), m.size());
    if (m != bytes_) return "region memory differs";
    for (size_t i = 0; i < kGuard; ++i) {
      if (m[i] != 0x11 || m[m.size() - 1 - i] != 0x11) return "written beside the region";
    }
    std::vector<uint8_t> r(receive_.size());
    nic_.memory().bytes().read(0x80000 - kGuard, r.data(), r.size());
    if (r != receive_) return "receive memory differs";
    for (size_t i = 0; i < kGuard; ++i) {
      if (r[i] != 0x22 || r[r.size() - 1 - i] != 0x22) return "written beside the receives";
    }
    if (nic_.responder(1).stats().executed != 0 || nic_.responder(1).expected_psn() != 77)
      return "another QP was disturbed";
    return "";
  }

  bool failed() const { return nic_.state(0) == State::kErr; }
  void restart() {
    nic_.set_state(0, State::kReset);
    nic_.set_state(0, State::kRts);
    model_->set_state(roce::QpState::kReset);
    model_->set_state(roce::QpState::kRtr);
    post(4);
  }
  Responder::Progress progress() const { return nic_.responder(0).progress(); }
  size_t receives() const { return model_->receives_posted(); }

 private:
  uint64_t seed_;
  Nic nic_;
  std::vector<uint8_t> bytes_, receive_;
  Region region_;
  roce::RegionTable regions_;
  std::unique_ptr<roce::ResponderModel> model_;
  uint64_t next_wr_ = 0;
};

// Returns how often each answer to a mutation was seen.
void fuzz(uint64_t frames, uint64_t seed, std::map<std::string, uint64_t>& seen) {
  const uint32_t pmtu = 256u << (seed % 3);
  Twins twins(pmtu, seed);
  RequestStream stream(twins.stream(pmtu), seed);
  Mutator mutator(seed);
  mem::Random random(mem::substream(seed, "fuzz"));
  for (uint64_t i = 0; i < frames; ++i) {
    std::vector<uint8_t> frame;
    std::string what = "valid";
    if (random.chance(0.1)) frame = stream.earlier();
    if (!frame.empty()) {
      what = "earlier";
    } else {
      frame = stream.next();
      if (random.chance(0.02)) {  // lost, and the next one comes
        frame = stream.next();
        what = "gap";
      }
    }
    if (random.chance(0.4)) what += ", " + mutator.mutate(frame);
    const std::string bad = twins.feed(frame);
    INFO("seed " << seed << ", frame " << i << ": " << what);
    REQUIRE(bad == "");
    if (twins.failed()) {
      ++seen["fatal"];
      twins.restart();
    }
    if (i % 64 == 0 || i + 1 == frames) REQUIRE(twins.compare_memory() == "");
    if (twins.receives() < 2 && random.chance(0.3)) twins.post(3);
    stream.sync(twins.progress());
    ++seen[what.substr(0, what.find(' '))];
  }
}

}  // namespace

TEST_CASE("a stream without mutations is accepted whole") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const uint32_t pmtu = 256u << (seed % 3);
    Twins twins(pmtu, seed);
    auto config = twins.stream(pmtu);
    config.max_bytes = 3000;
    RequestStream stream(config, seed);
    for (int i = 0; i < 500; ++i) {
      twins.post(1);
      const auto frame = stream.next();
      REQUIRE(twins.feed(frame) == "");
      REQUIRE_FALSE(twins.failed());
      const auto before = twins.progress();
      stream.sync(before);
    }
    CHECK(twins.compare_memory() == "");
  }
}

TEST_CASE("twenty thousand mutated frames: both models agree, nothing else is touched") {
  std::map<std::string, uint64_t> seen;
  for (uint64_t part = 0; part < 25; ++part) fuzz(2000, root_seed() * 1000 + part, seen);
  CHECK(seen["fatal"] > 500);
  CHECK(seen["valid"] > 5000);
  CHECK(seen["valid,"] > 5000);
  CHECK(seen["earlier"] > 500);
  CHECK(seen["earlier,"] > 500);
  CHECK(seen["gap"] > 100);
}

TEST_CASE("a million mutated frames", "[.soak]") {
  std::map<std::string, uint64_t> seen;
  for (uint64_t part = 0; part < 250; ++part) fuzz(10'000, root_seed() * 100'000 + part, seen);
}
