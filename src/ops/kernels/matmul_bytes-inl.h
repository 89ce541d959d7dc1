// Rows that were rounded to bytes, times panels of codes (block_panels.h). Included once for each
// target.
//
// A few slabs of a panel are opened for all rows: their codes become bytes, four of a column in
// each 32-bit word. Four bytes of a row are multiplied with a word of every column at once, and the
// products of two neighbours are added in 16 bits. A code of up to 4 bits allows 8 such sums before
// 16 bits could overflow, one of 5 bits or a value of MXFP4 4, one of 6 bits 2 (63 * 127 * 2 * 2 <
// 2^15). Codes of 8 bits and values of IQ4_NL and IQ4_XS fill their bytes: they are multiplied in
// 16 bits and summed in 32. Each group's whole sum is multiplied by the scales of the weights and
// the row.
//
// AVX512-VNNI sums four products in 32 bits in one instruction, and 6 rows at once: one thread of a
// Zen 4, 512 rows of 2,048 x 5,632, GFLOP/s, beside 112 in f32: Q4_0 225 -> 295, Q4_K 200 -> 293,
// Q6_K 163 -> 225. Subtracting the codes' centre from the products instead of adding an offset is
// one operation less, and 265 (Q4_K).
//
// Bytes that are filled, one thread of a Zen 4, 2,048 x 5,632, GFLOP/s in f32 and by bytes, with
// AVX512-VNNI, with AVX-512 alone and with AVX2; one row from the cache:
//
//                      VNNI          AVX-512       AVX2
//   Q8_0,   512 rows   109 -> 292    109 -> 131    110 -> 125
//   Q8_0,   1 row      56 -> 140     56 -> 99      55 -> 79
//   IQ4_NL, 512 rows   109 -> 295    109 -> 134    109 -> 125
//   IQ4_NL, 1 row      47 -> 164     -             46 -> 69
//   MXFP4,  512 rows   109 -> 294    109 -> 202    109 -> 173
//
// Without VNNI, four products take two multiplications, as many as two fours of smaller codes.
// With intrinsics that split the bytes at each use: 74 (Q8_0, AVX2).
//
// Two threads of a Zen 3 (AVX2), 512 rows of 2,048 x 5,632, GFLOP/s, beside 140 in f32: Q4_0 228,
// Q4_K 232, Q6_K 142; since then Q6_K takes a fifth less, as the first product of a sum is not
// added to zeros. One thread, before and after: rows in pieces of 256 bytes, one below the other,
// 91 to 140 (rows of 2,048 bytes share few sets of the L1 cache); inline assembly instead of
// intrinsics, 70 to 91. Tried: codes of 8 bits as two of 4, with two products each: 45, where f32
// gave 64.
#if defined(HEED_KERNELS_CPU_MATMUL_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_MATMUL_BYTES_INL_H
#undef HEED_KERNELS_CPU_MATMUL_BYTES_INL_H
#else
#define HEED_KERNELS_CPU_MATMUL_BYTES_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/machine.h"
#include "ops/kernels/matmul_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace {

// Sums of the four products of words, in 32 bits: with AVX512-VNNI, and without vectors.
using WholeSums = hn::Vec<Ints>;
HWY_INLINE WholeSums whole_sums(WholeSums sums) { return sums; }
HWY_INLINE void add_bytes(WholeSums& sums, hn::Vec<Words> codes, hn::Vec<Words> a) {
#if HWY_TARGET == HWY_AVX3
  asm("vpdpbusd %2, %1, %0" : "+v"(sums.raw) : "v"(codes.raw), "v"(a.raw));
#elif HWY_TARGET == HWY_SCALAR
  std::int32_t sum = hn::GetLane(sums);
  for (int shift = 0; shift < 32; shift += 8)
    sum += static_cast<std::int32_t>(hn::GetLane(codes) >> shift & 255) *
           static_cast<std::int8_t>(hn::GetLane(a) >> shift & 255);
  sums = hn::Set(Ints(), sum);
#endif
}
HWY_INLINE void set_bytes(WholeSums& sums, hn::Vec<Words> codes, hn::Vec<Words> a) {
  sums = hn::Zero(Ints());
  add_bytes(sums, codes, a);
}

#if HWY_TARGET != HWY_SCALAR
// Sums of two neighbouring products each, in 16 bits.
using Shorts = hn::Repartition<std::int16_t, Floats>;
using PairSums = hn::Vec<Shorts>;
HWY_INLINE void set_bytes(PairSums& sums, hn::Vec<Words> codes, hn::Vec<Words> a) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  // As inline assembly: of the intrinsics, g++ 12 makes trees that it spills.
  asm("vpmaddubsw %2, %1, %0" : "=v"(sums.raw) : "v"(codes.raw), "v"(a.raw));
#else
  const Shorts d;
  const hn::RebindToUnsigned<Shorts> unsigned_d;
  const auto of_a = hn::BitCast(d, a);
  const auto of_codes = hn::BitCast(unsigned_d, codes);
  const auto first = hn::BitCast(d, hn::And(of_codes, hn::Set(unsigned_d, 0xFF)));
  const auto second = hn::BitCast(d, hn::ShiftRight<8>(of_codes));
  const auto firsts = hn::Mul(first, hn::ShiftRight<8>(hn::ShiftLeft<8>(of_a)));
  sums = hn::Add(firsts, hn::Mul(second, hn::ShiftRight<8>(of_a)));
#endif
}
HWY_INLINE void add_bytes(PairSums& sums, hn::Vec<Words> codes, hn::Vec<Words> a) {
  PairSums pairs;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  asm("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0"
      : "+v"(sums.raw), "=&v"(pairs.raw)
      : "v"(codes.raw), "v"(a.raw));
#else
  set_bytes(pairs, codes, a);
  sums = hn::Add(sums, pairs);
#endif
}
HWY_INLINE WholeSums whole_sums(PairSums sums) {
#if HWY_TARGET == HWY_AVX3
  return WholeSums{_mm512_madd_epi16(sums.raw, _mm512_set1_epi16(1))};
#elif HWY_TARGET == HWY_AVX2
  return WholeSums{_mm256_madd_epi16(sums.raw, _mm256_set1_epi16(1))};
#else
  const auto pairs = hn::BitCast(Ints(), sums);
  return hn::Add(hn::ShiftRight<16>(hn::ShiftLeft<16>(pairs)), hn::ShiftRight<16>(pairs));
#endif
}
#endif

// How many vectors the bytes of a word are multiplied in.
template <typename Sums>
constexpr int kParts = 1;
// The codes of such a part, and the numbers of the row.
template <typename Sums>
HWY_INLINE hn::Vec<Words> part_of_codes(hn::Vec<Words> codes, int /*part*/) {
  return codes;
}
template <typename Sums>
HWY_INLINE hn::Vec<Words> part_of_row(hn::Vec<Words> a, int /*part*/) {
  return a;
}

#if HWY_TARGET != HWY_SCALAR
// Sums in 32 bits of codes that fill their bytes, without AVX512-VNNI: two products would overflow
// 16 bits (2 * 255 * 127 > 2^15). The even and the odd bytes of a word are multiplied as 16 bits.
struct WideSums {
  hn::Vec<Ints> sums;
};
template <>
constexpr int kParts<WideSums> = 2;
template <>
HWY_INLINE hn::Vec<Words> part_of_codes<WideSums>(hn::Vec<Words> codes, int part) {
  const hn::RebindToUnsigned<Shorts> d;
  const auto bytes = hn::BitCast(d, codes);
  return hn::BitCast(Words(),
                     part == 0 ? hn::And(bytes, hn::Set(d, 0xFF)) : hn::ShiftRight<8>(bytes));
}
template <>
HWY_INLINE hn::Vec<Words> part_of_row<WideSums>(hn::Vec<Words> a, int part) {
  const auto bytes = hn::BitCast(Shorts(), a);
  return hn::BitCast(Words(), hn::ShiftRight<8>(part == 0 ? hn::ShiftLeft<8>(bytes) : bytes));
}
HWY_INLINE void set_bytes(WideSums& sums, hn::Vec<Words> codes, hn::Vec<Words> a) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  asm("vpmaddwd %2, %1, %0" : "=v"(sums.sums.raw) : "v"(codes.raw), "v"(a.raw));
#else
  const auto of_codes = hn::BitCast(Ints(), codes), of_a = hn::BitCast(Ints(), a);
  const auto firsts = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(of_codes)),
                              hn::ShiftRight<16>(hn::ShiftLeft<16>(of_a)));
  sums.sums = hn::Add(firsts, hn::Mul(hn::ShiftRight<16>(of_codes), hn::ShiftRight<16>(of_a)));
#endif
}
HWY_INLINE void add_bytes(WideSums& sums, hn::Vec<Words> codes, hn::Vec<Words> a) {
  WideSums pairs;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
      : "+v"(sums.sums.raw), "=&v"(pairs.sums.raw)
      : "v"(codes.raw), "v"(a.raw));
#else
  set_bytes(pairs, codes, a);
  sums.sums = hn::Add(sums.sums, pairs.sums);
#endif
}
HWY_INLINE WholeSums whole_sums(WideSums sums) { return sums.sums; }
#endif

// The first products of a sum are not added to zeros.
template <typename Sums>
HWY_INLINE void sum_bytes(bool first, Sums& sums, hn::Vec<Words> codes, hn::Vec<Words> a) {
  first ? set_bytes(sums, codes, a) : add_bytes(sums, codes, a);
}

// How the codes of a type become bytes, and how they are summed.
template <int kStoredBits, bool kHasTable, int kMost>
struct Form {
  static constexpr int kBits = kStoredBits;
  static constexpr bool kTable = kHasTable;
  static constexpr bool kFills = kMost > 63;  // two products overflow 16 bits
  // By slab, or, if a type has groups of 16 or codes of 5 bits, by half a slab.
  static constexpr int kGroups = kBits == 4 || kBits == 8 ? 1 : 2;
  static constexpr int kOfGroup = kFours / kGroups;                     // fours
  static constexpr int kFitting = kMost < 16 ? 8 : kMost < 32 ? 4 : 2;  // fours, in 16 bits
};
template <int kBits>
using CodesForm = Form<kBits, false, (1 << kBits) - 1>;
// The values of a table, from the least one on.
constexpr int kMostOfSmallTable = 31;
using SmallTableForm = Form<4, true, kMostOfSmallTable>;  // MXFP4
using TableForm = Form<4, true, 255>;                     // IQ4_NL and IQ4_XS

// Calls `use` with the form of a type.
template <typename Use>
void with_form(const BlockType& type, const Use& use) {
  if (type.values != nullptr) {
    const int most = *std::max_element(type.values, type.values + 16) + centre_of(type);
    return most <= kMostOfSmallTable ? use(SmallTableForm()) : use(TableForm());
  }
  with_bits(type, [&](auto bits) { use(CodesForm<bits>()); });
}

// Calls `use` with the type of sums that is fastest on this CPU. All give the same bits.
template <typename F, typename Use>
void with_sums(const Use& use) {
#if HWY_TARGET == HWY_SCALAR
  use(std::type_identity<WholeSums>());
#else
  if constexpr (HWY_TARGET == HWY_AVX3)
    if (multiplies_bytes_in_fours()) return use(std::type_identity<WholeSums>());
  use(std::type_identity<std::conditional_t<F::kFills, WideSums, PairSums>>());
#endif
}

// How many fours are added before their sums are widened.
template <typename F, typename Sums>
constexpr int kChunk =
    F::kFills || std::is_same_v<Sums, WholeSums> ? F::kOfGroup : std::min(F::kFitting, F::kOfGroup);

template <typename Sums>
constexpr int kTileRows = HWY_TARGET == HWY_SCALAR          ? 1
                          : std::is_same_v<Sums, WholeSums> ? 6
                                                            : 4;

template <typename Sums>
struct OpenSlab {
  std::uint32_t words[kParts<Sums> * kFours][kPanelColumns];
  float scale[2][kPanelColumns], offset[2][kPanelColumns];  // by group
};

// The bytes of four numbers: codes, or values of the table.
template <typename F, int kFour>
HWY_INLINE hn::Vec<Words> bytes_of(const BlockType& type, const BlockLayout& layout,
                                   hn::Vec<Words> table, const char* words) {
  const auto codes = four_of<F::kBits, kFour>(words);
  if constexpr (F::kTable) return look_up(type, layout, table, codes);
  return codes;
}

template <typename F, typename Sums, int kFour>
HWY_INLINE void open_four(const BlockType& type, const BlockLayout& layout, hn::Vec<Words> table,
                          const char* words, int column, OpenSlab<Sums>& to) {
  const auto bytes = bytes_of<F, kFour>(type, layout, table, words);
  for (int part = 0; part < kParts<Sums>; ++part)
    hn::StoreU(part_of_codes<Sums>(bytes, part), Words(), to.words[part * kFours + kFour] + column);
}

template <typename F, typename Sums, int... kFour>
HWY_INLINE void open_vector(std::integer_sequence<int, kFour...> /*of a slab*/,
                            const BlockType& type, const BlockLayout& layout, hn::Vec<Words> table,
                            const char* words, int column, OpenSlab<Sums>& to) {
  (open_four<F, Sums, kFour>(type, layout, table, words, column, to), ...);
}

// Opens slab `index` of a block, and prefetches as much ahead.
template <typename F, typename Sums>
HWY_INLINE void open_slab(const BlockType& type, const BlockLayout& layout, const char* block,
                          std::int64_t index, OpenSlab<Sums>& to) {
  constexpr std::int64_t kBytesAhead = 4096;
  const char* const slab = block + layout.factors + index * layout.slab;
  for (std::int64_t line = 0; line < layout.slab; line += kCacheLine)
    __builtin_prefetch(slab + kBytesAhead + line, 0, 3);
  const Floats d;
  const auto table = table_of(type, layout);
  for (int j = 0; j < kVectors; ++j) {
    const int column = j * kVectorLanes;
    for (int group = 0; group < F::kGroups; ++group) {
      const int own = type.group < kSlabDepth ? group : 0;
      const Line line = line_of(type, layout, block, slab, own, j);
      hn::StoreU(line.scale, d, to.scale[group] + column);
      hn::StoreU(line.offset, d, to.offset[group] + column);
    }
    open_vector<F, Sums>(std::make_integer_sequence<int, kFours>(), type, layout, table,
                         slab + layout.scales + layout.least + column * kWordBytes, column, to);
  }
}

// The sums of one group of a slab, for kRows rows from `a` on.
template <typename F, typename Sums, int kRows>
HWY_INLINE void sum_group(const OpenSlab<Sums>& slab, const std::int8_t* a, int group,
                          hn::Vec<Ints> (&wholes)[kRows][kVectors]) {
  const Words d;
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j) wholes[i][j] = hn::Zero(Ints());
  for (int chunk = 0; chunk < F::kOfGroup; chunk += kChunk<F, Sums>) {
    Sums sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int of_chunk = 0; of_chunk < kChunk<F, Sums>; ++of_chunk) {
      const int four = group * F::kOfGroup + chunk + of_chunk;
#pragma GCC unroll 2
      for (int part = 0; part < kParts<Sums>; ++part) {
        hn::Vec<Words> codes[kVectors];
        for (int j = 0; j < kVectors; ++j)
          codes[j] = hn::LoadU(d, slab.words[part * kFours + four] + j * kVectorLanes);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
          std::uint32_t word;
          std::memcpy(&word, a + (i * kParts<Sums> + part) * kPieceDepth + 4 * four, sizeof word);
          const auto of_a = hn::Set(d, word);
          for (int j = 0; j < kVectors; ++j)
            sum_bytes(of_chunk == 0 && part == 0, sums[i][j], codes[j], of_a);
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kVectors; ++j)
        wholes[i][j] = hn::Add(wholes[i][j], whole_sums(sums[i][j]));
  }
}

// The parts of a piece's rows, one after the other.
template <typename Sums, int kRows>
HWY_INLINE void split_rows(const std::int8_t* a, std::int64_t slabs, std::int8_t* to) {
  const Words d;
  for (int i = 0; i < kRows; ++i)
    for (std::int64_t k = 0; k < slabs * kSlabDepth; k += kWordBytes * kVectorLanes) {
      const auto words =
          hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(a + i * kPieceDepth + k));
      for (int part = 0; part < kParts<Sums>; ++part)
        hn::StoreU(
            part_of_row<Sums>(words, part), d,
            reinterpret_cast<std::uint32_t*>(to + (i * kParts<Sums> + part) * kPieceDepth + k));
    }
}

// kRows rows times the opened slabs of a piece.
template <typename F, typename Sums, int kRows>
HWY_NOINLINE void bytes_tile(const BytesByCodes& p, const OpenSlab<Sums>* open, std::int64_t piece,
                             std::int64_t slabs, std::int64_t row, std::int64_t column) {
  const Floats d;
  Vector totals[kRows][kVectors];
  clear(totals);
  const std::int8_t* a = p.a + (piece * p.rows_of_piece + row) * kPieceDepth;
  alignas(kCacheLine) std::int8_t split[kParts<Sums> > 1 ? 2 * kRows * kPieceDepth : 1];
  if constexpr (kParts<Sums> > 1) {
    split_rows<Sums, kRows>(a, slabs, split);
    a = split;
  }
  const RoundedSlab* const of_a = p.slabs + (piece * p.rows_of_piece + row) * kPieceSlabs;
  for (std::int64_t slab = 0; slab < slabs; ++slab)
    for (int group = 0; group < F::kGroups; ++group) {
      hn::Vec<Ints> wholes[kRows][kVectors];
      sum_group<F, Sums, kRows>(open[slab], a + slab * kSlabDepth, group, wholes);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const RoundedSlab& own = of_a[i * kPieceSlabs + slab];
        const Vector scale = hn::Set(d, own.scale);
        const Vector sum =
            hn::Set(d, F::kGroups == 1 ? own.sums[0] + own.sums[1] : own.sums[group]);
        for (int j = 0; j < kVectors; ++j) {
          const Vector of_b = hn::LoadU(d, open[slab].scale[group] + j * kVectorLanes);
          const Vector offset = hn::LoadU(d, open[slab].offset[group] + j * kVectorLanes);
          totals[i][j] = hn::MulAdd(hn::Mul(hn::ConvertTo(d, wholes[i][j]), of_b), scale,
                                    hn::MulAdd(offset, sum, totals[i][j]));
        }
      }
    }
  for (int i = 0; i < kRows; ++i)
    finish_row(totals[i], p.out + (row + i) * p.out_row + column, p.columns - column,
               piece == 0 && p.bias != nullptr ? p.bias + column : nullptr, piece > 0);
}

template <typename F, typename Sums>
void multiply_bytes_of(const BytesByCodes& p) {
  alignas(kCacheLine) OpenSlab<Sums> open[kPieceSlabs];
  const BlockLayout layout(*p.type, kPanelColumns);
  const std::int64_t all = p.depth / kSlabDepth;
  const char* panel = p.b;
  for (std::int64_t column = 0; column < p.columns; column += kPanelColumns, panel += p.b_panel)
    for (std::int64_t first = 0; first < all; first += kPieceSlabs) {
      const std::int64_t piece = first / kPieceSlabs;
      const std::int64_t slabs = std::min(kPieceSlabs, all - first);
      for (std::int64_t slab = first; slab < first + slabs; ++slab)
        open_slab<F, Sums>(*p.type, layout, panel + slab / layout.slabs * layout.block,
                           slab % layout.slabs, open[slab - first]);
      std::int64_t row = 0;
      for (; row + kTileRows<Sums> <= p.rows; row += kTileRows<Sums>)
        bytes_tile<F, Sums, kTileRows<Sums>>(p, open, piece, slabs, row, column);
      for (; row < p.rows; ++row) bytes_tile<F, Sums, 1>(p, open, piece, slabs, row, column);
    }
}

void multiply_bytes(const BytesByCodes& p) {
  with_form(*p.type, [&](auto form) {
    using F = decltype(form);
    with_sums<F>([&](auto sums) { multiply_bytes_of<F, typename decltype(sums)::type>(p); });
  });
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
