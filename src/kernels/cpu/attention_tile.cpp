#include "kernels/cpu/attention_tile.h"

#include <algorithm>
#include <cstring>

#include "base/float_mode.h"

namespace heed::kernels {
namespace {

constexpr std::int64_t kBudget = std::int64_t{1} << 20;  // bytes a thread
constexpr std::int64_t kLine = 16;                       // floats; the widest vector

std::int64_t whole_lines(std::int64_t floats) { return (floats + kLine - 1) / kLine * kLine; }

std::int64_t largest_block(const AttentionProblem& problem) {
  std::int64_t rows = 0;
  for (std::int64_t b = 0; b < problem.batch; ++b)
    rows = std::max(rows, problem.sequences[b].query_length);
  const std::int64_t group = problem.kv_heads > 0 ? problem.heads / problem.kv_heads : 0;
  return std::max<std::int64_t>((rows * group + kTileRows - 1) / kTileRows, 1);
}

MaskTile mask_tile(const Segment& segment, std::int64_t key_begin, std::int64_t key_end) {
  return {segment.row, segment.row + segment.count, key_begin, key_end};
}

}  // namespace

TileSizes::TileSizes(const AttentionProblem& problem)
    : head_dim(problem.head_dim), value_stride(whole_lines(problem.value_dim)) {
  const std::int64_t tile = kTileRows * (head_dim + value_stride + 3);
  const std::int64_t shared =
      kTileKeys * (kTileRows + head_dim + value_stride) + kTileRows + 2 * kLine;
  const std::int64_t fitting = (kBudget / std::int64_t{sizeof(float)} - shared) / tile;
  tiles = std::min(std::clamp<std::int64_t>(fitting, 1, kMaxTiles), largest_block(problem));
  bytes = (tiles * tile + shared) * std::int64_t{sizeof(float)};
}

TileScratch::TileScratch(const TileSizes& sizes, float* memory)
    : tiles(sizes.tiles), value_stride(sizes.value_stride) {
  const auto take = [&memory](std::int64_t floats) {
    float* taken = memory;
    memory += whole_lines(floats);
    return taken;
  };
  scores = take(kTileKeys * kTileRows);
  rescale = take(kTileRows);
  k_copy = take(kTileKeys * sizes.head_dim);
  v_copy = take(kTileKeys * value_stride);
  for (std::int64_t t = 0; t < tiles; ++t) {
    RowTile& tile = rows[t];
    tile.queries = take(kTileRows * sizes.head_dim);
    tile.out = take(kTileRows * value_stride);
    tile.maximum = take(kTileRows);
    tile.sum = take(kTileRows);
    tile.sum_low = take(kTileRows);
  }
}

void set_segments(const AttentionProblem& problem, const RowBlock& block, std::int64_t begin,
                  RowTile& tile) {
  const std::int64_t length = problem.sequences[block.batch].query_length;
  const std::int64_t first_head = block.kv_head * (problem.heads / problem.kv_heads);
  const std::int64_t end = std::min(begin + kTileRows, block.row_end);
  tile.segment_count = 0;
  tile.rows = static_cast<int>(end - begin);
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t row = at % length;
    const std::int64_t count = std::min(length - row, end - at);
    tile.segments[tile.segment_count++] = {first_head + at / length, row,
                                           static_cast<int>(at - begin), static_cast<int>(count)};
    at += count;
  }
}

TileClass classify(const AttentionProblem& problem, std::int64_t batch, const RowTile& tile,
                   std::int64_t key_begin, std::int64_t key_end) {
  if (problem.mask == nullptr) return TileClass::kFull;
  const CallersFloatMode callers;
  TileClass all = TileClass::kPartial;
  for (int s = 0; s < tile.segment_count; ++s) {
    const Segment& segment = tile.segments[s];
    const TileClass one = problem.mask->tile(place(problem, batch, segment.head),
                                             mask_tile(segment, key_begin, key_end));
    if (one == TileClass::kPartial || (s > 0 && one != all)) return TileClass::kPartial;
    all = one;
  }
  return all;
}

void visible_bits(const AttentionProblem& problem, std::int64_t batch, const RowTile& tile,
                  const KeyTile& keys, std::uint64_t* by_key) {
  const CallersFloatMode callers;
  std::array<std::uint64_t, kTileKeys> of_segment;
  std::fill_n(by_key, keys.keys(), 0);
  for (int s = 0; s < tile.segment_count; ++s) {
    const Segment& segment = tile.segments[s];
    problem.mask->bits(place(problem, batch, segment.head),
                       mask_tile(segment, keys.begin, keys.end), of_segment.data());
    for (std::int64_t j = 0; j < keys.keys(); ++j) by_key[j] |= of_segment[j] << segment.lane;
  }
}

void clear_rows(const Output& output, std::int64_t batch, std::int64_t head, std::int64_t begin,
                std::int64_t end, std::int64_t columns) {
  if (output.data == nullptr) return;
  const std::size_t size = size_bytes(output.dtype);
  auto* data = static_cast<char*>(output.data);
  for (std::int64_t r = begin; r < end; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t at =
          batch * output.batch + head * output.head + r * output.row + c * output.column;
      std::memset(data + static_cast<std::int64_t>(size) * at, 0, size);
    }
}

}  // namespace heed::kernels
