// Shared by all families, around their layers: checks, masks, positions, logits of the last
// position.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "heed/mask.h"
#include "heed/model.h"
#include "models/config.h"
#include "nn/linear.h"

namespace heed {

/// The numbers of a stack from a model's configuration.
struct StackNumbers {
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
};
StackShape stack_shape(Stack stack, bool causal, const StackNumbers& numbers);

/// Whether a decoder's tokens see only earlier tokens: `is_causal` of config.json. Like
/// transformers, null means false.
bool is_causal(const Config& config);

/// The mask of one layer. `window`: keys that a query sees; 0: no limit. A causal window counts the
/// query itself; without `causal` it reaches `window` keys to each side (transformers 5).
Mask text_mask(bool causal, std::int64_t window = 0);

/// Throws if the model cannot take the batch or the run; `info.family` begins the message.
void check_pass(const ModelInfo& info, const Batch& batch, const Run& run);

/// The same for dropout that a configuration requests and training does not yet support: its keys
/// and probabilities.
using UnservedDropout = std::vector<std::pair<const char*, double>>;
void check_dropout(const ModelInfo& info, const UnservedDropout& unserved, const Run& run);

/// backward needs what forward kept.
void check_saved(const ModelInfo& info, const Run& run);

/// Which rows of a position table the tokens use.
struct PositionRows {
  std::int64_t count = 0;  // of the longest text; padding after it is clamped
  std::int64_t first = 0;
  std::int64_t pad = -1;  // tokens with this id use its row, uncounted; -1: all are counted
};
/// The row of each token of ids [B, T], continuing after the tokens in the run's cache.
Tensor positions_of(const ConstView& ids, const Run& run, const PositionRows& rows);

/// The rows whose logits are wanted: x [B, T, C] itself, or the last token of each row [B, 1, C].
Tensor wanted_rows(Tensor x, const Run& run);

/// head x for those rows; one row per text is never in bulk.
Tensor logits_of(const Linear& head, const Tensor& x, Run& run);

/// Tokens in each row of an encoder-decoder's source; empty if no source is given.
std::vector<std::int64_t> source_lengths(const Batch& batch);
/// The run for the pass over the source.
Run source_run(const Batch& batch, const Run& run);

}  // namespace heed
