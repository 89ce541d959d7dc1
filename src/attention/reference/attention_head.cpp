#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "attention/reference/attention.h"
#include "base/philox.h"
#include "heed/tensor.h"

namespace heed::kernels::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// sim(x, y) over D elements.
template <typename X, typename Y>
double similarity_of(Similarity kind, std::int64_t D, const X& x, const Y& y) {
  double sum = 0;
  for (std::int64_t d = 0; d < D; ++d) {
    const double difference = x(d) - y(d);
    if (kind == Similarity::kGaussian) {
      sum -= difference * difference;
    } else if (kind == Similarity::kAbsolute) {
      sum -= std::abs(difference);
    } else {
      sum += x(d) * y(d);
    }
  }
  return sum;
}

template <typename X>
double norm_of(std::int64_t D, const X& x) {
  double sum = 0;
  for (std::int64_t d = 0; d < D; ++d) sum += x(d) * x(d);
  return std::sqrt(sum);
}

// Keeps NaN, which std::max would lose.
double at_least(double least, double x) { return x < least ? least : x; }

}  // namespace

double load(const void* data, DType dtype, std::int64_t index) {
  switch (dtype) {
    case DType::kF64:
      return static_cast<const double*>(data)[index];
    case DType::kF16:
      return static_cast<double>(static_cast<float>(static_cast<const f16*>(data)[index]));
    case DType::kBF16:
      return static_cast<double>(static_cast<float>(static_cast<const bf16*>(data)[index]));
    default:
      return static_cast<double>(static_cast<const float*>(data)[index]);
  }
}

void store(void* data, DType dtype, std::int64_t index, double value) {
  switch (dtype) {
    case DType::kF64:
      static_cast<double*>(data)[index] = value;
      return;
    case DType::kF16:
      static_cast<f16*>(data)[index] = f16(static_cast<float>(value));
      return;
    case DType::kBF16:
      static_cast<bf16*>(data)[index] = bf16(static_cast<float>(value));
      return;
    default:
      static_cast<float*>(data)[index] = static_cast<float>(value);
  }
}

double Head::of_key(const KeyOperand& from, std::int64_t j, std::int64_t d) const {
  const auto& [values, scales, columns] = from;
  const KeyRun run = first_run(problem, {b, g, j, 1});
  const std::int64_t at = run.offset(values, g) + d * values.column;
  if (values.dtype != DType::kI8) return load(values.data, values.dtype, at);
  const std::int64_t scale_at = run.offset(scales, g) + d / kElementsPerScale * scales.column;
  return static_cast<double>(static_cast<float>(static_cast<const std::int8_t*>(values.data)[at]) *
                             static_cast<const float*>(scales.data)[scale_at]);
}

double Head::bias(std::int64_t i, std::int64_t j) const {
  const Input& values = problem.score.bias;
  return values.data == nullptr ? 0 : load(values.data, values.dtype, index(values, b, h, i, j));
}

bool Head::visible(std::int64_t i, std::int64_t j) const {
  const bool allowed = problem.mask == nullptr || problem.mask->visible(place(problem, b, h), i, j);
  return allowed && bias(i, j) != -kInfinity;
}

double Head::distance(std::int64_t i, std::int64_t j) const {
  return static_cast<double>(std::abs(sequence.q_offset + i - sequence.key_offset - j));
}

double Head::query_norm(std::int64_t i) const {
  return norm_of(problem.head_dim, [&](std::int64_t d) { return q(i, d); });
}

double Head::key_norm(std::int64_t j) const {
  return norm_of(problem.head_dim, [&](std::int64_t d) { return k(j, d); });
}

Score Head::score(std::int64_t i, std::int64_t j) const {
  const ScoreRule& rule = problem.score;
  Score score;
  score.similarity = similarity_of(
      rule.similarity, problem.head_dim, [&](std::int64_t d) { return q(i, d); },
      [&](std::int64_t d) { return k(j, d); });
  if (rule.similarity == Similarity::kCosine)
    score.similarity /= at_least(kLeastNorm, query_norm(i)) * at_least(kLeastNorm, key_norm(j));
  score.z = problem.scale[h] * score.similarity;
  if (rule.softcap > 0) {
    const double tanh = std::tanh(score.z / rule.softcap);
    score.z = rule.softcap * tanh;
    score.capped_slope = 1 - tanh * tanh;
  }
  score.z += bias(i, j);
  if (rule.slope != nullptr) score.z -= rule.slope[h] * distance(i, j);
  if (accumulator(problem) == DType::kF32) score.z = held_by_f32(score.z);
  return score;
}

double Head::kept(std::int64_t i, std::int64_t j) const {
  const DropoutRule& dropout = problem.dropout;
  if (dropout.threshold == 0) return 1;
  const std::int64_t p_i = sequence.q_offset + i;
  const std::int64_t p_j = sequence.key_offset + j;
  const std::int64_t head = (dropout.first_row + b) * problem.heads + h;
  const PhiloxCounter counter = {static_cast<std::uint32_t>(p_j >> 2),
                                 static_cast<std::uint32_t>(p_i), static_cast<std::uint32_t>(head),
                                 dropout.offset};
  const std::uint32_t word =
      philox(counter, philox_key(dropout.seed))[static_cast<std::size_t>(p_j & 3)];
  return word >= dropout.threshold ? dropout.scale : 0;
}

void Row::look(const Head& head, std::int64_t i) {
  keys.clear();
  scores.clear();
  if (i >= head.sequence.query_length) return;
  const auto length = static_cast<std::size_t>(head.sequence.key_length);
  keys.reserve(length);
  scores.reserve(length);
  weights.reserve(length);
  for (std::int64_t j = 0; j < head.sequence.key_length; ++j)
    if (head.visible(i, j)) {
      keys.push_back(j);
      scores.push_back(head.score(i, j));
    }
}

// Infinite scores follow IEEE arithmetic.
LogSum Row::normalise(const Head& head) {
  const ScoreRule& rule = head.problem.score;
  if (rule.normaliser != Normaliser::kSoftmax) {
    weigh(head, {});
    return {};
  }
  weights.clear();
  const double sink = rule.sink != nullptr ? rule.sink[head.h] : -kInfinity;
  if (keys.empty()) return {sink, 0};
  double maximum = sink;
  for (const Score& score : scores) maximum = std::max(maximum, score.z);
  double sum = rule.sink != nullptr ? std::exp(sink - maximum) : 0;
  for (const Score& score : scores) {
    weights.push_back(std::exp(score.z - maximum));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return {maximum, std::log(sum)};
}

void Row::weigh(const Head& head, const LogSum& lse) {
  const Normaliser normaliser = head.problem.score.normaliser;
  weights.clear();
  for (const Score& score : scores)
    weights.push_back(normaliser == Normaliser::kSoftmax   ? std::exp(lse.below(score.z))
                      : normaliser == Normaliser::kSigmoid ? 1 / (1 + std::exp(-score.z))
                                                           : score.z);
}

}  // namespace heed::kernels::reference
