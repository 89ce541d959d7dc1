// What a head attends to on the whole, as a few numbers.
#pragma once

#include <vector>

#include "heed/inspect/session.h"

namespace heed {

/// Means over the rows i of a head's weights p[i, j], for positions that a row has: a row without a
/// previous token does not count for `previous`, and so on. 0 where no row counts.
struct HeadScores {
  int layer = 0;
  int head = 0;
  double previous = 0;  // mean p[i, i - 1] over i >= 1
  double self = 0;      // mean p[i, i]     over i >= 1: the first row has no choice when causal
  double next = 0;      // mean p[i, i + 1] over i <= T - 2; 0 for causal models
  double first = 0;     // mean p[i, 0]     over i >= 1: the sink's share
  double entropy = 0;   // mean of -sum_j p ln p over all rows, in nats
  /// Mean, over the rows that have such a key, of the largest weight on a key that is not the
  /// first, the own or the previous token. The automatic choice of a head takes the largest.
  double elsewhere = 0;
};

/// One sweep over the layer; memory does not grow with the square of the text. One entry a head.
std::vector<HeadScores> score_heads(const LayerAttention& layer, int index);

/// Every layer's, in order.
std::vector<HeadScores> score_heads(const Session& session);

}  // namespace heed
