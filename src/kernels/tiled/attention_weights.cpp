// Computes the weights of 64 rows again, from q, k and the log-sum-exp: no maximum, no sum, no V.
//
// Bound by the FMA ports, as the forward pass: 16 scores take D/2 cycles for their product and
// about 6 for the rest. Measured at N = 4096, D = 64, one thread of AVX-512, in parts of the time
// of the forward pass: 0.59, with entropy 0.65, with entropy, column sums and 512 x 512 maxima of
// 8 x 8 pairs 1.15, with the top 8 keys beside them 1.42.
#include <hwy/aligned_allocator.h>

#include <algorithm>

#include "kernels/tiled/attention.h"

#define HWY_TARGET_INCLUDE "kernels/tiled/attention_weights.cpp"  // NOLINT
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/tiled/scores-inl.h"
#include "kernels/tiled/tile-inl.h"
#include "kernels/tiled/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

constexpr float kHiddenScore = -std::numeric_limits<float>::infinity();

// The memory of a sweep over the keys of one row block; the caller sees `tile`.
template <typename T>
struct WeightScratch {
  explicit WeightScratch(const AttentionProblem& problem)
      : queries(problem.head_dim), keys(problem.head_dim), mask(problem) {}

  QueryTile<T> queries;
  RowTile<T> keys;
  RowLse<T> lse;
  alignas(64) T scores[kKeys * kRows];
  alignas(64) float weights[kKeys * kRows];
  alignas(64) float log_weights[kKeys * kRows];
  alignas(64) float shown[kKeys * kRows];  // scores, -inf where hidden
  alignas(64) float value_norms[kKeys];
  TileMask<T> mask;
  std::int64_t lanes = kRows;  // that hold rows: of the rest nothing is computed, and all is hidden
  Tile<T> capped_later, biased_later, values;  // once they are wanted
  Tile<float> before[3];
};

template <typename T>
void ensure(Tile<T>& tile, std::int64_t elements) {
  if (tile.get() == nullptr) tile = Tile<T>(elements);
}

template <typename T>
void to_floats(const T* from, std::int64_t count, float* to) {
  std::transform(from, from + count, to, [](T x) { return static_cast<float>(x); });
}

// Scores, in place, to weights.
template <typename T>
void weigh_tile(const AttentionProblem& problem, std::int64_t keys, T* log_weights,
                WeightScratch<T>& scratch) {
  const Normaliser normaliser = problem.score.normaliser;
  if (normaliser == Normaliser::kSoftmax)
    return weigh_with_logs(scratch.lse, keys, scratch.scores, scratch.scores, log_weights,
                           scratch.lanes);
  weigh_alone(normaliser, keys, scratch.scores, scratch.scores);
  if (log_weights != nullptr) take_logs(keys, scratch.scores, log_weights);
}

// Computes the scores, and keeps them as they were before their last stages.
template <typename T>
void score_stages(const AttentionProblem& problem, const TilePlace& at, const WantedOfTile& wanted,
                  WeightScratch<T>& scratch, WeightTile& tile) {
  const std::int64_t count = at.keys * kRows;
  ScoreParts<T> parts = {.lanes = scratch.lanes};
  if (wanted.before_mask) {
    ensure(scratch.capped_later, kKeys * kRows);
    ensure(scratch.biased_later, kKeys * kRows);
    for (Tile<float>& before : scratch.before) ensure(before, kKeys * kRows);
    parts.before_softcap = scratch.capped_later.get();
    parts.before_bias = scratch.biased_later.get();
  }
  const Matrix<const T> keys = scratch.keys.keys_for_product(problem, at.key_span(problem));
  score_tile(problem, at, scratch.queries, keys, scratch.mask, scratch.scores, parts);
  if (wanted.before_mask) {
    const bool plain = is_plain(problem, at.head);  // one stage
    const auto stage = [&](int n, const T* from) {
      to_floats(from, count, scratch.before[n].get());
      return scratch.before[n].get();
    };
    tile.before_mask = stage(2, scratch.scores);
    tile.before_softcap = plain ? tile.before_mask : stage(0, parts.before_softcap);
    tile.before_bias = plain ? tile.before_mask : stage(1, parts.before_bias);
  }
  if (!wanted.scores) return;
  to_floats(scratch.scores, count, scratch.shown);
  hide(scratch.mask.visible, at.keys, kHiddenScore, scratch.shown);
  tile.scores = scratch.shown;
}

template <typename T>
void measure_values(const AttentionProblem& problem, const TilePlace& at,
                    WeightScratch<T>& scratch) {
  const std::int64_t width = padded(problem.value_dim);
  ensure(scratch.values, kKeys * width);
  load_keys(problem, values_of(problem), at.key_span(problem), width, scratch.values.get());
  for (std::int64_t j = 0; j < at.keys; ++j) {
    double sum = 0;
    for (const T* x = scratch.values.get() + j * width; x < scratch.values.get() + (j + 1) * width;
         ++x)
      sum += static_cast<double>(*x) * static_cast<double>(*x);
    scratch.value_norms[j] = static_cast<float>(std::sqrt(sum));
  }
}

// Needs the mask's words.
template <typename T>
WeightTile compute_tile(const AttentionProblem& problem, const TilePlace& at,
                        const WantedOfTile& wanted, WeightScratch<T>& scratch) {
  const std::int64_t count = at.keys * kRows;
  WeightTile tile = {.key_begin = at.key,
                     .key_end = at.key + at.keys,
                     .visible = scratch.mask.visible,
                     .empty = scratch.mask.empty()};
  score_stages(problem, at, wanted, scratch, tile);
  if constexpr (std::is_same_v<T, float>) {
    weigh_tile(problem, at.keys, wanted.log_weights ? scratch.log_weights : nullptr, scratch);
    tile.weights = scratch.scores;
    const bool softmax = problem.score.normaliser == Normaliser::kSoftmax;  // leaves lanes at 0
    hide(scratch.mask.visible, at.keys, 0.0F, scratch.scores, softmax ? scratch.lanes : kRows);
  } else {
    ensure(scratch.capped_later, kKeys * kRows);
    T* logs = wanted.log_weights ? scratch.capped_later.get() : nullptr;
    weigh_tile(problem, at.keys, logs, scratch);
    to_floats(scratch.scores, count, scratch.weights);
    if (wanted.log_weights) to_floats(logs, count, scratch.log_weights);
    tile.weights = scratch.weights;
    hide(scratch.mask.visible, at.keys, 0.0F, scratch.weights);
  }
  if (wanted.log_weights) {
    hide(scratch.mask.visible, at.keys, kHiddenScore, scratch.log_weights);
    tile.log_weights = scratch.log_weights;
  }
  if (wanted.value_norms) {
    measure_values(problem, at, scratch);
    tile.value_norms = scratch.value_norms;
  }
  return tile;
}

template <typename T>
void run_weights(const AttentionProblem& problem, const WeightRows& rows, const WantsKeys& wants,
                 const UseTile& use) {
  const auto scratch = hwy::MakeUniqueAligned<WeightScratch<T>>(problem);
  const std::int64_t count = rows.row_end - rows.row_begin;
  scratch->lanes = lanes_of<T>(count);
  if (scratch->lanes < kRows) std::fill_n(scratch->scores, kKeys * kRows, T{0});
  scratch->queries.load(problem, rows.batch, rows.head, rows.row_begin, count);
  const std::int64_t first = lse_index(problem, rows.batch, rows.head, rows.row_begin);
  if (rows.lse != nullptr)
    scratch->lse.load(static_cast<const T*>(rows.lse) + first,
                      static_cast<const T*>(rows.lse_low) + first, count);
  const std::int64_t length = problem.sequences[rows.batch].key_length;
  for (std::int64_t key = 0; key < length; key += kKeys) {
    const std::int64_t keys = std::min(kKeys, length - key);
    const WantedOfTile wanted = wants(key, key + keys);
    if (!wanted.any) continue;
    const TilePlace at = {rows.batch, rows.head, rows.row_begin, count, key, keys};
    scratch->mask.look(problem, at);
    if (scratch->mask.empty()) {
      if (!wanted.before_mask) continue;
      std::fill_n(scratch->mask.visible, keys, std::uint64_t{0});
      scratch->mask.look_behind(problem, at);
    } else {
      scratch->mask.spell_out(at);
    }
    use(compute_tile(problem, at, wanted, *scratch));
  }
}

void weights_of_rows(const AttentionProblem& problem, const WeightRows& rows,
                     const WantsKeys& wants, const UseTile& use) {
  if (problem.dtype == DType::kF64) {
    run_weights<double>(problem, rows, wants, use);
  } else {
    run_weights<float>(problem, rows, wants, use);
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(weights_of_rows);

void tiled_weights(const AttentionProblem& problem, const WeightRows& rows, const WantsKeys& wants,
                   const UseTile& use) {
  HWY_DYNAMIC_DISPATCH(weights_of_rows)(problem, rows, wants, use);
}

}  // namespace heed::kernels
#endif
