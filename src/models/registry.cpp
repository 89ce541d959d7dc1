// Reads and writes model folders.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/model.h"
#include "io/atomic_file.h"
#include "io/gguf.h"
#include "io/tensor_files.h"
#include "models/adapter.h"
#include "models/chat_template.h"
#include "models/classifier.h"
#include "models/family.h"
#include "models/gguf_model.h"
#include "models/model_tokenizer.h"
#include "models/search_path.h"
#include "models/stored_weights.h"
#include "nn/parameter.h"
#include "text/files/stored_vocabulary.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// transformers 5 reads "dtype", version 4 "torch_dtype".
std::string with_dtype(const std::string& config_json, DType dtype) {
  const char* torch_name = dtype == DType::kF16    ? "float16"
                           : dtype == DType::kBF16 ? "bfloat16"
                                                   : "float32";
  Json json = JsonText::parse(config_json, {.file = "config"}).root();
  json.set("dtype", torch_name);
  json.set("torch_dtype", torch_name);
  return json.dump(2) + "\n";
}

void save_weights(const fs::path& path, const Model& model, DType dtype) {
  std::vector<Tensor> rounded;
  std::vector<NamedView> tensors;
  std::map<std::string, std::vector<Tensor>> stacks;
  for (const Parameter* parameter : model.parameters()) {
    if (parameter->packed)
      fail("save_model", parameter->name, "packed",
           "plain weights: a model that was packed to run cannot be saved",
           ErrorCode::kUnsupported);
    const auto part = stacked_name(parameter->name);
    if (parameter->stacked && part) {
      stacks[without_ending(*part)].push_back(parameter->value.share());
      continue;
    }
    rounded.push_back(parameter->value.dtype() == dtype
                          ? parameter->value.share()
                          : Tensor::converted(parameter->value, dtype));
    tensors.push_back({parameter->name, rounded.back()});
  }
  for (const auto& [name, parts] : stacks) {
    rounded.push_back(stacked(parts, dtype));
    tensors.push_back({name, rounded.back()});
  }
  write_safetensors(path, tensors);
}

}  // namespace

Config model_config(const fs::path& model) {
  const fs::path base = base_model(model), file = base / "config.json";
  if (is_gguf(base)) return GgufModel::open(base)->config();
  return Config::parse(read_file(file), file.string());
}

namespace {

Config read_config(const fs::path& folder) {
  Config config = model_config(folder);
  const fs::path generation = folder / "generation_config.json";
  if (fs::exists(generation))
    config.prefer_ids_of(Config::parse(read_file(generation), generation.string()));
  return config;
}

// The files of a model: a folder in the hub's layout, or one GGUF file; for an adapter, its base's.
struct ModelSource {
  fs::path path;
  fs::path base;                          // the same unless it is an adapter
  std::shared_ptr<const GgufModel> gguf;  // null: a folder
  Config config;

  explicit ModelSource(const fs::path& from)
      : path(from),
        base(base_model(from)),
        gguf(is_gguf(base) ? GgufModel::open(base) : nullptr),
        config(gguf ? gguf->config() : read_config(base)) {}

  Weights weights() const {
    Weights own = gguf ? Weights::of(gguf) : Weights::open(base);
    return path == base ? std::move(own)
                        : adapted(std::move(own), path, config.with(Json::object()));
  }
  std::unique_ptr<Tokenizer> tokenizer() const {
    if (path != base)
      if (std::unique_ptr<Tokenizer> own = load_tokenizer(path)) return own;
    return gguf ? read_stored_vocabulary(gguf->vocabulary()) : load_tokenizer(base);
  }
  std::unique_ptr<Tokenizer> target_tokenizer() const {
    return gguf ? nullptr : load_target_tokenizer(base);
  }
};

void require_model_folder(const fs::path& folder) {
  const auto refuse = [&](ErrorCode code, const char* found, const char* expected) {
    fail({.code = code, .file = folder.string(), .found = found, .expected = expected});
  };
  if (is_gguf(folder)) return;
  if (!fs::is_directory(folder)) refuse(ErrorCode::kNotFound, "no such folder", "");
  if (is_adapter(folder)) return require_model_folder(base_model(folder));
  if (fs::exists(folder / "config.json")) return;
  if (const auto files = gguf_files(folder); !files.empty())
    fail({.file = folder.string(),
          .found = fmt::format("holds {}", number_of(files.size(), "GGUF file")),
          .expected = fmt::format("the path of one of them, as {}", files.front().string())});
  refuse(ErrorCode::kNotFound, "has no config.json", "a model folder in Hugging Face's layout");
}

void load_tokenizers(const ModelSource& source, LoadedModel& loaded) {
  const ModelInfo& info = loaded.model->info();
  loaded.tokenizer = padded(source.tokenizer(), std::max(info.vocabulary, info.source_vocabulary));
  loaded.target_tokenizer = padded(source.target_tokenizer(), info.vocabulary);
}

}  // namespace

LoadedModel load_model(const fs::path& folder, const LoadOptions& options) {
  require_model_folder(folder);
  const ModelSource source(folder);
  const Family& family = family_of(source.config);
  LoadedModel loaded;
  loaded.folder = folder;
  loaded.name = model_name(folder);
  loaded.built_in = is_built_in(folder);
  const Weights weights = source.weights();
  Reading reading = {.in_memory = options.in_memory,
                     .streamed = options.packed && options.streamed,
                     .unread = &loaded.unread};
  if (options.packed) reading.packed = options.dtype ? *options.dtype : stored_type(weights);
  loaded.model = family.load(source.config, weights, reading);
  if (!options.tokenizers) return loaded;
  try {
    load_tokenizers(source, loaded);
  } catch (const Error& error) {
    if (options.needs_tokenizers) throw;
    loaded.tokenizer.reset();
    loaded.target_tokenizer.reset();
    loaded.tokenizer_error = error.what();
  }
  return loaded;
}

void hold_weights(Model& model) { hold(model.parameters()); }

std::unique_ptr<Tokenizer> load_model_tokenizer(const fs::path& path) {
  if (is_gguf(path)) return read_stored_vocabulary(GgufModel::open(path)->vocabulary());
  std::unique_ptr<Tokenizer> own = load_tokenizer(path);
  return own || !is_adapter(path) ? std::move(own) : load_model_tokenizer(base_model(path));
}

std::string why_not_loaded(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return fmt::format("{} does not exist", folder.string());
  try {
    if (fs::is_regular_file(folder) && !is_gguf(folder))
      return fmt::format("{} is not GGUF, nor does it name such a file", folder.string());
    const ModelSource source(folder);
    const auto model =
        family_of(source.config).load(source.config, source.weights(), {.headers_only = true});
    const std::unique_ptr<Tokenizer> tokenizer = source.tokenizer();
    if (!tokenizer) return "it has no tokenizer, so only token ids can be read";
    const ModelInfo& info = model->info();
    const std::int64_t words = info.reads_source() ? info.source_vocabulary : info.vocabulary;
    if (tokenizer->vocabulary_size() > words)
      return fmt::format(
          "its tokenizer has {} and the model's vocabulary {}: texts with a "
          "token from {} on cannot be read",
          number_of(tokenizer->vocabulary_size(), "token"), words, words);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::optional<ModelSummary> describe_model(const fs::path& folder) {
  try {
    const ModelSource source(folder);
    ModelSummary summary = {.info = family_of(source.config).describe(source.config)};
    const Weights weights = source.weights();
    for (const std::string& name : weights.names())
      if (const auto [dtype, shape] = weights.kind(name); is_floating(dtype))
        summary.parameters += shape.element_count();
    summary.stored_in =
        source.gguf ? source.gguf->stored_in() : std::string(name(stored_type(weights)));
    return summary;
  } catch (const std::exception&) {
    return {};
  }
}

std::unique_ptr<Model> make_model(std::string_view config_json, std::uint64_t seed) {
  const Config config = Config::parse(config_json, "config");
  std::unique_ptr<Model> model = family_of(config).make(config, seed);
  const auto classifier = classifier_config(config);
  if (!classifier) return model;
  auto labelling = std::make_unique<Classifier>(std::move(model), *classifier);
  labelling->initialise_head(seed, config.number("initializer_range", 0.02));
  return labelling;
}

LoadedClassifier load_classifier(const fs::path& folder) {
  const ModelSource source(folder);
  const Config& config = source.config;
  const auto classifier = classifier_config(config);
  if (!classifier)
    config.refuse("architectures", config.has("architectures") ? "of another kind" : "",
                  "a model for sequence or token classification", ErrorCode::kUnsupported);
  const Weights weights = source.weights();
  auto model =
      std::make_unique<Classifier>(family_of(config).load(config, weights, Reading{}), *classifier);
  model->load_head(weights);
  const std::int64_t vocabulary = model->info().vocabulary;
  return {.model = std::move(model),
          .tokenizer = padded(source.tokenizer(), vocabulary),
          .labels = classifier->labels,
          .by_text = classifier->by_text};
}

void save_model(const fs::path& folder, const Model& model, const Tokenizer* tokenizer,
                DType dtype) {
  if (!is_floating(dtype) || dtype == DType::kF64)
    fail("save_model", "dtype", name(dtype), "f32, f16 or bf16");
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    fail({.code = ErrorCode::kIo,
          .file = folder.string(),
          .found = "cannot be created: " + failed.message()});
  save_weights(folder / "model.safetensors", model, dtype);
  if (tokenizer != nullptr) {
    write_file(folder / "tokenizer.json", tokenizer->to_json());
    write_file(folder / "tokenizer_config.json",
               tokenizer_config_json(*tokenizer, model.info().token_types > 1));
  }
  // Last, because a folder without it is not yet a model.
  write_file(folder / "config.json", with_dtype(model.config_json(), dtype));
}

void save_model(const fs::path& folder, const LoadedModel& model, DType dtype) {
  save_model(folder, *model.model, model.tokenizer.get(), dtype);
  if (model.target_tokenizer)
    write_file(folder / "tokenizer_target.json", model.target_tokenizer->to_json());
  copy_companions(base_model(model.folder), folder);
  if (is_adapter(model.folder)) copy_companions(model.folder, folder);
  // A GGUF file contains its template.
  if (const fs::path base = base_model(model.folder); is_gguf(base))
    if (const auto chat = find_chat_template(base, /*has_tools=*/false))
      write_file(folder / "chat_template.jinja", chat->source);
}

}  // namespace heed
