// From a name or a folder to a running model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/models/model.h"
#include "heed/text/tokenizer.h"

namespace heed {

/// A model, loaded: a folder in Hugging Face's layout with `config.json`, weights and tokenizer, or
/// a GGUF file, which holds all three.
struct LoadedModel {
  std::string name;              // openai-community/gpt2 in a hub cache; else the folder's name
  std::filesystem::path folder;  // or the GGUF file
  bool built_in = false;
  std::unique_ptr<Model> model;
  std::unique_ptr<Tokenizer> tokenizer;  // null if the folder has none: ids only
  /// For the output of an encoder-decoder, if it differs from the source's.
  std::unique_ptr<Tokenizer> target_tokenizer = {};
  std::string tokenizer_error = {};  // why the tokenizer could not be read
  /// Tensors of the file that the model does not use: copies of tied embeddings, stored masks, a
  /// pooler, heads for other tasks.
  std::vector<std::string> unread = {};

  const Tokenizer* writing_tokenizer() const {
    return target_tokenizer ? target_tokenizer.get() : tokenizer.get();
  }
};

struct LoadOptions {
  bool tokenizers = true;  // false: do not load tokenizers, ids only
  /// False: a tokenizer that cannot be read is omitted and its error kept (`tokenizer_error`), for
  /// callers that have token ids.
  bool needs_tokenizers = true;
  /// For running only, not for training or saving: `pack` converts the weights of linear layers.
  bool packed = false;
  /// The type of packed weights: f32, f16 or bf16; default: the file's. Quantised weights stay
  /// quantised and are multiplied as f32.
  std::optional<DType> dtype = {};
  /// With `packed`. False: tables stay memory-mapped, so the file must not be overwritten while the
  /// model exists (replacing it by another file is safe). True: everything is read now.
  bool in_memory = false;
  /// Packed: the weights of linear layers stay in the file. Each product packs the one that it
  /// needs and drops it, so memory holds one matrix at a time; results have the same bits. The file
  /// must not be written over while the model is there.
  bool streamed = false;
};

/// Reads the folder or the GGUF file (the first of a split one). An error names file, tensor and
/// what was expected; no partial model is returned.
LoadedModel load_model(const std::filesystem::path& folder, const LoadOptions& options = {});

/// Reads the streamed weights into memory, where they stay.
void hold_weights(Model& model);

/// The tokenizer alone, of a folder, of a tokenizer's file or of a GGUF file.
std::unique_ptr<Tokenizer> load_model_tokenizer(const std::filesystem::path& path);

/// The text of the error with which `load_model` would refuse the folder, or of the part that
/// cannot be used, judged by config.json, the tokenizer, and names and shapes in the weights'
/// headers. Empty if nothing is wrong.
std::string why_not_loaded(const std::filesystem::path& folder);

/// Facts from a folder's config.json and the headers of its weights.
struct ModelSummary {
  ModelInfo info;
  std::int64_t parameters = 0;  // numbers in the file, including a stored copy of a tied head
  std::string stored_in = {};   // the commonest type: "bf16", "Q4_K"
};
/// Empty if `load_model` would refuse the folder.
std::optional<ModelSummary> describe_model(const std::filesystem::path& folder);

/// The model for a text: to continue it, to read it with a second one, or to translate it.
enum class ModelKind : std::uint8_t { kDecoder, kEncoder, kEncoderDecoder };

/// A target needs a translator; otherwise a second text or a gap, `[MASK]`, needs an encoder.
ModelKind kind_that_reads(std::string_view text, bool has_pair, bool has_target);

/// `name` is a folder, a GGUF file, or a name looked up in $HEED_MODELS, ./models, $HF_HOME/hub,
/// the stores of Ollama ("ollama:llama3.2:1b"), LM Studio and llama.cpp, then share/heed/models
/// beside the program; empty: the first built-in model of the kind, else the first built-in model.
/// In the hub's cache `gpt2` also finds `openai-community/gpt2` if the ending is unique. kNotFound
/// lists the places searched and the models found, or says that $HEED_MODELS is not a folder.
std::filesystem::path find_model(std::string_view name, ModelKind unnamed = ModelKind::kDecoder);

/// For a host program such as a Python interpreter: sets the folder of the built-in models.
void set_built_in_models(const std::filesystem::path& folder);

/// One model folder on the search path.
struct FoundModel {
  std::string name;
  std::filesystem::path folder;
  bool built_in = false;
  bool by_name = true;  // false: an earlier folder has the name; use the path
};
/// Each folder once, in search order.
std::vector<FoundModel> list_models();

/// The first paragraph of a folder's card (`card.md`, else `README.md`), on one line, without
/// headings and front matter. Empty if there is none.
std::string card_line(const std::filesystem::path& folder);

/// A fresh model with random weights from the content of a `config.json` (`model_type` chooses the
/// family).
std::unique_ptr<Model> make_model(std::string_view config_json, std::uint64_t seed);

/// What a model is trained for; decides which families fit.
enum class TrainedFor : std::uint8_t {
  kNextToken,     // decoders
  kMaskedToken,   // encoders
  kTranslation,   // encoder-decoders
  kTokenClasses,  // decoders and encoders
  kTextClasses,
};

/// The shape of model that a training run requires.
struct TrainingShape {
  TrainedFor trained_for = TrainedFor::kNextToken;
  std::string model_type = {};  // empty: the usual one; set by `training_config`
  std::int64_t vocabulary = 0;
  std::int64_t target_vocabulary = 0;  // translation: size of the target vocabulary; 0: the same
  std::int64_t positions = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;
  double dropout = 0;
  double attention_dropout = 0;
  std::vector<std::int64_t> end_tokens = {};
  std::int64_t start_token = -1;  // translation only
  std::int64_t pad_token = -1;
  std::vector<std::string> labels = {};  // classification only
};

/// The `config.json` for it. The members of `further`, a JSON object, are added or replace the
/// family's own; its `model_type` chooses the family (default: gpt2, bert or marian).
std::string training_config(const TrainingShape& shape, std::string_view further);

/// The `config.json` for continued training of a folder's model: its own, with the dropout and
/// labels of the shape, and `further`. The shape's vocabulary and positions must fit; its layers,
/// heads and width are ignored.
std::string continued_config(const std::filesystem::path& folder, const TrainingShape& shape,
                             std::string_view further);

/// Writes config.json, model.safetensors (floating tensors as `dtype`) and tokenizer.json (unless
/// null), each atomically, so that `transformers` opens the folder.
void save_model(const std::filesystem::path& folder, const Model& model, const Tokenizer* tokenizer,
                DType dtype);
/// Also saves all tokenizers and the small files of the folder: pooling, generation, special
/// tokens, card and licence.
void save_model(const std::filesystem::path& folder, const LoadedModel& model, DType dtype);

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

/// Applies the chat template to the messages and opens the answer. The template is
/// `chat_template.jinja` in the model's folder, else `chat_template` in tokenizer_config.json (of a
/// list "default"), or `tokenizer.chat_template` of a GGUF file. kNotFound names the files
/// searched; an error of the template names its file and line.
std::string chat_text(const LoadedModel& model, std::span<const ChatMessage> messages);

/// The same with the template's variables, a JSON object with `messages` (null members of a message
/// are omitted) and other variables: `add_generation_prompt`, `tools`, `enable_thinking`.
/// `chat_template`, unless empty, replaces the model's own.
std::string chat_text(const LoadedModel& model, std::string_view variables,
                      std::string_view chat_template = {});

/// The tokens of that text: a special token written by the template is one token, and the tokenizer
/// adds none.
Encoding encode_chat(const LoadedModel& model, std::string_view text);

}  // namespace heed
