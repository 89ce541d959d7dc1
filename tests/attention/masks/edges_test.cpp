#include <gtest/gtest.h>

#include <vector>

#include "heed/mask.h"
#include "heed/tensor.h"
#include "support/expect_error.h"

namespace heed::edges_test {
namespace {

using Numbers = std::vector<std::int64_t>;

Mask graph(const Numbers& starts, const Numbers& columns) {
  return Mask::edges(ConstView(starts.data(), DType::kI64, Shape{std::ssize(starts)}),
                     ConstView(columns.data(), DType::kI64, Shape{std::ssize(columns)}));
}

void expect_refused(const Numbers& starts, const Numbers& columns, const char* message) {
  EXPECT_HEED_ERROR(graph(starts, columns), ErrorCode::kInvalidArgument, message);
}

TEST(Edges, ANodeSeesItsNeighbours) {
  const Mask mask = graph({0, 2, 2, 3}, {0, 2, 1});
  EXPECT_TRUE(mask.rule()->visible({}, 0, 2));
  EXPECT_FALSE(mask.rule()->visible({}, 0, 1));
  EXPECT_FALSE(mask.rule()->visible({}, 1, 0));
  EXPECT_TRUE(mask.rule()->visible({}, 2, 1));
  EXPECT_EQ(mask.describe(), "edges(3)");
}

TEST(Edges, KnowTheirFullAndEmptyTiles) {
  const Mask mask = graph({0, 2, 4, 4}, {0, 1, 0, 1});
  EXPECT_EQ(mask.rule()->tile({}, {0, 2, 0, 2}), TileClass::kFull);
  EXPECT_EQ(mask.rule()->tile({}, {0, 3, 0, 2}), TileClass::kPartial);
  EXPECT_EQ(mask.rule()->tile({}, {0, 3, 2, 9}), TileClass::kEmpty);
}

TEST(Edges, RefuseAGraphThatIsNotSorted) {
  expect_refused({0, 2}, {3, 1}, "edges: columns[1] is 1, expected above 3 (row 0 rises from 0)");
  expect_refused({0, 2}, {3, 3}, "edges: columns[1] is 3, expected above 3 (row 0 rises from 0)");
  expect_refused({0, 1}, {-1}, "edges: columns[0] is -1, expected above -1 (row 0 rises from 0)");
}

TEST(Edges, RefuseOffsetsThatDoNotFit) {
  expect_refused({0, 2, 1}, {0},
                 "edges: row_starts[2] is 1, expected at least 2, the entry before");
  expect_refused({1, 1}, {0}, "edges: row_starts[0] is 1, expected 0");
  expect_refused({0, 2}, {0}, "edges: row_starts[1] is 2, expected 1, the number of columns");
}

TEST(Edges, RefuseFloats) {
  EXPECT_HEED_ERROR(Mask::edges(Tensor::zeros({3}), Tensor::zeros({0}, DType::kI32)),
                    ErrorCode::kInvalidArgument, "edges: row_starts is f32, expected i64 or i32");
}

TEST(Edges, RefuseAProblemOfAnotherSize) {
  const Mask mask = graph({0, 1, 2}, {0, 4});
  EXPECT_HEED_ERROR(mask.rule()->check({.query_length = 3, .key_length = 5}),
                    ErrorCode::kInvalidArgument,
                    "edges: row_starts is a list of 3, expected 4 entries (the queries and one)");
  EXPECT_HEED_ERROR(mask.rule()->check({.query_length = 2, .key_length = 4}),
                    ErrorCode::kInvalidArgument,
                    "edges: columns is up to 4, expected 0 to 3 (the last key)");
}

}  // namespace
}  // namespace heed::edges_test
