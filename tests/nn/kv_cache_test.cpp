#include <gtest/gtest.h>

#include "heed/generate.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using Counts = std::vector<std::int64_t>;

constexpr KvCacheShape kShape = {
    .layers = 2, .batch = 3, .kv_heads = 2, .capacity = 5, .head_dim = 4, .value_dim = 3};

struct Fresh {
  Tensor k, v;
};

// As attention projects them: [B, T, G, D] in memory.
Fresh fresh(std::int64_t tokens, std::uint64_t seed) {
  return {test::random_tensor({3, tokens, 2, 4}, seed),
          test::random_tensor({3, tokens, 2, 3}, seed + 1)};
}

Keys by_head(const Fresh& fresh) {
  return {.k = fresh.k.view().permute({0, 2, 1, 3}), .v = fresh.v.view().permute({0, 2, 1, 3})};
}

ConstView held(const ConstView& slots, std::int64_t row, std::int64_t begin, std::int64_t end) {
  return slots.slice(0, row, row + 1).slice(2, begin, end);
}

TEST(KvCache, HoldsWhatWasAppendedBehindEachRow) {
  KvCache cache(kShape);
  const Fresh first = fresh(3, 1);
  const Fresh second = fresh(2, 3);
  for (int layer = 0; layer < 2; ++layer) cache.append(layer, by_head(first), Counts{1, 3, 2});
  cache.advance(Counts{1, 3, 2});
  for (int layer = 0; layer < 2; ++layer) cache.append(layer, by_head(second), Counts{2, 1, 0});
  cache.advance(Counts{2, 1, 0});
  EXPECT_EQ(Counts(cache.lengths().begin(), cache.lengths().end()), (Counts{3, 4, 2}));
  for (int layer = 0; layer < 2; ++layer) {
    const Keys keys = cache.keys(layer);
    EXPECT_TRUE(test::same_bits(held(keys.k, 0, 0, 1), held(by_head(first).k, 0, 0, 1)));
    EXPECT_TRUE(test::same_bits(held(keys.k, 0, 1, 3), held(by_head(second).k, 0, 0, 2)));
    EXPECT_TRUE(test::same_bits(held(keys.v, 1, 0, 3), held(by_head(first).v, 1, 0, 3)));
    EXPECT_TRUE(test::same_bits(held(keys.v, 1, 3, 4), held(by_head(second).v, 1, 0, 1)));
    EXPECT_TRUE(test::same_bits(held(keys.v, 2, 0, 2), held(by_head(first).v, 2, 0, 2)));
  }
}

TEST(KvCache, OutOfCapacityIsAnErrorBeforeAnythingIsWritten) {
  KvCache cache(kShape);
  const Fresh first = fresh(4, 1);
  for (int layer = 0; layer < 2; ++layer) cache.append(layer, by_head(first), Counts{4, 4, 4});
  cache.advance(Counts{4, 4, 4});
  const Tensor before = Tensor::copy_of(held(cache.keys(0).k, 0, 0, 4));
  const Fresh more = fresh(2, 7);
  EXPECT_HEED_ERROR(cache.append(0, by_head(more), Counts({1, 2, 1})), ErrorCode::kInvalidArgument,
                    "kv cache: counts[1] is 2, expected 0 to 1 (the row holds 4 of 5 tokens)");
  EXPECT_TRUE(test::same_bits(held(cache.keys(0).k, 0, 0, 4), before));
  EXPECT_EQ(cache.lengths()[0], 4);
  cache.append(0, by_head(more), Counts{1, 1, 1});  // the last slot
}

TEST(KvCache, APassThatDoesNotAdvanceMayBeRepeated) {
  KvCache cache(kShape);
  cache.append(0, by_head(fresh(2, 1)), Counts{2, 2, 2});
  const Fresh again = fresh(2, 9);
  for (int layer = 0; layer < 2; ++layer) cache.append(layer, by_head(again), Counts{2, 2, 2});
  cache.advance(Counts{2, 2, 2});
  EXPECT_TRUE(test::same_bits(held(cache.keys(0).k, 2, 0, 2), held(by_head(again).k, 2, 0, 2)));
}

TEST(KvCache, AdvancesByWhatEveryLayerHasAppended) {
  KvCache cache(kShape);
  EXPECT_HEED_ERROR(cache.advance(Counts({0, 4, 0})), ErrorCode::kInvalidArgument,
                    "kv cache: counts[1] is 4, expected at most 0, what layer 0 has appended");
  cache.append(0, by_head(fresh(2, 1)), Counts{2, 1, 0});
  EXPECT_HEED_ERROR(cache.advance(Counts({2, 1, 0})), ErrorCode::kInvalidArgument,
                    "kv cache: counts[0] is 2, expected at most 0, what layer 1 has appended");
  cache.append(1, by_head(fresh(2, 1)), Counts{2, 1, 0});
  EXPECT_HEED_ERROR(cache.advance(Counts({2, 1, 1})), ErrorCode::kInvalidArgument,
                    "kv cache: counts[2] is 1, expected at most 0, what layer 0 has appended");
  EXPECT_EQ(cache.lengths()[0], 0);
  cache.advance(Counts{1, 1, 0});  // of a guess of two tokens one is taken
  EXPECT_HEED_ERROR(cache.advance(Counts({1, 0, 0})), ErrorCode::kInvalidArgument,
                    "kv cache: counts[0] is 1, expected at most 0, what layer 0 has appended");
  EXPECT_EQ(Counts(cache.lengths().begin(), cache.lengths().end()), (Counts{1, 1, 0}));
}

TEST(KvCache, AppendedTokensOfRowsThatMovedOrEndedAreForgotten) {
  KvCache cache(kShape);
  for (int layer = 0; layer < 2; ++layer)
    cache.append(layer, by_head(fresh(1, 1)), Counts{1, 1, 1});
  cache.clear(2);
  EXPECT_HEED_ERROR(cache.advance(Counts({1, 1, 1})), ErrorCode::kInvalidArgument,
                    "kv cache: counts[2] is 1, expected at most 0, what layer 0 has appended");
  cache.select(Counts{1, 2});
  EXPECT_HEED_ERROR(cache.advance(Counts({1, 0})), ErrorCode::kInvalidArgument,
                    "kv cache: counts[0] is 1, expected at most 0, what layer 0 has appended");
}

TEST(KvCache, ALayerThatItHasNotIsAnError) {
  KvCache cache(kShape);
  const Fresh one = fresh(1, 1);
  EXPECT_HEED_ERROR(cache.append(2, by_head(one), Counts({1, 1, 1})), ErrorCode::kInvalidArgument,
                    "kv cache: layer is 2, expected 0 to 1");
  EXPECT_HEED_ERROR(cache.append(-1, by_head(one), Counts({1, 1, 1})), ErrorCode::kInvalidArgument,
                    "kv cache: layer is -1, expected 0 to 1");
  EXPECT_HEED_ERROR(cache.keys(7), ErrorCode::kInvalidArgument,
                    "kv cache: layer is 7, expected 0 to 1");
}

TEST(KvCache, ALayerThatThisPassHasNotAppendedIsNotAttendedTo) {
  KvCache cache(kShape);
  const Fresh one = fresh(1, 1);
  cache.append(0, by_head(one), Counts{1, 0, 1});
  EXPECT_NO_THROW(cache.keys(0));
  EXPECT_HEED_ERROR(cache.keys(1), ErrorCode::kInvalidArgument,
                    "kv cache: layer is 1, which this pass has not appended, expected one that it "
                    "has");
  cache.append(1, by_head(one), Counts{1, 0, 1});
  cache.advance(Counts{1, 0, 1});
  EXPECT_NO_THROW(cache.keys(1));
}

TEST(KvCache, RowsPastATextsCountAreNoQueries) {
  KvCache cache(kShape);
  cache.append(0, by_head(fresh(2, 1)), Counts{2, 1, 0});
  EXPECT_EQ(cache.extents(Counts{2, 1, 0}).query_length, (Counts{2, 1, 0}));
}

TEST(KvCache, AFormThatItHasNotIsAnError) {
  EXPECT_HEED_ERROR(KvCache(kShape, {.form = static_cast<KvForm>(7)}), ErrorCode::kInvalidArgument,
                    "kv cache: form is 7, expected an enumerator from 0 to 2");
}

TEST(KvCache, AnOptionThatItsFormHasNotIsAnError) {
  EXPECT_HEED_ERROR(KvCache(kShape, {.left = 8}), ErrorCode::kInvalidArgument,
                    "kv cache: left is 8, expected 0 (the form is not a ring)");
  EXPECT_HEED_ERROR(KvCache(kShape, {.form = KvForm::kPaged, .left = 1}),
                    ErrorCode::kInvalidArgument,
                    "kv cache: left is 1, expected 0 (the form is not a ring)");
  EXPECT_HEED_ERROR(KvCache(kShape, {.pages = 3}), ErrorCode::kInvalidArgument,
                    "kv cache: pages is 3, expected 0 (the form is not paged)");
}

TEST(KvCache, ANegativeExtentIsAnError) {
  KvCacheShape shape = kShape;
  shape.batch = -1;
  EXPECT_HEED_ERROR(KvCache{shape}, ErrorCode::kInvalidArgument,
                    "kv cache: batch is -1, expected 0 or more");
}

TEST(KvCache, LayersMayDifferAndReadAnotherLayersKeys) {
  KvCacheShape shape = kShape;
  shape.of_layers = {{.kv_heads = 2, .head_dim = 4, .value_dim = 3},
                     {.kv_heads = 1, .head_dim = 8, .value_dim = 8},
                     {}};
  EXPECT_HEED_ERROR(KvCache{shape}, ErrorCode::kInvalidArgument,
                    "kv cache: of_layers is a list of 3, expected 2 entries (one per layer), or "
                    "none");
  shape.layers = 3;
  KvCache cache(shape);
  const Tensor wide = test::random_tensor({3, 1, 1, 8}, 5);
  cache.append(0, by_head(fresh(1, 1)), Counts{1, 0, 1});
  cache.append(1, {.k = wide.view(), .v = wide.view()}, Counts{1, 0, 1});
  cache.advance(Counts{1, 0, 1});  // the third layer appends nothing
  cache.select(Counts{2, 0, 0});
  EXPECT_TRUE(test::same_bits(held(cache.keys(1).k, 0, 0, 1), held(wide.view(), 2, 0, 1)));
  EXPECT_EQ(cache.keys(2).k.dim(1), 0);
}

TEST(KvCache, RowsThatGoOnKeepTheirTokens) {
  KvCache cache(kShape);
  const Fresh first = fresh(3, 1);
  for (int layer = 0; layer < 2; ++layer) cache.append(layer, by_head(first), Counts{1, 3, 2});
  cache.advance(Counts{1, 3, 2});
  cache.select(Counts{1, 2});
  EXPECT_EQ(Counts(cache.lengths().begin(), cache.lengths().end()), (Counts{3, 2}));
  EXPECT_EQ(cache.keys(1).k.dim(0), 2);
  EXPECT_TRUE(test::same_bits(held(cache.keys(1).k, 0, 0, 3), held(by_head(first).k, 1, 0, 3)));
  EXPECT_TRUE(test::same_bits(held(cache.keys(1).v, 1, 0, 2), held(by_head(first).v, 2, 0, 2)));
}

TEST(KvCache, WhatDoesNotFitItsShapeIsAnError) {
  KvCache cache(kShape);
  const Tensor narrow = test::random_tensor({3, 2, 1, 3}, 1);
  EXPECT_HEED_ERROR(
      cache.append(0, {.k = narrow.view(), .v = narrow.view()}, Counts({1, 1, 1})),
      ErrorCode::kInvalidArgument,
      "kv cache: k is f32 [3, 2, 1, 3], expected [3, 2, T, 4] of f64, f32, f16 or bf16");
  EXPECT_HEED_ERROR(cache.append(0, by_head(fresh(1, 1)), Counts({2, 1, 1})),
                    ErrorCode::kInvalidArgument, "kv cache: k.shape[2] is 1, expected at least 2");
  EXPECT_HEED_ERROR(cache.advance(Counts({1, 1})), ErrorCode::kInvalidArgument,
                    "kv cache: counts is a list of 2, expected 3 entries (one per row)");
}

TEST(KvCache, RowsThatCannotBranchAreNamed) {
  KvCache cache(kShape);
  EXPECT_HEED_ERROR(cache.select(Counts({0, 3})), ErrorCode::kInvalidArgument,
                    "kv cache: rows[1] is 3, expected 0 to 2");
  EXPECT_HEED_ERROR(cache.select(Counts({-1})), ErrorCode::kInvalidArgument,
                    "kv cache: rows[0] is -1, expected 0 to 2");
  cache.select(Counts{1});
  EXPECT_HEED_ERROR(cache.select(Counts({0, 0, 0, 0})), ErrorCode::kInvalidArgument,
                    "kv cache: rows is a list of 4, expected at most 3, for which the cache was "
                    "made");
  cache.select(Counts{0, 0, 0});
  EXPECT_EQ(cache.shape().batch, 3);
}

TEST(KvCache, KeysOfASourceLeaveWithTheirRows) {
  KvCache cache(
      {.layers = 1, .batch = 3, .kv_heads = 1, .capacity = 4, .head_dim = 2, .value_dim = 2});
  EXPECT_EQ(cache.source(0), nullptr);
  const Tensor k = test::random_tensor({3, 5, 2}, 1);
  const Tensor v = test::random_tensor({3, 5, 2}, 2);
  cache.put_source(0, {.k = k.clone(), .v = v.clone(), .lengths = {5, 2, 4}});
  const std::int64_t kept[] = {0, 2};
  cache.select(kept);
  const SourceKeys& source = *cache.source(0);
  EXPECT_EQ(source.lengths, (std::vector<std::int64_t>{5, 4}));
  EXPECT_EQ(source.k.shape(), (Shape{2, 5, 2}));
  EXPECT_TRUE(test::same_bits(source.k.view().select(0, 1), k.view().select(0, 2)));
  EXPECT_TRUE(test::same_bits(source.v.view().select(0, 0), v.view().select(0, 0)));
}

TEST(KvCache, KeysOfASourceBranchWithTheirRows) {
  KvCache cache(
      {.layers = 1, .batch = 3, .kv_heads = 1, .capacity = 4, .head_dim = 2, .value_dim = 2});
  const Tensor k = test::random_tensor({3, 5, 2}, 1);
  cache.put_source(0, {.k = k.clone(), .v = k.clone(), .lengths = {5, 2, 4}});
  cache.select(Counts{2, 0, 2});
  const SourceKeys& source = *cache.source(0);
  EXPECT_EQ(source.lengths, (Counts{4, 5, 4}));
  for (const auto& [row, was] : {std::pair(0, 2), {1, 0}, {2, 2}})
    EXPECT_TRUE(test::same_bits(source.k.view().select(0, row), k.view().select(0, was))) << row;
}

// A cache whose layer 1 keeps one number per row instead of keys.
KvCache with_state() {
  KvCacheShape shape = kShape;
  shape.recurrent = {1};
  return KvCache(shape);
}

Tensor column(std::vector<float> values) {
  const Shape shape = {std::ssize(values), 1};
  return Tensor::copy_of(ConstView(values.data(), DType::kF32, shape));
}

void pass(KvCache& cache, const std::vector<float>& state, const Counts& counts) {
  cache.append(0, by_head(fresh(2, 1)), counts);
  std::vector<Tensor> tensors;
  tensors.push_back(column(state));
  cache.put_state(1, std::move(tensors), counts);
}

std::vector<float> state_of(const KvCache& cache) {
  const Tensor& state = cache.state(1).at(0);
  return {state.data<float>(), state.data<float>() + state.element_count()};
}

TEST(KvCacheState, CountsOnceThePassHasAdvanced) {
  KvCache cache = with_state();
  pass(cache, {1, 2, 3}, {1, 1, 1});
  EXPECT_TRUE(cache.state(1).empty());
  cache.advance(Counts{1, 1, 1});
  EXPECT_EQ(state_of(cache), (std::vector<float>{1, 2, 3}));
  pass(cache, {4, 5, 6}, {1, 2, 1});
  EXPECT_EQ(state_of(cache), (std::vector<float>{1, 2, 3}));
  EXPECT_HEED_ERROR(cache.advance(Counts{1, 1, 1}), ErrorCode::kInvalidArgument,
                    "kv cache: counts[1] is 1, expected 2, what layer 1 has appended");
  cache.advance(Counts{1, 2, 1});
  EXPECT_EQ(state_of(cache), (std::vector<float>{4, 5, 6}));
}

TEST(KvCacheState, FollowsItsRow) {
  KvCache cache = with_state();
  pass(cache, {1, 2, 3}, {1, 1, 1});
  cache.advance(Counts{1, 1, 1});
  cache.select(Counts{2, 0, 2});
  EXPECT_EQ(state_of(cache), (std::vector<float>{3, 1, 3}));
  cache.clear(0);
  EXPECT_EQ(state_of(cache), (std::vector<float>{0, 1, 3}));
  cache.select(Counts{1});
  EXPECT_EQ(state_of(cache), (std::vector<float>{1}));
}

TEST(KvCacheState, IsOfOtherLayersThanKeys) {
  KvCache cache = with_state();
  EXPECT_HEED_ERROR(cache.append(1, by_head(fresh(2, 1)), Counts({1, 1, 1})),
                    ErrorCode::kInvalidArgument,
                    "kv cache: layer is 1, expected a layer that keeps keys");
  EXPECT_HEED_ERROR(cache.state(0), ErrorCode::kInvalidArgument,
                    "kv cache: layer is 0, expected a layer that keeps a state");
}

}  // namespace
}  // namespace heed
