// One task: 64 query rows of one head, against all keys that they may see. Everything has one row
// a lane: S^T = K Q^T, then O^T = O^T rescale + V^T P^T.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "heed/base/threads.h"
#include "kernels/tiled/attention.h"

#define HWY_TARGET_INCLUDE "kernels/tiled/attention_forward.cpp"  // NOLINT
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/online_softmax-inl.h"
#include "kernels/tiled/dropout-inl.h"
#include "kernels/tiled/scores-inl.h"
#include "kernels/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// The working memory of one thread.
template <typename T>
struct ForwardScratch {
  explicit ForwardScratch(const AttentionProblem& problem)
      : queries(problem.head_dim),
        keys(problem.head_dim),
        values(kKeys * padded(problem.value_dim)),
        weights(kKeys * kRows),
        out(problem.value_dim * kRows),
        mask(problem) {}

  QueryTile<T> queries;
  RowTile<T> keys;
  Tile<T> values;   // [64 keys][Dv, padded]
  Tile<T> weights;  // [64 keys][64]: scores, then weights
  Tile<T> out;      // [Dv][64]
  OnlineSoftmax<T> softmax;
  TileMask<T> mask;
  std::uint64_t kept[kKeys];  // by dropout
};

// Rows [begin, end) of head h in batch b.
struct RowBlock {
  std::int64_t batch;
  std::int64_t head;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t rows() const { return end - begin; }
};

// O^T += V^T P^T of one tile.
template <typename T>
void accumulate(const AttentionProblem& problem, const TilePlace& at, ForwardScratch<T>& scratch) {
  const std::int64_t width = padded(problem.value_dim);
  const Matrix<const T> values = {scratch.values.get(), width, 1};
  if (scratch.mask.partial() && !all_finite(values, at.keys, problem.value_dim)) {
    visible_product<SumOver::kAllKeys, T>(
        {scratch.weights.get(), scratch.mask.visible, at.keys, at.rows}, values, problem.value_dim,
        {scratch.out.get(), 1, kRows});
    return;
  }
  const Matrix<const T> transposed = {values.data, 1, width};
  product<T>({problem.value_dim, at.keys, kRows}, transposed, scratch.weights.get(), kRows, true,
             scratch.out.get(), kRows);
}

template <typename T>
void rescale_out(std::int64_t columns, ForwardScratch<T>& scratch) {
  T* HWY_RESTRICT out = scratch.out.get();
  for (std::int64_t d = 0; d < columns; ++d)
    for (int i = 0; i < kRows; ++i) out[d * kRows + i] *= scratch.softmax.rescale[i];
}

// Scores become weights.
template <typename T>
void normalise(const AttentionProblem& problem, const TilePlace& at, ForwardScratch<T>& scratch) {
  T* weights = scratch.weights.get();
  const TileMask<T>& mask = scratch.mask;
  if (problem.score.normaliser == Normaliser::kSoftmax) {
    if (mask.partial()) hide(mask.visible, at.keys, -std::numeric_limits<T>::infinity(), weights);
    if (scratch.softmax.update(weights, at.keys, mask)) rescale_out(problem.value_dim, scratch);
  } else {
    weigh_alone(problem.score.normaliser, at.keys, weights, weights);
    if (mask.partial()) hide(mask.visible, at.keys, T{0}, weights);
  }
}

template <typename T>
void attend_to_tile(const AttentionProblem& problem, const TilePlace& at,
                    ForwardScratch<T>& scratch) {
  scratch.mask.look(problem, at);
  if (scratch.mask.empty()) return;
  const KeySpan span = at.key_span(problem);
  score_tile(problem, at, scratch.queries, scratch.keys.keys_for_product(problem, span),
             scratch.mask, scratch.weights.get());
  normalise(problem, at, scratch);
  if (problem.dropout.threshold != 0) {
    kept_words(problem, at, scratch.kept);
    drop(problem, scratch.kept, at.keys, scratch.weights.get(), scratch.weights.get());
  }
  load_keys(problem, values_of(problem), span, padded(problem.value_dim), scratch.values.get());
  accumulate(problem, at, scratch);
}

// Writes the rows of a block, divided by their sums.
template <typename T>
void store_block(const AttentionProblem& problem, const RowBlock& block,
                 const AttentionForward& forward, ForwardScratch<T>& scratch) {
  const std::int64_t first = lse_index(problem, block.batch, block.head, block.begin);
  const std::int64_t slot = problem.sequences[block.batch].query_begin + block.begin;
  const double sink = problem.score.sink != nullptr ? problem.score.sink[block.head]
                                                    : -std::numeric_limits<double>::infinity();
  T* line = scratch.weights.get();  // no longer needed
  for (std::int64_t i = 0; i < block.rows(); ++i) {
    T inverse = 1;
    if (forward.lse != nullptr)
      scratch.softmax.finish(i, sink, static_cast<T*>(forward.lse)[first + i],
                             static_cast<T*>(forward.lse_low)[first + i], inverse);
    const std::int64_t to = offset_of(forward.out, block.batch, block.head, slot + i);
    for (std::int64_t d = 0; d < problem.value_dim; d += kKeys * kRows) {
      const std::int64_t count = std::min(kKeys * kRows, problem.value_dim - d);
      for (std::int64_t c = 0; c < count; ++c)
        line[c] = scratch.out.get()[(d + c) * kRows + i] * inverse;
      store_line(forward.out, to + d * forward.out.column, count, line);
      const Output& low = forward.out_low;
      if (low.data == nullptr) continue;
      const std::int64_t low_to = offset_of(low, block.batch, block.head, slot + i);
      store_rest(forward.out, to + d * forward.out.column, low, low_to + d * low.column, count,
                 line);
    }
  }
}

// Rows past the end of the sequence get what a row that sees nobody gets.
template <typename T>
void store_padding(const AttentionProblem& problem, const RowBlock& block,
                   const AttentionForward& forward) {
  const std::int64_t first = lse_index(problem, block.batch, block.head, 0);
  const T zero = 0;
  for (std::int64_t i = block.begin; i < block.end; ++i) {
    if (forward.lse != nullptr) {
      static_cast<T*>(forward.lse)[first + i] = -std::numeric_limits<T>::infinity();
      static_cast<T*>(forward.lse_low)[first + i] = 0;
    }
    for (const Output* out : {&forward.out, &forward.out_low})
      for (std::int64_t d = 0; d < problem.value_dim && out->data != nullptr; ++d)
        store_line(*out, offset_of(*out, block.batch, block.head, i) + d * out->column, 1, &zero);
  }
}

template <typename T>
void attend(const AttentionProblem& problem, RowBlock block, const AttentionForward& forward,
            ForwardScratch<T>& scratch) {
  const Sequence& sequence = problem.sequences[block.batch];
  const std::int64_t end = std::clamp(sequence.query_length, block.begin, block.end);
  const std::int64_t room = std::min(block.end, query_room(problem, block.batch));
  store_padding<T>(problem, {block.batch, block.head, end, room}, forward);
  if (end == block.begin) return;
  block.end = end;
  scratch.queries.load(problem, block.batch, block.head, block.begin, block.rows());
  std::fill_n(scratch.out.get(), problem.value_dim * kRows, T{0});
  scratch.softmax.start();
  for (std::int64_t key = 0; key < sequence.key_length; key += kKeys)
    attend_to_tile<T>(problem,
                      {block.batch, block.head, block.begin, block.rows(), key,
                       std::min(kKeys, sequence.key_length - key)},
                      scratch);
  store_block(problem, block, forward, scratch);
}

template <typename T>
void run_forward(const AttentionProblem& problem, const AttentionForward& forward) {
  const std::int64_t blocks = (problem.query_length + kRows - 1) / kRows;
  const std::int64_t tasks = problem.batch * problem.heads * blocks;
  const int threads = threads_here();
  std::vector<ForwardScratch<T>> scratch;
  for (std::int64_t t = std::min<std::int64_t>(threads, tasks); t > 0; --t)
    scratch.emplace_back(problem);
  parallel_for(tasks, threads, [&](std::int64_t task, int thread) {
    const std::int64_t begin = (blocks - 1 - task % blocks) * kRows;  // causal: longest first
    const std::int64_t head = task / blocks;
    attend<T>(problem,
              {head / problem.heads, head % problem.heads, begin,
               std::min(begin + kRows, problem.query_length)},
              forward, scratch[static_cast<std::size_t>(thread)]);
  });
}

void tiled_forward(const AttentionProblem& problem, const AttentionForward& forward) {
  if (problem.dtype == DType::kF64) {
    run_forward<double>(problem, forward);
  } else {
    run_forward<float>(problem, forward);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(tiled_forward);

void tiled_attention(const AttentionProblem& problem, const AttentionForward& forward) {
  HWY_DYNAMIC_DISPATCH(tiled_forward)(problem, forward);
}

std::int64_t tiled_attention_workspace(const AttentionProblem& problem) {
  const std::int64_t head_dim = (problem.head_dim + 15) / 16 * 16;
  const std::int64_t value_dim = (problem.value_dim + 15) / 16 * 16;
  const std::int64_t bias = problem.score.bias.data != nullptr ? 64 : 0;
  // Q and K as rows, Q transposed; V and out; the weights and the bias.
  const std::int64_t elements =
      64 * (2 * head_dim + problem.head_dim + value_dim + problem.value_dim + 64 + bias);
  return thread_count() * elements * static_cast<std::int64_t>(size_bytes(accumulator(problem)));
}

}  // namespace heed::kernels
#endif
