// The operator's errors for paged, ring and i8 keys, with their texts.
#include <gtest/gtest.h>

#include "heed/attention.h"
#include "support/expect_error.h"

namespace heed {
namespace {

// B 2, H 4, G 2, Tq 3, D 40, Dv 6; 7 pages of 5 keys, of which a row has 3.
class KeyErrors : public testing::Test {
 protected:
  Tensor q = Tensor::zeros({2, 4, 3, 40});
  Tensor k = Tensor::zeros({7, 2, 5, 40});
  Tensor v = Tensor::zeros({7, 2, 5, 6});
  Tensor table = Tensor::zeros({2, 3}, DType::kI32);
  AttentionArgs args = {
      .q = q, .keys = {.k = k, .v = v, .page_table = table}, .extents = {.key_length = {15}}};

  // The same two rows as contiguous keys of 5 slots.
  void unpage() {
    args.keys = {.k = k.view().slice(0, 0, 2), .v = v.view().slice(0, 0, 2)};
    args.extents.key_length = {};
  }
  void expect(const std::string& message) {
    EXPECT_HEED_ERROR(attention(args), ErrorCode::kInvalidArgument, message);
  }
};

TEST_F(KeyErrors, ThePageTableHasRankTwo) {
  args.keys.page_table = table.view().select(0, 0);
  expect("attention: keys.page_table is i32 [3], expected i32 or i64 [B, pages a row]");
}

TEST_F(KeyErrors, ThePageTableIsOfIntegers) {
  const Tensor floats = Tensor::zeros({2, 3});
  args.keys.page_table = floats;
  expect("attention: keys.page_table is f32 [2, 3], expected i32 or i64 [B, pages a row]");
}

TEST_F(KeyErrors, ThePageTableHasARowForEachQuery) {
  args.keys.page_table = table.view().slice(0, 0, 1);
  expect("attention: keys.page_table.shape[0] is 1, expected 2 (q's batch)");
}

TEST_F(KeyErrors, ThePageTableHasARowForEachSequence) {
  args.q = q.view().select(0, 0);
  args.extents.query_starts = {0, 1, 2, 3};
  expect(
      "attention: extents.query_starts is for 3 sequences, expected 2, as many as keys.page_table "
      "has");
}

// Otherwise it would attend to the slots after the last key.
TEST_F(KeyErrors, PagesWithoutLengths) {
  args.extents.key_length = {};
  expect(
      "attention: extents.key_length is not given, expected the keys of each row (keys.page_table "
      "is given)");
}

TEST_F(KeyErrors, PagesOfNoRowsNeedNoLengths) {
  const Tensor none = Tensor::zeros({0, 4, 3, 40});
  const Tensor no_rows = Tensor::zeros({0, 3}, DType::kI32);
  EXPECT_NO_THROW(attention({.q = none, .keys = {.k = k, .v = v, .page_table = no_rows}}));
}

TEST_F(KeyErrors, APageOutside) {
  table.data<std::int32_t>()[4] = 7;
  expect("attention: keys.page_table[1, 1] is 7, expected 0 to 6 (k's pages)");
}

TEST_F(KeyErrors, ANegativePage) {
  table.data<std::int32_t>()[2] = -1;
  expect("attention: keys.page_table[0, 2] is -1, expected 0 to 6 (k's pages)");
}

TEST_F(KeyErrors, WhatNoKeyLiesInMayBeAnything) {
  table.data<std::int32_t>()[2] = -1;
  table.data<std::int32_t>()[3] = 1000;
  args.extents.key_begin = {0, 5};
  args.extents.key_length = {10, 7};
  EXPECT_NO_THROW(attention(args));
}

TEST_F(KeyErrors, ATableThatIsTooShort) {
  args.extents.key_length = {15, 16};
  expect("attention: extents.key_length[1] is 16, expected 0 to 15");
}

TEST_F(KeyErrors, PagesOfValuesAsThoseOfKeys) {
  args.keys.v = v.view().slice(0, 0, 6);
  expect("attention: keys.v.shape[0] is 6, expected 7 (k's pages)");
}

TEST_F(KeyErrors, PagesAndARing) {
  args.keys.ring_begin = {0};
  expect("attention: keys.page_table is given beside keys.ring_begin, expected one of them");
}

TEST_F(KeyErrors, PagesOfPackedKeys) {
  args.extents.key_starts = {0, 5, 10};
  expect("attention: keys.page_table is given beside extents.key_starts, expected one of them");
}

TEST_F(KeyErrors, ARingOfPackedKeys) {
  unpage();
  args.keys.ring_begin = {0};
  args.extents.key_starts = {0, 5, 10};
  expect("attention: keys.ring_begin is given beside extents.key_starts, expected one of them");
}

TEST_F(KeyErrors, ARingWithItsOwnBegin) {
  unpage();
  args.keys.ring_begin = {0};
  args.extents.key_begin = {1};
  expect("attention: keys.ring_begin is given beside extents.key_begin, expected one of them");
}

TEST_F(KeyErrors, RingsBeginInside) {
  unpage();
  args.keys.ring_begin = {4, 5};
  expect("attention: keys.ring_begin[1] is 5, expected 0 to 4");
  args.keys.ring_begin = {-1};
  expect("attention: keys.ring_begin[0] is -1, expected 0 to 4");
}

TEST_F(KeyErrors, RingsHaveOneBeginABatch) {
  unpage();
  args.keys.ring_begin = {0, 1, 2};
  expect("attention: keys.ring_begin is a list of 3, expected none, one or 2 entries (the batch)");
}

TEST_F(KeyErrors, ARingHoldsNoMoreThanItsSlots) {
  unpage();
  args.keys.ring_begin = {3};
  args.extents.key_length = {6};
  expect("attention: extents.key_length[0] is 6, expected 0 to 5");
}

class Int8Errors : public KeyErrors {
 protected:
  Tensor k8 = Tensor::zeros({7, 2, 5, 40}, DType::kI8);
  Tensor v8 = Tensor::zeros({7, 2, 5, 6}, DType::kI8);
  Tensor k_scales = Tensor::zeros({7, 2, 5, 2});
  Tensor v_scales = Tensor::zeros({7, 2, 5, 1});
  void SetUp() override {
    args.keys.k = k8;
    args.keys.v = v8;
    args.keys.k_scales = k_scales;
    args.keys.v_scales = v_scales;
  }
};

TEST_F(Int8Errors, WithoutScales) {
  args.keys.v_scales = {};
  expect(
      "attention: keys.v_scales is not given, expected f32 [7, 2, 5, 1] (v is i8: one for each 32 "
      "elements of a row)");
}

TEST_F(Int8Errors, ScalesOfWhatHasNone) {
  args.keys.k = k;
  expect("attention: keys.k_scales is given, expected none (k is f32; scales belong to i8)");
}

TEST_F(Int8Errors, ShapeOfTheScales) {
  args.keys.k_scales = v_scales;
  expect(
      "attention: keys.k_scales is f32 [7, 2, 5, 1], expected f32 [7, 2, 5, 2] (k is i8: one for "
      "each 32 elements of a row)");
}

TEST_F(Int8Errors, TypeOfTheScales) {
  const Tensor half = Tensor::zeros({7, 2, 5, 2}, DType::kF16);
  args.keys.k_scales = half;
  expect(
      "attention: keys.k_scales is f16 [7, 2, 5, 2], expected f32 [7, 2, 5, 2] (k is i8: one for "
      "each 32 elements of a row)");
}

TEST_F(Int8Errors, OtherIntegers) {
  const Tensor integers = Tensor::zeros({7, 2, 5, 40}, DType::kI32);
  args.keys.k = integers;
  args.keys.k_scales = {};
  expect("attention: keys.k is i32, expected f64, f32, f16, bf16 or i8");
}

TEST_F(Int8Errors, QueriesOfIntegers) {
  args.q = ConstView(k8.data<std::int8_t>(), DType::kI8, {2, 4, 3, 40});
  expect("attention: q is i8, expected f64, f32, f16 or bf16");
}

class KeyGradientErrors : public KeyErrors {
 protected:
  void expect_backward(const AttentionGradRequest& request, const std::string& message) {
    const Attended attended = attention(args);
    EXPECT_HEED_ERROR(attention_backward(args, attended, attended.out, request),
                      ErrorCode::kInvalidArgument, message);
  }
};

TEST_F(KeyGradientErrors, OfPages) {
  expect_backward({},
                  "attention_backward: dk is asked for, expected none (k is paged; only contiguous "
                  "and packed keys and values of floating types have gradients)");
  expect_backward({.dk = false},
                  "attention_backward: dv is asked for, expected none (v is paged; only contiguous "
                  "and packed keys and values of floating types have gradients)");
}

TEST_F(KeyGradientErrors, OfARing) {
  unpage();
  args.keys.ring_begin = {2};
  expect_backward({},
                  "attention_backward: dk is asked for, expected none (k lies in a ring; only "
                  "contiguous and packed keys and values of floating types have gradients)");
}

TEST_F(KeyGradientErrors, OfInt8AloneWhereOnlyTheKeysAre) {
  unpage();
  const Tensor k8 = Tensor::zeros({2, 2, 5, 40}, DType::kI8);
  const Tensor scales = Tensor::zeros({2, 2, 5, 2});
  args.keys.k = k8;
  args.keys.k_scales = scales;
  expect_backward({},
                  "attention_backward: dk is asked for, expected none (k is i8; only contiguous "
                  "and packed keys and values of floating types have gradients)");
  const Attended attended = attention(args);
  const AttentionGrads grads = attention_backward(args, attended, attended.out, {.dk = false});
  EXPECT_EQ(grads.dv.shape(), args.keys.v.shape());
}

}  // namespace
}  // namespace heed
