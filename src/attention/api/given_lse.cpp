#include "attention/api/given_lse.h"

#include <vector>

#include "attention/backends.h"

namespace heed {

GivenLse::GivenLse(std::string_view op, const AttentionArgs& args,
                   const AttendedConstView& attended)
    : high(attended.lse), low(attended.lse_low) {
  if (!has_lse(args)) {
    high = low = {};
    return;
  }
  check_row_numbers(op, args, {"attended.lse", high});
  if (!low.given()) low = low_memory = Tensor::zeros(high.shape(), high.dtype());
  check_row_numbers(op, args, {"attended.lse_low", low});
}

bool widen_after_reference(const AttentionArgs& args, kernels::AttentionProblem& problem,
                           GivenLse& lse) {
  std::vector<Plan::Refusal> refusals;
  if (choose_forward(problem, args.kernel, refusals).name != "reference") return false;
  problem.far_scores_of_f32 = problem.dtype != DType::kF64;
  problem.dtype = DType::kF64;
  if (!has_lse(args)) return true;
  lse.high = lse.high_memory = Tensor::converted(lse.high, DType::kF64);
  lse.low = lse.low_memory = Tensor::converted(lse.low, DType::kF64);
  return true;
}

}  // namespace heed
