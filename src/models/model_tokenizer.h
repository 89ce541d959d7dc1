// A tokenizer beside the model that reads its tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "heed/text/tokenizer.h"

namespace heed {

/// The same tokenizer, which takes every id below `vocabulary`: one that no token has gives no
/// text. Null stays null.
std::unique_ptr<Tokenizer> padded(std::unique_ptr<Tokenizer> tokenizer, std::int64_t vocabulary);

/// Fails where the tokenizer made a token that the model has no row for: tokenizer and weights do
/// not belong together. `op` says who asks.
void require_in_vocabulary(std::string_view op, const Tokenizer& tokenizer,
                           std::span<const TokenId> ids, std::int64_t vocabulary);

}  // namespace heed
