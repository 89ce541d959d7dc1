#include "heed/ops/observe_backward.h"

#include <string_view>
#include <vector>

#include "heed/base/error.h"
#include "kernels/tiled/attention.h"
#include "ops/attention_gradients.h"
#include "ops/attention_problem.h"

namespace heed {
namespace {

constexpr std::string_view kOp = "observe_backward";

// Attended and the cotangents.
std::vector<Operand> check_given(const AttentionArgs& args,
                                 const kernels::AttentionProblem& problem,
                                 const AttendedConstView& attended,
                                 const ObservedCotangents& cotangents) {
  std::vector<Operand> given;
  if (has_lse(args)) {
    given = {{"attended.lse", attended.lse}, {"attended.lse_low", attended.lse_low}};
    for (const Operand& operand : given) check_row_numbers(kOp, args, operand);
  }
  const Shape rows = {problem.batch, problem.heads, problem.query_length};
  const Shape keys = {problem.batch, problem.heads, problem.key_length};
  if (cotangents.dentropy.given()) {
    given.push_back({"dentropy", cotangents.dentropy});
    check_row_numbers(kOp, args, given.back(), rows, "[B, H, Tq]");
  }
  if (cotangents.dreceived.given()) {
    given.push_back({"dreceived", cotangents.dreceived});
    check_row_numbers(kOp, args, given.back(), keys, "[B, H, Tk]");
  }
  return given;
}

const void* data_of(const ConstView& view) { return view.given() ? view.raw() : nullptr; }

}  // namespace

AttentionGrads observe_backward(const AttentionArgs& args, const AttendedConstView& attended,
                                const ObservedCotangents& cotangents,
                                const AttentionGradRequest& request) {
  CheckedAttention checked(args);
  require_inputs(kOp, args);
  require(!request.dlse.given(),
          "observe_backward: dlse is given: attention_backward takes the cotangent of lse");
  require(!cotangents.dentropy.given() || args.scores.normaliser != Normaliser::kNone,
          "observe_backward: the normaliser is none: weights that are no probabilities have no "
          "entropy");
  check_gradients(kOp, args, request, check_given(args, checked.problem, attended, cotangents));
  checked.problem.dropout = {};
  const kernels::WeightCotangents given = {data_of(cotangents.dentropy),
                                           data_of(cotangents.dreceived)};
  return gradients(args, checked.problem, request,
                   {.lse = attended.lse.raw(), .lse_low = attended.lse_low.raw()},
                   [&](const kernels::AttentionBackward& backward) {
                     kernels::tiled_observe_backward(checked.problem, backward, given);
                   });
}

AttentionGrads observe_backward(const AttentionArgs& args, const Attended& attended,
                                const ObservedCotangents& cotangents,
                                const AttentionGradRequest& request) {
  return observe_backward(args, AttendedConstView{attended.out, attended.lse, attended.lse_low},
                          cotangents, request);
}

}  // namespace heed
