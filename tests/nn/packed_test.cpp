// Weights that were packed to run: the same numbers, forward only.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "heed/model.h"
#include "nn/embedding.h"
#include "nn/gradient_support.h"
#include "nn/linear.h"
#include "nn/parameter.h"
#include "ops/packed_matrix.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using test::largest_difference;
using test::parameters_of;
using test::random_tensor;
using test::same_bits;

void fill(const std::vector<Parameter*>& parameters) {
  std::uint32_t seed = 1;
  for (Parameter* parameter : parameters)
    parameter->value = random_tensor(parameter->value.shape(), seed++);
}

TEST(Packed, ALinearLayerGivesTheSameBitsInF32) {
  if (!packing_pays(DType::kF32)) GTEST_SKIP() << "f32 stays plain for AMX";
  for (const WeightLayout layout : {WeightLayout::kInOut, WeightLayout::kOutIn}) {
    Linear layer("x", {.in = 45, .out = 70, .layout = layout});
    fill(parameters_of(layer));
    const Tensor x = random_tensor({3, 5, 45}, 9);
    heed::Run run;
    const Tensor plain = layer.forward(x, run);
    pack(parameters_of(layer), DType::kF32);
    EXPECT_FALSE(parameters_of(layer)[0]->value.given());
    EXPECT_EQ(parameters_of(layer)[0]->element_count(), 45 * 70);
    EXPECT_TRUE(same_bits(layer.forward(x, run), plain));
  }
}

TEST(Packed, ALinearLayerRoundsItsWeightsOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Linear layer("x", {.in = 45, .out = 70});
    fill(parameters_of(layer));
    Parameter& weight = *parameters_of(layer)[0];
    const Tensor whole = weight.value.clone();
    weight.value = Tensor::converted(Tensor::converted(whole, dtype), DType::kF32);
    const Tensor x = random_tensor({30, 45}, 9);
    heed::Run run;
    const Tensor rounded = layer.forward(x, run);
    weight.value = whole.clone();
    pack(parameters_of(layer), dtype);
    EXPECT_EQ(weight.dtype(), dtype);
    EXPECT_LE(largest_difference(layer.forward(x, run), rounded), 2e-5) << name(dtype);
  }
}

TEST(Packed, ATiedTableGivesItsRows) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (!packing_pays(dtype)) continue;
    Embedding embedding("wte", 75, 9);
    const Linear head(embedding.table(), WeightLayout::kOutIn);
    fill({embedding.table().get()});
    const Tensor rounded =
        Tensor::converted(Tensor::converted(embedding.table()->value, dtype), DType::kF32);
    pack(std::vector{embedding.table().get()}, dtype);
    Tensor ids = Tensor::empty({2, 3}, DType::kI32);
    const std::int32_t wanted[] = {0, 74, 31, 32, 5, 0};
    std::copy_n(wanted, 6, ids.data<std::int32_t>());
    const Tensor rows = embedding.forward(ids);
    EXPECT_EQ(rows.shape(), (Shape{2, 3, 9}));
    for (std::int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(largest_difference(rows.view().reshape({6, 9}).select(0, i),
                                   rounded.view().select(0, wanted[i])),
                0)
          << name(dtype) << i;
    ids.data<std::int32_t>()[4] = 75;
    EXPECT_HEED_ERROR(embedding.forward(ids), ErrorCode::kInvalidArgument,
                      "embedding: ids[4] is 75, expected 0 to 74");
  }
}

TEST(Packed, AModelHasTheSameLogitsAndSize) {
  if (!packing_pays(DType::kF32)) GTEST_SKIP() << "f32 stays plain for AMX";
  for (const char* tied : {"true", "false"}) {
    const auto model =
        make_model(std::string(R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 64,
                        "n_positions": 24, "vocab_size": 37, "tie_word_embeddings": )") +
                       tied + "}",
                   1);
    Tensor ids = Tensor::zeros({2, 7}, DType::kI32);
    for (int i = 0; i < 14; ++i) ids.data<std::int32_t>()[i] = i * 5 % 37;
    heed::Run run;
    const Tensor plain = model->forward({.ids = ids}, run);
    const std::int64_t count = parameter_count(*model);
    pack(model->parameters(), DType::kF32);
    EXPECT_TRUE(same_bits(model->forward({.ids = ids}, run), plain));
    EXPECT_EQ(parameter_count(*model), count);
    EXPECT_EQ(packed_type(model->parameters()), DType::kF32);
  }
}

TEST(Packed, AModelIsNotSaved) {
  const auto model = make_model(
      R"({"model_type": "gpt2", "n_layer": 1, "n_head": 1, "n_embd": 4, "n_positions": 4,
          "vocab_size": 5})",
      1);
  pack(model->parameters(), DType::kBF16);
  EXPECT_HEED_ERROR(save_model(std::filesystem::temp_directory_path() / "heed-packed", *model,
                               nullptr, DType::kF32),
                    ErrorCode::kUnsupported,
                    "save_model: transformer.wte.weight is packed, expected plain weights: a model "
                    "that was packed to run cannot be saved");
}

TEST(Packed, ThereAreNoGradients) {
  if (!packing_pays(DType::kF32)) GTEST_SKIP() << "f32 stays plain for AMX";
  Linear layer("x", {.in = 4, .out = 7});
  fill(parameters_of(layer));
  pack(parameters_of(layer), DType::kF32);
  const heed::Run run;
  EXPECT_HEED_ERROR(layer.input_gradient(random_tensor({3, 7}, 1), run), ErrorCode::kUnsupported,
                    "linear: x.weight is packed, expected a plain weight: a model that was loaded "
                    "to run has no gradients");
}

}  // namespace
}  // namespace heed
