// Thumbnails: how they cut a matrix, and that each cell is the largest of its block.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "inspect/map/tiles.h"

namespace heed {
namespace {

TEST(Atlas, CutsAMatrixIntoAtMostAsManyCellsAsAsked) {
  for (const std::int64_t length : {1, 2, 66, 67, 68, 201, 256, 257, 300, 1024, 4096, 100000})
    for (const std::int64_t most : {8, 49, 67, 256}) {
      const AtlasCut cut = atlas_cut({length, length}, most);
      EXPECT_LE(cut.rows, most) << length;
      EXPECT_GE(cut.rows * cut.block, length) << length;
      EXPECT_LT((cut.rows - 1) * cut.block, length) << length;
    }
}

TEST(Atlas, TakesBlocksOfWholeCellsOfTheCoarsestTile) {
  EXPECT_EQ(atlas_cut({201, 201}, 67), (AtlasCut{3, 67, 67}));
  EXPECT_EQ(atlas_cut({50, 50}, 67), (AtlasCut{1, 50, 50}));
  EXPECT_EQ(atlas_cut({1024, 1024}, 67), (AtlasCut{16, 64, 64}));
  EXPECT_EQ(atlas_cut({4096, 4096}, 67), (AtlasCut{64, 64, 64}));
  EXPECT_EQ(atlas_cut({100000, 100000}, 67), (AtlasCut{1536, 66, 66}));
  EXPECT_EQ(atlas_cut({12, 300}, 67), (AtlasCut{6, 2, 50}));
}

TEST(Atlas, GivesEachCellTheLargestCodeOfItsBlock) {
  std::mt19937 random(3);
  for (const MatrixSize size :
       {MatrixSize{1, 1}, MatrixSize{201, 201}, MatrixSize{300, 12}, MatrixSize{37, 700}}) {
    const AtlasCut cut = atlas_cut(size, 67);
    const int shift = zoom_levels(size) - 1;
    const std::int64_t width = ((size.keys - 1) >> shift) + 1;
    std::string codes(static_cast<std::size_t>((((size.queries - 1) >> shift) + 1) * width), 0);
    for (char& code : codes) code = static_cast<char>(random());
    std::string wanted(static_cast<std::size_t>(cut.cells()), 0);
    for (std::int64_t row = 0; row < size.queries; ++row)
      for (std::int64_t key = 0; key < size.keys; ++key) {
        const char code = codes[static_cast<std::size_t>((row >> shift) * width + (key >> shift))];
        char& to =
            wanted[static_cast<std::size_t>(row / cut.block * cut.columns + key / cut.block)];
        if (static_cast<unsigned char>(code) > static_cast<unsigned char>(to)) to = code;
      }
    EXPECT_EQ(thumbnail(codes, size, cut), wanted);
  }
}

}  // namespace
}  // namespace heed
