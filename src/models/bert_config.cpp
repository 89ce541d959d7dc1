// The `config.json` of BERT and its kin, and the names of their tensors.
#include <fmt/format.h>

#include <algorithm>

#include "models/bert.h"
#include "models/classifier.h"
#include "models/family.h"
#include "models/stored_weights.h"
#include "models/text_pass.h"

namespace heed {
namespace {

constexpr BertNames kBert = {.words = "bert.embeddings.word_embeddings",
                             .positions = "bert.embeddings.position_embeddings",
                             .types = "bert.embeddings.token_type_embeddings",
                             .embedding_norm = "bert.embeddings.LayerNorm",
                             .layer = "bert.encoder.layer.",
                             .query = "attention.self.query",
                             .key = "attention.self.key",
                             .value = "attention.self.value",
                             .out = "attention.output.dense",
                             .attention_norm = "attention.output.LayerNorm",
                             .up = "intermediate.dense",
                             .down = "output.dense",
                             .mlp_norm = "output.LayerNorm",
                             .transform = "cls.predictions.transform.dense",
                             .transform_norm = "cls.predictions.transform.LayerNorm",
                             .head_bias = "cls.predictions.bias",
                             .decoder = "cls.predictions.decoder"};

constexpr BertNames roberta_names() {
  BertNames names = kBert;
  names.words = "roberta.embeddings.word_embeddings";
  names.positions = "roberta.embeddings.position_embeddings";
  names.types = "roberta.embeddings.token_type_embeddings";
  names.embedding_norm = "roberta.embeddings.LayerNorm";
  names.layer = "roberta.encoder.layer.";
  names.transform = "lm_head.dense";
  names.transform_norm = "lm_head.layer_norm";
  names.head_bias = "lm_head.bias";
  names.decoder = "lm_head.decoder";
  return names;
}
constexpr BertNames kRoberta = roberta_names();

constexpr BertNames kDistilBert = {.words = "distilbert.embeddings.word_embeddings",
                                   .positions = "distilbert.embeddings.position_embeddings",
                                   .types = "",
                                   .embedding_norm = "distilbert.embeddings.LayerNorm",
                                   .layer = "distilbert.transformer.layer.",
                                   .query = "attention.q_lin",
                                   .key = "attention.k_lin",
                                   .value = "attention.v_lin",
                                   .out = "attention.out_lin",
                                   .attention_norm = "sa_layer_norm",
                                   .up = "ffn.lin1",
                                   .down = "ffn.lin2",
                                   .mlp_norm = "output_layer_norm",
                                   .transform = "vocab_transform",
                                   .transform_norm = "vocab_layer_norm",
                                   .head_bias = "vocab_projector.bias",
                                   .decoder = "vocab_projector"};

// What each model_type is called, its tensors, the keys of its config.json, and transformers'
// defaults for those that are left out.
struct BertKin {
  std::string_view model_type;
  const char *title, *architecture;
  const BertNames* names;
  const char* prefix;
  const char *layers, *heads, *width, *inner, *activation, *dropout, *attention_dropout;
  std::int64_t vocabulary;
  bool counts_past_padding;
};
constexpr BertKin kBertKin[] = {
    {"bert", "BERT", "BertForMaskedLM", &kBert, "bert.", "num_hidden_layers", "num_attention_heads",
     "hidden_size", "intermediate_size", "hidden_act", "hidden_dropout_prob",
     "attention_probs_dropout_prob", 30522, false},
    {"roberta", "RoBERTa", "RobertaForMaskedLM", &kRoberta, "roberta.", "num_hidden_layers",
     "num_attention_heads", "hidden_size", "intermediate_size", "hidden_act", "hidden_dropout_prob",
     "attention_probs_dropout_prob", 50265, true},
    {"camembert", "CamemBERT", "CamembertForMaskedLM", &kRoberta, "roberta.", "num_hidden_layers",
     "num_attention_heads", "hidden_size", "intermediate_size", "hidden_act", "hidden_dropout_prob",
     "attention_probs_dropout_prob", 30522, true},
    {"xlm-roberta", "XLM-RoBERTa", "XLMRobertaForMaskedLM", &kRoberta, "roberta.",
     "num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size", "hidden_act",
     "hidden_dropout_prob", "attention_probs_dropout_prob", 30522, true},
    {"distilbert", "DistilBERT", "DistilBertForMaskedLM", &kDistilBert, "distilbert.", "n_layers",
     "n_heads", "dim", "hidden_dim", "activation", "dropout", "attention_dropout", 30522, false}};

const BertKin& bert_kin(const Config& config) {
  return *std::ranges::find(kBertKin, config.text("model_type", "bert"), &BertKin::model_type);
}

void check(const BertConfig& read, const Config& config, const BertKin& kin) {
  if (read.width % read.heads != 0)
    config.refuse(kin.width, read.width,
                  fmt::format("a multiple of {} ({})", kin.heads, read.heads));
  if (read.table_positions <= read.first_position)
    config.refuse("max_position_embeddings", read.table_positions,
                  fmt::format("above {}, the first token's position", read.first_position));
  if (const std::string kind = config.text("position_embedding_type", "absolute");
      kind != "absolute")
    config.refuse("position_embedding_type", fmt::format("'{}'", kind), "absolute",
                  ErrorCode::kUnsupported);
  if (config.flag("is_decoder", false))
    config.refuse("is_decoder", "true", "false: this family is an encoder alone",
                  ErrorCode::kUnsupported);
}

}  // namespace

BertConfig BertConfig::read(const Config& config) {
  const BertKin& kin = bert_kin(config);
  const bool distilled = kin.names == &kDistilBert;
  BertConfig read;
  read.names = kin.names;
  read.title = kin.title;
  read.layers = config.extent(kin.layers, distilled ? 6 : 12);
  read.heads = config.extent(kin.heads, 12);
  read.width = config.extent(kin.width, 768);
  read.inner = config.extent(kin.inner, 3072);
  read.vocabulary = config.extent("vocab_size", kin.vocabulary);
  read.table_positions = config.extent("max_position_embeddings", 512);
  read.types = distilled ? 0 : config.extent("type_vocab_size", 2);
  const std::int64_t pad = config.null("pad_token_id") ? 0 : config.id("pad_token_id", 1);
  read.pad = kin.counts_past_padding ? pad : -1;  // a negative one pads nothing: positions from 0
  read.first_position = read.pad + 1;
  // DistilBERT's norms have a fixed one (transformers).
  read.epsilon = distilled ? 1e-12 : config.not_negative("layer_norm_eps", 1e-12);
  read.dropout = config.rate(kin.dropout, 0.1);
  read.attention_dropout = config.rate(kin.attention_dropout, 0.1);
  read.initial_deviation = config.number("initializer_range", 0.02);
  read.activation = config.activation(kin.activation, "gelu");
  // RoBERTa's head has an activation of its own, whatever the configuration says.
  read.head_activation = kin.names == &kRoberta ? Activation::kGelu : read.activation;
  read.tied = config.flag("tie_word_embeddings", true);
  read.json = config.with(Json::object());
  check(read, config, kin);
  return read;
}

ModelInfo BertConfig::info() const {
  return {.family = "bert",
          .title = title,
          .layers = layers,
          .heads = heads,
          .kv_heads = heads,
          .width = width,
          .head_dim = width / heads,
          .vocabulary = vocabulary,
          .positions = table_positions - first_position,
          .causal = false,
          .has_logits = masked_token_head,
          .stacks = {stack_shape(Stack::kSelf, /*causal=*/false,
                                 {layers, heads, heads, width / heads})},
          .token_types = std::max<std::int64_t>(types, 1)};
}

namespace {

Spelling spelling_of(const Config& config, const BertConfig& read) {
  const BertNames& names = *read.names;
  const std::string bias = names.head_bias, decoder = names.decoder;
  Spelling spelling = {.prefix = bert_kin(config).prefix,
                       .endings = {{".LayerNorm.weight", ".LayerNorm.gamma"},
                                   {".LayerNorm.bias", ".LayerNorm.beta"}},
                       .otherwise = {{bias, decoder + ".bias"}, {decoder + ".bias", bias}},
                       .unused = {"pooler."}};
  if (read.tied) {
    spelling.otherwise.emplace_back(std::string(names.words) + ".weight", decoder + ".weight");
    spelling.unused.insert(spelling.unused.end(), {"lm_head.decoder.", "vocab_projector.weight"});
  } else {
    spelling.unused.emplace_back("lm_head.bias");
  }
  if (!read.masked_token_head)
    for (const char* head : {"cls.", "lm_head.", "vocab_"}) spelling.unused.emplace_back(head);
  return spelling;
}

Json bert_training_config(const TrainingShape& shape) {
  const BertKin& kin = *std::ranges::find(kBertKin, shape.model_type, &BertKin::model_type);
  Json json = {{"model_type", shape.model_type}, {"architectures", Json::array({kin.architecture})},
               {"vocab_size", shape.vocabulary}, {kin.layers, shape.layers},
               {kin.heads, shape.heads},         {kin.width, shape.width},
               {kin.inner, 4 * shape.width},     {kin.activation, "gelu"},
               {kin.dropout, shape.dropout},     {kin.attention_dropout, shape.attention_dropout},
               {"layer_norm_eps", 1e-12}};
  const std::int64_t pad = std::max<std::int64_t>(shape.pad_token, 0);
  json.set("pad_token_id", pad);
  json.set("max_position_embeddings", shape.positions + (kin.counts_past_padding ? pad + 1 : 0));
  if (kin.names != &kDistilBert) json.set("type_vocab_size", kin.counts_past_padding ? 1 : 2);
  return json;
}

ModelInfo describe_bert(const Config& config) { return BertConfig::read(config).info(); }

std::unique_ptr<Model> make_bert(const Config& config, std::uint64_t seed) {
  BertConfig read = BertConfig::read(config);
  read.masked_token_head = !classifier_config(config);
  auto model = std::make_unique<Bert>(read);
  initialise(model->parameters(),
             {.seed = seed, .deviation = [&](std::string_view) { return read.initial_deviation; }});
  return model;
}

// Like transformers: what the file holds counts where it contradicts the configuration.
void untie_if_different(BertConfig& read, const Config& config, const Weights& weights,
                        const Reading& reading) {
  if (!read.tied || reading.headers_only) return;
  const BertNames& names = *read.names;
  const StoredWeights stored(weights, spelling_of(config, read));
  const std::string decoder = names.decoder;
  read.tied = !stored.differ(decoder + ".weight", std::string(names.words) + ".weight") &&
              !stored.differ(decoder + ".bias", names.head_bias);
  if (!read.tied) read.json = config.with({{"tie_word_embeddings", false}});
}

std::unique_ptr<Model> load_bert(const Config& config, const Weights& weights,
                                 const Reading& reading) {
  BertConfig read = BertConfig::read(config);
  const BertNames& names = *read.names;
  read.masked_token_head = StoredWeights(weights, spelling_of(config, read))
                               .holds(std::string(names.transform) + ".weight");
  if (read.masked_token_head) untie_if_different(read, config, weights, reading);
  const StoredWeights stored(weights, spelling_of(config, read));
  const std::string last = names.layer + std::to_string(read.layers - 1) + ".";
  stored.require(std::string(names.words) + ".weight", {read.vocabulary, read.width});
  stored.require(std::string(names.positions) + ".weight", {read.table_positions, read.width});
  if (read.types > 0)
    stored.require(std::string(names.types) + ".weight", {read.types, read.width});
  stored.require(last + names.up + ".weight", {read.inner, read.width});
  auto model = std::make_unique<Bert>(read);
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family bert_family() {
  return {{"bert", "roberta", "camembert", "xlm-roberta", "distilbert"},
          describe_bert,
          make_bert,
          load_bert,
          bert_training_config,
          FamilyKind::kEncoder};
}

}  // namespace heed
