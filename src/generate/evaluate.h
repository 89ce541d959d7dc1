// How well a decoder foresees a text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heed/models/model.h"
#include "heed/text/tokenizer.h"

namespace heed {

struct EvaluateArgs {
  std::span<const TokenId> ids;
  /// Tokens that are only seen, not asked for, at the text's begin; at least 1.
  std::int64_t given = 1;
  /// Tokens of a window: at least 2, at most the model's positions.
  std::int64_t context = 2;
  /// From a window to the next, 1 to context - 1: behind the first window a token sees context -
  /// stride tokens or more before it.
  std::int64_t stride = 1;
  /// Called as tokens have been asked for, with how many so far; may throw to stop.
  std::function<void(std::int64_t)> done = {};
};

/// Sum over the text of -log p(token | the tokens before it in its window), in nats: each token
/// once, in the first window that holds it. Reads 256 tokens at a time through a key/value cache,
/// so memory does not grow with the text. kUnsupported for a model that does not predict next
/// tokens, kCorrupt where a logit is not a number.
double text_loss(const Model& model, const EvaluateArgs& args);

}  // namespace heed
