// SPDX-License-Identifier: Apache-2.0
// What an AllReduce by the NICs begins with, whatever its algorithm: all nodes' hosts, a buffer of
// each in the step's memory, and the options of the group.
#pragma once

#include <string>
#include <vector>

#include "sim/host/group_rank.hpp"
#include "sim/run/session.hpp"

namespace rnic::sim {

std::vector<Host*> all_hosts(Session& session);
std::vector<Region*> rank_buffers(const std::vector<Host*>& hosts, const AllReduceStep& step);
GroupOptions group_options(Session& session, const std::string& name, const AllReduceStep& step);

}  // namespace rnic::sim
