#include "inspect/map/cells.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "base/parallel.h"
#include "inspect/session/visible_keys.h"
#include "ops/kernels/pool_lanes.h"

namespace heed {
namespace {

constexpr int kLaneBits = 6;                              // for 64 rows
constexpr std::int64_t kOneCore = std::int64_t{1} << 17;  // entries: half a millisecond
constexpr float kNothing = -std::numeric_limits<float>::infinity();

struct CellRows final : Observer::State {
  std::int64_t begin = 0;  // first row of cells that the block touches
  GatheredCells cells;
};

// Lanes [begin, end) of a visibility word.
std::uint64_t lanes(std::int64_t begin, std::int64_t end) {
  const std::uint64_t below = end == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
  return below & (~std::uint64_t{0} << begin);
}

// The larger one; NaN if either is NaN.
float larger(float a, float b) {
  const bool is_larger = !(a >= b), is_number = a == a;
  return is_larger & is_number ? b : a;
}

void join_sum(GatheredCells& cells, std::size_t to, double sum, std::int32_t visible) {
  if (visible == 0) return;
  cells.sum[to] += sum;
  cells.visible[to] += visible;
}

void hide_masked(const LayerAttention& layer, const CellsRequest& request, Cells& cells) {
  std::vector<std::uint64_t> by_key(static_cast<std::size_t>(cells.width));
  for (std::int64_t first = request.row_begin; first < request.row_end; first += kMaskRows) {
    const std::int64_t last = std::min(first + kMaskRows, request.row_end);
    visible_bits(layer, static_cast<int>(request.head),
                 {first, last, request.key_begin, request.key_end}, by_key.data());
    for (std::int64_t row = first; row < last; ++row) {
      float* const line = cells.values.data() + (row - request.row_begin) * cells.width;
      for (std::size_t key = 0; key < by_key.size(); ++key)
        if ((by_key[key] >> (row - first) & 1) == 0)
          line[key] = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

// Cells of one entry each: the region's values, with masked ones as NaN.
Cells entries_of(const LayerAttention& layer, const CellsRequest& request, Observer& stop) {
  SelectionObserver region(Region{request.head, request.head + 1, request.row_begin,
                                  request.row_end, request.key_begin, request.key_end},
                           request.value);
  Observer* const observers[] = {&stop, &region};
  observe(layer.args(), layer.attended(), observers);
  const float* values = region.values.data<float>();
  Cells cells{request.height(), request.width(), {values, values + request.entries()}};
  hide_masked(layer, request, cells);
  return cells;
}

}  // namespace

void GatheredCells::resize(std::int64_t count, bool sums) {
  const auto size = static_cast<std::size_t>(count);
  largest.assign(size, kNothing);
  sum.assign(sums ? size : 0, 0);
  visible.assign(sums ? size : 0, 0);
}

bool GatheredCells::is_hidden(std::size_t at) const { return largest[at] == kNothing; }

CellsObserver::CellsObserver(const CellsRequest& request)
    : request_(request),
      region_{request.head,
              request.head + 1,
              request.row_begin,
              request.row_end,
              request.key_begin,
              request.key_end,
              0,
              1} {
  gathered.resize(request.height() * request.width(), request.sums());
}

std::unique_ptr<Observer::State> CellsObserver::rows(const ObservedRows& rows) const {
  auto state = std::make_unique<CellRows>();
  const std::int64_t first = std::max(rows.row_begin, region_.row_begin) - region_.row_begin;
  const std::int64_t end = std::min(rows.row_end, region_.row_end) - region_.row_begin;
  state->begin = first >> request_.shift;
  const std::int64_t count = ((end - 1) >> request_.shift) + 1 - state->begin;
  state->cells.resize(count * request_.width(), request_.sums());
  return state;
}

// Pools first over the keys of a column of cells, lane by lane, then over the lanes of each row of
// cells.
void CellsObserver::tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const {
  auto& seen = static_cast<CellRows&>(state);
  const std::int64_t first = std::max(rows.row_begin, region_.row_begin);
  const std::int64_t last = std::min(rows.row_end, region_.row_end);
  const std::int64_t key_end = std::min(tile.key_end, region_.key_end);
  const std::uint64_t wanted = lanes(first - rows.row_begin, last - rows.row_begin);
  const float* values = values_of(tile, request_.value);
  const int fold = std::min(request_.shift, kLaneBits);
  const auto begin = static_cast<std::size_t>((first - rows.row_begin) >> fold);
  const auto end = static_cast<std::size_t>(((last - 1 - rows.row_begin) >> fold) + 1);
  const auto width = static_cast<std::size_t>(request_.width());
  kernels::LanePools pools;
  pools.sums = request_.sums();
  for (std::int64_t key = std::max(tile.key_begin, region_.key_begin); key < key_end;) {
    const std::int64_t x = (key - region_.key_begin) >> request_.shift;
    const std::int64_t next = std::min(key_end, region_.key_begin + ((x + 1) << request_.shift));
    const std::int64_t at = key - tile.key_begin;
    kernels::cpu::pool_lanes(values + at * kMaskRows, tile.visible + at, next - key, wanted, pools);
    kernels::cpu::fold_lanes(pools, fold);
    auto to = static_cast<std::size_t>(x);
    for (std::size_t lane = begin; lane < end; ++lane, to += width)
      seen.cells.largest[to] = larger(seen.cells.largest[to], pools.largest[lane]);
    to = static_cast<std::size_t>(x);
    for (std::size_t lane = begin; pools.sums && lane < end; ++lane, to += width)
      join_sum(seen.cells, to, static_cast<double>(pools.sum[lane]), pools.visible[lane]);
    key = next;
  }
}

void CellsObserver::merge(State& state, const ObservedRows&) {
  const auto& seen = static_cast<const CellRows&>(state);
  const auto first = static_cast<std::size_t>(seen.begin * request_.width());
  float* const largest = gathered.largest.data() + first;
  for (std::size_t at = 0; at < seen.cells.largest.size(); ++at)
    largest[at] = larger(largest[at], seen.cells.largest[at]);
  for (std::size_t at = 0; at < seen.cells.sum.size(); ++at)
    join_sum(gathered, first + at, seen.cells.sum[at], seen.cells.visible[at]);
}

Cells pooled_cells(GatheredCells gathered, const CellsRequest& request) {
  Cells cells{request.height(), request.width(), std::move(gathered.largest)};
  for (float& value : cells.values)
    value = value == kNothing ? std::numeric_limits<float>::quiet_NaN() : value;
  if (!request.sums()) return cells;
  const auto extent = [&](std::int64_t index, std::int64_t count) {
    return std::min((index + 1) << request.shift, count) - (index << request.shift);
  };
  std::size_t at = 0;
  for (std::int64_t y = 0; y < cells.height; ++y) {
    const std::int64_t rows = extent(y, request.row_end - request.row_begin);
    for (std::int64_t x = 0; x < cells.width; ++x, ++at) {
      if (std::isnan(cells.values[at])) continue;
      const std::int64_t count = request.value == ObservedValue::kScores
                                     ? gathered.visible[at]
                                     : rows * extent(x, request.key_end - request.key_begin);
      cells.values[at] = static_cast<float>(gathered.sum[at] / static_cast<double>(count));
    }
  }
  return cells;
}

GatheredCells gathered_cells(const LayerAttention& layer, const CellsRequest& request,
                             const SweepStop::Check& check) {
  CellsObserver cells(request);
  SweepStop stop(check);
  Observer* const observers[] = {&stop, &cells};
  observe(layer.args(), layer.attended(), observers);
  return std::move(cells.gathered);
}

Cells matrix_cells(const LayerAttention& layer, const CellsRequest& request, Cancel& cancel) {
  std::optional<SerialScope> alone;
  if (request.entries() <= kOneCore) alone.emplace();
  const SweepStop::Check check = [&, caller = std::this_thread::get_id()](const ObservedRows&) {
    if (std::this_thread::get_id() == caller) cancel.check();  // the thread that serves the client
  };
  if (request.shift > 0) return pooled_cells(gathered_cells(layer, request, check), request);
  SweepStop stop(check);
  return entries_of(layer, request, stop);
}

}  // namespace heed
