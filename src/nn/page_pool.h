// The pages of a cache and the rows that own them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "heed/tensor.h"

namespace heed {

/// Every row takes its pages from one pool, in the order of its tokens, and returns them when it
/// ends.
class PagePool {
 public:
  PagePool() = default;
  PagePool(std::int64_t rows, std::int64_t pages_a_row, std::int64_t pages, std::int64_t page_size);

  std::int64_t free_pages() const { return std::ssize(free_); }
  /// How many more pages a row needs for this many tokens.
  std::int64_t missing(std::int64_t row, std::int64_t tokens) const;
  /// Takes those pages, which the pool must have.
  void take(std::int64_t row, std::int64_t tokens);
  void give_back(std::int64_t row);
  /// How many more pages select(rows) takes than it returns.
  std::int64_t missing(std::span<const std::int64_t> rows) const;
  /// Row r becomes row rows[r]; rows that are not named return their pages. The first row that
  /// names a row takes over its pages; further ones take free pages, which the pool must have.
  /// Returns the pages to copy, as pairs (from, to).
  std::vector<std::pair<std::int64_t, std::int64_t>> select(std::span<const std::int64_t> rows);

  /// The page that holds a token of a row.
  std::int64_t page_of(std::int64_t row, std::int64_t token) const;
  /// [rows, pages per row] i32, -1 where there is no page.
  ConstView table(std::int64_t rows) const;

 private:
  std::int64_t page_size_ = 1;
  Tensor table_;
  std::vector<std::int64_t> held_;  // by row
  std::vector<std::int32_t> free_;
};

}  // namespace heed
