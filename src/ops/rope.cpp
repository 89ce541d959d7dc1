#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "base/blocks.h"
#include "base/numbers.h"
#include "heed/error.h"
#include "heed/operators.h"
#include "ops/kernels/blocks.h"
#include "tensor/text.h"

namespace heed {
namespace {

template <typename T, typename Angle>
struct RopeRow {
  const T* x = nullptr;
  std::int64_t stride = 1;         // of x, in elements
  std::int64_t width = 0;          // D
  std::int64_t turning = 0;        // R
  std::int64_t pair_step = 0;      // from the first element of a pair to the first of the next
  std::int64_t pair_width = 0;     // from a pair's first element to its second
  const Angle* cosines = nullptr;  // [R / 2]
  const Angle* sines = nullptr;    // negated for the inverse rotation
  T* y = nullptr;                  // contiguous
};

// Rotates pairs of a row: one multiply-add pair per element read and written, so it is bound by
// memory, and plain loops suffice.
template <typename T, typename Angle>
void rope_row(const RopeRow<T, Angle>& row) {
  for (std::int64_t n = 0; n < row.turning / 2; ++n) {
    const std::int64_t first = n * row.pair_step;
    const std::int64_t second = first + row.pair_width;
    const auto a = static_cast<Angle>(row.x[first * row.stride]);
    const auto b = static_cast<Angle>(row.x[second * row.stride]);
    row.y[first] = static_cast<T>(a * row.cosines[n] - b * row.sines[n]);
    row.y[second] = static_cast<T>(b * row.cosines[n] + a * row.sines[n]);
  }
  for (std::int64_t c = row.turning; c < row.width; ++c) row.y[c] = row.x[c * row.stride];
}

std::int64_t turning(const RopeArgs& args) {
  return args.rotary_dim == 0 ? args.x.dim(3) : args.rotary_dim;
}

void check_positions(const RopeArgs& args) {
  const ConstView& x = args.x;
  const auto batch = static_cast<std::size_t>(x.dim(0));
  if (args.offset.size() > 1 && args.offset.size() != batch)
    fail("rope", "offset", fmt::format("a list of {}", args.offset.size()),
         fmt::format("none, one or {} entries (the batch)", batch));
  if (!args.positions.given()) return;
  if (!args.offset.empty()) fail("rope", "positions", "given beside offset", "one of them");
  const ConstView& positions = args.positions;
  if (positions.dtype() != DType::kI64 && positions.dtype() != DType::kI32)
    fail("rope", "positions", name(positions.dtype()), "i64 or i32");
  if (positions.rank() != 2 || (positions.dim(0) != 1 && positions.dim(0) != x.dim(0)) ||
      positions.dim(1) != x.dim(2))
    fail("rope", "positions.shape", to_string(positions.shape()),
         fmt::format("[{}, {}] or [1, {}]", x.dim(0), x.dim(2), x.dim(2)));
}

void check_angles(const RopeArgs& args) {
  const ConstView& cosines = args.cosines;
  if (cosines.given() != args.sines.given())
    fail("rope", cosines.given() ? "sines" : "cosines", {},
         cosines.given() ? "one, as cosines are given" : "one, as sines are given");
  if (!cosines.given()) return;
  if (cosines.dtype() != args.x.dtype() || args.sines.dtype() != args.x.dtype())
    fail("rope", cosines.dtype() != args.x.dtype() ? "cosines" : "sines",
         name(cosines.dtype() != args.x.dtype() ? cosines.dtype() : args.sines.dtype()),
         fmt::format("{} (x's type)", name(args.x.dtype())));
  if (cosines.shape() != args.sines.shape())
    fail("rope", "sines.shape", to_string(args.sines.shape()),
         fmt::format("{} (cosines')", cosines.shape()));
  const std::int64_t half = turning(args) / 2;
  if (cosines.rank() == 3) {
    if (cosines.shape() != Shape({args.x.dim(0), args.x.dim(2), half}))
      fail("rope", "cosines.shape", to_string(cosines.shape()),
           fmt::format("[{}, {}, {}]", args.x.dim(0), args.x.dim(2), half));
    if (args.positions.given() || !args.offset.empty())
      fail("rope", args.positions.given() ? "positions" : "offset", "given",
           "none (cosines are given for every token)");
    return;
  }
  if (cosines.rank() != 2 || cosines.dim(1) != half)
    fail("rope", "cosines.shape", to_string(cosines.shape()),
         fmt::format("[positions, {}] or [batch, tokens, {}]", half, half));
}

void check(const RopeArgs& args) {
  require_enumerator("rope", "pairs", args.pairs, RopePairs::kNeighbours);
  if (!args.x.given() || !is_floating(args.x.dtype()))
    fail("rope", "x", to_string(args.x), "f64, f32, f16 or bf16");
  if (args.x.rank() != 4) fail("rope", "x.shape", to_string(args.x.shape()), "[B, H, T, D]");
  const std::int64_t turns = turning(args);
  if (turns % 2 != 0 || 0 > turns || turns > args.x.dim(3))
    fail("rope", args.rotary_dim == 0 ? "x.shape[3]" : "rotary_dim", turns,
         fmt::format("an even number of at most D = {}", args.x.dim(3)));
  if (!(std::isfinite(args.base) && args.base > 0))
    fail("rope", "base", args.base, "a positive number");
  check_positions(args);
  check_angles(args);
}

std::int64_t position_of(const RopeArgs& args, std::int64_t batch, std::int64_t token) {
  if (!args.positions.given()) {
    if (args.offset.empty()) return token;
    return args.offset[args.offset.size() == 1 ? 0 : static_cast<std::size_t>(batch)] + token;
  }
  const ConstView row = args.positions.select(0, args.positions.dim(0) == 1 ? 0 : batch);
  const std::int64_t at = token * row.stride(0);
  return row.dtype() == DType::kI64 ? row.data<std::int64_t>()[at]
                                    : std::int64_t{row.data<std::int32_t>()[at]};
}

// The cosines and sines of every token, [B, T, R / 2], in the computing type of the rows.
struct Angles {
  Tensor cosines;
  Tensor sines;
};

// base^(-2 n / R) for every pair.
std::vector<double> frequencies_of(const RopeArgs& args) {
  const std::int64_t turns = turning(args);
  std::vector<double> frequencies;
  for (std::int64_t n = 0; n < turns / 2; ++n)
    frequencies.push_back(
        std::pow(args.base, -2.0 * static_cast<double>(n) / static_cast<double>(turns)));
  return frequencies;
}

template <typename Angle>
void angles_of_base(const std::vector<double>& frequencies, std::int64_t position, Angle* cosines,
                    Angle* sines) {
  for (const double frequency : frequencies) {
    const double angle = static_cast<double>(position) * frequency;
    *cosines++ = static_cast<Angle>(std::cos(angle));
    *sines++ = static_cast<Angle>(std::sin(angle));
  }
}

template <typename Angle>
void angles_of_table(const Tensor& table, std::int64_t position, Angle* to) {
  if (0 > position || position >= table.dim(0))
    fail("rope", "cosines.shape[0]", table.dim(0),
         fmt::format("above {}, the position of a token", position));
  const auto* row = table.data<Angle>() + position * table.dim(1);
  std::copy_n(row, table.dim(1), to);
}

template <typename Angle>
Angles angles_of_positions(const RopeArgs& args, const Angles& tables) {
  const std::int64_t batches = args.x.dim(0);
  const std::int64_t tokens = args.x.dim(2);
  const std::int64_t half = turning(args) / 2;
  const DType dtype = DTypeOf<Angle>::value;
  const std::vector<double> frequencies = frequencies_of(args);
  Angles angles = {Tensor::empty({batches, tokens, half}, dtype),
                   Tensor::empty({batches, tokens, half}, dtype)};
  for (std::int64_t row = 0; row < batches * tokens; ++row) {
    auto* cosines = angles.cosines.template data<Angle>() + row * half;
    auto* sines = angles.sines.template data<Angle>() + row * half;
    const std::int64_t position = position_of(args, row / tokens, row % tokens);
    if (args.cosines.given()) {
      angles_of_table(tables.cosines, position, cosines);
      angles_of_table(tables.sines, position, sines);
    } else {
      angles_of_base(frequencies, position, cosines, sines);
    }
  }
  return angles;
}

// Given per token, or looked up by position in tables or computed from the base.
template <typename Angle>
Angles angles_of(const RopeArgs& args, double sign) {
  const DType dtype = DTypeOf<Angle>::value;
  Angles angles;
  if (args.cosines.given())
    angles = {Tensor::converted(args.cosines, dtype), Tensor::converted(args.sines, dtype)};
  if (!args.cosines.given() || args.cosines.rank() == 2)
    angles = angles_of_positions<Angle>(args, angles);
  auto* sines = angles.sines.template data<Angle>();
  for (std::int64_t n = 0; n < angles.sines.element_count(); ++n)
    sines[n] *= static_cast<Angle>(sign);
  return angles;
}

template <typename T, typename Angle>
void turn(const RopeArgs& args, const ConstView& x, double sign, const View& y) {
  const Angles angles = angles_of<Angle>(args, sign);
  const std::int64_t heads = x.dim(1);
  const std::int64_t tokens = x.dim(2);
  const std::int64_t turns = turning(args);
  const bool halves = args.pairs == RopePairs::kHalves;
  const auto turn_head = [&](std::int64_t place) {
    const std::int64_t batch = place / heads;
    const T* from = x.data<T>() + batch * x.stride(0) + place % heads * x.stride(1);
    T* to = y.data<T>() + batch * y.stride(0) + place % heads * y.stride(1);
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t angle = (batch * tokens + token) * (turns / 2);
      rope_row<T, Angle>({.x = from + token * x.stride(2),
                          .stride = x.stride(3),
                          .width = x.dim(3),
                          .turning = turns,
                          .pair_step = halves ? 1 : 2,
                          .pair_width = halves ? turns / 2 : 1,
                          .cosines = angles.cosines.template data<Angle>() + angle,
                          .sines = angles.sines.template data<Angle>() + angle,
                          .y = to + token * y.stride(2)});
    }
  };
  in_blocks(x.dim(0) * heads, kernels::cpu::rows_of_block(tokens * x.dim(3)),
            [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t place = begin; place < end; ++place) turn_head(place);
            });
}

void turn_into(const RopeArgs& args, const ConstView& x, double sign, const View& y) {
  if (y.shape() != x.shape() || y.dtype() != x.dtype() || (x.dim(3) > 1 && y.stride(3) != 1))
    fail("rope", "y", to_string(y), fmt::format("{}, rows contiguous", to_string(x)));
  switch (x.dtype()) {
    case DType::kF64:
      return turn<double, double>(args, x, sign, y);
    case DType::kF16:
      return turn<f16, float>(args, x, sign, y);
    case DType::kBF16:
      return turn<bf16, float>(args, x, sign, y);
    default:
      return turn<float, float>(args, x, sign, y);
  }
}

Tensor turned(const RopeArgs& args, const ConstView& x, double sign) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  turn_into(args, x, sign, y);
  return y;
}

}  // namespace

Tensor rope(const RopeArgs& args) {
  check(args);
  return turned(args, args.x, 1);
}

void rope(const RopeArgs& args, const View& y) {
  check(args);
  turn_into(args, args.x, 1, y);
}

namespace {

void check_cotangent(const RopeArgs& args, const ConstView& dy) {
  check(args);
  if (dy.shape() != args.x.shape() || dy.dtype() != args.x.dtype())
    fail("rope", "dy", to_string(dy), to_string(args.x));
}

}  // namespace

Tensor rope_backward(const RopeArgs& args, const ConstView& dy) {
  check_cotangent(args, dy);
  return turned(args, dy, -1);
}

void rope_backward(const RopeArgs& args, const ConstView& dy, const View& dx) {
  check_cotangent(args, dy);
  turn_into(args, dy, -1, dx);
}

}  // namespace heed
