// How a head looks from one side of an attention to the other: between the texts of a pair, and
// along a source.
#pragma once

#include <cstdint>

#include "heed/inspect/session.h"

namespace heed {

/// Of the rows of each text, in the mean, the share of their weight that goes to each text; and of
/// all rows the share of the first token.
struct PairShares {
  double a_to_a = 0, a_to_b = 0, b_to_a = 0, b_to_b = 0, to_first = 0;
};
/// Text B begins at token `split`.
PairShares pair_shares(const LayerAttention& layer, int head, std::int64_t split);

/// Whether what is written follows what is read.
struct SourceOrder {
  double in_order = 0;  // mean weight of query i on key i, over the queries that have one
  double peak = 0;      // mean of the largest weight of a row
};
SourceOrder source_order(const LayerAttention& layer, int head);

}  // namespace heed
