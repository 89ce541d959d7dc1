// The outer loop takes blocks of 64 keys, whose dK and dV stay in the cache; the inner one the
// heads of the group and their blocks of 64 rows (Dao et al. 2022, algorithm 4): S^T and dP^T with
// one row a lane, then
//   dV += P^T dout,  dK += dS^T Q,  dQ += dS K.
// dQ is added in the order of the key blocks, so that results do not depend on threads.
#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "heed/base/threads.h"
#include "kernels/tiled/attention.h"
#include "kernels/turn.h"

#define HWY_TARGET_INCLUDE "kernels/tiled/attention_backward.cpp"  // NOLINT
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/tiled/backward_tile-inl.h"
#include "kernels/tiled/bias_gradient-inl.h"
#include "kernels/tiled/bias_sweep-inl.h"
#include "kernels/tiled/row_gradient-inl.h"
#include "kernels/tiled/similarity_gradient-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// The sweep over key blocks adds these to the job.
template <typename T>
struct Sweep {
  const BackwardJob<T>& job;
  BiasSweep<T>& bias;
  Output dq;                   // of type T: the caller's, or memory that is rounded at the end
  std::vector<TileSums> sums;  // [B, H, key blocks]
  std::unique_ptr<std::atomic<std::int64_t>[]> turns;  // [B, H, row blocks]: whose dQ is next

  Sweep(const BackwardJob<T>& of, BiasSweep<T>& bias_of, const Output& to)
      : job(of),
        bias(bias_of),
        dq(to),
        sums(static_cast<std::size_t>(heads() * of.key_blocks)),
        turns(std::make_unique<std::atomic<std::int64_t>[]>(
            static_cast<std::size_t>(heads() * of.row_blocks))) {}
  std::int64_t heads() const { return job.problem.batch * job.problem.heads; }
};

// The working memory of one thread besides the tile.
template <typename T>
struct SweepScratch {
  explicit SweepScratch(const BackwardJob<T>& job)
      : tile(job),
        dq(kRows * tile.queries.width),
        dk(kKeys * tile.keys.width),
        dv(kKeys * tile.value_width) {}

  BackwardScratch<T> tile;
  Tile<T> dq;      // [64][width]
  Tile<T> dk, dv;  // of the key block: [64][width], [64][value_width]
};

// One tile's dv and dk, and its dq into the scratch.
template <typename T>
void tile_gradients(Sweep<T>& sweep, const TilePlace& at, SweepScratch<T>& scratch) {
  const BackwardJob<T>& job = sweep.job;
  BackwardScratch<T>& tile = scratch.tile;
  load_row_block(job, at, tile);
  differentiate(job, at, tile);
  sweep.bias.add(at, tile.dscores.get());
  if (job.backward.dv.data != nullptr && job.observed == nullptr)
    add_to_keys(tile.mask, tile.used_weights(), {at.keys, at.rows, tile.value_width},
                tile.dout_rows.get(), scratch.dv.get());
  if (job.backward.dslope != nullptr || job.backward.dscale != nullptr) {
    const TileSums sums = sum_tile(job, at, tile);
    TileSums& total = sweep.sums[static_cast<std::size_t>(
        (at.batch * job.problem.heads + at.head) * job.key_blocks + at.key / kKeys)];
    total = {total.slope + sums.slope, total.scale + sums.scale};
  }
  through_scale(job, at, tile);
  through_similarity<T>(job.problem, at, tile,
                        {sweep.dq.data != nullptr ? scratch.dq.get() : nullptr,
                         job.backward.dk.data != nullptr ? scratch.dk.get() : nullptr});
}

template <typename T>
void tile_backward(Sweep<T>& sweep, const TilePlace& at, SweepScratch<T>& scratch) {
  const AttentionProblem& problem = sweep.job.problem;
  bool empty = at.rows <= 0;
  if (!empty) {
    scratch.tile.mask.look(problem, at);
    empty = scratch.tile.mask.empty();
  }
  if (empty)
    sweep.bias.add(at, nullptr);
  else
    tile_gradients(sweep, at, scratch);
  if (sweep.dq.data == nullptr) return;
  const Turn turn(
      &sweep.turns[static_cast<std::size_t>(
          (at.batch * problem.heads + at.head) * sweep.job.row_blocks + at.row / kRows)],
      at.key / kKeys);
  if (empty) return;
  const std::int64_t slot = problem.sequences[at.batch].query_begin + at.row;
  const Matrix<T> to = rows_of<T>(sweep.dq, at.batch, at.head, slot);
  const T* from = scratch.dq.get();
  for (std::int64_t r = 0; r < at.rows; ++r, from += scratch.tile.queries.width)
    for (std::int64_t c = 0; c < problem.head_dim; ++c) to.at(r, c) += from[c];
}

template <typename T>
void store_keys(const Sweep<T>& sweep, const TilePlace& at, SweepScratch<T>& scratch) {
  const AttentionProblem& problem = sweep.job.problem;
  const AttentionBackward& backward = sweep.job.backward;
  const std::int64_t g = at.head / sweep.job.group();
  const std::int64_t slot = problem.sequences[at.batch].key_begin + at.key;
  const RowTile<T>& keys = scratch.tile.keys;
  if (problem.score.similarity == Similarity::kCosine && backward.dk.data != nullptr)
    through_norm(keys, at.keys, problem.head_dim, scratch.dk.get(), keys.width);
  for (std::int64_t j = 0; j < at.keys; ++j) {
    if (backward.dk.data != nullptr)
      store_line(backward.dk, offset_of(backward.dk, at.batch, g, slot + j), problem.head_dim,
                 scratch.dk.get() + j * keys.width);
    if (backward.dv.data != nullptr)
      store_line(backward.dv, offset_of(backward.dv, at.batch, g, slot + j), problem.value_dim,
                 scratch.dv.get() + j * scratch.tile.value_width);
  }
}

template <typename T>
void key_block_backward(Sweep<T>& sweep, std::int64_t b, std::int64_t g, std::int64_t index,
                        SweepScratch<T>& scratch) {
  const AttentionProblem& problem = sweep.job.problem;
  const Sequence& sequence = problem.sequences[b];
  const std::int64_t key = index * kKeys;
  const std::int64_t group = sweep.job.group();
  TilePlace at = {b, g * group, 0, 0, key, std::min(kKeys, sequence.key_length - key)};
  if (at.keys <= 0) return;  // a block past the end, for which nobody waits
  load_key_block(sweep.job, at, scratch.tile);
  std::fill_n(scratch.dk.get(), at.keys * scratch.tile.keys.width, T{0});
  std::fill_n(scratch.dv.get(), at.keys * scratch.tile.value_width, T{0});
  for (; at.head < std::min((g + 1) * group, problem.heads); ++at.head)
    for (at.row = 0; at.row < sequence.query_length; at.row += kRows) {
      at.rows = std::min(kRows, sequence.query_length - at.row);
      tile_backward(sweep, at, scratch);
    }
  at.head = g * group;
  store_keys(sweep, at, scratch);
}

template <typename T>
void run_sweep(Sweep<T>& sweep) {
  const AttentionProblem& problem = sweep.job.problem;
  const int threads = threads_here();
  std::vector<SweepScratch<T>> scratch;
  for (int t = threads; t > 0; --t) scratch.emplace_back(sweep.job);
  const std::int64_t key_blocks = sweep.job.key_blocks;
  const std::int64_t kv_heads = problem.batch * problem.kv_heads;
  // A task is a (batch, key/value head) where there are enough of them, else one of its key blocks;
  // rising indices mean that a block waits only for blocks that have begun.
  const std::int64_t pieces = kv_heads >= 4 * threads ? 1 : std::max<std::int64_t>(key_blocks, 1);
  parallel_for(kv_heads * pieces, threads, [&](std::int64_t task, int thread) {
    const std::int64_t head = task / pieces;
    const std::int64_t b = head / problem.kv_heads;
    const std::int64_t g = head % problem.kv_heads;
    const std::int64_t piece = task % pieces;
    if (piece == 0) clear_key_padding(sweep.job, b, g);
    const std::int64_t end = pieces == 1 ? key_blocks : std::min(piece + 1, key_blocks);
    for (std::int64_t index = piece; index < end; ++index)
      key_block_backward(sweep, b, g, index, scratch[static_cast<std::size_t>(thread)]);
  });
}

// The sums of all tiles of a head, in order.
template <typename T>
void sum_heads(const Sweep<T>& sweep) {
  const AttentionProblem& problem = sweep.job.problem;
  const std::int64_t blocks = sweep.job.key_blocks;
  for (std::int64_t h = 0; h < problem.heads; ++h) {
    TileSums total;
    for (std::int64_t b = 0; b < problem.batch; ++b)
      for (std::int64_t block = 0; block < blocks; ++block) {
        const TileSums& one =
            sweep.sums[static_cast<std::size_t>((b * problem.heads + h) * blocks + block)];
        total = {total.slope + one.slope, total.scale + one.scale};
      }
    if (sweep.job.backward.dslope != nullptr) sweep.job.backward.dslope[h] = total.slope;
    if (sweep.job.backward.dscale != nullptr) sweep.job.backward.dscale[h] = total.scale;
  }
}

template <typename T>
void run_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                  const WeightCotangents* observed) {
  BackwardJob<T> job = {problem, backward, observed};
  prepare_rows(job);
  BiasSweep<T> bias(job);
  if (bias.used() || backward.dq.data != nullptr || backward.dk.data != nullptr ||
      backward.dv.data != nullptr || backward.dslope != nullptr || backward.dscale != nullptr) {
    std::vector<T> rounded_later;
    Sweep<T> sweep(job, bias, query_gradients(job, rounded_later));
    clear_query_gradients(job, sweep.dq);
    run_sweep(sweep);
    sum_heads(sweep);
    if (!rounded_later.empty()) finish_query_gradients(job, sweep.dq);
  }
  if (backward.dbias.data == nullptr || bias.used()) return;
  std::vector<BackwardScratch<T>> scratch;
  for (int t = threads_here(); t > 0; --t) scratch.emplace_back(problem, false);
  bias_gradient(job, scratch);
}

void tiled_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                    const WeightCotangents* observed) {
  if (accumulator(problem) == DType::kF64) {
    run_backward<double>(problem, backward, observed);
  } else {
    run_backward<float>(problem, backward, observed);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(tiled_backward);

void tiled_attention_backward(const AttentionProblem& problem, const AttentionBackward& backward) {
  HWY_DYNAMIC_DISPATCH(tiled_backward)(problem, backward, nullptr);
}

void tiled_observe_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                            const WeightCotangents& cotangents) {
  HWY_DYNAMIC_DISPATCH(tiled_backward)(problem, backward, &cotangents);
}

namespace {

std::int64_t blocks_of(std::int64_t length) { return (length + 63) / 64; }

// One turn for each tile of a bias that batches or heads share and that has rows and keys.
std::int64_t bias_turns(const AttentionProblem& problem) {
  const Input& bias = problem.score.bias;
  const std::int64_t batches = bias.batch == 0 ? 1 : problem.batch;
  const std::int64_t heads = bias.head == 0 ? 1 : problem.heads;
  const bool shared = batches < problem.batch || heads < problem.heads;
  if (bias.data == nullptr || !shared || bias.row == 0 || bias.column == 0) return 0;
  return batches * heads * blocks_of(problem.query_length) * blocks_of(problem.key_length);
}

}  // namespace

// Memory for every gradient that the problem has.
std::int64_t tiled_attention_backward_workspace(const AttentionProblem& problem) {
  const auto element = static_cast<std::int64_t>(size_bytes(accumulator(problem)));
  const std::int64_t head_dim = (problem.head_dim + 15) / 16 * 16;
  const std::int64_t value_dim = (problem.value_dim + 15) / 16 * 16;
  const bool has_bias = problem.score.bias.data != nullptr;
  const std::int64_t score_tiles = 3 + (problem.dropout.threshold != 0 ? 1 : 0) +
                                   (problem.score.softcap > 0 ? 1 : 0) + (has_bias ? 1 : 0);
  // Q, dQ, K, dK; Q^T; V, dV, dout; dout^T; the weights, their gradient, similarities and the like;
  // three numbers a row.
  const std::int64_t tile = 64 * (4 * head_dim + problem.head_dim + 3 * value_dim +
                                  problem.value_dim + 64 * score_tiles + 3);
  const std::int64_t heads = problem.batch * problem.heads;
  const std::int64_t turns = heads * blocks_of(problem.query_length) + bias_turns(problem);
  const std::int64_t sums = heads * blocks_of(problem.key_length);
  const bool rounds =
      problem.dtype != accumulator(problem) || problem.score.similarity == Similarity::kCosine;
  return thread_count() * tile * element + turns * std::int64_t{sizeof(std::int64_t)} +
         sums * 2 * std::int64_t{sizeof(double)} +
         lse_count(problem) * element * (1 + (rounds ? problem.head_dim : 0));
}

}  // namespace heed::kernels
#endif
