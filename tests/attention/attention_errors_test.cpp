// The operator's errors, with their texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "heed/attention.h"
#include "heed/mask.h"
#include "support/expect_error.h"

namespace heed {
namespace {

#define EXPECT_REFUSED(statement, message) \
  EXPECT_HEED_ERROR(statement, ErrorCode::kInvalidArgument, message)

// B 2, H 4, G 2, Tq 3, Tk 5, D 8, Dv 6.
class AttentionErrors : public testing::Test {
 protected:
  Tensor q = Tensor::zeros({2, 4, 3, 8});
  Tensor k = Tensor::zeros({2, 2, 5, 8});
  Tensor v = Tensor::zeros({2, 2, 5, 6});
  AttentionArgs args = {.q = q, .keys = {k, v}};

  void expect(const std::string& message) { EXPECT_REFUSED(attention(args), message); }
};

TEST_F(AttentionErrors, Absent) {
  args.keys.v = {};
  expect("attention: keys.v is not given, expected [batch, heads, T, Dv]");
}

TEST_F(AttentionErrors, Rank) {
  args.q = q.view().select(0, 0);
  expect("attention: q.shape is [4, 3, 8], expected [batch, heads, T, D]");
}

TEST_F(AttentionErrors, Type) {
  const Tensor ids = Tensor::zeros({2, 4, 3, 8}, DType::kI32);
  args.q = ids;
  expect("attention: q is i32, expected f64, f32, f16 or bf16");
}

TEST_F(AttentionErrors, MixedTypes) {
  const Tensor k64 = Tensor::zeros({2, 2, 5, 8}, DType::kF64);
  args.keys.k = k64;
  expect("attention: keys.k is f64, expected f32, f16, bf16 or i8 (q is f32)");
}

TEST_F(AttentionErrors, Batch) {
  args.keys.k = k.view().slice(0, 0, 1);
  expect("attention: keys.k.shape[0] is 1, expected 2 (q's batch)");
}

TEST_F(AttentionErrors, ValueHeads) {
  args.keys.v = v.view().slice(1, 0, 1);
  expect("attention: keys.v.shape[1] is 1, expected 2 (k's heads)");
}

TEST_F(AttentionErrors, ValueCount) {
  args.keys.v = v.view().slice(2, 0, 4);
  expect("attention: keys.v.shape[2] is 4, expected 5 (k's tokens)");
}

TEST_F(AttentionErrors, HeadSize) {
  args.keys.k = k.view().slice(3, 0, 7);
  expect("attention: keys.k.shape[3] is 7, expected 8 (q's head size)");
}

TEST_F(AttentionErrors, HeadSizeZero) {
  args.q = q.view().slice(3, 0, 0);
  args.keys.k = k.view().slice(3, 0, 0);
  expect("attention: q.shape[3] is 0, expected at least 1 (the head size)");
}

TEST_F(AttentionErrors, Grouping) {
  args.q = q.view().slice(1, 0, 3);
  expect("attention: q.shape[1] is 3, expected a multiple of 2 (k's heads)");
}

TEST_F(AttentionErrors, NoKeyHeads) {
  args.keys = {k.view().slice(1, 0, 0), v.view().slice(1, 0, 0)};
  expect("attention: keys.k.shape[1] is 0, expected at least 1");
}

TEST_F(AttentionErrors, ScaleCount) {
  args.scores.scale = {1, 2, 3};
  expect("attention: scores.scale is a list of 3, expected none, one or 4 entries (q's heads)");
}

TEST_F(AttentionErrors, ScaleValue) {
  args.scores.scale = {1, 2, std::numeric_limits<double>::quiet_NaN(), 4};
  expect("attention: scores.scale[2] is nan, expected a finite number");
}

TEST_F(AttentionErrors, ExtentCount) {
  args.extents.query_length = {1, 2, 3};
  expect(
      "attention: extents.query_length is a list of 3, expected none, one or 2 entries (the "
      "batch)");
}

TEST_F(AttentionErrors, QueryLengthTooLong) {
  args.extents.query_length = {3, 4};
  expect("attention: extents.query_length[1] is 4, expected 0 to 3");
}

TEST_F(AttentionErrors, KeyLengthPastTheEnd) {
  args.extents.key_begin = {0, 2};
  args.extents.key_length = {5, 4};
  expect("attention: extents.key_length[1] is 4, expected 0 to 3");
}

TEST_F(AttentionErrors, KeyBeginNegative) {
  args.extents.key_begin = {-1};
  expect("attention: extents.key_begin[0] is -1, expected 0 to 5");
}

TEST_F(AttentionErrors, OffsetOutOfRange) {
  args.extents.q_offset = {std::numeric_limits<std::int64_t>::max()};
  expect(
      "attention: extents.q_offset[0] is 9223372036854775807, expected a position within 2^60 of "
      "0");
}

TEST_F(AttentionErrors, MaskShape) {
  const Tensor kept = Tensor::zeros({3, 4}, DType::kBool);
  args.mask = Mask::keep(kept);
  expect(
      "attention: mask.keep.shape is [3, 4], expected one that broadcasts to [B, H, Tq, Tk] = [2, "
      "4, 3, 5]");
}

TEST_F(AttentionErrors, UnknownKernel) {
  args.kernel = "abacus";
  EXPECT_THAT([&] { attention(args); }, testing::ThrowsMessage<Error>(testing::StartsWith(
                                            "attention: kernel is 'abacus', expected one of ")));
}

TEST_F(AttentionErrors, UnknownForcedKernel) {
  setenv("HEED_FORCE", "abacus", 1);
  EXPECT_HEED_ERROR(attention(args), ErrorCode::kNotFound,
                    "attention: HEED_FORCE is 'abacus', expected one of cpu-avx512, cpu-avx2, "
                    "portable, reference");
  unsetenv("HEED_FORCE");
}

TEST_F(AttentionErrors, AForcedKernelRunsInBothPasses) {
  setenv("HEED_FORCE", "portable", 1);
  EXPECT_EQ(plan_attention(args).kernel, "portable");
  EXPECT_EQ(plan_attention_backward(args).kernel, "portable");
  unsetenv("HEED_FORCE");
}

class AttentionOutputErrors : public AttentionErrors {
 protected:
  Tensor out = Tensor::zeros({2, 4, 3, 6});
  Tensor lse = Tensor::zeros({2, 4, 3});
  Tensor low = Tensor::zeros({2, 4, 3});
  void expect_into(const AttendedView& into, const std::string& message) {
    EXPECT_REFUSED(attention(args, into), message);
  }
};

TEST_F(AttentionOutputErrors, ShapeOfOut) {
  expect_into({q, lse, low},
              "attention: out.shape is [2, 4, 3, 8], expected [B, H, Tq, Dv] = [2, 4, 3, 6]");
}

TEST_F(AttentionOutputErrors, TypeOfLse) {
  Tensor lse64 = Tensor::zeros({2, 4, 3}, DType::kF64);
  expect_into({out, lse64, low}, "attention: lse is f64, expected f32 (q is f32)");
}

TEST_F(AttentionOutputErrors, LayoutOfLse) {
  Tensor columns = Tensor::zeros({3, 4, 2});
  expect_into({out, columns.view().permute({2, 1, 0}), low},
              "attention: lse.strides is [1, 2, 8], expected row-major memory");
}

TEST_F(AttentionOutputErrors, OutThatOverlapsItself) {
  expect_into({View(out.data<float>(), DType::kF32, {2, 4, 3, 6}, {0, 18, 6, 1}), lse, low},
              "attention: out.strides is [0, 18, 6, 1] for [2, 4, 3, 6], which overlaps itself, "
              "expected memory of its own for every element");
}

TEST_F(AttentionOutputErrors, OutInAnInput) {
  expect_into({q.view().slice(3, 0, 6), lse, low},
              "attention: out is in the memory of q, expected memory of its own");
}

TEST_F(AttentionOutputErrors, OneMemoryForBothPartsOfTheLse) {
  expect_into({out, lse, lse},
              "attention: lse_low is in the memory of lse, expected memory of its own");
}

TEST_F(AttentionOutputErrors, OutLowWithoutSixteenBit) {
  Tensor rest = Tensor::zeros({2, 4, 3, 6});
  expect_into({out, lse, low, rest},
              "attention: out_low is given, expected none (q is f32; only f16 and bf16 have it)");
}

class AttentionOutLowErrors : public AttentionErrors {
 protected:
  Tensor q16 = Tensor::converted(q, DType::kF16);
  Tensor out = Tensor::zeros({2, 4, 3, 6}, DType::kF16);
  Tensor lse = Tensor::zeros({2, 4, 3});
  Tensor low = Tensor::zeros({2, 4, 3});

  AttentionOutLowErrors() { args.q = q16; }
  void expect_into(const View& out_low, const std::string& message) {
    EXPECT_REFUSED(attention(args, {out, lse, low, out_low}), "attention: " + message);
  }
  void expect_from(const ConstView& out_low, const std::string& message) {
    EXPECT_REFUSED(attention_backward(args, AttendedConstView{out, lse, low, out_low}, out),
                   "attention_backward: attended." + message);
  }
};

TEST_F(AttentionOutLowErrors, Shape) {
  Tensor wide = Tensor::zeros({2, 4, 3, 8}, DType::kF16);
  const char* message = "out_low.shape is [2, 4, 3, 8], expected [B, H, Tq, Dv] = [2, 4, 3, 6]";
  expect_into(wide, message);
  expect_from(wide, message);
}

TEST_F(AttentionOutLowErrors, Type) {
  Tensor rest = Tensor::zeros({2, 4, 3, 6}, DType::kBF16);
  const char* message = "out_low is bf16, expected f16 (q is f16)";
  expect_into(rest, message);
  expect_from(rest, message);
}

TEST_F(AttentionOutLowErrors, TheMemoryOfOut) {
  expect_into(out, "out_low is in the memory of out, expected memory of its own");
}

class AttentionBackwardErrors : public AttentionErrors {
 protected:
  Attended attended = attention(args);
  Tensor dout = Tensor::zeros({2, 4, 3, 6});
};

TEST_F(AttentionBackwardErrors, ShapeOfDout) {
  EXPECT_REFUSED(
      attention_backward(args, attended, q),
      "attention_backward: dout.shape is [2, 4, 3, 8], expected [B, H, Tq, Dv] = [2, 4, 3, 6]");
}

TEST_F(AttentionBackwardErrors, AbsentLse) {
  EXPECT_REFUSED(
      attention_backward(args, AttendedConstView{attended.out, {}, attended.lse_low}, dout),
      "attention_backward: attended.lse is not given, expected [B, H, Tq] = [2, 4, 3]");
}

TEST_F(AttentionBackwardErrors, ShapeOfDlse) {
  const Tensor dlse = Tensor::zeros({2, 4, 5});
  EXPECT_REFUSED(attention_backward(args, attended, dout, {.dlse = dlse}),
                 "attention_backward: dlse.shape is [2, 4, 5], expected [B, H, Tq] = [2, 4, 3]");
}

TEST_F(AttentionBackwardErrors, ShapeOfGradientMemory) {
  EXPECT_REFUSED(
      attention_backward(args, attended, dout, {.dk_into = q}),
      "attention_backward: dk_into.shape is [2, 4, 3, 8], expected [B, G, Tk, D] = [2, 2, 5, 8]");
}

TEST_F(AttentionBackwardErrors, GradientMemoryThatIsAnInput) {
  EXPECT_REFUSED(
      attention_backward(args, attended, dout, {.dk_into = k}),
      "attention_backward: dk_into is in the memory of keys.k, expected memory of its own");
}

}  // namespace
}  // namespace heed
