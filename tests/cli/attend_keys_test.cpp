// `heed attend` with pages, rings and i8: what the operator gives for one row after the other.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/inputs.h"
#include "cli/program.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/tensor.h"
#include "support/key_forms.h"
#include "support/random_tensor.h"

namespace heed::cli {
namespace {

using test::Answer;
using test::HeldKeys;
using test::in_scratch;
using test::list_of;
using test::random_tensor;
using test::written;

// B 2, H 4, G 2, Tq 3, D 40, Dv 24; 21 and 9 keys.
class AttendKeys : public testing::Test {
 protected:
  const std::vector<std::int64_t> lengths = {21, 9};
  Tensor q = random_tensor({2, 4, 3, 40}, 1);
  Tensor k = random_tensor({2, 2, 21, 40}, 2);
  Tensor v = random_tensor({2, 2, 21, 24}, 3);

  AttentionArgs problem(const HeldKeys& held) const {
    AttentionArgs args = {.q = q, .keys = held.keys(), .mask = Mask::causal()};
    args.extents.key_length = lengths;
    return args;
  }

  Answer run(const HeldKeys& held, const std::vector<std::string>& options) const {
    std::vector<std::string> all = {
        "attend",   written("q.npy", q), written("k.npy", held.k), written("v.npy", held.v),
        "--causal", "bottom-right",      "--key-lengths",          list_of("lengths.npy", lengths),
        "-o",       in_scratch("o.npy")};
    if (held.k_scales.given())
      all.insert(all.end(), {"--k-scales", written("ks.npy", held.k_scales), "--v-scales",
                             written("vs.npy", held.v_scales)});
    all.insert(all.end(), options.begin(), options.end());
    return test::heed(all);
  }

  void expect_out(const HeldKeys& contiguous, const HeldKeys& held,
                  const std::vector<std::string>& options) const {
    const Answer answer = run(held, options);
    ASSERT_EQ(answer.status, 0) << answer.error;
    EXPECT_TRUE(test::same_bits(read_npy(in_scratch("o.npy")), attention(problem(contiguous)).out));
  }
};

TEST_F(AttendKeys, Pages) {
  const HeldKeys contiguous = test::held_as(k, v, DType::kF32);
  const HeldKeys pages = test::paged(contiguous, 4, lengths);
  expect_out(contiguous, pages, {"--page-table", written("table.npy", pages.table)});
}

TEST_F(AttendKeys, PagesOfInt8) {
  const HeldKeys contiguous = test::held_as(k, v, DType::kI8);
  const HeldKeys pages = test::paged(contiguous, 16, lengths, DType::kI64);
  expect_out(contiguous, pages, {"--page-table", written("table.npy", pages.table)});
}

TEST_F(AttendKeys, RingsOfHalves) {
  const HeldKeys contiguous = test::held_as(k, v, DType::kF16);
  const HeldKeys ring = test::ring(contiguous, 25, {24, 3}, lengths);
  expect_out(contiguous, ring, {"--ring-begin", list_of("begin.npy", {24, 3})});
}

TEST_F(AttendKeys, GiveTheGradientOfTheQueriesAlone) {
  const HeldKeys contiguous = test::held_as(k, v, DType::kF32);
  const HeldKeys pages = test::paged(contiguous, 4, lengths);
  const Tensor dout = random_tensor({2, 4, 3, 24}, 4);
  const std::string folder = in_scratch("pages-grads");
  std::filesystem::remove_all(folder);
  const Answer answer = run(pages, {"--page-table", written("table.npy", pages.table), "--grad",
                                    written("dout.npy", dout), "--grad-out", folder});
  ASSERT_EQ(answer.status, 0) << answer.error;
  const AttentionArgs args = problem(contiguous);
  EXPECT_TRUE(test::same_bits(read_npy(folder + "/dq.npy"),
                              attention_backward(args, attention(args), dout).dq));
  EXPECT_FALSE(std::filesystem::exists(folder + "/dk.npy"));
}

TEST_F(AttendKeys, WhatDoesNotFitIsOneLine) {
  const HeldKeys contiguous = test::held_as(k, v, DType::kF32);
  const HeldKeys pages = test::paged(contiguous, 4, lengths);
  const Answer answer = run(pages, {"--page-table", list_of("table.npy", {0, 1})});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.error,
            "heed attend: --page-table is i64 [2], expected i32 or i64 [B, pages a row]\n");
}

}  // namespace
}  // namespace heed::cli
