// One row times panels of codes (block_panels.h), as in text generation. Included once for each
// target.
//
// Codes of 2 to 6 bits: each 32 numbers of the row become whole numbers of 24 bits, as three signed
// digits of base 256, whose products with the codes are added exactly, in 16 bits for as long as
// they fit. The rounding of the row changes a number by at most 2^-23 of the largest of the 32.
// Rows that the caller wants in bytes have one digit. Each group's sum is multiplied once by its
// scale.
//
// Two threads of a Zen 3 (AVX2, one core), 2,048 x 5,632, medians of five runs in turns on a busy
// machine, microseconds from cache and from memory, when codes became floats and three panels were
// read side by side, and now:
//
//          from cache    from memory
//   Q4_0   376 -> 294    429 -> 362
//   Q4_K   458 -> 305    492 -> 351
//   Q6_K   655 -> 488    749 -> 563
//
// Reading one panel after the other, prefetched 4,096 bytes ahead to L2, took 7 % (Q4_0) and 16 %
// (Q6_K) less time than three panels side by side, prefetched to L1.
//
// One thread of a Zen 4, 2,048 x 5,632, weights from memory, GB/s, of 29 to 31 that reading gives,
// with AVX-512: bytes summed in pairs and prefetched; in fours (AVX512-VNNI); words in the order of
// their use; not prefetched, one panel after the other:
//
//   Q4_0   21   21   21   28        Q6_K   15   17   17   26
//   Q4_K   14   16   16   25        Q8_0   19   19   19   26
//
// From the cache, Q4_K 21 -> 31 GB/s. A prefetch of all but one line in twenty is worse than none:
// it hides the others from the CPU's own, which then waits for that one. So with AVX2, the factors
// are prefetched too: Q4_K 10 -> 16 GB/s. Two panels side by side: 17 (Q4_K); prefetched 1,536
// bytes ahead to L1: 23; 8,192 or 16,384 bytes ahead: 17 and 15.
//
// The scales, which lie before their codes, are read before them: two threads of a Zen 4 write with
// a Llama of 110 M, Q8_0 and a row in bytes, 219 -> 234 tokens a second (medians of ten runs in
// turns; 5 % to 15 % in single rounds). With a row of three digits they spill: Q4_0 from the cache
// 118 -> 95 GFLOP/s. Waiting for each slab before the next one (`lfence`, or an address that
// depends on it): no gain.
//
// Codes that fill their bytes would overflow 16 bits. Unless the row is in bytes, they become
// floats: a mask, a conversion and a multiply-add for eight numbers with AVX2. A code left in its
// byte is 2^8 or 2^16 times too large; the row is divided by that once.
#if defined(HEED_KERNELS_CPU_MATMUL_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_MATMUL_ROW_INL_H
#undef HEED_KERNELS_CPU_MATMUL_ROW_INL_H
#else
#define HEED_KERNELS_CPU_MATMUL_ROW_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "ops/kernels/matmul_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace {

// With AVX-512, the CPU reads ahead better by itself.
constexpr bool kPrefetchesCodes = HWY_TARGET != HWY_AVX3;

// --- codes times whole numbers -------------------------------------------------------------------

// sums[digit][vector] of four numbers of a row: the group numbered kFirst + kOf of a slab. The
// first of a sum, 0, is not added to zeros.
template <typename F, int kDigits, int kFirst, int kOf, typename Sums>
HWY_INLINE void add_digits(const BlockType& type, const BlockLayout& layout, hn::Vec<Words> table,
                           const char* words, const RowSlab& a, Sums (&sums)[kDigits][kVectors]) {
  constexpr int kFour = kFirst + kOf;
  hn::Vec<Words> codes[kVectors];
#pragma GCC unroll 2
  for (int j = 0; j < kVectors; ++j)
    codes[j] = bytes_of<F, kFour>(type, layout, table, words + j * kVectorLanes * kWordBytes);
#pragma GCC unroll 3
  for (int digit = 0; digit < kDigits; ++digit) {
    std::uint32_t four;
    std::memcpy(&four, a.digits[digit] + 4 * kFour, sizeof four);
    const auto four_of_a = hn::Set(Words(), four);
    for (int part = 0; part < kParts<Sums>; ++part)
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j)
        sum_bytes(kOf == 0 && part == 0, sums[digit][j], part_of_codes<Sums>(codes[j], part),
                  part_of_row<Sums>(four_of_a, part));
  }
}

// Whole sums of the fours from kFirst on that fit into one sum.
template <typename F, int kDigits, typename Sums, int kFirst, int... kOf>
HWY_INLINE void sum_chunk(std::integer_sequence<int, kOf...> /*of the chunk*/,
                          const BlockType& type, const BlockLayout& layout, hn::Vec<Words> table,
                          const char* words, const RowSlab& a,
                          hn::Vec<Ints> (&wholes)[kDigits][kVectors]) {
  Sums sums[kDigits][kVectors];
  (add_digits<F, kDigits, kFirst, kOf>(type, layout, table, words, a, sums), ...);
#pragma GCC unroll 3
  for (int digit = 0; digit < kDigits; ++digit)
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) wholes[digit][j] = whole_sums(sums[digit][j]);
}

// The sums of a group of a slab.
template <typename F, int kDigits, typename Sums, int kGroup>
HWY_INLINE void sum_digits(const BlockType& type, const BlockLayout& layout, hn::Vec<Words> table,
                           const char* words, const RowSlab& a, Vector (&sums)[kVectors]) {
  constexpr int kFirst = kGroup * F::kOfGroup, kOf = kChunk<F, Sums>;
  constexpr auto kOfChunk = std::make_integer_sequence<int, kOf>();
  hn::Vec<Ints> wholes[kDigits][kVectors];
  sum_chunk<F, kDigits, Sums, kFirst>(kOfChunk, type, layout, table, words, a, wholes);
  if constexpr (kOf < F::kOfGroup) {
    static_assert(2 * kOf == F::kOfGroup);
    hn::Vec<Ints> more[kDigits][kVectors];
    sum_chunk<F, kDigits, Sums, kFirst + kOf>(kOfChunk, type, layout, table, words, a, more);
#pragma GCC unroll 3
    for (int digit = 0; digit < kDigits; ++digit)
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j)
        wholes[digit][j] = hn::Add(wholes[digit][j], more[digit][j]);
  }
  const Floats d;
#pragma GCC unroll 2
  for (int j = 0; j < kVectors; ++j) {
    if constexpr (kDigits == 1)
      sums[j] = hn::ConvertTo(d, wholes[0][j]);
    else
      sums[j] = hn::MulAdd(hn::ConvertTo(d, wholes[2][j]), hn::Set(d, 65536.0F),
                           hn::ConvertTo(d, hn::Add(hn::ShiftLeft<8>(wholes[1][j]), wholes[0][j])));
  }
}

// totals += scale * (scale of the row * sum of digits * codes) + offset * sum of the row.
template <typename F, int kDigits, typename Sums, int kGroup>
HWY_INLINE void add_group(const BlockType& type, const BlockLayout& layout, hn::Vec<Words> table,
                          const char* block, const char* slab, const RowSlab& a,
                          Vector (&totals)[kVectors]) {
  const Floats d;
  // A slab begins with its scales. Two digits more would leave no registers for them.
  constexpr bool kScalesFirst = HWY_TARGET == HWY_AVX3 && kDigits == 1;
  Line lines[kVectors];
  const auto read_lines = [&] {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j)
      lines[j] = line_of(type, layout, block, slab, type.group < kSlabDepth ? kGroup : 0, j);
  };
  if constexpr (kScalesFirst) read_lines();
  Vector sums[kVectors];
  sum_digits<F, kDigits, Sums, kGroup>(type, layout, table, slab + layout.scales + layout.least, a,
                                       sums);
  if constexpr (!kScalesFirst) read_lines();
  const RoundedSlab& rounded = a.rounded;
  constexpr bool kOneGroup = F::kGroups == 1;
  const Vector scale = hn::Set(d, rounded.scale);
  const Vector sum =
      hn::Set(d, kOneGroup ? rounded.sums[0] + rounded.sums[1] : rounded.sums[kGroup]);
#pragma GCC unroll 2
  for (int j = 0; j < kVectors; ++j)
    totals[j] = hn::MulAdd(hn::Mul(sums[j], lines[j].scale), scale,
                           hn::MulAdd(lines[j].offset, sum, totals[j]));
}

// Panels one after the other, and their bytes in order.
template <typename F, int kDigits, typename Sums>
void multiply_by_digits(const RowByCodes& p) {
  constexpr int kLines = F::kBits * kPanelColumns * kWordBytes / kCacheLine + 1;  // of a slab
  constexpr std::int64_t kBytesAhead = 4096;
  const BlockLayout layout(*p.type, kPanelColumns);
  const auto table = table_of(*p.type, layout);
  const std::int64_t slabs = p.depth / kSlabDepth;
  const char* block = p.b;
  for (std::int64_t column = 0; column < p.columns; column += kPanelColumns) {
    const char* slab = block + layout.factors;
    std::int64_t left = layout.slabs;  // of the block
    for (std::int64_t first = 0; first < slabs; first += kPieceSlabs) {
      Vector totals[1][kVectors];
      clear(totals);
      for (std::int64_t index = first; index < std::min(first + kPieceSlabs, slabs); ++index) {
        if constexpr (kPrefetchesCodes)
#pragma GCC unroll 8
          for (int line = 0; line < kLines; ++line)
            __builtin_prefetch(slab + kBytesAhead + line * kCacheLine, 0, 2);
        const RowSlab& a = p.slabs[index];
        add_group<F, kDigits, Sums, 0>(*p.type, layout, table, block, slab, a, totals[0]);
        if constexpr (F::kGroups == 2)
          add_group<F, kDigits, Sums, 1>(*p.type, layout, table, block, slab, a, totals[0]);
        slab += layout.slab;
        if (--left > 0) continue;
        block = slab;
        if constexpr (kPrefetchesCodes)
          for (std::int64_t at = 0; at < layout.factors; at += kCacheLine)
            __builtin_prefetch(block + kBytesAhead + at, 0, 2);
        slab += layout.factors;
        left = layout.slabs;
      }
      const float* const bias = first == 0 && p.bias != nullptr ? p.bias + column : nullptr;
      finish_row(totals[0], p.out + column, p.columns - column, bias, first > 0);
    }
  }
}

// --- codes that fill their bytes ----------------------------------------------------------------

// The code in byte `kByte` of every word, times 2^(8 kByte); the last one is shifted down, because
// it would be taken for a sign.
template <int kByte>
HWY_INLINE Vector code_of(hn::Vec<Words> codes) {
  const auto code =
      kByte == 3 ? hn::ShiftRight<24>(codes) : hn::And(codes, hn::Set(Words(), 0xFFU << 8 * kByte));
  return hn::ConvertTo(Floats(), hn::BitCast(Ints(), code));
}

template <int kByte, int kCount>
HWY_INLINE void add_codes(const hn::Vec<Words> (&codes)[kCount], float a, Vector (&sums)[kCount]) {
  const Vector of_a = hn::Set(Floats(), a);
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) sums[v] = add_product(sums[v], of_a, code_of<kByte>(codes[v]));
}

// Four numbers of a row times the codes of kCount vectors of columns.
template <bool kTable, int kFour, int kCount>
HWY_INLINE void add_four(const BlockType& type, const BlockLayout& layout, hn::Vec<Words> table,
                         const float* a, const char* const (&words)[kCount], std::int64_t ahead,
                         Vector (&sums)[kCount]) {
  constexpr int kBits = kTable ? 4 : 8;
  constexpr int kLines = kBits * kPanelColumns * kWordBytes / kCacheLine;  // per slab
  if constexpr (kPrefetchesCodes)
#pragma GCC unroll 8
    for (int v = 0; v < kCount; v += kVectors)
      for (int line = kFour * kLines / kFours; line < (kFour + 1) * kLines / kFours; ++line)
        __builtin_prefetch(words[v] + ahead + line * kCacheLine, 0, 3);
  hn::Vec<Words> codes[kCount];
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) {
    codes[v] = four_of<kBits, kFour>(words[v]);
    if constexpr (kTable) codes[v] = look_up(type, layout, table, codes[v]);
  }
  add_codes<0>(codes, a[4 * kFour], sums);
  add_codes<1>(codes, a[4 * kFour + 1], sums);
  add_codes<2>(codes, a[4 * kFour + 2], sums);
  add_codes<3>(codes, a[4 * kFour + 3], sums);
}

template <bool kTable, int kCount, int... kFour>
HWY_INLINE void add_fours(std::integer_sequence<int, kFour...> /*of a slab*/, const BlockType& type,
                          const BlockLayout& layout, hn::Vec<Words> table, const float* a,
                          const char* const (&words)[kCount], std::int64_t ahead,
                          Vector (&sums)[kCount]) {
  (add_four<kTable, kFour>(type, layout, table, a, words, ahead, sums), ...);
}

// One row times kPanels panels side by side.
template <bool kTable, int kPanels>
HWY_NOINLINE void one_row_tile(const RowByCodes& p, const BlockLayout& layout, const char* panels,
                               float* out, std::int64_t columns, const float* bias) {
  constexpr int kCount = kPanels * kVectors;
  constexpr std::int64_t kBytesAhead = 2048;
  const Floats d;
  const BlockType& type = *p.type;
  const auto table = table_of(type, layout);
  const std::int64_t turn = p.b_panel - kBytesAhead;  // from here on, prefetches the next panel
  Vector totals[kCount];
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) totals[v] = hn::Zero(d);
  for (std::int64_t slab = 0; slab < p.depth / kSlabDepth; ++slab) {
    const std::int64_t at = slab / layout.slabs * layout.block;
    const std::int64_t near = at + layout.factors + slab % layout.slabs * layout.slab;
    const std::int64_t ahead = kBytesAhead + (near < turn ? 0 : (kPanels - 1) * p.b_panel);
    Vector sums[kCount];
    const char* words[kCount];
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) {
      sums[v] = hn::Zero(d);
      words[v] = panels + v / kVectors * p.b_panel + near + layout.scales + layout.least +
                 v % kVectors * kVectorLanes * kWordBytes;
    }
    add_fours<kTable>(std::make_integer_sequence<int, kFours>(), type, layout, table,
                      p.a + slab * kSlabDepth, words, ahead, sums);
    // total += scale * sum of a * code + offset * sum of a
    const Vector of_a = hn::Set(d, p.a_sums[slab]);
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) {
      const char* const panel = panels + v / kVectors * p.b_panel;
      const Line line = line_of(type, layout, panel + at, panel + near, 0, v % kVectors);
      totals[v] = hn::MulAdd(line.scale, sums[v], hn::MulAdd(line.offset, of_a, totals[v]));
    }
  }
  finish_row(totals, out, columns, bias, /*add=*/false);
}

template <bool kTable>
void multiply_by_floats(const RowByCodes& p) {
  constexpr int kAtOnce = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_AVX3 ? 1 : kPanelsOfRow;
  const BlockLayout layout(*p.type, kPanelColumns);
  const char* panels = p.b;
  for (std::int64_t column = 0; column < p.columns;) {
    const std::int64_t left = p.columns - column;
    const bool whole = left > (kAtOnce - 1) * kPanelColumns;
    (whole ? one_row_tile<kTable, kAtOnce>
           : one_row_tile<kTable, 1>)(p, layout, panels, p.out + column, left,
                                      p.bias != nullptr ? p.bias + column : nullptr);
    column += (whole ? kAtOnce : 1) * kPanelColumns;
    panels += (whole ? kAtOnce : 1) * p.b_panel;
  }
}

void multiply_row_by_codes(const RowByCodes& p) {
  with_form(*p.type, [&](auto form) {
    using F = decltype(form);
    if (p.digits == 1)
      return with_sums<F>(
          [&](auto sums) { multiply_by_digits<F, 1, typename decltype(sums)::type>(p); });
    if constexpr (F::kTable || F::kFills)
      multiply_by_floats<F::kTable>(p);
    else
      with_sums<F>(
          [&](auto sums) { multiply_by_digits<F, kRowDigits, typename decltype(sums)::type>(p); });
  });
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
