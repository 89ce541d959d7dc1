// The weights of 64 rows again, from q, k and the log-sum-exp: no maximum, no sum, no V.
#include <hwy/aligned_allocator.h>

#include <algorithm>

#include "kernels/tiled/attention.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#define HWY_TARGET_INCLUDE "kernels/tiled/attention_weights.cpp"  // NOLINT
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

template <typename T>
struct WeightScratch {
  hwy::AlignedFreeUniquePtr<T[]> queries;  // [D][64]
  RowLse<T> lse;
  alignas(64) T scores[kKeys * kRows];
  alignas(64) T exact[kKeys * kRows];
  alignas(64) float weights[kKeys * kRows];
  alignas(64) float natural[kKeys * kRows];  // scores as the caller knows them: base e
  TileMask mask;
};

// Bits of the rows that exist; everything else is hidden, padding lanes included.
void fill_visible(std::int64_t keys, std::int64_t rows, TileMask& mask) {
  if (mask.partial()) return;
  const std::uint64_t existing = rows == kRows ? ~std::uint64_t{0} : (std::uint64_t{1} << rows) - 1;
  std::fill_n(mask.visible, keys, existing);
}

template <typename T>
void weigh_tile(const AttentionProblem& problem, const WeightRows& rows, std::int64_t key,
                std::int64_t keys, WeightScratch<T>& scratch) {
  const std::int64_t g = rows.head / (problem.heads / problem.kv_heads);
  const std::int64_t slot = problem.sequences[rows.batch].key_begin + key;
  product<T>({keys, problem.head_dim, kRows}, rows_of<const T>(problem.k, rows.batch, g, slot),
             scratch.queries.get(), kRows, false, scratch.scores, kRows);
  weigh(scratch.lse, keys, scratch.scores, scratch.exact);
  for (std::int64_t e = 0; e < keys * kRows; ++e) {
    scratch.weights[e] = static_cast<float>(scratch.exact[e]);
    scratch.natural[e] = static_cast<float>(scratch.scores[e] * static_cast<T>(kLn2));
  }
  fill_visible(keys, rows.row_end - rows.row_begin, scratch.mask);
  hide(scratch.mask.visible, keys, 0.0F, scratch.weights);
  hide(scratch.mask.visible, keys, -std::numeric_limits<float>::infinity(), scratch.natural);
}

template <typename T>
void run_weights(const AttentionProblem& problem, const WeightRows& rows, const WantsKeys& wants,
                 const UseTile& use) {
  const auto scratch = hwy::MakeUniqueAligned<WeightScratch<T>>();
  scratch->queries = hwy::AllocateAligned<T>(static_cast<std::size_t>(problem.head_dim * kRows));
  const std::int64_t count = rows.row_end - rows.row_begin;
  load_transposed(rows_of<const T>(problem.q, rows.batch, rows.head, rows.row_begin), count,
                  problem.head_dim, query_factor<T>(problem, rows.head), scratch->queries.get());
  const std::int64_t first =
      (rows.batch * problem.heads + rows.head) * problem.query_length + rows.row_begin;
  scratch->lse.load(static_cast<const T*>(rows.lse) + first,
                    static_cast<const T*>(rows.lse_low) + first, count);
  const std::int64_t length = problem.sequences[rows.batch].key_length;
  for (std::int64_t key = 0; key < length; key += kKeys) {
    const std::int64_t keys = std::min(kKeys, length - key);
    if (!wants(key, key + keys)) continue;
    scratch->mask.look(problem.mask, place(problem, rows.batch, rows.head),
                       {rows.row_begin, rows.row_end, key, key + keys});
    if (scratch->mask.kind == TileClass::kEmpty) continue;
    weigh_tile(problem, rows, key, keys, *scratch);
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
