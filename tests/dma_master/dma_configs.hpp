// SPDX-License-Identifier: Apache-2.0
// The models that the tests of dma_master run on.
#pragma once

#include <Vdma_1024.h>
#include <Vdma_128.h>
#include <Vdma_256.h>
#include <Vdma_512.h>

#include "tests/dma_master/dma_world.hpp"

namespace rnic::test {

struct W128 {
  using Top = Vdma_128;
  static constexpr uint32_t kDataW = 128, kTags = 256;  // no generation bits in the id
};
struct W256 {
  using Top = Vdma_256;
  static constexpr uint32_t kDataW = 256, kTags = 8;
};
struct W512 {
  using Top = Vdma_512;
  static constexpr uint32_t kDataW = 512, kTags = 64;
};
struct W1024 {
  using Top = Vdma_1024;
  static constexpr uint32_t kDataW = 1024, kTags = 64;
};

}  // namespace rnic::test
