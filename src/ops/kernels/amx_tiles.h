// Blocks of f32 products in AMX's tiles, from panels of bf16 parts (amx_panel.h).
#pragma once

#include <cstdint>

#include "ops/kernels/amx_panel.h"

namespace heed::kernels::amx {

/// 32 x 32 elements of a product.
struct Block {
  const Part* a = nullptr;  // a panel of rows
  const Part* b = nullptr;  // a panel of columns
  std::int64_t steps = 0;
  float* out = nullptr;
  std::int64_t out_row = 0;
  std::int64_t rows = 0;     // existing rows: 1 to 32
  std::int64_t columns = 0;  // 1 to 32
  const float* bias = nullptr;
  bool accumulate = false;
  bool high_parts_alone = false;  // both operands rounded to bf16: one product of six
};

/// Needs this thread's tiles to be set up.
void multiply(const Block& block);

/// This thread's tile registers, set up while it lives.
class Tiles {
 public:
  Tiles();
  ~Tiles();
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

}  // namespace heed::kernels::amx
