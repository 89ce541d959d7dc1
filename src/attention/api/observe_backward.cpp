#include <string_view>
#include <vector>

#include "attention/api/checked.h"
#include "attention/api/gradients.h"
#include "attention/sweep/attention.h"
#include "heed/error.h"
#include "heed/observe.h"

namespace heed {
namespace {

constexpr std::string_view kObserveBackwardOp = "observe_backward";

// The inputs that are not arguments: Attended and the cotangents.
std::vector<Operand> check_given(const AttentionArgs& args,
                                 const kernels::AttentionProblem& problem, const GivenLse& lse,
                                 const ObservedCotangents& cotangents) {
  std::vector<Operand> given;
  if (has_lse(args)) given = {{"attended.lse", lse.high}, {"attended.lse_low", lse.low}};
  const Shape rows = {problem.batch, problem.heads, problem.query_length};
  const Shape keys = {problem.batch, problem.heads, problem.key_length};
  if (cotangents.dentropy.given()) {
    given.push_back({"dentropy", cotangents.dentropy});
    check_row_numbers(kObserveBackwardOp, args, given.back(), rows, "[B, H, Tq]");
  }
  if (cotangents.dreceived.given()) {
    given.push_back({"dreceived", cotangents.dreceived});
    check_row_numbers(kObserveBackwardOp, args, given.back(), keys, "[B, H, Tk]");
  }
  return given;
}

Tensor widened(const ConstView& view) {
  return view.given() ? Tensor::converted(view, DType::kF64) : Tensor();
}

const void* data_of(const ConstView& view) { return view.given() ? view.raw() : nullptr; }

}  // namespace

AttentionGrads observe_backward(const AttentionArgs& args, const AttendedConstView& attended,
                                const ObservedCotangents& cotangents,
                                const AttentionGradRequest& request) {
  CheckedAttention checked(args);
  require_inputs(kObserveBackwardOp, args);
  if (request.dlse.given())
    fail(kObserveBackwardOp, "dlse", "given", "none (attention_backward takes it)");
  if (cotangents.dentropy.given() && args.scores.normaliser == Normaliser::kNone)
    fail(kObserveBackwardOp, "dentropy", "given",
         "none (the normaliser is none, so that weights are not probabilities)");
  GivenLse lse(kObserveBackwardOp, args, attended);
  check_gradients(kObserveBackwardOp, args, request,
                  check_given(args, checked.problem, lse, cotangents));
  checked.problem.dropout = {};
  Tensor wide[2];
  kernels::WeightCotangents given = {data_of(cotangents.dentropy), data_of(cotangents.dreceived)};
  if (widen_after_reference(args, checked.problem, lse)) {
    wide[0] = widened(cotangents.dentropy);
    wide[1] = widened(cotangents.dreceived);
    given = {data_of(wide[0]), data_of(wide[1])};
  }
  return gradients(args, checked.problem, request,
                   {.lse = lse.high.raw(), .lse_low = lse.low.raw()},
                   [&](const kernels::AttentionBackward& backward) {
                     kernels::sweep_observe_backward(checked.problem, backward, given);
                   });
}

AttentionGrads observe_backward(const AttentionArgs& args, const Attended& attended,
                                const ObservedCotangents& cotangents,
                                const AttentionGradRequest& request) {
  return observe_backward(args, AttendedConstView{attended.out, attended.lse, attended.lse_low},
                          cotangents, request);
}

}  // namespace heed
