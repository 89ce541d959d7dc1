// Multi-head attention with its projections (Vaswani et al. 2017, section 3.2.2), to the same text
// or to a source; several query heads may share keys (Ainslie et al. 2023).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "heed/generate.h"
#include "heed/mask.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/position_bias.h"
#include "nn/rotation.h"

namespace heed {

struct AttentionShape {
  Stack stack = Stack::kSelf;  // as in taps
  int layer = 0;
  std::int64_t heads = 1;     // H
  std::int64_t kv_heads = 1;  // G
  std::int64_t head_dim = 1;  // D
  double scale = 1;
  double softcap = 0;
  double dropout = 0;  // on weights, in training
  // A fused projection has the queries that share a key, then that key and its value; false: all
  // queries, all keys, all values.
  bool by_head = false;
  // The projection of queries has twice the width: each head's queries, then as many numbers whose
  // sigmoid multiplies the head's output (Qiu et al. 2025, "Gated Attention for Large Language
  // Models"). Needs separate projections.
  bool gated = false;
  double clip = 0;                  // bound on elements of q, k and v before rotation; 0: none
  std::vector<double> slopes = {};  // of ALiBi [H] (Press et al. 2022); empty: none
  bool rounds_slopes = false;       // rounded_alibi
  // The layer whose keys and values it reads instead of computing its own.
  std::optional<int> keys_from = {};
  bool lends_keys = false;       // later layers read its keys and values
  bool keys_are_values = false;  // values are the projected keys, before the norms of both
  Mask mask = {};                // the family's own (causal for decoders); a tap may add one
};

/// C -> (H + 2 G) D: q, k, v concatenated, each head by head, or in the order `by_head`.
std::vector<Linear> fused_projection(Linear qkv);
/// C -> H D, C -> G D, C -> G D.
std::vector<Linear> separate_projections(Linear q, Linear k, Linear v);

struct AttentionParts {
  std::vector<Linear> projections;  // only q's if it reads another layer's keys and values
  Linear out;                       // H D -> C
  // One norm, whose width decides whether it is per head or over all heads; or each head's own
  // norm. Needs separate projections.
  std::vector<Norm> q_norms = {};
  std::vector<Norm> k_norms = {};
  std::vector<Norm> v_norms = {};
  std::shared_ptr<const Rotation> rotation = {};  // of q and k, after their norms
  std::shared_ptr<const PositionBias> bias = {};
  std::shared_ptr<Parameter> sinks = {};  // Scores::sink [H]
  DropoutLayer dropout = {};
};

/// The keys and values of one pass that later layers read, by layer.
class SharedKeys {
 public:
  struct Rows {
    Tensor k;  // [B, T, G D], after norm and rotation
    Tensor v;
  };
  void put(int layer, Rows rows) { rows_.insert_or_assign(layer, std::move(rows)); }
  const Rows& of(int layer) const { return rows_.at(layer); }
  /// Adds gradients of a reader to those of the layer.
  void add_gradients(int layer, Rows rows);
  /// Adds the gradients of all readers to the layer's own.
  void add_gradients_to(int layer, Rows& own) const;

 private:
  std::map<int, Rows> rows_, gradients_;
};

/// The input of a cross-attention.
struct Source {
  Tensor states = {};                      // [B, S, C]; not given if the run's cache holds its keys
  std::vector<std::int64_t> lengths = {};  // tokens in each row
};

class Attention {
 public:
  Attention(AttentionParts parts, AttentionShape shape);

  /// Self-attention of x [B, T, C].
  Tensor forward(const Tensor& x, Run& run) const;
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;

  /// Cross-attention; backward adds the gradient of the source's states to dstates. Has no rotation
  /// and norms. With a cache the source's keys are computed once.
  Tensor forward(const Tensor& x, const Source& source, Run& run) const;
  Tensor backward(const Tensor& dy, const Source& source, Tensor& dstates, Run& run,
                  Gradients& gradients) const;

  void collect(std::vector<Parameter*>& into);

  const AttentionParts& parts() const { return parts_; }
  const AttentionShape& shape() const { return shape_; }

 private:
  struct Heads {
    View q;  // [B, H, T, D]
    View k;  // [B, G, T, D]
    View v;
  };
  bool fused() const { return parts_.projections.size() == 1 && !shape_.keys_from; }
  // The outputs of the projections (one tensor, or q, k and v), as heads.
  Heads by_head(std::vector<Tensor>& projected) const;
  // Queries, keys and values, or all three in one; then the gates, if there are any.
  std::vector<Tensor> project(const Tensor& x, Run& run) const;
  // Appends the keys and values of the layer that it reads.
  void append_shared(std::vector<Tensor>& projected, const Run& run) const;
  Tensor project_backward(std::vector<Tensor> dprojected, Run& run, Gradients& gradients) const;
  Standing standing(const ConstView& q, const Run& run) const;
  AttentionArgs problem(const Heads& heads, Extents extents, const Run& run) const;
  void show(const Heads& heads, const Run& run) const;
  // Appends this pass's keys to the run's cache and makes the problem refer to all keys in it.
  // Returns the memory of keys that are rotated when read.
  Tensor go_on_from_cache(AttentionArgs& args, const Standing& standing, KvCache& cache,
                          const Run& run) const;
  SourceKeys source_keys(const Source& source, Run& run) const;
  Extents source_extents(const std::vector<std::int64_t>& lengths, const Run& run) const;
  // The attention and the output projection; keeps what backward needs.
  Tensor attend(const AttentionArgs& args, std::vector<Tensor> projected, Run& run) const;
  std::vector<Tensor> attend_backward(const Tensor& dy, const Extents& extents, Run& run,
                                      Gradients& gradients) const;
  BiasByDistance bias_of(const AttentionArgs& args, const Run& run) const;

  AttentionParts parts_;
  AttentionShape shape_;
};

}  // namespace heed
