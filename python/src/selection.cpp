#include "selection.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace heed::python {
namespace {

using Indices = std::vector<std::int64_t>;

// Where [begin, end) lies in rising indices.
std::pair<std::size_t, std::size_t> within(const Indices& indices, std::int64_t begin,
                                           std::int64_t end) {
  const auto first = std::ranges::lower_bound(indices, begin);
  const auto last = std::ranges::lower_bound(indices, end);
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

SelectionObserver::SelectionObserver(Selected selected, ObservedValue value)
    : selected_(std::move(selected)), value_(value) {}

void SelectionObserver::begin(const ObservedShape& /*shape*/) {
  Shape shape = {0, 0, 0, 0};
  for (int axis = 0; axis < 4; ++axis)
    shape[axis] = std::ssize(selected_[static_cast<std::size_t>(axis)]);
  values = Tensor::empty(shape);
  const float absent =
      value_ == ObservedValue::kWeights ? 0 : -std::numeric_limits<float>::infinity();
  std::fill_n(values.data<float>(), values.element_count(), absent);
}

RowSpan SelectionObserver::rows_needed(std::int64_t batch, std::int64_t head) const {
  const auto& [batches, heads, queries, keys] = selected_;
  const bool inside = !queries.empty() && std::ranges::binary_search(batches, batch) &&
                      std::ranges::binary_search(heads, head);
  return inside ? RowSpan{queries.front(), queries.back() + 1} : RowSpan{};
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

float* SelectionObserver::row_of(const ObservedRows& rows, std::size_t query) const {
  const auto& [batches, heads, queries, keys] = selected_;
  const std::size_t row =
      (place_of(batches, rows.batch) * heads.size() + place_of(heads, rows.head)) * queries.size() +
      query;
  return const_cast<float*>(values.data<float>()) + row * keys.size();
}

// Blocks of rows share no row of the answer, so each writes its own at once.
void SelectionObserver::tile(State& /*state*/, const ObservedRows& rows,
                             const ObservedTile& tile) const {
  const auto& [batches, heads, queries, keys] = selected_;
  const auto [first_row, last_row] = within(queries, rows.row_begin, rows.row_end);
  const auto [first_key, last_key] = within(keys, tile.key_begin, tile.key_end);
  const float* const from = values_of(tile, value_);
  for (std::size_t row = first_row; row < last_row; ++row) {
    float* const to = row_of(rows, row);
    for (std::size_t key = first_key; key < last_key; ++key)
      to[key] = from[(keys[key] - tile.key_begin) * kMaskRows + (queries[row] - rows.row_begin)];
  }
}

}  // namespace heed::python
