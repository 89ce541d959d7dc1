// Every observer against the whole matrix, computed by plain loops.
#include "heed/ops/observe.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "heed/base/threads.h"
#include "heed/cases/attention_cases.h"
#include "heed/ops/observers/entropy.h"
#include "heed/ops/observers/expected_distance.h"
#include "heed/ops/observers/heatmap.h"
#include "heed/ops/observers/mass.h"
#include "heed/ops/observers/offset_profile.h"
#include "heed/ops/observers/received.h"
#include "heed/ops/observers/region.h"
#include "heed/ops/observers/row_max.h"
#include "heed/ops/observers/rows.h"
#include "heed/ops/observers/top_k.h"
#include "heed/ops/observers/weights.h"
#include "support/compare.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using test::distance;
using test::same_bits;

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kQueries = 150;
constexpr std::int64_t kKeys = 170;

AttentionCase problem(DType dtype) {
  return {.dtype = dtype,
          .batch = kBatch,
          .heads = kHeads,
          .kv_heads = 2,
          .query_length = kQueries,
          .key_length = kKeys,
          .head_dim = 16,
          .value_dim = 8,
          .mask = CaseMask::kBandAndKeep,
          .band = {90, 3},
          .extents = {.query_length = {150, 133}, .key_begin = {0, 5}, .key_length = {170, 160}}};
}

class Observed : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    for (std::int64_t b = 0; b < kBatch; ++b)
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t i = 0; i < query_length(b); ++i) fill_row(b, h, i);
  }

  std::int64_t query_length(std::int64_t b) const { return b == 0 ? 150 : 133; }
  std::int64_t key_length(std::int64_t b) const { return b == 0 ? 170 : 160; }
  std::int64_t key_begin(std::int64_t b) const { return b == 0 ? 0 : 5; }
  std::int64_t offset(std::int64_t b) const { return key_length(b) - query_length(b); }

  bool visible(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return i < query_length(b) && j < key_length(b) &&
           inputs.args.mask.rule()->visible({b, h, offset(b), 0}, i, j);
  }

  void fill_row(std::int64_t b, std::int64_t h, std::int64_t i) {
    double total = 0;
    for (std::int64_t j = 0; j < key_length(b); ++j) {
      if (!visible(b, h, i, j)) continue;
      double dot = 0;
      for (std::int64_t d = 0; d < 16; ++d)
        dot += at(q, {b, h, i, d}) * at(k, {b, h / 2, key_begin(b) + j, d});
      score(b, h, i, j) = dot / 4;
      total += weight(b, h, i, j) = std::exp(dot / 4);
    }
    for (std::int64_t j = 0; j < kKeys && total > 0; ++j) weight(b, h, i, j) /= total;
  }

  static double at(const Tensor& x, const std::array<std::int64_t, 4>& index) {
    std::int64_t flat = 0;
    for (int axis = 0; axis < 4; ++axis)
      flat = flat * x.dim(axis) + index[static_cast<std::size_t>(axis)];
    return x.data<double>()[flat];
  }
  static std::size_t flat(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return static_cast<std::size_t>(((b * kHeads + h) * kQueries + i) * kKeys + j);
  }
  double& weight(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return weights_[flat(b, h, i, j)];
  }
  double& score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return scores_[flat(b, h, i, j)];
  }

  void watch(std::initializer_list<Observer*> observers) {
    observe(inputs.args, attended, std::span(observers.begin(), observers.size()));
  }

  // `answer` [B, H, Tq] against a function of the row's weights.
  template <typename Meaning>
  void expect_rows(const Tensor& answer, const Meaning& meaning) {
    ASSERT_EQ(answer.shape(), (Shape{kBatch, kHeads, kQueries}));
    for (std::int64_t b = 0; b < kBatch; ++b)
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t i = 0; i < kQueries; ++i)
          ASSERT_NEAR(answer.data<float>()[(b * kHeads + h) * kQueries + i], meaning(b, h, i), 1e-4)
              << b << " " << h << " " << i;
  }

  AttentionInputs inputs{problem(GetParam())};
  Tensor q = Tensor::converted(inputs.args.q, DType::kF64);
  Tensor k = Tensor::converted(inputs.args.keys.k, DType::kF64);
  Attended attended = attention(inputs.args);

 private:
  std::vector<double> weights_ = std::vector<double>(flat(kBatch, 0, 0, 0), 0.0);
  std::vector<double> scores_ =
      std::vector<double>(flat(kBatch, 0, 0, 0), -std::numeric_limits<double>::infinity());
};

INSTANTIATE_TEST_SUITE_P(Types, Observed, testing::Values(DType::kF32, DType::kF64),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST_P(Observed, WeightsAreTheWholeMatrix) {
  WeightsObserver observer;
  watch({&observer});
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t i = 0; i < kQueries; ++i)
        for (std::int64_t j = 0; j < kKeys; ++j)
          ASSERT_NEAR(observer.weights.data<float>()[flat(b, h, i, j)], weight(b, h, i, j), 1e-6);
}

TEST_P(Observed, ARegionOfScoresIsMinusInfinityWhereMasked) {
  RegionObserver observer({.head_begin = 1,
                           .head_end = 3,
                           .row_begin = 60,
                           .row_end = 70,
                           .key_begin = 50,
                           .key_end = 140},
                          ObservedValue::kScores);
  watch({&observer});
  ASSERT_EQ(observer.values.shape(), (Shape{kBatch, 2, 10, 90}));
  const float* found = observer.values.data<float>();
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 1; h < 3; ++h)
      for (std::int64_t i = 60; i < 70; ++i)
        for (std::int64_t j = 50; j < 140; ++j, ++found) {
          const double expected = score(b, h, i, j);
          if (std::isinf(expected)) {
            ASSERT_EQ(*found, static_cast<float>(expected));
          } else {
            ASSERT_NEAR(*found, expected, 1e-5);
          }
        }
}

TEST_P(Observed, RowsComeInTheOrderInWhichTheyWereChosen) {
  RowsObserver observer(std::vector<HeadRow>{{3, 100}, {0, 2}, {3, 100}, {1, 149}});
  RowsObserver every(std::vector<std::int64_t>{7, 3});
  watch({&observer, &every});
  ASSERT_EQ(observer.values.shape(), (Shape{kBatch, 4, kKeys}));
  ASSERT_EQ(every.values.shape(), (Shape{kBatch, kHeads * 2, kKeys}));
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const auto found = [&](std::int64_t n) {
        return observer.values.data<float>()[(b * 4 + n) * kKeys + j];
      };
      ASSERT_NEAR(found(0), weight(b, 3, 100, j), 1e-6);
      ASSERT_NEAR(found(1), weight(b, 0, 2, j), 1e-6);
      ASSERT_NEAR(found(2), weight(b, 3, 100, j), 1e-6);
      ASSERT_NEAR(found(3), weight(b, 1, 149, j), 1e-6);
      ASSERT_NEAR(every.values.data<float>()[(b * 8 + 5) * kKeys + j], weight(b, 2, 3, j), 1e-6);
    }
}

TEST_P(Observed, EntropyIsInNats) {
  EntropyObserver observer;
  watch({&observer});
  expect_rows(observer.entropy, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    double sum = 0;
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const double p = weight(b, h, i, j);
      if (p > 0) sum -= p * std::log(p);
    }
    return sum;
  });
}

TEST_P(Observed, RowMaxIsTheLargestWeight) {
  RowMaxObserver observer;
  watch({&observer});
  expect_rows(observer.maximum, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    double largest = 0;
    for (std::int64_t j = 0; j < kKeys; ++j) largest = std::max(largest, weight(b, h, i, j));
    return largest;
  });
}

TEST_P(Observed, ExpectedDistanceUsesPositions) {
  ExpectedDistanceObserver observer;
  watch({&observer});
  expect_rows(observer.distance, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    double sum = 0;
    for (std::int64_t j = 0; j < kKeys; ++j)
      sum += weight(b, h, i, j) * std::abs(static_cast<double>(offset(b) + i - j));
    return sum;
  });
}

TEST_P(Observed, TopKIsFallingAndOfVisibleKeysOnly) {
  TopKObserver observer(5);
  watch({&observer});
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t i = 0; i < kQueries; ++i) {
        std::vector<std::int64_t> keys;
        for (std::int64_t j = 0; j < kKeys; ++j)
          if (visible(b, h, i, j)) keys.push_back(j);
        std::ranges::stable_sort(
            keys, [&](auto x, auto y) { return weight(b, h, i, x) > weight(b, h, i, y); });
        keys.resize(5, -1);
        for (std::size_t n = 0; n < 5; ++n) {
          const std::size_t at = ((b * kHeads + h) * kQueries + i) * 5 + n;
          ASSERT_EQ(observer.keys.data<std::int64_t>()[at], keys[n]);
          ASSERT_NEAR(observer.weights.data<float>()[at],
                      keys[n] < 0 ? 0 : weight(b, h, i, keys[n]), 1e-6);
        }
      }
}

TEST_P(Observed, ReceivedIsTheSumOfAColumn) {
  ReceivedObserver observer;
  watch({&observer});
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t j = 0; j < kKeys; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < kQueries; ++i) sum += weight(b, h, i, j);
        ASSERT_NEAR(observer.received.data<float>()[(b * kHeads + h) * kKeys + j], sum, 1e-5);
      }
}

TEST_P(Observed, TheOffsetProfileIsTheMeanOverVisiblePairs) {
  OffsetProfileObserver observer(-2, 40);
  watch({&observer});
  ASSERT_EQ(observer.mean.shape(), (Shape{kBatch, kHeads, 43}));
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t h = 0; h < kHeads; ++h)
      for (std::int64_t d = -2; d <= 40; ++d) {
        double sum = 0;
        std::int64_t pairs = 0;
        for (std::int64_t i = 0; i < kQueries; ++i) {
          const std::int64_t j = offset(b) + i - d;
          if (j < 0 || !visible(b, h, i, j)) continue;
          sum += weight(b, h, i, j);
          ++pairs;
        }
        const std::int64_t at = (b * kHeads + h) * 43 + d + 2;
        ASSERT_EQ(observer.pairs.data<std::int64_t>()[at], pairs);
        ASSERT_NEAR(observer.mean.data<float>()[at], pairs == 0 ? 0 : sum / double(pairs), 1e-6);
      }
}

TEST_P(Observed, MassIsTheShareOfAClassOfKeys) {
  std::vector<std::int32_t> classes(kKeys);
  for (std::int64_t j = 0; j < kKeys; ++j)
    classes[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(j % 4) - 1;
  MassObserver observer(classes, 3);
  watch({&observer});
  for (std::int64_t row = 0; row < kBatch * kHeads * kQueries; ++row)
    for (std::int32_t c = 0; c < 3; ++c) {
      double sum = 0;
      for (std::int64_t j = c + 1; j < kKeys; j += 4)
        sum += weight(row / kQueries / kHeads, row / kQueries % kHeads, row % kQueries, j);
      ASSERT_NEAR(observer.mass.data<float>()[row * 3 + c], sum, 1e-5);
    }
}

TEST_P(Observed, AHeatmapPoolsItsCells) {
  const Region region = {
      .head_begin = 1, .head_end = 2, .row_begin = 10, .row_end = 140, .key_begin = 3};
  HeatmapObserver largest(7, 13, Pool::kMax, region);
  HeatmapObserver mean(7, 13, Pool::kMean, region);
  HeatmapObserver fine(1000, 1000, Pool::kSum, region);
  watch({&largest, &mean, &fine});
  ASSERT_EQ(largest.cells.shape(), (Shape{kBatch, 1, 7, 13}));
  ASSERT_EQ(fine.cells.shape(), (Shape{kBatch, 1, 130, kKeys - 3}));
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (std::int64_t y = 0; y < 7; ++y)
      for (std::int64_t x = 0; x < 13; ++x) {
        double top = 0;
        double sum = 0;
        std::int64_t count = 0;
        for (std::int64_t i = 10 + y * 130 / 7; i < 10 + (y + 1) * 130 / 7; ++i)
          for (std::int64_t j = 3 + x * 167 / 13; j < 3 + (x + 1) * 167 / 13; ++j, ++count) {
            top = std::max(top, weight(b, 1, i, j));
            sum += weight(b, 1, i, j);
          }
        const std::int64_t at = (b * 7 + y) * 13 + x;
        ASSERT_NEAR(largest.cells.data<float>()[at], top, 1e-6);
        ASSERT_NEAR(mean.cells.data<float>()[at], sum / double(count), 1e-6);
      }
    for (std::int64_t i = 0; i < 130; ++i)
      for (std::int64_t j = 0; j < 167; ++j)
        ASSERT_NEAR(fine.cells.data<float>()[(b * 130 + i) * 167 + j], weight(b, 1, i + 10, j + 3),
                    1e-6);
  }
}

TEST_P(Observed, AnswersDoNotDependOnThreads) {
  const auto answers = [&](int threads) {
    set_thread_count(threads);
    ReceivedObserver received;
    EntropyObserver entropy;
    HeatmapObserver heatmap(5, 5, Pool::kMean);
    watch({&received, &entropy, &heatmap});
    set_thread_count(0);
    return std::array<Tensor, 3>{std::move(received.received), std::move(entropy.entropy),
                                 std::move(heatmap.cells)};
  };
  const std::array<Tensor, 3> one = answers(1);
  for (const int threads : {2, 5}) {
    const std::array<Tensor, 3> many = answers(threads);
    for (std::size_t n = 0; n < 3; ++n) EXPECT_TRUE(same_bits(one[n], many[n])) << n;
  }
}

TEST(Observe, TiesGoToTheLowerKey) {
  const Tensor zeros = Tensor::zeros({1, 1, 3, 4});
  const AttentionArgs args = {.q = zeros, .keys = {zeros, zeros}};
  TopKObserver observer(2);
  Observer* const observers[] = {&observer};
  observe(args, attention(args), observers);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(observer.keys.data<std::int64_t>()[2 * i], 0);
    EXPECT_EQ(observer.keys.data<std::int64_t>()[2 * i + 1], 1);
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
    WeightsObserver observer;
    Observer* const observers[] = {&observer};
    observe(args, attention(args), observers);
    for (int i = 0; i < 100; ++i) {
      const float* row = observer.weights.data<float>() + i * 130;
      EXPECT_NEAR(std::accumulate(row, row + 130, 0.0), 1, 2e-6) << level;
    }
  }
}

TEST(Observe, AnObserverThatThrowsEndsTheSweep) {
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

TEST(Observe, ZeroExtentsAreLegal) {
  for (const Shape& shape : {Shape{0, 2, 3, 4}, Shape{1, 0, 3, 4}, Shape{1, 2, 0, 4}}) {
    const Tensor x = Tensor::zeros(shape);
    const AttentionArgs args = {.q = x, .keys = {x, x}};
    HeatmapObserver heatmap(4, 4);
    WeightsObserver weights;
    ReceivedObserver received;
    Observer* const observers[] = {&heatmap, &weights, &received};
    EXPECT_NO_THROW(observe(args, attention(args), observers));
  }
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
  EXPECT_HEED_ERROR(TopKObserver(0), code, "top_k: k is 0: 1 to 1048576 is expected");
  EXPECT_HEED_ERROR(HeatmapObserver(0, 3), code,
                    "heatmap: 0 x 3 cells: at least 1 x 1 is expected");
  EXPECT_HEED_ERROR(OffsetProfileObserver(3, 2), code,
                    "offset_profile: first is 3 but last is 2: first <= last is expected");
  EXPECT_HEED_ERROR(MassObserver({0, 2}, 2), code,
                    "mass: class_of_key[1] is 2: -1 to 1 is expected");
  MassObserver mass({0, 1}, 2);
  EXPECT_HEED_ERROR(watch(mass), code,
                    "mass: class_of_key has 2 entries but there are 3 keys: one entry a key is "
                    "expected");
  RegionObserver region({.row_begin = 1, .row_end = 4});
  EXPECT_HEED_ERROR(watch(region), code, "region: rows [1, 4) do not fit the 3 that there are");
  RowsObserver rows(std::vector<HeadRow>{{2, 0}});
  EXPECT_HEED_ERROR(watch(rows), code,
                    "rows: head 2 row 0 does not exist: there are 2 heads of 3 rows");
  EXPECT_HEED_ERROR(observe(args, AttendedConstView{attended.out, {}, attended.lse_low}, {}), code,
                    "observe: attended.lse is not given");
}

}  // namespace
}  // namespace heed
