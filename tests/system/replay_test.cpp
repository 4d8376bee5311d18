// SPDX-License-Identifier: Apache-2.0
// Every recorded run of a real software stack whose requests are all WRITE, fed into the NIC as the
// wire delivered it.
#include "sim/run/replay.hpp"
#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

TEST_CASE("recorded WRITE runs end with the recorded memory, acknowledgements and completions") {
  size_t runs = 0;
  sim::ReplayOptions options;
  options.data_w = test_width();
  for (const std::string& file :
       roce::list_captures(std::string(RNIC_SOURCE_DIR) + "/tests/captures")) {
    const roce::CaptureFile capture = roce::CaptureFile::load(file);
    for (const roce::CaptureRun& run : capture.runs()) {
      if (!run.all_write()) continue;
      ++runs;
      INFO(run.name() << ": " << run.client_command);
      const sim::ReplayResult r = sim::replay_run(run, options);
      for (const std::string& d : r.differences) FAIL_CHECK(d);
      CHECK(r.bytes_compared > 0);
      CHECK(r.frames_in > 0);
    }
  }
  CHECK(runs == 34);
}
