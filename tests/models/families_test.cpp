// The promises of every family, on one tiny configuration per variant.
// tests/inspect/golden_check_test.cpp compares their numbers with transformers.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "heed/generate.h"
#include "heed/model.h"
#include "support/family_configs.h"
#include "support/model_gradients.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed {
namespace {

using Counts = std::vector<std::int64_t>;

// Two texts of 7 tokens, with types and sources where the model reads them.
struct Inputs {
  explicit Inputs(const ModelInfo& info)
      : ids(test::random_ids({2, 7}, 11, 1)),
        types(test::random_ids({2, 7}, static_cast<int>(info.token_types), 2)),
        source(test::random_ids({2, 5}, 11, 3)) {
    batch.ids = ids;
    if (info.token_types > 1) batch.types = types;
    if (info.reads_source()) {
      batch.source = source;
      batch.source_lengths = {5, 3};
    }
  }

  Tensor ids, types, source;
  Batch batch;
};

class Families : public testing::TestWithParam<test::FamilyConfig> {
 protected:
  std::unique_ptr<Model> model_ = make_model(complete(GetParam()).dump(), 1);
};

TEST_P(Families, GradientsAreFiniteDifferences) {
  if (!GetParam().has_f64) GTEST_SKIP() << "it computes in f32 alone";
  const Inputs inputs(model_->info());
  const heed::Run run{.extents = {.query_length = {7, 4}, .key_length = {7, 4}}, .dropout_seed = 3};
  test::expect_model_gradients(*model_, inputs.batch, run, test::random_ids({2, 7}, 11, 4));
}

// Each row's own length counts where positions scale with it: alone it is as long as in no batch.
TEST_P(Families, PaddingHasNoInfluence) {
  const Inputs inputs(model_->info());
  heed::Run run;
  run.extents = {.query_length = {7, 4}, .key_length = {7, 4}};
  const Tensor before = model_->forward(inputs.batch, run);
  Inputs others(model_->info());
  for (std::int64_t t = 4; t < 7; ++t) others.ids.data<std::int32_t>()[7 + t] = 5;
  for (std::int64_t t = 3; t < 5; ++t) others.source.data<std::int32_t>()[5 + t] = 5;
  const Tensor after = model_->forward(others.batch, run);
  EXPECT_TRUE(test::same_bits(before.view().select(0, 0), after.view().select(0, 0)));
  EXPECT_TRUE(test::same_bits(before.view().select(0, 1).slice(0, 0, 4),
                              after.view().select(0, 1).slice(0, 0, 4)));
}

TEST_P(Families, TheLastPositionAloneIsTheLastOfAll) {
  const Inputs inputs(model_->info());
  heed::Run run;
  run.extents = {.query_length = {7, 4}, .key_length = {7, 4}};
  const Tensor all = model_->forward(inputs.batch, run);
  run.last_position_only = true;
  const Tensor last = model_->forward(inputs.batch, run);
  EXPECT_LE(test::largest_difference(last.view().select(0, 0).select(0, 0),
                                     all.view().select(0, 0).select(0, 6)),
            1e-6);
  EXPECT_LE(test::largest_difference(last.view().select(0, 1).select(0, 0),
                                     all.view().select(0, 1).select(0, 3)),
            1e-6);
}

// Text by text, so that positions that scale with the length do so in both.
TEST_P(Families, OverACacheLogitsAreThoseOfTheWholeText) {
  const ModelInfo& info = model_->info();
  if (!info.causal && !info.reads_source()) GTEST_SKIP() << "an encoder writes no text";
  const Inputs inputs(info);
  KvCache cache = make_cache(*model_, 1, 7);
  for (const Counts& piece : {Counts{0, 3}, Counts{3, 4}, Counts{4, 7}}) {
    const Tensor whole_ids =
        Tensor::copy_of(inputs.ids.view().slice(0, 0, 1).slice(1, 0, piece[1]));
    const Tensor part = Tensor::copy_of(whole_ids.view().slice(1, piece[0], piece[1]));
    Batch whole = {.ids = whole_ids};
    if (info.reads_source()) whole.source = inputs.source.view().slice(0, 0, 1);
    heed::Run plain;
    plain.last_position_only = true;
    const Tensor expected = model_->forward(whole, plain);
    heed::Run run;
    run.cache = &cache;
    run.last_position_only = true;
    Batch batch = {.ids = part};
    if (piece[0] == 0) batch.source = whole.source;
    EXPECT_LE(test::largest_difference(model_->forward(batch, run), expected), 1e-5) << piece[0];
  }
}

TEST_P(Families, WhatIsSavedLoadsTheSame) {
  const test::Scratch scratch;
  save_model(scratch / "saved", *model_, nullptr, DType::kF32);
  const LoadedModel loaded = load_model(scratch / "saved");
  const Inputs inputs(model_->info());
  heed::Run run;
  heed::Run again;
  EXPECT_TRUE(test::same_bits(loaded.model->forward(inputs.batch, run),
                              model_->forward(inputs.batch, again)));
  EXPECT_EQ(why_not_loaded(scratch / "saved"),
            "it has no tokenizer, so only token ids can be read");
}

TEST_P(Families, StacksTellEveryAttentionOfAPass) {
  struct Counter : Tap {
    void attended(const TapName& name, const AttentionArgs& args,
                  const AttendedConstView& /*attended*/) override {
      heads[static_cast<std::size_t>(name.stack)] += static_cast<int>(args.q.dim(1));
    }
    std::array<int, 4> heads = {};
  };
  Counter counter;
  const Inputs inputs(model_->info());
  heed::Run run;
  run.tap = &counter;
  model_->forward(inputs.batch, run);
  std::array<int, 4> told = {};
  for (const StackShape& stack : model_->info().stacks)
    told[static_cast<std::size_t>(stack.stack)] += stack.attention_layers() * stack.heads;
  EXPECT_EQ(counter.heads, told);
}

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(test::kFamilyConfigs),
                         [](const testing::TestParamInfo<test::FamilyConfig>& family) {
                           return family.param.name;
                         });

}  // namespace
}  // namespace heed
