// Small models: configurations of models that read two texts, and weights far from their flat
// start.
#pragma once

#include <nlohmann/json.hpp>

#include "heed/model.h"

namespace heed::test {

/// An encoder of 64 positions.
inline nlohmann::json tiny_encoder_config() {
  return {{"model_type", "bert"}, {"num_hidden_layers", 2},  {"num_attention_heads", 4},
          {"hidden_size", 16},    {"intermediate_size", 24}, {"max_position_embeddings", 64}};
}

/// An encoder-decoder of 40 positions.
inline nlohmann::json tiny_translator_config() {
  return {{"model_type", "marian"},
          {"d_model", 16},
          {"encoder_layers", 2},
          {"decoder_layers", 1},
          {"encoder_attention_heads", 2},
          {"decoder_attention_heads", 4},
          {"encoder_ffn_dim", 24},
          {"decoder_ffn_dim", 24},
          {"max_position_embeddings", 40},
          {"decoder_start_token_id", 3},
          {"eos_token_id", 0}};
}

/// Makes the matrices of a fresh model 8 times as large: far from its flat start.
inline void sharpen(Model& model) {
  for (Parameter* parameter : model.parameters())
    if (parameter->value.rank() == 2)
      for (std::int64_t i = 0; i < parameter->value.element_count(); ++i)
        parameter->value.data<float>()[i] *= 8;
}

}  // namespace heed::test
