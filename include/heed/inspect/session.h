// A session: one text through one model, kept so that every attention weight can be asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/models/registry.h"
#include "heed/ops/attention.h"

namespace heed {

/// One token of the text. A special token that the tokenizer added, and each token of a session
/// opened from ids, has begin = end.
struct SessionToken {
  TokenId id = 0;
  std::string bytes;  // what it decodes to; a special token's name; the id where no tokenizer is
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What one layer's attention leaves behind: enough to recompute each weight, linear in the text.
struct LayerAttention {
  Tensor q;        // [1, H, T, D] as scored
  Tensor k;        // [1, G, T, D]
  Tensor v;        // [1, G, T, Dv]
  Tensor lse;      // [1, H, T]
  Tensor lse_low;  // [1, H, T]
  Extents extents;
  Mask mask;
  Scores scores;

  /// The arguments of the attention that ran; views on the tensors above.
  AttentionArgs args() const;
  AttendedConstView attended() const;
};

struct SessionOptions {
  bool all_logits = false;          // keep the logits of every position, not of the last one alone
  bool hidden = false;              // keep the last layer's normed activations
  std::function<bool()> stop = {};  // asked at each layer; true ends the pass with kInterrupted
};

/// Everything that was kept. Never the weights: memory is Q + K + V + lse of each layer.
struct Session {
  std::string model;  // its name
  bool built_in = false;
  ModelInfo info;
  std::vector<SessionToken> tokens;
  std::vector<LayerAttention> layers;
  Tensor logits;                         // [T or 1, V]; not given when the model has none
  Tensor hidden;                         // [T, C]; when asked for
  const Tokenizer* tokenizer = nullptr;  // the model's; it must outlive the session
};

/// Tokenizes (special tokens as the post-processor says) and runs the model once. An empty text
/// starts from the model's first token. Errors (kInvalidArgument): no tokenizer, invalid UTF-8, an
/// empty text where the model has no first token, more tokens than positions.
Session open_session(const LoadedModel& model, std::string_view text,
                     const SessionOptions& options = {});

/// The two halves of it, for those who show the tokens while the model runs.
Session cut_session(const LoadedModel& model, std::string_view text);
void run_session(Session& session, const LoadedModel& model, const SessionOptions& options = {});

/// The same from token ids.
Session open_session(const LoadedModel& model, std::span<const TokenId> ids,
                     const SessionOptions& options = {});

/// Whether more than half of the tokens are parts of characters: single bytes of a text that the
/// model's vocabulary hardly knows.
bool are_mostly_parts_of_characters(std::span<const SessionToken> tokens);

}  // namespace heed
