// The errors of the C border, with code, line and parts.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "c/cases.h"

namespace heed::test {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

void expect_error(heed_status status, heed_status code, const std::string& message) {
  EXPECT_EQ(status, code);
  EXPECT_EQ(heed_last_error()->code, code);
  EXPECT_EQ(heed_last_error()->message, message);
}

void expect_invalid(heed_status status, const std::string& message) {
  expect_error(status, HEED_INVALID_ARGUMENT, message);
}

class CErrors : public testing::Test {
 protected:
  CCase each = plain_case("errors");
  Attended left = attention(each.args);
  heed_attention_args args = each.in_c();
  heed_attended attended = as_c(left);

  void expect(const std::string& message) {
    expect_invalid(heed_attention(&args, &attended), message);
  }
};

TEST_F(CErrors, NullPointers) {
  expect_invalid(heed_attention(nullptr, &attended), "attention: args is a null pointer");
  expect_invalid(heed_attention(&args, nullptr), "attention: into is a null pointer");
  expect_invalid(heed_attention_backward(&args, nullptr, nullptr, nullptr, nullptr),
                 "attention_backward: attended is a null pointer");
  expect_invalid(heed_attention_backward(&args, &attended, nullptr, nullptr, nullptr),
                 "attention_backward: into is a null pointer");
  expect_invalid(heed_plan_attention(&args, nullptr), "plan_attention: plan is a null pointer");
  expect_invalid(heed_thread_count(nullptr), "thread_count: count is a null pointer");
  expect_invalid(heed_mask_causal(nullptr), "causal: mask is a null pointer");
  heed_mask* mask = reinterpret_cast<heed_mask*>(8);
  expect_invalid(heed_mask_and(nullptr, nullptr, &mask), "and: a is a null pointer");
  EXPECT_EQ(mask, nullptr);
  args.q.data = nullptr;
  expect("attention: q.data is null");
  heed_mask_free(nullptr);
  heed_plan_free(nullptr);
}

TEST_F(CErrors, WhatIsNotGiven) {
  args.v = heed_view{};
  expect("attention: v is not given, expected [batch, heads, T, Dv]");
  args = each.in_c();
  attended.out = heed_view{};
  expect("attention: out is not given, expected [B, H, Tq, Dv] = [2, 4, 9, 6]");
  const heed_gradients into = heed_gradients_default();
  attended = as_c(left);
  expect_invalid(heed_attention_backward(&args, &attended, nullptr, nullptr, &into),
                 "attention_backward: dout is not given, expected [B, H, Tq, Dv] = [2, 4, 9, 6]");
}

TEST_F(CErrors, StructsThatNobodyInitialised) {
  args.size = 0;
  expect("attention: args.size is 0, expected " + std::to_string(sizeof args) +
         " (sizeof); fill the struct with 0, then set its size");
  args.size = sizeof args - 8;
  expect("attention: args.size is " + std::to_string(sizeof args - 8) + ", expected " +
         std::to_string(sizeof args) + " (sizeof); fill the struct with 0, then set its size");
  args.size = 0xDEADBEEFDEADBEEF;  // nothing past the struct is read
  EXPECT_EQ(heed_attention(&args, &attended), HEED_INVALID_ARGUMENT);
  args = each.in_c();
  attended.size = 1;
  EXPECT_EQ(heed_attention(&args, &attended), HEED_INVALID_ARGUMENT);
  EXPECT_STREQ(heed_last_error()->argument, "into.size");
}

// A program that knows more fields than the library: allowed while they are 0.
TEST_F(CErrors, AStructOfALaterHeed) {
  std::vector<unsigned char> bytes(sizeof args + 16);
  args.size = bytes.size();
  std::memcpy(bytes.data(), &args, sizeof args);
  const auto* const later = reinterpret_cast<const heed_attention_args*>(bytes.data());
  EXPECT_EQ(heed_attention(later, &attended), HEED_OK);
  bytes.back() = 1;
  const std::string size = std::to_string(bytes.size());
  expect_error(heed_attention(later, &attended), HEED_UNSUPPORTED,
               "attention: args.size is " + size + ", expected at most " +
                   std::to_string(sizeof args) +
                   ", or 0 in all fields past that; the program was compiled for a later heed than "
                   "the library that runs");
}

TEST_F(CErrors, Views) {
  args.q.dtype = 10;
  expect("attention: q.dtype is 10, expected 1 (HEED_F64) to 9 (HEED_BOOL)");
  args.q.dtype = 0;
  expect("attention: q.dtype is 0, expected 1 (HEED_F64) to 9 (HEED_BOOL)");
  args = each.in_c();
  args.q.rank = 9;
  expect("attention: q.rank is 9, expected 0 to 8");
  args.q.rank = -1;
  expect("attention: q.rank is -1, expected 0 to 8");
  args.q.rank = 3;
  expect("attention: q.shape is [2, 4, 9], expected [batch, heads, T, D]");
  args = each.in_c();
  args.k.strided = 2;
  expect("attention: k.strided is 2, expected 0 or 1");
  args.k.strided = 1;
  args.k.reserved = 7;
  expect("attention: k.reserved is 7, expected 0");
  args = each.in_c();
  args.k.shape[2] = -1;
  expect("attention: k.shape[2] is -1, expected 0 or more");
}

TEST_F(CErrors, WhatNoAddressSpaceHolds) {
  args.k.shape[0] = std::int64_t{1} << 40;
  args.k.shape[1] = std::int64_t{1} << 40;
  expect(
      "attention: k.shape is [1099511627776, 1099511627776, 13, 8], expected less than 2^63 "
      "bytes");
  args = each.in_c();
  for (const std::int64_t stride : {kMost, -kMost - 1, std::int64_t{1} << 61}) {
    args.v.strides[0] = stride;
    EXPECT_EQ(heed_attention(&args, &attended), HEED_INVALID_ARGUMENT) << stride;
    EXPECT_STREQ(heed_last_error()->argument, "v.strides");
    EXPECT_STREQ(heed_last_error()->expected, "less than 2^63 bytes in all");
  }
}

TEST_F(CErrors, TypesAndShapes) {
  args.q.dtype = HEED_I32;
  expect("attention: q is i32, expected f64, f32, f16 or bf16");
  args = each.in_c();
  args.k.shape[3] = 4;
  expect("attention: k.shape[3] is 4, expected 8 (q's head size)");
  args = each.in_c();
  attended.out.shape[3] = 5;
  expect("attention: out.shape is [2, 4, 9, 5], expected [B, H, Tq, Dv] = [2, 4, 9, 6]");
  attended = as_c(left);
  attended.out = args.v;
  attended.out.shape[1] = 4;
  attended.out.shape[2] = 9;
  expect(
      "attention: out.strides is [156, 78, 6, 1] for [2, 4, 9, 6], which overlaps itself, "
      "expected memory of its own for every element");
}

TEST_F(CErrors, EnumeratorsAndNumbers) {
  args.similarity = 4;
  expect("attention: similarity is 4, expected 0 (dot) to 3 (absolute distance)");
  args.similarity = 0;
  args.normaliser = -1;
  expect("attention: normaliser is -1, expected 0 (softmax) to 2 (none)");
  args.normaliser = 0;
  args.dropout_rate = 1.5;
  expect("attention: dropout_rate is 1.5, expected 0 to 1");
  args.dropout_rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(heed_attention(&args, &attended), HEED_INVALID_ARGUMENT);
  args.dropout_rate = 0;
  args.reserved = 1;
  expect("attention: reserved is 1, expected 0");
  args.reserved = 0;
  args.kernel = "abacus";
  EXPECT_NE(heed_attention(&args, &attended), HEED_OK);
  EXPECT_STREQ(heed_last_error()->argument, "kernel");
}

TEST_F(CErrors, Lists) {
  const std::int64_t lengths[] = {1, 2, 3};
  args.query_length = {lengths, -1};
  expect("attention: query_length.count is -1, expected 0 to 1152921504606846975");
  args.query_length = {lengths, kMost};
  expect(
      "attention: query_length.count is 9223372036854775807, expected 0 to "
      "1152921504606846975");
  args.query_length = {nullptr, 3};
  expect("attention: query_length.data is a null pointer, expected 3 numbers");
  args.query_length = {lengths, 3};
  EXPECT_EQ(heed_attention(&args, &attended), HEED_INVALID_ARGUMENT);
  EXPECT_STREQ(heed_last_error()->argument, "query_length");
}

TEST_F(CErrors, Masks) {
  heed_mask* mask = nullptr;
  expect_invalid(heed_mask_band(-2, 0, &mask),
                 "band: left is -2, expected 0 to 2^60 keys, or -1 for open");
  expect_invalid(heed_mask_keep(&args.q, &mask),
                 "keep: keep is f32, expected bool or u8; additive values are a bias");
  expect_invalid(heed_mask_keep(nullptr, &mask),
                 "keep: keep is not given, expected a tensor of bool or u8");
  expect_invalid(heed_mask_segments(&args.q, nullptr, &mask),
                 "segments: query_ids is f32, expected i64 or i32");
  expect_invalid(heed_mask_prefix(nullptr, 2, &mask),
                 "prefix: lengths.data is a null pointer, expected 2 numbers");
  EXPECT_EQ(heed_mask_blocks(nullptr, 0, 4, &mask), HEED_INVALID_ARGUMENT);
  EXPECT_EQ(heed_mask_edges(nullptr, nullptr, &mask), HEED_INVALID_ARGUMENT);
  EXPECT_EQ(mask, nullptr);
  std::uint8_t kept[3] = {1, 0, 1};
  const std::int64_t shape[] = {3};
  const heed_view keep = heed_view_of(kept, HEED_U8, 1, shape);
  ASSERT_EQ(heed_mask_keep(&keep, &mask), HEED_OK);
  args.mask = mask;
  expect(
      "attention: mask.keep.shape is [3], expected one that broadcasts to [B, H, Tq, Tk] = [2, "
      "4, 9, 13]");
  heed_mask_free(mask);
}

TEST_F(CErrors, Gradients) {
  heed_gradients into = heed_gradients_default();
  const heed_view dout = as_c(left.out);
  const auto backward = [&] {
    return heed_attention_backward(&args, &attended, &dout, nullptr, &into);
  };
  Tensor room = Tensor::zeros({2, 4, 9, 8});
  into.dq = as_c(room);
  into.dq.shape[3] = 7;
  expect_invalid(backward(),
                 "attention_backward: dq.shape is [2, 4, 9, 7], expected [B, H, Tq, D] "
                 "= [2, 4, 9, 8]");
  into = heed_gradients_default();
  into.dbias = as_c(room);
  expect_invalid(backward(), "attention_backward: dbias needs scores.bias, which is not given");
  into = heed_gradients_default();
  into.dscale = as_c(room);
  expect_invalid(backward(), "attention_backward: dscale.shape is [2, 4, 9, 8], expected [1]");
  into.dscale = as_c(left.lse);
  into.dscale.rank = 1;
  into.dscale.shape[0] = 1;
  expect_invalid(backward(),
                 "attention_backward: dscale is in the memory of attended.lse, expected "
                 "memory of its own");
  into.dscale.dtype = HEED_F64;
  expect_invalid(backward(), "attention_backward: dscale is f64, expected f32");
}

TEST_F(CErrors, Threads) {
  expect_invalid(heed_set_thread_count(-1),
                 "set_thread_count: count is -1, expected 1 to 4096, or 0 for the default");
  expect_invalid(heed_set_thread_count(5000),
                 "set_thread_count: count is 5000, expected 1 to 4096, or 0 for the default");
}

TEST_F(CErrors, ComeInPartsAndStay) {
  args.k.shape[3] = 4;
  ASSERT_EQ(heed_attention(&args, &attended), HEED_INVALID_ARGUMENT);
  args = each.in_c();
  ASSERT_EQ(heed_attention(&args, &attended), HEED_OK);
  const heed_error* const error = heed_last_error();
  EXPECT_EQ(error->size, sizeof(heed_error));
  EXPECT_EQ(error->code, HEED_INVALID_ARGUMENT);
  EXPECT_STREQ(error->op, "attention");
  EXPECT_STREQ(error->argument, "k.shape[3]");
  EXPECT_STREQ(error->found, "4");
  EXPECT_STREQ(error->expected, "8 (q's head size)");
  EXPECT_STREQ(error->hint, "");
}

TEST_F(CErrors, BelongToTheirThread) {
  args.size = 0;
  ASSERT_EQ(heed_attention(&args, &attended), HEED_INVALID_ARGUMENT);
  std::thread([] {
    EXPECT_EQ(heed_last_error()->code, HEED_OK);
    EXPECT_STREQ(heed_last_error()->message, "");
    EXPECT_EQ(heed_set_thread_count(-1), HEED_INVALID_ARGUMENT);
  }).join();
  EXPECT_STREQ(heed_last_error()->argument, "args.size");
}

}  // namespace
}  // namespace heed::test
