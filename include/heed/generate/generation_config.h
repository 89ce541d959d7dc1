// How a model's folder wants its texts written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/generate/generate.h"

namespace heed {

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
};

/// Reads the folder's file, or config.json where it has none, as transformers does; a value of the
/// wrong kind is kCorrupt. Token ids that the model itself has (`eos_token_id`, `bad_words_ids`)
/// are in its ModelInfo; lengths (`max_length`, `max_new_tokens`) are the caller's. No folder (an
/// empty path, as of a model that was never saved) says nothing.
GenerationConfig read_generation_config(const std::filesystem::path& folder);

/// Lets `args` follow the file: beams unless the file samples, else its temperature and filters;
/// penalties, rules and stop strings. `given` names the members that the caller has set (`top_k`,
/// `no_repeat_ngram`, ...): they stay. One of those that choose a token (`temperature`, `top_k`,
/// `top_p`, `min_p`, `seed`), or `beams`, takes the place of the file's choice between beams and
/// sampling too. A sampling number of the file that is out of range is an error with its name.
void follow(GenerationConfig config, GenerateArgs& args,
            std::span<const std::string_view> given = {});

}  // namespace heed
