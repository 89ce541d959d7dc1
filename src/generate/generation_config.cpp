#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/file.h"
#include "generate/rules.h"
#include "heed/error.h"
#include "heed/generate.h"
#include "io/gguf.h"
#include "models/adapter.h"
#include "models/config.h"
#include "models/family.h"

namespace heed {
namespace {

// Keys that heed does not support, each with the number that has no effect.
struct Neutral {
  const char* key;
  double value;
};
constexpr Neutral kNumbers[] = {{"typical_p", 1},
                                {"epsilon_cutoff", 0},
                                {"eta_cutoff", 0},
                                {"encoder_repetition_penalty", 1},
                                {"encoder_no_repeat_ngram_size", 0},
                                {"diversity_penalty", 0},
                                {"num_beam_groups", 1},
                                {"penalty_alpha", 0},
                                {"guidance_scale", 1}};
// Other such keys, which have no effect if null or empty.
constexpr const char* kOthers[] = {
    "top_h",       "sequence_bias",   "exponential_decay_length_penalty",
    "constraints", "force_words_ids", "watermarking_config",
    "dola_layers", "max_time",        "forced_decoder_ids"};

// Arguments for drawing a token.
constexpr std::string_view kDrawing[] = {"temperature", "top_k", "top_p", "min_p", "seed"};

// transformers' default, for files that ask for sampling without a temperature.
constexpr double kTemperature = 1;
constexpr std::int64_t kTopK = 50;

// Members of GenerateArgs whose keys have other names.
struct Renamed {
  std::string_view member;
  const char* key;
};
constexpr Renamed kRenamed[] = {{"forced_first", "forced_bos_token_id"},
                                {"forced_last", "forced_eos_token_id"},
                                {"suppressed", "suppress_tokens"},
                                {"suppressed_first", "begin_suppress_tokens"}};

// Runs checks of arguments from the file, so that their errors name the file.
void check_file(const GenerationConfig& config, const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    std::string key = error.argument();
    for (const auto& [member, name] : kRenamed)
      if (error.argument() == member) key = name;
    config.source->refuse(key.c_str(), error.found(), error.expected());
  }
}

std::optional<double> number_in(const Config& config, const char* key) {
  return config.has(key) ? std::optional(config.number(key, 0)) : std::nullopt;
}

std::optional<std::int64_t> count_of(const Config& config, const char* key) {
  return config.has(key) ? std::optional(config.extent(key, 0, /*least=*/0)) : std::nullopt;
}

std::vector<TokenId> ids_of(const Config& config, const char* key) {
  constexpr std::int64_t kMost = std::numeric_limits<TokenId>::max();
  std::vector<TokenId> ids;
  for (const std::int64_t id : config.ids(key, {})) {
    if (id > kMost) config.refuse(key, id, fmt::format("at most {}", kMost));
    ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

std::optional<EarlyStopping> early_stopping_of(const Config& config) {
  constexpr const char* kKey = "early_stopping";
  if (!config.has(kKey)) return {};
  if (config.is_text(kKey)) {
    if (const std::string word = config.text(kKey, ""); word != "never")
      config.refuse(kKey, "'" + word + "'", "true, false or \"never\"");
    return EarlyStopping::kNever;
  }
  return config.flag(kKey, false) ? EarlyStopping::kTrue : EarlyStopping::kFalse;
}

TokenRules rules_of(const Config& config) {
  TokenRules rules;
  rules.no_repeat_ngram = count_of(config, "no_repeat_ngram_size").value_or(0);
  rules.least_tokens = count_of(config, "min_new_tokens").value_or(0);
  rules.least_length = count_of(config, "min_length").value_or(0);
  rules.suppressed = ids_of(config, "suppress_tokens");
  rules.suppressed_first = ids_of(config, "begin_suppress_tokens");
  if (const std::vector<TokenId> first = ids_of(config, "forced_bos_token_id"); !first.empty())
    rules.forced_first = first[0];
  rules.forced_last = ids_of(config, "forced_eos_token_id");
  rules.renormalises = config.flag("renormalize_logits", false);
  return rules;
}

std::vector<std::string> not_followed(const Config& config, const GenerationConfig& read) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : kNumbers)
    if (config.has(key) && config.number(key, value) != value) keys.emplace_back(key);
  for (const char* key : kOthers)
    if (config.has(key) && !config.is_empty(key)) keys.emplace_back(key);
  // Beam search with random sampling is not supported.
  if (read.samples.value_or(false) && read.beams.value_or(1) > 1) keys.emplace_back("num_beams");
  return keys;
}

std::vector<std::string> stop_strings(const Config& config) {
  constexpr const char* kKey = "stop_strings";
  std::vector<std::string> all =
      config.is_text(kKey) ? std::vector{config.text(kKey, "")} : config.texts(kKey);
  if (std::ranges::find(all, "") != all.end())
    config.refuse(kKey, "an empty text", "at least one character");
  return all;
}

// Drops the members that the caller has set.
void leave_out(GenerationConfig& config, std::span<const std::string_view> given) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(given, name) != given.end();
  };
  const auto leave = [&](std::string_view name, auto& member) {
    if (has(name)) member = {};
  };
  leave("temperature", config.temperature);
  leave("top_k", config.top_k);
  leave("top_p", config.top_p);
  leave("min_p", config.min_p);
  leave("repetition_penalty", config.repetition_penalty);
  leave("length_penalty", config.length_penalty);
  leave("early_stopping", config.early_stopping);
  leave("stop", config.stop);
  leave("beams", config.beams);
  leave("beams", config.samples);
  if (std::ranges::none_of(kDrawing, has)) return;
  config.beams = {};
  if (!config.samples.value_or(false)) config.samples = {};
}

// Takes temperature and filters from the file.
void follow_sampling(const GenerationConfig& config, Sampling& sampling) {
  if (!config.samples.value_or(true)) {
    sampling.temperature = 0;
    return;
  }
  sampling.temperature = config.temperature.value_or(sampling.temperature);
  sampling.top_k = config.top_k.value_or(sampling.top_k);
  sampling.top_p = config.top_p.value_or(sampling.top_p);
  sampling.min_p = config.min_p.value_or(sampling.min_p);
}

// Like transformers, a translation is greedy unless its files say otherwise.
bool is_translator(const std::filesystem::path& model) {
  if (!is_gguf(base_model(model)) && !std::filesystem::exists(model_file(model, "config.json")))
    return false;  // load_model reports it
  return family_of(model_config(model)).kind == FamilyKind::kTranslator;
}

GenerationConfig read_file_in(const std::filesystem::path& folder) {
  GenerationConfig read;
  std::filesystem::path file = model_file(folder, "generation_config.json");
  if (!std::filesystem::exists(file))
    file = model_file(folder, "config.json");       // before generation_config.json existed
  if (!std::filesystem::exists(file)) return read;  // load_model reports it
  const Config config = Config::parse(read_file(file), file.string(), "a JSON object");
  read.file = file;
  read.source = std::make_shared<const Config>(config);
  if (config.has("do_sample")) read.samples = config.flag("do_sample", false);
  if (config.has("num_beams")) read.beams = config.extent("num_beams", 1, 1, kMostBeams);
  read.temperature = number_in(config, "temperature");
  read.top_k = count_of(config, "top_k");
  read.top_p = number_in(config, "top_p");
  read.min_p = number_in(config, "min_p");
  read.repetition_penalty = number_in(config, "repetition_penalty");
  read.length_penalty = number_in(config, "length_penalty");
  read.early_stopping = early_stopping_of(config);
  read.stop = stop_strings(config);
  read.rules = rules_of(config);
  read.not_followed = not_followed(config, read);
  return read;
}

}  // namespace

GenerationConfig read_generation_config(const std::filesystem::path& folder) {
  if (folder.empty()) return {};
  GenerationConfig read = read_file_in(folder);
  if (!read.samples && is_translator(folder)) read.samples = false;
  return read;
}

void follow(GenerationConfig config, GenerateArgs& args, std::span<const std::string_view> given) {
  if (config.samples.value_or(false)) {
    config.temperature = config.temperature.value_or(kTemperature);
    config.top_k = config.top_k.value_or(kTopK);
  }
  leave_out(config, given);
  check_file(config, [&] {
    Sampling asked{.repetition_penalty = config.repetition_penalty.value_or(1)};
    follow_sampling(config, asked);
    check(asked);
  });
  const auto beams = config.beams.value_or(1);
  if (beams > 1 && !config.samples.value_or(false)) args.beams = beams;
  args.length_penalty = config.length_penalty.value_or(args.length_penalty);
  args.early_stopping = config.early_stopping.value_or(args.early_stopping);
  follow_sampling(config, args.sampling);
  Sampling& sampling = args.sampling;
  sampling.repetition_penalty = config.repetition_penalty.value_or(sampling.repetition_penalty);
  args.stop.insert(args.stop.end(), config.stop.begin(), config.stop.end());
  const std::int64_t no_repeat_ngram = args.rules.no_repeat_ngram;
  args.rules = config.rules;
  if (std::ranges::find(given, "no_repeat_ngram") != given.end())
    args.rules.no_repeat_ngram = no_repeat_ngram;
}

void check(const GenerationConfig& config, const ModelInfo& info, const Tokenizer* tokenizer) {
  if (!config.source) return;
  check_file(config, [&] { check(info, config.rules); });
  if (!config.stop.empty() && tokenizer == nullptr)
    config.source->refuse("stop_strings", "given", "none, as the model has no tokenizer");
}

}  // namespace heed
