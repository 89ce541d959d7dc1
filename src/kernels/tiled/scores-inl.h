// Where a tile stands, what of it is visible, and its scores: the one function that forward,
// backward and observation compute them with. Included once for each vector width.
#if defined(HEED_TILED_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_SCORES_INL_H_
#undef HEED_TILED_SCORES_INL_H_
#else
#define HEED_TILED_SCORES_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/contrib/math/math-inl.h>

#include <cmath>
#include <cstdlib>

#include "kernels/tiled/product-inl.h"
#include "kernels/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// Rows [row, row + rows) of a query head and keys [key, key + keys) of its key/value head, by
// logical index.
struct TilePlace {
  std::int64_t batch;
  std::int64_t head;
  std::int64_t row;
  std::int64_t rows;
  std::int64_t key;
  std::int64_t keys;

  MaskTile mask_tile() const { return {row, row + rows, key, key + keys}; }
  KeySpan key_span(const AttentionProblem& problem) const {
    const std::int64_t group = problem.heads / problem.kv_heads;
    return {batch, group > 0 ? head / group : 0, key, keys};  // without heads only zeros are due
  }
};

// Whether the scale is a factor of q before the product: q . k alone may be beyond the numbers
// where the score is not. With a scale near 0 it is not: the similarity could not be had back.
inline bool scales_queries(const AttentionProblem& problem, std::int64_t head) {
  constexpr double kLeastScale = 0x1p-100;  // f32 holds its products with q
  return problem.score.similarity == Similarity::kDot &&
         std::abs(problem.scale[head]) >= kLeastScale;
}

// Whether scores are scale * q . k alone, and that product is all there is to do.
inline bool is_plain(const AttentionProblem& problem, std::int64_t head) {
  const ScoreRule& rule = problem.score;
  return scales_queries(problem, head) && rule.softcap == 0 && rule.bias.data == nullptr &&
         rule.slope == nullptr;
}

// Divides each row by its norm, which `norms` receives.
template <typename T>
void normalise_rows(std::int64_t rows, std::int64_t width, T* tile, double* norms) {
  constexpr double kLeast = 1e-12;
  for (std::int64_t r = 0; r < rows; ++r, tile += width) {
    double sum = 0;
    for (std::int64_t c = 0; c < width; ++c)
      sum += static_cast<double>(tile[c]) * static_cast<double>(tile[c]);
    norms[r] = std::sqrt(sum);
    const double inverse = 1 / (norms[r] < kLeast ? kLeast : norms[r]);
    for (std::int64_t c = 0; c < width; ++c)
      tile[c] = static_cast<T>(static_cast<double>(tile[c]) * inverse);
  }
}

// Rows of q or k in T: as they are, or of norm 1 for the cosine.
template <typename T>
struct RowTile {
  explicit RowTile(std::int64_t columns) : width(padded(columns)), rows(kRows * width) {}

  void load(const AttentionProblem& problem, const Input& from, std::int64_t batch,
            std::int64_t head, std::int64_t first, std::int64_t count) {
    load_rows(from, batch, head, first, count, problem.head_dim, rows.get());
    finish(problem, count);
  }

  void load_keys(const AttentionProblem& problem, const KeySpan& span) {
    HWY_NAMESPACE::load_keys(problem, keys_of(problem), span, width, rows.get());
    finish(problem, span.count);
  }

  Matrix<const T> loaded() const { return {rows.get(), width, 1}; }

  // Keys for products alone: where they lie, if no element has to be converted. The copy of a tile
  // takes half of the time of its product.
  Matrix<const T> keys_for_product(const AttentionProblem& problem, const KeySpan& span) {
    const KeyRun run = first_run(problem, span);
    constexpr DType kOwn = std::is_same_v<T, float> ? DType::kF32 : DType::kF64;
    const bool as_they_are = problem.k.dtype == kOwn && problem.k.column == 1 &&
                             run.count == span.count &&
                             problem.score.similarity != Similarity::kCosine;
    if (as_they_are) {
      const Matrix<const T> keys = {
          static_cast<const T*>(problem.k.data) + run.offset(problem.k, span.kv_head),
          problem.k.row, 1};
      fetch(keys.data + span.count * keys.row, keys.row, span.count, problem.head_dim);
      return keys;
    }
    load_keys(problem, span);
    return loaded();
  }

  std::int64_t width;
  Tile<T> rows;         // [64][width]
  double norms[kRows];  // of the cosine's rows

 private:
  // The next tile: a product of one row waits for nothing but its keys. Behind the last key the
  // addresses lead nowhere, which is allowed.
  static void fetch(const T* from, std::int64_t row, std::int64_t rows, std::int64_t columns) {
    constexpr auto kLine = static_cast<std::int64_t>(64 / sizeof(T));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; c += kLine) hwy::Prefetch(from + r * row + c);
  }

  void finish(const AttentionProblem& problem, std::int64_t count) {
    if (problem.score.similarity == Similarity::kCosine)
      normalise_rows(count, width, rows.get(), norms);
  }
};

template <typename T>
struct QueryTile : RowTile<T> {
  explicit QueryTile(std::int64_t head_dim) : RowTile<T>(head_dim), transposed(head_dim * kRows) {}

  void load(const AttentionProblem& problem, std::int64_t batch, std::int64_t head,
            std::int64_t row, std::int64_t count) {
    RowTile<T>::load(problem, problem.q, batch, head, problem.sequences[batch].query_begin + row,
                     count);
    const T factor =  // kernels/attention.h says why every kernel takes this one
        scales_queries(problem, head) ? static_cast<T>(problem.scale[head]) : T{1};
    transpose(this->rows.get(), count, problem.head_dim, factor, transposed.get());
  }

  Tile<T> transposed;  // [D][64], times the scale where scales_queries
};

// Which pairs of a tile are visible. A bias of -inf hides as the mask does.
template <typename T>
struct TileMask {
  explicit TileMask(const AttentionProblem& problem)
      : bias(problem.score.bias.data != nullptr ? kKeys * kRows : 0) {}

  TileClass kind = TileClass::kFull;
  std::uint64_t visible[kKeys];  // of partial tiles
  Tile<T> bias;                  // [64 keys][64]

  bool empty() const { return kind == TileClass::kEmpty; }
  bool partial() const { return kind == TileClass::kPartial; }

  void look(const AttentionProblem& problem, const TilePlace& at) {
    const MaskPlace where = place(problem, at.batch, at.head);
    kind = problem.mask == nullptr ? TileClass::kFull : problem.mask->tile(where, at.mask_tile());
    if (partial()) problem.mask->bits(where, at.mask_tile(), visible);
    if (bias.get() != nullptr && !empty()) look_at_bias(problem, at);
  }

  // The bias of a tile that nobody may attend to.
  void look_behind(const AttentionProblem& problem, const TilePlace& at) {
    if (bias.get() != nullptr) load_bias(problem.score.bias, at);
  }

  // The words of a full tile too: of rows that exist.
  void spell_out(const TilePlace& at) {
    if (!partial()) std::fill_n(visible, at.keys, existing(at));
  }

 private:
  static std::uint64_t existing(const TilePlace& at) {
    return at.rows == kRows ? ~std::uint64_t{0} : (std::uint64_t{1} << at.rows) - 1;
  }

  void load_bias(const Input& from, const TilePlace& at) {
    constexpr std::int64_t kLines = 16;  // whole cache lines of the transposed tile
    T lines[kLines][kKeys];
    const std::int64_t begin = at.batch * from.batch + at.head * from.head + at.key * from.column;
    for (std::int64_t i = 0; i < kRows; i += kLines) {
      for (std::int64_t r = 0; r < kLines; ++r) {
        if (i + r < at.rows)
          load_line(from, begin + (at.row + i + r) * from.row, from.column, at.keys, lines[r]);
        else
          std::fill_n(lines[r], at.keys, T{0});
      }
      for (std::int64_t j = 0; j < at.keys; ++j)
        for (std::int64_t r = 0; r < kLines; ++r) bias.get()[j * kRows + i + r] = lines[r][j];
    }
  }

  void look_at_bias(const AttentionProblem& problem, const TilePlace& at) {
    load_bias(problem.score.bias, at);
    const hn::ScalableTag<T> tag;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
    const auto lowest = hn::Set(tag, -std::numeric_limits<T>::infinity());
    std::uint64_t any = 0;
    std::uint64_t hidden = 0;
    spell_out(at);
    for (std::int64_t j = 0; j < at.keys; ++j) {
      std::uint64_t masked = 0;
      for (std::int64_t i = 0; i < kRows; i += lanes) {
        std::uint64_t bits = 0;
        hn::StoreMaskBits(tag, hn::Eq(hn::Load(tag, bias.get() + j * kRows + i), lowest),
                          reinterpret_cast<std::uint8_t*>(&bits));
        masked |= bits << i;
      }
      visible[j] &= ~masked;
      hidden |= masked;
      any |= visible[j];
    }
    if (hidden != 0) kind = TileClass::kPartial;
    if (any == 0) kind = TileClass::kEmpty;
  }
};

// What the backward pass and observers want beside or of the scores: [keys][64]; null: not wanted.
template <typename T>
struct ScoreParts {
  T* similarity = nullptr;  // times the scale where scales_queries
  T* cap_slope = nullptr;   // d softcap(x) / dx
  T* before_softcap = nullptr;
  T* before_bias = nullptr;
  std::int64_t lanes = kRows;  // how many are computed: whole vectors
};

// z = softcap(scale * sim) + bias - slope * distance. In place.
template <typename T>
void finish_scores(const AttentionProblem& problem, const TilePlace& at, const T* bias,
                   const ScoreParts<T>& parts, T* HWY_RESTRICT scores) {
  const ScoreRule& rule = problem.score;
  const hn::ScalableTag<T> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  const auto scale = hn::Set(
      tag, scales_queries(problem, at.head) ? T{1} : static_cast<T>(problem.scale[at.head]));
  const auto cap = hn::Set(tag, static_cast<T>(rule.softcap));
  const auto slope =
      hn::Set(tag, rule.slope != nullptr ? static_cast<T>(rule.slope[at.head]) : T{0});
  // |p_i - p_j| of row i and key j is distances[n] + rests[n] for n = i - j + kKeys - 1: T alone is
  // not exact beyond 2^24 (f32).
  T distances[kRows + kKeys];
  T rests[kRows + kKeys];
  const Sequence& sequence = problem.sequences[at.batch];
  const std::int64_t least =
      sequence.q_offset + at.row - sequence.key_offset - at.key - (kKeys - 1);
  for (std::int64_t n = 0; n < kRows + kKeys; ++n) {
    const std::int64_t distance = std::abs(least + n);
    distances[n] = static_cast<T>(distance);
    rests[n] = static_cast<T>(distance - static_cast<std::int64_t>(distances[n]));
  }
  for (std::int64_t j = 0; j < at.keys; ++j)
    for (std::int64_t i = 0; i < parts.lanes; i += lanes) {
      auto z = hn::Mul(hn::Load(tag, scores + j * kRows + i), scale);
      if (parts.before_softcap != nullptr) hn::Store(z, tag, parts.before_softcap + j * kRows + i);
      if (rule.softcap > 0) {
        const auto x = hn::Div(z, cap);
        const auto tanh = hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(tag, x));
        constexpr T kSmall = std::is_same_v<T, float> ? T(0x1p-13) : T(0x1p-27);
        z = hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(tag, kSmall)), z, hn::Mul(cap, tanh));
        if (parts.cap_slope != nullptr)
          hn::Store(hn::NegMulAdd(tanh, tanh, hn::Set(tag, T{1})), tag,
                    parts.cap_slope + j * kRows + i);
      }
      if (parts.before_bias != nullptr) hn::Store(z, tag, parts.before_bias + j * kRows + i);
      if (bias != nullptr) z = hn::Add(z, hn::Load(tag, bias + j * kRows + i));
      if (rule.slope != nullptr) {
        const std::int64_t n = i - j + kKeys - 1;
        z = hn::NegMulAdd(slope, hn::LoadU(tag, rests + n), z);
        z = hn::NegMulAdd(slope, hn::LoadU(tag, distances + n), z);
      }
      hn::Store(z, tag, scores + j * kRows + i);
    }
}

// Far scores as f32 holds them, where a pass in double follows one that left a log-sum-exp of f32.
template <typename T>
void round_far_scores(std::int64_t count, T* scores) {
  if constexpr (std::is_same_v<T, double>)
    for (std::int64_t e = 0; e < count; ++e) scores[e] = held_by_f32(scores[e]);
}

// Scores [keys][64] of the visible pairs.
template <typename T>
void score_tile(const AttentionProblem& problem, const TilePlace& at, const QueryTile<T>& queries,
                const Matrix<const T>& rows, const TileMask<T>& mask, T* scores,
                const ScoreParts<T>& parts = {}) {
  const Extent extent = {at.keys, problem.head_dim, parts.lanes};
  const T* columns = queries.transposed.get();
  if (problem.score.similarity == Similarity::kGaussian)
    product<T, SubtractSquare>(extent, rows, columns, kRows, false, scores, kRows);
  else if (problem.score.similarity == Similarity::kAbsolute)
    product<T, SubtractDistance>(extent, rows, columns, kRows, false, scores, kRows);
  else
    product<T>(extent, rows, columns, kRows, false, scores, kRows);
  if (parts.similarity != nullptr) std::copy_n(scores, at.keys * kRows, parts.similarity);
  if (!is_plain(problem, at.head)) finish_scores(problem, at, mask.bias.get(), parts, scores);
  if (problem.far_scores_of_f32) round_far_scores(at.keys * kRows, scores);
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_SCORES_INL_H_
