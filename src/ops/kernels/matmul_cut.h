// How a product's rows and columns are shared between threads.
#pragma once

#include <cstdint>

namespace heed::kernels::cpu {

/// Into how many parts rows and columns are cut.
struct Cut {
  std::int64_t rows, columns;
};

/// As many tasks for each thread that this loop may use, two where that is easy, so that one goes
/// on where another is held up; on one thread, blocks of at most `block_rows`. A task brings its
/// rows and, of a plain b, its columns into order for itself.
Cut cut_of(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t block_rows);

constexpr std::int64_t parts_of(std::int64_t extent, std::int64_t most) {
  return (extent + most - 1) / most;
}

/// Where part `index` of `parts` begins, in whole units: as even as they can be.
constexpr std::int64_t part_begin(std::int64_t extent, std::int64_t unit, std::int64_t parts,
                                  std::int64_t index) {
  const std::int64_t begin = parts_of(extent, unit) * index / parts * unit;
  return begin < extent ? begin : extent;
}

}  // namespace heed::kernels::cpu
