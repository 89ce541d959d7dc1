// How a head looks from one side of an attention to the other: between the texts of a pair, and
// along a source.
#pragma once

#include <cstdint>
#include <optional>

#include "heed/inspect/head_scores.h"

namespace heed {

/// Text B begins at token `split`.
PairShares pair_shares(const LayerAttention& layer, int head, std::int64_t split);

SourceOrder source_order(const LayerAttention& layer, int head);

/// Adds to a head's scores what an attention between two sides has: of a pair, whose second text
/// begins at `split`, its shares, and of a cross-attention its order.
void score_sides(HeadScores& head, const LayerAttention& layer, std::optional<std::int64_t> split);

}  // namespace heed
