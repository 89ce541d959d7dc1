#include "inspect/map/coarse.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "inspect/map/tiles.h"

namespace heed {
namespace {

constexpr int kFinestCoarse = 3;           // 256 cells of 8 entries: a tile over 2,048 x 2,048
constexpr std::int64_t kMostCells = 1024;  // per side

// Appends rows of cells, each up to its last visible cell, with values from `value`.
template <typename Value, typename Make>
void store(JaggedRows<Value>& rows, const GatheredCells& gathered, const CellsRequest& request,
           Make value) {
  for (std::int64_t y = 0; y < request.height(); ++y) {
    const auto first = static_cast<std::size_t>(y * request.width());
    auto count = static_cast<std::size_t>(request.width());
    while (count > 0 && gathered.is_hidden(first + count - 1)) --count;
    for (std::size_t x = 0; x < count; ++x) rows.values.push_back(value(first + x));
    rows.begin.push_back(rows.values.size());
  }
  rows.values.shrink_to_fit();  // `bytes` counts used memory
}

// Calls `use(cell of the answer, value)` for the stored cells within the rectangle.
template <typename Value, typename Use>
void visit(const JaggedRows<Value>& rows, int shift, const CellsRequest& request, Use use) {
  const auto first_row = static_cast<std::size_t>(request.row_begin >> shift);
  const auto first = static_cast<std::size_t>(request.key_begin >> shift);
  const auto last = static_cast<std::size_t>(((request.key_end - 1) >> shift) + 1);
  const auto rows_end = static_cast<std::size_t>(((request.row_end - 1) >> shift) + 1);
  const int fold = request.shift - shift;
  for (std::size_t y = first_row; y < rows_end; ++y) {
    const std::span<const Value> row = rows.row(y);
    const auto to = ((y - first_row) >> fold) * static_cast<std::size_t>(request.width());
    for (std::size_t x = first; x < std::min(last, row.size()); ++x)
      use(to + ((x - first) >> fold), row[x]);
  }
}

}  // namespace

int coarse_shift(const MatrixSize& size) {
  int shift = kFinestCoarse;
  while ((kMostCells << shift) < size.longer()) ++shift;
  return shift;
}

bool has_coarse(const MatrixSize& size) { return zoom_levels(size) > coarse_shift(size); }

CellsRequest coarse_request(std::int64_t head, const MatrixSize& size, Pool pool) {
  return {.head = head,
          .row_end = size.queries,
          .key_end = size.keys,
          .shift = coarse_shift(size),
          .pool = pool};
}

CoarseHead::CoarseHead(const GatheredCells& gathered, const CellsRequest& request)
    : shift(request.shift) {
  store(largest, gathered, request, [&](std::size_t at) {
    return gathered.is_hidden(at) ? std::nanf("") : gathered.largest[at];
  });
  store(sum, gathered, request,
        [&](std::size_t at) { return static_cast<float>(gathered.sum[at]); });
}

Cells CoarseHead::cells(const CellsRequest& request) const {
  GatheredCells gathered;
  gathered.resize(request.height() * request.width(), request.sums());
  visit(largest, shift, request, [&](std::size_t to, float value) {
    if (!std::isnan(value)) gathered.largest[to] = std::max(gathered.largest[to], value);
  });
  if (request.sums())
    visit(sum, shift, request,
          [&](std::size_t to, float value) { gathered.sum[to] += static_cast<double>(value); });
  return pooled_cells(std::move(gathered), request);
}

Overview::Overview(const GatheredCells& gathered, const CellsRequest& request)
    : shift(request.shift) {
  store(largest, gathered, request, [&](std::size_t at) {
    return gathered.is_hidden(at) ? std::uint8_t{0} : weight_byte(gathered.largest[at]);
  });
}

std::string Overview::codes(const CellsRequest& request) const {
  std::string codes(static_cast<std::size_t>(request.height() * request.width()), '\0');
  visit(largest, shift, request, [&](std::size_t to, std::uint8_t code) {
    if (code > static_cast<std::uint8_t>(codes[to])) codes[to] = static_cast<char>(code);
  });
  return codes;
}

void OverviewObserver::merge(State& state, const ObservedRows& rows) {
  cells_.merge(state, rows);
  if (rows.row_end < request_.row_end) return;
  done_(rows.head, Overview(cells_.gathered, request_));
  cells_.gathered.resize(request_.height() * request_.width(), request_.sums());
}

}  // namespace heed
