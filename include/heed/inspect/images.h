// Images among a session's tokens: pictures, frames of a video, or frames of sound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heed {

inline constexpr std::size_t kMostImages = 64;  // of a session

/// A grid whose cells are tokens. Frames of sound are one row.
struct SessionImage {
  /// Whether they are tokens of the queries, of the keys, or of both. Where the queries are the
  /// keys, a session has set both.
  bool of_queries = false, of_keys = false;
  std::int64_t rows = 0, columns = 0;
  std::vector<std::int64_t> tokens = {};  // row by row; -1: the cell has no token
  std::string picture = {};               // the bytes of a PNG or JPEG; empty: there is none
  std::string name = {};                  // empty: its number
};

}  // namespace heed
