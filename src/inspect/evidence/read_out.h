// Applies the model's vocabulary layer to a session's residual stream: how likely each token was,
// and what fills a mask in its place.
#pragma once

#include <atomic>
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

}  // namespace heed
