// The `config.json` of encoder-decoders with learned or sinusoidal positions, and the names of
// their tensors: BART (Lewis et al. 2020) and similar models.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/wording.h"
#include "io/tensor_files.h"
#include "models/family.h"
#include "models/seq2seq.h"
#include "models/stored_weights.h"
#include "models/text_pass.h"
#include "models/training_config.h"

namespace heed {
namespace {

enum class Places : std::uint8_t {
  kTable,             // learned
  kTableBehindTwo,    // learned, from row 2 on
  kSinusoids,         // of the original Transformer
  kCountedSinusoids,  // of tensor2tensor; padding is skipped
};

// The defaults of absent keys by model_type, as in transformers.
struct Seq2seqKin {
  std::string_view model_type;
  const char *title, *architecture;
  bool norms_first;
  Places places;
  bool embedding_norm = false;
  bool logit_bias = true;
  std::int64_t encoder_layers = 12, decoder_layers = 12, heads = 16, inner = 4096, width = 1024;
  std::int64_t vocabulary = 50265, positions = 1024;
  std::int64_t start, end;  // -1: none
  const char* activation = "gelu";
  bool scales_words = false;
  double attention_dropout = 0, layer_drop = 0;
  bool own_words = false;  // a side may have separate embeddings
};
constexpr Seq2seqKin kSeq2seqKin[] = {{.model_type = "marian",
                                       .title = "Marian",
                                       .architecture = "MarianMTModel",
                                       .norms_first = false,
                                       .places = Places::kSinusoids,
                                       .vocabulary = 58101,
                                       .start = 58100,
                                       .end = 0,
                                       .own_words = true},
                                      {.model_type = "blenderbot",
                                       .title = "Blenderbot",
                                       .architecture = "BlenderbotForConditionalGeneration",
                                       .norms_first = true,
                                       .places = Places::kTable,
                                       .encoder_layers = 2,
                                       .decoder_layers = 24,
                                       .heads = 32,
                                       .inner = 10240,
                                       .width = 2560,
                                       .vocabulary = 8008,
                                       .positions = 128,
                                       .start = 1,
                                       .end = 2},
                                      {.model_type = "bart",
                                       .title = "BART",
                                       .architecture = "BartForConditionalGeneration",
                                       .norms_first = false,
                                       .places = Places::kTableBehindTwo,
                                       .embedding_norm = true,
                                       .start = 2,
                                       .end = 2},
                                      {.model_type = "mbart",
                                       .title = "mBART",
                                       .architecture = "MBartForConditionalGeneration",
                                       .norms_first = true,
                                       .places = Places::kTableBehindTwo,
                                       .embedding_norm = true,
                                       .start = -1,
                                       .end = 2},
                                      {.model_type = "m2m_100",
                                       .title = "M2M-100",
                                       .architecture = "M2M100ForConditionalGeneration",
                                       .norms_first = true,
                                       .places = Places::kCountedSinusoids,
                                       .logit_bias = false,
                                       .vocabulary = 128112,
                                       .start = 2,
                                       .end = 2,
                                       .activation = "relu",
                                       .scales_words = true,
                                       .attention_dropout = 0.1,
                                       .layer_drop = 0.05},
                                      {.model_type = "pegasus",
                                       .title = "PEGASUS",
                                       .architecture = "PegasusForConditionalGeneration",
                                       .norms_first = true,
                                       .places = Places::kSinusoids,
                                       .start = 0,
                                       .end = 1}};

const Seq2seqKin& seq2seq_kin(std::string_view model_type) {
  return *std::ranges::find(kSeq2seqKin, model_type, &Seq2seqKin::model_type);
}

// `BartModel` and heads for other tasks have no vocabulary layer.
bool wants_seq2seq_words(const Config& config) {
  const std::vector<std::string> said = config.texts("architectures");
  return said.empty() || said[0].ends_with("ForConditionalGeneration") ||
         said[0].ends_with("MTModel");
}

void check(const Seq2seqShape& read, const Config& config) {
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

void read_sides(const Config& config, const Seq2seqKin& kin, Seq2seqShape& read) {
  const std::int64_t words = config.extent("vocab_size", kin.vocabulary);
  read.encoder = {config.extent("encoder_layers", kin.encoder_layers),
                  config.heads("encoder_attention_heads", kin.heads),
                  config.extent("encoder_ffn_dim", kin.inner), words};
  read.decoder = {config.extent("decoder_layers", kin.decoder_layers),
                  config.heads("decoder_attention_heads", kin.heads),
                  config.extent("decoder_ffn_dim", kin.inner),
                  kin.own_words ? config.extent("decoder_vocab_size", words) : words};
}

void read_places(const Config& config, const Seq2seqKin& kin, Seq2seqShape& read) {
  read.positions = config.extent("max_position_embeddings", kin.positions);
  read.rows.count = read.positions;
  if (kin.places == Places::kTable || kin.places == Places::kTableBehindTwo) {
    read.names.positions = "embed_positions";
    read.rows.first = kin.places == Places::kTable ? 0 : 2;
    return;
  }
  read.sinusoids = {.width = read.width};
  if (kin.places != Places::kCountedSinusoids) return;
  read.rows.pad = config.own_id("pad_token_id", 1);
  if (read.rows.pad < 0)
    config.refuse("pad_token_id", "none", "a token id: positions begin behind it");
  if (read.width < 4) config.refuse("d_model", read.width, "at least 4, for its sinusoids");
  read.rows.first = read.rows.pad + 1;
  read.sinusoids->reaches_base = true;
  read.sinusoids->zero = read.rows.pad;
}

void read_dropout(const Config& config, const Seq2seqKin& kin, Seq2seqShape& read) {
  read.dropout = config.rate("dropout", 0.1);
  read.attention_dropout = config.rate("attention_dropout", kin.attention_dropout);
  read.unserved = {{"activation_dropout", config.rate("activation_dropout", 0)}};
  for (const char* key : {"encoder_layerdrop", "decoder_layerdrop"})
    read.unserved.emplace_back(key, config.rate(key, kin.layer_drop));
}

Seq2seqShape read_seq2seq(const Config& config) {
  const Seq2seqKin& kin = seq2seq_kin(config.text("model_type", "marian"));
  Seq2seqShape read{.family = "seq2seq", .title = kin.title};
  read_sides(config, kin, read);
  read.width = config.extent("d_model", kin.width);
  read_places(config, kin, read);
  read.norms_first = kin.norms_first;
  if (kin.embedding_norm) read.names.embedding_norm = "layernorm_embedding";
  if (kin.norms_first) read.names.last_norm = "layer_norm";
  if (kin.logit_bias) read.names.logit_bias = "final_logits_bias";
  read.causal = is_causal(config);
  read.has_words = wants_seq2seq_words(config);
  read.tied = config.flag("tie_word_embeddings", true);
  read.shared_words =
      read.tied && (!kin.own_words || config.flag("share_encoder_decoder_embeddings", true));
  if (config.flag("scale_embedding", kin.scales_words))
    read.word_scale = std::sqrt(static_cast<double>(read.width));
  read_dropout(config, kin, read);
  const double deviation = config.number("init_std", 0.02);
  read.deviation = [deviation](std::string_view) { return deviation; };
  read.activation = config.activation("activation_function", kin.activation);
  read.start = config.id("decoder_start_token_id", kin.start);
  read.eos = config.ids("eos_token_id", {kin.end});
  read.bad_words = config.bad_words();
  read.json = config.with(Json::object());
  check(read, config);
  return read;
}

bool has_two_vocabularies(const TrainingShape& shape, const Seq2seqKin& kin) {
  const bool own = shape.target_vocabulary > 0 && shape.target_vocabulary != shape.vocabulary;
  if (own && !kin.own_words)
    fail("train", "target_tokenizer",
         fmt::format("of {}", number_of(shape.target_vocabulary, "token")),
         fmt::format("none: {} has one vocabulary for both sides", kin.title));
  return own;
}

Json seq2seq_training_config(const TrainingShape& shape) {
  const Seq2seqKin& kin = seq2seq_kin(shape.model_type);
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
               {"encoder_layerdrop", 0.0},
               {"decoder_layerdrop", 0.0},
               // The same length as sinusoids after scaling (Vaswani et al. 2017, section 3.4).
               {"init_std", 1 / std::sqrt(static_cast<double>(shape.width))},
               {"decoder_start_token_id", shape.start_token},
               {"pad_token_id", shape.pad_token},
               {"forced_eos_token_id", nullptr},
               {"eos_token_id", json_of_ids(shape.end_tokens)}};
  if (kin.own_words) json.set("share_encoder_decoder_embeddings", !own);
  if (own) json.set("decoder_vocab_size", shape.target_vocabulary);
  return json;
}

Spelling seq2seq_spelling(const Seq2seqShape& read) {
  constexpr const char* kShared = "model.shared.weight";
  constexpr const char* kEncoder = "model.encoder.embed_tokens.weight";
  constexpr const char* kDecoder = "model.decoder.embed_tokens.weight";
  Spelling spelling = {.prefix = "model.",
                       .otherwise = {{kShared, kDecoder},
                                     {kShared, kEncoder},
                                     {kEncoder, kShared},
                                     {kDecoder, kShared}},
                       .unused = {"shared.weight", "embed_tokens.weight"}};
  if (read.sinusoids) spelling.unused.emplace_back("embed_positions.weight");
  if (!read.has_words) spelling.unused.emplace_back("final_logits_bias");
  if (read.tied || !read.has_words) {
    spelling.unused.emplace_back("lm_head.weight");
    spelling.otherwise.emplace_back(read.shared_words ? kShared : kDecoder, "lm_head.weight");
  }
  return spelling;
}

// Like transformers: a table of positions in the file counts where its numbers are not the
// sinusoids, except in M2M-100.
void read_stored_positions(const StoredWeights& stored, Seq2seqShape& read) {
  if (!read.sinusoids || read.sinusoids->reaches_base) return;
  std::vector<std::int32_t> rows(static_cast<std::size_t>(read.positions));
  std::iota(rows.begin(), rows.end(), 0);
  const ConstView all(rows.data(), DType::kI32, {1, read.positions});
  const Tensor usual = sinusoids(all, *read.sinusoids, DType::kF32);
  const auto is_usual = [&](const std::string& name) {
    const Tensor table = stored.numbers(name, {read.positions, read.width});
    const auto *found = table.data<float>(), *expected = usual.data<float>();
    return std::equal(found, found + table.element_count(), expected,
                      [](float a, float b) { return std::abs(a - b) <= 1e-5F; });
  };
  for (const char* name :
       {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"}) {
    if (!stored.holds(name) || is_usual(name)) continue;
    read.sinusoids = {};
    read.names.positions = "embed_positions";
    return;
  }
}

void require_copies(const Seq2seqShape& read, const StoredWeights& stored) {
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
  Seq2seqShape read = read_seq2seq(config);
  if (!reading.headers_only)
    read_stored_positions(StoredWeights(weights, seq2seq_spelling(read)), read);
  const StoredWeights stored(weights, seq2seq_spelling(read));
  // Files of the bare model, from which training may start, lack it.
  if (!stored.holds("final_logits_bias")) read.names.logit_bias = "";
  if (!reading.headers_only) require_copies(read, stored);
  const auto require = [&](const char* side, const Seq2seqShape::Side& numbers) {
    const std::string name = std::string("model.") + side;
    if (!read.shared_words)
      stored.require(name + ".embed_tokens.weight", {numbers.vocabulary, read.width});
    if (!read.sinusoids)
      stored.require(name + ".embed_positions.weight",
                     {read.rows.count + read.rows.first, read.width});
    stored.require(fmt::format("{}.layers.{}.fc1.weight", name, numbers.layers - 1),
                   {numbers.inner, read.width});
  };
  if (read.shared_words)
    stored.require("model.shared.weight", {read.encoder.vocabulary, read.width});
  require("encoder", read.encoder);
  require("decoder", read.decoder);
  auto model = empty_seq2seq(std::move(read));
  stored.load(model->parameters(), reading);
  return model;
}

}  // namespace

Family seq2seq_family() {
  Family family = {
      .model_types = {},
      .describe = [](const Config& config) { return read_seq2seq(config).info(); },
      .make = [](const Config& config,
                 std::uint64_t seed) { return make_seq2seq(read_seq2seq(config), seed); },
      .load = load_seq2seq,
      .training_config = seq2seq_training_config,
      .kind = FamilyKind::kTranslator};
  for (const Seq2seqKin& kin : kSeq2seqKin) family.model_types.push_back(kin.model_type);
  return family;
}

}  // namespace heed
