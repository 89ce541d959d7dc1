#include <algorithm>
#include <cmath>

#include "attention/api/merge_parts.h"
#include "base/blocks.h"
#include "heed/attention.h"
#include "tensor/computable.h"

namespace heed {
namespace {

using kernels::LogSum;

// ln of the sum of the three; NaN if one of them is.
LogSum log_sum(const LogSum& a, const LogSum& b, double sink) {
  const double all = a.high / 4 + b.high / 4 + sink / 4;  // finite if all three are
  if (std::isnan(all)) return {all, 0};                   // includes inf - inf, as in IEEE
  LogSum top = {sink, 0};
  for (const LogSum& part : {a, b})
    if (log_ratio(part, top) > 0) top = part;
  if (is_empty(top)) return top;
  const double sum =
      std::exp(log_ratio(a, top)) + std::exp(log_ratio(b, top)) + std::exp(top.below(sink));
  return {top.high, top.low + std::log(sum)};
}

template <typename T>
void add_row(const T* from, double weight, std::int64_t width, T* to) {
  const auto factor = static_cast<T>(weight);
  for (std::int64_t d = 0; d < width; ++d) to[d] += factor * from[d];
}

// to = the sum of both rows, each times exp(its lse - lse); a part without keys adds nothing.
template <typename T>
void merge_row(const T* const (&rows)[2], const LogSum (&parts)[2], const LogSum& lse,
               std::int64_t width, T* to) {
  bool begun = false;
  for (int part = 0; part < 2; ++part) {
    if (is_empty(parts[part])) continue;
    const double weight = std::exp(log_ratio(parts[part], lse));
    if (begun)
      add_row(rows[part], weight, width, to);
    else
      scale_part_row(rows[part], weight, width, to);
    begun = true;
  }
  if (!begun) std::fill_n(to, width, T{0});
}

template <typename T>
void merge_rows(const MergeArgs& args, Tensor& out, Attended& merged) {
  const Computable a(args.a.out);
  const Computable b(args.b.out);
  const PartLse lse_a(args.a);
  const PartLse lse_b(args.b);
  const RowSinks sinks(args.sink, args.a.out);
  const std::int64_t width = out.dim(-1);
  for_rows(part_lse_shape(out).element_count(), [&](std::int64_t row) {
    const T* const rows[] = {a.view().template data<T>() + row * width,
                             b.view().template data<T>() + row * width};
    const LogSum parts[] = {lse_a.at(row), lse_b.at(row)};
    const LogSum lse = log_sum(parts[0], parts[1], sinks.at(row));
    merge_row<T>(rows, parts, lse, width, out.data<T>() + row * width);
    lse.store(merged.lse.data<T>()[row], merged.lse_low.data<T>()[row]);
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
    merged.lse = Tensor::empty(part_lse_shape(out), part_lse_type(out));
    merged.lse_low = Tensor::empty(part_lse_shape(out), part_lse_type(out));
    merge_rows<T>(args, computed, merged);
  } else {
    sum_rows<T>(args, computed);
  }
  merged.out = rounded(std::move(computed), out.dtype());
  return merged;
}

}  // namespace

Attended merge(const MergeArgs& args) {
  check_parts(args);
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

}  // namespace heed
