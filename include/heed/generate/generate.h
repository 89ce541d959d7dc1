// Text generation with a decoder, alone or behind an encoder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heed/generate/sampling.h"
#include "heed/generate/token_rules.h"
#include "heed/models/model.h"
#include "heed/text/tokenizer.h"

namespace heed {

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

}  // namespace heed
