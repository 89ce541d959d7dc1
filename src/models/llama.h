// Llama (Touvron et al. 2023) and what is built like it: a decoder with rotary positions, RMSNorm
// before each branch, SwiGLU and shared keys. Llama 2 and 3, Mistral, Qwen2 and 3, SmolLM,
// TinyLlama.
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

struct LlamaConfig {
  static LlamaConfig read(const Config& config);
  ModelInfo info() const;
  std::string title() const;

  std::string model_type;
  std::int64_t layers, heads, kv_heads, width, head_dim, inner, vocabulary, positions;
  RopeScaling rope;
  std::vector<std::int64_t> windows;  // keys that a query of each layer sees; 0: all before it
  double epsilon, initial_deviation, attention_dropout;
  double dropout;  // of the embedding and of what a branch adds; the original has none
  bool qkv_bias, out_bias, mlp_bias, head_norms, tied, causal;
  bool has_words = true;  // false: the bare decoder, or one with a head for another task
  Activation activation;
  std::int64_t bos;  // -1: none
  std::vector<std::int64_t> eos;
  std::vector<std::vector<std::int64_t>> bad_words;
  std::string json;
};

/// The decoder of `config`; weights are not initialised.
std::unique_ptr<Model> make_llama(const LlamaConfig& config);

}  // namespace heed
