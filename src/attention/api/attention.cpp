#include "heed/attention.h"

#include <fmt/format.h>

#include <array>

#include "attention/api/checked.h"
#include "attention/backends.h"
#include "heed/error.h"

namespace heed {
namespace {

constexpr std::string_view kOp = "attention";

void run(const AttentionArgs& args, const CheckedAttention& checked, const AttendedView& into) {
  std::vector<Plan::Refusal> refusals;
  const auto& candidate = choose_forward(checked.problem, args.kernel, refusals);
  candidate.run(checked.problem, {kernel_output(into.out), into.lse.raw(), into.lse_low.raw(),
                                  kernel_output(into.out_low)});
}

void check_lse_memory(const AttentionArgs& args, const Operand& lse) {
  if (!lse.view.given()) return;
  if (!has_lse(args))
    fail(kOp, lse.name, "given",
         fmt::format("none (the normaliser is {})", name(args.scores.normaliser)));
  require_shape(kOp, lse, lse_shape(args), lse_legend(args));
  require_type(kOp, lse, lse_type(args), args.q.dtype());
  require_row_major(kOp, lse);
}

// Kernels always write both halves, so allocates those that the caller did not give.
void ensure_lse(const AttentionArgs& args, View& lse, Tensor& memory) {
  if (has_lse(args) && !lse.given()) lse = memory = Tensor::empty(lse_shape(args), lse_type(args));
}

}  // namespace

Attended attention(const AttentionArgs& args) {
  const CheckedAttention checked(args);
  require_inputs(kOp, args);
  Attended attended;
  attended.out = Tensor::empty(out_shape(args), args.q.dtype());
  if (has_out_low(args)) attended.out_low = Tensor::empty(out_shape(args), args.q.dtype());
  if (has_lse(args)) {
    attended.lse = Tensor::empty(lse_shape(args), lse_type(args));
    attended.lse_low = Tensor::empty(lse_shape(args), lse_type(args));
  }
  run(args, checked, {attended.out, attended.lse, attended.lse_low, attended.out_low});
  return attended;
}

void attention(const AttentionArgs& args, const AttendedView& into) {
  const CheckedAttention checked(args);
  require_inputs(kOp, args);
  const std::array<Operand, 4> outputs = {
      {{"out", into.out}, {"lse", into.lse}, {"lse_low", into.lse_low}, {"out_low", into.out_low}}};
  require_shape(kOp, outputs[0], out_shape(args), out_legend(args));
  require_type(kOp, outputs[0], args.q.dtype(), args.q.dtype());
  if (into.lse_low.given() && !into.lse.given())
    fail(kOp, "lse_low", "given without lse", "both, or lse alone");
  check_lse_memory(args, outputs[1]);
  check_lse_memory(args, outputs[2]);
  check_out_low(kOp, args, outputs[3]);
  std::vector<Operand> taken = inputs(args);
  for (const Operand& output : outputs) {
    if (!output.view.given()) continue;
    require_memory(kOp, output);
    require_apart(kOp, output, taken);
    taken.push_back(output);
  }
  AttendedView complete = into;
  Tensor lse;
  Tensor lse_low;
  ensure_lse(args, complete.lse, lse);
  ensure_lse(args, complete.lse_low, lse_low);
  run(args, checked, complete);
}

}  // namespace heed
