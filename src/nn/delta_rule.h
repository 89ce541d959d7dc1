// A recurrent layer in the place of attention: gated DeltaNet (Yang et al. 2024, "Gated Delta
// Networks: Improving Mamba2 with Delta Rule", equation 10). Each head has a state S [Dk, Dv] that
// maps keys to values. A token with query q, key k, value v, decay a in (0, 1) and rate b in (0, 1)
// first lets the state fade, then corrects the value stored under its key:
//   S = a S + k b (v - (a S)' k)'
//   o = S' q / sqrt(Dk)
// q, k and v are one projection of the tokens, through a causal convolution by channel and an
// activation; q and k then have length 1. a = exp(-exp(A) softplus(x W_a + dt)), b = sigmoid(x
// W_b). The output of each head is divided by its root mean square, scaled, multiplied by silu(x
// W_z), and projected.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heed/model.h"
#include "heed/operators.h"
#include "nn/linear.h"
#include "ops/elementwise.h"

namespace heed {

struct DeltaRuleShape {
  std::int64_t heads = 0;                     // H, of values
  std::int64_t key_heads = 0;                 // G: H / G consecutive heads share one query and key
  std::int64_t key_dim = 0;                   // Dk
  std::int64_t value_dim = 0;                 // Dv
  std::int64_t kernel = 0;                    // tokens that the convolution sees
  Activation activation = Activation::kSilu;  // after the convolution
  double epsilon = 1e-6;                      // of the outputs' norm

  std::int64_t keys() const { return key_heads * key_dim; }
  std::int64_t values() const { return heads * value_dim; }
  std::int64_t channels() const { return 2 * keys() + values(); }  // q, k, v
};

/// Names of the parameters in files, within the layer.
struct DeltaRuleNames {
  const char* qkv = "linear_attn.in_proj_qkv";
  const char* gate = "linear_attn.in_proj_z";
  const char* rate = "linear_attn.in_proj_b";
  const char* decay = "linear_attn.in_proj_a";
  const char* kernel = "linear_attn.conv1d.weight";  // [channels, 1, kernel]
  const char* decay_log = "linear_attn.A_log";       // [H]
  const char* decay_bias = "linear_attn.dt_bias";    // [H]
  const char* norm = "linear_attn.norm.weight";      // [Dv]
  const char* out = "linear_attn.out_proj";
};

/// Computes in f32. With a cache, the state of each row is kept there.
class DeltaRule {
 public:
  /// Parameters' names begin with `block`; they are not initialised. `width` is that of the stream.
  DeltaRule(const std::string& block, const DeltaRuleNames& names, std::int64_t width,
            const DeltaRuleShape& shape, int layer);

  Tensor forward(const Tensor& x, Run& run) const;  // [B, T, C]
  /// The gradient of x, after a pass without a cache.
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients) const;
  void collect(std::vector<Parameter*>& into);
  /// Random values for what `heed::initialise` does not know, as in the published code: A in 0.01
  /// to 16, dt 1, scales 1, and a kernel.
  void initialise(std::uint64_t seed) const;

 private:
  // The state of each row, which the cache keeps.
  struct State {
    Tensor inputs;  // [B, kernel - 1, channels] of the convolution: the latest tokens
    Tensor memory;  // [B, H, Dk, Dv]: S of each head
  };
  struct Steps {
    Tensor rate;   // [B, H, T]: b
    Tensor decay;  // [B, H, T, 1]: ln a
  };
  State state_before(const Run& run, std::int64_t batch) const;
  Tensor kernel_by_token() const;  // [kernel, 1, channels]
  // q, k, v [B, T, channels] after the convolution, before the activation; `state.inputs` become
  // those after the pass.
  Tensor convolved(const Tensor& qkv, const std::vector<std::int64_t>& counts, State& state) const;
  Steps steps(const Tensor& rate, const Tensor& decay,
              const std::vector<std::int64_t>& counts) const;
  // Queries or keys, which begin at channel `first`: [B, H, T, Dk], scaled to this length.
  Tensor of_length(const Tensor& qkv, std::int64_t first, double length) const;
  double query_length() const { return 1 / std::sqrt(static_cast<double>(shape_.key_dim)); }
  struct Recurrence {
    Tensor q, k;               // [B, H, T, Dk]
    LinearAttentionArgs args;  // of these and of the inputs
  };
  Recurrence recurrence(const Tensor& qkv, const Steps& steps, const ConstView& memory) const;
  // Outputs [B, T, H, Dv]; `state.memory` becomes that after the pass.
  Tensor recurred(const Tensor& qkv, const Steps& steps, State& state) const;
  Tensor normed(const Tensor& outputs, const Tensor& gate) const;

  // The gradients of `recurred`, without a state before the first token.
  struct RecurredGradients {
    Tensor qkv;   // [B, T, channels]
    Steps steps;  // of b and ln a
  };
  RecurredGradients recurred_backward(const Tensor& qkv, const Steps& steps,
                                      const Tensor& doutputs) const;
  // Adds the gradient of queries or keys of one length to those of the rows from which they came.
  void of_length_backward(const Tensor& qkv, std::int64_t first, double length, const Tensor& drows,
                          Tensor& dqkv) const;
  Tensor convolved_backward(const Tensor& qkv, const std::vector<std::int64_t>& counts,
                            const Tensor& dsums, Gradients& gradients) const;
  // Turns the gradients of b and ln a into those of their projections.
  std::pair<Tensor, Tensor> steps_backward(const Tensor& rate, const Tensor& decay,
                                           const std::vector<std::int64_t>& counts,
                                           const Steps& dsteps, Gradients& gradients) const;

  DeltaRuleShape shape_;
  int layer_;
  Linear qkv_, gate_, rate_, decay_, out_;
  std::shared_ptr<Parameter> kernel_, decay_log_, decay_bias_, norm_;
};

}  // namespace heed
