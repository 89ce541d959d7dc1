#include "heed/ops/attention.h"

#include <array>

#include "ops/attention_candidates.h"
#include "ops/attention_problem.h"

namespace heed {
namespace {

constexpr std::string_view kBackward = "attention_backward";

Shape out_shape(const AttentionArgs& args) {
  return {args.q.dim(0), args.q.dim(1), args.q.dim(2), args.keys.v.dim(3)};
}

Shape lse_shape(const AttentionArgs& args) { return {args.q.dim(0), args.q.dim(1), args.q.dim(2)}; }

void run(const AttentionArgs& args, const CheckedAttention& checked, const AttendedView& into) {
  std::vector<Plan::Refusal> refusals;
  const auto& candidate = choose_forward(checked.problem, args.kernel, refusals);
  candidate.run(checked.problem, {kernel_output(into.out), into.lse.raw(), into.lse_low.raw()});
}

// One gradient: where it goes, and the tensor that owns it if the caller gave no memory.
View gradient(bool wanted, const View& into, const ConstView& like, Tensor& owner) {
  if (!wanted) return {};
  if (into.given()) return into;
  owner = Tensor::empty(like.shape(), like.dtype());
  return owner;
}

void check_gradient_memory(const AttentionArgs& args, const AttendedConstView& attended,
                           const ConstView& dout, const AttentionGradRequest& request) {
  struct Wanted {
    bool wanted;
    Operand into;
    Operand like;
  };
  const std::array<Wanted, 3> all = {
      {{request.dq, {"dq_into", request.dq_into}, {"q", args.q}},
       {request.dk, {"dk_into", request.dk_into}, {"k", args.keys.k}},
       {request.dv, {"dv_into", request.dv_into}, {"v", args.keys.v}}}};
  std::vector<Operand> taken = {{"q", args.q},
                                {"k", args.keys.k},
                                {"v", args.keys.v},
                                {"attended.out", attended.out},
                                {"dout", dout},
                                {"attended.lse", attended.lse},
                                {"attended.lse_low", attended.lse_low},
                                {"dlse", request.dlse}};
  for (const auto& [wanted, into, like] : all) {
    if (!wanted || !into.view.given()) continue;
    require_type(kBackward, into, args.q.dtype());
    require_shape(kBackward, into, like.view.shape(),
                  like.name == "q"   ? "[B, H, Tq, D]"
                  : like.name == "k" ? "[B, G, Tk, D]"
                                     : "[B, G, Tk, Dv]");
    require_apart(kBackward, into, taken);
    taken.push_back(into);
  }
}

void check_backward(const AttentionArgs& args, const AttendedConstView& attended,
                    const ConstView& dout, const AttentionGradRequest& request) {
  const Operand out = {"attended.out", attended.out};
  const Operand cotangent = {"dout", dout};
  for (const Operand& operand : {out, cotangent}) {
    require_shape(kBackward, operand, out_shape(args), "[B, H, Tq, Dv]");
    require_type(kBackward, operand, args.q.dtype());
  }
  std::vector<Operand> rows = {{"attended.lse", attended.lse},
                               {"attended.lse_low", attended.lse_low}};
  if (request.dlse.given()) rows.push_back({"dlse", request.dlse});
  for (const Operand& operand : rows) {
    require_shape(kBackward, operand, lse_shape(args), "[B, H, Tq]");
    require_type(kBackward, operand, args.q.dtype());
    require_row_major(kBackward, operand);
  }
  check_gradient_memory(args, attended, dout, request);
}

kernels::Output output_or_null(const View& view) {
  return view.given() ? kernel_output(view) : kernels::Output{};
}

}  // namespace

Attended attention(const AttentionArgs& args) {
  const CheckedAttention checked(args);
  const DType dtype = args.q.dtype();
  Attended attended = {Tensor::empty(out_shape(args), dtype), Tensor::empty(lse_shape(args), dtype),
                       Tensor::empty(lse_shape(args), dtype)};
  run(args, checked, {attended.out, attended.lse, attended.lse_low});
  return attended;
}

void attention(const AttentionArgs& args, const AttendedView& into) {
  const CheckedAttention checked(args);
  std::vector<Operand> taken = {{"q", args.q}, {"k", args.keys.k}, {"v", args.keys.v}};
  const std::array<Operand, 3> outputs = {
      {{"out", into.out}, {"lse", into.lse}, {"lse_low", into.lse_low}}};
  for (const Operand& output : outputs) {
    const bool is_out = output.name == "out";
    require_shape("attention", output, is_out ? out_shape(args) : lse_shape(args),
                  is_out ? "[B, H, Tq, Dv]" : "[B, H, Tq]");
    require_type("attention", output, args.q.dtype());
    if (!is_out) require_row_major("attention", output);
    require_apart("attention", output, taken);
    taken.push_back(output);
  }
  run(args, checked, into);
}

AttentionGrads attention_backward(const AttentionArgs& args, const AttendedConstView& attended,
                                  const ConstView& dout, const AttentionGradRequest& request) {
  const CheckedAttention checked(args);
  check_backward(args, attended, dout, request);
  std::vector<Plan::Refusal> refusals;
  const auto& candidate = choose_backward(checked.problem, args.kernel, refusals);
  AttentionGrads grads;
  const View dq = gradient(request.dq, request.dq_into, args.q, grads.dq);
  const View dk = gradient(request.dk, request.dk_into, args.keys.k, grads.dk);
  const View dv = gradient(request.dv, request.dv_into, args.keys.v, grads.dv);
  candidate.run(checked.problem, {.out = kernel_input(attended.out),
                                  .dout = kernel_input(dout),
                                  .lse = attended.lse.raw(),
                                  .lse_low = attended.lse_low.raw(),
                                  .dlse = request.dlse.given() ? request.dlse.raw() : nullptr,
                                  .dq = output_or_null(dq),
                                  .dk = output_or_null(dk),
                                  .dv = output_or_null(dv)});
  return grads;
}

AttentionGrads attention_backward(const AttentionArgs& args, const Attended& attended,
                                  const ConstView& dout, const AttentionGradRequest& request) {
  return attention_backward(args, AttendedConstView{attended.out, attended.lse, attended.lse_low},
                            dout, request);
}

}  // namespace heed
