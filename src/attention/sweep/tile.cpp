#include "attention/sweep/tile.h"

#include <algorithm>
#include <cstring>

#include "base/float_mode.h"

namespace heed::kernels {
namespace {

MaskTile mask_tile(const Segment& segment, const KeyRange& keys) {
  return {segment.row, segment.row + segment.count, keys.begin, keys.end};
}

}  // namespace

void set_rows(const AttentionProblem& problem, const RowBlock& block, std::int64_t begin,
              RowSet& rows) {
  const std::int64_t length = problem.sequences[block.batch].query_length;
  const std::int64_t first_head = block.kv_head * (problem.heads / problem.kv_heads);
  const std::int64_t end = std::min(begin + kTileRows, block.row_end);
  rows.segment_count = 0;
  rows.rows = static_cast<int>(end - begin);
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t row = at % length;
    const std::int64_t count = std::min(length - row, end - at);
    rows.segments[rows.segment_count++] = {first_head + at / length, row,
                                           static_cast<int>(at - begin), static_cast<int>(count)};
    at += count;
  }
}

TileClass classify(const AttentionProblem& problem, std::int64_t batch, const RowSet& rows,
                   const KeyRange& keys) {
  if (problem.mask == nullptr) return TileClass::kFull;
  const CallersFloatMode callers;
  TileClass all = TileClass::kPartial;
  for (int s = 0; s < rows.segment_count; ++s) {
    const Segment& segment = rows.segments[s];
    const TileClass one =
        problem.mask->tile(place(problem, batch, segment.head), mask_tile(segment, keys));
    if (one == TileClass::kPartial || (s > 0 && one != all)) return TileClass::kPartial;
    all = one;
  }
  return all;
}

void visible_bits(const AttentionProblem& problem, std::int64_t batch, const RowSet& rows,
                  const KeyRange& keys, std::uint64_t* by_key) {
  const CallersFloatMode callers;
  std::array<std::uint64_t, kTileKeys> of_segment;
  std::fill_n(by_key, keys.count(), 0);
  for (int s = 0; s < rows.segment_count; ++s) {
    const Segment& segment = rows.segments[s];
    problem.mask->bits(place(problem, batch, segment.head), mask_tile(segment, keys),
                       of_segment.data());
    for (std::int64_t j = 0; j < keys.count(); ++j) by_key[j] |= of_segment[j] << segment.lane;
  }
}

void clear_rows(const Output& output, std::int64_t batch, std::int64_t head, std::int64_t begin,
                std::int64_t end, std::int64_t columns) {
  if (output.data == nullptr) return;
  const auto size = static_cast<std::int64_t>(size_bytes(output.dtype));
  auto* data = static_cast<char*>(output.data);
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t first = batch * output.batch + head * output.head + r * output.row;
    if (output.column == 1) {
      std::memset(data + size * first, 0, size * columns);
      continue;
    }
    for (std::int64_t c = 0; c < columns; ++c)
      std::memset(data + size * (first + c * output.column), 0, size);
  }
}

}  // namespace heed::kernels
