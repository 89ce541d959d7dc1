// Every layer's gradients, and what each passes on.
#include <gtest/gtest.h>

#include "heed/mask.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/gradient_support.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"
#include "nn/residual.h"

namespace heed {
namespace {

using test::expect_layer_gradients;
using test::parameters_of;
using test::random_tensor;

// A branch beside the stream, called as layers are.
struct AsLayer {
  Residual<Mlp>& residual;

  Tensor forward(const Tensor& x, heed::Run& run) const { return residual.forward(x.share(), run); }
  Tensor backward(const Tensor& dy, heed::Run& run, Gradients& gradients) const {
    return residual.backward(dy, run, gradients);
  }
  void collect(std::vector<Parameter*>& into) { residual.collect(into); }
};

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

TEST(Norm, GradientsAreFiniteDifferencesInEveryForm) {
  for (const bool centred : {true, false})
    for (const bool weight : {true, false})
      for (const bool bias : {true, false})
        for (const double offset : {0.0, 1.0}) {
          Norm layer(
              "norm",
              {.width = 6, .centred = centred, .weight = weight, .bias = bias, .offset = offset});
          EXPECT_EQ(parameters_of(layer).size(), (weight ? 1U : 0U) + (centred && bias ? 1U : 0U));
          expect_layer_gradients(layer, {2, 3, 6});
        }
}

TEST(Norm, ASharedOneNamesItsParametersOnce) {
  Norm layer("norm", {.width = 6});
  Norm other = layer.shared();
  EXPECT_EQ(parameters_of(layer).size(), 2U);
  EXPECT_TRUE(parameters_of(other).empty());
}

// With a gate of its own, and with one in the rows of `up`.
TEST(Mlp, GradientsOfAGateAreFiniteDifferences) {
  for (const Activation kind : {Activation::kSilu, Activation::kGeluTanh})
    for (const bool holds : {false, true}) {
      MlpParts parts{.up = Linear("up", {.in = 4, .out = holds ? 18 : 9}),
                     .holds_gate = holds,
                     .activation = kind,
                     .down = Linear("down", {.in = 9, .out = 4})};
      if (!holds) parts.gate.emplace("gate", LinearShape{.in = 4, .out = 9});
      Mlp layer(std::move(parts));
      expect_layer_gradients(layer, {2, 3, 4});
    }
}

TEST(Mlp, TheGateInTheRowsOfUpIsTheFirstHalf) {
  Mlp apart({.gate = Linear("gate", {.in = 4, .out = 9}),
             .up = Linear("up", {.in = 4, .out = 9}),
             .activation = Activation::kSilu,
             .down = Linear("down", {.in = 9, .out = 4})});
  Mlp together({.up = Linear("up", {.in = 4, .out = 18}),
                .holds_gate = true,
                .activation = Activation::kSilu,
                .down = Linear("down", {.in = 9, .out = 4})});
  const std::vector<Parameter*> from = parameters_of(apart), to = parameters_of(together);
  for (Parameter* parameter : from) parameter->value = random_tensor(parameter->value.shape(), 1);
  for (const int part : {0, 1}) {  // weight and bias
    to[part]->value = Tensor::empty(part == 0 ? Shape{18, 4} : Shape{18});
    for (const int half : {0, 1}) {
      const Tensor& value = from[2 * half + part]->value;
      std::copy_n(value.data<float>(), value.element_count(),
                  to[part]->value.data<float>() + half * value.element_count());
    }
  }
  for (const int part : {2, 3}) to[part]->value = from[part + 2]->value.clone();
  const Tensor x = random_tensor({3, 5, 4}, 2);
  heed::Run run;
  EXPECT_LE(test::largest_difference(apart.forward(x, run), together.forward(x, run)), 1e-6);
}

TEST(Residual, GradientsGoThroughNormsInEveryPlace) {
  const auto norm = [](bool there) {
    return there ? std::optional(Norm("norm", {.width = 4, .centred = false})) : std::nullopt;
  };
  for (int places = 0; places < 8; ++places) {
    Residual<Mlp> layer({.before = norm((places & 1) != 0),
                         .inside = norm((places & 2) != 0),
                         .after = norm((places & 4) != 0)},
                        Mlp({.up = Linear("up", {.in = 4, .out = 9}),
                             .activation = Activation::kSilu,
                             .down = Linear("down", {.in = 9, .out = 4})}),
                        mlp_names(Stack::kSelf, 0));
    SCOPED_TRACE(places);
    AsLayer as_layer{layer};
    expect_layer_gradients(as_layer, {2, 3, 4});
  }
}

TEST(Mlp, GradientsAreFiniteDifferences) {
  for (const Activation kind : {Activation::kGelu, Activation::kGeluTanh}) {
    Mlp layer({.up = Linear("up", {.in = 4, .out = 9}),
               .activation = kind,
               .down = Linear("down", {.in = 9, .out = 4})});
    expect_layer_gradients(layer, {2, 3, 4});
  }
}

TEST(Mlp, GradientsGoThroughDropout) {
  Mlp layer({.up = Linear("up", {.in = 4, .out = 9}),
             .activation = Activation::kGelu,
             .down = Linear("down", {.in = 9, .out = 4}),
             .dropout = {.rate = 0.4, .site = 3}});
  heed::Run run;
  run.dropout_seed = 5;
  expect_layer_gradients(layer, {2, 3, 4}, run);
}

Attention attention_layer(DropoutLayer dropout = {}) {
  return {
      {.projections =
           fused_projection(Linear("qkv", {.in = 6, .out = 18, .layout = WeightLayout::kInOut})),
       .out = Linear("out", {.in = 6, .out = 6, .layout = WeightLayout::kInOut}),
       .dropout = dropout},
      {.layer = 4, .heads = 2, .kv_heads = 2, .head_dim = 3, .scale = 0.7, .mask = Mask::causal()}};
}

// One norm for all heads, or one for each.
std::vector<Norm> norms_of(const std::string& name, int count, bool centred = false) {
  std::vector<Norm> norms;
  for (int i = 0; i < count; ++i)
    norms.emplace_back(name + std::to_string(i),
                       NormShape{.width = 6, .centred = centred, .bias = false});
  return norms;
}

// Four query heads of 6 over two of keys, on a stream of 5: every part that a layer can have.
Attention rotated_layer(RopeScaling rope = {.width = 4}, bool norms_of_heads = false) {
  AttentionParts parts = {.projections = separate_projections(Linear("q", {.in = 5, .out = 24}),
                                                              Linear("k", {.in = 5, .out = 12}),
                                                              Linear("v", {.in = 5, .out = 12})),
                          .out = Linear("out", {.in = 24, .out = 5, .bias = false}),
                          .q_norms = norms_of("q_norm", norms_of_heads ? 4 : 1, norms_of_heads),
                          .k_norms = norms_of("k_norm", norms_of_heads ? 2 : 1, norms_of_heads),
                          .rotation = std::make_shared<const Rotation>(rope)};
  return {std::move(parts),
          {.heads = 4,
           .kv_heads = 2,
           .head_dim = 6,
           .scale = 0.4,
           .softcap = 3,
           .mask = Mask::band({.left = 2, .right = 0})}};
}

Attention cross_layer() {
  return {{.projections = separate_projections(Linear("q", {.in = 6, .out = 6}),
                                               Linear("k", {.in = 6, .out = 6}),
                                               Linear("v", {.in = 6, .out = 6})),
           .out = Linear("out", {.in = 6, .out = 6})},
          {.stack = Stack::kCross, .heads = 2, .kv_heads = 2, .head_dim = 3, .scale = 0.7}};
}

TEST(AttentionLayer, GradientsAreFiniteDifferences) {
  Attention layer = attention_layer();
  expect_layer_gradients(layer, {2, 5, 6});
}

TEST(AttentionLayer, GradientsGoThroughDropout) {
  Attention layer = attention_layer({.rate = 0.4, .site = 3});
  heed::Run run;
  run.dropout_seed = 5;
  expect_layer_gradients(layer, {2, 5, 6}, run);
}

TEST(AttentionLayer, GradientsGoThroughNormsRotationAndSharedKeys) {
  Attention plain = rotated_layer();
  expect_layer_gradients(plain, {2, 5, 5});
  Attention scaled = rotated_layer({.kind = RopeScalingKind::kDynamic,
                                    .width = 6,
                                    .base = 100,
                                    .factor = 2,
                                    .trained_positions = 3});
  expect_layer_gradients(scaled, {2, 5, 5});
  Attention normed = rotated_layer({.width = 4}, /*norms_of_heads=*/true);
  expect_layer_gradients(normed, {2, 5, 5});
}

TEST(AttentionLayer, GradientsOfASourceAreFiniteDifferences) {
  Attention layer = cross_layer();
  test::randomise(parameters_of(layer));
  Tensor x = random_tensor({2, 3, 6}, 1, DType::kF64);
  Source source = {.states = random_tensor({2, 5, 6}, 2, DType::kF64), .lengths = {5, 2}};
  Saved saved;
  heed::Run run;
  run.saved = &saved;
  const Tensor y = layer.forward(x, source, run);
  const Tensor dy = random_tensor(y.shape(), 3, DType::kF64);
  Gradients gradients;
  Tensor dstates = Tensor::zeros(source.states.shape(), DType::kF64);
  const Tensor dx = layer.backward(dy, source, dstates, run, gradients);
  EXPECT_TRUE(saved.empty());
  run.saved = nullptr;
  const auto scalar = [&] { return test::weighted_sum(layer.forward(x, source, run), dy); };
  test::expect_gradient(x, dx, scalar);
  test::expect_gradient(source.states, dstates, scalar);
  for (Parameter* parameter : parameters_of(layer))
    test::expect_gradient(parameter->value, gradients.of(*parameter), scalar);
}

TEST(AttentionLayer, WhatASourceDoesNotHoldHasNoInfluence) {
  Attention layer = cross_layer();
  test::randomise(parameters_of(layer));
  const Tensor x = random_tensor({1, 3, 6}, 1, DType::kF64);
  Source source = {.states = random_tensor({1, 5, 6}, 2, DType::kF64), .lengths = {4}};
  heed::Run run;
  const Tensor before = layer.forward(x, source, run);
  source.states.data<double>()[4 * 6] += 1;
  EXPECT_TRUE(test::same_bits(before, layer.forward(x, source, run)));
  source.states.data<double>()[3 * 6] += 1;
  EXPECT_FALSE(test::same_bits(before, layer.forward(x, source, run)));
}

TEST(AttentionLayer, GradientsKeepToTheExtents) {
  Attention layer = attention_layer();
  heed::Run run;
  run.extents = {.query_length = {5, 3}, .key_length = {5, 3}};
  expect_layer_gradients(layer, {2, 5, 6}, run);
}

TEST(AttentionLayer, LaterTokensDoNotChangeEarlierOnes) {
  Attention layer = attention_layer();
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

TEST(AttentionLayer, ATapSeesQueriesKeysValuesAndHeads) {
  Attention layer = attention_layer();
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

TEST(AttentionLayer, ATapMayAddAMask) {
  Attention layer = attention_layer();
  test::randomise(parameters_of(layer));
  const Tensor x = random_tensor({1, 5, 6}, 1, DType::kF64);
  heed::Run plain;
  const Tensor open = layer.forward(x, plain);
  Watcher watcher;
  watcher.extra = Mask::band({.left = 1, .right = -1});
  heed::Run run;
  run.tap = &watcher;
  const Tensor narrow = layer.forward(x, run);
  EXPECT_EQ(watcher.mask_text, (Mask::causal() & Mask::band({.left = 1, .right = -1})).describe());
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

}  // namespace
}  // namespace heed
