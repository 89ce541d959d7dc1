// Cotangents of a tile's similarities to those of its queries and keys. Included once for each
// vector width.
#if defined(HEED_TILED_SIMILARITY_GRADIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TILED_SIMILARITY_GRADIENT_INL_H_
#undef HEED_TILED_SIMILARITY_GRADIENT_INL_H_
#else
#define HEED_TILED_SIMILARITY_GRADIENT_INL_H_
#endif

#include "kernels/tiled/backward_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::HWY_NAMESPACE {

// Where the gradients of a tile go: dq [64][width] is set, dk [64][width] is added to; null: not
// asked for.
template <typename T>
struct TileGradients {
  T* dq = nullptr;
  T* dk = nullptr;
};

// sum [keys][lanes] += weights [keys][rows] * rows [rows][lanes], of visible pairs only.
template <typename T>
void add_to_keys(const TileMask<T>& mask, const T* weights, const Extent& extent, const T* rows,
                 T* sum) {
  const Matrix<const T> row_major = {rows, extent.lanes, 1};
  if (mask.partial() && !all_finite(row_major, extent.depth, extent.lanes)) {
    visible_product<SumOver::kAllRows, T>({weights, mask.visible, extent.rows, extent.depth},
                                          row_major, extent.lanes, {sum, extent.lanes, 1});
    return;
  }
  product<T>(extent, {weights, kRows, 1}, rows, extent.lanes, true, sum, extent.lanes);
}

// dq [rows][width] = dS K, of visible pairs only.
template <typename T>
void multiply_by_keys(const BackwardScratch<T>& scratch, const TilePlace& at, T* dq) {
  const std::int64_t width = scratch.keys.width;
  const Matrix<const T> keys = {scratch.keys.rows.get(), width, 1};
  if (scratch.mask.partial() && !all_finite(keys, at.keys, width)) {
    std::fill_n(dq, at.rows * width, T{0});
    visible_product<SumOver::kAllKeys, T>(
        {scratch.dscores.get(), scratch.mask.visible, at.keys, at.rows}, keys, width,
        {dq, width, 1});
    return;
  }
  product<T>({at.rows, at.keys, width}, {scratch.dscores.get(), 1, kRows}, keys.data, width, false,
             dq, width);
}

struct SquareSlope {  // of -(q - k)^2 by q
  template <typename T>
  T operator()(T difference) const {
    return -2 * difference;
  }
};
struct DistanceSlope {  // of -|q - k| by q; 0 at 0
  template <typename T>
  T operator()(T difference) const {
    return static_cast<T>(difference < 0) - static_cast<T>(difference > 0);
  }
};

// Similarities of the difference q - k: pair by pair, since a product of large operands would
// cancel.
template <class Slope, typename T>
void differences(const BackwardScratch<T>& scratch, const TilePlace& at,
                 const TileGradients<T>& to) {
  const std::int64_t width = scratch.keys.width;
  const T* queries = scratch.queries.rows.get();
  std::vector<T> line(static_cast<std::size_t>(width));
  T* HWY_RESTRICT dk = line.data();
  if (to.dq != nullptr) std::fill_n(to.dq, at.rows * width, T{0});
  for (std::int64_t j = 0; j < at.keys; ++j) {
    const T* HWY_RESTRICT key = scratch.keys.rows.get() + j * width;
    std::fill_n(dk, width, T{0});
    for (std::int64_t i = 0; i < at.rows; ++i) {
      if (scratch.mask.partial() && (scratch.mask.visible[j] >> i & 1) == 0) continue;
      const T weight = scratch.dscores.get()[j * kRows + i];
      const T* HWY_RESTRICT query = queries + i * width;
      for (std::int64_t c = 0; c < width; ++c) dk[c] -= weight * Slope()(query[c] - key[c]);
      if (to.dq == nullptr) continue;
      T* HWY_RESTRICT dq = to.dq + i * width;
      for (std::int64_t c = 0; c < width; ++c) dq[c] += weight * Slope()(query[c] - key[c]);
    }
    if (to.dk == nullptr) continue;
    for (std::int64_t c = 0; c < width; ++c) to.dk[j * width + c] += dk[c];
  }
}

template <typename T>
void through_similarity(const AttentionProblem& problem, const TilePlace& at,
                        const BackwardScratch<T>& scratch, const TileGradients<T>& to) {
  const Similarity kind = problem.score.similarity;
  if (kind == Similarity::kGaussian) return differences<SquareSlope>(scratch, at, to);
  if (kind == Similarity::kAbsolute) return differences<DistanceSlope>(scratch, at, to);
  if (to.dk != nullptr)
    add_to_keys(scratch.mask, scratch.dscores.get(), {at.keys, at.rows, scratch.keys.width},
                scratch.queries.rows.get(), to.dk);
  if (to.dq != nullptr) multiply_by_keys(scratch, at, to.dq);
}

// The cosine's rows are x / |x|: what has gathered for them becomes the gradient of x, in place. A
// row shorter than 1e-12 gets 0.
template <typename T>
void through_norm(const RowTile<T>& rows, std::int64_t count, std::int64_t columns, T* gradient,
                  std::int64_t stride) {
  for (std::int64_t r = 0; r < count; ++r) {
    const T* unit = rows.rows.get() + r * rows.width;
    T* line = gradient + r * stride;
    // Nothing has gathered: nobody looked, and the row itself may be no number.
    if (std::all_of(line, line + columns, [](T x) { return x == 0; })) continue;
    double along = 0;
    for (std::int64_t c = 0; c < columns; ++c)
      along += static_cast<double>(unit[c]) * static_cast<double>(line[c]);
    const double inverse = rows.norms[r] < 1e-12 ? 0 : 1 / rows.norms[r];
    for (std::int64_t c = 0; c < columns; ++c)
      line[c] = static_cast<T>(
          inverse * (static_cast<double>(line[c]) - static_cast<double>(unit[c]) * along));
  }
}

}  // namespace heed::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HEED_TILED_SIMILARITY_GRADIENT_INL_H_
