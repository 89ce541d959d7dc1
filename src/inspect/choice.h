// Which head says most about a text, an edge or a key, as heed chooses it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "heed/look.h"
#include "heed/session.h"

namespace heed {

/// The scores of all heads that a session keeps; `scored` is called after each layer.
std::vector<HeadScores> score_heads(const Session& session, const std::function<void()>& scored);

/// The units that are shown, if they are not tokens: the first token of each.
struct ShownUnits {
  Unit unit = Unit::kToken;
  std::vector<std::int64_t> firsts = {};
};

/// Chooses the head of a stack (default: the first) that says most about the text, at its strongest
/// edge from word to word, by the rule of docs/look.md. `layer` and `head` restrict the choice
/// (ties to the lower layer, then head), `queries` its rows (empty: the gaps of a masked text, else
/// all). The reason names `shown` units. The error for a layer or head that does not exist gives
/// the range.
ChosenHead choose_head(const Session& session, std::span<const HeadScores> scores,
                       std::optional<Stack> stack, std::optional<int> layer,
                       std::optional<int> head, std::span<const std::int64_t> queries = {},
                       ShownUnits shown = {});

/// The same head at its strongest edge from word to word, if it has one.
ChosenHead at_strongest_edge(const Session& session, ChosenHead chosen);

/// The head with the largest weight between `queries` and `keys`, with the same restrictions.
ChosenHead choose_head_of_edge(const Session& session, std::span<const std::int64_t> queries,
                               std::span<const std::int64_t> keys, std::optional<Stack> stack,
                               std::optional<int> layer, std::optional<int> head);

/// The head with the largest weight on one of `keys` from a token that is not adjacent to it.
ChosenHead choose_head_of_keys(const Session& session, std::span<const std::int64_t> keys,
                               std::optional<Stack> stack, std::optional<int> layer,
                               std::optional<int> head);

}  // namespace heed
