// GPT-2 over a cache: the same logits as a pass over the whole text.
#include <gtest/gtest.h>

#include <filesystem>

#include "heed/generate.h"
#include "heed/model.h"
#include "io/tensor_files.h"
#include "support/expect_error.h"
#include "support/golden.h"
#include "support/places.h"
#include "support/random_tensor.h"
#include "support/shared_data.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using Counts = std::vector<std::int64_t>;

constexpr std::string_view kTiny = R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 8,
  "n_positions": 6, "vocab_size": 11})";

// Tokens [begin, begin + counts[b]) of row b; what is past a row's count is not its next token.
Tensor cut(const Tensor& ids, const Counts& begin, const Counts& counts) {
  const std::int64_t most = *std::ranges::max_element(counts);
  Tensor part = Tensor::zeros({ids.dim(0), most}, DType::kI32);
  for (std::size_t b = 0; b < counts.size(); ++b)
    for (std::int64_t i = 0; i < counts[b]; ++i)
      part.data<std::int32_t>()[static_cast<std::int64_t>(b) * most + i] =
          ids.data<std::int32_t>()[static_cast<std::int64_t>(b) * ids.dim(1) + begin[b] + i];
  return part;
}

// Feeds `pieces` one after the other and compares every logit with those of one whole pass.
void expect_same_logits(const Model& model, const Tensor& ids, const std::vector<Counts>& pieces) {
  heed::Run whole;
  const Tensor expected = model.forward({.ids = ids}, whole);
  KvCache cache = make_cache(model, ids.dim(0), ids.dim(1));
  for (const Counts& counts : pieces) {
    const Counts begin(cache.lengths().begin(), cache.lengths().end());
    heed::Run run;
    run.cache = &cache;
    run.extents.query_length = counts;
    const Tensor part = cut(ids, begin, counts);
    const Tensor logits = model.forward({.ids = part}, run);
    for (std::int64_t b = 0; b < ids.dim(0); ++b) {
      const auto row = static_cast<std::size_t>(b);
      const ConstView got = logits.view().select(0, b).slice(0, 0, counts[row]);
      const ConstView want =
          expected.view().select(0, b).slice(0, begin[row], begin[row] + counts[row]);
      EXPECT_LE(test::largest_difference(got, want), 1e-5) << "row " << b << " from " << begin[row];
    }
  }
  EXPECT_EQ(cache.lengths()[0], ids.dim(1));
}

void expect_golden_over_cache(const fs::path& folder) {
  const LoadedModel loaded = load_model(folder);
  const Safetensors golden = Safetensors::open(folder / "golden.safetensors");
  const Tensor ids = test::ids_of(golden, "input_ids");
  const std::int64_t length = ids.dim(1);
  const auto rows = static_cast<std::size_t>(ids.dim(0));
  expect_same_logits(*loaded.model, ids,
                     std::vector<Counts>(static_cast<std::size_t>(length), Counts(rows, 1)));
  expect_same_logits(*loaded.model, ids,
                     {Counts(rows, 3), Counts(rows, 1), Counts(rows, length - 4)});
}

TEST(Gpt2Cache, LogitsAreThoseOfTheWholeTextAtEveryPosition) {
  expect_golden_over_cache(fs::path(HEED_SOURCE_DIR) / "tests/models/golden/gpt2");
}

TEST(Gpt2Cache, LogitsOfPublishedModelsAreThoseOfTheWholeText) {
  HEED_NEEDS_SHARED("models/tiny/gpt2");
  for (const char* name :
       {"tiny/gpt2", "tiny/gpt2-inverse-layer-scale", "makemore-induction", "gpt-nano-sort"})
    expect_golden_over_cache(test::shared_data() / "models" / name);
}

TEST(Gpt2Cache, RowsMayStandAtDifferentPlaces) {
  const auto model = make_model(kTiny, 1);
  const Tensor ids = test::random_ids({3, 6}, 11, 1);
  expect_same_logits(*model, ids, {{1, 4, 2}, {3, 1, 0}, {1, 1, 3}, {1, 0, 1}});
}

TEST(Gpt2Cache, TheLastPositionIsEachRowsOwn) {
  const auto model = make_model(kTiny, 1);
  const Tensor ids = test::random_ids({3, 5}, 11, 1);
  heed::Run run;
  const Tensor all = model->forward({.ids = ids}, run);
  run.extents.query_length = {2, 5, 1};
  run.extents.key_length = {2, 5, 1};
  run.last_position_only = true;
  const Tensor last = model->forward({.ids = ids}, run);
  const Counts at = {1, 4, 0};
  for (std::int64_t b = 0; b < 3; ++b)
    EXPECT_TRUE(test::same_bits(last.view().select(0, b).select(0, 0),
                                all.view().select(0, b).select(0, at[static_cast<std::size_t>(b)])))
        << b;
}

TEST(Gpt2Cache, AFailedPassLeavesTheCacheAsItWas) {
  const auto model = make_model(kTiny, 1);
  KvCache cache = make_cache(*model, 1, 6);
  heed::Run run;
  run.cache = &cache;
  const Tensor first = test::random_ids({1, 4}, 11, 1);
  model->forward({.ids = first}, run);
  Tensor unknown = Tensor::zeros({1, 1}, DType::kI32);
  unknown.data<std::int32_t>()[0] = 11;
  EXPECT_THROW(model->forward({.ids = unknown}, run), Error);
  const Tensor three = Tensor::zeros({1, 3}, DType::kI32);
  EXPECT_HEED_ERROR(model->forward({.ids = three}, run), ErrorCode::kInvalidArgument,
                    "kv cache: counts[0] is 3, expected 0 to 2 (the row holds 4 of 6 tokens)");
  EXPECT_EQ(cache.lengths()[0], 4);
}

TEST(Gpt2Cache, ATextPastThePositionsIsAnError) {
  const auto model = make_model(kTiny, 1);
  KvCache cache = make_cache(*model, 1, 9);
  heed::Run run;
  run.cache = &cache;
  const Tensor four = Tensor::zeros({1, 4}, DType::kI32);
  const Tensor three = Tensor::zeros({1, 3}, DType::kI32);
  model->forward({.ids = four}, run);
  EXPECT_HEED_ERROR(
      model->forward({.ids = three}, run), ErrorCode::kInvalidArgument,
      "gpt2: ids is 3 tokens long behind 4 in the cache, in row 0, expected at most 6 in "
      "all (the model's positions)");
}

TEST(Gpt2Cache, WhatACacheDoesNotServeIsAnError) {
  const auto model = make_model(kTiny, 1);
  KvCache cache = make_cache(*model, 1, 6);
  const Tensor ids = Tensor::zeros({1, 2}, DType::kI32);
  Saved saved;
  heed::Run run;
  run.cache = &cache;
  run.saved = &saved;
  EXPECT_HEED_ERROR(
      model->forward({.ids = ids}, run), ErrorCode::kInvalidArgument,
      "gpt2: run.cache is given with run.saved, expected one of them: backward needs the whole "
      "text");
  run.saved = nullptr;
  run.extents.key_begin = {1};
  EXPECT_HEED_ERROR(model->forward({.ids = ids}, run), ErrorCode::kInvalidArgument,
                    "gpt2: run.extents is given for keys or offsets, expected query_length alone: "
                    "the cache knows the others");
  run.extents = {.query_length = {3}};
  EXPECT_HEED_ERROR(model->forward({.ids = ids}, run), ErrorCode::kInvalidArgument,
                    "run: extents.query_length is 3, expected 0 to 2, the tokens given");
  run.extents = {.query_length = {1, 1}};
  EXPECT_HEED_ERROR(
      model->forward({.ids = ids}, run), ErrorCode::kInvalidArgument,
      "run: extents.query_length is a list of 2, expected none, one or 1 entries (the batch)");
}

}  // namespace
}  // namespace heed
