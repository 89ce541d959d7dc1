// The layouts of the blocks, as ggml defines them. A block of 32 has one scale d; a block of 256
// ("K") has 8 or 16 groups, whose scales are whole numbers of 4 to 8 bits times d. A code q of a
// group with scale s means d * s * q, less the group's minimum where the type has one.
#include "io/gguf_types.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/parallel.h"

namespace heed {
namespace {

using Bytes = const std::uint8_t*;

constexpr int kLarge = 256;  // elements of a "K" block

float half_at(Bytes at) {
  f16 half;
  std::memcpy(&half, at, sizeof half);
  return static_cast<float>(half);
}

int bits(std::uint8_t byte, int shift, int mask) { return (byte >> shift) & mask; }

// Codes of 4 bits in 16 bytes: the low halves are elements 0 to 15, the high halves 16 to 31.
int nibble(Bytes codes, int element) { return bits(codes[element % 16], element < 16 ? 0 : 4, 15); }

void read_q4_0(Bytes block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(block + 2, i) - 8);
}

void put_half(std::uint8_t* at, float value) {
  const f16 half(value);
  std::memcpy(at, &half, sizeof half);
}

// The number of largest magnitude becomes code 0 or 8 below the middle, whichever its sign asks
// for.
void write_q4_0(const float* numbers, std::uint8_t* block) {
  const float most = *std::max_element(numbers, numbers + 32,
                                       [](float a, float b) { return std::abs(a) < std::abs(b); });
  const float d = most / -8, inverse = d == 0 ? 0 : 1 / d;
  put_half(block, d);
  const auto code = [&](int i) {
    return std::min(15, static_cast<int>(numbers[i] * inverse + 8.5F));
  };
  for (int i = 0; i < 16; ++i)
    block[2 + i] = static_cast<std::uint8_t>(code(i) | code(i + 16) << 4);
}

void write_q8_0(const float* numbers, std::uint8_t* block) {
  float most = 0;
  for (int i = 0; i < 32; ++i) most = std::max(most, std::abs(numbers[i]));
  const float d = most / 127, inverse = d == 0 ? 0 : 1 / d;
  put_half(block, d);
  for (int i = 0; i < 32; ++i)
    block[2 + i] =
        static_cast<std::uint8_t>(static_cast<std::int8_t>(std::round(numbers[i] * inverse)));
}

void read_q4_1(Bytes block, float* out) {
  const float d = half_at(block), least = half_at(block + 2);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(block + 4, i)) + least;
}

// Codes of 5 bits: four bytes hold the highest bits of all 32, then come the lower four bits.
int five_bits(Bytes high, int element) {
  return nibble(high + 4, element) | bits(high[element / 8], element % 8, 1) << 4;
}

void read_q5_0(Bytes block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(five_bits(block + 2, i) - 16);
}

void read_q5_1(Bytes block, float* out) {
  const float d = half_at(block), least = half_at(block + 2);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(five_bits(block + 4, i)) + least;
}

void read_q8_0(Bytes block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i)
    out[i] = static_cast<float>(static_cast<std::int8_t>(block[2 + i])) * d;
}

// Codes of 2 bits in 64 bytes: 128 elements lie in 32 bytes, a quarter of them at each shift.
int two_bits(Bytes codes, int element) {
  return bits(codes[element / 128 * 32 + element % 32], element % 128 / 32 * 2, 3);
}

void read_q2_k(Bytes block, float* out) {
  const Bytes scales = block, codes = block + 16;
  const float d = half_at(block + 80), d_least = half_at(block + 82);
  for (int i = 0; i < kLarge; ++i) {
    const float scale = d * static_cast<float>(scales[i / 16] & 15);
    const float least = d_least * static_cast<float>(scales[i / 16] >> 4);
    out[i] = scale * static_cast<float>(two_bits(codes, i)) - least;
  }
}

void read_q3_k(Bytes block, float* out) {
  const Bytes mask = block, codes = block + 32, scales = block + 96;
  const float d = half_at(block + 108);
  for (int i = 0; i < kLarge; ++i) {
    const int group = i / 16;
    const int low = bits(scales[group % 8], group < 8 ? 0 : 4, 15);
    const int high = bits(scales[8 + group % 4], group / 4 * 2, 3);
    const float scale = d * static_cast<float>((low | high << 4) - 32);
    const int less =
        bits(mask[i % 32], i / 32, 1) == 0 ? 4 : 0;  // the bit is set where nothing is taken off
    out[i] = scale * static_cast<float>(two_bits(codes, i) - less);
  }
}

/// The scale and the minimum of one of 8 groups, 6 bits each, in 12 bytes.
struct SixBits {
  int scale, least;
};
SixBits six_bits(Bytes packed, int group) {
  if (group < 4) return {packed[group] & 63, packed[4 + group] & 63};
  const std::uint8_t low = packed[4 + group];
  return {(low & 15) | bits(packed[group - 4], 6, 3) << 4, (low >> 4) | bits(packed[group], 6, 3)
                                                                            << 4};
}

// Q4_K and Q5_K; `high` has the fifth bits, or is null.
void read_q4_or_q5_k(Bytes block, Bytes high, Bytes codes, float* out) {
  const float d = half_at(block), d_least = half_at(block + 2);
  for (int group = 0; group < 8; ++group) {
    const SixBits packed = six_bits(block + 4, group);
    const float scale = d * static_cast<float>(packed.scale),
                least = d_least * static_cast<float>(packed.least);
    for (int i = 0; i < 32; ++i) {
      int code = bits(codes[group / 2 * 32 + i], group % 2 * 4, 15);
      if (high != nullptr) code |= bits(high[i], group, 1) << 4;
      out[group * 32 + i] = scale * static_cast<float>(code) - least;
    }
  }
}

void read_q4_k(Bytes block, float* out) { read_q4_or_q5_k(block, nullptr, block + 16, out); }
void read_q5_k(Bytes block, float* out) { read_q4_or_q5_k(block, block + 16, block + 48, out); }

void read_q6_k(Bytes block, float* out) {
  const Bytes low = block, high = block + 128, scales = block + 192;
  const float d = half_at(block + 208);
  for (int i = 0; i < kLarge; ++i) {
    const int code = bits(low[i / 128 * 64 + i % 64], i % 128 / 64 * 4, 15) | two_bits(high, i)
                                                                                  << 4;
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(scales[i / 16]));
    out[i] = scale * static_cast<float>(code - 32);
  }
}

constexpr std::array<float, 16> kNonlinear = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};

void read_iq4_nl(Bytes block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i)
    out[i] = d * kNonlinear[static_cast<std::size_t>(nibble(block + 2, i))];
}

void read_iq4_xs(Bytes block, float* out) {
  const float d = half_at(block);
  for (int group = 0; group < 8; ++group) {
    const int high = bits(block[2 + group / 4], group % 4 * 2, 3);
    const int low = bits(block[4 + group / 2], group % 2 * 4, 15);
    const float scale = d * static_cast<float>((low | high << 4) - 32);
    for (int i = 0; i < 32; ++i)
      out[group * 32 + i] =
          scale * kNonlinear[static_cast<std::size_t>(nibble(block + 8 + group * 16, i))];
  }
}

// Twice the values of a float with one sign, two exponent bits and one mantissa bit (OCP
// Microscaling Formats 1.0, 5.3.3).
constexpr std::array<float, 16> kE2M1 = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

void read_mxfp4(Bytes block, float* out) {
  const std::uint32_t exponent =
      block[0];  // the scale is 2^(exponent - 127); half of it, as the values are doubled
  const float d =
      std::bit_cast<float>(exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23);
  for (int i = 0; i < 32; ++i) out[i] = d * kE2M1[static_cast<std::size_t>(nibble(block + 1, i))];
}

template <void (*Read)(Bytes, float*)>
void read_block(const std::byte* block, float* out) {
  Read(reinterpret_cast<Bytes>(block), out);
}

template <void (*Write)(const float*, std::uint8_t*)>
void write_block(const float* numbers, std::byte* block) {
  Write(numbers, reinterpret_cast<std::uint8_t*>(block));
}

constexpr GgufType kTypes[] = {
    {0, "F32", 1, 4, DType::kF32},
    {1, "F16", 1, 2, DType::kF16},
    {2, "Q4_0", 32, 18, {}, read_block<read_q4_0>, write_block<write_q4_0>},
    {3, "Q4_1", 32, 20, {}, read_block<read_q4_1>},
    {6, "Q5_0", 32, 22, {}, read_block<read_q5_0>},
    {7, "Q5_1", 32, 24, {}, read_block<read_q5_1>},
    {8, "Q8_0", 32, 34, {}, read_block<read_q8_0>, write_block<write_q8_0>},
    {10, "Q2_K", kLarge, 84, {}, read_block<read_q2_k>},
    {11, "Q3_K", kLarge, 110, {}, read_block<read_q3_k>},
    {12, "Q4_K", kLarge, 144, {}, read_block<read_q4_k>},
    {13, "Q5_K", kLarge, 176, {}, read_block<read_q5_k>},
    {14, "Q6_K", kLarge, 210, {}, read_block<read_q6_k>},
    {20, "IQ4_NL", 32, 18, {}, read_block<read_iq4_nl>},
    {23, "IQ4_XS", kLarge, 136, {}, read_block<read_iq4_xs>},
    {28, "F64", 1, 8, DType::kF64},
    {30, "BF16", 1, 2, DType::kBF16},
    {39, "MXFP4", 32, 17, {}, read_block<read_mxfp4>},
};

struct KnownName {
  std::uint32_t id;
  std::string_view name;
};
constexpr KnownName kUnread[] = {
    {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},      {25, "I16"},    {26, "I32"},     {27, "I64"},
    {29, "IQ1_M"}, {34, "TQ1_0"}, {35, "TQ2_0"},   {40, "NVFP4"},  {41, "Q1_0"}};

}  // namespace

const GgufType* gguf_type(std::uint32_t id) {
  const auto* found = std::ranges::find(kTypes, id, &GgufType::id);
  return found == std::end(kTypes) ? nullptr : found;
}

const GgufType* gguf_type_named(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &GgufType::name);
  return found == std::end(kTypes) ? nullptr : found;
}

std::string gguf_type_name(std::uint32_t id) {
  if (const GgufType* type = gguf_type(id)) return std::string(type->name);
  const auto* found = std::ranges::find(kUnread, id, &KnownName::id);
  return found == std::end(kUnread) ? fmt::format("type {}", id) : std::string(found->name);
}

std::string gguf_type_names() {
  std::vector<std::string_view> names;
  for (const GgufType& type : kTypes) names.push_back(type.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void read_gguf_numbers(const GgufType& type, std::span<const std::byte> bytes,
                       std::span<float> out) {
  constexpr std::int64_t kBlocksAtOnce = 4096;  // of one task
  const std::int64_t blocks = std::ssize(out) / type.elements;
  const std::int64_t tasks = (blocks + kBlocksAtOnce - 1) / kBlocksAtOnce;
  parallel_for(tasks, threads_here(), [&](std::int64_t task, int) {
    const std::int64_t end = std::min(blocks, (task + 1) * kBlocksAtOnce);
    for (std::int64_t block = task * kBlocksAtOnce; block < end; ++block)
      type.read(bytes.data() + block * type.bytes, out.data() + block * type.elements);
  });
}

}  // namespace heed
