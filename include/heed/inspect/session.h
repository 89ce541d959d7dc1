// A session: one input and the pass of a model over it (or arrays, inspect/arrays.h), with enough
// kept to compute every attention weight.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/attention.h"
#include "heed/error.h"
#include "heed/inspect/edits.h"
#include "heed/models/registry.h"
#include "heed/nn/run.h"
#include "heed/tensor.h"

namespace heed {

/// The residual stream at one depth: the decoder's, or the encoder's in a model without a decoder.
struct StreamLevel {
  TapKind kind = TapKind::kResidual;  // kEmbedding, kMiddle (after an attention) or kResidual
  Stack stack = Stack::kSelf;
  int layer = -1;  // -1: the embedding
  Tensor value;    // [T, C]
};

/// One token of the input. begin = end for a special token added by the tokenizer, and for every
/// token of a session opened from ids or arrays.
struct SessionToken {
  TokenId id = 0;
  std::string bytes;  // its decoded bytes; a special token's name; `#5` without a tokenizer
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int text = 0;  // which text of a pair; -1: a special token of neither
};

/// The extents of an attention matrix, which may differ.
struct MatrixSize {
  std::int64_t queries = 0;
  std::int64_t keys = 0;

  std::int64_t longer() const { return std::max(queries, keys); }
};

/// What one layer's attention leaves: enough to recompute each weight, linear in the text. Its mask
/// may differ from the masks of other layers.
struct LayerAttention {
  Tensor q;                       // [1, H, Tq, D], after norm and rotation
  Tensor k;                       // [1, G, Tk, D]
  Tensor v;                       // [1, G, Tk, Dv]
  Tensor lse;                     // [1, H, Tq]
  Tensor lse_low;                 // [1, H, Tq]
  Tensor bias = {};               // the memory of scores.bias, if any; T5: a number per distance
  Tensor slopes = {}, sink = {};  // the memory of scores.alibi and scores.sink
  /// [H, Tk]: |W_O v_j|, the length of what each value writes (Kobayashi et al. 2020); for arrays
  /// |v_j|.
  Tensor write_lengths = {};
  Extents extents;
  Mask mask;
  Scores scores;

  std::int64_t queries() const { return q.dim(2); }
  std::int64_t keys() const { return k.dim(2); }
  MatrixSize size() const { return {queries(), keys()}; }
  /// The arguments of the attention that ran, as views of the tensors above.
  AttentionArgs args() const;
  AttendedConstView attended() const;
};

struct SessionStack {
  StackShape shape;
  std::vector<LayerAttention> layers;  // empty until the pass has run
};

struct SessionOptions {
  bool all_logits = false;          // keep the logits of every position, not only the last
  bool hidden = false;              // keep the last layer's normed activations
  bool streams = false;             // keep the residual stream, if the model has a vocabulary
  bool write_lengths = true;        // keep LayerAttention::write_lengths
  std::function<bool()> stop = {};  // polled at each step of a layer; true: ends with kInterrupted
  const std::atomic<bool>* stopped = nullptr;  // the same, also polled inside matrix products
  std::function<void()> layer_done = {};       // called after each layer's attention
};

/// Everything that a session keeps. It never stores the weights: memory is Q + K + V + lse of each
/// layer.
struct Session {
  std::string model;  // the model's name
  bool built_in = false;
  ModelInfo info;
  std::vector<SessionToken> tokens;      // the queries' tokens; of an encoder-decoder, its output
  std::vector<SessionToken> key_tokens;  // the keys' tokens if they differ, for example a source
  std::vector<std::int32_t> types;       // each token's type, if the model has token types
  std::optional<std::int64_t> split;     // for a pair: index of the second text's first token
  std::vector<SessionStack> stacks;
  Tensor logits;                                // [T or 1, V]; not given if the model has none
  Tensor hidden;                                // [T, C]; if requested
  std::vector<StreamLevel> streams;             // from the embedding upward; if requested
  const Tokenizer* tokenizer = nullptr;         // for `tokens`; must outlive the session
  const Tokenizer* source_tokenizer = nullptr;  // for key_tokens
  Edits edits = {};                             // changes to its pass
  /// Throws kNotFound for a stack, layer or head that does not exist, and lists what exists.
  const SessionStack& at(Stack stack) const;
  const LayerAttention& at(const Place& place) const;
  std::vector<StackShape> shapes() const;
  /// Tokens of the rows and columns of a stack's matrices.
  std::span<const SessionToken> queries(Stack stack) const;
  std::span<const SessionToken> keys(Stack stack) const;
};

/// Throw kNotFound for what does not exist, and list what `model` has; `op` begins the message.
const StackShape& find_stack(std::string_view op, std::string_view model,
                             std::span<const StackShape> shapes, Stack stack);
void check_layer(std::string_view op, std::string_view model, const StackShape& shape,
                 std::int64_t layer);
void check_head(std::string_view op, std::string_view model, const StackShape& shape,
                std::int64_t head);

/// The texts that a session reads.
struct SessionTexts {
  std::string_view text = {};  // of an encoder-decoder: the source
  /// A second text that an encoder reads with the first; token offsets count within each text.
  std::optional<std::string_view> pair = {};
  /// The output of an encoder-decoder; none: its own output, always the likeliest token.
  std::optional<std::string_view> target = {};
};

/// Tokenizes (with the post-processor's special tokens) and runs the model once. Errors
/// (kInvalidArgument): no tokenizer, invalid UTF-8, a text without a token, more tokens than
/// positions.
Session open_session(const LoadedModel& model, std::string_view text,
                     const SessionOptions& options = {});

/// The same from token ids.
Session open_session(const LoadedModel& model, std::span<const TokenId> ids,
                     const SessionOptions& options = {});

/// The two halves of open_session, to show tokens while the model runs. The first rejects unknown
/// ids.
Session tokenize_session(const LoadedModel& model, const SessionTexts& texts);
Session tokenize_session(const LoadedModel& model, std::string_view text);
/// `target`: the tokens that an encoder-decoder writes after its first one, as in SessionTexts.
Session tokenize_session(const LoadedModel& model, std::span<const TokenId> ids,
                         std::optional<std::span<const TokenId>> target = {});
void run_session(Session& session, const LoadedModel& model, const SessionOptions& options = {});

/// Has code kInvalidArgument.
struct TooManyTokens : Error {
  using Error::Error;
};
/// Throws TooManyTokens if the session has more tokens than its model has positions.
void check_length(const Session& session);

/// Whether more than half of the tokens are parts of characters: single bytes of a script that the
/// vocabulary hardly covers.
bool are_mostly_parts_of_characters(std::span<const SessionToken> tokens);

}  // namespace heed
