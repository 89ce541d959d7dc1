// The rows of a tile, their visible keys, and their scores: S^T = K Q^T with one row per lane, then
// the steps. Included once for each target.
#if defined(HEED_SWEEP_SCORES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_SCORES_INL_H
#undef HEED_SWEEP_SCORES_INL_H
#else
#define HEED_SWEEP_SCORES_INL_H
#endif

#include <bit>

#include "attention/sweep/few_rows-inl.h"
#include "attention/sweep/keys-inl.h"
#include "attention/sweep/pairs-inl.h"
#include "attention/sweep/product-inl.h"
#include "attention/sweep/steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// Strips of a tile that hold rows, and vectors of a strip that hold rows: 1, 2 or 4.
template <typename T>
int strips_of(int rows) {
  return (rows + kStripRows<T> - 1) / kStripRows<T>;
}
template <typename T>
int vectors_of(int rows, int strip) {
  const int vectors = (rows - strip * kStripRows<T> + kLanes<T> - 1) / kLanes<T>;
  return vectors >= 3 ? kStripVectors : vectors;
}

/// Up to 64 query rows as columns: queries[strip][D][width], multiplied by the scale if it applies
/// to queries.
template <typename T>
struct QueryTile {
  RowSet rows;
  T* queries = nullptr;
  RowLanes<T> lanes;
  int width = kStripRows<T>;  // lanes of a strip that have memory
  bool in_pairs = false;      // queries are pairs of bf16, [strip][pairs of D][width] of the memory

  /// If all rows are in one strip, keeps only the vectors that hold rows. With all four of AVX-512,
  /// 16 rows of 128 columns were 256 bytes apart, on a quarter of the sets of L1, and took 3 times
  /// as long.
  void narrow() {
    width = strips_of<T>(rows.rows) > 1 ? kStripRows<T> : vectors_of<T>(rows.rows, 0) * kLanes<T>;
  }
  /// The queries from a lane on.
  T* queries_of(int lane, std::int64_t head_dim) const {
    return queries + lane / kStripRows<T> * head_dim * width + lane % kStripRows<T>;
  }
  /// The number of rows if they are few, else 0.
  int few_rows() const { return rows.rows <= kMostFewRows ? rows.rows : 0; }
};

/// Transposes the rows of one segment to lanes; `copy` is memory for [4][whole_lines(D)].
template <typename T>
void read_segment(const AttentionProblem& problem, std::int64_t batch, const Segment& segment,
                  T* copy, const QueryTile<T>& tile) {
  const Input& q = problem.q;
  const std::int64_t head_dim = problem.head_dim;
  const std::int64_t slot = problem.sequences[batch].query_begin + segment.row;
  const std::int64_t begin = batch * q.batch + segment.head * q.head + slot * q.row;
  const bool cosine = problem.score.similarity == Similarity::kCosine;
  const bool in_place = q.dtype == kTypeOf<T> && q.column == 1 && !cosine;
  const T factor = static_cast<T>(query_factor(problem, segment.head));
  constexpr int kWhole = kLanes<T>;
  for (int i = 0, count; i < segment.count; i += count) {
    const int lane = segment.lane + i;
    T* const to = tile.queries_of(lane, head_dim);
    const std::int64_t at = begin + i * q.row;
    const int left = std::min(segment.count - i, kStripRows<T> - lane % kStripRows<T>);
    count = in_place && left >= kWhole ? kWhole : std::min(4, left);
    const T* rows = copy;
    std::int64_t row = whole_lines(head_dim);
    if (in_place) {
      rows = static_cast<const T*>(q.data) + at;
      row = q.row;
    } else {
      for (int r = 0; r < count; ++r)
        kernels::HWY_NAMESPACE::load_line(q, at + r * q.row, q.column, head_dim, copy + r * row);
      if (cosine) normalise_rows<T>(count, head_dim, row, copy, nullptr);
    }
    if (tile.rows.rows == 1)
      row_to_first_lane(rows, head_dim, factor, to, tile.width);
    else
      rows_to_lanes(count, rows, row, head_dim, factor, to, tile.width);
  }
}

/// Reads the rows that `tile.rows` names, as pairs of bf16 where products take them.
template <typename T>
void read_queries(const AttentionProblem& problem, std::int64_t batch, bool steps, T* copy,
                  QueryTile<T>& tile) {
  const int rows = tile.rows.rows;
  const Tag<T> d;
  if (rows > 1 && rows % kStripRows<T> != 0) {  // the lanes of whole vectors are read
    T* const last = tile.queries_of(rows / kStripRows<T> * kStripRows<T>, problem.head_dim);
    for (std::int64_t x = 0; x < problem.head_dim; ++x)
      for (int lane = rows % kStripRows<T> / kLanes<T> * kLanes<T>; lane < tile.width;
           lane += kLanes<T>)
        hn::Store(hn::Zero(d), d, last + x * tile.width + lane);
  }
  for (int s = 0; s < tile.rows.segment_count; ++s)
    read_segment(problem, batch, tile.rows.segments[s], copy, tile);
  if (steps) tile.lanes.set(problem, batch, tile.rows);
  tile.in_pairs = kHasPairs<T> && has_pairs(problem) && tile.few_rows() == 0;
  if constexpr (kHasPairs<T>)
    for (int i = 0; tile.in_pairs && i < strips_of<T>(rows); ++i) {
      T* const strip = tile.queries_of(i * kStripRows<T>, problem.head_dim);
      pack_lines(problem.head_dim, strip, tile.width, tile.width, strip, tile.width);
    }
}

/// Reads the keys of a tile as pairs of bf16.
template <typename T>
KeyRows<T> read_key_pairs(const AttentionProblem& problem, const KeySpan& span, T* copy) {
  const std::int64_t width = whole_lines(pairs_of(problem.head_dim));
  if constexpr (kHasPairs<T>) load_pairs_of_columns(problem, keys_of(problem), span, width, copy);
  return {copy, width};
}

/// The visible pairs of a tile. For a full tile the words are not set.
struct Visible {
  TileClass kind = TileClass::kFull;
  alignas(64) std::uint64_t words[kTileKeys];

  bool empty() const { return kind == TileClass::kEmpty; }
  bool partial() const { return kind == TileClass::kPartial; }

  void look(const AttentionProblem& problem, std::int64_t batch, const RowSet& rows,
            const KeyRange& keys) {
    kind = classify(problem, batch, rows, keys);
    if (partial()) visible_bits(problem, batch, rows, keys, words);
  }
  /// The range of keys that lanes [lane, lane + lanes) see, as offsets into the tile. Its first key
  /// is even, so that a row's sums do not depend on the range.
  KeyRange range(int lane, int lanes, std::int64_t keys) const {
    if (!partial()) return {0, keys};
    const std::uint64_t of = (lanes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lanes) - 1)
                             << lane;
    std::int64_t begin = 0;
    std::int64_t end = keys;
    while (begin < end && (words[begin] & of) == 0) ++begin;
    while (begin < end && (words[end - 1] & of) == 0) --end;
    return {begin / 2 * 2, end};
  }
};

/// The factors of the similarities of a patch of `tile` to the keys of a tile.
template <typename T>
Factors<T> score_factors(const AttentionProblem& problem, const KeyRows<T>& keys,
                         const QueryTile<T>& tile, const Patch<T>& patch) {
  return {keys.data + patch.key_begin * keys.row, keys.row,
          tile.queries_of(patch.lane, problem.head_dim), tile.width,
          tile.in_pairs ? pairs_of(problem.head_dim) : problem.head_dim};
}

/// Similarities of a patch of `tile` to the keys of a tile, which are pairs if the queries are.
template <typename T>
void similarities(const AttentionProblem& problem, const KeyRows<T>& keys, const QueryTile<T>& tile,
                  const Patch<T>& patch) {
  const Similarity kind = problem.score.similarity;
  const bool is_product = kind == Similarity::kDot || kind == Similarity::kCosine;
  const Factors<T> factors = score_factors(problem, keys, tile, patch);
  if constexpr (kHasPairs<T>)
    if (tile.in_pairs)
      return store_products<MultiplyPairs>(patch.keys, patch.vectors, factors, patch.data,
                                           patch.stride);
  if (tile.few_rows() > 0 && is_product &&
      scores_of_few_rows(tile.few_rows(), FactorRuns<T, T>(factors, patch.keys), patch.data,
                         patch.stride))
    return;
  if (kind == Similarity::kGaussian)
    store_products<SubtractSquare>(patch.keys, patch.vectors, factors, patch.data, patch.stride);
  else if (kind == Similarity::kAbsolute)
    store_products<SubtractDistance>(patch.keys, patch.vectors, factors, patch.data, patch.stride);
  else
    store_products<Multiply>(patch.keys, patch.vectors, factors, patch.data, patch.stride);
}

/// The batch, head and keys of a tile.
struct TilePlace {
  std::int64_t batch = 0;
  KeyRange keys;
};

/// Stages at which `apply_steps` exposes the scores: before each step, beginning with the plain
/// similarity.
enum class ScoreStage : std::uint8_t { kBeforeSoftcap, kBeforeBias, kBeforeMask, kSimilarity };

/// Applies a step to every score of a patch.
template <typename T, class Step>
HWY_INLINE void apply_step(const Step& step, const Patch<T>& patch) {
  for_vectors(patch, [&](Vec<T> z, std::int64_t key, int lane)
                         HWY_ATTR { return step.apply(z, key, lane); });
}

/// Turns similarities into scores, in place. A bias of -inf clears bits of `visible` and makes it
/// partial; `bias` is memory for a patch of it. `keep(stage)` is called before each of the stages
/// softcap, bias and mask.
template <typename T, class Keep>
void apply_steps(const AttentionProblem& problem, const Steps& steps, const TilePlace& at,
                 const QueryTile<T>& tile, const Patch<T>& patch, T* bias, Visible& visible,
                 const Keep& keep) {
  keep(ScoreStage::kSimilarity);
  if (steps.scale) apply_step(ScaleStep<T>{tile.lanes.scale}, patch);
  keep(ScoreStage::kBeforeSoftcap);
  if (steps.softcap) apply_step(SoftcapStep<T>{static_cast<T>(problem.score.softcap)}, patch);
  keep(ScoreStage::kBeforeBias);
  if (steps.bias) {
    BiasStep<T> step = {bias};
    step.read(problem, at.batch, tile.rows, at.keys, patch);
    if (!visible.partial()) std::fill_n(visible.words, at.keys.count(), ~std::uint64_t{0});
    if (step.add(patch, visible.words)) visible.kind = TileClass::kPartial;
  }
  if (steps.alibi) {
    const std::int64_t first = problem.sequences[at.batch].key_offset + at.keys.begin;
    apply_step(AlibiStep<T>(tile.lanes, first), patch);
  }
  if constexpr (std::is_same_v<T, double>) {
    if (steps.far)
      for (std::int64_t j = 0; j < patch.keys; ++j)
        for (int i = 0; i < patch.lanes(); ++i) {
          T& score = patch.data[j * patch.stride + i];
          score = held_by_f32(score);
        }
  }
  keep(ScoreStage::kBeforeMask);
}

/// Sets hidden scores to `hidden`, whatever they held: by selection, not multiplication.
template <typename T>
void hide(const std::uint64_t* words, T hidden, const Patch<T>& patch) {
  const Tag<T> d;
  const auto instead = hn::Set(d, hidden);
  for (std::int64_t j = 0; j < patch.keys; ++j) {
    const std::uint64_t word = words[patch.key_begin + j];
    if (word == ~std::uint64_t{0}) continue;
    T* const line = patch.data + j * patch.stride;
    for (int i = 0; i < patch.lanes(); i += kLanes<T>) {
      const auto seen = kernels::HWY_NAMESPACE::mask_lanes(d, word, patch.lane + i);
      hn::Store(hn::IfThenElse(seen, hn::Load(d, line + i), instead), d, line + i);
    }
  }
}

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
