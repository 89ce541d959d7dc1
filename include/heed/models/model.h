// A transformer that runs forward and backward.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "heed/nn/run.h"
#include "heed/text/tokenizer.h"

namespace heed {

/// The attentions of one name.
struct StackShape {
  Stack stack = Stack::kSelf;
  int layers = 0;
  int heads = 0;
  int kv_heads = 0;
  bool causal = false;      // no query sees a later key
  int head_dim = 0;         // 0: not known (a session of arrays)
  bool has_images = false;  // keys are cells of images; of a session of arrays
};

/// What a user wants to know of a model before running it.
struct ModelInfo {
  std::string family;       // "gpt2"
  std::string title;        // "GPT-2": as the first line of `heed look` says it
  std::int64_t layers = 0;  // of the first stack, as heads, kv_heads and causal
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t width = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  // longest text
  std::int64_t first_token =
      -1;  // what generation from nothing starts with; -1: the model has none
  std::vector<std::int64_t> end_tokens = {};  // what the model writes where a text ends
  /// Sequences that it never writes: generation never writes the last token of one behind the
  /// others (`bad_words_ids`).
  std::vector<std::vector<std::int64_t>> bad_words = {};
  bool causal = true;
  bool has_logits = true;
  std::vector<StackShape> stacks = {};
  std::int64_t token_types = 1;        // an encoder's kinds of tokens: the texts of a pair
  std::int64_t source_positions = 0;   // longest source; 0: the model reads none
  std::int64_t source_vocabulary = 0;  // of an encoder-decoder

  bool reads_source() const { return source_positions > 0; }
  /// Its logits are of the next token, not of the one that stands there.
  bool writes() const { return has_logits && (causal || reads_source()); }
  bool ends_with(std::int64_t token) const;
};

/// ids [B, T] i32, row-major. Positions are 0 .. T-1 of each row; with a cache they go on from the
/// tokens that it holds. How many tokens of a row exist is told by the run's extents.
struct Batch {
  ConstView ids = {};
  ConstView types = {};  // i32, as ids: which text of a pair; not given: 0
  ConstView source =
      {};  // [B, S] i32: what an encoder-decoder reads; not needed again over a cache
  std::vector<std::int64_t> source_lengths = {};  // one a row; none: S
};

struct ModelParts;

/// Immutable while it runs: several passes may share one model.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  /// Logits [B, T, V] (f32), or of a model without them the last states [B, T, C]. Ids outside of
  /// the vocabulary and texts longer than `positions` are errors, as is a full cache; nothing is
  /// written to it then.
  virtual Tensor forward(const Batch& batch, Run& run) const = 0;
  /// The logits [B, T, V] that its last norm and its words make of a residual stream [B, T, C], as
  /// it is behind the last layer, or behind an earlier one (the logit lens). kUnsupported where the
  /// model has no words.
  virtual Tensor read_out(const Tensor& stream, Run& run) const;
  /// From the gradient of the logits; `run.saved` is the one that forward filled. Adds to
  /// `gradients`.
  virtual void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                        Gradients& gradients) const = 0;
  /// The last states [B, T, C], behind the last norm: what another head than the model's own reads.
  /// kUnsupported of an encoder-decoder.
  virtual Tensor states(const Batch& batch, Run& run) const;
  /// `backward` from their gradient.
  virtual void states_backward(const Tensor& dstates, const Batch& batch, Run& run,
                               Gradients& gradients) const;
  /// Every parameter once (a tied head is the embedding), in a fixed order.
  virtual std::vector<Parameter*> parameters() = 0;
  std::vector<const Parameter*> parameters() const;
  /// The table [positions, width] that is added to the tokens; null where the model has none.
  virtual Parameter* position_table() { return nullptr; }
  /// What it is made of, for whoever takes its numbers apart (kUnsupported where it does not tell).
  virtual ModelParts parts() const;
  /// The content of `config.json`, as `transformers` reads it.
  virtual std::string config_json() const = 0;
};

/// Numbers in all parameters; a tied head counts once.
std::int64_t parameter_count(const Model& model);

/// Room for `batch` texts of `capacity` tokens each, as this model's attention fills it.
KvCache make_cache(const Model& model, std::int64_t batch, std::int64_t capacity,
                   const KvCacheOptions& options = {});

/// A folder whose `architectures` is one of `...ForSequenceClassification` and
/// `...ForTokenClassification`, loaded. (`load_model` reads the same folder without its head.)
struct LoadedClassifier {
  std::unique_ptr<Model>
      model;  // forward: logits [B, 1, labels] of texts, [B, T, labels] of tokens
  std::unique_ptr<Tokenizer> tokenizer;  // null when the folder has none
  std::vector<std::string> labels;
  bool by_text = false;
};

/// kUnsupported for a folder of another kind; else errors as those of `load_model`.
LoadedClassifier load_classifier(const std::filesystem::path& folder);

}  // namespace heed
