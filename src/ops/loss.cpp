#include "ops/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "heed/error.h"
#include "ops/kernels/reference/operators.h"
#include "ops/kernels/rows.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check(const CrossEntropyArgs& args) {
  const auto& [logits, targets, dlogits, gradient_scale, smoothing] = args;
  if (logits.dtype() != DType::kF32 && logits.dtype() != DType::kF64)
    fail("cross_entropy", "logits", name(logits.dtype()), "f32 or f64");
  if (logits.rank() < 1 || logits.dim(-1) < 1 || !logits.is_contiguous())
    fail("cross_entropy", "logits", to_string(logits), "row-major rows of at least one element");
  const Shape rows(std::span(logits.shape().begin(), logits.shape().end() - 1));
  if (targets.shape() != rows || targets.dtype() != DType::kI32 || !targets.is_contiguous())
    fail("cross_entropy", "targets", to_string(targets),
         fmt::format("{}, row-major", to_string(DType::kI32, rows)));
  if (dlogits.given() && (dlogits.shape() != logits.shape() || dlogits.dtype() != logits.dtype() ||
                          !dlogits.is_contiguous()))
    fail("cross_entropy", "dlogits", to_string(dlogits),
         fmt::format("{}, row-major", to_string(logits)));
  if (!(smoothing >= 0 && smoothing < 1))
    fail("cross_entropy", "smoothing", smoothing, "at least 0 and below 1");
}

std::int64_t count_targets(const ConstView& targets, std::int64_t vocabulary) {
  const auto* target = targets.data<std::int32_t>();
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < targets.element_count(); ++i) {
    if (target[i] == kIgnoredTarget) continue;
    if (0 > target[i] || target[i] >= vocabulary)
      fail("cross_entropy", fmt::format("targets[{}]", i), target[i],
           fmt::format("0 to {}, or {} to be ignored", vocabulary - 1, kIgnoredTarget));
    ++counted;
  }
  return counted;
}

template <typename T>
kernels::CrossEntropyProblem<T> problem_of(const CrossEntropyArgs& args, double* losses,
                                           double scale) {
  return {.rows = args.targets.element_count(),
          .vocabulary = args.logits.dim(-1),
          .logits = args.logits.data<T>(),
          .targets = args.targets.data<std::int32_t>(),
          .losses = losses,
          .dlogits = args.dlogits.given() ? args.dlogits.data<T>() : nullptr,
          .scale = scale,
          .smoothing = args.smoothing};
}

}  // namespace

CrossEntropy cross_entropy(const CrossEntropyArgs& args) {
  check(args);
  CrossEntropy result;
  result.counted = count_targets(args.targets, args.logits.dim(-1));
  const auto counted = static_cast<double>(std::max<std::int64_t>(1, result.counted));
  std::vector<double> losses(static_cast<std::size_t>(args.targets.element_count()));
  const double scale = args.gradient_scale / counted;
  if (args.logits.dtype() == DType::kF64) {
    kernels::reference::cross_entropy(problem_of<double>(args, losses.data(), scale));
  } else {
    kernels::cpu::cross_entropy(problem_of<float>(args, losses.data(), scale));
  }
  for (const double loss : losses) result.mean += loss;
  result.mean /= counted;
  return result;
}

}  // namespace heed
