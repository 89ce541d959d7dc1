// Work that nobody waits for any more stops.
#include "inspect/patterns.h"
#include "inspect/server/cells.h"
#include "inspect/server/route.h"
#include "inspect/server/tiles.h"
#include "support/expect_error.h"

namespace heed::server {
namespace {

TEST(Views, ANewerRequestEndsTheOlderOfTheSameName) {
  Views views;
  const Flag old = views.enter("hover");
  const Flag other = views.enter("matrix");
  const Flag fresh = views.enter("hover");
  EXPECT_TRUE(*old);
  EXPECT_FALSE(*other);
  EXPECT_FALSE(*fresh);
  views.leave("hover", old);  // late: the newer one keeps the name
  views.enter("hover");
  EXPECT_TRUE(*fresh);
}

TEST(Cells, StopBetweenBlocksWhenTheClientIsGone) {
  const LayerAttention layer =
      test::layer_of(1, 300, [](std::int64_t, std::int64_t, std::int64_t) { return 0.0F; });
  Cancel gone(nullptr, [] { return true; });
  const CellsRequest all = {.row_end = 300, .key_end = 300};
  EXPECT_HEED_ERROR(matrix_cells(layer, all, gone), ErrorCode::kInterrupted,
                    "the request was cancelled");
}

TEST(TileCache, KeepsNoMoreBytesThanItMay) {
  TileCache cache(100);
  const auto tile = [](std::size_t size) { return std::make_shared<const std::string>(size, 'x'); };
  cache.keep("a", tile(40));
  cache.keep("b", tile(40));
  EXPECT_NE(cache.find("a"), nullptr);
  cache.keep("c", tile(40));
  EXPECT_NE(cache.find("a"), nullptr);
  EXPECT_EQ(cache.find("b"), nullptr);
  cache.keep("d", tile(101));
  EXPECT_EQ(cache.find("d"), nullptr);
}

TEST(Tiles, ZoomLevelsHoldTheWholeMatrixAtZero) {
  for (const auto& [length, levels] : std::map<std::int64_t, int>{
           {1, 1}, {256, 1}, {257, 2}, {512, 2}, {513, 3}, {4096, 5}, {100000, 10}})
    EXPECT_EQ(zoom_levels(length), levels) << length;
}

TEST(Tiles, BytesAreTheirLogarithmInStepsFromTwoTo255) {
  EXPECT_EQ(weight_byte(std::nanf("")), 0);
  EXPECT_EQ(weight_byte(0), 1);
  EXPECT_EQ(weight_byte(0x1p-25F), 1);
  EXPECT_EQ(weight_byte(0x1p-24F), 2);
  EXPECT_EQ(weight_byte(1), 255);
  EXPECT_EQ(weight_byte(0.5F), 2 + std::lround(253 * 23 / 24.0));
}

TEST(MatchPath, TakesValuesBetweenSlashes) {
  const auto found = match_path("/a/{x}/b/{y}", "/a/1/b/2");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at("x"), "1");
  EXPECT_EQ(found->at("y"), "2");
  for (const char* other : {"/a/1/b", "/a/1/b/2/", "/a//b/2", "/a/1/c/2", "", "/"})
    EXPECT_FALSE(match_path("/a/{x}/b/{y}", other)) << other;
}

}  // namespace
}  // namespace heed::server
