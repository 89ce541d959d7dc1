// How well a decoder predicts a text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "heed/model.h"
#include "heed/tokenizer.h"

namespace heed {

struct EvaluateArgs {
  std::span<const TokenId> ids;
  /// Tokens at the beginning of the text that are context only; at least 1.
  std::int64_t given = 1;
  /// Tokens per window: at least 2, at most the model's positions.
  std::int64_t context = 2;
  /// Tokens from one window to the next, 1 to context - 1: after the first window, a token sees at
  /// least context - stride tokens before it.
  std::int64_t stride = 1;
  /// Called with the number of tokens scored so far; may throw to stop.
  std::function<void(std::int64_t)> done = {};
};

/// Sum over the text of -log p(token | the tokens before it in its window), in nats. Each token
/// counts once, in the first window that contains it. Reads 256 tokens at a time through a
/// key/value cache, so memory does not grow with the text. kUnsupported if the model does not
/// predict next tokens, kCorrupt if a logit is NaN.
double text_loss(const Model& model, const EvaluateArgs& args);

}  // namespace heed
