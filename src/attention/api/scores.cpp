#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "attention/api/checked.h"
#include "base/machine.h"
#include "base/numbers.h"
#include "heed/error.h"
#include "tensor/text.h"

namespace heed {

std::vector<double> resolved_scale(const AttentionArgs& args) {
  const std::vector<double>& given = args.scores.scale;
  const std::int64_t heads = args.q.dim(-3);
  const auto count = static_cast<std::int64_t>(given.size());
  if (count > 1 && count != heads)
    fail("attention", "scores.scale", fmt::format("a list of {}", count),
         fmt::format("none, one or {} entries (q's heads)", heads));
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!std::isfinite(given[i]))
      fail("attention", count == 1 ? "scores.scale" : fmt::format("scores.scale[{}]", i), given[i],
           "a finite number");
  if (count == heads && heads > 0) return given;
  const bool dot = args.scores.similarity == Similarity::kDot;
  const double otherwise = dot ? 1 / std::sqrt(static_cast<double>(args.q.dim(-1))) : 1;
  return std::vector<double>(static_cast<std::size_t>(heads), given.empty() ? otherwise : given[0]);
}

namespace {

void check_bias(const AttentionArgs& args, const kernels::AttentionProblem& problem) {
  const ConstView& bias = args.scores.bias;
  if (!is_floating(bias.dtype()))
    fail({.op = "attention",
          .argument = "scores.bias",
          .found = name(bias.dtype()),
          .expected = "f64, f32, f16 or bf16",
          .hint = "a boolean is a mask: keep"});
  const Shape wanted = {problem.batch, problem.heads, problem.query_length, problem.key_length};
  const int missing = 4 - bias.rank();
  bool fits = missing >= 0;
  for (int axis = std::max(missing, 0); fits && axis < 4; ++axis)
    fits = bias.dim(axis - missing) == 1 || bias.dim(axis - missing) == wanted[axis];
  if (!fits)
    fail("attention", "scores.bias.shape", to_string(bias.shape()),
         fmt::format("one that broadcasts to [B, H, Tq, Tk] = {}", wanted));
}

// One number per head; empty if the view is not given.
std::vector<double> numbers_of_heads(std::string_view what, const ConstView& view,
                                     std::int64_t heads) {
  if (!view.given()) return {};
  if (view.shape() != Shape{heads} || !is_floating(view.dtype()))
    fail("attention", what, to_string(view),
         fmt::format("a float for each of the {} heads", heads));
  require_memory("attention", {what, view});
  const Tensor numbers = Tensor::converted(view, DType::kF64);
  return {numbers.data<double>(), numbers.data<double>() + heads};
}

void check_slopes(const std::vector<double>& slopes) {
  for (std::size_t h = 0; h < slopes.size(); ++h)
    if (!std::isfinite(slopes[h]))
      fail("attention", fmt::format("scores.alibi[{}]", h), slopes[h], "a finite number");
}

void check_sinks(const std::vector<double>& sinks) {
  for (std::size_t h = 0; h < sinks.size(); ++h)
    if (!(sinks[h] < std::numeric_limits<double>::infinity()))
      fail("attention", fmt::format("scores.sink[{}]", h), sinks[h],
           "a finite number, or -inf for none");
}

constexpr double kMostOfF32 = std::numeric_limits<float>::max();
constexpr double kLeastOfF32 = std::numeric_limits<float>::min();
constexpr double kMostScale = 0x1p127;
constexpr double kMostSoftcap = 0x1p126;  // the inverse is a normal number

void check_magnitudes(std::string_view what, const std::vector<double>& numbers, double most) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!(std::abs(numbers[i]) <= most || std::isinf(numbers[i])))
      fail("attention", fmt::format("scores.{}[{}]", what, i), numbers[i],
           fmt::format("at most {:.2g} in magnitude for scores of f32", most));
}

// Rejects numbers that are finite in double but infinite, or 0, in f32, in which scores are
// computed.
void check_held_by_f32(const Scores& scores, const CheckedAttention& checked) {
  if (!(scores.softcap == 0 || (scores.softcap >= kLeastOfF32 && scores.softcap <= kMostSoftcap)))
    fail("attention", "scores.softcap", scores.softcap,
         fmt::format("0 for none, or {:.2g} to {:.2g} for scores of f32", kLeastOfF32,
                     kMostSoftcap));
  check_magnitudes("scale", scores.scale, kMostScale);
  check_magnitudes("alibi", checked.slope, kMostOfF32);
  check_magnitudes("sink", checked.sink, kMostOfF32);
}

void resolve_dropout(const AttentionArgs& args, kernels::DropoutRule& rule) {
  if (!args.dropout.has_value()) return;
  const Dropout& dropout = *args.dropout;
  if (!(dropout.rate >= 0 && dropout.rate <= 1))
    fail("attention", "dropout.rate", dropout.rate, "0 to 1");
  rule = {.threshold = static_cast<std::uint64_t>(std::round(dropout.rate * 0x1p32)),
          .scale = dropout.rate < 1 ? 1 / (1 - dropout.rate) : 0,
          .seed = dropout.seed,
          .offset = dropout.offset,
          .first_row = dropout.first_row};
}

kernels::Similarity similarity_of(Similarity similarity) {
  switch (similarity) {
    case Similarity::kCosine:
      return kernels::Similarity::kCosine;
    case Similarity::kGaussian:
      return kernels::Similarity::kGaussian;
    case Similarity::kAbsolute:
      return kernels::Similarity::kAbsolute;
    default:
      return kernels::Similarity::kDot;
  }
}

kernels::Normaliser normaliser_of(Normaliser normaliser) {
  switch (normaliser) {
    case Normaliser::kSigmoid:
      return kernels::Normaliser::kSigmoid;
    case Normaliser::kNone:
      return kernels::Normaliser::kNone;
    default:
      return kernels::Normaliser::kSoftmax;
  }
}

}  // namespace

std::string_view name(Normaliser normaliser) {
  switch (normaliser) {
    case Normaliser::kSigmoid:
      return "sigmoid";
    case Normaliser::kNone:
      return "none";
    default:
      return "softmax";
  }
}

void resolve_scores(const AttentionArgs& args, CheckedAttention& checked) {
  const Scores& scores = args.scores;
  kernels::AttentionProblem& problem = checked.problem;
  require_enumerator("attention", "scores.similarity", scores.similarity, Similarity::kAbsolute);
  require_enumerator("attention", "scores.normaliser", scores.normaliser, Normaliser::kNone);
  checked.scale = resolved_scale(args);
  problem.scale = checked.scale.data();
  problem.in_pairs =
      problem.q.dtype == DType::kBF16 && problem.k.dtype == DType::kBF16 && multiplies_bf16_fast();
  if (!(scores.softcap >= 0 && std::isfinite(scores.softcap)))
    fail("attention", "scores.softcap", scores.softcap, "a positive number, or 0 for none");
  if (scores.bias.given()) check_bias(args, problem);
  checked.slope = numbers_of_heads("scores.alibi", scores.alibi, problem.heads);
  checked.sink = numbers_of_heads("scores.sink", scores.sink, problem.heads);
  check_slopes(checked.slope);
  check_sinks(checked.sink);
  if (lse_type(args) != DType::kF64) {
    check_held_by_f32(scores, checked);
    for (double& sink : checked.sink) sink = static_cast<double>(static_cast<float>(sink));
  }
  if (scores.sink.given() && !has_lse(args))
    fail("attention", "scores.sink", "given",
         fmt::format("none (the normaliser is {}; only softmax has a sink)",
                     name(scores.normaliser)));
  problem.score = {.similarity = similarity_of(scores.similarity),
                   .normaliser = normaliser_of(scores.normaliser),
                   .softcap = scores.softcap,
                   .bias = scores.bias.given() ? broadcast_input(scores.bias) : kernels::Input{},
                   .slope = scores.alibi.given() ? checked.slope.data() : nullptr,
                   .sink = scores.sink.given() ? checked.sink.data() : nullptr};
  resolve_dropout(args, problem.dropout);
}

}  // namespace heed
