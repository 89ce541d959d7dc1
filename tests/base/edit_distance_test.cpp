#include "base/edit_distance.h"

#include <gtest/gtest.h>

namespace heed {

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("head", "head"), 0U);
  EXPECT_EQ(edit_distance("", "head"), 4U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3U);
}

TEST(NearestName, IsTheOneOfWhichAThirdOfTheLettersDifferAtMost) {
  const std::string_view names[] = {"look", "serve", "previous"};
  EXPECT_EQ(nearest_name(names, "lok"), "look");
  EXPECT_EQ(nearest_name(names, "previus"), "previous");
  EXPECT_EQ(nearest_name(names, "train"), "");
}

}  // namespace heed
