#include "train/adamw.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "heed/threads.h"

namespace heed {
namespace {

Tensor tensor_of(const std::vector<float>& values) {
  return Tensor::copy_of(
      ConstView(values.data(), DType::kF32, Shape{static_cast<std::int64_t>(values.size())}));
}

// The expected values are those of torch.optim.AdamW (PyTorch 2.13, CPU) on the same three steps.
TEST(AdamW, FollowsPyTorch) {
  Parameter weight{"weight", tensor_of({0.5F, -1.25F, 2, 0}), true};
  Parameter bias{"bias", tensor_of({0.25F, -0.5F}), false};
  const std::array parameters = {&weight, &bias};
  Gradients gradients;
  AdamW adamw(parameters, gradients,
              {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1});
  const std::vector<float> dweight = {0.1F, -0.2F, 0.3F, 0};
  const std::vector<float> dbias = {1, -2};
  for (int step = 1; step <= 3; ++step) {
    for (std::size_t i = 0; i < 4; ++i)
      gradients.of(weight).data<float>()[i] = dweight[i] * static_cast<float>(step);
    for (std::size_t i = 0; i < 2; ++i)
      gradients.of(bias).data<float>()[i] = dbias[i] / static_cast<float>(step);
    adamw.step(0.01);
  }
  const std::vector<double> expected = {0.469337046, -1.2170893, 1.9648416, 0};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(weight.value.data<float>()[i], expected[i], 3e-7) << i;
  EXPECT_NEAR(bias.value.data<float>()[0], 0.221908033, 3e-8);
  EXPECT_NEAR(bias.value.data<float>()[1], -0.471908063, 6e-8);
}

TEST(AdamW, ItsNormIsThatOfTheWholeGradient) {
  Parameter a{"a", tensor_of({0, 0}), true};
  Parameter b{"b", tensor_of({0}), true};
  const std::array parameters = {&a, &b};
  Gradients gradients;
  const AdamW adamw(parameters, gradients, {});
  gradients.of(a).data<float>()[1] = 3;
  gradients.of(b).data<float>()[0] = -4;
  EXPECT_DOUBLE_EQ(adamw.gradient_norm(), 5);
}

TEST(AdamW, ItsNormDoesNotDependOnTheThreads) {
  Parameter a{"a", Tensor::zeros({300, 1000}), true};
  const std::array parameters = {&a};
  Gradients gradients;
  const AdamW adamw(parameters, gradients, {});
  for (std::int64_t i = 0; i < a.value.element_count(); ++i)
    gradients.of(a).data<float>()[i] = 1.0F / static_cast<float>(i + 1);
  set_thread_count(1);
  const double one = adamw.gradient_norm();
  set_thread_count(3);
  EXPECT_EQ(adamw.gradient_norm(), one);
  set_thread_count(0);
}

}  // namespace
}  // namespace heed
