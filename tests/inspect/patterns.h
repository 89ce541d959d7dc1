// Hand-made attention layers: heads with known patterns.
#pragma once

#include <cmath>
#include <functional>

#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/session.h"

namespace heed::test {

/// score(i, j) of head h, before the softmax.
using Pattern = std::function<float(std::int64_t head, std::int64_t query, std::int64_t key)>;

constexpr float kSure = 40;  // e^-40 is nothing
inline float peak(bool at) { return at ? kSure : 0.0F; }

/// A layer whose scores are exactly those of the pattern: k_j is the j-th unit vector, q_i holds
/// the scores of row i, and the scale is 1.
inline LayerAttention layer_of(std::int64_t heads, std::int64_t length, const Pattern& pattern,
                               const Mask& mask = Mask::causal()) {
  LayerAttention layer;
  layer.q = Tensor::empty({1, heads, length, length});
  layer.k = Tensor::zeros({1, heads, length, length});
  layer.v = Tensor::zeros({1, heads, length, 1});
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j < length; ++j)
        layer.q.data<float>()[(h * length + i) * length + j] = pattern(h, i, j);
      layer.k.data<float>()[(h * length + i) * length + i] = 1;
    }
  layer.mask = mask;
  layer.scores.scale = {1};
  Attended attended = attention(layer.args());
  layer.lse = std::move(attended.lse);
  layer.lse_low = std::move(attended.lse_low);
  return layer;
}

/// A session of these layers without a model: tokens are t0, t1, ...
inline Session session_of(std::vector<LayerAttention> layers) {
  Session session;
  session.model = "by hand";
  session.info.layers = static_cast<std::int64_t>(layers.size());
  session.info.heads = layers.at(0).q.dim(1);
  for (std::int64_t i = 0; i < layers.at(0).q.dim(2); ++i)
    session.tokens.push_back({.id = 0, .bytes = " t" + std::to_string(i)});
  const StackShape shape = {.layers = static_cast<int>(session.info.layers),
                            .heads = static_cast<int>(session.info.heads),
                            .causal = true};
  session.stacks.push_back({.shape = shape, .layers = std::move(layers)});
  return session;
}

}  // namespace heed::test
