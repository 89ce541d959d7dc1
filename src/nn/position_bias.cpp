#include "nn/position_bias.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace heed {
namespace {

// The bucket of each distance from -(last query) to the last key.
class Buckets {
 public:
  Buckets(const PositionBias& bias, std::span<const std::int64_t> first, std::int64_t queries,
          std::int64_t keys) {
    for (const std::int64_t position : first) last_ = std::max(last_, position + queries - 1);
    for (std::int64_t distance = -last_; distance < keys; ++distance)
      buckets_.push_back(bias.bucket_of(distance));
  }
  std::int64_t of(std::int64_t query, std::int64_t key) const {
    return buckets_[static_cast<std::size_t>(key - query + last_)];
  }

 private:
  std::int64_t last_ = 0;
  std::vector<std::int64_t> buckets_;
};

}  // namespace

BiasByDistance rounded_alibi(std::span<const double> slopes, double scale, const Shape& shape) {
  const std::int64_t keys = shape[3];
  BiasByDistance bias = {.numbers = Tensor::empty({1, std::ssize(slopes), 1, keys})};
  const auto rounded = [](double value) {
    return static_cast<float>(bf16(static_cast<float>(value)));
  };
  float* number = bias.numbers.data<float>();
  for (const double slope : slopes)
    for (std::int64_t key = 0; key < keys; ++key)
      *number++ =
          static_cast<float>(scale) * rounded(rounded(slope) * rounded(static_cast<double>(key)));
  bias.cells = ConstView(bias.numbers).broadcast_to(shape);
  return bias;
}

PositionBias::PositionBias(const std::string& name, const PositionBiasShape& shape)
    : shape_(shape),
      table_{.name = name + ".weight", .value = Tensor::empty({shape.buckets, shape.heads})} {}

// Each near distance has a bucket; farther ones share increasingly wide buckets. In f32, like in
// the training of published models: bucket borders are whole distances.
std::int64_t PositionBias::bucket_of(std::int64_t distance) const {
  std::int64_t buckets = shape_.buckets;
  std::int64_t begin = 0;
  if (shape_.both_sides) {
    buckets /= 2;
    if (distance > 0) begin = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(-distance, 0);
  }
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return begin + distance;
  const float ratio = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(shape_.farthest) /
                                                  static_cast<double>(exact)));
  const auto wide = static_cast<std::int64_t>(ratio * static_cast<float>(buckets - exact));
  return begin + std::min(exact + wide, buckets - 1);
}

namespace {

template <typename T>
void look_up(const PositionBias& bias, const T* table, std::span<const std::int64_t> first,
             std::int64_t queries, Tensor& numbers) {
  const std::int64_t H = numbers.dim(1), distances = numbers.dim(2);
  T* to = numbers.data<T>();
  for (const std::int64_t position : first)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t n = 0; n < distances; ++n)
        *to++ = table[bias.bucket_of(n - (queries - 1) - position) * H + h];
}

template <typename T>
void gather(const Buckets& buckets, const Tensor& dbias, std::span<const std::int64_t> first,
            T* dtable) {
  const std::int64_t H = dbias.dim(1), Tq = dbias.dim(2), Tk = dbias.dim(3);
  const T* from = dbias.data<T>();
  for (const std::int64_t position : first)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t i = 0; i < Tq; ++i)
        for (std::int64_t j = 0; j < Tk; ++j)
          dtable[buckets.of(position + i, j) * H + h] += *from++;
}

}  // namespace

BiasByDistance PositionBias::forward(std::span<const std::int64_t> first, std::int64_t queries,
                                     std::int64_t keys) const {
  const std::int64_t B = std::ssize(first), H = shape_.heads, distances = queries + keys - 1;
  const DType dtype = table_.value.dtype();
  Tensor numbers = Tensor::empty({B, H, distances}, dtype);
  const bool f64 = dtype == DType::kF64;
  if (f64)
    look_up(*this, table_.value.data<double>(), first, queries, numbers);
  else
    look_up(*this, table_.value.data<float>(), first, queries, numbers);
  // Query 0 and key 0 use number Tq - 1; each further query uses the number before.
  const void* corner = f64 ? static_cast<const void*>(numbers.data<double>() + queries - 1)
                           : numbers.data<float>() + queries - 1;
  const ConstView cells(corner, dtype, {B, H, queries, keys}, {H * distances, distances, -1, 1});
  return {.numbers = std::move(numbers), .cells = cells};
}

void PositionBias::backward(const Tensor& dbias, std::span<const std::int64_t> first,
                            Gradients& gradients) const {
  const Buckets buckets(*this, first, dbias.dim(2), dbias.dim(3));
  Tensor& dtable = gradients.of(table_);
  if (dbias.dtype() == DType::kF64)
    gather(buckets, dbias, first, dtable.data<double>());
  else
    gather(buckets, dbias, first, dtable.data<float>());
}

}  // namespace heed
