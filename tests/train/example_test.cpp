#include <gtest/gtest.h>

#include "train/crops.h"

namespace heed {
namespace {

using Ids = std::vector<TokenId>;

Ids ids_of(const ConstView& view) {
  return {view.data<TokenId>(), view.data<TokenId>() + view.element_count()};
}

TEST(ExampleBatch, PadsToTheLongestAndTellsTheLengths) {
  ExampleBatch batch;
  batch.begin(2);
  batch.row(0) = {.ids = {5, 6, 7}, .targets = {1, kIgnoredTarget, 2}, .source = {8}};
  batch.row(1) = {.ids = {9}, .targets = {3}, .source = {4, 4}};
  batch.lay_out();
  EXPECT_EQ(ids_of(batch.batch().ids), (Ids{5, 6, 7, 9, 0, 0}));
  EXPECT_EQ(ids_of(batch.targets()),
            (Ids{1, kIgnoredTarget, 2, 3, kIgnoredTarget, kIgnoredTarget}));
  EXPECT_EQ(batch.extents().query_length, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(batch.extents().key_length, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(batch.batch().source_lengths, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(batch.counted(), 3);
}

TEST(ExampleBatch, RowsOfOneLengthNeedNoExtents) {
  ExampleBatch batch;
  batch.begin(3);
  for (int row = 0; row < 3; ++row) batch.row(row) = {.ids = {1, 2}, .targets = {2, 3}};
  batch.lay_out();
  EXPECT_TRUE(batch.extents().query_length.empty());
  EXPECT_FALSE(batch.batch().source.given());
  batch.begin(1);  // nothing of the batch before is left
  batch.row(0) = {.ids = {4}, .targets = {4}};
  batch.lay_out();
  EXPECT_EQ(ids_of(batch.batch().ids), (Ids{4}));
}

}  // namespace
}  // namespace heed
