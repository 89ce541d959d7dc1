#include "heed/ops/merge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "heed/base/error.h"
#include "heed/base/threads.h"
#include "ops/computable.h"
#include "ops/operand.h"

namespace heed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

DType lse_type(const ConstView& out) {
  return out.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
}

Shape lse_shape(const ConstView& out) {
  return Shape(std::span(out.shape().begin(), static_cast<std::size_t>(out.rank()) - 1));
}

void check_out(const Operand& out, const ConstView& like) {
  require(out.view.given(), "merge: {} is not given", out.name);
  require((out.view.rank() == 3 || out.view.rank() == 4) && is_floating(out.view.dtype()),
          "merge: {} is {} of {}: [B, H, Tq, Dv] or [H, total, Dv] of f64, f32, f16 or bf16 is "
          "expected",
          out.name, to_string(out.view.shape()), name(out.view.dtype()));
  require(out.view.shape() == like.shape() && out.view.dtype() == like.dtype(),
          "merge: {} is {} of {} but a.out is {} of {}: they must agree", out.name,
          to_string(out.view.shape()), name(out.view.dtype()), to_string(like.shape()),
          name(like.dtype()));
  require_memory("merge", out);
}

void check_rows(const Operand& rows, const ConstView& out) {
  if (!rows.view.given()) return;
  const Shape wanted = lse_shape(out);
  require(rows.view.shape() == wanted && rows.view.dtype() == lse_type(out),
          "merge: {} is {} of {}: {} of {} is expected, as a.out is {} of {}", rows.name,
          to_string(rows.view.shape()), name(rows.view.dtype()), to_string(wanted),
          name(lse_type(out)), to_string(out.shape()), name(out.dtype()));
  require_memory("merge", rows);
}

void check_sink(const ConstView& sink, const ConstView& out) {
  if (!sink.given()) return;
  const std::int64_t heads = out.dim(-3);
  require(sink.shape() == Shape{heads} && is_floating(sink.dtype()),
          "merge: sink is {} of {}: a float for each of the {} heads is expected",
          to_string(sink.shape()), name(sink.dtype()), heads);
  require_memory("merge", {"sink", sink});
}

void check(const MergeArgs& args) {
  const ConstView& out = args.a.out;
  check_out({"a.out", out}, out);
  check_out({"b.out", args.b.out}, out);
  for (const Operand& rows : {Operand{"a.lse", args.a.lse}, Operand{"a.lse_low", args.a.lse_low},
                              Operand{"b.lse", args.b.lse}, Operand{"b.lse_low", args.b.lse_low}})
    check_rows(rows, out);
  require(args.a.lse.given() == args.b.lse.given(),
          "merge: {} has a lse but {} has none: parts of one normaliser are expected",
          args.a.lse.given() ? "a" : "b", args.a.lse.given() ? "b" : "a");
  require(args.a.lse.given() || !args.sink.given(),
          "merge: sink is given but the parts have no lse: it belongs to the softmax");
  check_sink(args.sink, out);
}

// lse + lse_low of every row.
class Lse {
 public:
  explicit Lse(const AttendedConstView& part) {
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

// The sink of a row's head; -inf without one.
class Sinks {
 public:
  Sinks(const ConstView& sink, const ConstView& out) : heads_(out.dim(-3)), rows_(out.dim(-2)) {
    if (sink.given()) logits_ = Tensor::converted(sink, DType::kF64);
  }
  bool given() const { return logits_.given(); }
  std::int64_t head(std::int64_t row) const { return row / rows_ % heads_; }
  double at(std::int64_t row) const {
    return given() ? logits_.data<double>()[head(row)] : -kInfinity;
  }

 private:
  std::int64_t heads_;
  std::int64_t rows_;
  Tensor logits_;
};

std::int64_t row_count(const ConstView& out) { return lse_shape(out).element_count(); }

template <typename Use>
void for_rows(const ConstView& out, const Use& use) {
  constexpr std::int64_t kRowsPerTask = 64;
  const std::int64_t rows = row_count(out);
  parallel_for((rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int /*thread*/) {
    const std::int64_t end = std::min((task + 1) * kRowsPerTask, rows);
    for (std::int64_t row = task * kRowsPerTask; row < end; ++row) use(row);
  });
}

// ln of the sum of the three; NaN where one of them is.
double log_sum(double a, double b, double sink) {
  const double top = std::max({a, b, sink});
  if (std::isnan(a + b + sink)) return a + b + sink;  // inf - inf too: as IEEE has it
  if (top == -kInfinity) return top;
  return top + std::log(std::exp(a - top) + std::exp(b - top) + std::exp(sink - top));
}

template <typename T>
void add_row(const T* from, double weight, std::int64_t width, bool add, T* to) {
  const auto factor = static_cast<T>(weight);
  for (std::int64_t d = 0; d < width; ++d) to[d] = (add ? to[d] : T{0}) + factor * from[d];
}

template <typename T>
void scale_row(const T* from, double weight, std::int64_t width, T* to) {
  const auto factor = static_cast<T>(weight);
  for (std::int64_t d = 0; d < width; ++d) to[d] = factor * from[d];
}

template <typename T>
void merge_rows(const MergeArgs& args, Tensor& out, Attended& merged) {
  const Computable a(args.a.out);
  const Computable b(args.b.out);
  const Lse lse_a(args.a);
  const Lse lse_b(args.b);
  const Sinks sinks(args.sink, args.a.out);
  const std::int64_t width = out.dim(-1);
  for_rows(out, [&](std::int64_t row) {
    const T* rows[] = {a.view().template data<T>() + row * width,
                       b.view().template data<T>() + row * width};
    const double parts[] = {lse_a.at(row), lse_b.at(row)};
    const double lse = log_sum(parts[0], parts[1], sinks.at(row));
    T* to = out.data<T>() + row * width;
    bool begun = false;
    for (int part = 0; part < 2; ++part) {
      if (parts[part] == -kInfinity) continue;
      const double weight = std::exp(parts[part] - lse);
      if (begun)
        add_row(rows[part], weight, width, true, to);
      else
        scale_row(rows[part], weight, width, to);
      begun = true;
    }
    if (!begun) std::fill_n(to, width, T{0});
    auto& high = merged.lse.data<T>()[row];
    high = static_cast<T>(lse);
    merged.lse_low.data<T>()[row] =
        std::isfinite(high) ? static_cast<T>(lse - static_cast<double>(high)) : T{0};
  });
}

template <typename T>
void sum_rows(const MergeArgs& args, Tensor& out) {
  const Computable a(args.a.out);
  const Computable b(args.b.out);
  const T* from_a = a.view().template data<T>();
  const T* from_b = b.view().template data<T>();
  for (std::int64_t i = 0; i < out.element_count(); ++i) out.data<T>()[i] = from_a[i] + from_b[i];
}

template <typename T>
Attended merged_in(const MergeArgs& args) {
  const ConstView& out = args.a.out;
  Tensor computed = Tensor::empty(out.shape(), DTypeOf<T>::value);
  Attended merged;
  if (args.a.lse.given()) {
    merged.lse = Tensor::empty(lse_shape(out), lse_type(out));
    merged.lse_low = Tensor::empty(lse_shape(out), lse_type(out));
    merge_rows<T>(args, computed, merged);
  } else {
    sum_rows<T>(args, computed);
  }
  merged.out = rounded(std::move(computed), out.dtype());
  return merged;
}

template <typename T>
double dot(const T* a, const T* b, std::int64_t width) {
  double sum = 0;
  for (std::int64_t d = 0; d < width; ++d)
    sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
  return sum;
}

// What the rows of both parts receive.
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
        sink_terms_(static_cast<std::size_t>(sinks_.given() ? row_count(dout) : 0)) {}

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
  double dlse_at(std::int64_t row) const { return has_dlse_ ? dlse_.at(row) : 0; }

  // d out = w dout;  d lse = w (dout . (out_part - out) + dlse),  w = exp(lse_part - lse).
  void part(const AttendedConstView& part, Tensor& dout, Tensor& dlse) const {
    const Computable out(part.out);
    const Lse own(part);
    const std::int64_t width = part.out.dim(-1);
    Tensor computed = Tensor::empty(part.out.shape(), DTypeOf<T>::value);
    dlse = Tensor::empty(lse_shape(part.out), lse_type(part.out));
    for_rows(part.out, [&](std::int64_t row) {
      T* to = computed.data<T>() + row * width;
      T& to_lse = dlse.data<T>()[row];
      if (own.at(row) == -kInfinity) {
        std::fill_n(to, width, T{0});
        to_lse = 0;
        return;
      }
      const double weight = std::exp(own.at(row) - lse_.at(row));
      const T* cotangent = row_of(dout_, row);
      const double beside = dot(cotangent, row_of(out, row), width) -
                            dot(cotangent, row_of(out_, row), width) + dlse_at(row);
      scale_row(cotangent, weight, width, to);
      to_lse = static_cast<T>(weight * beside);
    });
    dout = rounded(std::move(computed), part.out.dtype());
  }

  // The sink has no value: exp(sink - lse) (dlse - dout . out), summed over rows in their order.
  Tensor sink_gradient() {
    const Lse a(args_.a);
    const Lse b(args_.b);
    for_rows(dout_.view(), [&](std::int64_t row) {
      const bool empty = a.at(row) == -kInfinity && b.at(row) == -kInfinity;
      const std::int64_t width = dout_.view().dim(-1);
      const double through_out = empty ? 0 : dot(row_of(dout_, row), row_of(out_, row), width);
      const double weight = std::exp(sinks_.at(row) - lse_.at(row));
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
  Lse lse_;
  Sinks sinks_;
  Lse dlse_;
  bool has_dlse_;
  std::vector<double> sink_terms_;
};

void check_cotangents(const MergeArgs& args, const AttendedConstView& merged, const ConstView& dout,
                      const ConstView& dlse) {
  const ConstView& out = args.a.out;
  check_out({"dout", dout}, out);
  require(args.a.lse.given() || !dlse.given(), "merge: dlse is given but the parts have no lse");
  if (!args.a.lse.given()) return;
  check_out({"merged.out", merged.out}, out);
  require(merged.lse.given(), "merge: merged.lse is not given");
  for (const Operand& rows : {Operand{"merged.lse", merged.lse},
                              Operand{"merged.lse_low", merged.lse_low}, Operand{"dlse", dlse}})
    check_rows(rows, out);
}

}  // namespace

Attended merge(const MergeArgs& args) {
  check(args);
  return args.a.out.dtype() == DType::kF64 ? merged_in<double>(args) : merged_in<float>(args);
}

Attended merge(const Attended& a, const Attended& b, const ConstView& sink) {
  const auto part = [](const Attended& of) {
    const bool has_lse = of.lse.given();
    return AttendedConstView{.out = of.out,
                             .lse = has_lse ? of.lse.view() : ConstView(),
                             .lse_low = has_lse ? of.lse_low.view() : ConstView()};
  };
  return merge({.a = part(a), .b = part(b), .sink = sink});
}

MergeGrads merge_backward(const MergeArgs& args, const AttendedConstView& merged,
                          const ConstView& dout, const ConstView& dlse) {
  check(args);
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
