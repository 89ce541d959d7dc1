// Shared by merging and its gradient: the parts' log-sum-exps, the sinks, and the checks.
#pragma once

#include <cmath>
#include <limits>

#include "attention/problem.h"
#include "heed/attention.h"
#include "tensor/operand.h"

namespace heed {

inline DType part_lse_type(const ConstView& out) {
  return out.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}
/// The shape of out without its last axis.
Shape part_lse_shape(const ConstView& out);

void check_parts(const MergeArgs& args);
void check_part_out(const Operand& out, const ConstView& like);
void check_part_rows(const Operand& rows, const ConstView& out);  // lse or similar; optional

/// lse and lse_low of every row.
class PartLse {
 public:
  explicit PartLse(const AttendedConstView& part) {
    if (part.lse.given()) high_ = Tensor::converted(part.lse, DType::kF64);
    if (part.lse_low.given()) low_ = Tensor::converted(part.lse_low, DType::kF64);
  }
  kernels::LogSum at(std::int64_t row) const {
    const double high = high_.data<double>()[row];
    return {high, low_.given() && std::isfinite(high) ? low_.data<double>()[row] : 0};
  }

 private:
  Tensor high_;
  Tensor low_;
};

/// ln of a / b, for the sums that two log-sum-exps represent.
inline double log_ratio(const kernels::LogSum& a, const kernels::LogSum& b) {
  return b.below(a.high) + a.low;
}
inline bool is_empty(const kernels::LogSum& lse) {
  return lse.high == -std::numeric_limits<double>::infinity();
}

/// The sink of each row's head; -inf without one.
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
