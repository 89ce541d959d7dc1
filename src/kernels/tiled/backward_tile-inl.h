// One tile of the backward pass: recomputes the weights, then their cotangents and the scores'.
// Included once for each vector width.
#if defined(HEED_TILED_BACKWARD_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_BACKWARD_TILE_INL_H_
#undef HEED_TILED_BACKWARD_TILE_INL_H_
#else
#define HEED_TILED_BACKWARD_TILE_INL_H_
#endif

#include <algorithm>
#include <vector>

#include "kernels/tiled/attention.h"
#include "kernels/tiled/dropout-inl.h"
#include "kernels/tiled/scores-inl.h"
#include "kernels/tiled/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// A backward pass: what is given, and one number a row that all tiles need.
template <typename T>
struct BackwardJob {
  const AttentionProblem& problem;
  const AttentionBackward& backward;
  const WeightCotangents* observed = nullptr;  // in place of dout
  std::int64_t row_blocks = (problem.query_length + kRows - 1) / kRows;
  std::int64_t key_blocks = (problem.key_length + kKeys - 1) / kKeys;
  std::vector<T> delta = {};  // as lse: sum_j p dp - dlse, the first as sum_d out dout

  bool softmax() const { return problem.score.normaliser == Normaliser::kSoftmax; }
  bool dropout() const { return problem.dropout.threshold != 0; }
  // Query heads a key/value head; 1 where there are none of them, so that it can divide.
  std::int64_t group() const { return std::max<std::int64_t>(1, problem.heads / problem.kv_heads); }
};

// The working memory of one thread.
template <typename T>
struct BackwardScratch {
  explicit BackwardScratch(const BackwardJob<T>& job)
      : BackwardScratch(job.problem, job.backward.dscale != nullptr) {}

  BackwardScratch(const AttentionProblem& problem, bool similarities)
      : value_width(padded(problem.value_dim)),
        queries(problem.head_dim),
        keys(problem.head_dim),
        values(kKeys * value_width),
        dout(problem.value_dim * kRows),
        dout_rows(kRows * value_width),
        weights(kKeys * kRows),
        dropped(problem.dropout.threshold != 0 ? kKeys * kRows : 0),
        dscores(kKeys * kRows),
        similarity(similarities ? kKeys * kRows : 0),
        cap_slope(problem.score.softcap > 0 ? kKeys * kRows : 0),
        mask(problem) {}

  std::int64_t value_width;
  QueryTile<T> queries;
  RowTile<T> keys;
  Tile<T> values;                 // [64 keys][value_width]
  Tile<T> dout, dout_rows;        // [Dv][64]; [64][value_width]
  Tile<T> weights, dropped;       // [64 keys][64]: before and after dropout
  Tile<T> dscores;                // [64 keys][64]
  Tile<T> similarity, cap_slope;  // [64 keys][64]
  RowLse<T> lse;
  alignas(64) T delta[kRows];
  TileMask<T> mask;
  std::uint64_t kept[kKeys];

  // The weights that met V.
  const T* used_weights() const { return dropped.get() != nullptr ? dropped.get() : weights.get(); }
};

// Rows of q and dout, and the scalars of each.
template <typename T>
void load_row_block(const BackwardJob<T>& job, const TilePlace& at, BackwardScratch<T>& scratch) {
  const AttentionProblem& problem = job.problem;
  scratch.queries.load(problem, at.batch, at.head, at.row, at.rows);
  if (job.observed == nullptr) {
    const std::int64_t slot = problem.sequences[at.batch].query_begin + at.row;
    load_rows(job.backward.dout, at.batch, at.head, slot, at.rows, problem.value_dim,
              scratch.dout_rows.get());
    transpose(scratch.dout_rows.get(), at.rows, problem.value_dim, T{1}, scratch.dout.get());
  }
  if (!job.softmax()) return;
  const std::int64_t first = lse_index(problem, at.batch, at.head, at.row);
  scratch.lse.load(static_cast<const T*>(job.backward.lse) + first,
                   static_cast<const T*>(job.backward.lse_low) + first, at.rows);
  for (std::int64_t i = 0; i < kRows; ++i)
    scratch.delta[i] = i < at.rows ? job.delta[static_cast<std::size_t>(first + i)] : T{0};
}

// Keys and values of a tile.
template <typename T>
void load_key_block(const BackwardJob<T>& job, const TilePlace& at, BackwardScratch<T>& scratch) {
  const AttentionProblem& problem = job.problem;
  const KeySpan span = at.key_span(problem);
  scratch.keys.load_keys(problem, span);
  if (job.observed == nullptr)
    load_keys(problem, values_of(problem), span, scratch.value_width, scratch.values.get());
}

// Turns the cotangents of the weights into those of z, in place.
template <typename T>
void through_normaliser(const BackwardJob<T>& job, std::int64_t keys, BackwardScratch<T>& scratch) {
  const T* HWY_RESTRICT weights = scratch.weights.get();
  T* HWY_RESTRICT dz = scratch.dscores.get();
  if (job.softmax()) {
    for (std::int64_t j = 0; j < keys; ++j)
      for (std::int64_t i = 0; i < kRows; ++i)
        dz[j * kRows + i] = weights[j * kRows + i] * (dz[j * kRows + i] - scratch.delta[i]);
  } else if (job.problem.score.normaliser == Normaliser::kSigmoid) {
    for (std::int64_t e = 0; e < keys * kRows; ++e) dz[e] *= weights[e] * (1 - weights[e]);
  }
}

// Turns the scores in `weights` into weights, and the cotangents of out into those of the weights.
template <typename T>
void weigh_for_out(const BackwardJob<T>& job, const TilePlace& at, BackwardScratch<T>& scratch) {
  const AttentionProblem& problem = job.problem;
  T* weights = scratch.weights.get();
  T* dz = scratch.dscores.get();
  if (job.softmax())
    weigh(scratch.lse, at.keys, weights, weights);
  else
    weigh_alone(problem.score.normaliser, at.keys, weights, weights);
  product<T>({at.keys, problem.value_dim, kRows}, {scratch.values.get(), scratch.value_width, 1},
             scratch.dout.get(), kRows, false, dz, kRows);
  if (!job.dropout()) return;
  kept_words(problem, at, scratch.kept);
  drop(problem, scratch.kept, at.keys, weights, scratch.dropped.get());
  drop(problem, scratch.kept, at.keys, dz, dz);
}

// The same from those of entropy and received: dp = dreceived - dentropy ln p; the 1 that the
// derivative of p ln p has beside its logarithm falls out where the weights of a row have a sum.
template <typename T>
void weigh_for_observers(const BackwardJob<T>& job, const TilePlace& at,
                         BackwardScratch<T>& scratch) {
  const AttentionProblem& problem = job.problem;
  T* weights = scratch.weights.get();
  T* dz = scratch.dscores.get();
  const std::int64_t head = at.batch * problem.heads + at.head;
  const auto* entropy = static_cast<const T*>(job.observed->entropy);
  const auto* received = static_cast<const T*>(job.observed->received);
  const T beside = job.softmax() ? T{0} : T{1};
  if (job.softmax()) {
    weigh_with_logs(scratch.lse, at.keys, weights, weights, dz);
  } else {
    weigh_alone(problem.score.normaliser, at.keys, weights, weights);
    take_logs(at.keys, weights, dz);
  }
  for (std::int64_t j = 0; j < at.keys; ++j)
    for (std::int64_t i = 0; i < kRows; ++i) {
      T change = received == nullptr ? T{0} : received[head * problem.key_length + at.key + j];
      if (entropy != nullptr && i < at.rows && weights[j * kRows + i] != 0)
        change -= entropy[head * problem.query_length + at.row + i] * (dz[j * kRows + i] + beside);
      dz[j * kRows + i] = change;
    }
}

// Weights, and their cotangents in `dscores`; of hidden pairs they may be anything.
template <typename T>
void weigh_again(const BackwardJob<T>& job, const TilePlace& at, BackwardScratch<T>& scratch) {
  score_tile<T>(job.problem, at, scratch.queries, scratch.keys.loaded(), scratch.mask,
                scratch.weights.get(), {scratch.similarity.get(), scratch.cap_slope.get()});
  if (job.observed == nullptr)
    weigh_for_out(job, at, scratch);
  else
    weigh_for_observers(job, at, scratch);
}

// Weights, and the cotangents of z in `dscores`; 0 where hidden, whatever the operands hold.
template <typename T>
void differentiate(const BackwardJob<T>& job, const TilePlace& at, BackwardScratch<T>& scratch) {
  T* weights = scratch.weights.get();
  T* dz = scratch.dscores.get();
  weigh_again(job, at, scratch);
  through_normaliser(job, at.keys, scratch);
  if (!scratch.mask.partial()) return;
  hide(scratch.mask.visible, at.keys, T{0}, weights);
  hide(scratch.mask.visible, at.keys, T{0}, dz);
  if (job.dropout()) hide(scratch.mask.visible, at.keys, T{0}, scratch.dropped.get());
}

// A tile's share of the gradients of one head's slope and scale.
struct TileSums {
  double slope = 0;
  double scale = 0;
};

template <typename T>
TileSums sum_tile(const BackwardJob<T>& job, const TilePlace& at,
                  const BackwardScratch<T>& scratch) {
  const Sequence& sequence = job.problem.sequences[at.batch];
  const T* similarity = scratch.similarity.get();
  const T* cap_slope = scratch.cap_slope.get();
  TileSums sums;
  for (std::int64_t j = 0; j < at.keys; ++j)
    for (std::int64_t i = 0; i < at.rows; ++i) {
      if (scratch.mask.partial() && (scratch.mask.visible[j] >> i & 1) == 0) continue;
      const std::int64_t e = j * kRows + i;
      const auto dz = static_cast<double>(scratch.dscores.get()[e]);
      const std::int64_t distance =
          std::abs(sequence.q_offset + at.row + i - sequence.key_offset - at.key - j);
      sums.slope -= dz * static_cast<double>(distance);
      if (similarity == nullptr) continue;
      const double capped = cap_slope != nullptr ? dz * static_cast<double>(cap_slope[e]) : dz;
      sums.scale += capped * static_cast<double>(similarity[e]);
    }
  if (scales_queries(job.problem, at.head)) sums.scale /= job.problem.scale[at.head];
  return sums;
}

// Turns the cotangents of z into those of the similarity, in place.
template <typename T>
void through_scale(const BackwardJob<T>& job, const TilePlace& at, BackwardScratch<T>& scratch) {
  T* HWY_RESTRICT dscores = scratch.dscores.get();
  const T* HWY_RESTRICT cap_slope = scratch.cap_slope.get();
  const auto scale = static_cast<T>(job.problem.scale[at.head]);
  for (std::int64_t e = 0; e < at.keys * kRows; ++e) dscores[e] *= scale;
  if (cap_slope == nullptr) return;
  for (std::int64_t e = 0; e < at.keys * kRows; ++e) dscores[e] *= cap_slope[e];
  if (scratch.mask.partial()) hide(scratch.mask.visible, at.keys, T{0}, dscores);  // 0 times NaN
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_BACKWARD_TILE_INL_H_
