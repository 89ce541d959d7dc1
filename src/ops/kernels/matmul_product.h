// A matrix product as its parts see it.
#pragma once

#include <cstdint>

#include "ops/kernels/block_panels.h"
#include "ops/kernels/matmul.h"
#include "ops/kernels/matmul_kernels.h"

namespace heed::kernels::cpu {

/// A product whose b is plain, or packed into panels of numbers or codes.
struct Product {
  MatmulProblem<float> p;
  const char* panels = nullptr;  // null: b is plain or quantised
  PanelForm form = PanelForm::kF32;
  const BlockType* type = nullptr;  // of codes
  const char* codes = nullptr;
  bool in_bytes = false;  // the only row, which is rounded to bytes

  /// k in units of the panel's stored rows.
  std::int64_t panel_row(std::int64_t k) const {
    return form == PanelForm::kBF16 || form == PanelForm::kPairs ? (k + 1) / 2 : k;
  }
  std::int64_t row_bytes() const {
    return matmul_kernels().panel * (form == PanelForm::kF16 ? 2 : 4);
  }
  std::int64_t panel_bytes() const {
    if (type != nullptr) return BlockLayout(*type, matmul_kernels().panel).panel_bytes(p.inner);
    return panel_row(p.inner) * row_bytes();
  }
};

/// Rounds 32 numbers to multiples of 1 / 127 of the largest magnitude. Infinity or NaN makes the
/// scale NaN.
RoundedSlab round_to_bytes(const float* a, std::int8_t* bytes);

/// For at most kFewRows adjacent rows, unpacked.
void run_few(const Product& product);

/// A product with packed panels.
Product product_of(const PanelsProblem& problem, PanelForm form);

}  // namespace heed::kernels::cpu
