// What the model's words make of the residual stream that a session keeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "heed/inspect/session.h"

namespace heed {

/// The token that the words behind a position are about: the next one where the model writes
/// (none behind the last), the one that stands there of an encoder.
std::optional<TokenId> word_that_came(const Session& session, std::int64_t position);

/// Throws kUnsupported where the session keeps no stream: it was opened from arrays, or its model
/// has no words.
void require_streams(std::string_view op, const Session& session);

/// Logits [rows, V] of positions [begin, end) as this level of the stream has them.
Tensor read_out(const StreamLevel& level, const LoadedModel& model, std::int64_t begin,
                std::int64_t end);

/// Calls `use(position, logits)` for each position, some rows at a time; `check` is called between
/// them and may throw.
using UseLogits = std::function<void(std::int64_t position, std::span<const float> logits)>;
void visit_logits(const StreamLevel& level, const LoadedModel& model, std::int64_t begin,
                  std::int64_t end, const std::function<void()>& check, const UseLogits& use);

/// What a distribution says of one word.
struct WordChance {
  double probability = 0;
  double entropy = 0;     // of the distribution, in nats
  std::int64_t rank = 0;  // 1 = the likeliest; ties to the lower id
};
WordChance chance_of(TokenId id, std::span<const float> logits);

/// The likeliest word, ties to the lower id.
TokenId first_choice(std::span<const float> logits);

}  // namespace heed
