// Labels of texts and of tokens, in each family that has such heads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "heed/error.h"
#include "heed/model.h"
#include "models/training_config.h"
#include "support/model_gradients.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed {
namespace {

struct Case {
  const char* model_type;
  bool by_text;
};

constexpr Case kCases[] = {
    {"bert", true},    {"bert", false},  {"roberta", true}, {"distilbert", true}, {"gpt2", true},
    {"gpt2", false},   {"llama", true},  {"llama", false},  {"gemma2", true},     {"t5", true},
    {"electra", true}, {"albert", true}, {"mpnet", false}};

std::string config_of(const Case& one) {
  if (std::string_view(one.model_type) == "t5")  // any of its tokens ends a text
    return R"({"model_type": "t5", "architectures": ["T5ForSequenceClassification"],
      "vocab_size": 11, "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2,
      "dropout_rate": 0, "eos_token_id": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      "id2label": {"0": "no", "1": "maybe", "2": "yes"}})";
  return training_config(
      {.trained_for = one.by_text ? TrainedFor::kTextClasses : TrainedFor::kTokenClasses,
       .vocabulary = 11,
       .positions = 8,
       .layers = 1,
       .heads = 2,
       .width = 8,
       .pad_token = 0,
       .labels = {"no", "maybe", "yes"}},
      fmt::format(R"({{"model_type": "{}"}})", one.model_type));
}

class Classifiers : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Model> model_ = make_model(config_of(GetParam()), 1);
};

TEST_P(Classifiers, GradientsAreFiniteDifferences) {
  const Tensor ids = test::random_ids({2, 7}, 11, 1);
  const std::int64_t targets = GetParam().by_text ? 1 : 7;
  heed::Run run{.extents = {.query_length = {7, 4}, .key_length = {7, 4}}};
  EXPECT_EQ(model_->forward({.ids = ids}, run).shape(), (Shape{2, targets, 3}));
  test::expect_model_gradients(*model_, {.ids = ids}, run, test::random_ids({2, targets}, 3, 4),
                               /*smoothing=*/0.1);
}

TEST_P(Classifiers, WhatIsSavedLoadsTheSameWithItsLabels) {
  const test::Scratch scratch;
  save_model(scratch / "saved", *model_, nullptr, DType::kF32);
  const LoadedClassifier loaded = load_classifier(scratch / "saved");
  EXPECT_EQ(loaded.labels, (std::vector<std::string>{"no", "maybe", "yes"}));
  EXPECT_EQ(loaded.by_text, GetParam().by_text);
  const Tensor ids = test::random_ids({2, 7}, 11, 1);
  heed::Run run;
  EXPECT_TRUE(test::same_bits(loaded.model->forward({.ids = ids}, run),
                              model_->forward({.ids = ids}, run)));
  EXPECT_NO_THROW(load_model(scratch / "saved"));  // without its head
}

INSTANTIATE_TEST_SUITE_P(All, Classifiers, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& one) {
                           return fmt::format("{}_of_{}", one.param.model_type,
                                              one.param.by_text ? "texts" : "tokens");
                         });

TEST(Classifier, AFolderOfAnotherKindIsRefused) {
  const test::Scratch scratch;
  const auto model = make_model(R"({"model_type": "gpt2", "n_layer": 1, "n_head": 1, "n_embd": 4,
    "n_positions": 6, "vocab_size": 11})",
                                1);
  save_model(scratch / "lm", *model, nullptr, DType::kF32);
  EXPECT_THROW(load_classifier(scratch / "lm"), Error);
}

}  // namespace
}  // namespace heed
