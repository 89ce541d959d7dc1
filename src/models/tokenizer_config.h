// tokenizer_config.json, as Hugging Face's transformers reads it.
#pragma once

#include <string>

#include "heed/text/tokenizer.h"

namespace heed {

/// The class that reads `tokenizer.json` as it stands, and which special tokens have which part.
/// Without it `AutoTokenizer` takes the class that is usual for the model's family, which may cut
/// texts in another way or want other files. `has_types`: the model tells two texts of a pair
/// apart; others refuse token_type_ids, or, as GPT-2, add them up.
std::string tokenizer_config_json(const Tokenizer& tokenizer, bool has_types);

}  // namespace heed
