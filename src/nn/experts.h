// A mixture of MLPs: a router chooses a few of them per token (Shazeer et al. 2017; Fedus et al.
// 2022).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/one_of.h"

namespace heed {

/// y = sum of p_e expert_e(x) over the k experts with the highest p = softmax(router x), plus the
/// shared MLP: sigmoid(shared_gate x) shared(x).
struct ExpertsParts {
  Linear router;  // C -> E
  std::vector<Mlp> experts = {};
  std::int64_t chosen = 1;  // k
  bool sums_to_one = true;  // divide the k probabilities by their sum
  std::optional<Mlp> shared = {};
  std::optional<Linear> shared_gate = {};  // C -> 1; none: 1
};

class Experts {
 public:
  explicit Experts(ExpertsParts parts) : parts_(std::move(parts)) {}

  Tensor forward(const Tensor& x, Run& run) const;  // [B, T, C]
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into);

 private:
  struct Pick {
    std::int32_t token = 0;
    double weight = 0;
  };
  using Picks = std::vector<std::vector<Pick>>;  // of each expert

  Picks route(const Tensor& logits) const;
  void add_shared(const Mlp& shared, const Tensor& x, Tensor& y, Run& run) const;
  Tensor shared_backward(const Mlp& shared, const Tensor& dy, Run& run, Gradients& gradients) const;
  Tensor router_gradient(const Tensor& logits, const Picks& picks,
                         const std::vector<std::vector<double>>& dweights) const;

  ExpertsParts parts_;
};

/// The block's branch besides its attention.
using FeedForward = OneOf<Mlp, Experts>;

}  // namespace heed
