// A named tensor of an operator, and the requirements on it.
#pragma once

#include <span>
#include <string_view>

#include "heed/tensor.h"

namespace heed {

/// Rows [N, D] as the q, k or v of one head: [1, 1, N, D].
inline ConstView as_head(const ConstView& rows) {
  return {rows.raw(),
          rows.dtype(),
          {1, 1, rows.dim(0), rows.dim(1)},
          {0, 0, rows.stride(0), rows.stride(1)}};
}

/// Texts such as "[B, H, Tq, Dv]" appear in error messages.
struct Operand {
  std::string_view name;
  ConstView view;
};

/// The name within a sentence: k for keys.k.
std::string_view short_name(const Operand& operand);

void require_shape(std::string_view op, const Operand& operand, const Shape& wanted,
                   std::string_view legend);
/// `beside` is the type of q, on which `wanted` depends; the message names it.
void require_type(std::string_view op, const Operand& operand, DType wanted, DType beside);
void require_row_major(std::string_view op, const Operand& operand);

/// Requires memory, aligned to its elements. A view without memory is for planning only.
void require_memory(std::string_view op, const Operand& operand);

/// Checks that no two elements of an output share memory, and that it does not overlap `others`.
void require_apart(std::string_view op, const Operand& output, std::span<const Operand> others);

}  // namespace heed
