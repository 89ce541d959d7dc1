// How a model's folder wants its texts written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/generate/generate.h"

namespace heed {

class Config;

/// What the file says; a member that it leaves out, or sets to null, is none.
struct GenerationConfig {
  std::filesystem::path file = {};
  std::optional<bool> samples = {};        // do_sample
  std::optional<std::int64_t> beams = {};  // num_beams
  std::optional<double> temperature = {}, top_p = {}, min_p = {}, repetition_penalty = {},
                        length_penalty = {};
  std::optional<std::int64_t> top_k = {};
  std::optional<EarlyStopping> early_stopping = {};
  std::vector<std::string> stop = {};  // stop_strings
  TokenRules rules = {};
  /// Keys with another value than the one that changes nothing, which would change the text, and
  /// which heed does not follow.
  std::vector<std::string> not_followed = {};
  std::shared_ptr<const Config> source = {};  // errors name the line of a key; null without a file
};

/// Reads the folder's file, or config.json where it has none, as transformers does; a value of the
/// wrong kind is kCorrupt. Token ids that the model itself has (`eos_token_id`, `bad_words_ids`)
/// are in its ModelInfo; lengths (`max_length`, `max_new_tokens`) are the caller's. No folder (an
/// empty path, as of a model that was never saved) says nothing.
GenerationConfig read_generation_config(const std::filesystem::path& folder);

/// Lets `args` follow the file: beams unless the file samples, else its temperature and filters;
/// penalties, rules and stop strings. `given` names the members that the caller has set (`top_k`,
/// `no_repeat_ngram`, ...): they stay. One of those that choose a token (`temperature`, `top_k`,
/// `top_p`, `min_p`, `seed`) ends the file's beams or greedy choice, `beams` its sampling. A
/// sampling number of the file that is out of range is kCorrupt, with its line.
void follow(GenerationConfig config, GenerateArgs& args,
            std::span<const std::string_view> given = {});

/// Throws kCorrupt, with file, line and key, where the model cannot do what the file asks: forced
/// tokens outside of the vocabulary, none that may be written, stop strings without a tokenizer.
void check(const GenerationConfig& config, const ModelInfo& info, const Tokenizer* tokenizer);

}  // namespace heed
