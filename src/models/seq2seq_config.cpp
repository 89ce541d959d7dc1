// The `config.json` of encoder-decoders, and the names of their tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_of.h"
#include "models/family.h"
#include "models/seq2seq.h"
#include "models/stored_weights.h"
#include "models/text_pass.h"

namespace heed {
namespace {

// What a configuration that leaves a key out means, by model_type: transformers' defaults.
struct Seq2seqKin {
  std::string_view model_type;
  const char *title, *architecture;
  bool norms_first, position_table;
  std::int64_t encoder_layers, decoder_layers, heads, inner, width, vocabulary, positions;
  std::int64_t start, end;
};
constexpr Seq2seqKin kSeq2seqKin[] = {
    {"marian", "Marian", "MarianMTModel", false, false, 12, 12, 16, 4096, 1024, 58101, 1024, 58100,
     0},
    {"blenderbot", "Blenderbot", "BlenderbotForConditionalGeneration", true, true, 2, 24, 32, 10240,
     2560, 8008, 128, 1, 2}};

const Seq2seqKin& seq2seq_kin(const Config& config) {
  return *std::ranges::find(kSeq2seqKin, config.text("model_type", "marian"),
                            &Seq2seqKin::model_type);
}

void check(const Seq2seqConfig& read, const Config& config) {
  const auto check_heads = [&](const char* key, std::int64_t heads) {
    if (read.width % heads != 0)
      config.refuse(key, heads, fmt::format("a divisor of d_model ({})", read.width));
  };
  check_heads("encoder_attention_heads", read.encoder.heads);
  check_heads("decoder_attention_heads", read.decoder.heads);
  if (read.shared_words && read.encoder.vocabulary != read.decoder.vocabulary)
    config.refuse(
        "decoder_vocab_size", read.decoder.vocabulary,
        fmt::format("{} (vocab_size, as both share their words)", read.encoder.vocabulary));
}

void read_sides(Seq2seqConfig& read, const Config& config, const Seq2seqKin& kin) {
  const std::int64_t words = config.extent("vocab_size", kin.vocabulary);
  read.encoder = {config.extent("encoder_layers", kin.encoder_layers),
                  config.extent("encoder_attention_heads", kin.heads),
                  config.extent("encoder_ffn_dim", kin.inner), words};
  read.decoder = {config.extent("decoder_layers", kin.decoder_layers),
                  config.extent("decoder_attention_heads", kin.heads),
                  config.extent("decoder_ffn_dim", kin.inner),
                  config.extent("decoder_vocab_size", words)};
}

}  // namespace

Seq2seqConfig Seq2seqConfig::read(const Config& config) {
  const Seq2seqKin& kin = seq2seq_kin(config);
  Seq2seqConfig read;
  read.title = kin.title;
  read_sides(read, config, kin);
  read.width = config.extent("d_model", kin.width);
  read.positions = config.extent("max_position_embeddings", kin.positions);
  read.norms_first = kin.norms_first;
  read.position_table = kin.position_table;
  read.causal = is_causal(config);
  read.tied = config.flag("tie_word_embeddings", true);
  read.shared_words = read.tied && config.flag("share_encoder_decoder_embeddings", true);
  read.word_scale =
      config.flag("scale_embedding", false) ? std::sqrt(static_cast<double>(read.width)) : 1.0;
  read.dropout = config.rate("dropout", 0.1);
  read.activation_dropout = config.rate("activation_dropout", 0);
  read.attention_dropout = config.rate("attention_dropout", 0);
  read.initial_deviation = config.number("init_std", 0.02);
  read.activation = config.activation("activation_function", "gelu");
  read.start = config.id("decoder_start_token_id", kin.start);
  read.eos = config.ids("eos_token_id", {kin.end});
  read.bad_words = config.bad_words();
  read.json = config.with(Json::object());
  check(read, config);
  return read;
}

ModelInfo Seq2seqConfig::info() const {
  const auto shape = [&](Stack stack, bool in_order, const Side& side) {
    return stack_shape(stack, in_order, {side.layers, side.heads, side.heads, width / side.heads});
  };
  return {.family = "seq2seq",
          .title = title,
          .layers = encoder.layers,
          .heads = encoder.heads,
          .kv_heads = encoder.heads,
          .width = width,
          .head_dim = width / encoder.heads,
          .vocabulary = decoder.vocabulary,
          .positions = positions,
          .first_token = start,
          .end_tokens = eos,
          .bad_words = bad_words,
          .causal = false,
          .stacks = {shape(Stack::kEncoder, /*causal=*/false, encoder),
                     shape(Stack::kDecoder, causal, decoder),
                     shape(Stack::kCross, /*causal=*/false, decoder)},
          .source_positions = positions,
          .source_vocabulary = encoder.vocabulary};
}

namespace {

bool has_two_vocabularies(const TrainingShape& shape, const Seq2seqKin& kin) {
  const bool own = shape.target_vocabulary > 0 && shape.target_vocabulary != shape.vocabulary;
  if (own && kin.norms_first)
    fail({.op = "train",
          .argument = "target_tokenizer",
          .found = fmt::format("of {}", number_of(shape.target_vocabulary, "token")),
          .expected = "none: Blenderbot has one vocabulary for both sides"});
  return own;
}

Json seq2seq_training_config(const TrainingShape& shape) {
  const Seq2seqKin& kin =
      *std::ranges::find(kSeq2seqKin, shape.model_type, &Seq2seqKin::model_type);
  const bool own = has_two_vocabularies(shape, kin);
  Json json = {{"model_type", shape.model_type},
               {"architectures", Json::array({kin.architecture})},
               {"vocab_size", shape.vocabulary},
               {"max_position_embeddings", shape.positions},
               {"d_model", shape.width},
               {"encoder_layers", shape.layers},
               {"decoder_layers", shape.layers},
               {"encoder_attention_heads", shape.heads},
               {"decoder_attention_heads", shape.heads},
               {"encoder_ffn_dim", 4 * shape.width},
               {"decoder_ffn_dim", 4 * shape.width},
               {"activation_function", "relu"},
               {"scale_embedding", true},
               {"dropout", shape.dropout},
               {"attention_dropout", shape.attention_dropout},
               {"activation_dropout", 0.0},
               // As long as sinusoids once scaled (Vaswani et al. 2017, section 3.4).
               {"init_std", 1 / std::sqrt(static_cast<double>(shape.width))},
               {"share_encoder_decoder_embeddings", !own},
               {"decoder_start_token_id", shape.start_token},
               {"pad_token_id", shape.pad_token},
               {"forced_eos_token_id", nullptr},
               {"eos_token_id", json_of_ids(shape.end_tokens)}};
  if (own) json.set("decoder_vocab_size", shape.target_vocabulary);
  return json;
}

ModelInfo describe_seq2seq(const Config& config) { return Seq2seqConfig::read(config).info(); }

std::unique_ptr<Model> make_seq2seq(const Config& config, std::uint64_t seed) {
  const Seq2seqConfig read = Seq2seqConfig::read(config);
  auto model = std::make_unique<Seq2seq>(read);
  initialise(model->parameters(),
             {.seed = seed, .deviation = [&](std::string_view) { return read.initial_deviation; }});
  return model;
}

Spelling spelling_of(const Seq2seqConfig& read) {
  constexpr const char* kShared = "model.shared.weight";
  constexpr const char* kEncoder = "model.encoder.embed_tokens.weight";
  constexpr const char* kDecoder = "model.decoder.embed_tokens.weight";
  Spelling spelling = {.prefix = "model.",
                       .otherwise = {{kShared, kDecoder},
                                     {kShared, kEncoder},
                                     {kEncoder, kShared},
                                     {kDecoder, kShared}},
                       .unused = {"shared.weight", "embed_tokens.weight"}};
  if (!read.position_table) spelling.unused.emplace_back("embed_positions.weight");
  if (read.tied) {
    spelling.unused.emplace_back("lm_head.weight");
    spelling.otherwise.emplace_back(read.shared_words ? kShared : kDecoder, "lm_head.weight");
  }
  return spelling;
}

void require_copies(const Seq2seqConfig& read, const StoredWeights& stored) {
  constexpr const char* kShared = "model.shared.weight";
  constexpr const char* kDecoder = "model.decoder.embed_tokens.weight";
  if (read.shared_words) {
    stored.require_copy("model.encoder.embed_tokens.weight", kShared);
    stored.require_copy(kDecoder, kShared);
  }
  if (read.tied) stored.require_copy("lm_head.weight", read.shared_words ? kShared : kDecoder);
}

std::unique_ptr<Model> load_seq2seq(const Config& config, const Weights& weights,
                                    const Reading& reading) {
  const Seq2seqConfig read = Seq2seqConfig::read(config);
  const StoredWeights stored(weights, spelling_of(read));
  if (!reading.headers_only) require_copies(read, stored);
  const auto require = [&](const char* side, const Seq2seqConfig::Side& numbers) {
    const std::string name = std::string("model.") + side;
    if (!read.shared_words)
      stored.require(name + ".embed_tokens.weight", {numbers.vocabulary, read.width});
    if (read.position_table)
      stored.require(name + ".embed_positions.weight", {read.positions, read.width});
    stored.require(fmt::format("{}.layers.{}.fc1.weight", name, numbers.layers - 1),
                   {numbers.inner, read.width});
  };
  if (read.shared_words)
    stored.require("model.shared.weight", {read.encoder.vocabulary, read.width});
  require("encoder", read.encoder);
  require("decoder", read.decoder);
  auto model = std::make_unique<Seq2seq>(read);
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family seq2seq_family() {
  return {{"marian", "blenderbot"}, describe_seq2seq,       make_seq2seq, load_seq2seq,
          seq2seq_training_config,  FamilyKind::kTranslator};
}

}  // namespace heed
