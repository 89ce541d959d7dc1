// The sweep itself; each observer is tested in attention/observers.
#include "heed/observe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "attention/observers/observed.h"
#include "base/stop.h"
#include "heed/threads.h"
#include "support/compare.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed::observe_test {
namespace {

using test::same_bits;

class Sweep : public Observed {};
INSTANTIATE_TEST_SUITE_P(Types, Sweep, observed_types(), type_name);

using Answers = std::array<Tensor, 5>;

TEST_P(Sweep, AnswersDoNotDependOnThreads) {
  const auto answers = [&](int threads) {
    set_thread_count(threads);
    ReceivedObserver received;
    EntropyObserver entropy;
    HeatmapObserver heatmap(5, 5, Pool::kMean);
    TopKObserver top(4);
    ReceivedObserver in_all(OverHeads::kSum);
    watch({&received, &entropy, &heatmap, &top, &in_all});
    set_thread_count(0);
    return Answers{std::move(received.received), std::move(entropy.entropy),
                   std::move(heatmap.cells), std::move(top.weights), std::move(in_all.received)};
  };
  const Answers one = answers(1);
  for (const int threads : {2, 3, 4, 7}) {
    const Answers many = answers(threads);
    for (std::size_t n = 0; n < 5; ++n) EXPECT_TRUE(same_bits(one[n], many[n])) << n;
  }
}

// Scores up to 10,000: one f32 could not hold the log-sum-exp well enough.
TEST(Observe, RecomputedRowsSumToOneAtAnyScoreLevel) {
  for (const double level : {1.0, 100.0, 1000.0, 10000.0}) {
    AttentionCase problem = {
        .query_length = 100, .key_length = 130, .head_dim = 16, .value_dim = 4, .spread = 1};
    const AttentionInputs inputs(problem);
    Tensor q = Tensor::copy_of(inputs.args.q);
    Tensor k = Tensor::zeros({1, 1, 130, 16});
    for (int j = 0; j < 130; ++j)  // scores near the level, a few units apart
      for (int d = 0; d < 16; ++d)
        k.data<float>()[j * 16 + d] =
            d == 0 ? static_cast<float>(level) : inputs.args.keys.k.data<float>()[j * 16 + d];
    for (int i = 0; i < 100; ++i) q.data<float>()[i * 16] = 4;
    const AttentionArgs args = {.q = q, .keys = {k, inputs.args.keys.v}};
    SelectionObserver observer;
    Observer* const observers[] = {&observer};
    observe(args, attention(args), observers);
    for (int i = 0; i < 100; ++i) {
      const float* row = observer.values.data<float>() + i * 130;
      EXPECT_NEAR(std::accumulate(row, row + 130, 0.0), 1, 2e-6) << level;
    }
  }
}

TEST(Observe, WhatAnObserverThrowsEndsTheSweepAndComesOut) {
  struct Broken : EntropyObserver {
    void tile(State&, const ObservedRows& rows, const ObservedTile&) const override {
      if (rows.row_begin == 64) throw std::runtime_error("broken");
    }
  };
  const Tensor x = Tensor::zeros({1, 2, 300, 4});
  const AttentionArgs args = {.q = x, .keys = {x, x}};
  Broken observer;
  Observer* const observers[] = {&observer};
  set_thread_count(4);
  EXPECT_THROW(observe(args, attention(args), observers), std::runtime_error);
  set_thread_count(0);
}

// A thread that waits for the turn of a block that never begins would wait forever.
TEST(Observe, ASweepThatIsAskedToStopEndsOnEveryThread) {
  const Tensor q = test::random_tensor({1, 4, 640, 8}, 1);
  const AttentionArgs args = {.q = q, .keys = {.k = q, .v = q}};
  const Attended attended = attention(args);
  set_thread_count(4);
  int ended = 0;
  for (int first = 1; first <= 40; ++first) {
    int asked = 0;  // on this thread, before each of its blocks: others may take them all
    bool told = false;
    const std::function<bool()> stops = [&] { return told = ++asked > first % 5; };
    const AskScope scope(stops);
    EntropyObserver entropy;
    Observer* const observers[] = {&entropy};
    try {
      observe(args, attended, observers);
      EXPECT_FALSE(told);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
      EXPECT_TRUE(told);
      ++ended;
    }
  }
  EXPECT_GT(ended, 0);
  set_thread_count(0);
}

TEST(Observe, ZeroExtentsAreLegal) {
  for (const Shape& shape : {Shape{0, 2, 3, 4}, Shape{1, 0, 3, 4}, Shape{1, 2, 0, 4}}) {
    const Tensor x = Tensor::zeros(shape);
    const AttentionArgs args = {.q = x, .keys = {x, x}};
    HeatmapObserver heatmap(4, 4);
    SelectionObserver weights;
    ReceivedObserver received;
    Observer* const observers[] = {&heatmap, &weights, &received};
    EXPECT_NO_THROW(observe(args, attention(args), observers));
  }
}

TEST(Observe, SaysWhatAnObserverCannotBe) {
  const auto code = ErrorCode::kInvalidArgument;
  EXPECT_HEED_ERROR(TopKObserver(0), code, "top_k: k is 0, expected 1 to 1048576");
  EXPECT_HEED_ERROR(HeatmapObserver(0, 3), code, "heatmap: height is 0, expected at least 1");
  EXPECT_HEED_ERROR(OffsetProfileObserver(3, 2), code,
                    "offset_profile: first is 3, expected at most 2 (last)");
  EXPECT_HEED_ERROR(MassObserver({0, 2}, 2), code, "mass: class_of_key[1] is 2, expected -1 to 1");
}

TEST(Observe, SaysWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({1, 2, 3, 4});
  const AttentionArgs args = {.q = x, .keys = {x, x}};
  const Attended attended = attention(args);
  const auto watch = [&](Observer& observer) {
    Observer* const observers[] = {&observer};
    observe(args, attended, observers);
  };
  const auto code = ErrorCode::kInvalidArgument;
  MassObserver mass({0, 1}, 2);
  EXPECT_HEED_ERROR(watch(mass), code,
                    "mass: class_of_key is a list of 2, expected 3 entries (one per key)");
  SelectionObserver region(Region{.row_begin = 1, .row_end = 4});
  EXPECT_HEED_ERROR(watch(region), code, "region: rows is [1, 4), expected at most [0, 3)");
  EntropyObserver entropy;
  ValueNormObserver weighted(entropy);
  EXPECT_HEED_ERROR(watch(weighted), code,
                    "value_norm: weighted is entropy, expected one of weights (weights times norms "
                    "have no logarithms)");
  Observer* const absent[] = {&region, nullptr};
  EXPECT_HEED_ERROR(observe(args, attended, absent), code, "observe: observers[1] is not given");
  EXPECT_HEED_ERROR(observe(args, AttendedConstView{attended.out, {}, attended.lse_low}, {}), code,
                    "observe: attended.lse is not given, expected [B, H, Tq] = [1, 2, 3]");
}

// Whether an observer of this row alone gives the same as an observer of everything.
bool is_the_same_alone(const AttentionArgs& args, std::int64_t row, ObservedValue value) {
  const Attended attended = attention(args);
  const auto values_of = [&](const Region& region) {
    SelectionObserver observer(region, value);
    Observer* const one[] = {&observer};
    observe(args, attended, one);
    return std::move(observer.values);
  };
  const Tensor whole = values_of({2, 3});
  const Tensor alone = values_of({2, 3, row, row + 1});
  for (std::int64_t b = 0; b < kBatch; ++b)
    if (!std::equal(alone.data<float>() + b * kKeys, alone.data<float>() + (b + 1) * kKeys,
                    whole.data<float>() + (b * kQueries + row) * kKeys))
      return false;
  return true;
}

// A few rows are computed in a few lanes, wherever they are in a block.
TEST_P(Sweep, RowsAloneAreThoseOfTheWholeMatrixToTheBit) {
  const Tensor slopes = test::random_tensor({kHeads}, 4), sink = test::random_tensor({kHeads}, 5);
  const std::vector<Scores> all_scores = {
      {},
      {.softcap = 2, .alibi = slopes, .sink = sink},
      {.similarity = Similarity::kCosine},
      {.similarity = Similarity::kGaussian, .normaliser = Normaliser::kSigmoid}};
  for (const Scores& scores : all_scores) {
    AttentionArgs args = inputs.args;
    args.scores = scores;
    for (const std::int64_t row : {0, 17, 64, 127, 149})
      for (const auto value :
           {ObservedValue::kWeights, ObservedValue::kScores, ObservedValue::kBeforeBias})
        EXPECT_TRUE(is_the_same_alone(args, row, value)) << row;
  }
}

TEST(Observe, BlocksAreOfTheRowsThatSomeObserverNeeds) {
  struct Seen final : SelectionObserver {
    explicit Seen(std::vector<std::int64_t> rows)
        : SelectionObserver(Selection{.heads = {{1}}, .rows = std::move(rows)}) {}
    std::unique_ptr<State> rows(const ObservedRows& rows) const override {
      seen.push_back({rows.head, rows.row_begin, rows.row_end});
      return SelectionObserver::rows(rows);
    }
    mutable std::vector<std::array<std::int64_t, 3>> seen;
  };
  const Tensor x = Tensor::zeros({1, 2, 300, 4});
  const AttentionArgs args = {.q = x, .keys = {x, x}};
  const Attended attended = attention(args);
  set_thread_count(1);
  Seen alone({70, 75});
  Observer* const one[] = {&alone};
  observe(args, attended, one);
  EXPECT_EQ(alone.seen, (std::vector<std::array<std::int64_t, 3>>{{1, 70, 76}}));
  Seen with({70});
  SelectionObserver other(Region{1, 2, 60, 65});
  Observer* const both[] = {&other, &with};
  observe(args, attended, both);
  set_thread_count(0);
  EXPECT_EQ(with.seen, (std::vector<std::array<std::int64_t, 3>>{{1, 64, 71}}));
}

TEST(Observe, EachObserverAnswersTheSameInAnyCompany) {
  const AttentionInputs inputs(observed_problem(DType::kF32));
  const Attended attended = attention(inputs.args);
  const auto received = [&](std::vector<Observer*> company) {
    ReceivedObserver observer;
    company.push_back(&observer);
    observe(inputs.args, attended, company);
    return std::move(observer.received);
  };
  SelectionObserver before_mask(Selection{}, ObservedValue::kBeforeMask);  // shows masked tiles too
  EntropyObserver entropy;
  EXPECT_TRUE(same_bits(received({}), received({&before_mask, &entropy})));
}

}  // namespace
}  // namespace heed::observe_test
