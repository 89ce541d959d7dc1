// AdamW: Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2). With the
// schedule of its learning rate, and the rules of parameters that learn differently.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/model.h"
#include "heed/train.h"

namespace heed {

/// The learning rate over a run.
struct Schedule {
  /// After the warm-up, from `peak` at step = warmup on:
  ///   cosine        along half a cosine to `last` at the last step, steps - 1 (Loshchilov &
  ///                 Hutter, "SGDR", 2017, equation 5, without restarts)
  ///   linear        along a line to `last`
  ///   inverse-sqrt  peak sqrt(warmup / step) (Vaswani et al. 2017, section 5.3)
  ///   constant      peak
  /// The last two end with a linear decay over `decay` steps, to `last` at the last step.
  std::string_view form = "cosine";
  double peak = 1e-3;
  double last = 1e-4;
  std::int64_t warmup = 100;
  std::int64_t steps = 2000;
  std::int64_t decay = 0;
};

/// The schedule of the configuration, which must outlive it.
Schedule schedule_of(const TrainConfig& config);

/// For `step` in [0, steps): increases linearly during the warm-up, peak (step + 1) / (warmup + 1).
double learning_rate(const Schedule& schedule, std::int64_t step);

/// Changes to the optimiser's update for one parameter.
struct ParameterRule {
  double rate = 1;                   // factor of the learning rate
  std::optional<double> decay = {};  // replaces weight_decay, for all parameters
  bool frozen = false;               // never updated
};

struct ParameterGroup {
  std::vector<std::string> names;  // a parameter belongs if its name contains one of these
  ParameterRule rule;
};

/// Parses a JSON list `[{"names": ["embed"], "learning_rate": 0.1, "weight_decay": 0, "frozen":
/// true}]`. Errors name `groups`.
std::vector<ParameterGroup> parse_parameter_groups(std::string_view json);

/// The rule of each parameter, from the first group it belongs to. A name that matches no parameter
/// is an error.
std::vector<ParameterRule> rules_of(std::span<Parameter* const> parameters,
                                    std::span<const ParameterGroup> groups);

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
