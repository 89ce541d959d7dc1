// One head's queries and keys in a plane, where the product of two points approximates a score.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/inspect/session.h"
#include "inspect/session/cancel.h"

namespace heed {

struct PlaneQuery {
  std::int64_t query = 0;
  double x = 0, y = 0;
};

struct PlaneKey {
  std::int64_t key = 0;
  double x = 0, y = 0;
  double product = 0;  // with the query in view: scale q . k, before soft cap and bias
  double weight = 0;
};

/// A plane for S, the products of queries and keys less each row's mean, which the softmax does not
/// see. A query at (x, y) and a key at (x', y') have x x' + y y' in place of their entry of S (a
/// biplot, Gabriel 1971). The first direction is the row of the query in view, which is on the
/// positive x axis: its entries are exact, and x' orders its keys by score. The second is the
/// leading singular direction of what is left (Eckart & Young 1936). Where that row is constant,
/// both are leading directions.
struct Geometry {
  Place place;
  std::int64_t query = 0;
  bool turned = false;  // whether positions turn this head's queries and keys
  std::vector<PlaneQuery> queries = {};
  std::vector<PlaneKey> keys = {};
  std::int64_t other_queries = 0, other_keys = 0;  // of the text and of the row, not in the plane
  double mean = 0;                                 // of the products of the query in view
  std::vector<double> shares = {};                 // of the squares of S, by direction
  double explained = 1;                            // the sum of the shares
};

struct GeometryRequest {
  Place place;
  std::int64_t query = 0;
  std::optional<std::int64_t> key = {};  // shown wherever it is, if the query may see it
  bool still = false;                    // as if positions turned nothing
};

/// Queries, and keys, of a plane: a text with at most as many is in it whole.
inline constexpr std::int64_t kPlaneNearest = 128;

/// A long text is cut to the 128 queries and keys nearest to the query, and the row's 16 largest
/// keys. `model` (null: not at hand) tells how positions turn. Throws kUnsupported where scores are
/// not products of q and k.
Geometry geometry(const Session& session, const LoadedModel* model, const GeometryRequest& request,
                  Cancel& cancel);

}  // namespace heed
