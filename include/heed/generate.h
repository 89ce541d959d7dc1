// Text generation with a decoder, alone or behind an encoder, over a cache of the keys and values
// of the tokens that it has seen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/attention.h"
#include "heed/model.h"
#include "heed/operators.h"
#include "heed/tensor.h"
#include "heed/tokenizer.h"

namespace heed {

class Config;
class PagePool;

// -------------------------------------------------------------------------------------------------
// Keys and values of the tokens that a decoder has seen, so that a new token costs one row of
// attention instead of a pass over the whole text.

/// The sizes of one layer.
struct KvLayerShape {
  std::int64_t kv_heads = 0;  // 0: the layer keeps nothing, because it reads another layer's keys
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
};

struct KvCacheShape {
  std::int64_t layers = 0;
  std::int64_t batch = 0;  // rows: texts that grow side by side, each with its own length
  std::int64_t kv_heads = 0;
  std::int64_t capacity = 0;  // maximum tokens per row
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  /// Layers without keys, ascending: they keep a state of each row instead (`put_state`).
  std::vector<int> recurrent = {};
  /// One entry per layer if layers differ; empty: all have the sizes above.
  std::vector<KvLayerShape> of_layers = {};

  KvLayerShape of_layer(std::int64_t layer) const {
    return of_layers.empty() ? KvLayerShape{kv_heads, head_dim, value_dim}
                             : of_layers.at(static_cast<std::size_t>(layer));
  }
};

enum class KvForm : std::uint8_t {
  kContiguous,  // k [B, G, capacity, D] per layer: a row's tokens in order
  kRing,        // the same, but new keys replace the oldest: for sliding windows
  kPaged,       // pages [pages, G, page_size, D], allocated as a row grows
};

struct KvCacheOptions {
  DType dtype = DType::kF32;  // f64, f32, f16, bf16, or i8 with scales (Keys)
  KvForm form = KvForm::kContiguous;
  std::int64_t left = 0;        // ring: how many earlier keys a query sees (the band's left)
  std::int64_t page_size = 16;  // paged: tokens per page
  std::int64_t pages = 0;       // paged: pages per layer; 0: enough for every row
};

/// Keys and values of another text that the rows also attend to: an encoder's output for a source.
struct SourceKeys {
  Tensor k;                                // [B, S, G D]: the heads of a token are adjacent
  Tensor v;                                // [B, S, G Dv]
  std::vector<std::int64_t> lengths = {};  // tokens in each row's source
};

/// A pass appends in every layer, attends to keys(layer) with extents(counts), and then advances.
/// Until it advances, the cache keeps its previous contents, so a pass that fails half way may be
/// repeated. A ring of `capacity` slots keeps the last `left` keys of each row for the first query
/// of the next pass, so it accepts at most capacity - left tokens per pass, and any number in
/// total.
class KvCache {
 public:
  explicit KvCache(const KvCacheShape& shape, const KvCacheOptions& options = {});
  ~KvCache();
  KvCache(KvCache&& other) noexcept;
  KvCache& operator=(KvCache&& other) noexcept;

  const KvCacheShape& shape() const { return shape_; }
  const KvCacheOptions& options() const { return options_; }
  /// Tokens in each row so far, which is the position of its next token.
  std::span<const std::int64_t> lengths() const { return lengths_; }
  std::int64_t free_pages() const;

  /// Throws, and writes nothing, unless there is one count per row and room for all.
  void require_room(std::span<const std::int64_t> counts) const;
  /// Appends the first counts[b] rows of keys.k [B, G, T, D] and keys.v [B, G, T, Dv], of any
  /// floating type and strides, to row b. With `rope`, keys are first rotated in their own type, by
  /// the token's position unless `rope` has positions or angles for every token; the cache sets
  /// rope's x and offset.
  void append(int layer, const Keys& keys, std::span<const std::int64_t> counts,
              const std::optional<RopeArgs>& rope = {});
  /// Keeps the tokens appended in this pass: the first counts[b] of row b, at most as many as were
  /// appended in each layer.
  void advance(std::span<const std::int64_t> counts);

  /// All slots of a layer, in the cache's form; slots never written are undefined. Throws for a
  /// layer that this pass has not appended although it has appended another one.
  Keys keys(int layer) const;
  /// The extents of a pass that has appended `counts`, with counts[b] queries in row b: where its
  /// keys are stored, and the positions of its queries.
  Extents extents(std::span<const std::int64_t> counts) const;

  /// The state that a recurrent layer keeps: tensors whose first axis is the row.
  /// Empty before the first pass has advanced.
  const std::vector<Tensor>& state(int layer) const;
  /// Stores a recurrent layer's state after counts[b] tokens of row b. It becomes `state` when the
  /// cache advances by the same counts.
  void put_state(int layer, std::vector<Tensor> state, std::span<const std::int64_t> counts);

  /// Stores a layer's keys of the source, which are the same for all passes.
  void put_source(int layer, SourceKeys keys);
  /// Null before put_source.
  const SourceKeys* source(int layer) const;

  /// Reorders the batch: new row r is a copy of old row rows[r]. A row that is named several times
  /// branches: its copies continue independently. A row that is not named is dropped. At most as
  /// many rows as the cache was made for; branches of a paged cache take pages. Tokens of a pass
  /// that has not advanced are dropped.
  void select(std::span<const std::int64_t> rows);
  /// Drops a row's tokens, so that a new text can begin there; its states become zero.
  void clear(std::int64_t row);

 private:
  struct Slots {
    Tensor values;
    Tensor scales;  // i8 only
  };
  struct Layer {
    Slots k;
    Slots v;
    std::vector<std::int64_t> appended = {};  // tokens that this pass has written, per row
    SourceKeys source = {};
    bool is_recurrent = false;
    std::vector<Tensor> state = {}, next_state = {};

    bool has_appended() const;
  };
  struct Place {
    std::int64_t block;
    std::int64_t slot;
  };

  Slots slots_of(std::int64_t heads, std::int64_t width) const;
  bool keeps(std::size_t layer) const;
  std::size_t index_of(int layer) const;
  void require_recurrent(const Layer& layer, int index, bool is_recurrent) const;
  void require_appended(std::span<const std::int64_t> counts) const;
  Place place(std::int64_t row, std::int64_t token) const;
  std::int64_t first_kept(std::int64_t row) const;
  void write(const ConstView& source, Slots& slots, std::span<const std::int64_t> counts) const;
  void write_rows(const ConstView& source, const View& slots,
                  std::span<const std::int64_t> counts) const;
  void require_selectable(std::span<const std::int64_t> rows) const;

  KvCacheShape shape_;
  std::int64_t most_rows_;  // capacity of the slots
  KvCacheOptions options_;
  std::vector<Layer> layers_;
  std::vector<std::int64_t> lengths_;
  std::unique_ptr<PagePool> pool_;  // paged form only
};

/// Allocates a cache for `batch` texts of `capacity` tokens each, in this model's shapes.
KvCache make_cache(const Model& model, std::int64_t batch, std::int64_t capacity,
                   const KvCacheOptions& options = {});

// -------------------------------------------------------------------------------------------------
// Which token comes next.

/// Like transformers' `no_repeat_ngram_size`, `min_new_tokens`, `min_length`, `suppress_tokens`,
/// `begin_suppress_tokens`, `forced_bos_token_id`, `forced_eos_token_id`, `renormalize_logits`. Ids
/// beyond the vocabulary forbid nothing. Several forced tokens are equally probable, so the lowest
/// id wins (a beam search of transformers takes any of them).
struct TokenRules {
  std::int64_t no_repeat_ngram = 0;      // no sequence of this many tokens occurs twice; 0: off
  std::int64_t least_tokens = 0;         // a text has at least this many tokens
  std::int64_t least_length = 0;         // the same, counting the prompt
  std::vector<TokenId> suppressed = {};  // never generated
  std::vector<TokenId> suppressed_first = {};  // never generated as the first token
  std::optional<TokenId> forced_first = {};    // generated after a prompt of one token
  std::vector<TokenId> forced_last = {};       // one of these comes last if the text reaches
                                               // most_tokens
  /// Beam search renormalises the log-probabilities after applying the rules.
  bool renormalises = false;
};

/// Applied in this order: repetition penalty, temperature, top-k, top-p, min-p; each filter
/// renormalises the remaining tokens.
struct Sampling {
  double repetition_penalty = 1;  // > 0: divides positive logits of tokens that occurred and
                                  // multiplies negative ones (Keskar et al. 2019); 1: off
  double temperature = 0.8;       // divides the logits; 0: greedy (the largest logit)
  std::int64_t top_k = 0;         // only the k most probable tokens; 0: all
  double top_p = 1;  // the fewest most probable tokens that together reach p (Holtzman et al. 2020)
  double min_p = 0;  // only tokens with at least this fraction of the top probability
};

/// Throws if a member is out of range.
void check(const Sampling& sampling);

/// A possible next token.
struct Choice {
  TokenId id = 0;
  double probability = 0;
};

/// The possible next tokens in order of id; their probabilities sum to 1. Among equally probable
/// tokens a filter prefers the lower id. `seen` are the tokens that occurred. A NaN or +inf logit
/// throws kCorrupt (the weights are broken); only -inf logits throw kInvalidArgument (the rules
/// forbid every token).
std::vector<Choice> choices(std::span<const float> logits, const Sampling& sampling,
                            std::span<const TokenId> seen = {});

/// The choice that `uniform` in [0, 1) selects.
TokenId choose(std::span<const Choice> choices, double uniform);

/// The number in [0, 1), with 53 bits, that decides the token at `position` of a text. It depends
/// on the two arguments alone, not on the other texts in the batch.
double sampling_number(std::uint64_t seed, std::int64_t position);

// -------------------------------------------------------------------------------------------------
// Texts that grow token by token.

/// Why a text ends.
enum class Stopped : std::uint8_t {
  kEnd,          // the model wrote its end token
  kStop,         // a stop string was generated
  kLength,       // it has most_tokens tokens
  kPositions,    // the model has no further position
  kInterrupted,  // the listener asked to stop
};
/// "end", "stop", "length", "positions", "interrupted".
std::string_view name(Stopped stopped);

/// When a beam search ends, like transformers' `early_stopping`.
enum class EarlyStopping : std::uint8_t {
  kFalse,  // once no open text beats the worst finished one at its present length
  kTrue,   // once there are as many finished texts as beams
  kNever,  // once no open text can beat it: with a penalty above 0, at the greatest length
};

struct GenerateArgs {
  std::vector<std::vector<TokenId>> prompts = {};  // at least one token each; generated together
  /// The encoder's inputs of an encoder-decoder, one per prompt. The prompts then begin the
  /// outputs: the decoder's first token and possibly words after it.
  std::vector<std::vector<TokenId>> sources = {};
  std::int64_t most_tokens = 200;  // limit per prompt
  Sampling sampling = {};
  std::uint64_t seed = 0;
  const Tokenizer* tokenizer = nullptr;  // null: ids only, no text; it must outlive the call
  std::vector<std::string> stop = {};    // a text ends before the first of these; needs a tokenizer
  KvCacheOptions cache = {};             // type and form of the stored keys and values
  TokenRules rules = {};
  bool stop_at_end = true;  // false: the end token is treated like any other
  /// True: a text continues past the model's positions. Each further token then sees only the last
  /// tokens, as many as the model has positions, recomputed from position 0 on. Not for a beam
  /// search.
  bool crop = false;
  /// Above 1: beam search with this many beams (Sutskever et al. 2014). Only the repetition penalty
  /// of `sampling` applies, to log-probabilities.
  std::int64_t beams = 1;
  double length_penalty = 1;  // a text's score is its log-probability / tokens^length_penalty
  EarlyStopping early_stopping = EarlyStopping::kFalse;
};

struct GeneratedToken {
  TokenId id = 0;
  double probability = 0;  // under the model, before penalty, temperature and filters
  double entropy = 0;      // of that distribution, in nats
};

struct Generated {
  std::vector<GeneratedToken> tokens;  // includes the end token and the tokens of a stop string
  std::string text;                    // valid UTF-8, without special tokens and stop string
  Stopped stopped = Stopped::kLength;
  double score = 0;  // beam search only
};

/// Receives tokens as they are generated (a beam search reports them at its end); `row` is the
/// prompt's index.
class GenerateListener {
 public:
  virtual ~GenerateListener() = default;
  virtual void token(std::size_t /*row*/, const GeneratedToken& /*token*/) {}
  /// A piece of the row's text, valid UTF-8; all pieces together are `Generated::text`.
  virtual void text(std::size_t /*row*/, std::string_view /*piece*/) {}
  /// Asked before each token; true ends all texts.
  virtual bool stop() { return false; }
};

/// Continues every prompt, over a KV cache. The token at position i of a text depends on the
/// logits, the seed and i alone. So the same prompt gives the same text for any number of threads
/// and any other rows in the batch (provided that the linear layers give the same logits). Errors:
/// a prompt that is empty or longer than the model's positions, values out of range, a model that
/// is not a decoder, NaN logits (kCorrupt).
std::vector<Generated> generate(const Model& model, const GenerateArgs& args,
                                GenerateListener& listener);
std::vector<Generated> generate(const Model& model, const GenerateArgs& args);

/// Generates token by token, for a caller that may stop at any token.
class Generation {
 public:
  /// The model, the tokenizer and the listener must outlive this object. Errors as in `generate`.
  Generation(const Model& model, GenerateArgs args, GenerateListener& listener);
  ~Generation();

  /// Generates one token of each unfinished text (a beam search: all tokens). False once every text
  /// has ended.
  bool step();
  /// The texts so far, one per prompt. `stopped` is set for texts that have ended.
  const std::vector<Generated>& texts() const;
  bool has_ended(std::size_t row) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Encodes a prompt with the tokenizer's special tokens; an empty prompt becomes the model's first
/// token.
std::vector<TokenId> prompt_of(const Model& model, const Tokenizer& tokenizer,
                               std::string_view text);

// -------------------------------------------------------------------------------------------------
// The settings of generation in a model's folder.

/// The content of a folder's generation_config.json; members that are missing or null are empty.
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
  /// Keys that would change the text and that heed does not support, if their value has an effect.
  std::vector<std::string> not_followed = {};
  std::shared_ptr<const Config> source = {};  // gives errors the line of a key; null without a file
};

/// Reads the folder's file, or like transformers its config.json if there is none; a value of the
/// wrong kind is kCorrupt. Token ids that the model itself has (`eos_token_id`, `bad_words_ids`)
/// are in its ModelInfo; lengths (`max_length`, `max_new_tokens`) are the caller's. An empty path
/// (a model that was never saved) gives an empty result.
GenerationConfig read_generation_config(const std::filesystem::path& folder);

/// Lets `args` follow the file: beams unless the file samples, else its temperature and filters;
/// penalties, rules and stop strings. `given` names the members that the caller has set (`top_k`,
/// `no_repeat_ngram`, ...); these stay. If the caller set `temperature`, `top_k`, `top_p`, `min_p`
/// or `seed`, the file's beams or greedy choice are dropped; if the caller set `beams`, the file's
/// sampling is dropped. A sampling number of the file that is out of range is kCorrupt, with its
/// line.
void follow(GenerationConfig config, GenerateArgs& args,
            std::span<const std::string_view> given = {});

/// Throws kCorrupt with file, line and key if the model cannot do what the file asks: forced tokens
/// outside the vocabulary, no allowed token, stop strings without a tokenizer.
void check(const GenerationConfig& config, const ModelInfo& info, const Tokenizer* tokenizer);

}  // namespace heed
