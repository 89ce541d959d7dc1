// Data that the stages of the SIMD attention kernel share: rows, keys and their scratch memory.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/attention.h"

namespace heed::kernels {

inline constexpr std::int64_t kTileRows = 64;
inline constexpr std::int64_t kTileKeys = 64;
inline constexpr std::int64_t kMaxTiles = 4;  // row tiles that share a key tile while it is near

/// Rows of one head that stand beside each other in a row tile.
struct Segment {
  std::int64_t head;  // not initialised: a tile has room for 64, and most have one
  std::int64_t row;
  int lane;
  int count;
};

/// 64 rows of one key/value head: the rows of its query heads, one head after the other.
struct RowTile {
  std::array<Segment, kTileRows> segments;
  int segment_count = 0;
  int rows = 0;
  std::uint64_t seen = 0;    // rows that have met a visible key
  std::uint64_t moved = 0;   // rows whose maximum the current key tile has moved
  bool started = false;      // `out` holds something
  float* queries = nullptr;  // [D][64], times the scale
  float* out = nullptr;      // [64][value_stride]
  float* maximum = nullptr;  // [64] of the scores
  float* sum = nullptr;      // [64]
  float* sum_low = nullptr;  // [64]: what rounding has taken from `sum`
};

/// One task: rows [row_begin, row_end) of the H/G * query_length rows of a key/value head.
struct RowBlock {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
};

/// Keys [begin, end) of a sequence, with unit column stride.
struct KeyTile {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const float* k = nullptr;
  std::int64_t k_row = 0;
  const float* v = nullptr;
  std::int64_t v_row = 0;
  bool read = false;  // k and v are set
  enum class Finite : std::uint8_t { kUnknown, kYes, kNo } finite = Finite::kUnknown;  // of v

  std::int64_t keys() const { return end - begin; }
};

/// How much memory a thread needs for a problem.
struct TileSizes {
  std::int64_t tiles = 0;  // row tiles of a block
  std::int64_t head_dim = 0;
  std::int64_t value_stride = 0;  // Dv rounded up to whole vectors
  std::int64_t bytes = 0;

  explicit TileSizes(const AttentionProblem& problem);
};

/// One thread's memory for a problem.
struct TileScratch {
  std::int64_t tiles = 0;  // as TileSizes
  std::int64_t value_stride = 0;
  std::array<RowTile, kMaxTiles> rows;
  float* scores = nullptr;   // [64 keys][64 rows]; becomes the weights
  float* rescale = nullptr;  // [64]
  float* k_copy = nullptr;   // [64][D]
  float* v_copy = nullptr;   // [64][value_stride]

  TileScratch(const TileSizes& sizes, float* memory);  // 64-byte aligned, `bytes` long
};

/// Sets the rows of `tile` to [begin, end) of a key/value head's rows.
void set_segments(const AttentionProblem& problem, const RowBlock& block, std::int64_t begin,
                  RowTile& tile);

TileClass classify(const AttentionProblem& problem, std::int64_t batch, const RowTile& tile,
                   std::int64_t key_begin, std::int64_t key_end);

/// Bit r of by_key[j - key_begin]: row r of the tile may attend to key j.
void visible_bits(const AttentionProblem& problem, std::int64_t batch, const RowTile& tile,
                  const KeyTile& keys, std::uint64_t* by_key);

/// Zeros in rows [begin, end) of an output of any type; none where it is absent.
void clear_rows(const Output& output, std::int64_t batch, std::int64_t head, std::int64_t begin,
                std::int64_t end, std::int64_t columns);

}  // namespace heed::kernels
