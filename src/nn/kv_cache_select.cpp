// Rows of a cache that end and branch.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/error.h"
#include "heed/generate.h"
#include "nn/page_pool.h"

namespace heed {
namespace {

constexpr std::string_view kSelectOp = "kv cache";

std::size_t bytes_from(const Tensor& tensor, int axis) {
  auto bytes = static_cast<std::int64_t>(size_bytes(tensor.dtype()));
  for (int a = axis; a < 4; ++a) bytes *= tensor.dim(a);
  return static_cast<std::size_t>(bytes);
}

// Row r of tensor [rows, G, slots, D] becomes a copy of row rows[r]: its first used[rows[r]] slots.
void select_slots(Tensor& tensor, std::span<const std::int64_t> rows,
                  std::span<const std::int64_t> used) {
  auto* const memory = static_cast<std::byte*>(tensor.view().raw());
  const std::size_t head = bytes_from(tensor, 2);
  const std::size_t slot = bytes_from(tensor, 3);
  std::vector<std::byte> moved(rows.size() * head);  // per head: rows may swap places
  for (std::int64_t g = 0; g < tensor.dim(1); ++g) {
    const auto each_moved = [&](auto&& copy) {
      for (std::size_t r = 0; r < rows.size(); ++r)
        if (const auto from = static_cast<std::size_t>(rows[r]); from != r)
          copy(r, from, moved.data() + r * head, static_cast<std::size_t>(used[from]) * slot);
    };
    const auto at = [&](std::size_t row) {
      return memory + row * bytes_from(tensor, 1) + static_cast<std::size_t>(g) * head;
    };
    each_moved([&](std::size_t, std::size_t from, std::byte* buffer, std::size_t bytes) {
      std::memcpy(buffer, at(from), bytes);
    });
    each_moved([&](std::size_t to, std::size_t, const std::byte* buffer, std::size_t bytes) {
      std::memcpy(at(to), buffer, bytes);
    });
  }
}

void copy_pages(Tensor& tensor, std::span<const std::pair<std::int64_t, std::int64_t>> pages) {
  auto* const memory = static_cast<std::byte*>(tensor.view().raw());
  const std::size_t page = bytes_from(tensor, 1);
  for (const auto& [from, to] : pages)
    std::memcpy(memory + static_cast<std::size_t>(to) * page,
                memory + static_cast<std::size_t>(from) * page, page);
}

Tensor rows_of(const Tensor& tensor, std::span<const std::int64_t> rows) {
  Shape shape = tensor.shape();
  shape[0] = std::ssize(rows);
  Tensor chosen = Tensor::empty(shape, tensor.dtype());
  const std::int64_t row = tensor.dim(0) == 0 ? 0 : tensor.element_count() / tensor.dim(0);
  const std::size_t bytes = static_cast<std::size_t>(row) * size_bytes(tensor.dtype());
  for (std::size_t to = 0; to < rows.size(); ++to)
    std::memcpy(static_cast<std::byte*>(chosen.view().raw()) + to * bytes,
                static_cast<const std::byte*>(tensor.view().raw()) +
                    static_cast<std::size_t>(rows[to]) * bytes,
                bytes);
  return chosen;
}

// Row r becomes row rows[r]; does nothing without keys.
void select_rows(SourceKeys& source, std::span<const std::int64_t> rows) {
  if (!source.k.given()) return;
  source.k = rows_of(source.k, rows);
  source.v = rows_of(source.v, rows);
  std::vector<std::int64_t> lengths;
  for (const std::int64_t row : rows)
    lengths.push_back(source.lengths[static_cast<std::size_t>(row)]);
  source.lengths = std::move(lengths);
}

}  // namespace

void KvCache::require_selectable(std::span<const std::int64_t> rows) const {
  if (std::ssize(rows) > most_rows_)
    fail(kSelectOp, "rows", fmt::format("a list of {}", rows.size()),
         fmt::format("at most {}, for which the cache was made", most_rows_));
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (rows[r] < 0 || rows[r] >= shape_.batch)
      fail(kSelectOp, fmt::format("rows[{}]", r), rows[r],
           fmt::format("0 to {}", shape_.batch - 1));
  if (options_.form != KvForm::kPaged) return;
  if (const std::int64_t missing = pool_->missing(rows); missing > pool_->free_pages())
    fail(kSelectOp, "rows", fmt::format("for {} more pages", missing),
         fmt::format("at most {} (the free ones of {})", pool_->free_pages(), options_.pages));
}

void KvCache::select(std::span<const std::int64_t> rows) {
  require_selectable(rows);
  std::vector<std::int64_t> used;  // slots of each row
  for (const std::int64_t length : lengths_) used.push_back(std::min(length, shape_.capacity));
  const bool paged = options_.form == KvForm::kPaged;
  const auto pages = paged ? pool_->select(rows) : decltype(pool_->select(rows))();
  for (Layer& layer : layers_) {
    for (Tensor* tensor : {&layer.k.values, &layer.k.scales, &layer.v.values, &layer.v.scales}) {
      if (!tensor->given()) continue;
      if (paged)
        copy_pages(*tensor, pages);
      else
        select_slots(*tensor, rows, used);
    }
    select_rows(layer.source, rows);
    for (Tensor& state : layer.state) state = rows_of(state, rows);
    layer.next_state.clear();
    layer.appended.assign(rows.size(), 0);
  }
  std::vector<std::int64_t> lengths;
  for (const std::int64_t row : rows) lengths.push_back(lengths_[static_cast<std::size_t>(row)]);
  lengths_ = std::move(lengths);
  shape_.batch = std::ssize(rows);
}

}  // namespace heed
