// The same keys in every form, contiguous, packed, paged and in a ring, in every type: the same
// bits.
#include <gtest/gtest.h>

#include <vector>

#include "base/machine.h"
#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/observe.h"
#include "heed/threads.h"
#include "support/every_kernel.h"
#include "support/key_forms.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::for_every_kernel;
using test::HeldKeys;
using test::random_tensor;
using test::same_bits;
using Lengths = std::vector<std::int64_t>;

const Lengths kKeyLengths = {70, 1, 0, 130, 64};
constexpr std::int64_t kLongest = 130;
constexpr std::int64_t kBatch = 5;

struct Kind {
  const char* name;
  DType keys = DType::kF32;
  DType queries = DType::kF32;
  Mask mask = {};
  Scores scores = {};
  std::int64_t query_length = 1;
  std::int64_t heads = 4;  // over 2
  // 40 columns are a group of 32 and a shorter one. The products of a few rows read i8 in place
  // only if both widths are multiples of 16.
  std::int64_t head_dim = 40;
  std::int64_t value_dim = 24;
};

// GoogleTest finds it by this name.
void PrintTo(const Kind& kind, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << kind.name;
}

std::vector<Kind> kinds() {
  const Mask window = Mask::band({.left = 40, .right = 0});
  return {
      {.name = "DecodeStep"},
      {.name = "Chunk", .mask = Mask::causal(), .query_length = 5},
      {.name = "Window", .mask = window, .query_length = 70},
      {.name = "Half", .keys = DType::kF16, .mask = Mask::causal(), .query_length = 3},
      {.name = "Brain", .keys = DType::kBF16, .mask = window, .query_length = 3},
      {.name = "Int8", .keys = DType::kI8, .mask = Mask::causal(), .query_length = 3},
      {.name = "Int8Window", .keys = DType::kI8, .mask = window, .query_length = 66},
      {.name = "HalfQueries", .keys = DType::kF16, .queries = DType::kF16, .query_length = 2},
      // Multiplied in pairs on some CPUs.
      {.name = "Brains",
       .keys = DType::kBF16,
       .queries = DType::kBF16,
       .mask = window,
       .query_length = 20,
       .head_dim = 64},
      {.name = "Int8UnderBrain", .keys = DType::kI8, .queries = DType::kBF16, .query_length = 2},
      {.name = "Double", .keys = DType::kF64, .queries = DType::kF64, .query_length = 2},
      {.name = "Int8UnderDouble", .keys = DType::kI8, .queries = DType::kF64, .query_length = 2},
      {.name = "Cosine",
       .keys = DType::kI8,
       .scores = {.similarity = Similarity::kCosine},
       .query_length = 2},
      {.name = "WideStep", .heads = 2, .head_dim = 80, .value_dim = 48},
      {.name = "WideChunk", .query_length = 3, .head_dim = 80, .value_dim = 48},
      {.name = "WideHalf", .keys = DType::kF16, .head_dim = 80, .value_dim = 48},
      {.name = "WideHalfStep", .keys = DType::kF16, .heads = 2, .head_dim = 64, .value_dim = 80},
      {.name = "WideInt8", .keys = DType::kI8, .head_dim = 80, .value_dim = 48},
      {.name = "WideInt8Step", .keys = DType::kI8, .heads = 2, .head_dim = 144, .value_dim = 112},
      {.name = "WideInt8Chunk",
       .keys = DType::kI8,
       .query_length = 4,
       .head_dim = 144,
       .value_dim = 80},
      {.name = "Sigmoid", .scores = {.normaliser = Normaliser::kSigmoid}, .query_length = 2},
  };
}

struct Results {
  Tensor out, lse, dq, received, entropy_dq;
};

class KeyForms : public testing::TestWithParam<Kind> {
 protected:
  const Kind& kind = GetParam();
  Tensor q = random_tensor({kBatch, kind.heads, kind.query_length, kind.head_dim}, 1, kind.queries);
  Tensor dout =
      random_tensor({kBatch, kind.heads, kind.query_length, kind.value_dim}, 4, kind.queries);
  Tensor dentropy = random_tensor({kBatch, kind.heads, kind.query_length}, 5,
                                  kind.queries == DType::kF64 ? DType::kF64 : DType::kF32);
  HeldKeys contiguous =
      test::held_as(random_tensor({kBatch, 2, kLongest, kind.head_dim}, 2),
                    random_tensor({kBatch, 2, kLongest, kind.value_dim}, 3), kind.keys);

  void TearDown() override { set_thread_count(0); }

  AttentionArgs problem(const Keys& keys) const {
    AttentionArgs args = {
        .q = q, .keys = keys, .mask = GetParam().mask, .scores = GetParam().scores};
    args.extents.key_length = kKeyLengths;
    args.extents.key_offset = {3, 0, 5, 1000, 0};
    return args;
  }

  Results computed(AttentionArgs args, const Keys& keys) const {
    args.keys = keys;
    Attended attended = attention(args);
    AttentionGrads grads = attention_backward(args, attended, dout, {.dk = false, .dv = false});
    ReceivedObserver received;
    Observer* const observers[] = {&received};
    observe(args, attended, observers);
    AttentionGrads of_entropy =
        observe_backward(args, attended, {.dentropy = dentropy}, {.dk = false, .dv = false});
    return {std::move(attended.out), std::move(attended.lse), std::move(grads.dq),
            std::move(received.received), std::move(of_entropy.dq)};
  }

  // The extent of keys in an observer's answer is that of the memory: the keys themselves.
  static void expect_same(const Results& found, const Results& expected) {
    EXPECT_TRUE(same_bits(found.out, expected.out));
    EXPECT_TRUE(same_bits(found.lse, expected.lse));
    EXPECT_TRUE(same_bits(found.dq, expected.dq));
    EXPECT_TRUE(same_bits(found.entropy_dq, expected.entropy_dq));
    const int axis = found.received.rank() - 1;
    EXPECT_TRUE(same_bits(found.received.view().slice(axis, 0, kLongest),
                          expected.received.view().slice(axis, 0, kLongest)));
  }
};

TEST_P(KeyForms, PagesOfAnySizeGiveTheBitsOfOneRow) {
  for_every_kernel(problem(contiguous.keys()), [&](const AttentionArgs& each) {
    const Results expected = computed(each, contiguous.keys());
    for (const std::int64_t size : {1, 3, 16, 24, 32, 64, 256}) {
      SCOPED_TRACE(size);
      const HeldKeys pages = test::paged(contiguous, size, kKeyLengths);
      expect_same(computed(each, pages.keys()), expected);
    }
  });
}

TEST_P(KeyForms, ARingGivesThemWhereverItBegins) {
  const Lengths begins[] = {
      {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {129, 64, 100, 70, 129}, {100, 129, 0, 1, 65}};
  for_every_kernel(problem(contiguous.keys()), [&](const AttentionArgs& each) {
    const Results expected = computed(each, contiguous.keys());
    for (const std::int64_t slots : {kLongest, kLongest + 37})
      for (const Lengths& begin : begins) {
        SCOPED_TRACE(begin[0]);
        const HeldKeys ring = test::ring(contiguous, slots, begin, kKeyLengths);
        expect_same(computed(each, ring.keys()), expected);
      }
  });
}

TEST_P(KeyForms, PackedGivesThem) {
  HeldKeys packed =
      test::rearranged(contiguous, {1, 265}, kKeyLengths, [](std::int64_t b, std::int64_t j) {
        const std::int64_t starts[] = {0, 70, 71, 71, 201};
        return test::Slot{0, starts[b] + j};
      });
  const auto one = [](const Tensor& x) { return x.given() ? x.view().select(0, 0) : ConstView(); };
  const Keys keys = {.k = one(packed.k),
                     .v = one(packed.v),
                     .k_scales = one(packed.k_scales),
                     .v_scales = one(packed.v_scales)};
  for_every_kernel(problem(contiguous.keys()), [&](const AttentionArgs& each) {
    const Results expected = computed(each, contiguous.keys());
    AttentionArgs args = each;
    args.extents.key_length = {};
    args.extents.key_starts = {0, 70, 71, 71, 201, 265};
    expect_same(computed(args, keys), expected);
  });
}

// [pages, P, G, D] in memory, the layout of other libraries.
TEST_P(KeyForms, StridesOfPagesDoNotMatter) {
  const HeldKeys pages = test::paged(contiguous, 16, kKeyLengths, DType::kI64);
  const auto swapped = [](const Tensor& x) {
    return x.given() ? Tensor::copy_of(x.view().permute({0, 2, 1, 3})) : Tensor();
  };
  const Tensor k = swapped(pages.k), v = swapped(pages.v);
  const Tensor k_scales = swapped(pages.k_scales), v_scales = swapped(pages.v_scales);
  const auto back = [](const Tensor& x) {
    return x.given() ? x.view().permute({0, 2, 1, 3}) : ConstView();
  };
  Keys keys = pages.keys();
  keys.k = back(k);
  keys.v = back(v);
  keys.k_scales = back(k_scales);
  keys.v_scales = back(v_scales);
  for_every_kernel(problem(contiguous.keys()), [&](const AttentionArgs& each) {
    expect_same(computed(each, keys), computed(each, contiguous.keys()));
  });
}

TEST_P(KeyForms, PaddingOnTheLeftOfThePagesDoesNotMatter) {
  constexpr std::int64_t kPad = 21;
  const auto moved = [](const Tensor& x) {
    if (!x.given()) return Tensor();
    return test::scattered(x, {x.dim(0), x.dim(2) + kPad}, kKeyLengths,
                           [](std::int64_t b, std::int64_t j) { return test::Slot{b, kPad + j}; });
  };
  const HeldKeys padded = {.k = moved(contiguous.k),
                           .v = moved(contiguous.v),
                           .k_scales = moved(contiguous.k_scales),
                           .v_scales = moved(contiguous.v_scales)};
  Lengths lengths = kKeyLengths;
  for (std::int64_t& length : lengths) length += length > 0 ? kPad : 0;
  const HeldKeys pages = test::paged(padded, 8, lengths);
  for_every_kernel(problem(contiguous.keys()), [&](const AttentionArgs& each) {
    AttentionArgs args = each;
    args.extents.key_begin = {kPad};
    expect_same(computed(args, pages.keys()), computed(each, contiguous.keys()));
  });
}

// Chunks of several texts, one after the other, over a cache in pages.
TEST_P(KeyForms, PackedQueriesMayMeetPages) {
  const HeldKeys pages = test::paged(contiguous, 16, kKeyLengths);
  const std::int64_t rows = GetParam().query_length;
  const auto packed = [&](const Tensor& x) {  // [H, B * T, D]
    return Tensor::copy_of(x.view().permute({1, 0, 2, 3}))
        .reshaped({kind.heads, kBatch * rows, x.dim(3)});
  };
  const Tensor q_rows = packed(q);
  for_every_kernel(problem(contiguous.keys()), [&](const AttentionArgs& each) {
    AttentionArgs args = each;
    args.q = q_rows;
    args.keys = pages.keys();
    for (std::int64_t b = 0; b <= kBatch; ++b) args.extents.query_starts.push_back(b * rows);
    EXPECT_TRUE(same_bits(attention(args).out, packed(attention(each).out)));
  });
}

TEST_P(KeyForms, ThreadsDoNotMatter) {
  const HeldKeys pages = test::paged(contiguous, 16, kKeyLengths);
  for_every_kernel(problem(contiguous.keys()), [&](const AttentionArgs& each) {
    set_thread_count(1);
    const Results expected = computed(each, pages.keys());
    for (const int threads : {2, 3, 4, 7}) {
      set_thread_count(threads);
      expect_same(computed(each, pages.keys()), expected);
    }
  });
}

TEST_P(KeyForms, TheRestOfTheBatchDoesNotMatter) {
  const HeldKeys pages = test::paged(contiguous, 16, kKeyLengths);
  for_every_kernel(problem(contiguous.keys()), [&](const AttentionArgs& each) {
    const Results all = computed(each, pages.keys());
    AttentionArgs alone = each;
    alone.q = q.view().slice(0, 3, 4);
    alone.keys = pages.keys();
    alone.keys.page_table = pages.table.view().slice(0, 3, 4);
    alone.extents.key_length = {kKeyLengths[3]};
    alone.extents.key_offset = {1000};
    EXPECT_TRUE(same_bits(attention(alone).out, all.out.view().slice(0, 3, 4)));
  });
}

// Exactly: an element of 8 or 16 bits is an f32.
TEST_P(KeyForms, NarrowKeysAreTheirValuesInF32) {
  if (GetParam().keys == DType::kF64) GTEST_SKIP() << "f64 is not narrow";
  if (GetParam().keys == DType::kBF16 && GetParam().queries == DType::kBF16 &&
      multiplies_bf16_fast())
    GTEST_SKIP() << "gradients of bf16 are those of rounded weights";
  const auto wide = [](const Tensor& values, const Tensor& scales) {
    return scales.given() ? dequantise(values, scales) : Tensor::converted(values, DType::kF32);
  };
  const Tensor k = wide(contiguous.k, contiguous.k_scales);
  const Tensor v = wide(contiguous.v, contiguous.v_scales);
  for_every_kernel(problem(contiguous.keys()), [&](const AttentionArgs& each) {
    expect_same(computed(each, contiguous.keys()), computed(each, {.k = k, .v = v}));
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, KeyForms, testing::ValuesIn(kinds()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace heed
