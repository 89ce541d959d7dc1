// The likeliest words of a distribution.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "heed/inspect/next_words.h"

namespace heed {

/// The `top` largest of softmax(logits), ties to the lower id, and what is left over.
NextWords likeliest(std::span<const float> logits, const Tokenizer* tokenizer, std::int64_t top);

/// [MASK] or <mask>, of an encoder that fills it.
std::optional<TokenId> mask_token_of(const Session& session);

/// What a token reads as: `#5` without a tokenizer.
std::string word_of(const Tokenizer* tokenizer, TokenId id);

}  // namespace heed
