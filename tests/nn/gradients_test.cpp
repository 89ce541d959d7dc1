// What a backward pass adds to, and what it takes from the forward pass.
#include <gtest/gtest.h>

#include "heed/model.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::random_tensor;

TEST(Gradients, ClearKeepsTheMemory) {
  const Parameter parameter = {.name = "w", .value = random_tensor({3}, 1)};
  Gradients gradients;
  EXPECT_EQ(gradients.find(parameter), nullptr);
  Tensor& gradient = gradients.of(parameter);
  gradient.data<float>()[1] = 5;
  gradients.clear();
  EXPECT_EQ(gradients.find(parameter), &gradient);
  EXPECT_EQ(gradient.data<float>()[1], 0);
}

TEST(Saved, AnEmptyStackSaysWhatIsMissing) {
  Saved saved;
  EXPECT_HEED_ERROR(
      saved.take(), ErrorCode::kInvalidArgument,
      "backward: run.saved is empty, expected what the forward pass of the same run kept");
}

}  // namespace
}  // namespace heed
