#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "attention/api/plan.h"
#include "base/wording.h"
#include "cli/attend/attention_options.h"

namespace heed::cli {
namespace {

constexpr std::int64_t kRows = 3;
constexpr std::int64_t kShownColumns = 6;

// The first rows of the first head.
std::string first_rows(const Tensor& out) {
  ConstView rows = out.view();
  while (rows.rank() > 2) {
    if (rows.dim(0) == 0) return {};
    rows = rows.select(0, 0);
  }
  const Tensor numbers = Tensor::converted(rows, DType::kF64);
  std::string text;
  for (std::int64_t row = 0; row < std::min(kRows, rows.dim(0)); ++row) {
    text += fmt::format("  {:>6}  ", row);
    for (std::int64_t at = 0; at < std::min(kShownColumns, rows.dim(1)); ++at)
      text += fmt::format("{:>10.4f}", numbers.data<double>()[row * rows.dim(1) + at]);
    text += rows.dim(1) > kShownColumns ? "  ...\n" : "\n";
  }
  return text;
}

std::string range_of(const Tensor& lse) {
  if (!lse.given()) return {};
  const Tensor numbers = Tensor::converted(lse, DType::kF64);
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  std::int64_t empty = 0, not_numbers = 0;
  for (std::int64_t row = 0; row < numbers.element_count(); ++row) {
    const double value = numbers.data<double>()[row];
    if (std::isinf(value) && value < 0) {
      ++empty;
    } else if (std::isnan(value)) {
      ++not_numbers;
    } else {
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  const std::string range = least <= most      ? fmt::format("{:.4f} to {:.4f}", least, most)
                            : not_numbers == 0 ? "-inf"
                                               : "nan";
  const auto said = [](std::int64_t rows, const char* what) {
    return rows == 0 ? "" : fmt::format("; {} {}", number_of(rows, "row"), what);
  };
  return fmt::format("lse     {}{}{}\n", range, said(empty, "without a key"),
                     said(not_numbers, "with NaN"));
}

}  // namespace

std::string attend_summary(const AttentionProblemData& problem, const Attended& attended) {
  const ConstView out = lowered(attended.out, problem.rank);
  const Plan plan = plan_attention(problem.args);
  return fmt::format("out     {} {}\n{}", to_string(out.shape()), name(out.dtype()),
                     first_rows(attended.out)) +
         range_of(attended.lse) +
         fmt::format("mask    {}\nkernel  {}\n", mask_text(plan), plan.kernel);
}

}  // namespace heed::cli
