#include <algorithm>
#include <limits>
#include <vector>

#include "attention/api/merge_parts.h"
#include "base/blocks.h"
#include "heed/attention.h"
#include "heed/error.h"
#include "tensor/computable.h"

namespace heed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
double dot(const T* a, const T* b, std::int64_t width) {
  double sum = 0;
  for (std::int64_t d = 0; d < width; ++d)
    sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
  return sum;
}

// The gradients of both parts, row by row.
template <typename T>
class Backward {
 public:
  Backward(const MergeArgs& args, const AttendedConstView& merged, const ConstView& dout,
           const ConstView& dlse)
      : args_(args),
        out_(merged.out),
        dout_(dout),
        lse_(merged),
        sinks_(args.sink, dout),
        dlse_({.out = {}, .lse = dlse, .lse_low = {}}),
        has_dlse_(dlse.given()),
        sink_terms_(
            static_cast<std::size_t>(sinks_.given() ? part_lse_shape(dout).element_count() : 0)) {}

  MergeGrads run() {
    MergeGrads grads;
    part(args_.a, grads.dout_a, grads.dlse_a);
    part(args_.b, grads.dout_b, grads.dlse_b);
    if (sinks_.given()) grads.dsink = sink_gradient();
    return grads;
  }

 private:
  const T* row_of(const Computable& x, std::int64_t row) const {
    return x.view().template data<T>() + row * x.view().dim(-1);
  }
  double dlse_at(std::int64_t row) const { return has_dlse_ ? dlse_.at(row).high : 0; }

  // d out = w dout;  d lse = w (dout . (out_part - out) + dlse),  w = exp(lse_part - lse).
  void part(const AttendedConstView& part, Tensor& dout, Tensor& dlse) const {
    const Computable out(part.out);
    const PartLse own(part);
    const std::int64_t width = part.out.dim(-1);
    Tensor computed = Tensor::empty(part.out.shape(), DTypeOf<T>::value);
    dlse = Tensor::empty(part_lse_shape(part.out), part_lse_type(part.out));
    for_rows(part_lse_shape(part.out).element_count(), [&](std::int64_t row) {
      T* to = computed.data<T>() + row * width;
      T& to_lse = dlse.data<T>()[row];
      if (is_empty(own.at(row))) {
        std::fill_n(to, width, T{0});
        to_lse = 0;
        return;
      }
      const double weight = std::exp(log_ratio(own.at(row), lse_.at(row)));
      const T* cotangent = row_of(dout_, row);
      const double beside = dot(cotangent, row_of(out, row), width) -
                            dot(cotangent, row_of(out_, row), width) + dlse_at(row);
      scale_part_row(cotangent, weight, width, to);
      to_lse = static_cast<T>(weight * beside);
    });
    dout = rounded(std::move(computed), part.out.dtype());
  }

  // The sink has no value: its gradient is the sum over rows, in order, of exp(sink - lse) (dlse -
  // dout . out).
  Tensor sink_gradient() {
    const PartLse a(args_.a);
    const PartLse b(args_.b);
    for_rows(part_lse_shape(dout_.view()).element_count(), [&](std::int64_t row) {
      const bool empty = is_empty(a.at(row)) && is_empty(b.at(row));
      const std::int64_t width = dout_.view().dim(-1);
      const double through_out = empty ? 0 : dot(row_of(dout_, row), row_of(out_, row), width);
      const double weight = std::exp(lse_.at(row).below(sinks_.at(row)));
      sink_terms_[static_cast<std::size_t>(row)] =
          sinks_.at(row) == -kInfinity ? 0 : weight * (dlse_at(row) - through_out);
    });
    Tensor sums = Tensor::zeros({dout_.view().dim(-3)}, DType::kF64);
    for (std::size_t row = 0; row < sink_terms_.size(); ++row)
      sums.data<double>()[sinks_.head(static_cast<std::int64_t>(row))] += sink_terms_[row];
    return Tensor::converted(sums, args_.sink.dtype());
  }

  const MergeArgs& args_;
  Computable out_;
  Computable dout_;
  PartLse lse_;
  RowSinks sinks_;
  PartLse dlse_;
  bool has_dlse_;
  std::vector<double> sink_terms_;
};

void check_cotangents(const MergeArgs& args, const AttendedConstView& merged, const ConstView& dout,
                      const ConstView& dlse) {
  const ConstView& out = args.a.out;
  check_part_out({"dout", dout}, out);
  if (!args.a.lse.given() && dlse.given())
    fail("merge", "dlse", "given", "none (the parts have no lse)");
  if (!args.a.lse.given()) return;
  check_part_out({"merged.out", merged.out}, out);
  if (!merged.lse.given()) fail("merge", "merged.lse", {}, "one, as the parts have it");
  for (const Operand& rows : {Operand{"merged.lse", merged.lse},
                              Operand{"merged.lse_low", merged.lse_low}, Operand{"dlse", dlse}})
    check_part_rows(rows, out);
}

}  // namespace

MergeGrads merge_backward(const MergeArgs& args, const AttendedConstView& merged,
                          const ConstView& dout, const ConstView& dlse) {
  check_parts(args);
  check_cotangents(args, merged, dout, dlse);
  if (!args.a.lse.given())
    return {.dout_a = Tensor::copy_of(dout),
            .dlse_a = {},
            .dout_b = Tensor::copy_of(dout),
            .dlse_b = {},
            .dsink = {}};
  if (dout.dtype() == DType::kF64) return Backward<double>(args, merged, dout, dlse).run();
  return Backward<float>(args, merged, dout, dlse).run();
}

}  // namespace heed
