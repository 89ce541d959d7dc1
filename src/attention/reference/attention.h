// The normative definition of attention: plain loops in double.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/key_run.h"
#include "attention/problem.h"

namespace heed::kernels {

void reference_attention(const AttentionProblem& problem, const AttentionForward& forward);
void reference_attention_backward(const AttentionProblem& problem,
                                  const AttentionBackward& backward);
std::int64_t reference_attention_workspace(const AttentionProblem& problem);
std::int64_t reference_attention_backward_workspace(const AttentionProblem& problem);

}  // namespace heed::kernels

namespace heed::kernels::reference {

double load(const void* data, DType dtype, std::int64_t index);
void store(void* data, DType dtype, std::int64_t index, double value);

template <typename Operand>
std::int64_t index(const Operand& x, std::int64_t b, std::int64_t h, std::int64_t row,
                   std::int64_t column) {
  return b * x.batch + h * x.head + row * x.row + column * x.column;
}

// A score in computation: z = softcap(scale * sim) + bias + alibi, in double. Far from 0, z is
// rounded to f32 (held_by_f32) unless the problem is f64, so that scores that f32 cannot
// distinguish are equal. So a row whose every key has the bias -3.4e38 is the mean of the values.
struct Score {
  double similarity = 0;
  double capped_slope = 1;  // d softcap(x) / dx
  double z = 0;
};

// One (batch, query head) of a problem, with rows and keys by logical index.
struct Head {
  const AttentionProblem& problem;
  std::int64_t b;
  std::int64_t h;
  std::int64_t g = h / (problem.heads / problem.kv_heads);
  const Sequence& sequence = problem.sequences[b];

  double at(const Input& x, std::int64_t i, std::int64_t d) const {  // q, out, dout
    return load(x.data, x.dtype, index(x, b, h, sequence.query_begin + i, d));
  }
  double q(std::int64_t i, std::int64_t d) const { return at(problem.q, i, d); }
  double k(std::int64_t j, std::int64_t d) const { return of_key(keys_of(problem), j, d); }
  double v(std::int64_t j, std::int64_t d) const { return of_key(values_of(problem), j, d); }
  double bias(std::int64_t i, std::int64_t j) const;
  // Whether the mask allows the pair and its bias is not -inf.
  bool visible(std::int64_t i, std::int64_t j) const;
  // |p_i - p_j|
  double distance(std::int64_t i, std::int64_t j) const;
  Score score(std::int64_t i, std::int64_t j) const;
  // The factor by which dropout multiplies the weight: 0 or 1 / (1 - rate).
  double kept(std::int64_t i, std::int64_t j) const;
  std::int64_t lse_index(std::int64_t i) const { return kernels::lse_index(problem, b, h, i); }

  double query_norm(std::int64_t i) const;
  double key_norm(std::int64_t j) const;

 private:
  double of_key(const KeyOperand& from, std::int64_t j, std::int64_t d) const;
};

constexpr double kLeastNorm = 1e-12;  // the cosine divides by at least this

// One row: its visible keys in order, their scores, and their weights before dropout.
struct Row {
  std::vector<std::int64_t> keys;
  std::vector<Score> scores;
  std::vector<double> weights;

  void look(const Head& head, std::int64_t i);
  // Turns scores into weights; returns the log-sum-exp, including the sink.
  LogSum normalise(const Head& head);
  // Turns scores into weights with a known log-sum-exp.
  void weigh(const Head& head, const LogSum& lse);
};

}  // namespace heed::kernels::reference
