#include "kernels/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "heed/base/threads.h"

namespace heed::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double load(const void* data, DType dtype, std::int64_t index) {
  return dtype == DType::kF64 ? static_cast<const double*>(data)[index]
                              : static_cast<double>(static_cast<const float*>(data)[index]);
}

void store(void* data, DType dtype, std::int64_t index, double value) {
  if (dtype == DType::kF64) {
    static_cast<double*>(data)[index] = value;
  } else {
    static_cast<float*>(data)[index] = static_cast<float>(value);
  }
}

template <typename Operand>
std::int64_t index(const Operand& x, std::int64_t b, std::int64_t h, std::int64_t row,
                   std::int64_t column) {
  return b * x.batch + h * x.head + row * x.row + column * x.column;
}

// One (batch, query head) of a problem, with keys by their logical index.
struct Head {
  const AttentionProblem& problem;
  std::int64_t b;
  std::int64_t h;
  std::int64_t g = h / (problem.heads / problem.kv_heads);
  const Sequence& sequence = problem.sequences[b];

  double q(std::int64_t i, std::int64_t d) const {
    return load(problem.q.data, problem.dtype, index(problem.q, b, h, i, d));
  }
  double k(std::int64_t j, std::int64_t d) const {
    return load(problem.k.data, problem.dtype, index(problem.k, b, g, sequence.key_begin + j, d));
  }
  double v(std::int64_t j, std::int64_t d) const {
    return load(problem.v.data, problem.dtype, index(problem.v, b, g, sequence.key_begin + j, d));
  }
  bool visible(std::int64_t i, std::int64_t j) const {
    return problem.mask == nullptr || problem.mask->visible(place(problem, b, h), i, j);
  }
  double score(std::int64_t i, std::int64_t j) const {
    double dot = 0;
    for (std::int64_t d = 0; d < problem.head_dim; ++d) dot += q(i, d) * k(j, d);
    return problem.scale[h] * dot;
  }
  std::int64_t lse_index(std::int64_t i) const {
    return (b * problem.heads + h) * problem.query_length + i;
  }
};

// What a row sees: keys in order, and their scores, which become weights.
struct Row {
  std::vector<std::int64_t> keys;
  std::vector<double> weights;

  void look(const Head& head, std::int64_t i) {
    keys.clear();
    weights.clear();
    if (i >= head.sequence.query_length) return;
    for (std::int64_t j = 0; j < head.sequence.key_length; ++j)
      if (head.visible(i, j)) {
        keys.push_back(j);
        weights.push_back(head.score(i, j));
      }
  }

  // Scores to weights; gives the log-sum-exp. IEEE decides what infinite scores mean.
  double normalise() {
    if (keys.empty()) return -kInfinity;
    const double maximum = *std::ranges::max_element(weights);
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - maximum);
    for (double& weight : weights) weight /= sum;
    return maximum + std::log(sum);
  }
};

void store_lse(const AttentionProblem& problem, const AttentionForward& forward, std::int64_t at,
               double lse) {
  store(forward.lse, problem.dtype, at, lse);
  const double high = load(forward.lse, problem.dtype, at);
  store(forward.lse_low, problem.dtype, at, std::isfinite(high) ? lse - high : 0);
}

void attend(const Head& head, const AttentionForward& forward) {
  const AttentionProblem& problem = head.problem;
  Row row;
  for (std::int64_t i = 0; i < problem.query_length; ++i) {
    row.look(head, i);
    store_lse(problem, forward, head.lse_index(i), row.normalise());
    for (std::int64_t d = 0; d < problem.value_dim; ++d) {
      double sum = 0;
      for (std::size_t n = 0; n < row.keys.size(); ++n)
        sum += row.weights[n] * head.v(row.keys[n], d);
      store(forward.out.data, problem.dtype, index(forward.out, head.b, head.h, i, d), sum);
    }
  }
}

// dk and dv of one (batch, key/value head), which the heads of its group add to.
struct KeyGradients {
  std::vector<double> dk;
  std::vector<double> dv;
};

void attend_backward(const Head& head, const AttentionBackward& backward, KeyGradients& keys) {
  const AttentionProblem& problem = head.problem;
  const std::int64_t D = problem.head_dim;
  const std::int64_t Dv = problem.value_dim;
  const double scale = problem.scale[head.h];
  Row row;
  std::vector<double> dp;
  std::vector<double> dq(static_cast<std::size_t>(D));
  for (std::int64_t i = 0; i < problem.query_length; ++i) {
    std::ranges::fill(dq, 0.0);
    row.look(head, i);
    const std::int64_t at = head.lse_index(i);
    const double lse =
        load(backward.lse, problem.dtype, at) + load(backward.lse_low, problem.dtype, at);
    double delta = 0;  // sum_j p_ij dp_ij
    dp.assign(row.keys.size(), 0.0);
    const auto dout = [&](std::int64_t d) {
      return load(backward.dout.data, problem.dtype, index(backward.dout, head.b, head.h, i, d));
    };
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      row.weights[n] = std::exp(row.weights[n] - lse);
      for (std::int64_t d = 0; d < Dv; ++d) {
        dp[n] += dout(d) * head.v(row.keys[n], d);
        keys.dv[static_cast<std::size_t>(row.keys[n] * Dv + d)] += row.weights[n] * dout(d);
      }
      delta += row.weights[n] * dp[n];
    }
    if (backward.dlse != nullptr && !row.keys.empty())
      delta -= load(backward.dlse, problem.dtype, at);
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
      const double dscore = scale * row.weights[n] * (dp[n] - delta);
      for (std::int64_t d = 0; d < D; ++d) {
        dq[static_cast<std::size_t>(d)] += dscore * head.k(row.keys[n], d);
        keys.dk[static_cast<std::size_t>(row.keys[n] * D + d)] += dscore * head.q(i, d);
      }
    }
    if (backward.dq.data == nullptr) continue;
    for (std::int64_t d = 0; d < D; ++d)
      store(backward.dq.data, problem.dtype, index(backward.dq, head.b, head.h, i, d),
            dq[static_cast<std::size_t>(d)]);
  }
}

void store_keys(const AttentionProblem& problem, const Output& output, std::int64_t b,
                std::int64_t g, std::int64_t columns, const std::vector<double>& values) {
  if (output.data == nullptr) return;
  const Sequence& sequence = problem.sequences[b];
  for (std::int64_t slot = 0; slot < problem.key_length; ++slot)
    for (std::int64_t d = 0; d < columns; ++d) {
      const std::int64_t j = slot - sequence.key_begin;
      const bool exists = j >= 0 && j < sequence.key_length;
      store(output.data, problem.dtype, index(output, b, g, slot, d),
            exists ? values[static_cast<std::size_t>(j * columns + d)] : 0.0);
    }
}

}  // namespace

void reference_attention(const AttentionProblem& problem, const AttentionForward& forward) {
  parallel_for(problem.batch * problem.heads, [&](std::int64_t task, int) {
    attend(Head{problem, task / problem.heads, task % problem.heads}, forward);
  });
}

void reference_attention_backward(const AttentionProblem& problem,
                                  const AttentionBackward& backward) {
  parallel_for(problem.batch * problem.kv_heads, [&](std::int64_t task, int) {
    const std::int64_t b = task / problem.kv_heads;
    const std::int64_t g = task % problem.kv_heads;
    const auto keys = static_cast<std::size_t>(problem.sequences[b].key_length);
    KeyGradients gradients;
    gradients.dk.resize(keys * static_cast<std::size_t>(problem.head_dim));
    gradients.dv.resize(keys * static_cast<std::size_t>(problem.value_dim));
    const std::int64_t group = problem.heads / problem.kv_heads;
    for (std::int64_t h = g * group; h < (g + 1) * group; ++h)
      attend_backward(Head{problem, b, h}, backward, gradients);
    store_keys(problem, backward.dk, b, g, problem.head_dim, gradients.dk);
    store_keys(problem, backward.dv, b, g, problem.value_dim, gradients.dv);
  });
}

std::int64_t reference_attention_workspace(const AttentionProblem& problem) {
  return thread_count() * problem.key_length * 16;  // keys and weights of one row
}

std::int64_t reference_attention_backward_workspace(const AttentionProblem& problem) {
  return thread_count() * problem.key_length * 8 * (3 + problem.head_dim + problem.value_dim);
}

}  // namespace heed::kernels
