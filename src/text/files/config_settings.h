// What tokenizer_config.json says otherwise than the tokenizer.json beside it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/formats/json.h"

namespace heed {

/// The content of tokenizer.json with the settings of the config, as transformers 5 reads the two:
/// `added_tokens_decoder`, and, unless the class is a general one (PreTrainedTokenizerFast),
/// `do_lower_case`, `strip_accents`, `tokenize_chinese_chars` and `add_prefix_space`. Of
/// LlamaTokenizer's blank before the text `legacy` and `add_prefix_space` decide. None where this
/// changes nothing.
std::optional<std::string> with_settings(const Json& tokenizer, const JsonText& config,
                                         const std::filesystem::path& folder);

}  // namespace heed
