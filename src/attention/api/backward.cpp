#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "attention/api/checked.h"
#include "attention/api/gradients.h"
#include "attention/backends.h"
#include "heed/attention.h"
#include "heed/error.h"

namespace heed {
namespace {

constexpr std::string_view kBackwardOp = "attention_backward";

// The inputs of the backward pass that are not arguments: Attended and the cotangents.
std::vector<Operand> check_given(const AttentionArgs& args, const AttendedConstView& attended,
                                 const GivenLse& lse, const ConstView& dout,
                                 const ConstView& dlse) {
  std::vector<Operand> given = {{"attended.out", attended.out}, {"dout", dout}};
  for (const Operand& operand : given) {
    require_shape(kBackwardOp, operand, out_shape(args), out_legend(args));
    require_type(kBackwardOp, operand, args.q.dtype(), args.q.dtype());
    require_memory(kBackwardOp, operand);
  }
  const Operand low = {"attended.out_low", attended.out_low};
  check_out_low(kBackwardOp, args, low);
  if (low.view.given()) {
    require_memory(kBackwardOp, low);
    given.push_back(low);
  }
  if (!has_lse(args) && dlse.given())
    fail(kBackwardOp, "dlse", "given",
         fmt::format("none (the normaliser is {} and has no log-sum-exp)",
                     name(args.scores.normaliser)));
  if (!has_lse(args)) return given;
  given.push_back({"attended.lse", lse.high});
  given.push_back({"attended.lse_low", lse.low});
  if (dlse.given()) {
    given.push_back({"dlse", dlse});
    check_row_numbers(kBackwardOp, args, given.back());
  }
  return given;
}

}  // namespace

AttentionGrads attention_backward(const AttentionArgs& args, const AttendedConstView& attended,
                                  const ConstView& dout, const AttentionGradRequest& request) {
  const CheckedAttention checked(args);
  require_inputs(kBackwardOp, args);
  const GivenLse lse(kBackwardOp, args, attended);
  check_gradients(kBackwardOp, args, request, check_given(args, attended, lse, dout, request.dlse));
  std::vector<Plan::Refusal> refusals;
  const auto& candidate = choose_backward(checked.problem, args.kernel, refusals);
  const kernels::AttentionBackward backward = {
      .out = kernel_input(attended.out),
      .dout = kernel_input(dout),
      .lse = lse.high.raw(),
      .lse_low = lse.low.raw(),
      .dlse = request.dlse.given() ? request.dlse.raw() : nullptr,
      .out_low = kernel_input(attended.out_low)};
  return gradients(
      args, checked.problem, request, backward,
      [&](const kernels::AttentionBackward& wanted) { candidate.run(checked.problem, wanted); });
}

AttentionGrads attention_backward(const AttentionArgs& args, const Attended& attended,
                                  const ConstView& dout, const AttentionGradRequest& request) {
  return attention_backward(
      args, AttendedConstView{attended.out, attended.lse, attended.lse_low, attended.out_low}, dout,
      request);
}

}  // namespace heed
