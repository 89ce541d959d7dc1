// Text generation with a decoder, alone or behind an encoder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/models/model.h"
#include "heed/text/tokenizer.h"

namespace heed {

/// As transformers' `no_repeat_ngram_size`, `min_new_tokens`, `min_length`, `suppress_tokens`,
/// `begin_suppress_tokens`, `forced_bos_token_id`, `forced_eos_token_id`, `renormalize_logits`. Ids
/// beyond the vocabulary forbid nothing. Several forced tokens are equally probable: the lowest id
/// comes (a beam search of transformers takes any of them).
struct TokenRules {
  std::int64_t no_repeat_ngram = 0;      // no sequence of so many tokens comes twice; 0: any may
  std::int64_t least_tokens = 0;         // a text does not end before
  std::int64_t least_length = 0;         // the same with the prompt counted
  std::vector<TokenId> suppressed = {};  // never written
  std::vector<TokenId> suppressed_first = {};  // not the first token that is written
  std::optional<TokenId> forced_first = {};    // follows a prompt of one token
  std::vector<TokenId> forced_last = {};       // one of them is the last of the most tokens
  /// A beam search makes the log-probabilities sum to 1 again behind the rules.
  bool renormalises = false;
};

/// Applied in this order: repetition penalty, temperature, top-k, top-p, min-p; what is left is
/// renormalised after each.
struct Sampling {
  double repetition_penalty =
      1;                     // > 0: logits of tokens that occurred are divided by it where
                             // positive, multiplied where negative (Keskar et al. 2019); 1: off
  double temperature = 0.8;  // divides the logits; 0: greedy, always the largest logit
  std::int64_t top_k = 0;    // only the k most probable tokens; 0: all
  double top_p = 1;  // only the most probable ones that together reach p (Holtzman et al. 2020)
  double min_p = 0;  // only those that reach this share of the most probable one's probability
};

/// Throws where a member is out of range.
void check(const Sampling& sampling);

/// One token that may come next.
struct Choice {
  TokenId id = 0;
  double probability = 0;
};

/// The tokens that may come next, in order of their ids, their probabilities summing to 1. Of
/// equally probable ones a filter prefers the lower id. `seen` are the tokens that occurred. A NaN
/// or +inf among the logits is kCorrupt: weights are broken. -inf alone is kInvalidArgument: rules
/// forbid every token.
std::vector<Choice> choices(std::span<const float> logits, const Sampling& sampling,
                            std::span<const TokenId> seen = {});

/// The choice that `uniform` in [0, 1) falls on.
TokenId choose(std::span<const Choice> choices, double uniform);

/// The number in [0, 1), 53 bits, that decides the token at `position` of a text: a function of the
/// two alone, whatever else is generated beside it.
double sampling_number(std::uint64_t seed, std::int64_t position);

/// Why a text ends.
enum class Stopped : std::uint8_t {
  kEnd,          // the model wrote its end token
  kStop,         // a stop string came
  kLength,       // it has most_tokens tokens
  kPositions,    // the model has no position for a further token
  kInterrupted,  // the listener asked for it
};
/// "end", "stop", "length", "positions", "interrupted".
std::string_view name(Stopped stopped);

/// When a beam search ends, as transformers' `early_stopping`.
enum class EarlyStopping : std::uint8_t {
  kFalse,  // once no open text beats the worst finished one at the length that it has now
  kTrue,   // once as many texts are finished as there are beams
  kNever,  // once no open text can beat it: with a penalty above 0, at the greatest length
};

struct GenerateArgs {
  std::vector<std::vector<TokenId>> prompts = {};  // at least one token each; they run side by side
  /// What an encoder-decoder reads, one for each prompt; the prompts are what its answers begin
  /// with: its first token, and perhaps words after it.
  std::vector<std::vector<TokenId>> sources = {};
  std::int64_t most_tokens = 200;  // for each prompt
  Sampling sampling = {};
  std::uint64_t seed = 0;
  const Tokenizer* tokenizer = nullptr;  // null: ids only, no text; it must outlive the call
  std::vector<std::string> stop = {};    // a text ends before the first of these; needs a tokenizer
  KvCacheOptions cache = {};             // type and form in which keys and values are kept
  TokenRules rules = {};
  bool stop_at_end = true;  // false: the end token is treated like any other
  /// True: a text goes on past the model's positions. Each further token then sees the last tokens
  /// alone, as many as there are positions, from position 0 on, computed anew. Not of a beam
  /// search.
  bool crop = false;
  /// Above 1: beam search (Sutskever et al. 2014), of so many texts side by side. Of `sampling` the
  /// repetition penalty alone has an effect, on log-probabilities.
  std::int64_t beams = 1;
  double length_penalty = 1;  // a text's score: its log-probability / tokens^length_penalty
  EarlyStopping early_stopping = EarlyStopping::kFalse;
};

struct GeneratedToken {
  TokenId id = 0;
  double probability = 0;  // in the model's own distribution: before penalty, temperature, filters
  double entropy = 0;      // of that distribution, in nats
};

struct Generated {
  std::vector<GeneratedToken> tokens;  // the end token, and those of a stop string, included
  std::string text;                    // valid UTF-8, without special tokens and stop string
  Stopped stopped = Stopped::kLength;
  double score = 0;  // of a beam search
};

/// Hears tokens as they come, those of a beam search when it has ended; `row` is the prompt's
/// index.
class GenerateListener {
 public:
  virtual ~GenerateListener() = default;
  virtual void token(std::size_t /*row*/, const GeneratedToken& /*token*/) {}
  /// A piece of the row's text, valid UTF-8; all pieces together are `Generated::text`.
  virtual void text(std::size_t /*row*/, std::string_view /*piece*/) {}
  /// Asked before each token; true ends the texts as they are.
  virtual bool stop() { return false; }
};

/// Continues every prompt, over a KV cache. The token at position i of a text is a function of the
/// logits, the seed and i alone: the same prompt gives the same text whatever else is in the batch
/// (as far as linear layers give the same logits), on any number of threads. Errors: an empty
/// prompt, one that is longer than the model's positions, values out of range, a model that is not
/// a decoder; logits that are not numbers (kCorrupt).
std::vector<Generated> generate(const Model& model, const GenerateArgs& args,
                                GenerateListener& listener);
std::vector<Generated> generate(const Model& model, const GenerateArgs& args);

/// The same token by token, for a caller that may leave at any of them.
class Generation {
 public:
  /// The model, the tokenizer and the listener must outlive it. Errors as `generate`.
  Generation(const Model& model, GenerateArgs args, GenerateListener& listener);
  ~Generation();

  /// Writes one token of each text that goes on (a beam search: everything). False once none does.
  bool step();
  /// The texts so far, one a prompt. `stopped` holds of those that have ended.
  const std::vector<Generated>& texts() const;
  bool has_ended(std::size_t row) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// A text as a prompt: with the special tokens that the tokenizer adds; an empty one is the model's
/// first token.
std::vector<TokenId> prompt_of(const Model& model, const Tokenizer& tokenizer,
                               std::string_view text);

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
