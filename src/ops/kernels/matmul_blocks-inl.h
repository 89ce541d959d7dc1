// Converts panels of codes (block_panels.h) to floats, and multiplies one row by them. Included
// once for each target.
//
// Two or more rows: codes are widened block by block of the depth and multiplied like an f32 panel,
// with the same bits as the product with the widened matrix.
//
// One row, as in text generation: codes are multiplied as whole numbers, and each group's sum once
// by its scale. That leaves a mask, a conversion and a multiply-add for eight numbers with AVX2,
// where scaling each number took 2.1 cycles (a second multiply-add for the same two units, and
// scales and offsets that did not stay in registers). A code left in its byte is 2^8, 2^16 or 2^24
// times too large; the row is divided by that once.
#if defined(HEED_KERNELS_CPU_MATMUL_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_MATMUL_BLOCKS_INL_H
#undef HEED_KERNELS_CPU_MATMUL_BLOCKS_INL_H
#else
#define HEED_KERNELS_CPU_MATMUL_BLOCKS_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "ops/kernels/block_panels.h"
#include "ops/kernels/matmul_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace {

using Ints = hn::RebindToSigned<Floats>;
constexpr int kFours = kSlabDepth / 4;  // per slab
constexpr int kPanelsOfRow = 3;         // multiplied by one row at once: six chains

// One factor for each column of a vector.
HWY_INLINE Vector load_factors(const BlockType& type, const char* from) {
  const Floats d;
#if HWY_TARGET == HWY_SCALAR
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return hn::Set(d, type.factor_of(bits));
#else
  if (type.factor == DType::kF16)
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, Floats>(),
                                      reinterpret_cast<const hwy::float16_t*>(from)));
  const auto words = hn::PromoteTo(
      Words(),
      hn::LoadU(hn::Rebind<std::uint16_t, Floats>(), reinterpret_cast<const std::uint16_t*>(from)));
  return hn::BitCast(d, hn::ShiftLeft<16>(words));
#endif
}

template <typename T>
HWY_INLINE Vector load_wholes(const char* from) {
  return hn::ConvertTo(
      Floats(),
      hn::PromoteTo(Ints(), hn::LoadU(hn::Rebind<T, Ints>(), reinterpret_cast<const T*>(from))));
}

// The number of code c is scale * c + offset.
struct Line {
  Vector scale, offset;
};

HWY_INLINE Line line_of(const BlockType& type, const BlockLayout& layout, const char* block,
                        const char* slab, int group, int vector) {
  const Floats d;
  const std::int64_t column = vector * kVectorLanes;
  const std::int64_t at = group * kPanelColumns + column;
  Vector scale = load_factors(type, block + 2 * column);
  if (type.has_scales) scale = hn::Mul(scale, load_wholes<std::int8_t>(slab + at));
  Vector offset;
  if (type.has_least) {
    offset = load_factors(type, block + 2 * (kPanelColumns + column));
    if (type.has_least_scales)
      offset = hn::Mul(offset, load_wholes<std::uint8_t>(slab + layout.scales + at));
    offset = hn::Neg(offset);
  } else {
    offset = hn::Mul(scale, hn::Set(d, static_cast<float>(-layout.centre)));
  }
  return {scale, offset};
}

// The codes of four numbers, one byte each: the group numbered `four` of a slab.
template <int kBits, int kFour>
HWY_INLINE hn::Vec<Words> four_of(const char* words) {
  const Words d;
  const auto row = [&](int index) {
    return hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(words) + index * kPanelColumns);
  };
  if constexpr (kBits == 8) return row(kFour);
  constexpr int kNibbleRows = has_nibbles(kBits) ? 4 : 0;
  constexpr int kPairRows = has_pairs_of_bits(kBits) ? 2 : 0;
  auto codes = hn::Zero(d);
  if constexpr (kNibbleRows > 0)
    codes = hn::And(hn::ShiftRight<kFour % 2 * 4>(row(kFour / 2)), hn::Set(d, 0x0F0F0F0FU));
  if constexpr (kPairRows > 0) {
    const auto bits = hn::And(hn::ShiftRight<kFour % 4 * 2>(row(kNibbleRows + kFour / 4)),
                              hn::Set(d, 0x03030303U));
    codes = hn::Or(codes, hn::ShiftLeft<kNibbleRows>(bits));
  }
  if constexpr (has_single_bits(kBits)) {
    const auto bits =
        hn::And(hn::ShiftRight<kFour>(row(kNibbleRows + kPairRows)), hn::Set(d, 0x01010101U));
    codes = hn::Or(codes, hn::ShiftLeft<kBits - 1>(bits));
  }
  return codes;
}

// The values of four-bit codes, as unsigned bytes.
HWY_INLINE hn::Vec<Words> table_of(const BlockType& type, const BlockLayout& layout) {
#if HWY_TARGET == HWY_SCALAR
  static_cast<void>(type);
  static_cast<void>(layout);
  return hn::Zero(Words());
#else
  const hn::Repartition<std::uint8_t, Words> d;
  if (type.values == nullptr) return hn::Zero(Words());
  const auto values = hn::LoadDup128(d, reinterpret_cast<const std::uint8_t*>(type.values));
  const auto centre = hn::Set(d, static_cast<std::uint8_t>(layout.centre));
  return hn::BitCast(Words(), hn::Add(values, centre));
#endif
}

HWY_INLINE hn::Vec<Words> look_up(const BlockType& type, const BlockLayout& layout,
                                  hn::Vec<Words> table, hn::Vec<Words> codes) {
#if HWY_TARGET == HWY_SCALAR
  static_cast<void>(table);
  std::uint32_t word = hn::GetLane(codes), found = 0;
  for (int i = 0; i < 4; ++i, word >>= 8)
    found |= static_cast<std::uint32_t>(type.values[word & 15] + layout.centre) << 8 * i;
  return hn::Set(Words(), found);
#else
  static_cast<void>(type);
  static_cast<void>(layout);
  const hn::Repartition<std::uint8_t, Words> d;
  return hn::BitCast(Words(), hn::TableLookupBytes(hn::BitCast(d, table), hn::BitCast(d, codes)));
#endif
}

// The number whose code is byte `kByte` of every word.
template <int kByte>
HWY_INLINE Vector number_of(hn::Vec<Words> codes, const Line& line) {
  auto code = hn::ShiftRight<8 * kByte>(codes);
  if constexpr (kByte < 3) code = hn::And(code, hn::Set(Words(), 0xFFU));
  return hn::MulAdd(hn::ConvertTo(Floats(), hn::BitCast(Ints(), code)), line.scale, line.offset);
}

template <int kBits, bool kTable, int kFour>
HWY_INLINE void write_four(const BlockType& type, const BlockLayout& layout, hn::Vec<Words> table,
                           const char* words, const Line& line, float* to) {
  auto codes = four_of<kBits, kFour>(words);
  if constexpr (kTable) codes = look_up(type, layout, table, codes);
  const Floats d;
  float* const row = to + 4 * kFour * kPanelColumns;
  hn::StoreU(number_of<0>(codes, line), d, row);
  hn::StoreU(number_of<1>(codes, line), d, row + kPanelColumns);
  hn::StoreU(number_of<2>(codes, line), d, row + 2 * kPanelColumns);
  hn::StoreU(number_of<3>(codes, line), d, row + 3 * kPanelColumns);
}

// A slab as floats, [32][columns of the panel].
template <int kBits, bool kTable>
void read_slab(const BlockType& type, const BlockLayout& layout, const char* block,
               std::int64_t index, float* to) {
  const char* const slab = block + layout.factors + index * layout.slab;
  const auto table = table_of(type, layout);
  for (int j = 0; j < kVectors; ++j) {
    const char* const words = slab + layout.scales + layout.least + j * kVectorLanes * kWordBytes;
    float* const at = to + j * kVectorLanes;
    Line line = line_of(type, layout, block, slab, 0, j);
    write_four<kBits, kTable, 0>(type, layout, table, words, line, at);
    write_four<kBits, kTable, 1>(type, layout, table, words, line, at);
    write_four<kBits, kTable, 2>(type, layout, table, words, line, at);
    write_four<kBits, kTable, 3>(type, layout, table, words, line, at);
    if (type.group < kSlabDepth) line = line_of(type, layout, block, slab, 1, j);
    write_four<kBits, kTable, 4>(type, layout, table, words, line, at);
    write_four<kBits, kTable, 5>(type, layout, table, words, line, at);
    write_four<kBits, kTable, 6>(type, layout, table, words, line, at);
    write_four<kBits, kTable, 7>(type, layout, table, words, line, at);
  }
}

using ReadSlab = void (*)(const BlockType&, const BlockLayout&, const char*, std::int64_t, float*);

// The code in byte `kByte` of every word, times 2^(8 kByte); if codes fill their bytes, the last
// one is shifted down, because it would be taken for a sign.
template <bool kWhole, int kByte>
HWY_INLINE Vector code_of(hn::Vec<Words> codes) {
  const auto code = kWhole && kByte == 3 ? hn::ShiftRight<24>(codes)
                                         : hn::And(codes, hn::Set(Words(), 0xFFU << 8 * kByte));
  return hn::ConvertTo(Floats(), hn::BitCast(Ints(), code));
}

// Four numbers of a row times the codes of kCount vectors of columns.
template <int kBits, bool kTable, int kFour, int kCount>
HWY_INLINE void add_four(const BlockType& type, const BlockLayout& layout, hn::Vec<Words> table,
                         const float* a, const char* const (&words)[kCount], std::int64_t ahead,
                         Vector (&sums)[kCount]) {
  constexpr bool kWhole = kTable || kBits == 8;
  constexpr int kLines = kBits * kPanelColumns * kWordBytes / kCacheLine;  // per slab
  const Floats d;
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
  const Vector a0 = hn::Set(d, a[4 * kFour]), a1 = hn::Set(d, a[4 * kFour + 1]);
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) sums[v] = add_product(sums[v], a0, code_of<kWhole, 0>(codes[v]));
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) sums[v] = add_product(sums[v], a1, code_of<kWhole, 1>(codes[v]));
  const Vector a2 = hn::Set(d, a[4 * kFour + 2]), a3 = hn::Set(d, a[4 * kFour + 3]);
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) sums[v] = add_product(sums[v], a2, code_of<kWhole, 2>(codes[v]));
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) sums[v] = add_product(sums[v], a3, code_of<kWhole, 3>(codes[v]));
}

template <int kBits, bool kTable, int kFirst, int kCount, int... kFours>
HWY_INLINE void add_fours(std::integer_sequence<int, kFours...> /*of a half*/,
                          const BlockType& type, const BlockLayout& layout, hn::Vec<Words> table,
                          const float* a, const char* const (&words)[kCount], std::int64_t ahead,
                          Vector (&sums)[kCount]) {
  (add_four<kBits, kTable, kFirst + kFours>(type, layout, table, a, words, ahead, sums), ...);
}

// One row times kPanels panels side by side.
template <int kBits, bool kTable, int kPanels>
HWY_NOINLINE void one_row_tile(const RowByCodes& p, const BlockLayout& layout, const char* panels,
                               float* out, std::int64_t columns, const float* bias) {
  constexpr int kCount = kPanels * kVectors;
  constexpr std::int64_t kBytesAhead = 2048;
  using Half = std::make_integer_sequence<int, kFours / 2>;
  const Floats d;
  const BlockType& type = *p.type;
  const auto table = table_of(type, layout);
  const std::int64_t turn = p.b_panel - kBytesAhead;  // from here on, prefetches the next panel
  Vector totals[kCount], sums[kCount];
#pragma GCC unroll 8
  for (int v = 0; v < kCount; ++v) totals[v] = sums[v] = hn::Zero(d);
  for (std::int64_t k = 0; k < p.depth; k += kSlabDepth) {
    const std::int64_t slab = k / kSlabDepth;
    const std::int64_t at = slab / layout.slabs * layout.block;
    const std::int64_t near = at + layout.factors + slab % layout.slabs * layout.slab;
    const std::int64_t ahead = kBytesAhead + (near < turn ? 0 : (kPanels - 1) * p.b_panel);
    const char* words[kCount];
#pragma GCC unroll 8
    for (int q = 0; q < kPanels; ++q) {
      const char* const panel = panels + q * p.b_panel + near;
      for (int j = 0; j < kVectors; ++j)
        words[q * kVectors + j] =
            panel + layout.scales + layout.least + j * kVectorLanes * kWordBytes;
    }
    // total += scale * sum of a * code + offset * sum of a
    const auto end_group = [&](int group, float sum_of_a) {
      const Vector of_a = hn::Set(d, sum_of_a);
#pragma GCC unroll 8
      for (int v = 0; v < kCount; ++v) {
        const char* const panel = panels + v / kVectors * p.b_panel;
        const Line line = line_of(type, layout, panel + at, panel + near, group, v % kVectors);
        totals[v] = hn::MulAdd(line.scale, sums[v], hn::MulAdd(line.offset, of_a, totals[v]));
        sums[v] = hn::Zero(d);
      }
    };
    const float* const of_a = p.a_sums + k / 16;
    add_fours<kBits, kTable, 0>(Half(), type, layout, table, p.a + k, words, ahead, sums);
    if (type.group < kSlabDepth) end_group(0, of_a[0]);
    add_fours<kBits, kTable, kFours / 2>(Half(), type, layout, table, p.a + k, words, ahead, sums);
    if (type.group < kSlabDepth)
      end_group(1, of_a[1]);
    else
      end_group(0, of_a[0] + of_a[1]);
  }
  finish_row(totals, out, columns, bias, /*add=*/false);
}

using OneRowTile = void (*)(const RowByCodes&, const BlockLayout&, const char*, float*,
                            std::int64_t, const float*);

// The functions of a type: a slab as floats, and one row.
struct OfType {
  ReadSlab read;
  OneRowTile one_row;    // times kPanelsOfRow panels
  OneRowTile one_panel;  // times one
};

template <int kBits, bool kTable>
constexpr OfType kOfType = {read_slab<kBits, kTable>, one_row_tile<kBits, kTable, kPanelsOfRow>,
                            one_row_tile<kBits, kTable, 1>};

OfType of_type(const BlockType& type) {
  switch (type.code_bits) {
    case 2:
      return kOfType<2, false>;
    case 3:
      return kOfType<3, false>;
    case 4:
      return type.values != nullptr ? kOfType<4, true> : kOfType<4, false>;
    case 5:
      return kOfType<5, false>;
    case 6:
      return kOfType<6, false>;
    default:
      return kOfType<8, false>;
  }
}

void read_codes(const BlockType& type, const char* panel, std::int64_t k, std::int64_t depth,
                float* to) {
  const BlockLayout layout(type, kPanelColumns);
  const ReadSlab read = of_type(type).read;
  for (std::int64_t slab = k / kSlabDepth; slab < (k + depth) / kSlabDepth; ++slab) {
    read(type, layout, panel + slab / layout.slabs * layout.block, slab % layout.slabs, to);
    to += kSlabDepth * kPanelColumns;
  }
}

void multiply_row_by_codes(const RowByCodes& p) {
  const BlockLayout layout(*p.type, kPanelColumns);
  const OfType serves = of_type(*p.type);
  const char* panels = p.b;
  for (std::int64_t column = 0; column < p.columns;) {
    const std::int64_t left = p.columns - column;
    const int some = left > (kPanelsOfRow - 1) * kPanelColumns ? kPanelsOfRow : 1;
    (some > 1 ? serves.one_row : serves.one_panel)(p, layout, panels, p.out + column, left,
                                                   p.bias != nullptr ? p.bias + column : nullptr);
    column += some * kPanelColumns;
    panels += some * p.b_panel;
  }
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
