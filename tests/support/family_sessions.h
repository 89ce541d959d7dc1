// Small random models of every family, and sessions of them.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "heed/session.h"
#include "support/family_configs.h"
#include "support/tiny_configs.h"

namespace heed::test {

/// For work that may be cancelled: it never is.
inline const std::function<void()> kNever = [] {};

/// A family of kFamilyConfigs, and what the sessions of a test change.
struct FamilyVariant {
  const char* name;
  const char* changes = "{}";
};

/// What differs between attentions: norms before, inside and after, shared keys, windows, soft
/// caps, norms of q and k (of each head or of all), biases by distance, learned and rotary
/// positions (halves or neighbours, a part of a head, no layer or some), fused projections,
/// branches beside each other, factors of what branches add, slopes by distance, sinks, experts,
/// heads of two sizes, keys of an earlier layer, words of each layer, cross-attention.
inline constexpr FamilyVariant kFamilyVariants[] = {
    {"gpt2", R"({"n_layer": 3})"},
    {"llama", R"({"num_hidden_layers": 3})"},
    {"mistral"},
    {"qwen3", R"({"use_sliding_window": false, "layer_types": null})"},
    {"yarn", R"({"num_hidden_layers": 2})"},
    {"gemma2", R"({"num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 4})"},
    {"bert", R"({"num_hidden_layers": 3})"},
    {"roberta"},
    {"marian", R"({"decoder_layers": 2})"},
    {"t5", R"({"num_decoder_layers": 2, "n_positions": 16, "initializer_factor": 1,
               "decoder_start_token_id": 0})"},
    {"gpt_neox", R"({"num_hidden_layers": 3, "rotary_pct": 0.5})"},
    {"gptj", R"({"n_layer": 3})"},
    {"opt"},
    {"phi"},
    {"gemma3"},
    {"gemma4"},
    {"gemma4_keys_are_values"},
    {"olmo"},
    {"olmo2", R"({"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
                  "hidden_size": 16})"},
    {"cohere2"},
    {"granite"},
    {"bloom", R"({"n_layer": 3})"},
    {"falcon_new", R"({"hidden_size": 16})"},
    {"qwen2_moe"},
    {"gpt_oss"}};

inline LoadedModel family_model(const FamilyVariant& variant) {
  nlohmann::json config = family_config(variant.name);
  config.merge_patch(nlohmann::json::parse(variant.changes));
  LoadedModel model{.name = variant.name,
                    .folder = {},
                    .model = make_model(config.dump(), 3),
                    .tokenizer = nullptr};
  sharpen(*model.model);
  return model;
}

/// Seven tokens, or seven of a source and four written.
inline Session family_session(const LoadedModel& model,
                              const SessionOptions& options = {.all_logits = true}) {
  const std::vector<TokenId> ids = {3, 4, 5, 4, 7, 2, 3};
  const std::vector<TokenId> target = {6, 4, 5};
  Session session = model.model->info().reads_source()
                        ? tokenize_session(model, ids, std::span<const TokenId>(target))
                        : tokenize_session(model, ids);
  run_session(session, model, options);
  return session;
}

/// The sum of a row's weights, which excludes the sink's.
inline double share_of_tokens(const LayerAttention& layer, std::int64_t head, std::int64_t query) {
  const Scores& scores = layer.scores;
  if (!scores.sink.given()) return 1;
  const double lse = layer.lse.data<float>()[head * layer.queries() + query];
  return 1 - std::exp(scores.sink.data<float>()[head] - lse);
}

}  // namespace heed::test
