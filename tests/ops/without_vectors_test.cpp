// On a CPU without AVX2 the operators run without vectors, and say the same.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "base/machine.h"
#include "heed/operators.h"
#include "support/compare.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::distance;
using test::random_tensor;

// While it lives, kernels run as on a machine that has no vectors.
struct NoVectors {
  NoVectors() { hwy::GetChosenTarget().Update(HWY_SCALAR | HWY_EMU128); }
  ~NoVectors() { hwy::GetChosenTarget().Update(highway_targets()); }
};

// Also that pretending reaches the operator: sums in another order differ in their last bits.
void expect_close_but_not_same(const Tensor& plain, const Tensor& vectors) {
  EXPECT_LE(distance(plain, vectors), 1e-6);
  if (allowed_isa() > Isa::kPortable) {
    EXPECT_FALSE(test::same_bits(plain, vectors));
  }
}

TEST(WithoutVectors, SoftmaxIsTheSame) {
  const Tensor x = random_tensor({5, 333}, 1);
  const Tensor vectors = softmax(x);
  const NoVectors none;
  expect_close_but_not_same(softmax(x), vectors);
}

TEST(WithoutVectors, NormsAreTheSame) {
  const Tensor x = random_tensor({5, 333}, 2);
  const Tensor weight = random_tensor({333}, 3);
  const Tensor bias = random_tensor({333}, 4);
  const Tensor layer = layer_norm({.x = x, .weight = weight, .bias = bias});
  const Tensor rms = rms_norm({.x = x, .weight = weight});
  const NoVectors none;
  expect_close_but_not_same(layer_norm({.x = x, .weight = weight, .bias = bias}), layer);
  expect_close_but_not_same(rms_norm({.x = x, .weight = weight}), rms);
}

}  // namespace
}  // namespace heed
