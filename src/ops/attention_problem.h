// The border of the attention operator: what the caller gave, checked and resolved for the kernels.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heed/ops/attention.h"
#include "kernels/attention.h"

namespace heed {

/// Owns what `problem` points to. Moves; a copy would point into the original.
struct CheckedAttention {
  explicit CheckedAttention(const AttentionArgs& args);
  CheckedAttention(CheckedAttention&&) = default;

  std::vector<kernels::Sequence> sequences;
  std::vector<double> scale;
  kernels::AttentionProblem problem;
};

kernels::Input kernel_input(const ConstView& view);  // of rank 4
kernels::Output kernel_output(const View& view);

/// "[B, H, Tq, Dv]" and the like stand in messages.
struct Operand {
  std::string_view name;
  ConstView view;
};

void require_shape(std::string_view op, const Operand& operand, const Shape& wanted,
                   std::string_view legend);
void require_type(std::string_view op, const Operand& operand, DType wanted);
void require_row_major(std::string_view op, const Operand& operand);

/// An output must not meet itself, nor any of `others`.
void require_apart(std::string_view op, const Operand& output, std::span<const Operand> others);

}  // namespace heed
