// Vectors of sentences, as sentence-transformers computes them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include "base/file.h"
#include "base/formats/json.h"
#include "base/numbers.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/model.h"
#include "io/tensor_files.h"
#include "models/config.h"
#include "nn/linear.h"
#include "ops/elementwise.h"

namespace heed {

// A Dense module of sentence-transformers.
struct SentenceLayer {
  Linear linear;
  std::int64_t in = 0;
  Activation activation = Activation::kTanh;
};

namespace {

namespace fs = std::filesystem;

class LastStates final : public Tap {
 public:
  void at(const TapName& name, View value) override {
    if (name.kind == TapKind::kFinal) states = Tensor::copy_of(value);
  }

  Tensor states;  // [B, T, C]
};

constexpr const char* kMean = "pooling_mode_mean_tokens";
constexpr const char* kFirstToken = "pooling_mode_cls_token";
constexpr const char* kOtherModes[] = {
    "pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"};

// sentence-transformers concatenates the vectors of several modes.
Pooling::Kind pooling_of(const Config& config) {
  constexpr const char* kServed = "the mean of all tokens or the first one (cls) alone";
  if (config.has("pooling_mode")) {
    const std::string mode = config.text("pooling_mode", "");
    if (mode == "cls") return Pooling::Kind::kFirst;
    if (mode != "mean")
      config.refuse("pooling_mode", fmt::format("'{}'", mode), kServed, ErrorCode::kUnsupported);
    return Pooling::Kind::kMean;
  }
  for (const char* mode : kOtherModes)
    if (config.flag(mode, false)) config.refuse(mode, "true", kServed, ErrorCode::kUnsupported);
  const bool first = config.flag(kFirstToken, false);
  const bool mean = config.flag(kMean, !first);
  if (first == mean)
    config.refuse(kMean, fmt::format("{}, as is {}", mean, kFirstToken), kServed,
                  ErrorCode::kUnsupported);
  return first ? Pooling::Kind::kFirst : Pooling::Kind::kMean;
}

// The steps of sentence-transformers for a text, in order.
constexpr std::string_view kSteps[] = {"Transformer", "Pooling", "Dense", "Normalize"};

struct Modules {
  std::string pooling = "1_Pooling";  // its folder
  std::vector<std::string> dense;     // their folders
  bool has_pooling = false;
  bool normalise = false;
};

std::string text_of(const Json& json) { return json.as_text() == nullptr ? "" : *json.as_text(); }

// Another module, for example a LayerNorm, would change the vectors, so it is refused.
Modules read_modules(const fs::path& file) {
  Modules modules;
  if (!fs::exists(file)) return modules;
  const JsonText json = JsonText::parse(read_file(file), {.file = file.string()});
  if (!json.root().is_array()) json.refuse(json.root(), "the whole", "a list of modules");
  std::ptrdiff_t next = 0;  // the first step that may follow
  for (const Json& module : json.root().items()) {
    const std::string type = text_of(module["type"]);
    const std::string kind = type.substr(type.rfind('.') + 1);
    const std::ptrdiff_t step = std::ranges::find(kSteps, kind) - std::begin(kSteps);
    if (step < next || step == std::ssize(kSteps))
      fail({.code = ErrorCode::kUnsupported,
            .file = file.string(),
            .place = json.place(module),
            .argument = "type",
            .found = "'" + type + "'",
            .expected = fmt::format("{}, in this order", joined(kSteps, ", "))});
    next = kind == "Dense" ? step : step + 1;
    if (kind == "Pooling") {
      modules.pooling = text_of(module["path"]);
      modules.has_pooling = true;
    }
    if (kind == "Dense") modules.dense.push_back(text_of(module["path"]));
    if (kind == "Normalize") modules.normalise = true;
  }
  return modules;
}

// An activation by its class in PyTorch.
Activation activation_of(const Config& config) {
  constexpr const char* kKey = "activation_function";
  constexpr std::string_view kTorch = "torch.nn.";
  constexpr std::pair<std::string_view, Activation> kClasses[] = {
      {"Identity", Activation::kLinear}, {"Tanh", Activation::kTanh},
      {"ReLU", Activation::kRelu},       {"GELU", Activation::kGelu},
      {"SiLU", Activation::kSilu},       {"Sigmoid", Activation::kSigmoid}};
  const std::string wanted = config.text(kKey, "torch.nn.modules.activation.Tanh");
  for (const auto& [name, activation] : kClasses)
    if (wanted.starts_with(kTorch) && wanted.ends_with("." + std::string(name))) return activation;
  config.refuse(kKey, "'" + wanted + "'",
                "a class of torch.nn: " + joined(kClasses | std::views::keys, ", "),
                ErrorCode::kUnsupported);
}

std::int64_t features(const Config& config, const char* key) {
  if (!config.has(key)) config.refuse(key, "missing", "a number of features");
  return config.extent(key, 1);
}

// Dense modules also exist for the states of tokens.
void require_sentences(const Config& config) {
  constexpr std::string_view kSentence = "sentence_embedding";
  for (const char* key : {"module_input_name", "module_output_name"})
    if (const std::string name = config.text(key, kSentence); name != kSentence)
      config.refuse(key, "'" + name + "'", std::string(kSentence), ErrorCode::kUnsupported);
}

std::shared_ptr<const SentenceLayer> read_dense(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  const Config config = Config::parse(read_file(file), file.string(), "a JSON object");
  require_sentences(config);
  const LinearShape shape = {.in = features(config, "in_features"),
                             .out = features(config, "out_features"),
                             .bias = config.flag("bias", true)};
  const Activation activation = activation_of(config);
  const Weights weights = Weights::open(folder);
  weights.require("linear.weight", {shape.out, shape.in});  // before memory is taken for it
  SentenceLayer layer{Linear("linear", shape), shape.in, activation};
  std::vector<Parameter*> parameters;
  layer.linear.collect(parameters);
  for (Parameter* parameter : parameters)
    parameter->value = weights.load_f32(parameter->name, parameter->value.shape());
  return std::make_shared<const SentenceLayer>(std::move(layer));
}

// A prompt before every text changes its vector.
void refuse_prompts(const fs::path& file) {
  if (!fs::exists(file)) return;
  const Config config = Config::parse(read_file(file), file.string());
  constexpr const char* kKey = "default_prompt_name";
  if (const std::string name = config.text(kKey, ""); !name.empty())
    config.refuse(kKey, "'" + name + "'", "none: prompts are not put before texts",
                  ErrorCode::kUnsupported);
}

// A positive whole number from a file beside the model; `otherwise` if absent.
std::int64_t length_in(const fs::path& file, const char* key, std::int64_t otherwise) {
  if (!fs::exists(file)) return otherwise;
  const Config config = Config::parse(read_file(file), file.string());
  // "Any length" is written as 10^30.
  const double length = config.positive(key, static_cast<double>(otherwise));
  return length < static_cast<double>(otherwise) ? static_cast<std::int64_t>(length) : otherwise;
}

}  // namespace

std::int64_t most_sentence_tokens(const LoadedModel& model) {
  const std::int64_t positions = model.model->info().positions;
  const fs::path own = model.folder / "sentence_bert_config.json";
  const bool says =
      fs::exists(own) && Config::parse(read_file(own), own.string()).has("max_seq_length");
  return says ? length_in(own, "max_seq_length", positions)
              : length_in(model.folder / "tokenizer_config.json", "model_max_length", positions);
}

SentenceTokens sentence_tokens(const Tokenizer& tokenizer, std::string_view text, SentencePart part,
                               std::int64_t most) {
  require_enumerator("sentence", "part", part, SentencePart::kLast);
  Encoding all = tokenizer.encode(text, /*add_special=*/true);
  const std::int64_t whole = std::ssize(all.ids);
  if (part == SentencePart::kAll || whole <= most) return {std::move(all.ids), whole};
  const std::int64_t added = std::ranges::count(all.texts, -1);
  const std::int64_t kept = std::max<std::int64_t>(most - added, 0);
  const std::int64_t skipped = part == SentencePart::kFirst ? 0 : whole - added - kept;
  std::vector<TokenId> ids;
  std::int64_t written = 0;  // tokens of the text processed so far
  for (std::size_t i = 0; i < all.ids.size(); ++i) {
    const bool is_added = all.texts[i] < 0;
    if (is_added || (written >= skipped && written < skipped + kept)) ids.push_back(all.ids[i]);
    if (!is_added) ++written;
  }
  return {std::move(ids), whole};
}

namespace {

// The mean of the rows, or the first one.
std::vector<double> mean_or_first(const ConstView& states, const Pooling& pooling) {
  const std::int64_t width = states.dim(1);
  require_enumerator("pooled", "pooling.kind", pooling.kind, Pooling::Kind::kFirst);
  const std::int64_t counted = pooling.kind == Pooling::Kind::kFirst ? 1 : states.dim(0);
  std::vector<double> sums(static_cast<std::size_t>(width));
  for (std::int64_t t = 0; t < counted; ++t)
    for (std::int64_t c = 0; c < width; ++c)
      sums[static_cast<std::size_t>(c)] += states.data<float>()[t * width + c];
  for (double& sum : sums) sum /= static_cast<double>(counted);
  return sums;
}

std::vector<double> applied(const SentenceLayer& layer, const std::vector<double>& vector) {
  if (std::ssize(vector) != layer.in)
    fail("pooled", "states", fmt::format("{} wide", vector.size()),
         fmt::format("{} wide, as a Dense module reads", layer.in));
  Tensor x = Tensor::empty({1, layer.in});
  std::ranges::transform(vector, x.data<float>(),
                         [](double value) { return static_cast<float>(value); });
  const Tensor y = activate(layer.linear.apply(x, Run()), layer.activation);
  return {y.data<float>(), y.data<float>() + y.element_count()};
}

}  // namespace

std::vector<float> pooled(const ConstView& states, const Pooling& pooling) {
  std::vector<double> vector = mean_or_first(states, pooling);
  for (const auto& layer : pooling.layers) vector = applied(*layer, vector);
  double squares = 0;
  for (const double value : vector) squares += value * value;
  const double length = pooling.normalised ? std::max(std::sqrt(squares), 1e-12) : 1;
  std::vector<float> result;
  for (const double value : vector) result.push_back(static_cast<float>(value / length));
  return result;
}

Pooling read_pooling(const fs::path& folder) {
  refuse_prompts(folder / "config_sentence_transformers.json");
  const Modules modules = read_modules(folder / "modules.json");
  Pooling pooling;
  const fs::path file = folder / modules.pooling / "config.json";
  if (modules.has_pooling || fs::exists(file)) {
    pooling.kind = pooling_of(Config::parse(read_file(file), file.string()));
    pooling.normalised = modules.normalise;
  }
  for (const std::string& dense : modules.dense)
    pooling.layers.push_back(read_dense(folder / dense));
  return pooling;
}

Tensor sentence_vectors(const Model& model, std::span<const std::vector<TokenId>> texts,
                        const Pooling& pooling) {
  if (model.info().causal || model.info().reads_source())
    fail("sentence_vectors", "model", model.info().title, "an encoder");
  LastStates last;
  Run run;
  run.tap = &last;
  std::int64_t longest = 0;
  for (const auto& text : texts) {
    if (text.empty()) fail("sentence_vectors", "texts", "without a token", "at least one in each");
    run.extents.query_length.push_back(std::ssize(text));
    longest = std::max<std::int64_t>(longest, std::ssize(text));
  }
  run.extents.key_length = run.extents.query_length;
  run.last_position_only = true;  // the logits are not needed
  const auto count = static_cast<std::int64_t>(texts.size());
  Tensor ids = Tensor::zeros({count, longest}, DType::kI32);
  for (std::int64_t i = 0; i < count; ++i)
    std::ranges::copy(texts[static_cast<std::size_t>(i)], ids.data<TokenId>() + i * longest);
  model.forward({.ids = ids}, run);
  Tensor vectors = Tensor::empty({count, model.info().width});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t length = run.extents.query_length[static_cast<std::size_t>(i)];
    const std::vector<float> vector =
        pooled(last.states.view().select(0, i).slice(0, 0, length), pooling);
    if (vectors.dim(1) != std::ssize(vector)) vectors = Tensor::empty({count, std::ssize(vector)});
    std::ranges::copy(vector, vectors.data<float>() + i * vectors.dim(1));
  }
  return vectors;
}

Tensor sentence_vectors(const LoadedModel& model, std::span<const std::string> texts) {
  if (!model.tokenizer)
    fail({.op = "sentence_vectors",
          .found = model.name + " has no tokenizer",
          .expected = "a model that reads text"});
  std::vector<std::vector<TokenId>> ids;
  const std::int64_t most = most_sentence_tokens(model);
  for (const std::string& text : texts)
    ids.push_back(sentence_tokens(*model.tokenizer, text, SentencePart::kFirst, most).ids);
  return sentence_vectors(*model.model, ids, read_pooling(model.folder));
}

}  // namespace heed
