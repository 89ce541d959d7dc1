// A row of weights by dimension: the query, its keys, and the contribution of each dimension to
// each score.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/session.h"
#include "inspect/session/cancel.h"

namespace heed {

/// One key of the row. Its terms sum to `product`, the score before soft cap and bias.
struct DimensionsKey {
  std::int64_t key = 0;
  bool visible = false;  // false: the mask hides the key; its weight is 0
  double product = 0;
  double score = 0;
  double weight = 0;
  std::vector<float> k = {};
  std::vector<float> terms = {};
};

struct Dimensions {
  Place place;
  std::int64_t query = 0;
  double scale = 1;
  std::vector<float> q = {};
  /// How far each dimension's term of the attended keys is from its mean over the row's keys: the
  /// root mean square, weighted. A part that is equal for all keys does not affect the softmax.
  std::vector<double> spread = {};
  std::vector<DimensionsKey> keys = {};  // largest weights first, then the requested key
  std::int64_t of = 0;                   // number of visible keys
  std::int64_t rest_count = 0;
  double rest_weight = 0;
};

struct DimensionsRequest {
  Place place;
  std::int64_t query = 0;
  std::optional<std::int64_t> key = {};  // listed whatever its weight
  std::int64_t most = 16;                // number of keys listed for their weight
};

Dimensions dimensions(const Session& session, const DimensionsRequest& request, Cancel& cancel);

}  // namespace heed
