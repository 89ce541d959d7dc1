// The settings of tokenizer_config.json: tokens that the tokenizer's file lacks, and settings that
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

/// The tokens of `added_tokens_decoder` or, if the config has none, of `added_tokens.json` in the
/// folder ({"<|x|>": 50257}).
std::vector<AddedToken> added_tokens_of(const JsonText& config,
                                        const std::filesystem::path& folder);

/// {"pad_token": "[PAD]"}, or {"pad_token": {"content": "[PAD]"}}; default: `standard`.
std::string token_name(const Json& config, std::string_view member, std::string_view standard);

/// Adds missing tokens, with their ids in the vocabulary. Throws if the config gives an id that
/// another token has.
void add_tokens(const JsonText& config, const std::vector<AddedToken>& tokens,
                Vocabulary& vocabulary, std::vector<AddedToken>& added);

/// A template that puts tokens before the first text and after each text, and one before the second
/// text of a pair, whose tokens have type `second_type`; empty names are skipped.
Json template_json(const Vocabulary& vocabulary, const std::string& begin, const std::string& end,
                   const std::string& second = "", int second_type = 1);

/// The content of tokenizer.json with the settings of the config, as transformers 5 reads the two:
/// `added_tokens_decoder`, and, unless the class is a general one (PreTrainedTokenizerFast),
/// `do_lower_case`, `strip_accents`, `tokenize_chinese_chars` and `add_prefix_space`. For
/// LlamaTokenizer, `legacy` and `add_prefix_space` decide about the space before the text. The
/// tokenizers of NLLB and mBART frame a text by its language, `src_lang`. Empty if this changes
/// nothing.
std::optional<std::string> with_settings(const Json& tokenizer, const JsonText& config,
                                         const std::filesystem::path& folder);

}  // namespace heed
