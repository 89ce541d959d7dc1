// A transformer: its passes forward and backward, where models are found and how they are loaded,
// made and saved; classifiers, chats, and vectors of sentences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/tensor.h"
#include "heed/tokenizer.h"

namespace heed {

class KvCache;  // generate.h
class PackedMatrix;
class SharedKeys;  // nn/attention.h
struct ModelParts;
struct SentenceLayer;

// -------------------------------------------------------------------------------------------------
// One pass of a model: its parameters, the observers of its activations, and how it runs.

/// The layout of a linear layer's weight in the model file.
enum class WeightLayout : std::uint8_t {
  kInOut,  // GPT-2's Conv1D
  kOutIn,  // torch.nn.Linear
};

/// A named tensor of a layer; f32 unless a model was loaded for running only. The name is that of
/// the model file.
struct Parameter {
  std::string name;
  Tensor value;            // not given if `packed` holds the numbers
  bool decays = true;      // weight decay applies (matrices: yes; biases, norms: no)
  bool stacked = false;    // one expert of several that share a tensor in the file
  bool looked_up = false;  // a table used only by row look-up: any floating type works
  std::optional<WeightLayout> linear = {};          // set if it is the weight of a linear layer
  std::shared_ptr<const PackedMatrix> packed = {};  // set if loaded `packed`

  std::int64_t element_count() const;
  DType dtype() const;              // in which the numbers are held, f32 of codes
  std::string held_in() const;      // "bf16"; of codes "Q4_K"
  std::int64_t held_bytes() const;  // of the numbers, without what panels add
  bool is_streamed() const;         // its numbers stay in the file between two products
};

/// The gradient of each parameter, zero at first.
class Gradients {
 public:
  /// f32, with the parameter's shape; allocated on first use.
  Tensor& of(const Parameter& parameter);
  /// Null if nothing was added.
  const Tensor* find(const Parameter& parameter) const;
  /// Sets all gradients to zero and keeps the memory for the next step.
  void clear();

 private:
  std::unordered_map<const Parameter*, Tensor> gradients_;
};

enum class TapKind : std::uint8_t {
  kEmbedding,       // [B, T, C] after embedding and position
  kAttentionInput,  // [B, T, C] input of the attention: after the norm, in pre-norm models
  kQuery,           // [B, H, T, D] as scored (after norm and rotation), a strided view
  kKey,             // [B, G, T, D]; unrotated if the cache keeps such keys
  kValue,           // [B, G, T, Dv]
  kGates,           // [B, H, T, Dv] what multiplies the output of gated heads
  kHeads,           // [B, H, T, Dv] output of the heads, before the output projection
  kAttention,       // [B, T, C] what the attention block adds to the residual stream
  kMiddle,          // [B, T, C] the stream between attention and MLP
  kMlpInput,        // [B, T, C] input of the MLP
  kMlpHidden,       // [B, T, F] before the activation; the gate in a gated MLP
  kMlpActive,       // [B, T, F] input of the MLP's last layer
  kMlp,             // [B, T, C] what the MLP adds
  kLayerWords,      // [B, T, C] what the layer's own embedding of the tokens adds, after the MLP
  kResidual,        // [B, T, C] after the layer
  kFinal,           // [B, T, C] after the last norm
  kLogits,          // [B, T, V]
};

/// The attention stacks of a model by name: a model with only a decoder or only an encoder has
/// `self`; models with both have the others.
enum class Stack : std::uint8_t { kSelf, kEncoder, kDecoder, kCross };

/// "self", "encoder", "decoder", "cross".
std::string_view stack_name(Stack stack);
std::optional<Stack> stack_of(std::string_view name);

/// Which activation. Activations of the whole pass (layer -1) have the stack of their stream:
/// kSelf, or kEncoder and kDecoder.
struct TapName {
  Stack stack = Stack::kSelf;
  int layer = -1;  // -1 if the kind belongs to no layer
  TapKind kind = TapKind::kResidual;
};

/// Sees every named activation and may overwrite it in place (not during training: backward does
/// not take it into account).
class Tap {
 public:
  virtual ~Tap() = default;
  virtual void at(const TapName& name, View value);
  /// One finished attention: its arguments (views valid only during the call) and its log-sum-exp.
  virtual void attended(const TapName& name, const AttentionArgs& args,
                        const AttendedConstView& attended);
  /// A mask to add, per head; the default adds none.
  virtual Mask mask(Stack stack, int layer);
};

/// Activations that `backward` needs, as a stack: each layer's backward pops what its forward
/// pushed, in reverse.
class Saved {
 public:
  void put(Tensor tensor) { tensors_.push_back(std::move(tensor)); }
  Tensor take();
  bool empty() const { return tensors_.empty(); }
  std::int64_t bytes() const;  // shared memory is counted each time

 private:
  std::vector<Tensor> tensors_;
};

/// Which activations `backward` recomputes instead of reading them from `Saved`: costs a little
/// more than a forward pass of those branches and saves the memory inside them. The bits are the
/// same.
enum class Recompute : std::uint8_t {
  kNothing,
  kAttention,  // the inside of attentions
  kBlocks,     // also the inside of MLPs: a branch keeps only its input
};

/// The number of rows from which `Run::in_bulk` is faster (GPT-2 small, a CPU with AMX).
inline constexpr std::int64_t kBulkRows = 64;

struct Run {
  Saved* saved = nullptr;  // null: keep nothing; no backward will follow
  Recompute recompute = Recompute::kNothing;
  Tap* tap = nullptr;        // null: no tap
  KvCache* cache = nullptr;  // null: a pass sees only its own tokens; else it continues the cache
  SharedKeys* shared_keys = nullptr;  // of the layers whose keys later layers of this pass read
  /// The extents of every self-attention (padding). With a cache, only query_length may be given.
  Extents extents = {};
  /// Set: dropout is on (training), and this seed determines every dropout mask.
  std::optional<std::uint64_t> dropout_seed = {};
  /// Index of this pass's first row in the batch that `dropout_seed` is for.
  std::int64_t first_row = 0;
  /// Compute logits only for the last token of each row ([B, 1, V]).
  bool last_position_only = false;
  /// Linear layers use the matrix product for many rows: for training and for
  /// reading long texts.
  bool in_bulk = false;
  /// Linear layers with plain weights multiply in bf16 where that is faster:
  /// weights, activations and gradients are rounded before the product.
  bool bf16 = false;

  /// Tokens of each row in a pass over [batch, length]: extents.query_length, checked.
  std::vector<std::int64_t> row_lengths(std::int64_t batch, std::int64_t length) const;

  /// Shows an activation to the tap, if there is one.
  void show(const TapName& name, const View& value) const {
    if (tap != nullptr) tap->at(name, value);
  }
};

// -------------------------------------------------------------------------------------------------
// A transformer with a forward and a backward pass.

/// The keys and values of one layer.
struct LayerKeys {
  int from = 0;  // the layer that computes them: this one or an earlier one
  int kv_heads = 0;
  int head_dim = 0;

  friend bool operator==(const LayerKeys&, const LayerKeys&) = default;
};

/// The attention layers of one stack.
struct StackShape {
  Stack stack = Stack::kSelf;
  int layers = 0;
  int heads = 0;
  int kv_heads = 0;         // the most of any layer
  bool causal = false;      // no query sees a later key
  int head_dim = 0;         // the largest of any layer; 0: not known (a session of arrays)
  bool has_images = false;  // keys are cells of images; of a session of arrays
  /// The layers that have attention, ascending; empty: all. The others keep their numbers and hold
  /// nothing (a session of arrays; hybrids have attention in some layers only).
  std::vector<int> attending = {};
  /// One entry per layer if layers differ in kv_heads or head_dim, or share keys; else empty.
  std::vector<LayerKeys> of_layers = {};

  LayerKeys keys_of(int layer) const {
    return of_layers.empty() ? LayerKeys{layer, kv_heads, head_dim}
                             : of_layers.at(static_cast<std::size_t>(layer));
  }
  bool has(int layer) const {
    return layer < layers &&
           (attending.empty() || std::binary_search(attending.begin(), attending.end(), layer));
  }
  /// How many layers have attention.
  int attention_layers() const {
    return attending.empty() ? layers : static_cast<int>(attending.size());
  }
};

/// Facts about a model that a user needs before running it.
struct ModelInfo {
  std::string family;       // "gpt2"
  std::string title;        // "GPT-2": the first line of `heed look`
  std::int64_t layers = 0;  // of the first stack, like heads, kv_heads and causal
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t width = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;     // longest text
  std::int64_t first_token = -1;  // first token of a text generated without a prompt; -1: none
  std::vector<std::int64_t> end_tokens = {};  // tokens that the model writes at the end of a text
  /// Sequences that generation never completes: their last token is forbidden after the others
  /// (`bad_words_ids`).
  std::vector<std::vector<std::int64_t>> bad_words = {};
  bool causal = true;
  bool has_logits = true;
  std::vector<StackShape> stacks = {};
  std::int64_t token_types = 1;        // an encoder's token types, one per text of a pair
  std::int64_t source_positions = 0;   // longest source; 0: the model reads none
  std::int64_t source_vocabulary = 0;  // of the source, in an encoder-decoder

  bool reads_source() const { return source_positions > 0; }
  /// Whether its logits predict the next token, not the token at the position.
  bool writes() const { return has_logits && (causal || reads_source()); }
  bool ends_with(std::int64_t token) const;
};

/// ids [B, T] i32, row-major. Positions are 0 .. T-1 in each row; with a cache they continue after
/// its tokens. The run's extents say how many tokens of a row exist.
struct Batch {
  ConstView ids = {};
  ConstView types = {};  // i32, like ids: which text of a pair; default: 0
  ConstView source =
      {};  // [B, S] i32: the source of an encoder-decoder; optional once a cache has it
  std::vector<std::int64_t> source_lengths = {};  // one per row; none: S
};

/// Immutable during a pass: several passes may share one model.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  /// Logits [B, T, V] (f32), or the last states [B, T, C] if the model has no logits. Errors: ids
  /// outside the vocabulary, texts longer than `positions`, a full cache. After an error the cache
  /// is unchanged.
  virtual Tensor forward(const Batch& batch, Run& run) const = 0;
  /// Applies the last norm and the vocabulary layer to a residual stream [B, T, C], after the last
  /// layer or an earlier one (the logit lens); returns logits [B, T, V]. kUnsupported if the model
  /// has no vocabulary.
  virtual Tensor read_out(const Tensor& stream, Run& run) const;
  /// Backward from the gradient of the logits; `run.saved` is the one that forward filled. Adds to
  /// `gradients`.
  virtual void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                        Gradients& gradients) const = 0;
  /// The last states [B, T, C] after the last norm: the input of other heads than the model's own.
  /// kUnsupported for an encoder-decoder.
  virtual Tensor states(const Batch& batch, Run& run) const;
  /// `backward` from the gradient of the states.
  virtual void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                               Gradients& gradients) const;
  /// Every parameter once (a tied head is the embedding), in a fixed order.
  virtual std::vector<Parameter*> parameters() = 0;
  std::vector<const Parameter*> parameters() const;
  /// The table [positions, width] that is added to token embeddings; null if there is none.
  virtual Parameter* position_table() { return nullptr; }
  /// The model's parts, for analyses of its numbers (kUnsupported if it does not expose them).
  virtual ModelParts parts() const;
  /// The content of `config.json`, as `transformers` reads it.
  virtual std::string config_json() const = 0;
};

/// Numbers in all parameters; a tied head counts once.
std::int64_t parameter_count(const Model& model);

// -------------------------------------------------------------------------------------------------
// From a name or a folder to a running model.

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
  /// For running only, not for training or saving: the weights of linear layers are converted to
  /// the form that matrix products read best.
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

/// A fresh model with random weights from the content of a `config.json` (`model_type` chooses the
/// family).
std::unique_ptr<Model> make_model(std::string_view config_json, std::uint64_t seed);

/// Writes config.json, model.safetensors (floating tensors as `dtype`) and tokenizer.json (unless
/// null), each atomically, so that `transformers` opens the folder.
void save_model(const std::filesystem::path& folder, const Model& model, const Tokenizer* tokenizer,
                DType dtype);
/// Also saves all tokenizers and the small files of the folder: pooling, generation, special
/// tokens, card and licence.
void save_model(const std::filesystem::path& folder, const LoadedModel& model, DType dtype);

/// A loaded folder whose `architectures` is one of `...ForSequenceClassification` and
/// `...ForTokenClassification`. (`load_model` reads the same folder without its head.)
struct LoadedClassifier {
  std::unique_ptr<Model>
      model;  // forward: logits [B, 1, labels] for texts, [B, T, labels] for tokens
  std::unique_ptr<Tokenizer> tokenizer;  // null if the folder has none
  std::vector<std::string> labels;
  bool by_text = false;
};

/// kUnsupported for any other folder; else the errors of `load_model`.
LoadedClassifier load_classifier(const std::filesystem::path& folder);

// -------------------------------------------------------------------------------------------------
// Chats, as the template of a model writes them.

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

// -------------------------------------------------------------------------------------------------
// One vector for a text, as sentence encoders compute it (Reimers & Gurevych 2019).

/// How the states of a text's tokens become one vector.
struct Pooling {
  enum class Kind : std::uint8_t { kMean, kFirst };

  Kind kind = Kind::kMean;
  bool normalised = true;                                         // scale to length 1
  std::vector<std::shared_ptr<const SentenceLayer>> layers = {};  // linear layers before that
};

/// Reads `1_Pooling/config.json` and `modules.json` beside the model, with its Dense modules, as
/// sentence-transformers writes them; default: the mean, normalised. Other poolings and modules
/// are kUnsupported.
Pooling read_pooling(const std::filesystem::path& folder);

/// The vector of a text whose tokens have these last states, [T, C] f32. It has C numbers, or as
/// many as the last layer of `pooling` gives.
std::vector<float> pooled(const ConstView& states, const Pooling& pooling);

/// How many tokens of a text the encoder reads, including special ones. Like sentence-transformers:
/// `max_seq_length` of sentence_bert_config.json, else `model_max_length` of tokenizer_config.json,
/// and at most the model's positions.
std::int64_t most_sentence_tokens(const LoadedModel& model);

/// Which tokens of a long text are read. Tokens that the tokenizer adds are always included.
enum class SentencePart : std::uint8_t { kAll, kFirst, kLast };
struct SentenceTokens {
  std::vector<TokenId> ids;
  std::int64_t whole = 0;  // number of tokens in the whole text
};
/// At most `most` tokens, except for kAll.
SentenceTokens sentence_tokens(const Tokenizer& tokenizer, std::string_view text, SentencePart part,
                               std::int64_t most);

/// [texts, numbers of a vector] f32, from an encoder's last states. The texts run as one batch.
Tensor sentence_vectors(const Model& model, std::span<const std::vector<TokenId>> texts,
                        const Pooling& pooling = {});
/// Reads the first `most_sentence_tokens` tokens of each text.
Tensor sentence_vectors(const LoadedModel& model, std::span<const std::string> texts);

}  // namespace heed
