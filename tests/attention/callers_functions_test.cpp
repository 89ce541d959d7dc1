// Callbacks inside the operator: masks and observers that throw, that call operators, and the float
// mode that they see.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>

#include "base/float_mode.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/observe.h"
#include "heed/tensor.h"
#include "heed/threads.h"
#include "support/every_kernel.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::random_tensor;
using test::same_bits;

class CallersFunctions : public testing::Test {
 protected:
  void TearDown() override { set_thread_count(0); }
};

// A causal mask that throws once, at its n-th call.
struct Throwing {
  std::atomic<std::int64_t> calls{0};
  std::int64_t at = std::numeric_limits<std::int64_t>::max();

  void count() {
    if (++calls == at) throw std::domain_error("the mask's own");
  }
  Mask mask() {
    return Mask::custom({.visible =
                             [this](const MaskPlace&, std::int64_t row, std::int64_t key) {
                               if (key % 16 == 0) count();
                               return key <= row;
                             },
                         .tile =
                             [this](const MaskPlace&, const MaskTile& tile) {
                               count();
                               return tile.key_begin >= tile.row_end   ? TileClass::kEmpty
                                      : tile.key_end <= tile.row_begin ? TileClass::kFull
                                                                       : TileClass::kPartial;
                             }});
  }
};

// Throws at an early, a middle and the last call.
template <typename Pass>
void expect_its_exception(Throwing& mask, const Pass& pass) {
  mask.at = std::numeric_limits<std::int64_t>::max();
  mask.calls = 0;
  pass();
  const std::int64_t all = mask.calls;
  for (const std::int64_t at : {std::int64_t{1}, all / 7, all / 3, all / 2, all * 9 / 10, all}) {
    mask.at = std::max<std::int64_t>(at, 1);
    mask.calls = 0;
    EXPECT_THROW(pass(), std::domain_error) << "call " << at << " of " << all;
  }
  mask.at = std::numeric_limits<std::int64_t>::max();
}

TEST_F(CallersFunctions, WhatAMaskThrowsOnceComesOutOfEveryPassAndKernel) {
  const Tensor q = random_tensor({1, 2, 200, 8}, 1);
  const Tensor k = random_tensor({1, 1, 200, 8}, 2);
  const Tensor bias = random_tensor({200, 200}, 3);
  for (const bool has_bias : {false, true})
    for (const int threads : {1, 2, 5}) {
      set_thread_count(threads);
      Throwing mask;
      AttentionArgs args = {.q = q, .keys = {k, k}, .mask = mask.mask()};
      if (has_bias) args.scores.bias = bias;
      const AttentionGradRequest request = {.dbias = has_bias};
      test::for_every_kernel(args, [&](const AttentionArgs& each) {
        SCOPED_TRACE(threads);
        const Attended y = attention(each);
        expect_its_exception(mask, [&] { attention(each); });
        AttentionArgs backward = each;
        if (has_bias && each.kernel.starts_with("cpu-"))
          backward.kernel = "";  // they know no dbias
        expect_its_exception(mask, [&] { attention_backward(backward, y, y.out, request); });
        expect_its_exception(mask, [&] {
          ReceivedObserver received;
          Observer* const observers[] = {&received};
          observe(each, y, observers);
        });
      });
    }
}

TEST_F(CallersFunctions, WhatAMaskThrowsInALongBackwardPassComesOut) {
  const Tensor x = random_tensor({1, 1, 2048, 64}, 1);
  std::atomic<int> calls{-1};
  const Mask mask = Mask::custom({.visible = [&](const MaskPlace&, std::int64_t, std::int64_t) {
    if (calls >= 0 && ++calls == 1000) throw std::domain_error("the mask's own");
    return true;
  }});
  const AttentionArgs args = {.q = x, .keys = {x, x}, .mask = mask};
  const Attended y = attention(args);
  set_thread_count(2);
  for (int round = 0; round < 10; ++round) {
    calls = 0;
    EXPECT_THROW(attention_backward(args, y, y.out), std::domain_error);
  }
}

// Throws in one of its functions, for the rows from 64 on.
struct Broken : ReceivedObserver {
  using ReceivedObserver::needs;
  enum class Where : std::uint8_t { kNeeds, kRows, kTile, kMerge, kFinish } where = Where::kTile;

  void check(Where here, std::int64_t row) const {
    if (here == where && row >= 64) throw std::domain_error("the observer's own");
  }
  bool needs(const ObservedRows& rows) const override {
    check(Where::kNeeds, rows.row_begin);
    return ReceivedObserver::needs(rows);
  }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override {
    check(Where::kRows, rows.row_begin);
    return ReceivedObserver::rows(rows);
  }
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override {
    check(Where::kTile, rows.row_begin);
    ReceivedObserver::tile(state, rows, tile);
  }
  void merge(State& state, const ObservedRows& rows) override {
    check(Where::kMerge, rows.row_begin);
    ReceivedObserver::merge(state, rows);
  }
  void finish() override { check(Where::kFinish, 64); }
};

TEST_F(CallersFunctions, WhatAnObserverThrowsComesOut) {
  const Tensor x = random_tensor({2, 2, 400, 8}, 1);
  const AttentionArgs args = {.q = x, .keys = {x, x}};
  const Attended y = attention(args);
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    for (const auto where : {Broken::Where::kNeeds, Broken::Where::kRows, Broken::Where::kTile,
                             Broken::Where::kMerge, Broken::Where::kFinish}) {
      Broken broken;
      broken.where = where;
      Observer* const observers[] = {&broken};
      EXPECT_THROW(observe(args, y, observers), std::domain_error) << static_cast<int>(where);
    }
  }
}

void expect_same_passes(const AttentionArgs& args, const AttentionArgs& expected_args) {
  const Attended found = attention(args);
  const Attended expected = attention(expected_args);
  EXPECT_TRUE(same_bits(found.out, expected.out));
  EXPECT_TRUE(same_bits(found.lse, expected.lse));
  const AttentionGrads grads = attention_backward(args, found, found.out);
  const AttentionGrads expected_grads = attention_backward(expected_args, expected, expected.out);
  EXPECT_TRUE(same_bits(grads.dq, expected_grads.dq));
  EXPECT_TRUE(same_bits(grads.dk, expected_grads.dk));
  EXPECT_TRUE(same_bits(grads.dv, expected_grads.dv));
}

TEST_F(CallersFunctions, AMaskMayCallOperators) {
  const Tensor x = random_tensor({1, 2, 100, 16}, 1);
  const Tensor longer = random_tensor({1, 1, 130, 40}, 2);  // its scratch is larger
  const AttentionArgs inner = {.q = longer, .keys = {longer, longer}, .mask = Mask::causal()};
  const Attended inner_y = attention(inner);
  const Mask calling =
      Mask::custom({.visible = [&](const MaskPlace&, std::int64_t row, std::int64_t key) {
        if (row % 37 == 0 && key % 41 == 0) {
          const Attended y = attention(inner);
          EXPECT_TRUE(same_bits(y.out, inner_y.out));
          attention_backward(inner, y, y.out);
        }
        return key <= row;
      }});
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    const AttentionArgs plain = {.q = x, .keys = {x, x}, .mask = Mask::causal()};
    test::for_every_kernel(plain, [&](const AttentionArgs& each) {
      AttentionArgs args = each;
      args.mask = calling;
      expect_same_passes(args, each);
    });
  }
}

TEST_F(CallersFunctions, RunInTheCallersFloatMode) {
  const Tensor x = random_tensor({1, 2, 200, 8}, 1);
  for (const FloatMode flushing : {FloatMode{0}, kFlushToZero}) {
    const FloatModeScope mode((float_mode() & ~kFlushToZero) | flushing);
    const Mask looking =
        Mask::custom({.visible = [=](const MaskPlace&, std::int64_t, std::int64_t) {
          EXPECT_EQ(float_mode() & kFlushToZero, flushing);
          return true;
        }});
    for (const int threads : {1, 2}) {
      set_thread_count(threads);
      const AttentionArgs args = {.q = x, .keys = {x, x}, .mask = looking};
      test::for_every_kernel(args, [&](const AttentionArgs& each) {
        const Attended y = attention(each);
        attention_backward(each, y, y.out);
        EXPECT_EQ(float_mode() & kFlushToZero, flushing);
      });
    }
  }
}

TEST_F(CallersFunctions, WhatTheyThrowLeavesTheCallersFloatMode) {
  const Tensor x = random_tensor({1, 1, 100, 8}, 1);
  Throwing mask;
  mask.at = 3;
  const FloatMode before = float_mode() & kFlushToZero;
  EXPECT_THROW(attention({.q = x, .keys = {x, x}, .mask = mask.mask()}), std::domain_error);
  EXPECT_EQ(float_mode() & kFlushToZero, before);
}

}  // namespace
}  // namespace heed
