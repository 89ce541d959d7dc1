#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/wording.h"
#include "heed/error.h"
#include "heed/observe.h"

namespace heed {
namespace {

using Indices = std::vector<std::int64_t>;

// An axis of the matrix, and its names in messages.
struct Axis {
  const char* argument;
  const char* one;
  const char* many;
  std::int64_t extent;
};

Indices range(std::int64_t begin, std::int64_t end) {
  Indices all(static_cast<std::size_t>(end - begin));
  std::iota(all.begin(), all.end(), begin);
  return all;
}

void check(const Axis& axis, const Indices& indices) {
  for (const std::int64_t index : indices)
    if (index < 0 || index >= axis.extent)
      fail("selection", axis.argument, index,
           fmt::format("0 to {} ({})", axis.extent - 1,
                       number_of(axis.extent, axis.one, axis.many)));
  const auto falls = std::ranges::adjacent_find(indices, std::ranges::greater_equal());
  if (falls != indices.end())
    fail("selection", axis.argument, fmt::format("{} before {}", falls[0], falls[1]),
         "rising indices");
}

// The places of [begin, end) within ascending indices.
std::pair<std::size_t, std::size_t> within(const Indices& indices, std::int64_t begin,
                                           std::int64_t end) {
  const auto first = std::ranges::lower_bound(indices, begin);
  const auto last = std::ranges::lower_bound(first, indices.end(), end);
  return {first - indices.begin(), last - indices.begin()};
}

bool any_within(const Indices& indices, std::int64_t begin, std::int64_t end) {
  const auto [first, last] = within(indices, begin, end);
  return first < last;
}

std::size_t place_of(const Indices& indices, std::int64_t index) {
  return within(indices, index, index + 1).first;
}

}  // namespace

void SelectionObserver::begin(const ObservedShape& shape) {
  if (asked_of_) {
    const Region region = asked_of_->resolved(shape);
    selected_ = {range(region.batch_begin, region.batch_end),
                 range(region.head_begin, region.head_end), range(region.row_begin, region.row_end),
                 range(region.key_begin, region.key_end)};
  } else {
    const std::pair<Axis, const Selection::Indices*> axes[] = {
        {{"batches", "sequence", "sequences", shape.batch}, &asked_.batches},
        {{"heads", "head", "heads", shape.heads}, &asked_.heads},
        {{"rows", "query", "queries", shape.query_length}, &asked_.rows},
        {{"keys", "key", "keys", shape.key_length}, &asked_.keys}};
    for (std::size_t at = 0; at < 4; ++at) {
      const auto& [axis, asked] = axes[at];
      selected_[at] = asked->has_value() ? **asked : range(0, axis.extent);
      check(axis, selected_[at]);
    }
  }
  Shape of_values = {0, 0, 0, 0};
  for (int axis = 0; axis < 4; ++axis)
    of_values[axis] = std::ssize(selected_[static_cast<std::size_t>(axis)]);
  values = Tensor::empty(of_values);
  const float absent =
      value_ == ObservedValue::kWeights ? 0 : -std::numeric_limits<float>::infinity();
  std::fill_n(values.data<float>(), values.element_count(), absent);
}

RowSpan SelectionObserver::rows_needed(std::int64_t batch, std::int64_t head) const {
  const auto& [batches, heads, rows, keys] = selected_;
  const bool inside = !rows.empty() && std::ranges::binary_search(batches, batch) &&
                      std::ranges::binary_search(heads, head);
  return inside ? RowSpan{rows.front(), rows.back() + 1} : RowSpan{};
}

bool SelectionObserver::needs(const ObservedRows& rows) const {
  const RowSpan needed = rows_needed(rows.batch, rows.head);
  return needed.begin < needed.end && any_within(selected_[2], rows.row_begin, rows.row_end);
}

bool SelectionObserver::needs(const ObservedRows& /*rows*/, std::int64_t key_begin,
                              std::int64_t key_end) const {
  return any_within(selected_[3], key_begin, key_end);
}

std::unique_ptr<Observer::State> SelectionObserver::rows(const ObservedRows& /*rows*/) const {
  return std::make_unique<State>();
}

float* SelectionObserver::line(const ObservedRows& rows, std::size_t row) const {
  const auto& [batches, heads, chosen_rows, keys] = selected_;
  const std::size_t head =
      place_of(batches, rows.batch) * heads.size() + place_of(heads, rows.head);
  return const_cast<float*>(values.data<float>()) + (head * chosen_rows.size() + row) * keys.size();
}

// Blocks of rows share no row of the answer, so each writes its own rows directly.
void SelectionObserver::tile(State& /*state*/, const ObservedRows& rows,
                             const ObservedTile& tile) const {
  const auto& [batches, heads, chosen_rows, keys] = selected_;
  const auto [first_row, last_row] = within(chosen_rows, rows.row_begin, rows.row_end);
  const auto [first_key, last_key] = within(keys, tile.key_begin, tile.key_end);
  const float* const from = values_of(tile, value_);
  for (std::size_t row = first_row; row < last_row; ++row) {
    const float* const lane = from + (chosen_rows[row] - rows.row_begin);
    float* const to = line(rows, row);
    for (std::size_t key = first_key; key < last_key; ++key)
      to[key] = lane[(keys[key] - tile.key_begin) * kMaskRows];
  }
}

}  // namespace heed
