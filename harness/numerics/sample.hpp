// SPDX-License-Identifier: Apache-2.0
// Elements to try sums with.
//
//   Buffer input = near_numbers(Element::kBf16, random_bytes);
#pragma once

#include "harness/numerics/reduce.hpp"

namespace rnic::numerics {

// Random bytes as finite numbers of both signs near one another, so that sums keep changing and
// the order of additions shows: 2^-3 to 2^5. INT32 stays as it is.
Buffer near_numbers(Element type, Buffer random);

}  // namespace rnic::numerics
