#include "attention/observe/tile_sums.h"
#include "base/numbers.h"
#include "heed/observe.h"

namespace heed {
namespace {

struct KeySums : Observer::State {
  explicit KeySums(std::int64_t keys) : sums(static_cast<std::size_t>(keys)) {}
  std::vector<double> sums;
};

}  // namespace

void ReceivedObserver::begin(const ObservedShape& shape) {
  require_enumerator("received", "heads", heads_, OverHeads::kSum);
  shape_ = shape;
  received =
      Tensor::empty(heads_ == OverHeads::kEach ? Shape{shape.batch, shape.heads, shape.key_length}
                                               : Shape{shape.batch, shape.key_length});
  sums_.assign(static_cast<std::size_t>(received.element_count()), 0.0);
}

std::unique_ptr<Observer::State> ReceivedObserver::rows(const ObservedRows& rows) const {
  return std::make_unique<KeySums>(rows.key_length);
}

void ReceivedObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  kernels::sum_rows(tile.weights, tile.key_end - tile.key_begin,
                    static_cast<KeySums&>(state).sums.data() + tile.key_begin);
}

void ReceivedObserver::merge(State& state, const ObservedRows& rows) {
  const auto& sums = static_cast<const KeySums&>(state).sums;
  const std::int64_t line =
      heads_ == OverHeads::kEach ? rows.batch * shape_.heads + rows.head : rows.batch;
  double* total = sums_.data() + line * shape_.key_length;
  for (const double sum : sums) *total++ += sum;
}

void ReceivedObserver::finish() {
  float* out = received.data<float>();
  for (const double sum : sums_) *out++ = static_cast<float>(sum);
}

}  // namespace heed
