// Rows of a head's matrix as numbers, a few hundred at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heed/inspect/session.h"
#include "inspect/rows/largest.h"

namespace heed {

/// One row: weights by key, and scores (-inf where masked) if they were asked for.
struct RowView {
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::span<const float> weights;
  std::span<const float> scores;
};

struct LinesRequest {
  int head = 0;
  std::vector<std::int64_t> rows = {};  // empty: every row
  bool scores = false;
  float hidden = kHiddenWeight;  // the weight of a key that the mask hides
};

/// Calls `use` for the rows in rising order.
void visit_lines(const LayerAttention& layer, LinesRequest request,
                 const std::function<void(const RowView&)>& use);

/// Weights of cells, whose masked ones are NaN, as `largest_of` reads them.
std::vector<float> hidden_for_masked(std::vector<float> weights);

}  // namespace heed
