// Operands in pairs of bf16, for `MultiplyPairs`. Two consecutive terms of a product are one number
// of 32 bits, the first of them in its high half. Included once for each target.
#if defined(HEED_SWEEP_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_SWEEP_PAIRS_INL_H
#undef HEED_SWEEP_PAIRS_INL_H
#else
#define HEED_SWEEP_PAIRS_INL_H
#endif

#include <bit>
#include <cstdint>
#include <type_traits>

#include "attention/sweep/keys-inl.h"
#include "attention/sweep/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::sweep::HWY_NAMESPACE {

/// Whether the sweep in T can multiply in pairs.
template <typename T>
constexpr bool kHasPairs = HWY_TARGET == HWY_AVX3 && std::is_same_v<T, float>;

/// Pairs that hold `count` numbers; the last one ends with 0 if `count` is odd.
constexpr std::int64_t pairs_of(std::int64_t count) { return (count + 1) / 2; }

#if HWY_TARGET == HWY_AVX3
/// Rounds to bf16, to nearest even.
HWY_INLINE Vec<float> pair_of(Vec<float> first, Vec<float> second) {
  alignas(64) static constexpr std::uint16_t kInterleaved[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  __m512i halves;  // of `second`, then those of `first`
  asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(halves) : "v"(first.raw), "v"(second.raw));
  return Vec<float>{
      _mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_load_si512(kInterleaved), halves))};
}

/// Rounds `count` lines to bf16, and packs two after one another: to[line / 2][lane]. `to` may be
/// `from` itself.
inline void pack_lines(std::int64_t count, const float* from, std::int64_t from_row,
                       std::int64_t lanes, float* to, std::int64_t to_row) {
  const Tag<float> d;
  for (std::int64_t j = 0; j < count; j += 2, from += 2 * from_row, to += to_row)
    for (std::int64_t lane = 0; lane < lanes; lane += kLanes<float>) {
      const auto second = j + 1 < count ? hn::LoadU(d, from + from_row + lane) : hn::Zero(d);
      hn::Store(pair_of(hn::LoadU(d, from + lane), second), d, to + lane);
    }
}

/// Rounds lanes [begin, end) of `count` lines to bf16, and packs two neighbours: to[line][lane /
/// 2]. `begin` is a multiple of the lanes of a vector. Lines are 64 numbers, or 32 pairs.
inline void pack_lanes(std::int64_t count, const float* from, std::int64_t begin, std::int64_t end,
                       float* to) {
  const Tag<float> d;
  constexpr auto kLane = static_cast<std::int64_t>(kLanes<float>);
  for (std::int64_t j = 0; j < count; ++j, from += kTileRows, to += kTileRows / 2)
    for (std::int64_t x = begin; x < end; x += 2 * kLane) {
      const auto load = [&](std::int64_t at) HWY_ATTR {
        if (at >= end) return hn::Zero(d);
        const auto some = hn::FirstN(d, static_cast<std::size_t>(end - at));
        return hn::IfThenElseZero(some, hn::Load(d, from + at));
      };
      __m512i halves;  // even lanes are in the low halves
      asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(halves) : "v"(load(x + kLane).raw), "v"(load(x).raw));
      hn::StoreU(Vec<float>{_mm512_castsi512_ps(_mm512_rol_epi32(halves, 16))}, d, to + x / 2);
    }
}

/// Rounds numbers to bf16 as the functions above do.
inline void round_lines(std::int64_t count, float* lines) {
  for (std::int64_t i = 0; i < count * kTileRows; ++i)
    lines[i] = static_cast<float>(bf16(lines[i]));
}

/// Where the rows of a span of keys or values begin.
struct RowOffsets {
  std::int64_t at[kTileKeys];

  RowOffsets(const AttentionProblem& problem, const Input& of, KeySpan span) {
    for (std::int64_t j = 0; span.count > 0;) {
      const KeyRun run = first_run(problem, span);
      std::int64_t next = run.offset(of, span.kv_head);
      for (std::int64_t r = 0; r < run.count; ++r, next += of.row) at[j++] = next;
      span.begin += run.count;
      span.count -= run.count;
    }
  }
};

inline const std::uint16_t* bits_of(const Input& of) {
  return static_cast<const std::uint16_t*>(of.data);
}
constexpr std::uint32_t pair_of_bits(std::uint16_t first, std::uint16_t second) {
  return std::uint32_t{first} << 16 | second;
}

/// The rows of a tile of keys or values, two columns per pair: to[key][width].
inline void load_pairs_of_columns(const AttentionProblem& problem, const KeyOperand& of,
                                  const KeySpan& span, std::int64_t width, float* to) {
  const Tag<float> d;
  const hn::RebindToUnsigned<Tag<float>> words;
  const Input& k = of.values;
  const std::int64_t columns = of.columns;
  const RowOffsets rows(problem, k, span);
  for (std::int64_t j = 0; j < span.count; ++j, to += width) {
    const std::uint16_t* const from = bits_of(k) + rows.at[j];
    kernels::HWY_NAMESPACE::fetch_row(k, rows.at[j] + kTileKeys * k.row, columns);
    std::int64_t x = 0;
    for (; k.column == 1 && x + 2 * kLanes<float> <= columns; x += 2 * kLanes<float>) {
      const auto pairs =
          hn::BitCast(words, hn::LoadU(hn::Repartition<std::uint16_t, Tag<float>>(), from + x));
      const auto swapped = hn::Or(hn::ShiftLeft<16>(pairs), hn::ShiftRight<16>(pairs));
      hn::Store(hn::BitCast(d, swapped), d, to + x / 2);
    }
    for (; x < columns; x += 2) {
      const std::uint16_t second = x + 1 < columns ? from[(x + 1) * k.column] : 0;
      to[x / 2] = std::bit_cast<float>(pair_of_bits(from[x * k.column], second));
    }
  }
}

/// The values of a tile, two keys per pair: to[pair][width].
inline void load_pairs_of_keys(const AttentionProblem& problem, const KeySpan& span,
                               std::int64_t width, float* to) {
  const Tag<float> d;
  const hn::RebindToUnsigned<Tag<float>> words;
  const hn::Rebind<std::uint16_t, Tag<float>> halves;
  const Input& v = problem.v;
  const std::int64_t columns = problem.value_dim;
  const RowOffsets rows(problem, v, span);
  for (std::int64_t j = 0; j < span.count; j += 2, to += width) {
    const bool whole = j + 1 < span.count;
    const std::uint16_t* const first = bits_of(v) + rows.at[j];
    const std::uint16_t* const second = whole ? bits_of(v) + rows.at[j + 1] : first;
    kernels::HWY_NAMESPACE::fetch_row(v, rows.at[j] + kTileKeys * v.row, columns);
    if (whole) kernels::HWY_NAMESPACE::fetch_row(v, rows.at[j + 1] + kTileKeys * v.row, columns);
    std::int64_t x = 0;
    for (; whole && v.column == 1 && x + kLanes<float> <= columns; x += kLanes<float>) {
      const auto high = hn::ShiftLeft<16>(hn::PromoteTo(words, hn::LoadU(halves, first + x)));
      const auto low = hn::PromoteTo(words, hn::LoadU(halves, second + x));
      hn::Store(hn::BitCast(d, hn::Or(high, low)), d, to + x);
    }
    for (; x < columns; ++x) {
      const std::int64_t at = x * v.column;
      to[x] = std::bit_cast<float>(pair_of_bits(first[at], whole ? second[at] : std::uint16_t{0}));
    }
  }
}

/// One number of a pair.
inline float number_of(float pair, bool second) {
  const auto bits = std::bit_cast<std::uint32_t>(pair);
  return std::bit_cast<float>(second ? bits << 16 : bits & 0xFFFF0000U);
}

/// Whether the rows of pairs contain no infinity or NaN.
inline bool pairs_are_finite(const KeyRows<float>& rows, std::int64_t count, std::int64_t columns) {
  const Tag<float> d;
  const hn::RebindToUnsigned<Tag<float>> words;
  auto found = hn::Zero(d);
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t x = 0; x < columns; x += kLanes<float>) {
      const auto some = hn::FirstN(d, static_cast<std::size_t>(columns - x));
      const auto pairs = hn::IfThenElseZero(some, hn::Load(d, rows.data + j * rows.row + x));
      // The other half of a word does not change whether it is finite.
      const auto low = hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(words, pairs)));
      found = hn::Or(found, hn::Or(hn::Sub(pairs, pairs), hn::Sub(low, low)));  // 0, else NaN
    }
  return hn::AllTrue(d, hn::Eq(found, hn::Zero(d)));
}
#endif  // HWY_TARGET == HWY_AVX3

}  // namespace heed::kernels::sweep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
