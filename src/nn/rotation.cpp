#include "nn/rotation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "heed/operators.h"

namespace heed {
namespace {

template <typename T>
void fill(const RopeScaling& scaling, std::int64_t length, Tensor& cosines, Tensor& sines) {
  const std::vector<double> frequencies = rope_frequencies(scaling, length);
  auto* cosine = cosines.data<T>();
  auto* sine = sines.data<T>();
  for (std::int64_t position = 0; position < cosines.dim(0); ++position)
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      *cosine++ = static_cast<T>(scaling.length * std::cos(angle));
      *sine++ = static_cast<T>(scaling.length * std::sin(angle));
    }
}

void copy_rows(const Tensor& table, std::int64_t first, const View& into) {
  const std::size_t row = static_cast<std::size_t>(table.dim(1)) * size_bytes(table.dtype());
  std::memcpy(
      into.raw(),
      static_cast<const std::byte*>(table.view().raw()) + static_cast<std::size_t>(first) * row,
      static_cast<std::size_t>(into.dim(0)) * row);
}

// The value of angles_by for texts beyond the trained length, if those have different factors.
constexpr std::int64_t kBeyond = -1;

}  // namespace

std::int64_t Rotation::angles_by(std::int64_t length) const {
  if (scaling_.kind == RopeScalingKind::kDynamic) return length;
  if (scaling_.kind == RopeScalingKind::kLong && length > scaling_.trained_positions)
    return kBeyond;
  return 0;
}

std::shared_ptr<const Rotation::Table> Rotation::table(DType dtype, std::int64_t positions,
                                                       std::int64_t length) const {
  const std::int64_t by = angles_by(length);
  const std::size_t is_long = by == kBeyond ? 1 : 0;
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const Table>& kept = tables_[dtype == DType::kF64 ? 1 : 0][is_long];
  if (kept && kept->by == by && kept->cosines.dim(0) >= positions) return kept;
  const auto rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(positions)));
  auto made = std::make_shared<Table>();
  made->by = by;
  made->cosines = Tensor::empty({rows, scaling_.width / 2}, dtype);
  made->sines = Tensor::empty({rows, scaling_.width / 2}, dtype);
  if (dtype == DType::kF64)
    fill<double>(scaling_, length, made->cosines, made->sines);
  else
    fill<float>(scaling_, length, made->cosines, made->sines);
  kept = made;
  return kept;
}

Rotation::Angles Rotation::angles(const View& x, const Standing& standing) const {
  const std::int64_t tokens = x.dim(2);
  const Shape shape = {x.dim(0), tokens, scaling_.width / 2};
  Angles angles = {Tensor::empty(shape, x.dtype()), Tensor::empty(shape, x.dtype())};
  std::int64_t positions = 1;
  for (const std::int64_t first : standing.first) positions = std::max(positions, first + tokens);
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    const auto row = static_cast<std::size_t>(b);
    const auto from = table(x.dtype(), positions, standing.length[row]);
    copy_rows(from->cosines, standing.first[row], angles.cosines.view().select(0, b));
    copy_rows(from->sines, standing.first[row], angles.sines.view().select(0, b));
  }
  return angles;
}

RopeArgs Rotation::args_for(const View& x, const Angles& angles) const {
  return {.x = x,
          .rotary_dim = scaling_.width,
          .pairs = scaling_.pairs,
          .cosines = angles.cosines,
          .sines = angles.sines};
}

void Rotation::turn(const View& x, const Standing& standing) const {
  const Angles angles = this->angles(x, standing);
  rope(args_for(x, angles), x);
}

void Rotation::turn_back(const View& dy, const Standing& standing) const {
  const Angles angles = this->angles(dy, standing);
  rope_backward(args_for(dy, angles), dy, dy);
}

}  // namespace heed
