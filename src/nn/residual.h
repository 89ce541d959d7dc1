// A branch of the residual stream: attention or an MLP, with the norms around it.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "heed/model.h"
#include "nn/attention.h"
#include "nn/delta_rule.h"
#include "nn/layer_words.h"
#include "nn/norm.h"
#include "nn/one_of.h"
#include "ops/elementwise.h"

namespace heed {

/// The part of a block that mixes tokens.
using Mixer = OneOf<Attention, DeltaRule>;

/// Shows the activations of one layer to the tap, and returns them.
struct Shown {
  const Run& run;
  Stack stack = Stack::kSelf;
  int layer = -1;

  Tensor operator()(TapKind kind, Tensor value) const {
    run.show({.stack = stack, .layer = layer, .kind = kind}, value);
    return value;
  }
};

/// The norms in y = after(x + inside(branch(before(x)))). Most decoders have only `before`, the
/// original Transformer has `after`.
struct Norms {
  std::optional<Norm> before = {};
  std::optional<Norm> inside = {};
  std::optional<Norm> after = {};
};

/// Tap names of the branch's input (if it has a norm before it), of its output, and of the stream
/// after it.
struct BranchNames {
  Stack stack = Stack::kSelf;
  int layer = 0;
  TapKind input = TapKind::kAttentionInput;
  TapKind output = TapKind::kAttention;
  std::optional<TapKind> stream = TapKind::kMiddle;  // empty: another branch of the layer shows it
};

inline BranchNames attention_names(Stack stack, int layer) {
  return {.stack = stack, .layer = layer};
}
inline BranchNames mlp_names(Stack stack, int layer) {
  return {stack, layer, TapKind::kMlpInput, TapKind::kMlp, TapKind::kResidual};
}

template <typename Branch>
class Residual {
 public:
  /// With `adds` false there is no stream: y = after(inside(branch(before(x)))).
  Residual(Norms norms, Branch branch, BranchNames names, bool adds = true)
      : norms_(std::move(norms)), branch_(std::move(branch)), names_(names), adds_(adds) {}

  /// x [B, T, C]; `source` is what the branch reads besides it.
  template <typename... Source>
  Tensor forward(Tensor x, Run& run, const Source&... source) const {
    const Tensor input = x.share();
    return beside(input, std::move(x), run, source...);
  }

  /// stream + branch(x), for a branch that reads another tensor than the stream: in a parallel
  /// block, attention and MLP both read the block's input.
  template <typename... Source>
  Tensor beside(const Tensor& x, Tensor stream, Run& run, const Source&... source) const {
    if (!recomputes(run)) return pass(x, std::move(stream), run, source...);
    run.saved->put(x.share());
    (run.saved->put(source.states.share()), ...);
    Run forgets = run;
    forgets.saved = nullptr;
    return pass(x, std::move(stream), forgets, source...);
  }

  /// `source` are the branch's additional arguments of backward, between dy and the run.
  template <typename... Source>
  Tensor backward(const Tensor& dy, Run& run, Gradients& gradients, Source&&... source) const {
    const auto add_stream = [&](Tensor dx, const Tensor& dsum) {
      return adds_ ? add(std::move(dx), dsum) : std::move(dx);
    };
    return branch_backward(dy, run, gradients, add_stream, std::forward<Source>(source)...);
  }

  /// Returns the gradient of the x of `beside`; the gradient of its stream is dy.
  Tensor beside_backward(const Tensor& dy, Run& run, Gradients& gradients) const {
    return branch_backward(dy, run, gradients, [](Tensor dx, const Tensor&) { return dx; });
  }

  void collect(std::vector<Parameter*>& into) {
    if (norms_.before) norms_.before->collect(into);
    branch_.collect(into);
    if (norms_.inside) norms_.inside->collect(into);
    if (norms_.after) norms_.after->collect(into);
  }

  const Norms& norms() const { return norms_; }
  const Branch& branch() const { return branch_; }

 private:
  bool recomputes(const Run& run) const {
    constexpr bool kIsAttention =
        std::is_same_v<Branch, Attention> || std::is_same_v<Branch, Mixer>;
    return run.saved != nullptr && (run.recompute == Recompute::kBlocks ||
                                    (run.recompute == Recompute::kAttention && kIsAttention));
  }

  // Repeats the forward pass to recompute what it keeps.
  void make_again(Saved& inputs, Run& keeps) const {
    const Tensor x = inputs.take();
    pass(x, x.share(), keeps);
  }
  void make_again(Saved& inputs, Run& keeps, const Source& source,
                  const Tensor& /*dstates*/) const {
    const Source whole = {.states = inputs.take(), .lengths = source.lengths};
    const Tensor x = inputs.take();
    pass(x, x.share(), keeps, whole);
  }
  void make_again(Saved& inputs, Run& keeps, const WordsGradient& /*dwords*/) const {
    const WordsOfLayer words = {inputs.take()};
    const Tensor x = inputs.take();
    pass(x, x.share(), keeps, words);
  }

  template <typename... Source>
  Tensor pass(const Tensor& x, Tensor stream, Run& run, const Source&... source) const {
    const Shown show{run, names_.stack, names_.layer};
    Tensor y = norms_.before ? branch_.forward(show(names_.input, norms_.before->forward(x, run)),
                                               source..., run)
                             : branch_.forward(x, source..., run);
    if (norms_.inside) y = norms_.inside->forward(y, run);
    y = show(names_.output, std::move(y));
    y = adds_ ? add(std::move(y), stream) : std::move(y);
    if (norms_.after) y = norms_.after->forward(y, run);
    return names_.stream ? show(*names_.stream, std::move(y)) : std::move(y);
  }

  // `add_stream(dx, dsum)` combines the branch's dx and the sum's gradient.
  template <typename AddStream, typename... Source>
  Tensor branch_backward(const Tensor& dy, Run& run, Gradients& gradients,
                         const AddStream& add_stream, Source&&... source) const {
    if (!recomputes(run))
      return pass_backward(dy, run, gradients, add_stream, std::forward<Source>(source)...);
    Saved again;
    Run keeps = run;
    keeps.saved = &again;
    make_again(*run.saved, keeps, source...);
    return pass_backward(dy, keeps, gradients, add_stream, std::forward<Source>(source)...);
  }

  template <typename AddStream, typename... Source>
  Tensor pass_backward(const Tensor& dy, Run& run, Gradients& gradients,
                       const AddStream& add_stream, Source&&... source) const {
    const Tensor dsum = norms_.after ? norms_.after->backward(dy, run, gradients) : dy.share();
    const Tensor dbranch =
        norms_.inside ? norms_.inside->backward(dsum, run, gradients) : dsum.share();
    Tensor dx = branch_.backward(dbranch, std::forward<Source>(source)..., run, gradients);
    if (norms_.before) dx = norms_.before->backward(dx, run, gradients);
    return add_stream(std::move(dx), dsum);
  }

  Norms norms_;
  Branch branch_;
  BranchNames names_;
  bool adds_;
};

}  // namespace heed
