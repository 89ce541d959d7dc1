// The sizes of the terms that gradients sum over all pairs of query and key: rounding errors are
// relative to these, however much they cancel.
#pragma once

#include <cmath>
#include <vector>

#include "attention/api/checked.h"
#include "attention/reference/attention.h"
#include "bench/attention_cases.h"
#include "support/compare.h"

namespace heed::test {

/// Sums of |terms|: one per head, and one per element of the bias.
struct TermSizes {
  std::vector<double> bias, sink, slope, scale;
};

class TermSizesOf {
 public:
  explicit TermSizesOf(const AttentionInputs& inputs)
      : checked_(inputs.args),
        dout_(values(inputs.dout)),
        dlse_(inputs.dlse.given() ? values(inputs.dlse) : std::vector<double>{}) {
    const kernels::AttentionProblem& problem = checked_.problem;
    const auto heads = static_cast<std::size_t>(problem.heads);
    sizes_.sink = sizes_.slope = sizes_.scale = std::vector<double>(heads);
    if (inputs.args.scores.bias.given())
      sizes_.bias.resize(static_cast<std::size_t>(inputs.args.scores.bias.element_count()));
    for (std::int64_t b = 0; b < problem.batch; ++b)
      for (std::int64_t h = 0; h < problem.heads; ++h) {
        const kernels::reference::Head head = {problem, b, h};
        for (std::int64_t i = 0; i < head.sequence.query_length; ++i) add_row(head, i);
      }
  }

  const TermSizes& sizes() const { return sizes_; }

 private:
  // The gradient of z is p (dP - delta) of the softmax, with delta = sum_j p dP - dlse: the size of
  // its own terms counts, not what is left of them.
  void add_row(const kernels::reference::Head& head, std::int64_t i) {
    const kernels::Normaliser normaliser = head.problem.score.normaliser;
    kernels::reference::Row row;
    row.look(head, i);
    row.normalise(head);
    std::vector<double> dweights(row.keys.size());
    double delta = 0;
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      dweights[n] = size_of_dweight(head, i, row.keys[n]);
      delta += row.weights[n] * dweights[n];
    }
    const auto at = static_cast<std::size_t>(head.lse_index(i));
    const auto h = static_cast<std::size_t>(head.h);
    if (normaliser == kernels::Normaliser::kSoftmax) sizes_.sink[h] += delta += std::abs(dlse_[at]);
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      const double p = row.weights[n];
      double size = p * (dweights[n] + delta);
      if (normaliser == kernels::Normaliser::kSigmoid) size = p * (1 - p) * dweights[n];
      if (normaliser == kernels::Normaliser::kNone) size = dweights[n];
      add_pair(head, i, row.keys[n], row.scores[n], size);
    }
  }

  void add_pair(const kernels::reference::Head& head, std::int64_t i, std::int64_t j,
                const kernels::reference::Score& score, double size) {
    const auto h = static_cast<std::size_t>(head.h);
    const bool dot = head.problem.score.similarity == kernels::Similarity::kDot;
    const double similarity =
        dot ? head.query_norm(i) * head.key_norm(j) : std::abs(score.similarity);
    sizes_.slope[h] += size * head.distance(i, j);
    sizes_.scale[h] += size * score.capped_slope * similarity;
    if (sizes_.bias.empty()) return;
    const std::int64_t at =
        kernels::reference::index(head.problem.score.bias, head.b, head.h, i, j);
    sizes_.bias[static_cast<std::size_t>(at)] += size;
  }

  double size_of_dweight(const kernels::reference::Head& head, std::int64_t i,
                         std::int64_t j) const {
    const kernels::AttentionProblem& problem = head.problem;
    const std::int64_t row = head.lse_index(i);
    double sum = 0;
    for (std::int64_t d = 0; d < problem.value_dim; ++d)
      sum += std::abs(dout_[static_cast<std::size_t>(row * problem.value_dim + d)] * head.v(j, d));
    return sum * head.kept(i, j);
  }

  CheckedAttention checked_;
  std::vector<double> dout_;
  std::vector<double> dlse_;
  TermSizes sizes_;
};

}  // namespace heed::test
