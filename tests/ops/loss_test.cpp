#include "ops/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "heed/threads.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {

using test::largest_difference;
using test::random_ids;
using test::random_tensor;

constexpr std::pair<int, int> kShapes[] = {{1, 1}, {0, 7}, {5, 3}, {768, 65}, {33, 1000}};

Tensor some_targets(const Shape& shape, std::int64_t vocabulary) {
  Tensor targets = random_ids(shape, vocabulary, 2);
  for (std::int64_t i = 2; i < targets.element_count(); i += 5)
    targets.data<std::int32_t>()[i] = kIgnoredTarget;
  return targets;
}

TEST(CrossEntropy, EqualLogitsGiveTheLogOfTheVocabulary) {
  const Tensor logits = Tensor::zeros({2, 3, 8});
  const Tensor targets = random_ids({2, 3}, 8, 1);
  EXPECT_NEAR(cross_entropy({.logits = logits, .targets = targets}).mean, std::log(8.0), 1e-7);
}

TEST(CrossEntropy, AgreesWithTheReference) {
  for (const auto& [rows, vocabulary] : kShapes) {
    const Tensor logits = random_tensor({rows, vocabulary}, 1);
    const Tensor exact = Tensor::converted(logits, DType::kF64);
    const Tensor targets = some_targets({rows}, vocabulary);
    Tensor fast = Tensor::empty({rows, vocabulary});
    Tensor slow = Tensor::empty({rows, vocabulary}, DType::kF64);
    const auto got = cross_entropy({.logits = logits, .targets = targets, .dlogits = fast});
    const auto expected = cross_entropy({.logits = exact, .targets = targets, .dlogits = slow});
    EXPECT_NEAR(got.mean, expected.mean, 1e-6);
    EXPECT_EQ(got.counted, expected.counted);
    EXPECT_LE(largest_difference(fast, slow), 1e-6);
  }
}

TEST(CrossEntropy, GradientIsAFiniteDifference) {
  Tensor logits = random_tensor({6, 5}, 1, DType::kF64);
  const Tensor targets = some_targets({6}, 5);
  Tensor dlogits = Tensor::empty({6, 5}, DType::kF64);
  cross_entropy({.logits = logits, .targets = targets, .dlogits = dlogits, .gradient_scale = 0.5});
  test::expect_gradient(logits, dlogits, [&] {
    return 0.5 * cross_entropy({.logits = logits, .targets = targets}).mean;
  });
}

TEST(CrossEntropy, SmoothingSpreadsTheTarget) {
  for (const auto& [rows, vocabulary] : kShapes) {
    const Tensor logits = random_tensor({rows, vocabulary}, 1);
    const Tensor exact = Tensor::converted(logits, DType::kF64);
    const Tensor targets = some_targets({rows}, vocabulary);
    Tensor fast = logits.clone();
    Tensor slow = Tensor::empty({rows, vocabulary}, DType::kF64);
    const auto got =
        cross_entropy({.logits = fast, .targets = targets, .dlogits = fast, .smoothing = 0.1});
    const auto expected =
        cross_entropy({.logits = exact, .targets = targets, .dlogits = slow, .smoothing = 0.1});
    EXPECT_NEAR(got.mean, expected.mean, 1e-6);
    EXPECT_LE(largest_difference(fast, slow), 1e-6);
    double spread = 0;  // the mean loss of all classes as targets
    for (int target = 0; target < vocabulary; ++target) {
      Tensor all = targets.clone();
      for (std::int64_t i = 0; i < rows; ++i)
        if (all.data<std::int32_t>()[i] >= 0) all.data<std::int32_t>()[i] = target;
      spread += cross_entropy({.logits = exact, .targets = all}).mean / vocabulary;
    }
    const double plain = cross_entropy({.logits = exact, .targets = targets}).mean;
    EXPECT_NEAR(expected.mean, 0.9 * plain + 0.1 * spread, 1e-9);
  }
}

TEST(CrossEntropy, TheSmoothedGradientIsAFiniteDifference) {
  Tensor logits = random_tensor({6, 5}, 1, DType::kF64);
  const Tensor targets = some_targets({6}, 5);
  Tensor dlogits = Tensor::empty({6, 5}, DType::kF64);
  cross_entropy({.logits = logits, .targets = targets, .dlogits = dlogits, .smoothing = 0.2});
  test::expect_gradient(logits, dlogits, [&] {
    return cross_entropy({.logits = logits, .targets = targets, .smoothing = 0.2}).mean;
  });
}

TEST(CrossEntropy, GradientMayTakeTheMemoryOfTheLogits) {
  Tensor logits = random_tensor({30, 65}, 1);
  const Tensor targets = some_targets({30}, 65);
  Tensor apart = Tensor::empty({30, 65});
  const auto first = cross_entropy({.logits = logits, .targets = targets, .dlogits = apart});
  const auto second = cross_entropy({.logits = logits, .targets = targets, .dlogits = logits});
  EXPECT_EQ(first.mean, second.mean);
  EXPECT_TRUE(test::same_bits(apart, logits));
}

TEST(CrossEntropy, RowsThatDoNotCountHaveNoGradient) {
  const Tensor logits = random_tensor({4, 9}, 1);
  Tensor targets = random_ids({4}, 9, 2);
  targets.data<std::int32_t>()[1] = kIgnoredTarget;
  Tensor dlogits = random_tensor({4, 9}, 3);
  EXPECT_EQ(cross_entropy({.logits = logits, .targets = targets, .dlogits = dlogits}).counted, 3);
  EXPECT_EQ(largest_difference(dlogits.view().slice(0, 1, 2), Tensor::zeros({1, 9})), 0);
}

TEST(CrossEntropy, NothingCountedIsZero) {
  const Tensor logits = random_tensor({1, 9}, 1);
  Tensor targets = Tensor::zeros({1}, DType::kI32);
  targets.data<std::int32_t>()[0] = kIgnoredTarget;
  EXPECT_EQ(cross_entropy({.logits = logits, .targets = targets}).mean, 0);
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  Tensor logits = Tensor::zeros({1, 20});
  logits.data<float>()[3] = 3e4F;
  Tensor targets = Tensor::zeros({1}, DType::kI32);
  EXPECT_EQ(cross_entropy({.logits = logits, .targets = targets}).mean, 3e4);
}

TEST(CrossEntropy, NanIsNotHidden) {
  Tensor logits = random_tensor({2, 20}, 1);
  logits.data<float>()[4] = std::nanf("");
  const Tensor targets = random_ids({2}, 4, 2);
  EXPECT_TRUE(std::isnan(cross_entropy({.logits = logits, .targets = targets}).mean));
}

TEST(CrossEntropy, BitsDoNotDependOnThreads) {
  const Tensor logits = random_tensor({500, 65}, 1);
  const Tensor targets = some_targets({500}, 65);
  set_thread_count(1);
  const double one = cross_entropy({.logits = logits, .targets = targets}).mean;
  set_thread_count(3);
  const double three = cross_entropy({.logits = logits, .targets = targets}).mean;
  set_thread_count(0);
  EXPECT_EQ(one, three);
}

TEST(CrossEntropy, SaysWhatDoesNotFit) {
  const Tensor logits = Tensor::zeros({2, 5});
  Tensor targets = Tensor::zeros({2}, DType::kI32);
  targets.data<std::int32_t>()[1] = 5;
  EXPECT_HEED_ERROR(cross_entropy({.logits = logits, .targets = targets}),
                    ErrorCode::kInvalidArgument,
                    "cross_entropy: targets[1] is 5, expected 0 to 4, or -100 to be ignored");
  const Tensor of_i32 = Tensor::zeros({3}, DType::kI32);
  EXPECT_HEED_ERROR(cross_entropy({.logits = logits, .targets = of_i32}),
                    ErrorCode::kInvalidArgument,
                    "cross_entropy: targets is i32 [3], expected i32 [2], row-major");
}

}  // namespace heed
