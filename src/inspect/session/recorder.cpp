#include "inspect/session/recorder.h"

#include <algorithm>

#include "heed/base/error.h"

namespace heed {
namespace {

// Between attention and MLP the stream is kept where it is small.
bool keeps_level(const Session& session, const TapName& name) {
  constexpr std::int64_t kMostNumbers = std::int64_t{1} << 24;  // 64 MiB
  const ModelInfo& info = session.info;
  if (!info.has_logits || name.stack == Stack::kEncoder) return false;
  if (name.kind == TapKind::kEmbedding || name.kind == TapKind::kResidual) return true;
  return name.kind == TapKind::kMiddle &&
         info.layers * std::ssize(session.tokens) * info.width <= kMostNumbers;
}

}  // namespace

void Recorder::at(const TapName& name, View value) {
  check_stop();
  const ConstView shown = value;
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
  stack->layers.push_back(
      {.q = Tensor::copy_of(args.q),
       .k = Tensor::copy_of(args.keys.k),
       .v = Tensor::copy_of(args.keys.v),
       .lse = Tensor::copy_of(attended.lse),
       .lse_low = Tensor::copy_of(attended.lse_low),
       .bias = args.scores.bias.given() ? Tensor::copy_of(args.scores.bias) : Tensor(),
       .extents = args.extents,
       .mask = args.mask,
       .scores = args.scores});
  LayerAttention& kept = stack->layers.back();
  if (kept.bias.given()) kept.scores.bias = kept.bias;
  if (options_.layer_done) options_.layer_done();
}

void Recorder::check_stop() const {
  if (options_.stop && options_.stop())
    fail({.code = ErrorCode::kInterrupted, .op = "session", .found = "stopped"});
}

}  // namespace heed
