// A tokenizer beside the model that reads its tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "heed/text/tokenizer.h"

namespace heed {

/// Fails where the tokenizer made a token that the model has no row for: tokenizer and weights do
/// not belong together. `op` says who asks.
void require_in_vocabulary(std::string_view op, const Tokenizer& tokenizer,
                           std::span<const TokenId> ids, std::int64_t vocabulary);

}  // namespace heed
