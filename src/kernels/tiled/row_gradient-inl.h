// What the backward pass does row by row, before and after its sweep: delta and the sink's
// gradient, zeros to start from, and dq rounded to its type. Included once for each vector width.
#if defined(HEED_TILED_ROW_GRADIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_ROW_GRADIENT_INL_H_
#undef HEED_TILED_ROW_GRADIENT_INL_H_
#else
#define HEED_TILED_ROW_GRADIENT_INL_H_
#endif

#include "heed/base/threads.h"
#include "kernels/tiled/observed_rows-inl.h"
#include "kernels/tiled/similarity_gradient-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// sum_d out dout of one row; 0 for a row whose out is 0, whatever its dout: such a row saw nobody.
template <typename T>
double out_times_dout(const BackwardJob<T>& job, std::int64_t b, std::int64_t h, std::int64_t row,
                      std::vector<T>& line) {
  const std::int64_t columns = job.problem.value_dim;
  const auto load = [&](const Input& from, T* to) {
    load_line(from, b * from.batch + h * from.head + row * from.row, from.column, columns, to);
  };
  T* out = line.data();
  T* dout = line.data() + columns;
  load(job.backward.out, out);
  load(job.backward.dout, dout);
  if (job.backward.out_low.data != nullptr) {
    T* low = dout + columns;
    load(job.backward.out_low, low);
    for (std::int64_t d = 0; d < columns; ++d) out[d] += low[d];
  }
  double sum = 0;
  bool any = false;
  for (std::int64_t d = 0; d < columns; ++d) {
    any = any || out[d] != 0;
    sum += static_cast<double>(out[d]) * static_cast<double>(dout[d]);
  }
  return any ? sum : 0;
}

// Computes delta for one head; returns the sum over its rows of their share of the sink's gradient.
template <typename T>
double prepare_head(BackwardJob<T>& job, std::int64_t b, std::int64_t h) {
  const AttentionProblem& problem = job.problem;
  const AttentionBackward& backward = job.backward;
  const Sequence& sequence = problem.sequences[b];
  const double* sink = problem.score.sink;
  std::vector<T> line(static_cast<std::size_t>(3 * problem.value_dim));
  double sink_gradient = 0;
  for (std::int64_t i = 0; i < sequence.query_length; ++i) {
    double sum = out_times_dout(job, b, h, sequence.query_begin + i, line);
    const std::int64_t at = lse_index(problem, b, h, i);
    if (backward.dlse != nullptr)
      sum -= static_cast<double>(static_cast<const T*>(backward.dlse)[at]);
    job.delta[static_cast<std::size_t>(at)] = static_cast<T>(sum);
    if (sink == nullptr || sink[h] == -std::numeric_limits<double>::infinity()) continue;
    sink_gradient -= std::exp(lse_of<T>(backward, at).below(sink[h])) * sum;
  }
  return sink_gradient;
}

template <typename T>
void prepare_rows(BackwardJob<T>& job) {
  if (!job.softmax()) return;
  const AttentionProblem& problem = job.problem;
  const std::int64_t heads = problem.batch * problem.heads;
  job.delta.resize(static_cast<std::size_t>(lse_count(problem)));
  if (job.observed != nullptr) return prepare_observed_rows(job);
  std::vector<double> sinks(static_cast<std::size_t>(heads));
  parallel_for(heads, [&](std::int64_t head, int) {
    sinks[static_cast<std::size_t>(head)] =
        prepare_head(job, head / problem.heads, head % problem.heads);
  });
  if (job.backward.dsink == nullptr) return;
  for (std::int64_t h = 0; h < problem.heads; ++h) {
    job.backward.dsink[h] = 0;
    for (std::int64_t b = 0; b < problem.batch; ++b)
      job.backward.dsink[h] += sinks[static_cast<std::size_t>(b * problem.heads + h)];
  }
}

// Where dq gathers: in the caller's memory, unless that is of another type than T or, for the
// cosine, has to pass through the norm at the end.
template <typename T>
Output query_gradients(const BackwardJob<T>& job, std::vector<T>& memory) {
  const AttentionProblem& problem = job.problem;
  const Output& dq = job.backward.dq;
  if (dq.data == nullptr) return {};
  if (dq.dtype == accumulator(problem) && problem.score.similarity != Similarity::kCosine)
    return dq;
  memory.resize(static_cast<std::size_t>(lse_count(problem) * problem.head_dim + 1));
  return query_rows(problem, problem.head_dim, memory.data());
}

// Fills rows [begin, end) of one head with zeros.
template <typename T>
void clear(const Output& output, std::int64_t b, std::int64_t head, std::int64_t begin,
           std::int64_t end, std::int64_t columns) {
  if (output.data == nullptr) return;
  const std::vector<T> zeros(static_cast<std::size_t>(columns));
  for (std::int64_t r = begin; r < end; ++r)
    store_line(output, offset_of(output, b, head, r), columns, zeros.data());
}

template <typename T>
void clear_query_gradients(const BackwardJob<T>& job, const Output& dq) {
  const AttentionProblem& problem = job.problem;
  if (dq.data == nullptr) return;
  parallel_for(problem.batch * problem.heads, [&](std::int64_t head, int) {
    const std::int64_t b = head / problem.heads;
    const std::int64_t begin = problem.sequences[b].query_begin;
    clear<T>(dq, b, head % problem.heads, begin, begin + query_room(problem, b), problem.head_dim);
  });
}

template <typename T>
void clear_key_padding(const BackwardJob<T>& job, std::int64_t b, std::int64_t g) {
  const AttentionProblem& problem = job.problem;
  if (problem.packed_keys) return;
  const Sequence& sequence = problem.sequences[b];
  const std::int64_t end = sequence.key_begin + sequence.key_length;
  clear<T>(job.backward.dk, b, g, 0, sequence.key_begin, problem.head_dim);
  clear<T>(job.backward.dk, b, g, end, problem.key_length, problem.head_dim);
  clear<T>(job.backward.dv, b, g, 0, sequence.key_begin, problem.value_dim);
  clear<T>(job.backward.dv, b, g, end, problem.key_length, problem.value_dim);
}

// From the memory where dq has gathered to the caller's.
template <typename T>
void finish_query_gradients(const BackwardJob<T>& job, const Output& gathered) {
  const AttentionProblem& problem = job.problem;
  parallel_for(problem.batch * problem.heads, [&](std::int64_t task, int) {
    const std::int64_t b = task / problem.heads;
    const std::int64_t h = task % problem.heads;
    const Sequence& sequence = problem.sequences[b];
    const std::int64_t first = sequence.query_begin;
    const std::int64_t end = first + query_room(problem, b);
    RowTile<T> queries(problem.head_dim);
    for (std::int64_t row = first; row < end; row += kRows) {
      const std::int64_t count = std::min(kRows, end - row);
      const std::int64_t existing = std::min(count, first + sequence.query_length - row);
      T* lines = rows_of<T>(gathered, b, h, row).data;
      if (problem.score.similarity == Similarity::kCosine && existing > 0) {
        queries.load(problem, problem.q, b, h, row, existing);
        through_norm(queries, existing, problem.head_dim, lines, gathered.row);
      }
      for (std::int64_t r = 0; r < count; ++r)
        store_line(job.backward.dq, offset_of(job.backward.dq, b, h, row + r), problem.head_dim,
                   lines + r * gathered.row);
    }
  });
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_ROW_GRADIENT_INL_H_
