#include "inspect/session/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "heed/error.h"
#include "tensor/views.h"

namespace heed {
namespace {

// Between attention and MLP the stream is kept where it is small.
bool keeps_level(const Session& session, const TapName& name) {
  constexpr std::int64_t kMostKeptNumbers = std::int64_t{1} << 24;  // 64 MiB
  const ModelInfo& info = session.info;
  if (!info.has_logits || name.stack == Stack::kEncoder) return false;
  if (name.kind == TapKind::kEmbedding || name.kind == TapKind::kResidual) return true;
  return name.kind == TapKind::kMiddle &&
         info.layers * std::ssize(session.tokens) * info.width <= kMostKeptNumbers;
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

// The rows of all tokens, or of the last one alone; -inf is a logit that no sampling takes.
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

}  // namespace

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
  KeptView bias = kept(args.scores.bias);
  stack->layers.push_back({.q = Tensor::copy_of(args.q),
                           .k = Tensor::copy_of(args.keys.k),
                           .v = Tensor::copy_of(args.keys.v),
                           .lse = Tensor::copy_of(attended.lse),
                           .lse_low = Tensor::copy_of(attended.lse_low),
                           .bias = std::move(bias.memory),
                           .slopes = copy_of_given(args.scores.alibi),
                           .sink = copy_of_given(args.scores.sink),
                           .extents = args.extents,
                           .mask = args.mask,
                           .scores = args.scores});
  LayerAttention& layer = stack->layers.back();
  check_lse(session_, name, layer.lse);
  layer.scores.bias = bias.view;
  layer.scores.alibi = layer.slopes;
  layer.scores.sink = layer.sink;
  if (options_.layer_done) options_.layer_done();
}

void Recorder::check_stop() const {
  if (options_.stop && options_.stop())
    fail({.code = ErrorCode::kInterrupted, .op = "session", .found = "stopped"});
}

}  // namespace heed
