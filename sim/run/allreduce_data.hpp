// SPDX-License-Identifier: Apache-2.0
// What the ranks of an AllReduce put in, and what each must have behind it.
//
//   AllReduceData data(session, name, step, work);   // a buffer per rank
//   data.fill(round);
//   ...
//   data.compare(want);                              // every rank has these bits
#pragma once

#include <string>
#include <vector>

#include "harness/numerics/reduce.hpp"
#include "sim/run/session.hpp"

namespace rnic::sim {

class AllReduceData {
 public:
  AllReduceData(Session& session, const std::string& name, const AllReduceStep& step,
                std::vector<Region*> work)
      : session_(session), name_(name), step_(step), work_(std::move(work)) {}

  // New numbers, of the round, in every rank's buffer.
  void fill(uint32_t round);
  const std::vector<numerics::Buffer>& inputs() const { return inputs_; }
  numerics::Buffer result(uint32_t rank) const;
  // Problems of the session where a rank has other bits than `want`, or where those are not near
  // the sum in double precision.
  void compare(const numerics::Buffer& want);

 private:
  void compare_exactly(const numerics::Buffer& want);
  void compare_doubles(const numerics::Buffer& want);

  Session& session_;
  std::string name_;
  const AllReduceStep& step_;
  std::vector<Region*> work_;
  std::vector<numerics::Buffer> inputs_;
};

}  // namespace rnic::sim
