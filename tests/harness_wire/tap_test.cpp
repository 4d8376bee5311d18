// SPDX-License-Identifier: Apache-2.0
#include "harness/wire/tap.hpp"

#include <unistd.h>

#include <filesystem>

#include "harness/roce/frame.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::wire;
using rnic::test::contains_text;

namespace {

std::vector<uint8_t> roce_frame(uint32_t psn, bool spoil = false) {
  roce::FrameSpec s;
  s.ip_src = roce::ipv4_address(10, 0, 0, 1);
  s.ip_dst = roce::ipv4_address(10, 0, 0, 2);
  s.opcode = roce::kRcSendOnly;
  s.psn = psn;
  std::vector<uint8_t> payload(32, 1), f(200);
  f.resize(roce::build_frame(s, payload, f));
  if (spoil) f[60] ^= 1;
  return f;
}

std::string temp_file() {
  return (std::filesystem::temp_directory_path() / ("rnic_tap" + std::to_string(::getpid())))
      .string();
}

}  // namespace

TEST_CASE("a tap captures both directions in time order and names the frame that breaks a rule") {
  const std::string path = temp_file();
  pcap::PcapWriter writer(path);
  Tap tap({.pcap = &writer});
  Link link({.rate_bps = 400'000'000'000, .delay_ps = 1000}, {}, {});
  link.add_observer(&tap);
  // End 1 runs ahead of end 0 by less than the delay, as on two threads.
  for (uint32_t i = 0; i < 50; ++i) {
    link.tx(1).send(i * 10'000 + 900, roce_frame(1000 + i));
    link.tx(0).send(i * 10'000, roce_frame(i, i == 7));
  }
  tap.close();
  CHECK(tap.frames() == 100);
  CHECK(tap.roce_frames() == 100);
  CHECK(tap.violations() == 1);
  REQUIRE(tap.messages().size() == 1);
  CHECK_THAT(tap.messages()[0], contains_text("frame 7 of direction 0 at 70160 ps: iCRC"));
  pcap::PcapReader in(path);
  pcap::PcapPacket p;
  uint64_t last = 0, count = 0;
  while (in.next(p)) {
    CHECK(p.time_ns >= last);
    last = p.time_ns;
    roce::FrameView v;
    REQUIRE(roce::parse_frame(p.bytes, v) == roce::ParseStatus::kOk);
    CHECK(v.psn == (count % 2 == 0 ? count / 2 : 1000 + count / 2));
    ++count;
  }
  CHECK(count == 100);
  std::filesystem::remove(path);
}

TEST_CASE(
    "a tap behind the faults sees what was delivered and leaves frames with a bad FCS unchecked") {
  class BadFcs : public FaultHook {
   public:
    void on_frame(FrameEdit& f) override {
      f.bad_fcs = f.number == 1;
      f.drop = f.number == 2;
      if (f.number == 1) f.bytes[60] ^= 1;
    }
  } faults;
  Tap sent({.point = TapConfig::Point::kSent}), delivered({.point = TapConfig::Point::kDelivered});
  uint64_t called = 0;
  delivered.on_frame = [&](const FrameInfo&, const roce::ViolationList&) { ++called; };
  Link link({}, {}, {});
  link.add_observer(&sent);
  link.add_observer(&delivered);
  link.set_faults(0, &faults);
  for (uint32_t i = 0; i < 4; ++i) link.tx(0).send(i * 10'000, roce_frame(i));
  link.tx(0).advance(100'000);
  link.tx(0).advance(1'000'000);
  FrameInfo f;
  while (link.rx(1).take(1'000'000, f)) {
  }
  CHECK(sent.frames() == 4);
  CHECK(sent.violations() == 0);
  CHECK(delivered.frames() == 3);
  CHECK(delivered.bad_frames() == 1);
  CHECK(delivered.violations() == 0);
  CHECK(called == 3);
}
