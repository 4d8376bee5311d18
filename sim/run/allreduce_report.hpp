// SPDX-License-Identifier: Apache-2.0
// What an AllReduce took, whoever made it: time, bandwidths beside the wire's bound, bytes over
// PCIe.
#pragma once

#include <functional>
#include <string>

#include "sim/run/session.hpp"

namespace rnic::sim {

// Runs it `repeat` times and reports. `copies`: bytes that a rank's engines moved besides over
// PCIe; run() returns how long an operation took.
void measure_allreduce(Session& session, const std::string& name, const AllReduceStep& step,
                       uint64_t copies, const std::function<TimePs(uint32_t round)>& run);

// By the NICs: around a ring; in one shot.
void run_nic_allreduce(Session& session, const std::string& name, const AllReduceStep& step);
void run_one_shot_allreduce(Session& session, const std::string& name, const AllReduceStep& step);

}  // namespace rnic::sim
