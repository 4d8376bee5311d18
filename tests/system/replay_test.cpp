// SPDX-License-Identifier: Apache-2.0
// Every recorded RC and UC run of a real software stack, its requests fed into the NIC as the wire
// delivered them: answers, memory and completions must be the recorded ones.
#include "sim/run/replay.hpp"

#include "sim/run/requester_replay.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

struct Sum {
  size_t runs = 0, equal_frames = 0;
  std::map<std::string, size_t> allowed;
};

Sum replay_all(bool (*wanted)(const roce::CaptureRun&)) {
  Sum sum;
  sim::ReplayOptions options;
  options.data_w = test_width();
  for (const std::string& file :
       roce::list_captures(std::string(RNIC_SOURCE_DIR) + "/tests/captures")) {
    const roce::CaptureFile capture = roce::CaptureFile::load(file);
    for (const roce::CaptureRun& run : capture.runs()) {
      for (const roce::Side side : {roce::Side::kServer, roce::Side::kClient}) {
        if (!sim::replayable(run, side) || !wanted(run)) continue;
        ++sum.runs;
        INFO(run.name() << ": " << run.client_command << ", the NIC is the "
                        << (side == roce::Side::kServer ? "server" : "client"));
        options.side = side;
        const sim::ReplayResult r = sim::replay_run(run, options);
        for (const std::string& d : r.differences) FAIL_CHECK(d);
        CHECK(r.frames_in > 0);
        sum.equal_frames += r.equal_frames;
        for (const auto& [name, n] : r.allowed) sum.allowed[name] += n;
      }
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("recorded WRITE runs end with the recorded memory, answers and completions") {
  const Sum sum = replay_all([](const roce::CaptureRun& run) { return run.all_write(); });
  CHECK(sum.runs == 34);
  CHECK(sum.equal_frames > 0);
}

TEST_CASE("recorded runs of every verb end with the recorded memory, answers and completions") {
  Sum sum = replay_all([](const roce::CaptureRun& run) { return !run.all_write(); });
  CAPTURE(sum.runs, sum.equal_frames);
  CHECK(sum.runs > 109);  // RC, and UC
  CHECK(sum.equal_frames > 150);
  // Where this NIC chooses otherwise, and nowhere else.
  CHECK(sum.allowed["nak_after_rnr"] > 0);
  CHECK(sum.allowed["resumed_read"] > 0);
  CHECK(sum.allowed["after_invalidate"] == 1);
  for (const auto& [name, n] : sum.allowed) {
    INFO(n << " differences allowed: " << name);
    CHECK((name == "nak_after_rnr" || name == "resumed_read" || name == "after_invalidate" ||
           name == "coalesced" || name == "buffer_nak"));
  }
}

TEST_CASE(
    "the requester asks what was recorded, frame by frame, and ends with the recorded answers") {
  size_t runs = 0, frames = 0, completions = 0, results = 0;
  sim::ReplayOptions options;
  options.data_w = test_width();
  for (const std::string& file :
       roce::list_captures(std::string(RNIC_SOURCE_DIR) + "/tests/captures")) {
    const roce::CaptureFile capture = roce::CaptureFile::load(file);
    for (const roce::CaptureRun& run : capture.runs()) {
      for (const roce::Side side : {roce::Side::kClient, roce::Side::kServer}) {
        if (!sim::requester_replayable(run, side)) continue;
        INFO(run.name() << ": " << run.client_command << ", the NIC is the "
                        << (side == roce::Side::kServer ? "server" : "client"));
        options.side = side;
        const sim::RequesterReplay r = sim::replay_requester(run, options);
        for (const std::string& d : r.differences) FAIL_CHECK(d);
        ++runs;
        frames += r.equal_frames;
        completions += r.completions;
        results += r.results;
      }
    }
  }
  CHECK(runs > 40);
  CHECK(frames > 1500);
  CHECK(completions > 50);
  CHECK(results > 10);
}
