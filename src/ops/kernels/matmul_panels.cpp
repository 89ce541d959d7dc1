// Packs weights into panels, once, when a model is loaded.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/machine.h"
#include "heed/tensor.h"
#include "heed/threads.h"
#include "ops/kernels/block_panels.h"
#include "ops/kernels/matmul.h"
#include "ops/kernels/matmul_kernels.h"
#include "tensor/block_type.h"

namespace heed::kernels {
namespace {

using cpu::BlockLayout;
using cpu::kSlabDepth;
using cpu::matmul_kernels;

std::int64_t stored_rows(DType dtype, std::int64_t inner) {
  return dtype == DType::kBF16 ? (inner + 1) / 2 * 2 : inner;
}

// Index of number (k, j) in a panel.
std::int64_t place(DType dtype, std::int64_t k, std::int64_t j) {
  const std::int64_t panel = panel_columns();
  return dtype == DType::kBF16 ? k / 2 * 2 * panel + 2 * j + k % 2 : k * panel + j;
}

// Zeroes a panel, then copies columns of 16-bit numbers into it.
void pack_words(const std::uint16_t* from, std::int64_t row, std::int64_t column,
                std::int64_t columns, const Panels& to, std::uint16_t* panel) {
  std::fill_n(panel, stored_rows(to.dtype, to.inner) * panel_columns(), std::uint16_t{0});
  constexpr std::int64_t kTogether = 32;  // of either axis: lines are whole whichever is contiguous
  for (std::int64_t first = 0; first < to.inner; first += kTogether) {
    const std::int64_t last = std::min(first + kTogether, to.inner);
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t k = first; k < last; ++k)
        panel[place(to.dtype, k, j)] = from[k * row + j * column];
  }
}

// The words of 32 codes of one column, `columns` apart (block_panels.h).
void pack_codes(const std::uint8_t* codes, int code_bits, std::int64_t columns,
                std::uint32_t* words) {
  constexpr int kFours = kSlabDepth / 4;
  std::uint32_t fours[kFours];
  std::memcpy(fours, codes, sizeof fours);
  if (code_bits == 8) {
    for (const std::uint32_t four : fours) {
      *words = four ^ 0x80808080U;
      words += columns;
    }
    return;
  }
  for (int row = 0; row < code_bits; ++row) words[row * columns] = 0;
  for (int four = 0; four < kFours; ++four) {
    const cpu::WordRows rows = cpu::word_rows(code_bits, four);
    std::uint32_t left = fours[four];
    if (cpu::has_nibbles(code_bits)) {
      words[rows.nibbles * columns] |= (left & 0x0F0F0F0FU) << four % 2 * 4;
      left >>= 4;
    }
    if (cpu::has_pairs_of_bits(code_bits)) {
      words[rows.pairs * columns] |= (left & 0x03030303U) << four % 4 * 2;
      left >>= 2;
    }
    if (cpu::has_single_bits(code_bits)) words[0] |= (left & 0x01010101U) << four;
  }
}

// Column `j` of one block of a panel.
void pack_block(const BlockType& type, const BlockLayout& layout, const BlockParts& parts,
                std::int64_t columns, std::int64_t j, std::uint8_t* block) {
  std::memcpy(block + 2 * j, &parts.d, 2);
  if (type.has_least) std::memcpy(block + 2 * (columns + j), &parts.d_least, 2);
  const std::int64_t groups = kSlabDepth / type.group;
  std::uint8_t* slab = block + layout.factors;
  for (std::int64_t index = 0; index < layout.slabs; ++index, slab += layout.slab) {
    for (std::int64_t group = 0; group < groups; ++group) {
      const auto of_block = static_cast<std::size_t>(index * groups + group);
      const std::int64_t at = group * columns + j;
      if (type.has_scales) slab[at] = static_cast<std::uint8_t>(parts.scales[of_block]);
      if (type.has_least_scales) slab[layout.scales + at] = parts.least[of_block];
    }
    pack_codes(parts.codes.data() + index * kSlabDepth, type.code_bits, columns,
               reinterpret_cast<std::uint32_t*>(slab + layout.scales + layout.least) + j);
  }
}

}  // namespace

bool has_fast_pairs() { return multiplies_bf16_fast() && matmul_kernels().multiplies_pairs; }

std::int64_t panel_columns() { return matmul_kernels().panel; }

std::int64_t panel_bytes(const Panels& panels) {
  const std::int64_t panel = panel_columns(), count = (panels.columns + panel - 1) / panel;
  if (panels.blocks != nullptr)
    return count * BlockLayout(*panels.blocks, panel).panel_bytes(panels.inner);
  return count * panel * stored_rows(panels.dtype, panels.inner) *
         static_cast<std::int64_t>(size_bytes(panels.dtype));
}

void pack_blocks(const void* rows, const Panels& to, void* memory) {
  const BlockType& type = *to.blocks;
  const std::int64_t panel = panel_columns(), blocks = to.inner / type.elements;
  const BlockLayout layout(type, panel);
  const std::int64_t bytes = layout.panel_bytes(to.inner);
  parallel_for((to.columns + panel - 1) / panel, [&](std::int64_t index, int /*thread*/) {
    const std::int64_t first = index * panel, columns = std::min(panel, to.columns - first);
    auto* const packed = static_cast<std::uint8_t*>(memory) + index * bytes;
    if (columns < panel) std::fill_n(packed, bytes, std::uint8_t{0});
    BlockParts parts;
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto* from = static_cast<const std::uint8_t*>(rows) + (first + j) * blocks * type.bytes;
      for (std::int64_t block = 0; block < blocks; ++block, from += type.bytes) {
        type.split(from, parts);
        pack_block(type, layout, parts, panel, j, packed + block * layout.block);
      }
    }
  });
}

void pack_panels(const void* from, std::int64_t row, std::int64_t column, const Panels& to,
                 void* memory) {
  const std::int64_t panel = panel_columns();
  const std::int64_t numbers = stored_rows(to.dtype, to.inner) * panel;
  parallel_for((to.columns + panel - 1) / panel, [&](std::int64_t index, int /*thread*/) {
    const std::int64_t first = index * panel;
    const std::int64_t columns = std::min(panel, to.columns - first);
    if (to.dtype == DType::kF32)
      matmul_kernels().pack_columns(
          {.data = static_cast<const float*>(from) + first * column, .row = row, .column = column},
          to.inner, columns, static_cast<float*>(memory) + index * numbers);
    else
      pack_words(static_cast<const std::uint16_t*>(from) + first * column, row, column, columns, to,
                 static_cast<std::uint16_t*>(memory) + index * numbers);
  });
}

namespace {

void unpack_codes(const Panels& panels, std::int64_t column, float* to) {
  const std::int64_t panel = panel_columns();
  const BlockLayout layout(*panels.blocks, panel);
  const char* const codes =
      static_cast<const char*>(panels.data) + column / panel * layout.panel_bytes(panels.inner);
  std::vector<float> slab(static_cast<std::size_t>(kSlabDepth * panel));
  for (std::int64_t k = 0; k < panels.inner; ++k) {
    if (k % kSlabDepth == 0)
      matmul_kernels().read_codes(*panels.blocks, codes, k, kSlabDepth, slab.data());
    to[k] = slab[static_cast<std::size_t>(k % kSlabDepth * panel + column % panel)];
  }
}

}  // namespace

void unpack_column(const Panels& panels, std::int64_t column, float* to) {
  if (panels.blocks != nullptr) return unpack_codes(panels, column, to);
  const std::int64_t panel = panel_columns();
  const std::int64_t first = column / panel * panel * stored_rows(panels.dtype, panels.inner);
  for (std::int64_t k = 0; k < panels.inner; ++k) {
    const std::int64_t at = first + place(panels.dtype, k, column % panel);
    if (panels.dtype == DType::kF32)
      to[k] = static_cast<const float*>(panels.data)[at];
    else if (panels.dtype == DType::kF16)
      to[k] = static_cast<float>(static_cast<const f16*>(panels.data)[at]);
    else
      to[k] = static_cast<float>(static_cast<const bf16*>(panels.data)[at]);
  }
}

}  // namespace heed::kernels
