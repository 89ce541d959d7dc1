#include "nn/page_pool.h"

#include <algorithm>

namespace heed {

PagePool::PagePool(std::int64_t rows, std::int64_t pages_a_row, std::int64_t pages,
                   std::int64_t page_size)
    : page_size_(page_size),
      table_(Tensor::empty({rows, pages_a_row}, DType::kI32)),
      held_(static_cast<std::size_t>(rows)),
      free_(static_cast<std::size_t>(pages)) {
  std::fill_n(table_.data<std::int32_t>(), table_.element_count(), -1);
  // The last is taken first: page 0.
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

void PagePool::move(std::int64_t from, std::int64_t to) {
  std::int32_t* table = table_.data<std::int32_t>();
  std::swap_ranges(table + from * table_.dim(1), table + (from + 1) * table_.dim(1),
                   table + to * table_.dim(1));
  std::swap(held_[static_cast<std::size_t>(from)], held_[static_cast<std::size_t>(to)]);
}

std::int64_t PagePool::page_of(std::int64_t row, std::int64_t token) const {
  return table_.data<std::int32_t>()[row * table_.dim(1) + token / page_size_];
}

ConstView PagePool::table(std::int64_t rows) const {
  return table_.given() ? table_.view().slice(0, 0, rows) : ConstView();
}

}  // namespace heed
