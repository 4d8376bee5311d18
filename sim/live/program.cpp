// SPDX-License-Identifier: Apache-2.0
#include "sim/live/program.hpp"

#include "sim/live/rping_run.hpp"
#include "sim/live/tool_run.hpp"

namespace rnic::sim {

std::unique_ptr<Program> make_program(Party party, const tools::Options& options,
                                      std::unique_ptr<tools::Channel> channel,
                                      std::function<void(const std::string&)> print) {
  if (options.kind == tools::Kind::kRping)
    return std::make_unique<RpingRun>(std::move(party), options, std::move(print));
  return std::make_unique<ToolRun>(std::move(party), options, std::move(channel), std::move(print));
}

std::string status_of(const std::vector<Queue*>& queues, const DataCheck& check) {
  for (const Queue* q : queues) {
    if (!q->failure.empty()) return q->failure;
    if (const std::string r = check.refusal(q->number()); !r.empty()) return r;
  }
  return "SUCCESS";
}

}  // namespace rnic::sim
