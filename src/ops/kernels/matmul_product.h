// A matrix product as its parts see it.
#pragma once

#include <cstdint>
#include <span>

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
  bool in_bytes = false;  // rows are rounded to bytes

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

/// Whether run_few takes it: at most kFewRows adjacent rows, or one if b has codes.
bool has_few_rows(const Product& product);
/// Whether run_few takes both at once: they have the same rows, prepared alike.
bool shares_rows(const Product& product, const Product& other);
/// Multiplies rows, unpacked, by several matrices in one parallel loop.
void run_few(std::span<const Product> products);

/// Multiplies rows that are rounded to bytes.
void run_by_bytes(const Product& product);

}  // namespace heed::kernels::cpu
