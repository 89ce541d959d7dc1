#include "inspect/evidence/dimensions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "inspect/evidence/score_parts.h"
#include "inspect/rows/lines.h"

namespace heed {
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
