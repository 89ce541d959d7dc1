// Gemma 2 (Gemma team 2024): a decoder with rotary positions, norms before and inside of each
// branch, gated GELU, windows in every other layer, and soft caps on scores and logits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heed/models/model.h"
#include "models/config.h"
#include "nn/rope_scaling.h"
#include "ops/activation.h"

namespace heed {

struct Gemma2Config {
  static Gemma2Config read(const Config& config);
  ModelInfo info() const;

  std::int64_t layers, heads, kv_heads, width, head_dim, inner, vocabulary, positions;
  RopeScaling rope;
  std::vector<bool> slides;  // layers with a window
  std::int64_t window;
  double query_scale, score_cap, logit_cap;  // caps: 0: none
  double epsilon, initial_deviation, attention_dropout;
  bool bias, causal, tied;
  Activation activation;
  std::int64_t bos;  // -1: none
  std::vector<std::int64_t> eos;
  std::vector<std::vector<std::int64_t>> bad_words;
  std::string json;
};

/// The decoder of `config`; weights are not initialised.
std::unique_ptr<Model> make_gemma2(const Gemma2Config& config);

}  // namespace heed
