#include <array>
#include <string_view>

#include "heed/base/error.h"
#include "heed/ops/attention.h"
#include "ops/attention_candidates.h"
#include "ops/attention_problem.h"

namespace heed {
namespace {

constexpr std::string_view kOp = "attention_backward";

// A gradient that is asked for, where it may go, and what it is the gradient of.
struct Wanted {
  bool wanted;
  Operand into;
  Operand like;
};

std::array<Wanted, 3> gradients_of(const AttentionArgs& args, const AttentionGradRequest& request) {
  return {{{request.dq, {"dq_into", request.dq_into}, {"q", args.q}},
           {request.dk, {"dk_into", request.dk_into}, {"k", args.keys.k}},
           {request.dv, {"dv_into", request.dv_into}, {"v", args.keys.v}}}};
}

std::string_view legend(const Operand& like) {
  if (is_packed(like.view))
    return like.name == "q"   ? "[H, total, D]"
           : like.name == "k" ? "[G, total, D]"
                              : "[G, total, Dv]";
  return like.name == "q" ? "[B, H, Tq, D]" : like.name == "k" ? "[B, G, Tk, D]" : "[B, G, Tk, Dv]";
}

void check_gradient_memory(const AttentionArgs& args, const AttentionGradRequest& request,
                           std::span<const Operand> given) {
  std::vector<Operand> taken = inputs(args);
  taken.insert(taken.end(), given.begin(), given.end());
  for (const auto& [wanted, into, like] : gradients_of(args, request)) {
    if (!wanted || !into.view.given()) continue;
    require_type(kOp, into, like.view.dtype(), args.q.dtype());
    require_shape(kOp, into, like.view.shape(), legend(like));
    require_memory(kOp, into);
    require_apart(kOp, into, taken);
    taken.push_back(into);
  }
}

void check_asked(bool asked, std::string_view gradient, const Operand& of) {
  require(!asked || of.view.given(), "attention_backward: {} is asked for but {} is not given",
          gradient, of.name);
}

// Gradients by k and v have the form of k and v: pages may be shared, and integers have none.
void check_key_gradients(const AttentionArgs& args, const AttentionGradRequest& request) {
  for (const auto& [wanted, into, like] : gradients_of(args, request)) {
    if (!wanted || like.name == "q") continue;
    const std::string_view why = gradient_refusal(args.keys, like.view);
    require(why.empty(),
            "attention_backward: d{} is asked for but {} {}: only strided and packed keys and "
            "values of floating types have gradients",
            like.name, like.name, why);
  }
}

// Attended and the cotangents.
std::vector<Operand> check_given(const AttentionArgs& args, const AttendedConstView& attended,
                                 const ConstView& dout, const ConstView& dlse) {
  std::vector<Operand> given = {{"attended.out", attended.out}, {"dout", dout}};
  for (const Operand& operand : given) {
    require_shape(kOp, operand, out_shape(args), out_legend(args));
    require_type(kOp, operand, args.q.dtype(), args.q.dtype());
    require_memory(kOp, operand);
  }
  require(has_lse(args) || !dlse.given(),
          "attention_backward: dlse is given but the normaliser is {}: it has no log-sum-exp",
          name(args.scores.normaliser));
  if (!has_lse(args)) return given;
  std::vector<Operand> rows = {{"attended.lse", attended.lse},
                               {"attended.lse_low", attended.lse_low}};
  if (dlse.given()) rows.push_back({"dlse", dlse});
  for (const Operand& operand : rows) {
    require_shape(kOp, operand, lse_shape(args), lse_legend(args));
    require_type(kOp, operand, lse_type(args), args.q.dtype());
    require_row_major(kOp, operand);
    require_memory(kOp, operand);
    given.push_back(operand);
  }
  return given;
}

void check(const AttentionArgs& args, const AttendedConstView& attended, const ConstView& dout,
           const AttentionGradRequest& request) {
  require_inputs(kOp, args);
  check_key_gradients(args, request);
  const std::vector<Operand> given = check_given(args, attended, dout, request.dlse);
  check_asked(request.dbias, "dbias", {"scores.bias", args.scores.bias});
  check_asked(request.dsink, "dsink", {"scores.sink", args.scores.sink});
  check_asked(request.dslope, "dslope", {"scores.alibi", args.scores.alibi});
  check_gradient_memory(args, request, given);
}

// One gradient: where it goes, and the tensor that owns it if the caller gave no memory.
View gradient(const Wanted& wanted, const View& into, Tensor& owner) {
  if (!wanted.wanted) return {};
  if (into.given()) return into;
  owner = Tensor::empty(wanted.like.view.shape(), wanted.like.view.dtype());
  return owner;
}

// The gradients of one number a head: kernels give them in double.
class HeadGradients {
 public:
  explicit HeadGradients(std::int64_t heads) : heads_(heads) {}

  double* asked(bool wanted, std::vector<double>& memory) const {
    if (!wanted) return nullptr;
    memory.assign(static_cast<std::size_t>(heads_) + 1, 0.0);  // never null, even without heads
    return memory.data();
  }

  Tensor rounded(const std::vector<double>& memory, DType dtype) const {
    if (memory.empty()) return {};
    return Tensor::converted(ConstView(memory.data(), DType::kF64, Shape{heads_}), dtype);
  }

  // One scale for all heads: its gradient is their sum.
  Tensor of_scale(const std::vector<double>& memory, bool one, DType dtype) const {
    if (memory.empty() || !one) return rounded(memory, dtype);
    double sum = 0;
    for (const double each : memory) sum += each;
    return Tensor::converted(ConstView(&sum, DType::kF64, Shape{1}), dtype);
  }

 private:
  std::int64_t heads_;
};

}  // namespace

AttentionGrads attention_backward(const AttentionArgs& args, const AttendedConstView& attended,
                                  const ConstView& dout, const AttentionGradRequest& request) {
  const CheckedAttention checked(args);
  check(args, attended, dout, request);
  std::vector<Plan::Refusal> refusals;
  const auto& candidate =
      choose_backward(checked.problem, args.kernel, refusals, {.dscale = request.dscale});
  AttentionGrads grads;
  const auto [q, k, v] = gradients_of(args, request);
  kernels::AttentionBackward backward = {
      .out = kernel_input(attended.out),
      .dout = kernel_input(dout),
      .lse = attended.lse.raw(),
      .lse_low = attended.lse_low.raw(),
      .dlse = request.dlse.given() ? request.dlse.raw() : nullptr,
      .dq = kernel_output(gradient(q, request.dq_into, grads.dq)),
      .dk = kernel_output(gradient(k, request.dk_into, grads.dk)),
      .dv = kernel_output(gradient(v, request.dv_into, grads.dv))};
  if (request.dbias) {
    const ConstView& bias = args.scores.bias;
    grads.dbias = Tensor::empty(bias.shape(), bias.dtype());
    const kernels::Input to = broadcast_input(grads.dbias);
    backward.dbias = {grads.dbias.view().raw(), to.batch, to.head, to.row, to.column, to.dtype};
    const int missing = 4 - bias.rank();
    for (int axis = 0; axis < 4; ++axis)
      backward.dbias_sums[axis] = axis < missing || bias.dim(axis - missing) == 1;
  }
  const HeadGradients of_heads(checked.problem.heads);
  std::vector<double> dsink;
  std::vector<double> dslope;
  std::vector<double> dscale;
  backward.dsink = of_heads.asked(request.dsink, dsink);
  backward.dslope = of_heads.asked(request.dslope, dslope);
  backward.dscale = of_heads.asked(request.dscale, dscale);
  candidate.run(checked.problem, backward);
  grads.dsink = of_heads.rounded(dsink, args.scores.sink.dtype());
  grads.dslope = of_heads.rounded(dslope, args.scores.alibi.dtype());
  grads.dscale = of_heads.of_scale(dscale, args.scores.scale.size() <= 1, lse_type(args));
  return grads;
}

AttentionGrads attention_backward(const AttentionArgs& args, const Attended& attended,
                                  const ConstView& dout, const AttentionGradRequest& request) {
  return attention_backward(args, AttendedConstView{attended.out, attended.lse, attended.lse_low},
                            dout, request);
}

}  // namespace heed
