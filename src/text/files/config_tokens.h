// What tokenizer_config.json says of a tokenizer: tokens that its own file lacks, and settings that
// differ.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "text/tokenizer_file.h"

namespace heed {

/// The tokens of `added_tokens_decoder`, or, where the config has none, those of
/// `added_tokens.json` in the folder ({"<|x|>": 50257}).
std::vector<AddedToken> added_tokens_of(const JsonText& config,
                                        const std::filesystem::path& folder);

/// {"pad_token": "[PAD]"}, or {"pad_token": {"content": "[PAD]"}}; else `standard`.
std::string token_name(const Json& config, std::string_view member, std::string_view standard);

/// Puts tokens in that are not there yet, with their ids in the vocabulary. Fails where an id is
/// another's, in the config.
void add_tokens(const JsonText& config, const std::vector<AddedToken>& tokens,
                Vocabulary& vocabulary, std::vector<AddedToken>& added);

/// A template that puts tokens before the first text and behind each, and one before the second
/// text of a pair, whose tokens are of `second_type`; names that are empty are left out.
Json template_json(const Vocabulary& vocabulary, const std::string& begin, const std::string& end,
                   const std::string& second = "", int second_type = 1);

/// The content of tokenizer.json with the settings of the config, as transformers 5 reads the two:
/// `added_tokens_decoder`, and, unless the class is a general one (PreTrainedTokenizerFast),
/// `do_lower_case`, `strip_accents`, `tokenize_chinese_chars` and `add_prefix_space`. Of
/// LlamaTokenizer's blank before the text `legacy` and `add_prefix_space` decide. The tokenizers of
/// NLLB and mBART frame a text by its language, `src_lang`. None where this changes nothing.
std::optional<std::string> with_settings(const Json& tokenizer, const JsonText& config,
                                         const std::filesystem::path& folder);

}  // namespace heed
