// Every layer's gradients, and what each passes on.
#include <gtest/gtest.h>

#include "heed/masks/band.h"
#include "nn/embedding.h"
#include "nn/gradient_support.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/self_attention.h"
#include "support/expect_error.h"

namespace heed {
namespace {

using test::expect_layer_gradients;
using test::parameters_of;
using test::random_tensor;

constexpr DropoutLayer kNoDropout = {};

TEST(Linear, GradientsAreFiniteDifferencesInBothLayouts) {
  for (const WeightLayout layout : {WeightLayout::kInOut, WeightLayout::kOutIn}) {
    Linear layer("x", {.in = 5, .out = 7, .layout = layout});
    expect_layer_gradients(layer, {2, 3, 5});
  }
}

TEST(Linear, ASharedWeightHasNoBias) {
  Embedding embedding("wte", 11, 4);
  Linear head(embedding.table(), WeightLayout::kOutIn);
  expect_layer_gradients(head, {2, 3, 4});
  EXPECT_EQ(parameters_of(head), parameters_of(embedding));
}

TEST(Linear, LayoutsAreTransposesOfEachOther) {
  Linear in_out("a", {.in = 5, .out = 7, .layout = WeightLayout::kInOut, .bias = false});
  Linear out_in("b", {.in = 5, .out = 7, .layout = WeightLayout::kOutIn, .bias = false});
  const Tensor weight = random_tensor({5, 7}, 1);
  parameters_of(in_out)[0]->value = weight.clone();
  parameters_of(out_in)[0]->value = Tensor::copy_of(weight.view().permute({1, 0}));
  const Tensor x = random_tensor({3, 5}, 2);
  heed::Run run;
  EXPECT_LE(test::largest_difference(in_out.forward(x, run), out_in.forward(x, run)), 1e-6);
}

TEST(LayerNormLayer, GradientsAreFiniteDifferences) {
  LayerNorm layer("ln", 6, 1e-5);
  expect_layer_gradients(layer, {2, 3, 6});
}

TEST(Mlp, GradientsAreFiniteDifferences) {
  for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh}) {
    Mlp layer(Linear("up", {.in = 4, .out = 9}), kind, Linear("down", {.in = 9, .out = 4}),
              kNoDropout);
    expect_layer_gradients(layer, {2, 3, 4});
  }
}

TEST(Mlp, GradientsGoThroughDropout) {
  Mlp layer(Linear("up", {.in = 4, .out = 9}), Activation::kGelu,
            Linear("down", {.in = 9, .out = 4}), {.rate = 0.4, .site = 3});
  heed::Run run;
  run.dropout_seed = 5;
  expect_layer_gradients(layer, {2, 3, 4}, run);
}

SelfAttention attention_layer(DropoutLayer dropout = {}) {
  return {Linear("qkv", {.in = 6, .out = 18, .layout = WeightLayout::kInOut}),
          Linear("out", {.in = 6, .out = 6, .layout = WeightLayout::kInOut}),
          {.layer = 4, .heads = 2, .scale = 0.7, .mask = causal()},
          dropout};
}

TEST(SelfAttention, GradientsAreFiniteDifferences) {
  SelfAttention layer = attention_layer();
  expect_layer_gradients(layer, {2, 5, 6});
}

TEST(SelfAttention, GradientsGoThroughDropout) {
  SelfAttention layer = attention_layer({.rate = 0.4, .site = 3});
  heed::Run run;
  run.dropout_seed = 5;
  expect_layer_gradients(layer, {2, 5, 6}, run);
}

TEST(SelfAttention, GradientsKeepToTheExtents) {
  SelfAttention layer = attention_layer();
  heed::Run run;
  run.extents = {.query_length = {5, 3}, .key_length = {5, 3}};
  expect_layer_gradients(layer, {2, 5, 6}, run);
}

TEST(SelfAttention, LaterTokensDoNotChangeEarlierOnes) {
  SelfAttention layer = attention_layer();
  test::randomise(parameters_of(layer));
  const Tensor x = random_tensor({1, 5, 6}, 1, DType::kF64);
  Tensor changed = x.clone();
  changed.data<double>()[4 * 6] += 1;
  heed::Run run;
  const Tensor first = layer.forward(x, run);
  const Tensor second = layer.forward(changed, run);
  EXPECT_TRUE(test::same_bits(first.view().slice(1, 0, 4), second.view().slice(1, 0, 4)));
  EXPECT_FALSE(test::same_bits(first, second));
}

// Records what it sees, and adds a mask when it has one.
class Watcher : public Tap {
 public:
  void at(const TapName& name, View value) override {
    kinds.push_back(name.kind);
    layers.push_back(name.layer);
    shapes.push_back(value.shape());
  }
  void attended(const TapName& /*name*/, const AttentionArgs& args,
                const AttendedConstView& attended) override {
    lse_shape = attended.lse.shape();
    mask_text = args.mask.describe();
  }
  Mask mask(Stack /*stack*/, int /*layer*/) override { return extra; }

  std::vector<TapKind> kinds;
  std::vector<int> layers;
  std::vector<Shape> shapes;
  Shape lse_shape;
  std::string mask_text;
  Mask extra;
};

TEST(SelfAttention, ATapSeesQueriesKeysValuesAndHeads) {
  SelfAttention layer = attention_layer();
  test::randomise(parameters_of(layer));
  Watcher watcher;
  heed::Run run;
  run.tap = &watcher;
  layer.forward(random_tensor({2, 5, 6}, 1, DType::kF64), run);
  EXPECT_EQ(watcher.kinds,
            (std::vector{TapKind::kQuery, TapKind::kKey, TapKind::kValue, TapKind::kHeads}));
  EXPECT_EQ(watcher.layers, std::vector(4, 4));
  EXPECT_EQ(watcher.shapes, std::vector(4, Shape{2, 2, 5, 3}));
  EXPECT_EQ(watcher.lse_shape, (Shape{2, 2, 5}));
}

TEST(SelfAttention, ATapMayAddAMask) {
  SelfAttention layer = attention_layer();
  test::randomise(parameters_of(layer));
  const Tensor x = random_tensor({1, 5, 6}, 1, DType::kF64);
  heed::Run plain;
  const Tensor open = layer.forward(x, plain);
  Watcher watcher;
  watcher.extra = band({.left = 1, .right = -1});
  heed::Run run;
  run.tap = &watcher;
  const Tensor narrow = layer.forward(x, run);
  EXPECT_EQ(watcher.mask_text, (causal() & band({.left = 1, .right = -1})).describe());
  EXPECT_TRUE(test::same_bits(open.view().slice(1, 0, 2), narrow.view().slice(1, 0, 2)));
  EXPECT_FALSE(test::same_bits(open, narrow));
}

TEST(EmbeddingLayer, GradientsGatherInTheTable) {
  Embedding layer("wte", 5, 3);
  test::randomise(parameters_of(layer));
  const Tensor ids = test::random_ids({2, 4}, 5, 1);
  const Tensor dy = random_tensor({2, 4, 3}, 2, DType::kF64);
  Gradients gradients;
  layer.backward(ids, dy, gradients);
  Parameter& table = *layer.table();
  test::expect_gradient(table.value, gradients.of(table),
                        [&] { return test::weighted_sum(layer.forward(ids), dy); });
}

TEST(Gradients, ClearKeepsTheMemory) {
  const Parameter parameter = {.name = "w", .value = random_tensor({3}, 1)};
  Gradients gradients;
  EXPECT_EQ(gradients.find(parameter), nullptr);
  Tensor& gradient = gradients.of(parameter);
  gradient.data<float>()[1] = 5;
  gradients.clear();
  EXPECT_EQ(gradients.find(parameter), &gradient);
  EXPECT_EQ(gradient.data<float>()[1], 0);
}

TEST(Saved, AnEmptyStackSaysWhatIsMissing) {
  Saved saved;
  EXPECT_HEED_ERROR(
      saved.take(), ErrorCode::kInvalidArgument,
      "backward: run.saved is empty, expected what the forward pass of the same run kept");
}

}  // namespace
}  // namespace heed
