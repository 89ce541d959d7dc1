#include "inspect/server/cells.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "heed/base/serial.h"

namespace heed::server {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();
using Lanes = std::array<float, kMaskRows>;

struct CellRows final : Observer::State {
  std::int64_t begin = 0;  // the first row of cells that the block touches
  GatheredCells cells;
};

// Lanes [begin, end) of a word of visibility.
std::uint64_t lanes(std::int64_t begin, std::int64_t end) {
  const std::uint64_t below = end == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
  return below & (~std::uint64_t{0} << begin);
}

// The larger one; a NaN stays, whichever side it is on.
float larger(float a, float b) {
  const bool is_larger = !(a >= b), is_number = a == a;
  return is_larger & is_number ? b : a;
}

// Some keys that share a column of cells, pooled a row at a time.
struct Pooled {
  Lanes largest;
  Lanes sum;
  std::array<std::int32_t, kMaskRows> visible;

  void start() {
    largest.fill(kNothing);
    sum.fill(0);
    visible.fill(0);
  }

  // Fixed counts and no branch where all is visible, so that compilers use vectors.
  void add(const float* values, std::uint64_t word) {
    if (word == ~std::uint64_t{0}) {
      for (std::size_t i = 0; i < kMaskRows; ++i) {
        largest[i] = larger(largest[i], values[i]);
        sum[i] += values[i];
        ++visible[i];
      }
      return;
    }
    for (std::uint64_t left = word; left != 0; left &= left - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(left));
      largest[i] = larger(largest[i], values[i]);
      sum[i] += values[i];
      ++visible[i];
    }
  }
};

void join(GatheredCells& cells, std::size_t to, float largest, double sum, std::int32_t visible) {
  if (visible == 0) return;
  cells.largest[to] = larger(cells.largest[to], largest);
  cells.sum[to] += sum;
  cells.visible[to] += visible;
}

}  // namespace

void GatheredCells::resize(std::int64_t count) {
  const auto size = static_cast<std::size_t>(count);
  largest.assign(size, kNothing);
  sum.assign(size, 0);
  visible.assign(size, 0);
}

CellsObserver::CellsObserver(const CellsRequest& request)
    : request_(request), region_{request.head,    request.head + 1,  request.row_begin,
                                 request.row_end, request.key_begin, request.key_end} {
  gathered.resize(request.height() * request.width());
}

std::unique_ptr<Observer::State> CellsObserver::rows(const ObservedRows& rows) const {
  auto state = std::make_unique<CellRows>();
  const std::int64_t first = std::max(rows.row_begin, region_.row_begin) - region_.row_begin;
  const std::int64_t end = std::min(rows.row_end, region_.row_end) - region_.row_begin;
  state->begin = first >> request_.shift;
  const std::int64_t count = ((end - 1) >> request_.shift) + 1 - state->begin;
  state->cells.resize(count * request_.width());
  return state;
}

// First over the keys of a column of cells, lane by lane, then over the lanes of each row of cells.
void CellsObserver::tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const {
  auto& seen = static_cast<CellRows&>(state);
  const std::int64_t first = std::max(rows.row_begin, region_.row_begin);
  const std::int64_t last = std::min(rows.row_end, region_.row_end);
  const std::int64_t key_end = std::min(tile.key_end, region_.key_end);
  const std::uint64_t wanted = lanes(first - rows.row_begin, last - rows.row_begin);
  const float* values = request_.value == ObservedValue::kScores ? tile.scores : tile.weights;
  const std::int64_t width = request_.width();
  Pooled pooled;
  for (std::int64_t key = std::max(tile.key_begin, region_.key_begin); key < key_end;) {
    const std::int64_t x = (key - region_.key_begin) >> request_.shift;
    const std::int64_t next = std::min(key_end, region_.key_begin + ((x + 1) << request_.shift));
    pooled.start();
    for (; key < next; ++key)
      pooled.add(values + (key - tile.key_begin) * kMaskRows,
                 tile.visible[key - tile.key_begin] & wanted);
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t y = (row - region_.row_begin) >> request_.shift;
      const auto lane = static_cast<std::size_t>(row - rows.row_begin);
      join(seen.cells, static_cast<std::size_t>((y - seen.begin) * width + x), pooled.largest[lane],
           static_cast<double>(pooled.sum[lane]), pooled.visible[lane]);
    }
  }
}

void CellsObserver::merge(State& state, const ObservedRows&) {
  const auto& seen = static_cast<const CellRows&>(state);
  const auto first = static_cast<std::size_t>(seen.begin * request_.width());
  for (std::size_t at = 0; at < seen.cells.visible.size(); ++at)
    join(gathered, first + at, seen.cells.largest[at], seen.cells.sum[at], seen.cells.visible[at]);
}

Cells pooled_cells(const GatheredCells& gathered, const CellsRequest& request) {
  Cells cells{.height = request.height(), .width = request.width(), .values = {}};
  cells.values.reserve(gathered.visible.size());
  const auto extent = [&](std::int64_t index, std::int64_t count) {
    return std::min((index + 1) << request.shift, count) - (index << request.shift);
  };
  std::size_t at = 0;
  for (std::int64_t y = 0; y < cells.height; ++y) {
    const std::int64_t rows = extent(y, request.row_end - request.row_begin);
    for (std::int64_t x = 0; x < cells.width; ++x, ++at) {
      if (gathered.visible[at] == 0) {
        cells.values.push_back(std::numeric_limits<float>::quiet_NaN());
      } else if (request.pool == Pool::kMax) {
        cells.values.push_back(gathered.largest[at]);
      } else {
        const std::int64_t count = request.value == ObservedValue::kScores
                                       ? gathered.visible[at]
                                       : rows * extent(x, request.key_end - request.key_begin);
        cells.values.push_back(static_cast<float>(gathered.sum[at] / static_cast<double>(count)));
      }
    }
  }
  return cells;
}

GatheredCells gathered_cells(const LayerAttention& layer, const CellsRequest& request,
                             const std::function<void()>& check) {
  CellsObserver cells(request);
  SweepStop stop(check);
  Observer* const observers[] = {&stop, &cells};
  observe(layer.args(), layer.attended(), observers);
  return std::move(cells.gathered);
}

Cells matrix_cells(const LayerAttention& layer, const CellsRequest& request, Cancel& cancel) {
  const SerialScope serial;
  return pooled_cells(gathered_cells(layer, request, [&] { cancel.check(); }), request);
}

}  // namespace heed::server
