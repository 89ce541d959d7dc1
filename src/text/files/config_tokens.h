// What tokenizer_config.json says of a tokenizer whose own file says less.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_file.h"

namespace heed {

/// The tokens of `added_tokens_decoder`.
std::vector<AddedToken> added_tokens_of(const JsonText& config);

/// {"pad_token": "[PAD]"}, or {"pad_token": {"content": "[PAD]"}}; else `standard`.
std::string token_name(const Json& config, std::string_view member, std::string_view standard);

/// Puts tokens in that are not there yet, with their ids in the vocabulary. Fails where an id is
/// another's, in the config.
void add_tokens(const JsonText& config, const std::vector<AddedToken>& tokens,
                Vocabulary& vocabulary, std::vector<AddedToken>& added);

/// A template that puts tokens before the first text and behind each, and one before the second
/// text of a pair; names that are empty are left out.
Json template_json(const Vocabulary& vocabulary, const std::string& begin, const std::string& end,
                   const std::string& second = "");

}  // namespace heed
