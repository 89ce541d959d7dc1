#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/reference/attention.h"
#include "heed/threads.h"

namespace heed::kernels {
namespace {

using reference::Head;
using reference::load;
using reference::Row;
using reference::Score;
using reference::store;

double sign(double x) { return static_cast<double>(x > 0) - static_cast<double>(x < 0); }

// The derivatives of sim(q_i, k_j) for one of the two, for each d.
struct Side {
  const Head& head;
  std::int64_t i;
  std::int64_t j;
  double q_norm;
  double k_norm;
  double similarity;

  double by_q(std::int64_t d) const { return slope(head.q(i, d), head.k(j, d), q_norm, k_norm); }
  double by_k(std::int64_t d) const { return slope(head.k(j, d), head.q(i, d), k_norm, q_norm); }

 private:
  double slope(double x, double y, double x_norm, double y_norm) const {
    switch (head.problem.score.similarity) {
      case Similarity::kGaussian:
        return -2 * (x - y);
      case Similarity::kAbsolute:
        return -sign(x - y);
      case Similarity::kCosine: {
        if (x_norm < reference::kLeastNorm) return 0;
        const double other = y_norm < reference::kLeastNorm ? reference::kLeastNorm : y_norm;
        return y / (x_norm * other) - similarity * x / (x_norm * x_norm);
      }
      default:
        return y;
    }
  }
};

// Gradients that are summed over the rows of one (batch, head).
struct HeadSums {
  double sink = 0;
  double slope = 0;
  double scale = 0;
};

// Gradients that all heads of a group add to.
struct Gradients {
  std::vector<double> dk;
  std::vector<double> dv;
  std::vector<double>* dbias = nullptr;  // [batch, heads, rows, keys] of the bias; null: not wanted
};

class HeadBackward {
 public:
  HeadBackward(const Head& head, const AttentionBackward& backward, Gradients& gradients)
      : head_(head), problem_(head.problem), backward_(backward), gradients_(gradients) {}

  HeadSums run() {
    for (std::int64_t i = 0; i < query_room(problem_, head_.b); ++i) row(i);
    return sums_;
  }

 private:
  void row(std::int64_t i) {
    std::vector<double> dq(static_cast<std::size_t>(problem_.head_dim), 0.0);
    row_.look(head_, i);
    if (i < head_.sequence.query_length) {
      const double delta = weights(i);
      for (std::size_t n = 0; n < row_.keys.size(); ++n) pair(i, n, delta, dq);
    }
    if (backward_.dq.data == nullptr) return;
    for (std::int64_t d = 0; d < problem_.head_dim; ++d)
      store(backward_.dq.data, backward_.dq.dtype,
            reference::index(backward_.dq, head_.b, head_.h, head_.sequence.query_begin + i, d),
            dq[static_cast<std::size_t>(d)]);
  }

  // The weights of a row, dv, dp; returns sum_j p_ij dp_ij - dlse.
  double weights(std::int64_t i) {
    const DType dtype = accumulator(problem_);
    const std::int64_t at = head_.lse_index(i);
    const LogSum lse = log_sum(at);
    row_.weigh(head_, lse);
    dp_.assign(row_.keys.size(), 0.0);
    double delta = 0;
    for (std::size_t n = 0; n < row_.keys.size(); ++n) {
      const double kept = head_.kept(i, row_.keys[n]);
      const double weight = kept == 0 ? 0 : row_.weights[n] * kept;
      for (std::int64_t d = 0; d < problem_.value_dim; ++d) {
        const double dout = head_.at(backward_.dout, i, d);
        dp_[n] += dout * head_.v(row_.keys[n], d);
        gradients_.dv[static_cast<std::size_t>(row_.keys[n] * problem_.value_dim + d)] +=
            weight * dout;
      }
      dp_[n] = kept == 0 ? 0 : dp_[n] * kept;
      delta += row_.weights[n] * dp_[n];
    }
    const double* sink = problem_.score.sink;
    const bool has_lse = sink != nullptr || !row_.keys.empty();
    if (backward_.dlse != nullptr && has_lse) delta -= load(backward_.dlse, dtype, at);
    if (sink != nullptr && sink[head_.h] != -std::numeric_limits<double>::infinity())
      sums_.sink -= std::exp(lse.below(sink[head_.h])) * delta;
    return delta;
  }

  LogSum log_sum(std::int64_t at) const {
    if (problem_.score.normaliser != Normaliser::kSoftmax) return {};
    return accumulator(problem_) == DType::kF64 ? lse_of<double>(backward_, at)
                                                : lse_of<float>(backward_, at);
  }

  double dz(std::size_t n, double delta) const {
    const double p = row_.weights[n];
    if (problem_.score.normaliser == Normaliser::kSoftmax) return p * (dp_[n] - delta);
    if (problem_.score.normaliser == Normaliser::kSigmoid) return p * (1 - p) * dp_[n];
    return dp_[n];
  }

  void pair(std::int64_t i, std::size_t n, double delta, std::vector<double>& dq) {
    const std::int64_t j = row_.keys[n];
    const Score& score = row_.scores[n];
    const double by_z = dz(n, delta);
    if (gradients_.dbias != nullptr) (*gradients_.dbias)[bias_index(i, j)] += by_z;
    sums_.slope -= by_z * head_.distance(i, j);
    const double by_scaled = by_z * score.capped_slope;
    sums_.scale += by_scaled * score.similarity;
    const double by_similarity = by_scaled * problem_.scale[head_.h];
    const bool cosine = problem_.score.similarity == Similarity::kCosine;
    const Side side = {
        head_,           i, j, cosine ? head_.query_norm(i) : 1, cosine ? head_.key_norm(j) : 1,
        score.similarity};
    for (std::int64_t d = 0; d < problem_.head_dim; ++d) {
      dq[static_cast<std::size_t>(d)] += by_similarity * side.by_q(d);
      gradients_.dk[static_cast<std::size_t>(j * problem_.head_dim + d)] +=
          by_similarity * side.by_k(d);
    }
  }

  std::size_t bias_index(std::int64_t i, std::int64_t j) const {
    const std::int64_t extents[] = {problem_.batch, problem_.heads, problem_.query_length,
                                    problem_.key_length};
    const std::int64_t at[] = {head_.b, head_.h, i, j};
    std::int64_t flat = 0;
    for (int axis = 0; axis < 4; ++axis)
      if (!backward_.dbias_sums[axis]) flat = flat * extents[axis] + at[axis];
    return static_cast<std::size_t>(flat);
  }

  const Head& head_;
  const AttentionProblem& problem_;
  const AttentionBackward& backward_;
  Gradients& gradients_;
  HeadSums sums_;
  Row row_;
  std::vector<double> dp_;
};

void store_keys(const AttentionProblem& problem, const Output& output, std::int64_t b,
                std::int64_t g, std::int64_t columns, const std::vector<double>& values) {
  if (output.data == nullptr) return;
  const Sequence& sequence = problem.sequences[b];
  const std::int64_t begin = problem.packed_keys ? sequence.key_begin : 0;
  const std::int64_t end = problem.packed_keys ? begin + sequence.key_length : problem.key_length;
  for (std::int64_t slot = begin; slot < end; ++slot)
    for (std::int64_t d = 0; d < columns; ++d) {
      const std::int64_t j = slot - sequence.key_begin;
      const bool exists = j >= 0 && j < sequence.key_length;
      store(output.data, output.dtype, reference::index(output, b, g, slot, d),
            exists ? values[static_cast<std::size_t>(j * columns + d)] : 0.0);
    }
}

// Extents of the bias itself: 1 on summed axes.
std::array<std::int64_t, 4> bias_extents(const AttentionProblem& problem,
                                         const AttentionBackward& backward) {
  std::array<std::int64_t, 4> extents = {problem.batch, problem.heads, problem.query_length,
                                         problem.key_length};
  for (std::size_t axis = 0; axis < 4; ++axis)
    if (backward.dbias_sums[axis]) extents[axis] = 1;
  return extents;
}

void store_bias(const AttentionProblem& problem, const AttentionBackward& backward,
                const std::vector<double>& values) {
  const auto [batch, heads, rows, keys] = bias_extents(problem, backward);
  auto value = values.begin();
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < keys; ++j)
          store(backward.dbias.data, backward.dbias.dtype,
                reference::index(backward.dbias, b, h, i, j), *value++);
}

// One key/value head of one batch.
void group_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                    std::int64_t task, std::vector<double>* dbias, HeadSums* sums) {
  const std::int64_t b = task / problem.kv_heads;
  const std::int64_t g = task % problem.kv_heads;
  const auto keys = static_cast<std::size_t>(problem.sequences[b].key_length);
  Gradients gradients;
  gradients.dk.resize(keys * static_cast<std::size_t>(problem.head_dim));
  gradients.dv.resize(keys * static_cast<std::size_t>(problem.value_dim));
  gradients.dbias = dbias;
  const std::int64_t group = problem.heads / problem.kv_heads;
  for (std::int64_t h = g * group; h < (g + 1) * group; ++h) {
    const Head head = {problem, b, h};
    sums[b * problem.heads + h] = HeadBackward(head, backward, gradients).run();
  }
  store_keys(problem, backward.dk, b, g, problem.head_dim, gradients.dk);
  store_keys(problem, backward.dv, b, g, problem.value_dim, gradients.dv);
}

}  // namespace

void reference_attention_backward(const AttentionProblem& problem,
                                  const AttentionBackward& backward) {
  std::vector<HeadSums> sums(static_cast<std::size_t>(problem.batch * problem.heads));
  const std::int64_t tasks = problem.batch * problem.kv_heads;
  if (backward.dbias.data != nullptr) {  // every head adds to the same dbias, so run in order
    const auto [batch, heads, rows, keys] = bias_extents(problem, backward);
    std::vector<double> dbias(static_cast<std::size_t>(batch * heads * rows * keys));
    for (std::int64_t task = 0; task < tasks; ++task)
      group_backward(problem, backward, task, &dbias, sums.data());
    store_bias(problem, backward, dbias);
  } else {
    parallel_for(tasks, [&](std::int64_t task, int) {
      group_backward(problem, backward, task, nullptr, sums.data());
    });
  }
  for (std::int64_t h = 0; h < problem.heads; ++h) {
    HeadSums total;
    for (std::int64_t b = 0; b < problem.batch; ++b) {
      const HeadSums& one = sums[static_cast<std::size_t>(b * problem.heads + h)];
      total = {total.sink + one.sink, total.slope + one.slope, total.scale + one.scale};
    }
    if (backward.dsink != nullptr) backward.dsink[h] = total.sink;
    if (backward.dslope != nullptr) backward.dslope[h] = total.slope;
    if (backward.dscale != nullptr) backward.dscale[h] = total.scale;
  }
}

// Memory for every gradient of the problem: rows of dk and dv, one query row's keys, and dbias.
std::int64_t reference_attention_backward_workspace(const AttentionProblem& problem) {
  const Input& bias = problem.score.bias;
  std::int64_t biases = bias.data != nullptr ? 1 : 0;
  if (bias.batch != 0) biases *= problem.batch;
  if (bias.head != 0) biases *= problem.heads;
  if (bias.row != 0) biases *= problem.query_length;
  if (bias.column != 0) biases *= problem.key_length;
  return 8 * (thread_count() * problem.key_length * (6 + problem.head_dim + problem.value_dim) +
              biases + 3 * problem.batch * problem.heads);
}

}  // namespace heed::kernels
