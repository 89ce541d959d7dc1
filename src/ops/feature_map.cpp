#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/numbers.h"
#include "base/philox.h"
#include "heed/error.h"
#include "heed/operators.h"
#include "tensor/computable.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check(const ConstView& x, const FeatureMap& map) {
  if (!x.given() || !is_floating(x.dtype()) || x.rank() < 1)
    fail("features", "x", to_string(x), "rows of f64, f32, f16 or bf16");
  require_enumerator("features", "kind", map.kind, FeatureKind::kRandomExponential);
  if (!std::isfinite(map.scale)) fail("features", "scale", map.scale, "a finite number");
  const bool random = map.kind == FeatureKind::kRandomExponential;
  if (map.projection.given() != random)
    fail("features", "projection", random ? "" : "given",
         random ? "[M, D] for random exponential features"
                : "none (only random exponential features have one)");
  if (!random) return;
  if (!is_floating(map.projection.dtype()) || map.projection.rank() != 2 ||
      map.projection.dim(1) != x.dim(-1))
    fail("features", "projection", to_string(map.projection),
         fmt::format("[M, {}] of a floating type", x.dim(-1)));
}

Shape features_shape(const ConstView& x, const FeatureMap& map) {
  Shape shape = x.shape();
  shape[x.rank() - 1] = map.features(x.dim(-1));
  return shape;
}

double feature(FeatureKind kind, double x) {
  if (kind == FeatureKind::kEluPlusOne) return x > 0 ? x + 1 : std::exp(x);
  if (kind == FeatureKind::kRelu && x <= 0) return 0;
  return x;
}

double slope(FeatureKind kind, double x) {
  if (kind == FeatureKind::kEluPlusOne) return x > 0 ? 1 : std::exp(x);
  if (kind == FeatureKind::kRelu) return x > 0 ? 1 : 0;
  return 1;
}

bool changes_nothing(const FeatureMap& map) {
  return map.kind == FeatureKind::kIdentity && map.scale == 1;
}

struct Rows {
  std::int64_t count = 0;
  std::int64_t width = 0;     // D
  std::int64_t features = 0;  // M
};

// exp(w . x - |x|^2 / 2) / sqrt(M), in double because the exponents are differences of large
// numbers.
template <typename T>
void random_row(const Rows& rows, const T* projection, double scale, const T* x, T* phi) {
  double squares = 0;
  for (std::int64_t c = 0; c < rows.width; ++c) squares += scale * x[c] * scale * x[c];
  for (std::int64_t m = 0; m < rows.features; ++m) {
    double dot = 0;
    for (std::int64_t c = 0; c < rows.width; ++c)
      dot += scale * x[c] * projection[m * rows.width + c];
    phi[m] =
        static_cast<T>(std::exp(dot - squares / 2) / std::sqrt(static_cast<double>(rows.features)));
  }
}

// d phi_m / d x_c = phi_m scale (w_mc - scale x_c).
template <typename T>
void random_row_backward(const Rows& rows, const T* projection, double scale, const T* x,
                         const T* dphi, T* phi, T* dx) {
  random_row(rows, projection, scale, x, phi);
  for (std::int64_t c = 0; c < rows.width; ++c) {
    double sum = 0;
    for (std::int64_t m = 0; m < rows.features; ++m)
      sum +=
          static_cast<double>(dphi[m]) * phi[m] * (projection[m * rows.width + c] - scale * x[c]);
    dx[c] = static_cast<T>(sum * scale);
  }
}

Rows rows_of(const ConstView& x, const FeatureMap& map) {
  const std::int64_t width = x.dim(-1);
  return {width == 0 ? 0 : x.element_count() / width, width, map.features(width)};
}

template <typename T>
void map_rows(const ConstView& x, const FeatureMap& map, const Tensor& projection, Tensor& y) {
  const Rows rows = rows_of(x, map);
  if (map.kind != FeatureKind::kRandomExponential) {
    for (std::int64_t i = 0; i < x.element_count(); ++i)
      y.data<T>()[i] = static_cast<T>(feature(map.kind, map.scale * x.data<T>()[i]));
    return;
  }
  for (std::int64_t row = 0; row < rows.count; ++row)
    random_row(rows, projection.data<T>(), map.scale, x.data<T>() + row * rows.width,
               y.data<T>() + row * rows.features);
}

template <typename T>
void map_rows_backward(const ConstView& x, const FeatureMap& map, const Tensor& projection,
                       const ConstView& dphi, Tensor& dx) {
  const Rows rows = rows_of(x, map);
  if (map.kind != FeatureKind::kRandomExponential) {
    for (std::int64_t i = 0; i < x.element_count(); ++i)
      dx.data<T>()[i] = static_cast<T>(dphi.data<T>()[i] * map.scale *
                                       slope(map.kind, map.scale * x.data<T>()[i]));
    return;
  }
  std::vector<T> phi(static_cast<std::size_t>(rows.features));
  for (std::int64_t row = 0; row < rows.count; ++row)
    random_row_backward(rows, projection.data<T>(), map.scale, x.data<T>() + row * rows.width,
                        dphi.data<T>() + row * rows.features, phi.data(),
                        dx.data<T>() + row * rows.width);
}

// The projection in the computing type of x.
Tensor projection_like(const FeatureMap& map, DType dtype) {
  return map.projection.given() ? Tensor::converted(map.projection, dtype) : Tensor();
}

// Makes rows [begin, end) orthogonal and keeps their lengths (Gram-Schmidt).
void make_orthogonal(std::int64_t begin, std::int64_t end, std::int64_t width, double* rows) {
  for (std::int64_t row = begin; row < end; ++row) {
    double* own = rows + row * width;
    const auto length = [&] {
      double squares = 0;
      for (std::int64_t c = 0; c < width; ++c) squares += own[c] * own[c];
      return std::sqrt(squares);
    };
    const double before = length();
    for (std::int64_t other = begin; other < row; ++other) {
      const double* fixed = rows + other * width;
      double dot = 0;
      double squares = 0;
      for (std::int64_t c = 0; c < width; ++c) {
        dot += own[c] * fixed[c];
        squares += fixed[c] * fixed[c];
      }
      for (std::int64_t c = 0; c < width; ++c) own[c] -= dot / squares * fixed[c];
    }
    const double factor = before / length();
    for (std::int64_t c = 0; c < width; ++c) own[c] *= factor;
  }
}

}  // namespace

std::int64_t FeatureMap::features(std::int64_t width) const {
  return kind == FeatureKind::kRandomExponential ? projection.dim(0) : width;
}

Tensor map_features(const ConstView& x, const FeatureMap& map) {
  check(x, map);
  const DType dtype = computing_type(x.dtype());
  if (changes_nothing(map)) return Tensor::converted(x, dtype);
  const Computable from(x);
  const Tensor projection = projection_like(map, dtype);
  Tensor y = Tensor::empty(features_shape(x, map), dtype);
  if (dtype == DType::kF64)
    map_rows<double>(from, map, projection, y);
  else
    map_rows<float>(from, map, projection, y);
  return y;
}

Tensor map_features_backward(const ConstView& x, const FeatureMap& map, const ConstView& dphi) {
  check(x, map);
  const DType dtype = computing_type(x.dtype());
  if (dphi.shape() != features_shape(x, map) || dphi.dtype() != dtype)
    fail("features", "dphi", to_string(dphi), to_string(dtype, features_shape(x, map)));
  if (changes_nothing(map)) return Tensor::converted(dphi, x.dtype());
  const Computable from(x);
  const Computable cotangent(dphi);
  const Tensor projection = projection_like(map, dtype);
  Tensor dx = Tensor::empty(x.shape(), dtype);
  if (dtype == DType::kF64)
    map_rows_backward<double>(from, map, projection, cotangent, dx);
  else
    map_rows_backward<float>(from, map, projection, cotangent, dx);
  return rounded(std::move(dx), x.dtype());
}

Tensor random_projection(std::int64_t features, std::int64_t width, std::uint64_t seed,
                         DType dtype) {
  if (features < 0 || width < 1)
    fail("random_projection", features < 0 ? "features" : "width", features < 0 ? features : width,
         features < 0 ? "0 or more" : "at least 1");
  Random random(seed);
  Tensor rows = Tensor::empty({features, width}, DType::kF64);
  for (std::int64_t i = 0; i < rows.element_count(); ++i) rows.data<double>()[i] = random.normal();
  for (std::int64_t begin = 0; begin < features; begin += width)
    make_orthogonal(begin, std::min(features, begin + width), width, rows.data<double>());
  return rounded(std::move(rows), dtype);
}

}  // namespace heed
