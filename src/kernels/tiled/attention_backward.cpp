// Outside a block of 64 keys, whose dK and dV stay near; inside the heads of its group and their
// blocks of 64 rows (Dao et al. 2022, algorithm 4): S^T and dP^T with one row a lane, then
//   dV += P^T dout,  dK += dS^T Q,  dQ += dS K.
// dQ is added in the order of the key blocks, so that results do not depend on threads.
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "heed/base/threads.h"
#include "kernels/tiled/attention.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#define HWY_TARGET_INCLUDE "kernels/tiled/attention_backward.cpp"  // NOLINT
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

template <typename T>
struct Tile {  // aligned memory for one tile
  explicit Tile(std::int64_t elements)
      : memory(hwy::AllocateAligned<T>(static_cast<std::size_t>(elements + 1))) {}
  T* get() const { return memory.get(); }
  hwy::AlignedFreeUniquePtr<T[]> memory;
};

// What one thread works in.
template <typename T>
struct BackwardScratch {
  explicit BackwardScratch(const AttentionProblem& problem)
      : width(padded(problem.head_dim)),
        value_width(padded(problem.value_dim)),
        keys(kKeys * width),
        dk(kKeys * width),
        dv(kKeys * value_width),
        queries(problem.head_dim * kRows),
        query_rows(kRows * width),
        dout(problem.value_dim * kRows),
        dout_rows(kRows * value_width),
        weights(kKeys * kRows),
        dscores(kKeys * kRows),
        dq(kRows * width) {}

  std::int64_t width;
  std::int64_t value_width;
  Tile<T> keys, dk, dv;         // of the key block: [64][width]
  Tile<T> queries, query_rows;  // of the row block: [D][64] times the factor; [64][width]
  Tile<T> dout, dout_rows;      // [Dv][64]; [64][value_width]
  Tile<T> weights, dscores;     // [64 keys][64]
  Tile<T> dq;                   // [64][width]
  RowLse<T> lse;
  alignas(64) T delta[kRows];
  TileMask mask;
};

template <typename T>
struct BackwardJob {
  const AttentionProblem& problem;
  const AttentionBackward& backward;
  std::int64_t row_blocks = (problem.query_length + kRows - 1) / kRows;
  std::int64_t key_blocks = (problem.key_length + kKeys - 1) / kKeys;
  std::vector<T> delta = {};                                // [B, H, Tq]: sum_d out dout - dlse
  std::unique_ptr<std::atomic<std::int64_t>[]> turns = {};  // [B, H, row blocks]: whose dQ is next

  std::int64_t row_index(std::int64_t b, std::int64_t h, std::int64_t row) const {
    return (b * problem.heads + h) * problem.query_length + row;
  }
};

// Keys [begin, begin + count) of (batch, key/value head), a tile's worth.
struct KeyBlock {
  std::int64_t batch;
  std::int64_t kv_head;
  std::int64_t index;
  std::int64_t begin;
  std::int64_t count;
};

// Waits until the key blocks before this one have added their dQ.
class Turn {
 public:
  Turn(std::atomic<std::int64_t>& next, std::int64_t mine) : next_(next), mine_(mine) {
    while (next_.load(std::memory_order_acquire) != mine) std::this_thread::yield();
  }
  ~Turn() { next_.store(mine_ + 1, std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic<std::int64_t>& next_;
  std::int64_t mine_;
};

// Loads rows [begin, begin + rows) of head h and the scalars of each.
template <typename T>
void load_block(const BackwardJob<T>& job, std::int64_t b, std::int64_t h, std::int64_t begin,
                std::int64_t rows, BackwardScratch<T>& scratch) {
  const AttentionProblem& problem = job.problem;
  const Matrix<const T> q = rows_of<const T>(problem.q, b, h, begin);
  const Matrix<const T> dout = rows_of<const T>(job.backward.dout, b, h, begin);
  load_transposed(q, rows, problem.head_dim, query_factor<T>(problem, h), scratch.queries.get());
  load_rows(q, rows, problem.head_dim, scratch.query_rows.get());
  load_transposed(dout, rows, problem.value_dim, T{1}, scratch.dout.get());
  load_rows(dout, rows, problem.value_dim, scratch.dout_rows.get());
  const std::int64_t first = job.row_index(b, h, begin);
  scratch.lse.load(static_cast<const T*>(job.backward.lse) + first,
                   static_cast<const T*>(job.backward.lse_low) + first, rows);
  for (std::int64_t i = 0; i < kRows; ++i)
    scratch.delta[i] = i < rows ? job.delta[static_cast<std::size_t>(first + i)] : T{0};
}

// P^T and dS^T = scale P^T (dP^T - delta); 0 where hidden, whatever the operands hold.
template <typename T>
void differentiate(const BackwardJob<T>& job, const KeyBlock& block, std::int64_t h,
                   BackwardScratch<T>& scratch) {
  const AttentionProblem& problem = job.problem;
  T* HWY_RESTRICT weights = scratch.weights.get();
  T* HWY_RESTRICT dscores = scratch.dscores.get();
  const Matrix<const T> keys = {scratch.keys.get(), scratch.width, 1};
  const std::int64_t slot = problem.sequences[block.batch].key_begin + block.begin;
  product<T>({block.count, problem.head_dim, kRows}, keys, scratch.queries.get(), kRows, false,
             weights, kRows);
  weigh(scratch.lse, block.count, weights, weights);
  product<T>({block.count, problem.value_dim, kRows},
             rows_of<const T>(problem.v, block.batch, block.kv_head, slot), scratch.dout.get(),
             kRows, false, dscores, kRows);
  const auto scale = static_cast<T>(problem.scale[h]);
  for (std::int64_t j = 0; j < block.count; ++j)
    for (std::int64_t i = 0; i < kRows; ++i)
      dscores[j * kRows + i] =
          scale * weights[j * kRows + i] * (dscores[j * kRows + i] - scratch.delta[i]);
  if (!scratch.mask.partial()) return;
  hide(scratch.mask.visible, block.count, T{0}, weights);
  hide(scratch.mask.visible, block.count, T{0}, dscores);
}

// sum [64 keys][width] += weights [keys][rows] * rows [rows][width], of visible pairs only.
template <typename T>
void add_to_keys(const BackwardScratch<T>& scratch, const T* weights, const Extent& extent,
                 const T* rows, T* sum) {
  const Matrix<const T> row_major = {rows, extent.lanes, 1};
  if (scratch.mask.partial() && !all_finite(row_major, extent.depth, extent.lanes)) {
    visible_product<SumOver::kAllRows, T>(
        {weights, scratch.mask.visible, extent.rows, extent.depth}, row_major, extent.lanes,
        {sum, extent.lanes, 1});
    return;
  }
  product<T>(extent, {weights, kRows, 1}, rows, extent.lanes, true, sum, extent.lanes);
}

// scratch.dq [rows][width] = dS K, of visible pairs only.
template <typename T>
void query_gradient(const BackwardScratch<T>& scratch, std::int64_t keys, std::int64_t rows) {
  const std::int64_t width = scratch.width;
  const Matrix<const T> key_rows = {scratch.keys.get(), width, 1};
  if (scratch.mask.partial() && !all_finite(key_rows, keys, width)) {
    std::fill_n(scratch.dq.get(), rows * width, T{0});
    visible_product<SumOver::kAllKeys, T>({scratch.dscores.get(), scratch.mask.visible, keys, rows},
                                          key_rows, width, {scratch.dq.get(), width, 1});
    return;
  }
  product<T>({rows, keys, width}, {scratch.dscores.get(), 1, kRows}, scratch.keys.get(), width,
             false, scratch.dq.get(), width);
}

template <typename T>
void add_rows(const T* from, std::int64_t width, const Matrix<T>& to, std::int64_t rows,
              std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to.at(r, c) += from[r * width + c];
}

// One tile: keys of `block` against rows from `begin` of head h.
template <typename T>
void tile_backward(const BackwardJob<T>& job, const KeyBlock& block, std::int64_t h,
                   std::int64_t begin, BackwardScratch<T>& scratch) {
  const AttentionProblem& problem = job.problem;
  const std::int64_t end = std::min(begin + kRows, problem.sequences[block.batch].query_length);
  const std::int64_t rows = end - begin;
  if (rows > 0)
    scratch.mask.look(problem.mask, place(problem, block.batch, h),
                      {begin, end, block.begin, block.begin + block.count});
  const bool empty = rows <= 0 || scratch.mask.kind == TileClass::kEmpty;
  if (!empty) {
    load_block(job, block.batch, h, begin, rows, scratch);
    differentiate(job, block, h, scratch);
    if (job.backward.dv.data != nullptr)
      add_to_keys(scratch, scratch.weights.get(), {block.count, rows, scratch.value_width},
                  scratch.dout_rows.get(), scratch.dv.get());
    if (job.backward.dk.data != nullptr)
      add_to_keys(scratch, scratch.dscores.get(), {block.count, rows, scratch.width},
                  scratch.query_rows.get(), scratch.dk.get());
  }
  if (job.backward.dq.data == nullptr) return;
  if (!empty) query_gradient(scratch, block.count, rows);
  const Turn turn(job.turns[static_cast<std::size_t>(
                      (block.batch * problem.heads + h) * job.row_blocks + begin / kRows)],
                  block.index);
  if (!empty)
    add_rows(scratch.dq.get(), scratch.width, rows_of<T>(job.backward.dq, block.batch, h, begin),
             rows, problem.head_dim);
}

template <typename T>
void store_rows(const T* from, std::int64_t width, const Matrix<T>& to, std::int64_t rows,
                std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to.at(r, c) = from[r * width + c];
}

template <typename T>
void key_block_backward(const BackwardJob<T>& job, std::int64_t b, std::int64_t g,
                        std::int64_t index, BackwardScratch<T>& scratch) {
  const AttentionProblem& problem = job.problem;
  const Sequence& sequence = problem.sequences[b];
  const std::int64_t begin = index * kKeys;
  const KeyBlock block = {b, g, index, begin, std::min(kKeys, sequence.key_length - begin)};
  if (block.count <= 0) return;  // nobody waits for blocks past the end
  const std::int64_t slot = sequence.key_begin + begin;
  load_rows(rows_of<const T>(problem.k, b, g, slot), block.count, problem.head_dim,
            scratch.keys.get());
  std::fill_n(scratch.dk.get(), block.count * scratch.width, T{0});
  std::fill_n(scratch.dv.get(), block.count * scratch.value_width, T{0});
  const std::int64_t group = problem.heads / problem.kv_heads;
  for (std::int64_t h = g * group; h < (g + 1) * group; ++h)
    for (std::int64_t row = 0; row < problem.query_length; row += kRows)
      tile_backward(job, block, h, row, scratch);
  if (job.backward.dk.data != nullptr)
    store_rows(scratch.dk.get(), scratch.width, rows_of<T>(job.backward.dk, b, g, slot),
               block.count, problem.head_dim);
  if (job.backward.dv.data != nullptr)
    store_rows(scratch.dv.get(), scratch.value_width, rows_of<T>(job.backward.dv, b, g, slot),
               block.count, problem.value_dim);
}

// Fills rows [begin, end) of one head with zeros.
template <typename T>
void clear(const Output& output, std::int64_t b, std::int64_t head, std::int64_t begin,
           std::int64_t end, std::int64_t columns) {
  if (output.data == nullptr) return;
  const Matrix<T> to = rows_of<T>(output, b, head, 0);
  for (std::int64_t r = begin; r < end; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to.at(r, c) = 0;
}

// dq starts from 0, padding of dk and dv is 0, and delta is known before any tile needs it.
template <typename T>
void prepare(BackwardJob<T>& job, std::int64_t b, std::int64_t h) {
  const AttentionProblem& problem = job.problem;
  clear<T>(job.backward.dq, b, h, 0, problem.query_length, problem.head_dim);
  const Matrix<const T> out = rows_of<const T>(job.backward.out, b, h, 0);
  const Matrix<const T> dout = rows_of<const T>(job.backward.dout, b, h, 0);
  for (std::int64_t i = 0; i < problem.sequences[b].query_length; ++i) {
    double sum = 0;
    for (std::int64_t d = 0; d < problem.value_dim; ++d)
      sum += static_cast<double>(out.at(i, d)) * static_cast<double>(dout.at(i, d));
    const std::int64_t at = job.row_index(b, h, i);
    if (job.backward.dlse != nullptr)
      sum -= static_cast<double>(static_cast<const T*>(job.backward.dlse)[at]);
    job.delta[static_cast<std::size_t>(at)] = static_cast<T>(sum);
  }
}

template <typename T>
void clear_key_padding(const BackwardJob<T>& job, std::int64_t b, std::int64_t g) {
  const AttentionProblem& problem = job.problem;
  const Sequence& sequence = problem.sequences[b];
  const std::int64_t end = sequence.key_begin + sequence.key_length;
  clear<T>(job.backward.dk, b, g, 0, sequence.key_begin, problem.head_dim);
  clear<T>(job.backward.dk, b, g, end, problem.key_length, problem.head_dim);
  clear<T>(job.backward.dv, b, g, 0, sequence.key_begin, problem.value_dim);
  clear<T>(job.backward.dv, b, g, end, problem.key_length, problem.value_dim);
}

template <typename T>
void run_backward(const AttentionProblem& problem, const AttentionBackward& backward) {
  BackwardJob<T> job = {problem, backward};
  const std::int64_t heads = problem.batch * problem.heads;
  const std::int64_t kv_heads = problem.batch * problem.kv_heads;
  job.delta.resize(static_cast<std::size_t>(heads * problem.query_length));
  job.turns = std::make_unique<std::atomic<std::int64_t>[]>(
      static_cast<std::size_t>(heads * job.row_blocks));
  parallel_for(heads, [&](std::int64_t head, int) {
    prepare(job, head / problem.heads, head % problem.heads);
  });
  std::vector<BackwardScratch<T>> scratch;
  for (int t = thread_count(); t > 0; --t) scratch.emplace_back(problem);
  // A task is a (batch, key/value head) where there are enough of them, else one of its key blocks;
  // rising indices mean that a block waits only for blocks that have begun.
  const std::int64_t pieces =
      kv_heads >= 4 * thread_count() ? 1 : std::max<std::int64_t>(job.key_blocks, 1);
  parallel_for(kv_heads * pieces, [&](std::int64_t task, int thread) {
    const std::int64_t head = task / pieces;
    const std::int64_t b = head / problem.kv_heads;
    const std::int64_t g = head % problem.kv_heads;
    const std::int64_t piece = task % pieces;
    if (piece == 0) clear_key_padding(job, b, g);
    const std::int64_t end = pieces == 1 ? job.key_blocks : std::min(piece + 1, job.key_blocks);
    for (std::int64_t index = piece; index < end; ++index)
      key_block_backward(job, b, g, index, scratch[static_cast<std::size_t>(thread)]);
  });
}

void tiled_backward(const AttentionProblem& problem, const AttentionBackward& backward) {
  if (problem.dtype == DType::kF64) {
    run_backward<double>(problem, backward);
  } else {
    run_backward<float>(problem, backward);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(tiled_backward);

void tiled_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward) {
  HWY_DYNAMIC_DISPATCH(tiled_backward)(problem, backward);
}

std::int64_t tiled_attention_backward_workspace(const AttentionProblem& problem) {
  const auto element = static_cast<std::int64_t>(size_bytes(problem.dtype));
  const std::int64_t head_dim = (problem.head_dim + 15) / 16 * 16;
  const std::int64_t value_dim = (problem.value_dim + 15) / 16 * 16;
  // K, dK, Q twice, dQ; dV, dout twice; the weights and their gradient; three numbers a row.
  const std::int64_t tile = 64 * (5 * head_dim + 3 * value_dim + 2 * 64 + 3);
  const std::int64_t heads = problem.batch * problem.heads;
  const std::int64_t turns = (problem.query_length + 63) / 64 * std::int64_t{sizeof(std::int64_t)};
  return thread_count() * tile * element + heads * (problem.query_length * element + turns);
}

}  // namespace heed::kernels
#endif
