// The log-sum-exp, or its lower half, omitted by a caller who provides the memory.
#include <gtest/gtest.h>

#include <algorithm>

#include "heed/attention.h"
#include "heed/observe.h"
#include "support/every_kernel.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::random_tensor;
using test::same_bits;

struct Problem {
  explicit Problem(std::int64_t queries = 70, std::int64_t keys = 300)
      : q(random_tensor({1, 4, queries, 16}, 1)),
        k(random_tensor({1, 2, keys, 16}, 2)),
        v(random_tensor({1, 2, keys, 8}, 3)),
        dout(random_tensor({1, 4, queries, 8}, 4)),
        args{.q = q, .keys = {k, v}} {}

  Tensor q, k, v, dout;
  AttentionArgs args;
};

void expect_same_grads(const AttentionGrads& a, const AttentionGrads& b) {
  EXPECT_TRUE(same_bits(a.dq, b.dq));
  EXPECT_TRUE(same_bits(a.dk, b.dk));
}

TEST(OptionalLse, OutIsTheSameWithoutIt) {
  for (const auto& [queries, keys] : {std::pair(70, 300), {1, 5000}, {0, 3}, {3, 0}}) {
    const Problem problem(queries, keys);
    test::for_every_kernel(problem.args, [&](const AttentionArgs& each) {
      const Attended whole = attention(each);
      Tensor out = Tensor::empty(whole.out.shape());
      attention(each, {.out = out});
      EXPECT_TRUE(same_bits(out, whole.out));
    });
  }
}

TEST(OptionalLse, TheLowerHalfMayBeLeftOut) {
  const Problem problem;
  test::for_every_kernel(problem.args, [](const AttentionArgs& each) {
    const Attended whole = attention(each);
    Tensor out = Tensor::empty(whole.out.shape());
    Tensor lse = Tensor::empty(whole.lse.shape());
    attention(each, {.out = out, .lse = lse});
    EXPECT_TRUE(same_bits(out, whole.out));
    EXPECT_TRUE(same_bits(lse, whole.lse));
  });
}

TEST(OptionalLse, ALowerHalfThatIsNotGivenIsZero) {
  const Problem problem;
  const Tensor dentropy = random_tensor({1, 4, 70}, 5);
  test::for_every_kernel(problem.args, [&](const AttentionArgs& each) {
    const Attended whole = attention(each);
    const Tensor zeros = Tensor::zeros(whole.lse.shape());
    const AttendedConstView with = {.out = whole.out, .lse = whole.lse, .lse_low = zeros};
    const AttendedConstView without = {.out = whole.out, .lse = whole.lse};
    expect_same_grads(attention_backward(each, without, problem.dout),
                      attention_backward(each, with, problem.dout));
    const ObservedCotangents of_entropy = {.dentropy = dentropy};
    expect_same_grads(observe_backward(each, without, of_entropy),
                      observe_backward(each, with, of_entropy));
    SelectionObserver of_with;
    SelectionObserver of_without;
    Observer* const one[] = {&of_with};
    Observer* const other[] = {&of_without};
    observe(each, with, one);
    observe(each, without, other);
    EXPECT_TRUE(same_bits(of_without.values, of_with.values));
  });
}

TEST(OptionalLse, AGivenHalfIsChecked) {
  const Problem problem;
  Tensor out = Tensor::empty({1, 4, 70, 8});
  Tensor lse = Tensor::empty({1, 4, 70});
  Tensor lse_low = Tensor::empty({1, 4, 71});
  EXPECT_HEED_ERROR(attention(problem.args, {.out = out, .lse_low = lse}),
                    ErrorCode::kInvalidArgument,
                    "attention: lse_low is given without lse, expected both, or lse alone");
  EXPECT_HEED_ERROR(attention(problem.args, {.out = out, .lse = lse, .lse_low = lse_low}),
                    ErrorCode::kInvalidArgument,
                    "attention: lse_low.shape is [1, 4, 71], expected [B, H, Tq] = [1, 4, 70]");
}

}  // namespace
}  // namespace heed
