// The names that special tokens usually have, and which of them a tokenizer has.
#pragma once

#include <initializer_list>
#include <string_view>

#include "heed/text/tokenizer.h"

namespace heed {

/// The first of these names that the tokenizer has, or -1.
TokenId find_first(const Tokenizer& tokenizer, std::initializer_list<std::string_view> names);

/// `[MASK]` of BERT, `<mask>` of RoBERTa; -1 where there is none.
TokenId mask_token_of(const Tokenizer& tokenizer);
/// What fills short texts up; -1 where there is none.
TokenId pad_token_of(const Tokenizer& tokenizer);

}  // namespace heed
