// Applies the model's vocabulary layer to a session's residual stream: how likely each token was,
// what fills a mask in its place, and the words predicted at each depth.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "heed/session.h"

namespace heed {

/// The token that a position's prediction is about: the next one if the model generates (none after
/// the last), the token itself for an encoder.
std::optional<TokenId> word_that_came(const Session& session, std::int64_t position);

/// Throws kUnsupported if the session keeps no stream: it was opened from arrays, or its model has
/// no vocabulary.
void require_streams(std::string_view op, const Session& session);

/// Logits [rows, V] of positions [begin, end) at this level of the stream.
Tensor read_out(const StreamLevel& level, const LoadedModel& model, std::int64_t begin,
                std::int64_t end);

/// Calls `use(position, logits)` for each position, a few rows at a time; `check` is called between
/// them and may throw.
using UseLogits = std::function<void(std::int64_t position, std::span<const float> logits)>;
void visit_logits(const StreamLevel& level, const LoadedModel& model, std::int64_t begin,
                  std::int64_t end, const std::function<void()>& check, const UseLogits& use);

/// |to - from| / |from|; 0 if `from` is 0.
double change_of(std::span<const float> from, std::span<const float> to);

/// One word within a distribution.
struct WordChance {
  double probability = 0;
  double entropy = 0;     // of the distribution, in nats
  std::int64_t rank = 0;  // 1 = the likeliest; ties to the lower id
};
WordChance chance_of(TokenId id, std::span<const float> logits);

/// The likeliest word, ties to the lower id.
TokenId first_choice(std::span<const float> logits);

/// `[MASK]`, `<mask>`. kUnsupported if the session's model fills no masks or names none.
TokenId mask_token(const Session& session);

/// Replaces one token by the mask.
Edits covered(const Session& session, std::int64_t position);

struct TokenSurprise {
  std::int64_t token = 0;  // index in the session
  WordChance chance;       // its probability among the words possible there
};

/// For each token that the model could predict: those after the first if it generates; for an
/// encoder all tokens of the texts, which it sees, except masks. Errors as in `lens`.
std::vector<TokenSurprise> surprises(const Session& session, const LoadedModel& model,
                                     const std::function<void()>& check);

struct LensRequest {
  std::int64_t begin = 0;  // positions
  std::int64_t end = 0;
  bool every_block = false;             // also between attention and MLP
  std::optional<std::int64_t> at = {};  // the position where the answers' ranks are wanted
  std::int64_t answers = 3;             // the likeliest words of the last level, at `at`
};

struct LensCell {
  TokenId id = 0;                         // the level's first choice
  double probability = 0;                 // its probability
  std::optional<double> came = {};        // probability of the actual next word
  std::optional<std::int64_t> rank = {};  // its rank; empty after the last token
};

/// One depth of the stream.
struct LensLevel {
  TapKind kind = TapKind::kResidual;
  Stack stack = Stack::kSelf;
  int layer = -1;  // -1: the embedding
  std::vector<LensCell> cells = {};
  std::int64_t right = 0;  // positions whose first choice is the actual word
  std::int64_t of = 0;     // judged positions: all if that is quick, else the window's
  std::vector<std::int64_t> ranks = {};  // of the answers
  std::vector<double> chances = {};      // of the answers
};

/// The logit lens (nostalgebraist 2020): the words predicted at each depth of the residual stream,
/// through the model's last norm and vocabulary layer.
struct Lens {
  std::int64_t begin = 0, end = 0;
  std::vector<LensLevel> levels = {};  // from the embedding upward
  std::vector<TokenId> answers = {};   // at `at`
  bool has_blocks = false;             // the stream between attention and MLP is kept
  bool judged_all = false;
};

/// `check` is called between pieces of work and may throw. kUnsupported without a vocabulary.
Lens lens(const Session& session, const LoadedModel& model, const LensRequest& request,
          const std::function<void()>& check);

}  // namespace heed
