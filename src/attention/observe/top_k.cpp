#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/observe/tile_sums.h"
#include "heed/error.h"
#include "heed/observe.h"

namespace heed {
namespace {

// NaN sorts before every number, so that it is visible.
bool before(float a, float b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

// The best weights so far of each row, largest first; a weight must sort before `least` to enter a
// full row.
struct Best : Observer::State {
  explicit Best(std::int64_t k)
      : keys(static_cast<std::size_t>(kMaskRows * k), -1),
        weights(static_cast<std::size_t>(kMaskRows * k), 0.0F) {
    least.fill(std::numeric_limits<float>::quiet_NaN());  // no weight sorts after it
  }

  std::vector<std::int64_t> keys;  // [64, k]
  std::vector<float> weights;
  std::array<float, kMaskRows> least;
  std::array<std::int64_t, kMaskRows> count = {};

  bool takes(std::int64_t row, std::int64_t k, float weight) const {
    const auto at = static_cast<std::size_t>(row);
    return count[at] < k || before(weight, least[at]);
  }

  // Keys arrive in ascending order and enter after their equals: ties go to the lower key.
  void enter(std::int64_t row, std::int64_t k, std::int64_t key, float weight) {
    const auto at = static_cast<std::size_t>(row);
    float* row_weights = weights.data() + row * k;
    std::int64_t* row_keys = keys.data() + row * k;
    std::int64_t place = std::min(count[at], k - 1);
    for (; place > 0 && before(weight, row_weights[place - 1]); --place) {
      row_weights[place] = row_weights[place - 1];
      row_keys[place] = row_keys[place - 1];
    }
    row_weights[place] = weight;
    row_keys[place] = key;
    count[at] = std::min(count[at] + 1, k);
    if (count[at] == k) least[at] = row_weights[k - 1];
  }
};

}  // namespace

TopKObserver::TopKObserver(std::int64_t k) : k_(k) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;  // a block of rows keeps 64 k of them
  if (k < 1 || k > kMost) fail("top_k", "k", k, fmt::format("1 to {}", kMost));
}

void TopKObserver::begin(const ObservedShape& shape) {
  const Shape answer = {shape.batch, shape.heads, shape.query_length, k_};
  weights = Tensor::zeros(answer);
  keys = Tensor::empty(answer, DType::kI64);
  std::fill_n(keys.data<std::int64_t>(), keys.element_count(), -1);
}

std::unique_ptr<Observer::State> TopKObserver::rows(const ObservedRows&) const {
  return std::make_unique<Best>(k_);
}

void TopKObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  auto& best = static_cast<Best&>(state);
  const std::int64_t keys_of_tile = tile.key_end - tile.key_begin;
  std::array<std::uint64_t, kObservedKeys> found;  // may include too many: `least` rises
  kernels::find_above(tile.weights, keys_of_tile, best.least.data(), found.data());
  for (std::int64_t j = 0; j < keys_of_tile; ++j)
    for (std::uint64_t left = found[static_cast<std::size_t>(j)] & tile.visible[j]; left != 0;
         left &= left - 1) {
      const std::int64_t row = std::countr_zero(left);
      const float weight = tile.weights[j * kMaskRows + row];
      if (best.takes(row, k_, weight)) best.enter(row, k_, tile.key_begin + j, weight);
    }
}

void TopKObserver::merge(State& state, const ObservedRows& rows) {
  const auto& best = static_cast<const Best&>(state);
  const std::int64_t first =
      ((rows.batch * keys.dim(1) + rows.head) * keys.dim(2) + rows.row_begin) * k_;
  const std::int64_t count = (rows.row_end - rows.row_begin) * k_;
  std::copy_n(best.keys.data(), count, keys.data<std::int64_t>() + first);
  std::copy_n(best.weights.data(), count, weights.data<float>() + first);
}

}  // namespace heed
