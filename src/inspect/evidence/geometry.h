// One head's queries and keys in a plane, where the product of two points approximates a score, and
// a row of scores by dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/session.h"
#include "inspect/session/cancel.h"

namespace heed {

struct PlaneQuery {
  std::int64_t query = 0;
  double x = 0, y = 0;
};

struct PlaneKey {
  std::int64_t key = 0;
  double x = 0, y = 0;
  double product = 0;  // with the current query: scale q . k, before soft cap and bias
  double weight = 0;
};

/// A plane for S, the products of queries and keys minus each row's mean, which does not affect the
/// softmax. For a query at (x, y) and a key at (x', y'), x x' + y y' approximates their entry of S
/// (a biplot, Gabriel 1971). The first direction is the row of the current query, which is on the
/// positive x axis: its entries are exact, and x' orders its keys by score. The second is the
/// leading singular direction of the remainder (Eckart & Young 1936). If that row is constant, both
/// are leading directions.
struct Geometry {
  Place place;
  std::int64_t query = 0;
  bool turned = false;  // whether this head's queries and keys are rotated
  std::vector<PlaneQuery> queries = {};
  std::vector<PlaneKey> keys = {};
  std::int64_t other_queries = 0, other_keys = 0;  // of the text and the row, but not in the plane
  double mean = 0;                                 // of the current query's products
  std::vector<double> shares = {};                 // share of S's squares per direction
  double explained = 1;                            // the sum of the shares
};

struct GeometryRequest {
  Place place;
  std::int64_t query = 0;
  std::optional<std::int64_t> key = {};  // always shown, if visible to the query
  bool still = false;                    // without rotation by position
};

/// Queries, and keys, in a plane: a text with at most this many is complete.
inline constexpr std::int64_t kPlaneNearest = 128;

/// A long text is reduced to the 128 queries and keys nearest to the query, and the row's 16
/// largest keys. `model` (null: not available) provides the rotation. Throws kUnsupported if scores
/// are not products of q and k.
Geometry geometry(const Session& session, const LoadedModel* model, const GeometryRequest& request,
                  Cancel& cancel);

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

/// A row of weights by dimension: the query, its keys, and the contribution of each dimension to
/// each score.
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
