// A session: one input and the pass of a model over it, or arrays computed elsewhere, with enough
// kept to compute every attention weight; and the edits that change its pass, as data.
#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/attention.h"
#include "heed/error.h"
#include "heed/mask.h"
#include "heed/model.h"
#include "heed/tensor.h"
#include "heed/tokenizer.h"

namespace heed {

struct Session;

/// One head's attention.
struct Place {
  Stack stack = Stack::kSelf;
  int layer = 0;
  int head = 0;
  auto operator<=>(const Place&) const = default;
};

// -------------------------------------------------------------------------------------------------
// Changes to a session before its pass runs again, as data.

/// The list of a session that holds a token: `tokens` (the text, or the output of an
/// encoder-decoder) or `key_tokens` (the source that it reads).
enum class TokenSide : std::uint8_t { kTokens, kKeyTokens };

struct EditedToken {
  TokenSide side = TokenSide::kTokens;
  std::int64_t position = 0;
  auto operator<=>(const EditedToken&) const = default;
};

/// Replaces a token by another.
struct TokenSwap {
  EditedToken at;
  std::int32_t id = 0;
  auto operator<=>(const TokenSwap&) const = default;
};

/// Masks the key for the query in this head; the rest of the row takes its weight.
struct RemovedEdge {
  Place place;
  std::int64_t query = 0;
  std::int64_t key = 0;
  auto operator<=>(const RemovedEdge&) const = default;
};

/// The queries of a stack (one layer, one head) see only this many keys to each side.
struct AddedMask {
  Stack stack = Stack::kSelf;
  std::optional<int> layer = {};
  std::optional<int> head = {};
  std::int64_t left = -1;  // as in Band; -1: all keys
  std::int64_t right = -1;
  auto operator<=>(const AddedMask&) const = default;
};

/// The head's scores are multiplied before the softmax.
struct Temperature {
  Place place;
  double factor = 1;
  auto operator<=>(const Temperature&) const = default;
};

/// `by` is added to the score of a pair, after the temperature.
struct Steering {
  Place place;
  std::int64_t query = -1;  // -1: every query
  std::int64_t key = 0;
  double by = 0;
  auto operator<=>(const Steering&) const = default;
};

/// The head sees only what this mask lets through, too. `name` tells masks apart.
struct MaskedHead {
  Place place;
  std::string name;
  Mask mask;
  std::strong_ordering operator<=>(const MaskedHead& other) const;
  bool operator==(const MaskedHead& other) const { return std::is_eq(*this <=> other); }
};

/// A session of as many tokens, which has been run. `name` is its own.
struct OtherRun {
  std::string name;
  std::shared_ptr<const Session> session;
  auto operator<=>(const OtherRun&) const = default;
};

/// The head has the weights that it has in another run, by that run's q and k.
struct FrozenHead {
  Place place;
  OtherRun from;
  auto operator<=>(const FrozenHead&) const = default;
};

/// The head has the output that it has in another run.
struct PatchedHead {
  Place place;
  std::int64_t query = -1;  // -1: of every query
  OtherRun from;
  auto operator<=>(const PatchedHead&) const = default;
};

/// A part of a session's name: equal edits have equal text. Positions count tokens of the session
/// that is edited.
struct Edits {
  std::vector<Place> ablate = {};        // heads whose output is set to 0
  std::vector<RemovedEdge> remove = {};  // edges to mask
  std::vector<EditedToken> hide = {};    // keys hidden from every query in every layer
  std::vector<TokenSwap> swap = {};
  std::vector<AddedMask> mask = {};
  std::vector<Temperature> temperature = {};
  std::vector<Steering> steer = {};
  std::vector<MaskedHead> masked = {};
  std::vector<FrozenHead> freeze = {};
  std::vector<PatchedHead> patch = {};

  bool empty() const;
  bool operator==(const Edits&) const = default;
};

/// Sorted, each edit once; of one place one temperature, of one pair one steering.
Edits canonical(Edits edits);
/// The edits of both, canonical: what `first` does and then `then`. Of two swaps at one place, and
/// of two frozen or patched heads, the later one holds; a frozen head forgets what was done to its
/// scores before, an ablated one what was patched into it.
Edits combined(const Edits& first, const Edits& then);
/// "ablate=self.L2.H6;remove=self.L2.H6/197/67;hide=tokens/5;swap=tokens/3/431;mask=self.L1/3/0;
/// temperature=self.L2.H6/0.5;steer=self.L2.H6/-1/3/2;masked=self.L2.H6/NAME;
/// freeze=self.L2.H6/NAME;patch=self.L2.H6/-1/NAME" of canonical edits; empty of none.
std::string to_text(const Edits& edits);

// -------------------------------------------------------------------------------------------------
// Images among a session's tokens: pictures, frames of a video, or frames of sound.

inline constexpr std::size_t kMostImages = 64;  // of a session

/// A grid whose cells are tokens. Frames of sound are one row.
struct SessionImage {
  /// Whether they are tokens of the queries, of the keys, or of both. Where the queries are the
  /// keys, a session has set both.
  bool of_queries = false, of_keys = false;
  std::int64_t rows = 0, columns = 0;
  std::vector<std::int64_t> tokens = {};  // row by row; -1: the cell has no token
  std::string picture = {};               // the bytes of a PNG or JPEG; empty: there is none
  std::string name = {};                  // empty: its number
};

// -------------------------------------------------------------------------------------------------
// One input, and what is kept of the pass over it.

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

// -------------------------------------------------------------------------------------------------
// A session from arrays computed elsewhere: any attention whose q, k and v are available.

/// One layer computed elsewhere, for one sequence: q [1, H, Tq, D], k [1, G, Tk, D], v [1, G, Tk,
/// Dv] in f32, with all arguments of its scores. Without q the layer has no attention: it keeps its
/// number and holds nothing.
struct LayerArrays {
  AttentionArgs args = {};
  ConstView lse = {};      // [1, H, Tq]; default: computed
  ConstView lse_low = {};  // the remainder of lse that f32 could not hold; default: 0
};

struct StackArrays {
  Stack stack = Stack::kSelf;
  std::vector<LayerArrays> layers = {};
};

struct SessionArrays {
  std::string name = "arrays";
  std::vector<std::string> tokens = {};      // the queries' tokens; empty: their indices
  std::vector<std::string> key_tokens = {};  // of the keys; empty: `tokens` if as many, else
                                             // indices
  std::vector<StackArrays> stacks = {};
  std::optional<std::int64_t> split = {};  // of a pair: the first token of the second text
  std::vector<SessionImage> images = {};   // each of their tokens is named by its cell
  /// The layers are weights: their bias is ln of them, q and k are 0 and stand for nothing.
  bool only_weights = false;
};

/// Copies the arrays. Queries and keys may differ in number; all layers have the same ones. Errors
/// name the array.
Session open_session(const SessionArrays& arrays);

/// Whether the session was opened with `only_weights`: its scores have no parts to show.
bool has_only_weights(const Session& session);

}  // namespace heed
