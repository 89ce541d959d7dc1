// What the operator refuses, and in which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "heed/masks/keep.h"
#include "heed/ops/attention.h"
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
  expect("attention: v is not given");
}

TEST_F(AttentionErrors, Rank) {
  args.q = q.view().select(0, 0);
  expect("attention: q.shape is [4, 3, 8]: four dimensions [batch, heads, T, D] are expected");
}

TEST_F(AttentionErrors, Type) {
  const Tensor ids = Tensor::zeros({2, 4, 3, 8}, DType::kI32);
  args.q = ids;
  expect("attention: q is i32: f64, f32, f16 or bf16 is expected");
}

TEST_F(AttentionErrors, MixedTypes) {
  const Tensor k64 = Tensor::zeros({2, 2, 5, 8}, DType::kF64);
  args.keys.k = k64;
  expect("attention: k is f64 but q is f32: keys and values of f64 need queries of f64");
}

TEST_F(AttentionErrors, Batch) {
  args.keys.k = k.view().slice(0, 0, 1);
  expect("attention: k.shape[0] is 1 but q.shape[0] is 2: q, k and v must have the same batch");
}

TEST_F(AttentionErrors, ValueHeads) {
  args.keys.v = v.view().slice(1, 0, 1);
  expect("attention: v.shape[1] is 1 but k.shape[1] is 2: k and v must have the same heads");
}

TEST_F(AttentionErrors, ValueCount) {
  args.keys.v = v.view().slice(2, 0, 4);
  expect("attention: v.shape[2] is 4 but k.shape[2] is 5: every key needs its value");
}

TEST_F(AttentionErrors, HeadSize) {
  args.keys.k = k.view().slice(3, 0, 7);
  expect("attention: k.shape[3] is 7 but q.shape[3] is 8: q and k must have the same head size");
}

TEST_F(AttentionErrors, HeadSizeZero) {
  args.q = q.view().slice(3, 0, 0);
  args.keys.k = k.view().slice(3, 0, 0);
  expect("attention: q.shape[3] is 0: the head size must be at least 1");
}

TEST_F(AttentionErrors, Grouping) {
  args.q = q.view().slice(1, 0, 3);
  expect(
      "attention: q.shape[1] is 3 but k.shape[1] is 2: the query heads must be a multiple of "
      "the key/value heads");
}

TEST_F(AttentionErrors, NoKeyHeads) {
  args.keys = {k.view().slice(1, 0, 0), v.view().slice(1, 0, 0)};
  expect(
      "attention: q.shape[1] is 4 but k.shape[1] is 0: the query heads must be a multiple of "
      "the key/value heads");
}

TEST_F(AttentionErrors, ScaleCount) {
  args.scores.scale = {1, 2, 3};
  expect(
      "attention: scores.scale has 3 entries but q.shape[1] is 4: none, one or one a head is "
      "expected");
}

TEST_F(AttentionErrors, ScaleValue) {
  args.scores.scale = {1, 2, std::numeric_limits<double>::quiet_NaN(), 4};
  expect("attention: scores.scale[2] is nan: a finite number is expected");
}

TEST_F(AttentionErrors, ExtentCount) {
  args.extents.query_length = {1, 2, 3};
  expect(
      "attention: extents.query_length has 3 entries but the batch is 2: none, one or one a "
      "batch is expected");
}

TEST_F(AttentionErrors, QueryLengthTooLong) {
  args.extents.query_length = {3, 4};
  expect("attention: extents.query_length[1] is 4: 0 to 3 is expected");
}

TEST_F(AttentionErrors, KeyLengthPastTheEnd) {
  args.extents.key_begin = {0, 2};
  args.extents.key_length = {5, 4};
  expect("attention: extents.key_length[1] is 4: 0 to 3 is expected");
}

TEST_F(AttentionErrors, KeyBeginNegative) {
  args.extents.key_begin = {-1};
  expect("attention: extents.key_begin[0] is -1: 0 to 5 is expected");
}

TEST_F(AttentionErrors, OffsetOutOfRange) {
  args.extents.q_offset = {std::numeric_limits<std::int64_t>::max()};
  expect(
      "attention: extents.q_offset[0] is 9223372036854775807: a position within 2^60 of 0 is "
      "expected");
}

TEST_F(AttentionErrors, MaskShape) {
  const Tensor kept = Tensor::zeros({3, 4}, DType::kBool);
  args.mask = keep(kept);
  expect("keep: shape [3, 4] cannot be broadcast to [2, 4, 3, 5] [B, H, Tq, Tk]");
}

TEST_F(AttentionErrors, UnknownKernel) {
  args.kernel = "abacus";
  EXPECT_THAT([&] { attention(args); }, testing::ThrowsMessage<Error>(testing::StartsWith(
                                            "attention: kernel 'abacus' is unknown: one of ")));
}

TEST_F(AttentionErrors, UnknownForcedKernel) {
  setenv("HEED_FORCE", "abacus", 1);
  EXPECT_HEED_ERROR(attention(args), ErrorCode::kNotFound,
                    "attention: HEED_FORCE names kernel 'abacus', which is unknown: one of "
                    "cpu-avx512, cpu-avx2, tiled, reference is expected");
  unsetenv("HEED_FORCE");
}

TEST_F(AttentionErrors, AForcedKernelRunsInBothPasses) {
  setenv("HEED_FORCE", "tiled", 1);
  EXPECT_EQ(plan_attention(args).kernel, "tiled");
  EXPECT_EQ(plan_attention_backward(args).kernel, "tiled");
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
              "attention: out.shape is [2, 4, 3, 8] but [2, 4, 3, 6] [B, H, Tq, Dv] is expected");
}

TEST_F(AttentionOutputErrors, TypeOfLse) {
  Tensor lse64 = Tensor::zeros({2, 4, 3}, DType::kF64);
  expect_into({out, lse64, low}, "attention: lse is f64 but q is f32: f32 is expected");
}

TEST_F(AttentionOutputErrors, LayoutOfLse) {
  Tensor columns = Tensor::zeros({3, 4, 2});
  expect_into({out, columns.view().permute({2, 1, 0}), low},
              "attention: lse has strides [1, 2, 8]: row-major memory is expected");
}

TEST_F(AttentionOutputErrors, OutThatOverlapsItself) {
  expect_into({View(out.data<float>(), DType::kF32, {2, 4, 3, 6}, {0, 18, 6, 1}), lse, low},
              "attention: out of shape [2, 4, 3, 6] with strides [0, 18, 6, 1] overlaps itself: "
              "every element needs its own memory");
}

TEST_F(AttentionOutputErrors, OutInAnInput) {
  expect_into({q.view().slice(3, 0, 6), lse, low},
              "attention: out shares memory with q: an output needs memory of its own");
}

TEST_F(AttentionOutputErrors, OneMemoryForBothPartsOfTheLse) {
  expect_into({out, lse, lse},
              "attention: lse_low shares memory with lse: an output needs memory of its own");
}

TEST_F(AttentionOutputErrors, OutLowWithoutSixteenBit) {
  Tensor rest = Tensor::zeros({2, 4, 3, 6});
  expect_into({out, lse, low, rest},
              "attention: out_low is given but q is f32: only f16 and bf16 have it");
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
  const char* message = "out_low.shape is [2, 4, 3, 8] but [2, 4, 3, 6] [B, H, Tq, Dv] is expected";
  expect_into(wide, message);
  expect_from(wide, message);
}

TEST_F(AttentionOutLowErrors, Type) {
  Tensor rest = Tensor::zeros({2, 4, 3, 6}, DType::kBF16);
  const char* message = "out_low is bf16 but q is f16: f16 is expected";
  expect_into(rest, message);
  expect_from(rest, message);
}

TEST_F(AttentionOutLowErrors, TheMemoryOfOut) {
  expect_into(out, "out_low shares memory with out: an output needs memory of its own");
}

class AttentionBackwardErrors : public AttentionErrors {
 protected:
  Attended attended = attention(args);
  Tensor dout = Tensor::zeros({2, 4, 3, 6});
};

TEST_F(AttentionBackwardErrors, ShapeOfDout) {
  EXPECT_REFUSED(attention_backward(args, attended, q),
                 "attention_backward: dout.shape is [2, 4, 3, 8] but [2, 4, 3, 6] "
                 "[B, H, Tq, Dv] is expected");
}

TEST_F(AttentionBackwardErrors, AbsentLse) {
  EXPECT_REFUSED(
      attention_backward(args, AttendedConstView{attended.out, {}, attended.lse_low}, dout),
      "attention_backward: attended.lse is not given");
}

TEST_F(AttentionBackwardErrors, ShapeOfDlse) {
  const Tensor dlse = Tensor::zeros({2, 4, 5});
  EXPECT_REFUSED(attention_backward(args, attended, dout, {.dlse = dlse}),
                 "attention_backward: dlse.shape is [2, 4, 5] but [2, 4, 3] [B, H, Tq] is "
                 "expected");
}

TEST_F(AttentionBackwardErrors, ShapeOfGradientMemory) {
  EXPECT_REFUSED(attention_backward(args, attended, dout, {.dk_into = q}),
                 "attention_backward: dk_into.shape is [2, 4, 3, 8] but [2, 2, 5, 8] "
                 "[B, G, Tk, D] is expected");
}

TEST_F(AttentionBackwardErrors, GradientMemoryThatIsAnInput) {
  EXPECT_REFUSED(attention_backward(args, attended, dout, {.dk_into = k}),
                 "attention_backward: dk_into shares memory with k: an output needs memory of its "
                 "own");
}

}  // namespace
}  // namespace heed
