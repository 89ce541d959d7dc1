// A model's parts, in the order in which they add to its residual streams.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/norm.h"

namespace heed {

/// Whether the model has the part with this name in files.
inline bool is_given(const char* name) { return *name != '\0'; }

/// y = after(x + inside(branch(before(x)))).
struct BranchParts {
  Stack stack = Stack::kSelf;  // as in taps
  int layer = 0;
  TapKind kind = TapKind::kAttention;    // of what it adds: kAttention, kMlp or kLayerWords
  const Attention* attention = nullptr;  // null: an MLP, the layer's words, or a delta rule
  std::optional<NormNumbers> before = {}, inside = {}, after = {};
};

struct StreamParts {
  Stack stack = Stack::kSelf;        // as in its embedding's tap
  const Embedding* words = nullptr;  // null: the embedding is more than a sum of rows and a norm
  double word_scale = 1;
  const Embedding* positions = nullptr;  // null: none, or sinusoids
  std::int64_t first_position = 0;
  std::int64_t pad = -1;  // tokens with this id use its row of `positions`, and are not counted
  const Embedding* types = nullptr;
  std::optional<NormNumbers> embedded = {};  // after the sum
  std::vector<BranchParts> branches = {};
  std::optional<NormNumbers> last = {};
};

/// Its pointers are valid as long as the model.
struct ModelParts {
  std::vector<StreamParts> streams = {};
  const Linear* words = nullptr;  // applied to the last states; null if another layer is between
  double words_scale = 1;
  double logit_cap = 0;
};

}  // namespace heed
