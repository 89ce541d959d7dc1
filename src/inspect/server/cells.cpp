#include "inspect/server/cells.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "heed/base/serial.h"

namespace heed::server {
namespace {

// What is known of one cell so far.
struct Gathered {
  double value = 0;  // the largest, or the sum
  std::int64_t visible = 0;
};

struct CellRows final : Observer::State {
  std::int64_t begin = 0;  // the first row of cells that the block touches
  std::vector<Gathered> cells;
};

// Lanes [begin, end) of a word of visibility.
std::uint64_t lanes(std::int64_t begin, std::int64_t end) {
  const std::uint64_t below = end == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1;
  return below & (~std::uint64_t{0} << begin);
}

class CellsObserver final : public Observer {
 public:
  explicit CellsObserver(const CellsRequest& request)
      : request_(request), region_{request.head,    request.head + 1,  request.row_begin,
                                   request.row_end, request.key_begin, request.key_end} {
    height = cells_of(request.row_end - request.row_begin);
    width = cells_of(request.key_end - request.key_begin);
    cells.resize(static_cast<std::size_t>(height * width));
  }

  std::string_view name() const override { return "cells"; }
  void begin(const ObservedShape& shape) override { region_.resolved(shape); }
  bool needs(const ObservedRows& rows) const override { return region_.meets(rows); }
  bool needs(const ObservedRows&, std::int64_t begin, std::int64_t end) const override {
    return region_.meets(begin, end);
  }

  std::unique_ptr<State> rows(const ObservedRows& rows) const override {
    auto state = std::make_unique<CellRows>();
    const std::int64_t first = std::max(rows.row_begin, region_.row_begin) - region_.row_begin;
    const std::int64_t end = std::min(rows.row_end, region_.row_end) - region_.row_begin;
    state->begin = first >> request_.shift;
    const std::int64_t count = ((end - 1) >> request_.shift) + 1 - state->begin;
    state->cells.resize(static_cast<std::size_t>(count * width));
    return state;
  }

  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    auto& seen = static_cast<CellRows&>(state);
    const std::int64_t first = std::max(rows.row_begin, region_.row_begin);
    const std::int64_t last = std::min(rows.row_end, region_.row_end);
    const std::int64_t key_end = std::min(tile.key_end, region_.key_end);
    const float* values = request_.value == ObservedValue::kScores ? tile.scores : tile.weights;
    for (std::int64_t row = first; row < last;) {
      const std::int64_t y = (row - region_.row_begin) >> request_.shift;
      const std::int64_t next = std::min(last, region_.row_begin + ((y + 1) << request_.shift));
      Gathered* line = seen.cells.data() + (y - seen.begin) * width;
      const std::uint64_t wanted = lanes(row - rows.row_begin, next - rows.row_begin);
      for (std::int64_t key = std::max(tile.key_begin, region_.key_begin); key < key_end; ++key) {
        const std::int64_t at = key - tile.key_begin;
        add(line[(key - region_.key_begin) >> request_.shift], tile.visible[at] & wanted,
            values + at * kMaskRows);
      }
      row = next;
    }
  }

  void merge(State& state, const ObservedRows&) override {
    const auto& seen = static_cast<const CellRows&>(state);
    Gathered* to = cells.data() + seen.begin * width;
    for (const Gathered& cell : seen.cells) join(*to++, cell);
  }

  float value(std::int64_t y, std::int64_t x) const {
    const Gathered& cell = cells[static_cast<std::size_t>(y * width + x)];
    if (cell.visible == 0) return std::numeric_limits<float>::quiet_NaN();
    if (request_.pool == Pool::kMax) return static_cast<float>(cell.value);
    const auto extent = [&](std::int64_t index, std::int64_t count) {
      return std::min((index + 1) << request_.shift, count) - (index << request_.shift);
    };
    const std::int64_t count = request_.value == ObservedValue::kScores
                                   ? cell.visible
                                   : extent(y, request_.row_end - request_.row_begin) *
                                         extent(x, request_.key_end - request_.key_begin);
    return static_cast<float>(cell.value / static_cast<double>(count));
  }

  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<Gathered> cells;

 private:
  std::int64_t cells_of(std::int64_t entries) const {
    return (entries + (std::int64_t{1} << request_.shift) - 1) >> request_.shift;
  }

  // The visible entries of one key.
  void add(Gathered& cell, std::uint64_t visible, const float* values) const {
    for (std::uint64_t left = visible; left != 0; left &= left - 1) {
      const double value = values[std::countr_zero(left)];
      join(cell, {value, 1});
    }
  }

  void join(Gathered& cell, const Gathered& other) const {
    if (other.visible == 0) return;
    if (request_.pool == Pool::kMean) {
      cell.value += other.value;
    } else if (cell.visible == 0 || other.value > cell.value || std::isnan(other.value)) {
      cell.value = other.value;
    }
    cell.visible += other.visible;
  }

  CellsRequest request_;
  Region region_;
};

}  // namespace

Cells matrix_cells(const LayerAttention& layer, const CellsRequest& request, Cancel& cancel) {
  const SerialScope serial;
  CellsObserver gathered(request);
  SweepStop stop([&] { cancel.check(); });
  Observer* const observers[] = {&stop, &gathered};
  observe(layer.args(), layer.attended(), observers);
  Cells cells{.height = gathered.height, .width = gathered.width, .values = {}};
  cells.values.reserve(gathered.cells.size());
  for (std::int64_t y = 0; y < cells.height; ++y)
    for (std::int64_t x = 0; x < cells.width; ++x) cells.values.push_back(gathered.value(y, x));
  return cells;
}

}  // namespace heed::server
