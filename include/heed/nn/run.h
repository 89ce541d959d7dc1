// What one pass through a model needs. It belongs to the caller; layers are immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heed/nn/tap.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// Activations that `backward` needs, as a stack: each layer's backward takes what its forward put,
/// in reverse.
class Saved {
 public:
  void put(Tensor tensor) { tensors_.push_back(std::move(tensor)); }
  Tensor take();
  bool empty() const { return tensors_.empty(); }

 private:
  std::vector<Tensor> tensors_;
};

struct Run {
  Saved* saved = nullptr;  // null: keep nothing; no backward will follow
  Tap* tap = nullptr;      // null: nobody looks
  Extents extents = {};    // of every self-attention in the pass (padding)
  /// Set: dropout is on (training), and every mask is a function of this seed.
  std::optional<std::uint64_t> dropout_seed = {};
  /// Logits for the last position only ([B, 1, V]).
  bool last_position_only = false;

  /// Shows an activation to whoever looks.
  void show(const TapName& name, const View& value) const {
    if (tap != nullptr) tap->at(name, value);
  }
};

}  // namespace heed
