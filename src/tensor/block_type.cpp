// The block layouts defined by ggml. A block of 32 has one scale d; a block of 256 ("K") has 8 or
// 16 groups, whose scales are integers of 4 to 8 bits times d.
#include "tensor/block_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/parallel.h"

namespace heed {
namespace {

using Bytes = const std::uint8_t*;

constexpr int kLarge = 256;  // elements of a "K" block

std::uint16_t word_at(Bytes at) {
  std::uint16_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

std::uint8_t bits(std::uint8_t byte, int shift, int mask) {
  return static_cast<std::uint8_t>((byte >> shift) & mask);
}

// 4-bit codes in `half` bytes: first the low halves, then the high ones.
void split_nibbles(Bytes from, int half, std::uint8_t* codes) {
  for (int i = 0; i < half; ++i) {
    codes[i] = from[i] & 15;
    codes[half + i] = from[i] >> 4;
  }
}

// Adds the fifth bits of 32 codes, stored in four bytes from the first code on.
void add_fifth_bits(Bytes high, std::uint8_t* codes) {
  for (int i = 0; i < 32; ++i)
    codes[i] |= static_cast<std::uint8_t>(bits(high[i / 8], i % 8, 1) << 4);
}

// 2-bit codes in 64 bytes: 128 elements are in 32 bytes, a quarter of them at each shift.
std::uint8_t two_bits(Bytes codes, int element) {
  return bits(codes[element / 128 * 32 + element % 32], element % 128 / 32 * 2, 3);
}

void split_q4_0(Bytes block, BlockParts& parts) {
  parts.d = word_at(block);
  split_nibbles(block + 2, 16, parts.codes.data());
}

// The file adds the minimum of a block of 32; BlockParts subtracts it.
void split_d_and_least(Bytes block, BlockParts& parts) {
  constexpr std::uint16_t kSign = 0x8000;
  parts.d = word_at(block);
  parts.d_least = word_at(block + 2) ^ kSign;
}

void split_q4_1(Bytes block, BlockParts& parts) {
  split_d_and_least(block, parts);
  split_nibbles(block + 4, 16, parts.codes.data());
}

void split_q5_0(Bytes block, BlockParts& parts) {
  parts.d = word_at(block);
  split_nibbles(block + 6, 16, parts.codes.data());
  add_fifth_bits(block + 2, parts.codes.data());
}

void split_q5_1(Bytes block, BlockParts& parts) {
  split_d_and_least(block, parts);
  split_nibbles(block + 8, 16, parts.codes.data());
  add_fifth_bits(block + 4, parts.codes.data());
}

void split_q8_0(Bytes block, BlockParts& parts) {
  parts.d = word_at(block);
  std::memcpy(parts.codes.data(), block + 2, 32);
}

void split_q2_k(Bytes block, BlockParts& parts) {
  parts.d = word_at(block + 80);
  parts.d_least = word_at(block + 82);
  for (int group = 0; group < 16; ++group) {
    parts.scales[group] = static_cast<std::int8_t>(block[group] & 15);
    parts.least[group] = block[group] >> 4;
  }
  for (int i = 0; i < kLarge; ++i) parts.codes[i] = two_bits(block + 16, i);
}

void split_q3_k(Bytes block, BlockParts& parts) {
  const Bytes mask = block, codes = block + 32, scales = block + 96;
  parts.d = word_at(block + 108);
  for (int group = 0; group < 16; ++group) {
    const int low = bits(scales[group % 8], group < 8 ? 0 : 4, 15);
    const int high = bits(scales[8 + group % 4], group / 4 * 2, 3);
    parts.scales[group] = static_cast<std::int8_t>((low | high << 4) - 32);
  }
  for (int i = 0; i < kLarge; ++i)
    parts.codes[i] =
        static_cast<std::uint8_t>(two_bits(codes, i) | bits(mask[i % 32], i / 32, 1) << 2);
}

// The scales and minima of 8 groups, 6 bits each, in 12 bytes.
void split_six_bits(Bytes packed, BlockParts& parts) {
  for (int group = 0; group < 4; ++group) {
    parts.scales[group] = static_cast<std::int8_t>(packed[group] & 63);
    parts.least[group] = packed[4 + group] & 63;
    const std::uint8_t low = packed[8 + group];
    parts.scales[4 + group] = static_cast<std::int8_t>((low & 15) | packed[group] >> 6 << 4);
    parts.least[4 + group] = static_cast<std::uint8_t>(low >> 4 | packed[4 + group] >> 6 << 4);
  }
}

void split_q4_k(Bytes block, BlockParts& parts) {
  parts.d = word_at(block);
  parts.d_least = word_at(block + 2);
  split_six_bits(block + 4, parts);
  for (int pair = 0; pair < 4; ++pair)
    split_nibbles(block + 16 + 32 * pair, 32, parts.codes.data() + 64 * pair);
}

void split_q5_k(Bytes block, BlockParts& parts) {
  parts.d = word_at(block);
  parts.d_least = word_at(block + 2);
  split_six_bits(block + 4, parts);
  for (int pair = 0; pair < 4; ++pair)
    split_nibbles(block + 48 + 32 * pair, 32, parts.codes.data() + 64 * pair);
  for (int i = 0; i < kLarge; ++i)
    parts.codes[i] |= static_cast<std::uint8_t>(bits(block[16 + i % 32], i / 32, 1) << 4);
}

void split_q6_k(Bytes block, BlockParts& parts) {
  parts.d = word_at(block + 208);
  std::memcpy(parts.scales.data(), block + 192, 16);
  for (int half = 0; half < 2; ++half)
    split_nibbles(block + 64 * half, 64, parts.codes.data() + 128 * half);
  for (int i = 0; i < kLarge; ++i)
    parts.codes[i] |= static_cast<std::uint8_t>(two_bits(block + 128, i) << 4);
}

constexpr std::int8_t kNonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};

void split_iq4_xs(Bytes block, BlockParts& parts) {
  parts.d = word_at(block);
  for (int group = 0; group < 8; ++group) {
    const int high = bits(block[2 + group / 4], group % 4 * 2, 3);
    const int low = bits(block[4 + group / 2], group % 2 * 4, 15);
    parts.scales[group] = static_cast<std::int8_t>((low | high << 4) - 32);
    split_nibbles(block + 8 + group * 16, 16, parts.codes.data() + 32 * group);
  }
}

// Twice the values of a float with one sign, two exponent bits and one mantissa bit (OCP
// Microscaling Formats 1.0, 5.3.3).
constexpr std::int8_t kE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The scale is 2^(exponent - 127). Half of it, because the values are doubled, is a bf16.
void split_mxfp4(Bytes block, BlockParts& parts) {
  const std::uint32_t exponent = block[0];
  const std::uint32_t half = exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23;
  parts.d = static_cast<std::uint16_t>(half >> 16);
  split_nibbles(block + 1, 16, parts.codes.data());
}

void put_half(std::uint8_t* at, float value) {
  const f16 half(value);
  std::memcpy(at, &half, sizeof half);
}

// d has the sign and size with which the number of largest magnitude gets code 0, 8 below the
// middle.
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

constexpr BlockType kTypes[] = {
    {.name = "Q4_0", .centre = 8, .split = split_q4_0, .write = write_q4_0},
    {.name = "Q4_1", .bytes = 20, .has_least = true, .split = split_q4_1},
    {.name = "Q5_0", .bytes = 22, .code_bits = 5, .centre = 16, .split = split_q5_0},
    {.name = "Q5_1", .bytes = 24, .code_bits = 5, .has_least = true, .split = split_q5_1},
    {.name = "Q8_0", .bytes = 34, .code_bits = 8, .split = split_q8_0, .write = write_q8_0},
    {.name = "Q2_K",
     .elements = kLarge,
     .bytes = 84,
     .code_bits = 2,
     .group = 16,
     .has_scales = true,
     .has_least = true,
     .has_least_scales = true,
     .split = split_q2_k},
    {.name = "Q3_K",
     .elements = kLarge,
     .bytes = 110,
     .code_bits = 3,
     .group = 16,
     .has_scales = true,
     .centre = 4,
     .split = split_q3_k},
    {.name = "Q4_K",
     .elements = kLarge,
     .bytes = 144,
     .has_scales = true,
     .has_least = true,
     .has_least_scales = true,
     .split = split_q4_k},
    {.name = "Q5_K",
     .elements = kLarge,
     .bytes = 176,
     .code_bits = 5,
     .has_scales = true,
     .has_least = true,
     .has_least_scales = true,
     .split = split_q5_k},
    {.name = "Q6_K",
     .elements = kLarge,
     .bytes = 210,
     .code_bits = 6,
     .group = 16,
     .has_scales = true,
     .centre = 32,
     .split = split_q6_k},
    {.name = "IQ4_NL", .values = kNonlinear, .split = split_q4_0},
    {.name = "IQ4_XS",
     .elements = kLarge,
     .bytes = 136,
     .has_scales = true,
     .values = kNonlinear,
     .split = split_iq4_xs},
    {.name = "MXFP4", .bytes = 17, .values = kE2M1, .factor = DType::kBF16, .split = split_mxfp4},
};

void read_block(const BlockType& type, Bytes block, float* out) {
  BlockParts parts;
  parts.scales.fill(1);
  parts.least.fill(1);
  type.split(block, parts);
  const float d = type.factor_of(parts.d), d_least = type.factor_of(parts.d_least);
  for (std::int64_t i = 0; i < type.elements; ++i) {
    const auto group = static_cast<std::size_t>(i / type.group);
    const float scale = d * static_cast<float>(parts.scales[group]);
    const float number =
        scale * static_cast<float>(type.value(parts.codes[static_cast<std::size_t>(i)]));
    out[i] = type.has_least ? number - d_least * static_cast<float>(parts.least[group]) : number;
  }
}

}  // namespace

float BlockType::factor_of(std::uint16_t bits) const {
  return factor == DType::kF16 ? static_cast<float>(std::bit_cast<f16>(bits))
                               : static_cast<float>(std::bit_cast<bf16>(bits));
}

std::span<const BlockType> block_types() { return kTypes; }

const BlockType* block_type_named(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &BlockType::name);
  return found == std::end(kTypes) ? nullptr : found;
}

void read_blocks(const BlockType& type, std::span<const std::byte> bytes, std::span<float> out) {
  constexpr std::int64_t kBlocksAtOnce = 4096;  // per task
  const std::int64_t blocks = std::ssize(out) / type.elements;
  const std::int64_t tasks = (blocks + kBlocksAtOnce - 1) / kBlocksAtOnce;
  parallel_for(tasks, threads_here(), [&](std::int64_t task, int) {
    const std::int64_t end = std::min(blocks, (task + 1) * kBlocksAtOnce);
    for (std::int64_t block = task * kBlocksAtOnce; block < end; ++block)
      read_block(type, reinterpret_cast<Bytes>(bytes.data()) + block * type.bytes,
                 out.data() + block * type.elements);
  });
}

}  // namespace heed
