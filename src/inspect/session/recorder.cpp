#include "inspect/session/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/api/checked.h"
#include "attention/api/without_values.h"
#include "heed/error.h"
#include "tensor/views.h"

namespace heed {
namespace {

bool keeps_level(const Session& session, const TapName& name) {
  const ModelInfo& info = session.info;
  if (!info.has_logits || name.stack == Stack::kEncoder) return false;
  if (name.kind == TapKind::kEmbedding || name.kind == TapKind::kResidual) return true;
  return name.kind == TapKind::kMiddle && keeps_middle(info, std::ssize(session.tokens));
}

std::string layer_text(const TapName& name) {
  const std::string stack =
      name.stack == Stack::kSelf ? "" : fmt::format("{} ", stack_name(name.stack));
  return fmt::format("{}layer {}", stack, name.layer);
}

[[noreturn]] void fail_not_finite(const Session& session, std::string what, float found) {
  fail({.code = ErrorCode::kCorrupt,
        .op = session.model,
        .argument = std::move(what),
        .found = static_cast<double>(found),
        .expected = "a number",
        .hint = "its weights up to there are not finite, or too large"});
}

Tensor copy_of_given(const ConstView& view) {
  return view.given() ? Tensor::copy_of(view) : Tensor();
}

// A row that sees no key has an lse of -inf.
void check_lse(const Session& session, const TapName& name, const Tensor& lse) {
  const std::span<const float> values(lse.data<float>(),
                                      static_cast<std::size_t>(lse.element_count()));
  const auto wrong = std::ranges::find_if(
      values, [](float value) { return std::isnan(value) || value == HUGE_VALF; });
  if (wrong == values.end()) return;
  const std::int64_t at = wrong - values.begin(), queries = lse.dim(2);
  fail_not_finite(
      session,
      fmt::format("{}, head {}: the lse of token {}", layer_text(name), at / queries, at % queries),
      *wrong);
}

// Checks the rows of all tokens, or of the last one alone. A logit may be -inf: sampling never
// takes such a token.
void check_rows(const Session& session, const TapName& name, const ConstView& rows) {
  const std::int64_t width = rows.dim(1), count = rows.dim(0);
  const bool are_logits = name.kind == TapKind::kLogits;
  const auto what = [&](std::int64_t t) {
    const std::int64_t token = count == 1 ? std::ssize(session.tokens) - 1 : t;
    if (are_logits) return fmt::format("the logits of token {}", token);
    if (name.kind == TapKind::kFinal) return fmt::format("the last state of token {}", token);
    return fmt::format("{}, behind its {}: the state of token {}", layer_text(name),
                       name.kind == TapKind::kMiddle ? "attention" : "MLP", token);
  };
  for (std::int64_t t = 0; t < count; ++t)
    for (std::int64_t c = 0; c < width; ++c)
      if (const float value = rows.data<float>()[t * rows.stride(0) + c];
          !std::isfinite(value) && !(are_logits && value == -HUGE_VALF))
        fail_not_finite(session, what(t), value);
}

bool is_checked(const TapName& name) {
  return name.kind == TapKind::kMiddle || name.kind == TapKind::kResidual ||
         name.kind == TapKind::kFinal || name.kind == TapKind::kLogits;
}

// Returns `x` as f16. A number beyond f16 is an error, not an infinity.
Tensor in_halves(const TapName& name, const char* what, const ConstView& x) {
  constexpr float kLargestF16 = 65504;
  Tensor numbers = Tensor::copy_of(x);
  const std::span<const float> all(numbers.data<float>(),
                                   static_cast<std::size_t>(numbers.element_count()));
  const auto beyond =
      std::ranges::find_if(all, [](float number) { return std::abs(number) > kLargestF16; });
  if (beyond != all.end())
    fail("session", "keep",
         fmt::format("f16 for {} of {}, which has {}", what, layer_text(name), *beyond),
         "f32: f16 ends at 65504", ErrorCode::kUnsupported);
  return Tensor::converted(numbers, DType::kF16);
}

// The longest row of each head of x [1, H, T, D].
std::vector<double> longest_rows(const ConstView& x) {
  const Tensor numbers = Tensor::copy_of(x);
  const std::int64_t width = x.dim(3);
  std::vector<double> longest;
  const float* row = numbers.data<float>();
  for (std::int64_t head = 0; head < x.dim(1); ++head) {
    double most = 0;
    for (std::int64_t t = 0; t < x.dim(2); ++t, row += width)
      most = std::max(most, std::inner_product(row, row + width, row, 0.0));
    longest.push_back(std::sqrt(most));
  }
  return longest;
}

// Returns how far scores can change when q and k are rounded to f16. Rounding changes a number x by
// at most u |x|, or by 2^-25 if it is below 2^-14. A product of rows then changes by at most
// (2u + u^2) |q| |k| + 2^-25 sqrt(D) (|q| + |k|), plus the product of two such errors. Each of two
// f32 sums adds at most D 2^-24 |q| |k|.
double error_of_halves(const AttentionArgs& args) {
  constexpr double kUnit = 1.0 / 2048, kLeast = 1.0 / (1 << 25), kFloatUnit = 1.0 / (1 << 24);
  const std::vector<double> q = longest_rows(args.q), k = longest_rows(args.keys.k);
  const std::vector<double> scale = resolved_scale(args);
  const auto width = static_cast<double>(args.q.dim(3));
  const std::size_t shared = q.size() / k.size();
  double largest = 0;
  for (std::size_t head = 0; head < q.size(); ++head) {
    const double a = q[head], b = k[head / shared];
    const double rounded = (2 * kUnit + kUnit * kUnit) * a * b +
                           kLeast * std::sqrt(width) * (a + b) + kLeast * kLeast * width;
    const double summed = 2 * (width + 2) * kFloatUnit * a * b * (1 + 2 * kUnit);
    largest = std::max(largest, std::abs(scale[head]) * (rounded + summed));
  }
  return largest;
}

}  // namespace

bool keeps_middle(const ModelInfo& info, std::int64_t tokens) {
  constexpr std::int64_t kMostNumbers = std::int64_t{1} << 24;  // 64 MiB
  return info.layers * tokens * info.width <= kMostNumbers;
}

void Recorder::at(const TapName& name, View value) {
  check_stop();
  const ConstView shown = value;
  if (is_checked(name)) check_rows(session_, name, shown.select(0, 0));
  if (options_.hidden && name.kind == TapKind::kFinal)
    session_.hidden = Tensor::copy_of(shown.select(0, 0));  // [1, T, C]
  if (options_.streams && keeps_level(session_, name))
    session_.streams.push_back(
        {name.kind, name.stack, name.layer, Tensor::copy_of(shown.select(0, 0))});
}

void Recorder::attended(const TapName& name, const AttentionArgs& args,
                        const AttendedConstView& attended) {
  check_stop();
  const auto stack =
      std::ranges::find(session_.stacks, name.stack, [](const auto& of) { return of.shape.stack; });
  if (stack == session_.stacks.end()) return;
  Tensor lse = Tensor::copy_of(attended.lse);
  check_lse(session_, name, lse);
  while (std::ssize(stack->layers) < name.layer) stack->layers.emplace_back();  // has no attention
  if (session_.keep.has(name.layer))
    keep(name, args, std::move(lse), Tensor::copy_of(attended.lse_low), stack->layers);
  else
    stack->layers.emplace_back();
  if (options_.layer_done) options_.layer_done();
}

void Recorder::keep(const TapName& name, const AttentionArgs& args, Tensor lse, Tensor lse_low,
                    std::vector<LayerAttention>& layers) const {
  const bool rounds = session_.keep.dtype == DType::kF16;
  const auto own = [&](const char* what, const ConstView& x) {
    return rounds ? in_halves(name, what, x) : Tensor::copy_of(x);
  };
  KeptView bias = kept(args.scores.bias);
  layers.push_back({.q = own("q", args.q),
                    .k = own("k", args.keys.k),
                    .v = own("v", args.keys.v),
                    .lse = std::move(lse),
                    .lse_low = std::move(lse_low),
                    .bias = std::move(bias.memory),
                    .slopes = copy_of_given(args.scores.alibi),
                    .sink = copy_of_given(args.scores.sink),
                    .score_error = rounds ? error_of_halves(args) : 0,
                    .extents = args.extents,
                    .mask = args.mask,
                    .scores = args.scores});
  LayerAttention& layer = layers.back();
  layer.scores.bias = bias.view;
  layer.scores.alibi = layer.slopes;
  layer.scores.sink = layer.sink;
  if (!rounds) return;
  // The log-sum-exp is that of the rounded q and k, so rows of weights still sum to 1.
  Attended attended = attention(without_values(layer.args()));
  layer.lse = std::move(attended.lse);
  layer.lse_low = std::move(attended.lse_low);
}

void Recorder::check_stop() const {
  if (options_.stop && options_.stop())
    fail({.code = ErrorCode::kInterrupted, .op = "session", .found = "stopped"});
}

}  // namespace heed
