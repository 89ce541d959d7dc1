// What merge refuses, and in which words.
#include <gtest/gtest.h>

#include "heed/ops/merge.h"
#include "support/expect_error.h"

namespace heed {
namespace {

class MergeErrors : public testing::Test {
 protected:
  Tensor out = Tensor::zeros({2, 4, 3, 8});
  Tensor lse = Tensor::zeros({2, 4, 3});
  Tensor half = Tensor::zeros({2, 4, 3, 8}, DType::kF16);
  Tensor shorter = Tensor::zeros({2, 4, 2});
  MergeArgs args = {.a = {out, lse, lse}, .b = {out, lse, lse}};
  void expect(const std::string& message) {
    EXPECT_HEED_ERROR(merge(args), ErrorCode::kInvalidArgument, message);
  }
};

TEST_F(MergeErrors, NameWhatDoesNotFit) {
  args.b.out = half;
  expect("merge: b.out is [2, 4, 3, 8] of f16 but a.out is [2, 4, 3, 8] of f32: they must agree");
  args.b.out = {};
  expect("merge: b.out is not given");
  args.a.out = lse.view().select(0, 0);
  expect(
      "merge: a.out is [4, 3] of f32: [B, H, Tq, Dv] or [H, total, Dv] of f64, f32, f16 or "
      "bf16 is expected");
}

TEST_F(MergeErrors, OfTheLogSumExp) {
  args.b.lse_low = shorter;
  expect(
      "merge: b.lse_low is [2, 4, 2] of f32: [2, 4, 3] of f32 is expected, as a.out is "
      "[2, 4, 3, 8] of f32");
  args.b.lse_low = {};
  args.b.lse = {};
  expect("merge: a has a lse but b has none: parts of one normaliser are expected");
  args.a.lse = {};
  args.sink = lse.view().select(2, 0).select(0, 0);
  expect("merge: sink is given but the parts have no lse: it belongs to the softmax");
}

TEST_F(MergeErrors, OfTheSinkAndTheCotangents) {
  args.sink = lse.view().select(1, 0).select(0, 0);
  expect("merge: sink is [3] of f32: a float for each of the 4 heads is expected");
  args.sink = {};
  const Attended merged = merge(args);
  const AttendedConstView of_merged = {merged.out, merged.lse, merged.lse_low};
  EXPECT_HEED_ERROR(merge_backward(args, of_merged, half), ErrorCode::kInvalidArgument,
                    "merge: dout is [2, 4, 3, 8] of f16 but a.out is [2, 4, 3, 8] of f32: they "
                    "must agree");
  EXPECT_HEED_ERROR(merge_backward(args, of_merged, out, shorter), ErrorCode::kInvalidArgument,
                    "merge: dlse is [2, 4, 2] of f32: [2, 4, 3] of f32 is expected, as a.out is "
                    "[2, 4, 3, 8] of f32");
}

}  // namespace
}  // namespace heed
