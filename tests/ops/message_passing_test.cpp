#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "heed/operators.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::random_tensor;

// Node 0 receives from 1 and 3, node 1 from itself, node 2 from none, node 3 from all.
struct Square {
  Square() {
    const std::vector<std::int64_t> starts = {0, 2, 3, 3, 7};
    const std::vector<std::int64_t> heard = {1, 3, 1, 0, 1, 2, 3};
    std::ranges::copy(starts, row_starts.data<std::int64_t>());
    std::ranges::copy(heard, columns.data<std::int64_t>());
  }
  MessagePassingArgs args() const {
    return {.x = x, .graph = {row_starts, columns}, .scale = {0.7}};
  }

  Tensor x = random_tensor({4, 3}, 1, DType::kF64);
  Tensor row_starts = Tensor::empty({5}, DType::kI64);
  Tensor columns = Tensor::empty({7}, DType::kI64);
};

TEST(MessagePassing, AgreesWithPlainLoops) {
  const Square square;
  const Tensor y = message_passing(square.args());
  const double* x = square.x.data<double>();
  for (int node = 0; node < 4; ++node) {
    double sum = 0;
    double gathered[3] = {};
    for (std::int64_t edge = square.row_starts.data<std::int64_t>()[node];
         edge < square.row_starts.data<std::int64_t>()[node + 1]; ++edge) {
      const double* other = x + square.columns.data<std::int64_t>()[edge] * 3;
      double score = 0;
      for (int c = 0; c < 3; ++c) score += 0.7 * x[node * 3 + c] * other[c];
      sum += std::exp(score);
      for (int c = 0; c < 3; ++c) gathered[c] += std::exp(score) * other[c];
    }
    for (int c = 0; c < 3; ++c)
      EXPECT_NEAR(y.data<double>()[node * 3 + c], sum == 0 ? 0 : gathered[c] / sum, 1e-12);
  }
}

TEST(MessagePassing, GradientsAreFiniteDifferences) {
  Square square;
  const Tensor dy = random_tensor({4, 3}, 2, DType::kF64);
  const Tensor dx = message_passing_backward(square.args(), dy);
  test::expect_gradient(square.x, dx,
                        [&] { return test::weighted_sum(message_passing(square.args()), dy); });
}

TEST(MessagePassing, WhatNobodyHearsHasNoInfluence) {
  Square square;
  square.columns.data<std::int64_t>()[5] = 3;  // node 3: 0, 1 and 3; no node receives from 2
  square.row_starts.data<std::int64_t>()[4] = 6;
  MessagePassingArgs args = square.args();
  args.graph.columns = square.columns.view().slice(0, 0, 6);
  const Tensor before = message_passing(args);
  square.x.data<double>()[2 * 3] = std::nan("");
  EXPECT_TRUE(test::same_bits(before, message_passing(args)));
}

TEST(MessagePassing, SaysWhatDoesNotFit) {
  const Square square;
  MessagePassingArgs args = square.args();
  args.x = square.x.view().reshape({2, 2, 3});
  EXPECT_HEED_ERROR(message_passing(args), ErrorCode::kInvalidArgument,
                    "message_passing: x is f64 [2, 2, 3], expected [N, C]");
  args = square.args();
  args.scale = {1, 2};
  EXPECT_HEED_ERROR(message_passing(args), ErrorCode::kInvalidArgument,
                    "message_passing: scale is a list of 2, expected none or one entry");
}

}  // namespace
}  // namespace heed
