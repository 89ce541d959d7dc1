// Several caller threads in the operator at once.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/observe.h"
#include "heed/threads.h"
#include "support/allocated.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::random_tensor;
using test::same_bits;

struct Answers {
  Attended y;
  AttentionGrads grads;
  Attended merged;
  Tensor received;
};

Answers answers_of(const AttentionArgs& args) {
  Answers all;
  all.y = attention(args);
  all.grads = attention_backward(args, all.y, all.y.out);
  all.merged = merge(all.y, all.y);
  ReceivedObserver received;
  Observer* const observers[] = {&received};
  observe(args, all.y, observers);
  all.received = std::move(received.received);
  return all;
}

TEST(Callers, OfSeveralThreadsGetTheBitsOfOne) {
  const Tensor q = random_tensor({2, 4, 150, 32}, 1);
  const Tensor k = random_tensor({2, 2, 150, 32}, 2);
  const Tensor v = random_tensor({2, 2, 150, 32}, 3);
  const AttentionArgs args = {.q = q, .keys = {k, v}, .mask = Mask::causal()};
  const Answers expected = answers_of(args);
  std::array<Answers, 4> found;
  std::vector<std::thread> callers;
  for (Answers& each : found)
    callers.emplace_back([&each, &args] {
      for (int n = 0; n < 5; ++n) each = answers_of(args);
    });
  for (std::thread& caller : callers) caller.join();
  for (const Answers& each : found) {
    EXPECT_TRUE(same_bits(each.y.out, expected.y.out));
    EXPECT_TRUE(same_bits(each.y.lse, expected.y.lse));
    EXPECT_TRUE(same_bits(each.grads.dq, expected.grads.dq));
    EXPECT_TRUE(same_bits(each.grads.dk, expected.grads.dk));
    EXPECT_TRUE(same_bits(each.grads.dv, expected.grads.dv));
    EXPECT_TRUE(same_bits(each.merged.out, expected.merged.out));
    EXPECT_TRUE(same_bits(each.received, expected.received));
  }
}

TEST(Callers, MayComputeWhileAnotherThreadSetsTheThreadCount) {
  const Tensor q = random_tensor({1, 2, 150, 8}, 1);
  const Tensor bias = random_tensor({150}, 2);
  const AttentionArgs args = {.q = q,
                              .keys = {q, q},
                              .mask = Mask::causal(),
                              .scores = {.bias = bias},
                              .kernel = "portable"};
  const Attended expected = attention(args);
  const AttentionGrads grads = attention_backward(args, expected, expected.out, {.dbias = true});
  std::atomic<bool> stop{false};
  std::thread setter([&] {
    for (int n = 0; !stop; ++n) set_thread_count(1 + n % 7);
  });
  for (int n = 0; n < 50; ++n) {
    const Attended y = attention(args);
    EXPECT_TRUE(same_bits(y.out, expected.out));
    const AttentionGrads found = attention_backward(args, y, y.out, {.dbias = true});
    EXPECT_TRUE(same_bits(found.dq, grads.dq));
    EXPECT_TRUE(same_bits(found.dbias, grads.dbias));
  }
  stop = true;
  setter.join();
  set_thread_count(0);
}

// A thread that ends frees its scratch memory (once 180 KiB per thread were lost). The pool's
// threads keep theirs, and one that was idle may allocate it meanwhile.
TEST(Callers, ThatEndLeaveNoMemoryBehind) {
  if (!test::are_bytes_counted()) GTEST_SKIP() << "this allocator does not say what is in use";
  const Tensor x = random_tensor({2, 4, 150, 32}, 1);
  const AttentionArgs args = {.q = x, .keys = {x, x}, .mask = Mask::causal()};
  set_thread_count(2);
  const auto call = [&args](int callers) {
    for (int n = 0; n < callers; ++n) std::thread([&args] { answers_of(args); }).join();
    return test::allocated_bytes();
  };
  const std::int64_t before = call(8);
  const std::int64_t after = call(40);
  set_thread_count(0);
  EXPECT_LT(after - before, 40 * 50'000);
}

}  // namespace
}  // namespace heed
