#include "attention/api/gradients.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "attention/backends.h"
#include "heed/error.h"

namespace heed {
namespace {

// A requested gradient: its operand, and where it may be written.
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

void check_memory(std::string_view op, const AttentionArgs& args,
                  const AttentionGradRequest& request, std::span<const Operand> given) {
  std::vector<Operand> taken = inputs(args);
  taken.insert(taken.end(), given.begin(), given.end());
  for (const auto& [wanted, into, like] : gradients_of(args, request)) {
    if (!wanted || !into.view.given()) continue;
    require_type(op, into, like.view.dtype(), args.q.dtype());
    require_shape(op, into, like.view.shape(), legend(like));
    require_memory(op, into);
    require_apart(op, into, taken);
    taken.push_back(into);
  }
}

// dk and dv have the form of k and v. Refuses pages, which may be shared, and integers, which have
// no gradient.
void check_key_gradients(std::string_view op, const AttentionArgs& args,
                         const AttentionGradRequest& request) {
  for (const auto& [wanted, into, like] : gradients_of(args, request)) {
    if (!wanted || like.name == "q") continue;
    const std::string_view why = gradient_refusal(args.keys, like.view);
    if (!why.empty())
      fail(op, fmt::format("d{}", like.name), "asked for",
           fmt::format("none ({} {}; only contiguous and packed keys and values of "
                       "floating types have gradients)",
                       like.name, why));
  }
}

void check_asked(std::string_view op, bool asked, std::string_view gradient, const Operand& of) {
  if (asked && !of.view.given())
    fail({.op = op, .found = fmt::format("{} needs {}, which is not given", gradient, of.name)});
}

// One gradient: its memory, and the tensor that owns it if the caller gave none.
View gradient(const Wanted& wanted, const View& into, Tensor& owner) {
  if (!wanted.wanted) return {};
  if (into.given()) return into;
  owner = Tensor::empty(wanted.like.view.shape(), wanted.like.view.dtype());
  return owner;
}

// The gradients with one number per head (sink, slope, scale), which kernels compute in double.
class HeadGradients {
 public:
  explicit HeadGradients(std::int64_t heads) : heads_(heads) {}

  double* asked(bool wanted, std::vector<double>& memory) const {
    if (!wanted) return nullptr;
    memory.assign(static_cast<std::size_t>(heads_) + 1, 0.0);  // not null even without heads
    return memory.data();
  }

  Tensor rounded(const std::vector<double>& memory, DType dtype) const {
    if (memory.empty()) return {};
    return Tensor::converted(ConstView(memory.data(), DType::kF64, Shape{heads_}), dtype);
  }

  // With one scale for all heads, the gradient is the sum over heads.
  Tensor of_scale(const std::vector<double>& memory, bool one, DType dtype) const {
    if (memory.empty() || !one) return rounded(memory, dtype);
    double sum = 0;
    for (const double each : memory) sum += each;
    return Tensor::converted(ConstView(&sum, DType::kF64, Shape{1}), dtype);
  }

 private:
  std::int64_t heads_;
};

// Allocates dbias, and finds the axes over which it is summed.
void place_bias_gradient(const ConstView& bias, AttentionGrads& grads,
                         kernels::AttentionBackward& backward) {
  grads.dbias = Tensor::empty(bias.shape(), bias.dtype());
  const kernels::Input to = broadcast_input(grads.dbias);
  backward.dbias = {grads.dbias.view().raw(), to.batch, to.head, to.row, to.column, to.dtype};
  const int missing = 4 - bias.rank();
  for (int axis = 0; axis < 4; ++axis)
    backward.dbias_sums[axis] = axis < missing || bias.dim(axis - missing) == 1;
}

}  // namespace

void check_request(std::string_view op, const AttentionArgs& args,
                   const AttentionGradRequest& request) {
  for (const auto& [wanted, into, like] : gradients_of(args, request))
    if (!wanted && into.view.given())
      fail(op, into.name, "given", fmt::format("none (d{} is not asked for)", like.name));
  if (!(request.dq || request.dk || request.dv || request.dbias || request.dsink ||
        request.dslope || request.dscale))
    fail({.op = op, .found = "no gradient is asked for", .expected = "at least one"});
  check_key_gradients(op, args, request);
  check_asked(op, request.dbias, "dbias", {"scores.bias", args.scores.bias});
  check_asked(op, request.dsink, "dsink", {"scores.sink", args.scores.sink});
  check_asked(op, request.dslope, "dslope", {"scores.alibi", args.scores.alibi});
}

void check_gradients(std::string_view op, const AttentionArgs& args,
                     const AttentionGradRequest& request, std::span<const Operand> given) {
  check_request(op, args, request);
  check_memory(op, args, request, given);
}

AttentionGrads gradients(const AttentionArgs& args, const kernels::AttentionProblem& problem,
                         const AttentionGradRequest& request, kernels::AttentionBackward backward,
                         const std::function<void(const kernels::AttentionBackward&)>& run) {
  AttentionGrads grads;
  const auto [q, k, v] = gradients_of(args, request);
  backward.dq = kernel_output(gradient(q, request.dq_into, grads.dq));
  backward.dk = kernel_output(gradient(k, request.dk_into, grads.dk));
  backward.dv = kernel_output(gradient(v, request.dv_into, grads.dv));
  if (request.dbias) place_bias_gradient(args.scores.bias, grads, backward);
  const HeadGradients of_heads(problem.heads);
  std::vector<double> dsink;
  std::vector<double> dslope;
  std::vector<double> dscale;
  backward.dsink = of_heads.asked(request.dsink, dsink);
  backward.dslope = of_heads.asked(request.dslope, dslope);
  backward.dscale = of_heads.asked(request.dscale, dscale);
  run(backward);
  grads.dsink = of_heads.rounded(dsink, args.scores.sink.dtype());
  grads.dslope = of_heads.rounded(dslope, args.scores.alibi.dtype());
  grads.dscale = of_heads.of_scale(dscale, args.scores.scale.size() <= 1, lse_type(args));
  return grads;
}

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
