// A cache in every form and type gives the attention of the keys that were appended.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "heed/generate.h"
#include "heed/mask.h"
#include "support/expect_error.h"
#include "support/key_forms.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

using test::random_tensor;
using test::same_bits;
using Counts = std::vector<std::int64_t>;

constexpr std::int64_t kRows = 3;
constexpr std::int64_t kCapacity = 40;

struct Kind {
  const char* name;
  KvCacheOptions options;
  bool rope = false;
};

// GoogleTest finds it by this name.
void PrintTo(const Kind& kind, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << kind.name;
}

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  const auto add = [&all](const char* name, KvForm form, DType dtype, bool rope) {
    all.push_back(
        {name,
         {.dtype = dtype, .form = form, .left = form == KvForm::kRing ? 24 : 0, .page_size = 7},
         rope});
  };
  add("Contiguous", KvForm::kContiguous, DType::kF32, false);
  add("ContiguousRope", KvForm::kContiguous, DType::kF32, true);
  add("ContiguousHalf", KvForm::kContiguous, DType::kF16, true);
  add("ContiguousInt8", KvForm::kContiguous, DType::kI8, true);
  add("Ring", KvForm::kRing, DType::kF32, false);
  add("RingBrainRope", KvForm::kRing, DType::kBF16, true);
  add("RingInt8", KvForm::kRing, DType::kI8, true);
  add("Paged", KvForm::kPaged, DType::kF32, false);
  add("PagedHalf", KvForm::kPaged, DType::kF16, false);
  add("PagedInt8Rope", KvForm::kPaged, DType::kI8, true);
  return all;
}

// Each row's tokens so far, in f32.
struct Texts {
  Tensor k = random_tensor({kRows, 2, 400, 40}, 1);
  Tensor v = random_tensor({kRows, 2, 400, 24}, 2);
  Tensor q = random_tensor({kRows, 4, 400, 40}, 3);
};

class KvForms : public testing::TestWithParam<Kind> {
 protected:
  KvCacheShape shape = {.layers = 1,
                        .batch = kRows,
                        .kv_heads = 2,
                        .capacity = kCapacity,
                        .head_dim = 40,
                        .value_dim = 24};
  Texts texts;
  Mask mask = Mask::band({.left = 24, .right = 0});

  std::optional<RopeArgs> rope_args() const {
    if (!GetParam().rope) return {};
    return RopeArgs{.rotary_dim = 32};
  }

  // Tokens lengths[b] .. of every row's own text, `most` of them.
  Tensor next(const Tensor& text, const KvCache& cache, std::int64_t most) const {
    Tensor part = Tensor::zeros({std::ssize(cache.lengths()), text.dim(1), most, text.dim(3)});
    for (std::int64_t b = 0; b < part.dim(0); ++b)
      for (std::int64_t h = 0; h < part.dim(1); ++h) {
        const std::int64_t from = cache.lengths()[static_cast<std::size_t>(b)];
        std::copy_n(
            text.data<float>() +
                ((rows[static_cast<std::size_t>(b)] * text.dim(1) + h) * text.dim(2) + from) *
                    text.dim(3),
            most * text.dim(3), part.data<float>() + (b * part.dim(1) + h) * most * text.dim(3));
      }
    return part;
  }

  // Appends counts[b] tokens, and attends from them.
  Tensor pass(KvCache& cache, const Counts& counts) const {
    const std::int64_t most = std::ranges::max(counts);
    const Tensor k = next(texts.k, cache, most);
    const Tensor v = next(texts.v, cache, most);
    const Tensor q = next(texts.q, cache, most);
    cache.append(0, {.k = k, .v = v}, counts, rope_args());
    AttentionArgs args = {
        .q = q, .keys = cache.keys(0), .extents = cache.extents(counts), .mask = mask};
    args.extents.query_length = counts;
    return std::move(attention(args).out);
  }

  // The same from the keys [first, end) of row b's text, with nothing but strides.
  Tensor expected(std::int64_t b, std::int64_t begin, std::int64_t end) const {
    const std::int64_t row = rows[static_cast<std::size_t>(b)];
    const bool is_ring = GetParam().options.form == KvForm::kRing;
    const std::int64_t first = is_ring ? std::max<std::int64_t>(begin - 24, 0) : 0;
    const auto of = [&](const Tensor& text, std::int64_t from, std::int64_t to) {
      return text.view().slice(0, row, row + 1).slice(2, from, to);
    };
    Tensor k = Tensor::copy_of(of(texts.k, first, end));
    if (const std::optional<RopeArgs> turning = rope_args()) {
      RopeArgs args = *turning;
      args.x = k;
      args.offset = {first};
      k = rope(args);
    }
    const test::HeldKeys held = test::held_as(k, of(texts.v, first, end), GetParam().options.dtype);
    AttentionArgs args = {.q = of(texts.q, begin, end), .keys = held.keys(), .mask = mask};
    args.extents.key_offset = {first};
    args.extents.q_offset = {begin};
    return std::move(attention(args).out);
  }

  void expect_pass(KvCache& cache, const Counts& counts) const {
    const Counts before(cache.lengths().begin(), cache.lengths().end());
    const Tensor out = pass(cache, counts);
    cache.advance(counts);
    for (std::size_t b = 0; b < counts.size(); ++b) {
      if (counts[b] == 0) continue;
      const auto row = static_cast<std::int64_t>(b);
      const ConstView found = out.view().slice(0, row, row + 1).slice(2, 0, counts[b]);
      EXPECT_TRUE(same_bits(found, expected(row, before[b], before[b] + counts[b]))) << "row " << b;
    }
  }

  Counts rows = {0, 1, 2};  // of the texts that go on
};

TEST_P(KvForms, PassesGiveTheAttentionOfWhatWasAppended) {
  KvCache cache(shape, GetParam().options);
  for (const Counts& counts : {Counts{9, 1, 0}, Counts{1, 1, 1}, Counts{0, 16, 3}, Counts{1, 1, 1},
                               Counts{5, 2, 16}, Counts{1, 1, 1}, Counts{7, 0, 2}})
    expect_pass(cache, counts);
}

TEST_P(KvForms, RowsThatGoOnKeepTheirTokens) {
  KvCache cache(shape, GetParam().options);
  expect_pass(cache, {9, 5, 3});
  expect_pass(cache, {11, 16, 1});
  cache.select(Counts{1, 2});
  rows = {1, 2};
  expect_pass(cache, {1, 1});
  cache.select(Counts{1});
  rows = {2};
  expect_pass(cache, {4});
}

TEST_P(KvForms, RowsMayBranch) {
  KvCache cache(shape, GetParam().options);
  expect_pass(cache, {9, 5, 3});
  for (const Counts& chosen : {Counts{2, 2, 0}, Counts{1, 2, 1}, Counts{2, 0}, Counts{1, 0, 0}}) {
    cache.select(chosen);
    Counts were;
    for (const std::int64_t row : chosen) were.push_back(rows[static_cast<std::size_t>(row)]);
    rows = were;
    expect_pass(cache, Counts(chosen.size(), 2));
  }
}

TEST_P(KvForms, ATextMayBeginWhereAnotherEnded) {
  KvCache cache(shape, GetParam().options);
  expect_pass(cache, {9, 5, 3});
  cache.clear(1);
  EXPECT_EQ(cache.lengths()[1], 0);
  expect_pass(cache, {1, 12, 1});
}

TEST_P(KvForms, APassThatDoesNotAdvanceMayBeRepeated) {
  KvCache cache(shape, GetParam().options);
  expect_pass(cache, {16, 5, 3});
  expect_pass(cache, {16, 1, 1});
  const Tensor first = pass(cache, {8, 1, 2});
  EXPECT_TRUE(same_bits(pass(cache, {8, 1, 2}), first));
}

INSTANTIATE_TEST_SUITE_P(Kinds, KvForms, testing::ValuesIn(kinds()),
                         testing::PrintToStringParamName());

// 2 rows of 1 head, D = Dv = 4.
struct Small {
  explicit Small(const KvCacheOptions& options, std::int64_t capacity = 8)
      : cache({.layers = 2,
               .batch = 2,
               .kv_heads = 1,
               .capacity = capacity,
               .head_dim = 4,
               .value_dim = 4},
              options) {}

  void append(const Counts& counts) {
    const Tensor x = random_tensor({2, 1, std::ranges::max(counts), 4}, 1);
    for (int layer = 0; layer < 2; ++layer) cache.append(layer, {.k = x, .v = x}, counts);
    cache.advance(counts);
  }
  // Every byte of layer 0's keys.
  Tensor bytes() const { return Tensor::copy_of(cache.keys(0).k); }

  KvCache cache;
};

TEST(KvRing, TakesAnyNumberOfTokensInAll) {
  Small small({.form = KvForm::kRing, .left = 5});
  for (int step = 0; step < 400; ++step) small.append({3, step % 4});
  EXPECT_EQ(small.cache.lengths()[0], 1200);
  const Extents extents = small.cache.extents(Counts{1, 1});
  EXPECT_EQ(extents.key_offset[0], 1195);
  EXPECT_EQ(extents.key_length[0], 6);
  EXPECT_EQ(extents.q_offset[0], 1200);
}

TEST(KvRing, ALargerAppendIsAnErrorBeforeAnythingIsWritten) {
  Small small({.form = KvForm::kRing, .left = 5});
  small.append({3, 3});
  const Tensor before = small.bytes();
  EXPECT_HEED_ERROR(
      small.append({1, 4}), ErrorCode::kInvalidArgument,
      "kv cache: counts[1] is 4, expected 0 to 3 (a ring of 8 slots keeps the last 5)");
  EXPECT_TRUE(same_bits(small.bytes(), before));
}

TEST(KvPages, AreTakenAsRowsGrowAndGivenBackWhenTheyEnd) {
  Small small({.form = KvForm::kPaged, .page_size = 2, .pages = 5});
  small.append({3, 5});
  EXPECT_EQ(small.cache.free_pages(), 0);
  small.append({1, 1});  // the last slots of their pages
  const Tensor before = small.bytes();
  EXPECT_HEED_ERROR(small.append({1, 2}), ErrorCode::kInvalidArgument,
                    "kv cache: counts is for 2 more pages, expected at most 0 (the free ones of "
                    "5); rows that ended give theirs back");
  EXPECT_TRUE(same_bits(small.bytes(), before));
  small.cache.clear(1);
  EXPECT_EQ(small.cache.free_pages(), 3);
  small.append({4, 2});
  small.cache.select(Counts{1});
  EXPECT_EQ(small.cache.free_pages(), 4);
}

TEST(KvPages, BranchesNeedPagesOfTheirOwn) {
  Small small({.form = KvForm::kPaged, .page_size = 2, .pages = 5});
  small.append({3, 5});
  EXPECT_HEED_ERROR(small.cache.select(Counts({1, 1})), ErrorCode::kInvalidArgument,
                    "kv cache: rows is for 1 more pages, expected at most 0 (the free ones of 5)");
  EXPECT_EQ(small.cache.lengths()[0], 3);
  small.cache.select(Counts{0, 0});
  EXPECT_EQ(small.cache.free_pages(), 1);
  small.cache.select(Counts{1});
  EXPECT_EQ(small.cache.free_pages(), 3);
}

TEST(KvPages, OneRowMayNotOutgrowItsCapacity) {
  Small small({.form = KvForm::kPaged, .page_size = 3});
  small.append({8, 2});
  EXPECT_HEED_ERROR(small.append({1, 1}), ErrorCode::kInvalidArgument,
                    "kv cache: counts[0] is 1, expected 0 to 0 (the row holds 8 of 8 tokens)");
}

TEST(KvCacheOptions, SayWhatTheyExpect) {
  EXPECT_HEED_ERROR(Small({.dtype = DType::kI32}), ErrorCode::kInvalidArgument,
                    "kv cache: dtype is i32, expected f64, f32, f16, bf16 or i8");
  EXPECT_HEED_ERROR(
      Small({.form = KvForm::kRing, .left = 8}), ErrorCode::kInvalidArgument,
      "kv cache: left is 8, expected 0 to 7, so that a ring of 8 slots has room for one more");
  EXPECT_HEED_ERROR(Small({.form = KvForm::kPaged, .page_size = 0}), ErrorCode::kInvalidArgument,
                    "kv cache: page_size is 0, expected at least 1");
  Small small({});
  const Tensor x = random_tensor({2, 1, 1, 4}, 1);
  EXPECT_HEED_ERROR(
      small.cache.append(0, {.k = x, .v = x}, Counts({1, 1}), RopeArgs{.offset = {3}}),
      ErrorCode::kInvalidArgument,
      "kv cache: rope.offset is given, expected none (rows go on where they are)");
}

TEST(KvCache, TakesAnyFloatingTypeAndStrides) {
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
    KvCache cache(
        {.layers = 1, .batch = 2, .kv_heads = 3, .capacity = 4, .head_dim = 5, .value_dim = 5});
    const Tensor x = random_tensor({2, 5, 4, 3}, 1, dtype);
    const ConstView turned = x.view().permute({0, 3, 2, 1});
    cache.append(0, {.k = turned, .v = turned}, Counts({4, 4}));
    EXPECT_TRUE(same_bits(cache.keys(0).k, Tensor::converted(turned, DType::kF32)));
  }
}

}  // namespace
}  // namespace heed
