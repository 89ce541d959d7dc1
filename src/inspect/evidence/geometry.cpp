#include "inspect/evidence/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/sequences.h"
#include "heed/error.h"
#include "inspect/evidence/score_parts.h"
#include "inspect/evidence/why.h"
#include "inspect/rows/lines.h"

namespace heed {
namespace {

constexpr std::int64_t kLargest = 16;  // keys of the row

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Rotates two columns within their plane until they are orthogonal, the longer one first. Returns
// false if they are already orthogonal within `least`.
bool turn_pair(Vector& a, Vector& b, double least) {
  const double product = dot(a, b);
  if (std::abs(product) <= least) return false;
  const double angle = std::atan2(2 * product, dot(a, a) - dot(b, b)) / 2;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  for (std::size_t i = 0; i < a.size(); ++i)
    std::tie(a[i], b[i]) = std::tuple(cosine * a[i] + sine * b[i], cosine * b[i] - sine * a[i]);
  return true;
}

// One-sided Jacobi (Hestenes 1958): rotates pairs of columns until all are orthogonal. Their
// lengths are then the singular values, and the columns are the left singular vectors times these.
std::vector<Vector> orthogonal(std::vector<Vector> columns, double squares, Cancel& cancel) {
  constexpr int kMostSweeps = 40;  // 5 to 10 are usual
  bool is_done = false;
  for (int sweep = 0; sweep < kMostSweeps && !is_done; ++sweep) {
    is_done = true;
    for (std::size_t a = 0; a < columns.size(); ++a) {
      cancel.check();
      for (std::size_t b = a + 1; b < columns.size(); ++b)
        if (turn_pair(columns[a], columns[b], 1e-15 * squares)) is_done = false;
    }
  }
  std::ranges::sort(columns, std::greater(), [](const Vector& of) { return dot(of, of); });
  return columns;
}

// The text's tokens nearest to `at`.
std::vector<std::int64_t> nearest(std::int64_t at, std::int64_t count) {
  const std::int64_t most = std::min(kPlaneNearest, count);
  return ascending(most, std::clamp<std::int64_t>(at - most / 2, 0, count - most));
}

// `ranked` are the visible keys. Returns those nearest to `at`, the largest, and the requested one,
// in order.
std::vector<Entry> shown_keys(const std::vector<Entry>& ranked, std::int64_t at,
                              const GeometryRequest& request) {
  std::vector<Entry> near = ranked;
  std::ranges::stable_sort(near, {}, [at](const Entry& key) { return std::abs(key.at - at); });
  std::vector<Entry> shown(near.begin(), near.begin() + std::min(kPlaneNearest, std::ssize(near)));
  shown.insert(shown.end(), ranked.begin(),
               ranked.begin() + std::min(kLargest, std::ssize(ranked)));
  const auto asked =
      std::ranges::find_if(ranked, [&](const Entry& key) { return key.at == request.key; });
  if (asked != ranked.end()) shown.push_back(*asked);
  sort_once(shown, &Entry::at);
  return shown;
}

// A row as scored, or without rotation by position.
std::vector<float> row_at(std::span<const float> row, std::int64_t position, const Turns& turns,
                          bool still) {
  if (!still) return {row.begin(), row.end()};
  Vector turned_back(row.begin(), row.end());
  turn(turned_back, turns, -static_cast<double>(position));
  return {turned_back.begin(), turned_back.end()};
}

// One list per query, with one product per key.
std::vector<Vector> products(const HeadRows& rows, const Geometry& plane, const Turns& turns,
                             bool still, Cancel& cancel) {
  std::vector<std::vector<float>> keys;
  for (const PlaneKey& key : plane.keys)
    keys.push_back(row_at(rows.key(key.key), key.key, turns, still));
  std::vector<Vector> products;
  for (const PlaneQuery& query : plane.queries) {
    cancel.check();
    const auto q = row_at(rows.query(query.query), query.query, turns, still);
    products.emplace_back();
    for (const std::vector<float>& key : keys) {
      const Vector terms = rows.terms(q, key);
      products.back().push_back(std::reduce(terms.begin(), terms.end()));
    }
  }
  return products;
}

double mean_of(const Vector& numbers) {
  return std::reduce(numbers.begin(), numbers.end()) /
         static_cast<double>(std::max<std::size_t>(numbers.size(), 1));
}

double squares_of(const std::vector<Vector>& rows) {
  double squares = 0;
  for (const Vector& row : rows) squares += dot(row, row);
  return squares;
}

// The coordinates along one axis of the plane.
struct Axis {
  double PlaneQuery::* of_query;
  double PlaneKey::* of_key;
};
constexpr Axis kAcross{&PlaneQuery::x, &PlaneKey::x}, kUp{&PlaneQuery::y, &PlaneKey::y};

// Projects `rows` onto `line`, which has a number per key, stores the coordinates in the axis and
// subtracts them from the rows. Returns their sum of squares.
double place_along(const Axis& axis, Vector line, std::vector<Vector>& rows, Geometry& plane) {
  const double length = std::sqrt(dot(line, line));
  for (double& number : line) number /= length;
  Vector along;
  for (const Vector& row : rows) along.push_back(dot(line, row));
  const double squares = dot(along, along);
  const double root = std::sqrt(std::sqrt(squares));  // gives queries and keys equal length
  for (std::size_t j = 0; j < line.size(); ++j) plane.keys[j].*axis.of_key = root * line[j];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    plane.queries[i].*axis.of_query = along[i] / root;
    for (std::size_t j = 0; j < line.size(); ++j) rows[i][j] -= along[i] * line[j];
  }
  return squares;
}

// The leading direction, with its largest number positive; empty if the rows are only rounding
// errors.
Vector leading(const std::vector<Vector>& rows, double least, Cancel& cancel) {
  const double squares = squares_of(rows);
  if (squares <= least) return {};
  Vector line = orthogonal(rows, squares, cancel).front();
  const auto largest =
      std::ranges::max_element(line, {}, [](double number) { return std::abs(number); });
  if (*largest < 0)
    for (double& number : line) number = -number;
  return line;
}

// `least`: smaller numbers are rounding errors.
void read_plane(std::vector<Vector> centred, std::size_t in_view, double least, Geometry& plane,
                Cancel& cancel) {
  const double squares = squares_of(centred);
  plane.shares = {0, 0};
  if (squares <= least) return;
  const Vector own = centred[in_view];
  const Vector first = dot(own, own) > least ? own : leading(centred, least, cancel);
  plane.shares[0] = place_along(kAcross, first, centred, plane) / squares;
  const Vector second = leading(centred, least, cancel);
  if (!second.empty()) plane.shares[1] = place_along(kUp, second, centred, plane) / squares;
  plane.explained = std::min(1.0, plane.shares[0] + plane.shares[1]);
}

void check_products(const LayerAttention& layer) {
  const Similarity similarity = layer.scores.similarity;
  if (similarity == Similarity::kDot || similarity == Similarity::kCosine) return;
  fail("geometry", "similarity", "a distance",
       "dot or cosine, whose scores are products of q and k", ErrorCode::kUnsupported);
}

// Reads the current row, and chooses the tokens of the plane.
void read_tokens(const Session& session, const GeometryRequest& request, Geometry& plane) {
  const LayerAttention& layer = session.at(request.place);
  const Stack stack = request.place.stack;
  const bool square = session.queries(stack).data() == session.keys(stack).data();
  for (const std::int64_t query : nearest(request.query, layer.queries()))
    plane.queries.push_back({query});
  visit_lines(
      layer, {.head = request.place.head, .rows = {request.query}}, [&](const RowView& row) {
        const std::vector<Entry> ranked = largest_of(row.weights, {}).entries;
        const std::int64_t at = square || ranked.empty() ? request.query : ranked.front().at;
        for (const Entry& key : shown_keys(ranked, at, request))
          plane.keys.push_back({.key = key.at, .weight = key.weight});
        plane.other_keys = std::ssize(ranked) - std::ssize(plane.keys);
      });
  plane.other_queries = layer.queries() - std::ssize(plane.queries);
}

}  // namespace

Geometry geometry(const Session& session, const LoadedModel* model, const GeometryRequest& request,
                  Cancel& cancel) {
  check_products(session.at(request.place));
  const HeadRows rows(session.at(request.place), request.place.head);
  Geometry plane{.place = request.place, .query = request.query};
  read_tokens(session, request, plane);
  const Turns turns = turns_of(model, session, request.place);
  plane.turned = !turns.angles.empty();
  std::vector<Vector> centred = products(rows, plane, turns, request.still, cancel);
  const auto in_view = static_cast<std::size_t>(request.query - plane.queries.front().query);
  for (std::size_t j = 0; j < plane.keys.size(); ++j) plane.keys[j].product = centred[in_view][j];
  plane.mean = mean_of(centred[in_view]);
  const double squares = squares_of(centred);
  for (Vector& row : centred)
    for (const double mean = mean_of(row); double& product : row) product -= mean;
  read_plane(std::move(centred), in_view, 1e-12 * squares, plane, cancel);
  return plane;
}

namespace {

constexpr std::int64_t kKeysBetween = 1024;  // keys between checks of the client

// The score is computed here, because the row has none for a masked key.
DimensionsKey listed(const HeadRows& rows, std::int64_t query, std::int64_t key) {
  const std::vector<double> terms = rows.terms(rows.query(query), rows.key(key));
  DimensionsKey listed{.key = key};
  listed.product = std::reduce(terms.begin(), terms.end());
  listed.score = rows.capped(listed.product) + rows.bias(query, key) + rows.alibi(query, key);
  listed.k.assign(rows.key(key).begin(), rows.key(key).end());
  listed.terms.assign(terms.begin(), terms.end());
  return listed;
}

// `keys`: the keys visible to the query, with their weights.
std::vector<double> spread(const HeadRows& rows, std::int64_t query, const std::vector<Entry>& keys,
                           Cancel& cancel) {
  const std::size_t width = rows.query(query).size();
  const double count = static_cast<double>(std::max<std::size_t>(keys.size(), 1));
  std::vector<double> mean(width), weighted(width), squares(width);
  double mass = 0;
  for (std::size_t at = 0; at < keys.size(); ++at) {
    if (at % kKeysBetween == 0) cancel.check();
    const std::vector<double> terms = rows.terms(rows.query(query), rows.key(keys[at].at));
    const double weight = keys[at].weight;
    mass += weight;
    for (std::size_t d = 0; d < width; ++d) {
      mean[d] += terms[d] / count;
      weighted[d] += weight * terms[d];
      squares[d] += weight * terms[d] * terms[d];
    }
  }
  std::vector<double> spread;
  for (std::size_t d = 0; d < width; ++d) {
    const double square = squares[d] - 2 * mean[d] * weighted[d] + mean[d] * mean[d] * mass;
    spread.push_back(std::sqrt(std::max(0.0, square)));
  }
  return spread;
}

}  // namespace

Dimensions dimensions(const Session& session, const DimensionsRequest& request, Cancel& cancel) {
  const LayerAttention& layer = session.at(request.place);
  const HeadRows rows(layer, request.place.head);
  const std::int64_t query = request.query;
  Dimensions answer{.place = request.place, .query = query, .scale = rows.scale()};
  answer.q.assign(rows.query(query).begin(), rows.query(query).end());
  const auto read = [&](const RowView& row) {
    const Largest ranked = largest_of(row.weights, {});
    answer.of = ranked.visible;
    for (const Entry& entry : ranked.entries) {
      const bool is_largest = std::ssize(answer.keys) < request.most;
      if (!is_largest && entry.at != request.key) {
        answer.rest_weight += entry.weight;
        continue;
      }
      DimensionsKey key = listed(rows, query, entry.at);
      key.visible = true;
      key.score = row.scores[static_cast<std::size_t>(entry.at)];
      key.weight = entry.weight;
      answer.keys.push_back(std::move(key));
    }
    answer.rest_count = answer.of - std::ssize(answer.keys);
    answer.spread = spread(rows, query, ranked.entries, cancel);
  };
  visit_lines(layer, {.head = request.place.head, .rows = {query}, .scores = true}, read);
  const auto is_asked = [&](const DimensionsKey& key) { return key.key == request.key; };
  if (request.key && std::ranges::none_of(answer.keys, is_asked))
    answer.keys.push_back(listed(rows, query, *request.key));
  return answer;
}

}  // namespace heed
