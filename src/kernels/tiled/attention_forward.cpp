// One task: 64 query rows of one head, against all keys that they may see. Everything has one row
// a lane: S^T = K Q^T, then O^T = O^T rescale + V^T P^T.
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <vector>

#include "heed/base/threads.h"
#include "kernels/tiled/attention.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#define HWY_TARGET_INCLUDE "kernels/tiled/attention_forward.cpp"  // NOLINT
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/online_softmax-inl.h"
#include "kernels/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// What one thread works in.
template <typename T>
struct ForwardScratch {
  explicit ForwardScratch(const AttentionProblem& problem)
      : queries(hwy::AllocateAligned<T>(static_cast<std::size_t>(problem.head_dim * kRows))),
        weights(hwy::AllocateAligned<T>(static_cast<std::size_t>(kKeys * kRows))),
        out(hwy::AllocateAligned<T>(static_cast<std::size_t>(problem.value_dim * kRows + 1))) {}

  hwy::AlignedFreeUniquePtr<T[]> queries;  // [D][64]
  hwy::AlignedFreeUniquePtr<T[]> weights;  // [64 keys][64]: scores, then weights
  hwy::AlignedFreeUniquePtr<T[]> out;      // [Dv][64]
  OnlineSoftmax<T> softmax;
  TileMask mask;
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
void accumulate(const AttentionProblem& problem, const Matrix<const T>& values, std::int64_t keys,
                std::int64_t rows, ForwardScratch<T>& scratch) {
  if (scratch.mask.partial() && !all_finite(values, keys, problem.value_dim)) {
    visible_product<SumOver::kAllKeys, T>({scratch.weights.get(), scratch.mask.visible, keys, rows},
                                          values, problem.value_dim, {scratch.out.get(), 1, kRows});
    return;
  }
  const Matrix<const T> transposed = {values.data, values.column, values.row};
  product<T>({problem.value_dim, keys, kRows}, transposed, scratch.weights.get(), kRows, true,
             scratch.out.get(), kRows);
}

template <typename T>
void rescale_out(std::int64_t columns, ForwardScratch<T>& scratch) {
  T* HWY_RESTRICT out = scratch.out.get();
  for (std::int64_t d = 0; d < columns; ++d)
    for (int i = 0; i < kRows; ++i) out[d * kRows + i] *= scratch.softmax.rescale[i];
}

template <typename T>
void attend_to_tile(const AttentionProblem& problem, const RowBlock& block, std::int64_t key,
                    ForwardScratch<T>& scratch) {
  const Sequence& sequence = problem.sequences[block.batch];
  const std::int64_t keys = std::min(kKeys, sequence.key_length - key);
  scratch.mask.look(problem.mask, place(problem, block.batch, block.head),
                    {block.begin, block.end, key, key + keys});
  if (scratch.mask.kind == TileClass::kEmpty) return;
  const std::int64_t g = block.head / (problem.heads / problem.kv_heads);
  const std::int64_t slot = sequence.key_begin + key;
  T* scores = scratch.weights.get();
  product<T>({keys, problem.head_dim, kRows}, rows_of<const T>(problem.k, block.batch, g, slot),
             scratch.queries.get(), kRows, false, scores, kRows);
  if (scratch.mask.partial())
    hide(scratch.mask.visible, keys, -std::numeric_limits<T>::infinity(), scores);
  if (scratch.softmax.update(scores, keys, scratch.mask)) rescale_out(problem.value_dim, scratch);
  accumulate(problem, rows_of<const T>(problem.v, block.batch, g, slot), keys, block.rows(),
             scratch);
}

template <typename T>
void store_block(const AttentionProblem& problem, const RowBlock& block,
                 const AttentionForward& forward, const ForwardScratch<T>& scratch) {
  const Matrix<T> out = rows_of<T>(forward.out, block.batch, block.head, block.begin);
  const std::int64_t first =
      (block.batch * problem.heads + block.head) * problem.query_length + block.begin;
  for (std::int64_t i = 0; i < block.rows(); ++i) {
    T inverse = 0;
    scratch.softmax.finish(i, static_cast<T*>(forward.lse)[first + i],
                           static_cast<T*>(forward.lse_low)[first + i], inverse);
    for (std::int64_t d = 0; d < problem.value_dim; ++d)
      out.at(i, d) = scratch.out[static_cast<std::size_t>(d * kRows + i)] * inverse;
  }
}

// Rows past the sequence's own: as rows that see nobody.
template <typename T>
void store_padding(const AttentionProblem& problem, const RowBlock& block,
                   const AttentionForward& forward) {
  const std::int64_t first = (block.batch * problem.heads + block.head) * problem.query_length;
  const Matrix<T> out = rows_of<T>(forward.out, block.batch, block.head, 0);
  for (std::int64_t i = block.begin; i < block.end; ++i) {
    static_cast<T*>(forward.lse)[first + i] = -std::numeric_limits<T>::infinity();
    static_cast<T*>(forward.lse_low)[first + i] = 0;
    for (std::int64_t d = 0; d < problem.value_dim; ++d) out.at(i, d) = 0;
  }
}

template <typename T>
void attend(const AttentionProblem& problem, RowBlock block, const AttentionForward& forward,
            ForwardScratch<T>& scratch) {
  const Sequence& sequence = problem.sequences[block.batch];
  const std::int64_t end = std::clamp(sequence.query_length, block.begin, block.end);
  store_padding<T>(problem, {block.batch, block.head, end, block.end}, forward);
  if (end == block.begin) return;
  block.end = end;
  load_transposed(rows_of<const T>(problem.q, block.batch, block.head, block.begin), block.rows(),
                  problem.head_dim, query_factor<T>(problem, block.head), scratch.queries.get());
  std::fill_n(scratch.out.get(), problem.value_dim * kRows, T{0});
  scratch.softmax.start();
  for (std::int64_t key = 0; key < sequence.key_length; key += kKeys)
    attend_to_tile(problem, block, key, scratch);
  store_block(problem, block, forward, scratch);
}

template <typename T>
void run_forward(const AttentionProblem& problem, const AttentionForward& forward) {
  const std::int64_t blocks = (problem.query_length + kRows - 1) / kRows;
  const std::int64_t tasks = problem.batch * problem.heads * blocks;
  std::vector<ForwardScratch<T>> scratch;
  for (std::int64_t t = std::min<std::int64_t>(thread_count(), tasks); t > 0; --t)
    scratch.emplace_back(problem);
  parallel_for(tasks, [&](std::int64_t task, int thread) {
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
  const std::int64_t elements = (problem.head_dim + problem.value_dim + 64) * 64;
  return thread_count() * elements * static_cast<std::int64_t>(size_bytes(problem.dtype));
}

}  // namespace heed::kernels
#endif
