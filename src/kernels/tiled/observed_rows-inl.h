// Delta and the sink's gradient where the cotangents are those of observers: there is no out to get
// a row's sum from, so it takes a sweep of its own. Included once for each vector width.
#if defined(HEED_TILED_OBSERVED_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_OBSERVED_ROWS_INL_H_
#undef HEED_TILED_OBSERVED_ROWS_INL_H_
#else
#define HEED_TILED_OBSERVED_ROWS_INL_H_
#endif

#include "base/parallel.h"
#include "kernels/tiled/backward_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// The sink of a row as one more key: its weight and that weight's cotangent.
struct SinkTerm {
  double weight = 0;
  double change = 0;
};

template <typename T>
SinkTerm sink_term(const BackwardJob<T>& job, std::int64_t b, std::int64_t h, std::int64_t row) {
  const AttentionProblem& problem = job.problem;
  const double* sink = problem.score.sink;
  if (sink == nullptr || sink[h] == -std::numeric_limits<double>::infinity()) return {};
  const std::int64_t at = lse_index(problem, b, h, row);
  const double log_weight = lse_of<T>(job.backward, at).below(sink[h]);
  const double weight = std::exp(log_weight);
  const auto* entropy = static_cast<const T*>(job.observed->entropy);
  if (entropy == nullptr || weight == 0) return {weight, 0};
  const T change = entropy[(b * problem.heads + h) * problem.query_length + row];
  return {weight, -static_cast<double>(change) * log_weight};
}

// sum_j p dp of the rows of a block; `at` has no keys yet.
template <typename T>
void sum_observed_rows(BackwardJob<T>& job, TilePlace at, BackwardScratch<T>& scratch) {
  const AttentionProblem& problem = job.problem;
  const std::int64_t length = problem.sequences[at.batch].key_length;
  double sums[kRows] = {};
  load_row_block(job, at, scratch);
  for (at.key = 0; at.key < length; at.key += kKeys) {
    at.keys = std::min(kKeys, length - at.key);
    scratch.mask.look(problem, at);
    if (scratch.mask.empty()) continue;
    load_key_block(job, at, scratch);
    weigh_again(job, at, scratch);
    if (scratch.mask.partial()) {
      hide(scratch.mask.visible, at.keys, T{0}, scratch.weights.get());
      hide(scratch.mask.visible, at.keys, T{0}, scratch.dscores.get());
    }
    for (std::int64_t e = 0; e < at.keys * kRows; ++e)
      sums[e % kRows] += static_cast<double>(scratch.weights.get()[e]) *
                         static_cast<double>(scratch.dscores.get()[e]);
  }
  T* delta = job.delta.data() + lse_index(problem, at.batch, at.head, at.row);
  for (std::int64_t i = 0; i < at.rows; ++i) {
    const SinkTerm sink = sink_term(job, at.batch, at.head, at.row + i);
    delta[i] = static_cast<T>(sums[i] + sink.weight * sink.change);
  }
}

template <typename T>
void prepare_observed_rows(BackwardJob<T>& job) {
  const AttentionProblem& problem = job.problem;
  const std::int64_t heads = problem.batch * problem.heads;
  const int threads = threads_here();
  std::vector<BackwardScratch<T>> scratch;
  for (int t = threads; t > 0; --t) scratch.emplace_back(problem, false);
  parallel_for(heads * job.row_blocks, threads, [&](std::int64_t task, int thread) {
    const std::int64_t head = task / job.row_blocks;
    const std::int64_t row = task % job.row_blocks * kRows;
    const std::int64_t b = head / problem.heads;
    const std::int64_t rows = std::min(kRows, problem.sequences[b].query_length - row);
    if (rows > 0)
      sum_observed_rows(job, {b, head % problem.heads, row, rows, 0, 0},
                        scratch[static_cast<std::size_t>(thread)]);
  });
  if (job.backward.dsink == nullptr) return;
  std::fill_n(job.backward.dsink, problem.heads, 0.0);
  for (std::int64_t head = 0; head < heads; ++head) {
    const std::int64_t b = head / problem.heads;
    const std::int64_t h = head % problem.heads;
    for (std::int64_t row = 0; row < problem.sequences[b].query_length; ++row) {
      const SinkTerm sink = sink_term(job, b, h, row);
      const T delta = job.delta[static_cast<std::size_t>(lse_index(problem, b, h, row))];
      job.backward.dsink[h] += sink.weight * (sink.change - static_cast<double>(delta));
    }
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_OBSERVED_ROWS_INL_H_
