// A tokenizer beside the model that reads its tokens, and its tokenizer_config.json.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
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

/// The class that reads `tokenizer.json` as it stands, and which special tokens have which part.
/// Without it `AutoTokenizer` takes the class that is usual for the model's family, which may cut
/// texts in another way or want other files. `has_types`: the model tells two texts of a pair
/// apart; others refuse token_type_ids, or, as GPT-2, add them up.
std::string tokenizer_config_json(const Tokenizer& tokenizer, bool has_types);

}  // namespace heed
