#include "nn/rotation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

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

namespace {

std::vector<double> powers(double base, std::int64_t width) {
  std::vector<double> frequencies;
  for (std::int64_t n = 0; n < width / 2; ++n)
    frequencies.push_back(
        std::pow(base, -2.0 * static_cast<double>(n) / static_cast<double>(width)));
  return frequencies;
}

double dynamic_base(const RopeScaling& s, std::int64_t length) {
  const auto trained = static_cast<double>(s.trained_positions);
  const double longer = std::max(static_cast<double>(length), trained) / trained;
  const auto width = static_cast<double>(s.width);
  return s.base * std::pow(s.factor * longer - (s.factor - 1), width / (width - 2));
}

// Waves that fit fewer than `low` times into the trained length are stretched; those that fit more
// than `high` times are unchanged.
double llama3(const RopeScaling& s, double frequency) {
  const double fits = static_cast<double>(s.trained_positions) * frequency / (2 * std::numbers::pi);
  if (fits < s.low_frequency_factor) return frequency / s.factor;
  if (fits > s.high_frequency_factor) return frequency;
  const double share =
      (fits - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor);
  return (1 - share) * frequency / s.factor + share * frequency;
}

// The pair whose wave fits `turns` times into the trained length.
double pair_that_turns(const RopeScaling& s, double turns) {
  const auto trained = static_cast<double>(s.trained_positions);
  return static_cast<double>(s.width) * std::log(trained / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(s.base));
}

std::vector<double> yarn(const RopeScaling& s) {
  double first = pair_that_turns(s, s.beta_fast);
  double last = pair_that_turns(s, s.beta_slow);
  if (s.rounded_ramp) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, static_cast<double>(s.width - 1));
  if (first == last) last += 0.001;
  std::vector<double> frequencies = powers(s.base, s.width);
  for (std::size_t n = 0; n < frequencies.size(); ++n) {
    const double stretched =
        std::clamp((static_cast<double>(n) - first) / (last - first), 0.0, 1.0);
    frequencies[n] *= stretched / s.factor + (1 - stretched);
  }
  return frequencies;
}

}  // namespace

std::vector<double> rope_frequencies(const RopeScaling& scaling, std::int64_t length) {
  if (scaling.kind == RopeScalingKind::kYarn) return yarn(scaling);
  if (scaling.kind == RopeScalingKind::kDynamic)
    return powers(dynamic_base(scaling, length), scaling.width);
  std::vector<double> frequencies = powers(scaling.base, scaling.width);
  if (scaling.kind == RopeScalingKind::kLong) {
    const std::vector<double>& factors =
        length > scaling.trained_positions ? scaling.long_factors : scaling.short_factors;
    for (std::size_t n = 0; n < frequencies.size(); ++n) frequencies[n] /= factors[n];
    return frequencies;
  }
  if (scaling.kind == RopeScalingKind::kProportional)
    std::fill(frequencies.begin() + scaling.turning, frequencies.end(), 0.0);
  for (double& frequency : frequencies) {
    if (scaling.kind == RopeScalingKind::kProportional) frequency /= scaling.factor;
    if (scaling.kind == RopeScalingKind::kLinear) frequency /= scaling.factor;
    if (scaling.kind == RopeScalingKind::kLlama3) frequency = llama3(scaling, frequency);
  }
  return frequencies;
}

}  // namespace heed
