#include "inspect/heads/similar_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/sequences.h"
#include "heed/error.h"
#include "heed/observe.h"
#include "inspect/session/places.h"

namespace heed {
namespace {

constexpr std::int64_t kQueriesAtOnce = 64;

// Dense rows of the example, concatenated.
struct ExampleRows {
  std::vector<std::int64_t> queries;
  std::vector<float> weights;
};

void check_row(const PatternRow& row, const MatrixSize& sizes) {
  check_token("pattern", "query", row.query, sizes.queries);
  for (const std::int64_t key : row.keys) check_token("pattern", "key", key, sizes.keys);
  if (row.keys.empty()) fail("pattern", "keys", "an empty list", "the keys of a row");
  if (!row.weights.empty() && row.weights.size() != row.keys.size())
    fail("pattern", "weights", fmt::format("{} numbers", row.weights.size()),
         fmt::format("one for each of {} keys", row.keys.size()));
  const bool valid = std::ranges::all_of(
      row.weights, [](float weight) { return std::isfinite(weight) && weight >= 0; });
  const float sum = std::accumulate(row.weights.begin(), row.weights.end(), 0.0F);
  if (!valid || (!row.weights.empty() && !(sum > 0)))
    fail("pattern", "weights", "negative, not finite or all 0", "weights of which some is above 0");
}

// Heads x rows, dense.
std::vector<float> rows_of(const LayerAttention& layer, std::span<const int> heads,
                           std::span<const std::int64_t> queries) {
  std::vector<std::int64_t> rising(queries.begin(), queries.end());
  sort_once(rising);
  SelectionObserver rows(
      Selection{.heads = std::vector<std::int64_t>(heads.begin(), heads.end()), .rows = rising});
  Observer* const observers[] = {&rows};
  observe(layer.args(), layer.attended(), observers);
  std::vector<float> in_order;
  for (std::size_t head = 0; head < heads.size(); ++head)
    for (const std::int64_t query : queries) {
      const auto at = std::ranges::lower_bound(rising, query) - rising.begin();
      const ConstView row =
          rows.values.view().select(0, 0).select(0, static_cast<std::int64_t>(head)).select(0, at);
      in_order.insert(in_order.end(), row.data<float>(), row.data<float>() + row.dim(0));
    }
  return in_order;
}

PatternRow back_row(std::int64_t query, std::int64_t back) {
  return {.query = query, .keys = {query - back}};
}

std::vector<float> dense(const PatternRow& row, std::int64_t keys) {
  std::vector<float> weights(static_cast<std::size_t>(keys));
  for (std::size_t at = 0; at < row.keys.size(); ++at)
    weights[static_cast<std::size_t>(row.keys[at])] += row.weights.empty() ? 1 : row.weights[at];
  const float sum = std::accumulate(weights.begin(), weights.end(), 0.0F);
  for (float& weight : weights) weight /= sum;
  return weights;
}

// The queries of the example's rows.
std::vector<std::int64_t> queries_of(const PatternExample& example, const MatrixSize& sizes) {
  std::vector<std::int64_t> queries;
  for (const PatternRow& row : example.rows) queries.push_back(row.query);
  if (!example.rows.empty()) return queries;
  const std::int64_t first = std::max<std::int64_t>(example.back.value_or(1), 1);
  const std::int64_t end =
      example.back ? std::min(sizes.queries, sizes.keys + *example.back) : sizes.queries;
  for (std::int64_t query = first; query < end; ++query) queries.push_back(query);
  return queries;
}

ExampleRows example_rows(const Session& session, Stack stack, const PatternExample& example,
                         std::span<const std::int64_t> queries, std::size_t first,
                         std::int64_t keys) {
  ExampleRows rows{{queries.begin(), queries.end()}, {}};
  if (example.head) {
    const int heads[] = {example.head->head};
    rows.weights = rows_of(session.at({stack, example.head->layer, 0}), heads, queries);
    return rows;
  }
  for (std::size_t at = 0; at < queries.size(); ++at) {
    const PatternRow row =
        example.back ? back_row(queries[at], *example.back) : example.rows[first + at];
    const std::vector<float> weights = dense(row, keys);
    rows.weights.insert(rows.weights.end(), weights.begin(), weights.end());
  }
  return rows;
}

double overlap(std::span<const float> a, const float* b) {
  double sum = 0;
  for (std::size_t at = 0; at < a.size(); ++at) sum += static_cast<double>(std::min(a[at], b[at]));
  return sum;
}

// Adds each head's overlaps with these rows.
void add_overlaps(const LayerAttention& layer, const ExampleRows& example,
                  std::span<SimilarHead> heads) {
  const std::vector<float> rows =
      rows_of(layer, ascending<int>(std::ssize(heads)), example.queries);
  const std::size_t size = example.weights.size();
  for (std::size_t head = 0; head < heads.size(); ++head)
    heads[head].overlap +=
        overlap(std::span(rows).subspan(head * size, size), example.weights.data());
}

}  // namespace

void check_example(const Session& session, Stack stack, const PatternExample& example) {
  const MatrixSize sizes = session.size(stack);
  const int given =
      (example.head ? 1 : 0) + (example.back ? 1 : 0) + (example.rows.empty() ? 0 : 1);
  if (given != 1)
    fail("pattern", "example", fmt::format("{} of head, back and rows", given), "one of them");
  const StackShape& shape = session.at(stack).shape;
  if (example.head) {
    check_layer("pattern", session.model, shape, example.head->layer);
    check_head("pattern", session.model, shape, example.head->head);
  }
  if (example.back && (*example.back < 0 || *example.back >= sizes.queries))
    fail("pattern", "back", *example.back, fmt::format("0 to {}", sizes.queries - 1));
  for (const PatternRow& row : example.rows) check_row(row, sizes);
}

std::vector<SimilarHead> similar_heads(const Session& session, Stack stack,
                                       const PatternExample& example, Cancel& cancel) {
  check_example(session, stack, example);
  const MatrixSize sizes = session.size(stack);
  const SessionStack& attentions = session.at(stack);
  const auto count = static_cast<std::size_t>(attentions.shape.heads);
  std::vector<SimilarHead> heads;
  for (int layer = 0; layer < attentions.shape.layers; ++layer)
    for (int head = 0; head < attentions.shape.heads; ++head)
      heads.push_back({.place = {stack, layer, head}});
  const std::vector<std::int64_t> queries = queries_of(example, sizes);
  for (std::size_t first = 0; first < queries.size(); first += kQueriesAtOnce) {
    const auto some = std::span(queries).subspan(
        first, std::min<std::size_t>(kQueriesAtOnce, queries.size() - first));
    const ExampleRows rows = example_rows(session, stack, example, some, first, sizes.keys);
    for (std::size_t layer = 0; layer < attentions.layers.size(); ++layer) {
      cancel.check();
      if (!session.keeps(attentions.shape, static_cast<int>(layer))) continue;
      add_overlaps(attentions.layers[layer], rows, std::span(heads).subspan(layer * count, count));
    }
  }
  std::erase_if(heads, [&](const SimilarHead& head) {
    return !session.keeps(attentions.shape, head.place.layer);
  });
  for (SimilarHead& head : heads)
    head.overlap /= std::max<double>(1, static_cast<double>(queries.size()));
  std::ranges::stable_sort(heads, std::greater(), &SimilarHead::overlap);
  return heads;
}

}  // namespace heed
