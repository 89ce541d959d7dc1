// GGUF files of BERT and T5.
//
// llama.cpp does not scale T5's states before the head, as a T5 with tied words does. heed writes
// such a model with a head of its own, which contains the factor. A file without a head is a
// published one: its head is the words, and transformers scales.
#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "models/config.h"
#include "models/gguf_architecture.h"
#include "models/seq2seq.h"

namespace heed {
namespace {

Json bert_config(const GgufKeys& keys) {
  return {{"model_type", "bert"},
          {"architectures", Json::array({"BertModel"})},
          {"vocab_size", keys.extent("token_embd.weight", 0)},
          {"max_position_embeddings", keys.extent("position_embd.weight", 0)},
          {"type_vocab_size", keys.extent("token_types.weight", 0)},
          {"hidden_size", keys.count("embedding_length")},
          {"intermediate_size", keys.count("feed_forward_length")},
          {"num_hidden_layers", keys.count("block_count")},
          {"num_attention_heads", keys.count("attention.head_count")},
          {"layer_norm_eps", keys.number("attention.layer_norm_epsilon")},
          {"pad_token_id", 0}};
}

Json bert_keys(const Config& config) {
  return {{"vocab_size", config.extent("vocab_size", 30522)},
          {"context_length", config.extent("max_position_embeddings", 512)},
          {"embedding_length", config.extent("hidden_size", 768)},
          {"feed_forward_length", config.extent("intermediate_size", 3072)},
          {"block_count", config.extent("num_hidden_layers", 12)},
          {"attention.head_count", config.extent("num_attention_heads", 12)},
          {"attention.causal", false},
          {"attention.layer_norm_epsilon", config.number("layer_norm_eps", 1e-12)}};
}

std::vector<GgufName> bert_names(const Config&) {
  return {{"token_embd", "bert.embeddings.word_embeddings"},
          {"position_embd", "bert.embeddings.position_embeddings"},
          {"token_types", "bert.embeddings.token_type_embeddings"},
          {"token_embd_norm", "bert.embeddings.LayerNorm"},
          {"blk.#.attn_q", "bert.encoder.layer.#.attention.self.query"},
          {"blk.#.attn_k", "bert.encoder.layer.#.attention.self.key"},
          {"blk.#.attn_v", "bert.encoder.layer.#.attention.self.value"},
          {"blk.#.attn_output", "bert.encoder.layer.#.attention.output.dense"},
          {"blk.#.attn_output_norm", "bert.encoder.layer.#.attention.output.LayerNorm"},
          {"blk.#.ffn_up", "bert.encoder.layer.#.intermediate.dense"},
          {"blk.#.ffn_down", "bert.encoder.layer.#.output.dense"},
          {"blk.#.layer_output_norm", "bert.encoder.layer.#.output.LayerNorm"}};
}

std::vector<GgufFact> bert_facts(const Config& config) {
  return {{"hidden_act", config.text("hidden_act", "gelu")},
          {"position_embedding_type", config.text("position_embedding_type", "absolute")}};
}

// --- T5 ---

Json t5_config(const GgufKeys& keys) {
  const bool has_decoder = keys.has_tensor("dec.output_norm.weight");
  const std::int64_t layers = keys.count("block_count");
  const Json& start = keys.value("decoder_start_token_id");
  return {
      {"model_type", "t5"},
      {"architectures",
       Json::array({has_decoder ? "T5ForConditionalGeneration" : "T5EncoderModel"})},
      {"vocab_size", keys.extent("token_embd.weight", 0)},
      {"n_positions", keys.count("context_length", 512)},
      {"d_model", keys.count("embedding_length")},
      {"d_kv", keys.count("attention.key_length",
                          keys.count("embedding_length") / keys.count("attention.head_count"))},
      {"d_ff", keys.count("feed_forward_length")},
      {"num_layers", layers},
      {"num_decoder_layers", keys.count("decoder_block_count", layers)},
      {"num_heads", keys.count("attention.head_count")},
      {"relative_attention_num_buckets", keys.count("attention.relative_buckets_count")},
      {"layer_norm_epsilon", keys.number("attention.layer_norm_rms_epsilon")},
      {"feed_forward_proj", keys.has_tensor("enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu"},
      {"tie_word_embeddings", !keys.has_tensor("output.weight")},
      {"decoder_start_token_id", start.is_null() ? Json(0) : start},
      {"pad_token_id", keys.id("tokenizer.ggml.padding_token_id")},
      {"eos_token_id", keys.id("tokenizer.ggml.eos_token_id").is_null()
                           ? Json(1)
                           : keys.id("tokenizer.ggml.eos_token_id")}};
}

bool is_gated(const Seq2seqShape& shape) { return *shape.names.gate != '\0'; }

Json t5_keys(const Config& config) {
  const Seq2seqShape read = read_t5(config);
  Json keys = {{"vocab_size", read.encoder.vocabulary},
               {"context_length", config.extent("n_positions", 512)},
               {"embedding_length", read.width},
               {"feed_forward_length", read.encoder.inner},
               {"block_count", read.encoder.layers},
               {"attention.head_count", read.encoder.heads},
               {"attention.key_length", read.head_dim},
               {"attention.value_length", read.head_dim},
               {"attention.layer_norm_epsilon", read.norm.epsilon},
               {"attention.layer_norm_rms_epsilon", read.norm.epsilon},
               {"attention.relative_buckets_count", read.distances.buckets}};
  if (!read.has_decoder) return keys;
  keys.set("decoder_block_count", read.decoder.layers);
  keys.set("decoder_start_token_id", read.start);
  return keys;
}

// The tensors of one side; `cross` is the number of the decoder's extra part.
void add_t5_side(const Seq2seqShape& read, const char* stored, const char* hub, bool crosses,
                 std::vector<GgufName>& names) {
  int branch = 0;
  const auto add = [&](std::string_view to, std::string_view from) {
    names.push_back({fmt::format("{}.blk.#.{}", stored, to),
                     fmt::format("{}.block.#.layer.{}.{}", hub, branch, from)});
  };
  const auto add_attention = [&](std::string_view prefix, std::string_view part) {
    add(fmt::format("{}attn_norm", prefix), "layer_norm");
    for (const char* what : {"q", "k", "v", "o"})
      add(fmt::format("{}attn_{}", prefix, what), fmt::format("{}.{}", part, what));
    add(fmt::format("{}attn_rel_b", prefix), fmt::format("{}.relative_attention_bias", part));
    ++branch;
  };
  add_attention("", "SelfAttention");
  if (crosses) add_attention("cross_", "EncDecAttention");
  add("ffn_norm", "layer_norm");
  if (is_gated(read)) add("ffn_gate", "DenseReluDense.wi_0");
  add("ffn_up", is_gated(read) ? "DenseReluDense.wi_1" : "DenseReluDense.wi");
  add("ffn_down", "DenseReluDense.wo");
  names.push_back({fmt::format("{}.output_norm", stored), fmt::format("{}.final_layer_norm", hub)});
}

std::vector<GgufName> t5_names(const Config& config) {
  const Seq2seqShape read = read_t5(config);
  std::vector<GgufName> names = {{"token_embd", "shared"}, {"output", "lm_head"}};
  add_t5_side(read, "enc", "encoder", /*crosses=*/false, names);
  if (read.has_decoder) add_t5_side(read, "dec", "decoder", /*crosses=*/true, names);
  return names;
}

std::vector<GgufFact> t5_facts(const Config& config) {
  const Seq2seqShape read = read_t5(config);
  return {{"the activation", std::string(activation_name(read.activation))},
          {"a gated MLP", gguf_fact(is_gated(read))},
          {"relative_attention_max_distance", fmt::to_string(read.distances.farthest)},
          {"a head for words", gguf_fact(read.has_words)},
          {"is_causal", gguf_fact(read.causal)}};
}

}  // namespace

GgufArchitecture gguf_bert() {
  return {.name = "bert",
          .model_types = {"bert"},
          .config = bert_config,
          .keys = bert_keys,
          .names = bert_names,
          .facts = bert_facts};
}

GgufArchitecture gguf_t5() {
  return {.name = "t5",
          .model_types = {"t5", "mt5"},
          .decoder = {.head = GgufHead::kOwn},
          .config = t5_config,
          .keys = t5_keys,
          .names = t5_names,
          .facts = t5_facts,
          .head_scale = [](const Config& config) { return read_t5(config).head_scale; }};
}

GgufArchitecture gguf_t5_encoder() {
  GgufArchitecture encoder = gguf_t5();
  encoder.name = "t5encoder";
  encoder.decoder.head = GgufHead::kEither;
  encoder.writes = [](const Config& config) { return !read_t5(config).has_decoder; };
  return encoder;
}

}  // namespace heed
