// The table of encoders: a row for each `model_type`, with the settings in which they differ.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/encoder.h"

namespace heed {

/// The name of a `model_type`, the names of its tensors, the keys of its config.json, and
/// transformers' defaults where a key is absent. A key that is null does not exist: its default
/// counts.
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
  const char* embedded_key = nullptr;  // of columns of the embeddings; null: they have the width
  std::int64_t layers = 12, heads = 12, width = 768, inner = 3072, vocabulary = 30522;
  std::int64_t positions = 512, types = 2;
  const char* activation = "gelu";
  double epsilon = 1e-12, dropout = 0.1;
  bool counts_past_padding = false;     // positions begin in the row behind the padding's own
  std::int64_t padding = -1;            // the id that is padding there; -1: pad_token_id
  const EncoderNames* older = nullptr;  // of files that fuse what `names` has apart
  /// Reads what is not usual into the shape; may be null.
  void (*more)(const Config& config, EncoderShape& shape) = nullptr;
};

std::span<const EncoderKin> all_encoder_kin();

}  // namespace heed
