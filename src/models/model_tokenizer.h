// A tokenizer for the model that reads its tokens, and its tokenizer_config.json.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "heed/tokenizer.h"

namespace heed {

/// The same tokenizer, but accepting every id below `vocabulary`: ids without a token have no text.
/// Null stays null.
std::unique_ptr<Tokenizer> padded(std::unique_ptr<Tokenizer> tokenizer, std::int64_t vocabulary);

/// Throws if the tokenizer produced a token without a row in the model, which means that tokenizer
/// and weights do not belong together. `op` begins the error.
void require_in_vocabulary(std::string_view op, const Tokenizer& tokenizer,
                           std::span<const TokenId> ids, std::int64_t vocabulary);

/// Names the class that reads `tokenizer.json` unchanged, and the role of each special token.
/// Without it `AutoTokenizer` chooses the usual class of the model's family, which may split texts
/// differently or need other files. `has_types`: the model distinguishes the two texts of a pair;
/// others reject token_type_ids or, like GPT-2, add them.
std::string tokenizer_config_json(const Tokenizer& tokenizer, bool has_types);

}  // namespace heed
