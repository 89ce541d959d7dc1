// The errors of merge, with their texts.
#include <gtest/gtest.h>

#include "heed/attention.h"
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
  expect("merge: b.out is f16 [2, 4, 3, 8], expected f32 [2, 4, 3, 8] as a.out");
  args.b.out = {};
  expect("merge: b.out is not given, expected [B, H, Tq, Dv] or [H, total, Dv]");
  args.a.out = lse.view().select(0, 0);
  expect(
      "merge: a.out is f32 [4, 3], expected [B, H, Tq, Dv] or [H, total, Dv] of f64, f32, f16 or "
      "bf16");
}

TEST_F(MergeErrors, OfTheLogSumExp) {
  args.b.lse_low = shorter;
  expect("merge: b.lse_low is f32 [2, 4, 2], expected f32 [2, 4, 3] (a.out is f32 [2, 4, 3, 8])");
  args.b.lse_low = {};
  args.b.lse = {};
  expect("merge: b.lse is not given, expected one, as a has it");
  args.a.lse = {};
  args.sink = lse.view().select(2, 0).select(0, 0);
  expect(
      "merge: sink is given, expected none (the parts have no lse, so that they are not a "
      "softmax)");
}

TEST_F(MergeErrors, OfTheSinkAndTheCotangents) {
  args.sink = lse.view().select(1, 0).select(0, 0);
  expect("merge: sink is f32 [3], expected a float for each of the 4 heads");
  args.sink = {};
  const Attended merged = merge(args);
  const AttendedConstView of_merged = {merged.out, merged.lse, merged.lse_low};
  EXPECT_HEED_ERROR(merge_backward(args, of_merged, half), ErrorCode::kInvalidArgument,
                    "merge: dout is f16 [2, 4, 3, 8], expected f32 [2, 4, 3, 8] as a.out");
  EXPECT_HEED_ERROR(
      merge_backward(args, of_merged, out, shorter), ErrorCode::kInvalidArgument,
      "merge: dlse is f32 [2, 4, 2], expected f32 [2, 4, 3] (a.out is f32 [2, 4, 3, 8])");
}

}  // namespace
}  // namespace heed
