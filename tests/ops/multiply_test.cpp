#include <gtest/gtest.h>

#include "ops/elementwise.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

TEST(Multiply, EachElementByItsOwn) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Tensor y = test::random_tensor({7, 5001}, 1, dtype);  // more than one block
    const Tensor x = test::random_tensor({7, 5001}, 2, dtype);
    const Tensor before = Tensor::converted(y, DType::kF64);
    const Tensor factors = Tensor::converted(x, DType::kF64);
    multiply_by(y, x);
    const Tensor after = Tensor::converted(y, DType::kF64);
    for (std::int64_t i = 0; i < y.element_count(); ++i)
      ASSERT_NEAR(after.data<double>()[i], before.data<double>()[i] * factors.data<double>()[i],
                  dtype == DType::kF32 ? 1e-6 : 0);
  }
}

TEST(Multiply, AllByOneFactor) {
  Tensor y = Tensor::zeros({3});
  y.data<float>()[1] = 2;
  const Tensor twice = scaled(std::move(y), 1.5);
  EXPECT_EQ(twice.data<float>()[0], 0);
  EXPECT_EQ(twice.data<float>()[1], 3);
}

TEST(Multiply, SaysWhatDoesNotFit) {
  Tensor y = Tensor::zeros({3});
  EXPECT_HEED_ERROR(multiply_by(y, Tensor::zeros({4})), ErrorCode::kInvalidArgument,
                    "multiply: x is f32 [4], expected f32 [3], row-major");
}

}  // namespace
}  // namespace heed
