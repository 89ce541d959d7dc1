#include <fmt/format.h>

#include "attention/observe/tile_sums.h"
#include "heed/error.h"
#include "heed/observe.h"

namespace heed {
namespace {

struct ClassSums : Observer::State {
  explicit ClassSums(std::int64_t classes) : sums(static_cast<std::size_t>(classes * kMaskRows)) {}
  std::vector<double> sums;  // [classes, 64]
};

}  // namespace

MassObserver::MassObserver(std::vector<std::int32_t> class_of_key, std::int64_t classes)
    : class_of_key_(std::move(class_of_key)), classes_(classes) {
  if (classes < 1) fail("mass", "classes", classes, "at least 1");
  for (std::size_t key = 0; key < class_of_key_.size(); ++key)
    if (class_of_key_[key] < -1 || class_of_key_[key] >= classes)
      fail("mass", fmt::format("class_of_key[{}]", key), class_of_key_[key],
           fmt::format("-1 to {}", classes - 1));
}

void MassObserver::begin(const ObservedShape& shape) {
  if (static_cast<std::int64_t>(class_of_key_.size()) != shape.key_length)
    fail("mass", "class_of_key", fmt::format("a list of {}", class_of_key_.size()),
         fmt::format("{} entries (one per key)", shape.key_length));
  mass = Tensor::zeros({shape.batch, shape.heads, shape.query_length, classes_});
}

std::unique_ptr<Observer::State> MassObserver::rows(const ObservedRows&) const {
  return std::make_unique<ClassSums>(classes_);
}

void MassObserver::tile(State& state, const ObservedRows&, const ObservedTile& tile) const {
  auto& sums = static_cast<ClassSums&>(state).sums;
  for (std::int64_t key = tile.key_begin; key < tile.key_end; ++key) {
    const std::int32_t key_class = class_of_key_[static_cast<std::size_t>(key)];
    if (key_class < 0) continue;
    const float* weight = tile.weights + (key - tile.key_begin) * kMaskRows;
    kernels::add_keys(weight, 1, sums.data() + key_class * kMaskRows);
  }
}

void MassObserver::merge(State& state, const ObservedRows& rows) {
  const auto& sums = static_cast<const ClassSums&>(state).sums;
  float* out = mass.data<float>() +
               ((rows.batch * mass.dim(1) + rows.head) * mass.dim(2) + rows.row_begin) * classes_;
  for (std::int64_t i = 0; i < rows.row_end - rows.row_begin; ++i)
    for (std::int64_t c = 0; c < classes_; ++c)
      *out++ = static_cast<float>(sums[static_cast<std::size_t>(c * kMaskRows + i)]);
}

}  // namespace heed
