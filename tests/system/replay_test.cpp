// SPDX-License-Identifier: Apache-2.0
// Every recorded run of a real software stack, its requests and datagrams fed into the NIC as the
// wire delivered them: answers, memory and completions must be the recorded ones.
#include "sim/run/replay.hpp"

#include <set>

#include "sim/run/datagram_replay.hpp"
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
    for (const roce::CaptureRun& run : sim::recorded_runs(capture)) {
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

TEST_CASE("every recorded request is in a replay") {
  size_t requests = 0;
  for (const std::string& file :
       roce::list_captures(std::string(RNIC_SOURCE_DIR) + "/tests/captures")) {
    const roce::CaptureFile capture = roce::CaptureFile::load(file);
    for (const roce::Side side : {roce::Side::kServer, roce::Side::kClient}) {
      std::set<uint32_t> replayed;
      for (const roce::CaptureRun& run : sim::recorded_runs(capture)) {
        if (!sim::replayable(run, side)) continue;
        for (const roce::CapturedFrame* f : run.delivered(side)) replayed.insert(f->index);
      }
      for (const roce::CaptureRun& run : capture.runs()) {
        for (const roce::CapturedFrame* f : run.arrived(side)) {
          roce::FrameView v;
          if (roce::parse_frame(f->bytes, v) != roce::ParseStatus::kOk || !v.info().is_request)
            continue;
          INFO(run.name() << ", packet " << f->index + 1 << ": " << roce::describe(v));
          CHECK((replayed.contains(f->index) || v.info().transport == roce::Transport::kUd));
          ++requests;
        }
      }
    }
  }
  CHECK(requests > 2000);
}

TEST_CASE("recorded datagrams fill their receives as the wire carried them") {
  size_t sides = 0, datagrams = 0, managed = 0, completions = 0, digests = 0;
  sim::ReplayOptions options;
  options.data_w = test_width();
  for (const std::string& file :
       roce::list_captures(std::string(RNIC_SOURCE_DIR) + "/tests/captures")) {
    const roce::CaptureFile capture = roce::CaptureFile::load(file);
    for (const roce::CaptureRun& run : capture.runs()) {
      for (const roce::Side side : {roce::Side::kClient, roce::Side::kServer}) {
        if (!sim::gets_datagrams(run, side)) continue;
        INFO(run.name() << ": " << run.client_command << ", the NIC is the "
                        << (side == roce::Side::kServer ? "server" : "client"));
        options.side = side;
        const sim::DatagramReplay r = sim::replay_datagrams(run, options);
        for (const std::string& d : r.differences) FAIL_CHECK(d);
        ++sides;
        datagrams += r.datagrams;
        managed += run.transport == roce::Transport::kRc;
        completions += r.completions;
        digests += r.digest;
      }
    }
  }
  CHECK(sides > 12);
  CHECK(datagrams == 30 + 5 + 6 + 5 + 10 + 18);  // ud_v4, ud_v6ll, vt_ud_v4, rping and the managed
  CHECK(managed >= 4);                           // QP 1 beside RC
  CHECK(completions == 6);
  CHECK(digests == 1);
}

// What rping prints is what it was sent: a digest of the recorded stack's own.
TEST_CASE("the recorded rping ends with the text that it printed, at both ends") {
  const roce::CaptureFile capture =
      roce::CaptureFile::load(std::string(RNIC_SOURCE_DIR) + "/tests/captures/rping_v4.json");
  const auto runs = sim::recorded_runs(capture);
  REQUIRE(runs.size() == 2);
  const roce::CaptureRun& run = runs[1];
  CHECK(run.client.qpn == 0x14);
  CHECK(run.client.psn == 833022);
  CHECK(run.server.qpn == 0x1F);
  CHECK(run.server.psn == 4414439);
  CHECK(run.client.other_rkeys == std::vector<uint32_t>{0x7B2});
  CHECK(run.host_writes(roce::Side::kClient).size() == 3);
  const roce::ReferenceReplay want = roce::reference_replay(run, roce::Side::kClient);
  const std::string sink(want.memory.begin() + 0x800, want.memory.begin() + 0x800 + 199);
  CHECK(sink.substr(0, 28) == "rdma-ping-2: CDEFGHIJKLMNOPQ");
  const std::string source(want.memory.begin() + 0x910, want.memory.begin() + 0x910 + 199);
  CHECK(sink == source);
  sim::ReplayOptions options;
  options.data_w = test_width();
  options.side = roce::Side::kClient;
  const sim::ReplayResult r = sim::replay_run(run, options);
  for (const std::string& d : r.differences) FAIL_CHECK(d);
  CHECK(r.equal_frames == 3 + 3 + 6);  // READ responses, ACKs of WRITEs and SENDs
  CHECK(r.allowed.empty());
}

TEST_CASE(
    "the requester asks what was recorded, frame by frame, and ends with the recorded answers") {
  size_t runs = 0, frames = 0, completions = 0, results = 0;
  sim::ReplayOptions options;
  options.data_w = test_width();
  for (const std::string& file :
       roce::list_captures(std::string(RNIC_SOURCE_DIR) + "/tests/captures")) {
    const roce::CaptureFile capture = roce::CaptureFile::load(file);
    for (const roce::CaptureRun& run : sim::recorded_runs(capture)) {
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
