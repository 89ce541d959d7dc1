// The table of encoders: one row per `model_type`, with its differences.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/encoder.h"

namespace heed {

/// A `model_type`: names of its tensors, keys of its config.json, and transformers' defaults for
/// absent keys. A null key does not exist, so its default applies.
struct EncoderKin {
  std::string_view model_type;
  const char *title, *architecture;
  EncoderNames names = {};
  const char* layers_key = "num_hidden_layers";
  const char* heads_key = "num_attention_heads";
  const char* width_key = "hidden_size";
  const char* inner_key = "intermediate_size";
  const char* activation_key = "hidden_act";
  const char* dropout_key = "hidden_dropout_prob";
  const char* attention_dropout_key = "attention_probs_dropout_prob";
  const char* epsilon_key = "layer_norm_eps";
  const char* types_key = "type_vocab_size";
  const char* embedded_key = nullptr;  // width of the embeddings; null: the model's width
  std::int64_t layers = 12, heads = 12, width = 768, inner = 3072, vocabulary = 30522;
  std::int64_t positions = 512, types = 2;
  const char* activation = "gelu";
  double epsilon = 1e-12, dropout = 0.1;
  bool counts_past_padding = false;     // positions begin in the row after the padding's
  std::int64_t padding = -1;            // the padding id for that; -1: pad_token_id
  const EncoderNames* older = nullptr;  // of files that fuse tensors which are separate in `names`
  /// Reads the family's other settings; may be null.
  void (*more)(const Config& config, EncoderShape& shape) = nullptr;
};

std::span<const EncoderKin> all_encoder_kin();

}  // namespace heed
