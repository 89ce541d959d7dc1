// AdamW: Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heed/model.h"
#include "heed/train.h"
#include "train/parameter_groups.h"

namespace heed {

struct AdamWArgs {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;             // on parameters with decay
  std::vector<ParameterRule> rules = {};  // one per parameter, or none: all alike
};

/// The configuration's values, with a rule per parameter.
AdamWArgs adamw_of(const TrainConfig& config, std::span<Parameter* const> parameters);

/// The moments of a fixed list of f32 parameters, which must outlive it. Deterministic: every
/// element is updated independently, and norms are summed in one order for any number of threads.
class AdamW {
 public:
  /// Also allocates the gradients, so that a step allocates nothing.
  AdamW(std::span<Parameter* const> parameters, Gradients& gradients, const AdamWArgs& args);

  /// The Euclidean norm of the whole gradient; not finite if any element is not.
  double gradient_norm() const;
  /// The squared norm of each parameter's gradient, from the last `gradient_norm`; 0 for a frozen
  /// one.
  std::span<const double> gradient_squares() const { return parameter_squares_; }
  /// One update; gradients are multiplied by `gradient_scale` (clipping).
  void step(double learning_rate, double gradient_scale = 1);

  /// Number of updates so far, which bias correction needs. Set when a run is resumed.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

  struct Moments {
    Tensor first;
    Tensor second;
  };
  /// In the parameters' order.
  std::span<Moments> moments() { return moments_; }

 private:
  struct Piece {
    float* value;
    float* gradient;
    float* first;
    float* second;
    std::int64_t count;
    std::size_t parameter;
    double rate;   // factor of the learning rate
    double decay;  // 0: none
  };

  AdamWArgs args_;
  std::vector<Moments> moments_;
  std::vector<Piece> pieces_;
  mutable std::vector<double> squares_;  // one per piece
  mutable std::vector<double> parameter_squares_;
  std::int64_t steps_ = 0;
};

}  // namespace heed
