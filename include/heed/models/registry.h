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
  std::string name;              // openai-community/gpt2 in a cache of the hub; else the folder's
  std::filesystem::path folder;  // or the GGUF file
  bool built_in = false;
  std::unique_ptr<Model> model;
  std::unique_ptr<Tokenizer> tokenizer;  // null when the folder has none: ids only
  /// Of what an encoder-decoder writes, where that is another than the source's.
  std::unique_ptr<Tokenizer> target_tokenizer = {};
  std::string tokenizer_error = {};  // why it is missing, where it could not be read
  /// Tensors of the file that the model does not take: copies of tied words, stored masks, a
  /// pooler, heads for other tasks.
  std::vector<std::string> unread = {};

  const Tokenizer* writing_tokenizer() const {
    return target_tokenizer ? target_tokenizer.get() : tokenizer.get();
  }
};

struct LoadOptions {
  bool tokenizers = true;  // false: ids only
  /// A tokenizer that cannot be read is left out and its error kept (`tokenizer_error`): for
  /// callers that have token ids.
  bool needs_tokenizers = true;
  /// To run, not to train or save: the weights of linear layers are held as `pack` makes them.
  bool packed = false;
  /// Of those, f32, f16 or bf16; none: the file's. Weights that a file has in blocks of codes stay
  /// codes, and are multiplied as f32.
  std::optional<DType> dtype = {};
  /// Packed: false: tables stay in the file, mapped, so it must not be written over while the model
  /// is there (another file in its place does no harm). True: all is read now.
  bool in_memory = false;
  /// Packed: the weights of linear layers stay in the file. Each product packs the one that it
  /// needs and drops it, so memory holds one matrix at a time; results have the same bits. The file
  /// must not be written over while the model is there.
  bool streamed = false;
};

/// Reads the folder, or the GGUF file (the first of a split one); any error names file, tensor and
/// what was expected, and nothing partial is returned.
LoadedModel load_model(const std::filesystem::path& folder, const LoadOptions& options = {});

/// Reads the streamed weights into memory, where they stay.
void hold_weights(Model& model);

/// The tokenizer alone, of a folder, of a tokenizer's file or of a GGUF file.
std::unique_ptr<Tokenizer> load_model_tokenizer(const std::filesystem::path& path);

/// Why `load_model` refuses the folder, or what of it cannot be used, as far as config.json, names
/// and shapes in the headers of the weights and the tokenizer tell: its error's text. Empty where
/// nothing speaks against it.
std::string why_not_loaded(const std::filesystem::path& folder);

/// What a folder's config.json and the headers of its weights tell.
struct ModelSummary {
  ModelInfo info;
  std::int64_t parameters = 0;  // numbers that the file holds, a copy of a tied head included
  std::string stored_in = {};   // the type of most of them: "bf16", "Q4_K"
};
/// None where `load_model` would refuse the folder.
std::optional<ModelSummary> describe_model(const std::filesystem::path& folder);

/// What a text is for: to go on with, to read beside a second one, or to translate.
enum class ModelKind : std::uint8_t { kDecoder, kEncoder, kEncoderDecoder };

/// A target asks for a translator; without one, a second text or a gap, `[MASK]`, for an encoder.
ModelKind kind_that_reads(std::string_view text, bool has_pair, bool has_target);

/// `name` is a folder, a GGUF file, or a name looked up in $HEED_MODELS, ./models, $HF_HOME/hub,
/// the stores of Ollama ("ollama:llama3.2:1b"), LM Studio and llama.cpp, then share/heed/models
/// beside the program; empty: the first built-in model of the kind, where none is of it the first.
/// In the hub's cache `gpt2` also finds `openai-community/gpt2`, where no other has that ending.
/// kNotFound lists what was looked through and what there is, or says that $HEED_MODELS is no
/// folder.
std::filesystem::path find_model(std::string_view name, ModelKind unnamed = ModelKind::kDecoder);

/// For a host that is another program, as Python's interpreter is: its built-in models lie in
/// `folder`.
void set_built_in_models(const std::filesystem::path& folder);

/// One model folder that the search path holds.
struct FoundModel {
  std::string name;
  std::filesystem::path folder;
  bool built_in = false;
  bool by_name = true;  // false: an earlier folder has the name, only its own path gives this one
};
/// Each folder once, in the order in which names are looked up.
std::vector<FoundModel> list_models();

/// What a folder's card (`card.md`, else `README.md`) says first: its first paragraph, on one line,
/// behind headings and front matter. Empty where there is none.
std::string card_line(const std::filesystem::path& folder);

/// A fresh model with random weights from the content of a `config.json` (`model_type` chooses the
/// family).
std::unique_ptr<Model> make_model(std::string_view config_json, std::uint64_t seed);

/// What a model is trained for, which decides the families that fit.
enum class TrainedFor : std::uint8_t {
  kNextToken,     // decoders
  kMaskedToken,   // encoders
  kTranslation,   // encoder-decoders
  kTokenClasses,  // decoders and encoders
  kTextClasses,
};

/// What a training run asks of a model.
struct TrainingShape {
  TrainedFor trained_for = TrainedFor::kNextToken;
  std::string model_type = {};  // empty: the usual one; `training_config` sets it
  std::int64_t vocabulary = 0;
  std::int64_t target_vocabulary = 0;  // of a translation, where it is another; 0: the same
  std::int64_t positions = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;
  double dropout = 0;
  double attention_dropout = 0;
  std::vector<std::int64_t> end_tokens = {};
  std::int64_t start_token = -1;  // of a translation
  std::int64_t pad_token = -1;
  std::vector<std::string> labels = {};  // of classes
};

/// The `config.json` for it. `further` is a JSON object whose members are added, or stand in the
/// place of the family's own; its `model_type` chooses the family (without one gpt2, bert or
/// marian).
std::string training_config(const TrainingShape& shape, std::string_view further);

/// The `config.json` for training a folder's model on: its own, with the dropout and the labels of
/// the shape, and `further`. What the shape asks of vocabulary and positions has to fit; its
/// layers, heads and width do not count.
std::string continued_config(const std::filesystem::path& folder, const TrainingShape& shape,
                             std::string_view further);

/// Writes config.json, model.safetensors (floating tensors as `dtype`) and tokenizer.json (unless
/// null), each atomically, so that `transformers` opens the folder.
void save_model(const std::filesystem::path& folder, const Model& model, const Tokenizer* tokenizer,
                DType dtype);
/// With all of its tokenizers, and the small files of its folder that belong to it: how to pool and
/// to generate, what tokens are for, card and licence.
void save_model(const std::filesystem::path& folder, const LoadedModel& model, DType dtype);

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

/// The text that the chat template makes of the messages and of the beginning of the answer. The
/// template is `chat_template.jinja` in the model's folder, else `chat_template` in
/// tokenizer_config.json (of a list "default"), or `tokenizer.chat_template` of a GGUF file.
/// kNotFound names what was sought; an error of the template names its file and line.
std::string chat_text(const LoadedModel& model, std::span<const ChatMessage> messages);

/// The same from the template's variables, a JSON object with `messages` (members of a message that
/// are null are left out) and whatever else it reads: `add_generation_prompt`, `tools`,
/// `enable_thinking`. `chat_template`: used in place of the model's own, unless empty.
std::string chat_text(const LoadedModel& model, std::string_view variables,
                      std::string_view chat_template = {});

/// The tokens of that text: a special token that the template wrote is one token, and the tokenizer
/// adds none of its own.
Encoding encode_chat(const LoadedModel& model, std::string_view text);

}  // namespace heed
