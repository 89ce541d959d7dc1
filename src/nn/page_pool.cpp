#include "nn/page_pool.h"

#include <algorithm>
#include <numeric>

namespace heed {

PagePool::PagePool(std::int64_t rows, std::int64_t pages_a_row, std::int64_t pages,
                   std::int64_t page_size)
    : page_size_(page_size),
      table_(Tensor::empty({rows, pages_a_row}, DType::kI32)),
      held_(static_cast<std::size_t>(rows)),
      free_(static_cast<std::size_t>(pages)) {
  std::fill_n(table_.data<std::int32_t>(), table_.element_count(), -1);
  // The last entry is taken first: page 0.
  for (std::size_t n = 0; n < free_.size(); ++n)
    free_[n] = static_cast<std::int32_t>(free_.size() - 1 - n);
}

std::int64_t PagePool::missing(std::int64_t row, std::int64_t tokens) const {
  const std::int64_t wanted = (tokens + page_size_ - 1) / page_size_;
  return std::max<std::int64_t>(wanted - held_[static_cast<std::size_t>(row)], 0);
}

void PagePool::take(std::int64_t row, std::int64_t tokens) {
  std::int64_t& held = held_[static_cast<std::size_t>(row)];
  for (std::int64_t left = missing(row, tokens); left > 0; --left) {
    table_.data<std::int32_t>()[row * table_.dim(1) + held++] = free_.back();
    free_.pop_back();
  }
}

void PagePool::give_back(std::int64_t row) {
  std::int64_t& held = held_[static_cast<std::size_t>(row)];
  std::int32_t* pages = table_.data<std::int32_t>() + row * table_.dim(1);
  for (; held > 0; --held) {
    free_.push_back(pages[held - 1]);
    pages[held - 1] = -1;
  }
}

std::int64_t PagePool::missing(std::span<const std::int64_t> rows) const {
  std::int64_t pages = -std::accumulate(held_.begin(), held_.end(), std::int64_t{0});
  for (const std::int64_t row : rows) pages += held_[static_cast<std::size_t>(row)];
  return pages;
}

std::vector<std::pair<std::int64_t, std::int64_t>> PagePool::select(
    std::span<const std::int64_t> rows) {
  std::vector<std::vector<std::int32_t>> before;  // pages by row
  for (std::int64_t row = 0; row < std::ssize(held_); ++row) {
    if (std::ranges::find(rows, row) == rows.end()) give_back(row);
    const std::int32_t* pages = table_.data<std::int32_t>() + row * table_.dim(1);
    before.emplace_back(pages, pages + std::exchange(held_[static_cast<std::size_t>(row)], 0));
  }
  std::fill_n(table_.data<std::int32_t>(), table_.element_count(), -1);

  std::vector<std::pair<std::int64_t, std::int64_t>> copies;
  std::vector<bool> taken(held_.size());
  for (std::size_t to = 0; to < rows.size(); ++to) {
    const auto from = static_cast<std::size_t>(rows[to]);
    std::int32_t* pages =
        table_.data<std::int32_t>() + static_cast<std::int64_t>(to) * table_.dim(1);
    for (const std::int32_t page : before[from]) {
      std::int32_t own = page;
      if (taken[from]) {
        own = free_.back();
        free_.pop_back();
        copies.emplace_back(page, own);
      }
      pages[held_[to]++] = own;
    }
    taken[from] = true;
  }
  return copies;
}

std::int64_t PagePool::page_of(std::int64_t row, std::int64_t token) const {
  return table_.data<std::int32_t>()[row * table_.dim(1) + token / page_size_];
}

ConstView PagePool::table(std::int64_t rows) const {
  return table_.given() ? table_.view().slice(0, 0, rows) : ConstView();
}

}  // namespace heed
