// Shared by every sweep over tiles: the rows and keys of a tile, its visible pairs, and the scratch
// memory of a thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "attention/problem.h"
#include "base/float_mode.h"

namespace heed::kernels {

inline constexpr std::int64_t kTileRows = 64;
inline constexpr std::int64_t kTileKeys = 64;

/// Number of tiles that cover a length of rows or keys.
constexpr std::int64_t blocks_of(std::int64_t length) {
  static_assert(kTileRows == kTileKeys);
  return (length + kTileRows - 1) / kTileRows;
}

/// Columns rounded up to whole vectors of any target.
constexpr std::int64_t whole_lines(std::int64_t columns) { return (columns + 15) / 16 * 16; }

/// Flushes denormals to 0 while the result lives, if the sweep accumulates in f32.
inline std::optional<FlushToZero> flush_to_zero_in(DType accumulator) {
  if (accumulator == DType::kF64) return std::nullopt;
  return std::optional<FlushToZero>(std::in_place);
}

/// Rows of one head in adjacent lanes of a tile.
struct Segment {
  std::int64_t head;  // not initialised: a tile has room for 64, usually one is used
  std::int64_t row;
  int lane;
  int count;
};

/// Up to 64 rows of one key/value head: the rows of its query heads, head after head.
struct RowSet {
  std::array<Segment, kTileRows> segments;
  int segment_count = 0;
  int rows = 0;

  /// Selects rows [row, row + count) of one head.
  void set_one(std::int64_t head, std::int64_t row, std::int64_t count) {
    rows = static_cast<int>(count);
    segments[0] = {head, row, 0, rows};
    segment_count = 1;
  }
};

/// One task: rows [row_begin, row_end) of the H/G * query_length rows of a key/value head.
struct RowBlock {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  /// From this key/value head to the one that the same thread probably takes next.
  std::int64_t heads_ahead = 1;
};

/// Selects [begin, begin + 64) of a key/value head's rows, up to the end of the block.
void set_rows(const AttentionProblem& problem, const RowBlock& block, std::int64_t begin,
              RowSet& rows);

/// Keys [begin, end) of a sequence.
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t count() const { return end - begin; }
};

TileClass classify(const AttentionProblem& problem, std::int64_t batch, const RowSet& rows,
                   const KeyRange& keys);

/// Sets bit r of by_key[j - keys.begin] if row r may attend to key j.
void visible_bits(const AttentionProblem& problem, std::int64_t batch, const RowSet& rows,
                  const KeyRange& keys, std::uint64_t* by_key);

/// Zeros rows [begin, end) of an output of any type; does nothing if it is absent.
void clear_rows(const Output& output, std::int64_t batch, std::int64_t head, std::int64_t begin,
                std::int64_t end, std::int64_t columns);

/// Hands out scratch memory piece by piece; without memory it only counts. So one list of pieces
/// gives both the size and the pointers.
class Arena {
 public:
  explicit Arena(void* memory = nullptr) : memory_(static_cast<char*>(memory)) {}

  /// `count` numbers, aligned to 64 bytes; null while counting.
  template <typename T>
  T* take(std::int64_t count) {
    char* const taken = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += (count * std::int64_t{sizeof(T)} + 63) / 64 * 64;
    return reinterpret_cast<T*>(taken);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  char* memory_;
  std::int64_t bytes_ = 0;
};

}  // namespace heed::kernels
