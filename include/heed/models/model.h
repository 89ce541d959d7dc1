// A transformer with a forward and a backward pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "heed/nn/run.h"
#include "heed/text/tokenizer.h"

namespace heed {

/// The attention layers of one stack.
struct StackShape {
  Stack stack = Stack::kSelf;
  int layers = 0;
  int heads = 0;
  int kv_heads = 0;
  bool causal = false;      // no query sees a later key
  int head_dim = 0;         // 0: not known (a session of arrays)
  bool has_images = false;  // keys are cells of images; of a session of arrays
  /// The layers that have attention, ascending; empty: all. The others keep their numbers and hold
  /// nothing (a session of arrays; hybrids have attention in some layers only).
  std::vector<int> attending = {};

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

struct ModelParts;

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

/// Allocates a cache for `batch` texts of `capacity` tokens each, in this model's shapes.
KvCache make_cache(const Model& model, std::int64_t batch, std::int64_t capacity,
                   const KvCacheOptions& options = {});

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

}  // namespace heed
