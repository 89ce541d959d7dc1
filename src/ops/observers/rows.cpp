#include "heed/ops/observers/rows.h"

#include <algorithm>

#include "base/number_of.h"
#include "ops/observers/row_values.h"

namespace heed {
namespace {

bool lies_in(const HeadRow& chosen, const ObservedRows& rows) {
  return chosen.head == rows.head && rows.row_begin <= chosen.row && chosen.row < rows.row_end;
}

}  // namespace

RowsObserver::RowsObserver(std::vector<HeadRow> chosen, ObservedValue value)
    : chosen_(std::move(chosen)), value_(value) {}

RowsObserver::RowsObserver(std::vector<std::int64_t> rows_of_every_head, ObservedValue value)
    : rows_of_every_head_(std::move(rows_of_every_head)), value_(value) {}

RowSpan RowsObserver::rows_needed(std::int64_t, std::int64_t head) const {
  RowSpan all = {INT64_MAX, 0};
  for (const HeadRow& one : chosen_)
    if (one.head == head) all = {std::min(all.begin, one.row), std::max(all.end, one.row + 1)};
  return all;
}

bool RowsObserver::needs(const ObservedRows& rows) const {
  return std::ranges::any_of(chosen_, [&](const HeadRow& one) { return lies_in(one, rows); });
}

void RowsObserver::begin(const ObservedShape& shape) {
  if (!rows_of_every_head_.empty())
    chosen_ = of_every_head<HeadRow>(rows_of_every_head_, shape.heads);
  for (const HeadRow& one : chosen_) {
    check_index("rows", "head", one.head, shape.heads, number_of(shape.heads, "head"));
    check_index("rows", "row", one.row, shape.query_length,
                number_of(shape.query_length, "query", "queries"));
  }
  values =
      Tensor::empty({shape.batch, static_cast<std::int64_t>(chosen_.size()), shape.key_length});
  std::fill_n(values.data<float>(), values.element_count(), absent(value_));
}

std::unique_ptr<Observer::State> RowsObserver::rows(const ObservedRows& rows) const {
  std::vector<std::int64_t> inside;
  for (const HeadRow& one : chosen_)
    if (lies_in(one, rows)) inside.push_back(one.row - rows.row_begin);
  return std::make_unique<RowValues>(std::move(inside), 0, values.dim(2), value_);
}

void RowsObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  static_cast<RowValues&>(state).take(tile);
}

void RowsObserver::merge(State& state, const ObservedRows& rows) {
  const float* line = static_cast<const RowValues&>(state).values.data();
  const std::int64_t keys = values.dim(2);
  for (std::size_t n = 0; n < chosen_.size(); ++n) {
    if (!lies_in(chosen_[n], rows)) continue;
    const std::int64_t to = rows.batch * values.dim(1) + static_cast<std::int64_t>(n);
    std::copy_n(line, keys, values.data<float>() + to * keys);
    line += keys;
  }
}

}  // namespace heed
