// What merging and its gradient share: the parts' log-sum-exps, the sinks, and the checks.
#pragma once

#include <cmath>
#include <limits>

#include "heed/ops/merge.h"
#include "ops/operand.h"

namespace heed {

inline DType part_lse_type(const ConstView& out) {
  return out.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}
/// The shape of out without its last axis.
Shape part_lse_shape(const ConstView& out);

void check_parts(const MergeArgs& args);
void check_part_out(const Operand& out, const ConstView& like);
void check_part_rows(const Operand& rows, const ConstView& out);  // lse and the like; may be absent

/// lse + lse_low of every row.
class PartLse {
 public:
  explicit PartLse(const AttendedConstView& part) {
    if (!part.lse.given()) return;
    sum_ = Tensor::converted(part.lse, DType::kF64);
    if (!part.lse_low.given()) return;
    const Tensor low = Tensor::converted(part.lse_low, DType::kF64);
    for (std::int64_t row = 0; row < sum_.element_count(); ++row)
      if (std::isfinite(at(row))) sum_.data<double>()[row] += low.data<double>()[row];
  }
  double at(std::int64_t row) const { return sum_.data<double>()[row]; }

 private:
  Tensor sum_;
};

/// The sink of a row's head; -inf without one.
class RowSinks {
 public:
  RowSinks(const ConstView& sink, const ConstView& out) : heads_(out.dim(-3)), rows_(out.dim(-2)) {
    if (sink.given()) logits_ = Tensor::converted(sink, DType::kF64);
  }
  bool given() const { return logits_.given(); }
  std::int64_t head(std::int64_t row) const { return row / rows_ % heads_; }
  double at(std::int64_t row) const {
    return given() ? logits_.data<double>()[head(row)] : -std::numeric_limits<double>::infinity();
  }

 private:
  std::int64_t heads_;
  std::int64_t rows_;
  Tensor logits_;
};

/// to = weight * from.
template <typename T>
void scale_part_row(const T* from, double weight, std::int64_t width, T* to) {
  const auto factor = static_cast<T>(weight);
  for (std::int64_t d = 0; d < width; ++d) to[d] = factor * from[d];
}

}  // namespace heed
