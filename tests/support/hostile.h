// Invalid arguments: views, lists and numbers drawn to be wrong, or nearly right.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/philox.h"
#include "heed/tensor.h"

namespace heed::test {

template <typename T, std::size_t count>
T one_of(Random& random, const T (&all)[count]) {
  return all[random.below(count)];
}

// Views within allocated memory: of any type, shape and strides, or changed in one of these.
class Memory {
 public:
  View view(Random& random, const ConstView& like) {
    const bool is_near = like.given() && random.below(2) == 0;
    const std::uint64_t change = random.below(is_near ? 6 : 16);
    if (change == 5) return {};
    Shape shape = is_near ? like.shape() : any_shape(random);
    if (change < 2 && shape.rank() > 0) shape[axis_of(shape, random)] = extent(random);
    const bool any_type = !is_near || change == 2;
    const DType dtype = any_type ? one_of(random, kDTypes).dtype : like.dtype();
    if (change == 3)
      return {begin() + (random.below(4) == 0 ? 1 : 0), dtype, shape, steps(shape, random)};
    return {change == 4 && random.below(4) == 0 ? nullptr : begin(), dtype, shape};
  }

 private:
  // Five axes of 9, or 8 steps of 120 along each, of 8 bytes, in both directions.
  static constexpr std::int64_t kBytes = std::int64_t{2} << 20;

  static std::int64_t extent(Random& random) {
    return one_of<std::int64_t>(random, {0, 1, 2, 2, 3, 4, 5, 6, 8, 9});
  }
  static int axis_of(const Shape& shape, Random& random) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(shape.rank())));
  }
  static Shape any_shape(Random& random) {
    std::vector<std::int64_t> extents(random.below(6));
    for (std::int64_t& each : extents) each = extent(random);
    return Shape(extents);
  }
  static Shape steps(Shape shape, Random& random) {
    for (int axis = 0; axis < shape.rank(); ++axis)
      shape[axis] = one_of<std::int64_t>(random, {-8, -1, 0, 1, 2, 8, 30, 120});
    return shape;
  }
  char* begin() { return reinterpret_cast<char*>(memory_.data<double>()) + kBytes / 2; }

  Tensor memory_ = Tensor::zeros({kBytes / 8}, DType::kF64);
};

inline std::vector<std::int64_t> list(Random& random) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> numbers(random.below(4));
  for (std::int64_t& number : numbers)
    number = one_of<std::int64_t>(
        random, {-kMost - 1, -(std::int64_t{1} << 60) - 1, -2, -1, 0, 0, 1, 2, 3, 5, 6,
                 std::int64_t{1} << 40, std::int64_t{1} << 60, std::int64_t{1} << 62, kMost});
  return numbers;
}

inline double number(Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return one_of(random, {std::numeric_limits<double>::quiet_NaN(), -kInfinity, kInfinity, -1.0, 0.0,
                         0.5, 1.0, 1e-310, 1e300});
}

}  // namespace heed::test
