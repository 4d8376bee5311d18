// SPDX-License-Identifier: Apache-2.0
// The longest message there is, by every verb that can carry it, with every byte looked at.
#include "harness/roce/psn.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

constexpr uint64_t kLongest = 1ull << 31;
constexpr uint64_t kPage = mem::kPageBytes;
constexpr uint32_t kMtu = 4096, kPsn = 0xFFFF00;
// The pages of both regions come round again and again, so that little memory is needed. The two
// periods have no common factor: a page of the target gets other bytes each time.
constexpr uint32_t kSourcePages = 4099, kTargetPages = 4096;
constexpr uint64_t kLook = 4 << 20;      // bytes of the message between two looks at the target
constexpr uint64_t kOnTheWay = 1 << 20;  // bytes that may have left and not arrived
constexpr sim::TimePs kSilence = 10'000'000'000;

// A message from node a to node b over a cable that loses nothing.
class LongMessage {
 public:
  explicit LongMessage(uint64_t bytes) : bytes_(bytes), from_(*bed_.a.host), to_(*bed_.b.host) {
    sim::ConnectOptions o;
    o.mtu = kMtu;
    o.psn_a = o.psn_b = kPsn;
    std::tie(qa_, qb_) = bed_.connect(o);
    source_ = &region(from_, 100, kSourcePages);
    target_ = &region(to_, 3, kTargetPages);
    data_ = rng("source").bytes(kSourcePages * kPage);
    source_->buffer.write(0, data_.data(), data_.size());
    bed_.tap.on_frame = [this](const wire::FrameInfo& f, const roce::ViolationList&) { see(f); };
  }

  void send(uint8_t opcode) {
    const bool read = opcode == RNIC_WQE_OPCODE_READ;
    driver::WorkRequest r;
    r.opcode = opcode;
    const sim::Region &local = read ? *target_ : *source_, &remote = read ? *source_ : *target_;
    r.local = {{local.key, static_cast<uint32_t>(bytes_), local.va}};
    r.remote_va = remote.va;
    r.rkey = remote.key;
    if (opcode == RNIC_WQE_OPCODE_SEND) {
      qb_->qp->post_receive({{target_->key, static_cast<uint32_t>(bytes_), target_->va}});
      qb_->qp->ring_receives();
    }
    sim::Qp& asks = read ? *qb_ : *qa_;
    asks.qp->post(r);
    asks.qp->ring();
    follow();
    const driver::Completion c = (read ? to_ : from_).wait_completion(asks);
    REQUIRE(c.ok());
    CHECK(c.byte_count == bytes_);
    if (opcode == RNIC_WQE_OPCODE_SEND) {
      const driver::Completion got = to_.wait_received(*qb_);
      CHECK(got.ok());
      CHECK(got.byte_count == bytes_);
    }
    compare(bytes_);
    CHECK(packets_ == bytes_ / kMtu);  // nothing was sent twice
  }

 private:
  sim::Region& region(sim::Host& host, uint64_t first, uint32_t pages) {
    std::vector<uint32_t> order(bytes_ / kPage + 1);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i % pages);
    return host.paged_region(bytes_, first, std::move(order));
  }
  void see(const wire::FrameInfo& f) {
    roce::FrameView v;
    if (roce::parse_frame(f.bytes, v) != roce::ParseStatus::kOk || v.payload_len == 0) return;
    ++packets_;
    left_ = (uint64_t{roce::psn_sub(v.psn, kPsn)} + 1) * kMtu;
  }
  // Looks at the target before its pages are used again, until the whole message has left.
  void follow() {
    for (sim::TimePs last = bed_.world.now_ps(); left_ < bytes_;) {
      bed_.world.run_until(bed_.world.now_ps() + 20'000'000);
      if (left_ >= compared_ + kLook + kOnTheWay) {
        compare(left_ - kOnTheWay);
        last = bed_.world.now_ps();
      }
      REQUIRE(bed_.world.now_ps() - last < kSilence);
    }
  }
  void compare(uint64_t end) {
    REQUIRE(left_ - compared_ < (kTargetPages - 1) * kPage);
    std::vector<uint8_t> got(kPage);
    while (compared_ < end) {
      const uint64_t n =
          source_->run(compared_, target_->run(compared_, std::min(kPage, end - compared_)));
      target_->buffer.read(target_->in_buffer(compared_), got.data(), n);
      const uint8_t* want = data_.data() + source_->in_buffer(compared_);
      if (!std::equal(want, want + n, got.begin()))
        FAIL("bytes " << compared_ << " to " << compared_ + n - 1 << " are not what was sent");
      compared_ += n;
    }
  }

  uint64_t bytes_;
  Bed bed_;
  sim::Host &from_, &to_;
  sim::Qp *qa_ = nullptr, *qb_ = nullptr;
  sim::Region *source_ = nullptr, *target_ = nullptr;
  std::vector<uint8_t> data_;
  uint64_t left_ = 0, compared_ = 0, packets_ = 0;
};

void send(uint8_t opcode, uint64_t bytes) { LongMessage(bytes).send(opcode); }

}  // namespace

TEST_CASE("a WRITE of 2^31 bytes arrives, every byte", "[.soak]") {
  send(RNIC_WQE_OPCODE_WRITE, kLongest);
}

TEST_CASE("a SEND of 2^31 bytes arrives, every byte", "[.soak]") {
  send(RNIC_WQE_OPCODE_SEND, kLongest);
}

TEST_CASE("a READ of 2^31 bytes arrives, every byte", "[.soak]") {
  send(RNIC_WQE_OPCODE_READ, kLongest);
}

TEST_CASE("messages of 17 MB arrive, every byte") {
  for (const uint8_t opcode : {RNIC_WQE_OPCODE_WRITE, RNIC_WQE_OPCODE_SEND, RNIC_WQE_OPCODE_READ}) {
    INFO("opcode " << int{opcode});
    send(opcode, 17 << 20);
  }
}
