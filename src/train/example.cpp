#include "train/example.h"

#include <algorithm>

namespace heed {
namespace {

// Rows of different lengths as one matrix, padded with a fill value.
ConstView laid_out(std::span<const Example> rows, std::vector<TokenId> Example::* member,
                   TokenId filler, std::vector<TokenId>& memory) {
  std::size_t longest = 0;
  for (const Example& row : rows) longest = std::max(longest, (row.*member).size());
  memory.assign(rows.size() * longest, filler);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::ranges::copy(rows[i].*member, memory.begin() + static_cast<std::ptrdiff_t>(i * longest));
  const Shape shape = {std::ssize(rows), static_cast<std::int64_t>(longest)};
  return ConstView(memory.data(), DType::kI32, shape);
}

std::vector<std::int64_t> lengths_of(std::span<const Example> rows,
                                     std::vector<TokenId> Example::* member) {
  std::vector<std::int64_t> lengths;
  for (const Example& row : rows) lengths.push_back(std::ssize(row.*member));
  return lengths;
}

bool differ(std::span<const std::int64_t> lengths) {
  return std::ranges::any_of(lengths, [&](std::int64_t length) { return length != lengths[0]; });
}

}  // namespace

void Example::clear() {
  ids.clear();
  targets.clear();
  types.clear();
  source.clear();
}

std::int64_t Example::counted() const {
  return std::ranges::count_if(targets, [](TokenId target) { return target != kIgnoredTarget; });
}

void ExampleBatch::begin(std::int64_t rows) {
  rows_ = rows;
  if (std::ssize(examples_) < rows) examples_.resize(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) row(i).clear();
}

void ExampleBatch::lay_out() {
  const std::span<const Example> rows(examples_.data(), static_cast<std::size_t>(rows_));
  batch_ = {.ids = laid_out(rows, &Example::ids, 0, ids_memory_)};
  targets_ = laid_out(rows, &Example::targets, kIgnoredTarget, targets_memory_);
  counted_ = 0;
  for (const Example& row : rows) counted_ += row.counted();
  extents_ = {};
  if (std::vector<std::int64_t> lengths = lengths_of(rows, &Example::ids); differ(lengths)) {
    extents_.query_length = lengths;
    extents_.key_length = std::move(lengths);
  }
  const bool typed =
      std::ranges::any_of(rows, [](const Example& row) { return !row.types.empty(); });
  if (typed) batch_.types = laid_out(rows, &Example::types, 0, types_memory_);
  if (rows.empty() || rows[0].source.empty()) return;
  batch_.source = laid_out(rows, &Example::source, 0, source_memory_);
  if (std::vector<std::int64_t> lengths = lengths_of(rows, &Example::source); differ(lengths))
    batch_.source_lengths = std::move(lengths);
}

std::int64_t ExampleBatch::tokens() const {
  return batch_.ids.element_count() + (batch_.source.given() ? batch_.source.element_count() : 0);
}

}  // namespace heed
