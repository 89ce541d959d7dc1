// The weights of 64 rows again, from q, k and the log-sum-exp: no maximum, no sum, no V.
#include <hwy/aligned_allocator.h>

#include <algorithm>

#include "kernels/tiled/attention.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#define HWY_TARGET_INCLUDE "kernels/tiled/attention_weights.cpp"  // NOLINT
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/tiled/scores-inl.h"
#include "kernels/tiled/tile-inl.h"
#include "kernels/tiled/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

template <typename T>
struct WeightScratch {
  explicit WeightScratch(const AttentionProblem& problem)
      : queries(problem.head_dim), keys(problem.head_dim), mask(problem) {}

  QueryTile<T> queries;
  RowTile<T> keys;
  RowLse<T> lse;
  alignas(64) T scores[kKeys * kRows];
  alignas(64) T exact[kKeys * kRows];
  alignas(64) float weights[kKeys * kRows];
  alignas(64) float natural[kKeys * kRows];  // scores as the caller knows them: base e
  TileMask<T> mask;
};

template <typename T>
void weigh_tile(const AttentionProblem& problem, const TilePlace& at, WeightScratch<T>& scratch) {
  const Normaliser normaliser = problem.score.normaliser;
  scratch.keys.load_keys(problem, at.key_span(problem));
  score_tile(problem, at, scratch.queries, scratch.keys, scratch.mask, scratch.scores);
  if (normaliser == Normaliser::kSoftmax)
    weigh(scratch.lse, at.keys, scratch.scores, scratch.exact);
  else
    weigh_alone(normaliser, at.keys, scratch.scores, scratch.exact);
  const T natural = normaliser == Normaliser::kSoftmax ? static_cast<T>(kLn2) : T{1};
  for (std::int64_t e = 0; e < at.keys * kRows; ++e) {
    scratch.weights[e] = static_cast<float>(scratch.exact[e]);
    scratch.natural[e] = static_cast<float>(scratch.scores[e] * natural);
  }
  scratch.mask.spell_out(at);
  hide(scratch.mask.visible, at.keys, 0.0F, scratch.weights);
  hide(scratch.mask.visible, at.keys, -std::numeric_limits<float>::infinity(), scratch.natural);
}

template <typename T>
void run_weights(const AttentionProblem& problem, const WeightRows& rows, const WantsKeys& wants,
                 const UseTile& use) {
  const auto scratch = hwy::MakeUniqueAligned<WeightScratch<T>>(problem);
  const std::int64_t count = rows.row_end - rows.row_begin;
  scratch->queries.load(problem, rows.batch, rows.head, rows.row_begin, count);
  const std::int64_t first = lse_index(problem, rows.batch, rows.head, rows.row_begin);
  if (rows.lse != nullptr)
    scratch->lse.load(static_cast<const T*>(rows.lse) + first,
                      static_cast<const T*>(rows.lse_low) + first, count);
  const std::int64_t length = problem.sequences[rows.batch].key_length;
  for (std::int64_t key = 0; key < length; key += kKeys) {
    const std::int64_t keys = std::min(kKeys, length - key);
    if (!wants(key, key + keys)) continue;
    const TilePlace at = {rows.batch, rows.head, rows.row_begin, count, key, keys};
    scratch->mask.look(problem, at);
    if (scratch->mask.empty()) continue;
    weigh_tile(problem, at, *scratch);
    use({key, key + keys, scratch->weights, scratch->natural, scratch->mask.visible});
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
