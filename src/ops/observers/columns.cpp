#include "heed/ops/observers/columns.h"

#include <algorithm>

#include "base/number_of.h"
#include "ops/observers/row_values.h"

namespace heed {
namespace {

// The rows of a block against those of the chosen keys that are of its head.
struct ColumnLines : Observer::State {
  std::vector<float> values;  // [chosen of the head, 64]
};

}  // namespace

ColumnsObserver::ColumnsObserver(std::vector<HeadKey> chosen, ObservedValue value)
    : chosen_(std::move(chosen)), value_(value) {}

ColumnsObserver::ColumnsObserver(std::vector<std::int64_t> keys_of_every_head, ObservedValue value)
    : keys_of_every_head_(std::move(keys_of_every_head)), value_(value) {}

RowSpan ColumnsObserver::rows_needed(std::int64_t, std::int64_t head) const {
  return std::ranges::find(chosen_, head, &HeadKey::head) != chosen_.end() ? kEveryRow : RowSpan{};
}

bool ColumnsObserver::needs(const ObservedRows& rows, std::int64_t key_begin,
                            std::int64_t key_end) const {
  return std::ranges::any_of(chosen_, [&](const HeadKey& one) {
    return one.head == rows.head && key_begin <= one.key && one.key < key_end;
  });
}

void ColumnsObserver::begin(const ObservedShape& shape) {
  if (!keys_of_every_head_.empty())
    chosen_ = of_every_head<HeadKey>(keys_of_every_head_, shape.heads);
  for (const HeadKey& one : chosen_) {
    check_index("columns", "head", one.head, shape.heads, number_of(shape.heads, "head"));
    check_index("columns", "key", one.key, shape.key_length, number_of(shape.key_length, "key"));
  }
  values =
      Tensor::empty({shape.batch, static_cast<std::int64_t>(chosen_.size()), shape.query_length});
  std::fill_n(values.data<float>(), values.element_count(), absent(value_));
}

std::unique_ptr<Observer::State> ColumnsObserver::rows(const ObservedRows& rows) const {
  auto state = std::make_unique<ColumnLines>();
  const auto lines = std::ranges::count(chosen_, rows.head, &HeadKey::head);
  state->values.assign(static_cast<std::size_t>(lines * kMaskRows), absent(value_));
  return state;
}

void ColumnsObserver::tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const {
  float* line = static_cast<ColumnLines&>(state).values.data();
  const float* source = values_of(tile, value_);
  for (const HeadKey& one : chosen_) {
    if (one.head != rows.head) continue;
    if (tile.key_begin <= one.key && one.key < tile.key_end)
      std::copy_n(source + (one.key - tile.key_begin) * kMaskRows, kMaskRows, line);
    line += kMaskRows;
  }
}

void ColumnsObserver::merge(State& state, const ObservedRows& rows) {
  const float* line = static_cast<const ColumnLines&>(state).values.data();
  for (std::size_t n = 0; n < chosen_.size(); ++n) {
    if (chosen_[n].head != rows.head) continue;
    const std::int64_t to = rows.batch * values.dim(1) + static_cast<std::int64_t>(n);
    std::copy_n(line, rows.row_end - rows.row_begin,
                values.data<float>() + to * values.dim(2) + rows.row_begin);
    line += kMaskRows;
  }
}

}  // namespace heed
