// The original Transformer (Vaswani et al. 2017): an encoder, and a decoder that attends to what it
// made. Marian has its norms after each branch, as the paper; Blenderbot before, and a table of
// positions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/models/model.h"
#include "models/config.h"
#include "nn/attention.h"
#include "nn/bias.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"
#include "nn/residual.h"

namespace heed {

struct Seq2seqConfig {
  static Seq2seqConfig read(const Config& config);
  ModelInfo info() const;

  struct Side {
    std::int64_t layers, heads, inner, vocabulary;
  };
  std::string title;
  Side encoder, decoder;
  std::int64_t width, positions;
  bool norms_first;     // before each branch, and one more behind the last layer
  bool position_table;  // learned; else sinusoids
  bool shared_words;    // one table for both sides, called model.shared
  bool tied;            // the head is the decoder's table
  bool causal;          // the decoder; the encoder never is
  double word_scale;
  double dropout, activation_dropout, attention_dropout, initial_deviation;
  Activation activation;
  std::int64_t start;  // what the decoder begins with
  std::vector<std::int64_t> eos;
  std::vector<std::vector<std::int64_t>> bad_words;
  std::string json;
};

class Seq2seq : public Model {
 public:
  /// Weights are not initialised.
  explicit Seq2seq(const Seq2seqConfig& config);

  const ModelInfo& info() const override { return info_; }
  Tensor forward(const Batch& batch, Run& run) const override;
  Tensor read_out(const Tensor& stream, Run& run) const override;
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override;
  std::vector<Parameter*> parameters() override;
  ModelParts parts() const override;
  std::string config_json() const override { return config_.json; }

 private:
  struct Layer {
    Residual<Attention> attention;
    std::optional<Residual<Attention>> cross;  // of the decoder
    Residual<Mlp> mlp;
  };
  // What encoder and decoder both are.
  struct Side {
    Embedding words;
    std::optional<Embedding> positions;
    DropoutLayer dropout;
    std::vector<Layer> layers;
    std::optional<Norm> norm;

    void collect(std::vector<Parameter*>& into);
  };
  static Side make_side(const Seq2seqConfig& config, Stack stack, const Embedding* shared);
  Tensor embed(const Side& side, Stack stack, const ConstView& ids, Run& run) const;
  void embed_backward(const Side& side, const Tensor& dx, const ConstView& ids, const Run& run,
                      Gradients& gradients) const;
  Tensor encode(const Batch& batch, Run& run) const;

  Seq2seqConfig config_;
  ModelInfo info_;
  std::optional<Embedding> shared_;
  Side encoder_;
  Side decoder_;
  Linear head_;
  Bias bias_;
};

}  // namespace heed
