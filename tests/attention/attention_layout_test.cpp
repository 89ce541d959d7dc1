// One problem in several layouts, on any number of threads, alone and in a batch: the same bits.
#include <gtest/gtest.h>

#include <vector>

#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/threads.h"
#include "support/every_kernel.h"
#include "support/random_tensor.h"
#include "support/score_kinds.h"

namespace heed::attention_layout_test {
namespace {

using test::for_every_kernel;
using test::random_tensor;
using test::same_bits;

constexpr std::int64_t kLengths[] = {70, 1, 0, 130};  // of queries and keys
constexpr std::int64_t kLongest = 130;
constexpr std::int64_t kTotal = 201;

struct Results {
  Tensor out, out_low, lse, dq, dk, dv, dslope, dscale;
};

Results computed(const AttentionArgs& args, const ConstView& dout) {
  Attended attended = attention(args);
  const bool all = args.scores.alibi.given();
  AttentionGrads grads = attention_backward(args, attended, dout, {.dslope = all, .dscale = all});
  return {std::move(attended.out), std::move(attended.out_low), std::move(attended.lse),
          std::move(grads.dq),     std::move(grads.dk),         std::move(grads.dv),
          std::move(grads.dslope), std::move(grads.dscale)};
}

class Layouts : public testing::TestWithParam<test::ScoreKind> {
 protected:
  // Four sequences, 4 heads over 2, padded and packed.
  Tensor q = random_tensor({4, 4, kLongest, 24}, 1, GetParam().dtype);
  Tensor k = random_tensor({4, 2, kLongest, 24}, 2, GetParam().dtype);
  Tensor v = random_tensor({4, 2, kLongest, 16}, 3, GetParam().dtype);
  Tensor dout = random_tensor({4, 4, kLongest, 16}, 4, GetParam().dtype);
  Tensor slopes = random_tensor({4}, 5);

  void TearDown() override { set_thread_count(0); }

  AttentionArgs padded() const {
    AttentionArgs args = {.q = q, .keys = {k, v}, .mask = Mask::band({.left = 90, .right = 0})};
    args.extents.query_length.assign(std::begin(kLengths), std::end(kLengths));
    args.extents.key_length = args.extents.query_length;
    args.scores = GetParam().scores;
    if (GetParam().alibi) args.scores.alibi = slopes;
    if (GetParam().dropout != 0) args.dropout = Dropout{.rate = GetParam().dropout, .seed = 5};
    return args;
  }

  // The rows that exist of [B, heads, T, D], one sequence after the other: [heads, total, D].
  static Tensor packed(const ConstView& view) {
    Shape shape = {view.dim(1), kTotal};
    std::size_t bytes = size_bytes(view.dtype());
    if (view.rank() == 4) {
      shape = {view.dim(1), kTotal, view.dim(3)};
      bytes *= static_cast<std::size_t>(view.dim(3));
    }
    Tensor all = Tensor::empty(shape, view.dtype());
    auto* to = static_cast<char*>(all.view().raw());
    for (std::int64_t h = 0; h < view.dim(1); ++h)
      for (std::int64_t b = 0; b < 4; ++b) {
        const Tensor rows =
            Tensor::copy_of(view.select(0, b).select(0, h).slice(0, 0, kLengths[b]));
        const auto count = bytes * static_cast<std::size_t>(kLengths[b]);
        if (count > 0) std::copy_n(static_cast<const char*>(rows.view().raw()), count, to);
        to += count;
      }
    return all;
  }

  void expect_same(const Results& found, const Results& expected) const {
    EXPECT_TRUE(same_bits(found.out, expected.out));
    EXPECT_TRUE(same_bits(found.out_low, expected.out_low));
    EXPECT_TRUE(same_bits(found.lse, expected.lse));
    EXPECT_TRUE(same_bits(found.dq, expected.dq));
    EXPECT_TRUE(same_bits(found.dk, expected.dk));
    EXPECT_TRUE(same_bits(found.dv, expected.dv));
    EXPECT_TRUE(same_bits(found.dslope, expected.dslope));
    EXPECT_TRUE(same_bits(found.dscale, expected.dscale));
  }

  Results packed(Results all) const {
    all.out = packed(all.out);
    if (all.out_low.given()) all.out_low = packed(all.out_low);
    if (all.lse.given()) all.lse = packed(all.lse);
    all.dq = packed(all.dq);
    all.dk = packed(all.dk);
    all.dv = packed(all.dv);
    return all;
  }
};

TEST_P(Layouts, PackedGivesTheBitsOfPadded) {
  const Tensor q_rows = packed(q);
  const Tensor k_rows = packed(k);
  const Tensor v_rows = packed(v);
  const Tensor dout_rows = packed(dout);
  for_every_kernel(padded(), [&](const AttentionArgs& each) {
    const Results expected = packed(computed(each, dout));
    AttentionArgs args = each;
    args.q = q_rows;
    args.keys = {k_rows, v_rows};
    args.extents = {.query_starts = {0, 70, 71, 71, kTotal}, .key_starts = {0, 70, 71, 71, kTotal}};
    expect_same(computed(args, dout_rows), expected);
  });
}

TEST_P(Layouts, PackedQueriesMayMeetPaddedKeys) {
  const Tensor q_rows = packed(q);
  for_every_kernel(padded(), [&](const AttentionArgs& each) {
    const Tensor expected = packed(attention(each).out);
    AttentionArgs args = each;
    args.q = q_rows;
    args.extents.query_length = {};
    args.extents.query_starts = {0, 70, 71, 71, kTotal};
    EXPECT_TRUE(same_bits(attention(args).out, expected));
  });
}

TEST_P(Layouts, StridesDoNotMatter) {
  const auto tokens = [](const Tensor& x) {  // [B, T, H, D] in memory
    return Tensor::copy_of(x.view().permute({0, 2, 1, 3}));
  };
  const auto columns = [](const Tensor& x) {  // [B, H, D, T] in memory
    return Tensor::copy_of(x.view().permute({0, 1, 3, 2}));
  };
  const Tensor q_tokens = tokens(q);
  const Tensor k_columns = columns(k);
  const Tensor v_tokens = tokens(v);
  for_every_kernel(padded(), [&](const AttentionArgs& each) {
    const Results expected = computed(each, dout);
    AttentionArgs args = each;
    args.q = q_tokens.view().permute({0, 2, 1, 3});
    args.keys = {k_columns.view().permute({0, 1, 3, 2}), v_tokens.view().permute({0, 2, 1, 3})};
    expect_same(computed(args, dout), expected);
  });
}

TEST_P(Layouts, PaddingOnTheLeftIsLikePaddingOnTheRight) {
  Tensor k_left = Tensor::zeros(k.shape(), k.dtype());
  Tensor v_left = Tensor::zeros(v.shape(), v.dtype());
  const auto move_right = [](const Tensor& from, Tensor& to) {
    const auto row = static_cast<std::size_t>(from.dim(3)) * size_bytes(from.dtype());
    for (std::int64_t b = 0; b < 4; ++b)
      for (std::int64_t g = 0; g < 2; ++g) {
        const auto head = static_cast<std::size_t>((b * 2 + g) * kLongest) * row;
        const auto gap = static_cast<std::size_t>(kLongest - kLengths[b]) * row;
        std::copy_n(static_cast<const char*>(from.view().raw()) + head,
                    static_cast<std::size_t>(kLengths[b]) * row,
                    static_cast<char*>(to.view().raw()) + head + gap);
      }
  };
  move_right(k, k_left);
  move_right(v, v_left);
  for_every_kernel(padded(), [&](const AttentionArgs& each) {
    const Results expected = computed(each, dout);
    AttentionArgs args = each;
    args.keys = {k_left, v_left};
    for (const std::int64_t length : kLengths) args.extents.key_begin.push_back(kLongest - length);
    Results found = computed(args, dout);
    EXPECT_TRUE(same_bits(found.out, expected.out));
    EXPECT_TRUE(same_bits(found.dq, expected.dq));
    EXPECT_TRUE(same_bits(found.dk.view().select(0, 3), expected.dk.view().select(0, 3)));
  });
}

TEST_P(Layouts, ThreadsDoNotMatter) {
  for_every_kernel(padded(), [&](const AttentionArgs& each) {
    set_thread_count(1);
    const Results expected = computed(each, dout);
    for (const int threads : {2, 3, 4, 7}) {
      set_thread_count(threads);
      expect_same(computed(each, dout), expected);
    }
  });
}

// Dropout's counter includes the batch, so a sequence keeps its index there.
TEST_P(Layouts, TheRestOfTheBatchDoesNotMatter) {
  if (GetParam().dropout != 0) GTEST_SKIP() << "dropout differs between the sequences of a batch";
  for_every_kernel(padded(), [&](const AttentionArgs& each) {
    const Results all = computed(each, dout);
    AttentionArgs alone = each;
    const auto last = [](const ConstView& x) { return x.slice(0, 3, 4); };
    alone.q = last(q);
    alone.keys = {last(k), last(v)};
    alone.extents = {};
    const Results one = computed(alone, last(dout));
    EXPECT_TRUE(same_bits(one.out, last(all.out)));
    EXPECT_TRUE(same_bits(one.dq, last(all.dq)));
    EXPECT_TRUE(same_bits(one.dk, last(all.dk)));
    EXPECT_TRUE(same_bits(one.dv, last(all.dv)));
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, Layouts, testing::ValuesIn(test::score_kinds()),
                         testing::PrintToStringParamName());

const test::ScoreKind kTypes[] = {{.name = "Half", .alibi = true, .dtype = DType::kF16},
                                  {.name = "Double", .alibi = true, .dtype = DType::kF64}};
INSTANTIATE_TEST_SUITE_P(Types, Layouts, testing::ValuesIn(kTypes),
                         testing::PrintToStringParamName());

// dbias is summed by tasks that own their block: in a fixed order.
TEST(BiasGradient, HasTheSameBitsForAnyNumberOfThreads) {
  const Tensor q = random_tensor({2, 4, 130, 16}, 1);
  const Tensor kv = random_tensor({2, 2, 130, 16}, 2);
  for (const Shape& shape : {Shape{130, 130}, Shape{4, 1, 1}, Shape{1, 130}, Shape{1}}) {
    const Tensor bias = random_tensor(shape, 3);
    const AttentionArgs args = {
        .q = q, .keys = {kv, kv}, .mask = Mask::causal(), .scores = {.bias = bias}};
    const Attended attended = attention(args);
    set_thread_count(1);
    const Tensor expected = attention_backward(args, attended, q, {.dbias = true}).dbias;
    for (const int threads : {2, 3, 4, 7}) {
      set_thread_count(threads);
      EXPECT_TRUE(
          same_bits(attention_backward(args, attended, q, {.dbias = true}).dbias, expected));
    }
    set_thread_count(0);
  }
}

}  // namespace
}  // namespace heed::attention_layout_test
