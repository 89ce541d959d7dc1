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
#include "heed/inspect/images.h"
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
  int text = 0;           // which text of a pair; -1: a special token that belongs to neither
  bool of_image = false;  // a cell of one of the session's images, which its name says
};

/// The extents of an attention matrix, which may differ.
struct MatrixSize {
  std::int64_t queries = 0;
  std::int64_t keys = 0;

  std::int64_t longer() const { return std::max(queries, keys); }
};

/// The parts of a pass's attentions that are kept.
struct KeptAttention {
  std::optional<std::vector<int>> layers = {};  // of every stack, ascending; none: all
  /// The type of q, k and v: f32, or f16, which takes half of the memory and changes scores a
  /// little (LayerAttention::score_error).
  DType dtype = DType::kF32;

  bool has(int layer) const {
    return !layers || std::binary_search(layers->begin(), layers->end(), layer);
  }
};

/// Reads "8-12" or "0,8-12". Throws kInvalidArgument for `keep_layers`.
std::vector<int> read_layers(std::string_view text);
/// "0, 8 to 12".
std::string layers_text(std::span<const int> layers);

/// What one layer's attention leaves behind: enough to recompute each weight, linear in the text.
/// Its mask says what may be seen, which can differ from layer to layer.
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
  /// A bound on how far a score is from the one that the pass used: 0 unless q and k were rounded.
  /// Each weight is then within a factor of exp(2 score_error).
  double score_error = 0;
  Extents extents;
  Mask mask;
  Scores scores;

  bool is_kept() const { return q.given(); }
  std::int64_t queries() const { return q.dim(2); }
  std::int64_t keys() const { return k.dim(2); }
  MatrixSize size() const { return {queries(), keys()}; }
  /// The arguments of the attention that ran, as views of the tensors above.
  AttentionArgs args() const;
  AttendedConstView attended() const;
};

struct SessionStack {
  StackShape shape;
  /// Empty until the pass has run. A layer that it did not keep is there and holds nothing.
  std::vector<LayerAttention> layers;
};

struct SessionOptions {
  bool all_logits = false;          // keep the logits of every position, not only the last
  bool hidden = false;              // keep the last layer's normed activations
  bool streams = false;             // keep the residual stream, if the model has a vocabulary
  bool write_lengths = true;        // keep LayerAttention::write_lengths
  std::function<bool()> stop = {};  // polled at each step of a layer; true: ends with kInterrupted
  const std::atomic<bool>* stopped = nullptr;  // the same, also polled inside matrix products
  std::function<void()> layer_done = {};       // called after each layer's attention
  std::optional<std::int64_t> memory = {};     // bytes that may be taken; none: what is free
};

/// Everything that is kept. Never the weights: memory is Q + K + V + lse of each layer.
struct Session {
  std::string model;  // the model's name
  bool built_in = false;
  ModelInfo info;
  std::vector<SessionToken> tokens;      // of the queries; of an encoder-decoder what it writes
  std::vector<SessionToken> key_tokens;  // of the keys, where these are other tokens, as a source's
  std::vector<std::int32_t> types;       // of the tokens, where the model has kinds of them
  std::optional<std::int64_t> split;     // of a pair: the first token of the second text
  std::vector<SessionImage> images;      // of arrays
  std::vector<SessionStack> stacks;
  Tensor logits;                         // [T or 1, V]; not given when the model has none
  Tensor hidden;                         // [T, C]; when asked for
  std::vector<StreamLevel> streams;      // from the embedding upward; when asked for
  const Tokenizer* tokenizer = nullptr;  // of what the model writes; it must outlive the session
  const Tokenizer* source_tokenizer = nullptr;  // of key_tokens
  Edits edits = {};                             // what its pass does otherwise
  KeptAttention keep = {};                      // set before the pass
  /// Throws kNotFound, with what there is, for a stack, layer or head that does not exist, and for
  /// a layer that was not kept.
  const SessionStack& at(Stack stack) const;
  const LayerAttention& at(const Place& place) const;
  std::vector<StackShape> shapes() const;
  MatrixSize size(Stack stack) const;
  /// Whether the layer has attention and the session keeps it.
  bool keeps(const StackShape& shape, int layer) const {
    return shape.has(layer) && keep.has(layer);
  }
  /// Throws kNotFound unless the layer is kept.
  void require_kept(std::string_view op, const StackShape& shape, int layer) const;
  /// The largest of the layers that are kept.
  double score_error() const;
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
  /// The chat in which `text` is the last message (chat_text). The model reads the chat; offsets
  /// are those within `text`, and begin = end for tokens that the template wrote.
  std::optional<std::string_view> chat = {};
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
/// Throws TooLittleMemory before it begins where memory does not suffice, and kNotFound where
/// `keep` names a layer that the model does not have.
void run_session(Session& session, const LoadedModel& model, const SessionOptions& options = {});

/// The session does not fit into the memory that it may take. Of code kFailed.
struct TooLittleMemory : Error {
  using Error::Error;
};

/// Of code kInvalidArgument.
struct TooManyTokens : Error {
  using Error::Error;
};
/// Throws TooManyTokens if the session has more tokens than its model has positions.
void check_length(const Session& session);
/// Throws where the session is to keep what its model does not have.
void check_kept(const Session& session);

/// Whether more than half of the tokens are parts of characters: single bytes of a script that the
/// vocabulary hardly covers.
bool are_mostly_parts_of_characters(std::span<const SessionToken> tokens);

}  // namespace heed
