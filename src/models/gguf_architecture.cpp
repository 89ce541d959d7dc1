#include "models/gguf_architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/clipped.h"
#include "heed/error.h"

namespace heed {

std::int64_t GgufKeys::count(std::string_view key) const {
  const Json& value = file_[name(key)];
  const Json& first = value.is_array() && !value.items().empty() ? value.items().front() : value;
  const std::optional<std::int64_t> number = first.as_whole_number();
  if (value.is_null()) file_.refuse(name(key), "missing", "a whole number");
  if (!number || *number < 1 || *number > (std::int64_t{1} << 40))
    file_.refuse(name(key), value.brief(), "a whole number from 1");
  for (const Json& item : value.items())
    if (!(item == first))
      file_.refuse(name(key), "different from layer to layer", "the same in all layers",
                   ErrorCode::kUnsupported);
  return *number;
}

double GgufKeys::number(std::string_view key, std::optional<double> otherwise) const {
  const Json& value = file_[name(key)];
  if (value.is_null() && otherwise) return *otherwise;
  const std::optional<double> number = value.as_number();
  if (!number || !std::isfinite(*number))
    file_.refuse(name(key), value.is_null() ? "missing" : value.brief(), "a number");
  return *number;
}

std::string GgufKeys::text(std::string_view key, std::string_view otherwise) const {
  const Json& value = file_[name(key)];
  if (value.is_null()) return std::string(otherwise);
  if (!value.is_text()) file_.refuse(name(key), value.brief(), "a text");
  return *value.as_text();
}

std::int64_t GgufKeys::extent(std::string_view tensor, int axis) const {
  const GgufTensor* found = file_.find(tensor);
  if (found == nullptr)
    file_.refuse(tensor, "missing", "a tensor that every model of this kind has");
  if (axis >= found->shape.rank()) file_.refuse(tensor, to_string(found->shape), "a matrix");
  return found->shape[axis];
}

namespace {

Json id_of(const GgufKeys& keys, const char* key) {
  const std::optional<std::int64_t> id = keys.file()[key].as_whole_number();
  return id && *id >= 0 && *id < (std::int64_t{1} << 30) ? Json(*id) : Json();
}

/// What all decoders' configurations begin with.
Json decoder_config(const GgufKeys& keys, const char* model_type, const char* title) {
  Json config = {{"model_type", model_type},
                 {"architectures", Json::array({title + std::string("ForCausalLM")})},
                 {"vocab_size", keys.extent("token_embd.weight", 0)},
                 {"max_position_embeddings", keys.count("context_length")},
                 {"hidden_size", keys.count("embedding_length")},
                 {"intermediate_size", keys.count("feed_forward_length")},
                 {"num_hidden_layers", keys.count("block_count")},
                 {"num_attention_heads", keys.count("attention.head_count")},
                 {"num_key_value_heads",
                  keys.count("attention.head_count_kv", keys.count("attention.head_count"))},
                 {"rms_norm_eps", keys.number("attention.layer_norm_rms_epsilon")},
                 {"tie_word_embeddings", !keys.has_tensor("output.weight")},
                 {"bos_token_id", id_of(keys, "tokenizer.ggml.bos_token_id")}};
  Json ends = Json::array();
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"})
    if (const Json id = id_of(keys, key);
        !id.is_null() && std::ranges::find(ends.items(), id) == ends.items().end())
      ends.push(id);
  config.set("eos_token_id", ends.items().empty() ? Json() : ends);
  return config;
}

void refuse_experts(const GgufKeys& keys) {
  if (keys.has("expert_count") && keys.number("expert_count") > 0)
    keys.file().refuse(keys.name("expert_count"), keys.number("expert_count"),
                       "none: experts are not served yet", ErrorCode::kUnsupported);
}

// --- rotary positions ---

// What Llama 3.1 divides the frequency of each pair of dimensions by (transformers' rope_type
// "llama3").
std::vector<double> llama3_factors(std::int64_t pairs, double base, double factor) {
  constexpr double kTrained = 8192, kLow = 1, kHigh = 4;
  std::vector<double> factors;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const double wave = 2 * std::numbers::pi *
                        std::pow(base, static_cast<double>(pair) / static_cast<double>(pairs));
    const double smooth = std::clamp((kTrained / wave - kLow) / (kHigh - kLow), 0.0, 1.0);
    factors.push_back(1 / ((1 - smooth) / factor + smooth));
  }
  return factors;
}

std::vector<double> numbers_of(const Gguf& file, const GgufTensor& tensor) {
  if (tensor.type->plain != DType::kF32) file.refuse("rope_freqs.weight", tensor.type->name, "F32");
  const ConstView view(file.bytes(tensor).data(), DType::kF32, tensor.shape);
  std::vector<double> numbers;
  const Tensor copy = Tensor::copy_of(view);
  for (std::int64_t i = 0; i < copy.element_count(); ++i)
    numbers.push_back(double{copy.data<float>()[i]});
  return numbers;
}

// Factors of the frequencies by pair, as a configuration of the hub writes them.
Json factors_config(const GgufKeys& keys, const GgufTensor& tensor, std::int64_t head_dim,
                    double base) {
  const std::vector<double> factors = numbers_of(keys.file(), tensor);
  if (std::ssize(factors) * 2 != head_dim)
    keys.file().refuse("rope_freqs.weight", to_string(tensor.shape),
                       fmt::format("[{}], one a pair of dimensions", head_dim / 2));
  const double largest = *std::ranges::max_element(factors);
  const std::vector<double> usual = llama3_factors(head_dim / 2, base, std::round(largest));
  bool is_llama3 = true;
  for (std::size_t i = 0; i < factors.size(); ++i)
    is_llama3 &= std::abs(factors[i] - usual[i]) < 1e-3 * usual[i];
  if (is_llama3)
    return {{"rope_type", "llama3"},
            {"factor", std::round(largest)},
            {"low_freq_factor", 1.0},
            {"high_freq_factor", 4.0},
            {"original_max_position_embeddings", 8192}};
  return {
      {"rope_type", "longrope"}, {"factor", 1.0},
      {"attention_factor", 1.0}, {"original_max_position_embeddings", keys.count("context_length")},
      {"short_factor", factors}, {"long_factor", factors}};
}

Json scaling_config(const GgufKeys& keys) {
  const std::string kind = keys.text("rope.scaling.type", "none");
  if (kind == "none") return {};
  if (kind != "linear" && kind != "yarn")
    keys.file().refuse(keys.name("rope.scaling.type"), fmt::format("'{}'", clipped(kind)),
                       "none, linear or yarn", ErrorCode::kUnsupported);
  Json scaling = {{"rope_type", kind}, {"factor", keys.number("rope.scaling.factor", 1)}};
  if (kind == "yarn") {
    scaling.set("original_max_position_embeddings",
                keys.count("rope.scaling.original_context_length", keys.count("context_length")));
    if (keys.has("rope.scaling.attn_factor"))
      scaling.set("attention_factor", keys.number("rope.scaling.attn_factor"));
    if (keys.has("rope.scaling.yarn_beta_fast"))
      scaling.set("beta_fast", keys.number("rope.scaling.yarn_beta_fast"));
    if (keys.has("rope.scaling.yarn_beta_slow"))
      scaling.set("beta_slow", keys.number("rope.scaling.yarn_beta_slow"));
  }
  return scaling;
}

void add_rope(const GgufKeys& keys, Json& config) {
  const std::int64_t width = keys.count("embedding_length") / keys.count("attention.head_count");
  const std::int64_t head_dim = keys.count("attention.key_length", width);
  if (keys.count("attention.value_length", head_dim) != head_dim)
    keys.file().refuse(keys.name("attention.value_length"), keys.count("attention.value_length"),
                       fmt::format("{}, as the keys have", head_dim), ErrorCode::kUnsupported);
  if (keys.count("rope.dimension_count", head_dim) != head_dim)
    keys.file().refuse(keys.name("rope.dimension_count"), keys.count("rope.dimension_count"),
                       fmt::format("{}: whole heads are rotated", head_dim),
                       ErrorCode::kUnsupported);
  const double base = keys.number("rope.freq_base", 10000);
  config.set("head_dim", head_dim);
  config.set("rope_theta", base);
  Json scaling = scaling_config(keys);
  if (const GgufTensor* factors = keys.file().find("rope_freqs.weight"); factors != nullptr)
    scaling = factors_config(keys, *factors, head_dim, base);
  if (!scaling.is_null()) config.set("rope_scaling", scaling);
}

// --- architectures ---

Json llama_config(const GgufKeys& keys) {
  refuse_experts(keys);
  Json config = decoder_config(keys, "llama", "Llama");
  add_rope(keys, config);
  config.set("attention_bias", keys.has_tensor("blk.0.attn_q.bias"));
  config.set("mlp_bias", keys.has_tensor("blk.0.ffn_up.bias"));
  return config;
}

Json qwen_config(const GgufKeys& keys, const char* model_type, const char* title) {
  Json config = decoder_config(keys, model_type, title);
  add_rope(keys, config);
  config.set("use_sliding_window", false);
  return config;
}
Json qwen2_config(const GgufKeys& keys) { return qwen_config(keys, "qwen2", "Qwen2"); }
Json qwen3_config(const GgufKeys& keys) { return qwen_config(keys, "qwen3", "Qwen3"); }

Json gemma2_config(const GgufKeys& keys) {
  Json config = decoder_config(keys, "gemma2", "Gemma2");
  add_rope(keys, config);
  const std::int64_t width = keys.count("embedding_length"),
                     heads = keys.count("attention.head_count");
  const std::int64_t head_dim = keys.count("attention.key_length", width / heads);
  // Not in the file: the model of 27 billion, 46 layers, divides by its width over its heads.
  config.set("query_pre_attn_scalar", keys.count("block_count") == 46 ? width / heads : head_dim);
  config.set("sliding_window", keys.count("attention.sliding_window", 4096));
  config.set("attn_logit_softcapping", keys.number("attn_logit_softcapping", 50));
  config.set("final_logit_softcapping", keys.number("final_logit_softcapping", 30));
  config.set("hidden_activation", "gelu_pytorch_tanh");
  return config;
}

Json gpt2_config(const GgufKeys& keys) {
  const Json end = id_of(keys, "tokenizer.ggml.eos_token_id");
  return {{"model_type", "gpt2"},
          {"architectures", Json::array({"GPT2LMHeadModel"})},
          {"vocab_size", keys.extent("token_embd.weight", 0)},
          {"n_positions", keys.extent("position_embd.weight", 0)},
          {"n_embd", keys.count("embedding_length")},
          {"n_inner", keys.count("feed_forward_length")},
          {"n_layer", keys.count("block_count")},
          {"n_head", keys.count("attention.head_count")},
          {"layer_norm_epsilon", keys.number("attention.layer_norm_epsilon")},
          {"tie_word_embeddings", !keys.has_tensor("output.weight")},
          {"bos_token_id", id_of(keys, "tokenizer.ggml.bos_token_id")},
          {"eos_token_id", end}};
}

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

// --- the way back ---

// llama.cpp rotates with scaled positions, but sees all keys.
void refuse_windows(const Config& config) {
  const std::int64_t positions = config.extent("max_position_embeddings", 0, 0);
  if (config.null("sliding_window") || !config.has("sliding_window")) return;
  if (const std::int64_t window = config.extent("sliding_window", 0);
      window < positions &&
      !(config.has("use_sliding_window") && !config.flag("use_sliding_window", false)))
    config.refuse("sliding_window", window, "none: llama.cpp's model of this kind has no windows",
                  ErrorCode::kUnsupported);
}

void add_scaling(const Config& config, Json& keys) {
  std::optional<Config> said = config.part("rope_parameters");
  if (const std::optional<Config> older = config.part("rope_scaling"); older && !older->is_empty())
    said = older;
  const Config& rope = said ? *said : config;
  keys.set("rope.freq_base", rope.number("rope_theta", config.number("rope_theta", 10000)));
  const char* kind_key = rope.has("rope_type") ? "rope_type" : "type";
  const std::string kind = said ? rope.text(kind_key, "default") : "default";
  if (kind == "default") return;
  if (kind != "linear" && kind != "yarn")
    rope.refuse(kind_key, fmt::format("'{}'", kind), "default, linear or yarn",
                ErrorCode::kUnsupported);
  keys.set("rope.scaling.type", kind);
  keys.set("rope.scaling.factor", rope.number("factor", 1));
  if (kind == "linear") return;
  keys.set(
      "rope.scaling.original_context_length",
      rope.extent("original_max_position_embeddings", config.extent("max_position_embeddings", 1)));
  for (const auto& [key, stored] : {std::pair("attention_factor", "rope.scaling.attn_factor"),
                                    std::pair("beta_fast", "rope.scaling.yarn_beta_fast"),
                                    std::pair("beta_slow", "rope.scaling.yarn_beta_slow")})
    if (rope.has(key)) keys.set(stored, rope.number(key, 1));
}

Json rotary_keys(const Config& config) {
  const std::int64_t heads = config.extent("num_attention_heads", 32),
                     width = config.extent("hidden_size", 4096);
  const std::int64_t head_dim = config.extent("head_dim", width / heads);
  Json keys = {{"vocab_size", config.extent("vocab_size", 32000)},
               {"context_length", config.extent("max_position_embeddings", 2048)},
               {"embedding_length", width},
               {"feed_forward_length", config.extent("intermediate_size", 11008)},
               {"block_count", config.extent("num_hidden_layers", 32)},
               {"attention.head_count", heads},
               {"attention.head_count_kv", config.extent("num_key_value_heads", heads)},
               {"attention.key_length", head_dim},
               {"attention.value_length", head_dim},
               {"rope.dimension_count", head_dim},
               {"attention.layer_norm_rms_epsilon", config.number("rms_norm_eps", 1e-6)}};
  add_scaling(config, keys);
  return keys;
}

Json llama_keys(const Config& config) {
  refuse_windows(config);
  return rotary_keys(config);
}

Json gemma2_keys(const Config& config) {
  Json keys = rotary_keys(config);
  keys.set("attention.sliding_window", config.extent("sliding_window", 4096));
  keys.set("attn_logit_softcapping", config.number("attn_logit_softcapping", 50));
  keys.set("final_logit_softcapping", config.number("final_logit_softcapping", 30));
  const std::int64_t heads = config.extent("num_attention_heads", 8),
                     layers = config.extent("num_hidden_layers", 26);
  const auto usual = static_cast<double>(layers == 46 ? config.extent("hidden_size", 2304) / heads
                                                      : config.extent("head_dim", 256));
  if (config.number("query_pre_attn_scalar", 256) != usual)
    config.refuse("query_pre_attn_scalar", config.number("query_pre_attn_scalar", 256),
                  fmt::format("{}: a GGUF file does not say it", usual), ErrorCode::kUnsupported);
  return keys;
}

Json gpt2_keys(const Config& config) {
  const std::int64_t width = config.extent("n_embd", 768);
  if (config.flag("scale_attn_by_inverse_layer_idx", false) ||
      !config.flag("scale_attn_weights", true))
    config.refuse("scale_attn_by_inverse_layer_idx", "true",
                  "false: llama.cpp's GPT-2 scales by the width of a head alone",
                  ErrorCode::kUnsupported);
  return {{"context_length", config.extent("n_positions", 1024)},
          {"embedding_length", width},
          {"feed_forward_length", config.extent("n_inner", 4 * width)},
          {"block_count", config.extent("n_layer", 12)},
          {"attention.head_count", config.extent("n_head", 12)},
          {"attention.layer_norm_epsilon", config.number("layer_norm_epsilon", 1e-5)}};
}

Json bert_keys(const Config& config) {
  return {{"context_length", config.extent("max_position_embeddings", 512)},
          {"embedding_length", config.extent("hidden_size", 768)},
          {"feed_forward_length", config.extent("intermediate_size", 3072)},
          {"block_count", config.extent("num_hidden_layers", 12)},
          {"attention.head_count", config.extent("num_attention_heads", 12)},
          {"attention.causal", false},
          {"attention.layer_norm_epsilon", config.number("layer_norm_eps", 1e-12)}};
}

using enum GgufChange;

// Llama's file has the two rows of a rotated pair side by side, as it rotates neighbours.
constexpr GgufName kLlamaNames[] = {{"token_embd", "model.embed_tokens"},
                                    {"output_norm", "model.norm"},
                                    {"output", "lm_head"},
                                    {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
                                    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", kQueryRows},
                                    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj", kKeyRows},
                                    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
                                    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
                                    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"},
                                    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
                                    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
                                    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"}};

constexpr GgufName kQwenNames[] = {{"token_embd", "model.embed_tokens"},
                                   {"output_norm", "model.norm"},
                                   {"output", "lm_head"},
                                   {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
                                   {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
                                   {"blk.#.attn_k", "model.layers.#.self_attn.k_proj"},
                                   {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
                                   {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm"},
                                   {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm"},
                                   {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
                                   {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"},
                                   {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
                                   {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
                                   {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"}};

constexpr GgufName kGemma2Names[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm", kLessOne},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", kLessOne},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj"},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm", kLessOne},
    {"blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm", kLessOne},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
    {"blk.#.post_ffw_norm", "model.layers.#.post_feedforward_layernorm", kLessOne}};

constexpr GgufName kGpt2Names[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "transformer.h.#.ln_1"},
    {"blk.#.attn_qkv", "transformer.h.#.attn.c_attn", kTransposed},
    {"blk.#.attn_output", "transformer.h.#.attn.c_proj", kTransposed},
    {"blk.#.ffn_norm", "transformer.h.#.ln_2"},
    {"blk.#.ffn_up", "transformer.h.#.mlp.c_fc", kTransposed},
    {"blk.#.ffn_down", "transformer.h.#.mlp.c_proj", kTransposed}};

constexpr GgufName kBertNames[] = {
    {"token_embd", "bert.embeddings.word_embeddings"},
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

constexpr std::string_view kLlamaTypes[] = {"llama", "mistral", "ministral"};
constexpr std::string_view kQwen2Types[] = {"qwen2"};
constexpr std::string_view kQwen3Types[] = {"qwen3"};
constexpr std::string_view kGemma2Types[] = {"gemma2"};
constexpr std::string_view kGpt2Types[] = {"gpt2"};
constexpr std::string_view kBertTypes[] = {"bert"};

constexpr std::array<GgufArchitecture, 6> kArchitectures = {
    {{"llama", kLlamaNames, llama_config, llama_keys, kLlamaTypes},
     {"qwen2", kQwenNames, qwen2_config, llama_keys, kQwen2Types},
     {"qwen3", kQwenNames, qwen3_config, llama_keys, kQwen3Types},
     {"gemma2", kGemma2Names, gemma2_config, gemma2_keys, kGemma2Types},
     {"gpt2", kGpt2Names, gpt2_config, gpt2_keys, kGpt2Types},
     {"bert", kBertNames, bert_config, bert_keys, kBertTypes}}};

/// "blk.12.attn_q.weight" as the pattern "blk.#.attn_q", its number and the ending.
struct ParsedName {
  std::string pattern, number, ending;
};
ParsedName parsed(std::string_view name) {
  ParsedName result;
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos &&
      (name.substr(dot) == ".weight" || name.substr(dot) == ".bias")) {
    result.ending = name.substr(dot);
    name = name.substr(0, dot);
  }
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('.'), name.size());
    const std::string_view part = name.substr(0, end);
    const bool is_number =
        !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_number) result.number = part;
    result.pattern += is_number ? "#" : std::string(part);
    if (end < name.size()) result.pattern += '.';
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return result;
}

}  // namespace

std::optional<RenamedTensor> renamed(const GgufArchitecture& architecture, std::string_view name,
                                     std::string_view GgufName::* from,
                                     std::string_view GgufName::* to) {
  const ParsedName found = parsed(name);
  const auto known = std::ranges::find(architecture.names, found.pattern, from);
  if (known == architecture.names.end()) return {};
  std::string other = std::string((*known).*to) + found.ending;
  if (const std::size_t layer = other.find('#'); layer != std::string::npos)
    other.replace(layer, 1, found.number);
  return RenamedTensor{.name = other, .change = known->change};
}

const GgufArchitecture& gguf_architecture(const Config& config) {
  const std::string wanted = config.text("model_type", "");
  std::string known;
  for (const GgufArchitecture& architecture : kArchitectures)
    for (const std::string_view type : architecture.model_types) {
      if (type == wanted) return architecture;
      known += (known.empty() ? "" : ", ") + std::string(type);
    }
  config.refuse("model_type", fmt::format("'{}'", wanted),
                "one that GGUF files are written of: " + known, ErrorCode::kUnsupported);
}

const GgufArchitecture& gguf_architecture(const Gguf& file) {
  constexpr const char* kKey = "general.architecture";
  const std::string* wanted = file[kKey].as_text();
  if (wanted == nullptr) file.refuse(kKey, "missing", "the name of an architecture");
  std::string known;
  for (const GgufArchitecture& architecture : kArchitectures) {
    if (architecture.name == *wanted) return architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  file.refuse(kKey, fmt::format("'{}'", clipped(*wanted)), "one of: " + known,
              ErrorCode::kUnsupported);
}

}  // namespace heed
