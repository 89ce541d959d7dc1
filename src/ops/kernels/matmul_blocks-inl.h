// Converts panels of codes (block_panels.h) to floats. Included once for each target.
//
// Two or more rows times codes: they are widened block by block of the depth and multiplied like an
// f32 panel, with the same bits as the product with the widened matrix. One row: matmul_row-inl.h.
#if defined(HEED_KERNELS_CPU_MATMUL_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_MATMUL_BLOCKS_INL_H
#undef HEED_KERNELS_CPU_MATMUL_BLOCKS_INL_H
#else
#define HEED_KERNELS_CPU_MATMUL_BLOCKS_INL_H
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ops/kernels/block_panels.h"
#include "ops/kernels/matmul_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::cpu::HWY_NAMESPACE {
namespace {

using Ints = hn::RebindToSigned<Floats>;
constexpr int kFours = kSlabDepth / 4;  // per slab

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

// Bits moved up by kBy places, or down.
template <int kBy>
HWY_INLINE hn::Vec<Words> moved(hn::Vec<Words> bits) {
  if constexpr (kBy > 0) return hn::ShiftLeft<kBy>(bits);
  if constexpr (kBy < 0) return hn::ShiftRight<-kBy>(bits);
  return bits;
}

// The codes of four numbers, one byte each: the group numbered `four` of a slab.
template <int kBits, int kFour>
HWY_INLINE hn::Vec<Words> four_of(const char* words) {
  const Words d;
  const auto row = [&](int index) HWY_ATTR {
    return hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(words) + index * kPanelColumns);
  };
  if constexpr (kBits == 8) return row(kFour);
  constexpr WordRows kRows = word_rows(kBits, kFour);
  constexpr int kNibbleBits = has_nibbles(kBits) ? 4 : 0;
  auto codes = hn::Zero(d);
  if constexpr (has_nibbles(kBits))
    codes = hn::And(moved<-(kFour % 2 * 4)>(row(kRows.nibbles)), hn::Set(d, 0x0F0F0F0FU));
  if constexpr (has_pairs_of_bits(kBits))
    codes = hn::Or(codes, hn::And(moved<kNibbleBits - kFour % 4 * 2>(row(kRows.pairs)),
                                  hn::Set(d, 0x03030303U << kNibbleBits)));
  if constexpr (has_single_bits(kBits))
    codes = hn::Or(
        codes, hn::And(moved<kBits - 1 - kFour>(row(0)), hn::Set(d, 0x01010101U << (kBits - 1))));
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

// Calls `use` with the number of bits of a type's codes as a constant.
template <typename Use>
auto with_bits(const BlockType& type, const Use& use) {
  switch (type.code_bits) {
    case 2:
      return use(std::integral_constant<int, 2>());
    case 3:
      return use(std::integral_constant<int, 3>());
    case 4:
      return use(std::integral_constant<int, 4>());
    case 5:
      return use(std::integral_constant<int, 5>());
    case 6:
      return use(std::integral_constant<int, 6>());
    default:
      return use(std::integral_constant<int, 8>());
  }
}

ReadSlab slab_reader(const BlockType& type) {
  if (type.values != nullptr) return read_slab<4, true>;
  return with_bits(type, [](auto bits) -> ReadSlab { return read_slab<bits, false>; });
}

void read_codes(const BlockType& type, const char* panel, std::int64_t k, std::int64_t depth,
                float* to) {
  const BlockLayout layout(type, kPanelColumns);
  const ReadSlab read = slab_reader(type);
  for (std::int64_t slab = k / kSlabDepth; slab < (k + depth) / kSlabDepth; ++slab) {
    read(type, layout, panel + slab / layout.slabs * layout.block, slab % layout.slabs, to);
    to += kSlabDepth * kPanelColumns;
  }
}

}  // namespace
}  // namespace heed::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
